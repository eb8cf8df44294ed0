"""Conformal thresholds: quantile regression of calibration scores, and its path for each new row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from .._core import Calibration
from .._validation import FloatArray
from ..exceptions import SolverError
from . import memory
from .results import Status
from .runtime import get_num_threads

__all__ = ["Calibration", "ConformalProblem", "matrix_bytes"]

_EXACT = 1e-6  # what a solution may violate of its optimality conditions, relative to the scores
_BLOCK = 8e6  # kernel values of new rows at a time


def matrix_bytes(n_rows: int) -> float:
    """Return what the kernel matrix of calibration rows takes."""
    return 8.0 * n_rows**2


@dataclass
class ConformalProblem:
    """Scores, features of full rank and kernel values of the calibration rows, at one level."""

    kernel: FloatArray | None  # (n, n); None: there is no kernel part
    T: FloatArray  # (n, r)
    scores: FloatArray  # (n,)
    alpha: float
    C: float  # 1 without a kernel

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest coefficient of a row."""
        return -self.alpha * self.C, (1 - self.alpha) * self.C

    def calibrate(self) -> Calibration:
        """Return the optimum of the calibration rows alone."""
        lower, upper = self.bounds
        found = _core.conformal_calibrate(
            kernel=self.kernel,
            T=self.T,
            scores=self.scores,
            lower=lower,
            upper=upper,
            threads=get_num_threads(),
        )
        if found.status is not Status.converged or not found.violation <= _EXACT:
            raise SolverError(
                f"the quantile regression of {len(self.scores)} scores violates its optimality conditions by "
                f"{found.violation:.2g} after {found.steps} steps; use a larger regularization, or a kernel "
                "of a smaller width"
            )
        return found

    def block(self) -> int:
        """Return how many new rows to take at a time."""
        return max(1, int(_BLOCK // len(self.scores)))

    def thresholds(
        self,
        c: FloatArray,
        free: list[int],
        targets: FloatArray,
        T_new: FloatArray,
        kernel_new: FloatArray | None,
        diagonal: FloatArray | None,
    ) -> FloatArray:
        """Return the scores (q,) up to which the coefficient of each new row is below its target, (q,).

        T_new (q, r), kernel_new (q, n) and diagonal (q,) are those of the new rows.
        """
        lower, upper = self.bounds
        workers = get_num_threads()
        memory.require(
            float(
                _core.threshold_bytes(n=len(self.scores), free=len(free) + self.T.shape[1], workers=workers)
            ),
            f"thresholds beside {len(self.scores)} calibration rows",
            "use a larger regularization, fewer calibration rows or fewer threads",
        )
        found = _core.conformal_thresholds(
            kernel=self.kernel,
            T=self.T,
            scores=self.scores,
            lower=lower,
            upper=upper,
            c=c,
            free=free,
            kernel_new=kernel_new,
            diagonal=diagonal,
            T_new=T_new,
            targets=np.clip(targets, lower, upper),
            threads=workers,
        )
        wrong = ~(found.violation <= _EXACT)
        if wrong.any():
            worst = int(np.flatnonzero(wrong)[0])
            raise SolverError(
                f"the threshold of row {worst} violates its optimality conditions by "
                f"{found.violation[worst]:.2g}; use a larger regularization, or a kernel of a smaller width"
            )
        return np.array(found.values)
