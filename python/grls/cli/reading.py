"""Tables from files: CSV, Parquet and LIBSVM, with an error of one line for whatever is wrong with them."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import MissingExtra, TableError

#: Endings of files, and what they hold.
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
}

_PACKED = {".gz": gzip, ".bz2": bz2, ".xz": lzma}

#: What the labels of a LIBSVM file are called.
TARGET = "target"

_MOST_CELLS = 50_000_000  # of a LIBSVM file, as a table without its zeros left out


def pandas() -> Any:
    """Return pandas; MissingExtra says how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("reading tables", "pandas") from error
    return pd


def format_of(path: Path, given: str | None = None) -> str:
    """Return the format of a file: the one given, or that of its ending."""
    if given is not None:
        return given
    ending = ending_of(path)
    if ending not in FORMATS:
        known = ", ".join(FORMATS)
        raise TableError(
            f"{path}: the ending {ending!r} is none of {known}; say --format csv, parquet or libsvm"
        )
    if FORMATS[ending] == "parquet" and path.suffix in _PACKED:
        raise TableError(f"{path}: Parquet is compressed inside; name the file without {path.suffix}")
    return FORMATS[ending]


def ending_of(path: Path) -> str:
    """Return the ending of a file's name that tells what it holds, before that of a compressed file."""
    plain = path.with_suffix("") if path.suffix in _PACKED else path
    return plain.suffix.lower()


def packed(path: Path, content: bytes) -> bytes:
    """Return what a file of this name holds for some bytes: they, or they compressed."""
    return _PACKED[path.suffix].compress(content) if path.suffix in _PACKED else content


def read_table(
    path: Path,
    given: str | None = None,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    n_columns: int | None = None,
    texts: Collection[str] = (),
    may_be_empty: bool = False,
) -> Any:
    """Return a file as a data frame.

    Parameters
    ----------
    path : Path
        The file.
    given : {"csv", "parquet", "libsvm"}, default=None
        Its format; None goes by the ending.
    separator : str, default=None
        Between the fields of a CSV file; None finds it in the line of names.
    encoding : str, default="utf-8"
        Of a CSV file.
    n_columns : int, default=None
        How many columns a LIBSVM file has at least; columns that are not in the file are zero.
    texts : collection of str, default=()
        Columns of a CSV file that stay as they are written, whatever they look like: what others hold is
        inferred from all their rows, and one row less may make numbers of texts.
    may_be_empty : bool, default=False
        Whether names of columns without rows are no error.

    Returns
    -------
    DataFrame
        As it is in the file: nothing is filled in, and text stays text.
    """
    if not path.exists():
        raise TableError(f"{path}: there is no such file")
    if path.is_dir():
        raise TableError(f"{path} is a folder")
    kind = format_of(path, given)
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty")
    if kind == "parquet":
        frame = _read_parquet(path)
    elif kind == "libsvm":
        frame = _read_libsvm(path, n_columns)
    else:
        frame = _read_csv(path, separator, encoding, texts)
    if not len(frame) and not may_be_empty:
        raise TableError(f"{path} has no rows")
    return frame


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    format: str | None
    separator: str | None
    encoding: str

    def table(
        self,
        path: Path,
        n_columns: int | None = None,
        texts: Collection[str] = (),
        *,
        may_be_empty: bool = False,
    ) -> Any:
        """Return the table in a file."""
        return read_table(
            path,
            self.format,
            separator=self.separator,
            encoding=self.encoding,
            n_columns=n_columns,
            texts=texts,
            may_be_empty=may_be_empty,
        )


def _names(path: Path, text: str, separator: str | None) -> tuple[list[str], str]:
    """Return the names of the columns of a CSV file, and what is between its fields."""
    try:
        heads = {sign: _first_record(text, sign) for sign in ([separator] if separator else ",;\t")}
    except csv.Error as error:
        raise TableError(f"{path}: the first line, of names: {_one_line(error)}") from error
    sign = max(heads, key=lambda one: len(heads[one]))
    if not heads[sign]:
        raise TableError(f"{path} is empty")
    _require_names(path, heads[sign])
    return heads[sign], sign


def _first_record(text: str, separator: str) -> list[str]:
    """Return the fields of the first line that is not blank; quoted ones may have line breaks."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    stripped = ([field.strip() for field in fields] for fields in lines)
    return next((fields for fields in stripped if len(fields) > 1 or any(fields)), [])


def _read_csv(path: Path, separator: str | None, encoding: str, texts: Collection[str]) -> Any:
    pd = pandas()
    text = _text(path, encoding)
    names, separator = _names(path, text, separator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=separator,
                header=0,
                names=names,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
                dtype={name: str for name in names if name in texts},
            )
    except pd.errors.ParserWarning as error:
        raise TableError(
            f"{path}: rows have more fields than the first line has names ({len(names)})"
        ) from error
    except (pd.errors.ParserError, ValueError, OverflowError) as error:
        raise TableError(f"{path}: {_one_line(error)}") from error
    return frame


def _content(path: Path) -> bytes:
    """Return the bytes of a file, which may be compressed."""
    try:
        content = path.read_bytes()
        return _PACKED[path.suffix].decompress(content) if path.suffix in _PACKED else content
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise TableError(f"{path}: {_one_line(error)}") from error


def _text(path: Path, encoding: str) -> str:
    """Return the text of a file."""
    content = _content(path)
    if b"\0" in content[:4096] and not encoding.lower().startswith("utf-16"):
        raise TableError(f"{path} holds no text: is it a CSV file?")
    try:
        return content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise TableError(
            f"{path} is not {encoding}: byte 0x{content[error.start]:02x} in line {line}; say --encoding "
            "latin-1, or whatever it is written in"
        ) from error
    except LookupError as error:
        raise TableError(f"there is no encoding {encoding!r}") from error


def _require_names(path: Path, names: list[str]) -> None:
    """TableError for columns without a name, or with the same."""
    twice = [name for name, times in Counter(names).items() if times > 1 and name]
    if twice:
        raise TableError(
            f"{path} has more than one column called {twice[0]!r}: columns are known by their names"
        )
    if "" in names:
        raise TableError(f"{path}: column {names.index('') + 1} has no name in the first line")


def _read_parquet(path: Path) -> Any:
    pandas()
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("reading Parquet", "pyarrow") from error
    try:
        _require_names(path, parquet.read_schema(path).names)
        table = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"{path} cannot be read as Parquet: {_one_line(error)}") from error
    # Rows are counted from one as in other files, whatever pandas had numbered them by; an index with a name
    # is a column.
    named = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    return table.select(named).to_pandas(ignore_metadata=True)


def _read_libsvm(path: Path, n_columns: int | None) -> Any:
    from sklearn.datasets import load_svmlight_file

    pd = pandas()
    try:
        X, y = load_svmlight_file(io.BytesIO(_content(path)), zero_based=False)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        raise TableError(f"{path} cannot be read as LIBSVM: {_one_line(error)}") from error
    n_rows, found = X.shape
    wanted = max(found, n_columns or 0)
    if n_rows * wanted > _MOST_CELLS:
        raise TableError(
            f"{path} has {n_rows} rows of {wanted} columns, too many for a table: in Python, fit the matrix "
            "of sklearn.datasets.load_svmlight_file, which stays sparse"
        )
    X.resize((n_rows, wanted))
    frame = pd.DataFrame(X.toarray(), columns=[f"x{j + 1}" for j in range(wanted)])
    frame[TARGET] = y
    return frame


def _one_line(error: BaseException) -> str:
    """Return what an error says, without line breaks."""
    return " ".join(str(error).split())
