"""The curve of the G-RLS paper's figure 1."""

from __future__ import annotations

import numpy as np
import pytest
from grls import GRLSRegressor
from grls.kernels import Gaussian

from bench.paper.experiments import _curve


def test_kernel_ridge_takes_the_parameters_of_grls():
    x, y = _curve.noisy_points(3)
    Phi = Gaussian(sigma=1.5)(x)
    expected = Phi @ np.linalg.solve(Phi + 1e-2 * len(x) * np.eye(len(x)), y)
    np.testing.assert_allclose(_curve.RidgePeer(1.5, 1e-2).fit(x, y).predict(x), expected, rtol=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_too_small_a_width_harms_kernel_ridge_most_on_any_draw(seed: int):
    x, y = _curve.noisy_points(seed)
    known = GRLSRegressor(Gaussian(0.1), features="quadratic", regularization=1e-1).fit(x, y)
    plain = _curve.RidgePeer(0.1, 1e-3).fit(x, y)
    grid = np.linspace(-1, 0, 20)
    assert _curve._error(known, grid) < 2 < 4 < _curve._error(plain, grid)


@pytest.mark.slow
def test_features_make_the_curve_insensitive_to_the_width():
    fits = _curve.curve(0)
    errors = {
        method: np.array([(f.inside, f.outside) for f in fits if f.method == method])
        for method in (_curve.GRLS, _curve.RIDGE)
    }
    # The widest kernels are all but polynomials themselves: there neither method has to be the better one.
    assert np.all(errors[_curve.GRLS][0] < errors[_curve.RIDGE][0] / 2)
    assert np.all(np.ptp(errors[_curve.GRLS], axis=0) < np.ptp(errors[_curve.RIDGE], axis=0) / 2)
    assert errors[_curve.GRLS][:, 0].max() < _curve.NOISE
    exact = next(f for f in fits if (f.width, f.method) == ("by CV", _curve.GRLS))
    published = next(f for f in fits if f.method == _curve.PUBLISHED)
    assert (exact.model.formulation, published.model.formulation) == ("exact", "published")
    assert published.inside < _curve.NOISE
