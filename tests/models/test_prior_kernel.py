"""The Gaussian prior in the space of a kernel: eqs. (2) and (4)-(7) of the paper, and what it must equal."""

import pickle

import numpy as np
import pytest
import reference
from grls import (
    GRLSClassifier,
    GRLSRegressor,
    IndefiniteKernelWarning,
    LowRankCovariance,
    NotPositiveDefiniteError,
    PriorRLSClassifier,
    PriorRLSRegressor,
    TransferPrior,
    core,
)
from grls.exceptions import DependentFeaturesWarning, PrecisionWarning
from grls.kernels import Gaussian, Laplace, Linear, Log, Sigmoid
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(50, 3)), RNG.normal(size=(15, 3))
Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * RNG.normal(size=(50, 2))
WEIGHTS = RNG.uniform(0.5, 2, 50)
KERNELS = [Gaussian(1.5), Laplace(2.0), Linear(), Laplace(1.0).on([0, 1]) + 0.5 * Linear()]


def variances(mu):
    return 0.3 + mu**0.5


# Equal to what is known.


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("features", [None, "constant", lambda X: np.column_stack([X[:, 0] ** 2, X[:, 1]])])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_identity_is_plain_least_squares_at_new_points(kernel, features, weights):
    if features not in (None, "constant") and "Linear" in repr(kernel):
        features = "constant"  # linear features take over what a linear kernel says
    plain = GRLSRegressor(kernel, features=features, regularization=0.01).fit(X, Y, weights)
    for covariance in (None, 1.0, lambda mu: np.ones(len(mu))):
        model = PriorRLSRegressor(None, covariance, kernel=kernel, features=features, regularization=0.01)
        model.fit(X, Y, weights)
        assert_allclose(model.predict(X_NEW), plain.predict(X_NEW), atol=1e-9)
        if "Linear" not in repr(kernel):  # whose matrix leaves c open
            assert_allclose(model.dual_coef_, plain.dual_coef_, atol=1e-6)
        assert_allclose(model.rkhs_norm_, plain.rkhs_norm_, atol=1e-7)
        if features is not None:
            assert_allclose(model.feature_coef_, plain.feature_coef_, atol=1e-8)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_the_identity_leads_to_the_same_choice(criterion):
    plain = GRLSRegressor(Laplace(2.0), regularization=criterion, per_output=False).fit(X, Y)
    model = PriorRLSRegressor(kernel=Laplace(2.0), regularization=criterion).fit(X, Y)
    assert_allclose(model.regularization_, plain.regularization_, rtol=1e-6)
    assert_allclose(model.predict(X_NEW), plain.predict(X_NEW), atol=1e-8)
    if criterion == "loo":
        assert_allclose(model.loo_predictions_, plain.loo_predictions_, atol=1e-8)


def test_the_identity_classifies_as_plain_least_squares_does():
    labels = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
    plain = GRLSClassifier(Gaussian(1.0), regularization=1e-3, class_weight="balanced").fit(X, labels)
    model = PriorRLSClassifier(kernel=Gaussian(1.0), regularization=1e-3, class_weight="balanced")
    model.fit(X, labels)
    assert_allclose(model.decision_function(X_NEW), plain.decision_function(X_NEW), atol=1e-8)
    assert_array_equal(model.predict(X_NEW), plain.predict(X_NEW))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("covariance", [None, 2.0, [1.0, 0.2, 3.0], "full", variances])
@pytest.mark.parametrize("features", [None, "constant"])
def test_the_linear_kernel_is_the_linear_model(features, covariance, weights):
    w = np.ones(50) if weights is None else weights
    values, V = np.linalg.eigh((X.T * w) @ X / w.sum())
    values, V = values[::-1], V[:, ::-1]  # the components are vᵀx, up to the sign of v
    signs = np.where((X @ V).max(axis=0) < -(X @ V).min(axis=0), -1, 1)
    V = V * signs
    A = np.random.default_rng(1).normal(size=(3, 3))
    full = A @ A.T + np.eye(3)
    given = full if isinstance(covariance, str) else covariance
    orank = {
        "full": lambda: full,
        "function": lambda: np.diag(variances(values)),
        "other": lambda: np.diag(np.broadcast_to(1.0 if covariance is None else covariance, 3)),
    }["full" if given is full else "function" if callable(given) else "other"]()
    linear = PriorRLSRegressor(None, V @ orank @ V.T, features=features, regularization=0.2)
    linear.fit(X, Y, weights)
    model = PriorRLSRegressor(None, given, kernel=Linear(), features=features, regularization=0.2)
    model.fit(X, Y, weights)
    assert_allclose(model.predict(X_NEW), linear.predict(X_NEW), atol=1e-9)
    assert_allclose(model.coef_ @ V.T, linear.coef_, atol=1e-9)
    assert_allclose(model.eigenvalues_, values, rtol=1e-9)


# The equations.


@pytest.mark.parametrize("kind", ["number", "diagonal", "function", "full", "low rank"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_solution_is_the_most_probable_one_beside_free_features(kind, weights):
    kernel = Gaussian(2.0)
    T = np.column_stack([np.ones(50), X[:, 0]])
    Z, A, mu = reference.kernel_components(kernel(X), weights)
    q = 12 if kind != "function" else len(mu)
    rng = np.random.default_rng(3)
    v, B = rng.uniform(0.2, 2, q), rng.normal(size=(q, q))
    given, Sigma = {
        "number": (None, np.eye(q)),
        "diagonal": (v, np.diag(v)),
        "function": (variances, np.diag(variances(mu))),
        "full": (np.eye(q) + B @ B.T, np.eye(q) + B @ B.T),
        "low rank": (LowRankCovariance(v, B[:, :2]), np.diag(v) + B[:, :2] @ B[:, :2].T),
    }[kind]
    model = PriorRLSRegressor(
        None,
        given,
        kernel=kernel,
        rank=q if kind in ("number", "low rank") else None,
        features=lambda X: np.column_stack([np.ones(len(X)), X[:, 0]]),
        regularization=0.05,
    ).fit(X, Y[:, 0], weights)
    signs = np.where(Z.max(axis=0) < -Z.min(axis=0), -1, 1)[:q]
    Z, A = Z[:, :q] * signs, A[:, :q] * signs
    w, beta = reference.prior_map(Z, T, Y[:, 0], np.zeros(q), Sigma, 0.05, weights)
    assert_allclose(model.eigenvalues_, mu[:q], rtol=1e-7, atol=1e-14)
    assert_allclose(model.dual_coef_, A @ w, atol=1e-6)
    assert_allclose(model.feature_coef_, beta, atol=1e-8)
    expected = kernel(X_NEW, X) @ A @ w + beta[0] + beta[1] * X_NEW[:, 0]
    assert_allclose(model.predict(X_NEW), expected, atol=1e-8)


@pytest.mark.parametrize("basis", ["components", "symmetric"])
@pytest.mark.parametrize("shape", ["number", "diagonal", "full"])
def test_equation_7_is_solved_to_the_letter(basis, shape):
    K = Gaussian(1.0)(X)
    root = core.kernel_root(K, basis)
    assert_allclose(root @ root.T, K, atol=1e-12)
    d = root.shape[1]
    rng = np.random.default_rng(2)
    v, B = rng.uniform(0.5, 2, d), rng.normal(size=(d, d))
    Sigma = {"number": 2.5, "diagonal": v, "full": B @ B.T / d + np.eye(d)}[shape]
    full = Sigma * np.eye(d) if np.ndim(Sigma) < 2 else Sigma
    c = core.solve_prior(root, Sigma, Y, 0.3)
    left = K @ K @ c + 0.3 * 50 * root @ np.linalg.solve(full, root.T @ c)
    assert_allclose(left, K @ Y, atol=1e-9)
    # The gradient (6) of (5) vanishes, so that no other c is better.
    w = root.T @ c[:, 0]
    nothing = np.empty((50, 0)), Y[:, 0]
    value = reference.prior_objective(root, *nothing, w, np.empty(0), np.zeros(d), full, 0.3)
    for _ in range(5):
        other = w + 1e-2 * root.T @ rng.normal(size=50)
        assert reference.prior_objective(root, *nothing, other, np.empty(0), np.zeros(d), full, 0.3) > value


def test_the_paper_s_lambda_is_half_of_gamma():
    K, lam = Laplace(1.0)(X), 0.07
    # Eq. (2): 1/(2n)|y − Kc|² + λ cᵀKc has the gradient K(Kc − y)/n + 2λKc.
    c = np.linalg.solve(K + 2 * lam * 50 * np.eye(50), Y)
    assert_allclose(core.solve_prior(core.kernel_root(K), 1.0, Y, 2 * lam), c, atol=1e-10)
    assert_allclose(core.solve_exact(K, np.empty((50, 0)), Y, 2 * lam)[0], c, atol=1e-10)
    model = GRLSRegressor(Laplace(1.0), features=None, regularization=2 * lam).fit(X, Y)
    assert_allclose(model.dual_coef_, c, atol=1e-10)


def test_equation_7_of_rows_that_repeat_has_the_least_norm():
    rows = np.vstack([X, X[:4]])
    values = np.concatenate([Y[:, 0], Y[:4, 0] + 1])
    c = core.solve_prior(rows, [1.0, 2.0, 3.0], values)
    assert_allclose(rows.T @ c, reference.prior_published(rows, values, np.zeros(3), np.diag([1.0, 2, 3])))
    assert_allclose(
        c, rows @ np.linalg.lstsq(rows, c, rcond=None)[0], atol=1e-12
    )  # in the span of the columns


def test_equation_7_is_the_estimator_whatever_the_formulation():
    K = Gaussian(1.5)(X)
    root = core.kernel_root(K, "components")
    v = np.linspace(2, 0.1, root.shape[1])
    c = core.solve_prior(root, v, Y, 0.2)
    for formulation in ("exact", "published"):
        for kernel, rows, new in (
            (Gaussian(1.5), X, X_NEW),
            ("precomputed", K, Gaussian(1.5)(X_NEW, X)),
            (lambda A, B: Gaussian(1.5)(A, B), X, X_NEW),
        ):
            model = PriorRLSRegressor(
                covariance=v, kernel=kernel, features=None, regularization=0.2, formulation=formulation
            ).fit(rows, Y)
            assert_allclose(model.predict(new), Gaussian(1.5)(X_NEW, X) @ c, atol=1e-7)


def test_leave_one_out_of_a_prior_keeps_the_components():
    model = PriorRLSRegressor(kernel=Gaussian(1.0), covariance=variances, regularization="loo").fit(X, Y)
    Z, _, mu = reference.kernel_components(Gaussian(1.0)(X))
    for i in (0, 20):
        rest = np.arange(50) != i
        rho = model.regularization_ * 50 / 49  # the removed sample keeps ρn
        w = [
            reference.prior_map(
                Z[rest], np.ones((49, 1)), y[rest], np.zeros(len(mu)), np.diag(variances(mu)), rho
            )
            for y in Y.T
        ]
        assert_allclose(model.loo_predictions_[i], [Z[i] @ v + b[0] for v, b in w], atol=1e-7)


# What composes with it.


def test_few_components_are_regression_on_principal_components():
    model = PriorRLSRegressor(kernel=Linear(), rank=1, features=None, regularization=1e-12).fit(X, Y)
    v = np.linalg.svd(X)[2][0]
    slope = (X @ v) @ Y / ((X @ v) @ (X @ v))
    assert_allclose(model.predict(X_NEW), np.outer(X_NEW @ v, slope), atol=1e-8)


def test_a_penalty_on_small_components_makes_functions_smoother():
    norms = []
    for power in (0.0, 0.5, 1.0):
        model = PriorRLSRegressor(
            kernel=Laplace(1.0), covariance=lambda mu, s=power: (mu / mu[0]) ** s, regularization=1e-3
        )
        norms.append(model.fit(X, Y[:, 0]).rkhs_norm_[0])
    assert norms[0] > norms[1] > norms[2]


def test_weight_two_is_the_row_twice_and_weight_zero_no_row():
    counts = np.random.default_rng(0).integers(0, 4, 50)
    model = PriorRLSRegressor(kernel=Laplace(1.0), covariance=variances, regularization=0.01)
    weighted = model.fit(X, Y, counts).predict(X_NEW)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0)).predict(X_NEW)
    assert_allclose(weighted, repeated, atol=1e-9)
    gram = PriorRLSRegressor(kernel="precomputed", covariance=variances, regularization=0.01)
    gram.fit(Laplace(1.0)(X), Y, counts)
    assert_allclose(gram.predict(Laplace(1.0)(X_NEW, X)), weighted, atol=1e-9)


def test_sparse_rows_names_and_pickles():
    rows = X * (np.abs(X) > 0.5)
    model = PriorRLSRegressor(kernel="gaussian", covariance=variances_of_module, regularization=0.1)
    dense = model.fit(rows, Y).predict(X_NEW)
    thin = clone(model).fit(sparse.csr_matrix(rows), Y)
    assert_allclose(thin.predict(sparse.csr_matrix(X_NEW)), dense, atol=1e-8)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X_NEW), dense)


def variances_of_module(mu):
    return 1.0 + mu


def test_a_grid_goes_over_kernels_and_components():
    grid = {"kernel__sigma": [0.5, 2.0], "rank": [2, 5, None], "regularization": [0.01]}
    search = GridSearchCV(PriorRLSRegressor(kernel=Gaussian(1.0)), grid, cv=3).fit(X, Y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_a_fit_without_a_kernel_forgets_that_of_one():
    model = PriorRLSRegressor(kernel=Gaussian(1.0), regularization=0.1).fit(X, Y)
    linear = model.set_params(kernel=None).fit(X, Y)
    assert not hasattr(linear, "dual_coef_")
    assert_allclose(linear.predict(X_NEW), PriorRLSRegressor(regularization=0.1).fit(X, Y).predict(X_NEW))
    assert_allclose(linear.rkhs_norm_, np.linalg.norm(linear.coef_, axis=1))


def test_features_with_a_prior_of_their_own():
    features = lambda X: np.column_stack([np.ones(len(X)), X[:, 0], X[:, 1]])  # noqa: E731
    plain = GRLSRegressor(Gaussian(1.0), features=features, feature_variance=2.0, regularization=0.01)
    model = PriorRLSRegressor(
        kernel=Gaussian(1.0), features=features, feature_variance=2.0, regularization=0.01
    )
    assert_allclose(model.fit(X, Y).predict(X_NEW), plain.fit(X, Y).predict(X_NEW), atol=1e-9)


def test_data_far_from_the_origin_keep_their_origin_where_components_differ():
    far = X + 2e5
    with pytest.warns(PrecisionWarning, match="times their spread away"):
        PriorRLSRegressor(kernel=Linear(), covariance=variances).fit(far, Y)
    plain = GRLSRegressor(Linear(), regularization=0.1).fit(far, Y)
    moved = PriorRLSRegressor(kernel=Linear(), regularization=0.1).fit(far, Y)
    assert_allclose(moved.predict(far), plain.predict(far), atol=1e-6)


# Errors.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mean": np.zeros(3)}, "about the columns of X"),
        ({"covariance": TransferPrior()}, "about the columns of X"),
        ({"kernel": None, "rank": 2}, "give a kernel"),
        ({"kernel": None, "covariance": variances}, "give a kernel"),
        ({"rank": 0}, "rank must be at least 1"),
        ({"rank": 51}, r"51 components were asked for.*has 50 with a positive eigenvalue"),
        ({"covariance": np.ones(60)}, "60 components were asked for"),
        ({"covariance": np.ones(6), "rank": 5}, "that of 6 components, but rank=5"),
        ({"covariance": np.r_[1.0, -1.0]}, "column 1 has variance -1"),
        ({"covariance": lambda mu: mu[:-1]}, r"as many positive variances"),
        ({"covariance": lambda mu: mu - mu[3]}, r"as many positive variances"),
        ({"covariance": lambda mu: mu * np.nan}, r"as many positive variances"),
        ({"kernel": Log()}, "conditionally positive definite of order 1"),
        ({"kernel": "unheard of"}, "kernel"),
    ],
)
def test_parameters_that_cannot_be_right_are_told(parameters, message):
    model = PriorRLSRegressor(kernel=Laplace(1.0)).fit(X, Y)
    before = model.coef_
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, Y)
    assert model.coef_ is before


def test_an_indefinite_kernel_loses_its_negative_components():
    with pytest.warns(IndefiniteKernelWarning, match="the negative ones are left out"):
        model = PriorRLSRegressor(kernel=Sigmoid(2.0, -1.0)).fit(X, Y)
    assert np.all(model.eigenvalues_ > 0)


def test_a_kernel_that_is_zero_has_no_components():
    with pytest.raises(ValueError, match="no components"):
        PriorRLSRegressor(kernel=Linear()).fit(np.zeros((5, 2)), np.arange(5.0))


def test_dependent_features_are_told_beside_components():
    with pytest.warns(DependentFeaturesWarning):
        PriorRLSRegressor(kernel=Gaussian(1.0), features=lambda X: np.ones((len(X), 2))).fit(X, Y)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((X, np.ones(2), Y), ValueError, r"shape \(3,\)"),
        ((X, -1.0, Y), ValueError, "must be positive"),
        ((X, np.ones((3, 3)), Y), NotPositiveDefiniteError, "positive definite"),
        ((X, 1.0, Y[:4]), ValueError, "4 values for 50 rows"),
        ((X, 1.0, Y, 0.0), ValueError, "regularization"),
    ],
)
def test_equation_7_checks_what_it_is_given(arguments, error, message):
    with pytest.raises(error, match=message):
        core.solve_prior(*arguments)


def test_the_root_needs_a_positive_semidefinite_matrix():
    with pytest.raises(NotPositiveDefiniteError, match="eigenvalue -1"):
        core.kernel_root(np.diag([2.0, -1.0]))
    with pytest.raises(ValueError, match="square"):
        core.kernel_root(X)
    with pytest.raises(ValueError, match="basis"):
        core.kernel_root(np.eye(3), "cholesky")


def test_a_kernel_of_a_view_has_components():
    view = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.0]])
    model = PriorRLSRegressor(kernel=Laplace(1.0).after(view), covariance=variances, features="linear")
    features = lambda Z: np.column_stack([np.ones(len(Z)), Z])  # noqa: E731
    plain = GRLSRegressor(Laplace(1.0).after(view), features=features, regularization=0.1).fit(X, Y)
    identity = PriorRLSRegressor(kernel=Laplace(1.0).after(view), features="linear", regularization=0.1).fit(
        X, Y
    )
    assert_allclose(identity.predict(X_NEW), plain.predict(X_NEW), atol=1e-8)
    assert np.isfinite(model.fit(X, Y).predict(X_NEW)).all()
