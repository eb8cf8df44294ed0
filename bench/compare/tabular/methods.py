"""What is compared: a method fits X, y and predicts means and, where it can, standard deviations."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Answer = tuple[Array, Array | None]  # mean and standard deviation of new observations


@dataclass(frozen=True)
class Method:
    """A name, what fits and predicts, and how many training rows it is given."""

    run: Callable[[Array, Array, Array, int], Answer]  # X, y, new rows, seed
    most_rows: int = 20_000
    needs: str | None = None  # a package
    slow: bool = False  # a minute or more of a table: run when it is asked for

    @property
    def is_installed(self) -> bool:
        return self.needs is None or importlib.util.find_spec(self.needs) is not None


def _grls(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from grls import GRLSRegressor

    return GRLSRegressor().fit(X, y).predict(new, return_std=True, with_noise=True)


def _grls_metric(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from grls import GRLSRegressor

    model = GRLSRegressor("matern", optimize="metric", regularization="loo").fit(X, y)
    return model.predict(new, return_std=True, with_noise=True)


def _grls_gaussian(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from grls import GRLSRegressor

    model = GRLSRegressor("gaussian", regularization="loo").fit(X, y)
    return model.predict(new, return_std=True, with_noise=True)


def _gaussian_process(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X)
    kernel = ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed).fit(scaler.transform(X), y)
    return model.predict(scaler.transform(new), return_std=True)


def _kernel_ridge(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    mean = y.mean()  # it has no intercept
    grid = {
        "kernelridge__alpha": [1e-4, 1e-3, 1e-2, 1e-1, 1.0],
        "kernelridge__gamma": [factor / X.shape[1] for factor in (0.01, 0.1, 1.0, 10.0)],
    }
    folds = KFold(5, shuffle=True, random_state=seed)
    model = GridSearchCV(make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")), grid, cv=folds)
    return model.fit(X, y - mean).predict(new) + mean, None


def _boosting(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed).fit(X, y).predict(new), None


def _boosting_tuned(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold, RandomizedSearchCV

    choices = {
        "learning_rate": [0.02, 0.05, 0.1, 0.2],
        "max_iter": [100, 300, 1000],
        "max_leaf_nodes": [7, 15, 31, 63],
        "min_samples_leaf": [5, 10, 20],
        "l2_regularization": [0.0, 1.0],
    }
    model = RandomizedSearchCV(
        HistGradientBoostingRegressor(random_state=seed),
        choices,
        n_iter=10,
        cv=KFold(3, shuffle=True, random_state=seed),
        random_state=seed,
    )
    return model.fit(X, y).predict(new), None


def _xgboost(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from xgboost import XGBRegressor

    return XGBRegressor(random_state=seed, n_jobs=2).fit(X, y).predict(new), None


def _lightgbm(X: Array, y: Array, new: Array, seed: int) -> Answer:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=seed, n_jobs=2, verbose=-1).fit(X, y).predict(new), None


def _xrfm(X: Array, y: Array, new: Array, seed: int) -> Answer:
    import torch
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler
    from xrfm import xRFM

    torch.manual_seed(seed)
    scaler = StandardScaler().fit(X)
    mean, spread = y.mean(), y.std() or 1.0
    train, validation = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)

    def tensor(values: Array) -> Any:
        return torch.tensor(np.asarray(values, dtype=np.float32))

    Z, t = tensor(scaler.transform(X)), tensor(((y - mean) / spread)[:, None])
    model = xRFM(device=torch.device("cpu"), tuning_metric="mse")
    model.fit(Z[train], t[train], Z[validation], t[validation])
    found = np.asarray(model.predict(tensor(scaler.transform(new))))
    return mean + spread * found.ravel(), None


METHODS: dict[str, Method] = {
    "grls": Method(_grls),
    "grls, metric": Method(_grls_metric),
    "grls, Gaussian of the median width": Method(_grls_gaussian),
    "GaussianProcessRegressor, widths per column": Method(_gaussian_process, most_rows=1000, slow=True),
    "KernelRidge, grid": Method(_kernel_ridge, most_rows=2000),
    "HistGradientBoosting": Method(_boosting),
    "HistGradientBoosting, tuned": Method(_boosting_tuned, most_rows=5000, slow=True),
    "xgboost": Method(_xgboost, needs="xgboost"),
    "lightgbm": Method(_lightgbm, needs="lightgbm"),
    "xRFM": Method(_xrfm, needs="xrfm", slow=True),
}
