"""How far outside the training rows a new row lies, as the features see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from .._validation import FloatArray


@dataclass(frozen=True)
class Leverage:
    """h(x) = φ(x)ᵀ (TᵀWT)⁻¹ φ(x), the variance of a fit of the features alone in units of the noise."""

    root: FloatArray  # (l, l'): (TᵀWT)⁻¹ = root rootᵀ on the l' independent features, zero for the others
    largest: float  # of h in the training rows

    @classmethod
    def of_rows(cls, T: FloatArray, weights: FloatArray | None, support: Any) -> Leverage | None:
        """Return that of training rows T (m, l), whose independent features are `support`."""
        rows = np.asarray(T, dtype=np.float64)
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        weighted = rows[:, support] if weights is None else np.sqrt(weights)[:, None] * rows[:, support]
        if weighted.shape[1] == 0:
            return None
        root = np.zeros((T.shape[1], weighted.shape[1]))
        if weighted.shape[1] == 1:  # the constant, most often
            root[support] = 1 / np.linalg.norm(weighted)
        else:
            R = np.linalg.qr(weighted, mode="r")
            root[support] = linalg.solve_triangular(R, np.eye(len(R)))
        return cls._among(root, rows)

    @classmethod
    def of_sums(cls, S: FloatArray, A: FloatArray, T: FloatArray) -> Leverage | None:
        """Return that of the sums S = (TA)ᵀW(TA), A (l, l'), with T at some of the rows."""
        if len(S) == 0:
            return None
        root = linalg.solve_triangular(linalg.cholesky(S, lower=True), A.T, lower=True).T
        return cls._among(root, T)

    @classmethod
    def _among(cls, root: FloatArray, rows: FloatArray) -> Leverage:
        """Return it with the largest h of rows that count, of which each is seen as a new one."""
        return cls(root, float(np.max(cls(root, 0.0).at(rows), initial=0.0)))

    def at(self, T: FloatArray) -> FloatArray:
        """Return h at new rows (n,)."""
        half = T @ self.root
        return np.asarray(np.einsum("ij,ij->i", half, half))
