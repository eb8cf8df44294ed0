"""The papers' programs by OSQP: (23)-(24) against the native solver, (25) against HiGHS."""

import sys
import warnings

import numpy as np
import pytest
import reference
from grls import SVMGBClassifier, core
from grls._solvers import bias_program, osqp
from grls.exceptions import SolverError
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

TOL = 1e-6
DAILY = range(32)  # four of each kind


def check_bias(seed):
    """Solve a random linear program; returns who did. Warnings are errors."""
    known, T, y, C = reference.bias_problem(seed)
    least = reference.bias_by_highs(known, T, y, C)
    found = bias_program.solve(known, T, y, C, TOL, 100_000)
    losses = reference.bias_losses(known, T, y, C, found.beta)
    assert_allclose(found.objective, losses, rtol=1e-9, atol=1e-12 * C.sum())
    assert_allclose(losses, least, rtol=TOL, atol=1e-12 * C.sum())
    assert found.relative_gap <= TOL
    return found.solver


def check_program(seed, formulation):
    """Solve a random quadratic program to the objective of the native solver."""
    Phi, T, y, C = reference.svm_problem(seed)
    m = len(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 1e-8 is more than is asked of it
        native = SVMGBClassifier("precomputed", features=lambda K: T, C=C, solver="native", tol=1e-8)
        wanted = native.fit(Phi, y).objective_[0]
    alpha, _, c, beta = core.svm_gb_qp(Phi, T, y, 1 / (2 * C * m), formulation, tol=TOL)
    assert alpha.min() >= 0
    assert alpha.max() <= (1 + 1e-12) / m
    objective = reference.svm_objective(Phi, T, y, np.full(m, C), c, beta)
    assert_allclose(objective, wanted, rtol=TOL, atol=1e-12 * C * m)


def test_the_bias_is_that_of_highs_and_osqp_finds_most_of_them():
    solvers = [check_bias(seed) for seed in DAILY]
    assert set(solvers) <= {"osqp", "highs"}
    assert np.mean([solver == "osqp" for solver in solvers]) > 0.8


@pytest.mark.slow
def test_the_bias_is_that_of_highs_on_five_hundred_problems():
    solvers = [check_bias(seed) for seed in range(500)]
    assert np.mean([solver == "osqp" for solver in solvers]) > 0.9


@pytest.mark.parametrize("formulation", ["pivot", "virtual"])
def test_the_quadratic_program_has_the_objective_of_the_native_solver(formulation):
    for seed in range(16):
        check_program(seed, formulation)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["pivot", "virtual"])
def test_the_quadratic_program_has_the_objective_of_the_native_solver_on_250_problems(formulation):
    for seed in range(250):
        check_program(seed, formulation)


def test_highs_finishes_what_osqp_is_not_given_time_for_and_the_result_says_so():
    known, T, y, C = reference.bias_problem(0)
    least = reference.bias_by_highs(known, T, y, C)
    found = bias_program.solve(known, T, y, C, TOL, 10)
    assert found.solver == "highs"
    assert found.iterations == 10
    assert_allclose(found.objective, least, rtol=TOL)


def test_highs_finishes_where_osqp_refuses(monkeypatch):
    def refuse(*arguments, **options):
        raise SolverError("OSQP refuses")

    known, T, y, C = reference.bias_problem(0)
    monkeypatch.setattr(osqp, "run", refuse)
    found = bias_program.solve(known, T, y, C, TOL, 100_000)
    assert (found.solver, found.iterations) == ("highs", 0)
    assert_allclose(found.objective, reference.bias_by_highs(known, T, y, C), rtol=TOL)


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_multipliers_that_are_no_numbers_are_no_solution(monkeypatch, lost):
    run = osqp.run

    def lose(*arguments, **options):
        found = run(*arguments, **options)
        found.multipliers[-1] = lost
        return found

    Phi, T, y, C = reference.svm_problem(0)
    monkeypatch.setattr(osqp, "run", lose)
    with pytest.raises(SolverError, match="too badly scaled for OSQP"):
        core.svm_gb_qp(Phi, T, y, 1 / (2 * C * len(y)), "virtual", tol=TOL)


def test_a_program_that_nobody_solves_is_a_warning_with_the_gap(monkeypatch):
    known, T, y, C = reference.bias_problem(0)
    monkeypatch.setattr(bias_program, "_by_highs", lambda losses: None)
    with pytest.warns(ConvergenceWarning, match="neither OSQP nor HiGHS .* is left"):
        found = bias_program.solve(known, T, y, C, TOL, 10)
    assert found.solver == "osqp"
    least = reference.bias_by_highs(known, T, y, C)
    assert found.objective * (1 - found.relative_gap) <= least * (1 + 1e-9)  # the gap is an honest one


def test_units_of_features_do_not_matter_to_the_bias():
    known, T, y, C = reference.bias_problem(3)
    plain = bias_program.solve(known, T, y, C, TOL, 100_000)
    for size in (1e-200, 1e200, 1e300):
        scaled = bias_program.solve(known, size * T, y, C, TOL, 100_000)
        assert_allclose(scaled.objective, plain.objective, rtol=1e-6)
    huge = bias_program.solve(1e6 * known, T, y, C, TOL, 100_000)
    assert_allclose(huge.objective, reference.bias_by_highs(1e6 * known, T, y, C), rtol=TOL)


def test_dependent_features_and_none_have_a_bias_too():
    known, T, y, C = reference.bias_problem(3)
    plain = bias_program.solve(known, T, y, C, TOL, 100_000)
    twice = bias_program.solve(known, np.hstack([T, T]), y, C, TOL, 100_000)
    assert_allclose(twice.objective, plain.objective, rtol=1e-6)
    assert np.count_nonzero(twice.beta) <= T.shape[1]
    for nothing in (T[:, :0], 0 * T):
        found = bias_program.solve(known, nothing, y, C, TOL, 100_000)
        assert found.solver == "none"
        assert_array_equal(found.beta, np.zeros(nothing.shape[1]))
        assert_allclose(found.objective, C @ np.maximum(0, 1 - y * known))


def test_the_public_function_takes_weights_and_tells_who_solved_it():
    known, T, y, C = reference.bias_problem(3)
    m = len(y)
    Phi, c = np.eye(m), known
    info = core.bias_lp(Phi, T, y, c, sample_weight=C, return_info=True)
    assert info.solver in ("osqp", "highs")
    least = reference.bias_by_highs(known, T, y, C / C.sum())
    assert_allclose(info.objective, least, rtol=TOL)
    assert_array_equal(info.beta, core.bias_lp(Phi, T, y, c, sample_weight=C))
    doubled = np.where(np.arange(m) % 3, 1, 2)
    rows = np.repeat(np.arange(m), doubled)
    twice = core.bias_lp(np.eye(len(rows)), T[rows], y[rows], known[rows], return_info=True)
    weighted = core.bias_lp(Phi, T, y, c, sample_weight=doubled, return_info=True)
    assert_allclose(weighted.objective, twice.objective, rtol=2e-6)
    for wrong in (-C, 0 * C, C[:-1]):
        with pytest.raises(ValueError, match="sample_weight"):
            core.bias_lp(Phi, T, y, c, sample_weight=wrong)


def test_the_estimator_tells_where_its_bias_comes_from():
    X, y = load_iris(return_X_y=True)
    y = np.random.default_rng(0).permutation(y)
    by_program = SVMGBClassifier(Gaussian(2.0), features="linear", bias="lp", C=1.0).fit(X, y)
    assert set(by_program.bias_solver_) <= {"osqp", "highs"}
    plain = SVMGBClassifier(Gaussian(2.0), features="linear", C=1.0).fit(X, y)
    assert set(plain.bias_solver_) == {"multiplier"}
    assert_allclose(by_program.objective_, plain.objective_, rtol=2e-4)
    by_program.set_params(max_iter=20, tol=1e-3, solver="ipm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert "highs" in by_program.fit(X, y).bias_solver_


def test_without_osqp_the_linear_program_is_solved_and_the_quadratic_one_says_what_to_do(monkeypatch):
    """There are no wheels of it for some Pythons."""
    monkeypatch.setitem(sys.modules, "osqp", None)
    assert check_bias(0) == "highs"
    X, y = load_iris(return_X_y=True)
    with pytest.raises(SolverError, match=r'OSQP cannot be imported.*pip install osqp.*solver="ipm"'):
        SVMGBClassifier(Gaussian(1.0), C=1.0, solver="osqp").fit(X, y)
    assert SVMGBClassifier(Gaussian(1.0), C=1.0).fit(X, y).score(X, y) > 0.9
