"""What the kernels of a choice read of the rows: columns, scores of those with tails, labels.

A column that is constant, or another one in other units, tells nothing: it is not read. Beside a column with
long tails its normal scores are read, and a column of few values is compared as labels too; widths of their
own tell which of these matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from ..features import NormalScores
from ..kernels import Categorical, Kernel

_SAME = 1e-12  # columns are one another's when their correlation is within this of 1 or -1

_HANDFUL = 8  # rows

_LEVELS = (3, 30)  # of columns that may be labels: two are numbers just as well
_POINTS_PER_LEVEL = 5
_FEWEST_POINTS = 60  # that tell whether a column is better read otherwise
_MOST_WIDTHS = 60


def informative_columns(X: FloatArray, most: int) -> NDArray[np.intp]:
    """Return the columns that vary and are no multiples of earlier ones plus a constant.

    Of more than `most` that vary, and of a handful of rows, in which columns are alike by chance, all that
    vary are returned.
    """
    # Squares of what is measured in 1e200 overflow.
    low, high = X.min(axis=0), X.max(axis=0)
    varying = np.flatnonzero(high > low)
    if not 1 < len(varying) <= most or len(X) < _HANDFUL:
        return varying
    Z = np.asarray(X[:, varying], dtype=np.float64) / np.abs([low, high]).max(axis=0)[varying]
    Z -= Z.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        Z /= np.sqrt((Z**2).sum(axis=0))
    same = np.abs(Z.T @ Z) > 1 - _SAME
    first = same.argmax(axis=0)  # of those alike
    return np.asarray(varying[(first == np.arange(len(varying))) | ~same.any(axis=0)])


@dataclass(frozen=True)
class Reading:
    """How kernels read rows; `points` are the matrix of numbers that their widths belong to."""

    columns: tuple[int, ...] | None = None  # of the rows; None: all
    scores: NormalScores | None = None  # fitted to these columns
    labels: tuple[int, ...] = ()  # positions among these columns that are compared as labels too

    @staticmethod
    def of(X: Any, most: int) -> Reading:
        """Return the plain reading of dense rows; of more than `most` columns doubles are not looked for."""
        chosen = informative_columns(X, most)
        return Reading(None if len(chosen) in (0, X.shape[1]) else tuple(chosen.tolist()))

    @property
    def is_plain(self) -> bool:
        """Whether only columns as they are are read."""
        return self.scores is None and not self.labels

    @property
    def name(self) -> str:
        """What is read beside the columns."""
        return " and ".join(["scores"] * (self.scores is not None) + ["labels"] * bool(self.labels))

    def chosen(self, X: Any) -> Any:
        """Return the columns of the rows."""
        return X if self.columns is None else np.ascontiguousarray(X[:, list(self.columns)])

    def points(self, chosen: Any) -> Any:
        """Return the matrix that is read, of rows that have the chosen columns."""
        return chosen if self.scores is None else self.scores.transform(chosen)

    def richer(self, chosen: Any) -> Reading | None:
        """Return the reading with all scores and labels that these columns may have; None: there are none."""
        points = chosen[distinct_rows(chosen)[0]]
        n, d = points.shape
        if n < _FEWEST_POINTS:
            return None
        levels = [len(np.unique(column)) for column in points.T]
        most = min(_LEVELS[1], n // _POINTS_PER_LEVEL)
        labels = tuple(c for c, count in enumerate(levels) if _LEVELS[0] <= count <= most)
        scores = NormalScores().fit(chosen)
        rich = replace(self, scores=scores if len(scores.columns_) else None, labels=labels)
        return None if rich.is_plain or d + len(scores.columns_) + len(labels) > _MOST_WIDTHS else rich

    def kernel(self, family: Callable[[Any], Kernel], widths: FloatArray) -> Kernel:
        """Return the kernel of the points that has these widths, of the points' columns and the labels."""
        if not self.labels:
            return family(widths)
        n = len(widths) - len(self.labels)
        return family(widths[:n]) * Categorical(widths[n:]).on(list(self.labels))

    @property
    def label_units(self) -> FloatArray:
        """What the widths of labels are measured in: how many columns have them."""
        return np.full(len(self.labels), float(len(self.labels)))

    @property
    def parameters(self) -> list[str]:
        """Names of the widths in a kernel of the points."""
        return ["k1__sigma", "k2__kernel__sigma"] if self.labels else ["sigma"]

    def stands_in(self, widths: FloatArray, *, scores: bool = True) -> NDArray[np.bool_]:
        """Return which widths are those of columns that labels, or scores too, stand in for."""
        columns = list(self.labels)
        if scores and self.scores is not None:
            columns += self.scores.columns_.tolist()
        return np.isin(np.arange(len(widths)), columns)

    def of_rows(self, kernel: Kernel) -> Kernel:
        """Return a kernel of the points as one of the rows."""
        if self.scores is not None:
            kernel = kernel.after(self.scores)
        return kernel if self.columns is None else kernel.on(list(self.columns))

    def with_scores(self, has_say: NDArray[np.bool_], widths: FloatArray) -> tuple[Reading, FloatArray]:
        """Return the reading with only some of its scores, and the widths that are left.

        `has_say` tells which ones; widths are those of the columns, the scores and the labels.
        """
        start = len(widths) - len(self.labels) - len(has_say)
        gone = start + np.flatnonzero(~has_say)
        scores = self.scores.some(has_say) if self.scores is not None and has_say.any() else None
        return replace(self, scores=scores), np.delete(widths, gone)
