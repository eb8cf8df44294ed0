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


def within_bounds(y: FloatArray, c: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return c with 0 ≤ y_i c_i ≤ C_i."""
    return np.asarray(y * np.clip(y * c, 0, bounds))


def certify(pair: PairOfClasses, c: FloatArray, beta: FloatArray, image: FloatArray) -> Certificate:
    """Return the certificate of one pair, whose coefficients c (n,), beta (l,) are within their bounds.

    image (n,): Φc.
    """
    start = np.zeros(1, dtype=np.intp)
    objective, gap = certify_all(start, pair.y, pair.bounds, c, pair.T @ beta, image, c, image)
    return Certificate(float(objective[0]), float(gap[0]))


def certify_all(
    starts: NDArray[np.intp],
    y: FloatArray,
    bounds: FloatArray,
    c: FloatArray,
    known: FloatArray,
    image: FloatArray,
    inside: FloatArray,
    feasible_image: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return objectives and relative gaps of pairs, whose samples follow one another from `starts` on.

    known (n,): Tβ; image (n,): Φc; inside (n,): c within the bounds; feasible_image (n,): Φ times these.
    """
    loss = bounds * np.maximum(0, 1 - y * (image + known))
    residual = y - feasible_image - known
    own = bounds * np.maximum(0, y * residual)  # the losses of the feasible coefficients
    across = inside * known
    quadratic = 0.5 * c * image
    gap, lost, objective, total, crossing = np.add.reduceat(
        [
            (own - inside * residual) + (loss - own) + (quadratic - 0.5 * inside * feasible_image),
            loss,
            quadratic,
            bounds,
            across,
        ],
        starts,
        axis=1,
    )
    gap = gap + np.abs(crossing) - crossing
    objective = objective + lost
    scale = np.maximum(objective, 1e-6 * total)
    finite = np.isfinite(objective) & np.isfinite(gap)
    return objective, np.where(finite, np.maximum(gap, 0), np.inf) / np.where(finite, scale, 1.0)
