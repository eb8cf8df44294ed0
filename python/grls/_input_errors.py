"""What is said of rows that cannot be read: which column, which row, and a line that mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from ._validation import shown

_NO_NUMBER = "could not convert string to float"


def require_distinct_columns(X: Any) -> None:
    """Raise ValueError for a table with columns of the same name."""
    names = getattr(X, "columns", None)
    if names is None:
        return
    repeated = [name for name, count in Counter(list(names)).items() if count > 1]
    if repeated:
        raise ValueError(
            f"X has several columns called {shown(repeated[0])}, so that names do not tell columns apart: "
            "rename them, X.columns = [f'{name}.{i}' for i, name in enumerate(X.columns)], or drop copies, "
            "X = X.loc[:, ~X.columns.duplicated()]"
        )


def require_numbers(y: Any) -> None:
    """Raise ValueError for values to predict that are text, or missing."""
    if y is None:
        return
    try:
        values = np.asarray(y)
    except ValueError:  # rows of different lengths
        return
    if values.dtype.kind not in "OUS" and not (values.dtype.kind == "f" and np.isnan(values).any()):
        return
    for place in np.ndindex(values.shape):
        value = values[place]
        if not _is_number(value):
            raise ValueError(
                f"y must hold numbers, and row {place[0]} has {str(value)!r}: labels are for classifiers, "
                "such as GRLSClassifier; to find what is no number among numbers that were read as text, "
                "y = pd.to_numeric(y, errors='coerce')"
            )
        if value is None or np.isnan(float(value)):
            raise ValueError(
                f"y is NaN in row {place[0]}: leave out rows without a value, "
                "keep = ~np.isnan(y); X, y = X[keep], y[keep]"
            )


@contextmanager
def values_explained(X: Any, called: Any = None) -> Iterator[None]:
    """Say where the value is that is no finite number, where rows X are read as such.

    `called`: what the columns are called, where X does not say.
    """
    try:
        yield
    except ValueError as error:
        text = str(error)
        is_about_one = _NO_NUMBER in text or " contains NaN" in text or " contains infinity" in text
        told = what_is_wrong(X, called) if is_about_one else None
        if told is None:
            raise
        raise ValueError(told) from error


def what_is_wrong(X: Any, called: Any = None) -> str | None:
    """Return what to say of rows with a value that is no finite number; None: there is no such value."""
    if sparse.issparse(X):
        entries = X.tocoo()
        wrong = np.flatnonzero(~np.isfinite(entries.data)) if X.dtype.kind == "f" else np.empty(0)
        if not len(wrong):
            return None
        first = wrong[0]
        return _not_finite(
            entries.data[first], str(entries.col[first]), int(entries.row[first]), "np.isfinite(X.toarray())"
        )
    names = getattr(X, "columns", None)
    try:
        columns = [np.asarray(X[name]) for name in names] if names is not None else list(np.asarray(X).T)
    except (ValueError, TypeError):  # rows of different lengths
        return None
    if columns and np.ndim(columns[0]) == 0 and isinstance(columns[0], str):
        return (
            f"{_NO_NUMBER}: {str(columns[0])!r}. Rows that are texts need a kernel on "
            "a view of them, such as Linear().after(TfidfVectorizer())"
        )
    if not all(column.ndim == 1 and column.dtype.kind in "biufOUS" for column in columns):
        return None
    texts = [p for p, column in enumerate(columns) if not all(map(_is_number, _distinct(column)))]
    if called is None or names is not None:
        called = range(len(columns)) if names is None else list(names)
    if texts:
        column = columns[texts[0]]
        row = next(i for i, value in enumerate(column) if not _is_number(value))
        return _text(called, texts, str(column[row]), row)
    for p, column in enumerate(columns):
        values = np.asarray(column, dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            value = values[wrong[0]]
            test = "X.notna()" if np.isnan(value) and hasattr(X, "notna") else "np.isfinite(X)"
            return _not_finite(value, shown(called[p]), int(wrong[0]), test)
    return None


def _distinct(column: Any) -> Any:
    return [] if column.dtype.kind in "biuf" else column


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True


def _not_finite(value: float, column: str, row: int, test: str) -> str:
    kind = "NaN" if np.isnan(value) else "infinity"
    return (
        f"Input X contains {kind}: column {column} in row {row} first. Leave out such rows, "
        f"keep = {test}.all(axis=1); X, y = X[keep], y[keep], or fill them, "
        "make_pipeline(SimpleImputer(), model), with what scikit-learn has in sklearn.impute"
    )


def _text(called: Sequence[Any], texts: list[int], value: str, row: int) -> str:
    labels = [called[p] for p in texts]
    numbers = [called[p] for p in range(len(called)) if p not in texts]
    kernel = f"Overlap().on({shown(labels)})"
    if numbers:
        kernel = f"Gaussian('medians').on({shown(numbers)}) * {kernel}"
    return (
        f"{_NO_NUMBER}: {value!r} in column {shown(labels[0])}, row {row} of X. Kernels "
        f"read numbers; of labels they can ask whether they are equal, kernel={kernel}; text is read "
        f"through a transformer, Linear().after(TfidfVectorizer()).on({shown(labels[0])})"
    )
