"""Losses by their formulas, and the minimum of the primal problem by Newton's method on smoothed ones."""

import numpy as np
from scipy import linalg, sparse


def value(loss, r, level=0.5, epsilon=0.1, delta=1.0):
    """Return V(r), as the documentation prints it."""
    size = np.abs(r)
    return {
        "huber": np.where(size <= delta, r**2, 2 * delta * size - delta**2),
        "quantile": np.where(r > 0, level * r, (level - 1) * r),
        "absolute": size,
        "epsilon_insensitive": np.maximum(0, size - epsilon),
        "squared_epsilon_insensitive": np.maximum(0, size - epsilon) ** 2,
        "expectile": np.where(r > 0, level, 1 - level) * r**2,
    }[loss]


def objective(loss, Phi, T, y, weights, gamma, c, beta, **settings):
    """Return the weighted mean of V and γcᵀΦc."""
    image = Phi @ c
    return np.average(value(loss, y - image - T @ beta, **settings), weights=weights) + gamma * c @ image


class _Positive:
    """The positive part of x, rounded off within μ, with two derivatives."""

    def __init__(self, x, mu):
        s = np.sqrt(x**2 + mu**2)
        self.p, self.d, self.dd = (x + s) / 2, (1 + x / s) / 2, mu**2 / (2 * s**3)

    def squared(self):
        return self.p**2, 2 * self.p * self.d, 2 * (self.d**2 + self.p * self.dd)


def _smoothed(loss, r, mu, level, epsilon, delta):
    """Return V and two derivatives by r, nearly."""
    shift = {"huber": delta}.get(loss, epsilon if "epsilon" in loss else 0.0)
    right, left = _Positive(r - shift, mu), _Positive(-r - shift, mu)
    up, down = (level, 1 - level) if loss in ("quantile", "expectile") else (1.0, 1.0)
    if loss in ("quantile", "absolute", "epsilon_insensitive"):
        one, other = (right.p, right.d, right.dd), (left.p, left.d, left.dd)
    else:
        one, other = right.squared(), left.squared()
    V, d, dd = (up * a + sign * down * b for a, b, sign in zip(one, other, (1, -1, 1), strict=True))
    if loss == "huber":
        return r**2 - V, 2 * r - d, np.maximum(2 - dd, 1e-9)
    return V, d, dd


def minimum(loss, Phi, T, y, weights, gamma, level=0.5, epsilon=0.1, delta=1.0):
    """Return c and β of the minimum, the smoothing going to nothing."""
    m, n_free = T.shape
    w = weights / weights.sum()
    N = linalg.null_space(T.T) if n_free else np.eye(m)
    A, K = np.hstack([Phi @ N, T]), N.T @ Phi @ N
    x = np.zeros(A.shape[1])
    penalty = 2 * gamma * linalg.block_diag(K, np.zeros((n_free, n_free)))

    def total(x, mu):
        V = _smoothed(loss, y - A @ x, mu, level, epsilon, delta)[0]
        return w @ V + 0.5 * x @ penalty @ x

    for mu in np.geomspace(1.0, 1e-9, 19):
        for _ in range(100):
            _, d, dd = _smoothed(loss, y - A @ x, mu, level, epsilon, delta)
            gradient = -A.T @ (w * d) + penalty @ x
            hessian = A.T @ ((w * dd)[:, None] * A) + penalty
            hessian[np.diag_indices_from(hessian)] += 1e-13 * np.trace(hessian)
            step = -linalg.lstsq(hessian, gradient)[0]
            slope, length, now = gradient @ step, 1.0, total(x, mu)
            while length > 1e-10 and total(x + length * step, mu) > now + 1e-4 * length * slope:
                length /= 2
            x = x + length * step
            if -slope < 1e-15 * max(now, 1e-12):
                break
    return N @ x[: N.shape[1]], x[N.shape[1] :]


def joint_quantiles(Phi, T, y, weights, gamma, levels):
    """The least Σ_k objective of levels in ascending order with f_k ≤ f_{k+1} at every sample, by OSQP.

    The primal program in u_k, β_k and the parts of the residuals: f_k = Φ^½ u_k + T β_k, y − f_k = ξ⁺ − ξ⁻.
    """
    import pytest  # here: what sanitizers run has none

    osqp = pytest.importorskip("osqp")  # not for every Python

    (m, n), k = T.shape, len(levels)
    values, vectors = np.linalg.eigh(Phi)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    eye, zero = sparse.eye(m), sparse.csc_matrix((m, m))
    f = sparse.hstack([root, T, zero, zero])
    fit = sparse.hstack([root, T, eye, -eye])
    apart = [sparse.hstack([*[f * 0] * j, -f, f, *[f * 0] * (k - 2 - j)]) for j in range(k - 1)]
    share = weights / weights.sum()
    cost = [np.concatenate([np.zeros(m + n), q * share, (1 - q) * share]) for q in levels]
    penalty = sparse.diags(np.concatenate([np.full(m, 2 * gamma), np.zeros(n + 2 * m)]))
    positive = sparse.hstack([sparse.csc_matrix((2 * m, m + n)), sparse.eye(2 * m)])
    A = sparse.vstack([sparse.block_diag([fit] * k), *apart, sparse.block_diag([positive] * k)], format="csc")
    lower = np.concatenate([np.tile(y, k), np.zeros((k - 1) * m + 2 * k * m)])
    upper = np.concatenate([np.tile(y, k), np.full((k - 1) * m + 2 * k * m, np.inf)])
    solver = osqp.OSQP()
    solver.setup(
        sparse.block_diag([penalty] * k, format="csc"),
        np.concatenate(cost),
        A,
        lower,
        upper,
        eps_abs=1e-9,
        eps_rel=1e-9,
        max_iter=200_000,
        polishing=True,
        verbose=False,
    )
    return solver.solve(raise_error=True).info.obj_val
