"""Regularised least squares with predefined features: `GRLSRegressor` and `GRLSClassifier`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import _safe_indexing, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _memory, features, kernels
from ._threads import get_num_threads
from ._validation import FloatArray, choice, for_core, real, sample_weights
from .core import dependence_tolerance
from .exceptions import DependentFeaturesWarning, NotPositiveDefiniteError

__all__ = ["GRLSClassifier", "GRLSRegressor"]

_FLOATS = [np.float64, np.float32]


class _GRLS(BaseEstimator):
    """What the two estimators share: kernel, features, the fit of all outputs at once, the model function."""

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float = 1e-3,
        formulation: str = "exact",
        precision: str = "auto",
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.formulation = formulation
        self.precision = precision

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        precomputed = isinstance(kernel, kernels.Precomputed) or kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed and not _is_function(kernel)
        return tags

    def _fit(self, X: Any, raw: Any, y: Any, targets: FloatArray, weights: FloatArray | None) -> None:
        """Fit all columns of `targets`; `raw` is X as given, for transformers that want a DataFrame."""
        regularization = real(self.regularization, "regularization", minimum=0)
        choice(self.formulation, "formulation", ("exact", "published"))
        precision = choice(self.precision, "precision", ("auto", "double", "mixed", "single"))
        kernel = kernels.as_kernel(self.kernel)
        pairwise = isinstance(kernel, kernels.Precomputed)
        if pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel matrix must be square, got shape {X.shape}")

        gram_columns = None
        if weights is not None and not np.all(weights > 0):  # a sample of weight zero is no sample
            kept_rows = np.flatnonzero(weights > 0)
            X, raw, y, targets, weights = (
                _safe_indexing(a, kept_rows) for a in (X, raw, y, targets, weights)
            )
            if pairwise:
                gram_columns = kept_rows
                X = np.ascontiguousarray(X[:, gram_columns])
        n_samples, n_outputs = targets.shape
        if n_samples == 1:
            raise ValueError("cannot fit to n_samples=1: at least 2 samples are needed")

        transformer = features.as_transformer(self.features)
        given = self._for_features(X, raw)
        values = None if transformer is None else _fit_transform(transformer, given, y)
        T = np.empty((n_samples, 0)) if values is None else features.evaluate(values, n_samples)
        names = features.names(transformer, T.shape[1])
        if T.shape[1] > n_samples:
            raise ValueError(
                f"there are more features ({T.shape[1]}) than samples (n_samples={n_samples}); the features "
                "alone would interpolate the data: give fewer, or let the kernel learn some of them"
            )

        precision = _affordable(precision, n_samples, n_outputs)
        resolved = kernel.resolve(X, getattr(self, "feature_names_in_", None))
        as_matrix = isinstance(resolved, kernels.Function)
        try:
            c, beta, kept, used, n_iter, seconds = _core.solve(
                None if as_matrix else resolved.lower(X.shape[1]),
                resolved.matrix(X, X) if as_matrix else for_core(X),
                np.asarray(T, dtype=np.float64),
                targets,
                weights,
                regularization * (n_samples if weights is None else float(weights.sum())),
                self.formulation,
                "qr",
                dependence_tolerance(n_samples, T.dtype),
                precision,
                get_num_threads(),
            )
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(_not_definite(resolved, regularization, n_samples)) from error

        support = np.zeros(T.shape[1], dtype=bool)
        support[kept] = True
        if not support.all():
            dropped = ", ".join(name for name, used in zip(names, support, strict=True) if not used)
            warnings.warn(
                f"features that depend linearly on the others in the training rows are left out: {dropped}",
                DependentFeaturesWarning,
                stacklevel=3,
            )

        self.kernel_ = resolved
        self.features_ = transformer
        self.feature_names_free_ = names
        self.n_features_free_ = T.shape[1]
        self.feature_support_ = support
        self.regularization_ = regularization
        self.X_fit_ = X
        self._gram_columns = gram_columns  # of a precomputed kernel: the samples that are left
        self.dual_coef_ = np.ascontiguousarray(c)
        self.feature_coef_ = np.ascontiguousarray(beta)
        self.precision_ = used
        self.n_iter_ = n_iter
        self.fit_seconds_ = seconds

    def _for_features(self, X: Any, raw: Any) -> Any:
        """Return what the features' transformer sees: a DataFrame where there is one, else the checked X."""
        return raw if hasattr(raw, "columns") else X

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, order="C", reset=False)

    def _parts(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the two parts of the model function, each of shape (n, k)."""
        checked = self._check_new(X)
        n_rows, n_outputs = checked.shape[0], self.dual_coef_.shape[1]
        known = np.zeros((n_rows, n_outputs))
        if self.features_ is not None:
            T = features.evaluate(self.features_.transform(self._for_features(checked, X)), n_rows)
            if T.shape[1] != self.feature_coef_.shape[0]:
                raise ValueError(
                    f"the features gave {T.shape[1]} columns, but {self.feature_coef_.shape[0]} when fitted"
                )
            known = np.asarray(T @ self.feature_coef_, dtype=np.float64)
        if self._gram_columns is not None:
            checked = checked[:, self._gram_columns]
        return known, np.asarray(self.kernel_.times(checked, self.X_fit_, self.dual_coef_))

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

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values


def _is_function(kernel: Any) -> bool:
    """Whether a kernel is a plain function, which need not take sparse matrices."""
    return isinstance(kernel, kernels.Function) or (
        callable(kernel) and not isinstance(kernel, kernels.Kernel)
    )


def _affordable(precision: str, n_samples: int, n_outputs: int) -> str:
    """Return a precision whose matrices fit into memory; MemoryError where there is none."""
    order = n_samples + n_outputs
    if precision == "auto" and not _memory.fits(_core.solve_bytes(order, "mixed")):
        precision = "double"
    _memory.require(
        _core.solve_bytes(order, precision),
        f"a kernel model of {n_samples} samples in {precision} precision",
        "use fewer samples" + ("" if precision == "single" else ' or precision="single", which takes half'),
    )
    return precision


def _fit_transform(transformer: Any, X: Any, y: Any) -> Any:
    # Not always the same as fit, then transform: features made from y come out of fold on the training rows.
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(X, y)
    return transformer.fit(X, y).transform(X)


def _not_definite(kernel: kernels.Kernel, regularization: float, n_samples: int) -> str:
    message = (
        f"the matrix of the kernel {kernel!r} on {n_samples} samples with regularization={regularization:g} "
        "is not positive definite to working precision; "
    )
    if kernel.order is None:
        return (
            message
            + "this kernel is not positive definite by nature: choose another, or a larger regularization"
        )
    return message + (
        "choose a larger regularization, a smaller kernel width, or remove repeated rows"
        if not isinstance(kernel, kernels.Function)
        else "check that the matrix is a kernel's, or choose a larger regularization"
    )


_PARAMETERS = """Parameters
    ----------
    kernel : Kernel, str or callable, default="gaussian"
        An object of `grls.kernels`, such as ``Gaussian(sigma=2.0)`` or a formula of several; a name
        (``"gaussian"``, ``"laplace"``, ``"linear"``, ``"polynomial"``, ``"precomputed"``); or a function
        ``k(X, Z)`` that returns the matrix.
    features : None, str, callable or transformer, default="constant"
        What is not penalised: None, ``"constant"``, ``"linear"``, ``"quadratic"``, a function
        ``X -> (n, l)``, or any scikit-learn transformer, which is cloned and fitted with X and y.
    regularization : float, default=1e-3
        γ ≥ 0. The loss is a mean, so γ does not grow with the samples; KernelRidge's ``alpha`` is γm.
    formulation : {{"exact", "published"}}, default="exact"
        The minimiser, or eqs. (26)-(27) as printed in the paper (for comparison with it only).
    precision : {{"auto", "double", "mixed", "single"}}, default="auto"
        "mixed" factorises in single precision and refines to the residual of a double precision fit by
        conjugate gradients; it takes less time and half as much memory again, and falls back to "double" by
        itself where the matrix is too ill-conditioned. "single" takes half the memory and keeps 3 to 6
        digits. "auto" is "mixed" for large and well regularised problems, else "double".

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, k)
        Kernel coefficients c.
    feature_coef_ : ndarray of shape (l, k)
        Feature coefficients β; zero where a feature was left out as dependent.
    feature_names_free_ : list of str
        Names of the features.
    feature_support_ : ndarray of shape (l,)
        Which features have a coefficient.
    n_features_free_ : int
        l, the number of features.
    kernel_ : Kernel
        The kernel with everything fixed that was left to the data.
    features_ : transformer or None
        The fitted features.
    regularization_ : float
        The γ used.
    X_fit_ : {{ndarray, CSR matrix}} of shape (m, d)
        Training points; rows of weight zero are left out.
    precision_ : {{"double", "mixed", "single"}}
        The precision used; "double" where "mixed" had to fall back.
    n_iter_ : int
        Steps of refinement in mixed precision.
    fit_seconds_ : dict
        Time of each stage of the fit.{more}
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame."""


def _documented(more: str = "") -> Any:
    def fill(cls: Any) -> Any:
        cls.__doc__ = cls.__doc__.replace("{parameters}", _PARAMETERS.format(more=more))
        return cls

    return fill


@_documented()
class GRLSRegressor(MultiOutputMixin, RegressorMixin, _GRLS):
    r"""Kernel ridge regression with features that are not penalised (G-RLS).

    .. math:: \min_f \frac{1}{m} \sum_i (y_i - f(x_i))^2 + γ c^T Φ c, \quad
              f(x) = \sum_i c_i k(x_i, x) + \sum_p β_p φ_p(x), \quad T^T c = 0

    What the features φ can express is fitted freely; only the rest is left to the kernel and to γ. With
    ``features=None`` this is kernel ridge regression, with polynomials it is universal kriging.

    {parameters}

    See Also
    --------
    sklearn.kernel_ridge.KernelRidge : The same without features; ``alpha`` = γm.
    scipy.interpolate.RBFInterpolator : The same with polynomials only; ``smoothing`` = γm.

    Notes
    -----
    One Cholesky factorisation of order m − l: m³/3 operations and 4m² bytes (half a square matrix) in double
    precision. It fails with `NotPositiveDefiniteError` where γ is too small for the kernel and the data.

    Examples
    --------
    A trend that is known, and a wave on it that is not:

    >>> import numpy as np
    >>> from grls import GRLSRegressor
    >>> from grls.kernels import Gaussian
    >>> x = np.linspace(0, 10, 50)[:, None]
    >>> y = 3 * x[:, 0] + np.sin(x[:, 0])
    >>> model = GRLSRegressor(Gaussian(sigma=1.0), features="linear", regularization=1e-6).fit(x, y)
    >>> round(model.score(x, y), 4)
    1.0
    >>> model.feature_names_free_
    ['1', 'x0']
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GRLSRegressor:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,) or (m, k)
            Targets.
        sample_weight : array-like of shape (m,), default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        GRLSRegressor
            The fitted model.
        """
        checked, targets = validate_data(
            self, X, y, accept_sparse="csr", dtype=_FLOATS, order="C", multi_output=True, y_numeric=True
        )
        targets = np.asarray(targets, dtype=np.float64)
        self._fit(
            checked, X, targets, targets.reshape(len(targets), -1), sample_weights(sample_weight, checked)
        )
        self._one_output = targets.ndim == 1
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the values of the model function.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Predictions.
        """
        known, learnt = self._parts(X)
        return self._shaped(known + learnt)

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._one_output else values


@_documented(
    """
    classes_ : ndarray of shape (n_classes,)
        The labels."""
)
class GRLSClassifier(ClassifierMixin, _GRLS):
    """Regularised least-squares classification with features that are not penalised (G-RLSC).

    Targets are ±1; several classes are learnt one versus all with a single factorisation. The model function
    is that of `GRLSRegressor`.

    {parameters}

    See Also
    --------
    sklearn.linear_model.RidgeClassifier : The same without kernel, with an unpenalised constant.
    GRLSRegressor : The same for regression, with the equations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from grls import GRLSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GRLSClassifier("gaussian", features="linear").fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float = 1e-3,
        class_weight: Any = None,
        formulation: str = "exact",
        precision: str = "auto",
    ) -> None:
        super().__init__(
            kernel,
            features=features,
            regularization=regularization,
            formulation=formulation,
            precision=precision,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GRLSClassifier:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,)
            Labels, of any type.
        sample_weight : array-like of shape (m,), default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        GRLSClassifier
            The fitted model.
        """
        checked, labels = validate_data(self, X, y, accept_sparse="csr", dtype=_FLOATS, order="C")
        check_classification_targets(labels)
        weights = sample_weights(sample_weight, checked)
        present = labels if weights is None else labels[weights > 0]
        if len(np.unique(present)) < 2:
            raise ValueError(
                "cannot fit a classifier to one class: all labels with positive weight are the same"
            )
        if self.class_weight is not None:
            per_class = compute_sample_weight(self.class_weight, labels)
            weights = per_class if weights is None else weights * per_class
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1)
        targets = binarizer.fit(present).transform(labels).astype(np.float64)
        self._fit(checked, X, labels, targets, weights)
        self.classes_ = binarizer.classes_
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the values of the model functions, one per class.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            For two classes one function, positive for ``classes_[1]``.
        """
        known, learnt = self._parts(X)
        return self._shaped(known + learnt)

    def predict(self, X: Any) -> Any:
        """Return the labels.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            The class with the largest function value.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if values.shape[1] == 1 else values
