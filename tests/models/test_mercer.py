"""The empirical Mercer expansion: its equations, known spectra, and its relatives."""

import numpy as np
import pytest
from grls import GRLSRegressor, IndefiniteKernelWarning, KernelPCA, MercerExpansion, PriorRLSRegressor
from grls.kernels import Gaussian, Laplace, Linear, Log, Matern, Sigmoid
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import brentq

RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(40, 3)), RNG.normal(size=(7, 3))
GRID = (np.arange(300)[:, None] + 0.5) / 300


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplace(1.0), Matern(2.0, 1.5), Linear()], ids=repr)
def test_the_equations_of_the_expansion(kernel):
    model = MercerExpansion(kernel=kernel).fit(X)
    E, mu = model.transform(X), model.eigenvalues_
    assert np.all(np.diff(mu) <= 0)
    assert np.all(mu > 0)
    assert_allclose(E.T @ E / len(X), np.eye(len(mu)), atol=1e-4 if len(mu) > 30 else 1e-8)
    assert_allclose((E * mu) @ E.T, kernel(X), atol=1e-9)
    few = MercerExpansion(3, kernel).fit(X)
    new = few.transform(X_NEW)
    assert_allclose(kernel(X_NEW, X) @ few.transform(X) / len(X), new * few.eigenvalues_, atol=1e-10)
    assert_allclose(model.trace_, np.trace(kernel(X)) / len(X))
    assert_allclose(mu.sum(), model.trace_, rtol=1e-9)
    assert np.all(few.transform(X).max(axis=0) >= -few.transform(X).min(axis=0))


def test_brownian_motion_has_its_eigenvalues_and_sines():
    model = MercerExpansion(5, lambda A, B: np.minimum(A, B.T)).fit(GRID)
    places = (np.arange(1, 6) - 0.5) * np.pi
    assert_allclose(model.eigenvalues_, places**-2.0, rtol=1e-3)
    new = np.linspace(0.1, 0.9, 11)[:, None]
    assert_allclose(np.abs(model.transform(new)), np.abs(np.sqrt(2) * np.sin(new * places)), atol=5e-3)


def test_the_laplace_kernel_on_an_interval_has_its_eigenvalues():
    """μ = 2b/(b² + w²), b = 1/σ, with tan(w/2) = b/w or w tan… = −b in turn, on an interval of length one."""
    b = 1 / 0.5
    roots = []
    for j in range(4):
        low, high = j * np.pi + 1e-9, (j + 1) * np.pi - 1e-9
        even = lambda w: b * np.cos(w / 2) - w * np.sin(w / 2)  # noqa: E731
        odd = lambda w: w * np.cos(w / 2) + b * np.sin(w / 2)  # noqa: E731
        roots.append(brentq(even if j % 2 == 0 else odd, low, high))
    expected = 2 * b / (b**2 + np.array(roots) ** 2)
    model = MercerExpansion(4, Laplace(0.5)).fit(GRID)
    assert_allclose(model.eigenvalues_, expected, rtol=1e-3)


def test_the_norm_is_that_of_the_function():
    model = MercerExpansion(kernel=Laplace(1.0)).fit(X)
    fit = GRLSRegressor(Laplace(1.0), features=None, regularization=0.01).fit(X, X[:, 0])
    assert_allclose(model.rkhs_norm(fit.predict(X)), fit.rkhs_norm_[0], rtol=1e-8)
    both = model.rkhs_norm(np.column_stack([fit.predict(X), 2 * fit.predict(X)]))
    assert_allclose(both, fit.rkhs_norm_[0] * np.array([1, 2]), rtol=1e-8)


def test_rough_functions_cost_more_and_most_in_the_smoothest_space():
    waves = np.sin(GRID * np.array([2, 6, 12]) * np.pi)
    norms = [MercerExpansion(kernel=k).fit(GRID).rkhs_norm(waves) for k in (Laplace(0.2), Matern(0.2, 2.5))]
    for norm in norms:
        assert norm[0] < norm[1] < norm[2]
    assert norms[1][2] / norms[1][0] > 3 * norms[0][2] / norms[0][0]


def test_samples_have_the_kernel_as_covariance():
    model = MercerExpansion(kernel=Gaussian(1.5)).fit(X)
    draws = model.sample(X_NEW, 40_000, random_state=0)
    E = model.transform(X_NEW)
    assert_allclose(np.cov(draws), (E * model.eigenvalues_) @ E.T, atol=0.05)
    assert_array_equal(draws, model.sample(X_NEW, 40_000, random_state=0))


def test_it_is_what_kernel_pca_does_not_centre():
    rows = X - X.mean(axis=0)
    model, pca = MercerExpansion(kernel=Linear()).fit(rows), KernelPCA(3, Linear()).fit(rows)
    assert_allclose(model.eigenvalues_ * len(rows), pca.eigenvalues_)
    assert_allclose(model.transform(X_NEW) * np.sqrt(model.eigenvalues_), pca.transform(X_NEW), atol=1e-9)


def test_it_is_what_the_prior_stands_on():
    model = MercerExpansion(kernel=Gaussian(1.5)).fit(X)
    prior = PriorRLSRegressor(kernel=Gaussian(1.5), features=None, rank=5, regularization=0.1).fit(X, X[:, 0])
    assert_allclose(prior.eigenvalues_, model.eigenvalues_[:5])
    z = model.transform(X_NEW)[:, :5] * np.sqrt(model.eigenvalues_[:5])
    assert_allclose(prior.predict(X_NEW), z @ prior.coef_, atol=1e-9)


def test_sparse_rows_and_matrices():
    rows = X * (np.abs(X) > 0.3)
    dense = MercerExpansion(4, Gaussian(1.0)).fit(rows)
    thin = MercerExpansion(4, Gaussian(1.0)).fit(sparse.csr_matrix(rows))
    assert_allclose(thin.transform(sparse.csr_matrix(X_NEW)), dense.transform(X_NEW), atol=1e-8)
    given = MercerExpansion(4, "precomputed").fit(Gaussian(1.0)(rows))
    assert_allclose(given.transform(Gaussian(1.0)(X_NEW, rows)), dense.transform(X_NEW), atol=1e-8)
    assert list(dense.get_feature_names_out()) == [f"mercerexpansion{j}" for j in range(4)]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "at least 1"),
        ({"n_components": 41}, "n_components=41, but the matrix"),
        ({"n_components": 4, "kernel": Linear()}, "has 3 positive"),
        ({"kernel": Log()}, "positive definite"),
    ],
)
def test_what_cannot_be_is_told(parameters, message):
    with pytest.raises(ValueError, match=message):
        MercerExpansion(**parameters).fit(X)


def test_an_indefinite_kernel_and_wrong_values_are_told():
    with pytest.warns(IndefiniteKernelWarning):
        model = MercerExpansion(kernel=Sigmoid(2.0, -1.0)).fit(X)
    with pytest.raises(ValueError, match="values are of 3 points, the expansion of 40"):
        model.rkhs_norm(np.ones(3))
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.sample(X, 0)


def test_a_view_of_the_rows_is_expanded():
    view = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.0]])
    model = MercerExpansion(4, Gaussian(1.0).after(view)).fit(X)
    alone = MercerExpansion(4, Gaussian(1.0)).fit(X @ view)
    assert_allclose(model.transform(X_NEW), alone.transform(X_NEW @ view), atol=1e-9)
