"""How often bands hold, where it was promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..conformal import CoverageReport
from ._display import SingleDisplay, require_fitted
from ._style import BLUE, GREY, ORANGE

__all__ = ["CoverageDisplay"]
__dir__ = __all__.copy


@dataclass
class CoverageDisplay(SingleDisplay):
    """Coverage of bands in all rows, in groups and along features, with binomial intervals.

    Parameters
    ----------
    report : CoverageReport
        What `grls.conformal.ConformalRegressor.coverage_report` found.
    """

    report: CoverageReport

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, n_bins: int = 4, confidence: float = 0.95, ax: Any = None
    ) -> CoverageDisplay:
        """Draw the coverage of a model's bands.

        Parameters
        ----------
        model : ConformalRegressor
            Fitted.
        X : {array-like, CSR matrix} of shape (n, d)
            Rows that neither fitted nor calibrated it.
        y : array-like of shape (n,)
            Their values.
        n_bins : int, default=4
            Into how many pieces a feature that is no indicator is cut.
        confidence : float, default=0.95
            Of the intervals.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CoverageDisplay
            The display.
        """
        require_fitted(model)
        return cls(model.coverage_report(X, y, n_bins=n_bins, confidence=confidence)).plot(ax=ax)

    def _draw(self, axes: Any, **options: Any) -> None:
        report = self.report
        heights = -np.arange(len(report.names))
        for promised in np.unique(1 - report.alpha):
            axes.axvline(promised, color=GREY, linewidth=0.8, linestyle="--")
        for below, colour, label in ((False, BLUE, None), (True, ORANGE, "below what was promised")):
            mine = report.below == below
            if not mine.any():
                continue
            reach = np.array([report.coverage - report.lower, report.upper - report.coverage])[:, mine]
            axes.errorbar(
                report.coverage[mine],
                heights[mine],
                xerr=np.maximum(reach, 0),
                color=colour,
                marker="o",
                markersize=4,
                linestyle="none",
                label=label,
            )
        several = len(np.unique(report.alpha)) > 1
        named = [
            f"{name}, {1 - alpha:g}" if several else name
            for name, alpha in zip(report.names, report.alpha, strict=True)
        ]
        axes.set_yticks(heights, named)
        axes.set_xlabel("share of rows in their band")
        axes.set_title(f"coverage, with intervals of {100 * report.confidence:.0f} %")
        if report.below.any():
            axes.legend()
