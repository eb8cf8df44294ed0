"""Kernels of inner products on data far from the origin: years, seconds since 1970, map coordinates.

Of ⟨x, z⟩ with x = μ + u, z = μ + v the part that tells points apart is ⟨u, v⟩; where |μ| is large against
the spread it is lost in the rounding of |μ|². Beside a free constant, Σc = 0 and a linear kernel may be taken
about any centre: it then is. Of other kernels of inner products that would make another model: these warn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._solvers.rank import dependence_tolerance, independent_qr
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import PrecisionWarning
from .base import Kernel

# |μ| over the spread. Rounding takes a share of its square: from 100 on four digits, which a centre gives
# back; 10⁴ and 10⁸ leave eight digits and none.
_CENTRED, _WARNED, _REFUSED = 1e2, 1e4, 1e8


def about_the_data(kernel: Kernel, X: Any, T: FloatArray, *, free: bool) -> Kernel:
    """Return a resolved kernel whose linear parts are taken about the middle of X where that helps.

    T (m, l) are the features at the rows of X, `free` where they are not penalised. `PrecisionWarning` or
    ValueError where digits are lost for which there is no such remedy.
    """
    parts = [] if kernel.pairwise else kernel.inner_products(X.shape[1])
    if not parts:
        return kernel
    mean, spread = _moments(X)
    movable = free and spans_constant(T)
    for part, columns, adds_up in parts:
        mu, sd = mean[list(columns)], spread[list(columns)]
        distance = _distance(mu, sd)
        if adds_up and movable and part.center is None:
            each = np.abs(mu[sd > 0]) / sd[sd > 0]
            if max(distance, each.max(initial=0.0)) > _CENTRED:
                part.center = mu
        elif getattr(part, "center", None) is None and distance > _WARNED:
            _tell(part, distance, adds_up)
    return kernel


def _tell(part: Kernel, distance: float, adds_up: bool) -> None:
    remedy = "move the columns to their centre, as sklearn.preprocessing.StandardScaler does"
    if adds_up:
        remedy += ', or keep the constant among the features, unpenalised: features="constant"'
    found = f"the columns that {part!r} reads are {distance:.1g} times their spread away from the origin: "
    if distance > _REFUSED:
        raise ValueError(f"{found}rounding leaves nothing of their differences; {remedy}")
    lost = 2 * np.log10(distance)
    warn(f"{found}{lost:.0f} of 16 digits are lost; {remedy}", PrecisionWarning)


def _moments(X: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the columns; what overflows is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not sparse.issparse(X):
            return X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        squares = np.asarray(X.multiply(X).mean(axis=0, dtype=np.float64)).ravel()
        return mean, np.sqrt(np.maximum(squares - mean**2, 0))


def _distance(mean: FloatArray, spread: FloatArray) -> float:
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
