"""Groups left out by fits without them, where rounding is large beside γ, to hold the closed form against.

That divides by blocks of (Φ + γΣw)⁻¹. Rows that are nearly the same make such a block singular, and a tiny γ
leaves few digits in any of them. A fit without the group has other rounding errors: what both differ by tells
how large they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import NotPositiveDefiniteError
from .._validation import FloatArray
from .._warnings import muted, warn
from ..exceptions import PrecisionWarning
from .merged import Merged

_LARGE_ENOUGH = 1e-8  # γΣw over the largest value of the kernel: no look from here on
_WORK = 1e11  # multiplications of the fits at most; then the groups that are left are not looked at
_SHOWS = 1e-5  # of the targets


def refitted(merged: Merged[Any], shift: float, predictions: FloatArray) -> FloatArray:
    """Return predictions (m, k) of rows by the model without their group, by fits where γ is tiny.

    PrecisionWarning where these are others than what the closed form has, by how much.
    """
    problem, groups = merged.problem, merged.groups
    if groups is None or not isinstance(problem, KernelProblem) or problem.codes is not None:
        return predictions
    if shift >= _LARGE_ENOUGH * float(np.abs(problem.kernel_diagonal()).max(initial=0.0)):
        return predictions
    out, points, w = predictions.copy(), np.arange(len(merged.targets)), problem.weights_or_ones
    allowed = max(1, int(_WORK / max(len(points), 1) ** 3))
    failed = False
    for g in range(min(len(groups), allowed)):
        left_out = groups.rows[groups.starts[g] : groups.starts[g + 1]]
        train = np.setdiff1d(points, left_out)
        part = problem.take(train, w[train])
        try:
            with muted(PrecisionWarning):
                found = part.solve(np.ascontiguousarray(merged.targets[train]), shift / part.total_weight)
        except (NotPositiveDefiniteError, ValueError):
            failed = True
            continue
        c = np.zeros_like(merged.targets)
        c[train] = found.c
        f = problem.kernel_times(c) + problem.T @ found.beta
        place = merged.place[merged.observation]
        rows = np.isin(place, left_out)
        out[rows] = f[place[rows]]
    size = float(np.abs(merged.targets).max(initial=0.0)) or 1.0
    moved = 1.0 if failed else float(np.abs(out - predictions).max(initial=0.0)) / size
    if not moved <= _SHOWS:
        warn(
            f"rounding may move predictions of the groups left out by {moved:.0e} of the targets: the "
            "regularization is so small beside the kernel's values that nearly equal rows cancel each other; "
            "choose a larger one, or merge such rows",
            PrecisionWarning,
        )
    return out
