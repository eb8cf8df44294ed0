"""A run of seconds of the prior's benchmarks on artificial data; nobody looks at the times."""

import sys

import numpy as np
import pytest
from repository import ROOT, needs

pytestmark = needs("bench/prior")


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.prior import news, sparse, transfer

    yield news, sparse, transfer
    for name in [name for name in sys.modules if name.split(".")[0] == "bench"]:
        del sys.modules[name]


def test_the_residual_is_no_worse_than_the_peers(bench):
    news, sparse, _ = bench
    X, labels = news.artificial(300, 1000, 4)
    found = sparse.compare(X, labels, 1.0, 1e-4, 1)
    assert found["grls"][1] <= max(found["RidgeClassifier(sparse_cg)"][1], 1e-4)


def test_transfer_is_measured_for_every_pair_and_size(bench, tmp_path):
    news, _, transfer = bench
    X, numbers = news.artificial(600, 300, 6)
    labels = np.array([f"rec.{number}" for number in numbers])
    train = np.arange(600) % 2 == 0
    results = list(transfer.run(X, labels, train, "presence", [("rec.0", "rec.1")], (10, 20), seeds=2))
    assert [r.examples for r in results] == [10, 20]
    assert all(0.4 < r.plain <= 1 and 0.4 < r.transfer <= 1 for r in results)
    transfer.write(results, tmp_path, transfer.facts(ROOT))
    assert {path.name for path in tmp_path.iterdir()} == {"transfer.csv", "transfer.md", "transfer.png"}


def test_reference_pairs_are_disjoint_and_leave_the_main_pair_alone(bench):
    _, _, transfer = bench
    groups = ["rec.a", "rec.b", "rec.c", "sci.a", "sci.b", "sci.c", "sci.d", "alt.atheism", "soc.religion.x"]
    pairs = transfer.references(groups, ("sci.a", "sci.b"))
    used = [g for pair in pairs for g in pair]
    assert len(used) == len(set(used)) == 6
    assert not {"sci.a", "sci.b"} & set(used)
