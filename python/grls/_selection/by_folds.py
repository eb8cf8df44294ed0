"""The choice of γ by folds, for losses that have no closed form of leaving out rows.

A fold is the program of all rows with the bounds of those left out at zero: all folds and all γ share the
kernel's values, and the model function at the rows left out comes with each solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import check_cv

from .._models.progress import Stages
from .._solvers.rows import distinct_rows
from .._validation import FloatArray, integer

# γ of the squared loss in units of the kernel's size: from where the kernel has no say to where it fits all.
_LARGEST, _SMALLEST = 5.0, 5e-8
_PATIENCE = 3  # values of γ without gain after which smaller ones are not tried


@dataclass
class FoldSelection:
    """The curve, and the choice."""

    path: FloatArray  # (g,) γ in ascending order
    criterion: FloatArray  # (g,) mean loss of the rows left out
    chosen: float
    predictions: FloatArray  # (m, k): of each row by the model without it, at the chosen γ


@dataclass(frozen=True)
class Fold:
    """Which rows train, and which are left out, (m,) each."""

    trains: NDArray[np.bool_]
    left_out: NDArray[np.bool_]


def folds_of(X: Any, y: Any, cv: Any, rows: Any, *, pairwise: bool) -> list[Fold]:
    """Return the folds of checked rows.

    A number of folds: rows at the same point are in the same fold, and neither the order of the rows nor the
    units of dense columns matter. Else as a scikit-learn splitter or a list of positions says; `rows`: where
    the rows were among those given, if some had no weight.
    """
    m = X.shape[0]
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool):
        # Positions are those of the rows as given; a splitter sees the rows that count.
        places = np.arange(m) if rows is None or hasattr(cv, "split") else rows
        pairs = check_cv(cv).split(X, y)
        return [Fold(np.isin(places, train), np.isin(places, test)) for train, test in pairs]
    count = integer(cv, "cv", minimum=2)
    place = np.arange(m)
    if not pairwise:
        told_apart = X
        if not sparse.issparse(X):
            ranks = [np.unique(column, return_inverse=True)[1] for column in np.asarray(X).T]
            told_apart = np.column_stack(ranks).astype(np.float64)
        place = distinct_rows(told_apart)[1]
    n_points = int(place.max()) + 1
    if n_points < 2:
        raise ValueError(
            'regularization="auto" leaves out rows, and all rows are at the same point: give it a number'
        )
    count = min(count, n_points)
    return [Fold(place % count != fold, place % count == fold) for fold in range(count)]


def gammas_to_try(specification: Any, unit: float) -> tuple[FloatArray, bool]:
    """Return the γ to try in descending order, and whether the walk may end early."""
    if np.ndim(specification) == 0:
        count = integer(specification, "regularization_grid", minimum=2)
        return np.geomspace(_LARGEST, _SMALLEST, count) * unit, True
    values = np.sort(np.asarray(specification, dtype=np.float64).ravel())[::-1]
    if values.size == 0 or not np.all(np.isfinite(values)) or values[-1] <= 0:
        raise ValueError("regularization_grid must hold positive, finite numbers")
    return values, False


@dataclass
class Walk:
    """The criterion along γ."""

    left_out: Callable[[float], FloatArray]  # γ -> (m, k): each row by the model without it; NaN: in no fold
    loss: Callable[[FloatArray], FloatArray]  # of predictions (m, k), (m,)
    weights: FloatArray  # (m,)
    stages: Stages
    values: dict[float, float] = field(default_factory=dict)
    best: tuple[float, FloatArray] | None = None

    def __call__(self, gamma: float) -> float:
        """Return the mean loss of the rows left out at γ."""
        if gamma in self.values:
            return self.values[gamma]
        predictions = self.left_out(gamma)
        known = np.isfinite(predictions).all(axis=1)
        value = np.inf
        if known.any():
            value = float(np.average(self.loss(predictions)[known], weights=self.weights[known]))
        self.values[gamma] = value
        if self.best is None or (value, -gamma) < (self.values[self.best[0]], -self.best[0]):
            self.best = gamma, predictions
        self.stages.report(f"regularization {gamma:.3g}: loss of rows left out {value:.6g}")
        return value

    def follow(self, gammas: FloatArray, *, may_end: bool) -> FoldSelection:
        """Go down from the largest γ; where it `may_end`, until smaller ones gain no more, then refine."""
        since = 0
        for gamma in map(float, gammas):
            before = self.best
            self(gamma)
            since = 0 if self.best is not before else since + 1
            if may_end and since >= _PATIENCE:
                break
        assert self.best is not None
        if may_end:
            self._refine()
        path = np.array(sorted(self.values))
        criterion = np.array([self.values[gamma] for gamma in path])
        return FoldSelection(path, criterion, *self.best)

    def _refine(self) -> None:
        """Try the middles between the best γ and its neighbours."""
        assert self.best is not None
        path = sorted(self.values)
        at = path.index(self.best[0])
        for other in path[max(at - 1, 0) : at] + path[at + 1 : at + 2]:
            self(float(np.sqrt(other * path[at])))
