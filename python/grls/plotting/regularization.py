"""How the criterion depends on γ and on the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._validation import FloatArray
from ._display import SingleDisplay, require_fitted
from ._inputs import final_estimator
from ._style import ORANGE

__all__ = ["CriterionContourDisplay", "RegularizationPathDisplay"]
__dir__ = __all__.copy


def _criterion_of(model: Any) -> str:
    """Return the name of what a model chose γ by."""
    if hasattr(model, "loo_deviance_"):
        return "deviance"
    if hasattr(model, "logo_score_"):
        return "logo"
    if hasattr(model, "cv_predictions_"):
        return "cv"
    return str(getattr(model, "_chosen_by", "") or model.regularization)


@dataclass
class RegularizationPathDisplay(SingleDisplay):
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

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> RegularizationPathDisplay:
        """Draw the path of a model whose γ was chosen ("loo", "gcv", "reml", or "auto" of `GRRegressor`).

        Parameters
        ----------
        model : estimator
            A fitted estimator.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RegularizationPathDisplay
            The display.
        """
        model = final_estimator(model)
        no_path = 'the model has no path: fit it with regularization="loo", "gcv" or "reml"'
        require_fitted(model, "regularization_path_", no_path)
        if isinstance(model.regularization_path_, list):
            n_outputs = len(model.regularization_path_)
            raise ValueError(
                f"this display shows γ that all outputs share, and each of {n_outputs} has its own"
            )
        display = cls(
            model.regularization_path_,
            model.criterion_path_,
            model.regularization_,
            _criterion_of(model),
        )
        return display.plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        curves = np.where(np.isfinite(self.criterion_path), self.criterion_path, np.nan)
        curves = curves.reshape(len(curves), -1)
        for p, curve in enumerate(curves.T):
            (line,) = axes.plot(self.regularization_path, curve, label=f"output {p}")
            chosen = np.broadcast_to(self.chosen, curves.shape[1])[p]
            at = np.argmin(np.abs(self.regularization_path - chosen))
            axes.plot(chosen, curve[at], "o", color=line.get_color())
        axes.set_xscale("log")
        if self.name != "reml":
            axes.set_yscale("log")
        axes.set_xlabel("regularization γ")
        axes.set_ylabel(
            {
                "loo": "leave-one-out error",
                "logo": "error of groups left out",
                "gcv": "GCV",
                "reml": "-2 restricted log-likelihood",
                "deviance": "leave-one-out deviance",
            }.get(self.name, "loss of rows left out")
        )
        if curves.shape[1] > 1:
            axes.legend()
        else:
            axes.set_title(f"chosen: γ = {float(np.ravel(self.chosen)[0]):.2g}")


@dataclass
class CriterionContourDisplay(SingleDisplay):
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
        parameters = np.asarray(values, dtype=np.float64)
        rows = []
        for value in parameters:
            fitted = clone(model).set_params(**{parameter: value}, regularization_grid=grid, per_output=False)
            rows.append(fitted.fit(X, y).criterion_path_)
        display = cls(parameter, parameters, grid, np.array(rows), _criterion_of(fitted))
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
        no_grid = "the model must have been fitted with optimize={name: values} of one parameter"
        require_fitted(model, "criterion_surface_", no_grid)
        if model.criterion_surface_.ndim != 2:
            raise ValueError(no_grid)
        record = model.optimization_
        display = cls(
            record.parameters[0],
            record.values[0],
            record.regularization_path,
            record.criterion,
            _criterion_of(model),
        )
        return display.plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        surface = np.where(np.isfinite(self.criterion), self.criterion, np.nan)
        shown = surface if self.name == "reml" else np.log10(surface)
        filled = axes.contourf(self.regularization_path, self.values, shown, levels=20, cmap="viridis_r")
        v, g = np.unravel_index(np.nanargmin(surface), surface.shape)
        axes.plot(self.regularization_path[g], self.values[v], "*", color=ORANGE, markersize=13)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("regularization γ")
        axes.set_ylabel(self.parameter.removeprefix("kernel__"))
        label = self.name if self.name == "reml" else f"log₁₀ {self.name}"
        axes.figure.colorbar(filled, ax=axes, label=label)
