"""
Which inputs matter: widths and directions
==========================================

Ten columns, and the target sees one direction across five of them. A width for each column cannot turn;
``optimize="metric"`` learns the direction, and its importances say how much of each column is in it.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 10))
direction = np.r_[1.0, -1.0, 1.0, -1.0, 1.0, np.zeros(5)] / np.sqrt(5)
y = np.sin(1.5 * X @ direction) + 0.1 * rng.normal(size=900)
train, test = slice(0, 250), slice(250, None)

# %%
methods = {
    "one width": GRLSRegressor(Gaussian(), optimize=True),
    "a width for each": GRLSRegressor(Gaussian("medians"), regularization="reml", optimize=True),
    "metric": GRLSRegressor(Gaussian(), optimize="metric"),
}
scores = {name: model.fit(X[train], y[train]).score(X[test], y[test]) for name, model in methods.items()}
learnt = methods["metric"].metric_

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.5))
left.barh(list(scores), list(scores.values()), color=["C1", "C2", "C0"])
left.invert_yaxis()
left.set(title="R² on new rows", xlim=(0, 1))
middle.bar(np.arange(10), methods["metric"].feature_importances_)
middle.set(title="importances (metric)", xlabel="column", xticks=np.arange(10))
bound = np.abs(learnt).max()
right.imshow(learnt, cmap="RdBu", vmin=-bound, vmax=bound)
right.set(title="the metric: of rank one, nearly", xlabel="column", ylabel="column")
plt.show()
