"""Variances: against dense universal kriging, a Gaussian process in the limit, and by their coverage."""

import numpy as np
import pytest
import reference
from grls import GRLSRegressor
from grls.kernels import Gaussian, Laplace, Linear, Precomputed
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

# These tests look at predictions and equations; some of their features run away or are the kernel's too.
pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]


def data(m=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 10, size=m))[:, None]
    return X, 2 * X[:, 0] + np.sin(X[:, 0]) + 0.1 * rng.normal(size=m), rng.uniform(0.5, 3, size=m)


@pytest.mark.parametrize("kernel", [Gaussian(sigma=1.5), Laplace(sigma=2.0) + 0.1 * Linear()])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_variances_equal_universal_kriging(kernel, weighted, precision):
    X, y, weights = data()
    weights = weights if weighted else np.ones(len(X))
    model = GRLSRegressor(kernel, features="linear", regularization=1e-3, precision=precision)
    model.fit(X, y, sample_weight=weights if weighted else None)
    X_new = np.linspace(-5, 15, 23)[:, None]
    T, T_new = model.features_.transform(X), model.features_.transform(X_new)
    cov, gls, variance = reference.universal_kriging(
        kernel(X), kernel(X, X_new), kernel(X_new), T, T_new, y, 1e-3, weights
    )
    mean, std = model.predict(X_new, return_std=True)
    assert_allclose(mean, model.predict(X_new))
    assert_allclose(std**2, np.diag(cov), rtol=1e-6)
    assert_allclose(model.predict(X_new, return_cov=True)[1], cov, rtol=1e-5, atol=1e-7 * cov.max())
    assert_allclose(model.feature_coef_std_, np.sqrt(np.diag(gls)), rtol=1e-6)
    assert_allclose(model.kernel_variance_, [variance], rtol=1e-7)
    assert_allclose(model.noise_variance_, [variance * 1e-3 * weights.sum()], rtol=1e-7)


def test_variances_are_those_of_a_gaussian_process_whose_trend_is_free():
    X, y, _ = data()
    model = GRLSRegressor(Gaussian(sigma=1.5), features="linear", regularization=1e-3).fit(X, y)
    free = ConstantKernel(1e5) + ConstantKernel(1e5) * DotProduct(sigma_0=1e-6)
    process = GaussianProcessRegressor(
        ConstantKernel(model.kernel_variance_[0]) * RBF(1.5) + free,
        alpha=model.noise_variance_[0],
        optimizer=None,
    ).fit(X, y)
    X_new = np.linspace(-5, 15, 9)[:, None]
    for got, expected in zip(
        model.predict(X_new, return_std=True), process.predict(X_new, return_std=True), strict=True
    ):
        assert_allclose(got, expected, rtol=1e-5)


def test_far_from_the_data_the_band_widens_as_the_trend_does():
    X, y, _ = data()
    model = GRLSRegressor(Gaussian(sigma=1.0), features="linear").fit(X, y)
    near, far, farther = model.predict([[5.0], [100.0], [200.0]], return_std=True)[1]
    assert near < far < farther
    slope = model.feature_coef_std_[1]
    assert (farther - far) / 100 == pytest.approx(slope, rel=0.05)
    plain = GRLSRegressor(Gaussian(sigma=1.0), features=None).fit(X, y)
    assert_allclose(
        *plain.predict([[100.0], [200.0]], return_std=True)[1], rtol=1e-6
    )  # no trend: the prior's


def test_noise_adds_its_variance_to_new_observations():
    X, y, _ = data()
    model = GRLSRegressor(Gaussian(sigma=1.5)).fit(X, y)
    std, noisy = (model.predict(X, return_std=True, with_noise=flag)[1] for flag in (False, True))
    assert_allclose(noisy**2 - std**2, model.noise_variance_[0], rtol=1e-6)
    cov, noisy_cov = (model.predict(X, return_cov=True, with_noise=flag)[1] for flag in (False, True))
    assert_allclose(noisy_cov - cov, model.noise_variance_[0] * np.eye(len(X)), atol=1e-12)


def test_coverage_of_the_band_is_what_it_says():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 10, 60)[:, None]
    x_new = np.linspace(-1, 11, 40)[:, None]
    everywhere = np.vstack([x, x_new])
    kernel, sigma, noise = Gaussian(sigma=1.0), 0.7, 0.2
    root = np.linalg.cholesky(sigma**2 * kernel(everywhere) + 1e-10 * np.eye(100))
    inside = []
    for _ in range(200):
        truth = root @ rng.normal(size=100) + everywhere[:, 0] * rng.normal(scale=5) + rng.normal(scale=5)
        y = truth[:60] + noise * rng.normal(size=60)
        gamma = noise**2 / sigma**2 / 60
        model = GRLSRegressor(kernel, features="linear", regularization=gamma).fit(x, y)
        mean, std = model.predict(x_new, return_std=True)
        inside.append(np.abs(mean - truth[60:]) < 1.96 * std)
    assert 0.93 < np.mean(inside) < 0.97


def test_blocks_of_new_points_do_not_show(monkeypatch):
    X, y, _ = data()
    model = GRLSRegressor(Gaussian(sigma=1.5), features="linear").fit(X, y)
    X_new = np.linspace(-1, 11, 5000)[:, None]  # more than one block
    std = model.predict(X_new, return_std=True)[1]
    some = np.arange(0, 5000, 511)
    assert_allclose(std[some], model.predict(X_new[some], return_std=True)[1], rtol=1e-6)


def test_what_has_no_variance_says_so():
    X, y, _ = data()
    with pytest.raises(ValueError, match="not for both"):
        GRLSRegressor().fit(X, y).predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="exact"):
        GRLSRegressor(regularization=0.1, formulation="published").fit(X, y).predict(X, return_std=True)
    kernel = Gaussian(sigma=1.0)
    with pytest.raises(ValueError, match="precomputed"):
        GRLSRegressor(Precomputed()).fit(kernel(X), y).predict(kernel(X), return_std=True)


# Peers.


@pytest.mark.parametrize("trend", ["constant", "linear", "quadratic"])
@pytest.mark.parametrize("noise", [1e-4, 0.05])
def test_standard_deviations_are_those_of_universal_kriging_in_libkriging(trend, noise):
    pylibkriging = pytest.importorskip("pylibkriging")
    rng = np.random.default_rng(3)
    points = rng.random((40, 2))
    values = 3 + points @ [2.0, -1.0] + np.sin(5 * points[:, 0]) + 0.1 * rng.standard_normal(40)
    near_and_far = np.vstack([rng.random((20, 2)), 1 + 2 * rng.random((5, 2)), points[:3]])
    width = np.array([0.3, 0.5])

    theirs = pylibkriging.Kriging("gauss", "heterogeneous")
    known = {"sigma2": 1.0, "is_sigma2_estim": False, "theta": width[None], "is_theta_estim": False}
    theirs.fit(values, points, trend, False, "none", "LL", known, np.full(40, noise))
    mean, std, *_ = theirs.predict(near_and_far, True, False, False)

    ours = GRLSRegressor(Gaussian(width), features=trend, regularization=noise / 40).fit(points, values)
    our_mean, our_std = ours.predict(near_and_far, return_std=True)
    # They were told τ² = 1; we estimate it, and all variances are proportional to it.
    assert_allclose(our_mean, mean.ravel(), atol=1e-7)
    assert_allclose(our_std / np.sqrt(ours.kernel_variance_), std.ravel(), rtol=1e-6, atol=1e-7)
