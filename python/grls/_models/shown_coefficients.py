"""Coefficients as a summary shows them, where those that a fit computes with say nothing by themselves.

A kernel that is definite up to polynomials is one of many that give the same function, each with its own
coefficients of these polynomials. Shown are those beside the kernel whose part is orthogonal to them over the
rows: Φ̃ = (I − Π)Φ(I − Π)ᵀ, Π = P(PᵀWP)⁻¹PᵀW. Effects of groups are shown less their mean, for a constant
that the kernel nearly has is part of each of them. See docs/math.md, section "What a fit tells".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._selection.estimation_error import Refit
from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray
from ..features import Groups
from ..kernels import Precomputed
from ..kernels.polynomials import needed_polynomials
from .fitted import FittedProblem
from .samples import FreeFeatures
from .uncertainty import INFLATED


@dataclass(frozen=True)
class ShownCoefficients:
    """The coefficients of one output and their variances, of a model or of a refit of it."""

    output: int
    contrasts: FloatArray | None  # (l, l): what is shown of the coefficients as computed with; None: all
    problem: KernelProblem | None  # where the kernel is definite up to polynomials …
    polynomials: FloatArray | None  # (m, q) … these
    targets: FloatArray | None  # (m, 1)
    notes: list[str]

    @classmethod
    def of(cls, model: Any, output: int) -> ShownCoefficients:
        """Return what is shown of a fitted model."""
        notes, contrasts = [], FreeFeatures(model.features_, model.feature_names_free_).user_units()
        if isinstance(model.features_, Groups):
            contrasts = less_mean(len(model.feature_support_), len(model.features_.levels_))
            notes.append("Effects of groups are deviations from their mean.")
        fitted = FittedProblem.of(model) if model._undefined else None
        if fitted is None or fitted.parts is not None:
            return cls(output, contrasts, None, None, None, notes)
        problem = fitted.problem
        polynomials = needed_polynomials(problem.kernel, problem.X)
        notes.append(
            "The kernel part is taken orthogonal, over the rows, to the polynomials that the kernel needs: "
            "else their coefficients are not defined."
        )
        return cls(output, contrasts, problem, polynomials, fitted.targets[:, [output]], notes)

    def of_model(self, model: Any) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients (l,) and their variances; NaN where there are none."""
        gamma = float(np.broadcast_to(model.regularization_, len(model.kernel_variance_))[self.output])
        c, b = model._kernel_coefficients(), model._computed_features()
        values, variances = self(
            Refit(model.kernel_, gamma, c, b, model.kernel_variance_, model._computed_cov)
        )
        if model._undefined and self.problem is None:
            variances[model._undefined] = np.nan
        return values, variances

    def on_the_constant(self, model: Any) -> str:
        """Return what to say of a constant that is the kernel's as well, or "".

        It is no warning of the fit: predictions do without, and next to most kernels a constant stands by
        default.
        """
        T, support = model._T_fit, model.feature_support_
        constant = np.flatnonzero(support & (np.ptp(T, axis=0) == 0))
        if not len(constant) or self.problem is not None or isinstance(model.features_, Groups):
            return ""
        shape = (len(support), len(model.kernel_variance_))
        inflation, std = (
            np.asarray(values).reshape(shape)[constant[0], self.output]
            for values in (model.feature_inflation_, model.feature_coef_std_)
        )
        unknown = inflation > INFLATED and std > model._targets_fit[:, self.output].std()
        return "The kernel can express a constant too: the intercept is hardly determined." if unknown else ""

    def __call__(self, end: Refit) -> tuple[FloatArray, FloatArray]:
        """Return the same of a refit."""
        b, covariance = end.beta[:, self.output], end.feature_covariance[self.output]
        if self.problem is not None:
            b, covariance = self._beside_orthogonal(end)
        L = self.contrasts
        if L is None:
            return b, np.array(np.diag(covariance))
        return L @ b, np.einsum("pq,qr,pr->p", L, covariance, L)

    def _beside_orthogonal(self, end: Refit) -> tuple[FloatArray, FloatArray]:
        """Return coefficients (l,) and covariance beside the kernel that is orthogonal to polynomials."""
        problem, P = self.problem, self.polynomials
        assert problem is not None
        assert P is not None
        assert self.targets is not None
        Pw = P * problem.weights_or_ones[:, None]
        K = np.array(end.kernel.matrix(problem.X, problem.X), dtype=np.float64)
        for _ in range(2):  # from the left, then from the right: K is symmetric
            K = (K - P @ np.linalg.solve(P.T @ Pw, Pw.T @ K)).T
        same = KernelProblem(Precomputed(), K, problem.T, problem.weights)
        solution = same.solve(self.targets, end.gamma)
        return solution.beta[:, 0], solution.feature_covariance * end.variance[self.output]


def less_mean(n_features: int, n_levels: int) -> FloatArray:
    """Return the matrix that takes the mean off the last `n_levels` of `n_features` coefficients."""
    out = np.eye(n_features)
    out[-n_levels:, -n_levels:] -= 1 / n_levels
    return out
