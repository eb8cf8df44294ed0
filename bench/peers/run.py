"""The runner: first the answers, then the times. ``python -m bench.peers --help``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from . import adapters, memory, report
from .adapters import OURS, Peer
from .limit import Limit, Predictor
from .machine import facts, warn_if_busy
from .problems import Array, Problem, digits_like, spatial
from .timing import PAUSE, Times, growth, interleaved, per_call, stopwatch

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
DEFAULT_SIZES = {"digits": (2000, 5000, 10000), "spatial": (2000, 4000, 8000)}
SMALL = 150  # rows of the problem on which everybody is tried first

LIMIT = "limit"


@dataclass(frozen=True)
class Settings:
    scenes: tuple[str, ...]
    sizes: dict[str, tuple[int, ...]]
    d: int
    features: int
    repeats: int
    new_rows: int
    calls: int
    threads: int
    pause: float
    quick: bool
    output: Path | None

    def problem(self, scene: str, m: int) -> Problem:
        if scene == "spatial":
            return spatial(m, n_new=self.new_rows)
        return digits_like(m, self.d, self.features, n_new=self.new_rows)


class Disagreement(Exception):
    """An answer differs from the limit's by more than its peer's tolerance."""


def parse(arguments: Sequence[str] | None) -> Settings:
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description="Time grls beside its peers and beside the arithmetic alone.",
    )
    parser.add_argument("--scenes", nargs="+", choices=list(DEFAULT_SIZES), default=list(DEFAULT_SIZES))
    parser.add_argument("--sizes", nargs="+", type=int, metavar="M", help="training rows, for every scene")
    parser.add_argument("--d", type=int, default=784, help="columns of the digits-like scene")
    parser.add_argument("--features", type=int, default=10, help="features of the digits-like scene")
    parser.add_argument("--repeats", type=int, default=5, help="timed rounds; one more is dropped")
    parser.add_argument("--new-rows", type=int, default=10_000, help="rows that are predicted")
    parser.add_argument(
        "--threads", type=int, help="of every library; default: as many as BLAS takes by itself"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a run of seconds on tiny problems; times mean nothing"
    )
    parser.add_argument(
        "--output", type=Path, help="directory of the results; default: bench/results, or none for --quick"
    )
    a = parser.parse_args(arguments)
    sizes = {scene: tuple(sorted(a.sizes or DEFAULT_SIZES[scene])) for scene in a.scenes}
    if a.quick:
        sizes = {scene: tuple(sorted(a.sizes or (200, 300))) for scene in a.scenes}
    import grls

    return Settings(
        scenes=tuple(a.scenes),
        sizes=sizes,
        d=min(a.d, 40) if a.quick else a.d,
        features=min(a.features, 5) if a.quick else a.features,
        repeats=2 if a.quick else a.repeats,
        new_rows=min(a.new_rows, 100) if a.quick else a.new_rows,
        calls=10 if a.quick else 300,
        threads=a.threads or grls.get_num_threads(),
        pause=0.0 if a.quick else PAUSE,
        quick=a.quick,
        output=a.output or (None if a.quick else RESULTS),
    )


def difference(predictions: Array, reference: Array) -> float:
    """Return the largest difference as a share of the largest reference value."""
    return float(np.abs(predictions - reference).max() / np.abs(reference).max())


def compare(
    problem: Problem, peers: list[Peer], limit: Limit
) -> tuple[dict[str, tuple[float, float]], dict[str, Predictor]]:
    """Fit everybody once, untimed.

    Returns (difference from the limit's answers, test error) by name, and the models to predict with.
    """
    references = {
        with_features: model(problem.X_new)
        for with_features, model in limit.answers(limit.factorise()[0]).items()
    }
    answers, models = {LIMIT: (0.0, problem.error(references[True]))}, {}
    for peer in peers:
        model = peer.fit(problem)
        predictions = model(problem.X_new)
        apart = difference(predictions, references[peer.with_features])
        answers[peer.name] = apart, problem.error(predictions)
        print(f"    {peer.name:26s} differs by {apart:8.1e}   test error {answers[peer.name][1]:.4f}")
        if not apart <= peer.tolerance:
            raise Disagreement(
                f"{peer.name} on {problem.scene}, m={problem.m}: answers differ by {apart:.2e}, "
                f"more than {peer.tolerance:g}"
            )
        if peer.predict_timed:
            models[peer.name] = model
    return answers, models


def rows_of(problem: Problem, stage: str, times: dict[str, Times], limit: str | None) -> list[report.Row]:
    """Return a row of the results per entry, with its ratios to the limit and to grls."""
    return [
        report.Row(
            scene=problem.scene,
            stage=stage,
            m=problem.m,
            d=problem.d,
            features=problem.n_features,
            name=name,
            median=t.median,
            quartiles=t.quartiles,
            extremes=(t.best, max(t.seconds)),
            repeats=len(t.seconds),
            to_limit=t.ratio_to(times[limit]) if limit else None,
            to_ours=t.ratio_to(times[OURS]) if OURS in times else None,
            best_to_limit=t.best / times[limit].best if limit else None,
        )
        for name, t in times.items()
    ]


def time_fits(problem: Problem, peers: list[Peer], limit: Limit, settings: Settings) -> list[report.Row]:
    entries: dict[str, Callable[[], float]] = {LIMIT: limit.fit_seconds}
    entries |= {peer.name: partial(stopwatch, partial(peer.fit, problem)) for peer in peers}
    return rows_of(problem, "fit", interleaved(entries, settings.repeats, settings.pause), LIMIT)


def time_predictions(
    problem: Problem, models: dict[str, Predictor], limit: Limit, settings: Settings
) -> list[report.Row]:
    X = problem.X_new
    entries: dict[str, Callable[[], float]] = {LIMIT: partial(limit.predict_seconds, X)}
    entries |= {name: partial(stopwatch, partial(model, X)) for name, model in models.items()}
    return rows_of(problem, "predict", interleaved(entries, settings.repeats, settings.pause), LIMIT)


def time_one_row(problem: Problem, ours: Predictor, settings: Settings) -> list[report.Row]:
    """Latency of a single row: the arithmetic alone, the call into C++ alone, and the estimator's method."""
    import grls
    from grls import _core
    from scipy.linalg import blas

    model = ours.__self__  # the fitted estimator
    x = problem.X_new[:1]
    formula, threads = model.kernel_.lower(problem.d), grls.get_num_threads()
    works: dict[str, Callable[[], object]] = {
        "GEMV + exp": lambda: np.exp(blas.dgemv(-1e-3, problem.X.T, x[0], trans=1)),
        "C++ call": lambda: _core.kernel_times(
            formula=formula, a=x, b=model.X_fit_, c=model.dual_coef_, threads=threads
        ),
        OURS: lambda: ours(x),
    }
    return rows_of(
        problem,
        "one row",
        {name: per_call(work, settings.calls) for name, work in works.items()},
        "GEMV + exp",
    )


def measure_memory(problem: Problem, peers: list[Peer], settings: Settings) -> list[report.Row]:
    """Peak bytes above the data as a multiple of one m×m matrix of float64."""
    rows = []
    for peer in peers:
        size = memory.in_subprocess(
            problem.scene, problem.m, problem.d, problem.n_features, peer.name, settings.threads
        )
        rows.append(
            report.Row(
                scene=problem.scene,
                stage="memory",
                m=problem.m,
                d=problem.d,
                features=problem.n_features,
                name=peer.name,
                bytes=size,
                to_limit=size / (8 * problem.m**2),
            )
        )
    return rows


def run_problem(problem: Problem, peers: list[Peer], settings: Settings) -> list[report.Row]:
    taking = [peer for peer in peers if peer.takes(problem)]
    limit = Limit(problem, settings.threads)
    try:
        print(f"\n{problem.scene}: m={problem.m}, d={problem.d}, {problem.n_features} features")
        answers, models = compare(problem, taking, limit)
        rows = time_fits(problem, taking, limit, settings)
        for row in rows:
            row.difference, row.error = answers[row.name]
        rows += time_predictions(problem, models, limit, settings)
        rows += time_one_row(problem, models[OURS], settings)
    finally:
        limit.close()
    rows += measure_memory(problem, taking[:1] if settings.quick else taking, settings)
    report.show(rows)
    speed = (problem.m**3 / 3 + problem.m**2 * problem.d) / rows[0].extremes[0] / 1e9
    print(f"    the limit's best repetition runs at {speed:.0f} GFLOP/s")
    return rows


def run_scene(scene: str, settings: Settings) -> list[report.Row]:
    """Try everybody on a small problem, then run every size."""
    small = settings.problem(scene, SMALL)
    peers, reasons = adapters.usable(adapters.PEERS, small)
    for name, reason in reasons.items():
        print(f"{scene}: {name} is left out: {reason}")
    print(f"{scene}: answers on a small problem of {SMALL} rows")
    limit = Limit(small, settings.threads)
    compare(small, peers, limit)
    limit.close()
    rows = []
    for m in settings.sizes[scene]:
        rows += run_problem(settings.problem(scene, m), peers, settings)
    return rows


def growth_of(rows: list[report.Row]) -> dict[str, dict[str, float]]:
    """Return, per scene and entry, the exponent of m in the time of a fit."""
    exponents: dict[str, dict[str, float]] = {}
    fits = [row for row in rows if row.stage == "fit" and row.median is not None]
    for scene, name in dict.fromkeys((row.scene, row.name) for row in fits):
        chosen = [row for row in fits if (row.scene, row.name) == (scene, name)]
        exponent = growth([row.m for row in chosen], [row.median for row in chosen])
        if exponent is not None:
            exponents.setdefault(scene, {})[name] = exponent
    return exponents


def main(arguments: Sequence[str] | None = None) -> int:
    adapters.load()
    settings = parse(arguments)
    machine = facts(ROOT)
    warn_if_busy(machine)
    with threadpool_limits(settings.threads):
        try:
            rows = [row for scene in settings.scenes for row in run_scene(scene, settings)]
        except Disagreement as error:
            print(f"\nNothing was written: {error}")
            return 1
    exponents = growth_of(rows)
    report.show_growth(exponents)
    if settings.output is not None:
        report.write(settings.output, rows, exponents, machine, settings.threads)
    return 0
