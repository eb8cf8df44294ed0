"""The papers' experiments run, write what they found, and are not run twice."""

import csv
import json
import sys

import pytest
from repository import ROOT, needs

pytest.importorskip("matplotlib")

pytestmark = needs("bench/paper")

NAMES = sorted(
    path.stem for path in (ROOT / "bench/paper/experiments").glob("*.py") if not path.stem.startswith("_")
)


@pytest.fixture
def paper(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    import bench.paper.command
    import bench.paper.registry

    registered = bench.paper.registry._EXPERIMENTS
    before = dict(bench.paper.registry.experiments())
    yield bench.paper
    registered.clear()
    registered.update(before)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_writes_table_page_and_picture(paper, tmp_path, name, capsys):
    if paper.registry.experiments()[name].data:
        pytest.skip("takes minutes with its data: test_paper_data runs it with data of its own")
    assert paper.command.main([name, "--quick", "--output", str(tmp_path)]) == 0
    content = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert content["complete"]
    assert content["findings"]
    with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file))
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    for finding in content["findings"]:
        assert finding["claim"] in page
    assert name in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert paper.command.main([name, "--quick", "--output", str(tmp_path)]) == 0
    assert "there already" in capsys.readouterr().out


@pytest.fixture
def counted(paper):
    """An experiment of three cells that counts its work and fails at the third when told to."""
    from bench.paper.registry import Finding, experiment

    calls = []

    @experiment(title="t", source="s", claim="c", parameters={"cells": 3, "fail": False}, quick={"cells": 2})
    def counted(run):
        for i in range(run.cells):

            def compute(i=i):
                if i == 2 and calls.count("allowed") == 0:
                    raise RuntimeError("interrupted")
                calls.append(i)
                return {"value": float(run.rng(i).normal())}

            run.cell(compute, i=i, kind="10")
        return [Finding("it counts", f"{len(run.rows)} rows", None)]

    return calls


def run(paper, folder, *options):
    return paper.command.main(["counted", "--output", str(folder), *options])


def rows(folder, name="counted.csv"):
    with (folder / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_an_interrupted_run_goes_on_where_it_stopped(paper, counted, tmp_path, capsys):
    assert run(paper, tmp_path) == 1
    assert "failed: counted" in capsys.readouterr().out
    assert counted == [0, 1]
    before = rows(tmp_path, "counted.begun.csv")
    counted.append("allowed")
    assert run(paper, tmp_path) == 0
    assert counted == [0, 1, "allowed", 2]
    assert rows(tmp_path)[:2] == before
    assert [row["i"] for row in rows(tmp_path)] == ["0", "1", "2"]
    assert not list(tmp_path.glob("*.begun.*"))


def test_an_interrupted_run_leaves_the_result_before_it_as_it_was(paper, counted, tmp_path):
    counted.append("allowed")
    assert run(paper, tmp_path) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    counted.remove("allowed")
    assert run(paper, tmp_path, "--force") == 1
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert len(rows(tmp_path, "counted.begun.csv")) == 2
    counted.append("allowed")
    done = len(counted)
    assert run(paper, tmp_path) == 0  # goes on, though a result is there
    assert len(counted) == done + 1
    assert not list(tmp_path.glob("*.begun.*"))


def test_a_result_is_computed_again_only_when_something_has_changed(paper, counted, tmp_path):
    counted.append("allowed")
    run(paper, tmp_path)
    done = len(counted)
    run(paper, tmp_path)
    assert len(counted) == done
    for options in (["--force"], ["--seed", "1"], ["--set", "cells=2"], ["--quick"]):
        assert run(paper, tmp_path, *options) == 0
    # 3 by --force, 3 by another seed, 2 by --set; --quick asks for what --set has left
    assert len(counted) == done + 3 + 3 + 2


def test_cells_are_computed_again_and_compared(paper, counted, tmp_path, capsys):
    assert run(paper, tmp_path, "--verify", "2") == 1  # there is nothing yet
    assert "no complete result to verify" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(paper, tmp_path, "--verify", "-3")
    counted.append("allowed")
    assert run(paper, tmp_path) == 0
    before, done = rows(tmp_path), len(counted)
    assert run(paper, tmp_path, "--verify", "2") == 0
    assert len(counted) == done + 2
    assert rows(tmp_path) == before
    page = (tmp_path / "counted.md").read_text(encoding="utf-8")
    assert "2 of the cells, drawn at random, were computed again" in page
    assert "2 are the same within 1%" in page
    assert run(paper, tmp_path, "--report") == 0  # a page made again says so still
    assert (tmp_path / "counted.md").read_text(encoding="utf-8") == page

    text = (tmp_path / "counted.csv").read_text(encoding="utf-8")
    value = before[0]["value"]
    (tmp_path / "counted.csv").write_text(text.replace(value, "77.0"), encoding="utf-8")
    capsys.readouterr()
    assert run(paper, tmp_path, "--verify", "3") == 1
    printed = capsys.readouterr()
    assert f"value 77.0 -> {value}" in printed.out
    assert "1 cells have changed" in printed.err


def test_a_page_made_again_keeps_where_its_cells_come_from(paper, counted, tmp_path):
    counted.append("allowed")
    assert run(paper, tmp_path) == 0
    content = json.loads((tmp_path / "counted.json").read_text(encoding="utf-8"))
    content["machine"]["commit"] = "another"
    (tmp_path / "counted.json").write_text(json.dumps(content), encoding="utf-8")
    assert run(paper, tmp_path, "--report") == 0
    assert "commit another" in (tmp_path / "counted.md").read_text(encoding="utf-8")
    assert run(paper, tmp_path, "--force") == 0
    assert "commit another" not in (tmp_path / "counted.md").read_text(encoding="utf-8")


def test_cells_of_one_method_are_computed_again_and_others_kept(paper, tmp_path, capsys):
    from bench.paper.registry import Finding, experiment

    calls = []

    @experiment(title="t", source="s", claim="c")
    def by_method(run):
        for method in ("ours", "theirs"):

            def compute(method=method):
                calls.append(method)
                return {"value": len(calls)}

            run.cell(compute, method=method)
        return [Finding("it counts", f"{len(run.rows)} rows", None)]

    def main(*options):
        return paper.command.main(["by_method", "--output", str(tmp_path), *options])

    def page():
        return (tmp_path / "by_method.md").read_text(encoding="utf-8")

    assert main() == main() == 0
    assert calls == ["ours", "theirs"]
    assert "were kept" not in page()
    assert main("--again", "nobody") == 1
    assert "has no cells of nobody" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.begun.*"))
    assert main("--again", "ours") == 0
    assert calls == ["ours", "theirs", "ours"]
    with (tmp_path / "by_method.csv").open(encoding="utf-8") as file:
        assert {row["method"]: row["value"] for row in csv.DictReader(file)} == {"ours": "3", "theirs": "2"}
    assert "were kept" not in page()  # from the same commit

    content = json.loads((tmp_path / "by_method.json").read_text(encoding="utf-8"))
    content["machine"]["commit"] = "another"
    (tmp_path / "by_method.json").write_text(json.dumps(content), encoding="utf-8")
    assert main("--again", "ours", "--max-seconds", "0") == paper.command.UNFINISHED
    for again in ([], ["--verify", "1"], ["--report"]):  # the first goes on
        main(*again)
        assert "were kept from commit another or before: 1." in page()
    assert main("--force") == 0
    assert "were kept" not in page()


def test_cells_of_one_data_set_are_computed_again_and_others_kept(paper, tmp_path):
    from bench.paper.registry import Finding, experiment

    calls = []

    @experiment(title="t", source="s", claim="c", parameters={"datasets": ["a", "b"]}, extent=["datasets"])
    def by_set(run):
        for name in run.datasets:
            run.cell(
                lambda name=name: calls.append(name) or {"value": len(calls)}, dataset=name, method="ours"
            )
        return [Finding("it counts", f"{len(run.rows)} rows", None)]

    def main(*options):
        assert paper.command.main(["by_set", "--output", str(tmp_path), *options]) == 0
        with (tmp_path / "by_set.csv").open(encoding="utf-8") as file:
            return {row["dataset"]: row["value"] for row in csv.DictReader(file)}

    assert main() == {"a": "1", "b": "2"}
    assert main("--again", "ours", "--set", "datasets=['b']") == {"a": "1", "b": "3"}
    assert main() == {"a": "1", "b": "3"}  # with its page of all sets
    assert calls == ["a", "b", "b"]


def test_the_seed_decides_and_not_the_order_of_the_cells(paper, counted, tmp_path):
    counted.append("allowed")
    run(paper, tmp_path / "a")
    run(paper, tmp_path / "b", "--seed", "1")
    run(paper, tmp_path / "c")
    assert rows(tmp_path / "a") == rows(tmp_path / "c") != rows(tmp_path / "b")


def test_mistakes_are_told(paper, counted, tmp_path, capsys, monkeypatch):
    with pytest.raises(SystemExit):
        paper.command.main(["figure_9_9"])
    assert "there is no experiment figure_9_9" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        paper.command.main([])
    with pytest.raises(SystemExit):
        run(paper, tmp_path, "--set", "cells")
    assert run(paper, tmp_path, "--set", "cels=2") == 1
    assert "counted has no parameter cels" in capsys.readouterr().err
    from bench.paper.registry import experiment

    with pytest.raises(ValueError, match="two experiments"):
        experiment(title="t", source="s", claim="c")(paper.registry.experiments()["counted"].body)
    with pytest.raises(ValueError, match="no parameters"):
        experiment(title="t", source="s", claim="c", quick={"n": 1})(test_mistakes_are_told)


def test_missing_data_leave_an_experiment_out_with_a_reason(paper, tmp_path, capsys, monkeypatch):
    from bench.paper.registry import experiment

    @experiment(title="t", source="s", claim="c", data=["no-such-file.npz"])
    def needy(run):
        raise AssertionError("it must not run")

    monkeypatch.delenv("GRLS_DATA", raising=False)
    assert paper.command.main(["needy", "--output", str(tmp_path)]) == 0
    assert "GRLS_DATA does not name a folder with no-such-file.npz" in capsys.readouterr().out
    monkeypatch.setenv("GRLS_DATA", str(tmp_path))
    assert paper.command.main(["needy", "--output", str(tmp_path)]) == 0
    assert paper.command.main(["--list"]) == 0
    assert "no-such-file.npz" in capsys.readouterr().out


def test_the_command_line_is_a_module_of_its_own(tmp_path):
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "bench.paper", "--list"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    assert "figure_3_1" in done.stdout


def test_linear_separability_is_decided_and_not_guessed(paper):
    import numpy as np

    from bench.paper.experiments._planar import separable

    rng = np.random.default_rng(0)
    points, normal = rng.normal(size=(200, 3)), np.array([1.0, -2.0, 0.5])
    side = points @ normal
    assert separable(points[np.abs(side) > 1e-3], (side > 0)[np.abs(side) > 1e-3].astype(int))
    assert not separable(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]))
