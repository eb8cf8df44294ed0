"""What ``grls demo`` runs: a curve and a set of digits, learnt with and without predefined features."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from .._validation import FloatArray
from ..features import PolynomialTrend
from ..kernels import Gaussian
from ..least_squares import GRLSClassifier, GRLSRegressor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "CurveFit",
    "DigitsScore",
    "OutputError",
    "curve",
    "digits",
    "draw",
    "run",
]

DEFAULT_OUTPUT = Path("grls-demo.png")
_FORMATS = (".png", ".pdf", ".svg")

GRLS = "G-RLS"
PUBLISHED = "G-RLS as published"
RIDGE = "kernel ridge"
SUPPORT_VECTORS = "SVC"
CONSTANT, COMPONENTS, ANSWERS = "constant", "PCA, 10 components", "linear model's answer"
CHOSEN = "chosen by cross-validation"


class OutputError(Exception):
    """The picture cannot be written where it was asked for."""


# Peers, told their parameters as grls is: `sigma` of the Gaussian kernel, `regularization` of the mean loss.


class _KernelRidge(RegressorMixin, BaseEstimator):
    """Kernel ridge regression of scikit-learn: no features, not even an intercept."""

    def __init__(self, sigma: float = 1.0, regularization: float = 1e-3) -> None:
        self.sigma = sigma
        self.regularization = regularization

    def fit(self, X: Any, y: Any) -> _KernelRidge:
        self.model_ = KernelRidge(
            alpha=self.regularization * len(X), kernel="rbf", gamma=1 / (2 * self.sigma**2)
        ).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


class _KernelRidgeClassifier(ClassifierMixin, BaseEstimator):
    """The same on targets ±1, one versus all; the largest value wins."""

    def __init__(self, sigma: float = 1.0, regularization: float = 1e-3) -> None:
        self.sigma = sigma
        self.regularization = regularization

    def fit(self, X: Any, y: Any) -> _KernelRidgeClassifier:
        binarizer = LabelBinarizer(neg_label=-1).fit(y)
        self.classes_ = binarizer.classes_
        self.model_ = _KernelRidge(self.sigma, self.regularization).fit(X, binarizer.transform(y))
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[self.model_.predict(X).argmax(axis=1)]


class _SupportVectors(ClassifierMixin, BaseEstimator):
    """scikit-learn's support vector machine, with C = 1 / (2 γ m)."""

    def __init__(self, sigma: float = 1.0, regularization: float = 1e-3) -> None:
        self.sigma = sigma
        self.regularization = regularization

    def fit(self, X: Any, y: Any) -> _SupportVectors:
        self.model_ = SVC(
            C=1 / (2 * self.regularization * len(X)), kernel="rbf", gamma=1 / (2 * self.sigma**2)
        ).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


class _Answers(TransformerMixin, BaseEstimator):
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

    def fit(self, X: Any, y: Any) -> _Answers:
        self.classifier_ = clone(self.classifier).fit(X, y)
        return self

    def transform(self, X: Any) -> Any:
        return self.classifier_.decision_function(X)

    def fit_transform(self, X: Any, y: Any) -> Any:
        self.fit(X, y)
        return cross_val_predict(self.classifier, X, y, cv=self.cv, method="decision_function")


def _search(model: Any, sigmas: Iterable[float], gammas: Iterable[float], cv: Any, scoring: str) -> Any:
    """Return a fitted-to-be grid search over the kernel's width and γ, the same for every model."""
    width = "kernel__sigma" if hasattr(model, "kernel") else "sigma"
    grid = {width: list(map(float, sigmas)), "regularization": list(map(float, gammas))}
    return GridSearchCV(model, grid, cv=cv, scoring=scoring)


def _chosen_sigma(search: Any) -> float:
    best = search.best_params_
    return float(best.get("sigma", best.get("kernel__sigma")))


# The curve: figure 1 of the paper.

DOMAIN = (0.0, 10.0)
MARGIN = 1.0
NOISE = 0.5
WIDTHS = ("too small", "by CV", "too large")


@dataclass(frozen=True)
class CurveFit:
    """One curve fitted to the noisy points.

    Attributes
    ----------
    width : str
        How sigma was set, one of `WIDTHS`.
    method : str
        Name of the method.
    sigma, regularization : float
        Kernel width, and the γ that cross-validation chose for it.
    inside, outside : float
        Root mean square error against the true function on [0, 10], and on the unit intervals either side.
    model : estimator
        The fitted model.
    """

    width: str
    method: str
    sigma: float
    regularization: float
    inside: float
    outside: float
    model: Any


def truth(x: FloatArray) -> FloatArray:
    """Return the true curve, abs(5 - x)."""
    return np.abs(5 - x)


def noisy_points(seed: int, n_points: int = 60) -> tuple[FloatArray, FloatArray]:
    """Return x of shape (n, 1), spread uniformly over the domain, and noisy y."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(*DOMAIN, n_points))[:, None]
    return x, truth(x[:, 0]) + rng.normal(0, NOISE, n_points)


def _error(model: Any, x: FloatArray) -> float:
    return float(np.sqrt(np.mean((model.predict(x[:, None]) - truth(x)) ** 2)))


def curve(seed: int = 0, quick: bool = False) -> list[CurveFit]:
    """Fit abs(5 - x) as the paper's figure 1 does: three widths, γ by cross-validation for each.

    Parameters
    ----------
    seed : int, default=0
        Of the points and of the folds.
    quick : bool, default=False
        Every second value of γ only.

    Returns
    -------
    list of CurveFit
        G-RLS and kernel ridge for each width, then the published formulation with its own best width.
    """
    x, y = noisy_points(seed)
    low, high = DOMAIN
    sigmas = dict(zip(WIDTHS, ([0.1], [0.25, 0.5, 1.0, 2.0, 4.0], [10.0]), strict=True))
    gammas = np.logspace(-10, 0, 6 if quick else 11)
    cv = KFold(5, shuffle=True, random_state=seed)
    inside = np.linspace(low, high, 501)
    outside = np.concatenate([np.linspace(low - MARGIN, low, 51), np.linspace(high, high + MARGIN, 51)])
    free = GRLSRegressor(Gaussian(1.0), features="quadratic")
    trials = [
        (width, method, model)
        for width in WIDTHS
        for method, model in ((GRLS, free), (RIDGE, _KernelRidge()))
    ]
    trials.append(("by CV", PUBLISHED, clone(free).set_params(formulation="published")))

    fits = []
    for width, method, model in trials:
        search = _search(model, sigmas[width], gammas, cv, "neg_mean_squared_error").fit(x, y)
        best = search.best_estimator_
        fits.append(
            CurveFit(
                width,
                method,
                _chosen_sigma(search),
                float(search.best_params_["regularization"]),
                _error(best, inside),
                _error(best, outside),
                best,
            )
        )
    return fits


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _medians(draws: Sequence[Sequence[CurveFit]]) -> list[tuple[float, float]]:
    """Return the median errors inside and outside of each row of the table, over the draws."""
    errors = np.median([[(fit.inside, fit.outside) for fit in fits] for fits in draws], axis=0)
    return [(float(inside), float(outside)) for inside, outside in errors]


def _curve_verdicts(draws: Sequence[Sequence[CurveFit]]) -> list[str]:
    """Say how much depends on the width, and which method is better outside the data."""
    lines = []
    medians = list(zip(draws[0], _medians(draws), strict=True))
    for method in (GRLS, RIDGE):
        mine = [errors for fit, errors in medians if fit.method == method]
        inside, outside = (f"{min(e):.2f} to {max(e):.2f}" for e in zip(*mine, strict=True))
        lines.append(f"{method:<12} over the three widths: error inside {inside}, outside {outside}")
    for width in WIDTHS:
        pairs = [
            [f.outside for f in fits if f.width == width and f.method in (GRLS, RIDGE)] for fits in draws
        ]
        wins = sum(free < plain for free, plain in pairs)
        lines.append(
            f"sigma {width}: G-RLS is the better one outside in {wins} of {_count(len(pairs), 'draw')}"
        )
    return lines


# The digits.


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
    answers = _Answers(RidgeClassifierCV(np.logspace(-2, 2, 5)))
    return {
        (RIDGE, "none"): _KernelRidgeClassifier(),
        (SUPPORT_VECTORS, CONSTANT): _SupportVectors(),
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
        search = _search(model, [median / 2, median], np.logspace(-8, -2, 4), cv, "accuracy")
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


# Tables.


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], n_left: int) -> str:
    """Return aligned lines; the first `n_left` columns are words, the others numbers."""
    widths = [max(len(row[j]) for row in [header, *rows]) for j in range(len(header))]
    lines = [
        "  "
        + "  ".join(
            f"{v:<{w}}" if j < n_left else f"{v:>{w}}"
            for j, (v, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, ["-" * w for w in widths], *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def curve_table(draws: Sequence[Sequence[CurveFit]]) -> str:
    """Return the table of the curves: the first draw, and medians over all of them."""
    header = ["width", "method", "sigma", "regularization", "inside", "outside"]
    rows = [
        [f.width, f.method, f"{f.sigma:g}", f"{f.regularization:.0e}", f"{f.inside:.3f}", f"{f.outside:.3f}"]
        for f in draws[0]
    ]
    if len(draws) > 1:
        header += ["inside, median", "outside, median"]
        rows = [
            [*row, *(f"{error:.3f}" for error in errors)]
            for row, errors in zip(rows, _medians(draws), strict=True)
        ]
    return _table(header, rows, 2)


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
    return _table(["method", "features", "labels", "accuracy, %", "fit, ms"], rows, 2)


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
    return _table(["labels", *sets], rows, 0)


def _digits_verdict(scores: Sequence[DigitsScore]) -> str:
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


# The picture. Okabe and Ito's colours, which readers with any colour vision can tell apart.

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#595959"
_FONT, _SMALL = 11.0, 9.5


def _figure() -> Figure | None:
    """Return an empty figure, or None when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  (the name a half-removed installation lacks)
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure(figsize=(11, 8), dpi=160, layout="constrained", facecolor="white")


def _dress(axes: Axes, letter: str, title: str, xlabel: str, ylabel: str) -> None:
    axes.set_title(f"({letter})  {title}", fontsize=_FONT + 1, loc="left")
    axes.set_xlabel(xlabel, fontsize=_FONT)
    axes.set_ylabel(ylabel, fontsize=_FONT)
    axes.tick_params(labelsize=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_points(axes: Axes, x: FloatArray, y: FloatArray, grid: FloatArray) -> None:
    low, high = DOMAIN
    for left, right in ((low - MARGIN, low), (high, high + MARGIN)):
        axes.axvspan(left, right, color="#EEEEEE", lw=0, zorder=0)
    axes.plot(grid, truth(grid), color="black", lw=1.2, ls=(0, (4, 2)), label="truth |5 − x|", zorder=2)
    axes.plot(x[:, 0], y, "o", ms=4, mfc="white", mec=GREY, mew=0.9, label="data", zorder=1)
    axes.set_xlim(low - MARGIN, high + MARGIN)


def _draw_curves(axes: Axes, fits: Sequence[CurveFit], method: str, grid: FloatArray) -> None:
    looks = zip(WIDTHS, (ORANGE, BLUE, GREEN), (1.4, 2.4, 1.8), ("-", "-", "-."), strict=True)
    for width, colour, thickness, dashes in looks:
        fit = next(f for f in fits if f.method == method and f.width == width)
        axes.plot(
            grid,
            fit.model.predict(grid[:, None]),
            color=colour,
            lw=thickness,
            ls=dashes,
            label=f"σ = {fit.sigma:g}, {width}",
            zorder=4 if width == "by CV" else 3,
        )


def _draw_parts(axes: Axes, fit: CurveFit, grid: FloatArray) -> None:
    known, learnt = fit.model.decompose(grid[:, None])
    axes.axhline(0, color="#BBBBBB", lw=0.8, zorder=0.5)
    axes.plot(grid, known, color=PURPLE, lw=2, ls="-.", label="features, free")
    axes.plot(grid, learnt, color=ORANGE, lw=2, ls="--", label="kernel, penalised")
    axes.plot(grid, known + learnt, color=BLUE, lw=2.4, label="sum: the prediction")


def _draw_digits(axes: Axes, scores: Sequence[DigitsScore]) -> None:
    looks = {
        (RIDGE, "none"): (GREY, "v", ":", "kernel ridge"),
        (SUPPORT_VECTORS, CONSTANT): (ORANGE, "D", "--", "SVC"),
        (GRLS, CONSTANT): (BLUE, "o", "-", "G-RLS, constant"),
        (GRLS, COMPONENTS): (PURPLE, "^", "-.", "G-RLS, PCA"),
        (GRLS, ANSWERS): (GREEN, "s", "-", "G-RLS, linear model's answer"),
    }
    for shift, ((method, features), (colour, marker, dashes, label)) in enumerate(looks.items(), start=-2):
        mine = [s for s in scores if (s.method, s.features) == (method, features)]
        axes.errorbar(
            [s.n_labels * 1.045**shift for s in mine],  # side by side, so that the bars can be told apart
            [s.mean for s in mine],
            yerr=[s.spread for s in mine],
            color=colour,
            marker=marker,
            ms=5.5,
            ls=dashes,
            lw=1.4,
            elinewidth=1,
            label=label,
        )
    sizes = sorted({s.n_labels for s in scores})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_yscale("logit")  # from 98 to 99 % is as far as from 50 to 67 %: the errors halve
    ends = [100 * (s.mean + side * s.spread) for s in scores for side in (-1, 1)]
    marks = np.array([1, 20, 50, 60, 70, 80, 85, 90, 95, 98, 99, 99.5, 99.9])
    first, last = np.searchsorted(marks, [min(ends), max(ends)])
    ticks = marks[max(first - 1, 0) : last + 1]
    axes.set_yticks([tick / 100 for tick in ticks], [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="y", color="#DDDDDD", lw=0.7)


def draw(figure: Figure, seed: int, fits: Sequence[CurveFit], scores: Sequence[DigitsScore]) -> None:
    """Draw the four panels.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure.
    seed : int
        That of `fits`, for their points.
    fits : sequence of CurveFit
        See `curve`.
    scores : sequence of DigitsScore
        See `digits`.
    """
    x, y = noisy_points(seed)
    grid = np.linspace(DOMAIN[0] - MARGIN, DOMAIN[1] + MARGIN, 601)
    (with_features, plain), (parts, accuracy) = figure.subplots(2, 2)
    for axes, method, letter, title in (
        (with_features, GRLS, "a", "G-RLS with free features 1, x, x²"),
        (plain, RIDGE, "b", "Kernel ridge, no features"),
    ):
        _draw_curves(axes, fits, method, grid)
        _draw_points(axes, x, y, grid)
        _dress(axes, letter, title, "x (shaded: outside the data)", "y")
        axes.set_ylim(-1.2, 9.2)
        axes.legend(fontsize=_SMALL, frameon=False, loc="upper center", ncols=2)
    _draw_parts(parts, next(f for f in fits if f.method == GRLS and f.width == "by CV"), grid)
    _draw_points(parts, x, y, grid)
    _dress(parts, "c", "G-RLS taken apart (σ by CV)", "x (shaded: outside the data)", "y")
    parts.margins(y=0.2)
    parts.legend(fontsize=_SMALL, frameon=False, loc="upper center", ncols=2)
    _draw_digits(accuracy, scores)
    _dress(accuracy, "d", "Handwritten digits", "training labels", "test accuracy, %")
    accuracy.legend(fontsize=_SMALL, frameon=False, loc="upper left")


# The whole.


def _require_writable(output: Path) -> None:
    """Raise OutputError unless a picture can be written to `output`; leaves no trace."""
    if output.suffix.lower() not in _FORMATS:
        raise OutputError(f"{output}: the name must end in {', '.join(_FORMATS)}")
    try:
        target = output.resolve()  # so that a link to a file that is not there yet survives
        existed = target.exists()
        target.open("ab").close()
        if not existed:
            target.unlink()
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror or error}") from error


def _say(line: str = "") -> None:
    print(line, flush=True)


def _show_curve(seed: int, quick: bool) -> list[CurveFit]:
    n_draws = 1 if quick else 5
    _say("1. A curve (figure 1 of the G-RLS paper): 60 noisy points of y = |5 - x|, Gaussian kernel")
    _say("   G-RLS has the free features 1, x, x^2 and lets the kernel learn the rest; kernel ridge has none")
    _say(f"   fitting {_count(n_draws, 'random draw')}, regularization by cross-validation ...")
    draws = [curve(seed + i, quick) for i in range(n_draws)]
    _say()
    _say(curve_table(draws))
    _say()
    _say("   Root mean square errors against the true function, inside [0, 10] and just outside, in [-1, 0]")
    _say(
        "   and [10, 11]" + (f"; of the first draw, and medians of {n_draws} draws." if n_draws > 1 else ".")
    )
    for line in _curve_verdicts(draws):
        _say(f"   - {line}")
    _say()
    return draws[0]


def _show_digits(seed: int, quick: bool) -> list[DigitsScore]:
    _say("2. Handwritten digits: few and many labels, the rest of the 1797 digits for the test")
    _say("   width, regularization and features are chosen by cross-validation on the training labels ...")
    scores, chosen = digits(seed, quick, _say)
    _say()
    _say(digits_table(scores))
    _say()
    _say(
        "   Mean and standard deviation over the splits. Times are of one fit with the chosen parameters, on"
    )
    _say("   one thread, making the features included. Cross-validation chose these features:")
    _say("   " + "; ".join(f"{features}: {_count(n, 'time')}" for features, n in chosen.most_common()) + ".")
    _say("   Points of accuracy that features add to G-RLS with the constant alone, and standard errors:")
    _say()
    _say(gains_table(scores))
    _say()
    _say(f"   {_digits_verdict(scores)}")
    _say()
    return scores


def run(output: Path | None = None, *, seed: int = 0, quick: bool = False) -> int:
    """Run the demonstration: print two tables, write a picture.

    Parameters
    ----------
    output : Path, default=None
        The picture; None is ``grls-demo.png``.
    seed : int, default=0
        Of all random draws.
    quick : bool, default=False
        A few seconds instead of half a minute, with fewer draws and coarser grids.

    Returns
    -------
    int
        0; 1 when a picture was asked for by name and matplotlib is missing.
    """
    path = DEFAULT_OUTPUT if output is None else output
    figure = _figure()
    if figure is not None:
        _require_writable(path)
    else:
        _say("No picture without matplotlib: install it with  pip install 'grls[plot]'\n")
    # At these sizes more threads cost time, much of it on a busy machine; checks of known data cost some too.
    with threadpool_limits(1), config_context(assume_finite=True, skip_parameter_validation=True):
        fits = _show_curve(seed, quick)
        scores = _show_digits(seed, quick)
    if figure is None:
        print("grls demo: no picture was drawn: pip install 'grls[plot]'", file=sys.stderr)
        return 0 if output is None else 1
    _say("3. The picture ...")
    draw(figure, seed, fits, scores)
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    _say(f"   written to {path}")
    return 0
