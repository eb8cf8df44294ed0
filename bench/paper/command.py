"""The command line. ``python -m bench.paper --help``."""

from __future__ import annotations

import argparse
import ast
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grls.exceptions import PrecisionWarning, SeparableFeaturesWarning

from .output import ROOT, Store
from .registry import Experiment, experiments
from .run import OutOfTime, Run

UNFINISHED = 75  # the exit status of a run whose time was over


def _change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def parse(arguments: Sequence[str] | None, known: dict[str, Experiment]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.paper",
        description="Repeat the papers' experiments; a result that is there is not computed again.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help='experiments, or "all"')
    parser.add_argument("--list", action="store_true", help="say which experiments there are")
    parser.add_argument(
        "--output", type=Path, help="folder; default: bench/results/paper, temporary for --quick"
    )
    parser.add_argument("--quick", action="store_true", help="a run of seconds; its figures mean little")
    parser.add_argument("--force", action="store_true", help="run again what is there")
    parser.add_argument(
        "--again",
        nargs="+",
        default=[],
        metavar="METHOD",
        help="run the cells of these methods again (with --set datasets=… only those), and keep the others",
    )
    parser.add_argument(
        "--report", action="store_true", help="pages and pictures again, from the cells that are there"
    )
    parser.add_argument(
        "--verify",
        type=int,
        metavar="N",
        help="compute N of the cells that are there again, drawn at random, and compare; a difference fails",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, metavar="N", help="repetitions, of experiments that have any")
    parser.add_argument(
        "--max-seconds",
        type=float,
        default=float("inf"),
        metavar="S",
        help=f"start no further cell after this time, and exit with {UNFINISHED}; the same command goes on",
    )
    parser.add_argument(
        "--set", type=_change, action="append", default=[], metavar="NAME=VALUE", help="change a parameter"
    )
    options = parser.parse_args(arguments)
    if not options.list and not options.names:
        parser.error("say which experiments, or --list")
    if options.verify is not None and options.verify < 1:
        parser.error(f"--verify takes a number of cells, got {options.verify}")
    unknown = [name for name in options.names if name != "all" and name not in known]
    if unknown:
        parser.error(f"there is no experiment {', '.join(unknown)}; there are: {', '.join(known)}")
    if options.output is None and not options.list:
        options.output = (
            Path(tempfile.mkdtemp(prefix="grls-paper-")) if options.quick else ROOT / "bench/results/paper"
        )
    return options


def perform(experiment: Experiment, options: argparse.Namespace) -> None:
    """Run one experiment, or go on with it, or leave it as it is."""
    print(f"{experiment.name}: {experiment.title} ({experiment.source})")
    if missing := experiment.missing_data():
        print(f"    left out: GRLS_DATA does not name a folder with {', '.join(missing)}")
        return
    changes = dict(options.set)
    if options.runs is not None and "runs" in experiment.parameters:
        changes["runs"] = options.runs
    parameters = experiment.settings(quick=options.quick, changes=changes)
    store = Store(options.output, experiment, parameters, options.seed)
    if options.verify and (store.is_begun or not store.complete()):
        raise ValueError(f"{experiment.name} has no complete result to verify: run it without --verify")
    wanted = options.force or options.again or options.report or options.verify or store.is_begun
    if store.complete() and not wanted:
        print(f"    there already: {store.path('.md')}; --force runs it again")
        return
    if left := store.begin(afresh=options.force, again=options.again):
        print(f"    goes on after {left} rows of another run")
    if options.verify:
        store.verify(options.verify)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # The papers' machines have free features, whatever they separate: the tables tell what that costs.
        warnings.simplefilter("ignore", SeparableFeaturesWarning)
        # Their grids hold values of γ at which six digits are left: a search passes over them.
        warnings.simplefilter("ignore", PrecisionWarning)
        findings = experiment.body(Run(parameters, options.seed, store, options.max_seconds))
    store.finish(findings, time.perf_counter() - start)
    if store.differing:
        raise ValueError(f"{len(store.differing)} cells have changed: --force computes them all again")
    for finding in findings:
        answer = {True: "reproduced", False: "NOT reproduced", None: "cannot be said"}[finding.reproduced]
        print(f"    {finding.claim}: {finding.found} -> {answer}")
    print(f"    {store.path('.md')}")


def main(arguments: Sequence[str] | None = None) -> int:
    known = experiments()
    options = parse(arguments, known)
    if options.list:
        for experiment in known.values():
            needs = f" [needs {', '.join(experiment.data)}]" if experiment.data else ""
            print(f"{experiment.name:14s} {experiment.source}: {experiment.title}{needs}")
        return 0
    import matplotlib as mpl

    mpl.use("Agg")
    names = list(known) if "all" in options.names else options.names
    failed = []
    for name in names:
        try:
            perform(known[name], options)
        except OutOfTime:
            print(f"    {name}: the time is over; the same command goes on from here")
            return UNFINISHED
        except Exception:  # one experiment that fails must not cost the others
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0
