"""The metric of a kernel of distances, learnt from the directions in which the model function changes.

After a fit the average outer product of the gradients of the kernel part, A = Σ ∇g ∇gᵀ / m, tells along which
directions it changes. Rows are mapped by A^¼, the kernel has its median width anew, and so on for some
rounds; the round that predicts rows best that were left out is taken. What free features explain is not in
the kernel part, and so not in its metric.

Of a kernel that is made of others one part has a metric. What it reads, columns or what a view makes of rows,
is mapped; in the search the mapped columns stand beside all others, so that gradients by them are those of
that part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._models.progress import Stages
from .._solvers import kernel_values
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from ..features import LinearMap
from ..kernels import (
    After,
    Categorical,
    Gaussian,
    Kernel,
    Laplace,
    Matern,
    Overlap,
    RationalQuadratic,
    Rotated,
    Sphere,
)
from ..kernels.compose import OnColumns, Scaled
from ..kernels.views import Placed
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
    left_out: FloatArray | None = None  # (m, k): predictions of these


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
    read: list[int] | None = None,
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
    read : list of int, default=None
        The d columns that are mapped: they then stand to the right of all columns, where the kernel reads
        them beside others. None: they are all there are.
    """
    problem = choose.problem
    weights = problem.weights_or_ones
    # Distances do not change with the origin, but the digits of the mapped rows do.
    X = np.asarray(problem.X, dtype=np.float64)
    own = X if read is None else X[:, read]
    d = own.shape[1]
    centred = own - np.average(own, axis=0, weights=weights)
    base: FloatArray = 1 / scales
    B: FloatArray = np.eye(d)
    rounds: list[Round] = []
    for number in range(n_rounds + 1):
        mapped = centred @ (base[:, None] * B)
        width = first_width if number == 0 and first_width else median_distance(mapped)
        points = mapped if read is None else np.hstack([X, mapped])
        seen = replace(choose, problem=replace(problem, kernel=family(width), X=points))
        selection = seen(family(width), 20)
        if selection is None:
            break
        rounds.append(Round(base[:, None] * B, width, float(selection.criterion.min()), selection.left_out))
        stages.report(f"metric, round {number}: {choose.criterion} error {rounds[-1].criterion:.6g}")
        if number == n_rounds:
            break
        root = _next_map(seen, float(selection.chosen), B, diagonal=diagonal)
        if root is None:
            break
        B = root
    if not rounds:
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix definite")
    return Metric(rounds, int(np.argmin([each.criterion for each in rounds])))


def _next_map(seen: Choice, gamma: float, B: FloatArray, *, diagonal: bool) -> FloatArray | None:
    """Return the map that the gradients of a fit ask for, columns being mapped by B so far; None: none.

    The mapped columns are the last ones of the points.
    """
    problem, weights = seen.problem, seen.problem.weights_or_ones
    try:
        c = problem.solve(seen.targets, gamma).c
    except NotPositiveDefiniteError:
        return None  # hardly any noise: the gradients of such a fit are those of rounding errors
    by_mapped = radial_gradients(problem.kernel, problem.X, c)[:, :, -len(B) :]
    gradients = by_mapped @ B.T  # (k, m, d), of the columns before B
    A = np.einsum("kmi,m,kmj->ij", gradients, weights / weights.sum(), gradients, optimize=True)
    return _fourth_root(np.diag(np.diag(A)) if diagonal else A)  # None: the kernel part is constant


def radial_gradients(kernel: Kernel, X: FloatArray, c: FloatArray) -> FloatArray:
    """Return the gradients (k, m, d) of Σ_i c_i k(x_i, ·) at the points X themselves."""
    return kernel_values.input_gradient(kernel.lower(X.shape[1]), X, X, c).transpose(2, 0, 1)


@dataclass(frozen=True)
class _Part:
    """A part of a kernel, and what it reads."""

    path: str  # of the part among the kernel's parameters; empty: it is the kernel
    kernel: Any
    columns: tuple[int, ...]  # that it reads, in the matrix of the points
    among: tuple[int, ...]  # the same ones, as columns of the last view before it, or of X
    n_among: int  # how many columns these are
    is_alone: bool = True  # whether nothing stands beside it but a factor
    is_mapped: bool = False  # whether it reads distances of columns that are mapped by a kernel

    def parts(self) -> Iterator[_Part]:
        """Yield the part, and all that it is made of."""
        yield self
        kernel, inside = self.kernel, self
        if isinstance(kernel, After):
            width = kernel._width
            inside = replace(self, columns=tuple(kernel._columns), among=tuple(range(width)), n_among=width)
        elif isinstance(kernel, OnColumns):
            positions = kernel._positions(len(self.columns), None)
            chosen = ([read[p] for p in positions] for read in (self.columns, self.among))
            columns, among = (tuple(each) for each in chosen)
            inside = replace(self, columns=columns, among=among)
        elif isinstance(kernel, Rotated | Sphere):
            inside = replace(self, is_mapped=True)
        elif not isinstance(kernel, Scaled):
            inside = replace(self, is_alone=False)
        for name, value in kernel.get_params(deep=False).items():
            if isinstance(value, Kernel):
                path = f"{self.path}__{name}" if self.path else name
                yield from replace(inside, path=path, kernel=value).parts()

    @property
    def has_metric(self) -> bool:
        """Whether it reads the Euclidean distance, and has a width in it."""
        return type(self.kernel) in _RADIAL and getattr(self.kernel, "norm", "l2") == "l2"

    def put(self, whole: Kernel, other: Kernel) -> Kernel:
        """Return a kernel that has this part with another one in its place."""
        if not self.path:
            return other
        copy: Kernel = clone(whole)
        copy.set_params(**{self.path: other})
        return copy


def _part_to_learn(kernel: Kernel, X: Any) -> _Part:
    """Return the one part of a resolved kernel that has a metric; ValueError says why there is none."""
    names = ", ".join(sorted(kind.__name__ for kind in _RADIAL))
    wrong = f'optimize="metric" is for one kernel of distances ({names}), got {kernel!r}'
    frame = kernel._frame or tuple(range(X.shape[1]))
    every = tuple(range(len(frame)))
    parts = list(_Part("", kernel, frame, every, len(every)).parts())
    found = [part for part in parts if part.has_metric]
    if not found:
        raise ValueError(f"{wrong}; optimize=True tunes the parameters of any kernel that has some")
    if len(found) > 1:
        raise ValueError(
            f"{wrong}, which has {len(found)} of them: learn the metric of one, or tune the widths of all, "
            "optimize=True"
        )
    part = found[0]
    if part.is_mapped:
        raise ValueError(
            f"{wrong}: its map is a metric already, which optimize=True tunes; to learn one write "
            f"{part.kernel!r}.on(columns)"
        )
    for other in parts:
        if isinstance(other.kernel, Overlap | Categorical):
            raise ValueError(
                f"{wrong}: beside {other.kernel!r}, which compares labels, there are no gradients to learn "
                f"from; write {part.kernel!r}.on(columns), or tune the widths, optimize=True"
            )
    return part


def _require_few_columns(kernel: Kernel, part: _Part, X: Any) -> None:
    """ValueError where the columns whose metric is learnt are too many, or those of a sparse X."""
    read = len(part.columns) if part.is_alone else X.shape[1]
    if read > MOST_COLUMNS or (sparse.issparse(X) and not kernel.reads_given):
        found = "a sparse matrix" if sparse.issparse(X) else f"{read} columns"
        remedy = "kernel.after(TruncatedSVD(50)) gives fewer, of sparse rows and of text too"
        raise ValueError(
            f'optimize="metric" learns a matrix of all columns: it needs dense X of at most {MOST_COLUMNS} '
            f"columns, or a view with so many, got {found}; {remedy}"
        )


def metric_of(choose: Choice, kernel: Kernel, *, diagonal: bool, stages: Stages) -> tuple[Kernel, Metric]:
    """Return a kernel whose one part of distances stands after the map learnt for it, and the rounds.

    `choose` has the kernel's points; its widths are where the metric starts. The map is a view that is not
    fitted yet: `Kernel.fit_views` takes the points that the kernel read without it.
    """
    X, weights = choose.problem.X, choose.problem.weights
    part = _part_to_learn(kernel, X)
    _require_few_columns(kernel, part, X)
    read: Any = list(part.columns)
    own = X if read == list(range(X.shape[1])) else X[:, read]
    if part.is_alone:
        read = None
        choose = choose.at(own)
    choose = choose.on(LEARNT_ON)
    if sparse.issparse(choose.problem.X):
        choose = choose.at(choose.problem.X.toarray())
    seen = choose.problem.X if read is None else choose.problem.X[:, read]
    widths = np.asarray(part.kernel.sigma, dtype=np.float64)
    first_width: float | None = 1.0
    if widths.ndim == 0:  # columns start in units of their own
        widths = np.asarray(type(part.kernel)("medians").resolve(seen).sigma)
        first_width = None

    def of_width(sigma: Any) -> Any:
        copy: Any = clone(part.kernel)
        copy.sigma = sigma
        return copy

    def family(sigma: Any) -> Kernel:
        if read is None:
            return of_width(sigma)  # type: ignore[no-any-return]
        n_beside = choose.problem.X.shape[1]
        placed = Placed.at(of_width(sigma), range(n_beside, n_beside + len(read)))
        return part.put(kernel, placed).framed(n_beside)

    learnt = learn_metric(
        choose, family, widths, first_width=first_width, diagonal=diagonal, stages=stages, read=read
    )
    chosen = learnt.chosen
    learnt.metric = _on_columns(part, chosen.map / chosen.width, own, weights)
    return part.put(kernel, of_width(chosen.width).after(chosen.map)), learnt


def _on_columns(
    part: _Part, scaled: FloatArray, own: Any, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the metric of all columns of the last view before a part, or of X, and their shares.

    `scaled` maps the columns that the part reads, `own` (n, q), those that it does not count nothing.
    """
    whole = np.zeros((part.n_among, scaled.shape[1]))
    np.add.at(whole, list(part.among), scaled)
    metric = whole @ whole.T
    variances = np.zeros(part.n_among)
    variances[list(part.among)] = _variances(own, weights)
    return metric, _shares(metric, variances)


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
    return metric, _shares(metric, _variances(X, weights))


def _variances(X: Any, weights: FloatArray | None) -> FloatArray:
    """Return those of the columns of dense or sparse X."""
    if sparse.issparse(X):
        w = np.full(X.shape[0], 1.0) if weights is None else weights
        mean = X.T @ w / w.sum()
        return np.asarray(np.maximum(X.multiply(X).T @ w / w.sum() - mean**2, 0))
    mean = np.average(X, axis=0, weights=weights)
    return np.asarray(np.average((X - mean) ** 2, axis=0, weights=weights))


def _shares(metric: FloatArray, variances: FloatArray) -> FloatArray:
    """Return what share columns have in squared distances."""
    shares = np.diag(metric) * variances
    return np.asarray(shares / (shares.sum() or 1.0))


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
