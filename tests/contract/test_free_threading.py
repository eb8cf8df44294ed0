"""The core declares that it needs no global lock; threads that run at once get the answers of one alone."""

import subprocess
import sys
import sysconfig
import threading

import grls
import numpy as np
import pytest
from grls.kernels import Gaussian, Laplace, Linear
from numpy.testing import assert_allclose
from repository import ROOT, needs

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(80, 3)), RNG.normal(size=(30, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RNG.normal(size=80)
LABELS = np.digitize(Y, [-0.5, 0.5])
THREADS = 8

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
    for shift in range(0, len(names), 2):
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


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_importing_leaves_the_global_lock_off():
    program = "import sys, grls; print(sys._is_gil_enabled())"
    found = subprocess.run([sys.executable, "-X", "gil=0", "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "False", found.stderr


@needs("cpp")
def test_the_core_declares_that_it_needs_no_global_lock():
    assert "py::mod_gil_not_used()" in (ROOT / "cpp/bindings/module.cpp").read_text(encoding="utf-8")
