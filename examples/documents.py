"""The papers' text model from raw documents: tf-idf for the kernel, topics of word counts as free features.

The topics need no labels: they come from all documents at hand, of which few are labelled. Run it as it is on
documents drawn from a topic model, or on four newsgroups about recreation, where the data of `grls.datasets`
are at hand (GRLS_DATA=FOLDER):

    python examples/documents.py [--newsgroups] [--train 100]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from grls import GRLSClassifier
from grls.datasets import load_20newsgroups
from grls.features import PLSA
from grls.kernels import Cosine
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

WORDS = {"stop_words": "english", "min_df": 2}


def text_model(n_topics: int, unlabelled: Sequence[str]) -> GRLSClassifier:
    """Return the model; `unlabelled` documents show the topics beside those that it will be fitted to."""
    counts = CountVectorizer(max_features=5000, **WORDS).fit(unlabelled)
    plsa = PLSA(n_topics, unlabelled=counts.transform(unlabelled), random_state=0)
    return GRLSClassifier(
        Cosine().after(TfidfVectorizer(sublinear_tf=True, **WORDS)),  # fitted inside fit
        features=make_pipeline(FrozenEstimator(counts), plsa),  # the words are those of all documents
    )


def drawn_documents(n_documents: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return documents of four classes; each mixes words of its class with those of all."""
    rng = np.random.default_rng(seed)
    names = ["autos", "motorcycles", "baseball", "hockey"]
    words = {name: [f"{name}{i}" for i in range(300)] for name in names}
    common = [f"word{i}" for i in range(300)]
    labels = [names[i] for i in rng.integers(len(names), size=n_documents)]
    documents = [" ".join([*rng.choice(words[label], 12), *rng.choice(common, 20)]) for label in labels]
    return documents, labels


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit with and without topics, and print the shares of new documents that are classified right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--newsgroups", action="store_true", help="real documents, from GRLS_DATA")
    parser.add_argument("--train", type=int, default=100, help="training documents")
    options = parser.parse_args(arguments)
    if options.newsgroups:
        groups = ["rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey"]
        news = load_20newsgroups(groups=groups)
        documents, labels = list(news.data), list(news.target)
    else:
        documents, labels = drawn_documents(options.train + 800)
    train, others, y_train, y_others = train_test_split(
        documents, labels, train_size=options.train, random_state=0, stratify=labels
    )
    with_topics = text_model(10 if options.newsgroups else 4, others)
    without = clone(with_topics).set_params(features="constant")
    for name, model in (("tf-idf alone", without), ("tf-idf and free topics", with_topics)):
        right = model.fit(train, y_train).score(others, y_others)
        words = len(model.kernel_.transformer.vocabulary_)
        print(f"{name}: {right:.1%} of {len(others)} documents right, from {len(train)} with {words} words")


if __name__ == "__main__":
    main()
