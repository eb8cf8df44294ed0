"""Which columns matter: widths of a Gaussian's columns by the slopes of a least-squares fit.

Where a function changes little along a column, distances along it say little: the column is scaled by the
fourth root of the mean square of its partial derivatives, twice, as `metric` does with directions. Columns
that only seem to matter would make things worse. So half of the points learn the widths and are fitted with
them, the other half says whether that helps, and then the other way round.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..kernels import Gaussian
from .choice import Choice

_LOOKED_AT = 1000  # points at most
_FEWEST = 50  # points: fewer say nothing of columns
_MOST_COLUMNS = 1000
_ROUNDS = 2
_NARROWEST = 1e-3  # of the largest scale: columns that do not matter keep so much, and finite widths
_CLEARLY = 2.0  # standard errors that the widths of columns must gain


def column_widths(choose: Choice, kernel: Gaussian, shift: float) -> Gaussian | None:
    """Return a Gaussian with a width for each column, if it predicts rows clearly better that it did not see.

    Parameters
    ----------
    choose : Choice
        The data.
    kernel : Gaussian
        Where to start from; the mean square of distances in units of the widths stays what it is.
    shift : float
        γΣw of the least-squares problem.
    """
    X = choose.problem.X
    if sparse.issparse(X) or not 1 < X.shape[1] <= _MOST_COLUMNS:
        return None
    choose = choose.on(_LOOKED_AT)
    X = np.asarray(choose.problem.X)
    if len(np.unique(X, axis=0)) < _FEWEST:
        return None
    first, second = choose.halves()
    turns = ((first, second), (second, first))
    w = np.concatenate([other.problem.weights_or_ones for _, other in turns])
    learnt = [_learnt(half, kernel, shift) for half, _ in turns]
    if learnt[0] is None or learnt[1] is None:
        return None
    gain = _errors(turns, [kernel, kernel], shift) - _errors(turns, learnt, shift)
    mean = float(np.average(gain, weights=w))
    error = float(np.sqrt(np.average((gain - mean) ** 2, weights=w) / w.sum()))
    return _learnt(choose, kernel, shift) if mean > _CLEARLY * error else None


def _learnt(choose: Choice, kernel: Gaussian, shift: float) -> Gaussian | None:
    """Return the Gaussian with the widths that the slopes at these rows say; None: they say nothing."""
    problem = choose.problem
    X = np.asarray(problem.X, dtype=np.float64)
    w = problem.weights_or_ones / problem.weights_or_ones.sum()
    first = 1 / np.broadcast_to(np.asarray(kernel.sigma, dtype=np.float64), X.shape[1:])
    variance = w @ (X - w @ X) ** 2
    scales, size = first, float(variance @ first**2)
    for _ in range(_ROUNDS):
        found = _fit(choose, Gaussian(1 / scales), shift)
        if found is None:
            return None
        gradients = Gaussian(1 / scales).input_gradient(X, X, found.c)  # (m, d, k), by the columns of X
        slopes = np.einsum("mdk,m->d", gradients**2, w, optimize=True) / first**2  # in the first units
        if not (np.isfinite(slopes).all() and slopes.max() > 0):
            return None
        relative = (slopes / slopes.max()) ** 0.25
        scales = first * np.maximum(relative, _NARROWEST)
        scales = scales * np.sqrt(size / float(variance @ scales**2))
    return Gaussian(1 / scales)


def _fit(choose: Choice, kernel: Gaussian, shift: float) -> Any:
    problem = choose.problem.with_kernel(kernel)
    try:
        return problem.solve(choose.targets, shift / problem.total_weight)
    except NotPositiveDefiniteError:
        return None


def _errors(turns: Any, kernels: Any, shift: float) -> FloatArray:
    """Return the squared errors (n,) at the second rows of each turn, of the fit to the first ones."""
    out = []
    for (half, other), kernel in zip(turns, kernels, strict=True):
        found = _fit(half, kernel, shift)
        if found is None:
            return np.full(sum(len(each.targets) for _, each in turns), np.inf)
        at = kernel.times(other.problem.X, half.problem.X, found.c) + other.problem.T @ found.beta
        out.append(((other.targets - at) ** 2).mean(axis=1))
    return np.concatenate(out)
