"""What a fit of least squares was left to choose, and the problem that came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import kernels
from .._selection import regularization
from .._selection.by_gradients import Found
from .._selection.candidates import KernelChoice
from .._selection.kernel_parameters import GridSearch, Optimization
from .._selection.metric import Metric
from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import Outputs
from .._validation import FloatArray
from .feature_prior import SplitFeatures

Record = Optimization | GridSearch | KernelChoice | Metric


@dataclass
class Chosen:
    """The kernel and the problem that is solved, γ, the features' variance, and what led to them."""

    kernel: kernels.Kernel
    problem: KernelProblem
    regularization: Any  # one γ, or one per output
    feature_variance: float
    parts: SplitFeatures | None = None  # free and penalised features, where the variance is finite
    selection: regularization.Selection | None = None
    record: Record | None = None
    by_gradients: Found | None = None  # how γ was chosen without a matrix
    criterion: str = ""  # that chose γ; empty: it was given

    @property
    def penalises(self) -> bool:
        """Whether some features have a prior."""
        return self.parts is not None and bool(np.isfinite(self.feature_variance))

    def kept(self, solution: Outputs) -> list[int]:
        """Return the features that have a coefficient."""
        return self.parts.kept if self.parts is not None and self.penalises else solution.kept

    def feature_coefficients(self, solution: Outputs) -> FloatArray:
        """Return the coefficients of all features, (l, k)."""
        if self.parts is None or not self.penalises:
            return solution.beta
        return self.parts.coefficients(solution.beta, solution.c, self.feature_variance)

    def feature_covariance(self, solution: Outputs) -> FloatArray:
        """Return the covariance of these, (k, l, l), in units of the kernel variance."""
        if self.parts is None or not self.penalises:
            return solution.feature_covariance
        # A coefficient of Z is the function at a point where the kernel is 0 and Z a unit vector.
        F, Z, tau = self.parts.F, self.parts.Z, self.feature_variance
        f, p = F.shape[1], Z.shape[1]
        K = np.vstack([np.zeros((f, len(Z))), tau * Z.T])
        prior = np.diag(np.concatenate([np.zeros(f), np.full(p, tau)]))
        each = np.broadcast_to(self.regularization, solution.c.shape[1])
        by_gamma = {
            gamma: self.problem.posterior(gamma).of_values(prior, K, np.eye(f + p, f), covariance=True)
            for gamma in np.unique(each)
        }
        A = self.parts.A
        return np.stack([A @ by_gamma[gamma] @ A.T for gamma in each])
