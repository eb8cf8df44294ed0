"""Some seconds of each fuzzer, with fixed seeds; `python tests/fuzz/run.py` goes on for hours."""

import faulthandler
import os
import signal
import sys
import time

import grls
import numpy as np
import pytest

if sys.platform != "linux":  # before what only Linux has is imported
    pytest.skip("children are forked, and watched in /proc", allow_module_level=True)

from fuzz import bindings, certificates, every_file, extremes, interrupts, models
from fuzz.forked import fails, run_forked
from grls import _core


def require_nothing_found(fuzzer, seeds, batch):
    report = run_forked(fuzzer.run, seeds, batch=batch)
    told = [f"{finding.what}\n{fuzzer.describe(finding.seed)}" for finding in report.findings]
    assert not told, "\n\n".join(told)
    assert report.cases == len(seeds)
    return report


def test_arguments_at_random_are_answered_or_refused():
    report = require_nothing_found(bindings, range(2000), 500)
    assert set(report.outcomes) == {"answered", "answered as it was", "refused"}
    assert min(report.outcomes.values()) > 100


def test_every_function_of_the_core_is_called():
    names = {name for name in dir(_core) if not name.startswith("_")}
    results = {
        name for name in names if isinstance(getattr(_core, name), type) and name not in bindings.KINDS
    }
    assert names - results - bindings.NOT_CALLED <= bindings.covered()
    # Those that only the core makes hold what it gave; everything else has a call.
    assert {"Solution", "Path", "SvmSolution"} <= results


@pytest.mark.parametrize("kind", bindings.KINDS)
def test_the_calls_that_are_changed_are_right(kind):
    """Else nothing but the first check of an argument would be reached."""
    answered = 0
    for seed in range(12):
        try:
            _, function, arguments, _ = bindings.make(seed, keep=(), kind=kind)
            function(**arguments)
        except bindings.REFUSALS:
            continue
        answered += 1
    assert answered >= 4


def estimators():
    """Return all classes that users can fit."""
    public = {getattr(grls, name) for name in grls.__all__} | {grls.conformal.ConformalRegressor}
    return {thing for thing in public if hasattr(thing, "fit")}


def test_every_estimator_is_tampered_with():
    assert estimators() <= models.kinds()


def test_every_estimator_is_interrupted():
    kinds = {kind for make, _, _ in interrupts.FITS.values() for kind in type(make()).__mro__}
    assert estimators() <= kinds


def test_tampered_models_answer_with_numbers_or_refuse():
    report = require_nothing_found(models, range(300), 100)
    assert report.outcomes["answered"] > 50
    assert report.outcomes["refused"] > 50


def test_models_at_the_ends_of_floating_point_numbers_are_exact_or_refused():
    report = require_nothing_found(extremes, range(60), 60)
    assert report.outcomes["right"] > 40


@pytest.mark.parametrize(
    "seed",
    [
        2000156,
        2000394,
        2000546,
        2000978,
        2001175,
        2001357,
        2001426,
        2001525,
        2001940,
        6001391,
        6001722,
        6006098,
        6002910,
        6003823,
        6004636,
        6006768,
        6007747,
        6009774,
    ],
)
def test_extremes_that_were_wrong_are_right_or_told(seed):
    """Weights of any size, columns far from the origin, tiny regularization, centres that are left out."""
    assert extremes.run(seed) in ("right", "warned", "refused")


def test_machines_hold_what_they_claim():
    report = require_nothing_found(certificates, range(60), 60)
    assert report.outcomes["certified"] > 40


@pytest.mark.parametrize(
    "name",
    [
        name if name == "least squares" else pytest.param(name, marks=pytest.mark.slow)
        for name in interrupts.FITS
    ],
)
def test_ctrl_c_ends_a_fit_and_leaves_the_earlier_one(name):
    """The delay is printed and not judged: it is the machine's as well."""
    found = interrupts.in_a_child(name, 0.3)
    assert not isinstance(found, str), found
    print(f"{name}: {'done before' if found is None else f'{found:.3f} s'}")


@pytest.mark.slow
@pytest.mark.parametrize("problem", every_file.PROBLEMS, ids=lambda problem: problem.__name__)
@pytest.mark.filterwarnings("ignore")
def test_what_the_sanitizers_run_is_right(problem):
    problem()


# The watchman is watched.


def misbehaving(seed):
    if seed == 3:
        faulthandler.disable()  # pytest's, which would fill the log
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 5:
        raise RuntimeError("of no kind that a caller expects")
    if seed == 7:
        time.sleep(3600)
    return "answered"


def test_crashes_hangs_and_errors_are_seen_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr("fuzz.forked._HANGS", 0.05)
    report = run_forked(misbehaving, range(10))
    found = {finding.seed: finding.what for finding in report.findings}
    assert found.keys() == {3, 5, 7}
    assert found[3].startswith("signal 11")
    assert "of no kind that a caller expects" in found[5]
    assert found[7] == "hang"
    assert report.outcomes == {"answered": 7}
    assert report.cases == 10


def changes_of(seed):
    try:
        return len(bindings.make(seed)[3])
    except bindings.REFUSALS:  # of a formula that goes into the call
        return 0


def test_a_finding_is_shrunk_to_the_changes_that_matter(monkeypatch):
    seed = next(s for s in range(1000) if changes_of(s) == 3)
    guilty = bindings.make(seed)[3][1]

    def run(seed, keep=None):
        numbers = [0, 1, 2] if keep is None else keep
        if guilty[0] in numbers:
            raise RuntimeError("found")
        return "answered"

    monkeypatch.setattr(bindings, "run", run)
    text = bindings.shrink(seed, fails)
    assert text.count("  * ") == 1
    assert f"* {guilty[1]} =" in text


def test_exact_models_are_those_of_numpy_where_nothing_is_extreme():
    for seed in range(40):
        case = extremes.make(seed)
        if np.abs(case["X"]).max() > 10 or case["kernel"] == "linear" or case["gamma"] < 1e-5:
            continue
        X, y = case["X"], case["y"]
        got = [float(value) for value in extremes._exact(case, X, y, X)]
        w = np.ones(len(X)) if case["weights"] is None else case["weights"]
        distances = np.linalg.norm(X[:, None] - X[None], axis=2) / case["sigma"]
        K = np.exp(-(distances**2) / 2) if case["kernel"] == "gaussian" else np.exp(-distances)
        T = extremes._features(case["features"], X)
        if len(X) <= T.shape[1] or w.max() / w.min() > 1e3:
            continue
        A = np.block([[K + case["gamma"] * w.sum() * np.diag(1 / w), T], [T.T, np.zeros((T.shape[1],) * 2)]])
        solution = np.linalg.solve(A, np.r_[y, np.zeros(T.shape[1])])
        np.testing.assert_allclose(got, np.c_[K, T] @ solution, rtol=1e-6, atol=1e-6 * np.abs(y).max())
