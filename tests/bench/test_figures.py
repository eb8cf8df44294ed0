"""The README's figures are those of bench/results, and nobody typed one."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT, needs

pytestmark = needs("bench")


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    import bench.__main__
    import bench.figures

    return bench


def test_the_readme_has_the_figures_of_the_results(bench):
    text = bench.figures.README.read_text(encoding="utf-8")
    assert bench.figures.written(text) == text, "run python -m bench.figures --write"


def test_outside_that_list_the_readme_claims_no_figure(bench):
    text = bench.figures.README.read_text(encoding="utf-8")
    head, rest = text.split(bench.figures.BEGIN)
    prose = re.sub(r"```.*?```", "", head + rest.split(bench.figures.END)[1], flags=re.DOTALL)
    claim = re.compile(r"\d[\d.,]* ?(?:%|×|times\b|s\b|ms\b|MiB\b|GiB\b|seconds\b|minutes\b)")
    spelled = re.compile(
        r"\b(?:two|three|four|five|ten|twelve|half|\d+)[ -]?"
        r"(?:times|fold|x\b|the time|percent|per cent|hours?)\b",
        re.IGNORECASE,
    )
    plain = re.sub(r"`[^`]*`", "", prose)
    assert claim.findall(plain) + spelled.findall(plain) == []


def test_a_changed_result_changes_the_list(bench, tmp_path, monkeypatch):
    before = bench.figures.gamma()
    source = (bench.figures.RESULTS / "selection.csv").read_text(encoding="utf-8")
    rows = [line.split(",") for line in source.splitlines()]
    column = rows[0].index("to_fit")
    for row in rows:
        if "loo" in row[0]:
            row[column] = "77.0"
    (tmp_path / "selection.csv").write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    monkeypatch.setattr(bench.figures, "RESULTS", tmp_path)
    assert "77 fits" in bench.figures.gamma() != before


def test_the_readme_names_every_commit_that_its_figures_are_of(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(bench.figures, "RESULTS", tmp_path)
    for name, commit in (("a", "123"), ("b", "123"), ("c", "456-dirty")):
        (tmp_path / f"{name}.md").write_text(f"Measured by x on y; commit {commit}; z.", encoding="utf-8")
        (tmp_path / f"{name}.csv").write_text("n\n1\n", encoding="utf-8")
        bench.figures.rows(name)
    monkeypatch.setattr(bench.figures, "_read", {"a", "b", "c"})
    assert bench.figures.origin().startswith("Measured at commit `123`; c at `456-dirty`.")
    again = {"verified": {"commit": "123", "cells": 9, "differing": 2}}
    (tmp_path / "c.json").write_text(json.dumps(again), encoding="utf-8")
    assert "; c at `456-dirty` (7 of 9 cells that were drawn and computed again at `123` are" in (
        bench.figures.origin()
    )
    older = {"kept": {"commit": "45", "rows": 1}}
    for name in ("b", "c"):
        (tmp_path / f"{name}.json").write_text(json.dumps(older), encoding="utf-8")
    kept = "1 of its 1 rows at `45` or before"
    assert f"`123`; b, {kept}; c at `456-dirty`, {kept}." in bench.figures.origin()


def test_a_row_that_is_not_there_is_named(bench):
    with pytest.raises(LookupError, match=r"selection\.csv has no row with .*'nobody'"):
        bench.figures.value("selection", "to_fit", name="nobody")


def test_every_step_of_the_whole_run_is_a_program(bench):
    for step in bench.__main__.STEPS:
        name = step.command.split()[0]
        assert importlib.util.find_spec(name) is not None, name


def test_every_page_of_results_is_written_by_one_step(bench):
    """What no step writes would grow old without a word."""
    pages = [page for step in bench.__main__.STEPS for page in step.pages]
    assert len(pages) == len(set(pages))
    results = bench.__main__.RESULTS
    stored = {path.relative_to(results).with_suffix("").as_posix() for path in results.rglob("*.md")}
    assert stored - set(pages) == {"paper/index"}  # which every step of the papers writes


def test_the_site_includes_every_page_of_results(bench):
    texts = [ROOT / "docs" / "benchmarks.md", *(ROOT / "docs" / "guide").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in texts)
    included = set(re.findall(r"include\} (?:\.\./)+bench/results/(.*)\.md", text))
    pages = {page for step in bench.__main__.STEPS for page in step.pages}
    # The papers' experiments have pages of their own.
    assert sorted(included) == sorted(page for page in pages if not page.startswith("paper/"))


def test_the_record_has_every_step_and_nothing_else(bench):
    """Of each it says which sources its page is of."""
    log = bench.__main__.runs()
    assert set(log) == {step.name for step in bench.__main__.STEPS}
    state = re.compile(r"[0-9a-f]{10}(-[0-9a-f]{10}){2}(-dirty)?")
    assert [name for name, known in log.items() if not state.fullmatch(known.get("sources", ""))] == []


def test_the_page_of_machines_has_the_rows_of_its_table(bench):
    """The README's figures come from the table, and its link leads to the page."""
    lines = (bench.figures.RESULTS / "svm.md").read_text(encoding="utf-8").splitlines()
    for row in bench.figures.rows("svm"):
        starts, ratio = f"| {row['name']} | ", f" | {float(row['fit_to_ours']):.2f} | "
        assert any(line.startswith(starts) and ratio in line for line in lines), row


def test_the_steps_name_every_scene_and_experiment(bench):
    from bench.nystrom.run import SCENES
    from bench.paper.registry import experiments

    assert set(bench.__main__.NYSTROM) == set(SCENES)
    assert set(bench.__main__.PAPERS) == set(experiments())


@pytest.fixture
def whole_run(bench, tmp_path, monkeypatch):
    """`python -m bench` with one step that prints a poem, and its page, in a folder of its own."""
    main = bench.__main__
    step = main.Step("one", "this", ("page",), timed=False, afresh="-v")
    monkeypatch.setattr(main, "STEPS", (step,))
    monkeypatch.setattr(main, "RESULTS", tmp_path)
    monkeypatch.setattr(main, "LOG", tmp_path / "runs.json")
    monkeypatch.setattr(main, "ROOT", tmp_path)  # where `python -m this` is run
    monkeypatch.setattr(main, "sources_now", lambda: "abc")
    monkeypatch.setattr(main, "busy_cores", lambda: 0.0)
    (tmp_path / "page.md").touch()
    return main


def test_a_step_is_run_once_for_the_same_sources(whole_run, tmp_path, monkeypatch, capfd):
    assert whole_run.main(["all"]) == 0
    assert "Zen of Python" in capfd.readouterr().out
    assert json.loads((tmp_path / "runs.json").read_text())["one"]["sources"] == "abc"
    assert whole_run.main(["all"]) == 0
    assert "Zen" not in capfd.readouterr().out
    assert whole_run.main(["list"]) == 0
    assert "up to date" in capfd.readouterr().out
    monkeypatch.setattr(whole_run, "sources_now", lambda: "abd")
    assert whole_run.main(["list"]) == 0
    told = capfd.readouterr().out
    assert "older than the sources" in told
    assert "since abc these have changed: " in told
    (tmp_path / "page.md").touch()
    assert whole_run.main(["all"]) == 0
    assert "Zen" in capfd.readouterr().out


def test_a_step_that_fails_is_not_done(whole_run, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(whole_run, "STEPS", (whole_run.Step("none", "no_such_module", (), timed=False),))
    assert whole_run.main(["all"]) == 1
    assert "failed: none" in capfd.readouterr().out
    assert "sources" not in json.loads((tmp_path / "runs.json").read_text())["none"]
    assert whole_run.main(["list"]) == 0
    assert "begun, and not done" in capfd.readouterr().out


def test_a_step_that_leaves_its_page_as_it_was_is_not_done(whole_run, tmp_path, capfd):
    os.utime(tmp_path / "page.md", (1.0, 1.0))
    assert whole_run.main(["all"]) == 1
    assert "ended without page.md" in capfd.readouterr().out


def test_two_runs_beside_each_other_keep_what_both_know(whole_run, tmp_path, monkeypatch):
    def another_run_ends(*_):
        (tmp_path / "runs.json").write_text('{"two": {"sources": "abc"}}')

    monkeypatch.setattr(whole_run, "wait_until_quiet", another_run_ends)
    assert whole_run.main(["all"]) == 0
    assert json.loads((tmp_path / "runs.json").read_text()).keys() == {"one", "two"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md", "runs.json"]


def test_a_step_that_was_interrupted_goes_on(whole_run, tmp_path, monkeypatch, capfd):
    """What other sources have left is forgotten, what these have is not."""
    os.utime(tmp_path / "page.md", (1.0, 1.0))
    assert whole_run.main(["all"]) == 1
    assert "python -m this -v" in capfd.readouterr().out
    assert whole_run.main(["all"]) == 1
    assert "python -m this\n" in capfd.readouterr().out
    monkeypatch.setattr(whole_run, "sources_now", lambda: "abd")
    assert whole_run.main(["all"]) == 1
    assert "python -m this -v" in capfd.readouterr().out


def test_the_machine_is_waited_for(bench, monkeypatch):
    busy = iter([2.0, 0.7, 0.1])
    monkeypatch.setattr(bench.__main__, "busy_cores", lambda: next(busy))
    assert bench.__main__.wait_until_quiet(0.2, patience=60.0, pause=0.0) == 0.1
    monkeypatch.setattr(bench.__main__, "busy_cores", lambda: 1.5)
    assert bench.__main__.wait_until_quiet(0.2, patience=0.0, pause=0.0) == 1.5


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="without it, systems keep averages only")
def test_cores_that_work_for_others_are_counted(bench):
    """Each worker is a whole core more, as far as there are cores."""
    from bench.peers.machine import busy_cores

    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as worker:
        try:
            assert busy_cores(0.5) > 0.5
        finally:
            worker.kill()


def test_a_table_names_the_commit_of_what_is_measured(bench):
    from bench.peers.machine import MEASURED, facts, provenance

    machine = facts(ROOT)
    told = provenance("python -m bench.kpca", machine)
    assert told.startswith("Measured by `python -m bench.kpca` on ")
    git = ["git", "log", "-1", "--format=%H", "--", *MEASURED]
    commit = subprocess.run(git, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()
    assert f"commit {commit[:12] or None}" in told
