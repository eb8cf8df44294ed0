"""What the centres miss of the kernel part: how much of it, and how unsure that makes the coefficients.

With R = Φ − Φ_xz Φ_zz⁻¹ Φ_zx at the rows, beside the features, and m_i the change of a coefficient by a unit
change of y_i, what is left out adds v² Σ_ij w_i m_i R_ij m_j w_j to the coefficients' covariance. A sample of
the rows tells of all of them: those with the smallest keys, whatever blocks they come in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr
from sklearn.utils import _safe_indexing

from .._solvers.rows import row_keys, text_keys
from .._validation import FloatArray, is_table_of_numbers
from .centers import stacked

PROBES = 1000  # rows that are looked at
MUCH = 0.01  # of the kernel part's variance, above which there is a warning
_OTHER_SEED = 0x2545F4914F6CDD1D  # than that of the centres


@dataclass(frozen=True)
class Probes:
    """A sample of the distinct rows, in the order of their keys."""

    keys: NDArray[np.uint64]
    rows: Any  # (n, d) as the centres are
    T: FloatArray  # (n, l): the free features there
    weights: FloatArray  # (n,): of all rows that are the same
    groups: Any = None  # (n,): labels, where groups have effects

    @classmethod
    def of(
        cls, given: Any, rows: Any, T: FloatArray, weights: FloatArray | None, groups: Any, seed: int
    ) -> Probes:
        """Return those of a block of rows."""
        hashed = row_keys if is_table_of_numbers(given) else text_keys
        keys = hashed(given, seed ^ _OTHER_SEED)
        w = np.ones(len(keys)) if weights is None else np.asarray(weights, dtype=np.float64)
        if len(keys) > PROBES:
            some = np.flatnonzero(keys <= np.partition(keys, PROBES)[PROBES])
            keys, rows, T, w = keys[some], _safe_indexing(rows, some), T[some], w[some]
            groups = None if groups is None else groups[some]
        return cls(keys, rows, np.asarray(T, dtype=np.float64), w, groups)._few()

    def __add__(self, other: Probes) -> Probes:
        groups = None if self.groups is None else np.concatenate([self.groups, other.groups])
        return Probes(
            np.concatenate([self.keys, other.keys]),
            stacked(self.rows, other.rows),
            np.concatenate([self.T, other.T]),
            np.concatenate([self.weights, other.weights]),
            groups,
        )._few()

    def _few(self) -> Probes:
        keys, first, same = np.unique(self.keys, return_index=True, return_inverse=True)
        some = first[:PROBES]
        groups = None if self.groups is None else self.groups[some]
        weights = np.bincount(same.reshape(-1), self.weights, len(keys)).astype(np.float64)[:PROBES]
        return Probes(keys[:PROBES], _safe_indexing(self.rows, some), self.T[some], weights, groups)


@dataclass(frozen=True)
class Missed:
    """In units of the kernel variance."""

    variance: float  # the mean of R_ii
    share: float  # of the mean variance of the kernel part that the features leave
    root: FloatArray  # (p, p): times its transpose, what it adds to the covariance of functionals


def missed(
    probes: Probes,
    R: FloatArray,
    across: FloatArray,
    values: FloatArray,
    influence: FloatArray,
    weight: float,
) -> Missed:
    """Return what probes tell of all rows, whose weights add up to `weight`.

    R (n, n), and across (n, p): of rows with p functionals; values (n, n): of the kernel; influence (n, p):
    of a row of weight one on the functionals, which are independent and equally sure, so that what is added
    is not negative in whatever units.

    What R_ii adds for each row by itself is in the variance of the noise already; what rows at one point and
    neighbours have in common is not.
    """
    n, w = len(R), probes.weights
    own = np.maximum(np.diagonal(R), 0.0)
    Q = qr(probes.T, mode="economic", pivoting=True)[0] if 0 < probes.T.shape[1] < n else np.empty((n, 0))
    beside = float(np.trace(values) - np.einsum("ij,ij->", Q, values @ Q)) / (n - Q.shape[1])
    variance = float(w @ own / w.sum())
    sites = weight / float(w.mean())  # distinct rows in all
    M = influence * w[:, None]
    alone = (M * own[:, None]).T @ M
    together = (M.T @ R @ M - alone) * (sites * max(sites - 1, 0.0) / (n * max(n - 1, 1)))
    again = (M * (own * np.maximum(1 - 1 / w, 0))[:, None]).T @ M * (sites / n)
    both = M.T @ across * (sites / n)
    eigenvalues, vectors = eigh(together + again - both - both.T)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return Missed(variance, variance / beside if beside > 0 else 0.0, root)
