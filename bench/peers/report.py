"""What a run leaves behind: a table on the screen, CSV, JSON, markdown, and a picture."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..tables import write_csv
from .adapters import OURS
from .machine import provenance

# DESIGN targets: ratio to the limit by entry and number of rows, for d=784 and 10 features.
FIT_TARGETS = {OURS: {2000: 1.25, 5000: 1.15, 10000: 1.10}, "grls mixed": {5000: 0.85, 10000: 0.75}}
PREDICT_TARGET, MEMORY_TARGET = 1.2, 1.15

TITLES = {
    "digits": "Digits-like rows",
    "spatial": "Spatial data with a linear trend",
}
Growth = dict[str, dict[str, float]]


@dataclass
class Row:
    """One entry of one stage at one size. Times are in seconds."""

    scene: str
    stage: str
    m: int
    d: int
    features: int
    name: str
    median: float | None = None
    quartiles: tuple[float, float] | None = None
    extremes: tuple[float, float] | None = None
    repeats: int | None = None
    to_limit: float | None = None  # memory: to one m×m matrix of float64
    to_ours: float | None = None
    best_to_limit: float | None = (
        None  # fastest repetition ÷ the limit's fastest: what a busy machine spoils least
    )
    bytes: int | None = None
    difference: float | None = None  # from the limit's answers, as a share of the largest
    error: float | None = None  # on new rows

    @property
    def target(self) -> float | None:
        """The largest ratio to the limit that we want, if there is one."""
        if self.stage == "fit" and (self.scene, self.d, self.features) == ("digits", 784, 10):
            return FIT_TARGETS.get(self.name, {}).get(self.m)
        smoke = self.m < 1000
        if smoke or self.name != OURS or (self.scene == "spatial" and self.stage == "predict"):
            return None
        return {"predict": PREDICT_TARGET, "memory": MEMORY_TARGET}.get(self.stage)

    def flat(self) -> dict[str, Any]:
        """Return the fields as CSV columns."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        q1, q3 = values.pop("quartiles") or (None, None)
        low, high = values.pop("extremes") or (None, None)
        return values | {"q1": q1, "q3": q3, "min": low, "max": high, "target": self.target}


def seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _cost(row: Row) -> str:
    if row.bytes is not None:
        return f"{row.bytes / 2**20:.0f} MiB"
    if row.median is None or row.quartiles is None:
        return ""
    return f"{seconds(row.median)} ({seconds(row.quartiles[0])} … {seconds(row.quartiles[1])})"


def _verdict(row: Row) -> str:
    if row.target is None or row.to_limit is None:
        return ""
    # On a busy machine the limit's threads wait for each other and the median flatters us: both must hold.
    met = max(row.to_limit, row.best_to_limit or 0.0) <= row.target
    return f"≤ {row.target:g} {'met' if met else 'missed'}"


def show(rows: list[Row]) -> None:
    """Print the rows of one problem."""
    ratios = f"{'÷ limit':>9s} {'(best)':>8s} {'÷ ours':>8s}  target"
    print(f"    {'':10s} {'':26s} {'median (quartiles)':34s} {ratios}")
    for row in rows:
        print(
            f"    {row.stage:10s} {row.name:26s} {_cost(row):34s} {ratio(row.to_limit):>9s} "
            f"{ratio(row.best_to_limit):>8s} {ratio(row.to_ours):>8s}  {_verdict(row)}".rstrip()
        )


def show_growth(growth: Growth) -> None:
    """Print the exponents of m."""
    for scene, exponents in growth.items():
        print(f"\n{scene}: time grows as m to the power of")
        for name, exponent in exponents.items():
            print(f"    {name:26s} {exponent:.2f}")


def table(head: list[str], lines: list[list[str]]) -> list[str]:
    rule = ["---"] * len(head)
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *lines)] + [""]


def _by_entry(rows: list[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.name, []).append(row)
    return grouped


def _fit_table(rows: list[Row], growth: dict[str, float]) -> list[str]:
    sizes = sorted({row.m for row in rows})
    head = ["fit"]
    for m in sizes:
        head += [f"m={m}", "÷ limit", "÷ grls"]
    lines = []
    for name, entries in _by_entry(rows).items():
        cells = [f"**{name}**" if name == OURS else name]
        by_size = {row.m: row for row in entries}
        for m in sizes:
            row = by_size.get(m)
            cells += (
                ["", "", ""]
                if row is None
                else [seconds(row.median), ratio(row.to_limit), ratio(row.to_ours)]
            )
        known = [row.difference for row in entries if row.difference is not None]
        exponent = growth.get(name)
        cells += [
            "" if exponent is None else f"{exponent:.2f}",
            "" if name == "limit" else f"{max(known):.0e}",
            f"{entries[-1].error:.4f}",
        ]
        lines.append(cells)
    return table([*head, "exponent of m", "answers differ by", "test error"], lines)


def _other_table(stage: str, rows: list[Row], unit: str) -> list[str]:
    sizes = sorted({row.m for row in rows})
    head = [stage]
    for m in sizes:
        head += [f"m={m}", unit]
    lines = []
    for name, entries in _by_entry(rows).items():
        by_size = {row.m: row for row in entries}
        cells = [f"**{name}**" if name == OURS else name]
        for m in sizes:
            row = by_size.get(m)
            cost = "" if row is None else _cost(row).split(" (")[0]
            cells += [cost, "" if row is None else ratio(row.to_limit)]
        lines.append(cells)
    return table(head, lines)


def markdown(rows: list[Row], growth: Growth, machine: dict[str, Any], threads: int) -> str:
    """Return the tables that the documentation includes."""
    lines = [
        f"{provenance('python -m bench.peers', machine, packages=True)} {threads} threads for everybody. "
        "Medians of interleaved repetitions; ratios are medians of the ratios within each round.",
        "",
    ]
    units = {"predict": "÷ (GEMM + exp)", "one row": "÷ (GEMV + exp)", "memory": "÷ 8m² bytes"}
    for scene in dict.fromkeys(row.scene for row in rows):
        of_scene = [row for row in rows if row.scene == scene]
        first = of_scene[0]
        lines += [f"**{TITLES[scene]}**: d={first.d}, Gaussian kernel, {first.features} features", ""]
        lines += _fit_table([row for row in of_scene if row.stage == "fit"], growth.get(scene, {}))
        for stage, unit in units.items():
            lines += _other_table(stage, [row for row in of_scene if row.stage == stage], unit)
    return "\n".join(lines)


def picture(rows: list[Row], path: Path) -> bool:
    """Draw time against m, and the ratio to the limit, per scene. False where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    fits = [row for row in rows if row.stage == "fit"]
    scenes = list(dict.fromkeys(row.scene for row in fits))
    figure = Figure(figsize=(11, 4.2 * len(scenes)), layout="constrained")
    axes = figure.subplots(len(scenes), 2, squeeze=False)
    for (left, right), scene in zip(axes, scenes, strict=True):
        for name, entries in _by_entry([row for row in fits if row.scene == scene]).items():
            style = {"color": "black", "linestyle": "--"} if name == "limit" else {"marker": "o"}
            style |= {"linewidth": 2.5} if name == OURS else {}
            m = [row.m for row in entries]
            left.plot(m, [row.median for row in entries], label=name, **style)
            left.fill_between(
                m, *zip(*(row.quartiles for row in entries), strict=True), alpha=0.15, color="gray"
            )
            right.plot(m, [row.to_limit for row in entries], label=name, **style)
        left.set(
            xscale="log",
            yscale="log",
            xlabel="training rows m",
            ylabel="seconds of a fit",
            title=TITLES[scene],
        )
        right.set(xscale="log", yscale="log", xlabel="training rows m", ylabel="time ÷ limit")
        sizes = sorted({row.m for row in fits if row.scene == scene})
        for axis in (left, right):
            axis.set_xticks(sizes, [str(m) for m in sizes])
            axis.minorticks_off()
            axis.grid(alpha=0.3)
        ticks = [0.5, 1, 2, 5, 10, 20, 50]
        right.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        right.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    figure.savefig(path, dpi=80)
    return True


def write(output: Path, rows: list[Row], growth: Growth, machine: dict[str, Any], threads: int) -> None:
    """Write every file and say where."""
    flat = [row.flat() for row in rows]
    write_csv(output / "peers.csv", flat)
    content = {"machine": machine, "threads": threads, "growth": growth, "rows": flat}
    (output / "peers.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (output / "peers.md").write_text(markdown(rows, growth, machine, threads), encoding="utf-8")
    if not picture(rows, output / "peers.png"):
        print("no picture: matplotlib is not installed")
    print(f"\nwritten: {', '.join(sorted(path.name for path in output.glob('peers.*')))}")
