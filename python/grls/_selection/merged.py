"""Rows at the same point as one, without losing what they differ by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._solvers.groups import Groups, Labels
from .._solvers.results import Path, ReducedMatrix
from .._solvers.rows import distinct_rows
from .._validation import FloatArray

P = TypeVar("P", bound="Selectable")


class Selectable(Protocol):
    """A least-squares problem whose whole path is known: `Problem`, or `RidgeProblem`."""

    X: Any
    T: FloatArray
    weights: FloatArray | None

    @property
    def codes(self) -> Labels | None: ...

    @property
    def total_weight(self) -> float: ...

    def take(self: P, rows: Any, weights: FloatArray) -> P: ...

    def reduced(self, targets: FloatArray, *, leave_one_out: bool) -> ReducedMatrix: ...

    def path(
        self, targets: FloatArray, shifts: FloatArray, *, relative: bool, leave_one_out: bool
    ) -> Path: ...

    def path_bytes(self, n_outputs: int, n_shifts: int, *, leave_one_out: bool) -> float: ...


@dataclass
class Merged(Generic[P]):
    """Rows at the same point as one: they share a prediction, and the model depends on their mean only.

    What the rows of a point differ by among themselves is no part of the smaller problem, but of every
    criterion: these are the criteria of all rows.
    """

    problem: P  # of the distinct points, each with the weight of all its rows
    targets: FloatArray  # (d, k) weighted means
    place: NDArray[np.intp]  # (m,) of each row among the points
    weights: FloatArray  # (m,) of the rows
    counts: FloatArray  # (m,) how many rows each stands for: its weight, but for the cost of its class
    deviations: FloatArray  # (m, k) of the rows from the mean of their point
    penalised: Sequence[int] | None = None  # features whose prior variance is chosen with γ
    groups: Groups | None = None  # of the points, which are left out together

    @cached_property
    def n_rows(self) -> float:
        """How many rows there are, which weights may count."""
        return float(self.counts.sum())

    @cached_property
    def n_groups(self) -> int:
        """How many groups have effects: they count as features."""
        return 0 if self.problem.codes is None else int(self.problem.codes.max()) + 1

    @cached_property
    def total_weight(self) -> float:
        """Σw: γ times this is the shift."""
        return float(self.weights.sum())

    @cached_property
    def copies(self) -> bool:
        """Whether weights repeat rows, and no repetition differs from the first."""
        weighted = bool(np.any(self.counts != 1))
        return weighted and self.n_repeats > 1e-6 * self.n_rows and not self.within.any()

    @cached_property
    def n_repeats(self) -> float:
        """How many rows there are more than points; negative where weights count fewer."""
        return self.n_rows - len(self.targets)

    @cached_property
    def within(self) -> FloatArray:
        """(k,) sum of squares within the points."""
        return np.asarray(self.weights @ self.deviations**2)

    @cached_property
    def point_weights(self) -> FloatArray:
        """(d,) the weight of all rows of each point."""
        return np.bincount(self.place, self.weights).astype(np.float64)

    def for_core(self, weighted: bool) -> dict[str, Any]:
        """Return the rows by the names that the core's criteria have for them; none where each is a point."""
        if not weighted and len(self.targets) == len(self.place):
            return {}
        return {
            "row_points": self.place,
            "row_weights": self.weights,
            "row_counts": self.counts,
            "deviations": self.deviations,
        }

    def prior(self, path: Path, g: int, variance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return D, (S + τCCᵀ)⁻¹ and r of the penalised features: B becomes B + D(…)⁻¹Dᵀ, c gains D(…)⁻¹r.

        The path has D, S and r in orthonormal coordinates Cβ of all features, and C = DᵀW½T. Directions of
        features that are not penalised are left out, for they stay free. Nothing is divided by C, so that
        features may depend on each other as far as rounding lets them.
        """
        penalised = np.isin(path.kept, list(self.penalised or []))
        D = path.D[g]
        C = D.T @ (np.sqrt(self.point_weights)[:, None] * self.problem.T[:, path.kept])
        free = C[:, ~penalised]
        Z = np.linalg.qr(free, mode="complete")[0][:, free.shape[1] :]
        held = Z.T @ C[:, penalised]
        inverse = np.linalg.inv(Z.T @ path.schur[g] @ Z + variance * (held @ held.T))
        return np.asarray(D @ Z), np.asarray(inverse), np.asarray(Z.T @ path.r[g])

    @cached_property
    def left_out(self) -> FloatArray:
        """(m,) the share of a point's weight that goes with one row of each sample."""
        return self.weights / self.point_weights[self.place] * np.minimum(1.0, 1.0 / self.counts)

    def left_out_residuals(
        self, c: FloatArray, diagonal: FloatArray, shift: float, deviations: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return leave-one-out residuals (m, k) and the shares (m,): of s times the noise in 1/B_ii of a row.

        A sample that counts as several rows loses one of them:
        e_i = [(y_i − ȳ)/s + c/W] / [1/s − v/s + vB/W], v = min(1, w_i) / W, with c and B not in the scale of
        the weighted points; here times s.
        """
        numerator = deviations + (shift * c / np.sqrt(self.point_weights)[:, None])[self.place]
        denominator = 1 - self.left_out + self.left_out * shift * diagonal[self.place]
        return np.asarray(numerator / denominator[:, None]), np.asarray(denominator)


def merge(
    problem: P, targets: FloatArray, counts: FloatArray | None = None, labels: Labels | None = None
) -> Merged[P]:
    """Return the problem in which rows at the same point are one; `counts` are the weights if not given.

    `labels` are groups of rows: rows at the same point stay two points where their groups differ, and where
    their groups have effects of their own.
    """
    m = len(targets)
    weights = np.ones(m) if problem.weights is None else problem.weights
    counts = weights if counts is None else counts
    beside = [known.astype(np.float64)[:, None] for known in (labels, problem.codes) if known is not None]
    rows, place = distinct_rows(problem.X, problem.T, *beside)
    if len(rows) == m:
        groups = None if labels is None else Groups.of_labels(labels)
        return Merged(problem, targets, np.arange(m), weights, counts, np.zeros_like(targets), groups=groups)
    total = np.bincount(place, weights).astype(np.float64)
    sums = np.stack([np.bincount(place, weights * column) for column in targets.T], axis=1)
    means = sums / total[:, None]
    groups = None if labels is None else Groups.of_labels(labels[rows])
    merged = problem.take(rows, total)
    return Merged(merged, means, place, weights, counts, targets - means[place], groups=groups)
