"""What features cost beside the constant alone, pair by pair; and small problems beside `SVC`.

``python -m bench.svm.speed``. Scenes as in `bench.svm.features`, digits with nearest-neighbour features, and
two synthetic classes; each fitted with the constant and with about twenty features, C = 10, tol = 1e-4, in
turns. Small problems are fitted with given C and width by `SVMGBClassifier` and `SVC`, likewise in turns.
Ratios are of processor times, medians of the repetitions. Data are read from ``GRLS_DATA``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.peers.machine import facts, provenance
from bench.peers.report import table

from ..tables import write_csv
from .features import RESULTS, ROOT, SCENES, Array, Scene

C, TOL = 10.0, 1e-4


def neighbours(n: int, seed: int) -> Scene:
    """MNIST; the features are the shares of each class among the nearest neighbours, out of fold."""
    from grls.datasets import load_mnist
    from grls.features import EstimatorFeatures
    from grls.kernels import Gaussian
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_mnist(subset="test", download_if_missing=False, return_X_y=True)
    X, y = np.asarray(X, dtype=float).reshape(len(y), -1), np.asarray(y)
    X = X / X.max()
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    nearest = EstimatorFeatures(KNeighborsClassifier(10), constant=False)
    shares = nearest.fit_transform(X[rows], y[rows])[:, 1:]  # they add up to one
    both = np.hstack([X[rows], shares])
    kernel = Gaussian(5.0).on(list(range(X.shape[1])))
    return Scene("neighbours", both, y[rows], both[:0], y[:0], kernel, shares.shape[1])


def synthetic(n: int, seed: int) -> Scene:
    """Two classes with a twentieth of the labels drawn at random; the features are some of the columns."""
    from grls.kernels import Gaussian
    from sklearn.datasets import make_classification

    X, y = make_classification(n, 50, n_informative=10, n_redundant=0, flip_y=0.05, random_state=seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    both = np.hstack([X, X[:, :10], X[:, :9] ** 2])
    return Scene("synthetic", both, y, both[:0], y[:0], Gaussian(5.0).on(list(range(50))), 19)


ROWS = {"digits": 10_000, "neighbours": 10_000, "objects": 720}  # all that there are
PLACES: dict[str, Callable[[int, int], Scene]] = {**SCENES, "neighbours": neighbours, "synthetic": synthetic}


@dataclass
class Price:
    """Features beside the constant in one scene; seconds of the processor, medians."""

    scene: str
    m: int
    n_features: int
    n_pairs: int
    constant: float
    features: float
    ratio: float
    separable: int  # pairs in which the features suffice
    above_tol: int  # pairs left with a larger gap
    worst_gap: float
    rounds: str  # of a pair with features: median and most
    milliseconds: str  # likewise, on the clock


def _fitted(model: Any, X: Any, y: Array) -> tuple[Any, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what warnings would say is in the table
        begin = time.process_time()
        return model.fit(X, y), time.process_time() - begin


def price(scene: Scene, repetitions: int) -> Price:
    """Fit a scene with the constant and with features, in turns."""
    from grls import SVMGBClassifier

    constant = SVMGBClassifier(scene.kernel, C=C, tol=TOL)
    free = SVMGBClassifier(scene.kernel, features=scene.features, C=C, tol=TOL)
    times = [[_fitted(model, scene.X, scene.y)[1] for model in (constant, free)] for _ in range(repetitions)]
    alone, with_features = (median(column) for column in zip(*times, strict=True))
    rounds, clock = np.asarray(free.n_iter_), 1e3 * np.asarray(free.pair_seconds_)
    return Price(
        scene.name,
        len(scene.y),
        scene.n_features + 1,
        len(rounds),
        alone,
        with_features,
        median(second / first for first, second in times),
        int(np.sum(~free.kernel_used_)),
        int(np.sum(free.duality_gap_ > TOL)),
        float(free.duality_gap_.max()),
        f"{np.median(rounds):.0f}, {rounds.max()}",
        f"{np.median(clock):.3g}, {clock.max():.3g}",
    )


@dataclass
class Small:
    """One small problem; milliseconds of the processor."""

    problem: str
    m: int
    n_classes: int
    C: float
    grls: float
    svc: float
    ratio: float
    one_row: float  # microseconds of a prediction
    one_row_svc: float


def _least(call: Callable[[], Any], times: int) -> float:
    def once() -> float:
        begin = time.process_time()
        call()
        return time.process_time() - begin

    return min(once() for _ in range(times))


def small(name: str, X: Array, y: Array, sigma: float, weight: float, repetitions: int) -> Small:
    """Fit a small problem by both, in turns, each time the best of a few."""
    from grls import SVMGBClassifier
    from grls.kernels import Gaussian
    from sklearn.svm import SVC

    models = SVMGBClassifier(Gaussian(sigma), C=weight), SVC(C=weight, gamma=1 / (2 * sigma**2))
    for model in models:
        model.fit(X, y)
    times = [[_least(lambda m=model: m.fit(X, y), 7) for model in models] for _ in range(repetitions)]
    rows = [_least(lambda m=model: m.predict(X[:1]), 50) for model in models]
    ours, theirs = (1e3 * median(column) for column in zip(*times, strict=True))
    ratio = median(first / second for first, second in times)
    return Small(name, len(y), len(set(y)), weight, ours, theirs, ratio, 1e6 * rows[0], 1e6 * rows[1])


def small_problems(repetitions: int) -> list[Small]:
    """Return two classes of 50 to 1000 rows, iris, and digits."""
    from sklearn.datasets import load_digits, load_iris, make_classification

    out = []
    for m in (50, 100, 200, 300, 500, 1000):
        X, y = make_classification(m, 10, n_informative=5, flip_y=0.1, random_state=1)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for weight in (1.0, 100.0):
            out.append(small("two classes", X, y, 3.0, weight, repetitions))
    X, y = load_iris(return_X_y=True)
    out.append(small("iris", (X - X.mean(axis=0)) / X.std(axis=0), y, 2.0, 1.0, repetitions))
    X, y = load_digits(return_X_y=True)
    for m in (200, len(y)):
        out.append(small("digits", X[:m] / 16, y[:m], 2.0, 1.0, repetitions))
    return out


def markdown(prices: list[Price], smalls: list[Small], machine: dict[str, Any]) -> str:
    lines = [
        f"{provenance('python -m bench.svm.speed', machine, packages=True)} Processor times, medians of "
        "repetitions in turns.",
        "",
    ]
    if prices:
        lines += [
            f"**Features beside the constant**, C = {C:g}, tol = {TOL:g}. Rounds and milliseconds of a pair: "
            "median, most.",
            "",
            *table(
                [
                    "scene",
                    "rows",
                    "features",
                    "constant, s",
                    "features, s",
                    "ratio",
                    "pairs",
                    "separable",
                    "above tol",
                    "worst gap",
                    "rounds",
                    "ms",
                ],
                [
                    [
                        each.scene,
                        str(each.m),
                        str(each.n_features),
                        f"{each.constant:.2f}",
                        f"{each.features:.2f}",
                        f"{each.ratio:.2f}",
                        str(each.n_pairs),
                        str(each.separable),
                        str(each.above_tol),
                        f"{each.worst_gap:.1e}",
                        each.rounds,
                        each.milliseconds,
                    ]
                    for each in prices
                ],
            ),
        ]
    if smalls:
        lines += [
            "**Small problems**, C and width given; ms of a fit, and µs of the prediction of one row.",
            "",
            *table(
                ["problem", "rows", "classes", "C", "grls", "SVC", "ratio", "one row", "by SVC"],
                [
                    [
                        each.problem,
                        str(each.m),
                        str(each.n_classes),
                        f"{each.C:g}",
                        f"{each.grls:.2f}",
                        f"{each.svc:.2f}",
                        f"{each.ratio:.2f}",
                        f"{each.one_row:.0f}",
                        f"{each.one_row_svc:.0f}",
                    ]
                    for each in smalls
                ],
            ),
        ]
    return "\n".join(lines) + "\n"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.svm.speed", description="The price of features; small problems beside SVC."
    )
    parser.add_argument("--scenes", nargs="*", choices=sorted(PLACES), default=list(PLACES))
    parser.add_argument("--rows", type=int, default=4000, help="training rows of a scene of any size")
    parser.add_argument("--most", type=int, default=10_000, help="training rows of a scene")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--small", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--output", type=Path, help="directory; default: bench/results, or none for some scenes only"
    )
    settings = parser.parse_args(arguments)
    whole = settings.small and set(settings.scenes) == set(PLACES)
    settings.output = settings.output or (RESULTS if whole else None)
    return settings


def main(arguments: Sequence[str] | None = None) -> int:
    settings = parse(arguments)
    machine = facts(ROOT)
    prices: list[Price] = []
    smalls = small_problems(settings.repetitions) if settings.small else []
    for each in smalls:
        print(each, flush=True)
    try:
        for name in settings.scenes:
            n = min(ROWS.get(name, settings.rows), settings.most)
            prices.append(price(PLACES[name](n, settings.seed), settings.repetitions))
            print(prices[-1], flush=True)
    except FileNotFoundError as error:
        print(f"left out: {error}")
        return 1
    if settings.output is not None:
        if prices:
            write_csv(settings.output / "svm_speed.csv", prices)
        content = {
            "machine": machine,
            "prices": [asdict(e) for e in prices],
            "small": [asdict(e) for e in smalls],
        }
        settings.output.mkdir(parents=True, exist_ok=True)
        (settings.output / "svm_speed.json").write_text(
            json.dumps(content, indent=1) + "\n", encoding="utf-8"
        )
        (settings.output / "svm_speed.md").write_text(markdown(prices, smalls, machine), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
