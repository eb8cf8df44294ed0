"""A run of seconds of the benchmarks: answers must agree and files be there; nobody looks at the times."""

import csv
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
from repository import ROOT, needs
from scipy.stats import norm

RESULTS = ROOT / "bench" / "results"

pytestmark = needs("bench/peers")


def run(*arguments, bench="peers"):
    command = [sys.executable, "-m", f"bench.{bench}", "--quick", *map(str, arguments)]
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


@pytest.mark.slow
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


def test_standard_deviations_are_timed_beside_a_gaussian_process_that_agrees():
    done = run(bench="peers.variances")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "peer ÷ ours" in done.stdout
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith("|")][2:] == ["1", "700"]


@pytest.mark.slow
def test_every_stage_is_measured_at_every_size(rows):
    measured = {(r["scene"], r["stage"], r["m"]) for r in rows if r["name"] == "grls"}
    stages = ("fit", "predict", "one row", "memory")
    assert measured == {
        (scene, s, m) for scene in ("digits", "spatial") for s in stages for m in ("160", "220")
    }


@pytest.mark.slow
def test_results_say_where_they_come_from_and_name_no_host(output):
    content = json.loads((output / "peers.json").read_text(encoding="utf-8"))
    assert {"processor", "cores", "python", "packages", "commit"} <= content["machine"].keys()
    assert not {"host", "hostname", "node", "user"} & content["machine"].keys()
    assert content["growth"].keys() == {"digits", "spatial"}


@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.md")), ids=lambda path: path.stem)
def test_a_stored_table_names_the_command_that_prints_it(path):
    assert "`python -m bench." in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_table_and_the_picture_are_written(output):
    assert "÷ limit" in (output / "peers.md").read_text(encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        assert (output / "peers.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_support_vector_machines_are_compared_at_the_same_objective(tmp_path):
    command = [sys.executable, "-m", "bench.svm", "--quick", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / "svm.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert {"grls", "grls, 20 features", "scikit-learn"} <= rows.keys()
    for row in rows.values():
        assert float(row["primal"]) >= float(row["dual"])
    assert abs(float(rows["grls"]["dual"]) / float(rows["scikit-learn"]["dual"]) - 1) < 1e-4
    assert "÷ grls" in (tmp_path / "svm.md").read_text(encoding="utf-8")


def test_a_machine_that_stops_too_early_stops_the_run(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT))
    from sklearn.svm import SVC

    from bench.svm import machines, run

    def careless(problem):
        return SVC(C=problem.C, gamma=problem.gamma, tol=1.0).fit(problem.X, problem.y)

    both = (machines.Machine(machines.OURS, careless), machines.Machine("scikit-learn", machines.fit_sklearn))
    monkeypatch.setattr(machines, "MACHINES", both)
    assert run.main(["--quick"]) == 1
    assert "Nothing was written" in capsys.readouterr().out


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


# The choice of γ.


@pytest.mark.slow
def test_the_choice_of_regularization_is_timed_beside_a_grid_search(tmp_path):
    done = run("--output", tmp_path, bench="selection")
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / "selection.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert {"one fit", '"loo"', '"gcv"', '"reml"', "GridSearchCV(KernelRidge), 2 folds"} <= rows.keys()
    # Leave-one-out and folds look at nearly the same thing: neighbours on the grid at most.
    alphas = [float(rows[name]["alpha"]) for name in ('"loo"', "GridSearchCV(KernelRidge), 2 folds")]
    assert abs(np.log10(alphas[0] / alphas[1])) < 1.8
    assert "÷ one fit" in (tmp_path / "selection.md").read_text(encoding="utf-8")


# Kernel PCA.


@pytest.mark.slow
def test_kernel_pca_is_timed_beside_its_peer(tmp_path):
    done = run("--output", tmp_path, bench="kpca")
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / "kpca.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    few = {(row["package"], row["solver"]) for row in rows if row["n_components"] != row["m"]}
    assert few == {
        ("grls", "auto (iterative)"),
        ("grls", "dense"),
        *(("scikit-learn", solver) for solver in ("arpack", "randomized", "dense")),
    }
    assert {row["package"] for row in rows if row["n_components"] == row["m"]} == {"grls", "scikit-learn"}
    assert all(float(row["error"]) < 1e-7 for row in rows if row["solver"] != "randomized")
    assert "÷ grls" in (tmp_path / "kpca.md").read_text(encoding="utf-8")


def test_wrong_eigenvalues_stop_the_run(monkeypatch, capsys, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT))
    from grls import decomposition

    from bench import kpca

    clean = decomposition._clean
    monkeypatch.setattr(decomposition, "_clean", lambda values: 1.001 * clean(values))
    assert kpca.main(["--quick", "--output", str(tmp_path)]) == 1
    assert "Nothing was written" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


# Real data, made up.


@pytest.fixture(scope="module")
def real_output(tmp_path_factory):
    directory = tmp_path_factory.mktemp("real")
    done = run("--methods", "trend alone", "grls reml", "--output", directory, bench="real")
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


@pytest.mark.slow
def test_every_scene_has_every_method_and_its_scores(real_output):
    with (real_output / "real.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    scenes = {"motorcycle", "meuse", "co2", "concrete", "energy"}
    assert {(r["scene"], r["method"]) for r in rows} == {
        (scene, method) for scene in scenes for method in ("trend alone", "grls reml")
    }
    for row in rows:
        assert float(row["rmse"]) > 0
        assert (row["coverage"] == "") == (row["method"] == "trend alone")
    error = {(r["scene"], r["method"]): float(r["rmse"]) for r in rows}
    assert error["motorcycle", "grls reml"] < 0.6 * error["motorcycle", "trend alone"]


@pytest.mark.slow
def test_the_report_of_real_data_is_written(real_output):
    text = (real_output / "real.md").read_text(encoding="utf-8")
    assert "in the 95 % band" in text
    assert "commit" in json.loads((real_output / "real.json").read_text(encoding="utf-8"))["machine"]
    assert "How free should features be?" in (real_output / "freedom.md").read_text(encoding="utf-8")
    cells = json.loads((real_output / "freedom.json").read_text(encoding="utf-8"))["cells"]
    assert {cell["data"] for cell in cells} == {"linear", "words"}
    assert all(cell["errors"].keys() == {"none", "auto", "unpenalised"} for cell in cells)
    if importlib.util.find_spec("matplotlib"):
        assert (real_output / "real.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["GaussianProcessRegressor", "KernelRidge + GridSearchCV", "libKriging"])
def test_a_peer_predicts_real_data_better_than_their_mean(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.real import methods, scenes

    if name not in methods.usable()[0]:
        pytest.skip("not installed")
    scene = scenes.motorcycle(scenes.made_up("motorcycle"))
    split = next(scene.splits(1))
    answer = methods.quietly(methods.METHODS[name], scene, split)
    assert np.mean((answer.mean - split.y_new) ** 2) < 0.3 * np.var(split.y_new)
    if answer.std is not None:
        assert np.mean(np.abs(answer.mean - split.y_new) < 3 * answer.std) > 0.8


def test_real_data_that_are_missing_are_named(monkeypatch, capsys, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("GRLS_DATA", str(tmp_path))
    from bench.real import run

    assert run.main(["--scenes", "meuse"]) == 2
    assert "GRLS_DATA" in capsys.readouterr().err


def test_scores_are_those_of_a_normal_distribution(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.real.report import score

    y, mean, std = np.array([0.0, 1.0, 5.0]), np.array([0.5, 1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    scores = score(y, mean, std)
    assert scores["rmse"] == pytest.approx(np.sqrt(9.25 / 3))
    assert scores["coverage"] == pytest.approx(2 / 3)
    assert scores["log_density"] == pytest.approx(norm(mean, std).logpdf(y).mean())
    assert score(y, mean, None)["coverage"] is None


# Many rows.


@pytest.mark.slow
def test_every_scene_of_many_rows_runs(tmp_path):
    scenes = ["mnist", "svc", "rows", "exact", "regression", "centres", "choice", "doubling", "draws"]
    scenes += ["dask"] if importlib.util.find_spec("distributed") else []
    command = [
        sys.executable,
        "-m",
        "bench.nystrom",
        "--quick",
        "--scenes",
        *scenes,
        "--output",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = []
    for scene in scenes:
        with (tmp_path / f"{scene}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert rows
        page = (tmp_path / f"{scene}.md").read_text(encoding="utf-8")
        assert f"`python -m bench.nystrom --scenes {scene}`" in page
        assert "| ratio |" in page
        measured += rows
    by_name = {r["name"]: r for r in measured}
    assert float(by_name["grls"]["error"]) <= float(by_name["Nystroem + RidgeClassifier"]["error"]) + 10
    assert all(float(r["seconds"]) > 0 for r in measured)


def test_the_price_of_features_is_told_pair_by_pair(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.svm import speed

    price = speed.price(speed.synthetic(120, 0), 1)
    assert (price.m, price.n_features, price.n_pairs) == (120, 20, 1)
    assert price.ratio == pytest.approx(price.features / price.constant)
    X = np.random.default_rng(0).normal(size=(40, 2))
    small = speed.small("line", X, (X[:, 0] > 0).astype(int), 1.0, 1.0, 1)
    assert small.ratio == pytest.approx(small.grls / small.svc)
    told = speed.markdown([price], [small], speed.facts(ROOT))
    assert "| synthetic | 120 | 20 |" in told
    assert "| line | 40 | 2 | 1 |" in told
