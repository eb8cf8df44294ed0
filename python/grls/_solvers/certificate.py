"""How good a support vector machine is, told from its own coefficients and nothing that a solver says.

With y = ±1, f = Φc + Tβ and bounds C_i the primal value ½cᵀΦc + Σ C_i max(0, 1 − y_i f_i) is an upper bound
of the optimum, and yᵀc − ½cᵀΦc at 0 ≤ y_i c_i ≤ C_i, Tᵀc = 0 a lower one. Their difference is

    Σ_i [C_i max(0, 1 − y_i f_i) − c_i (y_i − f_i)] − βᵀTᵀc,

whose first sum has no negative term and so keeps its digits; what rounding leaves of Tᵀc counts as gap. Of
coefficients that are not feasible the lower bound is that of the nearest ones that are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from .feasible import feasible


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


def feasible_coefficients(y: FloatArray, T: FloatArray, c: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return c, or the nearest coefficients with 0 ≤ y_i c_i ≤ C_i and Tᵀc = 0."""
    sided = y * bounds
    return feasible(T, c, np.minimum(sided, 0.0), np.maximum(sided, 0.0))


def certify(
    pair: PairOfClasses,
    c: FloatArray,
    beta: FloatArray,
    image: FloatArray,
    times: Callable[[FloatArray], FloatArray],
) -> Certificate:
    """Return the certificate of one pair with coefficients c (n,), beta (l,).

    image (n,): Φc; `times` multiplies others by Φ.
    """
    start = np.zeros(1, dtype=np.intp)
    own = feasible_coefficients(pair.y, pair.T, c, pair.bounds)
    of_own = image if np.array_equal(own, c) else times(own)
    objective, gap = certify_all(start, pair.y, pair.bounds, c, pair.T @ beta, image, own, of_own)
    return Certificate(float(objective[0]), float(gap[0]))


def certify_all(
    starts: NDArray[np.intp],
    y: FloatArray,
    bounds: FloatArray,
    c: FloatArray,
    known: FloatArray,
    image: FloatArray,
    own: FloatArray,
    image_of_own: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return objectives and relative gaps of pairs, whose samples follow one another from `starts` on.

    known (n,): Tβ; image (n,): Φc; own (n,): their `feasible_coefficients`; image_of_own (n,): Φ
    times these.
    """
    loss = bounds * np.maximum(0, 1 - y * (image + known))
    residual = y - image_of_own - known
    own_loss = bounds * np.maximum(0, y * residual)
    across = own * known
    quadratic = 0.5 * c * image
    gap, lost, objective, total, crossing = np.add.reduceat(
        [
            (own_loss - own * residual) + (loss - own_loss) + (quadratic - 0.5 * own * image_of_own),
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
