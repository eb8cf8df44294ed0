"""Draws from the posterior: their moments, singular covariances, and where the random numbers come from."""

import numpy as np
import pytest
from builders import regressor
from grls import GRLSRegressor
from grls._models.draws import correlated
from grls._solvers import memory
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

# Far rows are asked for, and a kernel that can express the trend: neither concerns the draws.
pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, size=(40, 1))
Y = 2 * X[:, 0] + np.sin(X[:, 0]) + 0.3 * RNG.normal(size=40)
NEW = np.linspace(-3, 13, 12)[:, None]
DRAWS = 20_000


def model(**parameters):
    return regressor(Gaussian(1.5), features="linear", **parameters).fit(X, Y)


def assert_moments(draws, mean, cov):
    """Within five standard errors of the sample mean and of every sample covariance."""
    n = draws.shape[1]
    std = np.sqrt(np.diag(cov))
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 5 * std / np.sqrt(n) + 1e-12)
    spread = np.sqrt((np.outer(std, std) ** 2 + cov**2) / n)
    assert np.all(np.abs(np.cov(draws) - cov) < 5 * spread + 1e-12)


@pytest.mark.parametrize("with_noise", [False, True])
def test_draws_have_the_mean_and_the_covariance_of_the_posterior(with_noise):
    fitted = model()
    draws = fitted.sample_y(NEW, DRAWS, random_state=1, with_noise=with_noise)
    assert draws.shape == (12, DRAWS)
    assert_moments(draws, *fitted.predict(NEW, return_cov=True, with_noise=with_noise))


def test_draws_at_repeated_rows_are_the_same_and_their_noise_is_not():
    twice = np.vstack([NEW, NEW, X[:2]])
    fitted = model(regularization=1e-8)
    draws = fitted.sample_y(twice, 50)
    band = fitted.predict(NEW, return_std=True)[1][:, None]
    assert np.all(np.abs(draws[:12] - draws[12:24]) < 1e-5 * band)
    noisy = model().sample_y(twice, 50, with_noise=True)
    assert np.all(np.std(noisy[:12] - noisy[12:24], axis=1) > 0.1)


def test_rows_of_little_variance_keep_it_beside_rows_of_much():
    near_and_far = np.array([[5.0], [5.1], [1e7]])
    fitted = model()
    draws = fitted.sample_y(near_and_far, DRAWS)
    assert_allclose(draws.std(axis=1), fitted.predict(near_and_far, return_std=True)[1], rtol=0.05)


def test_several_outputs_are_drawn_each_with_its_own_gamma():
    targets = np.column_stack([Y, RNG.normal(size=40), Y**2])
    fitted = GRLSRegressor(Gaussian(1.5), features="linear", per_output=True).fit(X, targets)
    draws = fitted.sample_y(NEW, DRAWS)
    assert draws.shape == (12, 3, DRAWS)
    mean, cov = fitted.predict(NEW, return_cov=True)
    for p in range(3):
        assert_moments(draws[:, p], mean[:, p], cov[:, :, p])
    together = np.corrcoef(draws[5])[np.triu_indices(3, 1)]
    assert np.all(np.abs(together) < 5 / np.sqrt(DRAWS))


def test_shapes_are_those_of_a_gaussian_process():
    for targets in (Y, np.column_stack([Y, -Y])):
        theirs = GaussianProcessRegressor(RBF(1.5), optimizer=None, alpha=0.1).fit(X, targets)
        ours = regressor(Gaussian(1.5)).fit(X, targets)
        assert ours.sample_y(NEW, 3).shape == theirs.sample_y(NEW, 3).shape


def test_the_random_state_decides():
    fitted = model()
    assert_array_equal(fitted.sample_y(NEW, 2), fitted.sample_y(NEW, 2, random_state=0))
    assert_array_equal(
        fitted.sample_y(NEW, 2), fitted.sample_y(NEW, 2, random_state=np.random.RandomState(0))
    )
    assert np.abs(fitted.sample_y(NEW, 2, random_state=1) - fitted.sample_y(NEW, 2)).max() > 1e-3


def test_known_noise_is_that_of_each_row():
    fitted = regressor(Gaussian(1.5)).fit(X, Y, noise=np.full(40, 0.5))
    noise = np.linspace(0.1, 4.0, 12)
    draws = fitted.sample_y(NEW, DRAWS, with_noise=True, noise=noise)
    assert_moments(draws, *fitted.predict(NEW, return_cov=True, with_noise=True, noise=noise))
    with pytest.raises(ValueError, match="give that of the new rows too"):
        fitted.sample_y(NEW, with_noise=True)


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_a_covariance_of_any_rank_is_that_of_the_draws(rank):
    G = RNG.normal(size=(6, rank)) * np.array([1e-4, 1.0, 1e3, 1.0, 1.0, 10.0])[:, None]
    covariance = G @ G.T
    R = correlated(covariance.copy(), np.eye(6))
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    assert_allclose(R @ R.T / np.outer(scale, scale), covariance / np.outer(scale, scale), atol=1e-13)


def test_what_cannot_be_drawn_is_a_clear_error(monkeypatch):
    fitted = model()
    for wrong, error in ((0, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="n_samples"):
            fitted.sample_y(NEW, wrong)
    with pytest.raises(ValueError, match="exact"):
        model(formulation="published").sample_y(NEW)
    with pytest.raises(ValueError, match="drawn at row 0: their variances there are too large"):
        fitted.sample_y(NEW * 1e200)
    fitted.sample_y(NEW)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(MemoryError, match="the covariance of 12 rows"):
        fitted.sample_y(NEW)
