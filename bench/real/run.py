"""The runner. ``python -m bench.real --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_limits

from ..peers.machine import facts
from . import freedom, methods, report, scenes

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
DRAWN = ("motorcycle", "co2")  # scenes of which one split is drawn


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.real",
        description="grls and its peers on real data, which GRLS_DATA must have: error, bands and time.",
    )
    known = [*scenes.SCENES, "freedom"]
    parser.add_argument("--scenes", nargs="+", choices=known, default=known, help="default: all")
    parser.add_argument("--methods", nargs="+", choices=list(methods.METHODS), help="default: all installed")
    parser.add_argument("--splits", type=int, default=10, help="of each scene, at most (default: 10)")
    parser.add_argument("--large-splits", type=int, default=2, help="of concrete and energy (default: 2)")
    parser.add_argument("--runs", type=int, default=5, help="of each cell of the scene freedom (default: 5)")
    parser.add_argument("--threads", type=int, help="of every library; default: as many as BLAS takes")
    parser.add_argument("--quick", action="store_true", help="a run of seconds on made-up data")
    parser.add_argument("--output", type=Path, help="directory; default: bench/results; none if --quick")
    a = parser.parse_args(arguments)
    if a.quick:
        a.splits, a.large_splits, a.runs = min(a.splits, 2), 1, 2
    a.output = a.output or (None if a.quick else RESULTS)
    return a


def run_scene(
    scene: scenes.Scene, chosen: dict[str, methods.Method], n_splits: int
) -> tuple[list[report.Row], Any]:
    """Return a row per method and split, and the first split with our answer."""
    rows, example = [], None
    for number, split in enumerate(scene.splits(n_splits)):
        for name, method in chosen.items():
            start = perf_counter()
            answer = methods.quietly(method, scene, split)
            seconds = perf_counter() - start
            scores = report.score(split.y_new, answer.mean, answer.std)
            rows.append(report.Row(scene.name, name, number, len(split.y), **scores, seconds=seconds))
            print(
                f"    {scene.name} {number}: {name:28s} rmse {scores['rmse']:.4g}  {seconds:.2f} s",
                flush=True,
            )
            if name == methods.OURS and example is None:
                example = scene, split, answer
    return rows, example


def main(arguments: Sequence[str] | None = None) -> int:
    a = parse(arguments)
    chosen, left_out = methods.usable()
    if a.methods:
        chosen = {name: method for name, method in chosen.items() if name in a.methods}
    source = scenes.made_up if a.quick else scenes.real
    try:
        given = [scenes.SCENES[name](source(name)) for name in a.scenes if name != "freedom"]
        cell_data = (freedom.made_up() if a.quick else freedom.real()) if "freedom" in a.scenes else {}
    except FileNotFoundError as error:
        print(f"bench.real: {error}", file=sys.stderr)
        return 2
    import grls

    machine = facts(ROOT)
    rows: list[report.Row] = []
    examples = {}
    with threadpool_limits(a.threads or grls.get_num_threads()):
        for scene in given:
            n_splits = a.large_splits if scene.name in ("concrete", "energy") else a.splits
            mine, example = run_scene(scene, chosen, n_splits)
            rows += mine
            if scene.name in DRAWN and example is not None:
                examples[scene.name] = example
        cells = []
        for cell in freedom.cells(cell_data, a.runs):
            print(f"    {cell.data} {cell.n_train}: auto {100 * cell.excess:+.2f}", flush=True)
            cells.append(cell)
    if rows:
        text = report.markdown(rows, {scene.name: scene.title for scene in given}, machine, left_out)
        print(f"\n{text}")
        if a.output is not None:
            report.write_rows(a.output, rows, text, machine, examples)
    if cells:
        text = report.freedom_markdown(cells, machine)
        print(f"\n{text}")
        if a.output is not None:
            report.write_cells(a.output, cells, text, machine)
    return 0
