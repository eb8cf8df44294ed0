"""Sums over rows: all that a fit needs of them. They add up, in whatever blocks the rows come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from .modes import Modes, half
from .transforms import slices, wave_sums


@dataclass
class Sums:
    """The sums of some rows, with q columns [t y] of features and targets."""

    generator: Any  # complex (h',): Σ_i w_i exp(−2πi⟨j, x_i⟩/p) on the half space of |j| ≤ 2J
    across: Any  # complex (q, h): the same of w_i [t y]_i, |j| ≤ J
    matrix: FloatArray  # (q, q): Σ_i w_i [t y]ᵀ[t y]
    rows: int
    weight: float  # Σ_i w_i
    log_weights: float = 0.0  # Σ_i log w_i
    blocks: int = 1
    moments: Any = 0.0  # (2, k): Σw(y − o) and Σw(y − o)² of targets y, o their origin

    def __add__(self, other: Sums) -> Sums:
        if self.matrix.shape != other.matrix.shape:
            raise ValueError("the number of targets is not that of the blocks before")
        return Sums(
            self.generator + other.generator,
            self.across + other.across,
            self.matrix + other.matrix,
            self.rows + other.rows,
            self.weight + other.weight,
            self.log_weights + other.log_weights,
            self.blocks + other.blocks,
            self.moments + other.moments,
        )


def no_sums(modes: Modes, q: int) -> Sums:
    """Return the sums of no rows."""
    wide = int(np.prod([4 * limit + 1 for limit in modes.limits]))
    return Sums(
        np.zeros(wide // 2 + 1, dtype=np.complex128),
        np.zeros((q, modes.count // 2 + 1), dtype=np.complex128),
        np.zeros((q, q)),
        0,
        0.0,
        0.0,
        0,
    )


def sums_of_rows(
    modes: Modes, points: FloatArray, T: FloatArray, Y: FloatArray, weights: FloatArray | None
) -> Sums:
    """Return the sums of rows: points (n, d), features T (n, l), targets Y (n, k), weights (n,)."""
    total = no_sums(modes, T.shape[1] + Y.shape[1])
    inner = (slice(None), *(slice(limit, 3 * limit + 1) for limit in modes.limits))
    for part in slices(len(points), len(modes.columns)):
        beside = np.concatenate([T[part], Y[part]], axis=1)
        n = len(beside)
        w = np.ones(n) if weights is None else weights[part]
        weighted = np.empty((1 + beside.shape[1], n))
        weighted[0] = w
        np.multiply(beside.T, w, out=weighted[1:])
        found = wave_sums(modes, points[part], weighted)
        total.generator += half(found[0].reshape(-1))
        total.across += half(found[1:][inner].reshape(len(found) - 1, -1))
        total.matrix += weighted[1:] @ beside
        total.rows += n
        total.weight += float(w.sum())
        total.log_weights += float(np.log(w).sum())
    total.blocks = 1
    parts = (total.generator, total.across, total.matrix)
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError("the sums overflow: scale the targets, the features or the weights down")
    return total
