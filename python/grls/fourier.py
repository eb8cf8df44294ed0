r"""Least squares with Fourier modes in the kernel's place: `FourierGRLSRegressor`, for maps of many rows.

A stationary kernel of one to three columns is a sum of waves,

    k(x − z) ≈ Σ_j S_j exp(2πi ⟨j, x − z⟩/p),   f(x) = Σ_j √S_j b_j exp(2πi ⟨j, x⟩/p) + Σ_p β_p φ_p(x),

and the fit minimises the objective of `GRLSRegressor`, 1/Σw Σ_i w_i (y_i − f(x_i))² + γ Σ_j |b_j|². What it
needs of the rows are sums of waves over them, which non-uniform fast Fourier transforms give in time linear
in the rows. Equations: docs/math.md, section "Equispaced Fourier modes".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import kernels
from ._fourier.modes import choose_modes, columns_read, half_positions
from ._fourier.plan import Plan, Rows, SplitSums
from ._fourier.selection import CRITERIA, Choice, choose
from ._fourier.system import Solved, System
from ._fourier.transforms import require_transforms, wave_values
from ._fourier.widths import Attempts, Data, Known, scale_widths
from ._models.base import KernelMachine
from ._models.leverage import Leverage
from ._models.regression import RegressionFunction
from ._models.samples import FreeFeatures, Samples, counted, fit_features, frame_of
from ._nystrom import files
from ._nystrom.centers import Pool
from ._nystrom.plan import named
from ._nystrom.streams import as_stream
from ._selection.regularization import warn_of_unusual_weights
from ._validation import (
    FloatArray,
    integer,
    number_or_choice,
    real,
    require_two_samples,
    sample_weights,
)
from ._warnings import muted, recorded, warn
from .exceptions import NotPositiveDefiniteError
from .kernels.spectral import stationary_parts
from .least_squares import GRLSRegressor

__all__ = ["FourierGRLSRegressor"]

_SAMPLE = 2000  # rows that a fit is checked with, and widths are first chosen from
_SLICE = 1 << 20  # rows of an array in memory that are worked on at a time
_FAR = (1e-2, 1e-1)  # of the targets' spread: least and most of 10 tol that a fit may be from the exact one
_POINTS = 1 << 22  # numbers of waves at new rows that are held at a time


class FourierGRLSRegressor(RegressionFunction, KernelMachine):
    """`GRLSRegressor` for maps: millions of rows, and a kernel that reads one to three columns.

    A stationary kernel is written as a sum of Fourier modes, so that the size of the equations depends on the
    kernel and on the box that the rows lie in, and not on how many rows there are. Features may read any
    columns.

    Parameters
    ----------
    kernel : Kernel or str, default="matern"
        With a spectral density: `Gaussian`, `Matern`, `Laplace`, `RationalQuadratic`, their sums and
        multiples, and products of those on different columns. Where X has more than three columns,
        ``kernel.on(columns)`` says which the kernel reads. The width ``"median"`` is taken from a sample.
    features : None, str, callable or transformer, default="constant"
        What is not penalised, as in `GRLSRegressor`. Of rows that come in blocks a transformer is fitted to
        the sample, or to the first block where they come once.
    regularization : float or {"gcv", "reml", "holdout"}, default="gcv"
        γ ≥ 0, with the meaning it has in `GRLSRegressor`. "gcv": generalised cross-validation; "reml":
        restricted likelihood, for both of which a weight counts rows; beyond 2,000 modes their traces are
        estimated from 16 random vectors, the same in every fit. "holdout": squared error on
        `validation_fraction` of the rows; the coefficients are then those of all rows.
    regularization_grid : int or array-like, default=20
        How many values of γ to try, from large to small until the criterion has risen for a while, the best
        being refined; or the values themselves.
    tol : float, default=1e-3
        The kernel's uniform error, in units of k(x, x), that the modes may have. Rough kernels need many
        modes for a small one.
    max_modes : int, default=2000000
        More modes than this are refused, with the smallest `tol` that needs fewer.
    optimize : None, True, str, list of str or dict, default=None
        Which parameters of the kernel to choose with γ. True or names as in `GRLSRegressor`: by the exact
        model's restricted likelihood on a sample of 2,000 rows; then all widths are scaled together by the
        criterion of all rows, where there are more and they can be read again. A dict,
        ``{"sigma": [0.1, 0.2]}``: all these values by the criterion of all rows.
    domain : (low, high) or None, default=None
        The box that all training rows lie in, numbers or one for each column that the kernel reads. None:
        the box of the rows, and of those that come once or by ``partial_fit`` that of the first block, so
        that further rows outside it are refused.
    validation_fraction : float, default=0.1
        Share of the rows held out by "holdout", chosen by their contents.
    max_iter : int, default=1000
        Steps of conjugate gradients, after which they stop with a ConvergenceWarning.
    random_state : int, RandomState instance or None, default=0
        Of the sample, and of the rows held out.
    verbose : int, default=0
        Whether to print what a fit is doing. On a terminal or in a notebook the blocks are a bar, if tqdm is
        installed.

    Attributes
    ----------
    fourier_coef_ : ndarray of shape (k, h)
        The coefficients √S_j b_j of the waves, complex; of the half of the modes that begins with j = 0, in
        lexicographic order; the others are the conjugates.
    feature_coef_ : ndarray of shape (l,) or (l, k)
        β; zero where a feature was left out.
    feature_coef_std_ : ndarray of shape (l,) or (l, k)
        Their standard errors.
    feature_coef_cov_ : ndarray of shape (l, l) or (k, l, l)
        Their covariance.
    kernel_variance_, noise_variance_ : ndarrays of shape (k,)
        Restricted-likelihood estimates of the scale of the kernel part, and of the noise of a row of weight
        one.
    degrees_of_freedom_ : float
        Those of the two variances.
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
    optimization_ : list of (dict, float, float)
        With `optimize`: parameters of kernels that all rows tried, with their γ and criterion.
    n_modes_ : tuple of int
        Modes along each column that the kernel reads.
    period_ : ndarray
        The periods of these columns.
    kernel_error_ : float
        The largest error of the kernel that was found, in units of k(x, x); at most `tol`.
    fit_error_ : float
        How far a fit of 2,000 rows, or of all if there are fewer, is from the exact model's with the same
        γΣw: the root of the mean squared difference, in units of the targets' standard deviation. Beyond
        ten times `tol`, but at least 0.01 and at most 0.1, there is a warning.
    n_samples_seen_ : int
        Rows of positive weight.
    n_iter_ : int
        Steps of conjugate gradients.
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
    GRLSRegressor : The exact model.
    NystromGRLSRegressor : For any kernel and any number of columns.

    Notes
    -----
    With M modes and l features the sums take l + 2 transforms of the rows, two of them at a time; a step of
    conjugate gradients takes M log M, and the equations of the 2,000 numbers that belong to the largest
    weights are solved directly. Memory grows with the rows by the features alone, and with M. Beyond the
    kernel's reach from the training rows the kernel part is zero.

    The error of the fit is not that of the kernel: where γ is small, many small errors of the kernel matter,
    which `fit_error_` tells.

    Examples
    --------
    >>> import numpy as np
    >>> from grls import FourierGRLSRegressor
    >>> from grls.kernels import Matern
    >>> X = np.random.default_rng(0).uniform(size=(5000, 2))
    >>> y = 3 * X[:, 0] + np.sin(9 * X[:, 0]) * np.cos(9 * X[:, 1])
    >>> model = FourierGRLSRegressor(Matern(0.2), features="linear", regularization=1e-4).fit(X, y)
    >>> round(model.score(X, y), 3)
    1.0
    """

    def __init__(
        self,
        kernel: Any = "matern",
        *,
        features: Any = "constant",
        regularization: float | str = "gcv",
        regularization_grid: Any = 20,
        tol: float = 1e-3,
        max_modes: int = 2_000_000,
        optimize: Any = None,
        domain: Any = None,
        validation_fraction: float = 0.1,
        max_iter: int = 1000,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regularization = regularization
        self.regularization_grid = regularization_grid
        self.tol = tol
        self.max_modes = max_modes
        self.optimize = optimize
        self.domain = domain
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def __getstate__(self) -> Any:
        # The equations are made again where they are needed: models in files stay small.
        return {name: value for name, value in super().__getstate__().items() if name != "_system_kept"}

    # Parameters and rows.

    def _check_parameters(self) -> None:
        require_transforms()
        number_or_choice(self.regularization, "regularization", CRITERIA, minimum=0)
        tol = real(self.tol, "tol", minimum=1e-10)
        if tol >= 0.5:
            raise ValueError(f"tol must be less than 0.5 of k(x, x), got {tol}")
        integer(self.max_modes, "max_modes", minimum=3)
        integer(self.max_iter, "max_iter", minimum=1)
        fraction = real(self.validation_fraction, "validation_fraction", above=0)
        if fraction >= 1:
            raise ValueError(f"validation_fraction must be less than 1, got {fraction}")
        if self._optimizes() and not isinstance(self.regularization, str):
            raise ValueError(
                'optimize needs a criterion to go by: set regularization="reml", "gcv" or "holdout", got '
                f"{self.regularization!r}"
            )
        kernel = kernels.as_kernel(self.kernel)
        if kernel.pairwise or isinstance(kernel, kernels.Function):
            raise ValueError(
                "a precomputed kernel or a function has no spectral density: use a kernel of grls.kernels "
                "such as Matern, or GRLSRegressor"
            )

    def _optimizes(self) -> bool:
        return self.optimize is not None and self.optimize is not False

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _samples_of(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Samples:
        """Return checked rows without those of weight zero."""
        checked, values = self._check_values(X, y, reset=reset)
        if reset:
            self._y_shape = values.shape[1:]
        elif values.shape[1:] != self._y_shape:
            raise ValueError(
                f"y has shape {values.shape}, expected {(len(values), *self._y_shape)} as before"
            )
        weights = sample_weights(sample_weight, checked)
        targets = values.reshape(len(values), -1)
        return counted(Samples(checked, frame_of(X), values, targets, weights))

    def _in_memory(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Data:
        samples = self._samples_of(X, y, sample_weight, reset=True)
        self._stages.done("validate")
        free, T = fit_features(self.features, samples)
        self._stages.done("features")
        kernel, points = self._fitted_kernel(samples.X, samples.given, samples.y, samples.weights)
        m = len(T)
        chosen = np.arange(m)
        if m > _SAMPLE:
            chosen = np.sort(np.random.default_rng(seed).choice(m, _SAMPLE, replace=False, shuffle=False))
        rows = Rows(points, T, samples.targets, samples.weights)
        sample = rows.taken(chosen)
        sample.weights = None

        def blocks() -> Iterator[Rows]:
            for start in range(0, m, _SLICE):
                yield rows.taken(slice(start, start + _SLICE))

        low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
        return Data(kernel, free, low, high, sample, blocks, points.shape[1])

    def _in_blocks(self, stream: Any, seed: int) -> Data:
        """Read what all blocks share: the first block where they come once, else all of them."""
        reading = self._read(stream, reset=True)
        first = next(reading, None)
        if first is None:
            raise ValueError("there are no blocks: nothing is there to fit")
        low, high = first.X.min(axis=0).astype(float), first.X.max(axis=0).astype(float)
        pool = Pool(_SAMPLE, seed)
        pool.add(first.X, first.y)
        if not stream.once:
            for samples in reading:
                pool.add(samples.X, samples.y)
                low, high = np.minimum(low, samples.X.min(axis=0)), np.maximum(high, samples.X.max(axis=0))
        data = self._shared(pool, first, low, high)

        def blocks() -> Iterator[Rows]:
            if stream.once:
                yield self._rows_of(first, data)
                again: Iterable[Samples] = reading
            else:
                again = self._read(stream, reset=False)
            for samples in again:
                yield self._rows_of(samples, data)

        data.blocks, data.once = blocks, bool(stream.once)
        return data

    def _shared(self, pool: Pool, first: Samples, low: FloatArray, high: FloatArray) -> Data:
        """Return what all blocks share, from a sample of their rows."""
        if kernels.as_kernel(self.kernel).reads_given:
            raise ValueError("rows that come in blocks need a kernel without views: name its columns instead")
        frame = first.frame
        rows = pool.X if frame is None else type(frame)(pool.X, columns=frame.columns)
        free = FreeFeatures.fit_to_sample(self.features, rows, pool.y)
        kernel, points = self._fitted_kernel(pool.X, rows, pool.y)
        targets = np.asarray(pool.y, dtype=np.float64).reshape(len(pool.y), -1)
        sample = Rows(points, free.at(rows), targets)
        return Data(kernel, free, low, high, sample, None, first.X.shape[1])

    def _read(self, stream: Any, *, reset: bool) -> Iterator[Samples]:
        for number, (X, y, weight, where) in enumerate(stream):
            with named(where, partial(files.explained, X=X)):
                rows = np.asarray(X) if isinstance(X, np.memmap) else X
                samples = self._samples_of(rows, y, weight, reset=reset and number == 0)
            yield samples

    def _rows_of(self, samples: Samples, data: Any) -> Rows:
        return Rows(samples.X, data.free.at(samples.given), samples.targets, samples.weights)

    # Before the first sum: the plan.

    def _plan(self, data: Data, seed: int, kernel: kernels.Kernel | None = None) -> Plan:
        kernel = data.kernel if kernel is None else kernel
        low, high = data.low, data.high
        if self.domain is not None:
            low, high = self._domain(kernel, data)
        modes = choose_modes(kernel, data.n_columns, low, high, float(self.tol), int(self.max_modes))
        fraction = float(self.validation_fraction) if self.regularization == "holdout" else 0.0
        self._stages.report(
            f"{' × '.join(map(str, modes.shape))} modes, kernel error {modes.kernel_error:.2g}"
        )
        return Plan(kernel, data.free, modes, data.sample, fraction, seed)

    def _domain(self, kernel: kernels.Kernel, data: Data) -> tuple[FloatArray, FloatArray]:
        columns = list(columns_read(stationary_parts(kernel, data.n_columns), data.n_columns))
        try:
            low, high = (
                np.broadcast_to(np.asarray(end, dtype=np.float64), len(columns)) for end in self.domain
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                "domain must be (low, high), each a number or one for each of the "
                f"{len(columns)} columns that the kernel reads; got {self.domain!r}"
            ) from error
        if not (np.isfinite(low).all() and np.isfinite(high).all() and np.all(low < high)):
            raise ValueError(f"domain must have finite ends, low below high; got {self.domain!r}")
        box = data.low.copy(), data.high.copy()
        box[0][columns], box[1][columns] = low, high
        return box

    # Fitting.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FourierGRLSRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (m, d), or blocks
            Training points. Or rows that come in blocks: a memory-mapped array; an iterable of (X, y) or
            (X, y, sample_weight); an Arrow table, data set or record batches, or a Parquet file, where `y`
            and `sample_weight` name columns. What can be read twice is, once for the box of the rows.
        y : array-like of shape (m,) or (m, k), str or None
            Targets; the name of their column; None where the blocks bring them.
        sample_weight : array-like of shape (m,) or str, default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        FourierGRLSRegressor
            The fitted model.
        """
        with self._timed_fit(), recorded() as messages:
            self._check_parameters()
            seed = self._seed()
            stream = as_stream(X, y, sample_weight)
            data = (
                self._in_memory(X, y, sample_weight, seed)
                if stream is None
                else self._in_blocks(stream, seed)
            )
            self._stages.done("kernel")
            plan, sums, choice = self._chosen(data, seed)
            self._store(plan, sums, choice)
            self._forget("_partial")
            self.fit_warnings_ = messages
        return self

    def _sums(self, data: Data, plan: Plan) -> SplitSums:
        total: SplitSums | None = None
        with self._stages.steps(None, "blocks") as steps:
            for number, rows in enumerate(data.blocks()):
                with named(f"block {number}"):
                    found = plan.sums(rows)
                total = found if total is None else total + found
                steps.done(f"block {number}: {total.total.rows} rows so far")
        assert total is not None
        require_two_samples(total.total.rows)
        self._stages.done("sums")
        return total

    def _chosen(self, data: Data, seed: int) -> tuple[Plan, SplitSums, Choice | None]:
        """Leave to the data what was left to them: the kernel's parameters and γ."""
        self._forget("optimization_")
        if not self._optimizes():
            plan = self._plan(data, seed)
            sums = self._sums(data, plan)
            return plan, sums, self._choice(plan, sums)
        if data.once and isinstance(self.optimize, dict):
            raise ValueError("optimize reads the blocks again for every kernel, and these come once")
        attempt = Attempts(self, data, seed)
        if isinstance(self.optimize, dict):
            for values in product(*self.optimize.values()):
                attempt(clone(data.kernel).set_params(**dict(zip(self.optimize, values, strict=True))))
        else:
            start = self._kernel_of_sample(data)
            value = attempt(start)
            assert attempt.best is not None
            if not data.once and attempt.best[1].total.rows > len(data.sample.T):
                scale_widths(start, value, attempt)
        self.optimization_ = attempt.record
        assert attempt.best is not None
        return attempt.best

    def _kernel_of_sample(self, data: Data) -> kernels.Kernel:
        """Return the kernel whose parameters the exact model chooses from the sample."""
        exact = GRLSRegressor(
            data.kernel, features=Known(data.sample.T), regularization="reml", optimize=self.optimize
        )
        with muted():
            exact.fit(data.sample.points, data.sample.Y)
        self._stages.done("kernel")
        found: kernels.Kernel = exact.kernel_
        return found

    def _choice(self, plan: Plan, sums: SplitSums, near: float | None = None) -> Choice | None:
        """Return γ that a criterion chooses; None: it was given."""
        if not isinstance(self.regularization, str):
            return None
        n_free = plan.sample.T.shape[1]
        held_out = None
        if sums.held_out is not None and sums.held_out.rows:
            held_out = System(plan.modes, sums.held_out, n_free)
        if self.regularization != "holdout":
            total = sums.total
            warn_of_unusual_weights(np.array([total.weight / total.rows]), self.regularization)
        choice = choose(
            self.regularization,
            System(plan.modes, sums.fitted, n_free),
            held_out,
            self.regularization_grid,
            max_iter=self.max_iter,
            report=self._stages.report,
            near=near,
        )
        self._stages.done("regularization")
        return choice

    def _store(self, plan: Plan, sums: SplitSums, choice: Choice | None) -> None:
        """Solve, and keep the model."""
        total = sums.total
        system = System(plan.modes, total, plan.sample.T.shape[1])
        gamma = choice.regularization if choice is not None else float(self.regularization)
        s = gamma * total.weight
        solved = self._solved(system, system.g, s, 1e-2)
        self._stages.done("solve")
        self._plan_kept, self._sums_kept, self._system_kept = plan, total, system
        self._gram_columns = None
        self.kernel_ = plan.kernel
        self._store_features(plan.free, system.kept)
        self._store_coefficients(plan.free, system.feature_coefficients(solved.z))
        self._leverage = None
        if system.kept:
            A = np.eye(len(plan.free.names))[:, system.kept]
            self._leverage = Leverage.of_sums(system.S, A, np.asarray(plan.sample.T, dtype=np.float64))
        self.fourier_coef_ = system.coefficients(solved.z)
        self.regularization_ = gamma
        self._forget("regularization_path_", "criterion_path_")
        if choice is not None:
            self.regularization_path_, self.criterion_path_ = choice.path, choice.criterion
        self.n_modes_, self.period_ = plan.modes.shape, plan.modes.period
        self.kernel_error_ = plan.modes.kernel_error
        self.n_samples_seen_, self.n_iter_ = total.rows, max(1, solved.steps)
        self._store_variances(system, solved, s)
        self._stages.done("uncertainty")
        self._store_fit_error(plan, s)
        self._stages.done("check")

    def _solved(self, system: System, right: FloatArray, s: float, share: float) -> Solved:
        """Solve to a share of `tol`; a warning where that takes too many steps."""
        wanted = float(np.clip(share * float(self.tol), 1e-9, 1e-4))
        try:
            if s == 0:
                raise NotPositiveDefiniteError("regularization is 0")
            solved = system.solve(right, s, tol=wanted, max_iter=self.max_iter)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"the equations of {system.order} Fourier modes with regularization {s / system.weight:.3g} "
                "are not positive definite to working precision: choose a larger regularization"
            ) from error
        if solved.residual > wanted:
            warn(
                f"conjugate gradients did not converge in max_iter={self.max_iter} steps: the error is "
                f"{solved.residual:.2g} of the solution, expected {wanted:.2g}; raise max_iter, or choose a "
                "larger regularization",
                ConvergenceWarning,
            )
        return solved

    def _store_variances(self, system: System, solved: Solved, s: float) -> None:
        """Keep the variances of the kernel part and the noise, and the features' standard errors."""
        n = system.degrees
        quadratic = np.maximum(system.squares - np.einsum("kj,kj->k", system.g, solved.z), 0.0) / s
        self.degrees_of_freedom_ = float(n)
        self.kernel_variance_ = quadratic / (n if n > 0 else np.nan)
        self.noise_variance_ = self.kernel_variance_ * s
        kept = system.kept
        covariance = np.zeros((system.n_free, system.n_free))
        if kept:
            inside = self._solved(system, system.C, s, 1.0).z  # (l', 2h)
            through = system.over_features(system.C @ inside.T)
            own = system.over_features(np.eye(len(kept)))
            covariance[np.ix_(kept, kept)] = s * (own + system.over_features(through.T))
        R = self._free().user_units()
        in_units = covariance if R is None else R @ covariance @ R.T
        each = in_units * self.kernel_variance_[:, None, None]
        self.feature_coef_cov_ = each[0] if self._y_shape == () else each
        std = np.sqrt(np.maximum(np.diagonal(each, axis1=1, axis2=2).T, 0))
        self.feature_coef_std_ = np.ascontiguousarray(self._per_output(std))

    def _free(self) -> FreeFeatures:
        return FreeFeatures(self.features_, self.feature_names_free_)

    def _store_fit_error(self, plan: Plan, s: float) -> None:
        wanted = float(np.clip(1e-2 * float(self.tol), 1e-9, 1e-4))
        try:
            self.fit_error_ = plan.fit_error(s, tol=wanted, max_iter=self.max_iter)
        except NotPositiveDefiniteError:
            self.fit_error_ = np.nan
        if not self.fit_error_ <= np.clip(10 * float(self.tol), *_FAR):
            warn(
                f"on {len(plan.sample.T)} rows the fit with Fourier modes is {self.fit_error_:.2g} of the "
                f"targets' standard deviation away from the exact model's, with tol={self.tol:g}: the "
                "kernel's error matters at so small a regularization; lower tol, or raise regularization",
                UserWarning,
            )

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, solve: bool = True
    ) -> FourierGRLSRegressor:
        """Add a block of rows to the sums.

        The first block decides the domain (unless the parameter `domain` does), the kernel's width, the
        features and what they are fitted to. A block that is refused changes nothing.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training points.
        y : array-like of shape (n,) or (n, k)
            Targets.
        sample_weight : array-like of shape (n,), default=None
            Weights.
        solve : bool, default=True
            Whether to solve for the coefficients now; the method `solve` does it later.

        Returns
        -------
        FourierGRLSRegressor
            The model of all rows so far.
        """
        with self._timed_fit(), recorded() as messages:
            self._check_parameters()
            if self._optimizes():
                raise ValueError("optimize reads all rows again: partial_fit needs optimize=None")
            before: tuple[Plan, SplitSums] | None = getattr(self, "_partial", None)
            with named(f"block {0 if before is None else before[1].fitted.blocks}"):
                samples = self._samples_of(X, y, sample_weight, reset=before is None)
                if before is None:
                    seed = self._seed()
                    pool = Pool(_SAMPLE, seed)
                    pool.add(samples.X, samples.y)
                    low, high = samples.X.min(axis=0).astype(float), samples.X.max(axis=0).astype(float)
                    data = self._shared(pool, samples, low, high)
                    plan = self._plan(data, seed)
                    sums = plan.sums(self._rows_of(samples, plan))
                else:
                    plan = before[0]
                    sums = before[1] + plan.sums(self._rows_of(samples, plan))
            self._partial = (plan, sums)
            self.n_samples_seen_ = sums.total.rows
            if solve:
                self._store(plan, sums, self._choice(plan, sums))
            self.fit_warnings_ = messages
        return self

    def solve(self) -> FourierGRLSRegressor:
        """Solve for the coefficients from the sums so far, after ``partial_fit(..., solve=False)``."""
        check_is_fitted(self, "_partial", msg="there are no sums: call partial_fit first")
        with self._timed_fit(), recorded() as messages:
            plan, sums = self._partial
            require_two_samples(sums.total.rows)
            self._store(plan, sums, self._choice(plan, sums))
            self.fit_warnings_ = messages
        return self

    # The model function.

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._y_shape == () else values

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self, "fourier_coef_")
        return super()._check_new(X)

    def _learnt(self, checked: Any) -> FloatArray:
        modes = self._plan_kept.modes
        coefficients = np.asarray(self.fourier_coef_)
        if coefficients.ndim != 2 or coefficients.shape[1] != len(modes.weights):
            raise ValueError(
                f"fourier_coef_ has shape {coefficients.shape}, expected (k, {len(modes.weights)}): the "
                "arrays of this model were changed after the fit"
            )
        return wave_values(modes, checked, np.ascontiguousarray(coefficients, dtype=np.complex128))

    @property
    def rkhs_norm_(self) -> FloatArray:
        """Norm √Σ|b_j|² of the kernel part of the model function, one per output."""
        check_is_fitted(self, "fourier_coef_")
        weights = self._plan_kept.modes.weights
        used = weights > 0
        squares = np.abs(self.fourier_coef_[:, used]) ** 2 / weights[used]
        squares[:, 1:] *= 2
        return np.asarray(np.sqrt(squares.sum(axis=1)))

    def predict(self, X: Any, return_std: bool = False, with_noise: bool = False) -> Any:
        """Return the values of the model function, and how sure they are.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations too, with the uncertainty of the features' coefficients:
            those of the model with the kernel that the modes stand for. Each row takes a solution of the
            equations: this is for some thousands of rows.
        with_noise : bool, default=False
            Whether they are those of new observations, of weight one, rather than of the function.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, k)
            Predictions.
        std : ndarray of shape (n,) or (n, k)
            With `return_std`.
        """
        checked, T = self._evaluated(X)
        feature_part, learnt_part = self._parts_at(checked, T)
        mean = np.asarray(self._shaped(feature_part + learnt_part))
        if not return_std:
            return mean
        variance = self._variance(checked, T)[:, None] * self.kernel_variance_
        if with_noise:
            variance = variance + self.noise_variance_
        return mean, np.asarray(self._shaped(np.sqrt(np.maximum(variance, 0.0))))

    def _variance(self, points: FloatArray, T: FloatArray) -> FloatArray:
        """Return the variance (n,) of the function at points, in units of the kernel's."""
        system: System | None = self.__dict__.get("_system_kept")
        if system is None:
            system = self._system_kept = System(self._plan_kept.modes, self._sums_kept, T.shape[1])
        modes, s = self._plan_kept.modes, self.regularization_ * self._sums_kept.weight
        h = len(modes.weights)
        j = half_positions(modes, np.arange(h)).T.astype(np.float64)
        near = modes.is_near(points)
        out = np.empty(len(T))
        step = max(1, _POINTS // (8 * h))
        for start in range(0, len(T), step):
            part = slice(start, start + step)
            angles = np.stack(modes.angles(points[part]), axis=1)
            waves = np.exp(-1j * (angles @ j))
            waves[~near[part]] = 0.0
            t = np.asarray(T[part], dtype=np.float64)[:, system.kept].T
            through = system.over_features(t)
            q = system.along(waves) - through.T @ system.C
            inside = self._solved(system, q, s, 1.0).z
            out[part] = s * (np.einsum("bj,bj->b", q, inside) + np.einsum("ln,ln->n", t, through))
        out[~near] += modes.value
        return out
