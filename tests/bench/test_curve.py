"""The curve of the G-RLS paper's figure 1."""

from __future__ import annotations

import numpy as np
import pytest
from grls import GRLSRegressor
from grls.kernels import Gaussian
from repository import ROOT, needs

pytestmark = needs("bench/paper")


@pytest.fixture
def figure(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.paper.experiments import _curve

    return _curve


def test_kernel_ridge_takes_the_parameters_of_grls(figure):
    x, y = figure.noisy_points(3)
    Phi = Gaussian(sigma=1.5)(x)
    expected = Phi @ np.linalg.solve(Phi + 1e-2 * len(x) * np.eye(len(x)), y)
    np.testing.assert_allclose(figure.RidgePeer(1.5, 1e-2).fit(x, y).predict(x), expected, rtol=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_too_small_a_width_harms_kernel_ridge_most_on_any_draw(figure, seed: int):
    x, y = figure.noisy_points(seed)
    known = GRLSRegressor(Gaussian(0.1), features="quadratic", regularization=1e-1).fit(x, y)
    plain = figure.RidgePeer(0.1, 1e-3).fit(x, y)
    grid = np.linspace(-1, 0, 20)
    assert figure._error(known, grid) < 2 < 4 < figure._error(plain, grid)


@pytest.mark.slow
def test_features_make_thefigure_insensitive_to_the_width(figure):
    fits = figure.curve(0)
    errors = {
        method: np.array([(f.inside, f.outside) for f in fits if f.method == method])
        for method in (figure.GRLS, figure.RIDGE)
    }
    # The widest kernels are all but polynomials themselves: there neither method has to be the better one.
    assert np.all(errors[figure.GRLS][0] < errors[figure.RIDGE][0] / 2)
    assert np.all(np.ptp(errors[figure.GRLS], axis=0) < np.ptp(errors[figure.RIDGE], axis=0) / 2)
    assert errors[figure.GRLS][:, 0].max() < figure.NOISE
    exact = next(f for f in fits if (f.width, f.method) == ("by CV", figure.GRLS))
    published = next(f for f in fits if f.method == figure.PUBLISHED)
    assert (exact.model.formulation, published.model.formulation) == ("exact", "published")
    assert published.inside < figure.NOISE
