"""Support vector machines with a generalised bias: `SVMGBClassifier`."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from ._models.chosen_in_folds import ChosenInFolds
from ._models.classification import class_weighted, classes_of, require_two_classes, weights_of_classes
from ._models.definite import warn_if_indefinite
from ._models.machines_in_folds import Machines
from ._models.pairs_of_classes import (
    Solved,
    Task,
    pose,
    scores_of,
    shared_matrix,
    winners,
)
from ._models.parts import Decomposition
from ._models.progress import Stages
from ._models.samples import Samples, Training, with_groups
from ._models.solved_pairs import hard_margin, solve_all
from ._models.support_vectors import SupportVectorMachine
from ._selection.folds import held_together
from ._selection.held_out import require_choice
from ._solvers import memory
from ._solvers.kernel_problem import KernelProblem
from ._solvers.rows import row_keys
from ._validation import FloatArray, choice, integer, real, sample_weights
from ._warnings import warn
from .exceptions import SeparableFeaturesWarning
from .features._labels import require_labels
from .kernels.polynomials import needed_polynomials

__all__ = ["SVMGBClassifier"]
__dir__ = __all__.copy


class SVMGBClassifier(ClassifierMixin, SupportVectorMachine, ChosenInFolds):
    r"""Support vector classification with features that are not penalised (SVM-GB).

    .. math:: \min_f \frac{1}{2} c^T Φ c + C \sum_i \max(0, 1 - y_i f(x_i)), \quad
              f(x) = \sum_i c_i k(x_i, x) + \sum_p β_p φ_p(x), \quad T^T c = 0

    The generalised bias Σ β_p φ_p takes the place of the constant b of a support vector machine: what the
    features can express is fitted freely, and only the rest is left to the kernel and to C. With
    ``features="constant"`` this is scikit-learn's `SVC`. Several classes are learnt one versus one.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="auto"
        "auto": a Gaussian of one scale for all columns, each in units of its own, the scale that leaves out
        single rows best in a least-squares fit as regularised as this one, on at most 250 points; more
        than 50 columns also as they are, sparse ones only so, or the linear kernel. Dense columns that
        clearly matter less than others, by the slopes of such a fit to half of at most 1000 points and its
        errors at the other half, have wider widths. An object of `grls.kernels`, such as
        ``Gaussian(sigma=2.0)``, a formula of several, or one on a view of X,
        ``Linear().after(TfidfVectorizer())``, for which X may be a list of documents; a name
        (``"gaussian"``, ``"laplace"``, ``"linear"``, ``"polynomial"``, ``"precomputed"``); or a function
        ``k(X, Z)`` that returns the matrix.
    features : None, str, list, callable or transformer, default="constant"
        What is not penalised: None, ``"constant"``, ``"linear"``, ``"quadratic"``, a list of columns by name
        or position, a function ``X -> (n, l)``, or any scikit-learn transformer, which is cloned and fitted
        with X and y.
    C : float, "cv" or array-like of floats, default="cv"
        Weight of the losses, greater than zero; the paper's γ is 1/(2Cm). "cv": that which misses fewest
        labels of rows held out in three folds, found on a ladder of steps √10; with ``kernel="auto"`` also
        half or twice the width, and so on. Several: the best of these. One C for all pairs of classes. Copies
        of a row are in the same fold, of more than 1000 rows a third is searched, at least 1000.
        ``inf``: a hard margin, for classes that a function separates; ValueError where they overlap in the
        space of kernel and features. Weights of samples and classes then make no difference.
    feature_variance : float or "auto", default=inf
        How free the features are: the prior variance τ of their coefficients, which is a kernel Φ + τZZᵀ.
        Z are the features centred and scaled to variance one; the constant stays free. (Without the constant
        among the features they are divided by their root mean square.) Infinite: unpenalised. 0: without
        effect. "auto": chosen with C by the same rows held out, 0 where features do not clearly gain.
    solver : {"auto", "native", "ipm", "osqp"}, default="auto"
        "native" decomposes the problem and evaluates the kernel rows it needs; "ipm" is an interior point
        method that factorises the kernel matrix of each pair a dozen times or two, exact and indifferent to
        C, for thousands of samples; "osqp" hands the paper's quadratic program to OSQP, for hundreds. "auto"
        solves pairs of up to 300 samples exactly, whatever `tol`: by "native" and an active set where the
        kernel is known to be positive definite and there is at most a constant, else by "ipm". For others it
        takes "native"; up to 6000 samples "ipm" takes over where that has worked as long as "ipm" would
        have. Where either gets stuck, "native" as it may with a C or a tolerance out of all proportion,
        "ipm" where the features alone separate the classes, the other one finishes the work. Where the
        kernel is not positive definite (sigmoid), "auto" is "native"; both give an `IndefiniteKernelWarning`.
        Conditionally positive definite kernels of order 1 need no matrix with "native" and "auto"; those of
        higher order, such as thin plates, two of order m.
    formulation : {"virtual", "pivot"}, default="virtual"
        The direct form, which is that of the paper's virtual samples (section 4.2), or the program (23)-(24)
        in the basis of pivot samples; the function is the same. "pivot" is for ``solver="osqp"`` (or "auto").
    bias : {"multiplier", "lp"}, default="multiplier"
        Where the features' coefficients come from: the multipliers of Tᵀc = 0, or the paper's linear program
        (25), solved by OSQP or, where it falls short, by SciPy's HiGHS. Where they are not unique (solvers
        "native", "ipm" and "auto") the first are those, of all that are as good, that keep samples at a bound
        furthest from their margins: the largest smallest \|1 − y f(x)\|, then the next smallest, whatever
        the basis of the features; for the constant alone the middle, as in `SVC`. Where there is no largest,
        as where the features alone separate the classes, those of least norm in units of the columns'
        standard deviations.
    tol : float, default=1e-4
        Duality gap, relative to the objective, at which to stop.
    max_iter : int, default=-1
        Rounds or iterations at most; -1: no limit.
    cache_size : float, default=1000
        MiB of kernel rows to keep for each pair that is worked on; there are as many as threads at a time.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn: C becomes C times the weight.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives a score per class or the function of each pair of classes.
    break_ties : bool, default=False
        Whether `predict` breaks ties of votes by the scores of "ovr"; otherwise the first class wins.
    probability : bool, default=False
        Whether `predict_proba` is there: the decision values calibrated by scikit-learn's
        `CalibratedClassifierCV` (sigmoid, 5 folds), at the price of 5 more fits and with at least 5 rows of
        each class; where C or `feature_variance` is chosen, by the rows that are held out for that (see
        ``cv_score_``).
    warm_start : bool, default=False
        Whether a fit begins with the coefficients of the last one, found again by their rows: for a path of
        C, or folds that share rows.
    verbose : int, default=0
        1: print a line per pair of classes when the fit is done.

    Attributes
    ----------
    C_ : float
        The C used.
    feature_variance_ : float
        The features' variance used.
    C_path_, feature_variance_path_, criterion_path_ : ndarrays of shape (g,)
        The settings tried, where one was chosen, and the share of the rows held out whose class was missed,
        weighted as the losses are. Those that were clearly worse had one or two folds only.
    cv_predictions_ : ndarray of shape (m,) or (m, n_pairs)
        Functions of the pairs at each row by the model without its fold, where C or the variance was chosen;
        NaN at rows that were not held out.
    cv_fold_ : ndarray of shape (m,)
        The fold of each row; −1: it was not held out.
    cv_score_ : float
        Accuracy of the rows held out, of the setting that was chosen: a little better than new rows have it,
        being the best of several. With ``kernel="auto"`` the units and widths of the columns have moreover
        seen all labels, those of rows held out too; where that matters, leave out rows around the whole fit,
        as `cross_val_score` does.
    dual_coef_ : ndarray of shape (n_SV, n_pairs)
        Kernel coefficients c of the support vectors of any pair; zero where a vector is none of the pair. So
        each kernel value of a prediction is evaluated once for all pairs.
    feature_coef_ : ndarray of shape (l, n_pairs)
        Feature coefficients β; zero where a feature was left out as dependent.
    support_ : ndarray of shape (n_SV,)
        Positions of the support vectors in X, ascending.
    n_support_ : ndarray of shape (n_classes,)
        How many of them each class has.
    X_fit_ : {ndarray, CSR matrix} of shape (n_SV, d)
        The support vectors, as the views of the kernel show them where it has some; of a precomputed kernel,
        the matrix between them.
    coef_ : ndarray of shape (n_pairs, d)
        Weights of the columns, of a linear kernel: its part of the function but for a constant. What linear
        features say of the same columns is in ``feature_coef_``.
    intercept_ : ndarray of shape (n_pairs,)
        The functions' constants, of a linear kernel beside ``features="constant"`` or None.
    rkhs_norm_ : ndarray of shape (n_pairs,)
        Norm √(cᵀΦc) of the kernel parts.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_weight_ : ndarray of shape (n_classes,)
        The weights of the classes.
    pairs_ : ndarray of shape (n_pairs, 2)
        The classes of each pair, as positions in ``classes_``. The function of a pair is positive for the
        first of the two; with two classes in all, for the second one. Both as in `SVC`.
    objective_ : ndarray of shape (n_pairs,)
        The objective of the model, from its own coefficients.
    duality_gap_ : ndarray of shape (n_pairs,)
        The duality gap, relative to the objective; likewise.
    n_iter_ : ndarray of shape (n_pairs,)
        Rounds or iterations; 0 where the features alone separate the classes and nothing was left to do.
    pair_seconds_ : ndarray of shape (n_pairs,)
        Time in the solver, which works on as many pairs as threads at a time.
    kernel_used_ : ndarray of shape (n_pairs,)
        Whether the kernel has a part in the function of a pair. False where features that are not penalised
        separate the classes alone, of which a `SeparableFeaturesWarning` tells.
    fit_seconds_ : dict
        Time of each stage of ``fit``, which add up to all of it; "other" is what belongs to none.
    bias_solver_ : ndarray of shape (n_pairs,)
        Where β came from: "multiplier", or with ``bias="lp"`` who solved the program, "osqp" or "highs".
    feature_names_free_ : list of str
        Names of the features.
    feature_support_ : ndarray of shape (l,)
        Which features have a coefficient in any pair.
    n_features_free_ : int
        l, the number of features.
    optimization_ : KernelChoice
        With ``kernel="auto"``: the kernels that were tried.
    kernel_ : Kernel
        The kernel with everything fixed that was left to the data.
    features_ : transformer or None
        The fitted features.
    calibrated_ : CalibratedClassifierCV
        The sigmoids, with ``probability=True``: a model of decision values ("ovr") in place of X.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    sklearn.svm.SVC : The same with the constant as the only feature; ``gamma = 1 / (2 sigma**2)``.
    GRLSClassifier : The same features with the squared loss.

    Notes
    -----
    "native" keeps at most ``cache_size`` of kernel rows, and works in single precision where ``tol`` allows
    it and samples confirm it; the stopping rule is the gap. `ConvergenceWarning` where it is not reached.

    References
    ----------
    Wenye Li, Kwong-Sak Leung, Kin-Hong Lee: Generalizing the Bias Term of Support Vector Machines,
    IJCAI 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from grls import SVMGBClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMGBClassifier("gaussian", features="linear", feature_variance=1.0, C=10.0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.97
    >>> model.decision_function(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        features: Any = "constant",
        C: Any = "cv",
        feature_variance: float | str = np.inf,
        solver: str = "auto",
        formulation: str = "virtual",
        bias: str = "multiplier",
        tol: float = 1e-4,
        max_iter: int = -1,
        cache_size: float = 1000,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        probability: bool = False,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.C = C
        self.feature_variance = feature_variance
        self.solver = solver
        self.formulation = formulation
        self.bias = bias
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.probability = probability
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SVMGBClassifier:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,)
            Labels, of any type.
        sample_weight : array-like of shape (m,), default=None
            C becomes C times the weight: weight 2 is the row twice, weight 0 no row.
        groups : array-like of shape (m,), default=None
            Rows of a group, such as a subject, are in the same fold where C or `feature_variance` is chosen,
            or probabilities are calibrated.

        Returns
        -------
        SVMGBClassifier
            The fitted model.
        """
        self._check_parameters()
        with self._timed_fit():
            require_labels(y)
            checked, labels = self._validate(X, y)
            given = sample_weights(sample_weight, checked)
            weights = class_weighted(self.class_weight, labels, given)
            counted = np.ones(len(labels), dtype=bool) if weights is None else weights > 0
            classes = classes_of(labels, counted)
            require_two_classes(len(classes))
            codes = np.searchsorted(classes, labels)[:, None].astype(np.float64)
            samples = self._samples(checked, X, labels, codes, weights)
            samples = with_groups(samples, groups, len(labels))
            chooses = self._chooses_kernel() or require_choice(self.C, self.feature_variance)
            if groups is not None and not (chooses or self.probability):
                warn(
                    "groups tell which rows are held out together, and no choice needs rows held out",
                    UserWarning,
                )
            self._fit(samples, classes, len(labels))
            self.class_weight_ = weights_of_classes(self.class_weight, classes, labels[counted])
            if self.probability and not hasattr(self, "calibrated_"):
                # A kernel matrix loses columns with its rows, which a list of lists cannot.
                rows = checked if self.kernel_.pairwise else X
                self._calibrate_by_refits(rows, labels, given, counted, samples.labels)
        return self

    def _check_parameters(self) -> None:
        require_choice(self.C, self.feature_variance)
        if not self._chooses_C() and not self._is_hard():
            real(self.C, "C", above=0)
        real(self.tol, "tol", above=0)
        real(self.cache_size, "cache_size", above=0)
        integer(self.max_iter, "max_iter", minimum=-1)
        choice(self.solver, "solver", ("auto", "native", "ipm", "osqp"))
        choice(self.formulation, "formulation", ("virtual", "pivot"))
        choice(self.bias, "bias", ("multiplier", "lp"))
        choice(self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"))
        if self.feature_variance != np.inf:
            if not isinstance(self.feature_variance, str):
                real(self.feature_variance, "feature_variance", minimum=0)
            if self.formulation == "pivot" or self.bias == "lp":
                raise ValueError(
                    'a finite feature_variance leaves no bias: it needs formulation="virtual" and '
                    'bias="multiplier"'
                )
        if self.formulation == "pivot" and self.solver not in ("auto", "osqp"):
            raise ValueError('formulation="pivot" is solved by OSQP: it needs solver="osqp" or "auto"')
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError('break_ties=True needs decision_function_shape="ovr"')

    def _label_columns(self, samples: Samples) -> FloatArray:
        labels = samples.targets[:, 0].astype(np.intp)
        classes = np.arange(labels.max() + 1) if labels.max() > 1 else np.array([1])
        return np.where(labels[:, None] == classes, 1.0, -1.0)

    def _equivalent_shift(self, training: Training) -> float:
        if self._is_hard():
            return 1e-6
        return 1 / (2 * (1.0 if isinstance(self.C, str) else float(np.exp(np.log(self.C).mean()))))

    def _is_hard(self) -> bool:
        return isinstance(self.C, float | np.floating) and bool(np.isposinf(self.C))

    def _fit(self, samples: Samples, classes: Any, n_given: int) -> None:
        training = self._prepare(samples)
        assert training.kernel is not None
        labels = samples.targets[:, 0].astype(np.intp)
        pairs = np.array(list(combinations(range(len(classes)), 2)))
        by_osqp = self.solver == "osqp" or self.formulation == "pivot"
        # Decomposition takes steps that keep Σc, and needs no more of a kernel of order 1.
        order = training.kernel.order or 0
        conditional = order > 1 or (order == 1 and (by_osqp or self.solver == "ipm"))
        solver = "native" if order == 1 and not conditional else self.solver
        self._require_memory(training, labels, len(pairs), by_osqp, conditional)
        polynomials = needed_polynomials(training.kernel, samples.X)
        machines = chosen = None
        if require_choice(self.C, self.feature_variance):
            machines = Machines(
                self,
                self._widths_to_try(training.kernel),
                samples.X,
                training.T,
                samples.weights,
                labels,
                classes,
                pairs,
                polynomials,
                conditional,
                solver,
                by_osqp,
                held_together(training.kernel, samples.X, samples.labels),
            )
            training.kernel, chosen = self._choose(machines)
        else:
            self.C_, self.feature_variance_ = float(self.C), float(self.feature_variance)
        problem = KernelProblem(training.kernel, samples.X, training.T, samples.weights)
        posed = pose(problem, self.feature_variance_, polynomials, conditional=conditional)
        known = None
        if machines is not None and chosen is not None and posed.has_own_kernel:
            known = machines.known_matrix(chosen.setting.kernel)
        shared = shared_matrix(posed.problem, labels, known)
        task = Task(training.kernel, shared, labels, classes, pairs, solver, by_osqp)
        if self.solver == "native":  # which does not find out by itself
            warn_if_indefinite(training.kernel, problem)
        start = None if by_osqp else self._start(training, labels, classes, len(pairs))
        if self._is_hard():
            solved, said = hard_margin(self, task, start)
        else:
            solved, said = solve_all(self, task, self.C_, start, float(self.tol))
        self._stages.done("solve")
        self._warn(solved, said, classes, pairs)
        solved.beta = posed.feature_coefficients(solved.beta, solved.c)
        if posed.parts is not None:
            solved.kept = [posed.parts.kept]
        self._store(training, labels, classes, pairs, solved)
        self._forget("C_path_", "feature_variance_path_", "criterion_path_", "cv_predictions_", "cv_fold_")
        self._forget("cv_score_", "calibrated_")
        if machines is not None and chosen is not None:
            self._store_choice(chosen, samples.rows, n_given)
            if self.probability:
                own = problem.kernel_times(solved.c) + training.T @ solved.beta
                self._calibrate(machines, chosen, samples, own)
        self._warn_of_separation()
        if self._stages.tells(1):
            self._report(self._stages)

    def _store(
        self,
        training: Training,
        labels: NDArray[np.intp],
        classes: Any,
        pairs: NDArray[np.intp],
        solution: Solved,
    ) -> None:
        self._store_features(training.features, sorted(set().union(*solution.kept)))
        support = self._store_support(training, solution.c)
        self._store_coefficients(training.features, solution.beta)
        self._store_leverage(training.T, training.samples.weights)
        self.n_support_ = np.bincount(labels[support], minlength=len(classes))
        self.classes_ = classes
        self.pairs_ = pairs
        self.objective_ = solution.objective
        self.duality_gap_ = solution.relative_gap
        self.n_iter_ = solution.iterations
        self.pair_seconds_ = solution.seconds
        self.kernel_used_ = np.any(solution.c != 0, axis=0)
        self.bias_solver_ = solution.bias_solver
        self._C_fit = self.C_
        self._labels_fit = labels[support]
        self._n_samples_fit = training.n_samples

    def _require_memory(
        self,
        training: Training,
        labels: NDArray[np.intp],
        n_pairs: int,
        by_osqp: bool,
        conditional: bool,
    ) -> None:
        m = len(labels)
        largest = int(np.sort(np.bincount(labels))[-2:].sum())  # the two largest classes
        assert training.kernel is not None
        # Stored matrices: the kernel's, and the definite one that takes the place of a conditional one.
        stored = (by_osqp or conditional or training.kernel.is_function) + conditional
        if by_osqp:
            need, way_out = memory.osqp_bytes(largest), 'use solver="native"'
        else:
            need = memory.svm_bytes(largest, n_pairs, self.solver, float(self.cache_size) * 2**20)
            way_out = (
                'use solver="native", which keeps no matrix'
                if self.solver == "ipm"
                else "use a smaller cache_size"
            )
        need += memory.pairs_bytes(m, n_pairs, int(labels.max()) + 1)
        memory.require(8.0 * m**2 * stored + need, f"a support vector machine of {m} samples", way_out)

    def _start(
        self, training: Training, labels: NDArray[np.intp], classes: Any, n_pairs: int
    ) -> FloatArray | None:
        """Return the last fit's coefficients at the samples that were in it, or None."""
        if not self.warm_start or not hasattr(self, "dual_coef_"):
            return None
        if not np.array_equal(classes, self.classes_) or self.dual_coef_.shape[1] != n_pairs:
            return None
        start = np.zeros((len(labels), n_pairs))
        finite = np.isfinite(self.C_) and np.isfinite(self._C_fit)
        scaled = self.dual_coef_ * (self.C_ / self._C_fit if finite else 1.0)
        if self.kernel_.pairwise:
            # Rows of a kernel matrix have no contents to be found by: they must all be there, as before.
            same = training.samples.rows is None and self._gram_columns is None
            if same and len(labels) == self._n_samples_fit:
                start[self.support_] = scaled
        elif _same_columns(training.samples.X, self.X_fit_):
            place = dict(zip(row_keys(self.X_fit_).tolist(), range(len(scaled)), strict=True))
            found = np.array([place.get(key, -1) for key in row_keys(training.samples.X).tolist()])
            start[found >= 0] = scaled[found[found >= 0]]
            start[(found >= 0) & (labels != self._labels_fit[found])] = 0  # the row has changed sides
        return start

    def _warn(self, solution: Solved, said: NDArray[np.bool_], classes: Any, pairs: NDArray[np.intp]) -> None:
        missed = np.flatnonzero((solution.relative_gap > self.tol) & ~said)
        if len(missed) == 0:
            return
        worst = missed[np.argmax(solution.relative_gap[missed])]
        a, b = classes[pairs[worst]].tolist()
        remedy = 'raise max_iter or tol, or use solver="ipm"'
        hidden = solution.rounding[worst]
        if hidden > max(self.tol, 0.5 * solution.relative_gap[worst]):
            remedy = (
                f"of that {hidden:.2g} is what rounding may hide, for the kernel's values are so large that "
                "those of copies with other labels do not cancel: scale the columns, or normalise the kernel"
            )
        warn(
            f"{len(missed)} of {len(pairs)} pairs of classes did not reach tol={self.tol:g}; the worst, "
            f"{a!r} and {b!r}, is left with a relative duality gap of {solution.relative_gap[worst]:.2g} "
            f"after {solution.iterations[worst]} iterations; {remedy}",
            ConvergenceWarning,
        )

    def _warn_of_separation(self) -> None:
        unused = np.flatnonzero(~self.kernel_used_)
        if len(unused) == 0:
            return
        a, b = self.classes_[self.pairs_[unused[0]]].tolist()
        warn(
            f"the features alone separate the classes of {len(unused)} of {len(self.pairs_)} pairs (the "
            f"first: {a!r} and {b!r}), and the kernel is not used there: see kernel_used_; give a finite "
            "feature_variance, such as 1.0, or fewer features",
            SeparableFeaturesWarning,
        )

    def _report(self, stages: Stages) -> None:
        for p, pair in enumerate(self.pairs_):
            a, b = self.classes_[pair].tolist()
            stages.report(
                f"{a!r} / {b!r}: {self.n_iter_[p]} iterations, {1e3 * self.pair_seconds_[p]:.3g} ms, "
                f"objective {self.objective_[p]:.6g}, relative gap {self.duality_gap_[p]:.2g}, "
                f"{np.count_nonzero(self.dual_coef_[:, p])} support vectors"
            )

    def _pair_values(self, X: Any) -> FloatArray:
        feature_part, learnt_part = self._parts(X)
        return feature_part + learnt_part

    def decision_function(self, X: Any) -> FloatArray:
        """Return the values of the model functions.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,), (n, n_classes) or (n, n_pairs)
            For two classes one function, positive for ``classes_[1]``. Else with "ovo" the functions of the
            pairs, positive for the first class of each; with "ovr" a score per class: its votes, and as a
            fraction of a vote its confidence summed over its pairs.
        """
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.decision_function_shape == "ovo":
            return values
        return scores_of(values, self.pairs_, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """Return the labels.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            The class with most votes.
        """
        values = self._pair_values(X)
        return self.classes_[winners(values, self.pairs_, len(self.classes_), break_ties=self.break_ties)]

    def decompose(self, X: Any, return_std: bool = False, groups: Any = None) -> Decomposition:
        """Return what the features say and what the kernel has learnt on top of it.

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
            A pair ``features, learnt`` of ndarrays of shape (n,) or (n, n_pairs), which add up to the
            functions of the pairs: ``decision_function`` with "ovo"; ``terms`` has the groups.
        """
        return super().decompose(X, return_std, groups)

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if values.shape[1] == 1 else values


def _same_columns(X: Any, Z: Any) -> bool:
    return bool(X.shape[1] == Z.shape[1] and sparse.issparse(X) == sparse.issparse(Z))
