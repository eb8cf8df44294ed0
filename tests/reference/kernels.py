"""Kernels: X is (n, d), Z is (p, d); each returns (n, p)."""

import numpy as np


def squared_distances(X, Z):
    difference = np.asarray(X, dtype=np.float64)[:, None, :] - np.asarray(Z, dtype=np.float64)[None, :, :]
    return (difference**2).sum(axis=2)


def inner_products(X, Z):
    return np.asarray(X, dtype=np.float64) @ np.asarray(Z, dtype=np.float64).T


def constant(X, Z, value):
    return np.full((len(X), len(Z)), float(value))


def linear(X, Z):
    return inner_products(X, Z)


def polynomial(X, Z, degree, c):
    return (inner_products(X, Z) + c) ** degree


def sigmoid(X, Z, a, c):
    return np.tanh(a * inner_products(X, Z) + c)


def gaussian(X, Z, sigma):
    """exp(−‖x − z‖² / (2σ²)); with one σ per column each column is divided by its own."""
    return np.exp(-squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)) / 2)


def laplace(X, Z, sigma):
    return np.exp(-np.sqrt(squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma))))


def matern(X, Z, sigma, nu):
    s = np.sqrt(2 * nu * squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)))
    return {0.5: 1, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}[nu] * np.exp(-s)


def rational_quadratic(X, Z, sigma, alpha):
    scaled = squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma))
    return (1 + scaled / (2 * alpha)) ** -alpha


def periodic(X, Z, sigma, period):
    half_turns = np.pi * (X[:, None, :] - Z[None, :, :]) / np.asarray(period)
    return np.exp(-2 * (np.sin(half_turns) ** 2 / np.asarray(sigma) ** 2).sum(axis=2))


def log_kernel(X, Z, p):
    return -np.log1p(squared_distances(X, Z) ** (p / 2))


def multiquadric(X, Z, sigma):
    return -np.sqrt(1 + squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)))


def polyharmonic(X, Z, degree):
    r = np.sqrt(squared_distances(X, Z))
    if degree % 2 == 1:
        return (-1) ** ((degree + 1) // 2) * r**degree
    return (-1) ** (degree // 2 + 1) * r**degree * np.log(np.where(r > 0, r, 1))


def chi_squared(X, Z, gamma):
    sums = X[:, None, :] + Z[None, :, :]
    shares = (X[:, None, :] - Z[None, :, :]) ** 2 / np.where(sums > 0, sums, 1)
    return np.exp(-gamma * shares.sum(axis=2))


def normalized(kernel, X, Z):
    """k(x, z) / √(k(x, x) k(z, z)), zero where a diagonal value is."""
    x, z = (np.diag(kernel(A, A)) for A in (X, Z))
    scale = np.sqrt(np.outer(x, z))
    return np.where(scale > 0, kernel(X, Z) / np.where(scale > 0, scale, 1), 0)
