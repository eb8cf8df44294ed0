"""What all displays share: axes, made where none are given, and the checks of models and labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

_INCHES = 0.09  # of a character
_LONG = 4  # characters of a tick's label that stand beside each other wherever matplotlib puts them

if TYPE_CHECKING:
    from typing_extensions import Self


def make_axes(axes: Any, n_columns: int = 1, n_rows: int = 1) -> Any:
    """Return the axes given, or new ones."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "grls[plot]"') from error
    size = (5.5 * n_columns, 4 * n_rows)
    _, made = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained")
    return made


def thin_ticks(ax: Any) -> None:
    """Take fewer ticks along x where their labels are long enough to run together."""
    if ax.get_xscale() != "linear" or not hasattr(ax.xaxis.get_major_locator(), "set_params"):
        return
    low, high = ax.get_xlim()
    longest = max((len(f"{value:g}") for value in ax.get_xticks() if low <= value <= high), default=0)
    if longest > _LONG:
        inches = ax.get_position().width * ax.figure.get_figwidth()
        ax.locator_params(axis="x", nbins=max(int(inches / (_INCHES * (longest + 2))), 1))


def require_fitted(model: Any, attribute: str = "", otherwise: str = "") -> None:
    """Raise NotFittedError for a model that is not fitted, ValueError for one without the attribute."""
    check_is_fitted(model)
    if attribute and not hasattr(model, attribute):
        raise ValueError(otherwise)


def sample_labels(y: ArrayLike | None, points: Any) -> NDArray[Any] | None:
    """Return the classes of the points as an array, one for each; None where none are given."""
    if y is None:
        return None
    check_consistent_length(points, y)
    return np.asarray(y)


class Display(ABC):
    """A picture on axes; a subclass is a dataclass of what is drawn, and draws it with ``_draw``."""

    figure_: Any = None

    @abstractmethod
    def _draw(self, axes: Any, **options: Any) -> None:
        """Draw on the axes."""


class SingleDisplay(Display):
    """A picture on one pair of axes."""

    ax_: Any = None

    def plot(self, *, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        Display
            The display itself.
        """
        return self._plot(ax)

    def _plot(self, ax: Any, **options: Any) -> Self:
        ax = make_axes(ax)
        self._draw(ax, **options)
        thin_ticks(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SeveralDisplay(Display):
    """A picture on several pairs of axes, as many as `n_axes` says."""

    axes_: Any = None
    _most_columns = 3  # of a figure that is made for it

    @property
    @abstractmethod
    def n_axes(self) -> int:
        """How many pairs of axes it takes."""

    def plot(self, *, axes: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        axes : matplotlib axes, default=None
            Where to draw, as many as ``n_axes``; None makes a new figure.

        Returns
        -------
        Display
            The display itself.
        """
        wanted = self.n_axes
        n_columns = min(wanted, self._most_columns)
        made = np.ravel(make_axes(axes, n_columns, -(-wanted // n_columns)))
        if len(made) < wanted:
            raise ValueError(f"this display takes {wanted} pairs of axes, got {len(made)}")
        if axes is None:
            for spare in made[wanted:]:
                spare.remove()
        self._draw(made[:wanted])
        for each in made[:wanted]:
            thin_ticks(each)
        self.axes_, self.figure_ = made[:wanted], made[0].figure
        return self
