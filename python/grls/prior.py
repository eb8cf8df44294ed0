r"""Linear models with a Gaussian prior on the weights: `PriorRLSRegressor` and `PriorRLSClassifier`.

They minimise

.. math:: \frac{1}{2n} \sum_i (y_i - w^T x_i - β^T φ(x_i))^2 + \frac{ρ}{2} (w - μ)^T Σ^{-1} (w - μ)

over the weights w of the columns and the coefficients β of predefined features, which are not penalised. A
prior says which columns matter, and `grls.TransferPrior` learns one from similar tasks. With a kernel the
components of its matrix take the place of the columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from ._models.base import FeatureMachine, KernelMachine
from ._models.classification import Classification, WithoutProbabilities, row_counts
from ._models.deviations import standard_deviations
from ._models.feature_prior import SplitFeatures, beside, split
from ._models.fit_statistics import FitStatistics
from ._models.kernel_components import KernelComponents, find_components
from ._models.regression import Regression
from ._models.regression_summary import CoefficientErrors, RegressionSummary, Scales, scales_at_gamma
from ._models.rounding import warn_of_span
from ._models.samples import FreeFeatures, Samples, Training
from ._models.summaries import ClassificationSummary, Solved, require_exact
from ._models.weight_posterior import WeightPosterior
from ._selection import regularization
from ._solvers import covariance as covariances
from ._solvers.covariance import LowRankCovariance
from ._solvers.results import RidgeSolution
from ._solvers.ridge_problem import SOLVERS, RidgeProblem
from ._solvers.rows import distinct_rows
from ._validation import FloatArray, choice, integer, number_or_choice, real, shown
from ._warnings import warn
from .exceptions import NotPositiveDefiniteError
from .kernels.origin import require_columns_near_the_origin
from .summary import Table
from .transfer import TransferPrior

__all__ = ["LowRankCovariance", "PriorRLSClassifier", "PriorRLSRegressor"]
__dir__ = __all__.copy

_MOST_SHOWN = 2000  # weights that a summary has a table of


@dataclass(frozen=True)
class _Posed:
    """Ridge regression that a prior and the training rows make."""

    problem: RidgeProblem
    parts: SplitFeatures | None  # of the features, where some have a prior
    components: KernelComponents | None  # of the kernel, where there is one
    covariance: covariances.Covariance
    mean: FloatArray | None
    expected: FloatArray  # (m, k or 1) or zero: the targets that the prior expects


class _PriorRLS(KernelMachine):
    """What the two estimators share: the parameters and the fit of all outputs at once.

    Without a kernel the columns of X are what has weights, and this is no kernel machine.
    """

    def __init__(
        self,
        mean: Any = None,
        covariance: Any = None,
        *,
        kernel: Any = None,
        rank: int | None = None,
        features: Any = "constant",
        regularization: float | str = 1.0,
        regularization_grid: Any = 50,
        feature_variance: float = np.inf,
        formulation: str = "exact",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.mean = mean
        self.covariance = covariance
        self.kernel = kernel
        self.rank = rank
        self.features = features
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.feature_variance = feature_variance
        self.formulation = formulation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        number_or_choice(self.regularization, "regularization", regularization.CRITERIA, above=0)
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        choice(self.formulation, "formulation", ("exact", "published"))
        choice(self.solver, "solver", SOLVERS)
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)
        if self.rank is not None:
            integer(self.rank, "rank", minimum=1)
        if self.kernel is None:
            if self.rank is not None:
                raise ValueError("rank counts components of a kernel matrix: give a kernel, or leave it None")
            if callable(self.covariance):
                raise ValueError(
                    "covariance is a function of the eigenvalues of a kernel matrix: give a kernel, or the "
                    "variances of the columns"
                )
        elif self.mean is not None or isinstance(self.covariance, TransferPrior):
            raise ValueError(
                "a mean, or a TransferPrior, is about the columns of X: it cannot be that of the components "
                "of a kernel, which are found in the training rows; leave kernel=None"
            )

    def _samples(self, X: Any, raw: Any, y: Any, targets: FloatArray, weights: FloatArray | None) -> Samples:
        if self.kernel is None:
            return FeatureMachine._samples(self, X, raw, y, targets, weights)
        return super()._samples(X, raw, y, targets, weights)

    def _prepare(self, samples: Samples) -> Training:
        if self.kernel is None:
            return FeatureMachine._prepare(self, samples)
        return super()._prepare(samples)

    def _moves_kernel(self) -> bool:
        # Components that differ in variance are those of the kernel about the origin that it has.
        return super()._moves_kernel() and self.covariance is None and self.rank is None

    def _fit(self, samples: Samples) -> None:
        """Fit all columns of the targets."""
        targets = samples.targets
        training = self._prepare(samples)
        if training.kernel is None:
            free = self.feature_variance == np.inf
            require_columns_near_the_origin(samples.X, training.T, free=free)
        posed = self._pose(training)
        self._stages.done("prior")
        components, covariance, mean = posed.components, posed.covariance, posed.mean
        problem, parts, expected = posed.problem, posed.parts, posed.expected
        if not problem.by_samples:
            warn_of_span(samples.weights)
        surprise = targets - expected
        selection = self._select(problem, surprise, row_counts(self, samples.y, samples.weights))
        chosen = float(self.regularization if selection is None else selection.chosen)
        solver = problem.solver(self.solver, targets.shape[1])
        solution = self._solve(problem, surprise, chosen, solver)
        self._stages.done("solve")

        V, b, kept = np.asarray(solution.V), solution.beta, solution.kept
        if parts is not None:
            n_weights = V.shape[0] - parts.Z.shape[1]
            V, extra = V[:n_weights], V[n_weights:]
            b = parts.A @ np.vstack([b, np.sqrt(self.feature_variance) * extra])
            kept = parts.kept
        self._store_features(training.features, kept)
        w = covariance.root_times(V)
        self.coef_ = self._shaped_weights(np.ascontiguousarray((w if mean is None else w + mean).T))
        self._store_coefficients(training.features, b)
        self._store_leverage(training.T, samples.weights)
        self._store_components(training, components, w)
        self._training_fit = replace(training, samples=replace(samples, frame=None))
        self.regularization_ = chosen
        self.solver_ = solver
        self.n_iter_ = max(int(solution.iterations), 1)
        self._forget("regularization_path_", "criterion_path_", "loo_predictions_", "loo_score_")
        self.__dict__.pop("_posterior_kept", None)
        if selection is not None:
            self.regularization_path_ = selection.path
            self.criterion_path_ = selection.criterion
            if selection.left_out is not None and self.formulation == "exact":
                left_out = selection.left_out + expected
                self.loo_predictions_ = self._shaped(left_out)
                self.loo_score_ = self._score_left_out(samples.y, left_out, samples.weights)

    def _pose(self, training: Training) -> _Posed:
        """Return the problem of ridge regression that the samples, the prior and the features make."""
        samples = training.samples
        components = None if training.kernel is None else self._components(training)
        X = samples.X if components is None else components.training
        mean, covariance = self._prior(X.shape[1], samples.targets.shape[1], components)
        if self.formulation == "published" and components is None:  # of components, (7) is the minimiser
            covariance = covariances.restricted_to_span(covariance, X)
        scaled, parts = covariance.times_root(X), None
        problem = RidgeProblem(scaled, training.T, samples.weights)
        if np.isfinite(self.feature_variance) and training.T.shape[1]:
            parts = split(training.T, samples.weights, None)
            augmented = beside(scaled, parts.Z, float(self.feature_variance))
            problem = RidgeProblem(augmented, parts.F, samples.weights)
        expected = np.zeros(()) if mean is None else np.asarray(X @ mean)
        return _Posed(problem, parts, components, covariance, mean, expected)

    def _solved(self) -> Solved:
        require_exact(self)
        training = self.__dict__.get("_training_fit")
        if training is None:
            raise ValueError(
                f"{type(self).__name__} leaves its training rows out of pickles and copies, and this is one: "
                "summary() and standard deviations need them, so ask where the model was fitted, or fit again"
            )
        posed = self._pose(training)
        n_outputs = training.samples.targets.shape[1]
        n_weights = posed.problem.X.shape[1] - (0 if posed.parts is None else posed.parts.Z.shape[1])
        free = FreeFeatures(self.features_, self.feature_names_free_)
        samples = training.samples
        return Solved(
            posed.problem,
            samples.targets - posed.expected,
            np.broadcast_to(posed.expected, samples.targets.shape),
            row_counts(self, samples.y, samples.weights),
            np.full(n_outputs, float(self.regularization_)),
            len(distinct_rows(samples.X, training.T)[0]),
            "ρ",
            "weights" if posed.components is None else "kernel",
            f"of {n_weights} columns" if posed.components is None else repr(self.kernel_),
            None if posed.parts is not None else free.user_units(),
            True,
            posed.parts is not None,
            free.know_targets,
        )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_training_fit", None)  # a pickle of a linear model holds no data
        state.pop("_posterior_kept", None)
        return state

    def _components(self, training: Training) -> KernelComponents:
        """Return the components that have weights: all, or as many as were asked for or have variances."""
        assert training.kernel is not None
        samples = training.samples
        found = find_components(
            training.kernel, samples.X, samples.weights, "a prior on a kernel's components"
        )
        wanted, there = self.rank, len(found.eigenvalues)
        rows = covariances.order_of(self.covariance)
        if rows is not None:
            if wanted is not None and wanted != rows:
                raise ValueError(f"covariance is that of {rows} components, but rank={wanted}")
            wanted = rows
        if wanted is None:
            return found
        if wanted > there:
            raise ValueError(
                f"{wanted} components were asked for (rank, or the size of covariance), but the matrix of "
                f"{training.kernel!r} has {there} with a positive eigenvalue in {training.n_samples} samples"
            )
        return found.first(wanted)

    def _store_components(
        self, training: Training, components: KernelComponents | None, w: FloatArray
    ) -> None:
        """Keep what predictions need where the weights w (q, k) are those of components."""
        self._forget("kernel_", "X_fit_", "dual_coef_", "eigenvalues_")
        self._gram_columns = None
        if components is None:
            return
        self._store_kernel(training)
        self.eigenvalues_ = components.eigenvalues
        self.dual_coef_ = np.ascontiguousarray(self._per_output(components.coefficients @ w))

    def _select(
        self, problem: RidgeProblem, targets: FloatArray, counts: FloatArray | None
    ) -> regularization.Selection | None:
        """Choose ρ, where that is left to the data."""
        if not isinstance(self.regularization, str):
            return None
        selection = regularization.select(
            problem,
            targets,
            self.regularization,
            self.regularization_grid,
            lambda predictions: np.average((targets - predictions) ** 2, axis=0, weights=problem.weights),
            per_output=False,
            counts=counts,
        )
        self._stages.done("regularization")
        return selection

    def _solve(self, problem: RidgeProblem, targets: FloatArray, chosen: float, solver: str) -> RidgeSolution:
        try:
            solution = problem.solve(targets, chosen, solver, tol=self.tol, max_iter=self.max_iter)
        except NotPositiveDefiniteError as error:
            n_samples, n_columns = problem.X.shape
            raise NotPositiveDefiniteError(
                f"the prior with regularization={chosen:g} is too weak for {n_samples} samples and "
                f"{n_columns} columns: the system is singular to working precision; choose a larger "
                "regularization or smaller variances"
            ) from error
        if solver == "cg" and solution.residuals.max() > self.tol:
            warn(
                f"conjugate gradients stopped after {solution.iterations} iterations at a relative "
                f"residual of {solution.residuals.max():.2g} > tol={self.tol:g}; raise max_iter, tol or "
                'regularization, or use solver="cholesky"',
                ConvergenceWarning,
            )
        return solution

    def _prior(
        self, n_columns: int, n_outputs: int, components: KernelComponents | None
    ) -> tuple[FloatArray | None, covariances.Covariance]:
        """Return μ (d, k or 1), None for zero, and Σ."""
        covariance, mean = self.covariance, self.mean
        if components is not None and callable(covariance):
            covariance = _variances_by(covariance, components.eigenvalues)
        if isinstance(covariance, TransferPrior):
            learnt = covariance.learnt(n_columns)
            covariance, mean = learnt.covariance_, learnt.mean_ if mean is None else mean
        names = None if components is not None else getattr(self, "feature_names_in_", None)
        covariance = _by_name(covariance, names, "covariance")
        if mean is not None:
            mean = check_array(
                _by_name(mean, names, "mean"), dtype=np.float64, ensure_2d=False, input_name="mean"
            )
            if mean.shape not in ((n_columns,), (n_outputs, n_columns)):
                raise ValueError(
                    f"mean must have shape ({n_columns},), one weight for each column of X, or "
                    f"({n_outputs}, {n_columns}), a row for each output; got {mean.shape}"
                )
            mean = np.atleast_2d(mean).T if mean.any() else None
        return mean, covariances.as_covariance(covariance, n_columns)

    def _view(self, X: Any, checked: Any) -> Any:
        return super()._view(X, checked) if hasattr(self, "kernel_") else checked

    def _features_at(self, checked: Any, X: Any) -> FloatArray:
        if not hasattr(self, "kernel_"):
            return FeatureMachine._features_at(self, checked, X)
        return super()._features_at(checked, X)

    def _learnt(self, checked: Any) -> FloatArray:
        if hasattr(self, "kernel_"):
            return super()._learnt(checked)
        return np.asarray(safe_sparse_dot(checked, np.atleast_2d(self.coef_).T))

    def _learner(self) -> str:
        return super()._learner() if hasattr(self, "kernel_") else "the weights"

    @property
    def rkhs_norm_(self) -> FloatArray:
        """Norm of the learnt part in the kernel's space, one per output; ‖w‖ without a kernel."""
        check_is_fitted(self)
        # The components are orthonormal functions there, as the columns are for the linear kernel.
        return np.asarray(np.linalg.norm(np.atleast_2d(self.coef_), axis=1))

    def _shaped_weights(self, weights: FloatArray) -> FloatArray:
        """Return w of all outputs, (k, d), as `coef_` has it."""
        return weights

    def _score_left_out(self, y: Any, predictions: FloatArray, weights: FloatArray | None) -> float:
        """Return the score of predictions of rows left out."""
        raise TypeError(f"{type(self).__name__} does not score predictions of rows left out")


def _by_name(values: Any, names: Any, what: str) -> Any:
    """Return values, those of a pandas Series or DataFrame with names of columns in the order of `names`.

    Labels that only count, 0, 1, …, are places.
    """
    if isinstance(values, LowRankCovariance):
        return LowRankCovariance(
            *(_by_name(part, names, f"{what}.{n}") for n, part in values._asdict().items())
        )
    if not hasattr(values, "iloc"):
        return values
    of_columns = [values.index] if what != "mean" or values.ndim == 1 else []
    if values.ndim == 2 and not what.endswith("factor"):
        of_columns.append(values.columns)
    order = []
    for labels in of_columns:
        if list(labels) == list(range(len(labels))):
            order.append(np.arange(len(labels)))
            continue
        if names is None:
            raise ValueError(
                f"{what} names columns ({shown(list(labels[:3]))}, …), and X has no names: give X as a data "
                f"frame, or {what} as an array in the order of the columns"
            )
        places = labels.get_indexer(names)
        if (places < 0).any() or len(labels) != len(names):
            lacking = [
                str(n) for n, place in zip(names, places, strict=True) if place < 0
            ] or "as many labels"
            raise ValueError(
                f"{what} names columns, and must have each column of X once; it has {len(labels)} labels for "
                f"{len(names)} columns, and lacks {lacking}"
            )
        order.append(places)
    array = values.to_numpy()
    if array.ndim == 1 or (len(order) == 1 and what != "mean"):
        return array[order[0]]
    return array[:, order[0]] if len(order) == 1 else array[np.ix_(*order)]


def _variances_by(function: Any, eigenvalues: FloatArray) -> FloatArray:
    """Return the variances that a function of the eigenvalues gives."""
    given = np.asarray(function(eigenvalues.copy()), dtype=np.float64)
    if given.shape not in ((), eigenvalues.shape) or not np.all(np.isfinite(given)) or np.any(given <= 0):
        raise ValueError(
            "covariance as a function takes the eigenvalues, here an array of shape "
            f"{eigenvalues.shape}, and returns as many positive variances; it returned {given!r}"
        )
    return np.broadcast_to(given, eigenvalues.shape)


_PARAMETERS = """Parameters
    ----------
    mean : array-like of shape (d,) or (k, d), default=None
        μ, the weights expected before the data are seen, for all outputs or one row for each; None is zero.
        A pandas Series, here and in `covariance`, goes by the names of its index where X has names.
    covariance : float, array-like, LowRankCovariance or TransferPrior, default=None
        Σ: one variance for all columns; a vector of variances, one for each; a matrix of shape (d, d); a
        diagonal and a few shared directions; or what was learnt from reference tasks, mean included. None is
        the identity, which makes this plain ridge regression. It must be positive definite. With a kernel it
        is the covariance of the weights of the components: a number; a vector or a matrix for as many of the
        largest; or a function of the eigenvalues of K/m, an array, that returns the variances.
    kernel : Kernel, str, callable or None, default=None
        A kernel, as `GRLSRegressor` takes it. The weights are then those of the components of its matrix K
        in the training rows, not centred, of unit length in its space: with the identity this is
        `GRLSRegressor` with γ = ρ. Those of an eigenvalue below 10⁻¹² of the largest are left out. None: the
        columns of X have the weights.
    rank : int or None, default=None
        How many components have weights, the largest first; the others have a variance of zero. None: all.
    features : None, str, list, callable or transformer, default="constant"
        What is not penalised: None, ``"constant"``, ``"linear"``, ``"quadratic"``, a list of columns by name
        or position, a function ``X -> (n, l)``, or any scikit-learn transformer, which is cloned and fitted
        with X and y. They must not repeat columns of X that are to have a prior.
    regularization : float or {{"loo", "gcv", "reml"}}, default=1.0
        ρ > 0, the weight of the prior; 1 is the paper's. The loss is a mean, so scikit-learn's ``alpha`` is
        ρn. A name lets the data choose it in closed form: exact leave-one-out, generalised cross-validation,
        or the restricted likelihood. That is the natural choice where the scale of the covariance means
        nothing.
    regularization_grid : int or array-like, default=50
        How many values of ρ to try, spread over the spectrum, the best of which is refined between its
        neighbours; or the values themselves, of which one is chosen.
    feature_variance : float, default=inf
        How free the features are: the prior variance of their coefficients beside that of the weights. They
        count centred and scaled to variance one, and the constant stays free. Infinite: unpenalised.
    formulation : {{"exact", "published"}}, default="exact"
        The minimiser, or eq. (7) as printed in the paper, which looks for w − μ among the combinations of the
        rows of X only. They differ where columns outnumber samples and Σ is not a multiple of the identity.
        For comparison with the paper only; it takes a dense matrix of the size of X, and a ρ chosen by name
        leaves each row out of the restricted problem as it stands. With a kernel both are the same, for the
        rows span all components.
    solver : {{"auto", "cholesky", "cg"}}, default="auto"
        One Cholesky factorisation of the order of rows or columns, whichever are fewer; or conjugate
        gradients, which store no matrix and solve for all outputs together. "auto" takes what costs less.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop, of each output.
    max_iter : int, default=1000
        When they stop at last, with a ConvergenceWarning.{parameters}

    Attributes
    ----------
    coef_ : ndarray of shape {coef}
        Weights w of the columns, or of the components of the kernel.
    feature_coef_ : ndarray of shape (l, k)
        Coefficients β of the features (the constant's is what others call the intercept); zero where a
        feature was left out as dependent.
    feature_names_free_ : list of str
        Names of the features.
    feature_support_ : ndarray of shape (l,)
        Which features have a coefficient.
    n_features_free_ : int
        l, the number of features.
    features_ : transformer or None
        The fitted features.
    kernel_ : Kernel
        The kernel with its parameters fixed, where there is one; the next three too.
    X_fit_ : {{ndarray, CSR matrix}} of shape (n, d)
        The training rows.
    dual_coef_ : ndarray of shape (n,) or (n, k)
        Their kernel coefficients c: the learnt part is Σ c_i k(x_i, x).
    eigenvalues_ : ndarray of shape (q,)
        The eigenvalues of K/n that the components belong to: their mean squares, the largest first.
    rkhs_norm_ : ndarray of shape (k,)
        Norm of the learnt part in the kernel's space: ‖w‖.
    regularization_ : float
        The ρ used.
    regularization_path_ : ndarray of shape (g,)
        The ρ tried, when it was chosen.
    criterion_path_ : ndarray of shape (g,)
        The criterion there; smaller is better.
    loo_predictions_ : ndarray of shape (n,) or (n, k)
        Exact leave-one-out predictions (of a classifier: decision values) at the ρ chosen by "loo".
    loo_score_ : float
        Their R² (regression) or accuracy (classification).
    solver_ : {{"cholesky", "cg"}}
        The solver used.
    n_iter_ : int
        Iterations of conjugate gradients; 1 for "cholesky".
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.
    fit_warnings_ : list of str
        What the fit warned of.{attributes}
    n_features_in_ : int
        d, the number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame."""


def _documented(coef: str, attributes: str = "", parameters: str = "") -> Any:
    def fill(cls: Any) -> Any:
        text = _PARAMETERS.format(coef=coef, attributes=attributes, parameters=parameters)
        cls.__doc__ = cls.__doc__.replace("{parameters}", text)
        return cls

    return fill


@_documented("(d,) or (k, d)")
class PriorRLSRegressor(RegressionSummary, Regression, _PriorRLS):
    r"""Linear least squares with a Gaussian prior on the weights.

    .. math:: \min_{w, β} \frac{1}{2n} \sum_i (y_i - w^T x_i - β^T φ(x_i))^2
              + \frac{ρ}{2} (w - μ)^T Σ^{-1} (w - μ)

    The minimiser is the most probable w of the prior N(μ, Σ/ρ) and noise of variance n. It is kernel least
    squares with the kernel xᵀΣx′, so the rest of the library applies to it.

    {parameters}

    See Also
    --------
    sklearn.linear_model.Ridge : The same for Σ = I and μ = 0, with ``alpha`` = ρn.
    TransferPrior : Learns μ and Σ from similar tasks.

    Notes
    -----
    A Cholesky factorisation takes min(n, d)³/3 operations; an iteration of conjugate gradients reads X twice,
    for all outputs together, and its answer does not depend on the number of threads. A kernel adds the whole
    spectrum of its matrix, about 9n³ operations, and leave-one-out keeps the components that were found in
    all rows: it is exact for the identity.

    The paper's eqs. (1)-(2) have λ‖f‖² beside the loss 1/(2n)‖y − f‖²: λ = ρ/2, and the γ of `GRLSRegressor`
    is ρ = 2λ.

    Examples
    --------
    Two samples cannot tell which of three columns matters; the prior can:

    >>> import numpy as np
    >>> from grls import PriorRLSRegressor
    >>> X, y = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0]]), np.array([3.0, 6.0])
    >>> model = PriorRLSRegressor(covariance=[100.0, 1e-6, 1e-6], features=None, regularization=1e-6)
    >>> model.fit(X, y).coef_.round(3)
    array([3., 0., 0.])

    A prior in the space of a kernel, in which components count for less the smaller they are:

    >>> x = np.linspace(0, 10, 60)[:, None]
    >>> smooth = PriorRLSRegressor(kernel="gaussian", covariance=lambda mu: mu, regularization="loo")
    >>> round(smooth.fit(x, np.sin(x[:, 0])).score(x, np.sin(x[:, 0])), 2)
    1.0
    """

    def _shaped_weights(self, weights: FloatArray) -> FloatArray:
        return weights[0] if self._one_output else weights

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, with_noise: bool = False
    ) -> Any:
        """Return the values of the model function, with their errors where they are asked for.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations too: those of the posterior of w and β, with ρ and the prior
            as known.
        return_cov : bool, default=False
            Whether to return the covariance of the rows too.
        with_noise : bool, default=False
            Whether these are of new observations, of weight one, rather than of the function.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Predictions; with `return_std` a pair with deviations of the same shape; with `return_cov` a pair
            with covariances of shape (n, n) or (n, n, k).
        """
        if return_std and return_cov:
            raise ValueError(
                "return_std and return_cov cannot both be True: the deviations are in return_cov"
            )
        mean = super().predict(X)
        if not (return_std or return_cov):
            return mean
        posterior, posed = self._weight_posterior()
        checked, T = self._evaluated(X)
        if posed.components is None:
            Z = posed.covariance.times_root(checked)
            Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
        else:
            A = posed.components.coefficients
            Z = posed.covariance.times_root(self.kernel_.times(checked, self.X_fit_, A))
        if posed.parts is not None:
            T, own = posed.parts.at(T)
            Z = beside(Z, own, float(self.feature_variance))
        roots = posterior.roots_at(Z, T)
        noise = posterior.noise if with_noise else np.zeros_like(posterior.noise)
        if return_std:
            variance = np.sum(roots**2, axis=1)[:, None] * posterior.scale + noise
            return mean, self._shaped(standard_deviations(variance))
        n = len(roots)
        covariance = (roots @ roots.T)[:, :, None] * posterior.scale + np.eye(n)[:, :, None] * noise
        return mean, (covariance[:, :, 0] if self._one_output else covariance)

    def _weight_posterior(self) -> tuple[WeightPosterior, _Posed]:
        """Return the posterior of the weights, made when first asked for, and the problem it is of."""
        check_is_fitted(self)
        if "_posterior_kept" not in self.__dict__:
            solved = self._solved()
            posed = self._pose(self._training_fit)
            kept = np.flatnonzero(self.feature_support_).tolist()
            if posed.parts is not None:
                kept = list(range(posed.problem.T.shape[1]))
            known = [solved.statistics([output]) for output in range(solved.targets.shape[1])]
            scale = np.array([statistics.kernel_variance for statistics in known])
            rho, degrees = float(self.regularization_), known[0].n_free
            posterior = WeightPosterior.of(posed.problem, rho, kept, scale, degrees)
            self._posterior_kept = posterior, posed
        found: tuple[WeightPosterior, _Posed] = self._posterior_kept
        return found

    def _more_tables(self, output: int) -> list[Table]:
        if hasattr(self, "kernel_") or self.n_features_in_ > _MOST_SHOWN:
            return []
        posterior, posed = self._weight_posterior()
        d, p = self.n_features_in_, posterior.V.shape[0]
        n_own = 0 if posed.parts is None else posed.parts.Z.shape[1]
        root = np.hstack([posed.covariance.root_times(np.eye(p - n_own)), np.zeros((d, n_own))])
        variances = np.sum(posterior.weight_roots(root) ** 2, axis=1) * posterior.scale[output]
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(d)])
        return [posterior.table(list(map(str, names)), np.atleast_2d(self.coef_)[output], variances)]

    def _coefficient_errors(
        self, statistics: FitStatistics, output: int, unconditional: bool | str
    ) -> CoefficientErrors:
        if unconditional is True:
            raise ValueError(
                f"unconditional=True is not available for {type(self).__name__}: its standard errors take ρ "
                "and the prior as known"
            )
        n_features = self.n_features_free_
        degrees = np.full(n_features, statistics.n_free)
        if np.isfinite(self.feature_variance) and n_features:
            note = "There are no standard errors beside a finite feature_variance."
            return CoefficientErrors(np.full(n_features, np.nan), degrees, note)
        R, covariance = statistics.units, statistics.feature_covariance
        covariance = covariance if R is None else R @ covariance @ R.T
        note = "Standard errors take ρ and the prior as known."
        return CoefficientErrors(np.sqrt(np.maximum(np.diag(covariance), 0)), degrees, note)

    def _scales(self, statistics: FitStatistics, output: int) -> Scales:
        note = 'Scales have no intervals: they need one output and regularization="reml".'
        interior = self.regularization == "reml" and self._one_output
        if (
            interior
            and not self.regularization_path_[0] < self.regularization_ < self.regularization_path_[-1]
        ):
            interior, note = False, "Scales have no intervals: ρ is at an end of the values tried."
        return scales_at_gamma(
            statistics, "" if interior else note, "kernel" if hasattr(self, "kernel_") else "prior"
        )

    def _n_estimated(self) -> int:
        return int(isinstance(self.regularization, str))


@_documented(
    "(1, d) or (n_classes, d)",
    """
    classes_ : ndarray of shape (n_classes,)
        The labels.""",
    """
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn.""",
)
class PriorRLSClassifier(WithoutProbabilities, ClassificationSummary, Classification, _PriorRLS):
    """Least-squares classification with a Gaussian prior on the weights (RLSC).

    Targets are ±1; several classes are learnt one versus all with the same prior, in one factorisation or one
    run of conjugate gradients. The model function is that of `PriorRLSRegressor`.

    {parameters}

    See Also
    --------
    sklearn.linear_model.RidgeClassifier : The same for Σ = I and μ = 0, with ``alpha`` = ρn.
    TransferPrior : Learns μ and Σ from similar tasks.
    PriorRLSRegressor : The same for regression, with the equations.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from grls import PriorRLSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PriorRLSClassifier(regularization="loo").fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 1)
    0.9
    >>> model.coef_.shape
    (10, 64)
    """

    def __init__(
        self,
        mean: Any = None,
        covariance: Any = None,
        *,
        kernel: Any = None,
        rank: int | None = None,
        features: Any = "constant",
        regularization: float | str = 1.0,
        regularization_grid: Any = 50,
        feature_variance: float = np.inf,
        class_weight: Any = None,
        formulation: str = "exact",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            mean,
            covariance,
            kernel=kernel,
            rank=rank,
            features=features,
            regularization=regularization,
            regularization_grid=regularization_grid,
            feature_variance=feature_variance,
            formulation=formulation,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
        )
        self.class_weight = class_weight
