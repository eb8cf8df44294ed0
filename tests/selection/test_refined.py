"""γ refined off the grid: stationary, never worse than the grid, from one reduction of the matrix."""

import os
from pathlib import Path

import numpy as np
import pytest
import reference
from grls import GRLSClassifier, GRLSRegressor, PriorRLSRegressor, _core
from grls._solvers.results import ReducedMatrix
from grls.kernels import Gaussian, Linear, ThinPlate
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

CRITERIA = ["loo", "gcv", "reml"]
ORACLES = {
    "loo": reference.mean_squared_leave_one_out,
    "gcv": reference.gcv,
    "reml": reference.reml,
}


def data(m=60, k=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(m, 2))
    Y = np.sin(2 * X[:, :1]) * np.arange(1, k + 1) + X[:, 1:] + 0.3 * rng.normal(size=(m, k))
    return X, (Y[:, 0] if k == 1 else Y)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_choice_is_stationary(name, weighted):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 1.5, len(X))
    weights = weights / weights.mean() if weighted else None
    model = GRLSRegressor(Gaussian(1.0), regularization=name).fit(X, y, sample_weight=weights)
    gamma, T = model.regularization_, np.ones((len(X), 1))
    value = lambda log: ORACLES[name](Gaussian(1.0)(X), T, y, np.exp(log), weights)  # noqa: E731
    here, near = value(np.log(gamma)), [value(np.log(gamma) + step) for step in (-0.01, 0.01)]
    assert here < min(near)
    # The vertex of the parabola through the three is within a few of Brent's tolerances.
    vertex = 0.005 * (near[0] - near[1]) / (near[0] - 2 * here + near[1])
    assert abs(vertex) < 2e-3
    assert_allclose(model.criterion_path_.min(), here, rtol=1e-8)


@pytest.mark.parametrize("name", CRITERIA)
def test_the_curve_holds_the_refined_point_in_its_place(name):
    X, y = data()
    model = GRLSRegressor(Gaussian(1.0), regularization=name).fit(X, y)
    assert len(model.regularization_path_) == 51
    assert np.all(np.diff(model.regularization_path_) > 0)
    best = model.criterion_path_.argmin()
    assert model.regularization_path_[best] == model.regularization_
    grid = np.delete(model.regularization_path_, best)
    assert_allclose(np.diff(np.log(grid)), np.log(grid[1] / grid[0]), rtol=1e-9)
    coarse = GRLSRegressor(Gaussian(1.0), regularization=name, regularization_grid=15).fit(X, y)
    assert_allclose(coarse.regularization_, model.regularization_, rtol=1e-3)


@pytest.mark.parametrize("name", CRITERIA)
def test_values_that_were_given_are_not_refined(name):
    X, y = data()
    grid = [1e-4, 1e-3, 1e-2, 1e-1]
    model = GRLSRegressor(Gaussian(1.0), regularization=name, regularization_grid=grid).fit(X, y)
    assert model.regularization_ in grid
    assert_allclose(model.regularization_path_, grid)


def test_every_output_has_its_refined_regularization():
    X, Y = data(k=3)
    Y[:, 1] = np.random.default_rng(1).normal(size=len(X))
    joint = GRLSRegressor(Gaussian(1.0), per_output=True).fit(X, Y)
    for p in range(3):
        alone = GRLSRegressor(Gaussian(1.0)).fit(X, Y[:, p])
        assert joint.regularization_[p] == pytest.approx(alone.regularization_, rel=1e-4)
        assert joint.criterion_path_[:, p].min() == pytest.approx(alone.criterion_path_.min(), rel=1e-9)


def test_a_variance_of_the_features_is_chosen_beside_a_refined_regularization():
    X, y = data()
    grid = GRLSRegressor(Gaussian(1.0), features="linear", feature_variance="auto").fit(X, y)
    given = GRLSRegressor(
        Gaussian(1.0), features="linear", feature_variance=grid.feature_variance_, regularization="loo"
    ).fit(X, y)
    assert grid.criterion_path_.min() == pytest.approx(given.criterion_path_.min(), rel=1e-6)
    assert len(grid.criterion_path_) == 51


def test_beside_features_that_are_given_up_the_regularization_is_refined_too():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(60, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
    noise = rng.normal(size=(60, 1))
    model = GRLSRegressor(
        Gaussian(1.0),
        features=lambda _: np.c_[np.ones(60), noise],
        feature_variance="auto",
        regularization="loo",
    )
    given_up = model.fit(X, y)
    assert given_up.feature_variance_ == 0
    without = GRLSRegressor(Gaussian(1.0), features="constant", regularization="loo").fit(X, y)
    assert_allclose(given_up.regularization_, without.regularization_, rtol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        GRLSClassifier(Gaussian(1.0)),
        GRLSClassifier(Gaussian(1.0), criterion="accuracy"),
        PriorRLSRegressor(regularization="loo"),
        PriorRLSRegressor(regularization="gcv"),
        PriorRLSRegressor(regularization="reml"),
    ],
    ids=repr,
)
def test_the_refined_choice_is_never_worse_than_the_grid(model):
    X, y = load_iris(return_X_y=True)
    refined = model.fit(X, y)
    value, path = refined.criterion_path_.min(), refined.regularization_path_
    grid = path[path != refined.regularization_]
    assert value <= model.set_params(regularization_grid=grid).fit(X, y).criterion_path_.min()


def test_the_matrix_is_reduced_once(monkeypatch):
    X, y = data()
    calls = {"reduce": 0, "at": 0}
    reduce, at = _core.reduce, ReducedMatrix.at

    def counted_reduce(**arguments):
        calls["reduce"] += 1
        return reduce(**arguments)

    def counted_at(self, *arguments, **options):
        calls["at"] += 1
        return at(self, *arguments, **options)

    monkeypatch.setattr(_core, "reduce", counted_reduce)
    monkeypatch.setattr(ReducedMatrix, "at", counted_at)
    GRLSRegressor(Gaussian(1.0)).fit(X, y)
    assert calls["reduce"] == 1
    assert 3 < calls["at"] < 16


def test_a_reduced_matrix_says_at_one_shift_what_a_path_says():
    X, y = data()
    arguments = {"data": Gaussian(1.0)(X), "T": np.ones((60, 1)), "Y": y[:, None], "weights": None}
    arguments |= {"formula": None, "tolerance": 1e-12, "leave_one_out": True}
    shifts = np.array([1e-3, 0.1, 10.0])
    whole = _core.path(**arguments, shifts=shifts, relative=False)
    reduced = _core.reduce(**arguments)
    for g, shift in enumerate(shifts):
        one = reduced.at(shifts=np.array([shift]), relative=False)
        for name in ("c", "diagonal", "schur", "trace", "log_determinant", "quadratic"):
            # Of a small matrix all shifts are one product, whose last digits depend on their number.
            assert_allclose(getattr(one, name)[0], getattr(whole, name)[g], rtol=1e-12, atol=1e-14)
        factored = _core.path(**arguments, shifts=np.array([shift]), relative=False)
        for name in ("c", "D", "diagonal", "schur", "r", "trace", "quadratic", "squared_norm"):
            assert_allclose(getattr(factored, name)[0], getattr(whole, name)[g], rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="shifts of a path must be positive"):
        reduced.at(shifts=np.array([0.0]), relative=False)
    with pytest.raises(ValueError, match="shifts of a path must be positive"):
        reduced.at(shifts=np.array([]), relative=False)


def test_a_shift_that_leaves_the_matrix_indefinite_has_no_values():
    _, y = data()
    arguments = {"data": -np.eye(60), "T": np.ones((60, 1)), "Y": y[:, None], "weights": None}
    arguments |= {"formula": None, "tolerance": 1e-12, "leave_one_out": True, "relative": False}
    for shifts in ([0.5], [0.5, 2.0]):
        path = _core.path(**arguments, shifts=np.array(shifts))
        for name in ("c", "D", "diagonal", "schur", "r", "trace", "log_determinant", "quadratic"):
            assert np.isnan(getattr(path, name)[0]).all()
            assert np.isfinite(getattr(path, name)[1:]).all()
    with pytest.raises(ValueError, match="shifts of a path must be positive"):
        _core.path(**arguments, shifts=np.array([0.0]))


@pytest.mark.parametrize("name", CRITERIA)
def test_flat_criteria_keep_the_largest(name):
    """Features that express the kernel: γ is without effect, and the largest has the fewest errors."""
    X, y = data()
    model = GRLSRegressor(Linear(), features="linear", regularization=name).fit(X, y)
    assert model.regularization_ == model.regularization_path_[-1]
    assert len(model.regularization_path_) == 50


@pytest.mark.parametrize(("name", "smoothing"), [("gcv", 0.0020709), ("reml", 0.0032235)])
def test_the_meuse_data_have_the_smoothing_of_thin_plate_packages(name, smoothing):
    """The package fields: γm = 8πλ; its search stops where GCV is within 3e-7 of the minimum."""
    path = Path(os.environ.get("GRLS_DATA", "")) / "regression" / "meuse.csv"
    if "GRLS_DATA" not in os.environ or not path.exists():
        pytest.skip("GRLS_DATA names no folder with regression/meuse.csv")
    rows = np.genfromtxt(path, delimiter=",", names=True, usecols=("x", "y", "zinc"))
    X = np.column_stack([rows["x"], rows["y"]]) / 1000
    model = GRLSRegressor(ThinPlate(), features="linear", regularization=name).fit(X, np.log(rows["zinc"]))
    assert model.regularization_ * len(X) / (8 * np.pi) == pytest.approx(smoothing, rel=5e-3)
