"""SVMGBClassifier that leaves C and the features' variance to rows held out, and its probabilities."""

import pickle
import re
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from builders import PROGRESS, with_threads
from grls import SVMGBClassifier
from grls._models import chosen_in_folds
from grls._selection.held_out import Lines
from grls.exceptions import SeparableFeaturesWarning
from grls.kernels import Gaussian, Linear, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.preprocessing import StandardScaler


def noisy(m=150, d=3, seed=0, flip=0.15):
    """Two classes that overlap."""
    return make_classification(m, d, n_informative=2, n_redundant=0, flip_y=flip, random_state=seed)


def three(m=120, seed=0):
    return make_blobs(m, 2, centers=3, cluster_std=2.5, random_state=seed)


def brute_force(model, X, y, **parameters):
    """Decision values of the rows held out, by refits of scikit-learn."""
    given = {"kernel": model.kernel_, "C": model.C_, "feature_variance": model.feature_variance_}
    fixed = clone(model).set_params(**given, decision_function_shape="ovo", **parameters)
    splits = PredefinedSplit(model.cv_fold_)
    return cross_val_predict(fixed, X, y, cv=splits, method="decision_function")


@pytest.mark.parametrize("data", [noisy, three])
@pytest.mark.parametrize("solver", ["auto", "native", "ipm"])
@pytest.mark.parametrize("variance", [np.inf, "auto", 0.5])
def test_values_held_out_are_those_of_refits(data, solver, variance):
    X, y = data()
    model = SVMGBClassifier(
        Gaussian(1.5), features="linear", C="cv", feature_variance=variance, solver=solver, tol=1e-7
    ).fit(X, y)
    expected = brute_force(model, X, y, tol=1e-9)
    assert_allclose(model.cv_predictions_, expected, atol=2e-4 * np.abs(expected).max())
    right = brute_force(model, X, y) > 0
    if len(model.classes_) == 2:
        assert model.cv_score_ == pytest.approx(np.mean(right == (y == 1)))


@pytest.mark.parametrize(
    ("kernel", "features"),
    [
        ("linear", "constant"),
        (ThinPlate(), "linear"),
        (lambda A, B: np.exp(-np.abs(A[:, :1] - B[:, 0])), None),
    ],
)
def test_values_of_any_kernel_are_those_of_refits(kernel, features):
    X, y = noisy(90, d=2)
    if features is None:
        X = X[:, :1]
    model = SVMGBClassifier(kernel, features=features, C=[0.1, 1.0], tol=1e-7).fit(X, y)
    expected = brute_force(model, X, y)
    assert_allclose(model.cv_predictions_, expected, atol=1e-3 * np.abs(expected).max())


def test_a_kernel_matrix_and_sparse_rows_choose_what_dense_rows_choose():
    X, y = noisy(100)
    settings = {"C": [0.1, 1.0, 10.0], "tol": 1e-7}
    dense = SVMGBClassifier("linear", **settings).fit(X, y)
    thin = SVMGBClassifier("linear", **settings).fit(sparse.csr_matrix(X), y)
    given = SVMGBClassifier("precomputed", **settings).fit(X @ X.T, y)
    assert_allclose(thin.predict(sparse.csr_matrix(X)), dense.predict(X))
    expected = brute_force(given, X @ X.T, y)
    assert_allclose(given.cv_predictions_, expected, atol=1e-2)


def test_without_memory_for_the_matrix_rows_are_computed_on_demand(monkeypatch):
    X, y = three()
    parameters = {"features": "linear", "C": "cv", "feature_variance": "auto", "tol": 1e-8}
    model = SVMGBClassifier(Gaussian(1.5), **parameters).fit(X, y)
    monkeypatch.setattr("grls._solvers.memory.fits", lambda size: False)
    monkeypatch.setattr("grls._solvers.memory.require", lambda *_: None)
    again = SVMGBClassifier(Gaussian(1.5), **parameters).fit(X, y)
    assert again.C_ == model.C_
    assert_allclose(again.cv_predictions_, model.cv_predictions_, atol=1e-4)


def test_what_is_chosen_is_the_best_that_was_tried():
    X, y = noisy(200)
    grid = [0.001, 0.1, 1.0, 100.0]
    model = SVMGBClassifier(Gaussian(1.0), C=grid).fit(X, y)
    assert_array_equal(model.C_path_, grid)
    assert_array_equal(model.feature_variance_path_, np.full(4, np.inf))
    assert model.C_ in model.C_path_[model.criterion_path_ == model.criterion_path_.min()]
    assert model.cv_score_ == pytest.approx(1 - model.criterion_path_.min())
    assert model.feature_variance_ == np.inf
    alone = SVMGBClassifier(Gaussian(1.0), C=model.C_).fit(X, y)
    assert_allclose(model.decision_function(X), alone.decision_function(X))
    given = alone.set_params(C=2.0).fit(X, y)
    assert given.C_ == 2.0
    assert not hasattr(given, "C_path_")


@pytest.mark.parametrize("seed", range(3))
def test_half_a_decade_to_either_side_of_what_is_chosen_was_tried(seed):
    X, y = noisy(120, seed=seed)
    model = SVMGBClassifier(Gaussian(1.0), C="cv").fit(X, y)
    for neighbour in (model.C_ * 10**0.5, model.C_ / 10**0.5):
        assert np.isclose(model.C_path_, neighbour).any()


def test_useless_features_fade_and_good_ones_stay():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    y = (np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(300) > 0).astype(int)
    new = rng.standard_normal((2000, 12))
    truth = np.sin(2 * new[:, 0]) > 0

    def noise(A):
        return np.column_stack([np.ones(len(A)), np.cos(5 * A), np.sin(7 * A)])

    def known(A):
        return np.column_stack([np.ones(len(A)), np.sin(2 * A[:, 0])])

    kernel = Gaussian(3.0)
    free, chosen = (
        SVMGBClassifier(kernel, features=noise, C="cv", feature_variance=v).fit(X, y)
        for v in (np.inf, "auto")
    )
    assert chosen.score(new, truth) > free.score(new, truth)
    helped = SVMGBClassifier(kernel, features=known, C="cv", feature_variance="auto").fit(X, y)
    assert helped.feature_variance_ > 0
    without = SVMGBClassifier(kernel, C="cv").fit(X, y)
    assert helped.score(new, truth) > without.score(new, truth) + 0.1


def test_a_variance_is_chosen_for_a_given_c():
    X, y = noisy(150)
    model = SVMGBClassifier(Gaussian(1.0), features="linear", C=3.0, feature_variance="auto").fit(X, y)
    assert model.C_ == 3.0
    assert_array_equal(np.unique(model.C_path_), [3.0])
    assert {0.0, np.inf} <= set(model.feature_variance_path_)
    assert model.feature_variance_ in model.feature_variance_path_


def test_the_width_is_chosen_with_c():
    X, y = noisy(150)
    given = SVMGBClassifier(C=1.0).fit(X, y)
    chosen = SVMGBClassifier(C="cv").fit(X, y)
    factor = np.asarray(chosen.kernel_.sigma) / np.asarray(given.kernel_.sigma)
    assert np.log2(factor[0]) == pytest.approx(np.round(np.log2(factor[0])))
    assert len(chosen.C_path_) > len(np.unique(chosen.C_path_))  # several kernels at one C
    expected = brute_force(chosen, X, y)
    assert_allclose(chosen.cv_predictions_, expected, atol=2e-2 * np.abs(expected).max())


def test_weights_count_rows():
    X, y = noisy(90)
    weights = np.random.default_rng(0).integers(0, 4, size=90)
    parameters = {"features": "linear", "C": "cv", "feature_variance": "auto", "tol": 1e-9}
    weighted = SVMGBClassifier(Gaussian(1.0), **parameters).fit(X, y, weights)
    rows = np.repeat(np.arange(90), weights)
    repeated = SVMGBClassifier(Gaussian(1.0), **parameters).fit(X[rows], y[rows])
    assert weighted.C_ == repeated.C_
    assert weighted.feature_variance_ == repeated.feature_variance_
    assert weighted.cv_score_ == pytest.approx(repeated.cv_score_)
    assert_allclose(weighted.criterion_path_, repeated.criterion_path_)
    assert np.isnan(weighted.cv_predictions_[weights == 0]).all()
    assert_array_equal(weighted.cv_fold_[weights == 0], -1)
    assert_allclose(repeated.cv_predictions_, weighted.cv_predictions_[rows], atol=1e-4)


def test_weights_of_classes_are_costs_of_their_errors():
    X, y = noisy(200)
    weights = {0: 1.0, 1: 5.0}
    by_class = SVMGBClassifier(Gaussian(1.0), C="cv", class_weight=weights).fit(X, y)
    by_row = SVMGBClassifier(Gaussian(1.0), C="cv").fit(X, y, np.where(y == 1, 5.0, 1.0))
    assert by_class.C_ == by_row.C_
    assert by_class.cv_score_ == by_row.cv_score_
    wrong = (by_class.cv_predictions_ > 0) != (y == 1)
    assert by_class.cv_score_ == pytest.approx(1 - np.average(wrong, weights=np.where(y == 1, 5.0, 1.0)))


def test_groups_are_held_out_as_a_whole():
    X, y = noisy(120)
    groups = np.array([f"subject {i}" for i in np.arange(120) // 8])
    model = SVMGBClassifier(Gaussian(1.0), C="cv").fit(X, y, groups=groups)
    for group in np.unique(groups):
        assert len(np.unique(model.cv_fold_[groups == group])) == 1
    with pytest.raises(ValueError, match="groups must name a group for each of the 120 rows"):
        SVMGBClassifier(Gaussian(1.0), C="cv").fit(X, y, groups=groups[1:])


def test_of_many_rows_some_are_searched(monkeypatch):
    monkeypatch.setattr(chosen_in_folds, "_FEWEST_ROWS", 60)
    X, y = three(400)
    model = SVMGBClassifier(Gaussian(1.5), C="cv", probability=True).fit(X, y)
    known = np.isfinite(model.cv_predictions_).all(axis=1)
    assert known.sum() == 400 // 3
    assert_array_equal(known, model.cv_fold_ >= 0)
    assert model.predict_proba(X).shape == (400, 3)
    # whether features are of use is asked of all
    settings = {"features": "linear", "C": "cv", "feature_variance": "auto", "tol": 1e-7}
    every = SVMGBClassifier(Gaussian(1.5), **settings).fit(X, y)
    assert np.isfinite(every.cv_predictions_).all()
    assert_allclose(every.cv_predictions_, brute_force(every, X, y), atol=2e-2)


def test_a_class_of_one_row_is_learnt_and_never_held_out():
    X, y = noisy(60)
    X, y = np.vstack([X, [[9.0, 9.0, 9.0]]]), np.append(y, 7)
    model = SVMGBClassifier(Gaussian(1.0), C="cv", probability=True).fit(X, y)
    assert model.cv_fold_[-1] == -1
    assert np.isnan(model.cv_predictions_[-1]).all()
    assert model.predict(X[-1:]) == [7]
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_one_point_that_can_be_held_out_is_enough_to_choose_by():
    X, y = np.array([[1.0], [1.0], [0.0], [0.0]]), np.array([0, 0, 0, 1])  # without the second, no class 1
    model = SVMGBClassifier(Gaussian(1.0), C=[1.0, 2.0]).fit(X, y)
    assert_array_equal(model.cv_fold_, [0, 0, -1, -1])
    assert_array_equal(model.C_path_, [1.0, 2.0])
    assert_array_equal(np.isnan(model.cv_predictions_).ravel(), [False, False, True, True])


def test_where_nothing_can_be_held_out_it_is_said():
    with pytest.warns(
        UserWarning, match="no row can be held out.*Nothing has chosen C=10 and feature_variance=inf"
    ):
        model = SVMGBClassifier(Gaussian(1.0), C="cv").fit([[0.0], [1.0]], [0, 1])
    assert model.C_ == 10.0  # the kernel varies by 0.2
    assert len(model.C_path_) == 0
    assert np.isnan(model.cv_score_)
    assert_array_equal(model.predict([[0.0], [1.0]]), [0, 1])


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": "loo"}, 'C must be a number, several to choose from or "cv", got'),
        ({"C": []}, "values of C to choose from must be positive, finite numbers"),
        ({"C": [1.0, -1.0]}, "positive, finite"),
        ({"C": [1.0, 0.0]}, "positive, finite"),
        ({"C": [1.0, np.inf]}, "positive, finite"),
        ({"C": [[1.0]]}, "positive, finite"),
        ({"C": ["1", "b"]}, "C must be a number, several to choose from or"),
        ({"feature_variance": "loo"}, "feature_variance .unless it is a number. must be one of 'auto'"),
        ({"feature_variance": "auto", "C": np.inf}, 'feature_variance="auto" needs a finite C'),
        ({"feature_variance": "auto", "bias": "lp"}, 'it needs formulation="virtual"'),
    ],
)
def test_what_cannot_be_chosen_is_refused(parameters, match):
    X, y = noisy(40)
    model = SVMGBClassifier("gaussian", **parameters)
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")


def test_probabilities_are_a_sigmoid_of_values_held_out():
    """Of two classes, Platt's: logistic regression with his targets, which are nearly the labels here."""
    X, y = noisy(400)
    model = SVMGBClassifier(Gaussian(1.0), C="cv", probability=True).fit(X, y)
    peer = LogisticRegression(C=1e9).fit(model.cv_predictions_[:, None], y)
    expected = peer.predict_proba(model.decision_function(X)[:, None])
    assert_allclose(model.predict_proba(X), expected, atol=0.02)
    plain = SVMGBClassifier(Gaussian(1.0), C=model.C_, probability=True).fit(X, y)
    new, labels = noisy(400)
    assert log_loss(labels, model.predict_proba(new)) < 1.05 * log_loss(labels, plain.predict_proba(new))
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_probabilities_of_several_classes_do_not_depend_on_the_shape_of_the_decision():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = SVMGBClassifier(Gaussian(2.0), C="cv", probability=True).fit(X, names)
    assert log_loss(names, model.predict_proba(X)) < 0.3
    other = clone(model).set_params(decision_function_shape="ovo").fit(X, names)
    assert_allclose(other.predict_proba(X), model.predict_proba(X))
    other.set_params(C=1.0, decision_function_shape="ovr").fit(X, names)
    assert other.predict_proba(X).shape == (150, 3)


def test_a_fit_is_the_same_again_with_any_threads_after_pickling_and_in_any_order():
    X, y = three()
    model = SVMGBClassifier(features="linear", C="cv", feature_variance="auto", probability=True, tol=1e-6)
    first, second, third = with_threads(lambda: clone(model).fit(X, y))
    for other in (second, third, pickle.loads(pickle.dumps(first))):
        assert (other.C_, other.feature_variance_) == (first.C_, first.feature_variance_)
        assert_allclose(other.decision_function(X), first.decision_function(X), atol=1e-4)
        assert_allclose(other.predict_proba(X), first.predict_proba(X), atol=1e-4)
    order = np.random.default_rng(0).permutation(len(y))
    moved = clone(model).fit(X[order], y[order])
    assert (moved.C_, moved.feature_variance_) == (first.C_, first.feature_variance_)
    assert_array_equal(moved.cv_fold_, first.cv_fold_[order])


def test_what_is_tried_is_told(capsys):
    X, y = noisy(80)
    model = SVMGBClassifier(Gaussian(1.0), C=[0.1, 1.0], verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "regularization" in model.fit_seconds_
    for line in lines[:2]:
        assert "error of rows held out" in line
    assert re.match(PROGRESS, lines[0])


def test_separable_features_are_told_of_the_model_and_not_of_the_folds():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:120]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SVMGBClassifier(Gaussian(5.0), features="linear", C=[1.0, 10.0]).fit(X, y[:120])
    assert [each.category for each in told] == [SeparableFeaturesWarning]


def test_a_search_can_be_interrupted():
    X, y = noisy(1000, d=10, flip=0.3)
    model = SVMGBClassifier(Linear(), C=np.geomspace(1e3, 1e6, 20), tol=1e-9, solver="native")
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    begin = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - begin < 30
    assert not hasattr(model, "dual_coef_")


def test_a_warm_start_goes_with_a_choice():
    X, y = noisy(80)
    model = SVMGBClassifier(Gaussian(1.0), C="cv", warm_start=True).fit(X, y)
    first = model.decision_function(X)
    assert_allclose(model.fit(X, y).decision_function(X), first, atol=1e-2)


@pytest.mark.parametrize("size", [1e-4, 1e-1, 1e3])
def test_the_values_that_folds_choose_among_go_with_the_size_of_the_kernel(size):
    """K → sK leaves the machine as it is with C/s and features of variance sτ."""
    one, other = (Lines.of("cv", "auto", spread) for spread in (1.0, size))
    assert_allclose(other.Cs, one.Cs / size)
    assert_allclose(other.variances, one.variances * size)
    assert not one.all_Cs


def test_values_of_C_that_are_given_are_tried_as_they_are():
    lines = Lines.of([10.0, 0.1, 10.0], 3.0, 1e3)
    assert lines.Cs.tolist() == [0.1, 10.0]
    assert lines.variances.tolist() == [3.0]
    assert (lines.all_Cs, lines.step) == (True, 1)
