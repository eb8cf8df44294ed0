"""How good a support vector machine is, told from its own coefficients and nothing that a solver says.

With y = ±1, f = Φc + Tβ and bounds C_i the primal value ½cᵀΦc + Σ C_i max(0, 1 − y_i f_i) is an upper bound
of the optimum, and yᵀc − ½cᵀΦc at 0 ≤ y_i c_i ≤ C_i, Tᵀc = 0 a lower one. Their difference is

    Σ_i [C_i max(0, 1 − y_i f_i) − c_i (y_i − f_i)] − βᵀTᵀc,

whose first sum has no negative term and so keeps its digits; what rounding leaves of Tᵀc counts as gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray


@dataclass
class PairOfClasses:
    """The samples of a pair of classes."""

    rows: NDArray[np.intp]  # positions of its samples
    y: FloatArray  # their labels ±1
    T: FloatArray  # their features
    bounds: FloatArray  # C_i


@dataclass
class Certificate:
    """What the coefficients of a pair reach."""

    objective: float  # the primal value
    relative_gap: float  # to it, or where it vanishes to a millionth of the loss of f = 0


def within_bounds(pair: PairOfClasses, c: FloatArray) -> FloatArray:
    """Return c with 0 ≤ y_i c_i ≤ C_i."""
    return np.asarray(pair.y * np.clip(pair.y * c, 0, pair.bounds))


def certify(
    pair: PairOfClasses,
    c: FloatArray,
    beta: FloatArray,
    image: FloatArray,
    feasible_image: FloatArray,
) -> Certificate:
    """Return the certificate of one pair.

    c (n,), beta (l,): its coefficients; image (n,): Φc; feasible_image: Φ times the coefficients within their
    bounds.
    """
    known = pair.T @ beta
    loss = pair.bounds * np.maximum(0, 1 - pair.y * (image + known))
    inside = within_bounds(pair, c)
    residual = pair.y - feasible_image - known
    own = pair.bounds * np.maximum(0, pair.y * residual) - inside * residual  # of the feasible coefficients
    gap = own.sum() + loss.sum() - (pair.bounds * np.maximum(0, pair.y * residual)).sum()
    gap += 0.5 * (c @ image - inside @ feasible_image)
    across = beta @ (pair.T.T @ inside)
    gap += abs(across) - across
    objective = float(0.5 * c @ image + loss.sum())
    scale = max(objective, 1e-6 * float(pair.bounds.sum()))
    finite = np.isfinite(objective) and np.isfinite(gap)
    return Certificate(objective, max(float(gap), 0.0) / scale if finite else np.inf)
