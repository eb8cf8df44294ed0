"""Several quantiles in one program, with f_k ≤ f_{k+1} at every sample: an interior point method.

With multipliers λ_k ≥ 0 (m,) of the constraints between levels k and k + 1 the coefficients of level k are
c_k = a_k + λ_{k−1} − λ_k, and the dual is

    min Σ_k ½c_kᵀΦc_k − tᵀc_k   over   lower_k ≤ a_k ≤ upper_k,  λ ≥ 0,  Tᵀc_k = 0.

Every level has the targets t, so that the multipliers' part of them cancels. The barrier of x = (a, λ) has a
diagonal D, and c = Gx; of a Newton step what the matrix sees is

    (I ⊗ Φ + M⁻¹) Δc + (I ⊗ T) Δβ = …,     M = G D⁻¹ Gᵀ,

where M is tridiagonal in the levels of a sample, and couples no others. With its factor M = SSᵀ, known
without a subtraction, the matrix that is factorised is I + Sᵀ(I ⊗ Φ)S: definite whatever Φ has for rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr, solve_triangular

from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .dual_program import DualProgram
from .kernel_problem import KernelProblem
from .rank import independent_columns
from .runtime import blas_limited, interruptible

LARGEST_ORDER = 4000  # levels × samples
_MOST_STEPS = 100
_SHORT_OF_BOUND = 0.995


@dataclass
class JointSolution:
    """Coefficients of all levels, and what they are worth."""

    c: FloatArray  # (m, k)
    beta: FloatArray  # (l, k)
    kept: list[int]
    iterations: int
    relative_gap: float  # of all levels together


def joint_bytes(m: int, k: int) -> float:
    """Return what the method takes: the matrix, its factor and the work of making them."""
    return 8.0 * (3.0 * (m * k) ** 2 + m**2)


def solve(
    problem: KernelProblem, programs: list[DualProgram], tol: float, max_iter: int = -1
) -> JointSolution:
    """Return the quantiles of pinball programs in ascending order of their levels, which do not cross."""
    m, k = len(programs[0].t), len(programs)
    Phi, T = problem.kernel_matrix(), problem.T
    kept = independent_columns(np.sqrt(problem.weights_or_ones)[:, None] * T, problem.tolerance)
    V, R = qr(T[:, kept], mode="economic") if kept else (T[:, :0], np.empty((0, 0)))
    known = V.T @ programs[0].t
    t = programs[0].t - V @ known  # what the features express makes no difference to c
    lower, upper = (np.column_stack([getattr(p, name) for p in programs]) for name in ("lower", "upper"))
    # Coefficients and targets in units of their own.
    size, unit = float((upper - lower).mean()), float(np.abs(t).mean()) or 1.0
    walk = _Walk(Phi * (size / unit), V, t / unit, lower / size, upper / size)
    limit = max_iter if max_iter >= 0 else _MOST_STEPS
    with blas_limited(m * k):
        best = walk.relative_gap(), walk.c, walk.beta
        while best[0] > tol and walk.iterations < limit and walk.step():
            gap = walk.relative_gap()
            if gap < best[0]:
                best = gap, walk.c, walk.beta
            elif gap > 1e3 * best[0]:  # rounding errors have taken over
                break
    beta = np.zeros((T.shape[1], k))
    if kept:
        beta[kept] = solve_triangular(R, known[:, None] + unit * best[2])
    return JointSolution(size * best[1], beta, kept, walk.iterations, best[0])


class _Walk:
    """A point within the bounds, its multipliers z, and the way to the optimum."""

    def __init__(
        self, Phi: FloatArray, T: FloatArray, t: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        self.Phi, self.T, self.t, self.lower, self.upper = Phi, T, t, lower, upper
        m, k = lower.shape
        self.iterations = 0
        self.beta = np.zeros((T.shape[1], k))
        middle = 0.5 * (lower + upper)
        # a − lower, upper − a and λ, with a multiplier each. The first two are kept beside a, of which they
        # would lose all digits near the bounds.
        self.slacks = [middle - lower, upper - middle, np.full((m, k - 1), 0.1)]
        self.z = [np.ones_like(slack) for slack in self.slacks]
        self._look()

    def _look(self) -> None:
        """Take what follows from the point."""
        low, high, self.crossing = self.slacks
        self.a = np.where(low < high, self.lower + low, self.upper - high)
        self.c = self.a.copy()
        self.c[:, 1:] += self.crossing
        self.c[:, :-1] -= self.crossing
        self.image = self.Phi @ self.c
        self.excess = self.image + self.T @ self.beta - self.t[:, None]  # f − t

    def relative_gap(self) -> float:
        """Return the gap of the point's own functions, relative to the objective; crossing ones have none."""
        f = self.excess
        losses = np.maximum(-f * self.upper, -f * self.lower)
        apart = np.diff(f, axis=1)
        gap = float(np.sum(losses + self.a * f) + np.sum(self.crossing * apart))
        crossing = self.T.T @ self.c  # which has to be zero, whatever β
        gap += abs(float(np.sum(self.beta * crossing)))
        gap += float(np.linalg.norm(crossing) * np.linalg.norm(self.t))
        scale = float(0.5 * np.sum(self.c * self.image) + losses.sum())
        least = 1e-10 * float(np.sum((self.upper - self.lower) * np.abs(self.t[:, None])))
        allowed = -1e-9 * max(float(np.abs(self.t).max()), 1e-300)
        if not np.isfinite(gap) or apart.min(initial=0.0) < allowed:
            return np.inf
        scale = max(scale, least)
        return max(gap, 0.0) / scale if scale > 0 else 0.0

    def step(self) -> bool:
        """Go on by a predictor and a corrector; return whether that was possible."""
        self.iterations += 1
        count = sum(z.size for z in self.z)
        mu = sum(float(np.sum(z * s)) for z, s in zip(self.z, self.slacks, strict=True)) / count
        system = self._system()
        first = self._direction(system, [z * s for z, s in zip(self.z, self.slacks, strict=True)])
        length = self._length(first)
        after = sum(
            float(np.sum((z + length * dz) * (s + length * ds)))
            for z, s, dz, ds in zip(self.z, self.slacks, first.z, first.slacks, strict=True)
        )
        centre = mu * min(1.0, max(after / count / mu, 0.0)) ** 3
        target = [
            z * s + dz * ds - centre
            for z, s, dz, ds in zip(self.z, self.slacks, first.z, first.slacks, strict=True)
        ]
        move = self._direction(system, target)
        length = min(1.0, _SHORT_OF_BOUND * self._length(move))
        if not (length > 1e-10 and np.isfinite(move.beta).all()):
            return False
        self.slacks = [slack + length * ds for slack, ds in zip(self.slacks, move.slacks, strict=True)]
        self.beta = self.beta + length * move.beta
        self.z = [z + length * dz for z, dz in zip(self.z, move.z, strict=True)]
        self._look()
        return True

    def _length(self, move: _Move) -> float:
        """Return how far along a direction every slack and multiplier stays positive."""
        most = 1.0 / _SHORT_OF_BOUND
        pairs = zip([*self.slacks, *self.z], [*move.slacks, *move.z], strict=True)
        for value, change in pairs:
            falling = change < 0
            if falling.any():
                most = min(most, float(np.min(-value[falling] / change[falling])))
        return most

    def _system(self) -> _System:
        """Return the factorised equations of a Newton step."""
        (m, k), n = self.a.shape, self.T.shape[1]
        free = 1 / (self.z[0] / self.slacks[0] + self.z[1] / self.slacks[1])  # 1/D of a
        tied = self.slacks[2] / self.z[2]  # and of λ
        root = _Root.of(free, tied)
        A = np.zeros((k, m, k, m))
        for p in range(k):
            A[p, :, p, :] = self.Phi * np.outer(root.own[:, p], root.own[:, p])
            if p < k - 1:
                A[p, :, p, :] += self.Phi * np.outer(root.next[:, p], root.next[:, p])
                A[p + 1, :, p, :] = self.Phi * np.outer(root.own[:, p + 1], root.next[:, p])
        A = A.reshape(m * k, m * k)
        A[np.diag_indices(m * k)] += 1
        try:
            factor = interruptible(m * k, cho_factor, A, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise NotPositiveDefiniteError("the matrix of a Newton step is not positive definite") from error
        across = np.zeros((m, k, k, n))
        for p in range(k):
            across[:, p, p, :] = self.T
        through = root.transposed_times(across.reshape(m, k, k * n))
        system = _System(free, tied, root, factor, np.empty(0), np.empty(0))
        system.solved = system.solve(through)
        system.schur = np.einsum("ipa,ipb->ab", through, system.solved)
        return system

    def _direction(self, system: _System, complementarity: list[FloatArray]) -> _Move:
        """Return the Newton step to where the products of slacks and multipliers are less by these."""
        k, n = self.a.shape[1], self.T.shape[1]
        low, high, cross = (part / slack for part, slack in zip(complementarity, self.slacks, strict=True))
        # What the gradient by a and λ lacks, with the multipliers replaced by what the step makes of them.
        by_a = self.excess - self.z[0] + self.z[1] + low - high
        by_crossing = np.diff(self.excess, axis=1) - self.z[2] + cross
        shift = system.free * by_a  # D⁻¹r, and c of it
        across = system.tied * by_crossing
        shift[:, 1:] += across
        shift[:, :-1] -= across
        # Δc = Sw; what the functions move by, u = ΦΔc + TΔβ, is −S⁻ᵀ(w + S⁻¹shift), without cancellation.
        reduced = system.root.solve(shift[:, :, None])
        w = -system.solve(reduced)
        beta = np.zeros((n, k))
        if n:
            lacking = (self.T.T @ (self.c + system.root.times(w)[:, :, 0])).T
            least = np.linalg.solve(system.schur, lacking.ravel())
            beta = least.reshape(k, n).T
            w = w - (system.solved @ least)[:, :, None]
        u = -system.root.transposed_solve(w + reduced)[:, :, 0]
        da = -system.free * (by_a + u)
        dcross = -system.tied * (by_crossing + np.diff(u, axis=1))
        slacks = [da, -da, dcross]
        z = [
            -(part + z * ds) / s
            for part, z, ds, s in zip(complementarity, self.z, slacks, self.slacks, strict=True)
        ]
        return _Move(slacks, z, beta)


@dataclass
class _Move:
    """A direction."""

    slacks: list[FloatArray]
    z: list[FloatArray]
    beta: FloatArray


@dataclass
class _Root:
    """S of M = SSᵀ for each sample, lower bidiagonal in its levels.

    M = diag(free) + Σ_j tied_j (e_{j+1} − e_j)(e_{j+1} − e_j)ᵀ.
    """

    own: FloatArray  # (m, k): its diagonal
    next: FloatArray  # (m, k − 1): below it

    @classmethod
    def of(cls, free: FloatArray, tied: FloatArray) -> _Root:
        """Return the factor; its pivots are sums of positive numbers."""
        m, k = free.shape
        pivots, rest = np.empty((m, k)), free[:, 0]
        ratios = np.empty((m, k - 1))
        for j in range(k - 1):
            pivots[:, j] = rest + tied[:, j]
            ratios[:, j] = tied[:, j] / pivots[:, j]
            rest = free[:, j + 1] + ratios[:, j] * rest
        pivots[:, k - 1] = rest
        own = np.sqrt(pivots)
        return cls(own, -ratios * own[:, :-1])

    def times(self, x: FloatArray) -> FloatArray:
        """Return Sx, x (m, k, r)."""
        out = self.own[:, :, None] * x
        out[:, 1:] += self.next[:, :, None] * x[:, :-1]
        return np.asarray(out)

    def transposed_times(self, x: FloatArray) -> FloatArray:
        """Return Sᵀx."""
        out = self.own[:, :, None] * x
        out[:, :-1] += self.next[:, :, None] * x[:, 1:]
        return np.asarray(out)

    def solve(self, x: FloatArray) -> FloatArray:
        """Return S⁻¹x."""
        out = np.empty_like(x)
        for j in range(x.shape[1]):
            rest = x[:, j] - (self.next[:, j - 1, None] * out[:, j - 1] if j else 0.0)
            out[:, j] = rest / self.own[:, j, None]
        return out

    def transposed_solve(self, x: FloatArray) -> FloatArray:
        """Return S⁻ᵀx."""
        out, last = np.empty_like(x), x.shape[1] - 1
        for j in range(last, -1, -1):
            rest = x[:, j] - (self.next[:, j, None] * out[:, j + 1] if j < last else 0.0)
            out[:, j] = rest / self.own[:, j, None]
        return out


@dataclass
class _System:
    """The equations of a Newton step."""

    free: FloatArray  # (m, k)
    tied: FloatArray  # (m, k − 1)
    root: _Root
    factor: Any
    solved: FloatArray  # (m, k, nk): Sᵀ times the features, solved
    schur: FloatArray  # (nk, nk)

    def solve(self, x: FloatArray) -> FloatArray:
        """Return (I + Sᵀ(I ⊗ Φ)S)⁻¹x, x (m, k, r)."""
        m, k, r = x.shape
        columns = np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(m * k, r)
        found = cho_solve(self.factor, columns, check_finite=False)
        return np.ascontiguousarray(found.reshape(k, m, r).transpose(1, 0, 2))
