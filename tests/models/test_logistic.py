"""Logistic loss with kernel and free features: against its optimality conditions, SciPy and scikit-learn."""

import numpy as np
import pytest
import reference
from grls import GRLogisticClassifier, NotPositiveDefiniteError
from grls._solvers import memory as _memory
from grls.exceptions import DependentFeaturesWarning
from grls.kernels import Gaussian, Linear, Sigmoid
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier


def data(m, d=2, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.where(X[:, 0] + X[:, -1] ** 2 - 1 + noise * rng.normal(size=m) > 0, 1, -1)


def parts(model, X):
    """Kernel matrix and features at the training points."""
    Phi = model.kernel_.matrix(model.X_fit_, model.X_fit_)
    T = np.empty((len(X), 0)) if model.features_ is None else model.features_.transform(X)
    return Phi, np.asarray(T)


# The minimum.


@given(
    st.integers(8, 60),
    st.integers(0, 10**6),
    st.sampled_from([1e-1, 1e-3, 1e-6]),
    st.sampled_from([None, "constant", "linear"]),
    st.booleans(),
)
def test_the_solution_satisfies_the_optimality_conditions(m, seed, gamma, features, weighted):
    X, y = data(m, seed=seed, noise=3.0)
    y[:4] = [1, -1, 1, -1]
    X[1], X[3] = X[0], X[2]  # the same points with both labels: no features separate them
    X[4], y[4], X[5], y[5] = -X[0] - X[2], 1, -X[0] - X[2], -1
    s = np.random.default_rng(seed).uniform(0.5, 2, m) if weighted else np.ones(m)
    model = GRLogisticClassifier(Gaussian(1.0), features=features, regularization=gamma, tol=1e-12)
    model.fit(X, y, s if weighted else None)
    Phi, T = parts(model, X)
    c, beta = model.dual_coef_[:, 0], model.feature_coef_[:, 0]
    f = Phi @ c + T @ beta
    assert_allclose(2 * gamma * s.sum() * c, reference.logistic_slopes(f, y, s), atol=1e-5)
    assert_allclose(T.T @ c, 0, atol=1e-8 * max(1, np.abs(c).max()))
    assert_allclose(model.objective_[0], reference.logistic_objective(Phi, T, y, gamma, c, beta, s))


@pytest.mark.parametrize("features", [None, "constant", "linear"])
def test_scipy_finds_no_lower_objective(features):
    X, y = data(25)
    gamma = 1e-2
    model = GRLogisticClassifier(Gaussian(1.0), features=features, regularization=gamma).fit(X, y)
    Phi, T = parts(model, X)
    N = reference.null_space(T)
    n = N.shape[1]

    def objective(v):
        return reference.logistic_objective(Phi, T, y, gamma, N @ v[:n], v[n:])

    found = minimize(objective, np.zeros(n + T.shape[1]), method="BFGS", options={"gtol": 1e-7})
    assert model.objective_[0] <= found.fun + 1e-9
    assert_allclose(model.objective_[0], found.fun, atol=1e-6)
    f = Phi @ (N @ found.x[:n]) + T @ found.x[n:]
    assert_allclose(model.decision_function(X), f, atol=1e-2)


def test_the_linear_kernel_is_scikit_learns_logistic_regression():
    X, y = data(200, d=5)
    gamma = 1e-3
    peer = LogisticRegression(C=1 / (2 * gamma * 200), tol=1e-10, max_iter=10000).fit(X, y)
    model = GRLogisticClassifier("linear", regularization=gamma).fit(X, y)
    assert_allclose(model.X_fit_.T @ model.dual_coef_[:, 0], peer.coef_[0], atol=1e-5)
    assert_allclose(model.feature_coef_[0], peer.intercept_, atol=1e-5)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


def test_free_features_alone_are_logistic_regression_without_penalty():
    X, y = data(300, d=2)
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization=1e6, tol=1e-12).fit(X, y)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10000).fit(X, y)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_feature_variance_is_a_kernel_of_the_features(weighted):
    X, y = data(50)
    s = np.random.default_rng(1).integers(1, 4, 50).astype(float) if weighted else np.ones(50)
    t = 0.7
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", feature_variance=t, regularization=1e-2)
    model.fit(X, y, s)
    Phi, T = parts(model, X)
    K = Phi + reference.feature_kernel(T, T, T, t, s)
    plain = GRLogisticClassifier("precomputed", features="constant", regularization=1e-2)
    plain.fit(K, y, s)
    assert_allclose(model.decision_function(X), plain.decision_function(K), atol=1e-8)
    features, learnt = model.decompose(X)
    assert_allclose(learnt, Phi @ plain.dual_coef_[:, 0], atol=1e-8)
    assert np.abs(features).max() > 0.01


def test_feature_variance_goes_from_no_features_to_free_ones():
    X, y = data(60)

    def answer(**parameters):
        return GRLogisticClassifier(Gaussian(1.0), regularization=1e-2, **parameters).fit(X, y)

    free = answer(features="linear").decision_function(X)
    none = answer(features="constant").decision_function(X)
    assert_allclose(answer(features="linear", feature_variance=0).decision_function(X), none, atol=1e-10)
    large = answer(features="linear", feature_variance=1e8).decision_function(X)
    assert_allclose(large, free, atol=1e-4)


def test_little_regularization_is_still_minimised():
    X, y = data(60)
    for gamma in (1e-8, 1e-10):
        model = GRLogisticClassifier(Gaussian(0.3), regularization=gamma).fit(X, y)
        assert model.score(X, y) == 1.0
        assert np.all(np.isfinite(model.dual_coef_))


# Weights and classes.


def test_weight_two_is_the_row_twice_and_weight_zero_no_row():
    X, y = data(40)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    model = GRLogisticClassifier(Gaussian(1.0), regularization=1e-2, tol=1e-12)
    for variance in (np.inf, 0.5):
        model.set_params(feature_variance=variance, features="linear")
        weighted = model.fit(X, y, counts).decision_function(X)
        repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).decision_function(X)
        assert_allclose(weighted, repeated, atol=1e-7)


def test_balanced_classes_weigh_the_same():
    X, y = data(80, noise=0.5)
    balanced = GRLogisticClassifier(regularization=1e-3, class_weight="balanced").fit(X, y)
    by_hand = np.where(y > 0, 40 / (y > 0).sum(), 40 / (y < 0).sum())
    expected = GRLogisticClassifier(regularization=1e-3).fit(X, y, by_hand)
    assert_allclose(balanced.decision_function(X), expected.decision_function(X), atol=1e-8)


def test_several_classes_may_be_learnt_one_versus_the_rest():
    X, _ = data(90)
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    labels[:9] = np.tile(["a", "b", "c"], 3)
    model = GRLogisticClassifier(Gaussian(1.0), regularization=1e-2, multi_class="ovr").fit(X, labels)
    rest = OneVsRestClassifier(GRLogisticClassifier(Gaussian(1.0), regularization=1e-2)).fit(X, labels)
    assert_allclose(model.predict_proba(X), rest.predict_proba(X), atol=1e-8)
    assert_array_equal(model.predict(X), rest.predict(X))
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert model.n_iter_.shape == (3,)


def test_probabilities_sum_to_one_and_agree_with_their_logarithms():
    X, y = data(60)
    for labels in (y, np.digitize(X[:, 0], [-0.5, 0.5])):
        model = GRLogisticClassifier(regularization=1e-2).fit(X, labels)
        far = np.vstack([X, 1e3 * X])
        probabilities = model.predict_proba(far)
        assert np.all((probabilities >= 0) & (probabilities <= 1))
        assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
        assert_allclose(np.exp(model.predict_log_proba(far)), probabilities)
        assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(far))


def test_impossible_classes_keep_finite_logarithms():
    X, y = data(60)
    model = GRLogisticClassifier(Linear(), regularization=1e-4).fit(X, y)
    assert np.all(np.isfinite(model.predict_log_proba(1e5 * X)))


def test_the_parts_add_up_to_the_decision():
    X, y = data(60)
    model = GRLogisticClassifier(features="linear", regularization=1e-2).fit(X, y)
    features, learnt = model.decompose(X)
    assert_allclose(features + learnt, model.decision_function(X))


# Ways to give the data.


def test_sparse_precomputed_and_function_kernels_agree():
    X, y = data(50, d=6)
    X[np.abs(X) < 0.5] = 0
    expected = GRLogisticClassifier(Linear(), regularization=1e-2).fit(X, y).decision_function(X)
    S = sparse.csr_matrix(X)
    found = [
        GRLogisticClassifier(Linear(), regularization=1e-2).fit(S, y).decision_function(S),
        GRLogisticClassifier("precomputed", regularization=1e-2).fit(X @ X.T, y).decision_function(X @ X.T),
        GRLogisticClassifier(lambda A, B: A @ B.T, regularization=1e-2).fit(X, y).decision_function(X),
    ]
    for values in found:
        assert_allclose(values, expected, atol=1e-8)


def test_where_memory_is_short_the_kernel_is_computed_again(monkeypatch):
    X, y = data(50)
    expected = GRLogisticClassifier(Gaussian(1.0), regularization=1e-3).fit(X, y)
    monkeypatch.setattr(_memory, "available", lambda: 30_000)
    frugal = GRLogisticClassifier(Gaussian(1.0), regularization=1e-3).fit(X, y)
    with pytest.raises(
        MemoryError, match=r"choosing the regularization of 50 .*give regularization a number"
    ):
        GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    assert_allclose(frugal.decision_function(X), expected.decision_function(X), atol=1e-8)
    with pytest.raises(MemoryError, match="logistic model of 50 samples"):
        GRLogisticClassifier(Gaussian(1.0), feature_variance=1.0).fit(X, y)
    # A matrix of 50 rows and its factor.
    monkeypatch.setattr(_memory, "available", lambda: 8 * 50**2 + _memory.solve_bytes(51, "double"))
    GRLogisticClassifier(Gaussian(1.0), feature_variance=1.0, regularization=1e-3).fit(X, y)
    monkeypatch.setattr(_memory, "available", lambda: 1000)
    with pytest.raises(MemoryError, match="use fewer samples"):
        GRLogisticClassifier(Gaussian(1.0)).fit(X, y)


def test_a_grid_goes_over_its_parameters():
    X, y = data(60)
    search = GridSearchCV(
        GRLogisticClassifier(Gaussian(1.0)),
        {"kernel__sigma": [0.5, 2.0], "regularization": [1e-1, 1e-3]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_dependent_features_are_dropped_with_a_warning():
    X, y = data(60)
    expected = GRLogisticClassifier(Gaussian(1.0), features="linear").fit(X, y)

    def twice(Z):
        return np.column_stack([np.ones(len(Z)), Z, Z[:, :1] * 2])

    for variance in (np.inf, 3.0):
        expected.set_params(feature_variance=variance).fit(X, y)
        with pytest.warns(DependentFeaturesWarning, match="left out"):
            model = GRLogisticClassifier(Gaussian(1.0), features=twice, feature_variance=variance).fit(X, y)
        assert model.feature_support_.sum() == 3
        assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)


# What cannot be.


def separable(m=40):
    X = np.random.default_rng(0).normal(size=(m, 2))
    X[:, 0] += np.sign(X[:, 0])
    return X, X[:, 0] > 0


def test_features_that_separate_alone_are_told_with_the_way_out():
    X, y = separable()
    with pytest.raises(ValueError, match=r"separate the two classes.*feature_variance"):
        GRLogisticClassifier(Gaussian(1.0), features="linear").fit(X, y)
    labels = np.where(y, "yes", np.where(X[:, 1] > 0, "no", "perhaps"))
    with pytest.raises(ValueError, match=r"separate class (perhaps|yes) from the others"):
        GRLogisticClassifier(Gaussian(1.0), features="linear").fit(X, labels)
    for way_out in ({"features": "constant"}, {"feature_variance": 10.0}, {"features": None}):
        model = GRLogisticClassifier(Gaussian(1.0), **{"features": "linear", **way_out}).fit(X, y)
        assert model.score(X, y) == 1.0


def test_features_that_separate_some_samples_only_are_told_too():
    X, y = data(60)
    indicator = np.zeros(60)
    indicator[np.flatnonzero(y > 0)[:3]] = 1  # only positive samples have it: its coefficient is infinite

    def features(Z):
        return np.column_stack([np.ones(len(Z)), indicator[: len(Z)]])

    with pytest.raises(ValueError, match="separate"):
        GRLogisticClassifier(Gaussian(1.0), features=features).fit(X, y)
    mixed = indicator.copy()
    mixed[np.flatnonzero(y < 0)[0]] = 1

    def overlapping(Z):
        return np.column_stack([np.ones(len(Z)), mixed[: len(Z)]])

    assert GRLogisticClassifier(Gaussian(1.0), features=overlapping).fit(X, y).n_iter_[0] < 20


def test_confident_models_are_not_taken_for_separated_ones():
    X, y = separable()
    X = np.vstack([X, [[2.0, 0.0], [2.0, 0.0]]])
    y = np.concatenate([y, [True, False]])
    model = GRLogisticClassifier(Gaussian(0.5), features="linear", regularization=1e-9).fit(X, y)
    assert np.abs(model.decision_function(X)).max() > 8


def test_too_few_steps_are_told():
    X, y = data(60)
    with pytest.warns(ConvergenceWarning, match=r"after 1 steps.*max_iter"):
        GRLogisticClassifier(regularization=1e-5, max_iter=1).fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = separable()
    model = GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="separate"):
        model.set_params(features="linear").fit(X, y)
    assert_array_equal(model.decision_function(X), before)


def test_an_indefinite_kernel_is_told():
    X, y = data(60)
    with pytest.raises(NotPositiveDefiniteError, match=r"Sigmoid.*larger regularization"):
        GRLogisticClassifier(Sigmoid(3.0, -2.0), regularization=1e-8).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"regularization": 0}, ValueError, "regularization must be greater than 0"),
        ({"regularization": "reml"}, ValueError, "regularization .*must be .*'loo'"),
        ({"regularization": None}, TypeError, "regularization must be a number"),
        ({"regularization_grid": 1}, ValueError, "regularization_grid must be at least 2"),
        ({"regularization_grid": [1e-3, 0.0]}, ValueError, "regularization_grid must hold positive"),
        ({"multi_class": "auto"}, ValueError, "multi_class must be"),
        ({"feature_variance": -1}, ValueError, "feature_variance must be at least 0"),
        ({"feature_variance": "auto"}, TypeError, "feature_variance must be a number"),
        ({"tol": 0}, ValueError, "tol must be greater"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
    ],
)
def test_bad_parameters_are_told(parameters, error, message):
    X, y = data(20)
    with pytest.raises(error, match=message):
        GRLogisticClassifier(**parameters).fit(X, y)
