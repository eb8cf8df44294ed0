"""Columns of the data as features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import column_positions


class Columns(TransformerMixin, BaseEstimator):
    """Some columns of X as features: an external drift, the answer of a simpler model.

    Parameters
    ----------
    columns : int, str, or sequence of them, default=0
        Positions (negative ones count from the end), or names of a DataFrame's columns.
    constant : bool, default=True
        Whether the constant comes with them.

    Examples
    --------
    >>> from grls.features import Columns
    >>> Columns([1]).fit_transform([[1.0, 5.0], [2.0, 6.0]])
    array([[1., 5.],
           [1., 6.]])
    """

    def __init__(self, columns: int | str | Sequence[int] | Sequence[str] = 0, constant: bool = True) -> None:
        self.columns = columns
        self.constant = constant

    def fit(self, X: Any, y: Any = None) -> Columns:
        """Find the columns.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training data.
        y : None
            Not used.

        Returns
        -------
        Columns
            The fitted transformer.
        """
        X = validate_data(self, X, dtype=np.float64)
        names = getattr(self, "feature_names_in_", None)
        self.positions_ = column_positions(
            self.columns, X.shape[1], None if names is None else list(names), "Columns(columns)"
        )
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the columns.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Data.

        Returns
        -------
        ndarray of shape (n, l)
            The constant first, where it is wanted.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        chosen = X[:, self.positions_]
        return np.column_stack([np.ones(X.shape[0]), chosen]) if self.constant else np.asarray(chosen)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns, after ``1`` for the constant."""
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        chosen = [input_features[p] for p in self.positions_]
        return np.array((["1"] if self.constant else []) + chosen, dtype=object)
