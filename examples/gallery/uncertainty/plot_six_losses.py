"""
The same data under six losses
==============================

Positive values that scatter more where they are large, and a few that are far off. Each loss answers another
question about them, with the same kernel and the same features.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor, GRRegressor
from grls.kernels import Gaussian

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 10, 150))[:, None]
mean = np.exp(0.6 + 0.12 * x[:, 0] + 0.5 * np.sin(x[:, 0]))
y = mean * rng.gamma(12.0, 1 / 12.0, 150)
y[::15] += rng.uniform(6, 14, 10)
grid = np.linspace(0, 10, 300)[:, None]
kernel = Gaussian(1.5)

# %%
# Two are about the middle without the outliers (Huber's loss, the median), one about a range of which half a
# unit does not matter (ε-insensitive: support vectors), one about the upper side (an expectile), one about
# the share of values below (quantiles), and one about a mean whose error is in per cent (gamma). Least
# squares are drawn beside each.

models = {
    "Huber": GRRegressor(kernel, loss="huber"),
    "absolute: the median": GRRegressor(kernel, loss="absolute"),
    "ε-insensitive, ε = 0.5": GRRegressor(kernel, loss="epsilon_insensitive", epsilon=0.5),
    "expectile of 0.9": GRRegressor(kernel, loss="expectile", quantiles=0.9),
    "quantiles of 0.1, 0.5, 0.9": GRRegressor(
        kernel, loss="quantile", quantiles=[0.1, 0.5, 0.9], non_crossing=True
    ),
    "gamma: the mean, with its band": GRRegressor(kernel, loss="gamma"),
}
plain = GRLSRegressor(kernel).fit(x, y).predict(grid)
for model in models.values():
    model.fit(x, y)

# %%
# Huber's loss says which rows it took for outliers (crosses); it knows one noise for all x, so that around
# the peak, where the noise is largest, some low values are among them. The quantiles of 0.1 and 0.5 hardly
# feel the outliers, that of 0.9 does: one row in fifteen is a part of the upper tenth. So does the mean of
# the gamma loss, which knows no outliers.

fig, axes = plt.subplots(2, 3, figsize=(11, 6.4), sharex=True, sharey=True)
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    ax.plot(x, y, ".", color="0.6", markersize=4)
    ax.plot(grid, plain, "C1", linewidth=1, label="least squares")
    ax.plot(grid, model.predict(grid), "C0")
    ax.set_title(name)
huber = models["Huber"].outliers_
axes[0, 0].plot(x[huber], y[huber], "kx", markersize=5, label="outliers")
low, high = models["gamma: the mean, with its band"].predict_interval(grid, 0.05, with_noise=False).T
axes[1, 2].fill_between(grid[:, 0], low, high, alpha=0.3)
axes[0, 0].set_ylim(0, 24)
axes[0, 0].legend(loc="upper left", ncols=2)
for ax in axes[1]:
    ax.set_xlabel("x")
plt.show()
