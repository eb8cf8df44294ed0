"""Rows in Parquet, CSV and Arrow files by path or pattern, read block by block; predictions written so."""

from __future__ import annotations

import codecs
import gzip
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._validation import shown

_BLOCK_BYTES = 1 << 25  # of numbers in a block
_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_READ = (*_FORMATS, ".csv.gz")


def _arrow() -> Any:
    try:
        import pandas  # noqa: F401 - blocks are its data frames
        import pyarrow
        import pyarrow.csv
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("rows in files need pyarrow and pandas: pip install pyarrow pandas") from error
    return pyarrow


class Files:
    """Rows in files, by path or pattern, for `fit` and `predict_to_file` of models on centres.

    Parameters
    ----------
    path : str, path or sequence of these
        A file, a folder, or a pattern such as ``"data/*.parquet"``. Parquet (.parquet, .pq), CSV with a
        header (.csv, .csv.gz) and Arrow files (.arrow, .feather, .ipc) are read, in the order of their names.
        What a column of CSV holds is told from the first MiB; whole numbers there may have decimals later,
        and a column that is empty there, or in one of the files, holds what it does elsewhere.
    columns : str or sequence of str, default=None
        The columns that are predictors. None: all that are not targets, weights or left out, nor the index
        of a data frame of pandas.
    exclude : str or sequence of str, default=()
        Columns that are no predictors, such as an identifier.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from grls import Files, NystromGRLSRegressor
    >>> folder = tempfile.mkdtemp()
    >>> rng = np.random.default_rng(0)
    >>> for part in range(3):
    ...     table = pd.DataFrame(rng.uniform(size=(200, 2)), columns=["a", "b"])
    ...     table["id"], table["target"] = np.arange(200), np.sin(6 * table.a) + table.b
    ...     table.to_parquet(os.path.join(folder, f"part{part}.parquet"))
    >>> rows = Files(os.path.join(folder, "*.parquet"), exclude="id")
    >>> model = NystromGRLSRegressor(n_centers=100).fit(rows, "target")
    >>> list(model.feature_names_in_)
    ['a', 'b']
    """

    def __init__(self, path: Any, *, columns: Any = None, exclude: Any = ()) -> None:
        self.path = path
        self.columns = None if columns is None else _as_names(columns, "columns")
        self.exclude = _as_names(exclude, "exclude")

    def __repr__(self) -> str:
        more = "" if self.columns is None else f", columns={shown(self.columns)}"
        return f"Files({self.path!r}{more}{f', exclude={shown(self.exclude)}' if self.exclude else ''})"

    def paths(self) -> list[Path]:
        """Return the files; ValueError where there is none."""
        given = [self.path] if isinstance(self.path, str | os.PathLike) else list(self.path)
        found: list[Path] = []
        for one in given:
            found += _matching(os.fspath(one))
        if not found:
            raise ValueError("no files were given")
        return found


def _matching(path: str) -> list[Path]:
    if os.path.isdir(path):
        inside = sorted(p for p in Path(path).iterdir() if _form(p) is not None)
        if not inside:
            raise ValueError(f"the folder {path!r} has no file of {', '.join(_READ)}")
        return inside
    if os.path.exists(path):
        return [Path(path)]
    if not has_magic(path):
        raise ValueError(f"there is no file {path!r}")
    found = sorted(Path(p) for p in glob(path, recursive=True) if os.path.isfile(p))
    if not found:
        raise ValueError(f"no file matches {path!r}")
    return found


def _as_names(names: Any, what: str) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"{what} must name columns, got {names!r}")
    return given


def as_files(X: Any) -> Files | None:
    """Return the files that X stands for; None where it is something else.

    A list of texts may be documents: only paths of pathlib in a list are files.
    """
    if isinstance(X, Files):
        return X
    if isinstance(X, str | os.PathLike):
        return Files(X)
    if isinstance(X, list | tuple) and X and all(isinstance(one, os.PathLike) for one in X):
        return Files(X)
    return None


@dataclass(frozen=True)
class FileBlock:
    """Some rows of a file as a data frame of the predictors, with targets and weights."""

    X: Any
    y: Any
    weight: Any
    where: str
    kept: Any = None  # further columns, as an Arrow table


@dataclass(frozen=True)
class Reader:
    """Which columns of which files are read."""

    files: Files
    targets: list[str]
    one_target: bool
    weight: str | None
    keep: Sequence[str] = ()
    # Types of columns of CSV that are not those of the first MiB, all that Arrow looks at: whole numbers with
    # decimals further down, columns that are empty there. Others stay whole: labels and levels are what they
    # are in memory.
    types: dict[Path, dict[str, Any]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[FileBlock]:
        """Read the files one after the other: no more than some blocks of one of them are in memory."""
        n_rows = 0
        for block in self.blocks():
            n_rows += block.X.shape[0]
            yield block
        if n_rows == 0:
            paths = self.files.paths()
            raise ValueError(f"{_named(paths)} no rows: nothing is there to read")

    def blocks(self) -> Iterator[FileBlock]:
        """Read the files; there may be no rows."""
        pa, paths = _arrow(), self.files.paths()
        expected = self._kinds(pa, paths)
        for path in paths:
            schema = _opened(pa, path).schema
            kinds = {name: _kind(pa, path, schema.field(name)) for name in self._predictors(path, schema)}
            self._require_like(path, kinds, paths[0], expected)
            for name, kind in kinds.items():
                elsewhere = expected[name][0]
                if kind == EMPTY and elsewhere in (NUMBERS, TEXT):
                    wanted = pa.float64() if elsewhere == NUMBERS else pa.string()
                    self.types.setdefault(path, {}).setdefault(name, wanted)
            source = _opened(pa, path, self.types.get(path))
            yield from self._blocks(pa, path, source, list(expected))

    def _kinds(self, pa: Any, paths: list[Path]) -> dict[str, tuple[str, Path]]:
        """Return what the predictors hold, and in which file: the first where they are not empty."""
        kinds: dict[str, tuple[str, Path]] = {}
        for path in paths:
            schema = _opened(pa, path).schema
            for name in [name for name in kinds if name in schema.names] or self._predictors(path, schema):
                if name not in kinds or kinds[name][0] == EMPTY:
                    kinds[name] = _kind(pa, path, schema.field(name)), path
            if all(kind != EMPTY for kind, _ in kinds.values()):
                break
        return kinds

    def _predictors(self, path: Path, schema: Any) -> list[str]:
        names = list(schema.names)
        doubled = [name for name in names if names.count(name) > 1]
        if doubled:
            raise ValueError(f"{path}: the column {doubled[0]!r} is there twice")
        reserved = [*self.targets, *([] if self.weight is None else [self.weight])]
        for name in [*reserved, *(self.files.columns or []), *self.keep]:
            if name not in names:
                raise ValueError(f"{path}: there is no column {name!r} among {shown(names)}")
        left_out = {*reserved, *self.files.exclude}
        wanted = self.files.columns
        if wanted is None:
            index = _index_columns(schema)
            wanted = [name for name in names if name not in index]
        predictors = [name for name in wanted if name not in left_out]
        if not predictors:
            raise ValueError(f"{path}: no column is left as a predictor beside {shown(sorted(left_out))}")
        return predictors

    @staticmethod
    def _require_like(
        path: Path, kinds: dict[str, str], start: Path, expected: dict[str, tuple[str, Path]]
    ) -> None:
        """ValueError where a file has other columns than the first, or text where others have numbers."""
        missing, more = [n for n in expected if n not in kinds], [n for n in kinds if n not in expected]
        if missing:
            raise ValueError(f"{path}: there is no column {missing[0]!r}, which {start} has")
        if more:
            raise ValueError(
                f"{path}: the column {more[0]!r} is not in {start}; name the predictors with "
                "Files(path, columns=[…]), or leave it out with exclude="
            )
        for name, (kind, where) in expected.items():
            if kinds[name] not in (kind, EMPTY):
                raise ValueError(
                    f"{path}: the column {name!r} holds {kinds[name]}, and {kind} in {where}; mend it, or "
                    f"leave it out with Files(path, exclude={name!r})"
                )

    def _blocks(self, pa: Any, path: Path, source: Any, predictors: list[str]) -> Iterator[FileBlock]:
        columns = list(dict.fromkeys([*predictors, *self.targets, *self.keep]))
        if self.weight is not None and self.weight not in columns:
            columns.append(self.weight)
        rows = max(1, _BLOCK_BYTES // (8 * len(columns)))
        options: dict[str, Any] = {"columns": columns, "batch_size": rows}
        start = 0
        while source is not None:
            seen = 0
            try:
                for batch in source.to_batches(**options, batch_readahead=1, fragment_readahead=1):
                    rest = batch.slice(max(0, start - seen))
                    seen += batch.num_rows
                    if rest.num_rows == 0:
                        continue
                    where = f"{path}, rows {start} to {seen - 1}"
                    yield self._block(pa, rest, predictors, where)
                    start = seen
                source = None
            except pa.ArrowInvalid as error:
                source = self._reopened(pa, path, source.schema, error)

    def _reopened(self, pa: Any, path: Path, schema: Any, error: Exception) -> Any:
        """Return a CSV file with a wider type for the column that was refused; else ValueError.

        Whole numbers become numbers, and what was empty so far becomes what the cell is that was refused.
        """
        name = _column_of(str(error), list(schema.names))
        # What is kept is written with the type that its first rows have.
        wider: Any = None
        if name is not None and name not in self.keep:
            at_first, now = _opened(pa, path).schema.field(name).type, schema.field(name).type
            if pa.types.is_integer(now) or (pa.types.is_null(now) and _is_number(str(error))):
                wider = pa.float64()
            elif pa.types.is_null(at_first) and not pa.types.is_string(now):
                wider = pa.string()
        if name is None or wider is None:
            raise ValueError(f"{path}: {_with_remedy(_plain(str(error)), name)}") from error
        self.types.setdefault(path, {})[name] = wider
        return _opened(pa, path, self.types[path])

    def _block(self, pa: Any, batch: Any, predictors: list[str], where: str) -> FileBlock:
        # Without what pandas would make columns its index again of.
        frame = batch.replace_schema_metadata(None).to_pandas(date_as_object=False)
        y = None
        if self.targets:
            y = frame[self.targets].to_numpy()
            y = y[:, 0] if self.one_target else y
        weight = None if self.weight is None else frame[self.weight].to_numpy()
        kept = pa.Table.from_batches([batch]).select(list(self.keep)) if self.keep else None
        return FileBlock(frame[predictors], y, weight, where, kept)


def _named(paths: list[Path]) -> str:
    return f"{paths[0]} has" if len(paths) == 1 else f"the {len(paths)} files from {paths[0]} on have"


def _form(path: Path) -> str | None:
    """Return the format of a file by its ending; None where it is not read."""
    name = path.name.lower()
    return _FORMATS.get(os.path.splitext(name.removesuffix(".gz") if name.endswith(".csv.gz") else name)[1])


def _opened(pa: Any, path: Path, types: dict[str, Any] | None = None) -> Any:
    """Return a file as a data set; ValueError names it where it cannot be read.

    `types`: those of columns of CSV that are others than they look like at first.
    """
    form = _form(path)
    if form is None:
        more = "; an array is given by its path alone, fit('rows.npy', y)" if path.suffix == ".npy" else ""
        raise ValueError(f"{path}: files of {', '.join(_READ)} are read, and this is none{more}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty, without even the names of columns")
    reading: Any = form
    if form == "csv":
        _require_text(path)
        options = pa.csv.ConvertOptions(column_types=types or {})
        reading = pa.dataset.CsvFileFormat(convert_options=options)
    try:
        return pa.dataset.dataset(str(path), format=reading)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path}: it cannot be read as {form}: {_plain(str(error))}") from error


def _require_text(path: Path) -> None:
    """ValueError for a file of bytes that are no text, by its beginning; OSError for a damaged archive."""
    with gzip.open(path) if path.name.lower().endswith(".gz") else open(path, "rb") as file:
        try:
            start = file.read(4096)
        except (OSError, EOFError) as error:
            raise ValueError(f"{path}: it cannot be read as csv: {error}") from error
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise ValueError(f"{path}: the file is written in UTF-16: save it as UTF-8")
    if b"\0" in start:
        raise ValueError(f"{path}: the file holds bytes that are no text: is it a CSV file?")


def _plain(message: str) -> str:
    """Return what Arrow says is wrong with a CSV file: its last words, those about rows in other words."""
    text = message.rpartition("Invalid: ")[2].removeprefix("CSV parse error: ")
    text = text.split("Error creating dataset. ")[-1].split("?: ", 1)[-1].rstrip()
    if ragged := re.match(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", text):
        row, names, found = ragged.groups()
        where = "a row has" if row is None else f"row {row} of the file has"
        return f"{where} {found} fields, and the first row {names} names"
    if twice := re.match(r"CSV file contained multiple columns named (.*)", text):
        return f"the column {twice[1]!r} is there twice"
    return text


# What columns hold.
NUMBERS, TEXT, DATES, EMPTY = "numbers", "text", "dates", "nothing"


def _kind(pa: Any, path: Path, column: Any) -> str:
    """Return what a column of a schema holds; ValueError for text of a CSV file that cannot be read."""
    types, kind = pa.types, column.type
    if types.is_null(kind):
        return EMPTY
    if types.is_temporal(kind):
        return DATES
    if _form(path) == "csv" and types.is_binary(kind):
        raise ValueError(
            f"{path}: the column {column.name!r} has letters that are not written in UTF-8: save the file as "
            f"UTF-8, or leave the column out with Files(path, exclude={column.name!r})"
        )
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return NUMBERS if is_number or types.is_decimal(kind) else TEXT


def _is_number(message: str) -> bool:
    """Whether the cell that a message of Arrow's CSV reader shows is a number."""
    found = re.search(r"invalid value '(.*)'", message)
    try:
        float(found[1] if found else "")
    except ValueError:
        return False
    return True


def _column_of(message: str, names: list[str]) -> str | None:
    """Return the name of the column that a message of Arrow's CSV reader counts."""
    _, found, rest = message.partition("column #")
    digits = rest.split(":")[0].split(" ")[0]
    return names[int(digits)] if found and digits.isdigit() and int(digits) < len(names) else None


def _with_remedy(message: str, name: str | None) -> str:
    """Return a message of Arrow's CSV reader about a cell of a column, and what to do about it."""
    if name is None:
        return message
    return (
        f"column {name!r}: {message}; what the column holds was told from the first MiB of the file: mend "
        f"the cell, leave the column out with Files(path, exclude={name!r}), or convert the file to Parquet, "
        "which says what its columns hold"
    )


def _index_columns(schema: Any) -> list[str]:
    """Return the columns that are the index of a data frame of pandas, which in memory is no predictor."""
    told = schema.pandas_metadata or {}
    return [name for name in told.get("index_columns", []) if isinstance(name, str)]


def explained(error: ValueError | TypeError, X: Any) -> str:
    """Return what to say of rows that were refused: in which column what is no number is."""
    text = str(error)
    if not hasattr(X, "items"):
        return text
    for name, column in X.items():
        values = column.to_numpy()
        if values.dtype.kind in "iubmM":  # of dates the error says enough
            continue
        if values.dtype.kind == "f":
            bad = np.flatnonzero(~np.isfinite(values))
        else:
            bad = np.flatnonzero([not _is_float(value) for value in values])
        if len(bad):
            found = values[bad[0]]
            found = found.item() if isinstance(found, np.generic) else found
            return f"column {name!r}, row {int(bad[0])} of these: {found!r} is no number; {text}"
    return text


def _is_float(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


class Writer:
    """Columns of predictions, written to an open file block by block; `path` tells the format."""

    def __init__(self, path: Any, file: BinaryIO) -> None:
        self._pa, self._form, self._file = _arrow(), written_format(path), file
        self._writer: Any = None

    @property
    def is_new(self) -> bool:
        """Whether nothing was written yet."""
        return self._writer is None

    def write(self, columns: dict[str, Any], kept: Any) -> None:
        """Add rows: columns of numbers or labels, after those that are kept of the input."""
        pa = self._pa
        table = pa.table(columns)
        if kept is not None:
            for name in reversed(kept.column_names):
                table = table.add_column(0, kept.schema.field(name), kept.column(name))
        if self._writer is None:
            if self._form == "parquet":
                self._writer = pa.parquet.ParquetWriter(self._file, table.schema)
            elif self._form == "csv":
                self._writer = pa.csv.CSVWriter(self._file, table.schema)
            else:
                self._writer = pa.ipc.new_file(self._file, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


def written_format(path: Any) -> str:
    """Return the format of a file that predictions are written to, by its ending."""
    form = _FORMATS.get(Path(os.fspath(path)).suffix.lower())
    if form is None:
        raise ValueError(f"{path}: predictions are written to {', '.join(_FORMATS)}")
    if not (folder := Path(os.fspath(path)).parent).is_dir():
        raise ValueError(f"{path}: there is no folder {str(folder)!r}")
    return form
