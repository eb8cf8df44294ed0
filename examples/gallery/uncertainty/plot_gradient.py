"""
The slope of a fitted function
==============================

Growth rates, forces, sensitivities: often the slope is wanted rather than the value. It is exact, for the
kernel and the features together.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian

# %%
# A hill with a slope to one side, from 150 noisy readings; a linear trend is free.

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(150, 2))


def hill(X):
    """Return heights."""
    return 0.5 * X[:, 0] + 2 * np.exp(-(X**2).sum(axis=1))


def slope_of_hill(X):
    """Return the true gradient."""
    return np.array([0.5, 0.0]) - 4 * X * np.exp(-(X**2).sum(axis=1))[:, None]


y = hill(X) + 0.05 * rng.normal(size=150)
model = GRLSRegressor(Gaussian(1.0), features="linear", optimize=True, regularization="reml").fit(X, y)

axis = np.linspace(-1.9, 1.9, 14)
points = np.column_stack([g.ravel() for g in np.meshgrid(axis, axis)])
mean, gradient = model.predict(points, return_gradient=True)
error = np.sqrt(np.mean((gradient - slope_of_hill(points)) ** 2))

# %%
fine = np.linspace(-2, 2, 80)
grid = np.column_stack([g.ravel() for g in np.meshgrid(fine, fine)])
fig, ax = plt.subplots(figsize=(6, 4.8))
shown = ax.contourf(fine, fine, model.predict(grid).reshape(80, 80), 20, cmap="viridis")
ax.quiver(*points.T, *gradient.T, color="white", width=0.004)
ax.plot(*X.T, ".", color="0.1", markersize=2)
ax.set(xlabel="$x_0$", ylabel="$x_1$", aspect="equal")
ax.set_title(f"fitted surface and its gradient\n(mean error of a component {error:.2f})")
fig.colorbar(shown, label="height")
plt.show()
