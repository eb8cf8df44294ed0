"""Thesis, figure 1.1: points no line separates, and the circle that does."""

import numpy as np
from grls import GRLSClassifier
from grls.kernels import Linear
from grls.plotting import DecisionBoundaryDisplay
from matplotlib import pyplot as plt

from ..registry import Finding, experiment
from ._planar import clouds, separable

# All six terms of eq. (1.1) are features. Nothing is left to a linear kernel, and any γ gives the same.
NOTHING_LEFT = 1.0


@experiment(
    title="Example of nonlinear data",
    source="RKHS thesis, figure 1.1",
    claim="two concentric clouds are linearly non-separable, and a good boundary is a circle, eq. (1.1)",
    parameters={"n": 300, "inner": 0.5, "outer": 2.0, "noise": 0.2},
    quick={"n": 80},
)
def figure_1_1(run):
    X, y = clouds(run.n, run.rng(), inner=run.inner, outer=run.outer, noise=run.noise)
    line = GRLSClassifier(Linear(), features="linear", regularization=NOTHING_LEFT).fit(X, y)
    curve = GRLSClassifier(Linear(), features="quadratic", regularization=NOTHING_LEFT).fit(X, y)
    terms = dict(zip(curve.feature_names_free_, curve.feature_coef_[:, 0], strict=True))
    for name, model in (("line", line), ("eq. (1.1)", curve)):
        run.add(boundary=name, accuracy=model.score(X, y))

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    DecisionBoundaryDisplay.from_estimator(line, X, y, ax=left)
    left.set_title("(a) the best line")
    DecisionBoundaryDisplay.from_estimator(curve, X, y, ax=right)
    right.set_title("(b) the best quadratic, eq. (1.1)")
    for ax in (left, right):
        ax.set_aspect("equal")
    run.save(figure)

    squares = np.array([terms["x0^2"], terms["x1^2"]])
    crossed = abs(terms["x0 x1"]) / np.abs(squares).mean()
    uneven = abs(squares[0] - squares[1]) / np.abs(squares).mean()
    return [
        Finding(
            "no line separates the clouds",
            f"the best errs on {1 - line.score(X, y):.0%}",
            not separable(X, y),
        ),
        Finding(
            "the boundary is a circle",
            f"coefficients of x², y² differ by {uneven:.1%}, that of xy is {crossed:.1%} of theirs; "
            f"accuracy {curve.score(X, y):.1%}",
            bool(uneven < 0.2 and crossed < 0.2 and curve.score(X, y) > 0.99),
        ),
    ]
