"""Rows left out of a smooth loss: the minimum of the loss without the row, along its Newton step.

Without row i the Newton step moves the functions along column i of A = (P + W)⁻¹, P the curvature of the
penalty as a quadratic form of the values at the samples and W = diag(sw). With f_i falling by t, the others
follow by d_j = −A_ji/A_ii, and the objective without the row has the slope

    −Σ_j s_j' g_j(f_j + t d_j) d_j + p₁ + p₂t,
    p₁ = Σ_j s_j g_j(f_j) d_j,     p₂ = 1/A_ii − Σ_j s_j w_j d_j²,

g minus the slope of a row's loss, and s' the weights without the row's share. It grows with t, and its zero
is where the row is predicted. The first step towards it is Newton's; of a loss whose curvature falls as f
does, as that of rare counts, that stops halfway.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

_SMALL_MOVE = 0.01  # of f: then the curvature is the same all the way
_PRECISION, _MOST_STEPS = 1e-4, 60  # of t
_LONGEST_STEP = 3.0
_NUMBERS = 1 << 21  # values at a time


class _Loss(Protocol):
    def slopes(self, f: FloatArray) -> FloatArray: ...

    def curvature(self, f: FloatArray) -> FloatArray: ...


def along_steps(
    loss: _Loss,
    s: FloatArray,
    f: FloatArray,
    directions: FloatArray,
    diagonal: FloatArray,
    copies: FloatArray,
) -> FloatArray:
    """Return f (m,) of each row by the model without the share `copies` of its weight.

    f (m,) is the model with all rows, row i of `directions` (m, m) is A_i·/A_ii and `diagonal` is A_ii.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # (1 − v A_ii s_i w_i) t = v A_ii s_i g_i
        h = np.minimum(diagonal * s * loss.curvature(f), 1.0)
        first = copies * diagonal * s * loss.slopes(f) / (1 - copies * h)
    found = f - first
    long = np.flatnonzero(~(np.abs(first) <= _SMALL_MOVE))
    size = max(1, _NUMBERS // len(f))
    for start in range(0, len(long), size):
        rows = long[start : start + size]
        t = _falls(loss, s, f, directions[rows], diagonal[rows], rows, copies[rows], first[rows])
        found[rows] = f[rows] - t
    return np.asarray(found)


def _falls(
    loss: _Loss,
    s: FloatArray,
    f: FloatArray,
    along: FloatArray,
    diagonal: FloatArray,
    rows: NDArray[np.intp],
    copies: FloatArray,
    first: FloatArray,
) -> FloatArray:
    """Return t (n,) of some rows."""
    n = len(rows)
    weights = np.tile(s, (n, 1))
    weights[np.arange(n), rows] *= 1 - copies
    constant = along @ (s * loss.slopes(f))  # −p₁; `along` is −d
    quadratic = np.maximum(1 / diagonal - along**2 @ (s * loss.curvature(f)), 0)
    t = np.clip(np.where(np.isfinite(first), first, 0.0), -_LONGEST_STEP, _LONGEST_STEP)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    left = np.arange(n)
    for _ in range(_MOST_STEPS):
        d, here = along[left], t[left]
        there = f - here[:, None] * d
        weighted = weights[left] * d
        slope = np.sum(weighted * loss.slopes(there), axis=1) - constant[left] + quadratic[left] * here
        curvature = np.sum(weighted * d * loss.curvature(there), axis=1) + quadratic[left]
        low[left], high[left] = (
            np.where(slope < 0, here, low[left]),
            np.where(slope > 0, here, high[left]),
        )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = np.clip(-slope / curvature, -_LONGEST_STEP, _LONGEST_STEP)
        to = here + np.where(np.isfinite(step), step, 0.0)
        outside = (to <= low[left]) | (to >= high[left])
        with np.errstate(invalid="ignore"):
            middle = (low[left] + high[left]) / 2
        t[left] = np.where(outside & np.isfinite(middle), middle, to)
        left = left[np.abs(t[left] - here) > _PRECISION]
        if len(left) == 0:
            break
    return t
