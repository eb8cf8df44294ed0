"""Where a search for kernel parameters starts beside the kernel as given: on a log grid, by a cheap look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._solvers.rows import distinct_rows
from .._validation import FloatArray
from ..kernels import After, Kernel, Rotated, Sphere
from ..kernels.compose import Normalized, OnColumns, Power, Product, Scaled, Sum

# What widths are multiplied by. The median distance is a large width: most steps go down.
_FACTORS = np.array([1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0, 4.0])

_MOST_STARTS = 2
MOST_POINTS = 500  # at which a criterion is looked at, to tell good starts from bad ones


def scales_without_effect(kernel: Kernel) -> list[Kernel]:
    """Return the parts whose scale multiplies the whole kernel, as γ divides it: one of the two is enough.

    Of a sum all of whose summands have a scale one stays as it is.
    """
    if isinstance(kernel, Scaled):
        return [kernel, *scales_without_effect(kernel.kernel)]
    if isinstance(kernel, OnColumns | After | Power | Normalized | Rotated | Sphere):
        return scales_without_effect(kernel.kernel)
    if isinstance(kernel, Product):
        return scales_without_effect(kernel.k1) + scales_without_effect(kernel.k2)
    if isinstance(kernel, Sum):
        first, second = scales_without_effect(kernel.k1), scales_without_effect(kernel.k2)
        return first[:1] if first and second else []
    return []


def drawn_rows(X: Any, most: int) -> NDArray[np.intp] | None:
    """Return the rows of so many points, as good as at random but always the same ones; None: all.

    Neither the order of the rows nor the units of dense columns matter: see `points_in_turn`.
    """
    place = points_in_turn(X)
    return None if place.max(initial=-1) < most else np.flatnonzero(place < most)


def points_in_turn(X: Any) -> NDArray[np.intp]:
    """Return for each row the place of its point among all, (n,), in an order as good as at random.

    Neither the order of the rows nor the units of dense columns matter: what tells points apart are the ranks
    of their values.
    """
    told_apart = X
    if not sparse.issparse(X):
        ranks = [np.unique(column, return_inverse=True)[1] for column in np.asarray(X).T]
        told_apart = np.column_stack(ranks).astype(np.float64) if ranks else X
    return distinct_rows(told_apart)[1]


def starts(
    given: FloatArray,
    widths: list[NDArray[np.intp]],
    limits: FloatArray,
    value: Callable[[FloatArray], float],
) -> list[FloatArray]:
    """Return the best local minima of a criterion along lines of parameters through those given.

    Parameters
    ----------
    given : ndarray of shape (p,)
        Parameters that are a start anyway.
    widths : list of ndarrays
        Where each width stands among the parameters; along the first line all of them change together, and
        along one further line each by itself.
    limits : ndarray of shape (p, 2)
        Of the parameters.
    value : callable
        The criterion at parameters, infinite where it has no value.
    """
    lines = [np.concatenate(widths), *(widths if len(widths) > 1 else [])] if widths else []
    known: dict[bytes, float] = {}
    found: list[tuple[float, FloatArray]] = []
    for line in lines:
        points: list[FloatArray] = []
        for factor in _FACTORS:
            point = given.copy()
            point[line] = np.clip(factor * given[line], limits[line, 0], limits[line, 1])
            if not points or np.any(point != points[-1]):
                points.append(point)
        values = []
        for point in points:
            if point.tobytes() not in known:
                known[point.tobytes()] = value(point)
            values.append(known[point.tobytes()])
        fence = [np.inf, *values, np.inf]
        for i, point in enumerate(points):
            lowest = np.isfinite(fence[i + 1]) and fence[i + 1] < min(fence[i], fence[i + 2])
            if lowest and np.any(point != given):
                found.append((fence[i + 1], point))
    found.sort(key=lambda pair: pair[0])
    return [point for _, point in found[:_MOST_STARTS]]
