"""Least squares on centres: sums over blocks, the model that comes out of them, more rows, other models."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sized
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._models.base import is_solved
from .._replacing import replacing
from .._solvers.arrays import require_well_formed
from .._warnings import recorded
from . import doubling, files, gradients
from .centre_machine import CentreMachine, Source
from .plan import Plan, Solution, named
from .streams import array_file, as_stream, slices
from .sums import Sums


@dataclass(frozen=True)
class Partial:
    """What `partial_fit` has seen: the plan that the first block made, and the sums of all blocks.

    Copies of a model share the blocks that it had seen: those are told by names, so that no row counts twice.
    """

    plan: Plan
    first: Sums  # of the first block, which copies may share
    rest: Sums | None  # of the others
    blocks: tuple[str, ...]  # their names, the first one's first
    told: tuple[str, ...]  # what was warned of while they were read

    @property
    def sums(self) -> Sums:
        """The sums of all blocks."""
        return self.first if self.rest is None else self.first.joined(self.rest)

    def with_more(self, sums: Sums | None, blocks: Iterable[str], told: Iterable[str]) -> Partial:
        """Return what was seen with more blocks."""
        rest = self.rest if sums is None else sums if self.rest is None else self.rest.joined(sums)
        messages = tuple(dict.fromkeys((*self.told, *told)))
        return replace(self, rest=rest, blocks=(*self.blocks, *blocks), told=messages)

    def merged(self, other: Partial) -> Partial:
        """Return what both have seen; ValueError where rows would count twice."""
        new = [block for block in other.blocks if block not in self.blocks]
        if not {*other.blocks[1:]} <= {*new}:
            raise ValueError(
                "both models have seen the same blocks, whose rows would count twice; only the first block, "
                "which copies share, is counted once: merge models that have seen different rows"
            )
        sums = other.sums if other.blocks[0] in new else other.rest
        if sums is not None:
            sums = self.plan.adopted(sums, other.plan)
        return self.with_more(sums, new, other.told)


def _columns(found: tuple[Any, ...]) -> dict[str, Any]:
    """Return predictions, and standard deviations if any, as columns by name, one for each output."""
    columns: dict[str, Any] = {}
    for name, values in zip(("prediction", "std"), found, strict=False):
        several = values.ndim == 2
        columns |= {f"{name}{i}": v for i, v in enumerate(values.T)} if several else {name: values}
    return columns


def _keeps_sums(model: Any) -> bool:
    if model.solver == "cg":
        raise AttributeError('solver="cg" needs the rows again: partial_fit and merge go with "cholesky"')
    return True


adds_up = available_if(_keeps_sums)


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
            `sample_weight` name columns; the path of an array (.npy), whose `y` and `sample_weight` are
            arrays or paths too; an iterable of (X, y) or (X, y, sample_weight); a memory-mapped array of
            which 32 copies in double precision would not fit into the free memory (a smaller one is an array
            like others). What can be read twice is: once to choose the centres, once for the sums. Of an
            iterator the centres come from the first block. Features that are fitted see all rows of an array,
            and of blocks the sample that the centres are chosen from.
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
            Rows as in `fit`; columns that the model has not seen are not read, targets among them. No rows
            give a file without rows.
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
        kept = [keep] if isinstance(keep, str) else list(keep)
        if taken := [name for name in kept if re.fullmatch(r"(prediction|std)\d*", name)]:
            raise ValueError(f"the column {taken[0]!r} cannot be kept: predictions are written by that name")
        blocks = self._blocks_of_files(X, kept)
        files.written_format(out)
        with replacing(Path(os.fspath(out))) as file, closing(files.Writer(out, file)) as writer:
            for block in blocks:
                with named(block.where, partial(files.explained, X=block.X)):
                    found = self.predict(block.X, return_std=True) if return_std else (self.predict(block.X),)
                writer.write(_columns(found), block.kept)
            if writer.is_new:
                nothing = np.empty((0, *(self.dual_coef_.shape[1:] if is_regressor(self) else ())))
                labels = nothing if is_regressor(self) else self.classes_[:0]
                kept_columns = {name: np.empty(0) for name in kept}
                writer.write(kept_columns | _columns((labels, nothing)[: 1 + return_std]), None)
        return self

    def _blocks_of_files(self, X: Any, kept: list[str]) -> Iterable[files.FileBlock]:
        """Return the rows of files that the model reads, with the columns to copy."""
        names = getattr(self, "feature_names_in_", None)
        rows = array_file(X)
        if rows is not None:
            if names is not None or kept:
                raise ValueError(f"{X}: arrays have no names of columns, by which columns are read and kept")
            number = count()
            return (
                files.FileBlock(np.asarray(part), None, None, f"{X}, block {next(number)}")
                for part, _, _ in slices(rows, rows, None)
            )
        source = files.as_files(X)
        if source is None:
            raise TypeError(f"X must be a path, a pattern or Files, got {type(X).__name__}")
        if names is None:
            raise ValueError("the model was fitted to rows without names of columns: files need them")
        source = files.Files(source.path, columns=list(names))
        return files.Reader(source, [], False, None, kept).blocks()

    def __sklearn_is_fitted__(self) -> bool:
        return is_solved(self, "dual_coef_")

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, solve: bool, classes: Any) -> None:
        self._check_parameters()
        with self._timed_fit():
            before: Partial | None = getattr(self, "_partial", None)
            if before is None:  # a model of other rows, if any
                self._forget(*[name for name in vars(self) if name.endswith("_")])
            where = f"block {0 if before is None else len(before.blocks)}"
            with recorded() as messages, named(where):
                block, name = self._block(X, y, sample_weight, reset=before is None), uuid4().hex
                if before is None:
                    seed = self._seed()
                    pool = self._pool(seed)
                    pool.add(block.X, block.y)
                    plan, _ = self._planned(Source(pool, block.frame, [block], first=block), seed)
                    sums = plan.sums(block)
                    if classes is not None:
                        sums = sums.with_classes(np.unique(classes))
                    seen = Partial(plan, sums, None, (name,), tuple(messages))
                else:
                    seen = before.with_more(before.plan.sums(block), [name], messages)
            self._continue(seen, solve)

    def _continue(self, seen: Partial, solve: bool) -> None:
        require_well_formed(seen.plan.centers.X)
        self._partial = seen
        sums = seen.sums
        self.n_samples_seen_ = sums.total.rows
        with recorded() as messages:
            if solve:
                solution = seen.plan.solve(sums, self.regularization, self.regularization_grid)
                self._store(seen.plan, solution)
        self.fit_warnings_ = [*seen.told, *messages]

    @adds_up  # type: ignore[untyped-decorator]
    def merge(self, *others: Any, solve: bool = True) -> Any:
        """Add the rows that other models have seen.

        Parameters
        ----------
        *others : models
            Made by ``partial_fit`` with the same centres, kernel and features: copies of one model that has
            seen its first block, which counts once, or models with the same `centers` array, a kernel that
            takes nothing from the data (``"median"``, "auto", `optimize`, fitted views), features that take
            nothing from them either ("constant", "linear" and other trends, functions, what
            ``FrozenEstimator`` wraps), ``feature_variance=inf`` and, for "holdout", the same
            `validation_fraction` and `random_state`.
        solve : bool, default=True
            Whether to solve for the coefficients now; `solve` does it later.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            This model, of all the rows.
        """
        check_is_fitted(self, "_partial", msg="merge needs models made by partial_fit; this one is not")
        with self._all_or_nothing():
            seen = self._partial
            for other in others:
                theirs = getattr(other, "_partial", None)
                if not isinstance(other, type(self)) or theirs is None:
                    raise ValueError("merge needs models of the same kind, made by partial_fit")
                if other is self:
                    raise ValueError("a model is not merged with itself: its rows would count twice")
                if not seen.plan.is_like(theirs.plan):
                    raise ValueError(
                        "the models stand on different centres, kernels or features: copy one model after "
                        "its first block, or give all of them the same centers array, a kernel whose "
                        'parameters are numbers (no "median", "auto", optimize, fitted views or linear part '
                        "of columns far from the origin), features that are fitted to no data, "
                        'feature_variance=inf and, with regularization="holdout", the same '
                        "validation_fraction and random_state"
                    )
                seen = seen.merged(theirs)
            self._continue(seen, solve)
        return self

    def solve(self) -> Any:
        """Solve for the coefficients from the sums so far, after ``partial_fit(..., solve=False)``."""
        check_is_fitted(self, "_partial", msg="there are no sums: call partial_fit first")
        with self._all_or_nothing():
            self._continue(self._partial, True)
        return self
