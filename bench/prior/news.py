"""20 newsgroups as a matrix of words; headers are stripped, for one of them names the group."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FILE = "20newsgroups_bydate.jsonl.xz"
SHA256 = "9f045c13746bebbc94509844718881a6fe06d66601bb8aefddca716ba53473e6"


@dataclass
class News:
    texts: list[str]
    labels: NDArray[Any]  # (n,) names of groups
    train: NDArray[np.bool_]  # (n,)


def folder() -> Path | None:
    """Return the data folder, or None where the environment names none."""
    name = os.environ.get("GRLS_DATA")
    return Path(name) if name and (Path(name) / FILE).exists() else None


def load(home: Path) -> News:
    """Read the postings without their headers."""
    packed = (home / FILE).read_bytes()
    if hashlib.sha256(packed).hexdigest() != SHA256:
        raise ValueError(f"{FILE} in the data folder is not the file this experiment was made with")
    rows = [json.loads(line) for line in lzma.decompress(packed).decode().splitlines()]
    return News(
        [row["text"].partition("\n\n")[2] for row in rows],
        np.array([row["label"] for row in rows]),
        np.array([row["split"] == "train" for row in rows]),
    )


def artificial(n: int = 3000, d: int = 20000, n_classes: int = 8, seed: int = 0) -> tuple[Any, NDArray[Any]]:
    """Return rows that look like tf-idf of text with topics: frequent and rare columns, some topical."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(10, d + 10)
    labels = rng.integers(0, n_classes, n)
    topical = rng.integers(0, n_classes, d)  # the class that uses a column more often
    rows, columns = [], []
    for i, label in enumerate(labels):
        p = frequency * np.where((topical == label) & (np.arange(d) > 50), 3.0, 1.0)
        words = rng.choice(d, size=int(rng.integers(30, 150)), p=p / p.sum())
        rows.append(np.full(len(words), i))
        columns.append(words)
    entries = (np.concatenate(rows), np.concatenate(columns))
    X = sparse.csr_matrix((np.ones(len(entries[0])), entries), shape=(n, d))
    X.data = 1 + np.log(X.data)
    idf = np.log((n + 1) / (np.bincount(X.indices, minlength=d) + 1)) + 1
    X.data *= idf[X.indices]
    return sparse.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X, labels
