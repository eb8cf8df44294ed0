"""γ chosen without a matrix: the curve and the choice of the closed form, up to what random vectors leave."""

import numpy as np
import pytest
from grls import GRLSClassifier, GRLSRegressor
from grls._selection.shifted_systems import ShiftedSystems
from grls._solvers.kernel_problem import KernelProblem
from grls._solvers.matrix_free import MatrixFree
from grls.kernels import Gaussian, Laplace, Matern, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, size=(500, 2))
Y = np.column_stack([np.sin(4 * X[:, 0]) + X[:, 1], np.cos(6 * X[:, 1])]) + 0.2 * RNG.standard_normal(
    (500, 2)
)
WEIGHTS = RNG.uniform(0.2, 2.0, size=500)
WEIGHTS /= WEIGHTS.mean()
KERNELS = [Gaussian(0.3), Matern(0.5), Laplace(0.5)]


@pytest.fixture(autouse=True)
def few_centres(monkeypatch):
    """With as many centres as rows nothing would be left to estimate."""
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 40)


def pair(**parameters):
    given = {"kernel": Gaussian(0.3), "features": "linear", **parameters}
    return GRLSRegressor(**given), GRLSRegressor(**given, solver="cg", tol=1e-10)


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_the_choice_is_that_of_the_closed_form(criterion, kernel, weights):
    direct, free = (m.fit(X, Y[:, 0], weights) for m in pair(kernel=kernel, regularization=criterion))
    assert 0.7 < free.regularization_ / direct.regularization_ < 1.4
    assert free.regularization_range_[0] <= free.regularization_range_[1]
    # The model is the exact one of the γ that was chosen.
    exact = GRLSRegressor(kernel, features="linear", regularization=free.regularization_).fit(
        X, Y[:, 0], weights
    )
    assert_allclose(free.predict(X), exact.predict(X), atol=1e-6)
    assert_allclose(free.noise_variance_, exact.noise_variance_, rtol=1e-5)


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_the_curve_is_that_of_the_closed_form(criterion):
    grid = np.geomspace(1e-5, 1e1, 13)
    direct, free = (m.fit(X, Y[:, 0]) for m in pair(regularization=criterion, regularization_grid=grid))
    assert_allclose(free.regularization_path_, direct.regularization_path_)
    if criterion == "gcv":
        assert_allclose(free.criterion_path_, direct.criterion_path_, rtol=0.02)
    else:
        assert_allclose(free.criterion_path_, direct.criterion_path_, atol=0.02 * len(X))
    assert free.regularization_ in grid


def test_the_space_knows_solutions_forms_and_traces_between_the_shifts_solved_for():
    T = np.column_stack([np.ones(len(X)), X])
    problem = KernelProblem(Gaussian(0.3), X, T, None)
    systems = ShiftedSystems(MatrixFree(problem), Y, 16, np.random.RandomState(0))
    for pole in np.geomspace(1e3, 1e-2, 6):
        assert systems.add(pole, tol=1e-6, max_iter=500)
    Q = np.linalg.qr(T, mode="complete")[0][:, 3:]
    H = Q.T @ Gaussian(0.3).matrix(X, X) @ Q
    values, V = np.linalg.eigh(H)
    y = V.T @ Q.T @ Y
    for s in (30.0, 0.3, 0.03):

        def inverse(t, s=s):
            return 1 / (t + s)

        def logarithm(t, s=s):
            return np.log(t + s)

        assert_allclose(systems.forms(inverse), (y**2).T @ inverse(values), rtol=5e-4)
        solution, image = systems.solutions(s, slice(0, 2))
        assert_allclose(solution, Q @ V @ (y / (values + s)[:, None]), atol=0.02 * np.abs(solution).max())
        assert_allclose(image, Q @ H @ Q.T @ solution + s * solution, atol=1e-8)
        for f in (inverse, logarithm):
            exact, each = f(values).sum(), [systems.trace_of(f, slice(i, i + 2)) for i in range(0, 16, 2)]
            error = np.std(each, ddof=1) / np.sqrt(len(each))
            assert abs(systems.trace_of(f) - exact) < 4 * error + 1e-3 * abs(exact)


def test_each_output_may_have_its_own():
    direct, free = (m.fit(X, Y) for m in pair(regularization="gcv", per_output=True))
    assert_allclose(free.regularization_, direct.regularization_, rtol=0.4)
    assert free.regularization_range_.shape == (2, 2)
    assert_allclose(free.predict(X), direct.predict(X), atol=0.02)


def test_the_choice_is_reproducible_and_told_apart_by_the_seed():
    first, second = (pair(regularization="gcv")[1].fit(X, Y[:, 0]) for _ in range(2))
    assert_array_equal(first.regularization_, second.regularization_)
    other = pair(regularization="gcv", random_state=1)[1].fit(X, Y[:, 0])
    assert other.regularization_ != first.regularization_
    assert_allclose(np.log(other.regularization_), np.log(first.regularization_), atol=0.3)


def test_rows_given_twice_count_as_two():
    twice = pair(regularization="reml")[1].fit(np.vstack([X, X]), np.concatenate([Y[:, 0], Y[:, 1]]))
    direct = pair(regularization="reml")[0].fit(np.vstack([X, X]), np.concatenate([Y[:, 0], Y[:, 1]]))
    assert_allclose(twice.regularization_, direct.regularization_, rtol=0.4)


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_the_scale_of_weights_is_without_effect(criterion):
    x, y, weights = X[:60], Y[:60, 0], WEIGHTS[:60]
    for model in pair(kernel=Matern(0.5), regularization=criterion):
        first = model.fit(x, y, weights).regularization_
        assert_allclose(model.fit(x, y, 30 * weights).regularization_, first, rtol=0.05)


def test_conditionally_definite_kernels_and_classifiers_choose_too():
    direct, free = (m.fit(X, Y[:, 0]) for m in pair(kernel=ThinPlate(), regularization="reml"))
    assert_allclose(np.log(free.regularization_), np.log(direct.regularization_), atol=0.4)
    labels = (Y[:, 0] > 0).astype(int)
    given = {"kernel": Gaussian(0.3), "regularization": "gcv"}
    direct, free = (GRLSClassifier(**given, solver=s).fit(X, labels) for s in ("cholesky", "cg"))
    assert_allclose(np.log(free.regularization_), np.log(direct.regularization_), atol=0.4)


def test_a_kernel_that_the_features_express_leaves_nothing_to_choose():
    model = GRLSRegressor(Gaussian(1.0), regularization="gcv", solver="cg")
    model.fit(np.repeat(np.ones((1, 2)), 30, axis=0) + 1e-12 * X[:30], Y[:30, 0])
    assert_allclose(model.predict(np.ones((1, 2))), Y[:30, 0].mean())


def test_steps_that_run_out_are_told():
    with pytest.raises(ValueError, match=r"max_iter=1 .*raise max_iter"):
        pair(regularization="gcv", regularization_grid=[1e-9, 1e-3], max_iter=1)[1].fit(X, Y[:, 0])


def test_given_variances_need_no_choice():
    given = {"kernel_variance": 1.0, "noise_variance": 0.04}
    direct, free = (m.fit(X, Y[:, 0]) for m in pair(**given))
    assert_allclose(free.regularization_, direct.regularization_)
    assert_allclose(free.predict(X), direct.predict(X), atol=1e-7)
