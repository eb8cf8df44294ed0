"""
Draws from the posterior: when is the peak?
===========================================

A band says how sure the function is at each point, not how sure a property of the whole function is. Draw
functions, take the property of each, and look at the spread.
"""

import matplotlib.pyplot as plt
import numpy as np
from grls import GRLSRegressor
from grls.kernels import Gaussian

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 25))[:, None]
y = 4 * np.exp(-((x[:, 0] - 6) ** 2) / 8) + 0.8 * rng.normal(size=25)
model = GRLSRegressor(Gaussian(2.0), regularization="reml", optimize=True).fit(x, y)

line = np.linspace(0, 10, 201)[:, None]
draws = model.sample_y(line, n_samples=400, random_state=0)
peaks = line[draws.argmax(axis=0), 0]
low, high = np.quantile(peaks, [0.025, 0.975])

# %%
fig, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, height_ratios=(3, 1))
top.plot(line, draws[:, :40], color="C0", alpha=0.2, linewidth=0.8)
top.plot(line, model.predict(line), "C0", linewidth=2, label="mean")
top.plot(x, y, "ko", markersize=4, label="readings")
top.legend(loc="upper left")
top.set(ylabel="y", title=f"the peak is between {low:.1f} and {high:.1f} (95 %; true: 6)")
bottom.hist(peaks, bins=np.linspace(0, 10, 101), color="C1")
bottom.set(xlabel="x", ylabel="draws with\nthe peak here")
plt.show()
