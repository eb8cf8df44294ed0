"""Maps: `rows`, up to 10⁷ of them; `exact`, the same map beside the exact model; `peers`, beside packages.

The truth is a plane with hills; the noise has a standard deviation of 0.3. Errors are those of 2,000 places
that no row is at, without noise. Wall time and CPU time of the whole process are printed: on a machine that
does other work only the latter means something.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from grls import FourierGRLSRegressor, GRLSRegressor
from grls.kernels import Matern

from bench.peers.machine import facts, provenance
from bench.tables import write_csv

from .peers import PEERS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results" / "fourier"
NOISE, WIDTH = 0.3, 0.2
Row = dict[str, Any]


def surface(X: Any) -> Any:
    """Return the truth at places (n, 2)."""
    x, y = X.T
    return 4 * x - 2 * y + np.sin(9 * x) * np.cos(8 * y) + 0.3 * np.sin(30 * x * y)


def drawn(m: int, seed: int) -> tuple[Any, Any]:
    """Return places and measurements."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, 2))
    return X, surface(X) + NOISE * rng.standard_normal(m)


def _clocks() -> Any:
    return np.array([time.perf_counter(), time.process_time()])


def measured(name: str, m: int, work: Callable[[], Callable[[Any], Any]], repeats: int = 1) -> Row:
    """Return time and error of a fit, medians of repetitions; `work` returns what predicts."""
    new = np.random.default_rng(10**6).random((2000, 2))
    times = np.empty((repeats, 2, 2))  # of fits and predictions, by both clocks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for repetition in range(repeats):
            begin = _clocks()
            predict = work()
            between = _clocks()
            found = np.asarray(predict(new)).reshape(-1)
            times[repetition] = between - begin, _clocks() - between
    error = float(np.sqrt(np.mean((found - surface(new)) ** 2)))
    fit, predicted = np.median(times, axis=0)
    return {
        "model": name,
        "rows": m,
        "fit_s": round(float(fit[0]), 2),
        "fit_cpu_s": round(float(fit[1]), 2),
        "predict_2000_s": round(float(predicted[0]), 3),
        "predict_2000_cpu_s": round(float(predicted[1]), 3),
        "rmse": round(error, 4),
    }


REPEATS = 3  # of our own models; peers take minutes


GIVEN, GAMMA, BOTH = "γ given", "γ chosen", "γ and width chosen"


def fourier(X: Any, y: Any, tol: float, left: str) -> FourierGRLSRegressor:
    """Return the model, fitted: γ that of the truth, or γ, or γ and width, left to the data."""
    options: dict[str, Any] = {"regularization": NOISE**2 / len(X) if left == GIVEN else "reml"}
    if left == BOTH:
        options["optimize"] = True
    return FourierGRLSRegressor(Matern(WIDTH), features="linear", tol=tol, **options).fit(X, y)


def rows(sizes: Sequence[int], tol: float) -> list[Row]:
    """Return the rows of the first scene."""
    out = []
    for m in sizes:
        X, y = drawn(m, 0)
        given = 0.0
        for left in (GIVEN, GAMMA, BOTH):
            models: list[FourierGRLSRegressor] = []

            def work(X: Any = X, y: Any = y, left: str = left, models: Any = models) -> Any:
                models[:] = [fourier(X, y, tol, left)]
                return models[0].predict

            row = measured(left, m, work, REPEATS)
            model = models[0]
            given = row["fit_cpu_s"] if left == GIVEN else given
            row["cpu_by_given"] = round(row["fit_cpu_s"] / given, 2)
            stages = {
                name: round(model.fit_seconds_.get(name, 0.0), 2) for name in ("sums", "solve", "check")
            }
            row |= {"modes": "x".join(map(str, model.n_modes_)), "steps": model.n_iter_}
            row |= {"kernel_error": f"{model.kernel_error_:.2g}", "fit_error": f"{model.fit_error_:.2g}"}
            row |= {"width": round(float(model.kernel_.sigma), 4), **stages}
            out.append(row)
            print(row, flush=True)
    return out


# Name, the most rows that it is given, and the fit, which returns what predicts.
CONTENDERS: list[tuple[str, int, Callable[..., Any]]] = [
    ("FourierGRLSRegressor, γ given", 10**9, lambda *data: fourier(*data, GIVEN).predict),
    ("FourierGRLSRegressor, chosen", 10**9, lambda *data: fourier(*data, BOTH).predict),
    ("GRLSRegressor, γ given", 20_000, lambda X, y, tol: _exact(X, y)),
]


def beside_exact(sizes: Sequence[int], tol: float) -> list[Row]:
    """Return the rows of the second scene: each model as far as it goes."""
    out = []
    for m in sizes:
        X, y = drawn(m, 1)
        for name, largest, fit in CONTENDERS:
            if m > largest:
                print(f"{name}: not tried with {m} rows, it stores matrices of all of them", flush=True)
                continue
            out.append(measured(name, m, partial(fit, X, y, tol), REPEATS))
            print(out[-1], flush=True)
    return out


def _in_child(name: str, m: int, tol: float, send: Any) -> None:
    """Measure one contender, by its name, in a process of its own."""
    X, y = drawn(m, 1)
    fits: dict[str, Callable[..., Any]] = {own: fit for own, _, fit in CONTENDERS}
    fits |= {peer.name: partial(_told, peer.fit) for peer in PEERS}
    try:
        send.send(measured(name, m, partial(fits[name], X, y, tol)))
    except Exception as error:
        send.send(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")


def _told(fit: Callable[..., Any], X: Any, y: Any, tol: float) -> Any:
    return fit(X, y, NOISE, WIDTH)


def _measured_apart(name: str, m: int, tol: float, limit: float) -> Row | str:
    """Return the row of one contender, or why there is none."""
    spawn = multiprocessing.get_context("spawn")
    receive, send = spawn.Pipe(duplex=False)
    child = spawn.Process(target=_in_child, args=(name, m, tol, send))
    before = _cpu_of_children()
    child.start()
    send.close()
    try:
        if not receive.poll(limit):
            child.kill()
            child.join()
            return f"not done after {limit:.0f} s, {_cpu_of_children() - before:.0f} of them at work (CPU)"
        found: Row | str = receive.recv()
        return found
    except EOFError:
        child.join()
        return f"its process ended with status {child.exitcode}"
    finally:
        if child.is_alive():
            child.kill()
        child.join()


def _cpu_of_children() -> float:
    """Return the CPU seconds of child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def beside_peers(sizes: Sequence[int], tol: float, limit: float) -> list[Row]:
    """Return the rows of the third scene: a contender that cannot has a row that says why."""
    out = []
    for m in sizes:
        contenders = [
            (name, largest, "it stores a matrix of all rows", "") for name, largest, _ in CONTENDERS
        ]
        for peer in PEERS:
            if peer.is_there:
                contenders.append((peer.name, peer.most_rows, peer.reason, peer.note))
            else:
                print(f"{peer.name}: {peer.module} is not installed", flush=True)
        for name, most_rows, reason, note in contenders:
            found = reason if m > most_rows else _measured_apart(name, m, tol, limit)
            row = found | {"note": note} if isinstance(found, dict) else _no_row(name, m, found)
            out.append(row)
            print(row, flush=True)
    return out


def _no_row(name: str, m: int, why: str) -> Row:
    empty = dict.fromkeys(("fit_s", "fit_cpu_s", "predict_2000_s", "predict_2000_cpu_s", "rmse"), "–")
    return {"model": name, "rows": m, **empty, "note": why}


SCENES: dict[str, Callable[..., list[Row]]] = {"rows": rows, "exact": beside_exact, "peers": beside_peers}
SIZES = {"rows": [10**6, 10**7], "exact": [10**4, 10**5], "peers": [10**4, 10**5]}


def _exact(X: Any, y: Any) -> Any:
    gamma = NOISE**2 / len(X)
    return GRLSRegressor(Matern(WIDTH), features="linear", regularization=gamma).fit(X, y).predict


def _table(table: Sequence[Row]) -> str:
    names = list(table[0])
    lines = [names, ["---"] * len(names), *[[str(row.get(name, "")) for name in names] for row in table]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _run(options: argparse.Namespace, sizes: Sequence[int], name: str) -> None:
    """Run a scene with some sizes and write its table under a name."""
    machine = facts(ROOT)
    limit = {"limit": options.limit} if options.scene == "peers" else {}
    table = SCENES[options.scene](sizes, options.tol, **limit)
    write_csv(options.out / f"{name}.csv", table)
    command = (
        f"python -m bench.fourier {options.scene} --tol {options.tol:g} --sizes {' '.join(map(str, sizes))}"
    )
    command += f" --limit {options.limit:g}" if limit else ""
    told = "Medians of three fits." if options.scene != "peers" else "One fit each."
    text = f"{provenance(command, machine, packages=True)} {told}\n\n{_table(table)}\n"
    (options.out / f"{name}.md").write_text(text, encoding="utf-8")
    print(_table(table))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a scene and write its table."""
    parser = argparse.ArgumentParser(prog="python -m bench.fourier", description=__doc__)
    parser.add_argument("scene", choices=list(SCENES))
    parser.add_argument("--sizes", type=float, nargs="+", help="numbers of rows")
    parser.add_argument("--tol", type=float, default=1.4e-3, help="of the kernel")
    parser.add_argument("--limit", type=float, default=600, help="seconds of one contender of `peers`")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes or SIZES[options.scene]]
    # One table a size beside peers, which take long: what is done is kept.
    tables = [[size] for size in sizes] if options.scene == "peers" else [sizes]
    for part in tables:
        name = f"{options.scene}_{part[0]}" if options.scene == "peers" else options.scene
        _run(options, part, name)
    return 0
