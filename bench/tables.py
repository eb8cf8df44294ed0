"""Rows of results as files."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any


def write_csv(path: Path, rows: Sequence[Any]) -> None:
    """Write rows, which are dataclasses or mappings with the same keys, under a head of their names."""
    flat: list[Mapping[str, Any]] = [
        asdict(row) if is_dataclass(row) and not isinstance(row, type) else row for row in rows
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(flat[0]))
        writer.writeheader()
        writer.writerows(flat)
