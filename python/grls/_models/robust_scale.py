"""How large the noise is, told by residuals of which some are outliers."""

from __future__ import annotations

import numpy as np

from .._solvers.rank import nearest_combination
from .._validation import FloatArray

EFFICIENT = 1.345  # Huber's δ in standard deviations: 95 % as efficient as least squares with normal noise
FAR = 3.0  # standard deviations of the noise from where on a residual is an outlier

_NORMAL = 1.4826  # standard deviations of a normal in units of the median absolute deviation


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the median of rows, each as often as its weight says."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    half = 0.5 * sums[-1]
    at = int(np.searchsorted(sums, half * (1 - 1e-12)))
    if abs(sums[at] - half) <= 1e-12 * half and at + 1 < len(order):
        return float(0.5 * (values[order[at]] + values[order[at + 1]]))
    return float(values[order[at]])


def robust_scale(residuals: FloatArray, weights: FloatArray) -> float:
    """Return a standard deviation by the median of |residuals|; where most vanish, by their mean."""
    sizes = np.abs(residuals)
    median = _NORMAL * weighted_median(sizes, weights)
    mean = float(np.average(sizes, weights=weights))
    return median if median > 1e-9 * mean else 1.2533 * mean


def spread_of(y: FloatArray, T: FloatArray, weights: FloatArray) -> float:
    """Return the robust scale of what the features T leave of y; one where nothing is left."""
    residuals = y - weighted_median(y, weights)
    if T.shape[1]:
        for _ in range(10):  # least absolute deviations, roughly, by weights
            scale = max(robust_scale(residuals, weights), 1e-300)
            w = np.sqrt(weights / np.maximum(np.abs(residuals) / scale, 1e-2))
            residuals = y - T @ nearest_combination(w[:, None] * T, w * y)
    scale = robust_scale(residuals, weights)
    return scale if scale > 1e-12 * float(np.abs(y).max(initial=0)) else 1.0
