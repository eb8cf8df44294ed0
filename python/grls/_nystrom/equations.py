"""From sums to coefficients: the features eliminated, γ chosen, the equations solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from .._selection.regularization import largest_of_the_best, shifts_to_try
from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.runtime import interruptible
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .centers import Centers
from .sums import Part

CRITERIA = ("gcv", "reml", "holdout")
_SUMS_ROUNDING = 1e-13  # of a sum of squares, relative to it


def _independent(S: FloatArray, sizes: FloatArray, order: list[int], tolerance: float) -> list[int]:
    """Return the features (of sums S = TᵀT) that do not depend on those before them in `order`.

    A feature counts as dependent when less than the share `tolerance` of `sizes` (its own length before the
    pivots' part was taken off) is left, or less than rounding leaves of sums of squares: half the digits.
    """
    remainder = S.copy()
    kept: list[int] = []
    least = np.maximum((tolerance * sizes) ** 2, _SUMS_ROUNDING * np.diagonal(S))
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


@dataclass
class Choice:
    """The curve of a criterion, and the γ that is chosen."""

    path: FloatArray  # (g,)
    criterion: FloatArray  # (g,)
    regularization: float


# Squared errors are differences of sums, and known to this share of what is subtracted.
_ROUNDING = 1e-13


def _choose(gammas: FloatArray, values: FloatArray, errors: FloatArray) -> Choice:
    """Choose among γ by a criterion known up to errors.

    Where the rows are all but interpolated the criterion is rounding error; the curve is an upper bound.
    """
    best = largest_of_the_best(values, errors)
    return Choice(gammas, values + errors, float(gammas[best]))


def _grid(specification: Any, system: Equations) -> FloatArray:
    """Return the shifts γΣw to try: the exact model's where every row is a centre."""
    shifts, relative = shifts_to_try(specification, system.count, system.weight)
    if not relative:
        return shifts
    mean_eigenvalue = float(np.trace(system.G)) / max(system.n_free, 1.0)
    return shifts * (mean_eigenvalue if mean_eigenvalue > 0 else 1.0)


def _require_rows(system: Equations, criterion: str) -> None:
    if system.n_free <= 0:
        raise ValueError(
            f'regularization="{criterion}" needs more samples than features: the sample weights add up to '
            f"{system.count:g}, the features are {len(system.features.kept)}; give regularization a number"
        )


def gcv(system: Equations, specification: Any, least_variance: float = 0.0) -> Choice:
    """Choose γ by generalised cross-validation, the mean of all outputs'.

    With q the squared residuals of n rows and d = n − edf it is nq/d² = q/n + v(n²/d² − 1)d/n, v = q/d the
    variance of the noise. Where that is known to be `least_variance` at least, v is not taken for less: a
    model that interpolates would feign a small one.
    """
    _require_rows(system, "gcv")
    shifts = _grid(specification, system)
    r = len(system.h)
    residual, freedom = np.tile(system.squares, (len(shifts), 1)), np.full(len(shifts), system.n_free)
    if r > 0:
        path = system.problem.path(system.h, shifts, relative=False, leave_one_out=False)
        residual -= path.quadratic + shifts[:, None] * path.squared_norm
        freedom += shifts * path.trace - r
    known = np.isfinite(freedom) & (freedom > 1e-10 * system.n_free)
    if not known.any():
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")
    n, d = system.count, freedom[known]
    scale = np.full(len(shifts), np.inf)
    scale[known] = n / d**2
    values = np.full(len(shifts), np.inf)
    values[known] = scale[known] * np.maximum(residual[known], 0).mean(axis=1)
    feigned = np.maximum(least_variance - np.maximum(residual[known], 0) / d[:, None], 0).mean(axis=1)
    values[known] += feigned * ((n / d) ** 2 - 1) * d / n
    return _choose(shifts / system.weight, values, scale * _ROUNDING * system.squares.mean())


def reml(system: Equations, specification: Any) -> Choice:
    """Choose γ by minus twice the restricted log-likelihood, constants left out, the mean of all outputs'.

    log|G + sI| + (n − r) log s + n log(q/n), n the rows less the features, q = yᵀBy = (yᵀΠy − hᵀu)/s.
    """
    _require_rows(system, "reml")
    shifts, n, r = _grid(specification, system), system.n_free, len(system.h)
    squares, determinant = np.tile(system.squares, (len(shifts), 1)), np.zeros(len(shifts))
    if r > 0:
        path = system.problem.path(system.h, shifts, relative=False, leave_one_out=False)
        squares -= path.quadratic
        determinant = np.asarray(path.log_determinant)
    # Nothing is left, as of targets that the features express: the determinant decides.
    lost = np.maximum(_ROUNDING * system.squares, np.finfo(float).tiny)
    squares = np.maximum(squares, lost)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (
            determinant + (n - r) * np.log(shifts) + n * np.log(squares / shifts[:, None] / n).mean(axis=1)
        )
    known = np.isfinite(values)
    if not known.any():
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")
    errors = n * (lost / squares).mean(axis=1)
    return _choose(shifts / system.weight, np.where(known, values, np.inf), errors)


def holdout(system: Equations, held_out: Part | None, k: int, specification: Any) -> Choice:
    """Choose γ by the mean squared error on the rows held out, the mean of all outputs'."""
    if held_out is None or held_out.rows == 0 or system.weight == 0:
        raise ValueError(
            'regularization="holdout" found no rows to hold out, or none to fit; give more rows or another '
            "validation_fraction"
        )
    shifts = _grid(specification, system)
    S = held_out.matrix
    d, U = interruptible(len(system.G), eigh, system.G) if len(system.h) else (np.empty(0), np.empty((0, 0)))
    along = U.T @ system.h
    # h is in the range of G: what it seems to have beyond, with more functions than rows, is error.
    along[d <= 1e-13 * d.max(initial=0)] = 0
    d = np.maximum(d, 0)
    errors, roundings = [], []
    lengths = np.sqrt(np.diagonal(S))[:, None]
    for shift in shifts:
        u = U @ (along / (d + shift)[:, None])
        v = np.vstack([u, system.features.coefficients(u), -np.eye(k)])
        errors.append(np.einsum("ij,ij->j", v, S @ v).mean() / held_out.weight)
        roundings.append(_ROUNDING * (np.abs(lengths * v).sum(axis=0) ** 2).mean() / held_out.weight)
    criterion = np.maximum(np.asarray(errors), 0)
    return _choose(shifts / system.weight, criterion, np.asarray(roundings))
