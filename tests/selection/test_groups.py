"""γ, and the kernel with it, by groups of rows that are left out."""

import numpy as np
import pytest
import reference
from grls import GRLSClassifier, GRLSRegressor, SVMGBClassifier
from grls._selection.by_holdout import held_out_rows
from grls._selection.parameters import Parameters
from grls._solvers.groups import Groups, dependent_without
from grls._solvers.kernel_problem import KernelProblem
from grls.exceptions import ConfoundedFeaturesWarning
from grls.features import Columns, EstimatorFeatures
from grls.kernels import Gaussian, Matern
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneGroupOut


def subjects(n_groups=8, each=12, seed=0):
    """Return rows of subjects, each of which has a level of its own that new subjects do not share."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_groups), each)
    X = rng.normal(size=(len(labels), 2)) + 3 * rng.normal(size=(n_groups, 2))[labels]
    y = np.sin(X[:, 0]) + rng.normal(size=n_groups)[labels] + 0.1 * rng.normal(size=len(labels))
    return X, y, labels


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_the_criterion_is_that_of_refits(weighted, repeated):
    X, y, labels = subjects()
    if repeated:  # at the same point, some in the same group and some not
        X[1], X[2], X[40] = X[0], X[0], X[0]
    weights = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float) if weighted else None
    grid = np.geomspace(1e-5, 1, 5)
    model = GRLSRegressor(
        Gaussian(1.5), features="linear", regularization="logo", regularization_grid=grid
    ).fit(X, y, weights, groups=labels)
    T, Phi = np.column_stack([np.ones(len(y)), X]), Gaussian(1.5)(X, X)
    expected = [
        np.average(
            reference.leave_groups_out_by_refits(Phi, T, y, gamma, labels, weights) ** 2, weights=weights
        )
        for gamma in grid
    ]
    assert_allclose(model.criterion_path_, expected, rtol=1e-8)
    assert model.regularization_ == pytest.approx(grid[np.argmin(expected)])
    residuals = reference.leave_groups_out(Phi, T, y, model.regularization_, labels, weights)
    assert_allclose(model.logo_predictions_, y - residuals, atol=1e-8)
    if not repeated:
        again = model.cross_validate(LeaveOneGroupOut())
        assert_allclose(again.predictions, model.logo_predictions_, atol=1e-8)
    assert not hasattr(model, "loo_predictions_")


def test_groups_that_are_left_out_promise_less_than_single_rows():
    X, y, labels = subjects()
    by_rows = GRLSRegressor(Gaussian(1.0), regularization="loo").fit(X, y)
    by_groups = GRLSRegressor(Gaussian(1.0), regularization="logo").fit(X, y, groups=labels)
    assert by_groups.logo_score_ < by_rows.loo_score_
    of_rows = by_rows.cross_validate(LeaveOneGroupOut(), groups=labels)
    assert np.mean(of_rows.residuals**2) > by_groups.criterion_path_.min()


def test_names_and_order_of_groups_do_not_matter():
    X, y, labels = subjects()
    names = np.array(list("hgfedcba"))[labels]
    first = GRLSRegressor(Gaussian(1.0), regularization="logo").fit(X, y, groups=labels)
    order = np.random.default_rng(0).permutation(len(y))
    second = GRLSRegressor(Gaussian(1.0), regularization="logo").fit(X[order], y[order], groups=names[order])
    assert second.regularization_ == pytest.approx(first.regularization_, rel=1e-4)
    assert_allclose(second.logo_predictions_, first.logo_predictions_[order], atol=1e-4)


def test_groups_of_one_row_are_leave_one_out():
    X, y, _ = subjects()
    by_rows = GRLSRegressor(Gaussian(1.0), features="linear", regularization="loo").fit(X, y)
    by_groups = GRLSRegressor(Gaussian(1.0), features="linear", regularization="logo")
    by_groups.fit(X, y, groups=np.arange(len(y)))
    assert by_groups.regularization_ == pytest.approx(by_rows.regularization_, rel=1e-4)


def test_feature_variance_is_chosen_by_groups_too():
    X, y, labels = subjects()
    grid = np.geomspace(1e-4, 1, 4)
    model = GRLSRegressor(
        Gaussian(1.5),
        features="linear",
        regularization="logo",
        regularization_grid=grid,
        feature_variance="auto",
    ).fit(X, y, groups=labels)
    found = model.cross_validate(LeaveOneGroupOut())
    assert_allclose(found.predictions, model.logo_predictions_, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_gradient_is_that_of_differences(outputs, weighted):
    X, y, labels = subjects(5, 9)
    Y = np.column_stack([y, np.cos(y)][:outputs])
    T = np.column_stack([np.ones(len(y)), X[:, 0]])
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y)) if weighted else None
    groups = Groups.of_labels(labels)

    def at(values):
        kernel = Gaussian(np.array(values[:2]))
        problem = KernelProblem(kernel, X, T, weights)
        parameters = Parameters(kernel, ["sigma"], 2)
        answer, slopes = parameters.gradient(problem, Y, float(values[2]), "logo", None, groups)
        return answer.value, np.append(slopes, answer.shift * problem.total_weight)

    point = np.array([1.0, 1.7, 1e-2])
    value, slopes = at(point)
    Phi = Gaussian(point[:2])(X, X)
    squared = [reference.leave_groups_out(Phi, T, y, 1e-2, labels, weights) ** 2 for y in Y.T]
    assert_allclose(value, np.mean([np.average(e, weights=weights) for e in squared]), rtol=1e-10)
    differences = reference.central_differences(lambda values: at(values)[0], point)
    assert_allclose(slopes, differences, rtol=1e-5)


def test_widths_are_optimized_by_groups():
    X, y, labels = subjects()
    given = GRLSRegressor(Gaussian(0.2), regularization="logo").fit(X, y, groups=labels)
    tuned = GRLSRegressor(Gaussian(0.2), regularization="logo", optimize=True).fit(X, y, groups=labels)
    assert tuned.criterion_path_.min() < given.criterion_path_.min()
    assert tuned.optimization_.by == "logo"
    grid = GRLSRegressor(
        Gaussian(0.2), regularization="logo", optimize={"sigma": np.geomspace(0.2, 20, 15)}
    ).fit(X, y, groups=labels)
    assert tuned.criterion_path_.min() <= grid.criterion_path_.min() * 1.001


def test_the_kernel_is_chosen_by_groups():
    X, y, labels = subjects()
    model = GRLSRegressor(regularization="logo").fit(X, y, groups=labels)
    assert model.optimization_.candidates
    assert model.logo_score_ > -1


def test_classifiers_leave_out_groups():
    X, y, labels = subjects()
    model = GRLSClassifier(Matern(1.0), regularization="logo").fit(X, y > 0, groups=labels)
    found = model.cross_validate(LeaveOneGroupOut())
    assert_allclose(found.decision, model.logo_predictions_, atol=1e-8)
    assert model.logo_score_ == pytest.approx(found.right.mean())


@pytest.mark.parametrize("options", [{}, {"optimize": True}, {"kernel": "auto"}])
def test_leave_one_out_with_groups_leaves_out_groups(options):
    X, y, labels = subjects(n_groups=5, each=8)
    options = {"kernel": Gaussian(1.0), **options}
    found = GRLSRegressor(**options).fit(X, y, groups=labels)
    named = GRLSRegressor(**options, regularization="logo").fit(X, y, groups=labels)
    assert found.regularization_ == named.regularization_
    assert_allclose(found.logo_predictions_, named.logo_predictions_)
    assert not hasattr(found, "loo_predictions_")
    assert "chosen by 'logo'" in str(found.summary())
    assert found.fit(X, y).regularization_ != named.regularization_
    assert not hasattr(found, "logo_predictions_")


def test_a_kernel_chosen_at_a_given_regularization_leaves_out_groups():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 10)  # clusters, whose rows tell each other's level
    X = (3 * rng.normal(size=(12, 2)))[labels] + 0.3 * rng.normal(size=(120, 2))
    y = 0.3 * X[:, 0] + rng.normal(size=12)[labels] + 0.1 * rng.normal(size=120)
    model = GRLSRegressor(regularization=1e-3)
    told = [
        {c.name: c.error for c in model.fit(X, y, groups=groups).optimization_.candidates}
        for groups in (labels, None)
    ]
    assert all(error > 1.2 * told[1][name] for name, error in told[0].items())


@pytest.mark.parametrize("regularization", ["gcv", "reml"])
@pytest.mark.parametrize("machine", [GRLSRegressor, GRLSClassifier])
def test_criteria_that_leave_no_rows_out_refuse_groups_by_name(machine, regularization):
    X, y, labels = subjects()
    with pytest.raises(ValueError, match=f"regularization='{regularization}' leaves no rows out"):
        machine(Gaussian(1.0), regularization=regularization).fit(X, y > 0, groups=labels)


@pytest.mark.parametrize("options", [{"kernel": "auto", "C": 1.0}, {"C": 1.0, "probability": True}])
def test_support_vector_machines_hold_out_groups_for_all_that_they_choose(options):
    X, y, labels = subjects(n_groups=10)
    model = SVMGBClassifier(**{"kernel": Gaussian(1.0), "tol": 1e-6, **options})
    by_groups, by_rows = (clone(model).fit(X, y > 0, groups=groups) for groups in (labels, None))
    if "probability" in options:
        assert np.abs(by_groups.predict_proba(X) - by_rows.predict_proba(X)).max() > 0.01
    else:
        errors = [model.optimization_.candidates[0].criterion for model in (by_groups, by_rows)]
        assert errors[0] > 1.1 * errors[1]


def test_groups_that_have_no_say_are_warned_of():
    X, y, labels = subjects()
    with pytest.warns(UserWarning, match="no choice needs rows held out"):
        SVMGBClassifier(Gaussian(1.0), C=1.0).fit(X, y > 0, groups=labels)


def test_rows_held_out_are_whole_groups():
    X, y, labels = subjects(n_groups=20)
    problem = KernelProblem(Gaussian(1.0), X, np.ones((len(y), 1)), None)
    held = held_out_rows(problem, labels)
    assert len(np.unique(labels[held])) == 2
    assert held.sum() == 24
    by_rows = GRLSRegressor(Gaussian(1.0), solver="cg", regularization="holdout").fit(X, y)
    by_groups = clone(by_rows).fit(X, y, groups=labels)
    assert by_groups.regularization_ != by_rows.regularization_


def test_what_cannot_be_left_out_is_said():
    X, y, labels = subjects()
    model = GRLSRegressor(Gaussian(1.0), regularization="logo")
    with pytest.raises(ValueError, match=r"fit\(X, y, groups=…\)"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="a group for each of the 96 rows"):
        model.fit(X, y, groups=labels[:5])
    with pytest.raises(ValueError, match="needs at least two of them"):
        model.fit(X, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y, groups=np.where(labels == 1, np.nan, labels))
    alone = np.column_stack([X, labels == 3])
    held = GRLSRegressor(Gaussian(1.0), features=Columns([0, 2]), regularization="logo")
    with pytest.raises(ValueError, match=r"without the group np\.int64\(3\)|without the group 3.*x2"):
        held.fit(alone, y, groups=labels)
    of_targets = GRLSRegressor(Gaussian(1.0), features=EstimatorFeatures(Ridge()), regularization="logo")
    with pytest.raises(ValueError, match="made from y"):
        of_targets.fit(X, y, groups=labels)


def test_dependence_without_a_group_is_found_whatever_the_units():
    rng = np.random.default_rng(0)
    T = np.column_stack([np.ones(20), 1e8 * rng.normal(size=20), 1e-9 * (np.arange(20) < 4)])
    groups = Groups.of([np.arange(10, 15), np.arange(5), np.arange(3)])
    assert dependent_without(T, None, groups) == (1, 2)
    assert dependent_without(T, rng.uniform(1, 2, size=20), Groups.of([np.arange(3)])) is None
    assert dependent_without(np.empty((20, 0)), None, groups) is None


def test_large_groups_and_confounded_features_warn_as_usual():
    X, y, labels = subjects()
    with pytest.warns(ConfoundedFeaturesWarning):
        GRLSRegressor(Gaussian(200.0), features="linear", regularization="logo").fit(X, y, groups=labels)


def test_the_core_checks_groups():
    X, y, labels = subjects()
    problem = KernelProblem(Gaussian(1.0), X, np.ones((len(y), 1)), None)
    reduced = problem.reduced(y[:, None], leave_one_out=True)
    c = reduced.at(np.array([1.0])).c[0]
    for rows, starts, message in (
        ([0, 96], [0, 2], "no sample 96"),
        ([0, -1], [0, 2], "no sample -1"),
        ([0, 1], [0, 3], "ascend"),
        ([0, 1], [0, 2, 1, 2], "ascend"),
        ([0, 1], [], "ascend"),
    ):
        groups = Groups(np.array(rows, dtype=np.intp), np.array(starts, dtype=np.intp))
        with pytest.raises(ValueError, match=message):
            reduced.leave_out(1.0, groups, c)
    fine = Groups.of_labels(labels)
    with pytest.raises(ValueError, match="c has 3 rows"):
        reduced.leave_out(1.0, fine, c[:3])
    with pytest.raises(ValueError, match="must be positive"):
        reduced.leave_out(0.0, fine, c)
    with pytest.raises(ValueError, match="reduced with leave_one_out"):
        problem.reduced(y[:, None], leave_one_out=False).leave_out(1.0, fine, c)
    twice = Groups.of([[0, 1], [1, 2]])
    parameters = Parameters(Gaussian(1.0), ["sigma"], 2)
    with pytest.raises(ValueError, match="sample 1 is in two"):
        parameters.gradient(problem, y[:, None], 1.0, "logo", None, twice)
    with pytest.raises(ValueError, match="2 of 96 samples"):
        parameters.gradient(problem, y[:, None], 1.0, "logo", None, Groups.of([[0, 1]]))


def test_a_kernel_is_chosen_by_groups_of_more_rows_than_are_looked_at():
    """The groups of the rows that are looked at are numbered anew."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(450, 2))
    groups = np.repeat(np.arange(30) * 7, 15)
    y = np.sin(2 * X[:, 0]) + rng.normal(size=211)[groups] * 0.1 + 0.1 * rng.normal(size=450)
    model = GRLSRegressor(kernel="auto", regularization="logo").fit(X, y, groups=groups)
    assert model.score(X, y) > 0.9
