"""Positive definite and conditionally positive definite kernels: what each guarantees and asks for."""

import numpy as np
import pandas as pd
import pytest
import reference
from catalogue import ORDERS, UNKNOWN
from grls import GRLSClassifier, GRLSRegressor
from grls.features import PolynomialTrend
from grls.kernels import (
    Gaussian,
    Linear,
    Log,
    Matern,
    Multiquadric,
    Polyharmonic,
    RationalQuadratic,
    ThinPlate,
)
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.interpolate import RBFInterpolator
from sklearn.preprocessing import PolynomialFeatures

TRENDS = {0: None, 1: "constant", 2: "linear", 3: "quadratic"}


@pytest.mark.parametrize(("kernel", "order"), ORDERS, ids=lambda value: repr(value))
def test_a_kernel_is_definite_on_what_its_polynomials_leave(kernel, order):
    assert kernel.order == order
    X = np.random.default_rng(0).uniform(size=(60, 3))
    K = kernel(X)
    assert_allclose(K, K.T, atol=1e-13 * np.abs(K).max())
    if order:
        N = reference.null_space(reference.polynomials(X, order - 1))
        K = N.T @ K @ N
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(kernel(X)).max() * len(X)


@pytest.mark.parametrize(
    ("kernel", "order"),
    [(k, q) for k, q in ORDERS if q and not repr(k).startswith(("2.0", "Gau"))],
    ids=repr,
)
def test_the_order_is_not_larger_than_it_must_be(kernel, order):
    X = np.random.default_rng(0).uniform(size=(60, 3))
    T = reference.polynomials(X, order - 2) if order > 1 else np.empty((60, 0))
    N = reference.null_space(T)
    assert np.linalg.eigvalsh(N.T @ kernel(X) @ N).min() < -1e-6


@pytest.mark.parametrize("kernel", UNKNOWN, ids=repr)
def test_nothing_is_promised_of_other_compositions(kernel):
    assert kernel.order is None


def data(m=80, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(m, d)) * 3 + 5
    y = np.stack([np.sin(X).sum(axis=1) + X[:, 0], X[:, -1] ** 2], axis=1) + 0.1 * rng.normal(size=(m, 2))
    return X, y, rng.uniform(-1.2, 1.2, size=(50, d)) * 3 + 5


@pytest.mark.parametrize(
    ("kernel", "name", "degree"),
    [
        (ThinPlate(), "thin_plate_spline", 1),
        (ThinPlate(), "thin_plate_spline", 2),
        (Polyharmonic(1), "linear", 0),
        (Polyharmonic(3), "cubic", 1),
        (Polyharmonic(5), "quintic", 2),
        (Multiquadric(0.8), "multiquadric", 0),
        (Multiquadric(0.8), "multiquadric", 2),
        (RationalQuadratic(np.sqrt(0.5) * 0.8, 1.0), "inverse_quadratic", 0),
    ],
)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_fits_equal_those_of_rbf_interpolator(kernel, name, degree, d):
    X, y, X_new = data(d=d)
    smoothing = 0.05
    epsilon = 1 / 0.8 if "quadric" in name or "quadratic" in name else 1
    peer = RBFInterpolator(X, y, kernel=name, degree=degree, smoothing=smoothing, epsilon=epsilon)
    features = {0: "constant", 1: "linear", 2: "quadratic"}[degree]
    model = GRLSRegressor(kernel, features=features, regularization=smoothing / len(X)).fit(X, y)
    assert_allclose(model.predict(X_new), peer(X_new), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("kernel", "order"), [(k, q) for k, q in ORDERS if q], ids=repr)
def test_missing_polynomials_are_named_with_the_remedy(kernel, order):
    X, y, _ = data(d=3)
    lesser = TRENDS[order - 1]
    remedy = {1: "constant", 2: "linear", 3: "quadratic"}[order]
    with pytest.raises(ValueError, match=rf'order {order}.*is missing; use features="{remedy}"'):
        GRLSRegressor(kernel, features=lesser, regularization=1e-3).fit(X, y)
    GRLSRegressor(kernel, features=TRENDS[order], regularization=1e-3).fit(X, y)
    labels = y[:, 0] > 5
    with pytest.raises(ValueError, match="conditionally positive definite"):
        GRLSClassifier(kernel, features=lesser).fit(X, labels)
    GRLSClassifier(kernel, features=TRENDS[order]).fit(X, labels)


def test_an_order_beyond_the_named_trends_asks_for_a_polynomial_trend():
    X, y, _ = data()
    with pytest.raises(ValueError, match=r"use PolynomialTrend\(3\) as features"):
        GRLSRegressor(Polyharmonic(7), features="quadratic").fit(X, y)
    GRLSRegressor(Polyharmonic(7), features=PolynomialTrend(3), regularization=1e-3).fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_only_the_columns_a_kernel_reads_are_asked_for(form):
    X, y, _ = data(d=3)
    kernel = ThinPlate().on([2, 0]) + Gaussian(1.0)

    def trend(columns):
        return lambda A: np.column_stack(
            [np.ones(A.shape[0]), A.toarray()[:, columns] if sparse.issparse(A) else A[:, columns]]
        )

    GRLSRegressor(kernel, features=trend([0, 2])).fit(form(X), y)
    with pytest.raises(ValueError, match="and x2 is missing"):
        GRLSRegressor(kernel, features=trend([0, 1])).fit(form(X), y)


def test_each_summand_asks_for_its_own_polynomials():
    X, y, _ = data(d=3)
    kernel = ThinPlate().on([0]) + Log().on([1, 2])
    GRLSRegressor(kernel, features=lambda A: np.column_stack([np.ones(len(A)), A[:, 0]])).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel ThinPlate\(\).*and x0 is missing"):
        GRLSRegressor(kernel, features=lambda A: np.column_stack([np.ones(len(A)), A[:, 1:]])).fit(X, y)


def test_missing_columns_go_by_the_names_of_a_data_frame():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=["east", "north"])
    with pytest.raises(ValueError, match="and east is missing"):
        GRLSRegressor(ThinPlate(), features="constant").fit(frame, y)


def test_any_features_with_the_right_span_will_do():
    X, y, X_new = data()
    mixing = np.array([[2.0, 1.0, 0.0], [0.0, 1e4, 3.0], [1.0, 0.0, 1e-4]])
    plain = GRLSRegressor(ThinPlate(), features="linear", regularization=1e-3).fit(X, y)
    for features in (
        PolynomialFeatures(1),
        lambda A: np.column_stack([np.ones(len(A)), A]) @ mixing,
    ):
        model = GRLSRegressor(ThinPlate(), features=features, regularization=1e-3).fit(X, y)
        assert_allclose(model.predict(X_new), plain.predict(X_new), rtol=1e-6)


def test_float32_data_are_not_refused_for_their_rounding():
    X, y, _ = data()
    X = (X + 1000).astype(np.float32)
    model = GRLSRegressor(ThinPlate(), features=PolynomialFeatures(1), regularization=1e-3).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("feature_variance", [1.0, 0.0, "auto"])
def test_the_polynomials_that_a_kernel_needs_stay_free(feature_variance):
    X, y, X_new = data()
    grid = {"regularization": "loo", "regularization_grid": [1e-4, 1e-3, 1e-2]}
    free = GRLSRegressor(ThinPlate(), features="linear", **grid).fit(X, y)
    model = GRLSRegressor(ThinPlate(), features="linear", feature_variance=feature_variance, **grid)
    assert_allclose(model.fit(X, y).predict(X_new), free.predict(X_new), rtol=1e-9)
    # The squares beside them have the prior: a kernel of their own.
    gamma, tau = 1e-3, 1.0 if feature_variance == "auto" else feature_variance
    squares = GRLSRegressor(ThinPlate(), features="quadratic", regularization=gamma, feature_variance=tau)
    squares.fit(X, y)
    T = squares.features_.about_the_middle(X)
    linear, Z = T[:, :3], reference.standardised(T, T)[:, 2:]
    Z = Z - linear @ np.linalg.lstsq(linear, Z, rcond=None)[0]  # all that the free ones leave of it
    K = ThinPlate()(X) + tau * Z @ Z.T
    c, beta = reference.solve_exact(K, linear, y, gamma)
    assert_allclose(squares.predict(X), K @ c + linear @ beta, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_regularization_is_chosen_for_a_conditionally_definite_kernel(criterion):
    X, y, X_new = data()
    model = GRLSRegressor(ThinPlate(), features="linear", regularization=criterion).fit(X, y[:, 0])
    truth = np.sin(X_new).sum(axis=1) + X_new[:, 0]
    assert np.sqrt(np.mean((model.predict(X_new) - truth) ** 2)) < 0.25


def test_leave_one_out_predictions_of_a_thin_plate_are_those_of_brute_force():
    X, y, _ = data(m=25)
    model = GRLSRegressor(ThinPlate(), features="linear", regularization="loo").fit(X, y[:, 0])
    m, gamma = len(X), model.regularization_
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        left = GRLSRegressor(ThinPlate(), features="linear", regularization=gamma * m / (m - 1))
        left.fit(X[rest], y[rest, 0])
        assert_allclose(left.predict(X[[i]])[0], model.loo_predictions_[i], rtol=1e-7)


@pytest.mark.parametrize("kernel", [ThinPlate(), Multiquadric(0.7), Log(), Polyharmonic(5)], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_variances_equal_dense_universal_kriging(kernel, weighted):
    X, y, X_new = data()
    y = y[:, 0]
    rng = np.random.default_rng(1)
    w = rng.uniform(0.5, 2, size=len(X)) if weighted else np.ones(len(X))
    gamma = 1e-3
    model = GRLSRegressor(kernel, features="quadratic", regularization=gamma)
    model.fit(X, y, sample_weight=w if weighted else None)
    T, T_new = reference.polynomials(X, 2), reference.polynomials(X_new, 2)
    expected, cov = reference.kriging_system(
        kernel(X), kernel(X, X_new), kernel(X_new), T, T_new, y, gamma, w
    )
    mean, std = model.predict(X_new, return_std=True)
    assert_allclose(std**2, np.diag(cov), rtol=1e-5)
    assert_allclose(model.predict(X_new, return_cov=True)[1], cov, rtol=1e-4, atol=1e-5 * cov.max())
    assert_allclose(mean, expected, rtol=1e-6)
    # The kernel is known up to polynomials of degree below its order, and so are the shares of these. The
    # other coefficients have the variances they have beside any kernel that differs by such polynomials.
    n_own = reference.polynomials(X, kernel.order - 1).shape[1]
    assert np.isnan(model.feature_coef_std_[:n_own]).all()
    own = reference.polynomials(X, kernel.order - 1)
    definite = kernel(X) + 100 * own @ own.T
    none = np.empty((0, T.shape[1]))
    _, gls, _ = reference.universal_kriging(
        definite, np.empty((len(X), 0)), np.empty((0, 0)), T, none, y, gamma, w
    )
    assert_allclose(model.feature_coef_std_[n_own:] ** 2, np.diag(gls)[n_own:], rtol=1e-5)


# The norm.


@pytest.mark.parametrize("kernel", [Gaussian(1.0), ThinPlate(), Linear() + Matern(2.0)], ids=repr)
def test_the_norm_is_that_of_the_kernel_part(kernel):
    X, y, _ = data()
    model = GRLSRegressor(kernel, features="linear", regularization=1e-3).fit(X, y)
    c = model.dual_coef_
    assert_allclose(model.rkhs_norm_, np.sqrt(np.einsum("ik,ij,jk->k", c, kernel(X), c)), rtol=1e-9)
    smoother = GRLSRegressor(kernel, features="linear", regularization=1.0).fit(X, y)
    assert np.all(smoother.rkhs_norm_ < model.rkhs_norm_)
