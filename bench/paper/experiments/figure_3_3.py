"""Thesis, figure 3.3: decision boundaries of a kernel machine with a linear, a Gaussian and a log kernel."""

import grls
import numpy as np
from grls.kernels import Gaussian, Linear, Log
from grls.plotting import DecisionBoundaryDisplay
from grls.plotting._style import scatter_classes
from matplotlib import pyplot as plt
from scipy import ndimage
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from ..registry import Finding, experiment
from ._planar import overlapping


def machine(kernel, C):
    """Return the classifier that is drawn."""
    return grls.SVMGBClassifier(kernel, C=C)


KERNELS = {
    "linear": (Linear(), r"$x^T y$"),
    "Gaussian": (Gaussian(sigma=0.1), r"$\exp(-\|x - y\|^2 / (2 \cdot 0.1^2))$"),
    "log": (Log(p=0.5), r"$-\log(\|x - y\|^{0.5} + 1)$"),
}


@experiment(
    title="Decision boundaries with different kernels",
    source="RKHS thesis, figure 3.3",
    claim="where classes overlap the boundary follows the kernel: a line, or a curve as winding as it takes",
    parameters={"n": 300, "noise": 0.1, "folds": 5, "C": 1.0},
    quick={"n": 90, "folds": 2},
)
def figure_3_3(run):
    X, y = overlapping(run.n, run.rng(), noise=run.noise)
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    scatter_classes(axes[0, 0], X, y)
    axes[0, 0].set_title("(a) input: classes that overlap")
    found = {}
    for ax, letter, (name, (kernel, formula)) in zip(axes.flat[1:], "bcd", KERNELS.items(), strict=True):
        model = machine(kernel, run.C).fit(X, y)
        display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
        ax.set_title(f"({letter}) {name} kernel, {formula}")
        positive = display.response > 0
        svm = SVC(kernel=lambda a, b, k=kernel: k(a, b), C=run.C)
        found[name] = run.add(
            kernel=name,
            training=model.score(X, y),
            cross_validation=cross_val_score(machine(kernel, run.C), X, y, cv=run.folds).mean(),
            pieces=ndimage.label(positive)[1] + ndimage.label(~positive)[1],
            same_as_svc=np.mean(svm.fit(X, y).predict(X) == model.predict(X)),
        )
    for ax in axes.flat:
        ax.set_aspect("equal")
    run.save(figure)

    def told(name):
        row = found[name]
        return (
            f"{row['cross_validation']:.1%} right in cross-validation, {row['training']:.1%} on the training "
            f"points, {row['pieces']} regions"
        )

    accuracy = {name: row["cross_validation"] for name, row in found.items()}
    return [
        Finding("the linear kernel draws a line", told("linear"), found["linear"]["pieces"] == 2),
        Finding(
            "the Gaussian kernel bends it to the data",
            told("Gaussian"),
            accuracy["Gaussian"] > accuracy["linear"],
        ),
        Finding("so does the log kernel", told("log"), accuracy["log"] > accuracy["linear"]),
    ]
