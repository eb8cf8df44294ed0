"""`GRRegressor`: piecewise quadratic losses against formulas, other solvers, other packages, and refits."""

import pickle
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from grls import GRLSRegressor, GRRegressor, SVMGBClassifier, plotting
from grls._models import piecewise
from grls._models.families import FAMILIES
from grls._models.losses import PIECEWISE, Settings
from grls._models.robust_scale import robust_scale, spread_of, weighted_median
from grls._solvers import osqp_program
from grls._solvers.dual_program import DualProgram
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian, Linear, Sigmoid, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from reference import losses as reference
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.svm import SVR

LOSSES = tuple(PIECEWISE)


def data(m=60, seed=0, d=1, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, (m, d))
    y = 5 + X[:, 0] + np.sin(2 * X[:, 0]) + noise * rng.normal(size=m)
    return X, y


def features_of(X, n_free):
    return np.vander(X[:, 0] / 6, n_free) if n_free else np.empty((len(X), 0))


# The table, and the dual.


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_of_the_table_is_the_loss_that_is_printed(loss):
    settings = {"level": 0.3, "epsilon": 0.2, "delta": 0.7}
    r = np.linspace(-3, 3, 121)
    assert_allclose(
        PIECEWISE[loss](Settings(**settings)).loss(r), reference.value(loss, r, **settings), atol=1e-14
    )


@pytest.mark.parametrize("kind", ["plain", "weights", "duplicates"])
@pytest.mark.parametrize("n_free", [0, 1, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_the_minimum_of_the_primal_problem(loss, n_free, kind):
    X, y = data(40, seed=n_free)
    weights = np.ones(40)
    if kind == "weights":
        weights = np.random.default_rng(1).uniform(0.2, 3, 40)
    if kind == "duplicates":
        X[20:], y[20:30] = X[:20], y[:10]
    y = y - 5 if n_free == 0 else y
    settings, gamma = {"level": 0.3, "epsilon": 0.2, "delta": 0.3}, 1e-3
    model = GRRegressor(
        Gaussian(1.0),
        features=(lambda X: features_of(X, n_free)) if n_free else None,
        loss=loss,
        quantiles=0.3,
        epsilon=0.2,
        delta=0.3,
        regularization=gamma,
        tol=1e-9,
    ).fit(X, y, weights)
    Phi, T = Gaussian(1.0)(X, X), features_of(X, n_free)
    reached = reference.objective(
        loss, Phi, T, y, weights, gamma, model.dual_coef_, model.feature_coef_.reshape(-1), **settings
    )
    best = reference.objective(
        loss,
        Phi,
        T,
        y,
        weights,
        gamma,
        *reference.minimum(loss, Phi, T, y, weights, gamma, **settings),
        **settings,
    )
    assert_allclose(model.objective_[0], reached, rtol=1e-9)
    assert reached <= best * (1 + 1e-9)
    assert_allclose(reached, best, rtol=2e-6)
    assert model.duality_gap_[0] <= 1e-9
    if n_free:
        assert np.abs(T.T @ model.dual_coef_).max() < 1e-8 * np.abs(model.dual_coef_).max()


@pytest.mark.parametrize("n_free", [0, 1, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_all_solvers_find_the_same_function(loss, n_free):
    X, y = data(80, seed=3)
    y = y - 5 if n_free == 0 else y
    weights = np.random.default_rng(1).uniform(0.2, 3, 80)
    found = {}
    for solver in ("ipm", "native", "osqp"):
        model = GRRegressor(
            Gaussian(0.7),
            features=(lambda X: features_of(X, n_free)) if n_free else None,
            loss=loss,
            quantiles=0.7,
            epsilon=0.1,
            delta=0.2,
            regularization=1e-3,
            solver=solver,
            tol=(1e-13 if loss in ("huber", "expectile", "squared_epsilon_insensitive") else 1e-11)
            if solver == "native"
            else 1e-9,
        )
        found[solver] = model.fit(X, y, weights).predict(X)
        assert model.duality_gap_[0] <= 1e-9
    assert_allclose(found["native"], found["ipm"], atol=1e-6)
    assert_allclose(found["osqp"], found["ipm"], atol=1e-6)


@pytest.mark.parametrize("gamma", [1e-11, 1e-9, 1e-7])
@pytest.mark.parametrize("loss", LOSSES)
def test_wide_kernels_and_little_regularization_are_solved(loss, gamma):
    # Of rows whose residual is within ε both pieces of a coefficient go to zero, beside some of 1e5 and more.
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(90, 1))
    truth = 6 * X[:, 0] + np.sin(12 * X[:, 0])
    y = truth + 0.1 * rng.normal(size=90)
    model = GRRegressor(
        Gaussian(0.35), loss=loss, quantiles=0.4, epsilon=0.05, delta=0.1, regularization=gamma
    ).fit(X, y)  # a solver that does not get there warns, which is an error
    assert model.duality_gap_[0] <= 1e-4
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.12


def test_hinge_and_squared_hinge_are_programs_of_the_same_kind():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    T, C, zero = np.ones((80, 1)), 2.0, np.zeros(80)
    problem = KernelProblem(Gaussian(1.0), X, T, None)
    options = {"tol": 1e-9, "max_iter": 1000, "cache_bytes": 1e7}
    hinge = DualProgram(y, np.minimum(0, C * y), np.maximum(0, C * y), zero, zero, zero)
    classifier = SVMGBClassifier(Gaussian(1.0), C=C, tol=1e-9).fit(X, y)
    far = np.where(y > 0, np.inf, 0.0)
    kappa = np.full(80, 1 / (2 * C))
    squared = DualProgram(y, np.where(y > 0, 0.0, -np.inf), far, kappa, kappa, zero)
    for solver in ("ipm", "native"):
        found = problem.piecewise([hinge, squared], solver=solver, **options)
        assert_allclose(found.f[:, 0], classifier.decision_function(X), atol=1e-5)
        f, c = found.f[:, 1], found.c[:, 1]
        assert_allclose(c, 2 * C * y * np.maximum(0, 1 - y * f), atol=1e-4)  # what makes the gradient zero
        assert abs(c.sum()) < 1e-8
    assert_allclose(osqp_program.solve_all(problem, [squared], tol=1e-9, max_iter=-1).f[:, 0], f, atol=1e-4)


def test_a_program_without_a_row_is_that_of_the_others():
    X, y = data(50)
    for loss in LOSSES:
        terms = PIECEWISE[loss](Settings(0.3, 0.1, 0.3))
        C = np.full(50, 10.0)
        C[::5] = 0
        problem = KernelProblem(Gaussian(1.0), X, np.ones((50, 1)), None)
        part = problem.take(C > 0, np.ones(40))
        options = {"max_iter": 10000, "cache_bytes": 1e7}
        for solver, tol in (("ipm", 1e-9), ("native", 1e-12)):
            whole = problem.piecewise([terms.program(y, C)], solver=solver, tol=tol, **options)
            alone = part.piecewise([terms.program(y[C > 0], C[C > 0])], solver=solver, tol=tol, **options)
            assert_array_equal(whole.c[::5], 0)
            assert_allclose(whole.f[C > 0], alone.f, atol=1e-5)


# Special cases and other packages.


def test_epsilon_insensitive_is_svr():
    X, y = data(150)
    C = 3.0
    svr = SVR(C=C, gamma=0.5, epsilon=0.1, tol=1e-12).fit(X, y)
    for solver in ("ipm", "native"):
        model = GRRegressor(
            Gaussian(1.0),
            loss="epsilon_insensitive",
            epsilon=0.1,
            regularization=1 / (2 * C * 150),
            solver=solver,
            tol=1e-12,
        ).fit(X, y)
        assert_allclose(model.predict(X), svr.predict(X), atol=1e-6)
        assert_array_equal(np.flatnonzero(model.dual_coef_), np.sort(svr.support_))


def test_squared_losses_are_least_squares():
    X, y = data(80)
    exact = GRLSRegressor(Gaussian(1.0), features="linear", regularization=2e-3).fit(X, y)
    huber = GRRegressor(Gaussian(1.0), features="linear", delta=1e3, regularization=2e-3, tol=1e-10).fit(X, y)
    expectile = GRRegressor(
        Gaussian(1.0), features="linear", loss="expectile", regularization=1e-3, tol=1e-10
    ).fit(X, y)
    insensitive = GRRegressor(
        Gaussian(1.0),
        features="linear",
        loss="squared_epsilon_insensitive",
        epsilon=0.0,
        regularization=2e-3,
        tol=1e-10,
    ).fit(X, y)
    for model in (huber, expectile, insensitive):
        assert_allclose(model.predict(X), exact.predict(X), atol=1e-7)
        assert_allclose(model.feature_coef_, exact.feature_coef_, atol=1e-6)


def test_the_median_is_half_the_absolute_loss():
    X, y = data(80)
    median = GRRegressor(Gaussian(1.0), loss="quantile", regularization=1e-3, tol=1e-10).fit(X, y)
    absolute = GRRegressor(Gaussian(1.0), loss="absolute", regularization=2e-3, tol=1e-10).fit(X, y)
    assert_allclose(median.predict(X), absolute.predict(X), atol=1e-8)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_features_alone_are_quantile_regression(level):
    X, y = data(90, d=3)
    peer = QuantileRegressor(quantile=level, alpha=0, solver="highs").fit(X, y)
    model = GRRegressor(
        Gaussian(1.0), features="linear", loss="quantile", quantiles=level, regularization=1e9, tol=1e-10
    ).fit(X, y)
    assert_allclose(model.feature_coef_, [peer.intercept_, *peer.coef_], atol=1e-6)
    assert_allclose(model.predict(X), peer.predict(X), atol=1e-6)


# R's kernlab 0.9-32: kqr(x, y, scaled = FALSE, tau, C = 5, kernel = "rbfdot", kpar = list(sigma = 0.5)) at
# rows 1, 8, 15, 22 and 30 of x = seq(0, 6, length.out = 30), y = sin(2x) + x + 0.5 cos(37x).
KQR = {
    0.2: (0.500000, 1.198873, 1.988077, 4.585983, 4.145939),
    0.5: (0.500000, 1.615723, 2.608083, 4.700461, 5.215978),
    0.9: (2.503220, 2.054700, 3.059500, 5.298656, 5.368151),
}


def test_quantiles_are_those_of_kernlab():
    x = np.linspace(0, 6, 30)[:, None]
    y = np.sin(2 * x[:, 0]) + x[:, 0] + 0.5 * np.cos(37 * x[:, 0])
    for solver in ("ipm", "native"):
        model = GRRegressor(
            Gaussian.from_gamma(0.5),
            loss="quantile",
            quantiles=list(KQR),
            regularization=1 / (2 * 5 * 30),
            solver=solver,
            tol=1e-10,
        ).fit(x, y)
        assert_allclose(model.predict(x)[[0, 7, 14, 21, 29]].T, list(KQR.values()), atol=2e-6)


# Quantiles.


def test_several_quantiles_are_those_of_each_alone():
    X, y = data(400, d=2)
    levels = [0.9, 0.1, 0.5]
    for solver in ("ipm", "native"):
        common = {"loss": "quantile", "regularization": 1e-4, "solver": solver, "tol": 1e-9}
        together = GRRegressor(Gaussian(1.0), quantiles=levels, **common).fit(X, y)
        assert together.predict(X).shape == (400, 3)
        assert together.dual_coef_.shape == (400, 3)
        for k, level in enumerate(levels):
            alone = GRRegressor(Gaussian(1.0), quantiles=level, **common).fit(X, y)
            assert alone.predict(X).shape == (400,)
            assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-4)


def test_rows_below_a_quantile_are_as_many_as_it_says():
    """With the constant free: a property of the dual."""
    X, y = data(300)
    for level in (0.1, 0.5, 0.9):
        model = GRRegressor(
            Gaussian(1.0), loss="quantile", quantiles=level, regularization=1e-4, tol=1e-9
        ).fit(X, y)
        r = y - model.predict(X)
        on = np.abs(r) < 1e-6
        assert (r[~on] < 0).sum() <= level * 300 <= (r[~on] < 0).sum() + on.sum()


def test_quantiles_follow_noise_that_depends_on_x():
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, new = rng.uniform(0, 10, 500), rng.uniform(0, 10, 6000)
        y, y_new = (np.sin(x) + (0.1 + 0.15 * x) * rng.normal(size=len(x)) for x in (x, new))
        model = GRRegressor("gaussian", loss="quantile", quantiles=[0.05, 0.5, 0.95]).fit(x[:, None], y)
        low, _, high = model.predict(new[:, None]).T
        inside = (low <= y_new) & (y_new <= high)
        covered.append([inside[(new >= a) & (new < a + 10 / 3)].mean() for a in (0, 10 / 3, 20 / 3)])
        assert (high - low)[new > 8].mean() > 3 * (high - low)[new < 2].mean()
    assert_allclose(np.mean(covered, axis=0), 0.9, atol=0.04)


def test_predictions_do_not_cross_on_request():
    X, y = data(40, noise=1.0)
    levels = [0.9, 0.5, 0.55, 0.45]
    free = GRRegressor(Gaussian(0.2), loss="quantile", quantiles=levels, regularization=1e-6).fit(X, y)
    grid = np.linspace(0, 6, 400)[:, None]
    order = np.argsort(levels)
    crossing = np.diff(free.predict(grid)[:, order], axis=1)
    assert crossing.min() < -1e-3
    model = clone(free).set_params(non_crossing=True).fit(X, y)
    assert np.diff(model.predict(grid)[:, order], axis=1).min() >= 0
    assert_allclose(np.sort(model.predict(grid), axis=1), np.sort(free.predict(grid), axis=1))


@pytest.mark.parametrize("kind", ["plain", "weights", "duplicates", "prior"])
@pytest.mark.parametrize("n_free", [0, 1, 3])
def test_quantiles_fitted_together_are_the_best_that_do_not_cross(n_free, kind):
    X, y = data(30, seed=n_free, noise=1.0)
    y = y - 5 if n_free == 0 else y
    weights = np.random.default_rng(1).uniform(0.2, 3, 30) if kind == "weights" else np.ones(30)
    if kind == "duplicates":
        X[15:] = X[:15]
    levels, gamma = [0.5, 0.2, 0.45], 1e-4
    model = GRRegressor(
        Gaussian(0.3),
        features=(lambda X: features_of(X, n_free)) if n_free else None,
        loss="quantile",
        quantiles=levels,
        regularization=gamma,
        feature_variance=2.0 if kind == "prior" else np.inf,
        tol=1e-9,
    )
    free = clone(model).fit(X, y, weights)
    model.set_params(non_crossing="joint").fit(X, y, weights)
    Phi, T = Gaussian(0.3)(X, X), features_of(X, n_free)
    order = np.argsort(levels)
    f = (Phi @ model.dual_coef_ + T @ model.feature_coef_.reshape(n_free, 3))[:, order]
    alone = (Phi @ free.dual_coef_ + T @ free.feature_coef_.reshape(n_free, 3))[:, order]
    assert np.diff(alone, axis=1).min() < -1e-3
    assert np.diff(f, axis=1).min() > -1e-9
    assert_allclose(model.predict(X)[:, order], f, atol=1e-8)
    assert model.objective_.sum() > free.objective_.sum()
    assert (model.duality_gap_ <= 1e-9).all()
    assert model.duality_gap_.shape == model.n_iter_.shape == (3,)
    if kind != "prior":
        best = reference.joint_quantiles(Phi, T, y, weights, gamma, sorted(levels))
        assert_allclose(model.objective_.sum(), best, rtol=1e-6)
    if n_free and kind != "prior":
        assert np.abs(T.T @ model.dual_coef_).max() < 1e-7 * np.abs(model.dual_coef_).max()


def test_quantiles_that_do_not_cross_are_fitted_one_by_one():
    X, y = data(60)
    given = {"loss": "quantile", "quantiles": [0.1, 0.9], "regularization": 1e-2}
    alone = GRRegressor(Gaussian(1.0), **given).fit(X, y)
    together = GRRegressor(Gaussian(1.0), non_crossing="joint", **given).fit(X, y)
    assert np.diff(alone.predict(X), axis=1).min() > 0
    assert_array_equal(together.dual_coef_, alone.dual_coef_)
    one = GRRegressor(Gaussian(1.0), loss="quantile", non_crossing="joint", regularization=1e-2).fit(X, y)
    assert one.predict(X).shape == (60,)


def test_quantiles_fitted_together_take_kernels_of_every_kind():
    X, y = data(50, noise=1.0)
    for kernel, features in ((ThinPlate(), "linear"), (Linear(), "constant"), ("precomputed", "constant")):
        K = Gaussian(0.3)(X, X) if kernel == "precomputed" else X
        model = GRRegressor(
            kernel,
            features=None if kernel == "precomputed" else features,
            loss="quantile",
            quantiles=[0.45, 0.5, 0.55],
            regularization=1e-6,
            non_crossing="joint",
        ).fit(K, y)
        assert (model.duality_gap_ <= 1e-4).all()
        learnt, told = model._parts(K)
        assert np.diff(learnt + told, axis=1).min() > -1e-7 * np.abs(y).max()


# Outliers, and the scale of the noise.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "sides"), [("huber", (-1, 1)), ("huber", (1,)), ("absolute", (-1, 1))], ids=str
)
def test_one_in_ten_outliers_costs_little(loss, sides):
    errors = []
    for seed in range(8):
        X, y = data(200, seed=seed)
        rng = np.random.default_rng(seed)
        spoilt = y.copy()
        spoilt[rng.choice(200, 20, replace=False)] += rng.choice(sides, 20) * rng.uniform(5, 30, 20)
        true = 5 + X[:, 0] + np.sin(2 * X[:, 0])
        found = [GRRegressor("gaussian", loss=loss).fit(X, targets).predict(X) for targets in (y, spoilt)]
        errors.append([np.sqrt(np.mean((f - true) ** 2)) for f in found])
    clean, with_outliers = np.mean(errors, axis=0)
    assert with_outliers < 1.2 * clean  # python -m bench.compare.losses has other draws
    least_squares = GRLSRegressor("gaussian").fit(X, spoilt).predict(X)
    assert np.sqrt(np.mean((least_squares - true) ** 2)) > 3 * with_outliers


@pytest.mark.parametrize("regularization", ["auto", 1e-4])
def test_outliers_are_told_and_the_fit_is_that_without_them(regularization):
    X, y = data(150, noise=0.1)
    y[::10] += 4.0
    model = GRRegressor(Gaussian(1.0), regularization=regularization, tol=1e-8).fit(X, y)
    assert model.outliers_[::10].all()
    assert 15 <= model.outliers_.sum() <= 18
    kept = ~model.outliers_
    assert_array_equal(np.abs(y - model.predict(X)) > 3 * model.scale_, model.outliers_)
    assert not model.dual_coef_[model.outliers_].any()
    alone = GRRegressor(
        Gaussian(1.0), regularization=model.regularization_, delta=model.delta_, tol=1e-8
    ).fit(X[kept], y[kept])
    assert_allclose(model.predict(X), alone.predict(X), atol=1e-5)
    assert_allclose(model.objective_, alone.objective_, rtol=1e-6)
    assert not alone.outliers_.any()
    assert GRRegressor(Gaussian(1.0), delta=0.2).fit(X, y).outliers_.sum() == 0


@pytest.mark.slow
def test_huber_is_nearly_least_squares_without_outliers():
    ratios = []
    for seed in range(8):
        X, y = data(100, seed=seed)
        true = 5 + X[:, 0] + np.sin(2 * X[:, 0])
        error = [
            np.sqrt(np.mean((m("gaussian").fit(X, y).predict(X) - true) ** 2))
            for m in (GRRegressor, GRLSRegressor)
        ]
        ratios.append(error[0] / error[1])
    assert np.exp(np.mean(np.log(ratios))) < 1.05


def test_a_flat_start_of_the_curve_does_not_end_the_search():
    # Large γ gain and lose a little by turns; what the kernel can do shows at 1e-8.
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(100, 1))
    true = 2 * sum(np.exp(-(((X[:, 0] - a) / b) ** 2)) for a, b in ((0.15, 0.1), (0.45, 0.15), (0.8, 0.12)))
    model = GRRegressor("gaussian").fit(X, true + 0.3 * rng.normal(size=100))
    assert np.sqrt(np.mean((model.predict(X) - true) ** 2)) < 0.2


def test_the_scale_of_the_noise_is_found():
    X, y = data(400, noise=0.5)
    y[::10] += 40.0
    for regularization in ("auto", 1e-3):
        model = GRRegressor("gaussian", regularization=regularization).fit(X, y)
        assert 0.35 < model.scale_ < 0.65
        assert_allclose(model.delta_, 1.345 * model.scale_)


def test_the_scale_belongs_to_the_residuals_of_the_fit():
    X, y = data(200)
    model = GRRegressor(Gaussian(1.0), regularization=1e-3).fit(X, y)
    assert_allclose(model.scale_, robust_scale(y - model.predict(X), np.ones(200)), rtol=0.02)


def test_a_weighted_median_is_that_of_repeated_rows():
    rng = np.random.default_rng(0)
    for n in (4, 5, 9, 10):
        values, counts = rng.normal(size=n), rng.integers(1, 4, n)
        assert weighted_median(values, counts.astype(float)) == np.median(np.repeat(values, counts))


# γ by folds.


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_curve_is_that_of_refits(loss, weighted):
    X, y = data(60)
    weights = np.random.default_rng(4).uniform(0.2, 3, 60) if weighted else np.ones(60)
    groups = np.arange(60) % 4
    folds = list(GroupKFold(4).split(X, y, groups))
    grid = [1e-1, 1e-2, 1e-3, 1e-4]
    common = {"loss": loss, "quantiles": 0.3, "delta": 0.3, "features": "linear", "tol": 1e-7}
    model = GRRegressor(Gaussian(1.0), regularization_grid=grid, cv=folds, **common).fit(X, y, weights)
    assert_array_equal(model.regularization_path_, np.sort(grid))
    errors = []
    for gamma in np.sort(grid):
        left_out = np.empty(60)
        for train, test in folds:
            part = GRRegressor(Gaussian(1.0), regularization=gamma, **common)
            left_out[test] = part.fit(X[train], y[train], weights[train]).predict(X[test])
        each = reference.value(loss, y - left_out, level=0.3, epsilon=0.1, delta=0.3)
        errors.append(np.average(each, weights=weights))
        if gamma == model.regularization_:
            assert_allclose(model.cv_predictions_, left_out, atol=0.05)
    assert_allclose(model.criterion_path_, errors, rtol=0.02)
    assert model.regularization_ == np.sort(grid)[np.argmin(errors)]


def test_folds_that_are_given_and_kernel_matrices_choose_by_all_rows(monkeypatch):
    X, y = data(60)
    options = {"loss": "epsilon_insensitive", "regularization_grid": [1e-3, 1e-1]}
    by_matrix = GRRegressor("precomputed", cv=3, **options)
    by_folds = GRRegressor(Gaussian(1.0), cv=KFold(3), **options)
    expected = [by_matrix.fit(Gaussian(1.0)(X), y).criterion_path_, by_folds.fit(X, y).criterion_path_]
    monkeypatch.setattr(piecewise, "_ROWS_OF_CHOICE", 20)
    assert_array_equal(by_matrix.fit(Gaussian(1.0)(X), y).criterion_path_, expected[0])
    assert_array_equal(by_folds.fit(X, y).criterion_path_, expected[1])
    of_some = GRRegressor(Gaussian(1.0), cv=3, **options).fit(X, y)
    assert np.count_nonzero(np.isfinite(of_some.cv_predictions_)) == 20


@pytest.mark.parametrize("loss", ["quantile", "expectile"])
def test_the_curve_of_several_levels_is_the_mean_of_refits(loss):
    X, y = data(50)
    folds = list(GroupKFold(3).split(X, y, np.arange(50) % 3))
    common = {"loss": loss, "quantiles": [0.2, 0.7], "tol": 1e-7}
    grid = [1e-3, 1e-1]
    model = GRRegressor(Gaussian(1.0), regularization_grid=grid, cv=folds, **common).fit(X, y)
    errors = []
    for gamma in grid:
        left_out = np.empty((50, 2))
        for train, test in folds:
            part = GRRegressor(Gaussian(1.0), regularization=gamma, **common).fit(X[train], y[train])
            left_out[test] = part.predict(X[test])
        errors.append(
            np.mean([reference.value(loss, y - left_out[:, k], level=q) for k, q in enumerate([0.2, 0.7])])
        )
    assert_allclose(model.criterion_path_, errors, rtol=0.02)
    assert model.regularization_ == grid[int(np.argmin(errors))]


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gamma_found_is_nearly_the_best_by_refits_of_any(loss):
    X, y = data(60, noise=0.5)
    folds = list(GroupKFold(5).split(X, y, np.arange(60) % 5))
    common = {"loss": loss, "quantiles": 0.3, "delta": 0.5}
    model = GRRegressor(Gaussian(1.0), cv=folds, **common).fit(X, y)

    def error(gamma):
        left_out = np.empty(60)
        for train, test in folds:
            part = GRRegressor(Gaussian(1.0), regularization=gamma, **common).fit(X[train], y[train])
            left_out[test] = part.predict(X[test])
        return reference.value(loss, y - left_out, level=0.3, epsilon=0.1, delta=0.5).mean()

    best = min(error(gamma) for gamma in np.logspace(-6, 1, 22))
    assert error(model.regularization_) <= 1.03 * best


def test_folds_do_not_depend_on_the_order_of_rows():
    X, y = data(100, d=2)
    order = np.random.default_rng(0).permutation(100)
    first = GRRegressor("gaussian", loss="absolute").fit(X, y)
    second = GRRegressor("gaussian", loss="absolute").fit(X[order], y[order])
    assert_allclose(first.regularization_, second.regularization_, rtol=1e-10)
    assert_allclose(first.criterion_path_, second.criterion_path_, rtol=1e-2)


@pytest.mark.slow
def test_of_many_rows_some_choose():
    X, y = data(1500, d=2)
    model = GRRegressor("gaussian", loss="absolute").fit(X, y)
    assert 0 < np.isfinite(model.cv_predictions_).sum() <= 600
    assert model.score(X, y) > 0.5


# Invariances.


@pytest.mark.parametrize("loss", LOSSES)
def test_what_the_features_say_is_reproduced(loss):
    X, _ = data(50)
    y = 3 - 2 * X[:, 0]
    model = GRRegressor(Gaussian(1.0), features="linear", loss=loss, epsilon=0.0, regularization=1e-3).fit(
        X, y
    )
    assert_allclose(model.predict(X + 3), 3 - 2 * (X[:, 0] + 3), atol=1e-8)
    assert_array_equal(model.dual_coef_, 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_adding_what_the_features_say_shifts_predictions(loss):
    X, y = data(60)
    model = GRRegressor(Gaussian(1.0), features="linear", loss=loss, delta=0.3, regularization=1e-3, tol=1e-9)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y + 1e5 - 300 * X[:, 0])
    assert_allclose(second.predict(X) - 1e5 + 300 * X[:, 0], first.predict(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["huber", "quantile", "absolute", "expectile"])
def test_units_of_y_do_not_matter(loss):
    X, y = data(80)
    model = GRRegressor("gaussian", loss=loss)
    first, second = clone(model).fit(X, y), clone(model).fit(X, 1e4 * y)
    assert_allclose(second.predict(X) / 1e4, first.predict(X), rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_features_may_be_recombined_and_rows_permuted(loss):
    X, y = data(60)
    order = np.random.default_rng(0).permutation(60)
    common = {"loss": loss, "delta": 0.3, "regularization": 1e-3, "tol": 1e-10, "quantiles": 0.3}
    first = GRRegressor(Gaussian(1.0), features=lambda X: np.hstack([X - X**2, X**2, X + 1]), **common)
    second = GRRegressor(Gaussian(1.0), features="quadratic", **common)
    first.fit(X, y)
    second.fit(X[order], y[order])
    assert_allclose(first.predict(X), second.predict(X), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_is_the_row_twice(loss):
    X, y = data(50)
    counts = np.random.default_rng(0).integers(0, 4, 50)
    model = GRRegressor(
        Gaussian(1.0), features="linear", loss=loss, delta=0.3, regularization=1e-3, tol=1e-10
    )
    weighted = clone(model).fit(X, y, counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)


# The rest of what estimators have.


def test_sparse_rows_and_data_frames_give_the_same():
    X, y = data(60, d=3)
    model = GRRegressor(Gaussian(2.0), features="linear", loss="absolute", regularization=1e-3)
    dense = clone(model).fit(X, y)
    assert_allclose(
        clone(model).fit(sparse.csr_matrix(X), y).predict(sparse.csr_matrix(X)), dense.predict(X), atol=1e-6
    )
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = clone(model).fit(frame, y)
    assert_allclose(named.predict(frame), dense.predict(X), atol=1e-10)
    assert named.feature_names_free_ == ["1", "a", "b", "c"]


@pytest.mark.parametrize("regularization", [1e-3, "auto"])
def test_outputs_are_fitted_one_by_one(regularization):
    X, y = data(60)
    Y = np.column_stack([y, -2 * y + X[:, 0] ** 2])
    model = GRRegressor(Gaussian(1.0), regularization=regularization)
    together = clone(model).fit(X, Y)
    assert together.predict(X).shape == (60, 2)
    for k in range(2):
        alone = clone(model).fit(X, Y[:, k])
        assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-8)
        assert_allclose(together.delta_[k], alone.delta_)
    assert 0.5 < together.score(X, Y) <= 1


def test_parts_add_up_to_predictions():
    X, y = data(60)
    for quantiles, shape in ((0.5, (60,)), ([0.2, 0.8], (60, 2))):
        model = GRRegressor(
            Gaussian(1.0), features="linear", loss="quantile", quantiles=quantiles, regularization=1e-3
        ).fit(X, y)
        features, learnt = model.decompose(X)
        assert features.shape == shape
        assert_allclose(features + learnt, model.predict(X))


def test_kernels_given_as_matrices_conditional_ones_and_indefinite_ones():
    X, y = data(80, d=2)
    common = {"loss": "absolute", "regularization": 1e-3, "tol": 1e-8}
    formula = GRRegressor(Gaussian(1.0), **common).fit(X, y)
    given = GRRegressor("precomputed", **common).fit(Gaussian(1.0)(X, X), y)
    assert_allclose(given.predict(Gaussian(1.0)(X, X)), formula.predict(X), atol=1e-8)
    plates = {
        solver: GRRegressor(ThinPlate(), features="linear", solver=solver, **common)
        for solver in ("ipm", "native")
    }
    first, second = (model.fit(X, y).predict(X) for model in plates.values())
    assert_allclose(first, second, atol=1e-4)
    with pytest.warns(UserWarning, match="not positive definite"):
        GRRegressor(Sigmoid(2.0, -1.0), loss="huber", delta=1.0, regularization=1e-6).fit(X, y)


def test_a_prior_on_the_features_is_a_kernel():
    X, y = data(60)
    Z = (X - X.mean()) / X.std()
    model = GRRegressor(
        Gaussian(1.0), features="linear", loss="absolute", regularization=1e-3, feature_variance=2.0, tol=1e-9
    ).fit(X, y)
    matrix = Gaussian(1.0)(X, X) + 2.0 * Z @ Z.T
    plain = GRRegressor("precomputed", loss="absolute", regularization=1e-3, tol=1e-9).fit(matrix, y)
    assert_allclose(model.predict(X), plain.predict(matrix), atol=1e-6)
    free = GRRegressor(Gaussian(1.0), features="linear", loss="absolute", regularization=1e-3, tol=1e-9).fit(
        X, y
    )
    nearly = clone(model).set_params(feature_variance=1e6, tol=1e-6).fit(X, y)
    assert_allclose(nearly.predict(X), free.predict(X), atol=1e-3)


def test_a_search_goes_over_losses_and_a_model_is_kept():
    X, y = data(60)
    search = GridSearchCV(
        GRRegressor(Gaussian(1.0), regularization=1e-3),
        {"loss": ["huber", "absolute"], "kernel__sigma": [0.5, 2.0]},
        cv=3,
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict(X), search.predict(X))


def test_the_score_is_the_share_of_the_loss_explained():
    X, y = data(100)
    model = GRRegressor(Gaussian(1.0), loss="quantile", quantiles=0.8, regularization=1e-3).fit(X, y)
    left = reference.value("quantile", y - model.predict(X), level=0.8).mean()
    constant = reference.value("quantile", y - np.quantile(y, 0.8), level=0.8).mean()
    assert_allclose(model.score(X, y), 1 - left / constant, atol=1e-6)


def test_too_few_iterations_are_told():
    X, y = data(400, d=2)
    for solver in ("native", "ipm"):
        model = GRRegressor(
            Gaussian(0.3), loss="absolute", regularization=1e-7, solver=solver, max_iter=1, tol=1e-8
        )
        with pytest.warns(ConvergenceWarning, match="did not reach tol=1e-08"):
            model.fit(X, y)
        assert model.duality_gap_[0] > 1e-8


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "squared"}, "loss must be one of 'huber', 'quantile'"),
        ({"loss": "quantile", "quantiles": 0}, "quantiles must lie between 0 and 1, both excluded, got 0"),
        ({"loss": "quantile", "quantiles": 1.0}, "quantiles must lie between 0 and 1"),
        ({"loss": "quantile", "quantiles": [0.1, 1.5]}, "got 1.5"),
        ({"loss": "quantile", "quantiles": []}, "quantiles must be a number or a sequence"),
        ({"loss": "huber", "quantiles": [0.1, 0.9]}, "several quantiles need loss="),
        ({"delta": 0}, "delta must be greater than 0, got 0"),
        ({"delta": -1.0}, "delta must be greater than 0"),
        ({"delta": "scale"}, "delta .* must be one of 'auto'"),
        ({"epsilon": -0.1}, "epsilon must be at least 0"),
        ({"regularization": 0}, "regularization must be greater than 0"),
        ({"regularization": "loo"}, "must be one of 'auto', 'cv'"),
        ({"regularization_grid": [1.0, -1.0]}, "regularization_grid must hold positive"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"solver": "smo"}, "solver must be one of"),
        ({"non_crossing": "sorted"}, 'non_crossing must be True, False or "joint", got .sorted.'),
        ({"loss": "expectile", "non_crossing": "joint"}, 'joint" is for loss="quantile"'),
        ({"loss": "quantile", "non_crossing": "joint", "solver": "native"}, "interior point method: solver"),
        ({"tol": 0}, "tol must be greater than 0"),
        ({"feature_variance": -1.0}, "feature_variance must be at least 0"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = data(20)
    with pytest.raises((ValueError, TypeError), match=message):
        GRRegressor("gaussian", **parameters).fit(X, y)


def test_more_levels_at_once_than_there_is_room_for_are_refused():
    X, y = data(1500)
    model = GRRegressor(
        "gaussian", loss="quantile", quantiles=[0.1, 0.5, 0.9], regularization=1.0, non_crossing="joint"
    )
    with pytest.raises(ValueError, match="1500 samples × 3 levels at once, and is for 4000 in all at most"):
        model.fit(X, y)


@pytest.mark.parametrize("loss", [*LOSSES, *FAMILIES])
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_targets_whose_squares_leave_floating_point_are_refused(loss, size):
    X, y = data(20)
    with pytest.raises(ValueError, match="change the unit of y"):
        GRRegressor("gaussian", loss=loss).fit(X, size * y)
    if loss in LOSSES:
        with pytest.raises(ValueError, match="column 1 of y"):
            GRRegressor("gaussian", loss=loss).fit(X, np.column_stack([y, size * y]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e90, 1e-90])
def test_units_of_y_may_be_far_from_one(loss, size):
    X, y = data(40)
    found = []
    for unit in (1.0, size):
        model = GRRegressor(Gaussian(1.0), loss=loss, epsilon=0.1 * unit, quantiles=0.3, tol=1e-6)
        found.append(model.fit(X, unit * y).predict(X) / unit)
    assert_allclose(found[1], found[0], atol=0.02)


def test_several_quantiles_of_several_outputs_are_refused():
    X, y = data(20)
    with pytest.raises(ValueError, match="give y one column, or one quantile"):
        GRRegressor(loss="quantile", quantiles=[0.1, 0.9]).fit(X, np.column_stack([y, y]))


def test_rows_at_one_point_cannot_choose():
    with pytest.raises(ValueError, match="all rows are at the same point"):
        GRRegressor("gaussian").fit(np.ones((10, 1)), np.arange(10.0))


def test_displays_show_lines_levels_and_the_choice():
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    X, y = data(50)
    levels = GRRegressor("gaussian", loss="quantile", quantiles=[0.9, 0.1, 0.5]).fit(X, y)
    display = plotting.FitDisplay.from_estimator(levels, X, y, n_points=30)
    assert display.band is None
    assert_allclose(display.mean, levels.predict(display.line[:, None]))
    assert "levels 0.1 to 0.9" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    robust = GRRegressor("gaussian").fit(X, y)
    assert plotting.FitDisplay.from_estimator(robust, X, y, n_points=30).mean.shape == (30,)
    path = plotting.RegularizationPathDisplay.from_estimator(robust)
    assert_array_equal(path.criterion_path, robust.criterion_path_)
    assert path.ax_.get_ylabel() == "loss of rows left out"
    assert plotting.DecompositionDisplay.from_estimator(robust, X) is not None
    two = clone(robust).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="each of 2 has its own"):
        plotting.RegularizationPathDisplay.from_estimator(two)
    plt.close("all")


@pytest.mark.parametrize("loss", ["squared_epsilon_insensitive", "absolute"])
def test_the_shift_that_widths_are_chosen_with_is_that_of_all_rows(loss):
    """γΣw of a quadratic loss; a linear one pulls as r² does at half the distance of the targets."""
    y = np.array([0.0, 1.0, 2.0, 5.0])[:, None]
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    samples = SimpleNamespace(weights=weights, targets=y)
    training = SimpleNamespace(samples=samples, n_samples=4, T=np.ones((4, 1)))
    shift = GRRegressor(loss=loss, regularization=0.2)._equivalent_shift(training)
    expected = 0.2 * weights.sum()
    if loss == "absolute":
        expected *= 2 * spread_of(y[:, 0], np.ones((4, 1)), weights)
    assert shift == pytest.approx(expected)
    samples.weights = None
    ratio = GRRegressor(loss="expectile", regularization=0.2)._equivalent_shift(training) / 0.2
    assert ratio == pytest.approx(4)


@pytest.mark.parametrize("loss", ["huber", "absolute", "poisson"])
def test_a_score_is_of_as_many_targets_as_rows_and_outputs(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.poisson(2.0, size=30).astype(float)
    model = GRRegressor(Gaussian(1.0), loss=loss, regularization=0.1).fit(X, y)
    assert np.isfinite(model.score(X, y))
    for targets, said in (
        (y[:7], "inconsistent numbers of samples"),
        (np.where(y > 2, np.nan, y), "NaN"),
        (np.where(y > 2, np.inf, y), "infinity"),
        (np.c_[y, y], "y has 2 columns, the model 1"),
    ):
        with pytest.raises(ValueError, match=said):
            model.score(X, targets)


def test_a_score_of_several_quantiles_takes_one_column():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = GRRegressor(Gaussian(1.0), loss="quantile", quantiles=[0.2, 0.8], regularization=0.1).fit(X, y)
    assert model.score(X, y) == model.score(X, y[:, None])
    with pytest.raises(ValueError, match="y has 2 columns, the model 1"):
        model.score(X, np.c_[y, y])
    both = GRRegressor(Gaussian(1.0), loss="absolute", regularization=0.1).fit(X, np.c_[y, -y])
    for columns in (1, 3):
        with pytest.raises(ValueError, match=f"y has {columns} columns, the model 2"):
            both.score(X, np.ones((30, columns)))


def test_a_loss_set_after_the_fit_is_not_read_as_that_of_the_fit():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 2)), rng.poisson(2.0, size=30).astype(float)
    model = GRRegressor(Gaussian(1.0), loss="poisson", regularization=0.1).fit(X, y)
    model.set_params(loss="huber")
    for ask in (model.predict, lambda X: model.score(X, y)):
        with pytest.raises(ValueError, match="loss is 'huber' now, and the model was fitted with 'poisson'"):
            ask(X)
    assert model.fit(X, y).predict(X).shape == (30,)


@pytest.mark.parametrize("power", [64, 80, -70])
def test_rows_beyond_single_precision_have_the_model_of_others(power):
    """Their squared distances are none in float32, in which kernel values may be evaluated."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * random.normal(size=600)
    y[::40] += 3
    given = {"loss": "huber", "regularization": 1e-3}
    plain = GRRegressor(Gaussian(2.0), **given).fit(X, y)
    far = GRRegressor(Gaussian(2.0 * 2.0**power), **given).fit(X * 2.0**power, y)
    assert_allclose(far.scale_, plain.scale_, rtol=0.02)
    assert_allclose(far.predict(X * 2.0**power), plain.predict(X), atol=0.02)
    assert_array_equal(far.outliers_, plain.outliers_)
