"""γ chosen on rows held out without a matrix: what fits of the other rows predict, at every γ."""

import numpy as np
import pytest
from grls import GRLSClassifier, GRLSRegressor
from grls._selection.by_holdout import held_out_rows
from grls._solvers.kernel_problem import KernelProblem
from grls.features import Columns, Groups
from grls.kernels import Gaussian, Laplace, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(5)
N = 600
X = np.column_stack([RNG.uniform(-1, 1, size=(N, 2)), RNG.integers(0, 30, size=N)])
Y = np.column_stack([np.sin(4 * X[:, 0]) + X[:, 1], np.cos(6 * X[:, 1])]) + 0.2 * RNG.standard_normal((N, 2))
WEIGHTS = RNG.uniform(0.2, 2.0, size=N)
GRID = np.geomspace(1e-6, 1e-1, 6)


@pytest.fixture(autouse=True)
def few_centres(monkeypatch):
    monkeypatch.setattr("grls._solvers.matrix_free._MOST_CENTERS", 60)


def errors_of_fits(targets, held, weights, **parameters):
    """The error on the rows held out of a fit of the others at each γ of the grid."""
    out = []
    for gamma in GRID:
        model = GRLSRegressor(**parameters, regularization=gamma, precision="double")
        model.fit(X[~held], targets[~held], None if weights is None else weights[~held])
        error = (targets[held] - model.predict(X[held])) ** 2
        out.append(np.average(error, axis=0, weights=None if weights is None else weights[held]))
    return np.array(out)


@pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning")
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize(
    ("kernel", "features"),
    [
        (Gaussian(0.4).on([0, 1]), "linear"),
        (Laplace(1.0).on([0, 1]), None),
        (ThinPlate().on([0, 1]), "linear"),
        (Gaussian(0.4).on([0, 1]), Groups(2, beside=Columns([1]))),
    ],
    ids=["gaussian", "no features", "thin plate", "groups"],
)
def test_the_curve_is_that_of_fits_without_the_rows(kernel, features, weights):
    codes = X[:, 2].astype(np.intp) if isinstance(features, Groups) else None
    held = held_out_rows(KernelProblem(kernel, X, np.ones((N, 1)), weights, codes))
    assert 0.05 * N < held.sum() < 0.15 * N
    given = {"kernel": kernel, "features": features}
    model = GRLSRegressor(**given, regularization="holdout", regularization_grid=GRID, solver="cg")
    model.fit(X, Y[:, 0], weights)
    assert_allclose(
        model.criterion_path_, errors_of_fits(Y[:, 0], held, weights, **given), rtol=2e-3, atol=1e-6
    )
    assert model.regularization_ == GRID[model.criterion_path_.argmin()]
    whole = GRLSRegressor(**given, regularization=model.regularization_).fit(X, Y[:, 0], weights)
    assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)


def test_each_output_may_have_its_own_and_values_between_are_tried():
    given = {"kernel": Gaussian(0.4).on([0, 1]), "regularization": "holdout", "solver": "cg"}
    model = GRLSRegressor(**given, per_output=True).fit(X, Y)
    assert model.regularization_.shape == (2,)
    assert model.criterion_path_.shape == (len(model.regularization_path_), 2)
    best = model.criterion_path_.argmin(axis=0)
    assert_array_equal(model.regularization_, model.regularization_path_[best])
    assert not hasattr(model, "regularization_range_")
    one = GRLSRegressor(**given).fit(X, Y)
    assert one.regularization_ == one.regularization_path_[one.criterion_path_.argmin()]


def test_classifiers_count_by_their_criterion():
    labels = np.where(Y[:, 0] > 0, "a", "b")
    model = GRLSClassifier(
        Gaussian(0.4).on([0, 1]), regularization="holdout", criterion="accuracy", solver="cg"
    ).fit(X, labels)
    assert 0 <= model.criterion_path_.min() < 0.3
    assert model.score(X, labels) > 0.8


def test_equal_rows_are_on_the_same_side_and_groups_are_not_left_out_whole():
    twice = np.vstack([X, X])
    held = held_out_rows(KernelProblem(Gaussian(0.4), twice, np.ones((2 * N, 1)), None))
    assert_array_equal(held[:N], held[N:])
    alone = np.arange(N, dtype=np.intp) // 2
    held = held_out_rows(KernelProblem(Gaussian(0.4), X, np.ones((N, 1)), None, alone))
    assert held.any()
    assert np.bincount(alone, ~held).min() > 0


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match='is for solver="cg": with a matrix "loo"'):
        GRLSRegressor(regularization="holdout").fit(X, Y)
    with pytest.raises(ValueError, match=r'by .loo., which needs the leverage.*use "holdout"'):
        GRLSRegressor(Gaussian(0.4), regularization="loo", solver="cg").fit(X, Y)
    with pytest.raises(ValueError, match="found no rows to hold out"):
        GRLSRegressor(Gaussian(0.4), regularization="holdout", solver="cg").fit(X[[0, 0, 0]], Y[:3])
