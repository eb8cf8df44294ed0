"""The picture: the forecast above, the law and the few labels below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._validation import FloatArray
from . import _carbon_dioxide as co2
from . import _few_labels as labels
from . import _law as law

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#595959"
_FONT, _SMALL = 12.0, 10.5


def empty_figure() -> Figure | None:
    """Return an empty figure, or None when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  (the name a half-removed installation lacks)
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure(figsize=(12, 8.6), dpi=150, layout="constrained", facecolor="white")


def _dress(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    axes.set_title(title, fontsize=_FONT + 1, loc="left", fontweight="bold")
    axes.set_xlabel(xlabel, fontsize=_FONT)
    axes.set_ylabel(ylabel, fontsize=_FONT)
    axes.tick_params(labelsize=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_forecast(axes: Axes, found: Sequence[co2.Forecast]) -> None:
    when, measured = co2.monthly_means()
    looks = {
        co2.PLAIN: (ORANGE, "the same kernels alone"),
        co2.KNOWN: (BLUE, "line and seasons known (grls)"),
    }
    for method, (colour, label) in looks.items():
        (mine,) = [f for f in found if (f.method, f.last_year) == (method, co2.LAST_YEAR)]
        low, high = mine.mean - 1.96 * mine.std, mine.mean + 1.96 * mine.std
        axes.fill_between(mine.when, low, high, color=colour, alpha=0.18, lw=0)
        text = f"{label}: error {mine.error:.1f} ppm"
        axes.plot(mine.when, mine.mean, color=colour, lw=1.8, label=text)
    past = when < co2.LAST_YEAR + 1
    axes.plot(when[past], measured[past], color=GREY, lw=1, label="measured, and learnt from")
    axes.plot(when[~past], measured[~past], ".", color="black", ms=3.5, label="measured later")
    axes.axvline(co2.LAST_YEAR + 1, color="#BBBBBB", lw=0.8)
    axes.set_xlim(1970, when[-1])
    axes.set_ylim(np.min(measured[when > 1970]) - 3, np.max(measured) + 9)
    axes.legend(fontsize=_SMALL, frameon=False, loc="upper left")
    _dress(axes, "Carbon dioxide on Mauna Loa: ten years ahead", "", "ppm")


def _draw_law(axes: Axes, y: FloatArray, background: FloatArray, shown: Sequence[law.Measured]) -> None:
    free, alone = shown
    x = law.WAVELENGTHS
    axes.plot(x, y, ".", color=GREY, ms=4)
    axes.plot(x, background, color="black", lw=1.2, ls=(0, (4, 2)), label="true background")
    axes.plot(x, free.background, color=BLUE, lw=2, label="background learnt by the kernel")
    axes.fill_between(
        x, free.background, free.fitted, color=BLUE, alpha=0.18, lw=0, label="dye, a free feature"
    )
    axes.set_ylim(top=float(np.max(y)) * 1.55)
    axes.legend(fontsize=_SMALL, frameon=False, loc="upper right", borderaxespad=0.1)
    _dress(axes, "How much dye? Its law known, the background not", "wavelength, nm", "absorbance")
    inset = axes.inset_axes((0.62, 0.36, 0.37, 0.2))
    for row, (measured, colour, label) in enumerate(
        ((alone, ORANGE, "law alone"), (free, BLUE, "law + kernel"))
    ):
        error = 1.96 * measured.std
        inset.errorbar(measured.coefficient, row, xerr=error, fmt="o", color=colour, capsize=3, ms=4)
        inset.text(measured.coefficient, row + 0.22, label, color=colour, fontsize=_SMALL - 1, ha="center")
    inset.axvline(law.TRUTH, color="black", lw=1, ls=(0, (4, 2)))
    inset.set_ylim(-0.5, 1.8)
    inset.set_yticks([])
    inset.set_xlabel("amount (dashed: truth)", fontsize=_SMALL - 1)
    inset.tick_params(labelsize=_SMALL - 1)
    inset.margins(x=0.3)
    inset.spines[["top", "right", "left"]].set_visible(False)


def _draw_labels(axes: Axes, found: Sequence[labels.Accuracy]) -> None:
    looks = {
        labels.NEIGHBOURS: (BLUE, "s", "-", "neighbours as features (grls)"),
        labels.CONSTANT: (GREEN, "o", "--", "the same kernel alone"),
        labels.PEER: (ORANGE, "D", ":", "SVC"),
    }
    for method, (colour, marker, dashes, label) in looks.items():
        mine = [a for a in found if a.method == method]
        axes.errorbar(
            [a.n_labels for a in mine],
            [100 * a.mean for a in mine],
            yerr=[200 * a.error for a in mine],
            color=colour,
            marker=marker,
            ls=dashes,
            ms=5.5,
            lw=1.8,
            elinewidth=1,
            capsize=2,
            label=label,
        )
    sizes = sorted({a.n_labels for a in found})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.grid(axis="y", color="#DDDDDD", lw=0.7)
    axes.legend(fontsize=_SMALL, frameon=False, loc="lower right")
    _dress(axes, "Digits with few labels and many neighbours", "labels of each digit", "right answers, %")


def draw(
    figure: Figure,
    forecasts: Sequence[co2.Forecast],
    spectrum: tuple[FloatArray, FloatArray],
    measured: Sequence[law.Measured],
    accuracies: Sequence[labels.Accuracy],
) -> None:
    """Draw the three scenes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure.
    forecasts : sequence of Forecast
        Among them those after `co2.LAST_YEAR`.
    spectrum : tuple of ndarray
        The spectrum and its background.
    measured : sequence of Measured
        The dye in it, with the law free beside the kernel, and with the law alone.
    accuracies : sequence of Accuracy
        Of the digits.
    """
    panels = figure.subplot_mosaic([["forecast", "forecast"], ["law", "labels"]])
    _draw_forecast(panels["forecast"], forecasts)
    _draw_law(panels["law"], *spectrum, measured)
    _draw_labels(panels["labels"], accuracies)
