"""The walk along γ for losses whose rows are left out in folds."""

import numpy as np
import pytest
from grls._models.progress import Stages
from grls._selection import by_folds
from numpy.testing import assert_allclose, assert_array_equal


def walk(curve, lost=0.0):
    """Return a walk whose loss is a function of log10(γ); no solver gets below `lost`."""

    def left_out(gamma):
        return None if gamma < lost else np.full((4, 1), np.log10(gamma))

    return by_folds.Walk(left_out, lambda predictions: curve(predictions[:, 0]), np.ones(4), Stages(0))


@pytest.mark.parametrize("place", [0.0, -3.0, -6.0, -8.5])
def test_the_walk_goes_on_while_the_loss_falls_and_refines_what_it_finds(place):
    found = walk(lambda x: 1 + (x - place) ** 2).follow(*by_folds.gammas_to_try(12))
    step = np.log10(5.0 / 5e-8) / 11
    assert abs(np.log10(found.chosen) - place) <= step / 4 + 1e-9
    assert_array_equal(found.path, np.sort(found.path))
    assert_allclose(found.criterion, 1 + (np.log10(found.path) - place) ** 2)
    assert_allclose(found.predictions, np.full((4, 1), np.log10(found.chosen)))


def test_values_without_gain_end_the_walk_below_the_hump_and_not_above():
    def curve(x):
        return np.where(x > -4.0, 2.0 - 0.01 * np.sin(9 * x), 1 + (x + 6.0) ** 2)

    found = walk(curve).follow(*by_folds.gammas_to_try(12))
    assert abs(np.log10(found.chosen) + 6.0) < 0.4
    assert 3 <= np.count_nonzero(found.path < 0.5 * found.chosen) <= 5  # those tried in vain, and a middle


def test_values_that_are_given_are_all_tried_and_no_others():
    found = walk(lambda x: (x + 1) ** 2).follow(*by_folds.gammas_to_try([1.0, 1e-1, 1e-6, 1e-9, 1e-12]))
    assert_array_equal(found.path, [1e-12, 1e-9, 1e-6, 1e-1, 1.0])
    assert found.chosen == 1e-1


def test_where_no_solver_gets_the_walk_ends():
    found = walk(lambda x: (x + 9) ** 2, lost=1e-5).follow(*by_folds.gammas_to_try(12))
    assert found.path.min() >= 1e-5
    assert found.chosen == found.path.min()


@pytest.mark.parametrize("grid", [[], [1.0, np.inf], [np.nan], [0.0, 1.0], [-1.0]])
def test_a_grid_must_hold_positive_finite_numbers(grid):
    with pytest.raises(ValueError, match="must hold positive, finite numbers"):
        by_folds.gammas_to_try(grid)
