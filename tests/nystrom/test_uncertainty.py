"""Standard deviations, likelihoods, rows left out and choices of the models on centres."""

import pickle
import warnings

import numpy as np
import pytest
from grls import GRLSRegressor, NystromGRLSClassifier, NystromGRLSRegressor
from grls._nystrom.posterior import CentrePosterior
from grls.exceptions import FewCentersWarning, PrecisionWarning
from grls.features import Columns
from grls.kernels import Gaussian, Laplace, Matern, Rotated, Sphere, ThinPlate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import GroupKFold, ShuffleSplit

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(240, 3))
Y = np.column_stack(
    [
        np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(240),
        X[:, 2] ** 2 + 0.2 * RNG.standard_normal(240),
    ]
)
X_NEW = RNG.uniform(-1.5, 1.5, size=(40, 3))
WEIGHTS = RNG.uniform(0.2, 2.0, size=240)


def model(**parameters):
    chosen = {"kernel": Gaussian(0.8), "features": "linear", "n_centers": 60, "regularization": 1e-3}
    return NystromGRLSRegressor(**{**chosen, **parameters})


@pytest.mark.parametrize("features", [None, "constant", "linear", Columns([1])])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_with_every_row_as_a_centre_variances_are_those_of_the_exact_model(features, weights):
    parameters = {"features": features, "regularization": 1e-3}
    exact = GRLSRegressor(Laplace(1.0), **parameters).fit(X, Y, weights)
    centred = model(kernel=Laplace(1.0), n_centers=240, **parameters).fit(X, Y, weights)
    assert_allclose(centred.kernel_variance_, exact.kernel_variance_, rtol=1e-8)
    assert_allclose(centred.noise_variance_, exact.noise_variance_, rtol=1e-8)
    assert centred.degrees_of_freedom_ == pytest.approx(exact.degrees_of_freedom_)
    assert_allclose(centred.feature_coef_std_, exact.feature_coef_std_, rtol=1e-8)
    assert_allclose(centred.feature_coef_cov_, exact.feature_coef_cov_, rtol=1e-7, atol=1e-12)
    for with_noise in (False, True):
        ours, theirs = (m.predict(X_NEW, return_std=True, with_noise=with_noise)[1] for m in (centred, exact))
        assert_allclose(ours, theirs, rtol=1e-8)
    ours, theirs = (m.predict(X_NEW[:9], return_cov=True)[1] for m in (centred, exact))
    assert_allclose(ours, theirs, rtol=1e-7, atol=1e-10)
    ours, theirs = (m.decompose(X_NEW, return_std=True) for m in (centred, exact))
    assert_allclose(ours.learnt_std, theirs.learnt_std, rtol=1e-8)
    assert_allclose(ours.features_std, theirs.features_std, rtol=1e-8)


def test_features_with_a_prior_have_the_exact_models_variances():
    parameters = {"features": "linear", "regularization": 1e-3, "feature_variance": 0.5}
    exact = GRLSRegressor(Laplace(1.0), **parameters).fit(X, Y)
    centred = model(kernel=Laplace(1.0), n_centers=240, **parameters).fit(X, Y)
    assert_allclose(centred.feature_coef_std_, exact.feature_coef_std_, rtol=1e-8)
    ours, theirs = (m.predict(X_NEW, return_std=True)[1] for m in (centred, exact))
    assert_allclose(ours, theirs, rtol=1e-8)


def test_a_prior_on_features_that_are_a_constant_alone_changes_nothing():
    free = model(features="constant").fit(X, Y)
    prior = model(features="constant", feature_variance=1.0).fit(X, Y)
    assert_allclose(prior.predict(X_NEW), free.predict(X_NEW), rtol=1e-12)


def test_polynomials_that_the_kernel_shares_have_no_standard_error():
    exact = GRLSRegressor(ThinPlate(), features="linear", regularization=1e-3).fit(X, Y)
    centred = model(kernel=ThinPlate(), n_centers=240).fit(X, Y)
    assert np.isnan(centred.feature_coef_std_).all()
    ours, theirs = (m.predict(X_NEW, return_std=True)[1] for m in (centred, exact))
    assert_allclose(ours, theirs, rtol=1e-8)


def test_few_centres_have_the_posterior_of_their_functions_plus_what_they_miss():
    fitted = model(kernel=Gaussian(0.8), n_centers=30, features=None).fit(X, Y[:, 0], WEIGHTS)
    Z, K = Gaussian(0.8)(X, fitted.X_fit_), Gaussian(0.8)(fitted.X_fit_)
    shift = 1e-3 * WEIGHTS.sum()
    at = Gaussian(0.8)(X_NEW, fitted.X_fit_)
    information = Z.T @ (WEIGHTS[:, None] * Z) + shift * K
    missed = 1 - np.einsum("ij,ij->i", at, np.linalg.solve(K, at.T).T)
    variance = shift * np.einsum("ij,ij->i", at, np.linalg.solve(information, at.T).T) + missed
    # s yᵀ(Q + sW⁻¹)⁻¹y over the rows, Q the kernel matrix that the centres make
    Q = Z @ np.linalg.solve(K, Z.T) + shift * np.diag(1 / WEIGHTS)
    scale = Y[:, 0] @ np.linalg.solve(Q, Y[:, 0]) / len(X)
    assert_allclose(fitted.kernel_variance_, scale, rtol=1e-6)
    assert_allclose(fitted.predict(X_NEW, return_std=True)[1], np.sqrt(scale * variance), rtol=1e-5)


def test_a_band_widens_away_from_the_rows():
    fitted = model(features="constant", regularization="reml").fit(X, Y[:, 0])
    far = np.outer([0.0, 1.0, 2.0, 4.0, 8.0], [1.0, 1.0, 1.0])
    assert np.all(np.diff(fitted.predict(far, return_std=True)[1]) > 0)


@pytest.mark.parametrize("weights", [None, WEIGHTS / 2])
def test_with_every_row_as_a_centre_reml_and_summary_are_the_exact_models(weights):
    y = Y[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(240)
    centred = model(kernel=Laplace(1.0), n_centers=240, regularization="reml").fit(X, y, weights)
    path = centred.regularization_path_
    exact = GRLSRegressor(Laplace(1.0), features="linear", regularization="reml", regularization_grid=path)
    known = path > 1e-7
    assert known.sum() > 25
    assert_allclose(
        centred.criterion_path_[known], exact.fit(X, y, weights).criterion_path_[known], rtol=1e-6
    )
    assert centred.regularization_ == exact.regularization_
    at = centred.regularization_
    exact = GRLSRegressor(Laplace(1.0), features="linear", regularization=at).fit(X, y, weights)
    ours, theirs = centred.summary(), exact.summary(n_simulations=0)
    for name in ("restricted_log_likelihood", "log_likelihood", "edf", "r2", "kernel_norm", "n_rows"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-8)
    assert_allclose(ours.coefficients["SE"], theirs.coefficients["SE"], rtol=1e-8)
    assert_allclose(ours.coefficients["p"], theirs.coefficients["p"], rtol=1e-5, atol=1e-300)
    assert ours.aic == pytest.approx(theirs.aic + 2)  # γ was chosen here, and given there
    assert "centres" in str(ours)


def test_a_row_of_weight_two_is_the_row_twice_for_the_likelihood_too():
    counts = RNG.integers(1, 4, size=240)
    weighted = model(regularization="reml").fit(X, Y, counts)
    repeated = model(regularization="reml").fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    assert_allclose(weighted.criterion_path_, repeated.criterion_path_, rtol=1e-9)
    assert_allclose(weighted.feature_coef_std_, repeated.feature_coef_std_, rtol=1e-7)


def refitted(fitted, train, test, weights):
    """Predictions, and variances in units of the kernel's, of a model that never saw the test rows."""
    w = np.ones(len(train)) if weights is None else weights[train]
    gamma = float(fitted._posterior.shift / w.sum())
    again = model(centers=fitted.X_fit_, regularization=gamma).fit(X[train], Y[train], w)
    values, std = again.predict(X[test], return_std=True, with_noise=True)
    return values, (std**2 - again.noise_variance_) / again.kernel_variance_


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_rows_left_out_are_those_of_refits(weights, monkeypatch):
    monkeypatch.setattr(CentrePosterior, "with_missed", lambda self, *_: self)  # of a sample of the rows
    fitted = model().fit(X, Y, weights)
    found = fitted.cross_validate(X, Y, weights, cv=4)
    assert_array_equal(found.rows, np.arange(240))
    for fold in range(4):
        test = np.flatnonzero(found.fold == fold)
        values, variances = refitted(fitted, np.flatnonzero(found.fold != fold), test, weights)
        assert_allclose(found.predictions[test], values, rtol=1e-8, atol=1e-8)
        expected = np.sqrt(variances * fitted.kernel_variance_ + fitted.noise_variance_)
        assert_allclose(found.std[test], expected, rtol=1e-8)
    assert_allclose(found.z, (Y - found.predictions) / found.std)


def test_any_splitter_may_say_which_rows_are_left_out():
    fitted = model().fit(X, Y[:, 0])
    groups = np.digitize(X[:, 0], [-0.5, 0.0, 0.5])
    by_group = fitted.cross_validate(X, Y[:, 0], cv=GroupKFold(4), groups=groups)
    assert all(len(np.unique(groups[by_group.fold == fold])) == 1 for fold in range(4))
    halves = ShuffleSplit(3, train_size=0.5, test_size=0.2, random_state=0)
    some = fitted.cross_validate(X, Y[:, 0], cv=halves)
    assert some.n_folds == 3
    assert len(some.rows) == 3 * 48
    train, test = next(halves.split(X))
    gamma = float(fitted._posterior.shift / len(train))
    again = model(centers=fitted.X_fit_, regularization=gamma).fit(X[train], Y[train, 0])
    assert_allclose(some.predictions[some.fold == 0], again.predict(X[test]), rtol=1e-7, atol=1e-8)


def test_blocks_left_out_are_the_same_rows_left_out_in_memory():
    blocks = [(X[i : i + 40], Y[i : i + 40]) for i in range(0, 240, 40)]
    fitted = model().fit(blocks)
    every = fitted.cross_validate(blocks, cv="blocks")
    splits = [(np.delete(np.arange(240), part), part) for part in np.split(np.arange(240), 6)]
    in_memory = fitted.cross_validate(X, Y, cv=splits)
    assert_allclose(every.predictions, in_memory.predictions, rtol=1e-9, atol=1e-10)
    assert_allclose(every.std, in_memory.std, rtol=1e-9)
    dealt = fitted.cross_validate(blocks, cv=3)
    assert_array_equal(dealt.fold, np.repeat([0, 1, 2, 0, 1, 2], 40))
    splits = [(np.flatnonzero(dealt.fold != f), np.flatnonzero(dealt.fold == f)) for f in range(3)]
    in_memory = fitted.cross_validate(X, Y, cv=splits)
    assert_allclose(dealt.predictions, in_memory.predictions, rtol=1e-9, atol=1e-10)


def test_what_cannot_be_left_out_is_said():
    fitted = model().fit(X, Y)
    blocks = [(X[:120], Y[:120]), (X[120:], Y[120:])]
    with pytest.raises(ValueError, match="can be read once"):
        fitted.cross_validate(iter(blocks), cv="blocks")
    with pytest.raises(ValueError, match="is for rows that come in blocks"):
        fitted.cross_validate(X, Y, cv="blocks")
    with pytest.raises(ValueError, match="as many blocks, and there are 2"):
        fitted.cross_validate(blocks, cv=3)
    with pytest.raises(ValueError, match="tests rows that it trains with"):
        fitted.cross_validate(X, Y, cv=[(np.arange(240), np.arange(10))])

    def rare(points):
        return np.column_stack([np.ones(len(points)), points[:, 0] > np.sort(X[:, 0])[-3]])

    fitted = model(features=rare).fit(X, Y)
    order = np.argsort(X[:, 0])
    with pytest.raises(ValueError, match=r"without fold 1 the features .* are dependent"):
        fitted.cross_validate(X, Y, cv=[(order[20:], order[:20]), (order[:-20], order[-20:])])


def test_variances_that_a_model_does_not_have_are_refused():
    with pytest.raises(ValueError, match=r'return_std needs the sums .* solver="cholesky"'):
        model(solver="cg").fit(X, Y).predict(X_NEW, return_std=True)
    with pytest.raises(ValueError, match="summary needs the factor that keep_factor=True keeps"):
        model(keep_factor=False).fit(X, Y).summary(output=0)
    with pytest.raises(ValueError, match="positive regularization"):
        model(regularization=0.0, n_centers=20).fit(X, Y).predict(X_NEW, return_std=True)
    with pytest.raises(ValueError, match="not for both"):
        model().fit(X, Y).predict(X_NEW, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="2 outputs"):
        model().fit(X, Y).summary()


def test_a_model_without_its_factor_still_has_standard_errors():
    with_factor, without = model().fit(X, Y), model(keep_factor=False).fit(X, Y)
    assert_array_equal(without.feature_coef_std_, with_factor.feature_coef_std_)
    assert len(pickle.dumps(without)) < 0.5 * len(pickle.dumps(with_factor))


def test_partial_fits_and_streams_have_the_variances_of_the_whole():
    whole = model(centers=X[:50], regularization="reml").fit(X, Y, WEIGHTS)
    stream = model(centers=X[:50], regularization="reml")
    for part in np.array_split(np.arange(240), 5):
        stream.partial_fit(X[part], Y[part], WEIGHTS[part])
    assert_allclose(stream.feature_coef_std_, whole.feature_coef_std_, rtol=1e-8)
    assert stream.regularization_ == pytest.approx(whole.regularization_, rel=1e-10)
    ours, theirs = (m.predict(X_NEW, return_std=True)[1] for m in (stream, whole))
    assert_allclose(ours, theirs, rtol=1e-8)


def test_r2_of_the_sums_is_that_of_the_rows():
    fitted = model(features=None).fit(X, Y[:, 0] + 5, WEIGHTS)
    assert fitted.summary().r2 == pytest.approx(fitted.score(X, Y[:, 0] + 5, WEIGHTS), rel=1e-9)


# What is left to the data.

MANY = np.random.default_rng(1).uniform(-1, 1, size=(1500, 2))
WAVES = np.sin(9 * MANY[:, 0]) * np.cos(7 * MANY[:, 1]) + MANY[:, 0]


@pytest.mark.parametrize("regularization", ["gcv", "reml", "holdout", 1e-6])
def test_centres_are_doubled_until_nothing_is_gained(regularization):
    y = WAVES + 0.05 * np.random.default_rng(2).standard_normal(1500)
    fitted = model(kernel=Gaussian(0.1), n_centers="auto", regularization=regularization).fit(MANY, y)
    numbers, criteria = fitted.n_centers_path_, fitted.n_centers_criterion_
    assert list(numbers) == [125, 250, 500, 1000, 1500][: len(numbers)]
    kept = len(fitted.X_fit_)
    assert kept <= numbers[-1]
    drops = -np.diff(criteria) / (1500 if regularization == "reml" else criteria[:-1])
    assert np.all(drops[:-1] > 0.01)  # all steps but the last gained
    again = model(kernel=Gaussian(0.1), n_centers=int(numbers[-1 if drops[-1] > 0.01 else -2]))
    again.set_params(regularization=regularization).fit(MANY, y)
    assert_array_equal(again.X_fit_, fitted.X_fit_)
    assert_allclose(again.predict(MANY[:50]), fitted.predict(MANY[:50]), rtol=1e-9)
    assert hasattr(fitted, "regularization_path_") == isinstance(regularization, str)


def test_a_smooth_function_needs_few_centres():
    fitted = model(kernel=Gaussian(2.0), n_centers="auto", regularization="gcv").fit(MANY, MANY[:, 0] ** 2)
    assert len(fitted.X_fit_) <= 250


def test_blocks_choose_the_number_of_centres_that_memory_does():
    parameters = {"kernel": Gaussian(0.2), "n_centers": "auto", "regularization": "gcv"}
    y = WAVES + 0.3 * np.random.default_rng(2).standard_normal(1500)
    whole = model(**parameters).fit(MANY, y)
    blocks = [(MANY[i : i + 500], y[i : i + 500]) for i in range(0, 1500, 500)]
    assert_array_equal(model(**parameters).fit(blocks).n_centers_path_, whole.n_centers_path_)
    once = model(**parameters).fit(iter(blocks))  # the first block decides
    assert once.n_samples_seen_ == 1500
    partial = model(**parameters).partial_fit(*blocks[0])
    for block in blocks[1:]:
        partial.partial_fit(*block)
    assert_allclose(partial.predict(MANY[:20]), once.predict(MANY[:20]), rtol=1e-9)


def test_the_kernel_is_chosen_as_the_exact_model_chooses_it_on_the_sample():
    y = np.sin(4 * X[:, 0]) + 0.1 * RNG.standard_normal(240)
    start = Gaussian("medians")
    exact = GRLSRegressor(start, features="linear", regularization="reml", optimize=True).fit(X, y)
    centred = model(kernel=start, regularization="reml", optimize=True, n_centers=240).fit(X, y)
    assert_allclose(np.log(centred.kernel_.sigma[0]), np.log(exact.kernel_.sigma[0]), atol=0.05)
    assert centred.kernel_.sigma[1] > 5 * centred.kernel_.sigma[0]
    assert centred.optimization_.by == "reml"
    grid = model(kernel=Gaussian(1.0), regularization="gcv", optimize={"sigma": [0.1, 0.5, 20.0]}).fit(X, y)
    assert grid.kernel_.sigma == 0.5
    automatic = model(kernel="auto", regularization="gcv").fit(X, y)
    plain = model(kernel="gaussian", regularization="gcv").fit(X, y)
    test = RNG.uniform(-1, 1, size=(500, 3))
    error = [np.mean((m.predict(test) - np.sin(4 * test[:, 0])) ** 2) for m in (automatic, plain)]
    assert error[0] < 0.5 * error[1]


def test_a_metric_is_learnt_on_the_sample():
    y = np.sin(4 * (X[:, 0] + X[:, 1]))
    fitted = model(kernel=Gaussian(), regularization="gcv", optimize="metric", features="constant").fit(X, y)
    assert fitted.metric_.shape == (3, 3)
    test = RNG.uniform(-1, 1, size=(200, 3))
    assert fitted.score(test, np.sin(4 * (test[:, 0] + test[:, 1]))) > 0.95


def test_a_classifier_chooses_its_kernel_and_centres_too():
    labels = np.where(np.sin(5 * MANY[:, 0]) > 0, "up", "down")
    fitted = NystromGRLSClassifier("auto", n_centers="auto").fit(MANY[:400], labels[:400])
    assert fitted.score(MANY, labels) > 0.95
    assert not hasattr(fitted, "feature_coef_std_")
    by_likelihood = NystromGRLSClassifier(Gaussian(0.3), regularization="reml", n_centers=50)
    assert by_likelihood.fit(MANY, labels).score(MANY, labels) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_centers": "many"}, "n_centers"),
        ({"n_centers": "auto", "solver": "cg"}, 'solver="cholesky", or give a number'),
        ({"n_centers": "auto", "regularization": 0.0}, "positive regularization"),
        ({"kernel": "auto", "optimize": ["sigma"]}, "tunes its kernel by itself"),
        ({"optimize": True, "feature_variance": 1.0}, "unpenalised features"),
    ],
)
def test_choices_that_cannot_be_made_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y)


def rough(seed, n=600, n_new=100):
    """A truth that few centres cannot follow: rows [s, z₁, z₂], 1 + ½z₁ + 0.7z₂ + g(s), observations."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(size=n + n_new)
    K = Matern(0.02)(s[:, None]) + 1e-9 * np.eye(n + n_new)
    z = np.column_stack([rng.standard_normal(n + n_new), np.cos(7 * s)])
    z[:, 1] += 0.05 * rng.standard_normal(n + n_new)
    f = 1 + z @ [0.5, 0.7] + np.linalg.cholesky(K) @ rng.standard_normal(n + n_new)
    return np.column_stack([s, z]), f, f + 0.3 * rng.standard_normal(n + n_new)


def on_few_centres(**parameters):
    chosen = {"kernel": Matern(0.02).on([0]), "features": Columns([1, 2]), "n_centers": 60}
    return NystromGRLSRegressor(**{"regularization": "reml", **chosen, **parameters})


def test_few_centres_are_told_and_enough_of_them_are_not():
    X, _, y = rough(0)
    with pytest.warns(FewCentersWarning, match=r"60 centres leave out 1[0-9]\.\d% of the variance"):
        few = on_few_centres().fit(X, y)
    K = Matern(0.02)(X[:, :1])
    at = Matern(0.02)(few.X_fit_[:, :1], X[:, :1])
    left = 1 - np.einsum("ij,ij->j", at, np.linalg.solve(Matern(0.02)(few.X_fit_[:, :1]), at))
    T = np.column_stack([np.ones(len(X)), X[:, 1:]])
    beside = np.trace(K - T @ np.linalg.lstsq(T, K, rcond=None)[0]) / (len(X) - 3)
    assert few.kernel_missed_ == pytest.approx(left.mean() / beside, rel=0.05)
    assert f"{few.kernel_missed_:.2%}" in str(few.summary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = on_few_centres(n_centers=500).fit(X, y)
    assert many.kernel_missed_ < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_what_centres_leave_out_is_in_the_coefficients_covariance(seed):
    X, _, y = rough(seed, n=300, n_new=0)
    fitted = on_few_centres(regularization=1e-3).fit(X, y)
    W = on_few_centres(regularization=1e-3).fit(X, np.eye(300)).feature_coef_  # the estimate is W y
    kernel, Z = Matern(0.02), fitted.X_fit_[:, :1]
    K, at = kernel(X[:, :1]), kernel(X[:, :1], Z)
    left_out = np.diagonal(K - at @ np.linalg.solve(kernel(Z), at.T))
    # The noise of the model on its centres holds the diagonal of what is left out.
    wanted = W @ (K + np.diag(0.3 - left_out)) @ W.T
    ours = fitted.feature_coef_cov_ / fitted.kernel_variance_
    assert ours[-1, -1] == pytest.approx(wanted[-1, -1], rel=0.04)
    assert np.all(np.diagonal(ours) > 0.99 * np.diagonal(wanted))
    assert ours[-1, -1] > 1.8 * fitted._posterior.free_coefficients()[-1, -1]


@pytest.mark.slow
@pytest.mark.parametrize("centers", ["uniform", "kmeans", "leverage"])
def test_intervals_cover_where_centres_leave_out_much(centers):
    covers = np.zeros(4)
    for seed in range(60):
        X, f, y = rough(seed)
        fitted = on_few_centres(centers=centers).fit(X[:600], y[:600])
        errors = np.abs(fitted.feature_coef_[1:] - [0.5, 0.7])
        mean, std = fitted.predict(X[600:], return_std=True)
        observed = fitted.predict(X[600:], return_std=True, with_noise=True)[1]
        shares = [
            np.mean(np.abs(mean - f[600:]) < 1.96 * std),
            np.mean(np.abs(mean - y[600:]) < 1.96 * observed),
        ]
        covers += [*(errors < 1.96 * fitted.feature_coef_std_[1:]), *shares]
    covers /= 60
    assert np.all(covers > 0.9), covers
    assert covers[3] < 0.98, covers


def test_clusters_are_those_of_what_the_kernel_reads():
    X, _, y = rough(2)
    beside = np.column_stack([X, 10 * np.random.default_rng(0).standard_normal((len(X), 5))])
    plain, among_others = (on_few_centres(centers="kmeans").fit(rows, y) for rows in (X, beside))
    uniform = on_few_centres().fit(X, y)
    assert among_others.kernel_missed_ == pytest.approx(plain.kernel_missed_, rel=0.3)
    assert plain.kernel_missed_ < 0.6 * uniform.kernel_missed_


def test_clusters_see_widths_circles_and_places_as_the_kernel_does():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-90, 90, 50), rng.uniform(-180, 180, 50), rng.uniform(0, 7, 50)])

    def distances(points):
        return np.linalg.norm(points[:, None] - points[None], axis=2)

    wide = Gaussian([2.0, 1.0]).on([2, 0]).coordinates(X)
    assert_allclose(distances(wide), distances(X[:, [2, 0]] / [2.0, 1.0]), atol=1e-12)
    for kernel in (
        Sphere(Gaussian(0.5)).on([0, 1]),
        Gaussian(0.5).on([0]),
        Rotated(Gaussian(0.5), 30.0, 0.2).on([0, 2]),
    ):
        expected = kernel(X)
        assert_allclose(np.exp(-(distances(kernel.coordinates(X)) ** 2) / 2), expected, atol=1e-12)
    both = (Gaussian(0.5).on([0]) * Matern(3.0).on([2])).coordinates(X)
    assert_allclose(distances(both), distances(X[:, [0, 2]] / [0.5, 3.0]), atol=1e-12)
    sparse_rows = (Gaussian(0.5).on([0]) * Matern(3.0).on([2])).coordinates(sparse.csr_matrix(X))
    assert_allclose(sparse_rows.toarray(), both)


@pytest.mark.filterwarnings("ignore:rounding may move predictions")
@pytest.mark.parametrize("by", ["gcv", "reml", "holdout"])
def test_single_precision_chooses_no_regularization_that_it_does_not_resolve(by):
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(800, 3))
    y = np.sin(8 * points[:, 0]) * points[:, 1] + 1e-3 * rng.standard_normal(800)
    single = {"kernel": Gaussian(1.0), "regularization": by, "n_centers": 150, "precision": "single"}
    assert model(**{**single, "precision": "double"}).fit(points, y).regularization_ < 1e-9
    for scale in (1.0, 100.0):
        with pytest.warns(
            PrecisionWarning, match=f"'{by}' asks for less regularization than {1e-7 * scale:.3g}"
        ):
            fitted = model(**{**single, "kernel": scale * Gaussian(1.0)}).fit(points, y)
        assert fitted.regularization_ == pytest.approx(1e-7 * scale)
