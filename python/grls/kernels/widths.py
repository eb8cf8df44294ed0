"""How far apart rows are: the first guess of a kernel's width, and its bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import pdist

from .._solvers.rows import distinct_rows, taken_columns
from .._validation import FloatArray


def _distinct(X: Any, n_points: int) -> Any:
    """Return the distinct rows, of many `n_points` of them.

    They are taken as good as at random, but always the same ones, whatever the order of the rows.
    """
    if not sparse.issparse(X) and X.shape[1] == 1:
        values = np.unique(X)
        if len(values) <= n_points:
            return values[:, None]
    return X[distinct_rows(X)[0][:n_points]]


def _distances(X: Any, n_points: int, metric: str) -> FloatArray:
    """Return the distances between distinct rows, of many rows those between some of them.

    `metric` is SciPy's; "hamming" counts the columns that differ.
    """
    chosen = _distinct(X, n_points)
    if sparse.issparse(chosen):
        chosen = taken_columns(chosen, np.unique(chosen.indices)).toarray()
    if chosen.shape[0] < 2 or chosen.shape[1] == 0:
        return np.empty(0)
    unit = chosen.shape[1] if metric == "hamming" else 1
    return unit * np.asarray(pdist(np.asarray(chosen, dtype=np.float64), metric))


def median_distance(X: Any, n_points: int = 1000, metric: str = "euclidean") -> float:
    """Return the median distance between distinct rows, the usual first guess of a kernel width.

    Repeated rows count once, so that a row given twice and a row of weight two mean the same.
    """
    if not sparse.issparse(X) and X.shape[1] == 1 and metric in ("euclidean", "cityblock"):
        median = _median_difference(np.sort(np.asarray(_distinct(X, n_points)[:, 0], dtype=np.float64)))
        if metric == "euclidean":
            median = math.sqrt(median * median)  # what kernels read are squares, which may vanish or overflow
    else:
        distances = _distances(X, n_points, metric)
        median = float(np.median(distances)) if distances.size else 1.0
    if not 0 < median < np.inf:
        raise ValueError(
            f"the distances between rows {'vanish' if median == 0 else 'overflow'} in double precision, so "
            "that no width follows from them: bring the columns of X to a usual scale, or give the kernel a "
            "width"
        )
    return median


def _median_difference(x: FloatArray) -> float:
    """Return the median of all x_j − x_i, i < j, of ascending numbers, without a list of them; 1: none.

    How many are at most t takes a search for each x_i. Halving what t can be leaves soon so few of them that
    they can be sorted.
    """
    n = len(x)
    n_pairs = n * (n - 1) // 2
    if n_pairs == 0:
        return 1.0
    first, last = (n_pairs - 1) // 2, n_pairs // 2  # the median lies between these, counted from the smallest
    ranks = np.arange(1, n + 1)

    def partners(t: float) -> NDArray[np.intp]:
        """For each i, where the j with x_j − x_i ≤ t end."""
        return np.maximum(np.searchsorted(x, x + t, side="right"), ranks)

    low, high = 0.0, float(x[-1]) - float(x[0])
    if not np.isfinite(high):
        return np.inf
    start, end = ranks, np.full(n, n)
    for _ in range(60):
        if (end - start).sum() <= 4 * n:
            break
        middle = partners(low + (high - low) / 2)
        below = int((middle - ranks).sum())
        if below <= first:
            low, start = low + (high - low) / 2, middle
        elif below > last:
            high, end = low + (high - low) / 2, middle
        else:
            break  # the two that the median lies between are on different sides
    counts = end - start
    i = np.repeat(np.arange(n), counts)
    j = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(start, counts)
    between = np.sort(x[j] - x[i])
    skipped = int((start - ranks).sum())
    return float(between[first - skipped] / 2 + between[last - skipped] / 2)


def distance_range(X: Any, n_points: int = 1000, metric: str = "euclidean") -> tuple[float, float]:
    """Return the smallest and the largest distance between distinct rows."""
    distances = _distances(X, n_points, metric)
    return (float(distances.min()), float(distances.max())) if distances.size else (1.0, 1.0)
