"""Universal kriging with dense matrices: variances of the function and of the features' coefficients.

Phi (m, m) are kernel values of the samples, cross (m, n) those of samples and new points, Phi_new (n, n)
those of the new points; T (m, l) and T_new (n, l) the features. A = Φ + γΣw W⁻¹, s² is the variance of the
kernel part.
"""

import numpy as np


def _noisy(Phi, regularization, weights):
    weights = np.ones(len(Phi)) if weights is None else weights
    return Phi + regularization * weights.sum() * np.diag(1 / weights)


def universal_kriging(Phi, cross, Phi_new, T, T_new, y, regularization, weights=None):
    """Textbook form: covariance of the function at the new points, of the coefficients, and s².

    s² = yᵀPy / (m − l),  P = A⁻¹ − A⁻¹T(TᵀA⁻¹T)⁻¹TᵀA⁻¹;  cov β = s²(TᵀA⁻¹T)⁻¹;
    cov f = s²[Φ_new − KᵀA⁻¹K + D(TᵀA⁻¹T)⁻¹Dᵀ],  K = cross,  D = T_new − KᵀA⁻¹T.

    Without features (l = 0) these are a Gaussian process's.
    """
    inverse = np.linalg.inv(_noisy(Phi, regularization, weights))
    gls = np.linalg.inv(T.T @ inverse @ T)
    P = inverse - inverse @ T @ gls @ T.T @ inverse
    variance = y @ P @ y / (len(T) - T.shape[1])
    drift = T_new - cross.T @ inverse @ T
    covariance = Phi_new - cross.T @ inverse @ cross + drift @ gls @ drift.T
    return variance * covariance, variance * gls, variance


def kriging_system(Phi, cross, Phi_new, T, T_new, y, regularization, weights=None):
    """The mean and the covariance from the saddle-point system, whatever the order of the kernel.

    mean = [K; T_newᵀ]ᵀ S⁻¹ [y; 0],  cov = s²(Φ_new − [K; T_newᵀ]ᵀ S⁻¹ [K; T_newᵀ]),  S = [A T; Tᵀ 0].
    """
    m, n_free = T.shape
    A = _noisy(Phi, regularization, weights)
    system = np.block([[A, T], [T.T, np.zeros((n_free, n_free))]])
    sides = np.vstack([cross, T_new.T])
    solution = np.linalg.solve(system, np.concatenate([y, np.zeros(n_free)]))
    variance = y @ solution[:m] / (m - n_free)
    return sides.T @ solution, variance * (Phi_new - sides.T @ np.linalg.solve(system, sides))


def kriging_parts(Phi, cross, Phi_new, T, T_new, regularization, weights=None):
    """Covariances of the parts Tβ and g of the function at the new points, and between them, over s².

    The joint normal distribution of β (of variance ϑ), g at the new points and y, given y, as ϑ → ∞:
    cov β = S = (TᵀA⁻¹T)⁻¹,  cov(g, β) = −KᵀA⁻¹TS,  cov g = Φ_new − KᵀPK,  P as above.
    """
    inverse = np.linalg.inv(_noisy(Phi, regularization, weights))
    S = np.linalg.inv(T.T @ inverse @ T)
    P = inverse - inverse @ T @ S @ T.T @ inverse
    between = -cross.T @ inverse @ T @ S @ T_new.T  # (n, n): g of a row, Tβ of a column
    return T_new @ S @ T_new.T, Phi_new - cross.T @ P @ cross, between


def kriging_parts_of_a_prior(Phi, cross, Phi_new, T, T_new, prior, regularization, weights=None):
    """The same with a prior covariance of β in place of none: a Gaussian process of Tβ + g."""
    A = _noisy(Phi, regularization, weights) + T @ prior @ T.T
    known = np.vstack([T_new @ prior @ T.T, cross.T])  # with y: those of Tβ, then those of g
    n = len(T_new)
    joint = np.block([[T_new @ prior @ T_new.T, np.zeros((n, n))], [np.zeros((n, n)), Phi_new]])
    joint = joint - known @ np.linalg.solve(A, known.T)
    return joint[:n, :n], joint[n:, n:], joint[n:, :n]
