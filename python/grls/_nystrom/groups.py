"""Effects of groups in a model on centres: rows about the means of their group, from sums over each group.

With D the indicators of the groups, the free features [D T] are eliminated in two steps. The first is closed:
off every sum over rows Σ w z zᵀ, z = [b t y], goes Σ_g s_g s_gᵀ / w_g, with s_g = Σ w z and w_g = Σ w over
the rows of a group. What is left are the equations of a model without groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._models.group_effects import GroupEffects, group_sums, group_weights
from .._solvers import memory
from .._validation import FloatArray
from ..features._labels import require_one_kind

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
        code = code.reshape(-1).astype(np.intp)
        n_bytes = 8.0 * len(levels) * Z.shape[1]
        memory.require(n_bytes, f"the sums of {len(levels)} groups", "lower n_centers, or join groups")
        n_groups = len(levels)
        return cls(levels, group_weights(code, n_groups, weights), group_sums(code, n_groups, Z, weights))

    def __add__(self, other: GroupSums) -> GroupSums:
        require_one_kind(other.levels, self.levels, "the column of groups", "in the rows before")
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

    def moved(self, step: FloatArray) -> GroupSums:
        """Return the sums for targets y + step, (k,)."""
        sums = self.sums.copy()
        sums[:, -len(step) :] += np.outer(self.weight, step)
        return GroupSums(self.levels, self.weight, sums)

    def effects(self, u: FloatArray, beta: FloatArray, origin: FloatArray | float = 0.0) -> GroupEffects:
        """Return the effects beside coefficients u (r, k) and beta (l, k) of [b t], of y about `origin`."""
        k = u.shape[1]
        means = self.sums / self.weight[:, None]
        effects = means[:, -k:] - means[:, :-k] @ np.vstack([u, beta]) + origin
        return GroupEffects.of(self.levels, self.weight, effects, means[:, :-k])
