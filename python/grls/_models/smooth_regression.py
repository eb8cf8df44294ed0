"""Regression with a smooth loss: counts and positive values, whose means are exponentials of functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._selection.merged import Observations
from .._selection.regularization import warn_of_unusual_weights
from .._selection.starts import drawn_rows
from .._solvers.newton import Minimum, State
from .._validation import FloatArray, miss_rate, real, sample_weights, target_columns
from ..kernels.polynomials import polynomial_columns
from .deviations import standard_deviations
from .families import FAMILIES, NO_SCATTER, Family, FamilyRows
from .family_loss import FamilyLoss
from .predictive import mixture_quantiles
from .regression import RegressionFunction
from .samples import Samples, Training, offsets
from .smooth_machine import (
    ChosenGamma,
    SmoothMachine,
    SolverFeatures,
    most_rows_to_choose,
    solver_features,
    solver_problem,
)

# The dispersion of a negative binomial family and the model take turns: relative change that ends them.
_STEADY, _MOST_TURNS = 1e-7, 100
_FIRST_SHAPE = 1.0
_NEWTON_SHARE, _NEWTON_STEPS = 1e-4, 200

_RUNS_AWAY = (
    "the features alone send the means of some rows without counts to zero: their coefficients would be "
    "infinite; give a finite feature_variance, or fewer features"
)


def has_family(model: Any) -> bool:
    """Whether the loss of a model is one of the `FAMILIES`; AttributeError where it is not."""
    if model.loss in FAMILIES:
        return True
    known = ", ".join(repr(name) for name in FAMILIES)
    raise AttributeError(f"this is for loss={known}; got loss={model.loss!r}")


class SmoothRegression(RegressionFunction, SmoothMachine):
    """A regressor with one of the `FAMILIES` as loss; a subclass has the parameters `loss` and `dispersion`.

    Its methods begin with what `fit`, `predict`, `score` and `summary` of a subclass call.
    """

    # Other losses of the same estimator have several of these.
    regularization_: Any
    regularization_path_: Any
    criterion_path_: Any

    @property
    def _family(self) -> Family:
        return FAMILIES[self.loss]

    def _check_smooth_parameters(self) -> None:
        """Raise ValueError or TypeError for parameters that these losses cannot have."""
        if not isinstance(self.dispersion, str):
            real(self.dispersion, "dispersion", above=0)
        elif self.dispersion != "auto":
            raise ValueError(f'dispersion must be "auto" or a number, got {self.dispersion!r}')

    def _newton_limits(self) -> tuple[float, int]:
        # The parameter is about duality gaps; a step that promises so little leaves far less to gain.
        return _NEWTON_SHARE * float(self.tol), _NEWTON_STEPS if self.max_iter < 0 else max(self.max_iter, 1)

    def _working_responses(self, samples: Samples) -> FloatArray:
        """Return logarithms (m, k) for which least squares choose a kernel."""
        return self._loss_of(samples, None).working_responses()

    def _smooth_shift(self, training: Training) -> float:
        """Return γΣw of the least-squares problem whose loss is about as curved as this one's."""
        loss = self._loss_of(training.samples, None)
        f = loss.null_functions()
        curvature = np.mean([loss.s @ loss.rows(p).curvature(f[:, p]) for p in range(f.shape[1])])
        return 2 * float(self.regularization) * float(loss.s.sum()) ** 2 / float(curvature)

    def _loss_of(self, samples: Samples, problem: Any) -> FamilyLoss:
        m = len(samples.targets)
        s = np.ones(m) if samples.weights is None else samples.weights
        offset = np.zeros(m) if samples.offset is None else samples.offset
        observations = Observations.single(m)
        if problem is not None:
            observations = Observations.of([samples.X, problem.T, offset[:, None]], samples.targets, s)
        return FamilyLoss(
            problem, self._family, samples.targets, offset, self._first_shapes(samples), s, observations
        )

    def _first_shapes(self, samples: Samples) -> FloatArray:
        given = _FIRST_SHAPE if isinstance(self.dispersion, str) else self.dispersion
        return np.full(samples.targets.shape[1], float(given))

    def _has_given_shape(self) -> bool:
        return self._family.shape is None or not isinstance(self.dispersion, str)

    def _fit_smooth(self, samples: Samples) -> None:
        """Fit all outputs."""
        self._family.check(samples.targets)
        training = self._prepare(samples)
        features = solver_features(training, float(self.feature_variance))
        problem = solver_problem(training, features, stored=False, what=self.loss)
        with self._definite(training):
            loss, chosen, minima = self._take_turns(
                training, features, self._loss_of(training.samples, problem)
            )
            state = State.joined([each.state for each in minima])
            self._stages.done("solve")
            left_out = self._left_out(loss, state, chosen)
            if left_out is not None and not self._has_given_shape() and chosen.rows is None:
                left_out = loss.leave_one_out(state, chosen.gamma)  # by the dispersion found last
            if left_out is not None:
                self._stages.done("leave one out")
        self._warn_unless_converged(minima)
        self._store_smooth(training, features, loss, minima, state)
        self._store_smooth_choice(loss, chosen, left_out)
        self._store_smooth_errors(loss, state)
        self._stages.done("uncertainty")

    def _take_turns(
        self, training: Training, features: SolverFeatures, loss: FamilyLoss
    ) -> tuple[FamilyLoss, ChosenGamma, list[Minimum]]:
        """Return the loss with its dispersion, γ, and the minima."""
        chooses = isinstance(self.regularization, str)
        if chooses:
            warn_of_unusual_weights(loss.observations.mean_count, self.regularization)
        for _ in range(2 if chooses and not self._has_given_shape() else 1):  # γ again for the right one
            chosen = self._choose_smooth(training, features, loss)
            start = loss.start() if chosen.start is None else chosen.start
            for _ in range(_MOST_TURNS):
                minima = loss.minima(chosen.gamma, start, *self._newton_limits())
                self._require_smooth_attained(loss, minima)
                if self._has_given_shape():
                    break
                start = State.joined([each.state for each in minima])
                shapes = loss.likely_shapes(start.f, chosen.gamma)
                steady = np.all(np.abs(np.log(shapes / loss.shapes)) <= _STEADY)
                loss = loss.with_shapes(shapes)
                if steady:
                    break
        return loss, chosen, minima

    def _choose_smooth(self, training: Training, features: SolverFeatures, loss: FamilyLoss) -> ChosenGamma:
        """Leave γ to the data, if it was left to them."""
        if not isinstance(self.regularization, str):
            return ChosenGamma(float(self.regularization))
        most = most_rows_to_choose(loss.n_functions, features.T.shape[1])
        rows = drawn_rows(training.samples.X, most) if training.n_samples > most else None
        if rows is not None and not loss.y[rows].any(axis=0).all():
            rows = None
        return self._choose_gamma(loss, rows, 5, self._require_smooth_attained)

    def _require_smooth_attained(self, loss: FamilyLoss, minima: list[Minimum]) -> None:
        """Raise ValueError where there is no minimum."""
        if loss.runs_away(np.hstack([each.state.f for each in minima])):
            raise ValueError(_RUNS_AWAY)

    def _store_smooth(
        self,
        training: Training,
        features: SolverFeatures,
        loss: FamilyLoss,
        minima: list[Minimum],
        state: State,
    ) -> None:
        self._store_features(
            training.features, minima[0].kept if features.parts is None else features.parts.kept
        )
        self._store_kernel(training)
        self.dual_coef_ = np.ascontiguousarray(self._per_output(state.c))
        self._store_coefficients(training.features, features.coefficients(state.beta, state.c))
        self._store_leverage(training.T, training.samples.weights)
        self._T_fit, self._weights_fit = training.T, training.samples.weights
        self._targets_fit, self._offset_fit = training.samples.targets, training.samples.offset
        self._f_fit, self._shapes_fit = state.f, loss.shapes
        self.objective_ = np.array([each.objective for each in minima])
        self.n_iter_ = np.array([each.iterations for each in minima])

    def _store_smooth_choice(
        self, loss: FamilyLoss, chosen: ChosenGamma, left_out: FloatArray | None
    ) -> None:
        self.regularization_, self.feature_variance_ = chosen.gamma, float(self.feature_variance)
        if chosen.selection is None or left_out is None:
            return
        self.regularization_path_ = chosen.selection.path
        self.criterion_path_ = chosen.selection.criterion
        self.loo_predictions_ = self._shaped(loss.means(left_out))
        known = np.isfinite(left_out).all(axis=1)
        part = loss if known.all() else loss.take(np.flatnonzero(known))
        self.loo_deviance_ = part.criterion(left_out[known])
        self.loo_score_ = _explained(part.deviances(left_out[known]), part.deviances(part.null_functions()))

    def _store_smooth_errors(self, loss: FamilyLoss, state: State) -> None:
        """Keep dispersions, and the standard errors that they scale."""
        edf = loss.on_average().leverages(state.f, self.regularization_).sum(axis=0)
        scales = np.ones(loss.n_functions)
        if self._family.shape is None and not isinstance(self.dispersion, str):
            scales = np.full(loss.n_functions, float(self.dispersion))
        elif self._family.has_scale:
            left = float(loss.s.sum()) - edf
            with np.errstate(divide="ignore", invalid="ignore"):
                scales = np.where(left > 0, loss.pearson(state.f) / left, np.nan)
            scales[scales <= NO_SCATTER] = 0.0
        self._edf_fit, self._scales_fit = edf, scales
        dispersions = scales if self._family.shape is None else loss.shapes
        self.dispersion_ = float(dispersions[0]) if self._one_output else dispersions
        std = np.sqrt(np.maximum(self._coefficient_variance() * scales, 0))
        self.feature_coef_std_ = np.ascontiguousarray(self._per_output(std))

    def _fitted_loss(self) -> tuple[SolverFeatures, FamilyLoss]:
        training = self._fitted_training()
        training.samples.offset = self._offset_fit
        features = solver_features(training, float(self.feature_variance_))
        problem = solver_problem(training, features, stored=False, what=self.loss)
        return features, self._loss_of(training.samples, problem).with_shapes(self._shapes_fit).on_average()

    @available_if(has_family)  # type: ignore[untyped-decorator]
    def linear_predictor(
        self, X: Any, return_std: bool = False, *, offset: Any = None, exposure: Any = None
    ) -> Any:
        """Return the logarithm of the mean, and how sure it is; of the losses that have one.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations too, by Laplace's approximation: the curvature of the loss
            at the minimum as the precision of a Gaussian, with γ and the kernel taken as known. They include
            the uncertainty of the features' coefficients.
        offset, exposure : float or array-like of shape (n,), default=None
            As in `predict`.

        Returns
        -------
        values : ndarray of shape (n,) or (n, k)
            Σ_i c_i k(x_i, x) + Σ_p β_p φ_p(x) plus the offset and the logarithm of the exposure.
        std : ndarray of shape (n,) or (n, k)
            With `return_std`.
        """
        check_is_fitted(self)
        eta, std = self._linear_predictor(X, return_std, offset, exposure)
        return (self._shaped(eta), self._shaped(std)) if return_std else self._shaped(eta)

    def _linear_predictor(
        self, X: Any, return_std: bool, offset: Any, exposure: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return η (n, k) and its standard deviations, zero where they are not asked for."""
        points, T = self._evaluated(X)
        feature_part, learnt_part = self._parts_at(points, T)
        eta = feature_part + learnt_part
        known = offsets(offset, exposure, len(eta))
        eta = eta if known is None else eta + known[:, None]
        if not return_std:
            return eta, np.zeros_like(eta)
        return eta, standard_deviations(self._laplace_variance(X) * self._scales_fit)

    def _deviations(
        self, points: Any, T: FloatArray, columns: dict[str, FloatArray]
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        """Return the standard deviations of both parts of η and of groups of features, by Laplace."""
        if self.loss not in FAMILIES:
            return super()._deviations(points, T, columns)
        m, undefined = len(self._T_fit), polynomial_columns(self.kernel_, self.X_fit_, self._T_fit)

        def kernel_at(rows: slice) -> FloatArray:
            return np.asarray(self.kernel_.matrix(self.X_fit_, points[rows]))

        def of_features(a: FloatArray) -> FloatArray:
            variance = self._variance_of(lambda rows: np.zeros((m, len(a[rows]))), np.zeros(len(a)), a)
            std = standard_deviations(variance * self._scales_fit)
            if np.any(a[:, undefined]):
                std[:] = np.nan
            return self._shaped(std)

        variance = self._variance_of(kernel_at, self.kernel_.diagonal(points), np.zeros_like(T))
        learnt = standard_deviations(variance * self._scales_fit)
        if undefined:  # a kernel that is known up to polynomials: which part has them?
            learnt[:] = np.nan
        return of_features(T), self._shaped(learnt), {name: of_features(a) for name, a in columns.items()}

    def _predict_smooth(self, X: Any, return_std: bool, offset: Any, exposure: Any) -> Any:
        """Return means, and with `return_std` their standard deviations."""
        eta, std = self._linear_predictor(X, return_std, offset, exposure)
        mean = self._family.mean(eta)
        return (self._shaped(mean), self._shaped(mean * std)) if return_std else self._shaped(mean)

    @available_if(has_family)  # type: ignore[untyped-decorator]
    def predict_interval(
        self,
        X: Any,
        alpha: float = 0.1,
        *,
        with_noise: bool = True,
        offset: Any = None,
        exposure: Any = None,
    ) -> FloatArray:
        """Return bands for new observations, or for their mean, which are never negative.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        alpha : float, default=0.1
            The share of misses aimed at: 0.1 covers 90 %.
        with_noise : bool, default=True
            Whether it is about new observations rather than the mean: quantiles of the family's distribution,
            with a normal distribution of the logarithm of its mean. Where the means of a gamma model are the
            values of y, of dispersion zero, both ends are the mean.
        offset, exposure : float or array-like of shape (n,), default=None
            As in `predict`.

        Returns
        -------
        ndarray of shape (n, 2) or (n, k, 2)
            Lower and upper ends; whole numbers for observed counts.
        """
        check_is_fitted(self)
        alpha = miss_rate(alpha)
        eta, std = self._linear_predictor(X, True, offset, exposure)
        tails = np.array([alpha / 2, 1 - alpha / 2])
        if not with_noise:
            ends = self._family.mean(eta[..., None] + std[..., None] * stats.norm.ppf(tails))
        else:
            columns = [
                mixture_quantiles(self._family, eta[:, p], std[:, p], self._shapes_fit[p], scale, tails)
                for p, scale in enumerate(self._scales_fit)
            ]
            ends = np.stack(columns, axis=1)
        return np.asarray(ends[:, 0] if self._one_output else ends)

    def _score_smooth(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any) -> float:
        """Return D², the share of the deviance of the best constant that is explained."""
        eta, _ = self._linear_predictor(X, False, None, None)
        return explained_deviance(self._family, self._shapes_fit, eta, y, sample_weight, offset, exposure)


def explained_deviance(
    family: Family,
    shapes: FloatArray,
    f: FloatArray,
    y: Any,
    sample_weight: Any,
    offset: Any,
    exposure: Any,
) -> float:
    """Return the share of the best constant's deviance that functions f (n, k) explain, the mean of all."""
    values = target_columns(y, f, f.shape[1])
    weights = sample_weights(sample_weight, f)
    known = offsets(offset, exposure, len(f))
    known = np.zeros(len(f)) if known is None else known
    s = np.ones(len(f)) if weights is None else weights
    if values.any(axis=0).all():
        family.check(values)
    explained = []
    for p, a in enumerate(shapes):
        rows = FamilyRows(family, values[:, p], known, float(a))
        null = np.full(len(f), rows.constant(s)) if values[:, p].any() else None
        deviance = 2 * float(s @ rows.values(f[:, p]))
        explained.append(_share(deviance, 0.0 if null is None else 2 * float(s @ rows.values(null))))
    return float(np.mean(explained))


def _share(deviance: float, null: float) -> float:
    """Return the share of the deviance explained; one or zero where there is nothing to explain."""
    if null <= 0:
        return 1.0 if deviance <= 0 else 0.0
    return 1 - float(deviance) / float(null)


def _explained(deviances: FloatArray, nulls: FloatArray) -> float:
    return float(np.mean([_share(d, n) for d, n in zip(deviances, nulls, strict=True)]))
