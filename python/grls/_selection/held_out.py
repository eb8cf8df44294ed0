"""The choice of C, of the features' variance and of a kernel's width by the errors of rows held out in folds.

What counts is the share of rows whose class is missed; between equals their hinge loss, and where that is the
same too the smaller C. A walk goes up or
down a ladder of C as long as that gains, in large steps and then in a small one; a setting that is clearly
worse than the best one is given up before its last fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._models.progress import Stages
from .._validation import FloatArray, choice

# C in units of the kernel's inverse spread: powers of ten, and their geometric means for the last step.
_LADDER = 10.0 ** (np.arange(-8, 9) / 2)
_LARGE_STEP = 2

# Variances of the features' coefficients in units of the kernel's spread: none, as free as the kernel in the
# middle, free.
_VARIANCES = np.array([0.0, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, np.inf])

# Between as many errors: share of the hinge loss that a larger C must save, and a smaller one may cost.
_MORE_FOR_LESS = 0.01

_CLEARLY = 2.0  # standard errors by which a setting that is given up is worse


def require_choice(C: Any, variance: Any) -> bool:
    """Return whether one of the two is left to rows held out; ValueError or TypeError where that cannot be.

    A C or a variance that is one number is for others to check.
    """
    if isinstance(C, str) and C != "cv":
        raise ValueError(f'C must be a number, several to choose from or "cv", got {C!r}')
    if np.ndim(C) > 0:
        try:
            values = np.asarray(C, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f'C must be a number, several to choose from or "cv", got {C!r}') from error
        if values.ndim > 1 or values.size == 0 or not np.all(np.isfinite(values)) or values.min() <= 0:
            raise ValueError(f"the values of C to choose from must be positive, finite numbers, got {C!r}")
    if isinstance(variance, str):
        choice(variance, "feature_variance (unless it is a number)", ("auto",))
        if not isinstance(C, str) and np.ndim(C) == 0 and np.isposinf(C):
            raise ValueError(
                'feature_variance="auto" needs a finite C, or C="cv": a hard margin is for '
                "classes that are separated, whatever rows held out say"
            )
    return isinstance(C, str) or np.ndim(C) > 0 or isinstance(variance, str)


@dataclass(frozen=True)
class Setting:
    """What is chosen."""

    kernel: int  # which of the kernels
    variance: float
    C: float


@dataclass(frozen=True)
class Trial:
    """A setting, and what rows held out say about it."""

    setting: Setting
    values: FloatArray  # (m, n_pairs): of the functions; NaN at rows that were not held out
    losses: FloatArray  # (m, 2): whether the class was missed, and the hinge loss; NaN likewise
    error: float  # weighted share of the rows that were missed
    complete: bool  # it had all folds


@dataclass
class HeldOut:
    """Settings tried on the same rows."""

    in_folds: Callable[[Setting], Iterable[tuple[NDArray[np.intp], FloatArray]]]  # rows, and functions there
    losses: Callable[[NDArray[np.intp], FloatArray], FloatArray]  # of rows and functions there, (n, 2)
    weights: FloatArray  # (m,): what a row counts
    n_pairs: int
    stages: Stages
    trials: dict[Setting, Trial] = field(default_factory=dict)
    best: Trial | None = None  # of those that had all folds

    def __call__(self, setting: Setting) -> Trial:
        """Try a setting, unless it was."""
        if setting not in self.trials:
            trial = self.trials[setting] = self._tried(setting)
            if trial.complete and (self.best is None or self.is_better(trial, self.best)):
                self.best = trial
            self.stages.report(
                f"C {setting.C:.3g}, feature variance {setting.variance:.3g}: error of rows held out "
                f"{trial.error:.4g}{'' if trial.complete else ', given up'}"
            )
        return self.trials[setting]

    def is_better(self, trial: Trial, other: Trial) -> bool:
        """Whether a trial is better than another, on the rows that were held out in both."""
        both = np.isfinite(trial.losses[:, 0] + other.losses[:, 0])
        w = self.weights[both]
        mine, its = (np.average(each.losses[both], axis=0, weights=w) for each in (trial, other))
        if mine[0] != its[0]:
            return bool(mine[0] < its[0])
        larger = trial.setting.C > other.setting.C
        return bool(mine[1] < its[1] * (1 - _MORE_FOR_LESS if larger else 1 + _MORE_FOR_LESS))

    def _tried(self, setting: Setting) -> Trial:
        values = np.full((len(self.weights), self.n_pairs), np.nan)
        losses = np.full((len(self.weights), 2), np.nan)
        complete = True
        for rows, found in self.in_folds(setting):
            if not complete:
                break
            values[rows], losses[rows] = found, self.losses(rows, found)
            complete = not self._is_hopeless(losses[:, 0])
        known = np.isfinite(losses[:, 0])
        error = float(np.average(losses[known, 0], weights=self.weights[known]))
        return Trial(setting, values, losses, error, complete)

    def _is_hopeless(self, wrong: FloatArray) -> bool:
        """Whether a setting misses clearly more rows than the best one, of those held out so far."""
        if self.best is None:
            return False
        excess = np.nan_to_num(wrong - self.best.losses[:, 0])
        return bool(self.weights @ excess > _CLEARLY * np.sqrt(self.weights @ excess**2))

    def walk(self, settings: Sequence[Setting], at: int, step: int = 1) -> None:
        """Try settings from the one at a place on, up or else down, as long as each is better than before."""
        current = self(settings[at])
        for direction in (step, -step):
            place, moved = at + direction, False
            while 0 <= place < len(settings) and current.error > 0:
                found = self(settings[place])
                if not self.is_better(found, current):
                    if np.isinf(found.setting.variance) and _is_same(found, current):
                        return  # free features do all the work, whatever C
                    break
                level = found.error == current.error  # the losses alone: further on there is little to gain
                current, place, moved = found, place + direction, True
                if level:
                    break
            if moved:
                return

    def bests(self) -> list[Setting]:
        """Return the best setting without features, that of all, and with free ones if they were any good."""
        free = self._best_of(np.inf)
        worth = free is not None and self.trials[free].complete
        out = [self._best_of(0.0), self.chosen, free if worth else None]
        return list(dict.fromkeys(setting for setting in out if setting is not None))

    def _best_of(self, variance: float) -> Setting | None:
        found: Trial | None = None
        for trial in self.trials.values():
            if trial.setting.variance == variance and (found is None or self.is_better(trial, found)):
                found = trial
        return None if found is None else found.setting

    @property
    def chosen(self) -> Setting:
        """The best so far."""
        assert self.best is not None
        return self.best.setting


def _is_same(trial: Trial, other: Trial) -> bool:
    """Whether two settings miss the same rows, at about the same losses."""
    return bool(
        np.array_equal(trial.losses[:, 0], other.losses[:, 0], equal_nan=True)
        and np.allclose(trial.losses[:, 1], other.losses[:, 1], 0.01, 0.01, equal_nan=True)
    )


@dataclass(frozen=True)
class Lines:
    """The values that settings are made of, each in ascending order."""

    Cs: FloatArray
    all_Cs: bool  # whether each is tried, and not only those on the way
    step: int  # of walks along C
    variances: FloatArray
    n_kernels: int  # of the same family, wider and wider

    @classmethod
    def of(cls, C: Any, variance: float | str, spread: float, n_kernels: int = 1) -> Lines:
        """Return those that parameters stand for, names or values; `spread`: the size of the kernel."""
        unit = 10.0 ** np.round(np.log10(spread))
        given = not isinstance(C, str)
        Cs = np.unique(np.asarray(C, dtype=np.float64).reshape(-1)) if given else _LADDER / unit
        tau = _VARIANCES * unit if isinstance(variance, str) else np.array([float(variance)])
        return cls(Cs, given, 1 if given else _LARGE_STEP, np.asarray(tau, dtype=np.float64), n_kernels)

    def first(self) -> Setting:
        """Return the middle of all lines."""
        middle = [line[(len(line) - 1) // 2] for line in (self.variances, self.Cs)]
        return Setting(self.n_kernels // 2, *map(float, middle))

    def along_C(self, setting: Setting) -> tuple[list[Setting], int]:
        """Return the settings that differ from one in C only, and its place among them."""
        return [replace(setting, C=float(C)) for C in self.Cs], int(np.flatnonzero(self.Cs == setting.C)[0])

    def along_variance(self, setting: Setting) -> tuple[list[Setting], int]:
        """Return the settings that differ from one in the variance only, and its place among them."""
        line = [replace(setting, variance=float(tau)) for tau in self.variances]
        return line, int(np.flatnonzero(self.variances == setting.variance)[0])

    def along_kernel(self, setting: Setting) -> tuple[list[Setting], int]:
        """Return the settings that differ from one in the kernel only, and its place among them."""
        return [replace(setting, kernel=k) for k in range(self.n_kernels)], setting.kernel


def search(held_out: HeldOut, lines: Lines) -> None:
    """Try the settings that seem worth it."""
    start = lines.first()
    if lines.all_Cs:
        for setting in lines.along_C(start)[0]:
            held_out(setting)
        start = held_out.chosen
    held_out.walk(*lines.along_C(start), lines.step)
    if len(lines.variances) > 1:
        held_out.walk(*lines.along_C(replace(held_out.chosen, variance=0.0)), lines.step)
        free = replace(held_out.chosen, variance=np.inf)
        if held_out(free).complete:  # else they are clearly worse, and C, which does not bind them, no help
            held_out.walk(*lines.along_C(free), lines.step)
        held_out.walk(*lines.along_variance(held_out.chosen))
    held_out.walk(*lines.along_kernel(held_out.chosen))
    if lines.step > 1 and len(lines.variances) == 1:
        held_out.walk(*lines.along_C(held_out.chosen))


def gains(held_out: HeldOut) -> Trial:
    """Return the best trial, or the best without features if what they promise may be chance.

    That is less than half a standard error of the rows held out, as for least squares.
    """
    best, without = held_out.best, held_out._best_of(0.0)
    assert best is not None
    if without is None or not held_out.trials[without].complete or best.setting.variance == 0:
        return best
    other = held_out.trials[without]
    known = np.isfinite(best.losses[:, 0])
    w = held_out.weights[known]
    gain = other.losses[known, 0] - best.losses[known, 0]
    mean = np.average(gain, weights=w)
    variance = np.average((gain - mean) ** 2, weights=w) / w.sum()
    return best if mean > 0.5 * np.sqrt(variance) else other
