"""Thesis, appendix B and figure B.1: the Gaussian kernel's feature space, and what its width does there."""

import numpy as np
from grls import MercerExpansion, SVMGBClassifier
from grls.kernels import Gaussian
from grls.plotting import DecisionBoundaryDisplay
from matplotlib import pyplot as plt

from ..registry import Finding, experiment
from ._planar import winding

WIDTHS = {"small": 0.03, "middle": 0.15, "large": 1.5}


@experiment(
    title="The feature space of the Gaussian kernel, and its width",
    source="RKHS thesis, appendix B and figure B.1",
    claim="a small σ has low bias and high variance, a large one the reverse; the dimension is bounded by "
    "the size of the training sample only",
    parameters={"n": 200, "new": 2000, "turns": 1.0, "noise": 0.06, "cost": 10.0},
    quick={"n": 80, "new": 400},
)
def figure_b_1(run):
    X, y = winding(run.n, run.rng(1), turns=run.turns, noise=run.noise)
    X_new, y_new = winding(run.new, run.rng(2), turns=run.turns, noise=run.noise)
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    rows = {}
    for ax, (name, width) in zip(axes, WIDTHS.items(), strict=True):
        model = SVMGBClassifier(Gaussian(width), C=run.cost).fit(X, y)
        spectrum = MercerExpansion(kernel=Gaussian(width)).fit(X).eigenvalues_
        rows[name] = run.add(
            sigma=width,
            trained=model.score(X, y),
            new=model.score(X_new, y_new),
            support_vectors=len(model.support_),
            dimension=len(spectrum),
            effective=float(spectrum.sum() ** 2 / (spectrum**2).sum()),
        )
        DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
        ax.set_title(
            f"σ = {width:g}: {rows[name]['trained']:.0%} in training, {rows[name]['new']:.0%} beyond"
        )
    run.save(figure)

    def gap(name):
        return rows[name]["trained"] - rows[name]["new"]

    dimensions = [rows[name]["effective"] for name in WIDTHS]
    return [
        Finding(
            "small σ: low bias and high variance; large σ: the reverse",
            "; ".join(f"σ = {r['sigma']:g}: {r['trained']:.1%} / {r['new']:.1%}" for r in rows.values()),
            bool(gap("small") > gap("middle") and rows["large"]["trained"] < rows["middle"]["trained"]),
        ),
        Finding(
            "the dimension of the feature space is that of the sample at most, and falls as σ grows",
            f"{', '.join(str(rows[name]['dimension']) for name in WIDTHS)} eigenvalues above rounding of "
            f"{run.n}; (Σμ)²/Σμ²: {', '.join(f'{d:.0f}' for d in dimensions)}",
            bool(np.all(np.diff(dimensions) < 0) and rows["small"]["dimension"] == run.n),
        ),
    ]
