"""How sure a fit with Fourier modes is: variances, standard errors, standard deviations, `summary()`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._models.deviations import standard_deviations
from .._models.regression import RegressionFunction
from .._models.regression_summary import CoefficientErrors, Scales, coefficient_table, title
from .._models.samples import FreeFeatures
from .._models.summaries import likelihoods, output_of
from .._nystrom.origin import warn_of_lost_squares
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import NotPositiveDefiniteError
from ..summary import Summary, Table, Value, Values
from .modes import half_positions
from .system import Solved, System
from .traces import Traces

_POINTS = 1 << 22  # numbers of waves at new rows that are held at a time
_PROBES = 32  # vectors of random signs behind the likelihoods and the degrees of freedom of a summary


class FourierUncertainty(RegressionFunction):
    """A regressor with Fourier modes that knows how sure it is."""

    def _precision(self) -> float:
        """Return to what share equations are solved: far below what the kernel's error makes of a fit."""
        return float(np.clip(1e-4 * (self._tolerance or 1e-3), 1e-10, 1e-6))

    def _solved(self, system: System, right: FloatArray, s: float) -> Solved:
        """Solve; a warning where that takes too many steps."""
        wanted = self._precision()
        try:
            if s == 0:
                raise NotPositiveDefiniteError("regularization is 0")
            solved = system.solve(right, s, tol=wanted, max_iter=self.max_iter)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"the equations of {system.order} Fourier modes with regularization {s / system.weight:.3g} "
                "are not positive definite to working precision: choose a larger regularization"
            ) from error
        if solved.residual > wanted:
            warn(
                f"conjugate gradients did not converge in max_iter={self.max_iter} steps: the error is "
                f"{solved.residual:.2g} of the solution, expected {wanted:.2g}; raise max_iter, or choose a "
                "larger regularization",
                ConvergenceWarning,
            )
        return solved

    def _store_variances(self, system: System, solved: Solved, s: float) -> None:
        """Keep the variances of the kernel part and the noise, and the features' standard errors."""
        n = system.degrees
        left = np.maximum(system.squares - np.einsum("kj,kj->k", system.g, solved.z), 0.0)
        if n > 0:
            squares = np.diagonal(system.sums.matrix)[system.n_free :]
            first, second = system.sums.moments
            of_features = np.minimum(system.squares, second - first**2 / system.weight)
            warn_of_lost_squares(left, of_features, squares, self._plan_kept.expressed)
        quadratic = left / s
        self.degrees_of_freedom_ = float(n)
        self.kernel_variance_ = quadratic / (n if n > 0 else np.nan)
        self.noise_variance_ = self.kernel_variance_ * s
        kept = system.kept
        covariance = np.zeros((system.n_free, system.n_free))
        if kept:
            inside = self._solved(system, system.C, s).z  # (l', 2h)
            through = system.over_features(system.C @ inside.T)
            own = system.over_features(np.eye(len(kept)))
            covariance[np.ix_(kept, kept)] = s * (own + system.over_features(through.T))
        self._computed_cov = covariance  # of the coefficients that are solved for, in units of the variance
        R = self._free().user_units()
        in_units = covariance if R is None else R @ covariance @ R.T
        each = in_units * self.kernel_variance_[:, None, None]
        self.feature_coef_cov_ = each[0] if self._y_shape == () else each
        std = np.sqrt(np.maximum(np.diagonal(each, axis1=1, axis2=2).T, 0))
        self.feature_coef_std_ = np.ascontiguousarray(self._per_output(std))

    def _free(self) -> FreeFeatures:
        return FreeFeatures(self.features_, self.feature_names_free_)

    def _system(self) -> System:
        """Return the equations of the fit, made again where the model comes from a file."""
        found: System | None = self.__dict__.get("_system_kept")
        if found is None:
            found = self._system_kept = System(self._plan_kept.modes, self._sums_kept, self.n_features_free_)
        return found

    def predict(self, X: Any, return_std: bool = False, with_noise: bool = False) -> Any:
        """Return the values of the model function, and how sure they are.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations too, with the uncertainty of the features' coefficients:
            those of the model with the kernel that the modes stand for, and what they leave out of k(x, x)
            beside. Each row takes a solution of the
            equations: this is for some thousands of rows.
        with_noise : bool, default=False
            Whether they are those of new observations, of weight one, rather than of the function.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, k)
            Predictions.
        std : ndarray of shape (n,) or (n, k)
            With `return_std`.
        """
        checked, T = self._evaluated(X)
        feature_part, learnt_part = self._parts_at(checked, T)
        mean = np.asarray(self._shaped(feature_part + learnt_part))
        if not return_std:
            return mean
        variance = self._variance(checked, T)[:, None] * self.kernel_variance_
        # What the modes leave out is in the variance of the noise.
        missed = self._plan_kept.modes.missed * self.kernel_variance_
        variance = variance + (np.maximum(self.noise_variance_, missed) if with_noise else missed)
        return mean, np.asarray(self._shaped(standard_deviations(variance)))

    def _variance(self, points: FloatArray, T: FloatArray) -> FloatArray:
        """Return the variance (n,) of the function at points, in units of the kernel's."""
        system = self._system()
        modes, s = self._plan_kept.modes, self.regularization_ * self._sums_kept.weight
        h = len(modes.weights)
        j = half_positions(modes, np.arange(h)).T.astype(np.float64)
        near = modes.is_near(points)
        out = np.empty(len(T))
        step = max(1, _POINTS // (8 * h))
        for start in range(0, len(T), step):
            part = slice(start, start + step)
            angles = np.stack(modes.angles(points[part]), axis=1)
            waves = np.exp(-1j * (angles @ j))
            waves[~near[part]] = 0.0
            t = np.asarray(T[part], dtype=np.float64)[:, system.kept].T
            through = system.over_features(t)
            q = system.along(waves) - through.T @ system.C
            inside = self._solved(system, q, s).z
            out[part] = s * (np.einsum("bj,bj->b", q, inside) + np.einsum("ln,ln->n", t, through))
        out[~near] += modes.value - modes.missed
        return out

    def summary(self, *, output: int | None = None) -> Summary:
        """Return what the fit tells: coefficients with tests, the kernel part, scales, likelihoods.

        All of it comes from the sums, and takes about as long as the choice of γ at one value. Likelihoods
        are those of the model with the kernel that the modes stand for.

        Parameters
        ----------
        output : int, default=None
            Which output, where there are several.

        Returns
        -------
        Summary
            Tables ``coefficients`` and ``scale``; single values such as ``edf``, ``log_likelihood``, ``aic``
            and ``r2``. Beyond 2,000 modes degrees of freedom and likelihoods are estimated from 32 random
            vectors, the same in every call.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import FourierGRLSRegressor
        >>> from grls.kernels import Matern
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(3000, 1))
        >>> y = 3 * X[:, 0] + np.sin(20 * X[:, 0]) + 0.3 * rng.normal(size=3000)
        >>> model = FourierGRLSRegressor(Matern(0.3), features="linear", regularization="reml", tol=1e-5)
        >>> summary = model.fit(X, y).summary()
        >>> round(float(summary.scale["estimate"][0]), 2)  # the variance of the noise
        0.09
        """
        check_is_fitted(self)
        system, k = self._system(), len(self.kernel_variance_)
        o = output_of(output, k)
        n_free = self.n_features_free_
        note = "Standard errors take γ and the kernel as known."
        std = np.asarray(self.feature_coef_std_).reshape(n_free, k)[:, o]
        errors = CoefficientErrors(std, np.full(n_free, self.degrees_of_freedom_), note)
        scales = Scales(
            ["noise variance", "kernel variance"],
            np.array([self.noise_variance_[o], self.kernel_variance_[o]]),
            np.full(2, np.nan),
            np.zeros(2),
            "",
        )
        s = self.regularization_ * system.weight
        determinant, trace = Traces(system, _PROBES).determinant(s)
        sections: list[Table | Values] = [
            self._facts(system),
            coefficient_table(self, np.asarray(self.feature_coef_).reshape(n_free, k)[:, o], errors),
            self._kernel_part(system, system.order - s * trace, o),
            scales.table(),
            self._fit_values(system, determinant, s, o),
        ]
        notes = [note] if n_free else []
        notes.append("Likelihoods are those of the kernel that the modes stand for.")
        if not system.is_direct:
            notes.append(
                f"They and the degrees of freedom are estimated from {_PROBES} random vectors: small "
                "differences of likelihoods between kernels mean nothing."
            )
        return Summary(title(self, o, k), sections, notes, self.fit_warnings_)

    def _facts(self, system: System) -> Values:
        kept, n_features = len(system.kept), self.n_features_free_
        how = f"chosen by {self.regularization!r}" if isinstance(self.regularization, str) else "given"
        gamma = float(self.regularization_)
        modes = " x ".join(map(str, self.n_modes_))
        return Values(
            "",
            [
                Value("n_rows", "rows", system.n_rows),
                Value("n_modes", "Fourier modes", system.order, modes if len(self.n_modes_) > 1 else None),
                Value("kernel_error", "kernel's error", self.kernel_error_),
                Value("fit_error", "fit's error on a sample", self.fit_error_),
                Value(
                    "n_features", "features", kept, None if kept == n_features else f"{kept} of {n_features}"
                ),
                Value("kernel", "kernel", repr(self.kernel_)),
                Value("regularization", "regularization γ", gamma, f"{gamma:.4g}, {how}"),
            ],
        )

    def _kernel_part(self, system: System, edf: float, output: int) -> Values:
        return Values(
            "kernel part",
            [
                Value("kernel_edf", "effective degrees of freedom", edf),
                Value("edf", "… with the features", edf + len(system.kept)),
                Value("kernel_norm", "norm", float(self.rkhs_norm_[output])),
            ],
        )

    def _fit_values(self, system: System, determinant: float, s: float, output: int) -> Values:
        """Return likelihoods at the best scale, constants included, and the share that is explained."""
        n_rows, n, kept = system.n_rows, system.degrees, system.kept
        # log|NᵀAN| less Σ log w, N orthonormal beside W½T
        determinant += (n - system.order) * float(np.log(s)) - system.sums.log_weights
        covariance = self._computed_cov[np.ix_(kept, kept)]
        features = float(np.linalg.slogdet(system.S)[1]) if kept else 0.0
        inverse = float(np.linalg.slogdet(covariance)[1]) if kept else 0.0
        R = self._free().user_units()
        units = 0.0 if R is None or not kept else 2 * float(np.linalg.slogdet(R[np.ix_(kept, kept)])[1])
        squares = float(self.kernel_variance_[output]) * n  # yᵀΠ(K + s)⁻¹Πy

        def scale(count: float) -> float:
            return count * float(np.log(2 * np.pi * squares / count)) + count if n > 0 else np.nan

        restricted = -0.5 * (determinant + features - units + scale(n))
        plain = -0.5 * (determinant + features + inverse + scale(n_rows))
        n_parameters = len(kept) + 1 + self._n_estimated()
        return Values(
            "fit",
            [
                *likelihoods(restricted, plain, n_parameters, n, n_rows),
                Value("r2", "R²", self._r2(system, output)),
                Value("n_parameters", "parameters of AIC and BIC", n_parameters),
            ],
        )

    def _n_estimated(self) -> int:
        """Return how many numbers were chosen from the data beside coefficients and scale."""
        return int(hasattr(self, "regularization_path_")) + int(getattr(self, "_n_tuned", 0))

    def _r2(self, system: System, output: int) -> float:
        """Return the share of the variance of y that the fit explains, in its own rows."""
        first, second = system.sums.moments[:, output]
        total = float(second - first**2 / system.weight)
        beta = self._computed_features() - self._plan_kept.at_origin(system)
        residual = system.squared_error(self.fourier_coef_, beta)[output]
        return float(1 - max(residual, 0.0) / total) if total > 0 else np.nan
