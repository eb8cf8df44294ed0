"""What a fit says of its features: coefficients in the user's units, their errors, when not to believe."""

import warnings

import numpy as np
import pandas as pd
import pytest
import reference
from grls import (
    ConfoundedFeaturesWarning,
    DependentFeaturesWarning,
    ExtrapolationWarning,
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    NystromGRLSRegressor,
    PriorRLSRegressor,
    SVMGBClassifier,
)
from grls.features import PolynomialTrend
from grls.kernels import Gaussian, Laplace, Linear, Precomputed
from numpy.testing import assert_allclose, assert_array_equal


def wave(m=80, seed=0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, m))[:, None]
    return x, 3 * x[:, 0] + np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=m)


# Units, names and shapes.


def test_the_constant_of_a_trend_is_its_value_at_zero():
    x, y = wave()
    model = GRLSRegressor(Gaussian(sigma=1.0), features="linear").fit(x, y)
    assert model.feature_names_free_ == ["1", "x0"]
    assert abs(model.feature_coef_[0]) < 2 * model.feature_coef_std_[0]  # the line passes through zero
    assert abs(model.feature_coef_[1] - 3) < 2 * model.feature_coef_std_[1]
    known, _ = model.decompose(x)
    assert_allclose(known, model.feature_coef_[0] + model.feature_coef_[1] * x[:, 0], rtol=1e-10)
    assert_allclose(known, model.features_.transform(x) @ model.feature_coef_, rtol=1e-10)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("offset", [0.0, 40.0])
def test_coefficients_of_a_trend_are_those_of_plain_monomials(degree, offset):
    rng = np.random.default_rng(degree)
    X = rng.uniform(-1, 2, size=(60, 2)) + offset
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    options = {"regularization": 1e-2, "kernel": Gaussian(1.0)}
    model = GRLSRegressor(features=PolynomialTrend(degree), **options).fit(X, y)
    plain = PolynomialTrend(degree).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfoundedFeaturesWarning)
        same = GRLSRegressor(features=plain.transform, **options).fit(X, y)
    size = np.abs(same.feature_coef_).max()
    assert_allclose(model.feature_coef_, same.feature_coef_, rtol=1e-4, atol=1e-6 * size)
    assert_allclose(model.feature_coef_cov_, same.feature_coef_cov_, rtol=1e-3, atol=1e-4 * size**2)
    assert_allclose(model.predict(X), same.predict(X), atol=1e-6)


def test_predictions_of_a_quadratic_trend_keep_their_digits_far_from_the_origin():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(80, 2))
    y = X[:, 0] ** 2 + X[:, 1]
    near = GRLSRegressor(Gaussian(0.8), features="quadratic", regularization=1e-3).fit(X, y)
    far = GRLSRegressor(Gaussian(0.8), features="quadratic", regularization=1e-3).fit(X + 2**20, y)
    assert_allclose(far.predict(X + 2**20), near.predict(X), atol=1e-7)


def test_one_output_has_no_axis_and_several_have_one():
    x, y = wave(40)
    flat = GRLSRegressor(Gaussian(1.0), features="linear").fit(x, y)
    assert flat.dual_coef_.shape == (40,)
    assert flat.feature_coef_.shape == flat.feature_coef_std_.shape == flat.feature_inflation_.shape == (2,)
    assert flat.feature_coef_cov_.shape == (2, 2)
    both = GRLSRegressor(Gaussian(1.0), features="linear").fit(x, np.c_[y, -y])
    assert both.dual_coef_.shape == (40, 2)
    assert both.feature_coef_.shape == both.feature_inflation_.shape == (2, 2)
    assert both.feature_coef_cov_.shape == (2, 2, 2)
    assert_allclose(both.feature_coef_[:, 0], -both.feature_coef_[:, 1], rtol=1e-9)
    assert NystromGRLSRegressor(n_centers=20).fit(x, y).dual_coef_.ndim == 1
    assert PriorRLSRegressor().fit(x, y).feature_coef_.shape == (1,)


def test_a_function_that_returns_a_data_frame_keeps_its_names():
    x, y = wave()

    def law(points):
        t = np.asarray(points)[:, 0]
        return pd.DataFrame({"rate": t, "decay": np.exp(-t)})

    model = GRLSRegressor(Gaussian(1.0), features=law).fit(x, y)
    assert model.feature_names_free_ == ["rate", "decay"]
    frame = pd.DataFrame({"hours": x[:, 0]})
    assert GRLSRegressor(Gaussian(1.0), features="linear").fit(frame, y).feature_names_free_ == ["1", "hours"]


def test_a_contrast_has_the_variance_of_the_difference_of_two_predictions():
    """With a kernel that vanishes between far groups, a group's mean is its feature alone."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    X = np.c_[group * 1e3 + rng.uniform(0, 1, 60), group]
    y = 2.0 * group + 0.3 * rng.normal(size=60)

    def dummies(points):
        return np.c_[points[:, 1] == 0, points[:, 1] == 1].astype(float)

    model = GRLSRegressor(Laplace(0.3).on(0), features=dummies, regularization=1e-2).fit(X, y)
    a = np.array([-1.0, 1.0])
    variance = a @ model.feature_coef_cov_ @ a
    T = dummies(X)
    _, gls, _ = reference.universal_kriging(
        Laplace(0.3)(X[:, :1]), np.empty((60, 0)), np.empty((0, 0)), T, np.empty((0, 2)), y, 1e-2, np.ones(60)
    )
    assert_allclose(variance, a @ gls @ a, rtol=1e-8)


# Confounding.


def test_inflation_is_the_variance_over_that_of_ordinary_least_squares_with_the_same_noise():
    x, y = wave()
    model = GRLSRegressor(Gaussian(1.0), features="linear", regularization=1e-3).fit(x, y)
    T = np.c_[np.ones(len(x)), x - model.features_.centre_]
    alone = model.noise_variance_[0] * np.linalg.inv(T.T @ T)[1, 1]
    assert_allclose(model.feature_inflation_[1], model.feature_coef_std_[1] ** 2 / alone, rtol=1e-8)


def test_a_kernel_that_takes_a_feature_over_is_said():
    x, y = wave()
    with pytest.warns(ConfoundedFeaturesWarning, match=r"x0.*reml.*optimize"):
        model = GRLSRegressor("gaussian", features="linear").fit(x, y)  # the width is the median distance
    assert model.feature_inflation_[1] > 1e3
    assert model.feature_coef_std_[1] * x.std() > y.std()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = GRLSRegressor("gaussian", features="linear", regularization="reml", optimize=True).fit(x, y)
        GRLSRegressor("gaussian").fit(x, y)  # the constant is exempt
    assert abs(tuned.feature_coef_[1] - 3) < 3 * tuned.feature_coef_std_[1]


# Features that run away.


def test_a_feature_far_outside_the_training_rows_warns_and_names_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    new = rng.normal(size=(5, 2))
    new[3, 1] = 1e3
    for model in (
        GRLSRegressor(Gaussian(2.0), features="linear", regularization=1e-3),
        NystromGRLSRegressor(Gaussian(2.0), features="linear", n_centers=30),
        PriorRLSRegressor(features=lambda x: np.c_[np.ones(len(x)), x**2]),
    ):
        model.fit(X, y)
        with pytest.warns(ExtrapolationWarning, match=r"at 1 of 5 rows \(3\)"):
            model.predict(new)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(np.delete(new, 3, axis=0))
    labels = (y > 0).astype(int)
    labels[:2] = 1 - labels[:2]  # not for a line to separate
    for classifier in (GRLSClassifier, SVMGBClassifier):
        model = classifier(Gaussian(2.0), features="linear").fit(X, labels)
        with pytest.warns(ExtrapolationWarning, match="rows"):
            model.decision_function(new)
    model = GRLogisticClassifier(Gaussian(2.0), features="linear", feature_variance=1.0).fit(X, labels)
    with pytest.warns(ExtrapolationWarning, match="rows"):
        model.predict_proba(new)


@pytest.mark.parametrize("features", ["constant", "linear"])
def test_how_far_a_row_lies_outside_does_not_depend_on_its_weight(features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    new = np.array([[0.1, 0.2], [1e3, 0.0]])
    for weights in (np.full(60, 0.9 / 60), np.where(np.arange(60) < 50, 0.9 / 50, 0.0)):
        for model in (
            GRLSRegressor(Gaussian(2.0), features=features, regularization=1e-3),
            NystromGRLSRegressor(Gaussian(2.0), features=features, n_centers=30, regularization=1e-3),
            PriorRLSRegressor(features=features),
        ):
            model.fit(X, y, sample_weight=weights)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model.predict(X[:5])
            if features == "linear":
                with pytest.warns(ExtrapolationWarning, match=r"at 1 of 2 rows \(1\)"):
                    model.predict(new)


def test_features_without_effect_do_not_warn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    far = np.array([[0.0, 1e3]])
    options = {"features": "linear", "feature_variance": 0.0}
    models = [
        GRLSRegressor(Gaussian(2.0), regularization=1e-3, **options).fit(X, y),
        NystromGRLSRegressor(Gaussian(2.0), n_centers=30, **options).fit(X, y),
        PriorRLSRegressor(**options).fit(X, y),
        SVMGBClassifier(Gaussian(2.0), C=1.0, **options).fit(X, y > 0),
        GRLogisticClassifier(Gaussian(2.0), **options).fit(X, y > 0),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in models:
            model.predict(far)


@pytest.mark.parametrize("seed", range(8))
def test_ordinary_splits_and_a_trend_that_goes_on_are_silent(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 4))
    y = X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.normal(size=100)
    model = GRLSRegressor(Gaussian(2.0), features="linear", regularization=1e-3).fit(X[:80], y[:80])
    x, values = wave()
    trend = GRLSRegressor(Gaussian(1.0), features="linear").fit(x, values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X[80:])
        trend.predict([[12.0], [-3.0], [15.0]])


# The prior.


def test_the_units_of_the_features_do_not_matter_and_neither_do_nearly_equal_columns():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=80)
    odd = np.zeros(80)
    odd[3] = 1.0  # a column that is another one but for one row
    y[3] += 5

    def columns(scale):
        def make(points):
            extra = odd if len(points) == 80 else np.zeros(len(points))
            return np.c_[np.ones(len(points)), scale * points[:, 0], points[:, 0] + 1e-7 * extra]

        return make

    fits = []
    for scale in (1.0, 1e6):
        model = GRLSRegressor(
            Gaussian(1.0), features=columns(scale), feature_variance=1.0, regularization=1e-2
        )
        fits.append(model.fit(X, y).predict(X[:40]))
    assert_allclose(fits[0], fits[1], rtol=1e-7)
    # The direction in which they differ is no way to meet one row.
    assert abs(fits[0][3] - y[3]) > 1


def test_indicators_that_add_up_to_one_hold_the_constant():
    rng = np.random.default_rng(2)
    level = rng.integers(0, 4, 90)
    X = np.c_[rng.normal(size=90), level]
    y = np.array([0.0, 1.0, 5.0, 5.5])[level] + np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)

    def dummies(points):
        return (points[:, [1]] == np.arange(4)).astype(float)

    kernel, tau, gamma = Gaussian(1.0).on(0), 0.7, 1e-2
    model = GRLSRegressor(kernel, features=dummies, feature_variance=tau, regularization=gamma).fit(X, y)
    D = dummies(X)
    Z = (D - D.mean(axis=0)) / D.std(axis=0)
    K = kernel(X) + tau * Z @ Z.T
    c, beta = reference.solve_exact(K, np.ones((90, 1)), y, gamma)
    assert_allclose(model.predict(X), K @ c + beta, atol=1e-8)
    known, _ = model.decompose(X)
    assert_allclose(known, tau * Z @ (Z.T @ c) + beta, atol=1e-8)


@pytest.mark.parametrize("variance", [0.5, "auto"])
def test_leave_one_out_with_a_prior_is_that_of_refits_in_the_same_units(variance):
    """The columns in the units of all rows: then leaving a row out changes nothing but the row."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.2 * rng.normal(size=30)
    model = GRLSRegressor(
        Gaussian(1.0),
        features="linear",
        feature_variance=variance,
        regularization="loo",
        regularization_grid=[3e-2],
    )
    model.fit(X, y)
    tau = model.feature_variance_
    T = reference.polynomials(X, 1)
    if np.isinf(tau):
        K, F = Gaussian(1.0)(X), T
    else:
        K, F = Gaussian(1.0)(X) + reference.feature_kernel(T, T, T, tau), T[:, :1]
    refits = reference.leave_one_out_by_refits(K, F, y, 3e-2)
    assert_allclose(y - model.loo_predictions_, refits, atol=1e-8)
    # Refits that standardise anew differ by what one row changes of a mean and a spread.
    if np.isfinite(tau):
        options = {"features": "linear", "feature_variance": tau}
        again = []
        for i in range(30):
            rest = np.delete(np.arange(30), i)
            m = GRLSRegressor(Gaussian(1.0), regularization=3e-2 * 30 / 29, **options).fit(X[rest], y[rest])
            again.append(m.predict(X[[i]])[0])
        assert_allclose(model.loo_predictions_, again, atol=0.1 * y.std())


@pytest.mark.parametrize("variance", [0.0, 0.5, 30.0])
def test_covariances_with_a_prior_are_those_of_dense_bayes(variance):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    gamma = 1e-2
    model = GRLSRegressor(Gaussian(1.0), features="linear", feature_variance=variance, regularization=gamma)
    model.fit(X, y)
    T = reference.polynomials(X, 1)
    mean, spread = T.mean(axis=0), T.std(axis=0)
    Z = (T[:, 1:] - mean[1:]) / spread[1:]
    precision = np.linalg.inv(Gaussian(1.0)(X) + gamma * 40 * np.eye(40))
    F = np.c_[np.ones(40), Z]
    if variance > 0:
        prior = np.diag([0.0, 1 / variance, 1 / variance])
        covariance = np.linalg.inv(F.T @ precision @ F + prior)
    else:
        covariance = np.zeros((3, 3))
        covariance[0, 0] = 1 / precision.sum()
    A = np.eye(3)
    A[1:, 1:] = np.diag(1 / spread[1:])
    A[0, 1:] = -mean[1:] / spread[1:]
    expected = A @ covariance @ A.T * model.kernel_variance_[0]
    assert_allclose(model.feature_coef_cov_, expected, atol=1e-9 * np.abs(expected).max())


def test_a_prior_in_prior_rls_is_a_weight_of_its_own():
    rng = np.random.default_rng(5)
    X, t = rng.normal(size=(50, 3)), rng.normal(size=50)
    y = X @ [1.0, 0.0, -1.0] + 2 * t + 0.1 * rng.normal(size=50)
    data = np.c_[X, t]

    def drift(points):
        return np.c_[np.ones(len(points)), points[:, 3]]

    covariance, tau, rho = [1.0, 1.0, 1.0, 1e-12], 0.3, 0.2
    for solver in ("cholesky", "cg"):
        model = PriorRLSRegressor(
            covariance=covariance,
            features=drift,
            feature_variance=tau,
            regularization=rho,
            solver=solver,
            tol=1e-12,
        ).fit(data, y)
        z = (t - t.mean()) / t.std()
        K = Linear()(X) + 1e-12 * np.outer(t, t) + tau * np.outer(z, z)
        same = GRLSRegressor(Precomputed(), features="constant", regularization=rho).fit(K, y)
        assert_allclose(model.predict(data), same.predict(K), atol=1e-7)
    with pytest.raises(ValueError, match="feature_variance"):
        PriorRLSRegressor(feature_variance=-1.0).fit(data, y)


def test_a_later_column_is_dropped_and_its_coefficient_is_zero():
    x, y = wave()
    with pytest.warns(DependentFeaturesWarning, match="feature2"):
        model = GRLSRegressor(Gaussian(1.0), features=lambda x: np.c_[np.ones(len(x)), x, 2 * x]).fit(x, y)
    assert_array_equal(model.feature_support_, [True, True, False])
    assert model.feature_coef_[2] == 0
