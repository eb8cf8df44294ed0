"""A curve: figure 1 of the G-RLS paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from .._validation import FloatArray
from ..exceptions import ConfoundedFeaturesWarning
from ..kernels import Gaussian
from ..least_squares import GRLSRegressor
from ._methods import GRLS, PUBLISHED, PUBLISHED_FIRST, RIDGE, RidgePeer, chosen_sigma, grid_search
from ._tables import count, table

DOMAIN = (0.0, 10.0)
MARGIN = 1.0
NOISE = 0.5
WIDTHS = ("too small", "by CV", "too large")


@dataclass(frozen=True)
class CurveFit:
    """One curve fitted to the noisy points.

    Attributes
    ----------
    width : str
        How sigma was set, one of `WIDTHS`.
    method : str
        Name of the method.
    sigma, regularization : float
        Kernel width, and the γ that cross-validation chose for it.
    inside, outside : float
        Root mean square error against the true function on [0, 10], and on the unit intervals either side.
    model : estimator
        The fitted model.
    """

    width: str
    method: str
    sigma: float
    regularization: float
    inside: float
    outside: float
    model: Any


def truth(x: FloatArray) -> FloatArray:
    """Return the true curve, abs(5 - x)."""
    return np.abs(5 - x)


def noisy_points(seed: int, n_points: int = 60) -> tuple[FloatArray, FloatArray]:
    """Return x of shape (n, 1), spread uniformly over the domain, and noisy y."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(*DOMAIN, n_points))[:, None]
    return x, truth(x[:, 0]) + rng.normal(0, NOISE, n_points)


def _error(model: Any, x: FloatArray) -> float:
    return float(np.sqrt(np.mean((model.predict(x[:, None]) - truth(x)) ** 2)))


def curve(seed: int = 0, quick: bool = False, first_pivots: bool = False) -> list[CurveFit]:
    """Fit abs(5 - x) as the paper's figure 1 does: three widths, γ by cross-validation for each.

    Parameters
    ----------
    seed : int, default=0
        Of the points and of the folds.
    quick : bool, default=False
        Every second value of γ only.
    first_pivots : bool, default=False
        Whether to fit the published formulation to the letter too, with the first points as pivots. For that
        the points are in random order, as drawn points are.

    Returns
    -------
    list of CurveFit
        G-RLS and kernel ridge for each width, then the published formulation with its own best width.
    """
    x, y = noisy_points(seed)
    if first_pivots:
        order = np.random.default_rng([seed, 1]).permutation(len(x))
        x, y = x[order], y[order]
    low, high = DOMAIN
    sigmas = dict(zip(WIDTHS, ([0.1], [0.25, 0.5, 1.0, 2.0, 4.0], [10.0]), strict=True))
    gammas = np.logspace(-10, 0, 6 if quick else 11)
    cv = KFold(5, shuffle=True, random_state=seed)
    inside = np.linspace(low, high, 501)
    outside = np.concatenate([np.linspace(low - MARGIN, low, 51), np.linspace(high, high + MARGIN, 51)])
    free = GRLSRegressor(Gaussian(1.0), features="quadratic")
    trials = [
        (width, method, model) for width in WIDTHS for method, model in ((GRLS, free), (RIDGE, RidgePeer()))
    ]
    printed = clone(free).set_params(formulation="published")
    trials.append(("by CV", PUBLISHED, printed))
    if first_pivots:
        trials.append(("by CV", PUBLISHED_FIRST, clone(printed).set_params(pivots="first")))

    fits = []
    for width, method, model in trials:
        with warnings.catch_warnings():
            # The grid goes through widths at which the kernel takes the features over: that is what is shown.
            warnings.simplefilter("ignore", ConfoundedFeaturesWarning)
            search = grid_search(model, sigmas[width], gammas, cv, "neg_mean_squared_error").fit(x, y)
        best = search.best_estimator_
        fits.append(
            CurveFit(
                width,
                method,
                chosen_sigma(search),
                float(search.best_params_["regularization"]),
                _error(best, inside),
                _error(best, outside),
                best,
            )
        )
    return fits


def _medians(draws: Sequence[Sequence[CurveFit]]) -> list[tuple[float, float]]:
    """Return the median errors inside and outside of each row of the table, over the draws."""
    errors = np.median([[(fit.inside, fit.outside) for fit in fits] for fits in draws], axis=0)
    return [(float(inside), float(outside)) for inside, outside in errors]


def curve_verdicts(draws: Sequence[Sequence[CurveFit]]) -> list[str]:
    """Say how much depends on the width, and which method is better outside the data."""
    lines = []
    medians = list(zip(draws[0], _medians(draws), strict=True))
    for method in (GRLS, RIDGE):
        mine = [errors for fit, errors in medians if fit.method == method]
        inside, outside = (f"{min(e):.2f} to {max(e):.2f}" for e in zip(*mine, strict=True))
        lines.append(f"{method:<12} over the three widths: error inside {inside}, outside {outside}")
    for width in WIDTHS:
        pairs = [
            [f.outside for f in fits if f.width == width and f.method in (GRLS, RIDGE)] for fits in draws
        ]
        wins = sum(free < plain for free, plain in pairs)
        lines.append(
            f"sigma {width}: G-RLS is the better one outside in {wins} of {count(len(pairs), 'draw')}"
        )
    return lines


def curve_table(draws: Sequence[Sequence[CurveFit]]) -> str:
    """Return the table of the curves: the first draw, and medians over all of them."""
    header = ["width", "method", "sigma", "regularization", "inside", "outside"]
    rows = [
        [f.width, f.method, f"{f.sigma:g}", f"{f.regularization:.0e}", f"{f.inside:.3f}", f"{f.outside:.3f}"]
        for f in draws[0]
    ]
    if len(draws) > 1:
        header += ["inside, median", "outside, median"]
        rows = [
            [*row, *(f"{error:.3f}" for error in errors)]
            for row, errors in zip(rows, _medians(draws), strict=True)
        ]
    return table(header, rows, 2)
