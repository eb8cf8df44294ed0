"""What all blocks of a Nyström fit share: centres, features, targets, and how they become a model.

A plan is made once, from sampled rows, and is the same in memory, for streams and on a cluster: every block
gives its sums, sums add up, and the plan solves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from .._models.classification import require_two_classes
from .._models.feature_prior import beside
from .._models.group_effects import GroupEffects
from .._models.leverage import Leverage
from .._models.rounding import warn_of_rounding, warn_of_span
from .._models.samples import FreeFeatures, Samples
from .._solvers.arrays import require_well_formed
from .._solvers.rows import require_single_size, row_keys
from .._validation import FloatArray, require_two_samples
from .._warnings import warn
from ..exceptions import NotPositiveDefiniteError, PrecisionWarning
from . import equations
from .centers import Centers
from .choice import Choice, gcv, holdout, reml
from .groups import ROWS, GroupSums
from .missed import Probes
from .origin import about, moments, warn_of_lost_squares
from .penalised import Penalised
from .posterior import CentrePosterior
from .statistics import SumStatistics
from .sums import Part, Sums

_LEAST = {"double": 0.0, "single": 1e-7}  # γ that is chosen, as a share of k(x, x)
_SLICE = 1 << 16  # rows of an array in memory that are worked on at a time


@dataclass
class Block(Samples):
    """Samples, the columns that are summed for them (`targets`), and how often each row counts."""

    classes: Any = None  # of a classifier: the labels whose indicators are the targets
    T: Any = None  # the features, where they are known already
    points: Any = None  # and what a kernel with views reads
    groups: Any = None  # (n,): the group of each row, where groups have effects
    n_given: int = 0  # rows, those of weight zero among them


@contextmanager
def named(where: str, explain: Callable[[ValueError | TypeError], str] = str) -> Iterator[None]:
    """Say where an error is, and keep its class; `explain` may say more of it."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = f"{where}: {explain(error)}"
        try:
            again = type(error)(text)
        except TypeError:  # an exception with more arguments than a text
            again = ValueError(text)
        raise again from error


def indicators(labels: Any, classes: Any) -> FloatArray:
    """Return a column for each class, with 1 at the rows that have its label."""
    return np.asarray(np.asarray(labels)[:, None] == classes[None, :], dtype=np.float64)


def one_against_all(n_classes: int) -> FloatArray:
    """Return C with targets ±1 = indicators C: one column for two classes, one per class for more."""
    require_two_classes(n_classes)
    coding = 2 * np.eye(n_classes) - 1
    return coding[:, 1:] if n_classes == 2 else coding


@dataclass
class Solution:
    """A model on centres, with all that its predictions need."""

    centers: Any  # (M', d)
    kernel: kernels.Kernel
    features: FreeFeatures
    kept: list[int]  # features that have a coefficient
    c: FloatArray  # (M', k)
    beta: FloatArray  # (l, k)
    regularization: float
    n_rows: int
    n_iter: int = 1
    classes: Any = None
    choice: Choice | None = None  # how γ was chosen, if it was
    leverage: Leverage | None = None
    statistics: SumStatistics | None = None  # of values; labels have none
    posterior: CentrePosterior | None = None  # … with γ > 0
    groups: GroupEffects | None = None


@dataclass(frozen=True)
class Plan:
    """Centres, features, and the share of rows held out to choose γ with."""

    centers: Centers
    features: FreeFeatures
    precision: str
    held_fraction: float  # 0: none
    seed: int
    penalised: Penalised | None = None
    views: kernels.Kernel | None = None  # the user's kernel, where it has some
    undefined: Any = None  # features that a conditionally positive definite kernel shares
    origin: Any = None  # (k,): what targets are summed about; None: zero
    expressed: Any = False  # (k,): whether the features express the targets; see `origin.expressed_by`
    constant: Any = None  # (l,): v with Tv = 1, T the features that are summed; None: groups have effects

    @property
    def n_free(self) -> int:
        """How many features are summed: those that have no prior."""
        return len(self.features.names) if self.penalised is None else self.penalised.parts.F.shape[1]

    def rows(self, block: Block) -> tuple[Any, FloatArray]:
        """Return the points of a block and the free features there."""
        T = np.asarray(block.T) if block.T is not None else self.features.at(block.given)
        X = block.X
        if self.views is not None:
            X = block.points if block.points is not None else self.views.view(block.given)
        if self.precision == "single" and not self.centers.kernel.is_function:
            require_single_size(self.centers.X[:, : X.shape[1]], X, instead="double")
        if self.penalised is None:
            return X, T
        F, Z = self.penalised.parts.at(np.asarray(T, dtype=np.float64))
        return beside(X, Z, self.penalised.variance), F

    def about_origin(self, T: Any, Y: FloatArray) -> FloatArray:
        """Return the targets that are summed, of rows with the features T."""
        if self.origin is None:
            return Y
        ones = 1.0 if self.constant is None else np.asarray(T, dtype=np.float64) @ self.constant
        return about(Y, self.origin, ones)

    @property
    def at_origin(self) -> FloatArray:
        """The coefficients (l, k) of what is taken off the targets."""
        if self.origin is None or self.constant is None:
            return np.zeros((self.n_free, 1))
        return np.outer(self.constant, self.origin)

    def adopted(self, sums: Sums, of: Plan) -> Sums:
        """Return sums of a plan like this one, about the origin of this one."""
        known = [plan.origin for plan in (self, of) if plan.origin is not None]
        if not known or known[0].shape != known[-1].shape:  # of unlike targets, which are not joined
            return sums
        zero = np.zeros(known[0].shape)
        mine, theirs = (zero if plan.origin is None else plan.origin for plan in (self, of))
        D = np.asarray(np.linalg.solve(self.centers.A, of.at_origin - self.at_origin + zero))
        return sums.moved(D, theirs - mine)

    def sums(self, block: Block) -> Sums:
        """Return the sums of the rows of a block."""
        warn_of_span(block.weights)
        X, T = self.rows(block)
        Y = block.targets
        order = self.centers.rank + T.shape[1] + Y.shape[1]
        none: Any = np.zeros((2, Y.shape[1])) if block.classes is None else 0.0
        fitted = Part(np.zeros((order, order)), moments=none)
        held_out = Part(np.zeros((order, order)), moments=none) if self.held_fraction > 0 else None
        for start in range(0, block.X.shape[0], _SLICE):
            part = slice(start, start + _SLICE)
            rows = [None if v is None else v[part] for v in (X, T, Y, block.weights, block.counts)]
            if held_out is None:
                self._add(fitted, *rows)
            else:
                chosen = self._is_held_out(rows[0])
                self._add(fitted, *(None if v is None else v[~chosen] for v in rows))
                self._add(held_out, *(None if v is None else v[chosen] for v in rows))
        for sums in (fitted, held_out):
            if sums is not None and not np.isfinite(sums.matrix).all():
                raise ValueError("the sums overflow: scale the targets, the features or the kernel down")
        if block.groups is not None:
            fitted.groups = self._group_sums(X, T, Y, block)
        probes = None
        if block.classes is None and block.X.shape[0] > 0:
            probes = Probes.of(block.X, X, T, block.weights, block.groups, self.seed)
        return Sums(fitted, held_out, block.classes, probes=probes)

    def _group_sums(self, X: Any, T: FloatArray, Y: FloatArray, block: Block) -> GroupSums:
        """Return the sums over each group of the rows of a block."""
        found: GroupSums | None = None
        for start in range(0, block.X.shape[0], ROWS):
            part = slice(start, start + ROWS)
            features = np.asarray(T[part], dtype=np.float64) @ self.centers.A
            rows = np.hstack([self.centers.rows(X[part]), features, self.about_origin(T[part], Y[part])])
            weights = None if block.weights is None else block.weights[part]
            mine = GroupSums.of_rows(block.groups[part], rows, weights)
            found = mine if found is None else found + mine
        assert found is not None
        return found

    def _is_held_out(self, X: Any) -> NDArray[np.bool_]:
        # By the contents of a row, so that it does not depend on the blocks; equal rows are on the same side,
        # and none can vouch for its like. Another seed than that of the centres: a centre may be held out.
        keys = row_keys(X, self.seed ^ 0x5DEECE66D)
        return np.asarray(keys < np.uint64(min(self.held_fraction, 1.0) * (2**64 - 2**12)))

    def _add(self, part: Part, X: Any, T: Any, Y: Any, weights: Any, counts: Any) -> None:
        if X.shape[0] > 0:
            targets = np.ascontiguousarray(self.about_origin(T, Y))
            part.matrix += self.centers.sums(X, T, targets, weights, self.precision)
            part.rows += X.shape[0]
            part.weight += float(X.shape[0] if weights is None else weights.sum())
            counts = np.ones(X.shape[0]) if counts is None else counts
            part.count += float(counts.sum())
            if weights is not None:
                part.log_noise += float(counts @ np.log(counts / weights))
            if np.ndim(part.moments):
                part.moments = part.moments + moments(Y, self.origin, weights)

    def is_like(self, other: Plan) -> bool:
        """Whether the sums of both may be added."""
        mine, theirs = self.centers, other.centers
        return (
            mine.X.shape == theirs.X.shape
            and mine.kernel.is_same(theirs.kernel, mine.X.shape[1])
            and (self.held_fraction, self.seed if self.held_fraction else 0)
            == (other.held_fraction, other.seed if other.held_fraction else 0)
            and all(
                a.shape == b.shape and _are_same(a, b)
                for a, b in (
                    (mine.X, theirs.X),
                    (mine.whitening.L, theirs.whitening.L),
                    (mine.whitening.E, theirs.whitening.E),
                    (mine.A, theirs.A),
                )
            )
        )

    def solve(self, sums: Sums, regularization: float | str, grid: Any) -> Solution:
        """Choose γ, where that is left to the data, and solve for the coefficients."""
        n_summed = len(sums.fitted.matrix) - self.centers.rank - self.n_free
        require_two_samples(sums.total.rows)
        k = n_summed
        if sums.classes is not None:
            coding = one_against_all(n_summed)
            sums, k = sums.recoded(n_summed, coding), coding.shape[1]
        total = sums.total
        system = equations.equations(total, self.centers, k)
        choice, diagonal = None, self.centers.kernel.diagonal(self.centers.X)
        least = _LEAST[self.precision] * float(np.abs(diagonal).mean())
        try:
            if regularization == "gcv":
                choice = gcv(system, grid, least=least)
            elif regularization == "reml":
                choice = reml(system, grid, least=least)
            elif regularization == "holdout":
                trained = equations.equations(sums.fitted, self.centers, k)
                choice = holdout(trained, sums.held_out, k, grid, self.expressed, least=least)
            gamma = float(regularization) if choice is None else choice.regularization
            u = system.solve(gamma)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"the equations of {self.centers.rank} functions and {total.rows} rows with regularization="
                f"{regularization!r} are not positive definite to working precision: choose a larger "
                "regularization or fewer centres"
            ) from error
        if choice is not None and choice.at_least:
            warn(
                f"{regularization!r} asks for less regularization than {gamma:.3g}, the least that "
                f'precision="{self.precision}" resolves: use precision="double"',
                PrecisionWarning,
            )
        solution = self.solution(u, system.features, gamma, total.rows)
        solution.classes, solution.choice = sums.classes, choice
        squares = np.diagonal(total.matrix)[len(total.matrix) - k :]
        origin = 0.0 if self.origin is None else self.origin
        sizes = np.sqrt(squares / total.weight) + np.abs(origin)
        warn_of_rounding(diagonal, self.centers.coefficients(u), sizes, chosen=choice is not None)
        if total.groups is not None:
            effects = total.groups.effects(u, system.features.coefficients(u), origin)
            solution.groups, solution.leverage = effects, None
        if sums.classes is None:
            solution.statistics = SumStatistics.of(system, total, u, gamma)
            if system.n_free > 0:
                left = solution.statistics.noise_squares
                of_features = np.minimum(system.squares, solution.statistics.total_squares)
                warn_of_lost_squares(left, of_features, squares, self.expressed, self.precision)
            if gamma > 0:
                posterior = self.posterior(system, gamma, solution.groups)
                if sums.probes is not None:
                    posterior = posterior.with_missed(sums.probes, total.weight)
                solution.posterior = posterior
        return solution

    def posterior(
        self, system: equations.Equations, gamma: float, groups: GroupEffects | None = None
    ) -> CentrePosterior:
        """Return the posterior of the model with these equations."""
        return CentrePosterior.of(self.centers, self.penalised, system, gamma, groups)

    def free_coefficients(self, u: FloatArray, free: equations.Eliminated) -> FloatArray:
        """Return those of the features that are summed, (l, k), beside the coefficients u."""
        return np.asarray(self.centers.A @ free.coefficients(u) + self.at_origin)

    def solution(self, u: FloatArray, free: equations.Eliminated, gamma: float, n_rows: int) -> Solution:
        """Return the model with the coefficients u of the functions on the centres."""
        c, beta = self.centers.coefficients(u), self.free_coefficients(u, free)
        if self.penalised is not None:
            parts, X = self.penalised.parts, self.centers.X
            points = X[:, : X.shape[1] - parts.Z.shape[1]]
            beta = self.penalised.coefficients(beta, X, c)
            kernel, leverage = self.penalised.kernel, self.penalised.leverage
            return Solution(
                points, kernel, self.features, parts.kept, c, beta, gamma, n_rows, leverage=leverage
            )
        solution = Solution(
            self.centers.X, self.centers.kernel, self.features, free.kept, c, beta, gamma, n_rows
        )
        if free.kept:  # the largest leverage is that of the centres: the rows are not at hand any more
            A = self.centers.A[:, free.kept]
            solution.leverage = Leverage.of_sums(free.sums, A, self.centers.T)
        return solution


def _are_same(a: Any, b: Any) -> bool:
    """Whether two matrices of one shape have the same elements; ValueError for malformed sparse ones."""
    if not (sparse.issparse(a) and sparse.issparse(b)):
        return not sparse.issparse(a) and not sparse.issparse(b) and np.array_equal(a, b)
    a, b = (_canonical(matrix) for matrix in (a, b))
    return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("indptr", "indices", "data"))


def _canonical(matrix: Any) -> Any:
    out = require_well_formed(matrix).tocsr(copy=True)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out
