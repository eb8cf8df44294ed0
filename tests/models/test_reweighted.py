"""Huber's loss with everything left to the data: γ, the noise, the outliers and the kernel."""

import numpy as np
import pytest
from grls import GRLSRegressor, GRRegressor
from grls._models.reweighted import HuberChoice, Start
from grls._models.robust_scale import EFFICIENT, FAR
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold


def wave(m=80, seed=0, noise=0.3, share=0.1, far=(4.0, 20.0)):
    """Rows on a line, values and the function there; a share of them are outliers, on one side."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, (m, 1))
    true = 2 * np.sin(1.5 * X[:, 0])
    y = true + noise * rng.normal(size=m)
    y[rng.choice(m, int(share * m), replace=False)] += rng.uniform(*far, int(share * m))
    return X, y, true


def error(model, X, true):
    return float(np.sqrt(np.mean((model.predict(X) - true) ** 2)))


def test_a_first_choice_of_gamma_far_too_small_is_not_final():
    # Folds have a minimum at 3e-6, which follows the noise, and a lower one at 1e-2.
    rng = np.random.default_rng(5001)
    X, X_new = rng.uniform(size=(100, 1)), rng.uniform(size=(1000, 1))
    true, true_new = (2 * np.exp(-3 * x[:, 0]) + x[:, 0] for x in (X, X_new))
    y = true + 0.8 * rng.normal(size=100)
    least_squares = error(GRLSRegressor("gaussian").fit(X, y), X_new, true_new)
    assert error(GRRegressor("gaussian").fit(X, y), X_new, true_new) < 1.2 * least_squares


@pytest.mark.slow
def test_outliers_that_are_close_to_one_another_are_not_followed():
    # A tenth of the rows, all in the lowest third of x, on one side: some of them look like the function.
    rng = np.random.default_rng(5003)
    X, X_new = rng.uniform(size=(400, 1)), rng.uniform(size=(1000, 1))
    true, true_new = (6 * x[:, 0] + np.sin(12 * x[:, 0]) for x in (X, X_new))
    y = true + 0.8 * rng.normal(size=400)
    at = rng.choice(np.argsort(X[:, 0])[:133], 40, replace=False)
    clean = error(GRRegressor("gaussian").fit(X, y), X_new, true_new)
    y[at] += rng.uniform(3, 30, 40)
    model = GRRegressor("gaussian").fit(X, y)
    assert model.outliers_[at].all()
    assert error(model, X_new, true_new) < 1.3 * clean


def test_a_stiff_start_beats_one_that_has_fallen_for_outliers():
    X, y, true = wave(100, noise=0.2, share=0)
    group = np.argsort(X[:, 0])[40:46]
    y[group] += 5.0
    problem = KernelProblem(Gaussian(0.5), X, np.ones((100, 1)), None)
    choice = HuberChoice(problem, y, 50)
    fallen, stiff = Start(np.where(np.isin(np.arange(100), group), y, true), 0.2), Start(true, 0.2)
    assert not np.isin(group, choice.follow([stiff]).kept).any()
    assert_array_equal(choice.follow([fallen, stiff]).kept, choice.follow([stiff]).kept)


def test_rows_left_out_are_those_of_refits():
    X, y, _ = wave(60)
    model = GRRegressor(Gaussian(1.0), features="linear", tol=1e-8).fit(X, y)
    kept = np.flatnonzero(~model.outliers_)
    assert len(kept) == 54
    refits = []
    for row in kept[:20]:
        others = np.setdiff1d(kept, row)
        # What stays the same without a row is γΣw.
        gamma = model.regularization_ * len(kept) / len(others)
        refit = GRRegressor(
            Gaussian(1.0), features="linear", delta=model.delta_, regularization=gamma, tol=1e-8
        )
        refits.append(refit.fit(X[others], y[others]).predict(X[row : row + 1])[0])
    assert_allclose(model.cv_predictions_[kept[:20]], refits, atol=0.2 * model.scale_)
    assert np.std(model.cv_predictions_[kept[:20]] - refits) < 0.03 * model.scale_


def test_the_end_is_where_huber_s_loss_has_its_minimum():
    X, y, _ = wave(80)
    problem = KernelProblem(Gaussian(1.0), X, np.ones((80, 1)), None)
    found = HuberChoice(problem, y, 50).follow([Start(np.full(80, np.median(y)), 1.0)])
    gamma = found.shift / len(found.kept)
    exact = GRRegressor(Gaussian(1.0), delta=EFFICIENT * found.scale, regularization=gamma, tol=1e-9)
    exact.fit(X[found.kept], y[found.kept])
    f = Gaussian(1.0)(X, X) @ found.c + found.beta
    assert_allclose(f, exact.predict(X), atol=0.02 * found.scale)
    assert_array_equal(np.flatnonzero(np.abs(y - f) <= FAR * found.scale), found.kept)


@pytest.mark.parametrize("kernel", ["gaussian", "auto"])
def test_it_does_not_matter_how_far_outliers_are(kernel):
    X, y, true = wave(120, share=0)
    models = []
    for far in (8.0, 8000.0):
        spoilt = y.copy()
        spoilt[::10] += far
        models.append(GRRegressor(kernel).fit(X, spoilt))
    assert_array_equal(models[0].outliers_, models[1].outliers_)
    assert_allclose(models[0].predict(X), models[1].predict(X), atol=0.02)
    assert error(models[0], X, true) < 0.15


def test_a_kernel_is_chosen_as_without_the_outliers():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 3))
    y = 2 * np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=150)
    good = np.arange(150) % 10 > 0
    spoilt = np.where(good, y, y + 6.0)
    with_them, without = GRRegressor().fit(X, spoilt), GRRegressor().fit(X[good], y[good])
    assert_array_equal(with_them.outliers_[~good], True)
    assert type(with_them.kernel_) is type(without.kernel_)
    assert_allclose(np.log(with_them.kernel_.sigma), np.log(without.kernel_.sigma), atol=0.3)


def test_gamma_is_one_of_those_given():
    X, y, _ = wave(60)
    grid = [1e-1, 1e-5, 1e-3]
    model = GRRegressor(Gaussian(1.0), regularization_grid=grid).fit(X, y)
    assert_array_equal(model.regularization_path_, np.sort(grid))
    assert_allclose(model.regularization_, np.sort(grid)[np.argmin(model.criterion_path_)])


def test_folds_choose_where_they_are_asked_for():
    X, y, true = wave(80)
    for asked in ({"regularization": "cv"}, {"cv": KFold(4)}):
        model = GRRegressor(Gaussian(1.0), **asked).fit(X, y)
        assert np.diff(np.log(model.regularization_path_)).max() > 1
        assert error(model, X, true) < 0.2
    left_out = GRRegressor(Gaussian(1.0)).fit(X, y)
    assert np.diff(np.log(left_out.regularization_path_)).max() < 0.7


def test_a_weight_counts_rows_when_everything_is_chosen():
    X, y, _ = wave(50)
    counts = np.random.default_rng(1).integers(1, 4, 50)
    weighted = GRRegressor(Gaussian(1.0)).fit(X, y, counts)
    repeated = GRRegressor(Gaussian(1.0)).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.regularization_, repeated.regularization_, rtol=1e-6)
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


@pytest.mark.parametrize("kernel", ["gaussian", "auto"])
def test_weights_do_not_make_a_row_its_own_witness(kernel):
    # Of a row of weight 1.8 nothing is left when it is left out, as in folds: else any noise is followed.
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(150, 1))
    true = 2 * np.sin(6 * X[:, 0])
    y = true + 0.2 * rng.normal(size=150)
    y[::10] += 5
    model = GRRegressor(kernel).fit(X, y, rng.uniform(0.01, 2, 150))
    assert error(model, X, true) < 0.12
    assert 0.15 < model.scale_ < 0.3


@pytest.mark.parametrize("values", ["constant", "linear", "one far", "few"])
def test_data_without_noise_or_with_hardly_any_rows_are_fitted(values):
    X, _, _ = wave(30)
    y = {
        "constant": np.full(30, 3.0),
        "linear": 1 + 2 * X[:, 0],
        "one far": np.where(np.arange(30) == 4, 50.0, 1 + 2 * X[:, 0]),
        "few": X[:, 0] ** 2,
    }[values]
    if values == "few":
        X, y = X[:5], y[:5]
    model = GRRegressor(Gaussian(1.0), features="linear").fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    if values != "few":
        rows = np.arange(30) != 4
        assert_allclose(model.predict(X)[rows], y[rows], atol=1e-6)
