"""`FourierGRLSRegressor` against the exact model, and what it promises of blocks, weights and errors."""

import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from grls import (
    FourierGRLSRegressor,
    GRLSRegressor,
    NotPositiveDefiniteError,
    get_num_threads,
    set_num_threads,
)
from grls.kernels import Gaussian, Laplace, Linear, Matern, Periodic, RationalQuadratic, Wendland
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import PolynomialFeatures

pytest.importorskip("finufft")

from grls._fourier import system as system_
from grls._fourier.modes import choose_modes, half, half_positions
from grls._fourier.sums import sums_of_rows
from grls._fourier.system import System, Toeplitz, independent
from grls._fourier.traces import Traces
from grls._fourier.transforms import wave_sums, wave_values

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def few_low_modes(monkeypatch):
    """Let conjugate gradients and estimated traces begin at modes that take no time."""
    monkeypatch.setattr(system_, "LOW_MODES", 150)


def drawn(m, d, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(m, d))
    return X, np.sin(7 * X[:, 0]) + X.sum(axis=1) ** 2 + noise * rng.normal(size=m)


# The modes.

KERNELS = {
    "gaussian": (Gaussian(0.2), 2),
    "one column": (Matern(0.1), 1),
    "three columns": (Matern(0.7, 2.5), 3),
    "rough": (Laplace(0.5), 1),
    "absolute differences": (Laplace([1.0, 2.0], norm="l1"), 2),
    "any smoothness": (Matern(0.3, 1.1), 1),
    "a width for each column": (Gaussian([0.1, 0.5, 0.9]), 3),
    "rational quadratic": (RationalQuadratic(0.2, 1.5), 1),
    "long tails": (RationalQuadratic(0.2, 0.6), 1),
    "a pole at zero": (RationalQuadratic(0.2, 0.9), 2),
    "sum": (0.5 * Gaussian(0.1) + 2.0 * Matern(0.4, 2.5), 2),
    "product on columns": (Gaussian(0.2).on(0) * Matern(0.4).on(1), 2),
    "power": (Gaussian(0.4) ** 2 * Gaussian([0.2, 0.7]), 2),
    "additive": (Gaussian(0.2).on(0) + Matern(0.4).on(1) + 0.5, 2),
    "some columns": (Gaussian(0.2).on([3, 1]), 4),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("tol", [1e-1, 3e-3])
def test_the_kernel_is_within_the_tolerance_everywhere(name, tol):
    kernel, d = KERNELS[name]
    if name == "absolute differences":  # so rough that two columns need millions of modes
        tol = max(tol, 3e-2)
    rng = np.random.default_rng(1)
    low, high = np.full(d, -1.0), np.linspace(1.0, 2.0, d)
    modes = choose_modes(kernel, d, low, high, tol, 1_000_000)
    # New rows may lie outside the box, as far as the kernel reaches.
    Z = rng.uniform(low, high, (300, d))
    X = Z.copy()
    X[:, list(modes.columns)] = rng.uniform(
        modes.low - modes.reach, modes.high + modes.reach, (300, len(modes.columns))
    )
    X[:150] = Z[:150] + 0.02 * rng.normal(size=(150, d))
    X[:20] = Z[:20]
    exact = np.array([kernel(x[None], z[None])[0, 0] for x, z in zip(X, Z, strict=True)])
    j = half_positions(modes, np.arange(len(modes.weights)))
    angle = 2 * np.pi * (X - Z)[:, list(modes.columns)] / modes.period @ j.T
    times = np.where(np.arange(len(j)) == 0, 1.0, 2.0) * modes.weights
    error = np.abs(np.cos(angle) @ times - exact).max() / kernel(Z[:1], Z[:1])[0, 0]
    assert error <= tol
    assert modes.kernel_error <= tol
    assert modes.count == np.prod(modes.shape) == 2 * len(modes.weights) - 1


def test_too_many_modes_are_refused_with_the_count_and_a_tolerance_that_fits():
    X, y = drawn(200, 2)
    model = FourierGRLSRegressor(Laplace(0.1), regularization=1e-3, max_modes=10_000)
    with pytest.raises(
        ValueError, match=r"needs \d+ Fourier modes for tol=0.001 .* the smallest tol that fits is"
    ) as e:
        model.fit(X, y)
    tol = float(str(e.value).split("that fits is ")[1].split(". ")[0])
    model.set_params(tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.prod(model.fit(X, y).n_modes_) <= 10_000
    with pytest.raises(ValueError, match="no tol fits"):
        model.set_params(max_modes=3, tol=1e-3).fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Linear(), "has no spectral density.*Gaussian, Laplace, Matern and RationalQuadratic"),
        (Periodic(1.0, 2.0), "has no spectral density"),
        (Wendland(1.0), "has no spectral density"),
        (Gaussian(1.0) * Matern(1.0), "closed form"),
        ("precomputed", "has no spectral density"),
        (lambda X, Z: X @ Z.T, "has no spectral density"),
    ],
)
def test_kernels_without_a_density_are_refused(kernel, message):
    X, y = drawn(30, 2)
    with pytest.raises(ValueError, match=message):
        FourierGRLSRegressor(kernel).fit(X, y)


def test_more_than_three_columns_are_refused_unless_the_kernel_reads_fewer():
    X, y = drawn(200, 5)
    with pytest.raises(ValueError, match=r"reads 5 of the 5 columns.*kernel.on\(columns\)"):
        FourierGRLSRegressor(Gaussian(1.0)).fit(X, y)
    kernel = Gaussian(0.3).on([4, 1])
    model = FourierGRLSRegressor(kernel, features="linear", regularization=1e-3, tol=1e-6).fit(X, y)
    exact = GRLSRegressor(kernel, features="linear", regularization=1e-3).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), atol=1e-4)


# The sums and the equations, against dense matrices.


@pytest.fixture
def small():
    X, y = drawn(60, 2)
    w = np.random.default_rng(2).uniform(0.5, 2.0, 60)
    T = np.column_stack([np.ones(60), X[:, 0], 2 * X[:, 0]])
    modes = choose_modes(Matern(0.5, 2.5), 2, X.min(axis=0), X.max(axis=0), 1e-2, 10**6)
    j = half_positions(modes, np.arange(len(modes.weights)))
    every = np.concatenate([-j[:0:-1], j])
    A = np.exp(1j * np.stack(modes.angles(X), axis=1) @ every.T)
    return X, y, w, T, modes, A


def test_sums_of_waves_are_those_of_the_definition(small):
    X, y, w, T, modes, A = small
    sums = sums_of_rows(modes, X, T, y[:, None], w)
    gram = A.conj().T @ (w[:, None] * A)
    n = modes.count // 2
    assert_allclose(sums.across, half(np.column_stack([T, y]).T @ (w[:, None] * A.conj())), atol=1e-9)
    assert_allclose(sums.matrix[-1, -1], w @ y**2)
    v = np.random.default_rng(0).normal(size=(3, 2 * n + 1)) + 1j * np.random.default_rng(1).normal(
        size=(3, 2 * n + 1)
    )
    v = v + np.conj(v[:, ::-1])  # of a real function
    assert_allclose(Toeplitz(modes, sums.generator).times(half(v)), half(v @ gram.T), atol=1e-8)


def test_an_odd_number_of_columns_is_summed_as_well_as_an_even_one(small):
    X, y, _, _, modes, _ = small
    both = wave_sums(modes, X, np.stack([y, y**2]))
    assert_allclose(wave_sums(modes, X, y[None])[0], both[0], atol=1e-10)


def test_values_of_waves_are_real_parts_of_the_definition(small):
    X, _, _, _, modes, A = small
    F = np.random.default_rng(0).normal(size=(3, modes.count))
    F = F + 1j * np.random.default_rng(3).normal(size=F.shape)
    F = F + np.conj(F[:, ::-1])
    assert_allclose(wave_values(modes, X, half(F)), (A @ F.T).real, atol=1e-9)


@pytest.mark.parametrize("low", [10, 1000])
def test_the_equations_are_those_of_dense_matrices(small, monkeypatch, low):
    X, y, w, T, modes, A = small
    monkeypatch.setattr(system_, "LOW_MODES", low)
    system = System(modes, sums_of_rows(modes, X, T, y[:, None], w), 3)
    assert system.kept == [0, 1]
    assert system.is_direct == (low == 1000)
    weights = np.concatenate([modes.weights[:0:-1], modes.weights])
    B = A * np.sqrt(weights)
    Q, _ = np.linalg.qr(np.sqrt(w)[:, None] * T[:, :2])
    projected = np.sqrt(w)[:, None] * B
    projected = projected - Q @ (Q.T @ projected)
    G = projected.conj().T @ projected
    assert_allclose(system.mean_eigenvalue, np.trace(G).real / (len(X) - 2))
    s = 0.3
    coefficients = np.linalg.solve(G + s * np.eye(len(G)), projected.conj().T @ (np.sqrt(w) * y))
    solved = system.solve(system.g, s, tol=1e-10, max_iter=500)
    assert solved.residual <= 1e-10
    expected = half(np.sqrt(weights) * coefficients)
    assert_allclose(system.coefficients(solved.z)[0], expected, atol=1e-7)
    beta = system.feature_coefficients(solved.z)
    fitted = (B @ coefficients).real
    alone = np.linalg.lstsq(np.sqrt(w)[:, None] * T[:, :2], np.sqrt(w) * (y - fitted), rcond=None)[0]
    assert_allclose(beta[:, 0], [*alone, 0.0], atol=1e-7)
    error = system.squared_error(system.coefficients(solved.z), beta)
    assert_allclose(error, w @ (y - fitted - T @ beta[:, 0]) ** 2, rtol=1e-6)
    _, log_determinant = np.linalg.slogdet(G + s * np.eye(len(G)))
    trace = np.trace(np.linalg.inv(G + s * np.eye(len(G)))).real
    squared = np.trace(np.linalg.inv(G + s * np.eye(len(G))) @ np.linalg.inv(G + s * np.eye(len(G)))).real
    # Beyond the low modes they are estimates: the signs are the same in every run.
    rtol = 1e-9 if low == 1000 else 2e-2
    traces = Traces(system, 64)
    assert_allclose(traces.determinant(s), (log_determinant, trace), rtol=rtol)
    assert_allclose(traces.powers(s, max_iter=500), (trace, squared), rtol=2 * rtol)


@pytest.mark.parametrize("kernel", [Matern(0.5, 2.5), Gaussian(0.3)])
def test_modes_beyond_the_low_block_have_their_own_diagonal(small, monkeypatch, kernel):
    X, y, w, _, _, _ = small
    modes = choose_modes(kernel, 2, X.min(axis=0), X.max(axis=0), 1e-2, 10**6)
    sums = sums_of_rows(modes, X, np.ones((60, 1)), y[:, None], w)
    monkeypatch.setattr(system_, "LOW_MODES", 10**6)
    whole = System(modes, sums, 1)
    monkeypatch.setattr(system_, "LOW_MODES", 10)
    system = System(modes, sums, 1)
    beyond = np.setdiff1d(whole.places, system.places)
    dense = np.diagonal(whole._low)[np.searchsorted(whole.places, beyond)]
    assert_allclose(np.sort(system.preconditioner_values[len(system.places) :]), np.sort(dense), rtol=1e-9)


def test_features_are_kept_in_their_order():
    T = RNG.normal(size=(20, 3))
    T = np.column_stack([T[:, 0], 2 * T[:, 0], T[:, 1], T[:, 0] - T[:, 1], T[:, 2]])
    assert independent(T.T @ T) == [0, 2, 4]


# The fit, against the exact model.

CASES = {
    "1-D": (1, Gaussian(0.15), 1e-7, 1e-4),
    "1-D rough": (1, Laplace(1.0), 2e-3, 3e-2),
    "2-D": (2, Gaussian(0.3), 1e-7, 1e-4),
    "2-D matern": (2, Matern(0.4, 2.5), 1e-4, 1e-3),
    "3-D": (3, Gaussian(0.8), 1e-5, 1e-3),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_is_the_exact_model_up_to_the_kernels_error(name):
    d, kernel, tol, allowed = CASES[name]
    X, y = drawn(200, d)
    Y = np.column_stack([y, np.cos(y)])
    w = np.random.default_rng(3).uniform(0.5, 1.5, len(X))
    model = FourierGRLSRegressor(kernel, features="linear", regularization=1e-3, tol=tol).fit(X, Y, w)
    exact = GRLSRegressor(kernel, features="linear", regularization=1e-3).fit(X, Y, w)
    new = np.random.default_rng(4).uniform(-0.1, 1.1, (40, d))
    mean, std = model.predict(new, return_std=True)
    expected, expected_std = exact.predict(new, return_std=True)
    assert_allclose(mean, expected, atol=allowed)
    assert_allclose(std, expected_std, rtol=30 * allowed)
    # What the modes leave out is in the noise already.
    left_out = model._plan_kept.modes.missed * model.kernel_variance_
    observed = model.predict(new, return_std=True, with_noise=True)[1]
    assert_allclose(observed**2, std**2 - left_out + model.noise_variance_)
    assert_allclose(model.feature_coef_, exact.feature_coef_, atol=20 * allowed)
    assert_allclose(model.feature_coef_std_, exact.feature_coef_std_, rtol=30 * allowed)
    assert_allclose(model.feature_coef_cov_, exact.feature_coef_cov_, rtol=60 * allowed, atol=1e-3 * allowed)
    assert_allclose(model.noise_variance_, exact.noise_variance_, rtol=30 * allowed)
    assert_allclose(model.kernel_variance_, exact.kernel_variance_, rtol=30 * allowed)
    assert_allclose(model.rkhs_norm_, exact.rkhs_norm_, rtol=30 * allowed)
    assert model.kernel_error_ <= tol
    assert model.fit_error_ < allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "kernel", "tol"), [(1, Matern(0.2), 1e-5), (2, Matern(0.3), 1e-4), (3, Matern(0.8, 2.5), 1e-3)]
)
def test_four_thousand_rows_are_the_exact_model(d, kernel, tol):
    X, y = drawn(4000, d)
    model = FourierGRLSRegressor(kernel, features="linear", regularization=1e-4, tol=tol).fit(X, y)
    exact = GRLSRegressor(kernel, features="linear", regularization=1e-4).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - exact.predict(X)) ** 2)) < 10 * tol * y.std()


@pytest.mark.filterwarnings("ignore:the kernel .* can express what these features say")
@pytest.mark.filterwarnings("ignore:on 200 rows the fit with Fourier modes")
@pytest.mark.parametrize("criterion", ["gcv", "reml"])
@pytest.mark.parametrize(
    ("kernel", "tol", "allowed"), [(Gaussian(0.6), 1e-6, 0.01), (Matern(0.6, 2.5), 1e-3, 0.06)]
)
def test_the_regularization_is_that_of_the_exact_model(criterion, kernel, tol, allowed):
    X, y = drawn(200, 2)
    model = FourierGRLSRegressor(kernel, features="linear", regularization=criterion, tol=tol).fit(X, y)
    exact = GRLSRegressor(kernel, features="linear", regularization=criterion).fit(X, y)
    assert abs(np.log(model.regularization_ / exact.regularization_)) < 0.35
    assert_allclose(model.predict(X), exact.predict(X), atol=allowed)
    best = model.regularization_path_[model.criterion_path_.argmin()]
    assert best == model.regularization_


def test_the_error_of_a_fit_is_in_units_of_the_targets_or_their_own_where_these_do_not_vary():
    X, y = drawn(100, 1)
    model = FourierGRLSRegressor(Gaussian(0.5), features=None, regularization=1e-2, tol=1e-2)
    exact = GRLSRegressor(Gaussian(0.5), features=None, regularization=1e-2)
    for targets, unit in ((y, y.std()), (np.full(100, 3.0), 1.0)):
        errors = model.fit(X, targets).predict(X) - exact.fit(X, targets).predict(X)
        assert_allclose(model.fit_error_, np.sqrt(np.mean(errors**2)) / unit, rtol=1e-2)


def test_rows_held_out_choose_among_given_values():
    X, y = drawn(500, 1, noise=0.5)
    grid = [1e-6, 1e-3, 1e2]
    model = FourierGRLSRegressor(
        Gaussian(0.1), regularization="holdout", regularization_grid=grid, validation_fraction=0.3, tol=1e-4
    ).fit(X, y)
    assert model.regularization_ == 1e-3
    assert_array_equal(model.regularization_path_, grid)
    same = FourierGRLSRegressor(Gaussian(0.1), regularization=1e-3, tol=1e-4).fit(X, y)
    assert_allclose(model.predict(X), same.predict(X), atol=1e-5)


def test_widths_are_chosen_from_given_values_and_from_the_data():
    X, y = drawn(400, 1)
    grid = FourierGRLSRegressor(
        Gaussian(5.0), regularization="reml", optimize={"sigma": [0.02, 0.25, 4.0]}, tol=1e-4
    )
    assert grid.fit(X, y).kernel_.sigma == 0.25
    assert len(grid.optimization_) == 3
    model = FourierGRLSRegressor(Gaussian(5.0), regularization="reml", optimize=True, tol=1e-4).fit(X, y)
    exact = GRLSRegressor(Gaussian(5.0), regularization="reml", optimize=True).fit(X, y)
    assert_allclose(model.kernel_.sigma, exact.kernel_.sigma, rtol=1e-2)


def test_all_rows_scale_the_widths_that_a_sample_suggests(monkeypatch):
    from grls._fourier import reading

    X, y = drawn(600, 1, noise=0.3)
    monkeypatch.setattr(reading, "SAMPLE", 30)
    model = FourierGRLSRegressor(Gaussian(5.0), regularization="reml", optimize=True, tol=1e-3).fit(X, y)
    best = min(model.optimization_, key=lambda one: one[2])
    assert len(model.optimization_) >= 3
    assert_allclose(model.kernel_.sigma, best[0]["sigma"])
    exact = GRLSRegressor(Gaussian(5.0), regularization="reml", optimize=True).fit(X, y)
    assert 0.5 < model.kernel_.sigma / exact.kernel_.sigma < 2.0


def test_features_of_every_form_are_taken():
    X, y = drawn(150, 2)
    for features in (None, "constant", "quadratic", lambda X: X[:, :1] ** 3, PolynomialFeatures(2)):
        model = FourierGRLSRegressor(Gaussian(0.4), features=features, regularization=1e-2, tol=1e-6).fit(
            X, y
        )
        exact = GRLSRegressor(Gaussian(0.4), features=features, regularization=1e-2).fit(X, y)
        assert_allclose(model.predict(X), exact.predict(X), atol=1e-3)
        parts = model.decompose(X)
        assert_allclose(parts.features + parts.learnt, model.predict(X))


def test_far_from_the_data_the_features_and_the_prior_are_left():
    X, y = drawn(200, 1)
    model = FourierGRLSRegressor(Gaussian(0.1), regularization=1e-2, tol=1e-6).fit(X, y)
    exact = GRLSRegressor(Gaussian(0.1), regularization=1e-2).fit(X, y)
    far = np.array([[1.6], [3.0], [17.3], [-50.0]])
    mean, std = model.predict(far, return_std=True)
    expected, expected_std = exact.predict(far, return_std=True)
    assert_allclose(mean, expected, atol=1e-4)
    assert_allclose(std, expected_std, rtol=1e-3)


# Rows in blocks, weights, frames.


def test_blocks_and_partial_fits_are_the_fit_of_all_rows():
    X, y = drawn(300, 2)
    w = np.random.default_rng(5).uniform(0.5, 2.0, 300)
    options = {"features": "linear", "tol": 1e-3, "domain": (X.min(axis=0), X.max(axis=0))}
    whole = FourierGRLSRegressor(Gaussian(0.3), **options).fit(X, y, w)
    parts = [(X[i : i + 100], y[i : i + 100], w[i : i + 100]) for i in range(0, 300, 100)]
    blocks = FourierGRLSRegressor(Gaussian(0.3), **options).fit(parts)
    once = FourierGRLSRegressor(Gaussian(0.3), **options).fit(iter(parts))
    piecewise = FourierGRLSRegressor(Gaussian(0.3), **options)
    for part in parts:
        piecewise.partial_fit(*part, solve=False)
    assert not hasattr(piecewise, "fourier_coef_")
    piecewise.solve()
    for model in (blocks, once, piecewise):
        assert_allclose(model.regularization_, whole.regularization_, rtol=1e-3)
        assert_allclose(model.predict(X), whole.predict(X), atol=1e-4)
        assert model.n_samples_seen_ == 300
        assert_allclose(model.feature_coef_, whole.feature_coef_, atol=1e-3)


def test_a_row_outside_the_domain_is_refused_and_changes_nothing():
    X, y = drawn(100, 1)
    model = FourierGRLSRegressor(Gaussian(0.3), regularization=1e-2).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(
        ValueError, match=r"block 1: row 1 is outside the domain: column 0 is 2.*domain=\(low, high\)"
    ):
        model.partial_fit([[0.5], [2.0]], [1.0, 2.0])
    assert_array_equal(model.predict(X), before)
    assert model.n_samples_seen_ == 100


def test_a_weight_of_two_is_the_row_twice_and_of_zero_none():
    X, y = drawn(80, 1)
    counts = np.random.default_rng(6).integers(0, 3, 80)
    counts[[X.argmin(), X.argmax()]] = 1
    for by in (1e-3, "gcv", "reml"):
        model = FourierGRLSRegressor(Gaussian(0.2), regularization=by, tol=1e-4)
        weighted = clone(model).fit(X, y, sample_weight=counts)
        repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)
        assert_allclose(weighted.feature_coef_std_, repeated.feature_coef_std_, rtol=1e-3)


def test_columns_are_found_by_their_names():
    X, y = drawn(200, 3)
    frame = pd.DataFrame(X, columns=["east", "north", "height"])
    kernel = Gaussian(0.3).on(["east", "north"])
    model = FourierGRLSRegressor(kernel, features="linear", regularization=1e-3, tol=1e-4).fit(frame, y)
    same = FourierGRLSRegressor(
        Gaussian(0.3).on([0, 1]), features="linear", regularization=1e-3, tol=1e-4
    ).fit(X, y)
    assert_allclose(model.predict(frame), same.predict(X))
    assert model.feature_names_free_ == ["1", "east", "north", "height"]
    parts = [frame[:100].assign(y=y[:100]), frame[100:].assign(y=y[100:])]
    assert_allclose(clone(model).fit(parts, "y").predict(frame), model.predict(frame), atol=1e-3)


def test_a_pickled_model_predicts_the_same_with_standard_deviations():
    X, y = drawn(100, 2)
    model = FourierGRLSRegressor(Gaussian(0.4), regularization=1e-2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    for one, other in zip(model.predict(X, return_std=True), again.predict(X, return_std=True), strict=True):
        assert_allclose(one, other, rtol=1e-10)
    again.partial_fit(X, y)  # afresh


# What cannot be right.


def test_a_fit_far_from_the_exact_model_is_warned_of():
    X, _ = drawn(300, 1)
    y = np.random.default_rng(8).normal(size=300)
    with pytest.warns(UserWarning, match="away from the exact model's"):
        FourierGRLSRegressor(Matern(0.05), regularization=1e-9, tol=1e-2).fit(X, y)


@pytest.mark.filterwarnings("ignore:on 200 rows the fit with Fourier modes")
def test_steps_that_run_out_are_warned_of(monkeypatch):
    monkeypatch.setattr(system_, "LOW_MODES", 3)
    X, y = drawn(200, 2)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps"):
        FourierGRLSRegressor(Matern(0.5, 2.5), regularization=1e-3, tol=1e-2, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol must be at least"),
        ({"tol": 0.7}, "tol must be less than 0.5"),
        ({"max_modes": 1}, "max_modes must be at least 3"),
        ({"regularization": "loo"}, "regularization .* must be one of 'gcv', 'reml', 'holdout'"),
        ({"regularization": -1.0}, "regularization must be at least 0"),
        ({"regularization": 1e-3, "optimize": True}, "optimize needs a criterion"),
        ({"validation_fraction": 1.0}, "validation_fraction must be less than 1"),
        ({"domain": (0.5, 0.2)}, "domain must have finite ends"),
        ({"domain": 3.0}, r"domain must be \(low, high\)"),
        ({"domain": (0.4, 0.6)}, "is outside the domain"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
    ],
)
def test_parameters_that_cannot_be_right_are_named(options, message):
    X, y = drawn(50, 1)
    with pytest.raises(ValueError, match=message):
        FourierGRLSRegressor(Gaussian(0.3), **options).fit(X, y)


def test_no_regularization_is_an_error_that_names_it():
    X, y = drawn(50, 1)
    with pytest.raises(NotPositiveDefiniteError, match="choose a larger regularization"):
        FourierGRLSRegressor(Gaussian(0.3), regularization=0.0).fit(X, y)


def test_rows_that_are_not_finite_are_named_with_their_block():
    X, y = drawn(50, 1)
    bad = X.copy()
    bad[3] = np.nan
    with pytest.raises(ValueError, match="block 1: Input X contains NaN"):
        FourierGRLSRegressor(Gaussian(0.3), regularization=1e-2).fit([(X, y), (bad, y)])
    with pytest.raises(ValueError, match="there are no blocks"):
        FourierGRLSRegressor(Gaussian(0.3)).fit(iter([]))


def test_a_tampered_model_is_refused():
    X, y = drawn(50, 1)
    model = FourierGRLSRegressor(Gaussian(0.3), regularization=1e-2).fit(X, y)
    model.fourier_coef_ = model.fourier_coef_[:, :-1]
    with pytest.raises(ValueError, match="changed after the fit"):
        model.predict(X)


def test_without_finufft_the_extra_is_named(monkeypatch):
    from grls._fourier import transforms

    monkeypatch.setitem(sys.modules, "finufft", None)
    transforms._finufft.cache_clear()
    X, y = drawn(50, 1)
    with pytest.raises(ImportError, match=r"grls\[fourier\]"):
        FourierGRLSRegressor(Gaussian(0.3)).fit(X, y)
    transforms._finufft.cache_clear()


def test_a_column_of_one_value_is_no_obstacle():
    X, y = drawn(100, 2)
    X[:, 1] = 3.0
    model = FourierGRLSRegressor(Gaussian(0.3), regularization=1e-3, tol=1e-5).fit(X, y)
    exact = GRLSRegressor(Gaussian(0.3), regularization=1e-3).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), atol=1e-3)


def test_a_fit_tells_of_its_progress(capsys):
    X, y = drawn(100, 1)
    model = FourierGRLSRegressor(Gaussian(0.3), verbose=1).fit(X, y)
    told = capsys.readouterr().out
    assert "modes, kernel error" in told
    assert "block 0: 100 rows so far" in told
    assert set(model.fit_seconds_) >= {"sums", "regularization", "solve"}


def of_process(seed, kernel, n=400, n_new=100):
    """Rows, a draw of a process there, and observations."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n + n_new, 1))
    root = np.linalg.cholesky(kernel(x) + 1e-9 * np.eye(n + n_new))
    f = root @ rng.standard_normal(n + n_new)
    return x, f, f + 0.1 * rng.standard_normal(n + n_new)


@pytest.mark.parametrize("kernel", [Matern(0.1), Gaussian(0.05)])
@pytest.mark.parametrize("regularization", ["gcv", 1e-6])
def test_as_many_modes_are_taken_as_intervals_need(kernel, regularization):
    x, _, y = of_process(0, kernel)
    model = FourierGRLSRegressor(kernel, regularization=regularization).fit(x[:400], y[:400])
    exact = GRLSRegressor(kernel, regularization=model.regularization_).fit(x[:400], y[:400])
    (mean, std), (expected, expected_std) = (
        each.predict(x[400:], return_std=True) for each in (model, exact)
    )
    assert np.mean((mean - expected) ** 2) < np.mean((0.2 * expected_std) ** 2)
    assert_allclose(std.mean(), expected_std.mean(), rtol=0.1)
    assert not model.fit_warnings_


def test_standard_deviations_that_are_off_are_told():
    x, _, y = of_process(0, Matern(0.1))
    with pytest.warns(UserWarning, match=r"these are [\d.]+ times the exact ones, with tol=0.001"):
        FourierGRLSRegressor(Matern(0.1), regularization=1e-6, tol=1e-3).fit(x, y)


@pytest.mark.slow
def test_intervals_of_the_default_cover_and_its_gamma_is_that_of_the_exact_model():
    covers, ratios = [], []
    for seed in range(20):
        x, f, y = of_process(seed, Matern(0.1))
        model, exact = (
            estimator(Matern(0.1), regularization="gcv").fit(x[:400], y[:400])
            for estimator in (FourierGRLSRegressor, GRLSRegressor)
        )
        mean, std = model.predict(x[400:], return_std=True)
        covers.append(np.mean(np.abs(mean - f[400:]) < 1.96 * std))
        ratios.append(np.log(model.regularization_ / exact.regularization_))
    assert np.mean(covers) > 0.93
    assert np.abs(ratios).max() < 0.4


@pytest.mark.parametrize("m", [30_000, 100_000])  # one part, and several side by side
def test_identical_fits_are_identical_with_threads(m):
    points = np.random.default_rng(0).uniform(size=(m, 1))
    model = FourierGRLSRegressor(Matern(0.3), regularization=1e-2, tol=1e-2, random_state=0)
    before = get_num_threads()
    set_num_threads(2)
    try:
        first, second = (clone(model).fit(points, points[:, 0]) for _ in range(2))
        sums = [wave_sums(first._plan_kept.modes, points, np.sin([points[:, 0]])) for _ in range(20)]
    finally:
        set_num_threads(before)
    assert_array_equal(first.fourier_coef_, second.fourier_coef_)
    assert all(np.array_equal(again, sums[0]) for again in sums)
