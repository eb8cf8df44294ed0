"""Tables and counts in plain text."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], n_left: int) -> str:
    """Return aligned lines; the first `n_left` columns are words, the others numbers."""
    widths = [max(len(row[j]) for row in [header, *rows]) for j in range(len(header))]
    lines = [
        "  "
        + "  ".join(
            f"{v:<{w}}" if j < n_left else f"{v:>{w}}"
            for j, (v, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, ["-" * w for w in widths], *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def count(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
