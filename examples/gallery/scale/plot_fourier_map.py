"""
A map of two hundred thousand rows, with a drift
================================================

A plane is known by its form and fitted freely; the kernel learns what is left of it. The kernel is written
as Fourier modes, so that the equations are as large for two hundred thousand rows as for two thousand.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import FourierGRLSRegressor
from grls.kernels import Matern

rng = np.random.default_rng(0)


def surface(X):
    """Return the truth: a plane, hills on it, and ripples in one corner."""
    x, y = X.T
    hills = np.sin(6 * x) * np.cos(5 * y)
    return 4 * x - 2 * y + hills + 0.4 * np.sin(40 * x) * np.exp(-8 * (x**2 + y**2))


X = rng.uniform(size=(200_000, 2))
y = surface(X) + 0.5 * rng.normal(size=len(X))

# %%
# The noise's variance over the kernel's, 0.25 and about 1, is what γ times the number of rows stands for.

model = FourierGRLSRegressor(Matern(0.2), features="linear", regularization=0.25 / len(X), tol=5e-3)
model.fit(X, y)
print(f"modes {model.n_modes_}, error of the kernel {model.kernel_error_:.4f}")
print(f"error of the fit {model.fit_error_:.4f}")
print(f"noise {np.sqrt(model.noise_variance_[0]):.3f}")

# %%
# The prediction in the corner of the ripples, and what the kernel says beside the plane.

side = np.linspace(0, 1, 120)
grid = np.stack([a.ravel() for a in np.meshgrid(side, side, indexing="ij")], axis=1)
parts = model.decompose(grid)
few = grid[:: 120 * 12 + 7]
mean, std = model.predict(few, return_std=True)
print(f"error {np.sqrt(np.mean((mean - surface(few)) ** 2)):.3f}, standard deviation {std.mean():.3f}")

fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
learnt = parts.features + parts.learnt
for ax, values, title in zip(
    axes, (surface(grid), learnt, parts.learnt), ("truth", "fitted", "what the kernel learnt"), strict=True
):
    image = ax.imshow(values.reshape(120, 120).T, origin="lower", extent=(0, 1, 0, 1))
    ax.set_title(title)
    fig.colorbar(image, ax=ax)
plt.show()
