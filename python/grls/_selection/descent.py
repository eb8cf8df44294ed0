"""Descent of a criterion along its gradient by the logarithms of kernel parameters and γ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._solvers import memory as _memory
from .._solvers.groups import Labels
from .._solvers.kernel_problem import KernelProblem
from .._solvers.runtime import single_threaded
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .merged import merge
from .parameters import Parameters
from .regularization import ACCURATE

# A point where the matrix cannot be factorised: worse than any other, so that a line search turns back.
_NO_VALUE = 1e10


class Objective:
    """The criterion as a function of log parameters and log γ, scaled for a line search."""

    def __init__(
        self,
        parameters: Parameters,
        problem: KernelProblem,
        targets: FloatArray,
        criterion: str,
        counts: FloatArray | None = None,
        labels: Labels | None = None,
    ) -> None:
        merged = merge(problem, targets, counts, labels if criterion == "logo" else None)
        self.left_out = merged.groups
        self.parameters, self.criterion = parameters, criterion
        self.problem, self.targets = merged.problem, merged.targets
        self._n_rows = merged.n_rows
        # Rows at the same point share a prediction; what they differ by stays in the criterion.
        observations = (merged.place, merged.weights, merged.counts, merged.deviations)
        self._rows = None if merged.by_points else observations
        self.unit = np.nan  # of relative shifts, at the parameters that were tried last
        self.n_evaluations = 0
        self.first_value = np.inf  # of the criterion, since evaluations were counted from zero

    def restart(self) -> None:
        """Count evaluations from zero."""
        self.n_evaluations, self.first_value = 0, np.inf

    def criterion_at(self, scaled: float) -> float:
        """Return the criterion from its value as a line search sees it."""
        if scaled >= _NO_VALUE:
            return np.inf
        return scaled * self._n_rows if self.criterion == "reml" else float(np.exp(scaled))

    def __call__(self, logs: FloatArray) -> tuple[float, FloatArray]:
        value, slopes = self.value_and_gradient(np.exp(logs))
        if self.n_evaluations == 1:
            self.first_value = value
        if not np.isfinite(value):
            return _NO_VALUE, np.zeros_like(logs)
        slopes = slopes * np.exp(logs)
        if self.criterion == "reml":
            size = self._n_rows
            return value / size, slopes / size
        return float(np.log(value)), slopes / value

    def value_and_gradient(self, values: FloatArray) -> tuple[float, FloatArray]:
        """Return the criterion and its derivatives by the parameters and γ; infinite where there is none."""
        self.n_evaluations += 1
        self.parameters.set(values[:-1])
        try:
            answer, slopes = self.parameters.gradient(
                self.problem, self.targets, float(values[-1]), self.criterion, self._rows, self.left_out
            )
        except NotPositiveDefiniteError:
            return np.inf, np.zeros_like(values)
        self.unit = answer.unit
        value = answer.value
        slopes = np.append(slopes, answer.shift * self.problem.total_weight)
        usable = np.isfinite(value) and np.isfinite(slopes).all() and (self.criterion == "reml" or value > 0)
        return (float(value), slopes) if usable else (np.inf, np.zeros_like(values))


@dataclass
class Descent:
    """Where one start of a search by gradients led."""

    start: FloatArray  # (p + 1,)
    end: FloatArray  # (p + 1,)
    criterion: float  # at the end
    n_iter: int
    n_evaluations: int
    message: str


def gamma_limits(objective: Objective, start: FloatArray, total_weight: float) -> FloatArray:
    """Return the smallest and the largest γ, from the unit of shifts at the first start; (2,)."""
    objective.value_and_gradient(start)
    if not np.isfinite(objective.unit):
        raise NotPositiveDefiniteError("the matrix at the start of the optimization is not definite")
    problem = objective.problem.with_kernel(objective.parameters.kernel)
    whole = float(problem.weights_or_ones @ np.abs(problem.kernel_diagonal()))
    limits = np.array([1e-10, 1e2 * len(objective.targets)]) * objective.unit
    # Widths that the search finds must not lead to where solutions are rounding.
    least = ACCURATE * np.finfo(np.float64).eps * whole
    return np.maximum(limits, [least, 10 * least]) / total_weight


def descend(
    objective: Objective,
    start: FloatArray,
    bounds: FloatArray,
    callback: Callable[[Any], None] | None = None,
    *,
    max_iter: int = 200,
    tol: float = 1e-10,
) -> Descent:
    """Follow the gradient from one start; the end is never worse than the start.

    It ends where a step gains less than `tol`, in the likelihood per row or the logarithm of the error.
    """
    objective.restart()
    # SciPy's tiny solves between our calls would wake its threads each time.
    with single_threaded():
        found = minimize(
            objective,
            np.log(start),
            jac=True,
            method="L-BFGS-B",
            bounds=np.log(bounds),
            callback=callback,
            options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-6},
        )
    end = np.exp(found.x)
    at_start, at_end = objective.first_value, objective.criterion_at(float(found.fun))
    if not at_end <= at_start:
        end, at_end = start, at_start
    return Descent(start, end, at_end, int(found.nit), objective.n_evaluations, str(found.message))


def require_memory(objective: Objective) -> None:
    m, criterion = len(objective.targets), objective.criterion
    _memory.require(
        _memory.gradient_bytes(
            m,
            criterion,
            objective.parameters.n_width_columns,
            0 if objective.left_out is None else len(objective.left_out) * objective.targets.shape[1],
        ),
        f"the gradient of {criterion!r} for {m} samples",
        "tune on fewer samples" + (', or by "reml", which takes two thirds' * (criterion == "loo")),
    )
