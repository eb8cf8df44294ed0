"""Which features are dropped as dependent: later ones, whatever the rows, and only those."""

import numpy as np
import pytest
from grls import GRLogisticClassifier, GRLSRegressor, NystromGRLSRegressor, core
from grls._solvers.rank import independent_qr
from grls.exceptions import DependentFeaturesWarning
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

ROWS = 200


def kept(T):
    return core.independent_columns(np.ascontiguousarray(T, dtype=np.float64), core.dependence_tolerance())


@pytest.mark.parametrize("seed", range(5))
def test_the_later_of_dependent_columns_goes_whatever_the_rows(seed):
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((2, ROWS)) * [[1e-6], [1e8]]
    T = np.column_stack([np.ones(ROWS), a, b, 3 * a - 2e-14 * b + 1, b / 7, np.zeros(ROWS), a**2])
    for rows in (slice(None), slice(10, None), random.permutation(ROWS)[:50]):
        assert kept(T[rows]) == [0, 1, 2, 6]


def test_dummies_and_a_constant_drop_the_last_dummy():
    groups = np.arange(60) % 4
    T = np.column_stack([np.ones(60), np.eye(4)[groups]])
    assert kept(T) == [0, 1, 2, 3]
    assert kept(T[:, ::-1]) == [0, 1, 2, 3]


def test_the_columns_that_are_kept_are_factored_and_others_leave_nothing():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, ROWS)) * [[1e-6], [1e8]]
    T = np.column_stack([a, 2 * a, b])
    kept, Q, R = independent_qr(T, core.dependence_tolerance())
    assert kept == [0, 2]
    assert_allclose(Q.T @ Q, np.eye(2), atol=1e-12)
    assert_allclose(Q @ R, T[:, kept], rtol=1e-12)
    kept, Q, R = independent_qr(np.zeros((ROWS, 2)), core.dependence_tolerance())
    assert (kept, Q.shape, R.shape) == ([], (ROWS, 0), (0, 0))


@pytest.mark.parametrize(
    "T",
    [
        np.vander(np.linspace(0, 1, ROWS), 6, increasing=True),
        np.vander(np.linspace(0, 1, ROWS), 13, increasing=True),
        np.vander(np.linspace(1990, 2020, ROWS), 4, increasing=True),
        np.vander(np.linspace(5.5e6, 5.501e6, ROWS), 3, increasing=True),
        np.vander(np.linspace(1.7e9, 1.7e9 + 86400, ROWS), 3, increasing=True),
        SplineTransformer(12).fit_transform(np.linspace(0, 1, ROWS)[:, None]),
        OneHotEncoder(sparse_output=False).fit_transform(np.arange(ROWS)[:, None] % 9),
    ],
    ids=["degree 5", "degree 12", "years", "map", "seconds", "splines", "dummies"],
)
def test_well_posed_features_are_all_kept(T):
    assert kept(T) == list(range(T.shape[1]))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_a_copy_that_only_rounding_tells_apart_is_dropped(offset):
    x = np.random.default_rng(0).uniform(-1, 1, ROWS)
    moved = x + offset
    T = np.column_stack([np.ones(ROWS), x, (moved - moved.mean()) / moved.std()])
    assert kept(T) == [0, 1]


def test_predictions_stay_when_rows_go_and_coefficients_stay_small():
    random = np.random.default_rng(1)
    X = random.uniform(-1, 1, (ROWS, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * random.standard_normal(ROWS)

    def features(X):
        far = X[:, 0] + 1e6
        return np.column_stack([np.ones(len(X)), X, far - 1e6, X[:, 0] * 1.8 + 32])

    models = []
    for rows in (slice(None), slice(10, None)):
        model = GRLSRegressor(Gaussian(0.5), features=features, regularization=1e-3)
        with pytest.warns(DependentFeaturesWarning):
            models.append(model.fit(X[rows], y[rows]))
    assert np.abs(models[0].predict(X) - models[1].predict(X)).max() < 0.2
    for model in models:
        assert list(model.feature_support_) == [True, True, True, False, False]
        assert np.abs(model.feature_coef_).max() < 10


def test_features_in_single_precision_have_a_wider_tolerance():
    x = np.random.default_rng(2).uniform(0, 50, ROWS)
    T = np.column_stack([np.ones(ROWS), x, x * 1.8 + 32]).astype(np.float32)
    X = np.random.default_rng(3).uniform(-1, 1, (ROWS, 1))
    with pytest.warns(DependentFeaturesWarning):
        model = GRLSRegressor(Gaussian(0.5), features=lambda X: T[: len(X)], regularization=1e-2).fit(X, x)
    assert list(model.feature_support_) == [True, True, False]


def _features(X):
    return np.column_stack([np.ones(len(X)), X[:, 0], 2 * X[:, 0] - 1, X[:, 1]])


@pytest.mark.parametrize(
    "model",
    [
        GRLSRegressor(Gaussian(0.7), features=_features, regularization=1e-3),
        GRLSRegressor(Gaussian(0.7), features=_features, regularization=1e-3, formulation="published"),
        GRLSRegressor(Gaussian(0.7), features=_features, regularization=1e-3, solver="cg"),
        NystromGRLSRegressor(Gaussian(0.7), features=_features, regularization=1e-3, n_centers=60),
        GRLogisticClassifier(Gaussian(0.7), features=_features, regularization=1e-2),
        GRLogisticClassifier(Gaussian(0.7), features=_features, regularization=1e-2, feature_variance=3.0),
    ],
    ids=["exact", "published", "cg", "nystrom", "logistic", "logistic with a prior"],
)
def test_all_models_drop_the_same_column(model):
    X = np.random.default_rng(5).uniform(-1, 1, (ROWS, 2))
    y = X[:, 0] + X[:, 1] ** 2
    target = (y > np.median(y)).astype(int) if isinstance(model, GRLogisticClassifier) else y
    with pytest.warns(DependentFeaturesWarning, match="x2|f2|2"):
        model.fit(X, target)
    assert list(model.feature_support_) == [True, True, False, True]
