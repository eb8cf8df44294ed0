"""Support vector machines with a generalised bias: optimality, peers, the paper's programs, and manners."""

import contextlib
import re

import grls
import numpy as np
import pytest
import reference
from builders import PROGRESS, with_threads
from grls import SVMGBClassifier, core
from grls._models.pairs_of_classes import scores_of, votes_of
from grls.exceptions import DependentFeaturesWarning, SeparableFeaturesWarning, SolverError
from grls.features import Columns
from grls.kernels import Gaussian, Laplace, Linear, Log, Polyharmonic, Polynomial, Sigmoid, ThinPlate
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.svm import SVC

SOLVERS = ["native", "ipm"]


def noisy(m=120, d=4, seed=0, flip=0.1):
    """Two classes that overlap."""
    X, y = make_classification(m, d, n_redundant=0, flip_y=flip, class_sep=0.8, random_state=seed)
    return X, y


def free_features(n_features):
    """The constant and functions of no great meaning, as many as wanted."""

    def features(X):
        waves = [np.sin((p + 1) * X[:, p % X.shape[1]] + p) for p in range(n_features - 1)]
        return np.column_stack([np.ones(len(X)), *waves]) if n_features else np.empty((len(X), 0))

    return features


def parts(model, X, y, features):
    """Return Phi, T, ±y, C, c (all samples) and beta of a binary model."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    c = np.zeros(len(y))
    c[model.support_] = model.dual_coef_[:, 0]
    return model.kernel_(X), features(X), signs, np.full(len(y), model.C), c, model.feature_coef_[:, 0]


def separation_told():
    """Features that separate classes alone are told of."""
    return pytest.warns(SeparableFeaturesWarning, match="feature_variance")


# Optimality.


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("n_features", [0, 1, 5, 20])
def test_the_optimality_conditions_hold(solver, C, n_features):
    X, y = noisy()
    features = free_features(n_features)
    model = SVMGBClassifier(Gaussian(1.5), features=features, C=C, solver=solver, tol=1e-6).fit(X, y)
    problem = parts(model, X, y, features)
    feasibility, _ = reference.svm_violation(*problem)
    objective, dual = reference.svm_objective(*problem), reference.svm_dual(*problem[0:1], *problem[2:5:2])
    assert feasibility <= 1e-9 * C * len(y)
    assert -1e-9 * objective <= objective - dual <= 2e-6 * objective
    assert_allclose(model.objective_, objective, rtol=1e-6)
    assert model.duality_gap_[0] <= 1e-6


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("n_features", [0, 1, 5, 20])
def test_margins_of_the_interior_point_method_are_exact(C, n_features):
    X, y = noisy()
    features = free_features(n_features)
    model = SVMGBClassifier(Gaussian(1.5), features=features, C=C, solver="ipm").fit(X, y)
    assert reference.svm_violation(*parts(model, X, y, features))[1] < 1e-5


@pytest.mark.parametrize("n_features", [0, 1, 5, 20])
@pytest.mark.parametrize("kind", ["noisy", "separable", "noise", "duplicated"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_all_solvers_find_the_same_objective(n_features, kind, C):
    X, y = noisy(m=70)
    if kind == "separable":
        X, y = make_blobs(70, 4, centers=2, cluster_std=1.0, random_state=1)
    elif kind == "noise":
        y = np.random.default_rng(0).integers(0, 2, 70)
    elif kind == "duplicated":
        X, y = np.vstack([X[:40], X[:30]]), np.concatenate([y[:40], 1 - y[:10], y[10:30]])
    features = free_features(n_features)
    objective = {}
    for solver in ("native", "ipm", "osqp"):
        model = SVMGBClassifier(Gaussian(1.5), features=features, C=C, solver=solver, tol=1e-7)
        objective[solver] = model.fit(X, y).objective_[0]
    floor = 1e-7 * C * len(y)  # where features alone separate the classes nothing is left to compare
    assert_allclose(objective["native"], objective["ipm"], rtol=1e-6, atol=floor)
    assert_allclose(objective["osqp"], objective["ipm"], rtol=1e-6, atol=floor)


@given(
    st.integers(0, 10_000),
    st.integers(0, 6),
    st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e3]),
    st.sampled_from([np.inf, 0.0, 0.5, 100.0]),
)
def test_native_and_interior_point_agree_on_random_problems(seed, n_features, C, variance):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 60))
    X, y = rng.normal(size=(m, 2)), rng.integers(0, 2, m)
    y[:2] = 0, 1
    weights = rng.uniform(0.2, 3.0, m)
    models = [
        SVMGBClassifier(
            Gaussian(1.0),
            features=free_features(n_features),
            C=C,
            solver=s,
            tol=1e-6,
            feature_variance=variance,
        ).fit(X, y, weights)
        for s in SOLVERS
    ]
    assert_allclose(*(model.objective_ for model in models), rtol=3e-6, atol=1e-7 * C * m)


# Peers.


@pytest.mark.parametrize("solver", ["auto", *SOLVERS, "osqp"])
@pytest.mark.parametrize(("tol", "close"), [(1e-4, 1e-3), (1e-10, 1e-6)])
def test_the_constant_as_feature_makes_it_an_svc(solver, tol, close):
    if solver == "osqp" and tol < 1e-8:
        pytest.skip("OSQP is not made for such a tolerance")
    X, y = noisy(m=200)
    model = SVMGBClassifier(Gaussian(1.5), solver=solver, tol=tol, C=1.0).fit(X, y)
    peer = SVC(gamma=1 / (2 * 1.5**2), tol=1e-10).fit(X, y)
    assert_allclose(
        model.decision_function(X), peer.decision_function(X), atol=10 * close if tol > 1e-5 else close
    )
    assert np.mean(model.predict(X) == peer.predict(X)) > 0.99


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_several_classes_are_decided_as_an_svc_decides(solver, class_weight, shape):
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    moved = rng.random(150) < 0.15
    y[moved] = rng.integers(0, 3, moved.sum())
    options = {"class_weight": class_weight, "decision_function_shape": shape}
    weights = rng.uniform(0.5, 2, 150)
    model = SVMGBClassifier(Gaussian(1.5), solver=solver, C=1.0, tol=1e-9, **options).fit(X, y, weights)
    peer = SVC(gamma=1 / (2 * 1.5**2), tol=1e-10, **options).fit(X, y, weights)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)
    assert_array_equal(model.predict(X), peer.predict(X))
    assert_allclose(model.class_weight_, peer.class_weight_)
    # Close to, but not on a bound a coefficient may count for one and not for the other.
    assert abs(len(model.support_) - len(peer.support_)) <= 3
    assert model.n_support_.sum() == len(model.support_)
    assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("break_ties", [False, True])
def test_ties_are_broken_as_an_svc_breaks_them(break_ties):
    X, y = make_blobs(90, 2, centers=6, cluster_std=4.0, random_state=3)
    model = SVMGBClassifier(Gaussian(2.0), tol=1e-10, break_ties=break_ties, C=1.0).fit(X, y)
    peer = SVC(gamma=1 / 8, tol=1e-10, break_ties=break_ties).fit(X, y)
    grid = np.random.default_rng(0).uniform(-15, 15, size=(3000, 2))
    votes = np.sort(votes_of(model._pair_values(grid), model.pairs_, 6), axis=1)
    assert np.any(votes[:, -1] == votes[:, -2])
    assert np.mean(model.predict(grid) == peer.predict(grid)) > 0.999


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Laplace(2.0), Gaussian(1.0) + 0.1 * Linear()])
def test_every_kernel_gives_what_its_matrix_gives_to_an_svc(kernel):
    X, y = noisy()
    model = SVMGBClassifier(kernel, solver="native", tol=1e-9, C=1.0).fit(X, y)
    peer = SVC(kernel="precomputed", tol=1e-10).fit(kernel(X), y)
    assert_allclose(model.decision_function(X), peer.decision_function(kernel(X)), atol=1e-4)


def test_scores_stay_finite_where_the_values_are_as_large_as_numbers_can_be():
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    largest = np.finfo(np.float64).max
    scores = scores_of(largest * np.array([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0]]), pairs, 3)
    assert_allclose(scores, [[2 + 1 / 3, -1 / 3, 1], [1, 1, 1]])


def test_digits_are_read_as_well_as_by_an_svc():
    X, y = load_digits(return_X_y=True)
    model = SVMGBClassifier(Gaussian(20.0), C=10.0).fit(X[:1000], y[:1000])
    peer = SVC(gamma=1 / 800, C=10.0).fit(X[:1000], y[:1000])
    assert np.mean(model.predict(X[1000:]) == peer.predict(X[1000:])) > 0.995
    assert model.score(X[1000:], y[1000:]) > 0.95


# A problem too large for one working set.


@pytest.fixture(scope="module")
def large():
    return noisy(m=2600, d=8)


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [0, 1, 8])
def test_many_rounds_end_where_one_method_does(large, n_features):
    X, y = large
    features = free_features(n_features)
    native = SVMGBClassifier(Gaussian(2.0), features=features, solver="native", C=1.0).fit(X, y)
    exact = SVMGBClassifier(Gaussian(2.0), features=features, solver="ipm", C=1.0).fit(X, y)
    assert native.n_iter_[0] > 1
    assert exact.objective_[0] <= native.objective_[0] * (1 + 1e-9)
    assert native.objective_[0] <= exact.objective_[0] * (1 + 1e-4)
    assert_allclose(native.decision_function(X), exact.decision_function(X), atol=2e-2)


def test_a_small_cache_only_takes_longer(large):
    X, y = large
    models = [
        SVMGBClassifier(
            Gaussian(2.0), features="linear", solver="native", cache_size=size, tol=1e-5, C=1.0
        ).fit(X, y)
        for size in (0.001, 1000)
    ]
    assert_allclose(*(model.objective_ for model in models), rtol=2e-5)


def test_the_answer_does_not_depend_on_the_number_of_threads(large):
    X, y = large
    thirds = (np.arange(len(y)) % 3 == 0) * 2 + y

    def coefficients():
        two = SVMGBClassifier(Gaussian(2.0), features="linear", solver="native", C=1.0).fit(X, y)
        four = SVMGBClassifier(Gaussian(2.0), solver="native", C=1.0).fit(X[::4], thirds[::4])
        return two.dual_coef_, two.feature_coef_, four.dual_coef_

    answers = with_threads(coefficients)
    for other in answers[1:]:
        for got, wanted in zip(other, answers[0], strict=True):
            assert_array_equal(got, wanted)


def test_a_warm_start_saves_rounds_along_a_path_and_between_folds(large):
    X, y = large
    model = SVMGBClassifier(Gaussian(2.0), features="linear", solver="native", warm_start=True, C=1.0)
    cold = [clone(model).set_params(C=C).fit(X, y) for C in (1.0, 1.1)]
    model.set_params(C=1.0).fit(X, y)
    model.set_params(C=1.1).fit(X, y)
    assert model.n_iter_[0] < cold[1].n_iter_[0]
    assert_allclose(model.objective_, cold[1].objective_, rtol=2e-4)
    first, second = [rows for rows, _ in KFold(20).split(X)][:2]
    model.fit(X[first], y[first])
    model.fit(X[second], y[second])
    alone = clone(model).fit(X[second], y[second])
    assert model.n_iter_[0] < alone.n_iter_[0]
    assert_allclose(model.objective_, alone.objective_, rtol=2e-4)


def test_a_warm_start_with_other_classes_or_data_is_a_cold_one():
    X, y = noisy()
    model = SVMGBClassifier(Gaussian(1.5), warm_start=True, solver="native", C=1.0).fit(X, y)
    for points, labels in ((X, y + 5), (X[:, :2], y), (X, 1 - y), (X, np.arange(len(y)) % 3)):
        wanted = clone(model).fit(points, labels)
        assert_allclose(model.fit(points, labels).objective_, wanted.objective_, rtol=2e-4)
    weights = np.random.default_rng(0).uniform(0.1, 2, len(y))
    model.fit(X, y)
    assert_allclose(
        model.fit(X, y, weights).objective_, clone(model).fit(X, y, weights).objective_, rtol=2e-4
    )
    gram = Gaussian(1.5)(X)
    given_matrix = SVMGBClassifier("precomputed", warm_start=True, solver="native", C=1.0).fit(gram, y)
    given_matrix.set_params(C=1.2).fit(gram, y)
    assert_allclose(given_matrix.objective_, clone(given_matrix).fit(gram, y).objective_, rtol=2e-4)


# The paper.


def paper_problem():
    X, y = noisy(m=60)
    T = np.column_stack([np.ones(60), X[:, 0], X[:, 1] ** 2])
    return Gaussian(1.5)(X), T, np.where(y, 1.0, -1.0)


def test_the_printed_program_the_virtual_samples_and_the_direct_form_are_one():
    Phi, T, y = paper_problem()
    gamma, m = 0.01, len(y)
    C = np.full(m, 1 / (2 * gamma * m))
    alpha, lambda_tilde, c, beta = core.svm_gb_qp(Phi, T, y, gamma, "pivot", tol=1e-9)
    _, multipliers, c_virtual, beta_virtual = core.svm_gb_qp(Phi, T, y, gamma, "virtual", tol=1e-9)
    assert_allclose(multipliers, beta_virtual)
    function, virtual = Phi @ c + T @ beta, Phi @ c_virtual + T @ beta_virtual
    assert_allclose(function, virtual, atol=1e-6)
    # (24) and (22)
    _, pivots = core.phi_prime(T)
    rest = reference.others(m, pivots)
    assert alpha.min() >= 0
    assert alpha.max() <= 1 / m + 1e-12
    E = reference.E(T, pivots)
    assert_allclose(y[pivots] * alpha[pivots] + E @ (y * alpha)[rest], 0, atol=1e-9)
    c_tilde = (y * alpha)[rest] / (2 * gamma)
    assert_allclose(c[rest], c_tilde)
    # (26): the function in the basis of the pivots
    printed = reference.published_function(Phi, T, Phi, T, pivots, lambda_tilde, c_tilde)
    assert_allclose(printed, function, atol=1e-6)
    # (23) is as small as it is for the solution of the direct form
    H = reference.H(Phi, T, pivots)
    assert_allclose(
        reference.svm_program(H, y, alpha, rest, gamma),
        reference.svm_program(H, y, 2 * gamma * y * c_virtual, rest, gamma),
        rtol=1e-6,
    )
    exact = SVMGBClassifier("precomputed", features=lambda K: T, C=C[0], solver="ipm").fit(Phi, y)
    assert_allclose(function, exact.decision_function(Phi), atol=1e-5)


def test_the_linear_program_gives_the_objective_of_the_multipliers():
    Phi, T, y = paper_problem()
    gamma, m = 0.01, len(y)
    C = np.full(m, 1 / (2 * gamma * m))
    _, _, c, beta = core.svm_gb_qp(Phi, T, y, gamma, tol=1e-9)
    by_program = core.bias_lp(Phi, T, y, c, tol=1e-8)
    assert_allclose(
        reference.svm_objective(Phi, T, y, C, c, by_program),
        reference.svm_objective(Phi, T, y, C, c, beta),
        rtol=1e-5,
    )
    # With φ' in place of φ, and H written out, the solution is λ̃.
    P, pivots = core.phi_prime(T)
    shifted = core.bias_lp(Phi, P, y, c, tol=1e-8) + Phi[pivots] @ c
    assert_allclose(shifted, T[pivots] @ by_program + Phi[pivots] @ c, atol=1e-3)


@pytest.mark.parametrize(
    "options", [{"formulation": "pivot"}, {"bias": "lp"}, {"solver": "osqp", "bias": "lp"}]
)
def test_the_papers_ways_are_open_to_the_estimator(options):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], np.random.default_rng(1).permutation(y[::2])
    model = SVMGBClassifier(Gaussian(2.0), features="linear", C=1.0, **options).fit(X, y)
    exact = SVMGBClassifier(Gaussian(2.0), features="linear", solver="ipm", C=1.0).fit(X, y)
    assert_allclose(model.objective_, exact.objective_, rtol=1e-4)
    assert_allclose(model.decision_function(X), exact.decision_function(X), atol=2e-2)


def test_labels_that_a_feature_explains_leave_nothing_to_the_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    score = X @ [2.0, -1.0, 0.5] + 0.3
    X, y = X[np.abs(score) > 0.5], (score > 0)[np.abs(score) > 0.5]
    for solver in (*SOLVERS, "auto"):
        with separation_told():
            model = SVMGBClassifier(Gaussian(1.0), features="linear", solver=solver, C=1.0).fit(X, y)
        assert not model.kernel_used_.any()
        _, learnt = model.decompose(X)
        assert np.abs(learnt).max() < 1e-6, solver
        assert model.score(X, y) == 1
        assert np.all(np.abs(model.decision_function(X)) > 1 - 1e-3)


def test_a_bias_that_is_not_unique_is_the_one_of_least_norm():
    """Two separable clusters and the features {1, x}: every β with margins ≥ 1 is a solution."""
    x = np.array([-3.0, -2.0, 2.0, 4.0])[:, None]
    y = np.array([0, 0, 1, 1])
    T = np.column_stack([np.ones(4), x])
    for solver in ("auto", *SOLVERS):
        with separation_told():
            model = SVMGBClassifier(Gaussian(1.0), features="linear", solver=solver, C=1.0).fit(x, y)
        known, learnt = model.decompose(x)
        assert_allclose(learnt, 0, atol=1e-9)
        # min |Tβ|² with y Tβ ≥ 1: on a grid nothing is shorter
        beta = np.stack(np.meshgrid(np.linspace(-2, 2, 401), np.linspace(-2, 2, 401)), axis=-1).reshape(-1, 2)
        values = beta @ T.T
        allowed = np.all(values * np.where(y, 1, -1) >= 1, axis=1)
        assert known @ known <= (values[allowed] ** 2).sum(axis=1).min() + 1e-5
        assert np.all(known * np.where(y, 1, -1) >= 1 - 1e-4)


# Invariances.


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_order_of_samples_and_the_basis_of_features_do_not_matter(solver):
    X, y = noisy(m=150)
    features = free_features(4)
    mix = np.random.default_rng(0).normal(size=(4, 4))
    order = np.random.default_rng(1).permutation(150)
    options = {"solver": solver, "C": 1.0, "tol": 1e-8}
    plain = SVMGBClassifier(Gaussian(1.5), features=features, **options).fit(X, y)
    mixed = SVMGBClassifier(Gaussian(1.5), features=lambda X: features(X) @ mix, **options).fit(X, y)
    shuffled = SVMGBClassifier(Gaussian(1.5), features=features, **options).fit(X[order], y[order])
    wanted = plain.decision_function(X)
    assert_allclose(mixed.decision_function(X), wanted, atol=1e-4)
    assert_allclose(shuffled.decision_function(X), wanted, atol=1e-4)


@pytest.mark.parametrize("variance", [np.inf, 2.0])
def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row(variance):
    X, y = noisy(m=80)
    counts = np.random.default_rng(0).integers(0, 3, 80)
    model = SVMGBClassifier(Gaussian(1.5), features="linear", feature_variance=variance, C=1.0)
    weighted = clone(model).fit(X, y, counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    assert np.all(counts[weighted.support_] > 0)
    assert_array_equal(weighted.X_fit_, X[weighted.support_])


def test_dependent_features_are_named_and_left_out():
    X, y = noisy()
    with pytest.warns(DependentFeaturesWarning, match="feature2"):
        model = SVMGBClassifier(
            Gaussian(1.5),
            features=lambda X: np.column_stack([np.ones(len(X)), X[:, 0], 1e5 * X[:, 0]]),
            C=1.0,
        ).fit(X, y)
    wanted = SVMGBClassifier(Gaussian(1.5), features=Columns(0), C=1.0).fit(X, y)
    assert_allclose(model.decision_function(X), wanted.decision_function(X), atol=1e-5)


def test_a_feature_that_only_some_pairs_have_is_no_fault():
    X, y = load_iris(return_X_y=True)
    y = np.random.default_rng(0).permutation(y)

    def features(X):
        return np.column_stack([np.ones(len(X)), X[:, 0] * (y[: len(X)] == 2 if len(X) == 150 else 1)])

    with separation_told():
        model = SVMGBClassifier(Gaussian(1.5), features=features, C=1.0).fit(X, y)
    assert model.feature_support_.all()
    assert model.feature_coef_[1, 0] == 0
    assert np.all(model.feature_coef_[1, 1:] != 0)


# How free the features are.


@pytest.mark.parametrize("solver", [*SOLVERS, "osqp"])
@pytest.mark.parametrize("variance", [0.0, 0.1, 10.0, 1e5])
def test_a_finite_variance_is_a_kernel_with_the_features_in_it(solver, variance):
    X, y = noisy(m=100)
    T = free_features(3)(X)
    added = reference.feature_kernel(T, T, T, variance)
    matrix = Gaussian(1.5)(X) + added
    model = SVMGBClassifier(
        Gaussian(1.5), features=free_features(3), feature_variance=variance, solver=solver, tol=1e-7, C=1.0
    ).fit(X, y)
    free = "constant" if np.any(np.ptp(T, axis=0) == 0) else None
    wanted = SVMGBClassifier("precomputed", features=free, solver="ipm", C=1.0).fit(matrix, y)
    assert_allclose(model.objective_, wanted.objective_, rtol=1e-5 if solver == "osqp" else 1e-6)
    assert_allclose(model.decision_function(X), wanted.decision_function(matrix), atol=2e-3)
    if variance <= 10:  # beyond, the last digits of c are all it takes to change the features' part
        c = np.zeros(100)
        c[model.support_] = model.dual_coef_[:, 0]
        known = model.decompose(X)[0] - added @ c
        assert_allclose(known, known.mean() if free else 0, atol=2e-3)


def test_a_growing_variance_leads_to_free_features():
    X, y = noisy(m=100)
    free = SVMGBClassifier(Gaussian(1.5), features="linear", solver="ipm", C=1.0).fit(X, y)
    nearly = SVMGBClassifier(Gaussian(1.5), features="linear", solver="ipm", feature_variance=1e9, C=1.0).fit(
        X, y
    )
    assert_allclose(nearly.decision_function(X), free.decision_function(X), atol=1e-4)


# Forms of input.


def test_sparse_rows_single_precision_and_a_given_matrix_lead_to_the_same_function():
    X, y = noisy(m=150)
    X[np.abs(X) < 0.5] = 0
    model = SVMGBClassifier(Gaussian(1.5), features="linear", solver="native", tol=1e-7, C=1.0)
    wanted = clone(model).fit(X, y).decision_function(X)
    sparse_model = clone(model).fit(sparse.csr_matrix(X), y)
    assert_allclose(sparse_model.decision_function(sparse.csr_matrix(X)), wanted, atol=1e-4)
    assert sparse.issparse(sparse_model.X_fit_)
    assert_allclose(
        clone(model).fit(X.astype(np.float32), y).decision_function(X.astype(np.float32)), wanted, atol=1e-3
    )
    matrix = Gaussian(1.5)(X)
    T = np.column_stack([np.ones(150), X])
    given_matrix = (
        clone(model).set_params(kernel="precomputed", features=lambda K: T[: len(K)]).fit(matrix, y)
    )
    assert_allclose(given_matrix.decision_function(matrix), wanted, atol=1e-4)
    function = clone(model).set_params(kernel=lambda X, Z: reference.gaussian(X, Z, 1.5)).fit(X, y)
    assert_allclose(function.decision_function(X), wanted, atol=1e-4)


def test_a_given_matrix_with_rows_of_weight_zero_is_read_at_its_own_columns():
    X, y = noisy(m=90)
    weights = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
    matrix = Gaussian(1.5)(X)
    by_matrix = SVMGBClassifier("precomputed", tol=1e-8, C=1.0).fit(matrix, y, weights)
    by_points = SVMGBClassifier(Gaussian(1.5), tol=1e-8, C=1.0).fit(X, y, weights)
    assert_allclose(by_matrix.decision_function(matrix), by_points.decision_function(X), atol=1e-8)


def test_it_works_in_a_grid_and_with_precomputed_folds():
    X, y = noisy(m=90)
    search = GridSearchCV(
        SVMGBClassifier(Gaussian(1.0), features="linear", C=1.0),
        {"C": [0.1, 1.0], "kernel__sigma": [0.5, 2.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.6
    scores = cross_val_score(SVMGBClassifier("precomputed", C=1.0), Gaussian(1.5)(X), y, cv=3)
    assert_allclose(scores, cross_val_score(SVMGBClassifier(Gaussian(1.5), C=1.0), X, y, cv=3))


def test_probabilities_are_those_of_scikit_learns_calibration():
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    model = SVMGBClassifier(Gaussian(2.0), probability=True, C=1.0).fit(X, y)
    peer = CalibratedClassifierCV(SVMGBClassifier(Gaussian(2.0), C=1.0), ensemble=False).fit(X, y)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X))
    assert_allclose(np.exp(model.predict_log_proba(X)).sum(axis=1), 1)
    assert not hasattr(SVMGBClassifier(C=1.0), "predict_proba")


@pytest.mark.parametrize("names", [(1, 2, 3), ("a", "b", "c"), (-7, 0, 4)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_do_not_depend_on_what_the_classes_are_called(n_classes, names):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes, :2], y[y < n_classes]
    expected, got = (
        SVMGBClassifier(Gaussian(2.0), probability=True, C=1.0, class_weight={labels[0]: 5.0})
        .fit(X, np.array(labels)[y])
        .predict_proba(X)
        for labels in (range(n_classes), names[:n_classes])
    )
    assert_allclose(got, expected)
    plain = SVMGBClassifier(Gaussian(2.0), probability=True, C=1.0).fit(X, y).predict_proba(X)
    assert np.abs(expected - plain).max() > 0.02  # the weight is of consequence


@pytest.mark.parametrize("zero", ["rows", "class", "cost of a class"])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), "precomputed"])
def test_rows_of_weight_zero_are_none_for_the_probabilities(kernel, zero):
    X, y = load_iris(return_X_y=True)
    kept = np.arange(150) % 4 > 0 if zero == "rows" else y != 1
    weights = None if zero == "cost of a class" else np.where(kept, 1.0, 0.0)
    costs = {1: 0.0} if weights is None else {1: 2.0}
    K = Gaussian(2.0)(X)
    given, alone, new = (K, K[np.ix_(kept, kept)], K[:, kept]) if kernel == "precomputed" else (X, X[kept], X)
    model = SVMGBClassifier(kernel, probability=True, C=1.0, class_weight=costs).fit(given, y, weights)
    known = {label: cost for label, cost in costs.items() if label in y[kept]}
    peer = SVMGBClassifier(kernel, probability=True, C=1.0, class_weight=known).fit(alone, y[kept])
    assert_array_equal(model.classes_, np.unique(y[kept]))
    assert_allclose(model.predict_proba(given), peer.predict_proba(new))
    as_list = clone(model).fit(given.tolist(), y.tolist(), weights)
    assert_allclose(as_list.predict_proba(given), model.predict_proba(given))


def test_probabilities_are_of_classes_whatever_shape_the_decision_has():
    X, y = load_iris(return_X_y=True)
    by_class = SVMGBClassifier(Gaussian(2.0), probability=True, C=1.0).fit(X, y)
    by_pair = clone(by_class).set_params(decision_function_shape="ovo").fit(X, y)
    assert_allclose(by_pair.predict_proba(X), by_class.predict_proba(X))


def test_labels_may_be_of_any_kind():
    X, y = noisy()
    wanted = SVMGBClassifier(Gaussian(1.5), C=1.0).fit(X, y)
    for labels in (np.array(["no", "yes"])[y], y.astype(bool), 3 * y - 7):
        model = SVMGBClassifier(Gaussian(1.5), C=1.0).fit(X, labels)
        assert_array_equal(model.classes_, np.unique(labels))
        assert_array_equal(model.predict(X) == model.classes_[1], wanted.predict(X) == 1)


def test_what_was_done_is_told_when_asked_for(capsys):
    X, y = load_iris(return_X_y=True)
    SVMGBClassifier(Gaussian(2.0), verbose=True, C=1.0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for line, pair in zip(lines, ("0 / 1", "0 / 2", "1 / 2"), strict=True):
        told = r"\d+ iterations, \S+ ms, objective \S+, relative gap \S+, \d+ support vectors"
        assert re.fullmatch(rf"{PROGRESS}{pair}: {told}", line)


# Errors.


def refused(match, *, error=ValueError, y=None, X=None, sample_weight=None, **parameters):
    points, labels = noisy()
    model = SVMGBClassifier(**{"C": 1.0, **parameters})
    with pytest.raises(error, match=match):
        model.fit(points if X is None else X, labels if y is None else y, sample_weight)
    assert not hasattr(model, "dual_coef_")


def test_parameters_that_cannot_be_right_are_refused():
    refused("C must be greater than 0", C=0.0)
    refused("C must be greater than 0", C=-1.0)
    refused("C must be finite", C=np.nan)
    refused('C must be a number, several to choose from or "cv", got', C="1")
    refused("C must be a number", C=None, error=TypeError)
    refused("tol must be", tol=0.0)
    refused("cache_size must be", cache_size=0)
    refused("max_iter must be at least -1", max_iter=-2)
    refused("solver must be one of", solver="smo")
    refused("formulation must be one of", formulation="dual")
    refused("bias must be one of", bias="mean")
    refused("decision_function_shape must be", decision_function_shape="ovx")
    refused("feature_variance must be at least 0", feature_variance=-1.0)
    refused('needs solver="osqp"', formulation="pivot", solver="ipm")
    refused("leaves no bias", formulation="pivot", feature_variance=1.0)
    refused("leaves no bias", bias="lp", feature_variance=1.0)
    refused("break_ties", break_ties=True, decision_function_shape="ovo")


def test_data_that_cannot_be_right_are_refused():
    X, y = noisy()
    refused("one class", y=np.zeros(len(y)))
    refused("one class", sample_weight=(y == 1).astype(float))
    refused("continuous", y=X[:, 0])
    few = np.where(np.arange(len(y)) < 3, "few", "many")
    refused("class 'few' has 3: give more rows", y=few, probability=True)
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    refused("NaN", X=spoilt)
    refused("sample_weight must not be negative", sample_weight=-np.ones(len(y)))
    refused("must be square", kernel="precomputed")
    refused("more features", X=X[:3], y=[0, 1, 1], features="quadratic")


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = noisy()
    model = SVMGBClassifier(Gaussian(1.5), C=1.0).fit(X, y)
    wanted = model.predict(X)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(len(y)))
    assert_array_equal(model.predict(X), wanted)


def test_an_iteration_limit_is_a_warning_with_the_gap(large):
    X, y = large
    for solver in SOLVERS:
        with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
            model = SVMGBClassifier(Gaussian(2.0), solver=solver, max_iter=2, C=1.0).fit(X, y)
        assert model.duality_gap_[0] > 1e-4
        assert np.all(np.isfinite(model.predict(X[:5])))
    with pytest.warns(ConvergenceWarning, match="primal residual"):
        SVMGBClassifier(Gaussian(2.0), solver="osqp", max_iter=10, C=1.0).fit(X[:60], y[:60])


def test_a_matrix_that_is_no_kernels_is_refused_by_the_interior_point_method():
    X, y = noisy()
    with pytest.raises(grls.NotPositiveDefiniteError, match="not positive definite"):
        SVMGBClassifier(Sigmoid(-3.0, 1.0), solver="ipm", C=1.0).fit(3 * X, y)


def test_a_kernel_that_is_conditionally_definite_needs_the_constant_and_steps_that_keep_the_sum():
    X, y = noisy()
    model = SVMGBClassifier(Log(1.0), tol=1e-7, C=1.0).fit(X, y)
    # −log(1 + |x − z|) + a constant is positive definite on these rows, and the constant is free anyway
    definite = Log(1.0)(X) + 20
    assert np.linalg.eigvalsh(definite).min() > 0
    wanted = SVMGBClassifier("precomputed", solver="ipm", C=1.0).fit(definite, y)
    assert_allclose(model.decision_function(X), wanted.decision_function(definite), atol=1e-3)
    for options in ({"solver": "ipm"}, {"solver": "osqp"}, {"formulation": "pivot"}, {"bias": "lp"}):
        other = SVMGBClassifier(Log(1.0), C=1.0, tol=1e-7, **options).fit(X, y)
        assert_allclose(other.objective_, wanted.objective_, rtol=1e-4)
        assert_allclose(other.decision_function(X), wanted.decision_function(definite), atol=1e-3)
    refused("conditionally positive definite", kernel=Log(1.0), features=None)


@pytest.mark.parametrize(
    "kernel", [ThinPlate(), Polyharmonic(3), ThinPlate().on([0, 1]) + Gaussian(2.0)], ids=repr
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "native"},
        {"solver": "ipm"},
        {"solver": "osqp"},
        {"formulation": "pivot"},
        {"bias": "lp"},
    ],
    ids=str,
)
def test_a_kernel_of_order_2_is_fitted_as_by_the_papers_program(kernel, options):
    X, y = noisy(m=80, d=2)
    X = 3 * X + 10  # far from where the kernel's zero is
    new = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(30, 2))
    model = SVMGBClassifier(kernel, features="linear", C=0.1, tol=1e-7, **options).fit(X, y)
    T, T_new = (np.column_stack([np.ones(len(A)), A]) for A in (X, new))
    _, _, c, beta = core.svm_gb_qp(kernel(X), T, np.where(y, 1.0, -1.0), 1 / (0.2 * len(y)), tol=1e-8)
    assert_allclose(model.decision_function(new), kernel(new, X) @ c + T_new @ beta, atol=2e-3)
    problem = parts(model, X, y, lambda A: np.column_stack([np.ones(len(A)), A]))
    objective = reference.svm_objective(*problem)
    assert_allclose(model.objective_, objective, rtol=1e-5)
    assert objective - reference.svm_dual(*problem[0:1], *problem[2:5:2]) <= 1e-5 * objective


def test_a_kernel_of_order_2_separates_several_classes_one_versus_one():
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    with separation_told():
        model = SVMGBClassifier(ThinPlate(), features="linear", C=1.0).fit(X, y)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.78
    for p, pair in enumerate(model.pairs_):
        mine = np.isin(y, pair)
        with contextlib.nullcontext() if model.kernel_used_[p] else separation_told():
            alone = SVMGBClassifier(ThinPlate(), features="linear", C=1.0).fit(X[mine], y[mine] == pair[0])
        assert_allclose(
            model.decompose(X)[0][:, p] + model.decompose(X)[1][:, p], alone.decision_function(X), atol=2e-2
        )
    # units of the columns together do not matter to r² log r beside linear features, but for its size
    with separation_told():
        moved = SVMGBClassifier(ThinPlate(), features="linear", C=0.01).fit(10 * X + 3, y)
    assert_allclose(moved.decision_function(10 * X + 3), model.decision_function(X), atol=2e-2)


def test_a_kernel_of_order_2_beside_other_features_can_have_them_penalised():
    X, y = noisy(m=80, d=2)
    T = np.column_stack([np.ones(80), X, np.sin(3 * X[:, 0])])

    def features(A):
        return np.column_stack([np.ones(len(A)), A, np.sin(3 * A[:, 0])])

    free, penalised, without = (
        SVMGBClassifier(ThinPlate(), features=f, C=0.1, feature_variance=v, tol=1e-7).fit(X, y)
        for f, v in ((features, np.inf), (features, 1e-8), ("linear", np.inf))
    )
    assert np.linalg.matrix_rank(T) == 4
    assert_allclose(penalised.decision_function(X), without.decision_function(X), atol=1e-3)
    assert np.abs(free.decision_function(X) - without.decision_function(X)).max() > 1e-2


def test_a_kernel_of_order_2_without_linear_features_is_refused_with_the_remedy():
    for features in (None, "constant"):
        refused('order 2.*is missing; use features="linear"', kernel=ThinPlate(), features=features)
        refused(
            'order 2.*is missing; use features="linear"', kernel=ThinPlate(), features=features, solver="osqp"
        )


def test_a_kernel_that_is_not_positive_definite_is_fitted_with_one_warning():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    kernel = Sigmoid(0.05, -1.0)
    with pytest.warns(grls.IndefiniteKernelWarning, match="not positive definite.*native") as caught:
        model = SVMGBClassifier(kernel, C=1.0).fit(X[:400], y[:400])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(grls.IndefiniteKernelWarning, match="not positive definite"):
        native = SVMGBClassifier(kernel, solver="native", C=1.0).fit(X[:400], y[:400])
    assert_array_equal(model.decision_function(X), native.decision_function(X))
    peer = SVC(kernel="sigmoid", gamma=0.05, coef0=-1.0).fit(X[:400], y[:400])
    assert abs(model.score(X[400:], y[400:]) - peer.score(X[400:], y[400:])) < 0.02
    with pytest.raises(grls.NotPositiveDefiniteError, match='solver="native"'):
        SVMGBClassifier(kernel, solver="ipm", C=1.0).fit(X[:400], y[:400])


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    X, y = noisy()
    monkeypatch.setattr(grls._solvers.memory, "available", lambda: 10_000)
    with pytest.raises(MemoryError, match='solver="native"'):
        SVMGBClassifier(Gaussian(1.0), solver="ipm", C=1.0).fit(X, y)
    with pytest.raises(MemoryError, match="cache_size"):
        SVMGBClassifier(Gaussian(1.0), solver="native", C=1.0).fit(X, y)


def test_the_papers_functions_check_what_they_get():
    Phi, T, y = paper_problem()
    with pytest.raises(ValueError, match="labels -1 and 1"):
        core.svm_gb_qp(Phi, T, (y > 0).astype(float), 0.1)
    with pytest.raises(ValueError, match="regularization must be greater than 0"):
        core.svm_gb_qp(Phi, T, y, 0.0)
    with pytest.raises(ValueError, match="linearly dependent"):
        core.svm_gb_qp(Phi, np.column_stack([T, T[:, 0]]), y, 0.1)
    with pytest.raises(ValueError, match="formulation must be one of"):
        core.svm_gb_qp(Phi, T, y, 0.1, "published")
    with pytest.raises(ValueError, match="labels -1 and 1"):
        core.bias_lp(Phi, T, y[:-1], y)
    with pytest.raises(SolverError, match="the linear program of the bias"):
        core.bias_lp(1e300 * Phi, T, y, 1e100 * y)
    with pytest.raises(SolverError, match="OSQP"):
        core.svm_gb_qp(Phi, T, y, 1e-300)


def test_a_model_whose_arrays_were_changed_says_so():
    X, y = noisy()
    model = SVMGBClassifier(Gaussian(1.5), C=1.0).fit(X, y)
    model.dual_coef_ = model.dual_coef_[:-1]
    with pytest.raises(ValueError, match="coefficients"):
        model.predict(X)


def test_the_core_trusts_no_shape_and_no_label():
    X, y = noisy(m=20)
    good = {
        "formula": Gaussian(1.0).lower(4),
        "data": X,
        "T": np.ones((20, 1)),
        "labels": list(y),
        "n_classes": 2,
        "C": 1.0,
        "weights": np.ones(20),
        "feature_variance": np.inf,
        "dependence": 1e-10,
        "solver": "native",
        "tolerance": 1e-4,
        "max_iterations": 100,
        "cache_bytes": 1e6,
    }
    grls._core.svm_fit(**good)
    none = grls._core.svm_fit(**{**good, "feature_variance": 0.0, "T": np.column_stack([np.ones(20), X])})
    assert_array_equal(none.beta, 0)  # features without freedom are none
    for changes in (
        {"T": np.ones((19, 1))},
        {"labels": list(y[:-1])},
        {"labels": [2, *y[1:]]},
        {"labels": [-1, *y[1:]]},
        {"labels": [0] * 20},
        {"n_classes": 1},
        {"n_classes": 3},
        {"weights": np.ones(3)},
        {"weights": np.zeros(20)},
        {"C": 0.0},
        {"C": np.nan},
        {"solver": "smo"},
        {"tolerance": 0.0},
        {"feature_variance": -1.0},
        {"cache_bytes": -np.inf},
        {"cache_bytes": np.nan},
        {"start": np.ones((20, 2))},
        {"start": np.full((20, 1), np.nan)},
        {"formula": None},
    ):
        with pytest.raises(ValueError, match=r"."):
            grls._core.svm_fit(**{**good, **changes})


def test_a_warm_start_on_another_kernel_matrix_begins_afresh():
    X, y = noisy(60)
    K = Gaussian(1.0)(X)
    weights = np.ones(60)
    weights[:10] = 0
    model = SVMGBClassifier("precomputed", warm_start=True, tol=1e-8, C=1.0).fit(K, y, sample_weight=weights)
    assert model.support_.max() >= 50  # positions that 50 samples do not have
    model.fit(K[:50, :50], y[:50])
    cold = clone(model).set_params(warm_start=False).fit(K[:50, :50], y[:50])
    assert_allclose(model.objective_, cold.objective_, rtol=1e-6)


def test_weights_reach_the_calibration_where_metadata_are_routed():
    X, y = noisy(80)
    weights = np.random.default_rng(0).uniform(0.1, 2, size=80)
    model = SVMGBClassifier(Gaussian(1.0), probability=True, C=1.0)
    expected = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        routed = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)
    assert_allclose(routed, expected)


@pytest.mark.parametrize("solver", ["auto", "ipm", "native"])
def test_features_that_separate_the_classes_need_no_kernel(solver):
    """The dual has no point but zero then, so that nothing is in its interior."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = np.sign(X[:, 0])
    with separation_told():
        model = SVMGBClassifier(Gaussian(2.0), features=Columns([0]), C=10.0, solver=solver).fit(X, y)
    assert model.duality_gap_[0] <= model.tol
    assert model.objective_[0] <= 1e-3
    assert_array_equal(model.predict(X), y)


def nearly_separable(m=500, seed=0):
    """Classes that eight columns separate but for a few rows, which only the kernel can tell."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 8))
    y = (X @ np.arange(1, 9) > 0).astype(int)
    y[np.argsort(np.abs(X @ np.arange(1, 9)))[20:50:3]] ^= 1
    return X, y


@pytest.mark.parametrize("kind", ["separable", "nearly separable", "dependent", "indicators"])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_features_that_nearly_separate_the_classes_cost_few_rounds_and_no_digits(kind, C):
    X, y = nearly_separable()
    T = np.column_stack([np.ones(len(X)), X])
    if kind == "separable":
        y = (X @ np.arange(1, 9) > 0).astype(int)
    elif kind == "dependent":
        T = np.column_stack([T, X[:, 0] + 1e-7 * X[:, 1] ** 2])
    elif kind == "indicators":
        T = np.column_stack([T, np.eye(len(X))[:, :3], np.digitize(X[:, 0], [-1, 1]) == 2])
    models = {
        solver: SVMGBClassifier(Gaussian(3.0), features=lambda X: T, C=C, solver=solver, tol=1e-7)
        for solver in SOLVERS
    }
    for model in models.values():
        with separation_told() if kind == "separable" else contextlib.nullcontext():
            model.fit(X, y)
        assert model.kernel_used_[0] == (kind != "separable")
        assert model.duality_gap_[0] <= 1e-7
    native, exact = models["native"], models["ipm"]
    assert_allclose(native.objective_, exact.objective_, rtol=1e-6, atol=1e-7 * C)
    assert native.n_iter_[0] <= 60
    problem = parts(native, X, y, lambda X: T)
    assert np.abs(T.T @ problem[4]).max() <= 1e-8 * np.abs(problem[4]).sum()
    if kind == "separable":
        assert native.n_iter_[0] == 0
        assert not np.any(problem[4])


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "quadratic"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_a_constant_that_is_not_unique_is_the_middle_that_an_svc_takes(load, kernel, C):
    X, y = load(return_X_y=True)
    X, y = ((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9))[::2], y[::2]
    chosen = {"linear": Linear(), "gaussian": Gaussian(np.sqrt(X.shape[1] / 2)), "quadratic": Polynomial(2)}
    gram = chosen[kernel](X)
    peer = SVC(kernel="precomputed", C=C, tol=1e-8, decision_function_shape="ovo").fit(gram, y)
    wanted = peer.decision_function(gram)
    model = SVMGBClassifier(chosen[kernel], C=C, tol=1e-9, decision_function_shape="ovo").fit(X, y)
    size = max(1.0, np.abs(wanted).max())  # 48 where it is largest: iris, linear, C = 100
    assert_allclose(model.decision_function(X), wanted, atol=1e-4 * size)
