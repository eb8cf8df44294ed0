"""
Effects of single columns, with bands
=====================================

What does each column do, and where do we know? The disease progression of 442 diabetes patients along
four columns, the others held at their medians. The kernel has a width for each column, chosen from the
data.
"""

import matplotlib.pyplot as plt
from grls import GRLSRegressor
from grls.plotting import PartialEffectsDisplay
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["bmi", "bp", "s5", "age"]]
model = GRLSRegressor(features="linear").fit(X, y)

# %%
# Body mass and the fifth serum measurement matter, age hardly. Bands are those of the mean, 95 %.

fig, axes = plt.subplots(2, 2, figsize=(8, 6))
PartialEffectsDisplay.from_estimator(model, X, target="progression", axes=axes)
plt.show()

# %%
# The same in numbers. (``n_simulations=0`` leaves out the test of the kernel part, which takes some
# seconds where widths were chosen with γ.)

print(model.summary(n_simulations=0))
