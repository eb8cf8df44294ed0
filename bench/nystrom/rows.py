"""The data of the scenes, and a row of their tables."""

from __future__ import annotations

import io
import lzma
import os
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]


def _data() -> Path | None:
    folder = os.environ.get("GRLS_DATA")
    return Path(folder) if folder else None


def digits(n: int, n_test: int) -> tuple[Any, Any, Any, Any, str]:
    """Return MNIST with pixels in [0, 1], or classes of random rows where it is not at hand."""
    folder = _data()
    if folder is not None and (folder / "mnist.npz").exists():
        raw = np.load(folder / "mnist.npz")
        X, X_test = (raw[name].reshape(-1, 784) / 255.0 for name in ("x_train", "x_test"))
        return X[:n], raw["y_train"][:n], X_test[:n_test], raw["y_test"][:n_test], "MNIST"
    rng = np.random.default_rng(0)
    middles = rng.random((10, 784))
    y = rng.integers(0, 10, n + n_test)
    X = np.clip(middles[y] + rng.standard_normal((n + n_test, 784)), 0, 1)
    return X[:n], y[:n], X[n:], y[n:], "random"


def regression(name: str, quick: bool) -> tuple[Any, Any, Any, Any, str] | None:
    """Return standardised training and test rows of a regression set."""
    folder = _data()
    rng = np.random.default_rng(0)
    if folder is None:
        X = rng.standard_normal((400, 5))
        y, held, name = np.sin(X[:, 0]) + X[:, 1], np.arange(400) >= 300, "random"
    elif name == "protein":
        raw = np.load(folder / "regression" / "splits" / "protein-tertiary-structure.npz", allow_pickle=True)
        X, y = np.asarray(raw["X"], dtype=float), np.asarray(raw["y"], dtype=float).ravel()
        held = np.zeros(len(y), dtype=bool)
        held[np.asarray(raw["test_index"][0], dtype=int)] = True
    else:
        with lzma.open(folder / "regression" / "california_housing_sklearn.csv.xz", "rt") as file:
            text = file.read()
        rows = np.genfromtxt(io.StringIO(text), delimiter=",", skip_header=1)
        X, y = rows[:, :-1], rows[:, -1]
        held = rng.permutation(len(y)) < len(y) // 5
    if quick:
        chosen = rng.permutation(len(y))[:400]
        X, y, held = X[chosen], y[chosen], held[chosen]
    mean, spread = X[~held].mean(axis=0), X[~held].std(axis=0)
    X = (X - mean) / np.where(spread > 0, spread, 1)
    train = rng.permutation(np.flatnonzero(~held))  # the first of them are then a fair sample
    return X[train], y[train], X[held], y[held], name


def row(scene: str, name: str, seconds: float | None = None, **more: Any) -> Row:
    return {"scene": scene, "name": name, "seconds": seconds, **more}


def drawn_rows(n: int) -> tuple[Any, Any]:
    """Return rows of 20 normal columns, and targets with little noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
