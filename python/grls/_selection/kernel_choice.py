"""``kernel="auto"``: which family of kernels, and which widths, the data speak for.

The columns start in units of their own, the median distance between their values, so that the user's do not
matter. Families are screened on few rows and only the best is tuned, on more of them. For values, widths are
those of the restricted likelihood; what wins in the end is what predicts rows best that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._models.progress import Stages
from .._solvers.kernel_problem import KernelProblem
from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Gaussian, Kernel, Laplace, Linear, Matern
from .choice import Choice
from .descent import Objective, Prior, descend, gamma_limits
from .metric import learn_metric
from .parameters import Parameters
from .readings import Reading
from .regularization import evaluate
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
_LABEL_FACTORS = (0.25, 1.0)  # of widths of labels, which are the number of their columns
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

# What scores and labels, and of many columns units of their own, must get the squared error of columns as
# they are down to, on few rows.
_RICHER = 0.95

# Up to so many rows widths have a prior, of this spread in their logarithms, and the likelihood has a say in
# γ: values are left out at which, twice its logarithm, it is below the best by this, a quantile of χ².
_FEW_ROWS, _SPREAD, _REJECTED = 50, 1.0, 6.63

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
    n_widths: int = 1  # that the same rows chose
    without: float = np.inf  # the error of the features alone, the limit of large γ

    @property
    def helps(self) -> bool:
        """Whether leave-one-out finds the kernel better than the features alone."""
        return self.criterion < _NO_HELP * self.without


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
    parameters: list[str] = field(default_factory=list)  # names of its widths, but for a metric


def start_kernel(X: Any) -> Kernel:
    """Return the kernel from which the choice starts, and which stays where rows are too few for one."""
    return next(iter(FAMILIES.values()))("median" if _is_wide(X) else "medians")


def _is_wide(X: Any) -> bool:
    return bool(sparse.issparse(X) or X.shape[1] > MOST_COLUMNS)


class _Chooser:
    """Candidates on some rows of the data, which the choice has as they are read."""

    def __init__(
        self, choose: Choice, units: Any, stages: Stages, gammas: Any = 20, reading: Reading | None = None
    ) -> None:
        self._choose, self.units, self._stages, self._gammas = choose, units, stages, gammas
        self.n_rows = len(choose.targets)
        self.reading = reading or Reading()
        self.centre: FloatArray | None = None  # about which widths are expected

    @property
    def X(self) -> Any:
        return self._choose.problem.X

    def in_units(self, units: Any) -> _Chooser:
        """Return the same with columns measured otherwise."""
        return _Chooser(self._choose, units, self._stages, self._gammas, self.reading)

    def by(self, reading: Reading, units: FloatArray | None = None) -> _Chooser:
        """Return the same rows read otherwise; this one reads columns as they are."""
        points = reading.points(self.X)
        read = self._choose.at(points)
        if units is None:
            n, constant = self.X.shape[1], _constant(self.X)
            units = np.array(start_kernel(points).resolve(points).sigma)
            units[:n][constant] = np.sqrt(len(units) / n) * self.units[constant]
            units = np.append(units, reading.label_units)
        return _Chooser(read, units, self._stages, reading=reading)

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
        value, without = np.inf, np.inf
        if selection is not None:
            value, without = float(selection.criterion.min()), float(selection.criterion[-1])
        name = name if self.reading.is_plain else f"{name}, {self.reading.name}"
        self._stages.report(f"kernel: {name}, {self.n_rows} rows: {self._choose.criterion} error {value:.6g}")
        return Candidate(name, self.reading.of_rows(kernel), value, self.n_rows, n_widths, without)

    def with_widths(self, family: str, widths: _Widths) -> Candidate:
        """Return the candidate of a family that has these widths."""
        return self.candidate(family, self.kernel(FAMILIES[family], widths), len(widths.values))

    def kernel(self, family: Callable[[Any], Kernel], widths: _Widths) -> Kernel:
        """Return the kernel of the points that has these widths."""
        return self.reading.kernel(family, widths.values)

    def best_factor(
        self, family: Callable[[Any], Kernel], *, criterion: str | None = None, refine: bool = False
    ) -> Any:
        """Return the columns' units times what suits them best by a criterion."""
        choose = self._choose if criterion is None else replace(self._choose, criterion=criterion)
        values: dict[tuple[float, float], float] = {}

        def widths(factor: float, of_labels: float) -> Any:
            if not self.reading.labels:
                return factor * self.units
            is_label = np.arange(len(self.units)) >= self.X.shape[1]
            return self.units * np.where(is_label, of_labels, factor)

        def look(factor: float, of_labels: float) -> None:
            selection = choose(self.reading.kernel(family, widths(factor, of_labels)), self._gammas)
            values[factor, of_labels] = np.inf if selection is None else float(selection.criterion.min())

        def best() -> tuple[float, float]:
            return min(values, key=values.__getitem__)

        for factor, of_labels in product(_FACTORS, _LABEL_FACTORS if self.reading.labels else (1.0,)):
            look(float(factor), of_labels)
        if refine:
            factor, of_labels = best()
            for step in _REFINED:
                look(float(step * factor), of_labels)
        return widths(*best())

    def with_metric(
        self, name: str, family: Callable[[Any], Kernel], widths: FloatArray, *, tuned: bool, n_rounds: int
    ) -> Candidate:
        """Return a kernel after a metric that is learnt from widths, tuned ones or those of the columns."""
        width = 1.0 if tuned else None
        learnt = learn_metric(
            self._choose, family, widths, first_width=width, n_rounds=n_rounds, stages=self._stages
        ).chosen
        kernel = self.reading.of_rows(family(learnt.width).after(learnt.map))
        return Candidate(name, kernel, learnt.criterion, self.n_rows, len(widths))

    def tuned(self, family: Callable[[Any], Kernel], start: _Widths, **options: Any) -> _Widths:
        """Return widths per column by the restricted likelihood, beginning with others."""
        kernel = self.kernel(family, start)
        choose = replace(self._choose, criterion="reml")
        gamma = start.gamma
        if gamma is None:
            selection = choose(kernel, 20)
            if selection is None:
                return start
            gamma = float(selection.chosen)
        parameters = Parameters(kernel, self.reading.parameters, self.X.shape[1])
        prior = None if self.centre is None or self.n_rows > _FEW_ROWS else Prior(self.centre, _SPREAD)
        objective = Objective(parameters, choose.problem, choose.targets, "reml", choose.counts, prior=prior)
        point = np.append(parameters.get(), gamma)
        try:
            gammas = gamma_limits(objective, point, choose.problem.total_weight)
        except NotPositiveDefiniteError:
            if start.gamma is None:
                raise
            return start  # an end of a descent, at the edge of what rounding leaves definite
        bounds = np.vstack([parameters.bounds(self.X), gammas])
        descent = descend(objective, np.clip(point, bounds[:, 0], bounds[:, 1]), bounds, **options)
        values = self.units * _rounded(descent.end[:-1] / self.units)
        return _Widths(values, float(_rounded(descent.end[-1])), descent.criterion)

    def revived(self, family: Callable[[Any], Kernel], tuned: _Widths) -> _Widths:
        """Return widths with which columns that had no say were tried again, if they are better."""
        n = self.X.shape[1]
        values = np.append(_revived(tuned.values[:n], self.units[:n]), tuned.values[n:])
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
    choose, reading = _read(choose)
    X, n_features = choose.problem.X, choose.problem.T.shape[1]
    if len(distinct_rows(X)[0]) - n_features < _FEWEST_ROWS:
        return reading.of_rows(start_kernel(X).resolve(X)), record
    few_rows, many_rows = (choose.on(max(most, 4 * n_features)) for most in (SCREENED, TUNED))
    units = _units(few_rows.problem.X, X)
    few, many = (_Chooser(rows, units[0], stages, reading=reading) for rows in (few_rows, many_rows))
    if _is_wide(X):
        candidates = _without_widths(few, many, units, prepare, record)
    elif noisy:
        candidates = _of_values(few, many, reading.richer(X), record)
    else:
        candidates = _of_labels(few, many, units, reading.richer(X), record)
    record.candidates = list(candidates)
    record.best = int(np.argmin([_handicapped(candidate) for candidate in record.candidates]))
    best = record.candidates[record.best]
    if not _is_mixed(best):
        record.parameters = [name for name in best.kernel.get_params() if name.split("__")[-1] == "sigma"]
    return best.kernel, record


def _read(choose: Choice) -> tuple[Choice, Reading]:
    """Return the choice on those columns of dense rows that tell something, and how they are read."""
    X = choose.problem.X
    if sparse.issparse(X):
        return choose, Reading()
    reading = Reading.of(X, MOST_COLUMNS)
    if _is_wide(X) and (reading.columns is None or len(reading.columns) > MOST_COLUMNS):
        return choose, Reading()
    return choose if reading.columns is None else choose.at(reading.chosen(X)), reading


def _handicapped(candidate: Candidate) -> float:
    """Return the squared error that new rows can be expected to have.

    Rows that are left out were seen when widths were chosen. Akaike's final prediction error accounts for p
    parameters by (n + p) / (n - p): of a dozen rows and several columns widths are hardly ever worth it.
    """
    n, p = candidate.n_rows, candidate.n_widths
    factor = (n + p) / (n - p) if p < n else np.inf
    return factor * candidate.criterion / (_CLEARLY_BETTER if _is_mixed(candidate) else 1.0)


def _is_mixed(candidate: Candidate) -> bool:
    return candidate.name.endswith("metric")


def likely_gammas(problem: KernelProblem, targets: FloatArray, count: Any, counts: FloatArray | None) -> Any:
    """Return the γ from which leave-one-out chooses beside a kernel that the data chose.

    Of few rows it may be least, by chance, where the model follows their noise: a wide kernel then swings far
    beyond them. What is left are those of `count` values whose likelihood is not rejected at 1 %, compared
    with the best. Of many rows, and where the values are given, it is what was asked for.
    """
    few_points = len(distinct_rows(problem.X)[0]) <= problem.T.shape[1]
    if np.ndim(count) or len(targets) > _FEW_ROWS or few_points:
        return count
    found = evaluate(
        problem, targets, "reml", count, lambda _: np.zeros(1), per_output=False, counts=counts, refine=False
    )
    return found.path[found.criterion <= found.criterion.min() + _REJECTED]


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
    wide = _is_wide(X)
    first, *others = _units(points, X)
    few = _Chooser(rows, first, stages, gammas, reading)
    widths = few.best_factor(Gaussian, refine=True)
    kernels: list[tuple[str, Any]] = [("Gaussian", Gaussian(widths))]
    if wide:
        own = [few.in_units(units).best_factor(Gaussian, refine=True) for units in others]
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


def _of_values(
    few: _Chooser, many: _Chooser, richer: Reading | None, record: KernelChoice
) -> Iterator[Candidate]:
    """Widths per column by likelihood, for each family on few rows and for the best ones on many."""
    first = next(iter(FAMILIES))
    in_units = few.best_factor(FAMILIES[first], criterion="reml")
    few.centre = many.centre = in_units
    tuned = {first: few.tuned(FAMILIES[first], _Widths(in_units), **_FROM_AFAR)}
    plain = _Screened(few, many, tuned, {first: few.with_widths(first, tuned[first])})
    screened = plain
    if richer is not None:
        rich = _read_richly(plain, richer)
        if _handicapped(rich.candidates[first]) < _RICHER * _handicapped(plain.candidates[first]):
            screened = rich
            record.screened += plain.candidates.values()
        elif rich is not plain:
            record.screened += rich.candidates.values()
    screened.compare_families()
    record.screened += screened.candidates.values()
    ranked = screened.ranked()
    close = [name for name in ranked[:2] if screened.error_of(name) <= _AS_GOOD * screened.error]
    candidates = screened.tune_on_many(close)
    if many.n_rows > few.n_rows:
        best = min(candidates, key=lambda name: candidates[name].criterion)
        found = screened.on_many[best]
        if not candidates[best].helps:
            # Of many columns few rows may show nothing, or what is not there: start again with many.
            record.screened.clear()
            yield from _of_values(many, many, richer, record)
            return
        yield from candidates.values()
        revived = screened.on_many[best] = screened.many.revived(FAMILIES[best], found)
        if revived is not found:
            yield screened.many.with_widths(best, revived)
    else:
        # There are no more rows: what was found with the finer steps stands in place of the first look.
        screened.candidates.update(candidates)
        screened.tuned.update(screened.on_many)
        ranked = screened.ranked()
        yield from (screened.candidates[name] for name in ranked)
    yield many.candidate(f"{ranked[0]}, one scale", FAMILIES[ranked[0]](in_units))
    if few.n_rows >= _ROWS_PER_COLUMN * few.X.shape[1]:
        yield from _mixed(plain, screened.error, record)


@dataclass
class _Screened:
    """Families with widths of their own on few rows, read in one way."""

    few: _Chooser
    many: _Chooser
    tuned: dict[str, _Widths]  # of those that were looked at
    candidates: dict[str, Candidate]
    on_many: dict[str, _Widths] = field(default_factory=dict)  # of those that were tuned on many rows

    def error_of(self, name: str) -> float:
        """Return the squared error of a family."""
        return self.candidates[name].criterion

    def ranked(self) -> list[str]:
        """Return the families from the best one on."""
        return sorted(self.candidates, key=self.error_of)

    @property
    def error(self) -> float:
        """That of the best."""
        return min(map(self.error_of, self.candidates))

    def compare_families(self) -> None:
        """Tune all families that were not looked at, from the widths of the first."""
        start = next(iter(self.tuned.values())).values
        for name, family in FAMILIES.items():
            if name not in self.tuned:
                self.tuned[name] = self.few.tuned(family, _Widths(start), **_ON_FEW)
                self.candidates[name] = self.few.with_widths(name, self.tuned[name])

    def tune_on_many(self, names: list[str]) -> dict[str, Candidate]:
        """Tune some families on many rows, and return what became of them."""
        out = {}
        for name in names:
            self.on_many[name] = self.many.tuned(FAMILIES[name], self.tuned[name], **_ON_MANY)
            out[name] = self.many.with_widths(name, self.on_many[name])
        return out


def _read_richly(plain: _Screened, richer: Reading) -> _Screened:
    """Return the first family on scores and labels too, without scores that turn out to have no say."""
    first = next(iter(FAMILIES))
    few = plain.few.by(richer)
    n = few.X.shape[1]
    # Codes that are no numbers hide what other columns tell: columns of labels start as these.
    units = few.units * np.where(richer.stands_in(few.units, scores=False), _VANISHED, 1.0)
    few.centre = start = few.in_units(units).best_factor(FAMILIES[first], criterion="reml")
    tuned = few.tuned(FAMILIES[first], _Widths(start), **_FROM_AFAR)
    relative = tuned.values[:n] / few.units[:n]
    has_say = relative <= _VANISHED * _usual(relative)
    left, values = richer.with_scores(has_say[plain.few.X.shape[1] :], tuned.values)
    _, centre = richer.with_scores(has_say[plain.few.X.shape[1] :], start)
    if left.is_plain:
        return plain
    few, tuned = plain.few.by(left), replace(tuned, values=values)
    many = plain.many.by(left, few.units)
    few.centre = many.centre = centre
    return _Screened(few, many, {first: tuned}, {first: few.with_widths(first, tuned)})


def _mixed(plain: _Screened, least: float, record: KernelChoice) -> Iterator[Candidate]:
    """Yield a learnt metric, where one is clearly better on few rows than the least error of any widths."""
    few, learnt = plain.few, {}
    for name in plain.ranked()[:2]:
        for from_tuned, widths in ((True, plain.tuned[name].values), (False, few.units)):
            learnt[name, from_tuned] = few.with_metric(
                f"{name}, metric", FAMILIES[name], widths, tuned=from_tuned, n_rounds=2
            )
    record.screened += learnt.values()
    name, from_tuned = min(learnt, key=lambda key: learnt[key].criterion)
    best = learnt[name, from_tuned]
    if best.criterion < _CLEARLY_BETTER * least:
        widths = plain.on_many.get(name, plain.tuned[name]).values if from_tuned else few.units
        yield plain.many.with_metric(best.name, FAMILIES[name], widths, tuned=from_tuned, n_rounds=5)


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
    usual = _usual(relative)
    return np.asarray(units * np.where(relative > _VANISHED * usual, _REVIVED * usual, relative))


def _usual(relative: FloatArray) -> float:
    """Return the mean of the smaller half of widths in units of their columns."""
    return float(np.exp(np.log(np.sort(relative)[: (len(relative) + 1) // 2]).mean()))


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
        vanishing = np.where(richer.stands_in(read.units), _VANISHED, 1.0)
        rich = _one_scale(read.in_units(vanishing * read.units), first)
        record.screened.append(rich.candidate)
        if _error(rich) < _RICHER * _error(found):
            found, many = rich, many.by(richer, rich.chooser.units)
    others = [_one_scale(found.chooser, name) for name in FAMILIES if name != first]
    record.screened += [each.candidate for each in others]
    best = min([found, *others], key=_error)
    family = FAMILIES[best.family]
    yield many.candidate(f"{best.family}, one scale", many.kernel(family, best.widths))
    half, other_half = many.halves()
    tuned = half.tuned(family, best.widths, **_FROM_AFAR)
    with_widths, with_one = (
        half.error_elsewhere(half.kernel(family, widths), other_half) for widths in (tuned, best.widths)
    )
    if with_widths < _BETTER_ELSEWHERE * with_one:
        yield many.with_widths(best.family, many.tuned(family, tuned, **_ON_MANY))


@dataclass
class _OneScale:
    """A family whose columns have one scale in units of their own."""

    chooser: _Chooser
    family: str
    widths: _Widths
    candidate: Candidate


def _one_scale(chooser: _Chooser, family: str) -> _OneScale:
    """Return a family with the scale that leave-one-out finds best."""
    widths = _Widths(chooser.best_factor(FAMILIES[family], refine=True))
    kernel = chooser.kernel(FAMILIES[family], widths)
    return _OneScale(chooser, family, widths, chooser.candidate(family, kernel))


def _error(one: _OneScale) -> float:
    return one.candidate.criterion


def _units(points: Any, X: Any) -> list[Any]:
    """Return what columns may be measured in: median distances, standard deviations, ranges; times √d.

    Of many columns the first is the median distance between rows, of sparse ones it is all there is. A point
    counts once, so that rows given twice and rows of weight two mean the same. Columns that do not vary among
    these points, but among all rows X, have units of the latter: any others would set the rows apart in
    which they vary.
    """
    if sparse.issparse(X):
        return [start_kernel(X).resolve(points).sigma]
    found, constant = _units_of(points), _constant(points)
    if constant.any():
        of_all = _units_of(X)
        found = [
            np.where(constant, other, each) if np.ndim(each) else each
            for each, other in zip(found, of_all, strict=True)
        ]
    return found


def _units_of(X: FloatArray) -> list[Any]:
    X = X[distinct_rows(X)[0]]
    spread, extent = X.std(axis=0), np.ptp(X, axis=0)
    own = [np.sqrt(X.shape[1]) * np.where(units > 0, units, 1.0) for units in (spread, extent / 2)]
    return [start_kernel(X).resolve(X).sigma, *own]


def _constant(X: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(X.max(axis=0) == X.min(axis=0))


def _without_widths(
    few: _Chooser, many: _Chooser, units: list[Any], prepare: Callable[[Kernel], Kernel], record: KernelChoice
) -> Iterator[Candidate]:
    """One scale for all columns by leave-one-out, as they are or in units of their own; the linear kernel."""
    first = next(iter(FAMILIES))
    as_given, *own = [_one_scale(few.in_units(each), first) for each in units]
    better = [each for each in own if _error(each) < _RICHER * _error(as_given)]
    found = min(better, key=_error, default=as_given)
    others = [_one_scale(found.chooser, name) for name in FAMILIES if name != first]
    record.screened += [each.candidate for each in (as_given, *own, *others)]
    best = min([found, *others], key=_error)
    yield many.candidate(best.family, many.kernel(FAMILIES[best.family], best.widths))
    yield many.candidate("Linear", prepare(Linear()))
