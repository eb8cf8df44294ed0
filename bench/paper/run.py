"""What an experiment is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .output import Store

Row = dict[str, Any]


class OutOfTime(Exception):
    """The time that was given is over, and cells are missing; what is done is stored."""


class Run:
    """Parameters (as attributes), a seed, rows, and a place for pictures.

    A row is added by `add`, or by `cell` when it takes long to compute: a cell is stored at once, and a run
    that is started again after an interruption takes it from there.
    """

    def __init__(
        self, parameters: dict[str, Any], seed: int, store: Store, max_seconds: float = float("inf")
    ) -> None:
        self.parameters = parameters
        self.seed = seed
        self.rows: list[Row] = []
        self._store = store
        self._end = time.monotonic() + max_seconds

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["parameters"][name]
        except KeyError:
            raise AttributeError(f"the experiment has no parameter {name!r}") from None

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator of its own for each key, whatever was drawn before."""
        return np.random.default_rng([self.seed, *key])

    def add(self, **row: Any) -> Row:
        """Add a row to the table."""
        row = {name: _plain(value) for name, value in row.items()}
        self.rows.append(row)
        self._store.append(row)
        return row

    def cell(self, compute: Callable[[], Row], **key: Any) -> Row:
        """Return the row of a key: from the interrupted run if it is there, else computed and stored."""
        wanted = {name: str(_plain(value)) for name, value in key.items()}
        row = self._store.take(wanted)
        if row is None:
            if time.monotonic() > self._end:
                raise OutOfTime
            row = key | compute()
        elif self._store.is_drawn(row):
            self._store.compare(row, {name: _plain(value) for name, value in (key | compute()).items()})
        return self.add(**row)

    def progress(self, items: Iterable[Any], what: str = "") -> Iterator[Any]:
        """Go through the items and tell how far it is and how long the rest will take."""
        todo = list(items)
        start = time.perf_counter()
        for done, item in enumerate(todo):
            spent = time.perf_counter() - start
            rest = f", {spent / done * (len(todo) - done):.0f} s left" if done and spent > 2 else ""
            print(f"    {what} {done + 1}/{len(todo)}{rest}", flush=True)
            yield item

    def summary(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show this table on the page instead of the rows."""
        self._store.summary(head, rows)

    def save(self, figure: Any, suffix: str = "") -> None:
        """Write a picture, and close it."""
        self._store.picture(figure, suffix)


def _plain(value: Any) -> Any:
    """Return a number, a string or a truth value that CSV and JSON hold without loss."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
