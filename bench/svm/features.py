"""Free features, none, or as free as rows held out say; and `SVMGBClassifier()` beside other defaults.

``python -m bench.svm.features``. Scenes: handwritten digits with principal components, 26 classes that are
clusters of digits, objects, and text with pLSA topics; each trained with C="cv" and feature_variance=inf
(free), "auto" and 0 (none). The price is that of the whole fit in fits with what was chosen, by processor
time, which counts threads that wait as well. Data are read from ``GRLS_DATA``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.peers.machine import facts, provenance
from bench.peers.report import table

from ..tables import write_csv

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
VARIANCES: dict[str, Any] = {"free": np.inf, "auto": "auto", "none": 0.0}
SMALL = ("australian", "diabetes", "fourclass", "german", "heart", "liver", "sonar", "splice", "svmguide3")
N_COMPONENTS, N_NEW = 20, 2000
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Scene:
    """Points beside features, in the columns behind them."""

    name: str
    X: Any  # (m, d + l)
    y: Array
    X_new: Any
    y_new: Array
    kernel: Any  # of the first columns
    n_features: int

    def features(self, X: Any) -> Array:
        """Return the constant, and the last columns."""
        last = X[:, -self.n_features :]
        last = last.toarray() if hasattr(last, "toarray") else last
        return np.column_stack([np.ones(len(last)), last])


@dataclass
class Row:
    """One way with features in one scene."""

    scene: str
    m: int
    way: str
    C: float
    feature_variance: float
    held_out_error: float
    test_error: float
    standard_error: float
    seconds: float
    price: float  # in fits


def _beside(name: str, X: Array, T: Array, y: Array, n: int, sigma: float, seed: int) -> Scene:
    from grls.kernels import Gaussian

    rows = np.random.default_rng(seed).permutation(len(y))
    new = rows[n : n + N_NEW]
    both = np.hstack([X, T])
    kernel = Gaussian(sigma).on(list(range(X.shape[1])))
    return Scene(name, both[rows[:n]], y[rows[:n]], both[new], y[new], kernel, T.shape[1])


def _components(X: Array, n: int) -> Array:
    from sklearn.decomposition import PCA

    return PCA(n, random_state=0).fit_transform(X)


def digits(n: int, seed: int) -> Scene:
    """MNIST; the features are principal components of the pixels."""
    from grls.datasets import load_mnist

    X, y = load_mnist(subset="test", download_if_missing=False, return_X_y=True)
    X = np.asarray(X, dtype=float).reshape(len(y), -1) / max(1.0, float(np.max(X)))
    return _beside("digits", X, _components(X, N_COMPONENTS), np.asarray(y), n, 5.0, seed)


def letters(n: int, seed: int) -> Scene:
    """26 classes: two or three clusters of each digit, in 16 principal components that are features too."""
    from grls.datasets import load_mnist
    from sklearn.cluster import KMeans

    X, y = load_mnist(subset="test", download_if_missing=False, return_X_y=True)
    P = _components(np.asarray(X, dtype=float).reshape(len(y), -1), 16)
    P, y = P / P.std(axis=0), np.asarray(y).astype(int)
    labels, first = np.zeros(len(y), dtype=int), 0
    for digit in range(10):
        k = 3 if digit < 6 else 2
        mine = np.flatnonzero(y == digit)
        labels[mine] = first + KMeans(k, random_state=0, n_init=3).fit_predict(P[mine])
        first += k
    return _beside("letters", P, P, labels, n, 2.0, seed)


def objects(n: int, seed: int) -> Scene:
    """COIL-20; the features are principal components of the pixels."""
    from grls.datasets import load_coil20

    X, y = load_coil20(download_if_missing=False, return_X_y=True)
    X = np.asarray(X, dtype=float).reshape(len(y), -1)
    X = X / X.max()
    return _beside("objects", X, _components(X, N_COMPONENTS), np.asarray(y), n, 4.0, seed)


def text(n: int, seed: int) -> Scene:
    """20 newsgroups; words in a linear kernel, and topics of all documents, found without labels."""
    from grls.datasets import load_20newsgroups, word_counter
    from grls.features import PLSA
    from grls.kernels import Linear
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfTransformer

    texts, y = load_20newsgroups(download_if_missing=False, return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[: n + N_NEW]
    counts = word_counter().set_params(max_features=5000).fit_transform([texts[i] for i in rows])
    topics = PLSA(N_COMPONENTS, random_state=0).fit_transform(counts)[:, 1:]  # they add up to one
    words = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    both, labels = sparse.hstack([words, topics], format="csr"), np.asarray(y)[rows]
    kernel = Linear().on(list(range(words.shape[1])))
    return Scene("text", both[:n], labels[:n], both[n:], labels[n:], kernel, topics.shape[1])


SCENES: dict[str, Callable[[int, int], Scene]] = {
    "digits": digits,
    "letters": letters,
    "objects": objects,
    "text": text,
}


def _timed(model: Any, X: Any, y: Array) -> tuple[Any, float]:
    from grls.exceptions import ExtrapolationWarning, SeparableFeaturesWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparableFeaturesWarning)  # what free features do is what is shown
        warnings.simplefilter("ignore", ExtrapolationWarning)
        begin = time.process_time()
        return model.fit(X, y), time.process_time() - begin


def ways(scene: Scene, repetitions: int) -> Iterator[Row]:
    """Fit the scene with free features, chosen ones and none; times are medians of repetitions in turns."""
    from grls import SVMGBClassifier

    for name, variance in VARIANCES.items():
        model = SVMGBClassifier(scene.kernel, features=scene.features, C="cv", feature_variance=variance)
        chosen, first = _timed(model, scene.X, scene.y)
        given = SVMGBClassifier(
            scene.kernel, features=scene.features, C=chosen.C_, feature_variance=chosen.feature_variance_
        )
        seconds, ones = [first], [_timed(given, scene.X, scene.y)[1]]
        for _ in range(repetitions - 1):
            seconds.append(_timed(model, scene.X, scene.y)[1])
            ones.append(_timed(given, scene.X, scene.y)[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = float(np.mean(chosen.predict(scene.X_new) != scene.y_new))
        spread = float(np.sqrt(max(error, 1 / len(scene.y_new)) * (1 - error) / len(scene.y_new)))
        yield Row(
            scene.name,
            len(scene.y),
            name,
            chosen.C_,
            chosen.feature_variance_,
            1 - chosen.cv_score_,
            error,
            spread,
            float(np.median(seconds)),
            float(np.median(np.divide(seconds, ones))),
        )


@dataclass
class Default:
    """Errors of defaults on draws of one set, and the price of ours."""

    data: str
    m: int
    grls: float
    grls_C1: float
    svc: float
    boosting: float
    price: float  # of C="cv", in fits with C=1


def _tables() -> Iterator[tuple[str, Array, Array]]:
    from grls import datasets

    for name in SMALL:
        yield name, *datasets.load_binary(name, download_if_missing=False, return_X_y=True)
    yield "cod_rna", *datasets.load_cod_rna(download_if_missing=False, return_X_y=True)
    X, y = datasets.load_a9a(subset="train", download_if_missing=False, return_X_y=True)
    yield "a9a", X.toarray() if hasattr(X, "toarray") else X, y


def defaults(draws: int) -> Iterator[Default]:
    """Compare defaults on draws of at most 1,500 training rows."""
    from grls import SVMGBClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.svm import SVC

    makers: list[Callable[[], Any]] = [
        lambda: SVMGBClassifier(C="cv"),
        lambda: SVMGBClassifier(C=1.0),
        SVC,
        HistGradientBoostingClassifier,
    ]
    for name, X, y in _tables():
        errors, times = np.zeros((draws, 4)), np.zeros((draws, 4))
        m = min(1500, int(0.7 * len(y)))
        for draw in range(draws):
            rows = np.random.default_rng(draw).permutation(len(y))
            train, new = rows[:m], rows[m : m + 5000]
            for k, make in enumerate(makers):
                model, times[draw, k] = _timed(make(), X[train], y[train])
                errors[draw, k] = np.mean(model.predict(X[new]) != y[new])
        price = float(np.median(times[:, 0] / times[:, 1]))
        yield Default(name, m, *errors.mean(axis=0).tolist(), price)


def markdown(rows: list[Row], compared: list[Default], machine: dict[str, Any], draws: int) -> str:
    lines = [
        f"{provenance('python -m bench.svm.features', machine, packages=True)} Prices are ratios of "
        "processor times of one thread, medians.",
        "",
        '**How free should features be?** C="cv" everywhere; wrong labels in % ± a standard error.',
        "",
    ]
    body = []
    for scene in dict.fromkeys(row.scene for row in rows):
        mine = {row.way: row for row in rows if row.scene == scene}
        told = [f"{100 * r.test_error:.2f} ± {100 * r.standard_error:.2f}" for r in mine.values()]
        auto = mine["auto"]
        prices = ", ".join(f"{row.price:.1f}" for row in mine.values())
        body.append([scene, str(auto.m), *told, f"{auto.C:.3g}, {auto.feature_variance:.3g}", prices])
    head = [
        "scene",
        "training rows",
        *VARIANCES,
        "C and variance of auto",
        "price in fits (free, auto, none)",
    ]
    lines += [*table(head, body), ""] if body else []
    if compared:
        no_worse = [
            sum(each.grls <= getattr(each, peer) + 0.01 for each in compared)
            for peer in ("grls_C1", "svc", "boosting")
        ]
        lines += [
            f"**Defaults**, wrong labels in %, means over {draws} draws. No worse by more than "
            f"one point than C=1, `SVC()` and gradient boosting on {', '.join(map(str, no_worse))} of "
            f"{len(compared)} sets.",
            "",
            *table(
                [
                    "set",
                    "rows",
                    'SVMGBClassifier(C="cv")',
                    "C=1.0",
                    "SVC()",
                    "HistGradientBoosting",
                    "price in fits",
                ],
                [
                    [
                        each.data,
                        str(each.m),
                        *(f"{100 * e:.2f}" for e in (each.grls, each.grls_C1, each.svc, each.boosting)),
                        f"{each.price:.1f}",
                    ]
                    for each in compared
                ],
            ),
        ]
    return "\n".join(lines) + "\n"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.svm.features", description="Errors with free, chosen and no features; defaults."
    )
    parser.add_argument("--scenes", nargs="*", choices=sorted(SCENES), default=list(SCENES))
    parser.add_argument("--rows", type=int, default=2000, help="training rows of a scene")
    parser.add_argument("--draws", type=int, default=10, help="of each set that defaults are compared on")
    parser.add_argument("--repetitions", type=int, default=3, help="of the times of a scene")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--output", type=Path, help="directory; default: bench/results, or none for some scenes only"
    )
    settings = parser.parse_args(arguments)
    settings.output = settings.output or (RESULTS if set(settings.scenes) == set(SCENES) else None)
    return settings


def main(arguments: Sequence[str] | None = None) -> int:
    settings = parse(arguments)
    import grls

    machine = facts(ROOT)
    grls.set_num_threads(1)
    threadpool_limits(1)  # threads of BLAS that wait would count as work
    rows: list[Row] = []
    compared: list[Default] = []
    try:
        for name in settings.scenes:
            n = min(settings.rows, 720) if name == "objects" else settings.rows
            for row in ways(SCENES[name](n, settings.seed), settings.repetitions):
                rows.append(row)
                print(
                    f"{row.scene:8s} {row.m} rows, {row.way}: C {row.C:.3g}, variance "
                    f"{row.feature_variance:.3g}, error {row.test_error:.4f} ± {row.standard_error:.4f}, "
                    f"{row.seconds:.1f} s, {row.price:.1f} fits",
                    flush=True,
                )
        for each in defaults(settings.draws) if settings.draws else ():
            compared.append(each)
            print(each, flush=True)
    except FileNotFoundError as error:
        print(f"left out: {error}")
        return 1
    if settings.output is not None and rows:
        write_csv(settings.output / "svm_features.csv", rows)
        content = {
            "machine": machine,
            "rows": [asdict(row) for row in rows],
            "defaults": [asdict(each) for each in compared],
        }
        (settings.output / "svm_features.json").write_text(
            json.dumps(content, indent=1) + "\n", encoding="utf-8"
        )
        (settings.output / "svm_features.md").write_text(
            markdown(rows, compared, machine, settings.draws), encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
