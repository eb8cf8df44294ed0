"""What the estimators on centres share: parameters, blocks, the plan, sums, and the model that comes out.

See `grls.nystrom` for the model, docs/math.md, section "Nyström", for the equations.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sized
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import kernels
from .._models.feature_prior import beside, is_as_good_as_free, kernel_beside, split
from .._models.group_effects import GroupedMachine
from .._models.leverage import Leverage
from .._models.samples import FreeFeatures, Samples, counted, fit_features, frame_of
from .._replacing import replacing
from .._selection import kernel_choice
from .._selection.metric import Metric
from .._solvers.arrays import require_well_formed
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
from .._warnings import recorded
from ..kernels.origin import about_the_data
from ..kernels.polynomials import needed_polynomials, polynomial_columns, require_polynomials
from . import centers as centers_
from . import doubling, files, gradients, kernel_on_sample
from .centers import Pool
from .choice import CRITERIA
from .origin import constant_in, expressed_by
from .penalised import Penalised
from .plan import Block, Plan, Solution, indicators, named
from .streams import Stream, as_stream, by_name
from .sums import Sums


@dataclass
class Partial:
    """What `partial_fit` has seen: the plan that the first block made, and the sums of all blocks."""

    plan: Plan
    sums: Sums


def _keeps_sums(model: Any) -> bool:
    if model.solver == "cg":
        raise AttributeError('solver="cg" needs the rows again: partial_fit and merge go with "cholesky"')
    return True


adds_up = available_if(_keeps_sums)


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
        return kernel_choice.start_kernel(X) if self._chooses_kernel() else super()._kernel_to_start_from(X)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _block(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool = False) -> Block:
        """Return checked rows without those of weight zero."""
        X, y, sample_weight = by_name(X, y, sample_weight)
        checked, values, targets, classes = self._targets(X, y, reset=reset)
        counts = sample_weights(sample_weight, checked)
        weights = self._weighted(values, counts, whole=whole)
        samples = counted(Samples(checked, frame_of(X), values, targets, weights))
        if counts is not None and samples.rows is not None:
            counts = counts[samples.rows]
        if classes is not None and samples.rows is not None:  # a label of weight zero is none
            classes = np.unique(samples.y)
            samples.targets = indicators(samples.y, classes)
        samples.counts = counts
        groups = self.features.labels(samples.given) if self._grouped() else None
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
            free = FreeFeatures.fit_to_sample(self._free_features(), rows, pool.y)
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
        if isinstance(kernel, kernels.Function):
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
        kernel = None if self._chooses_kernel() else kernels.as_kernel(self.kernel)
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


class NystromMachine(CentreMachine):
    """Least squares on centres: what the two estimators share."""

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float | str = "gcv",
        regularization_grid: Any = 50,
        feature_variance: float = np.inf,
        n_centers: int | str = 1000,
        centers: Any = "uniform",
        optimize: Any = None,
        validation_fraction: float = 0.1,
        solver: str = "cholesky",
        tol: float = 1e-6,
        max_iter: int = 200,
        cache_size: float = 1000,
        precision: str = "double",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.feature_variance = feature_variance
        self.n_centers = n_centers
        self.centers = centers
        self.optimize = optimize
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    # Fitting.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d), or blocks
            Training points. A data frame of pandas or polars may hold `y` and `sample_weight`, by name. Or
            rows that come in blocks: a path or pattern of Parquet, CSV or Arrow files (`Files` leaves out
            columns that are no predictors), an Arrow table, data set or record batches, where `y` and
            `sample_weight` name columns; an iterable of (X, y) or (X, y, sample_weight); a memory-mapped
            array of which 32 copies in double precision would not fit into the free memory (a smaller one is
            an array like others). What can be read twice is: once to choose the centres, once for the sums.
            Of an iterator the centres come from the first block. Features that are fitted see all rows of an
            array, and of blocks the sample that the centres are chosen from.
        y : array-like of shape (m,) or (m, k), str, list of str or None
            Targets or labels; the name of their column, or a list of names, which is one of labels where it
            is as long as X and not all are columns; None where the blocks bring them.
        sample_weight : array-like of shape (m,) or str, default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            The fitted model.
        """
        with self._timed_fit(), recorded() as messages:
            self._check_parameters()
            stream, seed = as_stream(X, y, sample_weight), self._seed()
            if stream is None:
                source = self._from_memory(X, y, sample_weight, seed)
            else:
                source = self._from_stream(stream, seed)
            plan, solution = self._planned(source, seed)
            if solution is None:
                solution = self._solve(plan, source.blocks)
            self._store(plan, solution)
            self._forget("_partial")
            self.fit_warnings_ = messages
        return self

    def _planned(self, source: Source, seed: int) -> tuple[Plan, Solution | None]:
        """Return the plan, and the solution where the number of centres was chosen by it."""
        draft, stages = self._draft(source), self._stages
        self._keep_record(draft.record)
        if not self._chooses_centers():
            plan = self._plan(draft, self._given_number(), seed)
            stages.done("centers")
            stages.report(f"{plan.centers.X.shape[0]} centres, {plan.centers.rank} functions on them")
            return plan, None
        stages.done("centers")
        by, grid = self._criterion()
        # Of rows that come once the first block decides.
        blocks = source.blocks if source.first is None else [source.first]

        def attempt(n_centers: int) -> tuple[Plan, Solution]:
            plan = self._plan(draft, n_centers, seed)
            return plan, self._from_sums(plan, blocks, by, grid)

        numbers = doubling.numbers_to_try(draft.n_features, source.pool.X.shape[0])
        found = doubling.double(attempt, numbers, by)
        self._keep_doubling(found)
        return found.kept, found.solution if source.first is None else None

    def _given_number(self) -> int:
        """Return n_centers; where the centres are given, whatever it is does not matter."""
        return doubling.FEWEST if isinstance(self.n_centers, str) else int(self.n_centers)

    def _criterion(self) -> tuple[str, Any]:
        """Return by what models with different centres are compared, and the grid of γ."""
        if isinstance(self.regularization, str):
            return self.regularization, self.regularization_grid
        return "gcv", [float(self.regularization)]

    def _keep_doubling(self, found: doubling.Doubling) -> None:
        self.n_centers_path_ = np.array(found.numbers)
        self.n_centers_criterion_ = found.criteria
        self._stages.report(f"{found.kept.centers.X.shape[0]} centres of {found.numbers} kept")
        if not isinstance(self.regularization, str):
            found.solution.choice = None  # γ was given

    def _keep_record(self, record: Any) -> None:
        self._forget("optimization_", "metric_", "feature_importances_")
        self._forget("n_centers_path_", "n_centers_criterion_")
        if record is not None:
            self.optimization_ = record
            learnt = getattr(record, "metric", None)
            if learnt is not None:
                self.metric_, self.feature_importances_ = learnt

    def _solve(self, plan: Plan, blocks: Any) -> Solution:
        if self.solver == "cg":
            return gradients.solve(
                plan,
                blocks,
                float(self.regularization),
                tol=self.tol,
                max_iter=self.max_iter,
                cache_bytes=float(self.cache_size) * 2**20,
                stages=self._stages,
            )
        return self._from_sums(plan, blocks, self.regularization, self.regularization_grid)

    def _from_sums(self, plan: Plan, blocks: Any, regularization: Any, grid: Any) -> Solution:
        stages = self._stages
        sums: Sums | None = None
        with stages.steps(len(blocks) if isinstance(blocks, Sized) else None, "blocks") as steps:
            for number, block in enumerate(blocks):
                with named(f"block {number}"):
                    part = plan.sums(block)
                sums = part if sums is None else sums + part
                rows = f"{sums.total.rows} rows so far"
                steps.done(f"block {number}: {rows}", rows)
        assert sums is not None
        stages.done("sums")
        solution = plan.solve(sums, regularization, grid)
        stages.done("solve")
        stages.report(f"solved, regularization {solution.regularization:.3g}")
        return solution

    def _store(self, plan: Plan, solution: Solution) -> None:
        self._store_features(solution.features, solution.kept)
        self.kernel_ = solution.kernel
        self.X_fit_ = solution.centers
        self._gram_columns = None
        self._store_coefficients(solution.features, solution.beta)
        self._leverage = solution.leverage
        self.dual_coef_ = np.ascontiguousarray(self._per_output(solution.c))
        self.regularization_ = solution.regularization
        self.n_samples_seen_ = solution.n_rows
        self.n_iter_ = solution.n_iter
        self._forget("regularization_path_", "criterion_path_")
        if solution.choice is not None:
            self.regularization_path_ = solution.choice.path
            self.criterion_path_ = solution.choice.criterion
        if solution.classes is not None:
            self.classes_ = solution.classes
        self._store_groups(solution.groups)
        self._store_uncertainty(plan, solution)

    def _store_uncertainty(self, plan: Plan, solution: Solution) -> None:
        """Keep what variances need, where the targets are values."""

    def predict_to_file(self, X: Any, out: Any, *, keep: Any = (), return_std: bool = False) -> Any:
        """Predict the rows of files, or of a data frame or table, block by block into a file.

        Parameters
        ----------
        X : str, path, Files
            Rows as in `fit`; columns that the model has not seen are not read, targets among them.
        out : str or path
            The file to write: .parquet, .csv, .arrow, .feather. It takes its place when it is complete.
        keep : str or sequence of str, default=()
            Columns to copy, such as an identifier.
        return_std : bool, default=False
            Whether to write standard deviations too, in columns ``std``.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            This model. The columns are ``prediction``, or ``prediction0``, … of several outputs.
        """
        check_is_fitted(self)
        source = files.as_files(X)
        if source is None:
            raise TypeError(f"X must be a path, a pattern or Files, got {type(X).__name__}")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError("the model was fitted to rows without names of columns: files need them")
        source = files.Files(source.path, columns=list(names))
        kept = [keep] if isinstance(keep, str) else list(keep)
        if taken := [name for name in kept if re.fullmatch(r"(prediction|std)\d*", name)]:
            raise ValueError(f"the column {taken[0]!r} cannot be kept: predictions are written by that name")
        reader = files.Reader(source, [], False, None, kept)
        files.written_format(out)
        with replacing(Path(os.fspath(out))) as file, closing(files.Writer(out, file)) as writer:
            for block in reader:
                with named(block.where, partial(files.explained, X=block.X)):
                    found = self.predict(block.X, return_std=True) if return_std else (self.predict(block.X),)
                columns: dict[str, Any] = {}
                for name, values in zip(("prediction", "std"), found, strict=False):
                    several = values.ndim == 2
                    columns |= (
                        {f"{name}{i}": v for i, v in enumerate(values.T)} if several else {name: values}
                    )
                writer.write(columns, block.kept)
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, solve: bool, classes: Any) -> None:
        self._check_parameters()
        with self._timed_fit():
            before: Partial | None = getattr(self, "_partial", None)
            with named(f"block {0 if before is None else before.sums.blocks}"):
                block = self._block(X, y, sample_weight, reset=before is None)
                if before is None:
                    seed = self._seed()
                    pool = self._pool(seed)
                    pool.add(block.X, block.y)
                    plan, _ = self._planned(Source(pool, block.frame, [block], first=block), seed)
                    sums = plan.sums(block)
                    if classes is not None:
                        sums = sums.with_classes(np.unique(classes))
                else:
                    plan = before.plan
                    sums = before.sums.joined(plan.sums(block))
            self._continue(Partial(plan, sums), solve)

    def _continue(self, seen: Partial, solve: bool) -> None:
        require_well_formed(seen.plan.centers.X)
        self._partial = seen
        self.n_samples_seen_ = seen.sums.total.rows
        if solve:
            solution = seen.plan.solve(seen.sums, self.regularization, self.regularization_grid)
            self._store(seen.plan, solution)

    @adds_up  # type: ignore[untyped-decorator]
    def merge(self, *others: Any, solve: bool = True) -> Any:
        """Add the rows that other models have seen.

        Parameters
        ----------
        *others : models
            Made by ``partial_fit`` with the same centres, kernel and features: copies of one model that has
            seen its first block, or models with the same `centers` array, a kernel without ``"median"``, and
            features that depend on no data.
        solve : bool, default=True
            Whether to solve for the coefficients now; `solve` does it later.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            This model, of all the rows.
        """
        check_is_fitted(self, "_partial", msg="merge needs models made by partial_fit; this one is not")
        with self._all_or_nothing():
            plan, sums = self._partial.plan, self._partial.sums
            for other in others:
                theirs = getattr(other, "_partial", None)
                if not isinstance(other, type(self)) or theirs is None:
                    raise ValueError("merge needs models of the same kind, made by partial_fit")
                if not plan.is_like(theirs.plan):
                    raise ValueError(
                        "the models stand on different centres, kernels or features: copy one model after "
                        "its first block, or give all of them the same centers array and kernel width"
                    )
                sums = sums.joined(plan.adopted(theirs.sums, theirs.plan))
            self._continue(Partial(plan, sums), solve)
        return self

    def solve(self) -> Any:
        """Solve for the coefficients from the sums so far, after ``partial_fit(..., solve=False)``."""
        check_is_fitted(self, "_partial", msg="there are no sums: call partial_fit first")
        with self._all_or_nothing():
            self._continue(self._partial, True)
        return self


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
