"""What counts as names, as blocks and as rows in memory."""

import numpy as np
import pandas as pd
import pytest
from grls import FourierGRLSRegressor, NystromGRLSClassifier, NystromGRLSRegressor, NystromGRRegressor
from grls._nystrom import streams
from grls.features import Columns
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.preprocessing import SplineTransformer

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(30, 2)), columns=["a", "b"])
LABELS = ["p" if value > 0 else "n" for value in FRAME.a]


def classifier():
    return NystromGRLSClassifier(Gaussian(1.0), n_centers=10, regularization=0.1)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_list_of_words_beside_a_frame_is_one_of_labels(method):
    expected = classifier().fit(FRAME, np.array(LABELS)).decision_function(FRAME)
    assert_allclose(getattr(classifier(), method)(FRAME, LABELS).decision_function(FRAME), expected)
    weighted = FRAME.assign(w=1.0)
    found = getattr(classifier(), method)(weighted, LABELS, sample_weight="w")
    assert_allclose(found.decision_function(FRAME), expected)


def test_a_list_of_columns_is_one_of_names():
    frame = FRAME.assign(y=FRAME.a + FRAME.b, z=FRAME.a - FRAME.b)
    model = NystromGRLSRegressor(Gaussian(1.0), n_centers=10, regularization=0.1)
    expected = model.fit(FRAME, frame[["y", "z"]]).predict(FRAME)
    assert_allclose(model.fit(frame, ["y", "z"]).predict(FRAME), expected)
    assert streams.by_name(frame[:2], ["y", "z"], None)[1].shape == (2, 2)  # as many rows as names
    with pytest.raises(ValueError, match="no column 'x'"):
        model.fit(frame, ["y", "x"])


@pytest.mark.parametrize("n_columns", [2, 3])
def test_rows_that_are_tuples_of_numbers_are_no_blocks(n_columns):
    X = RNG.normal(size=(30, n_columns))
    rows = [tuple(row) for row in X]
    assert isinstance(rows[0][0], np.float64)
    expected = classifier().fit(X, LABELS).decision_function(X)
    assert_allclose(classifier().fit(rows, LABELS).decision_function(X), expected)


def mapped(values, folder):
    out = np.memmap(folder / "rows", dtype=values.dtype, mode="w+", shape=values.shape)
    out[:] = values
    out.flush()
    return np.memmap(folder / "rows", dtype=values.dtype, mode="r", shape=values.shape)


def splines():
    return SplineTransformer(6, knots="quantile", include_bias=False)


@pytest.mark.parametrize(
    "model",
    [
        NystromGRLSRegressor(Gaussian(3.0), features=splines(), n_centers=30, regularization=0.1),
        NystromGRLSRegressor(Gaussian(3.0), features=splines(), n_centers=30, regularization="holdout"),
        NystromGRRegressor(Gaussian(3.0), features=Columns([0]), n_centers=30, regularization=0.1),
        FourierGRLSRegressor(Gaussian(3.0).on(0), features=splines(), regularization=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_memory_mapped_array_that_fits_gives_what_the_array_gives(model, tmp_path, monkeypatch):
    if isinstance(model, FourierGRLSRegressor):
        pytest.importorskip("finufft")
    X = RNG.normal(size=(2500, 2))
    y = np.exp(np.sin(X[:, 0]))
    expected = model.fit(X, y).predict(X)
    assert_array_equal(model.fit(mapped(X, tmp_path), y).predict(X), expected)
    monkeypatch.setattr(streams.memory, "available", lambda: 1 << 20)
    assert streams.as_stream(mapped(X, tmp_path), y, None) is not None
    monkeypatch.setattr(streams.memory, "available", lambda: None)
    assert streams.as_stream(mapped(X, tmp_path), y, None) is None


def test_a_large_memory_mapped_array_comes_in_blocks(tmp_path, monkeypatch):
    X, weights = RNG.normal(size=(500, 2)), RNG.uniform(0.5, 2.0, 500)
    y = np.sin(X[:, 0])
    model = NystromGRLSRegressor(Gaussian(1.0), n_centers=30, regularization=0.1)
    expected = model.fit(X, y, weights).predict(X)
    monkeypatch.setattr(streams, "_TIMES", 1 << 60)
    monkeypatch.setattr(streams, "_BLOCK_BYTES", 1600)
    stream = streams.as_stream(mapped(X, tmp_path), y, weights)
    assert [len(rows) for rows, *_ in stream] == [100] * 5
    assert_allclose(model.fit(mapped(X, tmp_path), y, weights).predict(X), expected, rtol=1e-7)
    with pytest.raises(ValueError, match="sample_weight has shape"):
        model.fit(mapped(X, tmp_path), y, weights[1:])


def test_workers_of_joblib_give_what_the_array_gives():
    X = RNG.normal(size=(30_000, 6))
    Y = np.column_stack([X[:, 0] ** 2, np.sin(X[:, 1])]) + RNG.normal(size=(30_000, 2))
    model = NystromGRLSRegressor(Gaussian(3.0), features=splines(), n_centers=60, regularization=0.1)
    one, two = (MultiOutputRegressor(model, n_jobs=n).fit(X, Y).predict(X[:100]) for n in (1, 2))
    assert_allclose(two, one, rtol=1e-9)
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    balanced = NystromGRLSClassifier(Gaussian(3.0), n_centers=20, regularization=0.1, class_weight="balanced")
    one, two = (
        OneVsRestClassifier(balanced, n_jobs=n).fit(X, labels).decision_function(X[:100]) for n in (1, 2)
    )
    assert_allclose(two, one, rtol=1e-9, atol=1e-9)


def test_a_block_may_lack_the_class_that_has_a_weight():
    X = RNG.normal(size=(90, 2))
    y = np.sort(np.array(["a", "b", "c"])[np.arange(90) % 3])
    y[[0, 29]] = "b", "c"
    model = NystromGRLSClassifier(Gaussian(1.0), centers=X[::3], regularization=0.1, class_weight={"a": 5.0})
    whole = model.fit(X, y).decision_function(X)
    blocks = clone(model)
    for rows in (slice(0, 30), slice(30, 90)):
        blocks.partial_fit(X[rows], y[rows])
    assert_allclose(blocks.decision_function(X), whole, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("features", ["constant", "linear"])
def test_frames_of_sparse_columns_are_taken(features):
    matrix = sparse.random(40, 3, 0.5, format="csr", random_state=0)
    frame = pd.DataFrame.sparse.from_spmatrix(matrix, columns=list("abc"))
    y = np.arange(40.0)
    model = NystromGRLSRegressor(Gaussian(1.0), features=features, n_centers=20, regularization=0.1)
    expected = model.fit(matrix, y).predict(matrix)
    assert_allclose(model.fit(frame, y).predict(frame), expected, rtol=1e-6)
    assert_array_equal(model.feature_names_in_, list("abc"))
    halves = [(frame[:25], y[:25]), (frame[25:], y[25:])]
    assert_allclose(model.fit(halves).predict(frame), expected, rtol=1e-6)
    named = NystromGRLSRegressor(
        Gaussian(1.0).on(["a", "b"]), features=Columns(["c"]), n_centers=20, regularization=0.1
    )
    assert np.isfinite(named.fit(frame, y).predict(frame)).all()
