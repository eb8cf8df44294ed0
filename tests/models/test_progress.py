"""The time of each stage of a fit, and what a fit tells while it goes on."""

import io
import pickle
import re
import sys
import time
from contextlib import redirect_stdout
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
from builders import PROGRESS
from grls import (
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
)
from grls._models import progress
from grls._models.progress import Stages
from grls.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RNG.normal(size=150)
LABELS = Y > 0
BLOCKS = [(X[i : i + 50], Y[i : i + 50]) for i in range(0, 150, 50)]
SOLVER = {"basis", "gram", "assemble", "factor", "solve"}
ALWAYS = {"validate", "features", "other"}


def require_sum(model, *data):
    """Fit until the stages add up to it: a busy machine may stop between two clocks, but not every time."""
    missed = []
    for _ in range(10):
        before = time.perf_counter()
        model.fit(*data)
        took = time.perf_counter() - before
        missed.append(abs(sum(model.fit_seconds_.values()) - took) - 0.02 * took)
        if missed[-1] <= 5e-3:
            return
    raise AssertionError(f"the stages miss the fit by {missed} s")


@pytest.mark.parametrize(
    ("model", "stages"),
    [
        (GRLSRegressor(), {"kernel", "regularization", "uncertainty"} | SOLVER),
        (GRLSRegressor(Gaussian(1.0), optimize={"sigma": [1.0, 2.0]}), {"kernel", "regularization"} | SOLVER),
        (GRLSRegressor(Gaussian(1.0), optimize="metric"), {"kernel", "regularization"} | SOLVER),
        (GRLSRegressor("gaussian", solver="cg", regularization=1e-2), {"kernel", "precondition", "solve"}),
        (GRLSClassifier("gaussian"), {"kernel", "regularization"} | SOLVER),
        (GRLogisticClassifier(), {"kernel", "regularization", "solve", "leave one out"}),
        (GRLogisticClassifier("gaussian", regularization=1e-2), {"kernel", "solve"}),
        (GRRegressor(), {"kernel", "regularization", "solve"}),
        (GRRegressor("gaussian", loss="absolute", regularization=1e-2), {"kernel", "solve"}),
        (SVMGBClassifier(C=1.0), {"kernel", "solve"}),
        (SVMGBClassifier("gaussian", probability=True, C=1.0), {"kernel", "solve", "calibration"}),
        (PriorRLSRegressor(regularization="loo"), {"prior", "regularization", "solve"}),
        (PriorRLSClassifier(kernel="gaussian"), {"kernel", "prior", "solve"}),
        (NystromGRLSRegressor(n_centers=30), {"centers", "sums", "solve"}),
        (NystromGRLSClassifier(n_centers=30, solver="cg", regularization=1e-2), {"centers", "sums", "solve"}),
    ],
    ids=lambda value: "stages" if isinstance(value, set) else repr(value),
)
def test_the_stages_add_up_to_the_fit(model, stages):
    targets = LABELS if "Classifier" in type(model).__name__ else Y
    require_sum(model, X, targets)
    assert ALWAYS | stages <= set(model.fit_seconds_)
    assert min(model.fit_seconds_.values()) >= 0


def test_the_stages_of_blocks_add_up():
    model = NystromGRLSRegressor(n_centers=20)
    require_sum(model, BLOCKS)
    assert set(model.fit_seconds_) == {"centers", "sums", "solve", "other"}


def test_a_slow_step_is_seen_where_it_is(monkeypatch):
    def slow(rows):
        time.sleep(0.1)
        return np.ones((len(rows), 1))

    seconds = GRLSRegressor("gaussian", features=slow, regularization=1e-2).fit(X, Y).fit_seconds_
    assert seconds["features"] >= 0.1
    fit = GRLSRegressor._set_uncertainty
    monkeypatch.setattr(GRLSRegressor, "_set_uncertainty", lambda *given: (time.sleep(0.1), fit(*given)))
    seconds = GRLSRegressor("gaussian", regularization=1e-2).fit(X, Y).fit_seconds_
    assert seconds["uncertainty"] >= 0.1


def test_nothing_of_the_clock_is_left_behind():
    model = GRLSRegressor("gaussian").fit(X, Y)
    first = model.fit_seconds_
    assert "_stages" not in vars(model)
    assert pickle.loads(pickle.dumps(model)).fit_seconds_ == first
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), Y)
    assert "_stages" not in vars(model)
    assert model.fit_seconds_ is first


def test_parts_that_time_themselves_are_no_more_than_what_passed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("grls._models.progress.time.perf_counter", lambda: now[0])
    stages = Stages(0)
    now[0] = 4.0
    stages.done_in_parts({"gram": 2.0, "factor": 1.0})
    assert stages.seconds == {"gram": 2.0, "factor": 1.0, "other": 1.0}
    now[0] = 6.0
    stages.done_in_parts({"gram": 1.0, "factor": 3.0})
    assert stages.seconds == {"gram": 2.5, "factor": 2.5, "other": 1.0}
    now[0] = 7.0
    assert stages.total() == {"gram": 2.5, "factor": 2.5, "other": 2.0}


# Bars, where somebody watches.


class FakeBar:
    """What is used of tqdm."""

    made: ClassVar[list] = []

    def __init__(self, *, total, desc, file, dynamic_ncols):
        assert file is sys.stdout
        assert dynamic_ncols
        self.total, self.desc, self.n, self.closed, self.shown = total, desc, 0, False, []
        FakeBar.made.append(self)

    def update(self, n):
        assert not self.closed
        self.n += n

    def set_postfix_str(self, text, refresh):
        assert not refresh  # the update that follows does it
        self.shown.append(text)

    def close(self):
        self.closed = True

    @classmethod
    def write(cls, text, file):
        print("above the bar:", text, file=file)


@pytest.fixture
def tqdm(monkeypatch):
    """A tqdm that is installed; returns the bars that are made."""
    package, auto = ModuleType("tqdm"), ModuleType("tqdm.auto")
    package.auto, auto.tqdm = auto, FakeBar
    monkeypatch.setitem(sys.modules, "tqdm", package)
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    monkeypatch.setattr(FakeBar, "made", [])
    return FakeBar.made


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Somebody who watches; a function that returns what was printed."""
    monkeypatch.setattr(progress, "_is_watched", lambda: True)
    return lambda: capsys.readouterr().out


def over_a_grid(verbose=1):
    return GRLSRegressor("gaussian", optimize={"sigma": [0.5, 1.0, 2.0]}, verbose=verbose).fit(X, Y)


def test_a_grid_is_a_bar_on_a_terminal(tqdm, terminal):
    over_a_grid()
    (bar,) = tqdm
    assert bar.total == bar.n == 3
    assert bar.desc == "[grls] points of the grid"
    assert bar.closed
    assert all(re.fullmatch(r"reml \S+", text) for text in bar.shown)
    assert terminal() == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "out", [Terminal(), type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()]
)
def test_terminals_and_notebooks_are_watched(tqdm, out):
    with redirect_stdout(out):
        over_a_grid()
    assert [bar.n for bar in tqdm] == [3]
    assert out.getvalue() == ""


def test_a_log_has_lines_whether_tqdm_is_there_or_not(tqdm, capsys):
    over_a_grid()
    lines = capsys.readouterr().out.splitlines()
    assert tqdm == []
    assert len(lines) == 3
    assert all(re.match(PROGRESS + r"[123]/3: ", line) for line in lines)


def test_a_terminal_without_tqdm_has_lines(no_tqdm, terminal):
    over_a_grid()
    lines = terminal().splitlines()
    assert len(lines) == 3
    assert all(re.match(PROGRESS + r"[123]/3: ", line) for line in lines)


def test_a_fit_without_standard_output_goes_on(tqdm):
    with redirect_stdout(None):
        over_a_grid()
    assert tqdm == []


def test_a_silent_fit_looks_for_no_bar(terminal, monkeypatch):
    def never():
        raise AssertionError("tqdm is not needed")

    monkeypatch.setattr(progress, "_bars", never)
    over_a_grid(verbose=0)
    with pytest.raises(AssertionError, match="not needed"):
        over_a_grid(verbose=1)


@pytest.mark.parametrize(
    ("fit", "desc", "total"),
    [
        (lambda: NystromGRLSRegressor(n_centers=20, verbose=1).fit(BLOCKS), "blocks", 3),
        (
            lambda: GRLSRegressor("gaussian", optimize=True, n_restarts=2, random_state=0, verbose=1).fit(
                X, Y
            ),
            "starts",
            None,
        ),
        (
            lambda: GRLogisticClassifier("gaussian", regularization_grid=[1e-3, 1e-2], verbose=1).fit(
                X, LABELS
            ),
            "regularization",
            2,
        ),
    ],
)
def test_long_loops_are_bars(tqdm, terminal, fit, desc, total):
    fit()
    (bar,) = tqdm
    assert bar.desc == f"[grls] {desc}"
    assert bar.n == bar.total == (total or bar.total)
    assert bar.closed
    assert len(bar.shown) == bar.n > 1
    assert "above the bar" not in terminal()


def test_a_path_that_is_refined_ends_its_bar_and_goes_on_in_lines(tqdm, terminal):
    model = GRLogisticClassifier(Gaussian(1.0), verbose=1).fit(X, LABELS)
    (bar,) = tqdm
    lines = terminal().splitlines()
    assert bar.closed
    assert bar.n + len(lines) == len(model.regularization_path_)
    assert bar.total == 16
    assert all(re.match(PROGRESS + "regularization .*: leave-one-out log loss ", line) for line in lines)


def test_blocks_that_can_be_read_once_have_no_known_number(tqdm, terminal):
    NystromGRLSRegressor(n_centers=20, verbose=1).fit(iter(BLOCKS))
    assert tqdm == []
    assert "block 2: 150 rows so far" in terminal()


def test_a_single_step_is_no_bar(tqdm, terminal):
    NystromGRLSRegressor(n_centers=20, verbose=1).fit(X, Y)
    assert tqdm == []
    assert "block 0: 150 rows so far" in terminal()


def test_lines_within_a_bar_are_above_it(tqdm, terminal):
    stages = Stages(2)
    with stages.steps(2, "outer") as outer:
        with stages.steps(2, "inner") as inner:
            inner.done("inside")
        stages.report("closer", level=2)
        outer.done("outside", "short")
        outer.skip()
    stages.report("after")
    (bar,) = tqdm
    assert bar.n == 2
    assert bar.shown == ["short"]
    lines = terminal().splitlines()
    assert [line.startswith("above the bar: ") for line in lines] == [True, True, False]
    assert [line.rpartition("] ")[2] for line in lines] == ["inside", "closer", "after"]


def test_a_loop_that_fails_closes_its_bar(tqdm, terminal):
    stages = Stages(1)
    with pytest.raises(ZeroDivisionError), stages.steps(5, "steps"):
        _ = 1 / 0
    assert tqdm[0].closed
    stages.report("after")
    assert terminal().endswith("] after\n")


def test_the_real_bar_takes_what_it_is_given():
    pytest.importorskip("tqdm")
    with redirect_stdout(Terminal()) as out:
        GRLSRegressor("gaussian", optimize=True, n_restarts=2, verbose=2).fit(X, Y)
    assert "[grls] starts: 100%" in out.getvalue()
    assert re.search(PROGRESS + "start 1/3, evaluation", out.getvalue())
