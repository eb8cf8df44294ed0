"""The choice of γ: generalised cross-validation, restricted likelihood, or rows held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from .._selection.regularization import shifts_to_try
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .system import System

CRITERIA = ("gcv", "reml", "holdout")
_PROBES = 16  # vectors of random signs that stand for a trace
_PRECISION = 1e-4  # of solutions that are compared; criteria are known to the square of it
_PATIENCE = 4  # values of γ in a row that are worse than the best, after which smaller ones are not tried
_REFINEMENTS = 8


@dataclass
class Choice:
    """The curve of a criterion, and the γ that is chosen."""

    path: FloatArray  # (g,), ascending
    criterion: FloatArray  # (g,)
    regularization: float
    value: float  # the criterion there


class _Criterion:
    """A criterion as a function of the shift s = γΣw, the mean of all outputs'."""

    def __init__(self, by: str, fitted: System, held_out: System | None, max_iter: int) -> None:
        self._by, self._system, self._held_out, self._max_iter = by, fitted, held_out, max_iter
        self._probes = fitted.probes(_PROBES)
        self._last: FloatArray | None = None

    def __call__(self, s: float) -> float:
        system = self._system
        solved = system.solve(system.g, s, tol=_PRECISION, max_iter=self._max_iter, start=self._last)
        if solved.residual > 10 * _PRECISION:
            return np.inf
        z = self._last = solved.z
        if self._by == "holdout":
            assert self._held_out is not None
            F, beta = system.coefficients(z), system.feature_coefficients(z)
            return float(self._held_out.squared_error(F, beta).mean() / self._held_out.weight)
        fitted = np.einsum("kj,kj->k", system.g, z)
        unknown = np.maximum(_PRECISION**2 * system.squares, np.finfo(float).tiny)  # less is rounding
        if self._by == "reml":
            quadratic = np.maximum(system.squares - fitted, unknown) / s
            n = system.degrees
            determinant = system.log_determinant(s, self._probes) + (n - system.order) * np.log(s)
            return float((determinant + n * np.log(quadratic / n)).mean())
        residual = np.maximum(system.squares - fitted - s * np.einsum("kj,kj->k", z, z), unknown)
        trace = system.inverse_trace(s, self._probes, tol=10 * _PRECISION, max_iter=self._max_iter)
        freedom = system.degrees + s * trace - system.order
        if freedom <= 1e-10 * system.degrees:
            return np.inf
        return float(system.weight * residual.mean() / freedom**2)


def choose(
    by: str,
    fitted: System,
    held_out: System | None,
    grid: Any,
    *,
    max_iter: int,
    report: Any = None,
    near: float | None = None,
) -> Choice:
    """Choose γ by a criterion, from large values to small ones.

    Values given as an array are all tried. Of a number of values those are tried that come before the
    criterion has risen for a while, and the best is refined between its neighbours. `near`: a γ about which
    the choice is expected.
    """
    _require_rows(by, fitted, held_out)
    shifts, relative = shifts_to_try(grid, fitted.degrees, fitted.weight)
    if relative:
        shifts = shifts * max(fitted.mean_eigenvalue, np.finfo(float).tiny)
    criterion = _Criterion(by, fitted, held_out, max_iter)
    tried: dict[float, float] = {}

    def value_at(s: float) -> float:
        if s not in tried:
            try:
                tried[s] = criterion(s)
            except NotPositiveDefiniteError:
                tried[s] = np.inf
            if report is not None:
                report(f"regularization {s / fitted.weight:.3g}: {by} {tried[s]:.6g}")
        return tried[s]

    if relative and near is not None:
        around = near * fitted.weight * np.geomspace(1e-2, 1e2, 5)
        values = [value_at(s) for s in around[::-1].tolist()]
        if int(np.argmin(values)) not in (0, 4):
            shifts = around
    worse = 0
    for s in np.sort(shifts)[::-1].tolist():
        value = value_at(s)
        worse = worse + 1 if value > min(tried.values()) else 0
        if relative and worse >= _PATIENCE:
            break
    if not np.isfinite(min(tried.values())):
        raise NotPositiveDefiniteError(
            "no regularization of the grid has equations that can be solved: try larger values, or raise "
            "max_iter"
        )
    best = min(tried, key=lambda key: tried[key])
    if relative:
        best = _refined(value_at, tried, best)
    path = np.array(sorted(tried))
    return Choice(path / fitted.weight, np.array([tried[s] for s in path]), best / fitted.weight, tried[best])


def _refined(value_at: Any, tried: dict[float, float], best: float) -> float:
    """Return the best shift between the neighbours of the best one that was tried."""
    around = sorted(tried)
    place = around.index(best)
    if 0 < place < len(around) - 1:
        minimize_scalar(
            lambda x: value_at(float(np.exp(x))),
            bounds=(np.log(around[place - 1]), np.log(around[place + 1])),
            method="bounded",
            options={"maxiter": _REFINEMENTS, "xatol": 0.02},
        )
    return min(tried, key=lambda key: tried[key])


def _require_rows(by: str, fitted: System, held_out: System | None) -> None:
    if by == "holdout" and (held_out is None or held_out.n_rows == 0 or fitted.n_rows == 0):
        raise ValueError(
            'regularization="holdout" found no rows to hold out, or none to fit; give more rows or another '
            "validation_fraction"
        )
    if by != "holdout" and fitted.degrees <= 0:
        raise ValueError(
            f"regularization={by!r} needs more samples than features: the sample weights add up to "
            f"{fitted.weight:g}, the features are {len(fitted.kept)}; give regularization a number"
        )
