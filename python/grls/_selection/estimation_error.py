"""What γ and kernel parameters that were estimated add to the variances of a fit: the delta method.

With θ the logarithms of γ and of the tuned parameters, J(θ) minus twice the restricted log-likelihood and
V = 2 J''⁻¹, an estimate g(θ̂) varies by ∇gᵀ V ∇g more than it would with θ known. Along the principal axes u
of V, of length one standard error, that is the sum of [g(θ̂ + u) − g(θ̂ − u)]² / 4: two fits an axis tell it
for the coefficients and for the function everywhere. How much the conditional variances themselves change
along the axes gives the degrees of freedom of a t distribution (Satterthwaite), without which intervals for
the coefficients of features that the kernel can nearly express remain too short. See docs/math.md, section
"Errors of estimated parameters".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Kernel
from . import regularization as _selection
from .candidates import KernelChoice
from .descent import Objective
from .kernel_parameters import GridSearch, Optimization
from .merged import Merged, merge
from .metric import Metric
from .parameters import Parameters
from .profiles import CHI2, Profile

# No logarithm is taken to be less certain than this, a factor of 55 either way: what the data hardly tell (a
# direction without curvature) must not blow up what depends on it. Widths and γ that make up for one another,
# as γ and the cube of the width of a wide Matérn kernel, are uncertain by 2 and more.
_LARGEST_ERROR = 4.0

_STEP = 0.05  # of logarithms, the largest in differences of the gradient
_LARGEST_RISE = 0.5  # of the criterion within a step: a standard error away it is one
_SMALLEST_STEP = 1e-7
_STEP_ALONE = 0.1  # and in second differences of the criterion, where γ is all there is

# Fewer make an interval endless: the quantiles of 95 % are 12.7 for one degree of freedom and 4.3 for two.
FEWEST_DEGREES = 2.0

_SMALLEST_SHARE = 1 / 64  # of a standard error, where the matrix is not definite farther away


Record = Optimization | GridSearch | KernelChoice | Metric


@dataclass
class Refit:
    """The model at other parameters, of the same data."""

    kernel: Kernel
    gamma: float
    c: FloatArray  # (m, k)
    beta: FloatArray  # (l, k), as computed with
    variance: FloatArray  # (k,): of the kernel part
    feature_covariance: FloatArray  # (k, l, l) of β

    def at(self, checked: Any, T: FloatArray, X_fit: Any) -> FloatArray:
        """Return the model function (n, k) at new points with features T."""
        return np.asarray(T @ self.beta + self.kernel.times(checked, X_fit, self.c))


@dataclass
class Axis:
    """A principal axis of the error of θ: the models to both sides."""

    ends: tuple[Refit, Refit]
    share: float  # of a standard error, that the ends are away


@dataclass
class EstimationError:
    """How sure the estimated parameters are, and what the model would be if they were others."""

    labels: list[str]  # of the logarithms; γ is the last
    values: FloatArray  # (p,) whose logarithms they are
    offsets: FloatArray  # (p,) what was added to a parameter, for it to be positive
    covariance: FloatArray  # (p, p) of the logarithms; zero for those at a bound
    axes: list[Axis]
    scales: FloatArray  # (axes, 2, k): change of the logarithms of noise and kernel variance along each axis

    def slopes(self, of: Callable[[Refit], FloatArray]) -> Iterator[FloatArray]:
        """Return for each axis by how much a quantity of a refit changes within a standard error."""
        for axis in self.axes:
            above, below = (of(end) for end in axis.ends)
            yield np.asarray(above - below) / (2 * axis.share)

    def degrees_of_freedom(self, of: Callable[[Refit], FloatArray], n_free: float) -> FloatArray:
        """Return those of the t distribution for variances: Satterthwaite's, 2 / var(log v), at least 2.

        `of` a refit gives the variances v, whose scale is estimated from `n_free` residuals, and which change
        with θ too. NaN for those that are not positive.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = sum((slope**2 for slope in self.slopes(lambda end: np.log(of(end)))), 2 / n_free)
        return np.maximum(2 / np.asarray(spread), FEWEST_DEGREES)


def estimation_error(
    problem: KernelProblem,
    targets: FloatArray,
    gamma: float,
    record: Record | None,
    path: FloatArray,
    counts: FloatArray | None = None,
) -> EstimationError:
    """Return the error of what "reml" chose.

    Parameters
    ----------
    problem : KernelProblem
        With the kernel chosen.
    targets : ndarray of shape (m, k)
        Of all rows.
    gamma : float
        The γ chosen.
    record : Optimization, GridSearch, KernelChoice, Metric or None
        How the kernel's parameters were chosen; None: they were given.
    path : ndarray of shape (g,)
        The γ tried.
    counts : ndarray of shape (m,), default=None
        How many rows each sample stands for, where that is not its weight.
    """
    parameters = None if record is None else tuned_parameters(problem, record)
    if parameters is None:
        labels, free = ["γ"], np.array([path.min() < gamma < path.max()])
        information = _information_of_gamma(problem, targets, gamma, counts)
        start = np.array([gamma])
    else:
        labels = [*parameters.labels, "γ"]
        start = np.append(parameters.get(), gamma)
        free = _inside(start, record, parameters, problem.X, path)
        information = _information(parameters, problem, targets, start, free, counts)
    merged = merge(problem, targets, counts)
    information = information[np.ix_(free, free)] * targets.shape[1]
    values, vectors = np.linalg.eigh(information)
    errors = 1 / np.sqrt(np.maximum(values, _LARGEST_ERROR**-2))
    directions = np.zeros((len(labels), len(values)))
    directions[free] = vectors * errors
    arguments = (problem, targets, parameters, start)
    axes = [_axis(*arguments, direction, merged) for direction in directions.T]
    # The valley of what the data hardly tell is bent: how the variances go along it, a tangent says.
    close = [_axis(*arguments, direction, merged, _SMALLEST_SHARE) for direction in directions.T]
    scales = np.array([_change_of_scales(axis, targets.shape[1]) for axis in close])
    offsets = np.zeros(1) if parameters is None else np.append(parameters.offsets, 0.0)
    covariance = directions @ directions.T
    found = [axis for axis in axes if axis is not None]
    return EstimationError(labels, start, offsets, covariance, found, scales.reshape(-1, 2, targets.shape[1]))


def _change_of_scales(axis: Axis | None, n_outputs: int) -> FloatArray:
    """Return by how much the logarithms of noise and kernel variance change along an axis, (2, k)."""
    if axis is None:
        return np.full((2, n_outputs), np.nan)
    above, below = axis.ends
    kernel = np.log(above.variance / below.variance)
    return np.array([kernel + np.log(above.gamma / below.gamma), kernel]) / (2 * axis.share)


def profile_intervals(
    problem: KernelProblem,
    targets: FloatArray,
    record: Optimization,
    error: EstimationError,
    counts: FloatArray | None = None,
) -> FloatArray:
    """Return intervals of 95 % (p, 2) of the kernel's parameters, their offsets added, by their likelihood.

    NaN for those at a bound of the search; 0 and ∞ for an end beyond one.
    """
    parameters = tuned_parameters(problem, record)
    assert parameters is not None
    free = np.diag(error.covariance) > 0
    curvature = np.eye(len(free))
    curvature[np.ix_(free, free)] = 2 * np.linalg.inv(error.covariance[np.ix_(free, free)])
    objective = Objective(parameters, problem, targets, "reml", counts)
    k, logs, bounds = targets.shape[1], np.log(error.values), record.bounds + error.offsets[:, None]
    profile = Profile(objective, logs, curvature / k, free, np.log(bounds), CHI2 / k)
    ends = [profile.interval(i) if free[i] else np.full(2, np.nan) for i in range(len(free) - 1)]
    return np.exp(np.reshape(ends, (-1, 2)))


def tuned_parameters(problem: KernelProblem, record: Record) -> Parameters | None:
    """Return the parameters that were chosen, as far as the criterion has derivatives by them."""
    n_columns = problem.X.shape[1]
    labels = ["sigma"] if isinstance(record, Metric) else record.parameters
    names = list(dict.fromkeys(re.sub(r"\[\d+\]$", "", label) for label in labels))
    if not isinstance(record, Optimization):
        names = [name for name in names if _has_derivative(problem.kernel, name, n_columns)]
    return Parameters(problem.kernel, names, n_columns) if names else None


def _has_derivative(kernel: Kernel, name: str, n_columns: int) -> bool:
    try:
        Parameters(kernel, [name], n_columns)
    except ValueError:  # none of those that are tuned, or not positive
        return False
    return True


def _inside(
    start: FloatArray,
    record: Record | None,
    parameters: Parameters,
    X: Any,
    path: FloatArray,
) -> Any:
    """Return which parameters are not at a bound of the search."""
    if isinstance(record, Optimization):
        bounds = record.bounds
    else:
        bounds = np.vstack([parameters.bounds(X), [path.min(), path.max()]])
    return (start > bounds[:, 0] * 1.001) & (start < bounds[:, 1] / 1.001)


def _information_of_gamma(
    problem: KernelProblem, targets: FloatArray, gamma: float, counts: FloatArray | None
) -> FloatArray:
    """Return ½ J'' by log γ, (1, 1), per output."""
    gammas = gamma * np.exp(_STEP_ALONE * np.array([-1.0, 0.0, 1.0]))
    J = _selection.evaluate(
        problem, targets, "reml", gammas, lambda _: np.zeros(1), per_output=False, counts=counts
    ).criterion
    curvature = (J[0] - 2 * J[1] + J[2]) / _STEP_ALONE**2
    return np.array([[curvature / 2 if np.isfinite(curvature) else 0.0]])


def _information(
    parameters: Parameters,
    problem: KernelProblem,
    targets: FloatArray,
    start: FloatArray,
    free: Any,
    counts: FloatArray | None,
) -> FloatArray:
    """Return ½ J'' by the logarithms, (p, p), per output; zero for those that are not free."""
    objective = Objective(parameters, problem, targets, "reml", counts)
    least = objective.value_and_gradient(start)[0]
    J = np.zeros((len(start), len(start)))
    for i in np.flatnonzero(free):
        J[i] = _change_of_slopes(objective, start, int(i), least)
    parameters.set(start[:-1])
    return (J + J.T) / 4


def _change_of_slopes(objective: Objective, start: FloatArray, i: int, least: float) -> FloatArray:
    """Return the derivatives of the gradient by the i-th logarithm, (p,).

    A period may be known to 1e-4 and the width beside it to a factor: the step is as small as it takes for
    the criterion to rise by less than a standard error does.
    """
    step = _STEP
    while True:
        slopes, rise = [], 0.0
        for sign in (1, -1):
            point = start.copy()
            point[i] *= np.exp(sign * step)
            value, slope = objective.value_and_gradient(point)
            slopes.append(slope * point if np.isfinite(value) else np.zeros_like(point))
            rise = max(rise, abs(value - least))
        if rise <= _LARGEST_RISE or step < _SMALLEST_STEP:
            return np.asarray(slopes[0] - slopes[1]) / (2 * step)
        step *= float(np.clip(np.sqrt(0.5 * _LARGEST_RISE / rise), 0.03, 0.5))


def _axis(
    problem: KernelProblem,
    targets: FloatArray,
    parameters: Parameters | None,
    start: FloatArray,
    direction: FloatArray,
    merged: Merged[KernelProblem],
    share: float = 1.0,
) -> Axis | None:
    """Return the models so near to both sides, or nearer where there are none; None: nowhere."""
    while share >= _SMALLEST_SHARE:
        try:
            above, below = (
                _refit(problem, targets, parameters, start * np.exp(sign * share * direction), merged)
                for sign in (1, -1)
            )
            return Axis((above, below), share)
        except NotPositiveDefiniteError:
            share /= 2
    return None


def _refit(
    problem: KernelProblem,
    targets: FloatArray,
    parameters: Parameters | None,
    point: FloatArray,
    merged: Merged[KernelProblem],
) -> Refit:
    kernel = problem.kernel
    if parameters is not None:
        parameters.set(point[:-1])
        kernel = clone(parameters.kernel)
        problem = problem.with_kernel(kernel)
    gamma = float(point[-1])
    solution = problem.solve(targets, gamma)
    quadratic = merged.quadratic(solution.quadratic, gamma * problem.total_weight)
    variance = quadratic / (merged.n_rows - len(solution.kept))
    covariance = solution.feature_covariance * variance[:, None, None]
    return Refit(kernel, gamma, solution.c, solution.beta, variance, covariance)
