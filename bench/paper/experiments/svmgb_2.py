"""SVM-GB, figure 2: fixed kernels and regularisation; features make the answer depend less on them."""

import numpy as np
from matplotlib import pyplot as plt

from ..registry import Finding, experiment
from ._accuracy import LOOKS
from ._coil import FILE, FREE, PLAIN, accuracy, images

METHODS = (*PLAIN, *FREE)
PAIRS = {"SVM-GB": "SVM", "G-RLSC": "RLSC"}


@experiment(
    title="Objects from all sides, with kernels that nobody has tuned",
    source="SVM-GB, figure 2",
    claim="the generalised bias makes SVM-GB more stable to variations of kernel and regularisation",
    parameters={
        "per_class": 48,
        "graph": 2,
        "groups": [[0.02, 100.0], [0.1, 1.0], [0.5, 10.0], [2.5, 0.01]],  # σ in medians of the distance; C
    },
    quick={"per_class": 6},
    data=[FILE],
)
def svmgb_2(run):
    data = images()
    train, test = data.split(run.per_class)
    for width, cost in run.progress(run.groups, "group of parameters"):
        sigma = width * data.median_distance
        for method in METHODS:
            graph = run.graph if method in FREE else None
            run.cell(
                lambda m=method, g=graph, s=sigma, c=cost: {"accuracy": accuracy(m, g, train, test, s, c)},
                width=width,
                C=cost,
                method=method,
            )

    def of(method):
        return np.array([100 * r["accuracy"] for r in run.rows if r["method"] == method])

    figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    places = np.arange(len(run.groups))
    for shift, method in enumerate(METHODS):
        ax.bar(places + 0.2 * (shift - 1.5), of(method), 0.19, color=LOOKS[method][0], label=method)
    labels = [f"σ = {width:g} medians\nC = {cost:g}" for width, cost in run.groups]
    ax.set_xticks(places, labels, fontsize=9)
    ax.set_ylabel("test accuracy, %")
    ax.set_ylim(0, 112)
    ax.legend(frameon=False, ncols=4, loc="upper center")
    run.save(figure)
    run.summary(
        ["σ in medians of the distance", "C", *METHODS],
        [
            [f"{width:g}", f"{cost:g}", *(f"{of(method)[i]:.1f}" for method in METHODS)]
            for i, (width, cost) in enumerate(run.groups)
        ],
    )
    return [
        Finding(
            f"{free} is more stable to the variations of kernel and regularisation parameters",
            f"{free} {of(free).min():.1f} to {of(free).max():.1f}, "
            f"{plain} {of(plain).min():.1f} to {of(plain).max():.1f}",
            bool(np.ptp(of(free)) < np.ptp(of(plain))),
        )
        for free, plain in PAIRS.items()
    ]
