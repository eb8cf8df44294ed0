"""No certificate rests on what a solver says: answers that are tampered with are told to be wrong."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from grls import GRRegressor, OneClassSVMGB, SVMGBClassifier, one_class
from grls._models import piecewise, solved_pairs
from grls._solvers import osqp
from grls._solvers.feasible import feasible
from grls.exceptions import IndefiniteKernelWarning
from grls.kernels import Gaussian, Sigmoid
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

SOLVERS = ["native", "ipm", "osqp"]
LOSSES = {
    "absolute": {},
    "quantile": {"quantiles": 0.8},
    "epsilon_insensitive": {},
    "squared_epsilon_insensitive": {},
    "expectile": {"quantiles": 0.3},
    "huber": {"delta": 0.5},
}
# What is done to coefficients (m, k) and to those of the features (l, k).
MUTATIONS = {
    "all coefficients a little larger": lambda c, beta: (c + 0.05 * np.abs(c).max(axis=0), beta),
    "one coefficient beyond its bound": lambda c, beta: (c + 3 * np.abs(c).max() * (c == c.max()), beta),
    "no coefficients": lambda c, beta: (0 * c, beta),
    "another bias": lambda c, beta: (c, beta + 0.3 * (1 + np.abs(beta))),
}


def data(seed=0, m=40):
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, (m, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * random.standard_t(3, m)


def tampered(solver, mutation):
    def solve(model, made, *arguments, **keywords):
        found = solver(model, made, *arguments, **keywords)
        names = [name for name in dir(found) if not name.startswith("_")]
        told = SimpleNamespace(**{name: getattr(found, name) for name in names})
        told.c, told.beta = mutation(np.array(found.c), np.array(found.beta))
        if "image" in names:
            told.image = made.problem.kernel_times(told.c)
        return told

    return solve


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_tampered_regression_is_not_certified(loss, solver, mutation, monkeypatch):
    X, y = data()
    change = MUTATIONS[mutation]
    monkeypatch.setattr(piecewise, "solve", tampered(piecewise.solve, change))
    model = GRRegressor(
        Gaussian(1.0), features="linear", loss=loss, regularization=0.01, solver=solver, **LOSSES[loss]
    )
    with pytest.warns(ConvergenceWarning, match=r"gap of .*; raise max_iter or tol"):
        model.fit(X, y)
    assert np.all(model.duality_gap_ > model.tol)


@pytest.mark.filterwarnings("ignore::grls.exceptions.SeparableFeaturesWarning")
@pytest.mark.parametrize("mutation", list(MUTATIONS)[:4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tampered_classifier_is_not_certified(solver, mutation, monkeypatch):
    X, y = data()
    change = MUTATIONS[mutation]
    for name in ("solve", "solve_by_osqp"):
        mutated = tampered(getattr(solved_pairs, name), change)
        monkeypatch.setattr(solved_pairs, name, mutated)
    model = SVMGBClassifier(Gaussian(1.0), features="linear", C=1.0, solver=solver)
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        model.fit(X, y > 0)
    assert np.all(model.duality_gap_ > model.tol)


@pytest.mark.parametrize("mutation", ["all coefficients a little larger", "no coefficients"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tampered_one_class_machine_is_not_certified(solver, mutation, monkeypatch):
    X, _ = data()
    monkeypatch.setattr(one_class, "solve", tampered(one_class.solve, MUTATIONS[mutation]))
    model = OneClassSVMGB(Gaussian(1.0), features="linear", nu=0.3, solver=solver)
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        model.fit(X)
    assert model.duality_gap_ > model.tol


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularization", [1e3, 1e6, 1e9])
def test_all_solvers_agree_however_large_gamma(loss, regularization):
    X, y = np.arange(5.0)[:, None], np.array([1.0, 2, 3, 10, 20])
    fits = [
        GRRegressor(loss=loss, solver=solver, regularization=regularization, tol=1e-9, **LOSSES[loss]).fit(
            X, y
        )
        for solver in SOLVERS
    ]
    objectives = np.array([fit.objective_ for fit in fits])
    assert_allclose(objectives, np.broadcast_to(objectives[0], objectives.shape), rtol=2e-9)
    if loss == "absolute":
        assert_allclose([fit.predict(X) for fit in fits], 3.0, atol=1 / regularization)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(-12, 12))
def test_feasible_coefficients_are_feasible_and_near(seed, n_features, log_scale):
    random = np.random.default_rng(seed)
    m = int(random.integers(n_features + 2, 40))
    T = random.standard_normal((m, n_features)) * 10.0 ** random.uniform(-6, 6, n_features)
    lower, upper = -random.uniform(0, 1, m), random.uniform(0, 1, m)
    inside = 0.5 * random.uniform(0, 1) * np.where(random.uniform(size=m) < 0.5, lower, upper)
    near = inside - T @ np.linalg.lstsq(T, inside)[0]
    if np.any(near < lower) or np.any(near > upper):
        near = 0 * near
    scale, error = 10.0**log_scale, 1e-3 * random.standard_normal(m)
    lower, upper, near, error = scale * lower, scale * upper, scale * near, scale * error
    found = feasible(T, near + error, lower, upper)
    assert np.all((lower <= found) & (found <= upper))
    Q = np.linalg.qr(T)[0]
    assert np.linalg.norm(Q.T @ found) <= 1e-11 * np.linalg.norm(found)
    assert found.any()
    # One with all rows moving is nearest; that with some only is not far.
    assert np.linalg.norm(found - near - error) <= 20 * np.linalg.norm(error)


@pytest.mark.filterwarnings("ignore::grls.exceptions.SeparableFeaturesWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("formulation", ["pivot", "virtual"])
def test_the_gap_of_the_quadratic_program_bounds_what_is_missing(seed, formulation):
    random = np.random.default_rng(seed)
    m, d = 30, 3
    X = random.normal(size=(m, d))
    y = np.where(X[:, 0] + 0.3 * random.normal(size=m) > 0, 1.0, -1.0)
    T, Phi = np.column_stack([np.ones(m), X]), Gaussian(1.0)(X)
    for gamma in (1e-3, 1.0, 1e3, 1e6):
        C = np.full(m, 1 / (2 * gamma * m))
        best = SVMGBClassifier(
            "precomputed", features=lambda _, T=T: T, C=float(C[0]), solver="ipm", tol=1e-8
        ).fit(Phi, y)
        for limit in (100, 100_000):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = osqp.solve(Phi, T, y, C, formulation=formulation, tol=1e-6, max_iter=limit)
            missing = (found.objective - best.objective_[0]) / max(found.objective, 1e-6 * C.sum())
            assert missing <= found.duality_gap + 1e-7
            assert caught or found.duality_gap <= 1e-6


@pytest.mark.parametrize(
    "kernel", [Sigmoid(a=1.0, c=1.0), lambda X, Z: -np.exp(-((X[:, :1] - Z[:, 0]) ** 2))]
)
@pytest.mark.parametrize(
    "model",
    [SVMGBClassifier(max_iter=50), GRRegressor(loss="absolute", regularization=1.0, max_iter=50)],
    ids=["classifier", "regressor"],
)
def test_an_indefinite_kernel_is_told_whatever_the_solver(model, kernel):
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.warns(IndefiniteKernelWarning):
            clone(model).set_params(kernel=kernel, solver="native").fit(X, y > 0)
        clone(model).set_params(kernel=lambda X, Z: X @ Z.T, solver="native").fit(X, y > 0)  # says nothing
