"""Φc of a support vector machine as the core returns it, and kernel rows of every make that lead to it."""

import warnings

import numpy as np
import pytest
from grls import SVMGBClassifier
from grls._solvers.kernel_problem import KernelProblem
from grls._solvers.kernel_values import StoredGram
from grls.kernels import ChiSquared, Gaussian, Laplace, Linear, Matern, Overlap, Polynomial
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning


def three_classes(m, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((m, 4))
    return X, np.digitize(X[:, 0] + 0.4 * random.standard_normal(m), [-0.5, 0.5])


@pytest.mark.parametrize("solver", ["auto", "native", "ipm"])
@pytest.mark.parametrize(
    ("m", "tol"), [(90, 1e-4), (700, 1e-4), (700, 1e-7)]
)  # exact, single, double precision
@pytest.mark.parametrize("kind", ["rows", "sparse", "float32", "matrix"])
def test_images_are_the_kernel_times_the_coefficients_at_the_samples_of_a_pair(solver, m, tol, kind):
    X, labels = three_classes(m)
    labels = labels.astype(np.intp)
    kernel, points = Gaussian(1.5), X
    if kind == "sparse":
        points = sparse.csr_matrix(np.where(X > 0, X, 0))
    elif kind == "float32":
        points = X.astype(np.float32)
    elif kind == "matrix":
        kernel, points = StoredGram(definite=True), Gaussian(1.5)(X)
    problem = KernelProblem(kernel, points, np.ones((m, 1)), None)
    settings = {"solver": solver, "tol": tol, "max_iter": 10**6, "cache_bytes": 1e8, "start": None}
    found = problem.svm(labels, 3, 2.0, **settings)
    expected = problem.kernel_times(np.array(found.c))
    for p, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        own = np.isin(labels, pair)
        assert_allclose(found.image[own, p], expected[own, p], rtol=1e-11, atol=1e-11)
        assert_array_equal(found.image[~own, p], 0)
    assert np.any(found.c)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.5),
        Gaussian([1.0, 2.0, 3.0, 0.5]),
        Linear(),
        Polynomial(3).normalized(),
        Laplace(2.0),
        Matern(2.0, nu=1.5).on([0, 2]) * Gaussian(1.0).on([1, 3]) + Linear(),
        ChiSquared(0.5).on([0, 1]) + Overlap().on([2, 3]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_decomposition_by_kernel_rows_ends_where_a_factorised_matrix_does(kernel, is_sparse):
    X, y = three_classes(400, seed=1)
    X = np.abs(np.round(2 * X))  # for histograms and labels
    y = (y > 0).astype(int)
    points = sparse.csr_matrix(X) if is_sparse else X
    by_rows = SVMGBClassifier(kernel, C=0.5, solver="native", tol=1e-6).fit(points, y)
    matrix = SVMGBClassifier("precomputed", C=0.5, solver="ipm", tol=1e-8).fit(kernel(X), y)
    assert by_rows.duality_gap_.max() <= 1e-6
    assert_allclose(by_rows.objective_, matrix.objective_, rtol=2e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_rounding_may_hide_does_not_cost_the_solution(seed):
    # Copies with other labels are at their bounds, and kernel values of 1e15 keep them from cancelling.
    random = np.random.default_rng(seed)
    X = 120 * random.standard_normal((12, 4))
    X[6:] = X[:6]
    y = np.where(X[:, 0] > 0, 1, -1)
    y[6] = -y[0]
    model = SVMGBClassifier(Polynomial(3), features="linear", C=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert_allclose(model.objective_, 2.0, rtol=1e-6)  # of the two copies, wherever the others are
    c = np.zeros(len(y))
    c[model.support_] = model.dual_coef_[:, 0]
    assert_allclose(y @ c, 2.0, rtol=1e-6)  # and what a dual solution says
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert (model.duality_gap_[0] > model.tol) == bool(told)
    assert all("scale the columns" in message for message in told)
    assert model.duality_gap_[0] > 1e-3


def test_labels_that_are_numbers_of_a_regression_are_refused():
    X, y = three_classes(60)
    with pytest.raises(ValueError, match="continuous"):
        SVMGBClassifier(Gaussian(), C=1.0).fit(X, y + 0.5 * (y == 1))
    for labels in (y.astype(float), y.astype(np.int8), y.astype(str), y.astype(str).astype(object), y > 0):
        model = SVMGBClassifier(Gaussian(), C=1.0).fit(X, labels)
        assert_array_equal(model.classes_, np.unique(labels))
    with pytest.warns(UserWarning, match="unique classes"):
        SVMGBClassifier(Gaussian(), C=1.0).fit(X[:30], np.arange(30) % 20)
