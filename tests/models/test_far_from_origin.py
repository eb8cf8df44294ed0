"""Kernels of inner products on data far from the origin."""

import warnings

import numpy as np
import pytest
from grls import (
    GRLogisticClassifier,
    GRLSRegressor,
    KernelPCA,
    NystromGRLSRegressor,
    SVMGBClassifier,
)
from grls._solvers.origin import distance_of, moments
from grls.exceptions import PrecisionWarning
from grls.kernels import Cosine, Gaussian, Linear, Polynomial
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import Ridge

OFFSETS = [1e4, 1e6, 1e8]


def data(offset, m=120, d=3):
    random = np.random.default_rng(7)
    # Moved by a number with few digits, so that the spread itself is the same to the last bit.
    X = np.round(random.standard_normal((m, d)) * 2**20) / 2**20
    return X, X + offset, X @ [1.0, -2.0, 0.5] + 0.1 * random.standard_normal(m)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_kernel_beside_a_constant_is_ridge_regression_at_any_offset(offset, weighted):
    X, far, y = data(offset)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    total = len(y) if weights is None else weights.sum()
    model = GRLSRegressor(Linear(), regularization=1e-2).fit(far, y, weights)
    peer = Ridge(alpha=1e-2 * total).fit(X, y, weights)
    assert_allclose(model.predict(far), peer.predict(X), atol=1e-9 * y.std())
    assert_allclose(model.predict(far[:2]), peer.predict(X[:2]), atol=1e-9 * y.std())


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_regularization_is_chosen_as_at_the_origin(offset, criterion):
    X, far, y = data(offset)
    near, model = (GRLSRegressor(Linear(), regularization=criterion).fit(Z, y) for Z in (X, far))
    assert_allclose(model.predict(far), near.predict(X), atol=1e-7 * y.std())


@pytest.mark.parametrize(
    "kernel", [2.0 * Linear() + Gaussian(1.5), Linear().on([0, 2]) + Gaussian(1.0).on(1)]
)
def test_linear_summands_are_moved_and_other_kernels_are_not(kernel):
    X, far, y = data(1e6)
    near, model = (GRLSRegressor(kernel, regularization=1e-2).fit(Z, y) for Z in (X, far))
    assert_allclose(model.predict(far), near.predict(X), atol=1e-8 * y.std())


def test_features_that_span_the_constant_without_naming_it_will_do():
    X, far, y = data(1e6)
    halves = [lambda Z: np.column_stack([np.arange(len(Z)) < 60, np.arange(len(Z)) >= 60]).astype(float)] * 2
    near, model = (
        GRLSRegressor(Linear(), features=f, regularization=1e-2).fit(Z, y)
        for f, Z in zip(halves, (X, far), strict=True)
    )
    assert_allclose(model.predict(far), near.predict(X), atol=1e-8)


def test_ordinary_data_keep_the_origin():
    X, _, y = data(0.0)
    years = X + 50
    for Z in (X, years):
        assert GRLSRegressor(Linear(), regularization=1e-2).fit(Z, y).kernel_.center is None


@pytest.mark.parametrize("offset", OFFSETS)
def test_classifiers_and_components_do_not_see_the_offset(offset):
    X, far, y = data(offset)
    labels = (y > 0).astype(int)
    for make in (
        lambda: SVMGBClassifier(Linear(), C=1.0, tol=1e-8),
        lambda: GRLogisticClassifier(Linear(), regularization=1e-2),
    ):
        near, model = make().fit(X, labels), make().fit(far, labels)
        assert_allclose(model.decision_function(far), near.decision_function(X), atol=1e-4)
    near, model = (KernelPCA(2, Linear()).fit(Z) for Z in (X, far))
    assert_allclose(np.abs(model.transform(far)), np.abs(near.transform(X)), atol=1e-7)


@pytest.mark.parametrize("offset", OFFSETS)
def test_nystrom_does_not_see_the_offset(offset):
    X, far, y = data(offset)
    settings = {"n_centers": 40, "regularization": 1e-3, "random_state": 0}
    model = NystromGRLSRegressor(Linear(), **settings).fit(far, y)
    assert_allclose(model.predict(far), Ridge(alpha=1e-3 * len(y)).fit(X, y).predict(X), atol=1e-6)
    assert model.score(far, y) > 0.99


def test_sparse_rows_stay_sparse_and_are_moved_by_rank_one():
    X, far, y = data(1e4)
    model = GRLSRegressor(Linear(), regularization=1e-2).fit(sparse.csr_matrix(far), y)
    assert sparse.issparse(model.X_fit_)
    assert model.kernel_.center is not None
    expected = GRLSRegressor(Linear(), regularization=1e-2).fit(X, y).predict(X)
    assert_allclose(model.predict(sparse.csr_matrix(far)), expected, atol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_a_given_center_is_what_it_says(make):
    random = np.random.default_rng(1)
    X, Z, mu = random.standard_normal((7, 3)), random.standard_normal((4, 3)), np.array([0.5, -1.0, 2.0])
    kernel = Linear(center=mu)
    assert_allclose(kernel(make(X), make(Z)), (X - mu) @ (Z - mu).T, atol=1e-12)
    assert_allclose(kernel.diagonal(make(X)), np.sum((X - mu) ** 2, axis=1), atol=1e-12)
    both = kernel.on([2, 0, 1]) + Gaussian(1.0) + Linear()
    expected = (X[:, [2, 0, 1]] - mu) @ (Z[:, [2, 0, 1]] - mu).T + Gaussian(1.0)(X, Z) + X @ Z.T
    assert_allclose(both(make(X), make(Z)), expected, atol=1e-12)
    with pytest.raises(ValueError, match="3 values for 2 columns"):
        kernel(X[:, :2])
    assert repr(Linear()) == "Linear()"


@pytest.mark.parametrize("kernel", [Polynomial(2), Cosine(), Linear() * Gaussian(1.0), Linear() ** 2])
def test_where_a_center_would_change_the_model_the_digits_lost_are_told(kernel):
    X, far, y = data(1e5)

    def fit(Z):
        size = float(np.mean(kernel.diagonal(Z)))
        return GRLSRegressor(kernel, regularization=1e-3 * size).fit(Z, y)

    with pytest.warns(PrecisionWarning, match=r"1e\+05 times .* 10 of 16 digits"):
        fit(far)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X + 3)
    with pytest.raises(ValueError, match="rounding leaves nothing"):
        fit(X + 1e9)


def test_without_a_free_constant_the_remedy_is_one():
    _, far, y = data(1e5)
    with pytest.warns(PrecisionWarning, match='features="constant"'):
        GRLSRegressor(Linear(), features=None, regularization=1e6).fit(far, y)


def test_nystrom_refuses_at_fit_what_overflows():
    X, _, y = data(0.0)
    with pytest.raises(ValueError, match="overflows at the centres"):
        NystromGRLSRegressor(Linear(), n_centers=20, regularization=1e-3).fit(X * 1e155, y)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_how_far_the_origin_is_does_not_depend_on_the_units(unit):
    X, far, _ = data(1e4)
    wanted = np.linalg.norm(far.mean(axis=0)) / np.linalg.norm(X.std(axis=0))
    assert_allclose(distance_of(*moments(unit * far)), wanted, rtol=1e-9)
    assert_allclose(distance_of(*moments(sparse.csr_matrix(unit * far))), wanted, rtol=1e-4)
    assert distance_of(*moments(np.full((5, 2), unit))) == 0
