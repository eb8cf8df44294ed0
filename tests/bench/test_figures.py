"""The README's figures are those of bench/results, and nobody typed one."""

import importlib.util
import json
import re

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
    assert claim.findall(re.sub(r"`[^`]*`", "", prose)) == []


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


def test_a_row_that_is_not_there_is_named(bench):
    with pytest.raises(LookupError, match=r"selection\.csv has no row with .*'nobody'"):
        bench.figures.value("selection", "to_fit", name="nobody")


def test_every_step_of_the_whole_run_is_a_program(bench):
    for step in bench.__main__.STEPS:
        name = step.command.split()[0]
        assert importlib.util.find_spec(name) is not None, name


def test_a_step_is_run_once_for_the_same_sources(bench, tmp_path, monkeypatch, capfd):
    main = bench.__main__
    step = main.Step("one", "this", timed=False)
    monkeypatch.setattr(main, "STEPS", (step,))
    monkeypatch.setattr(main, "LOG", tmp_path / "runs.json")
    monkeypatch.setattr(main, "ROOT", tmp_path)  # where `python -m this` is run
    monkeypatch.setattr(main, "sources_now", lambda: "abc")
    assert main.main(["all"]) == 0
    assert "Zen of Python" in capfd.readouterr().out
    assert json.loads((tmp_path / "runs.json").read_text())["one"]["sources"] == "abc"
    assert main.main(["all"]) == 0
    assert "Zen" not in capfd.readouterr().out
    monkeypatch.setattr(main, "sources_now", lambda: "abd")
    assert main.main(["all"]) == 0
    assert "Zen" in capfd.readouterr().out


def test_a_step_that_fails_is_not_noted(bench, tmp_path, monkeypatch, capfd):
    main = bench.__main__
    monkeypatch.setattr(main, "STEPS", (main.Step("none", "no_such_module", timed=False),))
    monkeypatch.setattr(main, "LOG", tmp_path / "runs.json")
    monkeypatch.setattr(main, "sources_now", lambda: "abc")
    assert main.main(["all"]) == 1
    assert "failed: none" in capfd.readouterr().out
    assert not (tmp_path / "runs.json").exists()


def test_the_machine_is_waited_for(bench, monkeypatch):
    loads = iter([(3.0, 0, 0), (1.0, 0, 0), (0.2, 0, 0)])
    monkeypatch.setattr(bench.__main__.os, "getloadavg", lambda: next(loads))
    assert bench.__main__.wait_until_quiet(0.5, patience=60.0, pause=0.0) == 0.2
    monkeypatch.setattr(bench.__main__.os, "getloadavg", lambda: (9.0, 0, 0))
    assert bench.__main__.wait_until_quiet(0.5, patience=0.0, pause=0.0) == 9.0
