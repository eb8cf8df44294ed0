"""
Features that may be wrong
==========================

Free features are believed. If there are many of them, or if they say nothing, that costs accuracy;
``feature_variance="auto"`` lets leave-one-out decide how free they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian

# %%
# Forty rows; the truth is smooth. Some features are columns that say a lot, others are noise.


def sample(n, useful, rng):
    """Return rows with 15 candidate columns, and targets of which a part lies in those columns."""
    X = rng.uniform(-2, 2, size=(n, 2))
    Z = rng.normal(size=(n, 15))
    weights = np.r_[3.0, -2.0, np.zeros(13)] if useful else np.zeros(15)
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + Z @ weights + 0.2 * rng.normal(size=n)
    return np.column_stack([X, Z]), y


def columns(X):
    """Return a constant and the candidate columns."""
    return np.column_stack([np.ones(len(X)), X[:, 2:]])


kernel = Gaussian(1.0).on([0, 1])
methods = {
    "no features": GRLSRegressor(kernel),
    "free": GRLSRegressor(kernel, features=columns),
    '"auto"': GRLSRegressor(kernel, features=columns, feature_variance="auto"),
}
errors = np.zeros((2, len(methods), 5))
for kind in (0, 1):
    for run in range(5):
        rng = np.random.default_rng(run)
        X, y = sample(40, kind == 0, rng)
        Xnew, ynew = sample(500, kind == 0, rng)
        for k, model in enumerate(methods.values()):
            errors[kind, k, run] = np.sqrt(np.mean((model.fit(X, y).predict(Xnew) - ynew) ** 2))

# %%
# Where features matter "auto" is as good as free ones, where they do not it is close to having none.

fig, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
for ax, kind, title in zip(axes, errors, ("features that matter", "features that say nothing"), strict=True):
    ax.boxplot(list(kind), tick_labels=list(methods), widths=0.6)
    ax.set(title=title, yscale="log", yticks=[0.3, 0.5, 1, 2, 4], yticklabels=[0.3, 0.5, 1, 2, 4])
    ax.minorticks_off()
    ax.grid(axis="y", alpha=0.3)
axes[0].set_ylabel("error on new rows, 5 draws")
plt.show()
