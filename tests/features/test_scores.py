"""Normal scores beside columns: the map, its slopes, and kernels that read it."""

import numpy as np
import pytest
from grls import GRLSRegressor
from grls.features import NormalScores
from grls.kernels import Gaussian, Matern
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats


def tailed(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), np.exp(2 * rng.normal(size=n)), rng.integers(0, 2, size=n)])


def test_scores_are_those_of_midranks():
    X = tailed(50)  # fewer values than knots: the map is exact at each
    X[:10, 1] = X[0, 1]
    out = NormalScores([1]).fit(X).transform(X)
    assert_array_equal(out[:, :3], X)
    expected = stats.norm.ppf((stats.rankdata(X[:, 1]) - 0.5) / len(X))
    assert_allclose(out[:, 3], expected, atol=1e-12)


def test_with_fewer_knots_it_is_a_line_between_training_values():
    X = tailed(1000)
    scores = NormalScores([1], n_knots=9).fit(X)
    (knots,), (values,) = scores.knots_, scores.scores_
    assert len(knots) == len(values) == 9
    assert set(knots) <= set(X[:, 1])
    assert (knots[0], knots[-1]) == (X[:, 1].min(), X[:, 1].max())
    assert_allclose(np.diff(values), np.diff(values).mean(), rtol=0.2)
    low, middle, high = knots[0], np.median(X[:, 1]), knots[-1]
    beyond = scores.transform([[0.0, low - 5.0, 0.0], [0.0, 1e12, 0.0]])
    assert_array_equal(beyond[:, 1], [low, high])
    further = [-np.log1p(5.0 / (middle - low)), np.log1p((1e12 - high) / (high - middle))]
    assert_allclose(beyond[:, 3], values[[0, -1]] + further)


def test_only_columns_with_tails_have_scores_whatever_their_units():
    rng = np.random.default_rng(1)
    n = 400
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.uniform(size=n),
            rng.integers(0, 2, size=n),
            np.ones(n),
            rng.exponential(size=n),
            -np.exp(8 * rng.uniform(size=n)),
            rng.standard_t(1.5, size=n),
        ]
    )
    for units in (1.0, 1e150, 10.0 ** np.arange(-6, 8, 2)):
        assert NormalScores().fit(X * units).columns_.tolist() == [4, 5, 6]


def test_repeated_rows_count_once():
    X = tailed(60)
    repeated = np.repeat(X, np.arange(60) % 3 + 1, axis=0)
    assert_array_equal(NormalScores().fit(X).transform(X), NormalScores().fit(repeated).transform(X))


def test_slopes_are_the_derivative():
    X = tailed(300)
    scores = NormalScores([0, 1]).fit(X)
    new = np.vstack([tailed(50, seed=1), [0.0, 1e4, 0.0], [0.0, -3.0, 0.0]])
    step = 1e-7 * np.abs(new[:, 1])
    above, below = new.copy(), new.copy()
    above[:, 1] += step
    below[:, 1] -= step
    slopes = (scores.transform(above) - scores.transform(below)) / (2 * step[:, None])
    of_columns, of_scores = scores.slopes(new)
    assert_allclose(of_columns[:, 1], slopes[:, 1], atol=1e-6)
    assert_allclose(of_scores[:, 1], slopes[:, 4], rtol=1e-5, atol=1e-9)


def test_names_and_bad_columns():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(tailed(), columns=["a", "b", "c"])
    assert NormalScores("b").fit(X).get_feature_names_out().tolist() == ["a", "b", "c", "score_b"]
    with pytest.raises(ValueError, match=r"NormalScores\.columns"):
        NormalScores("d").fit(X)
    with pytest.raises(ValueError, match=r"NormalScores\.n_knots"):
        NormalScores(n_knots=1).fit(X)


@pytest.mark.parametrize("columns", [None, [0, 1]], ids=["all", "some"])
def test_a_kernel_after_scores_has_gradients_and_derivatives(columns):
    X = tailed(80)
    y = np.sin(np.log(X[:, 1])) + 0.1 * X[:, 0]
    kernel = Matern("medians", nu=2.5).after(NormalScores([1]))
    if columns is not None:
        kernel = kernel.on(columns)
    model = GRLSRegressor(kernel, regularization=1e-4).fit(X, y)
    new = tailed(20, seed=3)
    _, gradient = model.predict(new, return_gradient=True)
    for c in range(3):
        step = np.zeros(3)
        step[c] = 1e-7
        slope = (model.predict(new + step) - model.predict(new - step)) / 2e-7
        assert_allclose(gradient[:, c], slope, rtol=1e-4, atol=1e-5)


def test_a_part_of_a_kernel_after_scores_has_no_gradient():
    X = tailed(40)
    kernel = Gaussian(1.0).after(NormalScores([1])) + Gaussian(1.0)
    model = GRLSRegressor(kernel, regularization=1e-2).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="linear maps only"):
        model.predict(X, return_gradient=True)


def test_it_converts_to_onnx():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from grls import to_onnx

    X = tailed(80)
    kernel = Gaussian("medians").after(NormalScores([0, 1]))
    model = GRLSRegressor(kernel, regularization=1e-3).fit(X, np.log(X[:, 1]))
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    new = np.vstack([tailed(30, seed=2), [0.0, 1e9, 0.0], [0.0, -1.0, 1.0]])
    (predicted,) = session.run(None, {"X": new})
    assert_allclose(predicted, model.predict(new), atol=1e-8)
