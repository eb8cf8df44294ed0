"""Random problems for the papers' programs, and the linear program (25) by HiGHS."""

import numpy as np
from scipy.optimize import linprog

KINDS = ("noisy", "separable", "degenerate", "weighted", "groups", "no kernel", "nearly solved", "scaled")


def bias_problem(seed):
    """Return what the kernel says at m samples, features, labels and weights; eight kinds in turn."""
    rng = np.random.default_rng([25, seed])
    kind = KINDS[seed % len(KINDS)]
    m, n_free = int(rng.integers(30, 301)), int(rng.integers(1, 11))
    T = np.column_stack([np.ones(m), rng.normal(size=(m, n_free - 1))])
    beta, C = rng.normal(size=n_free), np.ones(m)
    noise = 0.0 if kind == "separable" else 1.0
    y = np.where(T @ beta + noise * rng.normal(size=m) > 0, 1.0, -1.0)
    known = rng.normal(size=m) * rng.choice([0.1, 1.0, 3.0])
    if kind == "separable":
        known = 0.1 * known
    elif kind == "degenerate":  # many samples at the kink, and twice
        half = m // 2
        known, T = np.round(2 * known) / 2, np.round(2 * T) / 2
        known[half : 2 * half], T[half : 2 * half] = known[:half], T[:half]
    elif kind == "weighted":
        C = rng.exponential(size=m) * 10 ** rng.uniform(-2, 2, m)
    elif kind == "groups":
        T = (rng.integers(0, n_free, m)[:, None] == np.arange(n_free)).astype(float)
    elif kind == "no kernel":
        known = np.zeros(m)
    elif kind == "nearly solved":
        known = known - 0.7 * T @ beta
    elif kind == "scaled":
        T = T * 10.0 ** rng.uniform(-4, 4, n_free)
    return known, T, y, C


def bias_losses(known, T, y, C, beta):
    """Return Σ C_i ξ_i."""
    return float(C @ np.maximum(0, 1 - y * (known + T @ beta)))


def bias_by_highs(known, T, y, C):
    """Return the least Σ C_i ξ_i."""
    m, n_free = T.shape
    found = linprog(
        np.concatenate([np.zeros(n_free), C]),
        A_ub=np.hstack([-y[:, None] * T, -np.eye(m)]),
        b_ub=y * known - 1,
        bounds=[(None, None)] * n_free + [(0, None)] * m,
        method="highs",
    )
    assert found.status == 0
    return float(found.fun)


def svm_problem(seed):
    """Return a kernel matrix, features, labels and C; eight kinds in turn."""
    rng = np.random.default_rng([23, seed])
    kind = ("noisy", "separable", "degenerate", "linear", "scaled", "small C", "large C", "noise")[seed % 8]
    m, n_free = int(rng.integers(30, 151)), int(rng.integers(1, 7))
    X = rng.normal(size=(m, max(n_free, 2)))
    noise = 0.0 if kind == "separable" else 0.7
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) + noise * rng.normal(size=m) > 0, 1.0, -1.0)
    if kind == "noise":
        y = rng.choice([-1.0, 1.0], m)
    if kind == "degenerate":
        half = m // 2
        X = np.round(X)
        X[half : 2 * half] = X[:half]
    T = np.column_stack([np.ones(m), X[:, 1:n_free]])
    if kind == "scaled":
        T = T * 10.0 ** rng.uniform(-4, 4, n_free)
    square = ((X[:, None] - X) ** 2).sum(axis=2)
    Phi = X @ X.T if kind == "linear" else np.exp(-square / (2 * rng.uniform(0.5, 3) ** 2))
    C = {"small C": 1e-3, "large C": 1e3}.get(kind, 10 ** rng.uniform(-1, 1.5))
    return Phi, T, y, C
