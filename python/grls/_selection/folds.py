"""Folds of rows: every class in each, copies of a row and the rows of a group never apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import check_cv

from .._solvers.groups import Labels
from .._solvers.rows import distinct_rows
from .._validation import integer
from ..kernels import Kernel
from .starts import points_in_turn

N_FOLDS = 3


def held_together(kernel: Kernel, X: Any, groups: Labels | None) -> Labels:
    """Return for each row the number of the rows that it stays with, in an order as good as at random.

    Those at the same point, and those of the same group. The order does not depend on that of the rows,
    unless the kernel is a matrix.
    """
    place = distinct_rows(X)[1] if kernel.pairwise else points_in_turn(X)
    if groups is None:
        return place
    m, n_points = len(place), int(place.max()) + 1
    shape = (n_points + int(groups.max()) + 1,) * 2
    edges = sparse.coo_matrix((np.ones(m), (place, n_points + groups)), shape=shape)
    component = connected_components(edges, directed=False)[1][place]
    # Numbered by the first of its points.
    first = np.full(component.max() + 1, n_points)
    np.minimum.at(first, component, place)
    return np.asarray(np.unique(first[component], return_inverse=True)[1].astype(np.intp))


def drawn(together: Labels, labels: NDArray[np.intp], most: int) -> NDArray[np.intp] | None:
    """Return the rows of so many units, of every class its share and at least two; None: all."""
    class_of = _class_of(together, labels)
    n_units = len(class_of)
    if n_units <= most:
        return None
    turn = np.empty(n_units)
    for k in np.unique(class_of):
        mine = np.flatnonzero(class_of == k)
        turn[mine] = np.arange(len(mine)) / len(mine)
        turn[mine[:2]] = -1
    taken = np.zeros(n_units, dtype=bool)
    taken[np.argsort(turn, kind="stable")[:most]] = True
    return np.flatnonzero(taken[together])


def _class_of(together: Labels, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the class of each unit: the first, where its rows have several."""
    out = np.full(int(together.max()) + 1, np.iinfo(np.intp).max)
    np.minimum.at(out, together, labels)
    return out


def folds_of(together: Labels, labels: NDArray[np.intp], n_folds: int = N_FOLDS) -> NDArray[np.intp]:
    """Return the fold of each row, (m,); −1: it is never held out, for its class has no other.

    Parameters
    ----------
    together : ndarray of shape (m,)
        Numbers of the units that are held out as a whole: see `held_together`.
    labels : ndarray of shape (m,)
        The classes, from 0 on; each has its share in every fold.
    n_folds : int
        How many folds.
    """
    together = np.unique(together, return_inverse=True)[1]
    class_of = _class_of(together, labels)
    of_unit = np.empty(len(class_of), dtype=np.intp)
    of_unit[np.argsort(class_of, kind="stable")] = np.arange(len(class_of)) % n_folds
    for k in np.unique(labels):
        units = np.unique(together[labels == k])
        if len(np.unique(of_unit[units])) == 1:  # without its fold nothing would be left of the class
            of_unit[units] = -1
    return np.asarray(of_unit[together])


@dataclass(frozen=True)
class Fold:
    """Which rows train, and which are left out, (m,) each."""

    trains: NDArray[np.bool_]
    left_out: NDArray[np.bool_]


def splits(kernel: Kernel, X: Any, y: Any, cv: Any, rows: Any) -> list[Fold]:
    """Return the folds of checked rows whose targets are numbers.

    A number of folds: rows at the same point are in the same fold, and neither the order of the rows nor the
    units of dense columns matter. Else as a scikit-learn splitter or a list of positions says; `rows`: where
    the rows were among those given, if some had no weight.
    """
    m = X.shape[0]
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool):
        # Positions are those of the rows as given; a splitter sees the rows that count.
        places = np.arange(m) if rows is None or hasattr(cv, "split") else rows
        pairs = check_cv(cv).split(X, y)
        return [Fold(np.isin(places, train), np.isin(places, test)) for train, test in pairs]
    count = integer(cv, "cv", minimum=2)
    together = held_together(kernel, X, None)
    n_points = int(together.max()) + 1
    if n_points < 2:
        raise ValueError(
            'regularization="auto" leaves out rows, and all rows are at the same point: give it a number'
        )
    of_row = folds_of(together, np.zeros(m, dtype=np.intp), min(count, n_points))
    return [Fold(of_row != fold, of_row == fold) for fold in range(min(count, n_points))]
