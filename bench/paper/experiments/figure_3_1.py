"""Thesis, figure 3.1: kernel PCA of two concentric clouds with three kernels."""

import numpy as np
from grls import KernelPCA
from grls.kernels import Constant, Gaussian, Linear, Polynomial
from grls.plotting import ComponentsDisplay
from grls.plotting._style import scatter_classes
from matplotlib import pyplot as plt

from ..registry import Finding, experiment
from ._planar import clouds, separable

KERNELS = {
    "Gaussian": (Gaussian(sigma=1 / np.sqrt(2)), r"$\exp(-\|x - y\|^2)$"),
    "linear": (Linear() + Constant(1.0), r"$x^T y + 1$"),
    "polynomial": (Polynomial(degree=2, c=1.0), r"$(x^T y + 1)^2$"),
}


def threshold_accuracy(values, labels):
    """Return the accuracy of the best threshold on one component."""
    order = np.argsort(values, kind="stable")
    ones = np.concatenate([[0], np.cumsum(labels[order] == 1)])
    zeros = np.arange(len(values) + 1) - ones
    right = zeros + (ones[-1] - ones)  # zeros below the threshold, ones above
    return max(right.max(), len(values) - right.min()) / len(values)


@experiment(
    title="Kernel PCA of two concentric clouds",
    source="RKHS thesis, figure 3.1",
    claim="kernel PCA with a Gaussian or polynomial kernel tells the two clouds apart, with a linear one not",
    parameters={"n": 300, "inner": 0.3, "outer": 1.5, "noise": 0.12, "components": 5},
    quick={"n": 80},
)
def figure_3_1(run):
    X, y = clouds(run.n, run.rng(), inner=run.inner, outer=run.outer, noise=run.noise)
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    scatter_classes(axes[0, 0], X, y)
    axes[0, 0].set_aspect("equal")
    axes[0, 0].set_title("(a) input")
    best = {}
    for ax, letter, (name, (kernel, formula)) in zip(axes.flat[1:], "bcd", KERNELS.items(), strict=True):
        model = KernelPCA(run.components, kernel, remove_zero_eig=True).fit(X)
        Z = model.transform(X)
        one = [threshold_accuracy(z, y) for z in Z.T]
        telling = int(np.argmax(one))
        shown = (telling, 1 if telling == 0 else 0)
        best[name] = shown, max(one), *(separable(A, y) for A in (Z[:, shown], Z[:, :2], Z))
        for k, share in enumerate(model.explained_variance_ratio_):
            run.add(kernel=name, component=k + 1, variance=share, threshold_accuracy=one[k])
        ComponentsDisplay.from_estimator(model, X, y, components=shown, ax=ax)
        ax.get_legend().remove()
        ax.set_title(f"({letter}) {name} kernel, {formula}")
    run.save(figure)

    def told(name):
        shown, accuracy, by_shown, by_two, by_all = best[name]
        yes = {True: "yes", False: "no"}
        return (
            f"separable in the plane that the panel shows, components {shown[0] + 1} and {shown[1] + 1}: "
            f"{yes[by_shown]} (component {shown[0] + 1} alone: {accuracy:.1%}); in that of the first two: "
            f"{yes[by_two]}; in the space of {run.components}: {yes[by_all]}"
        )

    # Judged by what the panel shows; of the linear kernel no plane and no space may do it.
    return [
        Finding("the Gaussian kernel tells the clouds apart", told("Gaussian"), best["Gaussian"][2]),
        Finding("the linear kernel does not", told("linear"), not best["linear"][4]),
        Finding("the polynomial kernel tells them apart", told("polynomial"), best["polynomial"][2]),
    ]
