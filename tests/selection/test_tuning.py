"""Widths and γ by the restricted likelihood in the core, beside NumPy and a general optimiser."""

import numpy as np
import pytest
import reference
from grls._selection.choice import Choice, squared_error
from grls._selection.readings import Reading
from grls._selection.tuning import LEAST_GAMMA, Tuned, Tuner
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian, Matern
from numpy.testing import assert_allclose
from scipy.optimize import minimize


def matern(sigma):
    return Matern(sigma, nu=2.5)


def data(m=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=m)
    return X, y, np.column_stack([np.ones(m), X[:, 0]])


def tuner(X, y, T, weights=None, units=None):
    targets = y[:, None]
    problem = KernelProblem(Gaussian(1.0), X, T, weights)
    choose = Choice(problem, targets, "loo", squared_error(targets, weights), None)
    return Tuner(choose, np.ones(X.shape[1]) if units is None else units, Reading())


def criterion(X, y, T, family=matern):
    """Minus twice the restricted log-likelihood by logarithms of widths and of the shift."""
    return lambda logs: reference.reml(family(np.exp(logs[:-1]))(X), T, y, np.exp(logs[-1]) / len(y))


def test_the_likelihood_at_shifts_is_that_of_the_dense_formula():
    X, y, T = data()
    shifts = np.array([1e-3, 0.1, 5.0])
    problem = KernelProblem(matern([1.0, 2.0, 3.0]), X, T, None)
    found = problem.restricted_likelihoods(y[:, None], shifts, {})
    expected = [reference.reml(matern([1.0, 2.0, 3.0])(X), T, y, s / len(y)) for s in shifts]
    assert_allclose(found, expected, rtol=1e-9)


def test_without_a_kernel_it_is_the_limit_of_large_shifts():
    X, y, T = data()
    rows = tuner(X, y, T)
    far = rows.problem.with_kernel(matern(np.ones(3))).restricted_likelihoods(y[:, None], np.array([1e9]), {})
    assert_allclose(rows.alone, far[0], rtol=1e-6)
    assert tuner(X, T @ [1.0, 2.0], T).alone == -np.inf


@pytest.mark.parametrize("family", [matern, Gaussian])
def test_a_descent_ends_where_a_general_optimiser_does(family):
    X, y, T = data()
    rows = tuner(X, y, T)
    start = Tuned(np.array([1.0, 1.0, 2.0]), 0.1)
    found = rows.descend(family, start, gain=1e-6, most=200)
    value = criterion(X, y, T, family)
    end = np.append(np.log(found.widths), np.log(found.shift))
    assert_allclose(value(end), found.value, atol=0.05)  # widths are rounded to a percent
    bounds = [tuple(pair) for pair in np.log(rows._bounds)] + [(np.log(3e-10), np.log(6e4))]
    peer = minimize(value, np.log([1.0, 1.0, 2.0, 0.1]), method="L-BFGS-B", bounds=bounds)
    assert found.value <= peer.fun + 0.02
    assert found.n_evaluations < 60


def test_what_is_tied_or_held_stays_so():
    X, y, T = data()
    rows = tuner(X, y, T)
    start = Tuned(np.array([1.0, 2.0, 4.0]), 0.1)
    tied = rows.descend(matern, start, tied=True, gain=1e-6)
    assert_allclose(tied.widths / tied.widths[0], [1.0, 2.0, 4.0], rtol=0.02)
    held = rows.descend(matern, start, held=True, gain=1e-6)
    assert_allclose(held.widths, start.widths, rtol=1e-12)
    value = criterion(X, y, T)
    at = [value(np.append(np.log(start.widths), np.log(held.shift * step))) for step in (0.9, 1.0, 1.1)]
    assert at[1] == min(at)
    assert held.value >= tied.value - 1e-6 or held.value > rows.descend(matern, start).value


def test_the_robust_prior_is_the_one_of_its_formula():
    X, y, T = data()
    rows = tuner(X, y, T)
    found = rows.descend(matern, Tuned(np.ones(3), 0.1), robust=True, gain=1e-7, most=200)
    n, d = X.shape
    reach = n ** (-1 / d) * np.ptp(X, axis=0)
    b = n ** (-1 / d) * (0.2 + d)
    plain = criterion(X, y, T)

    def posterior(logs):
        t = np.sum(reach / np.exp(logs[:-1])) + np.exp(logs[-1])
        return plain(logs) - 2 * (0.2 * np.log(t) - b * t)

    end = np.append(np.log(found.widths), np.log(found.shift))
    bounds = [tuple(pair) for pair in np.log(rows._bounds)] + [(np.log(3e-10), np.log(6e4))]
    peer = minimize(posterior, np.log([1.0, 1.0, 1.0, 0.1]), method="L-BFGS-B", bounds=bounds)
    assert posterior(end) <= peer.fun + 0.05
    assert_allclose(found.value, posterior(end), atol=0.05)


def test_gamma_stays_where_a_solution_is_accurate():
    X = np.linspace(0, 1, 40)[:, None]
    y = np.sin(3 * X[:, 0])  # without noise: the likelihood would have none at all
    rows = tuner(X, y, np.ones((40, 1)))
    found = rows.descend(Gaussian, Tuned(np.array([1.0]), 0.1))
    assert found.shift >= 0.999 * LEAST_GAMMA * 40
    problem = rows.problem.with_kernel(Gaussian(found.widths))
    assert np.isfinite(problem.solve(y[:, None], found.shift / 40).c).all()


def test_starts_without_a_value_and_wrong_arguments_are_told():
    X, y, T = data()
    problem = KernelProblem(Gaussian(np.full(3, 1e6)), X, T, None)
    options = {
        "units": np.full(3, 1e6),
        "variable": [0, 1, 2],
        "start": np.append(np.zeros(3), -60.0),
        "limits": np.vstack([np.tile([-1.0, 1.0], (3, 1)), [[-70.0, 10.0]]]),
        "curve": np.empty((0, 0)),
        "prior": (np.empty(0), 0.2, 1.0),
        "gain": 0.01,
        "most": 20,
    }
    assert problem.tuned(y[:, None], {}, **options).value == np.inf
    for wrong in ({"units": np.ones(2)}, {"variable": [0, 1, 7]}, {"start": np.zeros(3)}):
        with pytest.raises(ValueError, match=r"."):
            problem.tuned(y[:, None], {}, **{**options, **wrong})
