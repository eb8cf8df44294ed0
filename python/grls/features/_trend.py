"""Polynomial trends."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import all_or_nothing, as_rows, integer, is_as_fitted, is_table_of_numbers
from .._versions import Versioned
from ._names import column_names


class PolynomialTrend(TransformerMixin, Versioned, BaseEstimator):
    """All monomials up to a degree.

    Estimators compute with the monomials about the middle of the training data, which keep their digits for
    data far from the origin (years, map coordinates), and report coefficients of the plain ones.

    Parameters
    ----------
    degree : int, default=1
        0: the constant; 1: and all columns; 2: and all their products.

    Attributes
    ----------
    centre_ : ndarray of shape (d,)
        Middle of the range of each column.

    Examples
    --------
    >>> from grls.features import PolynomialTrend
    >>> trend = PolynomialTrend(degree=2)
    >>> trend.fit_transform([[1.0], [2.0], [3.0]])
    array([[1., 1., 1.],
           [1., 2., 4.],
           [1., 3., 9.]])
    >>> list(trend.get_feature_names_out())
    ['1', 'x0', 'x0^2']
    """

    def __init__(self, degree: int = 1) -> None:
        self.degree = degree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.degree == 0  # the constant reads nothing
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
        with all_or_nothing(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        degree = integer(self.degree, "PolynomialTrend.degree", minimum=0)
        if degree == 0 and not is_table_of_numbers(X):
            self.centre_ = np.zeros(0)  # the constant reads nothing of documents or columns of text
            self.__dict__.pop("n_features_in_", None)
            self.__dict__.pop("feature_names_in_", None)
            return
        if degree == 0 and type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and X.size:
            # Nor of numbers, which need no check then.
            self.n_features_in_, self.centre_ = X.shape[1], np.zeros(X.shape[1])
            self.__dict__.pop("feature_names_in_", None)
            return
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=degree > 0)
        if sparse.issparse(X) or degree == 0:
            self.centre_ = np.zeros(X.shape[1])
        else:
            self.centre_ = X.min(axis=0) / 2 + X.max(axis=0) / 2
        if degree > 0:
            self._monomials = PolynomialFeatures(degree).fit(np.zeros((1, X.shape[1])))

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
        return self._monomials_at(X, middle=False)

    def about_the_middle(self, X: Any) -> NDArray[np.float64]:
        """Return the monomials of ``X - centre_``, which span the same: those that estimators compute with.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Data.

        Returns
        -------
        ndarray of shape (n, l)
            In the order of `transform`.
        """
        return self._monomials_at(X, middle=True)

    def _monomials_at(self, X: Any, *, middle: bool) -> NDArray[np.float64]:
        check_is_fitted(self)
        if self.degree == 0 and not is_table_of_numbers(X):
            return np.ones((as_rows(X).shape[0], 1))
        if not is_as_fitted(X, self):
            finite = self.degree > 0
            X = validate_data(
                self, X, accept_sparse="csr", dtype=np.float64, reset=False, ensure_all_finite=finite
            )
        if self.degree == 0:
            return np.ones((X.shape[0], 1))
        dense = X.toarray() if sparse.issparse(X) else X
        self._require_own_degree()
        values = np.asarray(self._monomials.transform(dense - self.centre_ if middle else dense))
        if values.shape[1] != self._monomials.n_output_features_:
            raise ValueError(
                f"the monomials have {values.shape[1]} columns, expected "
                f"{self._monomials.n_output_features_}: this transformer was changed after the fit"
            )
        return values

    def _require_own_degree(self) -> None:
        """Raise where the powers that are multiplied out are not those of the fit: they may never end."""
        known = vars(self._monomials)
        if known.get("_max_degree", known["degree"]) != known["degree"]:
            raise ValueError(
                f"the monomials are of degree {known['_max_degree']!r}, expected {known['degree']!r}: this "
                "transformer was changed after the fit"
            )

    def user_units(self) -> NDArray[np.float64] | None:
        """Return R (l, l) with β = Rb: b of the monomials about the middle, β of the plain ones.

        None where they are the same, because the middle is zero.
        """
        if self.degree == 0 or not self.centre_.any():
            return None
        self._require_own_degree()
        powers = self._monomials.powers_
        place = {tuple(power): i for i, power in enumerate(powers)}
        R = np.zeros((len(powers), len(powers)))
        for column, power in enumerate(powers):
            terms = {(0,) * len(power): 1.0}  # Π_j (x_j − m_j)^e_j, multiplied out
            for j in np.flatnonzero(power):
                e, m = int(power[j]), self.centre_[j]
                terms = {
                    (*key[:j], i, *key[j + 1 :]): value * comb(e, i) * (-m) ** (e - i)
                    for key, value in terms.items()
                    for i in range(e + 1)
                }
            for key, value in terms.items():
                R[place[key], column] += value
        return R

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the monomials, such as ``x0 x1``."""
        check_is_fitted(self)
        columns = column_names(self, input_features)
        if self.degree == 0:
            return np.array(["1"], dtype=object)
        return np.asarray(self._monomials.get_feature_names_out(columns))
