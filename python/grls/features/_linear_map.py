"""The rows times a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._validation import FloatArray, all_or_nothing
from .._versions import Versioned

_FLOATS = [np.float64, np.float32]


class LinearMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Versioned, BaseEstimator):
    """The rows times a matrix, x ↦ xA: what ``kernel.after(A)`` makes of an array A.

    Parameters
    ----------
    matrix : array-like of shape (d, p)
        A. Distances of the mapped rows are those of the metric AAᵀ.

    Examples
    --------
    >>> from grls.kernels import Gaussian
    >>> kernel = Gaussian(sigma=1.0).after([[2.0], [0.0]])
    >>> kernel([[0.0, 5.0]], [[0.5, 7.0]]).round(3)
    array([[0.607]])
    """

    def __init__(self, matrix: ArrayLike) -> None:
        self.matrix = matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        return tags

    def fit(self, X: Any, y: Any = None) -> LinearMap:
        """Check that the matrix suits the columns.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Rows.
        y : None
            Not used.

        Returns
        -------
        LinearMap
            The transformer.
        """
        with all_or_nothing(self):
            self._mapped(validate_data(self, X, accept_sparse="csr", dtype=_FLOATS)[:0])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the rows times the matrix.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, p)
            XA.
        """
        if type(X) is not np.ndarray or X.dtype not in _FLOATS or X.ndim != 2:
            X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        return self._mapped(X)

    def _mapped(self, X: Any) -> FloatArray:
        A = np.asarray(self.matrix)
        if A.ndim != 2 or A.dtype not in _FLOATS or not np.isfinite(A).all():
            A = check_array(self.matrix, dtype=_FLOATS, input_name="LinearMap.matrix")
        if len(A) != X.shape[1]:
            raise ValueError(f"LinearMap.matrix has {len(A)} rows, but the data have {X.shape[1]} columns")
        return np.asarray(X @ A)

    @property
    def _n_features_out(self) -> int:
        return int(np.shape(self.matrix)[1])

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"LinearMap({' x '.join(map(str, np.shape(self.matrix)))})"
