"""Run the comparison, or draw its report from what was run: cells that are stored are not run again."""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from ...peers.machine import facts
from ...real.freedom import made_up, uci
from .methods import METHODS, Array
from .report import write_report

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "bench" / "results" / "tabular"
MOST_TEST = 5000  # rows that are predicted


@dataclass(frozen=True)
class Result:
    """One method on one split."""

    data: str
    n_train: int
    n_columns: int
    seed: int
    method: str
    error: float  # root mean squared error over the standard deviation of the test rows
    nlpd: float  # minus the mean log density of new observations, of standardised targets; NaN: it gives none
    coverage: float  # of intervals of 95 %
    seconds: float  # fit and prediction
    cpu_seconds: float = float("nan")  # of all threads together; NaN: from a run that did not count them


def tables() -> dict[str, tuple[Array, Array]]:
    """Return the regression tables, columns as they are."""
    from grls import datasets

    def table(name: str) -> tuple[Array, Array]:
        return getattr(datasets, f"load_{name}")(download_if_missing=False, return_X_y=True)

    names = ("airfoil", "california_housing", "concrete", "energy", "ozone", "protein")
    return {name: table(name) for name in names} | uci()


def one(data: str, X: Array, y: Array, most: int, seed: int, method: str) -> Result | None:
    """Fit and judge; None where the method is not for so many rows."""
    rows = np.random.default_rng([seed, len(y)]).permutation(len(y))
    cut = int(0.8 * len(y))
    train, test = rows[: min(cut, most)], rows[cut:][:MOST_TEST]
    chosen = METHODS[method]
    if not chosen.is_installed or len(train) > chosen.most_rows:
        return None
    started, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what methods say of their convergence
        mean, std = chosen.run(X[train], y[train], X[test], seed)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    spread = y[test].std() or 1.0
    away = (np.asarray(mean) - y[test]) / spread
    nlpd = coverage = float("nan")
    if std is not None:
        relative = np.maximum(std, 1e-12) / spread
        nlpd = -float(np.mean(stats.norm.logpdf(away, scale=relative)))
        coverage = float(np.mean(np.abs(away) < stats.norm.ppf(0.975) * relative))
    error = float(np.sqrt(np.mean(away**2)))
    return Result(data, len(train), X.shape[1], seed, method, error, nlpd, coverage, seconds, cpu)


def stored(path: Path) -> list[Result]:
    """Return the results of an earlier run."""
    if not path.exists():
        return []
    kinds: dict[str, Any] = {"int": int, "float": float, "str": str}
    with path.open(encoding="utf-8") as file:
        return [
            Result(**{f.name: kinds[str(f.type)](row[f.name]) for f in fields(Result) if row.get(f.name)})
            for row in csv.DictReader(file)
        ]


def run(
    data: dict[str, tuple[Array, Array]], most: int, seeds: int, methods: list[str], known: list[Result]
) -> Iterator[Result]:
    """Yield what is not known yet."""
    done = {(result.data, result.n_train, result.seed, result.method) for result in known}
    for seed in range(seeds):
        for name, (X, y) in data.items():
            for method in methods:
                if (name, min(int(0.8 * len(y)), most), seed, method) not in done:
                    result = one(name, X, y, most, seed, method)
                    if result is not None:
                        yield result


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compare.tabular", description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="training rows, at most")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), help="default: all but slow ones")
    parser.add_argument("--slow", action="store_true", help="slow methods too")
    parser.add_argument("--data", nargs="*", help="only these tables")
    parser.add_argument("--made-up", action="store_true", help="data that need no file, for a quick look")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--cpu", action="store_true", help="tell times in CPU seconds, for a busy machine")
    parser.add_argument("--again", nargs="*", default=[], help="methods whose stored cells are run again")
    parser.add_argument("--afresh", action="store_true", help="run everything again")
    options = parser.parse_args(arguments)
    methods = options.methods or [name for name, method in METHODS.items() if options.slow or not method.slow]
    data = {"linear": made_up()["linear"]} if options.made_up else tables()
    if options.data:
        data = {name: data[name] for name in options.data}
    path = options.out / f"results_{options.rows}.csv"
    known = [] if options.afresh else stored(path)
    results = [result for result in known if result.method not in options.again]
    options.out.mkdir(parents=True, exist_ok=True)
    machine = facts(ROOT)
    for result in run(data, options.rows, options.seeds, methods, results):
        results.append(result)
        print(
            f"{result.data:28s} {result.seed} {result.method:45s} {result.error:.4f} {result.seconds:8.2f} s"
        )
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Result)])
            writer.writeheader()
            writer.writerows(asdict(each) for each in results)
    command = f"python -m bench.compare.tabular --rows {options.rows} --seeds {options.seeds}"
    command += " --slow" * options.slow + " --cpu" * options.cpu
    clock = "cpu_seconds" if options.cpu else "seconds"
    write_report(results, options.out / f"report_{options.rows}", command, machine, clock)


if __name__ == "__main__":
    main()
