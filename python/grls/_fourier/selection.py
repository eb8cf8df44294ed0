"""The choice of γ: generalised cross-validation, restricted likelihood, or rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._nystrom.origin import warn_of_lost_squares
from .._selection.regularization import shifts_to_try
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .system import System
from .traces import Traces

CRITERIA = ("gcv", "reml", "holdout")
_PROBES = 16  # vectors of random signs that stand for a trace
_PRECISION = 1e-4  # of solutions that are compared, at first; criteria are known to the square of it
_PATIENCE = 4  # values of γ in a row that are worse than the best, after which smaller ones are not tried
_READINGS = 10  # of a search that begins near the choice
_FIRST_STEP, _LONGEST_STEP = np.log(6.0), np.log(100.0)
_CLOSE, _LOCAL = 0.03, 1.2  # of log γ: no step, and a distance within which the slope is nearly straight
_NO_GAIN = 0.05  # of twice the logarithm of a likelihood, that another reading is expected to gain
# What the modes leave out of the kernel acts as noise: this share of its variance is the least noise that γ
# may stand for. The second number: a share of k(x, x), which the rounding of the sums must stay below.
_LEAST_NOISE, _ROUNDING = 0.1, 1e-11


@dataclass
class Choice:
    """The curve of a criterion, and the γ that is chosen."""

    path: FloatArray  # (g,), ascending
    criterion: FloatArray  # (g,)
    regularization: float
    value: float  # the criterion there
    least: float | None = None  # the smallest γ that the modes allow, where the criterion asks for less
    bend: float = np.nan  # the second derivative by log γ, in units of twice a log-likelihood


@dataclass(frozen=True)
class _Reading:
    value: float
    slope: float  # by log γ, in units of twice a log-likelihood


_UNSOLVED = _Reading(np.inf, -np.inf)


def least_shift(system: System) -> float:
    """Return the smallest s = γΣw for which the modes are good enough."""
    modes = system.modes
    return modes.value * max(_LEAST_NOISE * modes.kernel_error, _ROUNDING * system.weight)


class _Criterion:
    """A criterion as a function of the shift s = γΣw, the mean of all outputs'; what was read is kept."""

    def __init__(
        self, by: str, fitted: System, held_out: System | None, max_iter: int, report: Callable[[str], None]
    ) -> None:
        self._by, self._system, self._held_out = by, fitted, held_out
        self._max_iter, self._report = max_iter, report
        self._traces = None if by == "holdout" else Traces(fitted, _PROBES)
        self._last: FloatArray | None = None
        own = np.diagonal(fitted.sums.matrix)[fitted.n_free :]
        info = np.finfo(float)  # what is left of squares is not less than their rounding
        self._known = np.maximum(np.maximum(1e-14 * fitted.squares, info.eps * own), info.tiny)
        self.readings: dict[float, _Reading] = {}

    def __call__(self, s: float) -> _Reading:
        if s not in self.readings:
            try:
                found = self._read(s)
            except NotPositiveDefiniteError:
                found = _UNSOLVED
            self.readings[s] = found
            self._report(f"regularization {s / self._system.weight:.3g}: {self._by} {found.value:.6g}")
        return self.readings[s]

    def _read(self, s: float) -> _Reading:
        z = self._solution(s)
        if z is None:
            return _UNSOLVED
        if self._by == "holdout":
            return self._of_held_out(z, s)
        return self._of_likelihood(z, s) if self._by == "reml" else self._of_cross_validation(z, s)

    def _solution(self, s: float) -> FloatArray | None:
        """Return z (k, 2h), so precise that what is left of the targets is known; None: it was not found."""
        system, tol, z = self._system, _PRECISION, self._last
        for _ in range(2):
            solved = system.solve(system.g, s, tol=tol, max_iter=self._max_iter, start=z)
            if solved.residual > 10 * tol:
                return None
            z = self._last = solved.z
            explained = np.maximum(np.einsum("kj,kj->k", system.g, z), np.finfo(float).tiny)
            share = float(np.min((system.squares - explained) / explained))
            wanted = np.sqrt(max(_NO_GAIN * share / max(system.degrees, 1.0), 1e-16))
            if tol <= wanted:
                break
            tol = float(wanted)
        return z

    def _left(self, z: FloatArray) -> FloatArray:
        """Return yᵀΠy − gᵀz, (k,), which is not less than its rounding."""
        left = self._system.squares - np.einsum("kj,kj->k", self._system.g, z)
        return np.asarray(np.maximum(left, self._known))

    def _of_likelihood(self, z: FloatArray, s: float) -> _Reading:
        assert self._traces is not None
        n, order = self._system.degrees, self._system.order
        quadratic = self._left(z) / s
        determinant, trace = self._traces.determinant(s)
        value = determinant + (n - order) * np.log(s) + n * np.log(quadratic / n)
        slope = s * trace - order + n * np.einsum("kj,kj->k", z, z) / quadratic
        return _Reading(float(value.mean()), float(slope.mean()))

    def _of_cross_validation(self, z: FloatArray, s: float) -> _Reading:
        assert self._traces is not None
        system, norms = self._system, np.einsum("kj,kj->k", z, z)
        residual = float(np.maximum(self._left(z) - s * norms, self._known).mean())
        first, second = self._traces.powers(s, max_iter=self._max_iter)
        freedom = system.degrees + s * first - system.order
        if freedom <= 1e-10 * system.degrees:
            return _UNSOLVED
        inside = system.solve(z, s, tol=1e-3, max_iter=self._max_iter).z
        by_residual = 2 * s**2 * float(np.einsum("kj,kj->k", z, inside).mean()) / residual
        by_freedom = 2 * s * (first - s * second) / freedom
        return _Reading(system.n_rows * residual / freedom**2, system.degrees * (by_residual - by_freedom))

    def _of_held_out(self, z: FloatArray, s: float) -> _Reading:
        system, held_out = self._system, self._held_out
        assert held_out is not None
        along = -s * system.solve(z, s, tol=1e-3, max_iter=self._max_iter).z  # dz by log s

        def error(z: FloatArray) -> float:
            F, beta = system.coefficients(z), system.feature_coefficients(z)
            return float(held_out.squared_error(F, beta).mean() / held_out.weight)

        own = float(np.diagonal(held_out.sums.matrix)[held_out.n_free :].mean() / held_out.weight)
        value = max(error(z), np.finfo(float).eps * own, np.finfo(float).tiny)
        slope = (error(z + along) - error(z - along)) / 2  # of a quadratic function that is the derivative
        return _Reading(value, held_out.weight * slope / value)


def choose(
    by: str,
    fitted: System,
    held_out: System | None,
    grid: Any,
    *,
    max_iter: int,
    report: Callable[[str], None],
    start: float | None = None,
    bend: float = np.nan,
    expressed: Any = False,
) -> Choice:
    """Choose γ by a criterion.

    Values given as an array are all tried. Of a number of values those are tried, from large to small, that
    come before the criterion has risen for a while, and the best is refined by the criterion's slope. With
    `start`, a shift s = γΣw that may be near, the slope alone leads from there; `bend` is the second
    derivative that is expected; `expressed` (k,): whether the features express the targets.
    """
    _require_rows(by, fitted, held_out)
    shifts, relative = shifts_to_try(grid, fitted.degrees, fitted.weight)
    criterion = _Criterion(by, fitted, held_out, max_iter, report)
    least = None
    if not relative:
        for s in np.sort(shifts)[::-1].tolist():
            criterion(s)
    else:
        shifts = shifts * max(fitted.mean_eigenvalue, np.finfo(float).tiny)
        low = min(least_shift(fitted), float(shifts[-1]))
        if start is None or not np.isfinite(start):
            start = _scanned(criterion, np.unique(np.maximum(shifts, low)))
        elif by == "reml" and np.isnan(bend):
            bend = _expected_bend(fitted, float(np.clip(start, low, shifts[-1])))
        at_end, bend = _descend(criterion, start, low, float(shifts[-1]), bend)
        least = low / fitted.weight if at_end else None
    tried = {s: reading.value for s, reading in criterion.readings.items()}
    best = min(tried, key=lambda s: tried[s])
    if not np.isfinite(tried[best]):
        raise NotPositiveDefiniteError(
            "no regularization of the grid has equations that can be solved: try larger values, or raise "
            "max_iter"
        )
    if held_out is not None:
        squares = np.diagonal(held_out.sums.matrix)[held_out.n_free :].mean() / held_out.weight
        of_features = np.array([fitted.squares.mean() / fitted.weight])
        warn_of_lost_squares(np.array([tried[best]]), of_features, np.array([squares]), np.all(expressed))
    path = np.array(sorted(tried))
    values = np.array([tried[s] for s in path])
    return Choice(path / fitted.weight, values, best / fitted.weight, tried[best], least, bend)


def _expected_bend(system: System, s: float) -> float:
    """Return the mean second derivative of the restricted likelihood's curve where its γ is the true one.

    tr B² − (tr B)²/n, B = s(K + s)⁻¹ of the rows beside the features, by the preconditioner's eigenvalues.
    """
    shrunk = s / (system.preconditioner_values + s)
    rest, n = system.degrees - system.order, system.degrees
    return float(rest + (shrunk**2).sum() - (rest + shrunk.sum()) ** 2 / n)


def _scanned(criterion: _Criterion, shifts: FloatArray) -> float:
    """Return the best shift of those tried, from large to small until the criterion has risen for a while."""
    values: dict[float, float] = {}
    worse = 0
    for s in shifts[::-1].tolist():
        values[s] = criterion(s).value
        worse = worse + 1 if values[s] > min(values.values()) else 0
        if worse >= _PATIENCE:
            break
    return min(values, key=lambda s: values[s])


def _descend(criterion: _Criterion, start: float, low: float, high: float, bend: float) -> tuple[bool, float]:
    """Follow the slope of a criterion to where it is zero.

    Steps are Newton's, with the bend between the nearest readings; where the slope is known on both sides but
    far apart, they go between these. Return whether the lower end was reached, and the bend.
    """
    ends = float(np.log(low)), float(np.log(high))
    t = float(np.clip(np.log(start), *ends))
    slopes: dict[float, float] = {}
    for _ in range(_READINGS):
        slope = slopes[t] = criterion(float(np.exp(t))).slope
        bend = _local_bend(slopes, t, bend)
        if bend > 0 and abs(slope) < np.sqrt(2 * _NO_GAIN * bend):
            break
        step = -slope / bend if bend > 0 else -np.sign(slope) * _FIRST_STEP * min(len(slopes), 2)
        new = float(np.clip(t + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP), *ends))
        if abs(new - t) < _CLOSE:
            return bool(slope > 0 and new == ends[0]), bend
        below = max((place for place, slope in slopes.items() if slope < 0), default=-np.inf)
        above = min((place for place, slope in slopes.items() if slope >= 0), default=np.inf)
        if np.isfinite([below, above]).all() and below < above:
            if above - below < _CLOSE:
                break
            if above - below > _LOCAL or not below < new < above:
                new = _between(below, slopes[below], above, slopes[above])
        t = new
    return False, bend


def _local_bend(slopes: dict[float, float], t: float, known: float) -> float:
    """Return the second derivative between a place and the nearest one; what was known where that is far."""
    if not np.isfinite(slopes[t]):
        return np.nan
    others = [place for place, slope in slopes.items() if place != t and np.isfinite(slope)]
    near = min(others, key=lambda place: abs(place - t), default=np.inf)
    if abs(t - near) > _LOCAL:
        return known if len(slopes) == 1 else np.nan
    return (slopes[t] - slopes[near]) / (t - near)


def _between(below: float, falling: float, above: float, rising: float) -> float:
    """Return a place between two, nearer to where the slope is small: slopes grow about as exponentials."""
    fall, rise = np.log1p(-falling), np.log1p(rising)
    if not np.isfinite(fall) or fall + rise == 0:
        return (below + above) / 2
    return float(below + (above - below) * np.clip(fall / (fall + rise), 0.05, 0.95))


def _require_rows(by: str, fitted: System, held_out: System | None) -> None:
    if by == "holdout" and (held_out is None or held_out.n_rows == 0 or fitted.n_rows == 0):
        raise ValueError(
            'regularization="holdout" found no rows to hold out, or none to fit; give more rows or another '
            "validation_fraction"
        )
    if by != "holdout" and fitted.degrees <= 0:
        raise ValueError(
            f"regularization={by!r} needs more samples than features: there are {fitted.n_rows} samples and "
            f"{len(fitted.kept)} features; give regularization a number"
        )
