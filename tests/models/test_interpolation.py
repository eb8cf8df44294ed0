"""γ = 0 and tiny γ: a model solves its equations, or there is none."""

import warnings
from itertools import product

import numpy as np
import pytest
from grls import GRLSRegressor
from grls.exceptions import NotPositiveDefiniteError, PrecisionWarning
from grls.kernels import Gaussian, Matern, Multiquadric, RationalQuadratic, ThinPlate

# Noise beside a kernel that can express lines: that their coefficients are not determined is no matter here.
pytestmark = pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning")


def kernels(width):
    return [
        Gaussian(width),
        Matern(width, 2.5),
        RationalQuadratic(width, 1.0),
        Multiquadric(width),
        ThinPlate(),
    ]


@pytest.mark.parametrize("gamma", [0.0, 1e-15, 1e-13])
@pytest.mark.parametrize("which", range(5))
def test_no_accepted_fit_misses_its_equations(which, gamma):
    accepted = 0
    for seed, (width, m, d) in enumerate(product([0.3, 1.0, 4.0, 15.0], [40, 150], [1, 3, 8])):
        random = np.random.default_rng(seed)
        X, y = random.uniform(-1, 1, (m, d)), random.standard_normal(m)
        kernel = kernels(width)[which]
        features = "linear" if kernel.order == 2 else "constant"
        model = GRLSRegressor(kernel, features=features, regularization=gamma)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", PrecisionWarning)
                model.fit(X, y)
        except NotPositiveDefiniteError:
            continue
        accepted += 1
        left = y - model.predict(X) - gamma * m * np.ravel(model.dual_coef_)
        assert np.abs(left).max() < (1e-3 if told else 1e-5), (kernel, m, d)
    assert accepted >= 5


def test_the_refusal_names_the_condition_and_the_knob():
    X = np.linspace(0, 1, 60)[:, None]
    y = np.random.default_rng(0).standard_normal(60)
    with pytest.raises(NotPositiveDefiniteError, match=r"condition number is about .*larger regularization"):
        GRLSRegressor(Gaussian(0.2), regularization=1e-15).fit(X, y)


@pytest.mark.parametrize("formulation", ["exact", "published"])
@pytest.mark.parametrize("weighted", [False, True])
def test_well_conditioned_interpolation_is_not_refused(formulation, weighted):
    random = np.random.default_rng(3)
    X, y = random.uniform(-1, 1, (150, 3)), random.standard_normal(150)
    weights = random.uniform(0.5, 2, 150) if weighted else None
    model = GRLSRegressor(Matern(1.0, 1.5), features="linear", regularization=0.0, formulation=formulation)
    np.testing.assert_allclose(model.fit(X, y, weights).predict(X), y, atol=1e-8)


def test_a_small_regularization_with_smooth_targets_is_accepted_and_right():
    # Ill-conditioned, but the targets do not need the directions that are lost.
    X = np.linspace(-1, 1, 100)[:, None]
    y = np.sin(2 * X[:, 0])
    model = GRLSRegressor(Gaussian(0.5), regularization=1e-12).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-5)


def test_targets_within_the_features_span_are_no_reason_to_refuse():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    for y in (np.zeros(50), np.full(50, 7.0), 3 + X @ [1.0, 2.0]):
        model = GRLSRegressor(Gaussian(0.3), features="linear", regularization=0.0).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


@pytest.mark.parametrize("precision", ["single", "mixed", "double"])
def test_precisions_agree_or_refuse(precision):
    X = np.random.default_rng(1).uniform(-1, 1, (200, 2))
    y = np.random.default_rng(2).standard_normal(200)
    exact = GRLSRegressor(Gaussian(0.3), regularization=1e-6, precision="double").fit(X, y)
    try:
        model = GRLSRegressor(Gaussian(0.3), regularization=1e-6, precision=precision).fit(X, y)
    except NotPositiveDefiniteError:
        assert precision == "single"
        return
    left = y - model.predict(X) - 1e-6 * 200 * np.ravel(model.dual_coef_)
    assert np.abs(left).max() < (0.2 if precision == "single" else 1e-8)
    if precision != "single":
        np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-6)
