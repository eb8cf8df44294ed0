"""Topics of counts: probabilistic latent semantic analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from .._models.progress import Stages
from .._solvers import topics
from .._solvers.results import FoldedIn, Topics
from .._validation import FloatArray, all_or_nothing, choice, integer, real, with_unlabelled
from .._versions import Versioned
from .._warnings import warn
from ._names import column_names

# The mixture of one document is a concave problem of few unknowns: this many steps solve it to any tolerance
# that makes sense, and their number need not be a parameter.
_FOLD_IN_STEPS = 10_000


class PLSA(TransformerMixin, Versioned, BaseEstimator):
    r"""Topics of documents as features: probabilistic latent semantic analysis.

    .. math:: P(w \mid d) = \sum_z P(z \mid d) \, P(w \mid z)

    The topics P(w | z) that make the counts of words w in documents d likeliest are found by expectation
    maximisation, which is non-negative matrix factorisation under the Kullback-Leibler divergence. The
    features of a document are its mixture P(z | d): the topics are kept and the mixture is fitted to its
    words ("folding in"), to training documents and new ones alike, so that ``fit_transform(X)`` is
    ``fit(X).transform(X)``. No labels are used.

    Parameters
    ----------
    n_topics : int, default=10
        Number of topics, K.
    init : "random" or array-like of shape (n_topics, n_words), default="random"
        The topics to start from; zeros among them stay zero.
    n_init : int, default=1
        Random starts; the one with the largest likelihood is kept.
    unlabelled : {array-like, sparse matrix} of shape (p, n_words) or None, default=None
        More documents for the topics, such as those without labels inside an estimator: topics need many
        documents, and no labels.
    max_iter : int, default=500
        Updates of the topics at most; `ConvergenceWarning` where they do not suffice.
    tol : float, default=1e-4
        The fit ends when an update raises the log-likelihood per word (in nats) by no more than this; a
        mixture is taken when it is at most a tenth of this below the best one.
    random_state : int, RandomState instance or None, default=None
        For the random starts.
    verbose : bool or int, default=False
        Whether to print the progress; a number n: every n-th update.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        P(word | topic); rows sum to one.
    topic_weights_ : ndarray of shape (n_topics,)
        P(topic): the share of the words of all training documents. The mixture of a document starts here; one
        without any word that the topics know (an empty one) stays here.
    log_likelihood_path_ : ndarray of shape (n + 1,)
        Log-likelihood of the training counts after each update of the topics; it never falls.
    n_iter_ : int
        Updates of the topics.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_words,)
        Their names, when X was a DataFrame.

    See Also
    --------
    sklearn.decomposition.NMF : With ``beta_loss="kullback-leibler"`` the same factors up to their scale.
    sklearn.decomposition.LatentDirichletAllocation : The same with a Dirichlet prior on the mixtures.

    Notes
    -----
    An update costs about 8K operations for each count that is not zero, in parallel over documents and over
    words; the result does not depend on the number of threads. Dense input is turned into sparse rows.
    Weights that are not whole numbers, such as tf-idf, are taken as they are.

    The mixtures sum to one, and so the constant is in the span of the features: an estimator with
    ``features=PLSA(10)`` has an unpenalised constant already, and one beside all topics would depend on them.
    To see the constant by itself, leave out a topic: ``make_pipeline(PLSA(10), Columns(list(range(9))))``.

    Examples
    --------
    Words 0 and 1 go together, and so do words 2 and 3:

    >>> from grls.features import PLSA
    >>> X = [[4, 6, 0, 0], [2, 3, 0, 0], [0, 0, 5, 5], [2, 3, 3, 3]]
    >>> plsa = PLSA(n_topics=2, tol=1e-8, random_state=0).fit(X)
    >>> order = plsa.components_[:, 0].argsort()
    >>> plsa.components_[order].round(2)
    array([[0. , 0. , 0.5, 0.5],
           [0.4, 0.6, 0. , 0. ]])
    >>> plsa.transform([[0, 3, 0, 1]]).round(2)[:, order]
    array([[0.25, 0.75]])
    """

    def __init__(
        self,
        n_topics: int = 10,
        *,
        init: Any = "random",
        n_init: int = 1,
        unlabelled: Any = None,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_topics = n_topics
        self.init = init
        self.n_init = n_init
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None) -> PLSA:
        """Find the topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts, not negative.
        y : None
            Not used.

        Returns
        -------
        PLSA
            The fitted transformer.
        """
        with all_or_nothing(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        n_topics = integer(self.n_topics, "PLSA.n_topics", minimum=1)
        n_init = integer(self.n_init, "PLSA.n_init", minimum=1)
        max_iter = integer(self.max_iter, "PLSA.max_iter", minimum=1)
        tol = real(self.tol, "PLSA.tol", minimum=0)
        every = integer(int(self.verbose), "PLSA.verbose", minimum=0)
        stages = Stages(every)
        counts = with_unlabelled(self._counts(X, reset=True), self.unlabelled, "PLSA.unlabelled")
        check_non_negative(counts, "PLSA.unlabelled")
        total = counts.sum()
        if total == 0:
            raise ValueError("PLSA needs at least one count that is not zero: all documents are empty")
        starts = self._starts(n_topics, n_init, counts)

        best: Topics | None = None
        for number, start in enumerate(starts):
            report = _Progress(stages, every, n_init, number, total) if every else None
            found = topics.fit_topics(counts, start, max_iterations=max_iter, tolerance=tol, report=report)
            if best is None or found.log_likelihood[-1] > best.log_likelihood[-1]:
                best = found
        assert best is not None
        path = np.asarray(best.log_likelihood)
        if not best.converged:
            gain = (path[-1] - path[-2]) / total
            warn(
                f"PLSA did not converge in max_iter={max_iter} updates: the last one raised the "
                f"log-likelihood per word by {gain:.2g}, more than tol={tol:g}; raise max_iter or tol",
                ConvergenceWarning,
            )
        self.components_ = np.ascontiguousarray(best.topics)
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        self.topic_weights_: FloatArray = best.mixtures @ lengths / total
        self.log_likelihood_path_ = path
        self.n_iter_ = len(path) - 1

    def transform(self, X: Any) -> FloatArray:
        """Return the mixtures of topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts; words that had no count in any training document are not seen.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            P(topic | document); rows sum to one.
        """
        check_is_fitted(self)
        return np.ascontiguousarray(self._fold_in(X).mixtures.T)

    def perplexity(self, X: Any) -> float:
        """Return exp(−log-likelihood per word) with the mixtures fitted to the documents themselves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts; words that had no count in any training document are left out.

        Returns
        -------
        float
            Among how many equally likely words the model hesitates on average; smaller is better.
        """
        check_is_fitted(self)
        folded = self._fold_in(X)
        known = folded.known_counts.sum()
        if known == 0:
            raise ValueError("the perplexity needs at least one word that the topics know")
        return float(np.exp(-folded.log_likelihood.sum() / known))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``topic0``, ``topic1`` and so on."""
        check_is_fitted(self)
        column_names(self, input_features)
        return np.array([f"topic{z}" for z in range(len(self.components_))], dtype=object)

    def _counts(self, X: Any, *, reset: bool) -> sparse.csr_array:
        """Return checked counts as sparse rows."""
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        check_non_negative(checked, "PLSA (counts)")
        return sparse.csr_array(checked)

    def _starts(self, n_topics: int, n_init: int, counts: Any) -> list[FloatArray]:
        n_words = counts.shape[1]
        if not isinstance(self.init, str):
            start = check_array(self.init, dtype=np.float64, input_name="PLSA.init")
            check_non_negative(start, "PLSA.init")
            if start.shape != (n_topics, n_words) or not np.all(start.sum(axis=1) > 0):
                raise ValueError(
                    f"PLSA.init must have shape ({n_topics}, {n_words}) and no row of zeros, "
                    f"got shape {start.shape}"
                )
            used = np.asarray(counts.sum(axis=0)).ravel() > 0
            if np.any(start[:, used].sum(axis=0) == 0):
                raise ValueError("PLSA.init gives no topic to some word that occurs in X")
            return [start / start.sum(axis=1, keepdims=True)]
        choice(self.init, "PLSA.init (unless it is an array)", ("random",))
        random = check_random_state(self.random_state)
        starts = [random.uniform(size=(n_topics, n_words)) + 1e-3 for _ in range(n_init)]
        return [start / start.sum(axis=1, keepdims=True) for start in starts]

    def _fold_in(self, X: Any) -> FoldedIn:
        return topics.fold_in(
            self._counts(X, reset=False),
            self.components_,
            self.topic_weights_,
            max_iterations=_FOLD_IN_STEPS,
            tolerance=self.tol / 10,
        )


class _Progress:
    """Tells every so many updates where a fit stands."""

    def __init__(self, stages: Stages, every: int, n_init: int, number: int, total: float) -> None:
        self._stages = stages
        self._every = every
        self._total = total
        self._name = "PLSA" if n_init == 1 else f"PLSA start {number + 1} of {n_init}"

    def __call__(self, iteration: int, log_likelihood: float) -> None:
        if iteration % self._every == 0:
            per_word = log_likelihood / self._total
            self._stages.report(f"{self._name}: update {iteration}, log-likelihood per word {per_word:.6f}")
