"""Counts and positive values: optimality, SciPy, scikit-learn, statsmodels, R's glm and mgcv, refits."""

import numpy as np
import pandas as pd
import pytest
import reference
from grls import GRRegressor
from grls._models import families, smooth_machine
from grls._models.family_loss import FamilyLoss
from grls._solvers.kernel_problem import KernelProblem
from grls.exceptions import DependentFeaturesWarning
from grls.kernels import Gaussian, Linear, Matern
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import GridSearchCV

LOSSES = ["poisson", "gamma", "negative_binomial"]


def data(loss, m=60, d=2, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    mu = scale * np.exp(0.8 + 0.5 * X[:, 0] + np.sin(2 * X[:, -1]) / 2)
    if loss == "poisson":
        return X, rng.poisson(mu).astype(float)
    if loss == "gamma":
        return X, rng.gamma(4.0, mu / 4.0)
    return X, rng.poisson(rng.gamma(2.0, mu / 2.0)).astype(float)


def parts(model, X):
    """Kernel matrix and features at the training points."""
    T = np.empty((len(X), 0)) if model.features_ is None else np.asarray(model.features_.transform(X))
    return model.kernel_.matrix(model.X_fit_, model.X_fit_), T


def regressor(loss, kernel=None, **options):
    kernel = Gaussian(1.0) if kernel is None else kernel
    return GRRegressor(kernel, **{"loss": loss, "regularization": 1e-2, "tol": 1e-8, **options})


# The minimum.


@given(
    st.sampled_from(LOSSES),
    st.integers(12, 50),
    st.integers(0, 10**6),
    st.sampled_from([1.0, 1e-2, 1e-4]),
    st.sampled_from([None, "constant", "linear"]),
    st.booleans(),
)
def test_the_solution_satisfies_the_optimality_conditions(loss, m, seed, gamma, features, weighted):
    X, y = data(loss, m, seed=seed)
    y[y == 0] = 1.0  # features alone may send rows of zeros to minus infinity
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.5, 2, m) if weighted else np.ones(m)
    offset = rng.normal(size=m)
    model = regressor(loss, features=features, regularization=gamma, tol=1e-10, dispersion=0.4)
    model.fit(X, y, s if weighted else None, offset=offset)
    Phi, T = parts(model, X)
    c, beta = model.dual_coef_, model.feature_coef_
    eta = Phi @ c + T @ beta + offset
    assert_allclose(model.linear_predictor(X, offset=offset), eta, atol=1e-8)
    slopes = reference.family_slopes(loss, y, np.exp(eta), 0.4)
    size = max(1, np.abs(slopes).max())
    assert_allclose(2 * gamma * s.sum() * c, s * slopes, atol=1e-5 * size)
    assert_allclose(T.T @ c, 0, atol=1e-7 * max(1, np.abs(c).max()))
    expected = reference.family_objective(loss, Phi, T, y, gamma, c, beta, s, offset, 0.4)
    assert_allclose(model.objective_[0], expected, rtol=1e-9, atol=1e-12)


def test_responses_are_logarithms_of_what_lies_between_a_row_and_the_mean():
    family, s, hours = families.FAMILIES["poisson"], np.array([1.0, 2.0, 1.0]), np.array([1.0, 2.0, 4.0])

    def responses(y):
        return FamilyLoss(None, family, y[:, None], np.log(hours), np.ones(1), s, s).working_responses()

    assert_allclose(responses(3.0 * hours), np.full((3, 1), np.log(3.0)))
    found = np.exp(responses(np.array([0.0, 8.0, 2.0]))[:, 0])  # a rate of 18 / 9 on average
    assert_allclose(found, [1.0, 3.0, 1.25])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("features", [None, "linear"])
def test_scipy_finds_no_lower_objective(loss, features):
    X, y = data(loss, 25)
    gamma = 1e-2
    model = regressor(loss, features=features, regularization=gamma, dispersion=0.5).fit(X, y)
    Phi, T = parts(model, X)
    N = reference.null_space(T)
    n = N.shape[1]

    def objective(v):
        return reference.family_objective(loss, Phi, T, y, gamma, N @ v[:n], v[n:], alpha=0.5)

    start = np.zeros(n + T.shape[1])
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    assert model.objective_[0] <= found.fun + 1e-9
    assert_allclose(model.objective_[0], found.fun, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_derivatives_are_those_of_the_loss(loss):
    _, y = data(loss, 40)
    eta = np.linspace(-6, 6, 40)
    family, step = families.FAMILIES[loss], 1e-5
    for a in (1e-6, 0.5, 20.0):
        rows = families.FamilyRows(family, y, np.zeros(40), a)
        assert_allclose(
            rows.values(eta), reference.unit_deviance(loss, y, np.exp(eta), a) / 2, rtol=1e-8, atol=1e-8
        )
        slopes = -(rows.values(eta + step) - rows.values(eta - step)) / (2 * step)
        assert_allclose(rows.slopes(eta), slopes, rtol=1e-5, atol=1e-5)
        curvatures = -(rows.slopes(eta + step) - rows.slopes(eta - step)) / (2 * step)
        assert_allclose(rows.curvature(eta), curvatures, rtol=1e-5, atol=1e-6)
        # On average over y the curvature is the information: linear in y, so at y = μ.
        expected = families.FamilyRows(family, np.exp(eta), np.zeros(40), a).curvature(eta)
        assert_allclose(family.information(np.exp(eta), a), expected)


# Peers.


@pytest.mark.parametrize(("loss", "peer"), [("poisson", PoissonRegressor), ("gamma", GammaRegressor)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_is_scikit_learns(loss, peer, weighted):
    X, y = data(loss, 150, d=4)
    s = np.random.default_rng(1).uniform(0.5, 3, 150) if weighted else None
    gamma = 1e-2
    model = regressor(loss, "linear", regularization=gamma).fit(X, y, s)
    other = peer(alpha=2 * gamma, tol=1e-10, max_iter=10_000, solver="newton-cholesky").fit(X, y, s)
    assert_allclose(model.X_fit_.T @ model.dual_coef_, other.coef_, atol=1e-6)
    assert_allclose(model.predict(X), other.predict(X), rtol=1e-6)
    assert_allclose(model.score(X, y, s), other.score(X, y, s), rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_features_alone_are_the_generalised_linear_model_of_statsmodels(loss):
    api = pytest.importorskip("statsmodels.api")
    X, y = data(loss, 120)
    offset = 0.3 * X[:, 0]
    model = regressor(loss, features="linear", regularization=1e9, dispersion="auto", tol=1e-9)
    model.fit(X, y, offset=offset)
    family = {
        "poisson": lambda: api.families.Poisson(),
        "gamma": lambda: api.families.Gamma(api.families.links.Log()),
        "negative_binomial": lambda: api.families.NegativeBinomial(alpha=model.dispersion_),
    }[loss]()
    peer = api.GLM(y, api.add_constant(X), family=family, offset=offset).fit(tol=1e-13, maxiter=200)
    assert_allclose(model.feature_coef_, peer.params, rtol=1e-6, atol=1e-8)
    assert_allclose(model.feature_coef_std_, peer.bse, rtol=1e-6)
    summary = model.summary()
    assert_allclose(summary.deviance, peer.deviance, rtol=1e-8)
    assert_allclose(summary.null_deviance, peer.null_deviance, rtol=1e-6)
    assert_allclose(summary.pearson, peer.pearson_chi2, rtol=1e-6)
    assert_allclose(summary.log_likelihood, peer.llf, rtol=1e-8)
    assert_allclose(summary.coefficients["p"], peer.pvalues, rtol=1e-4)
    assert_allclose(summary.edf, 3, rtol=1e-6)


# The same numbers in R, for the peers below:
#   x <- (0:99)/99*10; y <- c(4,2,3,7)[(0:99 %% 4) + 1] + round(6*(1+sin(x))); e <- 1 + (0:99 %% 3)
#   yn <- c(0,9,3,1)[(0:99 %% 4) + 1] + round(6*(1+sin(x)))
_I = np.arange(100)
GRID = _I[:, None] / 99 * 10
COUNTS = np.array([4.0, 2, 3, 7])[_I % 4] + np.round(6 * (1 + np.sin(GRID[:, 0])))
SPREAD = np.array([0.0, 9, 3, 1])[_I % 4] + np.round(6 * (1 + np.sin(GRID[:, 0])))
EXPOSURE = 1.0 + _I % 3


def test_features_alone_are_rs_glm():
    # R 4.2.2: f <- glm(y ~ x, family=poisson, offset=log(e)); coef(f); summary(f)$coefficients[, 2]
    #          deviance(f); f$null.deviance; logLik(f); AIC(f)
    model = regressor("poisson", features="linear", regularization=1e9).fit(GRID, COUNTS, exposure=EXPOSURE)
    summary = model.summary()
    assert_allclose(model.feature_coef_, [1.758770735, -8.580911994e-03], rtol=1e-6)
    assert_allclose(model.feature_coef_std_, [5.932836645e-02, 1.036265544e-02], rtol=1e-6)
    got = [summary.deviance, summary.null_deviance, summary.log_likelihood, summary.aic]
    assert_allclose(got, [415.9519822, 416.6377944, -415.6316249, 835.2632498], rtol=1e-6)
    # f <- glm(y ~ x, family=Gamma(link="log"), control=glm.control(epsilon=1e-15, maxit=100)); …
    # summary(f)$dispersion beside them
    model = regressor("gamma", features="linear", regularization=1e9).fit(GRID, COUNTS)
    summary = model.summary()
    assert_allclose(model.feature_coef_, [2.437218968625, -0.006638409056], rtol=1e-6)
    assert_allclose(model.feature_coef_std_, [0.079786308029, 0.013784628100], rtol=1e-6)
    got = [model.dispersion_, summary.deviance, summary.null_deviance]
    assert_allclose(got, [0.161545565287, 21.692627880395, 21.734992555755], rtol=1e-6)


def test_the_dispersion_of_features_alone_is_that_of_glm_nb():
    # R 4.2.2, MASS: f <- glm.nb(yn ~ x, control=glm.control(epsilon=1e-14, maxit=200)); coef(f); f$theta
    #                sqrt(diag(vcov(f))); deviance(f); logLik(f); f$null.deviance
    theta = 4.334785508
    model = regressor("negative_binomial", features="linear", regularization=1e9, dispersion=1 / theta)
    summary = model.fit(GRID, SPREAD).summary()
    assert_allclose(model.feature_coef_, [2.378870404, -9.033534633e-03], rtol=1e-5)
    assert_allclose(model.feature_coef_std_, [0.1132455816, 0.01963214036], rtol=1e-5)
    got = [summary.deviance, summary.log_likelihood, summary.null_deviance]
    assert_allclose(got, [114.1471590, -313.1322572, 114.3797939], rtol=1e-5)


def test_the_dispersion_maximises_the_adjusted_profile_likelihood():
    # Cox and Reid (1987): the log-likelihood less half the log-determinant of the information of the means.
    model = regressor("negative_binomial", features="linear", regularization=1e9).fit(GRID, SPREAD)
    mu, T = model.predict(GRID), np.column_stack([np.ones(len(GRID)), GRID])

    def adjusted(a):
        density = stats.nbinom(1 / a, 1 / (1 + a * mu)).logpmf(SPREAD).sum()
        return density - 0.5 * np.linalg.slogdet(T.T @ ((mu / (1 + a * mu))[:, None] * T))[1]

    a, h = model.dispersion_, 1e-4
    slope = (adjusted(a * (1 + h)) - adjusted(a * (1 - h))) / (2 * h)
    curvature = (adjusted(a * (1 + h)) - 2 * adjusted(a) + adjusted(a * (1 - h))) / h**2
    assert abs(slope / curvature) < 1e-4
    assert a > 1 / 4.334785508  # that of the plain likelihood, which is too small


@pytest.mark.slow
def test_the_dispersion_is_right_on_average():
    found, truth = [], 0.685
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(80, 4))
        mu = np.exp(1 + rows @ [0.5, -0.4, 0.3, 0.2])
        counts = rng.poisson(rng.gamma(1 / truth, truth * mu))
        found.append(regressor("negative_binomial", features="linear", regularization=1e6).fit(rows, counts))
    found = np.array([model.dispersion_ for model in found])
    assert abs(found.mean() - truth) < 3 * found.std() / np.sqrt(60)


def test_a_kernel_part_is_the_penalised_model_of_mgcv():
    # R 4.2.2, mgcv 1.8-41:
    #   K <- exp(-outer(x,x,"-")^2/(2*1.5^2)); ev <- eigen(K, symmetric=TRUE); k <- 40
    #   Z <- ev$vectors[,1:k] %*% diag(sqrt(ev$values[1:k])); P <- list(Z=list(diag(k), sp=2*0.01*100))
    #   f <- gam(y ~ 1 + Z + offset(log(e)), family=poisson, paraPen=P, control=gam.control(epsilon=1e-13))
    #   c(deviance(f), sum(f$edf), coef(f)[1], fitted(f)[c(1,50,100)]); predict(f, se.fit=TRUE)$se.fit
    some = [0, 49, 99]
    model = regressor("poisson", Gaussian(1.5)).fit(GRID, COUNTS, exposure=EXPOSURE)
    summary = model.summary()
    eta, std = model.linear_predictor(GRID, return_std=True, exposure=EXPOSURE)
    assert_allclose([summary.deviance, summary.edf], [261.73512477166, 7.84743301134], rtol=1e-6)
    assert_allclose(model.feature_coef_, 1.58397707227, rtol=1e-6)
    assert_allclose(np.exp(eta[some]), [5.69772183423, 4.62316237638, 4.13370209301], rtol=1e-6)
    assert_allclose(std[some], [0.1476160306, 0.1096395456, 0.1615568837], rtol=1e-5)
    #   f <- gam(y ~ 1 + Z, family=Gamma(link="log"), paraPen=P, …); f$sig2 beside them
    model = regressor("gamma", Gaussian(1.5)).fit(GRID, COUNTS)
    summary = model.summary()
    std = model.linear_predictor(GRID, return_std=True)[1]
    got = [summary.deviance, summary.edf, model.dispersion_, model.feature_coef_[0]]
    assert_allclose(got, [5.9790076123765, 5.5213512557906, 0.0568864024434, 2.2879598749217], rtol=1e-5)
    fitted = [11.3358030498047, 5.1108459073808, 9.0343719450664]
    assert_allclose(model.predict(GRID)[some], fitted, rtol=1e-6)
    assert_allclose(std[some], [0.08177305082, 0.05303404067, 0.08177305082], rtol=1e-5)
    #   f <- gam(y ~ 1 + Z, family=negbin(5), paraPen=P, …)
    model = regressor("negative_binomial", Gaussian(1.5), dispersion=0.2).fit(GRID, COUNTS)
    summary = model.summary()
    got = [summary.deviance, model.feature_coef_[0], *model.predict(GRID)[some]]
    assert_allclose(
        got, [15.20238472913, 2.25703317160, 10.82855610502, 4.74605289442, 8.35229484644], rtol=1e-6
    )
    assert_allclose(summary.edf, 6.80011742809, rtol=1e-5)


def test_the_score_is_scikit_learns_share_of_the_deviance():
    for loss, power in (("poisson", 1), ("gamma", 2)):
        X, y = data(loss, 50)
        model = regressor(loss).fit(X, y)
        assert_allclose(model.score(X, y), d2_tweedie_score(y, model.predict(X), power=power))


# γ by rows left out.


def refits(model, X, y, weights, offset):
    """The linear predictor at each row by the model without it; γΣs and α are kept."""
    out = []
    for i in range(len(y)):
        left = weights.copy()
        left[i] = 0
        again = clone(model).set_params(
            regularization=model.regularization_ * weights.sum() / left.sum(), kernel=model.kernel_, tol=1e-8
        )
        if model.loss == "negative_binomial":
            again.set_params(dispersion=model.dispersion_)
        again.fit(X, y, left, offset=offset)
        out.append(again.linear_predictor(X[i : i + 1])[0])
    return np.array(out) + offset


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_left_out_are_as_by_refits(loss, weighted):
    X, y = data(loss, 50, scale=3.0)
    rng = np.random.default_rng(2)
    s = rng.integers(1, 4, 50).astype(float) if weighted else np.ones(50)
    offset = rng.normal(size=50) / 3
    model = regressor(loss, features="linear", regularization="loo", regularization_grid=[0.1])
    model.fit(X, y, s, offset=offset)
    assert_allclose(model.regularization_, 0.1)
    expected = refits(model, X, y, s, offset)
    assert np.corrcoef(np.log(model.loo_predictions_), expected)[0, 1] > 0.999
    alpha = np.atleast_1d(model.dispersion_)[0]
    by_refits = np.average(reference.unit_deviance(loss, y, np.exp(expected), alpha), weights=s)
    assert_allclose(model.loo_deviance_, by_refits, rtol=0.01)
    own = np.average(reference.unit_deviance(loss, y, model.loo_predictions_, alpha), weights=s)
    assert_allclose(model.loo_deviance_, own)
    # Without the model's own rows the deviance is larger than with them.
    assert model.loo_deviance_ > model.summary().deviance / s.sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("gamma", [1e-2, 1e-4])
def test_rows_left_out_are_where_the_loss_without_them_is_smallest_along_a_newton_step(loss, gamma):
    X, y = data(loss, 30)
    model = regressor(
        loss, features="linear", regularization="loo", regularization_grid=[gamma], dispersion=0.7, tol=1e-8
    ).fit(X, y)
    Phi, T = parts(model, X)
    coefficients = model.dual_coef_, model.feature_coef_
    expected = reference.leave_one_out_along_steps(loss, y, Phi, T, *coefficients, 2 * gamma * 30, 0.7)
    # Moves of less than 0.01 are Newton's.
    assert_allclose(np.log(model.loo_predictions_), expected, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_curve_is_that_of_refits(loss):
    X, y = data(loss, 40, scale=3.0)
    grid, offset = [1e-3, 1e-2, 1e-1, 1.0], np.zeros(40)
    given = {"dispersion": 0.7} if loss == "negative_binomial" else {}
    model = GRRegressor(
        Gaussian(1.0), loss=loss, regularization="loo", regularization_grid=grid, **given
    ).fit(X, y)
    curve = []
    for gamma in grid:
        one = clone(model).set_params(regularization_grid=[gamma]).fit(X, y)
        f = refits(one, X, y, np.ones(40), offset)
        curve.append(reference.unit_deviance(loss, y, np.exp(f), 0.7).mean())
    assert_array_equal(model.regularization_path_, grid)
    assert_allclose(model.criterion_path_, curve, rtol=0.02)
    assert model.regularization_ == grid[int(np.argmin(curve))]


@pytest.mark.slow
def test_rare_counts_left_out_are_as_by_refits():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (150, 1))
    y = rng.poisson(np.exp(-2 + np.sin(X[:, 0])))
    offset = np.zeros(150)
    for gamma, rtol in ((1e-2, 1e-3), (1e-3, 5e-3), (1e-4, 0.05)):  # a Newton step: .0045, .032, .10
        model = GRRegressor(
            Gaussian(0.5), loss="poisson", regularization="loo", regularization_grid=[gamma]
        ).fit(X, y)
        f = refits(model, X, y, np.ones(150), offset)
        by_refits = reference.unit_deviance("poisson", y, np.exp(f), 1.0).mean()
        assert_allclose(model.loo_deviance_, by_refits, rtol=rtol)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_choice_is_the_best_of_the_curve_that_is_kept(loss):
    x = np.linspace(0, 10, 120)[:, None]
    rng = np.random.default_rng(0)
    mu = np.exp(1.5 + np.sin(2 * x[:, 0]))
    y = {
        "poisson": lambda: rng.poisson(mu),
        "gamma": lambda: rng.gamma(5, mu / 5),
        "negative_binomial": lambda: rng.poisson(rng.gamma(5, mu / 5)),
    }[loss]()
    model = GRRegressor(Gaussian(1.0), loss=loss).fit(x, y)
    best = model.criterion_path_.argmin()
    assert model.regularization_ == model.regularization_path_[best]
    assert 0 < best < len(model.criterion_path_) - 1
    assert np.mean(np.abs(np.log(model.predict(x) / mu))) < 0.2
    assert 0.4 < model.loo_score_ < model.score(x, y)
    named = GRRegressor(Gaussian(1.0), loss=loss, regularization="loo").fit(x, y)
    assert_array_equal(named.predict(x), model.predict(x))
    again = model.set_params(regularization=1e-2).fit(x, y)
    for name in (
        "regularization_path_",
        "criterion_path_",
        "loo_predictions_",
        "loo_deviance_",
        "loo_score_",
    ):
        assert not hasattr(again, name)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_of_weights_is_without_effect_on_the_choice(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (50, 2))
    y = rng.poisson(np.exp(1 + np.sin(X[:, 0]))) + (0.5 if loss == "gamma" else 0.0)
    weights = rng.uniform(1, 4, 50)
    model = regressor(loss, Matern(1.0), regularization="auto")
    chosen = model.fit(X, y, weights).regularization_
    assert_allclose(model.fit(X, y, 30 * weights).regularization_, chosen, rtol=1e-3)
    at_two_points = np.repeat(X[:25], 2, axis=0)  # whose rows differ: there weights count rows
    with pytest.warns(UserWarning, match="each counts as many as its sample_weight says"):
        model.fit(at_two_points, y, 30 * weights)


def test_of_many_rows_some_choose(monkeypatch):
    X, y = data("poisson", 200)
    monkeypatch.setattr(smooth_machine, "WORK_OF_CHOICE", 80.0**3)
    model = GRRegressor(Gaussian(1.0), loss="poisson").fit(X, y)
    assert np.isfinite(model.loo_predictions_).all()
    monkeypatch.setattr(smooth_machine, "WORK_OF_SCORE", 0.0)
    few = GRRegressor(Gaussian(1.0), loss="poisson").fit(X, y)
    assert few.regularization_ == model.regularization_
    assert 60 <= np.isfinite(few.loo_predictions_).sum() <= 80
    assert abs(few.loo_score_ - model.loo_score_) < 0.2


def test_the_kernel_may_be_left_to_the_data():
    x = np.linspace(0, 10, 150)[:, None]
    mu = np.exp(1 + np.sin(x[:, 0]))
    rng = np.random.default_rng(0)
    hours = rng.uniform(0.5, 3, 150)
    model = GRRegressor(loss="poisson").fit(x, rng.poisson(mu * hours), exposure=hours)
    assert np.mean(np.abs(np.log(model.predict(x) / mu))) < 0.12
    fixed = GRRegressor(loss="poisson", regularization=1e-2).fit(x, rng.poisson(mu * hours), exposure=hours)
    assert np.mean(np.abs(np.log(fixed.predict(x) / mu))) < 0.2


# Weights, offsets, invariances.


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularization", [1e-2, "loo"])
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(loss, regularization):
    X, y = data(loss, 40)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    offset = X[:, 1] / 2
    model = regressor(loss, features="linear", regularization=regularization)
    weighted = model.fit(X, y, counts, offset=offset)
    rows = np.repeat(np.arange(40), counts)
    repeated = clone(model).fit(X[rows], y[rows], offset=offset[rows])
    assert_allclose(repeated.predict(X), weighted.predict(X), rtol=1e-4)
    assert_allclose(repeated.feature_coef_std_, weighted.feature_coef_std_, rtol=1e-3)
    assert_allclose(repeated.dispersion_, weighted.dispersion_, rtol=1e-3)
    assert_allclose(repeated.summary().edf, weighted.summary().edf, rtol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_exposure_is_an_offset_and_predictions_are_for_one_unit_of_it(loss):
    X, y = data(loss, 50)
    hours = np.random.default_rng(0).uniform(0.5, 4, 50)
    model = regressor(loss).fit(X, y, exposure=hours)
    other = regressor(loss).fit(X, y, offset=np.log(hours))
    assert_array_equal(model.predict(X), other.predict(X))
    assert_allclose(model.predict(X, exposure=hours), hours * model.predict(X))
    assert_allclose(model.predict(X, exposure=2.0, offset=np.log(3.0)), 6 * model.predict(X))
    # In minutes the same, but for the constant.
    minutes = regressor(loss).fit(X, y, exposure=60 * hours)
    assert_allclose(60 * minutes.predict(X), model.predict(X), rtol=1e-6)
    assert_allclose(minutes.feature_coef_, model.feature_coef_ - np.log(60), rtol=1e-6)
    assert_allclose(model.score(X, y, exposure=hours), other.score(X, y, offset=np.log(hours)))


@pytest.mark.parametrize("loss", LOSSES)
def test_order_and_recombinations_of_features_do_not_matter(loss):
    X, y = data(loss, 50)
    order = np.random.default_rng(0).permutation(50)

    def features(A):
        return lambda Z: np.column_stack([np.ones(len(Z)), Z]) @ A

    model = regressor(loss, features=features(np.eye(3))).fit(X, y)
    shuffled = regressor(loss, features=features(np.eye(3))).fit(X[order], y[order])
    assert_allclose(shuffled.predict(X), model.predict(X), rtol=1e-6)
    A = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0], [3.0, 0.0, 1.0]])
    mixed = regressor(loss, features=features(A)).fit(X, y)
    assert_allclose(mixed.predict(X), model.predict(X), rtol=1e-6)
    assert_allclose(A @ mixed.feature_coef_, model.feature_coef_, rtol=1e-4, atol=1e-5)


def test_the_unit_of_positive_values_does_not_matter():
    X, y = data("gamma", 50)
    for regularization in (1e-2, "auto"):
        model = regressor("gamma", regularization=regularization).fit(X, y)
        other = regressor("gamma", regularization=regularization).fit(X, 1e6 * y)
        assert_allclose(other.predict(X), 1e6 * model.predict(X), rtol=1e-4)
        assert_allclose(other.dispersion_, model.dispersion_, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1e9])
def test_rates_of_any_size_are_fitted(scale):
    X, y = data("poisson", 60)
    model = regressor("poisson", regularization=1e-2 * scale).fit(X, scale * y)
    same = regressor("poisson", regularization=1e-2).fit(X, y)
    assert_allclose(model.predict(X), scale * same.predict(X), rtol=1e-5)
    chosen = GRRegressor(Gaussian(1.0), loss="poisson").fit(X, scale * y)
    expected = GRRegressor(Gaussian(1.0), loss="poisson").fit(X, y)
    assert_allclose(chosen.predict(X), scale * expected.predict(X), rtol=1e-2)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_in_the_span_of_the_features_is_reproduced(loss):
    X, _ = data(loss, 40)
    y = np.exp(1 + X @ [0.5, -0.3])
    model = regressor(loss, features="linear", regularization=1e-3, dispersion=0.5).fit(X, y)
    assert_allclose(model.predict(X), y, rtol=1e-4)
    assert_allclose(model.feature_coef_, [1, 0.5, -0.3], atol=1e-4)
    assert_allclose(model.dual_coef_, 0, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_feature_variance_is_a_kernel_of_the_features(loss):
    X, y = data(loss, 50)
    tau = 0.7
    model = regressor(loss, features="linear", feature_variance=tau, dispersion=0.5).fit(X, y)
    Phi, T = parts(model, X)
    K = Phi + reference.feature_kernel(T, T, T, tau, np.ones(50))
    plain = regressor(loss, "precomputed", dispersion=0.5).fit(K, y)
    assert_allclose(model.predict(X), plain.predict(K), rtol=1e-6)
    eta = model.linear_predictor(X)
    assert_allclose(model.summary().edf, plain.summary().edf, rtol=1e-6)
    features, learnt = model.decompose(X)
    assert_allclose(features + learnt, eta, atol=1e-8)
    assert_allclose(learnt, Phi @ plain.dual_coef_, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_several_outputs_are_fitted_side_by_side(loss):
    X, y = data(loss, 50)
    Y = np.column_stack([y, np.roll(y, 7) + 1])
    model = regressor(loss, features="linear").fit(X, Y)
    for p in range(2):
        one = regressor(loss, features="linear").fit(X, Y[:, p])
        assert_allclose(model.predict(X)[:, p], one.predict(X), rtol=1e-6)
        assert_allclose(model.dispersion_[p], one.dispersion_, rtol=1e-5)
        assert_allclose(model.feature_coef_std_[:, p], one.feature_coef_std_, rtol=1e-5)
        assert_allclose(model.summary(output=p).deviance, one.summary().deviance, rtol=1e-6)
        assert_allclose(model.predict_interval(X)[:, p], one.predict_interval(X), rtol=1e-5)
    assert_allclose(
        model.score(X, Y),
        np.mean([regressor(loss, features="linear").fit(X, c).score(X, c) for c in Y.T]),
        rtol=1e-6,
    )
    with pytest.raises(ValueError, match="the model has 2 outputs"):
        model.summary()
    with pytest.raises(ValueError, match="one of 0, 1"):
        model.summary(output=2)


def test_sparse_rows_and_data_frames_are_read():
    X, y = data("poisson", 50)
    model = regressor("poisson", features="linear").fit(X, y)
    assert_allclose(
        regressor("poisson", features="linear").fit(sparse.csr_matrix(X), y).predict(X), model.predict(X)
    )
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = regressor("poisson", features="linear").fit(frame, pd.Series(y))
    assert named.feature_names_free_ == ["1", "a", "b"]
    assert_allclose(named.predict(frame), model.predict(X))


def test_a_grid_search_goes_over_the_width():
    X, y = data("poisson", 60)
    search = GridSearchCV(
        GRRegressor(Gaussian(), loss="poisson", regularization=1e-2), {"kernel__sigma": [0.01, 1]}
    )
    assert search.fit(X, y).best_params_ == {"kernel__sigma": 1}


# How sure it is.


@pytest.mark.parametrize("loss", LOSSES)
def test_standard_deviations_are_those_of_the_dense_equations(loss):
    X, y = data(loss, 40)
    Z = np.random.default_rng(1).normal(size=(7, 2))
    gamma = 1e-2
    model = regressor(loss, features="linear", regularization=gamma).fit(X, y)
    Phi, T = parts(model, X)
    mu = model.predict(X)
    W = families.FAMILIES[loss].information(mu, np.atleast_1d(model.dispersion_)[0])[:, None, None]
    cross, prior = model.kernel_.matrix(X, Z), np.ones(7)
    T_new = np.asarray(model.features_.transform(Z))
    expected = reference.laplace_covariance(Phi, cross, prior, T, T_new, W, 2 * gamma * 40)[:, 0, 0]
    expected = expected * (model.dispersion_ if loss == "gamma" else 1)
    eta, std = model.linear_predictor(Z, return_std=True)
    assert_allclose(std**2, expected, rtol=1e-6)
    mean, of_mean = model.predict(Z, return_std=True)
    assert_allclose(mean, np.exp(eta))
    assert_allclose(of_mean, mean * std)
    away = stats.norm.ppf(0.95) * std
    assert_allclose(
        model.predict_interval(Z, 0.1, with_noise=False),
        np.exp(eta[:, None] + np.outer(away, [-1, 1]).reshape(7, 2)),
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_bands_of_observations_are_quantiles_and_never_negative(loss):
    X, y = data(loss, 60, scale=0.3)
    model = regressor(loss).fit(X, y)
    Z = np.random.default_rng(1).normal(size=(5, 2))
    band = model.predict_interval(Z, 0.1)
    assert band.min() >= 0
    assert np.all(band[:, 0] <= band[:, 1])
    eta, std = model.linear_predictor(Z, return_std=True)
    rng = np.random.default_rng(0)
    mu = np.exp(eta + std * rng.standard_normal((200_000, 5)))
    a = model.dispersion_
    draws = {
        "poisson": lambda: rng.poisson(mu),
        "gamma": lambda: rng.gamma(1 / a, a * mu),
        "negative_binomial": lambda: rng.poisson(rng.gamma(1 / a, a * mu)),
    }[loss]()
    if loss == "gamma":
        assert_allclose(band.T, np.quantile(draws, [0.05, 0.95], axis=0), rtol=0.03)
        return
    assert_array_equal(band, np.round(band))
    for level, end in zip([0.05, 0.95], band.T, strict=True):
        assert np.all(np.mean(draws <= end, axis=0) >= level - 0.003)
        assert np.all(np.mean(draws <= end - 1, axis=0) < level + 0.003)


@pytest.mark.slow
def test_bands_cover_what_they_promise():
    x = np.linspace(0, 10, 300)[:, None]
    mu = np.exp(0.5 + np.sin(x[:, 0]))
    inside, observed = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        model = GRRegressor(Gaussian(1.5), loss="poisson").fit(x, rng.poisson(mu))
        low, high = model.predict_interval(x, 0.05, with_noise=False).T
        inside.append(np.mean((low <= mu) & (mu <= high)))
        low, high = model.predict_interval(x, 0.05).T
        new = rng.poisson(mu)
        observed.append(np.mean((low <= new) & (new <= high)))
    assert 0.85 < np.mean(inside) <= 1
    assert 0.94 < np.mean(observed) < 0.995


def test_a_dispersion_that_is_given_scales_the_variances_of_counts():
    X, y = data("poisson", 50)
    one, four = regressor("poisson").fit(X, y), regressor("poisson", dispersion=4.0).fit(X, y)
    assert_array_equal(one.predict(X), four.predict(X))
    assert (one.dispersion_, four.dispersion_) == (1.0, 4.0)
    assert_allclose(four.feature_coef_std_, 2 * one.feature_coef_std_)
    assert_allclose(four.linear_predictor(X, True)[1], 2 * one.linear_predictor(X, True)[1])


def test_counts_that_do_not_scatter_more_are_poisson():
    X, y = data("poisson", 80)
    y = np.round(np.exp(0.8 + 0.5 * X[:, 0]))  # less than Poisson
    model = regressor("negative_binomial").fit(X, y)
    assert model.dispersion_ < 1e-6
    assert_allclose(model.predict(X), regressor("poisson").fit(X, y).predict(X), rtol=1e-5)


def test_the_dispersion_is_that_of_the_model_and_of_its_likelihood():
    X, y = data("negative_binomial", 100, scale=4.0)
    model = regressor("negative_binomial").fit(X, y)
    mu = model.predict(X)

    def likelihood(a):
        return stats.nbinom(1 / a, 1 / (1 + a * mu)).logpmf(y).sum()

    assert_allclose(model.summary().log_likelihood, likelihood(model.dispersion_), rtol=1e-9)
    # The model is that of this dispersion.
    given = regressor("negative_binomial", dispersion=model.dispersion_).fit(X, y)
    assert_allclose(given.predict(X), mu, rtol=1e-5)


@pytest.mark.parametrize("value", [1.0, 3.0, 1e-5])
@pytest.mark.parametrize("features", ["constant", "linear"])
def test_values_that_do_not_scatter_have_bands_without_width_and_no_likelihood(value, features):
    X = data("gamma", 20)[0]
    model = regressor("gamma", features=features).fit(X, np.full(20, value))
    assert model.dispersion_ == 0
    assert_allclose(model.predict_interval(X, with_noise=True), value, rtol=1e-12)
    summary = model.summary()
    assert np.isnan(summary.log_likelihood)
    assert np.isnan(summary.aic)
    assert "no dispersion is left" in str(summary)


@pytest.mark.parametrize("dispersion", [0.5, 1e-3, 1.01e-4, 0.99e-4, 1e-7])
def test_the_gamma_density_keeps_its_digits(dispersion):
    mu = np.array([0.2, 1.0, 700.0])
    y = mu * (1 + np.sqrt(dispersion) * np.array([-0.4, 0.0, 1.3]))
    found = families.GAMMA.log_density(y, mu, 1.0, dispersion)
    expected = stats.gamma.logpdf(y, 1 / dispersion, scale=dispersion * mu)  # less exact the smaller it is
    assert_allclose(found, expected, rtol=1e-8, atol=1e-14 / dispersion)
    # Of far smaller ones it is the normal density, and differences have no digits left.
    y = mu * (1 + 1e-10 * np.array([-0.4, 0.0, 1.3]))
    found = families.GAMMA.log_density(y, mu, 1.0, 1e-20)
    assert_allclose(found, stats.norm.logpdf(y, mu, 1e-10 * mu), rtol=1e-5)


def test_a_summary_tells_the_fit():
    X, y = data("gamma", 60)
    model = regressor("gamma", features="linear", regularization="auto").fit(X, y)
    text = str(model.summary())
    for part in ("gamma", "dispersion", "deviance", "rows left out", "x0", "Pearson"):
        assert part in text
    frame = model.summary().coefficients.to_frame()
    assert list(frame.columns[:4]) == ["coefficient", "SE", "z", "p"]
    z = frame["coefficient"] / frame["SE"]
    assert_allclose(frame["z"], z)
    assert_allclose(frame["p"], 2 * stats.norm.sf(np.abs(z)))


def test_dependent_features_are_left_out_and_named():
    X, y = data("poisson", 40)
    model = regressor("poisson", features=lambda Z: np.column_stack([np.ones(len(Z)), Z, Z.sum(axis=1)]))
    with pytest.warns(DependentFeaturesWarning):
        model.fit(X, y)
    assert model.feature_support_.sum() == 3
    assert np.isnan(model.feature_coef_std_).sum() == 1
    plain = regressor("poisson", features="linear").fit(X, y)
    assert_allclose(model.predict(X), plain.predict(X), rtol=1e-6)


# What cannot be.


@pytest.mark.parametrize(
    ("loss", "change", "message"),
    [
        ("poisson", lambda y: y.__setitem__(3, -1), "not be negative .* row 3 has -1"),
        ("negative_binomial", lambda y: y.__setitem__(3, -2), "not be negative .* row 3 has -2"),
        ("gamma", lambda y: y.__setitem__(5, 0), "must be positive .* row 5 has 0"),
        ("poisson", lambda y: y.fill(0), "every value of y is zero"),
        ("negative_binomial", lambda y: y.fill(0), "every value of y is zero"),
        ("poisson", lambda y: y.__setitem__(0, np.inf), "infinity"),
    ],
)
def test_values_that_the_loss_does_not_have_are_refused(loss, change, message):
    X, y = data(loss, 20)
    y = y + 1
    change(y)
    with pytest.raises(ValueError, match=message):
        regressor(loss).fit(X, y)


def test_offsets_and_exposures_that_cannot_be_are_refused():
    X, y = data("poisson", 20)
    zero = np.ones(20)
    zero[4] = 0
    model = regressor("poisson")
    with pytest.raises(ValueError, match="exposure must be positive, but row 4 has 0"):
        model.fit(X, y, exposure=zero)
    with pytest.raises(ValueError, match="each of the 20 rows"):
        model.fit(X, y, exposure=np.ones(3))
    with pytest.raises(ValueError, match="offset contains NaN"):
        model.fit(X, y, offset=np.full(20, np.nan))
    with pytest.raises(ValueError, match="change the unit of the exposure"):
        model.fit(X, y, exposure=np.full(20, 1e300))
    assert not hasattr(model, "dual_coef_")
    model.fit(X, y)
    with pytest.raises(ValueError, match="exposure must be positive"):
        model.predict(X, exposure=zero)
    with pytest.raises(ValueError, match="not be negative"):
        model.score(X, -y - 1)
    for alpha in (0.0, 1.0):
        with pytest.raises(ValueError, match="alpha must lie between"):
            model.predict_interval(X, alpha)


def test_parameters_of_the_other_losses_are_told_apart():
    X, y = data("poisson", 20)
    with pytest.raises(ValueError, match="'loo'"):
        regressor("poisson", regularization="cv").fit(X, y)
    with pytest.raises(ValueError, match="dispersion"):
        regressor("gamma", dispersion="pearson").fit(X, y + 1)
    with pytest.raises(ValueError, match="dispersion"):
        regressor("negative_binomial", dispersion=0.0).fit(X, y)
    huber = GRRegressor(Gaussian(1.0), regularization=1e-2)
    with pytest.raises(ValueError, match="offset and exposure are for 'poisson'"):
        huber.fit(X, y, exposure=np.ones(20))
    huber.fit(X, y)
    with pytest.raises(ValueError, match="return_std, offset and exposure are for"):
        huber.predict(X, return_std=True)
    for method in ("linear_predictor", "predict_interval", "summary"):
        with pytest.raises(AttributeError, match=method) as raised:
            getattr(huber, method)
        assert "this is for loss='poisson'" in str(raised.value.__cause__)
    # Nothing of the other loss is left behind.
    model = GRRegressor(Gaussian(1.0), loss="poisson").fit(X, y)
    model.set_params(loss="huber", regularization=1e-2).fit(X, y)
    for name in ("dispersion_", "loo_deviance_", "feature_coef_std_", "criterion_path_"):
        assert not hasattr(model, name)
    model.set_params(loss="poisson").fit(X, y)
    assert not hasattr(model, "delta_")
    with pytest.warns(DataConversionWarning):
        model.fit(X, y[:, None])


def test_a_group_without_counts_has_no_finite_coefficient():
    X, y = data("poisson", 60)
    group = (np.arange(60) % 4 == 0).astype(float)
    y[group > 0] = 0
    y[group == 0] += 1
    X = np.column_stack([X, group])

    def features(Z):
        return np.column_stack([np.ones(len(Z)), Z[:, 2]])

    for regularization in (1e-2, "loo"):
        for loss in ("poisson", "negative_binomial"):
            with pytest.raises(ValueError, match="features alone send the means"):
                regressor(loss, features=features, regularization=regularization).fit(X, y)
    model = regressor("poisson", features=features, feature_variance=10.0).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert model.predict(X)[group > 0].max() < 0.5


def test_steps_too_long_for_the_exponential_are_halved():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    y = np.zeros(40)
    y[X[:, 0] > 1] = 1e12  # from e⁰ to e²⁷ within a width
    model = regressor("poisson", features=None, regularization=1e4).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert model.score(X, y) > 0.9
    with pytest.warns(ConvergenceWarning, match="Newton's method stopped after 1 steps"):
        regressor("poisson", features=None, regularization=1e4, max_iter=1).fit(X, y)
    far = regressor("poisson", features="linear").fit(*data("poisson", 40, 1))
    with pytest.warns(UserWarning, match="features are far outside"):
        assert np.isfinite(far.predict([[1e6]])).all()


def test_every_step_lowers_the_objective(monkeypatch):
    X, y = data("negative_binomial", 40, scale=50.0)
    from grls._solvers import newton

    values = []
    search = newton.line_search

    def watched(start, target, objective, value, slope):
        found = search(start, target, objective, value, slope)
        if found is not None:
            values.append((value, found[1]))
        return found

    monkeypatch.setattr(newton, "line_search", watched)
    regressor("negative_binomial", features=None, dispersion=0.3, regularization=1e-4).fit(X, y)
    assert values
    assert all(after <= before for before, after in values)


def test_an_interruption_leaves_the_model_as_it_was(monkeypatch):
    X, y = data("poisson", 40)
    model = regressor("poisson").fit(X, y)
    before = model.predict(X)
    solve, calls = KernelProblem.solve, []

    def interrupted(self, *args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(self, *args, **options)

    monkeypatch.setattr(KernelProblem, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y + 1)
    monkeypatch.undo()
    assert_array_equal(model.predict(X), before)


def test_a_kernel_that_is_not_definite_is_named():
    X, y = data("poisson", 40)
    from grls import NotPositiveDefiniteError
    from grls.kernels import Sigmoid

    with pytest.raises(NotPositiveDefiniteError, match="Sigmoid"):
        regressor("poisson", Sigmoid(1.0, -3.0), regularization=1e-9).fit(X, y)


def test_counts_by_a_linear_kernel_need_no_constant():
    X, y = data("poisson", 60, d=3)
    gamma = 1e-2
    model = regressor("poisson", Linear(), features=None, regularization=gamma).fit(X, y)
    peer = PoissonRegressor(alpha=2 * gamma, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_standard_deviations_of_the_parts_are_those_of_the_dense_equations(loss):
    X, y = data(loss, 30)
    gamma = 1e-2
    model = regressor(loss, kernel=Gaussian(1.0), features="linear", regularization=gamma, tol=1e-10)
    model.fit(X, y)
    new = X[:7] + 0.1
    told = model.decompose(new, return_std=True, groups={"slope": [1]})
    assert_allclose(told.features + told.learnt, model.linear_predictor(new), rtol=1e-10)
    # Rows tell η with variance 1/w, w the curvature of the loss that is expected.
    mean, scale = model.predict(X), model.dispersion_ if loss == "gamma" else 1.0
    w = {"poisson": mean, "gamma": np.ones(30), "negative_binomial": mean / (1 + model.dispersion_ * mean)}[
        loss
    ]
    kernel = model.kernel_
    V = kernel(X, X) / (2 * gamma * len(y)) + np.diag(1 / w)
    T, T_new = (np.column_stack([np.ones(len(Z)), Z]) for Z in (X, new))
    B = np.linalg.inv(V)
    covariance = np.linalg.inv(T.T @ B @ T)
    off = B - B @ T @ covariance @ T.T @ B
    k = kernel(new, X) / (2 * gamma * len(y))
    of_features = np.einsum("np,pq,nq->n", T_new, covariance, T_new)
    of_learnt = kernel.diagonal(new) / (2 * gamma * len(y)) - np.einsum("ni,ij,nj->n", k, off, k)
    assert_allclose(told.features_std, np.sqrt(scale * of_features), rtol=1e-5)
    assert_allclose(told.learnt_std, np.sqrt(scale * of_learnt), rtol=1e-5)
    slope = np.abs(T_new[:, 1]) * np.sqrt(scale * covariance[1, 1])
    assert_allclose(told.terms["slope"].std, slope, rtol=1e-5)


def test_parts_of_other_losses_have_no_variances():
    X, y = data("poisson", 20)
    with pytest.raises(ValueError, match="smooth loss"):
        GRRegressor("gaussian", regularization=0.1).fit(X, y).decompose(X, return_std=True)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_the_width_for_a_given_gamma_is_that_of_least_squares_as_curved_as_the_loss(weight, monkeypatch):
    """Counts of mean μ: Σ w μ (f - z)² / 2 + γ Σw |f|², so that the shift is 2γΣw ÷ μ."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.poisson(3.0, size=40).astype(float)
    asked, own = [], GRRegressor._smooth_shift

    def recorded(model, training):
        asked.append(own(model, training))
        return asked[-1]

    monkeypatch.setattr(GRRegressor, "_smooth_shift", recorded)
    model = GRRegressor("auto", loss="poisson", features="constant", regularization=0.01)
    model.fit(X, y, sample_weight=np.full(40, weight))
    assert_allclose(asked[0], 2 * 0.01 * 40 * weight / y.mean(), rtol=1e-6)
