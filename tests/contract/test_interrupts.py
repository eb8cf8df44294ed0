"""Ctrl-C within one task of the core: what cannot be split among threads looks up from its work too."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from grls import _core

RNG = np.random.default_rng(0)
ALL_COLUMNS = [([], [], [])]


class Enough(Exception):
    """It was interrupted so often that it may end."""


def looks(action, enough=6):
    """How often `action`, one call of the core, let Python hear a signal; it is stopped at `enough`.

    One comes every 20 ms: the more the longer the call takes, on a slow machine too. Two may be heard before
    the core begins and after it is done.
    """
    heard = []

    def hear(*_):
        heard.append(None)
        if len(heard) == enough:
            raise Enough

    before = signal.signal(signal.SIGALRM, hear)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        action()
    except Enough:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return len(heard)


def long_document():
    words = 5000
    topics = RNG.random((64, words))
    documents = (np.ceil(9 * RNG.random(words)), np.arange(words), np.array([0, words]), words)
    return lambda: _core.plsa_fold_in(
        documents=documents,
        topics=topics / topics.sum(axis=1, keepdims=True),
        start=np.full(64, 1 / 64),
        max_iterations=20_000,
        tolerance=-1.0,  # never reached
        threads=1,
    )


def wide(term, rows=250, columns=20_000):
    X = RNG.random((rows, columns))
    formula = _core.Formula(ALL_COLUMNS, [(term, 0, 1e4, 0.0, 0)])
    return lambda: _core.kernel_matrix(formula=formula, a=X, b=X, threads=1)


def long_sparse_rows(rows=250, columns=20_000):
    X = RNG.random((rows, columns))
    csr = (X.ravel(), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns, columns)
    formula = _core.Formula(ALL_COLUMNS, [("chi_squared", 0, 1e-3, 0.0, 0)])
    return lambda: _core.kernel_matrix(formula=formula, a=csr, b=csr, threads=1)


def free_rows(n=1500):
    Z = RNG.normal(size=(n, 2))
    K = 50 * _core.kernel_matrix(
        formula=_core.Formula(ALL_COLUMNS, [("gaussian", 0, 0.05, 0.0, 0)]), a=Z, b=Z
    )
    ones = np.ones((n, 1))
    given = {"lower": -0.1, "upper": 0.9, "c": np.zeros(n), "free": np.arange(n), "threads": 1}
    new = {"kernel_new": K[:1], "diagonal": np.array([50.0]), "T_new": ones[:1], "targets": np.array([0.9])}
    return lambda: _core.conformal_thresholds(kernel=K, T=ones, scores=np.abs(Z[:, 0]), **given, **new)


def solution_beside_many_features(m=2000, n_features=1200):
    formula = _core.Formula(ALL_COLUMNS, [("gaussian", 0, 1.0, 0.0, 0)])
    T = RNG.normal(size=(m, n_features))
    given = {"weights": None, "shift": 1.0, "formulation": "exact", "pivots": "qr", "tolerance": 1e-10}
    longest = []

    def solve():
        last = time.thread_time()

        def hear(*_):
            nonlocal last
            longest.append(time.thread_time() - last)
            last = time.thread_time()

        before = signal.signal(signal.SIGALRM, hear)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        try:
            _core.solve(formula=formula, data=T[:, :3].copy(), T=T, Y=T[:, :1], threads=1, **given)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return max(longest), sum(longest)

    return solve


def many_features(name, **given):
    T = RNG.normal(size=(2500, 700))
    return lambda: getattr(_core, name)(T=T, tolerance=1e-10, **given)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
@pytest.mark.parametrize(
    "case",
    [
        long_document,
        lambda: wide("laplace_l1"),
        long_sparse_rows,
        lambda: many_features("independent_columns"),
        lambda: many_features("null_space"),
        lambda: many_features("phi_prime", pivots="qr"),
        free_rows,
    ],
    ids=[
        *("a document", "columns", "entries"),
        *("independent columns", "null space", "pivots", "free rows"),
    ],
)
def test_one_long_task_can_be_interrupted(case):
    assert looks(case()) >= 6


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
def test_no_step_of_a_solution_beside_many_features_is_most_of_it():
    longest, whole = solution_beside_many_features()()
    assert longest < 0.12 * whole


@pytest.mark.parametrize("name", ["independent_columns", "null_space", "phi_prime"])
def test_other_threads_go_on_while_features_are_examined(name):
    given = {"pivots": "qr"} if name == "phi_prime" else {}
    T = RNG.normal(size=(2000, 250))
    steps, done = [], threading.Event()

    def others():
        while not done.is_set():
            steps.append(time.perf_counter())
            time.sleep(1e-3)

    thread = threading.Thread(target=others)
    thread.start()
    try:
        begun = time.perf_counter()
        getattr(_core, name)(T=T, tolerance=1e-10, **given)
        ended = time.perf_counter()
    finally:
        done.set()
        thread.join()
    during = [begun, *(step for step in steps if begun < step < ended), ended]
    assert max(np.diff(during)) < 0.7 * (ended - begun)  # all of it where they stand still


PEAK = """
from pathlib import Path
import numpy as np
from grls import _core

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

rng = np.random.default_rng(0)
CASE
"""

GRADIENTS = """
m, l = 6000, 100
T, Y = rng.normal(size=(m, l)), rng.normal(size=(m, 1))
formula = _core.Formula([([], [], [])], [("gaussian", 0, 1.0, 0.0, 0)])
told = _core.matrix_free_bytes(m=m, n_columns=1 + l, n_centres=20)
before = peak()
given = {"formula": formula, "data": rng.normal(size=(m, 2)), "weights": None, "dependence": 1e-10}
solver = _core.MatrixFree(T=T, n_centres=20, threads=1, **given)
solver.fit(Y=Y, shift=float(m), tolerance=0.5, max_iterations=1, threads=1)
print(told, peak() - before)
"""

ADDITIVE = """
m, d, workers = 600, 200, 4
X = rng.normal(size=(m, d))
steps = [("gaussian", j, 1.0, 0.0, 0) for j in range(d)] + [("sum", 0, 1.0, 0.0, 0)] * (d - 1)
formula = _core.Formula([([j], [], []) for j in range(d)], steps)
told = 8 * m * m + workers * (8 << 20)
before = peak()
_core.kernel_matrix(formula=formula, a=X, b=X, threads=workers)
print(told, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is measured as Linux tells it")
@pytest.mark.parametrize("case", [GRADIENTS, ADDITIVE], ids=["gradients", "additive kernel"])
def test_a_call_takes_no_more_memory_than_it_should(case):
    script = PEAK.replace("CASE", case)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    told, taken = map(float, done.stdout.split())
    assert taken < 1.2 * told + 2**24
