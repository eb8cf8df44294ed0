"""The test of the kernel part: its null distribution against draws of whole data sets, its size and power."""

import numpy as np
import pytest
import reference
from grls import GRLSRegressor
from grls._models import kernel_test
from grls._selection.regularization import merge
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian, Matern
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

# Data without a kernel part tell a wide kernel from a line badly, which is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning")


def problem(m=40, repeats=1, seed=0):
    X = np.repeat(np.random.default_rng(seed).uniform(size=m // repeats), repeats)[:, None]
    return X, np.column_stack([np.ones(m), X])


def ratio_by_densities(Phi, T, y, shifts):
    """The restricted likelihood ratio from dense matrices, largest over shifts and none."""
    n = len(y) - T.shape[1]
    N = reference.null_space(T)
    alone = n * np.log((N.T @ y) @ (N.T @ y) / n)
    return max(0.0, alone - min(reference.reml(Phi, T, y, s / len(y)) for s in shifts))


@pytest.mark.parametrize("repeats", [1, 4])
def test_the_ratio_is_that_of_dense_likelihoods(repeats):
    X, T = problem(repeats=repeats)
    y = np.sin(9 * X[:, 0]) + np.random.default_rng(1).normal(size=len(X))
    merged = merge(KernelProblem(Matern(0.2), X, T, None), y[:, None])
    reduced = merged.problem.reduced(merged.targets, leave_one_out=True)
    found = kernel_test.kernel_test(merged, reduced, 10, np.random.RandomState(0))
    expected = ratio_by_densities(Matern(0.2)(X), T, y, np.geomspace(1e-3, 1e4, 2000))
    assert found.statistic == pytest.approx(expected, abs=1e-4)
    assert found.statistic > 1
    eigenvalues = kernel_test.reduced_eigenvalues(merged, [0, 1])
    N = reference.null_space(T)
    full = np.linalg.eigvalsh(N.T @ Matern(0.2)(X) @ N)[::-1]
    assert_allclose(eigenvalues, full[: len(eigenvalues)], atol=1e-9 * full[0])
    assert_allclose(full[len(eigenvalues) :], 0, atol=1e-9 * full[0])  # of repeated rows


@pytest.mark.parametrize("repeats", [1, 4])
def test_the_null_distribution_is_that_of_data_without_a_kernel_part(repeats):
    X, T = problem(repeats=repeats)
    Phi = Matern(0.2)(X)
    merged = merge(KernelProblem(Matern(0.2), X, T, None), np.ones((len(X), 1)))
    eigenvalues = np.maximum(kernel_test.reduced_eigenvalues(merged, [0, 1]), 0)
    shifts = np.geomspace(1e-4, 1e4, 100)
    drawn = kernel_test.simulated_ratios(eigenvalues, 38, shifts, 20_000, np.random.RandomState(0))
    rng = np.random.default_rng(2)
    N = reference.null_space(T)
    values, vectors = np.linalg.eigh(N.T @ Phi @ N)
    z = rng.normal(size=(4000, len(X))) @ N @ vectors  # of whole data sets
    fine = np.geomspace(1e-4, 1e4, 400)
    total = np.maximum(values, 0)[:, None] + fine
    criterion = np.log(total).sum(axis=0) + 38 * np.log(z**2 @ (1 / total))
    whole = np.maximum(38 * np.log((z**2).sum(axis=1)) - criterion.min(axis=1), 0)
    assert np.mean(drawn < 1e-6) == pytest.approx(np.mean(whole < 1e-6), abs=0.03)
    for share in (0.7, 0.8, 0.9, 0.95):
        at = np.quantile(drawn, share)
        assert np.mean(whole <= at) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4000))
    # one of the draws, in full
    y = rng.normal(size=len(X))
    w = (y @ N @ vectors) ** 2
    criterion = np.log(total).sum(axis=0) + 38 * np.log(w @ (1 / total))
    ratio = max(38 * np.log(w.sum()) - criterion.min(), 0)
    assert ratio == pytest.approx(ratio_by_densities(Phi, T, y, fine), abs=1e-6)


def test_data_that_want_no_kernel_part_have_a_p_value_of_one():
    X, T = problem()
    # Of the directions that the kernel knows best there is nothing, and draws of that ratio are zero too.
    N = reference.null_space(T)
    y = N @ np.linalg.eigh(N.T @ Matern(0.2)(X) @ N)[1][:, :5].sum(axis=1)
    merged = merge(KernelProblem(Matern(0.2), X, T, None), y[:, None])
    reduced = merged.problem.reduced(merged.targets, leave_one_out=True)
    found = kernel_test.kernel_test(merged, reduced, 50, np.random.RandomState(0))
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_the_largest_over_kernels_is_larger_and_one_kernel_is_itself():
    X, T = problem()
    y = np.random.default_rng(4).normal(size=(len(X), 1))
    merged = merge(KernelProblem(Matern(0.2), X, T, None), y)
    spectra = [kernel_test.Spectrum.of(merged, [0, 1], Matern(width)) for width in (0.2, 0.02, 2.0)]
    eigenvalues = kernel_test.reduced_eigenvalues(merged, [0, 1])
    shifts = kernel_test._shifts_for(eigenvalues)
    plain = kernel_test.simulated_ratios(eigenvalues, 38, shifts, 20_000, np.random.RandomState(0))
    alone = kernel_test.simulated_largest_ratios(spectra[:1], 38, 20_000, np.random.RandomState(1))
    assert_allclose(np.quantile(alone, [0.8, 0.9, 0.95]), np.quantile(plain, [0.8, 0.9, 0.95]), rtol=0.15)
    largest = kernel_test.simulated_largest_ratios(spectra, 38, 20_000, np.random.RandomState(1))
    assert np.all(largest >= alone)
    assert np.quantile(largest, 0.95) > 1.2 * np.quantile(alone, 0.95)
    reduced = merged.problem.reduced(merged.targets, leave_one_out=True)
    observed = kernel_test.observed_ratio(merged, reduced, [0, 1], shifts)
    assert spectra[0].ratio(38, 0.0) == pytest.approx(observed, abs=5e-3)


def test_parabolas_find_what_lies_between_the_shifts():
    at = np.linspace(0, 10, 50)
    tops = np.random.default_rng(0).uniform(1, 9, size=200)
    values = 3 - 2 * np.log(np.cosh(at - tops[:, None]))
    assert_allclose(kernel_test._largest(values), 3, atol=1e-3)
    assert values.max(axis=1).min() < 2.99
    assert_array_equal(kernel_test._largest(-at[None]), [0])
    assert_array_equal(kernel_test._largest(at[None]), [10])


def test_power_and_reproducibility():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 1))
    model = GRLSRegressor(Gaussian(0.15), features="linear", regularization="reml")
    bent = model.fit(X, 2 * X[:, 0] + np.sin(12 * X[:, 0]) + 0.5 * rng.normal(size=80))
    assert bent.summary(n_simulations=2000).p_value == pytest.approx(1 / 2001)
    weak = clone(model).fit(X, 2 * X[:, 0] + 0.15 * np.sin(12 * X[:, 0]) + 0.5 * rng.normal(size=80))
    first, again = (weak.summary(n_simulations=2000).p_value for _ in range(2))
    assert first == again
    assert 0.0005 < first < 1
    other = weak.summary(n_simulations=2000, random_state=1).p_value
    assert first != other
    assert first == pytest.approx(other, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("optimize", [None, True])
def test_five_percent_of_data_without_a_kernel_part_are_significant(optimize):
    rng = np.random.default_rng(6)
    X = rng.uniform(size=(50, 1))
    model = GRLSRegressor(Matern(0.2), features="linear", regularization="reml", optimize=optimize)
    found = []
    for i in range(400):
        y = X[:, 0] + rng.normal(size=50)
        found.append(clone(model).fit(X, y).summary(False, n_simulations=500, random_state=i).p_value)
    # ± 3 errors of 400 draws; a width that was chosen would make it a fifth if the draws did not repeat that
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.033)


def test_the_grid_of_kernels_asks_no_targets_and_has_all_columns_alone():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 100.0, 1.0]
    X[:, 2] = 7.0  # constant
    kernels = kernel_test.grid_of_kernels(X)
    assert len(kernels) == 8 + 3 * 2
    units = np.array([1e3, 1e-3, 1.0])
    for kernel, other in zip(kernels, kernel_test.grid_of_kernels(X * units), strict=True):
        assert_allclose(kernel(X), other(X * units), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "features"), [(1, "constant"), (3, "constant"), (2, "linear")])
def test_of_a_kernel_that_the_data_chose_five_percent_are_significant_too(d, features):
    p_values, m = [], 50
    for seed in range(120):
        rng = np.random.default_rng([m, d, seed])
        model = GRLSRegressor(features=features).fit(rng.normal(size=(m, d)), rng.normal(size=m))
        p_values.append(model.summary(n_simulations=99, random_state=seed).p_value)
    assert np.mean(np.array(p_values) <= 0.05) < 0.12
