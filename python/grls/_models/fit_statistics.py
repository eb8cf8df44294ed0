"""What one reduction of its matrix tells of a fit: likelihoods, degrees of freedom, rows left out.

All of it is that of all observations, also where rows are at the same point. See docs/math.md, sections
"What a fit tells" and "Repeated rows".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._selection.merged import Merged, Selectable, merge
from .._solvers import memory
from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import Path, ReducedMatrix
from .._validation import FloatArray
from .kernel_test import restricted_criterion

_NO_NOISE = 1e-14  # of the size of the spectrum, in place of a shift of zero
_ROUNDING = 1e-9  # a leverage as close to one is one
_STEP = 0.1  # of log γ, in differences of the criterion


@dataclass(frozen=True)
class LeftOut:
    """What the model without a row says of it: its kernel, γ and scale are those of all rows."""

    residuals: FloatArray  # (m, k)
    variances: FloatArray  # (m,) of these, noise included, in units of the kernel variance
    known: Any  # (m,) bool: not of a row that alone determines a feature; the others are NaN
    possible: bool  # not beside features made from y

    @property
    def note(self) -> str:
        """What to say of rows that are not known, or ""."""
        if not self.possible:
            return "The features are made from y: there are no scores of rows left out in closed form."
        n_unknown = int(np.count_nonzero(~self.known))
        if not n_unknown:
            return ""
        rows = "1 row determines" if n_unknown == 1 else f"{n_unknown} rows determine"
        return f"{rows} a feature alone: without it there is no prediction, and scores leave it out."


@dataclass(frozen=True)
class FitStatistics:
    """A fit seen through the reduction of its matrix; single numbers are those of the first output."""

    merged: Merged[Any]
    reduced: ReducedMatrix
    path: Path  # at the one shift of the fit
    units: FloatArray | None  # R with β = Rb, b being the coefficients of the features as computed with
    determinate: bool  # whether the kernel is positive definite by itself, so that there is a likelihood of y
    leaves_out: bool  # whether rows can be left out in closed form
    variance: float | None  # of the learnt part, where it was given

    @classmethod
    def of(
        cls,
        problem: Selectable,
        targets: FloatArray,
        counts: FloatArray | None,
        gamma: float,
        *,
        units: FloatArray | None = None,
        determinate: bool = True,
        leaves_out: bool = True,
        variance: float | None = None,
    ) -> FitStatistics:
        """Return those of a fit to targets (m, k); `counts` are the rows that samples stand for."""
        merged = merge(problem, targets, counts)
        memory.require(
            merged.problem.path_bytes(targets.shape[1], 1, leave_one_out=True),
            f"the summary of {len(merged.targets)} samples",
            "fit fewer samples",
        )
        reduced = merged.problem.reduced(merged.targets, leave_one_out=True)
        # An interpolation is the limit of small shifts: one that rounding does not see.
        least = _NO_NOISE * reduced.at(np.array([1.0]), relative=True).unit
        path = reduced.at(np.array([max(gamma * merged.total_weight, least)]))
        return cls(merged, reduced, path, units, determinate, leaves_out, variance)

    @property
    def shift(self) -> float:
        """γΣw."""
        return float(self.path.shifts[0])

    @property
    def n_kept(self) -> int:
        """Features that have a coefficient and are not penalised."""
        return len(self.path.kept)

    @property
    def n_free(self) -> float:
        """Rows less features."""
        return self.merged.n_rows - self.n_kept

    @property
    def edf(self) -> float:
        """Effective degrees of freedom, the trace of the matrix that takes y to the fit: l are features'."""
        return len(self.merged.targets) - self.shift * float(self.path.trace[0])

    @cached_property
    def quadratic(self) -> float:
        """yᵀBy of all rows; over the degrees of freedom it is the kernel variance."""
        within = float(self.merged.within[0])
        return float(self.path.quadratic[0, 0]) + (within / self.shift if within else 0.0)

    @property
    def kernel_variance(self) -> float:
        """Its estimate by the restricted likelihood, unless it was given."""
        if self.variance is not None:
            return self.variance
        return self.quadratic / self.n_free if self.n_free > 0 else np.nan

    @cached_property
    def residuals(self) -> FloatArray:
        """Of the rows, (m, k)."""
        merged = self.merged
        of_points = self.shift * self.path.c[0] / np.sqrt(merged.point_weights)[:, None]
        return np.asarray(merged.agreeing + (merged.deviations + of_points[merged.place])[merged.observation])

    @cached_property
    def left_out(self) -> LeftOut:
        """Residuals of the rows left out, each by itself, and their variances.

        Of rows that differ at a point one is left out, and a point whose rows agree as a whole; see
        docs/math.md, section "Repeated rows".
        """
        merged, s = self.merged, self.shift
        noise = merged.counts / merged.weights  # of an observation, in units of that of weight one
        own = np.minimum(1.0, merged.counts) / noise  # the weight that is left out
        residuals, share = merged.left_out_residuals(
            self.path.c[0], np.asarray(self.path.diagonal[0]), s, merged.deviations
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = s / (own * share) - s / own + s * noise  # of one, and not of part of one
        known = ~(self._decisive[merged.place] & (merged.left_out >= 1)) & self.leaves_out
        each = merged.observation
        return LeftOut(
            np.where(known[:, None], residuals, np.nan)[each] + merged.agreeing,
            np.where(known, variances, np.nan)[each],
            known[each],
            self.leaves_out,
        )

    @property
    def _decisive(self) -> Any:
        """Which points a feature cannot do without: their leverage on the features is one."""
        Q = linalg.qr(self._features, mode="economic")[0]
        return 1 - np.einsum("ij,ij->i", Q, Q) < _ROUNDING

    @cached_property
    def _features(self) -> FloatArray:
        """W½T of the features that have a coefficient, at the points."""
        roots = np.sqrt(self.merged.point_weights)[:, None]
        return np.asarray(roots * self.merged.problem.T[:, list(self.path.kept)])

    @cached_property
    def _log_features(self) -> float:
        """log|TᵀWT| of these, as they are computed with."""
        triangle = linalg.qr(self._features, mode="r")[0] if self.n_kept else np.ones((1, 1))
        return 2 * float(np.log(np.abs(np.diag(triangle))).sum())

    @cached_property
    def information(self) -> FloatArray:
        """TᵀA⁻¹T of these, A = Φ + sW⁻¹: the inverse of their covariance in units of the kernel variance."""
        problem, T = self.merged.problem, self._features
        if isinstance(problem, KernelProblem) or problem.by_samples:
            C = self.path.D[0].T @ T  # the path knows coordinates in an orthonormal basis
            return np.asarray(C.T @ np.linalg.solve(self.path.schur[0], C))
        roots = np.sqrt(self.merged.point_weights)
        X = sparse.diags(roots) @ problem.X if sparse.issparse(problem.X) else roots[:, None] * problem.X
        inner = X.T @ X
        inner = inner.toarray() if sparse.issparse(inner) else inner
        across = np.asarray(X.T @ T)
        explained = across.T @ linalg.solve(inner + self.shift * np.eye(len(inner)), across, assume_a="pos")
        return np.asarray(T.T @ T - explained) / self.shift

    @property
    def restricted_log_likelihood(self) -> float:
        """With all constants, at the scale that maximises it, of features in the units that users know."""
        n, kept = self.n_free, list(self.path.kept)
        if n <= 0:
            return np.nan
        features = self._log_features
        if self.units is not None and kept:
            features -= 2 * float(np.linalg.slogdet(self.units[np.ix_(kept, kept)])[1])
        return -0.5 * (self._log_determinant + features + self._log_scale(n))

    @property
    def log_likelihood(self) -> float:
        """That of y itself, at the same kernel and γ and the best scale; NaN where it has none."""
        if not self.determinate or self.n_free <= 0:
            return np.nan
        sign, information = np.linalg.slogdet(self.information) if self.n_kept else (1.0, 0.0)
        if sign <= 0:
            return np.nan
        determinant = self._log_determinant - float(information) + self._log_features
        return -0.5 * (determinant + self._log_scale(self.merged.n_rows))

    @property
    def _log_determinant(self) -> float:
        """log|NᵀAN| of all rows, N orthonormal beside W½T, A = Φ + sW⁻¹ with noise where it was given."""
        merged = self.merged
        repeats = merged.n_repeats * float(np.log(self.shift)) if merged.n_repeats else 0.0
        noise = float(merged.counts @ np.log(merged.counts / merged.weights))
        return float(self.path.log_determinant[0]) + repeats + noise

    def _log_scale(self, n: float) -> float:
        """Return n log 2πv² + q/v², v² given or the estimate q/n."""
        if self.variance is not None:
            return n * float(np.log(2 * np.pi * self.variance)) + self.quadratic / self.variance
        with np.errstate(divide="ignore"):  # of targets that are met exactly: there is no bound
            return n * float(np.log(2 * np.pi * self.quadratic / n)) + n

    @property
    def feature_covariance(self) -> FloatArray:
        """Of the coefficients as computed with, (l, l); zero where a feature has none."""
        kept, n_features = list(self.path.kept), self.merged.problem.T.shape[1]
        out = np.zeros((n_features, n_features))
        if kept:
            out[np.ix_(kept, kept)] = self.kernel_variance * np.linalg.inv(self.information)
        return out

    def log_scale_errors(self) -> tuple[float, float]:
        """Return standard errors of the logarithms of noise and kernel variance, γ being an estimate too.

        By the Hessian of the restricted likelihood in log γ and the log of the kernel variance v²: given γ
        the latter varies by 2/n, and its estimate goes with γ as log q does.
        """
        logs = np.log(self.shift) + _STEP * np.array([-1.0, 0.0, 1.0])
        J = restricted_criterion(self.merged, self.reduced, np.exp(logs))
        curvature = (J[0] - 2 * J[1] + J[2]) / _STEP**2
        if not curvature > 0:
            return np.nan, np.nan
        path = self.reduced.at(np.exp(logs))
        q = np.asarray(path.quadratic)[:, 0] + self.merged.within[0] / np.asarray(path.shifts)
        slope = float(np.log(q[2] / q[0]) / (2 * _STEP))
        given = 2 / self.n_free
        variances = [given + (slope + 1) ** 2 * 2 / curvature, given + slope**2 * 2 / curvature]
        return float(np.sqrt(variances[0])), float(np.sqrt(variances[1]))
