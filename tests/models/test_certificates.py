"""The duality gap of a support vector machine is that of the model, whatever the solver went by."""

import warnings
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from grls import SVMGBClassifier
from grls.exceptions import SeparableFeaturesWarning
from grls.kernels import Gaussian, Laplace, Linear, Polynomial
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning


def certificate(model, kernel, X, y, C):
    """Primal value, and gap relative to it, from the arrays of a fitted model of two classes."""
    f = model.decision_function(X)
    c = np.zeros(len(X))
    c[model.support_] = model.dual_coef_[:, 0]
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    quadratic = c @ kernel(X) @ c
    primal = 0.5 * quadratic + C * np.maximum(0, 1 - signs * f).sum()
    return primal, (primal - (signs @ c - 0.5 * quadratic)) / max(primal, 1e-6 * C * len(X))


def nearly_dependent(eps):
    return lambda X: np.c_[np.ones(len(X)), X[:, 0], X[:, 0] + eps * np.sin(7 * X[:, 0])]


def hostile(seed):
    random = np.random.default_rng(seed)
    m = int(random.choice([30, 80, 200]))
    X = random.standard_normal((m, int(random.choice([1, 2, 5])))) * random.choice([1.0, 1.0, 100.0])
    y = np.where(X[:, 0] + random.choice([0, 0.1, 1]) * X.std() * random.standard_normal(m) > 0, 1, -1)
    kernel = [Gaussian(X.std()), Linear(), Polynomial(2), Laplace(X.std())][random.integers(4)]
    features = ["constant", "linear", "quadratic", nearly_dependent(1e-2), nearly_dependent(1e-6)]
    settings = {
        "features": features[random.integers(5)],
        "C": 10.0 ** random.choice([-2, 0, 2, 4]),
        "tol": 10.0 ** random.choice([-3, -4, -6]),
        "solver": str(random.choice(["auto", "native", "ipm", "osqp"] if m <= 80 else ["auto", "native"])),
        "bias": str(random.choice(["multiplier", "multiplier", "lp"])) if m <= 80 else "multiplier",
    }
    return X, y, kernel, settings


@pytest.mark.parametrize("block", range(6))
def test_what_a_model_claims_holds_for_its_own_coefficients(block):
    for seed in range(10 * block, 10 * block + 10):
        X, y, kernel, settings = hostile(seed)
        if len(np.unique(y)) < 2:
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = SVMGBClassifier(kernel, **settings, max_iter=20_000).fit(X, y)
        primal, gap = certificate(model, kernel, X, y, settings["C"])
        tol, slack = settings["tol"], 1e-9 * max(1.0, settings["C"])
        assert abs(model.objective_[0] - primal) <= tol * max(primal, slack) + slack, (seed, settings)
        assert gap <= 3 * model.duality_gap_[0] + 1e-7, (seed, settings)
        if gap > 3 * tol:
            assert any(issubclass(w.category, ConvergenceWarning) for w in caught), (seed, settings)


def test_a_gap_that_rounding_hides_is_not_told_as_a_small_one():
    # Values of the kernel are 10¹⁷, those of the function 1: exact arithmetic says what the model is worth.
    random = np.random.default_rng(0)
    X, C = 1e4 * random.standard_normal((16, 3)), 1e-4
    y = np.where(X[:, 0] + 1e3 * random.standard_normal(16) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVMGBClassifier(Polynomial(2), C=C, solver="native").fit(X, y)
    rows = [[Fraction(float(value)) for value in row] for row in X]
    c = [Fraction(0)] * 16
    for i, value in zip(model.support_, model.dual_coef_[:, 0], strict=True):
        c[i] = Fraction(float(value))
    image = [
        sum(((sum(map(mul, row, other)) + 1) ** 2 * c[j] for j, other in enumerate(rows)), Fraction(0))
        for row in rows
    ]
    beta, signs = Fraction(float(model.feature_coef_[0, 0])), [int(sign) for sign in y]
    quadratic = sum(map(mul, c, image), Fraction(0))
    losses = [max(Fraction(0), 1 - sign * (value + beta)) for sign, value in zip(signs, image, strict=True)]
    primal = quadratic / 2 + Fraction(C) * sum(losses, Fraction(0))
    gap = primal - (sum(map(mul, signs, c), Fraction(0)) - quadratic / 2)
    assert float(gap / primal) <= model.duality_gap_[0]


def test_a_bias_of_the_linear_program_has_its_own_gap():
    random = np.random.default_rng(117)
    X = random.standard_normal((60, 2))
    y = np.where(X[:, 0] + 0.3 * random.standard_normal(60) > 0, 1, -1)
    model = SVMGBClassifier(Gaussian(1.0), bias="lp", features="linear", tol=1e-3, C=1.0).fit(X, y)
    primal, gap = certificate(model, Gaussian(1.0), X, y, 1.0)
    np.testing.assert_allclose(model.objective_, primal, rtol=1e-8)
    assert gap <= model.duality_gap_[0] + 1e-8


def test_every_pair_of_classes_has_the_gap_of_its_own_functions():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = SVMGBClassifier(Gaussian(1.0), C=5.0, tol=1e-5).fit(X, y, weights)
    values, full = model.set_params(decision_function_shape="ovo").decision_function(X), np.zeros((len(y), 3))
    full[model.support_] = model.dual_coef_
    for p, (a, b) in enumerate(model.pairs_):
        rows = np.isin(y, (a, b))
        signs = np.where(y[rows] == a, 1.0, -1.0)
        quadratic = full[rows, p] @ Gaussian(1.0)(X[rows]) @ full[rows, p]
        loss = 5.0 * weights[rows] @ np.maximum(0, 1 - signs * values[rows, p])
        np.testing.assert_allclose(model.objective_[p], 0.5 * quadratic + loss, rtol=1e-8)
        gap = quadratic + loss - signs @ full[rows, p]
        assert gap / model.objective_[p] <= model.duality_gap_[p] + 1e-9


def test_a_finite_feature_variance_is_part_of_the_gap():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = SVMGBClassifier(Gaussian(1.0), features="linear", feature_variance=2.0, tol=1e-6, C=1.0).fit(X, y)
    assert 0 <= model.duality_gap_[0] <= 1e-6


@pytest.mark.parametrize("kind", ["separable", "nearly separable", "dependent"])
@pytest.mark.parametrize("C", [1.0, 30.0])
def test_all_solvers_reach_the_same_objective_with_hard_features(kind, C):
    random = np.random.default_rng(1)
    X = random.standard_normal((120, 4))
    score = X @ np.arange(1, 5)
    y = (score > 0).astype(int)
    if kind != "separable":
        y[np.argsort(np.abs(score))[8:20:3]] ^= 1
    last = X[:, 0] + 1e-5 * X[:, 1] ** 2 if kind == "dependent" else X[:, 0] ** 2
    T = np.column_stack([np.ones(len(X)), X, last])
    kernel = Gaussian(2.0)
    objectives = []
    for solver in ("native", "ipm", "auto", "osqp"):
        model = SVMGBClassifier(kernel, features=lambda X: T, C=C, solver=solver, tol=1e-6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparableFeaturesWarning)
            model.fit(X, y)
        primal, gap = certificate(model, kernel, X, y, C)
        assert gap <= 1.1e-6, solver
        assert model.objective_[0] == pytest.approx(primal, rel=1e-6, abs=1e-9 * C * len(X))
        objectives.append(primal)
    assert np.ptp(objectives) <= 1e-6 * max(np.max(objectives), 1e-6 * C * len(X))


@pytest.mark.parametrize("seed", range(8))
def test_topics_that_separate_by_huge_coefficients_are_known_to(seed):
    # Most topics of a document are next to nothing, down to 10⁻³⁰⁰, and may still tell the classes apart.
    random = np.random.default_rng(seed)
    T = np.column_stack([np.ones(300), random.dirichlet(np.full(12, 0.01), 300)[:, :-1]])
    score = T @ (10.0 ** random.uniform(0, 6, 12) * random.choice([-1, 1], 12))
    y, X = score > np.median(score), random.normal(size=(300, 5))
    model = SVMGBClassifier(Linear(), features=lambda X: T, C=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparableFeaturesWarning)
        model.fit(X, y)
    primal, gap = certificate(model, Linear(), X, y, 10.0)
    assert model.duality_gap_[0] <= 1e-4
    assert gap <= 2e-4
    np.testing.assert_allclose(model.objective_[0], primal, rtol=1e-6, atol=1e-6)
