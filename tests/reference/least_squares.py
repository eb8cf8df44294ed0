"""Solutions and objectives of least squares with free features."""

import numpy as np

from .basis import E, H, H_between, others, phi_prime


def objective(Phi, T, y, regularization, c, beta):
    """Eq. (2): mean squared error + γ ‖f − Pf‖², for one output."""
    residual = y - Phi @ c - T @ beta
    return residual @ residual / len(y) + regularization * c @ Phi @ c


def weighted_objective(Phi, T, y, regularization, c, beta, weights):
    """Eq. (2) with the weighted mean of the squared errors."""
    residual = y - Phi @ c - T @ beta
    return weights @ residual**2 / weights.sum() + regularization * c @ Phi @ c


def solve_exact(Phi, T, y, regularization, weights=None):
    """The minimiser of eq. (2) from the optimality conditions themselves, as one saddle-point system.

    (Φ + γ Σw W⁻¹) c + T β = y,  Tᵀc = 0; without weights W = I and Σw = m.
    """
    m, l = T.shape  # noqa: E741
    weights = np.ones(m) if weights is None else weights
    system = np.block([[Phi + np.diag(regularization * weights.sum() / weights), T], [T.T, np.zeros((l, l))]])
    solution = np.linalg.solve(system, np.concatenate([y, np.zeros((l, *y.shape[1:]))]))
    return solution[:m], solution[m:]


def solve_published(Phi, T, y, regularization, pivots):
    """λ̃ and c̃ of eqs. (26) and (27), to the letter."""
    r = others(len(T), pivots)
    lambda_tilde = y[pivots]
    A = H(Phi, T, pivots) + regularization * len(T) * np.eye(len(r))
    return lambda_tilde, np.linalg.solve(A, y[r] - E(T, pivots).T @ lambda_tilde)


def published_function(Phi_new, T_new, Phi, T, pivots, lambda_tilde, c_tilde):
    """Eq. (28) at new points: Phi_new (n, m) their kernel values with the samples, T_new (n, l)."""
    r = others(len(T), pivots)
    P_new = phi_prime(T_new, T, pivots)
    P = phi_prime(T, T, pivots)[r]
    H_new = H_between(
        Phi_new[:, r], Phi[np.ix_(pivots, r)], Phi_new[:, pivots], Phi[np.ix_(pivots, pivots)], P_new, P
    )
    return P_new @ lambda_tilde + H_new @ c_tilde


def ordinary_least_squares(T, Y, weights=None):
    """β = (TᵀWT)⁻¹TᵀWY, the values Tβ, and the residuals without a row, (y_i − t_iᵀβ) / (1 − h_ii)."""
    s = np.ones((len(T), 1)) if weights is None else np.sqrt(weights)[:, None]
    beta = np.linalg.lstsq(s * T, s * Y.reshape(len(T), -1), rcond=None)[0]
    Q = np.linalg.qr(s * T)[0]
    left_out = (Y.reshape(len(T), -1) - T @ beta) / (1 - (Q**2).sum(axis=1)[:, None])
    return tuple(a.reshape(-1, *Y.shape[1:]) for a in (beta, T @ beta, left_out))
