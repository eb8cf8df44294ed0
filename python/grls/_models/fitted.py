"""The problem that a model of least squares solves, and again for what is asked of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._selection.merged import merge
from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import Outputs
from .._validation import FloatArray
from ..kernels import Kernel
from ..kernels.polynomials import needed_polynomials
from .feature_prior import SplitFeatures, is_as_good_as_free, penalised_problem, split


def fitted_features(model: Any) -> FloatArray:
    """Return the features at the samples of a fitted model: columns of NaN would pass for dependent ones."""
    T: FloatArray = model._T_fit
    if not np.isfinite(T).all():
        raise ValueError("features at the samples are not finite: the model was changed after the fit")
    return T


@dataclass(frozen=True)
class FittedProblem:
    """The samples as they were fitted; rows of weight zero are not among them."""

    problem: KernelProblem  # with the kernel Φ + τZZᵀ and the features F where some have a prior
    parts: SplitFeatures | None  # of the features, where some have a prior
    tau: float  # their variance; 0 where none has a prior
    targets: FloatArray  # (m, k)
    counts: FloatArray  # (m,) how many rows each sample stands for
    gammas: FloatArray  # (k,)
    c: FloatArray  # (m, k)

    @property
    def noise(self) -> FloatArray:
        """(m,): the noise variance of the observation that a row is, in units of that of the model."""
        return merge(self.problem, self.targets, self.counts).row_noise

    @property
    def residuals(self) -> FloatArray:
        """Y − f at the samples, (m, k): γΣw c/w."""
        shifts = self.gammas * self.problem.total_weight
        return np.asarray(shifts * self.c / self.problem.weights_or_ones[:, None])

    @classmethod
    def of(cls, model: Any) -> FittedProblem:
        """Return that of a fitted model."""
        kernel, X, T, weights = model.kernel_, model.X_fit_, fitted_features(model), model._weights_fit
        tau, parts = float(model.feature_variance_), None
        if np.isfinite(tau) and T.shape[1] and not is_as_good_as_free(kernel, X, tau):
            parts = split(T, weights, needed_polynomials(kernel, X))
            problem = penalised_problem(kernel, X, parts, weights, tau)
        else:
            problem, tau = KernelProblem(kernel, X, T, weights, getattr(model, "_codes_fit", None)), 0.0
        c = model._kernel_coefficients()
        counts = problem.weights_or_ones if model._counts_fit is None else model._counts_fit
        gammas = np.array(np.broadcast_to(model.regularization_, c.shape[1]), dtype=np.float64)
        return cls(problem, parts, tau, model._targets_fit, counts, gammas, c)


def solve_outputs(problem: KernelProblem, targets: FloatArray, gammas: Any, **options: Any) -> Outputs:
    """Solve for all outputs: at once with one γ, or γ by γ where each output has its own."""
    n_outputs = targets.shape[1]
    if np.ndim(gammas) == 0:
        solution = problem.solve(np.ascontiguousarray(targets), float(gammas), **options)
        return Outputs.join([(slice(None), solution)], n_outputs)
    each = np.broadcast_to(gammas, n_outputs)
    parts = []
    for gamma in np.unique(each):
        mine = np.flatnonzero(each == gamma)
        parts.append((mine, problem.solve(np.ascontiguousarray(targets[:, mine]), float(gamma), **options)))
    return Outputs.join(parts, n_outputs)


def not_definite(kernel: Kernel, regularization: float | str, n_samples: int, found: str) -> str:
    """Return what to say of a matrix without a factor."""
    message = (
        f"the matrix of the kernel {kernel!r} on {n_samples} samples with regularization={regularization!r} "
        f"is not positive definite to working precision ({found}); "
    )
    if kernel.order is None:
        return (
            message
            + "this kernel is not positive definite by nature: choose another, or a larger regularization"
        )
    return message + (
        "choose a larger regularization, a smaller kernel width, or remove repeated rows"
        if not kernel.is_function
        else "check that the matrix is a kernel's, or choose a larger regularization"
    )
