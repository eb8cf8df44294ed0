"""Noise that depends on x, learnt in turns with the model: bands, recovery, invariances, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from grls import GRLSRegressor
from grls._models import learnt_noise
from grls.exceptions import DependentFeaturesWarning
from grls.features import EstimatorFeatures
from grls.kernels import Gaussian, Matern, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler


def spread(x):
    return 0.05 + 0.5 * stats.norm.cdf(x, 5, 1)


def data(m=150, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, m))
    return x[:, None], scale * (np.sin(x) + spread(x) * rng.normal(size=m))


def inside(model, X, y):
    """Which observations are in bands of 95 %."""
    mean, std = model.predict(X, return_std=True, with_noise=True)
    return np.abs(y - mean) <= stats.t.ppf(0.975, model.degrees_of_freedom_) * std


def left_out(model, X, y, folds=10):
    """Which observations are in bands of 95 % by models without their fold, in each third of the range."""
    found = np.empty(len(y), dtype=bool)
    for train, test in KFold(folds, shuffle=True, random_state=0).split(X):
        found[test] = inside(clone(model).fit(X[train], y[train]), X[test], y[test])
    return [found[rows].mean() for rows in np.array_split(np.argsort(X[:, 0], kind="stable"), 3)]


# Times and accelerations of a head in a simulated motorcycle accident: Silverman (1985), the set mcycle of R.
# fmt: off
TIMES = [
    2.4, 2.6, 3.2, 3.6, 4.0, 6.2, 6.6, 6.8, 7.8, 8.2, 8.8, 8.8, 9.6, 10.0, 10.2, 10.6,
    11.0, 11.4, 13.2, 13.6, 13.8, 14.6, 14.6, 14.6, 14.6, 14.6, 14.6, 14.8, 15.4, 15.4, 15.4, 15.4,
    15.6, 15.6, 15.8, 15.8, 16.0, 16.0, 16.2, 16.2, 16.2, 16.4, 16.4, 16.6, 16.8, 16.8, 16.8, 17.6,
    17.6, 17.6, 17.6, 17.8, 17.8, 18.6, 18.6, 19.2, 19.4, 19.4, 19.6, 20.2, 20.4, 21.2, 21.4, 21.8,
    22.0, 23.2, 23.4, 24.0, 24.2, 24.2, 24.6, 25.0, 25.0, 25.4, 25.4, 25.6, 26.0, 26.2, 26.2, 26.4,
    27.0, 27.2, 27.2, 27.2, 27.6, 28.2, 28.4, 28.4, 28.6, 29.4, 30.2, 31.0, 31.2, 32.0, 32.0, 32.8,
    33.4, 33.8, 34.4, 34.8, 35.2, 35.2, 35.4, 35.6, 35.6, 36.2, 36.2, 38.0, 38.0, 39.2, 39.4, 40.0,
    40.4, 41.6, 41.6, 42.4, 42.8, 42.8, 43.0, 44.0, 44.4, 45.0, 46.6, 47.8, 47.8, 48.8, 50.6, 52.0,
    53.2, 55.0, 55.0, 55.4, 57.6,
]
ACCELERATIONS = [
    0.0, -1.3, -2.7, 0.0, -2.7, -2.7, -2.7, -1.3, -2.7, -2.7, -1.3, -2.7,
    -2.7, -2.7, -5.4, -2.7, -5.4, 0.0, -2.7, -2.7, 0.0, -13.3, -5.4, -5.4,
    -9.3, -16.0, -22.8, -2.7, -22.8, -32.1, -53.5, -54.9, -40.2, -21.5, -21.5, -50.8,
    -42.9, -26.8, -21.5, -50.8, -61.7, -5.4, -80.4, -59.0, -71.0, -91.1, -77.7, -37.5,
    -85.6, -123.1, -101.9, -99.1, -104.4, -112.5, -50.8, -123.1, -85.6, -72.3, -127.2, -123.1,
    -117.9, -134.0, -101.9, -108.4, -123.1, -123.1, -128.5, -112.5, -95.1, -81.8, -53.5, -64.4,
    -57.6, -72.3, -44.3, -26.8, -5.4, -107.1, -21.5, -65.6, -16.0, -45.6, -24.2, 9.5,
    4.0, 12.0, -21.5, 37.5, 46.9, -17.4, 36.2, 75.0, 8.1, 54.9, 48.2, 46.9,
    16.0, 45.6, 1.3, 75.0, -16.0, -54.9, 69.6, 34.8, 32.1, -37.5, 22.8, 46.9,
    10.7, 5.4, -1.3, -21.5, -13.3, 30.8, -10.7, 29.4, 0.0, -10.7, 14.7, -1.3,
    0.0, 10.7, 10.7, -26.8, -14.7, -13.3, 0.0, 10.7, -14.7, -2.7, 10.7, -2.7,
    10.7,
]
# fmt: on


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Gaussian(5.0), Matern(5.0)])
def test_bands_on_mcycle_are_right_in_every_third(kernel):
    x, y = np.array(TIMES)[:, None], np.array(ACCELERATIONS)
    covered = left_out(GRLSRegressor(kernel, regularization="reml", noise="learn"), x, y)
    # Of 44 rows 95 % are 41.8, with a standard deviation of 1.4.
    assert min(covered) >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / 44)
    model = GRLSRegressor(kernel, regularization="reml", noise="learn").fit(x, y)
    early, late = np.sqrt(model.predict_noise([[8.0], [30.0]]))
    assert early < 3 < 15 < late
    plain = GRLSRegressor(kernel, regularization="reml").fit(x, y)
    width = [m.predict([[8.0]], return_std=True, with_noise=True)[1][0] for m in (model, plain)]
    assert width[0] < width[1] / 5


@pytest.mark.slow
def test_bands_are_right_where_the_noise_is_known():
    covered, ratios = [], []
    thirds = np.linspace(0, 10, 4)
    for seed in range(8):
        model = GRLSRegressor(Gaussian(1.5), noise="learn").fit(*data(150, seed))
        X, y = data(600, 1000 + seed)
        found = inside(model, X, y)
        third = np.digitize(X[:, 0], thirds[1:-1])
        covered.append([found[third == k].mean() for k in range(3)])
        ratios.append(np.log(np.sqrt(model.predict_noise(X)) / spread(X[:, 0])))
    assert np.all(np.abs(np.mean(covered, axis=0) - 0.95) < 0.03)
    assert np.mean(np.abs(ratios)) < 0.3
    # One variance for all is too large in the first third, and too small in the last.
    X, y = data(600, 1000)
    found = inside(GRLSRegressor(Gaussian(1.5)).fit(*data(150)), X, y)
    assert found[X[:, 0] < thirds[1]].mean() > 0.99
    assert found[X[:, 0] > thirds[2]].mean() < 0.92


def test_rows_of_much_noise_count_less():
    x = np.linspace(0, 10, 400)[:, None]
    quiet = x[:, 0] < 4
    better = []
    for seed in range(5):
        X, y = data(200, seed)
        errors = [
            np.sqrt(
                np.mean(
                    (GRLSRegressor(Gaussian(1.0), noise=noise).fit(X, y).predict(x) - np.sin(x[:, 0]))[quiet]
                    ** 2
                )
            )
            for noise in (None, "learn")
        ]
        better.append(errors[1] / errors[0])
    assert np.mean(better) < 0.9


def test_noise_that_is_the_same_everywhere_is_learnt_as_that():
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 10, (150, 1))
        y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=150)
        model = GRLSRegressor(Gaussian(1.5), noise="learn").fit(x, y)
        variances = model.predict_noise(x)
        ratios.append(np.sqrt(variances.max() / variances.min()))
        assert_allclose(np.exp(np.mean(np.log(variances))), model.noise_variance_[0], rtol=1e-6)
        assert_allclose(model.noise_variance_, 0.09, rtol=0.5)
    assert np.median(ratios) < 1.5


def test_the_model_is_that_of_the_noise_found():
    X, y = data(100)
    model = GRLSRegressor(Gaussian(1.5), features="linear", noise="learn").fit(X, y)
    noise = model.predict_noise(X)
    given = GRLSRegressor(Gaussian(1.5), features="linear").fit(X, y, noise=noise)
    assert_allclose(model.predict(X), given.predict(X), atol=1e-8)
    assert_allclose(model.feature_coef_std_, given.feature_coef_std_, rtol=1e-6)
    std = model.predict(X, return_std=True)[1]
    assert_allclose(std, given.predict(X, return_std=True)[1], rtol=1e-6)
    with_noise = model.predict(X, return_std=True, with_noise=True)[1]
    assert_allclose(with_noise**2, std**2 + noise, rtol=1e-8)
    draws = model.sample_y(X[:3], 20_000, with_noise=True)
    assert_allclose(draws.std(axis=1), with_noise[:3], rtol=0.03)
    z = model.cross_validate("loo").z
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25
    assert "noise variance" in str(model.summary(n_simulations=0))


@pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")
def test_weights_order_and_units_do_not_matter():
    X, y = data(60)
    model = GRLSRegressor(Gaussian(1.5), regularization="reml", noise="learn")
    expected = clone(model).fit(X, y)
    order = np.random.default_rng(0).permutation(60)
    shuffled = clone(model).fit(X[order], y[order])
    assert_allclose(shuffled.predict_noise(X), expected.predict_noise(X), rtol=1e-3)
    scaled = clone(model).fit(X, 1e3 * y)
    assert_allclose(scaled.predict(X), 1e3 * expected.predict(X), rtol=1e-4, atol=1e-3)
    assert_allclose(scaled.predict_noise(X), 1e6 * expected.predict_noise(X), rtol=1e-3)
    counts = np.random.default_rng(0).integers(0, 3, 60)
    weighted = clone(model).fit(X, y, counts)
    rows = np.repeat(np.arange(60), counts)
    repeated = clone(model).fit(X[rows], y[rows])
    assert_allclose(weighted.predict_noise(X), repeated.predict_noise(X), rtol=1e-2)
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


def test_several_outputs_share_the_shape_of_the_noise():
    X, y = data(100)
    Y = np.column_stack([y, 10 * data(100, 0)[1] + X[:, 0]])
    model = GRLSRegressor(Gaussian(1.5), noise="learn").fit(X, Y)
    variances = model.predict_noise(X)
    assert variances.shape == (100, 2)
    assert_allclose(variances[:, 1] / variances[:, 0], model.noise_variance_[1] / model.noise_variance_[0])


@pytest.mark.parametrize("kernel", ["auto", ThinPlate(), "precomputed"])
def test_any_kernel_will_do(kernel):
    X, y = data(80)
    Z = np.column_stack([X, np.cos(X)])
    features = "linear" if isinstance(kernel, ThinPlate) else "constant"
    points = Z @ Z.T + np.exp(-((X - X.T) ** 2)) if isinstance(kernel, str) and kernel != "auto" else Z
    model = GRLSRegressor(kernel, features=features, noise="learn").fit(points, y)
    variances = model.predict_noise(points)
    assert variances[-20:].mean() > 4 * variances[:20].mean()


def two_labs(m, seed):
    """Rows of a frame, their function of the first column, and noise by one of the others."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"wave": rng.uniform(0, 6, m), "size": rng.uniform(0, 6, m)})
    frame["lab"] = rng.choice(["north", "south"], m)
    return frame, np.sin(frame["wave"].to_numpy()), rng


@pytest.mark.parametrize("by", ["size", "lab"])
@pytest.mark.parametrize(
    "reader", [Gaussian(1.0).on(["wave"]), Gaussian(1.0).after(StandardScaler()).on(["wave"])]
)
def test_noise_sees_columns_that_the_kernel_does_not_read(by, reader):
    covered = []
    for seed in range(6):
        frame, f, rng = two_labs(600, seed)
        by_lab, by_size = np.where(frame["lab"] == "south", 0.6, 0.1), 0.1 * np.exp(0.35 * frame["size"])
        spread = by_lab if by == "lab" else by_size.to_numpy()
        loud, y = spread > spread.mean(), f + spread * rng.normal(size=600)
        model = GRLSRegressor(reader, regularization="reml", noise="learn").fit(frame[:200], y[:200])
        mean, std = model.predict(frame[200:], return_std=True, with_noise=True)
        inside = np.abs(y[200:] - mean) < 1.96 * std
        covered.append([inside[loud[200:]].mean(), inside[~loud[200:]].mean()])
    assert_allclose(np.mean(covered, axis=0), 0.95, atol=0.06)


def test_the_kernel_of_the_noise_may_be_named():
    frame, f, rng = two_labs(200, 0)
    y = f + np.where(frame["size"] > 3, 0.6, 0.1) * rng.normal(size=200)
    model = GRLSRegressor(Gaussian(1.0).on(["wave"]), noise=Gaussian(2.0).on(["size"])).fit(frame, y)
    again = pickle.loads(pickle.dumps(model))
    moved = frame.assign(wave=frame["wave"] + 1, lab="west")
    assert_allclose(again.predict_noise(moved), model.predict_noise(frame))
    order = np.argsort(frame["size"].to_numpy())
    assert model.predict_noise(frame)[order][-30:].mean() > 8 * model.predict_noise(frame)[order][:30].mean()
    blind = model.set_params(noise=Gaussian(2.0).on(["wave"])).fit(frame, y).predict_noise(frame)
    assert blind[order][-30:].mean() < 2 * blind[order][:30].mean()


def test_a_model_with_learnt_noise_is_kept_and_read():
    X, y = data(60)
    frame = pd.DataFrame({"t": X[:, 0]})
    model = GRLSRegressor(Gaussian(1.5), noise="learn").fit(frame, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_noise(frame), model.predict_noise(frame))
    assert_allclose(
        GRLSRegressor(Gaussian(1.5), noise="learn").fit(X, y).predict_noise(X), model.predict_noise(frame)
    )
    plain = model.set_params(noise=None).fit(frame, y)
    with pytest.raises(ValueError, match='models with noise="learn"'):
        plain.predict_noise(frame)
    assert_allclose(plain.predict(frame), GRLSRegressor(Gaussian(1.5)).fit(X, y).predict(X))


def test_the_last_fit_says_what_there_is_to_say():
    X, y = data(60)
    model = GRLSRegressor(
        Gaussian(1.5), features=lambda Z: np.column_stack([np.ones(len(Z)), Z, 2 * Z]), noise="learn"
    )
    with pytest.warns(DependentFeaturesWarning) as caught:
        model.fit(X, y)
    assert len(caught) == len(model.fit_warnings_) == 1


def test_what_cannot_be_is_said():
    X, y = data(40)
    for parameters, message in [
        ({"noise": "known"}, 'None or "learn", or a kernel'),
        ({"noise": np.ones(40)}, "known variances of the rows go to"),
        ({"noise": "learn", "formulation": "published"}, "formulation"),
        ({"noise": "learn", "solver": "cg", "regularization": 0.1}, "cholesky"),
        ({"noise": "learn", "regularization": 0.0}, "positive regularization"),
        ({"noise": "learn", "noise_variance": 1.0}, "noise_variance=None"),
        ({"noise": "learn", "features": EstimatorFeatures(LinearRegression())}, "made from y"),
    ]:
        with pytest.raises(ValueError, match=message):
            GRLSRegressor(Gaussian(1.0), **parameters).fit(X, y)
    model = GRLSRegressor(Gaussian(1.0), noise="learn")
    with pytest.raises(ValueError, match="given, or learnt"):
        model.fit(X, y, noise=np.ones(40))
    with pytest.raises(ValueError, match="there is none"):
        GRLSRegressor(Gaussian(1.0), features="linear", noise="learn").fit(X, np.zeros(40))
    model.fit(X, y)
    with pytest.raises(ValueError, match="has learnt the noise"):
        model.predict(X, return_std=True, with_noise=True, noise=np.ones(40))


def test_an_interruption_leaves_the_model_as_it_was(monkeypatch):
    X, y = data(40)
    model = GRLSRegressor(Gaussian(1.0), noise="learn").fit(X, y)
    before = model.predict_noise(X)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(learnt_noise, "_smoothest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y + X[:, 0])
    monkeypatch.undo()
    assert_array_equal(model.predict_noise(X), before)
