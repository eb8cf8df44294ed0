"""
The whole curve of γ, for the price of some fits
================================================

γ is chosen in closed form, and the curve of the criterion is kept: a flat one says that γ hardly matters,
a minimum at the edge that something is wrong. With a width beside it, it is a map.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Matern
from grls.plotting import CriterionContourDisplay, RegularizationPathDisplay

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 120))[:, None]
y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 0] + 0.3 * rng.normal(size=120)

# %%
# Exact leave-one-out and the restricted likelihood need not agree; where they do, trust them more.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6))
for ax, criterion in zip(axes, ("loo", "reml"), strict=False):
    model = GRLSRegressor(Matern(1.0), regularization=criterion).fit(x, y)
    RegularizationPathDisplay.from_estimator(model, ax=ax)
widths = np.geomspace(0.1, 10, 25)
searched = GRLSRegressor(
    Matern(1.0),
    optimize={"sigma": widths},
    regularization_grid=np.geomspace(1e-6, 10, 40),
).fit(x, y)
CriterionContourDisplay.from_optimized(searched, ax=axes[2])
plt.show()

# %%
# The map costs one reduction of the kernel matrix per width. ``optimize=True`` follows gradients instead:

followed = GRLSRegressor(Matern(1.0), optimize=True).fit(x, y)
print("grid:", searched.kernel_, " gradients:", followed.kernel_)
