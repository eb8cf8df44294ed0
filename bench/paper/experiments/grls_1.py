"""G-RLS, figure 1: noisy points of abs(5 - x), a Gaussian kernel of three widths, free features or none."""

import numpy as np
from matplotlib import pyplot as plt

from ..registry import Finding, experiment
from ._curve import (
    DOMAIN,
    GRLS,
    MARGIN,
    PUBLISHED,
    PUBLISHED_FIRST,
    RIDGE,
    WIDTHS,
    curve,
    noisy_points,
    truth,
)

METHODS = (GRLS, RIDGE, PUBLISHED, PUBLISHED_FIRST)
PRINTED = {PUBLISHED: "pivots by QR", PUBLISHED_FIRST: "the first points as pivots, to the letter"}
COLOURS = dict(zip(WIDTHS, ("#D55E00", "#0072B2", "#009E73"), strict=True))


def spread(fits, method, grid):
    """Return how far the curves of different widths are apart: root mean square over the domain."""
    curves = np.array([fit.model.predict(grid[:, None]) for fit in fits if fit.method == method])
    return float(np.sqrt(curves.var(axis=0).mean()))


def draw(fits, seed):
    x, y = noisy_points(seed)
    grid = np.linspace(DOMAIN[0] - MARGIN, DOMAIN[1] + MARGIN, 601)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for ax, method, title in zip(
        axes, (GRLS, RIDGE), ("(a) G-RLS, features 1, x, x²", "(b) ridge regression"), strict=True
    ):
        ax.plot(x[:, 0], y, "o", ms=3.5, mfc="white", mec="#888888")
        ax.plot(grid, truth(grid), color="black", lw=1, ls=(0, (4, 2)), label="|5 − x|")
        for fit in fits:
            if fit.method == method:
                label = f"σ = {fit.sigma:g}, {fit.width}"
                ax.plot(grid, fit.model.predict(grid[:, None]), color=COLOURS[fit.width], label=label)
        ax.set(title=title, xlabel="x", ylim=(-1.5, 8))
        ax.legend(frameon=False, fontsize=9, loc="upper center")
    return figure


@experiment(
    title="A regression example",
    source="G-RLS, figure 1",
    claim="polynomial features stabilise the results when σ varies; those of ridge regression differ",
    parameters={"draws": 20},
    quick={"draws": 3},
)
def grls_1(run):
    grid = np.linspace(*DOMAIN, 501)
    apart = {GRLS: [], RIDGE: []}
    for draw_number in run.progress(range(run.draws), "draw"):
        fits = curve(run.seed + draw_number, first_pivots=True)
        for fit in fits:
            run.add(
                draw=draw_number,
                method=fit.method,
                width=fit.width,
                sigma=fit.sigma,
                regularization=fit.regularization,
                inside=fit.inside,
                outside=fit.outside,
            )
        for method, values in apart.items():
            values.append(spread(fits, method, grid))
        if draw_number == 0:
            run.save(draw(fits, run.seed))

    def median(method, column, width=None):
        mine = [r[column] for r in run.rows if r["method"] == method and width in (None, r["width"])]
        return float(np.median(mine))

    body = [
        [method, width, *(f"{median(method, column, width):.3f}" for column in ("inside", "outside"))]
        for method in METHODS
        for width in (WIDTHS if method not in PRINTED else ("by CV",))
    ]
    run.summary(["method", "width", "error inside (median)", "error outside"], body)
    ratio = np.median(np.array(apart[RIDGE]) / np.array(apart[GRLS]))
    exact = median(GRLS, "inside", "by CV")
    return [
        Finding(
            "varying σ, different fitting results were obtained by ridge regression; for G-RLS the "
            "difference was not evident",
            f"curves of the three widths are {ratio:.1f} times as far apart without features (median of "
            f"{run.draws} draws; {np.median(apart[RIDGE]):.2f} against {np.median(apart[GRLS]):.2f})",
            bool(ratio > 1),
        ),
        *(
            Finding(
                f"the printed formula fits worse than the minimiser ({pivots})",
                f"error inside with σ and γ by cross-validation, median of {run.draws} draws: "
                f"{median(method, 'inside', 'by CV'):.3f} against {exact:.3f}",
                median(method, "inside", "by CV") > exact,
                ours=True,
            )
            for method, pivots in PRINTED.items()
        ),
    ]
