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


def multinomial_objective(Phi, T, labels, regularization, c, beta, weights=None):
    """Weighted mean of log Σ_c exp f_c − f_y + γ Σ_c cᵀΦc; labels (m, k) are 1 for a row's class, else 0."""
    weights = np.ones(len(labels)) if weights is None else weights
    f = Phi @ c + T @ beta
    losses = (
        np.log(np.exp(f - f.max(axis=1, keepdims=True)).sum(axis=1))
        + f.max(axis=1)
        - (f * labels).sum(axis=1)
    )
    return weights @ losses / weights.sum() + regularization * np.sum(c * (Phi @ c))


def zero_sum_basis(k):
    """(k, k − 1): an orthonormal basis of what k functions can say beside a function they share."""
    return np.linalg.svd(np.ones((1, k)))[2][1:].T


def laplace_covariance(Phi, cross, prior, T, T_new, curvatures, precision):
    """Covariance (r, r) of r functions at each of n new points, (n, r, r), with all matrices of order mr.

    Their prior covariance is Φ/precision each, their features are free, and curvatures (m, r, r) are the
    precisions of the samples: (n, r, r) blocks of prior − sᵀS⁻¹s with S = [Φ/precision + W⁻¹, T; Tᵀ, 0].
    """
    r = curvatures.shape[1]
    eye = np.eye(r)
    A = np.kron(Phi / precision, eye)
    for i, W in enumerate(curvatures):
        block = slice(i * r, (i + 1) * r)
        A[block, block] += np.linalg.inv(W)
    features = np.kron(T, eye)
    S = np.block([[A, features], [features.T, np.zeros((features.shape[1],) * 2)]])
    sides = np.vstack([np.kron(cross / precision, eye), np.kron(T_new.T, eye)])
    whole = np.kron(np.diag(prior) / precision, eye) - sides.T @ np.linalg.solve(S, sides)
    return np.stack([whole[j * r : (j + 1) * r, j * r : (j + 1) * r] for j in range(cross.shape[1])])


def newton_leave_one_out(Phi, T, f, slopes, curvatures, precision):
    """r functions (m, r) at each row by the Newton step of the problem without it, from f.

    slopes (m, r) are minus the derivatives of the losses, curvatures (m, r, r) their second derivatives.
    """
    out = []
    for i in range(len(f)):
        rows = np.delete(np.arange(len(f)), i)
        r = f.shape[1]
        eye = np.eye(r)
        A = np.kron(Phi[np.ix_(rows, rows)], eye)
        z = np.empty((len(rows), r))
        for j, row in enumerate(rows):
            block = slice(j * r, (j + 1) * r)
            A[block, block] += precision * np.linalg.inv(curvatures[row])
            z[j] = f[row] + np.linalg.solve(curvatures[row], slopes[row])
        features = np.kron(T[rows], eye)
        n = features.shape[1]
        S = np.block([[A, features], [features.T, np.zeros((n, n))]])
        solution = np.linalg.solve(S, np.concatenate([z.ravel(), np.zeros(n)]))
        out.append(np.concatenate([np.kron(Phi[i, rows], eye), np.kron(T[i], eye)], axis=1) @ solution)
    return np.array(out)
