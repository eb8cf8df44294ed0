"""The origin of the targets: sums of squares about it keep digits that those about zero lose.

Where the features contain the constant, Tv = 1, targets Y − Tv o have the fit of Y, with the coefficients
β − v o. That holds whatever Tv is at other rows, so that o and v may come from a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import PrecisionWarning

ROUNDING = 1e-13  # of a sum of squares, relative to it
ROUNDING_OF = {"double": ROUNDING, "single": 1e-6}  # by the precision of the products that are added
_SPANNED = 1e-9  # what may be missing of the constant
_TREND = 1e3  # times the rounding: where features leave less, a small error is not the kernel's doing
_EXPRESSED = 1e-13  # of the targets


def constant_in(T: FloatArray, independent: Sequence[int]) -> FloatArray | None:
    """Return v (l,) with Tv = 1, of T (m, l) and its `independent` columns; None where there is none."""
    columns = np.asarray(T, dtype=np.float64)[:, independent]
    if 0 in columns.shape:
        return None
    v = np.zeros(T.shape[1])
    constant = np.flatnonzero((columns[0] != 0) & (columns == columns[0]).all(axis=0))
    if len(constant):
        v[independent[constant[0]]] = 1 / columns[0, constant[0]]
        return v
    units = np.abs(columns).max(axis=0)
    units[units == 0] = 1.0
    found = np.linalg.lstsq(columns / units, np.ones(len(columns)), rcond=None)[0] / units
    if np.abs(columns @ found - 1).max() > _SPANNED:
        return None
    v[independent] = found
    return v


def middle(Y: Any) -> FloatArray:
    """Return an origin (k,) for targets like Y (n, k) or (n,): outliers do not move it."""
    return np.asarray(np.median(np.asarray(Y, dtype=np.float64).reshape(len(Y), -1), axis=0))


def about(Y: FloatArray, origin: Any, ones: Any) -> FloatArray:
    """Return targets (n, k) about an origin (k,), None for zero; ones: Tv (n,), or 1."""
    return Y if origin is None else Y - np.multiply.outer(ones, origin)


def moments(Y: FloatArray, origin: Any, weights: FloatArray | None) -> FloatArray:
    """Return Σw(y − o) and Σw(y − o)², (2, k)."""
    Y = about(Y, origin, 1.0)
    w = np.ones(len(Y)) if weights is None else weights
    with np.errstate(over="ignore", invalid="ignore"):  # told where all sums are looked at
        return np.stack([w @ Y, w @ Y**2])


def expressed_by(T: FloatArray, Y: FloatArray) -> NDArray[np.bool_]:
    """Whether features T (n, l) express targets Y (n, k) but for the rounding of these themselves, (k,)."""
    T, Y = np.asarray(T, dtype=np.float64), np.asarray(Y, dtype=np.float64).reshape(len(Y), -1)
    if T.shape[1] == 0:
        return np.zeros(Y.shape[1], dtype=bool)
    units = np.abs(T).max(axis=0)
    units[units == 0] = 1.0
    left = Y - T / units @ np.linalg.lstsq(T / units, Y, rcond=None)[0]
    return np.asarray(np.abs(left).max(axis=0) <= _EXPRESSED * np.abs(Y).max(axis=0))


def warn_of_lost_squares(
    left: FloatArray, of_features: FloatArray, squares: FloatArray, expressed: Any, precision: str = "double"
) -> None:
    """Give a `PrecisionWarning` where features take so much off squares that what is left is their rounding.

    All (k,): what the fit leaves of the targets' squares; what the features alone leave, or a constant; the
    squares; and whether the features express the targets: then there is nothing to lose.
    """
    rounding = ROUNDING_OF[precision]
    lost = (left < rounding * squares) & (of_features < _TREND * rounding * squares)
    if np.any(lost & ~np.asarray(expressed)):
        warn(
            f"features and kernel leave less than {rounding:.0e} of the targets' squares, which is what "
            "rounding leaves of their sums: the variances, the standard errors and a regularization that was "
            "chosen may be rounding errors; take the trend off the targets, or use GRLSRegressor"
            + (', or precision="double"' if precision == "single" else ""),
            PrecisionWarning,
        )
