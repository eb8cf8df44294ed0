"""What all blocks of a fit share: the kernel's modes, the features, and some rows to check the fit with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._models.samples import FreeFeatures
from .._nystrom.origin import about, moments
from .._solvers import memory
from .._solvers.kernel_problem import KernelProblem
from .._solvers.rows import row_keys
from .._validation import FloatArray
from ..kernels import Kernel
from .modes import Modes
from .sums import Sums, sums_of_rows
from .system import LOW_MODES, System
from .transforms import wave_values


@dataclass
class Rows:
    """Rows as a plan sums them."""

    points: Any  # (n, p), what the kernel reads columns of
    T: FloatArray  # (n, l)
    Y: FloatArray  # (n, k)
    weights: FloatArray | None = None

    def taken(self, which: Any) -> Rows:
        """Return some of them."""
        weights = None if self.weights is None else self.weights[which]
        return Rows(self.points[which], self.T[which], self.Y[which], weights)


@dataclass
class SplitSums:
    """The sums of the rows that are fitted, and of those held out to choose γ with."""

    fitted: Sums
    held_out: Sums | None

    @property
    def total(self) -> Sums:
        """The sums of all rows."""
        return self.fitted if self.held_out is None else self.fitted + self.held_out

    def __add__(self, other: SplitSums) -> SplitSums:
        held_out = None
        if self.held_out is not None and other.held_out is not None:
            held_out = self.held_out + other.held_out
        return SplitSums(self.fitted + other.fitted, held_out)


@dataclass(frozen=True)
class Plan:
    """The modes of a kernel, features, the share of rows held out, and a sample of the rows."""

    kernel: Kernel
    free: FreeFeatures
    modes: Modes
    sample: Rows
    held_fraction: float  # 0: none
    seed: int
    origin: Any = None  # (k,): what targets are summed about; None: zero
    constant: Any = None  # (l,): v with Tv = 1
    expressed: Any = False  # (k,): whether the features express the targets; see `origin.expressed_by`

    def about_origin(self, rows: Rows) -> FloatArray:
        """Return the targets of rows that are summed."""
        ones = 1.0 if self.constant is None else np.asarray(rows.T, dtype=np.float64) @ self.constant
        return about(rows.Y, self.origin, ones)

    def at_origin(self, system: System) -> FloatArray:
        """Return the coefficients (l, k) of what is taken off the targets."""
        if self.origin is None:
            return np.zeros((system.n_free, 1))
        return np.outer(system.made_of_kept(self.constant), self.origin)

    def sums(self, rows: Rows) -> SplitSums:
        """Return the sums of rows."""
        self.modes.require_inside(rows.points)
        _require_room(self.modes, rows.T.shape[1] + rows.Y.shape[1])
        if self.held_fraction == 0:
            return SplitSums(self._sums(rows), None)
        # By the contents of a row, so that it does not depend on the blocks.
        keys = row_keys(np.ascontiguousarray(rows.points), self.seed)
        chosen = keys < np.uint64(self.held_fraction * (2**64 - 2**12))
        return SplitSums(self._sums(rows.taken(~chosen)), self._sums(rows.taken(chosen)))

    def _sums(self, rows: Rows) -> Sums:
        found = sums_of_rows(self.modes, rows.points, rows.T, self.about_origin(rows), rows.weights)
        found.moments = moments(rows.Y, self.origin, rows.weights)
        return found

    def fit_error(self, s: float, *, tol: float, max_iter: int) -> float:
        """Return how far a fit of the sample is from the exact model's, with the same s = γΣw.

        The root of the mean squared difference of the predictions of the sample's rows, in units of the
        targets' standard deviation; the largest of all outputs'.
        """
        rows = self.sample
        system = System(self.modes, self._sums(rows), rows.T.shape[1])
        z = system.solve(system.g, s, tol=tol, max_iter=max_iter).z
        T = np.asarray(rows.T, dtype=np.float64)
        found = wave_values(self.modes, rows.points, system.coefficients(z))
        found += T @ system.feature_coefficients(z)
        problem = KernelProblem(self.kernel, rows.points, T, None)
        Y = self.about_origin(rows)
        solution = problem.solve(Y, s / len(T))
        exact = problem.kernel_times(np.asarray(solution.c)) + T @ np.asarray(solution.beta)
        spread = Y.std(axis=0)
        error = np.sqrt(np.mean((found - exact) ** 2, axis=0))
        return float(np.max(error / np.where(spread > 0, spread, 1.0), initial=0.0))


def _require_room(modes: Modes, q: int) -> None:
    """MemoryError where the arrays over modes have no room."""
    d = len(modes.limits)
    wide = float(np.prod([4 * limit + 2 for limit in modes.limits]))
    grids = 8 * wide * (2 + 2 * 2**d) + 8 * modes.count * (2 * q + 24)
    memory.require(
        grids + 5 * 8.0 * (2 * min(LOW_MODES, modes.count // 2 + 1)) ** 2,  # two systems, one in the making
        f"a fit with {modes.count} Fourier modes",
        "raise tol, or lower max_modes to be told which tol fits",
    )
