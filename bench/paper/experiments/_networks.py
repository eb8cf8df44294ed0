"""Machines of the thesis's chapter 4: networks, sigmoid kernels, the linear machine with the hinge loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from grls import IndefiniteKernelWarning, SVMGBClassifier
from grls.kernels import Sigmoid
from scipy import special
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor

from ._digits import ink
from ._machines import Data, Task

HINGE, SIGMOID = "linear SVM, hinge loss, C = 1", "sigmoid SVM"
UNTUNED, TUNED = "network 200-200, layers learnt without labels", "network 200-200, tuned"
AS_IT_COMES = "network 200-200, as scikit-learn has it"


class ChosenOnSome:
    """A model whose parameters are chosen by cross-validation on the first rows; then it learns all."""

    def __init__(self, model: Any, grid: Any, rows: int, told: dict[str, Any]) -> None:
        self.model, self.grid, self.rows, self.told = model, grid, rows, told

    def fit(self, X: Any, y: Any) -> ChosenOnSome:
        with (
            warnings.catch_warnings()
        ):  # of networks that would go on learning, of kernels that are not definite
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            search = GridSearchCV(self.model, self.grid, cv=3).fit(X[: self.rows], y[: self.rows])
            self.told["chosen"] = " ".join(f"{k}={v}" for k, v in sorted(search.best_params_.items()))
            self.model_ = clone(self.model).set_params(**search.best_params_).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


def hinge(data: Data) -> Task:
    """LIBSVM's linear machine as it comes, C = 1: the thesis names none."""
    X, new = data.plain()
    return Task(SVMGBClassifier("linear", C=1.0, tol=1e-2), X, data.y, new, {"parameter": 1.0})


def sigmoid(data: Data) -> Task:
    """tanh(a⟨x, z⟩ + c) on pixels from 0 to 1, parameters by cross-validation."""
    X, new = ink(data._images), ink(data._new)
    told: dict[str, Any] = {}
    grid = {"kernel__a": [0.001, 0.003, 0.01, 0.03], "kernel__c": [-2.0, -1.0, 0.0], "C": [1.0, 10.0, 100.0]}
    machine = SVMGBClassifier(Sigmoid(), solver="native", tol=1e-3, C=1.0)
    return Task(ChosenOnSome(machine, grid, data.tune_rows, told), X, data.y, new, told)


def network(epochs: int, **parameters: Any) -> MLPClassifier:
    """Two hidden layers of 200 logistic units and a softmax: the thesis's picture has no more to say."""
    return MLPClassifier(
        (200, 200),
        activation="logistic",
        max_iter=epochs,
        random_state=0,
        early_stopping=epochs > 1,
        **parameters,
    )


class Silent:
    """A network that stops when it is told to, without a warning."""

    def __init__(self, model: MLPClassifier) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> Silent:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


class WithoutLabels:
    """Two hidden layers, each of which learnt to give its input back, then a softmax on labels."""

    def __init__(self, epochs: int, units: int = 200) -> None:
        self.epochs, self.units = epochs, units

    def fit(self, X: Any, y: Any) -> WithoutLabels:
        self.layers_ = []
        for _ in range(2):
            coder = MLPRegressor(
                hidden_layer_sizes=(self.units,),
                activation="logistic",
                max_iter=self.epochs,
                random_state=0,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                coder.fit(X, X)
            self.layers_.append((coder.coefs_[0], coder.intercepts_[0]))
            X = special.expit(X @ coder.coefs_[0] + coder.intercepts_[0])
        self.top_ = LogisticRegression(max_iter=300).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        for weights, bias in self.layers_:
            X = special.expit(X @ weights + bias)
        return self.top_.predict(X)


def without_labels(data: Data, epochs: int) -> Task:
    X, new = ink(data._images), ink(data._new)
    return Task(WithoutLabels(max(epochs // 3, 1)), X, data.y, new)


def as_it_comes(data: Data, epochs: int) -> Task:
    X, new = ink(data._images), ink(data._new)
    return Task(Silent(MLPClassifier((200, 200), max_iter=epochs, random_state=0)), X, data.y, new)


def tuned(data: Data, epochs: int) -> Task:
    X, new = ink(data._images), ink(data._new)
    told: dict[str, Any] = {}
    grid = {
        "activation": ["logistic", "relu"],
        "alpha": [1e-4, 1e-2, 1e-1],
        "learning_rate_init": [3e-4, 1e-3, 3e-3],
    }
    model = network(epochs, n_iter_no_change=8)
    return Task(ChosenOnSome(model, grid, data.tune_rows, told), X, data.y, new, told)


def machines(epochs: int = 1) -> dict[str, Callable[[Data], Task]]:
    """Return the machines by name."""
    return {
        SIGMOID: sigmoid,
        UNTUNED: lambda data: without_labels(data, epochs),
        AS_IT_COMES: lambda data: as_it_comes(data, epochs),
        TUNED: lambda data: tuned(data, epochs),
        HINGE: hinge,  # the longest
    }
