"""Coverage of bands on rows that neither fitted nor calibrated them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._validation import FloatArray

__all__ = ["CoverageReport", "coverage_of", "slices"]


@dataclass(frozen=True)
class CoverageReport:
    """How often bands held, overall, in groups and along features.

    Attributes
    ----------
    names : list of str
        Which rows.
    alpha : ndarray of shape (k,)
        The share of misses that the band allows.
    n_rows, n_covered : ndarrays of shape (k,)
        How many rows there are, and in how many the band holds the observation.
    coverage : ndarray of shape (k,)
        Their ratio.
    lower, upper : ndarrays of shape (k,)
        The ends of an exact binomial (Clopper-Pearson) interval of `confidence` for the coverage.
    width : ndarray of shape (k,)
        Median width of the bands; infinite where half of them are, or where the bands are one-sided.
    n_infinite : ndarray of shape (k,)
        How many bands are infinite on a side where they were to end.
    confidence : float
        That of the intervals.
    """

    names: list[str]
    alpha: FloatArray
    n_rows: NDArray[np.intp]
    n_covered: NDArray[np.intp]
    coverage: FloatArray
    lower: FloatArray
    upper: FloatArray
    width: FloatArray
    n_infinite: NDArray[np.intp]
    confidence: float

    @property
    def below(self) -> NDArray[np.bool_]:
        """(k,): where even the upper end of the interval is below 1 − α."""
        return np.asarray(self.upper < 1 - self.alpha)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        import pandas as pd

        names = ("alpha", "n_rows", "n_covered", "coverage", "lower", "upper", "width", "n_infinite", "below")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="rows"))

    def __str__(self) -> str:
        size = max(len("rows"), *map(len, self.names))
        lines = [
            f"{'rows':<{size}} {'n':>7} {'promised':>8} {'coverage':>8}  "
            f"{100 * self.confidence:.0f} % interval  {'median width':>12}"
        ]
        for i, name in enumerate(self.names):
            note = "  below" if self.below[i] else ""
            if self.n_infinite[i]:
                note += f"  {self.n_infinite[i]} infinite"
            lines.append(
                f"{name:<{size}} {self.n_rows[i]:>7} {1 - self.alpha[i]:>8.3f} {self.coverage[i]:>8.3f}  "
                f"{self.lower[i]:.3f} … {self.upper[i]:.3f}  {self.width[i]:>12.4g}{note}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def slices(T: FloatArray, names: list[str], n_bins: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return which rows to look at together: all, each group, and pieces along each other feature."""
    found: list[tuple[str, NDArray[np.bool_]]] = [("all", np.ones(len(T), dtype=bool))]
    for name, column in zip(names, T.T, strict=True):
        if np.ptp(column) == 0:
            continue
        if np.isin(column, (0, 1)).all():
            found.append((name, column == 1))
            continue
        edges = np.unique(np.quantile(column, np.linspace(0, 1, n_bins + 1)))
        for low, high in pairwise(edges):
            last = high == edges[-1]
            inside = (column >= low) & ((column <= high) if last else (column < high))
            found.append((f"{name} in [{low:.4g}, {high:.4g}{']' if last else ')'}", inside))
    return found


def coverage_of(
    bands: FloatArray,
    y: FloatArray,
    alphas: list[float],
    parts: list[tuple[str, NDArray[np.bool_]]],
    confidence: float,
    ends: tuple[int, ...],
) -> CoverageReport:
    """Return the report of bands (n, 2, levels); `ends`: which of the two are to be finite."""
    names, rows = [], []
    for level, alpha in enumerate(alphas):
        band = bands[:, :, level]
        held = np.asarray((band[:, 0] <= y) & (y <= band[:, 1]))
        infinite = np.asarray(np.isinf(band[:, list(ends)]).any(axis=1))
        for name, inside in parts:
            n, k = int(inside.sum()), int(held[inside].sum())
            if n == 0:
                continue
            interval = stats.binomtest(k, n).proportion_ci(confidence, method="exact")
            width = float(np.median(band[inside, 1] - band[inside, 0]))
            names.append(name)
            rows.append((alpha, n, k, k / n, interval.low, interval.high, width, int(infinite[inside].sum())))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    alpha_of, n_rows, n_covered, coverage, lower, upper, widths, n_infinite = columns
    return CoverageReport(
        names,
        alpha_of.astype(np.float64),
        n_rows.astype(np.intp),
        n_covered.astype(np.intp),
        coverage.astype(np.float64),
        lower.astype(np.float64),
        upper.astype(np.float64),
        widths.astype(np.float64),
        n_infinite.astype(np.intp),
        confidence,
    )
