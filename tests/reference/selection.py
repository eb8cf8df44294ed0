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

    A row at a point of its own is left out whole, whatever its weight.
    """
    B, root, scaled = _scaled(Phi, T, y, regularization, weights)
    return (B @ scaled / (np.diag(B) * root).reshape(-1, *[1] * (y.ndim - 1))).reshape(y.shape)


def leave_one_out_by_refits(Phi, T, y, regularization, weights=None):
    """The same residuals from as many fits as there are rows; γΣw stays what it is with all of them."""
    weights = np.ones(len(T)) if weights is None else weights
    residuals = np.empty_like(y)
    for i in range(len(T)):
        rest = np.arange(len(T)) != i
        gamma = regularization * weights.sum() / weights[rest].sum()
        c, beta = solve_exact(Phi[np.ix_(rest, rest)], T[rest], y[rest], gamma, weights[rest])
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
    """m |By|² / (tr B)²: the mean squared residual over the squared mean share of y that is left."""
    B, _, scaled = _scaled(Phi, T, y, regularization, weights)
    c = B @ scaled
    return len(T) * c @ c / np.trace(B) ** 2


def reml(Phi, T, y, regularization, weights=None):
    """log det(H⊥ + sI) + (m − l) log(yᵀBy / (m − l)), s = γΣw: minus twice the restricted log-likelihood."""
    B, _, scaled = _scaled(Phi, T, y, regularization, weights)
    perpendicular, _ = reduced(Phi, T, weights)
    n = len(perpendicular)
    total = len(T) if weights is None else weights.sum()
    determinant = np.linalg.slogdet(perpendicular + regularization * total * np.eye(n))[1]
    return determinant + n * np.log(scaled @ B @ scaled / n)


def observations(X, Y, weights=None):
    """The observations behind rows of whole weights: rows they are at, values (n, k), noise variances (n,).

    Rows at one point that agree, the variance within it no more than 1e-6 of that of y in every column, are
    one observation: their mean, of variance 1/W. Others are as many as their weights say, of variance one.
    """
    w = np.ones(len(X)) if weights is None else np.asarray(weights)
    spread = np.average((Y - np.average(Y, axis=0, weights=w)) ** 2, axis=0, weights=w)
    at, values, noise = [], [], []
    for point in sorted({tuple(x) for x in X}):
        rows = [i for i, x in enumerate(X) if tuple(x) == point]
        mean = np.average(Y[rows], axis=0, weights=w[rows])
        within = np.average((Y[rows] - mean) ** 2, axis=0, weights=w[rows])
        if np.all(within <= 1e-6 * spread):
            found = [(rows[0], mean, 1 / w[rows].sum())]
        else:
            found = [(i, Y[i], 1.0) for i in rows for _ in range(int(w[i]))]
        for i, value, variance in found:
            at.append(i)
            values.append(value)
            noise.append(variance)
    return np.array(at), np.array(values), np.array(noise)


def of_observations(Phi, T, Y, noise, shift):
    """B = N (NᵀAN)⁻¹ Nᵀ, A = Φ + s·diag(noise), Nᵀ T = 0, and log det NᵀAN: the density of the contrasts."""
    N = null_space(T)
    A = N.T @ (Phi + shift * np.diag(noise)) @ N
    return N @ np.linalg.solve(A, N.T), np.linalg.slogdet(A)[1]


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
