"""Targets far from zero: sums are about an origin, and a fit is that of the targets without the offset."""

import copy
import warnings

import numpy as np
import pytest
from builders import named
from grls import NystromGRLSRegressor
from grls._nystrom.origin import constant_in
from grls.exceptions import PrecisionWarning
from grls.features import Columns, Groups
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, TransformerMixin

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.uniform(0, 6, 300), RNG.integers(0, 4, 300)])
Y = np.column_stack([np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=300), np.cos(X[:, 0])])
Y[:, 1] += 0.3 * X[:, 1] + 0.2 * RNG.normal(size=300)
WEIGHTS = RNG.uniform(0.5, 2.0, 300)
FAR = np.array([1e8, -3e7])
KERNEL = Gaussian(1.0).on(0)


def levels(points):
    return np.eye(4)[points[:, 1].astype(int)]


def model(**parameters):
    return NystromGRLSRegressor(**{"kernel": KERNEL, "n_centers": 50, "regularization": 1e-4, **parameters})


def require_same(far, near, offset=FAR):
    """The models of Y + offset and of Y."""
    assert_allclose(far.predict(X) - offset, near.predict(X), atol=1e-6)
    assert_allclose(far.regularization_, near.regularization_, rtol=1e-6)
    if near.solver == "cholesky":
        # Targets at 1e8 have eight decimals; what that does to coefficients depends on the condition.
        assert_allclose(far.dual_coef_, near.dual_coef_, rtol=0, atol=1e-4 * np.abs(near.dual_coef_).max())
        assert_allclose(far.noise_variance_, near.noise_variance_, rtol=1e-6)
        assert_allclose(far.kernel_variance_, near.kernel_variance_, rtol=1e-6)
    if hasattr(near, "feature_coef_cov_"):
        assert_allclose(far.feature_coef_cov_, near.feature_coef_cov_, rtol=1e-5, atol=1e-12)
        for output in (0, 1):
            found, expected = (each.summary(output=output) for each in (far, near))
            for name in ("r2", "restricted_log_likelihood", "log_likelihood", "edf"):
                assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("regularization", ["gcv", "reml", "holdout", 1e-4])
def test_an_offset_is_an_offset(regularization, weights):
    fitted = model(regularization=regularization)
    near = copy.deepcopy(fitted).fit(X, Y, weights)
    far = fitted.fit(X, Y + FAR, weights)
    require_same(far, near)
    assert_allclose(far.feature_coef_ - near.feature_coef_, FAR[None], rtol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [
        {"features": "linear", "feature_variance": 1.0},
        {"features": levels},
        {"solver": "cg", "tol": 1e-9},
        {"solver": "cg", "tol": 1e-9, "features": levels},
        {"features": Groups(1)},
        {"features": Groups(1, beside=Columns([0])), "regularization": "reml"},
        {"n_centers": "auto"},
    ],
    ids=named,
)
def test_whatever_the_features_hold_the_constant_by(parameters):
    fitted = model(**parameters)
    require_same(copy.deepcopy(fitted).fit(X, Y + FAR), fitted.fit(X, Y))
    if "features" in parameters and isinstance(fitted.features, Groups):
        far = copy.deepcopy(fitted).fit(X, Y + FAR)
        assert_allclose(far.group_effects_ - fitted.group_effects_, np.tile(FAR, (4, 1)), rtol=1e-12)


def test_rows_where_the_features_do_not_hold_it(monkeypatch):
    """Of rows that are read once the origin comes from the first block, in which a level may be missing."""
    first = X[:, 1] < 3
    targets = Y[:, 0] + np.where(first, 50.0, -70.0)
    parts = [(X[first], targets[first]), (X[~first], targets[~first])]
    fitted = model(features=KnownLevels(), regularization=1e-2).fit(iter(parts))
    residual = targets - fitted.predict(X)
    assert fitted.summary().r2 == pytest.approx(1 - np.mean(residual**2) / targets.var(), rel=1e-9)
    monkeypatch.setattr(NystromGRLSRegressor, "_origin", lambda self, y: None)
    about_zero = model(features=KnownLevels(), regularization=1e-2).fit(iter(parts))
    assert_allclose(fitted.predict(X), about_zero.predict(X), rtol=1e-8)
    assert_allclose(fitted.noise_variance_, about_zero.noise_variance_, rtol=1e-8)


class KnownLevels(TransformerMixin, BaseEstimator):
    """Indicators of the levels of the second column that the sample has."""

    def fit(self, X, y=None):
        self.levels_ = np.unique(X[:, 1])
        return self

    def transform(self, X):
        return (X[:, 1:] == self.levels_).astype(float)


@pytest.mark.parametrize("features", ["constant", levels, Groups(1), None])
def test_streams_partial_fits_and_merges_agree_on_an_origin(features):
    fitted = model(features=features, centers=X[:40], keep_factor=True)
    offset = FAR if features is not None else np.zeros(2)
    whole = copy.deepcopy(fitted).fit(X, Y + offset)
    parts = [slice(0, 100), slice(100, 150), slice(150, 300)]
    shifted = Y + offset
    streams = [
        copy.deepcopy(fitted).fit([(X[part], shifted[part]) for part in parts]),
        copy.deepcopy(fitted).fit((X[part], shifted[part]) for part in parts),
    ]
    again = copy.deepcopy(fitted)
    for part in parts:
        again.partial_fit(X[part], shifted[part])
    apart = [copy.deepcopy(fitted).partial_fit(X[part], shifted[part], solve=False) for part in parts]
    origins = [each._partial.plan.origin for each in apart]
    assert features is None or not np.array_equal(origins[0], origins[1])
    for each in (*streams, again, apart[0].merge(*apart[1:])):
        assert_allclose(each.predict(X) - offset, whole.predict(X) - offset, atol=1e-6)
        assert_allclose(each.noise_variance_, whole.noise_variance_, rtol=1e-6)
        assert_allclose(each.summary(output=1).r2, whole.summary(output=1).r2, rtol=1e-6)


def test_rows_left_out_do_not_see_the_offset():
    near = model().fit(X, Y).cross_validate(X, Y)
    far = model().fit(X, Y + FAR).cross_validate(X, Y + FAR)
    assert_allclose(far.residuals, near.residuals, atol=1e-6)
    assert_allclose(far.log_score, near.log_score, rtol=1e-5, atol=1e-5)


def test_dask_has_the_origin_of_rows_in_memory():
    da = pytest.importorskip("dask.array")
    from grls.dask import NystromGRLSRegressor as OnDask

    near = model(regularization="reml").fit(X, Y)
    far = OnDask(KERNEL, n_centers=50, regularization="reml")
    far.fit(da.from_array(X, chunks=(70, 2)), da.from_array(Y + FAR, chunks=(70, 2)))
    require_same(far, near)


@pytest.mark.parametrize("regularization", ["gcv", "reml", "holdout", 1e-4])
def test_what_no_origin_takes_off_is_told(regularization):
    trend = Y[:, 0] + 1e8 * X[:, 0]
    with pytest.warns(PrecisionWarning, match="squares"):
        fitted = model(features="linear", regularization=regularization).fit(X, trend)
    assert any("PrecisionWarning" in message for message in fitted.fit_warnings_)
    with warnings.catch_warnings():  # nor is anything said of what has no noise
        warnings.simplefilter("error")
        model(regularization=regularization).fit(X, np.full(300, 1e8))


def test_a_kernel_that_has_to_express_an_offset_is_told_of():
    with pytest.warns(PrecisionWarning, match="squares"):
        model(features=None, regularization=1e-14).fit(X, Y[:, 0] + 1e8)


def test_single_precision_is_told_of_sooner():
    trend = Y[:, 0] + 1e3 * X[:, 0]
    model(features="linear").fit(X, trend)
    with pytest.warns(PrecisionWarning, match='precision="double"'):
        model(features="linear", precision="single").fit(X, trend)


def test_the_constant_is_found_among_features():
    T = np.column_stack([X[:, 0], np.full(300, 4.0), levels(X)])
    assert_allclose(constant_in(T, [0, 1]), [0, 0.25, 0, 0, 0, 0])
    assert_allclose(constant_in(T, [0, 2, 3, 4, 5]), [0, 0, 1, 1, 1, 1], atol=1e-12)
    assert constant_in(T, [0, 2, 3]) is None
    assert constant_in(T, []) is None
