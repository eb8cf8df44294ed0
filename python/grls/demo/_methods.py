"""The methods compared: their names, peers with the parameters of grls, and one grid search for all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC

GRLS = "G-RLS"
PUBLISHED = "G-RLS as published"
PUBLISHED_FIRST = "G-RLS as published, first pivots"
RIDGE = "kernel ridge"
SUPPORT_VECTORS = "SVC"

# The peers' parameters are those of grls: `sigma` of the Gaussian kernel, `regularization` of the mean loss.


class RidgePeer(RegressorMixin, BaseEstimator):
    """Kernel ridge regression of scikit-learn: no features, not even an intercept."""

    def __init__(self, sigma: float = 1.0, regularization: float = 1e-3) -> None:
        self.sigma = sigma
        self.regularization = regularization

    def fit(self, X: Any, y: Any) -> RidgePeer:
        self.model_ = KernelRidge(
            alpha=self.regularization * len(X), kernel="rbf", gamma=1 / (2 * self.sigma**2)
        ).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


class RidgeClassifierPeer(ClassifierMixin, BaseEstimator):
    """The same on targets ±1, one versus all; the largest value wins."""

    def __init__(self, sigma: float = 1.0, regularization: float = 1e-3) -> None:
        self.sigma = sigma
        self.regularization = regularization

    def fit(self, X: Any, y: Any) -> RidgeClassifierPeer:
        binarizer = LabelBinarizer(neg_label=-1).fit(y)
        self.classes_ = binarizer.classes_
        self.model_ = RidgePeer(self.sigma, self.regularization).fit(X, binarizer.transform(y))
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[self.model_.predict(X).argmax(axis=1)]


class SupportVectorPeer(ClassifierMixin, BaseEstimator):
    """scikit-learn's support vector machine, with C = 1 / (2 γ m)."""

    def __init__(self, sigma: float = 1.0, regularization: float = 1e-3) -> None:
        self.sigma = sigma
        self.regularization = regularization

    def fit(self, X: Any, y: Any) -> SupportVectorPeer:
        self.model_ = SVC(
            C=1 / (2 * self.regularization * len(X)), kernel="rbf", gamma=1 / (2 * self.sigma**2)
        ).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


def grid_search(model: Any, sigmas: Iterable[float], gammas: Iterable[float], cv: Any, scoring: str) -> Any:
    """Return a grid search, not yet fitted, over the kernel's width and γ, the same for every model."""
    width = "kernel__sigma" if hasattr(model, "kernel") else "sigma"
    grid = {width: list(map(float, sigmas)), "regularization": list(map(float, gammas))}
    return GridSearchCV(model, grid, cv=cv, scoring=scoring)


def chosen_sigma(search: Any) -> float:
    """Return the kernel width that a grid search chose."""
    best = search.best_params_
    return float(best.get("sigma", best.get("kernel__sigma")))
