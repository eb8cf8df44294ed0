"""Rows at the same point, and weights that count rows: every criterion is that of all rows."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import reference
from grls import (
    FourierGRLSRegressor,
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    NystromGRLSRegressor,
    PriorRLSRegressor,
)
from grls._selection.descent import Objective
from grls._selection.parameters import Parameters
from grls._selection.regularization import evaluate
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian, Laplace, Polyharmonic
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.utils import compute_sample_weight

pytestmark = pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")

CRITERIA = ["reml", "gcv", "loo"]
GRID = np.geomspace(1e-5, 1, 6)


def repeated(n_points=20, n_rows=60, k=1, seed=0):
    """Return rows, some of them at the same points, with targets that differ all the same."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, size=(n_points, 2))[rng.integers(0, n_points, n_rows)]
    Y = np.sin(5 * X[:, :1]) * np.arange(1, k + 1) + X[:, 1:] + 0.3 * rng.normal(size=(n_rows, k))
    return X, (Y[:, 0] if k == 1 else Y), rng


def eight_points(seed=1):
    """Return 15 measurements at each of eight points."""
    rng = np.random.default_rng(seed)
    x = np.repeat(np.arange(8.0), 15)[:, None]
    return x, 0.5 * x[:, 0] + np.sin(x[:, 0]) + 0.4 * rng.normal(size=120), rng


def dense(name, kernel, X, y, gamma):
    """Return the criterion of all rows by dense matrices that know nothing of repetitions, φ = {1, x}."""
    m = len(X)
    T = np.column_stack([np.ones(m), X])
    N = np.linalg.svd(T, full_matrices=True)[0][:, T.shape[1] :]
    s = gamma * m
    H = N.T @ kernel(X) @ N + s * np.eye(N.shape[1])
    B = N @ np.linalg.solve(H, N.T)
    c = B @ y
    if name == "loo":
        return np.mean((c / np.diag(B)) ** 2)
    if name == "gcv":
        return m * (c @ c) / np.trace(B) ** 2
    n = N.shape[1]
    return np.linalg.slogdet(H)[1] + n * np.log(y @ c / n)


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_of_repeated_rows_equal_dense_numpy(name):
    X, y, _ = repeated()
    kernel = Gaussian(0.3)
    model = GRLSRegressor(kernel, features="linear", regularization=name, regularization_grid=GRID).fit(X, y)
    assert_allclose(model.criterion_path_, [dense(name, kernel, X, y, g) for g in GRID], rtol=1e-9)


# A likelihood cannot choose the variance.
@pytest.mark.parametrize(
    ("name", "variance"), [*((name, 0.5) for name in CRITERIA), ("loo", "auto"), ("gcv", "auto")]
)
def test_repeated_rows_with_a_prior_on_the_features_are_jittered_rows(name, variance):
    X, y, rng = repeated()
    model = GRLSRegressor(
        Gaussian(0.3),
        features="linear",
        regularization=name,
        feature_variance=variance,
        regularization_grid=GRID,
    )
    tied = clone(model).fit(X, y)
    apart = clone(model).fit(X + 1e-8 * rng.normal(size=X.shape), y)
    # The variances that "auto" tries depend on the mean eigenvalue, which is another of rows than of points.
    tolerance = 1e-5 if variance == 0.5 else 1e-2
    assert_allclose(tied.criterion_path_, apart.criterion_path_, rtol=tolerance)


# GCV has no gradient.
@pytest.mark.parametrize(
    ("name", "optimize"), [*((name, None) for name in CRITERIA), ("loo", True), ("reml", True)]
)
def test_tied_rows_have_the_bands_of_jittered_rows(name, optimize):
    x, y, rng = eight_points()
    jittered = x + 1e-6 * rng.normal(size=x.shape)
    model = GRLSRegressor(Laplace(2.0), features="linear", regularization=name, optimize=optimize)
    tied, apart = clone(model).fit(x, y), clone(model).fit(jittered, y)
    assert tied.kernel_variance_ == pytest.approx(apart.kernel_variance_, rel=0.15)
    assert tied.noise_variance_ == pytest.approx(apart.noise_variance_, rel=0.02)
    bands = [fitted.predict([[4.5]], return_std=True)[1][0] for fitted in (tied, apart)]
    assert bands[0] == pytest.approx(bands[1], rel=0.06)
    assert 0.1 < bands[0] < 0.6
    # At one γ the criteria are equal.
    if optimize is None:
        again = clone(model).set_params(regularization_grid=[tied.regularization_]).fit(jittered, y)
        assert_allclose(tied.criterion_path_.min(), again.criterion_path_[0], rtol=1e-4)
    else:
        assert_allclose(tied.criterion_path_.min(), apart.criterion_path_.min(), rtol=1e-4)
        assert tied.kernel_.sigma == pytest.approx(apart.kernel_.sigma, rel=0.01)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("k", [1, 2])
def test_whole_weights_are_copies(name, k):
    X, y, rng = repeated(n_points=40, n_rows=45, k=k)
    counts = rng.integers(0, 4, size=len(X))
    model = GRLSRegressor(Laplace(0.5), features="linear", regularization=name)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    copied = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    assert_allclose(weighted.regularization_path_, copied.regularization_path_, rtol=1e-6)
    assert_allclose(weighted.criterion_path_, copied.criterion_path_, rtol=1e-7)
    assert_allclose(weighted.regularization_, copied.regularization_, rtol=1e-6)
    new = rng.uniform(size=(10, 2))
    for got, expected in zip(
        weighted.predict(new, return_std=True), copied.predict(new, return_std=True), strict=True
    ):
        assert_allclose(got, expected, rtol=1e-6)
    assert_allclose(weighted.kernel_variance_, copied.kernel_variance_, rtol=1e-6)
    if name == "loo":
        kept = counts[counts > 0]
        assert_allclose(
            np.repeat(weighted.loo_predictions_, kept, axis=0), copied.loo_predictions_, atol=1e-8
        )
        assert weighted.loo_score_ == pytest.approx(copied.loo_score_, abs=1e-9)


def test_whole_weights_are_copies_for_a_classifier_and_a_prior():
    X, y, rng = repeated(n_points=40, n_rows=50)
    counts = rng.integers(0, 4, size=len(X))
    copies = np.repeat(X, counts, axis=0)
    labels = (y > np.median(y)).astype(int)
    for model, target in (
        (GRLSClassifier(Laplace(0.5)), labels),
        (PriorRLSRegressor(regularization="loo"), y),
    ):
        weighted = clone(model).fit(X, target, sample_weight=counts)
        copied = clone(model).fit(copies, np.repeat(target, counts))
        assert_allclose(weighted.regularization_, copied.regularization_, rtol=1e-6)
        assert_allclose(
            np.repeat(weighted.loo_predictions_, counts[counts > 0], axis=0),
            copied.loo_predictions_,
            atol=1e-8,
        )


@pytest.mark.parametrize("name", ["reml", "loo"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_with_repeated_rows_are_those_of_finite_differences(name, weighted):
    X, y, rng = repeated(k=2)
    weights = rng.uniform(0.5, 2, len(X)) if weighted else None
    kernel = Gaussian([0.3, 0.5])
    problem = KernelProblem(kernel, X, np.column_stack([np.ones(len(X)), X]), weights)
    objective = Objective(Parameters(kernel, ["sigma"], 2), problem, y, name)
    values = np.array([0.3, 0.5, 1e-2])
    value, gradient = objective.value_and_gradient(values)
    numerical = []
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-5 * values[i]
        ahead, behind = (objective.value_and_gradient(values + sign * step)[0] for sign in (1, -1))
        numerical.append((ahead - behind) / (2 * step[i]))
    assert_allclose(gradient, numerical, rtol=1e-6)
    loss = lambda predictions: np.average((y - predictions) ** 2, axis=0, weights=weights)  # noqa: E731
    path = evaluate(problem, y, name, [1e-2], loss, per_output=False)
    assert_allclose(value, path.criterion[0], rtol=1e-9)


def test_weights_of_rows_that_differ_at_a_point_count_them_and_another_meaning_is_told():
    X, y, _ = repeated()
    for model in (
        GRLSRegressor(Gaussian(0.3), regularization="reml"),
        PriorRLSRegressor(regularization="gcv"),
    ):
        for scale in (0.01, 100.0):
            with pytest.warns(UserWarning, match=r"each counts as many as its sample_weight says.*noise=1 /"):
                model.fit(X, y, sample_weight=np.full(60, scale))
    points, weights = np.repeat(X[:20], 3, axis=0), np.full(60, 1e-3)
    with pytest.raises(ValueError, match=r"needs more rows than features: .* add up to"):
        GRLSRegressor(Gaussian(0.3), features="linear", regularization="reml").fit(points, y, weights)
    apart = X + 1e-3 * np.arange(60)[:, None]
    assert GRLSRegressor(Gaussian(0.3)).fit(apart, y, sample_weight=np.full(60, 100.0)).fit_warnings_ == []


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5.0}])
def test_weights_of_classes_are_costs_and_no_copies(class_weight):
    """Leave-one-out leaves out a whole row, whatever its class weighs, or a point whose labels agree."""
    X, y, rng = repeated()
    labels = (y > np.quantile(y, 0.8)).astype(int)
    counts = rng.integers(1, 4, size=len(X))
    agree = np.array([np.ptp(labels[np.all(x == X, axis=1)]) == 0 for x in X])
    for weights in (None, counts):
        model = GRLSClassifier(Gaussian(0.3), class_weight=class_weight).fit(X, labels, sample_weight=weights)
        costs = compute_sample_weight(class_weight, labels)  # the classes are balanced by samples
        rows = np.arange(len(X)) if weights is None else np.repeat(np.arange(len(X)), counts)
        for i in (*np.flatnonzero(agree)[:2], *np.flatnonzero(~agree)[:2]):
            here = np.all(X[rows] == X[i], axis=1)
            rest = rows[~here] if agree[i] else np.delete(rows, np.flatnonzero(rows == i)[0])
            gamma = model.regularization_ * costs[rows].sum() / costs[rest].sum()
            without = GRLSClassifier(Gaussian(0.3), regularization=gamma)
            without.fit(X[rest], labels[rest], sample_weight=costs[rest])
            assert_allclose(without.decision_function(X[[i]])[0], model.loo_predictions_[i], atol=1e-8)


def test_variances_that_weights_leave_undefined_are_not_a_number():
    X, y, _ = repeated()
    model = GRLSRegressor(Gaussian(0.5), features="linear", regularization=0.1)
    model.fit(np.repeat(X[:20], 3, axis=0), y, sample_weight=np.full(60, 1e-3))
    assert np.isnan(model.kernel_variance_).all()


def mixed(k=1, seed=3):
    """Return rows of whole weights: points of one row, of rows that agree, of rows that differ."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 1, size=(14, 2))
    place = np.concatenate([np.arange(14), [0, 0, 1, 2, 3], [4, 5, 5]])
    X = points[place]
    Y = np.sin(5 * X[:, :1]) * np.arange(1, k + 1) + 0.3 * rng.normal(size=(14, k))[place]
    Y[-3:] += 0.2 * rng.normal(size=(3, k))
    Y[15, 0] += 1e-5  # so little is agreement
    return X, Y, rng.integers(1, 4, size=len(X)).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 2])
def test_criteria_are_those_of_the_observations(weighted, k):
    """Restricted likelihood by the density of contrasts, rows left out by fits without them."""
    X, Y, weights = mixed(k)
    weights = weights if weighted else np.ones(len(X))
    at, values, noise = reference.observations(X, Y, weights)
    T, Phi, n = np.ones((len(at), 1)), Gaussian(0.3)(X[at]), len(at)
    found = {name: [] for name in CRITERIA}
    for gamma in GRID:
        s = gamma * weights.sum()
        B, determinant = reference.of_observations(Phi, T, values, noise, s)
        c = B @ values
        q = np.sum(values * c, axis=0)
        found["reml"].append(determinant + (n - 1) * np.mean(np.log(q / (n - 1))))
        found["gcv"].append(np.mean(n * (noise @ (s * c) ** 2) / (s * noise @ np.diag(B)) ** 2))
        errors = []
        for i in range(n):
            rest = np.arange(n) != i
            inner = reference.of_observations(Phi[np.ix_(rest, rest)], T[rest], values[rest], noise[rest], s)
            a = inner[0] @ values[rest]
            A = Phi[np.ix_(rest, rest)] + s * np.diag(noise[rest])
            beta = np.mean(values[rest] - A @ a, axis=0)
            errors.append(values[i] - Phi[i, rest] @ a - beta)
        assert_allclose(errors, c / np.diag(B)[:, None], atol=1e-9)
        found["loo"].append(np.average(np.mean(np.square(errors), axis=1), weights=1 / noise))
        model = GRLSRegressor(Gaussian(0.3), regularization=gamma).fit(X, Y, weights)
        assert_allclose(model.kernel_variance_, q / (n - 1), rtol=1e-8)
        assert model.degrees_of_freedom_ == n - 1
    for name in CRITERIA:
        model = GRLSRegressor(Gaussian(0.3), regularization=name, regularization_grid=GRID)
        curve = model.fit(X, Y, weights).criterion_path_
        if name == "reml":  # up to the volume that the weights give to the contrasts
            assert_allclose(np.diff(curve), np.diff(found[name]), atol=1e-8)
        else:
            assert_allclose(curve, found[name], rtol=1e-8)


@pytest.mark.parametrize("name", CRITERIA)
def test_neither_copies_nor_the_scale_of_weights_change_the_choice(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(40, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=40)
    model = GRLSRegressor(Gaussian(0.5), features="linear", regularization=name)
    plain = clone(model).fit(X, y)
    assert plain.regularization_ > 1e-5
    twice = clone(model)
    with pytest.warns(UserWarning, match="40 of 80 rows repeat others"):
        twice.fit(np.vstack([X, X]), np.tile(y, 2))
    others = [clone(model).fit(X, y, sample_weight=np.full(40, w)) for w in (0.25, 2.0, 4.0)]
    new = rng.uniform(size=(5, 2))
    for other in (twice, *others):
        assert_allclose(other.regularization_, plain.regularization_, rtol=1e-3)
        other.set_params(regularization=plain.regularization_)
        other.fit(other.X_fit_, other._targets_fit[:, 0], other._weights_fit)
        assert_allclose(other.kernel_variance_, plain.kernel_variance_, rtol=1e-3)
        assert other.degrees_of_freedom_ == plain.degrees_of_freedom_ == 37
        assert_allclose(
            other.predict(new, return_std=True)[1], plain.predict(new, return_std=True)[1], rtol=1e-3
        )
    summary = twice.summary(n_simulations=0)
    assert (summary.n_rows, summary.n_copies) == (40, 40)


@pytest.mark.parametrize("name", ["gcv", "reml"])
def test_models_of_many_rows_take_copies_and_the_scale_of_weights_alike(name):
    X, y, _ = repeated(60)
    X = X + 1e-3 * np.arange(60)[:, None]
    for model in (
        NystromGRLSRegressor(Gaussian(0.5), n_centers=40, regularization=name),
        FourierGRLSRegressor(Gaussian(0.5), regularization=name, tol=1e-5),
    ):
        plain = clone(model).fit(X, y)
        for other in (
            clone(model).fit(np.vstack([X] * 4), np.tile(y, 4)),
            clone(model).fit(X, y, np.full(60, 4.0)),
            clone(model).fit(X, y, np.full(60, 0.25)),
        ):
            assert_allclose(other.regularization_, plain.regularization_, rtol=1e-3)
            assert_allclose(other.kernel_variance_, plain.kernel_variance_, rtol=1e-3)


@pytest.mark.parametrize("name", ["logistic", "poisson", "negative_binomial"])
def test_smooth_losses_take_copies_and_the_scale_of_weights_alike(name):
    X, _, rng = repeated(60)
    X = X + 1e-3 * np.arange(60)[:, None]
    f = 2 * np.sin(5 * X[:, 0])
    if name == "logistic":
        model, y = GRLogisticClassifier(Gaussian(0.5)), (f + rng.normal(size=60) > 0).astype(int)
    else:
        model, y = GRRegressor(Gaussian(0.5), loss=name), rng.poisson(np.exp(f)).astype(float)
    plain = clone(model).fit(X, y)
    for other in (
        clone(model).fit(np.vstack([X] * 4), np.tile(y, 4)),
        clone(model).fit(X, y, np.full(60, 4.0)),
        clone(model).fit(X, y, np.full(60, 0.25)),
    ):
        assert_allclose(other.regularization_, plain.regularization_, rtol=1e-3)
        assert_allclose(other.loo_predictions_[:60], plain.loo_predictions_, rtol=1e-3, atol=1e-3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(CRITERIA))
def test_neither_the_order_of_rows_nor_how_weights_are_split_changes_a_criterion(seed, name):
    X, Y, weights = mixed(seed=seed % 7)
    if name == "loo":  # of rows that differ it leaves out no more than a part of one weighs
        X, Y, weights = X[:-3], Y[:-3], weights[:-3]
    rng = np.random.default_rng(seed)
    share, order = rng.uniform(0.1, 0.9, len(X)), rng.permutation(2 * len(X))
    parts = (np.concatenate([share, 1 - share]) * np.tile(weights, 2))[order]
    curves = []
    for x, y, w in ((X, Y, weights), (np.vstack([X, X])[order], np.vstack([Y, Y])[order], parts)):
        problem = KernelProblem(Gaussian(0.3), x, np.ones((len(x), 1)), w)
        loss = partial(mean_squares, y, w)
        curves.append(evaluate(problem, y, name, GRID, loss, per_output=False).criterion)
    assert_allclose(curves[1], curves[0], rtol=1e-7, atol=1e-9)


def mean_squares(y, weights, found):
    return np.average((y - found) ** 2, axis=0, weights=weights)


@pytest.mark.parametrize(
    "change",
    [
        {"row_points": [0, 60]},
        {"row_points": [0, -1]},
        {"row_weights": np.ones(3)},
        {"row_weights": -np.ones(2)},
        {"row_counts": np.zeros(2)},
        {"row_counts": np.ones(1)},
        {"deviations": np.ones((2, 2))},
    ],
    ids=repr,
)
def test_the_core_trusts_no_row(change):
    from grls import _core

    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), rng.normal(size=(60, 1))
    formula = _core.Formula([([], [], [])], [("gaussian", 0, 1.0, 0.0, 0)])
    rows = {
        "row_points": [0, 1],
        "row_weights": np.ones(2),
        "row_counts": np.ones(2),
        "deviations": np.ones((2, 1)),
        **change,
    }
    arguments = {"formula": formula, "data": X, "T": np.ones((60, 1)), "Y": y, "weights": None, "shift": 0.1}
    arguments |= {"criterion": "loo", "groups": [], "tolerance": 1e-12}
    with pytest.raises(ValueError, match="repeated rows"):
        _core.gradient(**arguments, **rows)


@pytest.mark.parametrize(("name", "smoothing"), [("reml", 10.58), ("gcv", 18.62)])
def test_the_motorcycle_data_have_the_smoothing_of_spline_packages(name, smoothing):
    """mgcv and gss: λ = γm / 12 of the cubic smoothing spline; 133 rows at 94 times."""
    path = Path(os.environ.get("GRLS_DATA", "")) / "regression" / "mcycle.csv"
    if "GRLS_DATA" not in os.environ or not path.exists():
        pytest.skip("GRLS_DATA names no folder with regression/mcycle.csv")
    data = np.genfromtxt(path, delimiter=",", skip_header=1)
    grid = 12 * np.geomspace(5, 40, 500) / len(data)
    model = GRLSRegressor(
        Polyharmonic(3), features="linear", regularization=name, regularization_grid=grid
    ).fit(data[:, :1], data[:, 1])
    assert model.regularization_ * len(data) / 12 == pytest.approx(smoothing, rel=5e-3)
