"""
Is the kernel needed at all?
============================

Two experiments with the same straight line; one of them bends. ``summary()`` tests whether the kernel
part is needed beside the line, by an exact restricted likelihood ratio, and says what the line is in
either case.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian
from grls.plotting import FitDisplay

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 10, 60))[:, None]
noise = 0.4 * rng.normal(size=60)
data = {"straight": 1 + 0.5 * x[:, 0] + noise, "bent": 1 + 0.5 * x[:, 0] + 0.5 * np.sin(x[:, 0]) + noise}

models = {
    name: GRLSRegressor(Gaussian(1.5), features="linear", regularization="reml").fit(x, y)
    for name, y in data.items()
}

# %%
# The band is of new readings. On the left the kernel has nothing to say; is the bend on the right real?

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    FitDisplay.from_estimator(model, x, data[name], ax=ax)
    ax.set(title=f"{name}: kernel part p = {model.summary().p_value:.4f}", xlabel="x")
axes[0].set_ylabel("y")
plt.show()

# %%
# The test says yes. Of the straight data:

print(models["straight"].summary())

# %%
# Of the bent ones. The standard error of the slope is larger, for a bend may look like a slope:

print(models["bent"].summary())
