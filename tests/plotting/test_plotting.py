"""The displays draw what the model says."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from grls import GRLSClassifier, GRLSRegressor, GRRegressor, KernelPCA, plotting
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

mpl.use("Agg")


@pytest.fixture
def figures():
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 10, 60))[:, None]
    y = 2 * X[:, 0] + np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60)
    return GRLSRegressor(Gaussian(sigma=1.0), features="linear").fit(X, y), X, y


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_the_path_display_marks_the_choice(fitted, figures, criterion):
    model, X, y = fitted
    model = GRLSRegressor(Gaussian(sigma=1.0), regularization=criterion).fit(X, y)
    display = plotting.RegularizationPathDisplay.from_estimator(model)
    curve, mark = display.ax_.lines
    assert_allclose(curve.get_xdata(), model.regularization_path_)
    assert_allclose(mark.get_xdata(), model.regularization_)
    assert_allclose(mark.get_ydata(), model.criterion_path_.min())
    assert display.figure_ is display.ax_.figure


@pytest.mark.parametrize(
    ("loss", "label"), [("poisson", "leave-one-out deviance"), ("huber", "loss of rows")]
)
def test_the_path_display_shows_other_losses(fitted, figures, loss, label):
    _, X, y = fitted
    model = GRRegressor(Gaussian(sigma=1.0), loss=loss).fit(X, np.round(np.abs(y)))
    display = plotting.RegularizationPathDisplay.from_estimator(model)
    assert label in display.ax_.get_ylabel()
    assert_allclose(display.ax_.lines[1].get_ydata(), model.criterion_path_.min())


def test_bands_of_counts_are_drawn_above_zero(fitted, figures):
    X = fitted[1]
    counts = np.round(np.exp(np.sin(X[:, 0])))
    model = GRRegressor(Gaussian(sigma=1.0), loss="poisson").fit(X, counts)
    display = plotting.FitDisplay.from_estimator(model, X, counts)
    assert display.band.min() >= 0
    assert_allclose(display.band, model.predict_interval(display.line[:, None], 0.05))


def test_the_path_display_shows_every_output(fitted, figures):
    _, X, y = fitted
    model = GRLSRegressor(per_output=True).fit(X, np.column_stack([y, np.cos(X[:, 0])]))
    display = plotting.RegularizationPathDisplay.from_estimator(model)
    assert len(display.ax_.lines) == 4
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["output 0", "output 1"]


def test_the_contour_display_holds_the_criterion_of_every_pair(fitted, figures):
    model, X, y = fitted
    sigmas, gammas = [0.3, 1.0, 3.0], [1e-4, 1e-2, 1.0]
    display = plotting.CriterionContourDisplay.from_estimator(
        model, X, y, values=sigmas, regularization_grid=gammas
    )
    alone = GRLSRegressor(Gaussian(sigma=3.0), features="linear", regularization_grid=gammas).fit(X, y)
    assert_allclose(display.criterion[2], alone.criterion_path_)
    (star,) = display.ax_.lines
    v, g = np.unravel_index(display.criterion.argmin(), (3, 3))
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (gammas[g], sigmas[v])
    with pytest.raises(ValueError, match="must choose"):
        plotting.CriterionContourDisplay.from_estimator(
            GRLSRegressor(regularization=1.0), X, y, values=sigmas, regularization_grid=gammas
        )


def test_the_fit_display_draws_prediction_and_band(fitted, figures):
    model, X, y = fitted
    display = plotting.FitDisplay.from_estimator(model, X, y, n_points=50)
    samples, line = display.ax_.lines
    assert_allclose(samples.get_ydata(), y)
    mean, std = model.predict(np.asarray(line.get_xdata())[:, None], return_std=True, with_noise=True)
    assert_allclose(line.get_ydata(), mean)
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    away = stats.t.ppf(0.975, model.degrees_of_freedom_) * std
    assert_allclose([band.min(), band.max()], [(mean - away).min(), (mean + away).max()])
    inside = np.abs(y - np.interp(X[:, 0], display.line, mean)) < 1.96 * np.interp(X[:, 0], display.line, std)
    assert inside.mean() > 0.85


def test_the_decomposition_display_draws_both_parts(fitted, figures):
    model, X, y = fitted
    fig, axes = figures.subplots(1, 2)
    display = plotting.DecompositionDisplay.from_estimator(model, X, y, n_points=30, axes=axes)
    assert display.figure_ is fig
    known, learnt = model.decompose(display.line[:, None])
    assert_allclose(axes[0].lines[1].get_ydata(), known)
    assert_allclose(axes[0].lines[2].get_ydata(), known + learnt)
    assert_allclose(axes[1].lines[2].get_ydata(), learnt)
    assert len(plotting.DecompositionDisplay.from_estimator(model, X).axes_[0].lines) == 2


def test_the_components_display_colours_the_classes(figures):
    X, y = load_iris(return_X_y=True)
    model = KernelPCA(3, Gaussian(1.0)).fit(X)
    display = plotting.ComponentsDisplay.from_estimator(model, X, y, components=(2, 0))
    Z = model.transform(X)[:, [2, 0]]
    for label, points in enumerate(display.ax_.collections):
        assert_allclose(points.get_offsets(), Z[y == label])
    assert len({tuple(points.get_facecolor()[0]) for points in display.ax_.collections}) == 3
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]
    share = f"({100 * model.explained_variance_ratio_[2]:.3g} %)"
    assert display.ax_.get_xlabel() == f"component 3 {share}"
    plain = plotting.ComponentsDisplay.from_estimator(model, X, ax=figures.subplots()[1])
    (points,) = plain.ax_.collections
    assert_allclose(points.get_offsets(), model.transform(X)[:, :2])
    assert plain.ax_.get_legend() is None
    many = plotting.ComponentsDisplay.from_estimator(model, X, np.arange(150) % 30)
    assert len(many.ax_.collections) == 30
    assert many.ax_.get_legend() is None


def test_the_boundary_display_draws_margins_and_support_vectors(figures):
    X, y = make_moons(80, noise=0.2, random_state=0)
    svm = SVC(gamma=1.0).fit(X, y)
    display = plotting.DecisionBoundaryDisplay.from_estimator(svm, X, y, grid_resolution=40)
    corner = np.array([[display.xx0[3, 5], display.xx1[3, 5]]])
    assert_allclose(display.response[3, 5], svm.decision_function(corner)[0])
    assert_array_equal(display.levels_.levels, [-1, 0, 1])
    assert_allclose(display.support_marks_.get_offsets(), X[svm.support_])
    assert_allclose(display.support_marks_.get_facecolor().size, 0)
    for label in (0, 1):
        assert_allclose(display.ax_.collections[-2 + label].get_offsets(), X[y == label])
    # the line at zero separates the two signs
    zero = display.levels_.get_paths()[1].vertices
    assert np.abs(svm.decision_function(zero)).max() < 0.05
    plain = plotting.DecisionBoundaryDisplay.from_estimator(GRLSClassifier().fit(X, y), X, grid_resolution=20)
    assert plain.support_marks_ is None


def test_the_boundary_display_shows_several_classes_and_frames(figures):
    iris = load_iris(as_frame=True)
    frame, names = iris.data.iloc[:, [0, 2]], iris.target_names[iris.target]
    model = GRLSClassifier(Gaussian(1.0)).fit(frame, names)
    display = plotting.DecisionBoundaryDisplay.from_estimator(model, frame, names, grid_resolution=30)
    at = pd.DataFrame(
        {name: [grid[7, 9]] for name, grid in zip(frame, (display.xx0, display.xx1), strict=True)}
    )
    assert_allclose(display.response[7, 9], model.decision_function(at)[0])
    assert_array_equal(display.levels_.levels, [0.5, 1.5])
    assert list(display.classes) == sorted(set(names))


def test_what_cannot_be_drawn_is_a_clear_error(fitted, figures):
    _, X, y = fitted
    with pytest.raises(ValueError, match="no path"):
        plotting.RegularizationPathDisplay.from_estimator(GRLSRegressor(regularization=1.0).fit(X, y))
    wide = np.hstack([X, X**2])
    with pytest.raises(ValueError, match="one variable"):
        plotting.FitDisplay.from_estimator(GRLSRegressor().fit(wide, y), wide, y)
    with pytest.raises(ValueError, match="two variables"):
        plotting.DecisionBoundaryDisplay.from_estimator(GRLSClassifier().fit(X, y > y.mean()), X)
    with pytest.raises(ValueError, match="no decision_function"):
        plotting.DecisionBoundaryDisplay.from_estimator(GRLSRegressor().fit(wide, y), wide)
    svm = SVC().fit(wide, y > y.mean())
    with pytest.raises(ValueError, match="training points"):
        plotting.DecisionBoundaryDisplay.from_estimator(svm, wide[:3])
    with pytest.raises(ValueError, match="the model has 2"):
        plotting.ComponentsDisplay.from_estimator(KernelPCA(2).fit(wide), wide, components=(0, 2))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        plotting.ComponentsDisplay.from_estimator(KernelPCA(2).fit(wide), wide, y[:5])
    several = GRLSClassifier().fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="one output"):
        plotting.DecompositionDisplay.from_estimator(several, X)


def test_without_matplotlib_the_error_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"grls\[plot\]"):
        plotting.RegularizationPathDisplay.from_estimator(fitted[0])
