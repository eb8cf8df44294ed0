"""The displays of a fitted regressor draw what it says: effects, maps, residuals, variogram, report."""

import itertools

import grls
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from grls import GRLSClassifier, GRLSRegressor, GRRegressor, NystromGRRegressor, plotting
from grls.conformal import ConformalRegressor
from grls.features import Columns
from grls.kernels import Gaussian, Laplace, Matern, Precomputed, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

mpl.use("Agg")


@pytest.fixture(autouse=True)
def figures():
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


def frame(m=80, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"east": rng.uniform(size=m), "north": rng.uniform(size=m), "depth": rng.normal(size=m)})
    y = 2 * X.depth + np.sin(5 * X.east) * np.cos(4 * X.north) + 0.2 * rng.normal(size=m)
    return X, y.rename("zinc")


@pytest.fixture(scope="module")
def fitted():
    X, y = frame()
    kernel = Laplace(0.5).on(["east", "north"])
    return GRLSRegressor(kernel, features=Columns(["depth"]), regularization="reml").fit(X, y), X, y


def test_effects_are_predictions_with_the_other_columns_at_their_medians(fitted):
    model, X, _ = fitted
    display = plotting.PartialEffectsDisplay.from_estimator(model, X, n_points=20, target="zinc")
    assert [effect.name for effect in display.effects] == ["east", "north", "depth"]
    for name, ax in zip(X.columns, display.axes_, strict=True):
        line, rug = ax.lines
        at = pd.DataFrame({other: np.full(20, X[other].median()) for other in X.columns})
        at[name] = np.linspace(X[name].min(), X[name].max(), 20)
        mean, std = model.predict(at, return_std=True)
        assert_allclose(line.get_xdata(), at[name])
        assert_allclose(line.get_ydata(), mean)
        band = ax.collections[0].get_paths()[0].vertices[:, 1]
        quantile = stats.t.ppf(0.975, model.degrees_of_freedom_)
        assert_allclose(
            [band.min(), band.max()], [(mean - quantile * std).min(), (mean + quantile * std).max()]
        )
        assert_array_equal(rug.get_xdata(), X[name])
        assert (ax.get_xlabel(), ax.get_ylabel()) == (name, "zinc")
    noisy = plotting.PartialEffectsDisplay.from_estimator(model, X, columns=["depth"], with_noise=True)
    assert noisy.n_axes == 1
    assert np.all(noisy.effects[0].std ** 2 > model.noise_variance_[0])


def test_rows_are_those_that_the_model_keeps(fitted):
    model, X, _ = fitted
    kept, given = (plotting.PartialEffectsDisplay.from_estimator(model, rows) for rows in (None, X))
    for ours, theirs in zip(kept.effects, given.effects, strict=True):
        assert_allclose(ours.mean, theirs.mean)
        assert ours.name == theirs.name
    bare = GRLSRegressor(Gaussian(0.5), regularization=0.1).fit(np.asarray(X), X.depth)
    assert [e.name for e in plotting.PartialEffectsDisplay.from_estimator(bare).effects] == ["x0", "x1", "x2"]


def test_a_pipeline_is_drawn_in_the_columns_that_it_takes(fitted):
    _, X, y = fitted
    pipeline = make_pipeline(StandardScaler(), GRLSRegressor(Gaussian(1.0), features="linear")).fit(X, y)
    display = plotting.PartialEffectsDisplay.from_estimator(pipeline, X, columns=["east"], n_points=5)
    effect = display.effects[0]
    at = pd.DataFrame({name: np.full(5, X[name].median()) for name in X})
    at["east"] = effect.line
    assert_allclose(effect.mean, pipeline.predict(at))
    assert effect.line.max() == X.east.max()
    with pytest.raises(ValueError, match="pass X"):
        plotting.PartialEffectsDisplay.from_estimator(pipeline)
    for display in (plotting.ResidualsDisplay, plotting.CoefficientsDisplay, plotting.VariogramDisplay):
        display.from_estimator(pipeline)
    plotting.RegularizationPathDisplay.from_estimator(pipeline)
    report = plotting.model_report(pipeline, X)
    assert {"residuals", "criterion", "coefficients", "variogram", "effects"} == set(report.displays)


def test_columns_of_words_stay_at_what_comes_most_often():
    X, y = frame()
    X["soil"] = np.where(np.arange(len(X)) % 3, "clay", "sand")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    encode = make_column_transformer((OneHotEncoder(), ["soil"]), remainder="passthrough")
    pipeline = make_pipeline(encode, GRLSRegressor(Gaussian(1.0))).fit(X, y)
    display = plotting.PartialEffectsDisplay.from_estimator(pipeline, X, n_points=4)
    assert [effect.name for effect in display.effects] == ["east", "north", "depth"]
    at = pd.DataFrame({name: np.full(4, X[name].median()) for name in ("east", "north", "depth")})
    at["depth"], at["soil"] = display.effects[2].line, "clay"
    assert_allclose(display.effects[2].mean, pipeline.predict(at))
    with pytest.raises(ValueError, match="'soil' holds no numbers"):
        plotting.PartialEffectsDisplay.from_estimator(pipeline, X, columns=["soil"])
    with pytest.raises(ValueError, match="'soil' holds no numbers"):
        plotting.MapDisplay.from_estimator(pipeline, X, columns=("soil", "east"))


def test_the_map_holds_means_and_deviations(fitted):
    model, X, _ = fitted
    display = plotting.MapDisplay.from_estimator(
        model, columns=("north", "east"), grid_resolution=7, target="zinc"
    )
    at = pd.DataFrame({"east": [display.y[4]], "north": [display.x[2]], "depth": [X.depth.median()]})
    mean, std = model.predict(at, return_std=True)
    assert display.mean[4, 2] == pytest.approx(mean[0])
    assert display.std[4, 2] == pytest.approx(std[0])
    first, second = display.axes_
    assert (first.get_xlabel(), first.get_ylabel()) == ("north", "east")
    assert_allclose(first.lines[0].get_xydata(), X[["north", "east"]])
    labels = [ax.get_ylabel() for ax in display.figure_.axes]
    assert "zinc" in labels
    assert "standard deviation of zinc" in labels
    assert second.get_title() == "how sure it is"
    with pytest.raises(ValueError, match="there is no column 'west'; choose from east, north, depth"):
        plotting.MapDisplay.from_estimator(model, columns=("west", "east"))
    with pytest.raises(ValueError, match="there is no column 3: X has 3"):
        plotting.MapDisplay.from_estimator(model, columns=(0, 3))


def test_residuals_are_those_of_the_fit_and_of_rows_left_out(fitted):
    model, X, y = fitted
    display = plotting.ResidualsDisplay.from_estimator(model, target="zinc")
    against, quantiles, rows = display.axes_
    assert_allclose(against.lines[1].get_xdata(), model.predict(X))
    assert_allclose(against.lines[1].get_ydata(), y - model.predict(X), atol=1e-9)
    left_out = model.cross_validate(cv="loo")
    assert_allclose(rows.lines[3].get_xdata(), left_out.predictions)
    assert_allclose(rows.lines[3].get_ydata(), left_out.z)
    assert_allclose(quantiles.lines[1].get_ydata(), np.sort(left_out.z))
    assert_allclose(stats.norm.cdf(quantiles.lines[1].get_xdata()), (np.arange(80) + 0.5) / 80)
    assert against.get_xlabel() == "fitted zinc"


def test_the_variogram_is_that_of_all_pairs(fitted):
    model, X, y = fitted
    display = plotting.VariogramDisplay.from_estimator(model, n_bins=6, max_distance=0.9)
    left = np.asarray(y) - model.feature_coef_[0] - model.feature_coef_[1] * X.depth.to_numpy()
    places = X[["east", "north"]].to_numpy()
    bins = [[] for _ in range(6)]
    for i in range(80):
        for j in range(i):
            distance = np.linalg.norm(places[i] - places[j])
            if distance <= 0.9:
                bins[min(int(distance / 0.15), 5)].append((distance, (left[i] - left[j]) ** 2 / 2))
    expected = np.array([np.mean(pairs, axis=0) for pairs in bins])
    assert_allclose(display.distance, expected[:, 0])
    assert_allclose(display.semivariance, expected[:, 1], rtol=1e-6)
    assert_array_equal(display.n_pairs, [len(pairs) for pairs in bins])
    assert display.names == ["east", "north"]
    # of a kernel of the distance the curve is a function of it
    curve = model.noise_variance_[0] + model.kernel_variance_[0] * (1 - np.exp(-display.line / 0.5))
    assert_allclose(display.expected, curve, rtol=2e-3)
    assert display.line[0] == 0
    assert display.noise == pytest.approx(model.noise_variance_[0])


def test_variograms_of_known_noise_and_of_many_rows():
    X, y = frame(m=60)
    noise = np.random.default_rng(1).uniform(0.01, 0.1, size=60)
    model = GRLSRegressor(Matern(0.5).on([0, 1]), features=Columns([2]), noise_variance=1.0)
    display = plotting.VariogramDisplay.from_estimator(model.fit(X.to_numpy(), y, noise=noise))
    assert display.noise == pytest.approx(noise.mean())
    many = np.random.default_rng(0).uniform(size=(1300, 1))
    dense = GRLSRegressor(Matern(0.1), regularization=0.01).fit(many, np.sin(9 * many[:, 0]))
    display = plotting.VariogramDisplay.from_estimator(dense)
    assert display.n_pairs.sum() < 1000 * 999 / 2


def test_coefficients_have_the_intervals_of_the_summary(fitted):
    model, X, _ = fitted
    table = model.summary(n_simulations=0).coefficients
    plain = plotting.CoefficientsDisplay.from_estimator(model, scaled=False)
    assert_allclose(plain.values, table["coefficient"])
    assert_allclose([plain.low, plain.high], [table["2.5 %"], table["97.5 %"]])
    display = plotting.CoefficientsDisplay.from_estimator(model, target="zinc")
    assert display.names == ["depth"]
    assert_allclose(display.values, table["coefficient"][1] * X.depth.std(ddof=0))
    assert display.ax_.get_xlabel() == "change of zinc per standard deviation"
    trend = GRLSRegressor(Gaussian(0.5), features="linear", regularization=0.1).fit(X + 1000, X.depth)
    scaled = plotting.CoefficientsDisplay.from_estimator(trend)
    assert_allclose(scaled.values, trend.feature_coef_[1:] * X.std(ddof=0), rtol=1e-6)
    wide = np.random.default_rng(0).normal(size=(100, 40))
    many = GRLSRegressor(Gaussian(5.0), features="linear", regularization=0.1).fit(wide, wide[:, 3])
    assert len(plotting.CoefficientsDisplay.from_estimator(many).names) == 30


def test_the_report_holds_all_that_applies(fitted):
    model, _, _ = fitted
    report = plotting.model_report(model, target="zinc")
    assert set(report.displays) == {
        "residuals",
        "criterion",
        "coefficients",
        "variogram",
        "effects",
        "map",
    }
    assert report.left_out == {}
    assert len([ax for ax in report.figure_.axes if ax.get_label() != "<colorbar>"]) == 11
    for display in report.displays.values():
        assert display.figure_ is report.figure_
    X, y = frame()
    given = GRLSRegressor(ThinPlate().on([0, 1]), features=Columns([0, 1]), regularization=0.1)
    report = plotting.model_report(given.fit(X.to_numpy(), y))
    assert set(report.displays) == {"residuals", "coefficients", "effects", "map"}
    assert "no path" in report.left_out["criterion"]
    assert "have no variance" in report.left_out["variogram"]
    kernel = Gaussian(0.5)
    matrix = GRLSRegressor(Precomputed()).fit(kernel(X.to_numpy()), y)
    report = plotting.model_report(matrix)
    assert set(report.displays) == {"residuals", "criterion"}
    assert set(report.left_out) == {"coefficients", "variogram"}


def test_what_cannot_be_drawn_is_a_clear_error(fitted):
    model, X, y = fitted
    with pytest.raises(NotFittedError):
        plotting.model_report(GRLSRegressor())
    with pytest.raises(TypeError, match=r"shows a GRLSRegressor, which keeps its rows.*got GRLSC"):
        plotting.ResidualsDisplay.from_estimator(GRLSClassifier("gaussian").fit(X, y > 0))
    both = GRLSRegressor("gaussian").fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="shows one output, the model has 2"):
        plotting.MapDisplay.from_estimator(both)
    with pytest.raises(ValueError, match="no coefficients to show"):
        plotting.CoefficientsDisplay.from_estimator(GRLSRegressor("gaussian").fit(X, y))
    with pytest.raises(ValueError, match="no two rows"):
        plotting.VariogramDisplay.from_estimator(model, max_distance=1e-9)
    with pytest.raises(ValueError, match="takes 3 pairs of axes, got 1"):
        plotting.ResidualsDisplay.from_estimator(model, axes=mpl.figure.Figure().subplots())
    with pytest.raises(ValueError, match="X must have rows and columns"):
        plotting.MapDisplay.from_estimator(model, np.zeros(3))
    with pytest.raises(ValueError, match="a map has two columns, got 1"):
        plotting.MapDisplay.from_estimator(model, columns=("east",))


def test_the_path_of_groups_left_out_is_drawn(fitted):
    _, X, y = fitted
    model = GRLSRegressor(Gaussian(0.5), regularization="logo").fit(X, y, groups=np.arange(80) // 10)
    display = plotting.RegularizationPathDisplay.from_estimator(model)
    assert display.ax_.get_ylabel() == "error of groups left out"


def test_effects_of_other_losses_have_bands_where_the_loss_has_them():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (50, 2))
    counts = rng.poisson(np.exp(1 + np.sin(X[:, 0])))
    model = GRRegressor(Gaussian(1.0), loss="poisson", regularization=0.1).fit(X, counts)
    display = plotting.PartialEffectsDisplay.from_estimator(model, X, n_points=20)
    rows = np.column_stack([display.effects[0].line, np.full(20, np.median(X[:, 1]))])
    assert_allclose(display.effects[0].mean, model.predict(rows))
    assert_allclose(display.effects[0].ends, model.predict_interval(rows, 0.05, with_noise=False))
    assert "band" in display.axes_[0].get_title()
    pipeline = make_pipeline(StandardScaler(), GRRegressor(Gaussian(1.0), loss="poisson", regularization=0.1))
    shown = plotting.PartialEffectsDisplay.from_estimator(pipeline.fit(X, counts), X, n_points=20)
    assert_allclose(
        shown.effects[0].ends,
        pipeline[-1].predict_interval(pipeline[:-1].transform(rows), 0.05, with_noise=False),
    )
    levels = GRRegressor(Gaussian(1.0), loss="quantile", quantiles=[0.1, 0.9], regularization=0.1)
    lines = plotting.PartialEffectsDisplay.from_estimator(levels.fit(X, counts), X, n_points=20)
    assert lines.effects[1].mean.shape == (20, 2)
    assert lines.effects[1].ends is None
    assert "band" not in lines.axes_[1].get_title()
    with pytest.raises(ValueError, match="with_noise"):
        plotting.PartialEffectsDisplay.from_estimator(levels, X, with_noise=True)


def test_coverage_is_drawn_with_its_intervals_and_what_was_promised():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = X[:, 0] + (0.1 + X[:, 1]) * rng.standard_normal(300)
    model = ConformalRegressor(
        LinearRegression(), features={"high": lambda X: X[:, 1] > 0.5}, alpha=[0.1, 0.5], random_state=0
    ).fit(X[:200], y[:200])
    display = plotting.CoverageDisplay.from_estimator(model, X[200:], y[200:])
    report = model.coverage_report(X[200:], y[200:])
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        *("all, 0.9", "high, 0.9", "all, 0.5", "high, 0.5")
    ]
    promised = [line.get_xdata()[0] for line in display.ax_.lines if len(set(line.get_xdata())) == 1]
    assert {0.5, 0.9} <= set(np.round(promised, 12))
    (points,) = (c for c in display.ax_.containers)
    assert_allclose(points.lines[0].get_xdata(), report.coverage)
    broken = ConformalRegressor(model.estimator_, cv="prefit").fit(X[:200], 0.01 * y[:200])
    broken.estimator_ = model.estimator_
    broken.scores_ = 1e-3 * broken.scores_
    labels = plotting.CoverageDisplay.from_estimator(broken, X[200:], y[200:]).ax_.get_legend().get_texts()
    assert [text.get_text() for text in labels] == ["below what was promised"]


def test_maps_and_lines_of_other_losses():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (60, 3))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=60)
    counts = rng.poisson(np.exp(np.sin(X[:, 0])))
    draw = plotting.MapDisplay.from_estimator
    given = {"regularization": 1e-2}

    robust = GRRegressor(Gaussian(2.0), **given).fit(X, y)
    display = draw(robust, X, columns=(1, 0), grid_resolution=5)
    assert display.std is None
    assert len(display.axes_) == 1
    rows = np.tile(np.median(X, axis=0), (25, 1))
    rows[:, 1], rows[:, 0] = (values.ravel() for values in np.meshgrid(display.x, display.y))
    assert_allclose(display.mean.ravel(), robust.predict(rows))
    with pytest.raises(ValueError, match="with_noise is for models that have bands"):
        draw(robust, X, with_noise=True)

    levels = GRRegressor(Gaussian(2.0), loss="quantile", quantiles=[0.9, 0.1, 0.5], **given).fit(X, y)
    display = draw(levels, X, columns=(1, 0), grid_resolution=5)
    found = levels.predict(rows)
    assert_allclose(display.mean.ravel(), found[:, 2])
    assert_allclose(display.std.ravel(), found[:, 0] - found[:, 1])
    assert display.levels == (0.1, 0.9)
    assert display.axes_[1].get_title() == "how wide the levels are"

    poisson = GRRegressor(Gaussian(2.0), loss="poisson", **given).fit(X, counts)
    display = draw(poisson, X, columns=(1, 0), grid_resolution=5)
    mean, std = poisson.predict(rows, return_std=True)
    assert_allclose(display.mean.ravel(), mean)
    assert_allclose(display.std.ravel(), std)
    assert display.axes_[1].get_title() == "how sure it is"
    piped = make_pipeline(StandardScaler(), GRRegressor(Gaussian(2.0), loss="poisson", **given)).fit(
        X, counts
    )
    scaled = piped[:-1].transform(rows)
    assert_allclose(
        draw(piped, X, columns=(1, 0), grid_resolution=5).std.ravel(), piped[-1].predict(scaled, True)[1]
    )

    centres = NystromGRRegressor(Gaussian(2.0), n_centers=20, **given).fit(X, counts)
    display = draw(centres, X, columns=(1, 0), grid_resolution=5)
    assert display.std is None
    assert_allclose(display.mean.ravel(), centres.predict(rows))
    effects = plotting.PartialEffectsDisplay.from_estimator(centres, X, columns=[0], n_points=7).effects
    assert effects[0].ends is effects[0].std is None
    line = np.tile(np.median(X, axis=0), (7, 1))
    line[:, 0] = effects[0].line
    assert_allclose(effects[0].mean, centres.predict(line))
    with pytest.raises(ValueError, match=r"NystromGRRegressor.* has none"):
        plotting.PartialEffectsDisplay.from_estimator(centres, X, with_noise=True)
    one = NystromGRRegressor(Gaussian(2.0), n_centers=20, **given).fit(X[:, :1], counts)
    fit = plotting.FitDisplay.from_estimator(one, X[:, :1], counts, n_points=9)
    assert fit.band is None
    assert_allclose(fit.mean, one.predict(fit.line[:, None]))

    two = GRRegressor(Gaussian(2.0), **given).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="one output, the model has 2"):
        draw(two, X)
    for display in (plotting.ResidualsDisplay, plotting.VariogramDisplay):
        with pytest.raises(TypeError, match="shows a GRLSRegressor"):
            display.from_estimator(robust)


# Any model.


def wave(n=60, columns=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, size=(n, columns))
    return X, np.sin(X[:, 0]) + X[:, -1] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    "model",
    [
        grls.NystromGRLSRegressor(Gaussian(1.0), features="linear", n_centers=30, regularization=1e-3),
        grls.FourierGRLSRegressor(Gaussian(2.0), features="linear", regularization=1e-3),
        grls.PriorRLSRegressor(kernel=Gaussian(1.0), regularization=1e-3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_displays_show_the_errors_of_every_model_that_has_them(model, figures):
    X, y = wave()
    model = clone(model).fit(X, y)
    effects = plotting.PartialEffectsDisplay.from_estimator(model, X, n_points=7).effects
    rows = np.column_stack([effects[0].line, np.full(7, np.median(X[:, 1]))])
    mean, std = model.predict(rows, return_std=True)
    assert_allclose(effects[0].mean, mean)
    assert_allclose(effects[0].std, std)
    assert plotting.MapDisplay.from_estimator(model, X, grid_resolution=4).std is not None
    table = model.summary().coefficients
    if len(table.rows) > 1:
        shown = plotting.CoefficientsDisplay.from_estimator(model, scaled=False)
        assert_allclose(shown.low, table["2.5 %"])
    report = plotting.model_report(model, X)
    assert {"effects", "map"} <= set(report.displays)
    assert "keeps its rows" in report.left_out["residuals"]


def test_a_fourier_model_is_drawn_along_its_variable(figures):
    X, y = wave(columns=1)
    model = grls.FourierGRLSRegressor(Gaussian(1.0), regularization=1e-3).fit(X, y)
    display = plotting.FitDisplay.from_estimator(model, X, y, n_points=20)
    mean, std = model.predict(display.line[:, None], return_std=True, with_noise=True)
    assert_allclose(display.mean, mean)
    assert np.all(display.band[:, 1] - display.band[:, 0] > 3.9 * std)
    known = plotting.DecompositionDisplay.from_estimator(model, X, y, n_points=20)
    assert_allclose(known.known + known.learnt, mean, atol=1e-9)


def test_classes_are_drawn_as_probabilities_or_decisions(figures):
    X, y = wave()
    labels = np.where(y > np.median(y), "up", "down")
    logistic = grls.GRLogisticClassifier(Gaussian(1.0), regularization=1e-2).fit(X, labels)
    effect = plotting.PartialEffectsDisplay.from_estimator(logistic, X, n_points=5).effects[0]
    assert effect.label == "probability of up"
    assert np.all((effect.mean > 0) & (effect.mean < 1))
    assert effect.ends is None
    squares = grls.GRLSClassifier(Gaussian(1.0), regularization=1e-2).fit(X, labels)
    assert plotting.MapDisplay.from_estimator(squares, X, grid_resolution=4).target == "decision for up"
    line = plotting.FitDisplay.from_estimator(
        clone(logistic).fit(X[:, :1], labels), X[:, :1], labels, n_points=9
    )
    assert set(line.y) == {0.0, 1.0}
    three = clone(squares).fit(X, np.digitize(y, [1.0, 4.0]))
    with pytest.raises(ValueError, match="two classes, the model has 3"):
        plotting.PartialEffectsDisplay.from_estimator(three, X)


def test_a_variogram_over_columns_of_unlike_units_is_left_out(figures):
    X, y = wave()
    X[:, 1] *= 1000
    model = GRLSRegressor(Gaussian([1.0, 1000.0]), regularization=1e-3).fit(X, y)
    with pytest.raises(ValueError, match="x0, x1 are of unlike units"):
        plotting.VariogramDisplay.from_estimator(model)
    assert "unlike units" in plotting.model_report(model).left_out["variogram"]


def test_long_labels_of_ticks_do_not_run_together(figures):
    X, y = wave()
    X[:, 0] = 178_000 + 500 * X[:, 0]
    model = GRLSRegressor(Gaussian([500.0, 1.0]), regularization=1e-3).fit(X, y)
    figure, axes = figures.subplots(1, 6, figsize=(12, 3), layout="constrained")
    display = plotting.PartialEffectsDisplay.from_estimator(model, columns=[0], axes=axes[:1])
    figure.canvas.draw()
    ends = [label.get_window_extent() for label in display.axes_[0].get_xticklabels() if label.get_visible()]
    low, high = display.axes_[0].get_window_extent().intervalx
    inside = sorted((e.x0, e.x1) for e in ends if low <= (e.x0 + e.x1) / 2 <= high)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(inside))
