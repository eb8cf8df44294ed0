"""How good the γ is that is chosen for counts: ``python -m bench.compare.counts``.

Poisson counts of rates from exp(−3) to exp(2) times exp of a sum of sines. Each criterion's model, and the
best γ of a grid by the true rates, are judged by the share of the constant's deviance from the true rates
that they explain.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from grls import GRRegressor, NystromGRRegressor, set_num_threads
from grls.kernels import Gaussian

from ..peers.machine import facts, provenance
from ..tables import write_csv

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
SCENES = ((300, 1, 1.5), (2000, 1, 1.5), (2000, 2, 1.5))  # rows, columns, the kernel's width
RATES = (-3, -2, -1, 0, 2)  # logarithms
MOST_EXACT = 500  # rows
N_NEW, N_CENTRES = 2000, 60
MODELS = ("centres, gcv", "centres, reml", "exact, loo")


@dataclass
class Row:
    """The shares explained in one draw."""

    rows: int
    columns: int
    log_rate: float
    draw: int
    criterion: str
    explained: float
    best: float  # of any γ


def shares(m: int, d: int, width: float, log_rate: float, number: int) -> list[Row]:
    """Return the shares explained by each criterion in a draw."""
    rng = np.random.default_rng(number)

    def rates(X: Any) -> Any:
        return np.exp(log_rate + np.sin(X).sum(axis=1) / np.sqrt(d))

    X, new = rng.uniform(0, 10, (m, d)), rng.uniform(0, 10, (N_NEW, d))
    y, mu = rng.poisson(rates(X)), rates(new)

    def deviance(found: Any) -> float:
        return float(np.mean(mu * np.log(mu / found) - mu + found))

    def explained(model: Any) -> float:
        return 1 - deviance(model.fit(X, y).predict(new)) / deviance(y.mean())

    def on_centres(gamma: Any) -> float:
        return explained(NystromGRRegressor(Gaussian(width), n_centers=N_CENTRES, regularization=gamma))

    best = max(on_centres(float(gamma)) for gamma in np.geomspace(1e-6, 1, 13))
    found = {"centres, gcv": on_centres("gcv"), "centres, reml": on_centres("reml")}
    if m <= MOST_EXACT:
        found["exact, loo"] = explained(GRRegressor(Gaussian(width), loss="poisson"))
    return [Row(m, d, log_rate, number, name, value, best) for name, value in found.items()]


def table(rows: Sequence[Row]) -> list[str]:
    """Return the shares, as lines of Markdown."""
    lines = [
        "| rows | columns | log rate | criterion | mean | worst draw | mean of the best γ | worse by 0.1 |",
        "| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for key in dict.fromkeys((row.rows, row.columns, row.log_rate, row.criterion) for row in rows):
        part = [row for row in rows if (row.rows, row.columns, row.log_rate, row.criterion) == key]
        values, best = (np.array([getattr(row, name) for row in part]) for name in ("explained", "best"))
        worse = 100 * np.mean(best - values > 0.1)
        told = f"{values.mean():.3f} | {values.min():.2f} | {best.mean():.3f} | {worse:.0f} %"
        lines.append(f"| {key[0]} | {key[1]} | {key[2]:g} | {key[3]} | {told} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare.counts", description=__doc__)
    parser.add_argument("--draws", type=int, default=15, help="of each scene and rate")
    parser.add_argument("--first", type=int, default=9000, help="number of the first draw")
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory")
    a = parser.parse_args(arguments)
    machine = facts(ROOT)
    set_num_threads(1)  # the matrices are small
    rows: list[Row] = []
    for m, d, width in SCENES:
        for log_rate in RATES:
            for number in range(a.first, a.first + a.draws):
                rows += shares(m, d, width, log_rate, number)
        print(m, "rows of", d, "columns: done", flush=True)
    text = "\n".join(
        [
            provenance(f"python -m bench.compare.counts --first {a.first} --draws {a.draws}", machine),
            "",
            "The share of the constant's deviance from the true rates that the model explains, by the "
            "criterion that chose γ; the best γ is that of a grid of 13, chosen by the true rates.",
            "",
            *table(rows),
            "",
        ]
    )
    print(text)
    write_csv(a.output / "counts.csv", rows)
    (a.output / "counts.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
