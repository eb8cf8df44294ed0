"""Packages for maps beside `FourierGRLSRegressor`, each as far as it goes and as it is meant for many rows.

All are told the same: a Matérn covariance of smoothness 3/2 with the width of the bench, a variance of one
for the hills and that of the noise, so that no one has to choose. Each runs in a process of its own that is
ended after a while; what a package cannot do is a line that says why.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_NEIGHBOURS = 50  # of a moving window
_MATERN = "matern3_2"


def pykrige(X: Any, y: Any, noise: float, width: float) -> Callable[[Any], Any]:
    """Ordinary kriging in a moving window of the nearest rows; the trend is constant within it."""
    from pykrige.ok import OrdinaryKriging

    def variogram(parameters: Any, distance: Any) -> Any:
        sill, width, nugget = parameters
        scaled = np.sqrt(3) * distance / width
        return nugget + sill * (1 - (1 + scaled) * np.exp(-scaled))

    model = OrdinaryKriging(
        *X.T,
        y,
        variogram_model="custom",
        variogram_function=variogram,
        variogram_parameters=[1.0, width, noise**2],
        exact_values=False,  # the nugget is noise, and the function is asked for without it
    )

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


def _columns(width: float) -> Any:
    return np.full((1, 2), width)


def libkriging(X: Any, y: Any, noise: float, width: float) -> Callable[[Any], Any]:
    """Universal kriging with a linear drift and known noise, of all rows at once."""
    import pylibkriging

    model = pylibkriging.Kriging(_MATERN, "heterogeneous")
    known = {"sigma2": 1.0, "is_sigma2_estim": False, "theta": _columns(width), "is_theta_estim": False}
    model.fit(y, X, "linear", False, "none", "LL", known, np.full(len(y), noise**2))
    return lambda new: model.predict(new, False, False, False)[0]


def libkriging_vecchia(X: Any, y: Any, noise: float, width: float) -> Callable[[Any], Any]:
    """Universal kriging by Vecchia's likelihood; it takes no noise, and so its own widths and variance."""
    import pylibkriging

    model = pylibkriging.Kriging(_MATERN)
    model.fit(y, X, "linear", False, "BFGS", "LLVecchia(30)", {})
    return lambda new: model.predict(new, False, False, False)[0]


def libkriging_nested(X: Any, y: Any, noise: float, width: float) -> Callable[[Any], Any]:
    """Nested kriging of groups of some 200 rows; it takes no noise and no trend but a constant."""
    import pylibkriging

    known = {"sigma2": 1.0, "is_sigma2_estim": False, "theta": _columns(width), "is_theta_estim": False}
    model = pylibkriging.NestedKriging(_MATERN)
    model.fit(y, X, max(2, len(y) // 200), "constant", "none", "LL", known)
    return lambda new: model.predict(new, False)[0]


@dataclass(frozen=True)
class Peer:
    """A package, and how far it goes."""

    name: str
    module: str
    fit: Callable[..., Callable[[Any], Any]]
    most_rows: int
    reason: str  # why no more
    note: str = ""  # what is different

    @property
    def is_there(self) -> bool:
        """Whether it is installed."""
        return importlib.util.find_spec(self.module) is not None


PEERS = [
    Peer(
        f"PyKrige, moving window of {_NEIGHBOURS}",
        "pykrige",
        pykrige,
        20_000,
        "it holds the distances of all pairs of rows, 8 m²/2 bytes several times",
        "trend constant in each window",
    ),
    Peer(
        "GSTools, universal kriging",
        "gstools",
        gstools,
        10_000,
        "it inverts the matrix of all rows, 8 m² bytes several times",
    ),
    Peer(
        "libKriging, universal kriging",
        "pylibkriging",
        libkriging,
        10_000,
        "it factorises the matrix of all rows, 8 m² bytes several times",
        "product of a kernel of each column",
    ),
    Peer(
        "libKriging, Vecchia",
        "pylibkriging",
        libkriging_vecchia,
        10_000,
        "its process was ended for want of memory (24 GiB)",
        "refuses noise (LLVecchia objective not supported for … noise modes): chooses without",
    ),
    Peer(
        "libKriging, nested",
        "pylibkriging",
        libkriging_nested,
        10**6,
        "",
        "takes no noise and no linear trend: passes through every row",
    ),
]
