"""What a fit of many rows takes: memory, and Ctrl-C at any time."""

import os
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from grls import FourierGRLSRegressor
from grls._fourier import plan, system
from grls._solvers import memory
from grls.kernels import Gaussian

pytest.importorskip("finufft")

PEAK = """
import resource, sys
import numpy as np
from grls import FourierGRLSRegressor
from grls.kernels import Gaussian

m, regularization = int(sys.argv[1]), sys.argv[2]
regularization = regularization if regularization.isalpha() else float(regularization)
rng = np.random.default_rng(0)
X, y = np.empty((m, 2)), np.empty(m)
for i in range(0, m, 50_000):  # so that no array of the data's size comes and goes before
    part = slice(i, i + 50_000)
    X[part] = rng.random(X[part].shape)
    y[part] = X[part, 0] + rng.standard_normal(len(y[part]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
FourierGRLSRegressor(Gaussian(0.5), features="linear", regularization=regularization, tol=1e-2).fit(X, y)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="units of ru_maxrss")
@pytest.mark.parametrize("regularization", ["1e-6", "gcv"])
def test_memory_grows_by_the_features_and_not_by_copies_of_the_rows(regularization):
    """Beyond a slice of 2**20 rows, three features are 24 bytes a row, and X with y 24 more."""

    def peak(m):
        command = [sys.executable, "-c", PEAK, str(m), regularization]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    few, many = 1_500_000, 4_500_000
    growth = (peak(many) - peak(few)) / (many - few)
    print(f"{growth:.1f} bytes a row")
    assert growth < 24 + 24


@pytest.mark.parametrize("low", [10, 1000], ids=["grids", "low block"])
@pytest.mark.parametrize(("d", "width"), [(2, 0.02), (3, 0.2)])
def test_what_is_asked_for_is_what_the_arrays_over_modes_take(d, width, low, monkeypatch):
    monkeypatch.setattr(plan, "LOW_MODES", low)
    monkeypatch.setattr(system, "LOW_MODES", low)
    rng = np.random.default_rng(0)
    X, asked = rng.random((30, d)), []
    monkeypatch.setattr(memory, "require", lambda size, *told: asked.append(size))
    model = FourierGRLSRegressor(Gaussian(width), regularization=1e-2, tol=1e-3)
    model.fit(X, X[:, 0])  # what is imported late is not counted
    tracemalloc.start()
    model.fit(X, X[:, 0])
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken / 1.5 < max(asked) < 3 * taken


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from grls import FourierGRLSRegressor
from grls.kernels import Matern

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.random((400_000, 2))
y = X.sum(axis=1) + np.sin(9 * X[:, 0]) + 0.3 * rng.standard_normal(len(X))
model = FourierGRLSRegressor(Matern(0.3), regularization=1e-3, tol=1e-2).fit(X[:500], y[:500])
model.set_params(kernel=Matern(0.1), regularization="reml", optimize=True, tol=1e-3)
delays = []
for after in map(float, sys.argv[1:]):
    before, sent = vars(model).copy(), []
    send = lambda: sent.append(time.monotonic()) or os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(after, send)
    timer.start()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        delays.append(time.monotonic() - sent[0])
    else:
        timer.cancel()
        print("finished")
    timer.join()
    assert vars(model).keys() == before.keys() and all(vars(model)[name] is before[name] for name in before)
print(max(delays))
model.set_params(regularization=1e-3, optimize=None).fit(X[:2000], y[:2000])
print(model.score(X[:2000], y[:2000]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_a_fit_at_any_stage_and_leaves_the_model_as_it_was():
    """In the sums, the sample's kernel and the choice, which take longer together than these delays."""
    command = [sys.executable, "-c", INTERRUPTED, "0.1", "0.4", "0.8", "1.6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    delay, score = map(float, done.stdout.splitlines())  # "finished" is no number
    print(f"delay {delay:.2f} s")
    assert delay < 30  # far below what is left of the fit on a slow machine
    assert score > 0.8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python's, of a fork beside threads
def test_a_forked_child_fits_and_predicts_after_its_parent():
    """The threads of the transforms are not forked: a child that waited for them would wait for ever."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    y = np.sin(5 * X[:, 0])
    model = FourierGRLSRegressor(Gaussian(0.5), regularization=1e-3).fit(X, y)
    expected = model.predict(X)
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        try:
            before = np.abs(model.predict(X) - expected).max()
            after = np.abs(model.fit(X, y).predict(X) - expected).max()
            os._exit(0 if max(before, after) < 1e-9 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
