"""Targets far from zero: sums are about an origin, and a fit is that of the targets without the offset."""

import numpy as np
import pytest
from grls import DependentFeaturesWarning, FourierGRLSRegressor, GRLSRegressor
from grls.exceptions import PrecisionWarning
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from sklearn.base import clone

pytest.importorskip("finufft")

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.uniform(0, 6, 300), RNG.integers(0, 4, 300)])
Y = np.column_stack([np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=300), np.cos(X[:, 0])])
Y[:, 1] += 0.3 * X[:, 1] + 0.2 * RNG.normal(size=300)
WEIGHTS = RNG.uniform(0.5, 2.0, 300)
FAR = np.array([1e8, -3e7])


def levels(points):
    return np.eye(4)[points[:, 1].astype(int)]


def with_constant_last(points):
    return np.column_stack([levels(points), np.ones(len(points))])


def model(**parameters):
    return FourierGRLSRegressor(Gaussian(1.0).on(0), **{"regularization": 1e-4, "tol": 1e-5, **parameters})


def require_same(far, near):
    """The models of Y + FAR and of Y."""
    assert_allclose(far.predict(X) - FAR, near.predict(X), atol=1e-5)
    assert_allclose(far.regularization_, near.regularization_, rtol=1e-5)
    assert_allclose(far.noise_variance_, near.noise_variance_, rtol=1e-5)
    assert_allclose(far.fit_error_, near.fit_error_, rtol=1e-2, atol=1e-7)
    assert_allclose(far.feature_coef_cov_, near.feature_coef_cov_, rtol=1e-4, atol=1e-10)
    for output in (0, 1):
        found, expected = (each.summary(output=output) for each in (far, near))
        for name in ("r2", "restricted_log_likelihood"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("regularization", ["gcv", "reml", "holdout", 1e-4])
def test_an_offset_is_an_offset(regularization, weights):
    fitted = model(regularization=regularization)
    far, near = clone(fitted).fit(X, Y + FAR, weights), fitted.fit(X, Y, weights)
    require_same(far, near)
    assert_allclose(far.feature_coef_ - near.feature_coef_, FAR[None], rtol=1e-12)


@pytest.mark.parametrize("features", ["linear", levels, with_constant_last])
@pytest.mark.filterwarnings("ignore::grls.DependentFeaturesWarning")
def test_whatever_the_features_hold_the_constant_by(features):
    fitted = model(features=features)
    far, near = clone(fitted).fit(X, Y + FAR), fitted.fit(X, Y)
    require_same(far, near)
    assert_allclose(far.feature_coef_[~far.feature_support_], 0)
    parts = [slice(0, 100), slice(100, 150), slice(150, 300)]
    blocks = [(X[part], Y[part] + FAR) for part in parts]
    kept = clone(fitted).set_params(domain=(-1.0, 7.0))
    again = clone(kept)
    for block in blocks:
        again.partial_fit(*block)
    for each in (clone(kept).fit(blocks), clone(kept).fit(iter(blocks)), again):
        assert_allclose(each.predict(X) - FAR, near.predict(X), atol=1e-3)
        assert_allclose(each.noise_variance_, near.noise_variance_, rtol=1e-3)


def test_a_constant_that_a_block_makes_dependent_has_no_coefficient():
    """The first block has rows without a level; in all of them the constant is the sum of the levels."""
    fitted = model(features=levels_and_constant, domain=(-1.0, 7.0), regularization=1e-2)
    rows = np.vstack([X, [[1.0, 9.0]]])
    targets = np.append(Y[:, 0], 0.0) + 1e8
    weights = np.append(np.ones(300), 1e-12)
    fitted.partial_fit(rows, targets, weights, solve=False)
    with pytest.warns(DependentFeaturesWarning):
        fitted.partial_fit(X, Y[:, 0] + 1e8)
    near = GRLSRegressor(Gaussian(1.0).on(0), features=levels, regularization=1e-2)
    near.fit(np.vstack([X, X]), np.tile(Y[:, 0], 2))
    assert_allclose(fitted.predict(X) - 1e8, near.predict(X), atol=1e-3)
    assert not fitted.feature_support_[-1]
    assert fitted.feature_coef_[-1] == 0


def levels_and_constant(points):
    indicators = (points[:, 1:] == np.arange(4)).astype(float)
    return np.column_stack([indicators, np.ones(len(points))])


@pytest.mark.filterwarnings("ignore:.* asks for less", "ignore:on 300 rows")
def test_what_no_origin_takes_off_is_told():
    for regularization in ("gcv", "reml", "holdout", 1e-4):
        with pytest.warns(PrecisionWarning, match="squares"):
            model(features=lambda points: points[:, :1] + [[0.0, 5.0]], regularization=regularization).fit(
                X, Y[:, 0] + 1e8 * X[:, 0]
            )


def test_a_summary_counts_rows_whatever_their_weights():
    rows, weights = X[:19], np.full(19, 2.0)
    ours = model(regularization=1e-2).fit(rows, Y[:19], weights)
    exact = GRLSRegressor(Gaussian(1.0).on(0), regularization=1e-2).fit(rows, Y[:19], weights)
    assert ours.n_samples_seen_ == 19
    assert ours.summary(output=0).n_rows == 19
    assert exact.summary(output=0, n_simulations=0).n_rows == 19
