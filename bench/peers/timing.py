"""Interleaved repetitions and what is kept of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

PAUSE = 0.4  # seconds before each measurement: BLAS pools spin for a while after their last call


@dataclass(frozen=True)
class Times:
    """The repetitions of one entry, in the order of the rounds."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def quartiles(self) -> tuple[float, float]:
        low, high = np.percentile(self.seconds, [25, 75])
        return float(low), float(high)

    @property
    def best(self) -> float:
        return min(self.seconds)

    def ratio_to(self, other: Times) -> float:
        """Return the median of the ratios within each round: what slows a whole round down cancels."""
        return float(np.median(np.divide(self.seconds, other.seconds)))


def stopwatch(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    del result  # freeing the memory is not timed
    return seconds


def interleaved(
    entries: Mapping[str, Callable[[], float]], repeats: int, pause: float = PAUSE
) -> dict[str, Times]:
    """Measure every entry once per round, each round beginning with another entry.

    An entry does its work and returns the seconds it took.
    """
    names = list(entries)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            gc.collect()
            time.sleep(pause)
            seconds[name].append(entries[name]())
    return {name: Times(tuple(values)) for name, values in seconds.items()}


def per_call(work: Callable[[], object], calls: int) -> Times:
    """Measure a call that takes microseconds, many times over; the first tenth is dropped."""
    seconds = [stopwatch(work) for _ in range(calls + calls // 10)]
    return Times(tuple(seconds[calls // 10 :]))


def growth(sizes: list[int], medians: list[float]) -> float | None:
    """Return p of the power law seconds ~ m^p through the medians, or None for a single size."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(medians), 1)[0])
