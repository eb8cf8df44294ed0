"""Progress of long fits: lines in logs, bars where somebody watches, and the time of each stage."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._validation import integer
from .._warnings import filtered


class Stages:
    """Tells what a long fit is doing, and how long it took."""

    def __init__(self, verbose: Any) -> None:
        is_switch = isinstance(verbose, bool | np.bool_)
        self._verbose = int(verbose) if is_switch else integer(verbose, "verbose", minimum=0)
        self._start = self._last = time.perf_counter()
        self._bar: Any = None  # the one that is open
        self.seconds: dict[str, float] = {}

    def done(self, stage: str) -> None:
        """Note that a stage has ended: what passed since the last one did is its time."""
        self._add(stage, self._passed())

    def done_in_parts(self, parts: Mapping[str, float]) -> None:
        """Note that stages have ended that timed themselves; what else passed is "other"."""
        passed, told = self._passed(), sum(parts.values())
        share = passed / told if told > passed else 1.0  # clocks differ
        for stage, seconds in parts.items():
            self._add(stage, share * seconds)
        self._add("other", max(passed - told, 0.0))

    def total(self) -> dict[str, float]:
        """Return the time of each stage up to now; what belongs to none is "other"."""
        self.done("other")
        return self.seconds

    def _passed(self) -> float:
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        return passed

    def _add(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def tells(self, level: int) -> bool:
        """Whether reports of this level are printed: 1 by any `verbose` that is not zero, 2 by 2 and more."""
        return bool(self._verbose and (level <= 1 or self._verbose >= level))

    def report(self, text: str, level: int = 1) -> None:
        """Print where the fit is, if it was asked to tell so much."""
        if not self.tells(level):
            return
        line = f"[grls {time.perf_counter() - self._start:8.1f} s] {text}"
        if self._bar is None:
            print(line, flush=True)
        else:
            self._bar.write(line, file=sys.stdout)  # above the bar

    @contextmanager
    def steps(self, total: int | None, what: str) -> Iterator[Steps]:
        """Tell of a loop of so many steps, None: nobody knows how many.

        A bar with the rate and the time left on a terminal or in a notebook, if tqdm is installed; else a
        line for each step.
        """
        kind = None
        if self.tells(1) and self._bar is None and total is not None and total > 1 and _is_watched():
            kind = _bars()
        if kind is None:
            yield Steps(self)
            return
        self._bar = kind(total=total, desc=f"[grls] {what}", file=sys.stdout, dynamic_ncols=True)
        try:
            yield Steps(self, self._bar)
        finally:
            bar, self._bar = self._bar, None
            bar.close()


class Steps:
    """A loop that is told of step by step."""

    def __init__(self, stages: Stages, bar: Any = None) -> None:
        self._stages, self._bar = stages, bar

    def skip(self) -> None:
        """Note that a step was left out."""
        if self._bar is not None:
            self._bar.update(1)

    def done(self, line: str, short: str | None = None) -> None:
        """Note that a step has ended, with the line for a log, and what a bar shows of it."""
        if self._bar is None:
            self._stages.report(line)
            return
        self._bar.set_postfix_str(line if short is None else short, refresh=False)
        self._bar.update(1)


def _is_watched() -> bool:
    """Whether what is printed goes to a terminal or a notebook, and not to a file or a pipe."""
    out = sys.stdout
    if out is None:
        return False
    return type(out).__module__.partition(".")[0] == "ipykernel" or bool(out.isatty())


def _bars() -> Any:
    """Return tqdm's bar, of the notebook where that can show one; None: it is not installed."""
    try:
        with filtered(Warning):  # of a notebook without widgets: a bar of text does as well
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
