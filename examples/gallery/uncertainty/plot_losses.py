"""
Outliers, quantiles and counts
==============================

Least squares is the mean of y, and every outlier moves it. The same kernel and features with other losses: a
robust mean, a range that widens with the noise, and a rate of counts that is never negative.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor, GRRegressor
from grls.kernels import Gaussian

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 120))[:, None]
truth = 0.5 * x[:, 0] + np.sin(x[:, 0])
kernel = Gaussian(1.5)

# %%
# One reading in ten is far off. Huber's loss becomes linear where the noise ends, which it finds by itself.

spoilt = truth + 0.2 * rng.normal(size=120)
spoilt[::10] += rng.uniform(4, 8, 12)
plain = GRLSRegressor(kernel, features="linear").fit(x, spoilt)
robust = GRRegressor(kernel, features="linear").fit(x, spoilt)

# %%
# Noise that grows with x: quantiles assume nothing of it.

wide = truth + 0.12 * (1 + x[:, 0]) * rng.normal(size=120)
levels = GRRegressor(kernel, features="linear", loss="quantile", quantiles=[0.1, 0.5, 0.9], non_crossing=True)
low, middle, high = levels.fit(x, wide).predict(x).T

# %%
# Counts of events whose rate changes.

counts = rng.poisson(np.exp(0.5 * truth - 1))
rate = GRRegressor(kernel, features="linear", loss="poisson").fit(x, counts)
ends = rate.predict_interval(x, 0.05, with_noise=False)

# %%
fig, axes = plt.subplots(1, 3, figsize=(11, 3.8))
axes[0].plot(x, spoilt, ".", color="0.4")
axes[0].plot(x, truth, "k:", label="truth")
axes[0].plot(x, plain.predict(x), "C1", label="least squares")
axes[0].plot(x, robust.predict(x), "C0", label="Huber")
axes[0].set_title("outliers")
axes[1].plot(x, wide, ".", color="0.4")
axes[1].fill_between(x[:, 0], low, high, alpha=0.3, label="10 % to 90 %")
axes[1].plot(x, middle, "C0", label="median")
axes[1].set_title(f"{np.mean((wide > low) & (wide < high)):.0%} of the readings in the range")
axes[2].plot(x, counts, ".", color="0.4")
axes[2].plot(x, np.exp(0.5 * truth - 1), "k:", label="true rate")
axes[2].fill_between(x[:, 0], *np.moveaxis(ends, -1, 0), alpha=0.3, label="95 % interval")
axes[2].plot(x, rate.predict(x), "C0", label="rate")
axes[2].set_title("counts")
for ax in axes:
    ax.set_xlabel("x")
    ax.legend(loc="upper left")
plt.show()
