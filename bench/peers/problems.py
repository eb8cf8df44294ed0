"""The problems that are timed: made of random numbers, so that nothing has to be downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SpreadColumns:
    """The constant and some columns of X: features that cost next to nothing to evaluate."""

    count: int

    def __call__(self, X: Array) -> Array:
        T = np.ones((len(X), self.count))
        columns = np.linspace(0, X.shape[1] - 1, self.count + 1, dtype=int)[1:-1] if self.count > 1 else []
        T[:, 1:] = X[:, columns]
        return T


@dataclass(frozen=True)
class LinearTrend:
    """The constant and all columns of X."""

    def __call__(self, X: Array) -> Array:
        return np.column_stack([np.ones(len(X)), X])


@dataclass(frozen=True)
class Problem:
    """Minimise |y - f|² + alpha cᵀKc over f = Kc + Tβ, with K Gaussian of width sigma and T unpenalised."""

    scene: str
    X: Array  # (m, d)
    y: Array  # (m,)
    X_new: Array  # (n, d)
    f_new: Array  # (n,) the truth at X_new, without noise
    sigma: float
    alpha: float  # γm
    features: Callable[[Array], Array]

    @property
    def m(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def n_features(self) -> int:
        return self.features(self.X[:2]).shape[1]

    def error(self, predictions: Array) -> float:
        """Return the root mean square error at X_new as a share of the truth's standard deviation."""
        return float(np.sqrt(np.mean((predictions - self.f_new) ** 2)) / self.f_new.std())


def _typical_distance(X: Array) -> float:
    half = min(len(X) // 2, 200)
    return float(np.sqrt(np.median(((X[:half] - X[half : 2 * half]) ** 2).sum(axis=1))))


def digits_like(m: int, d: int = 784, n_features: int = 10, n_new: int = 1000, seed: int = 0) -> Problem:
    """Rows like images of digits: d values in [0, 1], many of them 0, that vary in few ways."""
    if n_features < 1 or n_features > d:
        raise ValueError(f"the digits-like scene has 1 to d={d} features, got {n_features}")
    rng = np.random.default_rng(seed)
    ways = rng.standard_normal((m + n_new, 8))
    pixels = ways @ rng.standard_normal((8, d)) / 4 + 0.1 * rng.standard_normal((m + n_new, d))
    X = np.clip(pixels, 0, 1)
    features = SpreadColumns(n_features)
    f = np.sin(ways[:, 0]) + ways[:, 1] * ways[:, 2] / 2 + features(X) @ rng.standard_normal(n_features)
    y = f[:m] + 0.1 * rng.standard_normal(m)
    X_new = np.ascontiguousarray(X[m:])
    return Problem(
        "digits", X[:m].copy(), y, X_new, f[m:], _typical_distance(X), alpha=1e-4 * m, features=features
    )


def spatial(m: int, n_new: int = 1000, seed: int = 0) -> Problem:
    """Points in a cube with a linear trend, waves on it, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((m + n_new, 3))
    f = 1 + X @ [3.0, -2.0, 1.0] + np.sin(6 * X[:, 0]) * np.cos(5 * X[:, 1]) + X[:, 2] ** 2
    y = f[:m] + 0.1 * rng.standard_normal(m)
    return Problem("spatial", X[:m].copy(), y, X[m:].copy(), f[m:], 0.2, alpha=0.01, features=LinearTrend())
