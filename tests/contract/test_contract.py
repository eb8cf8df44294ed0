"""What scikit-learn, pickle, joblib and type checkers rely on."""

import ast
import doctest
import importlib
import inspect
import io
import pickle
import pkgutil
import re
from pathlib import Path

import grls
import joblib
import numpy as np
import pandas as pd
import pytest
from grls import (
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    KernelPCA,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
    _core,
)
from grls.datasets import MutualInformationWords
from grls.features import PLSA, Columns, EstimatorFeatures, GeodesicKNN, PolynomialTrend
from grls.kernels import Gaussian, Laplace, Linear
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

X, Y = make_regression(60, 3, n_targets=2, noise=1.0, random_state=0)
y = Y[:, 0]

# Every estimator as it comes, and in settings that take other ways.


@parametrize_with_checks(
    [
        GRLSRegressor(),
        GRLSClassifier(),
        KernelPCA(),
        SVMGBClassifier(),
        PriorRLSRegressor(),
        PriorRLSClassifier(),
        GRLogisticClassifier(),
        NystromGRLSRegressor(),
        NystromGRLSClassifier(),
        PolynomialTrend(),
        Columns(),
        MutualInformationWords(n_words=2),
        PLSA(3, random_state=0),
        GeodesicKNN(),
        EstimatorFeatures(GaussianNB()),
    ]
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        GRLSRegressor(Laplace(1.0) + Linear(), features=None, regularization=0.1),
        GRLSRegressor(features=PolynomialTrend(0), precision="double"),
        GRLSRegressor(features=None, regularization=1e-3, formulation="published"),
        GRLSRegressor(Gaussian(2.0), regularization=1e-3, precision="mixed"),
        GRLSClassifier(Laplace(2.0) * Gaussian(), features=None, regularization=1e-3),
        GRLSClassifier(Gaussian(1.0), class_weight={}),
        KernelPCA(n_components=1, eigen_solver="iterative", random_state=0),
        KernelPCA(1, Laplace(2.0) + Linear(), n_centers=5, fit_inverse_transform=True, random_state=0),
        SVMGBClassifier(Gaussian(1.0), solver="native", tol=1e-10),
        SVMGBClassifier(Laplace(1.0), features=PolynomialTrend(0), feature_variance=1.0),
        PriorRLSRegressor(covariance=2.0, features=None, regularization="loo"),
        PriorRLSRegressor(features=None, formulation="published", regularization=1e-3),
        PriorRLSRegressor(solver="cg", regularization=1e-3, tol=1e-10),
        PriorRLSClassifier(regularization="gcv", class_weight={}),
        PriorRLSClassifier(solver="cg", regularization=1e-3, tol=1e-10),
        GRLogisticClassifier(Gaussian(2.0), regularization=1e-2, class_weight={}),
        GRLogisticClassifier("linear", feature_variance=1e4),
        NystromGRLSRegressor(Laplace(1.0), regularization="holdout", validation_fraction=0.4),
        NystromGRLSRegressor(Gaussian(2.0), regularization=1e-3, solver="cg", n_centers=100),
        NystromGRLSRegressor(features=None, centers="kmeans", n_centers=15, regularization=1e-3),
        NystromGRLSClassifier(centers="leverage", n_centers=15, regularization=1e-3, class_weight={}),
        NystromGRLSClassifier(Gaussian(2.0), regularization=1e-3, solver="cg", n_centers=100),
        PolynomialTrend(degree=0),
        PolynomialTrend(degree=2),
        Columns([0], constant=False),
        GeodesicKNN(output="indicator", exclude_self=False),
        EstimatorFeatures(GaussianNB(), method="predict", constant=False),
    ]
)
def test_scikit_learn_checks_pass_in_other_settings(estimator, check):
    check(estimator)


# Model selection and composition.


def test_an_estimator_works_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), GRLSRegressor(Gaussian(1.0), features="linear")).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    alone = GRLSRegressor(Gaussian(1.0), features="linear").fit(scaled, y)
    assert_allclose(pipeline.predict(X), alone.predict(scaled), atol=1e-10)


def test_a_grid_goes_over_parameters_of_kernels_and_features():
    search = GridSearchCV(
        GRLSRegressor(Gaussian() + Linear(), features=PolynomialTrend()),
        {
            "kernel__k1__sigma": [0.5, 5.0],
            "regularization": [1e-3, 1e-1],
            "features__degree": [0, 1],
        },
        cv=3,
    ).fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert len(search.cv_results_["params"]) == 8
    best = search.best_params_
    assert search.best_estimator_.kernel.k1.sigma == best["kernel__k1__sigma"]
    assert search.best_estimator_.kernel_.k1.sigma == best["kernel__k1__sigma"]


def test_a_grid_over_the_width_finds_the_better_one():
    x = np.linspace(0, 1, 80)[:, None]
    wave = np.sin(20 * x[:, 0])
    search = GridSearchCV(
        GRLSRegressor(Gaussian()), {"kernel__sigma": [1e-4, 0.1], "regularization": [1e-6]}, cv=4
    )
    assert search.fit(x[::-1], wave[::-1]).best_params_["kernel__sigma"] == 0.1


def test_a_classifier_is_cross_validated_with_its_scores():
    points, labels = load_iris(return_X_y=True)
    scores = cross_val_predict(GRLSClassifier(features="linear"), points, labels, method="decision_function")
    assert scores.shape == (150, 3)
    assert np.mean(scores.argmax(axis=1) == labels) > 0.9


def fitted():
    points, labels = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return [
        (GRLSRegressor(Gaussian() * Laplace(1.0).on([0]), features="quadratic").fit(X, Y), X),
        (GRLSRegressor(Gaussian().on(["b", "c"]), features=Columns("a")).fit(frame, y), frame),
        (GRLSClassifier(features=StandardScaler()).fit(points, labels), points),
        (NystromGRLSRegressor(Gaussian(), features="linear", n_centers=20).fit(X, Y), X),
        (NystromGRLSClassifier(n_centers=20, regularization="holdout").fit(points, labels), points),
        (GRLSRegressor("precomputed", features=None).fit(X @ X.T + np.eye(60), y), X @ X.T),
        (SVMGBClassifier(Gaussian(), features="linear", probability=True).fit(points, labels), points),
        (GRLogisticClassifier(Gaussian(1.0) + Linear()).fit(points, labels), points),
        (PriorRLSRegressor(covariance=[1.0, 2.0, 3.0], features="quadratic").fit(X, Y), X),
        (PriorRLSClassifier(regularization="loo", solver="cg").fit(points, labels), points),
    ]


@pytest.mark.parametrize("number", range(len(fitted())))
def test_a_fitted_model_survives_pickle_and_joblib(number, tmp_path):
    model, points = fitted()[number]
    expected = model.predict(points)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert_array_equal(pickle.loads(pickle.dumps(model, protocol)).predict(points), expected)
    joblib.dump(model, tmp_path / "model.joblib")
    assert_array_equal(joblib.load(tmp_path / "model.joblib").predict(points), expected)
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    assert_array_equal(joblib.load(buffer).decompose(points)[0], model.decompose(points)[0])


def test_a_model_mapped_into_memory_predicts_the_same(tmp_path):
    model, points = fitted()[0]
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert_array_equal(mapped.predict(points), model.predict(points))


def test_a_clone_has_the_parameters_and_nothing_of_the_fit():
    for model, _ in fitted():
        copy = clone(model)
        assert repr(copy) == repr(model)
        assert not [name for name in vars(copy) if name.endswith("_")]


def test_fitting_does_not_touch_the_parameters():
    kernel = Gaussian() + Linear().on([0])
    model = GRLSRegressor(kernel, features="linear")
    before = repr(model.get_params())
    model.fit(X, y)
    assert model.kernel is kernel
    assert repr(model.get_params()) == before


def test_two_processes_fit_and_predict_in_parallel():
    models = [GRLSRegressor(Gaussian(s), features="linear") for s in (0.5, 1.0, 2.0, 4.0)]
    expected = [clone(model).fit(X, y).predict(X) for model in models]
    with joblib.Parallel(n_jobs=2) as parallel:
        fits = parallel(joblib.delayed(model.fit)(X, y) for model in models)
        predictions = parallel(joblib.delayed(model.predict)(X) for model in fits)
    for got, wanted in zip(predictions, expected, strict=True):
        assert_allclose(got, wanted, atol=1e-10)


# Names.


def test_features_name_their_output_and_follow_set_output():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    trend = PolynomialTrend(2).set_output(transform="pandas")
    out = trend.fit_transform(frame)
    assert list(out.columns) == ["1", "a", "b", "c", "a^2", "a b", "a c", "b^2", "b c", "c^2"]
    assert_allclose(out.to_numpy(), PolynomialTrend(2).fit_transform(X))
    columns = Columns(["c", "a"]).set_output(transform="pandas").fit_transform(frame)
    assert list(columns.columns) == ["1", "c", "a"]
    assert_array_equal(columns[["c", "a"]].to_numpy(), X[:, [2, 0]])
    constant = PolynomialTrend(0).set_output(transform="pandas").fit_transform(frame)
    assert list(constant.columns) == ["1"]
    assert list(Columns(-1, constant=False).fit(X).get_feature_names_out()) == ["x2"]
    assert list(PolynomialTrend(1).fit(X).get_feature_names_out(["p", "q", "r"])) == ["1", "p", "q", "r"]


def test_features_that_give_data_frames_serve_an_estimator():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    trend = PolynomialTrend(1).set_output(transform="pandas")
    model = GRLSRegressor(Gaussian(1.0), features=trend).fit(frame, y)
    expected = GRLSRegressor(Gaussian(1.0), features="linear").fit(X, y)
    assert_allclose(model.predict(frame), expected.predict(X), atol=1e-12)
    assert model.feature_names_free_ == ["1", "a", "b", "c"]


def test_names_of_columns_are_kept_and_checked():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = GRLSRegressor(features="linear").fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "b", "a"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)


ESTIMATORS = (
    GRLSRegressor,
    GRLSClassifier,
    GRLogisticClassifier,
    KernelPCA,
    NystromGRLSRegressor,
    NystromGRLSClassifier,
    PriorRLSRegressor,
    PriorRLSClassifier,
    SVMGBClassifier,
)


def test_everything_public_is_there_and_documented():
    for module in (grls, grls.kernels, grls.features, grls.core):
        for name in module.__all__:
            thing = getattr(module, name)
            assert name == "__version__" or inspect.getdoc(thing), f"{module.__name__}.{name}"
    for estimator in ESTIMATORS:
        doc = inspect.getdoc(estimator)
        assert "{parameters}" not in doc
        for parameter in inspect.signature(estimator).parameters:
            assert re.search(rf"^ *{parameter} :", doc, re.MULTILINE), f"{estimator.__name__}.{parameter}"


def test_every_fitted_attribute_is_documented():
    pca = KernelPCA(2, fit_inverse_transform=True).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    for model in [*(model for model, _ in fitted()), pca]:
        doc = inspect.getdoc(type(model))
        for name in vars(model):
            if name.endswith("_") and not name.startswith("_"):
                assert re.search(rf"^ *(\w+, )*{name}(, \w+)* :", doc, re.MULTILINE), (
                    f"{type(model).__name__}.{name}"
                )


# Documentation and stub.

MODULES = ["grls", *(module.name for module in pkgutil.walk_packages(grls.__path__, "grls."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_documentation_are_true(name):
    if name == "grls.dask":
        pytest.importorskip("dask")
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_modules_with_examples_are_all_looked_at():
    assert {
        "grls.kernels",
        "grls.features._plsa",
        "grls.least_squares",
        "grls.nystrom",
        "grls.svm",
        "grls.core",
    } <= set(MODULES)


def stub():
    return ast.parse(Path(grls.__file__).with_name("_core.pyi").read_text(encoding="utf-8")).body


def test_the_stub_of_the_core_names_what_the_core_has():
    declared = set()
    for node in stub():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            declared.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            declared.add(node.target.id)
    there = {name for name in dir(_core) if not name.startswith("__") or name == "__version__"}
    assert declared == there


def signature(doc):
    """Argument names, those with a default, from the first line of a docstring that pybind11 wrote."""
    inside = doc[doc.index("(") + 1 : doc.rindex(") ->")]
    depth, parts = 0, [""]
    for character in inside:
        depth += (character in "[({") - (character in "])}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    arguments = [part.strip() for part in parts if part.strip()]
    names = [re.match(r"\w+", argument)[0] for argument in arguments]
    return names, [name for name, argument in zip(names, arguments, strict=True) if " = " in argument]


@pytest.mark.parametrize("name", [node.name for node in stub() if isinstance(node, ast.FunctionDef)])
def test_the_stub_of_a_function_has_its_arguments(name):
    node = next(n for n in stub() if isinstance(n, ast.FunctionDef) and n.name == name)
    names, optional = signature(getattr(_core, name).__doc__.splitlines()[0])
    declared = [argument.arg for argument in node.args.args]
    assert declared == names
    assert declared[len(declared) - len(node.args.defaults) :] == optional


def test_the_stub_of_a_formula_has_its_arguments():
    node = next(n for n in stub() if isinstance(n, ast.ClassDef) and n.name == "Formula")
    init = next(n for n in node.body if isinstance(n, ast.FunctionDef))
    names, optional = signature(_core.Formula.__init__.__doc__.splitlines()[0])
    declared = [argument.arg for argument in init.args.args]
    assert declared == names
    assert declared[len(declared) - len(init.args.defaults) :] == optional


def test_the_version_is_that_of_the_package():
    assert grls.__version__ == importlib.import_module("importlib.metadata").version("grls")
