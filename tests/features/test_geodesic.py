"""Neighbours along the manifold: distances, pieces, copies, and labels that stay where they belong."""

import pickle

import numpy as np
import pytest
import reference
from grls import GRLSClassifier
from grls.features import GeodesicKNN
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier


def problem(seed, n=14, more=12, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 3, size=n), rng.normal(size=(more, d)), rng


@given(seed=st.integers(0, 10_000), k=st.integers(1, 4), graph_k=st.integers(1, 5))
def test_features_come_from_the_shortest_paths(seed, k, graph_k):
    X, y, more, rng = problem(seed)
    knn = GeodesicKNN(k, graph_neighbors=graph_k, unlabelled=more)
    T = knn.fit_transform(X, y)
    graph = np.full(knn.graph_.shape, np.inf)
    edges = knn.graph_.tocoo()
    graph[edges.row, edges.col] = edges.data
    assert_array_equal(graph, graph.T)
    D = reference.shortest_paths(graph)[:, : len(y)]
    expected = [reference.class_shares(D[i], y, knn.classes_, k, leave_out=i) for i in range(len(y))]
    assert_allclose(T, expected)
    assert_allclose(
        knn.transform(more), [reference.class_shares(row, y, knn.classes_, k) for row in D[len(y) :]]
    )
    # A new row is joined to its nearest points.
    new = rng.normal(size=(6, 2))
    points = np.vstack([X, more])
    to_points = np.sqrt(reference.squared_distances(new, points))
    for row, got in zip(to_points, knn.transform(new), strict=True):
        near = np.argsort(row)[:graph_k]
        distances = (row[near, None] + D[near]).min(axis=0)
        assert_allclose(got, reference.class_shares(distances, y, knn.classes_, k))


@given(seed=st.integers(0, 10_000), graph_k=st.integers(1, 5))
def test_the_graph_is_that_of_the_nearest_neighbours(seed, graph_k):
    X, y, more, _ = problem(seed)
    knn = GeodesicKNN(1, graph_neighbors=graph_k, unlabelled=more).fit(X, y)
    expected = reference.neighbour_graph(np.vstack([X, more]), graph_k)
    edges = knn.graph_.tocoo()
    got = np.full(expected.shape, np.inf)
    got[edges.row, edges.col] = edges.data
    there = np.isfinite(expected)
    assert_allclose(got[there], expected[there])
    extra = np.isfinite(got) & ~there  # joins between pieces, and nothing else
    _, piece = connected_components(np.where(there, expected, 0))
    rows, columns = np.nonzero(extra)
    assert np.all(piece[rows] != piece[columns])


@given(seed=st.integers(0, 10_000), k=st.integers(1, 4))
def test_without_further_points_the_neighbours_are_the_plain_ones(seed, k):
    X, y, new, _ = problem(seed)
    knn = GeodesicKNN(k, graph_neighbors=4).fit(X, y)
    assert_allclose(knn.transform(new), KNeighborsClassifier(k).fit(X, y).predict_proba(new))


def moons(n=100):
    """Two interleaved arcs, far nearer to themselves than to each other; a label at one end of each."""
    t = np.linspace(0, np.pi, n)
    arcs = np.vstack(
        [np.column_stack([np.cos(t), np.sin(t)]), np.column_stack([1 - np.cos(t), 0.5 - np.sin(t)])]
    )
    return arcs, np.repeat(["top", "bottom"], n), np.array([0, 1, 2, n, n + 1, n + 2])


def test_unlabelled_points_carry_labels_along_the_manifold():
    arcs, truth, known = moons()
    knn = GeodesicKNN(2, graph_neighbors=3, unlabelled=arcs).fit(arcs[known], truth[known])
    guess = knn.classes_[knn.transform(arcs).argmax(axis=1)]
    assert_array_equal(guess, truth)
    plain = KNeighborsClassifier(2).fit(arcs[known], truth[known])
    assert plain.score(arcs, truth) < 0.9
    nearby = arcs + np.random.default_rng(0).normal(scale=0.01, size=arcs.shape)
    guess = knn.classes_[knn.transform(nearby).argmax(axis=1)]
    assert_array_equal(guess, truth)


def test_pieces_without_labels_are_joined_and_others_stay_apart():
    rng = np.random.default_rng(0)
    left, right, middle = (rng.normal((x, 0), 0.1, size=(10, 2)) for x in (0, 10, 4))
    X, y = np.vstack([left, right]), np.repeat([0, 1], 10)
    knn = GeodesicKNN(3, graph_neighbors=3, unlabelled=middle).fit(X, y)
    assert_array_equal(knn.transform(middle), np.tile([1.0, 0.0], (10, 1)))  # the left is nearer
    assert connected_components(knn.graph_)[0] == 2
    assert_array_equal(knn.fit_transform(X, y), np.eye(2)[y])
    # One labelled row in a piece: its neighbours must come from elsewhere.
    alone = GeodesicKNN(3, graph_neighbors=3).fit_transform(np.vstack([left, middle[:1]]), [0] * 10 + [1])
    assert_array_equal(alone[-1], [1.0, 0.0])


def test_copies_of_a_row_count_as_rows_but_not_for_themselves():
    X, y, new, _ = problem(1)
    once = GeodesicKNN(2).fit(X, y)
    twice = GeodesicKNN(4).fit(np.vstack([X, X]), np.tile(y, 2))
    assert_allclose(twice.transform(new), once.transform(new))
    assert_allclose(twice.transform(X), once.fit_transform(X, y))
    assert twice.points_.shape == once.points_.shape
    # Three rows at one place, two classes: asked for two of them, they answer in proportion.
    shared = GeodesicKNN(2, graph_neighbors=1).fit([[0.0], [0.0], [-0.0], [9.0]], [0, 0, 1, 1])
    assert_allclose(shared.transform([[1.0]]), [[2 / 3, 1 / 3]])
    assert_allclose(shared.transform([[0.0]]), [[0.0, 1.0]])  # nothing of its own place
    everything_the_same = GeodesicKNN(1).fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert_array_equal(everything_the_same.transform(np.ones((1, 2))), [[0.0, 0.0]])


def test_unlabelled_copies_of_training_rows_do_no_harm():
    X, y, more, _ = problem(2)
    expected = GeodesicKNN(unlabelled=more).fit_transform(X, y)
    assert_array_equal(GeodesicKNN(unlabelled=np.vstack([X, more, more])).fit_transform(X, y), expected)


def test_indicators_are_those_of_the_paper():
    X, y, new, _ = problem(3)
    fractions = GeodesicKNN(3).fit(X, y).transform(new)
    indicators = GeodesicKNN(3, output="indicator").fit(X, y).transform(new)
    assert_array_equal(indicators, fractions > 0)


def test_sparse_rows_give_the_same():
    X, y, more, _ = problem(4, d=5)
    X[X < 0] = 0
    expected = GeodesicKNN(unlabelled=more).fit(X, y)
    got = GeodesicKNN(unlabelled=sparse.csr_array(more)).fit(sparse.csr_array(X), y)
    assert_allclose(got.transform(sparse.csr_array(X)), expected.transform(X))
    mixed = GeodesicKNN(unlabelled=more).fit(sparse.csr_array(X), y)
    assert_allclose(mixed.transform(more), expected.transform(more))


def test_other_metrics_serve():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(size=(10, 4)), 2, axis=0) * rng.uniform(1, 9, size=(20, 1))
    y = np.repeat(np.arange(10) % 2, 2)  # each direction twice, with lengths of its own
    T = GeodesicKNN(1, graph_neighbors=2, metric="cosine").fit_transform(X, y)
    assert_array_equal(T.argmax(axis=1), y)


# Labels.


def test_the_label_of_a_row_does_not_reach_its_own_features():
    X, y, more, _ = problem(5)
    knn = GeodesicKNN(3, unlabelled=more)
    before = knn.fit_transform(X, y)
    for i in range(len(y)):
        changed = y.copy()
        changed[i] = (y[i] + 1) % 3
        assert_array_equal(knn.fit_transform(X, changed)[i], before[i])


def test_without_exclusion_it_does():
    X, y, _, _ = problem(5)
    assert_array_equal(GeodesicKNN(1, exclude_self=False).fit_transform(X, y), np.eye(3)[y])


@pytest.mark.slow
def test_labels_without_meaning_are_not_learnt():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, size=400)
    model = GRLSClassifier("gaussian", features=GeodesicKNN(3)).fit(X[:200], y[:200])
    assert 0.4 < model.score(X[200:], y[200:]) < 0.6
    assert model.loo_score_ < 0.62
    out_of_fold = cross_val_predict(GRLSClassifier(features=GeodesicKNN(3)), X, y, cv=4)
    assert 0.4 < np.mean(out_of_fold == y) < 0.6


@pytest.mark.slow
def test_geodesic_features_help_a_classifier_and_go_into_a_grid():
    arcs, truth, known = moons()
    knn = GeodesicKNN(2, graph_neighbors=3, unlabelled=arcs)
    with_features = GRLSClassifier(features=knn, regularization=1.0).fit(arcs[known], truth[known])
    assert with_features.score(arcs, truth) == 1.0
    search = GridSearchCV(
        GRLSClassifier(features=GeodesicKNN(2), regularization=1.0),
        {"features__graph_neighbors": [2, 4]},
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(arcs, truth)
    assert search.best_score_ == 1.0


# Errors.


def test_bad_input_is_refused_and_changes_nothing():
    X, y, more, _ = problem(6)
    knn = GeodesicKNN().fit(X, y)
    state = pickle.dumps(knn)
    for points, labels, message in [
        (X, y + 0.5, "continuous"),
        (X, None, "requires y"),
        (X[:1], y[:1], "minimum of 2"),
        (X * np.nan, y, "NaN"),
        (X, y[:-1], "inconsistent"),
    ]:
        with pytest.raises(ValueError, match=message):
            knn.fit(points, labels)
    assert pickle.dumps(knn) == state
    for parameters, message in [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"graph_neighbors": 0}, "graph_neighbors"),
        ({"output": "count"}, "output"),
        ({"unlabelled": more[:, :1]}, "unlabelled has 1 columns"),
        ({"unlabelled": np.full_like(more, np.inf)}, "unlabelled"),
        ({"metric": "crow"}, "metric"),
    ]:
        with pytest.raises(ValueError, match=message):
            GeodesicKNN(**parameters).fit(X, y)
    with pytest.raises(TypeError, match="n_neighbors"):
        GeodesicKNN(n_neighbors=1.5).fit(X, y)


def test_fewer_rows_than_neighbours_are_all_asked():
    T = GeodesicKNN(10).fit_transform([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert_allclose(T, [[0, 1], [0.5, 0.5], [0.5, 0.5]])


def test_sparse_points_that_were_tampered_with_are_an_error():
    X, y, more, _ = problem(0)
    knn = GeodesicKNN().fit(sparse.csr_matrix(X), y)
    knn.points_.indptr[2] = 1_000_000_000
    with pytest.raises(ValueError, match="ind"):
        knn.transform(sparse.csr_matrix(more))
