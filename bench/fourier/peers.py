"""Packages for maps beside `FourierGRLSRegressor`, each as far as it goes and as it is meant for many rows.

All are told the variances and the width of the truth's hills, so that no one has to choose: a Matérn
covariance of smoothness 3/2 where the package has it, and a nugget. The nested kriging of libKriging, which
is meant for many rows, takes no nugget, and is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_NEIGHBOURS = 50  # of a moving window


def pykrige(X: Any, y: Any, noise: float, width: float) -> Callable[[Any], Any]:
    """Ordinary kriging in a moving window of the nearest rows; the trend is constant within it."""
    from pykrige.ok import OrdinaryKriging

    parameters = {"psill": 1.0, "range": 3 * width / np.sqrt(3), "nugget": noise**2}
    model = OrdinaryKriging(*X.T, y, variogram_model="exponential", variogram_parameters=parameters)

    def predict(new: Any) -> Any:
        return model.execute("points", *new.T, backend="loop", n_closest_points=_NEIGHBOURS)[0]

    return predict


def gstools(X: Any, y: Any, noise: float, width: float) -> Callable[[Any], Any]:
    """Universal kriging with a linear drift, of all rows at once."""
    import gstools as gs

    # Its Matérn function reads √ν r/ℓ where ours reads √(2ν) r/σ.
    covariance = gs.Matern(dim=2, var=1.0, len_scale=width / np.sqrt(2), nu=1.5, nugget=noise**2)
    model = gs.krige.Universal(covariance, X.T, y, "linear", exact=False, pseudo_inv=False)
    return lambda new: model(new.T, return_var=False)


# Name, the module that is needed, the most rows that it is given, and the fit.
PEERS: list[tuple[str, str, int, Callable[..., Callable[[Any], Any]]]] = [
    (f"PyKrige, moving window of {_NEIGHBOURS}", "pykrige", 10_000, pykrige),
    ("GSTools, universal kriging of all rows", "gstools", 1_000, gstools),
]
