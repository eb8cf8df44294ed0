"""Distinct rows of data matrices, and how far apart they are."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import pdist

from .._validation import FloatArray


def row_keys(X: Any) -> list[bytes]:
    """Return a key of each row; equal rows have equal keys, dense or sparse."""
    if sparse.issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = ((X.indices[a:b], X.data[a:b]) for a, b in bounds)
    else:
        rows = ((nonzero := np.flatnonzero(row), row[nonzero]) for row in X)
    return [
        blake2b(columns.astype(np.int64).tobytes() + values.astype(np.float64).tobytes()).digest()
        for columns, values in rows
    ]


def distinct_rows(*matrices: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the distinct rows of matrices side by side.

    Returns one position of each, in an order that depends on the rows alone and not on theirs, and for every
    row the place of its like among them.
    """
    keys = [b"".join(parts) for parts in zip(*map(row_keys, matrices), strict=True)]
    position = {key: i for i, key in enumerate(keys)}
    place = {key: p for p, key in enumerate(sorted(position))}
    return np.array([position[key] for key in place]), np.array([place[key] for key in keys])


def _distances(X: Any, n_points: int) -> FloatArray:
    """Return the distances between distinct rows, of many rows those between `n_points` of them.

    They are taken as good as at random, but always the same ones, whatever the order of the rows.
    """
    chosen = X[distinct_rows(X)[0][:n_points]]
    if sparse.issparse(chosen):
        chosen = chosen[:, np.unique(chosen.indices)].toarray()
    if chosen.shape[0] < 2 or chosen.shape[1] == 0:
        return np.empty(0)
    return np.asarray(pdist(np.asarray(chosen, dtype=np.float64)))


def median_distance(X: Any, n_points: int = 1000) -> float:
    """Return the median distance between distinct rows, the usual first guess of a kernel width.

    Repeated rows count once, so that a row given twice and a row of weight two mean the same.
    """
    distances = _distances(X, n_points)
    return float(np.median(distances)) if distances.size else 1.0


def distance_range(X: Any, n_points: int = 1000) -> tuple[float, float]:
    """Return the smallest and the largest distance between distinct rows."""
    distances = _distances(X, n_points)
    return (float(distances.min()), float(distances.max())) if distances.size else (1.0, 1.0)
