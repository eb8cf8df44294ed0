"""Support vector regression beside other packages: ``python -m bench.svm.regression --rows 10000 20000``.

Times are of one run, interleaved, with the objective that each model reaches beside them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

EPSILON = 0.1


def problem(m: int, d: int) -> tuple[Any, Any]:
    """Return rows and values: a wave, a product, a slope and noise of 0.2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + X[:, 3] + 0.2 * rng.normal(size=m)


def fits(X: Any, y: Any, C: float) -> dict[str, Callable[[], Any]]:
    """Return the machines that are installed."""
    from grls import GRRegressor
    from grls.kernels import Gaussian
    from sklearn.svm import SVR

    gamma = 1 / X.shape[1]
    ours = GRRegressor(
        Gaussian.from_gamma(gamma),
        loss="epsilon_insensitive",
        epsilon=EPSILON,
        regularization=1 / (2 * C * len(y)),
    )
    options = {"C": C, "gamma": gamma, "epsilon": EPSILON, "cache_size": 1000}
    out = {"grls": lambda: ours.fit(X, y), "scikit-learn": lambda: SVR(**options).fit(X, y)}
    try:
        from sklearnex.svm import SVR as Intelex
    except ImportError:
        return out
    return out | {"scikit-learn-intelex": lambda: Intelex(**options).fit(X, y)}


def objective(model: Any, X: Any, y: Any, C: float) -> float:
    """Return ½cᵀΦc + C Σ max(0, |r| − ε)."""
    from grls.kernels import Gaussian

    c = np.ravel(model.dual_coef_)
    support = np.flatnonzero(c) if len(c) == len(y) else model.support_
    c = c[support] if len(c) == len(y) else c
    learnt = Gaussian.from_gamma(1 / X.shape[1]).times(X, X[support], np.ascontiguousarray(c[:, None]))[:, 0]
    losses = np.maximum(0, np.abs(y - model.predict(X)) - EPSILON)
    return float(c @ learnt[support] / 2 + C * losses.sum())


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000])
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--repeats", type=int, default=2)
    chosen = parser.parse_args()
    for m in chosen.rows:
        X, y = problem(m, chosen.columns)
        for C in chosen.C:
            machines, times, reached = fits(X, y, C), {}, {}
            for _ in range(chosen.repeats):
                for name, fit in machines.items():
                    start = time.perf_counter()
                    model = fit()
                    times.setdefault(name, []).append(time.perf_counter() - start)
                    reached[name] = objective(model, X, y, C)
            best = min(times["grls"])
            for name in machines:
                ratio = min(times[name]) / best
                print(
                    f"m={m} C={C:g} {name:22s} {min(times[name]):8.2f} s = {ratio:5.2f} x grls, "
                    f"objective {reached[name]:.8g}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
