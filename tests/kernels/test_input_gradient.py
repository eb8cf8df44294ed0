"""The gradient of Σ_j c_j k(x, z_j) by the columns of x, against central differences of its values."""

import subprocess
import sys

import numpy as np
import pytest
from catalogue import FORMULAS
from grls import _core, get_num_threads, set_num_threads
from grls.kernels import (
    Categorical,
    Cosine,
    Function,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Overlap,
    Polyharmonic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Rotated,
    Sphere,
    Spherical,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import StandardScaler

LABELS = ("overlap", "categorical", "categorical columns")
STEP = 1e-6


def fitted(kernel, Z):
    """Return a kernel with everything fixed, and the points as it reads them."""
    if not kernel.reads_given:
        return kernel.resolve(Z), Z
    kernel, points = kernel.fit_views(Z, refit=False)
    return kernel.settled(points), points


def differences(kernel, X, points, c):
    """Return the gradients (n, d, k) by central differences."""
    return np.stack(
        [
            (kernel.times(kernel.view(X + e), points, c) - kernel.times(kernel.view(X - e), points, c))
            / (2 * STEP)
            for e in STEP * np.eye(X.shape[1])
        ],
        axis=1,
    )


def problem(n=9, m=40, d=5, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 2, (n, d)), rng.uniform(0.1, 2, (m, d)), rng.normal(size=(m, k))


@pytest.mark.parametrize("name", [name for name in FORMULAS if name not in LABELS])
def test_gradients_are_those_of_differences(name):
    X, Z, c = problem()
    kernel, points = fitted(FORMULAS[name][0], Z)
    expected = differences(kernel, X, points, c)
    found = kernel.input_gradient(X, points, c)
    assert found.shape == (9, 5, 2)
    assert_allclose(found, expected, atol=1e-7 * max(np.abs(expected).max(), 1e-3))


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.3),
        Matern(2.0, 1.7) + 0.3 * Linear(),
        (Polynomial(2) * Gaussian(2.0)).normalized(),
        Cosine() ** 2,
    ],
    ids=str,
)
def test_many_columns_go_through_matrix_products(kernel):
    X, Z, c = problem(d=20)
    expected = differences(kernel, X, Z, c)
    assert_allclose(kernel.input_gradient(X, Z, c), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.3), Matern(0.9, 1.5), RationalQuadratic(0.8), Polyharmonic(3)], ids=str
)
def test_smooth_kernels_have_their_gradients_at_the_points_themselves(kernel):
    _, Z, c = problem()
    assert_allclose(kernel.input_gradient(Z, Z, c), differences(kernel, Z, Z, c), atol=2e-5)


@pytest.mark.parametrize(
    "kernel", [Laplace(0.9), Laplace(0.9, "l1"), Spherical(1.5), Matern(0.7, 0.3), Polyharmonic(1)], ids=str
)
def test_a_kink_at_a_point_counts_as_zero(kernel):
    _, Z, c = problem(d=3)
    at_first = kernel.input_gradient(Z[:1], Z, c)
    assert np.isfinite(at_first).all()
    assert_allclose(at_first, kernel.input_gradient(Z[:1], Z[1:], c[1:]), rtol=1e-12)
    # The two sides of the kink are as far off on the one as on the other.
    assert_allclose(at_first, differences(kernel, Z[:1], Z, c), atol=1e-4)


def test_far_from_the_origin_digits_stay():
    X, Z, c = problem(d=3)
    here = Gaussian(0.7).input_gradient(X, Z, c)
    assert_allclose(Gaussian(0.7).input_gradient(X + 2.0**20, Z + 2.0**20, c), here, rtol=1e-7, atol=1e-7)


def test_poles_meridians_and_turns():
    places = np.array([[89.0, 10.0], [0.0, 179.5], [-45.0, -170.0]])
    Z = np.array([[80.0, 20.0], [1.0, -179.0], [-40.0, 175.0]])
    c = np.ones((3, 1))
    for kernel in (Sphere(Gaussian(0.4)), Rotated(Matern(50.0, 2.5), 30.0, 0.4)):
        assert_allclose(
            kernel.input_gradient(places, Z, c), differences(kernel, places, Z, c), rtol=1e-6, atol=1e-8
        )


def test_threads_and_blocks_do_not_change_the_digits():
    X, Z, c = problem(n=700, m=600, d=4)
    kernel = (Polynomial(2) + Gaussian(0.8)).normalized() * Laplace(1.1).on([3, 0])
    before = get_num_threads()
    try:
        set_num_threads(1)
        one = kernel.input_gradient(X, Z, c)
        set_num_threads(2)
        assert_array_equal(kernel.input_gradient(X, Z, c), one)
    finally:
        set_num_threads(before)
    assert_allclose(kernel.input_gradient(X[300:310], Z, c), one[300:310], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("n", "m", "d"), [(300, 5, 8000), (2100, 300, 2)], ids=["columns", "rows"])
def test_rows_are_worked_through_in_blocks(n, m, d):
    X, Z, c = problem(n, m, d)
    kernel = Cosine() + Gaussian(np.sqrt(d))
    found = kernel.input_gradient(X, Z, c)
    for start in (0, n - 40):
        some = slice(start, start + 40)
        expected = kernel.input_gradient(X[some], Z, c)
        assert_allclose(found[some], expected, rtol=1e-9, atol=1e-12)


def test_single_precision_rows_and_empty_sets():
    X, Z, c = problem(d=3)
    kernel = Gaussian(1.1)
    small = [part.astype(np.float32) for part in (X, Z)]
    assert_allclose(kernel.input_gradient(*small, c), kernel.input_gradient(X, Z, c), atol=1e-5)
    assert kernel.input_gradient(X[:0], Z, c).shape == (0, 3, 2)
    assert_array_equal(kernel.input_gradient(X, Z[:0], c[:0]), np.zeros((9, 3, 2)))


@pytest.mark.parametrize("kernel", [Overlap(), Gaussian(1.0) * Categorical(1.0).on([0, 1])], ids=str)
def test_labels_have_no_derivative(kernel):
    X, Z, c = problem()
    with pytest.raises(ValueError, match="compares labels"):
        kernel.input_gradient(X, Z, c)
    with pytest.raises(ValueError, match="labels has no derivative"):
        _core.kernel_input_gradient(formula=kernel.lower(5), a=X, b=Z, c=c)


def test_what_has_no_gradient_is_refused_by_name():
    X, Z, c = problem()
    with pytest.raises(ValueError, match="function of Python"):
        Function(lambda A, B: A @ B.T).input_gradient(X, Z, c)
    with pytest.raises(ValueError, match="precomputed"):
        Precomputed().input_gradient(X, Z, c)
    with pytest.raises(ValueError, match="toarray"):
        Gaussian(1.0).input_gradient(sparse.csr_matrix(X), Z, c)
    with pytest.raises(ValueError, match="training data too"):
        Gaussian(1.0).input_gradient(X, sparse.csr_matrix(Z), c)
    with pytest.raises(ValueError, match="table of numbers"):
        Gaussian(1.0).input_gradient(np.array([["a", "b"]]), Z, c)
    kernel, points = fitted(Gaussian(1.0).after(StandardScaler()), Z)
    with pytest.raises(ValueError, match=r"StandardScaler.*linear maps only"):
        kernel.input_gradient(X, points, c)


def test_the_core_checks_shapes():
    X, Z, c = problem()
    formula = Gaussian(1.0).lower(5)
    with pytest.raises(ValueError, match="kernel coefficients"):
        _core.kernel_input_gradient(formula=formula, a=X, b=Z, c=c[1:])
    with pytest.raises(ValueError, match="columns"):
        _core.kernel_input_gradient(formula=formula, a=X[:, :4].copy(), b=Z, c=c)
    with pytest.raises(ValueError, match="out of range"):
        _core.kernel_input_gradient(formula=Gaussian(1.0).on([7]).lower(9), a=X, b=Z, c=c)
    rows = sparse.csr_matrix(X)
    parts = rows.data, rows.indices, rows.indptr, 5
    with pytest.raises(ValueError, match="dense rows"):
        _core.kernel_input_gradient(formula=formula, a=parts, b=parts, c=np.ones((9, 1)))


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from grls.kernels import Matern

X = np.random.default_rng(0).normal(size=(40000, 5))

def interrupt():
    time.sleep(0.3)
    signal.raise_signal(signal.SIGINT) if os.name != "posix" else os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    Matern(1.0, 1.5).input_gradient(X, X, X[:, :1].copy())
    print("finished")
except KeyboardInterrupt:
    print("interrupted")
print(Matern(1.0, 1.5).input_gradient(X[:10], X[:10], X[:10, :1].copy()).shape)
"""


@pytest.mark.slow
def test_ctrl_c_stops_it():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["interrupted", "(10, 5, 1)"]
