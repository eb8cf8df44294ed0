"""Displays in scikit-learn's manner: see what a model does.

They need matplotlib (``pip install "grls[plot]"``).

=============================  ===============================================================================
`RegularizationPathDisplay`    the criterion along γ, and the choice
`CriterionContourDisplay`      the criterion over a kernel parameter and γ
`FitDisplay`                   a fit of one variable with its band
`DecompositionDisplay`         what the features know and what the kernel has learnt, side by side
=============================  ===============================================================================

Every display is made by ``from_estimator``, draws itself with ``plot``, and keeps ``ax_`` (or ``axes_``) and
``figure_`` for whatever else is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ._validation import FloatArray

__all__ = [
    "CriterionContourDisplay",
    "DecompositionDisplay",
    "FitDisplay",
    "RegularizationPathDisplay",
]

_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#777777"  # told apart by colour-blind eyes


def _axes(axes: Any, n_columns: int = 1) -> Any:
    """Return the axes given, or new ones."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "grls[plot]"') from error
    _, made = plt.subplots(1, n_columns, figsize=(5.5 * n_columns, 4), layout="constrained")
    return made


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
class RegularizationPathDisplay:
    """The criterion along γ, and the choice.

    Parameters
    ----------
    regularization_path : ndarray of shape (g,)
        γ.
    criterion_path : ndarray of shape (g,) or (g, k)
        The criterion there.
    chosen : float or ndarray of shape (k,)
        The γ chosen.
    name : str
        Name of the criterion.
    """

    regularization_path: FloatArray
    criterion_path: FloatArray
    chosen: Any
    name: str
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> RegularizationPathDisplay:
        """Draw the path of a model whose γ was chosen ("loo", "gcv" or "reml").

        Parameters
        ----------
        model : estimator
            A fitted least-squares estimator.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RegularizationPathDisplay
            The display.
        """
        check_is_fitted(model)
        if not hasattr(model, "criterion_path_"):
            raise ValueError('the model has no path: fit it with regularization="loo", "gcv" or "reml"')
        display = cls(
            model.regularization_path_,
            model.criterion_path_,
            model.regularization_,
            str(model.regularization),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> RegularizationPathDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RegularizationPathDisplay
            The display.
        """
        ax = _axes(ax)
        curves = np.where(np.isfinite(self.criterion_path), self.criterion_path, np.nan)
        curves = curves.reshape(len(curves), -1)
        for p, curve in enumerate(curves.T):
            (line,) = ax.plot(self.regularization_path, curve, label=f"output {p}")
            chosen = np.broadcast_to(self.chosen, curves.shape[1])[p]
            at = np.argmin(np.abs(self.regularization_path - chosen))
            ax.plot(chosen, curve[at], "o", color=line.get_color())
        ax.set_xscale("log")
        if self.name != "reml":
            ax.set_yscale("log")
        ax.set_xlabel("regularization γ")
        ax.set_ylabel(
            {"loo": "leave-one-out error", "gcv": "GCV", "reml": "-2 restricted log-likelihood"}[self.name]
        )
        if curves.shape[1] > 1:
            ax.legend()
        else:
            ax.set_title(f"chosen: γ = {float(np.ravel(self.chosen)[0]):.2g}")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class CriterionContourDisplay:
    """The criterion over a kernel parameter and γ.

    Parameters
    ----------
    parameter : str
        Name of the kernel's parameter.
    values : ndarray of shape (v,)
        Its values.
    regularization_path : ndarray of shape (g,)
        γ.
    criterion : ndarray of shape (v, g)
        The criterion.
    name : str
        Name of the criterion.
    """

    parameter: str
    values: FloatArray
    regularization_path: FloatArray
    criterion: FloatArray
    name: str
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        values: ArrayLike,
        regularization_grid: ArrayLike,
        parameter: str = "kernel__sigma",
        ax: Any = None,
    ) -> CriterionContourDisplay:
        """Fit the model for each value of a parameter and draw the criterion over it and γ.

        Parameters
        ----------
        model : estimator
            A least-squares estimator with ``regularization`` "loo", "gcv" or "reml"; it is cloned.
        X, y : array-like
            Training data.
        values : array-like of shape (v,)
            Values of the parameter.
        regularization_grid : array-like of shape (g,)
            Values of γ.
        parameter : str, default="kernel__sigma"
            The parameter, as ``set_params`` takes it.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CriterionContourDisplay
            The display.
        """
        if not isinstance(model.regularization, str):
            raise ValueError('the model must choose γ: set regularization="loo", "gcv" or "reml"')
        grid = np.sort(np.asarray(regularization_grid, dtype=np.float64))
        wanted = np.asarray(values, dtype=np.float64)
        rows = []
        for value in wanted:
            fitted = clone(model).set_params(**{parameter: value}, regularization_grid=grid, per_output=False)
            rows.append(fitted.fit(X, y).criterion_path_)
        display = cls(parameter, wanted, grid, np.array(rows), str(model.regularization))
        return display.plot(ax=ax)

    @classmethod
    def from_optimized(cls, model: Any, *, ax: Any = None) -> CriterionContourDisplay:
        """Draw the criterion over the grid that a fitted model was optimized on.

        Parameters
        ----------
        model : estimator
            Fitted with ``optimize={name: values}``, one parameter.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CriterionContourDisplay
            The display.
        """
        check_is_fitted(model)
        if not hasattr(model, "criterion_surface_") or model.criterion_surface_.ndim != 2:
            raise ValueError("the model must have been fitted with optimize={name: values} of one parameter")
        record = model.optimization_
        display = cls(
            record.parameters[0],
            record.values[0],
            record.regularization_path,
            record.criterion,
            model.regularization,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> CriterionContourDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CriterionContourDisplay
            The display.
        """
        ax = _axes(ax)
        surface = np.where(np.isfinite(self.criterion), self.criterion, np.nan)
        shown = surface if self.name == "reml" else np.log10(surface)
        filled = ax.contourf(self.regularization_path, self.values, shown, levels=20, cmap="viridis_r")
        v, g = np.unravel_index(np.nanargmin(surface), surface.shape)
        ax.plot(self.regularization_path[g], self.values[v], "*", color=_ORANGE, markersize=13)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("regularization γ")
        ax.set_ylabel(self.parameter.removeprefix("kernel__"))
        label = self.name if self.name == "reml" else f"log₁₀ {self.name}"
        ax.figure.colorbar(filled, ax=ax, label=label)
        self.ax_, self.figure_ = ax, ax.figure
        return self


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
        ax = _axes(ax)
        ax.fill_between(
            self.line,
            self.mean - 1.96 * self.std,
            self.mean + 1.96 * self.std,
            color=_BLUE,
            alpha=0.2,
            linewidth=0,
            label="95 % band",
        )
        ax.plot(self.x, self.y, ".", color=_GREY, markersize=5, label="samples")
        ax.plot(self.line, self.mean, color=_BLUE, label="prediction")
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
        left, right = _axes(axes, 2)
        if self.y is not None:
            left.plot(self.x, self.y, ".", color=_GREY, markersize=5, label="samples")
        left.plot(self.line, self.known, color=_ORANGE, label="features")
        left.plot(self.line, self.known + self.learnt, color=_BLUE, label="features + kernel")
        left.set_title("the model")
        left.legend(frameon=False)
        right.axhline(0, color=_GREY, linewidth=0.8)
        if self.y is not None:
            rest = self.y - np.interp(self.x, self.line, self.known)
            right.plot(self.x, rest, ".", color=_GREY, markersize=5, label="samples − features")
        right.plot(self.line, self.learnt, color=_GREEN, label="kernel")
        right.set_title("what the kernel has learnt")
        right.legend(frameon=False)
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
