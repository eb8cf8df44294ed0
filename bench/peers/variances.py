"""Standard deviations beside scikit-learn's Gaussian process: ``python -m bench.peers.variances --help``.

Both have the same kernel, noise and rows, without features, and their factor before the clock starts. The
answers must agree; ratios are the peer's time over ours, in interleaved rounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..tables import write_csv
from .machine import facts, provenance
from .problems import Problem, spatial
from .report import seconds, table
from .timing import PAUSE, Times, interleaved, stopwatch

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
TOLERANCE = 1e-8  # of the standard deviations, relative
TARGETS = {1: 1.0, 20_000: 3.0}  # rows, and how many times faster we want to be at m = 4000


@dataclass
class Row:
    """Both models on some rows. Times are medians in seconds."""

    rows: int
    grls: float
    peer: float
    ratio: float  # the peer's time over ours
    wanted: float | None
    difference: float  # of the answers


def fitted(problem: Problem) -> dict[str, Any]:
    from grls import GRLSRegressor
    from grls.kernels import Gaussian
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    ours = GRLSRegressor(Gaussian(problem.sigma), features=None, regularization=problem.alpha / problem.m)
    theirs = GaussianProcessRegressor(RBF(problem.sigma), alpha=problem.alpha, optimizer=None)
    return {"grls": ours.fit(problem.X, problem.y), "peer": theirs.fit(problem.X, problem.y)}


def measure(problem: Problem, n_rows: int, rounds: int, pause: float) -> tuple[dict[str, Times], float]:
    """Return the times of both, and by how much their answers differ."""
    models = fitted(problem)
    X = problem.X_new[:n_rows]
    scale = np.sqrt(models["grls"].kernel_variance_[0])  # theirs is one
    ours, theirs = (models[name].predict(X, return_std=True)[1] for name in ("grls", "peer"))
    apart = float(np.abs(ours / scale / theirs - 1).max())
    if not apart <= TOLERANCE:
        raise ArithmeticError(f"the standard deviations of {n_rows} rows differ by {apart:.1e}")
    entries = {
        name: partial(stopwatch, partial(model.predict, X, return_std=True)) for name, model in models.items()
    }
    return interleaved(entries, rounds, pause), apart


def markdown(rows: Sequence[Row], machine: dict[str, Any], m: int, d: int) -> str:
    head = ["rows", "grls", "GaussianProcessRegressor", "peer ÷ ours", "wanted", "answers differ by"]
    body = [
        [
            str(row.rows),
            seconds(row.grls),
            seconds(row.peer),
            f"{row.ratio:.2f}",
            "" if row.wanted is None else f"{row.wanted:g}",
            f"{row.difference:.0e}",
        ]
        for row in rows
    ]
    told = f"Standard deviations of new rows: m={m}, d={d}, Gaussian kernel, both factors kept; medians."
    return "\n".join(
        [f"{provenance('python -m bench.peers.variances', machine)} {told}", "", *table(head, body)]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peers.variances", description=__doc__)
    parser.add_argument("--m", type=int, default=4000, help="training rows")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 20_000], help="rows with their std")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, help="of every library")
    parser.add_argument("--quick", action="store_true", help="a tiny problem; times mean nothing")
    parser.add_argument("--output", type=Path, help="directory; default: bench/results, or none for --quick")
    a = parser.parse_args(arguments)
    m, sizes = (200, [1, 700]) if a.quick else (a.m, a.rows)
    machine, rows = facts(ROOT), []
    problem = spatial(m, n_new=max(sizes))
    with threadpool_limits(a.threads):
        for n_rows in sizes:
            rounds = 2 if a.quick else a.rounds * (10 if n_rows < 100 else 1)
            times, apart = measure(problem, n_rows, rounds, 0.0 if a.quick else PAUSE)
            ratio = times["peer"].ratio_to(times["grls"])
            wanted = TARGETS.get(n_rows) if m == 4000 else None
            rows.append(Row(n_rows, times["grls"].median, times["peer"].median, ratio, wanted, apart))
    text = markdown(rows, machine, m, problem.d)
    print(text)
    output = a.output or (None if a.quick else RESULTS)
    if output is not None:
        write_csv(output / "variances.csv", rows)
        (output / "variances.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
