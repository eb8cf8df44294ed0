"""Machines that read MNIST digits, each with the preparation and the parameters it gets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from grls import GRLSClassifier, NystromGRLSClassifier, SVMGBClassifier
from grls.features import GeodesicKNN
from grls.kernels import Gaussian, Polynomial
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from ._digits import SIDE, SIGMA, digits, distorted, ink, pixels, shifted, straightened

LINEAR, GAUSSIAN = "linear SVM", "Gaussian SVM"
SHOWN = 30  # errors that are kept


class Data:
    """Digits to learn from and digits to recognise; a preparation of them is made when first asked for."""

    def __init__(self, rows: int, tune_rows: int = 0, held_out: int = 0) -> None:
        images, y, new, y_new = digits()
        if held_out:  # of the training digits, for choices that the test digits must not make
            images, y, new, y_new = images[:-held_out], y[:-held_out], images[-held_out:], y[-held_out:]
        self._images, self.y, self._new, self.y_new = images[:rows], y[:rows], new, y_new
        self.tune_rows = min(tune_rows, len(self.y))
        self._straight: Any = None
        self._tuned: Any = None

    def straight(self, scaled: Callable[[Any], Any] = pixels) -> tuple[Any, Any]:
        """Return rows of straightened digits: to learn from, and to recognise."""
        if self._straight is None:
            self._straight = straightened(self._images), straightened(self._new)
        return scaled(self._straight[0]), scaled(self._straight[1])

    def plain(self) -> tuple[Any, Any]:
        """Return rows of digits as they are."""
        return pixels(self._images), pixels(self._new)

    def tuned(self) -> tuple[float, float]:
        """Return σ and γ with the fewest leave-one-out errors on some straightened training digits."""
        if self._tuned is None:
            X, y = self.straight()[0][: self.tune_rows], self.y[: self.tune_rows]
            models = [
                GRLSClassifier(Gaussian(width), regularization="loo", criterion="accuracy").fit(X, y)
                for width in (5.0, 7.0, 9.0, 12.0)
            ]
            best = max(models, key=lambda model: model.loo_score_)
            self._tuned = best.kernel_.sigma, best.regularization_
        return self._tuned


@dataclass
class Task:
    """A model, what it learns from and what it is asked."""

    model: Any
    X: Any
    y: Any
    new: Any
    told: dict[str, Any] = field(default_factory=dict)  # for the table

    def measured(self, y_new: Any) -> dict[str, Any]:
        """Return the row of the table: accuracy, seconds of fit and prediction, some errors."""
        start = time.perf_counter()
        predicted = self.model.fit(self.X, self.y).predict(self.new)
        seconds = time.perf_counter() - start
        wrong = np.flatnonzero(predicted != y_new)
        return {
            "accuracy": float(np.mean(predicted == y_new)),
            "seconds": round(seconds, 1),
            "rows": len(self.y),
            "first_errors": " ".join(f"{i}:{predicted[i]}" for i in wrong[:SHOWN]),
        } | self.told


class Virtual:
    """A support vector machine fitted again, to its support vectors and to moved copies of them.

    The support vectors hold all that the machine has learnt, so copies of these few teach it what copies of
    all rows would: that a digit is the same one wherever it stands, and however it is bent.
    """

    def __init__(self, machine: SVMGBClassifier, n_distorted: int, seed: int = 0) -> None:
        self.machine = machine
        self.n_distorted = n_distorted
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Virtual:
        support = clone(self.machine).fit(X, y).support_
        images, rng = X[support].reshape(-1, SIDE, SIDE), np.random.default_rng(self.seed)
        copies = [images, shifted(images), *(distorted(images, rng) for _ in range(self.n_distorted))]
        rows = np.concatenate(copies).reshape(-1, SIDE * SIDE)
        self.machine_ = clone(self.machine).fit(rows, np.tile(y[support], len(rows) // len(support)))
        return self

    def predict(self, X: Any) -> Any:
        return self.machine_.predict(X)


def polynomial_svm(degree: int = 5, cost: float = 2.0) -> SVMGBClassifier:
    """Return a machine for rows of ink, each scaled to length one by the kernel."""
    return SVMGBClassifier(Polynomial(degree, c=0.0).normalized(), C=cost)


def along_the_data(X: Any, rows: int) -> Any:
    """Return geodesic neighbours among the first rows as features; the other rows only show the way.

    The graph joins digits in their principal components, where neighbours are found in a tenth of the time.
    """
    directions = PCA(min(50, *X.shape), random_state=0).fit(X)
    others = directions.transform(X[rows:]) if rows < len(X) else None
    return make_pipeline(FunctionTransformer(directions.transform), GeodesicKNN(unlabelled=others))


def linear(data: Data) -> Task:
    X, new = data.plain()
    return Task(OneVsOneClassifier(LinearSVC(C=1e-3, dual=False)), X, data.y, new)


def gaussian(data: Data) -> Task:
    X, new = data.plain()
    model = SVMGBClassifier(Gaussian(SIGMA), C=2.0)
    return Task(model, X, data.y, new, {"sigma": SIGMA, "parameter": model.C})


def straight_gaussian(
    data: Data, rows: int | None = None, geodesic: bool = False, variance: float = np.inf
) -> Task:
    X, new = data.straight()
    y = data.y[:rows]
    sigma, _ = data.tuned()
    features = along_the_data(X, len(y)) if geodesic else "constant"
    model = SVMGBClassifier(Gaussian(sigma), features=features, C=10.0, feature_variance=variance)
    return Task(model, X[: len(y)], y, new, {"sigma": sigma, "parameter": model.C})


def straight_polynomial(data: Data, made: Callable[[SVMGBClassifier], Any] = lambda machine: machine) -> Task:
    X, new = data.straight(ink)
    machine = polynomial_svm()
    return Task(made(machine), X, data.y, new, {"parameter": machine.C})


def least_squares(data: Data, rows: int, geodesic: bool = False, precision: str = "auto") -> Task:
    X, new = data.straight()
    y = data.y[:rows]
    sigma, gamma = data.tuned()
    # γ is of the mean loss: with more rows as much noise takes less of it.
    gamma *= min(data.tune_rows / len(y), 1.0)
    features = along_the_data(X, len(y)) if geodesic else "constant"
    model = GRLSClassifier(Gaussian(sigma), features=features, regularization=gamma, precision=precision)
    return Task(model, X[: len(y)], y, new, {"sigma": sigma, "parameter": gamma})


def nystrom(data: Data, n_centers: int) -> Task:
    X, new = data.straight()
    sigma, _ = data.tuned()
    model = NystromGRLSClassifier(Gaussian(sigma), n_centers=min(n_centers, len(X)), precision="single")
    return Task(model, X, data.y, new, {"sigma": sigma})


def methods(
    few: int = 0, many: int = 0, centers: int = 1, n_distorted: int = 0
) -> dict[str, Callable[[Data], Task]]:
    """Return the machines by name."""
    return {
        LINEAR: linear,
        GAUSSIAN: gaussian,
        "G-RLSC, straightened, few labels": lambda d: least_squares(d, few),
        "G-RLSC, …, geodesic neighbours free": lambda d: least_squares(d, few, geodesic=True),
        "SVM, straightened, few labels": lambda d: straight_gaussian(d, few),
        "SVM-GB, …, geodesic neighbours free": lambda d: straight_gaussian(d, few, geodesic=True),
        "SVM-GB, …, variance 10": lambda d: straight_gaussian(d, few, geodesic=True, variance=10.0),
        "SVM-GB, straightened, nearest neighbours free": lambda d: straight_gaussian(d, geodesic=True),
        "G-RLSC, straightened, many rows": lambda d: least_squares(d, many, precision="single"),
        "Nyström G-RLSC, straightened": lambda d: nystrom(d, centers),
        "Gaussian SVM, straightened": straight_gaussian,
        "polynomial SVM, straightened": straight_polynomial,
        "polynomial SVM, …, support vectors shifted": lambda d: straight_polynomial(
            d, lambda machine: Virtual(machine, 0)
        ),
        "polynomial SVM, …, support vectors shifted and distorted": lambda d: straight_polynomial(
            d, lambda machine: Virtual(machine, n_distorted)
        ),
    }
