"""Topics: the algorithm, what it finds, what it is as a feature."""

import _thread
import pickle
import re
import threading

import numpy as np
import pytest
import reference
from builders import PROGRESS
from grls import GRLSClassifier, GRLSRegressor, _core
from grls.features import PLSA, Columns, PolynomialTrend
from grls.kernels import Linear
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union

unconverged = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def planted(n=300, d=30, K=3, length=400, seed=0):
    """Documents drawn from known topics, with their mixtures."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(d, 0.2), size=K)
    theta = rng.dirichlet(np.full(K, 0.3), size=n)
    return np.array([rng.multinomial(length, p) for p in theta @ phi]).astype(float), theta, phi


def small(seed, n=12, d=9):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.5, size=(n, d)).astype(float)
    counts[:, 0] += 1  # no document is empty
    counts[0] += 1  # every word occurs
    return counts


def matched(found, true):
    """The order of `found` topics that is nearest to the true ones."""
    return linear_sum_assignment(np.abs(true[:, None] - found[None]).sum(axis=2))[1]


# The algorithm.


@unconverged
@given(seed=st.integers(0, 10_000), K=st.integers(1, 11), n_updates=st.integers(1, 25))
def test_updates_are_those_of_the_equations(seed, K, n_updates):
    counts = small(seed)
    start = np.random.default_rng(seed).dirichlet(np.ones(9), size=K)
    plsa = PLSA(K, init=start, max_iter=n_updates, tol=0).fit(counts)
    phi, path = reference.plsa(counts, start, plsa.n_iter_, power=1.8)
    if plsa.n_iter_ == n_updates:  # else nothing but rounding was left to gain
        assert_allclose(plsa.components_, phi, atol=1e-8)
    assert_allclose(plsa.log_likelihood_path_, path, rtol=1e-10)


@unconverged
@given(seed=st.integers(0, 10_000), K=st.integers(1, 6))
def test_the_likelihood_never_falls(seed, K):
    path = PLSA(K, max_iter=200, tol=0, random_state=seed).fit(small(seed)).log_likelihood_path_
    assert np.all(np.diff(path) >= -1e-12 * np.abs(path[0]))
    assert path[-1] > path[0]


def test_the_path_ends_with_the_likelihood_of_the_result():
    counts, _, _ = planted(60)
    plsa = PLSA(3, tol=1e-12, max_iter=5000, random_state=0).fit(counts)
    expected = reference.plsa_log_likelihood(counts, plsa.transform(counts), plsa.components_)
    assert_allclose(plsa.log_likelihood_path_[-1], expected, rtol=1e-7)
    assert len(plsa.log_likelihood_path_) == plsa.n_iter_ + 1


@unconverged
def test_the_result_does_not_depend_on_threads(threads):
    counts, _, _ = planted(1000, 50)
    start = np.random.default_rng(0).dirichlet(np.ones(50), size=3)
    plsa = PLSA(3, init=start, max_iter=5).fit(counts)
    start = start / start.sum(axis=1, keepdims=True)
    documents, words = _arguments(counts)
    alone = _core.plsa(
        documents=documents, words=words, topics=start, max_iterations=5, tolerance=1e-4, threads=1
    )
    assert_array_equal(plsa.components_, alone.topics)
    assert_array_equal(plsa.log_likelihood_path_, alone.log_likelihood)
    folded = _core.plsa_fold_in(
        documents=documents,
        topics=plsa.components_,
        start=plsa.topic_weights_,
        max_iterations=10_000,
        tolerance=1e-5,
        threads=1,
    )
    assert_array_equal(plsa.transform(counts), folded.mixtures.T)


def _arguments(counts):
    matrices = sparse.csr_array(counts), sparse.csr_array(counts.T)
    return [(m.data, m.indices, m.indptr, m.shape[1]) for m in matrices]


def test_the_optimum_is_that_of_factorisation_under_the_kullback_leibler_divergence():
    counts, _, _ = planted(80, 20)
    plsa = PLSA(3, n_init=5, tol=1e-10, max_iter=5000, random_state=0).fit(counts)
    best = np.inf
    for seed in range(5):
        nmf = NMF(3, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=3000, tol=1e-9)
        nmf.set_params(random_state=seed).fit(counts)
        best = min(best, nmf.reconstruction_err_**2 / 2)  # Σ x log(x / p) − x + p
    expected = np.where(counts > 0, counts * np.log(np.where(counts > 0, counts, 1)), 0).sum()
    lengths = counts.sum(axis=1)
    expected -= best + (lengths * np.log(lengths)).sum()  # p there is the length times P(word | document)
    assert_allclose(plsa.log_likelihood_path_[-1], expected, rtol=1e-6)


def test_one_topic_is_the_frequency_of_the_words():
    counts, _, _ = planted(50)
    plsa = PLSA(1, tol=1e-14).fit(counts)
    shares = counts.sum(axis=0) / counts.sum()
    assert_allclose(plsa.components_, shares[None], rtol=1e-5)
    assert_allclose(plsa.transform(counts), 1.0)
    entropy = -sum(p * np.log(p) for p in shares if p > 0)
    assert_allclose(plsa.perplexity(counts), np.exp(entropy), rtol=1e-10)


def test_planted_topics_and_mixtures_are_found():
    counts, theta, phi = planted()
    plsa = PLSA(3, n_init=3, tol=1e-7, max_iter=2000, random_state=0).fit(counts)
    order = matched(plsa.components_, phi)
    assert np.abs(plsa.components_[order] - phi).max() < 0.02
    assert np.abs(plsa.transform(counts)[:, order] - theta).mean() < 0.03
    new, theta_new, _ = planted(seed=0, n=400)
    assert np.abs(plsa.transform(new[300:])[:, order] - theta_new[300:]).mean() < 0.06


def test_several_starts_keep_the_likeliest():
    counts, _, _ = planted(60)
    random = np.random.RandomState(3)
    alone = [PLSA(3, random_state=random).fit(counts).log_likelihood_path_[-1] for _ in range(4)]
    together = PLSA(3, n_init=4, random_state=3).fit(counts).log_likelihood_path_[-1]
    assert together == max(alone)
    assert len(set(alone)) > 1


def test_more_documents_make_the_topics():
    counts, _, _ = planted(90)
    expected = PLSA(3, random_state=0).fit(counts)
    for form in (np.asarray, sparse.csr_array):
        got = PLSA(3, unlabelled=form(counts[30:]), random_state=0).fit(counts[:30])
        assert_array_equal(got.components_, expected.components_)
        assert_array_equal(got.transform(counts), expected.transform(counts))
    assert got.fit_transform(counts[:30]).shape == (30, 3)


# Folding in.


def test_one_update_of_a_mixture_is_done_where_one_is_allowed():
    phi = np.random.default_rng(0).dirichlet(np.full(9, 0.3), size=4)
    counts, start = small(0), np.full(4, 0.25)
    found = [
        _core.plsa_fold_in(
            documents=_arguments(counts)[0], topics=phi, start=start, max_iterations=n, tolerance=1e-12
        )
        for n in (1, 2)
    ]
    values = [reference.plsa_log_likelihood(counts, np.tile(start, (len(counts), 1)), phi)]
    values += [each.log_likelihood.sum() for each in found]
    assert values[0] < values[1] < values[2]
    assert not any(each.converged for each in found)


@given(seed=st.integers(0, 10_000), K=st.integers(1, 10))
def test_mixtures_are_within_the_tolerance_of_the_best(seed, K):
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(9, 0.3), size=K)
    counts = small(seed)
    folded = _core.plsa_fold_in(
        documents=_arguments(counts)[0],
        topics=phi,
        start=np.full(K, 1 / K),
        max_iterations=100_000,
        tolerance=1e-6,
    )
    theta = folded.mixtures.T
    assert_allclose(theta.sum(axis=1), 1)
    assert np.all(theta >= 0)
    assert reference.plsa_gap(counts, theta, phi).max() <= 1.01e-6
    assert folded.gap <= 1e-6
    assert folded.converged
    assert_allclose(
        folded.log_likelihood.sum(), reference.plsa_log_likelihood(counts, theta, phi), rtol=1e-10
    )


def test_folding_in_the_training_documents_gives_their_mixtures():
    counts, _, _ = planted(80)
    plsa = PLSA(3, tol=1e-12, max_iter=10_000, random_state=0).fit(counts)
    phi, theta = plsa.components_, plsa.transform(counts)
    again, same = reference.plsa_update(counts, theta, phi)
    assert_allclose(again, theta, atol=1e-4)  # a fixed point of expectation maximisation
    assert_allclose(same, phi, atol=1e-4)
    assert_array_equal(plsa.fit_transform(counts), plsa.transform(counts))


def test_a_document_without_known_words_has_the_average_mixture():
    counts, _, _ = planted(50)
    counts[:, 7] = 0
    counts[3] = 0
    plsa = PLSA(3, random_state=0).fit(counts)
    new = np.zeros((2, 30))
    new[1, 7] = 5  # a word that never occurred
    for mixture in (*plsa.transform(new), plsa.transform(counts)[3]):
        assert_array_equal(mixture, plsa.topic_weights_)
    assert_allclose(plsa.topic_weights_.sum(), 1)
    assert np.all(plsa.components_[:, 7] == 0)
    known = counts[:1].copy()
    mixed = known.copy()
    mixed[0, 7] = 9
    assert_allclose(plsa.transform(mixed), plsa.transform(known))
    assert_allclose(plsa.perplexity(mixed), plsa.perplexity(known))


def test_the_length_of_a_document_is_no_matter():
    counts, _, _ = planted(50)
    plsa = PLSA(3, random_state=0).fit(counts)
    assert_allclose(plsa.transform(counts * 7), plsa.transform(counts), atol=1e-6)


# Input.


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_every_form_of_the_counts_gives_the_same(form, dtype):
    counts, _, _ = planted(60)
    expected = PLSA(3, random_state=0).fit(counts)
    got = PLSA(3, random_state=0).fit(form(counts.astype(dtype)))
    assert_array_equal(got.components_, expected.components_)
    assert_array_equal(got.transform(form(counts.astype(dtype))), expected.transform(counts))


@given(seed=st.integers(0, 10_000))
def test_order_of_documents_and_words_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    counts, start = small(seed), rng.dirichlet(np.ones(9), size=2)
    documents, words = rng.permutation(12), rng.permutation(9)
    expected = PLSA(2, init=start, max_iter=10_000).fit(counts)
    got = PLSA(2, init=start[:, words], max_iter=10_000).fit(counts[documents][:, words])
    assert_allclose(got.components_, expected.components_[:, words], atol=1e-6)


def test_bad_counts_and_parameters_are_refused():
    counts, _, _ = planted(20)
    negative = counts.copy()
    negative[2, 3] = -1
    plsa = PLSA(2, random_state=0).fit(counts)
    state = pickle.dumps(plsa)
    for bad, message in [
        (negative, "Negative values"),
        (sparse.csr_array(negative), "Negative values"),
        (np.zeros((4, 30)), "all documents are empty"),
        (np.where(counts > 5, np.nan, counts), "NaN"),
        (np.where(counts > 5, np.inf, counts), "infinity"),
        (counts[0], "2D"),
    ]:
        with pytest.raises(ValueError, match=message):
            plsa.fit(bad)
    assert pickle.dumps(plsa) == state
    for parameters, error, message in [
        ({"n_topics": 0}, ValueError, "n_topics must be at least 1"),
        ({"n_topics": 2.5}, TypeError, "n_topics"),
        ({"n_init": 0}, ValueError, "n_init"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"tol": "small"}, TypeError, "tol"),
        ({"verbose": -1}, ValueError, "verbose"),
        ({"unlabelled": np.ones((2, 29))}, ValueError, "unlabelled has 29 columns"),
        ({"unlabelled": -np.ones((2, 30))}, ValueError, "Negative values in data passed to PLSA.unlabelled"),
        ({"init": "best"}, ValueError, "init"),
        ({"init": np.ones((2, 29))}, ValueError, r"shape \(2, 30\)"),
        ({"init": -np.ones((2, 30))}, ValueError, "Negative"),
        ({"init": np.vstack([np.ones(30), np.zeros(30)])}, ValueError, "no row of zeros"),
        ({"init": np.eye(2, 30)}, ValueError, "no topic to some word"),
    ]:
        with pytest.raises(error, match=message):
            PLSA(**{"n_topics": 2, **parameters}).fit(counts)
    with pytest.raises(ValueError, match="expecting 30 features"):
        plsa.transform(counts[:, :29])
    with pytest.raises(ValueError, match="Negative values"):
        plsa.transform(negative)
    with pytest.raises(ValueError, match="at least one word"):
        plsa.perplexity(np.zeros((2, 30)))


def test_the_core_trusts_nothing():
    counts, _, _ = planted(20)
    documents, words = _arguments(counts)
    phi = np.full((2, 30), 1 / 30)
    bad_index = (words[0], np.full_like(words[1], 20), words[2], 20)
    good = {"documents": documents, "words": words, "topics": phi, "max_iterations": 3, "tolerance": 0.0}
    _core.plsa(**good)
    for changes in [
        {"words": documents},
        {"words": bad_index},
        {"topics": phi[:, :29]},
        {"topics": phi[:0]},
        {"topics": phi * np.nan},
        {"topics": -phi},
        {"documents": (-documents[0], *documents[1:])},
        {"documents": counts},
    ]:
        with pytest.raises(ValueError, match=r"."):
            _core.plsa(**{**good, **changes})
    plsa = PLSA(2, random_state=0).fit(counts)
    for name, value in [
        ("components_", phi[:, :20]),
        ("components_", np.full((2, 30), np.nan)),
        ("topic_weights_", np.ones(3)),
        ("topic_weights_", np.array([np.inf, 0.0])),
    ]:
        broken = pickle.loads(pickle.dumps(plsa))
        setattr(broken, name, value)
        with pytest.raises(ValueError, match=r"topics|mixture"):
            broken.transform(counts)


# Manners.


def test_too_few_updates_are_told():
    counts, _, _ = planted(50)
    with pytest.warns(ConvergenceWarning, match="max_iter=3 updates"):
        plsa = PLSA(3, max_iter=3, random_state=0).fit(counts)
    assert plsa.n_iter_ == 3


def test_progress_is_shown(capsys):
    counts, _, _ = planted(50)
    plsa = PLSA(2, verbose=1, random_state=0).fit(counts)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == plsa.n_iter_ + 1
    for number, line in enumerate(lines):
        assert re.fullmatch(rf"{PROGRESS}PLSA: update {number}, log-likelihood per word \S+", line)
    assert lines[-1].endswith(f"{plsa.log_likelihood_path_[-1] / counts.sum():.6f}")
    PLSA(2, verbose=10, n_init=2, random_state=0).fit(counts)
    assert "PLSA start 2 of 2: update 0," in capsys.readouterr().out
    PLSA(2, random_state=0).fit(counts)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_an_interrupt_stops_the_fit_and_leaves_the_estimator_as_it_was():
    counts = sparse.random(20_000, 2000, density=0.01, random_state=0, format="csr")
    plsa = PLSA(50, tol=0, max_iter=100_000, random_state=0)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        plsa.fit(counts)
    timer.join()
    assert not hasattr(plsa, "n_features_in_")


# As features.


def labelled_counts():
    counts, theta, _ = planted(200, seed=1)
    return counts, np.array(["a", "b", "c"])[theta.argmax(axis=1)]


def test_topics_serve_as_features_without_a_warning_and_have_the_constant_in_them():
    counts, labels = labelled_counts()
    model = GRLSClassifier(Linear(), features=PLSA(3, random_state=0)).fit(counts[:100], labels[:100])
    assert model.score(counts[100:], labels[100:]) > 0.9
    assert model.feature_names_free_ == ["topic0", "topic1", "topic2"]
    assert model.feature_support_.all()
    # Labels moved by a constant move nothing but the features' part.
    y = counts[:, 0] / 10
    one = GRLSRegressor(Linear(), features=PLSA(3, random_state=0), regularization=1.0).fit(counts, y)
    two = GRLSRegressor(Linear(), features=PLSA(3, random_state=0), regularization=1.0).fit(counts, y + 5)
    assert_allclose(two.feature_coef_, one.feature_coef_ + 5)
    assert_allclose(two.dual_coef_, one.dual_coef_, atol=1e-10)


def test_a_constant_and_all_topics_but_one_span_the_same():
    counts, labels = labelled_counts()
    plsa = PLSA(3, random_state=0)
    expected = GRLSClassifier(Linear(), features=plsa).fit(counts, labels)
    for features in (
        make_pipeline(plsa, Columns([0, 1])),
        make_union(PolynomialTrend(0), make_pipeline(plsa, Columns([0, 1], constant=False))),
    ):
        model = GRLSClassifier(Linear(), features=features).fit(counts, labels)
        assert model.feature_support_.all()
        assert_allclose(model.decision_function(counts), expected.decision_function(counts), atol=1e-8)


def test_a_grid_goes_over_the_number_of_topics():
    counts, labels = labelled_counts()
    model = GRLSClassifier(Linear(), features=PLSA(random_state=0), regularization=1.0)
    search = GridSearchCV(model, {"features__n_topics": [2, 4]}, cv=3).fit(sparse.csr_array(counts), labels)
    assert np.all(search.cv_results_["mean_test_score"] > 0.5)
