"""The picture: two panels of the curve, its parts, and the digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._validation import FloatArray
from ._curve import DOMAIN, MARGIN, WIDTHS, CurveFit, noisy_points, truth
from ._digits import ANSWERS, COMPONENTS, CONSTANT, DigitsScore
from ._methods import GRLS, RIDGE, SUPPORT_VECTORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#595959"
_FONT, _SMALL = 11.0, 9.5


def empty_figure() -> Figure | None:
    """Return an empty figure, or None when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  (the name a half-removed installation lacks)
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure(figsize=(11, 8), dpi=160, layout="constrained", facecolor="white")


def _dress(axes: Axes, letter: str, title: str, xlabel: str, ylabel: str) -> None:
    axes.set_title(f"({letter})  {title}", fontsize=_FONT + 1, loc="left")
    axes.set_xlabel(xlabel, fontsize=_FONT)
    axes.set_ylabel(ylabel, fontsize=_FONT)
    axes.tick_params(labelsize=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_points(axes: Axes, x: FloatArray, y: FloatArray, grid: FloatArray) -> None:
    low, high = DOMAIN
    for left, right in ((low - MARGIN, low), (high, high + MARGIN)):
        axes.axvspan(left, right, color="#EEEEEE", lw=0, zorder=0)
    axes.plot(grid, truth(grid), color="black", lw=1.2, ls=(0, (4, 2)), label="truth |5 − x|", zorder=2)
    axes.plot(x[:, 0], y, "o", ms=4, mfc="white", mec=GREY, mew=0.9, label="data", zorder=1)
    axes.set_xlim(low - MARGIN, high + MARGIN)


def _draw_curves(axes: Axes, fits: Sequence[CurveFit], method: str, grid: FloatArray) -> None:
    looks = zip(WIDTHS, (ORANGE, BLUE, GREEN), (1.4, 2.4, 1.8), ("-", "-", "-."), strict=True)
    for width, colour, thickness, dashes in looks:
        fit = next(f for f in fits if f.method == method and f.width == width)
        axes.plot(
            grid,
            fit.model.predict(grid[:, None]),
            color=colour,
            lw=thickness,
            ls=dashes,
            label=f"σ = {fit.sigma:g}, {width}",
            zorder=4 if width == "by CV" else 3,
        )


def _draw_parts(axes: Axes, fit: CurveFit, grid: FloatArray) -> None:
    known, learnt = fit.model.decompose(grid[:, None])
    axes.axhline(0, color="#BBBBBB", lw=0.8, zorder=0.5)
    axes.plot(grid, known, color=PURPLE, lw=2, ls="-.", label="features, free")
    axes.plot(grid, learnt, color=ORANGE, lw=2, ls="--", label="kernel, penalised")
    axes.plot(grid, known + learnt, color=BLUE, lw=2.4, label="sum: the prediction")


def _draw_digits(axes: Axes, scores: Sequence[DigitsScore]) -> None:
    looks = {
        (RIDGE, "none"): (GREY, "v", ":", "kernel ridge"),
        (SUPPORT_VECTORS, CONSTANT): (ORANGE, "D", "--", "SVC"),
        (GRLS, CONSTANT): (BLUE, "o", "-", "G-RLS, constant"),
        (GRLS, COMPONENTS): (PURPLE, "^", "-.", "G-RLS, PCA"),
        (GRLS, ANSWERS): (GREEN, "s", "-", "G-RLS, linear model's answer"),
    }
    for shift, ((method, features), (colour, marker, dashes, label)) in enumerate(looks.items(), start=-2):
        mine = [s for s in scores if (s.method, s.features) == (method, features)]
        axes.errorbar(
            [s.n_labels * 1.045**shift for s in mine],  # side by side, so that the bars can be told apart
            [s.mean for s in mine],
            yerr=[s.spread for s in mine],
            color=colour,
            marker=marker,
            ms=5.5,
            ls=dashes,
            lw=1.4,
            elinewidth=1,
            label=label,
        )
    sizes = sorted({s.n_labels for s in scores})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_yscale("logit")  # from 98 to 99 % is as far as from 50 to 67 %: the errors halve
    ends = [100 * (s.mean + side * s.spread) for s in scores for side in (-1, 1)]
    marks = np.array([1, 20, 50, 60, 70, 80, 85, 90, 95, 98, 99, 99.5, 99.9])
    first, last = np.searchsorted(marks, [min(ends), max(ends)])
    ticks = marks[max(first - 1, 0) : last + 1]
    axes.set_yticks([tick / 100 for tick in ticks], [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="y", color="#DDDDDD", lw=0.7)


def draw(figure: Figure, seed: int, fits: Sequence[CurveFit], scores: Sequence[DigitsScore]) -> None:
    """Draw the four panels.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure.
    seed : int
        That of `fits`, for their points.
    fits : sequence of CurveFit
        See `curve`.
    scores : sequence of DigitsScore
        See `digits`.
    """
    x, y = noisy_points(seed)
    grid = np.linspace(DOMAIN[0] - MARGIN, DOMAIN[1] + MARGIN, 601)
    (with_features, plain), (parts, accuracy) = figure.subplots(2, 2)
    for axes, method, letter, title in (
        (with_features, GRLS, "a", "G-RLS with free features 1, x, x²"),
        (plain, RIDGE, "b", "Kernel ridge, no features"),
    ):
        _draw_curves(axes, fits, method, grid)
        _draw_points(axes, x, y, grid)
        _dress(axes, letter, title, "x (shaded: outside the data)", "y")
        axes.set_ylim(-1.2, 9.2)
        axes.legend(fontsize=_SMALL, frameon=False, loc="upper center", ncols=2)
    _draw_parts(parts, next(f for f in fits if f.method == GRLS and f.width == "by CV"), grid)
    _draw_points(parts, x, y, grid)
    _dress(parts, "c", "G-RLS taken apart (σ by CV)", "x (shaded: outside the data)", "y")
    parts.margins(y=0.2)
    parts.legend(fontsize=_SMALL, frameon=False, loc="upper center", ncols=2)
    _draw_digits(accuracy, scores)
    _dress(accuracy, "d", "Handwritten digits", "training labels", "test accuracy, %")
    accuracy.legend(fontsize=_SMALL, frameon=False, loc="upper left")
