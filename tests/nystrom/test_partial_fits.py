"""Sums that are added up step by step: what is told on the way, and that no row counts twice."""

import copy
import pickle

import numpy as np
import pytest
from grls import FourierGRLSRegressor, NystromGRLSClassifier, NystromGRLSRegressor
from grls.exceptions import PrecisionWarning
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(240, 2))
Y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(240)
LABELS = np.where(Y > 0, "up", "down")
CUTS = [slice(0, 80), slice(80, 150), slice(150, 240)]


def model(**parameters):
    return NystromGRLSRegressor(**{"kernel": Gaussian(0.8), "n_centers": 60, **parameters})


def test_copies_of_a_model_count_the_block_that_they_share_once():
    first = model(kernel=Gaussian("median")).partial_fit(X[CUTS[0]], Y[CUTS[0]])
    alone = copy.deepcopy(first)
    copies = [pickle.loads(pickle.dumps(first)) for _ in range(2)]
    for part, one in zip(CUTS[1:], copies, strict=True):
        one.partial_fit(X[part], Y[part], solve=False)
        alone.partial_fit(X[part], Y[part])
    idle = copy.deepcopy(first)  # has seen nothing new
    merged = first.merge(copies[0], idle).merge(copies[1])
    assert merged.n_samples_seen_ == 240
    assert_allclose(merged.predict(X), alone.predict(X), atol=1e-9)
    # Also where the block is not the first of the one that takes it.
    other = model(kernel=alone.kernel_, centers=alone.X_fit_).partial_fit(X[CUTS[2]], Y[CUTS[2]], solve=False)
    kinds = [model(kernel=alone.kernel_, centers=alone.X_fit_).partial_fit(X[CUTS[0]], Y[CUTS[0]])]
    kinds.append(copy.deepcopy(kinds[0]).partial_fit(X[CUTS[1]], Y[CUTS[1]]))
    assert other.merge(*kinds).n_samples_seen_ == 240
    assert_allclose(other.predict(X), alone.predict(X), atol=1e-9)


def test_rows_that_would_count_twice_are_refused():
    first = model().partial_fit(X[:80], Y[:80])
    with pytest.raises(ValueError, match="not merged with itself: its rows would count twice"):
        first.merge(first)
    second = copy.deepcopy(first).partial_fit(X[80:], Y[80:])
    merged = copy.deepcopy(first).merge(second)
    before = merged.predict(X)
    with pytest.raises(ValueError, match="seen the same blocks, whose rows would count twice"):
        merged.merge(second)
    with pytest.raises(ValueError, match="count twice"):
        first.merge(second, second)
    assert (merged.n_samples_seen_, first.n_samples_seen_) == (240, 80)
    assert_allclose(merged.predict(X), before, rtol=0)


def test_rows_that_are_given_twice_count_twice():
    twice = model(centers=X[:60], regularization=1e-3).partial_fit(X, Y).partial_fit(X[:40], Y[:40])
    weights = np.where(np.arange(240) < 40, 2.0, 1.0)
    weighted = model(centers=X[:60], regularization=1e-3).fit(X, Y, weights)
    assert twice.n_samples_seen_ == 280
    assert_allclose(twice.predict(X), weighted.predict(X), atol=1e-9)


STREAMED = {
    "values": (lambda: model(), Y),
    "labels": (lambda: NystromGRLSClassifier(Gaussian(0.8), n_centers=60), LABELS),
    "modes": (lambda: FourierGRLSRegressor(Gaussian(0.8), domain=([-1, -1], [1, 1]), regularization=1e-2), Y),
}


@pytest.mark.parametrize("name", STREAMED)
def test_sums_without_coefficients_say_what_is_missing(name):
    make, y = STREAMED[name]
    streamed = make().partial_fit(X, y, solve=False)
    methods = [method for method in ("predict", "decision_function", "summary") if hasattr(streamed, method)]
    for method in methods:
        with pytest.raises(NotFittedError, match=r"sums of rows and no coefficients yet.*call solve\(\)"):
            getattr(streamed, method)(*([] if method == "summary" else [X]))
    repr(streamed), streamed._repr_html_()
    assert len(streamed.solve().predict(X)) == 240
    with pytest.raises(NotFittedError, match="not fitted yet"):
        make().predict(X)
    # A new stream forgets the model of other rows.
    fitted = make().fit(X, y)
    fitted.partial_fit(X[:100], y[:100], solve=False)
    with pytest.raises(NotFittedError, match="call solve"):
        fitted.predict(X)


def test_what_is_warned_of_is_kept_after_every_step():
    exact = {"regularization": 1e-17, "n_centers": 120}
    with pytest.warns(PrecisionWarning):
        told = model(**exact).fit(X, Y).fit_warnings_
    assert len(told) == 1
    streamed = model(**exact).partial_fit(X, Y, solve=False)
    assert streamed.fit_warnings_ == []
    other = copy.deepcopy(streamed)
    with pytest.warns(PrecisionWarning):
        assert streamed.solve().fit_warnings_ == told
    with pytest.warns(PrecisionWarning):
        assert model(**exact).partial_fit(X, Y).fit_warnings_ == told
    with pytest.warns(PrecisionWarning):
        assert "PrecisionWarning" in other.merge(copy.deepcopy(other)).fit_warnings_[0]
    assert streamed.set_params(regularization=1e-3).solve().fit_warnings_ == []


def test_what_a_block_is_warned_of_stays_with_the_sums():
    wide = np.where(np.arange(80) == 0, 1e14, 1.0)
    with pytest.warns(PrecisionWarning) as given:
        streamed = model(regularization=0.1).partial_fit(X[:80], Y[:80], wide, solve=False)
    said = [f"{each.category.__name__}: {each.message}" for each in given]
    assert streamed.fit_warnings_ == said
    streamed.partial_fit(X[80:], Y[80:], solve=False)
    assert streamed.fit_warnings_ == said
