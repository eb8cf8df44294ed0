"""Conditional conformal bands by programs of other solvers, refitted for each score of the new row."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def dual_of_new_row(T, scores, alpha, phi, S):
    """The coefficient of the new row (phi, S) in the linear quantile regression of n + 1 rows: a dual LP."""
    T_all, s_all = np.vstack([T, phi]), np.append(scores, S)
    found = linprog(
        -s_all,
        A_eq=T_all.T,
        b_eq=np.zeros(T.shape[1]),
        bounds=[(-alpha, 1 - alpha)] * len(s_all),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return found.x[-1]


def threshold_by_refits(T, scores, alpha, phi, share=None, reach=1e3):
    """The score at which that coefficient reaches its bound, or `share`, by bisection; inf: it never does."""
    target = 1 - alpha if share is None else share
    low, high = -reach, reach
    if dual_of_new_row(T, scores, alpha, phi, high) < target - 1e-9:
        return np.inf
    while high - low > 1e-10:
        middle = 0.5 * (low + high)
        if dual_of_new_row(T, scores, alpha, phi, middle) < target - 1e-9:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def threshold_by_program(K, T, scores, lower, upper, target, k, own, phi):
    """f(x) where the coefficient of the new row is held at `target`: the QP of the others, by OSQP."""
    n, r = T.shape
    import pytest  # here: what sanitizers run has none

    osqp = pytest.importorskip("osqp")  # not for every Python
    solver = osqp.OSQP()
    A = sparse.vstack([sparse.csc_matrix(T.T), sparse.eye(n, format="csc")], format="csc")
    low = np.concatenate([-target * phi, np.full(n, lower)])
    high = np.concatenate([-target * phi, np.full(n, upper)])
    solver.setup(
        sparse.csc_matrix(np.triu(K)),
        -(scores - target * k),
        A,
        low,
        high,
        eps_abs=1e-11,
        eps_rel=1e-11,
        max_iter=200_000,
        polishing=True,
        verbose=False,
    )
    found = solver.solve(raise_error=True)
    return phi @ found.y[:r] + k @ found.x + target * own


def split_conformal(scores, alpha):
    """The ⌈(n + 1)(1 − α)⌉-th smallest score."""
    rank = int(np.ceil((len(scores) + 1) * (1 - alpha) - 1e-9))
    return np.inf if rank > len(scores) else np.sort(scores)[rank - 1]


def jackknife_plus(left_out_predictions, residuals, alpha):
    """Ends from predictions (q, m) by the models without each row, and residuals (m,) of rows left out."""
    m = len(residuals)
    low = np.sort(left_out_predictions - np.abs(residuals), axis=1)
    high = np.sort(left_out_predictions + np.abs(residuals), axis=1)
    low_rank = int(np.floor(alpha * (m + 1) + 1e-9))
    high_rank = int(np.ceil((1 - alpha) * (m + 1) - 1e-9))
    q = len(low)
    return np.column_stack(
        [
            low[:, low_rank - 1] if low_rank >= 1 else np.full(q, -np.inf),
            high[:, high_rank - 1] if high_rank <= m else np.full(q, np.inf),
        ]
    )
