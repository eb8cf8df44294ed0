"""γ of logistic models by approximate leave-one-out: against refits, and what is kept of the choice."""

import numpy as np
import pytest
import reference
from grls import GRLogisticClassifier
from grls._models import smooth_machine as _smooth_machine
from grls._selection import smooth
from grls.kernels import Gaussian, Linear
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score


def data(m, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    f = np.column_stack([np.sin(c + 2 * X[:, 0]) + c * X[:, -1] / k for c in range(k)])
    y = (2 * f + rng.gumbel(size=f.shape)).argmax(axis=1)
    y[: 2 * k] = np.tile(np.arange(k), 2)
    return X, y


def refits(model, X, y, weights=None):
    """The functions at each row by the model without it, γΣs as it was."""
    weights = np.ones(len(y)) if weights is None else weights
    out = []
    for i in range(len(y)):
        left = weights.copy()
        left[i] = 0
        again = clone(model).set_params(regularization=model.regularization_ * weights.sum() / left.sum())
        out.append(
            again.set_params(kernel=model.kernel_, tol=1e-10)
            .fit(X, y, left)
            .decision_function(X[i : i + 1])[0]
        )
    return np.array(out)


@pytest.mark.parametrize("features", [None, "linear"])
@pytest.mark.parametrize("gamma", [1e-1, 1e-3, 1e-4])
def test_rows_left_out_are_a_newton_step_away(features, gamma):
    X, y = data(30, 3)
    options = {"features": features, "regularization_grid": [gamma]}
    two = GRLogisticClassifier(Gaussian(1.0), **options).fit(X, y > 0)
    f, t = two.decision_function(X)[:, None], (y > 0)[:, None]
    Phi = two.kernel_.matrix(X, X)
    T = np.empty((30, 0)) if features is None else np.asarray(two.features_.transform(X))
    p = expit(f)
    expected = reference.newton_leave_one_out(Phi, T, f, t - p, (p * (1 - p))[:, :, None], 60 * gamma)
    assert_allclose(two.loo_predictions_, expected[:, 0], rtol=1e-3, atol=1e-3)

    several = GRLogisticClassifier(Gaussian(1.0), **options).fit(X, y)
    f, U = several.decision_function(X), reference.zero_sum_basis(3)
    p = softmax(f, axis=1)
    W = np.array([U.T @ (np.diag(q) - np.outer(q, q)) @ U for q in p])
    slopes = ((y[:, None] == np.arange(3)) - p) @ U
    expected = reference.newton_leave_one_out(Phi, T, f @ U, slopes, W, 60 * gamma) @ U.T
    assert_allclose(several.loo_predictions_, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("n_classes", "multi_class"), [(2, "ovr"), (3, "ovr"), (3, "multinomial"), (4, "multinomial")]
)
@pytest.mark.parametrize("gamma", [1e-1, 1e-2])
def test_rows_left_out_are_as_by_refits(n_classes, multi_class, gamma):
    X, y = data(80, n_classes)
    model = GRLogisticClassifier(Gaussian(1.0), regularization_grid=[gamma], multi_class=multi_class).fit(
        X, y
    )
    assert_allclose(model.regularization_, gamma)
    expected = refits(model, X, y)
    assert np.corrcoef(model.loo_predictions_.ravel(), expected.ravel())[0, 1] > 0.9999
    if n_classes == 2:
        by_refits = np.logaddexp(0, -np.where(y, 1, -1) * expected).mean()
    elif multi_class == "multinomial":
        by_refits = -log_softmax(expected, axis=1)[np.arange(80), y].mean()
    else:
        each = log_expit(expected)
        by_refits = np.mean(logsumexp(each, axis=1) - each[np.arange(80), y])
    assert_allclose(model.loo_log_loss_, by_refits, rtol=0.01)
    named = expected > 0 if n_classes == 2 else expected.argmax(axis=1)
    assert_allclose(model.loo_score_, np.mean(named == y), atol=0.02)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_any_weight_are_left_out_with_all_their_copies(n_classes):
    X, y = data(40, n_classes)
    counts = np.random.default_rng(0).integers(1, 4, 40)
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", regularization_grid=[1e-2])
    weighted = model.fit(X, y, counts)
    expected = refits(weighted, X, y, counts.astype(float))
    assert np.corrcoef(weighted.loo_predictions_.ravel(), expected.ravel())[0, 1] > 0.999
    by_weight, loss = np.repeat(weighted.loo_predictions_, counts, axis=0), weighted.loo_log_loss_
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(repeated.loo_predictions_, by_weight, atol=1e-6)
    assert_allclose(repeated.loo_log_loss_, loss)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weight_two_is_the_row_twice_for_the_choice_too(n_classes):
    X, y = data(40, n_classes)
    counts = np.random.default_rng(0).integers(0, 3, 40)
    model = GRLogisticClassifier(Gaussian(1.0))
    weighted = model.fit(X, y, counts).regularization_path_
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).regularization_path_
    assert_allclose(weighted, repeated, rtol=1e-4)


def test_weights_of_classes_are_costs_and_not_rows():
    X, y = data(60, 2)
    model = GRLogisticClassifier(Gaussian(1.0), regularization_grid=[1e-2], class_weight={0: 3.0, 1: 1.0})
    model.fit(X, y)
    cost = np.where(y == 0, 3.0, 1.0)
    out = []
    for i in range(60):
        rows = np.delete(np.arange(60), i)
        gamma = 1e-2 * cost.sum() / cost[rows].sum()
        again = GRLogisticClassifier(Gaussian(1.0), regularization=gamma, class_weight={0: 3.0, 1: 1.0})
        out.append(again.fit(X[rows], y[rows]).decision_function(X[i : i + 1])[0])
    assert np.corrcoef(model.loo_predictions_, out)[0, 1] > 0.9999
    losses = np.logaddexp(0, -np.where(y, 1, -1) * model.loo_predictions_)
    assert_allclose(model.loo_log_loss_, np.average(losses, weights=cost))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_choice_is_the_best_of_the_curve_that_is_kept(n_classes):
    X, y = data(120, n_classes)
    model = GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    best = model.criterion_path_.argmin()
    assert model.regularization_ == model.regularization_path_[best]
    assert np.all(np.diff(model.regularization_path_) > 0)
    assert 0 < best < len(model.criterion_path_) - 1
    assert_allclose(model.loo_log_loss_, model.criterion_path_[best], rtol=1e-6)
    shape = (120,) if n_classes == 2 else (120, 3)
    assert model.loo_predictions_.shape == shape
    either_side = model.regularization_ * np.array([0.7, 1.4])
    grid = GRLogisticClassifier(Gaussian(1.0), regularization_grid=either_side).fit(X, y)
    assert grid.criterion_path_.min() > model.loo_log_loss_ - 1e-7
    assert_allclose(grid.regularization_path_, either_side)


def test_a_given_regularization_leaves_nothing_to_choose():
    X, y = data(60)
    model = GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    model.set_params(regularization=1e-2).fit(X, y)
    assert model.regularization_ == 1e-2
    for name in (
        "regularization_path_",
        "criterion_path_",
        "loo_predictions_",
        "loo_log_loss_",
        "loo_score_",
    ):
        assert not hasattr(model, name)


def test_scaling_the_kernel_scales_the_choice():
    X, y = data(80, 2)
    one = GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    other = GRLogisticClassifier(100 * Gaussian(1.0)).fit(X, y)
    assert_allclose(other.regularization_, 100 * one.regularization_, rtol=1e-3)
    assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_many_rows_some_choose(n_classes, monkeypatch):
    X, y = data(300, n_classes)
    whole = GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    monkeypatch.setattr(_smooth_machine, "WORK_OF_CHOICE", 120.0**3 * n_classes)
    part = GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    assert 0.1 < part.regularization_ / whole.regularization_ < 10
    assert np.all(np.isfinite(part.loo_predictions_))  # all rows, by the final model
    assert_allclose(part.loo_log_loss_, whole.loo_log_loss_, rtol=0.05)
    monkeypatch.setattr(_smooth_machine, "WORK_OF_SCORE", 0.0)
    part.fit(X, y)
    known = np.isfinite(part.loo_predictions_.reshape(300, -1)).all(axis=1)
    assert 100 < known.sum() < 200
    assert_allclose(part.loo_log_loss_, part.criterion_path_.min(), rtol=1e-6)


def test_classes_that_nothing_confuses_do_not_run_to_the_end_of_the_grid():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)) + centre for centre in ([0, 0], [50, 0], [0, 50])])
    y = np.repeat([0, 1, 2], 20)
    for labels in (y, y > 0):
        model = GRLogisticClassifier(Gaussian(10.0)).fit(X, labels)
        assert model.loo_score_ == 1.0
        assert model.loo_log_loss_ < 0.01
        assert np.isfinite(model.dual_coef_).all()


@pytest.mark.slow
def test_breast_cancer_has_the_log_loss_it_can_have():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found, before = (
        -cross_val_score(
            GRLogisticClassifier("gaussian", regularization=gamma),
            X,
            y,
            scoring="neg_log_loss",
            cv=StratifiedKFold(5, shuffle=True, random_state=0),
        ).mean()
        for gamma in ("loo", 1e-3)
    )
    assert found < 0.072
    assert before > 0.14


@pytest.mark.slow
def test_digits_by_default():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = GRLogisticClassifier().fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95
    found = log_loss(y[300:], model.predict_proba(X[300:]))
    assert found < 0.2
    assert_allclose(model.loo_log_loss_, found, atol=0.06)


def test_linear_separable_features_are_told_before_the_walk():
    X, y = data(60, 2)
    X[:, 0] += np.where(y, 5, -5)
    with pytest.raises(ValueError, match="separate the two classes"):
        GRLogisticClassifier(Gaussian(1.0), features="linear").fit(X, y)
    model = GRLogisticClassifier(Gaussian(1.0), features="linear", feature_variance=10.0).fit(X, y)
    assert model.loo_score_ > 0.9


def test_a_walk_can_be_followed(capsys):
    X, y = data(60, 2)
    model = GRLogisticClassifier(Linear(), verbose=1).fit(X, y)
    told = [line for line in capsys.readouterr().out.splitlines() if "leave-one-out log loss" in line]
    assert len(told) == len(model.regularization_path_)
    model.set_params(verbose=0).fit(X, y)
    assert capsys.readouterr().out == ""


def test_a_second_fit_is_the_first():
    X, y = data(60)
    model = GRLogisticClassifier(Gaussian(1.0)).fit(X, y)
    again = clone(model).fit(X, y)
    assert_array_equal(model.dual_coef_, again.dual_coef_)
    assert_array_equal(model.regularization_path_, again.regularization_path_)


def test_the_best_regularization_is_refined_where_the_criterion_is_smallest():
    """A parabola over log γ: its minimum is found to the precision of the search, within the bracket."""
    minimum = np.log(0.02)
    visited = []

    class Walk:
        def __init__(self):
            self.values = {}

        def __call__(self, gamma):
            visited.append(gamma)
            return self.values.setdefault(gamma, 1.0 + (np.log(gamma) - minimum) ** 2)

    walk, tried = Walk(), [10.0, 1.0, 0.1, 0.01, 0.001]
    for gamma in tried:
        walk(gamma)
    visited.clear()
    smooth._refine(walk, tried, 0.01)
    assert min(visited) >= 0.001
    assert max(visited) <= 0.1
    assert min(walk.values, key=walk.values.get) == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize("grid", [[], [1e-2, np.inf], [np.nan, 1e-2], [1e-2, 0.0], [-1e-2, 1.0]])
def test_a_grid_must_hold_positive_finite_numbers(grid):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="must hold positive, finite numbers"):
        GRLogisticClassifier(regularization_grid=grid).fit(X[:40], y[:40])
