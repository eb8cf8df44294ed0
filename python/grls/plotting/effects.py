"""What a model says along one column, and over two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray, integer
from ._display import SeveralDisplay
from ._inputs import (
    Predicted,
    as_table,
    column_names,
    column_of,
    is_numeric,
    number_of_column,
    predicted,
    shown_as,
    target_name,
    usual_rows,
    varying_columns,
    with_column,
)
from ._style import BLUE, GREY

__all__ = ["MapDisplay", "PartialEffectsDisplay"]
__dir__ = __all__.copy

_MOST_COLUMNS = 6  # that are drawn where none are named


@dataclass
class Effect:
    """The prediction along one column."""

    name: str
    line: FloatArray  # (n,)
    mean: FloatArray  # (n,), or (n, k) of k levels
    std: FloatArray | None  # (n,)
    ends: FloatArray | None  # (n, 2): of the band
    seen: FloatArray  # values of the column in the rows
    label: str  # what is predicted


@dataclass
class PartialEffectsDisplay(SeveralDisplay):
    """Predictions with their bands along one column after the other, the other columns held at usual values.

    Parameters
    ----------
    effects : list of Effect
        What is drawn, one for each pair of axes.
    """

    effects: list[Effect]

    @property
    def n_axes(self) -> int:
        """How many pairs of axes it takes."""
        return len(self.effects)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        columns: Sequence[Any] | None = None,
        *,
        with_noise: bool = False,
        n_points: int = 100,
        target: str | None = None,
        axes: Any = None,
    ) -> PartialEffectsDisplay:
        """Draw predictions along columns, with bands of 95 %.

        Parameters
        ----------
        model : estimator or Pipeline
            Fitted, with one output or two classes; a pipeline must end in one. Where the model has no errors
            of its predictions there are lines alone: one for each level, or for the probability of the
            second class.
        X : {array-like, DataFrame} of shape (n, d), default=None
            Rows: a column runs from its smallest to its largest value there, the others stay at their median
            (numbers) or at what comes most often. None: the training rows that the model keeps.
        columns : sequence of int or str, default=None
            Which columns; None: the first six that hold numbers and vary.
        with_noise : bool, default=False
            Whether the bands are those of new observations rather than of the function.
        n_points : int, default=100
            Points of a line.
        target : str, default=None
            Name of the target.
        axes : matplotlib axes, default=None
            Where to draw, one pair for each column; None makes a new figure.

        Returns
        -------
        PartialEffectsDisplay
            The display.
        """
        table, n_points = as_table(X, model), integer(n_points, "n_points", minimum=2)
        numbers = varying_columns(table)[:_MOST_COLUMNS]
        if columns is not None:
            numbers = [number_of_column(table, column) for column in columns]
        if not numbers:
            raise ValueError("there is no column of numbers that vary to draw an effect of")
        names, usual, effects = column_names(table), usual_rows(table, n_points), []
        for j in numbers:
            seen = column_of(table, j)
            if not is_numeric(seen):
                raise ValueError(f"the column {names[j]!r} holds no numbers: effects are drawn along numbers")
            seen = seen[np.isfinite(seen)].astype(np.float64)
            line = np.linspace(seen.min(), seen.max(), n_points)
            rows = with_column(usual, j, line)
            found = predicted(model, rows, with_noise)
            label = shown_as(found, target_name(target))
            effects.append(Effect(names[j], line, found.mean, found.std, found.ends, seen, label))
        return cls(effects).plot(axes=axes)

    def _draw(self, axes: Any, **options: Any) -> None:
        for effect, ax in zip(self.effects, axes, strict=True):
            ends = effect.ends
            if ends is not None:
                ax.fill_between(effect.line, ends[:, 0], ends[:, 1], color=BLUE, alpha=0.2, linewidth=0)
            ax.plot(effect.line, effect.mean, color=BLUE)
            at_bottom = ax.get_xaxis_transform()
            some = effect.seen
            if len(some) > 500:
                some = np.quantile(some, np.linspace(0, 1, 500))
            ax.plot(some, np.full(len(some), 0.015), "|", color=GREY, markersize=6, transform=at_bottom)
            ax.set_xlabel(effect.name)
            ax.set_ylabel(effect.label)
            ax.set_title(f"along {effect.name}{', with 95 % band' if ends is not None else ''}")


@dataclass
class MapDisplay(SeveralDisplay):
    """Predictions and how sure they are over two columns, the others held at usual values.

    Parameters
    ----------
    x, y : ndarrays of shape (g,)
        Values of the two columns.
    mean : ndarray of shape (g, g)
        Prediction there, rows along the second column; of several quantiles or expectiles the middle one.
    std : ndarray of shape (g, g) or None
        Standard deviation there, or the distance between the lowest and the highest level; None: of a model
        that has neither the prediction is drawn alone.
    points : ndarray of shape (n, 2)
        The rows.
    names : tuple of two str
        Names of the columns.
    target : str
        Name of the target.
    levels : tuple of two floats, default=None
        The lowest and the highest level, where `std` is the distance between them.
    """

    x: FloatArray
    y: FloatArray
    mean: FloatArray
    std: FloatArray | None
    points: FloatArray
    names: tuple[str, str]
    target: str
    levels: tuple[float, float] | None = None

    @property
    def n_axes(self) -> int:
        """How many pairs of axes it takes."""
        return 1 if self.std is None else 2

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        columns: tuple[Any, Any] = (0, 1),
        *,
        with_noise: bool = False,
        grid_resolution: int = 60,
        target: str | None = None,
        axes: Any = None,
    ) -> MapDisplay:
        """Draw maps of the prediction and of its standard deviation.

        Parameters
        ----------
        model : estimator or Pipeline
            Fitted, with one output or two classes; a pipeline must end in one. With several levels the second
            map is the distance between the lowest and the highest; a model without errors of its predictions
            has one map alone.
        X : {array-like, DataFrame} of shape (n, d), default=None
            Rows: the two columns run from their smallest to their largest values there, the others stay at
            their median (numbers) or at what comes most often. None: the training rows that the model keeps.
        columns : pair of int or str, default=(0, 1)
            Which columns go to the right and up.
        with_noise : bool, default=False
            Whether standard deviations are those of new observations rather than of the function.
        grid_resolution : int, default=60
            Points along each column.
        target : str, default=None
            Name of the target.
        axes : one or two matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        MapDisplay
            The display.
        """
        table, g = as_table(X, model), integer(grid_resolution, "grid_resolution", minimum=2)
        if len(columns) != 2:
            raise ValueError(f"a map has two columns, got {len(columns)}")
        first, second = (number_of_column(table, column) for column in columns)
        names = column_names(table)
        points = [column_of(table, j) for j in (first, second)]
        for j, values in zip((first, second), points, strict=True):
            if not is_numeric(values):
                raise ValueError(f"the column {names[j]!r} holds no numbers: maps are drawn over numbers")
        x, y = (np.linspace(np.nanmin(values), np.nanmax(values), g) for values in points)
        across, up = np.meshgrid(x, y)
        rows = with_column(usual_rows(table, g * g), first, across.ravel())
        rows = with_column(rows, second, up.ravel())
        found = predicted(model, rows, with_noise)
        mean, std, levels = _middle(found)
        where = np.column_stack(points).astype(np.float64)
        return cls(
            x,
            y,
            np.reshape(mean, (g, g)),
            None if std is None else np.reshape(std, (g, g)),
            where,
            (names[first], names[second]),
            shown_as(found, target_name(target)),
            levels,
        ).plot(axes=axes)

    def _draw(self, axes: Any, **options: Any) -> None:
        maps = [(axes[0], self.mean, self.target, "viridis")]
        if self.std is not None:
            spread = f"standard deviation of {self.target}"
            if self.levels is not None:
                spread = f"{self.target}, level {self.levels[1]:g} less level {self.levels[0]:g}"
            maps.append((axes[1], self.std, spread, "magma"))
        for ax, values, label, colours in maps:
            image = ax.pcolormesh(self.x, self.y, values, cmap=colours, shading="gouraud", rasterized=True)
            edge = {"markeredgecolor": "black", "markeredgewidth": 0.4}
            ax.plot(*self.points.T, "o", color="white", markersize=3, **edge)
            ax.set_xlabel(self.names[0])
            ax.set_ylabel(self.names[1])
            ax.figure.colorbar(image, ax=ax, label=label)
        axes[0].set_title("prediction")
        if self.std is not None:
            axes[1].set_title("how sure it is" if self.levels is None else "how wide the levels are")


def _middle(found: Predicted) -> tuple[FloatArray, FloatArray | None, tuple[float, float] | None]:
    """Return the prediction or the middle level, what tells how sure it is, and the levels of that."""
    if found.levels is None:
        return found.mean, found.std, None
    order = np.argsort(found.levels)
    lowest, middle, highest = order[0], order[len(order) // 2], order[-1]
    if lowest == highest:
        return found.mean[:, 0], None, None
    ends = float(found.levels[lowest]), float(found.levels[highest])
    return found.mean[:, middle], found.mean[:, highest] - found.mean[:, lowest], ends
