"""
Learning from cousins of the task
=================================

Twenty rows and sixty columns: hopeless, unless other tasks have shown which columns matter.
``TransferPrior`` learns a variance for each weight from labelled cousins; the model of the new task
starts from there.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import PriorRLSRegressor, TransferPrior

# %%
# Tasks with weights of their own, but large on the same eight columns.

rng = np.random.default_rng(1)
scale = np.where(np.arange(60) % 8 == 0, 2.0, 0.05)


def task(n):
    """Return rows and targets of a new task."""
    X = rng.normal(size=(n, 60))
    return X, X @ (scale * rng.normal(size=60)) + 0.3 * rng.normal(size=n)


prior = TransferPrior().fit([task(120) for _ in range(8)])

# %%
sizes = (10, 20, 40, 80, 160)
scores = np.zeros((10, len(sizes), 2))
for run in range(10):
    X, y = task(660)
    for i, n in enumerate(sizes):
        for j, covariance in enumerate((None, prior)):
            model = PriorRLSRegressor(covariance=covariance, regularization="loo").fit(X[:n], y[:n])
            scores[run, i, j] = model.score(X[160:], y[160:])

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.stem(prior.covariance_, basefmt=" ", linefmt="C0", markerfmt="C0o")
left.set(xlabel="column", ylabel="variance learnt from eight tasks", yscale="log")
for j, (name, style) in enumerate((("plain ridge", "s--C1"), ("with the learnt prior", "o-C0"))):
    right.plot(sizes, scores[:, :, j].mean(axis=0), style, label=name)
right.set(
    xscale="log", xticks=sizes, xticklabels=sizes, xlabel="rows of the new task", ylabel="R² on new rows"
)
right.minorticks_off()
right.grid(alpha=0.3)
right.legend(loc="lower right")
plt.show()
