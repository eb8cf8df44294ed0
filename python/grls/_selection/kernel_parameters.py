"""Kernel parameters chosen from the data: gradients of the criteria, and grids over the path of γ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._models.progress import Stages
from .._selection import regularization as _selection
from .._selection.regularization import Loss, Selection
from .._selection.starts import rows_to_look_at, scales_without_effect, starts
from .._solvers import memory as _memory
from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import Gradient
from .._solvers.runtime import single_threaded
from .._validation import FloatArray, integer
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Function, Kernel
from ..kernels.lowering import Link

_WIDTHS = ("sigma", "gamma")

# Leave-one-out is an estimate with noise of its own, and many parameters follow it: on real data with eight
# widths it claimed half the error that new rows had. Of more than these the restricted likelihood decides.
MOST_BY_LEAVE_ONE_OUT = 3

# A point where the matrix cannot be factorised: worse than any other, so that a line search turns back.
_NO_VALUE = 1e10


@dataclass
class Optimization:
    """What a search by gradients did: one row per start; the last column is γ."""

    parameters: list[str]  # one per column but the last, with [i] where a parameter has several values
    starts: FloatArray  # (s, p + 1)
    ends: FloatArray  # (s, p + 1)
    criterion: FloatArray  # (s,) at the ends
    n_iter: list[int]
    n_evaluations: list[int]
    messages: list[str]
    bounds: FloatArray  # (p + 1, 2)
    best: int
    by: str  # the criterion: "loo" or "reml"


@dataclass
class GridSearch:
    """The criterion over a grid of parameters and γ."""

    parameters: list[str]
    values: list[FloatArray]  # one per parameter
    regularization_path: FloatArray  # (g,)
    criterion: FloatArray  # (v₁, …, g)
    best: tuple[int, ...]  # of the values


@dataclass
class Outcome:
    """The kernel chosen, and what led to it."""

    kernel: Kernel
    record: Optimization | GridSearch
    regularization_grid: FloatArray  # for the choice of γ that follows; the best γ is in it


def _value(link: Link) -> FloatArray:
    return np.asarray(getattr(link.owner, link.parameter), dtype=np.float64)


class Parameters:
    """Some positive parameters of a kernel as one vector of logarithms."""

    def __init__(self, kernel: Kernel, names: Any, n_columns: int) -> None:
        self.kernel: Kernel = clone(kernel)
        self._n_columns = n_columns
        _, links = self.kernel.lower_for_tuning(n_columns)
        owners = {id(self.kernel): ""}
        for path, value in self.kernel.get_params(deep=True).items():
            if isinstance(value, Kernel):
                owners[id(value)] = f"{path}__"
        known: dict[str, Link] = {}
        for link in links:
            known.setdefault(owners[id(link.owner)] + link.parameter, link)
        self.names = self._wanted(names, known, self.kernel)
        self._links = [known[name] for name in self.names]
        self._shapes = [np.shape(getattr(link.owner, link.parameter)) for link in self._links]
        self._sizes = [int(np.prod(shape)) for shape in self._shapes]
        for name, value in zip(self.names, self._values(), strict=True):
            if np.any(value <= 0):
                raise ValueError(
                    f"{name} starts at {value.tolist()}, but is tuned on a logarithmic scale: give it a "
                    "positive value"
                )

    @staticmethod
    def _wanted(names: Any, known: Mapping[str, Link], kernel: Kernel) -> list[str]:
        if names is True or names == "all":
            without_effect = {id(part) for part in scales_without_effect(kernel)}
            wanted = [
                name
                for name, link in known.items()
                if id(link.owner) not in without_effect and np.all(np.asarray(_value(link)) > 0)
            ]
            if not wanted:
                raise ValueError(
                    f"optimize={names!r}: the kernel has no parameter to tune beside γ; name one of "
                    f"{list(known)}, or set optimize=None"
                )
            return wanted
        wanted = [names] if isinstance(names, str) else list(names)
        if not wanted:
            raise ValueError("optimize names no parameter")
        for name in wanted:
            if name not in known:
                raise ValueError(f"optimize: {name!r} is none of the parameters to tune, {list(known)}")
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"optimize names a parameter twice: {wanted}")
        return wanted

    def _values(self) -> list[FloatArray]:
        return [np.atleast_1d(_value(link)) for link in self._links]

    @property
    def widths(self) -> list[NDArray[np.intp]]:
        """Where each width, one number or one for each column, stands in the vector."""
        ends = np.cumsum(self._sizes)
        return [
            np.arange(end - size, end)
            for link, size, end in zip(self._links, self._sizes, ends, strict=True)
            if link.parameter in _WIDTHS
        ]

    @property
    def labels(self) -> list[str]:
        """A name for every number."""
        out: list[str] = []
        for name, shape, size in zip(self.names, self._shapes, self._sizes, strict=True):
            out += [name] if shape == () else [f"{name}[{i}]" for i in range(size)]
        return out

    def get(self) -> FloatArray:
        """Return the parameters as they are."""
        return np.concatenate([value.ravel() for value in self._values()])

    def set(self, values: FloatArray) -> None:
        """Give the kernel these parameters."""
        at = 0
        for link, shape, size in zip(self._links, self._shapes, self._sizes, strict=True):
            part = values[at : at + size]
            setattr(link.owner, link.parameter, float(part[0]) if shape == () else part.reshape(shape))
            at += size

    @property
    def n_width_columns(self) -> int:
        """Columns whose widths or periods are tuned: the core makes dense matrices of them."""
        return sum(
            self._n_columns if link.columns is None else len(link.columns)
            for link in self._links
            if link.slot in ("widths", "periods")
        )

    def bounds(self, X: Any) -> FloatArray:
        """Return the smallest and the largest value of each, from the data; (p, 2)."""
        parts = []
        for link, size, value in zip(self._links, self._sizes, self._values(), strict=True):
            seen = X if link.columns is None else X[:, list(link.columns)]
            low, high = link.owner.tuning_bounds(link.parameter, seen)
            limits = np.stack([np.broadcast_to(low, size), np.broadcast_to(high, size)], axis=1)
            limits[:, 0] = np.minimum(limits[:, 0], value.ravel())  # what the user starts from is allowed
            limits[:, 1] = np.maximum(limits[:, 1], value.ravel())
            parts.append(limits)
        return np.concatenate(parts)

    def gradient(
        self, problem: KernelProblem, targets: FloatArray, gamma: float, criterion: str, rows: Any = None
    ) -> tuple[Gradient, FloatArray]:
        """Return what the core says at the parameters as they are, and the derivative by each of them."""
        formula, links = self.kernel.lower_for_tuning(self._n_columns)
        mine = [
            [link for link in links if link.owner is own.owner and link.parameter == own.parameter]
            for own in self._links
        ]
        groups = {link.index for part in mine for link in part if link.slot in ("widths", "periods")}
        answer = problem.gradient(formula, targets, gamma, criterion, sorted(groups), rows)
        parts = []
        for part, size in zip(mine, self._sizes, strict=True):
            total = np.zeros(size)
            for link in part:
                slope = np.atleast_1d(np.asarray(getattr(answer, link.slot)[link.index]))
                total += slope if len(slope) == size else slope.sum()  # one value for all columns
            parts.append(total)
        return answer, np.concatenate(parts)


class _Objective:
    """The criterion as a function of log parameters and log γ, scaled for a line search."""

    def __init__(
        self,
        parameters: Parameters,
        problem: KernelProblem,
        targets: FloatArray,
        criterion: str,
        counts: FloatArray | None = None,
    ) -> None:
        merged = _selection.merge(problem, targets, counts)
        self.parameters, self.criterion = parameters, criterion
        self.problem, self.targets = merged.problem, merged.targets
        self._n_rows = merged.n_rows
        # Rows at the same point share a prediction; what they differ by stays in the criterion.
        plain = problem.weights is None and len(merged.targets) == len(targets)
        self._rows = None if plain else (merged.place, merged.weights, merged.counts, merged.deviations)
        self.unit = np.nan  # of relative shifts, at the parameters that were tried last
        self.n_evaluations = 0

    def __call__(self, logs: FloatArray) -> tuple[float, FloatArray]:
        value, slopes = self.value_and_gradient(np.exp(logs))
        if not np.isfinite(value):
            return _NO_VALUE, np.zeros_like(logs)
        slopes = slopes * np.exp(logs)
        if self.criterion == "reml":
            size = self._n_rows
            return value / size, slopes / size
        return float(np.log(value)), slopes / value

    def value_and_gradient(self, values: FloatArray) -> tuple[float, FloatArray]:
        """Return the criterion and its derivatives by the parameters and γ; infinite where there is none."""
        self.n_evaluations += 1
        self.parameters.set(values[:-1])
        try:
            answer, slopes = self.parameters.gradient(
                self.problem, self.targets, float(values[-1]), self.criterion, self._rows
            )
        except NotPositiveDefiniteError:
            return np.inf, np.zeros_like(values)
        self.unit = answer.unit
        value = answer.value
        slopes = np.append(slopes, answer.shift * self.problem.total_weight)
        usable = np.isfinite(value) and np.isfinite(slopes).all() and (self.criterion == "reml" or value > 0)
        return (float(value), slopes) if usable else (np.inf, np.zeros_like(values))


def optimize(
    problem: KernelProblem,
    targets: FloatArray,
    criterion: str,
    specification: Any,
    loss: Loss,
    wanted: Any,
    *,
    n_restarts: int,
    random_state: Any,
    stages: Stages,
    counts: FloatArray | None = None,
    noisy: bool = True,
) -> Outcome:
    """Choose kernel parameters: `wanted` names them, or gives the values to try.

    `problem` has the kernel to start from, `criterion`, `specification` (of the γ grid) and `counts` are
    those of `select`; `stages` are told of each start or point of the grid, at level 2 of each step too.
    `noisy` targets, values and not labels, have a likelihood: more than a few parameters are tuned by it.
    """
    if isinstance(problem.kernel, Function):
        raise ValueError(f"optimize: {problem.kernel!r} has no parameters to tune")
    choose = _Choice(problem, targets, criterion, loss, counts)
    if isinstance(wanted, Mapping):
        return _over_grid(choose, wanted, specification, stages)
    if criterion == "gcv":
        raise ValueError(
            'optimize by gradients needs regularization="loo" or "reml"; for "gcv" give the values to try, '
            'such as optimize={"sigma": [0.5, 1.0, 2.0]}'
        )
    n_parameters = len(Parameters(problem.kernel, wanted, problem.X.shape[1]).get())
    by = "reml" if noisy and n_parameters > MOST_BY_LEAVE_ONE_OUT else criterion
    likely = _by_gradient(
        replace(choose, criterion=by), wanted, specification, n_restarts, random_state, stages
    )
    return likely if by == criterion else _unless_worse(choose, likely, specification)


def _unless_worse(choose: _Choice, found: Outcome, specification: Any) -> Outcome:
    """Return what was found by another criterion, or the kernel as given if that is better by this one."""
    values = []
    for kernel, grid in ((choose.problem.kernel, specification), (found.kernel, found.regularization_grid)):
        selection = choose(kernel, grid)
        values.append(np.inf if selection is None else float(selection.criterion.min()))
    if values[1] <= values[0]:
        return found
    return Outcome(choose.problem.kernel, found.record, specification)


@dataclass
class _Choice:
    """The choice of γ for any kernel on the same data."""

    problem: KernelProblem
    targets: FloatArray
    criterion: str
    loss: Loss
    counts: FloatArray | None

    def on_fewer_rows(self) -> _Choice:
        """Return the choice on at most a few hundred points, by the squared error."""
        rows = rows_to_look_at(self.problem.X)
        if rows is None:
            return self
        targets = self.targets[rows]
        weights = self.problem.weights_or_ones[rows]
        return _Choice(
            self.problem.take(rows, weights),
            targets,
            self.criterion,
            lambda predictions: np.average((targets - predictions) ** 2, axis=0, weights=weights),
            None if self.counts is None else self.counts[rows],
        )

    def __call__(self, kernel: Kernel, specification: Any) -> Selection | None:
        problem = self.problem.with_kernel(kernel)
        try:
            return _selection.evaluate(
                problem,
                self.targets,
                self.criterion,
                specification,
                self.loss,
                per_output=False,
                counts=self.counts,
                refine=False,
            )
        except NotPositiveDefiniteError:
            return None


@dataclass
class _Descent:
    """Where one start of a search by gradients led."""

    start: FloatArray  # (p + 1,)
    end: FloatArray  # (p + 1,)
    criterion: float  # at the end
    n_iter: int
    n_evaluations: int
    message: str


def _by_gradient(
    choose: _Choice, names: Any, specification: Any, n_restarts: Any, random_state: Any, stages: Stages
) -> Outcome:
    problem = choose.problem
    n_restarts = integer(n_restarts, "n_restarts", minimum=0)
    random = check_random_state(random_state)
    parameters = Parameters(problem.kernel, names, problem.X.shape[1])
    objective = _Objective(parameters, problem, choose.targets, choose.criterion, choose.counts)
    _require_memory(objective)
    limits = parameters.bounds(problem.X)
    points = _points_to_start_from(choose, parameters, limits, specification)
    points += [np.exp(random.uniform(np.log(limits[:, 0]), np.log(limits[:, 1]))) for _ in range(n_restarts)]
    bounds = None
    descents = []
    for number, point in enumerate(points):
        parameters.set(point)
        selection = choose(parameters.kernel, specification)
        if selection is None:
            if number == 0:
                raise NotPositiveDefiniteError("no regularization of the grid makes the matrix definite")
            continue
        objective.n_evaluations = 0
        start = np.append(point, float(selection.chosen))
        if bounds is None:
            bounds = np.vstack([limits, _gamma_limits(objective, start, problem.total_weight)])
        start = np.clip(start, bounds[:, 0], bounds[:, 1])
        descent = _descend(objective, start, bounds, _progress(number, len(points), objective, stages))
        descents.append(descent)
        named = zip([*parameters.labels, "γ"], descent.end, strict=True)
        shown = ", ".join(f"{name}={value:.4g}" for name, value in named)
        reached = f"{choose.criterion} {descent.criterion:.6g}"
        stages.report(f"start {number + 1}/{len(points)}: {reached} at {shown}")
    assert bounds is not None
    return _best_descent(objective, descents, bounds, specification, problem.total_weight)


def _require_memory(objective: _Objective) -> None:
    m, criterion = len(objective.targets), objective.criterion
    _memory.require(
        _memory.gradient_bytes(m, criterion, objective.parameters.n_width_columns),
        f"the gradient of {criterion!r} for {m} samples",
        "tune on fewer samples" + (', or by "reml", which takes two thirds' * (criterion == "loo")),
    )


def _points_to_start_from(
    choose: _Choice, parameters: Parameters, limits: FloatArray, specification: Any
) -> list[FloatArray]:
    """Return the parameters as they are, and what a look at fewer rows finds beside them."""
    first = parameters.get()
    look = choose.on_fewer_rows()

    def value(point: FloatArray) -> float:
        parameters.set(point)
        selection = look(parameters.kernel, specification)
        return np.inf if selection is None else float(selection.criterion.min())

    return [first, *starts(first, parameters.widths, limits, value)]


def _gamma_limits(objective: _Objective, start: FloatArray, total_weight: float) -> FloatArray:
    """Return the smallest and the largest γ, from the unit of shifts at the first start; (2,)."""
    objective.value_and_gradient(start)
    if not np.isfinite(objective.unit):
        raise NotPositiveDefiniteError("the matrix at the start of the optimization is not definite")
    return np.array([1e-10, 1e2 * len(objective.targets)]) * objective.unit / total_weight


def _descend(
    objective: _Objective, start: FloatArray, bounds: FloatArray, callback: Callable[[Any], None] | None
) -> _Descent:
    """Follow the gradient from one start; the end is never worse than the start."""
    # SciPy's tiny solves between our calls would wake its threads each time.
    with single_threaded():
        found = minimize(
            objective,
            np.log(start),
            jac=True,
            method="L-BFGS-B",
            bounds=np.log(bounds),
            callback=callback,
            options={"maxiter": 200, "ftol": 1e-10, "gtol": 1e-6},
        )
    end = np.exp(found.x)
    at_end, at_start = (objective.value_and_gradient(x)[0] for x in (end, start))
    if not at_end <= at_start:
        end, at_end = start, at_start
    return _Descent(start, end, at_end, int(found.nit), objective.n_evaluations, str(found.message))


def _best_descent(
    objective: _Objective,
    descents: list[_Descent],
    bounds: FloatArray,
    specification: Any,
    total_weight: float,
) -> Outcome:
    """Return the kernel at the best end, the record of all, and the grid of γ there."""
    values = np.array([descent.criterion for descent in descents])
    best = int(np.argmin(values))  # the first where the data leave nothing to choose by
    objective.value_and_gradient(descents[best].end)
    shifts, relative = _selection.shifts_to_try(specification, len(objective.targets), total_weight)
    gammas = shifts * (objective.unit if relative else 1.0) / total_weight
    record = Optimization(
        objective.parameters.labels,
        np.array([descent.start for descent in descents]),
        np.array([descent.end for descent in descents]),
        values,
        [descent.n_iter for descent in descents],
        [descent.n_evaluations for descent in descents],
        [descent.message for descent in descents],
        bounds,
        best,
        objective.criterion,
    )
    return Outcome(objective.parameters.kernel, record, np.union1d(gammas, descents[best].end[-1]))


def _progress(number: int, of: int, objective: _Objective, stages: Stages) -> Callable[[Any], None] | None:
    if not stages.tells(2):
        return None

    def callback(intermediate_result: Any) -> None:
        reached = f"evaluation {objective.n_evaluations}: {intermediate_result.fun:.8g}"
        stages.report(f"start {number + 1}/{of}, {reached}", level=2)

    return callback


def _over_grid(choose: _Choice, wanted: Mapping[str, Any], specification: Any, stages: Stages) -> Outcome:
    kernel: Kernel = clone(choose.problem.kernel)
    known = kernel.get_params(deep=True)
    for name, given in wanted.items():
        if name not in known:
            raise ValueError(f"optimize: the kernel has no parameter {name!r} among {sorted(known)}")
        if np.ndim(given) == 0 or len(list(given)) == 0:
            raise ValueError(f"optimize[{name!r}] must be the values to try, got {given!r}")
    if not wanted:
        raise ValueError("optimize names no parameter")
    values = [list(given) for given in wanted.values()]
    shape = tuple(len(given) for given in values)
    points = list(product(*(range(count) for count in shape)))
    # One grid of γ for all points: where it is left to the spectrum, that of the point in the middle.
    middle = len(points) // 2
    order = [points[middle], *points[:middle], *points[middle + 1 :]]
    gammas: Any = specification
    surface = None
    for done, point in enumerate(order):
        chosen = {name: given[i] for name, given, i in zip(wanted, values, point, strict=True)}
        selection = choose(clone(kernel).set_params(**chosen), gammas)
        if surface is None:
            if selection is None:
                raise NotPositiveDefiniteError("no regularization of the grid makes the matrix definite")
            gammas = selection.path
            surface = np.full((*shape, len(gammas)), np.inf)
        if selection is not None:
            surface[point] = selection.criterion
        reached = f"{choose.criterion} {surface[point].min():.6g}"
        stages.report(f"{done + 1}/{len(points)}: {chosen}, {reached}")
    assert surface is not None
    best = tuple(int(i) for i in np.unravel_index(int(surface.min(axis=-1).argmin()), shape))
    kernel.set_params(**{name: given[i] for name, given, i in zip(wanted, values, best, strict=True)})
    record = GridSearch(list(wanted), [np.asarray(given) for given in values], gammas, surface, best)
    return Outcome(kernel, record, gammas)
