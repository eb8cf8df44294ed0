"""Probabilities from decision values of rows held out, by scikit-learn's calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin

from .._validation import FloatArray
from .classification import winner


class KnownValues(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values are what it is given in place of points.

    Parameters
    ----------
    classes : ndarray of shape (k,)
        The labels.
    """

    def __init__(self, classes: Any) -> None:
        self.classes = classes

    def fit(self, values: Any, y: Any, sample_weight: Any = None) -> KnownValues:
        """Take note of the labels, also of those that these rows do not have."""
        self.classes_ = self.classes
        return self

    def predict(self, values: Any) -> Any:
        """Return the labels that the values name."""
        return self.classes_[winner(np.asarray(values))]

    def decision_function(self, values: Any) -> FloatArray:
        """Return the values, (n,) of one column."""
        known = np.asarray(values)
        return known[:, 0] if known.shape[1] == 1 else known


def calibrated(values: FloatArray, y: Any, classes: Any, weights: FloatArray | None) -> Any:
    """Return a sigmoid for each class, fitted to decision values (m, 1) or (m, k) of rows held out."""
    from sklearn.calibration import CalibratedClassifierCV  # only where it is used: it is not light

    known = KnownValues(classes)
    if get_config()["enable_metadata_routing"]:
        known.set_fit_request(sample_weight=True)
    everything = np.arange(len(values))  # there is nothing to hold out: the values are known
    splits = [(everything, everything)]
    return CalibratedClassifierCV(known, cv=splits, ensemble=False).fit(values, y, sample_weight=weights)
