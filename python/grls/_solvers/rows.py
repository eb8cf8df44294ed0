"""Rows of data matrices told apart by a key of their contents."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .arrays import for_core
from .runtime import get_num_threads


def row_keys(X: Any, seed: int = 0) -> NDArray[np.uint64]:
    """Return a key of each row, (n,): it depends on the contents alone, dense or sparse, and on the seed."""
    return _core.row_keys(data=for_core(X), seed=seed, threads=get_num_threads())


def text_keys(rows: Any, seed: int = 0) -> NDArray[np.uint64]:
    """Return a key of each row, (n,), of documents or of a table with columns of text."""
    if len(rows.shape) == 2:
        items = rows.itertuples(index=False, name=None) if hasattr(rows, "itertuples") else map(tuple, rows)
    else:
        items = iter(rows)
    salt = int(seed).to_bytes(8, "little", signed=True)
    digests = b"".join(blake2b(repr(item).encode(), digest_size=8, key=salt).digest() for item in items)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def distinct_rows(*matrices: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the distinct rows of matrices side by side.

    Returns one position of each, in an order that depends on the rows alone and not on theirs, and for every
    row the place of its like among them. Rows are told apart by keys of 128 bits.
    """
    keys = np.column_stack([row_keys(X, seed) for X in matrices for seed in (0, 1)])
    order = np.lexsort(keys.T[::-1])  # stable, and several times as fast as np.unique by rows
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any(keys[order[1:]] != keys[order[:-1]], axis=1)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return order[new].astype(np.intp), place


_SINGLE = (1e-15, 1e15)  # distances whose squares are numbers in single precision


def _extent(matrices: tuple[Any, ...]) -> float:
    """Return how far rows are from the first of all; of sparse ones how far from zero."""
    some = [X for X in matrices if 0 not in X.shape]
    largest, origin = 0.0, np.zeros(1)
    if some and not any(sparse.issparse(X) for X in some):
        origin = np.asarray(some[0][0], dtype=np.float64)
    for X in some:
        ends = [X.data] if sparse.issparse(X) else [X.min(axis=0), X.max(axis=0)]
        with np.errstate(over="ignore"):
            largest = max(largest, *(float(np.abs(end - origin).max(initial=0)) for end in ends))
    return largest


def fits_single(*matrices: Any) -> bool:
    """Whether the squared distances between all rows of some matrices are numbers in single precision."""
    extent = _extent(matrices)
    return extent == 0 or _SINGLE[0] <= extent <= _SINGLE[1]


def require_single_size(*matrices: Any, instead: str) -> None:
    """Raise ValueError for rows whose squared distances leave single precision, which cannot tell."""
    if not fits_single(*matrices):
        raise ValueError(
            f'rows of X are {_extent(matrices):.1g} apart, and precision="single" works for distances from '
            f'{_SINGLE[0]:g} to {_SINGLE[1]:g}: change the unit of X, or precision="{instead}"'
        )


def taken_columns(X: Any, columns: Any) -> Any:
    """Return X[:, columns], each column named once; SciPy would set a number aside for every column of X."""
    if not sparse.issparse(X):
        return X[:, list(columns)]
    wanted = np.asarray(columns, dtype=np.int64)
    order = np.argsort(wanted)
    place = np.searchsorted(wanted[order], X.indices)
    found = np.append(wanted[order], -1)[place] == X.indices
    starts = np.concatenate([[0], np.cumsum(found)])[X.indptr]
    taken = type(X)((X.data[found], order[place[found]], starts), shape=(X.shape[0], len(wanted)))
    taken.sort_indices()
    return taken
