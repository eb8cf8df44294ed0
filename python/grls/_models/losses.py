"""Piecewise quadratic losses, one row of a table each.

A loss V is told by the dual of ½cᵀΦc + C Σ V(y_i − f(x_i)), with g(c) = ½κc² + ε|c|,

    min ½cᵀΦc − yᵀc + Σ g(c_i)   over   lower ≤ c_i ≤ upper,  Tᵀc = 0,       V(r) = max over c of cr − g(c),

where κ may differ for c > 0 and c < 0. A row holds these numbers for C = 1: then V is known as well. See
docs/math.md, section "Other piecewise quadratic losses".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._solvers.dual_program import DualProgram
from .._validation import FloatArray

__all__ = ["PIECEWISE", "Settings", "Terms"]


@dataclass(frozen=True)
class Settings:
    """What losses may depend on."""

    level: float = 0.5  # of a quantile or an expectile
    epsilon: float = 0.0  # residuals that cost nothing
    delta: float = np.inf  # from where on Huber's loss is linear


@dataclass(frozen=True)
class Terms:
    """A row of the table: the dual of a loss for C = 1."""

    lower: float
    upper: float
    kappa_up: float = 0.0  # κ where c > 0
    kappa_down: float = 0.0
    epsilon: float = 0.0

    @property
    def is_linear(self) -> bool:
        """Whether the loss grows linearly and nothing else: then γ has the unit 1/y."""
        return self.kappa_up == self.kappa_down == 0

    def loss(self, residuals: FloatArray) -> FloatArray:
        """Return V of the residuals y − f."""
        return self.program(residuals, np.ones_like(residuals)).loss(residuals)

    def program(self, targets: FloatArray, C: FloatArray) -> DualProgram:
        """Return the dual for targets (m,) and weights C_i (m,) of the losses; C_i = 0: without the row."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lower, upper = (np.where(C > 0, bound * C, 0.0) for bound in (self.lower, self.upper))
            kappa_up, kappa_down = (
                np.where(C > 0, kappa / C, 0.0) for kappa in (self.kappa_up, self.kappa_down)
            )
        epsilon = np.where(C > 0, self.epsilon, 0.0)
        return DualProgram(targets, lower, upper, kappa_up, kappa_down, epsilon)


PIECEWISE: dict[str, Callable[[Settings], Terms]] = {
    "huber": lambda s: Terms(-2 * s.delta, 2 * s.delta, 0.5, 0.5),
    "quantile": lambda s: Terms(s.level - 1, s.level),
    "absolute": lambda s: Terms(-1.0, 1.0),
    "epsilon_insensitive": lambda s: Terms(-1.0, 1.0, epsilon=s.epsilon),
    "squared_epsilon_insensitive": lambda s: Terms(-np.inf, np.inf, 0.5, 0.5, s.epsilon),
    "expectile": lambda s: Terms(-np.inf, np.inf, 0.5 / s.level, 0.5 / (1 - s.level)),
}
