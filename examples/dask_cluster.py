"""Fit and search on a Dask cluster: many rows by sums, many small fits through joblib.

Run it as it is for a cluster on this machine, or give the address of a scheduler whose workers have grls:

    python examples/dask_cluster.py [tcp://scheduler:8786]
"""

from __future__ import annotations

import sys

import dask.array as da
import joblib
import numpy as np
from dask.distributed import Client, LocalCluster
from grls import GRLSClassifier
from grls.dask import NystromGRLSRegressor
from grls.kernels import Gaussian
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV


def many_rows() -> float:
    """Fit rows that are made on the workers and never leave them; return R² on others."""
    rng = da.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40_000, 4), chunks=(5_000, 4))
    y = da.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 2 * X[:, 3] + 0.1 * rng.normal(size=40_000, chunks=5_000)
    # The workers make the rows twice, for the centres and for the sums, unless they keep them:
    X, y = X.persist(), y.persist()
    model = NystromGRLSRegressor(Gaussian(0.7), features="linear", n_centers=300).fit(X[:35_000], y[:35_000])
    return model.score(X[35_000:], y[35_000:])


def many_fits() -> GridSearchCV:
    """Search over parameters, every fit a task on the cluster."""
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(
        GRLSClassifier(Gaussian()),
        {"kernel__sigma": [10.0, 20.0, 40.0], "regularization": [1e-5, 1e-3]},
        cv=3,
    )
    with joblib.parallel_config(backend="dask"):
        return search.fit(X[:600], y[:600])


def main(address: str | None = None) -> None:
    """Run both on the cluster at `address`, or on one of two workers on this machine."""
    if address is None:
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        client = Client(cluster)
    else:
        cluster, client = None, Client(address)
    try:
        print(f"40,000 rows on the workers: R² = {many_rows():.4f}")
        search = many_fits()
        print(
            f"a grid of {len(search.cv_results_['params'])}: {search.best_params_}, {search.best_score_:.4f}"
        )
        assert np.isfinite(search.best_score_)
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


if __name__ == "__main__":
    main(*sys.argv[1:2])
