"""From the columns of a table to the numbers that a model reads: `TableColumns`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .._versions import Versioned
from .errors import TableError
from .reading import pandas

_MOST_CATEGORIES = 50
_EXACT = 2.0**53  # beyond it, floating point numbers skip whole ones
_WHOLE = re.compile(r"([+-]?\d+)\.0*")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class Column:
    """A column of numbers, or of categories: then these are they, and whether they are texts as written."""

    name: str
    categories: tuple[str, ...] | None = None
    as_written: bool = False

    def encoded(self) -> list[str]:
        """Return the names of the columns that become of it: itself, or one for each category."""
        if self.categories is None:
            return [self.name]
        return [f"{self.name}={value}" for value in self.categories]


def require_columns(frame: Any, names: list[str], where: str) -> None:
    """TableError for columns that are not there."""
    there = [str(name) for name in frame.columns]
    missing = [name for name in names if name not in there]
    if missing:
        which = "column" if len(missing) == 1 else "columns"
        listed = ", ".join(map(repr, missing))
        raise TableError(
            f"{where} has no {which} {listed}; it has {', '.join(there[:20])}{'…' * (len(there) > 20)}"
        )


_IN_FIT = "leave out such rows with --missing drop, or the column with --drop"
_IN_PREDICT = "or predict the other rows with --missing blank"


def without_missing(frame: Any, how: str, remedy: str = _IN_FIT) -> Any:
    """Return the rows of a table that have all values; TableError where some have not and are not dropped."""
    absent = frame.isna()
    if not absent.to_numpy().any():
        return frame.infer_objects()
    if how == "drop":
        kept = frame[~absent.any(axis=1)]
        if not len(kept):
            raise TableError("every row has a missing value: leave out columns with --drop")
        return kept.infer_objects()  # true and false beside an empty cell were objects
    name = next(name for name in frame.columns if absent[name].any())
    count, first = int(absent[name].sum()), _row(frame, int(absent[name].to_numpy().argmax()))
    raise TableError(
        f"column {name!r} has {count} missing value{'s' * (count > 1)}, the first in row {first}: fill them "
        f"in, {remedy}"
    )


def column_of(frame: Any, name: str, *, labels: bool = False) -> Column:
    """Return what a column is: numbers or, with `labels` always, categories; TableError where neither."""
    pd = pandas()
    values = frame[name]
    if labels:
        return _categories(values, name)
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        raise TableError(
            f"column {name!r} holds dates: make a number of it, such as days, or leave it out with "
            f"--drop {name}"
        )
    if pd.api.types.is_numeric_dtype(values):
        return Column(name)
    parsed = pd.to_numeric(values.astype(str), errors="coerce")
    if parsed.notna().mean() > 0.5:  # numbers, up to some that are not
        return Column(name)
    return _categories(values, name)


def is_text(values: Any) -> bool:
    """Whether a column holds texts as somebody wrote them, rather than numbers or truth values."""
    pd = pandas()
    plain = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else values
    return bool(pd.api.types.infer_dtype(plain, skipna=True) == "string")


def texts_of(values: Any) -> Any:
    """Return categories or labels as texts without blanks around them, each by itself.

    Whole numbers are the same with and without a decimal point; all else stays as it is written.
    """
    pd = pandas()
    if pd.api.types.is_float_dtype(values):
        values = values + 0.0  # minus zero is zero
    places, distinct = pd.factorize(values.astype(str), use_na_sentinel=False)
    plain = [str(text).strip() for text in distinct]
    return np.array([_WHOLE.sub(r"\1", t) if _WHOLE.fullmatch(t) else t for t in plain], dtype=object)[places]


def _value(text: str) -> Any:
    """Return what a text stands for, however it is written: a number, true, false, or itself."""
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    return text.lower() if text.lower() in ("true", "false") else text


def matched(values: Any, known: Sequence[str], *, as_written: bool) -> Any:
    """Return the known texts that values are; those that are none stay as they are.

    Texts are compared letter by letter with texts that were written so (code 7 is not 007, version 3.10 not
    3.1). Where one of the two comes from numbers or truth values, which have no writing, they are compared.
    """
    texts = texts_of(values)
    if as_written and is_text(values):
        return texts
    stands: dict[Any, list[str]] = defaultdict(list)
    for one in known:
        stands[_value(one)].append(one)
    places, distinct = pandas().factorize(texts)
    found = [stands.get(_value(text), []) for text in distinct]
    chosen = [
        several[0] if text not in known and len(several) == 1 else text
        for text, several in zip(distinct, found, strict=True)
    ]
    return np.array(chosen, dtype=object)[places]


def _row(values: Any, place: int) -> int:
    """Return the number of a row in its file, counted from one."""
    return int(values.index[place]) + 1 if values.index.dtype.kind == "i" else place + 1


def _categories(values: Any, name: str) -> Column:
    categories = sorted(set(texts_of(values)))
    if len(categories) > min(_MOST_CATEGORIES, max(2, len(values) // 2)):
        raise TableError(
            f"column {name!r} holds {len(categories)} different texts in {len(values)} rows, too many for "
            f"categories: leave it out with --drop {name}"
        )
    return Column(name, tuple(categories), is_text(values))


def as_numbers(values: Any, name: str) -> Any:
    """Return a column as floating point numbers; TableError names the row that has none."""
    pd = pandas()
    if not pd.api.types.is_numeric_dtype(values):
        texts = values.astype(str).str.strip()
        parsed = pd.to_numeric(texts, errors="coerce")
        if parsed.isna().any():
            row = int(parsed.isna().to_numpy().argmax())
            raise TableError(f"column {name!r}, row {_row(values, row)}: {texts.iloc[row]!r} is not a number")
        values = parsed
        whole = bool(texts.str.fullmatch(r"[+-]?\d{17,}").any())
    else:
        whole = values.to_numpy().dtype.kind in "iu"
    numbers = values.to_numpy().astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int((~np.isfinite(numbers)).argmax())
        raise TableError(f"column {name!r}, row {_row(values, row)}: {numbers[row]} is not a finite number")
    if whole and np.abs(numbers).max(initial=0.0) > _EXACT:
        raise TableError(
            f"column {name!r} has whole numbers beyond 2**53, which floating point cannot tell apart: if it "
            f"is an identifier, leave it out with --drop {name}"
        )
    return numbers


class TableColumns(TransformerMixin, Versioned, BaseEstimator):
    """Makes numbers of the columns of a table: categories become indicators, columns are found by name.

    It has no state but its parameters, which tell all about the table that a model was fitted to.

    Parameters
    ----------
    numbers : list of str
        Columns of numbers.
    categories : dict of str to list of str, default=None
        Columns of categories, and which there are; each becomes one column ``"name=category"`` for each.
    target : str, default=None
        The column that is predicted.
    task : {"regression", "classification"}, default=None
        How.
    unknown : {"refuse", "ignore"}, default="refuse"
        What becomes of categories that the model has not seen: an error, or a row of zeros.
    as_written : list of str, default=None
        Columns whose categories are texts as they were written, and are found letter by letter; those of
        others stand for numbers or truth values, and are found however these are written.
    """

    as_written: Any = None  # of models that were saved before there was such a parameter

    def __init__(
        self,
        numbers: Any,
        categories: Any = None,
        target: str | None = None,
        task: str | None = None,
        unknown: str = "refuse",
        as_written: Any = None,
    ) -> None:
        self.numbers = numbers
        self.categories = categories
        self.target = target
        self.task = task
        self.unknown = unknown
        self.as_written = as_written

    @property
    def columns(self) -> list[Column]:
        """The columns that are read."""
        written = self.as_written or ()
        labelled = [
            Column(name, tuple(values), name in written) for name, values in (self.categories or {}).items()
        ]
        return [*(Column(name) for name in self.numbers), *labelled]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> TableColumns:
        """Do nothing: the parameters say all.

        Parameters
        ----------
        X : DataFrame
            The table.
        y : object, default=None
            Not used.

        Returns
        -------
        TableColumns
            Itself.
        """
        return self

    def transform(self, X: Any) -> Any:
        """Return the numbers.

        Parameters
        ----------
        X : DataFrame
            A table that has the columns, in any order and among others.

        Returns
        -------
        DataFrame
            One column for each number and each category.
        """
        pd = pandas()
        require_columns(X, [column.name for column in self.columns], "the table")
        self._require_different()
        complete = without_missing(X[[column.name for column in self.columns]], "refuse", _IN_PREDICT)
        out: dict[str, Any] = {}
        for column in self.columns:
            values = complete[column.name]
            if column.categories is None:
                out[column.name] = as_numbers(values, column.name)
                continue
            texts = matched(values, column.categories, as_written=column.as_written)
            self._require_known(column, texts, values)
            for name, category in zip(column.encoded(), column.categories, strict=True):
                out[name] = (texts == category).astype(np.float64)
        return pd.DataFrame(out, index=X.index)

    @property
    def n_features_in_(self) -> int:
        """How many columns are read."""
        return len(self.columns)

    def _to_onnx(self, graph: Any, X: str) -> tuple[str, int]:
        """Take a matrix of the columns in their order."""
        for name in self.categories or {}:
            raise NotImplementedError(f"TableColumns does not convert to ONNX: column {name!r} holds text")
        return X, len(self.numbers)

    def _require_different(self) -> None:
        for name, times in Counter(self.get_feature_names_out()).items():
            if times > 1:
                raise TableError(
                    f"two columns become {name!r}: indicators are called column=category, so rename the "
                    "column of that name, or leave it out with --drop"
                )

    def _require_known(self, column: Column, texts: Any, values: Any) -> None:
        assert column.categories is not None
        strange = ~np.isin(texts.astype(str), column.categories)
        if self.unknown != "ignore" and strange.any():
            row = int(strange.argmax())
            known = ", ".join(column.categories[:10]) + "…" * (len(column.categories) > 10)
            raise TableError(
                f"column {column.name!r}, row {_row(values, row)}: {texts[row]!r} is a category that the "
                f"model has not seen (it knows {known}); --unknown ignore predicts such rows without it"
            )

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that become of a table."""
        return np.array([name for column in self.columns for name in column.encoded()], dtype=object)
