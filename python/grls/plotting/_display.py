"""What all displays share: axes, made where none are given, and the checks of models and labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from typing_extensions import Self


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
        self.ax_, self.figure_ = ax, ax.figure
        return self
