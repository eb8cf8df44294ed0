"""The problems: data, C, and the width of the Gaussian kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification


@dataclass(frozen=True)
class Problem:
    """Classes, and exp(−gamma ‖x − z‖²) to tell them apart."""

    scene: str
    X: Any  # (m, d)
    y: Any
    X_new: Any
    y_new: Any
    C: float
    gamma: float

    @property
    def m(self) -> int:
        return len(self.X)

    @property
    def sigma(self) -> float:
        return float(1 / np.sqrt(2 * self.gamma))

    def features(self, X: Any) -> Any:
        """Return twenty features: the constant, ten columns, and nine squares."""
        return np.column_stack([np.ones(len(X)), X[:, :10], X[:, :9] ** 2])


def classes(m: int, C: float, d: int = 50, n_new: int = 2000) -> Problem:
    """Two classes with a twentieth of the labels drawn at random; columns of unit variance."""
    X, y = make_classification(
        m + n_new, d, n_informative=10, n_redundant=0, flip_y=0.05, random_state=0, shuffle=True
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Problem("classes", X[:m], y[:m], X[m:], y[m:], C, 1 / d)


def digits(m: int | None = None) -> Problem | None:
    """MNIST with pixels in [0, 1], C = 2 and gamma = 0.0039; None where the data are not there."""
    folder = os.environ.get("GRLS_DATA")
    path = Path(folder) / "mnist.npz" if folder else None
    if path is None or not path.is_file():
        return None
    with np.load(path) as data:
        X, X_new = (data[name].reshape(-1, 784) / 255 for name in ("x_train", "x_test"))
        y, y_new = data["y_train"], data["y_test"]
    return Problem("digits", X[:m], y[:m], X_new, y_new, 2.0, 0.0039)
