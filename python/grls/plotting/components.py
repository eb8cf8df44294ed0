"""Points in the plane of two components."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from .._validation import FloatArray, integer
from ._style import make_axes, scatter_classes

__all__ = ["ComponentsDisplay"]

_MOST_NAMES = 20  # classes a legend names


@dataclass
class ComponentsDisplay:
    """Points in the plane of two components.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        The two components.
    labels : ndarray of shape (n,) or None
        Classes, which colour the points.
    names : tuple of two str
        Names of the axes.
    """

    points: FloatArray
    labels: NDArray[Any] | None
    names: tuple[str, str]
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Any = None,
    ) -> ComponentsDisplay:
        """Project points and draw two of their components.

        Parameters
        ----------
        model : KernelPCA or another transformer
            Fitted; its share of the variance stands at the axes if it has ``explained_variance_ratio_``.
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        y : array-like of shape (n,), default=None
            Their classes.
        components : pair of int, default=(0, 1)
            Which components go to the right and up.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ComponentsDisplay
            The display.
        """
        check_is_fitted(model)
        Z = np.asarray(model.transform(X), dtype=np.float64)
        across, up = (integer(c, "components", minimum=0) for c in components)
        if max(across, up) >= Z.shape[1]:
            raise ValueError(f"components={components} are not there: the model has {Z.shape[1]}")
        if y is not None:
            check_consistent_length(Z, y)
        shares = getattr(model, "explained_variance_ratio_", None)
        names = [
            f"component {c + 1}" + ("" if shares is None else f" ({100 * shares[c]:.3g} %)")
            for c in (across, up)
        ]
        labels = None if y is None else np.asarray(y)
        return cls(Z[:, [across, up]], labels, (names[0], names[1])).plot(ax=ax)

    def plot(self, *, ax: Any = None, **options: Any) -> ComponentsDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Of matplotlib's ``scatter``.

        Returns
        -------
        ComponentsDisplay
            The display.
        """
        ax = make_axes(ax)
        scatter_classes(ax, self.points, self.labels, **options)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        if self.labels is not None and 1 < len(np.unique(self.labels)) <= _MOST_NAMES:
            ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
