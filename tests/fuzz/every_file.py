"""Problems large enough for several threads that cross every file of the core, for sanitizers.

Each answer is held against NumPy, against another solver or against its own optimality, roughly: that is
for the other tests. ``python tests/fuzz/every_file.py`` runs them all; no test framework is needed.
"""

import sys
import time
import warnings

import grls
import numpy as np
from grls import core
from grls.conformal import ConformalRegressor
from grls.features import PLSA
from grls.kernels import (
    ArcCosine,
    Categorical,
    ChiSquared,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Rotated,
    ThinPlate,
    Wendland,
)
from scipy import sparse
from sklearn.linear_model import LinearRegression

RNG = np.random.default_rng(0)
M = 500
X = RNG.normal(size=(M, 6))
T = np.column_stack([np.ones(M), X])
Y = X @ RNG.normal(size=6) + np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=M)
LABELS = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3).astype(int) + (X[:, 2] > 1)
SPARSE = sparse.csr_matrix(X * (RNG.random(X.shape) < 0.4))
COUNTS = sparse.csr_matrix(RNG.poisson(0.5, size=(300, 80)).astype(float))
G = Gaussian(2.0)


def near(a, b, tolerance=1e-6):
    """Raise unless a is b."""
    scale = max(np.abs(b).max(), 1e-300)
    worst = np.abs(np.asarray(a) - b).max() / scale
    if not worst < tolerance:
        raise AssertionError(f"differs by {worst:.1e} of the largest")


def gram(A, B, s=2.0):
    """Return the Gaussian kernel by NumPy."""
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * s * s))


def least_squares():
    """Factor, assemble, basis, triangle, symmetric, posterior, predict."""
    gamma = 1e-3
    model = grls.GRLSRegressor(G, features="linear", regularization=gamma).fit(X, Y)
    K = gram(X, X, model.kernel_.sigma)
    A = np.block([[K + gamma * M * np.eye(M), T], [T.T, np.zeros((7, 7))]])
    solution = np.linalg.solve(A, np.r_[Y, np.zeros(7)])
    near(model.dual_coef_, solution[:M])
    near(model.predict(X[:50]), K[:50] @ solution[:M] + T[:50] @ solution[M:])
    std = model.predict(X[:90], return_std=True)[1]
    near(np.sqrt(np.diagonal(model.predict(X[:90], return_cov=True)[1])), std)
    model.predict(X[:50], return_gradient=True)  # input_gradient, reverse, coordinates
    for precision in ("single", "mixed"):  # refine
        near(
            grls.GRLSRegressor(G, features="linear", regularization=gamma, precision=precision)
            .fit(X, Y)
            .predict(X),
            model.predict(X),
            1e-2,
        )
    near(
        grls.GRLSRegressor(G, features="linear", regularization=gamma, formulation="published")
        .fit(X, Y)
        .predict(X),
        model.predict(X),
        0.5,
    )


def selection():
    """Path, reduction, left_out, gradient, residual."""
    for criterion in ("loo", "gcv", "reml"):
        grls.GRLSRegressor(G, features="linear", regularization=criterion).fit(X, Y)
    model = grls.GRLSRegressor(G, regularization="logo").fit(X, Y, groups=np.arange(M) % 7)
    model.cross_validate(cv=5)
    tuned = grls.GRLSRegressor(Gaussian("medians"), regularization="reml", optimize=True, random_state=0)
    tuned.fit(X[:150], Y[:150])


def kernels():
    """Kernels, terms, matern, points dense and sparse, coordinates, vmath."""
    near(G(X), gram(X, X))
    positive = np.abs(X)
    for kernel in (
        Matern(1.0, 0.7) + Linear() * Laplace(2.0),
        ArcCosine(2, 0.5, layers=2),
        Wendland(4.0, 2),
        ChiSquared(),
        Polynomial(3).normalized(),
        Categorical(0.7),
        Laplace(1.0, "l1"),
        Periodic(1.0, 2.0),
        Matern(2.0, 2.5),
        Rotated(G, 30.0).on([0, 1]),
    ):
        K = kernel(positive)
        near(kernel(positive[:40], positive), K[:40], 1e-9)
        if not isinstance(kernel, Periodic):
            rows = sparse.csr_matrix(positive)
            near(kernel(rows), K, 1e-6)
    wide = sparse.csr_matrix(
        (SPARSE.data, SPARSE.indices.astype(np.int64) * 10**9, SPARSE.indptr), (M, 10**10)
    )
    near(G(wide), G(SPARSE), 1e-12)


def iterations():
    """matrix_free, conjugate_gradients, nystrom, gather, ridge, ridge_cg, ridge_path."""
    direct = grls.GRLSRegressor(G, features="linear", regularization=0.1).fit(X, Y)
    near(
        grls.GRLSRegressor(G, features="linear", regularization=0.1, solver="cg").fit(X, Y).predict(X),
        direct.predict(X),
        1e-4,
    )
    for points in (X, SPARSE):
        for options in ({}, {"solver": "cg", "regularization": 0.1}, {"precision": "single"}):
            grls.NystromGRLSRegressor(G, n_centers=100, **options).fit(points, Y)
    grls.NystromGRLSClassifier(G, n_centers=60, centers="leverage").fit(X, LABELS)
    for points in (X, SPARSE):
        found = [
            grls.PriorRLSRegressor(regularization=0.1, solver=solver).fit(points, Y).predict(points)
            for solver in ("cholesky", "cg")
        ]
        near(*found, 1e-4)
        grls.PriorRLSRegressor(regularization="loo").fit(points, Y)


def machines():
    """one_versus_one, piecewise, decomposition and what it is made of, active_set, interior_point, dual."""
    found = []
    for solver in ("native", "ipm"):
        model = grls.SVMGBClassifier(G, features="linear", C=10.0, solver=solver, tol=1e-6).fit(X, LABELS)
        found.append(model.decision_function(X))
    near(*found, 1e-2)
    grls.SVMGBClassifier(Linear(), C=1e3, cache_size=1, feature_variance=1.0).fit(SPARSE, LABELS)
    grls.SVMGBClassifier(G, C=np.inf).fit(X[:100], X[:100, 0] > 0)  # separation
    for loss in ("epsilon_insensitive", "huber", "quantile"):
        grls.GRRegressor(G, features="linear", loss=loss, regularization=1e-3).fit(X[:300], Y[:300])
    grls.OneClassSVMGB(G, features="linear", solver="native").fit(X)
    grls.GRRegressor(G, loss="huber", solver="ipm", regularization=1e-3).fit(X[:200], Y[:200])
    grls.GRLogisticClassifier(G, regularization=0.1).fit(X[:300], LABELS[:300])


def spectra():
    """Spectrum, plsa, and the equations on plain arrays."""
    iterative = grls.KernelPCA(4, G, eigen_solver="iterative", random_state=0).fit(X)
    near(iterative.eigenvalues_, grls.KernelPCA(4, G, eigen_solver="dense").fit(X).eigenvalues_, 1e-6)
    topics = PLSA(5, random_state=0, max_iter=20, tol=1e-2).fit(COUNTS)
    near(topics.transform(COUNTS).sum(axis=1), np.ones(300))
    core.null_space(T)
    grls.GRLSRegressor(ThinPlate(), features="linear", regularization=1e-3).fit(X[:200], Y[:200])


def bands():
    """pinball_path, thresholds."""
    fitted = LinearRegression().fit(X[:100], Y[:100])
    rest, values = X[100:], Y[100:]
    plain = ConformalRegressor(fitted, features="constant", cv="prefit").fit(rest, values)
    scores = np.sort(np.abs(values - fitted.predict(rest)))
    rank = int(np.ceil(0.9 * (len(scores) + 1)))
    near(np.diff(plain.predict_interval(X[:60])) / 2, np.full((60, 1), scores[rank - 1]))
    smooth = ConformalRegressor(fitted, features="linear", kernel=G, regularization=1e-2, cv="prefit")
    found = smooth.fit(rest, values).predict_interval(X[:60])
    near(found.mean(axis=1), fitted.predict(X[:60]))


PROBLEMS = [least_squares, selection, kernels, iterations, machines, spectra, bands]


def main():
    """Run all of them."""
    warnings.simplefilter("ignore")
    for problem in PROBLEMS:
        start = time.perf_counter()
        problem()
        print(f"{problem.__name__}: {time.perf_counter() - start:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
