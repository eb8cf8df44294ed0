"""The median distance of one column, which is found without a list of all distances."""

import numpy as np
import pytest
from grls.kernels import ChiSquared
from grls.kernels.widths import median_distance
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

RNG = np.random.default_rng(0)
COLUMNS = {
    "normal": lambda n: RNG.normal(size=n),
    "Cauchy": lambda n: RNG.standard_cauchy(n),
    "lognormal": lambda n: np.exp(5 * RNG.normal(size=n)),
    "few values": lambda n: RNG.integers(0, 5, n).astype(float),
    "equal steps": lambda n: np.arange(float(n)),
    "far from zero": lambda n: 1e6 + 1e-6 * RNG.normal(size=n),
    "rounded": lambda n: np.round(RNG.normal(size=n), 1),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("n", [*range(1, 12), 50, 251, 1000])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_the_median_of_a_column_is_that_of_all_its_distances(name, n, metric):
    x = COLUMNS[name](n)[:, None]
    distinct = np.unique(x)[:, None]
    wanted = np.median(pdist(distinct)) if len(distinct) > 1 else 1.0
    assert_allclose(median_distance(x, metric=metric), wanted, rtol=1e-14)
    assert median_distance(x[::-1], metric=metric) == median_distance(np.vstack([x, x]), metric=metric)


def test_of_many_values_the_same_ones_are_taken_in_any_order():
    x = RNG.normal(size=(3000, 1))
    found = median_distance(x)
    assert found == median_distance(RNG.permutation(x))
    assert_allclose(found, np.median(pdist(x)), rtol=0.05)


@pytest.mark.parametrize(("scale", "word"), [(1e-200, "vanish"), (1e200, "overflow"), (1e308, "overflow")])
def test_distances_whose_squares_are_no_numbers_are_refused(scale, word):
    with pytest.raises(ValueError, match=word):
        median_distance(scale * np.array([[-1.0], [0.2], [1.5]]))


def test_bounds_of_a_kernel_on_histograms_go_with_their_mean_sum():
    X = np.random.default_rng(0).multinomial(50, np.full(4, 0.25), size=30) * 2.0
    low, high = ChiSquared().tuning_bounds("gamma", X)
    assert_allclose((low, high), (1e-5, 10.0))
    assert ChiSquared().tuning_bounds("gamma", np.zeros((3, 2))) == (1e-3, 1e3)
