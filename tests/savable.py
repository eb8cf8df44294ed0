"""One fitted model of every kind that can be saved, with rows to ask it about."""

import functools
import warnings

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
    LowRankCovariance,
    MercerExpansion,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    NystromGRRegressor,
    OneClassSVMGB,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
    TransferPrior,
)
from grls.cli.formulas import Formula
from grls.cli.tables import TableColumns
from grls.conformal import ConformalRegressor
from grls.datasets import MutualInformationWords
from grls.features import (
    PLSA,
    Columns,
    EstimatorFeatures,
    GeodesicKNN,
    Groups,
    Indicators,
    LinearMap,
    NormalScores,
    PolynomialTrend,
)
from grls.kernels import (
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Precomputed,
)
from scipy import sparse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import VotingRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

X, Y = make_regression(60, 3, n_targets=2, noise=1.0, random_state=0)
y = Y[:, 0]
CODED = np.column_stack([np.arange(60) % 4, X])
POINTS, LABELS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)[LABELS]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
MIXED = FRAME.assign(soil=pd.Series(np.where(X[:, 0] > 0, "clay", "sand")))
DOCUMENTS = ["the ball is round", "a round goal", "two teams, one ball", "oil for the car", "my old car"] * 4
TOPICS = ["sport", "sport", "sport", "cars", "cars"] * 4


def tasks():
    rng = np.random.default_rng(0)
    return [(X, X @ rng.normal(size=3)) for _ in range(4)]


def pairs(X):
    return X @ X.T + np.eye(len(X))


MODELS = {
    "kernel chosen": lambda: (GRLSRegressor().fit(X, y), X),
    "several outputs": lambda: (
        GRLSRegressor(Gaussian() * Laplace(1.0).on([0]), features="quadratic").fit(X, Y),
        X,
    ),
    "learnt metric": lambda: (GRLSRegressor(Gaussian(), optimize="metric").fit(X, y), X),
    "learnt metric of a view": lambda: (
        GRLSRegressor(Gaussian().after(StandardScaler()).on([1, 0]), optimize="metric").fit(X, y),
        X,
    ),
    "optimised": lambda: (
        GRLSRegressor(
            Gaussian(1.0) + 2 * Matern(1.0), optimize=["k1__sigma"], regularization="reml", keep_factor=True
        ).fit(X, y),
        X,
    ),
    "grid of widths": lambda: (GRLSRegressor(Gaussian(), optimize={"sigma": [0.5, 5.0]}).fit(X, y), X),
    "groups": lambda: (
        GRLSRegressor(Gaussian(), regularization="logo").fit(X, y, groups=np.arange(60) % 5),
        X,
    ),
    "known noise": lambda: (
        GRLSRegressor(Gaussian(), kernel_variance=2.0).fit(X, y, noise=np.full(60, 0.1)),
        X,
    ),
    "learnt noise": lambda: (GRLSRegressor(Gaussian(2.0), noise="learn").fit(X, y), X),
    "quantiles": lambda: (
        GRRegressor(Gaussian(2.0), loss="quantile", quantiles=[0.1, 0.9], regularization=0.1).fit(X, y),
        X,
    ),
    "counts": lambda: (GRRegressor(Gaussian(2.0), loss="negative_binomial").fit(X, np.abs(y) // 10), X),
    "conjugate gradients": lambda: (GRLSRegressor(Gaussian(), solver="cg", regularization=0.1).fit(X, y), X),
    "precomputed": lambda: (GRLSRegressor(Precomputed(), features=None).fit(pairs(X), y), pairs(X)),
    "sparse": lambda: (
        GRLSRegressor(Linear(), regularization=0.1).fit(sparse.csr_matrix(X), y),
        sparse.csr_matrix(X),
    ),
    "drift of a column": lambda: (
        GRLSRegressor(Gaussian().on(["b", "c"]), features=Columns("a")).fit(FRAME, y),
        FRAME,
    ),
    "views of columns": lambda: (
        GRLSRegressor(Gaussian().after(StandardScaler()).on(["b", "c"]) + Linear().after(np.eye(3))).fit(
            FRAME, y
        ),
        FRAME,
    ),
    "columns by type": lambda: (
        GRLSRegressor(
            Gaussian().after(StandardScaler()).on(make_column_selector(dtype_include="number"))
            * Gaussian(1.0).after(OneHotEncoder()).on(["soil"]),
        ).fit(MIXED, y),
        MIXED,
    ),
    "text": lambda: (
        GRLSClassifier(
            Linear().after(TfidfVectorizer()),
            features=make_pipeline(CountVectorizer(), PLSA(2, random_state=0)),
        ).fit(DOCUMENTS, TOPICS),
        DOCUMENTS,
    ),
    "splines": lambda: (
        GRLSRegressor(Gaussian(1.0), features=SplineTransformer(degree=2, include_bias=False)).fit(X, y),
        X,
    ),
    "ufunc": lambda: (GRLSRegressor(Gaussian(1.0), features=np.square).fit(X, y), X),
    "classes": lambda: (GRLSClassifier().fit(POINTS, NAMES), POINTS),
    "answers": lambda: (
        GRLSClassifier(Gaussian(1.0), features=EstimatorFeatures(GaussianNB())).fit(POINTS, LABELS),
        POINTS,
    ),
    "conformal": lambda: (
        ConformalRegressor(
            GRLSRegressor(Gaussian(2.0), regularization=0.1),
            features=Indicators([0]),
            alpha=0.3,
            random_state=0,
        ).fit(np.sign(X), y),
        np.sign(X),
    ),
    "neighbours": lambda: (GRLSClassifier(Gaussian(1.0), features=GeodesicKNN(3)).fit(POINTS, NAMES), POINTS),
    "margins": lambda: (SVMGBClassifier().fit(POINTS, NAMES), POINTS),
    "calibrated margins": lambda: (
        SVMGBClassifier(Gaussian(1.0), features="linear", feature_variance=1.0, probability=True, C=1.0).fit(
            POINTS, LABELS
        ),
        POINTS,
    ),
    "margins chosen": lambda: (SVMGBClassifier(Gaussian(1.0), C="cv").fit(POINTS, NAMES), POINTS),
    "novelties": lambda: (OneClassSVMGB(features="linear").fit(POINTS), POINTS),
    "logistic": lambda: (GRLogisticClassifier().fit(POINTS, NAMES), POINTS),
    "logistic, one versus rest": lambda: (
        GRLogisticClassifier(Gaussian(1.0), multi_class="ovr", regularization=0.1).fit(POINTS, LABELS),
        POINTS,
    ),
    "poisson": lambda: (GRRegressor(Gaussian(1.0), loss="poisson").fit(X, np.round(np.exp(y / 100))), X),
    "prior": lambda: (PriorRLSRegressor(covariance=[1.0, 2.0, 3.0], features="quadratic").fit(X, Y), X),
    "low rank prior": lambda: (
        PriorRLSRegressor(covariance=LowRankCovariance(np.ones(3), np.ones((3, 1)))).fit(X, y),
        X,
    ),
    "prior of tasks": lambda: (
        PriorRLSRegressor(covariance=TransferPrior().fit(tasks()), regularization="loo").fit(X, y),
        X,
    ),
    "prior of components": lambda: (PriorRLSClassifier(kernel="gaussian").fit(POINTS, NAMES), POINTS),
    "modes": lambda: (FourierGRLSRegressor(Gaussian(1.0).on(0), features="linear").fit(X, Y), X),
    "modes in parts": lambda: (
        FourierGRLSRegressor(Gaussian(1.0).on(0), regularization="holdout").partial_fit(X, y),
        X,
    ),
    "centres": lambda: (NystromGRLSRegressor(n_centers=20).fit(X, Y), X),
    "centres of classes": lambda: (
        NystromGRLSClassifier(n_centers=20, regularization="holdout").fit(POINTS, NAMES),
        POINTS,
    ),
    "counts on centres": lambda: (
        NystromGRRegressor(Gaussian(1.0), features="linear", n_centers=20).fit(X, np.round(np.exp(Y / 100))),
        X,
    ),
    "blocks": lambda: (
        NystromGRLSRegressor(Gaussian(1.0), n_centers=20, regularization=0.1).partial_fit(X[:40], y[:40]),
        X,
    ),
    "groups on centres": lambda: (
        NystromGRLSRegressor(Gaussian(1.0), features=Groups(0, beside=Columns([1])), n_centers=20).fit(
            CODED, y
        ),
        CODED,
    ),
    "levels": lambda: (GRLSRegressor(Gaussian(1.0), features=Groups(0)).fit(CODED, y), CODED),
    "components": lambda: (KernelPCA(2, fit_inverse_transform=True).fit(X), X),
    "eigenfunctions": lambda: (MercerExpansion(3).fit(X), X),
    "pipeline": lambda: (make_pipeline(StandardScaler(), GRLSRegressor(Gaussian(1.0))).fit(X, y), X),
    "table": lambda: (
        make_pipeline(
            make_column_transformer((OneHotEncoder(), ["soil"]), remainder="passthrough"),
            GRLSRegressor(Gaussian(1.0)),
        ).fit(MIXED, y),
        MIXED,
    ),
    "formula of a table": lambda: (
        make_pipeline(
            TableColumns(["a", "b"], {"soil": ["clay", "sand"]}),
            GRLSRegressor(Gaussian(1.0).on(["a"]), features=Formula("b")),
        ).fit(MIXED, y),
        MIXED,
    ),
    "search": lambda: (
        GridSearchCV(GRLSRegressor(Gaussian(1.0)), {"kernel__sigma": [1.0, 2.0]}, cv=2).fit(X, y),
        X,
    ),
    "search of columns filled in, by an error": lambda: (
        GridSearchCV(
            make_pipeline(SimpleImputer(), SelectKBest(f_regression, k=2), GRLSRegressor(Gaussian(1.0))),
            {"selectkbest__k": [1, 2]},
            cv=ShuffleSplit(2, random_state=0),
            scoring="neg_mean_absolute_error",
        ).fit(X, y),
        X,
    ),
    "vote": lambda: (VotingRegressor([("one", GRLSRegressor(Gaussian(1.0)))]).fit(X, y), X),
    "trend": lambda: (PolynomialTrend(2).fit(X), X),
    "linear map": lambda: (LinearMap(np.ones((3, 2))).fit(X), X),
    "scores": lambda: (NormalScores([0]).fit(X), X),
    "words": lambda: (MutualInformationWords(n_words=2).fit(np.abs(POINTS), LABELS), np.abs(POINTS)),
    "on Dask": lambda: (pytest.importorskip("grls.dask").NystromGRLSRegressor(n_centers=20).fit(X, y), X),
}


@functools.cache
def fitted(name):
    return MODELS[name]()


def answers(model, points):
    """All that a model says of points."""
    said = {}
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            said[method] = getattr(model, method)(points)
    if isinstance(model, GRLSRegressor) and not isinstance(model.kernel, Precomputed):
        with warnings.catch_warnings():  # some of them interpolate
            warnings.filterwarnings("ignore", "rounding may move a standard deviation")
            said["std"] = model.predict(points, return_std=True)[1]
    return said
