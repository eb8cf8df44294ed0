"""What estimators share: checked data, the features, the kernel, and the model function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted, validate_data

from .. import kernels
from .._input_errors import require_distinct_columns, values_explained
from .._parameters import Parametrised
from .._solvers.groups import Labels
from .._validation import (
    FloatArray,
    all_or_nothing,
    as_rows,
    has_text,
    is_as_fitted,
    is_table_of_numbers,
    refuse_dates,
)
from .._versions import Versioned
from .._warnings import warn
from ..exceptions import DependentFeaturesWarning, ExtrapolationWarning
from ..kernels.origin import about_the_data
from ..kernels.polynomials import require_polynomials
from ..kernels.shared_part import leave_out_shared_parts
from .leverage import Leverage
from .parts import Decomposition, Term, feature_groups, group_columns
from .progress import Stages
from .samples import (
    FreeFeatures,
    SampleGroups,
    Samples,
    Training,
    counted,
    fit_features,
    frame_of,
    given_rows,
    own_copy,
    require_room_for_columns,
)

_FLOATS = [np.float64, np.float32]
_ROUNDING = 1e-12  # of a sum, as a share of the sizes of its terms


def is_solved(model: Any, name: str) -> bool:
    """Whether a model of blocks has coefficients, by this name; NotFittedError where it only has sums."""
    if not hasattr(model, name) and hasattr(model, "_partial"):
        raise NotFittedError(
            f"this {type(model).__name__} has sums of rows and no coefficients yet, after "
            "partial_fit(…, solve=False): call solve()"
        )
    return hasattr(model, name)


class Estimator(Parametrised, Versioned, BaseEstimator):
    """Checked data, and nothing lost where a fit fails."""

    _stages: Stages  # of the fit that is going on

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __setattr__(self, name: str, value: Any) -> None:
        """Take names of parts in capitals too: "REML" is "reml"."""
        if isinstance(value, str) and not value.islower() and name in self._get_param_names():
            value = value.lower()  # `clone` asks for the object itself where there is nothing to change
        super().__setattr__(name, value)

    def __sklearn_is_fitted__(self) -> bool:
        """Look as scikit-learn would, at once: another thread may keep what a fitted model was asked for."""
        return any(name.endswith("_") and not name.startswith("__") for name in list(vars(self)))

    def _check_parameters(self) -> None:
        """Raise ValueError or TypeError for parameters that cannot be right; the first step of every fit."""

    def _validate(self, X: Any, *y: Any, **options: Any) -> Any:
        if not y and options == {"reset": False} and is_as_fitted(X, self):
            return X
        require_room_for_columns(X)
        require_distinct_columns(X)
        refuse_dates(X, "X")
        if y:
            refuse_dates(y[0], "y")
        accept = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        with values_explained(X):
            return validate_data(self, X, *y, accept_sparse=accept, dtype=_FLOATS, order="C", **options)

    def _all_or_nothing(self) -> AbstractContextManager[None]:
        return all_or_nothing(self)

    @contextmanager
    def _timed_fit(self) -> Iterator[None]:
        """Leave the estimator as it was where a fit fails; else keep how long its stages took."""
        with self._all_or_nothing():
            self._stages = Stages(getattr(self, "verbose", 0))
            yield
            self.fit_seconds_ = self.__dict__.pop("_stages").total()

    def _forget(self, *names: str) -> None:
        """Drop attributes of an earlier fit that this one may not set."""
        for name in names:
            self.__dict__.pop(name, None)


class KernelEstimator(Estimator):
    """An estimator with a parameter `kernel`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        precomputed = isinstance(kernel, kernels.Precomputed) or kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        if isinstance(kernel, kernels.Kernel) and kernel.reads_given:
            tags.input_tags.sparse = kernel.takes_sparse
        return tags

    def _chooses_kernel(self) -> bool:
        """Whether the kernel is left to the data."""
        return isinstance(self.kernel, str) and self.kernel == "auto"

    def _kernel_to_start_from(self, X: Any) -> kernels.Kernel:
        """Return the kernel of the parameter; where it is left to the data, one for the first step."""
        return kernels.as_kernel(self.kernel).reading(X)

    def _validate(self, X: Any, *y: Any, **options: Any) -> Any:
        fits = options.get("reset", True) or "_stages" in vars(self)  # the next blocks of a fit too
        kernel = self.kernel if fits else getattr(self, "kernel_", self.kernel)
        if not (isinstance(kernel, kernels.Kernel) and kernel.reads_given):
            # Text beside the columns that the kernel names is for the features, or for nobody: also where it
            # reads as numbers, which in the next block of rows it may not.
            if fits and isinstance(kernel, kernels.Kernel) and kernel.names_columns and has_text(X):
                return self._validate_raw(X, *y, **options)
            try:
                return super()._validate(X, *y, **options)
            except (ValueError, TypeError) as error:
                if is_table_of_numbers(X):
                    raise
                if fits and isinstance(kernel, kernels.Kernel) and kernel.names_columns:  # dates, say
                    return self._validate_raw(X, *y, **options)
                if isinstance(error, TypeError):
                    raise
                raise
        if not is_table_of_numbers(X):
            return self._validate_raw(X, *y, **options)
        if not options.get("reset", True) and not hasattr(self, "n_features_in_"):
            raise ValueError("the model was fitted to rows that are no table, and X is a table of numbers")
        # What is missing is for the views to fill, or to refuse.
        return super()._validate(X, *y, ensure_all_finite="allow-nan", **options)

    def _validate_raw(self, X: Any, *y: Any, reset: bool = True, **options: Any) -> Any:
        """Return documents and tables with text as they are: what reads them is a transformer that checks."""
        require_distinct_columns(X)
        rows = as_rows(X)
        features = getattr(self, "features", None)
        if isinstance(features, str) and features in ("linear", "quadratic"):
            raise ValueError(
                f"features={features!r} needs rows of numbers, and X has text: name columns, features=[...]"
            )
        if rows.shape[0] == 0:
            raise ValueError("there are no rows: X has 0 samples")
        validate_data(self, rows, reset=reset, skip_check_array=True)
        if not y:
            return rows
        refuse_dates(y[0], "y")
        values = _check_y(y[0], estimator=self, **options)
        check_consistent_length(rows, values)
        return rows, values

    def _fitted_kernel(
        self, X: Any, given: Any, y: Any = None, weights: FloatArray | None = None
    ) -> tuple[kernels.Kernel, Any]:
        """Return the kernel, resolved, and the points that it reads: X, or views of the rows as given."""
        names = getattr(self, "feature_names_in_", None)
        kernel = self._kernel_to_start_from(X)
        if kernel.reads_given:
            kernel, X = kernel.fit_views(given, y, weights, names)
        return kernel.settled(X, names), X

    def _view(self, X: Any, checked: Any) -> Any:
        """Return what the fitted kernel reads of new rows; X as given, and checked."""
        if not self.kernel_.reads_given:
            return checked
        return self.kernel_.view(given_rows(X, checked))

    def _checked_kernel(self, X: Any) -> kernels.Kernel:
        """Return the kernel, not yet resolved; a matrix given in its place must be square."""
        kernel = self._kernel_to_start_from(X)
        if kernel.pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel matrix must be square, got shape {X.shape}")
        features = getattr(self, "features", None)
        if kernel.pairwise and (isinstance(features, list) or features in ("linear", "quadratic")):
            raise ValueError(
                f"features={features!r} are made of the columns of X, and with a precomputed kernel X is the "
                'kernel matrix: take features="constant", or give the kernel as a function of the rows, '
                "kernel=lambda X, Z: …, so that X has its columns"
            )
        return kernel


class FeatureMachine(Estimator):
    """f(x) = what is learnt + Σ_p β_p φ_p(x); subclasses have a parameter `features`."""

    def _samples(self, X: Any, raw: Any, y: Any, targets: FloatArray, weights: FloatArray | None) -> Samples:
        """Return the samples of a fit from checked data; `raw` is X as given."""
        return counted(Samples(X, frame_of(raw), y, targets, weights))

    def _prepare(self, samples: Samples) -> Training:
        """Fit the features."""
        self._stages.done("validate")
        free, T = fit_features(self._free_features(), samples)
        groups = self._sample_groups(samples)
        if groups is not None and T.shape[1] + len(groups.levels) > len(T):
            raise ValueError(
                f"there are more features ({T.shape[1]} and {len(groups.levels)} groups) than samples "
                f"(n_samples={len(T)}); they alone would interpolate the data: join groups"
            )
        self._stages.done("features")
        return Training(samples, free, T, None, groups)

    def _free_features(self) -> Any:
        """Return the features beside the effects of groups."""
        return self.features

    def _sample_groups(self, samples: Samples) -> SampleGroups | None:
        """Return the groups that have effects beside the features; None: there are none."""
        return None

    def _without_groups(self, T: FloatArray) -> tuple[FloatArray, Labels | None]:
        """Return T and the groups of new points, or None where these have no effects."""
        return T, None

    def _store_features(self, free: FreeFeatures, kept: Any) -> None:
        """Keep the fitted features; `kept` are the independent ones."""
        support = np.zeros(len(free.names), dtype=bool)
        support[kept] = True
        if not support.all():
            dropped = ", ".join(name for name, used in zip(free.names, support, strict=True) if not used)
            warn(
                f"features that depend linearly on the others in the training rows are left out: {dropped}",
                DependentFeaturesWarning,
            )
        self.features_ = free.transformer
        self.feature_names_free_ = free.names
        self.n_features_free_ = len(free.names)
        self.feature_support_ = support

    def _store_coefficients(self, free: FreeFeatures, b: FloatArray) -> None:
        """Keep the features' coefficients b (l, k) as they are computed with, and as users know them."""
        R = free.user_units()
        self.feature_coef_ = np.ascontiguousarray(self._per_output(b if R is None else R @ b))
        # Those of a trend about the middle of the data, with the plain ones that they belong to.
        self._computed_coef = None if R is None else (b, self.feature_coef_.copy())

    def _store_leverage(self, T: FloatArray, weights: FloatArray | None) -> None:
        """Keep what tells new rows that lie far outside the training rows, as the features T see them."""
        self._leverage = Leverage.of_rows(T, weights, self.feature_support_)

    def _computed_features(self) -> FloatArray:
        """Return the coefficients (l, k) of the features as they are computed with."""
        if self._computed_coef is None:
            return _columns(self.feature_coef_)
        computed, reported = self._computed_coef
        if not np.array_equal(reported, self.feature_coef_):
            raise ValueError("feature_coef_ was changed after the fit")
        return _columns(computed)

    def _per_output(self, values: FloatArray) -> FloatArray:
        """Return coefficients (p, k) in the shape that users see."""
        return values

    def _check_new(self, X: Any) -> Any:
        """Return new points, checked."""
        check_is_fitted(self)
        return self._validate(X, reset=False)

    def _features_at(self, checked: Any, X: Any) -> FloatArray:
        """Return T at new points; X is `checked` as it was given."""
        given = checked if self.__sklearn_tags__().input_tags.pairwise else given_rows(X, checked)
        fitted = FreeFeatures(self.features_, self.feature_names_free_)
        return np.asarray(fitted.at(given), dtype=np.float64)

    def _evaluated(self, X: Any) -> tuple[Any, FloatArray]:
        """Return new points, checked, and the features there."""
        checked = self._check_new(X)
        return checked, self._features_at(checked, X)

    def _parts(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the two parts of the model function, each of shape (n, k)."""
        return self._parts_at(*self._evaluated(X))

    def _parts_at(self, checked: Any, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return them at checked points with the features T."""
        feature_part = self._feature_part(T)
        learnt_part = self._learnt(checked)
        if feature_part.shape != learnt_part.shape or feature_part.shape[1:] in ((), (0,)):
            raise ValueError(
                f"the features give values of shape {feature_part.shape} and {self._learner()} of "
                f"{learnt_part.shape}: the arrays of this model were changed after the fit"
            )
        finite = np.isfinite(feature_part + learnt_part).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"the model function is not finite at row {finite.argmin()}: its values are too large for "
                f"{self._learner()} or the features, or the arrays of this model were changed after the fit"
            )
        self._warn_of_extrapolation(T)
        return feature_part, learnt_part

    def _feature_part(self, T: FloatArray) -> FloatArray:
        """Return what the features say, (n, k)."""
        return np.asarray(T @ self._computed_features())

    def _warn_of_extrapolation(self, T: FloatArray) -> None:
        """Warn where the features are far outside what the training rows determine."""
        variance = getattr(self, "feature_variance_", getattr(self, "feature_variance", np.inf))
        if self._leverage is None or variance == 0:  # no features, or none that has an effect
            return
        leverages = self._leverage.at(T)
        far = np.flatnonzero((leverages > 1) & (leverages > 10 * self._leverage.largest))
        if len(far):
            worst = far[leverages[far].argmax()]
            rows = ", ".join(map(str, far[:5])) + (", …" if len(far) > 5 else "")
            warn(
                f"the features are far outside the training rows at {len(far)} of {len(T)} rows ({rows}): "
                f"their leverage is {leverages[worst]:.3g} at row {worst}, {self._leverage.largest:.2g} at "
                "most in training, so that they decide the prediction there with nothing to back them; use "
                'features that stay bounded, or a finite feature_variance ("auto")',
                ExtrapolationWarning,
            )

    def _learnt(self, checked: Any) -> FloatArray:
        """Return the part that is learnt beside the features, (n, k)."""
        raise TypeError(f"{type(self).__name__} learns nothing beside its features")

    def _learner(self) -> str:
        """Return the name of that part."""
        return type(self).__name__

    def _shaped(self, values: FloatArray) -> FloatArray:
        """Return values (n, k) of the model function in the shape that users see."""
        return values

    def decompose(self, X: Any, return_std: bool = False, groups: Any = None) -> Decomposition:
        """Return what the features say and what was learnt on top of it.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations of the parts too (`GRLSRegressor` has them, and
            `GRRegressor` with a smooth loss, whose parts are those of the logarithm of the mean). The parts
            are correlated: their variances do not add up to that of ``predict``. NaN where a conditionally
            positive definite kernel leaves undefined which part polynomials belong to.
        groups : dict, default=None
            Names of terms, and for each the features that it is made of, by name or position, as in
            ``{"trend": ["x0", "x0^2"], "season": [3, 4]}``.

        Returns
        -------
        Decomposition
            A pair ``features, learnt`` of ndarrays of shape (n,) or (n, k), which add up to ``predict``
            (regression) or ``decision_function`` (classification); with the attributes ``features``,
            ``learnt``, ``features_std``, ``learnt_std`` and ``terms``, a dict of the groups' ``values`` and
            ``std``.
        """
        points, T = self._evaluated(X)
        feature_part, learnt_part = self._parts_at(points, T)
        columns = self._group_columns(X, T, groups)
        b = self._computed_features()
        values = {name: self._shaped(a @ b) for name, a in columns.items()}
        parts = self._shaped(feature_part), self._shaped(learnt_part)
        if not return_std:
            return Decomposition(*parts, terms={name: Term(value, None) for name, value in values.items()})
        of_features, of_learnt, of_terms = self._deviations(points, T, columns)
        terms = {name: Term(values[name], of_terms[name]) for name in values}
        return Decomposition(*parts, of_features, of_learnt, terms)

    def _group_columns(self, X: Any, T: FloatArray, groups: Any) -> dict[str, FloatArray]:
        """Return for each group of features a (n, l), so that ab is what they say."""
        members = feature_groups(groups, self.feature_names_free_)
        free = FreeFeatures(self.features_, self.feature_names_free_)
        R = free.user_units() if members else None
        plain = T
        if R is not None:
            plain = free.plain_at(given_rows(X, self._validate(X, reset=False)))
        return {name: group_columns(T, plain, R, chosen) for name, chosen in members.items()}

    def _deviations(
        self, points: Any, T: FloatArray, columns: dict[str, FloatArray]
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        """Return the standard deviations of both parts and of groups of features."""
        raise ValueError(
            f"{type(self).__name__} has no variances: return_std=True is for decompose of GRLSRegressor, "
            "and of GRRegressor with a smooth loss"
        )


class KernelMachine(FeatureMachine, KernelEstimator):
    """f(x) = Σ_i c_i k(x_i, x) + Σ_p β_p φ_p(x); subclasses have parameters `kernel` and `features`."""

    def _samples(self, X: Any, raw: Any, y: Any, targets: FloatArray, weights: FloatArray | None) -> Samples:
        kernel = self._checked_kernel(X)
        # The model looks at them again after the fit, when the caller may have changed what was given.
        targets, weights = targets.copy(), None if weights is None else weights.copy()
        if kernel.reads_given:
            return counted(Samples(X, given_rows(raw, X), y, targets, weights))
        if not kernel.pairwise:
            X = own_copy(X, raw)
        frame = None if kernel.pairwise else frame_of(raw)
        return counted(Samples(X, frame, y, targets, weights), kernel)

    def _prepare(self, samples: Samples) -> Training:
        """Fit the features and fix the kernel."""
        training = super()._prepare(samples)
        kernel, samples.X = self._fitted_kernel(samples.X, samples.given, samples.y, samples.weights)
        training.kernel = kernel
        names = None if kernel.reads_given else getattr(self, "feature_names_in_", None)
        spanned = training.spanned
        require_polynomials(kernel, samples.X, spanned, None if names is None else list(names))
        free = self._moves_kernel()
        training.kernel = about_the_data(training.kernel, samples.X, spanned, free=free)
        if free and self._reads_coefficients:
            leave_out_shared_parts(training.kernel, samples.X, spanned)
        self._stages.done("kernel")
        return training

    #: Whether a fit says how sure its coefficients and variances are.
    _reads_coefficients = False

    def _moves_kernel(self) -> bool:
        """Whether a linear kernel beside a constant may be taken about any centre: the model is the same."""
        return bool(getattr(self, "feature_variance", np.inf) == np.inf)

    def _store_kernel(self, training: Training) -> None:
        """Keep what predictions need of the training data."""
        assert training.kernel is not None
        self.kernel_ = training.kernel
        self.X_fit_ = training.samples.X
        self._gram_columns = training.samples.rows if training.kernel.pairwise else None

    def _check_new(self, X: Any) -> Any:
        checked = self._view(X, super()._check_new(X))
        return checked if self._gram_columns is None else np.ascontiguousarray(checked[:, self._gram_columns])

    def _features_at(self, checked: Any, X: Any) -> FloatArray:
        if self.kernel_.reads_given:  # what is checked are the points that the kernel reads
            floats = type(X) is np.ndarray and X.dtype in _FLOATS
            checked = X if floats else self._validate(X, reset=False)
        return super()._features_at(checked, X)

    def _learnt(self, checked: Any) -> FloatArray:
        return np.asarray(self.kernel_.times(checked, self.X_fit_, self._kernel_coefficients()))

    def _learner(self) -> str:
        return repr(self.kernel_)

    @property
    def rkhs_norm_(self) -> FloatArray:
        """Norm √(cᵀΦc) of the kernel part of the model function, one per output; computed when asked for.

        NaN where cᵀΦc is negative by more than rounding: an indefinite kernel has no such norm.
        """
        check_is_fitted(self)
        c = self._kernel_coefficients()
        products = c * self.kernel_.times(self.X_fit_, self.X_fit_, c)
        squares, sizes = np.sum(products, axis=0), np.sum(np.abs(products), axis=0)
        squares = np.where(squares < -_ROUNDING * sizes, np.nan, np.maximum(squares, 0))
        return np.asarray(np.sqrt(squares))

    def _kernel_coefficients(self) -> FloatArray:
        """Return c as (m, k), whatever shape users see."""
        return _columns(self.dual_coef_)


def _columns(coefficients: Any) -> FloatArray:
    """Return coefficients as (p, k): one output may come without its axis."""
    out = np.asarray(coefficients)
    return np.ascontiguousarray(out[:, None]) if out.ndim == 1 else out
