"""``optimize="metric"`` of kernels with views, on some columns, and of one part of larger kernels."""

import pickle

import grls
import numpy as np
import pandas as pd
import pytest
from grls import GRLSClassifier, GRLSRegressor, NystromGRLSRegressor
from grls._selection.choice import Choice, squared_error
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import (
    Categorical,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Overlap,
    Polynomial,
    Rotated,
)
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler


def data(m=120, seed=0):
    """Return rows of five columns in different units, and a function of two directions of them."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, 5))
    y = np.sin(1.5 * (Z[:, 0] + Z[:, 1])) + 0.5 * (Z[:, 2] - Z[:, 3]) + 0.05 * rng.normal(size=m)
    return Z * [1.0, 2.0, 30.0, 0.1, 1.0] + [0.0, 5.0, -40.0, 0.0, 1.0], y


def learns(kernel, model=GRLSRegressor, optimize="metric", **options):
    return model(kernel, optimize=optimize, **options)


def assert_same(viewed, plain, new, seen):
    """Compare a model of rows with one of what a view makes of them."""
    size = np.abs(plain.predict(seen)).max()
    assert_allclose(viewed.predict(new), plain.predict(seen), rtol=0, atol=1e-10 * size)
    std = plain.predict(seen, return_std=True)[1]
    assert_allclose(viewed.predict(new, return_std=True)[1], std, rtol=0, atol=1e-8 * std.max())
    assert_allclose(viewed.metric_, plain.metric_, rtol=1e-9, atol=1e-11)
    assert_allclose(viewed.feature_importances_, plain.feature_importances_, rtol=1e-9, atol=1e-12)
    assert viewed.optimization_.best == plain.optimization_.best


VIEWS = {
    "scaled": StandardScaler,
    "components": lambda: PCA(3),
    "views of views": lambda: make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False)),
}


@pytest.mark.parametrize("optimize", ["metric", "metric_diagonal"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("model", [GRLSRegressor, NystromGRLSRegressor])
def test_the_metric_of_a_view_is_that_of_transforming_first(model, view, optimize):
    (X, y), (new, _) = data(), data(20, 1)
    first = view().fit(X)
    options = {"optimize": optimize}
    if model is NystromGRLSRegressor:
        options |= {"n_centers": 200, "regularization": 1e-3}  # all rows: a sample goes by what rows hold
    viewed = learns(Matern().after(view()), model, **options).fit(X, y)
    plain = learns(Matern(), model, **options).fit(first.transform(X), y)
    assert_same(viewed, plain, new, first.transform(new))
    assert len(viewed.feature_importances_) == first.transform(X).shape[1]


def test_labels_as_indicators_have_a_metric_though_they_are_sparse():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(150, 2)).astype(float)
    y = np.where(X[:, 0] == 1, 3.0, 0.0) + 0.1 * rng.normal(size=150)
    encoder = OneHotEncoder().fit(X)
    viewed = learns(Gaussian().after(OneHotEncoder())).fit(X, y)
    plain = learns(Gaussian()).fit(encoder.transform(X).toarray(), y)
    assert_same(viewed, plain, X, encoder.transform(X).toarray())
    names = encoder.get_feature_names_out()
    assert names[viewed.feature_importances_.argmax()] == "x0_1.0"


class MeansOfOthers(TransformerMixin, BaseEstimator):
    """Means of the targets of equal values; of the rows it is fitted to, without the row itself."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def _means(self, X, without):
        same = X[:, None, :] == self.X_[None, :, :]
        same = same & ~np.eye(len(X), dtype=bool)[:, :, None] if without else same
        return np.einsum("ijk,j->ik", same, self.y_) / same.sum(axis=1)

    def transform(self, X):
        return self._means(X, without=False)

    def fit_transform(self, X, y):
        return self.fit(X, y)._means(X, without=True)


@pytest.mark.parametrize("model", [GRLSRegressor, NystromGRLSRegressor])
def test_values_that_leave_a_row_out_of_its_own_are_kept(model):
    """What an encoder of targets gives the rows it is fitted to is not what it gives new ones."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 12, size=(200, 2)).astype(float)
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=200)

    first = MeansOfOthers()
    V = first.fit_transform(X, y)
    assert np.abs(V - first.transform(X)).max() > 0.01
    viewed = learns(Gaussian().after(MeansOfOthers()), model, regularization=1e-2).fit(X, y)
    if model is NystromGRLSRegressor:  # centres are seen as new rows are, and the metric is theirs
        plain = model(viewed.kernel_.kernel, centers=first.transform(X), regularization=1e-2).fit(V, y)
        assert_allclose(viewed.predict(X), plain.predict(first.transform(X)), atol=1e-7)
        return
    plain = learns(Gaussian(), model, regularization=1e-2).fit(V, y)
    assert_same(viewed, plain, X, first.transform(X))
    assert_allclose(viewed.X_fit_, V @ viewed.kernel_.kernel.transformer.matrix)


def test_columns_of_a_frame_are_led_back():
    (X, y), (new, _) = data(), data(20, 1)
    frame, later = (pd.DataFrame(each, columns=list("abcde")) for each in (X, new))
    plain = learns(Gaussian()).fit(X[:, [3, 0, 1]], y)
    for table, at in ((frame, later), (X, new)):
        kernel = Gaussian().on(["d", "a", "b"] if table is frame else [3, 0, 1])
        model = learns(kernel).fit(table, y)
        assert_allclose(model.predict(at), plain.predict(new[:, [3, 0, 1]]), atol=1e-10)
        assert model.metric_.shape == (5, 5)
        assert_allclose(model.metric_[np.ix_([3, 0, 1], [3, 0, 1])], plain.metric_, rtol=1e-9)
        assert_allclose(model.feature_importances_[[3, 0, 1]], plain.feature_importances_, rtol=1e-9)
        assert not model.metric_[[2, 4]].any()
        assert not model.feature_importances_[[2, 4]].any()


def test_a_frame_with_text_has_a_metric_of_its_numbers():
    X, y = data(80)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(word=["up", "down"] * 40)
    numbers = list("ca")
    model = learns(Gaussian().after(StandardScaler()).on(numbers)).fit(frame, y)
    scaler = StandardScaler().fit(X[:, [2, 0]])
    plain = learns(Gaussian()).fit(scaler.transform(X[:, [2, 0]]), y)
    assert_same(model, plain, frame, scaler.transform(X[:, [2, 0]]))


def test_columns_of_a_view_are_led_back_to_it():
    X, y = data()
    scaled = StandardScaler().fit_transform(X)
    model = learns(3.0 * Gaussian().on([1, 0]).after(StandardScaler())).fit(X, y)
    plain = learns(Gaussian()).fit(scaled[:, [1, 0]], y)
    assert_allclose(model.predict(X), plain.predict(scaled[:, [1, 0]]), atol=1e-9)
    assert model.metric_.shape == (5, 5)
    assert_allclose(model.metric_[np.ix_([1, 0], [1, 0])], plain.metric_, rtol=1e-8)
    assert not model.metric_[2:].any()
    # Of the fifteen numbers of the metric twelve are zeros that nobody chose.
    assert model.summary().n_parameters == plain.summary().n_parameters


def test_a_column_that_a_function_chooses():
    X, y = data(80)
    model = learns(Gaussian().on(lambda X: [0, 1])).fit(X, y)
    plain = learns(Gaussian()).fit(X[:, :2], y)
    assert_allclose(model.predict(X), plain.predict(X[:, :2]), atol=1e-10)


# What becomes of a kernel in a larger one on `columns`, its own, and those columns.
COMPOSED = {
    "sum": (lambda k, columns: k.on(columns) + 0.5 * Linear().on([2, 3]), [0, 1]),
    "product": (lambda k, columns: Polynomial(1, 2.0).on([2]) * k.on(columns), [0, 1, 2, 3, 4]),
    "power": (lambda k, columns: 2.0 * k.on(columns) ** 2 + 1.0, [3, 1]),
}


@pytest.mark.parametrize(("whole", "read"), COMPOSED.values(), ids=COMPOSED)
def test_one_part_of_a_larger_kernel(whole, read):
    """Each round is the fit of the whole kernel, and its metric is from the gradients of the one part."""
    X, y = data(60)
    X = StandardScaler().fit_transform(X)
    model = learns(whole(Gaussian(), read)).fit(X, y)
    first, second = model.optimization_.rounds[:2]
    for each in (first, second):  # γ of the same grid of twenty
        kernel, points = whole(Gaussian(each.width).after(each.map), read).fit_views(X)
        problem = KernelProblem(kernel, points, np.ones((60, 1)), None)
        choose = Choice(problem, y[:, None], "loo", squared_error(y[:, None], None), None)
        selection = choose(kernel, 20)
        assert_allclose(selection.criterion.min(), each.criterion, rtol=1e-8)
        if each is first:
            c = problem.solve(y[:, None], float(selection.chosen)).c[:, 0]
    # Copies of the part's columns stand to the right: they move, and what others read stays.
    part = whole(Gaussian(first.width).after(first.map), [5 + j for j in range(len(read))])
    both, step = np.hstack([X, X[:, read]]), 1e-5
    gradients = np.empty((60, len(read)))
    for j in range(len(read)):
        e = step * np.eye(both.shape[1])[5 + j]
        gradients[:, j] = (part(both + e, both) - part(both - e, both)) @ c / (2 * step)
    units = np.diag(first.map)  # the first map divides columns
    values, vectors = np.linalg.eigh((gradients / units).T @ (gradients / units) / 60)
    root = (vectors * np.maximum(values, 0) ** 0.25) @ vectors.T
    expected = units[:, None] * root * np.sqrt(len(read) / np.sum(root**2))
    assert_allclose(second.map, expected, atol=1e-5)
    assert set(np.flatnonzero(np.diag(model.metric_))) == set(read)


def test_the_direction_of_one_part_is_found_beside_a_line():
    X, y = data(200)
    X = StandardScaler().fit_transform(X)
    model = learns(Gaussian().on([0, 1, 4]) + Linear().on([2, 3])).fit(X, y)
    leading = np.linalg.eigh(model.metric_)[1][:, -1]
    assert abs(leading @ [1, 1, 0, 0, 0]) / np.sqrt(2) > 0.99


def test_the_model_travels_without_anything_special(tmp_path):
    (X, y), (new, _) = data(), data(20, 1)
    frame, later = (pd.DataFrame(each, columns=list("abcde")) for each in (X, new))
    kernel = 2.0 * Gaussian().on([0, 2]).after(StandardScaler()).on(list("abc")) + Linear().on("e")
    model = learns(kernel).fit(frame, y)
    expected, std = model.predict(later, return_std=True)
    assert np.isfinite(std).all()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(later), expected)
    grls.save(model, tmp_path / "model.grls")
    loaded = grls.load(tmp_path / "model.grls")
    assert np.array_equal(loaded.predict(later), expected)
    assert np.array_equal(loaded.metric_, model.metric_)
    assert_allclose(clone(model).fit(frame, y).predict(later), expected)
    assert repr(clone(model).kernel) == repr(kernel)
    same = GRLSRegressor(model.kernel_, regularization=model.regularization_).fit(frame, y)
    assert_allclose(same.predict(later), expected, atol=1e-8)
    many = NystromGRLSRegressor(model.kernel_, n_centers=200, regularization=model.regularization_)
    assert_allclose(many.fit(frame, y).predict(later), expected, atol=1e-5)


def test_gradients_are_led_through_linear_views():
    (X, y), (new, _) = data(), data(7, 1)
    A = np.random.default_rng(0).normal(size=(3, 2))
    model = learns(Gaussian().after(A).on([1, 0, 3])).fit(X, y)
    _, gradient = model.predict(new, return_gradient=True)
    step = 1e-5
    for j, e in enumerate(step * np.eye(5)):
        difference = (model.predict(new + e) - model.predict(new - e)) / (2 * step)
        assert_allclose(gradient[:, j], difference, atol=1e-6)


def test_grids_go_over_views():
    X, y = data(80)
    grid = GridSearchCV(
        learns(Gaussian().after(PCA())), {"kernel__after__n_components": [1, 3]}, cv=3, refit=True
    ).fit(X, y)
    wanted = grid.best_params_["kernel__after__n_components"]
    assert grid.best_estimator_.metric_.shape == (wanted, wanted)
    assert grid.cv_results_["mean_test_score"][0] != grid.cv_results_["mean_test_score"][1]


def test_classifiers_and_blocks():
    X, y = data(200)
    scaler = StandardScaler().fit(X)
    viewed = learns(Gaussian().after(StandardScaler()), GRLSClassifier).fit(X, y > 0)
    plain = learns(Gaussian(), GRLSClassifier).fit(scaler.transform(X), y > 0)
    assert_allclose(viewed.decision_function(X), plain.decision_function(scaler.transform(X)), atol=1e-9)
    blocks = [(X[:100], y[:100]), (X[100:], y[100:])]
    of_blocks = learns(Gaussian().after(np.diag(1 / X.std(axis=0))), NystromGRLSRegressor).fit(blocks)
    in_memory = learns(Gaussian().after(np.diag(1 / X.std(axis=0))), NystromGRLSRegressor).fit(X, y)
    assert_allclose(of_blocks.predict(X), in_memory.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Overlap(), r"one kernel of distances.*optimize=True tunes"),
        (Linear().after(StandardScaler()), "one kernel of distances"),
        (Gaussian().on([0, 1]) + Matern().on([2]), "which has 2 of them: learn the metric of one, or tune"),
        ((Gaussian() * Laplace()).after(StandardScaler()), "which has 2 of them"),
        (Rotated(Gaussian()).on([0, 1]), r"map is a metric already.*write Gaussian\(.*\)\.on\(columns\)"),
        (Gaussian().on([0, 1]) * Categorical().on([2]), "beside Categorical.*compares labels"),
        (Laplace(norm="l1").after(StandardScaler()), "one kernel of distances"),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [GRLSRegressor, NystromGRLSRegressor])
def test_kernels_without_one_metric_are_refused(model, kernel, message):
    X, y = data(40)
    with pytest.raises(ValueError, match=message):
        learns(kernel, model).fit(np.round(X), y)


def test_a_view_of_text_is_too_wide():
    words = [f"w{i} w{i + 1} w{3 * i}" for i in range(1100)]
    with pytest.raises(ValueError, match=r"at most 1000 columns.*kernel\.after\(TruncatedSVD\(50\)\)"):
        learns(Gaussian().after(TfidfVectorizer())).fit(words, np.arange(1100.0))
    few = learns(Gaussian().after(TfidfVectorizer())).fit(["a cat", "the dog", "a dog", "cats"], [1, 2, 3, 4])
    assert few.metric_.shape == (4, 4)
