"""Coefficients of the features, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._models.samples import FreeFeatures
from .._validation import FloatArray
from ..summary import Table
from ._display import SingleDisplay
from ._inputs import final_estimator, target_name
from ._style import BLUE, GREY

__all__ = ["CoefficientsDisplay"]
__dir__ = __all__.copy

_MOST_ROWS = 30


@dataclass
class CoefficientsDisplay(SingleDisplay):
    """Coefficients of the features with intervals of 95 %.

    Parameters
    ----------
    names : list of str
        Of the features.
    values, low, high : ndarrays of shape (l,)
        The coefficients and the ends of their intervals; NaN where there is none.
    label : str
        What they are.
    """

    names: list[str]
    values: FloatArray
    low: FloatArray
    high: FloatArray
    label: str

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        scaled: bool = True,
        unconditional: bool | str = "auto",
        target: str | None = None,
        ax: Any = None,
    ) -> CoefficientsDisplay:
        """Draw the coefficients of a model.

        Parameters
        ----------
        model : estimator or Pipeline
            Fitted, with a ``summary`` of one output that has standard errors; a pipeline must end in one.
        scaled : bool, default=True
            Whether they are those of features divided by their standard deviation in the training rows, so
            that they compare; constants have none and are left out. False, and of models that keep no rows
            (on centres, Fourier): as they are.
        unconditional : bool or "auto", default="auto"
            Of the standard errors, as in ``summary``; of models that have the choice.
        target : str, default=None
            Name of the target.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CoefficientsDisplay
            The display; of more than 30 features the largest are drawn.
        """
        final = final_estimator(model)
        check_is_fitted(final)
        table = _table(final, unconditional)
        scaled = scaled and _keeps_features(final)
        spread = _spreads(final) if scaled else np.ones(len(table.rows))
        shown = np.flatnonzero((spread > 0) & np.isfinite(table["coefficient"]))
        if len(shown) == 0:
            raise ValueError("the model has no coefficients to show: no features, or a constant only")
        sizes = np.abs(table["coefficient"] * spread)[shown]
        if len(shown) > _MOST_ROWS:
            shown = np.sort(shown[np.argsort(sizes)[-_MOST_ROWS:]])
        name = target_name(target)
        label = f"change of {name} per standard deviation" if scaled else f"coefficient for {name}"
        values, low, high = (
            np.asarray(table[column] * spread)[shown] for column in ("coefficient", "2.5 %", "97.5 %")
        )
        display = cls([table.rows[int(p)] for p in shown], values, low, high, label)
        return display.plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        at = np.arange(len(self.names))[::-1]
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.hlines(at, self.low, self.high, color=BLUE, linewidth=2)
        axes.plot(self.values, at, "o", color=BLUE)
        axes.set_yticks(at, self.names)
        axes.set_ylim(-0.6, len(self.names) - 0.4)
        axes.set_xlabel(self.label)
        axes.set_title("features, with 95 % intervals")


def _table(final: Any, unconditional: bool | str) -> Table:
    """Return the coefficients of a summary; ValueError where there is none, or no errors."""
    if not hasattr(final, "summary"):
        raise ValueError(f"{type(final).__name__} has no summary, and no standard errors of its coefficients")
    options = {"unconditional": unconditional, "n_simulations": 0}
    taken = signature(final.summary).parameters
    summary = final.summary(**{name: value for name, value in options.items() if name in taken})
    table: Table | None = getattr(summary, "coefficients", None)
    if table is None or "2.5 %" not in table.columns:
        raise ValueError(f"the summary of this {type(final).__name__} has no intervals of coefficients")
    return table


def _keeps_features(final: Any) -> bool:
    return getattr(final, "_T_fit", None) is not None


def _spreads(final: Any) -> FloatArray:
    """Return the standard deviations of the features as users know them; 0 of a constant."""
    T = np.asarray(final._T_fit, dtype=np.float64)
    R = FreeFeatures(final.features_, final.feature_names_free_).user_units()
    T = T if R is None else T @ np.linalg.inv(R)
    spread = T.std(axis=0)
    return np.where(spread > 1e-9 * np.abs(T).max(axis=0, initial=0), spread, 0.0)
