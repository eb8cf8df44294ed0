"""Support vector regression beside other packages: ``python -m bench.svm.regression --rows 10000 20000``.

Seconds of the processor, the least of the repetitions, in one run and interleaved; the objective that each
model reaches is beside them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..peers.machine import facts, provenance
from ..tables import write_csv

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
EPSILON = 0.1


@dataclass
class Row:
    rows: int
    C: float
    machine: str
    seconds: float  # of the processor, all threads
    ratio: float  # to ours
    objective: float


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


def compare(m: int, columns: int, C: float, repeats: int) -> list[Row]:
    """Return a row for each machine."""
    X, y = problem(m, columns)
    machines = fits(X, y, C)
    times: dict[str, list[float]] = {name: [] for name in machines}
    reached = {}
    for _ in range(repeats):
        for name, fit in machines.items():
            start = time.process_time()
            model = fit()
            times[name].append(time.process_time() - start)
            reached[name] = objective(model, X, y, C)
    ours = min(times["grls"])
    return [Row(m, C, name, min(times[name]), min(times[name]) / ours, reached[name]) for name in machines]


def markdown(rows: Sequence[Row], machine: dict[str, Any], repeats: int) -> str:
    """Return the report."""
    sizes = " ".join(dict.fromkeys(str(r.rows) for r in rows))
    lines = [
        f"{provenance(f'python -m bench.svm.regression --rows {sizes}', machine)} "
        f"Least of {repeats} repetitions, in seconds of the processor.",
        "",
        "| rows | C | machine | seconds | ÷ grls | objective |",
        "| ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {r.rows} | {r.C:g} | {r.machine} | {r.seconds:.2f} | {r.ratio:.2f} | {r.objective:.8g} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.svm.regression", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000])
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory")
    a = parser.parse_args(arguments)
    machine, rows = facts(ROOT), []
    for m in a.rows:
        for C in a.C:
            rows += compare(m, a.columns, C, a.repeats)
            print(f"{m} rows, C = {C:g}: done", flush=True)
    text = markdown(rows, machine, a.repeats)
    print(text)
    write_csv(a.output / "svm_regression.csv", rows)
    (a.output / "svm_regression.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
