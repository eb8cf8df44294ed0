"""
A map with an external drift
============================

Temperature is measured at 60 stations in a mountain range. It falls with height, which is known
everywhere. With height as a free feature the map has mountains where there are no stations; geostatistics
calls this kriging with an external drift.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from grls import GRLSRegressor
from grls.features import Columns
from grls.kernels import Matern

# %%
# A landscape of hills, and temperature: 6.5 degrees less per kilometre, a smooth field of weather, noise.


def height(x, y):
    """Return kilometres above the sea."""
    hills = [(20, 30, 8, 1.8), (60, 65, 12, 2.2), (75, 20, 7, 1.4), (35, 80, 6, 1.6)]
    return sum(h * np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * w**2)) for a, b, w, h in hills)


def temperature(x, y):
    """Return the truth."""
    return 18 - 6.5 * height(x, y) + 1.5 * np.sin(x / 17) * np.cos(y / 23)


rng = np.random.default_rng(0)
x, y = rng.uniform(0, 100, (2, 60))
stations = pd.DataFrame({"x": x, "y": y, "height": height(x, y)})
measured = temperature(x, y) + 0.3 * rng.normal(size=60)
axis = np.linspace(0, 100, 70)
gx, gy = np.meshgrid(axis, axis)
grid = pd.DataFrame({"x": gx.ravel(), "y": gy.ravel(), "height": height(gx, gy).ravel()})

# %%
# The kernel reads the place, the feature the height.

settings = {"kernel": Matern(25.0).on(["x", "y"]), "regularization": "reml", "optimize": True}
plain = GRLSRegressor(**settings).fit(stations, measured)
drift = GRLSRegressor(features=Columns(["height"]), **settings).fit(stations, measured)
slope, error = drift.feature_coef_[1], drift.feature_coef_std_[1]
print(f"{slope:.2f} ± {error:.2f} degrees per kilometre; true: -6.50")

# %%
truth = temperature(gx, gy)
maps = [("truth", truth)]
for name, model in (("place alone", plain), ("height as a feature", drift)):
    surface = model.predict(grid).reshape(gx.shape)
    rmse = np.sqrt(np.mean((surface - truth) ** 2))
    maps.append((f"{name}: error {rmse:.2f}", surface))
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True)
for ax, (name, surface) in zip(axes, maps, strict=True):
    drawn = ax.pcolormesh(axis, axis, surface, cmap="coolwarm", vmin=2, vmax=20, rasterized=True)
    ax.plot(x, y, "k.", markersize=3)
    ax.set(title=name, xlabel="x (km)", aspect="equal")
axes[0].set_ylabel("y (km)")
fig.colorbar(drawn, ax=axes, label="temperature (°C)", shrink=0.9)
plt.show()
