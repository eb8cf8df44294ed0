"""The kernel of a model on centres, left to the data: chosen by the exact model on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._models.progress import Stages
from .._selection import kernel_choice, kernel_parameters, metric
from .._selection.choice import Choice, squared_error
from .._solvers.kernel_problem import KernelProblem
from .._validation import FloatArray
from ..kernels import Kernel

ROWS = 1000  # of the sample that are looked at: a choice costs some hundred fits of them
METRICS = ("metric", "metric_diagonal")


def choose_on_sample(
    kernel: Kernel,
    points: Any,
    T: FloatArray,
    targets: FloatArray,
    *,
    automatic: bool,
    optimize: Any,
    criterion: str,
    noisy: bool,
    prepare: Callable[[Kernel], Kernel],
    random_state: Any,
    stages: Stages,
) -> tuple[Kernel, Any]:
    """Return the kernel, and the record of what was tried.

    After a metric that was learnt the kernel has a view that is not fitted: see `metric.metric_of`.
    `kernel` is what to start from, resolved at `points`, the rows of the sample as it reads them; T (n, l)
    and `targets` (n, k) belong to them. `criterion` is that of γ, "loo" or "reml".
    """
    problem = KernelProblem(kernel, points, T, None)
    loss = squared_error(targets, None)
    record: Any
    if automatic or (isinstance(optimize, str) and optimize in METRICS):
        choose = Choice(problem, targets, "loo", loss, None)
        if automatic:
            found, record = kernel_choice.choose_kernel(choose, noisy=noisy, prepare=prepare, stages=stages)
            found, _ = metric.seen_by(found, record, points, None)
            return found, record
        return metric.metric_of(choose, kernel, diagonal=optimize == "metric_diagonal", stages=stages)
    outcome = kernel_parameters.optimize(
        problem,
        targets,
        criterion,
        20,
        loss,
        optimize,
        n_restarts=0,
        random_state=random_state,
        stages=stages,
        noisy=noisy,
    )
    return outcome.kernel, outcome.record


def sample_rows(n_rows: int) -> slice:
    """Return which rows of a pool are looked at: the pool is in the order of its random keys."""
    return slice(0, min(n_rows, ROWS))


def finite_targets(targets: Any) -> FloatArray:
    """Return targets (n, k) in double precision."""
    return np.ascontiguousarray(targets, dtype=np.float64)
