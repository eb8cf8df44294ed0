"""Standard errors with γ and kernel parameters estimated: dense formulas, simulation, limits, errors."""

import pickle

import numpy as np
import pytest
import reference
from grls import GRLSRegressor
from grls.features import Columns
from grls.kernels import Gaussian, Laplace, Linear, Matern, Precomputed, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats


def data(m=60, seed=0, width=0.2, noise=0.4, repeats=1, length=1.0):
    rng = np.random.default_rng(seed)
    X = np.repeat(np.sort(rng.uniform(0, length, size=m // repeats)), repeats)[:, None]
    root = np.linalg.cholesky(Matern(width)(X) + 1e-9 * np.eye(len(X)))
    return X, 1 + 2 * X[:, 0] + root @ rng.normal(size=len(X)) + noise * rng.normal(size=len(X))


X_NEW = np.linspace(-0.2, 1.1, 9)[:, None]


def fitted(X, y, weights=None, *, tuned=True, kernel=None, **options):
    options = {"features": "linear", "regularization": "reml", "optimize": True if tuned else None} | options
    return GRLSRegressor(Matern(0.3) if kernel is None else kernel, **options).fit(
        X, y, sample_weight=weights
    )


def dense_model(X, y, width, gamma, weights):
    """Return β of the features 1 and x, their covariance and the function at X_NEW."""
    kernel = Matern(width)
    T, T_new = (np.column_stack([np.ones(len(Z)), Z]) for Z in (X, X_NEW))
    c, beta = reference.solve_exact(kernel(X), T, y, gamma, weights)
    cross, of_new = kernel(X, X_NEW), kernel(X_NEW)
    _, covariance, _ = reference.universal_kriging(kernel(X), cross, of_new, T, T_new, y, gamma, weights)
    return beta, covariance, cross.T @ c + T_new @ beta


def dense_hessian(function, at, step=0.02):
    p, steps = len(at), step * np.eye(len(at))
    return np.array(
        [
            [
                sum(a * b * function(at + a * steps[i] + b * steps[j]) for a in (1, -1) for b in (1, -1))
                / (4 * step**2)
                for j in range(p)
            ]
            for i in range(p)
        ]
    )


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_variances_are_those_of_dense_formulas(tuned, weighted):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=len(X)) if weighted else None
    model = fitted(X, y, weights, tuned=tuned)
    T = np.column_stack([np.ones(len(X)), X])
    theta = np.log([model.kernel_.sigma, model.regularization_])[0 if tuned else 1 :]

    def split(logs):
        return (np.exp(logs[0]) if tuned else 0.3), np.exp(logs[-1])

    def criterion(logs):
        width, gamma = split(logs)
        return reference.reml(Matern(width)(X), T, y, gamma, weights)

    V = 2 * np.linalg.inv(dense_hessian(criterion, theta))
    assert np.linalg.eigvalsh(V).min() > 0
    assert np.linalg.eigvalsh(V).max() < 16  # the cap has no part in it
    expected_cov, expected_var = model.feature_coef_cov_.copy(), model.predict(X_NEW, return_cov=True)[1]
    log_variances = np.zeros(2)
    values, vectors = np.linalg.eigh(V)
    for axis in (vectors * np.sqrt(values)).T:
        above, below = (dense_model(X, y, *split(theta + sign * axis), weights) for sign in (1, -1))
        slope, moved = (above[0] - below[0]) / 2, (above[2] - below[2]) / 2
        expected_cov += np.outer(slope, slope)
        expected_var += np.outer(moved, moved)
        log_variances += (np.log(np.diag(above[1]) / np.diag(below[1])) / 2) ** 2
    assert_allclose(model._error_of_estimation().covariance, V, rtol=0.02, atol=0.01 * V.max())
    assert_allclose(model.feature_covariance(unconditional=True), expected_cov, rtol=0.01)
    _, covariance = model.predict(X_NEW, return_cov=True, unconditional=True)
    assert_allclose(covariance, expected_var, rtol=0.02, atol=1e-3 * expected_var.max())
    rows = len(X) if weights is None else weights.sum()
    degrees = 2 / (log_variances + 2 / (rows - 2))
    assert_allclose(model.feature_degrees_of_freedom(), np.maximum(degrees, 2), rtol=0.02)


def test_standard_deviations_are_the_diagonal_of_the_covariance_and_noise_adds_its_variance():
    model = fitted(*data())
    mean, std = model.predict(X_NEW, return_std=True, unconditional=True)
    assert_allclose(mean, model.predict(X_NEW))
    assert_allclose(std**2, np.diag(model.predict(X_NEW, return_cov=True, unconditional=True)[1]), rtol=1e-6)
    assert np.all(std > model.predict(X_NEW, return_std=True)[1])
    noisy = model.predict(X_NEW, return_std=True, with_noise=True, unconditional=True)[1]
    assert_allclose(noisy**2 - std**2, model.noise_variance_[0], rtol=1e-6)


def test_without_the_word_covariances_are_conditional():
    model = fitted(*data())
    assert_array_equal(model.feature_covariance(), model.feature_coef_cov_)
    assert model.degrees_of_freedom_ == 58
    added = model.feature_covariance(unconditional=True) - model.feature_coef_cov_
    assert np.linalg.eigvalsh(added).min() > -1e-9


@pytest.mark.slow
def test_error_of_the_estimated_parameters_is_that_of_simulated_data():
    # A process on 20 widths, so that the likelihood is nearly quadratic: its curvature tells the spread.
    X, _ = data(m=200, length=4.0)
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(Matern(0.2)(X) + 1e-9 * np.eye(200))
    logs, told = [], []
    for _ in range(100):
        y = root @ rng.normal(size=200) + 0.4 * rng.normal(size=200)
        model = fitted(X, y, tuned=False, kernel=Matern(0.2))
        logs.append(np.log(model.regularization_))
        told.append(model._error_of_estimation().covariance[0, 0])
    # The standard deviation of 100 draws is known to 7 %.
    assert np.sqrt(np.mean(told)) == pytest.approx(np.std(logs), rel=0.2)
    assert np.mean(logs) == pytest.approx(np.log(0.16 / 200), abs=0.2)


@pytest.mark.slow
def test_coverage_of_a_confounded_coefficient():
    rng = np.random.default_rng(3)
    X = np.linspace(0, 1, 40)[:, None]
    root = np.linalg.cholesky(Matern(0.2)(X) + 1e-9 * np.eye(40))
    inside = []
    for _ in range(150):
        y = 2 * X[:, 0] + root @ rng.normal(size=40) + 0.5 * rng.normal(size=40)
        model = fitted(X, y, tuned=False, kernel=Matern(0.2))
        error = abs(model.feature_coef_[1] - 2)
        std = np.sqrt(model.feature_covariance(unconditional=True)[1, 1])
        quantile = stats.t.ppf(0.975, model.feature_degrees_of_freedom()[1])
        inside.append([error < 1.96 * model.feature_coef_std_[1], error < quantile * std])
    conditional, unconditional = np.mean(inside, axis=0)
    assert conditional < 0.92  # what all this is for
    assert 0.91 < unconditional < 0.99  # ± 2 errors of 150 draws


def test_much_data_leave_the_conditional_errors():
    added, degrees = [], []
    for m in (60, 900):
        X, y = data(m=m, length=m / 60, width=0.1)
        model = fitted(X, y, kernel=Matern(0.1))
        inside = np.linspace(0.2, 0.8, 20)[:, None]
        conditional, unconditional = (
            model.predict(inside, return_std=True, unconditional=flag)[1] for flag in (False, True)
        )
        added.append(np.mean(unconditional / conditional) - 1)
        degrees.append(model.feature_degrees_of_freedom().min())
    assert added[1] < 0.01 < added[0]
    assert degrees[1] > 3 * degrees[0]


@pytest.mark.parametrize("tuned", [False, True])
def test_units_of_targets_and_features_do_not_matter(tuned):
    X, y = data()
    X = np.column_stack([X, np.sin(9 * X) + 0.3])
    kernel = Matern(0.3).on([0])
    plain = fitted(X, y, tuned=tuned, kernel=kernel, features=Columns([1]))
    scale = np.array([1.0, 1e3])
    other = fitted(X * scale, 1e4 * y, tuned=tuned, kernel=7.0 * kernel, features=Columns([1]))
    ratio = 1e4 / np.array([1.0, 1e3])
    expected = plain.feature_covariance(unconditional=True) * np.outer(ratio, ratio)
    assert_allclose(other.feature_covariance(unconditional=True), expected, rtol=1e-3)
    assert_allclose(other.feature_degrees_of_freedom(), plain.feature_degrees_of_freedom(), rtol=1e-3)
    std = plain.predict(X[:7], return_std=True, unconditional=True)[1]
    assert_allclose(
        other.predict(X[:7] * scale, return_std=True, unconditional=True)[1], 1e4 * std, rtol=1e-3
    )


@pytest.mark.parametrize("tuned", [False, True])
def test_repeated_rows_are_as_rows_a_little_apart(tuned):
    X, y = data(m=80, repeats=2)
    apart = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    tied, jittered = (fitted(Z, y, tuned=tuned) for Z in (X, apart))
    assert_allclose(*(model.feature_covariance(unconditional=True) for model in (tied, jittered)), rtol=1e-2)
    assert_allclose(*(model.feature_degrees_of_freedom() for model in (tied, jittered)), rtol=1e-2)
    weights = np.random.default_rng(0).integers(1, 3, size=len(X))
    counted = fitted(X, y, weights, tuned=tuned)
    copied = fitted(np.repeat(X, weights, axis=0), np.repeat(y, weights), tuned=tuned)
    assert_allclose(
        *(model.predict(X_NEW, return_std=True, unconditional=True)[1] for model in (counted, copied)),
        rtol=1e-3,
    )


@pytest.mark.parametrize("tuned", [False, True])
def test_outputs_that_share_the_parameters_share_what_they_tell_of_them(tuned):
    X, y = data()
    one, two = fitted(X, y, tuned=tuned), fitted(X, np.column_stack([y, 3 * y]), tuned=tuned)
    V = one._error_of_estimation().covariance
    assert_allclose(two._error_of_estimation().covariance, V / 2, rtol=1e-3, atol=1e-4 * V.max())
    covariance = two.feature_covariance(unconditional=True)
    assert covariance.shape == (2, 2, 2)
    assert_allclose(covariance[1], 9 * covariance[0], rtol=1e-6)
    assert two.feature_degrees_of_freedom().shape == (2, 2)
    assert two.predict(X_NEW, return_std=True, unconditional=True)[1].shape == (9, 2)
    assert two.predict(X_NEW, return_cov=True, unconditional=True)[1].shape == (9, 9, 2)


def test_parameters_the_data_say_nothing_of_do_not_blow_up():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(50, 2))
    noise = rng.normal(size=50)  # no function at all
    model = fitted(X, noise, kernel=Gaussian([0.3, 0.3]))
    variances = np.diag(model._error_of_estimation().covariance)
    assert np.all(variances <= 16 + 1e-9)  # a factor of e⁴ either way
    std, unconditional = (model.predict(X, return_std=True, unconditional=flag)[1] for flag in (False, True))
    assert np.all(np.isfinite(unconditional))
    assert np.all(unconditional < 10 * std.max())
    # A kernel that the features express leaves nothing to vary.
    trend = fitted(X, X[:, 0] + 0.1 * noise, tuned=False, kernel=Linear())
    assert_allclose(trend.feature_covariance(unconditional=True), trend.feature_coef_cov_, rtol=1e-6)


def test_parameters_from_a_grid_vary_too():
    X, y = data()
    free = fitted(X, y)
    near = {"sigma": free.kernel_.sigma * np.array([0.5, 1.0, 2.0])}
    grid = fitted(X, y, optimize=near)
    assert grid._error_of_estimation().labels == ["sigma", "γ"]
    assert_allclose(
        grid.feature_covariance(unconditional=True), free.feature_covariance(unconditional=True), rtol=0.2
    )
    smoothness = fitted(X, y, optimize={"nu": [0.5, 1.5]})  # of which there is no derivative
    assert smoothness._error_of_estimation().labels == ["γ"]


def test_kernels_without_a_formula_and_without_all_standard_errors():
    X, y = data()
    kernel = Laplace(0.5)
    known, given = (
        fitted(Z, y, tuned=False, kernel=k, features="constant")
        for Z, k in ((X, kernel), (kernel(X), Precomputed()))
    )
    assert_allclose(*(model.feature_covariance(unconditional=True) for model in (known, given)), rtol=1e-6)
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.uniform(size=(60, 2)), rng.normal(size=60)])
    plate = fitted(Z, y, tuned=False, kernel=ThinPlate().on([0, 1]), features=Columns([0, 1, 2]))
    degrees = plate.feature_degrees_of_freedom()
    assert_array_equal(np.isnan(degrees), [True, True, True, False])
    assert_array_equal(np.isnan(np.diag(plate.feature_covariance(unconditional=True))), np.isnan(degrees))
    assert np.all(np.isfinite(plate.predict(Z, return_std=True, unconditional=True)[1]))
    bare = fitted(X, y, features=None)
    assert bare.feature_covariance(unconditional=True).shape == (0, 0)
    assert bare.feature_degrees_of_freedom().shape == (0,)


def test_what_was_computed_is_kept_and_goes_with_the_next_fit():
    X, y = data()
    model = fitted(X, y)
    assert "_estimation_error" not in vars(model)  # before it is asked for
    covariance = model.feature_covariance(unconditional=True)
    kept = model._error_of_estimation()
    assert model._error_of_estimation() is kept
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.feature_covariance(unconditional=True), covariance)
    model.fit(X, 2 * y)
    assert_allclose(model.feature_covariance(unconditional=True), 4 * covariance, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularization": "loo", "optimize": None}, 'set regularization="reml"'),
        ({"regularization": "gcv", "optimize": None}, 'set regularization="reml"'),
        ({"regularization": 0.1, "optimize": None}, 'set regularization="reml"'),
        ({"regularization": 0.1, "optimize": None, "solver": "cg"}, 'set regularization="reml"'),
        ({"optimize": None, "per_output": True}, "per_output=False"),
        ({"optimize": None, "feature_variance": 1.0}, "feature_variance must be inf"),
        ({"optimize": None, "formulation": "published"}, "exact"),
    ],
)
def test_what_has_no_unconditional_errors_says_so(options, message):
    X, y = data()
    model = fitted(X, np.column_stack([y, y]), **options)
    for ask in (
        lambda: model.predict(X, return_std=True, unconditional=True),
        lambda: model.feature_covariance(unconditional=True),
        model.feature_degrees_of_freedom,
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_a_feature_that_no_kernel_can_express_keeps_most_degrees_of_freedom():
    X, y = data(m=300, length=5.0)
    z = np.random.default_rng(5).normal(size=(300, 1))
    model = fitted(np.hstack([X, z]), y + z[:, 0], kernel=Matern(0.3).on([0]), features=Columns([0, 1]))
    _, confounded, apart = model.feature_degrees_of_freedom()
    assert 2 <= confounded < 0.3 * apart < apart <= model.degrees_of_freedom_
