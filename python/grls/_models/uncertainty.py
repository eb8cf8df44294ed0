"""How sure a regression is: variances of its function, its coefficients, and of what it had to estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._selection.estimation_error import EstimationError, Refit, estimation_error
from .._selection.merged import merge
from .._selection.regularization import warn_of_copies
from .._solvers.results import Outputs
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import ConfoundedFeaturesWarning
from ..features._gradient import column_spreads
from ..kernels.polynomials import polynomial_columns
from .chosen import Chosen
from .cross_validation import CrossValidation, as_given, leave_out
from .deviations import require_finite, standard_deviations
from .fitted import FittedProblem
from .gradient import function_gradient, require_differentiable
from .posterior import PosteriorFunction
from .samples import FreeFeatures, Training, noise_variances

_TINY = float(np.finfo(np.float64).tiny)
INFLATED = 10.0  # times the variance that a coefficient has beside a known kernel part: the kernel's doing


class Uncertainty(PosteriorFunction):
    """A regressor of least squares with predictive variances and standard errors."""

    _reads_coefficients = True

    def _set_uncertainty(self, training: Training, chosen: Chosen, solution: Outputs) -> None:
        # REML estimate of τ² in y = Tβ + f + noise, cov f = τ²Φ, var noise = τ²γΣw / w_i.
        problem = chosen.problem
        merged = merge(problem, training.samples.targets, self._counts_fit)
        if isinstance(self.regularization, str):
            warn_of_copies(merged)
        shifts = self.regularization_ * problem.total_weight * np.ones_like(solution.quadratic)
        n_free = merged.n_rows - len(solution.kept) - problem.n_groups
        estimated = merged.quadratic(solution.quadratic, shifts) / (n_free if n_free > 0 else np.nan)
        given = self._given_variances()
        is_known = given.kernel is not None or given.noise is not None
        self.degrees_of_freedom_ = np.inf if is_known else float(n_free)
        self.kernel_variance_, self.noise_variance_ = given.both(estimated, shifts)
        variance = self.kernel_variance_
        computed = chosen.feature_covariance(solution) * variance[:, None, None]
        # A conditionally positive definite kernel is known up to polynomials only, and so is their share.
        found = polynomial_columns(self.kernel_, training.samples.X, training.spanned)
        constant = training.spanned.shape[1] - training.T.shape[1]  # of the groups, if they have effects
        self._undefined = [p - constant for p in found if p >= constant]
        self._set_coefficient_errors(computed)
        self._set_inflation(training, computed)
        self._column_spreads = column_spreads(training.features.transformer, training.samples.given)

    def _set_coefficient_errors(self, computed: FloatArray) -> None:
        """Store the covariance of the features' coefficients, given (k, l, l) as they are computed with."""
        self._computed_cov = computed
        R = FreeFeatures(self.features_, self.feature_names_free_).user_units()
        covariance = computed.copy() if R is None else R @ computed @ R.T
        if self._undefined:
            covariance[:, self._undefined], covariance[:, :, self._undefined] = np.nan, np.nan
        self.feature_coef_cov_ = covariance[0] if self._one_output else covariance
        diagonal = np.diagonal(covariance, axis1=1, axis2=2).T  # (l, k)
        std = np.sqrt(np.where(np.isnan(diagonal), np.nan, np.maximum(diagonal, 0)))
        self.feature_coef_std_ = np.ascontiguousarray(self._per_output(std))

    def _set_inflation(self, training: Training, computed: FloatArray) -> None:
        """Store what the kernel part adds to the coefficients' variances; warn where it takes them over."""
        samples, T = training.samples, np.asarray(training.T, dtype=np.float64)
        inflation = np.full((T.shape[1], samples.targets.shape[1]), np.nan)
        kept = np.flatnonzero(self.feature_support_)
        if len(kept) and self._leverage is not None:
            # With the kernel part known the noise is all there is.
            alone = np.outer(np.sum(self._leverage.root[kept] ** 2, axis=1), self.noise_variance_)
            own = np.diagonal(computed, axis1=1, axis2=2).T[kept]
            with np.errstate(divide="ignore", invalid="ignore"):
                inflation[kept] = own / alone
        self.feature_inflation_ = np.ascontiguousarray(self._per_output(inflation))
        if not (inflation > INFLATED).any():
            return
        std = np.sqrt(np.maximum(np.diagonal(computed, axis1=1, axis2=2).T, 0))
        # Large, and large because of the kernel: features may be ill-determined by themselves.
        large = std * _spread(T, samples.weights)[:, None] > _spread(samples.targets, samples.weights)
        confounded = np.any(large & (inflation > INFLATED), axis=1)
        confounded[self._undefined] = False
        if confounded.any():
            named = ", ".join(np.array(self.feature_names_free_)[confounded])
            tuned = self._chosen_by == "reml" and hasattr(self, "optimization_")
            by_data = 'let the data choose the kernel\'s width (regularization="reml", optimize=True), or '
            warn(
                f"the kernel {self.kernel_!r} can express what these features say, so that their "
                f"coefficients are hardly determined: {named} (feature_coef_std_ is larger than the targets' "
                "spread allows; predictions are not concerned). To read the coefficients "
                f"{'' if tuned else by_data}give the kernel a smaller width",
                ConfoundedFeaturesWarning,
            )

    def cross_validate(self, cv: Any = 5, groups: Any = None) -> CrossValidation:
        """Predict rows by the model without them, in closed form.

        The features' coefficients are those of a fit without the rows; γm, the kernel and the variances are
        those of the model. Features that a transformer learnt from X, as topics, have seen all rows; those
        made from y cannot be left out, which is an error.

        Parameters
        ----------
        cv : int, "loo", splitter or iterable of splits, default=5
            The number of folds of scikit-learn's `KFold`; "loo", single rows (with those that agree with them
            in X and y); or any splitter, with what it does not train with left out. A splitter sees the rows
            of positive weight; splits that are listed hold positions among all rows given to `fit`.
        groups : array-like of shape (m,), default=None
            The group of each row given to `fit`, or of each of positive weight; those of the fit by default.
            A number of folds is then that of `GroupKFold`, at most one for each group.

        Returns
        -------
        CrossValidation
            Predictions, standard deviations, standardised residuals and logarithmic scores.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import GRLSRegressor
        >>> from grls.kernels import Gaussian
        >>> x = np.linspace(0, 3, 40)[:, None]
        >>> y = np.sin(5 * x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)
        >>> model = GRLSRegressor(Gaussian(0.5), regularization="reml").fit(x, y)
        >>> model.cross_validate(cv="loo").rmse.shape
        (40,)
        >>> model.cross_validate(cv=5).n_folds
        5
        """
        found = leave_out(self, cv, groups, None)
        residuals = found.targets - found.values
        assert found.variances is not None
        std = np.sqrt(np.maximum(found.variances, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = residuals / std
            log_score = -0.5 * (np.log(2 * np.pi) + z**2) - np.log(std)
        shaped = [self._shaped(part) for part in (found.values, residuals, std, z, log_score)]
        return CrossValidation(as_given(self, found.rows), found.fold, *shaped)

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        with_noise: bool = False,
        unconditional: bool = False,
        noise: Any = None,
        return_gradient: bool = False,
    ) -> Any:
        """Return the values of the model function, and how sure they are.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations too. They include the uncertainty of the features'
            coefficients: far from the data the band widens as the trend's own uncertainty does. The first
            call costs a factorisation as the fit did, whose factor is kept unless ``keep_factor=False``;
            after ``solver="cg"`` m/50 rows or fewer are solved for instead.
        return_cov : bool, default=False
            Whether to return the covariance matrix between the points instead.
        with_noise : bool, default=False
            Whether they are those of new observations, of weight one, rather than of the function.
        unconditional : bool, default=False
            Whether they account for γ, and the kernel's parameters with `optimize`, being estimates; it needs
            ``regularization="reml"``. The first call costs some further fits, two for each parameter; see
            `feature_covariance`.
        noise : float or array-like of shape (n,), default=None
            With `with_noise`, of a model that was fitted with known variances of the noise: those at the new
            points, in the same units.
        return_gradient : bool, default=False
            Whether to return the gradient of the model function by the columns of X too, exact for kernels
            with a formula, `kernel.after` of a matrix, trends and `grls.features.Columns`; of other features
            it is that of central differences, with steps of 6e-6 times the spread of a column in the training
            rows. Where a kernel has a kink at a training point (`Laplace`, `Spherical`, `Polyharmonic` of
            degree 1), that point's own share counts as zero there. X is a dense table of numbers; kernels of
            labels, functions of Python, precomputed ones and those after other transformers have no gradient,
            which is an error.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, k)
            Predictions.
        std : ndarray of shape (n,) or (n, k)
            With `return_std`.
        cov : ndarray of shape (n, n) or (n, n, k)
            With `return_cov`.
        gradient : ndarray of shape (n, d) or (n, d, k)
            With `return_gradient`, the last of what is returned.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import GRLSRegressor
        >>> from grls.kernels import Gaussian
        >>> x = np.linspace(0, 3, 30)[:, None]
        >>> model = GRLSRegressor(Gaussian(1.0), regularization=1e-8).fit(x, np.sin(x[:, 0]))
        >>> mean, gradient = model.predict([[0.0], [1.0]], return_gradient=True)
        >>> bool(np.abs(gradient[:, 0] - np.cos([0.0, 1.0])).max() < 1e-2)
        True
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or for return_cov, not for both")
        if return_gradient:
            check_is_fitted(self)
            require_differentiable(self, X)
        points, T = self._evaluated(X)
        feature_part, learnt_part = self._parts_at(points, T)
        mean = self._shaped(feature_part + learnt_part)
        out: tuple[FloatArray, ...] = (mean,)
        if return_std or return_cov:
            spread = self._spread_at(points, T, return_cov, unconditional, noise, X if with_noise else None)
            out += (spread[..., 0] if mean.ndim == 1 else spread,)
        if return_gradient:
            gradient = function_gradient(self, X)
            out += (gradient[..., 0] if mean.ndim == 1 else gradient,)
        return out if len(out) > 1 else mean

    def _spread_at(
        self, points: Any, T: FloatArray, return_cov: bool, unconditional: bool, noise: Any, X: Any
    ) -> FloatArray:
        """Return standard deviations (n, k) at points, or the covariance (n, n, k).

        With the noise where the rows X as given are not None.
        """
        variance = self._function_variance(points, T, covariance=return_cov)  # (n[, n], k)
        require_finite(variance)
        if unconditional:
            self._add_estimation_variance(points, T, variance)
        if X is not None:
            own = np.einsum("iik->ik", variance) if return_cov else variance  # a view
            own += self._noise_at(noise, points, X)[:, None] * self.noise_variance_
        return variance if return_cov else standard_deviations(variance)

    def _noise_at(self, noise: Any, points: Any, X: Any) -> FloatArray:
        """Return the noise at new points, checked, which are rows X, in units of `noise_variance_`, (n,)."""
        n_rows = int(points.shape[0])
        if noise is None:
            if self._knows_noise:
                raise ValueError(
                    "the model was fitted with the noise of each row: give that of the new rows too, "
                    "predict(X, …, with_noise=True, noise=…)"
                )
            return np.ones(n_rows)
        if not self._knows_noise:
            raise ValueError("noise is for models that were fitted with it: fit(X, y, noise=…)")
        return noise_variances(np.full(n_rows, noise) if np.ndim(noise) == 0 else noise, n_rows)

    def feature_covariance(self, unconditional: bool = False) -> FloatArray:
        """Return the covariance of the features' coefficients.

        Parameters
        ----------
        unconditional : bool, default=False
            Whether it accounts for γ, and the kernel's parameters with `optimize`, being estimates, by the
            delta method on the restricted likelihood; it needs ``regularization="reml"``. The first call
            costs some further fits, two for each parameter, and four evaluations of the gradient.
            Intervals take the quantiles of a t distribution with `feature_degrees_of_freedom`.

        Returns
        -------
        ndarray of shape (l, l) or (k, l, l)
            The covariance; without `unconditional` it is `feature_coef_cov_`.
        """
        check_is_fitted(self)
        covariance = self.feature_coef_cov_
        if unconditional:
            R = FreeFeatures(self.features_, self.feature_names_free_).user_units()
            for slope in self._error_of_estimation().slopes(lambda end: end.beta):
                moved = slope if R is None else R @ slope  # (l, k)
                added = np.einsum("pk,qk->kpq", moved, moved)
                covariance = covariance + (added[0] if self._one_output else added)
        return np.array(covariance)

    def feature_degrees_of_freedom(self) -> FloatArray:
        """Return the degrees of freedom of the coefficients' standard errors, by Satterthwaite's rule.

        The variance of a coefficient is an estimate as well. Where the kernel can nearly express a feature,
        it depends on γ and the kernel's width, of which the data tell little, and a normal quantile makes
        intervals too short: take ``scipy.stats.t.ppf(0.975, df)`` times the root of
        ``feature_covariance(unconditional=True)``. It needs ``regularization="reml"``.

        Returns
        -------
        ndarray of shape (l,) or (l, k)
            Between 2 and `degrees_of_freedom_`; NaN where a feature has no standard error.
        """
        check_is_fitted(self)
        R = FreeFeatures(self.features_, self.feature_names_free_).user_units()

        def variances(end: Refit) -> FloatArray:
            covariance = end.feature_covariance
            covariance = covariance if R is None else R @ covariance @ R.T
            return np.diagonal(covariance, axis1=1, axis2=2).T  # (l, k)

        shape = (self.n_features_free_, len(self.kernel_variance_))
        found = self._error_of_estimation().degrees_of_freedom(variances, self.degrees_of_freedom_)
        degrees = self._per_output(np.array(np.broadcast_to(found, shape)))
        known = self.feature_support_.reshape(-1, *[1] * (degrees.ndim - 1)) & np.isfinite(
            self.feature_coef_std_
        )
        return np.where(known, degrees, np.nan)

    def _error_of_estimation(self) -> EstimationError:
        """Return how sure γ and the kernel's parameters are; computed when first asked for."""
        known = self.__dict__.get("_estimation_error")
        if known is None:
            require_likelihood(self)
            fitted = FittedProblem.of(self)
            record, gamma = getattr(self, "optimization_", None), float(self.regularization_)
            path, counts = self.regularization_path_, self._counts_fit
            known = estimation_error(fitted.problem, fitted.targets, gamma, record, path, counts)
            self._estimation_error = known
        return known

    def _add_estimation_variance(self, points: Any, T: FloatArray, variance: FloatArray) -> None:
        """Add to variances (n, k) or (n, n, k) that γ and the kernel's parameters are estimates."""
        for slope in self._error_of_estimation().slopes(lambda end: end.at(points, T, self.X_fit_)):
            variance += np.einsum("ik,jk->ijk", slope, slope) if variance.ndim == 3 else slope**2


def _spread(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the weighted standard deviation of each column."""
    share = np.full(len(values), 1 / len(values)) if weights is None else weights / weights.sum()
    away = values - share @ values
    size = np.abs(away).max(axis=0, initial=_TINY)  # squares of large numbers are none
    return np.asarray(size * np.sqrt(share @ (away / size) ** 2))


def require_likelihood(model: Any) -> None:
    """ValueError where γ was not estimated by a likelihood that tells how sure it is."""
    if getattr(model, "_chosen_by", model.regularization) != "reml" or not hasattr(
        model, "regularization_path_"
    ):
        raise ValueError(
            "unconditional=True needs γ to be chosen by the restricted likelihood, which tells how sure it "
            f'is: set regularization="reml" and fit again, got regularization={model.regularization!r}'
        )
    if model.degrees_of_freedom_ == np.inf:
        raise ValueError(
            "unconditional=True is about variances that were estimated: it needs kernel_variance=None and "
            "noise_variance=None"
        )
    if model.per_output:
        raise ValueError("unconditional=True needs one γ for all outputs: set per_output=False")
    if model.feature_variance_ != np.inf:
        raise ValueError(
            f"unconditional=True needs unpenalised features: feature_variance must be inf, got "
            f"{model.feature_variance_!r}"
        )
    if model.formulation != "exact":
        raise ValueError('unconditional=True needs formulation="exact"')
