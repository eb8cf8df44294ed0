"""
What functions does a kernel believe in?
========================================

Before any data: draw functions from kernels. Width is how far a function remembers, the family how rough
it is, and sums and products say what goes together.
"""

import matplotlib.pyplot as plt
from grls.kernels import Gaussian, Laplace, Linear, Matern, Periodic
from grls.plotting import FunctionSamplesDisplay

kernels = {
    "Gaussian(1)": Gaussian(1.0),
    "Matern(1)": Matern(1.0),
    "Laplace(1)": Laplace(1.0),
    "Periodic(1, period=2)": Periodic(1.0, 2.0),
    "Gaussian(1) * Periodic(1, 2)": Gaussian(1.0) * Periodic(1.0, 2.0),
    "Gaussian(1) + Linear()": Gaussian(1.0) + Linear(),
}
fig, axes = plt.subplots(2, 3, figsize=(11, 5.5), sharex=True)
for ax, (name, kernel) in zip(axes.ravel(), kernels.items(), strict=True):
    FunctionSamplesDisplay.from_kernels({"": kernel}, interval=(0, 8), n_points=200, random_state=0, ax=ax)
    ax.set_title(name)
plt.show()
