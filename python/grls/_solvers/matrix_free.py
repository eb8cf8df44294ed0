"""The exact model without its matrix: conjugate gradients on kernel tiles, all of it in the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .. import _core
from .._validation import FloatArray
from . import kernel_values, memory
from .conjugate_gradients import told_by, warn_unless_converged
from .groups import Labels
from .kernel_problem import KernelProblem
from .kernel_values import Formula
from .results import Outputs, Solution, Status
from .runtime import get_num_threads, interruptible

_MOST_CENTERS = 0  # of the preconditioner; 0: as many as the core finds useful
_PIVOTED = True  # whether the centres are drawn by a randomly pivoted Cholesky factorisation
_COLUMNS = 32  # right-hand sides of points that are solved at a time

Guess = tuple[FloatArray, FloatArray]  # of the solution (m, k), and what the system makes of it


class MatrixFree:
    """The systems (ΠΦΠ + s) X = ΠB of a problem, for any shift s = γΣw.

    Vectors are those of the weighted samples, y√w. One preconditioner, made here, serves all shifts.
    """

    def __init__(self, problem: KernelProblem, n_columns: int = 1) -> None:
        if problem.gram.formula is None:
            raise ValueError(
                'solver="cg" evaluates the kernel again in every step: it needs a kernel of grls.kernels, '
                'not a function or a matrix; use solver="cholesky"'
            )
        self.problem = problem
        self._eigenvalues: FloatArray | None = None
        m = len(problem.T)
        memory.require(
            _core.matrix_free_bytes(m=m, n_columns=n_columns + problem.T.shape[1], n_centres=_MOST_CENTERS),
            f"the preconditioner of {m} samples",
            "use NystromGRLSRegressor",
        )
        self._core = _core.MatrixFree(
            formula=problem.gram.formula,
            data=problem.gram.data,
            T=problem.T,
            weights=problem.weights,
            groups=problem.codes,
            dependence=problem.tolerance,
            n_centres=_MOST_CENTERS,
            pivoted=_PIVOTED and problem.gram.definite,
            threads=get_num_threads(),
        )

    @property
    def kept(self) -> list[int]:
        """The features that have a coefficient."""
        return list(self._core.kept)

    @property
    def order(self) -> int:
        """The order of H = ΠΦΠ on what the features and the effects of groups leave."""
        return len(self.problem.T) - len(self.kept) - self.problem.n_groups

    @property
    def trace(self) -> float:
        """That of H."""
        return float(self._core.trace)

    def project(self, X: FloatArray) -> FloatArray:
        """Return ΠX."""
        return self._core.project(X=X)

    def multiply(self, V: FloatArray) -> FloatArray:
        """Return HV."""
        return self._core.multiply(V=V, threads=get_num_threads())

    def eigenvalues(self) -> FloatArray:
        """(r,) those of the preconditioner's low rank BBᵀ, which stands for H; they diagonalise BᵀB."""
        if self._eigenvalues is None:
            if self._core.rank == 0:  # the features express all that the kernel does
                self._eigenvalues = np.empty(0)
            else:
                values, U = interruptible(self._core.rank, eigh, self._core.gram)
                self._core.rotate(U=U, eigenvalues=values, threads=get_num_threads())
                self._eigenvalues = np.maximum(values, 0)
        return self._eigenvalues

    def coordinates(self, V: FloatArray) -> FloatArray:
        """Return BᵀV, (r, k), in the order of the eigenvalues."""
        return self._core.coordinates(V=V, threads=get_num_threads())

    def fit(
        self,
        targets: FloatArray,
        shift: float,
        *,
        precision: str,
        tol: float,
        max_iter: int,
        report: Callable[[str], None],
        guess: Guess | None = None,
    ) -> Solution:
        """Return the model of all columns of `targets`, as `KernelProblem.solve` does."""
        solution = self._core.fit(
            Y=targets,
            shift=shift,
            precision=precision,
            tolerance=tol,
            max_iterations=max_iter,
            **_begin(guess),
            report=told_by(report),
            threads=get_num_threads(),
        )
        warn_unless_converged(solution.status, solution.residual, tol, max_iter)
        return solution

    def solve(
        self, B: FloatArray, shift: float, *, tol: float, max_iter: int, guess: Guess | None = None
    ) -> tuple[FloatArray, FloatArray, bool]:
        """Return X and its image (H + s)X, and whether its residuals are below `tol`."""
        X, image, _, _, status = self._core.solve(
            B=B,
            shift=shift,
            precision="auto",
            tolerance=tol,
            max_iterations=max_iter,
            **_begin(guess),
            threads=get_num_threads(),
        )
        return X, image, status is Status.converged

    def free_part(self, targets: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return β (l, k) and the effects (G, k) of groups beside kernel coefficients c of targets.

        Both are linear in targets and c; the effects cost a product.
        """
        return self._core.free_part(Y=targets, c=c, threads=get_num_threads())

    def add_to_covariance(
        self,
        K: FloatArray,
        T: FloatArray,
        codes: Labels | None,
        shift: float,
        *,
        diagonal: bool,
        tol: float,
        max_iter: int,
    ) -> FloatArray:
        """Return what turns the prior covariance of points into the posterior's, (n, n) or (n,).

        K (m, n): their kernel values with the samples; T (n, l): the features there; codes (n,): their
        groups, where these have effects.
        """
        added, status = self._core.covariance(
            K=K,
            T_new=T,
            groups_new=codes,
            diagonal=diagonal,
            shift=shift,
            precision="auto",
            tolerance=tol,
            max_iterations=max_iter,
            threads=get_num_threads(),
        )
        warn_unless_converged(status, tol, tol, max_iter)
        return np.asarray(added[:, 0] if diagonal else added)


def _begin(guess: Guess | None) -> dict[str, Any]:
    return {} if guess is None else {"guess": guess[0], "image": guess[1]}


# Variances are known to the square of the residuals: beyond this nothing is gained.
_VARIANCE_TOLERANCE = 1e-6


class MatrixFreePosterior:
    """What `Posterior` tells, by solving a system for each point that is asked about."""

    def __init__(self, system: MatrixFree, regularization: float, *, max_iter: int) -> None:
        self._system, self._max_iter = system, max_iter
        self._shift = regularization * system.problem.total_weight

    def of_rows(
        self,
        formula: Formula,
        samples: Any,
        rows: Any,
        T: FloatArray,
        codes: Labels | None = None,
        *,
        covariance: bool,
    ) -> FloatArray:
        """Return the variance (n,) at new rows, or their covariance (n, n); `formula` is the prior's.

        codes (n,): the groups of the rows, where these have effects.
        """
        n = rows.shape[0]
        step = max(n, 1) if covariance else _COLUMNS
        found = []
        for start in range(0, n, step):
            part = slice(start, start + step)
            some = rows[part]
            added = self._system.add_to_covariance(
                kernel_values.matrix(formula, some, samples).T,
                np.ascontiguousarray(T[part]),
                None if codes is None else codes[part],
                self._shift,
                diagonal=not covariance,
                tol=_VARIANCE_TOLERANCE,
                max_iter=self._max_iter,
            )
            if covariance:
                prior = kernel_values.matrix(formula, some, some)
            else:
                prior = kernel_values.diagonal(formula, some)
            found.append(prior + added)
        return found[0] if covariance else np.concatenate(found) if found else np.empty(0)


def solve_outputs(
    problem: KernelProblem,
    targets: FloatArray,
    gammas: Any,
    *,
    precision: str,
    tol: float,
    max_iter: int,
    report: Callable[[str], None],
    system: MatrixFree | None = None,
    guess: Guess | None = None,
) -> Outputs:
    """Solve for all outputs: at once with one γ, or γ by γ where each output has its own.

    `system`: the problem's, where it was made before; `guess`: of all outputs.
    """
    each = np.broadcast_to(gammas, targets.shape[1])
    if np.any(each == 0):
        raise ValueError('solver="cg" needs a positive regularization; use solver="cholesky" for 0')
    if system is None:
        system = MatrixFree(problem, targets.shape[1])
    parts = []
    for gamma in np.unique(each):
        mine = np.flatnonzero(each == gamma)
        solution = system.fit(
            np.ascontiguousarray(targets[:, mine]),
            float(gamma) * problem.total_weight,
            precision=precision,
            tol=tol,
            max_iter=max_iter,
            report=report,
            guess=guess if len(mine) == len(each) else None,
        )
        parts.append((mine, solution))
    outputs = Outputs.join(parts, targets.shape[1])
    if problem.codes is not None:
        outputs.effects = system.free_part(targets, outputs.c)[1]
    return outputs
