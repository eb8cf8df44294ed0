"""Files of an experiment: rows as CSV, all about it as JSON, a page in markdown, pictures.

The JSON file says with which parameters the rows were made and whether they are all there: so a result is
not computed twice. A run keeps its rows in files of its own until it is done (NAME.begun.csv, .json): an
interrupted one goes on where it stopped, and what was there before stays as it was.
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..peers.machine import facts, provenance
from .registry import Experiment, Finding

ROOT = Path(__file__).resolve().parents[2]
_MOST_ROWS = 40  # of a table on a page; the CSV file has them all
_BEGUN = ".begun"  # in the names of files of a run that is not done
_SAME = 1e-2  # relative: rounding on another processor may move a choice or the label of a row


def _decoded(text: str) -> Any:
    """Return what a cell of a CSV file was before it was written."""
    if text in ("True", "False"):
        return text == "True"
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Store:
    """The files of one experiment in a folder."""

    def __init__(self, folder: Path, experiment: Experiment, parameters: dict[str, Any], seed: int) -> None:
        self.folder = folder
        self.experiment = experiment
        # As they come back from the file, so that tuples and lists compare as equal.
        self.identity = json.loads(json.dumps({"parameters": parameters, "seed": seed}))
        self.pictures: list[str] = []
        self.summaries: list[list[str]] = []  # tables for the page, in place of the rows
        self._rows: list[dict[str, Any]] = []
        self.differing: list[list[str]] = []  # of cells that came out otherwise when computed again: in what
        self._machine: dict[str, Any] = {}  # as it was when the table was begun
        self._before: dict[str, Any] = {}  # what was known of the table
        self._kept: dict[str, Any] = {}  # how many rows another commit has computed, and which
        self._verified: dict[str, Any] = {}  # which cells were computed again, by which commit
        self._drawn: list[dict[str, Any]] = []  # cells to compute again
        self._n_taken = 0  # cells that another run has computed
        self._left: list[dict[str, Any]] = []  # by an interrupted run, and not taken up yet

    def path(self, suffix: str) -> Path:
        return self.folder / f"{self.experiment.name}{suffix}"

    def _read(self, suffix: str = ".json") -> dict[str, Any]:
        try:
            content = json.loads(self.path(suffix).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if self._kind(content) == self._kind(self.identity) else {}

    def _kind(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return what decides whether rows are of this experiment: all but how many there are to be."""
        parameters = content.get("parameters", {})
        fixed = {name: value for name, value in parameters.items() if name not in self.experiment.extent}
        return {"parameters": fixed, "seed": content.get("seed")}

    def complete(self) -> bool:
        """Whether the result of these parameters is there."""
        content = self._read()
        same = {name: content.get(name) for name in self.identity} == self.identity
        return same and content.get("complete", False) and self.path(".csv").exists()

    @property
    def is_begun(self) -> bool:
        """Whether a run of this experiment was interrupted."""
        return bool(self._read(f"{_BEGUN}.json")) and self.path(f"{_BEGUN}.csv").exists()

    def begin(self, *, afresh: bool, again: Sequence[str] = ()) -> int:
        """Start a table; until `finish` it counts as interrupted.

        Cells of methods `again` are forgotten, of the data sets and sizes that the parameters name.
        Returns how many rows a run with the same parameters has left behind: an interrupted one if there is
        one, which has forgotten its cells already, or else the last.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        goes_on = self.is_begun and not afresh
        begun = self._read(f"{_BEGUN}.json") if goes_on else {}
        self._before = {} if goes_on else self._read()
        source = self.path(f"{_BEGUN}.csv" if goes_on else ".csv")
        if goes_on or (self._before and not afresh and source.exists()):
            with source.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            if unknown := set(again) - {str(row.get("method")) for row in rows}:
                raise ValueError(f"{self.experiment.name} has no cells of {', '.join(sorted(unknown))}")
            for row in rows:
                if goes_on or row.get("method") not in again or self._is_beyond(row):
                    self._left.append({name: _decoded(cell) for name, cell in row.items()})
        self._machine = facts(ROOT)
        known = begun or self._before
        commit = known.get("machine", self._machine)["commit"]
        self._kept = known.get("kept", {}) if self._left else {}
        if self._left and commit != self._machine["commit"]:
            self._kept = {"commit": commit, "rows": len(self._left)}
        self._write_csv(self._left, _BEGUN)
        self._write_json({"complete": False, "machine": self._machine, "kept": self._kept}, _BEGUN)
        return len(self._left)

    def _is_beyond(self, row: dict[str, Any]) -> bool:
        """Whether a cell is of a data set or size that this run does not have."""
        asked = {name: self.identity["parameters"].get(name) for name in self.experiment.extent}
        lists = {name.removesuffix("s"): values for name, values in asked.items() if isinstance(values, list)}
        return any(name in row and row[name] not in map(str, values) for name, values in lists.items())

    def take(self, key: dict[str, str]) -> dict[str, Any] | None:
        """Return the row with this key that an interrupted run has left, and forget it."""
        for row in self._left:
            if all(str(row.get(name)) == value for name, value in key.items()):
                self._left.remove(row)
                self._n_taken += 1
                return row
        return None

    def verify(self, n_cells: int) -> None:
        """Draw cells that are computed again, and compared with what is stored."""
        self._drawn = random.Random(self._machine["commit"]).sample(self._left, min(n_cells, len(self._left)))
        self._verified = {"commit": self._machine["commit"], "cells": len(self._drawn)}

    def is_drawn(self, row: dict[str, Any]) -> bool:
        """Whether a cell is to be computed again."""
        return any(row is drawn for drawn in self._drawn)

    def compare(self, stored: dict[str, Any], computed: dict[str, Any]) -> None:
        """Keep a cell that came out otherwise; times do not count."""
        names = [name for name in stored.keys() | computed.keys() if name != "seconds"]
        different = [name for name in names if not _same(stored.get(name), computed.get(name))]
        if different:
            self.differing.append(different)
        told = ", ".join(f"{name} {stored.get(name)} -> {computed.get(name)}" for name in sorted(different))
        print(
            f"    verified: {' '.join(map(str, list(stored.values())[:4]))}: {told or 'the same'}", flush=True
        )

    def append(self, row: dict[str, Any]) -> None:
        """Add a row and write the table, so that it is whole whenever the run stops."""
        self._rows.append(row)
        self._write_csv(self._rows + self._left, _BEGUN)

    def _write_csv(self, rows: list[dict[str, Any]], kind: str = "") -> None:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        temporary = self.path(f"{kind}.csv.part")
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
        temporary.replace(self.path(f"{kind}.csv"))

    def picture(self, figure: Any, suffix: str) -> None:
        name = f"{self.experiment.name}{suffix}.png"
        figure.savefig(self.folder / name, dpi=105)
        self.pictures.append(name)
        from matplotlib import pyplot as plt

        plt.close(figure)

    def summary(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.summaries.append(_table(head, rows))

    def finish(self, findings: Sequence[Finding], seconds: float) -> None:
        """Write the page and mark the result as complete."""
        content = {
            "complete": True,
            "title": self.experiment.title,
            "source": self.experiment.source,
            "findings": [asdict(finding) for finding in findings],
            "seconds": round(seconds, 2),
            "machine": self._machine,
        }
        if self._n_taken == len(self._rows) and "machine" in self._before:  # it comes from where it came from
            content |= {name: self._before[name] for name in ("seconds", "machine")}
            if self._verified:
                columns = Counter(name for different in self.differing for name in different)
                self._verified |= {"differing": len(self.differing), "in": dict(sorted(columns.items()))}
            if verified := self._verified or self._before.get("verified", {}):
                content["verified"] = verified
            self._kept = self._before.get("kept", {})
        if self._kept:
            content["kept"] = self._kept
        self._machine, self._verified = content["machine"], content.get("verified", {})
        beyond = self._left if self.experiment.extent else []  # cells that a run with more of them has made
        self._write_csv(self._rows + beyond)
        self.path(".md").write_text(self._page(findings), encoding="utf-8")
        self._write_json(content)
        for suffix in (".csv", ".json"):
            self.path(f"{_BEGUN}{suffix}").unlink(missing_ok=True)
        write_index(self.folder)

    def _write_json(self, content: dict[str, Any], kind: str = "") -> None:
        text = json.dumps(self.identity | content, indent=1, ensure_ascii=False)
        self.path(f"{kind}.json").write_text(text + "\n", encoding="utf-8")

    def _page(self, findings: Sequence[Finding]) -> str:
        e = self.experiment
        settings = ", ".join(f"{name}={value}" for name, value in self.identity["parameters"].items())
        lines = [f"# {e.title}", "", f"{e.source}. Claim: {e.claim}.", ""]
        lines += [f"![{e.title}]({name})" for name in self.pictures] + [""] * bool(self.pictures)
        lines += _findings_tables([asdict(finding) for finding in findings])
        for summary in self.summaries:
            lines += ["", *summary]
        if self.summaries:
            lines += ["", f"All {len(self._rows)} rows are in `{e.name}.csv`."]
        elif self._rows:
            columns = list(dict.fromkeys(name for row in self._rows for name in row))
            shown = [[_cell(row.get(name)) for name in columns] for row in self._rows[:_MOST_ROWS]]
            lines += ["", *_table(columns, shown)]
            if len(self._rows) > _MOST_ROWS:
                lines += ["", f"… and {len(self._rows) - _MOST_ROWS} rows more in `{e.name}.csv`."]
        origin = provenance(f"python -m bench.paper {e.name}", self._machine)
        lines += ["", f"{origin} Seed {self.identity['seed']}{', ' * bool(settings)}{settings}."]
        if k := self._kept:
            lines += ["", f"Rows that were kept from commit {k['commit']} or before: {k['rows']}."]
        if v := self._verified:
            told = ", ".join(f"{name} ({count})" for name, count in v["in"].items())
            others = f", the others differ in {told}" if told else ""
            lines += [
                "",
                f"At commit {v['commit']} {v['cells']} of the cells, drawn at random, were computed again "
                f"(`python -m bench.paper {e.name} --verify {v['cells']}`): "
                f"{v['cells'] - v['differing']} are the same within {_SAME:.0%}{others}.",
            ]
        return "\n".join(lines) + "\n"


def _same(stored: Any, computed: Any) -> bool:
    """Whether two values of a cell are the same, numbers as far as another processor allows."""
    if isinstance(stored, int | float) and isinstance(computed, int | float):
        return math.isclose(stored, computed, rel_tol=_SAME) or stored == computed
    return stored == computed or str(stored) == str(computed)  # text that a file gives back as a number


def _findings_tables(findings: Sequence[dict[str, Any]]) -> list[str]:
    """Return the paper's claims in one table, and ours in another."""
    answers = {True: "yes", False: "**no**", None: "cannot be said"}
    lines: list[str] = []
    for ours, head in (
        (False, ["the claim", "found", "reproduced"]),
        (True, ["beyond the paper", "found", "holds"]),
    ):
        mine = [f for f in findings if f.get("ours", False) == ours]
        if mine:
            lines += [""] * bool(lines)
            lines += _table(head, [[f["claim"], f["found"], answers[f["reproduced"]]] for f in mine])
    return lines


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in [head, *rows]]
    lines = ["| " + " | ".join(row) + " |" for row in escaped]
    return [lines[0], "|" + " --- |" * len(head), *lines[1:]]


def write_index(folder: Path) -> None:
    """Write the list of all results in the folder, with what was found."""
    rows, sections = [], []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("complete"):
            verdicts = [f["reproduced"] for f in content["findings"] if not f.get("ours", False)]
            known = [verdict for verdict in verdicts if verdict is not None]
            page = f"[{path.stem}]({path.stem}.md)"
            rows.append([page, content["source"], content["title"], f"{sum(known)} of {len(verdicts)}"])
            sections += ["", f"## {page}: {content['title']}", "", *_findings_tables(content["findings"])]
    table = _table(["experiment", "source", "title", "claims reproduced"], rows)
    text = "\n".join(
        ["# The papers' experiments", "", "Made by `python -m bench.paper`.", "", *table, *sections]
    )
    (folder / "index.md").write_text(text + "\n", encoding="utf-8")
