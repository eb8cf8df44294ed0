"""Models of one variable: the fit with its band, and its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validation import FloatArray
from ._display import Display, SingleDisplay, make_axes, require_fitted
from ._inputs import one_output, predicted, tells_noise
from ._style import BLUE, GREEN, GREY, ORANGE

__all__ = ["DecompositionDisplay", "FitDisplay"]
__dir__ = __all__.copy


def _along_one_variable(X: ArrayLike, n_points: int) -> tuple[FloatArray, FloatArray]:
    """Return the training values of the only variable and points from end to end, a little beyond."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 1:
        raise ValueError(
            f"this display shows one variable, X has shape {values.shape}: of several columns take "
            "PartialEffectsDisplay.from_estimator(model, X, columns)"
        )
    low, high = values.min(), values.max()
    margin = 0.08 * (high - low)
    return values[:, 0], np.linspace(low - margin, high + margin, n_points)


@dataclass
class FitDisplay(SingleDisplay):
    """A fit of one variable with its band.

    Parameters
    ----------
    x, y : ndarrays of shape (m,)
        The samples.
    line : ndarray of shape (n,)
        Points.
    mean : ndarray of shape (n,) or (n, levels)
        Predictions there.
    band : ndarray of shape (n, 2), default=None
        Lower and upper ends of the band, of models that have one.
    levels : sequence of floats, default=None
        Of several quantiles or expectiles: a line for each, and a band between the lowest and the highest.
    what : str, default="prediction"
        What the line is.
    """

    x: FloatArray
    y: FloatArray
    line: FloatArray
    mean: FloatArray
    band: FloatArray | None = None
    levels: Any = None
    what: str = "prediction"

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        with_noise: bool = True,
        n_points: int = 400,
        ax: Any = None,
    ) -> FitDisplay:
        """Draw samples, prediction and band of a regressor of one variable.

        Parameters
        ----------
        model : estimator
            Fitted, with one output or two classes. Its band is that of 95 % where it has errors; quantiles
            have one between them.
        X : array-like of shape (m, 1)
            Samples.
        y : array-like of shape (m,)
            Their targets.
        with_noise : bool, default=True
            Whether the band is that of new observations rather than of the function.
        n_points : int, default=400
            Points of the line.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        FitDisplay
            The display.
        """
        x, line = _along_one_variable(X, n_points)
        found = predicted(model, line[:, None], with_noise and tells_noise(model))
        targets = np.ravel(y)
        if hasattr(model, "classes_"):
            targets = np.where(targets == model.classes_[1], 1.0, 0.0)
        return cls(x, targets, line, found.mean, found.ends, found.levels, found.what).plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        lines = self.mean.reshape(len(self.line), -1)
        name = "95 % band"
        if self.band is not None:
            low, high = self.band.T
        elif self.levels is not None:
            order = np.argsort(self.levels)
            low, high = lines[:, order[0]], lines[:, order[-1]]
            name = f"levels {min(self.levels):g} to {max(self.levels):g}"
        else:
            low = None
        if low is not None:
            axes.fill_between(self.line, low, high, color=BLUE, alpha=0.2, linewidth=0, label=name)
        axes.plot(self.x, self.y, ".", color=GREY, markersize=5, label="samples")
        for k, each in enumerate(lines.T):
            axes.plot(self.line, each, color=BLUE, label=self.what if k == 0 else None)
        axes.legend(frameon=False, loc="best")


@dataclass
class DecompositionDisplay(Display):
    """What the features know and what the kernel has learnt, side by side.

    Parameters
    ----------
    x, y : ndarrays of shape (m,)
        The samples; y may be None.
    line, known, learnt : ndarrays of shape (n,)
        Points and the two parts of the model there.
    """

    x: FloatArray
    y: FloatArray | None
    line: FloatArray
    known: FloatArray
    learnt: FloatArray
    axes_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(
        cls, model: Any, X: ArrayLike, y: ArrayLike | None = None, *, n_points: int = 400, axes: Any = None
    ) -> DecompositionDisplay:
        """Draw the two parts of a model of one variable.

        Parameters
        ----------
        model : estimator
            A fitted least-squares estimator with one output.
        X : array-like of shape (m, 1)
            Samples.
        y : array-like of shape (m,), default=None
            Their targets, shown where given.
        n_points : int, default=400
            Points of the lines.
        axes : two matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        DecompositionDisplay
            The display.
        """
        require_fitted(model)
        x, line = _along_one_variable(X, n_points)
        known, learnt = (one_output(part) for part in model.decompose(line[:, None])[:2])
        display = cls(x, None if y is None else np.ravel(y), line, known, learnt)
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> DecompositionDisplay:
        """Draw it.

        Parameters
        ----------
        axes : two matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        DecompositionDisplay
            The display.
        """
        axes = np.ravel(make_axes(axes, 2))
        self._draw(axes)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw(self, axes: Any, **options: Any) -> None:
        whole, kernel_part = axes
        if self.y is not None:
            whole.plot(self.x, self.y, ".", color=GREY, markersize=5, label="samples")
        whole.plot(self.line, self.known, color=ORANGE, label="features")
        whole.plot(self.line, self.known + self.learnt, color=BLUE, label="features + kernel")
        whole.set_title("the model")
        whole.legend(frameon=False, loc="best")
        kernel_part.axhline(0, color=GREY, linewidth=0.8)
        if self.y is not None:
            residuals = self.y - np.interp(self.x, self.line, self.known)
            kernel_part.plot(self.x, residuals, ".", color=GREY, markersize=5, label="samples − features")
        kernel_part.plot(self.line, self.learnt, color=GREEN, label="kernel")
        kernel_part.set_title("what the kernel has learnt")
        kernel_part.legend(frameon=False, loc="best")
