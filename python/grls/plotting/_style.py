"""Colours and axes that all displays share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"  # told apart by colour-blind eyes
_CLASSES = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def class_colors(n_classes: int) -> list[Any]:
    """Return a colour for each class; the first ones are told apart by colour-blind eyes."""
    if n_classes <= len(_CLASSES):
        return list(_CLASSES[:n_classes])
    from matplotlib import colormaps

    return list(colormaps["turbo"](np.linspace(0.05, 0.95, n_classes)))


def make_axes(axes: Any, n_columns: int = 1) -> Any:
    """Return the axes given, or new ones."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "grls[plot]"') from error
    _, made = plt.subplots(1, n_columns, figsize=(5.5 * n_columns, 4), layout="constrained")
    return made


def scatter_classes(ax: Any, points: FloatArray, labels: NDArray[Any] | None, **options: Any) -> None:
    """Draw points (n, 2) in the colours of their classes, or all in grey."""
    style = {"s": 14, "linewidths": 0.3, "edgecolors": "white"} | options
    if labels is None:
        ax.scatter(*points.T, color=GREY, **style)
        return
    classes = np.unique(labels)
    for name, color in zip(classes, class_colors(len(classes)), strict=True):
        ax.scatter(*points[labels == name].T, color=color, label=str(name), **style)
