"""Functions of Python as kernels: of matrices or of two rows, alone and in sums, products and views."""

import pickle

import numpy as np
import pytest
from grls import (
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    KernelPCA,
    NystromGRLSRegressor,
    SVMGBClassifier,
    load,
    save,
)
from grls.kernels import Function, Gaussian, Linear, Polynomial, PowerSeries, Precomputed
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(9, 3)), RNG.normal(size=(5, 3))
Y = np.sin(X[:, 0]) + X[:, 1]


def dots(A, B):
    """The linear kernel, as a function of matrices."""
    return np.asarray(A @ B.T)


def dot(x, z):
    """The same of two rows."""
    return x @ z


ALGEBRA = {
    "sum": lambda k: k + Gaussian(1.0),
    "sum, from the left": lambda k: Gaussian(1.0) + k,
    "product": lambda k: Gaussian(1.0) * k,
    "product, from the left": lambda k: k * Gaussian(1.0),
    "scaled, on columns": lambda k: (2.0 * as_part(k)).on([0, 2]) * Gaussian([1.0, 2.0]).on([1, 2]),
    "power": lambda k: as_part(k) ** 3 + 1.0,
    "exponential": lambda k: (0.1 * as_part(k)).exp(),
    "series": lambda k: PowerSeries(as_part(k), [1.0, 0.5, 0.0, 2.0]),
    "normalized": lambda k: (as_part(k) + Polynomial(2)).normalized(),
    "on columns of columns": lambda k: as_part(k).on([1]).on([2, 0]) + Linear().on([1]),
    "view": lambda k: as_part(k).after(StandardScaler()) * Gaussian(1.0),
    "view of columns": lambda k: as_part(k).after(RNG_MATRIX).on([2, 1]) + Gaussian(1.0).on([0]),
}
RNG_MATRIX = np.array([[1.0, 2.0], [0.5, -1.0]])


def as_part(k):
    """A function has no operators and methods of its own; a kernel has."""
    return k if isinstance(k, Linear) else Function(k)


@pytest.mark.parametrize("function", [dots, dot])
@pytest.mark.parametrize("make", ALGEBRA.values(), ids=ALGEBRA)
def test_the_algebra_of_functions_is_that_of_formulas(make, function):
    found, expected = make(function), make(Linear())
    assert_allclose(found(X), expected(X), rtol=1e-12)
    assert_allclose(found(X, Z), expected(X, Z), rtol=1e-12)
    models = [GRLSRegressor(k, regularization=0.1).fit(X, Y) for k in (found, expected)]
    assert_allclose(*(np.array(model.predict(Z, return_std=True)) for model in models), rtol=1e-8)
    assert models[0].kernel_.is_function
    assert not models[0].kernel_.is_definite


@pytest.mark.parametrize(
    "machine",
    [
        GRLSClassifier(regularization=0.1),
        GRLogisticClassifier(regularization=0.1),
        SVMGBClassifier(C=1.0, tol=1e-8),
        GRRegressor(regularization=0.1, tol=1e-10),
        GRRegressor(loss="poisson", regularization=0.1),
        NystromGRLSRegressor(n_centers=6, regularization=0.1, random_state=0),
        GRLSRegressor(regularization=0.1, feature_variance=1.0),
        GRLSRegressor(optimize={"k2__sigma": [0.5, 1.0, 2.0]}),
    ],
    ids=repr,
)
def test_every_machine_takes_a_sum_with_a_function(machine):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.round(np.exp(X[:, 0])) if is_regressor(machine) else X[:, 0] * X[:, 1] > 0
    found = clone(machine).set_params(kernel=dots + Gaussian(1.0)).fit(X, y)
    expected = clone(machine).set_params(kernel=Linear() + Gaussian(1.0)).fit(X, y)
    asked = "predict" if is_regressor(machine) else "decision_function"
    assert_allclose(getattr(found, asked)(X), getattr(expected, asked)(X), rtol=1e-4, atol=1e-5)


def test_components_of_a_product_with_a_function_are_those_of_the_formula():
    found = KernelPCA(2, dots * Gaussian(1.0)).fit(X)
    assert_allclose(
        np.abs(found.transform(Z)), np.abs(KernelPCA(2, Linear() * Gaussian(1.0)).fit(X).transform(Z))
    )


def test_a_function_in_a_sum_is_saved_by_its_name(tmp_path):
    model = GRLSRegressor(dots * Gaussian(1.0), regularization=0.1).fit(X, Y)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict(Z), model.predict(Z))
    save(model, tmp_path / "model.grls")
    assert_allclose(load(tmp_path / "model.grls", trusted=[f"{__name__}.dots"]).predict(Z), model.predict(Z))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_a_function_of_two_rows_is_told_from_one_of_matrices_whatever_the_shapes(d):
    A = RNG.normal(size=(d, d))  # x @ z of these matrices has the shape of a matrix of values
    assert_allclose(Function(dot)(A), A @ A.T)
    assert_allclose(
        Function(lambda x, z: np.exp(-np.sum((x - z) ** 2)))(A, A[:1]), Gaussian(np.sqrt(0.5))(A, A[:1])
    )
    assert_allclose(Function(dots)(A), A @ A.T)


def test_functions_of_two_rows_see_dense_rows_of_sparse_matrices():
    assert_allclose(Function(dot)(sparse.csr_matrix(X), sparse.csr_matrix(Z)), X @ Z.T)


def test_what_a_function_says_of_matrices_is_what_the_caller_hears():
    def broken(A, B):
        raise ZeroDivisionError("in the kernel")

    with pytest.raises(ZeroDivisionError, match="in the kernel"):
        GRLSRegressor(broken).fit(X, Y)
    with pytest.raises(TypeError, match="cannot be a part of a larger kernel"):
        (Precomputed() + dots)(X)
    with pytest.raises(ValueError, match="as a dict of values to try"):
        GRLSRegressor(dots + Gaussian(1.0), optimize=True).fit(X, Y)
    with pytest.raises(ValueError, match="is a function of Python"):
        GRLSRegressor(dots + Gaussian(1.0), regularization=0.1).fit(X, Y).predict(Z, return_gradient=True)
