"""Pictures of a fitted model, and a page of HTML that needs no other file."""

from __future__ import annotations

import base64
import html
import io
import shlex
from pathlib import Path
from typing import Any

import click

from .._replacing import replacing
from ..plotting._inputs import final_estimator
from .about import facts, facts_of
from .errors import MissingExtra, TableError
from .models import Problem, table_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 70rem }
body { margin: 2rem auto; padding: 0 1rem } caption { text-align: left; font-style: italic }
table { border-collapse: collapse; margin: 0.5rem 0 1rem } td, th { padding: 0.15rem 0.8rem 0.15rem 0 }
th { text-align: left } img { max-width: 100% } code, pre { background: #f4f4f4; padding: 0.1rem 0.3rem }
pre { padding: 0.6rem; overflow-x: auto } .warning { background: #fff3cd; padding: 0.4rem 0.8rem }
"""


def draw(model: Any, rows: Any, y: Any) -> Any:
    """Return a figure with all that there is to see of a model.

    Parameters
    ----------
    model : estimator
        As ``grls fit`` makes it, or any other.
    rows : DataFrame or None
        Rows to draw it at, as the model takes them; None: those that it keeps.
    y : ndarray or None
        Their targets.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtra("a picture", "matplotlib") from error
    from ..plotting import model_report

    plt.switch_backend("agg")
    final = final_estimator(model)
    table = table_of(model)
    target = None if table is None else table.target
    seen = rows if rows is None or table is None else table.transform(rows)
    more: dict[str, Any] = {}
    if seen is not None and y is not None and hasattr(final, "classes_"):
        from sklearn.metrics import ConfusionMatrixDisplay

        more["confusion"] = lambda ax: ConfusionMatrixDisplay.from_estimator(final, seen, y, ax=ax)
    elif seen is not None and y is not None and not hasattr(final, "feature_covariance"):
        more["predicted"] = lambda ax: _predicted_against(ax, final, seen, y)
    try:
        return model_report(final, seen, target=target, more=more).figure_
    except ValueError as error:
        if rows is None:
            raise TableError(
                f"there is no picture of {type(final).__name__} without rows: give --data"
            ) from error
        raise
    finally:
        plt.close("all")


def _predicted_against(ax: Any, final: Any, rows: Any, y: Any) -> None:
    predicted = final.predict(rows)
    ax.plot(predicted, y, ".", alpha=0.6)
    ax.axline((float(y.mean()), float(y.mean())), slope=1, color="black", lw=0.8)
    ax.set(xlabel="predicted", ylabel="observed")


def write_report(path: Path, problem: Problem, data: Path, warned: list[str]) -> None:
    """Write a page about a fit: what it says, pictures, warnings, and how it came about."""
    final = final_estimator(problem.model)
    parts = [f"<h1>{html.escape(str(table_target(problem)))} of {html.escape(data.name)}</h1>"]
    parts += [f'<p class="warning">warning: {html.escape(text)}</p>' for text in warned]
    parts += [f"<p>{html.escape(note)}</p>" for note in problem.notes]
    parts.append(_rows([("rows", str(len(problem.y))), *facts_of(problem.model)]))
    if hasattr(final, "summary"):
        parts.append(f"<h2>Summary</h2>{final.summary()._repr_html_()}")
    parts.append(_picture(problem))
    parts.append("<h2>How it was made</h2>")
    parts.append(f"<pre>{html.escape(_command_line())}</pre>{_rows(list(facts()))}")
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>grls: {html.escape(data.name)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )
    with replacing(path) as file:
        file.write(page.encode())


def table_target(problem: Problem) -> str:
    """Return the name of what is predicted."""
    table = table_of(problem.model)
    return "model" if table is None or table.target is None else table.target


def _picture(problem: Problem) -> str:
    """Return a picture as part of a page, or why there is none."""
    try:
        figure = draw(problem.model, problem.X, problem.y)
    except (MissingExtra, ValueError, TypeError) as error:
        return f"<p>No pictures: {html.escape(str(error))}</p>"
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    content = base64.b64encode(buffer.getvalue()).decode()
    return f'<h2>Pictures</h2><img alt="pictures of the model" src="data:image/png;base64,{content}">'


def _rows(pairs: list[tuple[str, str]]) -> str:
    cells = (f"<tr><th>{html.escape(n)}</th><td>{html.escape(v)}</td></tr>" for n, v in pairs)
    return f"<table>{''.join(cells)}</table>"


def _command_line() -> str:
    context = click.get_current_context(silent=True)
    return (
        ""
        if context is None
        else shlex.join(["grls", str(context.info_name), *context.meta["grls.arguments"]])
    )
