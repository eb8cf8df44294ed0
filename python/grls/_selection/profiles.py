"""Intervals of kernel parameters by their profile likelihood.

The interval of a parameter holds the values at which the criterion, smallest over all the others, is less
than 3.84 above its minimum. A period or a width is not known as a normal logarithm is: the likelihood of a
season that changes is flat beyond a few standard errors. Steps are those of Newton's method with the
curvature at the minimum, improved on the way (BFGS).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._validation import FloatArray
from .descent import Objective

CHI2 = float(stats.chi2.ppf(0.95, 1))
_CLOSE = 0.02  # of the rise
_MOST_TRIALS, _MOST_STEPS = 15, 20


@dataclass
class Profile:
    """The criterion about its minimum, by the logarithms of parameters and γ."""

    objective: Objective
    least: FloatArray  # (p,) logarithms at the minimum
    curvature: FloatArray  # (p, p) second derivatives there; of those that are not free anything
    free: NDArray[np.bool_]  # (p,)
    bounds: FloatArray  # (p, 2) logarithms
    rise: float  # of the criterion, to the ends of an interval

    def interval(self, i: int) -> FloatArray:
        """Return the ends (2,) of the logarithm of a free parameter; infinite beyond its bounds."""
        return np.array([self._end(i, sign) for sign in (-1.0, 1.0)])

    def _end(self, i: int, sign: float) -> float:
        others = np.flatnonzero(self.free & (np.arange(len(self.free)) != i)).astype(np.intp)
        inverse = np.asarray(np.linalg.inv(self.curvature[np.ix_(others, others)]))
        tangent = -inverse @ self.curvature[others, i]
        own = self.curvature[i, i] + self.curvature[i, others] @ tangent
        lowest = self.objective.value_and_gradient(np.exp(self.least))[0]
        farthest = abs(self.bounds[i, int(sign > 0)] - self.least[i])
        near, far = 0.0, np.inf
        t = float(np.sqrt(2 * self.rise / own))
        away = tangent * sign * t
        for _ in range(_MOST_TRIALS):
            t_now = min(t, farthest)
            point = self.least.copy()
            point[i] += sign * t_now
            point[others] += away * (t_now / t)
            value, point, inverse = self._smallest(point, others, inverse)
            rise = value - lowest
            if abs(rise - self.rise) < _CLOSE * self.rise or far - near < _CLOSE * t_now:
                return float(point[i])
            if rise < self.rise and t_now == farthest:
                return sign * np.inf
            near, far = (t_now, far) if rise < self.rise else (near, t_now)
            factor = np.sqrt(self.rise / max(rise, 0.05 * self.rise)) if np.isfinite(rise) else 0.5
            wanted = t_now * float(np.clip(factor, 0.3, 2.0))
            if not near < wanted < far:
                wanted = (near + far) / 2
            away = (point - self.least)[others] * (wanted / t_now)
            t = wanted
        return float(self.least[i] + sign * t)

    def _smallest(
        self, point: FloatArray, others: NDArray[np.intp], inverse: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the smallest value over the others, where it is, and the inverse of their curvature."""
        point = np.clip(point, self.bounds[:, 0], self.bounds[:, 1])
        value, slopes = self._at(point)
        for _ in range(_MOST_STEPS):
            step = -inverse @ slopes[others]
            gain = -0.5 * float(slopes[others] @ step)
            if not np.isfinite(value) or gain < 0.25 * _CLOSE * self.rise:
                return value - max(gain, 0.0) if np.isfinite(value) else value, point, inverse
            for share in (1.0, 0.25, 0.05):
                tried = point.copy()
                tried[others] += share * step
                tried = np.clip(tried, self.bounds[:, 0], self.bounds[:, 1])
                new, new_slopes = self._at(tried)
                if new < value:
                    break
            else:
                return value, point, inverse
            moved, turned = (tried - point)[others], (new_slopes - slopes)[others]
            inverse = _improved(inverse, moved, turned)
            point, value, slopes = tried, new, new_slopes
        return value, point, inverse

    def _at(self, logs: FloatArray) -> tuple[float, FloatArray]:
        values = np.exp(logs)
        value, slopes = self.objective.value_and_gradient(values)
        return value, slopes * values


def _improved(inverse: FloatArray, moved: FloatArray, turned: FloatArray) -> FloatArray:
    """Return the inverse curvature that fits a step, by the formula of BFGS."""
    along = float(moved @ turned)
    if along <= 1e-12 * float(np.linalg.norm(moved) * np.linalg.norm(turned)):
        return inverse
    A = np.eye(len(moved)) - np.outer(moved, turned) / along
    return np.asarray(A @ inverse @ A.T + np.outer(moved, moved) / along)
