"""One function per method: fit a split, return the predicted means, standard deviations and the model.

Every method gets the same columns (scikit-learn's Gaussian process of the carbon dioxide the year alone) and
is used as its users would: kernel parameters by its own criterion, a trend where it has one. The bands are
those of new observations, with noise.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .scenes import Array, Scene, Split


@dataclass(frozen=True)
class Answer:
    mean: Array
    std: Array | None = None


Method = Callable[[Scene, Split], Answer]


def _features(scene: Scene) -> Any:
    from grls.features import Columns

    if scene.drift is None:
        return "linear"
    return Columns(list(scene.drift)) if scene.drift else "constant"


def _kernel(scene: Scene, split: Split) -> Any:
    """Return a Matérn kernel with a width for each column, or one for all where they are a map.

    That of the carbon dioxide is the sum of scikit-learn's example: a slow part, a season whose shape changes
    slowly, and weather.
    """
    from grls.kernels import Gaussian, Matern, Periodic, RationalQuadratic

    if scene.name == "co2":
        season = Gaussian(100.0) * Periodic(1.0)
        kernel = 10.0 * Gaussian(50.0) + 0.1 * season + 0.01 * RationalQuadratic(1.0)
    else:
        kernel = Matern("median" if scene.kernel_columns else "medians", nu=2.5)
    return kernel.on(list(scene.kernel_columns or range(split.X.shape[1])))


def _fitted(scene: Scene, split: Split, criterion: str) -> Any:
    """Return the model whose kernel parameters and γ are best by the criterion, from one start."""
    from grls import GRLSRegressor

    kernel = _kernel(scene, split)
    tuned = [name for name in kernel.get_params() if name.endswith(("sigma", "scale", "alpha"))]
    model = GRLSRegressor(
        kernel, features=_features(scene), regularization=criterion, optimize=tuned, n_restarts=0
    )
    return model.fit(split.X, split.y)


def grls(scene: Scene, split: Split, criterion: str) -> Answer:
    model = _fitted(scene, split, criterion)
    return Answer(*model.predict(split.X_new, return_std=True, with_noise=True))


def gaussian_process(scene: Scene, split: Split) -> Answer:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process import kernels as k

    noise = k.WhiteKernel(0.1, (1e-6, 10.0))
    X, X_new = split.X, split.X_new
    if scene.name == "co2":  # the structure that scikit-learn's own example uses, on the year alone
        X, X_new = X[:, :1], X_new[:, :1]
        kernel = (
            k.ConstantKernel(10.0, (1e-3, 1e5)) * k.RBF(50.0, (1.0, 1e3))
            + k.ConstantKernel(0.1, (1e-5, 1e3))
            * k.RBF(100.0, (1.0, 1e4))
            * k.ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
            + k.ConstantKernel(0.01, (1e-6, 1e2)) * k.RationalQuadratic(1.0, 1.0, (1e-2, 1e2), (1e-2, 1e3))
            + noise
        )
    else:
        kernel = k.ConstantKernel(1.0, (1e-3, 1e4)) * k.RBF(np.ones(X.shape[1]), (1e-2, 1e3)) + noise
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, split.y)
    return Answer(*model.predict(X_new, return_std=True))


def kernel_ridge(scene: Scene, split: Split) -> Answer:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.preprocessing import StandardScaler

    d = split.X.shape[1]
    search = GridSearchCV(
        KernelRidge(kernel="rbf"),
        {"alpha": np.geomspace(1e-5, 1, 6), "gamma": np.geomspace(1e-2, 3, 6) / d},
        scoring="neg_mean_squared_error",
        cv=KFold(5, shuffle=True, random_state=0),  # the rows of some sets are in an order
    )
    model = TransformedTargetRegressor(search, transformer=StandardScaler()).fit(split.X, split.y)
    return Answer(model.predict(split.X_new))


def libkriging(scene: Scene, split: Split) -> Answer:
    import pylibkriging

    # With a nugget it interpolates rows at the same point, however noisy: they are merged for it.
    X, place = np.unique(split.X, axis=0, return_inverse=True)
    y = np.bincount(place.ravel(), split.y) / np.bincount(place.ravel())
    # It cannot have a trend of dependent columns, such as the areas of walls, roof and surface (energy).
    T = np.column_stack([np.ones(len(X)), X])
    plain = scene.drift == () or np.linalg.matrix_rank(T) < T.shape[1]
    model = pylibkriging.Kriging("matern5_2", "nugget")
    model.fit(y, X, "constant" if plain else "linear", False, "BFGS", "LL", {})
    mean, std, *_ = model.predict(np.ascontiguousarray(split.X_new), True, False, False)
    # At a point that it knows it gives no deviation; a new observation there has the nugget's at least.
    return Answer(mean.ravel(), np.maximum(std.ravel(), np.sqrt(model.nugget())))


def null_model(scene: Scene, split: Split) -> Answer:
    """Fit the features alone by least squares: what the kernel part has to beat."""
    from sklearn.linear_model import LinearRegression

    columns = range(split.X.shape[1]) if scene.drift is None else scene.drift
    T, T_new = (np.column_stack([np.ones(len(X)), X[:, list(columns)]]) for X in (split.X, split.X_new))
    model = LinearRegression(fit_intercept=False).fit(T, split.y)
    return Answer(model.predict(T_new))


METHODS: dict[str, Method] = {
    "trend alone": null_model,
    "grls reml": partial(grls, criterion="reml"),
    "grls loo": partial(grls, criterion="loo"),
    "GaussianProcessRegressor": gaussian_process,
    "KernelRidge + GridSearchCV": kernel_ridge,
    "libKriging": libkriging,
}
OURS = "grls reml"


def usable() -> tuple[dict[str, Method], dict[str, str]]:
    """Return the methods that are installed, and why the others are left out."""
    missing = {}
    if importlib.util.find_spec("pylibkriging") is None:
        missing["libKriging"] = "pylibkriging is not installed"
    return {name: method for name, method in METHODS.items() if name not in missing}, missing


def quietly(method: Method, scene: Scene, split: Split) -> Answer:
    """Fit without the warnings of optimisers that end at a bound: the errors tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(scene, split)
