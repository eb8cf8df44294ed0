"""What another estimator says, as features."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv, cross_val_predict
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._out_of_fold import values_out_of_fold
from .._validation import FloatArray, all_or_nothing, choice, integer
from .._versions import Versioned
from ._labels import require_labels
from ._names import column_names

_METHODS = ("predict_proba", "decision_function", "predict")


class EstimatorFeatures(MetaEstimatorMixin, TransformerMixin, Versioned, BaseEstimator):
    """The output of any scikit-learn estimator as features, out of fold on the training rows.

    An estimator that has seen a row fits its label, noise included; as an unpenalised feature that would be
    trusted like the truth. So ``fit_transform`` returns the output of estimators fitted *without* the row
    (`cross_val_predict`), and ``transform``, for new rows, that of the one fitted to all rows. The
    kernel machines of grls call ``fit_transform`` on their training rows, and so do pipelines and unions.

    Parameters
    ----------
    estimator : estimator
        A regressor or a classifier; it is cloned.
    method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        What to ask it; "auto" is the first of the three that it has (``predict`` for regressors). The labels
        that a classifier predicts become one indicator per class.
    cv : int, cross-validation generator or iterable, default=5
        The folds. A number: as many shuffled ones, stratified for classifiers, and no more than the smallest
        class has rows. Copies of a row in different folds reveal its label: where that matters, give a
        generator that keeps them together.
    constant : bool, default=True
        Whether the constant comes with them. Probabilities and indicators then leave out the first class, for
        all of them sum to the constant.
    random_state : int, RandomState instance or None, default=0
        For shuffling the rows, when `cv` is a number.
    n_jobs : int or None, default=None
        How many folds are fitted at the same time, as everywhere in scikit-learn.

    Attributes
    ----------
    estimator_ : estimator
        The one fitted to all rows.
    classes_ : ndarray of shape (n_classes,)
        The labels, for classifiers.
    method_ : str
        What it is asked.
    n_features_in_ : int
        Number of columns seen in ``fit``, if the estimator tells.
    feature_names_in_ : ndarray of shape (d,)
        Their names, if the estimator tells.

    See Also
    --------
    sklearn.ensemble.StackingRegressor : A second estimator on nothing but such outputs.

    Examples
    --------
    A physical or simpler model goes first, and the kernel learns what remains:

    >>> import numpy as np
    >>> from grls import GRLSRegressor
    >>> from grls.features import EstimatorFeatures
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> y = (X[:, 0] > 0.5) + 0.1 * np.sin(20 * X[:, 0])
    >>> tree = EstimatorFeatures(DecisionTreeRegressor(max_depth=1))
    >>> model = GRLSRegressor(features=tree).fit(X, y)
    >>> model.feature_names_free_
    ['1', 'decisiontreeregressor']
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        cv: Any = 5,
        constant: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.constant = constant
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__() if hasattr(self.estimator, "__sklearn_tags__") else None
        if inner is not None:
            tags.input_tags = inner.input_tags
            tags.target_tags = inner.target_tags
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> EstimatorFeatures:
        """Fit the estimator to all rows, as new rows will see it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training data, as the estimator takes them.
        y : array-like of shape (n,) or (n, k)
            Targets.

        Returns
        -------
        EstimatorFeatures
            The fitted transformer. Its ``transform`` of these rows is not out of fold: see `fit_transform`.
        """
        with all_or_nothing(self):
            self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> FloatArray:
        """Fit the estimator, and return what it says of each training row when fitted without it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training data.
        y : array-like of shape (n,) or (n, k)
            Targets.

        Returns
        -------
        ndarray of shape (n, l)
            Out-of-fold features.
        """
        with all_or_nothing(self):
            self._fit(X, y)
            return self._columns(self._out_of_fold(X, y))

    def transform(self, X: Any) -> FloatArray:
        """Return what the estimator fitted to all training rows says.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            New data.

        Returns
        -------
        ndarray of shape (n, l)
            Features.
        """
        check_is_fitted(self, "estimator_")
        return self._columns(getattr(self.estimator_, self.method_)(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the name of the estimator, with the class or number of each column, after ``1``."""
        check_is_fitted(self, "estimator_")
        column_names(self, input_features)
        name = type(self.estimator_).__name__.lower()
        n_outputs = self._n_outputs
        if hasattr(self, "classes_") and n_outputs == len(self.classes_):
            names = [f"{name}_{label}" for label in self.classes_]
        else:
            names = [name] if n_outputs == 1 else [f"{name}{p}" for p in range(n_outputs)]
        return np.array((["1"] if self.constant else []) + names[self._n_dropped :], dtype=object)

    def _fit(self, X: Any, y: Any) -> None:
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"EstimatorFeatures.estimator must be an estimator with predict, got {self.estimator!r}"
            )
        if y is None:
            raise ValueError("EstimatorFeatures requires y to be passed, but the target y is None")
        X, y = indexable(X, y)
        classifies = is_classifier(self.estimator)
        if classifies:
            require_labels(y)
            check_classification_targets(y)
        estimator = clone(self.estimator).fit(X, y)
        self.method_ = self._chosen_method(estimator, classifies)
        self.__dict__.pop("classes_", None)
        if classifies:
            if isinstance(estimator.classes_, list):
                raise ValueError("EstimatorFeatures takes classifiers of one target, y has several")
            self.classes_ = estimator.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        self.estimator_ = estimator
        self._n_outputs = self._outputs(getattr(estimator, self.method_)(_safe_indexing(X, [0]))).shape[1]

    def _chosen_method(self, estimator: Any, classifies: bool) -> str:
        choice(self.method, "EstimatorFeatures.method", ("auto", *_METHODS))
        if self.method == "auto":
            return next(name for name in _METHODS if hasattr(estimator, name)) if classifies else "predict"
        if not hasattr(estimator, self.method):
            raise ValueError(f"EstimatorFeatures.method: {estimator!r} has no {self.method}")
        return self.method

    def _folds(self, y: Any) -> Any:
        if isinstance(self.cv, str) or not isinstance(self.cv, Integral):
            return check_cv(self.cv, y, classifier=hasattr(self, "classes_"))
        n_splits = integer(self.cv, "EstimatorFeatures.cv", minimum=2)
        if not hasattr(self, "classes_"):
            return KFold(n_splits, shuffle=True, random_state=self.random_state)
        smallest = int(np.unique(np.asarray(y), return_counts=True)[1].min())
        if smallest < 2:
            raise ValueError(
                "EstimatorFeatures needs at least 2 rows of each class, so that every fold has seen "
                f"them all; the smallest of {len(self.classes_)} classes has {smallest}"
            )
        return StratifiedKFold(min(n_splits, smallest), shuffle=True, random_state=self.random_state)

    def _out_of_fold(self, X: Any, y: Any) -> Any:
        asked = {"cv": self._folds(y), "method": self.method_, "n_jobs": self.n_jobs}
        if hasattr(self, "classes_") and self.method_ != "predict" and np.asarray(y).ndim == 1:
            return values_out_of_fold(self.estimator, X, y, self.classes_, **asked)
        return cross_val_predict(self.estimator, X, y, **asked)

    def _outputs(self, values: Any) -> FloatArray:
        """Return the estimator's answers as numbers in columns."""
        values = np.asarray(values)
        if self.method_ == "predict" and hasattr(self, "classes_"):
            return np.asarray(values.reshape(-1, 1) == self.classes_, dtype=np.float64)
        return np.asarray(values, dtype=np.float64).reshape(len(values), -1)

    @property
    def _n_dropped(self) -> int:
        """1 where the first column is the constant minus the others, else 0."""
        sums_to_one = hasattr(self, "classes_") and self.method_ != "decision_function"
        return int(sums_to_one and self.constant)

    def _columns(self, values: Any) -> FloatArray:
        columns = self._outputs(values)[:, self._n_dropped :]
        return np.column_stack([np.ones(len(columns)), columns]) if self.constant else columns
