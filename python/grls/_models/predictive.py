"""Quantiles of observations whose mean is known up to a normal distribution of its logarithm."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from .._validation import FloatArray
from .families import Family

_NODES = 21
_HALVINGS = 60


def mixture_quantiles(
    family: Family, eta: FloatArray, std: FloatArray, shape: float, scale: float, levels: FloatArray
) -> FloatArray:
    """Return quantiles (n, q) of y, with log μ normal of mean η and standard deviation std, (n,).

    Of scale zero an observation is its mean.
    """
    if scale == 0:
        return family.mean(eta[:, None] + std[:, None] * ndtri(levels))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    mu = family.mean(eta[:, None] + std[:, None] * nodes)  # (n, nodes)
    distribution = family.distribution(mu, float(shape), float(scale))

    def probability(y: FloatArray) -> FloatArray:
        """Return P(Y ≤ y), (n,)."""
        return np.asarray(distribution.cdf(y[:, None]) @ weights)

    spread = np.sqrt(scale * family.variance(mu, float(shape)))
    top = np.log1p(np.max(mu + 50 * spread, axis=1) + 50)
    out = np.empty((len(eta), len(levels)))
    for j, level in enumerate(levels):
        low, high = np.zeros(len(eta)), top.copy()
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = probability(np.expm1(middle)) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        out[:, j] = np.expm1(high)
    if not family.zeros:
        return out
    whole = np.round(out)  # counts: the quantile is where the distribution jumps
    return np.asarray(np.where(np.abs(whole - out) < 1e-6 * np.maximum(1, out), whole, np.ceil(out)))
