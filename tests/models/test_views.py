"""Every model on views of the input: the same as transforming first, from documents and frames as well."""

import pickle
import subprocess
import sys

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
    SVMGBClassifier,
)
from grls.features import PLSA
from grls.kernels import Cosine, Gaussian, Laplace, Linear
from numpy.testing import assert_allclose, assert_array_equal
from repository import ROOT
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]

RNG = np.random.default_rng(0)
UNITS = np.array([1.0, 30.0, 0.01])
X = RNG.normal(size=(90, 3)) * UNITS + 1.0
VALUES = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 3.0 + 0.1 * RNG.normal(size=90)
LABELS = np.where(np.median(VALUES) < VALUES, "high", "low")
NEW = RNG.normal(size=(20, 3)) * UNITS + 1.0
SCALED = StandardScaler().fit(X)
S, S_NEW = SCALED.transform(X), SCALED.transform(NEW)
VIEW = Gaussian(1.5).after(StandardScaler())

WORDS = {
    "pets": ["cat", "dog", "fur", "paw", "purr", "bone"],
    "sky": ["star", "moon", "orbit", "light", "dust", "sun"],
}
TOPICS = np.array(["pets", "sky"])[RNG.integers(2, size=60)]
DOCUMENTS = [
    " ".join([*RNG.choice(WORDS[topic], 6), *RNG.choice(["the", "a", "with"], 3)]) for topic in TOPICS
]


def values_of(model, points):
    for method in ("decision_function", "transform", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(points)
    raise TypeError(model)


MODELS = [
    (GRLSRegressor(regularization=1e-2, features="linear"), VALUES),
    (GRLSRegressor(regularization=1e-2, solver="cg", tol=1e-12), VALUES),
    (GRLSClassifier(regularization="loo"), LABELS),
    (GRLSRegressor(regularization=1e-2, formulation="published"), VALUES),
    (SVMGBClassifier(C=1.0), LABELS),
    (SVMGBClassifier(feature_variance=1.0, features="linear", C=1.0), LABELS),
    (GRLogisticClassifier(regularization=1e-2), LABELS),
    (NystromGRLSRegressor(regularization=1e-2), VALUES),
    (NystromGRLSRegressor(regularization=1e-2, feature_variance=1.0, features="linear"), VALUES),
    (NystromGRLSRegressor(regularization=1e-2, solver="cg", tol=1e-12), VALUES),
    (NystromGRLSRegressor(regularization=1e-2, centers="leverage", n_centers=90), VALUES),
    (NystromGRLSClassifier(regularization="gcv"), LABELS),
    (KernelPCA(3), None),
]


@pytest.mark.parametrize(
    ("model", "y"), MODELS, ids=lambda value: repr(value) if hasattr(value, "fit") else ""
)
@pytest.mark.parametrize("kernel", [VIEW, VIEW + 0.1 * Laplace(1.0).on([0])], ids=["alone", "beside others"])
def test_every_model_takes_a_view(model, y, kernel):
    def by_hand(A, B):
        views = Gaussian(1.5)(SCALED.transform(A), SCALED.transform(B))
        return views if kernel is VIEW else views + 0.1 * Laplace(1.0)(A[:, [0]], B[:, [0]])

    viewed = clone(model).set_params(kernel=kernel).fit(X, y)
    function = Gaussian(1.5).on([0, 1, 2]) + 0.1 * Laplace(1.0).on([3])
    first, first_new = np.hstack([S, X[:, :1]]), np.hstack([S_NEW, NEW[:, :1]])
    if kernel is VIEW:
        function, first, first_new = Gaussian(1.5), S, S_NEW
    features = (
        {}
        if y is None or model.features != "linear"
        else {"features": lambda A: np.c_[np.ones(len(A)), A[:, :3]]}
    )
    peer = clone(model).set_params(kernel=function, **features).fit(first, y)
    expected = values_of(peer, first_new)
    assert_allclose(values_of(viewed, NEW), expected, atol=2e-6 * np.abs(expected).max())
    assert_allclose(viewed.kernel_(NEW, X), by_hand(NEW, X), atol=1e-10)
    assert_array_equal(values_of(pickle.loads(pickle.dumps(viewed)), NEW), values_of(viewed, NEW))


@pytest.mark.parametrize(
    "model",
    [
        GRLSClassifier(),
        SVMGBClassifier(feature_variance=1.0, C=1.0),
        GRLogisticClassifier(feature_variance=1.0),
        NystromGRLSClassifier(n_centers=30),
        NystromGRLSClassifier(n_centers=20, centers="leverage"),
        NystromGRLSClassifier(centers=DOCUMENTS[:25]),
    ],
    ids=repr,
)
def test_every_classifier_reads_documents(model):
    topics = make_pipeline(CountVectorizer(), PLSA(2, random_state=0))
    text = clone(model).set_params(kernel=Linear().after(TfidfVectorizer()), features=topics)
    assert cross_val_score(text, DOCUMENTS, TOPICS, cv=3).mean() > 0.9
    fitted = text.fit(pd.Series(DOCUMENTS), TOPICS)
    assert sparse.issparse(fitted.X_fit_)
    assert fitted.feature_names_free_ == ["topic0", "topic1"]


def test_probabilities_are_those_of_documents():
    model = SVMGBClassifier(Cosine().after(TfidfVectorizer()), probability=True, C=1.0).fit(DOCUMENTS, TOPICS)
    assert_allclose(model.predict_proba(DOCUMENTS[:5]).sum(axis=1), 1)


def test_components_of_documents():
    model = KernelPCA(1, Cosine().after(TfidfVectorizer()))
    first = model.fit_transform(DOCUMENTS)[:, 0]
    assert abs(np.corrcoef(first, TOPICS == "sky")[0, 1]) > 0.9
    assert_allclose(model.transform(DOCUMENTS)[:, 0], first, atol=1e-8)
    with pytest.raises(ValueError, match="no pre-image"):
        model.set_params(fit_inverse_transform=True).fit(DOCUMENTS)


@pytest.mark.parametrize("n_centers", [None, 60])
def test_the_way_back_from_components_of_a_view_leads_to_the_rows(n_centers):
    model = KernelPCA(10, VIEW, fit_inverse_transform=True, n_centers=n_centers, alpha=1e-6, random_state=0)
    with pytest.raises(ValueError, match="set inverse_kernel"):
        model.fit(X)
    back = model.set_params(inverse_kernel=Gaussian()).fit(X).inverse_transform(model.transform(X))
    assert np.corrcoef(back[:, 1], X[:, 1])[0, 1] > 0.95


# Blocks of rows.


def blocks(rows, y, n=30):
    return [(rows[start : start + n], y[start : start + n]) for start in range(0, len(y), n)]


def test_a_view_of_blocks_is_fitted_to_the_sample_that_centres_come_from():
    whole = NystromGRLSRegressor(VIEW, regularization=1e-2).fit(X, VALUES)
    streamed = NystromGRLSRegressor(VIEW, regularization=1e-2).fit(blocks(X, VALUES))
    assert_allclose(streamed.kernel_.transformer.mean_, SCALED.mean_)  # all rows are in the sample
    assert_allclose(streamed.predict(NEW), whole.predict(NEW), rtol=1e-6)
    once = NystromGRLSRegressor(VIEW, regularization=1e-2).fit(iter(blocks(X, VALUES)))
    assert_allclose(once.kernel_.transformer.mean_, X[:30].mean(axis=0))
    parts = NystromGRLSRegressor(VIEW, regularization=1e-2)
    for rows, y in blocks(X, VALUES):
        parts.partial_fit(rows, y)
    assert_allclose(parts.predict(NEW), once.predict(NEW), rtol=1e-6)


def test_blocks_of_documents_and_of_frames():
    kernel = Linear().after(TfidfVectorizer())
    streamed = NystromGRLSClassifier(kernel, regularization=1e-2).fit(
        blocks(np.array(DOCUMENTS, object), TOPICS, 20)
    )
    whole = NystromGRLSClassifier(kernel, regularization=1e-2).fit(DOCUMENTS, TOPICS)
    assert_allclose(streamed.decision_function(DOCUMENTS), whole.decision_function(DOCUMENTS), rtol=1e-5)
    F = pd.DataFrame({"text": DOCUMENTS, "x": X[:60, 0], "topic": TOPICS})
    mixed = kernel.on("text") + Gaussian(1.0).on(["x"])
    by_name = NystromGRLSClassifier(mixed, regularization=1e-2).fit([F[:20], F[20:45], F[45:]], "topic")
    in_memory = NystromGRLSClassifier(mixed, regularization=1e-2).fit(F[["text", "x"]], TOPICS)
    assert_allclose(
        by_name.decision_function(F[["text", "x"]]), in_memory.decision_function(F[["text", "x"]]), rtol=1e-5
    )


def test_centres_are_given_as_rows_and_not_as_views():
    model = NystromGRLSRegressor(VIEW, regularization=1e-2, centers=X[:40]).fit(X, VALUES)
    assert_allclose(np.sort(model.X_fit_[:, 0]), np.sort(SCALED.transform(X[:40])[:, 0]))
    means = NystromGRLSRegressor(VIEW, regularization=1e-2, centers="kmeans", n_centers=20).fit(X, VALUES)
    assert means.X_fit_.shape == (20, 3)
    of_texts = NystromGRLSClassifier(Linear().after(TfidfVectorizer()), centers="kmeans", n_centers=20)
    assert of_texts.fit(DOCUMENTS, TOPICS).score(DOCUMENTS, TOPICS) > 0.9


def test_models_of_a_frozen_view_are_merged():
    kernel = Gaussian(1.5).after(FrozenEstimator(SCALED))
    parts = [
        NystromGRLSRegressor(kernel, regularization=1e-2, centers=X[:40]).partial_fit(rows, y)
        for rows, y in blocks(X, VALUES, 45)
    ]
    merged = parts[0].merge(parts[1])
    whole = NystromGRLSRegressor(kernel, regularization=1e-2, centers=X[:40]).fit(X, VALUES)
    assert_allclose(merged.predict(NEW), whole.predict(NEW), rtol=1e-6)


def test_dask_collections_are_viewed():
    da = pytest.importorskip("dask.array")
    from grls.dask import NystromGRLSRegressor as OnDask

    rows, y = da.from_array(X, chunks=(30, 3)), da.from_array(VALUES, chunks=30)
    model = OnDask(VIEW, regularization=1e-2).fit(rows, y)
    whole = NystromGRLSRegressor(VIEW, regularization=1e-2).fit(X, VALUES)
    assert_allclose(
        model.predict(da.from_array(NEW, chunks=(10, 3))).compute(), whole.predict(NEW), rtol=1e-6
    )


def test_classes_of_towns_are_viewed_as_indicators():
    towns = np.array(["bonn", "rome", "oslo"])[RNG.integers(3, size=(90, 2))]
    model = SVMGBClassifier(Gaussian(1.0).after(OneHotEncoder()), C=1.0).fit(towns, towns[:, 0])
    assert_array_equal(model.predict(towns), towns[:, 0])


@pytest.mark.slow
def test_the_example_runs():
    example = ROOT / "examples" / "documents.py"
    if not example.exists():
        pytest.skip("the examples are not part of this distribution")
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "tf-idf and free topics: 100.0% of 800 documents right" in done.stdout
