"""
A support vector machine with a generalised bias
================================================

The bias of a support vector machine is a constant. Here it is a combination of features: the border is
roughly a line, and the kernel only has to correct it. And a warning where features leave the kernel
nothing to do.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from grls import SeparableFeaturesWarning, SVMGBClassifier
from grls.kernels import Gaussian
from grls.plotting import DecisionBoundaryDisplay

# %%
# A line with a bump; eight per cent of the labels are wrong.


def above(X):
    """Return which side of the border points are on."""
    return X[:, 1] > 0.8 * X[:, 0] + 0.9 * np.exp(-4 * X[:, 0] ** 2) - 0.3


rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
y = above(X) ^ (rng.uniform(size=80) < 0.08)
X_new = rng.uniform(-3, 3, size=(5000, 2))

# %%
# Away from the points the kernel says nothing, and a constant bias gives all of it to one class. The line
# goes on.

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
kernel = Gaussian(sigma=0.6)
for ax, features in zip(axes, ("constant", "linear"), strict=True):
    model = SVMGBClassifier(kernel, features=features, C=1.0).fit(X, y)
    right = model.score(X_new, above(X_new))
    DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set(title=f'features="{features}": {right:.1%} right', xlabel="$x_0$", ylabel="$x_1$")
axes[1].set_ylabel("")
plt.show()

# %%
# A hinge loss of zero is all that a support vector machine asks for. Where the features alone reach it
# the kernel is not used at all, which is rarely what one wants, and is said:

clear = X[:, 1] > 0.8 * X[:, 0]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    separable = SVMGBClassifier(kernel, features="linear", C=1.0).fit(X, clear)
assert caught[0].category is SeparableFeaturesWarning
print(caught[0].message)

# %%
# ``feature_variance`` penalises the features a little and so gives the kernel its share:

shared = SVMGBClassifier(kernel, features="linear", feature_variance=1.0, C=1.0).fit(X, clear)
print(f"norm of the kernel part: {separable.rkhs_norm_[0]:.3f} and {shared.rkhs_norm_[0]:.3f}")
