"""Scores: how far an observation lies from what a regressor says of it, and the way back to a band.

All of them are distances from an interval [a, b] in units of a width w > 0, which are what a regressor says:

====================  ===============  ================  ==================
``conformity_score``  a                b                 w
====================  ===============  ================  ==================
"absolute"            mean             mean              1
"normalized"          mean             mean              standard deviation
"quantile"            lowest quantile  highest quantile  1
====================  ===============  ================  ==================
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._validation import FloatArray

__all__ = ["SCORES", "SIDES", "Claims", "claims", "fit_predictors", "out_of_fold"]

SCORES = ("absolute", "normalized", "quantile")
SIDES = ("both", "lower", "upper")


@dataclass(frozen=True)
class Claims:
    """What a regressor says of rows."""

    lower: FloatArray  # (n,)
    upper: FloatArray  # (n,)
    width: FloatArray  # (n,)
    point: FloatArray  # (n,): one number of each

    def scores(self, y: FloatArray, side: str) -> FloatArray:
        """Return how far observations lie outside, (n,); negative inside."""
        below, above = (self.lower - y) / self.width, (y - self.upper) / self.width
        if side == "lower":
            return np.asarray(below)
        return np.asarray(above if side == "upper" else np.maximum(below, above))

    def bands(self, thresholds: FloatArray, side: str) -> FloatArray:
        """Return the ends (n, 2) of what lies no further outside; an empty set as the point prediction.

        A one-sided band that is empty has its end at infinity.
        """
        reach = thresholds * self.width
        ends = np.column_stack([self.lower - reach, self.upper + reach])
        if side == "lower":
            ends[:, 1] = np.inf
        elif side == "upper":
            ends[:, 0] = -np.inf
        empty = ends[:, 0] > ends[:, 1]
        ends[empty] = self.point[empty, None]
        return ends

    def take(self, rows: Any) -> Claims:
        """Return those of some rows."""
        return Claims(self.lower[rows], self.upper[rows], self.width[rows], self.point[rows])


def _several(estimator: Any) -> list[Any]:
    return list(estimator) if isinstance(estimator, list | tuple) else [estimator]


def fit_predictors(estimator: Any, X: Any, y: FloatArray) -> Any:
    """Return the estimator, or each of several, cloned and fitted."""
    fitted = [clone(one).fit(X, y) for one in _several(estimator)]
    return fitted if isinstance(estimator, list | tuple) else fitted[0]


def claims(estimator: Any, X: Any, score: str) -> Claims:
    """Return what a fitted estimator says of rows; ValueError where it does not say what the score needs."""
    if score == "quantile":
        return _quantiles(estimator, X)
    if isinstance(estimator, list | tuple):
        raise ValueError(f'several estimators are for conformity_score="quantile", and it is {score!r}')
    if score == "normalized":
        mean, std = _with_std(estimator, X)
        return Claims(mean, mean, std, mean)
    mean = _column(estimator.predict(X), estimator)
    return Claims(mean, mean, np.ones(len(mean)), mean)


def _column(values: Any, estimator: Any) -> FloatArray:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise ValueError(
            f"{type(estimator).__name__}.predict gave an array of shape {found.shape}, and one value of each "
            'row is needed; several columns of quantiles need conformity_score="quantile"'
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{type(estimator).__name__}.predict gave values that are not finite")
    return found


def _with_std(estimator: Any, X: Any) -> tuple[FloatArray, FloatArray]:
    takes = signature(estimator.predict).parameters
    if "return_std" not in takes:
        raise ValueError(
            'conformity_score="normalized" needs predict(X, return_std=True), which '
            f'{type(estimator).__name__} does not have; use conformity_score="absolute"'
        )
    noise = {"with_noise": True} if "with_noise" in takes else {}
    mean, std = (_column(part, estimator) for part in estimator.predict(X, return_std=True, **noise))
    if not np.all(std > 0):
        raise ValueError(
            f"{type(estimator).__name__} has a standard deviation of {std.min():g} at row {std.argmin()}: "
            'conformity_score="normalized" divides by it'
        )
    return mean, std


def _quantiles(estimator: Any, X: Any) -> Claims:
    each = [np.asarray(one.predict(X), dtype=np.float64) for one in _several(estimator)]
    columns = np.column_stack([part if part.ndim == 2 else part[:, None] for part in each])
    if columns.shape[1] < 2:
        raise ValueError(
            'conformity_score="quantile" needs two quantiles at least, a lower and an upper one: an '
            "estimator whose predict gives them as columns, or a pair of estimators; got one column"
        )
    if not np.isfinite(columns).all():
        raise ValueError("the quantiles are not finite")
    ends = np.sort(columns[:, [0, -1]], axis=1)  # quantiles may cross
    n_columns = columns.shape[1]
    point = columns[:, n_columns // 2] if n_columns % 2 else ends.mean(axis=1)
    return Claims(ends[:, 0], ends[:, 1], np.ones(len(ends)), point)


def out_of_fold(estimator: Any, X: Any, y: FloatArray, score: str, splits: Any) -> Claims:
    """Return what is said of each row by the estimator fitted without its fold."""
    n_rows = len(y)
    parts = [np.full(n_rows, np.nan) for _ in range(4)]
    times = np.zeros(n_rows, dtype=int)
    for train, test in splits:
        fitted = fit_predictors(estimator, _safe_indexing(X, train), y[train])
        said = claims(fitted, _safe_indexing(X, test), score)
        for whole, part in zip(parts, (said.lower, said.upper, said.width, said.point), strict=True):
            whole[test] = part
        times[test] += 1
    if not np.all(times == 1):
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(f"cv must leave out every row once, but row {row} is left out {times[row]} times")
    return Claims(*parts)
