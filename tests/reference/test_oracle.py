"""The oracle against itself: its closed forms are what its brute force finds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference


def problem(m=30, k=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(m, 2))
    y = np.sin(3 * X[:, 0]) + rng.normal(size=m if k is None else (k, m))
    return reference.gaussian(X, X, 0.7), reference.polynomials(X, 1), y.T, rng.uniform(0.5, 3, size=m)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("n_free", [0, 1, 3])
def test_closed_form_leave_one_out_is_that_of_refits(n_free, k, weighted):
    Phi, T, y, weights = problem(k=k)
    weights = weights if weighted else None
    arguments = Phi, T[:, :n_free], y, 1e-3, weights
    assert_allclose(
        reference.leave_one_out(*arguments), reference.leave_one_out_by_refits(*arguments), atol=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_residual_operator_gives_the_exact_solution(weighted):
    Phi, T, y, weights = problem()
    weights = weights if weighted else np.ones(len(y))
    s, shift = np.sqrt(weights), 1e-2 * weights.sum()
    c = s * (reference.residual_operator(Phi, T, shift, weights) @ (s * y))
    assert_allclose(c, reference.solve_exact(Phi, T, y, 1e-2, weights)[0], atol=1e-10)


def test_a_weight_of_two_is_the_row_twice_for_solution_and_variance():
    Phi, T, y, _ = problem()
    counts = np.arange(len(y)) % 3 + 1
    rows = np.repeat(np.arange(len(y)), counts)
    c, beta = reference.solve_exact(Phi, T, y, 1e-2, counts)
    repeated, same = reference.solve_exact(Phi[np.ix_(rows, rows)], T[rows], y[rows], 1e-2)
    assert_allclose(beta, same, atol=1e-10)
    assert_allclose(np.bincount(rows, repeated), c, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_both_forms_of_kriging_agree(weighted):
    Phi, T, y, weights = problem(m=40)
    old, new = slice(0, 30), slice(30, 40)
    arguments = (
        Phi[old, old],
        Phi[old, new],
        Phi[new, new],
        T[old],
        T[new],
        y[old],
        1e-3,
        weights[old] if weighted else None,
    )
    covariance, _, _ = reference.universal_kriging(*arguments)
    mean, same = reference.kriging_system(*arguments)
    assert_allclose(same, covariance, atol=1e-9)
    c, beta = reference.solve_exact(arguments[0], T[old], y[old], 1e-3, arguments[-1])
    assert_allclose(mean, Phi[new, old] @ c + T[new] @ beta, atol=1e-10)


def test_a_large_feature_variance_is_the_model_with_free_features():
    Phi, T, y, weights = problem()
    K = Phi + reference.feature_kernel(T, T, T, 1e6, weights)
    constant = T[:, np.ptp(T, axis=0) == 0]
    c, _ = reference.solve_exact(K, constant, y, 1e-2, weights)
    assert_allclose(c, reference.solve_exact(Phi, T, y, 1e-2, weights)[0], atol=1e-6)


def test_every_row_as_a_centre_is_the_exact_model():
    Phi, T, y, _ = problem()
    c, beta = reference.solve_nystrom(Phi, Phi, T, T, y, 1e-2)
    expected, same = reference.solve_exact(Phi, T, y, 1e-2)
    assert_allclose(c, expected, atol=1e-6)
    assert_allclose(beta, same, atol=1e-6)
    a = reference.whitening(Phi, T)
    assert_allclose(a.T @ Phi @ a, np.eye(27), atol=1e-6)
    assert_allclose(T.T @ a, 0, atol=1e-8 * np.abs(a).max())


def test_every_row_as_a_centre_is_the_exact_gcv():
    Phi, T, y, _ = problem()
    B = Phi @ reference.whitening(Phi, T)
    assert_allclose(reference.nystrom_gcv(B, T, y[:, None], 1e-2), reference.gcv(Phi, T, y, 1e-2), rtol=1e-6)


def test_the_slopes_of_the_logistic_loss_are_its_differences():
    rng = np.random.default_rng(0)
    y, f = np.where(rng.random(20) < 0.5, 1.0, -1.0), rng.normal(size=20)

    def loss(values):
        return np.logaddexp(0, -y * values).sum()

    assert_allclose(-reference.central_differences(loss, f), reference.logistic_slopes(f, y), atol=1e-8)
