"""``grls info``: what a maintainer asks first about a bug, and what is in a model file."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from .. import __version__, get_num_threads
from .._solvers import memory, runtime
from ..plotting._inputs import final_estimator
from .models import table_of

PACKAGES = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib")


def _package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def facts() -> Iterator[tuple[str, str]]:
    """Yield versions, linear algebra and threads, as pairs of name and value."""
    yield "grls", __version__
    yield "python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "platform", platform.platform()
    yield "processors", str(os.cpu_count() or "unknown")
    free = memory.available()
    yield "free memory", "unknown" if free is None else f"{free / 2**30:.1f} GiB"
    yield "linear algebra", runtime.linear_algebra()
    yield "threads", str(get_num_threads())
    yield "GRLS_NUM_THREADS", os.environ.get("GRLS_NUM_THREADS", "not set")
    for name in PACKAGES:
        yield name, _package_version(name)
    for library in threadpool_info():
        if library["user_api"] == "blas":
            where = Path(library["filepath"]).name  # the name says whose it is; the folder is private
            yield "BLAS in process", f"{library['internal_api']} {library['version']}, {where}"


def facts_of(model: Any) -> Iterator[tuple[str, str]]:
    """Yield what a fitted model is, as pairs of name and value."""
    final = final_estimator(model)
    yield "model", type(final).__name__
    table = table_of(model)
    if table is not None:
        yield "task", str(table.task)
        yield "target", str(table.target)
        for column in table.columns:
            kinds = "number" if column.categories is None else f"one of {', '.join(column.categories)}"
            yield "column", f"{column.name}: {kinds}"
    if hasattr(final, "classes_"):
        yield "classes", ", ".join(map(str, final.classes_))
    if getattr(final, "feature_names_free_", None):
        yield "features", ", ".join(final.feature_names_free_)
    for name in ("kernel_", "regularization_", "loo_score_"):
        value = getattr(final, name, None)
        if value is not None:
            yield name.rstrip("_").replace("loo_score", "leave-one-out score"), _short(value)
    rows = getattr(final, "X_fit_", None)
    if rows is not None:
        yield "training rows kept", str(rows.shape[0])
    for text in getattr(final, "fit_warnings_", None) or ():
        yield "warned", text


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
