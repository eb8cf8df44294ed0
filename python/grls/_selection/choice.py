"""The choice of γ for any kernel on the same data, or on fewer rows of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._solvers.groups import Groups, Labels, dependent_without
from .._solvers.kernel_problem import KernelProblem
from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Gaussian, Kernel
from . import regularization as _selection
from .merged import merge
from .regularization import Loss, Selection
from .starts import drawn_rows


def squared_error(targets: FloatArray, weights: FloatArray | None) -> Loss:
    """Return the weighted mean squared error of predictions, one per output."""
    return lambda predictions: np.asarray(np.average((targets - predictions) ** 2, axis=0, weights=weights))


def rows_counted(problem: KernelProblem, counts: FloatArray | None) -> float:
    """Return how many rows there are, by their weights where these are not counts of their own."""
    return float(problem.weights_or_ones.sum() if counts is None else counts.sum())


@dataclass
class Choice:
    """The choice of γ for any kernel on the same data."""

    problem: KernelProblem
    targets: FloatArray
    criterion: str
    loss: Loss
    counts: FloatArray | None
    labels: Labels | None = None  # of the rows: the groups that "logo" leaves out together
    gamma_by_likelihood: bool = False  # γ is the likelihood's, and the criterion tells how good it is

    @property
    def n_rows(self) -> float:
        """How many rows there are."""
        return rows_counted(self.problem, self.counts)

    def on(self, most: int) -> Choice:
        """Return the choice on the rows of at most so many points, by the squared error."""
        rows = drawn_rows(self.problem.X, most)
        return self if rows is None else self.among(rows)

    def at(self, points: Any) -> Choice:
        """Return the choice for kernels that read the rows otherwise."""
        return replace(self, problem=replace(self.problem, kernel=Gaussian(1.0), X=points))

    def halves(self) -> tuple[Choice, Choice]:
        """Return the choice on the rows of half the points, and that on the others."""
        rows = drawn_rows(self.problem.X, (len(distinct_rows(self.problem.X)[0]) + 1) // 2)
        if rows is None:
            raise ValueError("one point has no halves")
        return self.among(rows), self.among(np.setdiff1d(np.arange(len(self.targets)), rows))

    def error_elsewhere(self, kernel: Kernel, others: Choice) -> float:
        """Return the squared error at other rows of the model with a kernel and its best γ here."""
        selection = self(kernel, 20)
        if selection is None:
            return np.inf
        problem = self.problem.with_kernel(kernel)
        try:
            found = problem.solve(self.targets, float(selection.chosen))
        except NotPositiveDefiniteError:
            return np.inf
        at = kernel.times(others.problem.X, problem.X, found.c) + others.problem.T @ found.beta
        return float(np.mean(squared_error(others.targets, others.problem.weights)(at)))

    def among(self, rows: Any) -> Choice:
        """Return the choice on some of the rows, by the squared error."""
        targets = self.targets[rows]
        weights = self.problem.weights_or_ones[rows]
        problem, criterion, labels = self.problem.take(rows, weights), self.criterion, None
        if self.labels is not None:
            labels = np.unique(self.labels[rows], return_inverse=True)[1].reshape(-1).astype(np.intp)
            # Among fewer rows a group may hold a feature alone: such rows are left out one by one.
            if dependent_without(problem.T, weights, Groups.of_labels(labels)) is not None:
                criterion, labels = "loo", None
        counts = None if self.counts is None else self.counts[rows]
        loss = squared_error(targets, weights)
        return Choice(problem, targets, criterion, loss, counts, labels, self.gamma_by_likelihood)

    def _likely_gamma(self, problem: KernelProblem) -> float:
        """Return the γ of the restricted likelihood, between half decades by a parabola."""
        merged = merge(problem, self.targets, self.counts)
        size = float(np.abs(problem.kernel_diagonal()).mean())
        shifts = merged.total_weight / merged.n_rows * size * np.sqrt(10.0) ** np.arange(-16, 4)
        shifts = shifts[shifts >= _selection.ACCURATE * np.finfo(np.float64).eps * size * merged.total_weight]
        rows = merged.for_core()
        values = merged.problem.restricted_likelihoods(merged.targets, shifts, rows)
        at = int(values.argmin())
        if not np.isfinite(values[at]):
            raise NotPositiveDefiniteError("no regularization of the grid makes the matrix definite")
        place = 0.0
        if 0 < at < len(shifts) - 1:
            below, middle, above = values[at - 1 : at + 2]
            bend = below - 2 * middle + above
            place = float((below - above) / (2 * bend)) if np.isfinite(bend) and bend > 0 else 0.0
        return float(shifts[at] * np.sqrt(10.0) ** place / merged.total_weight)

    def __call__(self, kernel: Kernel, specification: Any) -> Selection | None:
        problem = self.problem.with_kernel(kernel)
        try:
            if self.gamma_by_likelihood:
                specification = [self._likely_gamma(problem)]
            return _selection.evaluate(
                problem,
                self.targets,
                self.criterion,
                specification,
                self.loss,
                per_output=False,
                counts=self.counts,
                labels=self.labels,
                refine=False,
            )
        except NotPositiveDefiniteError:
            return None
