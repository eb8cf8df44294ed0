"""The runner: objectives first, then times. ``python -m bench.svm --help``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.peers.machine import facts, provenance, warn_if_busy
from bench.peers.report import ratio, seconds, table
from bench.peers.timing import PAUSE, interleaved, stopwatch

from ..tables import write_csv
from . import machines
from .machines import OURS, Machine
from .problems import Problem, classes, digits

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
GAP = 1e-4  # relative, of everybody


class Disagreement(Exception):
    """An objective is further from the best dual value than a gap of `GAP` allows."""


@dataclass
class Row:
    """One machine on one problem. Times are medians in seconds."""

    scene: str
    m: int
    C: float
    name: str
    fit: float
    predict: float
    fit_to_ours: float
    predict_to_ours: float
    support_vectors: int
    test_error: float
    primal: float | None  # of two classes
    dual: float | None


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.svm", description="Time SVMGBClassifier beside its peers."
    )
    parser.add_argument("--sizes", nargs="*", type=int, metavar="M", default=[5000, 10_000, 20_000])
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--digits", type=int, metavar="M", help="rows of MNIST too (60000: all of them)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="machines to leave out")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--quick", action="store_true", help="tiny problems; times mean nothing")
    parser.add_argument("--output", type=Path, help="directory; default: bench/results, or none for --quick")
    settings = parser.parse_args(arguments)
    if settings.quick:
        settings.sizes, settings.C, settings.repeats = [300], [1.0], 1
    settings.output = settings.output or (None if settings.quick else RESULTS)
    return settings


def usable(problem: Problem, without: Sequence[str]) -> list[Machine]:
    working = []
    for machine in machines.MACHINES:
        if machine.name in without or (machine.with_features and problem.scene == "digits"):
            continue
        try:
            machine.fit(problem)
        except ImportError as error:
            print(f"{machine.name} is left out: not installed ({error})")
        else:
            working.append(machine)
    return working


def check(values: dict[str, tuple[float, float]]) -> None:
    """Raise unless every primal value is within the gap of the best dual value of the same problem."""
    best = max(dual for _, dual in values.values())
    for name, (primal, _) in values.items():
        # Peers stop at a violation and not at a gap: theirs may be a few times as large. Ours may not.
        allowed = (1 if name == OURS else 100) * 1.5 * GAP * best
        if not primal - best <= allowed:
            raise Disagreement(f"{name}: objective {primal:.8g}, but {best:.8g} is possible")


def run_problem(problem: Problem, working: list[Machine], repeats: int, pause: float) -> list[Row]:
    print(f"\n{problem.scene}: m={problem.m}, d={problem.X.shape[1]}, C={problem.C:g}")
    models: dict[str, Any] = {}

    def fit(machine: Machine) -> None:
        models[machine.name] = machine.fit(problem)

    entries = {machine.name: partial(stopwatch, partial(fit, machine)) for machine in working}
    fits = interleaved(entries, repeats, pause)
    binary = len(np.unique(problem.y)) == 2
    values = {name: machines.objectives(model, problem) for name, model in models.items()} if binary else {}
    check({m.name: values[m.name] for m in working if not m.with_features and binary} or {OURS: (0.0, 0.0)})
    answers: dict[str, Any] = {}

    def predict(name: str) -> None:
        answers[name] = models[name].predict(problem.X_new)

    predictions = interleaved(
        {name: partial(stopwatch, partial(predict, name)) for name in models}, repeats, pause
    )
    rows = []
    for name, model in models.items():
        primal, dual = values.get(name, (None, None))
        row = Row(
            problem.scene,
            problem.m,
            problem.C,
            name,
            fits[name].median,
            predictions[name].median,
            fits[name].ratio_to(fits[OURS]),
            predictions[name].ratio_to(predictions[OURS]),
            len(model.support_),
            float(np.mean(answers[name] != problem.y_new)),
            primal,
            dual,
        )
        rows.append(row)
        print(
            f"    {name:22s} fit {seconds(row.fit):>8s} ({ratio(row.fit_to_ours)}×)   predict "
            f"{seconds(row.predict):>8s} ({ratio(row.predict_to_ours)}×)   {row.support_vectors} support "
            f"vectors   error {row.test_error:.4f}"
            + (f"   objective {primal:.6f}, dual {dual:.6f}" if primal is not None else ""),
            flush=True,
        )
    return rows


def command(settings: argparse.Namespace) -> str:
    """Return what a reader types for these rows; without sizes it is that of the digits alone."""
    parts = ["python -m bench.svm"]
    if not settings.sizes:
        parts.append(f"--sizes --digits {settings.digits}")
    if settings.without:
        parts.append(f"--without {' '.join(settings.without)}")
    return " ".join(parts)


def markdown(rows: list[Row], machine: dict[str, Any], settings: argparse.Namespace) -> str:
    lines = [
        f"{provenance(command(settings), machine, packages=True)} {settings.threads or 'All'} threads for "
        f"everybody; medians of {settings.repeats} interleaved repetitions.",
    ]
    head = ["", "fit", "÷ grls", "predict", "÷ grls", "support vectors", "test error", "objective", "dual"]
    for scene, m, C in dict.fromkeys((row.scene, row.m, row.C) for row in rows):
        body = [
            [
                row.name,
                seconds(row.fit),
                ratio(row.fit_to_ours),
                seconds(row.predict),
                ratio(row.predict_to_ours),
                str(row.support_vectors),
                f"{row.test_error:.4f}",
                "" if row.primal is None else f"{row.primal:.4f}",
                "" if row.dual is None else f"{row.dual:.4f}",
            ]
            for row in rows
            if (row.scene, row.m, row.C) == (scene, m, C)
        ]
        lines += ["", f"**{scene}**, m={m}, C={C:g}", "", *table(head, body)]
    return "\n".join(lines) + "\n"


def write(rows: list[Row], machine: dict[str, Any], settings: argparse.Namespace) -> None:
    path = settings.output / ("svm" if settings.sizes else "svm_digits")
    write_csv(path.with_suffix(".csv"), rows)
    content = {"machine": machine, "threads": settings.threads, "rows": [asdict(row) for row in rows]}
    path.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(markdown(rows, machine, settings), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    settings = parse(arguments)
    machine = facts(ROOT)
    warn_if_busy(machine)
    problems = [partial(classes, m, C) for m in settings.sizes for C in settings.C]
    if settings.digits:
        problems.append(partial(digits, settings.digits))
    rows: list[Row] = []
    with threadpool_limits(settings.threads):
        working = usable(classes(200, 1.0), settings.without)
        try:
            for make in problems:
                problem = make()
                if problem is None:
                    print("digits: left out, GRLS_DATA names no folder with mnist.npz")
                    continue
                taking = [w for w in working if not (w.with_features and problem.scene == "digits")]
                rows += run_problem(problem, taking, settings.repeats, 0 if settings.quick else PAUSE)
        except Disagreement as error:
            print(f"\nNothing was written: {error}")
            return 1
    if settings.output is not None and rows:
        write(rows, machine, settings)
    return 0
