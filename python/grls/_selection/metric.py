"""The metric of a kernel of distances, learnt from the directions in which the model function changes.

After a fit the average outer product of the gradients of the kernel part, A = Σ ∇g ∇gᵀ / m, tells along which
directions it changes. Rows are mapped by A^¼, the kernel has its median width anew, and so on for some
rounds; the round that predicts rows best that were left out is taken. What free features explain is not in
the kernel part, and so not in its metric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._models.progress import Stages
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..features import LinearMap
from ..kernels import After, Gaussian, Kernel, Laplace, Matern, RationalQuadratic
from ..kernels.compose import OnColumns
from ..kernels.widths import median_distance
from .choice import Choice

LEARNT_ON = 1500  # points, at most
MOST_COLUMNS = 1000  # whose metric is learnt: it is a matrix of these

_RADIAL = (Gaussian, Laplace, Matern, RationalQuadratic)


@dataclass
class Round:
    """One metric, and how well it did."""

    map: FloatArray  # (d, d): rows are multiplied by it
    width: float  # of the kernel of the mapped rows
    criterion: float  # squared error of the rows left out


@dataclass
class Metric:
    """The rounds of learning a metric."""

    rounds: list[Round]
    best: int
    metric: tuple[FloatArray, FloatArray] | None = None  # of the rows as given, and the shares of its columns

    @property
    def chosen(self) -> Round:
        """The round that was taken."""
        return self.rounds[self.best]


def learn_metric(
    choose: Choice,
    family: Callable[[Any], Kernel],
    scales: FloatArray,
    *,
    first_width: float | None = None,
    n_rounds: int = 5,
    diagonal: bool = False,
    stages: Stages,
) -> Metric:
    """Learn the metric of a radial kernel on the rows of a choice of γ.

    Parameters
    ----------
    choose : Choice
        The data, and leave-one-out.
    family : callable
        The kernel of a width.
    scales : ndarray of shape (d,)
        What columns are divided by before the first round.
    first_width : float, default=None
        The kernel's width in the first round; None: the median distance, as in all others.
    n_rounds : int, default=5
        How often the metric is changed.
    diagonal : bool, default=False
        Whether columns are scaled only, and not mixed.
    stages : Stages
        Told of each round.
    """
    problem = choose.problem
    weights = problem.weights_or_ones
    # Distances do not change with the origin, but the digits of the mapped rows do.
    X = np.asarray(problem.X, dtype=np.float64)
    centred = X - np.average(X, axis=0, weights=weights)
    base: FloatArray = 1 / scales
    B: FloatArray = np.eye(X.shape[1])
    rounds: list[Round] = []
    for number in range(n_rounds + 1):
        mapped = centred @ (base[:, None] * B)
        width = first_width if number == 0 and first_width else median_distance(mapped)
        seen = replace(choose, problem=replace(problem, kernel=family(width), X=mapped))
        selection = seen(family(width), 20)
        if selection is None:
            break
        rounds.append(Round(base[:, None] * B, width, float(selection.criterion.min())))
        stages.report(f"metric, round {number}: {choose.criterion} error {rounds[-1].criterion:.6g}")
        if number == n_rounds:
            break
        try:
            c = seen.problem.solve(choose.targets, float(selection.chosen)).c
        except NotPositiveDefiniteError:
            break  # hardly any noise: the gradients of such a fit are those of rounding errors
        gradients = radial_gradients(family, width, mapped, c) @ B.T  # (k, m, d), of the columns before B
        A = np.einsum("kmi,m,kmj->ij", gradients, weights / weights.sum(), gradients, optimize=True)
        root = _fourth_root(np.diag(np.diag(A)) if diagonal else A)
        if root is None:
            break  # the kernel part is constant: there is no direction
        B = root
    if not rounds:
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix definite")
    return Metric(rounds, int(np.argmin([each.criterion for each in rounds])))


def radial_gradients(
    family: Callable[[Any], Kernel], width: float, X: FloatArray, c: FloatArray
) -> FloatArray:
    """Return the gradients (k, m, d) of Σ_i c_i k(x_i, ·) at the points X themselves."""
    return family(width).input_gradient(X, X, c).transpose(2, 0, 1)


def metric_of(choose: Choice, kernel: Kernel, *, diagonal: bool, stages: Stages) -> tuple[Kernel, Metric]:
    """Return a radial kernel after the map that was learnt for it, and the rounds.

    `choose` has the kernel's points; its widths are where the metric starts.
    """
    X = choose.problem.X
    if type(kernel) not in _RADIAL or getattr(kernel, "norm", "l2") != "l2":
        names = ", ".join(sorted(kind.__name__ for kind in _RADIAL))
        raise ValueError(f'optimize="metric" is for one kernel of distances ({names}), got {kernel!r}')
    if sparse.issparse(X) or X.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f'optimize="metric" learns a matrix of all columns: it needs dense X of at most {MOST_COLUMNS} '
            f"columns, got {'a sparse matrix' if sparse.issparse(X) else f'{X.shape[1]} columns'}"
        )
    choose = choose.on(LEARNT_ON)
    widths = np.asarray(kernel.sigma, dtype=np.float64)
    first_width: float | None = 1.0
    if widths.ndim == 0:  # columns start in units of their own
        widths = np.asarray(type(kernel)("medians").resolve(choose.problem.X).sigma)
        first_width = None

    def family(sigma: Any) -> Any:
        copy: Any = clone(kernel)
        copy.sigma = sigma
        return copy

    learnt = learn_metric(choose, family, widths, first_width=first_width, diagonal=diagonal, stages=stages)
    return family(learnt.chosen.width).after(learnt.chosen.map), learnt


def seen_by(
    kernel: Kernel, record: Any, X: FloatArray, weights: FloatArray | None
) -> tuple[Kernel, FloatArray]:
    """Return a kernel that was chosen for rows with its views fitted, and the points that it reads.

    A metric that it has is kept in the record of the choice.
    """
    if not kernel.reads_given:
        return kernel, X
    record.metric = scaled_metric(kernel, X, weights)
    return kernel.fit_views(X)


def scaled_metric(
    kernel: Any, X: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray] | None:
    """Return the metric (d, d) that a kernel after a map reads, and what share columns have in distances.

    None: there is no map, but another view.
    """
    d = X.shape[1]
    chosen: Any = slice(None)
    if isinstance(kernel, OnColumns):
        chosen, kernel = kernel.columns, kernel.kernel
    if not isinstance(kernel, After) or not isinstance(kernel.transformer, LinearMap):
        return None
    scaled = np.zeros((d, np.shape(kernel.transformer.matrix)[1]))
    scaled[chosen] = np.asarray(kernel.transformer.matrix) / kernel.kernel.sigma
    metric = scaled @ scaled.T
    mean = np.average(X, axis=0, weights=weights)
    shares = np.diag(metric) * np.average((X - mean) ** 2, axis=0, weights=weights)
    return metric, shares / (shares.sum() or 1.0)


def _fourth_root(A: FloatArray) -> FloatArray | None:
    """Return A^¼, scaled to the size of the identity; None: A is zero, or not finite."""
    if not np.isfinite(A).all():
        return None
    values, vectors = np.linalg.eigh(A)
    values = np.maximum(values, 0)
    if not values.max() > 0:
        return None
    root = (vectors * values**0.25) @ vectors.T
    return np.asarray(root * np.sqrt(len(A) / np.sum(root**2)))
