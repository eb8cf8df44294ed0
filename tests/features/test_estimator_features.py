"""Other estimators as features: out of fold on the training rows, fitted to all of them for new ones."""

import pickle

import numpy as np
import pandas as pd
import pytest
from grls import GRLSClassifier, GRLSRegressor
from grls.features import EstimatorFeatures, PolynomialTrend
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(120, 2))
Y = np.sign(X[:, 0]) + 0.3 * np.sin(6 * X[:, 1])


def test_training_rows_are_answered_out_of_fold_and_new_ones_by_the_whole_fit():
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = cross_val_predict(GaussianNB(), IRIS, NAMES, cv=folds, method="predict_proba")
    features = EstimatorFeatures(GaussianNB(), constant=False)
    assert_array_equal(features.fit_transform(IRIS, NAMES), expected)
    assert_array_equal(features.transform(IRIS), GaussianNB().fit(IRIS, NAMES).predict_proba(IRIS))
    tree = EstimatorFeatures(DecisionTreeRegressor(random_state=0), constant=False)
    folds = KFold(5, shuffle=True, random_state=0)
    expected = cross_val_predict(DecisionTreeRegressor(random_state=0), X, Y, cv=folds)
    assert_array_equal(tree.fit_transform(X, Y)[:, 0], expected)
    assert_array_equal(tree.transform(X)[:, 0], Y)  # which has seen them all


def test_the_label_of_a_row_does_not_reach_its_own_features():
    features = EstimatorFeatures(DecisionTreeRegressor(random_state=0), cv=KFold(4))
    before = features.fit_transform(X, Y)
    reached = 0
    for i in range(0, 120, 7):
        changed = Y.copy()
        changed[i] += 100
        after = features.fit_transform(X, changed)
        fold = slice(i // 30 * 30, i // 30 * 30 + 30)
        assert_array_equal(after[fold], before[fold])
        reached += np.any(after != before)
    assert reached > 0  # the label does count for the other folds
    knn = EstimatorFeatures(KNeighborsClassifier(1), cv=LeaveOneOut())
    before = knn.fit_transform(IRIS, SPECIES)
    for i in (0, 60, 140):
        changed = SPECIES.copy()
        changed[i] = (SPECIES[i] + 1) % 3
        assert_array_equal(knn.fit_transform(IRIS, changed)[i], before[i])


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(random_state=0), KNeighborsClassifier(1)])
def test_labels_without_meaning_are_not_learnt(estimator):
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(400, 3)), rng.integers(0, 2, size=400)
    model = GRLSClassifier(features=EstimatorFeatures(estimator)).fit(points[:200], labels[:200])
    assert 0.4 < model.score(points[200:], labels[200:]) < 0.6
    assert model.loo_score_ < 0.62
    assert abs(model.feature_coef_[1]) < 0.5  # answers of the fitted rows themselves would get 2
    out_of_fold = cross_val_predict(clone(model), points, labels, cv=4)
    assert 0.4 < np.mean(out_of_fold == labels) < 0.6


def test_what_an_estimator_knows_helps_the_kernel():
    tree = EstimatorFeatures(DecisionTreeRegressor(max_depth=1))
    new = RNG.uniform(-1, 1, size=(400, 2))
    truth = np.sign(new[:, 0]) + 0.3 * np.sin(6 * new[:, 1])
    alone = GRLSRegressor().fit(X, Y).score(new, truth)
    assert GRLSRegressor(features=tree).fit(X, Y).score(new, truth) > max(alone, 0.95)


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
@pytest.mark.parametrize("names", [(1, 2, 3), ("a", "b", "c")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_classes_are_those_of_their_labels_in_every_fold(n_classes, names, method):
    rows = slice(50 * n_classes)
    points, labels = IRIS[rows, :2], SPECIES[rows]
    expected, got = (
        EstimatorFeatures(LogisticRegression(class_weight={called[0]: 5.0}), method=method).fit_transform(
            points, np.array(called)[labels]
        )
        for called in (range(n_classes), names)
    )
    assert_allclose(got, expected)
    frame = pd.DataFrame(points, columns=list("ab"))
    weighted = LogisticRegression(class_weight={names[0]: 5.0})
    features = EstimatorFeatures(weighted, method=method, n_jobs=2)
    assert_allclose(features.fit_transform(frame, pd.Series(np.array(names)[labels])), expected)


def test_a_kernel_matrix_loses_rows_and_columns_with_each_fold():
    of_points = EstimatorFeatures(SVC(kernel="linear", class_weight={"setosa": 3.0}))
    of_matrix = EstimatorFeatures(SVC(kernel="precomputed", class_weight={"setosa": 3.0}))
    assert_allclose(of_matrix.fit_transform(IRIS @ IRIS.T, NAMES), of_points.fit_transform(IRIS, NAMES))


# What is asked, and what it is called.


def test_probabilities_leave_out_a_class_beside_the_constant():
    features = EstimatorFeatures(GaussianNB()).fit(IRIS, NAMES)
    assert features.method_ == "predict_proba"
    T = features.transform(IRIS)
    assert_array_equal(T[:, 0], 1)
    assert_array_equal(T[:, 1:], features.estimator_.predict_proba(IRIS)[:, 1:])
    assert list(features.get_feature_names_out()) == ["1", "gaussiannb_versicolor", "gaussiannb_virginica"]
    all_of_them = EstimatorFeatures(GaussianNB(), constant=False).fit(IRIS, NAMES)
    assert_allclose(all_of_them.transform(IRIS).sum(axis=1), 1)
    assert len(all_of_them.get_feature_names_out()) == 3
    for constant in (True, False):  # neither has a dependence to warn of, and both span the same
        model = GRLSClassifier(features=EstimatorFeatures(GaussianNB(), constant=constant)).fit(IRIS, NAMES)
        assert model.feature_support_.all()


def test_other_answers():
    scores = EstimatorFeatures(RidgeClassifier()).fit(IRIS, NAMES)
    assert scores.method_ == "decision_function"
    assert_array_equal(scores.transform(IRIS)[:, 1:], scores.estimator_.decision_function(IRIS))
    assert list(scores.get_feature_names_out())[1] == "ridgeclassifier_setosa"
    labels = EstimatorFeatures(GaussianNB(), method="predict", constant=False)
    T = labels.fit(IRIS, NAMES).transform(IRIS)
    assert_array_equal(T.sum(axis=1), 1)
    assert_array_equal(labels.classes_[T.argmax(axis=1)], labels.estimator_.predict(IRIS))
    two = EstimatorFeatures(LogisticRegression(), method="decision_function").fit(IRIS[:100], NAMES[:100])
    assert list(two.get_feature_names_out()) == ["1", "logisticregression"]
    several = EstimatorFeatures(LinearRegression()).fit(X, np.column_stack([Y, -Y]))
    assert list(several.get_feature_names_out()) == ["1", "linearregression0", "linearregression1"]
    assert several.fit_transform(X, np.column_stack([Y, -Y])).shape == (120, 3)


def test_data_frames_sparse_rows_and_lists_pass_through():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    features = EstimatorFeatures(GaussianNB()).set_output(transform="pandas")
    out = features.fit_transform(frame, NAMES)
    assert list(out.columns) == list(features.get_feature_names_out())
    assert list(features.feature_names_in_) == list("abcd")
    counts = sparse.csr_array(np.floor(IRIS))
    bayes = EstimatorFeatures(MultinomialNB())
    assert_allclose(bayes.fit_transform(counts, NAMES), bayes.fit_transform(counts.toarray(), NAMES))
    assert_array_equal(bayes.fit(np.floor(IRIS).tolist(), list(NAMES)).transform(counts)[:, 0], 1)


def test_a_small_class_lowers_the_number_of_folds():
    rows = np.r_[0:20, 50:53]
    features = EstimatorFeatures(GaussianNB(), constant=False)
    expected = cross_val_predict(
        GaussianNB(),
        IRIS[rows],
        NAMES[rows],
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        method="predict_proba",
    )
    assert_array_equal(features.fit_transform(IRIS[rows], NAMES[rows]), expected)


# Composition.


def test_it_works_in_pipelines_unions_and_grids():
    union = make_union(
        PolynomialTrend(1), EstimatorFeatures(DecisionTreeRegressor(random_state=0), constant=False)
    )
    T = union.fit_transform(X, Y)
    alone = EstimatorFeatures(DecisionTreeRegressor(random_state=0), constant=False).fit_transform(X, Y)
    assert_array_equal(T[:, 3:], alone)
    model = GRLSRegressor(features=union).fit(X, Y)
    assert [name.split("__")[1] for name in model.feature_names_free_] == [
        "1",
        "x0",
        "x1",
        "decisiontreeregressor",
    ]
    pipeline = make_pipeline(StandardScaler(), EstimatorFeatures(GaussianNB()), LogisticRegression())
    assert pipeline.fit(IRIS, NAMES).score(IRIS, NAMES) > 0.9
    search = GridSearchCV(
        GRLSRegressor(features=EstimatorFeatures(DecisionTreeRegressor(random_state=0)), regularization=0.01),
        {"features__estimator__max_depth": [1, 5], "features__cv": [2, 5]},
        cv=3,
    ).fit(X, Y)
    assert search.best_score_ > 0.8
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_bad_input_is_refused_and_changes_nothing():
    features = EstimatorFeatures(GaussianNB()).fit(IRIS, NAMES)
    state = pickle.dumps(features)
    for points, labels, message in [
        (IRIS * np.nan, NAMES, "NaN"),
        (IRIS, None, "requires y"),
        (IRIS, SPECIES + 0.5, "continuous"),
        (IRIS, NAMES[:-1], "inconsistent"),
        (IRIS, np.r_[NAMES[:-1], [None]], "no label at 1 of 150 rows, the first is row 149 with None"),
        (IRIS, np.r_[NAMES[:-1], ["other"]], "at least 2 rows of each class"),
    ]:
        with pytest.raises(ValueError, match=message):
            features.fit_transform(points, labels)
    assert pickle.dumps(features) == state
    for parameters, error, message in [
        ({"method": "transform"}, ValueError, "method must be one of"),
        ({"estimator": RidgeClassifier(), "method": "predict_proba"}, ValueError, "has no predict_proba"),
        ({"estimator": StandardScaler()}, TypeError, "estimator with predict"),
        ({"estimator": "tree"}, TypeError, "estimator with predict"),
        ({"cv": 1}, ValueError, "cv must be at least 2"),
        ({"cv": "all"}, ValueError, "cv"),
    ]:
        with pytest.raises(error, match=message):
            EstimatorFeatures(**{"estimator": GaussianNB(), **parameters}).fit_transform(IRIS, NAMES)
    several = np.column_stack([SPECIES, SPECIES])
    with pytest.raises(ValueError, match="classifiers of one target"):
        EstimatorFeatures(DecisionTreeClassifier()).fit(IRIS, several)
