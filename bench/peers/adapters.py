"""One adapter per peer: a function that fits a problem and returns a function that predicts.

A peer without free features solves the problem without them; its answers are compared with grls and the limit
without features, its time with that of grls with them.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .limit import Predictor
from .problems import Array, Problem

EVERYWHERE = frozenset({"digits", "spatial"})
NO_LIMIT = 10**9


@dataclass(frozen=True)
class Peer:
    """A competitor, or grls itself."""

    name: str
    fit: Callable[[Problem], Predictor]
    with_features: bool
    scenes: frozenset[str] = EVERYWHERE
    max_m: int = NO_LIMIT  # beyond this it takes minutes
    tolerance: float = 1e-6  # of its answers, as a share of the largest
    predict_timed: bool = False

    def takes(self, problem: Problem) -> bool:
        return problem.scene in self.scenes and problem.m <= self.max_m


OURS = "grls"  # the entry that the others are compared with: double precision, with features


def fit_grls(problem: Problem, precision: str = "double", with_features: bool = True) -> Predictor:
    from grls import GRLSRegressor
    from grls.kernels import Gaussian

    return (
        GRLSRegressor(
            Gaussian(problem.sigma),
            features=problem.features if with_features else None,
            regularization=problem.alpha / problem.m,
            precision=precision,
        )
        .fit(problem.X, problem.y)
        .predict
    )


def fit_kernel_ridge(problem: Problem) -> Predictor:
    from sklearn.kernel_ridge import KernelRidge

    gamma = 1 / (2 * problem.sigma**2)
    return KernelRidge(alpha=problem.alpha, kernel="rbf", gamma=gamma).fit(problem.X, problem.y).predict


def fit_gaussian_process(problem: Problem) -> Predictor:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    model = GaussianProcessRegressor(RBF(problem.sigma), alpha=problem.alpha, optimizer=None)
    return model.fit(problem.X, problem.y).predict


def fit_rbf_interpolator(problem: Problem) -> Predictor:
    from scipy.interpolate import RBFInterpolator

    return RBFInterpolator(
        problem.X,
        problem.y,
        smoothing=problem.alpha,
        kernel="gaussian",
        epsilon=1 / (np.sqrt(2) * problem.sigma),
        degree=1,
    )


def fit_libkriging(problem: Problem) -> Predictor:
    import pylibkriging

    model = pylibkriging.Kriging("gauss", "heterogeneous")
    known = {
        "sigma2": 1.0,
        "is_sigma2_estim": False,
        "theta": np.full((1, problem.d), problem.sigma),
        "is_theta_estim": False,
    }
    noise = np.full(problem.m, problem.alpha)
    model.fit(problem.y, problem.X, "linear", False, "none", "LL", known, noise)
    return lambda X: model.predict(X, False, False, False)[0].ravel()


def fit_numpy(problem: Problem) -> Predictor:
    """Solve the equations in NumPy as one would write them down first: the null model."""

    def kernel(X: Array, Z: Array) -> Array:
        squared = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * X @ Z.T
        return np.exp(-squared / (2 * problem.sigma**2))

    T = problem.features(problem.X)
    A = kernel(problem.X, problem.X) + problem.alpha * np.eye(problem.m)
    solved = np.linalg.solve(A, np.column_stack([problem.y, T]))
    beta = np.linalg.solve(T.T @ solved[:, 1:], T.T @ solved[:, 0])
    c = solved[:, 0] - solved[:, 1:] @ beta
    return lambda X: kernel(X, problem.X) @ c + problem.features(X) @ beta


PEERS = (
    Peer(OURS, fit_grls, True, predict_timed=True),
    Peer("grls mixed", partial(fit_grls, precision="mixed"), True),
    Peer("grls single", partial(fit_grls, precision="single"), True, tolerance=1e-2),
    Peer("grls without features", partial(fit_grls, with_features=False), False, frozenset({"digits"})),
    Peer("KernelRidge", fit_kernel_ridge, False, frozenset({"digits"}), predict_timed=True),
    Peer("GaussianProcessRegressor", fit_gaussian_process, False, frozenset({"digits"}), 5000),
    Peer("RBFInterpolator", fit_rbf_interpolator, True, frozenset({"spatial"}), predict_timed=True),
    Peer("libKriging", fit_libkriging, True, frozenset({"spatial"}), 4000),
    Peer("NumPy", fit_numpy, True, max_m=5000),
)


def load() -> None:
    """Import what the peers stand on: a limit on threads only reaches libraries that are there."""
    for package in ("grls", "scipy.interpolate", "sklearn.gaussian_process", "pylibkriging"):
        with contextlib.suppress(ImportError):
            importlib.import_module(package)


def usable(peers: tuple[Peer, ...], problem: Problem) -> tuple[list[Peer], dict[str, str]]:
    """Try every peer of the scene on a small problem; return those that work, and why the others do not."""
    working, reasons = [], {}
    for peer in peers:
        if problem.scene not in peer.scenes:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peer.fit(problem)
        except ImportError as error:
            reasons[peer.name] = f"not installed ({error})"
        except ValueError as error:  # a precision this version of grls does not have
            if peer.name != "grls mixed":
                raise
            reasons[peer.name] = f"not in this version ({error})"
        else:
            working.append(peer)
    return working, reasons
