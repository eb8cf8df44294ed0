r"""Least squares on centres: `NystromGRLSRegressor` and `NystromGRLSClassifier`, for more rows than memory.

The model function stands on M centres z_j instead of all m rows,

    f(x) = Σ_j a_j k(z_j, x) + Σ_p β_p φ_p(x),   T_zᵀa = 0,

T_z the features at the centres, and minimises the same objective as `GRLSRegressor`,

    1/Σw Σ_i w_i (y_i − f(x_i))² + γ aᵀΦ_zz a.

Why T_zᵀa = 0, the orthonormal functions b(x) on the centres whose sums over rows are all that a fit needs,
and how γ is chosen from these sums: docs/math.md, section "Nyström".
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import kernels
from ._models.base import KernelMachine
from ._models.classification import OneVersusAll, class_weighted
from ._models.feature_prior import beside, is_as_good_as_free, kernel_beside, split
from ._models.leverage import Leverage
from ._models.progress import Stages
from ._models.regression import RegressionFunction
from ._models.samples import FreeFeatures, Samples, counted, fit_features, frame_of
from ._nystrom import centers as centers_
from ._nystrom import gradients
from ._nystrom.centers import Pool
from ._nystrom.equations import CRITERIA
from ._nystrom.plan import Block, Penalised, Plan, Solution, indicators, named
from ._nystrom.streams import Stream, as_stream
from ._nystrom.sums import Sums
from ._solvers.arrays import require_well_formed
from ._validation import (
    FloatArray,
    as_rows,
    choice,
    integer,
    is_table_of_numbers,
    number_or_choice,
    real,
    require_number_for_gradients,
    sample_weights,
)
from .kernels.origin import about_the_data
from .kernels.polynomials import needed_polynomials, require_polynomials

__all__ = ["NystromGRLSClassifier", "NystromGRLSRegressor"]


@dataclass
class _Partial:
    """What `partial_fit` has seen: the plan that the first block made, and the sums of all blocks."""

    plan: Plan
    sums: Sums


def _keeps_sums(model: Any) -> bool:
    if model.solver == "cg":
        raise AttributeError('solver="cg" needs the rows again: partial_fit and merge go with "cholesky"')
    return True


_adds_up = available_if(_keeps_sums)


class _Nystrom(KernelMachine):
    """What the two estimators share. Subclasses say what targets are."""

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float | str = "gcv",
        regularization_grid: Any = 50,
        feature_variance: float = np.inf,
        n_centers: int = 1000,
        centers: Any = "uniform",
        validation_fraction: float = 0.1,
        solver: str = "cholesky",
        tol: float = 1e-6,
        max_iter: int = 200,
        cache_size: float = 1000,
        precision: str = "double",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.feature_variance = feature_variance
        self.n_centers = n_centers
        self.centers = centers
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    # Subclasses: what is y?

    def _targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any, FloatArray, Any]:
        """Return X and y, checked, the columns that are summed, (n, k), and the classes they stand for."""
        raise TypeError(f"{type(self).__name__} does not say what its targets are")

    def _weighted(self, y: Any, weights: FloatArray | None, *, whole: bool) -> FloatArray | None:
        """Return the weights that the labels change; `whole`: y is all there is."""
        return weights

    # Parameters and rows.

    def _check_parameters(self) -> None:
        number_or_choice(self.regularization, "regularization", CRITERIA, minimum=0)
        if self.feature_variance != np.inf:
            real(self.feature_variance, "feature_variance", minimum=0)
        integer(self.n_centers, "n_centers", minimum=1)
        if isinstance(self.centers, str):
            choice(self.centers, "centers (unless it is an array)", centers_.STRATEGIES)
        fraction = real(self.validation_fraction, "validation_fraction", above=0)
        if fraction >= 1:
            raise ValueError(f"validation_fraction must be less than 1, got {fraction}")
        choice(self.precision, "precision", ("double", "single"))
        real(self.tol, "tol", above=0)
        integer(self.max_iter, "max_iter", minimum=1)
        real(self.cache_size, "cache_size", minimum=0)
        if choice(self.solver, "solver", ("cholesky", "cg")) == "cg":
            require_number_for_gradients(self.regularization)
        if kernels.as_kernel(self.kernel).pairwise:
            raise ValueError(
                "a precomputed kernel has no values at the centres of other blocks: use GRLSRegressor or "
                "GRLSClassifier, or give the kernel as a function"
            )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _block(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool = False) -> Block:
        """Return checked rows without those of weight zero."""
        checked, values, targets, classes = self._targets(X, y, reset=reset)
        counts = sample_weights(sample_weight, checked)
        weights = self._weighted(values, counts, whole=whole)
        samples = counted(Samples(checked, frame_of(X), values, targets, weights))
        if counts is not None and samples.rows is not None:
            counts = counts[samples.rows]
        if classes is not None and samples.rows is not None:  # a label of weight zero is none
            classes = np.unique(samples.y)
            samples.targets = indicators(samples.y, classes)
        samples.counts = counts
        return Block(**vars(samples), classes=classes)

    def _blocks(self, stream: Stream, *, reset: bool) -> Iterator[Block]:
        number = -1
        for number, (X, y, weight) in enumerate(stream):
            with named(f"block {number}"):
                rows = np.asarray(X) if isinstance(X, np.memmap) else X
                block = self._block(rows, y, weight, reset=reset and number == 0)
            yield block
        if number < 0:
            raise ValueError("there are no blocks: nothing is there to fit")

    # Before the first sum: the plan.

    def _pool(self, seed: int) -> Pool:
        return Pool(Pool.size_for(self.n_centers, self.centers), seed)

    def _plan(
        self,
        pool: Pool,
        like: Any,
        free: FreeFeatures | None,
        seed: int,
        kernel: kernels.Kernel | None = None,
    ) -> Plan:
        """Fix everything that all blocks share, from sampled rows.

        `like` is a data frame, if the rows are one; `free` are the features and `kernel` the kernel with its
        views, if all rows were seen to fit them, else they are fitted to the sample.
        """
        rows = _framed(pool.X, like)
        if free is None:
            free = FreeFeatures.fit_to_sample(self.features, rows, pool.y)
        if kernel is None:
            kernel, points = self._fitted_kernel(pool.X, rows, pool.y)
        else:
            points = kernel.view(rows)
            kernel = kernel.settled(points)
        views = kernel if kernel.reads_given else None
        chosen = self._chosen_centers(kernel, pool, points)
        penalised = None
        if np.isfinite(self.feature_variance):
            penalised = self._penalised(kernel, points, free.at(rows))
        T = free.at(_framed(chosen, like))
        if T.shape[1] >= chosen.shape[0]:
            raise ValueError(
                f"n_samples={chosen.shape[0]} centres cannot tell {T.shape[1]} features from the kernel's "
                "part: raise n_centers above the number of features, or give more rows"
            )
        names = getattr(self, "feature_names_in_", None)
        if views is not None:
            chosen, names = views.view(_framed(chosen, like)), None
        require_polynomials(kernel, chosen, T, None if names is None else list(names))
        kernel = about_the_data(kernel, points, T, free=True)
        fraction = float(self.validation_fraction) if self.regularization == "holdout" else 0.0
        if penalised is not None:
            T, Z = penalised.parts.at(np.asarray(T, dtype=np.float64))
            kernel = kernel_beside(kernel, chosen.shape[1], Z.shape[1])
            chosen = beside(chosen, Z, penalised.variance)
        built = centers_.build(kernel, chosen, T, self.precision)
        return Plan(built, free, self.precision, fraction, seed, penalised, views)

    def _penalised(self, kernel: kernels.Kernel, points: Any, T: FloatArray) -> Penalised | None:
        """Return the features with a prior, in the units of the sampled rows; T are all of them there."""
        tau = float(self.feature_variance)
        if isinstance(kernel, kernels.Function):
            raise ValueError(
                "a finite feature_variance needs a kernel of grls.kernels here, not a function: the features "
                "become columns that the kernel must know apart"
            )
        if T.shape[1] == 0 or is_as_good_as_free(kernel, points, tau):
            return None
        parts = split(T, None, needed_polynomials(kernel, points))
        if parts.Z.shape[1] == 0:  # a constant alone, which is free in any case
            return None
        support = np.isin(np.arange(T.shape[1]), parts.kept)
        return Penalised(kernel, parts, tau, Leverage.of_rows(T, None, support))

    def _chosen_centers(self, kernel: kernels.Kernel, pool: Pool, points: Any) -> Any:
        if isinstance(self.centers, str):
            return centers_.choose(self.centers, kernel, pool, points, self.n_centers)
        if not is_table_of_numbers(pool.X):
            return as_rows(self.centers)
        given = check_array(
            self.centers, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="centers"
        )
        if given.shape[1] != pool.X.shape[1]:
            raise ValueError(f"centers have {given.shape[1]} columns, the data {pool.X.shape[1]}")
        if sparse.issparse(given) == sparse.issparse(pool.X):
            return given
        return given.toarray() if sparse.issparse(given) else sparse.csr_matrix(given)

    def _plan_in_memory(self, X: Any, y: Any, sample_weight: Any, seed: int) -> tuple[Plan, list[Block]]:
        block = self._block(X, y, sample_weight, reset=True, whole=True)
        self._stages.done("validate")
        free, block.T = fit_features(self.features, block)
        self._stages.done("features")
        pool = self._pool(seed)
        pool.add(block.X, block.y)
        kernel = kernels.as_kernel(self.kernel)
        if not kernel.reads_given:
            return self._plan(pool, block.frame, free, seed), [block]
        names = getattr(self, "feature_names_in_", None)
        kernel, block.points = kernel.fit_views(block.given, block.y, block.weights, names)
        return self._plan(pool, block.frame, free, seed, kernel), [block]

    def _plan_stream(self, stream: Stream, seed: int) -> tuple[Plan, Any]:
        if stream.once and self.solver == "cg":
            raise ValueError(
                'solver="cg" reads the blocks in every step, and an iterator can be read once: give an '
                "object whose iter() starts afresh (a list, a memory-mapped array, a Parquet file), or "
                'solver="cholesky"'
            )
        pool = self._pool(seed)
        blocks = self._blocks(stream, reset=True)
        first = next(blocks)
        pool.add(first.X, first.y)
        if stream.once:
            return self._plan(pool, first.frame, None, seed), chain([first], blocks)
        count = 1
        for block in blocks:
            pool.add(block.X, block.y)
            count += 1
        again = _Again(lambda: self._blocks(stream, reset=False), count)
        return self._plan(pool, first.frame, None, seed), again

    # Fitting.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d), or blocks
            Training points. Or rows that come in blocks: a memory-mapped array; an iterable of (X, y) or
            (X, y, sample_weight); an Arrow table, data set or record batches, or a Parquet file, where `y`
            and `sample_weight` name columns. What can be read twice is: once to choose the centres, once for
            the sums. Of an iterator the centres come from the first block. Features that are fitted see all
            rows of an array, and of blocks the sample that the centres are chosen from.
        y : array-like of shape (m,) or (m, k), str or None
            Targets or labels; the name of their column; None where the blocks bring them.
        sample_weight : array-like of shape (m,) or str, default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            The fitted model.
        """
        with self._timed_fit():
            self._check_parameters()
            stages = self._stages
            stream = as_stream(X, y, sample_weight)
            if stream is None:
                plan, blocks = self._plan_in_memory(X, y, sample_weight, self._seed())
            else:
                plan, blocks = self._plan_stream(stream, self._seed())
            stages.done("centers")
            stages.report(f"{plan.centers.X.shape[0]} centres, {plan.centers.rank} functions on them")
            self._store(self._solve(plan, blocks, stages))
            self._forget("_partial")
        return self

    def _solve(self, plan: Plan, blocks: Any, stages: Stages) -> Solution:
        if self.solver == "cg":
            return gradients.solve(
                plan,
                blocks,
                float(self.regularization),
                tol=self.tol,
                max_iter=self.max_iter,
                cache_bytes=float(self.cache_size) * 2**20,
                stages=stages,
            )
        sums: Sums | None = None
        with stages.steps(len(blocks) if isinstance(blocks, Sized) else None, "blocks") as steps:
            for number, block in enumerate(blocks):
                with named(f"block {number}"):
                    part = plan.sums(block)
                sums = part if sums is None else sums + part
                rows = f"{sums.total.rows} rows so far"
                steps.done(f"block {number}: {rows}", rows)
        assert sums is not None
        stages.done("sums")
        solution = plan.solve(sums, self.regularization, self.regularization_grid)
        stages.done("solve")
        stages.report(f"solved, regularization {solution.regularization:.3g}")
        return solution

    def _store(self, solution: Solution) -> None:
        self._store_features(solution.features, solution.kept)
        self.kernel_ = solution.kernel
        self.X_fit_ = solution.centers
        self._gram_columns = None
        self._store_coefficients(solution.features, solution.beta)
        self._leverage = solution.leverage
        self.dual_coef_ = np.ascontiguousarray(self._per_output(solution.c))
        self.regularization_ = solution.regularization
        self.n_samples_seen_ = solution.n_rows
        self.n_iter_ = solution.n_iter
        self._forget("regularization_path_", "criterion_path_")
        if solution.choice is not None:
            self.regularization_path_ = solution.choice.path
            self.criterion_path_ = solution.choice.criterion
        if solution.classes is not None:
            self.classes_ = solution.classes

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, solve: bool, classes: Any) -> None:
        self._check_parameters()
        with self._all_or_nothing():
            before: _Partial | None = getattr(self, "_partial", None)
            with named(f"block {0 if before is None else before.sums.blocks}"):
                block = self._block(X, y, sample_weight, reset=before is None)
                if before is None:
                    seed = self._seed()
                    pool = self._pool(seed)
                    pool.add(block.X, block.y)
                    plan = self._plan(pool, block.frame, None, seed)
                    sums = plan.sums(block)
                    if classes is not None:
                        sums = sums.with_classes(np.unique(classes))
                else:
                    plan = before.plan
                    sums = before.sums.joined(plan.sums(block))
            self._continue(_Partial(plan, sums), solve)

    def _continue(self, partial: _Partial, solve: bool) -> None:
        require_well_formed(partial.plan.centers.X)
        self._partial = partial
        self.n_samples_seen_ = partial.sums.total.rows
        if solve:
            self._store(partial.plan.solve(partial.sums, self.regularization, self.regularization_grid))

    @_adds_up  # type: ignore[untyped-decorator]
    def merge(self, *others: Any, solve: bool = True) -> Any:
        """Add the rows that other models have seen.

        Parameters
        ----------
        *others : models
            Made by ``partial_fit`` with the same centres, kernel and features: copies of one model that has
            seen its first block, or models with the same `centers` array, a kernel without ``"median"``, and
            features that depend on no data.
        solve : bool, default=True
            Whether to solve for the coefficients now; `solve` does it later.

        Returns
        -------
        NystromGRLSRegressor or NystromGRLSClassifier
            This model, of all the rows.
        """
        check_is_fitted(self, "_partial", msg="merge needs models made by partial_fit; this one is not")
        with self._all_or_nothing():
            plan, sums = self._partial.plan, self._partial.sums
            for other in others:
                theirs = getattr(other, "_partial", None)
                if not isinstance(other, type(self)) or theirs is None:
                    raise ValueError("merge needs models of the same kind, made by partial_fit")
                if not plan.is_like(theirs.plan):
                    raise ValueError(
                        "the models stand on different centres, kernels or features: copy one model after "
                        "its first block, or give all of them the same centers array and kernel width"
                    )
                sums = sums.joined(theirs.sums)
            self._continue(_Partial(plan, sums), solve)
        return self

    def solve(self) -> Any:
        """Solve for the coefficients from the sums so far, after ``partial_fit(..., solve=False)``."""
        check_is_fitted(self, "_partial", msg="there are no sums: call partial_fit first")
        with self._all_or_nothing():
            self._continue(self._partial, True)
        return self


class _Again:
    """An iterable of known length that starts afresh every time."""

    def __init__(self, start: Any, count: int) -> None:
        self._start, self._count = start, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Block]:
        return iter(self._start())


def _framed(X: Any, like: Any) -> Any:
    """Return rows as a data frame where `like` is one."""
    return X if like is None or hasattr(X, "columns") else type(like)(X, columns=like.columns)


_PARAMETERS = """Parameters
    ----------
    kernel : Kernel, str or callable, default="gaussian"
        As in `GRLSRegressor`; a precomputed kernel cannot be used. The width ``"median"`` is taken from a
        sample.
    features : None, str, callable or transformer, default="constant"
        What is not penalised, as in `GRLSRegressor`. Of rows that come in blocks a transformer is fitted to
        the sample that the centres are chosen from, as are views of the kernel; one that is fitted already
        can be wrapped in scikit-learn's ``FrozenEstimator``.
    regularization : float or {"gcv", "holdout"}, default="gcv"
        γ ≥ 0, with the meaning it has in `GRLSRegressor`. "gcv": generalised cross-validation, for which
        weights count as repetitions. "holdout": squared error on `validation_fraction` of the rows; the
        coefficients are then those of all rows.
    regularization_grid : int or array-like, default=50
        How many values of γ to try, or the values themselves.
    feature_variance : float, default=inf
        How free the features are, with the meaning it has in `GRLSRegressor`; the mean and the spread of the
        features are those of the sample that the centres are chosen from. It needs a kernel of
        `grls.kernels`. Infinite: unpenalised.
    n_centers : int, default=1000
        M; all distinct rows where there are fewer.
    centers : {"uniform", "leverage", "kmeans"} or array-like of shape (M, d), default="uniform"
        A sample of the distinct rows; a sample by estimated ridge leverage, or the centres of clusters, both
        from ten times as many rows; or the centres themselves.
    validation_fraction : float, default=0.1
        Share of the rows held out by "holdout", chosen by their contents.
    solver : {"cholesky", "cg"}, default="cholesky"
        "cg": conjugate gradients, for so many centres that the sums of M² numbers per row are too much work;
        it needs a number for `regularization` and blocks that can be read again.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=200
        Steps after which they stop with a ConvergenceWarning.
    cache_size : float, default=1000
        MiB of kernel values that conjugate gradients keep from step to step, half of the free memory at most;
        values for which there is no room are evaluated again. Room for all of them, 8 m M bytes and in single
        precision 4 m M, makes a step many times faster. The answer does not depend on it.
    precision : {"double", "single"}, default="double"
        Of kernel values and of products of up to 1024 rows. "single" is about twice as fast, leaves out
        centres that add less than 1e-6, and resolves γ down to about 1e-7 of k(x, x). Sums are in double
        precision always. Conjugate gradients then solve with products in single precision, and correct what
        comes out by residuals in double precision until `tol` is reached.
    random_state : int, RandomState instance or None, default=0
        Of the sample of centres and of the rows held out.
    verbose : int, default=0
        Whether to print what a fit is doing. On a terminal or in a notebook, the blocks are a bar with the
        time left if tqdm is installed and they can be read twice.{parameters}

    Attributes
    ----------
    X_fit_ : {ndarray, CSR matrix} of shape (M', d)
        The centres, without those that add nothing to the others, as the views of the kernel show them where
        it has some.
    dual_coef_ : ndarray of shape (M', k)
        a, with T_zᵀa = 0.
    feature_coef_ : ndarray of shape (l, k)
        β; zero where a feature was left out.
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
    regularization_ : float
        γ that was used.
    regularization_path_, criterion_path_ : ndarrays of shape (g,)
        All γ that were tried, and the criterion there; smaller is better.
    n_samples_seen_ : int
        Rows of positive weight.
    n_iter_ : int
        Steps of conjugate gradients; 1 for "cholesky".
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.{attributes}
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame."""


def _documented(attributes: str = "", parameters: str = "") -> Any:
    def fill(cls: Any) -> Any:
        text = _PARAMETERS.replace("{attributes}", attributes).replace("{parameters}", parameters)
        cls.__doc__ = cls.__doc__.replace("{parameters}", text)
        return cls

    return fill


@_documented()
class NystromGRLSRegressor(RegressionFunction, _Nystrom):
    """`GRLSRegressor` on centres: time linear in the rows, memory that does not grow with them.

    Equations: docs/math.md, section "Nyström".

    {parameters}

    See Also
    --------
    GRLSRegressor : The model with all rows as centres, with leave-one-out and variances.
    sklearn.kernel_approximation.Nystroem : Such functions as a transformer, without free features.

    Notes
    -----
    With r ≤ M functions and l features, the sums take about m(dM + r² + (r + l)²) operations and 16(r + l)²
    bytes, solving r³ of both.

    Examples
    --------
    >>> import numpy as np
    >>> from grls import NystromGRLSRegressor
    >>> from grls.kernels import Gaussian
    >>> x = np.linspace(0, 10, 5000)[:, None]
    >>> y = 3 * x[:, 0] + np.sin(x[:, 0])
    >>> model = NystromGRLSRegressor(Gaussian(1.0), features="linear", n_centers=50).fit(x, y)
    >>> round(model.score(x, y), 4)
    1.0

    The same from blocks:

    >>> parts = [(x[i : i + 500], y[i : i + 500]) for i in range(0, 5000, 500)]
    >>> again = NystromGRLSRegressor(Gaussian(1.0), features="linear", n_centers=50).fit(parts)
    >>> bool(np.allclose(again.predict(x), model.predict(x)))
    True
    """

    @_adds_up  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, solve: bool = True
    ) -> NystromGRLSRegressor:
        """Add a block of rows to the sums.

        The first block decides the centres, the width of the kernel, the features and what they are fitted
        to. A block that is refused changes nothing.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Training points.
        y : array-like of shape (n,) or (n, k)
            Targets.
        sample_weight : array-like of shape (n,), default=None
            Weights.
        solve : bool, default=True
            Whether to solve for the coefficients now; the method `solve` does it later.

        Returns
        -------
        NystromGRLSRegressor
            The model of all rows so far.
        """
        self._partial_fit(X, y, sample_weight, solve, None)
        return self

    def _targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any, FloatArray, Any]:
        checked, values = self._check_values(X, y, reset=reset)
        if reset:
            self._y_shape = values.shape[1:]
        elif values.shape[1:] != self._y_shape:
            raise ValueError(
                f"y has shape {values.shape}, expected {(len(values), *self._y_shape)} as before"
            )
        return checked, values, values.reshape(len(values), -1), None

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._y_shape == () else values


@_documented(
    """
    classes_ : ndarray of shape (n_classes,)
        The labels.""",
    """
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" needs all rows at once.""",
)
class NystromGRLSClassifier(OneVersusAll, _Nystrom):
    """`GRLSClassifier` on centres: time linear in the rows, memory that does not grow with them.

    Targets are ±1; several classes are learnt one versus all from the same sums. The equations are in the
    documentation of `grls.nystrom`.

    {parameters}

    See Also
    --------
    GRLSClassifier : The model with all rows as centres.
    NystromGRLSRegressor : The same for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from grls import NystromGRLSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystromGRLSClassifier(n_centers=200).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.93)
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float | str = "gcv",
        regularization_grid: Any = 50,
        feature_variance: float = np.inf,
        n_centers: int = 1000,
        centers: Any = "uniform",
        validation_fraction: float = 0.1,
        class_weight: Any = None,
        solver: str = "cholesky",
        tol: float = 1e-6,
        max_iter: int = 200,
        cache_size: float = 1000,
        precision: str = "double",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            features=features,
            regularization=regularization,
            regularization_grid=regularization_grid,
            feature_variance=feature_variance,
            n_centers=n_centers,
            centers=centers,
            validation_fraction=validation_fraction,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            cache_size=cache_size,
            precision=precision,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    @_adds_up  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, solve: bool = True
    ) -> NystromGRLSClassifier:
        """Add a block of rows to the sums.

        The first block decides the centres, the width of the kernel, the features and what they are fitted
        to. A block that is refused changes nothing. Labels may come up at any time.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Training points.
        y : array-like of shape (n,)
            Labels.
        classes : array-like, default=None
            Labels that are to come, if the first block does not have two of them.
        sample_weight : array-like of shape (n,), default=None
            Weights.
        solve : bool, default=True
            Whether to solve for the coefficients now; the method `solve` does it later.

        Returns
        -------
        NystromGRLSClassifier
            The model of all rows so far.
        """
        self._partial_fit(X, y, sample_weight, solve, classes)
        return self

    def _targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any, FloatArray, Any]:
        checked, labels = self._validate(X, y, reset=reset)
        check_classification_targets(labels)
        classes = np.unique(labels)
        return checked, labels, indicators(labels, classes), classes

    def _weighted(self, y: Any, weights: FloatArray | None, *, whole: bool) -> FloatArray | None:
        if self.class_weight == "balanced" and not whole:
            raise ValueError(
                'class_weight="balanced" needs all labels at once; for blocks give a dict {label: weight}'
            )
        return class_weighted(self.class_weight, y, weights)
