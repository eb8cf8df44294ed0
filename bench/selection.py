"""The choice of γ: leave-one-out over 50 values in closed form beside a grid search with folds.

``python -m bench.selection`` fits the same data once with γ fixed, then with γ chosen by each criterion, and
lets scikit-learn's GridSearchCV choose KernelRidge's alpha among the same 50 values with 5 folds, all in one
run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .peers.machine import facts, provenance
from .peers.timing import PAUSE, Times, interleaved, stopwatch
from .tables import write_csv

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
CRITERIA = ("loo", "gcv", "reml")
FIT_TARGET, GRID_TARGET = 20, 20  # leave-one-out ≤ 20 fits; a grid search ≥ 20 leave-one-outs
SIGMA, NOISE = 2.0, 0.3
SLOW_REPEATS = 3  # of the grid search, at most


@dataclass
class Row:
    """One way to a model. Times are in seconds."""

    name: str
    m: int
    n_gammas: int
    seconds: float
    to_fit: float  # ÷ the median time of one fit
    to_loo: float  # ÷ that of leave-one-out without features
    alpha: float  # γm of the model
    error: float  # root mean squared, on new rows, without noise


def problem(m: int, d: int, n_new: int = 2000, seed: int = 0) -> tuple[Any, ...]:
    """Return rows in d columns, noisy values of a function that bends in all of them, and new rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m + n_new, d))
    directions = rng.standard_normal((d, 5)) / np.sqrt(d)
    f = np.sin(2 * X @ directions).sum(axis=1)
    return X[:m], f[:m] + NOISE * rng.standard_normal(m), X[m:], f[m:]


def measure(m: int, d: int, n_gammas: int, folds: int, repeats: int, pause: float) -> list[Row]:
    from grls import GRLSRegressor
    from grls.kernels import Gaussian
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    X, y, X_new, f_new = problem(m, d)
    sigma = SIGMA * np.sqrt(d)
    alphas = np.geomspace(1e-4, 1e3, n_gammas)

    def ours(regularization: Any, features: Any = None) -> Any:
        return GRLSRegressor(
            Gaussian(sigma),
            features=features,
            regularization=regularization,
            regularization_grid=alphas / m,
            precision="double",
        )

    # One of the grid's values in the middle; which one makes no difference to the time of a fit.
    models: dict[str, Any] = {"one fit": ours(alphas[n_gammas // 2] / m)}
    models |= {f'"{name}"': ours(name) for name in CRITERIA}
    models['"loo", linear features'] = ours("loo", "linear")

    def timed(model: Any) -> Callable[[], float]:
        return lambda: stopwatch(lambda: model.fit(X, y))

    for model in models.values():
        model.fit(X[:200], y[:200])  # warm-up: imports, threads
    times = interleaved({name: timed(model) for name, model in models.items()}, repeats, pause)

    grid = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=1 / (2 * sigma**2)),
        {"alpha": alphas},
        cv=folds,
        scoring="neg_mean_squared_error",
    )
    peer = f"GridSearchCV(KernelRidge), {folds} folds"
    models[peer] = grid
    times[peer] = Times(tuple(stopwatch(lambda: grid.fit(X, y)) for _ in range(min(repeats, SLOW_REPEATS))))

    rows = []
    for name, model in models.items():
        alpha = grid.best_params_["alpha"] if model is grid else model.regularization_ * m
        rows.append(
            Row(
                name=name,
                m=m,
                n_gammas=1 if name == "one fit" else n_gammas,
                seconds=times[name].median,
                to_fit=times[name].median / times["one fit"].median,
                to_loo=times[name].median / times['"loo"'].median,
                alpha=float(alpha),
                error=float(np.sqrt(np.mean((model.predict(X_new) - f_new) ** 2))),
            )
        )
    return rows


def markdown(rows: list[Row], machine: dict[str, Any], d: int) -> str:
    lines = [
        f"{provenance('python -m bench.selection', machine)} m={rows[0].m}, d={d}, Gaussian kernel. "
        f"Medians; the grid search {SLOW_REPEATS} times.",
        "",
        "| γ by | values | seconds | ÷ one fit | ÷ leave-one-out | alpha | error on new rows |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append(
            f"| {row.name} | {row.n_gammas} | {row.seconds:.3g} | {row.to_fit:.1f} | {row.to_loo:.2f} "
            f"| {row.alpha:.3g} | {row.error:.4f} |"
        )
    return "\n".join([*lines, "", *verdicts(rows), ""])


def verdicts(rows: list[Row]) -> list[str]:
    loo, grid = rows[1], rows[-1]
    return [
        f"Leave-one-out takes {loo.to_fit:.1f} fits (wanted: ≤ {FIT_TARGET}), "
        f"the grid search {grid.to_loo:.0f} leave-one-outs (wanted: ≥ {GRID_TARGET})."
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.selection", description="Time the choice of γ.")
    parser.add_argument("--m", type=int, default=5000, help="training rows")
    parser.add_argument("--d", type=int, default=20, help="columns")
    parser.add_argument("--gammas", type=int, default=50, help="values to choose from")
    parser.add_argument("--folds", type=int, default=5, help="of the grid search")
    parser.add_argument("--repeats", type=int, default=3, help="of everything but the grid search")
    parser.add_argument("--threads", type=int, help="of every library; default: as many as BLAS takes")
    parser.add_argument("--quick", action="store_true", help="a run of seconds on a tiny problem")
    parser.add_argument("--output", type=Path, help="directory; default: bench/results, or none for --quick")
    a = parser.parse_args(arguments)
    if a.quick:
        a.m, a.d, a.gammas, a.folds, a.repeats = min(a.m, 120), 3, 5, 2, 1
    import grls

    machine = facts(ROOT)
    with threadpool_limits(a.threads or grls.get_num_threads()):
        rows = measure(a.m, a.d, a.gammas, a.folds, a.repeats, 0.0 if a.quick else PAUSE)
    text = markdown(rows, machine, a.d)
    print(text)
    output = a.output or (None if a.quick else RESULTS)
    if output is not None:
        write_csv(output / "selection.csv", rows)
        (output / "selection.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
