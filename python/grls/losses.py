"""Kernel regression with predefined features and any convex loss: `GRRegressor`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import kernels
from ._models.families import FAMILIES
from ._models.family_summary import FamilySummary
from ._models.loss_fit import LossFit
from ._models.losses import PIECEWISE, Settings
from ._models.outlier_look import OutlierLook, are_others, rows_without_outliers
from ._models.piecewise import fit_piecewise
from ._models.progress import Stages
from ._models.regression import Regression
from ._models.robust_scale import FAR, robust_scale, spread_of, weighted_median
from ._models.samples import Samples, Training
from ._models.smooth_regression import has_family
from ._selection import kernel_choice, metric
from ._selection.candidates import KernelChoice
from ._selection.choice import Choice, squared_error
from ._selection.starts import drawn_rows
from ._solvers.rows import distinct_rows
from ._validation import (
    FloatArray,
    choice,
    integer,
    number_or_choice,
    real,
    require_size,
    require_unchanged,
    sample_weights,
    target_columns,
)
from ._warnings import muted
from .summary import Summary

__all__ = ["GRRegressor"]
__dir__ = __all__.copy

# Who fits a loss that is made of pieces: from the model and its training data to coefficients. Smooth ones
# are `FAMILIES`, and Newton's method fits them all.
_ENGINES: dict[str, Callable[[Any, Training], LossFit]] = dict.fromkeys(PIECEWISE, fit_piecewise)

_SMALLEST, _LARGEST = 1e-100, 1e100  # targets, so that nothing overflows or vanishes

_FAR_FROM_MEDIAN = 5.0  # robust standard deviations of all of y: outliers where the noise is not known
_WITHOUT_OUTLIERS = ("huber", "absolute")  # losses whose kernel is chosen by the other rows
_LEAST_ROWS, _ROWS_OF_FIRST_FIT = 10, 400  # that tell the noise


# What one engine stores and the other does not.
_OF_ONE_ENGINE = (
    *("regularization_path_", "criterion_path_", "cv_predictions_", "delta_", "scale_", "outliers_"),
    *("duality_gap_", "loo_predictions_", "loo_deviance_", "loo_score_", "dispersion_", "feature_coef_std_"),
)


class GRRegressor(Regression, FamilySummary):
    r"""Kernel regression with features that are not penalised, for robust, quantile and other convex losses.

    .. math:: \min_f \frac{1}{m} \sum_i V(y_i - f(x_i)) + γ c^T Φ c, \quad
              f(x) = \sum_i c_i k(x_i, x) + \sum_p β_p φ_p(x), \quad T^T c = 0

    One quadratic program serves all losses that are made of linear and quadratic pieces, and Newton's method
    the smooth ones at the end of the table, which are half the deviances of counts and of positive values.
    Their mean is μ = exp f(x), times an exposure where there is one, and is what `predict` returns.

    =================================  ======================================================================
    ``loss``                           V of a residual r
    =================================  ======================================================================
    ``"huber"``                        r², beyond δ 2δ\|r\| − δ²: least squares that outliers do not move
    ``"quantile"``                     q r for r > 0, (q − 1) r for r < 0: quantiles of y given x
    ``"absolute"``                     \|r\|: the median
    ``"epsilon_insensitive"``          max(0, \|r\| − ε): support vector regression
    ``"squared_epsilon_insensitive"``  max(0, \|r\| − ε)²
    ``"expectile"``                    q r² for r > 0, (1 − q) r² for r < 0: asymmetric least squares
    ``"poisson"``                      y log(y/μ) − y + μ: counts, and other values ≥ 0 of variance μ
    ``"gamma"``                        y/μ − log(y/μ) − 1: positive values of variance proportional to μ²
    ``"negative_binomial"``            that of counts of variance μ + αμ², which scatter more
    =================================  ======================================================================

    Parameters
    ----------
    kernel : Kernel, str or callable, default="auto"
        "auto": the kernel that `GRLSRegressor` chooses, family and widths. Outliers have no say in it: rows
        beyond 3 robust standard deviations of the noise from a first fit by Huber's loss and a Gaussian of
        the median widths are left out with ``loss="huber"`` and ``"absolute"``, and once more by what that
        kernel makes of them where this differs; with quantiles and the like they are moved to where they
        begin (smooth losses: logarithms of y drawn to their mean). Where `regularization` is a number, a
        Gaussian of one scale for all columns, each in units of its own. An object of `grls.kernels`, such as
        ``Gaussian(sigma=2.0)``, a formula of several, or one on a view of X; a name (``"gaussian"``,
        ``"laplace"``, ``"linear"``, ``"polynomial"``, ``"precomputed"``); or a function ``k(X, Z)`` that
        returns the matrix.
    features : None, str, list, callable or transformer, default="constant"
        What is not penalised: None, ``"constant"``, ``"linear"``, ``"quadratic"``, a list of columns by name
        or position, a function ``X -> (n, l)``, or any scikit-learn transformer, which is cloned and fitted
        with X and y.
    loss : str, default="huber"
        One of the table.
    quantiles : float or sequence of floats, default=0.5
        The level q of a quantile or an expectile, between 0 and 1. Several: predictions have a column for
        each, and the models share the kernel's values.
    epsilon : float, default=0.1
        Residuals up to ε cost nothing, with the ε-insensitive losses.
    delta : float or "auto", default="auto"
        Where Huber's loss becomes linear, in units of y. "auto": 1.345 times a standard deviation of the
        noise, which follows the fit: 1.4826 times the median of \|residuals\| (of rows left out, where γ is
        chosen). Rows with a residual beyond three of them are outliers, which would still draw the function
        to their side: they have no weight in the last fit, and `outliers_` says which they are. With a number
        every row counts.
    regularization : float or "auto", default="auto"
        γ > 0. The loss is a mean, so γ does not grow with the samples; ``C`` of scikit-learn's SVR is
        1/(2γm), and ``alpha`` of its PoissonRegressor and GammaRegressor 2γ. "auto" (or "cv"): the γ with the
        smallest loss of rows left out in folds, of at most 600 points; one for each output, the same for all
        levels. With Huber's loss and ``delta="auto"`` folds are where "auto" starts: γ, δ and the outliers
        are then those of single rows left out of least squares with the weights of Huber's loss, for all γ at
        once; "cv" (or a splitter for `cv`) stays with folds. Of smooth losses "auto" (or "loo") is the γ with
        the smallest deviance of single rows left out, each predicted along the Newton step from the model
        with all rows, of at most about 1100; one for all outputs.
    regularization_grid : int or array-like, default=12
        How many values of γ to try, from the largest down until smaller ones gain no more (at least 50 where
        single rows are left out with Huber's loss, but those that the likelihood excludes beyond doubt). Or
        the values themselves, of which one is chosen.
    cv : int or splitter, default=5
        Folds that choose γ. A number: rows at the same point are left out together. The features are not
        fitted again for each fold.
    feature_variance : float, default=inf
        How free the features are: the prior variance τ of their coefficients, which is a kernel Φ + τZZᵀ.
        Z are the features centred and scaled to variance one; the constant stays free. (Without the constant
        among the features they are divided by their root mean square.) Infinite: unpenalised. 0: without
        effect.
    dispersion : float or "auto", default="auto"
        α of the variance μ + αμ² with ``loss="negative_binomial"``, "auto": by likelihood, in turns with the
        model. The factor φ of the variance φμ² with ``loss="gamma"``, "auto": Pearson's statistic over the
        rows less the degrees of freedom. With ``loss="poisson"`` it is one, or a number that scales the
        variances of overdispersed counts.
    non_crossing : bool or "joint", default=False
        Whether the predictions of several quantiles are sorted in each row, so that they do not cross.
        "joint": they are fitted together under the constraint that they do not cross at any of the samples,
        and sorted elsewhere; for at most 4000 samples times levels, by an interior point method.
    solver : {"auto", "native", "ipm", "osqp"}, default="auto"
        "native" decomposes the problem and evaluates the kernel rows it needs; "ipm" is an interior point
        method that factorises the kernel matrix a dozen times or two, exact and indifferent to γ, for
        thousands of samples; "osqp" hands the quadratic program to OSQP, for hundreds. "auto" takes "ipm"
        for few samples and "native" for more.
    tol : float, default=1e-4
        Duality gap, relative to the objective, at which to stop. Newton's method stops where a step promises
        to lower the objective by less than 10⁻⁴ of this, or of this share of it.
    max_iter : int, default=-1
        Rounds, iterations or Newton steps at most; -1: no limit, or 200 Newton steps.
    cache_size : float, default=1000
        MiB of kernel rows to keep.
    verbose : int, default=0
        1: tell each kernel and each γ that is tried.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m,) or (m, k)
        Kernel coefficients c; k outputs or levels.
    feature_coef_ : ndarray of shape (l,) or (l, k)
        Feature coefficients β; zero where a feature was left out as dependent.
    regularization_ : float or ndarray of shape (n_outputs,)
        The γ used.
    regularization_path_ : ndarray of shape (g,), or list of them
        The γ tried, when γ was chosen; one array for each output.
    criterion_path_ : ndarray of shape (g,), or list of them
        The mean loss of the rows left out there, but for outliers; with ``delta="auto"`` residuals beyond
        three standard deviations of the noise count as three.
    cv_predictions_ : ndarray of shape (m,) or (m, k)
        Predictions of each row by the model without its fold, or without the row alone with Huber's loss and
        ``delta="auto"``, when γ was chosen; NaN at rows that were not drawn to choose it. Here as in
        `outliers_` and `loo_predictions_` m is the number of rows of positive weight,
        ``X[sample_weight > 0]``.
    delta_, scale_ : float or ndarray of shape (n_outputs,)
        Of Huber's loss: δ, and the robust standard deviation of the noise.
    outliers_ : ndarray of shape (m,) or (m, n_outputs)
        Of Huber's loss: which of the rows had no weight in the fit; with a number for `delta` none.
    loo_predictions_ : ndarray of shape (m,) or (m, k)
        Of smooth losses, when γ was chosen: the mean at each row by the model without it; NaN at rows that
        are too many to be left out.
    loo_deviance_, loo_score_ : float
        Their mean deviance, and the share of a constant's that they explain.
    dispersion_ : float or ndarray of shape (k,)
        Of smooth losses: α, φ or one; see `dispersion`.
    feature_coef_std_ : ndarray of shape (l,) or (l, k)
        Of smooth losses: standard errors of the features' coefficients, with γ and the kernel taken as known.
    objective_ : ndarray of shape (k,)
        The objective of the model, from its own coefficients.
    duality_gap_ : ndarray of shape (k,)
        The duality gap, relative to the objective; likewise. Smooth losses have none. Of quantiles that were
        fitted together it is that of their sum.
    n_iter_ : ndarray of shape (k,)
        Rounds, iterations or Newton steps.
    feature_variance_ : float
        The features' variance used.
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.
    fit_warnings_ : list of str
        What the fit warned of.
    feature_names_free_ : list of str
        Names of the features.
    feature_support_ : ndarray of shape (l,)
        Which features have a coefficient.
    n_features_free_ : int
        l, the number of features.
    optimization_ : KernelChoice
        With ``kernel="auto"``: the kernels that were tried.
    kernel_ : Kernel
        The kernel with everything fixed that was left to the data.
    features_ : transformer or None
        The fitted features.
    X_fit_ : {ndarray, CSR matrix} of shape (m, d)
        Training points, as the views of the kernel show them where it has some; rows of weight zero are left
        out.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    GRLSRegressor : The squared loss, with everything in closed form.
    sklearn.svm.SVR : ``loss="epsilon_insensitive"`` with the constant as the only feature.
    sklearn.linear_model.QuantileRegressor : Quantiles by features alone.
    sklearn.linear_model.PoissonRegressor : ``loss="poisson"`` with the linear kernel; also GammaRegressor.

    Notes
    -----
    γ by folds costs about ``cv`` times the γ tried of fits of at most 600 rows, which share a kernel matrix;
    ``delta="auto"`` with a given γ up to a dozen fits, usually four. With Huber's loss and both left to the
    data about a dozen decompositions of that matrix follow the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from grls import GRRegressor
    >>> x = np.linspace(0, 10, 60)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.5 * x[:, 0]
    >>> y[::7] += 20.0
    >>> model = GRRegressor("gaussian", features="linear").fit(x, y)
    >>> np.abs(model.predict([[5.0]]) - (np.sin(5.0) + 2.5)).round(1)
    array([0.])

    Three quantiles:

    >>> rng = np.random.default_rng(0)
    >>> y = np.sin(x[:, 0]) + 0.1 * (1 + x[:, 0]) * rng.standard_normal(60)
    >>> bands = GRRegressor("gaussian", loss="quantile", quantiles=[0.1, 0.5, 0.9], non_crossing=True)
    >>> bands.fit(x, y).predict(x[:2]).shape
    (2, 3)

    Counts, of some rows for longer than of others:

    >>> hours = rng.uniform(1.0, 5.0, 60)
    >>> counts = rng.poisson(hours * np.exp(1 + np.sin(x[:, 0])))
    >>> model = GRRegressor("gaussian", loss="poisson").fit(x, counts, exposure=hours)
    >>> bool(np.abs(np.log(model.predict([[1.5]])) - 2.0)[0] < 0.2)  # in an hour
    True
    >>> bool(model.predict_interval(x, with_noise=True, exposure=hours).min() >= 0)
    True
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        features: Any = "constant",
        loss: str = "huber",
        quantiles: Any = 0.5,
        epsilon: float = 0.1,
        delta: float | str = "auto",
        regularization: float | str = "auto",
        regularization_grid: Any = 12,
        cv: Any = 5,
        feature_variance: float = np.inf,
        dispersion: float | str = "auto",
        non_crossing: bool | str = False,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = -1,
        cache_size: float = 1000,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.loss = loss
        self.quantiles = quantiles
        self.epsilon = epsilon
        self.delta = delta
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.cv = cv
        self.feature_variance = feature_variance
        self.dispersion = dispersion
        self.non_crossing = non_crossing
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss in FAMILIES
        # Several outputs work, but scikit-learn has no way to tell which values they may have.
        tags.target_tags.multi_output = self.loss not in FAMILIES
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> GRRegressor:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,) or (m, k)
            Targets: for smooth losses counts, or values ≥ 0 ("gamma": > 0).
        sample_weight : array-like of shape (m,), default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.
        offset : float or array-like of shape (m,), default=None
            Of smooth losses: what is known of the logarithm of each row's mean, and not learnt.
        exposure : float or array-like of shape (m,), default=None
            Of smooth losses: the time, area or population that a row's count is of, > 0, which multiplies the
            mean; its logarithm is added to the offset.

        Returns
        -------
        self : GRRegressor
            The fitted model.
        """
        return self._fit_values(X, y, sample_weight, offset=offset, exposure=exposure)

    def _check_values(self, X: Any, y: Any, **options: Any) -> tuple[Any, FloatArray]:
        checked, values = super()._check_values(X, y, **options)
        if self.loss in FAMILIES and values.ndim == 2 and values.shape[1] == 1:
            values = np.asarray(column_or_1d(values, warn=True))
        return checked, values

    @available_if(has_family)  # type: ignore[untyped-decorator]
    def summary(self, *, output: int | None = None) -> Summary:
        """Return what a fit with a smooth loss tells: coefficients with tests, dispersion, deviances.

        Parameters
        ----------
        output : int, default=None
            Which output, where there are several.

        Returns
        -------
        Summary
            The table ``coefficients``; single values such as ``edf``, ``dispersion``, ``log_likelihood``,
            ``deviance``, ``null_deviance``, ``pearson_ratio``, ``aic``, ``explained`` (D²) and, where γ was
            chosen, ``loo_deviance`` and ``loo_explained``.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import GRRegressor
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 3, (80, 1))
        >>> model = GRRegressor("gaussian", features="linear", loss="poisson", regularization=1.0)
        >>> summary = model.fit(x, rng.poisson(np.exp(x[:, 0]))).summary()
        >>> bool(abs(summary.coefficients["coefficient"][1] - 1) < 3 * summary.coefficients["SE"][1])
        True
        >>> bool(summary.deviance < summary.null_deviance)
        True
        """
        return self._summary_smooth(output)

    def _check_parameters(self) -> None:
        choice(self.loss, "loss", (*_ENGINES, *FAMILIES))
        levels = _levels(self.quantiles)
        if len(levels) > 1 and self.loss not in ("quantile", "expectile"):
            raise ValueError(f'several quantiles need loss="quantile" or "expectile", got loss={self.loss!r}')
        real(self.epsilon, "epsilon", minimum=0)
        number_or_choice(self.delta, "delta", ("auto",), above=0)
        by = "loo" if self.loss in FAMILIES else "cv"
        number_or_choice(self.regularization, "regularization", ("auto", by), above=0)
        self._check_smooth_parameters()
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        choice(self.solver, "solver", ("auto", "native", "ipm", "osqp"))
        self._check_non_crossing()
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=-1)
        real(self.cache_size, "cache_size", above=0)

    def _check_non_crossing(self) -> None:
        if not isinstance(self.non_crossing, bool | np.bool_) and self.non_crossing != "joint":
            raise ValueError(f'non_crossing must be True, False or "joint", got {self.non_crossing!r}')
        if self.non_crossing == "joint" and self.loss != "quantile":
            raise ValueError(
                f'non_crossing="joint" is for loss="quantile", and loss is {self.loss!r}: True sorts the '
                "predictions of expectiles"
            )
        if self.non_crossing == "joint" and self.solver not in ("auto", "ipm"):
            raise ValueError(
                'non_crossing="joint" is solved by an interior point method: solver must be "auto" or "ipm", '
                f"got {self.solver!r}"
            )

    def _fit(self, samples: Samples) -> None:
        """Fit all outputs, by the engine of the loss."""
        if samples.targets.shape[1] > 1 and np.ndim(self.quantiles):
            raise ValueError(
                "several quantiles of several outputs are not fitted at once: give y one column, or one "
                "quantile"
            )
        require_size(samples.targets, _SMALLEST, _LARGEST)
        self._forget(*_OF_ONE_ENGINE)
        self._loss_fit = self.loss
        self._one_function = self._one_output and np.ndim(self.quantiles) == 0
        if self.loss in FAMILIES:
            self._fit_smooth(samples)
            return
        if samples.offset is not None:
            raise ValueError(
                f"offset and exposure are for {', '.join(map(repr, FAMILIES))}, and loss is {self.loss!r}"
            )
        training = self._prepare(samples)
        self._store(training, _ENGINES[self.loss](self, training))
        self._stages.done("solve")

    def _store(self, training: Training, fit: LossFit) -> None:
        self._store_features(training.features, fit.kept)
        self._store_kernel(training)
        self.dual_coef_ = np.ascontiguousarray(self._per_output(fit.c))
        self._store_coefficients(training.features, fit.beta)
        self._store_leverage(training.T, training.samples.weights)
        self.objective_, self.duality_gap_, self.n_iter_ = fit.objective, fit.gap, fit.iterations
        one = len(fit.regularization) == 1
        self.regularization_ = float(fit.regularization[0]) if one else fit.regularization
        self.feature_variance_ = float(self.feature_variance)
        if fit.paths is not None:
            self.regularization_path_ = fit.paths[0].path if one else [each.path for each in fit.paths]
            criteria = [each.criterion for each in fit.paths]
            self.criterion_path_ = criteria[0] if one else criteria
            self.cv_predictions_ = self._shaped(np.hstack([each.predictions for each in fit.paths]))
        for name, value in fit.more.items():
            setattr(self, name, value)

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._one_function else values

    def _learnt(self, checked: Any) -> FloatArray:
        c = self._kernel_coefficients()
        support = np.flatnonzero(np.any(c != 0, axis=1))
        if self.kernel_.pairwise or 2 * len(support) > len(c):
            return super()._learnt(checked)
        if len(support) == 0:
            return np.zeros((checked.shape[0], c.shape[1]))
        return np.asarray(self.kernel_.times(checked, self.X_fit_[support], np.ascontiguousarray(c[support])))

    def predict(self, X: Any, return_std: bool = False, *, offset: Any = None, exposure: Any = None) -> Any:
        """Return the values of the model function; of smooth losses the means.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Of smooth losses: whether to return standard deviations of the means too, to first order;
            `predict_interval` gives bands that are never negative.
        offset, exposure : float or array-like of shape (n,), default=None
            Of smooth losses: what is added to the logarithm of the mean, and what multiplies the mean, at
            these points. Without them the means are those of one unit of exposure.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, k)
            Predictions, a column for each output or for each of several levels.
        std : ndarray of shape (n,) or (n, k)
            With `return_std`.
        """
        check_is_fitted(self)
        require_unchanged("loss", getattr(self, "_loss_fit", self.loss), self.loss)
        if self.loss in FAMILIES:
            return self._predict_smooth(X, return_std, offset, exposure)
        if return_std or offset is not None or exposure is not None:
            raise ValueError(
                f"return_std, offset and exposure are for {', '.join(map(repr, FAMILIES))}, and loss is "
                f"{self.loss!r}"
            )
        values = super().predict(X)
        if self.non_crossing and np.ndim(self.quantiles):
            ranks = np.argsort(np.argsort(_levels(self.quantiles), kind="stable"), kind="stable")
            values = np.sort(values, axis=1)[:, ranks]
        return values

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        """Return the share of the loss that the model explains.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        y : array-like of shape (n,) or (n, n_outputs)
            Their values.
        sample_weight : array-like of shape (n,), default=None
            Weights in the mean.
        offset, exposure : float or array-like of shape (n,), default=None
            As in `predict`.

        Returns
        -------
        float
            1 − (mean loss of the model) ÷ (mean loss of the best constant), averaged over outputs and levels:
            R² of the squared loss, D² of deviances. 1 is best, and a model worse than a constant has less
            than 0.
        """
        check_is_fitted(self)
        require_unchanged("loss", getattr(self, "_loss_fit", self.loss), self.loss)
        if self.loss in FAMILIES:
            return self._score_smooth(X, y, sample_weight, offset, exposure)
        if offset is not None or exposure is not None:
            raise ValueError(
                f"offset and exposure are for {', '.join(map(repr, FAMILIES))}, and loss is {self.loss!r}"
            )
        predictions = self.predict(X)
        predictions = predictions.reshape(len(predictions), -1)
        levels = _levels(self.quantiles) if self.loss in ("quantile", "expectile") else [0.5]
        n_outputs = 1 if len(levels) > 1 else predictions.shape[1]
        values = target_columns(y, predictions, n_outputs)
        weights = sample_weights(sample_weight, values)
        w = np.ones(len(values)) if weights is None else weights
        scores = []
        for k, f in enumerate(predictions.T):
            target = values[:, min(k, values.shape[1] - 1)]
            terms = PIECEWISE[self.loss](self._settings(k, levels[min(k, len(levels) - 1)]))
            constant = _best_constant(terms.loss, target, w)
            scores.append(_explained(terms.loss(target - f), terms.loss(target - constant), w))
        return float(np.mean(scores))

    def _settings(self, output: int, level: float) -> Settings:
        """Return what the loss of one output depends on, after the fit."""
        delta = np.inf
        if self.loss == "huber":
            delta = float(np.atleast_1d(self.delta_)[min(output, np.size(self.delta_) - 1)])
        return Settings(level, float(self.epsilon), delta)

    def _label_columns(self, samples: Samples) -> FloatArray:
        return self._working_responses(samples) if self.loss in FAMILIES else samples.targets

    def _chosen_kernel(
        self,
        choose: Choice,
        training: Training,
        prepare: Callable[[kernels.Kernel], kernels.Kernel],
        stages: Stages,
    ) -> tuple[kernels.Kernel, KernelChoice]:
        samples = training.samples
        looks: list[OutlierLook] = []
        rows = np.arange(training.n_samples)
        if self.loss not in FAMILIES:
            looks = [_first_look(samples, y) for y in samples.targets.T]
            choose = _drawn_in(choose, looks)
            if self.loss in _WITHOUT_OUTLIERS:
                rows = rows_without_outliers(looks, samples.targets)
        if not isinstance(self.regularization, str):
            return super()._chosen_kernel(choose.among(rows), training, prepare, stages)
        choose.counts = samples.weights

        def chosen_by(rows: Any) -> tuple[kernels.Kernel, KernelChoice]:
            part = choose.among(rows)
            return kernel_choice.choose_kernel(part, noisy=True, prepare=prepare, stages=stages)

        kernel, record = chosen_by(rows)
        if self.loss in _WITHOUT_OUTLIERS:
            # The kernel of the first look was nobody's choice.
            drawn = drawn_rows(samples.X, _ROWS_OF_FIRST_FIT)
            drawn = np.arange(training.n_samples) if drawn is None else drawn
            pairs = zip(looks, samples.targets.T, strict=True)
            looks = [look.with_kernel(kernel, training, y, drawn) for look, y in pairs]
            again = rows_without_outliers(looks, samples.targets)
            if are_others(again, rows, training.n_samples):
                kernel, record = chosen_by(again)
        kernel, samples.X = metric.seen_by(kernel, record, samples.X, samples.weights)
        return kernel, record

    def _equivalent_shift(self, training: Training) -> float:
        if self.loss in FAMILIES:
            return self._smooth_shift(training)
        weights = training.samples.weights
        w = np.ones(training.n_samples) if weights is None else weights
        shift = float(self.regularization) * float(w.sum())
        levels = _levels(self.quantiles)
        if PIECEWISE[self.loss](Settings(levels[0], float(self.epsilon))).is_linear:
            # |r| pulls as r² does at half a unit: the unit here is how far the targets are apart.
            shift *= 2 * float(np.mean([spread_of(y, training.T, w) for y in training.samples.targets.T]))
        return shift


def _first_look(samples: Samples, y: FloatArray) -> OutlierLook:
    """Return what Huber's loss with a kernel that needs no choice makes of at most some rows.

    Where they tell no noise, as where a fold has nothing to be predicted from, the median of all rows takes
    its place.
    """
    rows = drawn_rows(samples.X, _ROWS_OF_FIRST_FIT)
    rows = np.arange(len(y)) if rows is None else rows
    weights = np.ones(len(y)) if samples.weights is None else samples.weights
    X = samples.X[rows]
    points = X[distinct_rows(X)[0]]
    if points.shape[0] >= _LEAST_ROWS:
        # Of sparse columns most distances are zero.
        width = "median" if sparse.issparse(X) else "medians"
        first = GRRegressor(kernels.Gaussian(width).resolve(points))
        with muted(ConvergenceWarning):
            first.fit(X, y[rows], weights[rows])
        if first.scale_ > 0:
            return OutlierLook(first.predict(samples.X), FAR * first.scale_)
    f = np.full(len(y), weighted_median(y, weights))
    return OutlierLook(f, _FAR_FROM_MEDIAN * robust_scale(y - f, weights))


def _drawn_in(choose: Choice, looks: list[OutlierLook]) -> Choice:
    """Return the choice for targets whose outliers are where these begin."""
    pairs = zip(looks, choose.targets.T, strict=True)
    targets = np.column_stack([look.drawn_in(y) for look, y in pairs])
    return replace(choose, targets=targets, loss=squared_error(targets, choose.problem.weights))


def _levels(quantiles: Any) -> list[float]:
    """Return the levels, checked."""
    if np.ndim(quantiles) > 1 or np.size(quantiles) == 0:
        raise ValueError(f"quantiles must be a number or a sequence of numbers, got {quantiles!r}")
    levels = [quantiles] if np.ndim(quantiles) == 0 else list(quantiles)
    for level in levels:
        if not 0 < real(level, "quantiles") < 1:
            raise ValueError(f"quantiles must lie between 0 and 1, both excluded, got {level!r}")
    return [float(level) for level in levels]


def _best_constant(loss: Callable[[FloatArray], FloatArray], y: FloatArray, w: FloatArray) -> float:
    """Return the constant of the smallest mean loss, to the precision that a score needs."""
    low, high = float(y.min()), float(y.max())
    for _ in range(80):  # convex in the constant
        third = (high - low) / 3
        if np.average(loss(y - low - third), weights=w) <= np.average(loss(y - high + third), weights=w):
            high -= third
        else:
            low += third
    return 0.5 * (low + high)


def _explained(of_model: FloatArray, of_constant: FloatArray, w: FloatArray) -> float:
    model, constant = float(np.average(of_model, weights=w)), float(np.average(of_constant, weights=w))
    if constant > 0:
        return 1 - model / constant
    return 1.0 if model == 0 else 0.0
