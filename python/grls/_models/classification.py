"""What classifiers share: labels as ±1 targets, and the class that a model's functions name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from types import MethodType
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .._validation import FloatArray, sample_weights, shown
from .._warnings import recorded
from ..features._labels import require_labels
from .samples import with_groups

C = TypeVar("C", bound="Classification")


class available_where:
    """A method that some estimators have, by a function of them; of the others an error says who has it."""

    def __init__(self, has: Callable[[Any], bool], otherwise: str) -> None:
        self._has, self._otherwise = has, otherwise

    def __call__(self, method: Any) -> Any:
        update_wrapper(self, method)
        return self

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        method: Any = self.__wrapped__  # type: ignore[attr-defined]
        if obj is None:
            return method
        if not self._has(obj):
            raise AttributeError(f"{type(obj).__name__} has no {method.__name__} here: {self._otherwise}")
        return MethodType(method, obj)


class WithoutProbabilities:
    """A classifier that has decision values only, and says who has probabilities."""

    @property
    def predict_proba(self) -> Any:
        """Not there: least squares have no probabilities."""
        return self._no_probabilities("predict_proba")

    @property
    def predict_log_proba(self) -> Any:
        """Not there: least squares have no probabilities."""
        return self._no_probabilities("predict_log_proba")

    def _no_probabilities(self, name: str) -> Any:
        raise AttributeError(
            f"{type(self).__name__} has no {name}: it has decision_function. Probabilities come from "
            "GRLogisticClassifier and SVMGBClassifier(probability=True), or from "
            "sklearn.calibration.CalibratedClassifierCV around this one"
        )


def class_weighted(
    class_weight: Any, labels: Any, weights: FloatArray | None, *, whole: bool = True
) -> FloatArray | None:
    """Return the sample weights times those of the classes; a sample of weight zero balances no class.

    `whole`: these are all the labels there are, so that a class that is not among them is a slip.
    """
    if class_weight is None:
        return weights
    if whole:
        _require_known(class_weight, labels)
    out = np.ones(len(labels)) if weights is None else weights.copy()
    counted = out > 0
    classes, place = np.unique(labels[counted], return_inverse=True)
    out[counted] *= weights_of_classes(class_weight, classes, labels[counted])[place]
    if not np.any(out > 0):
        raise ValueError("class_weight is zero for every class: nothing is left to fit")
    return out


def weights_of_classes(class_weight: Any, classes: Any, labels: Any) -> FloatArray:
    """Return the weight of each class of the labels that count; of any other it does not matter."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        return np.asarray(compute_class_weight(class_weight, classes=classes, y=labels))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f'class_weight must be a dictionary, "balanced" or None, got {class_weight!r}')
    return np.array([float(class_weight.get(label, 1.0)) for label in classes])


def _require_known(class_weight: Any, labels: Any) -> None:
    """ValueError where class_weight names something in place of a class."""
    if not isinstance(class_weight, Mapping):
        return
    classes = np.unique(labels).tolist()
    unknown = [label for label in class_weight if label not in classes]
    unnamed = [label for label in classes if label not in class_weight]
    if unknown and unnamed:
        raise ValueError(
            f"class_weight names {shown(unknown)}, which no row has as its label, and not the classes "
            f"{shown(unnamed)}: are its keys labels as they are in y?"
        )


def row_counts(estimator: Any, labels: Any, weights: FloatArray | None) -> FloatArray | None:
    """Return how many rows each sample stands for: its weight without that of its class, which is a cost."""
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is None or weights is None:
        return weights
    classes, place = np.unique(labels, return_inverse=True)
    return np.asarray(weights / weights_of_classes(class_weight, classes, labels)[place])


_NAMES = "biuUS"  # kinds of arrays whose values can be nothing but labels


def classes_of(labels: Any, counted: Any) -> Any:
    """Return the classes of checked labels (m,), sorted, of those that count; ValueError for no labels.

    What scikit-learn looks for are numbers that a regression is for: there are none among integers and text,
    and of many different ones its warning tells.
    """
    classes = np.unique(labels[counted])
    if labels.dtype.kind not in _NAMES or 2 * len(classes) > len(labels):
        check_classification_targets(labels)
    return classes


def require_two_classes(n_classes: int) -> None:
    """Raise ValueError where there is only one class."""
    if n_classes < 2:
        raise ValueError("cannot fit a classifier to one class: all labels with positive weight are the same")


def encode(labels: Any, weights: FloatArray | None) -> tuple[Any, FloatArray]:
    """Return the classes and the targets ±1, (m, 1) for two classes and (m, k) for more.

    Labels of weight zero are no labels; their targets are 0.
    """
    check_classification_targets(labels)
    counted = np.ones(len(labels), dtype=bool) if weights is None else weights > 0
    binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(labels[counted])
    classes = binarizer.classes_
    require_two_classes(len(classes))
    targets = np.zeros((len(labels), len(classes) if len(classes) > 2 else 1))
    targets[counted] = binarizer.transform(labels[counted])
    return classes, targets


def winner(scores: FloatArray) -> Any:
    """Return the class that decision values (n, 1) or (n, k) name."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


class OneVersusAll(ClassifierMixin):
    """A classifier whose model functions, one per class or one for two classes, are `_parts` added up."""

    def decision_function(self, X: Any) -> FloatArray:
        """Return the values of the model functions, one per class.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            For two classes one function, positive for ``classes_[1]``.
        """
        feature_part, learnt_part = self._parts(X)
        return self._shaped(feature_part + learnt_part)

    def predict(self, X: Any) -> Any:
        """Return the labels.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,)
            The class with the largest function value.
        """
        scores = self.decision_function(X)
        return self.classes_[winner(scores.reshape(len(scores), -1))]

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if values.shape[1] == 1 else values


class Classification(OneVersusAll):
    """One whose `_fit` takes the targets ±1 of all classes at once."""

    def fit(self: C, X: Any, y: Any, sample_weight: Any = None) -> C:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (m, d)
            Training points, or the kernel matrix for a precomputed kernel.
        y : array-like of shape (m,)
            Labels, of any type.
        sample_weight : array-like of shape (m,), default=None
            Weights in the mean loss: weight 2 is the row twice, weight 0 no row.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit_labels(X, y, sample_weight)

    def _fit_labels(self: C, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> C:
        with self._timed_fit(), recorded() as messages:
            self._check_parameters()
            require_labels(y)
            checked, labels = self._validate(X, y)
            weights = class_weighted(self.class_weight, labels, sample_weights(sample_weight, checked))
            self.classes_, targets = encode(labels, weights)
            samples = self._samples(checked, X, labels, targets, weights)
            self._fit(with_groups(samples, groups, len(labels)))
            self.fit_warnings_ = messages
        return self

    def _score_left_out(self, y: Any, predictions: FloatArray, weights: FloatArray | None) -> float:
        right = winner(predictions) == np.unique(y, return_inverse=True)[1]
        return float(np.average(right, weights=weights))
