"""Predictions of rows by the model without them, in closed form: single rows, folds, groups."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from .._selection.merged import merge
from .._solvers import memory
from .._solvers.groups import Groups, dependent_without, encoded
from .._validation import FloatArray
from .._warnings import filtered
from .fitted import FittedProblem
from .samples import FreeFeatures, require_rows_alone


@dataclass(frozen=True)
class LeftOutRows:
    """Rows as the model without them sees them: one entry for each time that a row was left out.

    Where every row is left out once, as by k folds, the entries are in the order of the training rows, so
    that they stand beside the targets of the fit; otherwise fold by fold. Rows of weight zero are no rows.
    """

    rows: NDArray[np.intp]  # (n,): which row of the fit; `as_given` says which of those given
    fold: NDArray[np.intp]  # (n,): with which fold it was left out
    values: FloatArray  # (n, k): of the model function there
    targets: FloatArray  # (n, k)
    variances: FloatArray | None  # (n, k): of an observation there; None: the model has none


@dataclass(frozen=True)
class CrossValidation:
    """What `GRLSRegressor.cross_validate` returns.

    Every array has an entry for each time that a row was left out. Where every row is left out once, as by k
    folds, these are in the order of the training rows; otherwise fold by fold. Rows of weight zero are never
    left out: the targets beside the entries are ``y[rows]``.

    Attributes
    ----------
    rows, fold : ndarrays of shape (n,)
        The training row, a position among those given to `fit`, and the fold with which it was left out.
    predictions, residuals : ndarrays of shape (n,) or (n, k)
        By the model without the fold, and what they miss the targets by.
    std : ndarray of shape (n,) or (n, k)
        Standard deviation of an observation there, noise included.
    z : ndarray of shape (n,) or (n, k)
        The residuals in units of it: about standard normal where the model is right.
    log_score : ndarray of shape (n,) or (n, k)
        Logarithm of the normal density of the observation; larger is better.
    """

    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    predictions: FloatArray
    residuals: FloatArray
    std: FloatArray
    z: FloatArray
    log_score: FloatArray

    @property
    def n_folds(self) -> int:
        """How many folds there are."""
        return int(self.fold.max()) + 1

    @property
    def rmse(self) -> FloatArray:
        """Root mean squared error of each fold, (folds,) or (folds, k)."""
        return np.sqrt(self._of_each_fold(self.residuals**2))

    @property
    def mean_log_score(self) -> FloatArray:
        """Mean logarithmic score of each fold, (folds,) or (folds, k)."""
        return self._of_each_fold(self.log_score)

    def _of_each_fold(self, values: FloatArray) -> FloatArray:
        return np.array([values[self.fold == f].mean(axis=0) for f in range(self.n_folds)])

    def __repr__(self) -> str:
        error, score = np.sqrt(np.mean(self.residuals**2)), np.mean(self.log_score)
        return (
            f"CrossValidation({self.n_folds} folds, {len(self.rows)} rows left out, RMSE {error:.4g}, "
            f"mean log score {score:.4g})"
        )


@dataclass(frozen=True)
class ClassifierCrossValidation:
    """What `GRLSClassifier.cross_validate` returns.

    Every array has an entry for each time that a row was left out. Where every row is left out once, as by k
    folds, these are in the order of the training rows; otherwise fold by fold. Rows of weight zero are never
    left out: the targets beside the entries are ``y[rows]``.

    Attributes
    ----------
    rows, fold : ndarrays of shape (n,)
        The training row, a position among those given to `fit`, and the fold with which it was left out.
    decision : ndarray of shape (n,) or (n, n_classes)
        Decision values of the model without the fold.
    predictions : ndarray of shape (n,)
        The labels that these name.
    right : ndarray of shape (n,)
        Whether that is the row's own.
    """

    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    decision: FloatArray
    predictions: Any
    right: NDArray[np.bool_]

    @property
    def n_folds(self) -> int:
        """How many folds there are."""
        return int(self.fold.max()) + 1

    @property
    def accuracy(self) -> FloatArray:
        """Share of right labels in each fold, (folds,)."""
        return np.array([self.right[self.fold == f].mean() for f in range(self.n_folds)])

    def __repr__(self) -> str:
        return (
            f"ClassifierCrossValidation({self.n_folds} folds, {len(self.rows)} rows left out, accuracy "
            f"{self.right.mean():.4g})"
        )


def leave_out(model: Any, cv: Any, groups: Any, y: Any) -> LeftOutRows:
    """Leave rows out of a fitted model of least squares; `y` are its labels where it is a classifier."""
    check_is_fitted(model)
    if model.formulation != "exact":
        raise ValueError('cross_validate needs formulation="exact"')
    require_rows_alone(FreeFeatures(model.features_, model.feature_names_free_), "rows")
    fitted = FittedProblem.of(model)
    if np.any(fitted.gammas <= 0):
        raise ValueError("cross_validate needs a positive regularization")
    variances = getattr(model, "kernel_variance_", None)
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f'cv must be "loo", a number of folds, a splitter or splits, got {cv!r}')
        if groups is not None:
            raise ValueError(
                'cv="loo" leaves out single rows: with groups give a number of folds, or '
                "sklearn.model_selection.LeaveOneGroupOut()"
            )
        return _one_by_one(fitted, variances)
    tests, trains = _splits(model, fitted, cv, groups, y)
    return _by_groups(model, fitted, tests, trains, variances)


def as_given(model: Any, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where rows of the fit were among those given."""
    return rows if model._rows_fit is None else np.asarray(model._rows_fit[rows], dtype=np.intp)


def _splits(
    model: Any, fitted: FittedProblem, cv: Any, groups: Any, y: Any
) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
    """Return the rows of the fit that each fold tests, and those that it trains with."""
    m = len(fitted.targets)
    labels = model._labels_fit
    if groups is not None:
        counts_only = model._rows_fit is None or len(groups) == m
        labels = encoded(groups, m if counts_only else model._n_given_fit)[0]
        labels = labels if counts_only else labels[model._rows_fit]
    splitter = splitter_of(cv, fitted.targets[:, 0] if y is None else y, labels, stratified=y is not None)
    place = np.arange(m)
    is_listed = not (cv is None or isinstance(cv, int | np.integer) or hasattr(cv, "split"))
    if is_listed and model._rows_fit is not None:
        # Positions are those of the rows as given; a splitter sees the rows that count.
        place = np.full(model._n_given_fit, -1)
        place[model._rows_fit] = np.arange(m)
    tests: list[NDArray[np.intp]] = []
    trains: list[NDArray[np.intp]] = []
    # Groups of the fit are a default, which a splitter need not take; of those given here it says so.
    with filtered(UserWarning) if groups is None else nullcontext():
        splits = list(splitter.split(np.zeros((m, 1)), y, labels))
    for train, test in splits:
        trains.append(_positions(train, place, len(trains)))
        tests.append(_positions(test, place, len(tests)))
    if not tests:
        raise ValueError("cv has no folds: give at least one split into rows to train with and rows to test")
    return tests, trains


def splitter_of(cv: Any, y: Any, labels: Any, *, stratified: bool) -> Any:
    """Return the splitter of folds; a number of them, where rows have groups, keeps these together."""
    if labels is None or not (cv is None or isinstance(cv, int | np.integer)):
        return check_cv(cv, y, classifier=stratified)
    n_folds = min(check_cv(cv).get_n_splits(), len(np.unique(labels)))
    if n_folds < 2:
        raise ValueError("folds of groups need at least two groups, and all rows are in the same")
    return StratifiedGroupKFold(n_folds) if stratified else GroupKFold(n_folds)


def _positions(rows: Any, place: NDArray[np.intp], fold: int) -> NDArray[np.intp]:
    """Return the rows of a fold, given as positions or as a mask, by their `place` in the fit; −1: none."""
    given, n = np.asarray(rows), len(place)
    if given.dtype == bool and given.shape == (n,):
        given = np.flatnonzero(given)
    elif given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        raise ValueError(f"fold {fold} of cv must hold positions of rows, got {given!r}")
    elif given.min() < 0 or given.max() >= n:
        wrong = int(given.min() if given.min() < 0 else given.max())
        raise ValueError(f"fold {fold} of cv names row {wrong}, but the model was fitted to {n} rows")
    found = place[given]
    found = found[found >= 0]
    if len(found) == 0 and len(given):
        raise ValueError(
            f"fold {fold} of cv names only rows whose sample_weight is zero: leave out that fold, or give it "
            "other rows"
        )
    return np.asarray(found, dtype=np.intp)


def _by_groups(
    model: Any,
    fitted: FittedProblem,
    tests: list[NDArray[np.intp]],
    trains: list[NDArray[np.intp]],
    kernel_variances: FloatArray | None,
) -> LeftOutRows:
    problem, m = fitted.problem, len(fitted.targets)
    for number, (test, train) in enumerate(zip(tests, trains, strict=True)):
        if len(np.intersect1d(test, train)):
            raise ValueError(f"fold {number} tests rows that it trains with")
    # A fold leaves out all that it does not train with, tested or not.
    left_out = [np.setdiff1d(np.arange(m), train).astype(np.intp) for train in trains]
    groups = Groups.of(left_out)
    found = dependent_without(problem.T, problem.weights, groups)
    if found is not None:
        names = model.feature_names_free_
        about = f" (such as {names[found[1]]})" if len(names) == problem.T.shape[1] else ""
        raise ValueError(
            f"without fold {found[0]} the features{about} are dependent: nothing tells their coefficients in "
            "the rows that are left; use fewer folds, shuffled or stratified ones, or other groups"
        )
    total, k = len(groups.rows), fitted.targets.shape[1]
    residuals, units = np.empty((total, k)), np.empty((total, k))
    weights = problem.weights_or_ones
    _require_memory(m, k, groups.largest)
    for gamma in np.unique(fitted.gammas):
        mine = np.flatnonzero(fitted.gammas == gamma)
        shift = float(gamma * problem.total_weight)
        # The rows as they are: a fold may part those at the same point.
        reduced = problem.reduced(np.ascontiguousarray(fitted.targets[:, mine]), leave_one_out=True)
        path = reduced.at(np.array([shift]))
        e, v = reduced.leave_out(shift, groups, path.c[0])
        w = weights[groups.rows, None]
        residuals[:, mine] = e / np.sqrt(w)
        # The noise of a row as an observation, which may count for several.
        noise = shift * fitted.noise[groups.rows, None]
        units[:, mine] = v[:, None] / w - shift / w + noise
    fold = np.repeat(np.arange(len(groups)), np.diff(groups.starts))
    tested = np.concatenate([np.isin(rows, test) for rows, test in zip(left_out, tests, strict=True)])
    rows, fold = groups.rows[tested], fold[tested]
    order = np.argsort(rows, kind="stable") if len(np.unique(rows)) == len(rows) else np.arange(len(rows))
    rows, fold = rows[order], fold[order]
    values = fitted.targets[rows] - residuals[tested][order]
    variances = None if kernel_variances is None else units[tested][order] * kernel_variances
    return LeftOutRows(rows, fold, values, fitted.targets[rows], variances)


def _one_by_one(fitted: FittedProblem, kernel_variances: FloatArray | None) -> LeftOutRows:
    """Leave out single observations: a point whose rows agree, or one of those at it that differ."""
    targets, k = fitted.targets, fitted.targets.shape[1]
    merged = merge(fitted.problem, targets, fitted.counts)
    _require_memory(len(merged.targets), k, 1)
    residuals, units = np.empty_like(targets), np.empty_like(targets)
    for gamma in np.unique(fitted.gammas):
        mine = np.flatnonzero(fitted.gammas == gamma)
        shift = float(gamma * merged.total_weight)
        means = np.ascontiguousarray(merged.targets[:, mine])
        path = merged.problem.path(means, np.array([shift]), relative=False, leave_one_out=True)
        e, share = merged.left_out_residuals(path.c[0], path.diagonal[0], shift, merged.deviations[:, mine])
        noise, copy = shift * merged.counts / merged.weights, np.minimum(1.0, merged.counts)
        # Of a copy that counts for less than a row the noise of a whole row, as everywhere.
        each = merged.observation
        residuals[:, mine] = e[each] + merged.agreeing[:, mine]
        units[:, mine] = (noise / (copy * share) - noise / copy + noise)[each, None]
    rows = np.arange(len(targets), dtype=np.intp)
    variances = None if kernel_variances is None else units * kernel_variances
    return LeftOutRows(rows, rows, targets - residuals, targets, variances)


def _require_memory(m: int, n_outputs: int, largest: int) -> None:
    size = memory.path_bytes(m, n_outputs, 1, leave_one_out=True) + memory.leave_out_bytes(m, largest)
    memory.require(size, f"cross_validate on {m} samples", "fit fewer samples, or use more folds")
