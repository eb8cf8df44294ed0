"""Smooth losses on centres: Newton's method, in which every step is one pass over the rows.

With z = [b(x) t(x)], the functions on the centres and the features, and θ = (u, v), the objective is

    1/Σs Σ_i s_i V(y_i, z_iθ + o_i) + γ|u|².

A pass at θ gives the loss, Σ s w z zᵀ and Σ s r z, with w the curvature of V and r minus its slope: all that
the next step and its γ need. The step solves the equations of least squares on centres with weights sw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._models.families import Family, FamilyRows
from .._models.logistic_loss import improves, scaled_columns
from .._models.progress import Stages
from .._solvers import memory
from .._solvers.newton import LEAST_CURVATURE
from .._validation import FloatArray, require_two_samples
from ..exceptions import NotPositiveDefiniteError
from . import equations
from .choice import Choice, gcv, reml
from .plan import Block, Plan, named
from .sums import Part

_SLICE_NUMBERS, _LEAST_ROWS = 1 << 23, 256  # values of functions that are held at a time, and rows at least
_ARMIJO, _HALVINGS = 1e-4, 40
_NOTHING = 1e-20  # to gain: the objective is zero but for rounding errors
_UNDETERMINED = 1e-11  # share of a sum of squares that is zero but for rounding errors

# γ is chosen again in every step, until it changes by less than a step of its usual grid, so often at most.
_STEADY, _MOST_CHOICES = 0.5, 10

RUNS_AWAY = (
    "the features alone send the means of some rows without counts to zero: their coefficients would be "
    "infinite; give a finite feature_variance, or fewer features"
)


@dataclass(frozen=True)
class Slice:
    """Some rows."""

    X: Any
    T: FloatArray  # (n, l): the features TA that are summed
    Y: FloatArray  # (n, k)
    offset: FloatArray  # (n,)
    s: FloatArray  # (n,)


@dataclass
class Totals:
    """What is known of all rows before the first step."""

    rows: int
    weight: float  # Σs
    y: FloatArray  # (k,): Σsy
    exposed: float  # Σs exp(offset)
    at_zero: FloatArray  # (k,): the loss of functions that are zero
    features: FloatArray  # (l, l)
    counted: FloatArray  # (k, l, l): of the rows with y > 0
    fractions: FloatArray  # (k,): how many values are no whole numbers


@dataclass
class Evaluated:
    """What one pass says of an output's function."""

    loss: float  # Σ s V
    H: FloatArray  # (p, p): Σ s w z zᵀ
    g: FloatArray  # (p,): Σ s r z
    squares: float = 0.0  # Σ s r²/w
    weight: float = 0.0  # Σ s w


@dataclass
class FamilySums:
    """The sums of a loss over rows that come in blocks, which are read again for every pass."""

    plan: Plan
    family: Family
    shape: float
    blocks: Any
    offsets: FloatArray | None  # (m,): of all rows, in their order
    kept: list[int] = field(default_factory=list)  # the independent features
    least: float = LEAST_CURVATURE

    @property
    def n_functions(self) -> int:
        """r, how many functions stand on the centres."""
        return self.plan.centers.rank

    def _offset(self, block: Block, start: int) -> FloatArray:
        n = block.X.shape[0]
        if self.offsets is None:
            return np.zeros(n)
        mine = self.offsets[start : start + block.n_given]
        if len(mine) < block.n_given:
            raise ValueError(f"offset or exposure is of {len(self.offsets)} rows, and there are more in X")
        return mine if block.rows is None else mine[block.rows]

    def slices(self) -> Iterator[Slice]:
        """Read all rows."""
        start, A = 0, self.plan.centers.A
        size = max(_LEAST_ROWS, _SLICE_NUMBERS // max(self.n_functions + len(A), 1))
        for number, block in enumerate(self.blocks):
            with named(f"block {number}"):
                X, T = self.plan.rows(block)
                offset = self._offset(block, start)
            start += block.n_given
            s = np.ones(X.shape[0]) if block.weights is None else block.weights
            for first in range(0, X.shape[0], size):
                part = slice(first, first + size)
                features = np.asarray(T[part], dtype=np.float64) @ A
                yield Slice(X[part], features, block.targets[part], offset[part], s[part])
        if self.offsets is not None and start != len(self.offsets):
            raise ValueError(
                f"offset or exposure is of {len(self.offsets)} rows, and X has {start}: they must be of all "
                "rows, in the order of the blocks"
            )

    def rows(self, part: Slice, p: int, *, expected: bool = False) -> FamilyRows:
        """Return the losses of an output's rows."""
        return FamilyRows(self.family, part.Y[:, p], part.offset, self.shape, expected)

    def totals(self) -> Totals:
        """Read the rows for the first time, check their values, and find the independent features."""
        found: Totals | None = None
        for part in self.slices():
            self.family.check_range(part.Y)
            k, zero = part.Y.shape[1], np.zeros(len(part.s))
            counted = [(part.T * (part.s * (part.Y[:, p] > 0))[:, None]).T @ part.T for p in range(k)]
            mine = Totals(
                len(part.s),
                float(part.s.sum()),
                part.s @ part.Y,
                float(part.s @ np.exp(part.offset)),
                np.array([part.s @ self.rows(part, p).values(zero) for p in range(k)]),
                (part.T * part.s[:, None]).T @ part.T,
                np.array(counted),
                np.sum(np.round(part.Y) != part.Y, axis=0).astype(np.float64),
            )
            if found is not None:
                pairs = zip(vars(found).values(), vars(mine).values(), strict=True)
                mine = Totals(*(a + b for a, b in pairs))
            found = mine
        require_two_samples(0 if found is None else found.rows)
        assert found is not None
        self.family.require_mean(found.y > 0)
        self.kept = self.eliminated(found, np.zeros((len(found.features), 1))).kept
        self.least = LEAST_CURVATURE * min(1.0, float(found.y.mean() / found.weight))
        return found

    def eliminated(self, totals: Totals, V: FloatArray) -> equations.Eliminated:
        """Return the features with coefficients V (l, k) of their own, whatever the functions' are."""
        across, r = np.zeros((len(V), self.n_functions)), self.n_functions
        free = equations.eliminate(totals.features, across, np.zeros_like(V), self.plan.centers)
        solved = np.hstack([np.zeros((len(free.kept), r)), V[free.kept]])
        return replace(free, solved=solved)

    def require_minimum(self, totals: Totals) -> None:
        """Raise ValueError where features alone can send rows without counts to zero, and no other row."""
        kept = self.kept
        if not self.family.zeros or not kept:
            return
        units = 1 / np.sqrt(np.diagonal(totals.features)[kept])
        for p, counted in enumerate(totals.counted):
            values, vectors = np.linalg.eigh(units[:, None] * counted[np.ix_(kept, kept)] * units)
            free = units[:, None] * vectors[:, values <= _UNDETERMINED]
            if free.shape[1] == 0:  # rows with counts hold all features
                continue
            empty = np.empty((0, free.shape[1]))
            for part in self.slices():
                mine = part.T[part.Y[:, p] == 0][:, kept] @ free
                empty = np.unique(np.vstack([empty, mine]), axis=0)
            if improves(scaled_columns(-empty)):
                raise ValueError(RUNS_AWAY)

    def start(self, totals: Totals) -> FloatArray:
        """Return θ (r + l, k) of what the features say of the responses' logarithms."""
        r, k, n = self.n_functions, len(totals.y), len(self.kept)
        theta = np.zeros((r + len(totals.features), k))
        if n == 0:
            return theta
        S, h = np.zeros((k, n, n)), np.zeros((k, n))
        for part in self.slices():
            T = part.T[:, self.kept]
            for p in range(k):
                rates = part.Y[:, p] / np.exp(part.offset)
                f = np.log((rates + totals.y[p] / totals.exposed) / 2)
                rows = self.rows(part, p)
                w = np.maximum(rows.curvature(f), self.least)
                S[p] += (T * (part.s * w)[:, None]).T @ T
                h[p] += T.T @ (part.s * (w * f + rows.slopes(f)))
        for p in range(k):
            try:
                theta[[r + j for j in self.kept], p] = cho_solve(cho_factor(S[p], lower=True), h[p])
            except LinAlgError:  # zero is as good a start
                continue
        return theta

    def evaluate(self, at: dict[int, tuple[FloatArray, bool]]) -> dict[int, Evaluated]:
        """Read all rows once, for outputs with θ each, and whether their curvatures are those on average."""
        order = self.n_functions + len(self.plan.centers.A)
        found = {p: Evaluated(0.0, np.zeros((order, order)), np.zeros(order)) for p in at}
        support = np.isin(np.arange(len(self.plan.centers.A)), self.kept)
        for part in self.slices():
            Z = np.hstack([self.plan.centers.rows(part.X), part.T * support])
            for p, (theta, expected) in at.items():
                rows, mine, f = self.rows(part, p, expected=expected), found[p], Z @ theta
                slopes, w = rows.slopes(f), np.maximum(rows.curvature(f), self.least)
                root = Z * np.sqrt(part.s * w)[:, None]
                mine.loss += float(part.s @ rows.values(f))
                mine.H += root.T @ root
                mine.g += Z.T @ (part.s * slopes)
                mine.squares += float(part.s @ (slopes**2 / w))
                mine.weight += float(part.s @ w)
        return found


@dataclass
class Descent:
    """Newton's method for one output, which says where the next pass is to be."""

    sums: FamilySums
    weight: float  # Σs
    gamma: float
    theta: FloatArray  # (p,)
    tol: float
    max_iter: int
    grid: Any = None  # of γ; None: it is given
    criterion: str = "gcv"
    least_variance: float = 0.0  # of the noise, in units of what the family says
    choice: Choice | None = None
    chosen: int = 0  # times
    value: float = np.inf
    decrement: float = np.inf
    iterations: int = 0
    converged: bool = False
    done: bool = False
    here: Evaluated | None = None

    def __post_init__(self) -> None:
        self.trial, self.step, self.direction, self.slope = self.theta, 1.0, np.zeros_like(self.theta), 0.0
        self.choosing = self.grid is not None

    def tell(self, found: Evaluated) -> None:
        """Take what a pass says of `trial`."""
        if self.here is not None and not self._accepts(found):
            return
        self.theta, self.here = self.trial, found
        self.value = self._objective(self.theta, found)
        if self._is_last():
            self._end()
        elif self.iterations == self.max_iter:
            self.done = True
        else:
            self._look_ahead()

    def _objective(self, theta: FloatArray, found: Evaluated) -> float:
        u = theta[: self.sums.n_functions]
        return found.loss / self.weight + self.gamma * float(u @ u)

    def _accepts(self, found: Evaluated) -> bool:
        """Whether the trial lowers the objective; else the next one is nearer."""
        if self._objective(self.trial, found) <= self.value + _ARMIJO * self.step * self.slope:
            return True
        self.step /= 2
        if self._is_last() or self.step < 0.5**_HALVINGS:  # what is left is rounding error
            self._end()
        else:
            self.trial = self.theta + self.step * self.direction
        return False

    def _is_last(self) -> bool:
        return not self.choosing and self.decrement <= max(self.tol * min(1.0, self.value), _NOTHING)

    def _end(self) -> None:
        self.done = True
        self.converged = self.decrement <= max(self.tol, 1e-12) * max(1.0, self.value)

    def _look_ahead(self) -> None:
        """Make a Newton step, with another γ where that is left to the data."""
        here, r = self.here, self.sums.n_functions
        assert here is not None
        if not (np.isfinite(here.H).all() and np.isfinite(here.g).all()):
            raise ValueError("the sums overflow: scale the offsets, the features or the kernel down")
        matrix = np.block([[here.H, here.g[:, None]], [here.g[None, :], np.array([[here.squares]])]])
        if self.choosing:
            self._choose(matrix)
        shift = 2 * self.gamma * self.weight
        system = self._equations(matrix)
        system.h = system.h - shift * self.theta[:r, None]  # of the step, not of where it leads
        du = self._solved(system, shift / system.weight)
        self.direction = np.concatenate([du, system.features.coefficients(du)])[:, 0]
        by_penalty = 2 * self.gamma * float(self.theta[:r] @ du[:, 0])
        self.slope = by_penalty - float(here.g @ self.direction) / self.weight
        self.decrement, self.step = -self.slope / 2, 1.0
        self.trial = self.theta + self.direction
        self.iterations += 1

    def _equations(self, matrix: FloatArray) -> equations.Equations:
        assert self.here is not None
        part = Part(matrix, weight=self.here.weight, count=self.weight)
        return equations.equations(part, self.sums.plan.centers, 1)

    def _solved(self, system: equations.Equations, gamma: float) -> FloatArray:
        try:
            return system.solve(gamma)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"the equations of {self.sums.n_functions} functions with regularization={self.gamma:g} are "
                "not positive definite to working precision: choose a larger regularization or fewer centres"
            ) from error

    def _choose(self, matrix: FloatArray) -> None:
        """Take the γ that a criterion of least squares has for the problem that the step solves."""
        assert self.here is not None
        to_responses = np.eye(len(matrix))  # f + r/w in place of r/w
        to_responses[:-1, -1] = self.theta
        system = self._equations(to_responses.T @ matrix @ to_responses)
        unit = system.weight / (2 * self.weight)
        grid = self.grid if np.ndim(self.grid) == 0 else np.asarray(self.grid, dtype=np.float64) / unit
        if self.criterion == "reml":
            found = reml(system, grid, refine=False)
        else:
            found = gcv(system, grid, least_variance=self.least_variance, refine=False)
        before, self.gamma = self.gamma, found.regularization * unit
        self.choice = Choice(found.path * unit, found.criterion, self.gamma)
        self.chosen += 1
        steady = self.chosen > 1 and abs(np.log(self.gamma / before)) <= _STEADY
        self.choosing = not steady and self.chosen < _MOST_CHOICES
        self.value = self._objective(self.theta, self.here)


def minimise(
    sums: FamilySums, gamma: float | str, grid: Any, tol: float, max_iter: int, stages: Stages
) -> tuple[Totals, list[Descent]]:
    """Return the minimum of each output; γ is a number or the criterion that chooses it."""
    totals = sums.totals()
    sums.require_minimum(totals)
    k, order = len(totals.y), sums.n_functions + len(totals.features)
    memory.require(
        8.0 * order**2 * (2 * k + 4), f"the sums of {order} functions and {k} outputs", "lower n_centers"
    )
    start = sums.start(totals)
    criterion, given = (gamma, 1.0) if isinstance(gamma, str) else ("", gamma)
    grid = grid if criterion else None
    # The start may be worse than nothing.
    first = sums.evaluate({p: (start[:, p], grid is not None) for p in range(k)})
    walks = []
    for p, found in first.items():
        better = found.loss <= totals.at_zero[p]
        theta = start[:, p] if better else np.zeros(order)
        # Of values that are no counts the unit is anybody's, and the loss knows nothing of their scale.
        least = 0.0 if sums.family.has_scale or totals.fractions[p] > 0 else 1.0
        walks.append(Descent(sums, totals.weight, given, theta, tol, max_iter, grid, criterion, least))
        if better:
            walks[p].tell(found)
    passes = 1
    while not all(walk.done for walk in walks):
        found_at = sums.evaluate(
            {p: (walk.trial, walk.choosing) for p, walk in enumerate(walks) if not walk.done}
        )
        for p, found in found_at.items():
            walks[p].tell(found)
        passes += 1
        stages.report(
            f"pass {passes} over {totals.rows} rows: objective {np.mean([w.value for w in walks]):.8g}"
        )
    return totals, walks
