"""How many centres: twice as many, until the criterion stops gaining."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from .plan import Solution

FEWEST, MOST = 125, 4000  # centres that are tried
GAIN = 0.01  # share of the criterion, as that of a squared error, that twice as many centres must gain


@dataclass(frozen=True)
class Doubling:
    """The numbers of centres that were tried, and which of them was kept."""

    numbers: list[int]
    criteria: FloatArray  # (t,)
    kept: Any  # what the attempt with the number kept has made
    solution: Solution


def numbers_to_try(n_features: int, n_rows: int) -> list[int]:
    """Return 125, 250, … up to 4,000, more than the features; the last is all rows where they are fewer."""
    number = FEWEST
    while number <= 2 * n_features:
        number *= 2
    out = []
    while number < min(n_rows, MOST):
        out.append(number)
        number *= 2
    return [*out, max(min(n_rows, number), 1)]


def double(attempt: Callable[[int], tuple[Any, Solution]], numbers: list[int], criterion: str) -> Doubling:
    """Fit with more and more centres; keep the last number that gained on the one before it.

    `attempt` fits with a number of centres; its solution has a choice of γ, whose criterion is compared: a
    squared error, or for "reml" minus twice a log-likelihood, which gains as the logarithm of one does.
    """
    tried: list[float] = []
    kept: tuple[Any, Solution] | None = None
    for place, number in enumerate(numbers):
        found = attempt(number)
        choice = found[1].choice
        assert choice is not None
        tried.append(float(choice.criterion[choice.path == choice.regularization][0]))
        if kept is not None and not _gains(tried[-2], tried[-1], criterion, found[1].n_rows):
            return Doubling(numbers[: place + 1], np.array(tried), *kept)
        kept = found
    assert kept is not None
    return Doubling(numbers, np.array(tried), *kept)


def _gains(before: float, after: float, criterion: str, n_rows: int) -> bool:
    if criterion == "reml":
        return (before - after) / n_rows > GAIN
    return after < (1 - GAIN) * before
