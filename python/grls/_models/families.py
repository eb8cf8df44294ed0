"""Smooth losses of regression, one row of a table each: counts and positive values with a logarithmic link.

The mean of a row is μ = exp(η), with η = f(x) plus its offset. A family says what is minimised, half the unit
deviance, with its first two derivatives by η, and what statistics make of it. To add one, write its `Family`
and put it into `FAMILIES`; see docs/math.md, section "Counts and positive values".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy

from .._solvers.newton import LEAST_CURVATURE
from .._validation import FloatArray

# exp of more is no number of anything, and would overflow in sums.
_LARGEST_EXPONENT = 300.0

# Limits of the dispersion α of the negative binomial family: Poisson, for all that a float can tell, and
# nearly all mass at zero.
_LEAST_SHAPE, _LARGEST_SHAPE = 1e-8, 1e4

# Values that scatter less, in squares of their means, are their means: exponentials magnify rounding errors.
NO_SCATTER = float((_LARGEST_EXPONENT * np.finfo(np.float64).eps) ** 2)

Rows = Callable[[FloatArray, FloatArray, float], FloatArray]  # of y, η (or μ) and the shape


@dataclass(frozen=True)
class Family:
    """A distribution of y with mean exp(η); `a` is its shape, which only some have."""

    name: str
    loss: Rows  # half the unit deviance at η
    slope: Rows  # minus its derivative by η
    curvature: Rows  # its second derivative by η
    information: Callable[[FloatArray, float], FloatArray]  # what that is on average, at the mean μ
    variance: Callable[[FloatArray, float], FloatArray]  # of y at the mean μ, for dispersion one
    log_density: Callable[[FloatArray, FloatArray, float, float], FloatArray]  # of y at μ, shape, dispersion
    distribution: Callable[[FloatArray, float, float], Any]  # of SciPy, at μ, shape and dispersion
    zeros: bool  # whether y may be zero
    has_scale: bool  # whether the variance has a factor that is estimated
    # Of y, μ, weights and leverages.
    shape: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], float] | None = None

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return μ."""
        return np.asarray(np.exp(np.clip(eta, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)))

    def check(self, y: FloatArray) -> None:
        """Raise ValueError for values (m, k) that the family does not have, or that have no mean in it."""
        self.check_range(y)
        self.require_mean(y.any(axis=0))

    def check_range(self, y: FloatArray) -> None:
        """Raise ValueError for values (m, k) that the family does not have."""
        low = y < 0 if self.zeros else y <= 0
        if low.any():
            row, column = np.argwhere(low)[0]
            what = "not be negative" if self.zeros else "be positive"
            raise ValueError(
                f"y must {what} for loss={self.name!r}, but row {row} has {y[row, column]:g} (some value of "
                "y is out of the valid range of the loss)"
            )

    def require_mean(self, some: Any) -> None:
        """Raise ValueError unless each output has `some` value that is not zero."""
        if not np.all(some):
            raise ValueError(
                f"every value of y is zero: loss={self.name!r} has no finite logarithm of a mean to find"
            )


def _exp(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.minimum(x, _LARGEST_EXPONENT)))


def _away(y: FloatArray, eta: FloatArray) -> FloatArray:
    """Return η − log y, where y is positive, without overflow of its exponential; else zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(y > 0, np.minimum(eta - np.log(y), _LARGEST_EXPONENT), 0.0))


def _poisson_loss(y: FloatArray, eta: FloatArray, a: float) -> FloatArray:
    # y log(y/μ) − y + μ; large counts leave no digits of such a difference.
    t = _away(y, eta)
    return np.asarray(np.where(y > 0, y * (np.expm1(t) - t), _exp(eta)))


def _gamma_loss(y: FloatArray, eta: FloatArray, a: float) -> FloatArray:
    t = np.minimum(np.log(y) - eta, _LARGEST_EXPONENT)
    return np.asarray(np.expm1(t) - t)


def _negative_binomial_loss(y: FloatArray, eta: FloatArray, a: float) -> FloatArray:
    # y log(y/μ) − (y + 1/a) log((1 + ay)/(1 + aμ))
    t, mu = _away(y, eta), _exp(eta)
    less = np.where(y > 0, y * np.expm1(t), mu)  # μ − y
    return np.asarray(-y * t - (y + 1 / a) * np.log1p(-a * less / (1 + a * mu)))


def _poisson_log_density(y: FloatArray, mu: FloatArray, a: float, dispersion: float) -> FloatArray:
    return np.asarray(xlogy(y, mu) - mu - gammaln(y + 1))


def _gamma_log_density(y: FloatArray, mu: FloatArray, a: float, dispersion: float) -> FloatArray:
    # k log k − k − log Γ(k) loses all digits of large k: Stirling's series does not.
    k, t = 1 / dispersion, np.log(y / mu)
    if k < 1e4:
        constant = k * np.log(k) - k - gammaln(k)
    else:
        constant = np.log(k / (2 * np.pi)) / 2 - (1 - 1 / (30 * k**2)) / (12 * k)
    return np.asarray(constant - k * (np.expm1(t) - t) - np.log(y))


def _negative_binomial_log_density(y: FloatArray, mu: FloatArray, a: float, dispersion: float) -> FloatArray:
    # Γ(y + 1/a) / Γ(1/a) for small a loses all digits in a difference: Stirling's series does not.
    k = 1 / a
    return np.asarray(_rising(k, y) - gammaln(y + 1) + xlogy(y, mu / (k + mu)) - k * np.log1p(a * mu))


def _rising(k: float, y: FloatArray) -> FloatArray:
    """Return log Γ(k + y) − log Γ(k)."""
    if k < 1e4:
        return np.asarray(gammaln(k + y) - gammaln(k))
    x = k + y
    series = (1 / x - 1 / k) / 12 - (1 / x**3 - 1 / k**3) / 360
    return np.asarray(y * np.log(x) + (k - 0.5) * np.log1p(y / k) - y + series)


def _negative_binomial_shape(
    y: FloatArray, mu: FloatArray, weights: FloatArray, leverages: FloatArray
) -> float:
    """Return the dispersion α = 1/θ of the largest adjusted profile likelihood at the means μ.

    The means were fitted, so that y scatters less about them than about the true ones. Cox and Reid's
    adjustment takes half the log-determinant of their information from the likelihood; its derivative by α
    is that of ½ Σ h_i log w_i, h the leverages and w = μ/(1 + αμ) the curvatures on average.
    """

    def minus(log_a: float) -> float:
        a = float(np.exp(log_a))
        information = leverages @ np.log(mu / (1 + a * mu))
        return 0.5 * float(information) - float(weights @ _negative_binomial_log_density(y, mu, a, 1.0))

    ends = np.log([_LEAST_SHAPE, _LARGEST_SHAPE])
    # The likelihood is flat far from its maximum, where a search by sections would lose its way.
    grid = np.linspace(ends[0], ends[1], 57)
    best = int(np.argmin([minus(log_a) for log_a in grid]))
    if best == 0:
        return _LEAST_SHAPE
    around = (grid[best - 1], grid[min(best + 1, len(grid) - 1)])
    return float(np.exp(minimize_scalar(minus, bounds=around, method="bounded", options={"xatol": 1e-9}).x))


POISSON = Family(
    "poisson",
    loss=_poisson_loss,
    slope=lambda y, eta, a: y - _exp(eta),
    curvature=lambda y, eta, a: _exp(eta),
    information=lambda mu, a: mu,
    variance=lambda mu, a: mu,
    log_density=_poisson_log_density,
    distribution=lambda mu, a, dispersion: stats.poisson(mu),
    zeros=True,
    has_scale=False,
)

GAMMA = Family(
    "gamma",
    loss=_gamma_loss,
    slope=lambda y, eta, a: np.expm1(np.minimum(np.log(y) - eta, _LARGEST_EXPONENT)),
    curvature=lambda y, eta, a: _exp(np.log(y) - eta),
    information=lambda mu, a: np.ones_like(mu),
    variance=lambda mu, a: mu**2,
    log_density=_gamma_log_density,
    distribution=lambda mu, a, dispersion: stats.gamma(1 / dispersion, scale=dispersion * mu),
    zeros=False,
    has_scale=True,
)

NEGATIVE_BINOMIAL = Family(
    "negative_binomial",
    loss=_negative_binomial_loss,
    slope=lambda y, eta, a: (y - _exp(eta)) / (1 + a * _exp(eta)),
    curvature=lambda y, eta, a: _exp(eta) * (1 + a * y) / (1 + a * _exp(eta)) ** 2,
    information=lambda mu, a: mu / (1 + a * mu),
    variance=lambda mu, a: mu + a * mu**2,
    log_density=_negative_binomial_log_density,
    distribution=lambda mu, a, dispersion: stats.nbinom(1 / a, 1 / (1 + a * mu)),
    zeros=True,
    has_scale=False,
    shape=_negative_binomial_shape,
)

FAMILIES = {family.name: family for family in (POISSON, GAMMA, NEGATIVE_BINOMIAL)}


@dataclass(frozen=True)
class FamilyRows:
    """The losses of all rows as functions of f: a `RowLoss`."""

    family: Family
    y: FloatArray  # (m,)
    offset: FloatArray  # (m,)
    a: float  # the shape
    expected: bool = False  # whether the curvature is that of y on average, as standard errors take it

    def values(self, f: FloatArray) -> FloatArray:
        """Return half the unit deviance of each row, (m,)."""
        return self.family.loss(self.y, f + self.offset, self.a)

    def slopes(self, f: FloatArray) -> FloatArray:
        """Return minus the derivative of each row's loss, (m,)."""
        return np.asarray(self.family.slope(self.y, f + self.offset, self.a))

    def curvature(self, f: FloatArray) -> FloatArray:
        """Return the second derivative of each row's loss, (m,)."""
        least, eta = LEAST_CURVATURE * min(1.0, float(self.y.mean())), f + self.offset
        if self.expected:
            return np.asarray(np.maximum(self.family.information(_exp(eta), self.a), least))
        return np.asarray(np.maximum(self.family.curvature(self.y, eta, self.a), least))

    def constant(self, s: FloatArray) -> float:
        """Return the number f of the smallest loss of rows with weights s."""
        largest = float(self.offset.max())
        f = float(np.log(s @ self.y) - np.log(s @ np.exp(self.offset - largest)) - largest)
        for _ in range(100):  # exact at once for Poisson, and for all without offsets
            everywhere = np.full(len(self.y), f)
            step = float((s @ self.slopes(everywhere)) / (s @ self.curvature(everywhere)))
            f += float(np.clip(step, -1, 1))
            if abs(step) <= 1e-12 * max(1.0, abs(f)):
                break
        return f
