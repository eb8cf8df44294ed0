"""Predefined features: what is known beforehand, left unpenalised.

Estimators take features in any of these forms; all end as one scikit-learn transformer:

* ``None``: no features, the plain kernel method;
* ``"constant"``, ``"linear"``, ``"quadratic"``: polynomial trends (`PolynomialTrend`);
* a function ``X -> (n, l)``;
* any transformer, cloned and fitted inside ``fit`` with X and y: scikit-learn's, `Columns`, or your own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validation import column_positions, integer

__all__ = ["Columns", "PolynomialTrend", "as_transformer", "evaluate", "names"]

_TRENDS = {"constant": 0, "linear": 1, "quadratic": 2}


class PolynomialTrend(TransformerMixin, BaseEstimator):
    """All monomials up to a degree, taken about the middle of the training data.

    The span is that of the plain monomials, so a fitted model does not depend on the shift; taken about the
    middle they keep their digits for data far from the origin (years, map coordinates).

    Parameters
    ----------
    degree : int, default=1
        0: the constant; 1: and all columns; 2: and all their products.

    Attributes
    ----------
    centre_ : ndarray of shape (d,)
        Middle of the range of each column; a column x stands for ``x - centre_``.

    Examples
    --------
    >>> from grls.features import PolynomialTrend
    >>> trend = PolynomialTrend(degree=2)
    >>> trend.fit_transform([[2001.0], [2002.0], [2003.0]])
    array([[ 1., -1.,  1.],
           [ 1.,  0.,  0.],
           [ 1.,  1.,  1.]])
    >>> list(trend.get_feature_names_out())
    ['1', 'x0', 'x0^2']
    """

    def __init__(self, degree: int = 1) -> None:
        self.degree = degree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> PolynomialTrend:
        """Find the middle of the data.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Training data.
        y : None
            Not used.

        Returns
        -------
        PolynomialTrend
            The fitted transformer.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        degree = integer(self.degree, "PolynomialTrend.degree", minimum=0)
        self.centre_: NDArray[np.float64]
        if sparse.issparse(X) or degree == 0:
            self.centre_ = np.zeros(X.shape[1])
        else:
            self.centre_ = X.min(axis=0) / 2 + X.max(axis=0) / 2
        if degree > 0:
            self._monomials = PolynomialFeatures(degree).fit(np.zeros((1, X.shape[1])))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the monomials at X.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Data.

        Returns
        -------
        ndarray of shape (n, l)
            The constant first, then by degree.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if self.degree == 0:
            return np.ones((X.shape[0], 1))
        dense = X.toarray() if sparse.issparse(X) else X
        return np.asarray(self._monomials.transform(dense - self.centre_))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the monomials, such as ``x0 x1``."""
        check_is_fitted(self)
        if self.degree == 0:
            return np.array(["1"], dtype=object)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        return np.asarray(self._monomials.get_feature_names_out(input_features))


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


def as_transformer(features: Any) -> Any:
    """Return a fresh transformer from anything an estimator's ``features`` parameter takes, or None."""
    if features is None:
        return None
    if isinstance(features, str):
        if features not in _TRENDS:
            raise ValueError(
                f"features must be None, one of {', '.join(map(repr, _TRENDS))}, a function "
                f"or a transformer; got {features!r}"
            )
        return PolynomialTrend(_TRENDS[features])
    if hasattr(features, "transform"):
        return clone(features)
    if isinstance(features, Callable):  # type: ignore[arg-type]
        return FunctionTransformer(features)
    raise TypeError(f"features must be None, a name, a function or a transformer; got {features!r}")


def evaluate(values: Any, n_rows: int) -> NDArray[Any]:
    """Return what a transformer gave as a checked matrix T of shape (n_rows, l)."""
    if sparse.issparse(values):
        values = values.toarray()
    T = np.asarray(values)
    if T.ndim == 1:
        T = T[:, None]
    if T.ndim != 2 or T.shape[0] != n_rows:
        raise ValueError(f"the features have shape {T.shape}, expected ({n_rows}, l)")
    if T.shape[1] == 0:
        return np.empty((n_rows, 0))
    return np.asarray(check_array(T, dtype=[np.float64, np.float32], input_name="features"))


def names(transformer: Any, n_features: int) -> list[str]:
    """Return the names of a fitted transformer's features, made up where it has none."""
    try:
        known = [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError, TypeError):
        known = []
    return known if len(known) == n_features else [f"feature{p}" for p in range(n_features)]
