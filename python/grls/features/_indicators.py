"""Indicators of groups of rows as features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import all_or_nothing, as_rows, column_positions, is_table_of_numbers
from .._versions import Versioned
from ._labels import positions_among, read_labels
from ._names import column_names


class Indicators(TransformerMixin, Versioned, BaseEstimator):
    """Indicators of groups of rows, which may overlap, after the constant.

    With `grls.conformal.ConformalRegressor` each is a group whose coverage is promised; with other estimators
    each is an offset of its own.

    Parameters
    ----------
    groups : int, str, sequence or dict, default=0
        Columns that hold labels, by position or name: one group for each label of each column, which
        holds numbers, text or dates, in any dtype. Or names of groups, and for each a function of X that
        returns one boolean for each row, ``{"young": lambda X: X[:, 0] < 30}``.

    Attributes
    ----------
    labels_ : list of ndarrays
        The labels found in each column.

    See Also
    --------
    grls.features.Groups : An effect for each of many levels of one column, without indicators on centres.

    Examples
    --------
    >>> import numpy as np
    >>> from grls.features import Indicators
    >>> X = np.array([[20.0, 1.0], [40.0, 2.0], [60.0, 1.0]])
    >>> Indicators(1).fit_transform(X)
    array([[1., 1., 0.],
           [1., 0., 1.],
           [1., 1., 0.]])
    >>> groups = Indicators({"over 30": lambda X: X[:, 0] > 30, "over 50": lambda X: X[:, 0] > 50})
    >>> groups.fit_transform(X)
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    >>> list(groups.get_feature_names_out())
    ['1', 'over 30', 'over 50']
    """

    def __init__(self, groups: Any = 0) -> None:
        self.groups = groups

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True  # a missing label is in no group
        return tags

    def fit(self, X: Any, y: Any = None) -> Indicators:
        """Find the labels.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Rows.
        y : None
            Not used.

        Returns
        -------
        Indicators
            The fitted transformer.
        """
        with all_or_nothing(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        table = self._table(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        self.positions_: list[int] = []
        self.labels_: list[NDArray[Any]] = []
        self._functions: dict[Any, Any] = {}
        if isinstance(self.groups, dict):
            if not self.groups:
                raise ValueError("groups names no group")
            for name, members in self.groups.items():
                if not callable(members):
                    raise TypeError(f"group {name!r} must be a function of X, got {members!r}")
            self._functions = dict(self.groups)
            self._names = [str(name) for name in self.groups]
        else:
            known = None if names is None else list(names)
            self.positions_ = column_positions(self.groups, table.shape[1], known, "Indicators(groups)")
            self.labels_ = [np.unique(self._labels(table, p)[0]) for p in self.positions_]
            given = column_names(self)
            self._names = [
                f"{given[p]}={label}"
                for p, labels in zip(self.positions_, self.labels_, strict=True)
                for label in labels
            ]
        self.transform(X)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the indicators.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Rows; a label that `fit` has not seen, or a missing one, belongs to no group.

        Returns
        -------
        ndarray of shape (n, 1 + groups)
            The constant first.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        n_rows = table.shape[0]
        columns = [np.ones(n_rows)]
        rows = X if hasattr(X, "columns") else table
        columns += [_members(name, members(rows), n_rows) for name, members in self._functions.items()]
        for p, known in zip(self.positions_, self.labels_, strict=True):
            labels, there = self._labels(table, p)
            indicators = np.zeros((n_rows, len(known) + 1))
            indicators[there, positions_among(labels, known, self._what(p))] = 1.0
            columns.append(indicators[:, :-1])
        return np.column_stack(columns)

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Return X, checked as numbers unless it has columns of text."""
        if not is_table_of_numbers(X):
            return validate_data(self, as_rows(X), reset=reset, skip_check_array=True)
        return validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_all_finite="allow-nan"
        )

    def _labels(self, table: Any, position: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return read_labels(table, position, self._what(position))

    def _what(self, position: int) -> str:
        return f"Indicators: column {str(column_names(self)[position])!r}"

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the groups, after ``1`` for the constant."""
        check_is_fitted(self)
        column_names(self, input_features)
        return np.array(["1", *self._names], dtype=object)


def _members(name: Any, members: Any, n_rows: int) -> NDArray[np.float64]:
    """Return a group as numbers, checked."""
    values = np.asarray(members)
    if values.shape != (n_rows,) or not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"group {name!r} must have one boolean for each of the {n_rows} rows, got an array of shape "
            f"{values.shape} and type {values.dtype}"
        )
    return values.astype(np.float64)
