"""Rows that come in blocks: files, memory-mapped arrays, iterables, Arrow record batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._solvers import memory
from .._validation import shown
from .files import FileBlock, Reader, as_files

_BLOCK_BYTES = 1 << 26

# A memory-mapped array is an array like others where so many times its numbers have room in memory: features
# take several times what they are made of. joblib hands its workers such arrays in place of the user's.
_TIMES, _FREE_IF_UNKNOWN = 32, 1 << 32


@dataclass
class Stream:
    """Blocks (X, y, sample_weight) as the user gave them; `once`: they can be read a single time."""

    read: Callable[[], Iterator[Any]]
    once: bool = False

    def __iter__(self) -> Iterator[tuple[Any, Any, Any, str]]:
        """Return X, y and weights of each block, and where it comes from."""
        for number, block in enumerate(self.read()):
            if isinstance(block, FileBlock):
                yield block.X, block.y, block.weight, block.where
            else:
                yield *block, f"block {number}"


def slices(X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Return the rows of an array in blocks."""
    rows = max(1, _BLOCK_BYTES // max(1, X.itemsize * int(np.prod(X.shape[1:]))))
    for start in range(0, X.shape[0], rows):
        part = slice(start, start + rows)
        yield X[part], y[part], None if sample_weight is None else sample_weight[part]


def _is_table(block: Any) -> bool:
    """Whether a block has named columns: a data frame, an Arrow record batch or table."""
    return hasattr(block, "columns") and (hasattr(block, "iloc") or hasattr(block, "schema"))


def _columns(block: Any) -> tuple[list[str], Callable[[list[str]], Any]]:
    """Return the names of a table's columns, and a function that takes some of them."""
    if not hasattr(block, "to_pylist"):  # of pandas or polars; Arrow's tables have rows as Python objects
        return list(block.columns), lambda names: block[names]
    try:
        frame = block.to_pandas()
    except ImportError:  # without pandas the columns lose their names
        return list(block.schema.names), lambda names: np.column_stack(
            [block.column(name).to_numpy(zero_copy_only=False) for name in names]
        )
    return list(frame.columns), lambda names: frame[names]


def _from_table(block: Any, target: Any, weight: Any) -> tuple[Any, Any, Any]:
    targets = [target] if isinstance(target, str) else list(target)
    names, take = _columns(block)
    reserved = targets + ([weight] if isinstance(weight, str) else [])
    missing = [name for name in reserved if name not in names]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r} among {shown(names)}")
    y = np.asarray(take(targets))
    return (
        take([name for name in names if name not in reserved]),
        y[:, 0] if isinstance(target, str) else y,
        None if weight is None else np.asarray(take([weight]))[:, 0],
    )


def _split(blocks: Iterable[Any], target: Any, weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    for number, block in enumerate(blocks):
        if isinstance(block, tuple | list) and len(block) in (2, 3):
            yield block[0], block[1], block[2] if len(block) == 3 else None
        elif _is_table(block) and target is not None:
            try:
                parts = _from_table(block, target, weight)
            except ValueError as error:
                raise ValueError(f"block {number}: {error}") from error
            yield parts
        else:
            raise TypeError(
                f"block {number} is a {type(block).__name__}; expected (X, y), (X, y, sample_weight), or a "
                "data frame or record batch with y naming its target column"
            )


def _is_names(y: Any) -> bool:
    return isinstance(y, str) or (
        isinstance(y, list) and bool(y) and all(isinstance(name, str) for name in y)
    )


def _are_names_in(X: Any, y: Any) -> bool:
    """Whether y names columns of a data frame X; a list as long as X, of other words, are labels."""
    if not _is_names(y) or isinstance(y, str) or len(y) != X.shape[0]:
        return _is_names(y)
    names = _columns(X)[0]
    return all(name in names for name in y)


def _is_block(value: Any) -> bool:
    return _is_table(value) or (
        isinstance(value, tuple | list) and len(value) in (2, 3) and len(getattr(value[0], "shape", ())) > 0
    )


def _fits_easily(X: Any) -> bool:
    free = memory.available()
    return bool(_TIMES * 8.0 * X.size <= (_FREE_IF_UNKNOWN if free is None else free))


def by_name(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return X, y and weights where the last two may be columns of a data frame X in memory, by name."""
    is_frame = hasattr(X, "columns") and hasattr(X, "shape")
    has_names = is_frame and _are_names_in(X, y)
    if not is_frame or not (has_names or isinstance(sample_weight, str)):
        return X, y, sample_weight
    weight = sample_weight if isinstance(sample_weight, str) else None
    if not has_names:
        points, _, weights = _from_table(X, [], weight)
        return points, y, weights
    points, targets, weights = _from_table(X, y, weight)
    return points, targets, sample_weight if weight is None else weights


def array_file(path: Any) -> Any:
    """Return the array that a file of NumPy holds, which stays there; None where this is no path of one."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path).endswith(".npy"):
        return None
    try:
        return np.load(path, mmap_mode="r")
    except FileNotFoundError:
        raise ValueError(f"there is no file {os.fspath(path)!r}") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: it cannot be read as an array of numbers: {error}") from error


def _of_arrays(X: Any, y: Any, sample_weight: Any) -> Stream | None:
    """Return the blocks of an array in a file of NumPy; the targets may be in another."""
    rows = array_file(X)
    if rows is None:
        return None
    if rows.ndim != 2:
        raise ValueError(f"{os.fspath(X)}: the array has shape {rows.shape}, expected rows and columns")
    beside = []
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        values = array_file(given)
        values = given if values is None else values
        if isinstance(values, str) or (values is None and name == "y"):
            raise ValueError(
                f"arrays in files have no names of columns: give {name} as an array, or as the path of one "
                f"in a file .npy, got {given!r}"
            )
        values = None if values is None else np.asarray(values)
        if values is not None and values.shape[:1] != rows.shape[:1]:
            raise ValueError(f"{name} has shape {values.shape}, and {os.fspath(X)} {len(rows)} rows")
        beside.append(values)
    return Stream(lambda: slices(rows, *beside))


def _of_files(X: Any, y: Any, sample_weight: Any) -> Stream | None:
    files = as_files(X)
    if files is None:
        return None
    if not _is_names(y):
        raise ValueError(f"for rows in files y must name the target column (or columns), got {shown(y)}")
    if not (sample_weight is None or isinstance(sample_weight, str)):
        raise ValueError("for rows in files sample_weight must name a column")
    targets = [y] if isinstance(y, str) else list(y)
    reader = Reader(files, targets, isinstance(y, str), sample_weight)
    files.paths()  # refuses what is not there
    return Stream(lambda: iter(reader))


def as_stream(X: Any, y: Any, sample_weight: Any) -> Stream | None:
    """Return the blocks that X stands for, or None where X is a matrix in memory."""
    of_files = _of_arrays(X, y, sample_weight) or _of_files(X, y, sample_weight)
    if of_files is not None:
        return of_files
    if isinstance(X, np.memmap) and _fits_easily(X):
        return None
    if isinstance(X, np.memmap) and X.ndim == 2 and y is not None and len(y) == len(X):
        targets = y if isinstance(y, np.ndarray) else np.asarray(y)
        weights = sample_weight
        if weights is not None:
            weights = (
                np.full(len(X), weights, dtype=np.float64) if np.isscalar(weights) else np.asarray(weights)
            )
            if weights.shape != (len(X),):
                raise ValueError(f"sample_weight has shape {weights.shape}, expected ({len(X)},)")
        return Stream(lambda: slices(X, targets, weights))
    # A Parquet file; an Arrow table, data set or scanner.
    batches = getattr(X, "iter_batches", getattr(X, "to_batches", None))
    if batches is not None and hasattr(X, "schema"):
        if not _is_names(y):
            raise ValueError("for Arrow or Parquet input y must name the target column (or columns)")
        return Stream(lambda: _split(batches(), y, sample_weight))
    if hasattr(X, "shape") or sparse.issparse(X) or not isinstance(X, Iterable) or isinstance(X, str | bytes):
        return None
    if not (y is None or _is_names(y)):
        return None
    if isinstance(X, list | tuple) and not (X and _is_block(X[0])):
        return None
    once = isinstance(X, Iterator)
    if once:
        iterator = X
        return Stream(lambda: _split(iterator, y, sample_weight), once=True)
    return Stream(lambda: _split(X, y, sample_weight))
