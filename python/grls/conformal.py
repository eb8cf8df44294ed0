"""Prediction bands with a promise: conditional conformal prediction on free features.

>>> import numpy as np
>>> from sklearn.linear_model import LinearRegression
>>> from grls.conformal import ConformalRegressor
>>> rng = np.random.default_rng(0)
>>> X = np.column_stack([rng.uniform(size=600), np.arange(600) % 2])
>>> y = X[:, 0] + (0.1 + X[:, 1]) * rng.standard_normal(600)
>>> model = ConformalRegressor(LinearRegression(), features=[1], random_state=0).fit(X[:400], y[:400])
>>> quiet, noisy = np.diff(model.predict_interval([[0.5, 0.0], [0.5, 1.0]]))[:, 0]
>>> bool(noisy > 5 * quiet)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, RegressorMixin
from sklearn.model_selection import check_cv, train_test_split
from sklearn.utils import _safe_indexing, assert_all_finite, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from . import kernels
from ._conformal.promise import Promise, needed_rows
from ._conformal.report import CoverageReport, coverage_of, slices
from ._conformal.scores import SCORES, SIDES, Claims, claims, fit_predictors, out_of_fold
from ._conformal.tuning import chosen_kernel
from ._models.base import Estimator
from ._models.samples import FreeFeatures, given_rows, require_room_for_columns
from ._solvers import memory
from ._solvers.conformal import ConformalProblem, matrix_bytes
from ._validation import (
    FloatArray,
    choice,
    integer,
    is_table_of_numbers,
    miss_rate,
    real,
    refuse_dates,
    require_unchanged,
)
from ._warnings import warn
from .exceptions import InfiniteBandWarning
from .features import Indicators
from .least_squares import GRLSRegressor

__all__ = ["ConformalRegressor", "CoverageReport"]
__dir__ = __all__.copy

_NOISE = 1e-9  # of the scores' range: what parts ties where bands are randomised
_FOLDS_OF_TUNING = 5


class ConformalRegressor(MetaEstimatorMixin, RegressorMixin, Estimator):
    r"""Bands around the predictions of any regressor, whose coverage holds where you say.

    Calibration rows have scores s_i, how far y_i lies from what the regressor says. For a new row x its
    score S, not known, joins them in a quantile regression of level 1 − α,

    .. math:: \min_f \; γ \|f_k\|^2 + \frac{1}{n+1} \sum_{i=1}^{n+1} ρ_{1-α}(s_i - f(x_i)), \qquad
              f(x) = f_k(x) + \sum_p β_p φ_p(x),

    with features φ that are not penalised and, with `kernel`, a part f_k of its space. The band holds every y
    whose score S the regression does not count as above: S ≤ S*(x). S* is found exactly, by following the
    optimum as the new row's coefficient grows from zero to its bound; no refit, no grid.

    **What is promised.** If calibration and new rows are exchangeable (drawn alike, such as independently
    from the same source) and the regressor was not fitted to the calibration rows, then for every function
    w ≥ 0 in the span of the features

    .. math:: E[w(x) \, 1\{y \in \text{band}(x)\}] \ge (1 - α) \, E[w(x)].

    The constant is coverage of all rows together; the indicator of a group is coverage in that group,
    however the groups overlap; other features are shifts of the population towards where they are large. With
    ``randomize=True`` the inequality is an equality. Nothing is promised for a single x, for weights outside
    the span, or where new rows come from elsewhere (later in time, another region) in a way that no w
    describes. A kernel makes widths follow x, and changes nothing of this.

    Parameters
    ----------
    estimator : regressor, or a pair of them, default=None
        Any of scikit-learn's kind; None: ``GRLSRegressor()``. For ``conformity_score="quantile"`` one whose
        predictions have a column for each quantile, lowest first, or a pair (lower, upper).
    features : str, list, dict, callable or transformer, default="constant"
        The promise. A list of columns (positions or names) that hold labels, or a dict of names and functions
        of X, are groups, see `grls.features.Indicators`; ``"constant"``, ``"linear"``, ``"quadratic"``; a
        function ``X -> (n, l)``; any transformer. It is fitted to all rows of `fit` without y, and should
        take nothing but units and labels from them.
    kernel : None, Kernel or str, default=None
        What widths may follow beside the features. None: nothing. A positive definite kernel of
        `grls.kernels`, or ``"auto"``.
    alpha : float or list of floats, default=0.1
        The share of misses that is allowed. Several: bands for each, which need not lie within each other.
    cv : "prefit", float, int or splitter, default=0.5
        Which rows of `fit` calibrate. "prefit": all; the estimator is fitted already, to other rows. A share
        between 0 and 1: so many, drawn at random; the others fit the estimator. A number of folds or a
        splitter: all, each scored by the estimator without its fold, while bands are put around the one
        fitted to all rows; usually narrower, but then the promise is not exact.
    regularization : float or "auto", default="auto"
        γ > 0 of the kernel part. "auto": that with the smallest pinball loss in folds, by `GRRegressor`, on
        rows that do not calibrate; see `tuning_size`.
    tuning_size : float, default=0.25
        With a kernel whose width or γ is left to the data: where ``cv`` is a share the rows that fit the
        estimator choose them, by their scores out of fold; otherwise this share of the rows of `fit` does,
        and these do not calibrate.
    conformity_score : {"absolute", "normalized", "quantile"}, default="absolute"
        \|y − ŷ\|; the same in units of the standard deviation of ``predict(X, return_std=True)``; or how far
        y lies outside the outermost quantiles (conformalised quantile regression).
    side : {"both", "lower", "upper"}, default="both"
        Whether bands have two ends, or one of them is infinite.
    randomize : bool, default=False
        Whether the bound that the coefficient of a new row is compared with is drawn at random, for a
        coverage of exactly 1 − α. Bands of the same row then differ from draw to draw, and some are infinite
        or a single point.
    random_state : int, RandomState or None, default=None
        Of the rows drawn, and of randomised bands.

    Attributes
    ----------
    estimator_ : regressor, or list of them
        The fitted one that bands are put around.
    calibration_rows_ : ndarray of shape (n,)
        Positions of the rows that calibrate.
    scores_ : ndarray of shape (n,)
        Their scores.
    X_fit_ : {ndarray, CSR matrix} of shape (n, d), or None
        What the kernel reads of them.
    dual_coef_ : ndarray of shape (n,) or (n, levels)
        Coefficients of the quantile regression of the calibration rows alone.
    features_ : transformer
        The fitted features.
    feature_names_free_ : list of str
        Their names.
    n_features_free_ : int
        How many there are.
    kernel_ : Kernel or None
        The kernel with everything fixed.
    regularization_ : float or None
        The γ used.
    fit_seconds_ : dict
        Time of each stage of `fit`.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    GRLSRegressor.predict_interval : Jackknife+ and CV+ bands of least squares without calibration rows.
    GRRegressor : Quantile regression itself, without a promise.

    Notes
    -----
    A group needs (1 − α)/α calibration rows for a finite band, 9 at α = 0.1: with fewer no finite band keeps
    the promise. Such bands are infinite, with an `InfiniteBandWarning` that names the group.

    A new row costs some steps of O(n(l + F)), F the calibration rows strictly between their bounds, in
    parallel over rows; with a kernel memory is 8n² bytes, checked beforehand.

    Gibbs, Cherian and Candès, "Conformal prediction with conditional guarantees", are the source of the idea.

    Examples
    --------
    Noise that differs between two overlapping groups:

    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from grls.conformal import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1200, 2))
    >>> y = X @ [1.0, 2.0] + (0.1 + (X[:, 0] > 0.8)) * rng.standard_normal(1200)
    >>> groups = {"steep": lambda X: X[:, 0] > 0.8, "high": lambda X: X[:, 1] > 0.5}
    >>> model = ConformalRegressor(Ridge(), features=groups, random_state=0).fit(X[:800], y[:800])
    >>> report = model.coverage_report(X[800:], y[800:])
    >>> report.names
    ['all', 'steep', 'high']
    >>> bool(report.below.any())
    False
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        features: Any = "constant",
        kernel: Any = None,
        alpha: Any = 0.1,
        cv: Any = 0.5,
        regularization: float | str = "auto",
        tuning_size: float = 0.25,
        conformity_score: str = "absolute",
        side: str = "both",
        randomize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.kernel = kernel
        self.alpha = alpha
        self.cv = cv
        self.regularization = regularization
        self.tuning_size = tuning_size
        self.conformity_score = conformity_score
        self.side = side
        self.randomize = randomize
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        single = self.estimator is not None and not isinstance(self.estimator, list | tuple)
        inner = get_tags(self.estimator).input_tags if single else None
        tags.input_tags.sparse = self.kernel is None and (inner is None or inner.sparse)
        tags.input_tags.allow_nan = bool(inner is not None and inner.allow_nan and self.kernel is None)
        return tags

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_gram_kept"}

    # Parameters and data.

    def _check_parameters(self) -> None:
        self._alphas()
        choice(self.conformity_score, "conformity_score", SCORES)
        choice(self.side, "side", SIDES)
        if isinstance(self.regularization, str):
            choice(self.regularization, "regularization (unless it is a number)", ("auto",))
        else:
            real(self.regularization, "regularization", above=0)
        if not 0 < real(self.tuning_size, "tuning_size") < 1:
            raise ValueError(f"tuning_size is a share between 0 and 1, got {self.tuning_size!r}")
        if isinstance(self.cv, str):
            choice(self.cv, "cv (unless it is a share, a number of folds or a splitter)", ("prefit",))
        if isinstance(self.cv, float) and not 0 < self.cv < 1:
            raise ValueError(f"cv as a share must lie between 0 and 1, both excluded, got {self.cv!r}")
        if isinstance(self.cv, int | np.integer) and not isinstance(self.cv, bool):
            integer(self.cv, "cv", minimum=2)
        if isinstance(self.cv, str) and self.estimator is None:
            raise ValueError('cv="prefit" needs an estimator that is fitted, got None')

    def _alphas(self, given: Any = None) -> list[float]:
        """Return the shares of misses as a list: those given, by default those of the parameter."""
        given = self.alpha if given is None else given
        if np.ndim(given) > 1 or np.size(given) == 0:
            raise ValueError(f"alpha must be a number or a sequence of numbers, got {given!r}")
        return [miss_rate(alpha) for alpha in ([given] if np.ndim(given) == 0 else list(given))]

    def _checked(self, X: Any, *y: Any, reset: bool) -> Any:
        """Return X, and y where it is given, checked; tables with text stay as they are."""
        if not is_table_of_numbers(X):
            return validate_data(self, X, *y, reset=reset, skip_check_array=True)
        require_room_for_columns(X)
        refuse_dates(X, "X")
        tags = self.__sklearn_tags__().input_tags
        return validate_data(
            self,
            X,
            *y,
            reset=reset,
            accept_sparse="csr" if tags.sparse else False,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
            **({"y_numeric": True} if y else {}),
        )

    def fit(self, X: Any, y: Any) -> ConformalRegressor:
        """Fit the regressor unless it is fitted, and calibrate.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Rows; what the estimator, the features and the kernel read.
        y : array-like of shape (m,)
            Their values.

        Returns
        -------
        ConformalRegressor
            The fitted model.
        """
        with self._timed_fit():
            self._check_parameters()
            checked, values = self._checked(X, y, reset=True)
            values = np.asarray(values, dtype=np.float64)
            assert_all_finite(values, input_name="y")
            if values.ndim != 1:
                raise ValueError(f"y must have one column, got shape {values.shape}")
            given = given_rows(X, checked)
            self._forget("_gram_kept")
            self._stages.done("validate")
            free, T = FreeFeatures.fit(self._promised(), given, None, len(values))
            if free.know_targets:
                raise ValueError("the features are made from y: a promise must not know the calibration rows")
            self.features_, self.feature_names_free_ = free.transformer, free.names
            self.n_features_free_ = len(free.names)
            self._stages.done("features")
            said, rows, tuning = self._scored(given, values)
            self._settle_kernel(free, checked, given, tuning)
            self._calibrate(said.scores(values[rows], self.side), T[rows], checked, given, rows)
            self._stages.done("calibrate")
        return self

    def _promised(self) -> Any:
        """Return the features, groups of a list or a dict as their transformer."""
        if self.features is None:
            raise ValueError(
                'features are the promise, and None is none: use "constant" for all rows together'
            )
        return Indicators(self.features) if isinstance(self.features, list | dict) else self.features

    def _leaves_to_data(self) -> bool:
        """Whether the kernel's width or γ is chosen from rows."""
        if self.kernel is None:
            return False
        if isinstance(self.regularization, str) or not isinstance(self.kernel, kernels.Kernel):
            return True
        widths = (v for name, v in self.kernel.get_params().items() if name.split("__")[-1] == "sigma")
        return self.kernel.reads_given or any(isinstance(width, str) or width is None for width in widths)

    def _scored(
        self, given: Any, y: FloatArray
    ) -> tuple[Claims, NDArray[np.intp], tuple[NDArray[np.intp], FloatArray] | None]:
        """Fit the estimator; return what it says of the calibration rows, these rows, and rows that tune.

        The rows that tune come with their scores; None where nothing is tuned.
        """
        everything = np.arange(len(y))
        rng = check_random_state(self.random_state)
        estimator = GRLSRegressor() if self.estimator is None else self.estimator
        tunes = self._leaves_to_data()
        if isinstance(self.cv, float):
            learning, rows = train_test_split(everything, test_size=self.cv, random_state=rng)
            learning, rows = np.sort(learning), np.sort(rows)
            part, targets = _safe_indexing(given, learning), y[learning]
            self.estimator_ = fit_predictors(estimator, part, targets)
            said = claims(self.estimator_, _safe_indexing(given, rows), self.conformity_score)
            self._stages.done("estimator")
            if not tunes:
                return self._kept(said, rows, None)
            splits = check_cv(_FOLDS_OF_TUNING).split(np.zeros((len(learning), 1)))
            out = out_of_fold(estimator, part, targets, self.conformity_score, splits)
            return self._kept(said, rows, (learning, out.scores(targets, self.side)))
        if isinstance(self.cv, str):
            for one in estimator if isinstance(estimator, list | tuple) else [estimator]:
                check_is_fitted(one)
            self.estimator_ = estimator
            said = claims(estimator, given, self.conformity_score)
        else:
            splitter = check_cv(self.cv)
            said = out_of_fold(
                estimator, given, y, self.conformity_score, splitter.split(np.zeros((len(y), 1)), y)
            )
            self.estimator_ = fit_predictors(estimator, given, y)
        self._stages.done("estimator")
        if not tunes:
            return self._kept(said, everything, None)
        rows, tuning = train_test_split(everything, test_size=self.tuning_size, random_state=rng)
        rows, tuning = np.sort(rows), np.sort(tuning)
        return self._kept(said.take(rows), rows, (tuning, said.take(tuning).scores(y[tuning], self.side)))

    def _kept(
        self, said: Claims, rows: NDArray[np.intp], tuning: Any
    ) -> tuple[Claims, NDArray[np.intp], Any]:
        self.calibration_rows_ = rows
        return said, rows, tuning

    def _settle_kernel(self, free: FreeFeatures, checked: Any, given: Any, tuning: Any) -> None:
        """Fix the kernel and γ, by the rows that tune where they are left to the data."""
        self.kernel_: kernels.Kernel | None = None
        self.regularization_: float | None = None
        if self.kernel is None:
            return
        if tuning is None:
            names = getattr(self, "feature_names_in_", None)
            self.kernel_ = self.kernel.resolve(checked, names)
            self.regularization_ = float(self.regularization)
        else:
            rows, scores = tuning
            levels = [1 - alpha for alpha in self._alphas()]
            self.kernel_, self.regularization_ = chosen_kernel(
                self.kernel, self.regularization, levels, free, _safe_indexing(given, rows), scores
            )
        if self.kernel_.pairwise or self.kernel_.order != 0:
            raise ValueError(
                f"the kernel {self.kernel_!r} cannot be used here: it must be positive definite and a "
                "function of rows"
            )
        self._stages.done("kernel")

    def _calibrate(self, scores: FloatArray, T: FloatArray, checked: Any, given: Any, rows: Any) -> None:
        """Solve the quantile regression of the calibration rows, at each level."""
        if len(scores) < 2:
            raise ValueError(f"n_samples={len(scores)} rows calibrate: at least 2 are needed")
        promise = Promise.of(T, self.feature_names_free_)
        if not promise.spans_constant():
            warn(
                "the features do not span the constant: the coverage of all rows together is not promised",
                UserWarning,
            )
        self._warn_of_small_groups(promise)
        self.scores_, self._T_fit, self.X_fit_ = scores, T, None
        if self.kernel_ is not None:
            part = _safe_indexing(given if self.kernel_.reads_given else checked, rows)
            self.X_fit_ = self.kernel_.view(part) if self.kernel_.reads_given else part
        self._noise = np.zeros(len(scores))
        if self.randomize:
            rng = check_random_state(self.random_state)
            self._noise = self._noise_unit() * rng.uniform(size=len(scores))
        self._alphas_fit = self._alphas()
        found = [problem.calibrate() for problem in self._problems(promise, self._alphas_fit)]
        coefficients = np.column_stack([each.c for each in found])
        self._free = [[int(i) for i in each.free] for each in found]
        self.dual_coef_ = coefficients[:, 0] if np.ndim(self.alpha) == 0 else coefficients

    def _warn_of_small_groups(self, promise: Promise) -> None:
        for alpha in self._alphas():
            small = promise.small_groups(alpha)
            if small:
                listed = ", ".join(f"{name} ({count})" for name, count in small[:5])
                warn(
                    f"alpha={alpha:g} needs {needed_rows(alpha)} calibration rows in each group, and these "
                    f"have fewer: {listed}{', …' if len(small) > 5 else ''}; the bands of their rows will be "
                    "infinite",
                    InfiniteBandWarning,
                )

    def _noise_unit(self) -> float:
        """Return the size of what parts tied scores where bands are randomised."""
        return _NOISE * float(np.ptp(self.scores_) or np.abs(self.scores_).max() or 1.0)

    def _gram(self) -> FloatArray | None:
        """Return the kernel matrix of the calibration rows; kept, but not in pickles."""
        if self.kernel_ is None:
            return None
        known: FloatArray | None = self.__dict__.get("_gram_kept")
        n_rows = len(self.scores_)
        if known is None or known.shape[0] != n_rows:
            memory.require(
                matrix_bytes(n_rows),
                f"the kernel matrix of {n_rows} calibration rows",
                "calibrate with fewer rows, or without a kernel",
            )
            known = np.ascontiguousarray(self.kernel_.matrix(self.X_fit_, self.X_fit_), dtype=np.float64)
            self._gram_kept = known
        return known

    def _problems(self, promise: Promise, alphas: list[float]) -> list[ConformalProblem]:
        """Return the problem of each level."""
        gamma = self.regularization_
        C = 1.0 if gamma is None else 1 / (2 * gamma * (len(self.scores_) + 1))
        gram, T, scores = self._gram(), promise.basis, self.scores_ + self._noise
        return [ConformalProblem(gram, T, scores, alpha, C) for alpha in alphas]

    # What is asked of it.

    def predict(self, X: Any) -> FloatArray:
        """Return what the regressor predicts; of quantiles the middle one, or the middle of the two.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Predictions.
        """
        check_is_fitted(self)
        checked = self._checked(X, reset=False)
        return claims(self.estimator_, given_rows(X, checked), self.conformity_score).point

    def predict_interval(self, X: Any, alpha: Any = None) -> FloatArray:
        """Return the bands.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Rows.
        alpha : float or list of floats, default=None
            The share of misses that is allowed: 0.1 covers 90 %. None: the parameter's, for which `fit` has
            calibrated; for another the same scores are calibrated again. Where the kernel or γ was chosen
            from rows, the parameter's share was the one in mind.

        Returns
        -------
        ndarray of shape (n, 2), or (n, 2, levels) where `alpha` is a sequence
            Lower and upper ends, which belong to the band. Infinite where too few calibration rows stand
            behind the promise; both the point prediction where no y is in the band.
        """
        check_is_fitted(self)
        checked = self._checked(X, reset=False)
        given = given_rows(X, checked)
        said = claims(self.estimator_, given, self.conformity_score)
        thresholds = self._thresholds(checked, given, alpha)
        bands = np.stack([said.bands(column, self.side) for column in thresholds.T], axis=2)
        return bands[:, :, 0] if np.ndim(self.alpha if alpha is None else alpha) == 0 else bands

    def _calibrated(self, promise: Promise, alpha: Any) -> list[tuple[ConformalProblem, FloatArray, Any]]:
        """Return the problem of each level, with the coefficients of its optimum and which are free."""
        if alpha is None:
            require_unchanged("alpha", getattr(self, "_alphas_fit", self._alphas()), self._alphas())
            columns = np.asarray(self.dual_coef_).reshape(len(self.scores_), -1).T
            return list(zip(self._problems(promise, self._alphas()), columns, self._free, strict=True))
        solved = [(each, each.calibrate()) for each in self._problems(promise, self._alphas(alpha))]
        return [(each, found.c, [int(i) for i in found.free]) for each, found in solved]

    def _thresholds(self, checked: Any, given: Any, alpha: Any) -> FloatArray:
        """Return the largest score in the band of each row, (n, levels)."""
        T = FreeFeatures(self.features_, self.feature_names_free_).at(given)
        promise = Promise.of(self._T_fit, self.feature_names_free_)
        outside, T_basis = promise.outside(T), promise.in_basis(T)
        points: Any = None
        if self.kernel_ is not None:
            points = self.kernel_.view(given) if self.kernel_.reads_given else checked
        rng = check_random_state(self.random_state)
        calibrated = self._calibrated(promise, alpha)
        out = np.empty((len(T), len(calibrated)))
        for level, (problem, coefficients, free) in enumerate(calibrated):
            shares = np.full(len(T), 1 - problem.alpha)
            if self.randomize:
                shares = rng.uniform(-problem.alpha, 1 - problem.alpha, size=len(T))
            c = np.ascontiguousarray(coefficients)
            for start in range(0, len(T), problem.block()):
                part = slice(start, start + problem.block())
                K = diagonal = None
                if self.kernel_ is not None:
                    K = np.ascontiguousarray(self.kernel_.matrix(points[part], self.X_fit_), dtype=np.float64)
                    diagonal = np.asarray(self.kernel_.diagonal(points[part]), dtype=np.float64)
                targets = shares[part] * problem.C
                out[part, level] = problem.thresholds(c, free, targets, T_basis[part], K, diagonal)
            out[outside, level] = np.where(shares[outside] >= 0, np.inf, -np.inf)
            if self.randomize:
                out[:, level] -= self._noise_unit() * rng.uniform(size=len(T))
            self._warn_of_infinite(out[:, level], T, promise, problem.alpha)
        return out

    def _warn_of_infinite(
        self, thresholds: FloatArray, T: FloatArray, promise: Promise, alpha: float
    ) -> None:
        infinite = np.flatnonzero(np.isposinf(thresholds))
        if len(infinite):
            row = int(infinite[0])
            listed = ", ".join(map(str, infinite[:5])) + (", …" if len(infinite) > 5 else "")
            warn(
                f"{len(infinite)} of {len(T)} bands are infinite (rows {listed}), because no finite one "
                f"keeps the promise; row {row}: {promise.reason(T[row], alpha)}",
                InfiniteBandWarning,
            )

    def coverage_report(self, X: Any, y: Any, *, n_bins: int = 4, confidence: float = 0.95) -> CoverageReport:
        """Return how often the bands hold on rows that neither fitted nor calibrated them.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Their values.
        n_bins : int, default=4
            Into how many pieces, of as many rows each, a feature that is no indicator is cut.
        confidence : float, default=0.95
            Of the binomial intervals.

        Returns
        -------
        CoverageReport
            One line for all rows, for each group and for each piece, at each level; it prints, and
            ``to_frame()`` is a DataFrame. With many lines some intervals miss 1 − α by chance.
        """
        check_is_fitted(self)
        integer(n_bins, "n_bins", minimum=1)
        if not 0 < real(confidence, "confidence") < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
        checked, values = self._checked(X, y, reset=False)
        values = np.asarray(values, dtype=np.float64)
        assert_all_finite(values, input_name="y")
        T = FreeFeatures(self.features_, self.feature_names_free_).plain_at(given_rows(X, checked))
        bands = self.predict_interval(X).reshape(len(values), 2, -1)
        ends = {"both": (0, 1), "lower": (0,), "upper": (1,)}[self.side]
        parts = slices(T, self.feature_names_free_, n_bins)
        return coverage_of(bands, values, self._alphas(), parts, float(confidence), ends)
