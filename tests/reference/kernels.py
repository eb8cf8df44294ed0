"""Kernels: X is (n, d), Z is (p, d); each returns (n, p)."""

import numpy as np
from scipy.special import gammaln, kve


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


def laplace_l1(X, Z, sigma):
    return np.exp(-(np.abs(X[:, None, :] - Z[None, :, :]) / np.asarray(sigma)).sum(axis=2))


def matern(X, Z, sigma, nu):
    s = np.sqrt(2 * nu * squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)))
    closed = {0.5: 1, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}
    if nu in closed:
        return closed[nu] * np.exp(-s)
    positive = np.where(s > 0, s, 1)  # 2^(1−ν) / Γ(ν) s^ν K_ν(s)
    logs = (1 - nu) * np.log(2) - gammaln(nu) + nu * np.log(positive) + np.log(kve(nu, positive)) - positive
    return np.where(s > 0, np.exp(logs), 1)


def spherical(X, Z, sigma):
    h = np.sqrt(squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)))
    return np.where(h < 1, 1 - 1.5 * h + h**3 / 2, 0)


def wendland(X, Z, sigma, smoothness, dimension):
    """As in Wendland, Scattered data approximation (2005), table 9.1 and its general form."""
    h = np.sqrt(squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)))
    l = dimension // 2 + smoothness + 1  # noqa: E741
    polynomial = {
        0: 1,
        1: (l + 1) * h + 1,
        2: ((l**2 + 4 * l + 3) * h**2 + (3 * l + 6) * h + 3) / 3,
        3: ((l**3 + 9 * l**2 + 23 * l + 15) * h**3 + (6 * l**2 + 36 * l + 45) * h**2 + (15 * l + 45) * h + 15)
        / 15,
    }[smoothness]
    return np.where(h < 1, np.maximum(1 - h, 0) ** (l + smoothness) * polynomial, 0)


def mismatches(X, Z, sigma):
    return ((X[:, None, :] != Z[None, :, :]) / np.asarray(sigma)).sum(axis=2)


def overlap(X, Z):
    return (X[:, None, :] == Z[None, :, :]).mean(axis=2)


def categorical(X, Z, sigma):
    return np.exp(-mismatches(X, Z, sigma))


def places(X, radius=1.0):
    """Latitude and longitude in degrees as points in space."""
    latitude, longitude = np.radians(np.asarray(X, dtype=np.float64)).T
    return radius * np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )


def turned(X, angle, ratio):
    """Coordinates along a direction, and across it in units of the ratio."""
    alpha = np.radians(angle)
    along = X[:, 0] * np.cos(alpha) + X[:, 1] * np.sin(alpha)
    return np.column_stack([along, (X[:, 1] * np.cos(alpha) - X[:, 0] * np.sin(alpha)) / ratio])


def turned_in_space(X, angles, ratios):
    """Coordinates along a direction in space, across it and level, across both; the latter two turned about
    the direction, and in units of the ratios."""
    azimuth, dip, rake = np.radians(angles)
    along = np.array([np.cos(azimuth) * np.cos(dip), np.sin(azimuth) * np.cos(dip), np.sin(dip)])
    level = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    upright = np.cross(along, level)
    second = np.cos(rake) * level + np.sin(rake) * upright
    third = np.cos(rake) * upright - np.sin(rake) * level
    return np.column_stack([X @ along, X @ second / ratios[0], X @ third / ratios[1]])


def arc_cosine(X, Z, degree, c, layers=1):
    """Angles from the differences and sums of unit vectors, exact for parallel rows; further layers from
    their inner products."""
    X, Z = (np.hstack([A, np.full((len(A), 1), np.sqrt(c))]) for A in (X, Z))
    x, z = np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1)
    U, V = X / np.where(x > 0, x, 1)[:, None], Z / np.where(z > 0, z, 1)[:, None]
    apart, sums = U[:, None, :] - V[None, :, :], U[:, None, :] + V[None, :, :]
    angle = 2 * np.arctan2(np.linalg.norm(apart, axis=2), np.linalg.norm(sums, axis=2))
    x2, z2 = x**2, z**2
    for layer in range(layers):
        J = {
            0: np.pi - angle,
            1: np.sin(angle) + (np.pi - angle) * np.cos(angle),
            2: 3 * np.sin(angle) * np.cos(angle) + (np.pi - angle) * (1 + 2 * np.cos(angle) ** 2),
        }[degree]
        there = np.outer(x2, z2) > 0
        K = np.where(there, np.outer(x2, z2) ** (degree / 2) * J / np.pi, 0)
        x2, z2 = ({0: 1.0, 1: 1.0, 2: 3.0}[degree] * s**degree for s in (x2, z2))
        if layer + 1 < layers:
            angle = np.arccos(np.minimum(K / np.sqrt(np.outer(x2, z2)), 1))
    return K


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
