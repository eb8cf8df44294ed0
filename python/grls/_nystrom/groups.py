"""Effects of groups in a model on centres: rows about the means of their group, from sums over each group.

With D the indicators of the groups, the free features [D T] are eliminated in two steps. The first is closed:
off every sum over rows Σ w z zᵀ, z = [b t y], goes Σ_g s_g s_gᵀ / w_g, with s_g = Σ w z and w_g = Σ w over
the rows of a group. What is left are the equations of a model without groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._solvers import memory
from .._validation import FloatArray

ROWS = 1 << 13  # whose functions b are held at a time


@dataclass
class GroupSums:
    """Sums over the rows of each group."""

    levels: NDArray[Any]  # (G,), sorted
    weight: FloatArray  # (G,)
    sums: FloatArray  # (G, p): Σ w [b t y]

    @classmethod
    def of_rows(cls, labels: NDArray[Any], Z: FloatArray, weights: FloatArray | None) -> GroupSums:
        """Return those of rows Z (n, p)."""
        levels, code = np.unique(labels, return_inverse=True)
        w = np.ones(len(labels)) if weights is None else weights
        n_bytes = 8.0 * len(levels) * Z.shape[1]
        memory.require(n_bytes, f"the sums of {len(levels)} groups", "lower n_centers, or join groups")
        rows = sparse.csr_matrix((w, (code, np.arange(len(labels)))), shape=(len(levels), len(labels)))
        total = np.bincount(code, w, len(levels)).astype(np.float64)
        return cls(levels, total, np.asarray(rows @ Z))

    def __add__(self, other: GroupSums) -> GroupSums:
        levels = np.union1d(self.levels, other.levels)
        memory.require(
            8.0 * len(levels) * self.sums.shape[1],
            f"the sums of {len(levels)} groups",
            "lower n_centers, or join groups",
        )
        weight, sums = np.zeros(len(levels)), np.zeros((len(levels), self.sums.shape[1]))
        for part in (self, other):
            place = np.searchsorted(levels, part.levels)
            weight[place] += part.weight
            sums[place] += part.sums
        return GroupSums(levels, weight, sums)

    def taken_off(self, matrix: FloatArray) -> FloatArray:
        """Return the sums of all rows about the means of their groups."""
        scaled = self.sums / np.sqrt(self.weight)[:, None]
        return np.asarray(matrix - scaled.T @ scaled)


@dataclass(frozen=True)
class GroupEffects:
    """The effect of each group, and the means that rows were taken about."""

    levels: NDArray[Any]  # (G,)
    weight: FloatArray  # (G,)
    effects: FloatArray  # (G + 1, k): the last is the mean effect of all rows
    means: FloatArray | None  # (G, r + l): of [b t], for variances; None: they are not kept

    @classmethod
    def of(cls, groups: GroupSums, u: FloatArray, beta: FloatArray) -> GroupEffects:
        """Return the effects beside the coefficients u (r, k) and beta (l, k) of [b t]."""
        k = u.shape[1]
        means = groups.sums / groups.weight[:, None]
        effects = means[:, -k:] - means[:, :-k] @ np.vstack([u, beta])
        mean = np.average(effects, axis=0, weights=groups.weight)
        return cls(groups.levels, groups.weight, np.vstack([effects, mean]), means[:, :-k])

    def without_means(self) -> GroupEffects:
        """Return the effects alone."""
        return replace(self, means=None)
