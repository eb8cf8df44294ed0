"""The kernel of values: candidates by the restricted likelihood, overruled by rows left out beyond chance.

Each family has its widths and γ from the restricted likelihood. The least −2 log likelihood, plus two for
each width, wins; the jointly robust optimum, which does not interpolate noise that has outliers, only if rows
left out say so, by absolute errors and two standard errors. Where no kernel gains enough, there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._models.progress import Stages
from .._validation import FloatArray
from ..kernels import Kernel, Linear
from .candidates import FAMILIES, OF_VALUES, Candidate, KernelChoice
from .choice import Choice
from .metric import Round, learn_metric
from .readings import Reading
from .tuning import PLAIN_SHIFT, SHIFTS, Tuned, Tuner
from .units import constant_columns, units_read

ONE_SCALE, ROBUST = "one scale", "robust prior"

# What a kernel must gain on the features alone, in −2 log likelihood plus two for each width.
LEAST_GAIN = 4.0

_MOST_LIKELY = "the restricted likelihood is best, two being paid for each width"

_BEYOND_CHANCE = 2.0  # standard errors

# What scores and labels must get the squared error of columns as they are down to.
RICHER = 0.95

# What a metric must get the squared error of widths down to. It has d² parameters that saw the rows that are
# left out, and claims up to a tenth for nothing. A few rows may decide about squares: its absolute errors
# must be less beyond chance too.
_CLEARLY_BETTER = 0.8
_ROWS_PER_COLUMN = 10  # fewer tell nothing of a metric

# Widths in units of their columns, over the mean of the smaller half of them: columns that have no say, and
# where they start anew.
VANISHED, _REVIVED = 10.0, 3.0

_SAME_OPTIMUM = 0.5  # in −2 log likelihood: two descents ended at the same one


@dataclass
class Found:
    """A candidate, with what decides between it and others."""

    family: str
    how: str  # of its widths: one for each column if empty, `ONE_SCALE` or `ROBUST`
    tuned: Tuned
    kernel: Kernel  # of the points
    n_widths: int
    criterion: float
    errors: FloatArray | None = None  # (m,) of rows left out: mean absolute over outputs
    squared: float = np.inf

    @property
    def name(self) -> str:
        """What it is called in the record."""
        return f"{self.family}, {self.how}" if self.how else self.family


@dataclass
class Screen:
    """The families on some rows, read in one way."""

    tuner: Tuner
    stages: Stages
    ends: dict[str, Tuned] = field(default_factory=dict)  # the optimum of each family
    found: list[Found] = field(default_factory=list)
    is_plain_sailing: bool = False  # both starts of the first family led to the same optimum

    def tune_first(self) -> Tuned:
        """Tune the first family from both starts, and return the better end."""
        family = FAMILIES[OF_VALUES[0]]
        best = self.tuner.look(family)
        starts = [best, self._plain_start()]
        ends = [self._end(OF_VALUES[0], start) for start in starts]
        self.is_plain_sailing = abs(ends[0].value - ends[1].value) <= _SAME_OPTIMUM
        self.ends[OF_VALUES[0]] = min(ends, key=lambda end: end.value)
        return self.ends[OF_VALUES[0]]

    def _plain_start(self) -> Tuned:
        return Tuned(self.tuner.units, PLAIN_SHIFT * self.tuner.weight)

    def _end(self, name: str, start: Tuned) -> Tuned:
        """Return where the descent of a family from a start ends."""
        end = self.tuner.descend(FAMILIES[name], start)
        self.stages.report(
            f"kernel: {name}, {self.tuner.n_rows} rows: −2 log likelihood {end.value:.6g} after "
            f"{end.n_evaluations} evaluations",
            level=2,
        )
        return end

    def compare(self) -> None:
        """Tune all families, and make candidates of them."""
        first = self.ends[OF_VALUES[0]]
        for name in OF_VALUES:
            if name not in self.ends:
                near = self.tuner.look(FAMILIES[name], around=first.widths)
                starts = [near] if self.is_plain_sailing else [near, self._plain_start()]
                ends = [self._end(name, start) for start in starts]
                self.ends[name] = min(ends, key=lambda end: end.value)
            self.add(name, "", self.ends[name])
        best = min(self.found, key=lambda found: found.criterion)
        for name in OF_VALUES:
            self.add(name, ROBUST, self.robust(name, self.ends[name]))
        if len(self.tuner.units) > 1:
            self.add(best.family, ONE_SCALE, self.one_scale(best.family))

    def robust(self, name: str, start: Tuned) -> Tuned:
        """Return the optimum with the jointly robust prior, and there the γ without it."""
        family = FAMILIES[name]
        end = self.tuner.descend(family, start, robust=True, gain=0.1)
        return self.tuner.descend(family, end, held=True)

    def one_scale(self, name: str) -> Tuned:
        """Return the best common factor of the columns' units."""
        family = FAMILIES[name]
        return self.tuner.descend(family, self.tuner.look(family), tied=True)

    def add(self, family: str, how: str, tuned: Tuned) -> Found:
        """Add a candidate, with the errors of rows left out by it."""
        tuner = self.tuner
        kernel = tuner.kernel(FAMILIES[family], tuned.widths)
        n_widths = 1 if how == ONE_SCALE else len(tuned.widths)
        found = Found(family, how, tuned, kernel, n_widths, tuned.value + 2 * n_widths - tuner.alone)
        errors = tuner.errors(kernel, tuned.shift)
        found.errors, found.squared = errors.mean(axis=1), tuner.mean(errors**2)
        self.found.append(found)
        self.stages.report(
            f"kernel: {self.named(found)}, {tuner.n_rows} rows: −2 log likelihood {tuned.value:.6g}, "
            f"error {tuner.mean(found.errors):.6g}"
        )
        return found

    def named(self, found: Found) -> str:
        """Return the name of a candidate, with what it reads."""
        reading = self.tuner.reading
        return found.name if reading.is_plain else f"{found.name}, {reading.name}"

    def choose(self) -> tuple[Found, str]:
        """Return the best candidate, and why it is."""
        best = min((f for f in self.found if f.how != ROBUST), key=lambda f: f.criterion)
        if not self.gains:
            return best, "no kernel gains enough on the features alone: the largest γ is taken"
        rival = min(self.found, key=lambda f: self.tuner.mean(_errors(f)))
        if rival is not best:
            gain = _errors(best) - _errors(rival)
            if not np.isfinite(gain).all() or self.tuner.is_beyond_chance(gain, _BEYOND_CHANCE):
                return rival, "rows left out are predicted better, beyond chance, than by the most likely one"
        return best, _MOST_LIKELY

    @property
    def gains(self) -> bool:
        """Whether some kernel gains enough on the features alone."""
        return min(f.criterion for f in self.found if f.how != ROBUST) <= -LEAST_GAIN

    def records(self) -> list[Candidate]:
        """Return the candidates as users see them."""
        return [self.record(found) for found in self.found]

    def record(self, found: Found) -> Candidate:
        """Return one of them."""
        tuner = self.tuner
        kernel, error = tuner.reading.of_rows(found.kernel), tuner.mean(_errors(found))
        return Candidate(self.named(found), kernel, found.criterion, tuner.n_rows, found.n_widths, error)


def _errors(found: Found) -> FloatArray:
    assert found.errors is not None
    return found.errors


def choose_for_values(
    few: Choice, many: Choice, units: FloatArray, reading: Reading, record: KernelChoice, stages: Stages
) -> Kernel:
    """Return the kernel of the rows, and tell the record what was tried.

    `few` rows compare families, and `many` tune the one that is chosen; `units` are those of the columns.
    """
    record.by = "reml"
    plain = Screen(Tuner(few, units, reading), stages)
    if plain.tuner.alone == -np.inf:
        record.alone, record.why = True, "the features alone meet the targets"
        return reading.of_rows(plain.tuner.kernel(FAMILIES[OF_VALUES[0]], plain.tuner.units))
    plain.tune_first()
    screen = _read_richly(plain, stages)
    screen.compare()
    if many is not few and not screen.gains:
        # Of many columns few rows may show nothing, or what is not there: start again with many, and where
        # the first family shows nothing there either, leave it at that.
        again = Screen(Tuner(many, units, reading), stages)
        again.add(OF_VALUES[0], "", again.tune_first())
        if again.gains:
            return choose_for_values(many, many, units, reading, record, stages)
        plain = screen = again
        many = few
    best, why = screen.choose()
    metric = _mixed(plain, screen, many, stages) if screen.gains else None
    if many is not few and metric is None:
        record.screened = screen.records()
        screen = _on_many(screen, best, many, stages)
        if best.how != ROBUST:
            best, why = screen.choose()
        else:
            best = next(found for found in screen.found if found.how == ROBUST)
    record.candidates = screen.records()
    record.best, record.why = screen.found.index(best), why
    record.most_likely = why == _MOST_LIKELY
    if metric is None:
        record.shift = best.tuned.shift
    record.alone = not screen.gains
    if metric is not None:
        record.candidates.append(metric)
        record.best, record.why = len(record.candidates) - 1, "rows left out are predicted far better"
        record.most_likely = False
    return record.candidates[record.best].kernel


def _read_richly(plain: Screen, stages: Stages) -> Screen:
    """Return the screen of scores and labels too, if the first family predicts rows left out better by them.

    Scores that turn out to have no say are left out.
    """
    tuner = plain.tuner
    X = tuner.choose.problem.X
    richer = tuner.reading.richer(X)
    if richer is None:
        return plain
    points = richer.points(X)
    units = units_read(richer, points, X, tuner.units)
    # Codes that are no numbers hide what other columns tell: columns of labels start as these.
    start = units * np.where(richer.stands_in(units, scores=False), VANISHED, 1.0)
    rich = Screen(Tuner(tuner.choose.at(points), start, richer), stages)
    tuned = rich.tune_first()
    n, d = points.shape[1], X.shape[1]
    relative = tuned.widths[:n] / units[:n]
    has_say = (relative <= VANISHED * usual(relative))[d:]
    left, widths = richer.with_scores(has_say, tuned.widths)
    if left.is_plain:
        return plain
    if not has_say.all():
        _, kept = richer.with_scores(has_say, start)
        rich = Screen(Tuner(tuner.choose.at(left.points(X)), kept, left), stages)
        end = rich.tuner.descend(FAMILIES[OF_VALUES[0]], Tuned(widths, tuned.shift))
        rich.ends[OF_VALUES[0]] = end
    with_more, without = (each.add(OF_VALUES[0], "", each.ends[OF_VALUES[0]]) for each in (rich, plain))
    for each in (rich, plain):
        each.found.clear()
    return rich if _handicapped(with_more, rich) < RICHER * _handicapped(without, plain) else plain


def _handicapped(found: Found, screen: Screen) -> float:
    """Return the squared error that new rows can be expected to have.

    Rows that are left out were seen when widths were chosen. Akaike's final prediction error accounts for p
    parameters by (n + p) / (n - p): of a dozen rows and several columns widths are hardly ever worth it.
    """
    n, p = screen.tuner.n_rows, found.n_widths
    return found.squared * ((n + p) / (n - p) if p < n else np.inf)


def _on_many(screen: Screen, best: Found, many: Choice, stages: Stages) -> Screen:
    """Return the candidates of the family that few rows chose, tuned on many."""
    reading = screen.tuner.reading
    read = many if reading.is_plain else many.at(reading.points(many.problem.X))
    out = Screen(Tuner(read, screen.tuner.units, reading), stages)
    family = FAMILIES[best.family]
    start = _with_constant_columns(screen, screen.ends[best.family])
    if best.how == ROBUST:
        out.add(best.family, "", out.tuner.descend(family, start))
        out.add(best.family, ROBUST, out.robust(best.family, best.tuned))
        return out
    end = out.tuner.descend(family, start)
    n = read.problem.X.shape[1]
    units = out.tuner.units[:n]
    again = np.append(_revived(end.widths[:n], units), end.widths[n:])
    if not np.array_equal(again, end.widths):
        second = out.tuner.descend(family, Tuned(again, end.shift))
        end = min(end, second, key=lambda tuned: tuned.value)
    out.add(best.family, "", end)
    if best.how == ONE_SCALE:
        out.add(best.family, ONE_SCALE, out.tuner.descend(family, best.tuned, tied=True))
    return out


def _mixed(plain: Screen, screen: Screen, many: Choice, stages: Stages) -> Candidate | None:
    """Return a learnt metric, if it is clearly better on few rows than the best of any widths."""
    tuner = plain.tuner
    d = tuner.problem.X.shape[1]
    if d < 2 or tuner.n_rows < _ROWS_PER_COLUMN * d:
        return None
    least = min(found.squared for found in screen.found)
    name = min((f for f in screen.found if f.how != ROBUST), key=lambda f: f.criterion).family
    family = FAMILIES[name]
    tuned = plain.ends.get(name, plain.ends[OF_VALUES[0]]).widths
    starts = {True: tuned, False: tuner.units}

    def learnt(rows: Choice, from_tuned: bool, n_rounds: int) -> Round:
        return learn_metric(
            by_likelihood(rows),
            family,
            starts[from_tuned],
            first_width=1.0 if from_tuned else None,
            n_rounds=n_rounds,
            stages=stages,
        ).chosen

    tried = {from_tuned: learnt(tuner.choose, from_tuned, 2) for from_tuned in starts}
    from_tuned = min(tried, key=lambda key: tried[key].criterion)
    best = tried[from_tuned]
    if not best.criterion < _CLEARLY_BETTER * least or best.left_out is None:
        return None
    errors = np.abs(tuner.choose.targets - best.left_out).mean(axis=1)
    rival = min(screen.found, key=lambda found: tuner.mean(_errors(found)))
    if not tuner.is_beyond_chance(_errors(rival) - errors, _BEYOND_CHANCE):
        return None
    chosen = learnt(many, from_tuned, 5)
    kernel = tuner.reading.of_rows(family(chosen.width).after(chosen.map))
    return Candidate(f"{name}, metric", kernel, np.nan, len(many.targets), d)


def by_likelihood(choose: Choice) -> Choice:
    """Return the choice whose γ the restricted likelihood finds, and which tells errors of rows left out."""
    return replace(choose, gamma_by_likelihood=True)


def _with_constant_columns(screen: Screen, start: Tuned) -> Tuned:
    """Return a start in which columns that are constant among few rows, and so unknown, count little."""
    X, units = screen.tuner.problem.X, screen.tuner.units
    constant = np.append(constant_columns(X), np.zeros(len(units) - X.shape[1], dtype=bool))
    if not constant.any():
        return start
    # Widths are to be large even where those of all others are small: two rows apart are no function.
    typical = max(usual((start.widths / units)[~constant]), 1.0) if not constant.all() else 1.0
    return replace(start, widths=np.where(constant, _REVIVED * typical * units, start.widths))


def _revived(widths: FloatArray, units: FloatArray) -> FloatArray:
    """Return widths with which every column has a say again.

    A column of far too large a width has no gradient: what few rows could not tell from nothing, many may.
    """
    relative = widths / units
    typical = usual(relative)
    return np.asarray(units * np.where(relative > VANISHED * typical, _REVIVED * typical, relative))


def usual(relative: FloatArray) -> float:
    """Return the mean of the smaller half of widths in units of their columns."""
    return float(np.exp(np.log(np.sort(relative)[: (len(relative) + 1) // 2]).mean()))


@dataclass
class _Scaled:
    """A kernel of one scale, or of none."""

    name: str
    kernel: Kernel
    n_widths: int
    value: float  # minus twice the restricted log-likelihood, at the best shift tried
    shift: float


def choose_one_scale(
    few: Choice,
    many: Choice,
    units: list[Any],
    prepare: Callable[[Kernel], Kernel],
    record: KernelChoice,
    stages: Stages,
) -> Kernel:
    """Return a kernel of many columns: one scale for all of them, as they are or in units of their own.

    The linear kernel, which has none, is tried beside them.
    """
    record.by, first = "reml", OF_VALUES[0]
    tuner = Tuner(few, np.ones(1), Reading())
    if tuner.alone == -np.inf:
        record.alone, record.why = True, "the features alone meet the targets"
        return FAMILIES[first](units[0])

    def best_of(rows: Tuner, name: str, scales: list[Any]) -> _Scaled:
        tried = [_looked_at(rows, name, FAMILIES[name](scale), 1) for scale in scales]
        return min(tried, key=lambda each: each.value)

    as_given, *own = [best_of(tuner, first, [f * each for f in _SCALES]) for each in units]
    rivals = [each for each in own if each.value < as_given.value - LEAST_GAIN]
    found = min(rivals, key=lambda each: each.value, default=as_given)
    others = [best_of(tuner, name, [f * found.kernel.sigma for f in _NEARBY]) for name in OF_VALUES]
    if many is not few:
        record.screened = [_told(tuner, each) for each in (as_given, *own, *others)]
    best = min(others, key=lambda each: each.value)
    last = tuner if many is few else Tuner(many, np.ones(1), Reading())
    scales = [f * best.kernel.sigma for f in _NEARBY]
    final = [best_of(last, best.name, scales), _looked_at(last, "Linear", prepare(Linear()), 0)]
    record.candidates = [_told(last, each) for each in final]
    errors = [last.errors(each.kernel, each.shift).mean(axis=1) for each in final]
    record.best = int(np.argmin([candidate.criterion for candidate in record.candidates]))
    record.why = _MOST_LIKELY
    rival = 1 - record.best
    if last.is_beyond_chance(errors[record.best] - errors[rival], _BEYOND_CHANCE):
        record.best, record.why = rival, "rows left out are predicted better, beyond chance"
    for candidate, error in zip(record.candidates, errors, strict=True):
        candidate.error = last.mean(error)
        stages.report(f"kernel: {candidate.name}, {last.n_rows} rows: error {candidate.error:.6g}")
    record.alone = min(candidate.criterion for candidate in record.candidates) > -LEAST_GAIN
    return record.candidates[record.best].kernel


_SCALES = 2.0 ** np.arange(-6, 3)
_NEARBY = 2.0 ** np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def _looked_at(tuner: Tuner, name: str, kernel: Kernel, n_widths: int) -> _Scaled:
    problem = tuner.problem.with_kernel(kernel)
    shifts = SHIFTS * tuner.weight * float(problem.kernel_diagonal().mean())
    values = problem.restricted_likelihoods(tuner.merged.targets, shifts, tuner.rows)
    at = int(values.argmin())
    return _Scaled(name, kernel, n_widths, float(values[at]), float(shifts[at]))


def _told(tuner: Tuner, each: _Scaled) -> Candidate:
    criterion = each.value + 2 * each.n_widths - tuner.alone
    return Candidate(each.name, each.kernel, criterion, tuner.n_rows, each.n_widths)
