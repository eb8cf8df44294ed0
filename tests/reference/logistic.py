"""Logistic loss with a kernel and free features; y is ±1."""

import numpy as np


def logistic_objective(Phi, T, y, regularization, c, beta, weights=None):
    """Weighted mean of log(1 + exp(−yf)) + γ cᵀΦc, y = ±1."""
    weights = np.ones(len(y)) if weights is None else weights
    f = Phi @ c + T @ beta
    return weights @ np.logaddexp(0, -y * f) / weights.sum() + regularization * c @ Phi @ c


def logistic_slopes(f, y, weights=None):
    """Minus the derivative of each row's loss, w_i y_i / (1 + exp(y_i f_i)); 2γΣw c_i at the minimum."""
    weights = np.ones(len(y)) if weights is None else weights
    return weights * y * np.exp(-np.logaddexp(0, y * f))
