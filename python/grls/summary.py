"""What a fit tells, as tables: the `Summary` that ``summary()`` of a fitted model returns.

A summary is made of sections, each a `Table` (a name for each row, columns of numbers) or `Values` (single
numbers with a label), and of notes that say how they are meant. It prints within 80 columns, shows itself as
HTML in a notebook, and gives its tables as data frames.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Summary", "Table", "Value", "Values"]
__dir__ = __all__.copy

_WIDTH = 80
_MOST_ROWS = 60  # of a table that is printed; `to_frame` has them all
_DIGITS = 4


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Return a single value as text."""
    if not _is_number(value):
        return str(value)
    number = float(value)
    if np.isnan(number):
        return "-"
    if abs(number) < 1e7 and number == round(number):
        return f"{number:.0f}"
    if 1e-4 <= abs(number) < 1e7:
        return f"{number:.{max(_DIGITS - int(np.floor(np.log10(abs(number)))), 0)}f}"
    return f"{number:.{_DIGITS}g}"


def _probability(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.4f}" if value >= 1e-4 else f"{value:.1e}"


def _numbers(values: Sequence[float]) -> list[str]:
    """Return a column of numbers with as many decimals as the smallest of them asks for."""
    numbers = np.asarray(values, dtype=np.float64)
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    if sizes.size and (sizes.max() >= 1e7 or sizes.min() < 1e-5):
        return ["-" if np.isnan(x) else f"{x:.{_DIGITS - 1}g}" for x in numbers]
    smallest = int(np.floor(np.log10(sizes.min()))) if sizes.size else 0
    decimals = int(np.clip(_DIGITS - 1 - smallest, 0, 6))
    if sizes.size and np.all(numbers[np.isfinite(numbers)] == np.round(numbers[np.isfinite(numbers)])):
        decimals = 0
    return ["-" if np.isnan(x) else f"{x:.{decimals}f}" for x in numbers]


def _column(name: str, values: Any) -> list[str]:
    if not all(_is_number(value) for value in values):
        return [_shown(value) for value in values]
    if name == "p":
        return [_probability(float(value)) for value in values]
    if name in ("t", "z"):
        return ["-" if np.isnan(x) else f"{x:.3f}" if abs(x) < 1e4 else f"{x:.3g}" for x in values]
    if name == "df":
        return ["-" if np.isnan(x) else f"{x:.1f}" if x != np.round(x) else f"{x:.0f}" for x in values]
    return _numbers(values)


def _fitting(widths: Sequence[int], first: int) -> int:
    """Return how many columns of these widths, and a mark for the others, fit beside the names."""
    ends = first + np.cumsum(np.asarray(widths, dtype=int) + 2)
    if len(ends) == 0 or ends[-1] <= _WIDTH:
        return len(ends)
    return max(int(np.count_nonzero(ends + 3 <= _WIDTH)), 1)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 1)] + "…"


@dataclass(frozen=True)
class Table:
    """A table: a name for each row, and columns of numbers or words.

    Parameters
    ----------
    name : str
        Under which the summary has it as an attribute.
    title : str
        What stands above the names of the rows.
    rows : sequence of str
        The names.
    columns : mapping of str to sequences
        The columns, in order; NaN where there is no value.
    remarks : mapping of str to str, default={}
        What is said of a row instead of the values that are missing at its end.
    """

    name: str
    title: str
    rows: Sequence[str]
    columns: Mapping[str, Any]
    remarks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for column, values in self.columns.items():
            if len(values) != len(self.rows):
                raise ValueError(
                    f"the table {self.name!r} has {len(self.rows)} rows, its column {column!r} {len(values)}"
                )

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return a column as an array."""
        if column not in self.columns:
            raise KeyError(f"the table {self.name!r} has no column {column!r}, it has {list(self.columns)}")
        return np.asarray(self.columns[column])

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame, its rows named as here."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        return pd.DataFrame(dict(self.columns), index=pd.Index(list(self.rows), name=self.title))

    def _cells(self) -> list[list[str]]:
        """Return all rows as text, those in the middle of a long table left out; remarks are last cells."""
        columns = [_column(name, values) for name, values in self.columns.items()]
        out = []
        for i, name in enumerate(self.rows):
            cells = [column[i] for column in columns]
            if name in self.remarks:
                while cells and cells[-1] == "-":
                    cells.pop()
                cells.append(self.remarks[name])
            out.append([str(name), *cells])
        if len(out) > _MOST_ROWS:
            left_out = len(out) - _MOST_ROWS + 1
            out[_MOST_ROWS - 6 : -5] = [[f"… {left_out} more", *[""] * len(columns)]]
        return out

    def _lines(self) -> list[str]:
        heads, cells = list(self.columns), self._cells()
        plain = [row for row in cells if row[0] not in self.remarks]
        with_remarks = [row[:-1] for row in cells if row[0] in self.remarks]
        widths = [
            max([len(head), *[len(row[i + 1]) for row in plain + with_remarks if i + 1 < len(row)]])
            for i, head in enumerate(heads)
        ]
        shown = _fitting(widths, min(max([len(self.title), *[len(row[0]) for row in cells]]), 12))
        if shown < len(heads):  # those to the right are left out
            heads = [*heads[:shown], "…"]
            cells = [row if row[0] in self.remarks else [*row[: shown + 1], "…"] for row in cells]
            widths = [*widths[:shown], 1]
        room = max(_WIDTH - sum(width + 2 for width in widths), 4)
        first = min(max([len(self.title), *[len(row[0]) for row in cells]]), room)
        slack = _WIDTH - first - sum(width + 2 for width in widths)
        gap = 2 + (min(slack // len(widths), 4) if widths and slack > 0 else 0)

        def line(name: str, texts: Sequence[str]) -> str:
            padded = "".join(text.rjust(w + gap) for text, w in zip(texts, widths, strict=False))
            return _shortened(name, first).ljust(first) + padded

        out = [line(self.title, heads)]
        for row in cells:
            if row[0] in self.remarks:
                out.append(_shortened(line(row[0], row[1:-1]) + "  " + row[-1], _WIDTH))
            else:
                out.append(line(row[0], row[1:]))
        return out

    def _html(self) -> str:
        heads = "".join(f"<th>{html.escape(head)}</th>" for head in self.columns)
        body = []
        for row in self._cells():
            missing = len(self.columns) + 1 - len(row)
            cells = [f"<td>{html.escape(cell)}</td>" for cell in row[1:]]
            if row[0] in self.remarks:
                cells[-1] = f'<td colspan="{missing + 1}"><i>{html.escape(row[-1])}</i></td>'
            body.append(f"<tr><th>{html.escape(row[0])}</th>{''.join(cells)}</tr>")
        title = html.escape(self.title)
        return f"<table><tr><th>{title}</th>{heads}</tr>{''.join(body)}</table>"


@dataclass(frozen=True)
class Value:
    """A number or a word with its label.

    Parameters
    ----------
    name : str
        Under which the summary has it as an attribute.
    label : str
        What stands before it.
    value : object
        The value itself.
    text : str or None, default=None
        What is shown in its place; None: the value.
    """

    name: str
    label: str
    value: Any
    text: str | None = None

    @property
    def shown(self) -> str:
        """The value as text."""
        return _shown(self.value) if self.text is None else self.text


@dataclass(frozen=True)
class Values:
    """Values under a common title, printed in pairs.

    Parameters
    ----------
    title : str
        What stands above them; "": nothing.
    values : sequence of Value
        The values, in order.
    """

    title: str
    values: Sequence[Value]

    def _lines(self) -> list[str]:
        half = _WIDTH // 2 - 1
        out = [self.title] if self.title else []
        waiting = ""
        for value in self.values:
            text = _pair(value.label, value.shown, half)
            if len(text) > half:  # on lines of its own
                out += [waiting] if waiting else []
                waiting = ""
                out += _wrapped(f"{value.label}  ", value.shown)
            elif waiting:
                out.append(f"{waiting}  {text}")
                waiting = ""
            else:
                waiting = text
        return [*out, waiting] if waiting else out

    def _html(self) -> str:
        body = "".join(
            f"<tr><th>{html.escape(value.label)}</th><td>{html.escape(value.shown)}</td></tr>"
            for value in self.values
        )
        return f"<table>{_caption(self.title)}{body}</table>"


def _pair(label: str, text: str, width: int) -> str:
    return label + text.rjust(max(width - len(label), len(text) + 2))


def _caption(title: str) -> str:
    return f"<caption>{html.escape(title)}</caption>" if title else ""


def _wrapped(first: str, text: str) -> list[str]:
    """Return text in lines of at most 80 columns, `first` before it and as much space before the others."""
    text = " ".join(text.split())
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * min(len(first), 12),
        break_on_hyphens=False,
    ) or [first.rstrip()]


class Summary:
    """What a fit tells: coefficients, the kernel part, scales, how well it fits, and what it warned of.

    ``print(summary)`` shows it within 80 columns, a notebook as HTML. Every table and every single value is
    an attribute: ``summary.coefficients["SE"]``, ``summary.aic``; ``dir(summary)`` lists them.

    Parameters
    ----------
    title : str
        The first line.
    sections : sequence of Table and Values
        In the order in which they are shown. Names are those of attributes and must differ.
    notes : sequence of str, default=()
        How the numbers are meant; shown below.
    warnings : sequence of str, default=()
        What the fit warned of; shown last.

    Attributes
    ----------
    title : str
        The first line.
    sections : list of Table and Values
        What is shown.
    notes : list of str
        How the numbers are meant.
    warnings : list of str
        What the fit warned of.

    Examples
    --------
    >>> from grls.summary import Summary, Table, Value, Values
    >>> table = Table("coefficients", "feature", ["1", "x"], {"coefficient": [0.5, 2.0], "SE": [0.1, 0.25]})
    >>> summary = Summary("a line", [Values("", [Value("r2", "R²", 0.93)]), table], notes=["by hand"])
    >>> summary.r2, float(summary.coefficients["SE"][1])
    (0.93, 0.25)
    >>> print(summary)
    a line
    ================================================================================
    R²                               0.93000
    --------------------------------------------------------------------------------
    feature      coefficient          SE
    1                 0.5000      0.1000
    x                 2.0000      0.2500
    --------------------------------------------------------------------------------
    by hand
    """

    def __init__(
        self,
        title: str,
        sections: Sequence[Table | Values],
        notes: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> None:
        self.title = title
        self.sections = list(sections)
        self.notes = list(notes)
        self.warnings = list(warnings)
        self._named: dict[str, Any] = {}
        for section in sections:
            named = [section] if isinstance(section, Table) else list(section.values)
            for item in named:
                if item.name in self._named or hasattr(type(self), item.name) or item.name in self.__dict__:
                    raise ValueError(f"a summary cannot have two things called {item.name!r}")
                self._named[item.name] = item if isinstance(item, Table) else item.value

    def __getattr__(self, name: str) -> Any:
        named = self.__dict__.get("_named", {})
        if name in named:
            return named[name]
        raise AttributeError(f"this summary has no {name!r}; it has {', '.join(named)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._named]

    def to_frame(self, table: str = "coefficients") -> Any:
        """Return a table as a pandas data frame.

        Parameters
        ----------
        table : str, default="coefficients"
            The name of the table.

        Returns
        -------
        pandas.DataFrame
            Its rows and columns as they are printed, with all digits.
        """
        tables = {section.name: section for section in self.sections if isinstance(section, Table)}
        if table not in tables:
            raise ValueError(f"there is no table {table!r}; choose from {', '.join(tables) or 'none'}")
        return tables[table].to_frame()

    def __str__(self) -> str:
        lines = textwrap.wrap(self.title, _WIDTH) or [""]
        rule = "="
        for section in self.sections:
            if isinstance(section, Table) and not len(section.rows):
                continue
            lines += [rule * _WIDTH, *section._lines()]
            rule = "-"
        texts = [("", note) for note in self.notes] + [("warning: ", text) for text in self.warnings]
        if texts:
            lines.append(rule * _WIDTH)
        for first, text in texts:
            lines += _wrapped(first, text)
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [f"<b>{html.escape(self.title)}</b>", *[section._html() for section in self.sections]]
        parts += [f"<p><small>{html.escape(note)}</small></p>" for note in self.notes]
        parts += [f"<p><small><b>warning</b>: {html.escape(text)}</small></p>" for text in self.warnings]
        return f"<div>{''.join(parts)}</div>"
