"""What columns are measured in, so that the user's units do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from .candidates import start_kernel
from .readings import Reading


def units_of(points: Any, X: Any) -> list[Any]:
    """Return what columns may be measured in: median distances, standard deviations, ranges; times √d.

    Of many columns the first is the median distance between rows, of sparse ones it is all there is. A point
    counts once, so that rows given twice and rows of weight two mean the same. Columns that do not vary among
    these points, but among all rows X, have units of the latter: any others would set the rows apart in
    which they vary.
    """
    if sparse.issparse(X):
        return [start_kernel(X).resolve(points).sigma]
    found, constant = _of_points(points), constant_columns(points)
    if constant.any():
        of_all = _of_points(X)
        found = [
            np.where(constant, other, each) if np.ndim(each) else each
            for each, other in zip(found, of_all, strict=True)
        ]
    return found


def _of_points(X: FloatArray) -> list[Any]:
    X = X[distinct_rows(X)[0]]
    spread, extent = X.std(axis=0), np.ptp(X, axis=0)
    own = [np.sqrt(X.shape[1]) * np.where(units > 0, units, 1.0) for units in (spread, extent / 2)]
    return [start_kernel(X).resolve(X).sigma, *own]


def constant_columns(X: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(X.max(axis=0) == X.min(axis=0))


def units_read(reading: Reading, points: FloatArray, X: FloatArray, units: FloatArray) -> FloatArray:
    """Return the units of the points of a reading and of its labels; `units` are those of the columns X."""
    n, constant = X.shape[1], constant_columns(X)
    out = np.array(start_kernel(points).resolve(points).sigma)
    out[:n][constant] = np.sqrt(len(out) / n) * units[constant]
    return np.append(out, reading.label_units)
