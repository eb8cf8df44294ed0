"""The core declares that it needs no global lock; threads that run at once get the answers of one alone."""

import os
import subprocess
import sys
import sysconfig
import threading
import time
import warnings

import grls
import numpy as np
import pytest
from grls import _core
from grls._solvers.blas import switches
from grls._solvers.runtime import blas_limited, single_threaded
from grls._warnings import filtered, muted, warn
from grls.conformal import ConformalRegressor
from grls.kernels import Function, Gaussian, Laplace, Linear, Matern
from numpy.testing import assert_allclose
from repository import ROOT, TESTS, needs
from sklearn.linear_model import LinearRegression

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(80, 3)), RNG.normal(size=(30, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RNG.normal(size=80)
LABELS = np.digitize(Y, [-0.5, 0.5])
THREADS = 8

GRAM = grls.GRLSRegressor(Gaussian(1.0), regularization=0.1)
SHARED = Gaussian(1.0)  # one object for all models and threads
BY_CALLS = Function(lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / 2))
MODELS = {
    "least squares": lambda: grls.GRLSRegressor(Gaussian(1.0) + Linear(), regularization="loo").fit(X, Y),
    "classes": lambda: grls.GRLSClassifier(Laplace(1.0), features="linear", regularization=0.1).fit(
        X, LABELS
    ),
    "machine": lambda: grls.SVMGBClassifier(Gaussian(1.0), C=1.0).fit(X, LABELS),
    "logistic": lambda: grls.GRLogisticClassifier(Gaussian(1.0), regularization=0.1).fit(X, LABELS),
    "quantiles": lambda: grls.GRRegressor(Gaussian(1.0), loss="quantile", regularization=0.1).fit(X, Y),
    "centres": lambda: grls.NystromGRLSRegressor(Gaussian(1.0), n_centers=20, regularization=0.1).fit(X, Y),
    "prior": lambda: grls.PriorRLSRegressor(regularization="loo").fit(X, Y),
    "components": lambda: grls.KernelPCA(3, Gaussian(1.0)).fit(X),
    "no matrix": lambda: grls.GRLSRegressor(SHARED, regularization=0.1, solver="cg", tol=1e-12).fit(X, Y),
    "calls": lambda: grls.GRLSRegressor(BY_CALLS, features="linear", regularization=0.1).fit(X, Y),
    "tables": lambda: grls.GRLSRegressor(Matern(1.0, nu=0.8), regularization="reml").fit(X, Y),
    "widths": lambda: grls.GRLSRegressor(SHARED, regularization="reml", optimize=["sigma"]).fit(X, Y),
    "noise": lambda: grls.GRLSRegressor(SHARED, noise="learn").fit(X, Y),
    "folds": lambda: grls.SVMGBClassifier(SHARED, C="cv").fit(X, Y > 0),
    "margins": lambda: grls.SVMGBClassifier(Gaussian(0.3), C=np.inf).fit(X, Y > 0),
    "robust": lambda: grls.GRRegressor(SHARED, loss="huber", regularization=0.1).fit(X, Y),
    "counts": lambda: grls.GRRegressor(SHARED, loss="poisson", regularization=0.1).fit(X, LABELS),
    "counts on centres": lambda: grls.NystromGRRegressor(
        SHARED, loss="poisson", n_centers=20, regularization=0.1
    ).fit(X, LABELS),
    "classes on centres": lambda: grls.NystromGRLSClassifier(SHARED, n_centers=20, regularization=0.1).fit(
        X, LABELS
    ),
    "classes by a prior": lambda: grls.PriorRLSClassifier(regularization=0.1).fit(X, LABELS),
    "novelties": lambda: grls.OneClassSVMGB(SHARED, nu=0.2).fit(X),
    "bands": lambda: ConformalRegressor(LinearRegression(), random_state=0).fit(X, Y),
}


def answers(model):
    if hasattr(model, "transform"):
        return np.abs(model.transform(NEW))  # up to signs
    return np.asarray(getattr(model, "decision_function", model.predict)(NEW))


def at_once(work):
    """Return what `work(number)` gives in threads that start together and change places all the time."""
    found, errors, start = [None] * THREADS, [], threading.Barrier(THREADS)

    def run(number):
        start.wait()
        try:
            found[number] = work(number)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors, errors
    return found


def test_models_of_all_kinds_fitted_at_once_are_those_fitted_alone():
    alone = {name: answers(make()) for name, make in MODELS.items()}
    names = list(MODELS)
    for shift in range(0, len(names), THREADS // 2):
        mine = [names[(number + shift) % len(names)] for number in range(THREADS)]
        found = at_once(lambda number, mine=mine: answers(MODELS[mine[number]]()))
        for name, got in zip(mine, found, strict=True):
            assert_allclose(got, alone[name], rtol=1e-9, atol=1e-9)


def test_a_model_that_many_ask_at_once_answers_all():
    """Also what is worked out when it is asked for the first time, and kept."""
    model = MODELS["least squares"]()
    expected = model.predict(NEW, return_std=True), model.decompose(NEW), model.summary().to_frame()
    fresh = MODELS["least squares"]()

    def ask(number):
        if number % 3 == 0:
            return fresh.predict(NEW, return_std=True)
        return fresh.decompose(NEW) if number % 3 == 1 else fresh.summary().to_frame()

    for number, got in enumerate(at_once(ask)):
        if number % 3 == 0:
            assert_allclose(got, expected[0], rtol=1e-9, atol=1e-12)
        elif number % 3 == 2:
            assert got.equals(expected[2])


def in_turns(first, second):
    """Two blocks in threads of their own: the one that begins first ends first."""
    steps = [threading.Event() for _ in range(3)]

    def earlier():
        with first():
            steps[0].set()
            steps[1].wait()
        steps[2].set()

    def later():
        steps[0].wait()
        with second():
            steps[1].set()
            steps[2].wait()

    threads = [threading.Thread(target=run) for run in (earlier, later)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def blas_threads():
    return [switch.get() for switch in switches()]


@pytest.fixture
def three():
    """The BLAS libraries have three threads, whatever the machine has."""
    before = blas_threads()
    if not before:
        pytest.skip("no BLAS library whose threads can be set")
    for switch in switches():
        switch.set(3)
    yield
    for switch, number in zip(switches(), before, strict=True):
        switch.set(number)


@pytest.mark.parametrize("second", ["small", "large", "core"])
@pytest.mark.parametrize("first", ["small", "large", "core"])
def test_blocks_that_end_in_any_order_give_blas_its_threads_back(three, first, second):
    blocks = {"small": lambda: blas_limited(0), "large": lambda: blas_limited(5000), "core": single_threaded}
    in_turns(blocks[first], blocks[second])
    assert set(blas_threads()) == {3}
    assert grls.get_num_threads() == 3


def test_the_block_that_began_last_limits_blas(three):
    with blas_limited(0):
        assert set(blas_threads()) == {1}
        assert grls.get_num_threads() == 3  # of the core
        with blas_limited(5000):
            assert set(blas_threads()) == {3}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}


def test_threads_that_mute_warnings_in_turns_leave_the_filters_as_they_were():
    before = list(warnings.filters)
    in_turns(muted, muted)
    in_turns(muted, lambda: muted(RuntimeWarning))
    assert warnings.filters == before


def test_threads_that_filter_warnings_at_once_leave_the_filters_as_they_were():
    before = list(warnings.filters)

    def work(number):
        for _ in range(20):
            with filtered(RuntimeWarning):
                time.sleep(0)

    at_once(work)
    assert warnings.filters == before


def test_what_one_thread_mutes_another_hears():
    begun, done = threading.Event(), threading.Event()

    def mute():
        with muted():
            warn("unheard", RuntimeWarning)
            begun.set()
            done.wait()

    thread = threading.Thread(target=mute)
    thread.start()
    begun.wait()
    try:
        with pytest.raises(RuntimeWarning, match=r"^heard$"):  # as the filters of the tests have it
            warn("heard", RuntimeWarning)
    finally:
        done.set()
        thread.join()


def test_fits_at_once_leave_the_filters_and_the_threads_of_blas_as_they_were(three):
    def found():  # scikit-learn's own checks make errors of some warnings, and threads may leave that behind
        return [one for one in warnings.filters if one[0] == "ignore"], blas_threads()

    before = found()
    at_once(lambda number: MODELS[("noise", "margins", "folds", "logistic")[number % 4]]())
    assert found() == before


def test_shifts_that_threads_ask_for_at_once_have_their_own_factors():
    pytest.importorskip("finufft")
    system = grls.FourierGRLSRegressor(Gaussian(1.0), tol=0.1, regularization=0.1).fit(X[:, :1], Y)._system()
    z = np.ones((1, 2 * len(system.root)))
    expected = [system.precondition(z, 1.0 + number) for number in range(THREADS)]

    def ask(number):
        return [system.precondition(z, 1.0 + number) for _ in range(100)]

    for found, alone in zip(at_once(ask), expected, strict=True):
        for one in found:
            assert_allclose(one, alone, rtol=1e-12)


def in_child(work):
    """What a forked child says of the threads of BLAS after `work`; `work` may say it itself."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's warning about fork beside threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, repr([work(), blas_threads()]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_does_not_hold_what_threads_of_its_parent_held(three):
    held, done = threading.Event(), threading.Event()

    def hold():
        with single_threaded():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    count, answers = len(blas_threads()), []
    try:
        assert 1 in blas_threads()  # the core's own; other libraries are none of its business
        answers.append(in_child(grls.get_num_threads))
        answers.append(in_child(lambda: GRAM.fit(X, Y).predict(X[:1]).shape))
        with single_threaded():
            block = in_child(lambda: 0)
    finally:
        done.set()
        thread.join()
    assert answers == [repr([3, [3] * count]), repr([(1,), [3] * count])]
    assert "1" in block  # the one thread that the child has holds it still
    assert set(blas_threads()) == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_gives_back_what_its_own_thread_held(three):
    block = single_threaded()
    with block:
        said = in_child(lambda: block.__exit__(None, None, None))
    assert said == repr([None, [3] * len(blas_threads())])


END = """
import threading, time
import numpy as np
from grls import _core

formula = _core.Formula([([], [], [])], [("gaussian", 0, 3.0, 0.0, 0)])
random = np.random.default_rng(0)
small, large = random.normal(size=(20, 3)), random.normal(size=(20000, 300))
begun = threading.Event()

def multiply(V, digits):
    begun.set()
    return 2 * V

def precondition(V):
    return 1 * V

def calls():
    _core.kernel_times(formula=formula, a=small, b=small, c=np.ones((20, 1)))
    begun.set()

def polls():
    begun.set()
    _core.kernel_times(formula=formula, a=large, b=large, c=np.ones((20000, 1)), threads={threads})

def callbacks():
    _core.conjugate_gradients(multiply=multiply, precondition=precondition, B=np.ones((5, 1)), tolerance=1e-9,
                              max_iterations=9)

def reports():
    B = np.ones((5, 1))
    _core.conjugate_gradients(multiply=multiply, precondition=precondition, B=B, tolerance=1e-9,
                              max_iterations=9, report=lambda *step: sum(range(1000)))

def work():
    while True:
        {work}()

threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("work", ["calls", "polls", "callbacks", "reports"])
def test_a_process_ends_well_while_threads_are_in_the_core(work, threads):
    """Whom Python does not wait for asks in vain for the global lock, and for BLAS, which is closing."""
    program = END.format(work=work, threads=threads)
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_the_core_copies_no_reference_to_a_listener():
    """Which it would count without the global lock, while other threads count theirs."""
    points, found = np.linspace(0, 1, 40)[:, None], {}
    solver = _core.MatrixFree(
        formula=Gaussian(0.3).lower(1), data=points, T=np.ones((40, 1)), weights=None, dependence=1e-10
    )
    settings = {"shift": 1e-3, "tolerance": 1e-3, "max_iterations": 5}

    def heard(name):
        def listener(*step):
            found.setdefault(name, set()).add(sys.getrefcount(listener))

        return listener

    solver.solve(B=points, report=heard("solve"), **settings)
    solver.fit(Y=points, report=heard("fit"), **settings)
    assert found["fit"] == found["solve"], found
    assert len(found["fit"]) == 1


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_importing_and_fitting_leave_the_global_lock_off():
    """In a process of its own, without ``-X gil=0``, which would keep the lock off whoever asks for it."""
    folders = [str(TESTS), str(TESTS / "contract")]
    program = f"""
import sys, grls
print(sys._is_gil_enabled())
sys.path[:0] = {folders!r}
from test_free_threading import MODELS, answers
for name, make in MODELS.items():
    answers(make())
    if sys._is_gil_enabled():
        print(name)
print(sys._is_gil_enabled())
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert found.stdout.split() == ["False", "False"], found.stdout + found.stderr


@needs("cpp")
def test_the_core_declares_that_it_needs_no_global_lock():
    assert "py::mod_gil_not_used()" in (ROOT / "cpp/bindings/module.cpp").read_text(encoding="utf-8")
