"""The choice of γ: exact leave-one-out against refits, GCV and REML against dense NumPy."""

import numpy as np
import pytest
import reference
from grls import (
    GRLSClassifier,
    GRLSRegressor,
    NotPositiveDefiniteError,
    NystromGRLSRegressor,
    PriorRLSRegressor,
    _core,
)
from grls.features import PolynomialTrend
from grls.kernels import Gaussian, Laplace, Linear, Polynomial, Precomputed, Sigmoid
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.preprocessing import PolynomialFeatures

# These tests look at predictions and equations; some of their features run away or are the kernel's too.
pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]


KERNEL = Gaussian(sigma=1.0)
GRID = [1e-4, 1e-2, 1e-1, 3.0]


def data(m=40, k=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(m, 2))
    Y = np.sin(2 * X[:, :1]) * np.arange(1, k + 1) + X[:, 1:] + 0.3 * rng.normal(size=(m, k))
    return X, (Y[:, 0] if k == 1 else Y), rng.uniform(0.5, 3, size=m)


def refit_without(model, X, y, weights, i):
    """Prediction at sample i of the model without its observation, with γ·Σw kept as it was.

    Rows at a point that agree, one alone among them, are one observation; of others one copy goes.
    """
    w = np.ones(len(X)) if weights is None else weights.copy()
    total = w.sum()
    same = np.all(X[i] == X, axis=1)
    agree = np.ptp(y[same], axis=0).max() == 0
    w[same if agree else i] -= w[same] if agree else min(1.0, w[i])
    other = clone(model).set_params(regularization=model.regularization_ * total / w.sum())
    other.fit(X, y, sample_weight=w)
    function = getattr(other, "decision_function", other.predict)
    return function(X[i : i + 1])[0]


@pytest.mark.parametrize("features", [None, "constant", "quadratic"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_leave_one_out_equals_refits(features, weighted, k):
    X, y, weights = data(k=k)
    weights = weights if weighted else None
    model = GRLSRegressor(KERNEL, features=features, regularization="loo").fit(X, y, sample_weight=weights)
    brute = np.array([refit_without(model, X, y, weights, i) for i in range(len(X))])
    assert_allclose(model.loo_predictions_, brute, rtol=0, atol=1e-9)


def test_leave_one_out_of_a_classifier_equals_refits():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = GRLSClassifier(KERNEL, features="constant").fit(X, y)
    brute = np.array([refit_without(model, X, y, None, i) for i in range(len(X))])
    assert_allclose(model.loo_predictions_, brute, rtol=0, atol=1e-9)
    assert model.loo_score_ == np.mean(model.classes_[brute.argmax(axis=1)] == y)


@pytest.mark.parametrize(
    "m", [3, 33, 64, 65, 97, 300, 700]
)  # around one, two and many blocks of the reduction
@pytest.mark.parametrize("shifts", [[1e-3, 1.0, 30.0], [1e-3], [30.0]])  # one comes from a factor
def test_the_path_equals_dense_numpy(m, backend, shifts):
    X, y, weights = data(m)
    Phi = KERNEL(X)
    T = np.ones((m, 1))
    shifts = np.array(shifts)
    path = _core.path(
        formula=None,
        data=Phi,
        T=T,
        Y=y[:, None],
        weights=weights,
        shifts=shifts,
        relative=False,
        leave_one_out=True,
        tolerance=1e-12,
    )
    perpendicular, _ = reference.reduced(Phi, T, weights)
    s = np.sqrt(weights)
    for g, shift in enumerate(shifts):
        B = reference.residual_operator(Phi, T, shift, weights)
        c = B @ (s * y)
        inverse = np.linalg.inv(perpendicular + shift * np.eye(m - 1))
        assert_allclose(path.c[g][:, 0], c, atol=1e-8 * np.abs(c).max())
        assert_allclose(path.diagonal[g], np.diag(B), rtol=1e-8)
        assert_allclose(path.trace[g], np.trace(inverse), rtol=1e-8)
        assert_allclose(path.log_determinant[g], -np.linalg.slogdet(inverse)[1], rtol=1e-8, atol=1e-8)
        assert_allclose(path.quadratic[g], s * y @ c, rtol=1e-8)
        assert_allclose(path.squared_norm[g], c @ c, rtol=1e-8)


CRITERIA = {
    "loo": reference.mean_squared_leave_one_out,
    "gcv": reference.gcv,
    "reml": reference.reml,
}


@pytest.mark.parametrize("features", [None, "constant", "quadratic"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CRITERIA)
def test_the_criteria_equal_dense_numpy(name, weighted, features):
    X, y, weights = data(60)
    weights = weights if weighted else None
    model = GRLSRegressor(KERNEL, features=features, regularization=name, regularization_grid=GRID)
    model.fit(X, y, sample_weight=weights)
    T = np.empty((60, 0)) if features is None else model.features_.transform(X)
    expected = [CRITERIA[name](KERNEL(X), T, y, gamma, weights) for gamma in GRID]
    assert_allclose(model.regularization_path_, GRID)
    assert_allclose(model.criterion_path_, expected, rtol=1e-9)
    assert model.regularization_ == model.regularization_path_[np.argmin(expected)]


@pytest.mark.slow
def test_the_choice_is_the_argmin_of_cross_validated_kernel_ridge():
    X, y, _ = data(50)
    model = GRLSRegressor(KERNEL, features=None, regularization="loo").fit(X, y)
    # Leaving one out, grls keeps γΣw as it was: the same alpha for KernelRidge.
    grid = {"alpha": model.regularization_path_ * len(X)}
    search = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=0.5), grid, cv=LeaveOneOut(), scoring="neg_mean_squared_error"
    )
    search.fit(X, y)
    assert_allclose(model.criterion_path_, -search.cv_results_["mean_test_score"], rtol=1e-6)
    assert_allclose(model.regularization_ * len(X), search.best_params_["alpha"])


def test_of_rows_at_the_same_point_one_is_left_out():
    X, y, _ = data(30)
    rows = np.concatenate([np.arange(30), np.arange(12), np.arange(5)])
    targets = y[rows] + 0.1 * np.random.default_rng(2).normal(size=len(rows))
    model = GRLSRegressor(KERNEL, features="linear", regularization="loo").fit(X[rows], targets)
    brute = np.array([refit_without(model, X[rows], targets, None, i) for i in range(len(rows))])
    assert_allclose(model.loo_predictions_, brute, rtol=0, atol=1e-9)
    assert model.loo_score_ < model.score(X[rows], targets)


def test_every_output_can_have_its_own_regularization():
    X, Y, _ = data(k=3)
    Y[:, 1] = np.random.default_rng(1).normal(size=len(X))
    joint = GRLSRegressor(KERNEL, per_output=True, regularization="loo").fit(X, Y)
    assert joint.regularization_.shape == (3,)
    for p in range(3):
        alone = GRLSRegressor(KERNEL, regularization="loo").fit(X, Y[:, p])
        assert joint.regularization_[p] == pytest.approx(alone.regularization_, rel=1e-6)
        assert_allclose(joint.predict(X)[:, p], alone.predict(X), atol=1e-10)
        assert_allclose(joint.loo_predictions_[:, p], alone.loo_predictions_, atol=1e-10)
        assert_allclose(
            joint.predict(X, return_std=True)[1][:, p], alone.predict(X, return_std=True)[1], rtol=1e-8
        )
    assert len(set(joint.regularization_)) > 1


def test_accuracy_as_the_criterion_counts_errors():
    X, y = load_iris(return_X_y=True)
    model = GRLSClassifier(KERNEL, criterion="accuracy").fit(X, y)
    assert_allclose(model.criterion_path_.min(), 1 - model.loo_score_, atol=1e-6)
    assert model.loo_score_ >= GRLSClassifier(KERNEL).fit(X, y).loo_score_
    with pytest.raises(ValueError, match="per_output=False"):
        GRLSClassifier(KERNEL, criterion="accuracy", per_output=True).fit(X, y)


def test_pure_noise_is_smoothed_away_and_a_clean_signal_is_not():
    X, _, _ = data(80)
    noise = np.random.default_rng(3).normal(size=80)
    signal = np.sin(2 * X[:, 0])
    for name in ("loo", "gcv", "reml"):
        smooth = GRLSRegressor(KERNEL, regularization=name).fit(X, noise)
        sharp = GRLSRegressor(KERNEL, regularization=name).fit(X, signal)
        assert smooth.regularization_ > 100 * sharp.regularization_
        assert sharp.score(X, signal) > 0.999
        assert smooth.score(X, noise) < 0.5


def test_the_grid_follows_the_scale_of_the_kernel():
    X, y, _ = data()
    plain = GRLSRegressor(KERNEL).fit(X, y)
    scaled = GRLSRegressor(1000.0 * KERNEL).fit(X, y)
    assert_allclose(scaled.regularization_path_, 1000 * plain.regularization_path_, rtol=1e-9)
    assert_allclose(scaled.predict(X), plain.predict(X), atol=1e-8)


def test_sparse_and_dense_rows_choose_alike():
    X, y, _ = data()
    X[np.abs(X) < 0.7] = 0
    model = GRLSRegressor(Laplace(sigma=2.0) + Linear(), regularization="loo")
    dense, from_sparse = (clone(model).fit(form(X), y) for form in (np.asarray, sparse.csr_matrix))
    assert from_sparse.regularization_ == pytest.approx(dense.regularization_)
    assert_allclose(from_sparse.loo_predictions_, dense.loo_predictions_, atol=1e-9)


def test_a_number_leaves_no_path_behind():
    X, y, _ = data()
    model = GRLSRegressor(KERNEL, regularization="loo").fit(X, y)
    assert hasattr(model, "loo_score_")
    model.set_params(regularization=0.1).fit(X, y)
    assert not hasattr(model, "loo_score_")
    assert not hasattr(model, "criterion_path_")


def test_the_published_formulation_takes_the_choice_of_the_exact_one():
    X, y, _ = data()
    exact = GRLSRegressor(KERNEL).fit(X, y)
    published = GRLSRegressor(KERNEL, formulation="published").fit(X, y)
    assert published.regularization_ == exact.regularization_
    assert not hasattr(published, "loo_predictions_")  # they would be another model's


def test_bad_requests_are_clear_errors():
    X, y, _ = data()
    with pytest.raises(ValueError, match="'loo', 'gcv', 'reml'"):
        GRLSRegressor(KERNEL, regularization="cv").fit(X, y)
    for bad in ([], [0.0, 1.0], [1.0, np.nan], [-1.0]):
        with pytest.raises(ValueError, match="regularization_grid"):
            GRLSRegressor(KERNEL, regularization_grid=bad).fit(X, y)
    with pytest.raises(ValueError, match="regularization_grid"):
        GRLSRegressor(KERNEL, regularization_grid=1).fit(X, y)


def test_an_indefinite_kernel_is_chosen_where_it_can_be_and_refused_where_it_cannot():
    X, y, _ = data()
    model = GRLSRegressor(Sigmoid(a=2.0, c=1.0)).fit(X, y)
    assert np.isinf(model.criterion_path_).any()
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(NotPositiveDefiniteError, match="Sigmoid"):
        GRLSRegressor(Sigmoid(a=2.0, c=1.0), regularization_grid=[1e-9, 1e-8]).fit(X, y)


def test_a_path_larger_than_memory_is_refused(monkeypatch):
    X, y, _ = data(200)
    monkeypatch.setattr("grls._solvers.memory.available", lambda: 300_000)  # a fit would do: 4m² = 160,000
    with pytest.raises(MemoryError, match=r'number.*"gcv"'):
        GRLSRegressor(KERNEL, regularization="loo").fit(X, y)
    GRLSRegressor(KERNEL, regularization="gcv").fit(X, y)


def test_samples_at_one_point_leave_nothing_to_choose_from():
    with pytest.raises(ValueError, match=r"rows of X are the same.*give regularization a number"):
        GRLSRegressor(KERNEL).fit(np.ones((30, 2)), np.arange(30.0))
    model = GRLSRegressor(KERNEL, regularization=0.1).fit(np.ones((30, 2)), np.arange(30.0))
    assert_allclose(model.predict(np.ones((1, 2))), 14.5)


@pytest.mark.filterwarnings("ignore:overflow")
def test_targets_that_overflow_the_criterion_are_a_clear_error():
    X, y, _ = data()
    with pytest.raises(ValueError, match=r"the largest value of y is .* change the unit of y"):
        GRLSRegressor(KERNEL).fit(X, 1e200 * y)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_features_that_leave_the_kernel_nothing_give_ordinary_least_squares(criterion, weighted, k, make):
    X, y, weights = data(m=120, k=k)
    weights = weights if weighted else None
    features = PolynomialFeatures(1)
    beta, values, left = reference.ordinary_least_squares(features.fit_transform(X), y, weights)
    for settings in ({}, {"per_output": True}, {"regularization_grid": [1e-30, 1e-3, 1.0]}):
        model = GRLSRegressor(Linear(), features=features, regularization=criterion, **settings)
        model.fit(make(X), y, sample_weight=weights)
        assert_allclose(model.feature_coef_.reshape(beta.shape), beta, rtol=1e-8, atol=1e-8)
        assert_allclose(model.predict(make(X)), values, rtol=1e-8, atol=1e-8)
        assert np.all(model.regularization_ == model.regularization_path_[-1])
        if criterion == "loo":
            assert_allclose(y - model.loo_predictions_, left, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "degree"),
    [(Polynomial(degree=2), 2), (2.0 * Polynomial(degree=3, c=4.0) + Linear(), 3), (Linear() ** 2, 2)],
)
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_a_polynomial_kernel_beside_its_own_polynomials_is_the_trend_alone(kernel, degree, offset):
    X, y, _ = data(m=150)
    X = X + offset
    model = GRLSRegressor(kernel, features=PolynomialTrend(degree)).fit(X, y)
    T = model.features_.about_the_middle(X)
    assert_allclose(model.predict(X), reference.ordinary_least_squares(T, y)[1], rtol=0, atol=1e-8)
    # As a matrix, whose rounding errors are another's.
    given = GRLSRegressor(Precomputed(), features=lambda K: T).fit(kernel(X), y)
    assert_allclose(given.predict(kernel(X)), model.predict(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("criterion", ["squared_error", "accuracy"])
def test_a_classifier_whose_features_leave_the_kernel_nothing_is_least_squares(criterion):
    X, y = load_iris(return_X_y=True)
    model = GRLSClassifier(Linear(), features="linear", criterion=criterion).fit(X, y)
    targets = 2.0 * (y[:, None] == np.arange(3)) - 1
    _, values, left = reference.ordinary_least_squares(np.c_[np.ones(len(X)), X], targets)
    assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-8)
    single = np.unique(X, axis=0, return_counts=True, return_inverse=True)
    alone = single[2][single[1].ravel()] == 1  # two rows are the same flower: both are left out
    assert_allclose(model.loo_predictions_[alone], (targets - left)[alone], rtol=0, atol=1e-8)


def test_the_variance_of_features_that_leave_the_kernel_nothing_can_be_chosen():
    """No worse than free features, by the criterion, nor than the kernel without them."""
    X, y, _ = data(m=60)
    for criterion in ("loo", "gcv"):
        fitted = {
            variance: GRLSRegressor(
                Linear(), features="linear", regularization=criterion, feature_variance=variance
            ).fit(X, y)
            for variance in (np.inf, 0.0, "auto")
        }
        best = {variance: model.criterion_path_.min() for variance, model in fitted.items()}
        assert best["auto"] <= min(best[np.inf], best[0.0]) * (1 + 1e-9)
        # γ is of the kernel's size, as if it stood alone.
        alone = GRLSRegressor(Linear(), features=None, regularization=criterion).fit(X, y)
        assert_allclose(best[0.0], alone.criterion_path_.min(), rtol=0.05)


def test_optimizing_a_kernel_that_the_features_leave_nothing_of_changes_nothing():
    X, y, _ = data(m=60)
    model = GRLSRegressor(Polynomial(degree=2), features="quadratic", optimize="c", n_restarts=0).fit(X, y)
    T = model.features_.transform(X)
    assert_allclose(model.predict(X), reference.ordinary_least_squares(T, y)[1], rtol=0, atol=1e-8)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
@pytest.mark.parametrize("m", [120, 3])  # fewer columns than rows, and more
def test_a_prior_on_columns_that_are_free_features_too_is_without_effect(criterion, m):
    X, y, _ = data(m=m)
    columns = X if m > 3 else np.c_[X[:, :1], np.zeros((m, 9))]
    features = PolynomialFeatures(1) if m > 3 else lambda X: np.c_[np.ones(len(X)), X[:, :1]]
    model = PriorRLSRegressor(features=features, regularization=criterion).fit(columns, y)
    T = np.c_[np.ones(m), X] if m > 3 else np.c_[np.ones(m), X[:, :1]]
    assert_allclose(model.predict(columns), reference.ordinary_least_squares(T, y)[1], rtol=0, atol=1e-8)


def test_nystrom_features_that_leave_the_kernel_nothing_give_ordinary_least_squares():
    X, y, _ = data(m=120)
    values = reference.ordinary_least_squares(np.c_[np.ones(len(X)), X], y)[1]
    for criterion in ("gcv", "holdout"):
        model = NystromGRLSRegressor(Linear(), features="linear", regularization=criterion, n_centers=20)
        assert_allclose(model.fit(X, y).predict(X), values, rtol=0, atol=1e-8)


def test_a_small_part_of_the_kernel_is_not_taken_for_nothing():
    """Columns far from zero: all but 1e-8 of the kernel is the constant's, and the rest decides."""
    X, y, _ = data(m=100)
    grid = [1e-3, 1e-2, 1e-1, 1.0]
    model = GRLSRegressor(Linear(), features="constant", regularization_grid=grid).fit(X + 1e4, y)
    near = GRLSRegressor(Linear(), features="constant", regularization_grid=grid).fit(X, y)
    assert model.regularization_ == near.regularization_ < 1.0
    assert_allclose(model.predict(X + 1e4), near.predict(X), rtol=0, atol=1e-3)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_the_choice_does_not_rest_on_rounding_errors(criterion):
    """Columns far from zero: at the small end of the grid the criterion is rounding error, and may be low."""
    X, y, _ = data(m=100)
    near = GRLSRegressor(Linear(), features="constant", regularization=criterion).fit(X, y)
    for offset in (1e2, 1e3, 1e4):
        model = GRLSRegressor(Linear(), features="constant", regularization=criterion).fit(X + offset, y)
        # A step of the grid is a factor of 1.7, over which the criterion hardly changes.
        assert_allclose(np.log(model.regularization_), np.log(near.regularization_), rtol=0, atol=0.6)
        assert_allclose(model.predict(X + offset), near.predict(X), rtol=0, atol=0.05)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "reml"])
def test_targets_that_are_all_zero_have_the_model_that_is_zero(criterion):
    X, y, _ = data()
    assert_allclose(GRLSRegressor(KERNEL, regularization=criterion).fit(X, 0 * y).predict(X), 0, atol=1e-15)


def test_a_criterion_without_a_number_chooses_nothing():
    X, y, _ = data()
    with pytest.raises(ValueError, match="'gcv' overflows"):
        GRLSRegressor(Linear(), regularization="gcv").fit(1e100 * X, y)
