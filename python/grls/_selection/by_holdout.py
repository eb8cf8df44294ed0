"""The choice of γ on rows held out, where no matrix is stored: the model of the others at all γ at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._solvers import kernel_values
from .._solvers.groups import Labels
from .._solvers.kernel_problem import KernelProblem
from .._solvers.matrix_free import MatrixFree
from .._solvers.rows import row_keys
from .._validation import FloatArray
from . import regularization
from .by_gradients import Found, Scale, descend
from .shifted_systems import SolvedShifts

_SHARE = 0.1  # of the rows, as far as their contents deal them out
_SEED = 0x5DEECE66D
_PRECISION = 1e-4  # of solutions: predictions are known to that, and not to its square

# Loss of predictions (n, k) of rows, given by their positions: one number, or one per output.
RowsLoss = Callable[[NDArray[np.intp], FloatArray], FloatArray]


def held_out_rows(problem: KernelProblem, labels: Labels | None = None) -> NDArray[np.bool_]:
    """Return which rows are held out, (m,): a tenth or so, by their contents, or a tenth of groups.

    Equal rows are on the same side, so that none vouches for its like; so are the rows of a group.
    Where groups have effects, some rows of each are fitted: a group of held-out rows alone is fitted with
    all of them.
    """
    if labels is None:
        held = row_keys(problem.X, _SEED) < np.uint64(_SHARE * (2**64 - 2**12))
    else:
        order = np.random.default_rng(_SEED).permutation(int(labels.max()) + 1)
        held = np.isin(labels, order[: max(1, round(_SHARE * len(order)))])
    if problem.codes is not None:
        fitted = np.bincount(problem.codes, ~held, problem.n_groups)
        held &= fitted[problem.codes] > 0
    if not held.any() or held.all():
        raise ValueError(
            'regularization="holdout" found no rows to hold out, or none to fit: give more rows, or '
            "regularization a number"
        )
    return np.asarray(held)


class _HeldOut:
    """Predictions of the rows held out by the model of the others, at any shift."""

    def __init__(self, problem: KernelProblem, targets: FloatArray, held: NDArray[np.bool_]) -> None:
        fitted = np.flatnonzero(~held)
        self.rows = np.flatnonzero(held)
        self._all, self._targets = problem, targets[fitted]
        self.problem = problem.take(fitted, problem.weights_or_ones[fitted])
        self.system = MatrixFree(self.problem, 3 * targets.shape[1])
        self._roots = np.sqrt(self.problem.weights_or_ones)[:, None]
        self.systems = SolvedShifts(self.system, self.system.project(self._roots * self._targets))
        self._of_features = self._at(self._targets, np.zeros_like(self._targets))
        self._of_spanning: list[FloatArray] = []

    def _at(self, targets: FloatArray, c: FloatArray) -> FloatArray:
        """Return what kernel coefficients c of targets predict of the rows; linear in both."""
        beta, effects = self.system.free_part(targets, c)
        found = np.asarray(self._all.T[self.rows] @ beta)
        if self._all.codes is not None:  # every group has rows that are fitted: the codes are the same
            found = found + effects[self._all.codes[self.rows]]
        if c.any():
            assert self.problem.gram.formula is not None
            found = found + kernel_values.times(
                self.problem.gram.formula, self._all.kernel.take(self._all.X, self.rows), self.problem.X, c
            )
        return np.asarray(found)

    def predictions(self, shift: float) -> FloatArray:
        """(h, k) at a shift."""
        for V in self.systems.spanning[len(self._of_spanning) :]:
            self._of_spanning.append(self._at(np.zeros_like(V), np.ascontiguousarray(self._roots * V)))
        out = self._of_features.copy()
        for p in range(out.shape[1]):
            for share, part in zip(self.systems.shares(shift, p), self._of_spanning, strict=True):
                out[:, p] += share * part[:, p]
        return out


class _HoldoutSearch:
    """The loss of the rows held out at the shifts that were solved for, and between them."""

    def __init__(self, held: _HeldOut, loss: RowsLoss, n_outputs: int) -> None:
        self._held, self._loss, self._n_outputs = held, loss, n_outputs
        self.systems, self.total_weight = held.systems, held.problem.total_weight

    def _value(self, shift: float) -> FloatArray:
        values = np.atleast_1d(self._loss(self._held.rows, self._held.predictions(shift)))
        values = values if self._n_outputs > 1 else np.atleast_1d(values.mean())
        return np.where(np.isfinite(values), values, np.inf)

    def curve(self, shifts: FloatArray) -> regularization.Curve:
        plane = np.array([[self._value(float(s)) for s in shifts]])
        points: list[Any] = [None] * len(shifts)
        return regularization.Curve(shifts, plane, np.zeros_like(plane), points)

    def refined(self, curve: regularization.Curve) -> regularization.Curve:
        found = regularization.refined_shifts(curve, 0, self._value)
        return curve.joined(self.curve(np.array(found))) if found else curve

    def best(self, curve: regularization.Curve) -> FloatArray:
        return np.asarray(curve.shifts[curve.best(0)])


def select(
    problem: KernelProblem,
    targets: FloatArray,
    specification: Any,
    loss: RowsLoss,
    *,
    labels: Labels | None,
    per_output: bool,
    max_iter: int,
    report: Callable[[str], None],
) -> Found:
    """Choose γ by the loss of a tenth of the rows, from large values to small ones.

    With `labels`, of the rows of a tenth of the groups. The model of the others costs one column for each
    output and no random vectors; its solutions at a few shifts serve all between.
    """
    held = _HeldOut(problem, targets, held_out_rows(problem, labels))
    scale = Scale.of(held.system)
    total = held.problem.total_weight
    shifts, relative = scale.shifts_to_try(specification, len(held.problem.T), total)
    search = _HoldoutSearch(held, loss, targets.shape[1] if per_output else 1)
    curve = descend(
        search,
        shifts,
        relative=relative,
        tol=_PRECISION,
        max_iter=max_iter,
        report=report,
        criterion="holdout",
    )
    if relative:
        curve = search.refined(curve)
    chosen, values = search.best(curve) / total, curve.plane[0]
    selection = regularization.Selection(
        path=curve.shifts / total,
        criterion=values if per_output else values[:, 0],
        chosen=chosen if per_output else np.asarray(chosen[0]),
        feature_variance=np.inf,
        left_out=None,
        copies=0,
        mean_count=1.0,
    )
    return Found(selection)
