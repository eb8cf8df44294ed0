r"""Least squares with Fourier modes in the kernel's place: `FourierGRLSRegressor`, for maps of many rows.

A stationary kernel of one to three columns is a sum of waves,

    k(x − z) ≈ Σ_j S_j exp(2πi ⟨j, x − z⟩/p),   f(x) = Σ_j √S_j b_j exp(2πi ⟨j, x⟩/p) + Σ_p β_p φ_p(x),

and the fit minimises the objective of `GRLSRegressor`, 1/Σw Σ_i w_i (y_i − f(x_i))² + γ Σ_j |b_j|². What it
needs of the rows are sums of waves over them, which non-uniform fast Fourier transforms give in time linear
in the rows. Equations: docs/math.md, section "Equispaced Fourier modes".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import kernels
from ._fourier.choosing import Choosing
from ._fourier.plan import Check, Exact, Plan, SplitSums
from ._fourier.reading import SAMPLE
from ._fourier.selection import CRITERIA, Choice
from ._fourier.system import System
from ._fourier.transforms import require_transforms, wave_values
from ._fourier.uncertainty import FourierUncertainty
from ._models.base import is_solved
from ._models.leverage import Leverage
from ._nystrom.centers import Pool
from ._nystrom.plan import named
from ._nystrom.streams import as_stream
from ._validation import FloatArray, integer, number_or_choice, real, require_two_samples
from ._warnings import recorded, warn
from .exceptions import NotPositiveDefiniteError

__all__ = ["FourierGRLSRegressor"]
__dir__ = __all__.copy

_FAR, _STD_OFF = 0.3, 0.1  # that a fit may be from the exact one in standard deviations, and these


class FourierGRLSRegressor(FourierUncertainty, Choosing):
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
        restricted likelihood, for both of which a row is one observation whatever its weight, and so are rows
        in memory, up to a million, that agree at a point; beyond 2,000 modes their traces are estimated from
        16 random vectors, the same in every fit. "holdout": squared error on
        `validation_fraction` of the rows; the coefficients are then those of all rows. A noise below what the
        modes leave out of the kernel cannot be told: there is a least γ, and a warning where a criterion asks
        for less.
    regularization_grid : int or array-like, default=20
        How many values of γ to try, from large to small until the criterion has risen for a while, the best
        being refined; or the values themselves. Beyond 2,000 modes a number is not needed: the criterion's
        slope leads from what the exact model chooses on 1,000 rows to the best γ, mostly in three to six
        steps.
    tol : float or "auto", default="auto"
        The kernel's uniform error, in units of k(x, x), that the modes may have. Rough kernels need many
        modes for a small one. "auto": the largest of 1e-3, 1e-4, 1e-5 and 1e-6 with which a fit of 2,000 rows
        is a tenth of its standard deviations away from the exact model's, with not more than 100,000 modes.
    max_modes : int, default=2000000
        More modes than this are refused, with the smallest `tol` that needs fewer.
    optimize : None, True, str, list of str or dict, default=None
        Which parameters of the kernel to choose with γ. True or names as in `GRLSRegressor`: by the exact
        model's restricted likelihood on a sample, of 1,000 rows where more than 2,000 follow and can be read
        again; by the criterion of all of these all widths are then scaled together. A dict,
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
        γΣw: the root of the mean squared difference, in units of the targets' standard deviation. There is a
        warning where it is beyond 0.3 standard deviations of the model function, or where these differ from
        the exact ones by more than a tenth.
    tol_ : float
        The tolerance that was used.
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
    Of some thousand rows `GRLSRegressor` is faster: the modes, of which two and more columns need many
    thousands, are the work here, however few the rows are.

    With M modes and l features the sums take l + 2 transforms of the rows, two of them at a time; a step of
    conjugate gradients takes M log M, and the equations of the 2,000 numbers that belong to the largest
    weights are solved directly. Memory grows with the rows by the features alone, and with M. Beyond the
    kernel's reach from the training rows the kernel part is zero.

    Beyond 2,000 modes, what is left to the data is chosen with modes for the kernel between rows of the box,
    which are fewer, at the price of another reading of the rows; rows that come once have one set of modes.
    ``python -m bench.fourier rows`` prints what the choices cost beside a fit.

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
        tol: float | str = "auto",
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

    def _check_parameters(self) -> None:
        require_transforms()
        number_or_choice(self.regularization, "regularization", CRITERIA, minimum=0)
        tol = number_or_choice(self.tol, "tol", ("auto",), minimum=1e-10)
        if not isinstance(tol, str) and tol >= 0.5:
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
        if kernel.pairwise or kernel.is_function:
            raise ValueError(
                "a precomputed kernel or a function has no spectral density: use a kernel of grls.kernels "
                "such as Matern, or GRLSRegressor"
            )

    def _given_tolerance(self) -> float | None:
        return None if isinstance(self.tol, str) else float(self.tol)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    # Fitting.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FourierGRLSRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (m, d), or blocks
            Training points. Or rows that come in blocks: an iterable of (X, y) or (X, y, sample_weight); an
            Arrow table, data set or record batches, or a Parquet file, where `y` and `sample_weight` name
            columns; a memory-mapped array of which 32 copies in double precision would not fit into the free
            memory (a smaller one is an array like others). What can be read twice is, once for the box of the
            rows.
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
            seed, self._tolerance = self._seed(), self._given_tolerance()
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

    def _store(self, plan: Plan, sums: SplitSums, choice: Choice | None) -> None:
        """Solve, and keep the model."""
        total = sums.total
        system = System(plan.modes, total, plan.sample.T.shape[1])
        gamma = choice.regularization if choice is not None else float(self.regularization)
        s = gamma * total.weight
        solved = self._solved(system, system.g, s)
        self._stages.done("solve")
        self._plan_kept, self._sums_kept, self._system_kept = plan, total, system
        self._gram_columns = None
        self.kernel_ = plan.kernel
        self._store_features(plan.free, system.kept)
        coefficients = system.feature_coefficients(solved.z) + plan.at_origin(system)
        self._store_coefficients(plan.free, coefficients)
        self._leverage = None
        if system.kept:
            A = np.eye(len(plan.free.names))[:, system.kept]
            self._leverage = Leverage.of_sums(system.S, A, np.asarray(plan.sample.T, dtype=np.float64))
        self.fourier_coef_ = system.coefficients(solved.z)
        self.regularization_ = gamma
        self._forget("regularization_path_", "criterion_path_")
        if choice is not None:
            self.regularization_path_, self.criterion_path_ = choice.path, choice.criterion
        self.tol_ = self._tolerance
        self.n_modes_, self.period_ = plan.modes.shape, plan.modes.period
        self.kernel_error_ = plan.modes.kernel_error
        self.n_samples_seen_, self.n_iter_ = total.rows, max(1, solved.steps)
        self._store_variances(system, solved, s)
        self._stages.done("uncertainty")
        self._store_fit_error(plan, s)
        self._stages.done("check")

    def _store_fit_error(self, plan: Plan, s: float) -> None:
        rows = plan.sample
        try:
            exact = Exact.of(plan.kernel, rows, plan.about_origin(rows), s)
            found = exact.compared(plan.modes, tol=self._precision(), max_iter=self.max_iter)
        except NotPositiveDefiniteError:
            found = Check(np.nan, np.nan, np.nan)
        self.fit_error_ = found.error
        if not (found.by_std <= _FAR and abs(found.std - 1) <= _STD_OFF):
            warn(
                f"on {len(rows.T)} rows the fit with Fourier modes is {found.by_std:.2g} of its standard "
                f"deviations away from the exact model's, and these are {found.std:.3g} times the exact "
                f"ones, with tol={self.tol_:g}: the kernel's error matters at so small a regularization; "
                "lower tol, or raise regularization",
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
            if before is None:  # a model of other rows, if any
                self._forget(*[name for name in vars(self) if name.endswith("_")])
            with named(f"block {0 if before is None else before[1].fitted.blocks}"):
                samples = self._samples_of(X, y, sample_weight, reset=before is None)
                if before is None:
                    seed, self._tolerance = self._seed(), self._given_tolerance()
                    pool = Pool(SAMPLE, seed)
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
                self._solve(plan, sums)
            self.fit_warnings_ = messages
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return is_solved(self, "fourier_coef_")

    def _solve(self, plan: Plan, sums: SplitSums) -> None:
        choice = self._choice(plan, sums)
        self._tell_of_choice(plan, sums, choice)
        self._store(plan, sums, choice)

    def solve(self) -> FourierGRLSRegressor:
        """Solve for the coefficients from the sums so far, after ``partial_fit(..., solve=False)``."""
        check_is_fitted(self, "_partial", msg="there are no sums: call partial_fit first")
        with self._timed_fit(), recorded() as messages:
            plan, sums = self._partial
            require_two_samples(sums.total.rows)
            self._solve(plan, sums)
            self.fit_warnings_ = messages
        return self

    # The model function.

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._y_shape == () else values

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
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
        check_is_fitted(self)
        weights = self._plan_kept.modes.weights
        used = weights > 0
        squares = np.abs(self.fourier_coef_[:, used]) ** 2 / weights[used]
        squares[:, 1:] *= 2
        return np.asarray(np.sqrt(squares.sum(axis=1)))
