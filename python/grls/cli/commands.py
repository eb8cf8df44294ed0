"""``grls fit``, ``plot`` and ``info``: what they do, between reading the options and printing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._replacing import replacing
from ..least_squares import GRLSRegressor
from ..plotting._inputs import final_estimator
from ..saving import load, read_header, save
from .about import facts_of
from .console import busy, require_writable, tell, warned
from .errors import TableError
from .models import Choice, Problem, problem_of, table_of, targets
from .predicting import rows_for
from .reading import Reading

_PICTURES = (".png", ".pdf", ".svg")


def fit(
    data: Path,
    choice: Choice,
    reading: Reading,
    out: Path,
    report: Path | None,
    *,
    summary: bool,
    quiet: bool,
) -> None:
    """Fit a model to a file and write it."""
    for path in (out, report):
        if path is not None:
            require_writable(path)
    with busy(f"reading {data}", quiet=quiet):
        problem = problem_of(reading.table(data, texts=choice.texts()), choice, str(data))
    if summary:
        _require_summary(problem.model)
    with warned() as messages, busy(f"fitting {len(problem.y)} rows", quiet=quiet):
        problem.model.fit(problem.X, problem.y)
        save(problem.model, out)
    tell([*_told(problem), ("written to", str(out))], quiet=quiet)
    if summary:
        click.echo(f"\n{_summary(problem.model)}")
    if report is not None:
        from .report import write_report

        with busy("drawing the report", quiet=quiet):
            write_report(report, problem, data, messages)


def _told(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield what a fit found, as names and values."""
    final = final_estimator(problem.model)
    yield "rows", f"{len(problem.y)} of {problem.X.shape[1]} columns"
    for note in problem.notes:
        yield "note", note
    known = ("model", "classes", "features", "kernel", "regularization", "leave-one-out score")
    for name, value in facts_of(problem.model):
        if name in known:
            yield name, value
    values = getattr(final, "loo_predictions_", None)
    if values is None and isinstance(final, GRLSRegressor):
        with suppress(ValueError):  # where rows cannot be left out in closed form
            values = final.cross_validate(cv="loo").predictions
    if problem.task == "regression" and values is not None:
        error = np.sqrt(np.mean((np.asarray(values).reshape(len(problem.y)) - problem.y) ** 2))
        spread = np.std(problem.y)
        yield "error of rows left out", f"{error:.4g} (of the mean alone: {spread:.4g})"


def _require_summary(model: Any) -> None:
    """TableError where a model has none: beforehand, so that no fit is thrown away."""
    final = final_estimator(model)
    if not hasattr(final, "summary"):
        raise TableError(f"{type(final).__name__} has no summary: leave out --summary")


def _summary(model: Any) -> str:
    _require_summary(model)
    return str(final_estimator(model).summary())


def plot(
    model_path: Path, data: Path | None, reading: Reading, out: Path, trust: tuple[str, ...], *, quiet: bool
) -> None:
    """Draw a model to a file."""
    from .report import draw

    if out.suffix.lower() not in _PICTURES:
        raise TableError(f"{out}: pictures are {', '.join(_PICTURES)}")
    require_writable(out)
    with warned():
        model = load(model_path, trusted=trust)
        rows = y = None
        if data is not None:
            rows, y = _drawn_at(model, rows_for(model, data, reading))
        with busy("drawing", quiet=quiet):
            figure = draw(model, rows, y)
            with replacing(out) as file:
                figure.savefig(file, format=out.suffix[1:].lower(), dpi=120)
    if not quiet:
        click.echo(f"written to {out}", err=True)


def _drawn_at(model: Any, frame: Any) -> tuple[Any, Any]:
    """Return rows and, where the table has them, targets to draw a model at."""
    table = table_of(model)
    if table is None:
        return frame, None
    rows = frame[[column.name for column in table.columns if column.name in frame.columns]]
    table.transform(rows)  # says what is missing
    known = table.target in frame.columns
    y = targets(frame[table.target], str(table.target), str(table.task)) if known else None
    return rows, y


def facts_of_file(path: Path, trust: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return what is in a model file, as names and values."""
    header = read_header(path)
    with warned():
        model = load(path, trusted=trust)
    versions = ", ".join(f"{name} {header[name]}" for name in ("grls", "scikit-learn", "numpy", "python"))
    return [("file", str(path)), *facts_of(model), ("written by", versions), ("sha256", header["sha256"])]


def summary_of_file(path: Path, trust: tuple[str, ...]) -> str:
    """Return the summary of a model in a file."""
    with warned():
        return _summary(load(path, trusted=trust))
