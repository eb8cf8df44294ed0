"""How free should features be? Not there, unpenalised, or as free as leave-one-out says ("auto").

A cell is a data set with a number of training rows. Regression: linear features, a Gaussian kernel of the
median width, root mean squared error. Text: ten pLSA topics of all documents (found without labels), a linear
kernel of tf-idf weights, share of wrong labels.
"""

from __future__ import annotations

import lzma
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]

VARIANTS: dict[str, dict[str, Any]] = {
    "none": {"features": None},
    "auto": {"feature_variance": "auto"},
    "unpenalised": {},
}
REGRESSION_SIZES = (50, 200, 800)
TEXT_SIZES = (100, 400, 1600)
N_WORDS, N_TOPICS = 2000, 10
MAX_TEST = 2000  # rows that are predicted

# Fits a variant on some rows and returns the error on others.
Trial = Callable[[Array, Array, dict[str, Any]], float]


@dataclass
class Cell:
    """The errors of the variants, run by run on the same rows."""

    data: str
    n_train: int
    kind: str  # "rmse" or "wrong"
    errors: dict[str, list[float]]

    def mean(self, variant: str) -> float:
        return float(np.mean(self.errors[variant]))

    def standard_error(self, variant: str) -> float:
        values = self.errors[variant]
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")

    @property
    def best(self) -> str:
        """The better one of the two that need no choice."""
        return min(("none", "unpenalised"), key=self.mean)

    @property
    def _unit(self) -> float:
        return self.mean(self.best) if self.kind == "rmse" else 1.0

    @property
    def excess(self) -> float:
        """The error of "auto" beyond the best one's: as a share of that (rmse), or in wrong labels."""
        return (self.mean("auto") - self.mean(self.best)) / self._unit

    @property
    def excess_error(self) -> float:
        """The standard error of the excess, from the differences run by run."""
        apart = np.subtract(self.errors["auto"], self.errors[self.best])
        spread = np.std(apart, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        return float(spread / self._unit)


def _regression_trial(X: Array, y: Array) -> Trial:
    from grls import GRLSRegressor
    from sklearn.preprocessing import StandardScaler

    def trial(train: Array, test: Array, options: dict[str, Any]) -> float:
        scaler = StandardScaler().fit(X[train])
        model = GRLSRegressor("gaussian", **{"features": "linear", "regularization": "loo", **options})
        model.fit(scaler.transform(X[train]), y[train])
        return float(np.sqrt(np.mean((model.predict(scaler.transform(X[test])) - y[test]) ** 2)))

    return trial


def _topics(X: Any) -> Array:
    """Return the columns after the words."""
    return X[:, N_WORDS:].toarray()


def _text_trial(texts: list[str], y: Array, seed: int = 0) -> Trial:
    from grls import GRLSClassifier
    from grls.datasets import word_counter
    from grls.features import PLSA
    from grls.kernels import Linear
    from sklearn.feature_extraction.text import TfidfTransformer

    counter = word_counter().set_params(max_features=N_WORDS)
    counts = counter.fit_transform(texts)
    topics = PLSA(N_TOPICS, random_state=seed).fit_transform(counts)
    missing = sparse.csr_matrix((len(texts), N_WORDS - counts.shape[1]))
    X = sparse.hstack([TfidfTransformer().fit_transform(counts), missing, topics], format="csr")
    words = list(range(N_WORDS))

    def trial(train: Array, test: Array, options: dict[str, Any]) -> float:
        model = GRLSClassifier(
            Linear().on(words), **{"features": _topics, "regularization": "loo", **options}
        )
        return float(np.mean(model.fit(X[train], y[train]).predict(X[test]) != y[test]))

    return trial


def _runs(trial: Trial, n_rows: int, n_train: int, runs: int, seed: int) -> dict[str, list[float]]:
    from grls import ConfoundedFeaturesWarning, DependentFeaturesWarning, ExtrapolationWarning

    errors: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for run in range(runs):
        rows = np.random.default_rng([seed, run, n_train]).permutation(n_rows)
        train, test = rows[:n_train], rows[n_train:][:MAX_TEST]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DependentFeaturesWarning)  # few rows of energy
            warnings.simplefilter("ignore", ConfoundedFeaturesWarning)
            warnings.simplefilter("ignore", ExtrapolationWarning)  # what free features do is what is shown
            for name, options in VARIANTS.items():
                errors[name].append(trial(train, test, options))
    return errors


def cells(data: dict[str, Any], runs: int, seed: int = 0) -> Iterator[Cell]:
    """Yield the cells of each data set: (X, y) for regression, (texts, labels) for text."""
    for name, (X, y) in data.items():
        text = isinstance(X, list)
        trial = _text_trial(X, y) if text else _regression_trial(X, y)
        for n_train in TEXT_SIZES if text else REGRESSION_SIZES:
            if n_train <= 0.8 * len(y):
                errors = _runs(trial, len(y), n_train, runs, seed)
                yield Cell(name, n_train, "wrong" if text else "rmse", errors)


def real() -> dict[str, Any]:
    """Return the data; FileNotFoundError says where they were looked for."""
    from grls import datasets

    def table(name: str) -> tuple[Array, Array]:
        return getattr(datasets, f"load_{name}")(download_if_missing=False, return_X_y=True)

    data = {name: table(name) for name in ("mcycle", "meuse", "ozone", "airfoil", "concrete", "energy")}
    X, zinc = data["meuse"]
    data["meuse"] = np.column_stack([X[:, :2], np.sqrt(X[:, 2])]), np.log(zinc)
    data |= uci()
    rec = datasets.load_20newsgroups(groups=["rec"], download_if_missing=False)
    webkb = datasets.load_webkb(download_if_missing=False)
    return {**data, "20 newsgroups rec.*": (rec.data, rec.target), "webkb": (webkb.data, webkb.target)}


def uci() -> dict[str, tuple[Array, Array]]:
    """Return the tables of the folder regression/uci of GRLS_DATA, columns x1 … xd and y; none without it."""
    folder = Path(os.environ.get("GRLS_DATA", ".")) / "regression" / "uci"
    tables = {}
    for path in sorted(folder.glob("*.csv.xz")):
        with lzma.open(path, "rt") as lines:
            values = np.loadtxt(lines, delimiter=",", skiprows=1)
        tables[path.name.removesuffix(".csv.xz")] = values[:, :-1], values[:, -1]
    return tables


def made_up(seed: int = 0) -> dict[str, Any]:
    """Return data of the same form that need no file, for a quick run."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3))
    words = [["cat", "dog", "hen", "cow"], ["oak", "elm", "ash", "fir"]]
    y = rng.integers(0, 2, 150)
    texts = [" ".join(rng.choice(words[label] + words[0][:1], 6)) for label in y]
    return {"linear": (X, X[:, 0] + 0.1 * rng.standard_normal(80)), "words": (texts, y)}
