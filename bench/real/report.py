"""What a run leaves behind: tables on the screen, CSV, JSON, markdown, and a picture."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..peers.machine import provenance
from ..tables import write_csv
from .freedom import VARIANTS, Cell
from .scenes import Scene, Split

Z95 = 1.959963984540054


@dataclass
class Row:
    """One method on one split of one scene."""

    scene: str
    method: str
    split: int
    m: int
    rmse: float
    coverage: float | None  # share of new values within the band of 95 %
    log_density: float | None  # mean log predictive density
    seconds: float  # fit and prediction


def score(y: Any, mean: Any, std: Any) -> dict[str, float | None]:
    """Return error, coverage and log density of predictions."""
    apart = np.asarray(y) - mean
    out: dict[str, float | None] = {
        "rmse": float(np.sqrt(np.mean(apart**2))),
        "coverage": None,
        "log_density": None,
    }
    if std is not None:
        out["coverage"] = float(np.mean(np.abs(apart) <= Z95 * std))
        with np.errstate(divide="ignore"):
            density = -0.5 * (apart / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi)
        out["log_density"] = float(np.mean(density))
    return out


def _mean(rows: list[Row], field: str) -> float | None:
    values = [getattr(row, field) for row in rows]
    return None if any(value is None for value in values) else float(np.mean(values))


def _with_error(values: list[float]) -> str:
    text = f"{np.mean(values):.3g}"
    if len(values) > 1:
        text += f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2g}"
    return text


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _grouped(rows: list[Row]) -> dict[str, dict[str, list[Row]]]:
    grouped: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        grouped.setdefault(row.scene, {}).setdefault(row.method, []).append(row)
    return grouped


def _table(head: list[str], lines: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *lines)] + [""]


def scene_tables(rows: list[Row], titles: dict[str, str]) -> list[str]:
    lines = []
    for scene, methods in _grouped(rows).items():
        some = next(iter(methods.values()))
        lines += [f"**{titles[scene]}**, m={some[0].m}, splits: {len(some)}", ""]
        body = [
            [
                f"**{name}**" if name.startswith("grls") else name,
                _with_error([row.rmse for row in mine]),
                _cell(_mean(mine, "coverage"), ".0%"),
                _cell(_mean(mine, "log_density"), ".3f"),
                f"{_mean(mine, 'seconds'):.2g}",
            ]
            for name, mine in methods.items()
        ]
        lines += _table(["method", "RMSE", "in the 95 % band", "log density", "seconds"], body)
    return lines


def freedom_table(cells: list[Cell]) -> list[str]:
    def error(cell: Cell, variant: str) -> str:
        factor = 100 if cell.kind == "wrong" else 1
        text = _with_error([factor * value for value in cell.errors[variant]])
        return f"{text} %" if cell.kind == "wrong" else text

    def excess(cell: Cell) -> str:
        unit = "%" if cell.kind == "rmse" else "points"
        return f"{100 * cell.excess + 0.0:+.1f} ± {100 * cell.excess_error:.1f} {unit}".replace(
            "-0.0 ", "0.0 "
        )

    head = ["data", "training rows", *VARIANTS, "auto beyond the better of the two others"]
    body = [
        [cell.data, str(cell.n_train), *(error(cell, name) for name in VARIANTS), excess(cell)]
        for cell in cells
    ]
    worst = {
        kind: max((cell for cell in cells if cell.kind == kind), key=lambda cell: cell.excess, default=None)
        for kind in ("rmse", "wrong")
    }
    said = [
        f"{excess(cell)} ({cell.data}, {cell.n_train} rows)" for cell in worst.values() if cell is not None
    ]
    return [
        '**How free should features be?** Errors without features, with `feature_variance="auto"`, and with',
        "unpenalised features: RMSE, or share of wrong labels.",
        "",
        *_table(head, body),
        f'At worst, the error of "auto" is beyond that of the better of the two by {" and ".join(said)}.',
        "",
    ]


def origin(machine: dict[str, Any]) -> str:
    """Say where the figures come from."""
    return provenance("python -m bench.real", machine, packages=True)


def markdown(
    rows: list[Row], titles: dict[str, str], machine: dict[str, Any], left_out: dict[str, str]
) -> str:
    """Return the tables of the scenes."""
    lines = [
        f"{origin(machine)} Means over the splits with standard errors; seconds of a fit with its choice of "
        "parameters and of the predictions.",
        "",
        *(f"Left out: {name} ({reason})." for name, reason in left_out.items()),
    ]
    return "\n".join(lines + scene_tables(rows, titles))


def freedom_markdown(cells: list[Cell], machine: dict[str, Any]) -> str:
    """Return the table of the cells."""
    return "\n".join([origin(machine), "", *freedom_table(cells)])


def picture(rows: list[Row], examples: dict[str, tuple[Scene, Split, Any]], path: Path) -> bool:
    """Draw two fits with their bands, and everybody's error by scene. False where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(12, 4 + 4 * bool(examples)), layout="constrained")
    heights = figure.subfigures(1 + bool(examples), 1, squeeze=False)[:, 0]
    if examples:
        axes = heights[0].subplots(1, len(examples), squeeze=False)[0]
        for axis, (scene, split, answer) in zip(axes, examples.values(), strict=True):
            order = np.argsort(split.X_new[:, 0])
            x = split.X_new[order, 0]
            axis.plot(split.X[:, 0], split.y, ".", color="gray", markersize=3, label="known")
            axis.plot(x, split.y_new[order], ".", color="black", markersize=4, label="held out")
            axis.plot(x, answer.mean[order], color="C0", label="grls")
            low, high = (answer.mean + sign * Z95 * answer.std for sign in (-1, 1))
            axis.fill_between(x, low[order], high[order], color="C0", alpha=0.2, label="95 %")
            axis.set(title=scene.title, xlabel="scaled time")
            axis.legend(fontsize="small")
    grouped = _grouped(rows)
    axis = heights[-1].subplots()
    names = list(dict.fromkeys(row.method for row in rows))
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        ratios = []
        for methods in grouped.values():
            best = min(np.mean([row.rmse for row in mine]) for mine in methods.values())
            ratios.append(np.mean([row.rmse for row in methods[name]]) / best if name in methods else np.nan)
        axis.bar(np.arange(len(ratios)) + (i - (len(names) - 1) / 2) * width, ratios, width, label=name)
    axis.set_xticks(range(len(grouped)), list(grouped))
    axis.set(yscale="log", ylabel="RMSE ÷ the best one's")
    ticks = [1, 1.5, 2, 3, 5, 10]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.axhline(1, color="black", linewidth=0.5)
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    figure.savefig(path, dpi=80)
    return True


def write_rows(
    output: Path,
    rows: list[Row],
    text: str,
    machine: dict[str, Any],
    examples: dict[str, tuple[Scene, Split, Any]],
) -> None:
    """Write the scenes' files and say where."""
    write_csv(output / "real.csv", rows)
    (output / "real.json").write_text(json.dumps({"machine": machine}, indent=1) + "\n", encoding="utf-8")
    (output / "real.md").write_text(text, encoding="utf-8")
    if not picture(rows, examples, output / "real.png"):
        print("no picture: matplotlib is not installed")
    print(f"\nwritten: {', '.join(sorted(path.name for path in output.glob('real.*')))}")


def write_cells(output: Path, cells: list[Cell], text: str, machine: dict[str, Any]) -> None:
    """Write the cells' files and say where."""
    output.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine, "cells": [asdict(cell) for cell in cells]}
    (output / "freedom.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (output / "freedom.md").write_text(text, encoding="utf-8")
    print("\nwritten: freedom.json, freedom.md")
