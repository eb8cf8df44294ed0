"""20 classes on 100,000 and more sparse columns: conjugate gradients against scikit-learn's.

``python -m bench.prior.sparse`` takes 20 newsgroups from the folder ``GRLS_DATA`` (all 18,846 postings as
tf-idf), or an artificial stand-in. The same ridge problem, the same process, repetitions interleaved; beside
the times stands the residual of the normal equations that each answer leaves, for a loose answer is fast.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from grls import PriorRLSClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.preprocessing import LabelBinarizer

from ..peers.machine import facts, provenance
from ..tables import write_csv
from . import news

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def residual(X: Any, Y: Any, alpha: float, W: Any, intercept: Any) -> float:
    """Return the gradient at W (d, k), as a share of that at zero: the worst class."""
    start = X.T @ (Y - Y.mean(axis=0))
    gradient = X.T @ (Y - X @ W - intercept) - alpha * W
    return float((np.linalg.norm(gradient, axis=0) / np.linalg.norm(start, axis=0)).max())


def compare(
    X: Any, labels: Any, alpha: float, tol: float, repeats: int
) -> dict[str, tuple[list[float], float]]:
    """Return the seconds of every repetition and the residual of each of the two."""
    n = X.shape[0]
    Y = LabelBinarizer(neg_label=-1).fit_transform(labels).astype(float)

    def peer() -> tuple[Any, Any]:
        model = RidgeClassifier(alpha=alpha, solver="sparse_cg", tol=tol).fit(X, labels)
        return model.coef_.T, model.intercept_

    def ours() -> tuple[Any, Any]:
        # half the tolerance, so that the residual is no worse
        model = PriorRLSClassifier(regularization=alpha / n, solver="cg", tol=tol / 2).fit(X, labels)
        return model.coef_.T, model.feature_coef_[0]

    entries: dict[str, Callable[[], tuple[Any, Any]]] = {"RidgeClassifier(sparse_cg)": peer, "grls": ours}
    seconds: dict[str, list[float]] = {name: [] for name in entries}
    left: dict[str, float] = {}
    for _ in range(repeats):
        for name, fit in entries.items():
            start = time.perf_counter()
            answer = fit()
            seconds[name].append(time.perf_counter() - start)
            left[name] = residual(X, Y, alpha, *answer)
    return {name: (seconds[name], left[name]) for name in entries}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory; default: bench/results")
    options = parser.parse_args(arguments)
    machine = facts(ROOT)
    postings = news.load()
    if postings is None:
        X, labels = news.artificial()
    else:
        X, labels = TfidfVectorizer(sublinear_tf=True).fit_transform(postings.texts), postings.labels
    source = "artificial rows" if postings is None else "20 newsgroups, tf-idf"
    size = f"{X.shape[0]} rows, {X.shape[1]} columns, {X.nnz} entries, {len(np.unique(labels))} classes"
    rows: list[dict[str, Any]] = []
    for tol in options.tol:
        found = compare(X, labels, options.alpha, tol, options.repeats)
        ours = found["grls"][0]
        for name, (seconds, left) in found.items():
            ratio = float(np.median(np.divide(seconds, ours)))
            rows.append(
                {"tol": tol, "name": name, "seconds": np.median(seconds), "ratio": ratio, "residual": left}
            )
    lines = [
        f"{provenance('python -m bench.prior.sparse', machine)} {source}: {size}; medians of "
        f"{options.repeats} repetitions in turns.",
        "",
        "| tol | | seconds | ÷ grls | residual |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append(
            f"| {row['tol']:g} | {row['name']} | {row['seconds']:.2f} | {row['ratio']:.2f} "
            f"| {row['residual']:.1e} |"
        )
    text = "\n".join([*lines, ""])
    print(text)
    write_csv(options.output / "prior_sparse.csv", rows)
    (options.output / "prior_sparse.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
