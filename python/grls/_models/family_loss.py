"""The loss of a regression with a family, one function for each output, and whether it has a minimum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._selection.merged import Observations
from .._solvers.kernel_problem import KernelProblem
from .._solvers.newton import State
from .._solvers.smooth import SmoothProblem
from .._solvers.weighted_factor import FeatureSpan
from .._validation import FloatArray
from .families import Family, FamilyRows
from .logistic_loss import improves, scaled_columns
from .smooth_functions import SeparateFunctions, kernel_size, stored_part

_SUSPICIOUS = 1e-3  # share of the mean: where features send rows without counts to zero, some mean is below


@dataclass
class FamilyLoss(SeparateFunctions):
    """1/Σs Σ_i s_i V(y_i, f_i + o_i) + γ cᵀΦc for each output."""

    problem: KernelProblem
    family: Family
    y: FloatArray  # (m, k)
    offset: FloatArray  # (m,)
    shapes: FloatArray  # (k,)
    s: FloatArray  # (m,)
    observations: Observations
    expected: bool = False  # whether curvatures are those of y on average

    criterion_name = "deviance"
    nothing_left = 0.0
    smallest_gamma = 5e-13

    def rows(self, p: int) -> FamilyRows:
        """Return the losses of an output's rows."""
        return FamilyRows(self.family, self.y[:, p], self.offset, float(self.shapes[p]), self.expected)

    def one(self, p: int) -> SmoothProblem:
        """Return the problem of an output."""
        return SmoothProblem(self.problem, self.rows(p), self.s)

    @property
    def n_functions(self) -> int:
        """How many outputs there are."""
        return int(self.y.shape[1])

    def take(self, rows: Any) -> FamilyLoss:
        """Return the problem of some rows, its kernel matrix stored."""
        s = self.s[rows]
        return FamilyLoss(
            stored_part(self.problem, rows, s),
            self.family,
            self.y[rows],
            self.offset[rows],
            self.shapes,
            s,
            self.observations.take(rows),
        )

    def with_shapes(self, shapes: FloatArray) -> FamilyLoss:
        """Return the loss of other shapes."""
        return replace(self, shapes=shapes)

    def on_average(self) -> FamilyLoss:
        """Return the loss with the curvatures of y on average: those of standard errors."""
        return replace(self, expected=True)

    def leave_one_out(self, state: State, gamma: float) -> FloatArray:
        """Return the functions (m, k) at each row by the model without it."""
        # Curvatures are exponentials of f: one Newton step stops halfway where counts are rare.
        shares = self.observations.shares(self.s)
        columns = [
            self.one(p).leave_one_out_along_steps(state.column(p), gamma, shares)
            for p in range(self.n_functions)
        ]
        return np.hstack(columns)

    def working_responses(self) -> FloatArray:
        """Return logarithms (m, k) of y between each row's own and the mean, less the offset."""
        rates = self.y / np.exp(self.offset)[:, None]
        means = (self.s @ self.y) / (self.s @ np.exp(self.offset))
        return np.asarray(np.log((rates + means) / 2))

    def start(self) -> State:
        """Return what the features say of the responses' logarithms; without a kernel part."""
        T, responses = self.problem.T, self.working_responses()
        columns = []
        for p in range(self.n_functions):
            rows, f = self.rows(p), responses[:, p]
            w = rows.curvature(f)
            beta = FeatureSpan(T, self.s * w).coefficients((f + rows.slopes(f) / w)[:, None])
            zero = State.zero(T, 1)
            some = State(zero.c, beta, zero.Kc, T @ beta)
            losses = [float(self.s @ rows.values(state.f[:, 0])) for state in (some, zero)]
            columns.append(some if losses[0] <= losses[1] else zero)
        return State.joined(columns)

    def unit(self) -> float:
        """Return the γ at which kernel and loss are of one size."""
        f = self.start().f
        curvatures = [self.s @ self.rows(p).curvature(f[:, p]) for p in range(self.n_functions)]
        # That of the logistic loss, whose path this is, is 1/4 there.
        return 4 * kernel_size(self.problem, self.s) * float(np.mean(curvatures) / self.s.sum())

    def deviances(self, f: FloatArray) -> FloatArray:
        """Return Σ s d (k,) of functions (m, k), d the unit deviances."""
        return np.array([2 * float(self.s @ self.rows(p).values(f[:, p])) for p in range(self.n_functions)])

    def criterion(self, f: FloatArray) -> float:
        """Return the weighted mean deviance of functions (m, k)."""
        return float(np.mean(self.deviances(f)) / self.s.sum())

    def means(self, f: FloatArray) -> FloatArray:
        """Return μ (m, k)."""
        return self.family.mean(f + self.offset[:, None])

    def null_functions(self) -> FloatArray:
        """Return the best constants, (m, k)."""
        best = [self.rows(p).constant(self.s) for p in range(self.n_functions)]
        return np.tile(best, (len(self.s), 1))

    def pearson(self, f: FloatArray) -> FloatArray:
        """Return Σ s (y − μ)²/V(μ), (k,)."""
        mu = self.means(f)
        each = [
            self.s @ ((self.y[:, p] - mu[:, p]) ** 2 / self.family.variance(mu[:, p], float(self.shapes[p])))
            for p in range(self.n_functions)
        ]
        return np.array(each)

    def likely_shapes(self, f: FloatArray, gamma: float) -> FloatArray:
        """Return the shapes (k,) of the largest adjusted likelihood at functions (m, k) fitted with γ."""
        assert self.family.shape is not None
        # Copies and the scale of the weights count in the likelihood, so that they must in what adjusts it.
        rows = float(self.s.sum() / self.observations.numbers(self.s).sum())
        mu, h = self.means(f), rows * self.on_average().leverages(f, gamma)
        columns = range(self.n_functions)
        return np.array([self.family.shape(self.y[:, p], mu[:, p], self.s, h[:, p]) for p in columns])

    def runs_away(self, f: FloatArray) -> bool:
        """Whether features alone can send rows without counts to zero, and no other row anywhere."""
        T = self.problem.T
        if not self.family.zeros or T.shape[1] == 0:
            return False
        T = scaled_columns(T)
        mu = self.means(f)
        for p in range(self.n_functions):
            empty = self.y[:, p] == 0
            mean = float(self.s @ self.y[:, p] / self.s.sum())
            if empty.any() and mu[empty, p].min() < _SUSPICIOUS * mean:
                counted = T[~empty]
                if improves(np.vstack([-T[empty], counted, -counted])):
                    return True
        return False
