"""What goes wrong with files and columns, in words for whoever typed the command."""

from __future__ import annotations


class TableError(ValueError):
    """A file or a column that cannot be used; the message names it and says what to do."""


class MissingExtra(ImportError):
    """An optional package that a command needs; the message says how to install it."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f'{what} needs {package}: pip install "grls[cli]"')
