"""What a classifier decides where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from .._validation import FloatArray, integer
from ._display import SingleDisplay, require_fitted, sample_labels
from ._style import class_colors, scatter_classes

__all__ = ["DecisionBoundaryDisplay"]
__dir__ = __all__.copy


@dataclass
class DecisionBoundaryDisplay(SingleDisplay):
    """What a classifier of two variables decides where.

    Parameters
    ----------
    xx0, xx1 : ndarrays of shape (g, g)
        The grid.
    response : ndarray of shape (g, g) or (g, g, n_classes)
        Decision values there; for two classes one function, positive for the second.
    classes : ndarray of shape (n_classes,)
        The labels.
    points : ndarray of shape (n, 2)
        Samples.
    labels : ndarray of shape (n,) or None
        Their classes, which colour the points.
    support : ndarray of int or None
        Which samples are support vectors; they get a ring.
    """

    xx0: FloatArray
    xx1: FloatArray
    response: FloatArray
    classes: NDArray[Any]
    points: FloatArray
    labels: NDArray[Any] | None
    support: NDArray[np.intp] | None
    regions_: Any = field(init=False, default=None)
    levels_: Any = field(init=False, default=None)
    support_marks_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        grid_resolution: int = 200,
        margin: float = 0.08,
        ax: Any = None,
    ) -> DecisionBoundaryDisplay:
        """Evaluate a classifier of two variables on a grid and draw its regions.

        Parameters
        ----------
        model : classifier
            Fitted on two columns, with ``decision_function``; rings mark the rows ``support_`` names, so X
            must then be the training points.
        X : array-like of shape (n, 2)
            Samples to show; the picture reaches a little beyond them.
        y : array-like of shape (n,), default=None
            Their classes.
        grid_resolution : int, default=200
            Points of the grid along each axis.
        margin : float, default=0.08
            How far beyond the samples, as a share of their spread.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        DecisionBoundaryDisplay
            The display.
        """
        no_values = f"{type(model).__name__} has no decision_function to draw"
        require_fitted(model, "decision_function", no_values)
        names = getattr(X, "columns", None)
        points = check_array(X, dtype=np.float64)
        if points.shape[1] != 2:
            raise ValueError(f"this display shows two variables, X has shape {points.shape}")
        labels = sample_labels(y, points)
        steps = integer(grid_resolution, "grid_resolution", minimum=2)
        low, high = points.min(axis=0), points.max(axis=0)
        spread = np.where(high > low, high - low, 1.0)
        ticks = np.linspace(low - margin * spread, high + margin * spread, steps)
        xx0, xx1 = np.meshgrid(ticks[:, 0], ticks[:, 1])
        grid: Any = np.column_stack([xx0.ravel(), xx1.ravel()])
        if names is not None:
            grid = type(X)(grid, columns=names)
        values = np.asarray(model.decision_function(grid), dtype=np.float64)
        support = getattr(model, "support_", None)
        if support is not None and len(support) and np.max(support) >= len(points):
            raise ValueError(
                "the model's support vectors are not among the samples: show the training points"
            )
        display = cls(
            xx0,
            xx1,
            values.reshape(steps, steps, *values.shape[1:]),
            np.asarray(model.classes_),
            points,
            labels,
            None if support is None else np.asarray(support),
        )
        return display.plot(ax=ax)

    def plot(
        self, *, ax: Any = None, levels: tuple[float, ...] = (-1.0, 0.0, 1.0)
    ) -> DecisionBoundaryDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        levels : tuple of float, default=(-1, 0, 1)
            Lines of the decision function of two classes: solid at 0, dashed elsewhere. Of several classes
            the borders are drawn.

        Returns
        -------
        DecisionBoundaryDisplay
            The display.
        """
        return self._plot(ax, levels=levels)

    def _draw(self, axes: Any, **options: Any) -> None:
        binary = self.response.ndim == 2
        n_classes = len(self.classes)
        borders = np.arange(n_classes + 1) - 0.5
        colors = class_colors(n_classes)
        # Two classes: the zero of the function itself, which is smoother than the steps of its sign.
        shown = self.response if binary else self.response.argmax(axis=2)
        largest = float(np.abs(self.response).max()) + 1.0
        edges = np.array([-largest, 0.0, largest]) if binary else borders
        self.regions_ = axes.contourf(self.xx0, self.xx1, shown, levels=edges, colors=colors, alpha=0.22)
        line_levels = sorted(options["levels"]) if binary else list(borders[1:-1])
        self.levels_ = axes.contour(
            self.xx0,
            self.xx1,
            shown,
            levels=line_levels,
            colors="#333333",
            linestyles=["solid" if not binary or level == 0 else "dashed" for level in line_levels],
            linewidths=[1.4 if not binary or level == 0 else 0.9 for level in line_levels],
        )
        if self.support is not None:
            self.support_marks_ = axes.scatter(
                *self.points[self.support].T, s=52, facecolors="none", edgecolors="#333333", linewidths=0.8
            )
        scatter_classes(axes, self.points, self.labels)
        axes.set_xlim(self.xx0.min(), self.xx0.max())
        axes.set_ylim(self.xx1.min(), self.xx1.max())
