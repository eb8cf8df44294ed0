"""Machines that keep their support vectors alone, and what linear kernels make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._validation import FloatArray
from .base import KernelMachine
from .linear_weights import linear_weights
from .samples import Training


class SupportVectorMachine(KernelMachine):
    """A kernel machine in which rows whose coefficients are zero are forgotten."""

    def _store_support(self, training: Training, c: FloatArray) -> NDArray[np.intp]:
        """Keep the samples that have a coefficient in c (m, k), and return their positions among these."""
        support = np.flatnonzero(np.any(c != 0, axis=1))
        self._store_kernel(training)
        rows = training.samples.rows
        self.X_fit_ = self.kernel_.take(training.samples.X, support)
        self._gram_support = support
        self.support_ = support if rows is None else rows[support]
        self.dual_coef_ = np.ascontiguousarray(self._per_output(c[support]))
        return support

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, as `SVC` calls them."""
        return self.X_fit_

    @property
    def coef_(self) -> FloatArray:
        """Weights of the columns, (k, d), of a linear kernel; a row for each function."""
        check_is_fitted(self)
        return np.ascontiguousarray(linear_weights(self.kernel_, self.X_fit_, self._kernel_coefficients()).T)

    @property
    def intercept_(self) -> FloatArray:
        """The functions at the origin, (k,), of a linear kernel beside a constant or nothing."""
        if self.coef_.shape[1] and self.feature_names_free_ not in ([], ["1"]):
            raise AttributeError(
                'intercept_ is there beside features="constant" or None only: see feature_coef_'
            )
        origin = np.zeros((1, self.n_features_in_))
        if sparse.issparse(self.X_fit_):
            origin = sparse.csr_matrix(origin)
        return np.asarray((self._learnt(origin) + self._computed_features().sum(axis=0))[0])

    def _learnt(self, checked: Any) -> FloatArray:
        if self.kernel_.pairwise:
            checked = checked[:, self._gram_support]
        return super()._learnt(checked)
