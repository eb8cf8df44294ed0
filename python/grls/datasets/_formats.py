"""The files that hold data sets, what is in them, and checksums of that: of the content, not of its packing.

A *table* is a dictionary of arrays, one per column or block; *documents* are a list of dictionaries with a
text each. The same content may be packed in files that differ in every byte (a zip archive knows the time of
day), so that a file which was converted here is known by its content.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Table: TypeAlias = dict[str, NDArray[Any]]
Documents: TypeAlias = list[dict[str, Any]]
Content: TypeAlias = Table | Documents

_MODULUS = 1 << 256


def decode(name: str, raw: bytes) -> Content:
    """Return what is in a file: ``.npz``, ``.jsonl.xz``, ``.csv``, ``.csv.xz``, or lines of text, ``.xz``."""
    if name.endswith(".npz"):
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    text = (lzma.decompress(raw) if name.endswith(".xz") else raw).decode("utf-8")
    if name.endswith(".jsonl.xz"):
        return [json.loads(line) for line in text.split("\n") if line]
    if name.endswith((".csv", ".csv.xz")):
        return read_csv(text)
    return {"line": _strings(text.splitlines())}


def encode(name: str, content: Content) -> bytes:
    """Return a file of the kind that its name says."""
    if isinstance(content, list):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
    elif name.endswith(".npz"):
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **content)  # type: ignore[arg-type]
        return buffer.getvalue()
    elif name.endswith((".csv", ".csv.xz")):
        text = write_csv(content)
    else:
        text = "".join(f"{line}\n" for line in content["line"])
    raw = text.encode("utf-8")
    return lzma.compress(raw, preset=2) if name.endswith(".xz") else raw


def _strings(values: Iterable[str]) -> NDArray[Any]:
    return np.array(list(values), dtype=object)


def _column(values: Iterable[str]) -> NDArray[Any]:
    """Return numbers where all entries are numbers or missing, else strings."""
    texts = list(values)
    try:
        return np.array([np.nan if text in ("", "NA") else float(text) for text in texts])
    except ValueError:
        return _strings("" if text == "NA" else text for text in texts)


def read_only(files: dict[str, Path]) -> str:
    """Return the text of an original that is one file."""
    (path,) = files.values()
    return path.read_text(encoding="utf-8")


def read_csv(text: str) -> Table:
    """Return the columns of a CSV file with a header; empty and ``NA`` are missing."""
    head, *rows = csv.reader(io.StringIO(text))
    return {name: _column(row[i] for row in rows if row) for i, name in enumerate(head)}


def write_csv(table: Table) -> str:
    """Return a CSV file that `read_csv` reads back to the last bit."""

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return value
        return "" if np.isnan(value) else repr(float(value))

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    writer.writerows([cell(value) for value in row] for row in zip(*table.values(), strict=True))
    return out.getvalue()


def checksum(content: Content) -> str:
    """Return 64 hexadecimal digits: of a table its SHA-256, of documents the sum of theirs (in any order)."""
    if isinstance(content, list):
        return f"{sum(map(_document_hash, content)) % _MODULUS:064x}"
    digest = hashlib.sha256()
    for name in sorted(content):
        values = content[name]
        digest.update(f"{name}\0{values.shape}\0".encode())
        if values.dtype == object:
            digest.update(json.dumps(values.tolist()).encode())
        else:
            digest.update(values.dtype.str.replace(">", "<").encode())
            digest.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _document_hash(row: dict[str, Any]) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(row, sort_keys=True).encode()).digest(), "big")


def holds(content: Content, expected: str, more: int) -> bool:
    """Whether the content is the expected one; of documents, up to two `more` than expected may be there.

    The checksum of documents is a sum, so the checksums of the further ones must make up the difference: all
    the others are then exactly those expected.
    """
    if not isinstance(content, list):
        return checksum(content) == expected
    hashes = list(map(_document_hash, content))
    difference = (sum(hashes) - int(expected, 16)) % _MODULUS
    if difference == 0 or more == 0:
        return difference == 0
    distinct = set(hashes)
    return difference in distinct or (
        more > 1 and any(2 * h != difference and (difference - h) % _MODULUS in distinct for h in distinct)
    )
