"""The units of a feature change its coefficient and nothing else, beside a constant that is then tiny."""

import numpy as np
import pytest
from grls import GRLSRegressor, GRRegressor, OneClassSVMGB
from grls._solvers.rank import nearest_combination
from grls.kernels import Gaussian

RNG = np.random.default_rng(11)
X = RNG.uniform(0, 3, size=(30, 2))
Y = 5 + 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * RNG.normal(size=30)
KERNEL = Gaussian(1.0).on([1])
UNIT = 2.0**70  # a power of two: nothing is rounded


def drift(unit):
    """A constant, and the first column in other units."""
    return lambda Z: np.column_stack([np.ones(len(Z)), unit * Z[:, 0]])


def test_the_nearest_combination_does_not_depend_on_units():
    T = drift(1.0)(X)
    plain = nearest_combination(T, Y)
    np.testing.assert_allclose(plain, np.linalg.lstsq(T, Y, rcond=None)[0])
    np.testing.assert_allclose(nearest_combination(T * [1.0, UNIT], Y), plain / [1.0, UNIT])
    several = nearest_combination(T * [1.0, UNIT], np.column_stack([Y, 2 * Y]))
    np.testing.assert_allclose(several, np.outer(plain / [1.0, UNIT], [1, 2]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda unit: GRLSRegressor(KERNEL, features=drift(unit)).fit(X, Y).predict_interval(X),
        lambda unit: (
            GRLSRegressor(KERNEL, features=drift(unit), regularization="reml")
            .fit(X, Y)
            .summary()
            .likelihood_ratio
        ),
        lambda unit: (
            GRRegressor(KERNEL, features=drift(unit), loss="huber", regularization=0.01).fit(X, Y).predict(X)
        ),
        lambda unit: (
            GRRegressor(KERNEL, features=drift(unit), loss="absolute", regularization=0.01)
            .fit(X, Y)
            .predict(X)
        ),
        lambda unit: OneClassSVMGB(KERNEL, features=drift(unit), nu=0.2).fit(X).decision_function(X),
    ],
    ids=["bands without each row", "test of the kernel part", "Huber", "absolute", "one class"],
)
def test_the_units_of_a_feature_change_nothing_else(ask):
    np.testing.assert_allclose(ask(UNIT), ask(1.0), rtol=1e-5, atol=1e-6)
