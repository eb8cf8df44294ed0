"""Colours that all displays share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"  # distinct to colour-blind readers too
_CLASSES = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def class_colors(n_classes: int) -> list[Any]:
    """Return a colour for each class; the first seven are distinct to colour-blind readers too."""
    if n_classes <= len(_CLASSES):
        return list(_CLASSES[:n_classes])
    from matplotlib import colormaps

    return list(colormaps["turbo"](np.linspace(0.05, 0.95, n_classes)))


def scatter_classes(ax: Any, points: FloatArray, labels: NDArray[Any] | None, **options: Any) -> None:
    """Draw points (n, 2) in the colours of their classes, or all in grey."""
    style = {"s": 14, "linewidths": 0.3, "edgecolors": "white"} | options
    if labels is None:
        ax.scatter(*points.T, color=GREY, **style)
        return
    classes = np.unique(labels)
    for name, color in zip(classes, class_colors(len(classes)), strict=True):
        ax.scatter(*points[labels == name].T, color=color, label=str(name), **style)
