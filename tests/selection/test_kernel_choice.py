"""``kernel="auto"``: the kernel that the data speak for, whatever their units."""

import grls
import numpy as np
import pytest
from grls import (
    GRLogisticClassifier,
    GRLSClassifier,
    GRLSRegressor,
    GRRegressor,
    NystromGRLSRegressor,
    SVMGBClassifier,
)
from grls._selection.candidates import KernelChoice
from grls._selection.kernel_choice import SCREENED
from grls._selection.starts import drawn_rows
from grls.features import Columns
from grls.kernels import Gaussian, Linear, Matern
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone


def table(m=150, d=5, seed=0):
    """Return rows whose first columns matter, in units that have nothing to do with one another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=m)
    return X * 10.0 ** np.arange(-2, d - 2), y


def labels_of(y):
    return np.where(y > np.median(y), "high", "low")


def test_it_is_the_default_and_keeps_what_was_tried():
    X, y = table()
    assert GRLSRegressor().kernel == GRLSClassifier().kernel == "auto"
    model = GRLSRegressor().fit(X, y)
    record = model.optimization_
    assert isinstance(record, KernelChoice)
    best = record.candidates[record.best]
    by_likelihood = [candidate for candidate in record.candidates if "robust" not in candidate.name]
    assert record.by == "reml"
    assert "likelihood is best" in record.why
    assert best.criterion == min(candidate.criterion for candidate in by_likelihood)
    assert best.error <= 1.2 * min(candidate.error for candidate in record.candidates)
    assert model.kernel_.is_same(best.kernel, X.shape[1])
    assert {"Matern(nu=1.5)", "Matern(nu=2.5)", "Gaussian"} <= {c.name for c in record.candidates}
    assert not hasattr(model.set_params(kernel=Gaussian()).fit(X, y), "optimization_")


def test_columns_that_matter_are_found_and_the_error_is_lower():
    X, y = table(m=300)
    new, truth = table(m=300, seed=1)
    chosen, fixed = GRLSRegressor().fit(X, y), GRLSRegressor(Gaussian("medians")).fit(X, y)
    assert chosen.score(new, truth) > 0.95 > fixed.score(new, truth)
    relative = chosen.kernel_.sigma / X.std(axis=0)
    assert relative[:2].max() < 0.2 * relative[2:].min()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [GRLSRegressor, GRLSClassifier])
@pytest.mark.parametrize("m", [60, 500])
def test_neither_units_nor_the_order_of_rows_matter(estimator, m):
    X, y = table(m=m)
    if estimator is GRLSClassifier:
        y = labels_of(y)
    values = "predict" if estimator is GRLSRegressor else "decision_function"
    as_given = getattr(estimator().fit(X, y), values)(X)
    units = 10.0 ** np.array([6, -6, 3, 0, -3])
    assert_allclose(getattr(estimator().fit(X * units, y), values)(X * units), as_given, atol=1e-6)
    order = np.random.default_rng(0).permutation(m)
    assert_allclose(getattr(estimator().fit(X[order], y[order]), values)(X), as_given, atol=1e-6)


def test_of_few_rows_the_widths_are_those_of_the_optimum_whatever_the_order():
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 5, (60, 2))
    signal = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    rng.uniform(0, 5, (9, 2))
    y = signal + 0.2 * rng.normal(size=60)
    as_given = GRLSRegressor().fit(X, y).kernel_
    for order in (np.random.default_rng(seed).permutation(60) for seed in (0, 5)):
        moved = GRLSRegressor().fit(X[order], y[order]).kernel_
        assert type(moved) is type(as_given)
        assert_allclose(moved.sigma, as_given.sigma, rtol=0.03)
    tuned = GRLSRegressor(as_given, regularization="reml", optimize=True).fit(X, y)
    fixed = GRLSRegressor(as_given, regularization="reml").fit(X, y)
    assert fixed.criterion_path_.min() < tuned.criterion_path_.min() + 0.1


def test_values_without_noise_are_followed_to_the_edge_of_definite_matrices():
    X = np.linspace(0, 1, 60)[:, None]
    assert GRLSRegressor(regularization="loo").fit(X, X[:, 0]).loo_score_ > 0.999999


def test_one_column_in_other_units_does_not_take_the_fit_away():
    X, y = table(m=200, d=3)
    spoilt = X * [1.0, 1.0, 1e6]
    assert GRLSRegressor(regularization="loo").fit(spoilt, y).loo_score_ > 0.95
    assert GRLSRegressor("gaussian", regularization="loo").fit(spoilt, y).loo_score_ < 0.5


def test_constant_doubled_and_coded_columns():
    X, y = table()
    codes = np.random.default_rng(2).integers(0, 3, size=len(X))
    plain = GRLSRegressor(regularization="loo").fit(X, y)
    more = np.column_stack([X, np.full(len(X), 7.0), X[:, 0], codes])
    model = GRLSRegressor(regularization="loo").fit(more, y)
    assert model.loo_score_ > plain.loo_score_ - 0.02
    flat = GRLSRegressor(regularization=1e-3).fit(np.ones((20, 2)), y[:20])
    assert flat.predict([[1.0, 1.0]]) == pytest.approx(y[:20].mean())


def constant(X):
    return np.column_stack([np.full(len(X), 1e9), X, np.full(len(X), -7.0)])


def doubled(X):
    return np.column_stack([X, X[:, 0], 5 - 3e4 * X[:, 1]])


@pytest.mark.parametrize("estimator", [GRLSRegressor, GRLSClassifier, SVMGBClassifier])
@pytest.mark.parametrize(
    ("m", "more"),
    [(12, constant), (12, doubled), (450, lambda X: constant(doubled(X)))],
    ids=["constant", "doubled", "both"],
)
def test_columns_that_tell_nothing_do_not_matter(estimator, more, m):
    X, y = table(m=m)
    new, _ = table(m=20, seed=1)
    if estimator is not GRLSRegressor:
        y = labels_of(y)
    options = {"C": 1.0} if estimator is SVMGBClassifier else {}
    values = "predict" if estimator is GRLSRegressor else "decision_function"
    as_given = getattr(estimator(**options).fit(X, y), values)(new)
    found = getattr(estimator(**options).fit(more(X), y), values)(more(new))
    assert_allclose(found, as_given, rtol=0, atol=1e-9)


def test_a_column_that_was_constant_may_change_later():
    X, y = table(m=60)
    model = GRLSRegressor().fit(constant(X), y)
    changed = constant(X)
    changed[:, 0] = 3.0
    assert_array_equal(model.predict(changed), model.predict(constant(X)))


def with_tails(m=300, seed=0):
    """Return rows of which one column enters by its logarithm, and another with tails as it is."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, 4))
    X = np.column_stack([np.exp(1.5 * Z[:, 0]), np.exp(Z[:, 1]), Z[:, 2:]])
    return X, np.sin(2 * Z[:, 0]) + 0.3 * X[:, 1] + 0.5 * Z[:, 2] + 0.1 * rng.normal(size=m)


def with_codes(m=300, seed=0):
    """Return rows with codes that have no order, and a number of few values that has one."""
    rng = np.random.default_rng(seed)
    codes, steps = rng.integers(0, 9, size=m), rng.integers(0, 6, size=m)
    effects = np.random.default_rng(100).permutation(9)
    x = rng.normal(size=m)
    y = 0.5 * effects[codes] + np.sin(2 * x) * (1 + 0.3 * steps) + 0.1 * rng.normal(size=m)
    return np.column_stack([x, codes, steps, rng.normal(size=m)]), y


READ_OTHERWISE = {"scores": with_tails, "labels": with_codes}


@pytest.fixture(scope="module", params=READ_OTHERWISE)
def otherwise(request):
    X, y = READ_OTHERWISE[request.param]()
    return request.param, X, y, GRLSRegressor().fit(X, y)


def test_columns_are_read_otherwise_where_that_predicts_better(otherwise):
    how, X, y, model = otherwise
    new, truth = READ_OTHERWISE[how](m=500, seed=1)
    as_they_are = GRLSRegressor(Matern("medians"), optimize=True).fit(X, y)
    assert how in model.optimization_.candidates[model.optimization_.best].name
    assert model.score(new, truth) > 0.95
    assert 1 - model.score(new, truth) < 0.6 * (1 - as_they_are.score(new, truth))


@pytest.mark.slow
def test_columns_read_otherwise_in_other_units_and_order(otherwise):
    _, X, y, model = otherwise
    units = 10.0 ** np.array([6, -6, 3, -3])
    assert_allclose(GRLSRegressor().fit(X * units, y).predict(X * units), model.predict(X), atol=1e-6)
    order = np.random.default_rng(0).permutation(len(X))
    assert_allclose(GRLSRegressor().fit(X[order], y[order]).predict(X), model.predict(X), atol=1e-6)
    counts = np.where(np.arange(len(X)) % 50 == 0, 2, 1)
    weighted = GRLSRegressor().fit(X, y, sample_weight=counts)
    repeated = GRLSRegressor().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


def test_columns_read_otherwise_go_with_everything(otherwise, tmp_path):
    pandas = pytest.importorskip("pandas")
    how, X, y, model = otherwise
    rows = X[:20]
    mean, std = model.predict(rows, return_std=True)
    assert np.all(std > 0)
    grls.save(model, tmp_path / "model.grls")
    assert_array_equal(grls.load(tmp_path / "model.grls").predict(rows), mean)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    assert_allclose(GRLSRegressor().fit(frame, y).predict(frame[:20]), mean, atol=1e-12)
    _, known = (by_reml := GRLSRegressor(regularization="reml").fit(X[:120], y[:120])).predict(
        rows, return_std=True
    )
    _, estimated = by_reml.predict(rows, return_std=True, unconditional=True)
    assert np.all(estimated >= known * (1 - 1e-9))
    if how == "labels":
        with pytest.raises(ValueError, match="compares labels"):
            model.predict(rows, return_gradient=True)
    else:
        assert model.predict(rows, return_gradient=True)[1].shape == rows.shape


@pytest.mark.slow
def test_columns_read_otherwise_by_other_models(otherwise):
    how, X, y, _ = otherwise
    nystrom = NystromGRLSRegressor("auto", n_centers=len(X), random_state=0).fit(X, y)
    assert how in nystrom.optimization_.candidates[nystrom.optimization_.best].name
    assert nystrom.score(X, y) > 0.97
    assert GRRegressor(loss="huber").fit(X, y).score(X, y) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("make", READ_OTHERWISE.values(), ids=READ_OTHERWISE)
@pytest.mark.parametrize("estimator", [GRLSClassifier, GRLogisticClassifier])
def test_classes_too_may_depend_on_scores_and_labels(estimator, make):
    X, y = make(m=400)
    new, truth = make(m=500, seed=1)
    middle = np.median(y)
    model = estimator().fit(X, y > middle)
    as_they_are = estimator(kernel=Matern("medians")).fit(X, y > middle)
    assert model.score(new, truth > middle) > max(0.85, as_they_are.score(new, truth > middle))


def test_logistic_models_try_the_kernels_of_labels():
    X, y = table(m=120)
    tried, least_squares = (
        estimator().fit(X, y > np.median(y)).optimization_
        for estimator in (GRLogisticClassifier, GRLSClassifier)
    )
    for of_logistic, of_squares in (
        (tried.screened, least_squares.screened),
        (tried.candidates, least_squares.candidates),
    ):
        assert [c.name for c in of_logistic] == [c.name for c in of_squares]
    of_values = GRLSRegressor().fit(X, y).optimization_
    assert [c.name for c in of_values.candidates] != [c.name for c in tried.candidates]


def test_ordinary_columns_are_read_as_they_are():
    X, y = table(m=300)
    record = GRLSRegressor().fit(X, y).optimization_
    assert not any("scores" in c.name or "labels" in c.name for c in record.screened + record.candidates)


@pytest.mark.parametrize("m", [2, 3, 5, 9, 12])
@pytest.mark.parametrize("estimator", [GRLSRegressor, GRLSClassifier])
def test_a_handful_of_rows_is_enough(m, estimator):
    X, y = table(m=m)
    y = y if estimator is GRLSRegressor else np.arange(m) % 2
    model = estimator(regularization=1e-2).fit(X, y)
    assert np.isfinite(model.predict(X).astype(float)).all()
    if m < 9:
        assert isinstance(model.kernel_, Matern)
        assert model.optimization_.candidates == []


def test_a_dozen_rows_do_not_make_the_function_swing():
    # Leave-one-out may be least where the kernel follows the noise of so few rows; the likelihood says no.
    ratios = []
    for seed in range(10, 22):
        rng = np.random.default_rng([seed, 17])
        m = int(rng.integers(8, 15))
        x = rng.uniform(size=(m + 200, 1))
        f = np.sin(6 * x[:, 0])
        y = (f + 0.1 * rng.normal(size=len(f)))[:m]
        error = GRLSRegressor().fit(x[:m], y).predict(x[m:]) - f[m:]
        ratios.append(np.sqrt(np.mean(error**2) / np.mean((y.mean() - f[m:]) ** 2)))
    assert max(ratios) < 1.2
    assert np.median(ratios) < 0.25


def test_of_a_dozen_rows_and_many_columns_widths_are_not_believed():
    rng = np.random.default_rng(0)
    names, alone = [], []
    for _ in range(10):
        record = GRLSRegressor().fit(rng.normal(size=(12, 6)), rng.normal(size=12)).optimization_
        names.append(record.candidates[record.best].name)
        alone.append(record.alone)
    assert sum("one scale" in name for name in names) >= 8
    assert sum(alone) >= 8


@pytest.mark.filterwarnings("ignore:.*rows repeat others:UserWarning")
def test_integer_weights_are_copies():
    X, y = table(m=60)
    counts = np.random.default_rng(0).integers(1, 4, size=len(X))
    model = GRLSRegressor(regularization="loo")
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"regularization": "reml"},
        {"regularization": "gcv"},
        {"regularization": 1e-5},
        {"regularization": 1e-5, "solver": "cg"},
        {"regularization": 1e-5, "formulation": "published"},
        {"feature_variance": "auto"},
        {"feature_variance": 1.0},
        {"features": None},
        {"features": Columns([4])},
        {"optimize": True},
    ],
    ids=str,
)
def test_it_goes_with_all_other_parameters(options):
    X, y = table()
    model = GRLSRegressor(**options).fit(X, y)
    assert model.score(X, y) > 0.9
    assert isinstance(model.optimization_, KernelChoice)


def test_several_outputs_and_classes():
    X, y = table()
    model = GRLSRegressor().fit(X, np.column_stack([y, -2 * y, X[:, 1]]))
    assert model.predict(X).shape == (len(X), 3)
    three = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    assert GRLSClassifier().fit(X, three).loo_score_ > 0.8


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_of_many_columns_one_width_or_the_linear_kernel(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 60)) * (rng.uniform(size=(120, 60)) < 0.3)
    y = X @ rng.normal(size=60) + 0.1 * rng.normal(size=120)
    model = GRLSRegressor(regularization="loo").fit(form(X), y)
    assert isinstance(model.kernel_, Linear)
    assert model.loo_score_ > 0.9
    radial = GRLSRegressor().fit(form(X), np.exp(-((X**2).sum(axis=1)) / 20))
    assert np.ndim(radial.kernel_.sigma) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [GRLSRegressor, GRLSClassifier, GRRegressor, GRLogisticClassifier, SVMGBClassifier]
)
def test_many_columns_may_have_units_of_their_own(estimator):
    rng = np.random.default_rng(0)
    Z, units = rng.normal(size=(500, 3)), 10.0 ** rng.permutation(np.linspace(-3, 3, 60))
    X = Z @ rng.normal(size=(3, 60)) + rng.normal(size=(500, 60))
    y = np.sin(2 * Z[:, 0]) + Z[:, 1] ** 2
    if "Classifier" in estimator.__name__:
        y = labels_of(y)
    train, test = slice(0, 300), slice(300, None)
    in_units = estimator().fit(X[train] * units, y[train]).score(X[test] * units, y[test])
    alike = estimator().fit(X[train], y[train])
    assert in_units > alike.score(X[test], y[test]) - 0.05 > 0.6
    if estimator is GRLSRegressor:  # where they are alike, one width will do
        assert np.ndim(alike.kernel_.sigma) == 0


@pytest.mark.parametrize("estimator", [GRLSRegressor, GRLSClassifier, SVMGBClassifier])
def test_a_column_that_varies_in_few_rows_does_not_set_them_apart(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    if estimator is not GRLSRegressor:
        y = labels_of(y)

    def with_rare(start):
        rare = np.zeros(len(X))
        rare[start : start + 2] = [1e4, 2e4]
        return np.column_stack([X, rare])

    # Two rows that are not among those on which families are compared.
    found = (with_rare(start) for start in range(0, 600, 2))
    table = next(table for table in found if not table[drawn_rows(table, SCREENED), -1].any())
    model = estimator().fit(table, y)
    assert model.score(np.column_stack([X, np.full(len(X), 1e4)]), y) > 0.7


def test_it_is_told_step_by_step(capsys):
    X, y = table(m=60)
    GRLSRegressor().fit(X, y)
    assert capsys.readouterr().out == ""
    GRLSRegressor(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert any("kernel: Matern(nu=1.5), 60 rows: −2 log likelihood" in line for line in lines)


def test_the_errors_of_estimated_widths_are_known_after_reml():
    X, y = table(m=80, d=2)
    model = GRLSRegressor(regularization="reml").fit(X, y)
    _, known = model.predict(X, return_std=True)
    _, estimated = model.predict(X, return_std=True, unconditional=True)
    assert np.all(estimated >= known * (1 - 1e-9))
    assert np.any(estimated > known * 1.001)


def test_features_made_from_labels_do_not_choose_the_kernel():
    # Beside such features leave-one-out can claim what new rows do not keep: a constant stands in for them.
    from grls.features import EstimatorFeatures
    from sklearn.neighbors import KNeighborsRegressor

    X, y = table()
    beside = GRLSRegressor(features=EstimatorFeatures(KNeighborsRegressor(1))).fit(X, y)
    alone = GRLSRegressor().fit(X, y)
    assert beside.kernel_.is_same(alone.kernel_, X.shape[1])


def test_known_features_leave_the_kernel_the_rest():
    X, y = table(m=200)
    steep = y + 50 * X[:, 4] / X[:, 4].std()
    model = GRLSRegressor(features=Columns([4])).fit(X, steep)
    assert model.score(X, steep) > 0.99
    relative = model.kernel_.sigma / X.std(axis=0)
    assert relative[:2].max() < relative[4]


def test_names_of_parameters_need_a_kernel():
    X, y = table(m=30)
    for wanted in ("sigma", ["sigma"], {"sigma": [1.0]}, "metric"):
        with pytest.raises(ValueError, match='kernel="auto" tunes its kernel by itself'):
            GRLSRegressor(optimize=wanted).fit(X, y)


@pytest.mark.parametrize(("factor", "what"), [(1e160, "overflow"), (1e-200, "vanish")])
def test_distances_that_are_no_numbers_are_told(factor, what):
    X, y = table(m=30)
    with pytest.raises(ValueError, match=f"distances between rows {what}.*usual scale"):
        GRLSRegressor().fit(X * factor, y)


def test_it_can_be_cloned_and_fitted_again():
    X, y = table(m=60)
    model = GRLSRegressor().fit(X, y)
    assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))


def test_rows_at_one_point_are_refused_in_the_words_of_the_criterion_asked_for():
    y = np.random.default_rng(0).normal(size=30)
    with pytest.raises(ValueError, match="a number instead of 'reml'"):
        GRLSRegressor().fit(np.ones((30, 2)), y)
