"""What outliers cost, and bands where the noise changes: ``python -m bench.compare.losses``.

The first table spoils one row in ten and divides the error of Huber's loss and of the absolute one by that
of the same model without outliers; the second counts the rows of mcycle, left out in ten folds, in bands of
95 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from grls import GRLSRegressor, GRRegressor, datasets, set_num_threads
from grls.kernels import Gaussian, Matern
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import KFold

from ..peers.machine import facts, provenance
from ..tables import write_csv

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
ROWS, NOISES = (100, 200, 400), (0.1, 0.3, 0.8)  # in turn, from draw to draw
KINDS = ("symmetric", "one-sided", "stuck", "region", "heavy tails")
N_NEW = 1000
WANTED = 1.2


def _bumps(X: Array) -> Array:
    x = X[:, 0]
    return 2 * sum(
        np.exp(-(((x - at) / width) ** 2)) for at, width in ((0.15, 0.1), (0.45, 0.15), (0.8, 0.12))
    )


FUNCTIONS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "wave": (1, lambda X: 6 * X[:, 0] + np.sin(12 * X[:, 0])),
    "decay": (1, lambda X: 2 * np.exp(-3 * X[:, 0]) + X[:, 0]),
    "bumps": (1, _bumps),
    "plane": (2, lambda X: 2 * np.sin(3 * X[:, 0]) * np.cos(3 * X[:, 1]) + X[:, 1]),
}


@dataclass
class Draw:
    """Rows, their values without and with outliers, and the function where it is compared."""

    X: Array
    clean: Array
    spoilt: Array
    X_new: Array
    truth: Array


def draw(function: str, kind: str, number: int) -> Draw:
    """Return a draw; its rows, clean values and noise depend on its number alone."""
    rng = np.random.default_rng(number)
    m, noise = ROWS[number % 3], NOISES[number // 3 % 3]
    d, f = FUNCTIONS[function]
    X, X_new = rng.uniform(size=(m, d)), rng.uniform(size=(N_NEW, d))
    clean = f(X) + noise * rng.normal(size=m)
    among = np.argsort(X[:, 0])[: m // 3] if kind == "region" else np.arange(m)
    at = rng.choice(among, m // 10, replace=False)
    far = rng.uniform(3, 30, len(at))
    spoilt = clean.copy()
    if kind == "symmetric":
        spoilt[at] += rng.choice([-1, 1], len(at)) * far
    elif kind in ("one-sided", "region"):
        spoilt[at] += far
    elif kind == "stuck":
        spoilt[at] = -5 + 0.1 * rng.normal(size=len(at))
    else:
        spoilt[at] = f(X[at]) + 5 * noise * rng.standard_cauchy(len(at))
    return Draw(X, clean, spoilt, X_new, f(X_new))


@dataclass
class Row:
    """Errors of one model at new points, of one draw."""

    function: str
    outliers: str
    draw: int
    rows: int
    least_squares_clean: float
    least_squares: float
    huber_clean: float
    huber: float
    absolute_clean: float
    absolute: float


def errors(function: str, numbers: Sequence[int], kernel: str) -> list[Row]:
    """Return the errors of all kinds of outliers."""
    models = [
        GRLSRegressor(kernel, regularization="loo"),
        GRRegressor(kernel),
        GRRegressor(kernel, loss="absolute"),
    ]

    def error(model: Any, case: Draw, y: Array) -> float:
        return float(np.sqrt(np.mean((model.fit(case.X, y).predict(case.X_new) - case.truth) ** 2)))

    out = []
    for number in numbers:
        first = draw(function, KINDS[0], number)
        without = [error(model, first, first.clean) for model in models]
        for kind in KINDS:
            case = draw(function, kind, number)
            pairs = zip(without, (error(model, case, case.spoilt) for model in models), strict=True)
            out.append(Row(function, kind, number, len(case.X), *(value for pair in pairs for value in pair)))
    return out


def geometric(values: Any) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def outlier_table(rows: Sequence[Row]) -> list[str]:
    """Return the ratios of errors, as lines of Markdown."""
    lines = [
        "| function | outliers | Huber | worst draw | at most 1.2 | absolute | least squares | Huber ÷ least "
        "squares without outliers |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]

    def ratios(part: Sequence[Row]) -> list[str]:
        table = {name: np.array([getattr(row, name) for row in part]) for name in vars(part[0])}
        huber = table["huber"] / table["huber_clean"]
        return [
            f"{geometric(huber):.2f}",
            f"{huber.max():.2f}",
            f"{100 * np.mean(huber <= WANTED):.0f} %",
            f"{geometric(table['absolute'] / table['absolute_clean']):.2f}",
            f"{geometric(table['least_squares'] / table['least_squares_clean']):.1f}",
            f"{geometric(table['huber'] / table['least_squares_clean']):.2f}",
        ]

    for function in dict.fromkeys(row.function for row in rows):
        for kind in KINDS:
            part = [row for row in rows if (row.function, row.outliers) == (function, kind)]
            lines.append(f"| {function} | {kind} | {' | '.join(ratios(part))} |")
    lines.append(f"| all | all | {' | '.join(ratios(rows))} |")
    lines += ["", "Without outliers, Huber ÷ least squares:", ""]
    lines += ["| function | mean | worst draw |", "| --- | ---: | ---: |"]
    for function in dict.fromkeys(row.function for row in rows):
        part = [row for row in rows if (row.function, row.outliers) == (function, KINDS[0])]
        clean = np.array([row.huber_clean / row.least_squares_clean for row in part])
        lines.append(f"| {function} | {geometric(clean):.3f} | {clean.max():.2f} |")
    return lines


def thirds(model: Any, x: Array, y: Array) -> list[float]:
    """Return the shares of rows left out in ten folds within bands of 95 %, in three parts of the range."""
    inside = np.empty(len(y), dtype=bool)
    for train, test in KFold(10, shuffle=True, random_state=0).split(x):
        fitted = clone(model).fit(x[train], y[train])
        mean, std = fitted.predict(x[test], return_std=True, with_noise=True)
        inside[test] = np.abs(y[test] - mean) <= stats.t.ppf(0.975, fitted.degrees_of_freedom_) * std
    return [float(inside[rows].mean()) for rows in np.array_split(np.argsort(x[:, 0], kind="stable"), 3)]


def band_table() -> list[str]:
    """Return coverage on mcycle, as lines of Markdown."""
    x, y = datasets.load_mcycle(return_X_y=True)
    lines = ["| kernel | noise | first third | second | last |", "| --- | --- | ---: | ---: | ---: |"]
    for kernel in (Gaussian(5.0), Matern(5.0)):
        for noise in (None, "learn"):
            shares = thirds(GRLSRegressor(kernel, regularization="reml", noise=noise), x, y)
            told = "learnt" if noise else "one for all"
            lines.append(f"| {kernel!r} | {told} | {' | '.join(f'{share:.3f}' for share in shares)} |")
    return lines


def markdown(rows: Sequence[Row], bands: Sequence[str], machine: dict[str, Any], a: Any) -> str:
    """Return the report."""
    command = f"python -m bench.compare.losses --first {a.first} --draws {a.draws} --kernel {a.kernel}"
    if a.functions != list(FUNCTIONS):
        command += f" --functions {' '.join(a.functions)}"
    lines = [
        provenance(command, machine),
        "",
        f"One row in ten is an outlier. Root mean squared errors at {N_NEW} new points, divided by those of "
        f"the same model without outliers: geometric means of {a.draws} draws with m = 100, 200, 400 rows "
        f"and noise of 0.1, 0.3, 0.8 by turns; the signal has a range of 1 to 7, outliers are 3 to 30 away "
        f'("stuck": at −5; "region": all in the lowest third of x). `GRRegressor({a.kernel!r})`, all other '
        "parameters as they are by default.",
        "",
        *outlier_table(rows),
    ]
    if bands:
        lines += [
            "",
            "Bands of 95 % on mcycle: shares of the rows, left out in ten folds, that are inside.",
            "",
            *bands,
        ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and store them."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare.losses", description=__doc__)
    parser.add_argument("--draws", type=int, default=9, help="of each function and kind of outliers")
    parser.add_argument("--first", type=int, default=7000, help="number of the first draw")
    parser.add_argument("--kernel", default="gaussian", help="its name")
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), choices=list(FUNCTIONS))
    parser.add_argument("--no-bands", action="store_true", help="without mcycle, which is downloaded")
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory")
    a = parser.parse_args(arguments)
    machine = facts(ROOT)
    set_num_threads(1)  # the matrices are small
    numbers = range(a.first, a.first + a.draws)
    rows: list[Row] = []
    bands = [] if a.no_bands else band_table()
    for function in a.functions:
        rows += errors(function, numbers, a.kernel)
        print(function, "is done", flush=True)
    text = markdown(rows, bands, machine, a)
    print(text)
    write_csv(a.output / "losses.csv", rows)
    (a.output / "losses.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
