"""What an SVM-GB leaves to rows held out in folds: C, the features' variance, and probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_is_fitted

from .._out_of_fold import values_out_of_fold
from .._selection.folds import drawn
from .._selection.held_out import Lines, Setting, Trial, gains, search
from .._solvers.groups import Labels
from .._validation import FloatArray
from .._warnings import warn
from ..kernels import Gaussian, Kernel
from .calibration import calibrated
from .chosen_width import ChosenWidth
from .classification import available_where, row_counts
from .cross_validation import splitter_of
from .machines_in_folds import Machines
from .pairs_of_classes import scores_of
from .progress import Stages
from .samples import Samples

_FEWEST_ROWS, _SHARE = 1000, 3  # rows of a search: all up to so many, then one in so many
_REFITS = 5  # folds that are held out for probabilities alone
_WIDTHS = 2.0 ** np.arange(-2, 3)  # of a kernel, times that which least squares found best


@dataclass(frozen=True)
class HeldOutChoice:
    """The setting that was chosen, those that were tried, and what it says of rows held out."""

    setting: Setting
    tried: list[Trial]
    values: FloatArray  # (m, n_pairs) of the functions; NaN at rows that were not held out
    fold: NDArray[np.intp]  # (m,): likewise −1
    score: float  # their accuracy


def choose(machines: Machines, C: Any, variance: float | str, stages: Stages) -> HeldOutChoice:
    """Choose C, the features' variance and the kernel; each may be given.

    Of many rows some are searched. Where features are of use there, that is asked of all rows again: the
    fewer the rows, the more features are worth. Where they are of none, more rows do not change that.
    """
    n_units = int(machines.together.max()) + 1
    rows = drawn(machines.together, machines.labels, max(_FEWEST_ROWS, n_units // _SHARE))
    some = machines if rows is None else machines.take(rows)
    lines = Lines.of(C, variance, some.spread(), len(machines.kernels))
    if (machines.fold < 0).all():
        return _unheard(machines, lines.first())
    held_out = some.held_out(stages)
    search(held_out, lines)
    tried = list(held_out.trials.values())
    if rows is not None and isinstance(variance, str) and gains(held_out).setting.variance > 0:
        settings, rows = held_out.bests(), None
        some, held_out = machines, machines.held_out(stages)
        for setting in settings:
            held_out(setting)
    best = gains(held_out) if isinstance(variance, str) else held_out.best
    assert best is not None
    values, fold = best.values, some.fold
    if rows is not None:
        values, fold = _spread_out(values, rows, machines, np.nan), _spread_out(fold, rows, machines, -1)
    return HeldOutChoice(best.setting, tried, values, fold, 1 - best.error)


def _unheard(machines: Machines, setting: Setting) -> HeldOutChoice:
    """Return a setting that nothing is held out for, with a warning."""
    warn(
        "no row can be held out, for without it nothing would be left of its class: every class is at one "
        f"point or in one group. Nothing has chosen C={setting.C:g} and feature_variance="
        f"{setting.variance:g}: give both as numbers, or more rows of each class",
        UserWarning,
    )
    values = np.full((len(machines.labels), len(machines.pairs)), np.nan)
    return HeldOutChoice(setting, [], values, machines.fold, np.nan)


def _spread_out(values: NDArray[Any], rows: NDArray[np.intp], machines: Machines, missing: float) -> Any:
    out = np.full((len(machines.labels), *values.shape[1:]), missing, dtype=values.dtype)
    out[rows] = values
    return out


def _require_folds(y: Any, classes: Any) -> None:
    """ValueError where a class has fewer rows than there are folds that hold out some of each."""
    sizes = np.bincount(np.searchsorted(classes, y), minlength=len(classes))
    if sizes.min() < _REFITS:
        label = classes.tolist()[int(sizes.argmin())]
        raise ValueError(
            f"probability=True with a given C holds out rows of every class in {_REFITS} folds, and class "
            f'{label!r} has {sizes.min()}: give more rows of it, or let folds choose C="cv"'
        )


class ChosenInFolds(ChosenWidth):
    """A support vector machine that may hold rows out: parameters `C`, `feature_variance`, `probability`."""

    _weighs_columns = True

    def _widths_to_try(self, kernel: Kernel) -> list[Kernel]:
        """Return the kernel among wider and narrower ones, where its width is chosen with C."""
        if self._chooses_kernel() and self._chooses_C() and isinstance(kernel, Gaussian):
            return [Gaussian(factor * np.asarray(kernel.sigma)) for factor in _WIDTHS]
        return [kernel]

    def _chooses_C(self) -> bool:
        return isinstance(self.C, str) or np.ndim(self.C) > 0

    def _choose(self, machines: Machines) -> tuple[Kernel, HeldOutChoice]:
        """Set `C_` and `feature_variance_` to what rows held out say; return the kernel and the choice."""
        C = self.C if self._chooses_C() else [self.C]
        found = choose(machines, C, self.feature_variance, self._stages)
        self.C_, self.feature_variance_ = found.setting.C, found.setting.variance
        self._stages.done("regularization")
        return machines.kernels[found.setting.kernel], found

    def _store_choice(self, found: HeldOutChoice, rows: Any, n_given: int) -> None:
        """Keep the curve, and the functions at rows held out; `rows`: which of `n_given` these are."""
        tried = sorted(found.tried, key=lambda each: (each.setting.variance, each.setting.C))
        self.C_path_ = np.array([each.setting.C for each in tried])
        self.feature_variance_path_ = np.array([each.setting.variance for each in tried])
        self.criterion_path_ = np.array([each.error for each in tried])
        self.cv_score_ = found.score
        places = np.arange(n_given) if rows is None else rows
        self.cv_predictions_ = np.full((n_given, found.values.shape[1]), np.nan)
        self.cv_predictions_[places] = found.values
        self.cv_predictions_ = self._shaped(self.cv_predictions_)
        self.cv_fold_ = np.full(n_given, -1, dtype=np.intp)
        self.cv_fold_[places] = found.fold

    def _calibrate(self, machines: Machines, found: HeldOutChoice, samples: Samples, own: FloatArray) -> None:
        """Make decision values probabilities, by those of rows held out; `own` (m, n_pairs): the model's.

        Rows that were left to others are held out now; those that cannot be have their own values.
        """
        values = found.values
        if np.isnan(values[machines.fold >= 0]).any():
            values = machines.values(found.setting)
        values = np.where(np.isnan(values), own, values)
        counts = row_counts(self, samples.y, samples.weights)
        self.calibrated_ = calibrated(self._as_scores(values), samples.y, machines.classes, counts)
        self._stages.done("calibration")

    def _as_scores(self, values: FloatArray) -> FloatArray:
        """Return what probabilities are made of, (n, 1) for two classes, else (n, k)."""
        if values.shape[1] == 1:
            return values
        return scores_of(values, self.pairs_, len(self.classes_))

    def _calibrate_by_refits(
        self, X: Any, y: Any, weights: FloatArray | None, counted: NDArray[np.bool_], groups: Labels | None
    ) -> None:
        """Make decision values probabilities, by those of rows held out in five more fits.

        Rows that are not `counted` are none, and their classes may be none; `groups` are of those that are.
        """
        model = clone(self).set_params(probability=False, warm_start=False, decision_function_shape="ovr")
        if isinstance(self.class_weight, Mapping):
            known = {label: cost for label, cost in self.class_weight.items() if label in self.classes_}
            model.set_params(class_weight=known)
        rows = np.flatnonzero(counted)
        if len(rows) < len(y):
            X, y = _safe_split(self, X, y, rows, rows)
            weights = None if weights is None else weights[rows]
        _require_folds(y, self.classes_)
        values = values_out_of_fold(
            model,
            X,
            y,
            self.classes_,
            cv=list(splitter_of(_REFITS, y, groups, stratified=True).split(np.zeros(len(y)), y, groups)),
            method="decision_function",
            sample_weight=weights,
        )
        self.calibrated_ = calibrated(values.reshape(len(y), -1), y, self.classes_, weights)
        self._stages.done("calibration")

    @available_where(lambda self: self.probability, "set probability=True and fit again")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self, "calibrated_")
        scores = self._as_scores(self._pair_values(X))
        probabilities = np.asarray(self.calibrated_.predict_proba(scores))
        if not np.isfinite(probabilities).all():
            raise ValueError(
                "the calibrated probabilities are not finite: the model was changed after the fit"
            )
        return probabilities

    @available_where(lambda self: self.probability, "set probability=True and fit again")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``.
        """
        return np.asarray(np.log(self.predict_proba(X)))
