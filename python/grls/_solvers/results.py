"""What comes out of the compiled core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._core import (
    CentredGram,
    FoldedIn,
    Gradient,
    LinearSolution,
    NotPositiveDefiniteError,
    Path,
    PiecewiseSolution,
    RidgeSolution,
    Solution,
    Status,
    SvmSolution,
    Topics,
    TopSpectrum,
    Tuned,
    __version__,
)
from .._validation import FloatArray
from .groups import Groups
from .runtime import get_num_threads

__all__ = [
    "CentredGram",
    "FoldedIn",
    "Gradient",
    "LinearSolution",
    "NotPositiveDefiniteError",
    "Outputs",
    "Path",
    "PiecewiseSolution",
    "ReducedMatrix",
    "RidgeSolution",
    "Solution",
    "Status",
    "SvmSolution",
    "TopSpectrum",
    "Topics",
    "Tuned",
    "__version__",
]


class ReducedMatrix:
    """A matrix reduced once by the core: every further shift γΣw costs a small part of the reduction."""

    def __init__(self, core: _core.ReducedMatrix) -> None:
        self._core = core

    def at(self, shifts: FloatArray, *, relative: bool = False) -> Path:
        """Return what the core knows of these shifts; `relative`: in units of the matrix's size."""
        return self._core.at(shifts=shifts, relative=relative, threads=get_num_threads())

    def leave_out(
        self, shift: float, groups: Groups, c: FloatArray, extra: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return residuals and variances of the rows of each group by the model without it; see the core.

        `c` is that of the path at this shift, and `extra` (m, p): B gains extra extraᵀ.
        """
        more = np.empty((len(c), 0)) if extra is None else extra
        return self._core.leave_out(
            shift=shift, rows=groups.rows, starts=groups.starts, c=c, extra=more, threads=get_num_threads()
        )


@dataclass
class Outputs:
    """The solutions of all outputs, whether they share one γ or each has its own."""

    c: FloatArray  # (m, k)
    beta: FloatArray  # (l, k)
    quadratic: FloatArray  # (k,): yᵀBy
    feature_covariance: FloatArray  # (k, l, l): of β, in units of the kernel variance
    kept: list[int]
    precision: str
    iterations: int
    seconds: dict[str, float]
    effects: FloatArray | None = None  # (G, k): of groups, where they have some

    @classmethod
    def join(cls, parts: list[tuple[Any, Solution]], n_outputs: int) -> Outputs:
        """Put solutions, each with the outputs it is for, in their places."""
        first = parts[0][1]
        n_samples, n_free = len(first.c), len(first.beta)
        out = cls(
            np.empty((n_samples, n_outputs)),
            np.empty((n_free, n_outputs)),
            np.empty(n_outputs),
            np.empty((n_outputs, n_free, n_free)),
            list(first.kept),
            first.precision,
            max(part.iterations for _, part in parts),
            {stage: sum(part.seconds[stage] for _, part in parts) for stage in first.seconds},
        )
        for mine, part in parts:
            out.c[:, mine], out.beta[:, mine], out.quadratic[mine] = part.c, part.beta, part.quadratic
            out.feature_covariance[mine] = part.feature_covariance
        return out
