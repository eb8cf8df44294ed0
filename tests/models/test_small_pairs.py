"""Small pairs of classes are solved exactly: by an active set where kernels are known to be definite."""

import warnings

import numpy as np
import pytest
from grls import SVMGBClassifier
from grls._models import pairs_of_classes
from grls._models.pairs_of_classes import SamplesOfPairs, parts_of, shared_matrix
from grls._solvers.certificate import PairOfClasses, certify, certify_all, feasible_coefficients
from grls._solvers.kernel_problem import KernelProblem
from grls._solvers.kernel_values import StoredGram
from grls.exceptions import IndefiniteKernelWarning
from grls.kernels import Gaussian, Laplace, Linear, Polynomial, Sigmoid
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC


def classes(seed, m, n_classes=2):
    random = np.random.default_rng(seed)
    X = random.standard_normal((m, 3))
    y = np.clip(np.digitize(X[:, 0] + 0.5 * random.standard_normal(m), [-0.5, 0.5][: n_classes - 1]), 0, None)
    return X, y, random.uniform(0.2, 2, m)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplace(1.0), Linear(), Polynomial(2)])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("features", ["constant", None])
def test_small_pairs_are_solved_as_exactly_as_by_an_interior_point_method(kernel, C, features):
    for seed, m in ((0, 40), (1, 150), (2, 280)):
        X, y, weights = classes(seed, m, 3)
        settings = {"C": C, "features": features}
        auto = SVMGBClassifier(kernel, **settings).fit(X, y, weights)
        exact = SVMGBClassifier(kernel, **settings, solver="ipm", tol=1e-10).fit(X, y, weights)
        rounding = 1e-10 * max(1.0, C)
        assert auto.duality_gap_.max() <= rounding
        assert_allclose(auto.objective_, exact.objective_, rtol=rounding)
        f = exact.decision_function(X)
        assert_allclose(auto.decision_function(X), f, atol=1e-5 * max(1.0, np.abs(f).max()))


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_a_weight_of_two_is_the_row_twice_to_rounding(C):
    X, y, _ = classes(3, 120)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    once = SVMGBClassifier(Gaussian(2.0), C=C).fit(X, y, weights.astype(float))
    often = SVMGBClassifier(Gaussian(2.0), C=C).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(once.decision_function(X), often.decision_function(X), rtol=1e-7, atol=1e-9)


def test_a_loose_tolerance_costs_small_pairs_no_accuracy():
    X, y, _ = classes(4, 100)
    loose = SVMGBClassifier(Gaussian(2.0), C=10.0, tol=0.1).fit(X, y)
    exact = SVMGBClassifier(Gaussian(2.0), C=10.0, tol=1e-10, solver="ipm").fit(X, y)
    assert_allclose(loose.decision_function(X), exact.decision_function(X), atol=1e-7)
    peer = SVC(C=10.0, gamma=1 / 8, tol=1e-10).fit(X, y)
    assert_allclose(loose.decision_function(X), peer.decision_function(X), atol=1e-5)


def test_a_kernel_that_may_not_be_definite_is_still_told_of():
    X, y, _ = classes(5, 100)
    with pytest.warns(IndefiniteKernelWarning):
        SVMGBClassifier(Sigmoid(a=2.0, c=-1.0), C=1.0).fit(X, y)
    matrix = np.tanh(2 * X @ X.T - 1)
    with pytest.warns(IndefiniteKernelWarning):
        SVMGBClassifier("precomputed", C=1.0).fit(matrix, y)
    with pytest.warns(IndefiniteKernelWarning):
        SVMGBClassifier(lambda X, Z: np.tanh(2 * X @ Z.T - 1), C=1.0).fit(X, y)


def test_what_is_known_of_kernels():
    X, _, _ = classes(6, 30)
    for kernel, known in ((Gaussian(1.0), True), (Linear() + Laplace(1.0), True), (Sigmoid(), False)):
        assert kernel.is_definite is known
        assert KernelProblem(kernel, X, np.ones((30, 1)), None).gram.definite is known


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_shared_matrix_changes_nothing(n_classes, monkeypatch):
    X, y, weights = classes(7, 90, n_classes)
    model = SVMGBClassifier(Gaussian(1.5), features="linear", C=3.0, feature_variance=1.0)
    shared = model.fit(X, y, weights).decision_function(X)
    monkeypatch.setattr(pairs_of_classes, "_FEW_SAMPLES", 0)
    assert_allclose(model.fit(X, y, weights).decision_function(X), shared, rtol=1e-7, atol=1e-8)


def test_the_matrix_is_shared_where_pairs_are_small_only():
    def kind(sizes):
        labels = np.repeat(np.arange(len(sizes)), sizes)
        problem = KernelProblem(Linear(), np.ones((len(labels), 1)), np.ones((len(labels), 1)), None)
        return type(shared_matrix(problem, labels).kernel)

    assert kind([100, 100, 100]) is StoredGram
    assert kind([150, 151, 10]) is not StoredGram  # a large pair
    assert kind([125, 125]) is StoredGram
    assert kind([126, 125]) is not StoredGram  # one that is not shared
    assert kind([100] * 11) is not StoredGram  # small ones, and many


@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificates_of_all_pairs_are_those_of_each(n_classes):
    X, y, weights = classes(8, 60, n_classes)
    pairs = np.array([(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)])
    problem = KernelProblem(Gaussian(1.0), X, np.column_stack([np.ones(60), X[:, 0]]), weights)
    task = pairs_of_classes.Task(problem.kernel, problem, y, np.arange(n_classes), pairs, "auto", False)
    samples, parts = task.samples, parts_of(task, 2.0)
    random = np.random.default_rng(0)
    own, known, image = (random.standard_normal(len(samples.rows)) for _ in range(3))
    bounds = 2.0 * weights[samples.rows]
    inside = np.empty_like(own)
    for p in range(len(pairs)):
        at = samples.pair == p
        inside[at] = feasible_coefficients(samples.y[at], known[at, None], own[at], bounds[at])
    assert np.all((samples.y * inside >= 0) & (samples.y * inside <= bounds))
    objective, gap = certify_all(samples.starts, samples.y, bounds, inside, known, image, inside, image)
    for p, part in enumerate(parts):
        mine = np.flatnonzero(samples.pair == p)
        mine = mine[np.argsort(samples.rows[mine])]
        assert_array_equal(samples.rows[mine], part.rows)
        assert_array_equal(samples.y[mine], part.y)
        c, f = inside[mine], image[mine] + known[mine]
        primal = 0.5 * c @ image[mine] + part.bounds @ np.maximum(0, 1 - part.y * f)
        dual = part.y @ c - 0.5 * c @ image[mine]
        assert c @ known[mine] == pytest.approx(0, abs=1e-12)
        assert objective[p] == pytest.approx(primal, rel=1e-12)
        wanted = max(primal - dual, 0) / max(primal, 1e-6 * part.bounds.sum())
        assert gap[p] == pytest.approx(wanted, rel=1e-10)
        alone = certify(
            PairOfClasses(part.rows, part.y, known[mine, None], part.bounds),
            c,
            np.ones(1),
            image[mine],
            np.zeros_like,
        )
        assert (alone.objective, alone.relative_gap) == pytest.approx((objective[p], gap[p]), rel=1e-12)


def test_samples_of_pairs_follow_one_another():
    samples = SamplesOfPairs.of(np.array([2, 0, 1, 0]), np.array([[0, 1], [0, 2], [1, 2]]), 3)
    assert_array_equal(samples.rows, [1, 3, 2, 1, 3, 0, 2, 0])
    assert_array_equal(samples.pair, [0, 0, 0, 1, 1, 1, 2, 2])
    assert_array_equal(samples.y, [1, 1, -1, 1, 1, -1, 1, -1])
    assert_array_equal(samples.starts, [0, 3, 6])


def test_rounds_are_limited_for_small_pairs_too():
    X, y, _ = classes(9, 200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVMGBClassifier(Gaussian(1.0), C=1e3, max_iter=1).fit(X, y)
    assert model.n_iter_[0] <= 2
    assert any("did not reach tol" in str(warning.message) for warning in caught)
