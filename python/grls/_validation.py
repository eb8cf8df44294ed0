"""Checks of arguments that several modules share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length

FloatArray = NDArray[np.float64]


def real(value: object, name: str, *, minimum: float | None = None, above: float | None = None) -> float:
    """Return `value` as a float; ValueError or TypeError names the parameter where it cannot be right."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = np.inf
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    if minimum is not None and number < minimum:
        raise ValueError(f"{name} must be at least {minimum:g}, got {value!r}")
    if above is not None and number <= above:
        raise ValueError(f"{name} must be greater than {above:g}, got {value!r}")
    return number


def miss_rate(value: object) -> float:
    """Return the share of misses `alpha` that a band allows; 1 − alpha is covered."""
    if not 0 < real(value, "alpha") < 1:
        raise ValueError(
            f"alpha must lie between 0 and 1, both excluded, got {value!r}; it is the share of misses: "
            "alpha=0.1 covers 90 %"
        )
    return real(value, "alpha")


def integer(value: object, name: str, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int; ValueError or TypeError names the parameter where it cannot be right."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    if maximum is not None and int(value) > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {value!r}")
    return int(value)


def number_or_choice(
    value: object,
    name: str,
    options: tuple[str, ...],
    *,
    minimum: float | None = None,
    above: float | None = None,
) -> float | str:
    """Return `value` when it is one of `options`, or a number within its limits."""
    if isinstance(value, str):
        return choice(value, f"{name} (unless it is a number)", options)
    return real(value, name, minimum=minimum, above=above)


def require_number_for_gradients(regularization: object) -> None:
    """Raise ValueError where conjugate gradients are asked to choose γ."""
    if isinstance(regularization, str):
        raise ValueError(
            f'solver="cg" solves for one regularization, and cannot choose it by {regularization!r}: give '
            'regularization a number, or use solver="cholesky"'
        )


def refuse_dates(values: Any, what: str) -> None:
    """Raise TypeError for dates and durations, which NumPy would read as counts of nanoseconds or days."""
    dtypes = getattr(values, "dtypes", None)
    if dtypes is not None and hasattr(dtypes, "items"):  # of a DataFrame
        found = [str(name) for name, dtype in dtypes.items() if getattr(dtype, "kind", "") in "mM"]
        where = f"column {found[0]!r} of {what} holds" if found else ""
    else:
        where = f"{what} holds" if getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M") else ""
    if where:
        raise TypeError(
            f"{where} dates or durations, whose numbers depend on a unit: convert them to numbers, such as "
            "years: 1970 + (dates - np.datetime64('1970-01-01')) / np.timedelta64(1, 'D') / 365.25"
        )


def require_two_samples(n_samples: int) -> None:
    """Raise ValueError where there is but one sample."""
    if n_samples < 2:
        raise ValueError(f"cannot fit to n_samples={n_samples}: at least 2 samples are needed")


def choice(value: object, name: str, options: tuple[str, ...]) -> str:
    """Return `value` when it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {listed}; got {value!r}{did_you_mean(value, options)}")
    return value


def did_you_mean(value: object, options: Iterable[str]) -> str:
    """Return the end of a message about a name that is not there: the nearest one that is."""
    if not isinstance(value, str):
        return ""
    by_lower = {option.lower(): option for option in options}
    near = get_close_matches(value.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


_FEW = 16  # values that are written out


def shown(value: Any) -> str:
    """Return the repr of a parameter in plain Python; many values are a range, or the first and the last."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return repr(value)
    values = [item.item() if isinstance(item, np.generic) else item for item in value]
    if len(values) <= _FEW:
        return repr(tuple(values) if isinstance(value, tuple) else values)
    if all(type(item) is int for item in values) and (step := values[1] - values[0]):
        steps = range(values[0], values[-1] + (1 if step > 0 else -1), step)
        if values == list(steps):
            return repr(steps)
    return f"[{', '.join(map(repr, values[:3]))}, …, {values[-1]!r} ({len(values)} in all)]"


def column_positions(columns: Any, n_columns: int, names: list[str] | None, what: str) -> list[int]:
    """Return the positions of columns given by position (negative: from the end) or by DataFrame name.

    Or by a slice of either, that of names with its end, or by one boolean for each column.
    """
    if isinstance(columns, slice):
        columns = _sliced(columns, n_columns, names, what)
    wanted: list[Any] = [columns] if isinstance(columns, str | Integral) else list(columns)
    if len(wanted) == n_columns and all(isinstance(column, bool | np.bool_) for column in wanted):
        wanted = [position for position, is_wanted in enumerate(wanted) if is_wanted]
    if not wanted:
        raise ValueError(f"{what} needs at least one column")
    positions: list[int] = []
    for column in wanted:
        if isinstance(column, str):
            if names is None:
                raise ValueError(
                    f"{what}: no column {column!r}, the data have no column names; use a DataFrame"
                )
            if column not in names:
                hint = did_you_mean(column, [name for name in names if isinstance(name, str)])
                raise ValueError(f"{what}: there is no column {column!r} among {shown(names)}{hint}")
            positions.append(names.index(column))
        else:
            position = integer(column, what, minimum=-n_columns)
            if position >= n_columns:
                raise ValueError(f"{what}: there is no column {position}, the data have {n_columns}")
            positions.append(position % n_columns)
    if len(set(positions)) < len(positions):
        raise ValueError(f"{what} names a column twice: {shown(wanted)}")
    return positions


def _sliced(columns: slice, n_columns: int, names: list[str] | None, what: str) -> list[int]:
    ends: list[Any] = [
        end if end is None or isinstance(end, Integral) else column_positions(end, n_columns, names, what)[0]
        for end in (columns.start, columns.stop)
    ]
    if isinstance(columns.stop, str):
        ends[1] += 1
    return list(range(*slice(ends[0], ends[1], columns.step).indices(n_columns)))


def is_table_of_numbers(X: Any) -> bool:
    """Whether X is checked as a matrix: it is no list of documents, nor a table with columns of text."""
    if (type(X) is np.ndarray and X.dtype.kind in "biufc") or sparse.issparse(X):
        return True
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return all(_is_number(dtype) for dtype in X.dtypes)
    if hasattr(X, "dtype"):
        values = X
    elif isinstance(X, list | tuple):
        if X and isinstance(X[0], str | bytes | dict):
            return False
        try:
            values = np.asarray(X)
        except ValueError:  # rows of different lengths
            return False
    else:
        return True
    if _is_number(values.dtype):
        return True
    items = np.asarray(values, dtype=object)
    kinds = (str, bytes, dict, list) if items.ndim == 1 else (str, bytes)
    return not any(isinstance(item, kinds) for item in items.flat)


def has_text(X: Any) -> bool:
    """Whether a data frame has columns of text, whatever the text is."""
    if is_table_of_numbers(X) or not hasattr(X, "columns"):
        return False
    mixed = (X[name] for name, dtype in zip(X.columns, X.dtypes, strict=True) if not _is_number(dtype))
    return any(isinstance(value, str | bytes) for column in mixed for value in np.asarray(column))


def _is_number(dtype: Any) -> bool:
    is_numeric = getattr(dtype, "is_numeric", None)  # of polars
    return bool(is_numeric()) if callable(is_numeric) else getattr(dtype, "kind", "O") in "biufc"


def is_as_fitted(X: Any, estimator: Any) -> bool:
    """Whether new rows need no further check: finite doubles in order, of the columns that were fitted.

    scikit-learn's checks take longer than the prediction of a row.
    """
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.flags.aligned
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
        and bool(np.isfinite(X).all())
    )


def as_rows(X: Any) -> Any:
    """Return rows that are no table of numbers with a shape: lists as arrays of objects."""
    if hasattr(X, "shape"):
        return X
    if X and not isinstance(X[0], str | bytes | dict):
        try:
            table = np.asarray(X, dtype=object)
        except ValueError:  # rows of different lengths
            table = np.empty(0, dtype=object)
        if table.ndim == 2:
            return table
    out = np.empty(len(X), dtype=object)
    out[:] = X
    return out


def sample_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Return the weights as a float64 vector, or None for equal weights."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(X.shape[0], sample_weight, dtype=np.float64)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, got an array of shape {weights.shape}")
    check_consistent_length(X, weights)
    if np.any(weights < 0):
        raise ValueError("sample_weight must not be negative")
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every sample: nothing is left to fit")
    return np.asarray(weights)


def require_unchanged(name: str, fitted: Any, now: Any) -> None:
    """Raise ValueError where a parameter that a fitted model is read with was set anew."""
    if fitted != now:
        raise ValueError(f"{name} is {now!r} now, and the model was fitted with {fitted!r}: fit it again")


def require_size(targets: FloatArray, smallest: float, largest: float) -> None:
    """Raise ValueError for targets (m, k) whose squares leave floating point."""
    for k, size in enumerate(np.abs(targets).max(axis=0)):
        if size != 0 and not smallest <= size <= largest:
            column = "y" if targets.shape[1] == 1 else f"column {k} of y"
            raise ValueError(
                f"the largest value of {column} is {size:.3g} in size, and models are computed for sizes "
                f"from {smallest:g} to {largest:g}: change the unit of y"
            )


def target_columns(y: Any, rows: Any, n_outputs: int) -> FloatArray:
    """Return the targets y of some rows as (n, n_outputs), checked."""
    values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(rows, values)
    values = np.asarray(values).reshape(len(values), -1)
    if values.shape[1] != n_outputs:
        raise ValueError(f"y has {values.shape[1]} columns, the model {n_outputs}")
    return values


def require_symmetric(matrix: FloatArray, name: str) -> None:
    """Raise ValueError unless a square matrix is symmetric up to rounding; the core reads one triangle."""
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-10 * np.abs(matrix).max(initial=0)):
        raise ValueError(f"{name} must be symmetric")


def with_unlabelled(X: Any, unlabelled: Any, what: str) -> Any:
    """Return checked rows X, and below them those of the parameter `what`, unless that is None."""
    if unlabelled is None:
        return X
    more = check_array(unlabelled, accept_sparse="csr", dtype=np.float64, input_name=what)
    if more.shape[1] != X.shape[1]:
        raise ValueError(f"{what} has {more.shape[1]} columns, the training data {X.shape[1]}")
    if sparse.issparse(X) or sparse.issparse(more):
        return sparse.vstack([X, more], format="csr")
    return np.vstack([X, more])


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was when what is done to it fails or is interrupted."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__ = before  # in one step, for a second Ctrl-C or another thread
        raise
