import pickle
import subprocess
import sys

import grls
import numpy as np
import pandas as pd
import pytest
import reference
from catalogue import FORMULAS
from grls import _core
from grls.kernels import (
    ArcCosine,
    Categorical,
    ChiSquared,
    Constant,
    Function,
    Gaussian,
    Laplace,
    Linear,
    Log,
    Matern,
    Multiquadric,
    Periodic,
    Polyharmonic,
    Polynomial,
    PowerSeries,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spherical,
    ThinPlate,
    Wendland,
    as_kernel,
)
from grls.kernels.widths import median_distance
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import chi2_kernel

DIRECT, WIDE = 4, 50  # columns: distances from differences, and through a matrix product


def points(n, d, seed=0, *, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.sqrt(DIRECT / d)
    return X * (rng.random((n, d)) < density)


def as_float32(X):
    return X.astype(np.float32)


@pytest.mark.parametrize(
    "form", [np.asarray, as_float32, sparse.csr_matrix, sparse.csr_array, np.asfortranarray]
)
@pytest.mark.parametrize("d", [DIRECT, 12, 13, WIDE])
@pytest.mark.parametrize("name", FORMULAS)
def test_kernel_equals_its_numpy_form(name, d, form):
    kernel, formula = FORMULAS[name]
    X, Z = points(37, d, 1, density=0.6), points(23, d, 2, density=0.6)
    if form is as_float32:  # the numbers that float32 holds are the data
        X, Z = as_float32(X).astype(float), as_float32(Z).astype(float)
    np.testing.assert_allclose(kernel(form(X), form(Z)), formula(X, Z), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(kernel(form(X)), formula(X, X), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("d", [3, WIDE])
@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Gaussian, reference.gaussian),
        (Laplace, reference.laplace),
        (Multiquadric, reference.multiquadric),
        (Matern, lambda X, Z, widths: reference.matern(X, Z, widths, 1.5)),
        (RationalQuadratic, lambda X, Z, widths: reference.rational_quadratic(X, Z, widths, 1)),
        (Periodic, lambda X, Z, widths: reference.periodic(X, Z, widths, 1)),
    ],
)
def test_one_width_per_column_divides_each_column_by_its_own(kernel, formula, d):
    X, Z = points(30, d, 3), points(20, d, 4)
    widths = np.linspace(0.5, 3.0, d)
    for form in (np.asarray, sparse.csr_matrix):
        np.testing.assert_allclose(kernel(widths)(form(X), form(Z)), formula(X, Z, widths), rtol=1e-10)
        np.testing.assert_allclose(kernel(list(widths))(form(X)), formula(X, X, widths), rtol=1e-10)


@pytest.mark.parametrize("d", [DIRECT, WIDE])
def test_tiles_fit_together_for_shapes_around_their_borders(d, backend):
    kernel, formula = FORMULAS["nested"]
    X = points(1100, d, 5)
    expected = formula(X[:600], X)
    for n, p in [(1, 1), (1, 513), (255, 129), (256, 128), (257, 511), (600, 1100)]:
        np.testing.assert_allclose(kernel(X[:n], X[:p]), expected[:n, :p], rtol=1e-10, err_msg=f"{n, p}")


def test_threads_do_not_change_a_kernel_matrix(threads):
    kernel, formula = FORMULAS["nested"]
    X, Z = points(900, 20, 6), points(700, 20, 7)
    np.testing.assert_allclose(kernel(X, Z), formula(X, Z), rtol=1e-10)


@pytest.mark.parametrize("d", [DIRECT, WIDE])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_outputs", [1, 7])
def test_times_equals_the_matrix_times_the_coefficients(d, form, n_outputs, backend):
    kernel, formula = FORMULAS["nested"]
    X, Z = points(700, d, 8, density=0.5), points(600, d, 9, density=0.5)
    c = np.random.default_rng(0).normal(size=(600, n_outputs))
    expected = formula(X, Z) @ c
    got = kernel.resolve(X).times(form(X), form(Z), c)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_dense_and_sparse_points_go_together():
    X, Z = points(20, 15, 1, density=0.3), points(30, 15, 2, density=0.3)
    expected = reference.gaussian(X, Z, 1.0)
    np.testing.assert_allclose(Gaussian(1.0)(sparse.csr_matrix(X), Z), expected, rtol=1e-12)
    np.testing.assert_allclose(Gaussian(1.0)(X, sparse.csr_matrix(Z)), expected, rtol=1e-12)
    np.testing.assert_allclose(Gaussian(1.0)(X.astype(np.float32), Z), expected, rtol=1e-5)


def test_sparse_rows_without_entries_and_unsorted_or_repeated_entries_are_read_right():
    X = points(20, 15, 1, density=0.3)
    X[3] = 0
    canonical = sparse.csr_matrix(X)
    coo = canonical.tocoo()
    order = np.lexsort((-coo.col, coo.row))
    unsorted = sparse.csr_matrix((coo.data[order], coo.col[order], canonical.indptr), shape=X.shape)
    doubled = sparse.csr_matrix(
        (np.repeat(coo.data / 2, 2), np.repeat(coo.col, 2), canonical.indptr * 2), shape=X.shape
    )
    for csr in (canonical, unsorted, doubled):
        np.testing.assert_allclose(Gaussian(1.0)(csr), reference.gaussian(X, X, 1.0), rtol=1e-12)
    assert not unsorted.has_sorted_indices  # the caller's matrix is left alone


@pytest.mark.parametrize("d", [DIRECT, WIDE])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_nearly_equal_rows_keep_the_digits_of_their_distance(d, form):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, d)) * 2**20) / 2**20
    Z = X + rng.integers(-8, 9, size=X.shape) / 2**26  # differences are exact in double precision
    expected = np.sqrt(((X - Z) ** 2).sum(axis=1))
    sigma = expected.mean()
    got = -sigma * np.log(np.diag(Laplace(sigma)(form(X), form(Z))))
    np.testing.assert_allclose(got, expected, rtol=1e-8)


@pytest.mark.parametrize("d", [DIRECT, WIDE])
def test_a_row_has_distance_zero_from_itself(d):
    X = points(50, d) + 3
    for form in (np.asarray, sparse.csr_matrix):
        assert np.all(np.diag(Laplace(1e-3)(form(X))) == 1)


@pytest.mark.parametrize("d", [3, WIDE])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplace(2.0), Gaussian(2.0) * Laplace(3.0).on([0, 2])])
def test_an_offset_of_a_million_costs_a_radial_kernel_no_digits(kernel, form, d):
    rng = np.random.default_rng(0)
    X, Z = rng.integers(-256, 257, size=(40, d)) / 256, rng.integers(-256, 257, size=(30, d)) / 256
    offset = 2.0**20
    np.testing.assert_allclose(kernel(form(X + offset), form(Z + offset)), kernel(X, Z), rtol=1e-11)


@pytest.mark.parametrize("d", [3, WIDE])
def test_an_offset_is_harmless_where_distances_and_products_are_read_together(d):
    rng = np.random.default_rng(0)
    X = rng.integers(-256, 257, size=(40, d)) / 256 + 2.0**10
    kernel = Gaussian(2.0) * Linear()
    np.testing.assert_allclose(kernel(X), reference.gaussian(X, X, 2.0) * reference.linear(X, X), rtol=1e-11)


@pytest.mark.parametrize("d", [DIRECT, WIDE])
def test_sparse_columns_in_another_order_keep_the_digits_of_small_distances(d):
    X = points(30, d, 1, density=0.5)
    Z = X + 1e-7 * (X != 0)
    kernel = Laplace(1e-6).on([3, 0, 2])
    np.testing.assert_allclose(
        kernel(sparse.csr_matrix(X), sparse.csr_matrix(Z)), kernel(X, Z), rtol=1e-6, atol=1e-300
    )


# Histograms.


@pytest.mark.parametrize("d", [DIRECT, WIDE])
@pytest.mark.parametrize("form", [np.asarray, as_float32, sparse.csr_matrix])
def test_chi_squared_equals_its_numpy_form_and_scikit_learn(d, form):
    X, Z = np.abs(points(300, d, 1, density=0.5)), np.abs(points(270, d, 2, density=0.5))
    X[3], Z[5], X[7] = 0, 0, Z[9]
    if form is as_float32:
        X, Z = as_float32(X).astype(float), as_float32(Z).astype(float)
    got = ChiSquared(0.7)(form(X), form(Z))
    np.testing.assert_allclose(got, reference.chi_squared(X, Z, 0.7), rtol=1e-12)
    np.testing.assert_allclose(got, chi2_kernel(X, Z, gamma=0.7), rtol=1e-10)
    assert got[7, 9] == got[3, 5] == 1
    mixed = 2.0 * ChiSquared(0.7).on([2, 0]) * Gaussian(1.0) + Linear().on([0, 2])
    expected = 2 * reference.chi_squared(X[:, [2, 0]], Z[:, [2, 0]], 0.7) * reference.gaussian(X, Z, 1.0)
    np.testing.assert_allclose(
        mixed(form(X), form(Z)), expected + reference.linear(X[:, [0, 2]], Z[:, [0, 2]]), rtol=1e-10
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_negative_value_is_no_histogram(form):
    X = np.abs(points(300, 5))
    Z = X.copy()
    Z[290, 2] = -0.25
    for A, B in [(Z, Z), (X, Z), (Z, X)]:
        with pytest.raises(ValueError, match=r"not negative; found -0\.25 in row 290, column 2"):
            ChiSquared()(form(A), form(B))
    ChiSquared().on([0, 1])(form(Z))  # it reads other columns


@pytest.mark.parametrize("d", [DIRECT, WIDE])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_float32_arithmetic_keeps_its_digits_for_every_kernel(d, form):
    X = np.abs(points(60, d, 3, density=0.7))
    y = X[:, 0] - X[:, 1]
    for kernel in [*(kernel for kernel, _ in FORMULAS.values()), ChiSquared(0.5)]:
        if kernel.order is None or (d == WIDE and (kernel.order or 0) > 1):
            continue
        features = {0: None, 1: "constant", 2: "linear", 3: "quadratic"}[kernel.order]
        gamma = np.abs(kernel(X)).max()
        single, double = (
            grls.GRLSRegressor(kernel, features=features, regularization=gamma, precision=precision)
            .fit(form(X), y)
            .predict(form(X))
            for precision in ("single", "double")
        )
        np.testing.assert_allclose(single, double, atol=2e-3 * np.abs(y).max(), err_msg=repr(kernel))


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_diagonal_is_that_of_the_matrix(name, form):
    kernel = FORMULAS[name][0]
    for d in (DIRECT, WIDE):
        X = points(70, d, 4, density=0.6)
        resolved = kernel.resolve(X)
        diagonal = resolved.diagonal(resolved.view(form(X)))
        np.testing.assert_allclose(diagonal, np.diag(kernel(X)), rtol=1e-12, atol=1e-14)


# Names of columns.


def test_columns_go_by_name_in_a_data_frame():
    X = points(20, 4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    by_name = Gaussian(0.8).on(["c", "a"]) * Laplace(1.5).on("b") + Linear().on("d")
    np.testing.assert_allclose(by_name(frame), FORMULAS["columns"][1](X, X), rtol=1e-12)


def test_names_inside_a_choice_of_columns_are_those_of_the_chosen():
    X = points(20, 4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    kernel = (Gaussian(0.8).on("b") + Linear()).on(["d", "b", "a"])
    np.testing.assert_allclose(kernel(frame), FORMULAS["columns of columns"][1](X, X), rtol=1e-12)
    with pytest.raises(ValueError, match="no column 'c'"):
        Gaussian(0.8).on("c").on(["d", "b"])(frame)


def test_a_resolved_kernel_no_longer_needs_the_names():
    X = points(20, 4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    resolved = Gaussian().on(["c", "a"]).resolve(X, list(frame.columns))
    sigma = median_distance(X[:, [2, 0]])
    np.testing.assert_allclose(resolved.matrix(X, X), reference.gaussian(X[:, [2, 0]], X[:, [2, 0]], sigma))


# Parameters.


@pytest.mark.parametrize("name", FORMULAS)
def test_repr_read_back_is_the_same_kernel(name):
    kernel, _ = FORMULAS[name]
    again = eval(repr(kernel), vars(grls.kernels))
    X = points(9, DIRECT)
    np.testing.assert_allclose(again(X), kernel(X), rtol=1e-14)


@pytest.mark.parametrize("columns", [range(2000), range(1, 2000, 3), range(1999, -1, -1), np.arange(2000)])
def test_many_columns_in_a_row_are_shown_as_a_range(columns):
    kernel = Gaussian(1.0).on(columns)
    resolved = kernel.resolve(np.zeros((1, 2000)))
    assert len(repr(resolved)) < 50
    again = eval(repr(resolved), vars(grls.kernels))
    assert list(again.columns) == list(columns)
    assert again.is_same(resolved, 2000)


def test_many_values_are_shown_by_the_first_and_the_last():
    columns = [*range(30), 99, 40]
    assert repr(Linear().on(columns)) == "Linear().on([0, 1, 2, …, 40 (32 in all)])"
    assert repr(Gaussian(np.full(50, 2.0))) == "Gaussian(sigma=[2.0, 2.0, 2.0, …, 2.0 (50 in all)])"
    names = [f"x{i}" for i in range(100)]
    with pytest.raises(
        ValueError, match=r"no column 'y' among \['x0', 'x1', 'x2', …, 'x99' \(100 in all\)\]"
    ):
        Linear().on("y").resolve(np.zeros((1, 100)), names)
    with pytest.raises(ValueError, match=r"twice: \[0, 1, 2, …, 7 \(31 in all\)\]"):
        Linear().on([*range(30), 7])(np.zeros((1, 100)))
    few = Gaussian(1.0).on(list(range(16)))
    assert repr(few) == f"Gaussian(sigma=1.0).on({list(range(16))})"


def test_kernels_are_compared_by_their_formulas_and_not_by_what_is_shown_of_them():
    def same(a, b, n_columns=200):
        assert a.is_same(b, n_columns) == b.is_same(a, n_columns)
        return a.is_same(b, n_columns)

    columns, widths = [*range(50), 99, 70], np.ones(200)
    other_columns, other_widths = [*range(50), 98, 70], widths.copy()
    other_widths[100] = 2.0
    for a, b in (
        (Linear().on(columns), Linear().on(other_columns)),
        (Gaussian(widths), Gaussian(other_widths)),
        (PowerSeries(Linear(), widths), PowerSeries(Linear(), other_widths)),
        (Linear() + Gaussian(1.0), Linear() * Gaussian(1.0)),
        (Matern(1.0, nu=1.5), Matern(1.0, nu=2.5)),
        (2.0 * Linear(), 3.0 * Linear()),
        (Linear(), Function(reference.linear)),
        (Function(reference.linear), Function(np.add)),
        (Function(reference.linear), Precomputed()),
    ):
        assert not same(a, b)
        assert same(a, clone(a))
        assert same(b, pickle.loads(pickle.dumps(b)))
    assert same(Gaussian(1), Gaussian(np.float64(1.0)))
    assert same(Gaussian(2.0).on([0, -1]), Gaussian(2.0).on(np.array([0, 199])))
    # The same text, of other kernels.
    assert repr(Linear().on(columns)) == repr(Linear().on(other_columns))


def test_repr_of_numpy_parameters_reads_back_without_numpy():
    kernel = np.float64(2.0) * Gaussian(np.array([1.0, 2.0])).on(np.array([0, 1])) + PowerSeries(
        Linear(), np.array([0.0, 1.0])
    )
    assert repr(kernel) == ("2.0 * Gaussian(sigma=[1.0, 2.0]).on([0, 1]) + PowerSeries(Linear(), [0.0, 1.0])")


def test_repr_puts_parentheses_where_they_are_needed():
    a, b = Gaussian(1.0), Linear()
    assert repr((a + b) * b) == "(Gaussian(sigma=1.0) + Linear()) * Linear()"
    assert repr((a + b) ** 2) == "(Gaussian(sigma=1.0) + Linear()) ** 2"
    assert repr((b**2) ** 3) == "(Linear() ** 2) ** 3"
    assert repr((2.0 * b) ** 2) == "(2.0 * Linear()) ** 2"
    assert repr((a * b).exp()) == "(Gaussian(sigma=1.0) * Linear()).exp()"
    assert repr((a + b).on([0, 1])) == "(Gaussian(sigma=1.0) + Linear()).on([0, 1])"
    assert repr(2.0 * (a + b) + b) == "2.0 * (Gaussian(sigma=1.0) + Linear()) + Linear()"


@pytest.mark.parametrize("name", FORMULAS)
def test_clone_gives_an_equal_kernel_that_shares_nothing(name):
    kernel, _ = FORMULAS[name]
    copy = clone(kernel)
    assert copy is not kernel
    assert repr(copy) == repr(kernel)
    assert repr(type(kernel)(**kernel.get_params(deep=False))) == repr(kernel)


def test_parameters_of_parts_are_set_by_their_path():
    model = grls.GRLSRegressor(2.0 * Gaussian(1.0) + Laplace(3.0).on([0]))
    assert model.get_params()["kernel__k1__kernel__sigma"] == 1.0
    model.set_params(kernel__k1__kernel__sigma=0.25, kernel__k1__scale=4.0, kernel__k2__columns=[1])
    assert repr(model.kernel) == "4.0 * Gaussian(sigma=0.25) + Laplace(sigma=3.0).on([1])"
    mixed = grls.GRLSRegressor(Gaussian(1.0) + Laplace(3.0)).set_params(kernel__k1__sigma=0.5)
    assert repr(mixed.kernel) == "Gaussian(sigma=0.5) + Laplace(sigma=3.0)"


def test_a_call_leaves_the_kernel_as_it_was():
    kernel = Gaussian() + Laplace().on([0])
    kernel(points(10, 3))
    assert repr(kernel) == "Gaussian(sigma='median') + Laplace(sigma='median').on([0])"


def test_numpy_numbers_scale_and_add_as_python_numbers_do():
    X = points(10, 3)
    kernel = np.float64(2.0) * Gaussian(1.0) + np.float64(0.5)
    np.testing.assert_allclose(kernel(X), 2 * reference.gaussian(X, X, 1.0) + 0.5)


@pytest.mark.parametrize("name", grls.kernels._BY_NAME)
def test_names_stand_for_kernels_with_their_defaults(name):
    kernel = as_kernel(name)
    assert type(kernel).__name__.lower() == name.replace("_", "")
    assert repr(kernel) == repr(type(kernel)())
    if name == "spherical":  # it is none on more columns
        kernel = kernel.on([0, 1, 2])
    X = np.abs(points(6, 6))
    assert kernel(X).shape == (6, 6)


def test_a_function_stands_for_a_kernel():
    assert type(as_kernel(lambda X, Z: X @ Z.T)) is Function


# The median width.


def test_median_width_is_the_median_distance():
    X = points(40, 3)
    i, j = np.triu_indices(40, 1)
    expected = np.median(np.sqrt(reference.squared_distances(X, X)[i, j]))
    assert np.isclose(median_distance(X), expected, rtol=1e-12)
    np.testing.assert_allclose(Gaussian()(X), reference.gaussian(X, X, expected), rtol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_median_width_of_a_periodic_kernel_is_measured_on_the_circle(form):
    X = points(40, 3, density=0.8)
    angle = 2 * np.pi * X / [1.0, 2.0, 3.0]
    expected = median_distance(np.hstack([np.cos(angle), np.sin(angle)]))
    resolved = Periodic(period=[1.0, 2.0, 3.0]).resolve(form(X))
    assert np.isclose(resolved.sigma, expected, rtol=1e-10)


@pytest.mark.parametrize("n", [40, 1500])
@pytest.mark.parametrize("form", [np.ascontiguousarray, sparse.csr_matrix])
def test_median_width_ignores_repeated_rows_and_the_order_of_rows(form, n):
    rng = np.random.default_rng(0)
    X = points(n, 3, density=0.8)
    shuffled = rng.permutation(np.vstack([X, X[: n // 3], X[:1], X[:1]]))
    assert median_distance(form(X)) == median_distance(form(shuffled))


def test_median_width_counts_a_negative_zero_as_zero():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [5.0, 5.0]])
    again = X.copy()
    again[X == 0] = -0.0
    assert median_distance(np.vstack([X, again])) == median_distance(X)


def test_median_width_does_not_depend_on_how_a_sparse_row_is_stored():
    X = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [5.0, 5.0, 0.0], [1.0, 2.0, 2.0]])
    csr = sparse.csr_matrix(np.vstack([X, X]))
    explicit_zeros = sparse.csr_matrix(
        (np.vstack([X, X]).ravel(), np.tile(np.arange(3), 8), np.arange(0, 25, 3)), shape=(8, 3)
    )
    explicit_zeros = sparse.vstack([csr[:4], explicit_zeros[4:]], format="csr")
    reverse = sparse.csr_matrix(
        (X[:, ::-1].ravel(), np.tile([2, 1, 0], 4), np.arange(0, 13, 3)), shape=(4, 3)
    )
    unsorted = sparse.csr_matrix(
        (
            np.concatenate([X.ravel(), reverse.data]),
            np.concatenate([np.tile([0, 1, 2], 4), reverse.indices]),
            np.arange(0, 25, 3),
        ),
        shape=(8, 3),
    )
    expected = median_distance(X)
    assert median_distance(csr) == expected
    assert median_distance(explicit_zeros) == expected
    assert median_distance(unsorted) == expected


@pytest.mark.parametrize("n", [40, 1500])
def test_median_width_is_the_same_for_dense_and_sparse_rows(n):
    X = points(n, 3, density=0.8)
    assert np.isclose(median_distance(X), median_distance(sparse.csr_matrix(X)), rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_median_width_of_equal_rows_is_one(form):
    assert median_distance(form(np.ones((5, 2)))) == 1.0
    assert median_distance(form(np.ones((1, 2)))) == 1.0


# Errors.


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Gaussian(-1.0), ValueError, "Gaussian.sigma must be greater than 0, got -1.0"),
        (Gaussian(0.0), ValueError, "Gaussian.sigma"),
        (Laplace(np.nan), ValueError, "Laplace.sigma must be finite"),
        (Laplace(np.inf), ValueError, "Laplace.sigma must be finite"),
        (Gaussian("mean"), ValueError, "median"),
        (Gaussian(None), TypeError, "Gaussian.sigma"),
        (Gaussian([1.0, 2.0]), ValueError, "2 widths, but the kernel reads 3 columns"),
        (Gaussian([1.0, 2.0, -3.0]), ValueError, "Gaussian.sigma must be greater than 0"),
        (Gaussian([1.0, 2.0, 3.0]).on([0, 1]), ValueError, "3 widths, but the kernel reads 2 columns"),
        (Gaussian(1.0).on(3), ValueError, "no column 3, the data have 3"),
        (Gaussian(1.0).on(-4), ValueError, "at least -3"),
        (Gaussian(1.0).on([]), ValueError, "at least one column"),
        (Gaussian(1.0).on([0, 0]), ValueError, "names a column twice"),
        (Gaussian(1.0).on([0, -3]), ValueError, "names a column twice"),
        (Gaussian(1.0).on("a"), ValueError, "no column names"),
        (Gaussian(1.0).on([0.5]), TypeError, "whole number"),
        (Gaussian(1.0).on([True]), TypeError, "whole number"),
        (Polynomial(0), ValueError, "Polynomial.degree must be at least 1"),
        (Polynomial(1.5), TypeError, "Polynomial.degree must be a whole number"),
        (Polynomial(2, c=-1.0), ValueError, "Polynomial.c must be at least 0"),
        (Constant(-1.0), ValueError, "Constant.value"),
        (Linear() + (-1.0), ValueError, "Constant.value"),
        (-1.0 * Linear(), ValueError, "Scaled.scale must be greater than 0"),
        ("a" * Linear(), TypeError, "Scaled.scale must be a number"),
        (Linear() ** 0, ValueError, "Power.exponent"),
        (Linear() ** 0.5, TypeError, "Power.exponent"),
        (Sigmoid(np.nan), ValueError, "Sigmoid.a"),
        (Matern(1.0, 0.0), ValueError, r"Matern.nu must be greater than 0, got 0.0"),
        (Matern(1.0, -1.5), ValueError, r"Matern.nu must be greater than 0"),
        (Matern(1.0, np.inf), ValueError, r"Matern.nu must be finite"),
        (Matern(1.0, 1e-300), ValueError, r"smoothness of a Matérn kernel must lie between 1e-8 and 1e12"),
        (Matern(1.0, 1e300), ValueError, r"smoothness of a Matérn kernel must lie between 1e-8 and 1e12"),
        (Matern(1.0, "rough"), TypeError, r"Matern.nu must be a number"),
        (Laplace(1.0, "l3"), ValueError, r"Laplace.norm must be one of 'l2', 'l1'; got 'l3'"),
        (Laplace("median", None), ValueError, "Laplace.norm"),
        (Laplace([1.0, 2.0], "l1"), ValueError, "2 widths, but the kernel reads 3 columns"),
        (Spherical(-1.0), ValueError, "Spherical.sigma must be greater than 0"),
        (Wendland(1.0, 4), ValueError, "Wendland.smoothness must be 0, 1, 2 or 3, got 4"),
        (Wendland(1.0, 0.5), TypeError, "Wendland.smoothness must be a whole number"),
        (
            Wendland(1.0, 1, 2),
            ValueError,
            "reads points of dimension 3, for which it is not positive definite",
        ),
        (Wendland(1.0, 1, 0), ValueError, "Wendland.dimension must be at least 1"),
        (Categorical(0.0), ValueError, "Categorical.sigma"),
        (Categorical([1.0, 2.0]), ValueError, "2 widths, but the kernel reads 3 columns"),
        (ArcCosine(3), ValueError, "ArcCosine.degree must be 0, 1 or 2, got 3"),
        (ArcCosine(-1), ValueError, "ArcCosine.degree must be at least 0"),
        (ArcCosine(1, -0.5), ValueError, "ArcCosine.c must be at least 0"),
        (ArcCosine(1, 1.0, 0), ValueError, "ArcCosine.layers must be at least 1"),
        (ArcCosine(1, 1.0, 1001), ValueError, "ArcCosine.layers must be at most 1000"),
        (Matern(-1.0), ValueError, "Matern.sigma"),
        (Matern([1.0, 2.0]), ValueError, "2 widths, but the kernel reads 3 columns"),
        (RationalQuadratic(1.0, 0.0), ValueError, "RationalQuadratic.alpha must be greater than 0"),
        (RationalQuadratic("mean"), ValueError, "median"),
        (Periodic(1.0, -1.0), ValueError, "Periodic.period must be greater than 0"),
        (Periodic(1.0, [1.0, 2.0]), ValueError, "2 periods, but the kernel reads 3 columns"),
        (Periodic(1.0, None), TypeError, "Periodic.period"),
        (Log(0.0), ValueError, "Log.p must be greater than 0"),
        (Log(2.5), ValueError, "Log.p must be at most 2"),
        (Multiquadric(0.0), ValueError, "Multiquadric.sigma"),
        (Polyharmonic(0), ValueError, "Polyharmonic.degree must be at least 1"),
        (Polyharmonic(1.5), TypeError, "Polyharmonic.degree must be a whole number"),
        (ChiSquared(0.0), ValueError, "ChiSquared.gamma"),
        (PowerSeries(Linear(), []), ValueError, "PowerSeries.coefficients must not all be zero"),
        (PowerSeries(Linear(), [0.0]), ValueError, "PowerSeries.coefficients must not all be zero"),
        (PowerSeries(Linear(), [1.0, -1.0]), ValueError, "PowerSeries.coefficients must be at least 0"),
        (ThinPlate().normalized(), ValueError, "positive definite only conditionally"),
        (Sigmoid(-1.0, -1.0).normalized(), ValueError, r"only a kernel with k\(x, x\) >= 0"),
        (Linear() + Precomputed(), TypeError, "Precomputed"),
    ],
    ids=repr,
)
def test_a_kernel_that_cannot_be_names_its_parameter(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel(points(5, 3))


def test_unknown_kernels_are_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"'gaussian'.*got 'rbf'"):
        as_kernel("rbf")
    with pytest.raises(TypeError, match="got 3"):
        as_kernel(3)


def test_points_of_different_width_are_refused():
    with pytest.raises(ValueError, match=r"3 and 4 columns|4 and 3 columns"):
        Gaussian(1.0)(points(5, 3), points(5, 4))


def test_a_function_that_returns_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"returned shape \(5, 5\), expected \(5, 4\)"):
        Function(lambda X, Z: X @ X.T).matrix(points(5, 3), points(4, 3))


ALL = [([], [], [])]  # one group: every column, no widths, no periods


@pytest.mark.parametrize(
    ("groups", "steps"),
    [
        (ALL, []),
        (ALL, [("sum", 0, 0.0, 0.0, 0)]),
        (ALL, [("scale", 0, 1.0, 0.0, 0)]),
        (ALL, [("linear", 0, 0.0, 0.0, 0), ("product", 0, 0.0, 0.0, 0)]),
        (ALL, [("linear", 0, 0.0, 0.0, 0), ("linear", 0, 0.0, 0.0, 0)]),
        (ALL, [("linear", 1, 0.0, 0.0, 0)]),
        (ALL, [("linear", -1, 0.0, 0.0, 0)]),
        (ALL, [("linear", 2**62, 0.0, 0.0, 0)]),
        ([], [("gaussian", 0, 1.0, 0.0, 0)]),
        (ALL, [("gaussian", 0, 0.0, 0.0, 0)]),
        (ALL, [("gaussian", 0, np.nan, 0.0, 0)]),
        (ALL, [("laplace", 0, -1.0, 0.0, 0)]),
        (ALL, [("polynomial", 0, 1.0, 0.0, -1)]),
        (ALL, [("linear", 0, 0.0, 0.0, 0), ("power", 0, 0.0, 0.0, -2)]),
        (ALL, [("cubic", 0, 0.0, 0.0, 0)]),
        (ALL, [("linear", 0)]),
        (ALL, [("polynomial", 0, 0.0, 0.0, 2**40)]),
        (ALL, "linear"),
        (None, None),
        ([([0.5], [], [])], [("linear", 0, 0.0, 0.0, 0)]),
        (ALL, [("matern", 0, 1.0, 0.0, 4)]),
        (ALL, [("matern", 0, -1.0, 0.0, 3)]),
        (ALL, [("rational_quadratic", 0, 1.0, 0.0, 0)]),
        (ALL, [("rational_quadratic", 0, 0.0, 1.0, 0)]),
        (ALL, [("log", 0, 0.0, 0.0, 0)]),
        (ALL, [("log", 0, 3.0, 0.0, 0)]),
        (ALL, [("multiquadric", 0, 0.0, 0.0, 0)]),
        (ALL, [("polyharmonic", 0, 0.0, 0.0, 0)]),
        (ALL, [("normalize", 0, 0.0, 0.0, 0)]),
        (ALL, [("arc_cosine", 0, 0.0, 0.0, 1)]),
        (ALL, [("linear", 0, 0.0, 0.0, 0), ("arc_cosine", 0, 0.0, 0.0, 3)]),
        (ALL, [("matern_nu", 0, 1.0, 0.0, 0)]),
        (ALL, [("matern_nu", 0, 1.0, np.inf, 0)]),
        (ALL, [("matern_nu", 0, 0.0, 1.0, 0)]),
        (ALL, [("laplace_l1", 0, 0.0, 0.0, 0)]),
        (ALL, [("hamming", 0, -1.0, 0.0, 0)]),
        (ALL, [("overlap", 0, 0.0, 0.0, 0)]),
        (ALL, [("spherical", 0, 0.0, 0.0, 0)]),
        (ALL, [("wendland", 0, 1.0, 0.0, 1)]),
        (ALL, [("wendland", 0, 1.0, 3.0, 4)]),
        (ALL, [("wendland", 0, 0.0, 3.0, 1)]),
        (ALL, [("gaussian", 0, 1.0, 0.0, 0), ("laplace_l1", 0, 1.0, 0.0, 0), ("sum", 0, 0.0, 0.0, 0)]),
        (ALL, [("hamming", 0, 1.0, 0.0, 0), ("laplace_l1", 0, 1.0, 0.0, 0), ("sum", 0, 0.0, 0.0, 0)]),
        (ALL, [("linear", 0, 0.0, 0.0, 0), ("series", 0, 0.0, 0.0, 0)]),
        (ALL, [("linear", 0, 0.0, 0.0, 0), ("series", -1, 0.0, 0.0, 0)]),
        (ALL, [("linear", 0, 0.0, 0.0, 0), ("chi_squared", 0, 1.0, 0.0, 0), ("sum", 0, 0.0, 0.0, 0)]),
        ([([], [], [1.0, 1.0, 1.0])], [("linear", 0, 0.0, 0.0, 0)]),
    ],
)
def test_malformed_formulas_are_refused(groups, steps):
    with pytest.raises((ValueError, TypeError)):
        _core.Formula(groups, steps)


@pytest.mark.parametrize(
    ("group", "mapping", "term"),
    [
        (([0, 1], [], []), (-1.0, []), "gaussian"),
        (([0, 1], [], []), (np.inf, []), "gaussian"),
        (([0, 1, 2], [], []), (1.0, []), "gaussian"),
        (([0, 1], [], []), (0.0, [1.0, 2.0, 3.0]), "gaussian"),
        (([0, 1], [], []), (0.0, [1.0, 2.0, 3.0, np.nan]), "gaussian"),
        (([0, 1], [], []), (1.0, [1.0, 2.0, 3.0, 4.0]), "gaussian"),
        (([0, 1], [1.0, 1.0], []), (1.0, []), "gaussian"),
        (([0, 1], [], [1.0, 1.0]), (0.0, [1.0, 0.0, 0.0, 1.0]), "gaussian"),
        (([0, 1], [], []), (1.0, []), "linear"),
        (([0, 1], [], []), (1.0, []), "laplace_l1"),
        (([0, 1], [], []), (0.0, [1.0, 0.0, 0.0, 1.0]), "hamming"),
    ],
)
def test_maps_that_columns_cannot_have_are_refused(group, mapping, term):
    def evaluate():
        formula = _core.Formula([group], [(term, 0, 1.0, 0.0, 0)], maps=[mapping])
        _core.kernel_matrix(formula=formula, a=points(4, 3), b=points(4, 3))

    with pytest.raises(ValueError, match=r"map|radius|sphere"):
        evaluate()
    with pytest.raises(ValueError, match="2 maps for 1 column groups"):
        _core.Formula([group], [("gaussian", 0, 1.0, 0.0, 0)], maps=[mapping, mapping])


@pytest.mark.parametrize(
    "group",
    [
        ([3], [], []),
        ([-1], [], []),
        ([], [1.0], []),
        ([], [1.0, 1.0, -1.0], []),
        ([0], [1.0, 2.0], []),
        ([0], [np.nan], []),
        ([0], [], [1.0, 2.0]),
        ([], [], [1.0, 2.0, 0.0]),
        ([0], [], [np.nan]),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_groups_of_columns_the_data_do_not_have_are_refused(group, form):
    formula = _core.Formula([group], [("gaussian", 0, 1.0, 0.0, 0)])
    X = form(points(4, 3))
    rows = X if form is np.asarray else (X.data, X.indices, X.indptr, 3)
    with pytest.raises(ValueError, match=r"column|width|period"):
        _core.kernel_matrix(formula=formula, a=rows, b=rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [2**40, pytest.param(10**6, marks=pytest.mark.slow), pytest.param(-(2**40), marks=pytest.mark.slow)],
)
def test_a_column_far_outside_the_data_is_refused_without_reading_it(column):
    script = f"""
import numpy as np
from grls import _core
formula = _core.Formula([([{column}], [], [])], [("gaussian", 0, 1.0, 0.0, 0)])
try:
    _core.kernel_matrix(formula=formula, a=np.ones((4, 3)), b=np.ones((4, 3)))
except ValueError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)  # it may crash
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
    assert "refused: kernel column" in done.stdout


GAUSSIAN = [("gaussian", 0, 1.0, 0.0, 0)]


@pytest.mark.parametrize(
    "rows",
    [
        ([1.0, 2.0], [0, 3], [0, 1, 2], 3),  # a column that is not there
        ([1.0, 2.0], [0, -1], [0, 1, 2], 3),
        ([1.0, 2.0], [2, 0], [0, 2, 2], 3),  # not sorted
        ([1.0, 2.0], [1, 1], [0, 2, 2], 3),  # repeated
        ([1.0, 2.0], [0, 1], [0, 2, 1, 2], 3),  # starts that decrease
        ([1.0, 2.0], [0, 1], [0, 5, 2], 3),  # and that leave the data
        ([1.0, 2.0], [0, 1], [-1, 1, 2], 3),
        ([1.0, 2.0], [0, 1], [0, 1, 3], 3),
        ([1.0, 2.0], [0, 1], [0, 1], 3),
        ([1.0, 2.0], [0], [0, 1, 2], 3),
        ([1.0, 2.0], [0, 1], [], 3),
        ([1.0, 2.0], [0, 1], [0, 1, 2], -1),
        ([[1.0, 2.0]], [0, 1], [0, 1, 2], 3),
        ([1.0, 2.0], [0, 1], [0, 1, 2]),
        ("ab", [0, 1], [0, 1, 2], 3),
        ([1.0, 2.0], [0, 1], [0, 1, 2], "three"),
        (None, None, None, None),
    ],
    ids=str,
)
def test_tampered_sparse_rows_are_refused(rows):
    formula = _core.Formula(ALL, GAUSSIAN)
    parts = tuple(np.asarray(part) if isinstance(part, list) else part for part in rows)
    good = (np.ones(2), np.array([0, 1]), np.array([0, 1, 2]), 3)
    for a, b in [(parts, parts), (parts, good), (good, parts)]:
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _core.kernel_matrix(formula=formula, a=a, b=b)
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _core.kernel_times(formula=formula, a=a, b=b, c=np.ones((2, 1)))
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        _core.solve(
            formula=formula,
            data=parts,
            T=np.ones((2, 0)),
            Y=np.ones((2, 1)),
            weights=None,
            shift=1.0,
            formulation="exact",
            pivots="qr",
            tolerance=1e-12,
        )


@pytest.mark.parametrize(
    "rows",
    [
        np.ones(3),
        np.ones((2, 3, 1)),
        np.ones((3, 2)).T,
        np.ones((2, 3), dtype=int),
        np.ones((2, 3), dtype=np.float16),
        np.ones((2, 3), dtype=complex),
        np.ones((2, 3), dtype=">f8"),
        [[1.0, 2.0, 3.0]],
        "rows",
        None,
    ],
    ids=repr,
)
def test_dense_rows_of_another_kind_are_refused_by_the_core(rows):
    formula = _core.Formula(ALL, GAUSSIAN)
    with pytest.raises((ValueError, TypeError)):
        _core.kernel_matrix(formula=formula, a=rows, b=np.ones((2, 3)))


def test_coefficients_of_another_length_are_refused_by_the_core():
    formula, X = _core.Formula(ALL, GAUSSIAN), points(4, 3)
    for c in (np.ones((3, 1)), np.ones((5, 2)), np.ones((0, 1))):
        with pytest.raises(ValueError, match="coefficients"):
            _core.kernel_times(formula=formula, a=X, b=X, c=c)
    with pytest.raises(ValueError, match="both be dense or both be sparse"):
        _core.kernel_matrix(formula=formula, a=X, b=(np.ones(1), np.zeros(1, int), np.array([0, 1]), 3))


def test_no_rows_give_an_empty_matrix():
    formula, X = _core.Formula(ALL, GAUSSIAN), points(4, 3)
    assert _core.kernel_matrix(formula=formula, a=np.empty((0, 3)), b=X).shape == (0, 4)
    assert _core.kernel_matrix(formula=formula, a=X, b=np.empty((0, 3))).shape == (4, 0)
    product = _core.kernel_times(formula=formula, a=X, b=np.empty((0, 3)), c=np.empty((0, 2)))
    assert np.all(product == np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("rbf", r'did you mean "gaussian", or Gaussian\.from_gamma\(gamma\)'),
        ("poly", 'did you mean "polynomial"'),
        ("gausian", 'did you mean "gaussian"'),
        ("auto", "GRLSRegressor, GRLSClassifier"),
        ("xyz", "got 'xyz'$"),
    ],
)
def test_names_from_elsewhere_are_answered(given, message):
    with pytest.raises(ValueError, match=message):
        as_kernel(given)


def test_a_class_is_no_kernel():
    with pytest.raises(TypeError, match=r"is a class: give a kernel of it, such as Gaussian\(\)"):
        as_kernel(Gaussian)


@pytest.mark.parametrize("columns", [3, 13, 20])
def test_points_too_far_apart_for_their_distance_are_not_taken_for_one(columns):
    """Their kernel is zero, or no number, which a fit refuses."""
    X = 1e160 * np.random.default_rng(0).normal(size=(30, columns))
    values = Gaussian(1e150)(X)[~np.eye(30, dtype=bool)]
    assert not np.any(values > 0)
