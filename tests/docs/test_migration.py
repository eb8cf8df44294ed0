"""The conversions of docs/guide/migration.md: the same numbers give the same predictions and bands."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from grls import GRLSRegressor, SVMGBClassifier
from grls.kernels import (
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polyharmonic,
    Polynomial,
    RationalQuadratic,
    Spherical,
    ThinPlate,
)
from scipy.interpolate import RBFInterpolator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, (60, 2))
y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=60)
X_NEW = rng.uniform(0, 10, (20, 2))
CURVE = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)  # of the first column alone
SILL, RANGE, NUGGET = 1.3, 4.0, 0.1


def agree(model, mean, std=None, **options):
    found = model.predict(X_NEW, return_std=True, **options)
    assert np.allclose(found[0], mean, atol=1e-9)
    if std is not None:
        assert np.allclose(found[1], std, atol=1e-9)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"kernel": "rbf", "gamma": 0.3}, Gaussian.from_gamma(0.3)),
        ({"kernel": "laplacian", "gamma": 0.3}, Laplace.from_gamma(0.3)),
        ({"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.0}, Polynomial.from_gamma(0.3, 2, 1.0)),
    ],
    ids=lambda given: given.get("kernel") if isinstance(given, dict) else "",
)
def test_kernel_ridge_has_alpha_gamma_m(theirs, ours):
    peer = KernelRidge(alpha=0.5, **theirs).fit(X, y)
    agree(GRLSRegressor(ours, features=None, regularization=0.5 / 60).fit(X, y), peer.predict(X_NEW))


def test_the_interpolator_of_scipy_has_smoothing_gamma_m():
    peer = RBFInterpolator(X, y, smoothing=0.5, kernel="gaussian", epsilon=0.5, degree=1)
    kernel = Gaussian(1 / (0.5 * np.sqrt(2)))
    agree(GRLSRegressor(kernel, features="linear", regularization=0.5 / 60).fit(X, y), peer(X_NEW))
    peer = RBFInterpolator(X, y, smoothing=0.5, kernel="thin_plate_spline")
    agree(GRLSRegressor(ThinPlate(), features="linear", regularization=0.5 / 60).fit(X, y), peer(X_NEW))


def test_the_support_vector_machine_has_the_same_C():
    labels = y > np.median(y)
    peer = SVC(C=2.0, kernel="rbf", gamma=0.3, tol=1e-8).fit(X, labels)
    model = SVMGBClassifier(Gaussian.from_gamma(0.3), C=2.0, tol=1e-9).fit(X, labels)
    assert np.allclose(model.decision_function(X_NEW), peer.decision_function(X_NEW), atol=1e-4)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (gp.RBF(1.5), Gaussian(1.5)),
        (gp.RBF([1.5, 3.0]), Gaussian([1.5, 3.0])),
        (gp.Matern(1.5, nu=2.5), Matern(1.5, 2.5)),
        (gp.RationalQuadratic(1.5, alpha=0.7), RationalQuadratic(1.5, 0.7)),
        (gp.DotProduct(0.7), Linear() + 0.7**2),
    ],
    ids=repr,
)
def test_gaussian_processes_have_the_variances_of_their_kernels(theirs, ours):
    white = SILL * theirs + gp.WhiteKernel(NUGGET)
    mean, std = GaussianProcessRegressor(white, optimizer=None).fit(X, y).predict(X_NEW, return_std=True)
    model = GRLSRegressor(ours, features=None, kernel_variance=SILL, noise_variance=NUGGET).fit(X, y)
    agree(model, mean, std, with_noise=True)
    peer = GaussianProcessRegressor(SILL * theirs, alpha=NUGGET, optimizer=None).fit(X, y)
    agree(model, *peer.predict(X_NEW, return_std=True))


def test_a_periodic_kernel_of_one_column():
    x = X[:, :1]
    theirs = gp.ExpSineSquared(1.5, 3.0)
    assert np.allclose(Periodic(1.5, 3.0)(x), theirs(x))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("exponential", Laplace(RANGE / 3)),
        ("gaussian", Gaussian(4 / 7 * RANGE / np.sqrt(2))),
        ("spherical", Spherical(RANGE)),
    ],
)
def test_pykrige_has_sills_and_nuggets(theirs, ours):
    pykrige = pytest.importorskip("pykrige")
    given = {
        "variogram_model": theirs,
        "variogram_parameters": {"psill": SILL, "range": RANGE, "nugget": NUGGET},
    }
    believed = {"kernel_variance": SILL, "noise_variance": NUGGET}
    ordinary = pykrige.OrdinaryKriging(*X.T, y, **given)
    mean, variance = ordinary.execute("points", *X_NEW.T)
    agree(GRLSRegressor(ours, **believed).fit(X, y), mean, np.sqrt(variance), with_noise=True)
    universal = pykrige.UniversalKriging(*X.T, y, drift_terms=["regional_linear"], **given)
    mean, variance = universal.execute("points", *X_NEW.T)
    model = GRLSRegressor(ours, features="linear", **believed).fit(X, y)
    agree(model, mean, np.sqrt(variance), with_noise=True)


def by_column(kernel):
    return kernel(2.5).on([0]) * kernel(3.5).on([1])


@pytest.mark.parametrize("trend", ["constant", "linear"])
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("gauss", Gaussian([2.5, 3.5])),
        ("exp", Laplace([2.5, 3.5], norm="l1")),
        ("matern3_2", by_column(lambda width: Matern(width, 1.5))),
        ("matern5_2", by_column(lambda width: Matern(width, 2.5))),
    ],
)
def test_libkriging_multiplies_kernels_of_single_columns(theirs, ours, trend):
    pylibkriging = pytest.importorskip("pylibkriging")
    peer = pylibkriging.Kriging(theirs, "nugget")
    given = {"theta": np.array([[2.5, 3.5]]), "sigma2": SILL, "nugget": NUGGET}
    fixed = {f"is_{name}_estim": False for name in given}
    peer.fit(y, X, trend, False, "none", "LL", {**given, **fixed})
    mean, std = peer.predict(X_NEW, True, False, False)[:2]
    model = GRLSRegressor(ours, features=trend, kernel_variance=SILL, noise_variance=NUGGET).fit(X, y)
    agree(model, mean.ravel(), std.ravel(), with_noise=True)


R_PROGRAM = """
options(digits = 15)
suppressMessages({library(mgcv); library(gstat); library(sp)})
d <- read.csv(commandArgs(TRUE)[1]); q <- read.csv(commandArgs(TRUE)[2])
numbers <- function(name, v) cat(name, paste(format(v, digits = 15), collapse = " "), "\\n")
one <- gam(z ~ s(x0, bs = "tp", k = nrow(d)), data = d, method = "REML")
numbers("one", c(one$sp / one$smooth[[1]]$S.scale, fitted(one)))
two <- gam(y ~ s(x0, x1, bs = "tp", k = nrow(d)), data = d, method = "REML")
numbers("two", c(two$sp / two$smooth[[1]]$S.scale, fitted(two)))
numbers("gp", fitted(gam(z ~ s(x0, bs = "gp", k = nrow(d), m = c(3, 2)), data = d, method = "REML")))
coordinates(d) <- ~x0 + x1; coordinates(q) <- ~x0 + x1
for (k in c("Exp", "Gau", "Sph")) {
  r <- krige(y ~ x0 + x1, d, q, vgm(1.3, k, 3, 0.1), debug.level = 0)
  numbers(k, r$var1.pred); numbers(paste0(k, "var"), r$var1.var)
}
"""


@pytest.fixture(scope="module")
def figures_of_r(tmp_path_factory):
    folder = tmp_path_factory.mktemp("r")
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    for name, rows in (
        ("rows", np.column_stack([X, y, CURVE])[:40]),
        ("new", np.column_stack([X_NEW, X_NEW])),
    ):
        header = "x0,x1,y,z"
        np.savetxt(folder / name, rows, delimiter=",", header=header, comments="", fmt="%.17g")
    command = ["Rscript", "-e", R_PROGRAM, str(folder / "rows"), str(folder / "new")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"R lacks mgcv, gstat or sp: {json.dumps(ran.stderr[-200:])}")
    lines = [line.split() for line in ran.stdout.splitlines() if line.strip()]
    return {name: np.array(values, dtype=float) for name, *values in lines}


@pytest.mark.slow
def test_mgcv_has_the_same_splines_by_reml(figures_of_r):
    for name, kernel, points, targets, constant in (
        ("one", Polyharmonic(3), X[:40, :1], CURVE[:40], 12),
        ("two", ThinPlate(), X[:40], y[:40], 8 * np.pi),
    ):
        model = GRLSRegressor(kernel, features="linear", regularization="reml").fit(points, targets)
        assert np.allclose(model.predict(points), figures_of_r[name][1:], atol=1e-4)
        assert np.isclose(model.regularization_ * 40 / constant, figures_of_r[name][0], rtol=1e-2)
    process = GRLSRegressor(Matern(2 * np.sqrt(3), 1.5), features="linear", regularization="reml")
    found = process.fit(X[:40, :1], CURVE[:40]).predict(X[:40, :1])
    assert np.allclose(found, figures_of_r["gp"], atol=1e-4)


@pytest.mark.slow
def test_gstat_has_ranges_without_factors(figures_of_r):
    for name, kernel in (("Exp", Laplace(3.0)), ("Gau", Gaussian(3 / np.sqrt(2))), ("Sph", Spherical(3.0))):
        model = GRLSRegressor(kernel, features="linear", kernel_variance=SILL, noise_variance=NUGGET)
        model.fit(X[:40], y[:40])
        agree(model, figures_of_r[name], np.sqrt(figures_of_r[f"{name}var"]), with_noise=True)
