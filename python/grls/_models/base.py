"""What all kernel machines share: checked data, the features, the kernel, and the model function."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import features, kernels
from .._validation import FloatArray, all_or_nothing
from ..exceptions import DependentFeaturesWarning
from ..kernels.polynomials import require_polynomials

_FLOATS = [np.float64, np.float32]


@dataclass
class Training:
    """The data of one fit: rows that count, the features there, and the kernel with its parameters fixed."""

    X: Any
    y: Any
    weights: FloatArray | None
    T: FloatArray
    names: list[str]
    transformer: Any
    kernel: kernels.Kernel
    rows: Any  # positions of the samples that are left where some have weight zero, else None

    def take(self, values: Any) -> Any:
        """Return the rows of `values`, given for all samples, that are left."""
        return values if self.rows is None else _safe_indexing(values, self.rows)


class KernelEstimator(BaseEstimator):
    """Checked data and the kernel; subclasses have a parameter `kernel`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        precomputed = isinstance(kernel, kernels.Precomputed) or kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def _validate(self, X: Any, *y: Any, **options: Any) -> Any:
        accept = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        return validate_data(self, X, *y, accept_sparse=accept, dtype=_FLOATS, order="C", **options)

    def _all_or_nothing(self) -> AbstractContextManager[None]:
        return all_or_nothing(self)

    def _checked_kernel(self, X: Any) -> kernels.Kernel:
        """Return the kernel, not yet resolved; a matrix given in its place must be square."""
        kernel = kernels.as_kernel(self.kernel)
        if isinstance(kernel, kernels.Precomputed) and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel matrix must be square, got shape {X.shape}")
        return kernel


class KernelMachine(KernelEstimator):
    """f(x) = Σ_i c_i k(x_i, x) + Σ_p β_p φ_p(x); subclasses have parameters `kernel` and `features`."""

    def _prepare(self, X: Any, raw: Any, y: Any, weights: FloatArray | None) -> Training:
        """Fit the features and fix the kernel; `raw` is X as given, for those that want a DataFrame."""
        kernel = self._checked_kernel(X)
        pairwise = isinstance(kernel, kernels.Precomputed)
        rows = None
        if weights is not None and not np.all(weights > 0):  # a sample of weight zero is no sample
            rows = np.flatnonzero(weights > 0)
            X, raw, y, weights = (_safe_indexing(a, rows) for a in (X, raw, y, weights))
            if pairwise:
                X = np.ascontiguousarray(X[:, rows])
        n_samples = X.shape[0]
        if n_samples == 1:
            raise ValueError("cannot fit to n_samples=1: at least 2 samples are needed")

        transformer = features.as_transformer(self.features)
        given = X if pairwise else self._for_features(X, raw)
        values = None if transformer is None else _fit_transform(transformer, given, y)
        T = np.empty((n_samples, 0)) if values is None else features.evaluate(values, n_samples)
        names = features.names(transformer, T.shape[1])
        if T.shape[1] > n_samples:
            raise ValueError(
                f"there are more features ({T.shape[1]}) than samples (n_samples={n_samples}); the features "
                "alone would interpolate the data: give fewer, or let the kernel learn some of them"
            )
        column_names = getattr(self, "feature_names_in_", None)
        resolved = kernel.resolve(X, column_names)
        require_polynomials(resolved, X, T, None if column_names is None else list(column_names))
        return Training(X, y, weights, T, names, transformer, resolved, rows)

    def _store(self, training: Training, kept: Any) -> None:
        """Keep what predictions need of the training data; `kept` are the independent features."""
        self._store_features(training, kept)
        self.kernel_ = training.kernel
        self.X_fit_ = training.X
        pairwise = isinstance(training.kernel, kernels.Precomputed)
        self._gram_columns = training.rows if pairwise else None

    def _store_features(self, training: Training, kept: Any) -> None:
        support = np.zeros(training.T.shape[1], dtype=bool)
        support[kept] = True
        if not support.all():
            dropped = ", ".join(name for name, used in zip(training.names, support, strict=True) if not used)
            warnings.warn(
                f"features that depend linearly on the others in the training rows are left out: {dropped}",
                DependentFeaturesWarning,
                stacklevel=5,
            )
        self.features_ = training.transformer
        self.feature_names_free_ = training.names
        self.n_features_free_ = training.T.shape[1]
        self.feature_support_ = support

    def _for_features(self, X: Any, raw: Any) -> Any:
        """Return what the features' transformer sees: a DataFrame where there is one, else the checked X."""
        return raw if hasattr(raw, "columns") else X

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        checked = self._validate(X, reset=False)
        return checked if self._gram_columns is None else np.ascontiguousarray(checked[:, self._gram_columns])

    def _features_at(self, checked: Any, X: Any) -> FloatArray:
        """Return T at new points."""
        n_rows, expected = checked.shape[0], self.feature_coef_.shape[0]
        if self.features_ is None:
            return np.empty((n_rows, 0))
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        given = checked if pairwise else self._for_features(checked, X)
        T = features.evaluate(self.features_.transform(given), n_rows)
        if T.shape[1] != expected:
            raise ValueError(f"the features gave {T.shape[1]} columns, but {expected} when fitted")
        return np.asarray(T, dtype=np.float64)

    def _parts(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the two parts of the model function, each of shape (n, k)."""
        checked = self._check_new(X)
        known = np.asarray(self._features_at(checked, X) @ self.feature_coef_)
        learnt = self._learnt(checked)
        if known.shape != learnt.shape or known.shape[1:] in ((), (0,)):
            raise ValueError(
                f"the features give values of shape {known.shape} and {self._learner()} of {learnt.shape}: "
                "the arrays of this model were changed after the fit"
            )
        finite = np.isfinite(known + learnt).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"the model function is not finite at row {finite.argmin()}: its values are too large for "
                f"{self._learner()} or the features, or the arrays of this model were changed after the fit"
            )
        return known, learnt

    def _learnt(self, checked: Any) -> FloatArray:
        """Return the part that is learnt beside the features, (n, k)."""
        return np.asarray(self.kernel_.times(checked, self.X_fit_, self.dual_coef_))

    def _learner(self) -> str:
        """Return the name of that part."""
        return repr(self.kernel_)

    def decompose(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return what the features say and what the kernel has learnt on top of it.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        features, kernel : ndarrays of shape (n,) or (n, k)
            They add up to ``predict`` (regression) or ``decision_function`` (classification).
        """
        known, learnt = self._parts(X)
        return self._shaped(known), self._shaped(learnt)

    @property
    def rkhs_norm_(self) -> FloatArray:
        """Norm √(cᵀΦc) of the kernel part of the model function, one per output; computed when asked for."""
        check_is_fitted(self)
        values = self.kernel_.times(self.X_fit_, self.X_fit_, self.dual_coef_)
        return np.asarray(np.sqrt(np.maximum(np.sum(self.dual_coef_ * values, axis=0), 0)))

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values


def is_function(kernel: kernels.Kernel) -> bool:
    """Whether the kernel matrix comes from a Python function, and must be stored as a whole."""
    return isinstance(kernel, kernels.Function) and not isinstance(kernel, kernels.Precomputed)


def class_weighted(class_weight: Any, labels: Any, weights: FloatArray | None) -> FloatArray | None:
    """Return the sample weights times those of the classes; a sample of weight zero balances no class."""
    if class_weight is None:
        return weights
    out = np.ones(len(labels)) if weights is None else weights.copy()
    counted = out > 0
    out[counted] *= compute_sample_weight(class_weight, labels[counted])
    if not np.any(out > 0):
        raise ValueError("class_weight is zero for every class: nothing is left to fit")
    return out


def _fit_transform(transformer: Any, X: Any, y: Any) -> Any:
    # Not always the same as fit, then transform: features made from y come out of fold on the training rows.
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(X, y)
    return transformer.fit(X, y).transform(X)
