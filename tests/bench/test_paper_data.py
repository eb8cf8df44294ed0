"""The experiments on real data, run on small data of the same shape that are made here: no file is needed."""

import csv
import json

import numpy as np
import pytest
from repository import ROOT, needs
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

pytest.importorskip("matplotlib")

pytestmark = needs("bench/paper")

SMALL_TEXT = ["sizes=[30, 60]", "n_words=40", "n_topics=3"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def written(rng, n_classes, n_each=60, n_words=80):
    """Return texts of classes that use some words more than others do."""
    words = [first + second for first in LETTERS for second in LETTERS][:n_words]
    texts, target = [], []
    for label in range(n_classes):
        rates = rng.gamma(0.3, size=n_words)
        for _ in range(n_each):
            counts = rng.poisson(0.6 * rates + 0.2)
            texts.append(" ".join(np.repeat(words, counts)))
            target.append(label)
    return texts, np.array(target)


def postings(version):
    assert version == "original"
    names = ["comp.a", "comp.b", "rec.a", "rec.b", "rec.c", "sci.a", "sci.b", "talk.a", "talk.b"]
    texts, target = written(np.random.default_rng(0), len(names))
    return Bunch(data=texts, target=target, target_names=names)


def pages(seed):
    texts, target = written(np.random.default_rng(seed), 3)
    return Bunch(data=texts, target=target)


def turning(n_objects=4, n_poses=12):
    """Return objects whose images run round a curve each."""
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(n_poses) / n_poses
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)])
    X = np.concatenate([circle @ rng.normal(size=(3, 9)) + 2 * rng.normal(size=9) for _ in range(n_objects)])
    return Bunch(
        data=255 * (X - X.min()) / np.ptp(X),
        target=np.repeat(np.arange(1, n_objects + 1), n_poses),
        pose=np.tile(np.arange(n_poses), n_objects),
    )


def handwritten(subset):
    """Return scikit-learn's digits as large as MNIST's."""
    X, y = load_digits(return_X_y=True)
    images = np.pad(np.kron(X.reshape(-1, 8, 8), np.ones((3, 3))), ((0, 0), (2, 2), (2, 2)))
    rows = slice(0, 1200) if subset == "train" else slice(1200, 1500)
    return Bunch(images=(images[rows] * 15.9).astype(np.uint8), target=y[rows])


@pytest.fixture
def paper(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT))
    import bench.paper.command
    from bench.paper.experiments import _coil, _digits, _text

    caches = (
        _text._postings,
        _text.corpus,
        _text._represented,
        _coil.images,
        _coil._geodesic,
        _digits.digits,
    )
    monkeypatch.setattr(_text, "load_20newsgroups", postings)
    monkeypatch.setattr(_text, "load_webkb", lambda: pages(1))
    monkeypatch.setattr(_text, "load_sectors", lambda: pages(2))
    monkeypatch.setattr(_coil, "load_coil20", turning)
    monkeypatch.setattr(_digits, "load_mnist", handwritten)
    monkeypatch.setattr(_coil, "WIDTHS", (0.25, 1.5))
    monkeypatch.setattr(_coil, "COSTS", (1.0, 100.0))
    data = tmp_path / "data"  # what the experiments look for; the loaders above do not read it
    data.mkdir()
    for name in {*_text.FILES.values(), _coil.FILE, _digits.FILE}:
        (data / name).touch()
    monkeypatch.setenv("GRLS_DATA", str(data))
    for cache in caches:
        cache.cache_clear()
    yield bench.paper
    for cache in caches:
        cache.cache_clear()


def performed(paper, folder, name, *options, changes=()):
    sets = [part for change in changes for part in ("--set", change)]
    return paper.command.main([name, "--quick", "--output", str(folder), *options, *sets])


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def complete(folder, name):
    """Return the content of a finished experiment's file, all its parts being there."""
    content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert content["complete"]
    assert content["findings"]
    page = (folder / f"{name}.md").read_text(encoding="utf-8")
    assert all(finding["claim"] in page for finding in content["findings"])
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return content


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grls_2", "grls_2_training"])
def test_text_has_a_row_for_every_data_set_size_run_and_method(paper, tmp_path, name):
    changes = [*SMALL_TEXT, "datasets=['rec', '4-universities']"]
    assert performed(paper, tmp_path, name, "--runs", "2", changes=changes) == 0
    complete(tmp_path, name)
    rows = table(tmp_path, name)
    keys = {(r["dataset"], r["size"], r["run"], r["method"]) for r in rows}
    assert len(keys) == len(rows) == 2 * 2 * 2 * 11
    done = [r for r in rows if r["accuracy"]]
    assert all(r["failed"] and "first" in r["method"] for r in rows if not r["accuracy"])
    assert all(0 <= float(r["accuracy"]) <= 1 for r in done)
    printed = [r for r in done if "printed" in r["method"]]
    assert len(printed) > 8
    assert all(int(r["tried"]) >= 50 for r in printed)  # as many as for the minimiser
    assert all(float(r["least_objective"]) <= float(r["objective"]) * (1 + 1e-9) for r in printed)
    best = max(done, key=lambda r: float(r["accuracy"]))
    assert float(best["accuracy"]) > 0.7  # three classes with words of their own are told apart


@pytest.mark.parametrize("pivots", ["qr", "first"])
def test_the_printed_formula_of_all_gammas_at_once_is_that_of_one(paper, pivots):
    from grls import GRLSClassifier
    from grls.kernels import Linear

    from bench.paper.experiments import _text

    rng = np.random.default_rng(0)
    X, T, y = rng.normal(size=(60, 5)), rng.uniform(size=(60, 3)), np.arange(60) % 3
    X[:, 0] += y
    targets = 2.0 * (y[:, None] == np.arange(3)) - 1.0
    fold, held, gammas = np.arange(40), np.arange(40, 60), [1e-3, 1e-1, 10.0]
    hits = _text._printed_hits(X @ X.T, T, targets, fold, held, gammas, pivots)
    for gamma, share in zip(gammas, hits, strict=True):
        model = GRLSClassifier(
            Linear().on(list(range(5))),
            features=lambda A: A[:, 5:],
            regularization=gamma,
            formulation="published",
            pivots=pivots,
        ).fit(np.hstack([X, T])[fold], y[fold])
        assert share == np.mean(model.predict(np.hstack([X, T])[held]) == y[held])


def test_fits_that_failed_are_counted_and_left_out_of_means(paper):
    from bench.paper.experiments import _accuracy

    rows = [
        {"dataset": "d", "size": 1, "run": run, "method": method, "accuracy": accuracy}
        for method, accuracies in {"a": [0.5, None, 0.7], "b": [0.4, 0.6, 0.5]}.items()
        for run, accuracy in enumerate(accuracies)
    ]
    assert _accuracy.failures(rows, method="a") == 1
    assert _accuracy.mean(rows, method="a") == pytest.approx(0.6)
    assert _accuracy.gain(rows, "a", "b")[0] == pytest.approx(15)
    _, body = _accuracy.table(rows, ["d"], [1], ["a", "b"])
    assert body == [["d", "1", "3", "**60.0 ± 10.0 (1 failed)**", "50.0 ± 8.2"]]


@pytest.mark.slow
def test_more_runs_keep_the_cells_that_are_there_and_a_time_limit_loses_none(paper, tmp_path, monkeypatch):
    from bench.paper.experiments import _text

    timed, calls = _text._timed, []
    monkeypatch.setattr(_text, "_timed", lambda *a: calls.append(a) or timed(*a))
    changes = ["sizes=[30]", "n_words=40", "n_topics=3", "datasets=['rec']"]

    def go(*options):
        calls.clear()
        return performed(paper, tmp_path, "svmgb_3", *options, changes=changes), len(calls)

    assert go("--runs", "1") == (0, 3)
    first = table(tmp_path, "svmgb_3")
    assert go("--runs", "2", "--max-seconds", "-1") == (paper.command.UNFINISHED, 0)
    assert table(tmp_path, "svmgb_3") == first
    assert go("--runs", "2") == (0, 3)
    assert table(tmp_path, "svmgb_3")[:3] == first
    assert go("--runs", "2") == (0, 0)
    assert go("--runs", "1") == (0, 0)  # fewer runs leave the cells of the others alone
    assert go("--runs", "2") == (0, 0)
    page = tmp_path / "svmgb_3.md"
    page.unlink()
    assert go("--runs", "2", "--report") == (0, 0)
    assert page.exists()
    assert len(complete(tmp_path, "svmgb_3")["findings"]) == 2


@pytest.mark.slow
def test_objects_with_neighbours_on_the_manifold_as_features(paper, tmp_path):
    assert performed(paper, tmp_path, "svmgb_1", changes=["per_class=[4, 6]", "graphs=[2, 3]"]) == 0
    complete(tmp_path, "svmgb_1")
    rows = table(tmp_path, "svmgb_1")
    assert len(rows) == 2 * (2 + 2 * 3)
    assert all(float(r["lowest"]) <= float(r["accuracy"]) <= float(r["highest"]) for r in rows)
    assert {r["method"] for r in rows if not r["graph"]} == {"SVM", "RLSC"}
    neighbours = {
        (r["per_class"], r["graph"]): float(r["accuracy"]) for r in rows if r["method"] == "kNN geodesic"
    }
    assert max(neighbours.values()) > 0.9  # the curves are apart


def test_features_of_a_fold_do_not_know_its_labels(paper):
    from bench.paper.experiments import _coil

    train, _ = _coil.images().split(6)
    features = _coil.geodesic(2, train)
    data = _coil.images()
    other = data.y.copy()
    other[train[0]] = other[train[-1]]
    changed = _coil.Images(data.X, other, data.pose)
    _coil._geodesic.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_coil, "images", lambda: changed)
        again = _coil.geodesic(2, train)
    assert np.array_equal(features[train[0]], again[train[0]])  # its own label is not among its neighbours'
    assert not np.array_equal(features, again)


@pytest.mark.slow
def test_kernels_that_nobody_has_tuned(paper, tmp_path):
    assert performed(paper, tmp_path, "svmgb_2") == 0
    content = complete(tmp_path, "svmgb_2")
    assert len(table(tmp_path, "svmgb_2")) == 4 * 4
    assert [finding["claim"].split()[0] for finding in content["findings"]] == ["SVM-GB", "G-RLSC"]


@pytest.mark.slow
def test_digits(paper, tmp_path):
    assert performed(paper, tmp_path, "figure_4_1") == 0
    assert sum(int(r["training"]) for r in table(tmp_path, "figure_4_1")) == 1200
    assert not complete(tmp_path, "figure_4_1")["findings"][0]["reproduced"]  # these are fewer than MNIST's
    assert performed(paper, tmp_path, "figure_4_2", changes=["training=100", "n_sigmas=2"]) == 0
    complete(tmp_path, "figure_4_2")
    assert len(table(tmp_path, "figure_4_2")) == 9


@pytest.mark.slow
def test_machines_for_digits(paper, tmp_path):
    changes = ["training=400", "few=200", "many=400", "tune_rows=100", "centers=100"]
    assert performed(paper, tmp_path, "figure_4_3", changes=changes) == 0
    claims = complete(tmp_path, "figure_4_3")["findings"]
    assert [claim["reproduced"] for claim in claims[:2]] == [None, None]  # not the claim's training rows
    rows = {r["method"]: r for r in table(tmp_path, "figure_4_3")}
    assert float(rows["Gaussian SVM"]["accuracy"]) > 0.85
    assert (tmp_path / "figure_4_3_linear.png").exists()


@pytest.mark.slow
def test_networks_beside_machines(paper, tmp_path):
    changes = ["training=400", "tune_rows=60", "epochs=2"]
    assert performed(paper, tmp_path, "figure_4_5", changes=changes) == 0
    claims = complete(tmp_path, "figure_4_5")["findings"]
    assert any("contradicts itself" in claim["claim"] for claim in claims)
    assert all(claim["reproduced"] is None for claim in claims)  # with so few digits
    rows = {r["method"]: r for r in table(tmp_path, "figure_4_5")}
    assert len(rows) == 6
    assert float(rows["linear SVM, hinge loss, C = 1"]["accuracy"]) > 0.8
    assert "kernel__a" in rows["sigmoid SVM"]["chosen"]
    before = (tmp_path / "figure_4_5.csv").read_text(encoding="utf-8")
    fewer = [*changes, "methods=['Gaussian SVM']"]  # how many there are says nothing about a cell
    assert performed(paper, tmp_path, "figure_4_5", changes=fewer) == 0
    assert table(tmp_path, "figure_4_5")[0] == next(iter(rows.values()))
    assert before.startswith("method,")


@pytest.mark.slow
def test_choices_for_digits_are_made_without_the_test_digits(paper, tmp_path):
    from bench.paper.experiments import _digits

    test_images = _digits.digits()[2]
    test_images[:] = 0  # so that whoever looks at them sees nothing
    small = ["training=300", "held_out=300"]
    assert performed(paper, tmp_path, "figure_4_3_choice", changes=small) == 0
    rows = table(tmp_path, "figure_4_3_choice")
    assert len(rows) == 4 * 3
    assert min(float(row["accuracy"]) for row in rows) > 0.85
    changes = [*small, "sizes=[100]", "components=5", "sigma=5.0"]
    assert performed(paper, tmp_path, "figure_4_3_features", changes=changes) == 0
    rows = table(tmp_path, "figure_4_3_features")
    assert len(rows) == 5
    assert min(float(row["G-RLSC"]) for row in rows) > 0.7


def test_moved_digits_are_the_digits_elsewhere(paper):
    from bench.paper.experiments._digits import distorted, shifted

    images = np.zeros((2, 28, 28))
    images[:, 10:18, 12:16] = 1.0
    sides = shifted(images).reshape(4, 2, 28, 28)
    assert sides[0, 0, 18, 12] == sides[1, 1, 9, 12] == sides[2, 0, 10, 16] == sides[3, 1, 10, 11] == 1
    rng = np.random.default_rng(0)
    bent = distorted(images, rng)
    assert not np.allclose(bent[0], bent[1])  # each its own way
    assert np.abs(bent - images).max() > 0.1
    assert np.allclose(bent.sum(axis=(1, 2)), images.sum(axis=(1, 2)), rtol=0.4)
    assert np.allclose(distorted(images, rng, size=1e-6), images, atol=1e-4)


@pytest.mark.slow
def test_transfer_between_pairs_of_topics(paper, tmp_path, monkeypatch):
    from bench.prior import news

    names = ["sci.med", "sci.space", "sci.a", "sci.b", "rec.a", "rec.b", "talk.a", "talk.b"]
    texts, target = written(np.random.default_rng(0), len(names))
    made = news.News(texts, np.array(names)[target], np.arange(len(texts)) % 2 == 0)
    monkeypatch.setattr(news, "load", lambda: made)
    (tmp_path / "data" / "20newsgroups_bydate.jsonl.xz").touch()
    assert performed(paper, tmp_path, "prior_transfer", "--runs", "2", changes=["sizes=[10, 20]"]) == 0
    complete(tmp_path, "prior_transfer")
    (row,) = table(tmp_path, "prior_transfer")
    for n in (10, 20):
        gain = float(row[f"transfer_{n}"]) - float(row[f"plain_{n}"])
        assert gain == pytest.approx(float(row[f"gain_{n}"]))


def test_straightened_digits_stand_upright(paper):
    from bench.paper.experiments._digits import straightened

    slanted = np.zeros((1, 28, 28))
    for row in range(4, 24):
        slanted[0, row, 6 + row // 2 : 9 + row // 2] = 255
    upright = straightened(slanted)[0]
    rows, columns = np.mgrid[:28, :28]
    mass = upright.sum()
    y, x = (rows * upright).sum() / mass, (columns * upright).sum() / mass
    assert abs(y - 13.5) < 0.1
    assert abs(x - 13.5) < 0.1
    down = ((rows - y) ** 2 * upright).sum()
    assert abs(((rows - y) * (columns - x) * upright).sum()) < 0.05 * down
