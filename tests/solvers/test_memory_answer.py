"""What is free is asked for once by a small fit, and again as time goes on."""

import numpy as np
from grls import GRLSRegressor
from grls._solvers import memory
from grls.kernels import Gaussian


def _counted(monkeypatch):
    asked = []
    real = memory._system_free
    monkeypatch.setattr(memory, "_system_free", lambda: asked.append(1) or real())
    monkeypatch.setattr(memory, "_answer", (-1.0, None))
    return asked


def test_a_small_fit_reads_the_systems_memory_once(monkeypatch):
    monkeypatch.setattr(memory, "_GOOD_FOR", 60.0)
    asked = _counted(monkeypatch)
    x = np.linspace(0, 1, 20)[:, None]
    GRLSRegressor(Gaussian(1.0), regularization=0.1).fit(x, x[:, 0])
    assert len(asked) == 1


def test_an_answer_of_some_time_ago_is_not_taken(monkeypatch):
    asked = _counted(monkeypatch)
    clock = [100.0]
    monkeypatch.setattr(memory.time, "monotonic", lambda: clock[0])
    for seconds, times in ((0.0, 1), (0.001, 1), (0.1, 2), (-1.0, 3)):
        clock[0] += seconds
        assert memory.available() is not None
        assert len(asked) == times
