"""
Cleaning digits: kernel PCA and the way back
============================================

Noisy digits projected on the kernel components of clean ones, and brought back to pixels by a learnt
pre-image. Its constant is free, so that the mean digit is not shrunk.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import KernelPCA
from grls.kernels import Gaussian
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

X, _ = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = X[rng.permutation(len(X))]
clean, test = X[:450], X[450:650]
noisy = test + 5 * rng.normal(size=test.shape)

# %%
# Twelve components are the best that the linear method can do here: more of them bring the noise back.

linear = PCA(12).fit(clean)
kernel = KernelPCA(60, Gaussian(sigma=50.0), fit_inverse_transform=True, alpha=0.001).fit(clean)
back = {
    "clean": test,
    "noisy": noisy,
    "12 linear components": linear.inverse_transform(linear.transform(noisy)),
    "60 kernel components": kernel.inverse_transform(kernel.transform(noisy)),
}

# %%
fig, axes = plt.subplots(4, 9, figsize=(8.5, 4.4))
for row, (name, digits) in zip(axes, back.items(), strict=True):
    error = np.sqrt(np.mean((digits - test) ** 2))
    row[0].text(1.0, 0.5, f"{name}\nerror {error:.1f}", ha="right", va="center")
    row[0].axis("off")
    for ax, digit in zip(row[1:], digits, strict=False):
        ax.imshow(digit.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
plt.show()
