"""Models as graphs of ONNX say what the models say, and parts that do not convert are named."""

import sys

import grls
import numpy as np
import pandas as pd
import pytest
from catalogue import FORMULAS
from fresh import failures
from grls import (
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    KernelPCA,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    OneClassSVMGB,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
)
from grls._onnx.graph import Graph
from grls._onnx.kernels import KernelValues
from grls.cli.formulas import FUNCTIONS, Formula
from grls.cli.tables import TableColumns
from grls.features import PLSA, Columns, EstimatorFeatures, GeodesicKNN, Groups
from grls.kernels import ArcCosine, Gaussian, Laplace, Linear, Matern, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_regression
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

ort = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")

X, Y = make_regression(60, 3, n_targets=2, noise=1.0, random_state=0)
y = Y[:, 0]
COUNTS = np.random.default_rng(0).poisson(np.exp(X[:, 0] / 2 + 1))
POINTS, LABELS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)[LABELS]
TWO = POINTS[50:], NAMES[50:]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
NEW = X + 0.1 * np.random.default_rng(0).normal(size=X.shape)
NEW_POINTS = POINTS + 0.1 * np.random.default_rng(0).normal(size=POINTS.shape)


def session(proto):
    return ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def run(model, points):
    """Return the outputs by name."""
    proto = grls.to_onnx(model)
    found = session(proto).run(None, {"X": np.asarray(points, dtype=np.float64)})
    for output, values in zip(proto.graph.output, found, strict=True):
        sizes = [size.dim_value for size in output.type.tensor_type.shape.dim]
        assert sizes == [0, *values.shape[1:]]  # of any number of rows
    return dict(zip([output.name for output in proto.graph.output], found, strict=True))


def assert_near(got, expected):
    """Equal at 1e-5, in units of the largest."""
    assert got.shape == expected.shape
    assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


REFUSED = {
    name
    for name in FORMULAS
    if "arc-cosine" in name or name in ("matern 0.3", "matern 1.0", "matern 2.2", "matern 17.0")
}


def values(kernel, A, B):
    graph = Graph(A.shape[1])
    fitted, points = kernel.fit_views(B) if kernel.reads_given else (kernel, B)
    settled = fitted.settled(points)
    from grls._onnx.transformers import viewed

    X = "X" if settled._frame is None else viewed(graph, settled, "X", A.shape[1])
    graph.doubles("K", KernelValues(graph, settled, X, points).matrix(), [None, len(B)])
    (K,) = session(graph.model("", "0")).run(None, {"X": A})
    return K, settled.matrix(settled.view(A), points)


@pytest.mark.parametrize("n_columns", [4, 40])
@pytest.mark.parametrize("name", sorted(set(FORMULAS) - REFUSED))
def test_kernels_have_the_same_values(name, n_columns):
    kernel, _ = FORMULAS[name]
    rng = np.random.default_rng(1)
    A, B = rng.uniform(0.1, 1.5, size=(7, n_columns)), rng.uniform(0.1, 1.5, size=(9, n_columns))
    A[0], A[1, :2] = B[3], B[4, :2]  # distances of zero, labels that are the same
    try:
        got, expected = values(kernel, A, B)
    except ValueError as error:
        pytest.skip(str(error))  # of so many columns there is no such kernel
    assert_allclose(got, expected, rtol=1e-6, atol=1e-7)  # the core's own distances near zero are less exact


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_kernels_without_operations_are_named(name):
    with pytest.raises(
        NotImplementedError, match=r"does not convert to ONNX: (there is no arc|a Matérn kernel of)"
    ):
        values(FORMULAS[name][0], np.ones((2, 4)), np.eye(4))


REGRESSORS = {
    "chosen kernel": lambda: GRLSRegressor().fit(X, y),
    "several outputs": lambda: GRLSRegressor(Gaussian() * Laplace(1.0).on([0]), features="quadratic").fit(
        X, Y
    ),
    "counts": lambda: GRRegressor(Gaussian(1.0), loss="poisson").fit(X, np.round(np.exp(y / 100))),
    "positive values": lambda: GRRegressor(Matern(2.0), loss="gamma").fit(X, np.exp(Y / 100)),
    "no features": lambda: GRLSRegressor(Matern(2.0, 2.5), features=None).fit(X, y),
    "interpolation": lambda: GRLSRegressor(Laplace(2.0), regularization=1e-12).fit(X, y),
    "far from the origin": lambda: GRLSRegressor(Matern(), features="linear").fit(X + 1e6, y),
    "learnt metric": lambda: GRLSRegressor(Gaussian(), optimize="metric").fit(X, y),
    "learnt metric of a view": lambda: GRLSRegressor(
        Gaussian().after(StandardScaler()).on([2, 0]) + Linear().on([1]), optimize="metric"
    ).fit(X, y),
    "thin plate": lambda: GRLSRegressor(ThinPlate(), features="linear").fit(X, y),
    "columns": lambda: GRLSRegressor(Gaussian().on([1, 2]), features=Columns([0])).fit(X, y),
    "columns alone": lambda: GRLSRegressor(Gaussian(), features=Columns([0, 2], constant=False)).fit(X, y),
    "a view": lambda: GRLSRegressor(Gaussian().after(StandardScaler()) + Linear().on([0])).fit(X, y),
    "views of views": lambda: GRLSRegressor(
        2 * Gaussian().after(PCA(2)).after(StandardScaler()).on([0, 2, 1]) * Laplace(3.0).on([1])
    ).fit(X, y),
    "polynomials": lambda: GRLSRegressor(Gaussian(), features=PolynomialFeatures(2)).fit(X, y),
    "a pipeline of features": lambda: GRLSRegressor(
        Gaussian(), features=make_pipeline(MinMaxScaler(), PolynomialFeatures(2))
    ).fit(X, y),
    "a pipeline": lambda: make_pipeline(StandardScaler(), PCA(2), GRLSRegressor(features="linear")).fit(X, y),
    "centres": lambda: NystromGRLSRegressor(Gaussian(), features="linear", n_centers=20).fit(X, Y),
    "quantiles": lambda: GRRegressor(Gaussian(2.0), loss="quantile", quantiles=[0.1, 0.9]).fit(X, y),
    "counts and a line": lambda: GRRegressor(Gaussian(2.0), loss="poisson", features="linear").fit(X, COUNTS),
    "learnt noise": lambda: GRLSRegressor(Gaussian(2.0), noise="learn").fit(X, y),
    "prior": lambda: PriorRLSRegressor(covariance=[1.0, 2.0, 3.0], features="quadratic").fit(X, y),
    "prior on components": lambda: PriorRLSRegressor(kernel="gaussian", regularization="loo").fit(X, y),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_are_those_of_the_model(name):
    model = REGRESSORS[name]()
    points = NEW + 1e6 if name == "far from the origin" else NEW
    got = run(model, points)
    assert list(got) == ["predictions"]
    assert got["predictions"].dtype == np.float64
    assert_near(got["predictions"], model.predict(points))


def test_the_order_of_columns_of_a_frame_is_kept():
    model = GRLSRegressor(Gaussian().on(["b", "c"]), features=Columns("a")).fit(FRAME, y)
    assert_near(run(model, NEW)["predictions"], model.predict(pd.DataFrame(NEW, columns=["a", "b", "c"])))


CLASSIFIERS = {
    "least squares": lambda P, L: GRLSClassifier(features="linear").fit(P, L),
    "logistic": lambda P, L: GRLogisticClassifier(Gaussian(1.0)).fit(P, L),
    "logistic, one versus rest": lambda P, L: GRLogisticClassifier(
        Gaussian(1.0), multi_class="ovr", regularization=1e-2
    ).fit(P, L),
    "margins": lambda P, L: SVMGBClassifier(Gaussian(1.0), C=1.0).fit(P, L),
    "margins of pairs": lambda P, L: SVMGBClassifier(
        Gaussian(1.0), features="linear", feature_variance=1.0, decision_function_shape="ovo", C=1.0
    ).fit(P, L),
    "margins without ties": lambda P, L: SVMGBClassifier(Gaussian(0.1), break_ties=True, C=1.0).fit(P, L),
    "calibrated margins": lambda P, L: SVMGBClassifier(Gaussian(1.0), probability=True, C=1.0).fit(P, L),
    "calibrated margins of pairs": lambda P, L: SVMGBClassifier(
        Gaussian(1.0), probability=True, decision_function_shape="ovo", C=1.0
    ).fit(P, L),
    "margins by folds": lambda P, L: SVMGBClassifier(Gaussian(1.0), probability=True, C="cv").fit(P, L),
    "centres": lambda P, L: NystromGRLSClassifier(n_centers=30).fit(P, L),
    "prior": lambda P, L: PriorRLSClassifier(regularization="loo").fit(P, L),
    "pipeline": lambda P, L: make_pipeline(StandardScaler(), SVMGBClassifier()).fit(P, L),
}


@pytest.mark.parametrize("data", [(POINTS, NAMES), (POINTS, LABELS), TWO], ids=["texts", "numbers", "two"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_values_and_probabilities_are_those_of_the_model(name, data):
    model = CLASSIFIERS[name](*data)
    got = run(model, NEW_POINTS)
    assert_array_equal(got["label"], model.predict(NEW_POINTS))
    assert_near(got["decision_function"], model.decision_function(NEW_POINTS))
    assert ("probabilities" in got) == hasattr(model, "predict_proba")
    if "probabilities" in got:
        assert_near(got["probabilities"], model.predict_proba(NEW_POINTS))


@pytest.mark.parametrize("features", ["constant", "quadratic"])
def test_novelties_are_those_of_the_model(features):
    model = OneClassSVMGB(Gaussian(1.0), features=features, nu=0.3).fit(POINTS)
    got = run(model, NEW_POINTS)
    assert_array_equal(got["label"], model.predict(NEW_POINTS))
    assert_near(got["decision_function"], model.decision_function(NEW_POINTS))


@pytest.mark.parametrize("labels", [[-1.0, 2.0], [False, True], [3, 70], ["no", "yes"]])
def test_labels_keep_their_type(labels):
    model = GRLSClassifier(Gaussian(1.0)).fit(TWO[0], np.array(labels)[np.arange(100) // 50])
    got = run(model, TWO[0])["label"]
    assert_array_equal(got, model.predict(TWO[0]))
    assert got.dtype.kind == {"U": "O"}.get(model.classes_.dtype.kind, model.classes_.dtype.kind)


TWO_ARGUMENTS = ("maximum", "minimum")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_formulas_convert(name):
    text = f"{name}(1.8 + a % 1, b ** 2)" if name in TWO_ARGUMENTS else f"{name}(1.8 + a % 1)"
    model = GRLSRegressor(Gaussian(1.0), features=Formula(f"{text}:c + I((b > 0) - c / 3)")).fit(FRAME, y)
    assert_near(run(model, NEW)["predictions"], model.predict(pd.DataFrame(NEW, columns=["a", "b", "c"])))


def test_models_of_the_command_convert_where_all_columns_are_numbers():
    model = make_pipeline(
        TableColumns(["b", "a"]), GRLSRegressor(Gaussian(1.0), features=Formula("square(a)"))
    )
    model.fit(FRAME, y)
    assert_near(run(model, FRAME[["b", "a"]])["predictions"], model.predict(FRAME))
    table = FRAME.assign(soil=np.resize(["clay", "sand"], 60))
    model = make_pipeline(TableColumns(["a"], {"soil": ["clay", "sand"]}), GRLSRegressor(Gaussian(1.0))).fit(
        table, y
    )
    with pytest.raises(
        NotImplementedError, match="TableColumns does not convert to ONNX: column 'soil' holds text"
    ):
        grls.to_onnx(model)


def double(X):
    return 2 * X


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            lambda: GRLSRegressor(lambda A, B: A @ B.T, regularization=1.0).fit(X, y),
            "Function.* it is no formula",
        ),
        (lambda: GRLSRegressor("precomputed", features=None).fit(X @ X.T, y), "it is no formula"),
        (lambda: GRLSRegressor(ArcCosine(), regularization=1.0).fit(X, y), "ArcCosine.*no arc cosine"),
        (lambda: GRLSRegressor(Matern(1.0, 1.1), regularization=1.0).fit(X, y), "smoothness 1.1"),
        (
            lambda: GRLSRegressor(Gaussian(1.0), features=double).fit(X, y),
            "the features: FunctionTransformer",
        ),
        (
            lambda: GRLSRegressor(Gaussian(1.0).after(double)).fit(X, y),
            "the view of a kernel: FunctionTransformer",
        ),
        (
            lambda: make_pipeline(FunctionTransformer(double), GRLSRegressor(Gaussian(1.0))).fit(X, y),
            "FunctionTransformer",
        ),
        (lambda: GRLSClassifier(Gaussian(1.0), features=GeodesicKNN()).fit(POINTS, NAMES), "GeodesicKNN"),
        (lambda: GRLSClassifier(Gaussian(1.0), features=PLSA(2)).fit(POINTS, NAMES), "PLSA"),
        (
            lambda: GRLSClassifier(Gaussian(1.0), features=EstimatorFeatures(GaussianNB())).fit(
                POINTS, NAMES
            ),
            "EstimatorFeatures",
        ),
        (
            lambda: GRRegressor(
                Gaussian(2.0), loss="quantile", quantiles=[0.1, 0.9], regularization=0.1, non_crossing=True
            ).fit(X, y),
            "non_crossing=True. does not convert",
        ),
        (lambda: KernelPCA().fit(X), "KernelPCA does not convert"),
        (
            lambda: NystromGRLSRegressor(Gaussian(1.0), features=Groups(0), n_centers=5).fit(np.round(X), y),
            r"NystromGRLSRegressor\(features=Groups\(…\)\) does not convert",
        ),
        (
            lambda: LinearRegression().fit(X, y),
            "LinearRegression does not convert to ONNX, as GRLSClassifier",
        ),
    ],
)
def test_what_does_not_convert_is_named(model, said):
    with pytest.raises(NotImplementedError, match=said):
        grls.to_onnx(model())


def test_a_graph_is_written_to_a_path_as_well(tmp_path):
    model = GRLSRegressor(Gaussian(1.0)).fit(X, y)
    for path in (tmp_path / "model.onnx", str(tmp_path / "model.onnx")):
        proto = grls.to_onnx(model, path)
        assert (tmp_path / "model.onnx").read_bytes() == proto.SerializeToString()
    (tmp_path / "other.onnx").write_text("before")
    with pytest.raises(NotImplementedError):
        grls.to_onnx(KernelPCA(2).fit(X), tmp_path / "other.onnx")
    assert (tmp_path / "other.onnx").read_text() == "before"
    with pytest.raises(FileNotFoundError, match="no such folder"):
        grls.to_onnx(model, tmp_path / "nowhere" / "model.onnx")


def test_a_new_process_loads_a_model_and_writes_its_graph(tmp_path):
    model = make_pipeline(StandardScaler(), GRLSClassifier(Gaussian(1.0), features="linear"))
    grls.save(model.fit(POINTS, NAMES), tmp_path / "model.grls")
    program = f"import grls; grls.to_onnx(grls.load({str(tmp_path / 'model.grls')!r}), "
    assert failures({"graph": program + f"{str(tmp_path / 'model.onnx')!r})"}) == {}
    written = ort.InferenceSession((tmp_path / "model.onnx").read_bytes(), providers=["CPUExecutionProvider"])
    assert_array_equal(written.run(["label"], {"X": NEW_POINTS})[0], model.predict(NEW_POINTS))


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        grls.to_onnx(GRLSRegressor())


@pytest.mark.parametrize(
    "transformer", [SplineTransformer(include_bias=False), KBinsDiscretizer(3, encode="ordinal")]
)
def test_transformers_convert_or_are_named(transformer):
    model = GRLSRegressor(Gaussian(1.0), features=transformer, feature_variance=10.0).fit(X, y)
    try:
        got = run(model, X)["predictions"]
    except NotImplementedError as error:
        assert "the features" in str(error)  # noqa: PT017
    else:
        assert_near(got, model.predict(X))


def test_without_onnx_it_is_said_what_to_install(monkeypatch):
    model = GRLSRegressor(Gaussian(1.0)).fit(X, y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "grls\[onnx\]"'):
        grls.to_onnx(model)
