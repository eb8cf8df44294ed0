"""What the default chooses: ``python -m bench.choice``, or some of its scenes.

line: the first example of the README anew, its slope and a forecast. designs: small fits, whether standard
errors or predictions blow up. processes: 50 rows of ten columns of which two or three matter, beside the
Gaussian process of scikit-learn with a width for each column. price: the default over the same fit with its
kernel and γ given, in processor time of one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from grls import GRLSRegressor, set_num_threads
from grls.features import Columns
from grls.kernels import Gaussian

from ..peers.machine import facts, provenance
from ..tables import write_csv

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
SLOPE_OFF, FORECAST_OFF, SEEN_AT = 1.0, 3.0, 12.0
BLOWN_UP, FAR_OFF = 10.0, 5.0  # times the median standard error; standard deviations of the targets

Array = Any
Draw = tuple[Array, Array, Any, Callable[[Array], Array], Array]  # X, y, features, the truth, new points


@dataclass
class Row:
    """One number."""

    scene: str
    case: str
    what: str
    value: float
    draws: int


def _line(rng: np.random.Generator) -> Draw:
    x = np.sort(rng.uniform(0, 10, 80))[:, None]
    truth = lambda z: 3 * z[:, 0] + np.sin(2 * z[:, 0])  # noqa: E731
    return x, truth(x) + 0.1 * rng.normal(size=80), "linear", truth, np.array([[SEEN_AT]])


def _smooth(rng: np.random.Generator) -> Draw:
    x = rng.uniform(size=(30, 1))
    truth = lambda z: 2 * z[:, 0] + np.sin(5 * z[:, 0])  # noqa: E731
    return x, truth(x) + 0.2 * rng.normal(size=30), "linear", truth, rng.uniform(size=(20, 1))


def _rough(rng: np.random.Generator) -> Draw:
    X = rng.uniform(size=(50, 2))
    truth = lambda z: z[:, 0] + np.abs(np.sin(9 * z[:, 1]))  # noqa: E731
    return X, truth(X) + 0.1 * rng.normal(size=50), Columns([0]), truth, rng.uniform(size=(20, 2))


def _step(rng: np.random.Generator) -> Draw:
    X = rng.uniform(size=(80, 2))
    truth = lambda z: z[:, 0] + (z[:, 1] > 0.5)  # noqa: E731
    return X, truth(X) + 0.1 * rng.normal(size=80), Columns([0]), truth, rng.uniform(size=(20, 2))


def _correlated(rng: np.random.Generator) -> Draw:
    a = rng.normal(size=60)
    X = np.column_stack([a, a + 0.3 * rng.normal(size=60)])
    truth = lambda z: z[:, 0] + np.sin(2 * z[:, 1])  # noqa: E731
    return X, truth(X) + 0.2 * rng.normal(size=60), Columns([0]), truth, X[:20]


def _nothing(rng: np.random.Generator) -> Draw:
    X = rng.normal(size=(40, 2))
    truth = lambda z: 0.5 * z[:, 0]  # noqa: E731
    return X, truth(X) + rng.normal(size=40), Columns([0]), truth, rng.normal(size=(20, 2))


DESIGNS = {
    "line": _line,
    "smooth": _smooth,
    "rough": _rough,
    "step": _step,
    "correlated": _correlated,
    "no kernel part": _nothing,
}
RULES: dict[str, dict[str, Any]] = {"auto": {}, "loo": {"regularization": "loo"}}


def _fits(design: str, draws: int, options: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Return slopes, their standard errors and how far predictions are off, in units of the spread too."""
    out = []
    for number in range(draws):
        rng = np.random.default_rng([number, len(design)])
        X, y, features, truth, new = DESIGNS[design](rng)
        model = GRLSRegressor(features=features, **options).fit(X, y)
        off = np.abs(model.predict(new) - truth(new)).max()
        out.append((model.feature_coef_[-1], model.feature_coef_std_[-1], off / y.std(), off))
    slopes, errors, relative, off = np.array(out).T
    return slopes, errors, np.column_stack([relative, off])


def line(draws: int) -> list[Row]:
    """Return how often the first example goes wrong."""
    rows = []
    for rule, options in RULES.items():
        slopes, _, off = _fits("line", draws, options)
        rows += [
            Row("line", rule, "slope off by more than 1", np.mean(np.abs(slopes - 3) > SLOPE_OFF), draws),
            Row("line", rule, "forecast off by more than 3", np.mean(off[:, 1] > FORECAST_OFF), draws),
            Row("line", rule, "worst forecast", off[:, 1].max(), draws),
        ]
    return rows


def designs(draws: int) -> list[Row]:
    """Return how often small fits blow up."""
    rows = []
    for design in DESIGNS:
        for rule, options in RULES.items():
            _, errors, off = _fits(design, draws, options)
            blown = np.mean(errors > BLOWN_UP * np.median(errors))
            rows.append(Row("designs", f"{design}, {rule}", "standard error 10 times the rest", blown, draws))
            far = np.mean(off[:, 0] > FAR_OFF)
            rows.append(Row("designs", f"{design}, {rule}", "off by 5 standard deviations", far, draws))
    return rows


def processes(draws: int) -> list[Row]:
    """Return errors beside a Gaussian process with a width for each column."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    ratios, shares = [], []
    for number in range(draws):
        rng = np.random.default_rng(number)
        X, new = rng.normal(size=(50, 10)), rng.normal(size=(500, 10))
        third = rng.integers(0, 2)
        truth = lambda Z, third=third: np.sin(Z[:, 0]) + 0.5 * Z[:, 1] ** 2 + third * Z[:, 2]  # noqa: E731
        y = truth(X) + 0.1 * rng.normal(size=50)
        peer = GaussianProcessRegressor(
            ConstantKernel() * RBF(np.ones(10)) + WhiteKernel(0.1), normalize_y=True, random_state=0
        )
        ours = GRLSRegressor()
        error, theirs = (
            np.sqrt(np.mean((model.fit(X, y).predict(new) - truth(new)) ** 2)) for model in (ours, peer)
        )
        ratios.append(error / theirs)
        shares.append(error / truth(new).std())
    return [
        Row("processes", "auto", "error over that of scikit-learn", np.exp(np.mean(np.log(ratios))), draws),
        Row("processes", "auto", "worst error over the spread", np.max(shares), draws),
    ]


def _cpu(run: Callable[[], Any], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def price(draws: int) -> list[Row]:
    """Return the default over the same fit with kernel and γ given, for three functions."""
    functions: dict[str, Callable[[Array], Array]] = {
        "sin(x1) + x2": lambda X: np.sin(X[:, 0]) + X[:, 1],
        "sin(3 x1) x2 + x3²": lambda X: np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2,
        "noise": lambda X: 0 * X[:, 0],
    }
    rows = []
    for name, function in functions.items():
        for m in (50, 200, 1000):
            rng = np.random.default_rng(0)
            X = rng.normal(size=(m, 3))
            y = function(X) + 0.1 * rng.normal(size=m)
            given = _cpu(lambda X=X, y=y: GRLSRegressor(Gaussian(1.0), regularization=1e-3).fit(X, y), 10)
            chosen = _cpu(lambda X=X, y=y: GRLSRegressor().fit(X, y), min(3, draws))
            rows.append(Row("price", f"{name}, {m} rows", "times the fit with both given", chosen / given, 1))
    return rows


SCENES = {"line": line, "designs": designs, "processes": processes, "price": price}
DRAWS = {"line": 100, "designs": 45, "processes": 50, "price": 3}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.choice", description=__doc__)
    parser.add_argument("scenes", nargs="*", choices=[*SCENES, []], default=[], help="all by default")
    parser.add_argument("--draws", type=int, default=None, help="of each scene")
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory")
    a = parser.parse_args(arguments)
    machine = facts(ROOT)
    set_num_threads(1)  # the matrices are small
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    for name in a.scenes or SCENES:
        rows += SCENES[name](a.draws or DRAWS[name])
        print(name, "done", flush=True)
    told = [f"| {r.scene} | {r.case} | {r.what} | {r.value:.3g} | {r.draws} |" for r in rows]
    text = "\n".join(
        [
            provenance("python -m bench.choice", machine),
            "",
            'What `kernel="auto"` chooses, with γ by `regularization="auto"`, and by "loo" beside it.',
            "",
            "| scene | case | what | value | draws |",
            "| --- | --- | --- | ---: | ---: |",
            *told,
            "",
        ]
    )
    print(text)
    write_csv(a.output / "choice.csv", rows)
    (a.output / "choice.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
