"""The exact model by conjugate gradients: the answer of the factorisation, without its matrix."""

import pickle

import numpy as np
import pytest
from builders import with_threads
from grls import DependentFeaturesWarning, GRLSClassifier, GRLSRegressor
from grls._solvers.kernel_problem import KernelProblem
from grls._solvers.matrix_free import MatrixFree
from grls.kernels import Gaussian, Laplace, Polynomial, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(700, 3))
Y = np.column_stack([np.sin(3 * X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * RNG.standard_normal((700, 2))
X_NEW = RNG.uniform(-1, 1, size=(40, 3))
WEIGHTS = RNG.uniform(0.2, 2.0, size=700)


def pair(**parameters):
    given = {"kernel": Gaussian(0.4), "features": "linear", "regularization": 1e-4, **parameters}
    given.setdefault("precision", "double")
    return GRLSRegressor(**{**given, "precision": "double"}), GRLSRegressor(**given, solver="cg", tol=1e-11)


@pytest.mark.parametrize("features", [None, "constant", "linear", "quadratic"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_conjugate_gradients_give_the_model_of_the_factorisation(features, weights):
    direct, free = (model.fit(X, Y, weights) for model in pair(features=features))
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=1e-7)
    assert_allclose(free.dual_coef_, direct.dual_coef_, atol=1e-6 * np.abs(direct.dual_coef_).max())
    assert_allclose(free.feature_coef_, direct.feature_coef_, atol=1e-7)
    assert_allclose(free.feature_coef_std_, direct.feature_coef_std_, rtol=1e-5)
    assert_allclose(free.noise_variance_, direct.noise_variance_, rtol=1e-6)
    for got, wanted in zip(
        free.predict(X_NEW, return_std=True), direct.predict(X_NEW, return_std=True), strict=True
    ):
        assert_allclose(got, wanted, atol=1e-6)
    assert 1 <= free.n_iter_ < 50


def test_conditionally_positive_definite_kernels_work_too():
    direct, free = (model.fit(X, Y) for model in pair(kernel=ThinPlate()))
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=1e-7)


def test_the_preconditioner_of_few_centres_serves(monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    direct, free = (model.fit(X, Y) for model in pair(kernel=Laplace(0.5)))
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=1e-7)
    assert free.n_iter_ > 5


@pytest.mark.parametrize("precision", ["mixed", "single"])
def test_products_in_single_precision_are_corrected(precision, monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    direct, free = (model.fit(X, Y) for model in pair(precision=precision, regularization=1e-3))
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=1e-7)
    assert free.precision_ == precision


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_standard_errors_have_digits_enough_whatever_the_tolerance(precision, tol, monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    given = {"kernel": Gaussian(0.4), "features": "linear", "regularization": 1e-3}
    direct = GRLSRegressor(**given, precision="double").fit(X, Y)
    free = GRLSRegressor(**given, precision=precision, solver="cg", tol=tol).fit(X, Y)
    assert_allclose(free.feature_coef_std_, direct.feature_coef_std_, rtol=1e-4 if tol < 1e-4 else 0.05)
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=30 * tol)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning")
@pytest.mark.parametrize("precision", ["mixed", "single"])
def test_double_precision_takes_over_where_regularization_is_too_little_for_single(precision, monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 400)
    direct, free = (model.fit(X, Y) for model in pair(precision=precision, regularization=1e-9))
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=1e-4)


def test_a_classifier_and_sparse_rows_work_too():
    S = sparse.random(300, 15, 0.3, format="csr", random_state=0)
    labels = np.asarray(S.sum(axis=1)).ravel().round().astype(int) % 3
    direct = GRLSClassifier(Gaussian(1.0), regularization=1e-3, class_weight="balanced").fit(S, labels)
    free = GRLSClassifier(
        Gaussian(1.0), regularization=1e-3, class_weight="balanced", solver="cg", tol=1e-11
    ).fit(S, labels)
    assert_allclose(free.decision_function(S), direct.decision_function(S), atol=1e-7)
    assert_array_equal(free.predict(S), direct.predict(S))


def test_the_answer_does_not_depend_on_the_threads():
    answers = with_threads(lambda: pair()[1].fit(X, Y).dual_coef_)
    assert_allclose(answers[1], answers[0], rtol=1e-9, atol=1e-9 * np.abs(answers[0]).max())
    assert_allclose(answers[2], answers[0], rtol=1e-9, atol=1e-9 * np.abs(answers[0]).max())


def test_dependent_features_are_left_out():
    def doubled(points):
        return np.column_stack([np.ones(len(points)), points[:, 0], 2 * points[:, 0] + 1])

    with pytest.warns(DependentFeaturesWarning):
        direct, free = (model.fit(X, Y) for model in pair(features=doubled))
    assert free.feature_support_.sum() == 2
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=1e-7)


def test_steps_run_out_with_a_warning_that_names_the_knob():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 .*above tol=1e-12"):
        GRLSRegressor(Laplace(0.1), regularization=1e-7, solver="cg", tol=1e-12, max_iter=2).fit(
            RNG.uniform(size=(3000, 3)), RNG.standard_normal(3000)
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": "loo"}, 'cannot choose the regularization by \'loo\'.*"gcv" or "reml"'),
        ({"regularization": "logo"}, "cannot choose the regularization by 'logo'"),
        ({"regularization": "reml", "optimize": True}, "no parameters of the kernel"),
        ({"formulation": "published"}, 'needs formulation="exact"'),
        ({"feature_variance": 1.0}, "feature_variance=inf"),
        ({"regularization": 0.0}, "positive regularization"),
        ({"kernel": lambda A, B: A @ B.T}, "kernel of grls.kernels"),
        ({"tol": -1.0}, "tol must be greater than 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"solver": "gmres"}, "solver must be one of"),
    ],
)
def test_what_conjugate_gradients_cannot_do_is_said(parameters, message):
    given = {"kernel": Gaussian(0.4), "regularization": 1e-3, "solver": "cg", **parameters}
    with pytest.raises(ValueError, match=message):
        GRLSRegressor(**given).fit(X, Y)


def test_a_matrix_too_large_points_to_conjugate_gradients(monkeypatch):
    monkeypatch.setattr("grls._solvers.memory.available", lambda: 10**6)
    with pytest.raises(MemoryError, match='use solver="cg"'):
        GRLSRegressor(Gaussian(0.4), regularization=1e-3).fit(X, Y)
    with pytest.raises(MemoryError, match="NystromGRLSRegressor"):
        GRLSRegressor(Gaussian(0.4), regularization=1e-3, solver="cg").fit(X, Y)


def test_progress_is_told_when_asked_for(capsys):
    GRLSRegressor(Gaussian(0.4), regularization=1e-3, solver="cg", verbose=1).fit(X, Y)
    assert "relative residual" in capsys.readouterr().out


def points(count):
    """So few rows that they are solved for."""
    return X_NEW[:count]


@pytest.mark.parametrize("features", [None, "linear"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_variances_of_a_few_points_are_solved_for(features, weights, monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    direct, free = (model.fit(X, Y, weights) for model in pair(features=features))
    got, wanted = (model.predict(points(10), return_std=True)[1] for model in (free, direct))
    assert "_posterior_kept" not in vars(free)
    assert "_solver_kept" in vars(free)
    assert_allclose(got, wanted, rtol=1e-6)
    got, wanted = (model.predict(points(10), return_cov=True)[1] for model in (free, direct))
    assert_allclose(got, wanted, atol=1e-8 * np.abs(wanted).max())
    assert_allclose(got, got.swapaxes(0, 1))


def test_variances_of_conditionally_definite_kernels_are_solved_for():
    direct, free = (model.fit(X, Y[:, 0]) for model in pair(kernel=ThinPlate()))
    got, wanted = (model.predict(points(10), return_std=True)[1] for model in (free, direct))
    assert_allclose(got, wanted, rtol=1e-6)


def test_variances_of_many_points_need_room_for_a_factor(monkeypatch):
    model = pair()[1].fit(X, Y[:, 0])
    monkeypatch.setattr("grls._solvers.memory.available", lambda: 1_500_000)
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 20)
    with pytest.raises(MemoryError, match="at most 14 rows at a time"):
        model.predict(X_NEW, return_std=True)
    assert len(model.predict(points(14), return_std=True)[1]) == 14


def test_what_variances_are_solved_with_is_no_part_of_a_file():
    model = pair()[1].fit(X, Y[:, 0])
    before = len(pickle.dumps(model))
    model.predict(points(3), return_std=True)
    assert len(pickle.dumps(model)) == before


def test_uniform_and_pivoted_centres_lead_to_the_same_model(monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    expected = pair()[1].fit(X, Y).predict(X_NEW)
    monkeypatch.setattr("grls._solvers.matrix_free._PIVOTED", False)
    assert_allclose(pair()[1].fit(X, Y).predict(X_NEW), expected, atol=1e-8)


def test_pivoted_centres_need_fewer_steps_where_rows_crowd(monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    rng = np.random.default_rng(1)
    crowded = np.vstack([0.02 * rng.standard_normal((600, 2)), rng.uniform(-1, 1, size=(100, 2))])
    steps = []
    for pivoted in (True, False):
        monkeypatch.setattr("grls._solvers.matrix_free._PIVOTED", pivoted)
        model = GRLSRegressor(Gaussian(0.3), regularization=1e-5, solver="cg")
        steps.append(model.fit(crowded, Y[:, 0]).n_iter_)
    assert 2 * steps[0] < steps[1]


def test_pivoted_centres_do_not_depend_on_the_order_of_rows(monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)
    order = RNG.permutation(len(X))
    straight, shuffled = pair()[1].fit(X, Y), pair()[1].fit(X[order], Y[order])
    assert abs(shuffled.n_iter_ - straight.n_iter_) <= 2  # the sums are rounded in another order
    assert_allclose(shuffled.dual_coef_, straight.dual_coef_[order], atol=1e-7)


def test_rows_that_repeat_leave_the_preconditioner_its_rank():
    repeated = np.repeat(X[:20], 10, axis=0)
    direct, free = (model.fit(repeated, Y[:200]) for model in pair(features="constant"))
    assert_allclose(free.predict(X_NEW), direct.predict(X_NEW), atol=1e-7)


def test_variances_of_sparse_data():
    direct, free = (model.fit(sparse.csr_matrix(X), Y[:, 0]) for model in pair())
    got, wanted = (model.predict(sparse.csr_matrix(X_NEW), return_std=True)[1] for model in (free, direct))
    assert_allclose(got, wanted, atol=1e-6)


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_targets_of_any_size_have_the_same_model(scale, precision):
    model = pair(precision=precision)[1]
    expected = model.fit(X, Y).predict(X_NEW)
    assert_allclose(model.fit(X, scale * Y).predict(X_NEW) / scale, expected, atol=1e-7)


def test_features_that_express_all_of_the_kernel_leave_nothing_to_precondition(capfd):
    model = GRLSRegressor(Gaussian(1.0), regularization=1e-3, solver="cg").fit(np.ones((30, 2)), Y[:30, 0])
    assert_allclose(model.predict(np.ones((1, 2))), Y[:30, 0].mean())
    assert capfd.readouterr() == ("", "")  # LAPACK complains on the standard output


@pytest.mark.parametrize("regularization", [1e-3, "gcv", "reml"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize(
    "targets", [np.full(700, 3.7), 2 * X[:, 0] + 1, 1e6 - X[:, 2]], ids=["constant", "trend", "far"]
)
def test_targets_that_the_features_express_leave_the_kernel_nothing(regularization, weights, targets):
    # What a projection leaves of them is rounding, which conjugate gradients must not be asked to solve for.
    if weights is not None and isinstance(regularization, str):
        weights = weights / weights.mean()
    model = pair(regularization=regularization)[1].set_params(tol=1e-8).fit(X, targets, weights)
    assert_allclose(model.predict(X), targets, rtol=1e-13, atol=1e-14)
    assert_array_equal(model.dual_coef_, 0)
    assert_array_equal(model.noise_variance_, 0)


@pytest.mark.parametrize("size", [1e-6, 1e-9])
def test_little_beside_the_trend_is_found_as_by_the_factorisation(size):
    targets = 2 * X[:, 0] + 1 + size * Y[:, 0]
    direct, free = (m.fit(X, targets) for m in pair(regularization=1e-3))
    assert_allclose(free.dual_coef_, direct.dual_coef_, atol=1e-6 * size + 5e-13)
    assert_allclose(free.noise_variance_, direct.noise_variance_, rtol=1e-5)


@pytest.mark.parametrize("m", [1023, 1024, 1025])
def test_a_kernel_of_low_rank_is_known_wholly_by_its_centres(m):
    random = np.random.default_rng(0)
    X, V = random.standard_normal((m, 2)), random.standard_normal((m, 3))
    kernel = Polynomial(2, 1.0)
    system = MatrixFree(KernelProblem(kernel, X, np.ones((m, 1)), None))
    H = kernel(X) - kernel(X).mean(axis=0)
    H -= H.mean(axis=1, keepdims=True)
    expected = np.linalg.eigvalsh(H)[-5:]
    assert_allclose(system.eigenvalues()[-5:], expected, rtol=1e-9)
    assert_allclose(system.coordinates(V).T @ system.coordinates(V), V.T @ H @ V, rtol=1e-8)
