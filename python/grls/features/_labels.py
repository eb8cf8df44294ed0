"""Labels of rows, from columns of any type: a label is the same in every dtype that holds it."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from .._validation import shown

_KINDS = {"U": "text", "M": "dates", "m": "durations"}  # all others are numbers


def read_labels(table: Any, position: int, what: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels in a column without the missing ones, and which rows have one, (n,).

    Labels are numbers, text, dates or durations. A column of objects is what they are; what is none of these
    is read as text. `what` names the column in errors.
    """
    column = _safe_indexing(table, position, axis=1)
    values = np.ravel(column.toarray() if sparse.issparse(column) else np.asarray(column))
    if values.dtype.kind in "OT":
        values = values.astype(object)
        there = np.array([not _is_missing(value) for value in values], dtype=bool)
        labels = _of_objects(values[there], what)
    else:
        there = values == values  # NaN and NaT are unlike themselves
        labels = values[there]
    if labels.dtype.kind == "S":
        labels = labels.astype(str)
    if labels.dtype == np.uint64 and not (labels > np.iinfo(np.int64).max).any():
        labels = labels.astype(np.int64)  # uint64 and int64 would be compared as floats
    return labels, there


def require_labels(y: Any) -> None:
    """ValueError where labels that are to be learnt are missing, or of several kinds."""
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if values.dtype.kind not in "OT" or values.ndim == 0:
        return
    values = np.ravel(values).astype(object)
    missing = np.array([_is_missing(value) for value in values], dtype=bool)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(
            f"y has no label at {missing.sum()} of {len(values)} rows, the first is row {row} with "
            f"{shown(values[row])}: leave such rows out"
        )
    _kind_of_objects(values, "y", "make it all text, .astype(str)")


def positions_among(labels: NDArray[Any], known: NDArray[Any], what: str) -> NDArray[np.intp]:
    """Return where labels are among sorted ones of training, len(known) for those that are not there."""
    if not len(labels) or not len(known):
        return np.full(len(labels), len(known), dtype=np.intp)
    require_one_kind(labels, known, what, "in training")
    if labels.dtype.kind == known.dtype.kind == "f":
        coarser = min(labels.dtype, known.dtype, key=lambda dtype: dtype.itemsize)
        labels, known = labels.astype(coarser), known.astype(coarser)  # 0.1 is 0.1 in each precision
    place = np.searchsorted(known, labels)
    found = known[np.minimum(place, len(known) - 1)] == labels
    return np.where(found, place, len(known)).astype(np.intp)


def require_one_kind(labels: NDArray[Any], known: NDArray[Any], what: str, when: str) -> None:
    """ValueError where labels are of another kind than those `known`, as numbers and text are."""
    if not len(labels) or not len(known):
        return
    kind, known_kind = _kind(labels), _kind(known)
    if kind != known_kind:
        remedy = "text: .astype(str)" if known_kind == "text" else known.dtype.name
        raise ValueError(
            f"{what} holds {kind}, such as {plain(labels[0])}, but held {known_kind} {when}, such as "
            f"{plain(known[0])}: convert it to {remedy}"
        )


def plain(label: Any) -> str:
    """Return a label as it is written in Python; dates and durations as NumPy prints them."""
    return str(label) if label.dtype.kind in "mM" else repr(label.item())


def _kind(labels: NDArray[Any]) -> str:
    return _KINDS.get(labels.dtype.kind, "numbers")


def _is_missing(value: Any) -> bool:
    """Whether a value stands for no label: None, NaN, NaT or NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA is neither like itself nor unlike
        return True


def _of_objects(values: NDArray[Any], what: str) -> NDArray[Any]:
    kind = _kind_of_objects(values, what, "make it all text, .astype(str), in training and at predictions")
    if kind == "numbers":
        numbers = np.array(values.tolist())
        whole = not any(issubclass(one, float | np.floating) for one in set(map(type, values)))
        exact = numbers.dtype.kind in ("biu" if whole else "f")
        return numbers if exact or not len(values) else values.astype(str)  # some are beyond 64 bits
    return values.astype({"text": "U", "dates": "M8[us]", "durations": "m8[us]"}[kind])


def _kind_of_objects(values: NDArray[Any], what: str, remedy: str) -> str:
    """Return the kind of labels, none of them missing; ValueError where they are of several."""
    of_type: dict[type, Any] = {}
    for value in values:
        of_type.setdefault(type(value), value)
    of_kind: dict[str, Any] = {}
    for value in of_type.values():
        of_kind.setdefault(_kind_of_object(value), value)
    if len(of_kind) > 1:
        (one, a), (other, b) = sorted(of_kind.items(), key=lambda item: item[0])[:2]
        raise ValueError(f"{what} holds both {one} and {other}, such as {shown(a)} and {shown(b)}: {remedy}")
    return next(iter(of_kind), "numbers")


def _kind_of_object(value: Any) -> str:
    if isinstance(value, timedelta | np.timedelta64):  # the latter is an np.integer too
        return "durations"
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return "numbers"
    if isinstance(value, date | np.datetime64) and not (isinstance(value, datetime) and value.tzinfo):
        return "dates"
    return "text"
