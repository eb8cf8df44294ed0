"""What a classifier says of rows that it was not fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags


class Recoded(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that is given the numbers of classes and fits another one to their labels.

    Parameters
    ----------
    estimator : estimator
        The other one.
    classes : ndarray of shape (k,)
        The labels, sorted.
    """

    def __init__(self, estimator: Any, classes: Any) -> None:
        self.estimator = estimator
        self.classes = classes

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Recoded:
        """Fit the other classifier to the labels."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.fitted_ = clone(self.estimator).fit(X, self.classes[y], **weights)
        self.classes_ = np.searchsorted(self.classes, self.fitted_.classes_)
        return self

    def predict(self, X: Any) -> Any:
        """Return the numbers of the classes that it names."""
        return np.searchsorted(self.classes, self.fitted_.predict(X))

    def predict_proba(self, X: Any) -> Any:
        """Return its probabilities."""
        return self.fitted_.predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        """Return its decision values."""
        return self.fitted_.decision_function(X)


def values_out_of_fold(
    estimator: Any,
    X: Any,
    y: Any,
    classes: Any,
    *,
    cv: Any,
    method: str,
    n_jobs: int | None = None,
    sample_weight: Any = None,
) -> Any:
    """Return the decision values or probabilities of rows, each by a classifier fitted without it.

    scikit-learn's `cross_val_predict` fits to the numbers of the classes, which a dictionary of class weights
    does not know.
    """
    recoded = Recoded(estimator, classes)
    if get_config()["enable_metadata_routing"]:
        recoded.set_fit_request(sample_weight=True)
    params = None if sample_weight is None else {"sample_weight": sample_weight}
    return cross_val_predict(recoded, X, y, cv=cv, method=method, n_jobs=n_jobs, params=params)
