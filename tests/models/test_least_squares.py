"""The estimators against the oracle and against their peers in SciPy and scikit-learn."""

import grls
import numpy as np
import pandas as pd
import pytest
import reference
from builders import classifier, regressor
from grls.exceptions import PrecisionWarning
from grls.features import Columns, PolynomialTrend
from grls.kernels import Gaussian, Laplace, Linear, Polynomial, Precomputed
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.interpolate import RBFInterpolator
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_iris, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

# These tests look at predictions and equations; some of their features run away or are the kernel's too.
pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]


TREND = {0: "constant", 1: "linear", 2: "quadratic"}


def data(m=60, d=2, seed=0, k=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(m, d))
    y = np.sin(2 * X[:, 0]) + X.sum(axis=1) + 0.1 * rng.normal(size=m)
    return X, (y if k is None else np.column_stack([y + i * X[:, 0] ** i for i in range(k)]))


def new_points(d=2, n=25):
    return np.random.default_rng(99).uniform(-2.5, 2.5, size=(n, d))


def classes(n_classes=3, m=80):
    return make_classification(
        m, 5, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )


# Peers.


@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_polynomial_features_make_the_rbf_interpolator_of_scipy(d, degree, gamma):
    X, y = data(d=d)
    sigma = 0.5
    peer = RBFInterpolator(
        X, y, kernel="gaussian", epsilon=1 / (np.sqrt(2) * sigma), degree=degree, smoothing=gamma * len(X)
    )
    model = regressor(Gaussian(sigma), features=TREND[degree], regularization=gamma).fit(X, y)
    assert_allclose(model.predict(new_points(d)), peer(new_points(d)), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Gaussian(0.7), {"kernel": "rbf", "gamma": 1 / (2 * 0.7**2)}),
        (Polynomial(3, c=1.0), {"kernel": "polynomial", "degree": 3, "gamma": 1.0, "coef0": 1.0}),
        (Linear(), {"kernel": "linear"}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_without_features_it_is_kernel_ridge_regression(kernel, peer, weighted):
    X, y = data(k=2)
    w = np.random.default_rng(1).uniform(0.2, 2.0, len(X)) if weighted else np.ones(len(X))
    gamma = 1e-3
    expected = KernelRidge(alpha=gamma * w.sum(), **peer).fit(X, y, sample_weight=w if weighted else None)
    model = regressor(kernel, features=None, regularization=gamma)
    model.fit(X, y, sample_weight=w if weighted else None)
    assert_allclose(model.predict(new_points()), expected.predict(new_points()), rtol=0, atol=1e-8)


@pytest.mark.parametrize("formulation", ["exact", "published"])
def test_a_large_regularization_leaves_ordinary_least_squares(formulation):
    X, y = data()
    model = regressor(Gaussian(1.0), features="quadratic", regularization=1e8, formulation=formulation)
    model.fit(X, y)
    _, learnt = model.decompose(new_points())
    assert np.abs(learnt).max() < 1e-6
    if formulation == "exact":  # the published one interpolates its pivots instead
        expected = LinearRegression().fit(PolynomialFeatures(2).fit_transform(X), y)
        known = expected.predict(PolynomialFeatures(2).fit_transform(new_points()))
        assert_allclose(model.predict(new_points()), known, atol=1e-5)


def test_a_linear_kernel_with_a_constant_is_the_ridge_classifier():
    X, y = classes()
    gamma = 0.01
    expected = RidgeClassifier(alpha=gamma * len(X)).fit(X, y)
    model = classifier(Linear(), features="constant", regularization=gamma).fit(X, y)
    assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-8)
    assert_array_equal(model.predict(X), expected.predict(X))


# The oracle.


@pytest.mark.parametrize("kernel", [Gaussian(0.6), Laplace(1.2), Gaussian(0.5) + 0.3 * Linear()], ids=repr)
def test_both_formulations_are_those_of_the_reference(kernel):
    X, y = data()
    gamma = 1e-3
    T, T_new = (PolynomialTrend(1).fit(X).transform(Z) for Z in (X, new_points()))
    Phi, Phi_new = kernel(X), kernel(new_points(), X)

    exact = regressor(kernel, features="linear", regularization=gamma).fit(X, y)
    c, beta = reference.solve_exact(Phi, T, y, gamma)
    assert_allclose(exact.dual_coef_, c, rtol=0, atol=1e-9 * np.abs(c).max())
    assert_allclose(exact.feature_coef_, beta, rtol=0, atol=1e-9)
    assert_allclose(exact.predict(new_points()), Phi_new @ c + T_new @ beta, rtol=0, atol=1e-9)

    published = regressor(kernel, features="linear", regularization=gamma, formulation="published").fit(X, y)
    residuals = np.abs(published.predict(X) - y)
    pivots = np.argsort(residuals)[:3]  # it interpolates there
    assert residuals[pivots].max() < 1e-9
    tilde = reference.solve_published(Phi, T, y, gamma, pivots)
    expected = reference.published_function(Phi_new, T_new, Phi, T, pivots, *tilde)
    assert_allclose(published.predict(new_points()), expected, rtol=0, atol=1e-8)

    objectives = [
        reference.objective(Phi, T, y, gamma, m.dual_coef_, m.feature_coef_) for m in (exact, published)
    ]
    assert objectives[0] < objectives[1]


@pytest.mark.parametrize("k", [1, 3])
def test_the_published_formulation_as_printed_takes_the_first_samples_as_pivots(k):
    X, y = data(k=k)
    kernel, gamma = Gaussian(1.5), 1e-3
    model = regressor(
        kernel, features="linear", regularization=gamma, formulation="published", pivots="first"
    ).fit(X, y)
    pivots = np.arange(X.shape[1] + 1)
    assert_allclose(model.predict(X[pivots]), y[pivots], rtol=0, atol=1e-7)  # it interpolates there
    T, T_new = (PolynomialTrend(1).fit(X).transform(Z) for Z in (X, new_points()))
    Phi, Phi_new = kernel(X), kernel(new_points(), X)
    tilde = reference.solve_published(Phi, T, y, gamma, pivots)
    expected = reference.published_function(Phi_new, T_new, Phi, T, pivots, *tilde)
    assert_allclose(model.predict(new_points()), expected, rtol=0, atol=1e-6)
    chosen = clone(model).set_params(pivots="qr").fit(X, y).predict(new_points())
    assert np.abs(chosen - model.predict(new_points())).max() > 1e-2
    shuffled = np.random.default_rng(0).permutation(len(X))
    assert np.abs(clone(model).fit(X[shuffled], y[shuffled]).predict(new_points()) - expected).max() > 1e-2


def test_pivots_do_not_matter_to_the_minimiser():
    X, y = data()
    plain, first = (regressor(features="linear", pivots=p).fit(X, y).predict(X) for p in ("qr", "first"))
    assert_array_equal(plain, first)


def test_first_samples_that_are_no_pivots_are_an_error_with_the_way_out():
    X, y = data()
    X = X[[0, 0, *range(1, len(X))]]
    y = y[[0, 0, *range(1, len(y))]]
    model = regressor(features="linear", regularization=1e-3, formulation="published", pivots="first")
    with pytest.raises(ValueError, match=r"pivot samples form a singular matrix .* use pivots='qr'"):
        model.fit(X, y)
    model.set_params(pivots="qr").fit(X, y)
    weights = np.ones(len(X))
    weights[1] = 0  # a row that does not count is no pivot either
    model.set_params(pivots="first").fit(X, y, weights)
    assert_allclose(model.predict(X[:1]), y[:1], atol=1e-7)
    with pytest.raises(ValueError, match="pivots must be one of"):
        regressor(pivots="last").fit(X, y)


def test_no_small_step_lowers_the_weighted_objective():
    X, y = data()
    rng = np.random.default_rng(0)
    w = rng.uniform(0.1, 3.0, len(X))
    model = regressor(Gaussian(0.6), features="linear", regularization=1e-2).fit(X, y, sample_weight=w)
    Phi, T = Gaussian(0.6)(X), model.features_.transform(X)
    c, beta = model.dual_coef_, model.feature_coef_
    lowest = reference.weighted_objective(Phi, T, y, 1e-2, c, beta, w)
    null = reference.null_space(T)  # steps in c keep Tᵀc = 0
    for _ in range(50):
        step_c, step_beta = 1e-3 * null @ rng.normal(size=len(X) - 3), 1e-3 * rng.normal(size=3)
        stepped = reference.weighted_objective(Phi, T, y, 1e-2, c + step_c, beta + step_beta, w)
        assert stepped > lowest
    expected = reference.solve_exact(Phi, T, y, 1e-2, w)
    assert_allclose(c, expected[0], rtol=0, atol=1e-9 * np.abs(c).max())


@pytest.mark.parametrize("formulation", ["exact", "published"])
def test_data_in_the_span_of_the_features_are_reproduced_without_the_kernel(formulation):
    X, _ = data()
    y = 1 + X[:, 0] - 3 * X[:, 1] + 2 * X[:, 0] * X[:, 1]
    model = regressor(Gaussian(0.6), features="quadratic", formulation=formulation).fit(X, y)
    Z = 10 * new_points()  # far outside, where the kernel has died away
    assert_allclose(model.predict(Z), 1 + Z[:, 0] - 3 * Z[:, 1] + 2 * Z[:, 0] * Z[:, 1], atol=1e-8)
    assert np.abs(model.dual_coef_).max() < 1e-10


@pytest.mark.parametrize("k", [1, 3, 70])
def test_outputs_fitted_together_are_those_fitted_alone(k):
    X, Y = data(k=k)
    model = regressor(Gaussian(0.6), features="linear").fit(X, Y)
    assert model.predict(new_points()).shape == (25, k)
    assert model.dual_coef_.shape == (60, k)
    for i in range(0, k, 23):
        alone = regressor(Gaussian(0.6), features="linear").fit(X, Y[:, i])
        assert alone.predict(new_points()).shape == (25,)
        scale = np.abs(Y[:, i]).max()
        assert_allclose(
            model.predict(new_points())[:, i], alone.predict(new_points()), rtol=0, atol=1e-9 * scale
        )


# Precision.


@pytest.mark.parametrize("formulation", ["exact", "published"])
def test_single_precision_is_close_to_double(formulation):
    X, y = data(300, 3)
    double, single = (
        regressor(
            Gaussian(1.0),
            features="linear",
            regularization=1e-3,
            precision=precision,
            formulation=formulation,
        ).fit(X, y)
        for precision in ("double", "single")
    )
    assert_allclose(single.predict(new_points(3)), double.predict(new_points(3)), rtol=0, atol=2e-3)
    assert not np.array_equal(single.dual_coef_, double.dual_coef_)
    assert single.dual_coef_.dtype == np.float64


@pytest.mark.parametrize("formulation", ["exact", "published"])
@pytest.mark.parametrize("k", [1, 3])
def test_mixed_precision_gives_the_digits_of_double(formulation, k):
    X, y = data(600, 3, k=k)
    double, mixed = (
        regressor(
            Gaussian(1.0),
            features="linear",
            regularization=1e-3,
            precision=precision,
            formulation=formulation,
        ).fit(X, y)
        for precision in ("double", "mixed")
    )
    assert mixed.precision_ == "mixed"
    assert mixed.n_iter_ > 0
    assert_allclose(mixed.predict(new_points(3)), double.predict(new_points(3)), rtol=0, atol=1e-9)


def test_mixed_precision_falls_back_to_double_where_single_cannot_factorise():
    X, y = data(200, 1)
    with pytest.warns(PrecisionWarning, match="rounding may move predictions"):
        double, mixed = (
            regressor(Gaussian(1.0), features="linear", regularization=1e-13, precision=precision).fit(X, y)
            for precision in ("double", "mixed")
        )
    assert mixed.precision_ == "double"
    assert_array_equal(mixed.predict(X), double.predict(X))


def test_automatic_precision_of_a_large_fit_has_the_digits_of_double():
    X, y = data(3200, 5)
    double, auto = (
        regressor(Gaussian(1.0), features="linear", regularization=1e-3, precision=precision).fit(X, y)
        for precision in ("double", "auto")
    )
    assert_allclose(auto.predict(new_points(5)), double.predict(new_points(5)), rtol=0, atol=1e-9)
    assert regressor().fit(X[:100], y[:100]).precision_ == "double"


# Data far from the origin.


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplace(0.7), Gaussian()], ids=repr)
@pytest.mark.parametrize("d", [2, 20])
def test_an_offset_of_a_million_changes_no_prediction(kernel, d):
    rng = np.random.default_rng(0)
    X = rng.integers(-512, 513, size=(300, d)) / 256
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))
    Z = rng.integers(-512, 513, size=(30, d)) / 256
    offset = 2.0**20
    near, far = (
        regressor(kernel, features="quadratic").fit(X + shift, y).predict(Z + shift)
        for shift in (0.0, offset)
    )
    assert_allclose(far, near, rtol=0, atol=1e-8)


def test_an_offset_does_no_harm_in_single_precision_either():
    rng = np.random.default_rng(0)
    X = rng.integers(-512, 513, size=(100, 2)) / 256
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    near, far = (
        regressor(Gaussian(0.7), features="quadratic", precision="single")
        .fit(X + shift, y)
        .predict(X + shift)
        for shift in (0.0, 2.0**20)
    )
    assert_allclose(far, near, rtol=0, atol=1e-2)


# Classification.


def test_two_classes_are_regression_on_plus_and_minus_one():
    X, y = classes(2)
    model = classifier(Gaussian(2.0), features="linear").fit(X, y)
    regression = regressor(Gaussian(2.0), features="linear").fit(X, 2.0 * y - 1)
    assert model.decision_function(X).shape == (len(X),)
    assert_allclose(model.decision_function(X), regression.predict(X), rtol=0, atol=1e-12)
    assert_array_equal(model.predict(X), (regression.predict(X) > 0).astype(int))


def test_several_classes_are_one_versus_all():
    X, y = classes(4)
    model = classifier(Gaussian(2.0), features="linear").fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X), 4)
    for label in range(4):
        binary = classifier(Gaussian(2.0), features="linear").fit(X, y == label)
        assert_allclose(scores[:, label], binary.decision_function(X), rtol=0, atol=1e-10)
    assert_array_equal(model.predict(X), scores.argmax(axis=1))


@pytest.mark.parametrize("names", [["no", "yes"], ["setosa", "versicolor", "virginica"]])
def test_labels_may_be_strings(names):
    X, y = classes(len(names))
    labels = np.array(names, dtype=object)[y]
    model = classifier(Gaussian(2.0)).fit(X, labels)
    assert list(model.classes_) == sorted(names)
    numbers = classifier(Gaussian(2.0)).fit(X, y)
    assert_array_equal(model.predict(X), np.array(names)[numbers.predict(X)])
    assert model.score(X, labels) == numbers.score(X, y)


def test_class_weights_are_sample_weights():
    X, y = classes(3)
    weights = {0: 1.0, 1: 5.0, 2: 0.5}
    by_class = classifier(Gaussian(2.0), class_weight=weights).fit(X, y)
    by_sample = classifier(Gaussian(2.0)).fit(X, y, sample_weight=np.vectorize(weights.get)(y))
    assert_allclose(by_class.decision_function(X), by_sample.decision_function(X), rtol=0, atol=1e-12)
    doubled = classifier(Gaussian(2.0), class_weight=weights).fit(X, y, sample_weight=np.full(len(X), 2.0))
    assert_allclose(by_class.decision_function(X), doubled.decision_function(X), rtol=0, atol=1e-9)


def test_balanced_class_weights_give_every_class_the_same_weight():
    X, y = classes(2)
    keep = np.flatnonzero((y == 0) | (np.arange(len(y)) % 5 == 0))
    X, y = X[keep], y[keep]
    balanced = classifier(Gaussian(2.0), class_weight="balanced").fit(X, y)
    counts = np.bincount(y)
    explicit = classifier(Gaussian(2.0)).fit(X, y, sample_weight=len(y) / (2 * counts[y]))
    assert_allclose(balanced.decision_function(X), explicit.decision_function(X), rtol=0, atol=1e-12)


def test_a_class_of_weight_zero_is_no_class():
    X, y = classes(3)
    without = classifier(Gaussian(2.0)).fit(X[y < 2], y[y < 2])
    weighted = classifier(Gaussian(2.0)).fit(X, y, sample_weight=(y < 2).astype(float))
    assert list(weighted.classes_) == [0, 1]
    assert_array_equal(weighted.predict(X), without.predict(X))
    assert weighted.decision_function(X).shape == without.decision_function(X).shape
    assert_allclose(weighted.decision_function(X), without.decision_function(X), atol=1e-12)


def test_a_class_weight_of_zero_is_no_class_either():
    X, y = classes(3)
    without = classifier(Gaussian(2.0)).fit(X[y < 2], y[y < 2])
    weighted = classifier(Gaussian(2.0), class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, y)
    assert_array_equal(weighted.predict(X), without.predict(X))
    with pytest.raises(ValueError, match="one class"):
        classifier(Gaussian(2.0), class_weight={0: 1.0, 1: 0.0}).fit(X[y < 2], y[y < 2])


def test_balanced_class_weights_do_not_count_samples_of_weight_zero():
    X, y = classes(2)
    keep = (y == 0) | (np.arange(len(y)) % 3 == 0)
    without = classifier(Gaussian(2.0), class_weight="balanced").fit(X[keep], y[keep])
    weighted = classifier(Gaussian(2.0), class_weight="balanced").fit(X, y, sample_weight=keep.astype(float))
    assert_allclose(weighted.decision_function(X), without.decision_function(X), rtol=0, atol=1e-9)


# Features.


def cubic(X):
    return np.column_stack([np.ones(len(X)), X[:, 0], X[:, 0] ** 3])


def test_features_of_every_form_with_the_same_span_give_the_same_model():
    X, y = data()
    linear = np.column_stack([np.ones(len(X)), X])
    forms = [
        "linear",
        PolynomialTrend(1),
        Columns([0, 1]),
        PolynomialFeatures(1),
        lambda X: np.column_stack([np.ones(len(X)), X]),
        lambda X: sparse.csr_matrix(np.column_stack([np.ones(len(X)), X])),
        lambda X: pd.DataFrame(np.column_stack([np.ones(len(X)), X])),
        lambda X: np.column_stack([np.ones(len(X)), X]).tolist(),
        make_pipeline(StandardScaler(), PolynomialFeatures(1)),
        make_union(PolynomialTrend(0), FunctionTransformer()),
        FunctionTransformer(lambda X: np.column_stack([np.ones(len(X)), X])),
    ]
    expected = reference.solve_exact(Gaussian(0.6)(X), linear, y, 1e-3)
    for features in forms:
        model = regressor(Gaussian(0.6), features=features).fit(X, y)
        assert model.n_features_free_ == 3, features
        assert model.feature_coef_.shape == (3,)
        assert len(model.feature_names_free_) == 3
        got = model.predict(X)
        assert_allclose(got, Gaussian(0.6)(X) @ expected[0] + linear @ expected[1], rtol=0, atol=1e-9)


def test_no_features_are_none_at_all():
    X, y = data()
    none = regressor(Gaussian(0.6), features=None).fit(X, y)
    assert none.n_features_free_ == 0
    assert none.feature_names_free_ == []
    assert none.features_ is None
    assert none.feature_coef_.shape == (0,)
    empty = regressor(Gaussian(0.6), features=lambda X: np.empty((len(X), 0))).fit(X, y)
    assert_allclose(empty.predict(X), none.predict(X), rtol=0, atol=1e-12)
    known, learnt = none.decompose(X)
    assert np.all(known == 0)
    assert_allclose(learnt, none.predict(X))


def test_a_feature_may_come_as_a_flat_array():
    X, y = data()
    flat = regressor(Gaussian(0.6), features=lambda X: np.abs(X[:, 0])).fit(X, y)
    column = regressor(Gaussian(0.6), features=lambda X: np.abs(X[:, :1])).fit(X, y)
    assert_allclose(flat.predict(new_points()), column.predict(new_points()), rtol=0, atol=1e-12)


def test_features_see_the_data_frame_with_its_names():
    X, y = data(d=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = ColumnTransformer(
        [("spline", SplineTransformer(4, degree=2), ["b"]), ("plain", "passthrough", ["c"])]
    )
    model = regressor(Gaussian(1.0), features=by_name).fit(frame, y)
    by_position = make_column_transformer((SplineTransformer(4, degree=2), [1]), ("passthrough", [2]))
    expected = regressor(Gaussian(1.0), features=by_position).fit(X, y)
    assert_allclose(model.predict(frame), expected.predict(X), rtol=0, atol=1e-12)
    assert model.feature_names_free_[-1] == "plain__c"
    columns = regressor(Gaussian(1.0), features=Columns(["c", "a"])).fit(frame, y)
    assert columns.feature_names_free_ == ["1", "c", "a"]
    function = regressor(Gaussian(1.0), features=lambda f: f[["a"]].to_numpy()).fit(frame, y)
    assert function.n_features_free_ == 1
    trend = regressor(Gaussian(1.0), features="linear").fit(frame, y)
    assert trend.feature_names_free_ == ["1", "a", "b", "c"]


def test_a_transformer_may_give_sparse_features():
    X, y = data()
    group = np.random.default_rng(0).integers(0, 4, len(X))
    X = np.column_stack([X, group])
    y = y + 3.0 * group
    encoder = make_column_transformer((OneHotEncoder(sparse_output=True), [2]), sparse_threshold=1.0)
    assert sparse.issparse(encoder.fit_transform(X))
    model = regressor(Gaussian(0.6).on([0, 1]), features=encoder).fit(X, y)
    dense = make_column_transformer((OneHotEncoder(sparse_output=False), [2]))
    expected = regressor(Gaussian(0.6).on([0, 1]), features=dense).fit(X, y)
    assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-12)
    assert model.n_features_free_ == 4


def test_the_transformer_given_is_left_alone():
    X, y = data()
    trend = PolynomialTrend(1)
    model = regressor(features=trend).fit(X, y)
    assert not hasattr(trend, "centre_")
    assert model.features_ is not trend


def test_a_transformer_is_fitted_with_the_targets():
    class Targets(PolynomialTrend):
        def fit(self, X, y=None):
            self.seen_ = np.array(y)
            return super().fit(X)

    X, y = data()
    model = regressor(features=Targets()).fit(X, y)
    assert_array_equal(model.features_.seen_, y)
    X, y = classes(3)
    model = classifier(features=Targets()).fit(X, y)
    assert_array_equal(model.features_.seen_, y)


@pytest.mark.parametrize("features", [None, "constant", "linear", "quadratic", cubic])
def test_the_two_parts_of_the_model_add_up(features):
    X, y = data(k=2)
    model = regressor(Gaussian(0.6), features=features).fit(X, y)
    known, learnt = model.decompose(new_points())
    assert known.shape == learnt.shape == (25, 2)
    assert_allclose(known + learnt, model.predict(new_points()), rtol=0, atol=1e-12)
    single = regressor(Gaussian(0.6), features=features).fit(X, y[:, 0])
    assert single.decompose(new_points())[0].shape == (25,)
    X, y = classes(2)
    model = classifier(features=features).fit(X, y)
    assert_allclose(sum(model.decompose(X)), model.decision_function(X), rtol=0, atol=1e-12)


def test_the_known_part_is_the_features_times_their_coefficients():
    X, y = data()
    model = regressor(Gaussian(0.6), features=cubic).fit(X, y)
    known, learnt = model.decompose(new_points())
    assert_allclose(known, cubic(new_points()) @ model.feature_coef_, rtol=1e-12)
    assert_allclose(learnt, Gaussian(0.6)(new_points(), X) @ model.dual_coef_, rtol=0, atol=1e-10)
    assert_allclose(cubic(X).T @ model.dual_coef_, 0, atol=1e-9 * np.abs(model.dual_coef_).max())


# Forms of data.


def test_a_kernel_reads_columns_of_a_data_frame_by_name():
    X, y = data(d=3)
    frame = pd.DataFrame(X, columns=["north", "east", "time"])
    by_name = regressor(Gaussian(0.6).on(["north", "east"]) * Laplace().on("time")).fit(frame, y)
    by_position = regressor(Gaussian(0.6).on([0, 1]) * Laplace().on(2)).fit(X, y)
    assert_allclose(by_name.predict(frame), by_position.predict(X), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="names"):
        by_name.predict(frame.rename(columns={"time": "depth"}))


@pytest.mark.parametrize("features", [None, "constant", "linear", "quadratic"])
@pytest.mark.parametrize("kernel", [Gaussian(), Laplace(1.0).on([0, 3]) + Linear()], ids=repr)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_and_dense_data_give_the_same_model(kernel, features, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.5)
    Z = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)
    y = X[:, 0] - X[:, 1] ** 2
    w = rng.integers(0, 3, len(X)).astype(float)
    for weights in (None, w):
        dense = regressor(kernel, features=features).fit(X, y, sample_weight=weights)
        csr = regressor(kernel, features=features).fit(form(X), y, sample_weight=weights)
        for model in (dense, csr):
            for points in (Z, form(Z)):
                assert_allclose(model.predict(points), dense.predict(Z), rtol=0, atol=1e-8)


def test_wide_sparse_data_are_fitted_without_being_made_dense():
    X = sparse.random(60, 200_000, density=1e-4, format="csr", random_state=0)
    y = np.arange(60) % 2
    model = classifier(Linear(), features="constant", regularization=1e-6).fit(X, y)
    assert sparse.issparse(model.X_fit_)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("kernel", [Gaussian(0.6), Gaussian()], ids=repr)
def test_float32_data_are_fitted_to_the_digits_they_have(kernel):
    X, y = data(d=2)
    X = X.astype(np.float32)
    single = regressor(kernel, features="linear").fit(X, y.astype(np.float32))
    double = regressor(kernel, features="linear").fit(X.astype(float), y.astype(np.float32))
    assert_allclose(single.predict(X), double.predict(X.astype(float)), rtol=0, atol=1e-6)
    assert single.predict(X).dtype == np.float64


def test_lists_integers_and_fortran_order_are_data_too():
    X = [[0, 1], [2, 3], [5, 4], [7, 7], [1, 6]]
    y = [1, 2, 3, 4, 6]
    expected = regressor(Gaussian(3.0)).fit(np.array(X, dtype=float), y).predict(X)
    for form in (list, np.array, np.asfortranarray, pd.DataFrame, lambda X: np.array(X)[::-1][::-1]):
        assert_allclose(regressor(Gaussian(3.0)).fit(form(X), y).predict(form(X)), expected, atol=1e-12)


# Weights.


def test_a_number_as_weight_is_every_weight():
    X, y = data()
    one = regressor().fit(X, y)
    assert_allclose(regressor().fit(X, y, sample_weight=3.0).predict(X), one.predict(X), atol=1e-9)


def test_zero_weights_drop_the_rows_of_data_frames_and_features_too():
    X, y = data(d=2)
    w = (np.arange(len(X)) % 3 > 0).astype(float)
    frame = pd.DataFrame(X, columns=["a", "b"])
    encoder = make_column_transformer((SplineTransformer(4), ["a"]))
    weighted = regressor(features=encoder).fit(frame, y, sample_weight=w)
    without = regressor(features=encoder).fit(frame[w > 0], y[w > 0])
    assert_allclose(weighted.predict(frame), without.predict(frame), rtol=0, atol=1e-10)
    assert weighted.X_fit_.shape == (40, 2)


# Kernels that come as matrices.


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()])
@pytest.mark.parametrize("features", [None, "constant"])
def test_a_precomputed_kernel_is_the_kernel_it_was_computed_by(kernel, features):
    X, y = data()
    expected = regressor(Gaussian(0.6), features=features).fit(X, y)
    model = regressor(kernel, features=features).fit(Gaussian(0.6)(X), y)
    K_new = Gaussian(0.6)(new_points(), X)
    assert_allclose(model.predict(K_new), expected.predict(new_points()), rtol=0, atol=1e-10)
    assert_allclose(sum(model.decompose(K_new)), model.predict(K_new), rtol=0, atol=1e-12)
    as_frame = regressor(kernel, features=features).fit(pd.DataFrame(Gaussian(0.6)(X)), y)
    assert_allclose(as_frame.predict(pd.DataFrame(K_new)), model.predict(K_new), rtol=0, atol=1e-12)


@pytest.mark.parametrize("features", [None, "constant"])
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_a_precomputed_kernel_takes_zero_weights(features, form):
    X, y = data()
    w = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    expected = regressor(Gaussian(0.6), features=features).fit(X, y, sample_weight=w)
    model = regressor("precomputed", features=features).fit(form(Gaussian(0.6)(X)), y, sample_weight=w)
    K_new = form(Gaussian(0.6)(new_points(), X))  # against all samples, those of weight zero as well
    assert_allclose(model.predict(K_new), expected.predict(new_points()), rtol=0, atol=1e-10)


def test_a_precomputed_kernel_is_cut_right_in_a_grid_search():
    X, y = data()
    w = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    grid = {"regularization": [1e-4, 1e-2, 1.0]}
    for weights in (None, w):
        searches = [
            GridSearchCV(regressor(kernel, features=None), grid, cv=KFold(3)).fit(
                points, y, sample_weight=weights
            )
            for kernel, points in [(Gaussian(0.6), X), ("precomputed", Gaussian(0.6)(X))]
        ]
        scores = [search.cv_results_["mean_test_score"] for search in searches]
        assert_allclose(scores[1], scores[0], rtol=0, atol=1e-9)
        assert searches[0].best_params_ == searches[1].best_params_


def rbf(X, Z):
    return reference.gaussian(X, Z, 0.6)


def test_a_function_is_a_kernel():
    X, y = data()
    expected = regressor(Gaussian(0.6), features="linear").fit(X, y).predict(new_points())
    model = regressor(rbf, features="linear").fit(X, y)
    assert_allclose(model.predict(new_points()), expected, rtol=0, atol=1e-10)
    w = (np.arange(len(X)) % 2).astype(float)
    weighted = regressor(rbf).fit(X, y, sample_weight=w)
    without = regressor(rbf).fit(X[1::2], y[1::2])
    assert_allclose(weighted.predict(X), without.predict(X), rtol=0, atol=1e-12)


def test_the_example_of_iris_is_learnt():
    X, y = load_iris(return_X_y=True)
    assert classifier("gaussian", features="linear").fit(X, y).score(X, y) > 0.97


@pytest.mark.parametrize("name", ["gaussian", "laplace", "linear", "polynomial"])
def test_kernels_go_by_name(name):
    X, y = data()
    model = regressor(name, regularization=1e-3).fit(X, y)
    assert model.score(X, y) > 0.8
    assert not isinstance(model.kernel_, str)


def test_the_stages_of_a_fit_are_timed():
    X, y = data()
    seconds = regressor().fit(X, y).fit_seconds_
    solver = {"basis", "gram", "assemble", "factor", "solve"}
    assert set(seconds) == {"validate", "features", "kernel", "uncertainty", "other"} | solver
    assert all(value >= 0 for value in seconds.values())


def test_a_function_kernel_may_take_sparse_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)) * (rng.uniform(size=(30, 4)) > 0.5), rng.normal(size=30)
    model = regressor(rbf_kernel, regularization=0.1).fit(sparse.csr_matrix(X), y)
    dense = regressor(Gaussian(sigma=np.sqrt(4 / 2)), regularization=0.1).fit(X, y)
    assert_allclose(model.predict(sparse.csr_matrix(X)), dense.predict(X), atol=1e-10)


@pytest.mark.parametrize("estimator", [grls.GRLSRegressor, grls.GRLSClassifier])
def test_rows_that_need_no_check_and_rows_that_do_have_the_same_answer(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] if estimator is grls.GRLSRegressor else X[:, 0] > 0
    model = estimator("gaussian", features="linear", regularization=1e-2).fit(X, y)
    expected = model.predict(X)
    for same in (X.tolist(), np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.astype(object)):
        assert_array_equal(model.predict(same), expected)
    for value in (np.nan, np.inf):
        bad = X.copy()
        bad[3, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.predict(bad)
    for wrong in (X[:, :2], X[0], X[:0]):
        with pytest.raises(ValueError, match=r"features|2D array|sample"):
            model.predict(wrong)


def test_the_norm_of_an_indefinite_form_is_none():
    X = np.linspace(-1, 1, 30)[:, None]
    model = grls.GRLSRegressor(lambda A, B: A @ B.T - 0.1, features=None, regularization=1.0).fit(X, X[:, 0])
    model.dual_coef_ = np.ones(30)  # aᵀΦa = −90
    assert np.isnan(model.rkhs_norm_).all()
