"""The promise of a conformal band: the span of the features, and what it can and cannot keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from .._validation import FloatArray

__all__ = ["Promise", "needed_rows"]

_DEPENDENT = 1e-10  # singular values below this share of the largest: a direction without calibration rows
_OUTSIDE = 1e-7  # of a row's features: what the calibration rows do not span


def needed_rows(alpha: float) -> int:
    """Return how many calibration rows a group needs for a finite band: (1 − α)/α, rounded up."""
    return int(np.ceil((1 - alpha) / alpha * (1 - 1e-12)))


@dataclass(frozen=True)
class Promise:
    """The features of the calibration rows, T (n, l), and an orthonormal basis of what they span."""

    T: FloatArray  # (n, l), as given
    names: list[str]
    sizes: FloatArray  # (l,): the largest absolute value of each column
    to_basis: FloatArray  # (l, r), from columns divided by their sizes
    projector: FloatArray  # (l, r), orthonormal: the span of the rows

    @classmethod
    def of(cls, T: FloatArray, names: list[str]) -> Promise:
        """Return that of the calibration rows' features."""
        sizes = np.abs(T).max(axis=0, initial=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        _, values, rows = linalg.svd(T / sizes, full_matrices=False)
        kept = values > _DEPENDENT * values.max(initial=0) * np.sqrt(len(T))
        V = rows[kept].T
        return cls(T, names, sizes, V * (np.sqrt(len(T)) / values[kept]), V)

    @property
    def basis(self) -> FloatArray:
        """(n, r): what the calibration rows have of it."""
        return self.in_basis(self.T)

    def in_basis(self, T: FloatArray) -> FloatArray:
        """Return features (q, l) in the basis, (q, r)."""
        return np.asfortranarray((T / self.sizes) @ self.to_basis)

    def outside(self, T: FloatArray) -> FloatArray:
        """Return which rows (q,) have features that no combination of calibration rows has."""
        scaled = T / self.sizes
        left = scaled - (scaled @ self.projector) @ self.projector.T
        return np.asarray(np.linalg.norm(left, axis=1) > _OUTSIDE * np.linalg.norm(scaled, axis=1))

    def spans_constant(self) -> bool:
        """Whether coverage of all rows together is among what is promised."""
        Q = self.basis / np.sqrt(len(self.T))
        left = 1 - Q @ Q.sum(axis=0)
        return bool(np.abs(left).max() < 1e-6)

    def groups(self) -> list[int]:
        """Return the columns that are indicators of groups."""
        return [p for p, column in enumerate(self.T.T) if np.isin(column, (0, 1)).all()]

    def small_groups(self, alpha: float) -> list[tuple[str, int]]:
        """Return the groups with fewer calibration rows than a finite band needs, and their rows."""
        counts = [(self.names[p], int(self.T[:, p].sum())) for p in self.groups()]
        return [(name, count) for name, count in counts if count < needed_rows(alpha)]

    def reason(self, t: FloatArray, alpha: float) -> str:
        """Return why the band of a row with the features t (l,) is infinite."""
        for p, value in enumerate(t):
            column = self.T[:, p]
            if value <= 0 or column.min() < 0:
                continue
            backing = float(column.sum())
            if alpha * backing < (1 - alpha) * value * (1 - 1e-9):
                if np.isin(column, (0, 1)).all() and value == 1:
                    return (
                        f"feature {self.names[p]} has {backing:.0f} calibration rows, and alpha={alpha:g} "
                        f"needs {needed_rows(alpha)} at least"
                    )
                return (
                    f"feature {self.names[p]} adds up to {backing:.3g} over the calibration rows, and "
                    f"alpha={alpha:g} needs {(1 - alpha) / alpha * value:.3g} at least"
                )
        return (
            "its features together, such as a rare combination of groups or a place far outside the "
            "calibration rows, have too few of these behind them"
        )
