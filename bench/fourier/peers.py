"""Packages for maps beside `FourierGRLSRegressor`, each as far as it goes and as it is meant for many rows.

All are told the variances and the width of the truth's hills, so that no one has to choose: a Matérn
covariance of smoothness 3/2 where the package has it, a nugget where it takes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_NEIGHBOURS = 50  # of a moving window
_GROUP = 200  # rows of a group of nested kriging


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

    covariance = gs.Matern(dim=2, var=1.0, len_scale=width, nu=1.5, nugget=noise**2)
    model = gs.krige.Universal(covariance, X.T, y, "linear", exact=False, pseudo_inv=False)
    return lambda new: model(new.T, return_var=False)


def libkriging(X: Any, y: Any, noise: float, width: float) -> Callable[[Any], Any]:
    """Nested kriging: groups of rows, joined, without nugget and drift; it interpolates the noise."""
    import pylibkriging

    model = pylibkriging.NestedKriging(
        np.ascontiguousarray(y),
        np.asfortranarray(X),
        "matern3_2",
        nb_groups=max(2, len(X) // _GROUP),
        regmodel="constant",
        optim="none",
        parameters={"theta": np.full((1, 2), width), "sigma2": 1.0},
    )
    return lambda new: model.predict(np.asfortranarray(new), False, False)[0]


# Name, the module that is needed, the most rows that it is given, and the fit.
PEERS: list[tuple[str, str, int, Callable[..., Callable[[Any], Any]]]] = [
    (f"PyKrige, moving window of {_NEIGHBOURS}", "pykrige", 10_000, pykrige),
    ("GSTools, universal kriging of all rows", "gstools", 4_000, gstools),
    ("libKriging, nested, without nugget and drift", "pylibkriging", 100_000, libkriging),
]
