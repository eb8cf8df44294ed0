"""Coefficients on many centres by conjugate gradients, with a pass over the rows in every step.

No sum of the order of the centres is made: G u comes from kernel values that are kept, or evaluated again.
The preconditioner is (Σw / M) LᵀL + γΣw, which is what G would be if the centres stood for all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from .._models.progress import Stages
from .._solvers import memory
from .._solvers.centre_sums import KernelStore
from .._solvers.conjugate_gradients import conjugate_gradients, warn_unless_converged
from .._solvers.runtime import interruptible
from .._validation import FloatArray, require_two_samples
from . import equations
from .plan import Block, Plan, Solution, indicators, one_against_all


@dataclass
class _RowSums:
    """What one pass over the rows gives."""

    across: FloatArray  # (M', l + k): Zᵀ W [TA Y]
    small: FloatArray  # (l, l + k): (TA)ᵀ W [TA Y]
    weight: float
    n_rows: int


def solve(
    plan: Plan,
    blocks: Iterable[Block],
    gamma: float,
    *,
    tol: float,
    max_iter: int,
    cache_bytes: float,
    stages: Stages,
) -> Solution:
    """Solve for the coefficients; `blocks` can be read again and again."""
    centers = plan.centers
    r, n_free = centers.rank, plan.n_free
    room = memory.available()
    store = KernelStore(plan.precision, cache_bytes if room is None else min(cache_bytes, 0.5 * room))
    classes = _classes(blocks)
    sums = _pass(plan, blocks, store, classes)
    require_two_samples(sums.n_rows)
    functionals = centers.functionals(np.ascontiguousarray(sums.across))
    S_bt, S_by, S_ty = functionals[:, :n_free], functionals[:, n_free:], sums.small[:, n_free:]
    if classes is not None:
        coding = one_against_all(len(classes))
        S_by, S_ty = S_by @ coding, S_ty @ coding
    free = equations.eliminate(sums.small[:, :n_free], S_bt.T, S_ty, centers)
    h = S_by - free.across.T @ free.solved[:, r:]
    shift = gamma * sums.weight
    factor = _preconditioner(plan, sums.weight, shift)
    stages.done("sums")

    def multiply(u: FloatArray, digits: str) -> FloatArray:
        a = centers.coefficients(u)
        product: Any = 0.0
        for number, block in enumerate(blocks):
            product = product + centers.normal_times(
                store, number, plan.rows(block)[0], block.weights, a, precision=digits
            )
        kernel_part = centers.functionals(product)
        return np.asarray(kernel_part - free.across.T @ (free.solved[:, :r] @ u) + shift * u)

    solved = conjugate_gradients(
        multiply,
        lambda R: cho_solve(factor, R, check_finite=False),
        h,
        refined=plan.precision == "single",
        tol=tol,
        max_iter=max_iter,
        report=stages.report,
    )
    residual = float(solved.residuals.max(initial=0.0))
    warn_unless_converged(solved.status, residual, tol, max_iter)
    solution = plan.solution(solved.X, free, gamma, sums.n_rows)
    solution.n_iter, solution.classes = max(1, solved.iterations), classes
    stages.done("solve")
    return solution


def _classes(blocks: Iterable[Block]) -> Any:
    """Return the labels of all blocks; None where the targets are values."""
    seen = [block.classes for block in blocks]
    return None if not seen or seen[0] is None else np.unique(np.concatenate(seen))


def _pass(plan: Plan, blocks: Iterable[Block], store: KernelStore, classes: Any) -> _RowSums:
    n_free = plan.n_free
    sums = _RowSums(np.zeros(()), np.zeros(()), 0.0, 0)
    for number, block in enumerate(blocks):
        X, T = plan.rows(block)
        Y = plan.about_origin(T, block.targets) if classes is None else indicators(block.y, classes)
        TY = np.hstack([T @ plan.centers.A, Y])
        weighted = TY if block.weights is None else block.weights[:, None] * TY
        product = plan.centers.normal_times(store, number, X, block.weights, None, TY)
        sums.across = sums.across + product
        sums.small = sums.small + weighted[:, :n_free].T @ TY
        sums.weight += float(len(Y) if block.weights is None else block.weights.sum())
        sums.n_rows += len(Y)
    return sums


def _preconditioner(plan: Plan, weight: float, shift: float) -> Any:
    """Return the factor of (Σw / M) LᵀL + shift."""
    L = plan.centers.whitening.L
    LtL = (
        lapack.dlauum(L, lower=1)[0] if len(L) else np.array(L)
    )  # LAPACK refuses an order of zero, and prints
    LtL *= weight / plan.centers.X.shape[0]
    LtL[np.diag_indices(plan.centers.rank)] += max(shift, 1e-12 * np.diagonal(LtL).max(initial=1e-300))
    return interruptible(len(L), cho_factor, LtL, lower=True, overwrite_a=True, check_finite=False)
