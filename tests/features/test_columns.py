"""Columns as features: of sparse data, of frames with text, chosen in every way."""

import numpy as np
import pandas as pd
import pytest
from builders import regressor
from grls.features import Columns
from grls.kernels import Gaussian, Linear
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import make_column_selector
from sklearn.feature_extraction.text import TfidfVectorizer

X = np.random.default_rng(0).normal(size=(12, 4)) * (np.random.default_rng(1).uniform(size=(12, 4)) > 0.4)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(text=["some words", "more words", "few"] * 4)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_columns_of_sparse_data_are_dense_features(form):
    features = Columns([2, 0]).fit(form(X))
    assert_array_equal(features.transform(form(X)), np.column_stack([np.ones(12), X[:, [2, 0]]]))
    assert_array_equal(Columns(1, constant=False).fit_transform(form(X)), X[:, [1]])
    y = X[:, 2] + np.sin(X[:, 1])
    dense = regressor(Gaussian(1.0), features=Columns([2]), regularization=1e-2).fit(X, y)
    model = regressor(Gaussian(1.0), features=Columns([2]), regularization=1e-2).fit(form(X), y)
    assert_allclose(model.predict(form(X)), dense.predict(X), rtol=1e-8)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (slice(1, 3), ["b", "c"]),
        (slice("b", "c"), ["b", "c"]),
        ([True, False, False, True, False], ["a", "d"]),
        (make_column_selector(dtype_include="number"), list("abcd")),
        (lambda F: ["d"], ["d"]),
    ],
    ids=["slice", "names", "mask", "selector", "function"],
)
def test_columns_beside_text_are_chosen_in_every_way(columns, expected):
    features = Columns(columns, constant=False).fit(FRAME)
    assert_array_equal(features.transform(FRAME), FRAME[expected])
    assert list(features.get_feature_names_out()) == expected


def test_columns_of_text_are_no_features():
    with pytest.raises(ValueError, match="could not convert string"):
        Columns(["a", "text"]).fit(FRAME)
    gap = FRAME.assign(a=np.nan)
    with pytest.raises(ValueError, match=r"Columns\(columns\) contains NaN"):
        Columns("a").fit(gap)
    assert_array_equal(Columns("b", constant=False).fit_transform(gap), FRAME[["b"]])


def test_a_drift_stands_beside_a_kernel_of_text():
    kernel = Linear().after(TfidfVectorizer()).on("text")
    y = 3 * X[:, 0] + np.tile([1.0, 2.0, 3.0], 4)
    model = regressor(kernel, features=Columns("a"), regularization=1e-6).fit(FRAME, y)
    assert_allclose(model.feature_coef_[1], 3.0, rtol=1e-3)
    assert_allclose(model.predict(FRAME), y, atol=1e-2)
