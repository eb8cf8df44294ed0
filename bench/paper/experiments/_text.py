"""Text as the papers prepare it, and the classifiers they compare on it.

A document is a bag of the 2,000 words with the highest mutual information with the class, each word's count
scaled linearly into [-1, 1], beside ten topics found by pLSA. The papers do not say which documents choose
the words and find the topics; `prepare` knows both readings.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from grls import GRLSClassifier, SVMGBClassifier, core
from grls.core import dependence_tolerance, independent_columns
from grls.datasets import MutualInformationWords, load_20newsgroups, load_sectors, load_webkb, word_counter
from grls.exceptions import DependentFeaturesWarning, NotPositiveDefiniteError
from grls.features import PLSA, Columns
from grls.kernels import Linear
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import SVC

NEWSGROUPS = ("comp", "rec", "sci", "talk")
DATASETS = ("7-sectors", "4-universities", *NEWSGROUPS)
SIZES = (100, 200, 400, 800, 1600, 3200)
FILES = {
    "7-sectors": "sectors.jsonl.xz",
    "4-universities": "webkb.jsonl.xz",
    **dict.fromkeys(NEWSGROUPS, "20newsgroups_orig19997.jsonl.xz"),
}
PRINTED, PRINTED_FIRST = "G-RLSC printed, QR pivots", "G-RLSC printed, first pivots"
FOLDS = 5
COSTS = {"words": np.logspace(-4, 1, 6), "topics": np.logspace(-2, 3, 6)}  # C of support vector machines


@dataclass(frozen=True)
class Corpus:
    """Counts (n, vocabulary) of all words of all documents, and the classes."""

    counts: Any
    y: Any


@lru_cache(maxsize=1)
def _postings() -> Any:
    return load_20newsgroups(version="original")


@lru_cache(maxsize=len(DATASETS))
def corpus(name: str) -> Corpus:
    """Return a data set by the papers' name; the groups of the newsgroups by the first part of theirs."""
    if name in NEWSGROUPS:
        bunch = _postings()
        mine = [k for k, group in enumerate(bunch.target_names) if group.startswith(f"{name}.")]
        rows = np.flatnonzero(np.isin(bunch.target, mine))
        texts, y = [bunch.data[i] for i in rows], bunch.target[rows]
    else:
        bunch = {"7-sectors": load_sectors, "4-universities": load_webkb}[name]()
        texts, y = bunch.data, bunch.target
    return Corpus(word_counter().fit_transform(texts).tocsr(), np.unique(y, return_inverse=True)[1])


@dataclass(frozen=True)
class Prepared:
    """A split of a corpus with its documents as numbers.

    Attributes
    ----------
    words : ndarray of shape (n, n_words)
        Scaled counts.
    tfidf : ndarray of shape (n, n_words)
        The same words weighted as practice does today, rows of length one.
    topics : ndarray of shape (n, n_topics)
        Mixtures of topics.
    y : ndarray of shape (n,)
        Classes.
    train, test : ndarray
        Positions of documents.
    """

    words: Any
    tfidf: Any
    topics: Any
    y: Any
    train: Any
    test: Any

    def joined(self, inputs: str) -> Any:
        """Return inputs (one of the attributes) and topics side by side."""
        return np.hstack([getattr(self, inputs), self.topics])


@lru_cache(maxsize=1)
def _represented(name: str, fitted_on: Any, n_words: int, n_topics: int, seed: int) -> tuple[Any, Any, Any]:
    """Return words, tfidf and topics; `fitted_on` are positions as bytes, or None for all documents."""
    data = corpus(name)
    rows = np.arange(len(data.y)) if fitted_on is None else np.frombuffer(fitted_on, dtype=np.intp)
    known = data.counts[
        :, np.flatnonzero(np.diff(data.counts[rows].tocsc().indptr))
    ]  # words that occur there
    counts = MutualInformationWords(n_words).fit(known[rows], data.y[rows]).transform(known).tocsr()
    largest = np.maximum(counts[rows].max(axis=0).toarray().ravel(), 1.0)
    scaled = 2.0 * counts.toarray() / largest - 1.0
    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts[rows]).transform(counts).toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # topics that are not quite the likeliest will do
        topics = PLSA(n_topics, random_state=seed).fit(counts[rows]).transform(counts)
    return scaled, tfidf, topics


def prepare(
    name: str, size: int, run: int, seed: int, *, transductive: bool, n_words: int, n_topics: int
) -> Prepared:
    """Return `size` documents to train with, classes in proportion, and the others to test.

    transductive: all documents choose the words (by their classes!), scale the counts and find the topics;
    else only those of the training set do.
    """
    y = corpus(name).y
    random = 1000 * seed + run
    train, test = next(StratifiedShuffleSplit(1, train_size=size, random_state=random).split(y, y))
    train = np.sort(train).astype(np.intp)
    words, tfidf, topics = _represented(
        name, None if transductive else train.tobytes(), n_words, n_topics, random
    )
    return Prepared(words, tfidf, topics, y, train, test)


def objective(model: GRLSClassifier, X: Any, y: Any) -> float:
    """Return what G-RLS minimises, eq. (2): mean squared loss + γ cᵀΦc, summed over the classes."""
    known, learnt = (np.asarray(part).reshape(len(y), -1) for part in model.decompose(X))
    targets = 2.0 * (y[:, None] == model.classes_) - 1.0
    if known.shape[1] == 1:
        targets = targets[:, 1:]
    loss = ((targets - known - learnt) ** 2).sum() / len(y)
    return float(loss + model.regularization_ * np.sum(model.dual_coef_ * learnt))


# Classifiers: a function of the prepared data that returns what a row of the table holds.


def _scored(model: Any, X: Any, data: Prepared, **more: Any) -> dict[str, Any]:
    return {"accuracy": float(np.mean(model.predict(X[data.test]) == data.y[data.test])), **more}


def _grls(n_inputs: int, n_topics: int, **options: Any) -> GRLSClassifier:
    topics = Columns(list(range(n_inputs, n_inputs + n_topics)), constant=False)
    options = {"regularization": "loo", **options}
    return GRLSClassifier(Linear().on(list(range(n_inputs))), features=topics, **options)


def rlsc(inputs: str) -> Callable[[Prepared], dict[str, Any]]:
    """Regularised least squares without features; γ by exact leave-one-out."""

    def method(data: Prepared) -> dict[str, Any]:
        X = getattr(data, inputs)
        model = GRLSClassifier(Linear(), features=None, regularization="loo").fit(
            X[data.train], data.y[data.train]
        )
        return _scored(model, X, data, parameter=model.regularization_)

    return method


def grlsc(inputs: str, **options: Any) -> Callable[[Prepared], dict[str, Any]]:
    """G-RLSC, the exact minimiser, with the topics free; γ by exact leave-one-out."""

    def method(data: Prepared) -> dict[str, Any]:
        X = data.joined(inputs)
        model = _grls(getattr(data, inputs).shape[1], data.topics.shape[1], **options)
        model.fit(X[data.train], data.y[data.train])
        variance = model.feature_variance_
        return _scored(model, X, data, parameter=model.regularization_, feature_variance=variance)

    return method


def _printed_hits(gram: Any, T: Any, targets: Any, fold: Any, held: Any, gammas: Any, pivots: str) -> Any:
    """Return how many held documents eqs. (26)-(28) get right at each γ, from one decomposition of H.

    Positions are those of gram (m, m), T (m, l), targets (m, k). NaN where H + γmI is not positive definite.
    """
    free = T[:, independent_columns(T[fold], dependence_tolerance(np.float64))]
    _, chosen = core.phi_prime(free[fold], pivots)
    H, E = core.assemble(gram[np.ix_(fold, fold)], free[fold], pivots)
    K = core.ConstructedKernel(lambda a, b: gram[np.ix_(a, b)], lambda a: free[a], fold[chosen])
    rest = np.delete(fold, chosen)
    eigenvalues, V = linalg.eigh(H, driver="evd")
    lambda_tilde = targets[fold[chosen]]
    right = V.T @ (targets[rest] - E.T @ lambda_tilde)
    known, images = K.phi_prime(held) @ lambda_tilde, K.H(held, rest) @ V
    hits = []
    for shift in np.asarray(gammas) * len(fold):
        f = known + images @ (right / (eigenvalues + shift)[:, None])
        definite = eigenvalues[0] + shift > 1e-14 * eigenvalues[-1]
        hits.append(np.mean(_winner(f) == _winner(targets[held])) if definite else np.nan)
    return np.array(hits)


def _winner(values: Any) -> Any:
    return values.argmax(axis=1) if values.shape[1] > 1 else values[:, 0] > 0


def _printed_gamma(data: Prepared, rows: Any, gammas: Any, pivots: str) -> float:
    """Return the γ with the best accuracy in cross-validation, without folds whose pivots are singular."""
    X, y = data.words[rows], data.y[rows]
    gram, T = X @ X.T, data.topics[rows]
    targets = 2.0 * (y[:, None] == np.unique(y)) - 1.0
    targets = targets[:, 1:] if targets.shape[1] == 2 else targets
    scores = []
    for fold, held in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y):
        with contextlib.suppress(ValueError):  # the first documents are no pivots
            scores.append(_printed_hits(gram, T, targets, fold, held, gammas, pivots))
    if not scores:
        raise ValueError("the first documents are singular in every fold")
    mean = np.mean(scores, axis=0)  # NaN where any fold fails
    return float(gammas[np.nanargmax(mean)] if np.isfinite(mean).any() else np.max(gammas))


def grlsc_published(pivots: str) -> Callable[[Prepared], dict[str, Any]]:
    """G-RLSC as printed; γ by cross-validation, for leave-one-out in closed form is the minimiser's.

    The values of γ are those that leave-one-out tries for the minimiser, the folds those of the SVMs. The
    paper's x₁ … x_ℓ are the first of documents in random order here. A fit that fails has no accuracy.
    """

    def method(data: Prepared) -> dict[str, Any]:
        X, y = data.joined("words"), data.y
        rows = np.random.default_rng(len(data.train)).permutation(data.train)
        n_inputs, n_topics = data.words.shape[1], data.topics.shape[1]
        spread = _grls(n_inputs, n_topics).fit(X[rows], y[rows]).regularization_path_
        try:
            gamma = _printed_gamma(data, rows, spread, pivots)
            model = _grls(n_inputs, n_topics, regularization=gamma, formulation="published", pivots=pivots)
            model.fit(X[rows], y[rows])
        except (NotPositiveDefiniteError, ValueError) as error:
            reason = "not definite" if isinstance(error, NotPositiveDefiniteError) else "singular"
            return {"accuracy": None, "failed": reason, "tried": len(spread)}
        exact = _grls(n_inputs, n_topics, regularization=gamma).fit(X[rows], y[rows])
        return _scored(
            model,
            X,
            data,
            parameter=gamma,
            tried=len(spread),
            objective=objective(model, X[rows], y[rows]),
            least_objective=objective(exact, X[rows], y[rows]),
        )

    return method


def svm(inputs: str) -> Callable[[Prepared], dict[str, Any]]:
    """Support vectors with a linear kernel, one against one; C by cross-validation.

    The largest C are bounded: beyond them cross-validation does not change, and LIBSVM takes for ever.
    """

    def method(data: Prepared) -> dict[str, Any]:
        X, y, train = getattr(data, inputs), data.y, data.train
        search = GridSearchCV(
            SVC(kernel="precomputed", max_iter=1_000_000),
            {"C": COSTS[inputs]},
            cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0),
        ).fit(X[train] @ X[train].T, y[train])
        right = search.predict(X[data.test] @ X[train].T) == y[data.test]
        return {"accuracy": float(np.mean(right)), "parameter": search.best_params_["C"]}

    return method


def svm_gb(data: Prepared) -> dict[str, Any]:
    """SVM-GB with a linear kernel on words and the topics free, one against one; C by cross-validation."""
    X, y, train = data.joined("words"), data.y, data.train
    n_inputs, n_all = data.words.shape[1], X.shape[1]
    words, topics = list(range(n_inputs)), list(range(n_inputs, n_all))
    model = SVMGBClassifier(Linear().on(words), features=Columns(topics, constant=False), C=1.0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(model, {"C": COSTS["words"]}, cv=folds).fit(X[train], y[train])
    return _scored(search, X, data, parameter=search.best_params_["C"])


METHODS: dict[str, Callable[[Prepared], dict[str, Any]]] = {
    "RLSC words": rlsc("words"),
    "RLSC pLSA": rlsc("topics"),
    "SVM words": svm("words"),
    "SVM pLSA": svm("topics"),
    "SVM-GB": svm_gb,
    "G-RLSC": grlsc("words"),
    PRINTED: grlsc_published("qr"),
    PRINTED_FIRST: grlsc_published("first"),
    "G-RLSC auto": grlsc("words", feature_variance="auto"),
    "RLSC tf-idf": rlsc("tfidf"),
    "G-RLSC tf-idf": grlsc("tfidf"),
    "G-RLSC auto tf-idf": grlsc("tfidf", feature_variance="auto"),
}


def fill(run: Any, methods: list[str], *, transductive: bool) -> None:
    """Compute the cells of all data sets, sizes, runs and methods; one run of everything before the next.

    ``run.fewer_runs`` are pairs of a size and of how many runs it gets instead of ``run.runs``, for a first
    look. With ``fewer_runs=[]``, the default, the same command goes on until every cell has them all.
    """
    fewer = dict(run.fewer_runs)
    cells = [
        (name, size, repetition)
        for repetition in range(run.runs)
        for name in run.datasets
        for size in run.sizes
        if repetition < fewer.get(size, run.runs)
    ]
    for name, size, repetition in run.progress(cells, "data set, size and run"):

        @lru_cache(maxsize=1)
        def data(name: str = name, size: int = size, repetition: int = repetition) -> Prepared:
            return prepare(
                name,
                size,
                repetition,
                run.seed,
                transductive=transductive,
                n_words=run.n_words,
                n_topics=run.n_topics,
            )

        for method in methods:
            run.cell(
                lambda method=method, data=data: _timed(METHODS[method], data()),
                dataset=name,
                size=size,
                run=repetition,
                method=method,
            )


def _timed(method: Callable[[Prepared], dict[str, Any]], data: Prepared) -> dict[str, Any]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependentFeaturesWarning)  # few documents may lack a topic
        warnings.filterwarnings("ignore", "The least populated class")  # or a class, in a fold
        warnings.simplefilter("ignore", ConvergenceWarning)
        row = method(data)
    return {**row, "seconds": round(time.perf_counter() - start, 2)}
