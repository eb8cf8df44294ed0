"""What newcomers from other libraries write, and what they are told; how models are shown."""

from __future__ import annotations

import grls
import numpy as np
import pandas as pd
import pytest
from grls import GRLogisticClassifier, GRLSRegressor, KernelPCA, SVMGBClassifier
from grls.kernels import Constant, Gaussian, Laplace, Linear, Matern, Polynomial, ThinPlate
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

NAMES = {**vars(grls.kernels), **vars(grls), "StandardScaler": StandardScaler, "make_pipeline": make_pipeline}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    return X, X[:, 0] + 0.1 * rng.normal(size=30)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(GRLSRegressor(2 * Gaussian(1.5) + Linear().on([0]), features="linear"), id="sum"),
        pytest.param(GRLSRegressor((Gaussian(1.0) * Matern(2.0, nu=1.5)) ** 2), id="power"),
        pytest.param(SVMGBClassifier(0.5 * Laplace(2.0) + Constant(1.0), C=2.0), id="svm"),
        pytest.param(KernelPCA(3, 2 * Gaussian(1.0)), id="kpca"),
        pytest.param(GRLSRegressor(Gaussian([1.0, 2.0, 3.0])), id="widths"),
        pytest.param(
            GRLogisticClassifier(sum((Gaussian(float(s)) for s in range(1, 9)), Linear())), id="long"
        ),
    ],
)
def test_what_is_shown_can_be_typed(model):
    shown = repr(model)
    assert repr(eval(shown, dict(NAMES))) == shown
    assert "('kernel'" not in shown
    assert repr(clone(model)) == shown
    inside = repr(make_pipeline(StandardScaler(), model))
    assert "('kernel'" not in inside
    assert repr(model.kernel) in " ".join(inside.split())


def test_a_fitted_kernel_shows_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["east", "north", "elevation"])
    model = GRLSRegressor(Gaussian(1.0).on(["east", "north"]) + Linear().on("elevation")).fit(frame, y)
    assert repr(model.kernel_) == "Gaussian(sigma=1.0).on(['east', 'north']) + Linear().on(['elevation'])"
    np.testing.assert_allclose(clone(model.kernel_)(X), model.kernel_(X))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GRLSRegressor("gaussian", gamma=0.1), "GRLSRegressor has no parameter 'gamma'.*from_gamma"),
        (lambda: GRLSRegressor(alpha=0.1), "'alpha': regularization is of the mean loss"),
        (lambda: SVMGBClassifier(degree=3), r"SVMGBClassifier .*Polynomial\(degree, c\)"),
        (lambda: GRLSRegressor(regularisation=0.1), "did you mean 'regularization'"),
        (lambda: GRLSRegressor(xyz=0.1), "it has kernel, features"),
        (lambda: Gaussian(gamma=0.1), "Gaussian has no parameter 'gamma'.*from_gamma"),
        (lambda: Gaussian(length_scale=0.1), "the width is sigma"),
        (lambda: Polynomial(coef0=1.0), "is c"),
        (lambda: Linear(sigma=1.0), "Linear has no parameter 'sigma': it has center"),
    ],
    ids=["gamma", "alpha", "degree", "typo", "nonsense", "kernel-gamma", "length", "coef0", "none"],
)
def test_unknown_parameters_say_what_to_write(make, said):
    with pytest.raises(TypeError, match=said):
        make()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Gaussian(1.0, 2.0, 3.0), "Gaussian takes only sigma without a name, and got 3"),
        (lambda: Gaussian(1.0, sigma=2.0), "Gaussian got sigma twice"),
        (lambda: GRLSRegressor("gaussian", "linear"), "GRLSRegressor takes only kernel.*write features=…"),
        (lambda: ThinPlate(1), "ThinPlate takes no argument without a name"),
    ],
    ids=["many", "twice", "keyword-only", "none"],
)
def test_arguments_without_a_name_are_counted_by_the_class_itself(make, said):
    with pytest.raises(TypeError, match=said):
        make()


def test_parameters_of_a_name_say_what_to_give():
    with pytest.raises(
        ValueError, match=r"kernel='gaussian' of GRLSRegressor has no parameters.*Gaussian\(sigma"
    ):
        GRLSRegressor("gaussian").set_params(kernel__sigma=2.0)
    with pytest.raises(ValueError, match="did you mean 'regularization'"):
        GRLSRegressor().set_params(regularisation=2.0)
    with pytest.raises(ValueError, match="Gaussian has no parameter 'sgima': did you mean 'sigma'"):
        GRLSRegressor(Gaussian(1.0)).set_params(kernel__sgima=2.0)


def test_parameters_and_those_of_parts_are_set_together():
    model = GRLSRegressor("gaussian").set_params(kernel=Gaussian(1.0), kernel__sigma=3.0, regularization=0.5)
    assert repr(model.kernel) == "Gaussian(sigma=3.0)"
    assert model.regularization == 0.5
    kernel = (Gaussian(1.0) + Linear()).set_params(k1__sigma=4.0)
    assert kernel.get_params()["k1__sigma"] == 4.0
    assert set(kernel.get_params(deep=False)) == {"k1", "k2"}


def test_grids_reach_into_composed_kernels(data):
    X, y = data
    grid = {"kernel__k1__sigma": [1.0, 2.0]}
    search = GridSearchCV(GRLSRegressor(Gaussian(1.0) + Linear(), regularization=0.1), grid, cv=2).fit(X, y)
    assert search.best_estimator_.kernel_.k1.sigma == search.best_params_["kernel__k1__sigma"]


@pytest.mark.parametrize(
    "model", [GRLSRegressor(), SVMGBClassifier(), KernelPCA(2)], ids=["ls", "svm", "pca"]
)
def test_dates_are_refused_by_name(model, data):
    _, y = data
    dates = pd.date_range("2020-01-01", periods=30)
    frame = pd.DataFrame({"x": y, "day": dates})
    for X, said in (
        (frame, "column 'day' of X"),
        (frame[["day"]].to_numpy(), "X holds dates"),
        (frame[["day"]] - dates[0], "column 'day' of X"),
    ):
        with pytest.raises(TypeError, match=f"{said}.*timedelta64"):
            model.fit(X, y > 0)
    with pytest.raises(TypeError, match="X holds dates"):
        Gaussian(1.0)(frame[["day"]].to_numpy())


def test_dates_as_targets_are_refused(data):
    X, _ = data
    with pytest.raises(TypeError, match="y holds dates"):
        GRLSRegressor().fit(X, np.arange(30).astype("datetime64[D]"))


def test_notebooks_show_the_kernel(data):
    X, y = data
    html = GRLSRegressor(2 * Gaussian(1.5), regularization=0.1).fit(X, y)._repr_html_()
    assert "2 * Gaussian(sigma=1.5)" in html
