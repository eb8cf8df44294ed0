"""What displays ask of a model and its rows: the estimator in a pipeline, names, rows of usual values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._validation import FloatArray
from ..losses import GRRegressor
from ..nystrom_losses import NystromGRRegressor


def final_estimator(model: Any) -> Any:
    """Return the estimator itself, or the last step of a pipeline."""
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def fitted_regressor(model: Any) -> Any:
    """Return the regressor with predictive variances that a model is, or ends in."""
    final = final_estimator(model)
    if not (hasattr(final, "cross_validate") and hasattr(final, "feature_covariance")):
        # One line: of some models the description has several.
        got = " ".join(repr(final).split())
        raise TypeError(f"this display shows a GRLSRegressor, or a pipeline that ends in one, got {got}")
    check_is_fitted(final)
    n_outputs = len(final.kernel_variance_)
    if n_outputs != 1:
        raise ValueError(f"this display shows one output, the model has {n_outputs}")
    return final


def has_another_loss(final: Any) -> bool:
    """Whether an estimator is a `GRRegressor`, or one on centres."""
    return isinstance(final, GRRegressor | NystromGRRegressor)


def column_names(X: Any) -> list[str]:
    """Return what the columns of X are called."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(X.shape[1])]


def as_table(X: Any, model: Any) -> Any:
    """Return rows as a table: X, or the training rows of a model where X is None."""
    if X is not None:
        table = X if hasattr(X, "columns") else np.asarray(X, dtype=np.float64)
        if len(table.shape) != 2:
            raise ValueError(f"X must have rows and columns, got shape {table.shape}")
        return table
    final = final_estimator(model)
    rows = final.X_fit_
    if model is not final or final.kernel_.reads_given or final.kernel_.pairwise or hasattr(rows, "toarray"):
        raise ValueError("the model does not keep the rows as they were given: pass X")
    if not hasattr(final, "feature_names_in_"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=final.feature_names_in_)


def target_name(name: str | None, y: Any = None) -> str:
    """Return what the target is called: the name given, that of a column, or y."""
    if name is not None:
        return name
    found = getattr(y, "name", None)
    return "y" if found is None else str(found)


def column_of(X: Any, j: int) -> NDArray[Any]:
    """Return a column of a table."""
    return np.asarray(X.iloc[:, j] if hasattr(X, "columns") else X[:, j])


def is_numeric(column: NDArray[Any]) -> bool:
    """Whether a column holds numbers."""
    return column.dtype.kind in "biuf"


def number_of_column(X: Any, column: Any) -> int:
    """Return the position of a column, given by that or by its name."""
    names = column_names(X)
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"there is no column {column!r}; choose from {', '.join(names)}")
        return names.index(column)
    number = int(column)
    if not 0 <= number < len(names):
        raise ValueError(f"there is no column {number}: X has {len(names)}, counted from 0")
    return number


def usual_rows(X: Any, n_rows: int) -> Any:
    """Return rows that are all alike: medians of numbers, of other columns what comes most often."""
    usual = []
    for j in range(X.shape[1]):
        column = column_of(X, j)
        if is_numeric(column):
            usual.append(np.median(column[np.isfinite(column)]) if np.isfinite(column).any() else np.nan)
        else:
            values, counts = np.unique(column.astype(str), return_counts=True)
            commonest = values[counts.argmax()]
            usual.append(next(value for value in column if str(value) == commonest))
    if not hasattr(X, "columns"):
        return np.tile(np.array(usual, dtype=np.float64), (n_rows, 1))
    return type(X)({name: [value] * n_rows for name, value in zip(X.columns, usual, strict=True)})


def varying_columns(X: Any) -> list[int]:
    """Return the columns that hold numbers, not all the same."""
    found = []
    for j in range(X.shape[1]):
        column = column_of(X, j)
        if is_numeric(column) and len(np.unique(column[np.isfinite(column)])) > 1:
            found.append(j)
    return found


def with_column(rows: Any, j: int, values: FloatArray) -> Any:
    """Return rows with other values in a column."""
    out = rows.copy()
    if hasattr(out, "columns"):
        out[out.columns[j]] = values
    else:
        out[:, j] = values
    return out
