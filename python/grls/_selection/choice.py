"""The choice of γ for any kernel on the same data, or on fewer rows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Kernel
from . import regularization as _selection
from .regularization import Loss, Selection
from .starts import drawn_rows


def squared_error(targets: FloatArray, weights: FloatArray | None) -> Loss:
    """Return the weighted mean squared error of predictions, one per output."""
    return lambda predictions: np.asarray(np.average((targets - predictions) ** 2, axis=0, weights=weights))


@dataclass
class Choice:
    """The choice of γ for any kernel on the same data."""

    problem: KernelProblem
    targets: FloatArray
    criterion: str
    loss: Loss
    counts: FloatArray | None

    def on(self, most: int) -> Choice:
        """Return the choice on the rows of at most so many points, by the squared error."""
        rows = drawn_rows(self.problem.X, most)
        if rows is None:
            return self
        targets = self.targets[rows]
        weights = self.problem.weights_or_ones[rows]
        return Choice(
            self.problem.take(rows, weights),
            targets,
            self.criterion,
            squared_error(targets, weights),
            None if self.counts is None else self.counts[rows],
        )

    def __call__(self, kernel: Kernel, specification: Any) -> Selection | None:
        problem = self.problem.with_kernel(kernel)
        try:
            return _selection.evaluate(
                problem,
                self.targets,
                self.criterion,
                specification,
                self.loss,
                per_output=False,
                counts=self.counts,
                refine=False,
            )
        except NotPositiveDefiniteError:
            return None
