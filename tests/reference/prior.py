"""The Gaussian prior on the weights; Sigma (d, d) is always the whole matrix here.

Equation numbers are those of "Regularized Least Squares Classification with a Gaussian Regularization Prior".
"""

import numpy as np


def prior_objective(X, T, y, w, beta, mean, Sigma, regularization=1.0, weights=None):
    """1/(2n) |y − Xw − Tβ|² + ρ/2 (w − μ)ᵀΣ⁻¹(w − μ); eq. (5) for w = Xᵀc and μ = 0."""
    residual = y - X @ w - T @ beta
    weights = np.ones(len(y)) if weights is None else weights
    penalty = (w - mean) @ np.linalg.solve(Sigma, w - mean)
    return weights @ residual**2 / (2 * weights.sum()) + regularization / 2 * penalty


def prior_map(X, T, y, mean, Sigma, regularization=1.0, weights=None):
    """The minimiser of `prior_objective` from its normal equations in w and β."""
    d = X.shape[1]
    weights = np.ones(len(y)) if weights is None else weights
    design = np.hstack([X, T])
    system = design.T @ (weights[:, None] * design)
    system[:d, :d] += regularization * weights.sum() * np.linalg.inv(Sigma)
    solution = np.linalg.solve(system, design.T @ (weights * (y - X @ mean)))
    return mean + solution[:d], solution[d:]


def prior_published(X, y, mean, Sigma, regularization=1.0):
    """Eq. (7) to the letter, w = Xᵀc; a mean is subtracted from both sides."""
    K = X @ X.T
    system = K @ K + regularization * len(y) * X @ np.linalg.solve(Sigma, X.T)
    c = np.linalg.lstsq(system, K @ (y - X @ mean), rcond=1e-12)[0]
    return mean + X.T @ c


def kernel_components(K, weights=None):
    """Z with ZZᵀ = K in components, A with Z = KA, and the eigenvalues of K/n, by singular values."""
    w = np.ones(len(K)) if weights is None else weights
    S = np.sqrt(w)
    U, values, _ = np.linalg.svd(S[:, None] * K * S)
    kept = values > 1e-12 * values[0]
    U, values = U[:, kept], values[kept]
    return U * np.sqrt(values) / S[:, None], S[:, None] * U / np.sqrt(values), values / w.sum()
