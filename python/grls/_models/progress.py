"""Progress of long fits."""

from __future__ import annotations

import time
from typing import Any


class Stages:
    """Tells what a long fit is doing, and how long it took."""

    def __init__(self, verbose: Any) -> None:
        self._verbose = bool(verbose)
        self._start = self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def done(self, stage: str) -> None:
        """Note that a stage has ended."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now

    def report(self, text: str) -> None:
        """Print where the fit is, if it was asked to tell."""
        if self._verbose:
            print(f"[grls {time.perf_counter() - self._start:8.1f} s] {text}", flush=True)
