"""Kernel parameters chosen from the data: gradients of the criteria, and grids over the path of γ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._models.progress import Stages, Steps
from .._solvers.groups import Labels
from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray, integer
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Kernel
from . import regularization as _selection
from .choice import Choice
from .descent import Descent, Objective, descend, gamma_limits, require_memory
from .parameters import Parameters
from .regularization import Loss
from .starts import MOST_POINTS, starts

# Leave-one-out is an estimate with noise of its own, and many parameters follow it: on real data with eight
# widths it claimed half the error that new rows had. Of more than these the restricted likelihood decides.
MOST_BY_LEAVE_ONE_OUT = 3


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
    by: str  # the criterion: "loo", "logo" or "reml"


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
    labels: Labels | None = None,
    noisy: bool = True,
) -> Outcome:
    """Choose kernel parameters: `wanted` names them, or gives the values to try.

    `problem` has the kernel to start from, `criterion`, `specification` (of the γ grid), `counts` and
    `labels` are those of `select`; `stages` are told of each start or point of the grid, at level 2 of each
    step too.
    `noisy` targets, values and not labels, have a likelihood: more than a few parameters are tuned by it.
    """
    if problem.kernel.is_function and not isinstance(wanted, Mapping):
        raise ValueError(
            f"optimize: {problem.kernel!r} is a function of Python or has one in it, so that nothing tells "
            "its slope by parameters: give those of other parts as a dict of values to try"
        )
    choose = Choice(problem, targets, criterion, loss, counts, labels)
    if isinstance(wanted, Mapping):
        return _over_grid(choose, wanted, specification, stages)
    if criterion == "gcv":
        raise ValueError(
            'optimize by gradients needs regularization="loo", "logo" or "reml"; for "gcv" give the values '
            'to try, such as optimize={"sigma": [0.5, 1.0, 2.0]}'
        )
    n_parameters = len(Parameters(problem.kernel, wanted, problem.X.shape[1]).get())
    by = "reml" if noisy and n_parameters > MOST_BY_LEAVE_ONE_OUT else criterion
    likely = _by_gradient(
        replace(choose, criterion=by), wanted, specification, n_restarts, random_state, stages
    )
    return likely if by == criterion else _unless_worse(choose, likely, specification)


def _unless_worse(choose: Choice, found: Outcome, specification: Any) -> Outcome:
    """Return what was found by another criterion, or the kernel as given if that is better by this one."""
    values = []
    for kernel, grid in ((choose.problem.kernel, specification), (found.kernel, found.regularization_grid)):
        selection = choose(kernel, grid)
        values.append(np.inf if selection is None else float(selection.criterion.min()))
    if values[1] <= values[0]:
        return found
    return Outcome(choose.problem.kernel, found.record, specification)


def _by_gradient(
    choose: Choice, names: Any, specification: Any, n_restarts: Any, random_state: Any, stages: Stages
) -> Outcome:
    problem = choose.problem
    n_restarts = integer(n_restarts, "n_restarts", minimum=0)
    random = check_random_state(random_state)
    parameters = Parameters(problem.kernel, names, problem.X.shape[1])
    limits = parameters.bounds(problem.X)
    search = _Search(choose, parameters, limits, specification, stages)
    require_memory(search.objective)
    points = [parameters.get(), *search.other_starts()]
    points += [np.exp(random.uniform(np.log(limits[:, 0]), np.log(limits[:, 1]))) for _ in range(n_restarts)]
    look = search.on_fewer_rows()
    if look is None:
        descents = search.from_each(points)
    else:
        # Where there are many rows, some of them tell which start is worth the way with all of them.
        close = look.from_each(points, tol=1e-6)
        best = min(close, key=lambda descent: descent.criterion)
        descents = search.from_each([best.end[:-1]])
        if search.value_at(points[0]) < min((found.criterion for found in descents), default=np.inf):
            descents += search.from_each(points[:1])
    if not descents:
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix definite")
    return _best_descent(search, descents)


class _Search:
    """Descents on the same data, within the same bounds."""

    def __init__(
        self, choose: Choice, parameters: Parameters, limits: FloatArray, specification: Any, stages: Stages
    ) -> None:
        self.choose, self.parameters, self.limits = choose, parameters, limits
        self.specification, self.stages = specification, stages
        self.objective = Objective(
            parameters, choose.problem, choose.targets, choose.criterion, choose.counts, choose.labels
        )
        self.bounds: FloatArray | None = None  # with those of γ, from the first start

    def on_fewer_rows(self) -> _Search | None:
        """Return the search on at most a few hundred points; None: there are no more."""
        look = self.choose.on(MOST_POINTS)
        if look is self.choose:
            return None
        return _Search(look, self.parameters, self.limits, self.specification, self.stages)

    def other_starts(self) -> list[FloatArray]:
        """Return what a look at fewer rows finds beside the parameters as they are."""
        first = self.parameters.get()
        look = self.choose.on(MOST_POINTS)

        def value(point: FloatArray) -> float:
            self.parameters.set(point)
            selection = look(self.parameters.kernel, self.specification)
            return np.inf if selection is None else float(selection.criterion.min())

        return starts(first, self.parameters.widths, self.limits, value)

    def _start(self, point: FloatArray) -> FloatArray | None:
        """Return the parameters with their best γ; None where the matrix is not definite."""
        self.parameters.set(point)
        selection = self.choose(self.parameters.kernel, self.specification)
        if selection is None:
            return None
        start = np.append(point, float(selection.chosen))
        if self.bounds is None:
            total_weight = self.choose.problem.total_weight
            self.bounds = np.vstack([self.limits, gamma_limits(self.objective, start, total_weight)])
        return np.asarray(np.clip(start, self.bounds[:, 0], self.bounds[:, 1]))

    def value_at(self, point: FloatArray) -> float:
        """Return the criterion at the best γ of these parameters."""
        start = self._start(point)
        return np.inf if start is None else self.objective.value_and_gradient(start)[0]

    def from_each(self, points: list[FloatArray], **options: Any) -> list[Descent]:
        """Follow the gradient from each of some points; those where there is no value are left out."""
        descents = []
        with self.stages.steps(len(points), "starts") as steps:
            for number, point in enumerate(points):
                start = self._start(point)
                if start is None:
                    if number == 0:
                        raise NotPositiveDefiniteError(
                            "no regularization of the grid makes the matrix definite"
                        )
                    steps.skip()
                    continue
                assert self.bounds is not None
                tell = self._progress(number, len(points))
                descent = descend(self.objective, start, self.bounds, tell, **options)
                descents.append(descent)
                self._report(steps, number, len(points), descent)
        return descents

    def _report(self, steps: Steps, number: int, of: int, descent: Descent) -> None:
        rows = f" ({len(self.choose.targets)} rows)"
        end = descent.end - np.append(self.parameters.offsets, 0.0)
        named = zip([*self.parameters.labels, "γ"], end, strict=True)
        shown = ", ".join(f"{name}={value:.4g}" for name, value in named)
        reached = f"{self.choose.criterion} {descent.criterion:.6g}"
        steps.done(f"start {number + 1}/{of}{rows}: {reached} at {shown}", reached)

    def _progress(self, number: int, of: int) -> Callable[[Any], None] | None:
        if not self.stages.tells(2):
            return None

        def callback(intermediate_result: Any) -> None:
            reached = f"evaluation {self.objective.n_evaluations}: {intermediate_result.fun:.8g}"
            self.stages.report(f"start {number + 1}/{of}, {reached}", level=2)

        return callback


def _best_descent(search: _Search, descents: list[Descent]) -> Outcome:
    """Return the kernel at the best end, the record of all, and the grid of γ there."""
    objective, total_weight = search.objective, search.choose.problem.total_weight
    assert search.bounds is not None
    values = np.array([descent.criterion for descent in descents])
    best = int(np.argmin(values))  # the first where the data leave nothing to choose by
    objective.value_and_gradient(descents[best].end)
    shifts, relative = _selection.shifts_to_try(search.specification, len(objective.targets), total_weight)
    gammas = shifts * (objective.unit if relative else 1.0) / total_weight
    if relative:
        gammas = gammas[gammas >= search.bounds[-1, 0]]
    offsets = np.append(objective.parameters.offsets, 0.0)
    record = Optimization(
        objective.parameters.labels,
        np.array([descent.start for descent in descents]) - offsets,
        np.array([descent.end for descent in descents]) - offsets,
        values,
        [descent.n_iter for descent in descents],
        [descent.n_evaluations for descent in descents],
        [descent.message for descent in descents],
        search.bounds - offsets[:, None],
        best,
        objective.criterion,
    )
    return Outcome(objective.parameters.kernel, record, np.union1d(gammas, descents[best].end[-1]))


def _over_grid(choose: Choice, wanted: Mapping[str, Any], specification: Any, stages: Stages) -> Outcome:
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
    with stages.steps(len(points), "points of the grid") as steps:
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
            steps.done(f"{done + 1}/{len(points)}: {chosen}, {reached}", reached)
    assert surface is not None
    best = tuple(int(i) for i in np.unravel_index(int(surface.min(axis=-1).argmin()), shape))
    kernel.set_params(**{name: given[i] for name, given, i in zip(wanted, values, best, strict=True)})
    record = GridSearch(list(wanted), [np.asarray(given) for given in values], gammas, surface, best)
    return Outcome(kernel, record, gammas)
