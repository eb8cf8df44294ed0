"""``kernel="auto"``: which family of kernels, and which widths, the data speak for.

The columns start in units of their own, the median distance between their values, so that the user's do not
matter. Families are screened on few rows and only the best is tuned, on more of them. For values, widths are
those of the restricted likelihood; what wins in the end is what predicts rows best that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._models.progress import Stages
from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from ..kernels import Gaussian, Kernel, Laplace, Linear, Matern
from .choice import Choice
from .descent import Objective, descend, gamma_limits
from .metric import learn_metric
from .parameters import Parameters
from .relevance import column_widths

# From the one that is right most often; the widths found for it are where the others start.
FAMILIES: dict[str, Callable[[Any], Kernel]] = {
    "Matern(nu=1.5)": lambda sigma: Matern(sigma, nu=1.5),
    "Matern(nu=2.5)": lambda sigma: Matern(sigma, nu=2.5),
    "Gaussian": Gaussian,
    "Laplace": Laplace,
}

SCREENED = 400  # points on which families are compared
TUNED = 1200  # points on which the best one is tuned
LOOKED_AT = 250  # points on which a width for other losses is chosen
MOST_COLUMNS = 50  # that have widths of their own

# What widths are multiplied by: the median distance is a large one.
_FACTORS = 2.0 ** np.array([-6, -4, -2, 0, 2])
_REFINED = 2.0 ** np.array([-1, 1])  # and then around the best of these

_AS_GOOD = 1.1  # times the squared error of the best on few rows: this one is tuned too

# Widths in units of their columns, over the mean of the smaller half of them: columns that have no say, and
# where they start anew.
_VANISHED, _REVIVED = 10.0, 3.0

# What a metric must get the squared error of widths down to. It has d² parameters that saw the rows that are
# left out, and claims up to a tenth for nothing.
_CLEARLY_BETTER = 0.8

# What widths must get the squared error of one scale down to, on rows that they did not see.
_BETTER_ELSEWHERE = 0.97

_NO_HELP = 0.95  # of the squared error of the features alone: a kernel that leaves more has found nothing

_ROWS_PER_COLUMN = 10  # fewer tell nothing of a metric

# Of descents: how far, and where a step gains too little, in likelihood per row.
_FROM_AFAR: dict[str, Any] = {"max_iter": 60, "tol": 1e-5}
_ON_FEW: dict[str, Any] = {"max_iter": 30, "tol": 3e-5}
_ON_MANY: dict[str, Any] = {"max_iter": 60, "tol": 1e-5}

_FEWEST_ROWS = 8  # beyond the features: fewer tell nothing of a kernel


@dataclass
class Candidate:
    """A kernel that was compared with others."""

    name: str
    kernel: Kernel
    criterion: float  # mean squared error of the rows left out
    n_rows: int  # on so many rows


@dataclass
class _Widths:
    """Widths per column, and what a descent that led to them knows."""

    values: FloatArray
    gamma: float | None = None
    criterion: float = np.inf


@dataclass
class KernelChoice:
    """What ``kernel="auto"`` tried: those screened, and those compared in the end."""

    screened: list[Candidate] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    best: int = 0  # of the candidates
    metric: tuple[FloatArray, FloatArray] | None = None  # where one was learnt: see `Metric`


def start_kernel(X: Any) -> Kernel:
    """Return the kernel from which the choice starts, and which stays where rows are too few for one."""
    return next(iter(FAMILIES.values()))("median" if _is_wide(X) else "medians")


def _is_wide(X: Any) -> bool:
    return bool(sparse.issparse(X) or X.shape[1] > MOST_COLUMNS)


class _Chooser:
    """Candidates on some rows of the data."""

    def __init__(self, choose: Choice, units: Any, stages: Stages, gammas: Any = 20) -> None:
        self._choose, self.units, self._stages, self._gammas = choose, units, stages, gammas
        self.n_rows = len(choose.targets)

    @property
    def X(self) -> Any:
        return self._choose.problem.X

    def in_units(self, units: Any) -> _Chooser:
        """Return the same with columns measured otherwise."""
        return _Chooser(self._choose, units, self._stages)

    def halves(self) -> tuple[_Chooser, Choice]:
        """Return candidates on half the points, and the rows of the others."""
        half, others = self._choose.halves()
        return _Chooser(half, self.units, self._stages), others

    def error_elsewhere(self, kernel: Kernel, others: Choice) -> float:
        """Return the squared error of a kernel at other rows."""
        return self._choose.error_elsewhere(kernel, others)

    def candidate(self, name: str, kernel: Kernel) -> Candidate:
        """Return a kernel with its leave-one-out error at the best γ."""
        selection = self._choose(kernel, self._gammas)
        value = np.inf if selection is None else float(selection.criterion.min())
        self._stages.report(f"kernel: {name}, {self.n_rows} rows: {self._choose.criterion} error {value:.6g}")
        return Candidate(name, kernel, value, self.n_rows)

    def helps(self, kernel: Kernel) -> bool:
        """Whether leave-one-out finds a kernel better than the features alone, the limit of large γ."""
        selection = self._choose(kernel, self._gammas)
        return selection is not None and bool(selection.criterion.min() < _NO_HELP * selection.criterion[-1])

    def best_factor(
        self, family: Callable[[Any], Kernel], *, criterion: str | None = None, refine: bool = False
    ) -> Any:
        """Return the columns' units times what suits them best by a criterion."""
        choose = self._choose if criterion is None else replace(self._choose, criterion=criterion)
        values: dict[float, float] = {}

        def look(factor: float) -> None:
            selection = choose(family(factor * self.units), self._gammas)
            values[factor] = np.inf if selection is None else float(selection.criterion.min())

        for factor in _FACTORS:
            look(float(factor))
        if refine:
            for factor in _REFINED * min(values, key=values.__getitem__):
                look(float(factor))
        return min(values, key=values.__getitem__) * self.units

    def with_metric(
        self, name: str, family: Callable[[Any], Kernel], widths: FloatArray, *, tuned: bool, n_rounds: int
    ) -> Candidate:
        """Return a kernel after a metric that is learnt from widths, tuned ones or those of the columns."""
        width = 1.0 if tuned else None
        learnt = learn_metric(
            self._choose, family, widths, first_width=width, n_rounds=n_rounds, stages=self._stages
        ).chosen
        return Candidate(name, family(learnt.width).after(learnt.map), learnt.criterion, self.n_rows)

    def tuned(self, family: Callable[[Any], Kernel], start: _Widths, **options: Any) -> _Widths:
        """Return widths per column by the restricted likelihood, beginning with others."""
        kernel = family(start.values)
        choose = replace(self._choose, criterion="reml")
        gamma = start.gamma
        if gamma is None:
            selection = choose(kernel, 20)
            if selection is None:
                return start
            gamma = float(selection.chosen)
        parameters = Parameters(kernel, ["sigma"], self.X.shape[1])
        objective = Objective(parameters, choose.problem, choose.targets, "reml", choose.counts)
        point = np.append(parameters.get(), gamma)
        gammas = gamma_limits(objective, point, choose.problem.total_weight)
        bounds = np.vstack([parameters.bounds(self.X), gammas])
        descent = descend(objective, np.clip(point, bounds[:, 0], bounds[:, 1]), bounds, **options)
        values = self.units * _rounded(descent.end[:-1] / self.units)
        return _Widths(values, float(_rounded(descent.end[-1])), descent.criterion)

    def revived(self, family: Callable[[Any], Kernel], tuned: _Widths) -> _Widths:
        """Return widths with which columns that had no say were tried again, if they are better."""
        values = _revived(tuned.values, self.units)
        if np.array_equal(values, tuned.values):
            return tuned
        again = self.tuned(family, _Widths(values, tuned.gamma), **_ON_MANY)
        return again if again.criterion < tuned.criterion else tuned


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
    X, n_features = choose.problem.X, choose.problem.T.shape[1]
    if len(distinct_rows(X)[0]) - n_features < _FEWEST_ROWS:
        return start_kernel(X).resolve(X), record
    few_rows, many_rows = (choose.on(max(most, 4 * n_features)) for most in (SCREENED, TUNED))
    units = start_kernel(X).resolve(few_rows.problem.X).sigma
    few, many = (_Chooser(rows, units, stages) for rows in (few_rows, many_rows))
    if _is_wide(X):
        candidates = _without_widths(few, many, prepare, record)
    else:
        candidates = (_of_values if noisy else _of_labels)(few, many, record)
    record.candidates = list(candidates)
    record.best = int(np.argmin([_handicapped(candidate) for candidate in record.candidates]))
    return record.candidates[record.best].kernel, record


def _handicapped(candidate: Candidate) -> float:
    return candidate.criterion / (_CLEARLY_BETTER if candidate.name.endswith("metric") else 1.0)


def choose_width(
    choose: Choice,
    shift: float,
    *,
    prepare: Callable[[Kernel], Kernel],
    stages: Stages,
    by_columns: bool = False,
) -> tuple[Kernel, KernelChoice]:
    """Return a Gaussian kernel of one scale, for machines of other losses: least squares choose it.

    By leave-one-out on few rows, in the best of three units for the columns; of sparse data or many columns
    one width, and the linear kernel beside it. `shift` is γΣw, which such a machine is given: a width that
    is best at another one would be too wide or too narrow. `by_columns`: whether
    columns that clearly matter less than others have wider widths.
    """
    record = KernelChoice()
    X, n_features = choose.problem.X, choose.problem.T.shape[1]
    if len(distinct_rows(X)[0]) - n_features < _FEWEST_ROWS:
        return Gaussian("median").resolve(X), record
    rows = choose.on(max(LOOKED_AT, 4 * n_features))
    points = rows.problem.X
    gammas = np.array([shift / rows.problem.total_weight])
    wide = _is_wide(X)
    first, *others = [Gaussian("median").resolve(points).sigma] if wide else _units(points)
    few = _Chooser(rows, first, stages, gammas)
    widths = few.best_factor(Gaussian, refine=True)
    kernels: list[tuple[str, Any]] = [("Gaussian", Gaussian(widths))]
    kernels += [("Gaussian", Gaussian(units * (widths / first).mean())) for units in others]
    if wide:
        kernels.append(("Linear", prepare(Linear())))
    record.candidates = [few.candidate(*each) for each in kernels]
    record.best = int(np.argmin([candidate.criterion for candidate in record.candidates]))
    chosen = record.candidates[record.best].kernel
    if by_columns and isinstance(chosen, Gaussian):
        found = column_widths(choose, chosen, shift)
        if found is not None:
            record.candidates.append(few.candidate("Gaussian, a width for each column", found))
            record.best, chosen = len(record.candidates) - 1, found
    return chosen, record


def _of_values(few: _Chooser, many: _Chooser, record: KernelChoice) -> Iterator[Candidate]:
    """Widths per column by likelihood, for each family on few rows and for the best ones on many."""
    first = next(iter(FAMILIES.values()))
    in_units = few.best_factor(first, criterion="reml")
    tuned: dict[str, _Widths] = {}
    for name, family in FAMILIES.items():
        start = _Widths(next(iter(tuned.values())).values if tuned else in_units)
        tuned[name] = few.tuned(family, start, **(_ON_FEW if tuned else _FROM_AFAR))
        record.screened.append(few.candidate(name, family(tuned[name].values)))
    ranked = sorted(record.screened, key=lambda candidate: candidate.criterion)
    candidates = ranked
    if many.n_rows > few.n_rows:
        close = [each for each in ranked[:2] if each.criterion <= _AS_GOOD * ranked[0].criterion]
        candidates = []
        for name in (each.name for each in close):
            tuned[name] = many.tuned(FAMILIES[name], tuned[name], **_ON_MANY)
            candidates.append(many.candidate(name, FAMILIES[name](tuned[name].values)))
        best = min(candidates, key=lambda candidate: candidate.criterion).name
        if not many.helps(FAMILIES[best](tuned[best].values)):
            # Of many columns few rows may show nothing, or what is not there: start again with many.
            record.screened.clear()
            yield from _of_values(many, many, record)
            return
        revived = many.revived(FAMILIES[best], tuned[best])
        if revived is not tuned[best]:
            tuned[best] = revived
            candidates.append(many.candidate(best, FAMILIES[best](revived.values)))
    yield from candidates
    yield many.candidate(f"{ranked[0].name}, one scale", FAMILIES[ranked[0].name](in_units))
    if few.n_rows >= _ROWS_PER_COLUMN * few.X.shape[1]:
        yield from _mixed(few, many, ranked, tuned, record)


def _mixed(
    few: _Chooser,
    many: _Chooser,
    ranked: list[Candidate],
    tuned: dict[str, _Widths],
    record: KernelChoice,
) -> Iterator[Candidate]:
    """Yield a learnt metric, where one is clearly better than any widths on few rows."""
    learnt = {}
    for candidate in ranked[:2]:
        family = FAMILIES[candidate.name]
        for from_tuned, widths in ((True, candidate.kernel.sigma), (False, few.units)):
            name = f"{candidate.name}, metric"
            learnt[candidate.name, from_tuned] = few.with_metric(
                name, family, widths, tuned=from_tuned, n_rounds=2
            )
    record.screened += learnt.values()
    name, from_tuned = min(learnt, key=lambda key: learnt[key].criterion)
    best = learnt[name, from_tuned]
    if best.criterion < _CLEARLY_BETTER * ranked[0].criterion:
        widths = tuned[name].values if from_tuned else few.units
        yield many.with_metric(best.name, FAMILIES[name], widths, tuned=from_tuned, n_rounds=5)


def _rounded(values: Any) -> Any:
    """Return positive numbers to about a percent, closer than data tell them.

    So that rounding errors, which a descent magnifies and which change with units and the order of rows, do
    not show in the choice.
    """
    return 2.0 ** (np.round(64 * np.log2(values)) / 64)


def _revived(widths: FloatArray, units: FloatArray) -> FloatArray:
    """Return widths with which every column has a say again.

    A column of far too large a width has no gradient: what few rows could not tell from nothing, many may.
    """
    relative = widths / units
    usual = np.exp(np.log(np.sort(relative)[: (len(relative) + 1) // 2]).mean())
    return np.asarray(units * np.where(relative > _VANISHED * usual, _REVIVED * usual, relative))


def _of_labels(few: _Chooser, many: _Chooser, record: KernelChoice) -> Iterator[Candidate]:
    """One scale by leave-one-out, for each family on few rows; widths by likelihood where they hold.

    The likelihood of labels as if they were values can be far off, and leave-one-out does not notice: widths
    are tuned on half the rows, and must be better on the other half.
    """
    first_name, first = next(iter(FAMILIES.items()))
    scaled = [few.in_units(units) for units in _units(few.X)]
    tried = [each.candidate(first_name, first(each.best_factor(first, refine=True))) for each in scaled]
    best_units = int(np.argmin([candidate.criterion for candidate in tried]))
    record.screened += tried
    for name, family in list(FAMILIES.items())[1:]:
        widths = scaled[best_units].best_factor(family, refine=True)
        record.screened.append(few.candidate(name, family(widths)))
    best = min(record.screened, key=lambda candidate: candidate.criterion)
    family = FAMILIES[best.name]
    yield many.candidate(f"{best.name}, one scale", best.kernel)
    half, other_half = many.halves()
    tuned = half.tuned(family, _Widths(best.kernel.sigma), **_FROM_AFAR)
    with_widths, with_one = (half.error_elsewhere(k, other_half) for k in (family(tuned.values), best.kernel))
    if with_widths < _BETTER_ELSEWHERE * with_one:
        tuned = many.tuned(family, tuned, **_ON_MANY)
        yield many.candidate(best.name, family(tuned.values))


def _units(X: FloatArray) -> list[FloatArray]:
    """Return what columns may be measured in: median distances, standard deviations, ranges; times √d.

    A point counts once, so that rows given twice and rows of weight two mean the same.
    """
    d = X.shape[1]
    X = X[distinct_rows(X)[0]]
    medians = start_kernel(X).resolve(X).sigma / np.sqrt(d)
    spread, extent = X.std(axis=0), np.ptp(X, axis=0)
    return [np.sqrt(d) * np.where(units > 0, units, 1.0) for units in (medians, spread, extent / 2)]


def _without_widths(
    few: _Chooser, many: _Chooser, prepare: Callable[[Kernel], Kernel], record: KernelChoice
) -> Iterator[Candidate]:
    """One width for all columns by leave-one-out, and the linear kernel."""
    for name, family in FAMILIES.items():
        record.screened.append(few.candidate(name, family(few.best_factor(family, refine=True))))
    best = min(record.screened, key=lambda candidate: candidate.criterion)
    yield many.candidate(best.name, best.kernel)
    yield many.candidate("Linear", prepare(Linear()))
