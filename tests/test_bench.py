"""A run of seconds of the benchmarks: answers must agree and files be there; nobody looks at the times."""

import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "bench" / "peers").is_dir(), reason="the benchmarks are not part of this distribution"
)


def run(*arguments):
    command = [sys.executable, "-m", "bench.peers", "--quick", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=300)


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    directory = tmp_path_factory.mktemp("peers")
    done = run("--sizes", 160, 220, "--output", directory)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


@pytest.fixture(scope="module")
def rows(output):
    with (output / "peers.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_peer_that_is_installed_gives_the_limits_answers(rows):
    differences = {(r["scene"], r["name"]): float(r["difference"]) for r in rows if r["stage"] == "fit"}
    expected = {
        ("digits", "KernelRidge"),
        ("digits", "GaussianProcessRegressor"),
        ("spatial", "RBFInterpolator"),
    }
    expected |= {
        (scene, name) for scene in ("digits", "spatial") for name in ("grls", "grls single", "NumPy")
    }
    if importlib.util.find_spec("pylibkriging"):
        expected.add(("spatial", "libKriging"))
    assert expected <= differences.keys()
    for (_, name), difference in differences.items():
        assert difference < (1e-3 if name == "grls single" else 1e-9), name


def test_every_stage_is_measured_at_every_size(rows):
    measured = {(r["scene"], r["stage"], r["m"]) for r in rows if r["name"] == "grls"}
    stages = ("fit", "predict", "one row", "memory")
    assert measured == {
        (scene, s, m) for scene in ("digits", "spatial") for s in stages for m in ("160", "220")
    }


def test_results_say_where_they_come_from_and_name_no_host(output):
    content = json.loads((output / "peers.json").read_text(encoding="utf-8"))
    assert {"processor", "cores", "python", "packages", "commit"} <= content["machine"].keys()
    assert not {"host", "hostname", "node", "user"} & content["machine"].keys()
    assert content["growth"].keys() == {"digits", "spatial"}


def test_the_table_and_the_picture_are_written(output):
    assert "÷ limit" in (output / "peers.md").read_text(encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        assert (output / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_a_peer_that_is_not_installed_is_left_out_with_a_reason(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setitem(sys.modules, "pylibkriging", None)
    from bench.peers import adapters, problems

    working, reasons = adapters.usable(adapters.PEERS, problems.spatial(40, n_new=5))
    assert "RBFInterpolator" in {peer.name for peer in working}
    assert reasons["libKriging"].startswith("not installed")


def test_a_wrong_answer_stops_the_run(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.peers import adapters, run

    wrong = adapters.Peer("wrong", lambda problem: lambda X: 0 * X[:, 0], with_features=True)
    monkeypatch.setattr(adapters, "PEERS", (wrong,))
    assert run.main(["--quick", "--scenes", "spatial"]) == 1
    assert "wrong on spatial" in capsys.readouterr().out
