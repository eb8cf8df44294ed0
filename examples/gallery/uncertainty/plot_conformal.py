"""
Bands that hold in every group
==============================

Ordinary conformal bands hold for all rows together: too wide where noise is small, too narrow where it is
large. Features of a `ConformalRegressor` say where bands have to hold, here in two overlapping groups, and a
kernel lets their width follow x.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls.conformal import ConformalRegressor
from grls.kernels import Gaussian
from grls.plotting import CoverageDisplay
from sklearn.neighbors import KNeighborsRegressor

# %%
# Noise that grows with x, and is large in a group that the regressor does not know of.

rng = np.random.default_rng(0)


def draw(n):
    """Return rows and their values."""
    X = np.column_stack([rng.uniform(0, 1, n), rng.uniform(size=n) < 0.2])
    noise = 0.05 + 0.3 * X[:, 0] + 0.5 * X[:, 1]
    return X, np.sin(6 * X[:, 0]) + noise * rng.standard_normal(n)


X, y = draw(1600)
X_new, y_new = draw(4000)
groups = {"rare": lambda X: X[:, 1] == 1, "right": lambda X: X[:, 0] > 0.6}
regressor = KNeighborsRegressor(30)

# %%
# The same regressor with three promises.

models = {
    "all rows": ConformalRegressor(regressor, random_state=0),
    "groups": ConformalRegressor(regressor, features=groups, random_state=0),
    "groups and kernel": ConformalRegressor(
        regressor, features=groups, kernel=Gaussian(0.2).on([0]), regularization=1e-4, random_state=0
    ),
}
fig, axes = plt.subplots(2, 3, figsize=(11, 6), sharey="row", layout="constrained")
line = np.linspace(0, 1, 200)
for (name, model), (above, below) in zip(models.items(), axes.T, strict=True):
    model.fit(X, y)
    low, high = model.predict_interval(np.column_stack([line, np.zeros(200)])).T
    common = X_new[:, 1] == 0
    above.plot(X_new[common, 0], y_new[common], ".", color="0.7", markersize=1)
    above.fill_between(line, low, high, alpha=0.4)
    above.set(title=name, xlabel="x, rows outside the rare group")
    parts = {"all": np.ones(len(y_new), bool)} | {group: f(X_new) for group, f in groups.items()}
    ends = model.predict_interval(X_new)
    held = (ends[:, 0] <= y_new) & (y_new <= ends[:, 1])
    below.barh(list(parts), [held[rows].mean() for rows in parts.values()], color="C0")
    below.axvline(0.9, color="C3", linestyle="--")
    below.set(xlim=(0, 1), xlabel="share of rows in their band")
plt.show()

# %%
# With binomial intervals, which tell chance from a broken promise:

CoverageDisplay.from_estimator(models["groups and kernel"], X_new, y_new)
plt.show()
