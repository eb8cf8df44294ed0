"""What commands print: names with values, warnings, and signs of life on a terminal."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from .errors import MissingExtra, TableError


def console(*, error: bool) -> Any:
    """Return where tables and progress go."""
    try:
        from rich.console import Console
    except ImportError as missing:
        raise MissingExtra("the command line", "rich") from missing
    out = Console(stderr=error, highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = 200  # lines of logs are not broken
    return out


@contextmanager
def busy(what: str, *, quiet: bool) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    terminal = console(error=True)
    if quiet or not terminal.is_terminal:
        yield
        return
    with terminal.status(what):
        yield


def tell(pairs: Sequence[tuple[str, str]], *, quiet: bool = False) -> None:
    """Print names and values."""
    if quiet or not pairs:
        return
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        click.echo(f"{name:<{width}}  {value}")


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collect warnings, each once, and print them as lines of the error output."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield messages
    for text in dict.fromkeys(" ".join(str(one.message).split()) for one in given):
        messages.append(text)
        click.echo(f"warning: {text}", err=True)


def require_writable(path: Path) -> None:
    """TableError before the work where a file could not be written after it."""
    if path.is_dir():
        raise TableError(f"{path} is a folder")
    if not path.parent.is_dir():
        raise TableError(f"{path}: there is no folder {path.parent}")
