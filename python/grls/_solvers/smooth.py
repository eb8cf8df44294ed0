"""A smooth convex loss of single rows on a kernel matrix: Newton's method, and what the last step knows.

A Newton step is the weighted least-squares problem of the core, (Φ + 2γΣs/(sw)) c + Tβ = f + g/w, with the
curvature w of each row's loss and g minus its slope. What loss it is, `RowLoss` says: `Logistic` of two
classes here, those of regression in `grls._models.families`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, log_expit

from .._validation import FloatArray
from .kernel_problem import KernelProblem
from .left_out import along_steps
from .newton import LEAST_CURVATURE, Minimum, State, minimise


class RowLoss(Protocol):
    """The losses of all rows as functions of the model's values there, f (m,)."""

    def values(self, f: FloatArray) -> FloatArray:
        """Return the loss of each row, (m,)."""

    def slopes(self, f: FloatArray) -> FloatArray:
        """Return minus the derivative of each row's loss, (m,)."""

    def curvature(self, f: FloatArray) -> FloatArray:
        """Return the second derivative of each row's loss, (m,), at least a little positive."""


@dataclass(frozen=True)
class Logistic:
    """The loss log(1 + exp(−yf)) of two classes."""

    y: FloatArray  # (m,): ±1

    def values(self, f: FloatArray) -> FloatArray:
        """Return the loss of each row, (m,)."""
        return np.asarray(-log_expit(self.y * f))

    def slopes(self, f: FloatArray) -> FloatArray:
        """Return minus the derivative of each row's loss, (m,): t − p without cancellation."""
        return np.asarray(self.y * expit(-self.y * f))

    def curvature(self, f: FloatArray) -> FloatArray:
        """Return the second derivative of each row's loss, (m,)."""
        return np.asarray(np.maximum(expit(f) * expit(-f), LEAST_CURVATURE))


@dataclass
class SmoothProblem:
    """1/Σs Σ_i s_i V_i(f_i) + γ cᵀΦc."""

    problem: KernelProblem  # its weights are those of the last step
    loss: RowLoss
    s: FloatArray  # (m,)

    def objective(self, state: State, gamma: float) -> float:
        """Return what is minimised."""
        loss = self.s @ self.loss.values(state.f[:, 0]) / self.s.sum()
        return float(loss + gamma * np.sum(state.c * state.Kc))

    def minimum(self, gamma: float, start: State, tol: float, max_iter: int) -> Minimum:
        """Return the minimum of the objective."""
        return minimise(
            start,
            lambda state: self.objective(state, gamma),
            lambda state: self._newton_step(state, gamma),
            tol,
            max_iter,
        )

    def weighted(self, state: State, gamma: float) -> tuple[KernelProblem, float]:
        """Return the least-squares problem of a Newton step, and its γ: 2γΣs / Σ(sw)."""
        self.problem.weights = self.s * self.loss.curvature(state.f[:, 0])
        return self.problem, float(2 * gamma * self.s.sum() / self.problem.weights.sum())

    def _newton_step(self, state: State, gamma: float) -> tuple[State, float, list[int]]:
        problem, gamma_weighted = self.weighted(state, gamma)
        f = state.f[:, 0]
        slopes = self.loss.slopes(f)
        response = f + slopes / self.loss.curvature(f)
        solution = problem.solve(response[:, None], gamma_weighted)
        c, beta = np.ascontiguousarray(solution.c), solution.beta
        Kc = problem.kernel_times(c)
        target = State(c, beta, Kc, Kc + problem.T @ beta)
        by_loss = float(-(self.s * slopes) @ (target.f - state.f)[:, 0] / self.s.sum())
        slope = by_loss + 2 * gamma * float(np.sum(state.Kc * (c - state.c)))
        return target, slope, list(solution.kept)

    def leave_one_out(self, state: State, gamma: float, copies: FloatArray) -> FloatArray:
        """Return f (m, 1) of each row by the model without it; `copies` is the share of its weight that goes.

        With h = 1 − shift · B_ii / (sw) a row without its share v of the weight is predicted
        f − v h/(1 − vh) · g/w.
        """
        f = state.f[:, 0]
        left = 1 - self.leverages(state, gamma)
        moved = copies * (1 - left) / ((1 - copies) + copies * left)
        return np.asarray((f - moved * self.loss.slopes(f) / self.loss.curvature(f))[:, None])

    def leave_one_out_along_steps(self, state: State, gamma: float, copies: FloatArray) -> FloatArray:
        """Return the same, where the loss without the row is smallest on the way that the step goes."""
        problem, gamma_weighted = self.weighted(state, gamma)
        m, n_free = problem.T.shape
        w, zero, f = problem.weights_or_ones, np.zeros((m, n_free)), state.f[:, 0]
        B = -problem.posterior(gamma_weighted).of_values(np.zeros((m, m)), np.eye(m), zero, covariance=True)
        # A = W⁻¹ − shift · W⁻¹BW⁻¹
        B *= -2 * gamma * self.s.sum() / w
        B /= w[:, None]
        diagonal = np.maximum(1 / w + np.diagonal(B), np.finfo(float).tiny)
        B[np.diag_indices(m)] = diagonal
        B /= diagonal[:, None]
        return along_steps(self.loss, self.s, f, B, diagonal, copies)[:, None]

    def leverages(self, state: State, gamma: float) -> FloatArray:
        """Return h (m,), the share of itself in what the last Newton step says of each row."""
        problem, gamma_weighted = self.weighted(state, gamma)
        m, n_free = problem.T.shape
        # At K = I and no features the variance is what the core subtracts: B_ii.
        posterior = problem.posterior(gamma_weighted)
        B = -posterior.of_values(np.zeros(m), np.eye(m), np.zeros((m, n_free)), covariance=False)
        return np.asarray(1 - 2 * gamma * self.s.sum() * B / problem.weights_or_ones)

    def variance(
        self, state: State, gamma: float, K: FloatArray, prior: FloatArray, T_new: FloatArray
    ) -> FloatArray:
        """Return the variance of f at new points (n,): Laplace's approximation; K (m, n), prior k(x, x)."""
        problem, gamma_weighted = self.weighted(state, gamma)
        posterior = problem.posterior(gamma_weighted)
        variance = posterior.of_values(prior, np.ascontiguousarray(K.T), T_new, covariance=False)
        return np.asarray(variance / (2 * gamma * self.s.sum()))
