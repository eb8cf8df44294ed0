"""The Gaussian prior on the weights: against the equations, and between the routes to the solution."""

import pickle

import numpy as np
import pandas as pd
import pytest
import reference
from builders import with_threads
from grls import (
    GRLSClassifier,
    GRLSRegressor,
    LowRankCovariance,
    NotPositiveDefiniteError,
    PriorRLSClassifier,
    PriorRLSRegressor,
    _core,
)
from grls.exceptions import DependentFeaturesWarning
from grls.features import Columns
from grls.kernels import Gaussian, Linear
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV

SHAPES = [(30, 80), (80, 30), (25, 25)]
COVARIANCES = ["none", "scalar", "diagonal", "full", "low rank"]


def data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, rng.normal(size=n) + X[:, 0], rng.normal(size=d)


def random_rows(n, d, per_row):
    """Sparse rows; `scipy.sparse.random` takes long for many columns."""
    rng = np.random.default_rng(1)
    entries = rng.random(n * per_row), (np.repeat(np.arange(n), per_row), rng.integers(0, d, n * per_row))
    return sparse.csr_matrix(entries, shape=(n, d))


def covariance_of(kind, d, seed=1):
    """What an estimator takes, and the whole matrix."""
    rng = np.random.default_rng(seed)
    variances, factor = rng.uniform(0.1, 3, d), rng.normal(size=(d, 3))
    A = rng.normal(size=(d, d))
    full = A @ A.T / d + 0.1 * np.eye(d)
    return {
        "none": (None, np.eye(d)),
        "scalar": (2.5, 2.5 * np.eye(d)),
        "diagonal": (variances, np.diag(variances)),
        "full": (full, full),
        "low rank": (LowRankCovariance(variances, factor), np.diag(variances) + factor @ factor.T),
    }[kind]


# The equations.


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_exact_solution_is_the_most_probable_one(n, d, kind, solver):
    X, y, mean = data(n, d)
    given_covariance, Sigma = covariance_of(kind, d)
    weights = np.random.default_rng(2).uniform(0.5, 2, n)
    w, beta = reference.prior_map(X, np.ones((n, 1)), y, mean, Sigma, 0.3, weights)
    model = PriorRLSRegressor(mean, given_covariance, regularization=0.3, solver=solver, tol=1e-13)
    for matrix in (X, sparse.csr_matrix(X)):
        model.fit(matrix, y, weights)
        assert_allclose(model.coef_, w, atol=1e-9)
        assert_allclose(model.feature_coef_, beta, atol=1e-9)
        assert model.solver_ == solver
        assert_allclose(model.predict(matrix), X @ w + beta, atol=1e-8)


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_published_solution_is_equation_7_to_the_letter(n, d, kind):
    X, y, mean = data(n, d)
    given_covariance, Sigma = covariance_of(kind, d)
    expected = reference.prior_published(X, y, mean, Sigma, 0.3)
    model = PriorRLSRegressor(
        mean, given_covariance, features=None, regularization=0.3, formulation="published"
    )
    assert_allclose(model.fit(X, y).coef_, expected, atol=1e-8)
    assert_allclose(model.fit(sparse.csr_matrix(X), y).coef_, expected, atol=1e-8)


def test_equation_7_holds_where_rows_repeat():
    X, y, mean = data(20, 50)
    X, y = np.vstack([X, X[:5]]), np.concatenate([y, y[:5] + 1])
    variances, Sigma = covariance_of("diagonal", 50)
    model = PriorRLSRegressor(mean, variances, features=None, formulation="published").fit(X, y)
    assert_allclose(model.coef_, reference.prior_published(X, y, mean, Sigma), atol=1e-7)


@given(st.integers(2, 25), st.integers(1, 30), st.integers(0, 10**6), st.sampled_from(COVARIANCES[2:]))
def test_the_exact_objective_is_never_above_the_published_one(n, d, seed, kind):
    X, y, mean = data(n, d, seed)
    given_covariance, Sigma = covariance_of(kind, d, seed)
    if not X.any():
        return
    T = np.empty((n, 0))
    value = {}
    for formulation in ("exact", "published"):
        model = PriorRLSRegressor(mean, given_covariance, features=None, formulation=formulation).fit(X, y)
        value[formulation] = reference.prior_objective(X, T, y, model.coef_, np.empty(0), mean, Sigma)
    assert value["exact"] <= value["published"] * (1 + 1e-9) + 1e-12


def test_published_loses_with_few_samples_and_not_with_many():
    X, y, mean = data(30, 80)
    variances, Sigma = covariance_of("diagonal", 80)
    objectives = [
        reference.prior_objective(
            X,
            np.empty((30, 0)),
            y,
            PriorRLSRegressor(covariance=variances, features=None, formulation=f).fit(X, y).coef_,
            np.empty(0),
            0 * mean,
            Sigma,
        )
        for f in ("exact", "published")
    ]
    assert objectives[1] > 1.05 * objectives[0]
    X, y, _ = data(80, 30)
    variances, _ = covariance_of("diagonal", 30)
    exact, published = (
        PriorRLSRegressor(covariance=variances, formulation=f).fit(X, y).coef_ for f in ("exact", "published")
    )
    assert_allclose(exact, published, atol=1e-12)


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("regularization", [0.1, "loo", "gcv", "reml"])
def test_a_prior_of_identity_is_plain_least_squares(n, d, regularization):
    X, y, _ = data(n, d)
    y = np.column_stack([y, X @ np.arange(d) + 20 * y])
    plain = GRLSRegressor(Linear(), features="constant", regularization=regularization, per_output=False)
    model = PriorRLSRegressor(regularization=regularization).fit(X, y)
    plain.fit(X, y)
    assert_allclose(model.regularization_, plain.regularization_)
    assert_allclose(model.predict(X), plain.predict(X), atol=1e-7)
    if regularization in ("loo", "gcv", "reml"):
        assert_allclose(model.criterion_path_, plain.criterion_path_, rtol=1e-3, atol=1e-3)
    if regularization == "loo":
        assert_allclose(model.loo_predictions_, plain.loo_predictions_, atol=1e-6)
        assert_allclose(model.loo_score_, plain.loo_score_, atol=1e-6)


def test_the_peers_alpha_is_the_regularization_times_the_samples():
    X, y, _ = data(60, 20)
    ridge = Ridge(alpha=0.2 * 60).fit(X, y)
    model = PriorRLSRegressor(regularization=0.2).fit(X, y)
    assert_allclose(model.coef_, ridge.coef_, atol=1e-10)
    assert_allclose(model.feature_coef_[0], ridge.intercept_, atol=1e-10)
    labels = np.digitize(y, [-0.5, 0.5])
    peer = RidgeClassifier(alpha=0.2 * 60).fit(X, labels)
    classifier = PriorRLSClassifier(regularization=0.2).fit(X, labels)
    assert_allclose(classifier.coef_, peer.coef_, atol=1e-10)
    assert_array_equal(classifier.predict(X), peer.predict(X))


def test_a_column_of_growing_variance_tends_to_a_free_feature():
    X, y, _ = data(40, 60)
    free = PriorRLSRegressor(
        covariance=np.ones(59), features=lambda Z: np.column_stack([np.ones(len(Z)), Z[:, :1]])
    )
    distances = []
    for variance in (1.0, 1e3, 1e6, 1e9):
        model = PriorRLSRegressor(covariance=np.r_[variance, np.ones(59)]).fit(X, y)
        # The same columns, but the first one as a feature: its own weight has no variance left to use.
        limit = PriorRLSRegressor(covariance=np.r_[1e-12, np.ones(59)], features=free.features).fit(X, y)
        distances.append(np.abs(model.predict(X) - limit.predict(X)).max())
    assert_allclose(distances[-1], 0, atol=1e-6)
    assert distances == sorted(distances, reverse=True)


def test_a_small_variance_holds_a_weight_at_its_mean():
    X, y, mean = data(40, 10)
    model = PriorRLSRegressor(mean, np.r_[1e-12, np.ones(9)]).fit(X, y)
    assert_allclose(model.coef_[0], mean[0], atol=1e-8)
    assert np.all(np.abs(model.coef_[1:] - mean[1:]) > 1e-6)


def test_each_output_may_have_a_mean_of_its_own():
    X, y, mean = data(30, 12)
    means = np.stack([mean, -mean])
    both = PriorRLSRegressor(means).fit(X, np.column_stack([y, -2 * y]))
    for p, target in enumerate((y, -2 * y)):
        alone = PriorRLSRegressor(means[p]).fit(X, target)
        assert_allclose(both.coef_[p], alone.coef_, atol=1e-12)
        assert_allclose(both.predict(X)[:, p], alone.predict(X), atol=1e-12)


# Weights, classes, features.


def test_weight_two_is_the_row_twice_and_weight_zero_no_row():
    X, y, mean = data(30, 12)
    counts = np.random.default_rng(0).integers(0, 4, 30)
    for regularization in (0.5, "loo"):
        for solver in ("cholesky", "cg"):
            model = PriorRLSRegressor(mean, regularization=regularization, solver=solver, tol=1e-12)
            weighted = model.fit(X, y, counts).coef_
            repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).coef_
            assert_allclose(weighted, repeated, atol=1e-9)


def test_leave_one_out_with_few_columns_is_what_leaving_out_gives():
    X, y, mean = data(40, 7)
    variances = np.linspace(0.5, 2, 7)
    weights = np.random.default_rng(0).uniform(0.5, 2, 40)
    model = PriorRLSRegressor(mean, variances, regularization="loo").fit(X, y, weights)
    for i in (0, 7, 39):
        rest = weights.copy()
        rest[i] = 0
        # The removed sample keeps ρ Σw.
        rho = model.regularization_ * weights.sum() / rest.sum()
        alone = PriorRLSRegressor(mean, variances, regularization=rho).fit(X, y, rest)
        assert_allclose(alone.predict(X[i : i + 1])[0], model.loo_predictions_[i], atol=1e-8)


def test_several_classes_are_learnt_one_versus_all():
    X, y, _ = data(90, 15)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.8])]
    variances = np.linspace(0.5, 2, 15)
    model = PriorRLSClassifier(covariance=variances, regularization=0.1).fit(X, labels)
    for p, name in enumerate("abc"):
        target = np.where(labels == name, 1.0, -1.0)
        w, beta = reference.prior_map(X, np.ones((90, 1)), target, np.zeros(15), np.diag(variances), 0.1)
        assert_allclose(model.coef_[p], w, atol=1e-10)
        assert_allclose(model.feature_coef_[0, p], beta[0], atol=1e-10)
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert model.decision_function(X).shape == (90, 3)
    plain = GRLSClassifier(Linear(), regularization=0.1).fit(X, labels)
    assert_array_equal(PriorRLSClassifier(regularization=0.1).fit(X, labels).predict(X), plain.predict(X))


def test_balanced_classes_weigh_the_same():
    X, y, _ = data(60, 5)
    labels = y > 1
    balanced = PriorRLSClassifier(class_weight="balanced").fit(X, labels)
    by_hand = np.where(labels, 30 / labels.sum(), 30 / (~labels).sum())
    assert_allclose(balanced.coef_, PriorRLSClassifier().fit(X, labels, by_hand).coef_, atol=1e-12)
    assert balanced.coef_.shape == (1, 5)


def test_the_parts_add_up_to_the_prediction():
    X, y, _ = data(40, 6)
    model = PriorRLSRegressor(features="linear", covariance=1e-3).fit(X, y)
    features, learnt = model.decompose(X)
    assert_allclose(features + learnt, model.predict(X), atol=1e-12)
    assert_allclose(learnt, X @ model.coef_, atol=1e-12)


def test_dependent_features_are_dropped_with_a_warning_by_every_solver():
    X, y, _ = data(40, 60)
    for solver in ("cholesky", "cg"):
        with pytest.warns(DependentFeaturesWarning, match="left out"):
            model = PriorRLSRegressor(features=lambda Z: np.ones((len(Z), 2)), solver=solver).fit(X, y)
        assert model.feature_support_.sum() == 1
        assert_allclose(model.predict(X), PriorRLSRegressor().fit(X, y).predict(X), atol=1e-5)


def test_columns_of_a_frame_serve_as_features():
    pd = pytest.importorskip("pandas")
    X, y, _ = data(40, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = PriorRLSRegressor(features=Columns("c"), covariance=[1.0, 1.0, 1e-9, 1.0]).fit(frame, y)
    assert model.feature_names_free_ == ["1", "c"]
    assert_allclose(model.predict(frame), sum(model.decompose(frame)))


# Conjugate gradients.


@pytest.mark.parametrize("n_outputs", [1, 2, 3, 7, 20, 45])
@pytest.mark.parametrize(("n", "d"), [(40, 300), (300, 40)])
def test_all_numbers_of_outputs_are_solved_together(n, d, n_outputs):
    rng = np.random.default_rng(n_outputs)
    X = random_rows(n, d, d // 10)
    Y = rng.normal(size=(n, n_outputs))
    exact = PriorRLSRegressor(regularization=1e-3, solver="cholesky").fit(X, Y)
    for matrix in (X, X.toarray(), X.astype(np.float32)):
        model = PriorRLSRegressor(regularization=1e-3, solver="cg", tol=1e-11).fit(matrix, Y)
        assert_allclose(model.coef_, exact.coef_, atol=1e-6 if matrix.dtype == np.float32 else 1e-8)


def test_the_number_of_threads_does_not_change_the_answer():
    Y = np.random.default_rng(0).normal(size=(3000, 3))
    for X in (random_rows(3000, 5000, 25), random_rows(3000, 700, 25), random_rows(3000, 400, 25).toarray()):
        model = PriorRLSRegressor(regularization=1e-3, solver="cg")
        answers = with_threads(lambda model=model, X=X: model.fit(X, Y).coef_)
        assert_array_equal(answers[1], answers[0])
        assert_array_equal(answers[2], answers[0])


def test_the_residual_is_that_of_the_solution():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 120)), rng.normal(size=(50, 2))
    for A in (X, np.ascontiguousarray(X.T)):
        targets = Y if len(A) == 50 else rng.normal(size=(120, 2))
        T = np.empty((len(A), 0))
        problem = {"rows": A, "T": T, "Y": targets, "weights": None, "dependence": 1e-12, "shift": 2.0}
        solution = _core.ridge_cg(**problem, tolerance=1e-4, max_iterations=1000)
        gradient = A.T @ (targets - A @ solution.V) - 2.0 * solution.V
        assert np.all(solution.residuals <= 1e-4)
        assert solution.converged
        assert np.abs(gradient).max() < 1e-2
        tight = _core.ridge_cg(**problem, tolerance=1e-10, max_iterations=1000)
        assert tight.iterations > solution.iterations


def test_too_few_iterations_are_told():
    X, y, _ = data(60, 200)
    model = PriorRLSRegressor(solver="cg", regularization=1e-4, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations at a relative residual .* max_iter"):
        model.fit(X, y)
    assert model.n_iter_ == 2


def test_an_unreachable_tolerance_ends_with_a_warning_and_the_best_there_is():
    X, y, _ = data(30, 50)
    with pytest.warns(ConvergenceWarning, match="relative residual"):
        model = PriorRLSRegressor(solver="cg", regularization=1e-6, tol=1e-30).fit(X, y)
    exact = PriorRLSRegressor(solver="cholesky", regularization=1e-6).fit(X, y)
    assert_allclose(model.coef_, exact.coef_, atol=1e-8)


def test_zero_targets_have_zero_weights():
    X, _, _ = data(30, 50)
    for solver in ("cholesky", "cg"):
        model = PriorRLSRegressor(solver=solver).fit(X, np.zeros(30))
        assert_array_equal(model.coef_, 0)


def test_auto_takes_conjugate_gradients_for_many_sparse_columns_only():
    X = random_rows(4000, 50000, 50)
    y = np.random.default_rng(0).normal(size=4000)
    assert PriorRLSRegressor().fit(X, y).solver_ == "cg"
    assert PriorRLSRegressor().fit(X[:500], y[:500]).solver_ == "cholesky"
    assert PriorRLSRegressor().fit(X[:, :300].toarray(), y).solver_ == "cholesky"


# Selection and composition.


def test_a_grid_goes_over_the_prior():
    X, y, _ = data(60, 10)
    search = GridSearchCV(
        PriorRLSRegressor(), {"covariance": [0.1, np.ones(10)], "regularization": [0.1, 1.0]}, cv=3
    ).fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_duplicate_rows_are_left_out_together():
    X, y, _ = data(30, 5)
    once = PriorRLSRegressor(regularization="loo").fit(X, y, np.full(30, 2.0))
    twice = PriorRLSRegressor(regularization="loo").fit(np.vstack([X, X]), np.concatenate([y, y]))
    assert_allclose(twice.regularization_, once.regularization_)


# Errors.


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (-1.0, "must be positive"),
        (0.0, "must be positive"),
        ([1.0, 1.0, -2.0, 1.0], "column 2 has variance -2"),
        ([1.0, 0.0, 1.0, 1.0], "column 1 has variance 0"),
        ([1.0, 1.0], r"shape \(4,\).*got shape \(2,\)"),
        (np.ones((4, 3)), r"shape \(4, 4\)"),
        (np.eye(5), r"shape \(4, 4\)"),
        (np.triu(np.ones((4, 4))) + np.eye(4), "symmetric"),
        ([1.0, np.nan, 1.0, 1.0], "NaN"),
        (np.full((4, 4), np.inf), "infinity"),
        ("auto", "covariance"),
        (np.ones((4, 4, 4)), "covariance must be"),
        (LowRankCovariance(np.ones(3), np.ones((4, 2))), "covariance.diagonal"),
        (LowRankCovariance(np.ones(4), np.ones((3, 2))), "covariance.factor"),
        (LowRankCovariance(-1.0, np.ones((4, 2))), "covariance.diagonal must be positive"),
    ],
)
def test_a_covariance_that_cannot_be_right_is_told(covariance, message):
    X, y, _ = data(20, 4)
    model = PriorRLSRegressor().fit(X, y)
    before = model.coef_
    with pytest.raises(ValueError, match=message):
        model.set_params(covariance=covariance).fit(X, y)
    assert model.coef_ is before


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((4, 4)),
        np.diag([1.0, 1.0, 0.0, 1.0]),
        np.diag([1.0, 1.0, -1.0, 1.0]),
        np.array([[1.0, 2.0, 0, 0], [2.0, 1.0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
        np.cov(np.random.default_rng(0).normal(size=(4, 3))),
    ],
)
def test_a_covariance_that_is_not_positive_definite_is_told(matrix):
    X, y, _ = data(20, 4)
    with pytest.raises(NotPositiveDefiniteError, match="covariance must be positive definite"):
        PriorRLSRegressor(covariance=matrix).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"regularization": 0}, ValueError, "regularization must be greater than 0"),
        ({"regularization": "cv"}, ValueError, "regularization"),
        ({"solver": "lbfgs"}, ValueError, "solver must be one of"),
        ({"formulation": "dual"}, ValueError, "formulation"),
        ({"tol": 0}, ValueError, "tol must be greater"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"mean": np.ones(3)}, ValueError, r"mean must have shape \(4,\)"),
        ({"mean": [1.0, np.inf, 0, 0]}, ValueError, "infinity"),
    ],
)
def test_bad_parameters_are_told(parameters, error, message):
    X, y, _ = data(20, 4)
    with pytest.raises(error, match=message):
        PriorRLSRegressor(**parameters).fit(X, y)


def test_published_needs_data():
    with pytest.raises(ValueError, match="not all zero"):
        PriorRLSRegressor(features=None, formulation="published").fit(np.zeros((5, 3)), np.arange(5.0))


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_features_that_interpolate_leave_nothing_to_learn(solver):
    with pytest.raises(ValueError, match="interpolate all"):
        PriorRLSRegressor(features=np.asarray, solver=solver).fit(np.eye(4), np.arange(4.0))
    with pytest.raises(ValueError, match="interpolate all"):
        PriorRLSRegressor(features=lambda X: np.eye(4), solver=solver).fit(np.ones((4, 2)), np.arange(4.0))


def test_one_class_is_told():
    with pytest.raises(ValueError, match="one class"):
        PriorRLSClassifier().fit(np.eye(3), [1, 1, 1])


def test_the_core_checks_what_it_is_given():
    A, T, Y = np.ones((5, 3)), np.empty((5, 0)), np.ones((5, 1))
    good = {"rows": A, "T": T, "Y": Y, "weights": None, "dependence": 1e-12}
    iterated = {"shift": 1.0, "tolerance": 1e-3, "max_iterations": 10}
    for function, rest in (
        (_core.ridge_columns, {"shift": 1.0}),
        (_core.ridge_cg, iterated),
        (_core.ridge_path, {"shifts": np.ones(2), "relative": False}),
    ):
        function(**good, **rest)
        with pytest.raises(ValueError, match="rows"):
            function(**{**good, "rows": A[:4]}, **rest)
        with pytest.raises(ValueError, match="rows"):
            function(**{**good, "T": T[:4]}, **rest)
        with pytest.raises(ValueError, match="sample weights"):
            function(**{**good, "weights": np.ones(4)}, **rest)
        with pytest.raises(ValueError, match="positive"):
            function(**{**good, "weights": np.zeros(5)}, **rest)
    with pytest.raises(ValueError, match="positive regularization"):
        _core.ridge_cg(**{**good, **iterated, "shift": 0.0})
    with pytest.raises(ValueError, match="float64"):
        _core.ridge_cg(**{**good, **iterated, "rows": A.astype(np.float32)})
    with pytest.raises(ValueError, match="tolerance"):
        _core.ridge_cg(**{**good, **iterated, "tolerance": 0.0})
    with pytest.raises(ValueError, match="iteration"):
        _core.ridge_cg(**{**good, **iterated, "max_iterations": 0})


def test_a_model_whose_weights_were_changed_is_told():
    X, y, _ = data(20, 4)
    model = PriorRLSRegressor().fit(X, y)
    model.coef_ = np.full(4, np.nan)
    with pytest.raises(ValueError, match="not finite"):
        model.predict(X)
    model.coef_ = np.ones(3)
    with pytest.raises(ValueError):  # noqa: PT011 - NumPy's words
        model.predict(X)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
@pytest.mark.parametrize("shape", SHAPES)
def test_conjugate_gradients_take_targets_of_any_size(shape, scale):
    X, y, _ = data(*shape)
    model = PriorRLSRegressor(solver="cg", regularization=1e-2, tol=1e-10)
    Y = np.column_stack([y, 1e-100 * y])  # each column in its own unit
    expected = model.fit(X, Y).predict(X) / [1, 1e-100]
    assert_allclose(model.fit(X, scale * y).predict(X) / scale, expected[:, 0], atol=1e-8)
    assert_allclose(expected[:, 1], expected[:, 0], atol=1e-8)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_columns_that_are_features_too_have_no_weights(shape, criterion):
    n, d = shape[0] + 10, shape[1]
    X, y, _ = data(n, d)
    model = PriorRLSRegressor(features="linear", regularization=criterion).fit(X, y)
    A = np.column_stack([np.ones(n), X])
    assert_allclose(model.predict(X), A @ np.linalg.lstsq(A, y, rcond=None)[0], atol=1e-7)


@pytest.mark.parametrize("features", [None, "constant"])
@pytest.mark.parametrize("shape", [(60, 10), (10, 60)])
@pytest.mark.parametrize("estimator", [PriorRLSRegressor, PriorRLSClassifier])
def test_data_whose_squares_overflow_are_refused_by_conjugate_gradients(estimator, shape, features):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), np.arange(shape[0]) % 2
    model = estimator(solver="cg", regularization=1e-3, features=features)
    with pytest.raises(ValueError, match=r"overflow.*scale"):
        model.fit(1e155 * X, y)


def test_free_features_may_be_in_any_units_far_from_the_origin():
    rng = np.random.default_rng(5)
    x = 1e5 + rng.normal(size=(12, 1))
    y = 3.0 - x[:, 0] / 2 + 0.1 * rng.normal(size=12)
    line = np.polyval(np.polyfit(x[:, 0] - 1e5, y, 1), x[:, 0] - 1e5)
    for unit in (1.0, 1e32):
        model = PriorRLSRegressor(features="linear", regularization=unit**2).fit(unit * x, y)
        np.testing.assert_allclose(model.predict(unit * x), line, rtol=0, atol=1e-7)


@pytest.mark.parametrize("unit", [1e80, 1e-80])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_columns_whose_squares_leave_floating_point_are_refused_by_name(criterion, unit):
    """The choice ended at the largest regularization, without a word."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=30)
    with pytest.raises(ValueError, match="columns of X, times the prior's standard deviations"):
        PriorRLSRegressor(regularization=criterion).fit(unit * X, y)


# The posterior of the weights.


def dense_posterior(X, T, weights, S, rho, y, noise=None):
    """Means and covariance of (w, β) by the normal equations; the noise is given, or what the rows tell."""
    A = np.hstack([X, T])
    shift = rho * weights.sum()
    P = np.zeros((A.shape[1], A.shape[1]))
    P[: len(S), : len(S)] = shift * np.diag(1 / S)
    inverse = np.linalg.inv(A.T @ (weights[:, None] * A) + P)
    means = inverse @ (A.T @ (weights * y))
    quadratic = (weights * y) @ (y - A @ means) / shift
    noise = shift * quadratic / (len(y) - T.shape[1]) if noise is None else noise
    return means, noise * inverse, noise


@pytest.mark.parametrize(("n", "d"), [(40, 3), (15, 30)])
@pytest.mark.parametrize("weighted", [False, True])
def test_deviations_are_those_of_the_posterior_of_the_weights(n, d, weighted):
    rng = np.random.default_rng(d)
    X, new = rng.normal(size=(n, d)), rng.normal(size=(4, d))
    y, S = X @ rng.normal(size=d) + 1 + 0.2 * rng.normal(size=n), rng.uniform(0.5, 2, size=d)
    weights = rng.uniform(0.5, 2, size=n) if weighted else np.ones(n)
    model = PriorRLSRegressor(covariance=S, features="linear" if d == 3 else "constant", regularization=0.01)
    if d == 3:  # columns that are free too would repeat those with a prior
        model.set_params(features=lambda rows: np.column_stack([np.ones(len(rows)), rows[:, 0] ** 2]))
    model.fit(X, y, weights if weighted else None)
    T_of = (lambda rows: np.column_stack([np.ones(len(rows)), rows[:, 0] ** 2])) if d == 3 else None
    T, T_new = (np.ones((len(rows), 1)) if T_of is None else T_of(rows) for rows in (X, new))
    told = model.summary(n_simulations=0).scale["estimate"][0] if weighted else None
    means, covariance, noise = dense_posterior(X, T, weights, S, 0.01, y, told)
    A = np.hstack([new, T_new])
    predicted, std = model.predict(new, return_std=True)
    assert_allclose(predicted, A @ means, atol=1e-9)
    assert_allclose(std, np.sqrt(np.einsum("ij,jk,ik->i", A, covariance, A)), rtol=1e-8)
    full = model.predict(new, return_cov=True, with_noise=True)[1]
    assert_allclose(full, A @ covariance @ A.T + noise * np.eye(4), rtol=1e-8, atol=1e-12)
    table = model.summary(n_simulations=0).weights
    assert_allclose(table["SD"], np.sqrt(np.diag(covariance)[:d]), rtol=1e-8)
    assert_allclose(table["mean"], means[:d], atol=1e-9)


def test_the_posterior_of_a_kernel_with_a_prior_is_that_of_the_kernel():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    prior = PriorRLSRegressor(kernel=Gaussian(1.0), regularization=1e-2).fit(X, y)
    plain = GRLSRegressor(Gaussian(1.0), regularization=1e-2).fit(X, y)
    inside = X[:5]  # beyond the rows the prior of components knows of no more functions
    assert_allclose(
        prior.predict(inside, return_std=True)[1], plain.predict(inside, return_std=True)[1], rtol=1e-6
    )
    assert np.all(
        prior.predict(new, return_std=True)[1] <= plain.predict(new, return_std=True)[1] * (1 + 1e-9)
    )
    with pytest.raises(ValueError, match="cannot both be True"):
        prior.predict(new, return_std=True, return_cov=True)


def test_several_outputs_and_a_finite_feature_variance_have_deviations_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.1 * rng.normal(size=(30, 2))
    model = PriorRLSRegressor(regularization="loo").fit(X, Y)
    std = model.predict(X[:4], return_std=True)[1]
    alone = PriorRLSRegressor(regularization=model.regularization_).fit(X, Y[:, 1])
    assert_allclose(std[:, 1], alone.predict(X[:4], return_std=True)[1], rtol=1e-9)
    assert model.predict(X[:4], return_cov=True)[1].shape == (4, 4, 2)
    some = PriorRLSRegressor(features=lambda rows: np.column_stack([np.ones(len(rows)), rows[:, :1] ** 2]))
    found = [
        some.set_params(feature_variance=tau).fit(X, Y[:, 0]).predict(X[:4], return_std=True)[1]
        for tau in (1e9, np.inf)
    ]
    # The scale has a degree of freedom more where a feature has a prior.
    assert_allclose(found[0] * np.sqrt(29 / 28), found[1], rtol=1e-5)


def test_deviations_of_a_copy_without_rows_say_so():
    X = np.arange(6.0)[:, None]
    model = PriorRLSRegressor().fit(X, X[:, 0] ** 2)
    model.predict(X, return_std=True)
    with pytest.raises(ValueError, match="standard deviations need them"):
        pickle.loads(pickle.dumps(model)).predict(X, return_std=True)


def test_means_and_variances_go_by_names():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    y = frame.to_numpy() @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=40)
    by_place = PriorRLSRegressor([1.0, 2.0, 3.0], [1.0, 2.0, 9.0]).fit(frame, y)
    mean, variances = pd.Series({"c": 3.0, "a": 1.0, "b": 2.0}), pd.Series({"b": 2.0, "c": 9.0, "a": 1.0})
    by_name = PriorRLSRegressor(mean, variances).fit(frame, y)
    assert_array_equal(by_name.coef_, by_place.coef_)
    full = pd.DataFrame(np.diag(variances), index=list("bca"), columns=list("bca"))
    assert_allclose(PriorRLSRegressor(mean, full).fit(frame, y).coef_, by_place.coef_, rtol=1e-9)
    low = LowRankCovariance(variances, pd.DataFrame({"shared": [0.0] * 3}, index=list("abc")))
    assert_allclose(PriorRLSRegressor(mean, low).fit(frame, y).coef_, by_place.coef_, rtol=1e-9)
    counted = pd.Series([1.0, 2.0, 9.0])
    assert_array_equal(PriorRLSRegressor([1.0, 2.0, 3.0], counted).fit(frame, y).coef_, by_place.coef_)
    with pytest.raises(ValueError, match="and X has no names"):
        PriorRLSRegressor(mean).fit(frame.to_numpy(), y)
    with pytest.raises(ValueError, match=r"lacks \['c'\]"):
        PriorRLSRegressor(mean.rename({"c": "d"})).fit(frame, y)


def test_a_summary_without_kernel_speaks_of_the_prior():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    summary = PriorRLSRegressor(regularization="reml").fit(X, X[:, 0] + 0.1 * rng.normal(size=40)).summary()
    assert "kernel" not in str(summary)
    assert list(summary.scale.rows) == ["noise variance", "prior variance"]
    assert summary.weights["P(> 0)"][0] > 0.999
