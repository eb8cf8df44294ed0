"""Counts and positive values on centres: `NystromGRRegressor`."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import reference
from grls import DependentFeaturesWarning, GRRegressor, NystromGRRegressor
from grls._nystrom import choice, equations
from grls._nystrom.sums import Part
from grls.features import Groups
from grls.kernels import Gaussian, Laplace, Linear
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

RNG = np.random.default_rng(0)
M = 90
X = RNG.uniform(-2, 2, size=(M, 2))
HOURS = RNG.uniform(0.5, 3.0, M)
MEAN = HOURS * np.exp(0.5 + np.sin(2 * X[:, 0]) + 0.3 * X[:, 1])
WEIGHTS = RNG.integers(1, 4, M).astype(float)
COUNTS = {
    "poisson": RNG.poisson(MEAN),
    "gamma": MEAN * RNG.gamma(3.0, 1 / 3, M),
    "negative_binomial": RNG.negative_binomial(2, 1 / (1 + MEAN / 2)),
}
LOSSES = [("poisson", {}), ("gamma", {}), ("negative_binomial", {"dispersion": 0.5})]


def half_deviance(loss, y, mu):
    return reference.unit_deviance(loss, y, mu, alpha=0.5) / 2


def blocks(size=20, weights=None):
    cuts = range(0, M, size)
    if weights is None:
        return [(X[i : i + size], COUNTS["poisson"][i : i + size]) for i in cuts]
    return [(X[i : i + size], COUNTS["poisson"][i : i + size], weights[i : i + size]) for i in cuts]


# What it minimises.


@pytest.mark.parametrize(("loss", "options"), LOSSES)
@pytest.mark.parametrize("features", [None, "constant", "linear"])
@pytest.mark.parametrize("gamma", [1e-1, 1e-4])
def test_with_all_rows_as_centres_it_is_the_exact_model(loss, options, features, gamma):
    y = COUNTS[loss]
    given = {"features": features, "loss": loss, "regularization": gamma, **options}
    exact = GRRegressor(Gaussian(1.0), tol=1e-8, **given).fit(X, y, WEIGHTS, exposure=HOURS)
    model = NystromGRRegressor(Gaussian(1.0), tol=1e-12, **given).fit(X, y, WEIGHTS, exposure=HOURS)
    new = X[:20] + 0.1
    assert_allclose(model.linear_predictor(new), exact.linear_predictor(new), atol=1e-6)
    assert_allclose(model.predict(X, exposure=HOURS), exact.predict(X, exposure=HOURS), rtol=1e-6)
    assert_allclose(model.objective_, exact.objective_, rtol=1e-8)
    for one, other in zip(model.decompose(new), exact.decompose(new), strict=True):
        assert_allclose(one, other, atol=1e-4)  # of a constant the parts share
    assert model.score(X, y, WEIGHTS, exposure=HOURS) == pytest.approx(
        exact.score(X, y, WEIGHTS, exposure=HOURS), abs=1e-7
    )


@pytest.mark.parametrize(("loss", "options"), LOSSES)
def test_on_few_centres_it_is_the_minimum_that_scipy_finds(loss, options):
    y, gamma, offset = COUNTS[loss], 1e-2, np.log(HOURS)
    Z, T = X[:12], np.column_stack([np.ones(M), X])
    model = NystromGRRegressor(
        Gaussian(1.0), features="linear", loss=loss, regularization=gamma, centers=Z, tol=1e-13, **options
    ).fit(X, y, WEIGHTS, offset=offset)
    K, K_zz = reference.gaussian(X, Z, 1.0), reference.gaussian(Z, Z, 1.0)
    # a = N v with T_zᵀN = 0
    N = np.linalg.svd(T[:12].T)[2][3:].T

    def objective(p):
        f = K @ N @ p[:9] + T @ p[9:]
        losses = half_deviance(loss, y, np.exp(f + offset))
        return WEIGHTS @ losses / WEIGHTS.sum() + gamma * (N @ p[:9]) @ K_zz @ (N @ p[:9])

    found = minimize(objective, np.zeros(12), method="BFGS", options={"gtol": 1e-9})
    assert_allclose(model.objective_, [found.fun], rtol=1e-7)
    f = K @ N @ found.x[:9] + T @ found.x[9:]
    assert_allclose(model.linear_predictor(X), f, atol=2e-3)
    # Its own coefficients have the objective it reports, and none near them has less.
    a, b = model.dual_coef_, model.feature_coef_
    K, K_zz = reference.gaussian(X, model.X_fit_, 1.0), reference.gaussian(model.X_fit_, model.X_fit_, 1.0)
    T_z = np.column_stack([np.ones(len(a)), model.X_fit_])
    assert_allclose(T_z.T @ a, 0, atol=1e-9)

    def value(a, b):
        losses = half_deviance(loss, y, np.exp(K @ a + T @ b + offset))
        return WEIGHTS @ losses / WEIGHTS.sum() + gamma * a @ K_zz @ a

    best = value(a, b)
    assert_allclose(best, model.objective_[0], rtol=1e-10)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = rng.normal(size=len(a))
        step -= T_z @ np.linalg.lstsq(T_z, step, rcond=None)[0]
        assert value(a + 1e-3 * step, b + 1e-3 * rng.normal(size=3)) > best


def test_with_the_features_alone_it_is_a_generalised_linear_model():
    sm = pytest.importorskip("statsmodels.api")
    T = np.column_stack([np.ones(M), X])
    model = NystromGRRegressor(Gaussian(1.0), features="linear", regularization=1e8).fit(
        X, COUNTS["poisson"], exposure=HOURS
    )
    peer = sm.GLM(COUNTS["poisson"], T, family=sm.families.Poisson(), exposure=HOURS).fit()
    assert_allclose(model.feature_coef_, peer.params, atol=1e-6)


def test_a_prior_on_the_features_is_that_of_the_exact_model():
    y = COUNTS["poisson"]
    given = {"features": "linear", "regularization": 1e-2, "loss": "poisson", "feature_variance": 0.5}
    exact = GRRegressor(Gaussian(1.0), tol=1e-8, **given).fit(X, y)
    model = NystromGRRegressor(Gaussian(1.0), tol=1e-12, **given).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), rtol=1e-6)
    assert_allclose(model.feature_coef_, exact.feature_coef_, atol=1e-6)


def test_several_outputs_are_models_of_their_own():
    Y = np.column_stack([COUNTS["poisson"], COUNTS["negative_binomial"]])
    for gamma in (1e-2, "gcv", "reml"):
        both = NystromGRRegressor(Gaussian(1.0), regularization=gamma, n_centers=30).fit(X, Y)
        for p in range(2):
            one = NystromGRRegressor(Gaussian(1.0), regularization=gamma, n_centers=30).fit(X, Y[:, p])
            assert_allclose(both.predict(X)[:, p], one.predict(X), rtol=1e-7)
            assert np.atleast_1d(both.regularization_)[min(p, np.size(both.regularization_) - 1)] == (
                pytest.approx(one.regularization_)
            )
    assert both.n_iter_.shape == both.objective_.shape == (2,)
    assert both.feature_coef_.shape == (1, 2)


# Rows.


def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row():
    y, w = COUNTS["poisson"], WEIGHTS - 1
    rows = np.repeat(np.arange(M), w.astype(int))
    for gamma in (1e-3, "gcv"):
        model = NystromGRRegressor(Gaussian(1.0), regularization=gamma, tol=1e-12)
        weighted = clone(model).fit(X, y, w, exposure=HOURS)
        repeated = clone(model).fit(X[rows], y[rows], exposure=HOURS[rows])
        assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    assert weighted.n_samples_seen_ == np.sum(w > 0)


@pytest.mark.parametrize("gamma", [1e-3, "gcv"])
def test_blocks_are_the_rows_in_memory(gamma, tmp_path):
    y = COUNTS["poisson"]
    model = NystromGRRegressor(Gaussian(1.0), features="linear", regularization=gamma, n_centers=25)
    whole = clone(model).fit(X, y, WEIGHTS - 1, exposure=HOURS)
    parts = clone(model).fit(blocks(weights=WEIGHTS - 1), exposure=HOURS)
    assert_array_equal(parts.X_fit_, whole.X_fit_)
    assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-8)
    rows = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=X.shape)
    rows[:] = X
    mapped = clone(model).fit(rows, y, WEIGHTS - 1, exposure=HOURS)
    assert_allclose(mapped.predict(X), whole.predict(X), rtol=1e-8)


def test_slices_of_rows_do_not_matter(monkeypatch):
    model = NystromGRRegressor(Gaussian(1.0), n_centers=25)
    whole = clone(model).fit(X, COUNTS["poisson"])
    monkeypatch.setattr("grls._nystrom.smooth._SLICE_NUMBERS", 1)
    monkeypatch.setattr("grls._nystrom.smooth._LEAST_ROWS", 7)
    assert_allclose(clone(model).fit(X, COUNTS["poisson"]).predict(X), whole.predict(X), rtol=1e-8)


def test_a_block_may_have_no_counts():
    y = COUNTS["poisson"].copy()
    y[:20] = 0
    parts = [(X[i : i + 10], y[i : i + 10]) for i in range(0, M, 10)]
    model = NystromGRRegressor(Gaussian(1.0), regularization=1e-3, n_centers=25)
    assert_allclose(clone(model).fit(parts).predict(X), clone(model).fit(X, y).predict(X), rtol=1e-8)


def test_an_iterator_is_refused():
    with pytest.raises(ValueError, match="can be read once"):
        NystromGRRegressor().fit(iter(blocks()))


def test_frames_files_and_sparse_rows(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(n=COUNTS["poisson"], w=WEIGHTS)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = NystromGRRegressor(Gaussian(1.0), n_centers=25, regularization=1e-3)
    plain = clone(model).fit(X, COUNTS["poisson"], WEIGHTS)
    for given in (frame, str(tmp_path / "rows.csv")):
        found = clone(model).fit(given, "n", "w")
        assert_allclose(found.predict(frame[["a", "b"]]), plain.predict(X), rtol=1e-7)
    thin = clone(model).fit(sparse.csr_matrix(X), COUNTS["poisson"], WEIGHTS)
    assert_allclose(thin.predict(sparse.csr_matrix(X)), plain.predict(X), rtol=1e-7)


def test_a_function_is_a_kernel_too():
    def kernel(A, B):
        return reference.gaussian(A, B, 1.0)

    given = {"regularization": 1e-3, "n_centers": 25}
    by_function = NystromGRRegressor(kernel, **given).fit(X, COUNTS["poisson"])
    by_name = NystromGRRegressor(Gaussian(1.0), **given).fit(X, COUNTS["poisson"])
    assert_allclose(by_function.predict(X), by_name.predict(X), rtol=1e-8)


# γ.


@pytest.mark.parametrize(("loss", "options"), LOSSES)
def test_the_chosen_gamma_predicts_new_rows_almost_as_well_as_the_best(loss, options):
    rng = np.random.default_rng(3)

    def draw(n):
        Z = rng.uniform(-2, 2, size=(n, 2))
        mu = np.exp(0.5 + np.sin(2 * Z[:, 0]) + 0.3 * Z[:, 1])
        if loss == "poisson":
            return Z, rng.poisson(mu)
        if loss == "gamma":
            return Z, mu * rng.gamma(3.0, 1 / 3, n)
        return Z, rng.negative_binomial(2, 1 / (1 + mu / 2))

    (Z, y), new = draw(400), draw(4000)
    model = NystromGRRegressor(Gaussian(0.7), loss=loss, n_centers=100, **options)
    chosen = clone(model).fit(Z, y)
    scores = [
        clone(model).set_params(regularization=gamma).fit(Z, y).score(*new)
        for gamma in np.logspace(-6, 1, 15)
    ]
    assert chosen.score(*new) > max(scores) - 0.02
    assert min(scores) < max(scores) - 0.1  # γ matters
    path, criterion = chosen.regularization_path_, chosen.criterion_path_
    assert path.shape == criterion.shape == (50,)
    assert chosen.regularization_ == path[criterion.argmin()]


@pytest.mark.parametrize(("least", "n_features"), [(0.0, 1), (1.0, 0), (1.0, 2), (50.0, 2)])
def test_gcv_takes_the_noise_for_no_less_than_is_known(least, n_features):
    rng = np.random.default_rng(5)
    n, r = 40, 6
    B, T, y = rng.normal(size=(n, r)), rng.normal(size=(n, n_features)), 3 * rng.normal(size=n)
    Z = np.column_stack([B, T, y])
    centers = SimpleNamespace(rank=r, A=np.eye(n_features), kept=list(range(n_features)), tolerance=1e-10)
    system = equations.equations(Part(Z.T @ Z, weight=float(n), count=float(n)), centers, 1)
    gammas = np.logspace(-4, 2, 7)
    found = choice.gcv(system, gammas, least_variance=least)
    for gamma, value in zip(found.path, found.criterion, strict=True):
        P = np.diag(np.r_[np.full(r, gamma * n), np.zeros(n_features)])
        D = np.hstack([B, T])
        hat = D @ np.linalg.solve(D.T @ D + P, D.T)
        d, q = n - np.trace(hat), np.sum((y - hat @ y) ** 2)
        expected = q / n + max(q / d, least) * ((n / d) ** 2 - 1) * d / n
        assert_allclose(value, expected, rtol=1e-9)
        assert least > 0 or np.isclose(expected, n * q / d**2)
    assert found.regularization == found.path[found.criterion.argmin()]


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_rare_counts_are_not_interpolated(criterion):
    # Without a least variance "gcv" interpolates in the second of these draws: D² is −1.5 there.
    explained, best = [], []
    for seed in range(3000, 3006):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 10, (300, 1))
        y = rng.poisson(np.exp(-2 + np.sin(x[:, 0])))
        new = np.linspace(0, 10, 500)[:, None]
        mu = np.exp(-2 + np.sin(new[:, 0]))

        def of_truth(gamma, x=x, y=y, new=new, mu=mu):
            model = NystromGRRegressor(Gaussian(1.5), n_centers=60, regularization=gamma).fit(x, y)
            found = model.predict(new)
            return 1 - np.mean(mu * np.log(mu / found) - mu + found) / np.mean(
                mu * np.log(mu / y.mean()) - mu + y.mean()
            )

        explained.append(of_truth(criterion))
        best.append(max(of_truth(gamma) for gamma in np.logspace(-5, 0, 6)))
    assert np.mean(explained) > np.mean(best) - 0.15
    assert min(explained) > 0


def test_values_that_are_no_counts_may_have_less_noise_than_counts():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-2, 2, (200, 1))
    mu = np.exp(np.sin(2 * Z[:, 0]))
    y = mu * np.exp(0.02 * rng.normal(size=200))
    for unit in (1.0, 1e-3):  # whatever the unit
        model = NystromGRRegressor(Gaussian(0.7), n_centers=40).fit(Z, unit * y)
        assert np.mean(np.abs(np.log(model.predict(Z) / (unit * mu)))) < 0.02


def test_gamma_is_one_of_those_given():
    model = NystromGRRegressor(Gaussian(1.0), regularization_grid=[1e-5, 1e-3, 1e-1]).fit(
        X, COUNTS["poisson"]
    )
    assert_allclose(model.regularization_path_, [1e-5, 1e-3, 1e-1])
    assert np.isclose(model.regularization_, [1e-5, 1e-3, 1e-1]).any()
    model.set_params(regularization=1e-2).fit(X, COUNTS["poisson"])
    assert not hasattr(model, "regularization_path_")


# What can go wrong.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "huber"}, "loss must be"),
        ({"loss": "negative_binomial"}, "needs a number for dispersion"),
        ({"loss": "negative_binomial", "dispersion": 0.0}, "dispersion must be"),
        ({"regularization": 0.0}, "regularization must be"),
        ({"regularization": "loo"}, "must be one of"),
        ({"regularization_grid": [1.0, -1.0]}, "regularization_grid must hold"),
        ({"n_centers": 0}, "n_centers must be"),
        ({"centers": "best"}, "centers"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"feature_variance": -1.0}, "feature_variance must be"),
        ({"features": Groups(0)}, "effects of groups"),
        ({"kernel": "auto"}, "not chosen on centres"),
        ({"kernel": "precomputed"}, "a precomputed kernel has no values"),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NystromGRRegressor(**parameters).fit(X, COUNTS["poisson"])


def test_values_that_cannot_be():
    y = COUNTS["poisson"].astype(float)
    with pytest.raises(ValueError, match="must not be negative"):
        NystromGRRegressor().fit(X, np.where(y == y[3], -1, y))
    with pytest.raises(ValueError, match="must be positive"):
        NystromGRRegressor(loss="gamma").fit(X, np.where(y == y[3], 0, y))
    with pytest.raises(ValueError, match="every value of y is zero"):
        NystromGRRegressor().fit(X, 0 * y)
    with pytest.raises(ValueError, match="exposure must be positive"):
        NystromGRRegressor().fit(X, y, exposure=0.0)
    with pytest.raises(ValueError, match="each of the 90 rows"):
        NystromGRRegressor().fit(X, y, offset=np.zeros(89))
    for n in (89, 91):
        with pytest.raises(ValueError, match=f"of {n} rows"):
            NystromGRRegressor().fit(blocks(), offset=np.zeros(n))
    with pytest.raises(ValueError, match=r"block 1.*y has shape"):
        NystromGRRegressor().fit([(X, y), (X, np.column_stack([y, y]))])


def test_features_that_run_away_are_refused():
    inside = (X[:, 0] > 1).astype(float)
    y = np.where(inside == 1, 0, COUNTS["poisson"] + 1)

    def of(columns):
        return NystromGRRegressor(Gaussian(1.0), features=lambda Z: columns(Z[:, 0] > 1), regularization=1e-2)

    two = of(lambda inside: np.column_stack([np.ones(len(inside)), inside]))
    with pytest.raises(ValueError, match="would be infinite"):
        two.fit(X, y)
    with pytest.raises(ValueError, match="would be infinite"):
        GRRegressor(Gaussian(1.0), features=two.features, loss="poisson", regularization=1e-2).fit(X, y)
    y[np.flatnonzero(inside)[0]] = 1
    assert np.isfinite(two.fit(X, y).feature_coef_).all()
    # A feature that has both signs where nothing was counted has a minimum.
    y[inside == 1] = 0
    signs = NystromGRRegressor(
        Gaussian(1.0),
        features=lambda Z: np.column_stack([np.ones(len(Z)), np.sign(Z[:, 1]) * (Z[:, 0] > 1)]),
        regularization=1e-2,
    )
    assert np.isfinite(signs.fit(X, y).feature_coef_).all()


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_combination_of_features_that_runs_away_is_refused_in_any_units(unit):
    level = np.round(X[:, 0])
    model = NystromGRRegressor(
        Gaussian(1.0),
        n_centers=6,  # the features are not of the same size at the rows as there
        features=lambda Z: np.column_stack([np.ones(len(Z)), unit * np.round(Z[:, 0])]),
        regularization=1e-2,
    )
    for place in (level.min(), level.max()):  # counts at one end alone: the line falls from there
        with pytest.raises(ValueError, match="would be infinite"):
            model.fit(X, np.where(level == place, 3, 0))
    assert np.isfinite(model.fit(X, np.where(level == 0, 3, 0)).feature_coef_).all()


def test_dependent_features_are_left_out():
    def features(Z):
        return np.column_stack([np.ones(len(Z)), Z, Z[:, 0] + Z[:, 1]])

    given = {"regularization": 1e-2, "tol": 1e-12}
    with pytest.warns(DependentFeaturesWarning):
        model = NystromGRRegressor(Gaussian(1.0), features=features, **given).fit(X, COUNTS["poisson"])
    plain = NystromGRRegressor(Gaussian(1.0), features="linear", **given).fit(X, COUNTS["poisson"])
    assert model.feature_support_.sum() == 3
    assert np.all(model.feature_coef_[~model.feature_support_] == 0)
    assert_allclose(model.predict(X), plain.predict(X), rtol=1e-6)


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = NystromGRRegressor(Gaussian(1.0), regularization=1e-6, max_iter=1).fit(X, COUNTS["poisson"])
    assert_array_equal(model.n_iter_, [1])
    assert any("ConvergenceWarning" in message for message in model.fit_warnings_)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = NystromGRRegressor(Gaussian(1.0), regularization=1e-2).fit(X, COUNTS["poisson"])
    before = model.predict(X)
    with pytest.raises(ValueError, match="negative"):
        model.fit(X, -COUNTS["poisson"] - 1)
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_counts_of_any_size(scale):
    given = {"regularization": 1e-2 * scale, "loss": "poisson"}
    y = COUNTS["poisson"] * scale
    exact = GRRegressor(Gaussian(1.0), **given).fit(X, y)
    model = NystromGRRegressor(Gaussian(1.0), tol=1e-12, **given).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), rtol=1e-4)


def test_it_can_be_pickled_and_fitted_again():
    model = NystromGRRegressor(Laplace(1.0) + Linear(), features="linear").fit(X, COUNTS["poisson"])
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(clone(model).fit(X, COUNTS["poisson"]).predict(X), model.predict(X))
