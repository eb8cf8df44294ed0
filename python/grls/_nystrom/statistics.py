"""What sums of all rows tell of a fit beside its coefficients: variances, likelihoods, how well it does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .._validation import FloatArray
from .equations import Equations
from .posterior import CentrePosterior
from .sums import Part


@dataclass(frozen=True)
class SumStatistics:
    """Numbers of all rows, those of shape (k,) of each output."""

    n_rows: float
    log_noise: float  # of the sums of all rows
    n_kept: int  # features that have a coefficient and no prior, the effects of groups among them
    shift: float  # s = γΣw
    noise_squares: FloatArray  # (k,): s·yᵀBy
    residual_squares: FloatArray  # (k,): of the fit
    total_squares: FloatArray  # (k,): of y about its mean

    @classmethod
    def of(cls, system: Equations, total: Part, u: FloatArray, gamma: float) -> SumStatistics:
        """Return those of the equations solved by u (r, k)."""
        s = gamma * system.weight
        noise = system.noise_squares(u)
        first, second = total.moments
        about_mean = np.maximum(second - first**2 / total.weight, 0)
        residual = np.maximum(noise - s * np.einsum("ij,ij->j", u, u), 0)
        n_kept = len(system.features.kept) + system.n_groups
        return cls(system.count, total.log_noise, n_kept, s, noise, residual, about_mean)

    @property
    def n_free(self) -> float:
        """Rows less features: the degrees of freedom."""
        return self.n_rows - self.n_kept

    @property
    def noise_variance(self) -> FloatArray:
        """σ² of a row of weight one, by the restricted likelihood; NaN where no degree of freedom is left."""
        return self.noise_squares / (self.n_free if self.n_free > 0 else np.nan)

    @property
    def kernel_variance(self) -> FloatArray:
        """v² = σ²/s; NaN for γ = 0."""
        return self.noise_variance / (self.shift if self.shift > 0 else np.nan)

    @property
    def r2(self) -> FloatArray:
        """Share of the variance of y that the fit explains, in its own rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.total_squares > 0, 1 - self.residual_squares / self.total_squares, np.nan)

    def restricted_log_likelihood(
        self, posterior: CentrePosterior, units: FloatArray | None, output: int
    ) -> float:
        """Return it with all constants, at the scale that maximises it; `units` are those users know."""
        if self.n_free <= 0:
            return float("nan")
        features = log_feature_determinant(posterior)
        kept = posterior.features.kept
        if units is not None and kept:
            features -= 2 * float(np.linalg.slogdet(units[np.ix_(kept, kept)])[1])
        return -0.5 * (self._log_determinant(posterior) + features + self._log_scale(self.n_free, output))

    def log_likelihood(self, posterior: CentrePosterior, output: int) -> float:
        """Return that of y itself, at the same kernel and γ and the best scale."""
        if self.n_free <= 0:
            return float("nan")
        kept = posterior.features.kept
        covariance = posterior.free_coefficients()[np.ix_(kept, kept)]
        sign, inverse = np.linalg.slogdet(covariance) if kept else (1.0, 0.0)
        if sign <= 0:
            return float("nan")
        determinant = self._log_determinant(posterior) + float(inverse) + log_feature_determinant(posterior)
        return -0.5 * (determinant + self._log_scale(self.n_rows, output))

    def _log_determinant(self, posterior: CentrePosterior) -> float:
        """log|NᵀAN| and that of the noise; N orthonormal beside W½T, A = W½QW½ + s, Q the centres' Φ."""
        factor = posterior.factor
        of_rest = (self.n_free - len(factor)) * float(np.log(self.shift)) + self.log_noise
        return 2 * float(np.log(np.diagonal(factor)).sum()) + of_rest

    def _log_scale(self, n: float, output: int) -> float:
        variance = float(self.noise_squares[output]) / self.shift / n
        with np.errstate(divide="ignore"):
            return n * float(np.log(2 * np.pi * variance)) + n


def log_feature_determinant(posterior: CentrePosterior) -> float:
    """Return log|TᵀWT| of the features that have a coefficient, as they are computed with."""
    kept = posterior.features.kept
    of_groups = 0.0 if posterior.groups is None else float(np.log(posterior.groups.weight).sum())
    if not kept:
        return of_groups
    summed = of_groups + 2 * float(np.log(np.diagonal(posterior.feature_root)).sum())
    return summed - 2 * float(np.linalg.slogdet(posterior.centers.A[np.ix_(kept, kept)])[1])


def kernel_degrees_of_freedom(posterior: CentrePosterior) -> float:
    """Return tr G(G + s)⁻¹: those of what is learnt beside the free features."""
    r = len(posterior.factor)
    if r == 0:
        return 0.0
    inverse = solve_triangular(posterior.factor, np.eye(r), lower=True, check_finite=False)
    return r - posterior.shift * float(np.einsum("ij,ij->", inverse, inverse))
