"""The classes of the nearest labelled points, distances measured along the data."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._solvers.arrays import require_well_formed
from .._solvers.memory import require_room_for_columns
from .._validation import FloatArray, all_or_nothing, choice, integer, with_unlabelled
from .._versions import Versioned
from ._names import column_names

IndexArray = NDArray[np.intp]


def _searched(points: Any, metric: str) -> Any:
    """Return what finds the nearest of these points."""
    from sklearn.neighbors import NearestNeighbors  # only where it is used: it is not light

    return NearestNeighbors(metric=metric).fit(points)


class GeodesicKNN(TransformerMixin, Versioned, BaseEstimator):
    """Which classes the nearest labelled points belong to, nearest along the manifold of the data.

    Points are joined to their nearest neighbours, and the distance between two points is the length of the
    shortest path in that graph (as in Isomap). The features of x are the shares of the classes among the
    `n_neighbors` labelled points nearest to it in that distance; an estimator with these features has a
    nearest-neighbour classifier as its unpenalised part.

    A path is never shorter than the straight line, so *without further points geodesic neighbours are plain
    nearest neighbours* (as long as `n_neighbors` does not exceed `graph_neighbors`). It is points without
    labels in between that show the manifold: give them as `unlabelled`, the points to be predicted among them
    if they are known. That is what the experiment of the SVM-GB paper does.

    Parameters
    ----------
    n_neighbors : int, default=3
        How many labelled points count.
    graph_neighbors : int, default=5
        With how many nearest points each point is joined in the graph (in both directions). The choice
        matters: too many join what is near in space but not along the manifold, too few leave long ways
        round. A piece of the graph without enough labelled points of its own is joined to the others where
        it is closest to them.
    unlabelled : {array-like, sparse matrix} of shape (p, d) or None, default=None
        Points without labels that belong to the graph. Rows that are training points too do no harm.
    output : {"fraction", "indicator"}, default="fraction"
        The share of each class among the neighbours (they sum to one, so the constant is in their span), or,
        as in the paper, 1 for every class that occurs among them, else 0.
    exclude_self : bool, default=True
        Whether labels at the very point x are left out. The features of a training row then say nothing of
        its own label, nor of its copies', just as those of a new row do: without that, the features of the
        training rows would be their labels, and an estimator would learn to trust them blindly.
    metric : str or callable, default="euclidean"
        Distance of neighbours in the graph, as in `sklearn.neighbors.NearestNeighbors`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the features.
    points_ : {ndarray, CSR matrix} of shape (n_points, d)
        The points of the graph, without repetitions: the training points, then the others.
    graph_ : CSR matrix of shape (n_points, n_points)
        Lengths of the edges, symmetric.
    class_counts_ : ndarray of shape (n_points, n_classes)
        How many training rows of each class are at each point.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    sklearn.manifold.Isomap : Coordinates along the manifold from the same distances.
    EstimatorFeatures : Any other classifier as features, nearest neighbours among them.

    Notes
    -----
    A new row is joined to its `graph_neighbors` nearest points of the graph, but not to other new rows: its
    features do not depend on what else is transformed. Of rows at the same point, or when fewer than
    `n_neighbors` labelled ones are left, all count in proportion; ties go to the earlier training row.
    Finding the neighbours of n points takes O(n²d) in many dimensions, the shortest paths O(kn log n) only,
    for each point keeps no more than the labelled points nearest to it.

    Examples
    --------
    Two parallel lines, labelled at opposite ends. At the other end of a line the label of the other one is
    nearer in space, and out of reach along the line:

    >>> import numpy as np
    >>> from grls.features import GeodesicKNN
    >>> t = np.linspace(0, 1, 50)
    >>> lines = np.vstack([np.column_stack([t, 0 * t]), np.column_stack([t, 0 * t + 0.2])])
    >>> knn = GeodesicKNN(1, graph_neighbors=2, unlabelled=lines)
    >>> knn = knn.fit(lines[[0, 1, 98, 99]], ["low", "low", "high", "high"])
    >>> list(knn.get_feature_names_out())
    ['geodesic_high', 'geodesic_low']
    >>> knn.transform(lines[[45, 54]])
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        graph_neighbors: int = 5,
        unlabelled: Any = None,
        output: str = "fraction",
        exclude_self: bool = True,
        metric: Any = "euclidean",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.graph_neighbors = graph_neighbors
        self.unlabelled = unlabelled
        self.output = output
        self.exclude_self = exclude_self
        self.metric = metric

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> GeodesicKNN:
        """Build the graph.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Training points.
        y : array-like of shape (n,)
            Their labels, of any type.

        Returns
        -------
        GeodesicKNN
            The fitted transformer.
        """
        with all_or_nothing(self):
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        n_neighbors = integer(self.n_neighbors, "GeodesicKNN.n_neighbors", minimum=1)
        graph_neighbors = integer(self.graph_neighbors, "GeodesicKNN.graph_neighbors", minimum=1)
        choice(self.output, "GeodesicKNN.output", ("fraction", "indicator"))
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        if sparse.issparse(X):
            require_room_for_columns(X.shape[1])  # of rows that the search transposes
        check_classification_targets(y)
        rows = with_unlabelled(X, self.unlabelled, "GeodesicKNN.unlabelled")
        first, place = _distinct(rows)
        self.points_ = rows[first]
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.class_counts_ = np.zeros((len(first), len(self.classes_)))
        np.add.at(self.class_counts_, (place[: len(labels)], labels), 1.0)
        self._tree = _searched(self.points_, self.metric)
        labelled = self.class_counts_.sum(axis=1)
        self.graph_ = _joined(self._edges(graph_neighbors), self.points_, labelled, n_neighbors, self.metric)
        self._sources, self._distances = _nearest_sources(self.graph_, labelled, n_neighbors)

    def __getstate__(self) -> dict[str, Any]:
        # The tree comes again from its points: its bare indices are nothing to read from a file.
        return {name: value for name, value in super().__getstate__().items() if name != "_tree"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "points_" in state:
            require_well_formed(self.points_)
            self._tree = _searched(self.points_, self.metric)

    def _edges(self, graph_neighbors: int) -> sparse.csr_array:
        """Return the lengths from each point of the graph to its nearest others."""
        n_points = self.points_.shape[0]
        k = min(graph_neighbors, n_points - 1)
        if k == 0:
            return sparse.csr_array((n_points, n_points))
        lengths, ends = _neighbours_of_points(self._tree, self.points_, k)
        starts = np.repeat(np.arange(n_points), k)
        return sparse.csr_array((lengths.ravel(), (starts, ends.ravel())), shape=(n_points, n_points))

    def transform(self, X: Any) -> FloatArray:
        """Return the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes)
            One column per class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        require_well_formed(self.points_)
        k = min(self.graph_neighbors, self.points_.shape[0])
        found = [self._tree.kneighbors(X[part], n_neighbors=k) for part in _parts(X, self.points_)]
        lengths, neighbours = (np.concatenate(parts) for parts in zip(*found, strict=True))
        own_point = np.full(X.shape[0], -1, dtype=np.intp)  # where a row is a point of the graph
        for column in neighbours.T:
            same = _equal_rows(X, self.points_[column])
            own_point[same] = column[same]

        out = np.zeros((X.shape[0], len(self.classes_)))
        for i, (point, ends, edges) in enumerate(zip(own_point, neighbours, lengths, strict=True)):
            if point >= 0:
                sources, distances = self._sources[point], self._distances[point]
            else:  # every path goes through one of the row's neighbours, and on to what is nearest to that
                sources = np.concatenate([self._sources[v] for v in ends])
                distances = np.concatenate(
                    [self._distances[v] + edge for v, edge in zip(ends, edges, strict=True)]
                )
                nearest_first = np.lexsort((sources, distances))
                sources = sources[nearest_first]
                sources = sources[np.sort(np.unique(sources, return_index=True)[1])]
            if self.exclude_self:
                sources = sources[sources != point]
            out[i] = self._shares(sources)
        return out

    def _shares(self, sources: IndexArray) -> FloatArray:
        """Return the features from labelled points, the nearest first."""
        counts = self.class_counts_[sources]
        rows = counts.sum(axis=1)
        counted = np.clip(self.n_neighbors - (np.cumsum(rows) - rows), 0, rows)
        shares = (counted / rows) @ counts
        if self.output == "indicator":
            return np.asarray(shares > 0, dtype=np.float64)
        return np.asarray(shares / max(shares.sum(), 1.0))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``geodesic_`` and the class."""
        check_is_fitted(self)
        column_names(self, input_features)
        return np.array([f"geodesic_{label}" for label in self.classes_], dtype=object)


_PRODUCTS = 2**27  # of numbers that a search takes at a time, well within a second: Ctrl-C is heard between


def _parts(X: Any, points: Any) -> Iterator[slice]:
    """Return parts of the rows of X, so few at a time that a search among the points is soon done."""
    step = max(1, _PRODUCTS // max(1, points.shape[0] * points.shape[1]))
    return (slice(start, start + step) for start in range(0, X.shape[0], step))


def _neighbours_of_points(tree: Any, points: Any, k: int) -> tuple[FloatArray, IndexArray]:
    """Return the distances to the k nearest other points of each point, and which these are, (n, k)."""
    lengths, ends = [], []
    for part in _parts(points, points):
        distances, found = tree.kneighbors(points[part], n_neighbors=k + 1)
        own = found == np.arange(part.start, part.start + len(found))[:, None]
        own[~own.any(axis=1), -1] = True  # others are at distance zero too: the farthest is one too many
        lengths.append(distances[~own].reshape(-1, k))
        ends.append(found[~own].reshape(-1, k))
    return np.concatenate(lengths), np.concatenate(ends)


def _closest(points: Any, members: IndexArray, others: IndexArray, metric: Any) -> tuple[int, int, float]:
    """Return which two points of two sets are closest, and how close."""
    best = (-1, -1, np.inf)
    there = points[others]
    for part in _parts(members, there):
        here = members[part]
        nearest, distance = pairwise_distances_argmin_min(points[here], there, metric=metric)
        at = distance.argmin()
        if distance[at] < best[2]:
            best = (int(here[at]), int(others[nearest[at]]), float(distance[at]))
    return best


def _distinct(X: Any) -> tuple[IndexArray, IndexArray]:
    """Return the first row of each distinct point, and for every row the place of its point among them."""
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]
    else:
        keys = [row.tobytes() for row in X + 0.0]  # -0.0 becomes 0.0
    places: dict[bytes, int] = {}
    place = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.intp)
    return np.unique(place, return_index=True)[1], place


def _equal_rows(X: Any, Z: Any) -> NDArray[np.bool_]:
    """Whether row i of X is row i of Z."""
    different = (X != Z).sum(axis=1)
    return np.asarray(np.asarray(different).ravel() == 0)


def _joined(edges: Any, points: Any, rows: FloatArray, n_neighbors: int, metric: Any) -> sparse.csr_array:
    """Return the symmetric graph; pieces with too few labelled rows are joined where they are closest."""
    forward = edges.tocoo()
    lengths = {
        (min(i, j), max(i, j)): w for i, j, w in zip(forward.row, forward.col, forward.data, strict=True)
    }
    n_points = points.shape[0]
    while True:
        ends = np.array(list(lengths), dtype=np.intp).reshape(-1, 2)
        weights = np.array(list(lengths.values()))
        graph = sparse.coo_array(
            (np.tile(weights, 2), (np.r_[ends[:, 0], ends[:, 1]], np.r_[ends[:, 1], ends[:, 0]])),
            shape=(n_points, n_points),
        ).tocsr()
        n_pieces, piece = sparse.csgraph.connected_components(graph, directed=False)
        total, largest = np.zeros(n_pieces), np.zeros(n_pieces)
        np.add.at(total, piece, rows)
        np.maximum.at(largest, piece, rows)
        poor_pieces = np.flatnonzero(total - largest < n_neighbors)
        if len(poor_pieces) == 0 or n_pieces == 1:
            return graph
        for number in poor_pieces:
            members, others = np.flatnonzero(piece == number), np.flatnonzero(piece != number)
            i, j, length = _closest(points, members, others, metric)
            lengths[min(i, j), max(i, j)] = length


def _nearest_sources(
    graph: sparse.csr_array, rows: FloatArray, n_neighbors: int
) -> tuple[list[IndexArray], list[FloatArray]]:
    """Return for each point the labelled points nearest to it, and their distances.

    rows: how many labelled rows are at each point. Enough points are kept that `n_neighbors` rows are left
    when any one of them is not counted. With that rule, what is among the nearest of a point is among the
    nearest of every point on the way to it, and one run of Dijkstra's algorithm from all labelled points at
    once finds them: a point that has enough of them passes nothing on.
    """
    n_points = graph.shape[0]
    nearest: list[dict[int, float]] = [{} for _ in range(n_points)]
    total, largest = np.zeros(n_points), np.zeros(n_points)
    heap = [(0.0, int(s), int(s)) for s in np.flatnonzero(rows)]
    starts, others, lengths = graph.indptr.tolist(), graph.indices.tolist(), graph.data.tolist()
    while heap:
        distance, source, point = heapq.heappop(heap)
        if source in nearest[point] or total[point] - largest[point] >= n_neighbors:
            continue
        nearest[point][source] = distance
        total[point] += rows[source]
        largest[point] = max(largest[point], rows[source])
        for e in range(starts[point], starts[point + 1]):
            heapq.heappush(heap, (distance + lengths[e], source, others[e]))
    sources = [np.fromiter(near, dtype=np.intp, count=len(near)) for near in nearest]
    distances = [np.fromiter(near.values(), dtype=np.float64, count=len(near)) for near in nearest]
    return sources, distances
