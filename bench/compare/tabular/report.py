"""Tables, ranks and a picture of what was run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...peers.machine import provenance

Cells = dict[tuple[str, int], dict[str, float]]  # by table and rows, then by method
OURS = "grls"


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")


def _known(value: float, digits: str) -> str:
    """Return a number as it is shown; a time that was not taken is a dash."""
    return format(value, digits) if np.isfinite(value) else "–"


def by_cell(results: Sequence[Any], field: str) -> Cells:
    """Return the mean over seeds of a field, by table and rows, then by method."""
    cells: dict[tuple[str, int], dict[str, list[float]]] = {}
    for result in results:
        cell = cells.setdefault((result.data, result.n_train), {})
        cell.setdefault(result.method, []).append(getattr(result, field))
    return {
        key: {method: _mean(values) for method, values in cell.items()} for key, cell in sorted(cells.items())
    }


def mean_ranks(errors: Cells, methods: Sequence[str]) -> dict[str, float]:
    """Return the mean rank of each method over the tables that all of them were run on."""
    ranks: dict[str, list[int]] = {method: [] for method in methods}
    for cell in errors.values():
        if all(method in cell for method in methods):
            order = sorted(methods, key=lambda method: cell[method])
            for rank, method in enumerate(order, 1):
                ranks[method].append(rank)
    return {method: _mean(values) for method, values in ranks.items()}


def shares(
    errors: Cells,
    seconds: Cells,
    peer: str,
) -> tuple[int, int, float]:
    """Return where ours is no worse by 1 %, of how many tables, and the median of peer ÷ our seconds."""
    cells = [key for key, cell in errors.items() if OURS in cell and peer in cell]
    no_worse = sum(errors[key][OURS] <= 1.01 * errors[key][peer] for key in cells)
    ratios = [seconds[key][peer] / seconds[key][OURS] for key in cells]
    return no_worse, len(cells), float(np.median(ratios)) if ratios else float("nan")


def write_report(
    results: Sequence[Any],
    path: Path,
    command: str,
    machine: dict[str, Any],
    clock: str = "seconds",
) -> None:
    """Write path.md and path.svg; `clock` is the field that times come from."""
    errors, seconds = by_cell(results, "error"), by_cell(results, clock)
    unit = "seconds" if clock == "seconds" else "CPU seconds"
    methods = list(dict.fromkeys(result.method for result in results))
    ranks = mean_ranks(errors, methods)
    order = sorted(methods, key=lambda method: ranks[method])
    seeds = len({result.seed for result in results})
    ranked = sum(all(method in cell for method in methods) for cell in errors.values())
    several = f"{seeds} splits" if seeds > 1 else "One split"
    lines = [
        f"{provenance(command, machine)} {several} of 80/20; root mean squared error over the "
        "standard deviation of the test rows, mean over splits. Columns as they are in the tables."
        + ("" if ranked == len(errors) else f" Ranks are those on the {ranked} tables that all were run on."),
        "",
        "| table | rows | " + " | ".join(order) + " |",
        "| --- | ---: |" + " ---: |" * len(order),
    ]
    for (data, n_train), cell in errors.items():
        best = min(cell.values())
        shown = [
            "–"
            if method not in cell
            else f"{'**' * (cell[method] <= 1.01 * best)}{cell[method]:.3f}"
            f"{'**' * (cell[method] <= 1.01 * best)}"
            for method in order
        ]
        lines.append(f"| {data} | {n_train} | " + " | ".join(shown) + " |")
    lines.append("| mean rank | | " + " | ".join(f"{ranks[method]:.2f}" for method in order) + " |")
    times = [np.median([cell[m] for cell in seconds.values() if m in cell]) for m in order]
    time_row = [_known(time, ".2f") for time in times]
    lines += [f"| median {unit} | | " + " | ".join(time_row) + " |", "", "Bold: within 1 % of the best.", ""]
    lines += [f"| peer | default no worse (1 %) | median {unit}, peer ÷ ours |", "| --- | ---: | ---: |"]
    for peer in order:
        if not peer.startswith(OURS):
            no_worse, of, ratio = shares(errors, seconds, peer)
            lines.append(f"| {peer} | {no_worse} of {of} | {_known(ratio, '.1f')} |")
    lines += ["", "| table | rows | log density lost, and coverage of 95 %: method |", "| --- | ---: | --- |"]
    density, coverage = by_cell(results, "nlpd"), by_cell(results, "coverage")
    for key, cell in density.items():
        told = [
            f"{method} {value:.2f}, {100 * coverage[key][method]:.1f} %"
            for method, value in cell.items()
            if np.isfinite(value)
        ]
        lines.append(f"| {key[0]} | {key[1]} | " + "; ".join(told) + " |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _draw(errors, order, ranks, path.with_suffix(".svg"))


def _draw(errors: Cells, order: list[str], ranks: dict[str, float], path: Path) -> None:
    """Draw the error of each method over the best one's, table by table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 0.42 * len(errors) + 1.8), layout="constrained")
    for number, method in enumerate(order):
        at = [i for i, cell in enumerate(errors.values()) if method in cell]
        values = [cell[method] / min(cell.values()) for cell in errors.values() if method in cell]
        ours = method == OURS
        axes.scatter(
            values,
            at,
            s=70 if ours else 26,
            marker="D" if ours else "o",
            color="black" if ours else f"C{number}",
            zorder=3 if ours else 2,
            label=f"{method} (mean rank {ranks[method]:.1f})",
        )
    axes.set_yticks(range(len(errors)), [f"{data}, {rows} rows" for data, rows in errors])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xticks([1, 1.2, 1.5, 2, 3, 5, 10, 30], ["1", "1.2", "1.5", "2", "3", "5", "10", "30"])
    axes.minorticks_off()
    axes.set_xlabel("error over that of the best")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path)
    plt.close(figure)
