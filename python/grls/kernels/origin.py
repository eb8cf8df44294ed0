"""Kernels of inner products on data far from the origin: years, seconds since 1970, map coordinates.

Of ⟨x, z⟩ with x = μ + u, z = μ + v the part that tells points apart is ⟨u, v⟩; where |μ| is large against
the spread it is lost in the rounding of |μ|². Beside a free constant, Σc = 0 and a linear kernel may be taken
about any centre: it then is. Of other kernels of inner products that would make another model: these warn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._solvers.origin import CENTRED, REFUSED, WARNED, distance_of, moments, spans_constant
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import PrecisionWarning
from .base import Kernel


def about_the_data(kernel: Kernel, X: Any, T: FloatArray, *, free: bool) -> Kernel:
    """Return a resolved kernel whose linear parts are taken about the middle of X where that helps.

    T (m, l) are the features at the rows of X, `free` where they are not penalised. `PrecisionWarning` or
    ValueError where digits are lost for which there is no such remedy.
    """
    parts = [] if kernel.pairwise else kernel.inner_products(X.shape[1])
    if not parts:
        return kernel
    mean, spread = moments(X)
    movable = free and spans_constant(T)
    for part, columns, adds_up in parts:
        at: Any = slice(None) if columns == range(len(mean)) else list(columns)
        mu, sd = mean[at], spread[at]
        distance = distance_of(mu, sd)
        if adds_up and movable and part.center is None:
            each = np.abs(mu[sd > 0]) / sd[sd > 0]
            if max(distance, each.max(initial=0.0)) > CENTRED:
                part.center = mu
        elif getattr(part, "center", None) is None and distance > WARNED:
            _tell(f"that {part!r} reads", distance, adds_up)
    return kernel


def require_columns_near_the_origin(X: Any, T: FloatArray, *, free: bool) -> None:
    """Warn or refuse in the same way where weights belong to the columns of X themselves."""
    distance = distance_of(*moments(X))
    if distance > WARNED and not (free and spans_constant(T)):
        _tell("of X", distance, True)


def _tell(which: str, distance: float, adds_up: bool) -> None:
    remedy = "move the columns to their centre, as sklearn.preprocessing.StandardScaler does"
    if adds_up:
        remedy += ', or keep the constant among the features, unpenalised: features="constant"'
    found = f"the columns {which} are {distance:.1g} times their spread away from the origin: "
    if distance > REFUSED:
        raise ValueError(f"{found}rounding leaves nothing of their differences; {remedy}")
    lost = 2 * np.log10(distance)
    warn(f"{found}{lost:.0f} of 16 digits are lost; {remedy}", PrecisionWarning)
