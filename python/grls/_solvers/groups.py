"""Samples by groups that are left out together, as the compiled core reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from .rank import dependence_tolerance, independent_qr

Labels = NDArray[np.intp]  # (m,): the group of each sample, from 0 on


@dataclass(frozen=True)
class Groups:
    """Groups of samples, which may overlap and need not hold every sample."""

    rows: NDArray[np.intp]  # those of the first group, then those of the second, …
    starts: NDArray[np.intp]  # (groups + 1,)

    @classmethod
    def of(cls, members: Sequence[Any]) -> Groups:
        """Return groups from the rows of each."""
        rows = [np.asarray(group, dtype=np.intp) for group in members]
        starts = np.cumsum([0, *map(len, rows)])
        return cls(np.concatenate([np.empty(0, dtype=np.intp), *rows]), starts.astype(np.intp))

    @classmethod
    def of_labels(cls, labels: Labels) -> Groups:
        """Return the groups of samples that have a label each."""
        order = np.argsort(labels, kind="stable").astype(np.intp)
        counts = np.bincount(labels)
        return cls(order, np.concatenate([[0], np.cumsum(counts)]).astype(np.intp))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[NDArray[np.intp]]:
        for start, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield self.rows[start:end]

    @property
    def largest(self) -> int:
        """How many rows the largest group has."""
        return int(np.diff(self.starts).max(initial=0))


def encoded(groups: Any, n_rows: int) -> tuple[Labels, NDArray[Any]]:
    """Return labels from 0 on of what users call their groups, and those names."""
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise ValueError(f"groups must name a group for each of the {n_rows} rows, got shape {given.shape}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError("groups must not be NaN or infinite: give every row a group")
    try:
        names, labels = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise ValueError("groups must be names of one kind, and none of them missing") from error
    return labels.reshape(-1).astype(np.intp), names


def dependent_without(T: FloatArray, weights: FloatArray | None, groups: Groups) -> tuple[int, int] | None:
    """Return the first group without which the features are dependent, and a feature that goes with it.

    None: there is no such group. Without the rows G the features T = QR have the Gram matrix
    Rᵀ(I − Q_GᵀQ_G)R.
    """
    weighted = np.asarray(T, dtype=np.float64)
    if weights is not None:
        weighted = np.sqrt(weights)[:, None] * weighted
    tolerance = dependence_tolerance(T.dtype)
    kept, Q, R = independent_qr(weighted, tolerance)
    if not kept:
        return None
    for number, rows in enumerate(groups):
        part = Q[rows]
        values, vectors = np.linalg.eigh(part.T @ part)
        if 1 - values[-1] <= max(tolerance, 1e-12):
            missing = np.linalg.solve(R.T, vectors[:, -1]) if len(kept) == 1 else R.T @ vectors[:, -1]
            return number, kept[int(np.abs(missing / np.linalg.norm(R, axis=0)).argmax())]
    return None
