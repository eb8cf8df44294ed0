"""The choice of γ in closed form: leave-one-out, generalised cross-validation, restricted likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _memory
from ._problem import Problem
from ._validation import FloatArray, integer
from .exceptions import NotPositiveDefiniteError
from .kernels import distinct_rows

CRITERIA = ("loo", "gcv", "reml")

# Loss of leave-one-out predictions (m, k) of one γ: one number, or one per output.
Loss = Callable[[FloatArray], FloatArray]


@dataclass
class Selection:
    """The whole curve, and the choice."""

    path: FloatArray  # (g,) γ
    criterion: FloatArray  # (g,) or (g, k): smaller is better
    chosen: FloatArray  # () or (k,): γ
    loo_predictions: FloatArray | None  # (m, k) at the chosen γ


@dataclass
class _Merged:
    """Samples at the same point as one: they share a prediction, and none can stand in for another."""

    problem: Problem
    targets: FloatArray
    place: NDArray[np.intp]  # of each original sample


def _merge(problem: Problem, targets: FloatArray) -> _Merged:
    m = len(targets)
    rows, place = distinct_rows(problem.X, problem.T)
    if len(rows) == m:
        return _Merged(problem, targets, np.arange(m))
    weights = np.ones(m) if problem.weights is None else problem.weights
    total = np.bincount(place, weights).astype(np.float64)
    sums = np.stack([np.bincount(place, weights * column) for column in targets.T], axis=1)
    return _Merged(problem.take(rows, total), sums / total[:, None], place)


def grid(specification: Any, n_samples: int, total_weight: float) -> tuple[FloatArray, bool]:
    """Return the shifts γΣw to try, and whether they are relative to the mean of the spectrum."""
    if np.ndim(specification) == 0:
        count = integer(specification, "regularization_grid", minimum=2)
        return np.geomspace(1e-9, max(n_samples, 10), count), True
    values = np.sort(np.asarray(specification, dtype=np.float64).ravel())
    if values.size == 0 or not np.all(np.isfinite(values)) or values[0] <= 0:
        raise ValueError("regularization_grid must hold positive, finite numbers")
    return values * total_weight, False


def select(
    problem: Problem, targets: FloatArray, criterion: str, specification: Any, loss: Loss, *, per_output: bool
) -> Selection:
    """Evaluate the criterion along the path and choose the γ where it is smallest.

    Samples at the same point are left out together: a sample given twice must not vouch for itself. So a
    sample of weight two and a sample given twice lead to the same choice.
    """
    merged = _merge(problem, targets)
    m = len(merged.targets)
    leave_one_out = criterion == "loo"
    _memory.require(
        (12.0 if leave_one_out else 4.0) * m * m,
        f"choosing the regularization of {m} samples by {criterion!r}",
        "give regularization a number"
        + (', or use "gcv" or "reml", which take a third' if leave_one_out else " or use fewer samples"),
    )
    shifts, relative = grid(specification, m, problem.total_weight)
    path = merged.problem.path(merged.targets, shifts, relative=relative, leave_one_out=leave_one_out)
    gammas = np.asarray(path["shifts"]) / problem.total_weight
    n_free = m - len(path["kept"])
    predictions = None
    if leave_one_out:
        predictions = [(merged.targets - residual)[merged.place] for residual in path["loo"]]
        curve = np.stack([np.atleast_1d(loss(prediction)) for prediction in predictions])
    elif criterion == "gcv":
        curve = m * path["squared_norm"] / path["trace"][:, None] ** 2
    else:
        curve = path["log_determinant"][:, None] + n_free * np.log(path["quadratic"] / n_free)
    known = np.where(np.isfinite(curve), curve, np.inf)
    if not per_output:
        known = known.mean(axis=1, keepdims=True)
    if np.isinf(known).all(axis=0).any():
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")
    best = known.argmin(axis=0)
    if predictions is not None:
        if per_output:
            picked = np.stack([predictions[g][:, p] for p, g in enumerate(best)], axis=1)
        else:
            picked = predictions[best[0]]
    return Selection(
        path=gammas,
        criterion=known if per_output else known[:, 0],
        chosen=gammas[best] if per_output else gammas[best[0]],
        loo_predictions=None if predictions is None else picked,
    )
