"""Deviances of counts and positive values with a logarithmic link, as textbooks print them."""

import numpy as np
from scipy.special import xlogy


def unit_deviance(loss, y, mu, alpha=1.0):
    """Twice the log-likelihood that a mean μ loses against μ = y."""
    if loss == "poisson":
        return 2 * (xlogy(y, y / mu) - (y - mu))
    if loss == "gamma":
        return 2 * ((y - mu) / mu - np.log(y / mu))
    return 2 * (xlogy(y, y / mu) - (y + 1 / alpha) * np.log((1 + alpha * y) / (1 + alpha * mu)))


def family_slopes(loss, y, mu, alpha=1.0):
    """Minus the derivative of half the unit deviance by log μ."""
    return {"poisson": y - mu, "gamma": y / mu - 1, "negative_binomial": (y - mu) / (1 + alpha * mu)}[loss]


def family_curvatures(loss, y, mu, alpha=1.0):
    """The second derivative of half the unit deviance by log μ."""
    return {
        "poisson": mu,
        "gamma": y / mu,
        "negative_binomial": mu * (1 + alpha * y) / (1 + alpha * mu) ** 2,
    }[loss]


def family_objective(loss, Phi, T, y, regularization, c, beta, weights=None, offset=0.0, alpha=1.0):
    """Weighted mean of half the unit deviances + γ cᵀΦc."""
    weights = np.ones(len(y)) if weights is None else weights
    mu = np.exp(Phi @ c + T @ beta + offset)
    losses = unit_deviance(loss, y, mu, alpha) / 2
    return weights @ losses / weights.sum() + regularization * c @ Phi @ c
