"""Thesis, figure 1.2: the same points in three dimensions, where a plane separates them."""

import numpy as np
from grls import GRLSClassifier
from grls.kernels import Linear
from grls.plotting._style import class_colors
from matplotlib import pyplot as plt

from ..registry import Finding, experiment
from ._planar import clouds, separable


@experiment(
    title="Nonlinear data in 3D space",
    source="RKHS thesis, figure 1.2",
    claim="with Z₁ = X₁², Z₂ = X₂², Z₃ = X₂ a plane separates the two clouds",
    parameters={"n": 300, "inner": 0.5, "outer": 2.0, "noise": 0.2},
    quick={"n": 80},
)
def figure_1_2(run):
    X, y = clouds(run.n, run.rng(), inner=run.inner, outer=run.outer, noise=run.noise)
    Z = np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, X[:, 1]])
    # The features span all planes, so nothing is left to the kernel, and any γ gives the same.
    plane = GRLSClassifier(Linear(), features="linear", regularization=1.0).fit(Z, y)
    flat = GRLSClassifier(Linear(), features="linear", regularization=1.0).fit(X, y)
    run.add(space="the plane", separable=separable(X, y), accuracy=flat.score(X, y))
    run.add(space="three dimensions", separable=separable(Z, y), accuracy=plane.score(Z, y))

    figure = plt.figure(figsize=(9.5, 4.4), layout="constrained")
    views = {"(a)": (22, -60), "(b) rotated: along the plane": (8, -45)}
    for place, (title, (elevation, azimuth)) in enumerate(views.items(), start=1):
        ax = figure.add_subplot(1, 2, place, projection="3d")
        for label, color in enumerate(class_colors(2)):
            ax.scatter(*Z[y == label].T, color=color, s=9, label=str(label), depthshade=False)
        ax.view_init(elevation, azimuth)
        ax.set_xlabel("$Z_1 = X_1^2$")
        ax.set_ylabel("$Z_2 = X_2^2$")
        ax.set_zlabel("$Z_3 = X_2$")
        ax.set_title(title)
        ax.set_box_aspect((1, 1, 0.9), zoom=0.92)
        ax.tick_params(pad=0)
    run.save(figure)
    return [
        Finding("no line separates them in the plane", "a linear program finds none", not separable(X, y)),
        Finding(
            "a plane separates them in three dimensions",
            f"accuracy of a plane {plane.score(Z, y):.1%}",
            separable(Z, y),
        ),
    ]
