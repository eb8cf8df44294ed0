"""The choice of γ for smooth losses by approximate leave-one-out, along a path of warm starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.optimize import brent

from .._models.progress import Stages, Steps
from .._solvers.newton import Minimum, State
from .._validation import FloatArray, integer
from ..exceptions import NotPositiveDefiniteError

# γ in units of the kernel's size. At the largest the kernel has no say, whatever all rows agree on; at the
# smallest, which the loss knows, it fits anything, and rounding errors begin to show.
_LARGEST = 5.0

_ENOUGH = 1e-6  # share of the objective that a Newton step may promise on the way
_MOST_STEPS = 50
_PATIENCE = 3  # values of γ without gain after which smaller ones are not tried
_PRECISION = 0.02  # of log γ


class SmoothLoss(Protocol):
    """A problem of one or more functions with a smooth loss."""

    criterion_name: str  # of what rows left out are judged by
    nothing_left: float  # its value below which there is nothing to gain
    smallest_gamma: float  # in units of the kernel's size

    def start(self) -> State: ...

    def minima(self, gamma: float, start: State, tol: float, max_iter: int) -> list[Minimum]: ...

    def leave_one_out(self, state: State, gamma: float) -> FloatArray: ...

    def criterion(self, f: FloatArray) -> float: ...


@dataclass
class SmoothSelection:
    """The curve, and the choice."""

    path: FloatArray  # (g,) γ in ascending order
    criterion: FloatArray  # (g,) of the rows left out
    chosen: float
    state: State  # the model there, nearly at its minimum
    predictions: FloatArray  # (m, k): of each row by the model without it


@dataclass
class _Walk:
    """The criterion along γ, each model starting from the nearest larger γ."""

    loss: SmoothLoss
    steps: Steps  # told of each γ
    check: Callable[[list[Minimum]], None]  # of the first model
    states: dict[float, State] = field(default_factory=dict)
    values: dict[float, float] = field(default_factory=dict)
    best: tuple[float, FloatArray] | None = None  # the best γ, and the predictions of the rows left out there

    def __call__(self, gamma: float) -> float:
        """Return the criterion at γ."""
        if gamma in self.values:
            return self.values[gamma]
        larger = sorted(g for g in self.states if g > gamma)
        start = self.states[larger[0]] if larger else self.loss.start()
        minima = self.loss.minima(gamma, start, _ENOUGH, _MOST_STEPS)
        if not self.states:
            self.check(minima)
        state = State.joined([each.state for each in minima])
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            predictions = self.loss.leave_one_out(state, gamma)
            value = self.loss.criterion(predictions)
        value = value if np.isfinite(value) else np.inf
        self.states[gamma] = state
        self.values[gamma] = value
        if self.best is None or (value, -gamma) < (self.values[self.best[0]], -self.best[0]):
            self.best = gamma, predictions
        reached = f"leave-one-out {self.loss.criterion_name} {value:.6g}"
        self.steps.done(f"regularization {gamma:.3g}: {reached}", reached)
        return value


def gammas_to_try(specification: Any, unit: float, smallest: float) -> tuple[FloatArray, bool]:
    """Return the γ to try in descending order, and whether the best is refined; `unit`: the kernel's size."""
    if np.ndim(specification) == 0:
        count = integer(specification, "regularization_grid", minimum=2)
        return np.geomspace(_LARGEST, smallest, count) * unit, True
    values = np.sort(np.asarray(specification, dtype=np.float64).ravel())[::-1]
    if values.size == 0 or not np.all(np.isfinite(values)) or values[-1] <= 0:
        raise ValueError("regularization_grid must hold positive, finite numbers")
    return values, False


def select(
    loss: SmoothLoss,
    gammas: FloatArray,
    *,
    refine: bool,
    check: Callable[[list[Minimum]], None],
    stages: Stages,
) -> SmoothSelection:
    """Follow the criterion from the largest γ down, and choose where it is smallest.

    With `refine` the walk ends where smaller γ have not gained for a while, and the best γ is refined between
    its neighbours.
    """
    with stages.steps(len(gammas), "regularization") as steps:
        walk = _Walk(loss, steps, check)
        tried = _follow(walk, gammas, refine)
    assert walk.best is not None
    best = walk.best[0]
    if not np.isfinite(walk.values[best]):
        raise ValueError(
            "leave-one-out has no value at any regularization: a row left out leaves the features without "
            "a minimum; give regularization a number, a finite feature_variance, or fewer features"
        )
    if refine:
        walk.steps = Steps(stages)  # nobody knows how many
        _refine(walk, tried, best)
    best, predictions = walk.best
    path = np.array(sorted(walk.values))
    criterion = np.array([walk.values[gamma] for gamma in path])
    return SmoothSelection(path, criterion, best, walk.states[best], predictions)


def _follow(walk: _Walk, gammas: FloatArray, refine: bool) -> list[float]:
    """Go down from the largest γ as far as that is of use, and return those tried."""
    tried: list[float] = []
    for gamma in map(float, gammas):
        try:
            walk(gamma)
        except NotPositiveDefiniteError:
            if not tried:
                raise
            break  # lost in rounding errors, and so are smaller ones
        tried.append(gamma)
        assert walk.best is not None
        best = walk.best[0]
        enough = walk.values[best] < walk.loss.nothing_left
        if refine and (len(tried) - 1 - tried.index(best) >= _PATIENCE or enough):
            break
    return tried


def _refine(walk: _Walk, tried: list[float], best: float) -> None:
    """Go where between the neighbours of the best γ the criterion is smallest."""
    at = tried.index(best)
    if not 0 < at < len(tried) - 1:
        return
    around = [tried[at + 1], best, tried[at - 1]]
    low, middle, high = (walk.values[gamma] for gamma in around)
    if not (np.isfinite([low, high]).all() and middle < min(low, high)):
        return
    bracket = tuple(1 + float(np.log(gamma / best)) for gamma in around)
    known = dict(zip(bracket, (low, middle, high), strict=True))
    brent(
        lambda x: known[x] if x in known else walk(float(best * np.exp(x - 1))),
        brack=bracket,
        tol=_PRECISION,
    )
