"""Effects of groups in the exact model without a matrix: the model of indicators, and no column for any."""

import subprocess
import sys

import numpy as np
import pytest
from builders import with_threads
from grls import (
    ConfoundedFeaturesWarning,
    DependentFeaturesWarning,
    ExtrapolationWarning,
    GRLSClassifier,
    GRLSRegressor,
    load,
    save,
)
from grls._solvers.kernel_problem import KernelProblem
from grls._solvers.matrix_free import MatrixFree
from grls.features import Columns, Groups
from grls.kernels import Gaussian, Laplace, Log
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(1)
N, LEVELS = 300, 40
X = np.column_stack([RNG.uniform(-1, 1, size=(N, 2)), 3.0 * RNG.integers(0, LEVELS, size=N)])
EFFECTS = RNG.normal(size=LEVELS)
Y = np.sin(3 * X[:, 0]) + 2 * X[:, 1] + EFFECTS[(X[:, 2] / 3).astype(int)] + 0.1 * RNG.standard_normal(N)
WEIGHTS = RNG.uniform(0.3, 2.0, size=N)
X_NEW = np.column_stack([RNG.uniform(-1, 1, size=(25, 2)), RNG.choice(X[:, 2], size=25)])
KERNEL = Laplace(1.0).on([0, 1])
SLOPE = Columns([1])


def pair(**parameters):
    given = {"kernel": KERNEL, "features": Groups(2, beside=SLOPE), "regularization": 1e-3, **parameters}
    dense = {**given, "precision": "double"}
    return GRLSRegressor(**dense), GRLSRegressor(**{"tol": 1e-11, **given}, solver="cg")


@pytest.fixture(params=[0, 40], ids=["many centres", "few centres"])
def centres(request, monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", request.param)


def assert_same(free, dense, n_beside, atol=1e-7):
    """The model of the indicators, and all that it says of its uncertainty."""
    assert_allclose(free.predict(X_NEW), dense.predict(X_NEW), atol=atol)
    assert_allclose(free.feature_coef_, dense.feature_coef_[:n_beside], atol=atol)
    assert_allclose(free.group_effects_, dense.feature_coef_[n_beside:], atol=10 * atol)
    assert_allclose(free.feature_coef_std_, dense.feature_coef_std_[:n_beside], rtol=1e-5)
    assert_allclose(free.feature_inflation_, dense.feature_inflation_[:n_beside], rtol=1e-5)
    assert_allclose(free.noise_variance_, dense.noise_variance_, rtol=1e-6)
    assert free.degrees_of_freedom_ == pytest.approx(dense.degrees_of_freedom_)
    for what in ({"return_std": True, "with_noise": True}, {"return_std": True}, {"return_cov": True}):
        assert_allclose(free.predict(X_NEW, **what)[1], dense.predict(X_NEW, **what)[1], atol=1e-6)


@pytest.mark.usefixtures("centres")
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize(
    ("beside", "n_beside"), [(None, 0), (SLOPE, 1), (Columns([0, 1]), 2)], ids=["alone", "slope", "plane"]
)
def test_it_is_the_model_with_an_indicator_for_each_level(weights, beside, n_beside):
    dense, free = (m.fit(X, Y, weights) for m in pair(features=Groups(2, beside=beside)))
    assert free.n_features_free_ == n_beside
    assert_array_equal(free.group_levels_, np.unique(X[:, 2]))
    assert_same(free, dense, n_beside)
    assert_allclose(np.bincount((X[:, 2] / 3).astype(int), free.dual_coef_, LEVELS), 0, atol=1e-9)


@pytest.mark.usefixtures("centres")
def test_conditionally_definite_kernels_find_their_constant_in_the_groups():
    dense, free = (m.fit(X, Y, WEIGHTS) for m in pair(kernel=Log().on([0, 1])))
    assert_same(free, dense, 1, atol=1e-6)


def test_several_outputs_have_effects_each_and_one_gamma_each():
    both = np.column_stack([Y, np.cos(2 * X[:, 1]) - EFFECTS[(X[:, 2] / 3).astype(int)]])
    dense, free = (m.fit(X, both) for m in pair(regularization=1e-2))
    assert free.group_effects_.shape == (len(free.group_levels_), 2)
    assert_same(free, dense, 1)
    each = GRLSRegressor(
        KERNEL, features=Groups(2), regularization="gcv", per_output=True, solver="cg", tol=1e-10
    ).fit(X, both)
    exact = GRLSRegressor(KERNEL, features=Groups(2), regularization=each.regularization_[1]).fit(X, both)
    assert_allclose(each.group_effects_[:, 1], exact.feature_coef_[:, 1], atol=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS / WEIGHTS.mean()], ids=["", "weights"])
@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_criteria_count_the_groups_as_features(criterion, weights, monkeypatch):
    # With every row a centre the traces are known, and not estimated.
    grid = np.geomspace(1e-5, 1e0, 11)
    dense, free = (
        m.fit(X, Y, weights) for m in pair(regularization=criterion, regularization_grid=grid, tol=1e-8)
    )
    assert_allclose(free.criterion_path_, dense.criterion_path_, rtol=2e-3)
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    dense, free = (m.fit(X, Y, weights) for m in pair(regularization=criterion, tol=1e-8))
    assert 0.6 < free.regularization_ / dense.regularization_ < 1.6


def test_rows_at_the_same_point_of_different_groups_stay_apart():
    # The kernel does not read the group; a view hides it from what tells rows apart.
    numbers = Gaussian(0.5).after(lambda rows: np.asarray(rows)[:, :2])
    twice = np.vstack([X[:100], X[:100]])
    twice[100:, 2] = 3.0 * RNG.integers(0, LEVELS, size=100)
    y = np.concatenate([Y[:100], Y[100:200]])
    dense, free = (
        m.fit(twice, y) for m in pair(kernel=numbers, regularization="reml", features=Groups(2), tol=1e-9)
    )
    assert 0.6 < free.regularization_ / dense.regularization_ < 1.6


def test_the_trace_is_that_of_what_the_groups_leave():
    codes = np.unique(X[:, 2], return_inverse=True)[1]
    for weights in (None, WEIGHTS):
        for n_groups in (1, LEVELS):
            mine = codes % n_groups
            system = MatrixFree(KernelProblem(KERNEL, X, X[:, [1]], weights, mine.astype(np.intp)))
            roots = np.sqrt(np.ones(N) if weights is None else weights)[:, None]
            free = roots * np.hstack([(mine[:, None] == np.arange(n_groups)).astype(float), X[:, [1]]])
            Q = np.linalg.qr(free)[0]
            K = roots * KERNEL(X) * roots.T
            assert system.trace == pytest.approx(np.trace(K) - np.trace(Q.T @ K @ Q))
            V = RNG.standard_normal((N, 3))
            assert_allclose(system.project(V), V - Q @ (Q.T @ V), atol=1e-12)


def test_a_feature_that_the_groups_express_is_left_out():
    of_group = Columns([1, 2])
    with pytest.warns(DependentFeaturesWarning, match="left out: x2"):
        free = pair(features=Groups(2, beside=of_group))[1].fit(X, Y)
    plain = pair()[1].fit(X, Y)
    assert_allclose(free.predict(X_NEW), plain.predict(X_NEW), atol=1e-8)
    assert free.feature_coef_[1] == 0


def test_an_unseen_level_is_an_error_or_the_mean_of_all_rows():
    new = X_NEW.copy()
    new[3, 2] = 7.0
    with pytest.raises(ValueError, match=r"Groups\(2\): the level 7\.0 was not there in training"):
        pair()[1].fit(X, Y).predict(new)
    dense, free = (m.fit(X, Y) for m in pair(features=Groups(2, beside=SLOPE, unseen="mean")))
    for ours, theirs in zip(*(m.predict(new, return_std=True) for m in (free, dense)), strict=True):
        assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")
def test_weights_count_rows_and_rows_without_weight_are_none():
    weights = RNG.integers(0, 3, size=N).astype(float)
    keeps = weights > 0
    repeated = np.repeat(np.arange(N), weights.astype(int))
    new = X_NEW[np.isin(X_NEW[:, 2], X[keeps, 2])]
    weighted, plain = pair()[1].fit(X, Y, weights), pair()[1].fit(X[repeated], Y[repeated])
    for ours, theirs in zip(
        weighted.predict(new, return_std=True), plain.predict(new, return_std=True), strict=True
    ):
        assert_allclose(ours, theirs, atol=1e-6)


def test_a_frame_with_text_gives_the_model_of_codes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["store"] = [f"s{int(level)}" for level in X[:, 2]]
    numbers = Laplace(1.0).after(lambda table: np.asarray(table[["a", "b"]], dtype=float))
    named = pair(kernel=numbers, features=Groups("store"))[1].fit(frame, Y)
    coded = pair(features=Groups(2))[1].fit(X, Y)
    assert_allclose(named.predict(frame), coded.predict(X), atol=1e-8)
    assert set(named.group_levels_) == set(frame["store"])


def test_classes_have_effects_of_groups_too():
    labels = np.where(np.median(Y) < Y, "high", "low")
    given = {"kernel": KERNEL, "features": Groups(2), "regularization": 1e-2}
    dense = GRLSClassifier(**given).fit(X, labels)
    free = GRLSClassifier(**given, solver="cg", tol=1e-10).fit(X, labels)
    assert_allclose(free.decision_function(X_NEW), dense.decision_function(X_NEW), atol=1e-6)


def test_a_refit_without_groups_forgets_them():
    model = pair()[1].fit(X, Y)
    model.set_params(features="constant").fit(X, Y)
    assert not hasattr(model, "group_effects_")
    plain = GRLSRegressor(KERNEL, regularization=1e-3, solver="cg", tol=1e-11).fit(X, Y)
    assert_array_equal(model.predict(X_NEW), plain.predict(X_NEW))


def test_the_kernel_may_be_left_to_the_data():
    wave = np.sin(6 * X[:, 0]) + 5 * EFFECTS[(X[:, 2] / 3).astype(int)]
    model = GRLSRegressor("auto", features=Groups(2), regularization=1e-4, solver="cg").fit(X, wave)
    assert np.abs(model.predict(X) - wave).max() < 0.1


def test_saved_models_and_threads_give_the_same(tmp_path):
    pytest.importorskip("skops")
    one, two = with_threads(lambda: pair()[1].fit(X, Y), (1, 2))
    assert_array_equal(one.group_effects_, two.group_effects_)
    save(one, tmp_path / "model.grls")
    again = load(tmp_path / "model.grls")
    for what in ({}, {"return_std": True}):
        assert_array_equal(again.predict(X_NEW, **what), one.predict(X_NEW, **what))


def test_far_rows_are_told_by_their_distance_from_the_groups_means():
    rows = X.copy()
    rows[:, 1] += rows[:, 2]  # groups are far from each other, their rows are not
    model = pair(kernel=Laplace(1.0).on([0]))[1].fit(rows, Y)
    model.predict(rows)
    far = rows[:3].copy()
    far[1, 1] += 3000.0
    with pytest.warns(ExtrapolationWarning, match="at 1 of 3 rows \\(1\\)"):
        model.predict(far)


def test_what_a_kernel_expresses_within_groups_is_told():
    with pytest.warns(ConfoundedFeaturesWarning, match="x1"):
        pair(kernel=Gaussian(5.0).on([0, 1]), regularization=1e-6, tol=1e-8)[1].fit(X, Y)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.cross_validate(cv="loo"),
        lambda model: model.cross_validate(cv=5),
        lambda model: model.summary(),
        lambda model: model.predict_interval(X_NEW),
        lambda model: model.predict(X_NEW, return_std=True, unconditional=True),
    ],
    ids=["loo", "folds", "summary", "interval", "unconditional"],
)
def test_what_needs_a_matrix_says_that_there_is_none(ask):
    model = pair(regularization="reml", tol=1e-6)[1].fit(X, Y)
    with pytest.raises(ValueError, match=r'features=Groups\(…\).*use solver="cholesky"'):
        ask(model)
    with pytest.raises(ValueError, match="predict does"):
        model.decompose(X_NEW, return_std=True)
    parts = model.decompose(X_NEW)
    assert_allclose(parts.features + parts.learnt, model.predict(X_NEW))


def test_a_variogram_is_that_of_what_the_effects_leave():
    pytest.importorskip("matplotlib")
    from grls.plotting.diagnostics import _Pairs

    dense, free = (_Pairs.of(m.fit(X, Y)) for m in pair())
    assert_allclose(free.observed, dense.observed, atol=1e-7)


def test_too_many_groups_are_refused():
    each = np.column_stack([X[:, :2], np.arange(N)])
    with pytest.raises(ValueError, match=r"more features \(1 and 300 groups\) than samples"):
        pair()[1].fit(each, Y)
    with pytest.raises(ValueError, match="needs more distinct points than features"):
        pair(features=Groups(2), regularization="gcv")[1].fit(each, Y)


def test_the_core_checks_groups():
    codes = np.zeros(N, dtype=np.intp)
    codes[0] = 2
    with pytest.raises(ValueError, match="group 1 has no samples"):
        MatrixFree(KernelProblem(KERNEL, X, X[:, [1]], None, codes))
    codes[0] = -1
    with pytest.raises(ValueError, match="is in group -1"):
        MatrixFree(KernelProblem(KERNEL, X, X[:, [1]], None, codes))
    with pytest.raises(ValueError, match="got groups of 3 samples"):
        MatrixFree(KernelProblem(KERNEL, X, X[:, [1]], None, np.array([0, 1, 2])))


MANY = """
import numpy as np
from grls import GRLSRegressor
from grls.features import Columns, Groups
from grls.kernels import Gaussian
rng = np.random.default_rng(0)
n, levels = 10_000, 6_000
level = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
X = np.column_stack([rng.uniform(size=(n, 2)), level])
effects = rng.normal(size=levels)
y = np.sin(5 * X[:, 0]) + 3 * X[:, 1] + effects[X[:, 2].astype(int)] + 0.01 * rng.normal(size=n)
features = Groups(2, beside=Columns([1]))
model = GRLSRegressor(Gaussian(0.3).on([0]), features=features, regularization=1e-6, solver="cg").fit(X, y)
assert abs(model.feature_coef_[0] - 3) < 5 * model.feature_coef_std_[0] < 0.01
assert len(model.group_effects_) == levels
assert model.predict(X[:20], return_std=True)[1].max() < 0.02
status = open("/proc/self/status").read()  # of this program alone: ru_maxrss may be inherited
print(status.split("VmHWM:")[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_levels_need_no_matrix_of_indicators():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 0.8 * 8 * 10_000 * 6_000  # the indicators alone would take more


def test_features_set_after_the_fit_do_not_change_the_groups_of_the_fit():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=60), np.arange(60) % 4]
    model = GRLSRegressor(Gaussian(1.0).on([0]), features=Groups(1), solver="cg", regularization=0.1)
    before = model.fit(X, X[:, 0] + X[:, 1]).predict(X)
    assert_allclose(model.set_params(features="constant").predict(X), before, rtol=0)
