"""Columns of the data as features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import all_or_nothing, column_positions, is_table_of_numbers
from .._versions import Versioned
from ._names import column_names


class Columns(TransformerMixin, Versioned, BaseEstimator):
    """Some columns of X as features: an external drift, the answer of a simpler model.

    Parameters
    ----------
    columns : int, str, slice, sequence or callable, default=0
        Positions (negative ones count from the end), names of a DataFrame's columns, a slice of either, one
        boolean for each, or a function of X that returns one of these, such as scikit-learn's
        ``make_column_selector(dtype_include="number")``. Other columns may be text.
    constant : bool, default=True
        Whether the constant comes with them.

    Examples
    --------
    >>> from grls.features import Columns
    >>> Columns([1]).fit_transform([[1.0, 5.0], [2.0, 6.0]])
    array([[1., 5.],
           [1., 6.]])
    """

    def __init__(self, columns: Any = 0, constant: bool = True) -> None:
        self.columns = columns
        self.constant = constant

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Columns:
        """Find the columns.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Training data.
        y : None
            Not used.

        Returns
        -------
        Columns
            The fitted transformer.
        """
        with all_or_nothing(self):
            checked = self._table(X, reset=True)
            names = getattr(self, "feature_names_in_", None)
            columns = self.columns(X) if callable(self.columns) else self.columns
            self.positions_ = column_positions(
                columns, checked.shape[1], None if names is None else list(names), "Columns(columns)"
            )
            self._numbers(checked)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the columns.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Data.

        Returns
        -------
        ndarray of shape (n, l)
            The constant first, where it is wanted.
        """
        check_is_fitted(self)
        chosen = self._numbers(self._table(X, reset=False))
        return np.column_stack([np.ones(len(chosen)), chosen]) if self.constant else chosen

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Return X, checked as numbers unless it has columns of text."""
        if hasattr(X, "columns") and not is_table_of_numbers(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)

    def _numbers(self, table: Any) -> NDArray[np.float64]:
        """Return the columns, dense."""
        chosen = _safe_indexing(table, self.positions_, axis=1)
        if sparse.issparse(chosen):
            return np.asarray(chosen.toarray())
        if hasattr(chosen, "columns"):
            chosen = check_array(chosen, dtype=np.float64, input_name="Columns(columns)")
        return np.asarray(chosen)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns, after ``1`` for the constant."""
        check_is_fitted(self)
        chosen = column_names(self, input_features)[self.positions_].tolist()
        return np.array((["1"] if self.constant else []) + chosen, dtype=object)
