"""Warnings that name the caller's line, however deep in the package they arise."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import joblib
import sklearn

_INSIDE = tuple(str(Path(file).parent) for file in (__file__, joblib.__file__, sklearn.__file__))

# What is being recorded in this thread, innermost last.
_RECORDS: ContextVar[tuple[list[str], ...]] = ContextVar("grls_warnings", default=())
# What is kept for later in this thread.
_HELD: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("grls_held", default=None)
# What is not said in this thread.
_MUTED: ContextVar[tuple[type[Warning], ...]] = ContextVar("grls_muted", default=())


@contextmanager
def recorded() -> Iterator[list[str]]:
    """Collect what is warned of inside, as "category: message"; the warnings are given all the same."""
    messages: list[str] = []
    token = _RECORDS.set((*_RECORDS.get(), messages))
    try:
        yield messages
    finally:
        _RECORDS.reset(token)


@contextmanager
def held() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Collect what is warned of inside, message and category, to be said by `warn` where the user is."""
    messages: list[tuple[str, type[Warning]]] = []
    token = _HELD.set(messages)
    try:
        yield messages
    finally:
        _HELD.reset(token)


@contextmanager
def muted(*categories: type[Warning]) -> Iterator[None]:
    """Neither give nor collect what this package warns of inside: what comes later will say it again.

    All of it, or these categories. The filters of `warnings` are left alone: they are those of the whole
    process, and threads that change them and change them back in turns leave them changed for good.
    """
    token = _MUTED.set((*_MUTED.get(), *(categories or (Warning,))))
    try:
        yield
    finally:
        _MUTED.reset(token)


_ALONE = threading.RLock()


@contextmanager
def filtered(category: type[Warning]) -> Iterator[None]:
    """Ignore a category that other packages warn of inside; one thread at a time may."""
    with _ALONE, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that is neither this package's nor scikit-learn's or joblib's."""
    if issubclass(category, _MUTED.get()):
        return
    if (waiting := _HELD.get()) is not None:
        waiting.append((message, category))
        return
    for messages in _RECORDS.get():
        messages.append(f"{category.__name__}: {message}")
    frame, level = sys._getframe(1), 2  # the caller of this function is level 2 of warnings.warn
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
