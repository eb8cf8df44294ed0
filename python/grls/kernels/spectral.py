"""Spectral densities of sums and products: what a kernel is made of, and what that has together.

k(x − z) = ∫ S(ω) exp(iω·(x − z)) dω. A sum has the sum of the densities. A product has their convolution:
that of factors on different columns is their product, that of Gaussians a Gaussian again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from sklearn.base import clone

from .._validation import FloatArray, integer, real

if TYPE_CHECKING:
    from .base import Kernel

    Factors = list[tuple[Kernel, tuple[int, ...]]]  # kernels with their columns

_NOT_CLOSED = "factors on the same columns have one in closed form if all are Gaussian"
_LARGE = 50.0  # orders of Bessel functions from which on an expansion is exact to eight digits


def no_density(kernel: Kernel, why: str) -> ValueError:
    """Return the error of a kernel without a spectral density that could be written down."""
    return ValueError(f"the kernel {kernel!r} has no spectral density: {why}")


def composed_density(kernel: Kernel, omega: FloatArray) -> FloatArray:
    """Return the density (n,) of a kernel made of others at ω (n, d)."""
    density = np.zeros(len(omega))
    for number, factors in _terms(kernel, tuple(range(omega.shape[1]))):
        density += number * _density_of_product(kernel, factors, omega)
    return density


def _terms(kernel: Kernel, columns: tuple[int, ...]) -> list[tuple[float, Factors]]:
    """Return the summands of a kernel, multiplied out: numbers and factors."""
    from . import compose

    if isinstance(kernel, compose.Scaled):
        scale = real(kernel.scale, "Scaled.scale", above=0)
        return [(scale * number, factors) for number, factors in _terms(kernel.kernel, columns)]
    if isinstance(kernel, compose.OnColumns):
        inside = tuple(columns[p] for p in kernel._positions(len(columns), None))
        return _terms(kernel.kernel, inside)
    if isinstance(kernel, compose.Product):
        return _multiplied(_terms(kernel.k1, columns), _terms(kernel.k2, columns))
    if isinstance(kernel, compose.Sum):
        return _terms(kernel.k1, columns) + _terms(kernel.k2, columns)
    if isinstance(kernel, compose.Power):
        once = _terms(kernel.kernel, columns)
        out = once
        for _ in range(integer(kernel.exponent, "Power.exponent", minimum=1) - 1):
            out = _multiplied(out, once)
        return out
    return [(1.0, [(kernel, columns)])]


def _multiplied(
    first: list[tuple[float, Factors]], second: list[tuple[float, Factors]]
) -> list[tuple[float, Factors]]:
    return [(a * b, one + other) for a, one in first for b, other in second]


def _density_of_product(kernel: Kernel, factors: Factors, omega: FloatArray) -> FloatArray:
    """Return the density of a product of factors; `kernel` is what errors are about."""
    from .radial import Gaussian

    density = np.ones(len(omega))
    precision = np.zeros(omega.shape[1])  # of all Gaussian factors together
    taken: set[int] = set()
    for factor, columns in factors:
        if isinstance(factor, Gaussian):
            precision[list(columns)] += 1 / np.array(factor.widths(len(columns))) ** 2
            continue
        own = factor._spectral_density(omega[:, list(columns)])
        if taken & set(columns):
            raise no_density(kernel, _NOT_CLOSED)
        taken |= set(columns)
        density *= own
    smooth = np.flatnonzero(precision)
    if taken & set(smooth.tolist()):
        raise no_density(kernel, _NOT_CLOSED)
    if len(taken) + len(smooth) < omega.shape[1]:
        raise no_density(kernel, "a part does not read all columns, and is constant along the others")
    if len(smooth):
        density *= Gaussian(1 / np.sqrt(precision[smooth]))._spectral_density(omega[:, smooth])
    return density


_WITH_DENSITY = (
    "Gaussian, Laplace, Matern and RationalQuadratic have one, with a width for all columns or one for each; "
    "so do their sums and multiples, products of those on different columns, and products of Gaussians"
)


@dataclass(frozen=True)
class StationaryPart:
    """A summand of a stationary kernel: a number times a product of kernels, each of some columns."""

    number: float
    factors: Factors

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it reads; along the others it is constant."""
        return tuple(sorted({column for _, columns in self.factors for column in columns}))

    def density(self, omega: FloatArray) -> FloatArray:
        """Return its density (n,) on the columns that it reads, at ω (n, len(columns))."""
        place = {column: position for position, column in enumerate(self.columns)}
        factors = [(kernel, tuple(place[c] for c in columns)) for kernel, columns in self.factors]
        return self.number * _density_of_product(self.factors[0][0], factors, omega)

    def density_along(self, column: int, omega: FloatArray) -> FloatArray:
        """Return the density of its values along one column that it reads, at ω (n,).

        Along a line a kernel of the distance is the same kernel in one dimension, with that column's width.
        """
        factors: Factors = []
        for kernel, columns in self.factors:
            if column in columns:
                width = kernel.widths(len(columns))[columns.index(column)]
                factors.append((clone(kernel).set_params(sigma=width), (0,)))
        return self.number * _density_of_product(self.factors[0][0], factors, omega[:, None])

    def values(self, differences: FloatArray) -> FloatArray:
        """Return it at differences (n, d) of rows."""
        out = np.full(len(differences), self.number)
        for kernel, columns in self.factors:
            points = np.ascontiguousarray(differences[:, list(columns)])
            out *= kernel.matrix(points, np.zeros((1, len(columns))))[:, 0]
        return out


def stationary_parts(kernel: Kernel, n_columns: int) -> list[StationaryPart]:
    """Return the summands of a resolved kernel, multiplied out; ValueError unless all have a density.

    A summand without factors is a constant.
    """
    from .dot import Constant

    parts = []
    for number, factors in _terms(kernel, kernel._frame or tuple(range(n_columns))):
        constants = [factor for factor, _ in factors if isinstance(factor, Constant)]
        for constant in constants:
            number *= real(constant.value, "Constant.value", minimum=0)
        part = StationaryPart(number, [pair for pair in factors if not isinstance(pair[0], Constant)])
        if part.factors:
            try:
                part.density(np.ones((1, len(part.columns))))
            except ValueError as error:
                raise ValueError(f"{error}. {_WITH_DENSITY}") from error
        parts.append(part)
    return parts


def log_bessel(order: float, z: FloatArray) -> FloatArray:
    """Return log K_order(z), z > 0, Bessel's function of the third kind, also where K itself overflows."""
    v = abs(order)
    if v < _LARGE:
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.log(special.kve(v, z)) - z)
    # Debye's expansion, uniform in z.
    t = z / v
    root = np.sqrt(1 + t**2)
    p = 1 / root
    u1 = (3 * p - 5 * p**3) / 24
    u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
    u3 = (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720
    eta = root + np.log(t / (1 + root))
    series = 1 - u1 / v + u2 / v**2 - u3 / v**3
    return np.asarray(0.5 * np.log(np.pi * p / (2 * v)) - v * eta + np.log(series))
