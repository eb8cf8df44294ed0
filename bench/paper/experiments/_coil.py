"""Objects from all sides (COIL-20), and classifiers with geodesic neighbours as free features.

The paper's feature p of an image says whether class p is among its three nearest neighbours along the
manifold. Nearest *training* images, that is: an image's nearest of all would seldom have a label. The graph
joins all images, those of the test too (without their labels), for it is these in between that show the
manifold.

Features are made again in every fold of cross-validation: made once from all training labels, they would hold
the labels that the fold is to predict.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import grls
import numpy as np
from grls import GRLSClassifier
from grls.datasets import load_coil20
from grls.exceptions import DependentFeaturesWarning
from grls.features import Columns, GeodesicKNN
from grls.kernels import Gaussian
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

FILE = "coil20_32x32.npz"
NEIGHBORS = 3
GRAPHS = (2, 3, 5, 10)
FOLDS = 3
WIDTHS = (0.1, 0.25, 0.6, 1.5)  # of the kernel, in medians of the distance between images
COSTS = (0.1, 1.0, 10.0, 100.0)  # C; least squares take γ = 1/(2Cm)


@dataclass(frozen=True)
class Images:
    """Pixels from 0 to 1, classes, and the number of the image within its class."""

    X: Any
    y: Any
    pose: Any

    @cached_property
    def median_distance(self) -> float:
        return float(np.median(euclidean_distances(self.X)))

    def split(self, per_class: int) -> tuple[Any, Any]:
        """Return the first images of each class, and the rest."""
        first = self.pose < per_class
        return np.flatnonzero(first), np.flatnonzero(~first)


@lru_cache(maxsize=1)
def images() -> Images:
    bunch = load_coil20()
    return Images(bunch.data / 255.0, bunch.target, bunch.pose)


@lru_cache(maxsize=64)
def _geodesic(graph: int, train: bytes, output: str, k: int) -> Any:
    data, rows = images(), np.frombuffer(train, dtype=np.intp)
    knn = GeodesicKNN(k, graph_neighbors=graph, unlabelled=data.X, output=output)
    return knn.fit(data.X[rows], data.y[rows]).transform(data.X)


def geodesic(graph: int, train: Any, *, output: str = "indicator", k: int = NEIGHBORS) -> Any:
    """Return the features of all images, from the labels of the training images (never an image's own)."""
    return _geodesic(graph, np.asarray(train, dtype=np.intp).tobytes(), output, k)


def nearest(graph: int, train: Any) -> Any:
    """Return the class of most of the three nearest; where all three differ, that of the nearest."""
    votes, first = (geodesic(graph, train, output="fraction", k=k) for k in (NEIGHBORS, 1))
    return np.unique(images().y[train])[(votes + 1e-3 * first).argmax(axis=1)]


def _on(pixels: int, sigma: float) -> Any:
    return Gaussian(sigma).on(list(range(pixels)))


def _free(pixels: int, width: int) -> Any:
    return Columns(list(range(pixels, width)), constant=False)


def svm(X: Any, y: Any, pixels: int, sigma: float, cost: float) -> Any:
    return SVC(C=cost, gamma=1 / (2 * sigma**2)).fit(X, y)


def svm_gb(X: Any, y: Any, pixels: int, sigma: float, cost: float) -> Any:
    return grls.SVMGBClassifier(_on(pixels, sigma), features=_free(pixels, X.shape[1]), C=cost).fit(X, y)


def rlsc(X: Any, y: Any, pixels: int, sigma: float, cost: float) -> Any:
    gamma = 1 / (2 * cost * len(y))
    return GRLSClassifier(Gaussian(sigma), features=None, regularization=gamma).fit(X, y)


def grlsc(X: Any, y: Any, pixels: int, sigma: float, cost: float) -> Any:
    gamma = 1 / (2 * cost * len(y))
    features = _free(pixels, X.shape[1])
    return GRLSClassifier(_on(pixels, sigma), features=features, regularization=gamma).fit(X, y)


PLAIN: dict[str, Callable[..., Any]] = {"SVM": svm, "RLSC": rlsc}
FREE: dict[str, Callable[..., Any]] = {"SVM-GB": svm_gb, "G-RLSC": grlsc}


def inputs(graph: int | None, train: Any) -> Any:
    """Return the pixels of all images, and beside them the features unless there is no graph."""
    X = images().X
    return X if graph is None else np.hstack([X, geodesic(graph, train)])


def accuracy(method: str, graph: int | None, train: Any, at: Any, sigma: float, cost: float) -> float:
    """Return the share of images that a method gets right."""
    data = images()
    X = inputs(graph, train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependentFeaturesWarning)  # a class may be nobody's neighbour
        machine = (PLAIN | FREE)[method](X[train], data.y[train], data.X.shape[1], sigma, cost)
    return float(np.mean(machine.predict(X[at]) == data.y[at]))


def searched(method: str, graph: int | None, train: Any, test: Any) -> dict[str, Any]:
    """Choose σ and C by cross-validation; many settings tie, and their range on the test is told too."""
    data = images()
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    parts = [(train[a], train[b]) for a, b in folds.split(train, data.y[train])]
    settings = [(width * data.median_distance, cost) for width in WIDTHS for cost in COSTS]
    scores = [np.mean([accuracy(method, graph, a, b, *setting) for a, b in parts]) for setting in settings]
    tied = [setting for setting, score in zip(settings, scores, strict=True) if score >= max(scores) - 1e-9]
    on_test = [accuracy(method, graph, train, test, *setting) for setting in tied]
    chosen = max(range(len(tied)), key=lambda i: (tied[i][0], -tied[i][1]))  # the smoothest
    return {
        "accuracy": on_test[chosen],
        "lowest": min(on_test),
        "highest": max(on_test),
        "tied": len(tied),
        "validation": float(max(scores)),
        "sigma": tied[chosen][0],
        "C": tied[chosen][1],
    }
