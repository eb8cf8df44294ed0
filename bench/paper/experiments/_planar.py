"""Points in the plane that the thesis's figures show, and what can be said of them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

# Two classes in all the pictures: the colours of grls.plotting come in this order.


def clouds(n: int, rng: np.random.Generator, *, inner: float, outer: float, noise: float):
    """Two concentric clouds, n points in all: rings of the two radii, blurred by normal noise."""
    labels = np.arange(n) % 2
    angles = rng.uniform(0, 2 * np.pi, n)
    radii = np.where(labels == 1, inner, outer)
    points = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return points + noise * rng.normal(size=(n, 2)), labels


def winding(n: int, rng: np.random.Generator, *, turns: float, noise: float):
    """Two arms of a spiral: a boundary that is no simple geometry."""
    labels = np.arange(n) % 2
    t = np.sqrt(rng.uniform(0.04, 1, n))
    angles = 2 * np.pi * turns * t + np.pi * labels
    points = t[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return points + noise * rng.normal(size=(n, 2)), labels


def overlapping(n: int, rng: np.random.Generator, *, noise: float):
    """Two classes in the unit square that overlap along a curved border."""
    points = rng.uniform(0, 1, (n, 2))
    border = 0.5 + 0.3 * np.sin(2 * np.pi * points[:, 0])
    labels = (points[:, 1] - border + noise * rng.normal(size=n) > 0).astype(int)
    return points, labels


def separable(points: np.ndarray, labels: np.ndarray) -> bool:
    """Whether a plane separates the two classes strictly: a linear program decides it for certain."""
    signs = np.where(labels == labels[0], 1.0, -1.0)[:, None]
    scale = np.abs(points).max(axis=0)
    rows = -signs * np.column_stack([points / np.where(scale > 0, scale, 1.0), np.ones(len(points))])
    result = linprog(np.zeros(rows.shape[1]), rows, -np.ones(len(rows)), bounds=(None, None), method="highs")
    return result.status == 0
