"""Spectral densities: the Fourier integral of a density is the kernel, and the other way round."""

import itertools

import numpy as np
import pytest
from grls.kernels import (
    Constant,
    Gaussian,
    Laplace,
    Linear,
    Log,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from grls.kernels.spectral import log_bessel
from numpy.testing import assert_allclose
from scipy import integrate, special

ONE = [
    Gaussian(0.7),
    Laplace(0.7),
    Matern(0.7, 0.5),
    Matern(0.7, 1.5),
    Matern(0.7, 2.5),
    RationalQuadratic(0.7, 0.3),
    RationalQuadratic(0.7, 0.5),
    RationalQuadratic(0.7, 1.0),
    RationalQuadratic(1.3, 4.2),
    2.5 * Laplace(0.4),
    Gaussian(0.3) + 0.5 * Laplace(2.0) + Matern(1.0, 2.5),
    Gaussian(0.5) * Gaussian(1.2),
    (2.0 * Gaussian(0.5)) ** 3,
    Laplace(0.8) ** 1,
    Gaussian([0.6]).on([0]),
    (Gaussian(0.5) + 0.2 * Gaussian(1.5)) ** 2 * Gaussian(2.0),
]
LAGS = [0.0, 0.05, 0.4, 1.3]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ONE, ids=repr)
def test_the_density_gives_the_kernel_back_in_one_dimension(kernel):
    """k(r) = 2 ∫_0^∞ S(ω) cos(ωr) dω."""
    density = lambda w: float(kernel.spectral_density([[w]])[0])  # noqa: E731
    wave = lambda w, r: density(w) * np.cos(w * r)  # noqa: E731
    for r in LAGS:
        # An integrable pole at 0 is left to the first part; the tail, which oscillates, to QUADPACK's rule.
        near = integrate.quad(wave, 0, 5, (r,), limit=400, points=[1e-4, 1e-2])[0]
        if r:
            far = integrate.quad(density, 5, np.inf, weight="cos", wvar=r, limit=400, limlst=200)[0]
        else:
            far = integrate.quad(density, 5, np.inf, limit=400)[0]
        assert_allclose(2 * (near + far), kernel([[r]], [[0.0]])[0, 0], atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.7),
        Laplace(0.7),
        Matern(0.7, 1.5),
        Matern(0.7, 2.5),
        RationalQuadratic(0.7, 1.7),
        3 * Laplace(0.4),
    ],
    ids=repr,
)
@pytest.mark.parametrize("d", [2, 3])
def test_the_density_gives_the_kernel_back_in_more(kernel, d):
    """Of a radial function: k(r) = ∫ S(ω) ω^(d−1) times the mean of exp(iω·r) over the sphere."""
    sphere = 2 * np.pi ** (d / 2) / special.gamma(d / 2)
    direction = np.array([0.6, 0.8, 0.0])[:d]

    def integrand(w, r):
        mean = special.j0(w * r) if d == 2 else np.sinc(w * r / np.pi)
        return float(kernel.spectral_density([w * direction])[0]) * sphere * w ** (d - 1) * mean

    for r in (0.3, 1.1):
        edges = np.arange(61) * np.pi / r
        parts = [integrate.quad(integrand, *ends, (r,), limit=200)[0] for ends in itertools.pairwise(edges)]
        sums = np.cumsum(parts)
        for _ in range(40):  # an alternating series, summed by repeated means
            sums = 0.5 * (sums[1:] + sums[:-1])
        point = np.zeros((1, d))
        point[0, 0] = r
        assert_allclose(sums[-1], kernel(point, np.zeros((1, d)))[0, 0], atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian([0.5, 2.0]),
        Gaussian(0.8).on(0) * Gaussian(1.1).on(1),
        Gaussian(0.8) * Gaussian([0.4, 3.0]) * Gaussian(2.0).on(1),
        2.0 * Gaussian(0.8).on(1) * (Gaussian(0.5).on(0) + 0.3 * Gaussian(1.5).on(0)),
        (Gaussian(1.0) + Gaussian([2.0, 0.7])).on([1, 0]),
    ],
    ids=repr,
)
def test_the_fourier_transform_of_the_kernel_is_the_density_in_the_plane(kernel):
    """S(ω) = (2π)^−2 ∫ k(r) exp(−iω·r) dr by the trapezoidal rule, exact to rounding for such functions."""
    t = np.linspace(-25, 25, 601)
    grid = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    values = kernel(grid, np.zeros((1, 2)))[:, 0] * (t[1] - t[0]) ** 2 / (2 * np.pi) ** 2
    for omega in ([0.0, 0.0], [1.0, -0.5], [0.2, 2.0]):
        assert_allclose(
            values @ np.cos(grid @ omega), kernel.spectral_density([omega])[0], rtol=1e-8, atol=1e-12
        )


def test_widths_per_column_stretch_the_density():
    omega = np.random.default_rng(0).normal(size=(5, 3))
    widths = np.array([0.5, 2.0, 1.1])
    for kind in (Gaussian, Laplace, lambda s: Matern(s, 2.5), lambda s: RationalQuadratic(s, 2.2)):
        stretched = kind(1.0).spectral_density(omega * widths) * widths.prod()
        assert_allclose(kind(widths).spectral_density(omega), stretched)


def test_factors_on_different_columns_multiply():
    omega = np.random.default_rng(0).normal(size=(5, 3))
    kernel = 1.5 * Laplace(0.5).on([2, 0]) * Matern(2.0, 1.5).on(1)
    expected = (
        1.5
        * Laplace(0.5).spectral_density(omega[:, [2, 0]])
        * Matern(2.0, 1.5).spectral_density(omega[:, [1]])
    )
    assert_allclose(kernel.spectral_density(omega), expected)


def test_matern_tends_to_the_gaussian_in_the_middle_and_laplace_is_matern():
    omega = np.linspace(0, 5, 20)[:, None]
    assert_allclose(Laplace(0.6).spectral_density(omega), Matern(0.6, 0.5).spectral_density(omega))
    wide = RationalQuadratic(0.6, 1e4).spectral_density(omega)
    assert_allclose(wide, Gaussian(0.6).spectral_density(omega), rtol=5e-3)


def test_bessel_functions_of_large_order():
    z = np.array([0.5, 3.0, 30.0, 300.0])
    for order in (-60.0, 51.0, 80.5):
        assert_allclose(log_bessel(order, z), np.log(special.kve(order, z)) - z, rtol=1e-9, atol=1e-8)
    assert np.isfinite(log_bessel(1e5, z)).all()
    omega = np.random.default_rng(0).normal(size=(4, 150))  # a large order by many columns
    assert np.isfinite(np.log(RationalQuadratic(1.0, 2.0).spectral_density(omega))).all()


def test_long_tails_have_a_pole_at_zero_and_far_frequencies_nothing():
    assert RationalQuadratic(1.0, 0.5).spectral_density([[0.0]]) == np.inf
    assert np.isfinite(RationalQuadratic(1.0, 0.6).spectral_density([[0.0], [1e-300], [1e-9]])).all()
    assert RationalQuadratic(1.0, 0.5).spectral_density([[1e5]]) == 0
    assert Gaussian(1.0).spectral_density([[1e5]]) == 0


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Linear(), "not stationary"),
        (Polynomial(), "not stationary"),
        (Sigmoid(), "not stationary"),
        (Log(), "none is known"),
        (Gaussian(1.0).exp(), "none is known"),
        (Gaussian(1.0).normalized(), "none is known"),
        (Gaussian(1.0) + Linear(), "not stationary"),
        (Gaussian(1.0) + 1.0, "frequency zero"),
        (Constant(), "frequency zero"),
        (Periodic(1.0, 2.0), "lines at multiples"),
        (Gaussian(1.0).on(0), "constant along the others"),
        (Gaussian(1.0).on(0) + Gaussian(1.0).on(1), "constant along the others"),
        (Laplace(1.0) * Laplace(2.0), "if all are Gaussian"),
        (Laplace(1.0) * Gaussian(2.0), "if all are Gaussian"),
        (Laplace(1.0) ** 2, "if all are Gaussian"),
        (Gaussian([1.0, 2.0, 3.0]), "3 widths, but the kernel reads 2"),
        (Gaussian(), "call kernel.resolve"),
        (Gaussian("median") * Gaussian(1.0), "call kernel.resolve"),
    ],
    ids=repr,
)
def test_a_kernel_without_a_density_says_why(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.spectral_density(np.ones((3, 2)))


@pytest.mark.parametrize("omega", [1.0, [1.0, 2.0], [[np.nan]], np.ones((2, 2, 2))])
def test_frequencies_are_rows(omega):
    with pytest.raises(ValueError, match=r"omega|2D|NaN|dim"):
        Gaussian(1.0).spectral_density(omega)
