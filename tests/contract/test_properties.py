"""What must hold for any data: invariances and equivalences of the fitted function."""

import numpy as np
import pytest
from builders import classifier, regressor
from grls.kernels import Constant, Gaussian, Laplace, Linear, Polynomial
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

# These tests look at predictions and equations; some of their features run away or are the kernel's too.
pytestmark = [
    pytest.mark.filterwarnings("ignore::grls.exceptions.ConfoundedFeaturesWarning"),
    pytest.mark.filterwarnings("ignore::grls.exceptions.ExtrapolationWarning"),
]


RADIAL = [
    Gaussian(0.7),
    Laplace(1.5),
    Gaussian(),
    Gaussian(2.0) * Laplace(1.0),
    Laplace() + 0.5 * Gaussian(0.3),
]
KERNELS = [*RADIAL, Linear(), Polynomial(2), Gaussian(1.0) * Linear(), Constant(0.5) + Gaussian(0.8).on([0])]

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(8, 90)
dimensions = st.integers(1, 15)
kernels = st.sampled_from(KERNELS)
radial_kernels = st.sampled_from(RADIAL)
regularizations = st.sampled_from([1e-3, 1e-2, 1.0])
precisions = st.sampled_from(["double", "mixed"])
trends = st.sampled_from([None, "constant", "linear"])


def sample(seed, m, d):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(m, d))
    y = np.sin(X[:, 0]) + X[:, -1] + 0.3 * rng.normal(size=m)
    return X, y, rng.uniform(-2, 2, size=(12, d)), rng


def allowed(trend, m, d):
    """A trend whose features the samples can tell apart."""
    return trend if trend != "linear" or m > d + 3 else "constant"


def close(got, expected, digits=1e-7):
    assert_allclose(got, expected, rtol=0, atol=digits * max(1, np.abs(expected).max()))


@given(seeds, sizes, dimensions, kernels, trends, regularizations, precisions)
def test_the_order_of_the_samples_does_not_matter(seed, m, d, kernel, trend, gamma, precision):
    X, y, Z, rng = sample(seed, m, d)
    w = rng.uniform(0.2, 2.0, m)
    order = rng.permutation(m)
    model = regressor(kernel, features=allowed(trend, m, d), regularization=gamma, precision=precision)
    before = model.fit(X, y, sample_weight=w)
    expected, coefficients = before.predict(Z), before.dual_coef_
    model.fit(X[order], y[order], sample_weight=w[order])
    close(model.predict(Z), expected)
    close(model.dual_coef_, coefficients[order])


@given(seeds, sizes, st.integers(1, 3), kernels, regularizations)
def test_an_invertible_recombination_of_the_features_changes_nothing(seed, m, d, kernel, gamma):
    X, y, Z, rng = sample(seed, m, d)
    n_features = d + 1
    orthogonal = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    mixing = orthogonal * 10.0 ** rng.uniform(-3, 3, n_features)  # rotated, then each in its own unit

    def plain(points):
        return np.column_stack([np.ones(len(points)), points])

    def mixed(points):
        return plain(points) @ mixing

    fitted = [regressor(kernel, features=f, regularization=gamma).fit(X, y) for f in (plain, mixed)]
    close(fitted[1].predict(Z), fitted[0].predict(Z))
    close(mixing @ fitted[1].feature_coef_, fitted[0].feature_coef_)


@given(
    seeds,
    sizes,
    dimensions,
    radial_kernels,
    st.sampled_from(["constant", "linear"]),
    regularizations,
    st.floats(-1e5, 1e5),
)
def test_moving_all_points_moves_the_function_with_them(seed, m, d, kernel, trend, gamma, shift):
    X, y, Z, rng = sample(seed, m, d)
    moved = np.round(shift * rng.uniform(-1, 1, d))
    trend = allowed(trend, m, d)
    here = regressor(kernel, features=trend, regularization=gamma).fit(X, y)
    there = regressor(kernel, features=trend, regularization=gamma).fit(X + moved, y)
    close(there.predict(Z + moved), here.predict(Z), 1e-6)


@given(seeds, st.integers(8, 40), dimensions, kernels, trends, regularizations)
def test_a_weight_of_two_is_the_row_twice(seed, m, d, kernel, trend, gamma):
    X, y, Z, rng = sample(seed, m, d)
    counts = rng.integers(1, 4, m)
    model = regressor(kernel, features=allowed(trend, m, d), regularization=gamma)
    weighted = model.fit(X, y, sample_weight=counts.astype(float)).predict(Z)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict(Z)
    close(weighted, repeated)


@given(seeds, st.integers(12, 60), dimensions, kernels, trends, regularizations)
def test_a_weight_of_zero_is_no_row(seed, m, d, kernel, trend, gamma):
    X, y, Z, rng = sample(seed, m, d)
    w = rng.uniform(0.5, 2.0, m) * (rng.random(m) < 0.7)
    w[:6] = 1.0
    trend = allowed(trend, int((w > 0).sum()), d)
    y[w == 0] = 1e6  # must not be looked at
    model = regressor(kernel, features=trend, regularization=gamma)
    weighted = model.fit(X, y, sample_weight=w).predict(Z)
    without = model.fit(X[w > 0], y[w > 0], sample_weight=w[w > 0]).predict(Z)
    close(weighted, without, 1e-10)


@given(seeds, sizes, dimensions, kernels, trends, regularizations)
def test_the_scale_of_the_weights_does_not_matter(seed, m, d, kernel, trend, gamma):
    X, y, Z, rng = sample(seed, m, d)
    w = rng.uniform(0.5, 2.0, m)
    model = regressor(kernel, features=allowed(trend, m, d), regularization=gamma)
    close(model.fit(X, y, sample_weight=1000 * w).predict(Z), model.fit(X, y, sample_weight=w).predict(Z))


@given(seeds, sizes, dimensions, kernels, trends, regularizations, st.sampled_from(["exact", "published"]))
def test_the_function_is_linear_in_the_targets(seed, m, d, kernel, trend, gamma, formulation):
    X, y, Z, rng = sample(seed, m, d)
    other = rng.normal(size=m)
    model = regressor(kernel, features=allowed(trend, m, d), regularization=gamma, formulation=formulation)
    a, b, both = (model.fit(X, targets).predict(Z) for targets in (y, other, 2 * y - 3 * other))
    assert_allclose(both, 2 * a - 3 * b, rtol=0, atol=1e-7 * max(1, np.abs(a).max(), np.abs(b).max()))


@given(seeds, sizes, st.integers(1, 4), kernels, regularizations, st.sampled_from(["exact", "published"]))
def test_what_the_features_can_say_is_reproduced_by_them_alone(seed, m, d, kernel, gamma, formulation):
    X, _, Z, rng = sample(seed, m, d)
    truth = rng.normal(size=d)
    model = regressor(kernel, features="linear", regularization=gamma, formulation=formulation)
    model.fit(X, 3 + X @ truth)
    close(model.predict(Z), 3 + Z @ truth, 1e-9)
    close(model.decompose(Z)[1], np.zeros(len(Z)), 1e-9)


@given(seeds, sizes, dimensions, radial_kernels, regularizations)
def test_a_larger_regularization_fits_the_targets_less(seed, m, d, kernel, gamma):
    X, y, _, _ = sample(seed, m, d)
    errors = [
        np.mean((regressor(kernel, regularization=g).fit(X, y).predict(X) - y) ** 2)
        for g in (gamma, 10 * gamma)
    ]
    assert errors[0] <= errors[1] * (1 + 1e-9)


@given(seeds, st.integers(12, 60), dimensions, radial_kernels, regularizations)
def test_names_of_classes_do_not_matter(seed, m, d, kernel, gamma):
    X, _, Z, rng = sample(seed, m, d)
    labels = rng.integers(0, 3, m)
    labels[:3] = [0, 1, 2]
    model = classifier(kernel, regularization=gamma)
    scores = model.fit(X, labels).decision_function(Z)
    renamed = np.array(["c", "a", "b"])[labels]
    close(model.fit(X, renamed).decision_function(Z), scores[:, [1, 2, 0]], 1e-9)
