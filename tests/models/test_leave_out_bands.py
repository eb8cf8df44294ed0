"""Jackknife+ and CV+ bands of least squares: equal to those of models refitted without the rows."""

import inspect

import numpy as np
import pytest
import reference
from grls import GRLSRegressor, GRRegressor
from grls.conformal import ConformalRegressor
from grls.features import EstimatorFeatures
from grls.kernels import Gaussian, Linear, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 4, (40, 2))
Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], np.cos(X[:, 1])]) + 0.2 * RNG.standard_normal((40, 2))
NEW = RNG.uniform(0, 5, (7, 2))

MODELS = [
    GRLSRegressor(Gaussian(1.0), features="linear", regularization=1e-2),
    GRLSRegressor(Gaussian(1.0) + Linear(), features=None, regularization=1e-3),
    GRLSRegressor(ThinPlate(), features="linear", regularization=1e-1),
    GRLSRegressor(Gaussian(1.0), features="linear", regularization=1e-2, feature_variance=2.0),
]


def refitted(model, left_out):
    """Predictions (q,) and residuals of the rows left out, by a fit without them with the same γm."""
    kept = np.setdiff1d(np.arange(len(X)), left_out)
    gamma = model.regularization * len(X) / len(kept)
    other = GRLSRegressor(model.kernel, features=model.features, regularization=gamma)
    other.fit(X[kept], Y[kept, 0])
    return other.predict(NEW), Y[left_out, 0] - other.predict(X[left_out])


@pytest.mark.parametrize("model", MODELS[:3], ids=repr)
@pytest.mark.parametrize("alpha", [0.03, 0.35])
def test_jackknife_plus_is_that_of_refits_without_each_row(model, alpha):
    predictions, residuals = np.empty((len(NEW), len(X))), np.empty(len(X))
    for i in range(len(X)):
        predictions[:, i], residuals[i : i + 1] = refitted(model, np.array([i]))
    found = model.fit(X, Y[:, 0]).predict_interval(NEW, alpha)
    assert_allclose(found, reference.jackknife_plus(predictions, residuals, alpha), atol=1e-9)
    plain = np.broadcast_to(model.predict(NEW)[:, None], predictions.shape)
    assert_allclose(
        model.predict_interval(NEW, alpha, method="jackknife"),
        reference.jackknife_plus(plain, residuals, alpha),
        atol=1e-9,
    )


@pytest.mark.parametrize("model", MODELS[:3], ids=repr)
def test_cv_plus_is_that_of_refits_without_each_fold(model):
    predictions, residuals = np.empty((len(NEW), len(X))), np.empty(len(X))
    for _, test in KFold(4).split(X):
        others, residuals[test] = refitted(model, test)
        predictions[:, test] = others[:, None]
    found = model.fit(X, Y[:, 0]).predict_interval(NEW, 0.2, method="cv+", cv=KFold(4))
    assert_allclose(found, reference.jackknife_plus(predictions, residuals, 0.2), atol=1e-9)


def test_features_with_a_prior_are_left_out_as_the_closed_form_does():
    model = MODELS[3].fit(X, Y[:, 0])
    # Row i without its say: its target moved to what the model without it predicts.
    left_out = model.cross_validate("loo").predictions
    predictions = np.empty((len(NEW), len(X)))
    for i in range(len(X)):
        y = Y[:, 0].copy()
        y[i] = left_out[i]
        predictions[:, i] = GRLSRegressor(**model.get_params(deep=False)).fit(X, y).predict(NEW)
    expected = reference.jackknife_plus(predictions, Y[:, 0] - left_out, 0.2)
    assert_allclose(model.predict_interval(NEW, 0.2), expected, atol=1e-9)


def test_several_outputs_are_those_of_single_ones():
    both = GRLSRegressor(Gaussian(1.0), regularization="loo", per_output=True).fit(X, Y)
    bands = both.predict_interval(NEW, 0.2)
    assert bands.shape == (7, 2, 2)
    for k in range(2):
        one = GRLSRegressor(Gaussian(1.0), regularization=both.regularization_[k]).fit(X, Y[:, k])
        assert_allclose(bands[:, :, k], one.predict_interval(NEW, 0.2), atol=1e-9)


def test_rows_at_the_same_point_are_left_out_one_by_one():
    twice, y = np.vstack([X[:10], X[:10], X[10:]]), np.concatenate([Y[:10, 1], Y[:, 0]])
    model = GRLSRegressor(Gaussian(1.0), regularization=1e-2).fit(twice, y)
    predictions, residuals = np.empty((len(NEW), 50)), np.empty(50)
    for i in range(50):
        kept = np.delete(np.arange(50), i)
        other = GRLSRegressor(Gaussian(1.0), regularization=1e-2 * 50 / 49).fit(twice[kept], y[kept])
        predictions[:, i], residuals[i] = other.predict(NEW), y[i] - other.predict(twice[i : i + 1])[0]
    expected = reference.jackknife_plus(predictions, residuals, 0.1)
    assert_allclose(model.predict_interval(NEW, 0.1), expected, atol=1e-9)


def test_too_few_rows_have_infinite_bands():
    model = GRLSRegressor(Gaussian(1.0), regularization=1e-2).fit(X, Y[:, 0])
    assert np.isinf(model.predict_interval(NEW, 0.01)).all()


def test_coverage_is_about_what_is_aimed_at():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(30):
        x = rng.uniform(0, 6, (70, 1))
        y = np.sin(x[:, 0]) + 0.3 * rng.standard_t(4, 70)
        model = GRLSRegressor(Gaussian(1.0), regularization=3e-3).fit(x[:40], y[:40])
        for method in ("jackknife+", "cv+"):
            low, high = model.predict_interval(x[40:], 0.2, method=method).T
            held.append(np.mean((low <= y[40:]) & (y[40:] <= high)))
    assert 0.75 < np.mean(held) < 0.9  # never below 0.6 by the theorem


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "bootstrap"}, "method must be one of"),
        ({"alpha": 1.0}, "alpha must lie between"),
        ({"method": "cv+", "with_noise": False}, 'with_noise=False needs method="model"'),
        ({"method": "cv+", "cv": [(np.arange(20), np.arange(20, 40))]}, "every row once"),
    ],
)
def test_what_cannot_be_right_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MODELS[0].fit(X, Y[:, 0]).predict_interval(NEW, **arguments)


def test_weights_and_features_made_from_y_are_refused():
    model = GRLSRegressor(Gaussian(1.0), regularization=1e-2)
    for fitted in (
        model.fit(X, Y[:, 0], sample_weight=np.arange(1.0, 41.0)),
        GRLSRegressor(Gaussian(1.0), noise="learn").fit(X, Y[:, 0]),
    ):
        with pytest.raises(ValueError, match=r'rows that are alike.* take method="model"'):
            fitted.predict_interval(NEW, method="jackknife+")
        assert_array_equal(fitted.predict_interval(NEW), fitted.predict_interval(NEW, method="model"))
    model.set_params(features=EstimatorFeatures(LinearRegression()))
    with pytest.raises(ValueError, match="made from y"):
        model.fit(X, Y[:, 0]).predict_interval(NEW)


def test_the_band_of_the_model_is_its_standard_deviation_times_a_quantile_of_t():
    model = GRLSRegressor(Gaussian(1.0), regularization=1e-2).fit(X, Y)
    quantile = stats.t.ppf(0.9, model.degrees_of_freedom_)
    for with_noise in (False, True):
        mean, std = model.predict(NEW, return_std=True, with_noise=with_noise)
        low, high = np.moveaxis(model.predict_interval(NEW, 0.2, method="model", with_noise=with_noise), 1, 0)
        assert_allclose(low, mean - quantile * std)
        assert_allclose(high, mean + quantile * std)


@pytest.mark.filterwarnings("ignore::grls.exceptions.PrecisionWarning")  # one draw chooses a tiny γ
def test_bands_cover_where_the_known_noise_differs_between_rows():
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, variance = rng.uniform(0, 6, (400, 1)), rng.choice([0.01, 1.0], 400)
        y = np.sin(x[:, 0]) + np.sqrt(variance) * rng.standard_normal(400)
        model = GRLSRegressor(Gaussian(1.0)).fit(x[:80], y[:80], noise=variance[:80])
        low, high = model.predict_interval(x[80:], 0.2, noise=variance[80:]).T
        inside = (low <= y[80:]) & (y[80:] <= high)
        held.append([inside[variance[80:] == v].mean() for v in (0.01, 1.0)])
    assert_allclose(np.mean(held, axis=0), 0.8, atol=0.04)


def test_alpha_is_the_share_of_misses_in_every_class_that_has_bands():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 6, (600, 1))
    y = rng.poisson(np.exp(4 + 0.5 * np.sin(x[:, 0])))
    for model in (
        GRLSRegressor(Gaussian(1.0), regularization=1e-3),
        GRRegressor(Gaussian(1.0), loss="poisson"),
        ConformalRegressor(LinearRegression(), cv=0.5, random_state=0),
    ):
        assert list(inspect.signature(model.predict_interval).parameters)[:2] == ["X", "alpha"]
        model.fit(x[:300], y[:300])
        for alpha in (0.1, 0.6):
            low, high = model.predict_interval(x[300:], alpha).T
            inside = (low <= y[300:]) & (y[300:] <= high)
            assert abs(inside.mean() - (1 - alpha)) < 0.2


def test_a_number_of_folds_may_be_one_of_numpy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = GRLSRegressor(Gaussian(1.0), regularization=0.01).fit(X, X[:, 0] + rng.normal(size=40))
    one, other = (model.predict_interval(X, method="cv+", cv=cv) for cv in (5, np.int64(5)))
    assert_array_equal(one, other)
