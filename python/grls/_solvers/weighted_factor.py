"""Factors of a stored kernel matrix beside weights and features, kept for many right-hand sides."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .rank import dependence_tolerance, independent_columns
from .runtime import interruptible


class FeatureSpan:
    """An orthonormal basis Q (m, l') of the features times √d, and the features it is made of."""

    def __init__(self, T: FloatArray, d: FloatArray) -> None:
        self._roots = np.sqrt(d)[:, None]
        weighted = self._roots * T
        self.kept = independent_columns(weighted, dependence_tolerance(T.dtype)) if T.shape[1] else []
        self.n_free = T.shape[1]
        self.Q, self._R = linalg.qr(weighted[:, self.kept], mode="economic")

    def without(self, Y: FloatArray) -> FloatArray:
        """Return Y (m, k) without its part in the span."""
        return np.asarray(Y - self.Q @ (self.Q.T @ Y))

    @property
    def responses(self) -> FloatArray:
        """E (m, l') with TᵀE = I and weighted least squares: what responses have to do with coefficients."""
        return np.asarray(self._roots * linalg.solve_triangular(self._R, self.Q.T).T)

    def coefficients(self, values: FloatArray) -> FloatArray:
        """Return those of the features (l, k) that are nearest to values (m, k), weighted by d."""
        beta = np.zeros((self.n_free, values.shape[1]))
        beta[self.kept] = linalg.solve_triangular(self._R, self.Q.T @ (self._roots * values))
        return beta


class WeightedFactor:
    """B, with c = By the solution of (Φ + s/d) c + Tβ = y, Tᵀc = 0, for one shift s and weights d.

    With Φ̃ = √d Φ √d and P the projection off the span of √d T, it is B = √d P (PΦ̃P + sI)⁻¹ P √d.
    """

    def __init__(self, Phi: FloatArray, T: FloatArray, d: FloatArray, shift: float) -> None:
        self.span = FeatureSpan(T, d)
        self._Phi, self._roots, self._shift = Phi, np.sqrt(d)[:, None], shift
        Q = self.span.Q
        A = np.multiply(self._roots * Phi, self._roots[:, 0], order="F")
        AQ = A @ Q
        half = AQ - 0.5 * Q @ (Q.T @ AQ)
        A -= half @ Q.T
        A -= Q @ half.T
        A[np.diag_indices_from(A)] += shift
        self._L, info = interruptible(len(A), lapack.dpotrf, A, lower=1, overwrite_a=1, clean=1)
        if info != 0:
            raise NotPositiveDefiniteError("the kernel matrix is not positive definite")

    def solve(self, Y: FloatArray) -> FloatArray:
        """Return BY, (m, k)."""
        inside = lapack.dpotrs(self._L, self.span.without(self._roots * Y), lower=1)[0]
        return np.asarray(self._roots * self.span.without(inside))

    def prediction_weights(self, K: FloatArray, T_new: FloatArray) -> FloatArray:
        """Return the weights (m, n) of the responses y in the function at new points; K (m, n)."""
        of_features = self.span.responses @ T_new[:, self.span.kept].T
        return self.solve(K - self._Phi @ of_features) + of_features

    @cached_property
    def scaled(self) -> FloatArray:
        """S P (PΦ̃P + sI)⁻¹ P, (m, m): I − H, with H the matrix that takes √d y to the fit."""
        lower = np.tril(interruptible(len(self._L), lapack.dpotri, self._L, lower=1)[0])
        inverse = lower + np.tril(lower, -1).T
        return np.asarray(self._shift * inverse - self.span.Q @ self.span.Q.T)
