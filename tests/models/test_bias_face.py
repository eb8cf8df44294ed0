"""Where several biases of SVM-GB are as good: the one with the largest smallest distance from the margins."""

import numpy as np
import pytest
from grls import SVMGBClassifier
from grls._solvers import bias_face
from grls.kernels import Gaussian, Linear
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.svm import SVC

FEW = 1e-3  # a C with which nearly all coefficients are at a bound


def unequal(m=61, seed=0):
    """Two classes that overlap, one of them larger, and three columns."""
    random = np.random.default_rng(seed)
    y = (np.arange(m) % 3 == 0).astype(int)
    return random.standard_normal((m, 3)) + 0.7 * y[:, None], y


def sides(X):
    """Five groups of rows by their first column."""
    return np.eye(5)[np.digitize(X[:, 0], [-1.0, -0.2, 0.6, 1.5])]


def lines(X):
    """The constant, an indicator and a product: no row of the first kind is like one of the second."""
    return np.column_stack([np.ones(len(X)), X[:, 1] > 0, X[:, 0] * X[:, 2]]).astype(float)


def told(model, X, y, features):
    """Return image, T, ±y, a and β of a model of two classes."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    c = np.zeros(len(y))
    c[model.support_] = model.dual_coef_[:, 0]
    return model.kernel_(X) @ c, features(X), signs, signs * c, model.feature_coef_[:, 0]


def largest_smallest_distance(image, T, y, a, C):
    """The linear program in β and t as docs/math.md has it, over rows at a bound that some β moves."""
    low, high = a <= 1e-9 * C, a >= (1 - 1e-9) * C
    free = ~(low | high)
    _, values, Vt = np.linalg.svd(T[free], full_matrices=True)
    null = Vt[np.count_nonzero(values > 1e-9) :].T
    counts = (low | high) & (np.linalg.norm(T @ null, axis=1) > 1e-9)
    sign = np.where(low, 1.0, -1.0)[counts]
    g = (y * image)[counts] - 1
    found = linprog(
        np.append(np.zeros(T.shape[1]), -1.0),
        A_ub=np.column_stack([-(sign * y[counts])[:, None] * T[counts], np.ones(counts.sum())]),
        b_ub=sign * g,
        A_eq=np.column_stack([T[free], np.zeros(free.sum())]) if free.any() else None,
        b_eq=(y - image)[free] if free.any() else None,
        bounds=(None, None),
    )
    assert found.status == 0
    return -found.fun, counts


@pytest.mark.parametrize("solver", ["auto", "native", "ipm"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()])
def test_no_bias_has_a_larger_smallest_distance(solver, kernel):
    for seed in range(4):
        X, y = unequal(seed=seed)
        model = SVMGBClassifier(kernel, features=lines, C=FEW, solver=solver, tol=1e-8).fit(X, y)
        image, T, signs, a, beta = told(model, X, y, lines)
        wanted, counts = largest_smallest_distance(image, T, signs, a, FEW)
        distances = np.abs(1 - signs * (image + T @ beta))
        assert counts.any()
        assert_allclose(distances[counts].min(), wanted, atol=1e-7)
        assert model.duality_gap_[0] <= 1e-8


def test_an_indicator_alone_is_no_constant_and_has_its_middle_too():
    def side(X):
        return (X[:, :1] > 0).astype(float)

    for seed in range(3):
        X, y = unequal(m=60, seed=seed)
        # As many rows of either class in the group: all coefficients are at their bounds.
        X[:, 0] = -1.0
        X[np.concatenate([np.flatnonzero(y == 0)[:12], np.flatnonzero(y == 1)[:12]]), 0] = 1.0
        model = SVMGBClassifier(Gaussian(1.0), features=side, C=FEW, tol=1e-8).fit(X, y)
        image, T, signs, a, beta = told(model, X, y, side)
        wanted, counts = largest_smallest_distance(image, T, signs, a, FEW)
        assert np.count_nonzero(counts) == 24
        assert_allclose(np.abs(1 - signs * (image + T @ beta))[counts].min(), wanted, atol=1e-7)


def test_the_objective_is_that_of_any_other_bias_on_the_face(monkeypatch):
    moved = 0
    for seed in range(6):
        for features in (lines, sides):
            X, y = unequal(seed=seed)
            options = {"features": features, "C": FEW, "tol": 1e-8}
            model = SVMGBClassifier(Gaussian(1.0), **options).fit(X, y)
            with monkeypatch.context() as without:
                without.setattr(bias_face, "central", lambda *arguments: arguments[5])
                plain = SVMGBClassifier(Gaussian(1.0), **options).fit(X, y)
            assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
            assert model.duality_gap_[0] <= max(plain.duality_gap_[0], 1e-9)
            moved += np.abs(model.feature_coef_ - plain.feature_coef_).max() > 1e-3
    assert moved >= 6


@pytest.mark.parametrize("C", [1e-4, 1e-3])
def test_for_the_constant_it_is_the_intercept_of_svc(C):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    peer = SVC(C=C, kernel="linear", tol=1e-10).fit(X, y)
    a = np.zeros(len(y))
    a[peer.support_] = np.abs(peer.dual_coef_[0])
    assert np.all((a == 0) | (a == C))
    signs, ones = np.where(y == 2, 1.0, -1.0), np.ones((len(y), 1))
    image, bounds = X @ X.T @ (signs * a), np.full(len(y), C)
    for edge in ((signs - image)[signs > 0].min(), (signs - image)[signs < 0].max()):
        beta = bias_face.central(image, ones, signs, a, bounds, np.array([edge]), np.ones(1))
        assert_allclose(beta, peer.intercept_, atol=1e-8)
    model = SVMGBClassifier(Linear(), C=C).fit(X, y)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("features", [lines, sides])
def test_basis_order_and_units_of_features_and_the_order_of_rows_do_not_matter(features):
    random = np.random.default_rng(0)
    for seed in range(4):
        X, y = unequal(seed=seed)
        n_free = features(X).shape[1]
        mix, order = random.standard_normal((n_free, n_free)), random.permutation(len(y))
        options = {"C": FEW, "tol": 1e-9}
        f = SVMGBClassifier(Gaussian(1.0), features=features, **options).fit(X, y).decision_function(X)
        shuffled = SVMGBClassifier(Gaussian(1.0), features=features, **options).fit(X[order], y[order])
        assert_allclose(shuffled.decision_function(X), f, atol=1e-7)
        scaled = SVMGBClassifier(Gaussian(1.0), features=lambda X: 100 * features(X)[:, ::-1], **options)
        assert_allclose(scaled.fit(X, y).decision_function(X), f, atol=1e-7)
        mixed = SVMGBClassifier(Gaussian(1.0), features=lambda X, mix=mix: features(X) @ mix, **options)
        assert_allclose(mixed.fit(X, y).decision_function(X), f, atol=1e-7)


@pytest.mark.parametrize("features", [lines, sides])
def test_a_weight_is_that_many_copies(features):
    for seed in range(4):
        X, y = unequal(seed=seed)
        counts = np.random.default_rng(seed).integers(1, 4, len(y))
        model = SVMGBClassifier(Gaussian(1.0), features=features, C=FEW, tol=1e-9)
        weighted = model.fit(X, y, counts).decision_function(X)
        copies = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        assert_allclose(copies.decision_function(X), weighted, atol=1e-7)


def test_groups_of_rows_have_each_its_own_middle():
    """Indicators of groups: the face is a product of intervals, whatever the widths of the others."""
    seen = 0
    for seed in range(6):
        X, y = unequal(seed=seed)
        model = SVMGBClassifier(Gaussian(1.0), features=sides, C=FEW, tol=1e-9).fit(X, y)
        image, T, signs, a, beta = told(model, X, y, sides)
        for p in range(T.shape[1]):
            mine = T[:, p] > 0
            if np.any((a[mine] > 1e-9 * FEW) & (a[mine] < (1 - 1e-9) * FEW)):
                continue
            residual = (signs - image)[mine]
            rises = (signs[mine] > 0) == (a[mine] <= 1e-9 * FEW)  # β must not be smaller than its residual
            if rises.any() and not rises.all():
                middle = 0.5 * (residual[rises].max() + residual[~rises].min())
                assert_allclose(beta[p], middle, atol=1e-7)
                seen += 1
    assert seen >= 6


@pytest.mark.parametrize("solver", ["auto", "native", "ipm"])
@pytest.mark.parametrize("place", [-400.0, 400.0])
def test_a_group_of_one_class_is_moved_no_further_than_to_its_margin(solver, place):
    """The indicator of rows of one class far from all others: β has no upper bound, and c is not zero."""
    X, y = unequal()
    far = [[place, 0.0, 0.0], [place, 1.0, 0.0], [place, 0.5, 0.5]]
    X, y = np.vstack([X, far]), np.append(y, [1, 1, 1])

    def features(X):
        return np.column_stack([np.ones(len(X)), X[:, 1], np.abs(X[:, 0]) > 20])

    model = SVMGBClassifier(Linear(), features=features, C=1.0, solver=solver, tol=1e-8).fit(X, y)
    assert model.kernel_used_.all()
    without = model.decision_function(X[-3:]) - model.feature_coef_[2, 0]
    needed = (1 - without).max()
    assert needed > 1 if place < 0 else needed < 0
    assert_allclose(model.feature_coef_[2, 0], max(0.0, needed), atol=1e-9)


def least_norm_by_a_grid(G, s):
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 401)] * 2), axis=-1).reshape(-1, 2)
    allowed = np.all(s + grid @ G.T >= 0, axis=1)
    return (grid[allowed] ** 2).sum(axis=1).min()


def test_directions_without_end_have_the_least_norm():
    random = np.random.default_rng(0)
    for _ in range(8):
        m = 30
        x = random.uniform(-1, 1, m)
        T = np.column_stack([np.ones(m), x])
        y, image = np.ones(m), random.uniform(-2, 2, m)
        a, C = np.zeros(m), np.ones(m)
        start = np.array([3.5, 0.0])  # margins kept, as by any larger constant
        beta = bias_face.central(image, T, y, a, C, start, np.ones(2))
        assert (image + T @ beta).min() >= 1 - 1e-9
        shortest = least_norm_by_a_grid(T, image - 1)
        assert beta @ beta <= shortest + 1e-9
        assert beta @ beta >= shortest - 0.2  # what a grid of 0.02 may miss


def test_copies_of_a_row_at_either_bound_fix_its_value_and_no_more():
    X, y = unequal()
    model = SVMGBClassifier(Gaussian(1.0), features=sides, C=FEW, tol=1e-9).fit(X, y)
    image, T, signs, a, beta = told(model, X, y, sides)
    wide = np.ones(5)
    C = np.full(len(y), FEW)
    plain = bias_face.central(image, T, signs, a, C, beta, wide)
    assert_allclose(plain, beta, atol=1e-9)  # where it is already
    on_margin = signs[0] - T[0] @ beta  # a row of its own, whose value is its label
    twice = [0, 0]
    fixed = bias_face.central(
        np.append(image, [on_margin, on_margin]),
        np.vstack([T, T[twice]]),
        np.append(signs, signs[twice]),
        np.append(a, [0.0, FEW]),
        np.append(C, [FEW, FEW]),
        beta,
        wide,
    )
    between = bias_face.central(
        np.append(image, on_margin),
        np.vstack([T, T[:1]]),
        np.append(signs, signs[0]),
        np.append(a, FEW),
        np.append(C, 2 * FEW),
        beta,
        wide,
    )
    assert_allclose(fixed, between, atol=1e-9)
    assert_allclose(T[0] @ fixed, T[0] @ beta, atol=1e-9)


def test_fits_whose_bias_is_unique_pay_nothing(monkeypatch):
    def never(*arguments):
        raise AssertionError("the bias is unique")

    monkeypatch.setattr(bias_face, "central", never)
    X, y = unequal(m=200)
    for features in ("constant", "linear", None):
        for C in (0.1, 10.0):
            SVMGBClassifier(Gaussian(1.0), features=features, C=C).fit(X, y)
    SVMGBClassifier(Gaussian(1.0), features="constant", C=FEW).fit(X, y)  # the core has it in closed form


def test_rows_held_out_have_the_values_of_a_refit():
    X, y = unequal(m=90)
    model = SVMGBClassifier(Gaussian(1.0), features=sides, C=[FEW, 2 * FEW], tol=1e-9).fit(X, y)
    for f in range(3):
        train, test = model.cv_fold_ != f, model.cv_fold_ == f
        again = SVMGBClassifier(Gaussian(1.0), features=sides, C=model.C_, tol=1e-9).fit(X[train], y[train])
        assert_allclose(model.cv_predictions_[test], again.decision_function(X[test]), atol=1e-6)


def test_what_cannot_be_improved_is_left_alone(monkeypatch):
    X, y = unequal()
    model = SVMGBClassifier(Gaussian(1.0), features=sides, C=FEW, tol=1e-9).fit(X, y)
    image, T, signs, a, beta = told(model, X, y, sides)
    arguments = image, T, signs, a, np.full(len(y), FEW)
    elsewhere = beta + 1e-4
    assert np.abs(bias_face.central(*arguments, elsewhere, np.ones(5)) - elsewhere).max() > 0
    with monkeypatch.context() as large:
        large.setattr(bias_face, "_NUMBERS", 10)
        assert bias_face.central(*arguments, elsewhere, np.ones(5)) is elsewhere
    with monkeypatch.context() as lost:  # HiGHS without an answer
        lost.setattr(bias_face, "_multipliers", lambda s, G: None)
        assert bias_face.central(*arguments, elsewhere, np.ones(5)) is elsewhere
    with monkeypatch.context() as wrong:  # an answer that costs losses
        wrong.setattr(bias_face, "_furthest", lambda s, G, metric, origin: np.full(G.shape[1], 10.0))
        assert bias_face.central(*arguments, elsewhere, np.ones(5)) is elsewhere


def test_what_is_unbounded_keeps_the_distances_that_came_before():
    """Rows (1, 0) bound the constant on both sides; rows (1, x) of one class leave the slope without end."""
    x = np.array([0.5, 1.0, 2.0])
    T = np.column_stack([np.ones(7), np.concatenate([np.zeros(4), x])])
    y = np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    image = np.array([2.0, 3.0, -2.5, -1.5, -3.0, -4.0, -9.0])
    a, C = np.zeros(7), np.ones(7)
    # 1 − 2 ≤ β_1 ≤ −1 + 1.5: the middle is −0.25, with a distance of 0.75
    slope = ((1.75 + 0.25 - image[4:]) / x).max()
    for start in ([-0.25, 30.0], [0.4, 30.0], [-0.9, 50.0]):
        beta = bias_face.central(image, T, y, a, C, np.array(start), np.array([0.3, 2.0]))
        assert_allclose(beta, [-0.25, slope], atol=1e-9)


def test_units_are_deviations_beside_the_constant_and_sizes_without_it():
    x = np.array([0.0, 1.0, 5.0, 2.0])
    weights = np.array([1.0, 2.0, 1.0, 3.0])
    deviation = np.sqrt(np.cov(x, fweights=weights.astype(int), ddof=0))
    assert_allclose(bias_face.units(np.column_stack([np.ones(4), x]), weights), [1e-3, deviation])
    assert_allclose(bias_face.units(x[:, None], weights), [np.sqrt(np.average(x**2, weights=weights))])
    assert_allclose(
        bias_face.units(1e200 * x[:, None], weights)[0] / 1e200, bias_face.units(x[:, None], weights)[0]
    )


def test_coefficients_far_below_a_huge_bound_are_not_at_zero():
    low, high = bias_face.at_bounds(np.array([0.0, 1.0, 2.0]), np.full(3, 1e12))
    assert low.tolist() == [True, False, False]
    assert not high.any()


def test_an_unbounded_direction_that_needs_nothing_gets_nothing():
    T = np.column_stack([np.ones(6), [0.0, 0.0, 0.0, 0.5, 1.0, 2.0]])
    y = np.array([1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    image = np.array([2.0, -2.5, -1.5, 9.0, 9.0, 9.0])
    beta = bias_face.central(
        image, T, y, np.zeros(6), np.ones(6), np.array([0.4, 30.0]), np.array([0.3, 2.0])
    )
    assert_allclose(beta, [-0.25, 0.0], atol=1e-9)
