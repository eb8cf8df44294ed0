"""
A hundred thousand rows on a few hundred centres
================================================

The exact model keeps a matrix of all rows. On centres, time and memory grow linearly with the rows, which
may come in blocks. How many centres are enough shows on rows that were held out.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from grls import NystromGRLSRegressor
from grls.exceptions import FewCentersWarning
from grls.kernels import Gaussian

warnings.simplefilter("ignore", FewCentersWarning)  # too few are tried on purpose
rng = np.random.default_rng(0)


def block(n):
    """Return rows: a trend in the first column, waves in all."""
    X = rng.uniform(-3, 3, size=(n, 3))
    truth = X[:, 0] + np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.5 * np.sin(2 * X[:, 2])
    return X, truth + 0.3 * rng.normal(size=n), truth


X, y, _ = block(20_000)
X_new, _, truth = block(2_000)

# %%
numbers = (25, 50, 100, 200, 400)
errors = []
for n_centers in numbers:
    model = NystromGRLSRegressor(Gaussian(1.0), features="linear", n_centers=n_centers).fit(X, y)
    errors.append(np.sqrt(np.mean((model.predict(X_new) - truth) ** 2)))

# %%
# Blocks of rows one after the other, as from files: nothing of them is kept but sums.

stream = NystromGRLSRegressor(Gaussian(1.0), features="linear", n_centers=200)
seen, progress = 0, []
for _ in range(10):
    rows, targets, _ = block(10_000)
    stream.partial_fit(rows, targets)
    seen += len(rows)
    progress.append((seen, np.sqrt(np.mean((stream.predict(X_new) - truth) ** 2))))

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.semilogx(numbers, errors, "o-")
left.set(
    xticks=numbers,
    xticklabels=numbers,
    xlabel="centres (20,000 rows)",
    ylabel="distance from the truth",
    ylim=(0, None),
)
left.minorticks_off()
right.plot(*np.array(progress).T, "o-", color="C1")
right.set(xlabel="rows seen (200 centres)", ylabel="distance from the truth", ylim=(0, 0.15))
for ax in (left, right):
    ax.grid(alpha=0.3)
plt.show()
