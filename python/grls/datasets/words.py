"""From text to numbers: counts of words, and the words that tell most about the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from .._validation import FloatArray, integer
from .._versions import Versioned

__all__ = ["MutualInformationWords", "bag_of_words", "word_counter"]
__dir__ = __all__.copy


def word_counter(stop_words: Any = "english") -> CountVectorizer:
    """Return a transformer from texts to counts of words: runs of two letters or more, in lower case.

    Parameters
    ----------
    stop_words : "english", list of str or None, default="english"
        Words that are not counted; the name takes scikit-learn's list. The papers name none; rainbow, the
        program that they used, leaves out a list of its own.

    Returns
    -------
    CountVectorizer
        Not fitted; ``transform`` gives a CSR matrix.
    """
    return CountVectorizer(token_pattern=r"[^\W\d_]{2,}", stop_words=stop_words, dtype=np.float64)


class MutualInformationWords(SelectorMixin, Versioned, BaseEstimator):
    r"""Keep the words that tell most about the class.

    .. math:: I(W; C) = \sum_{w \in \{0, 1\}} \sum_c p(w, c) \log \frac{p(w, c)}{p(w) p(c)}

    where w says whether the word is in a document. The probabilities are shares of the documents that are
    given to ``fit``: within a pipeline and in cross-validation those of the training part only. The papers
    seem to have chosen the words on all documents; `bag_of_words` does so.

    Parameters
    ----------
    n_words : int, default=2000
        How many to keep, or all where there are fewer.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        The mutual information in nats.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X was a DataFrame.

    See Also
    --------
    sklearn.feature_selection.SelectKBest : The same with other scores.

    Examples
    --------
    >>> from grls.datasets import MutualInformationWords, word_counter
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["the cat sat", "a cat ran", "the dog sat", "one dog ran"]
    >>> words = make_pipeline(word_counter(), MutualInformationWords(n_words=2)).fit(texts, [0, 0, 1, 1])
    >>> words.get_feature_names_out().tolist()
    ['cat', 'dog']
    """

    def __init__(self, n_words: int = 2000) -> None:
        self.n_words = n_words

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any) -> MutualInformationWords:
        """Compute the mutual information of each column.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Counts of words in documents, not negative.
        y : array-like of shape (n,)
            Classes.

        Returns
        -------
        MutualInformationWords
            The fitted transformer.
        """
        integer(self.n_words, "n_words", minimum=1)
        X, y = validate_data(self, X, y, accept_sparse="csr")
        check_non_negative(X, "MutualInformationWords (counts of words)")
        check_classification_targets(y)
        present = (X > 0) if sparse.issparse(X) else sparse.csr_matrix(X > 0)
        classes, position = np.unique(y, return_inverse=True)
        members = sparse.csr_matrix(
            (np.ones(len(position)), (np.arange(len(position)), position)), shape=(len(y), len(classes))
        )
        joint = np.asarray((present.T.astype(np.float64) @ members).todense())  # (d, classes)
        self.scores_ = _mutual_information(joint, np.bincount(position))
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        best = np.argsort(-self.scores_.round(12), kind="stable")[: self.n_words]  # ties: the first columns
        mask = np.zeros(len(self.scores_), dtype=bool)
        mask[best] = True
        return mask


def _mutual_information(joint: FloatArray, per_class: NDArray[np.intp]) -> FloatArray:
    """Return I(W; C) from the documents with each word in each class (d, classes) and those of each class."""
    total = per_class.sum()
    score = np.zeros(len(joint))
    for counts in (joint, per_class - joint):
        expected = counts.sum(axis=1, keepdims=True) * per_class / total
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = counts / total * np.log(counts / expected)
        score += np.where(counts > 0, terms, 0.0).sum(axis=1)
    return np.maximum(score, 0.0)


def bag_of_words(
    texts: Sequence[str],
    y: Any,
    n_words: int = 2000,
    *,
    train: Any = None,
    stop_words: Any = "english",
) -> tuple[Any, NDArray[Any]]:
    """Return the counts of the words that tell most about the class.

    Parameters
    ----------
    texts : sequence of str
        Documents.
    y : array-like of shape (n,)
        Their classes.
    n_words : int, default=2000
        How many words to keep.
    train : array-like, default=None
        The documents on which to choose words, as positions or a mask; None chooses on all, as the papers do.
        The test documents' classes then take part in the choice.
    stop_words : "english", list of str or None, default="english"
        As in `word_counter`.

    Returns
    -------
    counts : CSR matrix of shape (n, n_words)
        Of all documents.
    words : ndarray of shape (n_words,)
        The words.
    """
    labels = np.asarray(y)
    if len(texts) != len(labels):
        raise ValueError(f"there are {len(texts)} texts, but {len(labels)} classes")
    chosen = np.arange(len(texts)) if train is None else np.arange(len(texts))[train]
    counter = word_counter(stop_words).fit([texts[int(i)] for i in chosen])
    counts = counter.transform(texts)
    selector = MutualInformationWords(n_words).fit(counts[chosen], labels[chosen])
    return selector.transform(counts).tocsr(), counter.get_feature_names_out()[selector.get_support()]
