"""Conditional conformal bands: exact thresholds, promises that hold, and those that cannot."""

import pickle

import grls
import numpy as np
import pandas as pd
import pytest
import reference
from grls import GRLSRegressor, GRRegressor, InfiniteBandWarning, _core
from grls.conformal import ConformalRegressor
from grls.features import EstimatorFeatures, Indicators
from grls.kernels import Gaussian, Laplace, Linear, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor

GROUPS = {"a": lambda X: X[:, 0] > 0.7, "b": lambda X: X[:, 1] > 0.5}


def data(rng, n, ties=False):
    X = rng.uniform(size=(n, 2))
    y = X @ [1.0, -2.0] + (0.2 + (X[:, 0] > 0.7) + X[:, 1]) * rng.standard_normal(n)
    return X, np.round(y) if ties else y


def zero_model():
    """A regressor that predicts zero, so that scores are |y|."""
    return LinearRegression(fit_intercept=False).fit(np.zeros((2, 2)), np.zeros(2))


def thresholds(kernel, T, scores, alpha, C, K_new, diagonal, T_new, shares):
    lower, upper = -alpha * C, (1 - alpha) * C
    found = _core.conformal_calibrate(kernel=kernel, T=T, scores=scores, lower=lower, upper=upper)
    assert found.violation < 1e-9
    out = _core.conformal_thresholds(
        kernel=kernel,
        T=T,
        scores=scores,
        lower=lower,
        upper=upper,
        c=found.c,
        free=found.free,
        kernel_new=K_new,
        diagonal=diagonal,
        T_new=T_new,
        targets=C * shares,
    )
    assert np.all(out.violation < 1e-9)
    return out.values


# Thresholds.


@pytest.mark.parametrize("seed", range(6))
def test_without_a_kernel_a_threshold_is_that_of_linear_programs_for_each_score(seed):
    rng = np.random.default_rng(seed)
    n, alpha = int(rng.integers(20, 50)), [0.1, 0.2, 0.35][seed % 3]
    T = np.column_stack([np.ones(n), rng.uniform(size=n) < 0.5, rng.standard_normal(n)]).astype(float)
    scores = np.abs(rng.standard_normal(n))
    if seed % 2:
        scores = np.round(3 * scores)  # ties
    T_new = np.column_stack([np.ones(4), [0, 1, 0, 1], rng.standard_normal(4)]).astype(float)
    shares = np.array([1 - alpha, 1 - alpha, 0.5 - alpha, -0.7 * alpha])
    found = thresholds(None, T, scores, alpha, 1.0, None, None, T_new, shares)
    for value, phi, share in zip(found, T_new, shares, strict=True):
        expected = reference.threshold_by_refits(T, scores, alpha, phi, share)
        if np.isinf(value) or np.isinf(expected):
            assert value == expected
        else:
            assert_allclose(value, expected, atol=1e-8)


@pytest.mark.parametrize("n", [8, 9, 19, 20, 57])
@pytest.mark.parametrize("alpha", [0.1, 0.05, 1 / 3])
def test_the_constant_alone_is_split_conformal_prediction(n, alpha):
    rng = np.random.default_rng(n)
    for scores in (rng.standard_normal(n), rng.integers(0, 4, n).astype(float), np.zeros(n)):
        found = thresholds(
            None, np.ones((n, 1)), scores, alpha, 1.0, None, None, np.ones((1, 1)), np.array([1 - alpha])
        )
        assert_allclose(found[0], reference.split_conformal(scores, alpha), atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Gaussian(3.0), Laplace(1.0), Linear()], ids=repr)
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_with_a_kernel_a_threshold_is_that_of_another_solver_and_of_refits(kernel, C):
    rng = np.random.default_rng(3)
    n, alpha = 40, 0.23  # no group has (n + 1)α a whole number, where thresholds are the end of an interval
    X, X_new = rng.standard_normal((n, 2)), rng.standard_normal((3, 2))
    T, T_new = (np.column_stack([np.ones(len(A)), A[:, 0] > 0]).astype(float) for A in (X, X_new))
    scores = np.abs(rng.standard_normal(n) * (1 + T[:, 1]))
    K, K_new = np.ascontiguousarray(kernel(X, X)), np.ascontiguousarray(kernel(X_new, X))
    own = np.diag(kernel(X_new, X_new)).copy()
    shares = np.array([1 - alpha, 0.4137, -0.1171])
    found = thresholds(K, T, scores, alpha, C, K_new, own, T_new, shares)
    lower, upper = -alpha * C, (1 - alpha) * C
    for i, value in enumerate(found):
        target = C * shares[i]
        by_program = reference.threshold_by_program(
            K, T, scores, lower, upper, target, K_new[i], own[i], T_new[i]
        )
        assert_allclose(value, by_program, atol=1e-7 * max(1, abs(value)))
        # The coefficient of the new row in a fit of all rows, a little below that score and a little above.
        whole = np.ascontiguousarray(
            np.block([[K, K_new[i][:, None]], [K_new[i][None], own[i : i + 1, None]]])
        )
        for S, above in ((value - 1e-8, False), (value + 1e-8, True)):
            refit = _core.conformal_calibrate(
                kernel=whole,
                T=np.vstack([T, T_new[i]]),
                scores=np.append(scores, S),
                lower=lower,
                upper=upper,
            )
            assert refit.violation < 1e-9
            reached = refit.c[-1] >= target - 1e-12 * C
            assert reached == above or abs(refit.c[-1] - target) < 1e-7 * C


def test_the_calibration_is_the_quantile_regression_of_grregressor():
    rng = np.random.default_rng(0)
    X, y = data(rng, 80)
    scores = np.abs(y)
    model = ConformalRegressor(
        zero_model(), features="linear", kernel=Gaussian(0.3), regularization=1e-3, cv="prefit"
    ).fit(X, y)
    gamma = 1e-3 * 81 / 80  # the loss is a mean over one row more
    other = GRRegressor(
        Gaussian(0.3), features="linear", loss="quantile", quantiles=0.9, regularization=gamma, tol=1e-10
    ).fit(X, scores)
    assert_allclose(model.dual_coef_, other.dual_coef_, atol=1e-4 * np.abs(model.dual_coef_).max())
    assert_array_equal(model.scores_, scores)


def test_without_a_kernel_the_calibration_is_linear_quantile_regression():
    rng = np.random.default_rng(1)
    X, y = data(rng, 101)
    model = ConformalRegressor(zero_model(), features="linear", cv="prefit").fit(X, y)
    linear = QuantileRegressor(quantile=0.9, alpha=0).fit(X, np.abs(y))
    above = np.abs(y) - linear.predict(X)
    clear = np.abs(above) > 1e-6
    assert_allclose(model.dual_coef_[clear], np.where(above[clear] > 0, 0.9, -0.1), atol=1e-9)


def test_thresholds_do_not_depend_on_threads_or_on_what_they_are_asked_with():
    rng = np.random.default_rng(5)
    X, y = data(rng, 150)
    model = ConformalRegressor(
        zero_model(), features=GROUPS, kernel=Gaussian(0.3), regularization=1e-4, cv="prefit"
    ).fit(X, y)
    new, _ = data(rng, 40)
    together = model.predict_interval(new)
    assert_array_equal(np.vstack([model.predict_interval(row[None]) for row in new]), together)
    grls.set_num_threads(1)
    try:
        assert_array_equal(model.predict_interval(new), together)
    finally:
        grls.set_num_threads(None)


def test_recombined_features_and_shuffled_rows_give_the_same_bands():
    rng = np.random.default_rng(6)
    X, y = data(rng, 120)
    new, _ = data(rng, 30)
    M = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 100.0]])

    def features(X):
        return np.column_stack([np.ones(len(X)), X])

    plain = ConformalRegressor(zero_model(), features=features, cv="prefit").fit(X, y)
    mixed = ConformalRegressor(zero_model(), features=lambda X: features(X) @ M, cv="prefit").fit(X, y)
    order = rng.permutation(len(y))
    shuffled = ConformalRegressor(zero_model(), features=features, cv="prefit").fit(X[order], y[order])
    assert_allclose(mixed.predict_interval(new), plain.predict_interval(new), atol=1e-9)
    assert_allclose(shuffled.predict_interval(new), plain.predict_interval(new), atol=1e-9)


# Coverage, by simulation with known truth.


def simulated(n_calibrations, n_calibration_rows, n_test, randomize, kernel=None, ties=False, seed=0):
    """Coverage of all rows, of two overlapping groups, and weighted by x₁, each over all draws."""
    rng = np.random.default_rng(seed)
    total = np.zeros(4)
    weight = np.zeros(4)
    features = lambda X: np.column_stack([np.ones(len(X)), X[:, 0] > 0.7, X[:, 1] > 0.5, X[:, 1]])  # noqa: E731
    for _ in range(n_calibrations):
        X, y = data(rng, n_calibration_rows, ties)
        new, truth = data(rng, n_test, ties)
        model = ConformalRegressor(
            zero_model(),
            features=features,
            kernel=kernel,
            regularization=1e-4,
            cv="prefit",
            randomize=randomize,
            random_state=int(rng.integers(2**31)),
        ).fit(X, y)
        low, high = model.predict_interval(new).T
        w = features(new)
        total += w.T @ ((low <= truth) & (truth <= high))
        weight += w.sum(axis=0)
    return total / weight


@pytest.mark.filterwarnings("ignore::grls.InfiniteBandWarning")
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("kernel", [None, Gaussian(0.3)], ids=repr)
def test_coverage_in_overlapping_groups_and_under_shifts(kernel, ties):
    # 60 calibrations of 60 rows: the standard error of a group of 30 % is about 0.012.
    exact = simulated(60, 60, 40, True, kernel, ties)
    assert_allclose(exact, 0.9, atol=0.045)
    assert np.all(simulated(60, 60, 40, False, kernel, ties) > 0.9 - 0.035)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::grls.InfiniteBandWarning")
@pytest.mark.parametrize("ties", [False, True])
def test_randomised_coverage_is_exact_and_the_other_never_below(ties):
    # Each calibration is one draw: 4,000 of them make its standard error 0.003.
    exact = simulated(4000, 100, 10, True, ties=ties)
    assert_allclose(exact, 0.9, atol=0.01)
    assert np.all(simulated(4000, 100, 10, False, ties=ties) > 0.9 - 0.01)


# Promises that cannot be kept.


def test_a_group_of_three_rows_has_an_infinite_band_and_a_warning_that_says_why():
    rng = np.random.default_rng(0)
    X, y = data(rng, 100)
    X[:, 0] = 0.0
    X[:3, 0] = 1.0
    model = ConformalRegressor(zero_model(), features=[0], cv="prefit")
    with pytest.warns(InfiniteBandWarning, match=r"9 calibration rows in each group.*x0=1.0 \(3\)"):
        model.fit(X, y)
    with pytest.warns(InfiniteBandWarning, match="x0=1.0 has 3 calibration rows, and alpha=0.1 needs 9"):
        bands = model.predict_interval([[0.0, 0.5], [1.0, 0.5]])
    assert np.isfinite(bands[0]).all()
    assert_array_equal(bands[1], [-np.inf, np.inf])


def test_nine_rows_are_enough_and_their_largest_score_is_the_threshold():
    y = np.concatenate([np.arange(1.0, 10.0), np.linspace(0, 1, 50)])
    X = np.column_stack([np.arange(59) < 9, np.zeros(59)]).astype(float)
    model = ConformalRegressor(zero_model(), features=[0], cv="prefit").fit(X, y)
    assert_allclose(model.predict_interval([[1.0, 0.0]]), [[-9.0, 9.0]])


def test_a_label_that_was_never_seen_has_an_infinite_band():
    rng = np.random.default_rng(0)
    X, y = data(rng, 60)
    X[:, 0] = np.arange(60) % 2
    model = ConformalRegressor(zero_model(), features=[0], cv="prefit").fit(X, y)
    with pytest.warns(InfiniteBandWarning, match="too few of these behind"):
        assert np.isinf(model.predict_interval([[7.0, 0.0]])).all()


def test_features_without_the_constant_promise_nothing_of_all_rows():
    X, y = data(np.random.default_rng(0), 60)
    model = ConformalRegressor(zero_model(), features=lambda X: X[:, :1], cv="prefit")
    with pytest.warns(UserWarning, match="do not span the constant"):
        model.fit(X, y)


# Scores, sides and rows.


def test_scores_of_all_kinds_cover():
    rng = np.random.default_rng(2)
    X, y = data(rng, 900)
    new, truth = data(rng, 600)
    pair = [QuantileRegressor(quantile=q, alpha=0) for q in (0.1, 0.9)]
    for model in (
        ConformalRegressor(GRLSRegressor("gaussian", regularization=1e-2), random_state=0, features=GROUPS),
        ConformalRegressor(
            GaussianProcessRegressor(alpha=0.5), conformity_score="normalized", random_state=0
        ),
        ConformalRegressor(GRLSRegressor(Gaussian(1.0)), conformity_score="normalized", random_state=0),
        ConformalRegressor(pair, conformity_score="quantile", random_state=0),
        ConformalRegressor(KNeighborsRegressor(), cv=4, random_state=0),
        ConformalRegressor(KNeighborsRegressor(), cv=KFold(3), side="lower", random_state=0),
        ConformalRegressor(KNeighborsRegressor(), side="upper", random_state=0),
    ):
        low, high = model.fit(X[:300], y[:300]).predict_interval(new).T
        assert 0.84 < np.mean((low <= truth) & (truth <= high)) < 0.96
        assert model.predict(new).shape == (600,)
        assert np.isposinf(high).all() == (model.side == "lower")
        assert np.isneginf(low).all() == (model.side == "upper")


def test_normalized_bands_are_as_wide_as_the_standard_deviation_says():
    rng = np.random.default_rng(0)
    X, y = data(rng, 120)
    inner = GRLSRegressor(Gaussian(0.5), regularization=1e-3).fit(X[:60], y[:60])
    model = ConformalRegressor(inner, conformity_score="normalized", cv="prefit").fit(X[60:], y[60:])
    mean, std = inner.predict(X, return_std=True, with_noise=True)
    scores = np.abs(y - mean) / std
    assert_allclose(model.scores_, scores[60:])
    S = reference.split_conformal(scores[60:], 0.1)
    assert_allclose(model.predict_interval(X), np.column_stack([mean - S * std, mean + S * std]))


def test_quantiles_are_moved_by_how_far_observations_lie_outside():
    rng = np.random.default_rng(0)
    X, y = data(rng, 160)
    inner = GRRegressor(
        Gaussian(0.5), loss="quantile", quantiles=[0.1, 0.5, 0.9], regularization=1e-3, non_crossing=True
    ).fit(X[:80], y[:80])
    model = ConformalRegressor(inner, conformity_score="quantile", cv="prefit").fit(X[80:], y[80:])
    low, middle, high = inner.predict(X).T
    S = reference.split_conformal(np.maximum(low - y, y - high)[80:], 0.1)
    assert_allclose(model.predict_interval(X), np.column_stack([low - S, high + S]))
    assert_allclose(model.predict(X), middle)


def test_a_level_asked_of_a_fitted_model_is_that_of_a_model_fitted_with_it():
    X, y = data(np.random.default_rng(0), 120)
    model = ConformalRegressor(zero_model(), features=GROUPS, alpha=0.2, cv="prefit").fit(X, y)
    for alpha in (0.1, [0.1, 0.3]):
        other = ConformalRegressor(zero_model(), features=GROUPS, alpha=alpha, cv="prefit").fit(X, y)
        assert_allclose(model.predict_interval(X[:20], alpha), other.predict_interval(X[:20]))


def test_the_report_of_coverage_cuts_columns_in_the_units_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.uniform(40, 60, (300, 1))
    y = X[:, 0] + rng.standard_normal(300)
    model = ConformalRegressor(LinearRegression(), features="linear", random_state=0).fit(X[:200], y[:200])
    names = model.coverage_report(X[200:], y[200:], n_bins=2).names
    low, middle, high = np.quantile(X[200:, 0], [0, 0.5, 1])
    assert names[1:] == [f"x0 in [{low:.4g}, {middle:.4g})", f"x0 in [{middle:.4g}, {high:.4g}]"]


def test_several_levels_are_those_of_single_models():
    X, y = data(np.random.default_rng(0), 120)
    several = ConformalRegressor(zero_model(), features=GROUPS, alpha=[0.1, 0.3], cv="prefit").fit(X, y)
    bands = several.predict_interval(X[:20])
    assert bands.shape == (20, 2, 2)
    for level, alpha in enumerate((0.1, 0.3)):
        one = ConformalRegressor(zero_model(), features=GROUPS, alpha=alpha, cv="prefit").fit(X, y)
        assert_allclose(bands[:, :, level], one.predict_interval(X[:20]))


def test_rows_that_choose_the_kernel_do_not_calibrate():
    X, y = data(np.random.default_rng(0), 160)
    model = ConformalRegressor(
        zero_model(), features=GROUPS, kernel="gaussian", cv="prefit", tuning_size=0.5, random_state=0
    ).fit(X, y)
    assert len(model.calibration_rows_) == 80
    others = np.setdiff1d(np.arange(160), model.calibration_rows_)
    changed = y.copy()
    changed[model.calibration_rows_] *= 3
    again = clone(model).set_params(estimator=model.estimator).fit(X, changed)
    assert again.regularization_ == model.regularization_
    changed = y.copy()
    changed[others] = np.random.default_rng(1).permutation(y[others]) ** 3
    assert clone(model).set_params(estimator=model.estimator).fit(X, changed).regularization_ > 0
    split = ConformalRegressor(LinearRegression(), kernel="gaussian", random_state=0).fit(X, y)
    assert len(split.calibration_rows_) == 80


def test_data_frames_with_text_and_missing_values_reach_an_estimator_that_takes_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(size=300), "kind": pd.Categorical(rng.choice(["u", "v"], 300))})
    y = frame["x"].to_numpy() + (0.1 + (frame["kind"] == "v")) * rng.standard_normal(300)
    frame.loc[:20, "x"] = np.nan
    model = ConformalRegressor(HistGradientBoostingRegressor(max_iter=10), features=["kind"], random_state=0)
    bands = model.fit(frame[:200], y[:200]).predict_interval(frame[200:])
    assert model.feature_names_free_ == ["1", "kind=u", "kind=v"]
    widths = np.diff(bands)[:, 0]
    v = (frame["kind"][200:] == "v").to_numpy()
    assert widths[v].min() > 2 * widths[~v].max()


def test_a_model_survives_pickle_and_file(tmp_path):
    X, y = data(np.random.default_rng(0), 120)
    model = ConformalRegressor(
        LinearRegression(),
        features=Indicators([0]),
        kernel=Gaussian(0.4),
        regularization=1e-3,
        random_state=0,
    )
    X[:, 0] = np.round(X[:, 0])
    bands = model.fit(X, y).predict_interval(X)
    assert "_gram_kept" not in pickle.loads(pickle.dumps(model)).__dict__
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_interval(X), bands)
    pytest.importorskip("skops")
    grls.save(model, tmp_path / "model.grls")
    assert_array_equal(grls.load(tmp_path / "model.grls").predict_interval(X), bands)


# Reports.


def test_a_report_counts_rows_in_groups_and_along_features():
    rng = np.random.default_rng(0)
    X, y = data(rng, 400)
    new, truth = data(rng, 300)
    features = lambda X: pd.DataFrame({"1": 1.0, "high": X[:, 1] > 0.5, "x": X[:, 0]}).astype(float)  # noqa: E731
    model = ConformalRegressor(LinearRegression(), features=features, alpha=[0.1, 0.5], random_state=0)
    report = model.fit(X, y).coverage_report(new, truth, n_bins=2)
    assert report.names[:2] == ["all", "high"]
    assert len(report.names) == 2 * (1 + 1 + 2)
    assert len(model.coverage_report(new, truth, n_bins=1).names) == 2 * (1 + 1 + 1)
    with pytest.raises(ValueError, match="n_bins must be at least 1"):
        model.coverage_report(new, truth, n_bins=0)
    low, high = model.predict_interval(new)[:, :, 0].T
    held = (low <= truth) & (truth <= high)
    assert report.n_covered[0] == held.sum()
    assert report.n_covered[1] == held[new[:, 1] > 0.5].sum()
    assert np.all((report.lower <= report.coverage) & (report.coverage <= report.upper))
    frame = report.to_frame()
    assert list(frame["n_rows"]) == list(report.n_rows)
    assert "promised" in str(report)
    assert "all" in repr(report)


def test_a_report_sees_bands_that_do_not_hold():
    rng = np.random.default_rng(0)
    X, y = data(rng, 300)
    model = ConformalRegressor(zero_model(), cv="prefit").fit(X, 0.1 * y)
    report = model.coverage_report(X, y)
    assert report.below.all()
    assert "below" in str(report)


# Errors.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha must lie between"),
        ({"alpha": []}, "alpha must be a number"),
        ({"cv": 1.5}, "share must lie between"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"cv": "split"}, "cv .* must be one of 'prefit'"),
        ({"conformity_score": "relative"}, "conformity_score must be one of"),
        ({"side": "left"}, "side must be one of"),
        ({"features": None}, "features are the promise"),
        ({"regularization": -1.0}, "regularization must be greater"),
        ({"tuning_size": 1.0}, "tuning_size is a share"),
        ({"kernel": ThinPlate(), "regularization": 0.1}, "must be positive definite"),
        ({"conformity_score": "normalized"}, "return_std"),
        ({"conformity_score": "quantile"}, "two quantiles at least"),
        ({"features": {"a": 3}}, "group 'a' must be a function"),
        ({"features": {"a": lambda X: X[:, 0]}}, "one boolean for each"),
        ({"features": EstimatorFeatures(LinearRegression())}, "made from y|requires y|target"),
    ],
)
def test_what_cannot_be_right_is_refused(parameters, message):
    X, y = data(np.random.default_rng(0), 60)
    with pytest.raises((ValueError, TypeError), match=message):
        ConformalRegressor(LinearRegression(), **parameters).fit(X, y)


def test_an_estimator_that_is_not_fitted_is_refused_as_prefit():
    X, y = data(np.random.default_rng(0), 60)
    with pytest.raises(ValueError, match="not fitted"):
        ConformalRegressor(LinearRegression(), cv="prefit").fit(X, y)


def test_arrays_that_were_changed_after_the_fit_are_found_out():
    X, y = data(np.random.default_rng(0), 60)
    model = ConformalRegressor(zero_model(), features=GROUPS, cv="prefit").fit(X, y)
    model._free[0] = [0, 0, 10**6]
    with pytest.raises(ValueError, match="free rows"):
        model.predict_interval(X)


def test_a_matrix_beyond_memory_is_refused_before_it_is_made(monkeypatch):
    from grls._solvers import memory

    X, y = data(np.random.default_rng(0), 60)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(MemoryError, match="60 calibration rows"):
        ConformalRegressor(zero_model(), kernel=Gaussian(1.0), regularization=0.1, cv="prefit").fit(X, y)


def test_scores_that_are_all_zero_have_bands_of_no_width_in_groups_too():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(60, 2)), np.arange(60) % 2]
    model = ConformalRegressor(LinearRegression(), features=[2], random_state=0, alpha=0.2)
    bands = model.fit(X, np.zeros(60)).predict_interval(X)
    assert np.abs(bands).max() < 1e-12


def test_a_level_set_after_the_fit_is_not_read_as_that_of_the_fit():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, y).set_params(alpha=0.3)
    with pytest.raises(ValueError, match=r"alpha is \[0.3\] now, and the model was fitted with \[0.1\]"):
        model.predict_interval(X)


def test_a_single_score_is_what_its_feature_says():
    found = _core.conformal_calibrate(
        kernel=None, T=np.ones((1, 1)), scores=np.array([5.0]), lower=-0.1, upper=0.9
    )
    assert_allclose(found.beta, [5.0])
