"""Logistic regression with a kernel and predefined features: `GRLogisticClassifier`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import kernels
from ._models.classification import Classification, row_counts, winner
from ._models.deviations import standard_deviations
from ._models.logistic_loss import (
    LogisticLoss,
    MultinomialLoss,
    OneVersusRest,
    log_probabilities,
    separates,
    separates_classes,
)
from ._models.logistic_summary import LogisticSummary
from ._models.progress import Stages
from ._models.samples import Samples, Training
from ._models.smooth_machine import (
    ChosenGamma,
    SmoothMachine,
    SolverFeatures,
    most_rows_to_choose,
    solver_features,
    solver_problem,
)
from ._selection import kernel_choice, metric
from ._selection.candidates import KernelChoice
from ._selection.choice import Choice
from ._selection.merged import Observations
from ._selection.regularization import warn_of_unusual_weights
from ._selection.starts import drawn_rows
from ._solvers.kernel_problem import KernelProblem
from ._solvers.newton import Minimum, State
from ._validation import FloatArray, choice, integer, number_or_choice, real

__all__ = ["GRLogisticClassifier"]
__dir__ = __all__.copy

# Where features alone separate the classes, a run that stopped has driven some samples beyond this.
_SUSPICIOUS = 8.0


class GRLogisticClassifier(LogisticSummary, Classification, SmoothMachine):
    r"""Kernel logistic regression with features that are not penalised.

    .. math:: \min_f \frac{1}{m} \sum_i \log(1 + e^{-y_i f(x_i)}) + γ c^T Φ c, \quad
              f(x) = \sum_i c_i k(x_i, x) + \sum_p β_p φ_p(x), \quad T^T c = 0

    Newton's method: each step is a weighted least-squares fit with the same features (`GRLSClassifier`), with
    a line search, until the decrease that a step promises is below `tol`. Several classes are learnt at once:
    the loss is log Σ_c exp f_c(x_i) − f_y(x_i), each class has its function and its norm in the penalty.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="auto"
        "auto": the kernel that `GRLSClassifier` chooses, family and widths, by leave-one-out of least squares
        on at most 1200 points. Where `regularization` is a number, a Gaussian of one scale for all columns,
        each in units of its own, the scale that leaves out single rows best in a least-squares fit as
        regularised as this one, on at most 250 points; more than 50 columns also as they are, sparse ones
        only so, or the linear kernel. An object of `grls.kernels`, such as
        ``Gaussian(sigma=2.0)``, a formula of several, or one on a view of X,
        ``Linear().after(TfidfVectorizer())``, for which X may be a list of documents; a name; or a
        function ``k(X, Z)`` that returns the matrix.
    features : None, str, list, callable or transformer, default="constant"
        What is not penalised: None, ``"constant"``, ``"linear"``, ``"quadratic"``, a list of columns by name
        or position, a function ``X -> (n, l)``, or any scikit-learn transformer, which is cloned and fitted
        with X and y.
    regularization : float or "loo", default="loo"
        γ > 0. The loss is a mean, so γ does not grow with the samples; ``C`` of scikit-learn's
        LogisticRegression is 1/(2γm). "loo": the γ with the smallest log loss of rows left out, each
        predicted by one Newton step from the model with all rows; one γ for all classes. A row of weight 2
        is two rows, of which one is left out; weights of classes are costs. Of more rows than about 1100
        (of k classes at once 1100 k^(−1/3)) so many choose γ, drawn from all classes.
    regularization_grid : int or array-like, default=16
        How many values of γ to try, from the largest down until smaller ones gain no more; the best is then
        refined between its neighbours. Or the values themselves, of which one is chosen.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        What is done with more than two classes: all at once, or each against the rest, with probabilities
        that are divided by their sum.
    feature_variance : float, default=inf
        How free the features are: the prior variance τ of their coefficients, which is a kernel Φ + τZZᵀ.
        Z are the features centred and scaled to variance one; the constant stays free. (Without the constant
        among the features they are divided by their root mean square.) Infinite: unpenalised. 0: without
        effect. A finite one helps where features alone separate the classes, for the coefficients of free
        ones would be infinite.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn.
    tol : float, default=1e-8
        Stop when a step promises to lower the objective by less, or by less than this share of it.
    max_iter : int, default=100
        Newton steps at most; of each class with ``multi_class="ovr"``.
    verbose : int, default=0
        1: tell each kernel and each γ that is tried. On a terminal or in a notebook, the path of γ is a bar
        with the time left if tqdm is installed.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, k)
        Kernel coefficients c; k is 1 for two classes, else their number.
    feature_coef_ : ndarray of shape (l, k)
        Feature coefficients β; zero where a feature was left out as dependent.
    regularization_ : float
        The γ used.
    regularization_path_ : ndarray of shape (g,)
        The γ tried, when γ was chosen.
    criterion_path_ : ndarray of shape (g,)
        The log loss of the rows left out there.
    loo_predictions_ : ndarray of shape (m,) or (m, k)
        Decision values at each row by the model without it, when γ was chosen; NaN at rows that are too many
        to be left out (km³ > 3·10¹⁰, of k functions) and did not choose γ.
    loo_log_loss_ : float
        Their mean log loss.
    loo_score_ : float
        Their accuracy.
    feature_variance_ : float
        The features' variance used.
    objective_ : ndarray of shape (1,) or (k,)
        The objective reached; one for each class with ``multi_class="ovr"``.
    n_iter_ : ndarray of shape (1,) or (k,)
        Newton steps.
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.
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
    sklearn.linear_model.LogisticRegression : The same for the linear kernel and the constant; its ℓ₁ penalty
        is what to use for a sparse linear model, there is none here.
    GRLSClassifier : Squared loss; one factorisation, γ chosen in closed form, but no probabilities.

    Notes
    -----
    Each step costs a Cholesky factorisation of order m, of which a given γ takes about ten and each γ of the
    path about three, and leaving out rows another three; several classes at once share one in a step, but
    need five each to leave out rows. The kernel matrix is kept, which takes 12m² bytes in all (24m² for
    several classes at once); where memory is short and γ is given it is computed again in every step.

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
    >>> model.loo_log_loss_ < 0.1
    True
    >>> model.predict_proba(X[:1]).sum().round(6)
    np.float64(1.0)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        features: Any = "constant",
        regularization: float | str = "loo",
        regularization_grid: Any = 16,
        multi_class: str = "multinomial",
        feature_variance: float = np.inf,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.multi_class = multi_class
        self.feature_variance = feature_variance
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if isinstance(self.regularization, str):
            number_or_choice(self.regularization, "regularization", ("loo",), minimum=0)
        else:
            real(self.regularization, "regularization", above=0)
        choice(self.multi_class, "multi_class", ("multinomial", "ovr"))
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)

    def _chosen_kernel(
        self,
        choose: Choice,
        training: Training,
        prepare: Callable[[kernels.Kernel], kernels.Kernel],
        stages: Stages,
    ) -> tuple[kernels.Kernel, KernelChoice]:
        if not isinstance(self.regularization, str):
            return super()._chosen_kernel(choose, training, prepare, stages)
        choose.counts = row_counts(self, training.samples.y, training.samples.weights)
        kernel, record = kernel_choice.choose_kernel(choose, noisy=False, prepare=prepare, stages=stages)
        samples = training.samples
        kernel, samples.X = metric.seen_by(kernel, record, samples.X, samples.weights)
        return kernel, record

    def _equivalent_shift(self, training: Training) -> float:
        # A squared error of ±1 has the curvature 2, the logistic loss 1/4 at most.
        weights = training.samples.weights
        return (
            8 * float(self.regularization) * float(training.n_samples if weights is None else weights.sum())
        )

    def _fit(self, samples: Samples) -> None:
        """Fit all classes."""
        training = self._prepare(samples)
        features = solver_features(training, float(self.feature_variance))
        self._multinomial = self.multi_class == "multinomial" and samples.targets.shape[1] > 1
        problem = solver_problem(training, features, stored=self._multinomial, what="logistic")
        loss = self._loss_of(training, problem)
        with self._definite(training):
            chosen = self._choose(training, features, loss)
            start = loss.start() if chosen.start is None else chosen.start
            minima = loss.minima(chosen.gamma, start, self.tol, self.max_iter)
            self._require_attained(features.T, samples.targets, minima)
            state = State.joined([each.state for each in minima])
            self._stages.done("solve")
            left_out = self._left_out(loss, state, chosen)
            if left_out is not None:
                self._stages.done("leave one out")
        self._warn_unless_converged(minima)
        self._store(training, features, minima, state)
        self._store_choice(loss, chosen, left_out)

    def _loss_of(self, training: Training, problem: KernelProblem) -> LogisticLoss:
        samples = training.samples
        s = np.ones(training.n_samples) if samples.weights is None else samples.weights
        counts = row_counts(self, samples.y, samples.weights)
        observations = Observations.of([samples.X, training.T], samples.targets, s, counts)
        kind = MultinomialLoss if self._multinomial else OneVersusRest
        return kind(problem, samples.targets, s, observations)

    def _choose(self, training: Training, features: SolverFeatures, loss: LogisticLoss) -> ChosenGamma:
        """Leave γ to the data, if it was left to them."""
        if not isinstance(self.regularization, str):
            return ChosenGamma(float(self.regularization))
        samples = training.samples
        warn_of_unusual_weights(loss.observations.mean_count, self.regularization)
        n_functions = loss.targets.shape[1]
        most = most_rows_to_choose(n_functions, features.T.shape[1])
        rows = _drawn_rows(samples.X, winner(loss.targets), most)
        if rows is not None and separates_classes(features.T[rows], _columns_of_all(loss.targets[rows])):
            rows = None
        return self._choose_gamma(
            loss,
            rows,
            3 + (3 * n_functions if self._multinomial else 2),
            lambda part, minima: self._require_attained(part.problem.T, part.targets, minima),
        )

    def _store(
        self, training: Training, features: SolverFeatures, minima: list[Minimum], state: State
    ) -> None:
        self._store_features(
            training.features, minima[0].kept if features.parts is None else features.parts.kept
        )
        self._store_kernel(training)
        self.dual_coef_ = np.ascontiguousarray(state.c)
        self._store_coefficients(training.features, features.coefficients(state.beta, state.c))
        self._store_leverage(training.T, training.samples.weights)
        self._T_fit, self._weights_fit = training.T, training.samples.weights
        self._targets_fit, self._f_fit = training.samples.targets, state.f
        self.objective_ = np.array([each.objective for each in minima])
        self.n_iter_ = np.array([each.iterations for each in minima])

    def _store_choice(self, loss: LogisticLoss, chosen: ChosenGamma, left_out: FloatArray | None) -> None:
        self._forget("regularization_path_", "criterion_path_", "loo_log_loss_")
        self._forget("loo_predictions_", "loo_score_")
        self.regularization_, self.feature_variance_ = chosen.gamma, float(self.feature_variance)
        if chosen.selection is None or left_out is None:
            return
        self.regularization_path_ = chosen.selection.path
        self.criterion_path_ = chosen.selection.criterion
        self.loo_predictions_ = self._shaped(left_out)
        known = np.isfinite(left_out).all(axis=1)
        part = loss if known.all() else loss.take(np.flatnonzero(known))
        self.loo_log_loss_ = part.criterion(left_out[known])
        right = winner(left_out[known]) == winner(part.targets)
        self.loo_score_ = float(np.average(right, weights=part.s))

    def _require_attained(self, T: FloatArray, targets: FloatArray, minima: list[Minimum]) -> None:
        """Raise ValueError where the features T alone separate classes: there is no minimum then."""
        suspects = [
            p
            for p in range(targets.shape[1])
            for each in (minima[0 if len(minima) == 1 else p],)
            if not each.converged
            or np.max(targets[:, p] * each.state.f[:, min(p, each.state.f.shape[1] - 1)]) >= _SUSPICIOUS
        ]
        for p in suspects:
            if separates(T, targets[:, p]):
                two = targets.shape[1] == 1
                what = "the two classes" if two else f"class {self.classes_[p]} from the others"
                raise ValueError(_SEPARATED.format(what))
        if suspects and self._multinomial and separates_classes(T, targets):
            raise ValueError(_SEPARATED.format("the classes"))

    def decision_function(self, X: Any, return_std: bool = False) -> Any:
        """Return the values of the model functions, one per class, and how sure they are.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations of the functions too, by Laplace's approximation: the
            curvature of the loss at the minimum as the precision of a Gaussian. They include the uncertainty
            of the features' coefficients. A call costs factorisations as a Newton step does.

        Returns
        -------
        values : ndarray of shape (n,) or (n, n_classes)
            For two classes one function, the logit of ``classes_[1]``. Of several classes one function each:
            logits against all others with ``multi_class="ovr"``, else logarithms of probabilities, up to a
            number that all classes share.
        std : ndarray of shape (n,) or (n, n_classes)
            With `return_std`; of multinomial functions, those of the functions less their mean.
        """
        values = super().decision_function(X)
        if not return_std:
            return values
        return values, self._shaped(standard_deviations(self._laplace_variance(X)))

    def _fitted_loss(self) -> tuple[SolverFeatures, LogisticLoss]:
        training = self._fitted_training()
        features = solver_features(training, float(self.feature_variance_))
        s = np.ones(len(self._T_fit)) if self._weights_fit is None else self._weights_fit
        kind = MultinomialLoss if self._multinomial else OneVersusRest
        problem = solver_problem(training, features, stored=self._multinomial, what="logistic")
        return features, kind(problem, self._targets_fit, s, Observations.single(len(s)))

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
        return log_probabilities(f.reshape(len(f), -1), multinomial=self._multinomial)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``; each row sums to one. With ``multi_class="ovr"`` and more than two
            classes the probabilities of one versus the rest, divided by their sum.
        """
        return np.exp(self.predict_log_proba(X))


_SEPARATED = (
    "the features alone separate {}: their coefficients would be infinite; give a finite feature_variance, "
    "such as 1.0, or fewer features"
)


def _drawn_rows(X: Any, labels: Any, most: int) -> Any:
    """Return rows of at most so many points, about as many of each class as there are; None: all."""
    if len(labels) <= most:
        return None
    rows = []
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        part = drawn_rows(X[own], max(int(np.ceil(most * len(own) / len(labels))), 10))
        rows.append(own if part is None else own[part])
    return np.sort(np.concatenate(rows))


def _columns_of_all(targets: FloatArray) -> FloatArray:
    """Return targets with a column for each of two classes too."""
    return np.hstack([-targets, targets]) if targets.shape[1] == 1 else targets
