"""The gradient of what features say, by the columns of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._columns import Columns
from ._resolve import evaluate
from ._trend import PolynomialTrend

_STEP = np.finfo(np.float64).eps ** (1 / 3)  # of a column's spread: truncation and rounding balance


def column_spreads(transformer: Any, given: Any) -> NDArray[np.float64] | None:
    """Return the spread (d,) of each column of the training rows, one where it is constant.

    None where no differences will be needed, because the features have derivatives in closed form.
    """
    if transformer is None or isinstance(transformer, PolynomialTrend | Columns) or hasattr(given, "toarray"):
        return None
    try:
        spreads = np.std(np.asarray(given, dtype=np.float64), axis=0)
    except (TypeError, ValueError):  # text, which has no gradient
        return None
    return np.where((spreads > 0) & np.isfinite(spreads), spreads, 1.0) if spreads.ndim == 1 else None


def feature_gradient(
    transformer: Any, given: Any, X: NDArray[Any], b: NDArray[np.float64], spreads: Any
) -> NDArray[np.float64]:
    """Return the gradient (n, d, k) of Tb by the columns of dense rows.

    Parameters
    ----------
    transformer : transformer or None
        The fitted features; None: there are none.
    given : {ndarray, data frame} of shape (n, d)
        The rows as the transformer sees them.
    X : ndarray of shape (n, d)
        The same rows as numbers.
    b : ndarray of shape (l, k)
        Coefficients of the columns T that are computed with.
    spreads : ndarray of shape (d,) or None
        From `column_spreads`, for the steps of differences.
    """
    n_rows, n_columns = X.shape
    out = np.zeros((n_rows, n_columns, b.shape[1]))
    if transformer is None:
        return out
    if isinstance(transformer, Columns):
        coefficients = b[1:] if transformer.constant else b
        for position, coefficient in zip(transformer.positions_, coefficients, strict=True):
            out[:, position] += coefficient
    elif isinstance(transformer, PolynomialTrend):
        _add_polynomials(transformer, given, b, out)
    else:
        steps = _STEP * (np.ones(n_columns) if spreads is None else spreads)
        for j in range(n_columns):
            up, down = X[:, j] + steps[j], X[:, j] - steps[j]
            difference = _moved(transformer, given, j, up) - _moved(transformer, given, j, down)
            out[:, j] = (difference @ b) / (up - down)[:, None]
    return out


def _add_polynomials(
    trend: PolynomialTrend, given: Any, b: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Add the gradient of monomials: each has the one of a degree less, times the exponent."""
    if trend.degree == 0:
        return
    T, powers = trend.about_the_middle(given), trend._monomials.powers_
    place = {tuple(power): i for i, power in enumerate(powers.tolist())}
    for i, power in enumerate(powers):
        for j in np.flatnonzero(power):
            lower = power.copy()
            lower[j] -= 1
            out[:, j] += power[j] * T[:, place[tuple(lower.tolist())], None] * b[i]


def _moved(transformer: Any, given: Any, j: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the features where a column of the rows has other values."""
    if hasattr(given, "isetitem"):
        rows = given.copy()
        rows.isetitem(j, values)
    else:
        rows = np.array(given, dtype=np.float64)
        rows[:, j] = values
    T = evaluate(transformer.transform(rows), len(values))
    return np.asarray(T, dtype=np.float64)
