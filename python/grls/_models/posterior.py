"""The posterior of a fitted regression: variances of its function and of its parts, from a factor kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._solvers import memory
from .._solvers.groups import Labels
from .._solvers.kernel_problem import KernelProblem
from .._solvers.matrix_free import MatrixFree, MatrixFreePosterior
from .._solvers.posterior import Posterior
from .._validation import FloatArray, integer
from .deviations import standard_deviations
from .draws import correlated
from .feature_prior import beside
from .fitted import FittedProblem
from .regression import RegressionFunction

_WAY_OUT = "ask for fewer rows at a time"


class FittedPosterior:
    """Covariances of a fitted model at any points, from a factor of 4m² bytes for each γ.

    Where the factors are not kept, one at a time is made in each call. `solves`: there are none, and each
    point that is asked about is solved for.
    """

    def __init__(self, model: Any, *, keeps: bool, solves: bool = False) -> None:
        self._kernel, self._samples = model.kernel_, model.X_fit_
        if self._kernel.pairwise:
            self._kernel.diagonal(None)  # refuses: nothing is known of k(x, x)
        fitted = FittedProblem.of(model)
        problem = fitted.problem
        self.gammas = fitted.gammas
        self._parts, self._tau = fitted.parts, fitted.tau
        self._n_free = problem.T.shape[1]
        # The formula of Φ + τZZᵀ with its points; None: the kernel gives matrices only.
        self._whole = None if problem.gram.formula is None else (problem.gram.formula, problem.X)
        each: list[float] = list(dict.fromkeys(self.gammas.tolist()))
        self._factors: dict[float, Posterior | MatrixFreePosterior] = {}
        self._problem: KernelProblem | None = None
        if solves:
            system = MatrixFree(problem, points_at_a_time(self.n_samples))
            self._factors = {
                gamma: MatrixFreePosterior(system, gamma, max_iter=model.max_iter) for gamma in each
            }
            return
        self._require_room(len(each) if keeps else 1, solvable=getattr(model, "solver", None) == "cg")
        if keeps:
            self._factors = {gamma: problem.posterior(gamma) for gamma in each}
        else:
            self._problem = problem

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return int(self._samples.shape[0])

    def _require_room(self, n_factors: int, *, solvable: bool) -> None:
        stored = 8.0 * self.n_samples**2 if self._whole is None else 0.0
        remedy = "" if n_factors == 1 else "; keep_factor=False takes one factor at a time"
        if solvable:
            most = points_at_a_time(self.n_samples)
            remedy = f'; solver="cg" needs no factor for variances of at most {most} rows at a time'
        memory.require(
            n_factors * memory.posterior_bytes(self.n_samples, self._n_free) + stored,
            f"a variance beside {self.n_samples} samples",
            "use NystromGRLSRegressor, or fewer samples" + remedy,
        )

    def by_gamma(self, compute: Callable[[Any], FloatArray]) -> dict[float, FloatArray]:
        """Return what `compute` makes of the factor of each γ."""
        if self._problem is None:
            return {gamma: compute(factor) for gamma, factor in self._factors.items()}
        each = dict.fromkeys(self.gammas.tolist())
        return {gamma: compute(self._problem.posterior(gamma)) for gamma in each}

    def function(
        self, points: Any, T: FloatArray, codes: Labels | None = None, *, covariance: bool = False
    ) -> dict[float, FloatArray]:
        """Return for each γ the variance (n,) of the function, or (n, n), in units of the kernel's.

        `points` are checked rows as the kernel reads them, T the features there, and `codes` their groups
        where these have effects.
        """
        Z = np.empty((len(T), 0))
        if self._parts is not None:
            T, Z = self._parts.at(T)
        if self._whole is None:
            return self._of_matrices(points, np.ascontiguousarray(T), Z, covariance=covariance)
        formula, samples = self._whole
        rows = beside(points, Z, self._tau) if Z.shape[1] and self._tau else points
        known = () if codes is None else (codes,)
        return self.by_gamma(lambda p: p.of_rows(formula, samples, rows, T, *known, covariance=covariance))

    def learnt(self, points: Any) -> dict[float, FloatArray]:
        """Return for each γ the variance (n,) of what is learnt beside the features."""
        none = np.zeros((points.shape[0], self._n_free))
        if self._whole is None:
            return self._of_matrices(points, none, np.empty((len(none), 0)), covariance=False)
        formula, samples = self._whole
        if self._parts is not None:
            formula, samples = self._kernel.lower(self._samples.shape[1]), self._samples
        return self.by_gamma(lambda p: p.of_rows(formula, samples, points, none, covariance=False))

    def _of_matrices(
        self, points: Any, T: FloatArray, Z: FloatArray, *, covariance: bool
    ) -> dict[float, FloatArray]:
        """Return variances with a kernel that is a function of Python."""
        tau, n_points = self._tau, points.shape[0]
        if covariance:
            prior = self._kernel.matrix(points, points) + tau * (Z @ Z.T)
        else:
            prior = self._kernel.diagonal(points) + tau * np.einsum("ij,ij->i", Z, Z)
        # Points at a time, so that their block of kernel values stays bounded; a covariance needs them all.
        step = n_points if covariance else max(2048, self.n_samples // 2)

        def blocks(factor: Posterior) -> FloatArray:
            found = []
            for start in range(0, n_points, step):
                part = slice(start, start + step)
                K = self._kernel.matrix(points[part], self._samples)
                if Z.shape[1] and self._parts is not None:
                    K = K + tau * (Z[part] @ self._parts.Z.T)
                found.append(factor.of_values(prior[part], K, T[part], covariance=covariance))
            return found[0] if covariance else np.concatenate(found)

        return self.by_gamma(blocks)


def points_at_a_time(n_samples: int) -> int:
    """Return for how many points systems are solved rather than a factor made, which would cost as much."""
    return max(1, n_samples // 50)


_KEPT = ("_posterior_kept", "_solver_kept")


class PosteriorFunction(RegressionFunction):
    """A regressor with a posterior; subclasses have the parameter `keep_factor`."""

    def __getstate__(self) -> Any:
        # A factor is made again where it is needed: models in files stay small.
        return {name: value for name, value in super().__getstate__().items() if name not in _KEPT}

    def _posterior(self, n_points: int) -> FittedPosterior:
        """Return the posterior for so many points; made when first asked for, and kept with `keep_factor`."""
        if self.formulation != "exact":
            raise ValueError('variances are those of formulation="exact"')
        few = n_points <= points_at_a_time(self.X_fit_.shape[0]) or hasattr(self, "_groups")
        solves = getattr(self, "solver", None) == "cg" and few
        if solves and "_posterior_kept" in self.__dict__:
            solves = False  # the factor is there already
        name = _KEPT[solves]
        known: FittedPosterior | None = self.__dict__.get(name)
        if known is None or not np.array_equal(known.gammas, self._gammas()) or not self.keep_factor:
            known = FittedPosterior(self, keeps=bool(self.keep_factor), solves=solves)
            for old in _KEPT:
                self.__dict__.pop(old, None)
            if self.keep_factor:
                setattr(self, name, known)
        return known

    def _gammas(self) -> FloatArray:
        return np.broadcast_to(self.regularization_, len(self.kernel_variance_))

    def _in_units(self, by_gamma: dict[float, FloatArray]) -> FloatArray:
        """Return (…, k) from the values of each γ, (…), which may be overwritten."""
        gammas, scales = self._gammas().tolist(), self.kernel_variance_
        if len(gammas) == 1:
            only = by_gamma[gammas[0]]
            only *= scales[0]
            return only[..., None]
        first = by_gamma[gammas[0]]
        out = np.empty((*first.shape, len(gammas)))
        for output, gamma in enumerate(gammas):
            np.multiply(by_gamma[gamma], scales[output], out=out[..., output])
        return out

    def _function_variance(self, points: Any, T: FloatArray, *, covariance: bool) -> FloatArray:
        """Return the variance of the function at points, (n, k), or the covariance, (n, n, k)."""
        if covariance:
            self._require_room_for_covariance(len(T))
        found = self._posterior(len(T)).function(points, *self._without_groups(T), covariance=covariance)
        return self._in_units(found)

    def _require_room_for_covariance(self, n_points: int) -> None:
        outputs = len(self.kernel_variance_)
        several = 8.0 * n_points**2 * (outputs if outputs > 1 else 0)
        # A function of Python gives the values of the points as a matrix of its own, beside the result.
        given = 8.0 * n_points**2 if self.kernel_.is_function else 0.0
        memory.require(
            memory.covariance_bytes(self.X_fit_.shape[0], n_points) + several + given,
            f"the covariance of {n_points} rows",
            _WAY_OUT + ", or for return_std",
        )

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        with_noise: bool = False,
        noise: Any = None,
    ) -> FloatArray:
        """Draw functions, or observations, from the posterior, jointly at all rows.

        They are normal given γ and the variances as estimated, as those of
        `sklearn.gaussian_process.GaussianProcessRegressor.sample_y`.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points; the covariance of all of them is factorised, so that memory grows as n².
        n_samples : int, default=1
            How many to draw.
        random_state : int, RandomState or None, default=0
            Where the random numbers come from.
        with_noise : bool, default=False
            Whether to draw new observations, of weight one, rather than the function.
        noise : float or array-like of shape (n,), default=None
            As in `predict`.

        Returns
        -------
        ndarray of shape (n, n_samples) or (n, k, n_samples)
            The draws.
        """
        n_draws = integer(n_samples, "n_samples", minimum=1)
        rng = check_random_state(random_state)
        points, T = self._evaluated(X)
        feature_part, learnt_part = self._parts_at(points, T)
        mean = feature_part + learnt_part  # (n, k)
        n_points, n_outputs = mean.shape
        noise_at = self._noise_at(noise, points, X) if with_noise else None
        self._require_room_for_covariance(n_points)
        posterior = self._posterior(n_points)
        z = rng.standard_normal((n_outputs, n_points, n_draws))
        out = np.empty((n_points, n_outputs, n_draws))
        gammas = self._gammas()
        variances = np.append(self.kernel_variance_, self.noise_variance_)
        if not (np.isfinite(variances).all() and np.all(variances >= 0)):
            raise ValueError(
                "functions cannot be drawn: the variances of kernel and noise must be finite and not "
                f"negative, got {self.kernel_variance_} and {self.noise_variance_}; too few rows to "
                "estimate them from, or the arrays of this model were changed after the fit"
            )
        found = posterior.function(points, *self._without_groups(T), covariance=True)
        for gamma, covariance in found.items():
            finite = np.isfinite(covariance).all(axis=1)
            if not finite.all():
                raise ValueError(
                    f"functions cannot be drawn at row {finite.argmin()}: their variances there are too "
                    "large, or the arrays of this model were changed after the fit"
                )
            mine = np.flatnonzero(gammas == gamma)
            drawn = correlated(covariance, z[mine].transpose(1, 0, 2).reshape(n_points, -1))
            out[:, mine] = drawn.reshape(n_points, len(mine), n_draws)
        out *= np.sqrt(self.kernel_variance_)[:, None]
        out += mean[:, :, None]
        if noise_at is not None:
            spread = np.sqrt(noise_at[:, None] * self.noise_variance_)  # (n, k)
            out += spread[:, :, None] * rng.standard_normal(out.shape)
        return np.asarray(out[:, 0] if self._one_output else out)

    def _deviations(
        self, points: Any, T: FloatArray, columns: dict[str, FloatArray]
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        if hasattr(self, "_groups"):
            raise ValueError("decompose(return_std=True) does not go with features=Groups(…); predict does")
        learnt = standard_deviations(self._in_units(self._posterior(len(T)).learnt(points)))
        if self._undefined:  # a kernel that is known up to polynomials: which part has them?
            learnt[:] = np.nan
        terms = {name: self._shaped(self._deviation(a)) for name, a in columns.items()}
        return self._shaped(self._deviation(T)), self._shaped(learnt), terms

    def _deviation(self, columns: FloatArray) -> FloatArray:
        """Return the standard deviation (n, k) of a combination (n, l) of the features' coefficients."""
        covariance = self._computed_cov  # (k, l, l)
        variance = np.einsum("np,kpq,nq->nk", columns, covariance, columns, optimize=True)
        std = standard_deviations(variance)
        if np.any(columns[:, self._undefined]):
            std[:] = np.nan
        return std
