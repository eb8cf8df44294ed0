"""Several classes at once: against SciPy, scikit-learn, optimality, and dense matrices."""

import numpy as np
import pytest
import reference
from grls import GRLogisticClassifier
from grls.kernels import Gaussian, ThinPlate
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression


def data(m, k=3, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    f = np.column_stack([np.sin(c + 2 * X[:, 0]) + c * X[:, -1] / k for c in range(k)])
    y = (2 * f + rng.gumbel(size=f.shape)).argmax(axis=1)
    y[: 2 * k] = np.tile(np.arange(k), 2)
    return X, y


def one_hot(y):
    return (y[:, None] == np.unique(y)).astype(float)


def parts(model, X):
    Phi = model.kernel_.matrix(model.X_fit_, model.X_fit_)
    return Phi, np.asarray(model.features_.transform(X)) if model.features_ is not None else np.empty(
        (len(X), 0)
    )


@given(
    st.integers(12, 50),
    st.integers(2, 5),
    st.integers(0, 10**6),
    st.sampled_from([1e-1, 1e-3, 1e-6]),
    st.sampled_from([None, "constant", "linear"]),
    st.booleans(),
)
def test_the_solution_satisfies_the_optimality_conditions(m, k, seed, gamma, features, weighted):
    k = max(k, 3)
    X, y = data(m, k, seed=seed)
    X = np.vstack(
        [X, np.repeat(X[:3], k, axis=0)]
    )  # three points with every label: no features separate them
    y = np.concatenate([y, np.tile(np.arange(k), 3)])
    s = np.random.default_rng(seed).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    model = GRLogisticClassifier(Gaussian(1.0), features=features, regularization=gamma, tol=1e-12)
    model.fit(X, y, s if weighted else None)
    Phi, T = parts(model, X)
    c, beta = model.dual_coef_, model.feature_coef_
    slopes = s[:, None] * (one_hot(y) - softmax(Phi @ c + T @ beta, axis=1))
    assert_allclose(2 * gamma * s.sum() * c, slopes, atol=1e-5)
    assert_allclose(T.T @ c, 0, atol=1e-8 * max(1, np.abs(c).max()))
    assert_allclose(c.sum(axis=1), 0, atol=1e-8 * max(1, np.abs(c).max()))
    expected = reference.multinomial_objective(Phi, T, one_hot(y), gamma, c, beta, s)
    assert_allclose(model.objective_, [expected])


@pytest.mark.slow
def test_scipy_finds_the_same_minimum():
    X, y = data(20)
    gamma = 1e-2
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=gamma, tol=1e-14).fit(X, y)
    Phi, T = parts(model, X)
    N = reference.null_space(T)
    n = N.shape[1]

    def objective(v):
        v = v.reshape(-1, 3)
        return reference.multinomial_objective(Phi, T, one_hot(y), gamma, N @ v[:n], v[n:])

    found = minimize(objective, np.zeros(3 * (n + 3)), method="BFGS", options={"gtol": 1e-8, "maxiter": 5000})
    v = found.x.reshape(-1, 3)
    f = Phi @ (N @ v[:n]) + T @ v[n:]
    assert_allclose(model.objective_[0], found.fun, atol=1e-9)
    assert_allclose(model.predict_proba(X), softmax(f, axis=1), atol=1e-4)


@pytest.mark.parametrize("gamma", [1e-2, 1e-3, 1e-5])
def test_the_linear_kernel_is_scikit_learns_multinomial_regression(gamma):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = LogisticRegression(C=1 / (2 * gamma * 150), tol=1e-12, max_iter=10**5).fit(X, y)
    model = GRLogisticClassifier("linear", regularization=gamma, tol=1e-14).fit(X, y)
    assert_allclose(model.X_fit_.T @ model.dual_coef_, peer.coef_.T, atol=1e-6 / gamma**0.5)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)


def test_free_features_alone_are_multinomial_regression_without_penalty():
    X, y = data(300)
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=1e6, tol=1e-13).fit(X, y)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10000).fit(X, y)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


def test_a_conditionally_definite_kernel_has_a_minimum_too():
    X, y = data(60)
    model = GRLogisticClassifier(ThinPlate(), features="linear", regularization=1e-3, tol=1e-12).fit(X, y)
    Phi, T = parts(model, X)
    slopes = one_hot(y) - softmax(Phi @ model.dual_coef_ + T @ model.feature_coef_, axis=1)
    assert_allclose(2e-3 * 60 * model.dual_coef_, slopes, atol=1e-6)


def test_a_feature_variance_is_a_kernel_of_the_features():
    X, y = data(50)
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", feature_variance=0.7, regularization=1e-2)
    model.fit(X, y)
    Phi, T = parts(model, X)
    K = Phi + reference.feature_kernel(T, T, T, 0.7, np.ones(50))
    plain = GRLogisticClassifier("precomputed", regularization=1e-2).fit(K, y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(K), atol=1e-6)


def test_weight_two_is_the_row_twice_and_weight_zero_no_row():
    X, y = data(40)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    model = GRLogisticClassifier(Gaussian(1.0), regularization=1e-2, tol=1e-12, features="linear")
    weighted = model.fit(X, y, counts).decision_function(X)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).decision_function(X)
    assert_allclose(weighted, repeated, atol=1e-6)


def test_the_functions_are_the_logarithms_of_the_probabilities():
    X, y = data(60)
    model = GRLogisticClassifier(Gaussian(1.0), regularization=1e-2).fit(X, np.array(["a", "b", "c"])[y])
    f = model.decision_function(X)
    assert_allclose(softmax(f, axis=1), model.predict_proba(X))
    assert_allclose(f.sum(axis=1), 0, atol=1e-6)
    assert_array_equal(model.classes_[f.argmax(axis=1)], model.predict(X))
    assert model.n_iter_.shape == model.objective_.shape == (1,)


def test_two_classes_have_one_function_either_way():
    X, y = data(60)
    one, other = (
        GRLogisticClassifier(Gaussian(1.0), regularization=1e-2, multi_class=how).fit(X, y > 0)
        for how in ("multinomial", "ovr")
    )
    assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_features_that_separate_classes_together_are_told():
    """No class is separated from all others, but between the second and the third the feature decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = rng.integers(0, 3, 60)

    def side(Z):
        inside = {tuple(row): label for row, label in zip(X, y, strict=True)}
        labels = np.array([inside.get(tuple(row), 0) for row in Z])
        return np.column_stack([np.ones(len(Z)), (labels == 2) * 1.0 - (labels == 1)])

    with pytest.raises(
        ValueError, match=r"separate (the classes|class \d from the others).*feature_variance"
    ):
        GRLogisticClassifier(Gaussian(1.0), features=side, regularization=1e-2).fit(X, y)


# How sure the functions are.


@pytest.mark.parametrize("features", [None, "constant", "linear"])
@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_the_std_is_that_of_the_dense_gaussian(features, multi_class):
    X, y = data(25)
    s = np.random.default_rng(1).uniform(0.5, 2, 25)
    new = np.random.default_rng(2).normal(size=(7, 2))
    model = GRLogisticClassifier(
        Gaussian(1.0), features=features, regularization=1e-2, multi_class=multi_class, tol=1e-13
    ).fit(X, y, s)
    values, std = model.decision_function(new, return_std=True)
    assert_array_equal(values, model.decision_function(new))
    Phi, T = parts(model, X)
    T_new = np.empty((7, 0)) if features is None else np.asarray(model.features_.transform(new))
    f, cross = model.decision_function(X), model.kernel_.matrix(X, new)
    common = (Phi, cross, np.ones(7), T, T_new)
    if multi_class == "ovr":
        p = 1 / (1 + np.exp(-f))
        W = s[:, None] * p * (1 - p)
        expected = [
            reference.laplace_covariance(*common, W[:, c, None, None], 2e-2 * s.sum())[:, 0, 0]
            for c in range(3)
        ]
        expected = np.stack(expected, axis=1)
    else:
        p, U = softmax(f, axis=1), reference.zero_sum_basis(3)
        W = [w * U.T @ (np.diag(q) - np.outer(q, q)) @ U for q, w in zip(p, s, strict=True)]
        covariance = reference.laplace_covariance(*common, np.array(W), 2e-2 * s.sum())
        expected = np.diagonal(U @ covariance @ U.T, axis1=1, axis2=2)
    assert_allclose(std**2, expected, rtol=1e-6)


def test_the_std_of_two_classes_and_of_features_with_a_prior():
    X, y = data(30)
    y, new = y > 0, np.random.default_rng(2).normal(size=(7, 2))
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=1e-2, tol=1e-13)
    model.set_params(feature_variance=0.7).fit(X, y)
    T = parts(model, X)[1]
    T_new = np.asarray(model.features_.transform(new))
    rows, both = np.vstack([X, new]), np.vstack([T, T_new])
    K = model.kernel_.matrix(rows, rows) + reference.feature_kernel(both, both, T, 0.7, np.ones(30))
    p = model.predict_proba(X)[:, 1]
    expected = reference.laplace_covariance(
        K[:30, :30],
        K[:30, 30:],
        np.diagonal(K)[30:],
        np.ones((30, 1)),
        np.ones((7, 1)),
        (p * (1 - p))[:, None, None],
        2e-2 * 30,
    )
    assert_allclose(model.decision_function(new, return_std=True)[1] ** 2, expected[:, 0, 0], rtol=1e-6)


def test_far_from_the_data_the_kernel_part_is_the_prior():
    X, y = data(60)
    model = GRLogisticClassifier(Gaussian(1.0), features=None, regularization=1e-2).fit(X, y)
    std = model.decision_function(np.full((1, 2), 1e3), return_std=True)[1]
    assert_allclose(std, np.sqrt(1 / (2e-2 * 60) * (1 - 1 / 3)))
