"""The Matérn kernel of any smoothness."""

import grls
import numpy as np
import pytest
from builders import with_threads
from grls.kernels import Gaussian, Matern
from numpy.testing import assert_allclose
from scipy.special import gamma, kv
from sklearn.gaussian_process.kernels import Matern as PeerMatern


def at(r, nu):
    """The kernel at a distance; r is the only number that is not 0 or 1."""
    return float(Matern(1 / r, nu)([[0.0]], [[1.0]])[0, 0])


# (ν, r, value) for σ = 1, from 40 digits.
VALUES = [
    (0.01, 1e-20, 0.61805249303969032),
    (0.01, 1e-06, 0.27221402916313741),
    (0.01, 0.01, 0.12500888313589249),
    (0.01, 0.7, 0.04757495486510262),
    (0.01, 3.0, 0.021061514730334248),
    (0.01, 12.0, 0.0033358321024211415),
    (0.25, 1e-20, 0.99999999991961219),
    (0.25, 1e-06, 0.99919612186749155),
    (0.25, 0.01, 0.91962804957832165),
    (0.25, 0.7, 0.37712632841294269),
    (0.25, 3.0, 0.055656188118397765),
    (0.25, 12.0, 6.9603177202948797e-5),
    (0.75, 1e-20, 1.0),
    (0.75, 1e-06, 0.99999999811107493),
    (0.75, 0.01, 0.99825953667551716),
    (0.75, 0.7, 0.56316526768894594),
    (0.75, 3.0, 0.044367010235433701),
    (0.75, 12.0, 9.9657607992394708e-7),
    (1.0, 1e-20, 1.0),
    (1.0, 1e-06, 0.99999999998591513),
    (1.0, 0.01, 0.99951253312741721),
    (1.0, 0.7, 0.6061478437438632),
    (1.0, 3.0, 0.040171112315525174),
    (1.0, 12.0, 2.2491259587674922e-7),
    (1.75, 1e-20, 1.0),
    (1.75, 1e-06, 0.99999999999883333),
    (1.75, 0.01, 0.99988355085463323),
    (1.75, 0.7, 0.67486857100265107),
    (1.75, 3.0, 0.032203811857312503),
    (1.75, 12.0, 7.4935356232306541e-9),
    (4.0, 1e-20, 1.0),
    (4.0, 1e-06, 0.99999999999933333),
    (4.0, 0.01, 0.99993333666644455),
    (4.0, 0.7, 0.73630485814424389),
    (4.0, 3.0, 0.022834461695519905),
    (4.0, 12.0, 1.3587333756711271e-11),
    (12.5, 1e-20, 1.0),
    (12.5, 1e-06, 0.99999999999945652),
    (12.5, 0.01, 0.9999456537913724),
    (12.5, 0.7, 0.76870595896128434),
    (12.5, 3.0, 0.015581727786866063),
    (12.5, 12.0, 2.1785815820079157e-16),
    (60.0, 1e-20, 1.0),
    (60.0, 1e-06, 0.99999999999949153),
    (60.0, 0.01, 0.99994915385737027),
    (60.0, 0.7, 0.77987588859497994),
    (60.0, 3.0, 0.012124079984361231),
    (60.0, 12.0, 1.003177907088894e-23),
]


@pytest.mark.parametrize(("nu", "r", "value"), VALUES)
def test_thirteen_digits_are_right(nu, r, value):
    assert_allclose(at(r, nu), value, rtol=2e-13 * (1 - np.log(value)))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 3.5, 6.5, 11.5])
def test_half_integers_are_a_polynomial_times_an_exponential(nu):
    p = int(nu - 0.5)
    factorial = np.vectorize(lambda n: float(gamma(n + 1)))
    i = np.arange(p + 1)
    coefficients = factorial(p) / factorial(2 * p) * factorial(p + i) / factorial(i) / factorial(p - i)
    r = np.linspace(0, 8, 50)
    s = np.sqrt(2 * nu) * r
    expected = np.exp(-s) * (coefficients * (2 * s[:, None]) ** (p - i)).sum(axis=1)
    assert_allclose(Matern(1.0, nu)([[0.0]], r[:, None])[0], expected, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_closed_forms_are_the_limits_of_their_neighbours(nu):
    X = np.random.default_rng(0).normal(size=(30, 3))
    either = [Matern(0.8, nu * (1 + side * 1e-7))(X) for side in (-1, 1)]
    assert_allclose(np.mean(either, axis=0), Matern(0.8, nu)(X), rtol=1e-11)


@pytest.mark.parametrize("nu", [0.2, 0.8, 1.0, 3.3, 9.0])
def test_it_is_the_kernel_of_scikit_learn(nu):
    X = np.random.default_rng(0).normal(size=(40, 3))
    assert_allclose(Matern(0.8, nu)(X), PeerMatern(0.8, nu=nu)(X), rtol=1e-10, atol=1e-14)


def test_a_large_smoothness_is_the_gaussian_kernel():
    r = np.linspace(0, 6, 100)[:, None]
    gaussian = Gaussian(1.0)([[0.0]], r)
    for nu in (1e3, 1e6, 1e9):
        assert np.abs(Matern(1.0, nu)([[0.0]], r) - gaussian).max() < 0.25 / nu + 1e-10


@pytest.mark.parametrize("nu", [1e-3, 0.02, 0.4, 1.0, 5.0, 100.0])
def test_values_fall_from_one_to_zero(nu):
    assert Matern(1.0, nu)([[3.0]], [[3.0]])[0, 0] == 1
    r = np.concatenate([np.logspace(-150, 0, 300), np.linspace(1.1, 60, 300)])
    values = np.array([at(x, nu) for x in r])
    assert np.all((values > 0) & (values <= 1))
    assert np.all(np.diff(values) <= 1e-13)
    assert Matern(1e-3, nu)([[0.0]], [[1e200]])[0, 0] == 0
    assert Matern(1e-3, nu)([[0.0]], [[1e30]])[0, 0] == 0
    # s^ν K_ν(s) towards zero: 1 − Γ(1 − ν) / Γ(1 + ν) (s/2)^2ν, where that is what is left of the series
    if nu < 0.5:
        q = nu / 2 * np.array([1e-20, 1e-60, 1e-120]) ** 2
        lost = gamma(1 - nu) / gamma(1 + nu) * q**nu
        assert_allclose([1 - at(x, nu) for x in (1e-20, 1e-60, 1e-120)], lost, rtol=1e-9, atol=1e-13)


def test_the_largest_and_the_smallest_smoothness_give_numbers():
    X = np.random.default_rng(0).normal(size=(10, 2))
    for nu in (1e-8, 1e-3, 1e12):
        K = Matern(1.0, nu)(X)
        assert np.isfinite(K).all()
        assert np.linalg.eigvalsh(K).min() > -1e-11
    assert_allclose(Matern(1.0, 1e-8)(X), np.eye(10), atol=1e-6)


def test_float32_has_the_digits_of_float32():
    r = np.linspace(0, 5, 200)[:, None]
    y = np.sin(3 * r[:, 0])
    single, double = (
        grls.GRLSRegressor(Matern(0.7, 1.2), regularization=1e-2, precision=precision).fit(r, y).predict(r)
        for precision in ("single", "double")
    )
    assert_allclose(single, double, atol=1e-4)


def test_threads_read_one_table():
    X = np.random.default_rng(0).normal(size=(900, 3))
    answers = with_threads(lambda: Matern(0.8, 1.234)(X))
    assert all(np.array_equal(answer, answers[0]) for answer in answers[1:])


def sample(nu, m=250, seed=0):
    """Values of a Gaussian process of smoothness ν on a line."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 10, size=m))[:, None]
    s = np.sqrt(2 * nu) * np.abs(X - X.T)
    K = np.where(s > 0, 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, np.where(s > 0, s, 1)), 1)
    return X, np.linalg.cholesky(K + 1e-10 * np.eye(m)) @ rng.normal(size=m)


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.3, 0.8, 1.8])
def test_the_smoothness_is_learnt_from_the_data(nu):
    X, y = sample(nu)
    model = grls.GRLSRegressor(Matern(nu=1.1), optimize=["sigma", "nu"], regularization="reml").fit(X, y)
    assert abs(np.log(model.kernel_.nu / nu)) < 0.35
    alone = grls.GRLSRegressor(Matern(nu=1.1), optimize="nu", regularization="reml").fit(X, y)
    assert alone.kernel_.nu != 1.1
    assert 0.1 <= model.kernel_.nu <= 30


def test_half_integers_keep_their_smoothness():
    X, y = sample(0.8, m=60)
    model = grls.GRLSRegressor(Matern(nu=1.5), optimize=True, regularization="reml").fit(X, y)
    assert model.kernel_.nu == 1.5
    with pytest.raises(ValueError, match="'nu' is none of the parameters to tune"):
        grls.GRLSRegressor(Matern(nu=1.5), optimize="nu", regularization="reml").fit(X, y)
    grid = grls.GRLSRegressor(Matern(), optimize={"nu": [0.5, 0.8, 1.5]}, regularization="reml").fit(X, y)
    assert grid.kernel_.nu in (0.5, 0.8)
