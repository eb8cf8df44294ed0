"""Kernels on views of the input: ``k.after(transformer)`` reads what a fitted transformer makes of the rows.

An estimator's samples pass through the views once. What all parts of a kernel read then stands in one matrix,
[columns of X that are read themselves | first view | second view | …], and the kernel is lowered on the
columns of that matrix: solvers, criteria and derivatives see an ordinary kernel and ordinary points. Where
columns stand is kept in the fitted kernel: at its root `_frame`, the place of every column of X in the matrix
(−1: not there), and in every view `_columns`, the places of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing, check_array, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._input_errors import values_explained
from .._validation import FloatArray, is_table_of_numbers, refuse_dates, shown
from ..features import LinearMap
from .base import Kernel
from .compose import Sum, _SameOrder
from .lowering import Columns, Lowering

_FLOATS = [np.float64, np.float32]


def as_view(transformer: Any) -> Any:
    """Return a transformer from anything ``kernel.after`` takes: one, a function, or a matrix."""
    if hasattr(transformer, "transform"):
        return transformer
    if callable(transformer):
        return FunctionTransformer(transformer)
    if isinstance(transformer, np.ndarray | list | tuple):
        return LinearMap(transformer)
    raise TypeError(
        "kernel.after takes a transformer with a method transform, a function of X, or a matrix A for X @ A; "
        f"got {transformer!r}"
    )


@dataclass
class Look:
    """One pass of the kernel's parts over rows: who reads which columns, and what the views give."""

    given: Any  # (n, d) or, of raw rows such as documents, (n,)
    fits: bool  # whether the views are fitted
    y: Any = None
    weights: Any = None
    refits: bool = True  # whether transformers that are fitted already are fitted again
    is_checked: bool = False  # whether the rows are known to be finite numbers
    known: Any = None  # the matrix that fitted views made of these rows: they are not asked again
    own: set[int] = field(default_factory=set)  # columns that are read themselves
    blocks: list[tuple[After, Any, NDArray[np.intp]]] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.given.shape[0])

    @property
    def n_columns(self) -> int | None:
        """None: the rows are no table."""
        return int(self.given.shape[1]) if len(self.given.shape) == 2 else None


@dataclass(frozen=True)
class Seen:
    """The columns of a pass that a part of the kernel reads."""

    look: Look
    columns: Columns  # None: all
    names: list[str] | None
    is_one: bool = False  # a column that was not given as a list of one

    @property
    def n_columns(self) -> int:
        """How many they are."""
        if self.columns is not None:
            return len(self.columns)
        if self.look.n_columns is None:
            raise ValueError("kernel.on(columns) needs a table: the rows given are not one")
        return self.look.n_columns

    def rows(self) -> Any:
        """Return them as a transformer sees them: one column of text as its documents."""
        if self.columns is None:
            return self.look.given
        if self.is_one:
            column = _safe_indexing(self.look.given, self.columns[0], axis=1)
            if getattr(getattr(column, "dtype", None), "kind", "O") not in "biufc":
                return column
        return _safe_indexing(self.look.given, list(self.columns), axis=1)

    def within(self, positions: list[int], *, is_one: bool) -> Seen:
        """Return some of these columns."""
        columns = tuple(positions) if self.columns is None else tuple(self.columns[p] for p in positions)
        names = None if self.names is None else [self.names[p] for p in positions]
        return Seen(self.look, columns, names, is_one)

    def read(self, kernel: Kernel) -> None:
        """Note that a kernel reads the columns themselves."""
        if self.look.n_columns is None:
            raise ValueError(
                f"{kernel!r} reads the rows themselves, and these are no table of numbers: put it after a "
                "transformer, kernel.after(transformer)"
            )
        self.look.own.update(range(self.n_columns) if self.columns is None else self.columns)


class After(_SameOrder):
    """A kernel on a view of the rows, k(t(x), t(z)), written ``k.after(t)``.

    Parameters
    ----------
    kernel : Kernel
        k, of the view's columns.
    after : transformer
        t: cloned and fitted where an estimator is fitted, with X, y and the sample weights where it takes
        them.
    """

    _columns: range | tuple[int, ...]  # in the matrix, where the view is fitted
    _width: int  # of what the transformer gives

    def __init__(self, kernel: Kernel, after: Any) -> None:
        self.kernel = kernel
        self.transformer = after  # not by the parameter's name, which is that of the method

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, ``kernel`` and ``after``, and theirs."""
        own = {"kernel": self.kernel, "after": self.transformer}
        theirs: dict[str, Any] = {}
        for name, value in own.items():
            if deep and hasattr(value, "get_params"):
                theirs |= {f"{name}__{key}": part for key, part in value.get_params().items()}
        return own | theirs

    def set_params(self, **parameters: Any) -> After:
        """Set parameters; those of a fitted view ask for a new fit."""
        if self.is_placed and any(name.split("__")[0] == "after" for name in parameters):
            self.transformer = clone(self.transformer)
            del self._columns, self._width
        if "after" in parameters:
            self.transformer = parameters.pop("after")
        super().set_params(**parameters)
        return self

    @property
    def is_placed(self) -> bool:
        """Whether the view is fitted, and its columns have their place in a matrix."""
        return "_columns" in self.__dict__

    def __sklearn_clone__(self) -> After:
        if not self.is_placed:
            copy: After = super().__sklearn_clone__()
            return copy
        copy = type(self)(clone(self.kernel), self.transformer)  # as widths that are fixed stay so
        self._hand_places_to(copy)
        copy._columns, copy._width = self._columns, self._width
        return copy

    def _reads_given(self) -> bool:
        return True

    @property
    def compares_labels(self) -> bool:
        """False: the transformer reads the values."""
        return False

    def _views(self) -> list[After]:
        return [self, *self.kernel._views()]

    def _look(self, seen: Seen) -> None:
        if seen.columns is not None and len(seen.columns) == 1 and _reads_documents(self.transformer):
            seen = replace(seen, is_one=True)  # a list of one column would be read as its name
        look, rows = seen.look, seen.rows()
        if self.kernel.pairwise:
            raise ValueError("a precomputed kernel has no points that could be viewed by a transformer")
        if not hasattr(self.transformer, "transform"):
            raise TypeError(f"kernel.after needs a transformer, {self.transformer!r} has no method transform")
        if look.known is not None and self.is_placed:
            V = self._remembered(look.known)
        else:
            with values_explained(rows, seen.columns):
                values = self._fitted_values(rows, look) if look.fits else self._viewed(rows)
                V = self._checked(values, look.n_rows)
        if look.fits:
            self._width = V.shape[1]
        elif V.shape[1] != self._width:
            raise ValueError(
                f"the view {self.transformer!r} gave {V.shape[1]} columns, but {self._width} when fitted"
            )
        inner = Look(V, look.fits, look.y, look.weights, look.refits, is_checked=True, known=look.known)
        matrix, frame = matrix_of(self.kernel, inner, None)
        look.blocks.append((self, matrix, frame))

    def _fitted_values(self, rows: Any, look: Look) -> Any:
        """Return the view of the rows that it is fitted to, if it is not to be used as it is."""
        if self.is_placed or not (look.refits or not _is_fitted(self.transformer)):
            return self._viewed(rows)
        self.transformer = clone(self.transformer)
        if look.weights is not None and has_fit_parameter(self.transformer, "sample_weight"):
            return self.transformer.fit(rows, look.y, sample_weight=look.weights).transform(rows)
        if hasattr(self.transformer, "fit_transform"):
            return self.transformer.fit_transform(rows, look.y)
        return self.transformer.fit(rows, look.y).transform(rows)

    def _remembered(self, matrix: Any) -> Any:
        """Return the view of rows from the matrix that has it, but for columns nobody reads."""
        places = np.maximum(np.asarray(tuple(self._columns), dtype=np.intp), 0)
        V = matrix[:, places]
        return V if sparse.issparse(V) else np.ascontiguousarray(V)

    def _viewed(self, rows: Any) -> Any:
        """Return the fitted view of rows: without names, where it was fitted without them."""
        without_names = hasattr(self.transformer, "n_features_in_") and not hasattr(
            self.transformer, "feature_names_in_"
        )
        if without_names and hasattr(rows, "columns") and is_table_of_numbers(rows):
            values = np.asarray(rows)
            rows = values if values.dtype.kind in "biuf" else rows
        return self.transformer.transform(rows)

    def _checked(self, values: Any, n_rows: int) -> Any:
        if not sparse.issparse(values):
            values = np.asarray(values)
            values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[0] != n_rows:
            raise ValueError(
                f"the view {self.transformer!r} has shape {values.shape}, expected ({n_rows}, columns)"
            )
        if values.shape[1] == 0:
            raise ValueError(
                f"the view {self.transformer!r} has no columns: {self.kernel!r} has nothing to read"
            )
        return _finite(values, lambda: f"the view {self.transformer!r}")

    def place(self, columns: range | tuple[int, ...]) -> None:
        """Say where the columns stand, those of views of this view moved along."""
        self._columns = columns

    def move(self, start: int) -> None:
        """Move the columns to the right."""
        self._columns = _moved(self._columns, start)

    def _within(self, n_columns: int) -> range | tuple[int, ...] | None:
        """Return the view's columns in the matrix, None where they are all of it."""
        if not self.is_placed:
            raise ValueError(
                f"the view {self.transformer!r} is not fitted: call kernel.resolve(X) first; its parameters "
                "can be chosen by GridSearchCV, but not by optimize"
            )
        return None if self._columns == range(n_columns) else self._columns

    def _settle(self, X: Any, columns: Any, names: list[str] | None) -> None:
        self.kernel._settle(X, self._within(X.shape[1]), None)

    def _demands(self, columns: Sequence[int]) -> list[tuple[Kernel, Sequence[int]]]:
        return self.kernel._demands(tuple(self._columns))

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return self.kernel._inner_products(tuple(self._columns), adds_up=adds_up)

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        within = self._within(lowering.n_columns)
        self.kernel._lower(lowering, None if within is None else tuple(within))

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        within = self._within(X.shape[1])
        return self.kernel._values(X, Z, None if within is None else tuple(within))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        view = self.transformer
        if isinstance(view, LinearMap) and np.size(view.matrix) <= 16:
            view = view.matrix
        return f"{self.kernel._inside(3)}.after({shown(view)})"


class Placed(After):
    """A kernel on columns that stand in the matrix beside those of X and the views."""

    def __init__(self, kernel: Kernel, after: Any = None) -> None:
        super().__init__(kernel, after)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return repr(self.kernel)

    @classmethod
    def at(cls, kernel: Kernel, columns: range) -> Placed:
        """Return a kernel on some columns of the matrix."""
        placed = cls(kernel)
        placed._columns, placed._width = columns, len(columns)
        return placed


def beside_views(kernel: Kernel, other: Kernel, columns: range) -> Kernel:
    """Return the sum of a fitted kernel with views and another one on further columns of its matrix."""
    out = Sum(kernel, Placed.at(other, columns))
    kernel._hand_places_to(out)
    return out


def matrix_of(kernel: Kernel, look: Look, names: Sequence[str] | None) -> tuple[Any, NDArray[np.intp]]:
    """Return the matrix of all that a kernel reads of rows, and where the rows' columns stand in it.

    Where the pass fits the views it also gives them their places.
    """
    kernel._look(Seen(look, None, None if names is None else list(names)))
    own = sorted(look.own)
    frame = np.full(look.n_columns or 0, -1, dtype=np.intp)
    frame[own] = np.arange(len(own))
    parts = [_numbers(look, own)] if own else []
    start = len(own)
    for view, part, columns in look.blocks:
        if look.fits:
            view.place(_compact(columns))
            for one in view._views():
                one.move(start)
        parts.append(part)
        start += part.shape[1]
    return _side_by_side(parts, look.n_rows), frame


def _compact(columns: NDArray[np.intp]) -> range | tuple[int, ...]:
    whole = range(len(columns))
    return whole if np.array_equal(columns, whole) else tuple(columns.tolist())


def _moved(columns: range | tuple[int, ...], start: int) -> range | tuple[int, ...]:
    if isinstance(columns, range):
        return range(columns.start + start, columns.stop + start)
    return tuple(c if c < 0 else c + start for c in columns)


def _numbers(look: Look, columns: list[int]) -> Any:
    """Return columns that are read themselves, which must be finite numbers."""
    whole = len(columns) == look.n_columns
    chosen = look.given if whole else _safe_indexing(look.given, columns, axis=1)
    if look.is_checked:
        return chosen
    refuse_dates(chosen, "X")
    with values_explained(chosen, columns):
        return _finite(chosen, lambda: "X in the columns that the kernel reads")


def _finite(values: Any, what: Callable[[], str]) -> Any:
    """Return a matrix of finite numbers for the core; ValueError says what is not one."""
    ready = type(values) is np.ndarray and values.dtype in _FLOATS and values.flags.c_contiguous
    if ready and np.isfinite(values).all():
        return values
    return check_array(
        values, accept_sparse="csr", dtype=_FLOATS, order="C", ensure_min_samples=0, input_name=what()
    )


def _side_by_side(parts: list[Any], n_rows: int) -> Any:
    if not parts:
        return np.zeros((n_rows, 1))  # the kernel reads nothing
    if len(parts) == 1:
        return parts[0]
    if any(sparse.issparse(part) for part in parts):
        return sparse.hstack([sparse.csr_matrix(part) for part in parts], format="csr")
    return np.hstack(parts)


def takes_sparse(transformer: Any) -> bool:
    """Whether a transformer takes sparse matrices, as far as it tells."""
    return not isinstance(transformer, BaseEstimator) or bool(get_tags(transformer).input_tags.sparse)


def _reads_documents(transformer: Any) -> bool:
    """Whether a transformer, or the first step of a pipeline, takes a column of text and no table."""
    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    return isinstance(transformer, BaseEstimator) and not get_tags(transformer).input_tags.two_d_array


def keep_fitted(kernel: Kernel, copy: Kernel) -> None:
    """Give a kernel's copy the transformers that are fitted already."""
    for mine, other in zip(kernel._views(), copy._views(), strict=True):
        if _is_fitted(mine.transformer):
            other.transformer = mine.transformer


def _is_fitted(transformer: Any) -> bool:
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    return True
