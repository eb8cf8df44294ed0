"""The comparison of losses: its draws are what they are called, and its table counts what it says."""

import numpy as np
import pytest
from repository import ROOT, needs

pytestmark = needs("bench/compare")


@pytest.fixture(autouse=True)
def _bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_one_row_in_ten_is_spoilt_and_the_others_are_as_they_were():
    from bench.compare.losses import FUNCTIONS, KINDS, draw

    for function in FUNCTIONS:
        cases = [draw(function, kind, 4) for kind in KINDS]
        for kind, case in zip(KINDS, cases, strict=True):
            spoilt = case.spoilt != case.clean
            assert spoilt.sum() == len(case.X) // 10
            np.testing.assert_array_equal(case.clean, cases[0].clean)
            if kind == "one-sided":
                assert (case.spoilt >= case.clean).all()
            if kind == "region":
                assert case.X[spoilt, 0].max() <= np.quantile(case.X[:, 0], 0.34)


def test_the_table_has_the_ratios_of_the_errors():
    from bench.compare.losses import KINDS, Row, outlier_table

    rows = [
        Row("wave", kind, i, 100, 1.0, 5.0, 1.0, 1.0 + 0.44 * i, 1.0, 2.0) for kind in KINDS for i in (0, 1)
    ]
    lines = outlier_table(rows)
    assert "| wave | symmetric | 1.20 | 1.44 | 50 % | 2.00 | 5.0 | 1.20 |" in lines
    assert "| wave | 1.000 | 1.00 |" in lines


def test_the_choice_for_counts_is_compared_with_the_best():
    from bench.compare.counts import MODELS, Row, shares, table

    rows = shares(80, 1, 1.5, 0.0, 3)
    assert [row.criterion for row in rows] == list(MODELS)
    assert all(row.best == rows[0].best for row in rows)
    assert all(-1 < row.explained < 1 for row in rows)
    lines = table([Row(80, 1, 0.0, draw, "loo", 0.1 * draw, 0.15) for draw in range(3)])
    assert lines[-1] == "| 80 | 1 | 0 | loo | 0.100 | 0.00 | 0.150 | 33 % |"
