"""Logistic regression with a kernel and predefined features: `GRLogisticClassifier`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit, log_expit, logsumexp
from sklearn.exceptions import ConvergenceWarning

from ._models.chosen_width import ChosenWidth
from ._models.classification import Classification
from ._models.feature_prior import SplitFeatures, is_as_good_as_free, split
from ._models.samples import Samples, Training
from ._solvers import memory
from ._solvers.kernel_problem import KernelProblem
from ._solvers.kernel_values import StoredGram
from ._validation import FloatArray, integer, real
from .exceptions import NotPositiveDefiniteError
from .kernels.polynomials import needed_polynomials

__all__ = ["GRLogisticClassifier"]

# Curvature p(1 − p) of the least certain answer that still counts: less only blows up the working response.
# The gradient is exact, so the minimum does not depend on it.
_LEAST_CURVATURE = 1e-10
_ARMIJO = 1e-4
_HALVINGS = 40
# Where features alone separate the classes, a run that stopped has driven some samples beyond this.
_SUSPICIOUS = 8.0


@dataclass
class _Features:
    """The features as the solver sees them: free ones beside the kernel, and ones with a prior inside it."""

    T: FloatArray  # (m, l), those that stay free
    parts: SplitFeatures | None  # where others have a prior
    variance: float = np.inf

    def coefficients(self, beta: FloatArray, c: FloatArray) -> FloatArray:
        """Return those of all features."""
        return beta if self.parts is None else self.parts.coefficients(beta, c, self.variance)


class _Objective:
    """1/Σs Σ_i s_i log(1 + exp(−y_i f_i)) + γ cᵀΦc, on a line between two models."""

    def __init__(self, y: FloatArray, s: FloatArray, regularization: float) -> None:
        self.y, self.s, self.gamma = y, s / s.sum(), regularization

    def loss(self, f: FloatArray) -> float:
        return float(self.s @ -log_expit(self.y * f))

    def slopes(self, f: FloatArray) -> FloatArray:
        """−∂loss/∂f · Σs / s: t − p, without cancellation."""
        return np.asarray(self.y * expit(-self.y * f))


@dataclass
class _Point:
    """A model in terms of its coefficients and what they give at the samples."""

    c: FloatArray  # (m,)
    beta: FloatArray  # (l,)
    Kc: FloatArray  # (m,)
    f: FloatArray  # (m,)

    def towards(self, other: _Point, step: float) -> _Point:
        return _Point(
            *(a + step * (b - a) for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )


@dataclass
class _Fit:
    point: _Point
    objective: float
    iterations: int
    decrement: float
    converged: bool
    kept: Any


class GRLogisticClassifier(Classification, ChosenWidth):
    r"""Kernel logistic regression with features that are not penalised.

    .. math:: \min_f \frac{1}{m} \sum_i \log(1 + e^{-y_i f(x_i)}) + γ c^T Φ c, \quad
              f(x) = \sum_i c_i k(x_i, x) + \sum_p β_p φ_p(x), \quad T^T c = 0

    Newton's method: each step is a weighted least-squares fit with the same features (`GRLSClassifier`), with
    a line search, until the decrease that a step promises is below `tol`. Several classes are learnt one
    versus the rest, and their probabilities are normalised to sum to one.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="auto"
        "auto": a Gaussian of one scale for all columns, each in units of its own, the scale that leaves out
        single rows best in a least-squares fit as regularised as this one, on at most 250 points; of sparse
        data or more than 50 columns one width, or the linear kernel. An object of `grls.kernels`, such as
        ``Gaussian(sigma=2.0)``, a formula of several, or one on a view of X,
        ``Linear().after(TfidfVectorizer())``, for which X may be a list of documents; a name; or a
        function ``k(X, Z)`` that returns the matrix.
    features : None, str, callable or transformer, default="constant"
        What is not penalised: None, ``"constant"``, ``"linear"``, ``"quadratic"``, a function
        ``X -> (n, l)``, or any scikit-learn transformer, which is cloned and fitted with X and y.
    regularization : float, default=1e-3
        γ > 0. The loss is a mean, so γ does not grow with the samples; ``C`` of scikit-learn's
        LogisticRegression is 1/(2γm).
    feature_variance : float, default=inf
        How free the features are: the prior variance τ of their coefficients, which is a kernel Φ + τZZᵀ.
        Z are the features centred and scaled to variance one; the constant stays free. (Without the constant
        among the features they are divided by their root mean square.) Infinite: unpenalised. 0: without
        effect. A finite one helps where features alone separate the classes, for the coefficients of free
        ones would be infinite.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn.
    tol : float, default=1e-8
        Stop when a step promises to lower the objective by less.
    max_iter : int, default=100
        Newton steps at most, of each class.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, k)
        Kernel coefficients c; k is 1 for two classes, else their number.
    feature_coef_ : ndarray of shape (l, k)
        Feature coefficients β; zero where a feature was left out as dependent.
    objective_ : ndarray of shape (k,)
        The objective reached.
    n_iter_ : ndarray of shape (k,)
        Newton steps.
    fit_warnings_ : list of str
        What the fit warned of.
    classes_ : ndarray of shape (n_classes,)
        The labels.
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
    sklearn.linear_model.LogisticRegression : The same for the linear kernel, the constant and two classes;
        its ℓ₁ penalty is what to use for a sparse linear model, there is none here.
    GRLSClassifier : Squared loss; one factorisation, γ chosen in closed form, but no probabilities.

    Notes
    -----
    Each step costs a Cholesky factorisation of order m, about ten of them for each class. The kernel matrix
    is kept, which takes 12m² bytes in all; where memory is short it is computed again in every step.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from grls import GRLogisticClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = GRLogisticClassifier("gaussian").fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    >>> model.predict_proba(X[:1]).sum().round(6)
    np.float64(1.0)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        features: Any = "constant",
        regularization: float = 1e-3,
        feature_variance: float = np.inf,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.feature_variance = feature_variance
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        real(self.regularization, "regularization", above=0)
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)

    def _equivalent_shift(self, training: Training) -> float:
        # A squared error of ±1 has the curvature 2, the logistic loss 1/4 at most.
        weights = training.samples.weights
        return (
            8 * float(self.regularization) * float(training.n_samples if weights is None else weights.sum())
        )

    def _fit(self, samples: Samples) -> None:
        """Fit one function per column of the targets."""
        training = self._prepare(samples)
        s = np.ones(training.n_samples) if samples.weights is None else samples.weights
        features = _as_features(training, float(self.feature_variance))
        problem = _problem_of(training, features)
        fits = []
        for p in range(samples.targets.shape[1]):
            objective = _Objective(samples.targets[:, p], s, float(self.regularization))
            try:
                fit = _newton(problem, objective, s, self.tol, self.max_iter)
            except NotPositiveDefiniteError as error:
                raise NotPositiveDefiniteError(
                    f"the matrix of the kernel {training.kernel!r} with "
                    f"regularization={self.regularization:g} is not positive definite to working precision; "
                    "choose a larger regularization"
                ) from error
            self._require_attained(features, samples.targets, p, fit)
            fits.append(fit)
        self._warn_unless_converged(fits)
        kept = fits[0].kept if features.parts is None else features.parts.kept
        self._store(training, features, fits, kept)

    def _warn_unless_converged(self, fits: list[_Fit]) -> None:
        stuck = [fit for fit in fits if not fit.converged]
        if stuck:
            warnings.warn(
                f"Newton's method stopped after {stuck[0].iterations} steps, where the next one promises to "
                f"lower the objective by {stuck[0].decrement:.2g} > tol={self.tol:g}; raise max_iter, tol or "
                "regularization",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _store(self, training: Training, features: _Features, fits: list[_Fit], kept: Any) -> None:
        self._store_features(training.features, kept)
        self._store_kernel(training)
        c = np.stack([fit.point.c for fit in fits], axis=1)
        beta = np.stack([fit.point.beta for fit in fits], axis=1)
        self.dual_coef_ = np.ascontiguousarray(c)
        self._store_coefficients(training.features, features.coefficients(beta, c))
        self._store_leverage(training.T, training.samples.weights)
        self.objective_ = np.array([fit.objective for fit in fits])
        self.n_iter_ = np.array([fit.iterations for fit in fits])

    def _require_attained(self, features: _Features, targets: FloatArray, p: int, fit: _Fit) -> None:
        """Raise ValueError where the features alone separate class p: there is no minimum then."""
        y = targets[:, p]
        if fit.converged and np.max(y * fit.point.f) < _SUSPICIOUS:
            return
        if _separate(features.T, y):
            what = "the two classes" if targets.shape[1] == 1 else f"class {self.classes_[p]} from the others"
            raise ValueError(
                f"the features alone separate {what}: their coefficients would be infinite; give a finite "
                "feature_variance, or fewer features"
            )

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``.
        """
        f = self.decision_function(X)
        if f.ndim == 1:
            return np.stack([log_expit(-f), log_expit(f)], axis=1)
        each = log_expit(f)
        return np.asarray(each - logsumexp(each, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``; each row sums to one. For more than two classes the probabilities of
            one versus the rest, divided by their sum.
        """
        return np.exp(self.predict_log_proba(X))


def _as_features(training: Training, variance: float) -> _Features:
    """Return the features for the solver."""
    assert training.kernel is not None
    samples = training.samples
    free = np.isinf(variance) or is_as_good_as_free(training.kernel, samples.X, variance)
    if free or training.T.shape[1] == 0:
        return _Features(training.T, None)
    # The prior is about columns in the units of the samples, whatever weights a Newton step gives them.
    parts = split(training.T, samples.weights, needed_polynomials(training.kernel, samples.X))
    return _Features(parts.F, parts, variance)


def _problem_of(training: Training, features: _Features) -> KernelProblem:
    """Return the problem that every step solves with other weights, its kernel matrix stored if it fits."""
    assert training.kernel is not None
    m, X = training.n_samples, training.samples.X
    whole, factor = 8.0 * m * m, memory.solve_bytes(m + 1, "double")
    if features.parts is None and not memory.fits(whole + factor):
        memory.require(factor, f"a logistic model of {m} samples", "use fewer samples")
        return KernelProblem(training.kernel, X, features.T, None)
    memory.require(whole + factor, f"a logistic model of {m} samples", "use fewer samples")
    gram = training.kernel.matrix(X, X)
    if features.parts is not None:
        gram = gram + features.variance * (features.parts.Z @ features.parts.Z.T)
    return KernelProblem(StoredGram(), gram, features.T, None)


def _newton(problem: KernelProblem, objective: _Objective, s: FloatArray, tol: float, max_iter: int) -> _Fit:
    """Minimise the objective of one class."""
    m, n_free = problem.T.shape
    zero = np.zeros(m)
    point = _Point(zero, np.zeros(n_free), zero, zero)
    value = objective.loss(point.f)
    kept: Any = []
    decrement = np.inf
    for iteration in range(1, max_iter + 1):
        p = expit(point.f)
        curvature = np.maximum(p * expit(-point.f), _LEAST_CURVATURE)
        slopes = objective.slopes(point.f)
        # 1/Σs Σ s_i ½h_i (z_i − f_i)² + γcᵀΦc is a weighted least-squares problem with γ · 2Σs / Σ(s h).
        problem.weights = s * curvature
        response = point.f + slopes / curvature
        gamma = 2 * objective.gamma * s.sum() / problem.weights.sum()
        solution = problem.solve(response[:, None], float(gamma))
        c, beta, kept = solution.c[:, 0], solution.beta[:, 0], solution.kept
        Kc = problem.kernel_times(np.ascontiguousarray(c[:, None]))[:, 0]
        target = _Point(c, beta, Kc, Kc + problem.T @ beta)

        slope = float(-(objective.s * slopes) @ (target.f - point.f)) + 2 * objective.gamma * float(
            point.Kc @ (c - point.c)
        )
        decrement = -slope / 2
        step, moved = 1.0, False
        for _ in range(_HALVINGS):
            candidate = point.towards(target, step)
            new = objective.loss(candidate.f) + objective.gamma * float(candidate.c @ candidate.Kc)
            if new <= value + _ARMIJO * step * slope:
                moved = True
                break
            step /= 2
        if moved:
            point, value = candidate, new
        if decrement <= tol or not moved:  # not moved: the rest is rounding error
            return _Fit(point, value, iteration, decrement, decrement <= max(tol, 1e-12), kept)
    return _Fit(point, value, max_iter, decrement, False, kept)


def _separate(T: FloatArray, y: FloatArray) -> bool:
    """Whether some combination of the features is ≥ 0 on one class, ≤ 0 on the other, not 0 everywhere."""
    T = np.asarray(T, dtype=np.float64)
    size = np.abs(T).max(axis=0, initial=0)
    T = T[:, size > 0] / size[size > 0]
    if T.shape[1] == 0:
        return False
    margins = y[:, None] * T
    found = linprog(-margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(y)), bounds=(-1, 1))
    return bool(found.status == 0 and -found.fun > 1e-6 * len(y))
