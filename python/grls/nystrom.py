r"""Least squares on centres: `NystromGRLSRegressor` and `NystromGRLSClassifier`, for more rows than memory.

The model function stands on M centres z_j instead of all m rows,

    f(x) = Σ_j a_j k(z_j, x) + Σ_p β_p φ_p(x),   T_zᵀa = 0,

T_z the features at the centres, and minimises the same objective as `GRLSRegressor`,

    1/Σw Σ_i w_i (y_i − f(x_i))² + γ aᵀΦ_zz a.

Why T_zᵀa = 0, the orthonormal functions b(x) on the centres whose sums over rows are all that a fit needs,
and how γ is chosen from these sums: docs/math.md, section "Nyström".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ._models.classification import OneVersusAll, WithoutProbabilities, class_weighted
from ._nystrom.machine import NystromMachine, adds_up
from ._nystrom.origin import middle
from ._nystrom.plan import indicators, one_against_all
from ._nystrom.uncertainty import CentreUncertainty
from ._validation import FloatArray
from .features._labels import require_labels

__all__ = ["NystromGRLSClassifier", "NystromGRLSRegressor"]
__dir__ = __all__.copy

_PARAMETERS = """Parameters
    ----------
    kernel : Kernel, str or callable, default="gaussian"
        As in `GRLSRegressor`; a precomputed kernel cannot be used. The width ``"median"`` is taken from a
        sample; "auto" lets the exact model choose family and widths on 1,000 rows of it, in seconds.
    features : None, str, callable or transformer, default="constant"
        What is not penalised, as in `GRLSRegressor`. Of rows that come in blocks a transformer is fitted to
        the sample that the centres are chosen from, as are views of the kernel; one that is fitted already
        can be wrapped in scikit-learn's ``FrozenEstimator``.
    regularization : float or {"gcv", "reml", "holdout"}, default="gcv"
        γ ≥ 0, with the meaning it has in `GRLSRegressor`. "gcv": generalised cross-validation; "reml": the
        restricted likelihood of the model on its centres. For both a row is one observation whatever its
        weight, and so are rows in memory that agree at a point. "holdout": squared error on
        `validation_fraction` of the rows; the coefficients are then those of all rows.
    regularization_grid : int or array-like, default=50
        How many values of γ to try, the best being refined between its neighbours; or the values
        themselves.
    feature_variance : float, default=inf
        How free the features are, with the meaning it has in `GRLSRegressor`; the mean and the spread of the
        features are those of the sample that the centres are chosen from. It needs a kernel of
        `grls.kernels`. Infinite: unpenalised.
    n_centers : int or "auto", default=1000
        M; all distinct rows where there are fewer. Time and memory grow as M²: twice as many centres are four
        times the work of a fit, and twice that of a prediction. "auto": 125, 250, … up to 4,000, until twice
        as many gain less than 1 % of the criterion (of "gcv" where γ is given); all rows are read for each
        number, so that it costs some six times the fit with the number kept. Of rows that can be read once
        the first block decides.
    centers : {"uniform", "leverage", "kmeans"} or array-like of shape (M, d), default="uniform"
        A sample of the distinct rows; a sample by estimated ridge leverage, or the rows in the middle of
        clusters of what the kernel reads, both from ten times as many rows; or the centres themselves.
    optimize : None, bool, "metric", "metric_diagonal", str, sequence or dict, default=None
        Which parameters of the kernel are left to the data, as in `GRLSRegressor`: chosen by the exact model
        on 1,000 rows of the sample, by "reml" or else by "loo", before the sums. Rows of the sample count
        the same, whatever their weights.
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
        centres that add less than 1e-6, and resolves γ down to about 1e-7 of k(x, x): no criterion chooses a
        smaller one, and one that asks for it is told of. Sums are in double
        precision always. Conjugate gradients then solve with products in single precision, and correct what
        comes out by residuals in double precision until `tol` is reached. Rows further apart than 1e15 or
        closer than 1e-15 are refused by "single".
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
    n_centers_path_, n_centers_criterion_ : ndarrays of shape (t,)
        The numbers of centres that "auto" tried, and the criterion there.
    optimization_ : Optimization, GridSearch, Metric or KernelChoice
        What was tried, with `optimize` or ``kernel="auto"``; of a metric also `metric_` and
        `feature_importances_`.
    n_iter_ : int
        Steps of conjugate gradients; 1 for "cholesky".
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.
    fit_warnings_ : list of str
        What the fit warned of; after ``partial_fit`` what its blocks and the solution did.{attributes}
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


@_documented(
    """
    kernel_variance_, noise_variance_ : ndarrays of shape (k,)
        Restricted-likelihood estimates of the scale of the kernel part and of the noise of a row of weight
        one, of the model on its centres: what these miss counts as noise.
    kernel_missed_ : float
        Share of the variance of the kernel part, beside the features, that the centres leave out, as 1,000
        of the rows tell. Above 0.01 there is a `FewCentersWarning`. NaN where γ = 0, and of solver="cg".
    degrees_of_freedom_ : float
        Those of the two variances, m − l.
    feature_coef_std_ : ndarray of shape (l,) or (l, k)
        Standard errors of the features' coefficients, as in `GRLSRegressor`, and wider by what the centres
        leave out of the kernel part; of solver="cholesky" and γ > 0, as `feature_coef_cov_`.
    feature_coef_cov_ : ndarray of shape (l, l) or (k, l, l)
        Their covariance.""",
    """
    keep_factor : bool, default=True
        Whether to keep what standard deviations, `cross_validate` and `summary` need: 16M² bytes, which are
        part of a pickle too.""",
)
class NystromGRLSRegressor(CentreUncertainty, NystromMachine):
    """`GRLSRegressor` on centres: time linear in the rows, of which blocks are read one at a time.

    Memory does not grow with rows that come in blocks (files, iterables, …). Of rows in memory, features take
    some 24 bytes for each row and feature. Equations: docs/math.md, section "Nyström".

    {parameters}

    See Also
    --------
    GRLSRegressor : The model with all rows as centres, with leave-one-out.
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

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        features: Any = "constant",
        regularization: float | str = "gcv",
        regularization_grid: Any = 50,
        feature_variance: float = np.inf,
        n_centers: int | str = 1000,
        centers: Any = "uniform",
        optimize: Any = None,
        validation_fraction: float = 0.1,
        solver: str = "cholesky",
        tol: float = 1e-6,
        max_iter: int = 200,
        cache_size: float = 1000,
        precision: str = "double",
        random_state: Any = 0,
        verbose: int = 0,
        keep_factor: bool = True,
    ) -> None:
        super().__init__(
            kernel,
            features=features,
            regularization=regularization,
            regularization_grid=regularization_grid,
            feature_variance=feature_variance,
            n_centers=n_centers,
            centers=centers,
            optimize=optimize,
            validation_fraction=validation_fraction,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            cache_size=cache_size,
            precision=precision,
            random_state=random_state,
            verbose=verbose,
        )
        self.keep_factor = keep_factor

    @adds_up  # type: ignore[untyped-decorator]
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

    def _sample_targets(self, y: Any) -> FloatArray:
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def _origin(self, y: Any) -> FloatArray:
        return middle(y)

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
class NystromGRLSClassifier(WithoutProbabilities, OneVersusAll, NystromMachine):
    """`GRLSClassifier` on centres: time linear in the rows, of which blocks are read one at a time.

    Memory does not grow with rows that come in blocks (files, iterables, …). Of rows in memory, features take
    some 24 bytes for each row and feature.

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
        n_centers: int | str = 1000,
        centers: Any = "uniform",
        optimize: Any = None,
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
            optimize=optimize,
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

    @adds_up  # type: ignore[untyped-decorator]
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
        require_labels(y)
        checked, labels = self._validate(X, y, reset=reset)
        check_classification_targets(labels)
        classes = np.unique(labels)
        return checked, labels, indicators(labels, classes), classes

    def _sample_targets(self, y: Any) -> FloatArray:
        classes = np.unique(y)
        return indicators(y, classes) @ one_against_all(len(classes))

    def _weighted(self, y: Any, weights: FloatArray | None, *, whole: bool) -> FloatArray | None:
        if self.class_weight == "balanced" and not whole:
            raise ValueError(
                'class_weight="balanced" needs all labels at once; for blocks give a dict {label: weight}'
            )
        return class_weighted(self.class_weight, y, weights, whole=whole)
