"""Rows predicted by the model without them: closed forms beside refits, and what cannot be left out."""

import os
from pathlib import Path

import numpy as np
import pytest
import reference
from grls import GRLSClassifier, GRLSRegressor
from grls._solvers import memory
from grls.features import Columns, EstimatorFeatures
from grls.kernels import Gaussian, Laplace, Matern, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)


def wave(m=70, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(m, 2)) * 3
    X[5] = X[6]  # a point with two rows, which folds may part
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=m)
    if outputs:
        y = np.column_stack([y * (p + 1) + np.cos(p * X[:, 1]) for p in range(outputs)])
    return X, y, rng


def refitted(model, X, y, weights, train, test):
    """Return predictions and standard deviations of observations by a fit to `train` with γΣw kept."""
    w = np.ones(len(y)) if weights is None else weights
    gamma = model.regularization_ * w.sum() / w[train].sum()
    again = GRLSRegressor(model.kernel, features=model.features, regularization=gamma)
    again.fit(X[train], y[train], None if weights is None else weights[train])
    mean, std = again.predict(X[test], return_std=True)
    unit = model.kernel_variance_ / again.kernel_variance_
    noise = model.noise_variance_ / w[test].reshape(-1, *[1] * (y.ndim - 1))
    return mean, np.sqrt(std**2 * unit + noise)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("cv", [5, KFold(3, shuffle=True, random_state=0), TimeSeriesSplit(4)])
@pytest.mark.parametrize("kernel", [Gaussian(0.7), ThinPlate()])
def test_folds_are_those_of_refits(kernel, cv, outputs, weighted):
    X, y, rng = wave(outputs=outputs)
    weights = rng.integers(1, 4, size=len(y)).astype(float) if weighted else None
    model = GRLSRegressor(kernel, features="linear", regularization=1e-3).fit(X, y, weights)
    found = model.cross_validate(cv)
    splitter = KFold(cv) if isinstance(cv, int) else cv
    assert found.n_folds == splitter.get_n_splits()
    for number, (train, test) in enumerate(splitter.split(X)):
        mean, std = refitted(model, X, y, weights, train, test)
        mine = found.fold == number
        assert sorted(found.rows[mine]) == sorted(test)
        order = np.argsort(found.rows[mine])
        assert_allclose(found.predictions[mine][order], mean, atol=1e-9)
        assert_allclose(found.std[mine][order], std, rtol=1e-8)
    assert_allclose(found.residuals, y[found.rows] - found.predictions, atol=1e-12)
    assert_allclose(found.z, found.residuals / found.std, rtol=1e-12)


def test_scores_are_those_of_a_normal_density():
    from scipy.stats import norm

    X, y, _ = wave()
    found = GRLSRegressor(Gaussian(0.7), regularization="reml").fit(X, y).cross_validate(4)
    assert_allclose(found.log_score, norm.logpdf(y, found.predictions, found.std), rtol=1e-10)
    assert_allclose(found.mean_log_score[2], found.log_score[found.fold == 2].mean())
    assert_allclose(found.rmse[1], np.sqrt(np.mean(found.residuals[found.fold == 1] ** 2)))
    assert "4 folds, 70 rows left out" in repr(found)


def test_finite_feature_variance_is_that_of_the_kernel_beside_it():
    X, y, rng = wave()
    labels = rng.integers(0, 5, size=len(y))
    model = GRLSRegressor(Gaussian(0.7), features="linear", regularization=1e-3, feature_variance=2.0).fit(
        X, y
    )
    T = np.column_stack([np.ones(len(y)), X])
    Phi = Gaussian(0.7)(X, X) + reference.feature_kernel(T, T, T, 2.0)
    expected = reference.leave_groups_out_by_refits(Phi, T[:, :1], y, 1e-3, labels)
    found = model.cross_validate(LeaveOneGroupOut(), groups=labels)
    assert_allclose(found.residuals, expected, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_single_rows_are_those_that_chose_the_regularization(weighted):
    X, y, rng = wave()
    weights = rng.integers(1, 4, size=len(y)).astype(float) if weighted else None
    model = GRLSRegressor(Gaussian(0.3), features="linear", regularization="loo").fit(X, y, weights)
    found = model.cross_validate("loo")
    assert_allclose(found.predictions, model.loo_predictions_, atol=1e-9)
    without = GRLSRegressor(Gaussian(0.3), features="linear", regularization=model.regularization_)
    again = without.fit(X, y, weights).cross_validate("loo")
    assert_allclose(again.predictions, found.predictions, atol=1e-9)


def test_a_row_of_weight_two_is_left_out_as_the_row_twice_is():
    X, y, rng = wave(40)
    counts = rng.integers(1, 4, size=len(y))
    again = np.repeat(np.arange(len(y)), counts)
    gamma = 1e-3
    weighted = GRLSRegressor(Gaussian(0.7), regularization=gamma).fit(X, y, counts.astype(float))
    expanded = GRLSRegressor(Gaussian(0.7), regularization=gamma).fit(X[again], y[again])
    mine, theirs = weighted.cross_validate("loo"), expanded.cross_validate("loo")
    assert_allclose(mine.predictions[again], theirs.predictions, atol=1e-8)
    assert_allclose(mine.std[again], theirs.std, rtol=1e-8)


def test_single_rows_of_small_weights_are_folds_of_one():
    X, y, rng = wave(30)
    X[5] += 0.1  # all at points of their own
    weights = rng.uniform(0.1, 1.0, size=len(y))
    model = GRLSRegressor(Gaussian(0.7), regularization=1e-2).fit(X, y, weights)
    one, folds = model.cross_validate("loo"), model.cross_validate(len(y))
    assert_allclose(one.predictions, folds.predictions, atol=1e-9)
    assert_allclose(one.std, folds.std, rtol=1e-9)


def test_rows_that_are_left_out_several_times_are_told_fold_by_fold():
    X, y, _ = wave()
    model = GRLSRegressor(Gaussian(0.7), regularization=1e-3).fit(X, y)
    twice = model.cross_validate(RepeatedKFold(n_splits=3, n_repeats=2, random_state=0))
    assert len(twice.rows) == 2 * len(y)
    assert twice.n_folds == 6
    assert np.all(np.diff(twice.fold) >= 0)
    some = model.cross_validate(ShuffleSplit(1, test_size=10, random_state=0))
    assert len(some.rows) == 10
    assert np.all(np.diff(some.rows) > 0)
    once = model.cross_validate(7)
    assert_allclose(once.rows, np.arange(len(y)))


def test_groups_of_the_fit_are_the_default():
    X, y, rng = wave()
    labels = rng.choice(["a", "b", "c"], size=len(y))
    weights = np.ones(len(y))
    weights[3] = 0
    model = GRLSRegressor(Gaussian(0.7), regularization=1e-3).fit(X, y, weights, groups=labels)
    first = model.cross_validate(GroupKFold(3))
    assert_allclose(first.predictions, model.cross_validate(GroupKFold(3), groups=labels).predictions)
    kept = np.delete(labels, 3)
    assert_allclose(first.predictions, model.cross_validate(GroupKFold(3), groups=kept).predictions)
    assert len(first.rows) == len(y) - 1


def test_a_number_of_folds_keeps_groups_together():
    X, y, rng = wave()
    labels = rng.integers(0, 8, size=len(y))
    model = GRLSRegressor(Gaussian(0.7), regularization=1e-3).fit(X, y)
    found = model.cross_validate(4, groups=labels)
    expected = model.cross_validate(GroupKFold(4), groups=labels)
    assert_array_equal(found.fold, expected.fold)
    assert_allclose(found.predictions, expected.predictions)
    assert_array_equal(model.fit(X, y, groups=labels).cross_validate(4).fold, expected.fold)
    assert model.cross_validate(20).n_folds == 8
    assert model.cross_validate(KFold(3)).n_folds == 3  # a splitter of the caller need not take them
    with pytest.raises(ValueError, match="LeaveOneGroupOut"):
        model.cross_validate("loo", groups=labels)
    with pytest.raises(ValueError, match="at least two groups"):
        model.cross_validate(groups=np.zeros(len(y)))
    classifier = GRLSClassifier(Gaussian(0.7), regularization=1e-3).fit(X, y > 0)
    by_labels = classifier.cross_validate(4, groups=labels)
    assert all(len(np.unique(by_labels.fold[labels == g])) == 1 for g in range(8))


def test_classifiers_label_rows_that_are_left_out():
    X, y, _ = wave(90)
    labels = np.digitize(y, [1.0, 2.0])
    model = GRLSClassifier(Gaussian(0.7), regularization=1e-2).fit(X, labels)
    found = model.cross_validate(KFold(3))
    for train, test in KFold(3).split(X):
        gamma = 1e-2 * len(X) / len(train)
        again = GRLSClassifier(Gaussian(0.7), regularization=gamma).fit(X[train], labels[train])
        assert_allclose(found.decision[test], again.decision_function(X[test]), atol=1e-9)
        assert np.array_equal(found.predictions[test], again.predict(X[test]))
    assert_allclose(found.right, found.predictions == labels)
    assert_allclose(found.accuracy.mean(), found.right.mean())
    assert model.cross_validate("loo").decision.shape == (90, 3)
    assert "accuracy" in repr(found)
    two = GRLSClassifier(Gaussian(0.7)).fit(X, labels > 0)
    assert_allclose(two.cross_validate("loo").decision, two.loo_predictions_, atol=1e-9)


def without_weight(m):
    """Return the splits of m rows, the weights of which the first three and the last are zero."""
    weights = np.ones(m)
    weights[[0, 1, 2, m - 1]] = 0
    return weights, [(np.r_[:30], np.r_[30:45, m - 1]), (np.r_[20 : m - 1], np.r_[:20])]


@pytest.mark.parametrize("kind", ["positions", "masks"])
def test_listed_splits_name_rows_as_given_whatever_their_weights(kind):
    X, y, _ = wave()
    weights, listed = without_weight(len(y))
    counts = weights > 0
    model = GRLSRegressor(Gaussian(0.7), regularization=1e-2).fit(X, y, weights)
    given = np.arange(len(y))
    cv = [tuple(np.isin(given, part) for part in pair) for pair in listed] if kind == "masks" else listed
    found = model.cross_validate(cv)
    tested = [test[counts[test]] for _, test in listed]
    assert np.array_equal(found.rows, np.sort(np.concatenate(tested)))
    for number, (train, _) in enumerate(listed):
        mine = found.fold == number
        assert np.array_equal(found.rows[mine], tested[number])
        mean, std = refitted(model, X, y, weights, train[counts[train]], tested[number])
        assert_allclose(found.predictions[mine], mean, atol=1e-9)
        assert_allclose(found.std[mine], std, rtol=1e-8)
    for each in (found, model.cross_validate(5), model.cross_validate("loo")):
        assert_allclose(each.residuals, y[each.rows] - each.predictions, atol=1e-12)
    assert np.array_equal(model.cross_validate(5).rows, np.flatnonzero(counts))
    with pytest.raises(ValueError, match="names row 70, but the model was fitted to 70 rows"):
        model.cross_validate([(np.r_[:30], np.r_[30:71])])
    with pytest.raises(ValueError, match="fold 1 of cv names only rows whose sample_weight is zero"):
        model.cross_validate([listed[0], (np.r_[3:69], np.r_[:3])])


def test_listed_splits_of_classifiers_name_rows_as_given():
    X, y, _ = wave()
    weights, listed = without_weight(len(y))
    labels = np.where(y > 1, "high", "low")
    found = GRLSClassifier(Gaussian(0.7), regularization=1e-2).fit(X, labels, weights).cross_validate(listed)
    for number, (train, test) in enumerate(listed):
        train, test = (part[weights[part] > 0] for part in (train, test))
        gamma = 1e-2 * weights.sum() / len(train)
        again = GRLSClassifier(Gaussian(0.7), regularization=gamma).fit(X[train], labels[train])
        mine = found.fold == number
        assert np.array_equal(found.rows[mine], test)
        assert_allclose(found.decision[mine], again.decision_function(X[test]), atol=1e-9)
        assert np.array_equal(found.right[mine], again.predict(X[test]) == labels[test])


def test_what_cannot_be_left_out_is_said(monkeypatch):
    X, y, _ = wave()
    model = GRLSRegressor(Gaussian(0.7), regularization=1e-3)
    with pytest.raises(NotFittedError):
        model.cross_validate()
    model.fit(X, y)
    with pytest.raises(ValueError, match="groups must name a group for each"):
        model.cross_validate(GroupKFold(3), groups=np.zeros(5))
    with pytest.raises(ValueError, match='"loo", a number of folds'):
        model.cross_validate("kfold")
    with pytest.raises(ValueError, match="has no folds"):
        model.cross_validate([])
    with pytest.raises(ValueError, match="names row 79, but the model was fitted to 70 rows"):
        model.cross_validate([(np.arange(60), np.arange(60, 80))])
    with pytest.raises(ValueError, match="fold 0 of cv must hold positions"):
        model.cross_validate([(np.empty(0, dtype=int), np.arange(70))])
    with pytest.raises(ValueError, match="names of one kind"):
        model.cross_validate(GroupKFold(3), groups=[None] * 35 + ["a"] * 35)
    mask = np.arange(70) < 60
    assert_allclose(model.cross_validate([(mask, ~mask)]).rows, np.arange(60, 70))
    with pytest.raises(ValueError, match="tests rows that it trains with"):
        model.cross_validate([(np.arange(60), np.arange(50, 70))])
    with pytest.raises(ValueError, match="positive regularization"):
        GRLSRegressor(Laplace(0.7), regularization=0.0).fit(X[6:], y[6:]).cross_validate()
    with pytest.raises(ValueError, match='formulation="exact"'):
        GRLSRegressor(Gaussian(0.7), regularization=1e-3, formulation="published").fit(X, y).cross_validate()
    alone = np.column_stack([X, np.arange(len(y)) < 3])
    indicator = GRLSRegressor(Gaussian(0.7), features=Columns([2]), regularization=1e-3).fit(alone, y)
    with pytest.raises(ValueError, match="without fold 0 the features"):
        indicator.cross_validate(KFold(10))
    of_targets = GRLSRegressor(Gaussian(0.7), features=EstimatorFeatures(Ridge()), regularization=1e-3)
    with pytest.raises(ValueError, match="made from y"):
        of_targets.fit(X, y).cross_validate()
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(MemoryError, match="cross_validate on 70 samples"):
        model.cross_validate()


def test_cross_validation_of_the_meuse_data_is_that_of_gstat():
    path = Path(os.environ.get("GRLS_DATA", "")) / "regression" / "meuse.csv"
    if "GRLS_DATA" not in os.environ or not path.exists():
        pytest.skip("GRLS_DATA names no folder with regression/meuse.csv")
    rows = np.genfromtxt(path, delimiter=",", names=True, usecols=("x", "y", "zinc", "dist"))
    X = np.column_stack([rows["x"], rows["y"], np.sqrt(rows["dist"])])
    model = GRLSRegressor(
        Laplace(300.0).on([0, 1]), features=Columns([2]), kernel_variance=0.15, noise_variance=0.05
    ).fit(X, np.log(rows["zinc"]))
    found = model.cross_validate("loo")
    # krige.cv(log(zinc) ~ sqrt(dist), meuse, vgm(.15, "Exp", 300, .05), nfold = 155)
    expected = [7.0963410726524279, 6.7392996636132212, 6.1369230292510597, 5.9648438039313172]
    variances = [0.11853809629311594, 0.11495638794871445, 0.11718621139399212, 0.13176943970072280]
    assert_allclose(found.predictions[:4], expected, rtol=1e-13)
    assert_allclose(found.std[:4] ** 2, variances, rtol=1e-12)
    assert_allclose(np.mean(found.residuals**2), 0.14222263829413165, rtol=1e-12)
    assert_allclose(found.z[:3], [-0.48454078883672569, 0.88588333766510885, 0.94806226849404163], rtol=1e-11)


def test_a_large_matrix_is_reduced_to_blocks_and_gives_the_same():
    X, y, rng = wave(900)
    labels = rng.integers(0, 6, size=len(y))
    model = GRLSRegressor(Matern(1.0), features="linear", regularization=1e-4).fit(X, y)
    T = np.column_stack([np.ones(len(y)), X])
    expected = reference.leave_groups_out(Matern(1.0)(X, X), T, y, 1e-4, labels)
    found = model.cross_validate(LeaveOneGroupOut(), groups=labels)
    assert_allclose(found.residuals, expected, atol=1e-8)
