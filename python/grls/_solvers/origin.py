"""Where the points are, beside how far apart: what rounding takes of inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._validation import FloatArray
from .memory import require_room_for_columns
from .rank import dependence_tolerance, independent_qr

# |μ| over the spread. Rounding takes a share of its square: from 100 on four digits, which a centre gives
# back; 10⁴ and 10⁸ leave eight digits and none.
CENTRED, WARNED, REFUSED = 1e2, 1e4, 1e8


def moments(X: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the columns; what overflows is infinite."""
    if sparse.issparse(X):
        require_room_for_columns(X.shape[1], numbers=5)
    with np.errstate(over="ignore", invalid="ignore"):
        if not sparse.issparse(X):
            return X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        squares = np.asarray(X.multiply(X).mean(axis=0, dtype=np.float64)).ravel()
        return mean, np.sqrt(np.maximum(squares - mean**2, 0))


def distance_of(mean: FloatArray, spread: FloatArray) -> float:
    """Return how far from the origin the points are in units of their spread; 0 where that means nothing."""
    largest = float(np.abs(mean).max(initial=0.0))
    if not 0 < largest < np.inf or not 0 < spread.max() < np.inf:
        return 0.0
    return float(np.linalg.norm(mean / largest) / np.linalg.norm(spread / largest))


def spans_constant(T: FloatArray) -> bool:
    """Whether the constant is a combination of the features."""
    if T.shape[1] == 0:
        return False
    if np.any((T[0] != 0) & (T[0] == T).all(axis=0)):
        return True
    _, Q, _ = independent_qr(np.asarray(T, dtype=np.float64), dependence_tolerance(T.dtype))
    ones = np.full(len(T), len(T) ** -0.5)
    return bool(np.linalg.norm(ones - Q @ (Q.T @ ones)) < 1e-10)
