"""Functions that share kernel, features and γ, each with a smooth loss of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._selection.merged import Observations
from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.newton import Minimum, State
from .._solvers.smooth import SmoothProblem
from .._solvers.weighted_factor import FeatureSpan
from .._validation import FloatArray


class SeparateFunctions:
    """Functions that are fitted one by one; a subclass has the problem of each."""

    s: FloatArray  # (m,): weights
    observations: Observations

    def one(self, p: int) -> SmoothProblem:
        """Return the problem of a function."""
        raise TypeError(f"{type(self).__name__} has no functions")

    @property
    def n_functions(self) -> int:
        """How many there are."""
        raise TypeError(f"{type(self).__name__} has no functions")

    def minima(self, gamma: float, start: State, tol: float, max_iter: int) -> list[Minimum]:
        """Return the minimum of each function."""
        return [self.one(p).minimum(gamma, start.column(p), tol, max_iter) for p in range(self.n_functions)]

    def leave_one_out(self, state: State, gamma: float) -> FloatArray:
        """Return the functions (m, k) at each row by the model without it."""
        shares = self.observations.shares(self.s)
        columns = [self.one(p).leave_one_out(state.column(p), gamma, shares) for p in range(self.n_functions)]
        return np.hstack(columns)

    def leverages(self, f: FloatArray, gamma: float) -> FloatArray:
        """Return the share (m, k) of each row in what the last Newton step says of it; f (m, k)."""
        state = State(f, f, f, f)  # of which only the values matter
        return np.stack(
            [self.one(p).leverages(state.column(p), gamma) for p in range(self.n_functions)], axis=1
        )

    def degrees_of_freedom(self, f: FloatArray, gamma: float) -> float:
        """Return the effective degrees of freedom of all functions (m, k)."""
        return float(np.sum(self.leverages(f, gamma)))

    def variance(
        self, f: FloatArray, gamma: float, K: FloatArray, prior: FloatArray, T_new: FloatArray
    ) -> FloatArray:
        """Return the variances (n, k) of the functions at new points; f (m, k) at the samples."""
        state = State(f, f, f, f)  # of which only the values matter
        columns = [
            self.one(p).variance(state.column(p), gamma, K, prior, T_new) for p in range(self.n_functions)
        ]
        return np.stack(columns, axis=1)


def stored_part(problem: KernelProblem, rows: Any, weights: FloatArray) -> KernelProblem:
    """Return the problem of some rows, its kernel matrix stored."""
    part = problem.take(rows, weights)
    return KernelProblem(StoredGram(), np.ascontiguousarray(part.kernel_matrix()), part.T, None)


def kernel_size(problem: KernelProblem, s: FloatArray) -> float:
    """Return the mean of the kernel's variances at the rows of weights s, beside the features."""
    Phi, T = problem.kernel_matrix(), problem.T
    Q = FeatureSpan(T, s).Q
    roots = np.sqrt(s)[:, None]
    inside = np.sum((roots * Q) * (Phi @ (roots * Q)))
    trace = float(s @ np.diagonal(Phi) - inside)
    total = float(s.sum())
    return trace / total if trace > 1e-10 * float(s @ np.abs(np.diagonal(Phi))) else 1.0
