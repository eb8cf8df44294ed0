"""``kernel="auto"``: which family of kernels, and which widths, the data speak for.

The columns start in units of their own, the median distance between their values, so that the user's do not
matter. Families are screened on few rows and only the best is tuned, on more of them. For values the
restricted likelihood chooses (see `by_likelihood`), for labels what predicts rows best that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from .._models.progress import Stages
from .._solvers.kernel_problem import KernelProblem
from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from ..kernels import Gaussian, Kernel, Linear
from .by_likelihood import RICHER, VANISHED, choose_for_values, choose_one_scale
from .candidates import FAMILIES, MOST_COLUMNS, Candidate, KernelChoice, is_wide, start_kernel
from .choice import Choice, rows_counted
from .readings import Reading
from .regularization import evaluate
from .relevance import column_widths
from .tuning import PLAIN_SHIFT, Tuned, Tuner
from .units import units_of, units_read

SCREENED = 400  # points on which families are compared
TUNED = 1200  # points on which the best one is tuned
LOOKED_AT = 250  # points on which a width for other losses is chosen

# What widths are multiplied by: the median distance is a large one.
_FACTORS = 2.0 ** np.array([-6, -4, -2, 0, 2])
_LABEL_FACTORS = (0.25, 1.0)  # of widths of labels, which are the number of their columns
_REFINED = 2.0 ** np.array([-1, 1])  # and then around the best of these

# What widths must get the squared error of one scale down to, on rows that they did not see.
_BETTER_ELSEWHERE = 0.97

# γ are rejected whose likelihood, twice its logarithm, is below the best by more than this quantile of χ².
_REJECTED = 6.63
_LIKELY = 12  # γ among those that are not rejected

_FEWEST_ROWS = 8  # beyond the features: fewer tell nothing of a kernel


class _Chooser:
    """Candidates on some rows of the data, which the choice has as they are read."""

    def __init__(
        self, choose: Choice, units: Any, stages: Stages, gammas: Any = 20, reading: Reading | None = None
    ) -> None:
        self._choose, self.units, self._stages, self._gammas = choose, units, stages, gammas
        self.n_rows = len(choose.targets)
        self.reading = reading or Reading()

    @property
    def X(self) -> Any:
        return self._choose.problem.X

    def in_units(self, units: Any) -> _Chooser:
        """Return the same with columns measured otherwise."""
        return _Chooser(self._choose, units, self._stages, self._gammas, self.reading)

    def by(self, reading: Reading) -> _Chooser:
        """Return the same rows read otherwise; this one reads columns as they are."""
        points = reading.points(self.X)
        units = units_read(reading, points, self.X, self.units)
        return _Chooser(self._choose.at(points), units, self._stages, reading=reading)

    def halves(self) -> tuple[_Chooser, Choice]:
        """Return candidates on half the points, and the rows of the others."""
        half, others = self._choose.halves()
        return _Chooser(half, self.units, self._stages, reading=self.reading), others

    def error_elsewhere(self, kernel: Kernel, others: Choice) -> float:
        """Return the squared error of a kernel at other rows."""
        return self._choose.error_elsewhere(kernel, others)

    def candidate(self, name: str, kernel: Kernel, n_widths: int = 1) -> Candidate:
        """Return a kernel of the points with its leave-one-out error at the best γ."""
        selection = self._choose(kernel, self._gammas)
        value = np.inf if selection is None else float(selection.criterion.min())
        name = name if self.reading.is_plain else f"{name}, {self.reading.name}"
        self._stages.report(f"kernel: {name}, {self.n_rows} rows: {self._choose.criterion} error {value:.6g}")
        return Candidate(name, self.reading.of_rows(kernel), value, self.n_rows, n_widths)

    def with_widths(self, family: str, widths: FloatArray) -> Candidate:
        """Return the candidate of a family that has these widths."""
        return self.candidate(family, self.kernel(FAMILIES[family], widths), len(widths))

    def kernel(self, family: Callable[[Any], Kernel], widths: FloatArray) -> Kernel:
        """Return the kernel of the points that has these widths."""
        return self.reading.kernel(family, widths)

    def best_factor(self, family: Callable[[Any], Kernel]) -> Any:
        """Return the columns' units times what suits them best."""
        values: dict[tuple[float, float], float] = {}

        def widths(factor: float, of_labels: float) -> Any:
            if not self.reading.labels:
                return factor * self.units
            is_label = np.arange(len(self.units)) >= self.X.shape[1]
            return self.units * np.where(is_label, of_labels, factor)

        def look(factor: float, of_labels: float) -> None:
            selection = self._choose(self.reading.kernel(family, widths(factor, of_labels)), self._gammas)
            values[factor, of_labels] = np.inf if selection is None else float(selection.criterion.min())

        def best() -> tuple[float, float]:
            return min(values, key=values.__getitem__)

        for factor, of_labels in product(_FACTORS, _LABEL_FACTORS if self.reading.labels else (1.0,)):
            look(float(factor), of_labels)
        factor, of_labels = best()
        for step in _REFINED:
            look(float(step * factor), of_labels)
        return widths(*best())

    def tuned(self, family: Callable[[Any], Kernel], widths: FloatArray) -> FloatArray:
        """Return widths per column by the restricted likelihood, beginning with others."""
        tuner = Tuner(self._choose, self.units, self.reading)
        start = tuner.descend(family, Tuned(widths, PLAIN_SHIFT * tuner.weight), held=True)
        return tuner.descend(family, Tuned(widths, start.shift)).widths


def choose_kernel(
    choose: Choice, *, noisy: bool, prepare: Callable[[Kernel], Kernel], stages: Stages
) -> tuple[Kernel, KernelChoice]:
    """Return the kernel that suits the data best, and what was tried.

    Parameters
    ----------
    choose : Choice
        The data, and how γ is chosen for a kernel on them: by leave-one-out.
    noisy : bool
        Whether the targets are values, which have a likelihood, and not labels.
    prepare : callable
        What is done to a linear kernel beside the features.
    stages : Stages
        Told of each candidate.
    """
    record = KernelChoice()
    choose, reading = _read(choose)
    X, n_features = choose.problem.X, choose.problem.T.shape[1]
    if len(distinct_rows(X)[0]) - n_features < _FEWEST_ROWS or (noisy and choose.n_rows <= n_features):
        return reading.of_rows(start_kernel(X).resolve(X)), record
    few, many = (choose.on(max(most, 4 * n_features)) for most in (SCREENED, TUNED))
    if len(few.targets) == len(many.targets):
        few = many
    units = units_of(few.problem.X, X)
    if noisy:
        if is_wide(X):
            kernel = choose_one_scale(few, many, units, prepare, record, stages)
        else:
            kernel = choose_for_values(few, many, units[0], reading, record, stages)
    else:
        kernel = _for_labels(few, many, units, reading, prepare, record, stages)
    if len(many.targets) == len(choose.targets):
        record.shift = None
    best = record.candidates[record.best].kernel if record.candidates else kernel
    if record.candidates and "metric" not in record.candidates[record.best].name:
        record.parameters = [name for name in best.get_params() if name.split("__")[-1] == "sigma"]
    return kernel, record


def _for_labels(
    few: Choice,
    many: Choice,
    units: list[Any],
    reading: Reading,
    prepare: Callable[[Kernel], Kernel],
    record: KernelChoice,
    stages: Stages,
) -> Kernel:
    first, last = (_Chooser(rows, units[0], stages, reading=reading) for rows in (few, many))
    if is_wide(few.problem.X):
        record.candidates = list(_without_widths(first, last, units, prepare, record))
    else:
        record.candidates = list(_of_labels(first, last, units, reading.richer(many.problem.X), record))
    record.best = int(np.argmin([_handicapped(candidate) for candidate in record.candidates]))
    record.why = "rows left out are predicted best"
    return record.candidates[record.best].kernel


def _read(choose: Choice) -> tuple[Choice, Reading]:
    """Return the choice on those columns of dense rows that tell something, and how they are read."""
    X = choose.problem.X
    if sparse.issparse(X):
        return choose, Reading()
    reading = Reading.of(X, MOST_COLUMNS)
    if is_wide(X) and (reading.columns is None or len(reading.columns) > MOST_COLUMNS):
        return choose, Reading()
    return choose if reading.columns is None else choose.at(reading.chosen(X)), reading


def _handicapped(candidate: Candidate) -> float:
    """Return the squared error that new rows can be expected to have: see `by_likelihood`."""
    n, p = candidate.n_rows, candidate.n_widths
    return candidate.criterion * ((n + p) / (n - p) if p < n else np.inf)


def likely_gammas(problem: KernelProblem, targets: FloatArray, grid: Any, counts: FloatArray | None) -> Any:
    """Return the γ from which another criterion than the restricted likelihood chooses.

    Rows left out may be predicted best, by chance, where the model follows their noise, or where a wide
    kernel and next to no γ express what the features do. What is left are γ whose likelihood is not rejected
    at 1 % beside the best of `grid`. Values that were given are what was asked for.
    """
    n_features = problem.T.shape[1]
    few = len(distinct_rows(problem.X)[0]) <= n_features
    if np.ndim(grid) or few or rows_counted(problem, counts) <= n_features:
        return grid

    def likelihood(specification: Any, *, refine: bool) -> Any:
        none = np.zeros(1)
        return evaluate(
            problem,
            targets,
            "reml",
            specification,
            lambda _: none,
            per_output=False,
            counts=counts,
            refine=refine,
        )

    found = likelihood(grid, refine=True)
    path, values = found.path, found.criterion
    least = values.min() + _REJECTED
    inside = np.flatnonzero(values <= least)
    low, high = path[max(inside[0] - 1, 0)], path[min(inside[-1] + 1, len(path) - 1)]
    finer = likelihood(np.geomspace(low, high, 3 * _LIKELY), refine=False)
    return np.union1d(finer.path[finer.criterion <= least], path[inside])


def choose_width(
    choose: Choice,
    shift: float,
    *,
    prepare: Callable[[Kernel], Kernel],
    stages: Stages,
    by_columns: bool = False,
) -> tuple[Kernel, KernelChoice]:
    """Return a Gaussian kernel of one scale, for machines of other losses: least squares choose it.

    By leave-one-out on few rows, in the best of three units for the columns; many columns are also taken as
    they are, sparse ones only so, and the linear kernel is tried beside them. `shift` is γΣw, which such a
    machine is given: a width that is best at another one would be too wide or too narrow. `by_columns`:
    whether columns that clearly matter less than others have wider widths.
    """
    record = KernelChoice()
    choose, reading = _read(choose)
    X, n_features = choose.problem.X, choose.problem.T.shape[1]
    if len(distinct_rows(X)[0]) - n_features < _FEWEST_ROWS:
        return reading.of_rows(Gaussian("median").resolve(X)), record
    rows = choose.on(max(LOOKED_AT, 4 * n_features))
    points = rows.problem.X
    gammas = np.array([shift / rows.problem.total_weight])
    wide = is_wide(X)
    first, *others = units_of(points, X)
    few = _Chooser(rows, first, stages, gammas, reading)
    widths = few.best_factor(Gaussian)
    kernels: list[tuple[str, Any]] = [("Gaussian", Gaussian(widths))]
    if wide:
        own = [few.in_units(units).best_factor(Gaussian) for units in others]
        kernels += [("Gaussian", Gaussian(each)) for each in own]
        kernels.append(("Linear", prepare(Linear())))
    else:
        kernels += [("Gaussian", Gaussian(units * (widths / first).mean())) for units in others]
    record.candidates = [few.candidate(*each) for each in kernels]
    record.best = int(np.argmin([candidate.criterion for candidate in record.candidates]))
    _, best = kernels[record.best]
    found = column_widths(choose, best, shift) if by_columns and isinstance(best, Gaussian) else None
    if found is not None:
        record.candidates.append(few.candidate("Gaussian, a width for each column", found))
        record.best = len(record.candidates) - 1
    return record.candidates[record.best].kernel, record


def _of_labels(
    few: _Chooser, many: _Chooser, units: list[Any], richer: Reading | None, record: KernelChoice
) -> Iterator[Candidate]:
    """One scale by leave-one-out, for each family on few rows; widths by likelihood where they hold.

    The likelihood of labels as if they were values can be far off, and leave-one-out does not notice: widths
    are tuned on half the rows, and must be better on the other half.
    """
    first = next(iter(FAMILIES))
    found = min((_one_scale(few.in_units(each), first) for each in units), key=_error)
    record.screened.append(found.candidate)
    if richer is not None:
        # Of one scale are scores and labels in place of their columns, or these as they are.
        read = few.by(richer)
        vanishing = np.where(richer.stands_in(read.units), VANISHED, 1.0)
        rich = _one_scale(read.in_units(vanishing * read.units), first)
        record.screened.append(rich.candidate)
        if _error(rich) < RICHER * _error(found):
            found, many = rich, many.by(richer)
    others = [_one_scale(found.chooser, name) for name in FAMILIES if name != first]
    record.screened += [each.candidate for each in others]
    best = min([found, *others], key=_error)
    family = FAMILIES[best.family]
    yield many.candidate(f"{best.family}, one scale", many.kernel(family, best.widths))
    half, other_half = many.halves()
    tuned = half.tuned(family, best.widths)
    with_widths, with_one = (
        half.error_elsewhere(half.kernel(family, widths), other_half) for widths in (tuned, best.widths)
    )
    if with_widths < _BETTER_ELSEWHERE * with_one:
        yield many.with_widths(best.family, many.tuned(family, tuned))


@dataclass
class _OneScale:
    """A family whose columns have one scale in units of their own."""

    chooser: _Chooser
    family: str
    widths: FloatArray
    candidate: Candidate


def _one_scale(chooser: _Chooser, family: str) -> _OneScale:
    """Return a family with the scale that leave-one-out finds best."""
    widths = chooser.best_factor(FAMILIES[family])
    kernel = chooser.kernel(FAMILIES[family], widths)
    return _OneScale(chooser, family, widths, chooser.candidate(family, kernel))


def _error(one: _OneScale) -> float:
    return one.candidate.criterion


def _without_widths(
    few: _Chooser, many: _Chooser, units: list[Any], prepare: Callable[[Kernel], Kernel], record: KernelChoice
) -> Iterator[Candidate]:
    """One scale for all columns by leave-one-out, as they are or in units of their own; the linear kernel."""
    first = next(iter(FAMILIES))
    as_given, *own = [_one_scale(few.in_units(each), first) for each in units]
    better = [each for each in own if _error(each) < RICHER * _error(as_given)]
    found = min(better, key=_error, default=as_given)
    others = [_one_scale(found.chooser, name) for name in FAMILIES if name != first]
    record.screened += [each.candidate for each in (as_given, *own, *others)]
    best = min([found, *others], key=_error)
    yield many.candidate(best.family, many.kernel(FAMILIES[best.family], best.widths))
    yield many.candidate("Linear", prepare(Linear()))
