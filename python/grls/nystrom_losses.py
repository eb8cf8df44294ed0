r"""Counts and positive values on centres: `NystromGRRegressor`, for more rows than memory.

The model function stands on M centres z_j instead of all m rows,

    f(x) = Σ_j a_j k(z_j, x) + Σ_p β_p φ_p(x),   T_zᵀa = 0,

and minimises the same objective as `GRRegressor` with a smooth loss,

    1/Σw Σ_i w_i V(y_i, f(x_i) + o_i) + γ aᵀΦ_zz a.

Newton's method solves the equations of least squares on centres (docs/math.md, section "Nyström") in every
step; their sums take one pass over the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_is_fitted

from . import kernels
from ._models.families import FAMILIES, Family
from ._models.regression import RegressionFunction
from ._models.samples import offsets
from ._models.smooth_regression import explained_deviance
from ._nystrom import centers as centers_
from ._nystrom.centre_machine import CentreMachine, Source
from ._nystrom.plan import Plan
from ._nystrom.smooth import Descent, FamilySums, Totals, minimise
from ._nystrom.streams import Stream, as_stream
from ._validation import FloatArray, choice, integer, number_or_choice, real
from ._warnings import recorded, warn

__all__ = ["NystromGRRegressor"]
__dir__ = __all__.copy


class NystromGRRegressor(RegressionFunction, CentreMachine):
    r"""`GRRegressor` with a smooth loss on centres: time linear in the rows, blocks read one at a time.

    Memory does not grow with rows that come in blocks (files, iterables, …). Of rows in memory, features take
    some 24 bytes for each row and feature.

    .. math:: \min_f \frac{1}{m} \sum_i V(y_i, f(x_i)) + γ a^T Φ_{zz} a, \quad
              f(x) = \sum_j a_j k(z_j, x) + \sum_p β_p φ_p(x), \quad T_z^T a = 0

    V is half a deviance of counts or of positive values with mean μ = exp f(x), times an exposure where there
    is one; the table is that of `GRRegressor`. Every Newton step reads all rows once.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="gaussian"
        As in `GRRegressor`; it is not chosen here, and cannot be precomputed. Widths such as ``"median"`` are
        taken from a sample of the rows.
    features : None, str, callable or transformer, default="constant"
        What is not penalised. Of rows that come in blocks a transformer is fitted to the sample that the
        centres are chosen from, as are views of the kernel.
    loss : {"poisson", "gamma", "negative_binomial"}, default="poisson"
        What y are: counts, positive values whose errors are in per cent, counts that scatter more.
    regularization : float, "gcv" or "reml", default="gcv"
        γ > 0, with the meaning it has in `GRRegressor`. "gcv": by generalised cross-validation of the
        least-squares problem that a Newton step solves, in every step until it is steady; one for each
        output. The variance of whole numbers is not taken for less than the loss says. "reml": by restricted
        maximum likelihood, likewise, which scatters less where the function is as smooth as the kernel, but
        may miss a function that is not. Neither needs a pass of its own. Some ten or twenty counts in all
        tell little, and either may then choose far too small a γ.
    regularization_grid : int or array-like, default=50
        How many values of γ to try, or the values themselves.
    feature_variance : float, default=inf
        How free the features are, as in `NystromGRLSRegressor`. Infinite: unpenalised.
    dispersion : float or "auto", default="auto"
        α > 0 of the variance μ + αμ² with ``loss="negative_binomial"``, which must be given here:
        `GRRegressor` estimates it from some thousand rows (`dispersion_`). Other losses do without.
    n_centers : int, default=1000
        M; all distinct rows where there are fewer. A pass takes about 2M² operations a row.
    centers : {"uniform", "leverage", "kmeans"} or array-like of shape (M, d), default="uniform"
        As in `NystromGRLSRegressor`.
    tol : float, default=1e-8
        Newton's method stops where a step promises to lower the objective by less than this, or than this
        share of a small objective.
    max_iter : int, default=100
        Steps after which it stops with a ConvergenceWarning.
    random_state : int, RandomState instance or None, default=0
        Of the sample of centres.
    verbose : int, default=0
        1: tell each pass.

    Attributes
    ----------
    X_fit_ : {ndarray, CSR matrix} of shape (M', d)
        The centres, without those that add nothing to the others.
    dual_coef_ : ndarray of shape (M',) or (M', k)
        a, with T_zᵀa = 0.
    feature_coef_ : ndarray of shape (l,) or (l, k)
        β; zero where a feature was left out.
    regularization_ : float or ndarray of shape (k,)
        γ that was used; chosen for several outputs, one for each.
    regularization_path_, criterion_path_ : ndarrays of shape (g,), or lists of them
        All γ that were tried in the last choice, and the criterion there; one array for each output.
    objective_ : ndarray of shape (k,)
        What was minimised.
    n_iter_ : ndarray of shape (k,)
        Newton steps.
    n_samples_seen_ : int
        Rows of positive weight.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    features_ : transformer or None
        The fitted features.
    feature_names_free_ : list of str
        Their names.
    n_features_free_ : int
        Their number, l.
    feature_support_ : ndarray of shape (l,)
        Which of them have a coefficient; linearly dependent ones are left out with a warning.
    fit_seconds_ : dict
        Time of each stage of ``fit``.
    fit_warnings_ : list of str
        What the fit warned of.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    GRRegressor : The model with all rows as centres, with leave-one-out and standard errors.
    NystromGRLSRegressor : The squared loss on centres, from one pass.

    Notes
    -----
    A fit reads the rows some ten to twenty times: four times before the first step (five of blocks), then
    once for each step and each time that a step is halved. There are no standard errors.

    Examples
    --------
    >>> import numpy as np
    >>> from grls import NystromGRRegressor
    >>> from grls.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, size=(3000, 1))
    >>> hours = rng.uniform(1.0, 5.0, 3000)
    >>> counts = rng.poisson(hours * np.exp(1 + np.sin(x[:, 0])))
    >>> model = NystromGRRegressor(Gaussian(1.0), n_centers=50).fit(x, counts, exposure=hours)
    >>> bool(np.abs(np.log(model.predict([[1.5]])) - 2.0)[0] < 0.1)  # in an hour
    True

    The same from blocks:

    >>> parts = [(x[i : i + 500], counts[i : i + 500]) for i in range(0, 3000, 500)]
    >>> again = NystromGRRegressor(Gaussian(1.0), n_centers=50).fit(parts, exposure=hours)
    >>> bool(np.allclose(again.predict(x), model.predict(x)))
    True
    """

    precision = "double"  # of the sums

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        loss: str = "poisson",
        regularization: float | str = "gcv",
        regularization_grid: Any = 50,
        feature_variance: float = np.inf,
        dispersion: float | str = "auto",
        n_centers: int = 1000,
        centers: Any = "uniform",
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.loss = loss
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.feature_variance = feature_variance
        self.dispersion = dispersion
        self.n_centers = n_centers
        self.centers = centers
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        # Several outputs work, but scikit-learn has no way to tell which values they may have.
        tags.target_tags.multi_output = False
        return tags

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> NystromGRRegressor:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d), or blocks
            Training points, or rows that come in blocks, all that `NystromGRLSRegressor` takes: files by
            path, Arrow tables, large memory-mapped arrays, iterables of (X, y) or (X, y, sample_weight).
            They are read many times, so that an iterator, which can be read once, is refused.
        y : array-like of shape (m,) or (m, k), str or None
            Counts, or values ≥ 0 ("gamma": > 0); the name of their column; None where the blocks bring them.
        sample_weight : array-like of shape (m,) or str, default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.
        offset : float or array-like of shape (m,), default=None
            What is known of the logarithm of each row's mean, and not learnt; of all blocks' rows in their
            order.
        exposure : float or array-like of shape (m,), default=None
            The time, area or population that a row's count is of, > 0, which multiplies the mean; likewise.

        Returns
        -------
        self : NystromGRRegressor
            The fitted model.
        """
        with self._timed_fit(), recorded() as messages:
            self._check_parameters()
            stream, seed = as_stream(X, y, sample_weight), self._seed()
            if stream is None:
                source = self._from_memory(X, y, sample_weight, seed)
                known = offsets(offset, exposure, source.blocks[0].n_given)
            else:
                source = self._from_stream(stream, seed)
                known = _offsets_of_blocks(offset, exposure, source)
            plan = self._plan(self._draft(source), int(self.n_centers), seed)
            self._stages.done("centers")
            self._stages.report(f"{plan.centers.X.shape[0]} centres, {plan.centers.rank} functions on them")
            sums = FamilySums(plan, self._family, self._shape(), source.blocks, known)
            gamma = (
                self.regularization if isinstance(self.regularization, str) else float(self.regularization)
            )
            totals, walks = minimise(
                sums, gamma, self.regularization_grid, float(self.tol), int(self.max_iter), self._stages
            )
            self._stages.done("solve")
            self._warn_unless_converged(walks)
            self._store(plan, sums, totals, walks)
            self.fit_warnings_ = messages
        return self

    @property
    def _family(self) -> Family:
        return FAMILIES[self.loss]

    def _shape(self) -> float:
        return 1.0 if isinstance(self.dispersion, str) else float(self.dispersion)

    def _optimizes(self) -> bool:
        return False

    def _check_parameters(self) -> None:
        choice(self.loss, "loss", tuple(FAMILIES))
        number_or_choice(self.regularization, "regularization", ("gcv", "reml"), above=0)
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        number_or_choice(self.dispersion, "dispersion", ("auto",), above=0)
        if self.dispersion == "auto" and self._family.shape is not None:
            raise ValueError(
                f"loss={self.loss!r} on centres needs a number for dispersion: GRRegressor estimates it from "
                "some thousand rows (dispersion_)"
            )
        integer(self.n_centers, "n_centers", minimum=1)
        if isinstance(self.centers, str):
            choice(self.centers, "centers (unless it is an array)", centers_.STRATEGIES)
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)
        if self._grouped():
            raise ValueError(
                "features=Groups(…) is for NystromGRLSRegressor: effects of groups have no closed form here"
            )
        if self._chooses_kernel():
            raise ValueError(
                'kernel="auto" is not chosen on centres: give a kernel, such as the kernel_ that GRRegressor '
                "chooses on some thousand rows"
            )
        if kernels.as_kernel(self.kernel).pairwise:
            raise ValueError(
                "a precomputed kernel has no values at the centres of other blocks: use GRRegressor, or give "
                "the kernel as a function"
            )

    def _from_stream(self, stream: Stream, seed: int) -> Source:
        if stream.once:
            raise ValueError(
                f"loss={self.loss!r} reads the blocks in every step, and an iterator can be read once: give "
                "an object whose iter() starts afresh (a list, a memory-mapped array, a Parquet file)"
            )
        return super()._from_stream(stream, seed)

    def _targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any, FloatArray, Any]:
        checked, values = self._check_values(X, y, reset=reset)
        if values.ndim == 2 and values.shape[1] == 1:
            values = np.asarray(column_or_1d(values, warn=True))
        if reset:
            self._y_shape = values.shape[1:]
        elif values.shape[1:] != self._y_shape:
            raise ValueError(
                f"y has shape {values.shape}, expected {(len(values), *self._y_shape)} as before"
            )
        return checked, values, values.reshape(len(values), -1), None

    def _warn_unless_converged(self, walks: list[Descent]) -> None:
        stuck = [walk for walk in walks if not walk.converged]
        if stuck:
            warn(
                f"Newton's method stopped after {stuck[0].iterations} steps, where the last one promised to "
                f"lower the objective by {stuck[0].decrement:.2g} > tol={self.tol:g}; raise max_iter, tol or "
                "regularization",
                ConvergenceWarning,
            )

    def _store(self, plan: Plan, sums: FamilySums, totals: Totals, walks: list[Descent]) -> None:
        theta, r = np.column_stack([walk.theta for walk in walks]), plan.centers.rank
        free = sums.eliminated(totals, theta[r:])
        solution = plan.solution(theta[:r], free, walks[0].gamma, totals.rows)
        self._store_features(solution.features, solution.kept)
        self.kernel_, self.X_fit_ = solution.kernel, solution.centers
        self._gram_columns = None
        self._store_coefficients(solution.features, solution.beta)
        self._leverage = solution.leverage
        self.dual_coef_ = np.ascontiguousarray(self._per_output(solution.c))
        self._shapes_fit = np.full(len(walks), self._shape())
        self.objective_ = np.array([walk.value for walk in walks])
        self.n_iter_ = np.array([walk.iterations for walk in walks])
        self.n_samples_seen_ = totals.rows
        self.regularization_: Any = walks[0].gamma
        self._forget("regularization_path_", "criterion_path_")
        choices = [walk.choice for walk in walks if walk.choice is not None]
        if choices:
            several = len(choices) > 1
            paths, criteria = [each.path for each in choices], [each.criterion for each in choices]
            self.regularization_path_ = paths if several else paths[0]
            self.criterion_path_ = criteria if several else criteria[0]
            if several:
                self.regularization_ = np.array([walk.gamma for walk in walks])

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._y_shape == () else values

    def linear_predictor(self, X: Any, *, offset: Any = None, exposure: Any = None) -> FloatArray:
        """Return the logarithm of the mean.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        offset, exposure : float or array-like of shape (n,), default=None
            As in `predict`.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Σ_j a_j k(z_j, x) + Σ_p β_p φ_p(x) plus the offset and the logarithm of the exposure.
        """
        return np.asarray(self._shaped(self._linear_predictor(X, offset, exposure)))

    def _linear_predictor(self, X: Any, offset: Any, exposure: Any) -> FloatArray:
        check_is_fitted(self)
        feature_part, learnt_part = self._parts(X)
        known = offsets(offset, exposure, len(feature_part))
        f = feature_part + learnt_part
        return f if known is None else f + known[:, None]

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> FloatArray:
        """Return means.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        offset, exposure : float or array-like of shape (n,), default=None
            What is added to the logarithm of the mean, and what multiplies the mean, at these points. Without
            them the means are those of one unit of exposure.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Means, a column for each output.
        """
        return np.asarray(self._shaped(self._family.mean(self._linear_predictor(X, offset, exposure))))

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        """Return D², the share of the deviance of the best constant that the model explains.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.
        y : array-like of shape (n,) or (n, k)
            Their values.
        sample_weight : array-like of shape (n,), default=None
            Weights in the mean.
        offset, exposure : float or array-like of shape (n,), default=None
            As in `predict`.

        Returns
        -------
        float
            1 is best, and a model worse than a constant has less than 0; the mean of several outputs.
        """
        f = self._linear_predictor(X, None, None)
        return explained_deviance(self._family, self._shapes_fit, f, y, sample_weight, offset, exposure)


def _offsets_of_blocks(offset: Any, exposure: Any, source: Source) -> FloatArray | None:
    """Return the offsets of all rows that come in blocks."""
    sizes = {len(check_array(a, ensure_2d=False)) for a in (offset, exposure) if np.ndim(a) > 0}
    if len(sizes) > 1:
        raise ValueError(f"offset and exposure are of {min(sizes)} and {max(sizes)} rows")
    if offset is None and exposure is None:
        return None
    n_rows = sizes.pop() if sizes else sum(block.n_given for block in source.blocks)
    return offsets(offset, exposure, n_rows)
