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

# From the one that is right most often; the widths found for it are where the others start.
FAMILIES: dict[str, Callable[[Any], Kernel]] = {
    "Matern(nu=1.5)": lambda sigma: Matern(sigma, nu=1.5),
    "Matern(nu=2.5)": lambda sigma: Matern(sigma, nu=2.5),
    "Gaussian": Gaussian,
    "Laplace": Laplace,
}

SCREENED = 400  # points on which families are compared
TUNED = 1200  # points on which the best one is tuned
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

_FEWEST_ROWS = 8  # beyond the features: fewer tell nothing of a kernel


@dataclass
class Candidate:
    """A kernel that was compared with others."""

    name: str
    kernel: Kernel
    criterion: float  # mean squared error of the rows left out
    n_rows: int  # on so many rows


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

    def __init__(self, choose: Choice, stages: Stages) -> None:
        self._choose, self._stages = choose, stages
        self.n_rows = len(choose.targets)

    @property
    def X(self) -> Any:
        return self._choose.problem.X

    def candidate(self, name: str, kernel: Kernel) -> Candidate:
        """Return a kernel with its leave-one-out error at the best γ."""
        selection = self._choose(kernel, 50)
        value = np.inf if selection is None else float(selection.criterion.min())
        self._stages.report(f"kernel: {name}, {self.n_rows} rows: leave-one-out error {value:.6g}")
        return Candidate(name, kernel, value, self.n_rows)

    def best_factor(
        self, family: Callable[[Any], Kernel], widths: Any, *, criterion: str = "loo", refine: bool = False
    ) -> Any:
        """Return these widths times what suits them best by a criterion."""
        choose = replace(self._choose, criterion=criterion)
        values: dict[float, float] = {}

        def look(factor: float) -> None:
            selection = choose(family(factor * widths), 20)
            values[factor] = np.inf if selection is None else float(selection.criterion.min())

        for factor in _FACTORS:
            look(float(factor))
        if refine:
            for factor in _REFINED * min(values, key=values.__getitem__):
                look(float(factor))
        return min(values, key=values.__getitem__) * widths

    def with_metric(
        self, name: str, family: Callable[[Any], Kernel], widths: FloatArray, *, tuned: bool, n_rounds: int
    ) -> Candidate:
        """Return a kernel after a metric that is learnt from widths, tuned ones or those of the columns."""
        width = 1.0 if tuned else None
        learnt = learn_metric(
            self._choose, family, widths, first_width=width, n_rounds=n_rounds, stages=self._stages
        ).chosen
        return Candidate(name, family(learnt.width).after(learnt.map), learnt.criterion, self.n_rows)

    def tuned(self, family: Callable[[Any], Kernel], widths: FloatArray, **options: Any) -> FloatArray:
        """Return widths per column by the restricted likelihood, beginning with these."""
        return self._descent(family, widths, **options)[1]

    def tuned_on(self, family: Callable[[Any], Kernel], widths: FloatArray, units: FloatArray) -> FloatArray:
        """Return widths that fewer rows gave, tuned on with these; columns without a say are tried again."""
        options = {"max_iter": 60, "tol": 1e-6}
        value, tuned = self._descent(family, widths, **options)
        revived = _revived(tuned, units)
        if np.array_equal(revived, tuned):
            return tuned
        again, other = self._descent(family, revived, **options)
        return other if again < value else tuned

    def _descent(
        self, family: Callable[[Any], Kernel], widths: FloatArray, **options: Any
    ) -> tuple[float, FloatArray]:
        """Return the criterion reached, and the widths."""
        start = family(widths)
        choose = replace(self._choose, criterion="reml")
        selection = choose(start, 20)
        if selection is None:
            return np.inf, widths
        parameters = Parameters(start, ["sigma"], self.X.shape[1])
        objective = Objective(parameters, choose.problem, choose.targets, "reml", choose.counts)
        point = np.append(parameters.get(), float(selection.chosen))
        gammas = gamma_limits(objective, point, choose.problem.total_weight)
        bounds = np.vstack([parameters.bounds(self.X), gammas])
        descent = descend(objective, np.clip(point, bounds[:, 0], bounds[:, 1]), bounds, **options)
        return descent.criterion, descent.end[:-1]


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
    few, many = (_Chooser(choose.on(max(most, 4 * n_features)), stages) for most in (SCREENED, TUNED))
    if _is_wide(X):
        candidates = _without_widths(few, many, prepare, record)
    else:
        candidates = (_of_values if noisy else _of_labels)(few, many, record)
    record.candidates = list(candidates)
    record.best = int(np.argmin([_handicapped(candidate) for candidate in record.candidates]))
    return record.candidates[record.best].kernel, record


def _handicapped(candidate: Candidate) -> float:
    return candidate.criterion / (_CLEARLY_BETTER if candidate.name.endswith("metric") else 1.0)


def _of_values(few: _Chooser, many: _Chooser, record: KernelChoice) -> Iterator[Candidate]:
    """Widths per column by likelihood, for each family on few rows and for the best ones on many."""
    first = next(iter(FAMILIES.values()))
    medians = first("medians").resolve(few.X).sigma
    in_units = few.best_factor(first, medians, criterion="reml")
    widths = few.tuned(first, in_units, max_iter=40, tol=1e-5)
    for name, family in FAMILIES.items():
        mine = widths if family is first else few.tuned(family, widths, max_iter=20, tol=1e-5)
        record.screened.append(few.candidate(name, family(mine)))
    ranked = sorted(record.screened, key=lambda candidate: candidate.criterion)
    tuned = {candidate.name: candidate.kernel.sigma for candidate in ranked}
    if many.n_rows == few.n_rows:
        yield from ranked
    else:
        for candidate in ranked[:2]:
            if candidate.criterion <= _AS_GOOD * ranked[0].criterion:
                name, family = candidate.name, FAMILIES[candidate.name]
                tuned[name] = many.tuned_on(family, tuned[name], medians)
                yield many.candidate(name, family(tuned[name]))
    yield many.candidate(f"{ranked[0].name}, one scale", FAMILIES[ranked[0].name](in_units))
    yield from _mixed(few, many, ranked, tuned, medians, record)


def _mixed(
    few: _Chooser,
    many: _Chooser,
    ranked: list[Candidate],
    tuned: dict[str, FloatArray],
    medians: FloatArray,
    record: KernelChoice,
) -> Iterator[Candidate]:
    """Yield a learnt metric, where one is clearly better than any widths on few rows."""
    learnt = {}
    for candidate in ranked:
        family = FAMILIES[candidate.name]
        for from_tuned, widths in ((True, candidate.kernel.sigma), (False, medians)):
            name = f"{candidate.name}, metric"
            learnt[candidate.name, from_tuned] = few.with_metric(
                name, family, widths, tuned=from_tuned, n_rounds=2
            )
    record.screened += learnt.values()
    name, from_tuned = min(learnt, key=lambda key: learnt[key].criterion)
    best = learnt[name, from_tuned]
    if best.criterion < _CLEARLY_BETTER * ranked[0].criterion:
        widths = tuned[name] if from_tuned else medians
        yield many.with_metric(best.name, FAMILIES[name], widths, tuned=from_tuned, n_rounds=5)


def _revived(widths: FloatArray, units: FloatArray) -> FloatArray:
    """Return widths with which every column has a say again.

    A column of far too large a width has no gradient: what few rows could not tell from nothing, many may.
    """
    relative = widths / units
    usual = np.exp(np.log(np.sort(relative)[: (len(relative) + 1) // 2]).mean())
    return np.asarray(units * np.where(relative > _VANISHED * usual, _REVIVED * usual, relative))


def _of_labels(few: _Chooser, many: _Chooser, record: KernelChoice) -> Iterator[Candidate]:
    """One scale by leave-one-out for each family on few rows; for the best one, widths by likelihood too."""
    medians = next(iter(FAMILIES.values()))("medians").resolve(few.X).sigma
    for name, family in FAMILIES.items():
        widths = few.best_factor(family, medians, refine=True)
        record.screened.append(few.candidate(name, family(widths)))
    best = min(record.screened, key=lambda candidate: candidate.criterion)
    family = FAMILIES[best.name]
    yield many.candidate(f"{best.name}, one scale", best.kernel)
    widths = few.tuned(family, best.kernel.sigma, max_iter=40, tol=1e-5)
    if many.n_rows > few.n_rows:
        widths = many.tuned_on(family, widths, medians)
    yield many.candidate(best.name, family(widths))


def _without_widths(
    few: _Chooser, many: _Chooser, prepare: Callable[[Kernel], Kernel], record: KernelChoice
) -> Iterator[Candidate]:
    """One width for all columns by leave-one-out, and the linear kernel."""
    median = next(iter(FAMILIES.values()))("median").resolve(few.X).sigma
    for name, family in FAMILIES.items():
        record.screened.append(few.candidate(name, family(few.best_factor(family, median, refine=True))))
    best = min(record.screened, key=lambda candidate: candidate.criterion)
    yield many.candidate(best.name, best.kernel)
    yield many.candidate("Linear", prepare(Linear()))
