"""``predict(X, return_gradient=True)``: the gradient of the model function, against differences."""

import pickle

import numpy as np
import pytest
from grls import GRLSRegressor
from grls.features import Columns, PolynomialTrend
from grls.kernels import Gaussian, Laplace, Linear, Matern, Overlap, Polynomial, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import SplineTransformer, StandardScaler

pd = pytest.importorskip("pandas")


def data(m=40, d=3, k=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (m, d))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - X[:, -1] + 0.05 * rng.normal(size=m)
    return X, y if k is None else np.column_stack([y * (o + 1) + X[:, 0] ** o for o in range(k)])


def differences(model, X, step=1e-5):
    """Return the gradient (n, d[, k]) by central differences of predictions."""
    columns = [(model.predict(X + e) - model.predict(X - e)) / (2 * step) for e in step * np.eye(X.shape[1])]
    return np.stack(columns, axis=1)


def waves(X):
    return np.column_stack([np.ones(len(X)), np.sin(2 * X[:, 0]) * X[:, 1]])


@pytest.mark.parametrize(
    "features",
    [
        None,
        "constant",
        "linear",
        "quadratic",
        PolynomialTrend(3),
        Columns([2, 0]),
        Columns(1, constant=False),
    ],
    ids=str,
)
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Gaussian(0.6) * Matern(1.0, 2.5).on([0, 2])], ids=str)
def test_the_gradient_is_that_of_the_predictions(kernel, features):
    X, y = data()
    model = GRLSRegressor(kernel, features=features, regularization=1e-3).fit(X, y)
    new = data(7, seed=1)[0]
    mean, gradient = model.predict(new, return_gradient=True)
    assert_array_equal(mean, model.predict(new))
    assert gradient.shape == (7, 3)
    assert_allclose(gradient, differences(model, new), atol=1e-7)


@pytest.mark.parametrize(
    "features", [waves, SplineTransformer(3, include_bias=False)], ids=["waves", "splines"]
)
@pytest.mark.parametrize("units", [1.0, 1e-6, 1e6])
def test_other_features_by_differences_in_any_units(features, units):
    X, y = data(60)
    model = GRLSRegressor(
        Gaussian(0.8 * units), features=features if features is not waves else lambda X: waves(X / units)
    )
    model.set_params(regularization=1e-2, feature_variance=1.0).fit(X * units, y)
    new = 0.8 * data(7, seed=1)[0]
    _, gradient = model.predict(new * units, return_gradient=True)
    columns = [
        (model.predict((new + e) * units) - model.predict((new - e) * units)) / 2e-5 for e in 1e-5 * np.eye(3)
    ]
    assert_allclose(gradient * units, np.stack(columns, axis=1), atol=1e-6)


def test_a_linear_trend_is_its_own_gradient():
    X, _ = data()
    X = X + 2000.0  # years
    y = 3 * X[:, 0] - 2 * X[:, 2]
    _, gradient = GRLSRegressor(Gaussian(0.5), features="linear").fit(X, y).predict(X, return_gradient=True)
    assert_allclose(gradient, np.tile([3.0, 0.0, -2.0], (len(X), 1)), atol=1e-6)


@pytest.mark.parametrize("variance", [np.inf, 0.5, 0.0])
def test_several_outputs_and_penalised_features(variance):
    X, Y = data(k=2)
    model = GRLSRegressor(Gaussian(0.7), features="quadratic", feature_variance=variance, regularization=1e-3)
    model.fit(X, Y)
    mean, std, gradient = model.predict(X[:5], return_std=True, return_gradient=True)
    assert mean.shape == std.shape == (5, 2)
    assert gradient.shape == (5, 3, 2)
    assert_allclose(gradient, differences(model, X[:5]), atol=1e-6)
    one = clone(model).fit(X, Y[:, 1])
    assert_allclose(one.predict(X[:5], return_gradient=True)[1], gradient[..., 1], rtol=1e-8, atol=1e-9)


def test_a_linear_kernel_far_from_the_origin():
    X, y = data()
    kernel = Linear() + 0.5 * Gaussian(0.7).on([1])
    model = GRLSRegressor(kernel, features="constant", regularization=1e-3).fit(X + 100.0, y)
    assert_allclose(
        model.predict(X + 100.0, return_gradient=True)[1], differences(model, X + 100.0), atol=1e-5
    )


def test_it_comes_last_beside_a_covariance():
    X, y = data()
    model = GRLSRegressor(Gaussian(0.7), regularization=1e-3).fit(X, y)
    mean, cov, gradient = model.predict(X[:4], return_cov=True, return_gradient=True)
    assert (mean.shape, cov.shape, gradient.shape) == ((4,), (4, 4), (4, 3))
    assert_array_equal(cov, model.predict(X[:4], return_cov=True)[1])


@pytest.mark.parametrize(
    "features",
    ["linear", Columns(["c", "a"]), lambda X: X[["a"]] ** 2],
    ids=["linear", "columns", "function"],
)
def test_data_frames(features):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    kernel = Gaussian(0.6).on("b") + Laplace(2.0).on(["c", "a"])
    model = GRLSRegressor(kernel, features=features, regularization=1e-3).fit(frame, y)
    new = data(6, seed=1)[0]
    _, gradient = model.predict(pd.DataFrame(new, columns=list("abc")), return_gradient=True)
    step, columns = 1e-5, []
    for e in step * np.eye(3):
        up, down = (pd.DataFrame(new + sign * e, columns=list("abc")) for sign in (1, -1))
        columns.append((model.predict(up) - model.predict(down)) / (2 * step))
    assert_allclose(gradient, np.stack(columns, axis=1), atol=1e-6)


def test_columns_of_whole_numbers():
    X, y = data()
    frame = pd.DataFrame({"n": np.arange(40) % 7, "x": X[:, 0]})
    model = GRLSRegressor(Gaussian([3.0, 0.5]), features=lambda X: X[["n"]] ** 2, regularization=1e-3)
    model.fit(frame, y)
    _, gradient = model.predict(frame, return_gradient=True)
    same = model.predict(frame.astype(float), return_gradient=True)[1]
    assert np.isfinite(gradient).all()
    assert_allclose(gradient, same, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern("medians")], ids=str)
def test_a_learnt_metric_is_led_back_to_the_columns(kernel):
    X, y = data(80)
    model = GRLSRegressor(kernel, optimize="metric", features="linear").fit(X, y)
    new = data(7, seed=1)[0]
    _, gradient = model.predict(new, return_gradient=True)
    assert_allclose(gradient, differences(model, new), atol=1e-6)


def test_a_linear_map_of_named_columns():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    kernel = Gaussian(0.6).after([[1.0], [0.5]]).on(["c", "a"]) + Gaussian(0.9).on("b")
    model = GRLSRegressor(kernel, regularization=1e-3).fit(frame, y)
    plain = GRLSRegressor(
        Gaussian(0.6).after([[0.5], [0.0], [1.0]]) + Gaussian(0.9).on([1]), regularization=1e-3
    )
    expected = plain.fit(X, y).predict(X, return_gradient=True)[1]
    assert_allclose(expected, differences(plain, X), atol=1e-6)
    assert_allclose(model.predict(frame, return_gradient=True)[1], expected, rtol=1e-8, atol=1e-9)


def test_columns_chosen_by_a_function():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    kernel = Gaussian(0.6).on(make_column_selector("[ac]"))
    model = GRLSRegressor(kernel, regularization=1e-3).fit(frame, y)
    plain = GRLSRegressor(Gaussian(0.6).on([0, 2]), regularization=1e-3).fit(X, y)
    _, gradient = model.predict(frame, return_gradient=True)
    assert_allclose(gradient, plain.predict(X, return_gradient=True)[1], rtol=1e-8, atol=1e-9)


def test_models_chosen_by_the_data_in_files_and_conditional_kernels():
    X, y = data()
    new = data(7, seed=1)[0]
    for model in (GRLSRegressor(), GRLSRegressor(ThinPlate(), features="linear", regularization=1e-4)):
        again = pickle.loads(pickle.dumps(model.fit(X, y)))
        _, gradient = again.predict(new, return_gradient=True)
        assert_allclose(gradient, differences(model, new), atol=1e-6)


def test_a_normalised_kernel_and_the_published_formulation():
    X, y = data()
    kernel = (Polynomial(2) + Gaussian(0.5)).normalized()
    model = GRLSRegressor(kernel, formulation="published", regularization=1e-3).fit(X, y)
    assert_allclose(model.predict(X, return_gradient=True)[1], differences(model, X), atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (Gaussian(0.5) + Overlap().on([1]), "compares labels"),
        (lambda X, Z: X @ Z.T, "function of Python"),
        (Gaussian(0.5).after(StandardScaler()), "linear maps only"),
    ],
    ids=["labels", "function", "view"],
)
def test_kernels_without_a_gradient_are_named(kernel, match):
    X, y = data()
    model = GRLSRegressor(kernel, regularization=1e-2).fit(X, y)
    with pytest.raises(ValueError, match=match):
        model.predict(X, return_gradient=True)


def test_rows_without_a_gradient_are_refused():
    X, y = data()
    with pytest.raises(NotFittedError):
        GRLSRegressor().predict(X, return_gradient=True)
    model = GRLSRegressor("precomputed", regularization=1e-2).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="precomputed"):
        model.predict(X @ X.T, return_gradient=True)
    model = GRLSRegressor(Gaussian(0.5), regularization=1e-2).fit(sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match="dense rows"):
        model.predict(sparse.csr_matrix(X), return_gradient=True)
    with pytest.raises(ValueError, match="training data too"):
        model.predict(X, return_gradient=True)
    texts = [f"{'cat' if value > 0 else 'dog'} number {i}" for i, value in enumerate(y)]
    model = GRLSRegressor(Linear().after(TfidfVectorizer()), regularization=1e-2).fit(texts, y)
    with pytest.raises(ValueError, match="table of numbers"):
        model.predict(texts, return_gradient=True)
    model = GRLSRegressor(Gaussian(0.5), regularization=1e-2).fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :2], return_gradient=True)
