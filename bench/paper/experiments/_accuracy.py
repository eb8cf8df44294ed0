"""Accuracies of methods over training sizes: means over runs, paired differences, a table, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

Rows = Sequence[dict[str, Any]]

# Okabe and Ito's colours: words orange, topics green, both blue.
LOOKS = {
    "RLSC words": ("#E69F00", "o", "--"),
    "SVM words": ("#D55E00", "s", "--"),
    "RLSC pLSA": ("#009E73", "o", ":"),
    "SVM pLSA": ("#004D38", "s", ":"),
    "G-RLSC": ("#0072B2", "o", "-"),
    "G-RLSC printed, QR pivots": ("#56B4E9", "v", "-"),
    "G-RLSC printed, first pivots": ("#56B4E9", "x", "--"),
    "G-RLSC auto": ("#CC79A7", "^", "-"),
    "SVM-GB": ("#56B4E9", "s", "-"),
    "RLSC tf-idf": ("#999999", "o", "--"),
    "G-RLSC tf-idf": ("#595959", "o", "-"),
    "G-RLSC auto tf-idf": ("#000000", "^", "-"),
    "kNN geodesic": ("#009E73", "D", ":"),
    "SVM": ("#D55E00", "s", "--"),
    "RLSC": ("#E69F00", "o", "--"),
}


def values(rows: Rows, **key: Any) -> Any:
    """Return the accuracies of the rows with this key, in the order of their runs; NaN: the fit failed."""
    mine = [row for row in rows if all(row[name] == value for name, value in key.items())]
    return np.array([row["accuracy"] for row in sorted(mine, key=lambda row: row["run"])], dtype=float)


def failures(rows: Rows, **key: Any) -> int:
    """Return how many fits have no accuracy."""
    return int(np.isnan(values(rows, **key)).sum())


def mean(rows: Rows, **key: Any) -> float:
    """Return the mean accuracy of the fits that have one; NaN where none has."""
    known = values(rows, **key)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else np.nan


def gain(rows: Rows, method: str, rival: str, **key: Any) -> tuple[float, float]:
    """Return by how many points a method beats a rival on the same splits, and the standard error.

    Splits on which one of them failed are left out.
    """
    difference = 100 * (values(rows, method=method, **key) - values(rows, method=rival, **key))
    difference = difference[~np.isnan(difference)]
    if not len(difference):
        return np.nan, np.nan
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    return float(difference.mean()), float(error)


def clearly_better(rows: Rows, method: str, rival: str, **key: Any) -> bool | None:
    """Whether a method beats a rival by two standard errors; None where it cannot be said."""
    points, error = gain(rows, method, rival, **key)
    return None if np.isnan(error) or abs(points) < 2 * error else points > 0


def told_gain(rows: Rows, method: str, rival: str, **key: Any) -> str:
    points, error = gain(rows, method, rival, **key)
    return f"{points:+.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")


def table(
    rows: Rows, datasets: Sequence[str], sizes: Sequence[int], methods: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Return head and body of a table: accuracy in percent, mean and standard deviation; the best in bold."""
    body = []
    for dataset in datasets:
        for size in sizes:
            means = [100 * mean(rows, dataset=dataset, size=size, method=method) for method in methods]
            cells = []
            for method, middle in zip(methods, means, strict=True):
                scores = 100 * values(rows, dataset=dataset, size=size, method=method)
                failed = np.isnan(scores)
                cell = f"{middle:.1f}" + (f" ± {np.nanstd(scores):.1f}" if np.sum(~failed) > 1 else "")
                cell += f" ({failed.sum()} failed)" if failed.any() else ""
                cells.append(f"**{cell}**" if middle >= np.nanmax(means) - 0.05 else cell)
            runs = len(values(rows, dataset=dataset, size=size, method=methods[0]))
            body.append([dataset, str(size), str(runs), *cells])
    return ["data", "training", "runs", *methods], body


def draw(rows: Rows, datasets: Sequence[str], sizes: Sequence[int], methods: Sequence[str]) -> Any:
    """Return a figure with one panel for each data set, accuracy against the training size."""
    columns = 2 if len(datasets) in (2, 4) else min(3, len(datasets))
    lines = -(-len(datasets) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.6 * columns, 3 * lines + 0.7), layout="constrained", squeeze=False
    )
    for ax in axes.flat[len(datasets) :]:
        ax.set_axis_off()
    for ax, dataset in zip(axes.flat, datasets, strict=False):
        for method in methods:
            colour, marker, dashes = LOOKS[method]
            scores = [100 * values(rows, dataset=dataset, size=size, method=method) for size in sizes]
            known = [s[~np.isnan(s)] for s in scores]
            ax.errorbar(
                sizes,
                [s.mean() if len(s) else np.nan for s in known],
                yerr=[s.std() if len(s) else np.nan for s in known],
                label=method,
                color=colour,
                marker=marker,
                ls=dashes,
                ms=4.5,
                lw=1.4,
                elinewidth=0.8,
            )
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
        ax.set_title(dataset, fontsize=11)
        ax.grid(axis="y", color="#DDDDDD", lw=0.7)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("training samples", fontsize=10)
    figure.supylabel("test accuracy, %", fontsize=10)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return figure
