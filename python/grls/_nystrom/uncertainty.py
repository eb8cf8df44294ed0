"""How sure a regression on centres is: standard deviations, standard errors, blocks left out, `summary()`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._models.cross_validation import CrossValidation
from .._models.deviations import require_finite, standard_deviations
from .._models.regression import RegressionFunction
from .._models.regression_summary import (
    CoefficientErrors,
    Scales,
    coefficient_table,
    n_estimated,
    title,
)
from .._models.samples import FreeFeatures
from .._models.summaries import likelihoods, output_of
from .._solvers import memory
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import FewCentersWarning
from ..summary import Summary, Table, Value, Values
from .left_out import leave_blocks_out
from .missed import MUCH, Missed
from .plan import Plan, Solution
from .posterior import CentrePosterior
from .statistics import SumStatistics, kernel_degrees_of_freedom

_KEPT = (
    "kernel_missed_",
    "kernel_variance_",
    "noise_variance_",
    "degrees_of_freedom_",
    "feature_coef_std_",
    "feature_coef_cov_",
    "_computed_cov",
    "_undefined",
    "_statistics",
    "_posterior",
    "_plan_fit",
)


class CentreUncertainty(RegressionFunction):
    """A regressor on centres with predictive variances and standard errors.

    Subclasses have the parameter `keep_factor`.
    """

    def _store_uncertainty(self, plan: Plan, solution: Solution) -> None:
        self._forget(*_KEPT)
        self.kernel_missed_ = np.nan
        statistics, posterior = solution.statistics, solution.posterior
        if statistics is None:
            return
        self._statistics = statistics
        self.noise_variance_ = statistics.noise_variance
        self.kernel_variance_ = statistics.kernel_variance
        self.degrees_of_freedom_ = statistics.n_free
        if posterior is None:
            return
        self._store_missed(posterior.missed)
        self._undefined = np.empty(0, dtype=np.intp) if plan.undefined is None else plan.undefined
        self._store_coefficient_errors(posterior.coefficients(), plan.features.user_units())
        if self.keep_factor:
            self._posterior, self._plan_fit = posterior, plan

    def _store_missed(self, missed: Missed | None) -> None:
        self.kernel_missed_ = 0.0 if missed is None else missed.share
        if self.kernel_missed_ > MUCH:
            warn(
                f"{self.X_fit_.shape[0]} centres leave out {self.kernel_missed_:.1%} of the variance of the "
                "kernel part: predictions are less accurate than those of the exact model, and the "
                "intervals wider by it; raise n_centers",
                FewCentersWarning,
            )

    def _store_coefficient_errors(self, covariance: FloatArray, R: FloatArray | None) -> None:
        """Keep the covariance of the coefficients, given (l, l) in units of the kernel variance."""
        computed = covariance * self.kernel_variance_[:, None, None]
        self._computed_cov = computed
        shown = computed.copy() if R is None else R @ computed @ R.T
        shown[:, self._undefined], shown[:, :, self._undefined] = np.nan, np.nan
        self.feature_coef_cov_ = shown[0] if self._y_shape == () else shown
        diagonal = np.diagonal(shown, axis1=1, axis2=2).T  # (l, k)
        std = np.sqrt(np.where(np.isnan(diagonal), np.nan, np.maximum(diagonal, 0)))
        self.feature_coef_std_ = np.ascontiguousarray(self._per_output(std))

    def _require_posterior(self, what: str) -> CentrePosterior:
        check_is_fitted(self)
        found: CentrePosterior | None = self.__dict__.get("_posterior")
        if found is not None:
            return found
        if self.solver == "cg":
            raise ValueError(f'{what} needs the sums of the centres: use solver="cholesky"')
        if self.regularization_ <= 0:
            raise ValueError(f"{what} needs a positive regularization")
        raise ValueError(f"{what} needs the factor that keep_factor=True keeps; fit the model with it")

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, with_noise: bool = False
    ) -> Any:
        """Return the values of the model function, and how sure they are.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations too, at some 2M² operations a row. They are those of the
            posterior given the sums of all rows, and what the centres cannot express of the kernel part is as
            uncertain as it was before: k(x, x) less what they explain is added, so that the band widens away
            from the centres. With all rows as centres they are those of `GRLSRegressor`.
        return_cov : bool, default=False
            Whether to return the covariance matrix between the points instead.
        with_noise : bool, default=False
            Whether they are those of new observations, of weight one, rather than of the function. What the
            centres leave out of the rows on average is in `noise_variance_`, and does not count again.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, k)
            Predictions.
        std : ndarray of shape (n,) or (n, k)
            With `return_std`.
        cov : ndarray of shape (n, n) or (n, n, k)
            With `return_cov`.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import NystromGRLSRegressor
        >>> from grls.kernels import Gaussian
        >>> x = np.linspace(0, 10, 2000)[:, None]
        >>> y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=2000)
        >>> model = NystromGRLSRegressor(Gaussian(1.0), regularization="reml", n_centers=50).fit(x, y)
        >>> mean, std = model.predict([[5.0], [15.0]], return_std=True)
        >>> bool(std[1] > 10 * std[0])
        True
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or for return_cov, not for both")
        if not (return_std or return_cov):
            return super().predict(X)
        posterior = self._require_posterior("return_std" if return_std else "return_cov")
        points, T = self._evaluated(X)
        feature_part, learnt_part = self._parts_at(points, T)
        if return_cov:
            n, k = feature_part.shape
            needed = 8.0 * n * (n * (k + 2) + 3 * self.X_fit_.shape[0])
            memory.require(needed, f"the covariance of {n} rows", "ask for fewer rows, or for return_std")
        T, codes = self._without_groups(T)
        if return_cov and codes is not None:
            raise ValueError("return_cov does not go with features=Groups(…); return_std does")
        variance = posterior.function(points, T, covariance=return_cov, codes=codes, with_noise=with_noise)
        spread = variance[..., None] * self.kernel_variance_
        if with_noise:
            own = np.einsum("iik->ik", spread) if return_cov else spread  # a view
            own += self.noise_variance_
        require_finite(spread if codes is None else spread[posterior.knows(codes)])
        if not return_cov:
            spread = np.sqrt(np.maximum(spread, 0))
        mean = self._shaped(feature_part + learnt_part)
        return mean, spread[..., 0] if mean.ndim == 1 else spread

    def _deviations(
        self, points: Any, T: FloatArray, columns: dict[str, FloatArray]
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        posterior = self._require_posterior("return_std")
        if posterior.groups is not None:
            raise ValueError("decompose(return_std=True) does not go with features=Groups(…); predict does")
        learnt = standard_deviations(posterior.learnt(points)[:, None] * self.kernel_variance_)
        if len(self._undefined):
            learnt[:] = np.nan
        terms = {name: self._shaped(self._deviation(a)) for name, a in columns.items()}
        return self._shaped(self._deviation(T)), self._shaped(learnt), terms

    def _deviation(self, columns: FloatArray) -> FloatArray:
        """Return the standard deviation (n, k) of a combination (n, l) of the features' coefficients."""
        variance = np.einsum("np,kpq,nq->nk", columns, self._computed_cov, columns, optimize=True)
        std = standard_deviations(variance)
        if np.any(columns[:, self._undefined]):
            std[:] = np.nan
        return std

    def cross_validate(
        self, X: Any, y: Any = None, sample_weight: Any = None, cv: Any = 5, groups: Any = None
    ) -> CrossValidation:
        """Predict rows by the model without them: sums of the rows left out are taken off those of all rows.

        No row is fitted twice: a fold costs the sums of its rows and one solution of the equations. The
        features' coefficients are those of a fit without the rows; γΣw, the kernel, the centres and the
        variances are those of the model.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The training rows: the model keeps none. An iterator, which can be read once, is refused.
        cv : int, "blocks", splitter or iterable of splits, default=5
            Of rows in memory, as in scikit-learn. Of rows that come in blocks, the number of folds that the
            blocks are dealt to; "blocks": every block is a fold.
        groups : array-like of shape (m,), default=None
            For splitters of groups, of rows in memory: that of each row.

        Returns
        -------
        CrossValidation
            Predictions, standard deviations, standardised residuals and logarithmic scores.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import NystromGRLSRegressor
        >>> from grls.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 10, size=(1000, 1))
        >>> y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=1000)
        >>> model = NystromGRLSRegressor(Gaussian(1.0), n_centers=50).fit(x, y)
        >>> rmse = model.cross_validate(x, y, cv=5).rmse
        >>> bool(np.all((rmse > 0.08) & (rmse < 0.12)))
        True
        """
        if self._require_posterior("cross_validate").groups is not None:
            raise ValueError(
                "cross_validate does not go with features=Groups(…): a group may be left out whole; use "
                "scikit-learn's cross_val_predict"
            )
        found = leave_blocks_out(self, X, y, sample_weight, cv, groups)
        residuals = found.targets - found.values
        assert found.variances is not None
        std = np.sqrt(np.maximum(found.variances, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = residuals / std
            log_score = -0.5 * (np.log(2 * np.pi) + z**2) - np.log(std)
        shaped = [self._shaped(part) for part in (found.values, residuals, std, z, log_score)]
        return CrossValidation(found.rows, found.fold, *shaped)

    def summary(self, *, output: int | None = None) -> Summary:
        """Return what the fit tells: coefficients with tests, the kernel part, scales, likelihoods.

        All of it comes from the sums. Likelihoods are those of the model on its centres: with all rows as
        centres they are the exact model's.

        Parameters
        ----------
        output : int, default=None
            Which output, where there are several.

        Returns
        -------
        Summary
            Tables ``coefficients`` and ``scale``; single values such as ``edf``, ``log_likelihood``, ``aic``
            and ``r2``. Rows left out are for `cross_validate`, which needs them.
        """
        posterior = self._require_posterior("summary")
        statistics: SumStatistics = self._statistics
        k = len(self.kernel_variance_)
        o = output_of(output, k)
        l_free = self.n_features_free_
        std = np.asarray(self.feature_coef_std_).reshape(l_free, k)[:, o]
        note = "Standard errors take γ, the kernel and the centres as known."
        errors = CoefficientErrors(std, np.full(l_free, statistics.n_free), note)
        coefficients = np.asarray(self.feature_coef_).reshape(l_free, k)[:, o]
        scales = Scales(
            ["noise variance", "kernel variance"],
            np.array([self.noise_variance_[o], self.kernel_variance_[o]]),
            np.full(2, np.nan),
            np.zeros(2),
            "",
        )
        sections: list[Table | Values] = [
            self._facts(statistics),
            coefficient_table(self, coefficients, errors),
            self._kernel_part(statistics, posterior, o),
            scales.table(),
            self._fit_values(statistics, posterior, o),
        ]
        notes = [note] if l_free else []
        notes.append("Likelihoods are those of the model on its centres; what these miss counts as noise.")
        if self.kernel_.order:
            notes.append("The kernel is known up to polynomials only: there is no likelihood of the targets.")
        return Summary(title(self, o, k), sections, notes, getattr(self, "fit_warnings_", []))

    def _facts(self, statistics: SumStatistics) -> Values:
        kept, n_features = int(self.feature_support_.sum()), self.n_features_free_
        how = f"chosen by {self.regularization!r}" if isinstance(self.regularization, str) else "given"
        gamma = float(self.regularization_)
        return Values(
            "",
            [
                Value("n_rows", "rows", statistics.n_rows),
                Value("n_centers", "centres", int(self.X_fit_.shape[0])),
                Value("kernel_missed", "… leave out", self.kernel_missed_, f"{self.kernel_missed_:.2%}"),
                Value(
                    "n_features", "features", kept, None if kept == n_features else f"{kept} of {n_features}"
                ),
                Value("kernel", "kernel", repr(self.kernel_)),
                Value("regularization", "regularization γ", gamma, f"{gamma:.4g}, {how}"),
            ],
        )

    def _kernel_part(self, statistics: SumStatistics, posterior: CentrePosterior, output: int) -> Values:
        edf = kernel_degrees_of_freedom(posterior)
        return Values(
            "kernel part",
            [
                Value("kernel_edf", "effective degrees of freedom", edf),
                Value("edf", "… with the features", edf + statistics.n_kept),
                Value("kernel_norm", "norm", float(self.rkhs_norm_[output])),
            ],
        )

    def _fit_values(self, statistics: SumStatistics, posterior: CentrePosterior, output: int) -> Values:
        units = FreeFeatures(self.features_, self.feature_names_free_).user_units()
        if posterior.penalised is not None:
            units = None
        restricted = statistics.restricted_log_likelihood(posterior, units, output)
        plain = (
            np.nan
            if self.kernel_.order or posterior.groups is not None
            else statistics.log_likelihood(posterior, output)
        )
        n_parameters = statistics.n_kept + 1 + n_estimated(self)
        n_rows, n_free = statistics.n_rows, statistics.n_free
        return Values(
            "fit",
            [
                *likelihoods(restricted, plain, n_parameters, n_free, n_rows),
                Value("r2", "R²", float(statistics.r2[output])),
                Value("n_parameters", "parameters of AIC and BIC", n_parameters),
            ],
        )
