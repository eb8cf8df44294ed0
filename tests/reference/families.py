"""Deviances of counts and positive values with a logarithmic link, as textbooks print them."""

import numpy as np
from scipy.optimize import minimize_scalar
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


def leave_one_out_along_steps(loss, y, Phi, T, c, beta, precision, alpha):
    """f of each row by the model without it: where its objective is smallest on the way of its Newton step.

    c (m,) and beta (l,) are of the model with all rows, and `precision` is 2γm.
    """
    f = Phi @ c + T @ beta
    mu, n = np.exp(f), T.shape[1]
    g, w = family_slopes(loss, y, mu, alpha), family_curvatures(loss, y, mu, alpha)
    out = []
    for i in range(len(y)):
        rows = np.delete(np.arange(len(y)), i)
        A = Phi[np.ix_(rows, rows)] + np.diag(precision / w[rows])
        S = np.block([[A, T[rows]], [T[rows].T, np.zeros((n, n))]])
        step = np.linalg.solve(S, np.concatenate([(f + g / w)[rows], np.zeros(n)]))
        dc, db = np.insert(step[: len(rows)], i, 0.0) - c, step[len(rows) :] - beta

        def objective(t, rows=rows, dc=dc, db=db):
            a = c + t * dc
            values = Phi @ a + T @ (beta + t * db)
            deviance = unit_deviance(loss, y, np.exp(values), alpha)[rows]
            return deviance.sum() / 2 + precision / 2 * a @ Phi @ a

        t = minimize_scalar(objective, bounds=(-5, 20), method="bounded", options={"xatol": 1e-10}).x
        out.append(f[i] + t * (Phi[i] @ dc + T[i] @ db))
    return np.array(out)
