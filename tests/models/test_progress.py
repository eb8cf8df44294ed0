"""The time of each stage of a fit, and what a fit tells while it goes on."""

import pickle
import time

import numpy as np
import pytest
from grls import (
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    NystromGRLSClassifier,
    NystromGRLSRegressor,
    PriorRLSClassifier,
    PriorRLSRegressor,
    SVMGBClassifier,
)
from grls._models.progress import Stages
from grls.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RNG.normal(size=150)
LABELS = Y > 0
BLOCKS = [(X[i : i + 50], Y[i : i + 50]) for i in range(0, 150, 50)]
SOLVER = {"basis", "gram", "assemble", "factor", "solve"}
ALWAYS = {"validate", "features", "other"}


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
        (SVMGBClassifier(), {"kernel", "solve"}),
        (SVMGBClassifier("gaussian", probability=True), {"kernel", "solve", "calibration"}),
        (PriorRLSRegressor(regularization="loo"), {"prior", "regularization", "solve"}),
        (PriorRLSClassifier(kernel="gaussian"), {"kernel", "prior", "solve"}),
        (NystromGRLSRegressor(n_centers=30), {"centers", "sums", "solve"}),
        (NystromGRLSClassifier(n_centers=30, solver="cg", regularization=1e-2), {"centers", "sums", "solve"}),
    ],
    ids=repr,
)
def test_the_stages_add_up_to_the_fit(model, stages):
    targets = LABELS if "Classifier" in type(model).__name__ else Y
    before = time.perf_counter()
    model.fit(X, targets)
    took = time.perf_counter() - before
    seconds = model.fit_seconds_
    assert ALWAYS | stages <= set(seconds)
    assert min(seconds.values()) >= 0
    assert abs(sum(seconds.values()) - took) <= 0.02 * took + 5e-3


def test_the_stages_of_blocks_add_up():
    before = time.perf_counter()
    model = NystromGRLSRegressor(n_centers=20).fit(BLOCKS)
    took = time.perf_counter() - before
    assert set(model.fit_seconds_) == {"centers", "sums", "solve", "other"}
    assert abs(sum(model.fit_seconds_.values()) - took) <= 0.02 * took + 5e-3


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
