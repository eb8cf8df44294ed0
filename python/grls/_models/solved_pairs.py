"""All pairs of classes of SVM-GB solved to a gap, with a C that is given or, for a hard margin, grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._solvers import bias_program
from .._solvers.certificate import certify
from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import SvmSolution
from .._validation import FloatArray
from .._warnings import muted, warn
from ..exceptions import IndefiniteKernelWarning, NotPositiveDefiniteError, SolverError
from .hard_margin import FIRST, GROWTH, SMALLEST_MARGIN, judge, spread_of
from .pairs_of_classes import Solved, Task, certified, parts_of, solve_by_osqp

_NO_LIMIT = 10**6  # rounds; what max_iter=-1 means to the core
_DOUBLE_PRECISION = 5e-6  # a tolerance below that of single precision work
_NUMBERS, _ITERATIONS = 1_000_000, 100_000  # of a linear program at most, and of OSQP for it
_NEARLY, _LONGER = 0.5, 1 + 1e-6  # of a margin; than a margin of one, for rounding
_BIAS_SHARE = 1e-2  # of the gap allowed, that the program may miss its minimum by


def solve_all(
    model: Any, task: Task, C: float, start: FloatArray | None, goal: float
) -> tuple[Solved, NDArray[np.bool_]]:
    """Return the solution of all pairs, and of which pairs a warning was given that it is not there."""
    if task.by_osqp:
        solved = certified(model, task, C, solve_by_osqp(model, task, C, goal))
        return solved, ~solved.converged  # OSQP has said it, in a warning of its own
    solution = solve(model, task, C, start, goal)
    solved = certified(model, task, C, solution)
    missed = np.flatnonzero(solved.converged & (solved.relative_gap > goal))
    if len(missed):
        # Reached by the numbers the solver went by, and not by the model: once more from here, in
        # double precision.
        again = solve(model, task, C, solved.c, min(0.1 * goal, _DOUBLE_PRECISION), missed)
        solved.improve(certified(model, task, C, again))
    missed = np.flatnonzero(solved.relative_gap > goal)
    if len(missed) and task.problem.T.shape[1] > 1 and model.max_iter < 0:
        _separate(task, C, solved, missed, goal)
    return solved, np.zeros(len(task.pairs), dtype=bool)


def _separate(task: Task, C: float, solved: Solved, missed: NDArray[np.intp], goal: float) -> None:
    """Look whether the features alone separate the classes of pairs that no solver has brought to the goal.

    With coefficients β so huge that the solvers, which begin at zero, do not get there: features that are
    nearly zero in most rows, as topics are. The linear program (25) does, with c = 0.
    """
    parts = parts_of(task, C)
    for p in missed:
        part, kept = parts[p], np.asarray(solved.kept[p], dtype=np.intp)
        if len(kept) < 2 or part.T.size > _NUMBERS:
            continue
        nothing, T = np.zeros(len(part.y)), part.T[:, kept]
        try:
            with muted():
                found = bias_program.solve(nothing, T, part.y, part.bounds, _BIAS_SHARE * goal, _ITERATIONS)
        except SolverError:
            continue
        beta = np.zeros(part.T.shape[1])
        beta[kept] = found.beta
        least = float((part.y * (part.T @ beta)).min())
        if _NEARLY < least < 1:  # for the tolerance of the program alone: longer β have all margins
            beta *= _LONGER / least
        verdict = certify(part, nothing, beta, nothing, np.zeros_like)
        if verdict.relative_gap < solved.relative_gap[p] - solved.rounding[p]:
            solved.c[:, p], solved.beta[:, p] = 0.0, beta
            solved.objective[p], solved.relative_gap[p] = verdict.objective, verdict.relative_gap
            solved.rounding[p] = 0.0
            solved.bias_solver[p], solved.converged[p] = found.solver, True


def hard_margin(model: Any, task: Task, start: FloatArray | None) -> tuple[Solved, NDArray[np.bool_]]:
    """Return the solution for C = ∞, by a C that grows until no coefficient is at its bound."""
    task.problem = KernelProblem(task.problem.kernel, task.problem.X, task.problem.T, None)
    unit = np.sqrt(spread_of(task.problem))
    n_pairs = len(task.pairs)
    C, goal = FIRST / unit**2, float(model.tol)
    iterations, seconds = np.zeros(n_pairs, dtype=np.intp), np.zeros(n_pairs)
    found: Solved | None = None
    while C * unit**2 <= 1 / SMALLEST_MARGIN**2:
        with muted(ConvergenceWarning):  # C is a step on the way
            solved, _ = solve_all(model, task, C, start, goal)
        start, iterations, seconds = solved.c, iterations + solved.iterations, seconds + solved.seconds
        image = task.problem.kernel_times(solved.c)
        verdicts = []
        for p, part in enumerate(parts_of(task, C)):
            rows = part.rows
            verdicts.append(judge(part, solved.c[rows, p], solved.beta[:, p], image[rows, p]))
            if verdicts[p].widest < SMALLEST_MARGIN * unit:
                raise _overlap(task, p, verdicts[p].widest / unit)
        solved.objective = np.array([verdict.objective for verdict in verdicts])
        solved.relative_gap = np.array([verdict.relative_gap for verdict in verdicts])
        solved.rounding = np.zeros(n_pairs)
        if found is None:
            found = solved
        else:
            found.improve(solved)
        found.iterations, found.seconds = iterations, seconds
        if (found.relative_gap <= model.tol).all():
            return found, np.zeros(n_pairs, dtype=bool)
        if np.isfinite(found.relative_gap).all() and goal > 1e-4 * model.tol:
            goal *= 1e-2  # the bound is no longer felt: the same once more, and better
        else:
            C *= GROWTH
    assert found is not None
    worst = int(found.relative_gap.argmax())
    if np.isfinite(found.relative_gap[worst]):  # separated, if not with the widest margin: told below
        return found, np.zeros(n_pairs, dtype=bool)
    raise _overlap(task, worst, SMALLEST_MARGIN)


def _overlap(task: Task, p: int, margin: float) -> ValueError:
    a, b = task.classes[task.pairs[p]].tolist()
    return ValueError(
        f"C=inf asks for functions that separate the classes, but {a!r} and {b!r} overlap, or nearly so, "
        f"in the space of the kernel {task.kernel!r} and the features: no margin is wider than "
        f"{margin:.1g} of the samples' spread there; choose a finite C, another kernel or more features, "
        "or scale the columns"
    )


def solve(
    model: Any,
    task: Task,
    C: float,
    start: FloatArray | None,
    tol: float,
    only: Any = (),
) -> SvmSolution:
    """Return the solution of all pairs or some; of "auto" by what works, which the task then keeps to."""
    try:
        return task.problem.svm(
            task.labels,
            len(task.classes),
            C,
            solver=task.solver,
            tol=tol,
            max_iter=model.max_iter if model.max_iter >= 0 else _NO_LIMIT,
            cache_bytes=float(model.cache_size) * 2**20,
            start=start,
            only=only,
        )
    except NotPositiveDefiniteError as error:
        if task.solver == "auto":
            task.solver = "native"
            found = solve(model, task, C, start, tol, only)
            warn(
                f"the matrix of the kernel {task.kernel!r} is not positive definite, so that the "
                'problem is not convex: solver="native" took over, and what it found is stationary but '
                "need not be the best",
                IndefiniteKernelWarning,
            )
            return found
        less = "" if task.solver == "native" else ', or solver="native", which asks less of it'
        raise NotPositiveDefiniteError(
            f"the matrix of the kernel {task.problem.kernel!r} is not positive definite, or overflows: "
            f"choose another kernel{less}"
        ) from error
