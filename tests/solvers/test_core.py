"""Each stage of `grls.core` against the NumPy oracle, on both BLAS backends and with several threads."""

import re
from functools import cache

import grls
import numpy as np
import pytest
import reference
from builders import with_threads
from grls import _core, core
from numpy.testing import assert_allclose

GAMMA = 1e-3
# Block columns are 64 wide up to order 512 and 128 up to 3072; a band of rows is four of them.
SIZES = [2, 4, 12, 75, 257, 700]
CASES = [(m, l) for m in SIZES for l in (0, 1, 3, 10) if l < m]  # noqa: E741


def features(X, l):  # noqa: E741
    x, z = X.T
    columns = [np.ones(len(X)), x, z, x * x, x * z, z * z, x**3, x * x * z, x * z * z, z**3]
    return np.column_stack(columns)[:, :l]


@cache
def problem(m, l, k=1):  # noqa: E741
    """Points in the square, a Gaussian kernel matrix, polynomial features and k targets; read only."""
    rng = np.random.default_rng(m + 1000 * l)
    X = rng.uniform(-1, 1, size=(m, 2))
    squares = (X**2).sum(axis=1)
    Phi = np.exp(-(squares[:, None] + squares - 2 * X @ X.T) / (2 * 0.5**2))
    Phi = (Phi + Phi.T) / 2
    y = np.sin(3 * X[:, :1]) * np.arange(1, k + 1) + rng.normal(size=(m, k))
    arrays = Phi, features(X, l), y[:, 0] if k == 1 else y
    for array in arrays:
        array.setflags(write=False)
    return arrays


@cache
def exact_solution(m, l, k=1):  # noqa: E741
    return reference.solve_exact(*problem(m, l, k), GAMMA)


def close(got, expected, digits=1e-10):
    assert_allclose(got, expected, rtol=0, atol=digits * max(np.abs(expected).max(initial=0), 1e-300))


@pytest.mark.parametrize("pivots", ["qr", "first"])
@pytest.mark.parametrize(("m", "l"), CASES)
def test_phi_prime_is_eq_12_and_the_identity_at_the_pivots(m, l, pivots):  # noqa: E741
    _, T, _ = problem(m, l)
    P, chosen = core.phi_prime(T, pivots)
    assert P.shape == (m, l)
    assert len(set(chosen)) == l
    if pivots == "first":
        assert list(chosen) == list(range(l))
    assert np.array_equal(P[chosen], np.eye(l))
    tolerance = 1e-15 * m * (np.linalg.cond(T[chosen]) if l else 1)
    close(P, reference.phi_prime(T, T, chosen), 100 * tolerance)
    close(P @ T[chosen], T, 100 * tolerance)


@pytest.mark.parametrize("unit", [1.0, 1e20, 1e90, 1e-90])
def test_phi_prime_reproduces_features_in_any_units(backend, unit):
    """Opposite rows cancel: what rounding leaves in large units is no pivot."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        Z = rng.uniform(-1, 1, size=(5, 2))
        Z[1] = 3 * rng.choice([-1, 1], 2) - Z[0]
        Z[2] = -Z[1]
        T = np.column_stack([np.ones(5), unit * Z])
        P, pivots = core.phi_prime(T, "qr")
        assert_allclose(P @ T[pivots] / [1, unit, unit], T / [1, unit, unit], atol=1e-13)


@pytest.mark.parametrize(("m", "l"), CASES)
def test_assembled_H_and_E_are_eq_11_and_phi_prime(m, l, backend, threads):  # noqa: E741
    Phi, T, _ = problem(m, l)
    _, chosen = core.phi_prime(T)
    H, E = core.assemble(Phi, T)
    assert H.shape == (m - l, m - l)
    assert np.array_equal(H, H.T)
    close(H, reference.H(Phi, T, chosen))
    close(E, reference.E(T, chosen))


def test_assembled_H_with_the_first_samples_as_pivots_is_eq_11_as_printed(backend):
    Phi, T, _ = problem(300, 3)
    H, E = core.assemble(Phi, T, pivots="first")
    close(H, reference.H(Phi, T, np.arange(3)), 1e-9)
    close(E, reference.E(T, np.arange(3)), 1e-9)


@pytest.mark.parametrize(("m", "l"), CASES)
def test_null_space_is_orthonormal_and_orthogonal_to_the_features(m, l):  # noqa: E741
    _, T, _ = problem(m, l)
    N = core.null_space(T)
    assert N.shape == (m, m - l)
    close(N.T @ N, np.eye(m - l), 1e-13)
    assert np.abs(T.T @ N).max(initial=0) < 1e-13 * np.sqrt(m)


@pytest.mark.parametrize(("m", "l"), CASES)
def test_orthonormal_assembly_is_the_kernel_matrix_in_the_null_space(m, l, backend, threads):  # noqa: E741
    Phi, T, _ = problem(m, l)
    N = core.null_space(T)
    H = core.assemble_orthonormal(Phi, T)
    assert np.array_equal(H, H.T)
    close(H, N.T @ Phi @ N, 1e-12)


@pytest.mark.parametrize("m", [1, *SIZES])
def test_llt_is_the_cholesky_factor(m, backend, threads):
    A = (problem(m, 0)[0] if m > 1 else np.ones((1, 1))) + 0.1 * np.eye(m)
    L = core.llt(A)
    assert np.array_equal(L, np.tril(L))
    close(L, np.linalg.cholesky(A), 1e-11)
    close(L @ L.T, A, 1e-13)


@pytest.mark.parametrize(("m", "l"), CASES)
def test_exact_solution_solves_the_saddle_point_system(m, l, backend, threads):  # noqa: E741
    Phi, T, y = problem(m, l)
    c, beta = core.solve_exact(Phi, T, y, GAMMA)
    assert c.shape == (m,)
    assert beta.shape == (l,)
    expected_c, expected_beta = exact_solution(m, l)
    conditioning = np.linalg.cond(T) if l else 1
    close(c, expected_c, 1e-10 * max(1, conditioning))
    close(beta, expected_beta, 1e-10 * max(1, conditioning))
    # the optimality conditions themselves
    assert np.abs(Phi @ c + GAMMA * m * c + T @ beta - y).max() < 1e-11 * np.abs(y).max() * conditioning
    assert np.abs(T.T @ c).max(initial=0) < 1e-11 * np.abs(c).max() * np.sqrt(m)


@pytest.mark.parametrize(("m", "l"), CASES)
def test_published_solution_is_eqs_26_to_28(m, l, backend, threads):  # noqa: E741
    Phi, T, y = problem(m, l)
    _, chosen = core.phi_prime(T)
    c, beta = core.solve_published(Phi, T, y, GAMMA)
    tilde = reference.solve_published(Phi, T, y, GAMMA, chosen)
    expected = reference.published_function(Phi, T, Phi, T, chosen, *tilde)
    assert_allclose(Phi @ c + T @ beta, expected, rtol=0, atol=1e-9 * np.abs(y).max())
    close(np.delete(c, chosen), tilde[1], 1e-9)
    close((Phi @ c + T @ beta)[chosen], y[chosen], 1e-9)  # it interpolates the pivots' targets
    assert np.abs(T.T @ c).max(initial=0) < 1e-9 * np.abs(c).max() * np.sqrt(m)


@pytest.mark.parametrize("pivots", ["qr", "first"])
@pytest.mark.parametrize("k", [1, 3])
def test_the_published_coefficients_are_those_of_eqs_26_and_27_and_of_28(pivots, k):
    Phi, T, y = problem(75, 3, k)
    lambda_tilde, c_tilde, chosen = core.published_coefficients(Phi, T, y, GAMMA, pivots)
    assert np.array_equal(chosen, core.phi_prime(T, pivots)[1])
    expected = reference.solve_published(Phi, T, y, GAMMA, chosen)
    assert np.array_equal(lambda_tilde, expected[0])
    close(c_tilde, expected[1], 1e-9)
    c, beta = core.solve_published(Phi, T, y, GAMMA, pivots)
    function = reference.published_function(Phi, T, Phi, T, chosen, lambda_tilde, c_tilde)
    close(Phi @ c + T @ beta, function, 1e-8)


def quadratic_on_a_line(m=12):
    x = np.sort(np.random.default_rng(0).uniform(-1, 1, m))[:, None]
    return x, lambda X: np.column_stack([np.ones(len(X)), X, X**2])


def test_the_constructed_kernel_is_eq_10_with_the_properties_14_to_18():
    X, phi = quadratic_on_a_line()
    Phi = grls.kernels.Gaussian(0.5)
    pivots = [0, 5, 11]
    K = core.ConstructedKernel(Phi, phi, X[pivots])
    new = np.linspace(-2, 2, 7)[:, None]
    P_new, P = (reference.phi_prime(phi(points), phi(X), pivots) for points in (new, X))
    H = reference.H_between(Phi(new, X), Phi(X)[pivots], Phi(new, X[pivots]), Phi(X[pivots]), P_new, P)
    close(K.phi_prime(new), P_new)
    close(K.H(new, X), H)
    close(K(new, X), H + P_new @ P.T)
    close(K(X[pivots], new), P_new.T)  # (14)
    close(K(X[pivots], X[pivots]), np.eye(3))  # (15)
    assert np.abs(K.H(X[pivots], new)).max() < 1e-12  # (16)
    assert np.linalg.eigvalsh(K(X, X)).min() > -1e-12
    rest = reference.others(len(X), pivots)
    close(K.H(X[rest], X[rest]), reference.H(Phi(X), phi(X), pivots))


@pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning")  # K holds the features
def test_the_constructed_kernel_and_the_published_coefficients_are_eq_28_at_new_points():
    X, phi = quadratic_on_a_line()
    y, kernel = np.abs(X[:, 0]), grls.kernels.Gaussian(0.5)
    lambda_tilde, c_tilde, chosen = core.published_coefficients(kernel(X), phi(X), y, GAMMA, "first")
    K = core.ConstructedKernel(kernel, phi, X[chosen])
    new = np.linspace(-1.2, 1.2, 9)[:, None]
    rest = reference.others(len(X), chosen)
    function = K.phi_prime(new) @ lambda_tilde + K.H(new, X[rest]) @ c_tilde
    model = grls.GRLSRegressor(
        kernel, features=phi, regularization=GAMMA, formulation="published", pivots="first"
    ).fit(X, y)
    close(model.predict(new), function, 1e-7)
    # The minimiser is the same with K in place of Φ: they differ by what the features express.
    exact, constructed = (
        grls.GRLSRegressor(k, features=phi, regularization=GAMMA).fit(X, y).predict(new) for k in (kernel, K)
    )
    close(constructed, exact, 1e-6)


def test_the_constructed_kernel_says_which_pivots_it_cannot_use():
    X, phi = quadratic_on_a_line()
    kernel = grls.kernels.Gaussian(0.5)
    with pytest.raises(ValueError, match=r"as many pivots as features .* shape \(2, 3\)"):
        core.ConstructedKernel(kernel, phi, X[:2]).phi_prime(X)
    with pytest.raises(ValueError, match="linearly dependent"):
        core.ConstructedKernel(kernel, phi, X[[0, 1, 1]])(X, X)
    nothing = core.ConstructedKernel(kernel, lambda X: np.empty((len(X), 0)), X[:0])
    close(nothing(X, X), kernel(X))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("pivots", ["qr", "first"])
def test_as_many_features_as_samples_interpolate_and_leave_nothing_to_the_kernel(pivots, k):
    Phi, T, y = problem(4, 4, k)
    _, chosen = core.phi_prime(T, pivots)
    for c, beta in (core.solve_exact(Phi, T, y, GAMMA), core.solve_published(Phi, T, y, GAMMA, pivots)):
        assert np.array_equal(c, np.zeros_like(y))
        close(T @ beta, y, 1e-12)
    lambda_tilde, c_tilde, _ = core.published_coefficients(Phi, T, y, GAMMA, pivots)
    assert np.array_equal(lambda_tilde, y[chosen])
    assert c_tilde.shape == (0, *y.shape[1:])
    H, E = core.assemble(Phi, T, pivots)
    assert (H.shape, E.shape) == ((0, 0), (4, 0))
    with pytest.raises(ValueError, match="linearly dependent"):
        core.solve_exact(Phi, T[:, [0, 1, 2, 2]], y, GAMMA)


def test_published_coefficients_want_a_target_for_each_sample():
    Phi, T, y = problem(75, 3)
    with pytest.raises(ValueError, match="75 samples, got 74"):
        core.published_coefficients(Phi, T, y[:-1], GAMMA)
    with pytest.raises(ValueError, match="75"):
        core.published_coefficients(Phi, T[:-1], y, GAMMA)


def test_published_solution_with_the_first_samples_as_pivots_is_as_printed(backend):
    Phi, T, y = problem(300, 3)
    c, beta = core.solve_published(Phi, T, y, GAMMA, pivots="first")
    tilde = reference.solve_published(Phi, T, y, GAMMA, np.arange(3))
    close(c[3:], tilde[1], 1e-8)
    expected = reference.published_function(Phi, T, Phi, T, np.arange(3), *tilde)
    close(Phi @ c + T @ beta, expected, 1e-8)


def test_without_features_both_formulations_are_kernel_ridge_regression():
    Phi, T, y = problem(200, 0)
    expected = np.linalg.solve(Phi + GAMMA * 200 * np.eye(200), y)
    for solve in (core.solve_exact, core.solve_published):
        c, beta = solve(Phi, T, y, GAMMA)
        close(c, expected, 1e-11)
        assert beta.shape == (0,)


def test_exact_objective_is_never_above_the_published_one():
    for m, l in CASES:  # noqa: E741
        if l == 0:
            continue
        Phi, T, y = problem(m, l)
        exact, published = (
            reference.objective(Phi, T, y, GAMMA, *solve(Phi, T, y, GAMMA))
            for solve in (core.solve_exact, core.solve_published)
        )
        assert exact <= published * (1 + 1e-9), f"{m, l}"


# More outputs than fit into one block column, and borders that cross bands of rows.
@pytest.mark.parametrize("k", [1, 3, 70])
@pytest.mark.parametrize("m", [5, 130, 442, 443, 700])
@pytest.mark.parametrize("l", [0, 3])
def test_several_outputs_are_solved_as_one_by_one(m, l, k, backend, threads):  # noqa: E741
    Phi, T, Y = problem(m, l, k)
    c, beta = core.solve_exact(Phi, T, Y, GAMMA)
    assert c.shape == Y.shape
    assert beta.shape == (l, *Y.shape[1:])
    expected_c, expected_beta = exact_solution(m, l, k)
    close(c, expected_c, 1e-9)
    close(beta, expected_beta, 1e-9)


@pytest.mark.parametrize("solve", [core.solve_exact, core.solve_published])
def test_the_number_of_threads_changes_nothing_but_rounding(solve, backend):
    Phi, T, Y = problem(700, 10, 3)
    answers = with_threads(lambda: solve(Phi, T, Y, GAMMA))
    for c, beta in answers[1:]:
        close(c, answers[0][0], 1e-11)
        close(beta, answers[0][1], 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n_threads"), [(1500, 2), (3300, 5)])
def test_a_large_problem_is_solved_as_well_as_a_small_one(m, n_threads, backend):
    Phi, T, Y = problem(m, 3, 3)
    solutions = with_threads(
        lambda: (core.solve_exact(Phi, T, Y, GAMMA), core.solve_published(Phi, T, Y, GAMMA)), [n_threads]
    )
    (c, beta), (published_c, published_beta) = solutions[0]
    assert np.abs(Phi @ c + GAMMA * m * c + T @ beta - Y).max() < 1e-10
    assert np.abs(T.T @ c).max() < 1e-10 * np.abs(c).max()
    residual = Phi @ published_c + T @ published_beta + GAMMA * m * published_c - Y
    _, chosen = core.phi_prime(T)
    assert np.abs(np.delete(residual, chosen, axis=0)).max() < 1e-9
    assert np.abs((Phi @ published_c + T @ published_beta - Y)[chosen]).max() < 1e-9
    assert np.abs(T.T @ published_c).max() < 1e-9 * np.abs(published_c).max()


def test_the_factor_of_a_large_matrix_multiplies_back_to_it():
    A = problem(3300, 3, 3)[0] + np.eye(3300)
    L = core.llt(A)
    vectors = np.random.default_rng(0).normal(size=(3300, 3))
    close(L @ (L.T @ vectors), A @ vectors, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "l"),
    [(448, 0), (511, 3), (512, 0), (512, 3), (513, 3), (576, 3), (3071, 3), (3072, 0), (3073, 3)],
)
def test_orders_around_a_change_of_block_width_are_solved(order, l):  # noqa: E741
    m = order - 1  # one more row for the target
    Phi, T, y = problem(m, l)
    c, beta = core.solve_exact(Phi, T, y, GAMMA)
    assert np.abs(Phi @ c + GAMMA * m * c + T @ beta - y).max() < 1e-10
    assert np.abs(T.T @ c).max(initial=0) < 1e-10 * np.abs(c).max()


def test_weights_of_the_core_solve_the_weighted_problem(backend):
    Phi, T, y = problem(300, 3)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 300)
    shift = GAMMA * weights.sum()
    solution = _core.solve(
        formula=None,
        data=Phi,
        T=T,
        Y=y[:, None],
        weights=weights,
        shift=shift,
        formulation="exact",
        pivots="qr",
        tolerance=1e-12,
        threads=2,
    )
    c, beta = solution.c, solution.beta
    expected_c, expected_beta = reference.solve_exact(Phi, T, y, GAMMA, weights)
    close(c[:, 0], expected_c, 1e-10)
    close(beta[:, 0], expected_beta, 1e-10)


def test_features_in_very_different_units_are_still_independent():
    Phi, T, y = problem(200, 3)
    units = np.array([1.0, 1e-12, 1e12])
    for solve in (core.solve_exact, core.solve_published):
        c, beta = solve(Phi, T, y, GAMMA)
        scaled_c, scaled_beta = solve(Phi, T * units, y, GAMMA)
        if solve is core.solve_exact:
            close(scaled_c, c, 1e-9)
            close(scaled_beta * units, beta, 1e-9)
        else:  # the pivots may be others, so that the solution may be another
            _, chosen = core.phi_prime(T * units)
            close((Phi @ scaled_c + T * units @ scaled_beta)[chosen], y[chosen], 1e-8)


# Errors.


def test_first_samples_with_dependent_features_are_a_clear_error():
    x = np.array([1.0, 1.0, 2.0, 3.0, 4.0])
    T = np.column_stack([np.ones(5), x])
    Phi, y = reference.gaussian(x[:, None], x[:, None], 1.0), x
    for call in (
        lambda: core.phi_prime(T, pivots="first"),
        lambda: core.assemble(Phi, T, pivots="first"),
        lambda: core.solve_published(Phi, T, y, GAMMA, pivots="first"),
    ):
        with pytest.raises(ValueError, match=r"pivot samples form a singular matrix.*pivots='qr'"):
            call()
    P, chosen = core.phi_prime(T)
    assert len(set(x[chosen])) == 2
    close(P @ T[chosen], T)


STAGES = {
    "phi_prime": lambda Phi, T, y: core.phi_prime(T),
    "assemble": lambda Phi, T, y: core.assemble(Phi, T),
    "null_space": lambda Phi, T, y: core.null_space(T),
    "assemble_orthonormal": lambda Phi, T, y: core.assemble_orthonormal(Phi, T),
    "solve_exact": lambda Phi, T, y: core.solve_exact(Phi, T, y, GAMMA),
    "solve_published": lambda Phi, T, y: core.solve_published(Phi, T, y, GAMMA),
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("extra", ["sum", "copy", "zero", "tiny multiple"])
def test_dependent_features_are_refused_and_the_column_to_drop_is_named(stage, extra):
    Phi, T, y = problem(75, 3)
    column = {"sum": T.sum(axis=1), "copy": T[:, 1], "zero": np.zeros(75), "tiny multiple": 1e-9 * T[:, 2]}
    dependent = np.column_stack([T[:, :1], column[extra], T[:, 1:]])
    with pytest.raises(ValueError, match=r"linearly dependent: drop \[\d\]") as caught:
        STAGES[stage](Phi, dependent, y)
    named = int(re.search(r"drop \[(\d)\]", str(caught.value))[1])
    left = np.delete(dependent, named, axis=1)
    assert np.linalg.matrix_rank(left / np.linalg.norm(left, axis=0)) == 3
    STAGES[stage](Phi, left, y)


@pytest.mark.parametrize("m", [2, 100, 700])
def test_an_indefinite_matrix_is_a_linear_algebra_error(m, backend, threads):
    A = np.eye(m)
    A[-1, -1] = -1e-3
    with pytest.raises(grls.NotPositiveDefiniteError):
        core.llt(A)
    with pytest.raises(np.linalg.LinAlgError):
        core.solve_exact(A, np.ones((m, 0)), np.ones(m), 0.0)
    assert issubclass(grls.NotPositiveDefiniteError, np.linalg.LinAlgError)


def test_a_singular_matrix_is_not_positive_definite(backend):
    Phi, T, y = problem(300, 3)
    twice = np.block([[Phi, Phi], [Phi, Phi]])
    with pytest.raises(grls.NotPositiveDefiniteError):
        core.llt(twice)
    with pytest.raises(grls.NotPositiveDefiniteError):
        core.solve_exact(twice, np.vstack([T, T]), np.tile(y, 2), 0.0)


def test_a_kernel_that_is_definite_only_beside_the_features_is_solved(backend):
    """Minus the distance is conditionally positive definite of order 1: a constant makes it legal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Phi = -np.sqrt(reference.squared_distances(X, X))
    T, y = np.ones((80, 1)), rng.normal(size=80)
    with pytest.raises(grls.NotPositiveDefiniteError):
        core.solve_exact(Phi, T[:, :0], y, GAMMA)
    c, beta = core.solve_exact(Phi, T, y, GAMMA)
    expected_c, expected_beta = reference.solve_exact(Phi, T, y, GAMMA)
    close(c, expected_c)
    close(beta, expected_beta)


def test_as_many_features_as_samples_leave_no_null_space():
    _, T, _ = problem(12, 10)
    T = T[:10]
    Phi = problem(12, 10)[0][:10, :10]
    assert core.null_space(T).shape == (10, 0)
    assert core.assemble_orthonormal(Phi, T).shape == (0, 0)
    H, E = core.assemble(Phi, T)
    assert H.shape == (0, 0)
    assert E.shape == (10, 0)
    c, beta = core.solve_exact(Phi, T, np.ones(10), GAMMA)
    assert np.array_equal(c, np.zeros(10))
    close(T @ beta, np.ones(10))


def bad_calls():
    Phi, T, y = problem(12, 3)
    asymmetric, nan = Phi.copy(), Phi.copy()
    asymmetric[0, 1] += 1
    nan[0, 0] = np.nan
    return {
        "oblong kernel": (lambda: core.solve_exact(Phi[:5], T, y, GAMMA), "square"),
        "asymmetric kernel": (lambda: core.solve_exact(asymmetric, T, y, GAMMA), "symmetric"),
        "NaN in the kernel": (lambda: core.solve_exact(nan, T, y, GAMMA), "Phi contains NaN|NaN"),
        "short features": (lambda: core.solve_exact(Phi, T[:5], y, GAMMA), "5"),
        "short targets": (lambda: core.solve_exact(Phi, T, y[:5], GAMMA), "5"),
        "flat features": (lambda: core.solve_exact(Phi, T[:, 0], y, GAMMA), "2D"),
        "negative regularization": (lambda: core.solve_exact(Phi, T, y, -1.0), "regularization"),
        "NaN in the features": (lambda: core.null_space(T * np.nan), "NaN"),
        "infinite target": (lambda: core.solve_exact(Phi, T, np.append(y[1:], np.inf), GAMMA), "infinity"),
        "unknown pivots": (lambda: core.phi_prime(T, pivots="last"), "'qr', 'first'"),
        "unknown pivots, solved": (lambda: core.solve_published(Phi, T, y, GAMMA, pivots="x"), "'first'"),
        "short features, assembled": (lambda: core.assemble(Phi, T[:5]), "5"),
        "short features, orthonormal": (lambda: core.assemble_orthonormal(Phi, T[:5]), "5"),
        "oblong matrix": (lambda: core.llt(Phi[:5]), "A must be square"),
        "targets in a cube": (lambda: core.solve_exact(Phi, T, y.reshape(3, 2, 2), GAMMA), "dim|3"),
        "more features than samples": (lambda: core.null_space(T[:2]), "dependent"),
    }


@pytest.mark.parametrize("case", bad_calls())
def test_arguments_that_cannot_be_right_are_refused(case):
    call, message = bad_calls()[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_the_core_refuses_what_its_wrappers_never_pass():
    Phi, T, y = (np.array(a) for a in problem(12, 3))
    Y = y[:, None]
    good = {
        "formula": None,
        "data": Phi,
        "T": T,
        "Y": Y,
        "weights": None,
        "shift": 1.0,
        "formulation": "exact",
        "pivots": "qr",
        "tolerance": 1e-12,
        "precision": "double",
    }
    _core.solve(**good)
    for name, bad in [
        ("data", Phi[:5]),
        ("data", Phi[0]),
        ("data", "Phi"),
        ("data", None),
        ("T", T[:5]),
        ("T", "T"),
        ("Y", Y[:5]),
        ("Y", Y[:0]),
        ("weights", np.ones(5)),
        ("weights", np.zeros(12)),
        ("weights", -np.ones(12)),
        ("weights", np.full(12, np.nan)),
        ("shift", -1.0),
        ("shift", np.nan),
        ("formulation", "approximate"),
        ("pivots", "last"),
        ("precision", "half"),
        ("formula", "gaussian"),
    ]:
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _core.solve(**{**good, name: bad})
    with pytest.raises(TypeError):
        _core.solve(*good.values())
    with pytest.raises(ValueError, match="backend"):
        _core.select_backend(name="cuda")
    with pytest.raises(ValueError, match=r"no dgemm|BLAS"):
        _core.bind_blas(capsules={})
    with pytest.raises(ValueError, match="square"):
        _core.llt(matrix=Phi[:5])
    with pytest.raises(ValueError, match="basis"):
        _core.assemble(gram=Phi, T=T, basis="cosine", pivots="qr", tolerance=1e-12)
    assert _core.llt(matrix=np.empty((0, 0))).shape == (0, 0)


# Conjugate gradients with functions of Python.


def system(**changes):
    A = np.diag(np.arange(1.0, 31.0)) + 0.1
    given = {
        "multiply": lambda V, precision: A @ V,
        "precondition": lambda R: R / np.diagonal(A)[:, None],
        "B": np.random.default_rng(0).normal(size=(30, 2)),
        "tolerance": 1e-10,
        "max_iterations": 100,
    }
    return A, {**given, **changes}


def test_conjugate_gradients_solve_for_functions_of_python():
    A, given = system()
    steps = []
    solved = _core.conjugate_gradients(**given, report=lambda *told: steps.append(told))
    assert solved.converged
    close(solved.X, np.linalg.solve(A, given["B"]), 1e-8)
    assert np.all(solved.residuals <= 1e-10)
    assert [told[0] for told in steps if not told[2]] == list(range(1, solved.iterations + 1))
    assert _core.conjugate_gradients(**{**given, "max_iterations": 2}).status is _core.Status.iteration_limit
    asked = []

    def rounded(V, precision):
        asked.append(precision)
        return (A @ V).astype(np.float32).astype(float) if precision == "single" else A @ V

    refined = _core.conjugate_gradients(**{**given, "multiply": rounded, "refined": True})
    close(refined.X, np.linalg.solve(A, given["B"]), 1e-8)
    assert asked.count("single") > asked.count("double") > 0


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"multiply": lambda V, precision: V[:-1]}, ValueError, "multiply must return an array of shape"),
        ({"multiply": lambda V, precision: "V"}, TypeError, "multiply must return an array"),
        ({"multiply": lambda V: V}, TypeError, "positional"),
        ({"multiply": lambda V, precision: 1e308 * V * 10}, ValueError, "overflow: scale"),
        ({"multiply": lambda V, precision: np.nan * V}, ValueError, "overflow: scale"),
        ({"precondition": lambda R: None}, ValueError, "precondition must return an array"),
        ({"precondition": lambda R: np.ones(3)}, ValueError, "precondition must return an array of shape"),
        ({"B": np.full((30, 2), np.inf)}, ValueError, "overflow: scale"),
        ({"tolerance": 0.0}, ValueError, "tolerance"),
        ({"tolerance": np.nan}, ValueError, "tolerance"),
        ({"max_iterations": 0}, ValueError, "iteration"),
        ({"report": lambda *told: 1 / 0}, ZeroDivisionError, "division"),
        ({"multiply": None}, TypeError, "incompatible"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_conjugate_gradients_check_what_functions_of_python_return(changes, error, message):
    _, given = system(**changes)
    with pytest.raises(error, match=message):
        _core.conjugate_gradients(**given)


def test_an_empty_system_is_solved():
    _, given = system(B=np.empty((30, 0)))
    assert _core.conjugate_gradients(**given).X.shape == (30, 0)


def test_likelihoods_of_no_targets_are_refused():
    points = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="at least one column of targets"):
        _core.restricted_likelihoods(
            formula=_core.Formula([([], [1.0], [])], [("gaussian", 0, 1.0, 0.0, 0)]),
            data=points,
            T=np.ones((4, 1)),
            Y=np.empty((4, 0)),
            weights=None,
            tolerance=1e-9,
            shifts=np.ones(1),
        )
