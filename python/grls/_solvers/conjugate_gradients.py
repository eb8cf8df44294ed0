"""Conjugate gradients of the core for whatever multiplies and preconditions, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import _core
from .._validation import FloatArray
from .._warnings import warn
from .results import LinearSolution, Status
from .runtime import get_num_threads

# Residuals below are what rounding leaves of ill-conditioned systems, whatever was asked for.
_ROUNDING = float(np.sqrt(np.finfo(np.float64).eps))

Operator = Callable[[FloatArray], FloatArray]  # (n, k) -> (n, k)


def told_by(report: Callable[[str], None]) -> Callable[[int, float, bool], None]:
    """Return what the core calls after each step, to report it in words."""

    def tell(step: int, residual: float, afresh: bool) -> None:
        where = "residual in double precision" if afresh else f"step {step}, relative residual"
        report(f"conjugate gradients: {where} {residual:.1e}")

    return tell


def conjugate_gradients(
    multiply: Callable[[FloatArray, str], FloatArray],
    precondition: Operator,
    B: FloatArray,
    *,
    refined: bool,
    tol: float,
    max_iter: int,
    report: Callable[[str], None],
) -> LinearSolution:
    """Solve A X = B for a positive definite A; ``multiply(V, "double")`` is AV.

    Stops when every column's residual is below `tol` times its right-hand side, after `max_iter` steps, or
    where rounding allows no better. With `refined` the steps use ``multiply(V, "single")``, corrected by
    residuals in double precision.
    """
    return _core.conjugate_gradients(
        multiply=multiply,
        precondition=precondition,
        B=np.asarray(B),
        tolerance=tol,
        max_iterations=max_iter,
        refined=refined,
        report=told_by(report),
        threads=get_num_threads(),
    )


def warn_unless_converged(status: Status, residual: float, tol: float, max_iter: int) -> None:
    """Warn where the steps ran out, or rounding did not let them go on."""
    if status is Status.iteration_limit:
        warn(
            f"conjugate gradients stopped after max_iter={max_iter} steps with a relative residual of "
            f"{residual:.1e}, above tol={tol:g}: allow more steps, a larger tol, or regularize more",
            ConvergenceWarning,
        )
    elif status is Status.stagnated and residual > _ROUNDING:
        warn(
            f"conjugate gradients stopped at a relative residual of {residual:.1e}, above tol={tol:g}: "
            "rounding allows no better; give a larger tol, or regularize more",
            ConvergenceWarning,
        )
