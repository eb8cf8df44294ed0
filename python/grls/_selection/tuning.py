"""Widths and γ of kernels on the same rows, by the restricted likelihood: cpp/least_squares/tuning.hpp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._solvers.rank import independent_columns, nearest_combination
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Kernel
from .choice import Choice
from .merged import merge
from .readings import Reading
from .regularization import ACCURATE

# A search starts at the best of these factors of the columns' units, with the best of these shifts γΣw, which
# are ratios of the noise's variance to the kernel's.
_FACTORS = np.geomspace(1 / 16, 4, 5)
_LABEL_FACTORS = (0.25, 1.0)
_SMOOTHER = np.geomspace(1 / 32, 1, 4)
SHIFTS = 10.0 ** np.array([-6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0])
PLAIN_SHIFT = 0.1

# Relative to Σw, for kernels with k(x, x) = 1: at the second there is no kernel part left.
LEAST_GAMMA, _LARGEST_GAMMA = ACCURATE * np.finfo(np.float64).eps, 1e3
_NARROWEST, _WIDEST = 1e-2, 1e2  # widths, relative to the range of their column

_ROBUST_POWER = 0.2  # of the jointly robust prior


@dataclass
class Tuned:
    """Widths per column and a shift γΣw, where a search begins or where it led."""

    widths: FloatArray
    shift: float
    value: float = np.inf  # minus twice the restricted log-likelihood
    curve: FloatArray | None = None  # of the descent that led there
    n_evaluations: int = 0


class Tuner:
    """The rows of a choice as they are read, merged once for all families that are tuned on them."""

    def __init__(self, choose: Choice, units: FloatArray, reading: Reading) -> None:
        self.choose, self.units, self.reading = choose, np.asarray(units, dtype=np.float64), reading
        self.merged = merge(choose.problem, choose.targets, choose.counts)
        self.problem = self.merged.problem
        self.n_rows = len(choose.targets)

    @cached_property
    def rows(self) -> dict[str, Any]:
        """What the samples of the merged problem stand for."""
        return self.merged.for_core()

    @cached_property
    def weight(self) -> float:
        """The mean weight of an observation: shifts are those of weights one times this."""
        return self.merged.total_weight / self.merged.n_rows

    @cached_property
    def alone(self) -> float:
        """The criterion of the features without a kernel; -inf where they meet the targets."""
        merged = self.merged
        roots = np.sqrt(merged.point_weights)[:, None]
        y, T = roots * merged.targets, roots * self.problem.T
        left = y - T @ nearest_combination(T, y) if T.shape[1] else y
        squares = (left**2).sum(axis=0) + merged.within
        free = merged.n_rows - len(independent_columns(T, self.problem.tolerance))
        if np.any(squares <= 1e-26 * (y**2).sum(axis=0)):
            return -np.inf
        return float(free * np.log(squares / free).mean())

    @cached_property
    def _bounds(self) -> FloatArray:
        """(p, 2) of the widths."""
        X = self.problem.X
        n_columns = X.shape[1]
        extent = np.ptp(X, axis=0)
        size = np.where(extent > 0, extent, self.units[:n_columns])
        limits = np.outer(size, [_NARROWEST, _WIDEST])
        labels = np.tile([1e-2, 1e2], (len(self.units) - n_columns, 1)) * max(1, len(self.reading.labels))
        limits = np.vstack([limits, labels])
        limits[:, 0] = np.minimum(limits[:, 0], _FACTORS[0] * self.units)
        limits[:, 1] = np.maximum(limits[:, 1], _FACTORS[-1] * self.units)
        return limits

    @cached_property
    def _reach(self) -> tuple[FloatArray, float]:
        """What the jointly robust prior divides by the widths, (p,), and how steep it is."""
        p, share = len(self.units), len(self.problem.T) ** (-1 / len(self.units))
        extent = np.ones(p)
        extent[: self.problem.X.shape[1]] = np.ptp(self.problem.X, axis=0)
        return share * extent, share * (_ROBUST_POWER + p)

    def kernel(self, family: Callable[[Any], Kernel], widths: FloatArray) -> Kernel:
        """Return the kernel of the points that has these widths."""
        return self.reading.kernel(family, widths)

    def look(self, family: Callable[[Any], Kernel], around: FloatArray | None = None) -> Tuned:
        """Return the best of some factors of the units, with the best of some shifts.

        `around`: of widths of a rougher family in their place, which are much larger than those of a smooth
        one that says the same.
        """
        best = Tuned(self.units if around is None else around, PLAIN_SHIFT * self.weight)
        is_label = np.arange(len(self.units)) >= self.problem.X.shape[1]
        shifts = SHIFTS * max(self.weight, LEAST_GAMMA * self.problem.total_weight / SHIFTS[0])
        label_factors = _LABEL_FACTORS if self.reading.labels and around is None else (1.0,)
        for factor in _FACTORS if around is None else _SMOOTHER:
            for of_labels in label_factors:
                widths = (self.units if around is None else around) * np.where(is_label, of_labels, factor)
                problem = self.problem.with_kernel(self.kernel(family, widths))
                values = problem.restricted_likelihoods(self.merged.targets, shifts, self.rows)
                at = int(values.argmin())
                if values[at] < best.value:
                    best = Tuned(widths, float(shifts[at]), float(values[at]))
        return best

    def descend(
        self,
        family: Callable[[Any], Kernel],
        start: Tuned,
        *,
        tied: bool = False,
        held: bool = False,
        robust: bool = False,
        gain: float = 0.02,
        most: int = 60,
    ) -> Tuned:
        """Return where the restricted likelihood leads from a start.

        Widths have one factor where `tied`, stay where `held`, and have the jointly robust prior where
        `robust`: its end is then that of the posterior. `gain` is what a step must promise.
        """
        p = len(self.units)
        units = start.widths if tied or held else self.units
        variable = np.zeros(p, dtype=np.intp) if tied else np.arange(p)
        total = self.problem.total_weight
        ends = np.log([LEAST_GAMMA * total, _LARGEST_GAMMA * total])
        limits = np.log(self._bounds / units[:, None])
        if tied:
            limits = np.array([[limits[:, 0].max(), limits[:, 1].min()]])
        if held:
            limits = np.zeros_like(limits)
        limits = np.vstack([limits, ends])
        at = np.zeros(len(limits)) if tied else np.append(np.log(start.widths / units), 0.0)
        at[-1] = np.log(start.shift)
        curve = start.curve
        if tied or held or curve is None or len(curve) != len(at):
            curve = np.empty((0, 0))
        reach, steep = self._reach if robust else (np.empty(0), 0.0)
        found = self.problem.with_kernel(self.kernel(family, units)).tuned(
            self.merged.targets,
            self.rows,
            units=units,
            variable=variable,
            start=at,
            limits=limits,
            curve=curve,
            prior=(reach, _ROBUST_POWER, steep),
            gain=gain,
            most=most,
        )
        widths = units * np.exp(np.asarray(found.end)[variable])
        if not held:
            widths = self.units * rounded(widths / self.units)
        kept = None if tied or held else np.asarray(found.curve)
        return Tuned(widths, float(np.exp(found.end[-1])), found.value, kept, found.evaluations)

    def errors(self, kernel: Kernel, shift: float) -> FloatArray:
        """Return the errors (m, k) of rows left out, with their groups; infinite where there is no model."""
        choose, merged = self.choose, self.merged
        nowhere = np.full_like(choose.targets, np.inf)
        try:
            if choose.labels is not None:
                gamma = shift / choose.problem.total_weight
                found = replace(choose, gamma_by_likelihood=False)(kernel, [gamma])
                left_out = None if found is None else found.left_out
                return nowhere if left_out is None else np.abs(choose.targets - left_out)
            problem = self.problem.with_kernel(kernel)
            path = problem.path(merged.targets, np.array([shift]), relative=False, leave_one_out=True)
        except NotPositiveDefiniteError:
            return nowhere
        c, diagonal = np.asarray(path.c[0]), np.asarray(path.diagonal[0])
        if not (np.isfinite(c).all() and np.isfinite(diagonal).all()):
            return nowhere
        return np.abs(merged.left_out_residuals(c, diagonal, shift, merged.deviations)[0][merged.observation])

    def mean(self, values: FloatArray) -> float:
        """Return the mean (m,) or (m, k) over rows, which count as often as their weights say."""
        each = values if values.ndim == 1 else values.mean(axis=1)
        return float(np.average(each, weights=self.merged.row_counts))

    def is_beyond_chance(self, gain: FloatArray, errors: float) -> bool:
        """Whether the mean of a gain (m,) is that many standard errors above zero; groups count as one."""
        counts, n = self.merged.row_counts, self.merged.n_rows
        if self.choose.labels is not None:
            total = np.bincount(self.choose.labels, counts).astype(np.float64)
            gain = np.bincount(self.choose.labels, counts * gain) / np.maximum(total, np.finfo(float).tiny)
            counts, n = total, float(len(total))
        mean = np.average(gain, weights=counts)
        variance = np.average((gain - mean) ** 2, weights=counts) / n
        return bool(mean > errors * np.sqrt(variance))


def rounded(values: Any) -> Any:
    """Return positive numbers to about a percent, closer than data tell them.

    So that rounding errors, which a descent magnifies and which change with units and the order of rows, do
    not show in the choice.
    """
    return 2.0 ** (np.round(64 * np.log2(values)) / 64)
