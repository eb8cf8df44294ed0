"""Probabilistic latent semantic analysis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._validation import FloatArray
from .arrays import for_core
from .results import FoldedIn, Topics
from .runtime import get_num_threads

Report = Callable[[int, float], None]  # update, log-likelihood


def fit_topics(
    counts: Any, topics: FloatArray, *, max_iterations: int, tolerance: float, report: Report | None
) -> Topics:
    """Return the topics of documents, from a start (topics, words)."""
    return _core.plsa(
        documents=for_core(counts),
        words=for_core(counts.T.tocsr()),
        topics=topics,
        max_iterations=max_iterations,
        tolerance=tolerance,
        report=report,
        threads=get_num_threads(),
    )


def fold_in(
    counts: Any, topics: FloatArray, start: FloatArray, *, max_iterations: int, tolerance: float
) -> FoldedIn:
    """Return the mixtures of given topics in new documents."""
    return _core.plsa_fold_in(
        documents=for_core(counts),
        topics=topics,
        start=start,
        max_iterations=max_iterations,
        tolerance=tolerance,
        threads=get_num_threads(),
    )
