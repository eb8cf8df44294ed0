"""Regularised least squares with predefined features: `GRLSRegressor` and `GRLSClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._models.classification import Classification, WithoutProbabilities, winner
from ._models.cross_validation import ClassifierCrossValidation, as_given, leave_out
from ._models.learnt_noise import LearnsNoise
from ._models.least_squares import LeastSquaresMachine
from ._models.leave_out_bands import LeaveOutBands
from ._models.regression import Regression
from ._models.regression_summary import UncertainSummary
from ._models.summaries import ClassificationSummary
from ._selection.variances import GivenVariances
from ._validation import (
    FloatArray,
    choice,
    real,
)

__all__ = ["GRLSClassifier", "GRLSRegressor"]
__dir__ = __all__.copy


_PARAMETERS = """Parameters
    ----------
    kernel : Kernel, str or callable, default="auto"
        "auto": chosen from the data, whatever the units of the columns: the family (Matérn 3/2 and 5/2,
        Gaussian; for classes Laplace too) and a width for each column, by restricted likelihood (regression)
        or leave-one-out (classes) on some of the rows; see "How the default chooses" in the guide.
        Columns that are constant, or others in other units, are left out;
        beside those with long tails their normal scores are read (`grls.features.NormalScores`), and columns
        of at most 30 values are compared as labels too, where that predicts rows better that are left out.
        More than 50 columns have one scale, as they are or, where that is clearly better, each in units of
        its own; sparse ones have one width; the linear kernel is tried beside them. An object of
        `grls.kernels`, such as ``Gaussian(sigma=2.0)``, a formula of several, or one on a view of X,
        ``Linear().after(TfidfVectorizer())``, for which X may be a list of documents; a name from the table
        there (``"gaussian"``, ``"matern"``, ``"thin_plate"``, ``"precomputed"``, …); or a function
        ``k(X, Z)`` that returns the matrix.
    features : None, str, list, callable or transformer, default="constant"
        What is not penalised: None, ``"constant"``, ``"linear"``, ``"quadratic"``, a list of columns by name
        or position, a function ``X -> (n, l)``, or any scikit-learn transformer, which is cloned and fitted
        with X and y. An effect for each of many levels of a column: `grls.features.Groups`, of which
        ``solver="cg"`` makes no columns.
    regularization : float or {{"auto", "loo", "logo", "gcv", "reml", "holdout"}}, default="auto"
        γ ≥ 0. The loss is a mean, so γ does not grow with the samples; KernelRidge's ``alpha`` is γm. "auto":
        of values the restricted likelihood; of classes, or with ``feature_variance="auto"``, leave-one-out,
        and with groups these left out, among the γ that the likelihood does not reject at 1 %. So does "loo"
        beside ``kernel="auto"``. A name lets the data choose it in closed form:
        exact leave-one-out, the same of whole groups of rows (those
        of ``fit(X, y, groups=…)``, such as subjects or blocks of a map; with groups "loo" is "logo"),
        generalised cross-validation, or the restricted likelihood. Rows that agree in X and y are one
        observation of the weight of all, so that neither copies nor the scale of weights change γ; where rows
        at a point differ, a weight counts rows, of which leave-one-out leaves out one. "holdout", for
        ``solver="cg"``: the error on a tenth of the rows, chosen by their contents, of the model of the
        others; the coefficients are then those of all rows. Below some thousands of rows a tenth of them is
        few to go by.
    regularization_grid : int or array-like, default=50
        How many values of γ to try, spread over the spectrum of the kernel matrix; the best is then refined
        between its neighbours. Or the values themselves, of which one is chosen.
    per_output : bool, default=False
        Whether each output gets a γ of its own.
    feature_variance : float or "auto", default=inf
        How free the features are: the prior variance τ of their coefficients, in units of the kernel's own
        variance, which is a kernel Φ + τZZᵀ. Z are the features centred and scaled to variance one; the
        constant stays free. (Without the constant among the features they are divided by their root mean
        square.) So units do not matter, but recombinations of features do; "quadratic" stands for squares
        about the middle of the data. Infinite, or 10⁸ times k(x, x) and more: unpenalised. 0: without effect.
        "auto": chosen with γ by the same criterion ("loo", "logo" or "gcv"), so that good features are used
        and useless ones fade.
    formulation : {{"exact", "published"}}, default="exact"
        The minimiser, or eqs. (26)-(27) as printed in the paper (for comparison with it only; a γ chosen by
        name is then the one chosen for the minimiser).
    pivots : {{"qr", "first"}}, default="qr"
        The samples x₁ … x_l of the published formulation, whose targets it interpolates: chosen by a pivoted
        QR decomposition, or the first l rows of positive weight, as printed. It matters; the first may be
        singular, which is an error, or nearly so. Without effect on the minimiser.
    precision : {{"auto", "double", "mixed", "single"}}, default="auto"
        "mixed" factorises in single precision and refines to the residual of a double precision fit by
        conjugate gradients; it takes less time and half as much memory again, and falls back to "double" by
        itself where the matrix is too ill-conditioned. "single" takes half the memory and keeps 3 to 6
        digits. "auto" is "mixed" for large and well regularised problems, else "double". With ``solver="cg"``
        "mixed" evaluates the kernel in single precision and corrects the residual in double precision.
    optimize : None, True, "metric", "metric_diagonal", str, list of str or dict, default=None
        Which parameters of the kernel to choose from the data, with γ, by the criterion that `regularization`
        names ("auto", "loo", "logo" or "reml"). More than three numbers follow the noise of leave-one-out: a
        regressor then chooses them by "reml", and takes them if leave-one-out agrees that they are better.
        True or "all": all that are positive, widths, weights of sums, periods and exponents, but for a scale
        of the whole kernel, which γ makes up for; of a sum all of whose summands have a scale, one stays as
        it is. Names as in ``kernel.get_params()``, such as ``["sigma"]`` or ``["k1__sigma", "k2__scale"]``:
        these.
        Gradients are followed from the kernel as given and from at most two other points, the best of a log
        grid of widths; where there are more than 500 points, on so many of them first, and with all rows from
        where the best way led. The result is never worse than the kernel as given. Widths given per column
        are tuned per column (``Gaussian("medians")`` is a good start). A dict,
        ``{{"sigma": [0.5, 1.0, 2.0]}}``: all these values, the path of γ at each. "metric" learns for a
        kernel of distances in which directions of all columns they matter, by the average outer product of
        the gradients of the kernel part in some rounds, of which leave-one-out picks one; `kernel_` is then
        the kernel after a linear map. What the kernel reads is what is mapped, some columns
        (``Gaussian().on(columns)``) or what a view makes of the rows
        (``Gaussian().after(StandardScaler())``); of a larger kernel one part may be `Gaussian`, `Laplace`,
        `Matern` or `RationalQuadratic`, and others stay as they are. "metric_diagonal" scales columns only.
    n_restarts : int, default=0
        Further starts, at random within bounds that come from the data.
    random_state : int, RandomState or None, default=None
        Where the random starts come from; an int makes them reproducible. With ``solver="cg"`` also the
        random vectors, which None leaves as they are.
    solver : {{"cholesky", "cg"}}, default="cholesky"
        "cg" stores no matrix: conjugate gradients evaluate the kernel again in every step, so that memory
        grows as m. It is for more samples than a matrix has room for. γ is a number, or chosen by "gcv" or
        "reml" with traces that 16 random vectors estimate (`random_state`), for several fits' worth of work;
        `regularization_range_` tells what they leave open. "holdout" needs no random vectors. Variances of
        m/50 points or fewer at a time are solved for; more need the factor of a matrix.
    tol : float, default=1e-8
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=1000
        Steps after which they stop with a ConvergenceWarning.
    verbose : int, default=0
        1: a line for each start, point of the grid or step of conjugate gradients; 2: one for each step of
        the optimization too. On a terminal or in a notebook, starts and points are a bar with the time left
        if tqdm is installed.{parameters}

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, k)
        Kernel coefficients c; (m,) of a regressor with one-dimensional y.
    feature_coef_ : ndarray of shape (l, k)
        Feature coefficients β, in the units of the features as they were given; zero where a feature was left
        out as dependent. (l,) of a regressor with one-dimensional y.
    feature_names_free_ : list of str
        Names of the features.
    feature_support_ : ndarray of shape (l,)
        Which features have a coefficient.
    n_features_free_ : int
        l, the number of features.
    kernel_ : Kernel
        The kernel with everything fixed that was left to the data.
    group_levels_, group_effects_ : ndarrays of shape (G,) and (G,) or (G, k)
        With ``features=Groups(…)`` and ``solver="cg"``: the levels and their effects, which are not among
        `feature_coef_` then.
    rkhs_norm_ : ndarray of shape (k,)
        Norm √(cᵀΦc) of the kernel part of the model function.
    features_ : transformer or None
        The fitted features.
    regularization_ : float or ndarray of shape (k,)
        The γ used.
    feature_variance_ : float
        The features' variance used.
    regularization_path_ : ndarray of shape (g,)
        The γ tried, when γ was chosen.
    regularization_range_ : ndarray of shape (2,) or (2, k)
        With ``solver="cg"``, when "gcv" or "reml" chose γ: what each half of the random vectors would have
        chosen.
    criterion_path_ : ndarray of shape (g,) or (g, k)
        The criterion there; smaller is better, and infinite where the matrix is not positive definite.
    optimization_ : Optimization or GridSearch
        With `optimize`: the starts, where they led, criterion and iterations of each; the grid; or the rounds
        of the metric. With
        ``kernel="auto"``: the kernels that were tried, and how they did.
    criterion_surface_ : ndarray of shape (v, …, g)
        With a dict as `optimize`: the criterion at each of its values and each γ.
    metric_ : ndarray of shape (d, d)
        Where a metric was learnt: A, with (x − z)ᵀA(x − z) the squared distance that the kernel reads. Of a
        kernel after a view x and z are rows of the view, and d is the number of its columns, whose names its
        transformer has (``get_feature_names_out``); else they are rows of X. Zero for columns that the kernel
        does not read.
    feature_importances_ : ndarray of shape (d,)
        Its diagonal in units of the columns' variances, as shares that add up to one; of the same columns.
    loo_predictions_ : ndarray of shape (m,) or (m, k)
        Exact leave-one-out predictions (of a classifier: decision values) at the γ chosen by "loo". What all
        rows fixed stays: γ, widths, and with a finite `feature_variance` the units of the features. Rows of
        weight zero have none: m is here the number of the others.
    loo_score_ : float
        Their R² (regression) or accuracy (classification).
    logo_predictions_, logo_score_ : ndarray of shape (m,) or (m, k), and float
        The same of groups left out, where "logo" chose γ.
    X_fit_ : {{ndarray, CSR matrix}} of shape (m, d)
        Training points, as the views of the kernel show them where it has some; rows of weight zero are left
        out.
    precision_ : {{"double", "mixed", "single"}}
        The precision used; "double" where "mixed" had to fall back.
    n_iter_ : int
        Steps of conjugate gradients, of the solver or of refinement in mixed precision; 1 without them.
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.
    fit_warnings_ : list of str
        What the fit warned of.{attributes}
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame."""


def _documented(attributes: str = "", parameters: str = "") -> Any:
    def fill(cls: Any) -> Any:
        text = _PARAMETERS.format(attributes=attributes, parameters=parameters)
        cls.__doc__ = cls.__doc__.replace("{parameters}", text)
        return cls

    return fill


@_documented(
    """
    kernel_variance_ : ndarray of shape (k,)
        Restricted-likelihood estimate of the scale τ² of the kernel part; NaN where there are no more rows
        than features.
    noise_variance_ : ndarray of shape (k,)
        That of the noise of a sample of weight one, τ²γm. Copies are weights: of every row given twice, it is
        twice that of the rows given once.
    degrees_of_freedom_ : float
        Those of the two variances, m − l: of the t distribution whose quantiles make intervals of standard
        deviations.
    feature_coef_std_ : ndarray of shape (l,) or (l, k)
        Standard errors of the features' coefficients. NaN for the polynomials that a conditionally positive
        definite kernel shares with the features: only the variance of the whole function is defined there.
    feature_coef_cov_ : ndarray of shape (l, l) or (k, l, l)
        Their covariance: a contrast aᵀβ has the variance aᵀ cov a.
    feature_inflation_ : ndarray of shape (l,) or (l, k)
        The variance of each coefficient over what it would be with the kernel part known: how much of a
        feature the kernel can express too. `ConfoundedFeaturesWarning` where it leaves nothing to read.""",
    """
    kernel_variance : float or None, default=None
        The variance κ of the kernel part, where it is known: the sill of a variogram that is believed in
        (without its nugget), in units of k(x, x) = 1. None: estimated.
    noise_variance : float or None, default=None
        The variance σ² of the noise in a row of weight one, where it is known: the nugget. With ``fit(X, y,
        noise=…)`` it multiplies these, so that 1 takes them as they are. None: estimated. Where both
        variances are given they say what γ is, σ²/(κΣw), and `regularization` has nothing to choose; where
        one is given, the other follows from γ.
    noise : None, "learn" or Kernel, default=None
        "learn": the noise depends on x. The logarithm of its variance is a second kernel machine, a gamma
        regression of squared leave-one-out residuals, learnt in turns with the model, in a dozen fits or
        fewer. Its kernel is the same plus one of each column, so that it sees columns too that the model's
        kernel does not read; or the kernel given here, such as ``Gaussian(2.0).on("depth")``. Bands with
        `with_noise` are then as wide as the noise is there, and noisier rows count less; see
        `predict_noise`. Known variances go to ``fit(X, y, noise=…)``.
    keep_factor : bool, default=True
        Whether the factor that variances need, made at the first call that asks for them, is kept for the
        next: 4m² bytes, for each γ. It is not part of a pickle.""",
)
class GRLSRegressor(LeaveOutBands, LearnsNoise, UncertainSummary, Regression, LeastSquaresMachine):
    r"""Kernel ridge regression with features that are not penalised (G-RLS).

    .. math:: \min_f \frac{1}{m} \sum_i (y_i - f(x_i))^2 + γ c^T Φ c, \quad
              f(x) = \sum_i c_i k(x_i, x) + \sum_p β_p φ_p(x), \quad T^T c = 0

    What the features φ can express is fitted freely; only the rest is left to the kernel and to γ. With
    ``features=None`` this is kernel ridge regression, with polynomials it is universal kriging.

    {parameters}

    See Also
    --------
    sklearn.kernel_ridge.KernelRidge : The same without features; ``alpha`` = γm.
    scipy.interpolate.RBFInterpolator : The same with polynomials only; ``smoothing`` = γm.

    Notes
    -----
    One Cholesky factorisation of order m − l: m³/3 operations and 4m² bytes (half a square matrix) in double
    precision. It fails with `NotPositiveDefiniteError` where γ is too small for the kernel and the data.
    Choosing γ reduces the matrix to a block tridiagonal one, once for all γ: several fits' worth of work (and
    12m² bytes for "loo"; "gcv" and "reml" take less of both).

    Examples
    --------
    A trend that is known, and a wave on it that is not:

    >>> import numpy as np
    >>> from grls import GRLSRegressor
    >>> from grls.kernels import Gaussian
    >>> x = np.linspace(0, 10, 50)[:, None]
    >>> y = 3 * x[:, 0] + np.sin(x[:, 0])
    >>> model = GRLSRegressor(Gaussian(sigma=1.0), features="linear", regularization=1e-6).fit(x, y)
    >>> round(model.score(x, y), 4)
    1.0
    >>> model.feature_names_free_
    ['1', 'x0']

    A width for each column, chosen from the data; the second column turns out not to matter:

    >>> X = np.random.default_rng(0).uniform(size=(80, 2))
    >>> model = GRLSRegressor(Gaussian("medians"), regularization="reml", optimize=True, random_state=0)
    >>> widths = model.fit(X, np.sin(6 * X[:, 0])).kernel_.sigma
    >>> bool(widths[1] > 10 * widths[0])
    True
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        features: Any = "constant",
        regularization: float | str = "auto",
        regularization_grid: Any = 50,
        per_output: bool = False,
        feature_variance: float | str = np.inf,
        kernel_variance: float | None = None,
        noise_variance: float | None = None,
        noise: str | None = None,
        formulation: str = "exact",
        pivots: str = "qr",
        precision: str = "auto",
        optimize: Any = None,
        n_restarts: int = 0,
        random_state: Any = None,
        solver: str = "cholesky",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: int = 0,
        keep_factor: bool = True,
    ) -> None:
        super().__init__(
            kernel,
            features=features,
            regularization=regularization,
            regularization_grid=regularization_grid,
            per_output=per_output,
            feature_variance=feature_variance,
            formulation=formulation,
            pivots=pivots,
            precision=precision,
            optimize=optimize,
            n_restarts=n_restarts,
            random_state=random_state,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            verbose=verbose,
        )
        self.keep_factor = keep_factor
        self.kernel_variance = kernel_variance
        self.noise_variance = noise_variance
        self.noise = noise

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, noise: Any = None
    ) -> GRLSRegressor:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,) or (m, k)
            Targets.
        sample_weight : array-like of shape (m,), default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.
        groups : array-like of shape (m,), default=None
            The group of each row, such as a subject or a block of the map. Rows of a group are left out
            together: "loo" and "auto" are "logo" then, of γ that the likelihood does not reject with "auto";
            "holdout" holds out whole groups; "gcv" and "reml" leave no rows out, and refuse groups.
            `cross_validate` folds by them.
        noise : array-like of shape (m,), default=None
            Known variances of the noise in each row: those of the noise itself where ``noise_variance=1``,
            and otherwise in units that are estimated. A noisier row counts less, but stays one row.

        Returns
        -------
        self : GRLSRegressor
            The fitted model.
        """
        return self._fit_values(X, y, sample_weight, groups=groups, noise=noise)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("kernel_variance", "noise_variance"):
            if getattr(self, name) is not None:
                real(getattr(self, name), name, above=0)
        given = self._given_variances()
        if given.kernel is not None and given.noise is not None and not isinstance(self.regularization, str):
            raise ValueError(
                "kernel_variance and noise_variance say what the regularization is: leave "
                f'regularization="loo", got {self.regularization!r}'
            )
        if (given.kernel is not None or given.noise is not None) and self._optimizes():
            raise ValueError(
                "optimize leaves both variances to the data: it needs kernel_variance=None and "
                "noise_variance=None"
            )

    def _given_variances(self) -> GivenVariances:
        as_number = [None if v is None else float(v) for v in (self.kernel_variance, self.noise_variance)]
        return GivenVariances(*as_number)


@_documented(
    """
    classes_ : ndarray of shape (n_classes,)
        The labels.""",
    """
    criterion : {"squared_error", "accuracy"}, default="squared_error"
        What leave-one-out counts.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn.""",
)
class GRLSClassifier(WithoutProbabilities, ClassificationSummary, Classification, LeastSquaresMachine):
    """Regularised least-squares classification with features that are not penalised (G-RLSC).

    Targets are ±1; several classes are learnt one versus all with a single factorisation. The model function
    is that of `GRLSRegressor`.

    {parameters}

    See Also
    --------
    sklearn.linear_model.RidgeClassifier : The same without kernel, with an unpenalised constant.
    GRLSRegressor : The same for regression, with the equations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from grls import GRLSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GRLSClassifier("gaussian", features="linear").fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        features: Any = "constant",
        regularization: float | str = "auto",
        regularization_grid: Any = 50,
        per_output: bool = False,
        feature_variance: float | str = np.inf,
        criterion: str = "squared_error",
        class_weight: Any = None,
        formulation: str = "exact",
        pivots: str = "qr",
        precision: str = "auto",
        optimize: Any = None,
        n_restarts: int = 0,
        random_state: Any = None,
        solver: str = "cholesky",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            features=features,
            regularization=regularization,
            regularization_grid=regularization_grid,
            per_output=per_output,
            feature_variance=feature_variance,
            formulation=formulation,
            pivots=pivots,
            precision=precision,
            optimize=optimize,
            n_restarts=n_restarts,
            random_state=random_state,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            verbose=verbose,
        )
        self.criterion = criterion
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> GRLSClassifier:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,)
            Labels, of any type.
        sample_weight : array-like of shape (m,), default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.
        groups : array-like of shape (m,), default=None
            The group of each row, such as a subject or a block of the map. Rows of a group are left out
            together: "loo" and "auto" are "logo" then, of γ that the likelihood does not reject with "auto";
            "holdout" holds out whole groups; "gcv" and "reml" leave no rows out, and refuse groups.
            `cross_validate` folds by them.

        Returns
        -------
        self : GRLSClassifier
            The fitted model.
        """
        return self._fit_labels(X, y, sample_weight, groups=groups)

    def cross_validate(self, cv: Any = 5, groups: Any = None) -> ClassifierCrossValidation:
        """Label rows by the model without them, in closed form.

        The features' coefficients are those of a fit without the rows; γm and the kernel are those of the
        model. Features that a transformer learnt from X, as topics, have seen all rows; those made from y
        cannot be left out, which is an error.

        Parameters
        ----------
        cv : int, "loo", splitter or iterable of splits, default=5
            The number of folds of scikit-learn's `StratifiedKFold`; "loo", single rows (with those that agree
            with them in X and y); or any splitter, with what it does not train with left out. A splitter sees
            the rows of positive weight; splits that are listed hold positions among all rows given to `fit`.
        groups : array-like of shape (m,), default=None
            The group of each row given to `fit`, or of each of positive weight; those of the fit by default.
            A number of folds is then that of `StratifiedGroupKFold`, at most one for each group.

        Returns
        -------
        ClassifierCrossValidation
            Decision values and labels.
        """
        check_is_fitted(self)
        own = winner(self._targets_fit)
        found = leave_out(self, cv, groups, self.classes_[own])
        named = winner(found.values)
        decision, right = self._shaped(found.values), named == own[found.rows]
        rows = as_given(self, found.rows)
        return ClassifierCrossValidation(rows, found.fold, decision, self.classes_[named], right)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choice(self.criterion, "criterion", ("squared_error", "accuracy"))
        if self.criterion == "accuracy" and self.per_output:
            raise ValueError('criterion="accuracy" judges all classes together: it needs per_output=False')

    def _optimizes(self) -> bool:
        by_gradient = super()._optimizes() and not isinstance(self.optimize, dict)
        if by_gradient and self.regularization in ("auto", "loo", "logo") and self.criterion == "accuracy":
            raise ValueError(
                'criterion="accuracy" has no gradient: optimize by criterion="squared_error", or give the '
                "values to try as a dict"
            )
        return super()._optimizes()

    def _loo_loss(
        self, targets: FloatArray, predictions: FloatArray, weights: FloatArray | None
    ) -> FloatArray:
        squared = super()._loo_loss(targets, predictions, weights)
        if self.criterion == "squared_error":
            return squared
        right = winner(predictions) == winner(targets)
        # Many γ tie in accuracy; the squared error, scaled below one sample's share, decides between them.
        return np.asarray(1 - np.average(right, weights=weights) + 1e-9 * squared.mean())
