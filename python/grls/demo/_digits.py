"""Handwritten digits, read with few and with many labels."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline

from ..features import PolynomialTrend
from ..kernels import Gaussian
from ..least_squares import GRLSClassifier
from ._methods import GRLS, RIDGE, SUPPORT_VECTORS, RidgeClassifierPeer, SupportVectorPeer, grid_search
from ._tables import table

CONSTANT, COMPONENTS, ANSWERS = "constant", "PCA, 10 components", "linear model's answer"
CHOSEN = "chosen by cross-validation"


class Answers(TransformerMixin, BaseEstimator):
    """Decision values of a simpler classifier as features, out of fold on the training rows.

    A classifier is surer on rows it was fitted to than on new ones, and free features would believe it.

    Parameters
    ----------
    classifier : classifier
        Cloned and fitted with X and y; it has ``decision_function``.
    cv : int, default=3
        Folds for the training rows.
    """

    def __init__(self, classifier: Any, cv: int = 3) -> None:
        self.classifier = classifier
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Answers:
        self.classifier_ = clone(self.classifier).fit(X, y)
        return self

    def transform(self, X: Any) -> Any:
        return self.classifier_.decision_function(X)

    def fit_transform(self, X: Any, y: Any) -> Any:
        self.fit(X, y)
        return cross_val_predict(self.classifier, X, y, cv=self.cv, method="decision_function")


@dataclass(frozen=True)
class DigitsScore:
    """How one method did with one number of labels.

    Attributes
    ----------
    n_labels : int
        Training samples.
    method, features : str
        What was fitted.
    accuracy : tuple of float
        Share of test digits read correctly, one value per random split.
    seconds : float
        Mean time of one fit with the chosen parameters.
    """

    n_labels: int
    method: str
    features: str
    accuracy: tuple[float, ...]
    seconds: float

    @property
    def mean(self) -> float:
        """Mean accuracy."""
        return float(np.mean(self.accuracy))

    @property
    def spread(self) -> float:
        """Standard deviation over the splits."""
        return float(np.std(self.accuracy, ddof=1))


def _digit_models() -> dict[tuple[str, str], Any]:
    """Return the methods by name and features; the feature sets were fixed before any was tried."""
    components = make_pipeline(PCA(10, svd_solver="full"), PolynomialTrend(1))
    answers = Answers(RidgeClassifierCV(np.logspace(-2, 2, 5)))
    return {
        (RIDGE, "none"): RidgeClassifierPeer(),
        (SUPPORT_VECTORS, CONSTANT): SupportVectorPeer(),
        (GRLS, CONSTANT): GRLSClassifier(Gaussian(1.0), features="constant"),
        (GRLS, COMPONENTS): GRLSClassifier(Gaussian(1.0), features=components),
        (GRLS, ANSWERS): GRLSClassifier(Gaussian(1.0), features=answers),
    }


@dataclass(frozen=True)
class _Trial:
    """One method on one split."""

    features: str
    cross_validation: float
    accuracy: float
    seconds: float


def _digit_trials(X: Any, y: Any, n_labels: int, seed: int, n_folds: int) -> dict[tuple[str, str], _Trial]:
    """Fit every method to one random choice of labels; everything is chosen on these labels alone."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_labels, stratify=y, random_state=seed
    )
    median = Gaussian().resolve(X_train).sigma
    cv = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    trials = {}
    for key, model in _digit_models().items():
        search = grid_search(model, [median / 2, median], np.logspace(-8, -2, 4), cv, "accuracy")
        search.fit(X_train, y_train)
        trials[key] = _Trial(
            key[1], float(search.best_score_), float(search.score(X_test, y_test)), float(search.refit_time_)
        )
    free = [trial for (method, _), trial in trials.items() if method == GRLS]
    trials[GRLS, CHOSEN] = max(free, key=lambda trial: trial.cross_validation)  # the simplest one of equals
    return trials


def digits(
    seed: int = 0, quick: bool = False, progress: Callable[[str], None] = print
) -> tuple[list[DigitsScore], Counter[str]]:
    """Read handwritten digits with few and with many labels.

    Width and γ come from the same grid for every method, by cross-validation on the training labels; the last
    method lets it choose the features, too.

    Parameters
    ----------
    seed : int, default=0
        Of the random splits.
    quick : bool, default=False
        Fewer splits and numbers of labels.
    progress : callable, default=print
        Told what is being done.

    Returns
    -------
    scores : list of DigitsScore
        By number of labels, then by method.
    chosen : Counter of str
        How often cross-validation chose each set of features.
    """
    X, y = load_digits(return_X_y=True)
    X = X / 16
    splits_of = {50: 2, 200: 2} if quick else {50: 5, 100: 5, 400: 3, 1000: 3}
    scores: list[DigitsScore] = []
    chosen: Counter[str] = Counter()
    for n_labels, n_splits in splits_of.items():
        start = time.perf_counter()
        splits = [_digit_trials(X, y, n_labels, seed + i, 3) for i in range(n_splits)]
        progress(f"  {n_labels:>4} labels, {n_splits} random splits: {time.perf_counter() - start:.1f} s")
        for method, features in splits[0]:
            trials = [split[method, features] for split in splits]
            accuracy = tuple(trial.accuracy for trial in trials)
            seconds = float(np.mean([trial.seconds for trial in trials]))
            scores.append(DigitsScore(n_labels, method, features, accuracy, seconds))
        chosen.update(split[GRLS, CHOSEN].features for split in splits)
    return scores, chosen


def digits_table(scores: Sequence[DigitsScore]) -> str:
    """Return the table of the digits."""
    rows = [
        [
            s.method,
            s.features,
            str(s.n_labels),
            f"{100 * s.mean:.2f} +- {100 * s.spread:.2f}",
            f"{1000 * s.seconds:.1f}",
        ]
        for s in scores
    ]
    return table(["method", "features", "labels", "accuracy, %", "fit, ms"], rows, 2)


def _gains(scores: Sequence[DigitsScore], n_labels: int, features: str) -> tuple[float, float]:
    """Return the points that features add to the constant alone, paired by split, and the standard error."""
    mine = {s.features: s.accuracy for s in scores if s.n_labels == n_labels and s.method == GRLS}
    gains = 100 * np.subtract(mine[features], mine[CONSTANT])
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def gains_table(scores: Sequence[DigitsScore]) -> str:
    """Return the table of what features add to the accuracy of the constant alone."""
    sets = (COMPONENTS, ANSWERS, CHOSEN)
    rows = []
    for n_labels in dict.fromkeys(s.n_labels for s in scores):
        gains = [_gains(scores, n_labels, features) for features in sets]
        rows.append([str(n_labels), *(f"{mean:+.2f} +- {error:.2f}" for mean, error in gains)])
    return table(["labels", *sets], rows, 0)


def digits_verdict(scores: Sequence[DigitsScore]) -> str:
    """Say in a sentence whether features that cross-validation chose are worth having here."""
    sizes = list(dict.fromkeys(s.n_labels for s in scores))
    if min(len(s.accuracy) for s in scores) < 3:
        return "Two splits are too few to say whether the features help: run without --quick."
    gains = {n: _gains(scores, n, CHOSEN) for n in sizes}
    helped = [str(n) for n, (mean, error) in gains.items() if mean > 2 * error]
    harmed = [str(n) for n, (mean, error) in gains.items() if mean < -2 * error]
    if not helped and not harmed:
        return "Chosen features make no clear difference here: this kernel needs no help with these digits."
    parts = [f"help with {' and '.join(helped)} labels"] if helped else []
    parts += [f"harm with {' and '.join(harmed)} labels"] if harmed else []
    return f"Chosen features {', '.join(parts)}; elsewhere there is no clear difference."
