"""Text: postings and web pages, stripped of what is not text, and words chosen by mutual information."""

from __future__ import annotations

import html
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Bunch
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from .._validation import FloatArray, integer
from . import _sources, _store
from ._bunch import describe, documented, subset_rows
from ._formats import Documents
from ._store import DataSet, Home

__all__ = [
    "MutualInformationWords",
    "bag_of_words",
    "load_20newsgroups",
    "load_sectors",
    "load_webkb",
    "strip_headers",
    "strip_page",
    "word_counter",
]

_BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")
_HEADER_LINES = re.compile(r"(?:[A-Za-z][\w.-]*:.*(?:\n|$)|[ \t]+\S.*(?:\n|$)|HTTP/.*(?:\n|$))*")
_SCRIPT = re.compile(r"<(script|style)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")  # <!WA0> and other marks of the crawler too


def strip_headers(text: str) -> str:
    """Return a posting or a page without its header, which ends at the first blank line.

    Parameters
    ----------
    text : str
        As it was sent. Where no line is blank, the lines that look like those of a header are taken off.

    Returns
    -------
    str
        The body.
    """
    blank = _BLANK_LINE.search(text)
    if blank:
        return text[blank.end() :]
    header = _HEADER_LINES.match(text)
    return text[header.end() :] if header else text


def strip_page(text: str) -> str:
    """Return the text of a web page: without the server's header, scripts, tags, and marks of the crawler.

    Parameters
    ----------
    text : str
        As the server sent it.

    Returns
    -------
    str
        The text, with entities such as ``&amp;`` replaced by their characters.
    """
    return html.unescape(_TAG.sub(" ", _SCRIPT.sub(" ", strip_headers(text))))


@documented
def load_20newsgroups(
    *,
    version: str = "bydate",
    subset: str = "all",
    groups: Sequence[str] | None = None,
    raw: bool = False,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the postings of 20 newsgroups.

    Parameters
    ----------
    version : {"bydate", "original"}, default="bydate"
        18,846 postings without duplicates, of which the earlier 11,314 are to train with; or the 19,997 of
        the papers, with duplicates and no split.
    subset : {"all", "train", "test"}, default="all"
        Which part of ``version="bydate"``.
    groups : sequence of str, default=None
        Names of groups or of what they begin with, such as ``["rec"]``; None takes all.
    raw : bool, default=False
        Whether to leave the headers, which may name the group.
    {common}

    Returns
    -------
    Bunch
        ``data``, a list of texts; ``target``, the group's number; ``target_names``; ``ids``.
    """
    if version not in ("bydate", "original"):
        raise ValueError(f"version must be 'bydate' or 'original'; got {version!r}")
    dataset = _sources.NEWSGROUPS_BYDATE if version == "bydate" else _sources.NEWSGROUPS_ORIGINAL
    if version == "original" and subset != "all":
        raise ValueError("version='original' has no split: it needs subset='all'")
    subset_rows(subset, 0, 0)  # refuses an unknown subset before anything is read
    rows = _store.load_documents(dataset, _newsgroups, data_home, download_if_missing, verbose)
    rows = [row for row in rows if subset in ("all", row.get("split"))]
    if groups is not None:
        rows = _of_groups(rows, groups)
    bunch = _documents_bunch(dataset, rows, None if raw else strip_headers)
    bunch.ids = [row["id"] for row in rows]
    return (bunch.data, bunch.target) if return_X_y else bunch


def _of_groups(rows: Documents, groups: Sequence[str]) -> Documents:
    if isinstance(groups, str):
        raise TypeError(f"groups must be a list of names, got the string {groups!r}")
    known = sorted({row["label"] for row in rows})
    chosen = set()
    for group in groups:
        matching = [name for name in known if name == group or name.startswith(f"{group.rstrip('.*')}.")]
        if not matching:
            raise ValueError(f"there is no group {group!r} among {', '.join(known)}")
        chosen.update(matching)
    return [row for row in rows if row["label"] in chosen]


def _documents_bunch(dataset: DataSet, rows: Documents, strip: Any) -> Bunch:
    names, target = np.unique([row["label"] for row in rows], return_inverse=True)
    texts = [row["text"] if strip is None else strip(row["text"]) for row in rows]
    return Bunch(
        data=texts,
        target=target,
        target_names=names.tolist(),
        DESCR=describe(dataset, f"{len(rows)} documents, {len(names)} classes"),
    )


@documented
def load_webkb(
    *,
    raw: bool = False,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the pages of "4 universities": courses, departments, faculty, projects, staff, students, others.

    Parameters
    ----------
    raw : bool, default=False
        Whether to leave the server's header and the tags.
    {common}

    Returns
    -------
    Bunch
        ``data``, a list of 8,281 texts (8,282 from the original archive); ``target``, the class's number;
        ``target_names``; ``universities``, which the makers of the data want to be held out one by one;
        ``urls``.
    """
    rows = _store.load_documents(_sources.WEBKB, _webkb, data_home, download_if_missing, verbose)
    bunch = _documents_bunch(_sources.WEBKB, rows, None if raw else strip_page)
    bunch.universities = [row["university"] for row in rows]
    bunch.urls = [row["url"] for row in rows]
    return (bunch.data, bunch.target) if return_X_y else bunch


@documented
def load_sectors(
    *,
    raw: bool = False,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the pages of companies in "7 sectors" of the economy.

    Parameters
    ----------
    raw : bool, default=False
        Whether to leave the server's header and the tags.
    {common}

    Returns
    -------
    Bunch
        ``data``, a list of 4,571 texts (4,573 from the original archive); ``target``, the sector's number;
        ``target_names``; ``industries``, the finer classes; ``urls``.
    """
    rows = _store.load_documents(_sources.SECTORS, _sectors, data_home, download_if_missing, verbose)
    bunch = _documents_bunch(_sources.SECTORS, rows, None if raw else strip_page)
    bunch.industries = [row["sub"] for row in rows]
    bunch.urls = [row["url"] for row in rows]
    return (bunch.data, bunch.target) if return_X_y else bunch


def _members(files: dict[str, Path]) -> Iterator[tuple[list[str], str]]:
    """Yield the path of each file in an archive, part by part, and its text byte by byte."""
    (path,) = files.values()
    with tarfile.open(path) as archive:
        for member in archive:
            parts = [part for part in member.name.split("/") if part not in ("", ".")]
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and len(parts) >= 3:
                yield parts, file.read().decode("latin-1")


def _newsgroups(files: dict[str, Path]) -> Documents:
    rows: Documents = []
    for (*_, folder, label, number), text in _members(files):
        row: dict[str, Any] = {"id": number, "label": label}
        if folder.endswith(("-train", "-test")):
            row["split"] = folder.rpartition("-")[2]
        rows.append({**row, "text": text})
    labels = sorted({row["label"] for row in rows})
    for row in rows:
        row["y"] = labels.index(row["label"])
    return sorted(rows, key=lambda row: (row.get("split") == "test", row["label"], int(row["id"])))


def _webkb(files: dict[str, Path]) -> Documents:
    rows = [
        {"label": label, "university": university, "file": name, "url": name.replace("^", "/"), "text": text}
        for (*_, label, university, name), text in _members(files)
    ]
    return sorted(rows, key=lambda row: (row["label"], row["university"], row["file"]))


def _sectors(files: dict[str, Path]) -> Documents:
    rows: Documents = []
    for parts, text in _members(files):  # …/SECTOR.sector/[FINER.sector/]INDUSTRY.industry/PAGE
        outermost = next(i for i, part in enumerate(parts) if part.endswith(".sector"))
        rows.append(
            {
                "label": parts[outermost].removesuffix(".sector"),
                "sub": "/".join(parts[outermost + 1 : -1]),
                "file": parts[-1],
                "url": parts[-1].replace("^", "/").replace("http_", "http:", 1),
                "text": text,
            }
        )
    return sorted(rows, key=lambda row: (row["label"], row["sub"], row["file"]))


def word_counter(stop_words: Any = "english") -> CountVectorizer:
    """Return a transformer from texts to counts of words: runs of two letters or more, in lower case.

    Parameters
    ----------
    stop_words : "english", list of str or None, default="english"
        Words that do not count; the name takes scikit-learn's list. The papers name none; rainbow, the
        program that they used, leaves out a list of its own.

    Returns
    -------
    CountVectorizer
        Not fitted; ``transform`` gives a CSR matrix.
    """
    return CountVectorizer(token_pattern=r"[^\W\d_]{2,}", stop_words=stop_words, dtype=np.float64)


class MutualInformationWords(SelectorMixin, BaseEstimator):
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
        together = np.asarray((present.T.astype(np.float64) @ members).todense())  # (d, classes)
        self.scores_ = _mutual_information(together, np.bincount(position))
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        best = np.argsort(-self.scores_.round(12), kind="stable")[: self.n_words]  # ties: the first columns
        mask = np.zeros(len(self.scores_), dtype=bool)
        mask[best] = True
        return mask


def _mutual_information(together: FloatArray, per_class: NDArray[np.intp]) -> FloatArray:
    """Return I(W; C) from the documents with each word in each class (d, classes) and those of each class."""
    total = per_class.sum()
    score = np.zeros(len(together))
    for counts in (together, per_class - together):
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
