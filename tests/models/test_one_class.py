"""`OneClassSVMGB`: against scikit-learn, the optimality conditions, a plain solver, and what ν promises."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from builders import named
from grls import OneClassSVMGB, one_class
from grls._models.losses import PIECEWISE, Settings
from grls._solvers.kernel_problem import KernelProblem
from grls.features import EstimatorFeatures
from grls.kernels import Gaussian, Laplace, Linear, Log, Precomputed, Sigmoid, ThinPlate
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import OneClassSVM

PEERS = {
    "gaussian": (Gaussian(1.0), {"gamma": 0.5}),
    "linear": (Linear(), {"kernel": "linear"}),
    "polynomial": ((0.1 * Linear() + 1.0) ** 2, {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1}),
}


def points(m=120, seed=0, d=3):
    return np.random.default_rng(seed).normal(size=(m, d)) + 4.0  # a linear kernel is about the origin


def indicators(X):
    """Groups by the first column; they add up to the constant."""
    return np.column_stack([X[:, 0] > 4, X[:, 0] <= 4]).astype(float)


def whole(model, m):
    """Return a (m,)."""
    a = np.zeros(m)
    a[model.support_] = model.dual_coef_
    return a


def assert_optimal(model, X, T, weights=None, size=1e-6):
    """The conditions of the dual: bounds, sums of the features, and on which side each row is."""
    w = np.ones(len(X)) if weights is None else weights
    a, values = whole(model, len(X)), model.decision_function(X)
    unit = size * np.abs(model.score_samples(X)).max()
    assert (a >= 0).all()
    assert (a <= w).all()
    assert_allclose(T.T @ a, model.nu * T.T @ w, atol=1e-8 * np.abs(T.T @ w).max())
    assert (values[a < w * (1 - 1e-7)] >= -unit).all()
    assert (values[a > w * 1e-7] <= unit).all()


@pytest.mark.parametrize("solver", ["auto", "native", "ipm", "osqp"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.0512, 0.337, 0.8013])  # times Σw no whole number: ρ is unique
@pytest.mark.parametrize("kernel", PEERS)
def test_constant_feature_makes_it_scikit_learns_machine(kernel, nu, weighted, solver):
    X, (ours, theirs) = points(), PEERS[kernel]
    weights = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    peer = OneClassSVM(nu=nu, tol=1e-12, **theirs).fit(X, sample_weight=weights)
    model = OneClassSVMGB(ours, nu=nu, tol=1e-9, solver=solver).fit(X, sample_weight=weights)
    expected = peer.decision_function(X)
    size = np.abs(peer.score_samples(X)).max()
    assert_allclose(model.decision_function(X), expected, atol=1e-6 * size)
    assert_allclose(model.score_samples(X), peer.score_samples(X), atol=1e-6 * size)
    assert_allclose(model.offset_, peer.offset_[0], atol=1e-6 * size)
    assert_array_equal(model.support_, peer.support_)
    assert_allclose(model.dual_coef_, peer.dual_coef_[0], atol=1e-5)
    clear = np.abs(expected) > 1e-5 * size
    assert_array_equal(model.predict(X)[clear], peer.predict(X)[clear])


def test_many_rows_agree_with_scikit_learn():
    X = points(1500, d=5)
    peer = OneClassSVM(nu=0.07, gamma=0.1, tol=1e-10).fit(X)
    model = OneClassSVMGB(Gaussian.from_gamma(0.1), nu=0.07, tol=1e-8).fit(X)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5 * peer.offset_[0])


def test_a_threshold_that_is_not_unique_is_in_the_middle():
    X = points(10)
    peer = OneClassSVM(nu=0.5, kernel="linear", tol=1e-12).fit(X)
    assert set(peer.dual_coef_[0]) == {1.0}  # all coefficients are at a bound
    for solver in ("auto", "native", "osqp"):
        model = OneClassSVMGB(Linear(), nu=0.5, tol=1e-9, solver=solver).fit(X)
        assert_allclose(model.offset_, peer.offset_[0], rtol=1e-6)
    # In units of the kernel's.
    scaled = OneClassSVMGB(2.0**-40 * Linear(), nu=0.5, tol=1e-9).fit(X)
    assert_allclose(2.0**40 * scaled.offset_, peer.offset_[0], rtol=1e-6)


@pytest.mark.parametrize("solver", ["native", "ipm", "osqp"])
@pytest.mark.parametrize("nu", [0.1, 0.6])
@pytest.mark.parametrize(
    ("kernel", "features"),
    [
        (Gaussian(0.8), "linear"),
        (Gaussian(0.8), indicators),
        (Laplace(1.0), "quadratic"),
        (Log(), "constant"),
        (ThinPlate(), "linear"),
    ],
    ids=named,
)
def test_the_conditions_of_the_optimum_hold(kernel, features, nu, solver):
    X = points(150, d=2)
    model = OneClassSVMGB(kernel, features=features, nu=nu, tol=1e-9, solver=solver).fit(X)
    T = indicators(X) if callable(features) else model.features_.transform(X)
    assert_optimal(model, X, T)
    assert model.duality_gap_ <= 1e-9


def test_the_objective_is_that_of_a_plain_solver():
    X, nu = points(30, d=2), 0.3
    Phi, T = Gaussian(1.0)(X, X), np.column_stack([np.ones(30), X])
    found = optimize.minimize(
        lambda a: 0.5 * a @ Phi @ a,
        np.full(30, nu),
        jac=lambda a: Phi @ a,
        bounds=[(0, 1)] * 30,
        constraints={"type": "eq", "fun": lambda a: T.T @ a - nu * T.sum(axis=0), "jac": lambda a: T.T},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    model = OneClassSVMGB(Gaussian(1.0), features="linear", nu=nu, tol=1e-9).fit(X)
    assert_allclose(whole(model, 30), found.x, atol=1e-5)
    assert_allclose(model.objective_, -found.fun, rtol=1e-8)
    # And of the primal problem, from the model's own functions.
    values, (threshold, g) = model.decision_function(X), model.decompose(X)
    a = whole(model, 30)
    primal = 0.5 * a @ Phi @ a + np.maximum(0, -values).sum() + nu * threshold.sum()
    assert_allclose(model.objective_, primal, rtol=1e-8)
    assert_allclose(g, Phi @ a, rtol=1e-10)
    assert_allclose(model.rkhs_norm_, np.sqrt(a @ Phi @ a))


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [40, 500])
def test_no_group_has_more_outliers_than_its_share(m, weighted, tol):
    rng = np.random.default_rng(m)
    X = np.column_stack(
        [rng.normal(size=(m, 2)) * (1 + 3 * (np.arange(m) % 3 == 0))[:, None], np.arange(m) % 3]
    )
    weights = rng.integers(1, 4, m).astype(float) if weighted else np.ones(m)
    model = OneClassSVMGB(
        Gaussian(2.0).on([0, 1]), features=lambda X: np.eye(3)[X[:, 2].astype(int)], nu=0.15, tol=tol
    ).fit(X, sample_weight=weights)
    outlier, support = model.predict(X) < 0, whole(model, m) > 0
    for group in range(3):
        mine = X[:, 2] == group
        share = 0.15 * weights[mine].sum()
        assert weights[mine & outlier].sum() <= share
        assert weights[mine & support].sum() >= share * (1 - 1e-9)
    plain = OneClassSVMGB(Gaussian(2.0).on([0, 1]), nu=0.15, tol=tol).fit(X, sample_weight=weights)
    assert weights[plain.predict(X) < 0].sum() <= 0.15 * weights.sum()
    shares = [(plain.predict(X)[X[:, 2] == group] < 0).mean() for group in range(3)]
    assert m < 500 or max(shares) > 0.15  # one threshold makes no such promise


def test_weights_count_rows_and_zero_is_none():
    X = points(60, d=2)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    model = OneClassSVMGB(Gaussian(1.0), features="linear", nu=0.2, tol=1e-10)
    one = model.fit(X, sample_weight=weights)
    expected = one.decision_function(X)
    assert not np.isin(np.flatnonzero(weights == 0), one.support_).any()
    repeated = model.fit(np.repeat(X, weights, axis=0)).decision_function(X)
    assert_allclose(repeated, expected, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e150])
def test_everything_is_proportional_to_the_weights(unit):
    X = points(60, d=2)
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    one, other = (
        OneClassSVMGB(Gaussian(1.0), features="linear", nu=0.2, tol=1e-9).fit(X, sample_weight=w)
        for w in (weights, unit * weights)
    )
    assert_allclose(other.decision_function(X) / unit, one.decision_function(X), atol=1e-7)
    assert_allclose(other.offset_ / unit, one.offset_, rtol=1e-6)
    assert_array_equal(other.support_, one.support_)


@pytest.mark.parametrize("unit", [2.0**-50, 2.0**40])
def test_everything_is_proportional_to_the_kernel(unit):
    X = points()
    plain, scaled = (
        OneClassSVMGB(kernel, features=indicators, nu=0.2).fit(X)
        for kernel in (Gaussian(2.0), unit * Gaussian(2.0))
    )
    expected = plain.decision_function(X)
    assert_allclose(scaled.decision_function(X) / unit, expected, atol=1e-9 * np.abs(expected).max())


def test_the_basis_of_the_features_makes_no_difference():
    X = points(80, d=2)
    A = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [0.0, 1.0, 1.0]])
    values = [
        OneClassSVMGB(Gaussian(1.0), features=features, nu=0.2, tol=1e-10).fit(X).decision_function(X)
        for features in (
            lambda X: np.column_stack([np.ones(len(X)), X]),
            lambda X: np.column_stack([np.ones(len(X)), X]) @ A,
        )
    ]
    assert_allclose(*values, atol=1e-7)


def test_a_variance_lets_the_threshold_vary_less():
    X = points(100, d=2)

    def fitted(**settings):
        return OneClassSVMGB(Gaussian(0.8), nu=0.2, tol=1e-8, **settings).fit(X)

    free, constant = fitted(features="linear"), fitted()
    none = fitted(features="linear", feature_variance=0.0)
    assert_allclose(none.decision_function(X), constant.decision_function(X), atol=1e-7)
    large = fitted(features="linear", feature_variance=1e6)
    assert_allclose(large.decision_function(X), free.decision_function(X), atol=1e-3)
    some = fitted(features="linear", feature_variance=2.0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(some.feature_coef_[1:] * X.std(axis=0), 2.0 * Z.T @ (whole(some, 100) - 0.2), atol=1e-6)
    assert free.objective_ < some.objective_ < constant.objective_


def test_rows_are_read_in_every_form():
    X = points(50)
    expected = OneClassSVMGB(Gaussian(1.0), nu=0.2).fit(X).decision_function(X)
    frame = pd.DataFrame(X, columns=list("abc"))
    got = OneClassSVMGB(Gaussian(1.0), nu=0.2).fit(frame).decision_function(frame)
    assert_allclose(got, expected)
    rows = sparse.csr_matrix(X)
    assert_allclose(
        OneClassSVMGB(Gaussian(1.0), nu=0.2).fit(rows).decision_function(rows), expected, atol=1e-9
    )
    matrix = Gaussian(1.0)(X, X)
    given = OneClassSVMGB(Precomputed(), nu=0.2).fit(matrix)
    assert_allclose(given.decision_function(matrix), expected, atol=1e-9)
    assert_allclose(OneClassSVMGB(Gaussian(1.0), nu=0.2).fit_predict(X), np.where(expected < 0, -1, 1))
    called = OneClassSVMGB(lambda A, B: Gaussian(1.0)(A, B), nu=0.2).fit(X)
    assert_allclose(called.decision_function(X), expected, atol=1e-9)


def test_single_precision_rows_keep_the_promise():
    X = points(700).astype(np.float32)
    model = OneClassSVMGB(Gaussian(0.8), nu=0.1).fit(X)
    assert (model.predict(X) < 0).mean() <= 0.1


def test_a_linear_kernel_has_weights():
    X = points(60)
    model, peer = (
        OneClassSVMGB(Linear(), nu=0.33, tol=1e-9).fit(X),
        OneClassSVM(kernel="linear", nu=0.33, tol=1e-12),
    )
    peer.fit(X)
    assert_allclose(model.coef_, peer.coef_, rtol=1e-6)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-6)
    assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X), atol=1e-8)
    trend = OneClassSVMGB(Linear(), features="linear", nu=0.33).fit(X)
    with pytest.raises(AttributeError, match="feature_coef_"):
        _ = trend.intercept_


def test_no_more_than_max_iter_and_it_is_said():
    X = points(900)
    with pytest.warns(ConvergenceWarning, match="did not reach tol=1e-10"):
        model = OneClassSVMGB(Gaussian(0.8), nu=0.3, tol=1e-10, max_iter=1, solver="native").fit(X)
    assert model.duality_gap_ > 1e-10


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nu": 0.0}, "between 0 and 1"),
        ({"nu": 1.0}, "between 0 and 1"),
        ({"nu": np.nan}, "finite"),
        ({"tol": 0.0}, "tol must be greater"),
        ({"solver": "smo"}, "solver"),
        ({"feature_variance": -1.0}, "feature_variance must be at least 0"),
        ({"features": None}, 'features="constant"'),
        ({"features": lambda X: X[:, :2]}, "span the constant"),
        ({"features": EstimatorFeatures(LogisticRegression())}, "made from y"),
        ({"kernel": "auto"}, "kernel"),
    ],
    ids=named,
)
def test_what_cannot_be_is_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        OneClassSVMGB(**settings).fit(points(30))


def test_an_overflow_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        OneClassSVMGB(Linear()).fit(points(30) * 1e160)


def test_an_indefinite_kernel_is_said():
    with pytest.warns(Warning, match="not positive definite"):
        OneClassSVMGB(Sigmoid(1.0, -1.0), nu=0.3).fit(points(40) - 4)


def test_copies_of_one_row_are_no_novelties():
    X = np.zeros((20, 2))
    model = OneClassSVMGB(Gaussian(1.0), nu=0.2).fit(X)
    assert_array_equal(model.predict(X), 1)
    assert_array_equal(model.predict([[5.0, 5.0]]), -1)


def test_coefficients_that_rounding_keeps_from_their_bounds_do_not_stop_the_solver():
    # Shares that nearly add up to zero were scaled until they did, after which every coefficient at a bound
    # was one rounding error away from it: steps as long as that are no steps.
    X, nu = points(2000, d=5), 0.02
    problem = KernelProblem(Gaussian.from_gamma(0.1), X, np.ones((2000, 1)), None)
    t = -problem.kernel_times(np.full((2000, 1), nu))[:, 0]
    program = PIECEWISE["quantile"](Settings(1 - nu)).program(t, np.ones(2000))
    start = np.full(2000, -nu)
    start[np.argsort(-t)[:40]] += 1.0
    found = problem.piecewise(
        [program], solver="native", tol=1e-4, max_iter=1000, cache_bytes=1e9, start=start[:, None]
    )
    assert found.relative_gap[0] <= 1e-4


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.01, 0.2, 0.7])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Gaussian(0.05), Laplace(1.0)], ids=repr)
def test_many_rows_begin_with_few_coefficients_and_end_at_the_same_optimum(kernel, nu, weighted, monkeypatch):
    X = points(1300)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(X)) if weighted else None
    model = OneClassSVMGB(kernel, nu=nu, tol=1e-7).fit(X, sample_weight=weights)
    monkeypatch.setattr(one_class, "_FEW_ROWS", len(X))
    all_rows = OneClassSVMGB(kernel, nu=nu, tol=1e-7).fit(X, sample_weight=weights)
    assert max(model.duality_gap_, all_rows.duality_gap_) <= 1e-7
    assert_allclose(model.objective_, all_rows.objective_, rtol=1e-6)
    values = all_rows.decision_function(X)
    assert_allclose(model.decision_function(X), values, atol=1e-3 * np.abs(values).max())
    a = whole(model, len(X))
    total = nu * (len(X) if weights is None else weights.sum())
    assert_allclose(a.sum(), total, rtol=1e-9)
    assert np.mean(model.predict(X) == -1) <= nu or weighted


def test_of_many_rows_few_kernel_rows_are_evaluated(monkeypatch):
    X, counted = points(2000), []
    times = KernelProblem.kernel_times
    monkeypatch.setattr(
        KernelProblem,
        "kernel_times",
        lambda self, c: (counted.append(np.count_nonzero(c)), times(self, c))[1],
    )
    model = OneClassSVMGB(Gaussian(2.0), nu=0.02).fit(X)
    assert counted[0] == 500
    assert max(counted[1:]) <= len(model.support_) + 10
    counted.clear()
    OneClassSVMGB(Gaussian(0.02), nu=0.02).fit(X)  # no row is nearer to others than any
    assert max(counted) == 2000


@pytest.mark.parametrize("short", [2e-10, 2e-8, 5e-7])
def test_a_coefficient_a_little_below_its_bound_does_not_move_the_threshold(short, monkeypatch):
    X = np.random.default_rng(0).normal(size=(120, 2))
    wanted = OneClassSVMGB(Gaussian(1.0), nu=0.25).fit(X).predict(X)
    solver = one_class.solve

    def nearly(model, made, problem, programs, *more, **others):
        found = solver(model, made, problem, programs, *more, **others)
        names = ("beta", "kept", "iterations", "status")
        c = np.minimum(found.c, (programs[0].upper - short)[:, None])
        return SimpleNamespace(c=c, **{name: getattr(found, name) for name in names})

    monkeypatch.setattr(one_class, "solve", nearly)
    assert_array_equal(OneClassSVMGB(Gaussian(1.0), nu=0.25).fit(X).predict(X), wanted)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.02, 0.8),
    st.sampled_from([1e-4, 1e-5, 1e-6, 1e-7, 1e-8]),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_the_share_of_outliers_is_that_of_coefficients_at_their_bound_at_any_tolerance(seed, nu, tol, sigma):
    random = np.random.default_rng(seed)
    m = int(random.integers(20, 400))
    X = random.normal(size=(m, int(random.integers(1, 6))))
    peer = OneClassSVM(gamma=0.5 / sigma**2, nu=nu, tol=1e-10).fit(X)
    bounded = int((np.abs(peer.dual_coef_) > 1 - 1e-7).sum())
    outliers = int((OneClassSVMGB(Gaussian(sigma), nu=nu, tol=tol).fit(X).predict(X) < 0).sum())
    assert bounded - 1 - (0.03 if tol > 1e-6 else 0.01) * m <= outliers <= nu * m
