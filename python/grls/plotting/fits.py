"""Models of one variable: the fit with its band, and its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validation import FloatArray
from ._display import Display, SingleDisplay, make_axes, require_fitted
from ._inputs import has_another_loss
from ._style import BLUE, GREEN, GREY, ORANGE

__all__ = ["DecompositionDisplay", "FitDisplay"]
__dir__ = __all__.copy


def _require_one_output(model: Any) -> None:
    require_fitted(model)
    n_outputs = 1 if model.dual_coef_.ndim == 1 else model.dual_coef_.shape[1]
    if n_outputs != 1:
        raise ValueError(f"this display shows one output, the model has {n_outputs}")


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
    std : ndarray of shape (n,), default=None
        Standard deviations there, of models that have them.
    levels : sequence of floats, default=None
        Of several quantiles or expectiles: a line for each, and a band between the lowest and the highest.
    band : ndarray of shape (n, 2), default=None
        Lower and upper ends of the band; None: 1.96 standard deviations on either side.
    """

    x: FloatArray
    y: FloatArray
    line: FloatArray
    mean: FloatArray
    std: FloatArray | None = None
    levels: Any = None
    band: FloatArray | None = None

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
        model : GRLSRegressor, GRRegressor or NystromGRRegressor
            Fitted. The first has a band of 95 %, as have smooth losses of the second; quantiles one between
            them.
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
        levels: Any = getattr(model, "quantiles", None)
        targets = np.ravel(y)
        if has_another_loss(model) and np.ndim(levels):
            require_fitted(model)
            return cls(x, targets, line, model.predict(line[:, None]), None, levels).plot(ax=ax)
        _require_one_output(model)
        band = None
        has_family = has_another_loss(model) and hasattr(model, "predict_interval")
        if has_family:  # the band is not as wide above as below
            mean, std = model.predict(line[:, None], return_std=True)
            band = model.predict_interval(line[:, None], 0.05, with_noise=with_noise).reshape(-1, 2)
        elif has_another_loss(model):
            return cls(x, targets, line, np.ravel(model.predict(line[:, None]))).plot(ax=ax)
        else:
            mean, std = model.predict(line[:, None], return_std=True, with_noise=with_noise)
        return cls(x, targets, line, np.ravel(mean), np.ravel(std), None, band).plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        lines = self.mean.reshape(len(self.line), -1)
        name = "95 % band"
        if self.band is not None:
            low, high = self.band.T
        elif self.std is not None:
            low, high = self.mean - 1.96 * self.std, self.mean + 1.96 * self.std
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
            axes.plot(self.line, each, color=BLUE, label="prediction" if k == 0 else None)
        axes.legend(frameon=False)


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
        _require_one_output(model)
        x, line = _along_one_variable(X, n_points)
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
        whole.legend(frameon=False)
        kernel_part.axhline(0, color=GREY, linewidth=0.8)
        if self.y is not None:
            residuals = self.y - np.interp(self.x, self.line, self.known)
            kernel_part.plot(self.x, residuals, ".", color=GREY, markersize=5, label="samples − features")
        kernel_part.plot(self.line, self.learnt, color=GREEN, label="kernel")
        kernel_part.set_title("what the kernel has learnt")
        kernel_part.legend(frameon=False)
