"""Novelty detection with predefined features: `OneClassSVMGB`."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from ._models.kernel_components import finite_rows
from ._models.parts import Decomposition
from ._models.piecewise import PosedProblem, problem_of, solve
from ._models.samples import Samples, Training
from ._models.support_vectors import SupportVectorMachine
from ._solvers import bias_face
from ._solvers.dual_program import DualProgram
from ._solvers.kernel_problem import KernelProblem
from ._solvers.origin import spans_constant
from ._solvers.rank import nearest_combination
from ._solvers.results import Status
from ._validation import FloatArray, choice, integer, real, sample_weights
from ._warnings import warn

__all__ = ["OneClassSVMGB"]
__dir__ = __all__.copy

_ROUNDING = 1e-10  # of a coefficient's range: what is nearer to a bound is at the bound
_NEAR, _CLEARANCE = 1e-6, 0.25  # of it, as far as the threshold goes; what that may cost, in shares of `tol`
# Relative errors of a sum of kernel values, of points in double and in single precision.
_EVALUATION, _SINGLE_EVALUATION = 1e-13, 1e-6
_LEAST_GAIN = 1e-6  # of the objective, that a gap is relative to
_FEW_ROWS, _DRAWN_ROWS = 1000, 500  # up to so many all of the kernel matrix is evaluated; of more, such rows
_CLOSER = 0.9  # what of ½aᵀΦa at a_i = νw_i coefficients may have that the others are counted from
_MORE_DIGITS, _DOUBLE_PRECISION = 0.01, 5e-6  # of a second attempt: times `tol`, and at most


class OneClassSVMGB(OutlierMixin, SupportVectorMachine):
    r"""One-class support vector machine whose threshold is made of features that are not penalised.

    .. math:: \min_{g, β} \frac{1}{2} \|g\|^2 + \sum_i w_i \max(0, ρ(x_i) - g(x_i)) - ν \sum_i w_i ρ(x_i),
              \quad g(x) = \sum_i a_i k(x_i, x), \quad ρ(x) = -\sum_p β_p φ_p(x)

    Rows are inliers where g, which is large where the training rows are dense, exceeds the threshold ρ. With
    ``features="constant"`` this is scikit-learn's `OneClassSVM`: the same threshold everywhere. Features let
    it follow what is known to vary without being novel: a trend, a group, a season. At the optimum

    .. math:: 0 ≤ a_i ≤ w_i, \quad \sum_i a_i φ_p(x_i) = ν \sum_i w_i φ_p(x_i) \text{ for every } p,

    so that at most a share ν of the training rows lies below the threshold, and at least as much has a
    coefficient; and not only of all rows, but of those of any group whose indicator is among the features.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="gaussian"
        An object of `grls.kernels`, such as ``Gaussian(sigma=2.0)``, a formula of several, or one on a view
        of X; a name (``"gaussian"``, ``"laplace"``, ``"linear"``, ``"polynomial"``, ``"precomputed"``), whose
        width is the median distance of the rows; or a function ``k(X, Z)`` that returns the matrix.
    features : str, callable or transformer, default="constant"
        What the threshold is made of: ``"constant"``, ``"linear"``, ``"quadratic"``, a function
        ``X -> (n, l)``, or any scikit-learn transformer that needs no y, which is cloned and fitted with X.
        They must span the constant.
    nu : float, default=0.1
        ν, between 0 and 1: the share of the training rows that may be outliers. (`OneClassSVM` has 0.5.)
    feature_variance : float, default=inf
        How freely the threshold varies: the prior variance τ of the features' coefficients, which adds
        \|β\|²/(2τ) to the objective, for features centred and scaled to variance one; the constant stays
        free. Infinite: unpenalised. 0: as with the constant alone.
    solver : {"auto", "native", "ipm", "osqp"}, default="auto"
        "native" decomposes the problem and evaluates the kernel rows it needs; "ipm" is an interior point
        method that factorises the kernel matrix a dozen times or two, for thousands of samples; "osqp" hands
        the quadratic program to OSQP, for hundreds. "auto" takes "ipm" for few samples and "native" for more.
    tol : float, default=1e-4
        Duality gap at which to stop, relative to what the objective gains over a_i = νw_i (or 10⁻⁶ of what
        it is there, where the features leave nothing to gain). Beside the constant alone, of more than 1000
        rows, what it is there may be an estimate from 500 of them.
    max_iter : int, default=-1
        Rounds or iterations at most; -1: no limit.
    cache_size : float, default=1000
        MiB of kernel rows to keep.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_SV,)
        Coefficients a of the support vectors, as `OneClassSVM` scales them: w_i at most.
    feature_coef_ : ndarray of shape (l,)
        Coefficients β; zero where a feature was left out as dependent.
    offset_ : float
        The threshold ρ, averaged over the training rows: ``score_samples`` less ``decision_function``.
    support_ : ndarray of shape (n_SV,)
        Positions of the support vectors in X, ascending.
    X_fit_, support_vectors_ : {ndarray, CSR matrix} of shape (n_SV, d)
        The support vectors, as the views of the kernel show them where it has some; of a precomputed kernel,
        the matrix between them.
    coef_ : ndarray of shape (1, d)
        Weights of the columns, of a linear kernel.
    intercept_ : ndarray of shape (1,)
        −ρ, of a linear kernel beside ``features="constant"``.
    rkhs_norm_ : ndarray of shape (1,)
        Norm √(aᵀΦa) of g.
    objective_ : float
        The objective of the model, from its own coefficients.
    duality_gap_ : float
        The duality gap, relative as `tol` is; likewise.
    n_iter_ : int
        Rounds or iterations.
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.
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
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    sklearn.svm.OneClassSVM : The same with the constant as the only feature; ``gamma = 1 / (2 sigma**2)``.
    SVMGBClassifier : Where labels say what is novel.
    grls.conformal.ConformalRegressor : Bands that hold in groups, around a regression.

    Notes
    -----
    With a = νw + c the dual is that of a quantile regression of level 1 − ν on the targets
    −νΣ_j w_j k(x_j, x), and is solved as such: see docs/math.md, section "One class". It has a solution for
    every ν between 0 and 1 and any features that span the constant. The targets take a pass over all values
    of the kernel, the rest costs what `GRRegressor` does. `ConvergenceWarning` where the gap is not reached.

    Where features make ρ(x) negative nothing is novel, as a linear trend does somewhere: take features that
    stay between bounds, such as a known density or indicators of groups.

    Examples
    --------
    Dense on the left and sparse on the right, as is known: a constant threshold takes the sparse side for
    novel, one that falls as the density does not.

    >>> import numpy as np
    >>> from grls import OneClassSVMGB
    >>> from grls.kernels import Gaussian
    >>> x = np.random.default_rng(0).beta(1, 3, (1000, 1))
    >>> known = lambda x: np.column_stack([np.ones(len(x)), (1 - x[:, 0]).clip(0) ** 2])
    >>> rows = [[0.1], [0.75], [1.5]]
    >>> OneClassSVMGB(Gaussian(0.1)).fit(x).predict(rows)
    array([ 1, -1, -1])
    >>> OneClassSVMGB(Gaussian(0.1), features=known).fit(x).predict(rows)
    array([ 1,  1, -1])
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        nu: float = 0.1,
        feature_variance: float = np.inf,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = -1,
        cache_size: float = 1000,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.nu = nu
        self.feature_variance = feature_variance
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVMGB:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : None
            Not used.
        sample_weight : array-like of shape (m,), default=None
            w: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        OneClassSVMGB
            The fitted model.
        """
        self._check_parameters()
        with self._timed_fit():
            checked = self._validate(X)
            weights = sample_weights(sample_weight, checked)
            targets = np.zeros((checked.shape[0], 1))
            self._fit(self._samples(checked, X, None, targets, weights))
        return self

    def _check_parameters(self) -> None:
        if not 0 < real(self.nu, "nu") < 1:
            raise ValueError(
                f"nu is a share of the rows and lies between 0 and 1, both excluded, got {self.nu!r}"
            )
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        choice(self.solver, "solver", ("auto", "native", "ipm", "osqp"))
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=-1)
        real(self.cache_size, "cache_size", above=0)
        if self.features is None:
            raise ValueError('features=None leaves no threshold: use features="constant"')
        if hasattr(self.features, "__sklearn_tags__") and get_tags(self.features).target_tags.required:
            raise ValueError(f"the features {self.features!r} are made from y, and one class has none")

    def _moves_kernel(self) -> bool:
        return False  # Σa is not zero: about another centre a linear kernel is another model

    def _fit(self, samples: Samples) -> None:
        training = self._prepare(samples)
        if not spans_constant(training.T):
            raise ValueError(
                "the features do not span the constant, so that g = 0 below a threshold of zero may be all "
                "there is to learn: add a column of ones"
            )
        # All is proportional to the weights: solved for weights of one at most, nothing overflows.
        unit = 1.0
        if samples.weights is not None:
            unit = float(samples.weights.max())
            samples.weights = samples.weights / unit
        solved = _solve(self, training)
        self._stages.done("solve")
        if solved.relative_gap > self.tol:
            warn(
                f"the one-class machine did not reach tol={self.tol:g}: it is left with a relative duality "
                f"gap of {solved.relative_gap:.2g} after {solved.iterations} iterations; raise max_iter or "
                'tol, or use solver="ipm"',
                ConvergenceWarning,
            )
        self._store_features(training.features, solved.kept)
        self._store_support(training, unit * solved.a[:, None])
        self._store_coefficients(training.features, unit * solved.beta[:, None])
        self._store_leverage(training.T, samples.weights)
        self.offset_ = -unit * float(np.average(training.T @ solved.beta, weights=samples.weights))
        self.objective_, self.duality_gap_ = solved.objective * unit * unit, solved.relative_gap
        self.n_iter_ = solved.iterations

    def decision_function(self, X: Any) -> FloatArray:
        """Return g(x) − ρ(x), which is negative for outliers.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            How far above its threshold each point is.
        """
        feature_part, learnt_part = self._parts(X)
        return self._shaped(feature_part + learnt_part)

    def score_samples(self, X: Any) -> FloatArray:
        """Return g(x) less what the threshold has more there than on average.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            ``decision_function(X) + offset_``; with the constant alone g(x), as in `OneClassSVM`.
        """
        return finite_rows(np.asarray(self.decision_function(X) + self.offset_), "scores")

    def predict(self, X: Any) -> Any:
        """Return 1 for inliers and −1 for outliers.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            −1 where ``decision_function`` is negative.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def decompose(self, X: Any, return_std: bool = False, groups: Any = None) -> Decomposition:
        """Return −ρ(x), what the features say, and g(x), what the kernel has learnt.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        return_std : bool, default=False
            Not here: a support vector machine has no variances.
        groups : dict, default=None
            Names of terms, and for each the features that it is made of, by name or position.

        Returns
        -------
        Decomposition
            A pair ``features, learnt`` of ndarrays of shape (n,), which add up to ``decision_function``;
            ``terms`` has the groups.
        """
        return super().decompose(X, return_std, groups)

    def _shaped(self, values: FloatArray) -> FloatArray:
        return np.asarray(values[:, 0])

    def _per_output(self, values: FloatArray) -> FloatArray:
        return values[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")


@dataclass
class _Solved:
    """Coefficients, and what they reach."""

    a: FloatArray  # (m,)
    beta: FloatArray  # (l,)
    kept: list[int]  # features that have a coefficient
    objective: float
    relative_gap: float
    iterations: int


@dataclass(frozen=True)
class _Origin:
    """Coefficients that the machine's are counted from: 0 ≤ a ≤ w and Tᵀa = νTᵀw."""

    a: FloatArray  # (m,)
    image: FloatArray  # (m,): Φa
    even: float  # ½aᵀΦa of a_i = νw_i, or an estimate
    tightness: float = 1.0  # a share of the gain from here is so much less of that from a_i = νw_i

    @property
    def level(self) -> float:
        """½aᵀΦa."""
        return 0.5 * float(self.a @ self.image)

    def program(self, w: FloatArray) -> DualProgram:
        """Return the program of c = a − (this one), a quantile regression where that is νw."""
        nothing = np.zeros_like(w)
        return DualProgram(-self.image, -self.a, w - self.a, nothing, nothing, nothing)


def _solve(model: OneClassSVMGB, training: Training) -> _Solved:
    """Solve the quantile regression that the machine is, and again with more digits where it falls short."""
    kernel = training.kernel
    made = problem_of(model, training, "a one-class support vector machine")
    w = made.problem.weights_or_ones
    origin = _origin(model, training, made)
    if not (np.isfinite(origin.image).all() and np.isfinite(origin.even)):
        raise ValueError(
            f"values of the kernel {kernel!r} are not finite, or their sum over the rows is not: scale the "
            "columns of X"
        )
    program = origin.program(w)
    tol, start = float(model.tol), np.zeros_like(w)
    if origin.a.all():  # from νw on: most coefficients will be zero
        start = _outlying(-origin.image, made.problem.T, w, origin.a.sum()) - origin.a
    best = _attempt(model, made, program, start, tol, origin)
    if best.reached and best.relative_gap > tol and made.solver in ("auto", "native"):
        digits = min(_MORE_DIGITS * tol, _DOUBLE_PRECISION)
        again = _attempt(model, made, program, best.c, digits, origin)
        again.iterations += best.iterations
        best = again if again.relative_gap < best.relative_gap else best
    a = np.where(best.c == program.lower, 0.0, np.where(best.c == program.upper, w, origin.a + best.c))
    beta = made.coefficients(best.beta[:, None], best.c[:, None])[:, 0]
    objective = best.objective - origin.level
    kept = made.parts.kept if made.parts is not None else best.kept
    return _Solved(a, beta, kept, objective, best.relative_gap, best.iterations)


def _origin(model: OneClassSVMGB, training: Training, made: PosedProblem) -> _Origin:
    """Return νw, or of many rows beside the constant alone coefficients most of which are zero.

    Those need the kernel rows of the others only, where νw needs all: rows drawn at random tell where the
    rest is dense, and rows where it is not begin as outliers.
    """
    samples, T = training.samples, training.T
    assert training.kernel is not None
    w = made.problem.weights_or_ones
    nu, m = float(model.nu), len(w)
    plain = KernelProblem(training.kernel, samples.X, T, samples.weights)

    def image(a: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            return plain.kernel_times(a[:, None])[:, 0]

    is_plain = made.definite is None and made.parts is None and not (training.kernel.order or 0)
    if is_plain and m > _FEW_ROWS and T.shape[1] == 1 and made.solver in ("auto", "native"):
        rows = np.random.default_rng(0).choice(m, _DRAWN_ROWS, replace=False)
        drawn = np.zeros_like(w)
        drawn[rows] = w[rows] * (w.sum() / w[rows].sum())
        dense = image(drawn)
        even = 0.5 * nu**2 * float(w @ dense)
        dense = dense - plain.kernel_diagonal() * drawn  # a row is no neighbour of its own
        if np.isfinite(dense).all():
            a = _outlying(-dense, T, w, nu * w.sum())
            found = _Origin(a, image(a), even)
            if 0 < found.level <= _CLOSER * even:  # not so where kernels are narrow: there all rows are alike
                return replace(found, tightness=max(1.0, even / found.level - 1))
    a = nu * w
    dense = image(a)
    return _Origin(a, dense, 0.5 * float(a @ dense))


def _outlying(low: FloatArray, T: FloatArray, w: FloatArray, total: float) -> FloatArray:
    """Return coefficients (m,) that sum to `total`: all that they may be where −low is smallest beside T.

    So much g tells without a solution: it is where rows have few neighbours that they are outliers.
    """
    low = low - T @ nearest_combination(T, low)
    order = np.argsort(-low, kind="stable")
    a = np.empty_like(w)
    a[order] = np.clip(total - (np.cumsum(w[order]) - w[order]), 0.0, w[order])
    return a


@dataclass
class _Attempt:
    """What a solver found."""

    c: FloatArray  # (m,): exactly at a bound where it is near one
    beta: FloatArray  # of the problem's own features
    kept: list[int]
    objective: float
    relative_gap: float
    iterations: int
    reached: bool  # as the solver says


def _attempt(
    model: OneClassSVMGB,
    made: PosedProblem,
    program: DualProgram,
    start: FloatArray,
    tol: float,
    origin: _Origin,
) -> _Attempt:
    """Return a solution with the gap of its coefficients, and not that which the solver went by."""
    problem = made.problem
    found = solve(model, made, problem, [program], start[:, None], tol * origin.tightness)
    c, beta = np.clip(found.c[:, 0], program.lower, program.upper), np.array(found.beta[:, 0])
    near = _ROUNDING * (program.upper - program.lower)
    c = np.where(c <= program.lower + near, program.lower, c)
    c = np.where(c >= program.upper - near, program.upper, c)
    if made.definite is None and made.parts is None:  # Φc = Φa + t, of which only Φa is not known yet
        image = problem.kernel_times((c - program.lower)[:, None])[:, 0] + program.t
    else:
        image = problem.kernel_times(c[:, None])[:, 0]
    kept = list(found.kept)
    beta[kept] = _central_threshold(problem, program, c, beta[kept], image, kept)
    parts = c, beta, image, problem.T

    def unit_of(objective: float) -> float:
        # Of g that the features express nothing is gained, and rounding is left.
        return max(objective + origin.even - origin.level, _LEAST_GAIN * abs(origin.even))

    budget = _CLEARANCE * tol * unit_of(program.objective(*parts))
    beta[kept] += _clearance(problem, program, c, beta[kept], image, kept, budget)
    objective, gap = program.objective(*parts), program.gap(*parts, problem.times)
    unit = unit_of(objective)
    finite = np.isfinite(gap) and np.isfinite(unit)
    return _Attempt(
        c,
        beta,
        kept,
        objective,
        max(gap, 0.0) / unit if finite and unit > 0 else (0.0 if gap <= 0 else np.inf),
        int(found.iterations[0]),
        found.status[0] == Status.converged,
    )


def _central_threshold(
    problem: KernelProblem,
    program: DualProgram,
    c: FloatArray,
    beta: FloatArray,
    image: FloatArray,
    kept: list[int],
) -> FloatArray:
    """Return β (of the independent features), where several are as good the one that `bias_face` takes.

    For the constant alone that is the middle, as in `OneClassSVM`.
    """
    T = problem.T[:, kept]
    a, w = c - program.lower, program.upper - program.lower
    inside = ~np.logical_or(*bias_face.at_bounds(a, w))
    if bias_face.determined(T[inside], bias_face.lengths(T)):
        return beta
    g = image - program.t
    unit = float(np.abs(g).mean()) or 1.0
    # That rule is for y f about one, here it is g − ρ about zero.
    found = bias_face.central(
        g / unit + 1,
        T,
        np.ones_like(g),
        a,
        w,
        beta / unit,
        bias_face.units(T, problem.weights_or_ones),
        slope=-T.T @ program.lower,
    )
    return unit * found


def _clearance(
    problem: KernelProblem,
    program: DualProgram,
    c: FloatArray,
    beta: FloatArray,
    image: FloatArray,
    kept: list[int],
    budget: float,
) -> FloatArray:
    """Return what puts the rows above the threshold whose coefficients are not at the upper bound.

    At the optimum they are above it or on it; but for this, rounding and `tol` would leave those on it on
    either side by chance. A solution with few digits may have such coefficients far below, and then all rows
    are not worth it: the objective grows by `budget` at most, beside what makes no more than a share ν
    outliers, which lowers it.
    """
    T, g = problem.T[:, kept], image - program.t
    values = g + T @ beta
    size = float(np.abs(g).max(initial=0))
    w = program.upper - program.lower
    order = np.argsort(values, kind="stable")
    too_many = w[order].cumsum() > -(1 + _EVALUATION) * program.lower.sum()
    least = max(0.0, -float(values[order[too_many.argmax()]])) if too_many.any() else 0.0
    known = float(program.loss(-values - least).sum())

    def is_cheap(lift: float) -> bool:
        return float(program.loss(-values - lift).sum()) - known <= budget

    lifts = np.sort(-values[program.upper - c > _NEAR * w])
    lifts = lifts[lifts > least]
    below = [least, *lifts][bisect_left(lifts, True, key=lambda lift: not is_cheap(float(lift)))]
    digits = _EVALUATION if getattr(problem.X, "dtype", None) != np.float32 else _SINGLE_EVALUATION
    to_constant = nearest_combination(T, np.ones(len(T)))
    return np.asarray((below + digits * size) * to_constant)
