"""SVMGBClassifier with C = ∞, and the weights of linear kernels."""

import numpy as np
import pytest
from grls import SVMGBClassifier
from grls._models.hard_margin import judge
from grls._solvers.certificate import PairOfClasses
from grls.exceptions import SeparableFeaturesWarning
from grls.kernels import Gaussian, Laplace, Linear, Log
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
X[:20] += 3.5
Y = np.where(np.arange(40) < 20, 1, -1)
NOISE, COIN = RNG.normal(size=(120, 2)), np.where(RNG.random(120) < 0.5, 1, -1)
SOLVERS = ["auto", "native", "ipm", "osqp"]


def widest_margin(Z, T, y):
    """w and b that minimise ½|w|² where y (Zw + Tb) ≥ 1, by SciPy from the primal."""
    A = y[:, None] * np.hstack([Z, T])
    d = Z.shape[1]
    weights = SVC(kernel="linear", C=1e6).fit(Z, y)
    start = np.r_[weights.coef_[0], weights.intercept_, np.zeros(T.shape[1] - 1)]
    found = minimize(
        lambda v: 0.5 * v[:d] @ v[:d],
        start,
        jac=lambda v: np.r_[v[:d], np.zeros(T.shape[1])],
        constraints=LinearConstraint(A, 1, np.inf),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x[:d], found.x[d:]


@pytest.mark.parametrize("solver", SOLVERS)
def test_separable_points_get_the_widest_margin(solver):
    model = SVMGBClassifier("linear", C=np.inf, solver=solver, tol=1e-6).fit(X, Y)
    w, b = widest_margin(X, np.ones((40, 1)), Y)
    assert_allclose(model.coef_[0], w, atol=2e-4)
    assert_allclose(model.intercept_, b, atol=1e-3)
    margins = Y * model.decision_function(X)
    assert_allclose(margins.min(), 1, atol=1e-3)
    assert_allclose(margins[model.support_], 1, atol=2e-2)  # all of them are on the margin, none within
    assert_allclose(model.objective_, 0.5 * w @ w, rtol=1e-4)
    assert model.duality_gap_.max() <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "native"])
def test_free_features_bend_the_widest_margin(solver):
    y = np.where(X[:, 1] > 0.5 * X[:, 0] ** 2 - 1, 1, -1)
    features = lambda Z: np.column_stack([np.ones(len(Z)), Z[:, 0] ** 2, np.abs(Z[:, 1])])  # noqa: E731
    model = SVMGBClassifier("linear", features=features, C=np.inf, solver=solver, tol=1e-6).fit(X, y)
    w, b = widest_margin(X, features(X), y)
    assert_allclose(model.coef_[0], w, atol=1e-3)
    assert_allclose(model.feature_coef_[:, 0], b, atol=5e-3)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplace(1.0), Log()], ids=repr)
def test_a_kernel_that_separates_everything_does_so(kernel):
    model = SVMGBClassifier(kernel, C=np.inf).fit(NOISE, COIN)
    assert_array_equal(model.predict(NOISE), COIN)
    assert (COIN * model.decision_function(NOISE)).min() > 0.99
    assert model.duality_gap_[0] <= 1e-4
    larger = SVMGBClassifier(kernel, C=1e9 if kernel.order == 0 else 1e6).fit(NOISE, COIN)
    assert_allclose(model.objective_, larger.objective_, rtol=1e-3)


def test_several_classes_are_separated_pair_by_pair():
    Z, y = load_iris(return_X_y=True)
    model = SVMGBClassifier(Gaussian(1.0), C=np.inf).fit(Z, y)
    peer = SVC(gamma=0.5, C=1e9, tol=1e-6).fit(Z, y)
    assert model.score(Z, y) == peer.score(Z, y) == 1
    assert_allclose(model.set_params(decision_function_shape="ovo").decision_function(Z).shape, (150, 3))
    for p, (a, b) in enumerate(model.pairs_):
        rows = np.isin(y, [a, b])
        alone = SVMGBClassifier(Gaussian(1.0), C=np.inf).fit(Z[rows], y[rows])
        assert_allclose(model.objective_[p], alone.objective_[0], rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("rows", "labels", "kernel"),
    [
        (NOISE, COIN, "linear"),
        (np.vstack([X, X[:1]]), np.r_[Y, -Y[0]], "gaussian"),  # one point in both classes
        (np.vstack([X, [[3.0, 3.0]]]), np.r_[Y, -1], "linear"),  # one point beyond the line
    ],
    ids=["noise", "twice", "stray"],
)
def test_classes_that_overlap_are_told(rows, labels, kernel, solver):
    model = SVMGBClassifier(kernel, solver=solver, C=1.0).fit(rows, labels)
    before = model.dual_coef_
    with pytest.raises(ValueError, match=r"-1 and 1 overlap, or nearly so, .* choose a finite C"):
        model.set_params(C=np.inf).fit(rows, labels)
    assert model.dual_coef_ is before


def test_the_pair_that_overlaps_is_named():
    Z, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with pytest.raises(ValueError, match="'versicolor' and 'virginica' overlap"):
        SVMGBClassifier("linear", C=np.inf).fit(Z, names)


def test_features_that_separate_alone_leave_the_kernel_nothing():
    with pytest.warns(SeparableFeaturesWarning, match="1 of 1 pairs"):
        model = SVMGBClassifier(Gaussian(1.0), features="linear", C=np.inf).fit(X, Y)
    assert_allclose(model.rkhs_norm_, 0, atol=1e-3)
    assert not model.kernel_used_.any()
    assert_array_equal(model.predict(X), Y)


def test_weights_make_no_difference_but_for_zeros():
    weights = RNG.uniform(0.1, 10, 40)
    plain = SVMGBClassifier("linear", C=np.inf, tol=1e-7).fit(X, Y)
    weighted = SVMGBClassifier("linear", C=np.inf, tol=1e-7, class_weight="balanced").fit(X, Y, weights)
    assert_allclose(weighted.coef_, plain.coef_, atol=1e-4)
    stray = np.vstack([X, [[3.0, 3.0]]]), np.r_[Y, -1]
    without = SVMGBClassifier("linear", C=np.inf, tol=1e-7).fit(*stray, np.r_[np.ones(40), 0])
    assert_allclose(without.coef_, plain.coef_, atol=1e-4)


def test_units_of_the_data_do_not_matter():
    for scale in (1e-6, 1e6):
        model = SVMGBClassifier("linear", C=np.inf, tol=1e-6).fit(scale * X, Y)
        assert_allclose(
            scale * model.coef_, SVMGBClassifier("linear", C=np.inf, tol=1e-6).fit(X, Y).coef_, rtol=1e-3
        )


def test_a_warm_start_leads_to_the_same_margin():
    model = SVMGBClassifier("linear", C=1.0, warm_start=True, solver="native").fit(X, Y)
    model.set_params(C=np.inf, tol=1e-6).fit(X, Y)
    cold = SVMGBClassifier("linear", C=np.inf, tol=1e-6).fit(X, Y)
    assert_allclose(model.coef_, cold.coef_, atol=1e-3)
    model.set_params(C=0.1).fit(X, Y)
    assert_allclose(model.coef_, SVMGBClassifier("linear", C=0.1, tol=1e-6).fit(X, Y).coef_, atol=1e-3)


def test_a_verdict_is_a_bound():
    # Two points at ±1 on a line: the widest margin is 1, f(x) = x, a = ½ each.
    y, x = np.array([1.0, -1.0]), np.array([1.0, -1.0])
    T = np.ones((2, 1))

    def verdict(a, bound=1.0):
        c = a * y
        return judge(PairOfClasses(np.arange(2), y, T, np.full(2, bound)), c, np.zeros(1), x * (x @ c))

    found = verdict(np.full(2, 0.5))
    assert found.found
    assert_allclose([found.widest, found.objective, found.relative_gap], [1, 0.5, 0])
    assert not verdict(np.full(2, 0.5), bound=0.5).found  # at its bound
    assert not verdict(np.full(2, 0.4)).found  # within the margin
    assert verdict(np.array([0.5, 0.1])).widest == np.inf  # Tᵀc is not zero: that bounds nothing


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), lambda A, B: Gaussian(0.5)(A, B)], ids=["kernel", "function"]
)
def test_features_with_a_prior_share_the_margin(kernel):
    model = SVMGBClassifier(kernel, features="linear", feature_variance=1.0, C=np.inf).fit(X, Y)
    larger = SVMGBClassifier(kernel, features="linear", feature_variance=1.0, C=1e6).fit(X, Y)
    assert_allclose(model.decision_function(NOISE), larger.decision_function(NOISE), atol=1e-2)
    rows, labels = np.vstack([X, X[:1]]), np.r_[Y, -Y[0]]
    with pytest.raises(ValueError, match="overlap"):
        SVMGBClassifier(kernel, features="linear", feature_variance=1.0, C=np.inf).fit(rows, labels)


@pytest.mark.parametrize("C", [-np.inf, np.nan, "inf", 0])
def test_other_values_of_c_are_refused(C):
    with pytest.raises((ValueError, TypeError), match="C must be"):
        SVMGBClassifier(C=C).fit(X, Y)


# The weights of linear kernels.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("far", [0.0, 1e5])
def test_weights_and_intercepts_are_those_of_svc(n_classes, far):
    Z, y = load_iris(return_X_y=True)
    Z, y = StandardScaler().fit_transform(Z)[y < n_classes] + far, y[y < n_classes]
    model = SVMGBClassifier("linear", C=0.5, tol=1e-9, decision_function_shape="ovo").fit(Z, y)
    near = SVC(kernel="linear", C=0.5, tol=1e-9).fit(Z - far, y)
    assert model.coef_.shape == near.coef_.shape
    assert_allclose(model.coef_, near.coef_, atol=1e-5)
    assert_allclose(model.intercept_ + model.coef_.sum(axis=1) * far, near.intercept_, atol=1e-4)
    values = Z @ model.coef_.T + model.intercept_
    assert_allclose(np.squeeze(values), model.decision_function(Z), atol=1e-6)


def test_weights_of_scaled_kernels_some_columns_and_sparse_rows():
    Z = np.hstack([X, RNG.normal(size=(40, 3))])
    model = SVMGBClassifier(2.5 * Linear().on([3, 0, 1]), C=0.3).fit(Z, Y)
    kernel_part = model.decompose(Z)[1]
    assert_allclose(Z @ model.coef_[0], kernel_part, atol=1e-9)
    assert_array_equal(model.coef_[0, [2, 4]], 0)
    thin = SVMGBClassifier("linear", C=0.3).fit(sparse.csr_matrix(Z), Y)
    assert_allclose(Z @ thin.coef_[0] + thin.intercept_, thin.decision_function(sparse.csr_matrix(Z)))
    no_constant = SVMGBClassifier("linear", features=None, C=1.0).fit(Z, Y)
    assert_allclose(no_constant.intercept_, 0)


def test_weights_are_there_for_linear_kernels_only():
    model = SVMGBClassifier(Gaussian(1.0), C=1.0).fit(X, Y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="linear kernels only"):
        _ = model.coef_
    trend = SVMGBClassifier("linear", features=lambda Z: np.abs(Z), C=1.0).fit(X, Y)
    assert hasattr(trend, "coef_")
    with pytest.raises(AttributeError, match="feature_coef_"):
        _ = trend.intercept_
