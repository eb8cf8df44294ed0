"""Logistic losses of several classes: multinomial, or one versus the rest; whether they have a minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import log_expit, log_softmax, logsumexp

from .._selection.merged import Observations
from .._solvers.kernel_problem import KernelProblem
from .._solvers.multinomial import Laplace, Multinomial
from .._solvers.newton import Minimum, State
from .._solvers.runtime import blas_limited
from .._solvers.smooth import Logistic, SmoothProblem
from .._validation import FloatArray
from .classification import winner
from .smooth_functions import SeparateFunctions, kernel_size, stored_part


def log_probabilities(f: FloatArray, *, multinomial: bool) -> FloatArray:
    """Return the logarithms (n, n_classes) of what functions (n, 1) or (n, k) say."""
    if f.shape[1] == 1:
        return np.hstack([log_expit(-f), log_expit(f)])
    if multinomial:
        return np.asarray(log_softmax(f, axis=1))
    each = log_expit(f)
    return np.asarray(each - logsumexp(each, axis=1, keepdims=True))


@dataclass
class _Classes:
    """The samples of a logistic problem."""

    problem: KernelProblem
    targets: FloatArray  # (m, k): ±1
    s: FloatArray  # (m,)
    observations: Observations

    criterion_name = "log loss"
    nothing_left = 0.01  # rows left out are 99 % sure
    smallest_gamma = 5e-9

    def start(self) -> State:
        """Return the model that is zero everywhere."""
        return State.zero(self.problem.T, self.targets.shape[1])

    def criterion(self, f: FloatArray) -> float:
        """Return the weighted mean log loss of functions (m, k)."""
        logs = log_probabilities(f, multinomial=isinstance(self, MultinomialLoss))
        own = logs[np.arange(len(f)), winner(self.targets)]
        return float(-np.average(own, weights=self.s))

    def unit(self) -> float:
        """Return the γ at which kernel and loss are of one size."""
        return kernel_size(self.problem, self.s)

    def take(self, rows: Any) -> Any:
        """Return the problem of some rows, its kernel matrix stored."""
        problem = stored_part(self.problem, rows, self.s[rows])
        return type(self)(problem, self.targets[rows], self.s[rows], self.observations.take(rows))


class OneVersusRest(_Classes, SeparateFunctions):
    """Each class against all others, or two classes."""

    def one(self, p: int) -> SmoothProblem:
        """Return the problem of a class."""
        return SmoothProblem(self.problem, Logistic(self.targets[:, p]), self.s)

    @property
    def n_functions(self) -> int:
        """How many classes there are, or one for two."""
        return int(self.targets.shape[1])


class MultinomialLoss(_Classes):
    """All classes at once: the probabilities are the softmax of their functions."""

    def _multinomial(self) -> Multinomial:
        labels = (self.targets > 0).astype(np.float64)
        return Multinomial(self.problem.kernel_matrix(), self.problem.T, labels, self.s)

    def minima(self, gamma: float, start: State, tol: float, max_iter: int) -> list[Minimum]:
        """Return the one minimum."""
        with blas_limited(len(self.s)):
            return [self._multinomial().minimum(gamma, start, tol, max_iter)]

    def leave_one_out(self, state: State, gamma: float) -> FloatArray:
        """Return the functions (m, k) at each row by the model without it."""
        with blas_limited(len(self.s)):
            return self._laplace(state.f, gamma).leave_one_out(self.observations.shares(self.s))

    def degrees_of_freedom(self, f: FloatArray, gamma: float) -> float:
        """Return the effective degrees of freedom of all functions (m, k)."""
        with blas_limited(len(self.s)):
            return self._laplace(f, gamma).degrees_of_freedom()

    def variance(
        self, f: FloatArray, gamma: float, K: FloatArray, prior: FloatArray, T_new: FloatArray
    ) -> FloatArray:
        """Return the variances (n, k) of the functions, less their mean, at new points."""
        with blas_limited(len(self.s)):
            covariance = self._laplace(f, gamma).at(K, prior, T_new)
        return np.asarray(np.diagonal(covariance, axis1=1, axis2=2))

    def _laplace(self, f: FloatArray, gamma: float) -> Laplace:
        return self._multinomial().posterior(State(f, f, f, f), gamma)


LogisticLoss = OneVersusRest | MultinomialLoss


def separates(T: FloatArray, y: FloatArray) -> bool:
    """Whether some combination of the features is ≥ 0 on one class, ≤ 0 on the other, not 0 everywhere."""
    return improves(y[:, None] * scaled_columns(T))


def separates_classes(T: FloatArray, targets: FloatArray) -> bool:
    """Whether features with coefficients for each class can lower the loss of some row and raise none."""
    T, own = scaled_columns(T), winner(targets)
    m, k = targets.shape
    rows = np.arange(m)
    margins = []
    for c in range(k):
        others = rows[own != c]
        signs = np.zeros((len(others), k))  # of the coefficients of each class in f_y − f_c
        signs[np.arange(len(others)), own[others]] = 1
        signs[:, c] = -1
        margins.append(sparse.hstack([sparse.csr_matrix(signs[:, [p]] * T[others]) for p in range(k)]))
    return improves(sparse.vstack(margins).tocsr())


def scaled_columns(T: FloatArray) -> FloatArray:
    """Return the columns that are not zero, each divided by its largest value."""
    T = np.asarray(T, dtype=np.float64)
    size = np.abs(T).max(axis=0, initial=0)
    return np.asarray(T[:, size > 0] / size[size > 0])


def improves(margins: FloatArray) -> bool:
    """Whether some combination of the columns is ≥ 0 in every row and not 0 everywhere."""
    n_rows, n_columns = margins.shape
    if n_columns == 0:
        return False
    found = linprog(
        -np.asarray(margins.sum(axis=0)).ravel(), A_ub=-margins, b_ub=np.zeros(n_rows), bounds=(-1, 1)
    )
    return bool(found.status == 0 and -found.fun > 1e-6 * n_rows)
