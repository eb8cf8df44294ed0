"""Criteria by which γ is chosen, with dense matrices: leave-one-out, GCV, REML and what they are made of.

Weights scale rows: Φ → W½ΦW½, T → W½T, y → W½y; the shift of the diagonal is γm, or γΣw with weights.
"""

import numpy as np

from .basis import null_space
from .least_squares import solve_exact


def reduced(Phi, T, weights=None):
    """H⊥ = NᵀW½ΦW½N and N, whose columns span the null space of (W½T)ᵀ."""
    s = np.ones(len(T)) if weights is None else np.sqrt(weights)
    N = null_space(s[:, None] * T)
    return N.T @ (s[:, None] * Phi * s) @ N, N


def residual_operator(Phi, T, shift, weights=None):
    """B = N (H⊥ + shift·I)⁻¹ Nᵀ: the coefficients are c = By, the residuals y − f = shift·By."""
    perpendicular, N = reduced(Phi, T, weights)
    return N @ np.linalg.solve(perpendicular + shift * np.eye(len(perpendicular)), N.T)


def _scaled(Phi, T, y, regularization, weights):
    weights = np.ones(len(T)) if weights is None else weights
    s = np.sqrt(weights)
    return residual_operator(Phi, T, regularization * weights.sum(), weights), s, (s * y.T).T


def leave_one_out(Phi, T, y, regularization, weights=None):
    """Residuals of the fits without a row, in closed form: e_i = c_i / B_ii, in the rows' own units.

    A weight w counts rows: of w > 1 rows one is left out, e_i = c_i / (√w [(1 − 1/w)/s + B_ii/w]), s = γΣw.
    """
    B, root, scaled = _scaled(Phi, T, y, regularization, weights)
    share = np.minimum(1, 1 / root**2)
    kept = (1 - share) / (regularization * (root**2).sum()) + share * np.diag(B)
    return (B @ scaled / (kept * root).reshape(-1, *[1] * (y.ndim - 1))).reshape(y.shape)


def leave_one_out_by_refits(Phi, T, y, regularization, weights=None):
    """The same residuals from as many fits as there are rows; γΣw stays what it is with all of them."""
    weights = np.ones(len(T)) if weights is None else weights
    residuals = np.empty_like(y)
    for i in range(len(T)):
        without = weights.copy()
        without[i] -= min(1.0, weights[i])
        rest = without > 0
        gamma = regularization * weights.sum() / without.sum()
        c, beta = solve_exact(Phi[np.ix_(rest, rest)], T[rest], y[rest], gamma, without[rest])
        residuals[i] = y[i] - Phi[i, rest] @ c - T[i] @ beta
    return residuals


def leave_groups_out(Phi, T, y, regularization, labels, weights=None):
    """Residuals of the fits without a group of rows, in closed form: e_G = (B_GG)⁻¹c_G."""
    B, root, scaled = _scaled(Phi, T, y, regularization, weights)
    c, out = B @ scaled, np.empty_like(y)
    for label in np.unique(labels):
        G = labels == label
        out[G] = (np.linalg.solve(B[np.ix_(G, G)], c[G]).T / root[G]).T
    return out


def leave_groups_out_by_refits(Phi, T, y, regularization, labels, weights=None):
    """The same residuals from a fit without each group; γΣw stays what it is with all of them."""
    weights = np.ones(len(T)) if weights is None else weights
    residuals = np.empty_like(y)
    for label in np.unique(labels):
        G, rest = labels == label, labels != label
        gamma = regularization * weights.sum() / weights[rest].sum()
        c, beta = solve_exact(Phi[np.ix_(rest, rest)], T[rest], y[rest], gamma, weights[rest])
        residuals[G] = y[G] - Phi[np.ix_(G, rest)] @ c - T[G] @ beta
    return residuals


def mean_squared_leave_one_out(Phi, T, y, regularization, weights=None):
    """Σ w_i e_i² / Σw with the residuals of `leave_one_out`."""
    return np.average(leave_one_out(Phi, T, y, regularization, weights) ** 2, weights=weights)


def gcv(Phi, T, y, regularization, weights=None):
    """R |By|² / (tr B + (R − m)/s)², R = Σw rows: the mean squared residual over the squared mean share of y
    that is left."""
    B, root, scaled = _scaled(Phi, T, y, regularization, weights)
    c, rows = B @ scaled, (root**2).sum()
    return rows * c @ c / (np.trace(B) + (rows - len(T)) / (regularization * rows)) ** 2


def reml(Phi, T, y, regularization, weights=None):
    """log det(H⊥ + sI) + (R − m) log s + (R − l) log(yᵀBy / (R − l)), s = γR, of R = Σw rows: minus twice the
    restricted log-likelihood."""
    B, _, scaled = _scaled(Phi, T, y, regularization, weights)
    perpendicular, _ = reduced(Phi, T, weights)
    n = len(perpendicular)
    total = len(T) if weights is None else weights.sum()
    determinant = np.linalg.slogdet(perpendicular + regularization * total * np.eye(n))[1]
    determinant += (total - len(T)) * np.log(regularization * total)
    free = n + total - len(T)
    return determinant + free * np.log(scaled @ B @ scaled / free)


def standardised(T_x, T, weights=None):
    """(t(x) − mean) / spread: the features at x in units of the samples' (weighted) mean and spread.

    The constant columns of T are left out: they stay free. Without any, features are divided by their root
    mean square and not centred.
    """
    w = np.ones(len(T)) if weights is None else weights
    constant = np.ptp(T, axis=0) == 0
    mean = np.average(T, axis=0, weights=w) * constant.any()
    spread = np.sqrt(np.average((T - mean) ** 2, axis=0, weights=w))
    return ((T_x - mean) / np.where(spread > 0, spread, 1))[:, ~constant]


def feature_kernel(T_x, T_z, T, variance, weights=None):
    """τ z(x)ᵀz(z), z the standardised features: a prior of variance τ on their coefficients.

    Φ plus this is the kernel of a model with `feature_variance` τ, beside the constant if it is a feature;
    T (m, l) are the features at the samples.
    """
    return variance * standardised(T_x, T, weights) @ standardised(T_z, T, weights).T


def central_differences(function, values, relative=1e-5):
    """(f(v + hv_i e_i) − f(v − hv_i e_i)) / (2hv_i) for every i: a gradient without derivatives."""
    slopes = []
    for i, value in enumerate(values):
        step = np.zeros(len(values))
        step[i] = relative * value
        slopes.append((function(values + step) - function(values - step)) / (2 * relative * value))
    return np.array(slopes)
