"""Rows at the same point, and weights that count rows: every criterion is that of all rows."""

import os
from pathlib import Path

import numpy as np
import pytest
from grls import GRLSClassifier, GRLSRegressor, PriorRLSRegressor
from grls._selection.descent import Objective
from grls._selection.parameters import Parameters
from grls._selection.regularization import evaluate
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian, Laplace, Polyharmonic
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.utils import compute_sample_weight

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
    assert_allclose(weighted.regularization_path_, copied.regularization_path_, rtol=1e-9)
    assert_allclose(weighted.criterion_path_, copied.criterion_path_, rtol=1e-8)
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


# Rows that count a hundred times leave no noise: γ is tiny.
@pytest.mark.filterwarnings("ignore:rounding may move:grls.exceptions.PrecisionWarning")
def test_weights_of_another_meaning_are_told():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), rng.normal(size=60)
    model = GRLSRegressor(Gaussian(0.5), regularization="loo")
    for scale in (0.01, 100.0):
        with pytest.warns(UserWarning, match=r"mean of sample_weight .*Divide sample_weight by its mean"):
            model.fit(X, y, sample_weight=np.full(60, scale))
        model.set_params(regularization=0.1).fit(X, y, sample_weight=np.full(60, scale))
        model.set_params(regularization="loo")
    with pytest.warns(UserWarning, match="mean of sample_weight"):
        PriorRLSRegressor(regularization="loo").fit(X, y, np.full(60, 0.01))
    with pytest.warns(UserWarning, match="exact copy of itself"):
        GRLSRegressor(Laplace(0.5), regularization="reml").fit(X, y, sample_weight=np.full(60, 2.0))
    for name in ("gcv", "reml"):
        with (
            pytest.warns(UserWarning, match="mean of sample_weight"),
            pytest.raises(ValueError, match=r"needs more rows than features: .* adds up to 1 for 1 features"),
        ):
            model.set_params(regularization=name).fit(X, y, sample_weight=np.full(60, 1 / 60))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5.0}])
def test_weights_of_classes_are_costs_and_no_copies(class_weight):
    """Leave-one-out leaves out a whole row, whatever its class weighs."""
    X, y, rng = repeated()
    labels = (y > np.quantile(y, 0.8)).astype(int)
    counts = rng.integers(1, 4, size=len(X))
    for weights in (None, counts):
        model = GRLSClassifier(Gaussian(0.3), class_weight=class_weight).fit(X, labels, sample_weight=weights)
        costs = compute_sample_weight(class_weight, labels)  # the classes are balanced by samples
        rows = np.arange(len(X)) if weights is None else np.repeat(np.arange(len(X)), counts)
        for i in (0, 7, 23):
            rest = np.delete(rows, np.flatnonzero(rows == i)[0])
            gamma = model.regularization_ * costs[rows].sum() / costs[rest].sum()
            without = GRLSClassifier(Gaussian(0.3), regularization=gamma)
            without.fit(X[rest], labels[rest], sample_weight=costs[rest])
            assert_allclose(without.decision_function(X[[i]])[0], model.loo_predictions_[i], atol=1e-8)


def test_variances_that_weights_leave_undefined_are_not_a_number():
    X, y, _ = repeated()
    model = GRLSRegressor(Gaussian(0.5), features="linear", regularization=0.1)
    model.fit(X, y, sample_weight=np.full(60, 1e-3))
    assert np.isnan(model.kernel_variance_).all()


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
