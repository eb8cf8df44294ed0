"""γ between the values of the grid."""

import numpy as np
import pytest
from grls import GRLSRegressor, NystromGRLSRegressor
from grls.kernels import Gaussian
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, size=(300, 2))
Y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.2 * RNG.standard_normal(300)


def model(**parameters):
    return NystromGRLSRegressor(Gaussian(0.4), features="linear", **{"n_centers": 60, **parameters})


@pytest.mark.parametrize("criterion", ["gcv", "reml", "holdout"])
def test_the_best_of_the_grid_is_refined(criterion):
    fitted = model(regularization=criterion, regularization_grid=12).fit(X, Y)
    path, values = fitted.regularization_path_, fitted.criterion_path_
    place = int(np.flatnonzero(path == fitted.regularization_)[0])
    assert len(path) == 13
    assert 0 < place < 12
    assert values[place] == values.min()
    # As good as any of a fine grid between its neighbours, up to a step of one per cent.
    fine = np.geomspace(path[place - 1], path[place + 1], 200)
    best = model(regularization=criterion, regularization_grid=fine).fit(X, Y)
    assert_allclose(np.log(fitted.regularization_), np.log(best.regularization_), atol=0.06)
    assert values[place] <= best.criterion_path_.min() + 1e-4 * abs(values[place])


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_all_rows_as_centres_choose_as_the_exact_model_does(criterion):
    exact = GRLSRegressor(Gaussian(0.4), features="linear", regularization=criterion).fit(X, Y)
    fitted = model(regularization=criterion, n_centers=len(X)).fit(X, Y)
    assert_allclose(np.log(fitted.regularization_), np.log(exact.regularization_), atol=0.006)
    tried = [np.sort(each.regularization_path_)[[0, -1]] for each in (fitted, exact)]
    assert_allclose(*tried, rtol=1e-6)


def test_the_order_of_rows_does_not_matter():
    order = RNG.permutation(len(X))
    assert_allclose(
        model().fit(X[order], Y[order]).regularization_, model().fit(X, Y).regularization_, rtol=1e-10
    )


def test_values_that_were_given_are_not_refined():
    grid = np.geomspace(1e-5, 1, 6)
    assert_array_equal(model(regularization_grid=grid).fit(X, Y).regularization_path_, grid)
