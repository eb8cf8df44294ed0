"""Neighbours along a manifold."""

import numpy as np

from .kernels import squared_distances


def neighbour_graph(points, k):
    """Edges to the k nearest others, in both directions; infinite where there is none."""
    distances = np.sqrt(squared_distances(points, points))
    graph = np.full_like(distances, np.inf)
    for i, row in enumerate(distances):
        for j in [j for j in np.argsort(row, kind="stable") if j != i][:k]:
            graph[i, j] = graph[j, i] = row[j]
    return graph


def shortest_paths(graph):
    """Floyd and Warshall."""
    distances = graph.copy()
    np.fill_diagonal(distances, 0)
    for via in range(len(distances)):
        distances = np.minimum(distances, distances[:, via, None] + distances[None, via, :])
    return distances


def class_shares(distances, labels, classes, k, *, leave_out=None):
    """The shares of the classes among the k labelled rows nearest to a point; one may be left out."""
    order = [i for i in np.argsort(distances, kind="stable") if i != leave_out][:k]
    order = [i for i in order if np.isfinite(distances[i])]
    return np.array([np.mean(labels[order] == c) for c in classes])
