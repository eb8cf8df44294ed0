"""Sums over rows: all that a fit needs of them.

With rows [b(x) t y] (docs/math.md, section "Nyström") the sums are one symmetric matrix. They add: sums of
two blocks are the sum of the blocks' sums, wherever and in whatever order these were computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import FloatArray
from .groups import GroupSums
from .missed import Probes


def _joined(mine: Any, theirs: Any) -> Any:
    """Return what two parts have of something together; None: there is nothing."""
    return mine if theirs is None else theirs if mine is None else mine + theirs


@dataclass
class Part:
    """The sums of some rows."""

    matrix: FloatArray  # (p, p)
    rows: int = 0
    weight: float = 0.0  # Σw
    count: float = 0.0  # observations: of rows in memory those that agree at a point are one
    log_noise: float = 0.0  # Σ log of their noise variances, in units of that of weight one
    moments: Any = 0.0  # (2, k): Σw(y − o) and Σw(y − o)² of values y, o their origin
    groups: GroupSums | None = None  # where groups have effects of their own

    def __add__(self, other: Part) -> Part:
        return Part(
            self.matrix + other.matrix,
            self.rows + other.rows,
            self.weight + other.weight,
            self.count + other.count,
            self.log_noise + other.log_noise,
            self.moments + other.moments,
            _joined(self.groups, other.groups),
        )

    def __sub__(self, other: Part) -> Part:
        return Part(
            self.matrix - other.matrix,
            self.rows - other.rows,
            self.weight - other.weight,
            self.count - other.count,
            self.log_noise - other.log_noise,
            self.moments - other.moments,
        )

    def recoded(self, k: int, coding: FloatArray) -> Part:
        """Return the sums for targets Y C; see `Sums.recoded`."""
        S, y = self.matrix, slice(len(self.matrix) - k, None)
        before = slice(0, len(S) - k)
        across = S[before, y] @ coding
        corner = coding.T @ S[y, y] @ coding
        matrix = np.block([[S[before, before], across], [across.T, corner]])
        return replace(self, matrix=matrix)

    def moved(self, D: FloatArray, step: FloatArray) -> Part:
        """Return the sums for targets Y + TA D, or Y + step where there are groups, about an origin − step.

        D (l, k), step (k,). Y are about their origin already: what moves is what it takes off.
        """
        S, k = self.matrix, len(step)
        y, t = slice(len(S) - k, None), slice(len(S) - k - len(D), len(S) - k)
        if self.groups is None:
            across, own = S[:, t] @ D, D.T @ S[t, t] @ D
        else:
            across = np.outer(self.groups.sums.sum(axis=0), step)
            own = self.groups.weight.sum() * np.outer(step, step)
        matrix = S.copy()
        matrix[:, y] += across
        matrix[y] += across.T
        matrix[y, y] += own
        first, second = self.moments
        moments = np.stack([first + self.weight * step, second + 2 * step * first + self.weight * step**2])
        groups = None if self.groups is None else self.groups.moved(step)
        return replace(self, matrix=matrix, moments=moments, groups=groups)


@dataclass
class Sums:
    """The sums of the rows that are fitted and of those held out to choose γ with."""

    fitted: Part
    held_out: Part | None
    classes: Any = None  # of a classifier: the labels whose indicators are the targets
    blocks: int = 1
    probes: Probes | None = None  # rows that say what the centres miss

    @property
    def total(self) -> Part:
        """The sums of all rows."""
        return self.fitted if self.held_out is None else self.fitted + self.held_out

    def __add__(self, other: Sums) -> Sums:
        mine, theirs = self, other
        if self.classes is not None:
            classes = np.union1d(self.classes, other.classes)
            mine, theirs = self.with_classes(classes), other.with_classes(classes)
        return Sums(
            mine.fitted + theirs.fitted,
            mine.held_out + theirs.held_out if mine.held_out and theirs.held_out else None,
            mine.classes,
            self.blocks + other.blocks,
            _joined(self.probes, other.probes),
        )

    def joined(self, other: Sums) -> Sums:
        """Return the sums of both; ValueError where they are of unlike targets."""
        if self.classes is None and len(self.fitted.matrix) != len(other.fitted.matrix):
            raise ValueError("the number of targets is not that of the blocks before")
        return self + other

    def recoded(self, k: int, coding: FloatArray) -> Sums:
        """Return the sums for targets Y C in place of the last k columns Y; coding C (k, k')."""
        held_out = None if self.held_out is None else self.held_out.recoded(k, coding)
        return replace(self, fitted=self.fitted.recoded(k, coding), held_out=held_out)

    def moved(self, D: FloatArray, step: FloatArray) -> Sums:
        """Return the sums about another origin; see `Part.moved`."""
        held_out = None if self.held_out is None else self.held_out.moved(D, step)
        return replace(self, fitted=self.fitted.moved(D, step), held_out=held_out)

    def with_classes(self, classes: Any) -> Sums:
        """Return the sums with targets for more classes: no row so far was of the new ones."""
        classes = np.union1d(classes, self.classes)
        if len(classes) == len(self.classes):
            return self
        before = len(self.fitted.matrix) - len(self.classes)
        places = np.concatenate([np.arange(before), before + np.searchsorted(classes, self.classes)])

        def widen(part: Part | None) -> Part | None:
            if part is None:
                return None
            matrix = np.zeros((before + len(classes),) * 2)
            matrix[np.ix_(places, places)] = part.matrix
            return replace(part, matrix=matrix)

        fitted = widen(self.fitted)
        assert fitted is not None
        return Sums(fitted, widen(self.held_out), classes, self.blocks)
