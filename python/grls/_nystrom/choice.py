"""The choice of γ from sums: generalised cross-validation, restricted likelihood, or rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._selection.regularization import Curve, largest_of_the_best, refined_shifts, shifts_to_try
from .._solvers.runtime import interruptible
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .equations import Equations
from .origin import ROUNDING, warn_of_lost_squares
from .sums import Part

CRITERIA = ("gcv", "reml", "holdout")


# A refined γ is told in such steps of its logarithm: rows in another order, whose sums differ by rounding,
# have the same. The criterion is flat there.
_STEP = 0.01


@dataclass
class Choice:
    """The curve of a criterion, and the γ that is chosen."""

    path: FloatArray  # (g,)
    criterion: FloatArray  # (g,)
    regularization: float
    at_least: bool = False  # it is the least that the sums resolve


# A criterion at some shifts γΣw, (g,), and how far rounding may take it.
_Criterion = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def _choose(
    system: Equations, specification: Any, criterion: _Criterion, *, least: float, refine: bool
) -> Choice:
    """Choose among γ by a criterion known up to errors; the best of a grid is refined between its neighbours.

    `least`: the smallest γ that is tried.

    Where the rows are all but interpolated the criterion is rounding error; the curve is an upper bound.
    """
    shifts, relative = shifts_to_try(specification, system.count, system.weight)
    if relative:  # the exact model's where every row is a centre
        mean_eigenvalue = float(np.trace(system.G)) / max(system.n_free, 1.0)
        shifts = shifts * (mean_eigenvalue if mean_eigenvalue > 0 else 1.0)
        shifts = np.unique(np.maximum(shifts, min(least * system.weight, shifts[-1])))
    values, errors = criterion(shifts)
    if not np.isfinite(values).any():
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")
    if refine and relative:
        curve = Curve(shifts, values[None, :, None], errors[None, :, None], [])
        found = np.array(refined_shifts(curve, 0, lambda s: criterion(np.array([s]))[0]))
        if found.size:
            best = shifts[largest_of_the_best(values, errors)]
            found = best * np.exp(_STEP * np.round(np.log(found / best) / _STEP))
            more_values, more_errors = criterion(found)
            shifts, values = np.append(shifts, found), np.append(values, more_values)
            errors = np.append(errors, more_errors)
            order = np.argsort(shifts)
            shifts, values, errors = shifts[order], values[order], errors[order]
    gammas = shifts / system.weight
    best = largest_of_the_best(values, errors)
    at_least = relative and best == 0 and least > 0
    return Choice(gammas, values + errors, float(gammas[best]), at_least)


def _require_rows(system: Equations, criterion: str) -> None:
    if system.n_free <= 0:
        raise ValueError(
            f'regularization="{criterion}" needs more samples than features: there are {system.count:g} and '
            f"{len(system.features.kept)} features; give regularization a number"
        )


def gcv(
    system: Equations,
    specification: Any,
    *,
    least: float = 0.0,
    least_variance: float = 0.0,
    refine: bool = True,
) -> Choice:
    """Choose γ by generalised cross-validation, the mean of all outputs'.

    With q the squared residuals of n rows and d = n − edf it is nq/d² = q/n + v(n²/d² − 1)d/n, v = q/d the
    variance of the noise. Where that is known to be `least_variance` at least, v is not taken for less: a
    model that interpolates would feign a small one.
    """
    _require_rows(system, "gcv")
    r = len(system.h)
    reduced = system.problem.reduced(system.h, leave_one_out=False) if r > 0 else None

    def criterion(shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        residual, freedom = np.tile(system.squares, (len(shifts), 1)), np.full(len(shifts), system.n_free)
        if reduced is not None:
            path = reduced.at(shifts)
            residual -= path.quadratic + shifts[:, None] * path.squared_norm
            freedom += shifts * path.trace - r
        known = np.isfinite(freedom) & (freedom > 1e-10 * system.n_free)
        scale = np.full(len(shifts), np.inf)
        n, d, left = system.count, freedom[known], np.maximum(residual[known], 0)
        scale[known] = n / d**2
        values = np.full(len(shifts), np.inf)
        feigned = np.maximum(least_variance - left / d[:, None], 0).mean(axis=1)
        values[known] = scale[known] * left.mean(axis=1) + feigned * ((n / d) ** 2 - 1) * d / n
        return values, scale * ROUNDING * system.squares.mean()

    return _choose(system, specification, criterion, least=least, refine=refine)


def reml(system: Equations, specification: Any, *, least: float = 0.0, refine: bool = True) -> Choice:
    """Choose γ by minus twice the restricted log-likelihood, constants left out, the mean of all outputs'.

    log|G + sI| + (n − r) log s + n log(q/n), n the rows less the features, q = yᵀBy = (yᵀΠy − hᵀu)/s.
    """
    _require_rows(system, "reml")
    n, r = system.n_free, len(system.h)
    reduced = system.problem.reduced(system.h, leave_one_out=False) if r > 0 else None
    # Nothing is left, as of targets that the features express: the determinant decides.
    lost = np.maximum(ROUNDING * system.squares, np.finfo(float).tiny)

    def criterion(shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        squares, determinant = np.tile(system.squares, (len(shifts), 1)), np.zeros(len(shifts))
        if reduced is not None:
            path = reduced.at(shifts)
            squares -= path.quadratic
            determinant = np.asarray(path.log_determinant)
        squares = np.maximum(squares, lost)
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = n * np.log(squares / shifts[:, None] / n).mean(axis=1)
            values = determinant + (n - r) * np.log(shifts) + likelihood
        return np.where(np.isfinite(values), values, np.inf), n * (lost / squares).mean(axis=1)

    return _choose(system, specification, criterion, least=least, refine=refine)


def holdout(
    system: Equations,
    held_out: Part | None,
    k: int,
    specification: Any,
    expressed: Any = False,
    *,
    least: float = 0.0,
) -> Choice:
    """Choose γ by the mean squared error on the rows held out, the mean of all outputs'.

    `expressed` (k,): whether the features express the targets, so that no digits are lost.
    """
    if held_out is None or held_out.rows == 0 or system.weight == 0:
        raise ValueError(
            'regularization="holdout" found no rows to hold out, or none to fit; give more rows or another '
            "validation_fraction"
        )
    S, weight = held_out.matrix, held_out.weight
    d, U = interruptible(len(system.G), eigh, system.G) if len(system.h) else (np.empty(0), np.empty((0, 0)))
    along = U.T @ system.h
    # h is in the range of G: what it seems to have beyond, with more functions than rows, is error.
    along[d <= 1e-13 * d.max(initial=0)] = 0
    d = np.maximum(d, 0)
    lengths = np.sqrt(np.diagonal(S))[:, None]

    def criterion(shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        errors, roundings = [], []
        for shift in shifts:
            u = U @ (along / (d + shift)[:, None])
            v = np.vstack([u, system.features.coefficients(u), -np.eye(k)])
            errors.append(np.einsum("ij,ij->j", v, S @ v).mean() / weight)
            roundings.append(ROUNDING * (np.abs(lengths * v).sum(axis=0) ** 2).mean() / weight)
        return np.maximum(np.asarray(errors), 0), np.asarray(roundings)

    found = _choose(system, specification, criterion, least=least, refine=True)
    value, rounding = criterion(np.array([found.regularization * system.weight]))
    of_features = np.array([system.squares.mean() / system.weight])
    warn_of_lost_squares(value, of_features, rounding / ROUNDING, np.all(expressed))
    return found
