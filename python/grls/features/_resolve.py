"""What an estimator does with its `features`: make a transformer, check its output, name it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_array

from .._validation import did_you_mean
from ._columns import Columns
from ._trend import PolynomialTrend

_TRENDS = {"constant": 0, "linear": 1, "quadratic": 2}


def as_transformer(features: Any) -> Any:
    """Return a fresh transformer from anything an estimator's ``features`` parameter takes, or None.

    Parameters
    ----------
    features : None, str, list, callable or transformer
        The name of a trend, columns (beside a constant), a function of the rows, or a transformer, which is
        cloned.

    Returns
    -------
    transformer or None
        Not fitted; None where there are no features.
    """
    if features is None:
        return None
    if isinstance(features, str):
        if features.lower() not in _TRENDS:
            raise ValueError(
                f"features must be None, one of {', '.join(map(repr, _TRENDS))}, a list of columns, a "
                f"function or a transformer; got {features!r}{did_you_mean(features, _TRENDS)}"
            )
        return PolynomialTrend(_TRENDS[features.lower()])
    if isinstance(features, list | tuple):
        return Columns(list(features))
    if hasattr(features, "transform"):
        return clone(features)
    if isinstance(features, Callable):  # type: ignore[arg-type]
        return FunctionTransformer(features)
    raise TypeError(
        f"features must be None, a name, a list of columns, a function or a transformer; got {features!r}"
    )


def evaluate(values: Any, n_rows: int) -> NDArray[Any]:
    """Return what a transformer gave as a checked matrix T of shape (n_rows, l).

    Parameters
    ----------
    values : array-like or sparse matrix
        What it gave.
    n_rows : int
        Of how many rows.

    Returns
    -------
    ndarray of shape (n_rows, l)
        The features, finite; one column where `values` has one axis.
    """
    if sparse.issparse(values):
        values = values.toarray()
    T = np.asarray(values)
    if T.ndim == 1:
        T = T[:, None]
    if T.ndim != 2 or T.shape[0] != n_rows:
        raise ValueError(f"the features have shape {T.shape}, expected ({n_rows}, l)")
    if T.shape[1] == 0:
        return np.empty((n_rows, 0))
    if T.dtype == np.float64 and T.flags.c_contiguous and n_rows and np.isfinite(T).all():
        return T  # nothing to check or change
    return np.asarray(check_array(T, dtype=[np.float64, np.float32], input_name="features"))


def names(transformer: Any, values: Any, n_features: int) -> list[str]:
    """Return the names of a fitted transformer's features, made up where it has none.

    Parameters
    ----------
    transformer : transformer
        Fitted, with or without ``get_feature_names_out``.
    values : array-like
        Some that it gave: a data frame brings its names along.
    n_features : int
        How many there are.

    Returns
    -------
    list of str
        One for each feature.
    """
    if hasattr(values, "columns"):
        given = [str(name) for name in values.columns]
    else:
        try:
            given = [str(name) for name in transformer.get_feature_names_out()]
        except (AttributeError, ValueError, TypeError):
            given = []
    return given if len(given) == n_features else [f"feature{p}" for p in range(n_features)]
