"""How free the features are: a prior on their coefficients against dense kernel ridge with Φ + τZZᵀ."""

import numpy as np
import pytest
import reference
from grls import GRLSClassifier, GRLSRegressor
from grls.features import Columns
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

# These tests look at predictions and equations; some of their features run away or are the kernel's too.
pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]


KERNEL = Gaussian(sigma=1.0)


def data(m=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(m, 3))
    y = 3 * X[:, 2] + np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=m)
    return X, y, rng.uniform(0.5, 3, size=m)


def with_prior(X, T, variance, weights):
    return KERNEL(X) + reference.feature_kernel(T, T, T, variance, weights)


@pytest.mark.parametrize("t", [0.0, 0.3, 10.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_finite_variance_is_a_kernel_with_the_features_added(t, weighted, precision):
    X, y, weights = data()
    gamma = 1e-2
    model = GRLSRegressor(
        KERNEL, features="linear", regularization=gamma, feature_variance=t, precision=precision
    ).fit(X, y, sample_weight=weights if weighted else None)
    w = weights if weighted else np.ones(len(X))
    K = with_prior(X, model.features_.transform(X), t, w)
    c, beta = reference.solve_exact(K, np.ones((len(X), 1)), y, gamma, w)
    rounding = 1e-9 + 1e-14 * t  # the reference adds t times the features to the kernel
    assert_allclose(model.dual_coef_, c, atol=rounding * np.abs(c).max())
    assert_allclose(model.predict(X), K @ c + beta, atol=1e-8)


def test_variances_with_a_prior_are_those_of_the_gaussian_process():
    X, y, _ = data()
    t, gamma = 2.0, 1e-2
    model = GRLSRegressor(KERNEL, features="linear", regularization=gamma, feature_variance=t).fit(X, y)
    everywhere = np.vstack([X, data(seed=1)[0]])
    T = model.features_.transform(everywhere)
    K = KERNEL(everywhere) + reference.feature_kernel(T, T, T[:40], t)
    cov, _, _ = reference.universal_kriging(
        K[:40, :40], K[:40, 40:], K[40:, 40:], np.ones((40, 1)), np.ones((40, 1)), y, gamma
    )
    assert_allclose(model.predict(everywhere[40:], return_cov=True)[1], cov, atol=1e-9 * cov.max())
    assert_allclose(model.predict(everywhere[40:], return_std=True)[1] ** 2, np.diag(cov), rtol=1e-7)


def test_zero_forgets_the_features_and_infinity_frees_them():
    X, y, _ = data()
    fit = lambda **options: GRLSRegressor(KERNEL, regularization=1e-2, **options).fit(X, y)  # noqa: E731
    assert_allclose(fit(features="linear", feature_variance=0.0).predict(X), fit().predict(X), atol=1e-9)
    free = fit(features="linear")
    nearly = fit(features="linear", feature_variance=1e12)
    assert_allclose(nearly.predict(X), free.predict(X), atol=1e-6)
    assert_allclose(nearly.feature_coef_, free.feature_coef_, atol=1e-6)
    assert_allclose(nearly.feature_coef_std_, free.feature_coef_std_, rtol=1e-4)


@pytest.mark.parametrize(
    ("criterion", "t"), [("loo", 0.5), ("loo", np.inf), ("gcv", 0.5), ("gcv", np.inf), ("reml", 0.5)]
)
def test_the_criteria_with_a_prior_equal_dense_numpy(criterion, t):
    X, y, weights = data()
    grid = [1e-3, 1e-1]
    model = GRLSRegressor(
        KERNEL, features="linear", regularization=criterion, regularization_grid=grid, feature_variance=t
    ).fit(X, y, sample_weight=weights)
    K = with_prior(X, model.features_.transform(X), 1e7 if np.isinf(t) else t, weights)
    oracle = {
        "loo": reference.mean_squared_leave_one_out,
        "gcv": reference.gcv,
        "reml": reference.reml,
    }[criterion]
    for g, gamma in enumerate(grid):
        expected = oracle(K, np.ones((40, 1)), y, gamma, weights)
        assert_allclose(model.criterion_path_[g], expected, rtol=1e-4 if np.isinf(t) else 1e-8)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")
def test_auto_takes_features_that_nearly_depend_on_each_other(criterion, apart):
    """The criterion of a variance that was chosen is that of a fit which is given it.

    Topics of few documents are such features: two are of one document, but for a trace in another.
    """
    X, y, _ = data()
    topics = np.zeros((len(X), 2))
    topics[7], topics[9, 0] = (0.04, 0.2), apart
    X = np.c_[X, topics]

    def fitted(variance, grid):
        model = GRLSRegressor(
            KERNEL.on([0, 1, 2]),
            features=Columns([2, 3, 4]),
            regularization=criterion,
            regularization_grid=grid,
            feature_variance=variance,
        )
        return model.fit(X, y)

    chosen = fitted("auto", 20)
    at = list(chosen.regularization_path_).index(chosen.regularization_)
    again = fitted(chosen.feature_variance_, [chosen.regularization_])
    assert_allclose(again.criterion_path_[0], chosen.criterion_path_[at], rtol=1e-8)


@pytest.mark.parametrize("unit", [2.0**-500, 2.0**-300, 2.0**520, 2.0**800])
@pytest.mark.parametrize("variance", [1.0, "auto"])
def test_units_of_a_feature_do_not_matter_however_large_or_small(variance, unit):
    X, y, _ = data()
    predicted = []
    for scale in (1.0, unit):
        given = np.c_[X[:, :2], scale * X[:, 2]]
        model = GRLSRegressor(KERNEL.on([0, 1]), features=Columns([1, 2]), feature_variance=variance)
        predicted.append(model.fit(given, y).predict(given))
    assert_allclose(predicted[1], predicted[0], rtol=1e-9)


def test_auto_uses_good_features_and_lets_useless_ones_fade():
    rng = np.random.default_rng(0)
    X, _, _ = data(60)
    helpful = 20 * X[:, 2]
    good = GRLSRegressor(KERNEL, features=Columns(2), feature_variance="auto").fit(
        X, helpful + np.sin(2 * X[:, 0])
    )
    assert good.feature_variance_ > 100
    noise = rng.normal(size=(1000, 30))

    def useless(X):
        rows = (np.abs(X).sum(axis=1) * 1e6).astype(int) % 1000  # nothing to do with y
        return noise[rows]

    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1])
    scores = {}
    for name, options in {
        "free": {"features": useless},
        "none": {"features": None},
        "auto": {"features": useless, "feature_variance": "auto"},
    }.items():
        model = GRLSRegressor(KERNEL, regularization="loo", **options).fit(X, y)
        scores[name] = model.loo_score_
    assert scores["auto"] >= max(scores["free"], scores["none"]) - 1e-6
    assert scores["auto"] > scores["free"] + 0.1


@pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")
def test_auto_takes_a_weight_of_two_for_the_row_twice():
    X, y, _ = data(30)
    counts = np.random.default_rng(1).integers(1, 4, 30)
    options = {"features": "linear", "feature_variance": "auto", "regularization_grid": [1e-3, 1e-2, 1e-1]}
    weighted = GRLSRegressor(KERNEL, **options).fit(X, y, sample_weight=counts.astype(float))
    copied = GRLSRegressor(KERNEL, **options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.feature_variance_ == pytest.approx(copied.feature_variance_)
    assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-8)


@pytest.mark.slow
def test_auto_leaves_out_features_whose_gain_is_chance():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(60, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
    noise = rng.normal(size=(60, 1))
    chosen = []
    for seed in range(10):
        z = np.random.default_rng(seed).permutation(noise)
        model = GRLSRegressor(KERNEL, features=lambda K, z=z: np.c_[np.ones(60), z], feature_variance="auto")
        chosen.append(model.fit(X, y).feature_variance_ == 0)
    assert np.mean(chosen) >= 0.5


def test_auto_serves_classifiers_too():
    X, y = load_iris(return_X_y=True)
    model = GRLSClassifier(KERNEL, features="quadratic", feature_variance="auto").fit(X, y)
    assert model.loo_score_ > 0.95


def test_a_variance_that_cannot_be_is_a_clear_error():
    X, y, _ = data()
    for bad in (-1.0, np.nan, -np.inf):
        with pytest.raises(ValueError, match="feature_variance"):
            GRLSRegressor(feature_variance=bad).fit(X, y)
    for bad in ("much", True, None):
        with pytest.raises((ValueError, TypeError), match="feature_variance"):
            GRLSRegressor(feature_variance=bad).fit(X, y)
    with pytest.raises(ValueError, match='needs regularization="loo"'):
        GRLSRegressor(feature_variance="auto", regularization=0.1).fit(X, y)
    with pytest.raises(ValueError, match='cannot be chosen by "reml"'):
        GRLSRegressor(feature_variance="auto", regularization="reml").fit(X, y)
    with pytest.raises(ValueError, match="per_output=False"):
        GRLSRegressor(feature_variance="auto", per_output=True).fit(X, y)
    with pytest.raises(ValueError, match="exact"):
        GRLSRegressor(feature_variance=1.0, regularization=0.1, formulation="published").fit(X, y)


@pytest.mark.parametrize("unit", [1e90, 1e-90])
def test_the_unit_of_the_targets_does_not_decide_about_features(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = 1 + 3 * X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=30)
    model = GRLSRegressor(Gaussian(1.0), features="linear", feature_variance="auto")
    assert model.fit(X, unit * y).feature_variance_ == model.fit(X, y).feature_variance_ > 0
