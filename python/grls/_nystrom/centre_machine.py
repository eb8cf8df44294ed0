"""What all models on centres share: parameters, blocks of rows, the draft and the plan.

See `grls.nystrom` for the model, docs/math.md, section "Nyström", for the equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils import check_array, check_random_state

from .. import kernels
from .._models.feature_prior import beside, is_as_good_as_free, kernel_beside, split
from .._models.group_effects import GroupedMachine
from .._models.leverage import Leverage
from .._models.samples import FreeFeatures, Samples, counted, fit_features, frame_of
from .._selection.candidates import start_kernel
from .._selection.merged import Observations
from .._selection.metric import Metric
from .._validation import (
    FloatArray,
    as_rows,
    choice,
    integer,
    is_table_of_numbers,
    number_or_choice,
    real,
    require_number_for_gradients,
    sample_weights,
)
from ..features import as_transformer
from ..kernels.origin import about_the_data
from ..kernels.polynomials import needed_polynomials, polynomial_columns, require_polynomials
from . import centers as centers_
from . import doubling, files, kernel_on_sample
from .centers import Pool
from .choice import CRITERIA
from .origin import constant_in, expressed_by
from .penalised import Penalised
from .plan import Block, Plan, indicators, named
from .streams import Stream, by_name


def _numbers(samples: Samples, counts: FloatArray | None, groups: Any) -> FloatArray | None:
    """Return how many observations each row is, of all rows there are; None: each is one."""
    if not is_table_of_numbers(samples.X):
        return None
    ones = np.ones(len(samples.targets))
    weights = ones if samples.weights is None else samples.weights
    points = [samples.X]
    if groups is not None:
        points.append(np.unique(groups, return_inverse=True)[1].astype(np.float64)[:, None])
    found = Observations.of(points, samples.targets, weights, ones if counts is None else counts)
    return found.numbers(weights)


class CentreMachine(GroupedMachine):
    """Parameters, blocks of rows, and the plan of a model on centres. Subclasses say what targets are."""

    # Subclasses: what is y?

    def _targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any, FloatArray, Any]:
        """Return X and y, checked, the columns that are summed, (n, k), and the classes they stand for."""
        raise TypeError(f"{type(self).__name__} does not say what its targets are")

    def _sample_targets(self, y: Any) -> FloatArray:
        """Return the columns that are fitted to a sample's y, (n, k)."""
        raise TypeError(f"{type(self).__name__} does not say what its targets are")

    def _origin(self, y: Any) -> FloatArray | None:
        """Return what the targets of all rows are summed about, (k,), from a sample's y; None: zero."""
        return None

    def _weighted(self, y: Any, weights: FloatArray | None, *, whole: bool) -> FloatArray | None:
        """Return the weights that the labels change; `whole`: y is all there is."""
        return weights

    # Parameters and rows.

    def _check_parameters(self) -> None:
        number_or_choice(self.regularization, "regularization", CRITERIA, minimum=0)
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        if isinstance(self.n_centers, str):
            choice(self.n_centers, "n_centers (unless it is a number)", ("auto",))
        else:
            integer(self.n_centers, "n_centers", minimum=1)
        if isinstance(self.centers, str):
            choice(self.centers, "centers (unless it is an array)", centers_.STRATEGIES)
        fraction = real(self.validation_fraction, "validation_fraction", above=0)
        if fraction >= 1:
            raise ValueError(f"validation_fraction must be less than 1, got {fraction}")
        choice(self.precision, "precision", ("double", "single"))
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)
        real(self.cache_size, "cache_size", minimum=0)
        if choice(self.solver, "solver", ("cholesky", "cg")) == "cg":
            require_number_for_gradients(self.regularization)
        self._check_choices()
        if self._grouped():
            self._check_groups()
        if not self._chooses_kernel() and kernels.as_kernel(self.kernel).pairwise:
            raise ValueError(
                "a precomputed kernel has no values at the centres of other blocks: use GRLSRegressor or "
                "GRLSClassifier, or give the kernel as a function"
            )

    def _check_choices(self) -> None:
        """Raise ValueError where something is left to the data that they cannot choose."""
        if self._chooses_centers():
            if self.solver == "cg":
                raise ValueError(
                    'n_centers="auto" compares sums: it needs solver="cholesky", or give a number'
                )
            if not isinstance(self.regularization, str) and self.regularization <= 0:
                raise ValueError('n_centers="auto" needs a positive regularization')
        if self._chooses_kernel() and self._optimizes() and self.optimize is not True:
            raise ValueError(
                'kernel="auto" tunes its kernel by itself: set optimize=None, or give the kernel whose '
                f"parameters optimize={self.optimize!r} is about"
            )
        if (self._chooses_kernel() or self._optimizes()) and self.feature_variance != np.inf:
            raise ValueError(
                'kernel="auto" and optimize need unpenalised features: feature_variance must be inf'
            )

    def _check_groups(self) -> None:
        wrong = None
        if not is_regressor(self):
            wrong = "labels: NystromGRLSRegressor has them"
        elif self.solver == "cg":
            wrong = 'solver="cg": use "cholesky"'
        elif self.regularization == "holdout":
            wrong = 'regularization="holdout": use "gcv" or "reml"'
        elif self.feature_variance != np.inf:
            wrong = "a finite feature_variance"
        if wrong is not None:
            raise ValueError(f"features=Groups(…) of a model on centres does not go with {wrong}")

    def _chooses_centers(self) -> bool:
        return isinstance(self.n_centers, str) and isinstance(self.centers, str)

    def _optimizes(self) -> bool:
        return self.optimize is not None and self.optimize is not False

    def _kernel_to_start_from(self, X: Any) -> Any:
        return start_kernel(X) if self._chooses_kernel() else super()._kernel_to_start_from(X)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _block(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool = False) -> Block:
        """Return checked rows without those of weight zero."""
        X, y, sample_weight = by_name(X, y, sample_weight)
        checked, values, targets, classes = self._targets(X, y, reset=reset)
        counts = sample_weights(sample_weight, checked)
        weights = self._weighted(values, counts, whole=whole)
        samples = counted(Samples(checked, frame_of(X), values, targets, weights))
        if classes is not None and samples.rows is not None:  # a label of weight zero is none
            classes = np.unique(samples.y)
            samples.targets = indicators(samples.y, classes)
        groups = self.features.labels(samples.given) if self._grouped() else None
        if whole:
            counts = counts if counts is None or samples.rows is None else counts[samples.rows]
            samples.counts = _numbers(samples, counts, groups)
        return Block(**vars(samples), classes=classes, groups=groups, n_given=len(values))

    def _blocks(self, stream: Stream, *, reset: bool) -> Iterator[Block]:
        number = -1
        for number, (X, y, weight, where) in enumerate(stream):
            with named(where, partial(files.explained, X=X)):
                rows = np.asarray(X) if isinstance(X, np.memmap) else X
                block = self._block(rows, y, weight, reset=reset and number == 0)
            yield block
        if number < 0:
            raise ValueError("there are no blocks: nothing is there to fit")

    # Before the first sum: the plan.

    def _pool(self, seed: int) -> Pool:
        n_centers = doubling.MOST if isinstance(self.n_centers, str) else self.n_centers
        return Pool(Pool.size_for(n_centers, self.centers), seed)

    def _draft(self, source: Source) -> Draft:
        """Fix what all blocks share but the centres, from sampled rows."""
        pool = source.pool
        rows = _framed(pool.X, source.like)
        free = source.free
        if free is None:
            free = self._sampled_features(pool, rows, source.like)
        kernel = source.kernel
        if kernel is None:
            kernel, points = self._fitted_kernel(pool.X, rows, pool.y)
        else:
            points = kernel.view(rows)
            kernel = kernel.settled(points)
        record = None
        if self._chooses_kernel() or self._optimizes():
            had_views = kernel.reads_given
            kernel, record = self._kernel_from_sample(kernel, points, free.at(rows), pool.y)
            if isinstance(record, Metric):
                kernel, points = self._after_metric(source, kernel, rows if had_views else pool.X, points)
            elif kernel.reads_given and not had_views:  # the kernel that was chosen has a metric
                points = kernel.view(pool.X)
        return Draft(source, free, kernel, points, record)

    def _sampled_features(self, pool: Pool, rows: Any, like: Any) -> FreeFeatures:
        """Return the features fitted to sampled rows; a trend is taken about the middle of given centres.

        Models that see other rows then sum the same columns, and add up.
        """
        specification = self._free_features()
        is_trend = hasattr(as_transformer(specification), "about_the_middle")
        if is_trend and not isinstance(self.centers, str):
            rows = _framed(self._given_centers(pool), like)
        return FreeFeatures.fit_to_sample(specification, rows, pool.y)

    @staticmethod
    def _after_metric(
        source: Source, kernel: kernels.Kernel, rows: Any, points: Any
    ) -> tuple[kernels.Kernel, Any]:
        """Return a kernel with the map of a learnt metric fitted, and the sampled rows as it reads them.

        `points` are these rows without the map. What views made of rows in memory is mapped too.
        """
        if source.kernel is not None:  # its views are fitted to the rows in memory
            for block in source.blocks:
                block.points = kernel.fit_views(block.given, points=block.points)[1]
        return kernel.fit_views(rows, points=points)

    def _kernel_from_sample(
        self, kernel: kernels.Kernel, points: Any, T: FloatArray, y: Any
    ) -> tuple[kernels.Kernel, Any]:
        some = kernel_on_sample.sample_rows(points.shape[0])
        points, T = points[some], np.asarray(T[some], dtype=np.float64)
        return kernel_on_sample.choose_on_sample(
            kernel,
            points,
            T,
            kernel_on_sample.finite_targets(self._sample_targets(y[some])),
            automatic=self._chooses_kernel(),
            optimize=self.optimize,
            criterion="reml" if self.regularization == "reml" else "loo",
            noisy=is_regressor(self),
            prepare=lambda kernel: about_the_data(kernel, points, T, free=True),
            random_state=self.random_state,
            stages=self._stages,
        )

    def _plan(self, draft: Draft, n_centers: int, seed: int) -> Plan:
        """Return what all blocks share, with so many centres."""
        pool, like = draft.source.pool, draft.source.like
        kernel, points, free = draft.kernel, draft.points, draft.free
        rows = _framed(pool.X, like)
        views = kernel if kernel.reads_given else None
        chosen = self._chosen_centers(kernel, pool, points, n_centers)
        penalised = None
        if np.isfinite(self.feature_variance):
            penalised = self._penalised(kernel, points, free.at(rows))
        T = free.at(_framed(chosen, like))
        if T.shape[1] >= chosen.shape[0]:
            raise ValueError(
                f"n_samples={chosen.shape[0]} centres cannot tell {T.shape[1]} features from the kernel's "
                "part: raise n_centers above the number of features, or give more rows"
            )
        names = getattr(self, "feature_names_in_", None)
        if views is not None:
            chosen, names = views.view(_framed(chosen, like)), None
        require_polynomials(kernel, chosen, T, None if names is None else list(names))
        undefined = np.asarray(polynomial_columns(kernel, chosen, T), dtype=np.intp)
        kernel = about_the_data(kernel, points, T, free=True)
        fraction = float(self.validation_fraction) if self.regularization == "holdout" else 0.0
        if penalised is not None:
            T, Z = penalised.parts.at(np.asarray(T, dtype=np.float64))
            kernel = kernel_beside(kernel, chosen.shape[1], Z.shape[1])
            chosen = beside(chosen, Z, penalised.variance)
        built = centers_.build(kernel, chosen, T, self.precision)
        origin, constant = self._origin(pool.y), None
        expressed: Any = False
        if origin is not None:
            expressed = expressed_by(free.at(rows), pool.y)
            constant = None if self._grouped() else constant_in(T, built.kept)
            origin = origin if constant is not None or self._grouped() else None
        return Plan(
            built,
            free,
            self.precision,
            fraction,
            seed,
            penalised,
            views,
            undefined,
            origin,
            expressed,
            constant,
        )

    def _penalised(self, kernel: kernels.Kernel, points: Any, T: FloatArray) -> Penalised | None:
        """Return the features with a prior, in the units of the sampled rows; T are all of them there."""
        tau = float(self.feature_variance)
        if kernel.is_function:
            raise ValueError(
                "a finite feature_variance needs a kernel of grls.kernels here, not a function: the features "
                "become columns that the kernel must know apart"
            )
        if T.shape[1] == 0 or is_as_good_as_free(kernel, points, tau):
            return None
        parts = split(T, None, needed_polynomials(kernel, points))
        if parts.Z.shape[1] == 0:  # the constant, say: it is free anyway
            return None
        support = np.isin(np.arange(T.shape[1]), parts.kept)
        return Penalised(kernel, parts, tau, Leverage.of_rows(T, None, support))

    def _chosen_centers(self, kernel: kernels.Kernel, pool: Pool, points: Any, n_centers: int) -> Any:
        if isinstance(self.centers, str):
            return centers_.choose(self.centers, kernel, pool, points, n_centers)
        return self._given_centers(pool)

    def _given_centers(self, pool: Pool) -> Any:
        """Return the centres that the user gave, as rows like those of the pool."""
        if not is_table_of_numbers(pool.X):
            return as_rows(self.centers)
        given = check_array(
            self.centers, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="centers"
        )
        if given.shape[1] != pool.X.shape[1]:
            raise ValueError(f"centers have {given.shape[1]} columns, the data {pool.X.shape[1]}")
        if sparse.issparse(given) == sparse.issparse(pool.X):
            return given
        return given.toarray() if sparse.issparse(given) else sparse.csr_matrix(given)

    def _from_memory(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Source:
        block = self._block(X, y, sample_weight, reset=True, whole=True)
        self._stages.done("validate")
        free, block.T = fit_features(self._free_features(), block)
        self._stages.done("features")
        pool = self._pool(seed)
        pool.add(block.X, block.y)
        kernel = None if self._chooses_kernel() else self._kernel_to_start_from(block.X)
        if kernel is None or not kernel.reads_given:
            return Source(pool, block.frame, [block], free)
        names = getattr(self, "feature_names_in_", None)
        kernel, block.points = kernel.fit_views(block.given, block.y, block.weights, names)
        return Source(pool, block.frame, [block], free, kernel)

    def _from_stream(self, stream: Stream, seed: int) -> Source:
        if stream.once and self.solver == "cg":
            raise ValueError(
                'solver="cg" reads the blocks in every step, and an iterator can be read once: give an '
                "object whose iter() starts afresh (a list, a memory-mapped array, a Parquet file), or "
                'solver="cholesky"'
            )
        pool = self._pool(seed)
        blocks = self._blocks(stream, reset=True)
        first = next(blocks)
        pool.add(first.X, first.y)
        if stream.once:
            return Source(pool, first.frame, chain([first], blocks), first=first)
        count = 1
        for block in blocks:
            pool.add(block.X, block.y)
            count += 1
        return Source(pool, first.frame, _Again(lambda: self._blocks(stream, reset=False), count))


@dataclass
class Source:
    """The rows of a fit: a sample of them, and the blocks that they come in."""

    pool: Pool
    like: Any  # a data frame, if the rows are one
    blocks: Any
    free: FreeFeatures | None = None  # the features, where all rows were seen to fit them
    kernel: kernels.Kernel | None = None  # with its views, likewise
    first: Block | None = None  # of blocks that can be read once


@dataclass
class Draft:
    """What all blocks share but the centres."""

    source: Source
    free: FreeFeatures
    kernel: kernels.Kernel  # resolved
    points: Any  # the sampled rows as it reads them
    record: Any  # how it was chosen, if it was

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.free.names)


class _Again:
    """An iterable of known length that starts afresh every time."""

    def __init__(self, start: Any, count: int) -> None:
        self._start, self._count = start, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Block]:
        return iter(self._start())


def _framed(X: Any, like: Any) -> Any:
    """Return rows as a data frame where `like` is one."""
    if like is None or hasattr(X, "columns"):
        return X
    if sparse.issparse(X):  # of a frame of sparse columns
        return like.sparse.from_spmatrix(X, columns=like.columns)
    if hasattr(like, "iloc"):
        return type(like)(X, columns=like.columns)
    return type(like)(np.asarray(X), schema=list(like.columns))  # of polars
