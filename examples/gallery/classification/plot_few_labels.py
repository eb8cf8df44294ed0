"""
Few labels: neighbours along the data
=====================================

Four labels a class, and six hundred points without one that show the shape of the data. The classes of
the nearest labelled points *along that shape* go in as free features; the kernel alone sees straight
distances only.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSClassifier
from grls.features import GeodesicKNN
from grls.plotting import DecisionBoundaryDisplay

rng = np.random.default_rng(0)
COLOURS = np.array(["#0072b2", "#d55e00", "#009e73"])


def spirals(n):
    """Return points on three arms, and the arms."""
    arm = rng.integers(3, size=n)
    t = np.sqrt(rng.uniform(0.05, 1, n))
    angle = 2 * np.pi * arm / 3 + 5 * t
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + 0.02 * rng.normal(size=(n, 2)), arm


pool, arms = spirals(600)
X_new, y_new = spirals(2000)
labelled = np.concatenate([np.flatnonzero(arms == arm)[:4] for arm in range(3)])
X, y = pool[labelled], arms[labelled]

# %%
# ``unlabelled`` takes all points of the pool. A training row never meets its own label in its features.

neighbours = GeodesicKNN(3, graph_neighbors=6, unlabelled=pool)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True)
names = ("kernel alone", "neighbours as free features")
for ax, features, name in zip(axes, ("constant", neighbours), names, strict=True):
    model = GRLSClassifier("gaussian", features=features).fit(X, y)
    right = model.score(X_new, y_new)
    ax.plot(*pool.T, ".", color="0.4", markersize=1.5, zorder=1)
    DecisionBoundaryDisplay.from_estimator(model, pool, ax=ax)
    ax.scatter(*X.T, c=COLOURS[y], s=45, edgecolor="black", zorder=3)
    ax.set(title=f"{name}: {right:.1%} right", xlabel="$x_0$", ylabel="$x_1$", aspect="equal")
axes[1].set_ylabel("")
plt.show()

# %%
# It helps as far as classes follow the shape of the data. With many labels the kernel finds the shape by
# itself, and where classes cut across it neighbours mislead: leave-one-out decides with
# ``feature_variance="auto"``.
