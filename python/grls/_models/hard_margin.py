"""Support vector machines without a bound on the coefficients: what a solution with a bound says about them.

The hinge loss is an exact penalty. Where no coefficient a_i = y_i c_i of a solution with the bound C is at it
and no margin is violated, it solves the problem with C = ∞. Where some are, the classes may overlap: every f
that separates them has

    Σ a_i ≤ Σ a_i y_i f(x_i) = ⟨Σ a_i y_i Φ(x_i, ·), f⟩ ≤ √(cᵀΦc) ‖f‖        for any a ≥ 0 with TᵀYa = 0,

so that its margin 1/‖f‖ is at most √(cᵀΦc) / Σa. For classes that overlap this tends to zero as C grows, and
below a share of the kernel's own size there is none that rounding could tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._solvers.certificate import PairOfClasses
from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray

SMALLEST_MARGIN = 1e-5  # in units of the samples' distances in feature space
FIRST, GROWTH = 1e2, 1e2  # C, in units of their inverse squares, and its steps
_AT_BOUND = 1 - 1e-6
_FEASIBLE = 1e-6  # what may be left of Tᵀc, as a share of its summands
_LARGEST_VIOLATION = 0.1  # of a margin, in what may be scaled to fit


def spread_of(problem: KernelProblem) -> float:
    """Return the mean squared distance of some samples from their middle, in feature space."""
    m = len(problem.T)
    rows = np.unique(np.linspace(0, m - 1, min(m, 200)).astype(np.intp))
    K = problem.take(rows, np.ones(len(rows))).kernel_matrix()
    spread = float(np.diagonal(K).mean() - K.mean())
    size = float(np.abs(K).max(initial=0.0))
    return spread if spread > 1e-12 * size > 0 else size or 1.0


@dataclass(frozen=True)
class Verdict:
    """What a solution with a bound tells about one pair of classes."""

    found: bool  # it is the solution without one
    widest: float  # no function separates the classes with a larger margin
    objective: float  # ½‖f‖² of the function scaled to margins of one
    relative_gap: float


def judge(pair: PairOfClasses, c: FloatArray, beta: FloatArray, image: FloatArray) -> Verdict:
    """Return the verdict on the coefficients c (n,) and beta (l,) of one pair; image (n,) = Φc."""
    y, T = pair.y, pair.T
    a = np.clip(y * c, 0, None)
    total, quadratic = float(a.sum()), max(float(c @ image), 0.0)
    feasible = np.abs(T.T @ c) <= _FEASIBLE * (np.abs(T).T @ np.abs(c))  # else it bounds nothing
    widest = np.sqrt(quadratic) / total if total > 0 and feasible.all() else np.inf
    margin = float((y * (image + T @ beta)).min())
    if (a >= _AT_BOUND * pair.bounds).any() or margin < 1 - _LARGEST_VIOLATION:
        return Verdict(False, widest, np.inf, np.inf)
    objective = 0.5 * quadratic / min(margin, 1.0) ** 2
    lower = 0.5 / widest**2 if widest > 0 else 0.0  # of all that separate the classes
    gap = 0.0 if objective == 0 else max(objective - lower, 0.0) / objective
    return Verdict(True, widest, objective, gap)
