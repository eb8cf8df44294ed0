"""An effect for each level of a column: stores, subjects, sites."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import choice, column_positions, is_table_of_numbers
from .._versions import Versioned
from ._resolve import as_transformer, evaluate, names


class WithoutConstant(TransformerMixin, Versioned, BaseEstimator):
    """Features less their constant, which the effects of groups contain."""

    def __init__(self, features: Any = None) -> None:
        self.features = features

    def fit(self, X: Any, y: Any = None) -> WithoutConstant:
        """Fit the features."""
        self.transformer_ = as_transformer(self.features).fit(X, y)
        values = self.transformer_.transform(X)
        T = evaluate(values, X.shape[0])
        self.names_ = names(self.transformer_, values, T.shape[1])
        self.varies_ = np.flatnonzero(T.min(axis=0) < T.max(axis=0))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the columns that vary."""
        check_is_fitted(self)
        return np.asarray(
            evaluate(self.transformer_.transform(X), X.shape[0])[:, self.varies_], dtype=np.float64
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return their names."""
        check_is_fitted(self)
        return np.array([self.names_[p] for p in self.varies_], dtype=object)


class Groups(TransformerMixin, Versioned, BaseEstimator):
    """An effect for each level of a column, unpenalised: stores, subjects, sites.

    As a transformer it makes one indicator for each level. `NystromGRLSRegressor`, also on Dask, makes none:
    rows are taken about the means of their group by sums over each group, so that a level costs 8(M + l)
    bytes. Nor do `GRLSRegressor` and `GRLSClassifier` with ``solver="cg"``, at a few numbers a level.
    The model is that of the indicators (on centres: with all rows as centres); `group_levels_` and
    `group_effects_` have the effects, `feature_coef_` the coefficients of the features beside them.

    Parameters
    ----------
    column : int or str, default=0
        The column, by position or by name. A kernel reads it as well unless ``kernel.on(columns)`` leaves it
        out.
    beside : None, str, callable or transformer, default=None
        Further features, as an estimator takes them; their constant, which the effects contain, is left out.
        "linear" would hold the column of groups as well, which they contain too: name columns with `Columns`.
    unseen : {"error", "mean"}, default="error"
        What a level that was not there in training is at a prediction: an error, or the mean effect of the
        training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from grls import NystromGRLSRegressor
    >>> from grls.features import Groups
    >>> from grls.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.uniform(0, 6, 2000), rng.integers(0, 100, 2000)])
    >>> effects = rng.normal(size=100)
    >>> y = np.sin(X[:, 0]) + effects[X[:, 1].astype(int)]
    >>> model = NystromGRLSRegressor(Gaussian(1.0).on([0]), features=Groups(1), n_centers=50).fit(X, y)
    >>> found = model.group_effects_ - model.group_effects_.mean()
    >>> bool(np.abs(found - effects + effects.mean()).max() < 1e-2)
    True
    """

    def __init__(self, column: int | str = 0, beside: Any = None, unseen: str = "error") -> None:
        self.column = column
        self.beside = beside
        self.unseen = unseen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def labels(self, X: Any) -> NDArray[Any]:
        """Return the level of each row of a table."""
        choice(self.unseen, "unseen", ("error", "mean"))
        known = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        (position,) = column_positions(self.column, X.shape[1], known, "Groups(column)")
        values = _safe_indexing(X, [position], axis=1)
        values = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
        values = values[:, 0]
        if values.dtype.kind in "OUS":
            values = values.astype(str)
        elif values.dtype.kind == "f" and np.isnan(values).any():
            row = int(np.flatnonzero(np.isnan(values))[0])
            raise ValueError(f"Groups({self.column!r}): row {row} has no level")
        return values

    def codes(self, labels: NDArray[Any], levels: NDArray[Any]) -> NDArray[np.intp]:
        """Return the positions of labels among sorted levels; unseen ones are an error, or len(levels)."""
        place = np.minimum(np.searchsorted(levels, labels), len(levels) - 1)
        unseen = levels[place] != labels
        if unseen.any() and self.unseen == "error":
            level = labels[unseen][0].item()
            raise ValueError(
                f"Groups({self.column!r}): the level {level!r} was not there in training; "
                'unseen="mean" takes the mean effect'
            )
        return np.where(unseen, len(levels), place).astype(np.intp)

    def features_beside(self) -> Any:
        """Return the transformer of the features beside the effects, or None."""
        return None if self.beside is None else WithoutConstant(self.beside)

    def fit(self, X: Any, y: Any = None) -> Groups:
        """Find the levels.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Training data.
        y : None
            For the features beside.

        Returns
        -------
        Groups
            The fitted transformer.
        """
        table = self._table(X, reset=True)
        self.levels_, counts = np.unique(self.labels(table), return_counts=True)
        self.shares_ = counts / counts.sum()
        inner = self.features_beside()
        self.beside_ = None if inner is None else clone(inner).fit(table, y)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features beside, then an indicator for each level.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Data.

        Returns
        -------
        ndarray of shape (n, l)
            Of a level that is new, with ``unseen="mean"``, the shares of the levels in training.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        rows = np.vstack([np.eye(len(self.levels_)), self.shares_])
        indicators = rows[self.codes(self.labels(table), self.levels_)]
        return indicators if self.beside_ is None else np.hstack([self.beside_.transform(table), indicators])

    def _table(self, X: Any, *, reset: bool) -> Any:
        if hasattr(X, "columns") and not is_table_of_numbers(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        return X if hasattr(X, "columns") else checked

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return their names."""
        check_is_fitted(self)
        before = [] if self.beside_ is None else list(self.beside_.get_feature_names_out())
        return np.array([*before, *(f"{self.column}={level}" for level in self.levels_)], dtype=object)
