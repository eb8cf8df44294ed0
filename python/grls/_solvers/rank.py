"""Which predefined features depend on others: the one rule of the library, and its tolerances.

Columns are examined in their order, each of unit length; one of which no more than a share (the tolerance) is
left outside the span of those before it is dropped, as in R's ``lm``. So a later column goes, never one that
happens to be a smaller pivot, and rows that come or go do not change which.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg

from .. import _core
from .._validation import FloatArray

# A direction of share s has coefficients of the order of 1/s, and a model function with errors of the order
# of 1e-16/s. At 1e-10 six digits are left; a column that rounding alone keeps apart from the others has a
# share of 1e-16, or of 1e-10 where it was standardised far from the origin; and polynomials keep all their
# columns up to degree 16 on [0, 1], of second degree in map coordinates (a kilometre at 5.5e6: 2.5e-9) or in
# seconds since 1970 (a day: 1.9e-10). In single precision rounding leaves shares of 1e-7.
_DOUBLE, _SINGLE = 1e-10, 1e-6


def dependence_tolerance(dtype: DTypeLike = np.float64) -> float:
    """Return the share of a feature that those before it must leave, for it to count as independent.

    Parameters
    ----------
    dtype : dtype, default=float64
        Of the rows that the features are computed from.

    Returns
    -------
    float
        The share: larger in single precision.
    """
    return _SINGLE if np.dtype(dtype) == np.float32 else _DOUBLE


def independent_columns(T: FloatArray, tolerance: float) -> list[int]:
    """Return the columns of T that do not depend on those before them, in ascending order.

    Parameters
    ----------
    T : ndarray of shape (m, l)
        The features of the samples.
    tolerance : float
        The share of a column that those before it must leave; see `dependence_tolerance`.

    Returns
    -------
    list of int
        The places of the columns.
    """
    return list(_core.independent_columns(T=T, tolerance=tolerance))


def independent_qr(T: FloatArray, tolerance: float) -> tuple[list[int], FloatArray, FloatArray]:
    """Return the independent columns and their QR factorisation, T[:, kept] = Q R."""
    kept = independent_columns(T, tolerance)
    if not kept:
        return kept, np.empty((len(T), 0)), np.empty((0, 0))
    lengths = np.linalg.norm(T[:, kept], axis=0)
    Q, R = linalg.qr(T[:, kept] / lengths, mode="economic")
    return kept, np.asfortranarray(Q), R * lengths


def units_of(T: FloatArray) -> FloatArray:
    """Return the largest number of each column, one where there is none: what columns are divided by."""
    largest = np.abs(T).max(axis=0, initial=0.0)
    return np.asarray(np.where(largest > 0, largest, 1.0))


def nearest_combination(T: FloatArray, y: FloatArray) -> FloatArray:
    """Return the coefficients with which the columns of T come nearest to y, whatever their units.

    Without these a column in small units, such as a constant beside times in nanoseconds, would pass for one
    that depends on the others.
    """
    units = units_of(T)
    found = np.linalg.lstsq(T / units, y, rcond=None)[0]
    return np.asarray((found.T / units).T)
