"""Kernels of labels, of absolute differences and of compact support; scikit-learn's parameters."""

import pickle

import grls
import numpy as np
import pandas as pd
import pytest
import reference
from grls import GRLSClassifier, GRLSRegressor
from grls.kernels import (
    ArcCosine,
    Categorical,
    Gaussian,
    Laplace,
    Overlap,
    Polynomial,
    Spherical,
    Wendland,
)
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import OrdinalEncoder


def labels(n=60, d=4, seed=0):
    return np.random.default_rng(seed).integers(0, 3, size=(n, d)).astype(float)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("d", [1, 4, 40])
def test_labels_are_equal_or_not(d, form):
    X, Z = labels(50, d), labels(30, d, 1)
    widths = np.linspace(0.5, 2, d)
    assert_allclose(Overlap()(form(X), form(Z)), reference.overlap(X, Z), rtol=1e-12, atol=1e-14)
    assert_allclose(Categorical(1.7)(form(X), form(Z)), reference.categorical(X, Z, 1.7), rtol=1e-12)
    assert_allclose(Categorical(widths)(form(X), form(Z)), reference.categorical(X, Z, widths), rtol=1e-12)
    assert np.all(np.diag(Overlap()(form(X))) == 1)
    # Codes are names: any others give the same kernel.
    renamed = {0.0: -7.5, 1.0: 1e300, 2.0: 0.0}
    X2, Z2 = (np.vectorize(renamed.get)(A) for A in (X, Z))
    assert np.array_equal(Categorical(widths)(form(X2), form(Z2)), Categorical(widths)(X, Z))


@pytest.mark.parametrize("d", [2, 5])
def test_kernels_of_labels_are_definite(d):
    X = np.unique(labels(200, d), axis=0)
    for kernel in (Overlap(), Categorical(0.3), Categorical(5.0), Categorical(np.linspace(0.2, 3, d))):
        assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12 * len(X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_float32_does_not_merge_labels(form):
    X = np.repeat([[16777216.0, 1.0], [16777217.0, 1.0], [16777218.0, 2.0]], 10, axis=0)
    y = np.repeat([0.0, 5.0, -5.0], 10)
    model = GRLSRegressor(Categorical(0.5), regularization=1e-4, precision="single").fit(form(X), y)
    assert_allclose(model.predict(form(X)), y, atol=0.05)


def test_tables_of_numbers_and_labels_are_sums_of_kernels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.uniform(size=300), "colour": rng.integers(0, 4, 300), "noise": rng.integers(0, 4, 300)}
    )
    y = np.sin(5 * frame["size"]) + np.array([0.0, 2.0, -1.0, 0.5])[frame["colour"]]
    kernel = Gaussian().on("size") + Categorical("medians").on(["colour", "noise"])
    model = GRLSRegressor(kernel, optimize=True, regularization="reml").fit(frame[:200], y[:200])
    assert model.score(frame[200:], y[200:]) > 0.999
    learnt = model.kernel_.k2.kernel.sigma
    assert learnt[1] > 5 * learnt[0]  # a column without effect has a large width
    classes = GRLSClassifier(Overlap().on([1]) + Gaussian().on([0])).fit(frame[:200], y[:200] > 0.5)
    assert classes.score(frame[200:], y[200:] > 0.5) > 0.9


@pytest.mark.parametrize("dtype", [object, "category", "string"])
def test_text_is_refused_with_the_way_out(dtype):
    frame = pd.DataFrame({"colour": ["red", "blue", "red", "green"], "size": [1.0, 2.0, 3.0, 4.0]})
    frame["colour"] = frame["colour"].astype(dtype)
    message = r"could not convert string to float.*column.*Overlap\(\).on.*through a transformer"
    with pytest.raises(ValueError, match=message):
        Overlap()(frame)
    with pytest.raises(ValueError, match=message):
        GRLSRegressor(Overlap()).fit(frame, [1.0, 2.0, 1.0, 3.0])
    codes = frame.assign(colour=OrdinalEncoder().fit_transform(frame[["colour"]]))
    model = GRLSRegressor(Categorical(0.5).on("colour"), regularization=1e-3).fit(codes, [1.0, 2.0, 1.0, 3.0])
    assert_allclose(model.predict(codes), [1.0, 2.0, 1.0, 3.0], atol=0.1)
    with pytest.raises(ValueError, match=message):
        model.predict(frame)
    viewed = GRLSRegressor(
        Categorical(0.5).after(OrdinalEncoder()).on(["colour"]), features=None, regularization=1e-3
    ).fit(frame, [1.0, 2.0, 1.0, 3.0])
    assert_allclose(viewed.predict(frame), [1.0, 2.0, 1.0, 3.0], atol=0.1)


@pytest.mark.parametrize("dtype", [object, "category", "string", "datetime64[ns]"])
@pytest.mark.parametrize("columns", ["soil", ["soil"]])
def test_named_columns_of_text_or_dates_are_compared_as_their_codes_are(dtype, columns):
    rng = np.random.default_rng(0)
    codes = pd.DataFrame({"x": rng.uniform(size=60), "soil": rng.integers(0, 3, 60).astype(float)})
    names = np.array(["2020-03-01", "2019-01-01", "2021-07-01", "2018-01-01"])
    frame = codes.assign(soil=pd.Series(names[codes["soil"].astype(int)]).astype(dtype))
    y = np.sin(5 * codes["x"]) + codes["soil"] ** 2
    for kernel, optimize in (
        (Gaussian(0.5).on(["x"]) + 0.5 * Categorical().on(columns), True),
        (Overlap().on(columns), None),
        (Gaussian(0.5).on("x") * (2.0 * Categorical(0.7)).on(columns), True),
    ):
        expected, model = (
            GRLSRegressor(kernel, features=None, optimize=optimize, regularization="loo").fit(
                rows[:50], y[:50]
            )
            for rows in (codes, frame)
        )
        assert_allclose(model.predict(frame[50:]), expected.predict(codes[50:]), rtol=1e-8)
        new = frame[50:].assign(soil=pd.Series(names[[3] * 10], frame.index[50:]).astype(dtype))
        assert_allclose(
            model.predict(new), expected.predict(codes[50:].assign(soil=9.0)), rtol=1e-8, atol=1e-12
        )
        assert_allclose(pickle.loads(pickle.dumps(model)).predict(new), model.predict(new))
    assert_allclose(Overlap().on(columns)(frame), Overlap().on("soil")(codes))
    with pytest.raises((TypeError, ValueError), match=r"Kernels read numbers|convert them to numbers"):
        (Gaussian(1.0) + Categorical(1.0)).on(["x", "soil"])(frame)


def test_categories_that_are_numbers_are_read_as_they_are():
    frame = pd.DataFrame({"kind": pd.Categorical([3, 1, 3, 2]), "shape": [True, False, True, True]})
    assert_allclose(Overlap()(frame)[0], [1.0, 0.0, 1.0, 0.5])


def test_median_width_of_labels_is_the_number_that_differ():
    X = np.unique(labels(100, 5), axis=0)
    differ = (X[:, None] != X[None]).sum(axis=2)[np.triu_indices(len(X), 1)]
    assert Categorical().resolve(X).sigma == pytest.approx(np.median(differ), rel=1e-12)
    assert_allclose(Categorical("medians").resolve(X).sigma, np.full(5, 5.0))


# Absolute differences.


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("d", [3, 60])
def test_laplace_of_absolute_differences_is_that_of_scikit_learn(d, form):
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) for n in (40, 30))
    X[3], Z[5], Z[7] = 0, 0, X[9]
    got = Laplace(1.7, "l1")(form(X), form(Z))
    assert_allclose(got, laplacian_kernel(X, Z, gamma=1 / 1.7), rtol=1e-12)
    assert got[9, 7] == got[3, 5] == 1
    widths = np.linspace(0.5, 3, d)
    assert_allclose(Laplace(widths, "l1")(form(X), form(Z)), reference.laplace_l1(X, Z, widths), rtol=1e-11)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_absolute_differences_keep_their_digits(form):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 30)) * 2**20) / 2**20
    Z = X + rng.integers(-8, 9, size=X.shape) / 2**26
    expected = np.abs(X - Z).sum(axis=1)
    sigma = expected.mean()
    assert_allclose(-sigma * np.log(np.diag(Laplace(sigma, "l1")(form(X), form(Z)))), expected, rtol=1e-8)
    offset = 2.0**20
    whole = rng.integers(-256, 257, size=(40, 3)) / 256
    assert_allclose(Laplace(2.0, "l1")(form(whole + offset)), Laplace(2.0, "l1")(whole), rtol=1e-11)


def test_widths_of_absolute_differences_start_from_their_medians():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 10.0, 100.0]
    upper = np.triu_indices(40, 1)
    each = np.abs(X[:, None] - X[None])
    assert Laplace(norm="l1").resolve(X).sigma == pytest.approx(np.median(each.sum(axis=2)[upper]))
    assert_allclose(Laplace("medians", "l1").resolve(X).sigma, 3 * np.median(each[upper], axis=0))


def test_the_density_of_absolute_differences_is_a_product():
    widths = [0.7, 2.0]
    omega = np.random.default_rng(0).normal(size=(20, 2))
    each = [Laplace(width).spectral_density(omega[:, [c]]) for c, width in enumerate(widths)]
    assert_allclose(Laplace(widths, "l1").spectral_density(omega), each[0] * each[1], rtol=1e-12)
    for kernel in (Spherical(1.0), Categorical(1.0), ArcCosine()):
        with pytest.raises(ValueError, match="has no spectral density"):
            kernel.spectral_density(omega)


def test_no_metric_is_learnt_for_absolute_differences():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"for one kernel of distances .*got Laplace.*'l1'"):
        GRLSRegressor(Laplace(norm="l1"), optimize="metric").fit(X, X[:, 0])


def test_norms_of_one_column_agree():
    X = np.random.default_rng(0).normal(size=(30, 1))
    assert_allclose(Laplace(0.6, "l1")(X), Laplace(0.6)(X), rtol=1e-13)


# Parameters as scikit-learn gives them.


def test_gamma_of_scikit_learn_is_a_width():
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert_allclose(Gaussian.from_gamma(0.3)(X), rbf_kernel(X, gamma=0.3), rtol=1e-12)
    assert_allclose(Laplace.from_gamma(0.3)(X), laplacian_kernel(X, gamma=0.3), rtol=1e-12)
    assert_allclose(
        Laplace.from_gamma(0.3, norm="l2")(X), np.exp(-0.3 * np.sqrt(reference.squared_distances(X, X)))
    )
    for degree, coef0 in ((1, 0.0), (3, 1.0), (4, 2.5)):
        assert_allclose(
            Polynomial.from_gamma(0.3, degree, coef0)(X),
            polynomial_kernel(X, degree=degree, gamma=0.3, coef0=coef0),
            rtol=1e-11,
            atol=1e-12,
        )
    gammas = np.array([0.1, 0.2, 0.3, 0.4])
    assert_allclose(Gaussian.from_gamma(gammas)(X), rbf_kernel(X * np.sqrt(gammas), gamma=1.0), rtol=1e-12)
    assert_allclose(Laplace.from_gamma(gammas)(X), laplacian_kernel(X * gammas, gamma=1.0), rtol=1e-12)


@pytest.mark.parametrize("make", [Gaussian.from_gamma, Laplace.from_gamma, Polynomial.from_gamma])
def test_a_gamma_that_cannot_be_is_refused(make):
    for gamma, error in ((0.0, ValueError), (-1.0, ValueError), (np.nan, ValueError), ("scale", TypeError)):
        with pytest.raises(error, match="gamma"):
            make(gamma)
    with pytest.raises(ValueError, match="degree"):
        Polynomial.from_gamma(1.0, degree=0)
    with pytest.raises(ValueError, match="coef0 must be at least 0"):
        Polynomial.from_gamma(1.0, coef0=-1.0)


# Compact support.


def test_supports_end_at_the_width():
    r = np.array([[0.0], [0.5], [1.9999999], [2.0], [2.1], [1e200]])
    for kernel in (Spherical(2.0), *(Wendland(2.0, k) for k in range(4))):
        values = kernel([[0.0]], r)[0]
        assert values[0] == 1
        assert values[1] > values[2] > 0
        assert np.all(values[3:] == 0)


@pytest.mark.parametrize("smoothness", range(4))
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_wendland_is_definite_in_its_dimension(smoothness, d):
    X = np.random.default_rng(0).uniform(size=(120, d))
    K = Wendland(1.0, smoothness)(X)
    assert np.linalg.eigvalsh(K).min() > -1e-13 * len(X)


def test_definiteness_ends_with_the_dimension():
    # A simplex with its centre: points that are far from each other, and all near one.
    X = np.vstack([np.eye(200), np.full((1, 200), 1 / 200)])
    for name, kernel in (
        ("spherical", reference.spherical),
        ("wendland", lambda A, B, s: reference.wendland(A, B, s, 0, 1)),
    ):
        assert np.linalg.eigvalsh(kernel(X, X, 1.4)).min() < -0.1, name
    with pytest.raises(ValueError, match=r"at most 3 columns, and reads 200.*use Wendland"):
        Spherical(1.4)(X)
    assert np.linalg.eigvalsh(Wendland(1.4, 0)(X)).min() > 0
    assert Spherical(1.4).on([0, 5, 7])(X).shape == (201, 201)
    with pytest.raises(ValueError, match="at most 3 columns"):
        GRLSRegressor(Spherical()).fit(X, np.arange(201.0))


def test_wendland_is_as_smooth_as_it_says():
    # Derivatives at zero: even up to 2k, so that |r| to an odd power comes in at 2k + 1.
    h = 0.01
    r = np.array([[h], [2 * h], [4 * h]])
    for k in range(4):
        values = Wendland(1.0, k, dimension=3)([[0.0]], r)[0]
        even = np.array([(r[:, 0] ** (2 * p)) for p in range(1, k + 1)]).T
        if k == 0:
            assert (1 - values[0]) / h > 1
        elif k == 1:  # 1 − values = c r² + O(r³)
            assert_allclose((1 - values) / even[:, 0], (1 - values[0]) / even[0, 0], rtol=0.2)
        else:
            assert_allclose((1 - values) / even[:, 0], (1 - values[0]) / even[0, 0], rtol=0.03)


# Arc-cosine.


def test_arc_cosine_is_the_mean_over_random_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    W = rng.normal(size=(400_000, 3))
    for degree in range(3):
        units = (X @ W.T > 0) * (X @ W.T) ** degree
        K = ArcCosine(degree, c=0.0)(X)
        assert_allclose(2 * units @ units.T / len(W), K, rtol=0.05, atol=0.05 * np.abs(K).max())


def test_layers_take_the_inner_products_of_the_one_before():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    first = ArcCosine(1, 0.5)(X)
    eigenvalues, vectors = np.linalg.eigh(first)
    embedded = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    assert_allclose(ArcCosine(1, 0.5, layers=2)(X), ArcCosine(1, 0.0)(embedded), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_of_zeros_and_parallel_rows(form):
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [-3.0, -6.0], [3.0, 6.0 + 1e-12]])
    for degree, own in ((0, 1.0), (1, 1.0), (2, 3.0)):
        K = ArcCosine(degree, c=0.0)(form(X))
        assert np.all(K[0] == 0)
        assert K[1, 2] == pytest.approx(own * 10.0**degree, rel=1e-12)
        assert K[1, 3] == pytest.approx(0, abs=1e-7)
        assert np.isfinite(K).all()


def test_order_zero_sees_directions_only():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert_allclose(ArcCosine(0, c=0.0)(X), ArcCosine(0, c=0.0)(X * np.arange(1, 21)[:, None]), rtol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        Laplace(norm="l1"),
        Laplace("medians", "l1"),
        Spherical(),
        Wendland(),
        Wendland("medians", 2),
        ArcCosine(1),
        ArcCosine(2, layers=2),
        ArcCosine(0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_parameters_are_tuned_without_loss(kernel, criterion):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 3))
    y = np.abs(X[:, 0]) + np.sin(3 * X[:, 1]) + 0.05 * rng.normal(size=120)
    model = GRLSRegressor(kernel, optimize=True, regularization=criterion).fit(X, y)
    start = GRLSRegressor(kernel, regularization=criterion).fit(X, y)
    assert model.optimization_.criterion.min() <= np.min(start.criterion_path_) + 1e-9 * abs(
        np.min(start.criterion_path_)
    )
    assert model.predict(X).shape == (120,)
    assert grls.NystromGRLSRegressor(model.kernel_, n_centers=40).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("sigma", [1.7, [0.5, 2.0, 1.1]], ids=["one width", "widths"])
def test_without_what_labels_share_the_kernel_runs_from_zero_to_one(sigma):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(30, 3)).astype(float)
    rho = np.exp(-np.sum(1 / np.broadcast_to(sigma, 3)))
    K = Categorical(sigma, shared=False)(X)
    assert_allclose(K, (reference.categorical(X, X, np.broadcast_to(sigma, 3)) - rho) / (1 - rho), atol=1e-14)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert_allclose(Categorical(0.3, shared=False).on([1])(X), Overlap().on([1])(X))
    with pytest.raises(ValueError, match=r"Categorical\.shared must be"):
        Categorical(shared="no")(X)
