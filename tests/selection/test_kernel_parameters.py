"""Kernel parameters chosen from the data: gradients, optima, grids."""

import itertools
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import reference
from builders import PROGRESS, with_threads
from catalogue import TUNABLE, WIDTHS
from grls import GRLSClassifier, GRLSRegressor, NotPositiveDefiniteError, _core
from grls._selection.descent import Objective
from grls._selection.parameters import Parameters
from grls._selection.regularization import select
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import (
    Gaussian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polynomial,
    ThinPlate,
)
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as PeerMatern


def data(m=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 1, size=(m, d))
    y = np.stack([np.sin(4 * X).sum(axis=1), X[:, 0] ** 2], axis=1) + 0.1 * rng.normal(size=(m, 2))
    return X, y, rng.uniform(0.5, 2, size=m)


def objective(kernel, names, criterion, X, y, weights=None, form=np.asarray, features="linear"):
    T = np.empty((len(X), 0)) if features is None else np.column_stack([np.ones(len(X)), X])
    problem = KernelProblem(kernel.resolve(X), form(X), T, weights)
    return Objective(Parameters(problem.kernel, names, X.shape[1]), problem, y, criterion), problem


@pytest.mark.parametrize(("kernel", "names"), TUNABLE, ids=lambda value: repr(value))
@pytest.mark.parametrize("criterion", ["reml", "loo"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_those_of_finite_differences(kernel, names, criterion, weighted):
    X, y, w = data()
    function, problem = objective(kernel, names, criterion, X, y, w if weighted else None)
    values = np.append(function.parameters.get(), 1e-3)
    value, gradient = function.value_and_gradient(values)
    numerical = reference.central_differences(lambda v: function.value_and_gradient(v)[0], values)
    assert_allclose(gradient, numerical, rtol=1e-5, atol=1e-6 * np.abs(numerical).max())
    # The value is that of the path.
    chosen = select(
        problem,
        y,
        criterion,
        [1e-3],
        lambda predictions: np.average((y - predictions) ** 2, axis=0, weights=problem.weights),
        per_output=False,
    )
    assert_allclose(value, chosen.criterion[0], rtol=1e-9)


@pytest.mark.parametrize("criterion", ["reml", "loo"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("d", [4, 20])
@pytest.mark.parametrize("m", [150, 700])
def test_gradients_hold_across_tiles_and_forms_of_data(criterion, form, d, m, threads):
    rng = np.random.default_rng(1)
    X = rng.uniform(0.1, 1, size=(m, d)) * (rng.uniform(size=(m, d)) < 0.7)
    y = np.sin(3 * X[:, :1]) + 0.1 * rng.normal(size=(m, 1))
    kernel = Gaussian(np.linspace(0.5, 2, d)) * Periodic(1.0, [1.5, 1.1]).on([3, 1]) + 0.1 * Polynomial(2)
    names = ["k1__k1__sigma", "k1__k2__kernel__period", "k2__scale"]
    function, _ = objective(kernel, names, criterion, X, y, form=form)
    values = np.append(function.parameters.get(), 1e-3)
    gradient = function.value_and_gradient(values)[1]
    direction = rng.uniform(-1, 1, size=len(values)) * values
    h = 1e-5
    ahead, behind = (function.value_and_gradient(values + s * h * direction)[0] for s in (1, -1))
    assert_allclose(gradient @ direction, (ahead - behind) / (2 * h), rtol=1e-5)


def test_threads_do_not_change_a_gradient():
    X, y, w = data(m=700)

    def gradient():
        function, _ = objective(Gaussian(WIDTHS), ["sigma"], "loo", X, y, w)
        return function.value_and_gradient(np.append(function.parameters.get(), 1e-3))[1]

    answers = with_threads(gradient)
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_gradients_on_the_built_in_routines(criterion, backend):
    X, y, w = data(m=200)
    function, _ = objective(Matern(WIDTHS, 2.5), ["sigma"], criterion, X, y, w)
    values = np.append(function.parameters.get(), 1e-3)
    numerical = reference.central_differences(lambda v: function.value_and_gradient(v)[0], values)
    assert_allclose(function.value_and_gradient(values)[1], numerical, rtol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Gaussian(WIDTHS), RBF(WIDTHS)),
        (Matern(0.8, 1.5), PeerMatern(0.8, nu=1.5)),
        (Matern(WIDTHS, 2.5), PeerMatern(WIDTHS, nu=2.5)),
    ],
    ids=repr,
)
def test_without_features_reml_is_the_marginal_likelihood_of_a_gaussian_process(kernel, peer):
    X, y, _ = data()
    y = y[:, :1]
    m, gamma = len(X), 1e-3
    function, _ = objective(kernel, ["sigma"], "reml", X, y, features=None)
    values = np.append(function.parameters.get(), gamma)
    value, gradient = function.value_and_gradient(values)
    # The scale that maximises the likelihood is yᵀBy/m; minus twice the likelihood is then J + m + m log 2π.
    tau = np.exp((value - np.linalg.slogdet(kernel(X) + gamma * m * np.eye(m))[1]) / m)
    process = GaussianProcessRegressor(
        ConstantKernel(tau) * peer + WhiteKernel(tau * gamma * m), alpha=0.0, optimizer=None
    ).fit(X, y[:, 0])
    likelihood, slopes = process.log_marginal_likelihood(process.kernel_.theta, eval_gradient=True)
    assert_allclose(value + m + m * np.log(2 * np.pi), -2 * likelihood, rtol=1e-9)
    logs = gradient * values
    assert_allclose(logs[:-1], -2 * slopes[1:-1], rtol=1e-6, atol=1e-7)
    assert_allclose(logs[-1], -2 * slopes[-1], rtol=1e-6)


# Optima.


@pytest.mark.parametrize("criterion", ["reml", "loo"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_stationary_and_beats_every_grid(criterion, weighted):
    rng = np.random.default_rng(0)
    X, w = rng.uniform(size=(100, 2)), rng.uniform(0.5, 2, size=100)
    w = w if weighted else None
    y = np.sin(12 * X[:, :1]) * np.cos(8 * X[:, 1:] + [0, 1]) + 0.1 * rng.normal(size=(100, 2))
    kernel = Gaussian()
    model = GRLSRegressor(kernel, regularization=criterion, optimize=["sigma"], random_state=0)
    model.fit(X, y, sample_weight=w)
    record = model.optimization_
    assert record.parameters == ["sigma"]
    assert_allclose(record.ends[record.best], [model.kernel_.sigma, model.regularization_], rtol=1e-12)
    assert model.criterion_path_.min() == pytest.approx(record.criterion[record.best], rel=1e-8)
    assert len(record.criterion) == len(record.n_iter) == len(record.starts) <= 3
    grid = GRLSRegressor(kernel, regularization=criterion, optimize={"sigma": np.geomspace(0.05, 5, 15)}).fit(
        X, y, sample_weight=w
    )
    assert model.criterion_path_.min() <= grid.criterion_surface_.min()
    problem = KernelProblem(model.kernel_, X, np.ones((len(X), 1)), w)
    function = Objective(Parameters(model.kernel_, True, 2), problem, y, criterion)
    slopes = function(np.log(record.ends[record.best]))[1]
    inside = (record.ends[record.best] > record.bounds[:, 0] * 1.01) & (
        record.ends[record.best] < record.bounds[:, 1] / 1.01
    )
    assert inside.all()
    assert np.abs(slopes).max() < 1e-4


def test_widths_per_column_find_the_columns_that_do_not_matter():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 5))
    y = np.sin(6 * X[:, 1]) + X[:, 3] ** 2 + 0.05 * rng.normal(size=150)
    for criterion in ("reml", "loo"):
        model = GRLSRegressor(
            Gaussian("medians"), regularization=criterion, optimize=True, n_restarts=1, random_state=0
        ).fit(X, y)
        sigma = model.kernel_.sigma
        assert sigma[[1, 3]].max() * 3 < sigma[[0, 2, 4]].min()
        one_width = GRLSRegressor(Gaussian(), regularization=criterion, optimize=True, random_state=0)
        X_new = rng.uniform(size=(300, 5))
        truth = np.sin(6 * X_new[:, 1]) + X_new[:, 3] ** 2
        error = np.mean((model.predict(X_new) - truth) ** 2)
        assert error < 0.5 * np.mean((one_width.fit(X, y).predict(X_new) - truth) ** 2)


def test_a_period_and_mixing_weights_are_found():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, size=120))[:, None]
    y = np.sign(np.sin(2 * np.pi * x[:, 0] / 1.7)) + 0.05 * rng.normal(size=120)
    kernel = Periodic(0.5, 1.6) + 1.0 * Gaussian(3.0)
    names = ["k1__sigma", "k1__period", "k2__scale"]
    model = GRLSRegressor(kernel, regularization="reml", optimize=names, n_restarts=0).fit(x, y)
    turns = model.kernel_.k1.period / 1.7  # twice the period is a period too
    assert turns == pytest.approx(round(turns), abs=0.01)
    assert model.kernel_.k2.kernel.sigma == 3.0  # not asked for
    assert model.kernel.k1.period == 1.6  # what was given stays


def test_restarts_find_what_the_first_start_misses():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, size=100))[:, None]
    y = np.sin(2 * np.pi * x[:, 0] / 1.7) + 0.1 * rng.normal(size=100)
    options = {"regularization": "reml", "optimize": ["period"], "random_state": 0}
    stuck = GRLSRegressor(Periodic(1.0, 0.3), n_restarts=0, **options).fit(x, y)
    freed = GRLSRegressor(Periodic(1.0, 0.3), n_restarts=20, **options).fit(x, y)
    assert freed.optimization_.best > 0
    assert freed.criterion_path_.min() < stuck.criterion_path_.min() - 10
    assert len(freed.optimization_.starts) == 21


def test_seeds_reproduce():
    X, y, _ = data()
    make = lambda seed: GRLSRegressor(  # noqa: E731
        Gaussian("medians"), regularization="reml", optimize=True, n_restarts=2, random_state=seed
    ).fit(X, y)
    first, again, other = make(3), make(3), make(4)
    assert_allclose(first.optimization_.starts, again.optimization_.starts, rtol=0)
    assert np.array_equal(first.kernel_.sigma, again.kernel_.sigma)
    assert np.array_equal(first.predict(X), again.predict(X))
    assert not np.array_equal(first.optimization_.starts, other.optimization_.starts)


@pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")
@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_a_row_given_twice_is_a_row_of_weight_two(criterion):
    X, y, _ = data(m=40)
    weights = np.ones(40)
    weights[:7] = 2
    twice = np.concatenate([np.arange(40), np.arange(7)])
    make = GRLSRegressor(Gaussian(), regularization=criterion, optimize=True, n_restarts=0)
    by_weight = clone(make).fit(X, y, sample_weight=weights)
    by_rows = clone(make).fit(X[twice], y[twice])
    assert by_rows.kernel_.sigma == pytest.approx(by_weight.kernel_.sigma, rel=1e-6)
    assert by_rows.regularization_ == pytest.approx(by_weight.regularization_, rel=1e-5)


@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_repeated_points_with_other_targets_stay_in_the_criterion(criterion):
    X, y, _ = data(m=40)
    rows = np.concatenate([np.arange(40), np.arange(10)])
    y = y[rows] + 0.3 * np.random.default_rng(1).normal(size=(50, 2))
    model = GRLSRegressor(Gaussian(), regularization=criterion, optimize=True, n_restarts=0).fit(X[rows], y)
    assert model.criterion_path_.min() == pytest.approx(model.optimization_.criterion[0], rel=1e-8)


def test_a_conditionally_definite_kernel_is_tuned_too():
    X, y, _ = data()
    model = GRLSRegressor(Multiquadric(), regularization="loo", optimize=True, n_restarts=0).fit(X, y)
    start = GRLSRegressor(Multiquadric(), regularization="loo").fit(X, y)
    assert model.criterion_path_.min() < start.criterion_path_.min()


@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_targets_that_the_features_explain_leave_a_kernel_that_predicts_them(criterion):
    X, _, _ = data()
    y = 3 * X[:, 0] - X[:, 1] + 2
    model = GRLSRegressor(
        Gaussian(), features="linear", regularization=criterion, optimize=True, n_restarts=1
    )
    assert_allclose(model.fit(X, y).predict(X), y, rtol=1e-6)
    if criterion == "loo":
        assert_allclose(model.fit(X, 0 * y).predict(X), 0, atol=1e-12)


def test_a_classifier_tunes_its_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    labels = np.digitize(X[:, 0] ** 2 + X[:, 1], [0.5, 1.5])
    model = GRLSClassifier(Gaussian("medians"), optimize=True, n_restarts=0).fit(X[:100], labels[:100])
    start = GRLSClassifier(Gaussian("medians")).fit(X[:100], labels[:100])
    assert model.criterion_path_.min() < start.criterion_path_.min()
    assert model.score(X[100:], labels[100:]) >= start.score(X[100:], labels[100:])
    by_accuracy = GRLSClassifier("gaussian", criterion="accuracy", optimize={"sigma": [0.3, 1.0, 3.0]})
    assert by_accuracy.fit(X, labels).criterion_surface_.shape[0] == 3


# Grids.


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_a_grid_is_the_path_at_each_point(criterion):
    X, y, w = data()
    gammas = np.geomspace(1e-6, 1, 7)
    values = {"k1__sigma": [0.3, 1.0, 3.0], "k2__scale": [0.1, 1.0]}
    kernel = Gaussian(1.0) + 1.0 * Linear()
    model = GRLSRegressor(kernel, regularization=criterion, regularization_grid=gammas, optimize=values).fit(
        X, y, sample_weight=w
    )
    assert model.criterion_surface_.shape == (3, 2, 7)
    for (i, sigma), (j, scale) in itertools.product(*(enumerate(v) for v in values.values())):
        one = GRLSRegressor(
            Gaussian(sigma) + scale * Linear(), regularization=criterion, regularization_grid=gammas
        ).fit(X, y, sample_weight=w)
        assert_allclose(model.criterion_surface_[i, j], one.criterion_path_, rtol=1e-10)
    i, j = model.optimization_.best
    assert model.kernel_.k1.sigma == values["k1__sigma"][i]
    assert model.kernel_.k2.scale == values["k2__scale"][j]
    assert model.criterion_path_.min() == pytest.approx(model.criterion_surface_.min(), rel=1e-12)
    assert_allclose(model.regularization_path_, gammas)


def test_a_grid_left_to_the_spectrum_is_one_for_all_points():
    X, y, _ = data()
    model = GRLSRegressor("gaussian", optimize={"sigma": [0.01, 0.1, 1.0, 10.0]}).fit(X, y)
    assert model.criterion_surface_.shape == (4, 50)
    assert_allclose(model.regularization_path_, model.optimization_.regularization_path)


def test_the_surface_can_be_drawn():
    plotting = pytest.importorskip("grls.plotting")
    pytest.importorskip("matplotlib").use("Agg")
    X, y, _ = data()
    model = GRLSRegressor("gaussian", optimize={"sigma": [0.1, 0.3, 1.0, 3.0]}).fit(X, y)
    display = plotting.CriterionContourDisplay.from_optimized(model)
    assert display.ax_.get_ylabel() == "sigma"
    assert_allclose(display.criterion, model.criterion_surface_)
    with pytest.raises(ValueError, match="optimize="):
        plotting.CriterionContourDisplay.from_optimized(GRLSRegressor().fit(X, y))


# Manners.


def test_progress_is_told_when_asked_for(capsys):
    X, y, _ = data()
    options = {"regularization": "reml", "n_restarts": 1, "random_state": 0}
    GRLSRegressor("gaussian", optimize=True, **options).fit(X, y)
    assert capsys.readouterr().out == ""
    GRLSRegressor("gaussian", optimize=True, verbose=1, **options).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for number, line in enumerate(lines, 1):
        assert re.fullmatch(rf"{PROGRESS}start {number}/2 \(60 rows\): reml \S+ at sigma=\S+, γ=\S+", line)
    GRLSRegressor("gaussian", optimize=True, verbose=2, **options).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    steps = [line for line in lines if re.fullmatch(rf"{PROGRESS}start [12]/2, evaluation \d+: \S+", line)]
    assert len(lines) > 4
    assert len(steps) == len(lines) - 2
    GRLSRegressor("gaussian", optimize={"sigma": [1.0, 2.0]}, verbose=1, **options).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for number, line in enumerate(lines, 1):
        assert re.fullmatch(rf"{PROGRESS}{number}/2: {{'sigma': [12]\.0}}, reml \S+", line)


def test_a_tuned_model_pickles_clones_and_forgets():
    X, y, _ = data()
    model = GRLSRegressor("gaussian", regularization="reml", optimize=True, n_restarts=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.optimization_.n_iter == model.optimization_.n_iter
    assert clone(model).get_params()["optimize"] is True
    model.set_params(optimize=None).fit(X, y)
    assert not hasattr(model, "optimization_")
    model.set_params(optimize={"sigma": [1.0]}).fit(X, y)
    assert model.criterion_surface_.shape[0] == 1
    model.set_params(optimize=True).fit(X, y)
    assert not hasattr(model, "criterion_surface_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimize": ["width"]}, r"'width' is none of the parameters to tune, \['sigma'\]"),
        ({"optimize": []}, "names no parameter"),
        ({"optimize": {}}, "names no parameter"),
        ({"optimize": ["sigma", "sigma"]}, "names a parameter twice"),
        ({"optimize": {"width": [1.0]}}, "no parameter 'width'"),
        ({"optimize": {"sigma": []}}, "must be the values to try"),
        ({"optimize": {"sigma": 1.0}}, "must be the values to try"),
        ({"optimize": {"sigma": [-1.0]}}, "Gaussian.sigma must be greater than 0"),
        ({"optimize": True, "regularization": "gcv"}, 'needs regularization="loo", "logo" or "reml"'),
        ({"optimize": True, "regularization": 1e-3}, "needs a criterion to go by"),
        ({"optimize": True, "per_output": True}, "per_output=False"),
        ({"optimize": True, "feature_variance": 1.0}, "feature_variance must be inf"),
        ({"optimize": True, "feature_variance": "auto"}, "feature_variance must be inf"),
        ({"optimize": True, "kernel": Linear()}, "no parameter to tune beside γ"),
        ({"optimize": True, "kernel": lambda A, B: A @ B.T}, "as a dict of values to try"),
        ({"optimize": ["c"], "kernel": Polynomial(2, c=0.0)}, "tuned on a logarithmic scale"),
        ({"optimize": True, "n_restarts": -1}, "n_restarts must be at least 0"),
        ({"optimize": True, "random_state": "seed"}, "seed"),
        ({"optimize": ["degree"], "kernel": ThinPlate(), "features": "linear"}, "none of the parameters"),
    ],
    ids=lambda value: repr(value).split(" at 0x")[0],
)
def test_what_cannot_be_tuned_is_refused_and_leaves_the_model_alone(options, message):
    X, y, _ = data()
    model = GRLSRegressor("gaussian").fit(X, y)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**options).fit(X, y)
    assert {k: v for k, v in vars(model).items() if k.endswith("_")} == {
        k: v for k, v in before.items() if k.endswith("_")
    }


def test_accuracy_has_no_gradient():
    X, y, _ = data()
    with pytest.raises(ValueError, match='criterion="accuracy" has no gradient'):
        GRLSClassifier("gaussian", optimize=True, criterion="accuracy").fit(X, y[:, 0] > 0)


@pytest.mark.parametrize(
    "change",
    [
        {"groups": [1]},
        {"groups": [-1]},
        {"criterion": "gcv"},
        {"shift": -1.0},
        {"T": np.ones((3, 1))},
        {"Y": np.ones((3, 1))},
        {"weights": -np.ones(60)},
        {"weights": np.ones(3)},
    ],
    ids=repr,
)
def test_the_core_trusts_no_argument(change):
    X, y, _ = data()
    arguments = {
        "formula": _core.Formula([([], [], [])], [("gaussian", 0, 1.0, 0.0, 0)]),
        "data": X,
        "T": np.ones((60, 1)),
        "Y": y,
        "weights": None,
        "shift": 0.1,
        "criterion": "reml",
        "groups": [],
        "tolerance": 1e-12,
        **change,
    }
    with pytest.raises(ValueError, match=r"group|gradient is that|negative|rows|weights|targets"):
        _core.gradient(**arguments)


def test_a_matrix_that_is_not_definite_is_an_error_of_its_own():
    X, y, _ = data()
    function, _ = objective(Gaussian(1e3), ["sigma"], "reml", X, y)
    with pytest.raises(NotPositiveDefiniteError):
        function.parameters.gradient(function.problem, y, 0.0, "reml")
    assert function.value_and_gradient(np.array([1e3, 0.0]))[0] == np.inf


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from grls import _core

rng = np.random.default_rng(0)
X, sent = rng.normal(size=(7000, 5)), []
formula = _core.Formula([([], [1.0] * 5, [])], [("gaussian", 0, 3.0, 0.0, 0)])

def gradient(m):
    return _core.gradient(
        formula=formula, data=X[:m].copy(), T=np.ones((m, 1)), Y=X[:m, :1].copy(), weights=None, shift=1.0,
        criterion="loo", groups=[0], tolerance=1e-12, threads=2
    )

def interrupt():
    time.sleep(0.5)
    sent.append(time.monotonic())
    signal.raise_signal(signal.SIGINT) if os.name != "posix" else os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    gradient(7000)
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent[0])
print(len(gradient(100).widths[0]))
"""


@pytest.mark.slow
def test_ctrl_c_stops_a_gradient():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    events = done.stdout.splitlines()
    assert events[0].startswith("interrupted")
    assert events[1] == "5"
