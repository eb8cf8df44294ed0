"""``optimize="metric"``: the directions that matter, learnt from gradients."""

import pickle

import numpy as np
import pytest
from grls import GRLSClassifier, GRLSRegressor, NystromGRLSRegressor
from grls._selection.metric import radial_gradients
from grls.kernels import Gaussian, Laplace, Linear, Matern, Periodic, RationalQuadratic
from numpy.testing import assert_allclose
from scipy import sparse


def along_one_direction(m=200, d=4, seed=0):
    """Return a function of one direction across all columns."""
    rng = np.random.default_rng(seed)
    direction = np.array([1.0, -1.0, 2.0, 0.5])[:d] / 2.5
    X = rng.normal(size=(m, d))
    return X, np.sin(3 * X @ direction) + 0.05 * rng.normal(size=m), direction


@pytest.mark.parametrize(
    "family",
    [Gaussian, Laplace, Matern, lambda sigma: Matern(sigma, nu=2.5), RationalQuadratic],
    ids=["gaussian", "laplace", "matern", "matern 5/2", "rational quadratic"],
)
def test_gradients_are_those_of_finite_differences(family):
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    found = radial_gradients(family(1.5), X, c)
    step = 1e-6
    for axis in range(3):
        moved = step * np.eye(3)[axis]
        kernel = family(1.5)
        difference = (kernel(X + moved, X) @ c - kernel(X - moved, X) @ c) / (2 * step)
        assert_allclose(found[:, :, axis].T, difference, atol=2e-6)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern("medians"), Laplace(2.0)], ids=str)
def test_the_direction_is_found(kernel):
    X, y, direction = along_one_direction()
    new, truth, _ = along_one_direction(seed=1)
    plain = GRLSRegressor(kernel).fit(X, y)
    model = GRLSRegressor(kernel, optimize="metric").fit(X, y)
    values, vectors = np.linalg.eigh(model.metric_)
    assert abs(vectors[:, -1] @ direction) / np.linalg.norm(direction) > 0.99
    assert values[-1] > 10 * values[-2]
    assert 1 - model.score(new, truth) < 0.5 * (1 - plain.score(new, truth))
    assert_allclose(model.feature_importances_.sum(), 1)
    assert model.feature_importances_.argmax() == 2
    rounds = model.optimization_.rounds
    assert model.optimization_.chosen.criterion == min(each.criterion for each in rounds)


def test_a_diagonal_metric_scales_columns_only():
    X, y, _ = along_one_direction()
    model = GRLSRegressor(Gaussian(), optimize="metric_diagonal").fit(X, y)
    assert_allclose(model.metric_, np.diag(np.diag(model.metric_)))


def test_the_kernel_travels_without_anything_special():
    X, y, _ = along_one_direction()
    model = GRLSRegressor(Matern(), optimize="metric").fit(X, y)
    assert model.X_fit_.shape == X.shape
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X), model.predict(X))
    values, std = model.predict(X, return_std=True)
    assert np.isfinite(std).all()
    same = GRLSRegressor(model.kernel_, regularization=model.regularization_).fit(X, y)
    assert_allclose(same.predict(X), values, atol=1e-8)
    many = NystromGRLSRegressor(model.kernel_, n_centers=100, regularization=1e-4, random_state=0).fit(X, y)
    assert many.score(X, y) > 0.97


def test_a_known_trend_stays_out_of_the_metric():
    X, y, direction = along_one_direction()
    trend = 30 * X[:, 3]
    without = GRLSRegressor(Gaussian(), optimize="metric").fit(X, y + trend)
    with_it = GRLSRegressor(Gaussian(), optimize="metric", features="linear").fit(X, y + trend)
    assert without.feature_importances_[3] > 3 * with_it.feature_importances_[3]
    leading = np.linalg.eigh(with_it.metric_)[1][:, -1]
    assert abs(leading @ direction) / np.linalg.norm(direction) > 0.98


@pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")
def test_weights_count_rows_and_units_do_not_matter():
    X, y, _ = along_one_direction(m=80)
    counts = np.random.default_rng(0).integers(1, 3, size=len(X))
    options = {"optimize": "metric", "regularization": "loo"}
    weighted = GRLSRegressor(Gaussian(), **options).fit(X, y, sample_weight=counts)
    repeated = GRLSRegressor(Gaussian(), **options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    units = [1e6, 1.0, 1e-6, 1e3]
    plain, scaled = (GRLSRegressor(Gaussian(), **options).fit(Z, y) for Z in (X, X * units))
    assert_allclose(scaled.predict(X * units), plain.predict(X), atol=1e-5)


def test_classifiers_learn_one_too():
    X, y, _ = along_one_direction()
    new, truth, _ = along_one_direction(seed=1)
    model = GRLSClassifier(Gaussian(), optimize="metric").fit(X, y > 0)
    assert model.score(new, truth > 0) > GRLSClassifier(Gaussian()).fit(X, y > 0).score(new, truth > 0)


def test_targets_without_a_direction_leave_the_first_metric():
    X, _, _ = along_one_direction()
    model = GRLSRegressor(Gaussian(), optimize="metric", regularization=1e-2).fit(X, np.zeros(len(X)))
    assert_allclose(model.predict(X), 0, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Periodic(), Gaussian() + Laplace(), lambda X, Z: X @ Z.T],
    ids=lambda kernel: repr(kernel).split(" at ")[0],
)
def test_other_kernels_have_no_metric(kernel):
    X, y, _ = along_one_direction(m=30)
    with pytest.raises(ValueError, match="is for one kernel of distances"):
        GRLSRegressor(kernel, optimize="metric").fit(X, y)


def test_sparse_and_precomputed_data_are_refused():
    X, y, _ = along_one_direction(m=30)
    with pytest.raises(ValueError, match="needs dense X"):
        GRLSRegressor(Gaussian(), optimize="metric").fit(sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match="is for one kernel of distances"):
        GRLSRegressor("precomputed", optimize="metric").fit(X @ X.T, y)
