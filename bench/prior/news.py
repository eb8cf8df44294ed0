"""20 newsgroups as a matrix of words; headers are stripped, for one of them names the group."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from grls.datasets import load_20newsgroups
from numpy.typing import NDArray
from scipy import sparse


@dataclass
class News:
    texts: list[str]
    labels: NDArray[Any]  # (n,) names of groups
    train: NDArray[np.bool_]  # (n,)


def load() -> News | None:
    """Return the postings without their headers; None where the environment names no data folder."""
    if "GRLS_DATA" not in os.environ:
        return None
    halves = [load_20newsgroups(subset=name, download_if_missing=False) for name in ("train", "test")]
    return News(
        [text for half in halves for text in half.data],
        np.concatenate([np.asarray(half.target_names)[half.target] for half in halves]),
        np.repeat([True, False], [len(half.data) for half in halves]),
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
