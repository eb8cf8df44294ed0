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

_SIGNS = 2  # columns of random signs
_SMALL = 0.1  # of the posterior's standard deviation
_ROUNDING = 1e-7  # of targets: noise below it is a rounding error


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


def _signs(rows: Rows) -> FloatArray:
    """Return random signs: their fitted values tell the degrees of freedom, and so the variances."""
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(len(rows.T), _SIGNS))


@dataclass(frozen=True)
class Exact:
    """The exact model of a sample of rows, which fits with modes are checked against."""

    kernel: Kernel
    rows: Rows
    targets: FloatArray  # (n, k), about the origin of a plan
    fitted: FloatArray  # (n, k)
    quadratic: FloatArray  # (k,): yᵀ(K + s)⁻¹y beside the features, the scale of the variances
    degrees: float  # of freedom
    s: float  # γΣw

    @classmethod
    def of(cls, kernel: Kernel, rows: Rows, targets: FloatArray, s: float) -> Exact:
        """Solve the exact model with s = γΣw."""
        T, signs = np.asarray(rows.T, dtype=np.float64), _signs(rows)
        problem = KernelProblem(kernel, rows.points, T, None)
        solution = problem.solve(np.hstack([targets, signs]), s / len(T))
        c, k = np.asarray(solution.c), targets.shape[1]
        fitted = problem.kernel_times(c) + T @ np.asarray(solution.beta)
        degrees = float(np.einsum("ij,ij->", signs, fitted[:, k:])) / signs.shape[1]
        quadratic = np.einsum("ij,ij->j", targets, c[:, :k])
        return cls(kernel, rows, targets, fitted[:, :k], quadratic, degrees, s)

    def compared(self, modes: Modes, *, tol: float, max_iter: int) -> Check:
        """Return how far the fit with modes is from the exact one."""
        rows, n, k = self.rows, len(self.rows.T), self.targets.shape[1]
        T, signs = np.asarray(rows.T, dtype=np.float64), _signs(rows)
        sums = sums_of_rows(modes, rows.points, T, np.hstack([self.targets, signs]), None)
        system = System(modes, sums, T.shape[1])
        each = [system.solve(g[None], self.s, tol=tol, max_iter=max_iter).z for g in system.g]
        z = np.concatenate(each)
        found = wave_values(modes, rows.points, system.coefficients(z)) + T @ system.feature_coefficients(z)
        degrees = float(np.einsum("ij,ij->", signs, found[:, k:])) / signs.shape[1]
        error = np.sqrt(np.mean((found[:, :k] - self.fitted) ** 2, axis=0))
        spread = self.targets.std(axis=0)
        tiny = np.finfo(float).tiny
        scale, own = np.maximum(self.quadratic, tiny), max(self.s * self.degrees / n, tiny)
        std = np.sqrt(np.maximum(scale / n * own, tiny))
        left = system.squares - np.einsum("kj,kj->k", system.g, z)
        ratio = left[:k] / self.s / scale * (self.s * degrees / n + modes.missed) / own
        known = np.sqrt(scale / n * self.s) > _ROUNDING * np.sqrt(np.mean(rows.Y**2, axis=0))
        ratio = np.where(known, np.sqrt(np.maximum(ratio, 0)), 1.0)
        return Check(
            float(np.max(error / np.where(spread > 0, spread, 1.0), initial=0.0)),
            float(np.max(np.where(known, error / std, 0.0), initial=0.0)),
            float(ratio[np.argmax(np.abs(ratio - 1))]),
        )


@dataclass(frozen=True)
class Check:
    """What the modes cost, in the rows of a sample."""

    error: float  # in units of the targets' standard deviation
    by_std: float  # the same in units of the exact model's standard deviation
    std: float  # the standard deviation over the exact one

    @property
    def is_small(self) -> bool:
        """Whether intervals are about those of the exact model."""
        return self.by_std <= _SMALL and abs(self.std - 1) <= _SMALL


def _require_room(modes: Modes, q: int) -> None:
    """MemoryError where the arrays over modes have no room."""
    d = len(modes.limits)
    wide = float(np.prod([4 * limit + 2 for limit in modes.limits]))
    grids = 8 * wide * (2 + 2 * 2**d + 2 * _SIGNS) + 8 * modes.count * (2 * (q + _SIGNS) + 24)
    memory.require(
        grids + 5 * 8.0 * (2 * min(LOW_MODES, modes.count // 2 + 1)) ** 2,  # two systems, one in the making
        f"a fit with {modes.count} Fourier modes",
        "raise tol, or lower max_modes to be told which tol fits",
    )
