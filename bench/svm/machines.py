"""One adapter per support vector machine: a function that fits a problem and returns the fitted model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .problems import Problem

OURS = "grls"
NO_LIMIT = 10**9


@dataclass(frozen=True)
class Machine:
    name: str
    fit: Callable[[Problem], Any]
    with_features: bool = False  # solves another problem than the others
    max_m: int = NO_LIMIT  # beyond this it takes minutes


def fit_grls(problem: Problem) -> Any:
    from grls import SVMGBClassifier
    from grls.kernels import Gaussian

    return SVMGBClassifier(Gaussian(problem.sigma), C=problem.C).fit(problem.X, problem.y)


def fit_grls_features(problem: Problem) -> Any:
    from grls import SVMGBClassifier
    from grls.kernels import Gaussian

    model = SVMGBClassifier(Gaussian(problem.sigma), features=problem.features, C=problem.C)
    return model.fit(problem.X, problem.y)


def fit_sklearn(problem: Problem) -> Any:
    from sklearn.svm import SVC

    return SVC(C=problem.C, gamma=problem.gamma, cache_size=1000).fit(problem.X, problem.y)


def fit_intelex(problem: Problem) -> Any:
    from sklearnex.svm import SVC

    return SVC(C=problem.C, gamma=problem.gamma, cache_size=1000).fit(problem.X, problem.y)


MACHINES = (
    Machine(OURS, fit_grls),
    Machine("grls, 20 features", fit_grls_features, with_features=True),
    Machine("scikit-learn-intelex", fit_intelex),
    Machine("scikit-learn", fit_sklearn),
)


def objectives(model: Any, problem: Problem) -> tuple[float, float]:
    """Return the primal and the dual objective of a model of two classes, in double precision."""
    from grls.kernels import Gaussian

    signs = np.where(problem.y == model.classes_[1], 1.0, -1.0)
    c = np.asarray(model.dual_coef_, dtype=np.float64).reshape(-1, 1)  # one pair: of either shape
    support = problem.X[model.support_]
    learnt = Gaussian(problem.sigma).times(problem.X, support, c)[:, 0]
    quadratic = float(learnt[model.support_] @ c[:, 0])
    if hasattr(model, "feature_coef_"):
        bias = model.decision_function(problem.X) - learnt
    else:
        bias = np.full(problem.m, float(np.ravel(model.intercept_)[0]))
    losses = problem.C * np.maximum(0, 1 - signs * (learnt + bias)).sum()
    return quadratic / 2 + float(losses), float(signs[model.support_] @ c[:, 0]) - quadratic / 2
