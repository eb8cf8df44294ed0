"""What people are told of a kernel's parameters: which term they belong to and which columns it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .base import Kernel
from .compose import OnColumns, Product, Sum

_MOST_LETTERS = 24  # of the columns that a term reads


def in_words(kernel: Kernel, labels: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """Return names of parameters as people read them, such as ``Periodic: period`` or ``Matern: sigma[lat]``.

    `labels` are those of `get_params`, with ``[i]`` after one of several values; `names` are those of the
    columns of X, where they have any.
    """
    parts = list(_parts(kernel, names, told=False))
    said = {id(part): _with_columns(part, columns if told else None) for part, columns, told in parts}
    for word in set(said.values()):
        same = [key for key, value in said.items() if value == word]
        if len(same) > 1:
            said |= {key: f"{word} {number}" for number, key in enumerate(same, start=1)}
    read = {id(part): columns for part, columns, _ in parts}
    owners = {"": kernel, **kernel.get_params(deep=True)}

    def worded(label: str) -> str:
        path, index = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", label).groups()  # type: ignore[union-attr]
        prefix, _, parameter = path.rpartition("__")
        owner: Any = owners[prefix]
        if index is None:
            return f"{_say(owner, said)}: {parameter}"
        columns = read.get(id(owner))
        several = sum(other.startswith(f"{path}[") for other in labels)
        column = columns[int(index)] if columns is not None and len(columns) == several else index
        return f"{_say(owner, said)}: {parameter}[{column}]"

    return [worded(label) for label in labels]


def _parts(
    kernel: Kernel, names: Sequence[str] | None, *, told: bool
) -> Iterator[tuple[Kernel, Sequence[str] | None, bool]]:
    """Yield the kernels that others are made of, with the columns they read, and whether they were named."""
    if isinstance(kernel, Sum):
        yield from _parts(kernel.k1, names, told=told)
        yield from _parts(kernel.k2, names, told=told)
    elif isinstance(kernel, OnColumns):
        yield from _parts(kernel.kernel, kernel.column_names(names), told=True)
    elif isinstance(getattr(kernel, "kernel", None), Kernel):
        yield from _parts(kernel.kernel, names, told=told)
    else:
        yield kernel, names, told


def _with_columns(part: Kernel, columns: Sequence[str] | None) -> str:
    listed = "" if columns is None else ", ".join(columns)
    shown = f"({listed})" if 0 < len(listed) <= _MOST_LETTERS else ""
    return type(part).__name__ + shown


def _say(kernel: Any, said: dict[int, str]) -> str:
    if isinstance(kernel, Product):
        return f"{_say(kernel.k1, said)} × {_say(kernel.k2, said)}"
    if isinstance(kernel, Sum):
        return f"({_say(kernel.k1, said)} + {_say(kernel.k2, said)})"
    inner = getattr(kernel, "kernel", None)
    return _say(inner, said) if isinstance(inner, Kernel) else said[id(kernel)]
