"""The quadratic program of SVM-GB by OSQP, one pair of classes at a time.

Letters are those of docs/math.md, section "SVM-GB": Phi (m, m) kernel matrix, T (m, l) features, y labels ±1,
and a_i = α_i / (2γ) ∈ [0, C_i], so that every C_i = 1 / (2γm) is the paper's box α_i ∈ [0, 1/m].

OSQP's alternating directions find out quickly which samples are at a bound and take long for the last digits.
So it is asked for few digits first; where the duality gap is not small enough then, samples far from the
margin stay at their bound and OSQP solves the small program of the others, until the gap is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import SolverError
from . import bases
from .certificate import Certificate, PairOfClasses, certify, feasible_coefficients

_WAY_OUT = 'use solver="ipm" or "native", or scale the kernel, the features or C'
_USABLE = ("solved", "solved inaccurate", "maximum iterations reached", "run time limit reached")
_LOOSE, _TIGHT, _TIGHTEST = 1e-6, 1e-8, 1e-13  # residuals asked of OSQP; polishing adds digits
_FIRST_ITERATIONS, _ITERATIONS = 4000, 10_000  # of the whole program, of a small one
_EASY = 1000  # iterations after which a small program was no trouble
_ROUNDS = 20  # small programs at most
_FIRST_DELTA = 1e-3  # in units of the mean diagonal
_FEW_ROWS = 20  # of the first small program, at least
_NO_SUPPORT = 1e-9  # of C: coefficients below are zero


@dataclass
class Program:
    """What OSQP found: the variables, the multipliers of its rows, and how it got there."""

    x: FloatArray
    multipliers: FloatArray
    iterations: int
    status: str
    primal_residual: float
    dual_residual: float

    @property
    def usable(self) -> bool:
        """Whether there are numbers to go on with."""
        known = np.concatenate([self.x, self.multipliers])
        return self.status in _USABLE and bool(np.all(np.isfinite(known)))

    @property
    def solved(self) -> bool:
        """Whether OSQP reached its tolerance."""
        return self.status == "solved"


def run(
    P: Any,
    q: FloatArray,
    A: Any,
    low: FloatArray,
    high: FloatArray,
    what: str,
    *,
    tol: float,
    max_iter: int,
    polish: bool = True,
) -> Program:
    """Minimise ½xᵀPx + qᵀx over low ≤ Ax ≤ high."""
    try:
        import osqp  # only where it is used: it is not light
    except ImportError as error:  # there may be none for this Python
        raise SolverError(
            f'OSQP cannot be imported ({error}): pip install osqp, or use solver="ipm" or "native"'
        ) from error

    solver = osqp.OSQP()
    try:
        solver.setup(
            P=sparse.triu(P, format="csc"),
            q=q,
            A=sparse.csc_matrix(A),
            l=low,
            u=high,
            eps_abs=tol,
            eps_rel=tol,
            max_iter=max_iter,
            polishing=polish,
            polish_refine_iter=5,
            verbose=False,
        )
        result = solver.solve(raise_error=False)
    except (osqp.OSQPException, ValueError) as error:
        raise SolverError(f"OSQP refuses {what}: {error}; {_WAY_OUT}") from error
    info = result.info
    nothing = np.full(len(q), np.nan)
    return Program(
        nothing if result.x is None else np.asarray(result.x),
        np.full(A.shape[0], np.nan) if result.y is None else np.asarray(result.y),
        int(info.iter),
        str(info.status),
        float(info.prim_res),
        float(info.dual_res),
    )


@dataclass
class _Dual:
    """min ½ cᵀQc − yᵀc over 0 ≤ y_i c_i ≤ C_i, E c = 0, the rows of E orthonormal times √m."""

    quadratic: FloatArray  # Q (m, m)
    E: FloatArray  # (l, m)
    y: FloatArray
    C: FloatArray
    relative_gap: Callable[[FloatArray, FloatArray], float]  # of c and the multipliers

    def solve(
        self, rows: NDArray[np.intp], c: FloatArray, delta: float, tol: float, max_iter: int
    ) -> tuple[FloatArray, FloatArray, Program]:
        """Return c and the multipliers of E c = 0 for some of the c_i, the others fixed.

        δ/2 times the squared step from c is added. The program is solved for y_i c_i / max(C), whose values
        are of the order of one.
        """
        y, C, n, size = self.y[rows], self.C[rows], len(rows), float(self.C.max())
        fixed = c.copy()
        fixed[rows] = 0
        linear, level = -1 - delta * y * c[rows], np.zeros(len(self.E))
        if n < len(c):
            linear = linear + y * (self.quadratic[rows] @ fixed)
            level = -(self.E @ fixed) / size
        block = size * (self.quadratic[np.ix_(rows, rows)] * np.outer(y, y) + delta * np.eye(n))
        program = run(
            sparse.csc_matrix(block),
            linear,
            sparse.vstack([sparse.eye(n), sparse.csc_matrix(self.E[:, rows] * y)]),
            np.concatenate([np.zeros(n), level]),
            np.concatenate([C / size, level]),
            "the quadratic program",
            tol=tol,
            max_iter=max_iter,
        )
        fixed[rows] = np.clip(size * program.x, 0, C) * y
        return fixed, program.multipliers[n:], program

    def margins(self, c: FloatArray, nu: FloatArray) -> FloatArray:
        """Return 1 − y_i f(x_i)."""
        return np.asarray(1 - self.y * (self.quadratic @ c + self.E.T @ nu))


@dataclass
class _Best:
    """The best coefficients so far."""

    c: FloatArray
    nu: FloatArray
    gap: float
    program: Program
    iterations: int


def _found(problem: _Dual, tol: float, max_iter: int) -> _Best:
    """Solve the whole program loosely, then smaller ones of samples near the margin, until the gap is tol."""
    m, everything = len(problem.y), np.arange(len(problem.y))
    limit = min(max_iter, _FIRST_ITERATIONS)
    c, nu, program = problem.solve(everything, np.zeros(m), 0.0, _LOOSE, limit)
    if not program.usable:
        raise SolverError(
            f"OSQP calls the quadratic program '{program.status}' ({_residuals(program)}); the program has a "
            f"solution, so its numbers are too badly scaled for OSQP; {_WAY_OUT}"
        )
    best = _Best(c, nu, problem.relative_gap(c, nu), program, program.iterations)
    n, delta = max(_FEW_ROWS, 3 * len(problem.E)), _FIRST_DELTA * float(np.diag(problem.quadratic).mean())
    residual = _TIGHT
    for _ in range(_ROUNDS):
        if best.gap <= tol or best.iterations >= max_iter:
            break
        margins = problem.margins(best.c, best.nu)
        a = problem.y * best.c
        free = (a > 1e-6 * problem.C) & (a < (1 - 1e-6) * problem.C)
        order = np.argsort(np.where(free, 0.0, np.abs(margins)), kind="stable")
        rows = np.sort(order[: n + np.count_nonzero(free)])
        sided = problem.y * np.where(margins > 0, problem.C, 0.0)
        sided[rows] = best.c[rows]
        limit = min(max_iter - best.iterations, _ITERATIONS)
        c, nu, program = problem.solve(rows, sided, delta, residual, limit)
        best.iterations += program.iterations
        gap = problem.relative_gap(c, nu) if program.usable else np.inf
        if not program.usable:  # too few samples to make up for those at the wrong bound
            n *= 2
            continue
        changed = np.count_nonzero((problem.margins(c, nu) > 0) != (margins > 0))
        if gap < best.gap:
            best.c, best.nu, best.gap, best.program = c, nu, gap, program
        elif changed:
            n *= 2
        if program.solved:
            delta /= 10 if program.iterations <= _EASY else 3
            residual = max(residual / 10, _TIGHTEST)
        elif residual < _TIGHT:
            residual *= 100
        else:
            delta *= 10
    return best


def _residuals(program: Program) -> str:
    return (
        f"primal residual {program.primal_residual:.2g}, dual residual {program.dual_residual:.2g}, "
        f"{program.iterations} iterations"
    )


def dual(
    quadratic: FloatArray,
    E: FloatArray,
    y: FloatArray,
    C: FloatArray,
    relative_gap: Callable[[FloatArray, FloatArray], float],
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, FloatArray, int, bool]:
    """Minimise ½ cᵀQc − 1ᵀa over 0 ≤ a ≤ C, E c = 0.

    `quadratic` is Q (m, m) and `E` (l, m), with independent rows; `relative_gap` tells that of c and the
    multipliers, and is to become `tol`. Returns c = Ya, the multipliers of E c = 0, how many iterations it
    took and whether the gap was reached.
    """
    scale = np.sqrt(len(y))
    V, R = linalg.qr(E.T, mode="economic") if len(E) else (E.T, np.empty((0, 0)))

    def multipliers(nu: FloatArray) -> FloatArray:
        return np.asarray(scale * linalg.solve_triangular(R, nu)) if len(E) else nu

    problem = _Dual(quadratic, scale * V.T, y, C, lambda c, nu: relative_gap(c, multipliers(nu)))
    best = _found(problem, tol, max_iter)
    if not np.isfinite(best.gap):
        raise SolverError(f"OSQP's solution of the quadratic program overflows; {_WAY_OUT}")
    for c in (np.where(y * best.c < _NO_SUPPORT * C, 0.0, best.c), best.c):
        c = feasible_coefficients(y, problem.E.T, c, C)
        if problem.relative_gap(c, best.nu) <= max(tol, best.gap):
            best.c = c
            break
    if best.gap > tol:
        warn(
            f"OSQP did not reach a relative duality gap of {tol:g} for the quadratic program: "
            f"{best.gap:.2g}, {best.program.status} ({_residuals(best.program)}); raise max_iter, "
            'or use solver="ipm" or "native"',
            ConvergenceWarning,
        )
    return best.c, multipliers(best.nu), best.iterations, best.gap <= tol


@dataclass
class Solution:
    """The model function of one pair of classes, f = Σ c_i Φ(x_i, ·) + Σ β_p φ_p."""

    c: FloatArray  # (m,)
    beta: FloatArray  # (l,)
    lambda_tilde: FloatArray  # (l,): of eq. (26) in the pivot form, else β itself
    objective: float  # ½ cᵀΦc + Σ C_i ξ_i
    duality_gap: float  # relative to it
    n_iter: int
    converged: bool


def solve(
    Phi: FloatArray,
    T: FloatArray,
    y: FloatArray,
    C: FloatArray,
    *,
    formulation: str,
    tol: float,
    max_iter: int,
) -> Solution:
    """Solve the dual by OSQP to a relative duality gap of `tol`; the columns of T are independent."""
    pair = PairOfClasses(np.arange(len(y)), y, T, C)

    def certificate(c: FloatArray, beta: FloatArray) -> Certificate:
        if not (np.all(np.isfinite(c)) and np.all(np.isfinite(beta))):
            return Certificate(np.inf, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite gap then
            return certify(pair, c, beta, Phi @ c, Phi.__matmul__)

    if formulation == "virtual":
        c, beta, n_iter, converged = dual(
            Phi, T.T, y, C, lambda c, nu: certificate(c, nu).relative_gap, tol, max_iter
        )
        return Solution(c, beta, beta, *_told(certificate(c, beta)), n_iter, converged)
    # Eqs. (23)-(24): pivots first, whose block of the quadratic form is zero.
    P, pivots, _ = bases.phi_prime(T, "qr", 0.0)
    rest = np.setdiff1d(np.arange(len(y)), pivots)
    H = bases.assemble(Phi, T, basis="pivot", pivots="qr", tolerance=0.0)
    order = np.concatenate([np.asarray(pivots, dtype=np.intp), rest])

    def direct(ordered: FloatArray, lambda_tilde: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return c in the order of the samples, and β."""
        c = np.empty(len(y))
        c[order] = ordered
        # H(x_i, ·) written out in Φ: what it takes from φ' at x is Φc at the pivots.
        return c, np.asarray(linalg.solve(T[pivots], lambda_tilde - Phi[pivots] @ c, check_finite=False))

    ordered, lambda_tilde, n_iter, converged = dual(
        linalg.block_diag(np.zeros((len(pivots), len(pivots))), H),
        P[order].T,
        y[order],
        C[order],
        lambda c, nu: certificate(*direct(c, nu)).relative_gap,
        tol,
        max_iter,
    )
    c, beta = direct(ordered, lambda_tilde)
    return Solution(c, beta, lambda_tilde, *_told(certificate(c, beta)), n_iter, converged)


def _told(certificate: Certificate) -> tuple[float, float]:
    return certificate.objective, certificate.relative_gap
