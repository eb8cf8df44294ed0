"""
The empirical variogram beside the model's
==========================================

How fast do two readings become unlike each other with their distance? The variogram of the data shows it
without any model; the curve is what the fitted kernel, trend and noise expect. If they disagree, the
kernel is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian, Laplace
from grls.plotting import VariogramDisplay

# %%
# A rough field with a trend, at 250 places.

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, size=(250, 2))
covariance = Laplace(2.0)(X)
field = np.linalg.cholesky(covariance + 1e-10 * np.eye(250)) @ rng.normal(size=250)
y = 0.4 * X[:, 0] + field + 0.3 * rng.normal(size=250)

# %%
# A kernel of smooth functions has to call much of the field noise: its curve starts too high, which is a
# wrong nugget, and levels off too early.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
for ax, kernel in zip(axes, (Laplace(1.0), Gaussian(1.0)), strict=True):
    model = GRLSRegressor(kernel, features="linear", regularization="reml", optimize=True).fit(X, y)
    VariogramDisplay.from_estimator(model, ax=ax)
    likelihood = model.summary(n_simulations=0).restricted_log_likelihood
    ax.set_title(f"{type(kernel).__name__}: restricted log-likelihood {likelihood:.1f}")
axes[1].set_ylabel("")
plt.show()
