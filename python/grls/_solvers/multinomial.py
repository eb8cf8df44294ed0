"""Multinomial logistic regression on a kernel matrix: Newton's method, and what the last step knows.

The loss of row i is log Σ_c exp f_c(x_i) − f_y(x_i), its curvature W_i = diag(p_i) − p_ip_iᵀ. A Newton step
is found by conjugate gradients, preconditioned by the same problem with one curvature for all classes of a
row: one factorisation of order m for all classes. See docs/math.md, section "Several classes at once".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import logsumexp, softmax

from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .newton import LEAST_CURVATURE, Minimum, State, minimise
from .runtime import interruptible
from .weighted_factor import FeatureSpan, WeightedFactor

_MOST_STEPS = 500  # of conjugate gradients
_LEAST_PROBABILITY = 1e-7  # of a class: less would divide rounding errors by nothing in a covariance
_CAREFUL = 1e-2  # share of the gradient, as the preconditioner measures it, that a Newton step may leave


@dataclass
class Multinomial:
    """1/Σs Σ_i s_i (log Σ_c exp f_ic − f_iy) + γ Σ_c cᵀΦc."""

    Phi: FloatArray  # (m, m)
    T: FloatArray  # (m, l)
    labels: FloatArray  # (m, k): 1 for the class of the row, else 0
    s: FloatArray  # (m,)

    def objective(self, state: State, gamma: float) -> float:
        """Return what is minimised."""
        losses = logsumexp(state.f, axis=1) - np.einsum("ik,ik->i", state.f, self.labels)
        return float(self.s @ losses / self.s.sum() + gamma * np.sum(state.c * state.Kc))

    def minimum(self, gamma: float, start: State, tol: float, max_iter: int) -> Minimum:
        """Return the minimum of the objective."""
        shift = 2 * gamma * float(self.s.sum())
        return minimise(
            start,
            lambda state: self.objective(state, gamma),
            lambda state: self._newton_step(state, shift),
            tol,
            max_iter,
        )

    def _newton_step(self, state: State, shift: float) -> tuple[State, float, list[int]]:
        """Return where a Newton step leads, the slope of the objective on the way, and the features kept.

        A functional ρ (m, k) is Σ_i ρ_i h(x_i); the preconditioner's answer to it is the function h with
        shift · c = ρ − d h(x_i), so that its values at the samples cost nothing beyond c.
        """
        P = softmax(state.f, axis=1)
        d = self.s * np.clip(1 - np.sum(P**2, axis=1), LEAST_CURVATURE, 0.5)
        factor = WeightedFactor(self.Phi, self.T, d, shift)
        s, each = self.s[:, None], d[:, None]
        residual = s * (self.labels - P) - shift * state.c
        gradient = residual
        c, values = np.zeros_like(P), np.zeros_like(P)
        size, direction = np.inf, None
        for _ in range(_MOST_STEPS):
            z_c = _without_mean(factor.solve(residual / each))
            z = _without_mean((residual - shift * z_c) / each)
            last, size = size, float(np.sum(residual * z))
            if direction is None:
                first, direction = size, (z_c, z)
            else:
                direction = z_c + size / last * direction[0], z + size / last * direction[1]
            if not size > _CAREFUL**2 * first:
                break
            p_c, p = direction
            applied = s * (P * p - P * np.sum(P * p, axis=1, keepdims=True)) + shift * p_c
            curvature = float(np.sum(applied * p))
            if not curvature > 0:
                break
            length = size / curvature
            c, values = c + length * p_c, values + length * p
            residual = residual - length * applied
        c = _without_mean(state.c + c)
        Kc = self.Phi @ c
        # What is not the kernel's is the features'; exactly so, whatever the steps have rounded.
        beta = factor.span.coefficients(state.f + values - Kc)
        target = State(c, beta, Kc, Kc + self.T @ beta)
        slope = -float(np.sum(gradient * (target.f - state.f))) / float(self.s.sum())
        return target, slope, factor.span.kept

    def posterior(self, state: State, gamma: float) -> Laplace:
        """Return the Gaussian approximation at a minimum."""
        return Laplace(self, state, 2 * gamma * float(self.s.sum()))


class Laplace:
    """The Gaussian with the curvature of the loss at the minimum: cov f, modulo what all classes share.

    Least squares of class c alone with weights D_c = s p_c has the factor B_c and the matrix
    A_c = shift · B_c D_c⁻¹ of residuals. What the classes share is an offset of each row:
    with M = Σ_c shift · B_c the covariance between classes c and c′ at row i is
    δ_cc′ (1 − (A_c)_ii) / D_ic + (A_cᵀ M⁺ A_c′)_ii.
    """

    def __init__(self, problem: Multinomial, state: State, shift: float) -> None:
        self._problem, self._shift = problem, shift
        self.P = softmax(state.f, axis=1)
        self._f = state.f
        m, k = self.P.shape
        self._D = problem.s[:, None] * np.maximum(self.P, _LEAST_PROBABILITY)
        self._factors = [
            WeightedFactor(problem.Phi, problem.T, np.ascontiguousarray(self._D[:, c]), shift)
            for c in range(k)
        ]
        M = np.zeros((m, m))
        for c, factor in enumerate(self._factors):
            roots = np.sqrt(self._D[:, c])
            M += roots[:, None] * factor.scaled * roots
        span = FeatureSpan(problem.T, np.ones(m))  # M has no part there; any will do
        M += (np.trace(M) / m) * (span.Q @ span.Q.T)
        try:
            self._M = interruptible(m, linalg.cholesky, M, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise NotPositiveDefiniteError(
                "the curvature of all classes is lost in rounding errors"
            ) from error

    def at_samples(self) -> FloatArray:
        """Return the covariance between classes at each sample, (m, k, k)."""
        m, k = self.P.shape
        out = np.zeros((m, k, k))
        through = np.empty((k, m, m))
        for c, factor in enumerate(self._factors):
            roots = np.sqrt(self._D[:, c])
            A = roots[:, None] * factor.scaled / roots
            through[c] = linalg.solve_triangular(self._M, A, lower=True, check_finite=False)
            out[:, c, c] = (1 - np.diagonal(factor.scaled)) / self._D[:, c]
        for c in range(k):
            for other in range(c + 1):
                shared = np.einsum("ji,ji->i", through[c], through[other])
                out[:, c, other] += shared
                if other < c:
                    out[:, other, c] += shared
        return _centred(out)

    def _curvature(self) -> FloatArray:
        """Return the second derivatives of each row's loss, (m, k, k)."""
        P, k = self.P, self.P.shape[1]
        return np.asarray(np.einsum("ic,cd->icd", P, np.eye(k)) - np.einsum("ic,id->icd", P, P))

    def degrees_of_freedom(self) -> float:
        """Return the trace of what takes the response of the last Newton step to its fit."""
        return float(np.einsum("i,icd,idc->", self._problem.s, self._curvature(), self.at_samples()))

    def leave_one_out(self, copies: FloatArray) -> FloatArray:
        """Return f (m, k) of each row by the model without a share of its weight: `copies`."""
        k = self.P.shape[1]
        v = (self._problem.s * copies)[:, None, None]
        W, cov = self._curvature(), self.at_samples()
        slopes = self._problem.labels - self.P
        moved = np.linalg.solve(np.eye(k) - v * (W @ cov), v * slopes[:, :, None])
        return np.asarray(self._f - (cov @ moved)[:, :, 0])

    def at(self, K: FloatArray, prior: FloatArray, T_new: FloatArray) -> FloatArray:
        """Return the covariance between classes at new points, (n, k, k); K (m, n), prior k(x, x)."""
        k, n = self.P.shape[1], K.shape[1]
        out = np.zeros((n, k, k))
        through = []
        for c, factor in enumerate(self._factors):
            hat = factor.prediction_weights(K, T_new)
            Phi_hat = self._problem.Phi @ hat
            noise = self._shift * (1 / self._D[:, c]) @ hat**2
            out[:, c, c] = (prior + np.einsum("ji,ji->i", hat, Phi_hat - 2 * K) + noise) / self._shift
            through.append(linalg.solve_triangular(self._M, hat, lower=True, check_finite=False))
        for c in range(k):
            for other in range(k):
                out[:, c, other] += np.einsum("ji,ji->i", through[c], through[other])
        return _centred(out)


def _without_mean(functions: FloatArray) -> FloatArray:
    """Return functions (m, k) whose sum over the classes is zero, as it is but for rounding errors."""
    return np.asarray(functions - functions.mean(axis=1, keepdims=True))


def _centred(covariances: FloatArray) -> FloatArray:
    """Return the covariances (n, k, k) of functions less their mean over the classes."""
    rows = covariances - covariances.mean(axis=1, keepdims=True)
    return np.asarray(rows - rows.mean(axis=2, keepdims=True))
