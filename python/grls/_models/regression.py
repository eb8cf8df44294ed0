"""What regressors share: values as targets, and predictions in their shape."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import assert_all_finite

from .._input_errors import require_numbers
from .._validation import FloatArray, require_size, sample_weights
from .._warnings import recorded
from .samples import with_groups, with_noise, with_offset

R = TypeVar("R", bound="Regression")

# Targets, so that variances neither vanish nor overflow.
_SMALLEST, _LARGEST = 1e-140, 1e150


class RegressionFunction(MultiOutputMixin, RegressorMixin):
    """A regressor whose predictions are `_parts` added up."""

    def _per_output(self, values: FloatArray) -> FloatArray:
        return np.asarray(self._shaped(values))

    def _check_values(self, X: Any, y: Any, **options: Any) -> tuple[Any, FloatArray]:
        """Return X and y, checked."""
        require_numbers(y)
        checked, values = self._validate(X, y, multi_output=True, y_numeric=True, **options)
        values = np.asarray(values, dtype=np.float64)
        if not (type(y) is np.ndarray and y.dtype == np.float64):  # objects, and what doubles cannot hold
            assert_all_finite(values, input_name="y")
        if getattr(self, "solver", None) != "cg":  # which takes targets of any size
            require_size(values.reshape(len(values), -1), _SMALLEST, _LARGEST)
        return checked, values

    def predict(self, X: Any) -> FloatArray:
        """Return the values of the model function.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Predictions.
        """
        feature_part, learnt_part = self._parts(X)
        return np.asarray(self._shaped(feature_part + learnt_part))


class Regression(RegressionFunction):
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
        return self._fit_values(X, y, sample_weight)

    def _fit_values(
        self: R,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any = None,
        noise: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> R:
        with self._timed_fit(), recorded() as messages:
            self._check_parameters()
            checked, values = self._check_values(X, y)
            weights = sample_weights(sample_weight, checked)
            self._one_output = values.ndim == 1
            samples = self._samples(checked, X, values, values.reshape(len(values), -1), weights)
            samples = with_noise(with_groups(samples, groups, len(values)), noise, len(values))
            self._fit(with_offset(samples, offset, exposure, len(values)))
            self.fit_warnings_ = messages
        return self

    def _score_left_out(self, y: Any, predictions: FloatArray, weights: FloatArray | None) -> float:
        return float(r2_score(y, self._shaped(predictions), sample_weight=weights))

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._one_output else values
