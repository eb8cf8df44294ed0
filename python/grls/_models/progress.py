"""Progress of long fits."""

from __future__ import annotations

import time
from typing import Any


class Stages:
    """Tells what a long fit is doing, and how long it took."""

    def __init__(self, verbose: Any) -> None:
        self._verbose = verbose
        self._start = self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def done(self, stage: str) -> None:
        """Note that a stage has ended."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now

    def tells(self, level: int) -> bool:
        """Whether reports of this level are printed: 1 by any `verbose` that is not zero, 2 by 2 and more."""
        return bool(self._verbose and (level <= 1 or self._verbose >= level))

    def report(self, text: str, level: int = 1) -> None:
        """Print where the fit is, if it was asked to tell so much."""
        if self.tells(level):
            print(f"[grls {time.perf_counter() - self._start:8.1f} s] {text}", flush=True)
