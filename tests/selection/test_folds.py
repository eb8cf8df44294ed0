"""Folds of rows: every class in each, copies and groups in one piece, the same whatever the order."""

import numpy as np
import pytest
from grls._selection.folds import drawn, folds_of, held_together
from grls.kernels import Gaussian, Precomputed
from numpy.testing import assert_array_equal


def test_every_fold_has_its_share_of_every_class():
    rng = np.random.default_rng(0)
    labels = rng.choice(4, size=300, p=[0.6, 0.2, 0.15, 0.05])
    fold = folds_of(held_together(Gaussian(), rng.standard_normal((300, 2)), None), labels)
    assert_array_equal(np.unique(fold), [0, 1, 2])
    for k in range(4):
        counts = np.bincount(fold[labels == k], minlength=3)
        assert counts.max() - counts.min() <= 1


def test_copies_of_a_row_stay_together_whatever_their_labels():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((40, 3)), 3, axis=0)
    labels = rng.integers(2, size=120)
    for kernel, points in ((Gaussian(), X), (Precomputed(), X @ X.T)):
        fold = folds_of(held_together(kernel, points, None), labels)
        assert_array_equal(fold.reshape(40, 3), np.repeat(fold[::3, None], 3, axis=1))


def test_groups_and_copies_are_held_out_in_one_piece():
    X = np.arange(12.0)[:, None]
    X[11] = X[0]  # joins the first group with the last
    groups = np.arange(12) // 2
    together = held_together(Gaussian(), X, groups)
    assert together[0] == together[1] == together[10] == together[11]
    assert len(np.unique(together)) == 5
    assert_array_equal(together[0::2], together[1::2])


def test_neither_the_order_of_the_rows_nor_their_units_matter():
    rng = np.random.default_rng(2)
    X, labels = rng.standard_normal((90, 3)), rng.integers(3, size=90)
    order = rng.permutation(90)
    fold = folds_of(held_together(Gaussian(), X, None), labels)
    moved = folds_of(held_together(Gaussian(), 7 * X[order] + 1, None), labels[order])
    assert_array_equal(moved, fold[order])


def test_the_only_point_of_a_class_is_never_held_out():
    X = np.arange(9.0)[:, None]
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    fold = folds_of(held_together(Gaussian(), X, None), labels)
    assert fold[8] == -1
    assert (fold[:8] >= 0).all()
    for f in range(3):
        assert set(labels[fold != f]) == {0, 1, 2}


@pytest.mark.parametrize("most", [20, 50])
def test_some_rows_are_drawn_from_all_classes(most):
    rng = np.random.default_rng(3)
    X, labels = rng.standard_normal((200, 2)), np.repeat([0, 1, 2], [150, 47, 3])
    together = held_together(Gaussian(), X, None)
    rows = drawn(together, labels, most)
    assert len(rows) == most
    counts = np.bincount(labels[rows])
    assert counts[0] / most == pytest.approx(0.75, abs=0.1)
    assert counts[2] >= 2
    assert drawn(together, labels, 200) is None
