"""Known noise of each row, and variances of kernel part and noise that are not left to the data."""

import numpy as np
import pytest
import reference
from grls import GRLSRegressor
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

KERNEL = Gaussian(0.8)


def measured(m=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, size=(m, 1))
    noise = rng.uniform(0.01, 1.0, size=m)
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 0] + np.sqrt(noise) * rng.normal(size=m)
    return X, y, noise


def likelihood(X, y, noise, kernel_variance, noise_variance):
    """Return minus twice the restricted log-likelihood, with dense matrices."""
    T = np.column_stack([np.ones(len(y)), X])
    A = kernel_variance * KERNEL(X, X) + noise_variance * np.diag(noise)
    inner = T.T @ np.linalg.solve(A, T)
    beta = np.linalg.solve(inner, T.T @ np.linalg.solve(A, y))
    r = y - T @ beta
    return np.linalg.slogdet(A)[1] + np.linalg.slogdet(inner)[1] + r @ np.linalg.solve(A, r)


def test_noise_is_that_of_the_dense_equations():
    X, y, noise = measured()
    model = GRLSRegressor(KERNEL, features="linear", regularization=1e-2).fit(X, y, noise=noise)
    weights = 1 / noise
    c, beta = reference.solve_exact(KERNEL(X, X), np.column_stack([np.ones(60), X]), y, 1e-2, weights)
    assert_allclose(model.dual_coef_, c, rtol=1e-6, atol=1e-9)
    assert_allclose(model.feature_coef_, beta, rtol=1e-6)
    assert model.degrees_of_freedom_ == 58
    assert_allclose(model.noise_variance_, model.kernel_variance_ * 1e-2 * weights.sum())


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_the_units_of_noise_do_not_matter_where_its_scale_is_estimated(scale):
    X, y, noise = measured()
    options = {"features": "linear", "regularization": "reml"}
    first = GRLSRegressor(KERNEL, **options).fit(X, y, noise=noise)
    second = GRLSRegressor(KERNEL, **options).fit(X, y, noise=scale * noise)
    assert_allclose(second.predict(X), first.predict(X), rtol=1e-6)
    assert_allclose(second.noise_variance_ * scale, first.noise_variance_, rtol=1e-4)
    new = first.predict(X, return_std=True, with_noise=True, noise=noise)[1]
    again = second.predict(X, return_std=True, with_noise=True, noise=scale * noise)[1]
    assert_allclose(again, new, rtol=1e-4)


def test_equal_noise_is_no_noise():
    X, y, _ = measured()
    for regularization in ("loo", "gcv", "reml"):
        plain = GRLSRegressor(KERNEL, regularization=regularization).fit(X, y)
        equal = GRLSRegressor(KERNEL, regularization=regularization).fit(X, y, noise=np.full(60, 0.3))
        assert_allclose(equal.predict(X), plain.predict(X), rtol=1e-5)
        assert equal.degrees_of_freedom_ == plain.degrees_of_freedom_
        assert_allclose(equal.kernel_variance_, plain.kernel_variance_, rtol=1e-3)
        assert_allclose(equal.noise_variance_ * 0.3, plain.noise_variance_, rtol=1e-3)


@pytest.mark.parametrize(
    "given", [{}, {"kernel_variance": 0.7}, {"noise_variance": 1.0}, {"noise_variance": 0.2}]
)
def test_the_restricted_likelihood_is_maximised_over_what_is_not_given(given):
    X, y, noise = measured()
    model = GRLSRegressor(KERNEL, features="linear", regularization="reml", **given).fit(X, y, noise=noise)
    kappa, sigma = model.kernel_variance_[0], model.noise_variance_[0]
    for name, value in given.items():
        assert getattr(model, f"{name}_")[0] == pytest.approx(value)
    best = likelihood(X, y, noise, kappa, sigma)
    for a, b in ((1.05, 1.0), (1 / 1.05, 1.0), (1.0, 1.05), (1.0, 1 / 1.05)):
        if (a != 1 and "kernel_variance" in given) or (b != 1 and "noise_variance" in given):
            continue
        assert likelihood(X, y, noise, a * kappa, b * sigma) > best
    assert model.degrees_of_freedom_ == (np.inf if given else 58)


def test_both_variances_are_a_kriging_system():
    X, y, noise = measured()
    new = np.linspace(0, 5, 7)[:, None]
    model = GRLSRegressor(KERNEL, features="linear", kernel_variance=0.7, noise_variance=1.0)
    model.fit(X, y, noise=noise)
    T, T_new = (np.column_stack([np.ones(len(x)), x]) for x in (X, new))
    gamma = 1 / (0.7 * (1 / noise).sum())
    assert model.regularization_ == pytest.approx(gamma)
    mean = reference.kriging_system(
        KERNEL(X, X), KERNEL(X, new), KERNEL(new, new), T, T_new, y, gamma, 1 / noise
    )[0]
    found, std = model.predict(new, return_std=True)
    assert_allclose(found, mean, rtol=1e-7)
    dense = 0.7 * KERNEL(X, X) + np.diag(noise)
    cross = 0.7 * KERNEL(X, new)
    u = T_new.T - T.T @ np.linalg.solve(dense, cross)
    inner = T.T @ np.linalg.solve(dense, T)
    expected = 0.7 - np.sum(cross * np.linalg.solve(dense, cross), axis=0)
    expected += np.sum(u * np.linalg.solve(inner, u), axis=0)
    assert_allclose(std**2, expected, rtol=1e-7)
    observed = model.predict(new, return_std=True, with_noise=True, noise=np.full(7, 0.04))[1]
    assert_allclose(observed**2, expected + 0.04, rtol=1e-7)
    covariance = model.predict(new, return_cov=True, with_noise=True, noise=0.04)[1]
    assert_allclose(np.diag(covariance), expected + 0.04, rtol=1e-7)
    assert not hasattr(model, "regularization_path_")


def test_folds_slice_the_noise():
    X, y, noise = measured()
    search = GridSearchCV(GRLSRegressor(KERNEL), {"regularization": [1e-3, 1e-1]}, cv=3)
    search.fit(X, y, noise=noise)
    assert search.best_estimator_._knows_noise


def test_leaving_rows_out_knows_their_noise():
    X, y, noise = measured(30)
    model = GRLSRegressor(KERNEL, kernel_variance=0.7, noise_variance=1.0).fit(X, y, noise=noise)
    found = model.cross_validate("loo")
    folds = model.cross_validate(30)
    assert_allclose(folds.predictions, found.predictions, atol=1e-9)
    assert_allclose(folds.std, found.std, rtol=1e-8)
    for i in (0, 7):
        rest = np.arange(30) != i
        again = GRLSRegressor(KERNEL, kernel_variance=0.7, noise_variance=1.0)
        again.fit(X[rest], y[rest], noise=noise[rest])
        mean, std = again.predict(X[[i]], return_std=True, with_noise=True, noise=noise[[i]])
        assert_allclose([found.predictions[i], found.std[i]], [mean[0], std[0]], rtol=1e-8)


def test_what_cannot_be_is_said():
    X, y, noise = measured()
    model = GRLSRegressor(KERNEL, regularization="reml")
    with pytest.raises(ValueError, match="each of the 60 rows"):
        model.fit(X, y, noise=noise[:5])
    with pytest.raises(ValueError, match="row 3 has -1"):
        model.fit(X, y, noise=np.where(np.arange(60) == 3, -1.0, noise))
    with pytest.raises(ValueError, match="noise contains NaN"):
        model.fit(X, y, noise=np.where(np.arange(60) == 3, np.nan, noise))
    model.fit(X, y, noise=noise)
    with pytest.raises(ValueError, match="give that of the new rows too"):
        model.predict(X, return_std=True, with_noise=True)
    with pytest.raises(ValueError, match="fitted with it"):
        model.fit(X, y).predict(X, return_std=True, with_noise=True, noise=1.0)
    for parameters, message in (
        ({"kernel_variance": 0.0}, "kernel_variance"),
        ({"noise_variance": -1.0}, "noise_variance"),
        (
            {"kernel_variance": 1.0, "noise_variance": 1.0, "regularization": 0.1},
            "say what the",
        ),
        ({"kernel_variance": 1.0, "optimize": True, "regularization": "reml"}, "optimize leaves both"),
    ):
        with pytest.raises(ValueError, match=message):
            GRLSRegressor(KERNEL, **parameters).fit(X, y)
    known = GRLSRegressor(KERNEL, regularization="reml", kernel_variance=1.0).fit(X, y)
    with pytest.raises(ValueError, match="variances that were estimated"):
        known.predict(X, return_std=True, unconditional=True)
