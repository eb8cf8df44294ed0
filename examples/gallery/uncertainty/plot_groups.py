"""
Cross-validation by groups, in closed form
==========================================

Several readings per subject: a model that may look at other readings of the same subject seems far better
than it is for a new one. A fit that is told the groups leaves them out whole, without refitting: where γ is
chosen, with ``optimize`` the width of the kernel too, and in ``cross_validate``.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian
from sklearn.model_selection import GroupKFold

# %%
# Thirty subjects with twelve readings each, all close to each other; each subject has an offset.

rng = np.random.default_rng(0)
subject = np.repeat(np.arange(30), 12)
x = rng.uniform(0, 10, 30)[subject] + 0.05 * rng.normal(size=360)
y = np.sin(x) + 0.6 * rng.normal(size=30)[subject] + 0.1 * rng.normal(size=360)
X = x[:, None]
fresh = np.linspace(0.5, 9.5, 300)
truth = np.sin(fresh)

# %%
# Single rows left out invite a wiggly curve through the subjects; groups left out do not.

by_rows = GRLSRegressor(Gaussian(0.7), regularization="loo", optimize=True).fit(X, y)
by_groups = GRLSRegressor(Gaussian(0.7), regularization="loo", optimize=True).fit(X, y, groups=subject)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
for ax, model, name in zip(axes, (by_rows, by_groups), ("rows", "groups"), strict=True):
    rows = np.sqrt(np.mean(model.cross_validate("loo").residuals ** 2))
    groups = np.sqrt(np.mean(model.cross_validate(GroupKFold(30), groups=subject).residuals ** 2))
    left_out = f"left out: rows {rows:.2f}, subjects {groups:.2f}"
    found = np.sqrt(np.mean((model.predict(fresh[:, None]) - truth) ** 2))
    ax.scatter(x, y, c=subject, cmap="tab20", s=6)
    ax.plot(fresh, truth, "k:", label="truth")
    ax.plot(fresh, model.predict(fresh[:, None]), "C3", linewidth=2, label="model")
    ax.set(xlabel="x", title=f"chosen by {name}: {found:.2f} from the truth\n{left_out}")
axes[0].set_ylabel("y")
axes[0].legend(loc="lower left")
plt.show()
