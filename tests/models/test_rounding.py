"""What rounding may do to predictions is kept small or told: weights of any size, tiny regularization."""

import warnings

import numpy as np
import pytest
from grls import GRLSRegressor, NystromGRLSRegressor, PriorRLSRegressor
from grls.exceptions import NotPositiveDefiniteError, PrecisionWarning
from grls.kernels import Gaussian, Laplace, Linear
from numpy.testing import assert_allclose
from reference import exact


def exact_predictions(name, kernel, X, y, gamma, weights=None, features="constant"):
    T = np.ones((len(X), 1)) if features == "constant" else np.empty((len(X), 0))
    w = np.ones(len(X)) if weights is None else weights
    sigma = getattr(kernel, "sigma", 1.0)
    found = exact.grls_predictions(name, sigma, X, T, y, w, gamma, X, T)
    return np.array([float(value) for value in found])


def test_rows_of_small_weight_keep_their_digits_beside_heavy_ones():
    """The reflectors of the features begin at the heavy rows; else the light ones drown in their rounding."""
    X = np.array([[0.0], [0.1], [0.9], [1.7], [-0.4]])
    y = np.array([-0.05, -1.2, 0.2, 0.7, 0.3])
    weights = np.array([3e10, 6e8, 2e-2, 5e-4, 7.0])
    model = GRLSRegressor(Laplace(10.0), regularization=1e-10).fit(X, y, sample_weight=weights)
    expected = exact_predictions("laplace", model.kernel_, X, y, 1e-10, weights)
    assert_allclose(model.predict(X), expected, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::grls.ConfoundedFeaturesWarning")  # a row of nearly all the weight
def test_the_order_of_rows_does_not_matter_to_weights_of_any_size():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(30, 2)), rng.normal(size=30), 10.0 ** rng.uniform(-6, 6, size=30)
    order = rng.permutation(30)
    model = GRLSRegressor(Gaussian(1.0), features="linear", regularization=1e-4)
    first = model.fit(X, y, weights).predict(X)
    std = model.predict(X, return_std=True)[1]
    again = model.fit(X[order], y[order], weights[order])
    assert_allclose(again.predict(X), first, rtol=0, atol=1e-9)
    assert_allclose(again.predict(X, return_std=True)[1], std, rtol=1e-6)


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("scale", [1.0, 1e-89, 1e90])
def test_rounding_that_shows_is_told_as_large_as_it_is(scale, precision):
    """A linear kernel of one column leaves most of y to c = y/γm: its values cancel in all predictions."""
    rng = np.random.default_rng(1)
    X, y = scale * rng.normal(size=(8, 1)), rng.normal(size=8) / scale
    model = GRLSRegressor(Linear(), features=None, regularization=1e-12 * scale**2, precision=precision)
    with pytest.warns(PrecisionWarning, match="rounding may move predictions by") as caught:
        model.fit(X, y)
    told = float(str(caught[0].message).split(" by ")[1].split()[0])
    wanted = exact_predictions("linear", Linear(), X, y, 1e-12 * scale**2, features=None)
    error = np.abs(model.predict(X) - wanted).max() / np.abs(y).max()
    assert told / 500 < error < told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(regularization=1e-5 * scale**2).fit(X, y)


def test_only_the_output_that_suffers_is_judged_by_its_own_size():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 1))
    Y = np.column_stack([X[:, 0] * 1e12, rng.normal(size=8), np.zeros(8)])
    model = GRLSRegressor(Linear(), features=None, regularization=1e-12)
    with pytest.warns(PrecisionWarning, match="rounding may move"):
        model.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y[:, [0, 2]])


def test_sums_tell_of_weights_that_they_lose():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(20, 2)), rng.normal(size=20), np.ones(20)
    model = NystromGRLSRegressor(Gaussian(1.0), n_centers=20, regularization=1e-3)
    weights[3] = 1e-13
    with pytest.warns(PrecisionWarning, match="1e\\+13 times the smallest"):
        model.fit(X, y, sample_weight=weights)
    weights[3] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)], ids=["fewer rows", "fewer columns"])
@pytest.mark.parametrize("features", ["constant", "linear of one"])
def test_weights_of_columns_beside_a_constant_do_not_depend_on_the_origin(shape, features):
    rng = np.random.default_rng(3)
    # Numbers with few digits, so that the spread is the same to the last bit wherever they are.
    X, y = np.round(rng.normal(size=shape) * 2**12) / 2**12, rng.normal(size=shape[0])
    far = X + 2.0**24
    steps = np.arange(shape[0])[:, None]
    free = "constant" if features == "constant" else lambda rows: np.hstack([steps, 1 + steps])[: len(rows)]
    near, moved = (PriorRLSRegressor(features=free, regularization=1e-2).fit(Z, y) for Z in (X, far))
    assert_allclose(moved.coef_, near.coef_, rtol=0, atol=1e-6)
    assert_allclose(moved.predict(far), near.predict(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("variance", [np.inf, 1.0])
def test_weights_of_columns_far_from_the_origin_are_told_where_no_constant_is_free(variance):
    X = np.random.default_rng(3).normal(size=(20, 2))
    y = X[:, 0]
    features = None if variance == np.inf else "constant"
    model = PriorRLSRegressor(features=features, feature_variance=variance, regularization=1e-2)
    with pytest.warns(PrecisionWarning, match="the columns of X are 9e\\+04 times their spread away"):
        model.fit(X + 1e5, y)
    with pytest.raises(ValueError, match=r"the columns of X .* rounding leaves nothing"):
        model.fit(X + 1e9, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X + 1e2, y)


@pytest.mark.parametrize("unit", [1e20, 1e-25])
def test_points_whose_distances_leave_single_precision_are_refused_there(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    model = GRLSRegressor(Laplace(unit), regularization=1e-3, precision="single")
    with pytest.raises(ValueError, match='precision="single" works for distances from'):
        model.fit(unit * X, y)
    mixed = model.set_params(precision="mixed").fit(unit * X, y).predict(unit * X)
    usual = GRLSRegressor(Laplace(1.0), regularization=1e-3).fit(X, y).predict(X)
    assert np.abs(mixed - usual).max() < 1e-8


def told_of(caught, what):
    return any(issubclass(w.category, PrecisionWarning) and what in str(w.message) for w in caught)


def wrong_deviations(seed):
    """Return how many deviations of a small fit are wrong without a warning; weights and γ of any size."""
    random = np.random.default_rng(seed)
    m, d = int(random.integers(4, 9)), int(random.integers(1, 3))
    X, sigma = random.uniform(-3, 3, (m, d)), random.choice([0.3, 1.0, 3.0])
    weights = 10.0 ** random.uniform(-12, 12, m) if random.random() < 0.8 else np.ones(m)
    gamma, linear = 10.0 ** random.uniform(-16, 16), bool(random.integers(2)) and m > d + 2
    model = GRLSRegressor(Gaussian(sigma), features="linear" if linear else "constant", regularization=gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, random.normal(size=m), weights)
        except NotPositiveDefiniteError:  # refused, as singular to working precision
            return 0
    if not np.isfinite(model.kernel_variance_).all() or (model.feature_coef_ == 0).any():
        return 0  # variances that are not known, features that depend on each other in the heavy rows
    points = np.vstack([X[:2], random.uniform(-4, 4, (2, d))])
    T, T_new = (np.column_stack([np.ones(len(Z)), *(Z.T if linear else [])]) for Z in (X, points))
    wanted = exact.grls_standard_deviations("gaussian", sigma, X, T, weights, gamma, points, T_new)
    wrong = 0
    for point, true in zip(points, wanted, strict=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            std = float(model.predict(point[None], return_std=True)[1][0])
        right = abs(std / float(np.sqrt(model.kernel_variance_[0])) - float(true)) <= 1e-6 * float(true)
        wrong += not right and not told_of(caught, "standard deviation")
    return wrong


def test_standard_deviations_are_right_or_warned_about_whatever_the_weights():
    assert [seed for seed in range(100) if wrong_deviations(seed)] == []


@pytest.mark.slow
def test_standard_deviations_of_many_small_fits_are_right_or_warned_about():
    assert [seed for seed in range(100, 10_100) if wrong_deviations(seed)] == []


@pytest.mark.parametrize("a", [1e-4, 1e-8, 1e-10, 1e-12])
def test_weights_that_span_everything_leave_deviations_between_the_rows_as_they_are(a):
    X, w = np.array([[0.0], [100.0], [200.0]]), np.array([1, 1 / a, a])
    gamma, points = a / w.sum(), np.array([[50.0], [200.0], [30.0]])
    model = GRLSRegressor(Gaussian(1.0), regularization=gamma).fit(X, [1.0, 2.0, 4.0], w)
    ones, new = np.ones((3, 1)), np.ones((3, 1))
    wanted = exact.grls_standard_deviations("gaussian", 1.0, X, ones, w, gamma, points, new)
    found = model.predict(points, return_std=True)[1] / np.sqrt(model.kernel_variance_)
    assert_allclose(found, [float(each) for each in wanted], rtol=1e-6)


@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-9, 1e-6])
@pytest.mark.parametrize("gamma", [1e-12, 1e-14])
def test_groups_left_out_are_right_or_warned_about_where_rows_nearly_repeat(gap, gamma):
    looked_at = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        X, y = random.uniform(-3, 3, (6, 1)), random.normal(size=7)
        X, groups = np.vstack([X, X[:1] + gap]), np.array([0, 1, 1, 2, 2, 3, 0])
        y[6] = y[0] + 1e-3 * (gap > 1e-9)
        model = GRLSRegressor(Gaussian(1.0), regularization="logo", regularization_grid=[gamma])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.fit(X, y, groups=groups)
            except NotPositiveDefiniteError:
                continue
        looked_at += 1
        for group in range(4):
            train, test = groups != group, groups == group
            T, T_new, w = np.ones((train.sum(), 1)), np.ones((test.sum(), 1)), np.ones(train.sum())
            same_shift = gamma * len(X) / train.sum()
            wanted = exact.grls_predictions(
                "gaussian", 1.0, X[train], T, y[train], w, same_shift, X[test], T_new
            )
            error = np.abs(model.logo_predictions_[test] - [float(each) for each in wanted]).max()
            if error > 1e-4 * np.abs(y).max():
                assert told_of(caught, "groups left out")
                message = next(str(w.message) for w in caught if "groups left out" in str(w.message))
                assert float(message.split(" by ")[1].split()[0]) > 0.01 * min(error / np.abs(y).max(), 1)
            elif group == 0 and gap <= 1e-9:
                assert error < 1e-5 * np.abs(y).max()  # without nearly equal rows there is no difficulty
    assert looked_at
