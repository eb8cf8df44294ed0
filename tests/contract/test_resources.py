"""Memory, threads and processes: nothing leaks, limits are obeyed, settings are put back."""

import ctypes
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import grls
import numpy as np
import pytest
from builders import fit_and_predict, regressor
from grls import _core
from grls.kernels import Gaussian, Laplace
from numpy.testing import assert_allclose
from repository import TESTS
from scipy.linalg import blas
from threadpoolctl import threadpool_info, threadpool_limits

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(400, 3))
Y = np.sin(3 * X[:, 0]) + X[:, 1]


def memory():
    """Bytes in use: of the process where the system tells, else of Python."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)  # what the C library keeps for later is no leak, and comes and goes in steps
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return tracemalloc.get_traced_memory()[0]


def growth(action, times):
    """How much memory `action` costs that is not given back, after a warm-up."""
    if sys.platform != "linux":
        tracemalloc.start()
    for _ in range(times // 2):
        action()
    before = memory()
    for _ in range(times):
        action()
    after = memory()
    if sys.platform != "linux":
        tracemalloc.stop()
    return after - before


def ten_thousand_fits():
    points, targets = X[:20], Y[:20]
    model = regressor(Gaussian(0.5), features=lambda X: X[:, :1])
    return growth(lambda: model.fit(points, targets), 10_000)


@pytest.mark.slow
def test_ten_thousand_fits_leave_no_memory_behind():
    """In a process of its own: what other tests left in the heap would come and go with it."""
    script = "import sys; sys.path[:0] = sys.argv[1:]; import test_resources; "
    script += "print(test_resources.ten_thousand_fits())"
    command = [sys.executable, "-c", script, str(TESTS), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2**21  # 210 bytes a fit


def support_vector_machines():
    points, labels = X[:40], Y[:40] > 0
    models = [
        grls.SVMGBClassifier(Gaussian(0.5), features="linear", solver=s, C=1.0) for s in ("native", "ipm")
    ]
    return growth(lambda: [model.fit(points, labels) for model in models], 2000)


@pytest.mark.slow
def test_support_vector_machines_leave_no_memory_behind():
    script = "import sys; sys.path[:0] = sys.argv[1:]; import test_resources; "
    script += "print(test_resources.support_vector_machines())"
    command = [sys.executable, "-c", script, str(TESTS), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2**20  # 260 bytes a fit


@pytest.mark.slow
def test_predictions_and_kernel_matrices_leave_no_memory_behind():
    model = regressor(Gaussian(0.5) + Laplace(1.0).on([0])).fit(X, Y)
    assert growth(lambda: (model.predict(X[:50]), model.kernel_(X[:50])), 2000) < 2**21


@pytest.mark.slow
def test_fits_that_fail_leave_no_memory_behind():
    twice = np.vstack([X[:100], X[:100]])

    def fail():
        with pytest.raises(grls.NotPositiveDefiniteError):
            regressor(Gaussian(0.5), regularization=0.0).fit(twice, np.tile(Y[:100], 2))

    assert growth(fail, 1000) < 2**22


@pytest.mark.slow
def test_a_large_fit_gives_its_matrix_back():
    points = RNG.uniform(size=(3000, 2))
    assert growth(lambda: regressor(Gaussian(0.1)).fit(points, points[:, 0]), 4) < 2**24


# Threads.


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_the_limit_of_threadpoolctl_is_obeyed():
    with threadpool_limits(1):
        assert grls.get_num_threads() == 1
        with threadpool_limits(2, user_api="blas"):
            assert grls.get_num_threads() == min(2, max(blas_threads()))
        assert grls.get_num_threads() == 1
    with threadpool_limits(1, user_api="blas"):
        assert grls.get_num_threads() == 1


def test_the_own_setting_goes_first_and_none_ends_it():
    with threadpool_limits(1):
        grls.set_num_threads(3)
        try:
            assert grls.get_num_threads() == 3
        finally:
            grls.set_num_threads(None)
        assert grls.get_num_threads() == 1


@pytest.mark.parametrize("limit", [1, 2])
def test_the_threads_of_the_blas_are_put_back_after_work_and_after_errors(limit):
    with threadpool_limits(limit):
        before = blas_threads()
        model = regressor(Gaussian(0.5)).fit(X, Y)
        assert blas_threads() == before
        model.predict(X)
        model.kernel_(X)
        assert blas_threads() == before
        with pytest.raises(grls.NotPositiveDefiniteError):
            regressor(Gaussian(0.5), regularization=0.0).fit(np.vstack([X, X]), np.tile(Y, 2))
        assert blas_threads() == before
        with pytest.raises(ValueError, match="coefficients"):
            _core.kernel_times(formula=model.kernel_.lower(3), a=X, b=X, c=np.ones((3, 1)))
        assert blas_threads() == before
        assert grls.get_num_threads() == _core.blas_threads() == limit


def test_the_blas_of_scipy_still_answers_right_after_fits():
    regressor(Gaussian(0.5)).fit(X, Y)
    assert_allclose(blas.dgemm(1.0, X.T, X), X.T @ X)


def test_more_threads_than_cores_and_than_work_are_harmless(threads):
    expected = regressor(Gaussian(0.5), features="linear").fit(X, Y).predict(X)
    grls.set_num_threads(64)
    assert_allclose(regressor(Gaussian(0.5), features="linear").fit(X, Y).predict(X), expected, atol=1e-9)
    assert regressor(Gaussian(0.5)).fit(X[:3], Y[:3]).predict(X[:1]).shape == (1,)


def test_python_threads_that_fit_at_the_same_time_get_their_own_answers():
    jobs = [(Gaussian(s), features) for s in (0.3, 0.6, 1.2) for features in ("constant", "linear")]
    expected = [regressor(k, features=f).fit(X, Y).predict(X) for k, f in jobs]
    before = blas_threads()
    answers: dict[int, list] = {i: [] for i in range(len(jobs))}
    errors = []
    start = threading.Barrier(len(jobs))

    def work(i):
        try:
            start.wait()
            for _ in range(10):
                kernel, features = jobs[i]
                answers[i].append(regressor(kernel, features=features).fit(X, Y).predict(X))
        except Exception as error:
            errors.append(error)

    team = [threading.Thread(target=work, args=(i,)) for i in range(len(jobs))]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert errors == []
    for i, wanted in enumerate(expected):
        assert len(answers[i]) == 10
        for got in answers[i]:
            assert_allclose(got, wanted, rtol=0, atol=1e-9)
    assert blas_threads() == before


def test_errors_in_one_python_thread_do_not_reach_another():
    expected = regressor(Gaussian(0.5)).fit(X, Y).predict(X)
    outcomes = {"good": [], "bad": []}

    def good():
        outcomes["good"] += [regressor(Gaussian(0.5)).fit(X, Y).predict(X) for _ in range(15)]

    def bad():
        for _ in range(15):
            try:
                regressor(Gaussian(0.5), regularization=0.0).fit(np.vstack([X, X]), np.tile(Y, 2))
            except grls.NotPositiveDefiniteError:
                outcomes["bad"].append(True)

    team = [threading.Thread(target=target) for target in (good, bad)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert len(outcomes["bad"]) == 15
    for got in outcomes["good"]:
        assert_allclose(got, expected, rtol=0, atol=1e-9)
    assert len(outcomes["good"]) == 15


# Processes.


@pytest.mark.parametrize("method", ["fork", "spawn"] if sys.platform == "linux" else ["spawn"])
def test_a_child_process_fits_after_its_parent_has_fitted(method):
    grls.set_num_threads(2)
    try:
        expected = regressor(Gaussian(0.5), features="linear").fit(X, Y).predict(X)
    finally:
        grls.set_num_threads(None)
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's warning about fork beside threads
        # A pool says where a child dies. What it runs is in a module that spawned children can import.
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            results = [each.result() for each in [pool.submit(fit_and_predict, X, Y) for _ in range(2)]]
    for predictions, labels in results:
        assert_allclose(predictions, expected, rtol=0, atol=1e-9)
        assert np.mean(labels == (Y > 0)) > 0.9


# Memory estimates.

ESTIMATES = {
    "solve_bytes": {"order": 500, "precision": "double"},
    "path_bytes": {"m": 500, "n_outputs": 1, "n_shifts": 50, "leave_one_out": True, "n_features": 1},
    "gradient_bytes": {"m": 500, "criterion": "loo", "n_columns": 3},
    "posterior_bytes": {"m": 500, "n_features": 3},
    "covariance_bytes": {"n_points": 500, "m": 300},
    "ridge_columns_bytes": {"n": 500, "d": 30, "n_outputs": 2},
    "ridge_path_bytes": {"n": 500, "d": 30, "n_outputs": 2, "n_shifts": 50},
    "svm_bytes": {"largest_pair": 500, "n_pairs": 3, "solver": "native", "cache_bytes": 1e6, "threads": 2},
    "centres_bytes": {"M": 500},
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_an_estimate_takes_any_size_and_refuses_what_is_none(name):
    estimate, good = getattr(_core, name), ESTIMATES[name]
    sizes = [key for key, value in good.items() if isinstance(value, int) and not isinstance(value, bool)]
    assert 0 < estimate(**good) < 1e8
    for key in sizes:
        assert estimate(**{**good, key: 0}) >= 0
        with pytest.raises(ValueError, match="must not be negative"):
            estimate(**{**good, key: -1})
        with pytest.raises(TypeError):
            estimate(**{**good, key: 2.5})
        with pytest.raises(TypeError):
            estimate(**{**good, key: 2**80})
        if key != "threads":
            assert np.isfinite(estimate(**{**good, key: 2**62}))
    squared = sizes[0]
    assert estimate(**{**good, squared: 2**62}) > 2.0**62


def test_pairs_are_counted_as_they_are_solved():
    def size(n_pairs, threads, **changes):
        arguments = {"largest_pair": 9000, "solver": "native", "cache_bytes": 1e8, **changes}
        return _core.svm_bytes(n_pairs=n_pairs, threads=threads, **arguments)

    alone = size(1, 1)
    assert alone >= 1e8
    assert size(1, 4) == size(3, 4) == size(10, 1) == alone  # one after the other
    assert size(4, 4) == size(45, 4) == 4 * alone  # a thread a pair
    assert size(1, 1, solver="ipm") == pytest.approx(8 * 9000**2, rel=0.1)
    # Up to 6000 samples the interior point method may finish what decomposition leaves.
    assert size(1, 1, largest_pair=6000, cache_bytes=0.0) == size(1, 1, largest_pair=6000, solver="ipm")
    assert size(1, 1, largest_pair=6001, cache_bytes=0.0) < 0.2 * 8 * 6001**2
    for wrong in ({"solver": "osqp"}, {"cache_bytes": -1.0}, {"cache_bytes": np.nan}):
        with pytest.raises(ValueError, match=r"solver|cache"):
            size(1, 1, **wrong)


PEAK = """
import sys
from pathlib import Path
import numpy as np
from grls import _core

rng = np.random.default_rng(0)
m, d, case = 1800, 300, sys.argv[1]
formula = _core.Formula([([], [1.0] * 4, [])], [("gaussian", 0, 3.0, 0.0, 0)])
X, y, T = rng.normal(size=(m, 4)), rng.normal(size=(m, 1)), np.ones((m, 1))
A, shifts = rng.normal(size=(20 * m, d)), np.geomspace(1e-3, 1e3, 20)
common = {"formula": formula, "Y": y, "T": T, "weights": None, "tolerance": 1e-12, "threads": 1}
posterior = _core.Posterior(formula=formula, data=X[:200].copy(), T=T[:200].copy(), weights=None, shift=1.0,
                            tolerance=1e-12, threads=1)
sizes = {"n_outputs": 1, "n_shifts": 20}
path = {"shifts": shifts, "relative": True}
calls = {
    "loo": (lambda: _core.path(data=X, leave_one_out=True, **path, **common),
            _core.path_bytes(m=m, leave_one_out=True, n_features=1, **sizes)),
    "gcv": (lambda: _core.path(data=X, leave_one_out=False, **path, **common),
            _core.path_bytes(m=m, leave_one_out=False, n_features=1, **sizes)),
    "gradient": (lambda: _core.gradient(data=X, shift=1.0, criterion="loo", groups=[], **common),
                 _core.gradient_bytes(m=m, criterion="loo", n_columns=0)),
    "posterior": (lambda: _core.Posterior(formula=formula, data=X, T=T, weights=None, shift=1.0,
                                          tolerance=1e-12, threads=1),
                  _core.posterior_bytes(m=m, n_features=1)),
    "covariance": (lambda: posterior.covariance(formula=formula, samples=X[:200].copy(), rows=X,
                                                T_new=T, threads=1),
                   _core.covariance_bytes(m=200, n_points=m)),
    "columns": (lambda: _core.ridge_path(rows=A, T=np.ones((20 * m, 1)), Y=A[:, :1].copy(), weights=None,
                                         dependence=1e-12, shifts=shifts, relative=True, threads=1),
                _core.ridge_path_bytes(n=20 * m, d=d, **sizes)),
}
call, estimate = calls[case]


def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


before = peak()
result = call()
print(peak() - before, estimate)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is measured as Linux tells it")
@pytest.mark.parametrize("case", ["loo", "gcv", "gradient", "posterior", "covariance", "columns"])
def test_the_estimate_is_near_the_peak(case):
    run = subprocess.run(
        [sys.executable, "-c", PEAK, case], capture_output=True, text=True, check=False, timeout=600
    )
    assert run.returncode == 0, run.stderr
    peak, estimate = map(float, run.stdout.split())
    assert 0.6 * estimate < peak < 1.15 * estimate + 8e6  # and what does not grow with the squares


PEAK_OF_PAIRS = """
import sys
from pathlib import Path
import numpy as np
from grls import SVMGBClassifier
from grls._solvers import memory
from grls.kernels import Gaussian


def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


n, each = int(sys.argv[1]), int(sys.argv[2])
y = np.repeat(np.arange(n), each)
X = np.random.default_rng(0).normal(size=(len(y), 4)) + y[:, None] % 7
model = SVMGBClassifier(Gaussian(2.0), C=1.0, solver=sys.argv[3], cache_size=20)
model.fit(X[::each // 4], y[::each // 4])
asked = []
memory.require = lambda size, *_: asked.append(size)
before = peak()
model.fit(X, y)
print(peak() - before, asked[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is measured as Linux tells it")
@pytest.mark.parametrize(
    ("n_classes", "each", "solver"),
    [(40, 40, "auto"), (2, 1300, "ipm"), (3, 1000, "native"), (3, 700, "auto")],
)
def test_what_a_fit_asks_for_is_near_its_peak(n_classes, each, solver):
    run = subprocess.run(
        [sys.executable, "-c", PEAK_OF_PAIRS, str(n_classes), str(each), solver],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "GRLS_NUM_THREADS": "2"},
    )
    assert run.returncode == 0, run.stderr
    peak, estimate = map(float, run.stdout.split())
    assert peak < 1.15 * estimate + 8e6  # and what does not grow with the samples
    if solver == "ipm":  # others set memory aside for what they may have to do
        assert peak > 0.5 * estimate


def test_ctrl_c_after_a_limit_was_set_and_before_its_block_begins_leaves_none_behind(monkeypatch):
    from grls._solvers import runtime

    limits = runtime._Limits()
    switches = limits._switches
    before = [switch.get() for switch in switches]
    set_all, calls = limits._set, []

    def interrupted_once(numbers):
        set_all(numbers)
        calls.append(numbers)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(limits, "_set", interrupted_once)
    with pytest.raises(KeyboardInterrupt), limits(1):
        pass
    assert limits._blocks == []
    assert [switch.get() for switch in switches] == before
    with limits(1), limits(2):
        assert limits._blocks == [[1], [2]]
    assert [switch.get() for switch in switches] == before
