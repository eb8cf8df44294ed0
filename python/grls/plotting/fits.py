"""Models of one variable: the fit with its band, and its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._validation import FloatArray
from ._style import BLUE, GREEN, GREY, ORANGE, make_axes

__all__ = ["DecompositionDisplay", "FitDisplay"]


def _one_output(model: Any) -> None:
    check_is_fitted(model)
    if model.dual_coef_.shape[1] != 1:
        raise ValueError(f"this display shows one output, the model has {model.dual_coef_.shape[1]}")


def _along_one_variable(model: Any, X: ArrayLike, n_points: int) -> tuple[FloatArray, FloatArray]:
    """Return the training values of the only variable and points from end to end, a little beyond."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 1:
        raise ValueError(f"this display shows one variable, X has shape {values.shape}")
    low, high = values.min(), values.max()
    margin = 0.08 * (high - low)
    return values[:, 0], np.linspace(low - margin, high + margin, n_points)


@dataclass
class FitDisplay:
    """A fit of one variable with its band.

    Parameters
    ----------
    x, y : ndarrays of shape (m,)
        The samples.
    line, mean, std : ndarrays of shape (n,)
        Points, predictions and standard deviations there.
    """

    x: FloatArray
    y: FloatArray
    line: FloatArray
    mean: FloatArray
    std: FloatArray
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

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
        """Draw samples, prediction and 95 % band of a regressor of one variable.

        Parameters
        ----------
        model : GRLSRegressor
            Fitted.
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
        _one_output(model)
        x, line = _along_one_variable(model, X, n_points)
        mean, std = model.predict(line[:, None], return_std=True, with_noise=with_noise)
        display = cls(x, np.ravel(y), line, np.ravel(mean), np.ravel(std))
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> FitDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        FitDisplay
            The display.
        """
        ax = make_axes(ax)
        ax.fill_between(
            self.line,
            self.mean - 1.96 * self.std,
            self.mean + 1.96 * self.std,
            color=BLUE,
            alpha=0.2,
            linewidth=0,
            label="95 % band",
        )
        ax.plot(self.x, self.y, ".", color=GREY, markersize=5, label="samples")
        ax.plot(self.line, self.mean, color=BLUE, label="prediction")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class DecompositionDisplay:
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
    figure_: Any = field(init=False, default=None)

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
        _one_output(model)
        x, line = _along_one_variable(model, X, n_points)
        known, learnt = model.decompose(line[:, None])
        display = cls(x, None if y is None else np.ravel(y), line, np.ravel(known), np.ravel(learnt))
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
        left, right = make_axes(axes, 2)
        if self.y is not None:
            left.plot(self.x, self.y, ".", color=GREY, markersize=5, label="samples")
        left.plot(self.line, self.known, color=ORANGE, label="features")
        left.plot(self.line, self.known + self.learnt, color=BLUE, label="features + kernel")
        left.set_title("the model")
        left.legend(frameon=False)
        right.axhline(0, color=GREY, linewidth=0.8)
        if self.y is not None:
            rest = self.y - np.interp(self.x, self.line, self.known)
            right.plot(self.x, rest, ".", color=GREY, markersize=5, label="samples − features")
        right.plot(self.line, self.learnt, color=GREEN, label="kernel")
        right.set_title("what the kernel has learnt")
        right.legend(frameon=False)
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
