"""What regressors share: values as targets, and predictions in their shape."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import assert_all_finite

from .._validation import FloatArray, sample_weights

R = TypeVar("R", bound="Regression")


class Regression(MultiOutputMixin, RegressorMixin):
    """A regressor whose `_fit` takes all outputs at once."""

    def fit(self: R, X: Any, y: Any, sample_weight: Any = None) -> R:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,) or (m, k)
            Targets.
        sample_weight : array-like of shape (m,), default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        self : object
            The fitted model.
        """
        with self._all_or_nothing():
            checked, targets = self._validate(X, y, multi_output=True, y_numeric=True)
            targets = np.asarray(targets, dtype=np.float64)
            assert_all_finite(targets, input_name="y")
            weights = sample_weights(sample_weight, checked)
            self._one_output = targets.ndim == 1
            self._fit(checked, X, targets, targets.reshape(len(targets), -1), weights)
        return self

    def _set_loo(self, y: Any, predictions: FloatArray, weights: FloatArray | None) -> None:
        self.loo_predictions_ = self._shaped(predictions)
        self.loo_score_ = float(r2_score(y, self.loo_predictions_, sample_weight=weights))

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._one_output else values
