"""Kernels on views of the input: the same as transforming first, and what cannot be viewed."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from builders import classifier, regressor
from grls import (
    FourierGRLSRegressor,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    NystromGRLSRegressor,
    OneClassSVMGB,
    SVMGBClassifier,
)
from grls.conformal import ConformalRegressor
from grls.features import PLSA, Groups, Indicators, LinearMap
from grls.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    ThinPlate,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.compose import make_column_selector
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder

pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]

UNITS = np.array([1.0, 30.0, 0.01])


def rows(m=40, seed=0):
    return np.random.default_rng(seed).normal(size=(m, 3)) * UNITS + 1.0


def values(X):
    z = X / UNITS
    return np.sin(z[:, 0]) + 0.3 * z[:, 1] * z[:, 2]


X = rows()
Y = values(X)
NEW = rows(15, seed=1)
SCALED = StandardScaler().fit(X)
S, S_NEW = SCALED.transform(X), SCALED.transform(NEW)

CATS = [
    "the cat sat on the mat",
    "a cat and a dog",
    "my cat purrs",
    "the dog chased the cat",
    "a lazy cat sleeps",
]
STARS = [
    "the star is bright",
    "a planet and a star",
    "my telescope sees the planet",
    "bright moon",
    "a star fell",
]
DOCUMENTS = CATS + STARS
LABELS = ["pets"] * 5 + ["sky"] * 5


def scaled(kernel):
    return kernel.after(StandardScaler())


# The same as transforming first.


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Matern("medians"), Linear() ** 2, Laplace(2.0).normalized()], ids=repr
)
def test_a_view_is_the_same_as_transforming_first(kernel):
    model = regressor(scaled(kernel), regularization="loo").fit(X, Y)
    first = regressor(kernel, regularization="loo").fit(S, Y)
    assert_array_equal(model.predict(NEW), first.predict(S_NEW))
    assert_array_equal(model.X_fit_, S)
    assert_array_equal(model.predict(NEW, return_std=True)[1], first.predict(S_NEW, return_std=True)[1])
    assert_array_equal(model.kernel_.transformer.mean_, SCALED.mean_)


def test_parts_with_and_without_views_read_their_own_columns():
    kernel = (
        scaled(Gaussian(1.0)) + 0.5 * Linear() * Laplace(3.0).after(PCA(2)).on([2, 0]) + Gaussian(2.0).on(1)
    )
    reduced = PCA(2).fit(X[:, [2, 0]])

    def by_hand(A, B):
        pca_A, pca_B = (reduced.transform(Z[:, [2, 0]]) for Z in (A, B))
        return (
            Gaussian(1.0)(SCALED.transform(A), SCALED.transform(B))
            + 0.5 * Linear()(A, B) * Laplace(3.0)(pca_A, pca_B)
            + Gaussian(2.0)(A[:, [1]], B[:, [1]])
        )

    assert_allclose(kernel(X, NEW), by_hand(X, NEW), atol=1e-10)
    model = regressor(kernel, regularization=1e-2).fit(X, Y)
    function = regressor(by_hand, regularization=1e-2).fit(X, Y)
    assert_allclose(model.predict(NEW), function.predict(NEW), rtol=1e-8)
    assert_allclose(model.kernel_(NEW, X), by_hand(NEW, X), atol=1e-10)


def test_views_of_views_and_views_inside_of_other_kernels():
    inner = (Gaussian(1.0).after(PCA(2)) + Linear().on([1])) * Gaussian(2.0)
    kernel = 2.0 * (scaled(inner).normalized() ** 2).exp() + Linear().on([2])
    whole = 2.0 * (inner.normalized() ** 2).exp()
    model = regressor(kernel, features=None, regularization=1e-2).fit(X, Y)
    assert_allclose(
        model.kernel_(NEW, X), whole.resolve(S)(S_NEW, S) + np.outer(NEW[:, 2], X[:, 2]), rtol=1e-10
    )
    twice = Gaussian(1.0).after(PCA(2)).after(StandardScaler())
    assert_allclose(twice(X), Gaussian(1.0)(PCA(2).fit_transform(S)), atol=1e-12)


def test_sparse_views_stay_sparse_and_dense_ones_join_them():
    counts = CountVectorizer().fit_transform(DOCUMENTS)
    model = classifier(Linear().after(TfidfTransformer())).fit(counts, LABELS)
    assert sparse.issparse(model.X_fit_)
    assert_allclose(model.X_fit_.toarray(), TfidfTransformer().fit_transform(counts).toarray())
    dense = FunctionTransformer(lambda Z: (Z.toarray() if sparse.issparse(Z) else Z)[:, :2])
    both = classifier(Linear().after(TfidfTransformer()) + Gaussian(1.0).after(dense)).fit(counts, LABELS)
    assert sparse.issparse(both.X_fit_)
    assert both.X_fit_.shape == (10, counts.shape[1] + 2)
    assert_allclose(both.decision_function(counts), both.decision_function(counts.toarray()), atol=1e-10)


def test_a_matrix_and_a_function_are_views():
    A = np.array([[1.0, 0.0], [0.1, 1.0], [0.0, -2.0]])
    expected = Gaussian(1.0)(X @ A, NEW @ A)
    assert_allclose(Gaussian(1.0).after(A)(X, NEW), expected, atol=1e-12)
    assert_allclose(Gaussian(1.0).after(A.tolist())(sparse.csr_matrix(X), NEW), expected, atol=1e-12)
    assert_allclose(Gaussian(1.0).after(lambda Z: Z @ A)(X, NEW), expected, atol=1e-12)
    assert repr(Gaussian(1.0).after(A)) == "Gaussian(sigma=1.0).after([[1.0, 0.0], [0.1, 1.0], [0.0, -2.0]])"
    assert repr(Gaussian(1.0).after(np.eye(9))) == "Gaussian(sigma=1.0).after(LinearMap(9 x 9))"
    one_value_a_row = Linear().after(lambda Z: Z[:, 0])
    assert_allclose(one_value_a_row(X, NEW), np.outer(X[:, 0], NEW[:, 0]))


# Fitted where, and to what.


class Recorder(TransformerMixin, BaseEstimator):
    """Scales by the weighted mean of y, and remembers what it saw."""

    def fit(self, X, y=None, sample_weight=None):
        self.seen_ = (np.shape(X), None if y is None else list(y), sample_weight)
        return self

    def transform(self, X):
        return np.asarray(X)


def test_a_view_sees_the_targets_and_the_weights_of_rows_that_count():
    weights = np.arange(40) % 3.0
    model = regressor(Gaussian(1.0).after(Recorder())).fit(X, Y, sample_weight=weights)
    shape, y, w = model.kernel_.transformer.seen_
    assert shape == (np.count_nonzero(weights), 3)
    assert_array_equal(y, Y[weights > 0])
    assert_array_equal(w, weights[weights > 0])
    labels = np.where(Y > 0, "above", "below")
    seen = classifier(Gaussian(1.0).after(Recorder())).fit(X, labels).kernel_.transformer.seen_
    assert seen[1:] == (list(labels), None)


def test_weights_are_repetitions_for_a_view_that_takes_them():
    weights = np.array([1, 2] * 20)
    weighted = regressor(scaled(Gaussian(1.0)), regularization=1e-2).fit(X, Y, sample_weight=weights)
    again = np.repeat(np.arange(40), weights)
    repeated = regressor(scaled(Gaussian(1.0)), regularization=1e-2).fit(X[again], Y[again])
    assert_allclose(weighted.predict(NEW), repeated.predict(NEW), rtol=1e-6)


def test_a_view_made_of_the_targets_is_out_of_fold_in_training_as_in_a_pipeline():
    towns = np.array(["a", "b", "c", "d"])[np.arange(40) % 4][:, None]
    # Before 1.9 the encoder takes no splitter, and from then on no shuffle.
    before = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
    encoder = TargetEncoder(cv=4, shuffle=False) if before else TargetEncoder(cv=KFold(4))
    model = regressor(Gaussian(1.0).after(encoder), regularization=1e-2).fit(towns, Y)
    peer = make_pipeline(encoder, regressor(Gaussian(1.0), regularization=1e-2))
    assert_allclose(model.predict(towns[:6]), peer.fit(towns, Y).predict(towns[:6]), rtol=1e-10)


def test_the_user_s_transformer_is_not_touched_and_a_fitted_one_is_fitted_again():
    mine = StandardScaler().fit(100 * X)
    kernel = Gaussian(1.0).after(mine)
    model = regressor(kernel).fit(X, Y)
    assert_allclose(mine.mean_, 100 * SCALED.mean_)
    assert_allclose(model.kernel_.transformer.mean_, SCALED.mean_)
    assert_allclose(kernel(X, NEW), Gaussian(1.0)(mine.transform(X), mine.transform(NEW)))  # called itself
    frozen = regressor(Gaussian(1.0).after(FrozenEstimator(mine)), regularization=1e-2).fit(X, Y)
    direct = regressor(Gaussian(1.0), regularization=1e-2).fit(mine.transform(X), Y)
    assert_array_equal(frozen.predict(NEW), direct.predict(mine.transform(NEW)))


def test_the_kernel_of_a_fitted_model_keeps_its_view_in_another_model():
    model = regressor(scaled(Gaussian()) + Linear()).fit(X, Y)
    other = regressor(clone(model.kernel_), regularization=1e-2).fit(NEW, values(NEW))
    assert other.kernel_.k1.transformer is model.kernel_.k1.transformer
    assert other.kernel_.k1.kernel.sigma == model.kernel_.k1.kernel.sigma
    assert_allclose(other.kernel_(X, NEW), model.kernel_(X, NEW))
    changed = clone(model.kernel_).set_params(k1__after__with_mean=False)
    assert model.kernel_.k1.transformer.with_mean
    assert regressor(changed).fit(NEW, values(NEW)).kernel_.k1.transformer.mean_[0] == pytest.approx(
        NEW[:, 0].mean()
    )


# scikit-learn.


def test_a_grid_goes_over_parameters_of_a_view():
    search = GridSearchCV(
        regressor(Gaussian().after(PCA())),
        {"kernel__after__n_components": [1, 3], "kernel__kernel__sigma": [1.0, "median"]},
        cv=3,
    ).fit(S, Y)
    best = search.best_estimator_
    assert best.kernel.get_params()["after__n_components"] == best.kernel_.transformer.n_components_ == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    views = GridSearchCV(regressor(scaled(Gaussian())), {"kernel__after": [PCA(1), PCA(3)]}, cv=3).fit(S, Y)
    assert isinstance(views.best_estimator_.kernel_.transformer, PCA)


def test_a_kernel_with_a_view_is_cloned_pickled_and_shown():
    kernel = scaled(Gaussian(1.0)) + Linear().on(slice(0, 2))
    assert repr(kernel) == "Gaussian(sigma=1.0).after(StandardScaler()) + Linear().on(slice(0, 2, None))"
    assert repr(clone(kernel)) == repr(kernel)
    assert clone(kernel).k1.transformer is not kernel.k1.transformer
    model = regressor(kernel, regularization=1e-2).fit(X, Y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), model.predict(NEW))
    again = clone(model).fit(NEW, values(NEW))
    assert_allclose(again.kernel_.k1.transformer.mean_, NEW.mean(axis=0))


@pytest.mark.filterwarnings("ignore:rounding may move a standard deviation")  # there is next to no noise
def test_the_widths_of_a_view_are_optimised():
    kernel = scaled(Gaussian("medians")) + Linear()
    model = regressor(kernel, regularization="reml", optimize=True).fit(X, Y)
    first = regressor(
        Gaussian("medians").on([0, 1, 2]) + Linear().on([3, 4, 5]), regularization="reml", optimize=True
    )
    first.fit(np.hstack([S, X]), Y)
    assert model.optimization_.parameters == [f"k1__kernel__sigma[{i}]" for i in range(3)]
    assert_allclose(model.kernel_.k1.kernel.sigma, first.kernel_.k1.kernel.sigma, rtol=1e-3)
    assert_allclose(model.predict(NEW), first.predict(np.hstack([S_NEW, NEW])), rtol=1e-4)
    assert_allclose(model.kernel_.k1.transformer.mean_, SCALED.mean_)
    unconditional = model.predict(NEW, return_std=True, unconditional=True)[1]
    assert np.all(unconditional >= model.predict(NEW, return_std=True)[1])


def test_features_with_a_variance_stand_beside_views():
    kernel = scaled(Gaussian(1.0)) + Linear().on([0])
    model = regressor(kernel, features="linear", feature_variance=2.0, regularization=1e-2).fit(X, Y)

    def by_hand(A, B):
        return Gaussian(1.0)(SCALED.transform(A), SCALED.transform(B)) + np.outer(A[:, 0], B[:, 0])

    peer = regressor(by_hand, features="linear", feature_variance=2.0, regularization=1e-2).fit(X, Y)
    assert_allclose(model.predict(NEW), peer.predict(NEW), rtol=1e-6)
    assert_allclose(model.predict(NEW, return_std=True)[1], peer.predict(NEW, return_std=True)[1], rtol=1e-5)


def test_linear_kernels_of_views_far_from_the_origin_are_taken_about_the_middle():
    far = FunctionTransformer(lambda Z: Z + 1e6)
    model = regressor(Linear().after(far), regularization=1e-3).fit(S, Y)
    assert_allclose(model.kernel_.kernel.center, S.mean(axis=0) + 1e6)
    assert_allclose(
        model.predict(S_NEW), regressor(Linear(), regularization=1e-3).fit(S, Y).predict(S_NEW), rtol=1e-5
    )


def test_polynomials_are_asked_for_in_the_columns_of_the_view():
    with pytest.raises(ValueError, match="conditionally positive definite"):
        regressor(scaled(ThinPlate()), features="constant").fit(X, Y)
    model = regressor(scaled(ThinPlate()), features="linear", regularization=1e-2).fit(X, Y)
    first = regressor(ThinPlate(), features="linear", regularization=1e-2).fit(S, Y)
    assert_allclose(model.predict(NEW), first.predict(S_NEW), rtol=1e-6)


# Documents and data frames.


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, lambda d: np.array(d, dtype=object)])
def test_documents_are_rows(make):
    model = classifier(Cosine().after(TfidfVectorizer()), regularization=1e-2).fit(make(DOCUMENTS), LABELS)
    peer = make_pipeline(TfidfVectorizer(), classifier(Cosine(), regularization=1e-2)).fit(DOCUMENTS, LABELS)
    new = ["a cat", "a bright planet"]
    assert_allclose(model.decision_function(make(new)), peer.decision_function(new))
    assert_array_equal(model.predict(make(new)), ["pets", "sky"])
    assert not hasattr(model, "n_features_in_")


def test_topics_of_counts_are_free_features_beside_tf_idf():
    topics = make_pipeline(CountVectorizer(), PLSA(2, random_state=0))
    model = classifier(Linear().after(TfidfVectorizer()), features=topics, regularization="loo").fit(
        DOCUMENTS, LABELS
    )
    counts = CountVectorizer().fit(DOCUMENTS)
    C = counts.transform(DOCUMENTS)
    T = PLSA(2, random_state=0).fit(C)
    peer = classifier(
        lambda A, B: Linear()(*(TfidfTransformer().fit(C).transform(Z) for Z in (A, B))),
        features=T,
        regularization="loo",
    )
    peer.set_params(features=PLSA(2, random_state=0)).fit(C, LABELS)
    new = ["a cat", "a bright planet"]
    assert_allclose(model.decision_function(new), peer.decision_function(counts.transform(new)), rtol=1e-6)
    assert model.feature_names_free_ == ["topic0", "topic1"]
    assert cross_val_predict(model, DOCUMENTS, LABELS, cv=2).shape == (10,)


def frame(m=40, seed=0):
    Z = rows(m, seed)
    town = np.array(["bonn", "rome", "oslo"])[np.arange(m) % 3]
    text = np.array(DOCUMENTS)[np.arange(m) % 10]
    return pd.DataFrame({"text": text, "a": Z[:, 0], "town": town, "b": Z[:, 1], "c": Z[:, 2]})


def test_columns_of_a_frame_have_kernels_by_type_and_name():
    kernel = (
        scaled(Gaussian(1.0)).on(make_column_selector(dtype_include="number"))
        + Linear().after(OneHotEncoder()).on(["town"])
        + 0.5 * Cosine().after(TfidfVectorizer()).on("text")
        + Laplace(2.0).on(slice("b", "c"))
    )
    F, F_new = frame(), frame(15, seed=1)
    model = regressor(kernel, regularization=1e-2).fit(F, Y)
    hot, tfidf = OneHotEncoder().fit(F[["town"]]), TfidfVectorizer().fit(F["text"])

    def by_hand(A, B):
        a, b = (SCALED.transform(Z[["a", "b", "c"]].to_numpy()) for Z in (A, B))
        return (
            Gaussian(1.0)(a, b)
            + (hot.transform(A[["town"]]) @ hot.transform(B[["town"]]).T).toarray()
            + 0.5 * Cosine()(tfidf.transform(A["text"]), tfidf.transform(B["text"]))
            + Laplace(2.0)(A[["b", "c"]].to_numpy(), B[["b", "c"]].to_numpy())
        )

    assert_allclose(model.kernel_(F_new, F), by_hand(F_new, F), atol=1e-10)
    K = by_hand(F, F)
    peer = regressor(Precomputed(), regularization=1e-2).fit(K, Y)
    assert_allclose(model.predict(F_new), peer.predict(by_hand(F_new, F)), rtol=1e-7)
    assert list(model.feature_names_in_) == list(F.columns)
    assert model.n_features_in_ == 5
    with pytest.raises(ValueError, match="feature names"):
        model.predict(F_new[["a", "b", "c", "text", "town"]])
    assert_array_equal(model.predict(F_new), pickle.loads(pickle.dumps(model)).predict(F_new))


def test_a_frame_of_numbers_is_seen_as_a_frame():
    F, F_new = (pd.DataFrame(rows, columns=["a", "b", "c"]) for rows in (X, NEW))
    weights = np.arange(40) % 3.0
    kernel = scaled(Gaussian(1.0)).on(["c", "a"]) + Linear().on("b")
    model = regressor(kernel, regularization=1e-2).fit(F, Y, sample_weight=weights)
    plain = scaled(Gaussian(1.0)).on([2, 0]) + Linear().on(1)
    peer = regressor(plain, regularization=1e-2).fit(X, Y, sample_weight=weights)
    assert_allclose(model.predict(F_new), peer.predict(NEW), rtol=1e-10)
    assert list(model.kernel_.k1.kernel.transformer.feature_names_in_) == ["c", "a"]
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert len(model.X_fit_) == np.count_nonzero(weights)


def test_documents_of_weight_zero_are_no_documents():
    weights = np.ones(10)
    weights[[0, 7]] = 0
    kept = np.flatnonzero(weights)
    model = classifier(Linear().after(TfidfVectorizer()), regularization=1e-2)
    weighted = clone(model).fit(DOCUMENTS, LABELS, sample_weight=weights)
    without = clone(model).fit([DOCUMENTS[i] for i in kept], [LABELS[i] for i in kept])
    assert_array_equal(weighted.decision_function(DOCUMENTS), without.decision_function(DOCUMENTS))
    assert "mat" not in weighted.kernel_.transformer.vocabulary_


def test_columns_chosen_by_a_function_need_no_view():
    F = frame()
    model = regressor(
        Gaussian(1.0).on(make_column_selector(dtype_include="number")), regularization=1e-2
    ).fit(F, Y)
    peer = regressor(Gaussian(1.0), regularization=1e-2).fit(X, Y)
    assert_allclose(model.predict(frame(15, seed=1)), peer.predict(NEW), rtol=1e-8)
    by_position = regressor(Gaussian(1.0).on(lambda Z: [2, 0]), regularization=1e-2).fit(X, Y)
    assert_allclose(
        by_position.predict(NEW),
        regressor(Gaussian(1.0), regularization=1e-2).fit(X[:, [2, 0]], Y).predict(NEW[:, [2, 0]]),
    )
    assert by_position.kernel_.columns == [2, 0]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (slice(1, None), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        ([True, False, True], [0, 2]),
        (slice("b", "c"), [1, 2]),
        (slice("b"), [0, 1]),
    ],
    ids=str,
)
def test_columns_are_slices_and_masks_too(columns, expected):
    F = pd.DataFrame(X, columns=["a", "b", "c"])
    assert_allclose(Gaussian(1.0).on(columns)(F), Gaussian(1.0)(X[:, expected]), atol=1e-12)


def test_missing_values_are_for_the_view_to_fill():
    Z = S.copy()
    Z[::7, 1] = np.nan
    filled = SimpleImputer().fit_transform(Z)
    model = regressor(Gaussian(1.0).after(SimpleImputer()), regularization=1e-2).fit(Z, Y)
    first = regressor(Gaussian(1.0), regularization=1e-2).fit(filled, Y)
    assert_array_equal(model.predict(Z), first.predict(filled))
    with pytest.raises(ValueError, match="contains NaN: column"):
        regressor(Gaussian(1.0).after(SimpleImputer()) + Linear()).fit(Z, Y)


def test_sparse_rows_are_refused_where_a_view_of_them_does_not_take_them():
    with pytest.raises(TypeError, match="Sparse data was passed"):
        regressor(scaled(Gaussian(1.0))).fit(sparse.csr_matrix(X), Y)
    after_a_map = Gaussian(1.0).after(StandardScaler()).after(np.eye(3))  # the scaler sees what the map gives
    model = regressor(after_a_map, regularization=1e-2).fit(sparse.csr_matrix(X), Y)
    first = regressor(Gaussian(1.0), regularization=1e-2).fit(S, Y)
    assert_allclose(model.predict(NEW), first.predict(S_NEW), rtol=1e-6)


def test_parameters_of_views_are_not_for_optimize():
    with pytest.raises(ValueError, match="by GridSearchCV, but not by optimize"):
        regressor(
            Gaussian(1.0).after(PCA(1)), regularization="loo", optimize={"after__n_components": [1, 2]}
        ).fit(X, Y)
    model = regressor(
        scaled(Gaussian(1.0)), regularization="loo", optimize={"kernel__sigma": [0.01, 2.0]}
    ).fit(X, Y)
    assert model.kernel_.kernel.sigma == 2.0
    assert_array_equal(model.kernel_.transformer.mean_, SCALED.mean_)


# What cannot be.


class Rows(TransformerMixin, BaseEstimator):
    """Gives what a function of X gives, when fitted or always."""

    def __init__(self, give, later=None):
        self.give, self.later = give, later

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def fit_transform(self, X, y=None):
        self.fit(X)
        return self.give(X)

    def transform(self, X):
        return (self.later or self.give)(X)


@pytest.mark.parametrize(
    ("view", "error", "message"),
    [
        (Rows(lambda Z: Z * np.nan), ValueError, "the view Rows.* contains NaN"),
        (Rows(lambda Z: Z[:, :0]), ValueError, "has no columns"),
        (Rows(lambda Z: Z[1:]), ValueError, r"has shape \(39, 3\), expected \(40, columns\)"),
        (Rows(lambda Z: Z[None]), ValueError, "has shape"),
        (Rows(lambda Z: Z.astype(str) + "a"), ValueError, "could not convert"),
        (np.eye(2), ValueError, "LinearMap.matrix has 2 rows, but the data have 3 columns"),
        (np.full((3, 3), np.inf), ValueError, "LinearMap.matrix contains infinity"),
        (make_column_selector(dtype_include="number"), ValueError, "can only be applied to pandas"),
    ],
    ids=["NaN", "no columns", "rows", "shape", "text", "map", "infinite map", "selector"],
)
def test_a_view_that_gives_no_matrix_is_told(view, error, message):
    with pytest.raises(error, match=message):
        regressor(Gaussian(1.0).after(view)).fit(X, Y)


def test_other_columns_at_prediction_are_told():
    model = regressor(Gaussian(1.0).after(Rows(lambda Z: Z, lambda Z: Z[:, :2]))).fit(X, Y)
    with pytest.raises(ValueError, match="gave 2 columns, but 3 when fitted"):
        model.predict(NEW)
    with pytest.raises(ValueError, match="features"):
        regressor(scaled(Gaussian(1.0))).fit(X, Y).predict(NEW[:, :2])


def test_what_is_no_transformer_is_told():
    with pytest.raises(TypeError, match="after takes a transformer"):
        Gaussian(1.0).after("scaler")
    with pytest.raises(TypeError, match="has no method transform"):
        regressor(Gaussian(1.0).after(PCA()).set_params(after=None)).fit(X, Y)
    with pytest.raises(ValueError, match="precomputed kernel has no points"):
        Precomputed().after(PCA())


def with_text(table):
    """The columns of numbers, and text and dates that only features may read."""
    text = {
        "text": np.where(table[:, 1] > 1.0, "many", "few"),
        "day": pd.date_range("2020", periods=len(table)),
    }
    return pd.DataFrame(table, columns=["a", "b", "c"]).assign(**text)


def has_many(table):
    return table["text"].isin(["many", 1.0])


MANY = Indicators({"many": has_many})


@pytest.mark.parametrize(
    "model",
    [
        GRLSRegressor(),
        GRLSRegressor(solver="cg", regularization=1e-2),
        GRLSRegressor(optimize=True),
        GRLSRegressor(features=Groups("text")),
        NystromGRLSRegressor(n_centers=40, regularization=1e-2),
        GRRegressor(loss="huber", regularization=1e-2),
        FourierGRLSRegressor(regularization=1e-2),
        GRLSClassifier(),
        SVMGBClassifier(C=1.0),
        OneClassSVMGB(),
    ],
    ids=repr,
)
def test_text_and_dates_stand_beside_the_columns_that_a_kernel_names(model):
    y = np.where(np.median(Y) < Y, "high", "low") if is_classifier(model) else Y
    kernel = 2.0 * Gaussian(1.0).on(["a"]) + Laplace().on([0]) + 1.0
    if isinstance(model, FourierGRLSRegressor):
        kernel = Gaussian(1.0).on("a")
    grouped = isinstance(model.features, Groups)
    model = clone(model).set_params(kernel=kernel, features=model.features if grouped else MANY)
    frame, new = with_text(X), with_text(NEW)
    fitted = clone(model).fit(frame, y)
    numbers = {"text": lambda table: (table["text"] == "many") * 1.0, "day": 0.0}
    expected = clone(model).fit(frame.assign(**numbers), y)
    function = "decision_function" if hasattr(model, "decision_function") else "predict"
    assert_allclose(
        getattr(fitted, function)(new),
        getattr(expected, function)(new.assign(**numbers)),
        rtol=1e-6,
        atol=1e-9,
    )
    assert list(fitted.feature_names_in_) == list(frame.columns)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(new), fitted.predict(new))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(new[["b", "a", "c", "text", "day"]])
    with pytest.raises(ValueError, match="contains NaN: column 'a'"):
        fitted.predict(new.assign(a=np.nan))


def test_blocks_may_have_text_beside_the_columns_that_a_kernel_names():
    frame = with_text(X)
    model = NystromGRLSRegressor(Gaussian(1.0).on("a"), features=MANY, n_centers=20, regularization=1e-2)
    plain = frame.assign(text=(frame["text"] == "many") * 1.0, day=0.0)
    blocks = [(frame[:20], Y[:20]), (frame[20:], Y[20:])]
    expected = clone(model).fit(blocks).predict(frame)
    # Also where the model was fitted to blocks of numbers before.
    again = clone(model).fit([(plain[:20], Y[:20]), (plain[20:], Y[20:])]).fit(blocks)
    assert_allclose(again.predict(frame), expected)
    in_parts = clone(model).partial_fit(*blocks[0]).partial_fit(*blocks[1])
    assert np.all(np.isfinite(in_parts.predict(frame)))
    modes = FourierGRLSRegressor(Gaussian(1.0).on("a"), features=MANY, regularization=1e-2)
    with pytest.raises(ValueError, match="blocks need numbers and a kernel without views"):
        modes.fit(blocks)


def test_targets_beside_text_are_checked_as_others_are():
    model = regressor(Gaussian(1.0).on("a"))
    with pytest.raises(TypeError, match="y holds dates"):
        model.fit(with_text(X), pd.date_range("2020", periods=len(X)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(with_text(X), Y[1:])


def test_a_kernel_of_named_columns_is_evaluated_beside_text():
    kernel = Gaussian().on([0, 2]) + Constant(0.5)
    assert_allclose(kernel(with_text(X), with_text(NEW)), kernel(X, NEW))
    assert_allclose(kernel.resolve(with_text(X)).k1.kernel.sigma, kernel.resolve(X).k1.kernel.sigma)


def test_a_band_reads_the_named_columns_of_a_table_with_text():
    frame, kernel = with_text(X), Gaussian(1.0).on("a")
    options = {"features": ["text"], "kernel": kernel, "regularization": 0.1, "random_state": 0}
    bands = [
        ConformalRegressor(DummyRegressor(), **options).fit(table, Y).predict_interval(table)
        for table in (frame, frame.assign(text=(frame["text"] == "many") * 1.0, day=0.0))
    ]
    assert_allclose(*bands)


def test_raw_rows_need_a_view_for_every_part():
    with pytest.raises(ValueError, match="put it after a transformer"):
        classifier(Linear().after(TfidfVectorizer()) + Gaussian(1.0)).fit(DOCUMENTS, LABELS)
    assert (
        classifier(Linear().after(TfidfVectorizer()) + 2.0).fit(DOCUMENTS, LABELS).score(DOCUMENTS, LABELS)
        == 1
    )
    with pytest.raises(ValueError, match="needs a table"):
        classifier(Linear().after(TfidfVectorizer()).on("text")).fit(DOCUMENTS, LABELS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier(Linear().after(TfidfVectorizer())).fit(DOCUMENTS, LABELS[1:])
    with pytest.raises(ValueError, match="0 samples"):
        regressor(Linear().after(TfidfVectorizer()).on("text")).fit(frame()[:0], [])
    with pytest.raises(ValueError, match="features='linear' needs rows of numbers"):
        classifier(Linear().after(TfidfVectorizer()), features="linear").fit(DOCUMENTS, LABELS)
    with pytest.raises(
        ValueError,
        match=r"could not convert string.*texts need a kernel on a view of",
    ):
        classifier("linear").fit(DOCUMENTS, LABELS)
    model = classifier(Linear().after(TfidfVectorizer())).fit(DOCUMENTS, LABELS)
    with pytest.raises(ValueError, match="fitted to rows that are no table"):
        model.predict(X)
    with pytest.raises(ValueError, match="is expecting 3 features"):
        regressor(scaled(Gaussian(1.0))).fit(X, Y).predict(DOCUMENTS)
    with pytest.raises(ValueError, match="is not fitted"):
        scaled(Gaussian(1.0)).matrix(X, X)


@pytest.mark.parametrize(
    "columns",
    [slice(3, 9), [False] * 3, slice("z", None), lambda Z: []],
    ids=["slice", "mask", "names", "function"],
)
def test_columns_that_are_not_there_are_told(columns):
    with pytest.raises(ValueError, match=r"kernel.on\(columns\)"):
        Gaussian(1.0).on(columns)(X)


def test_a_constant_reads_nothing_of_a_view():
    assert_array_equal(Constant(2.0).after(StandardScaler())(X, NEW), np.full((40, 15), 2.0))
    assert_array_equal(LinearMap(np.eye(3)).fit_transform(X), X)
    assert LinearMap(np.eye(3)).fit(X).get_feature_names_out().tolist() == [
        "linearmap0",
        "linearmap1",
        "linearmap2",
    ]
    assert repr(Polynomial(2).after(np.eye(3)).kernel) == "Polynomial(degree=2, c=1.0)"
