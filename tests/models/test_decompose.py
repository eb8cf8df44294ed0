"""The parts of a model function with their standard deviations: against dense normal distributions."""

import copy
import pickle

import numpy as np
import pytest
import reference
from builders import classifier, regressor
from grls import GRLogisticClassifier, GRLSRegressor, GRRegressor, NystromGRLSClassifier, SVMGBClassifier
from grls.kernels import Gaussian, Laplace, Log, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import PolynomialFeatures

pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(50, 2))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * RNG.normal(size=50)
NEW = RNG.uniform(-3, 3, size=(30, 2))
WEIGHTS = RNG.uniform(0.5, 3, size=50)
GAMMA = 1e-3
KERNELS = {"gaussian": Gaussian(1.0), "function": lambda A, B: Laplace(1.5)(A, B)}


def matrices(model):
    everywhere = np.vstack([X, NEW])
    K = model.kernel_.matrix(everywhere, everywhere)
    return K[:50, :50], K[:50, 50:], K[50:, 50:], model.features_.transform(X), model.features_.transform(NEW)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_the_deviations_of_the_parts_are_those_of_the_joint_distribution(kernel, weights):
    model = regressor(kernel, features="linear").fit(X, Y, sample_weight=weights)
    parts = model.decompose(NEW, return_std=True)
    known, learnt, between = reference.kriging_parts(*matrices(model), GAMMA, weights)
    scale = model.kernel_variance_[0]
    assert_allclose(parts.features_std**2, scale * np.diag(known), rtol=1e-7)
    assert_allclose(parts.learnt_std**2, scale * np.diag(learnt), rtol=1e-7)
    # They add up to the variance of the function with what they have in common.
    whole = parts.features_std**2 + parts.learnt_std**2 + 2 * scale * np.diag(between)
    assert_allclose(whole, model.predict(NEW, return_std=True)[1] ** 2, rtol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_with_a_prior_of_the_features_they_are_those_of_a_gaussian_process(kernel):
    tau = 0.7
    model = regressor(kernel, features="linear", feature_variance=tau).fit(X, Y, sample_weight=WEIGHTS)
    Phi, cross, Phi_new, T, T_new = matrices(model)
    mean = np.average(T, axis=0, weights=WEIGHTS)
    spread = np.sqrt(np.average((T - mean) ** 2, axis=0, weights=WEIGHTS))
    standard, standard_new = ((t[:, 1:] - mean[1:]) / spread[1:] for t in (T, T_new))
    # The constant is free: a variance as large as the digits allow.
    prior = np.diag([1e6, tau, tau])
    own = [np.column_stack([np.ones(len(z)), z]) for z in (standard, standard_new)]
    known, learnt, _ = reference.kriging_parts_of_a_prior(Phi, cross, Phi_new, *own, prior, GAMMA, WEIGHTS)
    parts = model.decompose(NEW, return_std=True)
    scale = model.kernel_variance_[0]
    assert_allclose(parts.features_std**2, scale * np.diag(known), rtol=1e-5)
    assert_allclose(parts.learnt_std**2, scale * np.diag(learnt), rtol=1e-5)


def test_groups_of_features_are_terms_with_bands_of_their_own():
    model = regressor(Gaussian(0.5), features="quadratic").fit(X + 5, Y)
    new = NEW + 5
    names = model.feature_names_free_
    groups = {"level": "1", "first": ["x0", "x0^2"], "rest": [2, -1, "x0 x1"], "all": range(6)}
    parts = model.decompose(new, return_std=True, groups=groups)
    plain = model.features_.transform(new)
    for name, members in {"level": ["1"], "first": ["x0", "x0^2"], "rest": ["x1", "x1^2", "x0 x1"]}.items():
        chosen = [names.index(member) for member in members]
        assert_allclose(parts.terms[name].values, plain[:, chosen] @ model.feature_coef_[chosen], rtol=1e-9)
        cov = model.feature_coef_cov_[np.ix_(chosen, chosen)]
        expected = np.sqrt(np.einsum("ip,pq,iq->i", plain[:, chosen], cov, plain[:, chosen]))
        assert_allclose(parts.terms[name].std, expected, rtol=1e-6)
    added = sum(parts.terms[name].values for name in ("level", "first", "rest"))
    assert_allclose(added, parts.features, rtol=1e-9)
    assert_allclose(parts.terms["all"].values, parts.features, rtol=1e-9)
    assert_allclose(parts.terms["all"].std, parts.features_std, rtol=1e-6)


def test_groups_far_from_the_origin_add_up():
    model = regressor(Gaussian(0.5), features="linear").fit(X + 1e6, Y)
    parts = model.decompose(NEW + 1e6, return_std=True, groups={"all": [0, 1, 2]})
    near = regressor(Gaussian(0.5), features="linear").fit(X, Y).decompose(NEW, return_std=True)
    assert_allclose(parts.features_std, near.features_std, rtol=1e-5)
    assert_allclose(parts.terms["all"].std, parts.features_std, rtol=1e-5)


def test_several_outputs_have_columns_of_their_own():
    targets = np.column_stack([Y, -2 * Y, RNG.normal(size=50)])
    model = GRLSRegressor(Gaussian(1.0), regularization="loo", per_output=True, features="linear")
    parts = model.fit(X, targets).decompose(NEW, return_std=True, groups={"x": ["x0", "x1"]})
    for p in range(3):
        alone = regressor(Gaussian(1.0), regularization=model.regularization_[p], features="linear")
        expected = alone.fit(X, targets[:, p]).decompose(NEW, return_std=True, groups={"x": ["x0", "x1"]})
        assert_allclose(parts.learnt_std[:, p], expected.learnt_std, rtol=1e-7)
        assert_allclose(parts.features_std[:, p], expected.features_std, rtol=1e-7)
        assert_allclose(parts.terms["x"].std[:, p], expected.terms["x"].std, rtol=1e-7)


def test_what_a_conditional_kernel_leaves_undefined_has_no_deviation():
    trend = PolynomialFeatures(2, include_bias=True)
    model = regressor(ThinPlate(), features=trend).fit(X, Y)
    groups = {"linear": ["x0", "x1"], "squares": ["x0^2", "x1^2"]}
    parts = model.decompose(NEW, return_std=True, groups=groups)
    assert np.isnan(parts.learnt_std).all()
    assert np.isnan(parts.features_std).all()
    assert np.isnan(parts.terms["linear"].std).all()
    # x0² and x1² are no polynomials of degree below 2: their band is that of their coefficients.
    chosen = [model.feature_names_free_.index(name) for name in groups["squares"]]
    plain, cov = model.features_.transform(NEW)[:, chosen], model.feature_coef_cov_[np.ix_(chosen, chosen)]
    assert_allclose(parts.terms["squares"].std ** 2, np.einsum("ip,pq,iq->i", plain, cov, plain), rtol=1e-8)
    logs = regressor(Log(), features="linear").fit(X, Y)
    bands = logs.decompose(NEW, return_std=True, groups={"slope": ["x0", "x1"], "level": "1"})
    assert np.isfinite(bands.terms["slope"].std).all()
    assert np.isnan(bands.terms["level"].std).all()


def test_a_decomposition_is_a_pair_that_can_be_copied():
    model = regressor(Gaussian(1.0), features="linear").fit(X, Y)
    parts = model.decompose(NEW, return_std=True, groups={"x": ["x0"]})
    features, learnt = parts
    assert parts.features is features
    assert parts.learnt is learnt
    assert_allclose(sum(parts), model.predict(NEW), rtol=1e-12)
    for other in (pickle.loads(pickle.dumps(parts)), copy.deepcopy(parts)):
        assert_array_equal(other.learnt_std, parts.learnt_std)
        assert_array_equal(other.terms["x"].std, parts.terms["x"].std)
    plain = model.decompose(NEW)
    assert (plain.features_std, plain.learnt_std, plain.terms) == (None, None, {})


OTHERS = {
    "classifier": classifier(Gaussian(1.0), features="linear"),
    "support vectors": SVMGBClassifier(Gaussian(1.0), features="linear", C=1.0),
    "logistic": GRLogisticClassifier(Gaussian(1.0), features="linear"),
    "robust": GRRegressor(Gaussian(1.0), features="linear", regularization=1e-3),
    "centres": NystromGRLSClassifier(Gaussian(1.0), features="linear", n_centers=20, regularization=1e-3),
}


@pytest.mark.parametrize("model", OTHERS.values(), ids=OTHERS)
def test_other_models_have_terms_and_say_that_they_have_no_variances(model):
    targets = Y if isinstance(model, GRRegressor) else Y > 0
    model.fit(X, targets)
    parts = model.decompose(NEW, groups={"level": "1", "slope": ["x0", "x1"]})
    together = parts.terms["level"].values + parts.terms["slope"].values
    assert_allclose(together, parts.features, atol=1e-9 * np.abs(parts.features).max())
    with pytest.raises(ValueError, match=f"{type(model).__name__} has no variances"):
        model.decompose(NEW, return_std=True)


@pytest.mark.parametrize(
    ("groups", "error", "match"),
    [
        (["x0"], TypeError, "groups must be a dict"),
        ({"a": ["x9"]}, ValueError, r"groups\['a'\]: there is no feature 'x9' among"),
        ({"a": [3]}, ValueError, "there is no feature 3, there are 3"),
        ({"a": [-4]}, ValueError, "at least -3"),
        ({"a": [0.5]}, TypeError, "whole number"),
        ({"a": ["x0", 1]}, ValueError, "names a feature twice"),
        ({"a": []}, ValueError, "names no feature"),
    ],
)
def test_groups_that_cannot_be_are_clear_errors(groups, error, match):
    model = regressor(Gaussian(1.0), features="linear").fit(X, Y)
    with pytest.raises(error, match=match):
        model.decompose(NEW, groups=groups)
