"""From sums to coefficients: the features eliminated, the equations solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._validation import FloatArray
from .centers import Centers
from .origin import ROUNDING
from .sums import Part


def _independent(S: FloatArray, sizes: FloatArray, order: list[int], tolerance: float) -> list[int]:
    """Return the features (of sums S = TᵀT) that do not depend on those before them in `order`.

    A feature counts as dependent when less than the share `tolerance` of `sizes` (its own length before the
    pivots' part was taken off) is left, or less than rounding leaves of sums of squares: half the digits.
    """
    remainder = S.copy()
    kept: list[int] = []
    least = np.maximum((tolerance * sizes) ** 2, ROUNDING * np.diagonal(S))
    for p in order:
        if remainder[p, p] > least[p]:
            kept.append(p)
            remainder = remainder - np.outer(remainder[:, p], remainder[p]) / remainder[p, p]
    return kept


@dataclass
class Eliminated:
    """What the features take off the kernel's part: their sums S_tt, eliminated."""

    kept: list[int]  # those that have a coefficient
    across: FloatArray  # (l', r): sums of the kept features with b
    solved: FloatArray  # (l', r + k): S_tt⁻¹ times their sums with [b y]
    A: FloatArray
    sums: FloatArray  # (l', l'): those of the kept features TA with each other

    def coefficients(self, u: FloatArray) -> FloatArray:
        """Return the coefficients of the features T A that were summed, (l, k)."""
        r = len(u)
        out = np.zeros((len(self.A), u.shape[1]))
        out[self.kept] = self.solved[:, r:] - self.solved[:, :r] @ u
        return out


def eliminate(S_tt: FloatArray, S_tb: FloatArray, S_ty: FloatArray, centers: Centers) -> Eliminated:
    """Find the independent features and solve for them."""
    if len(S_tt) == 0:
        return Eliminated(
            [],
            np.empty((0, centers.rank)),
            np.empty((0, centers.rank + S_ty.shape[1])),
            centers.A,
            S_tt,
        )
    inverse = np.linalg.inv(centers.A)  # T = (TA) A⁻¹
    sizes = np.sqrt(np.maximum(np.einsum("ij,ik,kj->j", inverse, S_tt, inverse, optimize=True), 0))
    sizes[centers.kept] = np.sqrt(np.diagonal(S_tt))[centers.kept]
    # First those that are independent at the centres already: they are so at all rows.
    order = centers.kept + [p for p in range(len(S_tt)) if p not in centers.kept]
    kept = _independent(S_tt, sizes, order, centers.tolerance)
    across = np.hstack([S_tb, S_ty])[kept]
    own = S_tt[np.ix_(kept, kept)]
    solved = cho_solve(cho_factor(own, lower=True), across) if kept else across
    return Eliminated(kept, across[:, : centers.rank], solved, centers.A, own)


@dataclass
class Equations:
    """(G + γΣw I) u = h, with the features eliminated: G = BᵀΠB, h = BᵀΠY, Π the projection off them."""

    G: FloatArray  # (r, r)
    h: FloatArray  # (r, k)
    squares: FloatArray  # (k,): yᵀΠy
    weight: float
    count: float
    features: Eliminated
    n_groups: int = 0  # that have effects of their own

    @property
    def problem(self) -> KernelProblem:
        """G as a kernel matrix; its samples are the functions."""
        return KernelProblem(StoredGram(), self.G, np.empty((len(self.h), 0)), None)

    @property
    def n_free(self) -> float:
        """Rows less features."""
        return self.count - len(self.features.kept) - self.n_groups

    def solve(self, gamma: float) -> FloatArray:
        """Return u for one γ."""
        if len(self.h) == 0:
            return self.h
        return np.asarray(self.problem.solve(self.h, gamma * self.weight / len(self.h)).c)

    def noise_squares(self, u: FloatArray) -> FloatArray:
        """Return s·yᵀBy, (k,): over the degrees of freedom it is the estimated variance of the noise."""
        return np.asarray(np.maximum(self.squares - np.einsum("ij,ij->j", self.h, u), 0))


def equations(part: Part, centers: Centers, k: int) -> Equations:
    """Eliminate the features."""
    S, r = part.matrix, centers.rank
    n_groups = 0
    if part.groups is not None:
        S, n_groups = part.groups.taken_off(S), len(part.groups.levels)
    b, t, y = slice(0, r), slice(r, len(S) - k), slice(len(S) - k, None)
    features = eliminate(S[t, t], S[t, b], S[t, y], centers)
    G = S[b, b] - features.across.T @ features.solved[:, :r]
    h = S[b, y] - features.across.T @ features.solved[:, r:]
    explained = np.einsum("ij,ij->j", S[t, y][features.kept], features.solved[:, r:])
    squares = np.maximum(np.diagonal(S[y, y]) - explained, 0)
    return Equations(np.ascontiguousarray(G), h, squares, part.weight, part.count, features, n_groups)
