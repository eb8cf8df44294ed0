"""An effect for each level of a column: stores, subjects, sites."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import all_or_nothing, choice, column_positions
from .._versions import Versioned
from ._labels import plain, positions_among, read_labels
from ._names import column_names
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
        The column, by position or by name: numbers, text or dates, of which none is missing. The same levels
        in another dtype, such as a column of objects, are the same; numbers are not the text of them. A
        kernel reads the column as well unless ``kernel.on(columns)`` leaves it out.
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
        return self._labels_at(X, self._position(X))

    def _position(self, X: Any) -> int:
        known = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        return column_positions(self.column, X.shape[1], known, "Groups(column)")[0]

    def _labels_at(self, X: Any, position: int) -> NDArray[Any]:
        labels, there = read_labels(X, position, f"Groups({self.column!r}): the column")
        if not there.all():
            raise ValueError(
                f"Groups({self.column!r}): row {int(np.argmin(there))} has no level: leave such rows out, or "
                "fill in a level of their own"
            )
        return labels

    def codes(self, labels: NDArray[Any], levels: NDArray[Any]) -> NDArray[np.intp]:
        """Return the positions of labels among sorted levels; unseen ones are an error, or len(levels)."""
        codes = positions_among(labels, levels, f"Groups({self.column!r}): the column")
        unseen = codes == len(levels)
        if unseen.any() and choice(self.unseen, "unseen", ("error", "mean")) == "error":
            raise ValueError(
                f"Groups({self.column!r}): the level {plain(labels[unseen][0])} was not there in training; "
                'unseen="mean" takes the mean effect'
            )
        return codes

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
        with all_or_nothing(self):
            table = self._table(X, reset=True)
            self._column = self._position(table)
            self.levels_, counts = np.unique(self.labels(table), return_counts=True)
            if not len(counts):
                raise ValueError("Groups needs at least one row")
            self.shares_ = counts / counts.sum()
            inner = self.features_beside()
            self.beside_ = None if inner is None else clone(inner).fit(table, y)
            before = [] if self.beside_ is None else list(self.beside_.get_feature_names_out())
            self._names = [*before, *(f"{self.column}={level}" for level in self.levels_)]
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
        indicators = rows[self.codes(self._labels_at(table, self._column), self.levels_)]
        return indicators if self.beside_ is None else np.hstack([self.beside_.transform(table), indicators])

    def _table(self, X: Any, *, reset: bool) -> Any:
        if hasattr(X, "columns"):  # the other columns are for the features beside to check
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return their names."""
        check_is_fitted(self)
        column_names(self, input_features)
        return np.array(self._names, dtype=object)
