"""Kernels of the distance, and of histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse, special

from .._solvers.memory import require_room_for_columns
from .._validation import FloatArray, choice, real, shown
from .base import Kernel
from .lowering import Columns, Lowering
from .spectral import log_bessel, no_density
from .widths import distance_range, median_distance


def _widths(value: Any, n_columns: int, name: str) -> tuple[float, ...]:
    """Return one positive number for each column, given one for all or one for each."""
    if np.ndim(value) == 0:
        require_room_for_columns(n_columns)
        return (real(value, name, above=0),) * n_columns
    values = tuple(real(float(width), name, above=0) for width in np.ravel(value))
    if len(values) != n_columns:
        what = "periods" if name.endswith("period") else "widths"
        raise ValueError(f"{name} has {len(values)} {what}, but the kernel reads {n_columns} columns")
    return values


def _student(squares: FloatArray, volume: float, d: int, *, nu: float) -> FloatArray:
    """Return the density of Matérn kernels: Student's t of 2ν degrees of freedom in d dimensions."""
    log_constant = special.gammaln(nu + d / 2) - special.gammaln(nu) - d / 2 * np.log(2 * nu * np.pi)
    return np.asarray(volume * np.exp(log_constant - (nu + d / 2) * np.log1p(squares / (2 * nu))))


def _positive(value: Any, name: str) -> Any:
    """Return one positive number, or an array of them."""
    if np.ndim(value) == 0:
        return real(value, name, above=0)
    return np.array([real(float(number), name, above=0) for number in np.ravel(value)])


class Radial(Kernel):
    """A kernel of ‖x − z‖ with a width."""

    _term = ""

    def __init__(self, sigma: Any = "median") -> None:
        self.sigma = sigma

    @property
    def _metric(self) -> str:
        """Of which distances the width is a multiple, by SciPy's name."""
        return "euclidean"

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        if isinstance(self.sigma, str):
            if self.sigma not in ("median", "medians"):
                name = type(self).__name__
                raise ValueError(
                    f'{name}.sigma must be a number, one per column, "median" or "medians"; got '
                    f"{self.sigma!r}"
                )
            if self.sigma == "median":
                self.sigma = median_distance(X, metric=self._metric)
            else:
                require_room_for_columns(X.shape[1])
                medians = [median_distance(X[:, [c]], metric=self._metric) for c in range(X.shape[1])]
                factor = np.sqrt(X.shape[1]) if self._metric == "euclidean" else X.shape[1]
                self.sigma = factor * np.array(medians)

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self._lower_with_width(lowering, columns)

    def _lower_with_width(
        self, lowering: Lowering, columns: Columns, tunes: dict[str, str] | None = None, **parameters: Any
    ) -> None:
        name = f"{type(self).__name__}.sigma"
        if isinstance(self.sigma, str):
            raise ValueError(f"{name} is still {self.sigma!r}: call kernel.resolve(X) first")
        term = parameters.pop("term", self._term)
        if np.ndim(self.sigma) == 0:  # one width is a parameter of the term, which then shares its distances
            a, slot = real(self.sigma, name, above=0), "a"
        else:
            a, slot = 1.0, "widths"
            parameters["widths"] = _widths(self.sigma, lowering.width_of(columns), name)
        lowering.term(term, columns, a, owner=self, tunes={slot: "sigma", **(tunes or {})}, **parameters)

    def widths(self, n_columns: int) -> tuple[float, ...]:
        """Return the width of each column of a resolved kernel."""
        name = f"{type(self).__name__}.sigma"
        if isinstance(self.sigma, str):
            raise ValueError(f"{name} is still {self.sigma!r}: call kernel.resolve(X) first")
        return _widths(self.sigma, n_columns, name)

    def _in_widths(self, omega: FloatArray) -> tuple[FloatArray, float, int]:
        """Return |σω|² (n,), the product of the widths, and how many columns there are."""
        sigma = np.array(self.widths(omega.shape[1]))
        return np.sum((omega * sigma) ** 2, axis=1), float(np.prod(sigma)), len(sigma)

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return widths from about the smallest distance to well beyond the largest."""
        if parameter != "sigma":
            return super().tuning_bounds(parameter, X)
        if np.ndim(self.sigma) == 0:
            low, high = distance_range(X, metric=self._metric)
            return max(low / 2, 1e-3 * high), 10 * high
        ranges = np.array([distance_range(X[:, [c]], metric=self._metric)[1] for c in range(X.shape[1])])
        return 1e-2 * ranges, 1e2 * ranges  # a column of so large a width is left out


class Gaussian(Radial):
    """The Gaussian kernel, k(x, z) = exp(−‖x − z‖² / (2σ²)).

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.

    Notes
    -----
    The same function under other names: scikit-learn's ``gamma = 1 / (2 sigma**2)``; the G-RLS paper writes
    exp(−‖x − z‖² / s²), so that ``sigma = s / sqrt(2)``; SciPy's RBFInterpolator has
    ``epsilon = 1 / (sqrt(2) sigma)``.
    """

    _term = "gaussian"

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        squares, volume, d = self._in_widths(omega)
        return np.asarray(volume * (2 * np.pi) ** (-d / 2) * np.exp(-squares / 2))

    @classmethod
    def from_gamma(cls, gamma: Any) -> Gaussian:
        """Return the kernel exp(−γ ‖x − z‖²), as scikit-learn's ``rbf_kernel`` and ``SVC`` write it.

        Parameters
        ----------
        gamma : float or array-like of shape (d,)
            Greater than zero; one for each column gives exp(−Σ_c γ_c (x_c − z_c)²).

        Returns
        -------
        Gaussian
            With ``sigma = 1 / sqrt(2 gamma)``.

        Examples
        --------
        >>> from grls.kernels import Gaussian
        >>> Gaussian.from_gamma(0.5)
        Gaussian(sigma=1.0)
        """
        widths = 1 / np.sqrt(2 * _positive(gamma, "gamma"))
        return cls(float(widths) if np.ndim(widths) == 0 else widths)


class Laplace(Radial):
    """The Laplace kernel, k(x, z) = exp(−‖x − z‖ / σ).

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d, for "l1" times d.
    norm : {"l2", "l1"}, default="l2"
        The Euclidean norm, or the sum of absolute differences, ``exp(−Σ_c |x_c − z_c| / σ_c)``: a product of
        kernels of one column each.

    See Also
    --------
    sklearn.metrics.pairwise.laplacian_kernel : ``Laplace.from_gamma(gamma)``, with the norm "l1".
    """

    def __init__(self, sigma: Any = "median", norm: str = "l2") -> None:
        super().__init__(sigma)
        self.norm = norm

    @classmethod
    def from_gamma(cls, gamma: Any, norm: str = "l1") -> Laplace:
        """Return the kernel exp(−γ ‖x − z‖₁), as scikit-learn's ``laplacian_kernel`` writes it.

        Parameters
        ----------
        gamma : float or array-like of shape (d,)
            Greater than zero; one for each column gives ``exp(−Σ_c γ_c |x_c − z_c|)`` for "l1".
        norm : {"l1", "l2"}, default="l1"
            The norm.

        Returns
        -------
        Laplace
            With ``sigma = 1 / gamma``.

        Examples
        --------
        >>> from grls.kernels import Laplace
        >>> Laplace.from_gamma(0.5)
        Laplace(sigma=2.0, norm='l1')
        """
        return cls(1 / _positive(gamma, "gamma"), norm)

    @property
    def _metric(self) -> str:
        return "cityblock" if choice(self.norm, "Laplace.norm", ("l2", "l1")) == "l1" else "euclidean"

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        term = "laplace_l1" if self._metric == "cityblock" else "laplace"
        self._lower_with_width(lowering, columns, term=term)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return super().__repr__() if self.norm != "l2" else f"Laplace(sigma={shown(self.sigma)})"

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        if self._metric == "cityblock":  # a product of kernels of one column each, and so is the density
            widths = np.array(_widths(self.sigma, omega.shape[1], "Laplace.sigma"))
            return np.asarray(np.prod(widths / (np.pi * (1 + (widths * omega) ** 2)), axis=1))
        return _student(*self._in_widths(omega), nu=0.5)


class Matern(Radial):
    r"""The Matérn kernel of smoothness ν, with s = √(2ν) ‖x − z‖ / σ.

    .. math:: k = \frac{2^{1-ν}}{Γ(ν)} s^ν K_ν(s); \qquad
              e^{-s}, \quad (1 + s) e^{-s}, \quad (1 + s + s^2/3) e^{-s} \qquad (ν = 1/2, 3/2, 5/2)

    Functions are as smooth as ν: rough for 1/2 (the Laplace kernel), once differentiable for 3/2, twice for
    5/2; `Gaussian` is the limit.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.
    nu : float, default=1.5
        The smoothness, greater than zero. 0.5, 1.5 and 2.5 are the fastest and stay as they are; any other ν
        is read from a table, to about 13 digits, and can be tuned (``optimize=["sigma", "nu"]``).
    """

    def __init__(self, sigma: Any = "median", nu: float = 1.5) -> None:
        super().__init__(sigma)
        self.nu = nu

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        nu = real(self.nu, "Matern.nu", above=0)
        if nu not in (0.5, 1.5, 2.5):
            self._lower_with_width(lowering, columns, {"b": "nu"}, term="matern_nu", b=nu)
            return
        term = "laplace" if nu == 0.5 else "matern"
        self._lower_with_width(lowering, columns, term=term, degree=int(2 * nu))

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        return _student(*self._in_widths(omega), nu=real(self.nu, "Matern.nu", above=0))

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return a smoothness between a kernel that is rough and one that is nearly Gaussian."""
        return (0.1, 30.0) if parameter == "nu" else super().tuning_bounds(parameter, X)


class RationalQuadratic(Radial):
    """The rational quadratic kernel, k(x, z) = (1 + ‖x − z‖² / (2ασ²))^−α: Gaussians of many widths at once.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.
    alpha : float, default=1.0
        How alike the widths are; `Gaussian` is the limit of large values.
    """

    def __init__(self, sigma: Any = "median", alpha: float = 1.0) -> None:
        super().__init__(sigma)
        self.alpha = alpha

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        alpha = real(self.alpha, "RationalQuadratic.alpha", above=0)
        tunes = {"b": "alpha"}
        self._lower_with_width(lowering, columns, tunes, term="rational_quadratic", b=alpha)

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        # Gaussians of precisions that have a gamma distribution, so that S is a Bessel function of the third
        # kind: docs/math.md, section "Spectral densities and Mercer's expansion".
        squares, volume, d = self._in_widths(omega)
        alpha = real(self.alpha, "RationalQuadratic.alpha", above=0)
        order = alpha - d / 2
        u = np.sqrt(squares)
        z = np.sqrt(2 * alpha) * u
        small = z < 1e-8 if order > 0 else z == 0
        inside = np.where(small, 1.0, u)
        logarithm = order * np.log(inside / np.sqrt(2 * alpha)) + np.log(2)
        logarithm += log_bessel(order, np.sqrt(2 * alpha) * inside)
        at_zero = special.gammaln(order) - order * np.log(alpha) if order > 0 else np.inf
        logarithm = np.where(small, at_zero, logarithm)
        constant = alpha * np.log(alpha) - special.gammaln(alpha) - d / 2 * np.log(2 * np.pi)
        return np.asarray(volume * np.exp(constant + logarithm))

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return an alpha between very unlike widths and one width, or the bounds of the width."""
        return (1e-2, 1e3) if parameter == "alpha" else super().tuning_bounds(parameter, X)


class Periodic(Radial):
    """The periodic kernel, k(x, z) = exp(−2 Σ_c sin²(π (x_c − z_c) / p_c) / σ_c²).

    It is the Gaussian kernel of the columns wound onto circles, x ↦ (cos 2πx/p, sin 2πx/p), and so positive
    definite for any number of columns.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column, in units of the circle's radius; "median" takes the median
        distance between distinct training rows on the circles.
    period : float or array-like of shape (d,), default=1.0
        The period, or one period per column, in the units of the data.
    """

    def __init__(self, sigma: Any = "median", period: Any = 1.0) -> None:
        super().__init__(sigma)
        self.period = period

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        periods = np.array(_widths(self.period, X.shape[1], "Periodic.period"))
        if isinstance(self.sigma, str) and self.sigma == "medians":
            self.sigma = np.sqrt(X.shape[1]) * np.array(
                [median_distance(_wound(X[:, [c]], periods[c])) for c in range(X.shape[1])]
            )
        super()._resolve(_wound(X, periods) if isinstance(self.sigma, str) else X, names)

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        periods = _widths(self.period, lowering.width_of(columns), "Periodic.period")
        tunes = {"periods": "period"}
        self._lower_with_width(lowering, columns, tunes, term="gaussian", periods=periods)

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return widths in units of the circle, periods from two mean gaps to twice the range of the data."""
        if parameter == "sigma":
            return 1e-2 * np.ones(np.shape(self.sigma)), 1e2 * np.ones(np.shape(self.sigma))
        ranges = np.array([distance_range(X[:, [c]])[1] for c in range(X.shape[1])])
        if np.ndim(self.period) == 0:
            ranges = ranges.max()
        return 2 * ranges / X.shape[0], 2 * ranges

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        raise no_density(self, "a periodic function has lines at multiples of its frequency")


def _wound(X: Any, periods: FloatArray) -> Any:
    """Return the columns wound onto circles that touch the origin at zero: sparse rows stay sparse."""
    if not sparse.issparse(X):
        angle = 2 * np.pi * np.asarray(X, dtype=np.float64) / periods
        return np.hstack([np.cos(angle) - 1, np.sin(angle)])
    angle = sparse.csr_matrix(X, dtype=np.float64).multiply(2 * np.pi / periods).tocsr()
    cosine, sine = angle.copy(), angle.copy()
    cosine.data, sine.data = np.cos(angle.data) - 1, np.sin(angle.data)
    return sparse.hstack([cosine, sine]).tocsr()


class ChiSquared(Kernel):
    """The exponential chi-squared kernel, k(x, z) = exp(−γ Σ_c (x_c − z_c)² / (x_c + z_c)), with 0/0 = 0.

    It compares histograms and counts of words: no value may be negative.

    Parameters
    ----------
    gamma : float, default=1.0
        Greater than zero. Rows that sum to one are at most 2 apart.

    See Also
    --------
    sklearn.metrics.pairwise.chi2_kernel : The same kernel, dense.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        gamma = real(self.gamma, "ChiSquared.gamma", above=0)
        lowering.term("chi_squared", columns, gamma, owner=self, tunes={"a": "gamma"})

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return bounds in terms of the mean sum of a histogram, half the largest distance."""
        size = float(X.sum()) / X.shape[0] or 1.0
        return 1e-3 / size, 1e3 / size
