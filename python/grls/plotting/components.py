"""Points in the plane of two components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import FloatArray, integer
from ._display import SingleDisplay, require_fitted, sample_labels
from ._style import scatter_classes

__all__ = ["ComponentsDisplay"]
__dir__ = __all__.copy

_MAX_LEGEND = 20  # the most classes that a legend names


@dataclass
class ComponentsDisplay(SingleDisplay):
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
        require_fitted(model)
        Z = np.asarray(model.transform(X), dtype=np.float64)
        first, second = (integer(c, "components", minimum=0) for c in components)
        if max(first, second) >= Z.shape[1]:
            raise ValueError(f"components={components} are not there: the model has {Z.shape[1]}")
        labels = sample_labels(y, Z)
        shares = getattr(model, "explained_variance_ratio_", None)
        names = [
            f"component {c + 1}" + ("" if shares is None else f" ({100 * shares[c]:.3g} %)")
            for c in (first, second)
        ]
        return cls(Z[:, [first, second]], labels, (names[0], names[1])).plot(ax=ax)

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
        return self._plot(ax, **options)

    def _draw(self, axes: Any, **options: Any) -> None:
        scatter_classes(axes, self.points, self.labels, **options)
        axes.set_xlabel(self.names[0])
        axes.set_ylabel(self.names[1])
        if self.labels is not None and 1 < len(np.unique(self.labels)) <= _MAX_LEGEND:
            axes.legend(frameon=False)
