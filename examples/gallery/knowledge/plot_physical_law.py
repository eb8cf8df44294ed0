"""
A law with an unknown coefficient
=================================

A cup cools as Newton's law says, and the room about it does something that nobody has modelled. With the
law as a free feature its coefficient comes out with an honest interval, and the kernel shows what the law
misses. The law alone is too sure.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Matern
from scipy import stats

# %%
# Temperature falls as exp(−t/8) with an amplitude that we want to know: 60. The room drifts at random,
# smoothly, by a degree or two.

t = np.linspace(0, 30, 60)[:, None]
drift_root = np.linalg.cholesky(1.5**2 * Matern(4.0, 2.5)(t) + 1e-9 * np.eye(60))


def law(X):
    """Return the temperature of the room, and Newton's law of cooling."""
    return np.column_stack([np.ones(len(X)), np.exp(-X[:, 0] / 8)])


def experiment(seed):
    """Return the readings of an experiment."""
    rng = np.random.default_rng(seed)
    return 20 + 60 * np.exp(-t[:, 0] / 8) + drift_root @ rng.normal(size=60) + 0.2 * rng.normal(size=60)


def law_and_kernel(y):
    """Return the model, the amplitude and the half width of its 95 % interval."""
    model = GRLSRegressor(Matern(3.0, 2.5), features=law, regularization="reml", optimize=True).fit(t, y)
    std = np.sqrt(model.feature_covariance(unconditional=True)[1, 1])
    return model, model.feature_coef_[1], std * stats.t.ppf(0.975, model.feature_degrees_of_freedom()[1])


def law_alone(y):
    """Return the amplitude by ordinary least squares, and the half width of its interval."""
    T = law(t)
    beta, rss, *_ = np.linalg.lstsq(T, y, rcond=None)
    std = np.sqrt(rss[0] / (60 - 2) * np.linalg.inv(T.T @ T)[1, 1])
    return beta[1], std * stats.t.ppf(0.975, 60 - 2)


# %%
# One experiment, and the intervals of twenty. Least squares takes the drift for independent noise.

model, *_ = law_and_kernel(experiment(0))
with_kernel = np.array([law_and_kernel(experiment(seed))[1:] for seed in range(20)])
without = np.array([law_alone(experiment(seed)) for seed in range(20)])

line = np.linspace(0, 36, 300)[:, None]
known, _ = model.decompose(line)
mean, band = model.predict(line, return_std=True)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.8), width_ratios=(4, 3, 3))
axes[0].plot(t, experiment(0), "o", color="0.3", markersize=3, label="readings")
axes[0].fill_between(line[:, 0], mean - 2 * band, mean + 2 * band, color="C0", alpha=0.3)
axes[0].plot(line, mean, "C0", label="law + kernel")
axes[0].plot(line, known, "C1--", label="the law's share")
axes[0].set(xlabel="time", ylabel="temperature", title="one experiment")
axes[0].legend()
for ax, found, name in zip(axes[1:], (without, with_kernel), ("law alone", "law + kernel"), strict=True):
    covers = np.abs(found[:, 0] - 60) < found[:, 1]
    colours = np.where(covers, "C0", "C3")
    ax.hlines(np.arange(20), found[:, 0] - found[:, 1], found[:, 0] + found[:, 1], colours)
    ax.scatter(found[:, 0], np.arange(20), c=colours, s=12)
    ax.axvline(60, color="0.4", linestyle=":")
    ax.set(title=f"{name}:\n{covers.sum()} of 20 intervals cover 60", xlabel="amplitude", yticks=[])
    ax.set_xlim(50, 70)
plt.show()
