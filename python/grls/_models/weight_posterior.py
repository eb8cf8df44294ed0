"""The posterior of the weights of a linear model with a Gaussian prior, and of its function.

With the prior w = μ + Rv, v ~ N(0, v²I), noise of variance v²s (s = ρΣw) over each row's weight, free
features T, and Z the rows times R: from the thin decomposition USVᵀ of W½Z without its projection on W½T,

    cov(v)/v² = I − V diag(S²/(S² + s)) Vᵀ,      and given v the features' coefficients are those of y − Zv.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.stats import t as student

from .._solvers import memory
from .._solvers.ridge_problem import RidgeProblem
from .._validation import FloatArray
from ..summary import Table


@dataclass(frozen=True)
class WeightPosterior:
    """Covariances in units of the prior's scale v² (k,), of which there is one for each output."""

    V: FloatArray  # (p, r)
    left: FloatArray  # (r,): s/(S² + s), the share of the prior's variance that the rows leave
    triangle: FloatArray  # (l, l): R of W½T = QR, of the features that have a coefficient
    across: FloatArray  # (l, p): QᵀW½Z
    kept: list[int]
    shift: float
    scale: FloatArray  # (k,): v²
    degrees: float  # of freedom of the estimate of v²

    @classmethod
    def of(
        cls, problem: RidgeProblem, rho: float, kept: list[int], scale: FloatArray, degrees: float
    ) -> WeightPosterior:
        """Return that of a fit with the features `kept`."""
        n, p = problem.X.shape
        memory.require(
            8.0 * (2.0 * n * p + 2.0 * min(n, p) * (n + p)),
            f"the posterior of {p} weights from {n} samples",
            "give fewer columns, or fewer samples",
        )
        roots = np.ones((n, 1)) if problem.weights is None else np.sqrt(problem.weights)[:, None]
        Z = roots * (problem.X.toarray() if sparse.issparse(problem.X) else problem.X)
        Q, R = linalg.qr(roots * problem.T[:, kept], mode="economic")
        across = Q.T @ Z
        S, Vt = linalg.svd(Z - Q @ across, full_matrices=False)[1:]
        shift = rho * problem.total_weight
        return cls(Vt.T, shift / (S**2 + shift), R, across, kept, shift, scale, degrees)

    @property
    def noise(self) -> FloatArray:
        """The variance (k,) of an observation of weight one."""
        return self.shift * self.scale

    def roots_at(self, Z: FloatArray, T: FloatArray) -> FloatArray:
        """Return a matrix (n, ·) whose rows' products are covariances of the function, over v²."""
        of_features = linalg.solve_triangular(self.triangle, T[:, self.kept].T, trans="T").T
        D = np.asarray(Z - of_features @ self.across)
        along = D @ self.V
        parts = [along * np.sqrt(self.left), np.sqrt(self.shift) * of_features]
        if self.V.shape[1] < self.V.shape[0]:
            parts.append(D - along @ self.V.T)  # directions of which the rows say nothing
        return np.hstack(parts)

    def weight_roots(self, S: FloatArray) -> FloatArray:
        """Return the same for the weights w = μ + Sv, S (d, p)."""
        along = S @ self.V
        parts = [along * np.sqrt(self.left)]
        if self.V.shape[1] < self.V.shape[0]:
            parts.append(S - along @ self.V.T)
        return np.hstack(parts)

    def table(self, names: list[str], weights: FloatArray, variances: FloatArray) -> Table:
        """Return the weights (d,) of one output with their posterior of variances (d,)."""
        std = np.sqrt(variances)
        away = student.ppf(0.975, self.degrees) * std
        with np.errstate(divide="ignore", invalid="ignore"):
            above = student.cdf(weights / std, self.degrees)
        columns = {
            "mean": weights,
            "SD": std,
            "2.5 %": weights - away,
            "97.5 %": weights + away,
            "P(> 0)": above,
        }
        return Table("weights", "weight", names, columns)
