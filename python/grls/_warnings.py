"""Warnings that name the caller's line, however deep in the package they arise."""

from __future__ import annotations

import sys
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
def muted() -> Iterator[None]:
    """Neither give nor collect what is warned of inside: what comes later will say it again."""
    token = _RECORDS.set(())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _RECORDS.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that is neither this package's nor scikit-learn's or joblib's."""
    for messages in _RECORDS.get():
        messages.append(f"{category.__name__}: {message}")
    frame, level = sys._getframe(1), 2  # the caller of this function is level 2 of warnings.warn
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
