"""The median distance of one column, which is found without a list of all distances."""

import numpy as np
import pytest
from grls import SVMGBClassifier, _core
from grls.kernels import (
    Categorical,
    ChiSquared,
    Gaussian,
    Laplace,
    Matern,
    Multiquadric,
    Periodic,
    RationalQuadratic,
    Spherical,
    Wendland,
)
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


WITH_WIDTHS = {
    "Gaussian": Gaussian,
    "Laplace": Laplace,
    "Laplace of sums": lambda width: Laplace(width, norm="l1"),
    "Matérn 3/2": lambda width: Matern(width, nu=1.5),
    "Matérn 5/2": lambda width: Matern(width, nu=2.5),
    "Matérn": lambda width: Matern(width, nu=0.8),
    "rational quadratic": RationalQuadratic,
    "multiquadric": Multiquadric,
    "spherical": Spherical,
    "Wendland": Wendland,
    "categorical": Categorical,
    "a width each": lambda width: Gaussian([1.0, width, 1.0]),
    "periodic": lambda width: Periodic(width, 3.0),
}
ROWS = np.random.default_rng(0).normal(size=(12, 3))


@pytest.mark.parametrize("width", [5e-324, 1e-310, 1e-160, 1e160, 1e308])
@pytest.mark.parametrize("kernel", WITH_WIDTHS)
def test_widths_whose_squares_are_no_numbers_are_refused(kernel, width):
    with pytest.raises(
        ValueError, match=r"kernel widths must lie between 1e-150 and 1e150, got .* another unit"
    ):
        WITH_WIDTHS[kernel](width)(ROWS)


@pytest.mark.parametrize("width", [1e-150, 1e-140, 1e140, 1e150])
@pytest.mark.parametrize("size", [1.0, 1e30])
@pytest.mark.parametrize("kernel", WITH_WIDTHS)
def test_the_smallest_and_the_largest_width_have_values(kernel, width, size):
    K = WITH_WIDTHS[kernel](width)(size * ROWS)
    assert not np.isnan(K).any()
    assert np.abs(np.diag(K)).min() == 1


@pytest.mark.parametrize("period", [1e-310, 1e160])
def test_periods_that_cannot_be_divided_by_are_refused(period):
    with pytest.raises(ValueError, match="kernel periods must lie between 1e-150 and 1e150"):
        Periodic(1.0, period)(ROWS)


@pytest.mark.parametrize(("width", "alpha"), [(1.0, 1e-310), (1e-150, 1e-10), (1e150, 1e10)])
def test_an_exponent_beyond_what_the_width_allows_is_refused(width, alpha):
    with pytest.raises(ValueError, match="is beyond what a kernel of width"):
        RationalQuadratic(width, alpha)(ROWS)


def test_a_machine_says_that_its_width_is_too_small():
    with pytest.raises(ValueError, match="kernel widths must lie between"):
        SVMGBClassifier(Gaussian(1e-160), C=1.0).fit(ROWS, ROWS[:, 0] > 0)


def test_a_power_of_degree_zero_has_no_slope():
    """Also where its base is zero, and zero to the power -1 infinite."""
    formula = _core.Formula([([], [], [])], [("linear", 0, 0.0, 0.0, 0), ("power", 0, 0.0, 0.0, 0)])
    slope = _core.kernel_input_gradient(formula=formula, a=np.zeros((1, 3)), b=ROWS, c=np.ones((12, 1)))
    assert (slope == 0).all()


@pytest.mark.parametrize("degree", [0, 1])
def test_a_polynomial_of_degree_zero_has_no_derivative_by_its_constant(degree):
    steps = [("polynomial", 0, 0.0, 0.0, degree), ("gaussian", 1, 1.0, 0.0, 0), ("sum", 0, 0.0, 0.0, 0)]
    rows = np.vstack([ROWS, np.zeros((1, 3))])
    found = _core.gradient(
        formula=_core.Formula([([], [], []), ([], [], [])], steps),
        data=rows,
        T=np.ones((13, 1)),
        Y=np.append(ROWS[:, :1], [[0.0]], axis=0),
        weights=None,
        shift=0.1,
        criterion="reml",
        groups=[],
        tolerance=1e-9,
    )
    assert np.isfinite(found.a).all()
    assert (found.a[0] == 0) == (degree == 0)
