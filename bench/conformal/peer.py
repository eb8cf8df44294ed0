"""Thresholds and CPU time of a new row beside the package conditionalconformal, on the same scores.

`python -m bench.conformal.peer` needs `pip install conditionalconformal`, which solves a program for each
score that its bisection tries; its exact way (``exact=True``) fails with NumPy 2.4 and is not used.
"""

from __future__ import annotations

import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from grls import GRRegressor
from grls.conformal import ConformalRegressor
from grls.kernels import Gaussian
from sklearn.linear_model import LinearRegression

from ..peers.machine import facts, provenance

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
GAMMA, WIDTH = 2e-3, 4.0  # γ of grls, half the lambda of the peer; gamma of the radial kernel


def _phi(X: Array) -> Array:
    return np.column_stack([np.ones(len(X)), X[:, 0] > 0.7, X[:, 1] > 0.5]).astype(float)


def _brackets(X: Array, y: Array, x: Array, S: float) -> bool:
    """Whether the new row's coefficient is below its bound a little below S, and at it a little above.

    By refits of all rows with the interior point method of `GRRegressor`.
    """
    shares = []
    for score in (S - 1e-3, S + 1e-3):
        model = GRRegressor(
            Gaussian.from_gamma(WIDTH),
            features=_phi,
            loss="quantile",
            quantiles=0.9,
            regularization=GAMMA,
            solver="ipm",
            tol=1e-9,
        ).fit(np.vstack([X, x]), np.append(np.abs(y), score))
        shares.append(model.dual_coef_[-1] * 2 * GAMMA * (len(X) + 1))
    return bool(shares[0] < 0.9 - 1e-6 and abs(shares[1] - 0.9) < 1e-6)


def compare(n: int, n_new: int, *, kernel: bool) -> dict[str, Any]:
    """Return CPU seconds of a row, calibration included, and the largest difference of thresholds."""
    from conditionalconformal import CondConf

    rng = np.random.default_rng(0)
    X, new = rng.uniform(size=(n, 2)), rng.uniform(size=(n_new, 2))
    y = (0.2 + (X[:, 0] > 0.7) + X[:, 1]) * rng.standard_normal(n)
    zero = LinearRegression(fit_intercept=False).fit(np.zeros((2, 2)), np.zeros(2))
    options = {"kernel": Gaussian.from_gamma(WIDTH), "regularization": GAMMA} if kernel else {}
    start = time.process_time()
    model = ConformalRegressor(zero, features=_phi, cv="prefit", **options).fit(X, y)
    ours = model.predict_interval(new)[:, 1]
    own = (time.process_time() - start) / n_new
    infinite = {"infinite_params": {"kernel": "rbf", "gamma": WIDTH, "lambda": 2 * GAMMA}} if kernel else {}
    peer = CondConf(lambda x, y: np.abs(np.ravel(y)), _phi, **infinite)
    start = time.process_time()
    peer.setup_problem(X, y)
    theirs = [np.ravel(peer.predict(0.9, x[None], lambda S, x: S, exact=False))[0] for x in new]
    other = (time.process_time() - start) / n_new
    agreed = sum(_brackets(X, y, x, S) for x, S in zip(new, ours, strict=True)) if kernel else n_new
    return {
        "kernel": "Gaussian" if kernel else "none",
        "calibration rows": n,
        "new rows": n_new,
        "grls, s a row": f"{own:.2g}",
        "conditionalconformal, s a row": f"{other:.2g}",
        "ratio": f"{other / own:.0f}",
        "largest difference": f"{np.abs(ours - np.array(theirs)).max():.1e}",
        "right by refits": f"{agreed} of {n_new}" if kernel else "",
    }


def main() -> None:
    """Print the table and keep it."""
    warnings.filterwarnings("ignore")
    machine = facts(ROOT)
    rows = [compare(500, 20, kernel=False), compare(300, 4, kernel=True)]
    lines = [
        "# Conformal thresholds beside conditionalconformal",
        "",
        f"{provenance('python -m bench.conformal.peer', machine)} conditionalconformal "
        f"{version('conditionalconformal')} with bisection, CPU time.",
        "",
        "| " + " | ".join(rows[0]) + " |",
        "| " + " | ".join("---" for _ in rows[0]) + " |",
        *("| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows),
        "",
        "Right by refits: the coefficient of the new row, in fits by an interior point method, reaches its "
        "bound within 0.001 of the threshold of grls. The peer asks whether an approximate solution is at "
        "the bound.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    (RESULTS / "conformal_peer.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
