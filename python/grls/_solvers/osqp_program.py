"""The dual of `dual_program` by OSQP: for hundreds of rows, and to check the other solvers.

Where g_i has a kink at zero, c_i is the sum of two variables, one of either sign; then the program is
quadratic, with a linear term and bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import SolverError
from . import osqp
from .dual_program import DualProgram
from .feasible import feasible
from .kernel_problem import KernelProblem
from .rank import independent_columns
from .results import PiecewiseSolution, Status

_ITERATIONS = 100_000
_TOLERANCES = (1e-7, 1e-9, 1e-11)  # residuals asked of OSQP, until the gap is small enough


@dataclass
class _Pieces:
    """The variables x of the program: c = the sums over the pieces of each row."""

    row: NDArray[np.intp]
    t: FloatArray
    lower: FloatArray
    upper: FloatArray
    kappa: FloatArray

    @classmethod
    def of(cls, p: DualProgram) -> _Pieces:
        """Return the pieces of a program in which every g is smooth."""
        kinked = (p.epsilon > 0) | (p.kappa_up != p.kappa_down)
        up = np.flatnonzero((p.upper > 0) | (p.lower < 0) & ~kinked)
        down = np.flatnonzero(kinked & (p.lower < 0))
        return cls(
            np.concatenate([up, down]),
            np.concatenate([(p.t - p.epsilon)[up], (p.t + p.epsilon)[down]]),
            np.concatenate([np.where(kinked, 0.0, p.lower)[up], p.lower[down]]),
            np.concatenate([p.upper[up], np.zeros(len(down))]),
            np.concatenate([np.where(p.upper > 0, p.kappa_up, p.kappa_down)[up], p.kappa_down[down]]),
        )

    def summed(self, x: FloatArray, n_rows: int) -> FloatArray:
        """Return c (m,)."""
        c = np.bincount(self.row, np.clip(x, self.lower, self.upper), minlength=n_rows)
        return np.asarray(c, dtype=np.float64)


def solve_all(
    problem: KernelProblem, programs: list[DualProgram], *, tol: float, max_iter: int
) -> PiecewiseSolution:
    """Return the solution of every program, to a relative duality gap of `tol`."""
    Phi, T = problem.kernel_matrix(), problem.T
    kept = independent_columns(np.sqrt(problem.weights_or_ones)[:, None] * T, problem.tolerance)
    V, R = linalg.qr(T[:, kept], mode="economic") if kept else (T[:, :0], np.empty((0, 0)))
    limit = max_iter if max_iter > 0 else _ITERATIONS
    solved = [_solve(Phi, V, R, program, tol, limit) for program in programs]
    beta = np.zeros((T.shape[1], len(programs)))
    beta[kept] = np.column_stack([each[1] for each in solved])
    c = np.column_stack([each[0] for each in solved])
    image = Phi @ c
    parts = [(c[:, k], beta[:, k], image[:, k], T) for k in range(len(programs))]
    gaps = np.array(
        [program.relative_gap(*each, Phi.__matmul__) for program, each in zip(programs, parts, strict=True)]
    )
    return PiecewiseSolution(
        c=c,
        beta=beta,
        f=image + T @ beta,
        objective=np.array([p.objective(*each) for p, each in zip(programs, parts, strict=True)]),
        relative_gap=gaps,
        iterations=[each[2] for each in solved],
        kept=list(kept),
        status=[Status.converged if gap <= tol else Status.iteration_limit for gap in gaps],
    )


def _solve(
    Phi: FloatArray, V: FloatArray, R: FloatArray, program: DualProgram, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, int]:
    """Return c, β and the iterations of one program with the independent features T = VR."""
    pieces, m = _Pieces.of(program), len(program.t)
    known = V.T @ program.t
    t = pieces.t - (V @ known)[pieces.row]  # what the features express makes no difference to c
    unit = float(np.abs(t).mean()) or 1.0
    # Variables of the order of one: c in units of how far it may go.
    reach = np.maximum(np.abs(pieces.lower), np.abs(pieces.upper))
    free = unit / (np.diagonal(Phi)[pieces.row] + pieces.kappa + 1e-300)
    size = np.minimum(np.where(np.isfinite(reach), reach, free), 1e3 * free)
    rows, n = pieces.row, len(pieces.row)
    P = (Phi[np.ix_(rows, rows)] + np.diag(pieces.kappa)) * np.outer(size, size)
    scale = 1 / max(float(np.abs(t * size).max(initial=0)), 1e-300)
    E = (V[rows] * size[:, None]).T
    # Rows of length one: OSQP's tolerance is that of numbers of the order of one, and Tᵀc = 0 one of them.
    lengths = np.linalg.norm(E, axis=1)
    lengths[lengths == 0] = 1
    E = E / lengths[:, None]
    best: tuple[float, FloatArray, FloatArray] | None = None
    iterations = 0
    for residual in _TOLERANCES:
        found = osqp.run(
            sparse.csc_matrix(scale * P),
            -scale * t * size,
            sparse.vstack([sparse.eye(n), sparse.csc_matrix(E)]),
            np.concatenate([pieces.lower / size, np.zeros(len(E))]),
            np.concatenate([pieces.upper / size, np.zeros(len(E))]),
            "the quadratic program",
            tol=residual,
            max_iter=max_iter,
        )
        iterations += found.iterations
        if found.usable:
            c = feasible(V, pieces.summed(size * found.x, m), program.lower, program.upper)
            nu = known + found.multipliers[n:] / (scale * lengths)
            beta = np.asarray(linalg.solve_triangular(R, nu)) if len(nu) else nu
            gap = program.relative_gap(c, nu, Phi @ c, V, Phi.__matmul__)
            if best is None or gap < best[0]:
                best = gap, c, beta
        if best is not None and best[0] <= min(tol, 1e-10):
            break
    if best is None:
        raise SolverError(
            f"OSQP calls the quadratic program '{found.status}'; the program has a solution, so its numbers "
            'are too badly scaled for OSQP; use solver="ipm" or "native"'
        )
    if best[0] > tol:
        warn(
            f"OSQP did not reach a relative duality gap of {tol:g} for the quadratic program: {best[0]:.2g}, "
            f'{found.status}; raise max_iter, or use solver="ipm" or "native"',
            ConvergenceWarning,
        )
    return best[1], best[2], iterations
