"""Normal scores of columns with long tails, beside the columns themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._solvers.rows import distinct_rows
from .._validation import FloatArray, all_or_nothing, column_positions, integer
from .._versions import Versioned
from ._names import column_names

_FLOATS = [np.float64, np.float32]

# A column whose correlation with its normal scores is below this has tails: normal values have 1, uniform
# ones .98, exponential ones .9, the exponentials of normal values .8.
_TAILED = 0.95

_FEWEST_POINTS = 8  # fewer tell nothing of a distribution


class NormalScores(TransformerMixin, Versioned, BaseEstimator):
    """The columns, and beside them the normal scores of those that have long tails.

    The score of a value is z(x) = Φ⁻¹(F(x)), F the share of training points below x, half of those at x
    among them: incomes, concentrations and counts become about as evenly spread as normal values. Between
    knots at some of the training values z is linear. Beyond the largest, b, it grows like a logarithm,
    z(x) = z(b) + log(1 + (x − b) / (b − median)), and so below the smallest; the column itself is held at b,
    for a value far out in a tail says little by its size. A kernel after this map reads both, and widths per
    column tell which of them matters.

    Parameters
    ----------
    columns : "tailed", or int, str, slice, sequence or callable, default="tailed"
        Of which columns there are scores; "tailed": those whose correlation with their scores is below 0.95,
        whatever their units.
    n_knots : int, default=65
        At most so many knots a column, evenly spread over its scores.

    Attributes
    ----------
    columns_ : ndarray of shape (s,)
        Positions of the columns that have scores.
    knots_, scores_ : lists of ndarrays
        For each of them, ascending values and their scores.
    reaches_ : ndarray of shape (s, 2)
        How far the smallest and the largest are from the median.

    See Also
    --------
    sklearn.preprocessing.QuantileTransformer : Scores in place of the columns.

    Notes
    -----
    Rows that are given several times count once, so that they mean what sample weights mean. A fit sorts the
    columns, O(nd log n).

    Examples
    --------
    >>> import numpy as np
    >>> from grls.features import NormalScores
    >>> X = np.column_stack([np.linspace(0, 1, 100), np.exp(np.linspace(0, 8, 100))])
    >>> scores = NormalScores().fit(X)
    >>> scores.get_feature_names_out().tolist()
    ['x0', 'x1', 'score_x1']
    >>> scores.transform([[0.5, np.exp(6.0)], [0.5, 1e9]]).round(2)[:, 2]
    array([ 0.67, 15.32])
    """

    def __init__(self, columns: Any = "tailed", *, n_knots: int = 65) -> None:
        self.columns = columns
        self.n_knots = n_knots

    def fit(self, X: Any, y: Any = None) -> NormalScores:
        """Find the columns, and the scores of their values.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : None
            Not used.

        Returns
        -------
        NormalScores
            The transformer.
        """
        with all_or_nothing(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        n_knots = integer(self.n_knots, "NormalScores.n_knots", minimum=2)
        given, X = X, validate_data(self, X, dtype=_FLOATS)
        points = np.asarray(X[distinct_rows(X)[0]], dtype=np.float64)
        tables = [_scores(column) for column in points.T]
        if isinstance(self.columns, str) and self.columns == "tailed":
            chosen = [c for c, table in enumerate(tables) if _has_tails(points[:, c], table)]
        else:
            wanted = self.columns(given) if callable(self.columns) else self.columns
            names = getattr(self, "feature_names_in_", None)
            named = None if names is None else list(names)
            chosen = column_positions(wanted, X.shape[1], named, "NormalScores.columns")
        self.columns_ = np.array(chosen, dtype=np.intp)
        kept = [_thinned(*tables[c], n_knots) for c in chosen]
        self.knots_, self.scores_ = [knots for knots, _ in kept], [scores for _, scores in kept]
        self.reaches_ = np.array([_reach(points[:, c]) for c in chosen]).reshape(-1, 2)

    def transform(self, X: Any) -> FloatArray:
        """Return the columns and the scores.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, d + s)
            [X | z(X)], X within the training values in the columns that have scores.
        """
        X = self._checked(X)
        out = np.empty((len(X), X.shape[1] + len(self.columns_)))
        out[:, : X.shape[1]] = X
        for j, (c, knots, values) in enumerate(self._tables()):
            below, above = _beyond(X[:, c], knots, self.reaches_[j])
            z = np.interp(X[:, c], knots, values)
            out[:, X.shape[1] + j] = z + np.log1p(above) - np.log1p(below)
            out[:, c] = np.clip(X[:, c], knots[0], knots[-1])
        return out

    def _tables(self) -> Any:
        return zip(self.columns_, self.knots_, self.scores_, strict=True)

    def slopes(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the columns and of the scores by the columns that have scores.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        of_columns : ndarray of shape (n, s)
            One within the training values, zero beyond.
        of_scores : ndarray of shape (n, s)
            z'(X); between knots that of the line.
        """
        X = self._checked(X)
        of_columns, of_scores = np.zeros((2, len(X), len(self.columns_)))
        for j, (c, knots, values) in enumerate(self._tables()):
            below, above = _beyond(X[:, c], knots, self.reaches_[j])
            within = (below == 0) & (above == 0)
            of_columns[:, j] = within
            if len(knots) > 1:
                steps = np.diff(values) / np.diff(knots)
                place = np.searchsorted(knots, X[:, c], side="right") - 1
                of_scores[:, j] = np.where(within, steps[np.clip(place, 0, len(steps) - 1)], 0.0)
            low, high = self.reaches_[j]
            of_scores[:, j] += (below > 0) / (low * (1 + below)) + (above > 0) / (high * (1 + above))
        return of_columns, of_scores

    def some(self, chosen: NDArray[np.bool_]) -> NormalScores:
        """Return the fitted map with some of the scores.

        Parameters
        ----------
        chosen : ndarray of bool of shape (s,)
            Which ones.

        Returns
        -------
        NormalScores
            A copy.
        """
        check_is_fitted(self, "columns_")
        copy = NormalScores(self.columns_[chosen].tolist(), n_knots=self.n_knots)
        copy.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            copy.feature_names_in_ = self.feature_names_in_
        copy.columns_ = self.columns_[chosen]
        copy.knots_ = [knots for knots, stays in zip(self.knots_, chosen, strict=True) if stays]
        copy.scores_ = [scores for scores, stays in zip(self.scores_, chosen, strict=True) if stays]
        copy.reaches_ = self.reaches_[chosen]
        return copy

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "columns_")
        ready = type(X) is np.ndarray and X.dtype in _FLOATS and X.ndim == 2
        if ready and X.shape[1] == self.n_features_in_ and np.isfinite(X).all():
            return X
        return validate_data(self, X, dtype=_FLOATS, reset=False)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns, and those of the scores.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; None: those seen in ``fit``, or x0, x1, ….

        Returns
        -------
        ndarray of str
            Names.
        """
        check_is_fitted(self, "columns_")
        names = column_names(self, input_features)
        return np.array([*names, *(f"score_{names[c]}" for c in self.columns_)], dtype=object)

    def _to_onnx(self, graph: Any, X: str) -> tuple[str, int]:
        """Return the map as operations, and how many columns it gives: z is a sum over pieces of its line."""
        node = graph.node
        columns = [graph.columns(X, [c]) for c in range(self.n_features_in_)]
        scores = []
        for j, (c, knots, values) in enumerate(self._tables()):
            given, (low, high) = columns[c], self.reaches_[j]
            widths = np.diff(knots) if len(knots) > 1 else np.ones(1)
            steps = np.diff(values) / widths if len(knots) > 1 else np.zeros(1)
            within = node("Sub", given, knots[: len(widths)][None, :])
            within = node("MatMul", node("Min", node("Max", within, 0.0), widths[None, :]), steps[:, None])
            above = node("Div", node("Max", node("Sub", given, knots[-1]), 0.0), high)
            below = node("Div", node("Max", node("Sub", knots[0], given), 0.0), low)
            beyond = node("Sub", *(node("Log", node("Add", far, 1.0)) for far in (above, below)))
            scores.append(node("Add", node("Add", within, float(values[0])), beyond))
            columns[c] = node("Min", node("Max", given, knots[0]), knots[-1])
        return node("Concat", *columns, *scores, axis=1), len(columns) + len(scores)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        fitted = getattr(self, "columns_", None)
        return f"NormalScores({self.columns if fitted is None else fitted.tolist()!r})"


def _scores(column: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of a column, ascending, and their normal scores."""
    values, counts = np.unique(column, return_counts=True)
    below = np.cumsum(counts) - counts / 2
    return values, ndtri(below / len(column))


def _reach(column: FloatArray) -> tuple[float, float]:
    """Return how far the smallest and the largest value are from the median, or from each other."""
    low, middle, high = column.min(), np.median(column), column.max()
    whole = high - low or 1.0
    return (middle - low or whole), (high - middle or whole)


def _beyond(column: FloatArray, knots: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far values lie below the first knot and above the last one, in units of the reach."""
    below, above = np.maximum(knots[0] - column, 0), np.maximum(column - knots[-1], 0)
    return below / reach[0], above / reach[1]


def _has_tails(column: FloatArray, table: tuple[FloatArray, FloatArray]) -> bool:
    values, scores = table
    if len(column) < _FEWEST_POINTS or len(values) < 3:
        return False  # two values are a line
    x = column / np.abs(values).max()
    z = scores[np.searchsorted(values, column)]
    x, z = x - x.mean(), z - z.mean()
    return bool(x @ z < _TAILED * np.sqrt((x @ x) * (z @ z)))


def _thinned(values: FloatArray, scores: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Return at most so many of the values, about evenly spread over their scores, the outermost included."""
    if len(values) <= most:
        return values, scores
    places = np.unique(np.searchsorted(scores, np.linspace(scores[0], scores[-1], most)))
    return values[places], scores[places]
