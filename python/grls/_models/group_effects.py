"""Effects of groups beside the features: levels of a column that have no column of their own.

With D the indicators of the groups, the free features are [D T]. D is never made: what it leaves of anything
is that about the means of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from .._solvers.groups import Labels
from .._validation import FloatArray
from ..features import Groups
from .base import KernelMachine
from .samples import SampleGroups, Samples, given_rows


@dataclass(frozen=True)
class GroupEffects:
    """The effect of each group, and the means that rows were taken about."""

    levels: NDArray[Any]  # (G,), sorted
    weight: FloatArray  # (G,)
    effects: FloatArray  # (G + 1, k): the last is the mean effect of all rows
    means: FloatArray | None  # (G, p): of what the model is made of, for variances; None: they are not kept

    @classmethod
    def of(
        cls, levels: NDArray[Any], weight: FloatArray, effects: FloatArray, means: FloatArray | None
    ) -> GroupEffects:
        """Return those of effects (G, k)."""
        return cls(levels, weight, with_mean(effects, weight), means)

    def without_means(self) -> GroupEffects:
        """Return the effects alone."""
        return replace(self, means=None)


def with_mean(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return values of groups (G, p) with a last row that has the mean of all rows."""
    return np.vstack([values, np.average(values, axis=0, weights=weight)])


def group_sums(codes: Labels, n_groups: int, values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return Σ w values over the rows of each group, (G, p), of values (n, p)."""
    w = np.ones(len(codes)) if weights is None else weights
    rows = sparse.csr_matrix((w, (codes, np.arange(len(codes)))), shape=(n_groups, len(codes)))
    return np.asarray(rows @ values)


def group_weights(codes: Labels, n_groups: int, weights: FloatArray | None) -> FloatArray:
    """Return the weight of each group, (G,)."""
    return np.bincount(codes, weights, n_groups).astype(np.float64)


class GroupedMachine(KernelMachine):
    """A kernel machine whose `features` may be `Groups`: then these have effects, and no columns."""

    def _grouped(self) -> bool:
        """Whether groups have effects of their own."""
        return isinstance(self.features, Groups)

    def _free_features(self) -> Any:
        return self.features.features_beside() if self._grouped() else super()._free_features()

    def _sample_groups(self, samples: Samples) -> SampleGroups | None:
        if not self._grouped():
            return None
        levels, codes = np.unique(self.features.labels(samples.given), return_inverse=True)
        return SampleGroups(levels, codes.reshape(-1).astype(np.intp))

    def _store_groups(self, groups: GroupEffects | None) -> None:
        self._forget("_groups", "_grouping", "group_levels_", "group_effects_")
        if groups is not None:
            self._groups, self._grouping = groups.without_means(), clone(self.features)
            self.group_levels_ = groups.levels
            self.group_effects_ = self._per_output(groups.effects[:-1])

    def _features_at(self, checked: Any, X: Any) -> FloatArray:
        """Return T at new points, and in a last column the group, where groups have effects."""
        T = super()._features_at(checked, X)
        if not hasattr(self, "_groups"):
            return T
        labels = self._grouping.labels(given_rows(X, checked))
        return np.column_stack([T, self._grouping.codes(labels, self._groups.levels)])

    def _without_groups(self, T: FloatArray) -> tuple[FloatArray, Labels | None]:
        return (T[:, :-1], T[:, -1].astype(np.intp)) if hasattr(self, "_groups") else (T, None)

    def _feature_part(self, T: FloatArray) -> FloatArray:
        T, codes = self._without_groups(T)
        part = super()._feature_part(T)
        return part if codes is None else part + self._groups.effects[codes]

    def _group_columns(self, X: Any, T: FloatArray, groups: Any) -> dict[str, FloatArray]:
        return super()._group_columns(X, self._without_groups(T)[0], groups)
