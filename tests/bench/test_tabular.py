"""The comparison on tables of numbers: it runs, goes on from what is stored, and counts what it says."""

import numpy as np
import pytest
from repository import ROOT, needs

pytestmark = needs("bench/compare")

METHODS = ["grls", "grls, Gaussian of the median width"]


@pytest.fixture(autouse=True)
def _bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_a_small_comparison_is_reported_and_goes_on(tmp_path, capsys):
    from bench.compare.tabular.__main__ import Result, main, stored

    options = ["--made-up", "--out", str(tmp_path), "--methods", *METHODS]
    main([*options, "--seeds", "1"])
    first = stored(tmp_path / "results_1000.csv")
    assert [result.method for result in first] == METHODS
    assert all(isinstance(result, Result) and 0 < result.error < 2 for result in first)
    assert all(np.isfinite(result.nlpd) and 0 <= result.coverage <= 1 for result in first)
    main([*options, "--seeds", "2"])
    both = stored(tmp_path / "results_1000.csv")
    assert both[:2] == first
    assert len(both) == 4
    report = (tmp_path / "report_1000.md").read_text()
    assert "mean rank" in report
    assert "python -m bench.compare.tabular --rows 1000 --seeds 2" in report
    assert (tmp_path / "report_1000.svg").exists()
    assert capsys.readouterr().out.count("linear") == 4


def test_ranks_and_shares_are_those_of_the_table():
    from bench.compare.tabular.report import mean_ranks, shares

    errors = {("a", 10): {"grls": 1.0, "peer": 2.0}, ("b", 10): {"grls": 1.02, "peer": 1.0}}
    seconds = {("a", 10): {"grls": 1.0, "peer": 4.0}, ("b", 10): {"grls": 1.0, "peer": 2.0}}
    assert mean_ranks(errors, ["grls", "peer"]) == {"grls": 1.5, "peer": 1.5}
    assert shares(errors, seconds, "peer") == (1, 2, 3.0)
