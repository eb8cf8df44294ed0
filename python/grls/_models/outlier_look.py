"""Which rows are outliers, as far as it matters before a kernel is chosen by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray
from ..kernels import Kernel
from .reweighted import HuberChoice, Start
from .robust_scale import FAR
from .samples import Training

_GAMMAS = 50  # tried by a look with a kernel
_OTHERS = 0.01  # share of the rows: so many more or fewer outliers are worth another choice


@dataclass
class OutlierLook:
    """A function (m,) at the rows, and the distance from it where outliers begin."""

    f: FloatArray
    reach: float

    def drawn_in(self, y: FloatArray) -> FloatArray:
        """Return targets (m,), outliers moved to where they begin."""
        return np.clip(y, self.f - self.reach, self.f + self.reach)

    def is_outlier(self, y: FloatArray) -> NDArray[np.bool_]:
        """Return which of the rows are outliers, (m,)."""
        return np.asarray(np.abs(y - self.f) > self.reach)

    def with_kernel(
        self, kernel: Kernel, training: Training, y: FloatArray, rows: NDArray[np.intp]
    ) -> OutlierLook:
        """Return what a kernel that was chosen since makes of some rows, or this where it cannot tell."""
        samples = training.samples
        seen, points = kernel.fit_views(samples.X) if kernel.reads_given else (kernel, samples.X)
        weights = np.ones(len(y)) if samples.weights is None else samples.weights
        problem = KernelProblem(seen, seen.take(points, rows), training.T[rows], weights[rows])
        start = Start(self.f[rows], self.reach / FAR)
        found = HuberChoice(problem, y[rows], _GAMMAS).follow([start])
        if found is None:
            return self
        f = seen.times(points, problem.X, np.ascontiguousarray(found.c[:, None]))[:, 0]
        return OutlierLook(np.asarray(f + training.T @ found.beta), FAR * found.scale)


def rows_without_outliers(looks: Sequence[OutlierLook], targets: FloatArray) -> NDArray[np.intp]:
    """Return the rows that are outliers of no output; all, where these are not half of them."""
    spoilt = np.any([look.is_outlier(y) for look, y in zip(looks, targets.T, strict=True)], axis=0)
    return np.flatnonzero(~spoilt) if 2 * spoilt.sum() <= len(spoilt) else np.arange(len(spoilt))


def are_others(rows: NDArray[np.intp], before: NDArray[np.intp], n_rows: int) -> bool:
    """Whether rows differ from those before by more than a few."""
    return len(np.setxor1d(rows, before)) > _OTHERS * n_rows
