"""The exact model without its matrix: conjugate gradients on kernel tiles, all of it in the core."""

from __future__ import annotations

from collections.abc import Callable

from .. import _core
from .._validation import FloatArray
from . import memory
from .conjugate_gradients import told_by, warn_unless_converged
from .kernel_problem import KernelProblem
from .results import Solution
from .runtime import get_num_threads

_MOST_CENTERS = 0  # of the preconditioner; 0: as many as the core finds useful


def solve(
    problem: KernelProblem,
    targets: FloatArray,
    regularization: float,
    *,
    precision: str,
    tol: float,
    max_iter: int,
    report: Callable[[str], None],
) -> Solution:
    """Return the solution for all columns of `targets`, as `KernelProblem.solve` does."""
    if problem.gram.formula is None:
        raise ValueError(
            'solver="cg" evaluates the kernel again in every step: it needs a kernel of grls.kernels, not a '
            'function or a matrix; use solver="cholesky"'
        )
    if regularization == 0:
        raise ValueError('solver="cg" needs a positive regularization; use solver="cholesky" for 0')
    m, k = targets.shape
    memory.require(
        _core.solve_cg_bytes(m=m, n_outputs=k, n_centres=_MOST_CENTERS),
        f"the preconditioner of {m} samples",
        "use NystromGRLSRegressor",
    )
    solution = _core.solve_cg(
        formula=problem.gram.formula,
        data=problem.gram.data,
        T=problem.T,
        Y=targets,
        weights=problem.weights,
        shift=regularization * problem.total_weight,
        dependence=problem.tolerance,
        precision=precision,
        tolerance=tol,
        max_iterations=max_iter,
        n_centres=_MOST_CENTERS,
        report=told_by(report),
        threads=get_num_threads(),
    )
    warn_unless_converged(solution.status, solution.residual, tol, max_iter)
    return solution
