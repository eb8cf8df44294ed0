"""The scenes. Each prints its rows and writes them to a CSV and a markdown file with the machine's facts."""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.peers.machine import facts, provenance
from bench.peers.memory import _forget_peak, _peak
from bench.peers.timing import growth, interleaved, stopwatch
from bench.tables import write_csv

from .centers import scene_doubling, scene_draws
from .gradients import scene_centres, scene_choice
from .rows import Row, digits, drawn_rows, regression, row

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def scene_mnist(quick: bool, repeats: int) -> list[Row]:
    """1000 centres: the fit of all ten classes; beside the times the mean error of some draws of centres."""
    from grls import NystromGRLSClassifier
    from grls.kernels import Gaussian
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    n, M, g = (600, 50, 0.02) if quick else (60_000, 1000, 0.02)
    X, y, X_test, y_test, source = digits(n, 200 if quick else 10_000)

    def ours(precision: str, draw: int = 0) -> Any:
        return NystromGRLSClassifier(
            Gaussian(1 / np.sqrt(2 * g)),
            n_centers=M,
            precision=precision,
            regularization=1e-6,
            random_state=draw,
        ).fit(X, y)

    def theirs(draw: int = 0) -> Any:
        nystroem = Nystroem(gamma=g, n_components=M, random_state=draw)
        return make_pipeline(nystroem, RidgeClassifier(alpha=1e-6 * n)).fit(X, y)

    fits: dict[str, Any] = {
        "grls": partial(ours, "double"),
        "grls single": partial(ours, "single"),
        "Nystroem + RidgeClassifier": theirs,
    }
    draws = range(2 if quick else 5)
    errors = {
        name: np.mean([100 * (1 - fit(draw=draw).score(X_test, y_test)) for draw in draws])
        for name, fit in fits.items()
    }
    times = interleaved(
        {name: partial(stopwatch, fit) for name, fit in fits.items()}, repeats, 0.0 if quick else 0.4
    )
    theirs_time = times["Nystroem + RidgeClassifier"]
    return [
        row(
            f"mnist ({source}), n={n}, M={M}",
            name,
            t.median,
            error=round(errors[name], 2),
            ratio=round(theirs_time.ratio_to(t), 2),
        )
        for name, t in times.items()
    ]


def scene_svc(quick: bool, repeats: int) -> list[Row]:
    """More centres against a support vector machine, on the pixels and on digits that were straightened."""
    from grls import NystromGRLSClassifier
    from grls.kernels import Gaussian

    from bench.paper.experiments._digits import straightened

    n, n_test = (600, 200) if quick else (60_000, 10_000)
    X, y, X_test, y_test, source = digits(n, n_test)
    few, many = (40, 80) if quick else (3000, 10_000)
    g = 0.0156  # 0.0039, the thesis's, for pixels from 0 to 1
    models: dict[str, Any] = {
        f"grls single, M={few}": NystromGRLSClassifier(
            Gaussian(1 / np.sqrt(2 * g)), n_centers=few, precision="single", regularization=1e-6
        ),
        f"grls single, M={many}, cg": NystromGRLSClassifier(
            Gaussian(1 / np.sqrt(2 * g)),
            n_centers=many,
            precision="single",
            regularization=3e-7,
            solver="cg",
            tol=1e-3,
            cache_size=3000,
        ),
    }
    peer = "scikit-learn-intelex SVC"
    with contextlib.suppress(ImportError):
        from sklearnex.svm import SVC

        models[peer] = SVC(C=2, gamma=g)
    out = []
    for prepared in ("pixels", "straightened"):
        if prepared == "straightened":
            X, X_test = (
                straightened(a.reshape(-1, 28, 28)).reshape(len(a), -1).astype(float) for a in (X, X_test)
            )
        fits = {name: partial(stopwatch, partial(model.fit, X, y)) for name, model in models.items()}
        times = interleaved(fits, repeats, 0.0 if quick else 0.4)
        for name, model in models.items():
            told = {"error": round(100 * (1 - model.score(X_test, y_test)), 2)}
            if peer in models:
                told["ratio"] = round(times[peer].ratio_to(times[name]), 2)
            out.append(row(f"svc ({source}, {prepared}), n={n}", name, times[name].median, **told))
    return out


def _measured(repeats: int, what: str, *arguments: str) -> dict[str, float]:
    """Return what `measure_rows` or `measure_exact` prints in processes of their own: medians."""
    command = [sys.executable, "-m", "bench.nystrom", "--measure", what, *arguments]
    found = []
    for _ in range(repeats):
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {name: float(np.median([each[name] for each in found])) for name in found[0]}


def scene_rows(quick: bool, repeats: int) -> list[Row]:
    """Rows of 20 columns in memory: seconds, and the peak above the data in a process of its own."""
    sizes, M = ((1000, 3000), 40) if quick else ((100_000, 300_000, 1_000_000), 1000)
    out = []
    for n in sizes:
        result = _measured(repeats, "rows", str(n), str(M))
        out.append(row(f"rows, d=20, M={M}", f"n={n}", result["seconds"], mib=round(result["bytes"] / 2**20)))
    exponent = growth(list(sizes), [entry["seconds"] for entry in out])
    for entry in out:
        entry["exponent"] = round(exponent, 2)
    return out


def measure_rows(n: int, M: int) -> None:
    """Fit n rows once and print seconds and bytes above the data."""
    from grls import NystromGRLSRegressor
    from grls.kernels import Gaussian

    X, y = drawn_rows(n)
    NystromGRLSRegressor(Gaussian(4.0), features="linear", n_centers=40).fit(X[:200], y[:200])
    before = _forget_peak()
    model = NystromGRLSRegressor(Gaussian(4.0), features="linear", n_centers=M)
    seconds = stopwatch(partial(model.fit, X, y))
    print(json.dumps({"seconds": seconds, "bytes": _peak() - before}))


def scene_exact(quick: bool, repeats: int) -> list[Row]:
    """Fit the exact model of 60,000 rows of 20 columns without its matrix, in a process of its own."""
    n = 1000 if quick else 60_000
    return [
        row(f"exact by cg, d=20, n={n}", precision, result["seconds"], mib=round(result["bytes"] / 2**20))
        for precision in ("double", "mixed")
        for result in [_measured(repeats, "exact", str(n), precision)]
    ]


def measure_exact(n: int, precision: str) -> None:
    """Fit n rows once and print seconds and bytes above the data."""
    from grls import GRLSRegressor
    from grls.kernels import Gaussian

    X, y = drawn_rows(n)
    options = {"features": "linear", "regularization": 1e-5, "solver": "cg", "precision": precision}
    GRLSRegressor(Gaussian(4.0), **options).fit(X[:200], y[:200])
    before = _forget_peak()
    model = GRLSRegressor(Gaussian(4.0), **options)
    seconds = stopwatch(partial(model.fit, X, y))
    print(json.dumps({"seconds": seconds, "bytes": _peak() - before}))


def scene_dask(quick: bool, repeats: int) -> list[Row]:
    """Rows made on the workers and kept there: one worker, two workers, and the fit in memory."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster
    from grls import NystromGRLSRegressor, set_num_threads
    from grls.dask import NystromGRLSRegressor as OnDask
    from grls.kernels import Gaussian

    n, M, chunk = (2000, 40, 500) if quick else (400_000, 1000, 25_000)
    parameters = {"kernel": Gaussian(4.0), "features": "linear", "n_centers": M, "regularization": 1e-5}
    times: dict[str, list[float]] = {}
    answers = {}
    for workers in (1, 2):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            X = da.random.default_rng(0).standard_normal((n, 20), chunks=(chunk, 20)).persist()
            y = (da.sin(X[:, 0]) + X[:, 1] * X[:, 2]).persist()
            client.gather(client.compute(X.sum()))
            OnDask(**{**parameters, "n_centers": 40}).fit(X[:1000], y[:1000])  # the workers import grls
            name = f"Dask, {workers} worker{'s' if workers > 1 else ''}"
            for _ in range(repeats):
                model = OnDask(**parameters)
                times.setdefault(name, []).append(stopwatch(partial(model.fit, X, y)))
            local_X, local_y = X.compute(), y.compute()
            answers[name] = model.predict(local_X[:1000])
        for threads in (workers,):
            set_num_threads(threads)
            model = NystromGRLSRegressor(**parameters)
            for _ in range(repeats):
                name = f"in memory, {threads} thread{'s' if threads > 1 else ''}"
                times.setdefault(name, []).append(stopwatch(partial(model.fit, local_X, local_y)))
            answers[name] = model.predict(local_X[:1000])
            set_num_threads(None)
    reference = answers["in memory, 2 threads"]
    for name, values in answers.items():
        if not np.allclose(values, reference, atol=1e-8):
            raise SystemExit(f"{name} gives other answers")
    best = {name: min(seconds) for name, seconds in times.items()}
    scene = f"dask, n={n}, M={M}"
    out = [
        row(scene, name, seconds, ratio=round(best["Dask, 1 worker"] / seconds, 2))
        for name, seconds in best.items()
    ]
    workers = best["Dask, 1 worker"] / best["Dask, 2 workers"]
    threads = best["in memory, 1 thread"] / best["in memory, 2 threads"]
    together = row(
        scene,
        "2 workers: speed-up ÷ that of 2 threads",
        best["Dask, 2 workers"],
        ratio=round(workers / threads, 3),
    )
    return [*out, together]


def scene_regression(quick: bool, repeats: int) -> list[Row]:
    """Test errors of centres beside the exact model of as many rows as a matrix has room for."""
    from grls import GRLSRegressor, NystromGRLSRegressor
    from grls.kernels import Laplace

    out = []
    for name in ("protein", "california"):
        X, y, X_test, y_test, source = regression(name, quick)
        scene = f"{source}, n={len(y)}, d={X.shape[1]}"
        width = float(np.sqrt(X.shape[1]))
        models: dict[str, tuple[Any, int]] = {}  # and how many rows they are fitted to
        for M in (20, 40) if quick else (500, 2000):
            centred = NystromGRLSRegressor(Laplace(width), features="linear", n_centers=M)
            models[f"grls, M={M}"] = centred, len(y)
        part = min(len(y), 200 if quick else 4000)
        exact = GRLSRegressor(Laplace(width), features="linear", regularization="gcv")
        models[f"exact, {part} rows"] = exact, part
        fits = {
            label: partial(stopwatch, partial(model.fit, X[:n_rows], y[:n_rows]))
            for label, (model, n_rows) in models.items()
        }
        times = interleaved(fits, repeats, 0.0 if quick else 0.4)
        for label, (model, _) in models.items():
            error = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
            out.append(row(scene, label, times[label].median, error=round(error, 4)))
    return out


SCENES = {
    "mnist": scene_mnist,
    "svc": scene_svc,
    "rows": scene_rows,
    "exact": scene_exact,
    "centres": scene_centres,
    "choice": scene_choice,
    "dask": scene_dask,
    "regression": scene_regression,
    "doubling": scene_doubling,
    "draws": scene_draws,
}
COLUMNS = ("scene", "name", "seconds", "ratio", "error", "mib", "exponent", "steps")


def markdown(name: str, rows: list[Row], machine: dict[str, Any]) -> str:
    lines = [
        f"{provenance(f'python -m bench.nystrom --scenes {name}', machine, packages=True)} "
        "`ratio`: how many times as long the peer of the scene takes (of `dask`: one worker, and the least "
        "of three times each; of `centres`: uniform draws; of `choice` and `doubling`: the other way round, "
        "that of the fit with what was chosen). `error`: percent of labels, root mean square, or of "
        "`choice` the logarithm of γ over that of the closed form. `steps`: of conjugate gradients.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "| " + " | ".join("---" for _ in COLUMNS) + " |",
    ]
    for entry in rows:
        cells = [entry.get(column) for column in COLUMNS]
        cells[2] = f"{entry['seconds']:.3g}"
        lines.append("| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.nystrom", description=__doc__)
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a run of seconds; times mean nothing")
    parser.add_argument(
        "--output", type=Path, help="directory of the results; default: bench/results/nystrom"
    )
    parser.add_argument("--threads", type=int)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    a = parser.parse_args(arguments)
    if a.measure:
        what, n, option = a.measure
        measure_rows(int(n), int(option)) if what == "rows" else measure_exact(int(n), option)
        return 0
    output = a.output or (None if a.quick else RESULTS / "nystrom")
    for name in a.scenes:
        machine = facts(ROOT)
        with threadpool_limits(a.threads):
            rows = SCENES[name](a.quick, 1 if a.quick else a.repeats)
        for entry in rows:
            shown = (f"{column}={entry[column]}" for column in COLUMNS if column in entry)
            print("  ".join(shown), flush=True)
        if output is not None:
            full = [{column: entry.get(column) for column in COLUMNS} for entry in rows]
            write_csv(output / f"{name}.csv", full)
            page = markdown(name, rows, machine)
            (output / f"{name}.md").write_text(page, encoding="utf-8")
    return 0
