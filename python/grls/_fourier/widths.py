"""The rows of a fit, and the choice of the kernel's parameters by all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import kernels
from .._models.samples import FreeFeatures
from .._validation import FloatArray
from .plan import Plan, Rows, SplitSums
from .selection import Choice

_SCALES = 2.0  # by which widths are scaled at first
_FARTHEST = 4  # times in one direction


@dataclass
class Data:
    """The rows of a fit: their box, a sample, the features and the kernel, and blocks to read again."""

    kernel: kernels.Kernel
    free: FreeFeatures
    low: FloatArray
    high: FloatArray
    sample: Rows
    blocks: Any  # a function that returns an iterator of Rows
    n_columns: int
    once: bool = False  # the blocks can be read a single time


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int | np.number | np.ndarray) and not isinstance(value, bool)


class Known:
    """Features whose values at the rows are known."""

    def __init__(self, T: FloatArray) -> None:
        self._T = T

    def __call__(self, X: Any) -> FloatArray:
        return self._T


def _scaled(kernel: kernels.Kernel, factor: float) -> kernels.Kernel:
    """Return a kernel with all its widths scaled."""
    copy: kernels.Kernel = clone(kernel)
    widths = {name: value for name, value in copy.get_params().items() if name.split("__")[-1] == "sigma"}
    copy.set_params(**{name: np.multiply(value, factor)[()] for name, value in widths.items()})
    return copy


def scale_widths(start: kernels.Kernel, at_start: float, attempt: Any) -> None:
    """Scale all widths together while that is better, then once between the best three."""
    values = {0: at_start, 1: attempt(_scaled(start, _SCALES))}
    direction = 1 if values[1] < values[0] else -1
    place = 1 if direction == 1 else 0
    for _ in range(_FARTHEST):
        values[place + direction] = attempt(_scaled(start, _SCALES ** (place + direction)))
        if values[place + direction] >= values[place]:
            break
        place += direction
    best = min(values, key=lambda place: values[place])
    if best - 1 in values and best + 1 in values and np.isfinite([values[best - 1], values[best + 1]]).all():
        below, middle, above = values[best - 1], values[best], values[best + 1]
        bend = below - 2 * middle + above
        if bend > 0:  # the vertex of the parabola through the three
            attempt(_scaled(start, _SCALES ** (best + (below - above) / (2 * bend))))


class Attempts:
    """Kernels that all rows have tried; of the best one the sums are kept."""

    def __init__(self, model: Any, data: Data, seed: int) -> None:
        self._model, self._data, self._seed = model, data, seed
        self.best: tuple[Plan, SplitSums, Choice] | None = None
        self.record: list[tuple[dict[str, Any], float, float]] = []

    def __call__(self, kernel: kernels.Kernel) -> float:
        """Return the criterion of a kernel at the γ that is best for it.

        Infinite where it has too many modes, unless it is the first one.
        """
        model, near = self._model, None if self.best is None else self.best[2].regularization
        try:
            plan = model._plan(self._data, self._seed, kernel)
        except ValueError:
            if self.best is None:
                raise
            return float("inf")
        sums = model._sums(self._data, plan)
        choice = model._choice(plan, sums, near)
        assert choice is not None
        numbers = {name: value for name, value in kernel.get_params().items() if _is_number(value)}
        self.record.append((numbers, choice.regularization, choice.value))
        model._stages.report(f"{kernel!r}: {model.regularization} {choice.value:.6g}")
        if self.best is None or choice.value < self.best[2].value:
            self.best = plan, sums, choice
        return float(choice.value)
