"""The dual of a kernel machine with a piecewise quadratic loss, and what coefficients are worth in it.

    min ½cᵀΦc − tᵀc + Σ g_i(c_i)   over   lower ≤ c ≤ upper,  Tᵀc = 0,      g(c) = ½κc² + ε|c|

With f = Φc + Tβ the primal value ½cᵀΦc + Σ V_i(t_i − f_i) is an upper bound of the optimum, V_i(r) the
largest cr − g_i(c) within the bounds, and −(the dual value) a lower one. Their difference is

    Σ_i [V_i(t_i − f_i) + g_i(c_i) − c_i (t_i − f_i)] − βᵀTᵀc,

no term of whose sum is negative; what rounding leaves of Tᵀc counts as gap. Of coefficients that are not
feasible the dual value is that of the nearest ones that are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray
from .feasible import feasible
from .rank import nearest_combination

_ROUNDING = 1e-10  # of the largest target: residuals below are no residuals

Times = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class DualProgram:
    """One program; every field is (m,), with lower ≤ 0 ≤ upper. A row whose bounds are zero has no part."""

    t: FloatArray
    lower: FloatArray
    upper: FloatArray
    kappa_up: FloatArray  # κ where c > 0
    kappa_down: FloatArray
    epsilon: FloatArray

    def own(self, c: FloatArray) -> FloatArray:
        """Return g_i(c_i)."""
        kappa = np.where(c > 0, self.kappa_up, self.kappa_down)
        return np.asarray(0.5 * kappa * c**2 + self.epsilon * np.abs(c))

    def loss(self, residuals: FloatArray) -> FloatArray:
        """Return V_i of the residuals."""
        up = _largest(residuals - self.epsilon, self.kappa_up, self.upper)
        return np.maximum(up, _largest(-residuals - self.epsilon, self.kappa_down, -self.lower))

    def objective(self, c: FloatArray, beta: FloatArray, image: FloatArray, T: FloatArray) -> float:
        """Return the primal value of c and β; image = Φc."""
        return float(0.5 * c @ image + self.loss(self.t - image - T @ beta).sum())

    def _known(self, T: FloatArray) -> FloatArray:
        """Return the coefficients (l,) of what the features say of t."""
        return nearest_combination(T, self.t) if T.shape[1] else np.empty(0)

    def gap(self, c: FloatArray, beta: FloatArray, image: FloatArray, T: FloatArray, times: Times) -> float:
        """Return the duality gap of c and β; image = Φc, `times` multiplies others by Φ.

        What the features say of t is taken from both: it makes no difference to c.
        """
        d = feasible(T, c, self.lower, self.upper)
        residuals = self.t - image - T @ beta
        more, left = 0.0, residuals
        if not np.array_equal(c, d):
            image_of_d = times(d)
            left = self.t - image_of_d - T @ beta
            more = 0.5 * float(c @ image - d @ image_of_d)
            more += float((self.loss(residuals) - self.loss(left)).sum())
        across = float((beta - self._known(T)) @ (T.T @ d))
        return more + float((self.loss(left) + self.own(d) - d * left).sum()) + abs(across) - across

    def relative_gap(
        self, c: FloatArray, beta: FloatArray, image: FloatArray, T: FloatArray, times: Times
    ) -> float:
        """Return the duality gap of c and β, relative to the objective.

        Or where that vanishes to a millionth of the loss that least squares by the features leave, and to
        that of rounding errors.
        """
        gap, known = self.gap(c, beta, image, T, times), self._known(T)
        rounding = np.full_like(self.t, _ROUNDING * float(np.abs(self.t).max(initial=0)))
        scale = max(
            self.objective(c, beta, image, T),
            1e-6 * float(self.loss(self.t - T @ known).sum()),
            float(np.maximum(self.loss(rounding), self.loss(-rounding)).sum()),
        )
        if not (np.isfinite(gap) and np.isfinite(scale)):
            return np.inf
        return max(gap, 0.0) / scale if scale > 0 else 0.0


def _largest(r: FloatArray, kappa: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the largest cr − ½κc² over 0 ≤ c ≤ upper."""
    r = np.maximum(r, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.where(kappa > 0, np.minimum(r / kappa, upper), upper)
    c = np.where(r > 0, c, 0.0)
    return np.asarray(c * (r - 0.5 * kappa * c))
