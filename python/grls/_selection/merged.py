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

_AGREE = 1e-6  # share of the targets' variance within a point up to which its rows agree
_SAME = 1e-9  # of their size: rounding

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

    A point whose rows agree is *repeated*: they are one observation, whatever its weight. Rows that differ
    make a point *replicated*: each is an observation, and counts for as many as its weight says. What these
    differ by among themselves is no part of the smaller problem, but of every criterion: these are the
    criteria of all observations. See docs/math.md, section "Repeated rows".
    """

    problem: P  # of the distinct points, each with the weight of all its rows
    targets: FloatArray  # (d, k) weighted means
    place: NDArray[np.intp]  # (n,) of each observation among the points
    weights: FloatArray  # (n,) of the observations
    counts: FloatArray  # (n,) how many each stands for: one, or its weight but for the cost of its class
    deviations: FloatArray  # (n, k) of the observations from the mean of their point
    row_weights: FloatArray  # (m,)
    observation: NDArray[np.intp]  # (m,) which one each row is
    agreeing: FloatArray  # (m, k) deviations of the rows of repeated points from their mean: next to nothing
    penalised: Sequence[int] | None = None  # features whose prior variance is chosen with γ
    groups: Groups | None = None  # of the points, which are left out together

    @cached_property
    def n_rows(self) -> float:
        """How many observations there are, which weights may count."""
        return float(self.counts.sum())

    @cached_property
    def n_groups(self) -> int:
        """How many groups have effects: they count as features."""
        return 0 if self.problem.codes is None else int(self.problem.codes.max()) + 1

    @cached_property
    def total_weight(self) -> float:
        """Σw: γ times this is the shift."""
        return float(self.weights.sum())

    @property
    def copies(self) -> int:
        """How many rows say what another at their point has said."""
        return len(self.observation) - len(self.weights)

    @property
    def exact_copies(self) -> int:
        """How many of these say it to the last digits, as chance lets hardly any."""
        same = np.abs(self.agreeing).max(axis=1) <= _SAME * np.abs(self.targets).max()
        return int(same.sum()) - len(np.unique(self.observation[same]))

    @property
    def by_points(self) -> bool:
        """Whether every point is one observation."""
        return len(self.weights) == len(self.targets)

    @property
    def mean_count(self) -> float:
        """How many observations a row of a replicated point stands for on average; one without any."""
        several = self.counts[np.bincount(self.place)[self.place] > 1]
        return float(several.mean()) if several.size else 1.0

    @cached_property
    def n_repeats(self) -> float:
        """How many observations there are more than points; negative where weights count fewer."""
        return self.n_rows - len(self.targets)

    @cached_property
    def within(self) -> FloatArray:
        """(k,) sum of squares within the points."""
        return np.asarray(self.weights @ self.deviations**2)

    @cached_property
    def row_counts(self) -> FloatArray:
        """(m,) how many observations each row is: of rows that agree a share of the one."""
        shares = self.row_weights / self.weights[self.observation]
        return np.asarray(shares * self.counts[self.observation])

    @cached_property
    def row_noise(self) -> FloatArray:
        """(m,) the noise variance of the observation that a row is, in units of that of weight one."""
        return np.asarray((self.counts / self.weights)[self.observation])

    def quadratic(self, of_rows: FloatArray, shift: FloatArray | float) -> FloatArray:
        """Return yᵀBy (k,) of the observations, given that of the rows."""
        dropped = self.row_weights @ self.agreeing**2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.maximum(of_rows - np.where(dropped > 0, dropped / shift, 0.0), 0)

    @cached_property
    def point_weights(self) -> FloatArray:
        """(d,) the weight of all rows of each point."""
        return np.bincount(self.place, self.weights).astype(np.float64)

    def for_core(self) -> dict[str, Any]:
        """Return the rows by the names that the core's criteria have for them; none where each is a point."""
        if self.by_points:
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
        """(n,) the share of a point's weight that goes with one of what each observation counts for."""
        return self.weights / self.point_weights[self.place] * np.minimum(1.0, 1.0 / self.counts)

    def left_out_residuals(
        self, c: FloatArray, diagonal: FloatArray, shift: float, deviations: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return leave-one-out residuals (n, k) and the shares (n,): of s times the noise in 1/B_ii of each.

        Of a repeated point v = 1, and it is left out as a whole: e = c/B. One that counts for several loses
        one of them:
        e_i = [(y_i − ȳ)/s + c/W] / [1/s − v/s + vB/W], v = min(1, w_i) / W, with c and B not in the scale of
        the weighted points; here times s.
        """
        numerator = deviations + (shift * c / np.sqrt(self.point_weights)[:, None])[self.place]
        denominator = 1 - self.left_out + self.left_out * shift * diagonal[self.place]
        return np.asarray(numerator / denominator[:, None]), np.asarray(denominator)


@dataclass(frozen=True)
class Observations:
    """Which rows are one observation, and how many each stands for: what is left out of a smooth loss."""

    place: NDArray[np.intp]  # (m,) of each row among the observations
    counts: FloatArray  # (m,) of which one is left out

    @classmethod
    def of(
        cls,
        points: Sequence[Any],
        targets: FloatArray,
        weights: FloatArray,
        counts: FloatArray | None = None,
    ) -> Observations:
        """Return those of rows at some points, which are matrices (m, …) side by side."""
        first, place = distinct_rows(*points)
        repeated = _Points.of(place, targets, weights).repeated[place]
        counts = weights if counts is None else counts
        return cls(np.where(repeated, first[place], np.arange(len(place))), np.where(repeated, 1.0, counts))

    @classmethod
    def single(cls, n_rows: int) -> Observations:
        """Return those of rows that are one each."""
        return cls(np.arange(n_rows), np.ones(n_rows))

    def take(self, rows: Any) -> Observations:
        return Observations(self.place[rows], self.counts[rows])

    @property
    def mean_count(self) -> float:
        """How many observations a row stands for on average, of those that do not stand for one; else one."""
        several = self.counts[self.counts != 1]
        return float(several.mean()) if several.size else 1.0

    def numbers(self, weights: FloatArray) -> FloatArray:
        """Return how many observations (m,) each row is: copies share one."""
        return np.asarray(self.counts * weights / np.bincount(self.place, weights)[self.place])

    def shares(self, weights: FloatArray) -> FloatArray:
        """Return by what share of its weight (m,) a row falls where it is left out: copies fall with it."""
        total = np.bincount(self.place, weights)[self.place]
        return np.asarray(total / weights * np.minimum(1.0, 1.0 / self.counts))


@dataclass(frozen=True)
class _Points:
    """The targets at distinct points."""

    weights: FloatArray  # (d,) of all rows of each
    means: FloatArray  # (d, k)
    repeated: NDArray[np.bool_]  # (d,) whether the rows of a point agree in all targets; a single one does

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # of targets that whoever sums them refuses
    def of(cls, place: NDArray[np.intp], targets: FloatArray, weights: FloatArray) -> _Points:
        total = np.bincount(place, weights).astype(np.float64)

        def mean(values: FloatArray) -> FloatArray:
            sums = [np.bincount(place, weights * column) for column in values.T]
            return np.stack(sums, axis=1) / total[:, None]

        means = mean(targets)
        centred = targets - np.average(targets, axis=0, weights=weights)
        allowed = _AGREE * np.average(centred**2, axis=0, weights=weights)
        rounding = 4 * np.finfo(np.float64).eps * np.abs(targets).max(axis=0)
        variances = mean((targets - means[place]) ** 2)
        return cls(total, means, (variances <= allowed + rounding**2).all(axis=1))


def merge(
    problem: P, targets: FloatArray, counts: FloatArray | None = None, labels: Labels | None = None
) -> Merged[P]:
    """Return the problem in which rows at the same point are one.

    `counts`, the weights if not given, say how many a row stands for where the rows of its point differ.
    `labels` are groups of rows: rows at the same point stay two points where their groups differ, and where
    their groups have effects of their own.
    """
    m = len(targets)
    weights = np.ones(m) if problem.weights is None else problem.weights
    counts = weights if counts is None else counts
    beside = [known.astype(np.float64)[:, None] for known in (labels, problem.codes) if known is not None]
    first, place = distinct_rows(problem.X, problem.T, *beside)
    rows, none = np.arange(m), np.zeros_like(targets)
    if len(first) == m:
        groups = None if labels is None else Groups.of_labels(labels)
        return Merged(problem, targets, rows, weights, np.ones(m), none, weights, rows, none, groups=groups)
    points = _Points.of(place, targets, weights)
    repeated = points.repeated[place]
    deviations = targets - points.means[place]
    kept = np.flatnonzero(~repeated | (first[place] == rows))
    groups = None if labels is None else Groups.of_labels(labels[first])
    return Merged(
        problem.take(first, points.weights),
        points.means,
        place[kept],
        np.where(repeated, points.weights[place], weights)[kept],
        np.where(repeated, 1.0, counts)[kept],
        np.where(repeated[:, None], 0.0, deviations)[kept],
        weights,
        np.searchsorted(kept, np.where(repeated, first[place], rows)),
        np.where(repeated[:, None], deviations, 0.0),
        groups=groups,
    )
