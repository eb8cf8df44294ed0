"""Models between Newton steps, and where the steps end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray

# A curvature below this is no curvature: less only blows up rounding errors. Gradients are exact, so that the
# minimum does not depend on it.
LEAST_CURVATURE = 1e-10

_ARMIJO = 1e-4
_HALVINGS = 40
_NOTHING = 1e-20  # to gain: the objective is zero but for rounding errors


@dataclass
class State:
    """A model in terms of its coefficients and what they give at the samples."""

    c: FloatArray  # (m, k)
    beta: FloatArray  # (l, k)
    Kc: FloatArray  # (m, k)
    f: FloatArray  # (m, k)

    @classmethod
    def zero(cls, T: FloatArray, k: int) -> State:
        """Return k functions that are zero everywhere, beside features T (m, l)."""
        nothing = np.zeros((len(T), k))
        return cls(nothing, np.zeros((T.shape[1], k)), nothing, nothing)

    def towards(self, other: State, step: float) -> State:
        """Return the point a share of the way to another; beyond it for more than one."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return State(*(a + step * (b - a) for a, b in pairs))

    def column(self, p: int) -> State:
        """Return one of the functions."""
        return State(*(np.ascontiguousarray(a[:, p : p + 1]) for a in vars(self).values()))

    @classmethod
    def joined(cls, states: list[State]) -> State:
        """Return the functions of all, side by side."""
        columns = zip(*(vars(state).values() for state in states), strict=True)
        return cls(*(np.hstack(each) for each in columns))


@dataclass
class Minimum:
    """Where Newton's method ended."""

    state: State
    objective: float
    iterations: int
    decrement: float  # what the last step promised
    converged: bool
    kept: list[int]  # the independent features


def line_search(
    start: State, target: State, objective: Callable[[State], float], value: float, slope: float
) -> tuple[State, float] | None:
    """Return the point on the way to the target that lowers the objective enough, and its value there.

    None: no point does, and what is left is rounding error.
    """
    step = 1.0
    for _ in range(_HALVINGS):
        candidate = start.towards(target, step)
        new = objective(candidate)
        if new <= value + _ARMIJO * step * slope:
            return candidate, new
        step /= 2
    return None


def minimise(
    start: State,
    objective: Callable[[State], float],
    newton_step: Callable[[State], tuple[State, float, list[int]]],
    tol: float,
    max_iter: int,
) -> Minimum:
    """Follow Newton steps, each given by where it leads, the slope of the objective there, and the features.

    A step that promises to lower the objective by less than `tol`, or than this share of a small objective,
    is the last.
    """
    state, value = start, objective(start)
    for iteration in range(1, max_iter + 1):
        target, slope, kept = newton_step(state)
        decrement = -slope / 2
        moved = line_search(state, target, objective, value, slope)
        if moved is not None:
            state, value = moved
        if decrement <= max(tol * min(1.0, value), _NOTHING) or moved is None:
            enough = max(tol, 1e-12) * max(1.0, value)
            return Minimum(state, value, iteration, decrement, decrement <= enough, kept)
    return Minimum(state, value, max_iter, decrement, False, kept)
