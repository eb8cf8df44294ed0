"""A prior learnt from reference tasks: what was planted is found, and what is useless does no harm."""

import pickle

import numpy as np
import pandas as pd
import pytest
from grls import PriorRLSClassifier, PriorRLSRegressor, TransferPrior, transfer
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

D = 60
SCALE = np.repeat([1.5, 0.3, 0.02], 20)


def task(rng, n, scale=SCALE, labels=False, mean=0.0, spread=1.0):
    X = rng.normal(size=(n, D)) * spread
    y = X @ (mean + scale * rng.normal(size=D)) + 0.3 * rng.normal(size=n)
    return X, (np.where(y > np.median(y), "up", "down") if labels else y)


def mean_scores(prior, scale, seed=99, n=25, **options):
    """R² of the plain model and of the informed one on new tasks of the same kind."""
    rng = np.random.default_rng(seed)
    scores = []
    for _ in range(8):
        X, y = task(rng, n + 200, scale, **options)
        scores.append(
            [
                PriorRLSRegressor(covariance=c, regularization="loo").fit(X[:n], y[:n]).score(X[n:], y[n:])
                for c in (None, prior)
            ]
        )
    return np.mean(scores, axis=0)


def test_planted_variances_are_recovered():
    rng = np.random.default_rng(0)
    prior = TransferPrior().fit([task(rng, 200) for _ in range(14)])
    assert prior.trust_ == 1.0
    by_group = [np.exp(np.mean(np.log(prior.covariance_[i : i + 20]))) for i in (0, 20, 40)]
    assert_allclose(by_group[0] / by_group[1], (1.5 / 0.3) ** 2, rtol=0.4)
    assert by_group[1] / by_group[2] > 10  # the least are below what the noise lets one see
    assert prior.freedom_ < 10


@pytest.mark.parametrize("nu", [3.0, 12.0])
def test_freedom_and_common_variance_are_the_most_likely_of_an_f_distribution(nu):
    rng = np.random.default_rng(0)
    t = rng.uniform(2, 20, size=400)
    squares = 0.7 * nu / rng.chisquare(nu, size=400) * rng.chisquare(t)

    def unlikelihood(logs):
        freedom, variance = np.exp(logs)
        return -np.sum(stats.f.logpdf(squares / (t * variance), t, freedom) - np.log(variance))

    expected = np.exp(minimize(unlikelihood, np.log([nu, 0.7]), method="Nelder-Mead").x)
    assert_allclose(transfer._common_prior(squares, t), expected, rtol=0.02)
    assert_allclose(expected, [nu, 0.7], rtol=0.4)


@pytest.mark.parametrize("labels", [False, True])
def test_a_good_prior_helps_with_few_examples(labels):
    rng = np.random.default_rng(1)
    prior = TransferPrior().fit([task(rng, 200, labels=labels) for _ in range(8)])
    plain, informed = mean_scores(prior, SCALE)
    assert informed > plain + 0.1


@pytest.mark.slow
def test_tasks_without_structure_leave_the_plain_prior():
    rng = np.random.default_rng(2)
    even = np.full(D, 0.5)
    prior = TransferPrior().fit([task(rng, 200, even) for _ in range(8)])
    assert np.ptp(np.log(prior.covariance_)) < 0.7
    plain, informed = mean_scores(prior, even)
    assert abs(informed - plain) < 0.01


@pytest.mark.slow
def test_useless_tasks_do_no_harm_beyond_noise():
    rng = np.random.default_rng(3)
    noise = [(X, rng.normal(size=len(X))) for X, _ in (task(rng, 100) for _ in range(8))]
    prior = TransferPrior().fit(noise)
    plain, informed = mean_scores(prior, SCALE)
    assert informed > plain - 0.02


def test_tasks_that_have_nothing_in_common_are_not_believed():
    rng = np.random.default_rng(4)
    tasks = []
    for t in range(10):  # every task has columns of its own
        scale = np.full(D, 0.01)
        scale[6 * t : 6 * t + 6] = 1.5
        tasks.append(task(rng, 150, scale))
    prior = TransferPrior().fit(tasks)
    plain, informed = mean_scores(prior, np.full(D, 0.5))
    assert informed > plain - 0.02


def test_columns_of_different_spread_may_matter_alike():
    rng = np.random.default_rng(5)
    spread = np.geomspace(0.01, 1, D)
    tasks = [task(rng, 200, 1 / spread, spread=spread) for _ in range(8)]
    prior = TransferPrior().fit(tasks)
    assert prior.spread_power_ >= 0.75
    plain, informed = mean_scores(prior, 1 / spread, spread=spread)
    assert informed > plain + 0.05


def test_a_column_no_task_has_gets_the_common_variance():
    rng = np.random.default_rng(6)
    tasks = []
    for _ in range(8):
        X, y = task(rng, 200)
        y = y - X[:, 0]  # whatever column 0 does
        X[:, 0] = 0
        tasks.append((X, y))
    prior = TransferPrior().fit(tasks)
    least, most = prior.covariance_[1:].min(), prior.covariance_[1:].max()
    assert least < prior.covariance_[0] < most


@pytest.mark.slow
def test_a_mean_is_learnt_where_the_tasks_share_one_and_only_there():
    rng = np.random.default_rng(7)
    shared = rng.normal(size=D)
    prior = TransferPrior(learn_mean=True).fit(
        [task(rng, 150, np.full(D, 0.2), mean=shared) for _ in range(10)]
    )
    assert np.corrcoef(prior.mean_, shared)[0, 1] > 0.95
    plain, informed = mean_scores(prior, np.full(D, 0.2), mean=shared)
    assert informed > plain + 0.3
    none = TransferPrior(learn_mean=True).fit([task(rng, 150, np.full(D, 0.5)) for _ in range(10)])
    assert np.abs(none.mean_).max() < 0.2
    assert TransferPrior().fit([task(rng, 100)]).mean_ is None


def test_weights_and_models_are_reference_tasks_too():
    rng = np.random.default_rng(8)
    weights = [SCALE * rng.normal(size=D) for _ in range(20)]
    prior = TransferPrior().fit(weights)
    assert (prior.trust_, prior.spread_power_) == (1.0, 0.0)
    assert prior.covariance_[:20].mean() > 5 * prior.covariance_[20:40].mean()
    models = [PriorRLSRegressor(regularization="loo").fit(*task(rng, 200)) for _ in range(5)]
    assert TransferPrior().fit(models).n_tasks_ == 5
    many = PriorRLSClassifier().fit(rng.normal(size=(60, D)), np.arange(60) % 3)
    assert TransferPrior().fit([many, weights[0], task(rng, 100)]).n_tasks_ == 5


def classes_task(seed, k, n=400, d=50):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.argmax(X @ (rng.normal(size=(k, d)) * ([2.0] * 5 + [0.02] * (d - 5))).T, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 20])
def test_tasks_of_many_classes_teach_though_no_draw_of_examples_has_all_of_them(k):
    prior = TransferPrior().fit([classes_task(seed, k) for seed in range(8)])
    assert prior.trust_ == 1.0
    assert prior.covariance_[:5].min() > 5 * prior.covariance_[5:].max()


def test_tasks_on_which_nothing_can_be_tried_out_are_named_and_have_no_say():
    rng = np.random.default_rng(12)
    tasks = [task(rng, 200) for _ in range(6)]
    alone = TransferPrior().fit(tasks)
    rare = np.r_[1, np.zeros(2999, dtype=int)]  # in none of its draws, with random_state=0
    with pytest.warns(UserWarning, match=r"on 1 of 7 reference tasks \(6\).*n_examples=40.*others decide"):
        prior = TransferPrior().fit([*tasks, (rng.normal(size=(3000, D)), rare)])
    assert (prior.trust_, prior.spread_power_) == (alone.trust_, alone.spread_power_)
    assert prior.trust_ > 0
    with pytest.warns(UserWarning, match=r"2 of 2 reference tasks \(0, 2\).*fewer than 8 rows.*plain one"):
        prior = TransferPrior().fit([task(rng, 7), np.ones(D), task(rng, 6)])
    assert prior.trust_ == 0.0


@pytest.mark.slow
def test_whole_floats_are_numbers_and_integers_are_classes_unless_labels_says_otherwise():
    rng = np.random.default_rng(13)
    tasks = [(X, np.round(10 * y)) for X, y in (task(rng, 200) for _ in range(8))]
    prior = TransferPrior().fit(tasks)
    assert (prior.n_tasks_, prior.trust_) == (8, 1.0)
    plain, informed = mean_scores(prior, SCALE)
    assert informed > plain + 0.1
    counts = [(X, y.astype(int)) for X, y in tasks]
    assert_array_equal(TransferPrior(labels=False).fit(counts).covariance_, prior.covariance_)
    grades = [(X, np.digitize(y, [-20, 20])) for X, y in tasks]
    of_classes = TransferPrior().fit(grades)
    assert of_classes.n_tasks_ == 24
    as_floats = TransferPrior(labels=True).fit([(X, y.astype(float)) for X, y in grades])
    assert_array_equal(as_floats.covariance_, of_classes.covariance_)
    signs = [(X, np.where(y > 0, 1.0, -1.0)) for X, y in tasks]
    names = [(X, np.where(y > 0, "up", "down")) for X, y in signs]
    assert_array_equal(TransferPrior().fit(signs).covariance_, TransferPrior().fit(names).covariance_)


def test_sparse_and_dense_tasks_teach_the_same():
    rng = np.random.default_rng(9)
    tasks = [task(rng, 150) for _ in range(6)]
    dense = TransferPrior().fit(tasks)
    thin = TransferPrior().fit([(sparse.csr_matrix(X), y) for X, y in tasks])
    assert_allclose(thin.covariance_, dense.covariance_, rtol=1e-6)


def test_a_model_keeps_its_prior_when_cloned_and_pickled():
    rng = np.random.default_rng(10)
    prior = TransferPrior().fit([task(rng, 100) for _ in range(4)])
    X, y = task(rng, 80)
    model = PriorRLSRegressor(covariance=prior, regularization="loo")
    expected = model.fit(X, y).predict(X)
    assert_array_equal(clone(model).fit(X, y).predict(X), expected)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    arrays = PriorRLSRegressor(covariance=prior.covariance_, regularization="loo").fit(X, y)
    assert_array_equal(arrays.predict(X), expected)
    assert np.all(np.isfinite(cross_val_score(model, X, y, cv=3)))
    assert "learnt from 4 tasks" in repr(prior)


def tasks_about(rng, mean, n_tasks, n=30, spread=0.3):
    mean = np.asarray(mean)
    data = [rng.normal(size=(n, len(mean))) for _ in range(n_tasks)]
    return [(X, X @ (mean + spread * rng.normal(size=len(mean))) + rng.normal(size=n)) for X in data]


def test_a_mean_is_shrunk_no_further_than_chance_about_it():
    # 40 tasks with a spread of .3 know the mean to .05 or so; about zero the spread is 2.
    mean = np.array([3.0, -2.0, 1.0])
    errors = []
    for seed in range(3):
        prior = TransferPrior(learn_mean=True).fit(tasks_about(np.random.default_rng(seed), mean, 40))
        errors.append(np.abs(prior.mean_ - mean).max())
        assert prior.covariance_.max() < 2 * prior.covariance_.min()  # it does not hold the mean once more
    assert np.median(errors) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("n_tasks", [8, 40])
def test_a_learnt_mean_predicts_better_where_tasks_share_one(n_tasks):
    mean, scores = np.array([3.0, -2.0, 1.0]), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        tasks = tasks_about(rng, mean, n_tasks)
        without, with_mean = (TransferPrior(learn_mean=learn).fit(tasks) for learn in (False, True))
        (X, y) = tasks_about(rng, mean, 1, n=300)[0]
        models = [
            PriorRLSRegressor(covariance=prior, regularization="loo").fit(X[:8], y[:8])
            for prior in (without, with_mean)
        ]
        scores.append([model.score(X[8:], y[8:]) for model in models])
    without, with_mean = np.mean(scores, axis=0)
    assert with_mean > without


def test_one_task_says_nothing_of_a_mean_and_tasks_that_agree_all():
    rng = np.random.default_rng(0)
    assert not TransferPrior(learn_mean=True).fit(tasks_about(rng, [3.0, -2.0], 1)).mean_.any()
    agreed = TransferPrior(learn_mean=True).fit([np.array([3.0, -2.0, 0.5])] * 5)
    assert_allclose(agreed.mean_, [3.0, -2.0, 0.5], rtol=1e-12)
    assert_allclose(agreed.covariance_, 1.0)


@pytest.mark.parametrize("learn_mean", [False, True])
def test_the_order_of_the_tasks_changes_nothing(learn_mean):
    rng = np.random.default_rng(3)
    tasks = [task(rng, 60, SCALE) for _ in range(6)]
    prior = TransferPrior(learn_mean=learn_mean).fit(tasks)
    order = rng.permutation(6)
    other = TransferPrior(learn_mean=learn_mean).fit([tasks[i] for i in order])
    assert_array_equal(prior.covariance_, other.covariance_)
    assert_array_equal(prior.mean_, other.mean_)
    assert_array_equal(prior.trials_["task"], order[other.trials_["task"]])
    for name in set(prior.trials_) - {"task"}:
        assert_array_equal(prior.trials_[name], other.trials_[name])


def test_what_each_task_says_is_kept():
    rng = np.random.default_rng(0)
    prior = TransferPrior().fit([task(rng, 60, SCALE) for _ in range(4)] + [np.ones(D)])
    table = pd.DataFrame(prior.trials_).set_index("task")
    assert sorted(table.index) == [0, 1, 2, 3]
    assert list(table) == [f"spread_power={a:g}" for a in (0, 0.25, 0.5, 0.75, 1)] + [
        "trust=0",
        "trust=0.5",
        "trust=1",
    ]
    assert_array_equal(table["trust=0"], table[f"spread_power={prior.spread_power_:g}"])
    assert TransferPrior().fit([np.arange(3.0)]).trials_ == {}


def test_the_data_of_one_task_are_not_taken_for_tasks():
    X, y = np.eye(3) + 1, np.arange(3.0)
    for tasks in ((X, y), [X, y], (X.tolist(), y.tolist())):
        with pytest.raises(ValueError, match=r"one task: give a list of tasks, \[\(X, y\)\]"):
            TransferPrior().fit(tasks)
    TransferPrior().fit([*X, y])
    rng = np.random.default_rng(0)
    assert TransferPrior().fit([task(rng, 40), task(rng, 50)]).n_tasks_ == 2


def test_a_mean_that_is_given_comes_before_the_learnt_one():
    rng = np.random.default_rng(11)
    prior = TransferPrior(learn_mean=True).fit([task(rng, 200, mean=1.0) for _ in range(6)])
    X, y = task(rng, 30)
    learnt = PriorRLSRegressor(covariance=prior).fit(X, y)
    given = PriorRLSRegressor(np.full(D, 5.0), prior).fit(X, y)
    by_hand = PriorRLSRegressor(prior.mean_, prior.covariance_).fit(X, y)
    assert_allclose(learnt.coef_, by_hand.coef_)
    assert np.abs(given.coef_ - learnt.coef_).max() > 1


# Errors.


def test_a_prior_that_was_not_learnt_is_told():
    X, y = task(np.random.default_rng(0), 20)
    with pytest.raises(NotFittedError, match="call its fit"):
        PriorRLSRegressor(covariance=TransferPrior()).fit(X, y)
    prior = TransferPrior().fit([np.ones(5) * [1, 2, 3, 4, 5]])
    with pytest.raises(ValueError, match=f"learnt for 5 columns, but X has {D}"):
        PriorRLSRegressor(covariance=prior).fit(X, y)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([], "list of reference tasks"),
        (np.ones((3, 2)), "list of reference tasks"),
        ([np.ones(3), np.ones(4)], "task 1 has 4 columns"),
        ([np.zeros(3)], "all zero"),
        ([np.array([1.0, np.nan])], "reference task 0"),
        ([np.ones((2, 2, 2))], "expected"),
        ([(np.ones((5, 2)), [1, 1, 1, 1, 1])], "reference task 0: .*one class"),
        ([(np.full((5, 2), np.inf), [1, 2, 1, 2, 1])], "reference task 0"),
        ([(np.ones((5, 2)), [1, 2, 1, 2, 1])], "constant"),
        ([(np.ones((5, 2)), [1.0, 2.5])], "reference task 0"),
    ],
)
def test_tasks_that_cannot_be_right_are_told(tasks, message):
    with pytest.raises(ValueError, match=message):
        TransferPrior().fit(tasks)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"regularization": -1.0}, ValueError, "regularization"),
        ({"regularization": "cv"}, ValueError, "regularization"),
        ({"n_examples": 2}, ValueError, "n_examples must be at least 4"),
        ({"labels": "yes"}, ValueError, "labels .unless it is a bool. must be one of 'auto'"),
        ({"labels": None}, ValueError, "labels"),
        ({"random_state": None}, TypeError, "random_state must be a whole number"),
    ],
)
def test_bad_parameters_are_told(parameters, error, message):
    with pytest.raises(error, match=message):
        TransferPrior(**parameters).fit([np.ones(3)])
