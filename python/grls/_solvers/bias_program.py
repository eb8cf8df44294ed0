"""The linear program (25) of SVM-GB for the features' coefficients, by OSQP or where it falls short by HiGHS.

With g_i = 1 − y_i (Φc)_i it minimises the losses Σ C_i max(0, g_i − y_i T_i β), which are piecewise linear in
β: only the samples at the kink, as many as features or so, tell where the minimum is. A method of alternating
directions takes long to find these among all, and little time once they are known. Hence, in coordinates in
which the columns of T are orthonormal:

1. OSQP solves the whole program loosely.
2. Samples far from the kink are taken as linear, on the side where they are, and OSQP minimises the losses of
   the others and δ/2 times the squared step. Samples that changed sides are added, δ is made smaller where
   OSQP finds that easy and larger where it fails; until the duality gap is small enough.
3. Where that takes too long SciPy's HiGHS solves the whole program.

Whoever it was, the gap is computed from the coefficients themselves.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import SolverError
from . import osqp

_WHAT = "the linear program of the bias"
_FIRST_ITERATIONS, _ITERATIONS = 500, 4000  # of the whole program, of a small one
_EASY = 1000  # iterations after which a small program was no trouble
_ROUNDS = 12  # small programs before HiGHS takes over
_FEW_ROWS = 20  # of a small program, at least
_FIRST_DELTA = 0.1
_LOOSE, _TIGHT = 1e-4, 1e-8  # residuals asked of OSQP in step 1 and step 2
_ALMOST_NOTHING = 1e-6  # of ΣC: losses below count as this much


@dataclass(frozen=True)
class Bias:
    """The features' coefficients that the linear program (25) gives.

    Attributes
    ----------
    beta : ndarray of shape (l,)
        The coefficients.
    objective : float
        The losses Σ C_i ξ_i; of `grls.core.bias_lp` their mean.
    relative_gap : float
        How far above the minimum it is at most, relative to itself (or to a millionth of ΣC).
    solver : {"osqp", "highs", "none"}
        Who found them; "none" where there was nothing to find, for want of features.
    iterations : int
        OSQP's.
    """

    beta: FloatArray
    objective: float
    relative_gap: float
    solver: str
    iterations: int


@dataclass
class _Losses:
    """Σ w_i max(0, g_i − y_i U_i b), the mean of w being one."""

    g: FloatArray  # (m,)
    U: FloatArray  # (m, r): signed, y_i U_i; orthonormal columns times √m
    w: FloatArray  # (m,)
    nothing: float  # the losses below which they count as this much

    def margins(self, b: FloatArray) -> FloatArray:
        return np.asarray(self.g - self.U @ b)

    def at(self, b: FloatArray) -> float:
        return float(self.w @ np.maximum(0, self.margins(b)))

    def relative_gap(self, b: FloatArray, a: FloatArray) -> float:
        """Return how far b is above the minimum, by multipliers 0 ≤ a ≤ w, or by none at all.

        Σ a_i g_i bounds the losses from below where Uᵀa = 0; what is left of that counts by the length of b.
        """
        margins = self.margins(b)
        losses = self.w @ np.maximum(0, margins)
        slackness = losses - a @ margins
        gap = slackness + np.linalg.norm(self.U.T @ a) * max(1.0, float(np.linalg.norm(b)))
        relative = min(gap, losses) / max(losses, self.nothing)
        return max(0.0, float(relative)) if np.isfinite(relative) else np.inf


@dataclass
class _Coordinates:
    """T = U R up to scales, U orthonormal times √m; columns that depend on others have no coordinate."""

    U: FloatArray  # (m, r)
    R: FloatArray  # (r, r)
    columns: NDArray[np.intp]  # (r,): those that have one
    scale: FloatArray  # (l,): largest values of the columns

    @classmethod
    def of(cls, T: FloatArray) -> _Coordinates:
        m = len(T)
        scale = np.abs(T).max(axis=0)
        scale[scale == 0] = 1
        Q, R, order = linalg.qr(T / scale, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int(np.count_nonzero(size > size[0] * m * np.finfo(float).eps)) if size.any() else 0
        return cls(np.sqrt(m) * Q[:, :rank], R[:rank, :rank] / np.sqrt(m), order[:rank], scale)

    def coefficients(self, b: FloatArray) -> FloatArray:
        """Return β with Tβ = Ub."""
        beta = np.zeros(len(self.scale))
        beta[self.columns] = linalg.solve_triangular(self.R, b)
        return np.asarray(beta / self.scale)


@dataclass
class _Answer:
    b: FloatArray
    gap: float
    iterations: int


def _whole(losses: _Losses, limit: int) -> tuple[FloatArray, int]:
    """Return b of step 1: the multipliers of Uᵀa = 0 in the dual program, max gᵀa over 0 ≤ a ≤ w."""
    m, r = losses.U.shape
    program = osqp.run(
        sparse.csc_matrix((m, m)),
        -losses.g,
        sparse.vstack([sparse.eye(m), sparse.csc_matrix(losses.U.T)]),
        np.zeros(m + r),
        np.concatenate([losses.w, np.zeros(r)]),
        _WHAT,
        tol=_LOOSE,
        max_iter=limit,
        polish=False,
    )
    b = program.multipliers[m:]
    start = np.zeros(r)
    better = np.all(np.isfinite(b)) and losses.at(b) < losses.at(start)
    return (b if better else start), program.iterations


def _step(
    losses: _Losses, b: FloatArray, rows: NDArray[np.intp], delta: float, limit: int
) -> tuple[FloatArray, FloatArray, osqp.Program]:
    """Return b and a of step 2, from b, with the losses of all but `rows` linear."""
    n, r = len(rows), losses.U.shape[1]
    margins = losses.margins(b)
    a = np.where(margins > 0, losses.w, 0.0)
    a[rows] = 0
    program = osqp.run(
        sparse.diags(np.concatenate([np.full(r, delta), np.zeros(n)])),
        np.concatenate([-losses.U.T @ a, losses.w[rows]]),
        sparse.bmat([[sparse.csc_matrix(losses.U[rows]), sparse.eye(n)], [None, sparse.eye(n)]]),
        np.concatenate([margins[rows], np.zeros(n)]),
        np.full(2 * n, np.inf),
        _WHAT,
        tol=_TIGHT,
        max_iter=limit,
    )
    a[rows] = np.clip(-program.multipliers[:n], 0, losses.w[rows])
    return b + program.x[:r], a, program


def _by_osqp(losses: _Losses, tol: float, max_iter: int) -> _Answer:
    m, r = losses.U.shape
    distance = np.linalg.norm(losses.U, axis=1) + np.finfo(float).tiny
    b, used = _whole(losses, min(max_iter, _FIRST_ITERATIONS))
    answer = _Answer(b, losses.relative_gap(b, np.zeros(m)), used)
    n, delta, added = max(_FEW_ROWS, 3 * r), _FIRST_DELTA, np.empty(0, dtype=np.intp)
    for _ in range(_ROUNDS):
        if answer.gap <= tol or answer.iterations >= max_iter:
            break
        margins = losses.margins(answer.b)
        rows = np.union1d(np.argsort(np.abs(margins) / distance, kind="stable")[:n], added)
        limit = min(_ITERATIONS, max_iter - answer.iterations)
        b, a, program = _step(losses, answer.b, rows, delta, limit)
        answer.iterations += program.iterations
        if not program.usable:
            delta *= 10
            continue
        changed = np.setdiff1d(np.flatnonzero((losses.margins(b) > 0) != (margins > 0)), rows)
        better = losses.at(b) < losses.at(answer.b)
        if better:
            answer.b, answer.gap, added = b, losses.relative_gap(b, a), np.empty(0, dtype=np.intp)
        else:  # the multipliers may be the better ones all the same
            answer.gap = min(answer.gap, losses.relative_gap(answer.b, a))
        if not program.solved:
            delta *= 10
        elif len(changed):
            added = np.union1d(added, changed)
            n = min(m, 2 * n) if better else n
        elif program.iterations <= _EASY:
            delta /= 10
    return answer


def _by_highs(losses: _Losses) -> _Answer | None:
    m, r = losses.U.shape
    found = optimize.linprog(
        np.concatenate([np.zeros(r), losses.w]),
        A_ub=sparse.hstack([sparse.csr_matrix(-losses.U), -sparse.eye(m)], format="csr"),
        b_ub=-losses.g,
        bounds=[(None, None)] * r + [(0, None)] * m,
        method="highs",
    )
    if found.x is None or not np.all(np.isfinite(found.x)):
        return None
    b = found.x[:r]
    return _Answer(b, losses.relative_gap(b, np.clip(-found.ineqlin.marginals, 0, losses.w)), 0)


def solve(known: FloatArray, T: FloatArray, y: FloatArray, C: FloatArray, tol: float, max_iter: int) -> Bias:
    """Return the β that minimises Σ C_i max(0, 1 − y_i (known_i + T_i β)).

    `known` (m,) is the kernel part of the model function at the samples; `tol` the relative gap that OSQP
    must reach, `max_iter` its iterations at most before HiGHS takes over.
    """
    g, weight = 1 - y * known, float(C.mean())
    if not np.all(np.isfinite(g)) or not np.all(np.isfinite(T)):
        raise SolverError(f"{_WHAT} has values that are not finite: scale the kernel, the features or C")
    largest = float(np.abs(g).max()) or 1.0
    size = largest * float(np.sqrt(np.mean((g / largest) ** 2))) or 1.0
    coordinates = _Coordinates.of(T) if T.shape[1] else None
    if coordinates is None or not len(coordinates.columns):
        return Bias(np.zeros(T.shape[1]), float(C @ np.maximum(0, g)), 0.0, "none", 0)
    losses = _Losses(g / size, y[:, None] * coordinates.U, C / weight, _ALMOST_NOTHING * len(y) / size)
    answer, solver = _Answer(np.zeros(len(coordinates.columns)), np.inf, 0), "osqp"
    with contextlib.suppress(SolverError):  # HiGHS may have more luck
        answer = _by_osqp(losses, tol, max_iter)
    if answer.gap > tol:
        other = _by_highs(losses)
        if other is not None and (losses.at(other.b) <= losses.at(answer.b) or other.gap < answer.gap):
            answer, solver = _Answer(other.b, other.gap, answer.iterations), "highs"
    if not answer.gap <= max(tol, 1e-6):
        warn(
            f"neither OSQP nor HiGHS solved {_WHAT} to a relative gap of {tol:g}: {answer.gap:.2g} is left; "
            "scale the kernel or the features",
            ConvergenceWarning,
        )
    beta = coordinates.coefficients(size * answer.b)
    objective = float(C @ np.maximum(0, 1 - y * (known + T @ beta)))
    return Bias(beta, objective, answer.gap, solver, answer.iterations)
