"""
A forecast with a known trend and season
========================================

Monthly readings rise, swing with the year, and wander. A plain kernel method falls back to the mean where
the data end; with trend and season as free features the forecast goes on, and its band says how far to
trust it.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian

# %%
# Thirty years of months: a curved trend, two harmonics of the year, a slow wandering, noise. The last ten
# years are kept for the test.

rng = np.random.default_rng(3)
year = 2000 + np.arange(360) / 12
wander = np.convolve(rng.normal(size=500), np.exp(-(np.linspace(-2.5, 2.5, 61) ** 2)), mode="same")[:360]
level = 330 + 1.2 * (year - 2000) + 0.012 * (year - 2000) ** 2
season = 3 * np.sin(2 * np.pi * year) + np.cos(4 * np.pi * year)
y = level + season + 0.3 * wander + 0.3 * rng.normal(size=360)
X, past = year[:, None], year < 2020


# %%
# The trend is a parabola, the season two waves with the period of a year. The kernel is left with the
# wandering.


def trend_and_season(X):
    """Return a parabola and two harmonics of the year."""
    t = X[:, 0] - 2010
    waves = [f(2 * np.pi * k * t) for k in (1, 2) for f in (np.sin, np.cos)]
    return np.column_stack([np.ones_like(t), t, t**2, *waves])


settings = {"kernel": Gaussian(sigma=2.0), "regularization": "reml", "optimize": True}
plain = GRLSRegressor(**settings).fit(X[past], y[past])
model = GRLSRegressor(features=trend_and_season, **settings).fit(X[past], y[past])

# %%
# Bands of 95 % for a new reading. Both models choose the width of their kernel and γ by the restricted
# likelihood.

fig, axes = plt.subplots(2, 1, figsize=(8, 6), sharex=True)
names = ("kernel alone", "trend and season as features")
for ax, fitted, name in zip(axes, (plain, model), names, strict=True):
    mean, std = fitted.predict(X, return_std=True, with_noise=True)
    error = np.sqrt(np.mean((mean - y)[~past] ** 2))
    inside = np.mean(np.abs(mean - y)[~past] < 1.96 * std[~past])
    ax.fill_between(year, mean - 1.96 * std, mean + 1.96 * std, alpha=0.3, label="95 % band")
    ax.plot(year, mean, label="prediction")
    ax.plot(year, y, ".", color="0.2", markersize=3, label="readings")
    ax.axvline(2020, color="0.5", linestyle=":")
    ax.set(title=f"{name}: error {error:.2f}, {inside:.0%} in the band", xlim=(2012, 2030), ylim=(335, 390))
    ax.set(ylabel="level")
axes[0].legend(loc="upper left")
axes[1].set_xlabel("year (forecast from the dotted line on)")
plt.show()

# %%
# What the features found, with standard errors that know of the kernel beside them. (``n_simulations=0``
# leaves out the test of the kernel part, which takes some seconds.)

print(model.summary(n_simulations=0))
