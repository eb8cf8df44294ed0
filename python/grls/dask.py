"""The Nyström models on Dask: rows on many machines, one small matrix of sums from each partition.

`NystromGRLSRegressor` and `NystromGRLSClassifier` of this module take Dask arrays and data frames. One graph
does a fit: every partition offers rows for the centres, one worker chooses them, every partition adds up its
rows (see `grls.nystrom`), the sums meet in a tree, and one worker solves. The client gets the model and never
a partition; a worker that is lost costs the tasks it held, and the answer is that of the same rows in memory.
Everything works with `dask.distributed` (a client that exists is used) and with the local schedulers.

Partitions are read twice, as sums need the centres: ``persist()`` them where they are expensive to make and
fit into the memory of the cluster. Workers of one thread each suit best; Dask's nannies set their BLAS to one
thread.

>>> import dask.array as da
>>> import numpy as np
>>> from grls.dask import NystromGRLSRegressor
>>> x = np.linspace(0, 10, 2000)[:, None]
>>> X, y = da.from_array(x, chunks=(500, 1)), da.from_array(np.sin(x[:, 0]), chunks=500)
>>> model = NystromGRLSRegressor(n_centers=30).fit(X, y)
>>> predictions = model.predict(X)  # lazy, partition by partition
>>> bool(abs(predictions - y).max().compute() < 1e-3)
True
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

try:
    import dask.array as da
    from dask.base import compute, is_dask_collection, persist
    from dask.delayed import Delayed, delayed
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ImportError('grls.dask needs Dask: pip install "grls[dask]"') from error
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import nystrom
from ._models.progress import Stages
from ._nystrom import doubling
from ._nystrom.centre_machine import Draft, Source
from ._nystrom.files import explained
from ._nystrom.plan import Block, Plan, Solution, named
from ._nystrom.streams import by_name
from ._nystrom.sums import Sums
from ._validation import shown
from ._warnings import held, recorded, warn

__all__ = ["NystromGRLSClassifier", "NystromGRLSRegressor"]
__dir__ = __all__.copy

_HEADER = ("n_features_in_", "feature_names_in_", "_y_shape")  # what a block tells of all blocks
_Told = list[tuple[str, type[Warning]]]  # what tasks warned of
_FAN = 8  # results that meet in one task of a tree


def _is_frame(collection: Any) -> bool:
    """Whether a collection is a data frame; a series of Dask has `columns` too."""
    return hasattr(collection, "map_partitions") and collection.ndim == 2 and hasattr(collection, "columns")


def _is_dask(collection: Any) -> bool:
    return bool(is_dask_collection(collection))


# Tasks. They run on the workers.


def _rows(model: Any, number: int, X: Any, y: Any, weight: Any, *, reset: bool) -> Block | None:
    """Return the checked rows of a partition, or None where it has none, which happens after filters."""
    if X.shape[0] == 0:
        return None
    with named(f"partition {number}", lambda error: explained(error, X)):
        X, y, weight = _taken(X, y, weight)
        block: Block = model._block(X, y, weight, reset=reset)
    return block


def _taken(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return the rows of a partition, whose targets and weights may be columns of it."""
    X, y, weight = by_name(X, y, weight)
    if len(y) != X.shape[0]:
        raise ValueError(f"y has {len(y)} rows, X has {X.shape[0]}: they must be cut along the same rows")
    return X, np.asarray(y), None if weight is None else np.asarray(weight)


def _headed(model: Any, header: dict[str, Any]) -> Any:
    """Return a model that knows the columns and targets, and nothing else."""
    model = clone(model)
    for name, value in header.items():
        setattr(model, name, value)
    model._stages = Stages(0)  # it is being fitted, whichever of the blocks it sees
    return model


def _sample(model: Any, seed: int, number: int, X: Any, y: Any, weight: Any) -> Any:
    """Return the rows a partition offers as centres, and what it tells of the columns."""
    model = clone(model)
    block = _rows(model, number, X, y, weight, reset=True)
    if block is None:
        return None
    pool = model._pool(seed)
    pool.add(block.X, block.y)
    like = None if block.frame is None else block.frame[:0]
    return pool, {name: getattr(model, name) for name in _HEADER if hasattr(model, name)}, number, like


def _join_samples(samples: list[Any]) -> Any:
    there = [sample for sample in samples if sample is not None]
    if not there:
        return None
    pool, header, number, like = there[0]
    for other, theirs, place, _ in there[1:]:
        for name in header:
            if not np.array_equal(header[name], theirs[name]):
                what = {"n_features_in_": "columns", "feature_names_in_": "names of columns"}.get(
                    name, "targets"
                )
                raise ValueError(
                    f"partition {place} has other {what} than partition {number}: "
                    f"{theirs[name]!r}, not {header[name]!r}"
                )
        pool = pool.merge(other)
    return pool, header, number, like


@dataclass(frozen=True)
class _Shared:
    """A draft or plan that all partitions share, and what else is known of them."""

    what: Any
    header: dict[str, Any]  # of columns and targets
    told: _Told  # what was warned of while it was made


def _draft(model: Any, sample: Any) -> _Shared:
    """Return what all partitions share but the centres."""
    if sample is None:
        raise ValueError("all partitions are empty: nothing is there to fit")
    pool, header, _, like = sample
    with held() as told:
        return _Shared(_headed(model, header)._draft(Source(pool, like, None)), header, told)


def _plan(model: Any, seed: int, drafted: _Shared, n_centers: int) -> _Shared:
    """Return what all partitions share, with so many centres."""
    with held() as told:
        plan = _headed(model, drafted.header)._plan(drafted.what, n_centers, seed)
    return replace(drafted, what=plan, told=[*drafted.told, *told])


def _limits(drafted: _Shared) -> tuple[int, int, Any]:
    """Return the number of features, of the rows that may be centres, and how the kernel was chosen."""
    draft: Draft = drafted.what
    return draft.n_features, int(draft.source.pool.X.shape[0]), draft.record


def _sum(model: Any, planned: _Shared, number: int, X: Any, y: Any, weight: Any) -> tuple[Sums | None, _Told]:
    plan: Plan = planned.what
    with held() as told:
        block = _rows(_headed(model, planned.header), number, X, y, weight, reset=False)
        if block is None:
            return None, told
        with named(f"partition {number}"):
            return plan.sums(block), told


def _join_sums(parts: list[tuple[Sums | None, _Told]]) -> tuple[Sums | None, _Told]:
    total: Sums | None = None
    for part, _ in parts:
        if part is not None:
            total = part if total is None else total + part
    return total, [each for _, told in parts for each in told]


def _solve(
    planned: _Shared, summed: tuple[Sums, _Told], regularization: Any, grid: Any
) -> tuple[_Shared, Solution]:
    with held() as told:
        solution = planned.what.solve(summed[0], regularization, grid)
    return replace(planned, told=[*planned.told, *summed[1], *told]), solution


def _apply(X: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(X)


def _frame_apply(X: Any, model: Any, method: str) -> Any:
    import pandas as pd

    empty = np.empty((0, *model._value_shape(method)), model._value_type(method))
    values = getattr(model, method)(X) if len(X) else empty
    return pd.Series(values, index=X.index) if values.ndim == 1 else pd.DataFrame(values, index=X.index)


def _right(model: Any, X: Any, y: Any, weight: Any) -> Any:
    if X.shape[0] == 0:
        return np.zeros(2)
    X, y, weight = _taken(X, y, weight)
    weights = np.ones(X.shape[0]) if weight is None else weight
    return np.array([weights @ (model.predict(X) == y), weights.sum()])


def _moments(model: Any, X: Any, y: Any, weight: Any) -> Any:
    """Return Σw, the mean ȳ, Σw(y − ȳ)² and Σw(y − f)² of a partition, the last three of each output."""
    if X.shape[0] == 0:
        return None
    X, y, weight = _taken(X, y, weight)
    weights = np.ones(X.shape[0]) if weight is None else weight
    if not np.any(weights):
        return None
    targets, values = (np.asarray(v).reshape(X.shape[0], -1) for v in (y, model.predict(X)))
    total = np.full(targets.shape[1], weights.sum())
    mean = weights @ targets / total
    return np.stack([total, mean, weights @ (targets - mean) ** 2, weights @ (targets - values) ** 2])


def _join_moments(parts: list[Any]) -> Any:
    """Join moments about the parts' own means: those about zero would lose the digits of a large mean."""
    joined = None
    for part in parts:
        if joined is None or part is None:
            joined = part if joined is None else joined
            continue
        (n, mean, spread, error), (n_more, mean_more, spread_more, error_more) = joined, part
        total, apart = n + n_more, mean_more - mean
        spread = spread + spread_more + apart**2 * n * n_more / total
        joined = np.stack([total, mean + apart * n_more / total, spread, error + error_more])
    return joined


# Graphs. They are built by the client.


def _tree(parts: list[Delayed], join: Callable[[list[Any]], Any]) -> Delayed:
    """Join results some at a time, so that no worker has to hold them all."""
    while len(parts) > 1:
        parts = [delayed(join)(parts[i : i + _FAN]) for i in range(0, len(parts), _FAN)]
    return parts[0]


def _by_rows(collection: Any, name: str, like: Any = None) -> list[Delayed]:
    """Return the partitions of a collection, cut along the rows as those of `like` are."""
    if hasattr(collection, "chunks"):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        if like is not None and hasattr(like, "chunks") and collection.chunks[0] != like.chunks[0]:
            known = not (np.isnan(sum(collection.chunks[0])) or np.isnan(sum(like.chunks[0])))
            if known and sum(collection.chunks[0]) != sum(like.chunks[0]):
                raise ValueError(f"{name} has {sum(collection.chunks[0])} rows, X has {sum(like.chunks[0])}")
            if known:
                collection = collection.rechunk({0: like.chunks[0]})
        return list(collection.to_delayed().ravel())
    return list(collection.to_delayed(optimize_graph=False))


_TARGET, _WEIGHT = "__target_{}__", "__weight__"


def _beside(X: Any, *columns: Any, names: list[str]) -> Any:
    """Return a partition with further columns, row by row."""
    out = X.copy()
    for name, column in zip(names, columns, strict=True):
        if len(column) != len(X):
            raise ValueError(f"y or sample_weight has {len(column)} rows in a partition, X has {len(X)}")
        out[name] = column.array  # by place, not by index; what it is made of stays
    return out


def _joined(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return one data frame that holds X and the collections y and weight, and the names these have in it.

    Collections that come from the same files are optimised apart, and then cut differently: as columns of one
    frame they stay together.
    """
    columns, names, target = [], [], y
    if _is_dask(y):
        several = _is_frame(y)
        columns = [y[name] for name in y.columns] if several else [y]
        target = [_TARGET.format(i) for i in range(len(columns))]
        names, target = target, target if several else target[0]
    if _is_dask(weight):
        columns, names, weight = [*columns, weight], [*names, _WEIGHT], _WEIGHT
    if not columns:
        return X, target, weight
    for column in columns:
        if column.npartitions != X.npartitions:
            raise ValueError(
                f"X has {X.npartitions} partitions, y or sample_weight {column.npartitions}: they must be "
                "cut along the same rows"
            )
    meta = X._meta.copy()
    for name, column in zip(names, columns, strict=True):
        meta[name] = column._meta.array
    return X.map_partitions(_beside, *columns, names=names, align_dataframes=False, meta=meta), target, weight


def _partitions(X: Any, y: Any, sample_weight: Any) -> tuple[list[Delayed], list[Any], list[Any]]:
    """Return the partitions of X, y and the weights side by side."""
    if _is_frame(X):
        for name in [*([y] if isinstance(y, str) else y if isinstance(y, list) else []), sample_weight]:
            if isinstance(name, str) and name not in X.columns:
                raise ValueError(f"there is no column {name!r} among {shown(list(X.columns))}")
    named_columns = _is_frame(X) and isinstance(y, str | list)
    is_given = sample_weight is None or (_is_frame(X) and isinstance(sample_weight, str))
    if not (named_columns or _is_dask(y)) or not (is_given or _is_dask(sample_weight)):
        raise TypeError("with a Dask collection as X, y and sample_weight must be Dask collections too")
    of_arrays = [v for v in (y, sample_weight) if _is_dask(v) and hasattr(v, "chunks")]
    if _is_frame(X) and not of_arrays:
        whole, target, weight = _joined(X, y, sample_weight)
        rows = list(whole.to_delayed())
        return rows, [target] * len(rows), [weight] * len(rows)
    # Beside arrays a frame keeps the partitions that it shows: they are not optimised with it.
    rows = list(X.to_delayed(optimize_graph=False)) if _is_frame(X) else _by_rows(X, "X")
    labels = _by_rows(y, "y", X) if _is_dask(y) else [y] * len(rows)
    weighted: list[Any] = [sample_weight] * len(rows)
    if _is_dask(sample_weight):
        weighted = _by_rows(sample_weight, "sample_weight", X)
    if not len(rows) == len(labels) == len(weighted):
        raise ValueError(
            f"X has {len(rows)} partitions, y {len(labels)}"
            + ("" if sample_weight is None else f", sample_weight {len(weighted)}")
            + ": they must be cut along the same rows"
        )
    return rows, labels, weighted


def _computed(*values: Any) -> Any:
    """Return what a graph gives; RuntimeError where the cluster forgot about it."""
    try:
        return compute(*values)
    except CancelledError as error:
        raise RuntimeError(
            "the scheduler was restarted or lost while the model was fitted: the model is as it was before; "
            "fit it again"
        ) from error


class _OnDask:
    """Fits and predicts on Dask collections; whatever else is left to the model in memory."""

    def fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model to Dask collections, or to what the model in memory takes.

        Parameters
        ----------
        X : dask array or dask data frame of shape (m, d)
            Training points.
        y : dask array, series or data frame of shape (m,) or (m, k), or str or list of str
            Targets or labels; for a data frame X, the names of their columns.
        sample_weight : dask array or series of shape (m,), or str, default=None
            Weights.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            The fitted model.
        """
        if not _is_dask(X):
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        self._check_parameters()
        if self.solver == "cg":
            raise ValueError('grls.dask solves from sums: use solver="cholesky"')
        rows, labels, weights = _partitions(X, y, sample_weight)
        seed = self._seed()
        blank = delayed(clone(self), pure=False)
        parts = list(zip(range(len(rows)), rows, labels, weights, strict=True))
        sample = _tree([delayed(_sample)(blank, seed, *part) for part in parts], _join_samples)
        drafted = delayed(_draft)(blank, sample)

        def attempt(n_centers: int, by: Any, grid: Any) -> Any:
            planned = delayed(_plan)(blank, seed, drafted, n_centers)
            sums = _tree([delayed(_sum)(blank, planned, *part) for part in parts], _join_sums)
            return delayed(_solve)(planned, sums, by, grid)

        with self._timed_fit(), recorded() as messages:
            self._forget("_partial", *[name for name in vars(self) if name.endswith("_")])
            if self._chooses_centers():
                (drafted,) = persist(drafted)
                ((n_features, n_rows, record),) = _computed(delayed(_limits)(drafted))
                by, grid = self._criterion()

                def doubled(n_centers: int) -> tuple[_Shared, Solution]:
                    ((planned, solution),) = _computed(attempt(n_centers, by, grid))
                    return planned, solution

                numbers = doubling.numbers_to_try(n_features, n_rows)
                found = doubling.double(doubled, numbers, by)
                planned, solution = found.kept, found.solution
            else:
                solved = attempt(self._given_number(), self.regularization, self.regularization_grid)
                (planned, solution), (_, _, record) = _computed(solved, delayed(_limits)(drafted))
            for message, category in dict.fromkeys(planned.told):
                warn(message, category)
            for name, value in planned.header.items():
                setattr(self, name, value)
            self._keep_record(record)
            if self._chooses_centers():
                self._keep_doubling(replace(found, kept=planned.what))
            self._store(planned.what, solution)
            self.fit_warnings_ = messages
        return self

    def _value_shape(self: Any, method: str) -> tuple[int, ...]:
        """Return the shape of the values of one row."""
        if not hasattr(self, "classes_"):
            return tuple(self._y_shape)
        n_classes = len(self.classes_)
        return () if method == "predict" or n_classes == 2 else (n_classes,)

    def _lazily(self: Any, X: Any, method: str) -> Any:
        if not _is_dask(X):
            return getattr(super(), method)(X)
        check_is_fitted(self)
        model = delayed(self, pure=False)
        if _is_frame(X):
            return X.map_partitions(_frame_apply, model, method, meta=self._meta(method))
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        shape, dtype = self._value_shape(method), self._value_type(method)
        if shape == ():
            return da.map_blocks(_apply, X, model, method, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
        chunks = (X.chunks[0], shape)
        return da.map_blocks(
            _apply, X, model, method, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype)
        )

    def _value_type(self: Any, method: str) -> Any:
        return self.classes_.dtype if method == "predict" and hasattr(self, "classes_") else np.dtype(float)

    def _meta(self: Any, method: str) -> Any:
        import pandas as pd

        shape, dtype = self._value_shape(method), self._value_type(method)
        empty = np.empty((0, *shape), dtype)
        return pd.Series(empty) if shape == () else pd.DataFrame(empty)

    def predict(self: Any, X: Any, **options: Any) -> Any:
        """Return the predictions, lazy for a Dask collection.

        Parameters
        ----------
        X : dask array, dask data frame, or what the model in memory takes, of shape (n, d)
            Points.
        **options : bool
            Those of the model in memory, for rows in memory. Standard deviations of a Dask collection:
            ``X.map_blocks(lambda rows: model.predict(rows, return_std=True)[1], drop_axis=1)``.

        Returns
        -------
        dask array, dask series or data frame, or ndarray, of shape (n,) or (n, k)
            Values of the model function, or labels.
        """
        if options and not _is_dask(X):
            return super().predict(X, **options)  # type: ignore[misc]
        if any(options.values()):
            raise ValueError(
                "standard deviations of a Dask collection are not lazy here: map the model's predict over "
                "its blocks"
            )
        return self._lazily(X, "predict")


class NystromGRLSRegressor(_OnDask, nystrom.NystromGRLSRegressor):  # type: ignore[misc]
    """`grls.NystromGRLSRegressor` for Dask collections; parameters and attributes are the same."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the mean of all outputs; of Dask collections without gathering a partition.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n, d)
            Points.
        y : dask array, series or data frame, or array-like, of shape (n,) or (n, k)
            Targets.
        sample_weight : dask array or series, or array-like, default=None
            Weights.

        Returns
        -------
        float
            R².
        """
        if not _is_dask(X):
            return float(super().score(X, y, sample_weight))
        model = delayed(self, pure=False)
        parts = zip(*_partitions(X, y, sample_weight), strict=True)
        moments = _tree([delayed(_moments)(model, *p) for p in parts], _join_moments).compute()
        if moments is None:
            raise ValueError("there are no rows to score")
        _, _, spread, squared = moments
        r2 = 1 - np.divide(squared, spread, out=(squared > 0).astype(np.float64), where=spread > 0)
        return float(np.mean(r2))  # of targets that are all the same: 1 if they are met, else 0


class NystromGRLSClassifier(_OnDask, nystrom.NystromGRLSClassifier):
    """`grls.NystromGRLSClassifier` for Dask collections; parameters and attributes are the same."""

    def decision_function(self, X: Any) -> Any:
        """Return the values of the model functions, lazy for a Dask collection.

        Parameters
        ----------
        X : dask array, dask data frame, or what the model in memory takes, of shape (n, d)
            Points.

        Returns
        -------
        dask array, dask series or data frame, or ndarray, of shape (n,) or (n, n_classes)
            For two classes one function, positive for ``classes_[1]``.
        """
        return self._lazily(X, "decision_function")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; of Dask collections without gathering a partition.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n, d)
            Points.
        y : dask array or series, or array-like, of shape (n,)
            Labels.
        sample_weight : dask array or series, or array-like, default=None
            Weights.

        Returns
        -------
        float
            The share of labels that are right.
        """
        if not _is_dask(X):
            return float(super().score(X, y, sample_weight))
        model = delayed(self, pure=False)
        parts = zip(*_partitions(X, y, sample_weight), strict=True)
        right, total = _tree([delayed(_right)(model, *p) for p in parts], sum).compute()
        return float(right / total)
