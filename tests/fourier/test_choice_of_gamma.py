"""The choice of γ and widths with Fourier modes: slopes, few readings, the least γ, waves of the box."""

import numpy as np
import pytest
from grls import FourierGRLSRegressor, GRLSRegressor
from grls.kernels import Gaussian, Matern, RationalQuadratic
from numpy.testing import assert_allclose

pytest.importorskip("finufft")

from grls._fourier import selection
from grls._fourier import system as system_
from grls._fourier.choosing import _same_crossing
from grls._fourier.modes import choose_modes, half_positions
from grls._fourier.selection import _Criterion, _descend, _Reading, choose, least_shift
from grls._fourier.sums import sums_of_rows
from grls._fourier.system import System


def drawn(m, d, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(m, d))
    return X, np.sin(7 * X[:, 0]) + X.sum(axis=1) ** 2 + noise * rng.normal(size=m)


def equations(kernel, X, y, tol=1e-3, *, beyond=True):
    modes = choose_modes(kernel, X.shape[1], X.min(axis=0), X.max(axis=0), tol, 10**6, beyond=beyond)
    T = np.column_stack([np.ones(len(X)), X])
    return System(modes, sums_of_rows(modes, X, T, y.reshape(len(y), -1), None), T.shape[1])


@pytest.mark.parametrize("low", [1000, 60])
@pytest.mark.parametrize("by", ["gcv", "reml", "holdout"])
def test_the_slope_is_that_of_the_criterion(monkeypatch, by, low):
    """Also beyond the low modes, where both are estimates from the same random vectors."""
    monkeypatch.setattr(system_, "LOW_MODES", low)
    X, y = drawn(300, 2)
    Y = np.column_stack([y, y])
    system = equations(Gaussian(0.2), X, Y)
    assert system.is_direct == (low == 1000)
    # The rows held out have the modes of the others.
    held_out = System(
        system.modes,
        sums_of_rows(system.modes, X[:100], np.column_stack([np.ones(100), X[:100]]), Y[:100] + 0.1, None),
        3,
    )
    for s in (0.05, 0.7):
        criterion = _Criterion(by, system, held_out, 1000, lambda text: None)
        step = 3e-2
        above, below = criterion(s * np.exp(step)).value, criterion(s * np.exp(-step)).value
        if by != "reml":  # in units of twice a log-likelihood
            weight = system.degrees if by == "gcv" else held_out.weight
            above, below = weight * np.log(above), weight * np.log(below)
        slope = (above - below) / (2 * step)
        assert_allclose(criterion(s).slope, slope, rtol=2e-2, atol=0.1 if low == 1000 else 1.0)


@pytest.mark.parametrize("start", [1e-3, 0.5, 300.0])
@pytest.mark.parametrize("by", ["gcv", "reml"])
def test_any_start_leads_to_where_a_fine_grid_does(by, start):
    X, y = drawn(300, 1)
    system = equations(Matern(0.3, 2.5), X, y, 1e-4)
    assert system.is_direct
    options = {"max_iter": 1000, "report": lambda text: None}
    found = choose(by, system, None, 20, start=start, **options)
    grid = choose(by, system, None, found.regularization * np.geomspace(0.1, 10, 41), **options)
    assert abs(np.log(found.regularization / grid.regularization)) < 0.15
    assert len(found.path) <= 8
    assert found.value <= grid.value + 0.1 * (1 if by == "reml" else abs(grid.value) / 300)


def test_a_search_goes_to_the_end_where_the_slope_leads_there_and_tells_it():
    class Falling:
        def __call__(self, s):
            return _Reading(s, 1.0 + s)

    class Unsolved(Falling):
        def __call__(self, s):
            return _Reading(np.log(s) ** 2, 2 * np.log(s)) if s > 0.1 else selection._UNSOLVED

    assert _descend(Falling(), 1.0, 1e-6, 1e3, np.nan)[0]
    seen = []
    counted = Unsolved()
    _descend(lambda s: (seen.append(s), counted(s))[1], 1e-5, 1e-9, 1e9, np.nan)
    assert abs(np.log(seen[-1])) < 0.5


@pytest.mark.filterwarnings("ignore:on 400 rows the fit with Fourier modes")
@pytest.mark.parametrize("by", ["gcv", "reml", "holdout"])
def test_without_noise_the_least_regularization_is_chosen_with_a_warning(by):
    X, _ = drawn(400, 1)
    y = np.sin(7 * X[:, 0])
    with pytest.warns(UserWarning, match=r"asks for less regularization than .* lower tol") as told:
        model = FourierGRLSRegressor(Gaussian(0.2), regularization=by, tol=1e-3).fit(X, y)
    assert any("asks for less" in message for message in model.fit_warnings_)
    assert sum("asks for less" in str(each.message) for each in told) == 1
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 1e-3
    least = least_shift(model._system())
    assert model.regularization_ * 400 >= least * (1 - 1e-9)
    finer = FourierGRLSRegressor(Gaussian(0.2), regularization=by, tol=1e-6)
    with pytest.warns(UserWarning, match="asks for less"):
        assert finer.fit(X, y).regularization_ < 0.1 * model.regularization_


@pytest.mark.parametrize(
    ("kernel", "d"),
    [(Matern(0.1), 1), (Gaussian([0.2, 0.5]), 2), (RationalQuadratic(0.2, 1.5), 1), (Matern(0.7, 2.5), 3)],
)
def test_fewer_waves_stand_for_the_kernel_between_rows_of_the_box(kernel, d):
    low, high, tol = np.zeros(d), np.linspace(1.0, 1.5, d), 3e-3
    inside = choose_modes(kernel, d, low, high, tol, 10**6, beyond=False)
    assert inside.count < choose_modes(kernel, d, low, high, tol, 10**6).count
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(low, high, (300, d)), rng.uniform(low, high, (300, d))
    X[0], Z[0], X[1] = low, high, Z[1]
    exact = np.array([kernel(x[None], z[None])[0, 0] for x, z in zip(X, Z, strict=True)])
    j = half_positions(inside, np.arange(len(inside.weights)))
    times = np.where(np.arange(len(j)) == 0, 1.0, 2.0) * inside.weights
    found = np.cos(2 * np.pi * (X - Z) / inside.period @ j.T) @ times
    assert np.abs(found - exact).max() <= tol


@pytest.mark.filterwarnings("ignore:on 400 rows the fit with Fourier modes")
@pytest.mark.parametrize("by", ["gcv", "reml"])
def test_beyond_the_low_modes_the_choice_is_about_that_of_the_exact_model(monkeypatch, by):
    """Waves of the box, a sample's start and estimated traces; rows in blocks give the same."""
    monkeypatch.setattr(system_, "LOW_MODES", 150)
    X, y = drawn(400, 2)
    kernel = Matern(0.5, 2.5)
    model = FourierGRLSRegressor(kernel, features="linear", regularization=by, tol=1e-3).fit(X, y)
    assert np.prod(model.n_modes_) > 300
    exact = GRLSRegressor(kernel, features="linear", regularization=by).fit(X, y)
    assert abs(np.log(model.regularization_ / exact.regularization_)) < 0.35
    assert len(model.regularization_path_) <= 8
    blocks = [(X[:150], y[:150]), (X[150:], y[150:])]
    again = FourierGRLSRegressor(kernel, features="linear", regularization=by, tol=1e-3).fit(blocks)
    assert abs(np.log(model.regularization_ / again.regularization_)) < 0.1


def test_a_new_width_begins_where_the_same_waves_are_determined():
    X, y = drawn(2000, 2)
    one, two = (equations(Matern(width), X, y, 3e-3) for width in (0.3, 0.6))
    s = 1.0
    found = _same_crossing(one.modes, s, one.weight, two.modes)
    # Beyond the bend of the densities, weights at a frequency are as σ⁻³, in units of the kernel's variance.
    assert_allclose(found / s, 2.0**-3, rtol=0.3)
    assert_allclose(_same_crossing(two.modes, found, two.weight, one.modes), s, rtol=0.3)
    assert _same_crossing(one.modes, 1e9, one.weight, one.modes) == 1e9
