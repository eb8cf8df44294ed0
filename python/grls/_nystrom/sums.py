"""Sums over rows, and the model that is in them.

With rows [b(x) t y] (see `grls.nystrom`) the sums are one symmetric matrix. They add: sums of two blocks are
the sum of the blocks' sums, wherever and in whatever order these were computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh

from .. import _core
from .._nystrom.centers import Landmarks
from .._selection import regularization as _selection
from .._solvers.runtime import get_num_threads
from .._validation import FloatArray, for_core
from ..core import dependence_tolerance
from ..exceptions import NotPositiveDefiniteError

CRITERIA = ("gcv", "holdout")
_SLICE = 1 << 16  # rows of an array in memory that are worked on at a time


@dataclass
class Part:
    """The sums of some rows."""

    matrix: FloatArray  # (p, p)
    rows: int = 0
    weight: float = 0.0  # Σw
    count: float = 0.0  # rows, one of sample weight two counted twice; class weights do not count

    def __add__(self, other: Part) -> Part:
        return Part(
            self.matrix + other.matrix,
            self.rows + other.rows,
            self.weight + other.weight,
            self.count + other.count,
        )

    def recoded(self, k: int, coding: FloatArray) -> Part:
        """Return the sums for targets Y C; see `Sums.recoded`."""
        S, y = self.matrix, slice(len(self.matrix) - k, None)
        before = slice(0, len(S) - k)
        across = S[before, y] @ coding
        corner = coding.T @ S[y, y] @ coding
        return replace(self, matrix=np.block([[S[before, before], across], [across.T, corner]]))


@dataclass
class Sums:
    """The sums of the rows that are fitted and of those held out to choose γ with."""

    fitted: Part
    held: Part | None
    classes: Any = None  # of a classifier: the labels whose indicators are the targets
    blocks: int = 1

    @property
    def total(self) -> Part:
        """The sums of all rows."""
        return self.fitted if self.held is None else self.fitted + self.held

    def __add__(self, other: Sums) -> Sums:
        mine, theirs = self, other
        if self.classes is not None:
            classes = np.union1d(self.classes, other.classes)
            mine, theirs = self.with_classes(classes), other.with_classes(classes)
        return Sums(
            mine.fitted + theirs.fitted,
            mine.held + theirs.held if mine.held and theirs.held else None,
            mine.classes,
            self.blocks + other.blocks,
        )

    def recoded(self, k: int, coding: FloatArray) -> Sums:
        """Return the sums for targets Y C in place of the last k columns Y; coding C (k, k')."""
        held = None if self.held is None else self.held.recoded(k, coding)
        return replace(self, fitted=self.fitted.recoded(k, coding), held=held)

    def with_classes(self, classes: Any) -> Sums:
        """Return the sums with targets for more classes: no row so far was of the new ones."""
        classes = np.union1d(classes, self.classes)
        if len(classes) == len(self.classes):
            return self
        before = len(self.fitted.matrix) - len(self.classes)
        places = np.concatenate([np.arange(before), before + np.searchsorted(classes, self.classes)])

        def widen(part: Part | None) -> Part | None:
            if part is None:
                return None
            matrix = np.zeros((before + len(classes),) * 2)
            matrix[np.ix_(places, places)] = part.matrix
            return replace(part, matrix=matrix)

        fitted = widen(self.fitted)
        assert fitted is not None
        return Sums(fitted, widen(self.held), classes, self.blocks)


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@dataclass(frozen=True)
class Summation:
    """How rows become sums: the same for every block."""

    landmarks: Landmarks
    precision: str
    held_fraction: float  # share of the rows that γ is chosen with; 0: none
    seed: int

    def __call__(
        self,
        X: Any,
        T: FloatArray,
        Y: FloatArray,
        weights: FloatArray | None,
        counts: FloatArray | None = None,
        classes: Any = None,
    ) -> Sums:
        """Return the sums of checked rows, all of positive weight; Y (n, k): targets, or indicators.

        counts (n,): how often each row counts; None: once.
        """
        order = self.landmarks.rank + T.shape[1] + Y.shape[1]
        fitted = Part(np.zeros((order, order)))
        held = Part(np.zeros((order, order))) if self.held_fraction > 0 else None
        for start in range(0, X.shape[0], _SLICE):
            part = slice(start, start + _SLICE)
            block = [None if v is None else v[part] for v in (X, T, Y, weights, counts)]
            if held is None:
                self._add(fitted, *block)
            else:
                chosen = self._is_held(block[0])
                self._add(fitted, *(None if v is None else v[~chosen] for v in block))
                self._add(held, *(None if v is None else v[chosen] for v in block))
        for sums in (fitted, held):
            if sums is not None and not np.isfinite(sums.matrix).all():
                raise ValueError("the sums overflow: scale the targets, the features or the kernel down")
        return Sums(fitted, held, classes)

    def is_like(self, other: Summation) -> bool:
        """Whether the sums of both may be added."""
        mine, theirs = self.landmarks, other.landmarks
        return (
            mine.centers.shape == theirs.centers.shape
            and mine.kernel.is_same(theirs.kernel, mine.centers.shape[1])
            and (self.held_fraction, self.seed if self.held_fraction else 0)
            == (other.held_fraction, other.seed if other.held_fraction else 0)
            and all(
                a.shape == b.shape and np.array_equal(_dense(a), _dense(b))
                for a, b in (
                    (mine.centers, theirs.centers),
                    (mine.L, theirs.L),
                    (mine.E, theirs.E),
                    (mine.A, theirs.A),
                )
            )
        )

    def _is_held(self, X: Any) -> NDArray[np.bool_]:
        # By the contents of a row, so that it does not depend on the blocks; equal rows are on the same side,
        # and none can vouch for its like. Another seed than that of the centres: a centre may be held out.
        keys = _core.row_keys(data=for_core(X), seed=self.seed ^ 0x5DEECE66D, threads=get_num_threads())
        return np.asarray(keys < np.uint64(min(self.held_fraction, 1.0) * (2**64 - 2**12)))

    def _add(self, part: Part, X: Any, T: Any, Y: Any, weights: Any, counts: Any) -> None:
        if X.shape[0] > 0:
            part.matrix += self.landmarks.sums(X, T, Y, weights, self.precision)
            part.rows += X.shape[0]
            part.weight += float(X.shape[0] if weights is None else weights.sum())
            part.count += float(X.shape[0] if counts is None else counts.sum())


def _independent(S: FloatArray, sizes: FloatArray, tolerance: float) -> list[int]:
    """Return the features (of sums S = TᵀT) that are not made of the others, the clearest first.

    A feature counts as made of the others when less than the share `tolerance` of `sizes` (its own length
    before the pivots' part was taken off) is left, or less than rounding left of S.
    """
    left = S.copy()
    kept: list[int] = []
    at_first = np.diagonal(S).copy()
    least = np.maximum((tolerance * sizes) ** 2, 1e-13 * at_first)
    while True:
        diagonal = np.diagonal(left)
        share = np.where(diagonal > least, diagonal / np.where(sizes > 0, sizes, 1.0) ** 2, -1.0)
        share[kept] = -1.0
        if len(kept) == len(S) or share.max(initial=-1.0) <= 0:
            return kept
        best = int(share.argmax())
        kept.append(best)
        left = left - np.outer(left[:, best], left[best]) / left[best, best]


@dataclass
class Features:
    """What the features take off the kernel's part: their sums S_tt, eliminated."""

    kept: list[int]  # those that have a coefficient
    across: FloatArray  # (l', r): sums of the kept features with b
    solved: FloatArray  # (l', r + k): S_tt⁻¹ times their sums with [b y]
    A: FloatArray

    def coefficients(self, u: FloatArray) -> FloatArray:
        """Return the coefficients of the features T A that were summed, (l, k)."""
        r = len(u)
        out = np.zeros((len(self.A), u.shape[1]))
        out[self.kept] = self.solved[:, r:] - self.solved[:, :r] @ u
        return out


def eliminate(
    S_tt: FloatArray, S_tb: FloatArray, S_ty: FloatArray, landmarks: Landmarks, n_rows: int
) -> Features:
    """Find the independent features and solve for them."""
    if len(S_tt) == 0:
        return Features(
            [], np.empty((0, landmarks.rank)), np.empty((0, landmarks.rank + S_ty.shape[1])), landmarks.A
        )
    inverse = np.linalg.inv(landmarks.A)  # T = (TA) A⁻¹
    sizes = np.sqrt(np.maximum(np.einsum("ij,ik,kj->j", inverse, S_tt, inverse, optimize=True), 0))
    sizes[landmarks.kept] = np.sqrt(np.diagonal(S_tt))[landmarks.kept]
    kept = _independent(S_tt, sizes, dependence_tolerance(n_rows))
    across = np.hstack([S_tb, S_ty])[kept]
    solved = cho_solve(cho_factor(S_tt[np.ix_(kept, kept)], lower=True), across) if kept else across
    return Features(kept, across[:, : landmarks.rank], solved, landmarks.A)


@dataclass
class Equations:
    """(G + γΣw I) u = h, with the features eliminated: G = BᵀΠB, h = BᵀΠY, Π the projection off them."""

    G: FloatArray  # (r, r)
    h: FloatArray  # (r, k)
    squares: FloatArray  # (k,): yᵀΠy
    weight: float
    count: float
    features: Features

    @property
    def n_free(self) -> float:
        """Rows less features."""
        return self.count - len(self.features.kept)

    def solve(self, gamma: float) -> FloatArray:
        """Return u for one γ."""
        if len(self.h) == 0:
            return self.h
        none = np.empty((len(self.h), 0))
        solution = _core.solve(
            formula=None,
            data=self.G,
            T=none,
            Y=self.h,
            weights=None,
            shift=gamma * self.weight,
            formulation="exact",
            pivots="qr",
            tolerance=0.0,
            threads=get_num_threads(),
        )
        return np.asarray(solution.c)


def equations(part: Part, landmarks: Landmarks, k: int) -> Equations:
    """Eliminate the features."""
    S, r = part.matrix, landmarks.rank
    b, t, y = slice(0, r), slice(r, len(S) - k), slice(len(S) - k, None)
    features = eliminate(S[t, t], S[t, b], S[t, y], landmarks, part.rows)
    G = S[b, b] - features.across.T @ features.solved[:, :r]
    h = S[b, y] - features.across.T @ features.solved[:, r:]
    explained = np.einsum("ij,ij->j", S[t, y][features.kept], features.solved[:, r:])
    squares = np.maximum(np.diagonal(S[y, y]) - explained, 0)
    return Equations(np.ascontiguousarray(G), h, squares, part.weight, part.count, features)


@dataclass
class Choice:
    """The curve of a criterion, and the γ that is chosen."""

    path: FloatArray  # (g,)
    criterion: FloatArray  # (g,)
    regularization: float


# Squared errors are differences of sums, and known to this share of what is subtracted.
_ROUNDING = 1e-13


def _choice(gammas: FloatArray, values: FloatArray, errors: FloatArray) -> Choice:
    """Choose among γ by a criterion known up to errors.

    Where the rows are all but interpolated the criterion is rounding error; the curve is an upper bound.
    """
    best = _selection.largest_of_the_best(values, errors)
    return Choice(gammas, values + errors, float(gammas[best]))


def _grid(specification: Any, system: Equations) -> FloatArray:
    """Return the shifts γΣw to try: the exact model's where every row is a centre."""
    shifts, relative = _selection.shifts_to_try(specification, system.count, system.weight)
    if not relative:
        return shifts
    mean_eigenvalue = float(np.trace(system.G)) / max(system.n_free, 1.0)
    return shifts * (mean_eigenvalue if mean_eigenvalue > 0 else 1.0)


def gcv(system: Equations, specification: Any) -> Choice:
    """Choose γ by generalised cross-validation, the mean of all outputs'."""
    if system.n_free <= 0:
        raise ValueError(
            f'regularization="gcv" needs more samples than features: the sample weights add up to '
            f"{system.count:g}, the features are {len(system.features.kept)}; give regularization a number"
        )
    shifts = _grid(specification, system)
    r = len(system.h)
    residual, freedom = np.tile(system.squares, (len(shifts), 1)), np.full(len(shifts), system.n_free)
    if r > 0:
        none = np.empty((r, 0))
        path = _core.path(
            formula=None,
            data=system.G,
            T=none,
            Y=system.h,
            weights=None,
            shifts=shifts,
            relative=False,
            leave_one_out=False,
            tolerance=0.0,
            threads=get_num_threads(),
        )
        residual -= path.quadratic + shifts[:, None] * path.squared_norm
        freedom += shifts * path.trace - r
    known = np.isfinite(freedom) & (freedom > 1e-10 * system.n_free)
    if not known.any():
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")
    scale = np.full(len(shifts), np.inf)
    scale[known] = system.count / freedom[known] ** 2
    values = np.full(len(shifts), np.inf)
    values[known] = scale[known] * np.maximum(residual[known], 0).mean(axis=1)
    return _choice(shifts / system.weight, values, scale * _ROUNDING * system.squares.mean())


def holdout(system: Equations, held: Part | None, k: int, specification: Any) -> Choice:
    """Choose γ by the mean squared error on the rows held out, the mean of all outputs'."""
    if held is None or held.rows == 0 or system.weight == 0:
        raise ValueError(
            'regularization="holdout" found no rows to hold out, or none to fit; give more rows or another '
            "validation_fraction"
        )
    shifts = _grid(specification, system)
    S = held.matrix
    d, U = eigh(system.G) if len(system.h) else (np.empty(0), np.empty((0, 0)))
    along = U.T @ system.h
    # h is in the range of G: what it seems to have beyond, with more functions than rows, is error.
    along[d <= 1e-13 * d.max(initial=0)] = 0
    d = np.maximum(d, 0)
    errors, roundings = [], []
    lengths = np.sqrt(np.diagonal(S))[:, None]
    for shift in shifts:
        u = U @ (along / (d + shift)[:, None])
        v = np.vstack([u, system.features.coefficients(u), -np.eye(k)])
        errors.append(np.einsum("ij,ij->j", v, S @ v).mean() / held.weight)
        roundings.append(_ROUNDING * (np.abs(lengths * v).sum(axis=0) ** 2).mean() / held.weight)
    criterion = np.maximum(np.asarray(errors), 0)
    return _choice(shifts / system.weight, criterion, np.asarray(roundings))
