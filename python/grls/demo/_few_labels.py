"""Scene 3, few labels: neighbours among digits that nobody labelled, as features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.manifold import Isomap
from sklearn.svm import SVC

from ..kernels import Gaussian
from ..least_squares import GRLSClassifier
from ._tables import table

N_COORDINATES = 8
N_DIGITS = 1797
NEIGHBOURS, CONSTANT, PEER = "G-RLS, neighbours as features", "G-RLS, constant only", "SVC"
_WIDTH = 25.0  # about a median distance; the same for both


@dataclass(frozen=True)
class Accuracy:
    """How one method does with so many labels of each digit.

    Attributes
    ----------
    method : str
        One of the three names.
    n_labels : int
        Labels of each digit.
    values : tuple of float
        Accuracy on all other digits, one a draw of the labels.
    """

    method: str
    n_labels: int
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the draws."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(np.std(self.values, ddof=1) / np.sqrt(len(self.values)))


def methods(neighbours: Any) -> dict[str, Any]:
    """Return the classifiers; the features were learnt from all digits, without a label."""
    return {
        PEER: SVC(C=10.0),
        CONSTANT: GRLSClassifier(Gaussian(_WIDTH)),
        NEIGHBOURS: GRLSClassifier(Gaussian(_WIDTH), features=FrozenEstimator(neighbours)),
    }


def few_labels(seed: int, sizes: Sequence[int], n_draws: int) -> list[Accuracy]:
    """Classify scikit-learn's digits with so many labels of each, drawn `n_draws` times."""
    X, y = load_digits(return_X_y=True)
    neighbours = Isomap(n_neighbors=8, n_components=N_COORDINATES).fit(X)
    rng = np.random.default_rng(seed)
    found = []
    for n_labels in sizes:
        values: dict[str, list[float]] = {}
        for _ in range(n_draws):
            drawn = [rng.choice(np.flatnonzero(y == digit), n_labels, replace=False) for digit in range(10)]
            labelled = np.zeros(len(y), dtype=bool)
            labelled[np.concatenate(drawn)] = True
            for method, model in methods(neighbours).items():
                model.fit(X[labelled], y[labelled])
                values.setdefault(method, []).append(model.score(X[~labelled], y[~labelled]))
        found += [Accuracy(method, n_labels, tuple(v)) for method, v in values.items()]
    return found


def accuracy_table(found: Iterable[Accuracy]) -> str:
    """Return the table of accuracies, a row a method."""
    found = list(found)
    sizes = sorted({a.n_labels for a in found})
    rows = []
    for method in dict.fromkeys(a.method for a in found):
        mine = {a.n_labels: a for a in found if a.method == method}
        rows.append([method, *(f"{100 * mine[n].mean:.1f} +- {100 * mine[n].error:.1f}" for n in sizes)])
    return table(["labels of each digit", *map(str, sizes)], rows, 1)
