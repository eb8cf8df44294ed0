"""How far apart rows are: the first guess of a kernel's width, and its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist

from .._solvers.rows import distinct_rows
from .._validation import FloatArray


def _distances(X: Any, n_points: int, metric: str) -> FloatArray:
    """Return the distances between distinct rows, of many rows those between `n_points` of them.

    They are taken as good as at random, but always the same ones, whatever the order of the rows. `metric` is
    SciPy's; "hamming" counts the columns that differ.
    """
    chosen = X[distinct_rows(X)[0][:n_points]]
    if sparse.issparse(chosen):
        chosen = chosen[:, np.unique(chosen.indices)].toarray()
    if chosen.shape[0] < 2 or chosen.shape[1] == 0:
        return np.empty(0)
    unit = chosen.shape[1] if metric == "hamming" else 1
    return unit * np.asarray(pdist(np.asarray(chosen, dtype=np.float64), metric))


def median_distance(X: Any, n_points: int = 1000, metric: str = "euclidean") -> float:
    """Return the median distance between distinct rows, the usual first guess of a kernel width.

    Repeated rows count once, so that a row given twice and a row of weight two mean the same.
    """
    distances = _distances(X, n_points, metric)
    median = float(np.median(distances)) if distances.size else 1.0
    if not 0 < median < np.inf:
        raise ValueError(
            f"the distances between rows {'vanish' if median == 0 else 'overflow'} in double precision, so "
            "that no width follows from them: bring the columns of X to a usual scale, or give the kernel a "
            "width"
        )
    return median


def distance_range(X: Any, n_points: int = 1000, metric: str = "euclidean") -> tuple[float, float]:
    """Return the smallest and the largest distance between distinct rows."""
    distances = _distances(X, n_points, metric)
    return (float(distances.min()), float(distances.max())) if distances.size else (1.0, 1.0)
