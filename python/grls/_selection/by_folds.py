"""The choice of γ by folds, for losses that have no closed form of leaving out rows.

A fold is the program of all rows with the bounds of those left out at zero: all folds and all γ share the
kernel's values, and the model function at the rows left out comes with each solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._models.progress import Stages
from .._validation import FloatArray, integer

# γ of the squared loss in units of the kernel's size: from where the kernel has no say to where it fits all.
_LARGEST, _SMALLEST = 5.0, 5e-8
_LEAST = 5e-11  # below, rounding shows: down to here the walk may go on
_FEIGNED = 2e-3  # share of a criterion that the tolerance of the models in folds may make
_PATIENCE = 3  # values of γ without gain after which smaller ones are not tried
_HUMP = (
    2e6  # times the least γ: above, small gains and losses by turns tell nothing of what smaller γ are worth
)


@dataclass
class FoldSelection:
    """The curve, and the choice."""

    path: FloatArray  # (g,) γ in ascending order
    criterion: FloatArray  # (g,) mean loss of the rows left out
    chosen: float
    predictions: FloatArray  # (m, k): of each row by the model without it, at the chosen γ


def gammas_to_try(specification: Any) -> tuple[FloatArray, float | None]:
    """Return the γ to try in descending order, and how far the walk may go on; None: as they are.

    Where it may, they are in units of the kernel's size.
    """
    if np.ndim(specification) == 0:
        count = integer(specification, "regularization_grid", minimum=2)
        return np.geomspace(_LARGEST, _SMALLEST, count), _LEAST
    values = np.sort(np.asarray(specification, dtype=np.float64).ravel())[::-1]
    if values.size == 0 or not np.all(np.isfinite(values)) or values[-1] <= 0:
        raise ValueError("regularization_grid must hold positive, finite numbers")
    return values, None


@dataclass
class Walk:
    """The criterion along γ."""

    # γ -> (m, k): each row by the model without it; NaN: in no fold. None: no solver gets there.
    left_out: Callable[[float], FloatArray | None]
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
        if predictions is None:
            self.stages.report(f"regularization {gamma:.3g}: lost in rounding errors")
            return np.inf
        known = np.isfinite(predictions).all(axis=1)
        value = np.inf
        if known.any():
            value = float(np.average(self.loss(predictions)[known], weights=self.weights[known]))
        self.values[gamma] = value
        if self.best is None or self._is_better(value, gamma):
            self.best = gamma, predictions
        self.stages.report(f"regularization {gamma:.3g}: loss of rows left out {value:.6g}")
        return value

    def _is_better(self, value: float, gamma: float) -> bool:
        """Whether γ beats the best so far: a smaller one has to gain more than tolerances feign."""
        assert self.best is not None
        best = self.values[self.best[0]]
        return value < (best if gamma > self.best[0] else (1 - _FEIGNED) * best)

    def follow(self, gammas: FloatArray, least: float | None) -> FoldSelection:
        """Go down from the largest γ, by `least` until some gain nothing, and not below it; then refine.

        None: through all of the γ, and no others.
        """
        may_end = least is not None
        ratio = float(gammas[-1] / gammas[-2]) if may_end else 0.0
        since, values = 0, [float(gamma) for gamma in gammas]
        while values:
            gamma, before = values.pop(0), self.best
            self(gamma)
            if gamma not in self.values:  # and smaller ones are lost too
                break
            waits = least is not None and gamma > _HUMP * least
            since = 0 if self.best is not before or waits else since + 1
            if may_end and since >= _PATIENCE:
                break
            # Beyond the grid: of a kernel that is much too wide the curve falls again after a plateau.
            if least is not None and not values and ratio * gamma >= least:
                values.append(ratio * gamma)
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
