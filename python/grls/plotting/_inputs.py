"""What displays ask of a model and its rows: the estimator in a pipeline, names, rows of usual values."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.utils.validation import check_is_fitted

from .._validation import FloatArray


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
        raise TypeError(
            "this display shows a GRLSRegressor, which keeps its rows and can leave them out, or a pipeline "
            f"that ends in one; got {got}"
        )
    check_is_fitted(final)
    n_outputs = len(final.kernel_variance_)
    if n_outputs != 1:
        raise ValueError(f"this display shows one output, the model has {n_outputs}")
    return final


@dataclass
class Predicted:
    """What a model says at rows, and how sure it is where it tells that."""

    mean: FloatArray  # (n,), or (n, k) of k levels
    std: FloatArray | None = None  # (n,)
    ends: FloatArray | None = None  # (n, 2): of a band of 95 %
    levels: Any = None  # (k,): of quantiles or expectiles
    what: str = "prediction"  # of classifiers: a probability, or a decision value


def predicted(model: Any, rows: Any, with_noise: bool = False) -> Predicted:
    """Return predictions of any model with one output, with the errors that it has."""
    final = final_estimator(model)
    check_is_fitted(final)
    if hasattr(final, "classes_"):
        return _of_classes(model, final, rows)
    takes = signature(final.predict).parameters
    levels: Any = getattr(final, "quantiles", None)
    if with_noise and not tells_noise(model):
        raise ValueError(f"with_noise is for models that have bands, and {type(final).__name__} has none")
    if not ("return_std" in takes and tells_noise(model)):
        mean = np.asarray(model.predict(rows), dtype=np.float64)
        if mean.ndim == 2 and np.ndim(levels) == 1 and mean.shape[1] == np.size(levels):
            return Predicted(mean, levels=np.asarray(levels, dtype=np.float64))
        return Predicted(one_output(mean))
    if "with_noise" in takes:
        mean, std = map(one_output, model.predict(rows, return_std=True, with_noise=with_noise))
        away = student.ppf(0.975, getattr(final, "degrees_of_freedom_", np.inf)) * std
        return Predicted(mean, std, np.stack([mean - away, mean + away], axis=-1))
    # A smooth loss, whose band is not as wide above as below.
    mean, std = map(one_output, model.predict(rows, return_std=True))
    given = rows if model is final else model[:-1].transform(rows)
    ends = final.predict_interval(given, 0.05, with_noise=with_noise)
    return Predicted(mean, None if with_noise else std, np.reshape(ends, (len(mean), 2)))


def one_output(values: Any) -> FloatArray:
    """Return values of one output, (n,)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 2 and array.shape[1] != 1:
        raise ValueError(f"this display shows one output, the model has {array.shape[1]}")
    return array.reshape(len(array))


def tells_noise(model: Any) -> bool:
    """Whether a model has bands of new observations."""
    final = final_estimator(model)
    return "with_noise" in signature(final.predict).parameters or (
        hasattr(final, "predict_interval") and "return_std" in signature(final.predict).parameters
    )


def _of_classes(model: Any, final: Any, rows: Any) -> Predicted:
    """Return the probability of the second of two classes, or the decision value where there is none."""
    if len(final.classes_) != 2:
        raise ValueError(f"this display shows two classes, the model has {len(final.classes_)}")
    if hasattr(model, "predict_proba"):
        return Predicted(model.predict_proba(rows)[:, 1], what=f"probability of {final.classes_[1]}")
    return Predicted(np.ravel(model.decision_function(rows)), what=f"decision for {final.classes_[1]}")


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
    rows, kernel = getattr(final, "X_fit_", None), getattr(final, "kernel_", None)
    kept = rows is not None and not (kernel is None or kernel.reads_given or kernel.pairwise)
    if model is not final or not kept or hasattr(rows, "toarray"):
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


def shown_as(found: Predicted, target: str) -> str:
    """Return what the axis of predictions is called."""
    return target if found.what == "prediction" else found.what


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
