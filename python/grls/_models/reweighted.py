"""γ, the noise and the outliers of Huber's loss in turns, by least squares with weights.

Huber's loss of a residual r has the slope of u r² with u = min(1, δ/|r|): its minimum is that of least
squares with the weights u of its own residuals, of which every row left out is known in closed form, for all
γ at once. See docs/math.md, "The scale of the noise".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._selection.regularization import Loss, Selection, evaluate
from .._solvers.kernel_problem import KernelProblem
from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .losses import PIECEWISE, Settings
from .robust_scale import EFFICIENT, FAR, robust_scale

# γ are left out at which, twice its logarithm, the likelihood is below the best by this, a χ² of one in 10⁷:
# now and then rows left out speak for a model that follows all of their noise.
_BEYOND_DOUBT = 30.0

_ROUNDS = 20  # of weights, γ, scale and outliers
_SETTLED, _SAME = 0.01, 0.05  # of log scale and log γ, where they end


@dataclass
class Reweighted:
    """The model of least squares with weights that is at rest, or as near as the rounds came to it."""

    shift: float  # γΣw, of the rows that count
    scale: float  # of the noise
    c: FloatArray  # (m,)
    beta: FloatArray  # (l,)
    shifts: FloatArray  # (g,) those tried, ascending
    criterion: FloatArray  # (g,) mean loss of the rows left out
    left_out: FloatArray  # (m,) each row by the model without it; an outlier has no part in the model anyway
    kept: NDArray[np.intp]  # the rows that count

    def loss(self, y: FloatArray, weights: FloatArray, scale: float) -> float:
        """Return the mean loss of rows left out at a scale of the noise; outliers cost a little more.

        Were it Huber's loss where they begin, it would be free to call a row one that others predict badly,
        as rows at the ends of the data are. It is the square there.
        """
        kept = self.kept
        share = float(weights[kept].sum() / weights.sum())
        of_kept = _bounded_loss((y - self.left_out)[kept], weights[kept], scale)
        return share * of_kept + (1 - share) * (FAR * scale) ** 2


@dataclass
class Start:
    """A function at the rows, and how far rows left out are from it."""

    f: FloatArray  # (m,)
    scale: float


@dataclass
class _Round:
    """One fit of rows that count, with their weights."""

    selection: Selection
    kept: NDArray[np.intp]
    shift: float
    c: FloatArray  # (m,)
    beta: FloatArray  # (l,)
    f: FloatArray  # (m,)
    left_out: FloatArray  # (m,)


@dataclass
class HuberChoice:
    """Rows whose noise has outliers, and the shifts that are tried for them."""

    problem: KernelProblem
    y: FloatArray  # (m,)
    shifts: FloatArray | int  # given, or how many

    def __post_init__(self) -> None:
        self.weights = self.problem.weights_or_ones
        self.Phi = self.problem.kernel_matrix()
        self.place = distinct_rows(self.Phi, self.problem.T)[1]  # (m,): rows at the same point have one

    def follow(self, starts: Sequence[Start]) -> Reweighted | None:
        """Return the best of the ends of the rounds from each start.

        Outliers that are close to one another may look like the function, and where it is steep rows like
        outliers: a start that has fallen for them stays so. The best end has the smallest loss of all rows
        left out. None: rows are too few for leaving out any, or the kernel is not definite.
        """
        ends: list[Reweighted] = []
        for start in starts:
            end = self._follow(start.f, start.scale)
            if end is not None:
                ends.append(end)
        if not ends:
            return None
        scale = min(end.scale for end in ends)
        return min(ends, key=lambda end: end.loss(self.y, self.weights, scale))

    def _follow(self, f: FloatArray, scale: float) -> Reweighted | None:
        last: _Round | None = None
        for _ in range(_ROUNDS):
            this = self._round(f, scale)
            if this is None:
                return None
            errors = self.y - this.left_out
            known = np.isfinite(errors)
            found = robust_scale(errors[known], self.weights[known]) if known.any() else 0.0
            settled = not found > 0 or abs(np.log(found / scale)) <= _SETTLED
            same = (
                last is not None
                and np.array_equal(this.kept, last.kept)
                and abs(np.log(this.shift / last.shift)) <= _SAME
            )
            last, f, scale = this, this.f, found if found > 0 else scale
            if same and settled:
                break
        assert last is not None
        selection, total = last.selection, last.shift / float(last.selection.chosen)
        path, criterion = selection.path * total, np.asarray(selection.criterion)
        return Reweighted(last.shift, scale, last.c, last.beta, path, criterion, last.left_out, last.kept)

    def _round(self, f: FloatArray, scale: float) -> _Round | None:
        residuals = np.abs(self.y - f)
        kept = np.flatnonzero(residuals <= FAR * scale)
        T = self.problem.T
        points, first, place = np.unique(self.place[kept], return_index=True, return_inverse=True)
        if len(points) <= T.shape[1]:
            return None
        # Rows at the same point are left out together, as in folds: they are one row of their mean.
        delta = EFFICIENT * scale
        u = self.weights[kept] * delta / np.maximum(residuals[kept], delta)
        total = np.bincount(place, u).astype(np.float64)
        means = np.bincount(place, u * self.y[kept])[:, None] / total[:, None]
        problem = self.problem.take(kept[first], total)
        try:
            selection = evaluate(
                problem,
                means,
                "loo",
                self._gammas_to_try(problem, means),
                self._loss_of(kept, place, scale),
                per_output=False,
                counts=np.ones(len(points)),
                refine=False,
            )
            found = problem.solve(means, float(selection.chosen))
        except NotPositiveDefiniteError:
            return None
        c = np.zeros(len(self.y))
        c[kept] = found.c[place, 0] * (u / total[place])
        beta = np.array(found.beta[:, 0])
        values = self.Phi[:, kept] @ c[kept] + T @ beta
        assert selection.left_out is not None
        left_out = values.copy()
        left_out[kept] = selection.left_out[place, 0]
        shift = float(selection.chosen) * problem.total_weight
        return _Round(selection, kept, shift, c, beta, values, left_out)

    def _gammas_to_try(self, problem: KernelProblem, means: FloatArray) -> FloatArray:
        """Return the γ given, or those of a grid that the likelihood of noise with these weights allows."""
        if np.ndim(self.shifts):
            return np.asarray(self.shifts / problem.total_weight)
        found = evaluate(
            problem,
            means,
            "reml",
            self.shifts,
            lambda _: np.zeros(1),
            per_output=False,
            counts=np.ones(len(means)),
            refine=False,
        )
        return np.asarray(found.path[found.criterion <= found.criterion.min() + _BEYOND_DOUBT])

    def _loss_of(self, kept: NDArray[np.intp], place: NDArray[np.intp], scale: float) -> Loss:
        """Return the loss of rows, told from predictions at their points."""
        y, weights = self.y[kept], self.weights[kept]
        return lambda predictions: np.array([_bounded_loss(y - predictions[place, 0], weights, scale)])


def _bounded_loss(errors: FloatArray, weights: FloatArray, scale: float) -> float:
    """Return the mean of Huber's loss, errors beyond where outliers begin counting as those."""
    known = np.isfinite(errors)  # a row alone may tell the coefficient of a feature
    if not known.any():
        return np.inf
    most = FAR * scale
    values = PIECEWISE["huber"](Settings(delta=EFFICIENT * scale)).loss(np.clip(errors[known], -most, most))
    return float(np.average(values, weights=weights[known]))
