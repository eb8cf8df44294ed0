"""Searches for kernel parameters: starts that find the optimum, and all parameters that the data can tell."""

import os
from pathlib import Path

import numpy as np
import pytest
from grls import GRLSClassifier, GRLSRegressor
from grls._selection.parameters import Parameters
from grls._selection.starts import drawn_rows, scales_without_effect, starts
from grls.features import Columns
from grls.kernels import (
    Constant,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    PowerSeries,
    RationalQuadratic,
)
from numpy.testing import assert_allclose


def wiggly(m=120, seed=0):
    """Return a fast wave on a line: the median distance is a width a hundred times too large."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, size=m))[:, None]
    return x, np.sin(9 * x[:, 0]) + 0.3 * x[:, 0] + 0.2 * rng.normal(size=m)


@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_small_widths_are_found_from_the_median(criterion):
    x, y = wiggly()
    options = {"regularization": criterion}
    found = GRLSRegressor(Gaussian(), optimize=True, **options).fit(x, y)
    widths = {"sigma": np.geomspace(0.02, 20, 40)}
    grid = GRLSRegressor(Gaussian(), optimize=widths, **options).fit(x, y)
    assert found.criterion_path_.min() <= grid.criterion_surface_.min()
    assert 0.05 < found.kernel_.sigma < 1


@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_the_search_is_deterministic_and_no_worse_than_its_start(criterion):
    x, y = wiggly()
    for kernel in (Gaussian(), Gaussian(0.2), Laplace(50.0), Gaussian() + 0.1 * Laplace(0.5)):
        fitted = [
            GRLSRegressor(kernel, regularization=criterion, optimize=True, random_state=seed).fit(x, y)
            for seed in (0, 1, None)
        ]
        assert len({model.criterion_path_.min() for model in fitted}) == 1
        assert len(fitted[0].optimization_.starts) <= 3
        as_given = GRLSRegressor(kernel, regularization=criterion).fit(x, y)
        assert fitted[0].criterion_path_.min() <= as_given.criterion_path_.min() + 1e-9
        first = fitted[0].optimization_.starts[0][:-1]
        assert_allclose(first, Parameters(kernel.resolve(x), True, 1).get())


def noisy_table(m=90, d=6, seed=0):
    """Return few rows of a function of one column among six: widths that leave-one-out can overfit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=m)


def test_many_widths_are_those_of_the_likelihood_whatever_chooses_the_regularization():
    X, y = noisy_table()
    by_loo = GRLSRegressor(Gaussian("medians"), optimize=["sigma"], regularization="loo").fit(X, y)
    by_reml = GRLSRegressor(Gaussian("medians"), optimize=["sigma"], regularization="reml").fit(X, y)
    assert by_loo.optimization_.by == "reml"
    assert_allclose(by_loo.kernel_.sigma, by_reml.kernel_.sigma)
    as_given = GRLSRegressor(Gaussian("medians"), regularization="loo").fit(X, y)
    assert by_loo.loo_score_ >= as_given.loo_score_
    few = GRLSRegressor(Gaussian("medians"), optimize=["sigma"], regularization="loo").fit(X[:, :3], y)
    assert few.optimization_.by == "loo"


def test_widths_of_the_likelihood_that_leave_one_out_finds_worse_are_not_taken():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 5))
    worse = 0
    for _ in range(12):  # targets without a function behind them, and errors of a heavy tail
        y = rng.standard_t(df=2, size=40)
        tuned = GRLSRegressor(Gaussian("medians"), optimize=["sigma"], regularization="loo").fit(X, y)
        as_given = GRLSRegressor(Gaussian("medians"), regularization="loo").fit(X, y)
        assert tuned.criterion_path_.min() <= as_given.criterion_path_.min() * (1 + 1e-12)
        worse += bool(np.array_equal(tuned.kernel_.sigma, as_given.kernel_.sigma))
    assert worse > 0


def test_labels_have_no_likelihood_and_stay_with_leave_one_out():
    X, y = noisy_table()
    model = GRLSClassifier(Gaussian("medians"), optimize=["sigma"]).fit(X, y > 0)
    assert model.optimization_.by == "loo"


def test_further_starts_are_random():
    x, y = wiggly(60)
    model = GRLSRegressor(Gaussian(), regularization="reml", optimize=True, n_restarts=3, random_state=0)
    plain = GRLSRegressor(Gaussian(), regularization="reml", optimize=True)
    n_starts = len(plain.fit(x, y).optimization_.starts)
    assert len(model.fit(x, y).optimization_.starts) == n_starts + 3


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Gaussian(1.0), ["sigma"]),
        (2.0 * Gaussian(1.0), ["kernel__sigma"]),
        (2.0 * Gaussian(1.0) * Laplace(1.0), ["k1__kernel__sigma", "k2__sigma"]),
        (
            2.0 * Gaussian(1.0) + 0.5 * Laplace(1.0),
            ["k1__kernel__sigma", "k2__scale", "k2__kernel__sigma"],
        ),
        (Gaussian(1.0) + 0.5 * Linear(), ["k1__sigma", "k2__scale"]),
        ((2.0 * Gaussian(1.0) + Linear()).on([0]), ["kernel__k1__scale", "kernel__k1__kernel__sigma"]),
        (RationalQuadratic(1.0, 2.0), ["sigma", "alpha"]),
        (Periodic(1.0, 2.0), ["sigma", "period"]),
        (Polynomial(2, 0.5), ["c"]),
        (Polynomial(2, 0.0) + 0.5 * Linear(), ["k2__scale"]),
        (PowerSeries(Gaussian(1.0), [0.0, 1.0]), ["kernel__sigma"]),
        (Gaussian(1.0) + Constant(0.5), ["k1__sigma", "k2__value"]),
        ((3.0 * Gaussian(1.0)).normalized(), ["kernel__kernel__sigma"]),
        ((3.0 * Gaussian(1.0)).exp(), ["kernel__kernel__sigma", "kernel__scale"]),
    ],
    ids=repr,
)
def test_true_tunes_all_parameters_but_a_scale_that_regularization_makes_up_for(kernel, names):
    assert sorted(Parameters(kernel, True, 2).names) == sorted(names)


@pytest.mark.parametrize(
    "kernel",
    [2.0 * Gaussian(1.0), 2.0 * Gaussian(1.0) + 0.5 * Linear(), 2.0 * Gaussian(0.5) * (3.0 * Matern(1.0))],
    ids=repr,
)
def test_a_scale_without_effect_changes_nothing_but_the_regularization(kernel):
    x, y = wiggly(60)
    before = GRLSRegressor(kernel, regularization="reml").fit(x, y)
    for part in scales_without_effect(kernel):
        part.scale *= 7.0
    after = GRLSRegressor(kernel, regularization="reml", optimize=True).fit(x, y)
    assert after.criterion_path_.min() <= before.criterion_path_.min() + 1e-6


def test_weights_of_a_sum_are_tuned():
    x, y = wiggly()
    kernel = 1.0 * Gaussian(5.0) + 1e-6 * Gaussian(0.2)
    model = GRLSRegressor(kernel, regularization="reml", optimize=True).fit(x, y)
    widths = [name for name in kernel.get_params() if name.endswith("sigma")]
    only_widths = GRLSRegressor(kernel, regularization="reml", optimize=widths).fit(x, y)
    assert model.criterion_path_.min() < only_widths.criterion_path_.min() + 1e-6
    assert "k2__scale" in model.optimization_.parameters


def test_starts_are_the_local_minima_of_a_line():
    given, limits = np.array([64.0, 3.0]), np.array([[0.5, 1000.0], [3.0, 3.0]])
    bumpy = lambda p: -np.cos(2 * np.pi * np.log(p[0]) / np.log(16)) + 0.01 * p[0]  # noqa: E731
    found = starts(given, [np.array([0])], limits, bumpy)
    assert [point[0] for point in found] == [1.0, 16.0]  # and 256, the worst of them, is a third
    assert all(point[1] == 3.0 for point in found)
    assert starts(given, [], limits, bumpy) == []
    assert starts(given, [np.array([0])], limits, lambda p: np.inf) == []
    best_is_given = lambda p: abs(np.log(p[0] / 64))  # noqa: E731
    assert starts(given, [np.array([0])], limits, best_is_given) == []


def test_few_points_are_looked_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    twice = np.vstack([X, X[:50]])
    rows = drawn_rows(twice, 500)
    assert len(np.unique(twice[rows], axis=0)) == 500
    assert drawn_rows(X[:400], 500) is None
    order = rng.permutation(len(twice))
    assert set(order[drawn_rows(twice[order] * [1e6, 3e-7] + [5.0, 0.0], 500)]) == set(rows)
    y = np.sin(8 * X[:, 0]) + 0.1 * rng.normal(size=700)
    model = GRLSRegressor(Gaussian(), regularization="reml", optimize=True).fit(X, y)
    assert model.score(X, y) > 0.9


def _meuse():
    path = Path(os.environ.get("GRLS_DATA", "")) / "regression" / "meuse.csv"
    if "GRLS_DATA" not in os.environ or not path.exists():
        pytest.skip("GRLS_DATA names no folder with regression/meuse.csv")
    rows = np.genfromtxt(path, delimiter=",", names=True, usecols=("x", "y", "zinc", "dist"))
    X = np.column_stack([rows["x"] / 1000, rows["y"] / 1000, np.sqrt(rows["dist"])])
    return X, np.log(rows["zinc"])


def test_the_exponential_kernel_on_the_meuse_data_is_that_of_nlme():
    X, y = _meuse()
    model = GRLSRegressor(
        Laplace().on([0, 1]), features=Columns([2]), regularization="reml", optimize=True
    ).fit(X, y)
    shift, T = model.regularization_ * len(X), np.column_stack([np.ones(len(X)), X[:, 2]])
    n = len(X) - 2
    likelihood = -0.5 * (model.criterion_path_.min() + n + n * np.log(2 * np.pi))
    likelihood -= 0.5 * np.linalg.slogdet(T.T @ T)[1]  # R's determinant is of the features as given
    assert model.kernel_.kernel.sigma == pytest.approx(0.1925142, rel=1e-4)
    assert shift / (1 + shift) == pytest.approx(0.246345, rel=1e-4)
    assert likelihood == pytest.approx(-77.1721061, abs=1e-6)
    assert model.feature_coef_std_.ravel()[1] == pytest.approx(0.2348612, rel=1e-5)


def test_the_narrow_gaussian_of_the_meuse_data_is_found_whatever_the_seed():
    X, y = _meuse()
    for seed in range(3):
        model = GRLSRegressor(
            Gaussian().on([0, 1]),
            features=Columns([2]),
            regularization="reml",
            optimize=True,
            random_state=seed,
        ).fit(X, y)
        assert model.criterion_path_.min() == pytest.approx(-288.92, abs=0.01)
