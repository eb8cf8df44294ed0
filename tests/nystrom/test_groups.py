"""Effects of groups: the model of indicators, without a column for each of them."""

import subprocess
import sys

import numpy as np
import pytest
from grls import GRLSRegressor, NystromGRLSClassifier, NystromGRLSRegressor, load, save
from grls.features import Columns, Groups
from grls.kernels import Gaussian, Laplace
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.uniform(-1, 1, size=(200, 2)), RNG.integers(0, 12, size=200) * 10])
EFFECTS = RNG.normal(size=12)
Y = np.sin(3 * X[:, 0]) + 2 * X[:, 1] + EFFECTS[(X[:, 2] / 10).astype(int)] + 0.1 * RNG.standard_normal(200)
WEIGHTS = RNG.uniform(0.5, 1.5, size=200)
X_NEW = np.column_stack([RNG.uniform(-1.2, 1.2, size=(30, 2)), RNG.integers(0, 12, size=30) * 10])
KERNEL = Laplace(1.0).on([0, 1])
SLOPE = Columns([1])


def model(**parameters):
    chosen = {"kernel": KERNEL, "features": Groups(2, beside=SLOPE), "n_centers": 200, "regularization": 1e-3}
    return NystromGRLSRegressor(**{**chosen, **parameters})


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_with_every_row_as_a_centre_it_is_the_exact_model_with_indicators(weights):
    exact = GRLSRegressor(KERNEL, features=Groups(2, beside=SLOPE), regularization=1e-3).fit(X, Y, weights)
    fitted = model().fit(X, Y, weights)
    assert exact.feature_names_free_[:2] == ["x1", "2=0.0"]
    assert fitted.feature_names_free_ == ["x1"]
    assert_allclose(fitted.predict(X_NEW), exact.predict(X_NEW), rtol=1e-9, atol=1e-9)
    assert_allclose(fitted.feature_coef_, exact.feature_coef_[:1], rtol=1e-9)
    assert_allclose(fitted.group_effects_, exact.feature_coef_[1:], rtol=1e-8)
    assert_array_equal(fitted.group_levels_, 10 * np.arange(12))
    assert_allclose(fitted.feature_coef_std_, exact.feature_coef_std_[:1], rtol=1e-9)
    assert_allclose(fitted.noise_variance_, exact.noise_variance_, rtol=1e-9)
    assert fitted.degrees_of_freedom_ == pytest.approx(exact.degrees_of_freedom_)
    for with_noise in (False, True):
        ours, theirs = (m.predict(X_NEW, return_std=True, with_noise=with_noise)[1] for m in (fitted, exact))
        assert_allclose(ours, theirs, rtol=1e-8)
    parts = fitted.decompose(X_NEW)
    assert_allclose(parts.features + parts.learnt, fitted.predict(X_NEW))
    summary = fitted.summary()
    expected = exact.summary(n_simulations=0)
    assert summary.restricted_log_likelihood == pytest.approx(expected.restricted_log_likelihood, rel=1e-8)
    assert summary.edf == pytest.approx(expected.edf, rel=1e-8)


def test_reml_and_gcv_count_the_groups():
    for criterion in ("reml", "gcv"):
        fitted = model(regularization=criterion).fit(X, Y)
        grid = fitted.regularization_path_
        exact = GRLSRegressor(KERNEL, features=Groups(2, beside=SLOPE), regularization=criterion)
        exact.set_params(regularization_grid=grid).fit(X, Y)
        known = grid > 1e-6
        assert_allclose(fitted.criterion_path_[known], exact.criterion_path_[known], rtol=1e-5)


def test_few_centres_minimise_the_objective_with_indicators():
    fitted = model(n_centers=25, features=Groups(2)).fit(X, Y, WEIGHTS)
    D = (X[:, 2][:, None] == 10 * np.arange(12)).astype(float)
    Z = KERNEL(X, fitted.X_fit_)
    K = KERNEL(fitted.X_fit_)
    A = np.hstack([Z, D])
    penalty = np.zeros((A.shape[1],) * 2)
    penalty[: len(K), : len(K)] = 1e-3 * WEIGHTS.sum() * K
    solved = np.linalg.solve(A.T @ (WEIGHTS[:, None] * A) + penalty, A.T @ (WEIGHTS * Y))
    assert_allclose(fitted.dual_coef_, solved[: len(K)], rtol=1e-6, atol=1e-7)
    assert_allclose(fitted.group_effects_, solved[len(K) :], rtol=1e-7)


def test_blocks_and_partial_fits_meet_groups_in_any_order():
    order = np.argsort(X[:, 2], kind="stable")  # groups come one after the other
    whole = model(centers=X[:40]).fit(X, Y, WEIGHTS)
    blocks = [(X[part], Y[part], WEIGHTS[part]) for part in np.array_split(order, 7)]
    stream = model(centers=X[:40], features=Groups(2, beside=SLOPE)).fit(blocks)
    assert_allclose(stream.predict(X_NEW), whole.predict(X_NEW), rtol=1e-7, atol=1e-8)
    partial = model(centers=X[:40])
    for block in blocks:
        partial.partial_fit(*block)
    assert_allclose(partial.group_effects_, whole.group_effects_, rtol=1e-7)
    assert_allclose(partial.feature_coef_std_, whole.feature_coef_std_, rtol=1e-7)


def test_several_outputs_have_effects_each():
    both = model().fit(X, np.column_stack([Y, -2 * Y]))
    assert both.group_effects_.shape == (12, 2)
    assert_allclose(both.predict(X_NEW)[:, 1], -2 * both.predict(X_NEW)[:, 0], rtol=1e-8)


def test_a_level_that_was_not_there_is_an_error_or_the_mean_effect():
    new = X_NEW.copy()
    new[3, 2] = 7.0
    with pytest.raises(ValueError, match=r"Groups\(2\): the level 7\.0 was not there in training"):
        model().fit(X, Y).predict(new)
    fitted = model(features=Groups(2, beside=SLOPE, unseen="mean")).fit(X, Y)
    exact = GRLSRegressor(KERNEL, features=Groups(2, beside=SLOPE, unseen="mean"), regularization=1e-3)
    assert_allclose(fitted.predict(new), exact.fit(X, Y).predict(new), rtol=1e-9)
    std = fitted.predict(new, return_std=True)[1]
    assert np.isnan(std[3])
    assert np.isfinite(np.delete(std, 3)).all()


def test_levels_may_be_text_in_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["store"] = [f"s{int(level)}" for level in X[:, 2]]
    numbers = Gaussian(0.7).after(lambda table: np.asarray(table[["a", "b"]], dtype=float))
    fitted = model(kernel=numbers, features=Groups("store")).fit(frame, Y)
    coded = model(kernel=Gaussian(0.7).on([0, 1]), features=Groups(2)).fit(X, Y)
    assert_allclose(fitted.predict(frame), coded.predict(X), rtol=1e-8)
    assert set(fitted.group_levels_) == set(frame["store"])


def test_levels_that_are_numbers_in_one_block_and_text_in_another_are_refused():
    """They would be joined as text, and 10 and "10" be one level or two."""
    pd = pytest.importorskip("pandas")
    numbers = Gaussian(0.7).after(lambda table: np.asarray(table[["a", "b"]], dtype=float))
    frame = pd.DataFrame(X, columns=["a", "b", "store"])
    text = frame.assign(store=[f"{int(level)}" for level in X[:, 2]])
    for one, other, told in (
        (frame, text, "text, such as '0', but held numbers"),
        (text, frame, "numbers, .* but held text"),
    ):
        partial = model(kernel=numbers, features=Groups("store"), n_centers=20).partial_fit(one, Y)
        expected = partial.predict(one)
        with pytest.raises(ValueError, match=f"the column of groups holds {told} in the rows before"):
            partial.partial_fit(other, Y)
        assert_array_equal(partial.predict(one), expected)


def test_dask_has_the_effects_of_memory():
    da = pytest.importorskip("dask.array")
    on_dask = pytest.importorskip("grls.dask")
    order = np.argsort(X[:, 2], kind="stable")
    whole = model(n_centers=50).fit(X, Y)
    there = on_dask.NystromGRLSRegressor(**whole.get_params(deep=False))
    there.fit(da.from_array(X[order], chunks=(45, 3)), da.from_array(Y[order], chunks=45))
    assert_allclose(there.group_effects_, whole.group_effects_, rtol=1e-7)
    new = there.predict(da.from_array(X_NEW, chunks=(10, 3)))
    assert_allclose(new.compute(), whole.predict(X_NEW), rtol=1e-7)


def test_models_with_groups_are_saved(tmp_path):
    pytest.importorskip("skops")
    fitted = model(n_centers=30).fit(X, Y)
    save(fitted, tmp_path / "model.grls")
    again = load(tmp_path / "model.grls")
    for ours, theirs in zip(
        again.predict(X, return_std=True), fitted.predict(X, return_std=True), strict=True
    ):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "cg"}, 'solver="cg"'),
        ({"regularization": "holdout"}, "holdout"),
        ({"feature_variance": 1.0}, "feature_variance"),
        ({"features": Groups(2, unseen="zero")}, "unseen must be one of"),
        ({"features": Groups(5)}, "there is no column 5"),
    ],
)
def test_what_does_not_go_with_groups_is_said(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y)


def test_what_groups_do_not_have_is_said():
    fitted = model(n_centers=30).fit(X, Y)
    with pytest.raises(ValueError, match="cross_validate does not go with"):
        fitted.cross_validate(X, Y)
    with pytest.raises(ValueError, match="return_cov does not go with"):
        fitted.predict(X_NEW, return_cov=True)
    with pytest.raises(ValueError, match="predict does"):
        fitted.decompose(X_NEW, return_std=True)
    with pytest.raises(ValueError, match="labels"):
        NystromGRLSClassifier(features=Groups(2)).fit(X, Y > 0)
    missing = X.copy()
    missing[4, 2] = np.nan
    with pytest.raises(ValueError, match="row 4 has no level"):
        Groups(2).labels(missing)


MANY = """
import numpy as np
from grls import NystromGRLSRegressor
from grls.features import Columns, Groups
from grls.kernels import Gaussian
rng = np.random.default_rng(0)
n, levels = 60_000, 20_000
X = np.column_stack([rng.uniform(size=(n, 2)), rng.integers(0, levels, n)])
effects = rng.normal(size=levels)
y = np.sin(5 * X[:, 0]) + 3 * X[:, 1] + effects[X[:, 2].astype(int)] + 0.01 * rng.normal(size=n)
features = Groups(2, beside=Columns([1]))
fitted = NystromGRLSRegressor(Gaussian(0.3).on([0]), features=features, n_centers=30).fit(X, y)
assert abs(fitted.feature_coef_[0] - 3) < 5 * fitted.feature_coef_std_[0] < 0.01
assert len(fitted.group_effects_) > 18_000
status = open("/proc/self/status").read()  # of this program alone: ru_maxrss may be inherited
print(status.split("VmHWM:")[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_levels_need_no_matrix_of_indicators():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 0.1 * 8 * 60_000 * 20_000  # a tenth of the indicators
