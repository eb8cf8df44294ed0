"""What scikit-learn, pickle, joblib and type checkers rely on."""

import ast
import doctest
import functools
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
    FourierGRLSRegressor,
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    KernelPCA,
    MercerExpansion,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    NystromGRRegressor,
    OneClassSVMGB,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
    _core,
)
from grls.conformal import ConformalRegressor
from grls.datasets import MutualInformationWords
from grls.features import (
    PLSA,
    Columns,
    EstimatorFeatures,
    GeodesicKNN,
    Groups,
    Indicators,
    NormalScores,
    PolynomialTrend,
)
from grls.kernels import Gaussian, Laplace, Linear
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

X, Y = make_regression(60, 3, n_targets=2, noise=1.0, random_state=0)
y = Y[:, 0]

# Every estimator in one setting, as it comes unless the choice of a kernel takes long; then in others.


@parametrize_with_checks(
    [
        GRLSRegressor(),
        GRLSClassifier(Gaussian(1.0)),
        KernelPCA(),
        MercerExpansion(),
        SVMGBClassifier(),
        PriorRLSRegressor(),
        PriorRLSClassifier(),
        GRLogisticClassifier(Gaussian(1.0)),
        GRRegressor(Gaussian(1.0)),
        OneClassSVMGB(),
        NystromGRLSRegressor(),
        NystromGRLSClassifier(),
        NystromGRRegressor(),
        FourierGRLSRegressor(Gaussian(1.0).on(0), features=Columns(slice(5)), regularization=1e-2, tol=1e-6),
        PolynomialTrend(),
        Columns(),
        Groups(unseen="mean"),
        MutualInformationWords(n_words=2),
        PLSA(3, random_state=0),
        GeodesicKNN(),
        EstimatorFeatures(GaussianNB()),
        Indicators(),
        NormalScores(),
        ConformalRegressor(LinearRegression()),
    ]
)
@pytest.mark.filterwarnings("ignore::grls.InfiniteBandWarning")  # of checks with few rows
@pytest.mark.filterwarnings("ignore:.*rows repeat others")  # some checks give all rows a weight of 3
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        GRRegressor(),
        GRLogisticClassifier(),
        GRLSClassifier(),
        GRLSRegressor(Gaussian().after(StandardScaler()) + Linear().after(abs), regularization=1e-2),
        SVMGBClassifier(Gaussian(1.0), features=PolynomialTrend(0), C="cv", feature_variance="auto"),
        GRRegressor(Gaussian(1.0), loss="quantile", regularization=1e-3),
        GRRegressor(loss="poisson"),
        ConformalRegressor(
            LinearRegression(), kernel=Gaussian(1.0), regularization=1e-2, cv=2, alpha=[0.2, 0.4]
        ),
        GRLSRegressor(Laplace(1.0) + Linear(), features=None, regularization=0.1),
        GRLSRegressor(features=PolynomialTrend(0), precision="double"),
        GRLSClassifier(Gaussian().after(StandardScaler(with_mean=False)) + Linear()),
        GRLSRegressor(features=None, regularization=1e-3, formulation="published"),
        GRLSRegressor(Gaussian(2.0), regularization=1e-3, precision="mixed"),
        GRLSClassifier(Laplace(2.0) * Gaussian(), features=None, regularization=1e-3),
        GRLSClassifier(Gaussian(1.0), class_weight={}),
        KernelPCA(n_components=1, eigen_solver="iterative", random_state=0),
        KernelPCA(1, Laplace(2.0) + Linear(), n_centers=5, fit_inverse_transform=True, random_state=0),
        SVMGBClassifier(Gaussian(1.0), solver="native", tol=1e-10, C=1.0),
        SVMGBClassifier(Laplace(1.0), features=PolynomialTrend(0), feature_variance=1.0, C=1.0),
        SVMGBClassifier(Gaussian(1.0).after(StandardScaler()), C=1.0),
        SVMGBClassifier(C=[0.1, 1.0, 10.0], probability=True),
        OneClassSVMGB(Laplace(1.0), features=PolynomialTrend(0), solver="native", tol=1e-8),
        OneClassSVMGB(Gaussian(1.0).after(StandardScaler()), feature_variance=1.0, nu=0.3),
        KernelPCA(1, Gaussian(1.0).after(StandardScaler())),
        NystromGRLSRegressor(Gaussian(1.0).after(StandardScaler()), regularization=1e-3),
        NystromGRLSClassifier(Gaussian(1.0).on(slice(None)).after(StandardScaler()), regularization=1e-3),
        PriorRLSRegressor(covariance=2.0, features=None, regularization="loo"),
        PriorRLSRegressor(features=None, formulation="published", regularization=1e-3),
        PriorRLSRegressor(solver="cg", regularization=1e-3, tol=1e-10),
        PriorRLSClassifier(regularization="gcv", class_weight={}),
        PriorRLSClassifier(solver="cg", regularization=1e-3, tol=1e-10),
        PriorRLSRegressor(kernel="gaussian", covariance=np.sqrt, regularization=1e-3),
        PriorRLSClassifier(kernel=Laplace(1.0), regularization=1e-3, class_weight={}),
        GRLogisticClassifier(Gaussian(2.0), regularization=1e-2, class_weight={}),
        GRRegressor(Laplace(1.0), loss="epsilon_insensitive", regularization=1e-3, feature_variance=1.0),
        GRRegressor("gaussian", features=None, loss="expectile", quantiles=0.8),
        GRRegressor("gaussian", loss="absolute", regularization="cv", solver="native", tol=1e-8),
        GRLogisticClassifier("linear", regularization=1e-3, feature_variance=1e4),
        GRRegressor(loss="gamma"),
        GRRegressor(Gaussian(2.0), loss="negative_binomial", regularization=1e-2, feature_variance=10.0),
        NystromGRLSRegressor(Laplace(1.0), regularization="holdout", validation_fraction=0.4),
        NystromGRRegressor(Laplace(1.0), loss="gamma", regularization=1e-4, feature_variance=10.0),
        NystromGRRegressor(loss="negative_binomial", dispersion=0.5, n_centers=15, centers="kmeans"),
        NystromGRLSRegressor(Gaussian(2.0), regularization=1e-3, solver="cg", n_centers=100),
        FourierGRLSRegressor(Gaussian().on([0]), features=Columns(slice(5)), regularization=1e-2, tol=1e-6),
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
@pytest.mark.filterwarnings("ignore::grls.InfiniteBandWarning")
@pytest.mark.filterwarnings("ignore:.*rows repeat others")
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


@functools.cache
def fitted():
    points, labels = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return [
        (GRLSRegressor(Gaussian() * Laplace(1.0).on([0]), features="quadratic").fit(X, Y), X),
        (GRLSRegressor(Gaussian().on(["b", "c"]), features=Columns("a")).fit(frame, y), frame),
        (GRLSClassifier(features=StandardScaler()).fit(points, labels), points),
        (NystromGRLSRegressor(Gaussian(), features="linear", n_centers=20).fit(X, Y), X),
        (NystromGRLSClassifier(n_centers=20, regularization="holdout").fit(points, labels), points),
        (NystromGRRegressor(Gaussian(), n_centers=20).fit(X, np.exp(Y / 200)), X),
        (GRLSRegressor("precomputed", features=None).fit(X @ X.T + np.eye(60), y), X @ X.T),
        (
            SVMGBClassifier(Gaussian(), features="linear", feature_variance=1.0, probability=True, C=1.0).fit(
                points, labels
            ),
            points,
        ),
        (GRLogisticClassifier(Gaussian(1.0) + Linear()).fit(points, labels), points),
        (GRRegressor(features="linear").fit(X, y), X),
        (GRRegressor(Gaussian(1.0), loss="gamma").fit(X, np.exp(Y / 200)), X),
        (GRLSRegressor(Gaussian(1.0), noise="learn").fit(X, y), X),
        (GRRegressor(Gaussian(1.0), loss="quantile", quantiles=[0.1, 0.9]).fit(frame, y), frame),
        (PriorRLSRegressor(covariance=[1.0, 2.0, 3.0], features="quadratic").fit(X, Y), X),
        (PriorRLSClassifier(regularization="loo", solver="cg").fit(points, labels), points),
    ]


def test_a_fitted_model_survives_pickle_and_joblib(tmp_path):
    for model, points in fitted():
        expected, parts = model.predict(points), model.decompose(points)[0]
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            copy = pickle.loads(pickle.dumps(model, protocol))
            assert_array_equal(copy.predict(points), expected, repr(model))
        joblib.dump(model, tmp_path / "model.joblib")
        copy = joblib.load(tmp_path / "model.joblib")
        assert_array_equal(copy.predict(points), expected, repr(model))
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        buffer.seek(0)
        assert_array_equal(joblib.load(buffer).decompose(points)[0], parts, repr(model))


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
    ConformalRegressor,
    GRLSRegressor,
    GRLSClassifier,
    GRLogisticClassifier,
    GRRegressor,
    KernelPCA,
    NystromGRLSRegressor,
    NystromGRLSClassifier,
    NystromGRRegressor,
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
    bands = ConformalRegressor(LinearRegression(), cv=5).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    for model in [*(model for model, _ in fitted()), pca, bands]:
        doc = inspect.getdoc(type(model))
        for name in vars(model):
            if name.endswith("_") and not name.startswith("_"):
                assert re.search(rf"^ *(\w+, )*{name}(, \w+)* :", doc, re.MULTILINE), (
                    f"{type(model).__name__}.{name}"
                )


# Documentation and stub.

MODULES = ["grls", *(module.name for module in pkgutil.walk_packages(grls.__path__, "grls."))]


def test_examples_in_the_documentation_are_true():
    failed = []
    for name in MODULES:
        if doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed:
            failed.append(name)
    assert failed == []


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
    """Return from the first line of a docstring that pybind11 wrote the arguments by place, those by keyword
    only, and those with a default.
    """
    inside = doc[doc.index("(") + 1 : doc.rindex(") ->")]
    depth, parts = 0, [""]
    for character in inside:
        depth += (character in "[({<") - (character in "])}>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    arguments = [part.strip() for part in parts if part.strip()]
    optional = [re.match(r"\w+", argument)[0] for argument in arguments if " = " in argument]
    names = [argument if argument == "*" else re.match(r"\w+", argument)[0] for argument in arguments]
    star = names.index("*") if "*" in names else len(names)
    return names[:star], names[star + 1 :], optional


def declared(node):
    """Return the same of a function in the stub."""
    place, keyword = [[a.arg for a in args] for args in (node.args.args, node.args.kwonlyargs)]
    optional = place[len(place) - len(node.args.defaults) :]
    given = zip(keyword, node.args.kw_defaults, strict=True)
    return place, keyword, optional + [name for name, default in given if default is not None]


def stub_of(kind):
    return {node.name: node for node in stub() if isinstance(node, kind)}


def methods(node):
    return {n.name: n for n in node.body if isinstance(n, ast.FunctionDef) and not n.decorator_list}


def is_property(node):
    return isinstance(node, ast.FunctionDef) and bool(node.decorator_list)


CLASSES = stub_of(ast.ClassDef)
RESULTS = [name for name, node in CLASSES.items() if any(map(is_property, node.body))]


@pytest.mark.parametrize("name", stub_of(ast.FunctionDef))
def test_the_stub_of_a_function_has_its_arguments_all_by_keyword(name):
    got = signature(getattr(_core, name).__doc__.splitlines()[0])
    assert got == declared(stub_of(ast.FunctionDef)[name])
    assert got[0] == []


@pytest.mark.parametrize("name", ["Formula", "KernelStore", *RESULTS])
def test_the_stub_of_a_class_has_the_arguments_of_its_methods(name):
    for method, node in methods(CLASSES[name]).items():
        doc = getattr(getattr(_core, name), method).__doc__
        got = signature(doc.splitlines()[0])
        assert got == declared(node)
        assert name == "Formula" or got[0] == ["self"]


def test_results_are_the_classes_with_fields():
    assert set(RESULTS) >= {"Solution", "Path", "Gradient", "SvmSolution", "RidgeSolution", "Topics"}


@pytest.mark.parametrize("name", RESULTS)
def test_the_fields_of_a_result_are_declared_and_documented(name):
    result = getattr(_core, name)
    fields = [node.name for node in CLASSES[name].body if is_property(node)]
    shown = {attribute for attribute in dir(result) if not attribute.startswith("_")}
    assert shown == set(fields) | (set(methods(CLASSES[name])) - {"__init__"})
    assert result.__doc__
    assert all(getattr(result, field).__doc__ for field in fields)


def test_the_stub_of_the_status_has_its_members():
    members = [node.targets[0].id for node in CLASSES["Status"].body if isinstance(node, ast.Assign)]
    assert members == [member.name for member in _core.Status]


def a_solution(**changes):
    fields = {
        "c": np.arange(4.0).reshape(4, 1),
        "beta": np.ones((1, 1)),
        "kept": [0],
        "quadratic": np.ones(1),
        "feature_covariance": np.ones((1, 1)),
        "precision": "double",
    }
    return _core.Solution(**{**fields, **changes})


def test_a_result_made_in_python_has_the_fields_it_was_given():
    c = np.arange(4.0).reshape(4, 1)
    solution = a_solution(c=c, seconds={"factor": 2.0, "basis": 1}, status=_core.Status.stagnated)
    assert_array_equal(solution.c, c)
    assert np.shares_memory(solution.c, c)
    assert list(solution.seconds.items()) == [("factor", 2.0), ("basis", 1.0)]
    assert (solution.kept, solution.iterations) == ([0], 0)
    assert solution.status is _core.Status.stagnated
    assert not solution.converged
    assert a_solution().converged


def test_the_fields_of_a_result_cannot_be_changed_and_outlive_it():
    gram = np.eye(5) + 1.0
    solution = _core.solve(
        formula=None,
        data=gram,
        T=np.ones((5, 1)),
        Y=np.arange(5.0)[:, None],
        weights=None,
        shift=0.5,
        formulation="exact",
        pivots="qr",
        tolerance=1e-12,
    )
    assert solution.c is solution.c  # no copy for each look
    with pytest.raises(ValueError, match="read-only"):
        solution.c[0, 0] = 1.0
    with pytest.raises(AttributeError):
        solution.c = np.ones((5, 1))
    solution.seconds["solve"] = -1.0
    assert solution.seconds["solve"] >= 0
    c = solution.c
    before = c.copy()
    del solution
    assert_array_equal(c, before)


@pytest.mark.parametrize(
    "changes",
    [
        {"c": np.ones(4)},
        {"c": None},
        {"c": "text"},
        {"c": np.ones((4, 1)) * 1j},
        {"c": [[1.0], [2.0, 3.0]]},
        {"kept": "features"},
        {"kept": [0.5]},
        {"quadratic": np.ones((1, 1))},
        {"feature_covariance": np.ones(1)},
        {"precision": 64},
        {"iterations": 2.5},
        {"iterations": 2**70},
        {"seconds": {"solve": "long"}},
        {"seconds": {3: 1.0}},
        {"seconds": [1.0]},
        {"status": "converged"},
        {"status": 7},
        {"surprise": 1},
    ],
)
def test_fields_of_another_kind_are_refused(changes):
    with pytest.raises(TypeError):
        a_solution(**changes)


def test_a_result_takes_its_fields_by_keyword_and_all_of_them():
    with pytest.raises(TypeError):
        _core.CentredGram(np.eye(2), np.zeros(2), 2.0)
    with pytest.raises(TypeError):
        _core.CentredGram(lower=np.eye(2), trace=2.0)


def test_the_version_is_that_of_the_package():
    assert grls.__version__ == importlib.import_module("importlib.metadata").version("grls")
