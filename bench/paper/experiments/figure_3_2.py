"""Thesis, figure 3.2: the widest margin of separable points, and the budget of points that overlap."""

import numpy as np
from grls import SVMGBClassifier
from grls.plotting._style import GREY, ORANGE, scatter_classes
from matplotlib import pyplot as plt

from ..registry import Finding, experiment


def two_clouds(n, rng, distance):
    """Two normal clouds whose middles are `distance` apart along a diagonal."""
    labels = np.arange(n) % 2
    middle = 0.5 * distance * np.sqrt(0.5) * np.array([1.0, 1.0])
    return rng.normal(size=(n, 2)) + np.where(labels[:, None] == 1, middle, -middle), labels


def draw(ax, model, X, y):
    """Draw points, the boundary, the margins and the support vectors; of these, how far within they are."""
    scatter_classes(ax, X, y, s=22)
    w, b = model.coef_[0], model.intercept_[0]
    signs = np.where(y == model.classes_[1], 1, -1)
    slack = np.maximum(0, 1 - signs * model.decision_function(X))
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    reach = 1.1 * np.abs(X).max()
    for level, style in ((0, "-"), (1, "--"), (-1, "--")):
        foot = (level - b) * w / (w @ w)
        ends = foot + np.outer([-2 * reach, 2 * reach], along)
        ax.plot(*ends.T, style, color="black", lw=1.2 if level == 0 else 0.8)
    ax.scatter(*X[model.support_].T, s=70, facecolors="none", edgecolors=ORANGE, linewidths=1)
    for i in np.flatnonzero(slack > 1e-3):
        ax.plot(*np.stack([X[i], X[i] + signs[i] * slack[i] * w / (w @ w)]).T, color=GREY, lw=0.8)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.set_aspect("equal")
    return slack


@experiment(
    title="Support vector classifier: separable and overlapping points",
    source="RKHS thesis, figure 3.2 and eqs. (3.14)-(3.16)",
    claim="the widest margin is held by points on it; where classes overlap, some are on its wrong side",
    parameters={"n": 40, "distance": 5.5, "closer": 2.2, "cost": 1.0},
    quick={"n": 24},
)
def figure_3_2(run):
    figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    X, y = two_clouds(run.n, run.rng(1), run.distance)
    hard = SVMGBClassifier("linear", C=np.inf, tol=1e-8).fit(X, y)
    slack = draw(axes[0], hard, X, y)
    width = 2 / np.linalg.norm(hard.coef_[0])
    axes[0].set_title(f"(a) separable, C = ∞: margin 2M = {width:.2f}")
    signs = np.where(y == 1, 1, -1)
    on_margin = np.abs(signs * hard.decision_function(X) - 1) < 1e-3
    run.add(panel="separable", support_vectors=len(hard.support_), on_margin=on_margin.sum(), width=width)
    held = set(hard.support_) <= set(np.flatnonzero(on_margin))
    alone = SVMGBClassifier("linear", C=np.inf, tol=1e-8).fit(X[hard.support_], y[hard.support_])
    moved = np.abs(alone.coef_ - hard.coef_).max() / np.linalg.norm(hard.coef_)

    Z, t = two_clouds(run.n, run.rng(2), run.closer)
    soft = SVMGBClassifier("linear", C=run.cost, tol=1e-8).fit(Z, t)
    budget = draw(axes[1], soft, Z, t)
    axes[1].set_title(f"(b) overlapping, C = {run.cost:g}: Σξ = {budget.sum():.2f}")
    run.add(
        panel="overlapping",
        support_vectors=len(soft.support_),
        on_margin=int((np.abs(budget) < 1e-3)[soft.support_].sum()),
        width=2 / np.linalg.norm(soft.coef_[0]),
    )
    run.save(figure)
    try:
        SVMGBClassifier("linear", C=np.inf).fit(Z, t)
        refused = False
    except ValueError:
        refused = True
    return [
        Finding(
            "the margin of separable points is determined by those on it",
            f"{len(hard.support_)} support vectors, all on the margin: {'yes' if held else 'no'}; without "
            f"the other points the weights move by {moved:.0e}",
            bool(held and moved < 1e-3 and slack.max() < 1e-3),
        ),
        Finding(
            "overlapping points: some are on the wrong side of their margin by ξ, the others have ξ = 0",
            f"{(budget > 1e-3).sum()} of {run.n} points have ξ > 0; all of them are support vectors",
            bool((budget > 1e-3).any() and set(np.flatnonzero(budget > 1e-3)) <= set(soft.support_)),
        ),
        Finding(
            "without a budget (C = ∞) they have no solution", "refused" if refused else "solved", refused
        ),
    ]
