"""Widths of columns by slopes: taken where some matter, not where none do, whatever units and order."""

import numpy as np
import pytest
from grls import SVMGBClassifier
from grls._selection.choice import Choice, squared_error
from grls._selection.relevance import column_widths
from grls._solvers.kernel_problem import KernelProblem
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from scipy import sparse


def choice_of(X, y, weights=None):
    kernel = Gaussian(5.0)
    targets = y[:, None]
    problem = KernelProblem(kernel, X, np.ones((len(y), 1)), weights)
    return Choice(problem, targets, "loo", squared_error(targets, weights), None), kernel


def two_of_many(m=400, d=20, seed=0):
    X = np.random.default_rng(seed).normal(size=(m, d))
    return X, np.where(np.sin(2 * X[:, 3]) + X[:, 7] > 0, 1.0, -1.0)


def test_columns_that_matter_are_found():
    found = column_widths(*choice_of(*two_of_many()), 0.5)
    assert found is not None
    assert set(np.argsort(found.sigma)[:2]) == {3, 7}
    # The mean squared distance in units of the widths is what it was.
    X = two_of_many()[0]
    assert_allclose((X.var(axis=0) / np.square(found.sigma)).sum(), X.var(axis=0).sum() / 25)


@pytest.mark.parametrize("seed", range(6))
def test_chance_is_not_taken_for_a_column_that_matters(seed):
    X, _ = two_of_many(seed=seed)
    y = np.random.default_rng(seed + 100).choice([-1.0, 1.0], len(X))
    assert column_widths(*choice_of(X, y), 0.5) is None


def test_columns_that_all_matter_keep_their_scale():
    X = np.random.default_rng(0).normal(size=(400, 6))
    assert column_widths(*choice_of(X, np.sign(X.sum(axis=1) + 0.1)), 0.5) is None


def test_order_of_rows_and_copies_make_no_difference():
    X, y = two_of_many()
    expected = column_widths(*choice_of(X, y), 0.5).sigma
    order = np.random.default_rng(1).permutation(len(y))
    assert_allclose(column_widths(*choice_of(X[order], y[order]), 0.5).sigma, expected, rtol=1e-6)
    counts = np.random.default_rng(2).integers(1, 3, len(y))
    weighted = column_widths(*choice_of(X, y, counts.astype(float)), 0.5).sigma
    repeated = column_widths(*choice_of(np.repeat(X, counts, axis=0), np.repeat(y, counts)), 0.5).sigma
    assert_allclose(weighted, repeated, rtol=1e-6)


def test_what_has_no_slopes_is_left_alone():
    X, y = two_of_many()
    assert column_widths(*choice_of(X[:30], y[:30]), 0.5) is None
    assert column_widths(*choice_of(X[:, :1], y), 0.5) is None
    assert column_widths(*choice_of(sparse.csr_matrix(X), y), 0.5) is None
    assert column_widths(*choice_of(X, np.ones(len(y))), 0.5) is None


def test_the_machine_gains_where_few_of_many_columns_matter():
    X, y = two_of_many(1400, 30, seed=3)
    model = SVMGBClassifier().fit(X[:400], y[:400])
    assert model.optimization_.candidates[-1].kernel.sigma.shape == (30,)
    assert set(np.argsort(model.kernel_.sigma)[:2]) == {3, 7}
    plain = SVMGBClassifier(Gaussian("medians")).fit(X[:400], y[:400])
    gain = model.score(X[400:], y[400:]) - plain.score(X[400:], y[400:])
    assert gain > 0.03
    # In other units the same.
    units = np.logspace(-3, 3, 30)
    other = SVMGBClassifier().fit(X[:400] * units, y[:400])
    assert (other.predict(X[400:] * units) == model.predict(X[400:])).mean() > 0.99
