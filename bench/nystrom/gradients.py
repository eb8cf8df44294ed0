"""The exact model by conjugate gradients: centres of its preconditioner, and what choosing γ costs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .rows import Row, drawn_rows, regression, row

_KERNELS = "Gaussian", "Matern"


def _sets(quick: bool) -> dict[str, tuple[Any, Any, float]]:
    """Rows, targets and a width of some problems: real ones where they are at hand."""
    m = 400 if quick else 6000
    rng = np.random.default_rng(0)
    X, y = drawn_rows(m)
    out = {"normal, d=20": (X, y, 4.0)}
    for name in ("protein", "california"):
        found = regression(name, quick)
        if found is not None and found[4] == name:
            out[f"{name}, d={found[0].shape[1]}"] = found[0][:m], found[1][:m], 1.5
    middles = rng.uniform(size=(20, 2))
    share = rng.pareto(1, 20) + 0.05
    places = middles[rng.choice(20, m, p=share / share.sum())] + 0.02 * rng.standard_normal((m, 2))
    for name, X in (("crowded map, d=2", places), ("map, d=2", rng.uniform(size=(m, 2)))):
        out[name] = X, np.sin(9 * X[:, 0]) + np.cos(7 * X[:, 1]) + 0.1 * rng.standard_normal(m), 0.1
    return out


def _cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = work()
    return time.process_time() - start, made


def scene_centres(quick: bool, repeats: int) -> list[Row]:
    """Fit with centres drawn uniformly, and by a randomly pivoted Cholesky factorisation: steps and CPU time.

    There are as many centres as a tenth of the rows, as at 20,000 rows with the 2,000 of the solver.
    """
    import grls._solvers.matrix_free as solver
    from grls import GRLSRegressor, kernels

    out = []
    before = solver._PIVOTED, solver._MOST_CENTERS
    try:
        for name, (X, y, width) in _sets(quick).items():
            solver._MOST_CENTERS = len(y) // 10
            for family in _KERNELS:
                model = GRLSRegressor(
                    getattr(kernels, family)(width), features="linear", regularization=1e-5, solver="cg"
                )
                times: dict[str, list[float]] = {"uniform": [], "pivoted": []}
                steps = {}
                for _ in range(repeats):
                    for draw in times:
                        solver._PIVOTED = draw == "pivoted"
                        seconds, fitted = _cpu(lambda model=model, X=X, y=y: model.fit(X, y))
                        times[draw].append(seconds)
                        steps[draw] = fitted.n_iter_
                for draw, seconds in times.items():
                    ratio = min(times["uniform"]) / min(seconds)
                    scene = f"centres, {name}, {family}, n={len(y)}, γ=1e-5, CPU seconds"
                    out.append(row(scene, draw, min(seconds), ratio=round(ratio, 2), steps=steps[draw]))
    finally:
        solver._PIVOTED, solver._MOST_CENTERS = before
    return out


def scene_choice(quick: bool, repeats: int) -> list[Row]:
    """Choose γ without a matrix: CPU time over that of the fit with it, and γ over that of the closed form.

    `ratio` is the former; `error` is the logarithm of the latter.
    """
    import grls._solvers.matrix_free as solver
    from grls import GRLSRegressor, kernels

    out = []
    before = solver._MOST_CENTERS
    try:
        for name, (X, y, width) in _sets(quick).items():
            X, y = X[:3000], y[:3000]
            solver._MOST_CENTERS = len(y) // 10
            for by in ("gcv", "reml"):
                given: dict[str, Any] = {"kernel": kernels.Matern(width), "features": "linear"}
                chosen = [
                    _cpu(lambda given=given, by=by, X=X, y=y: GRLSRegressor(
                        **given, regularization=by, solver="cg"
                    ).fit(X, y))
                    for _ in range(repeats)
                ]  # fmt: skip
                gamma = chosen[0][1].regularization_
                fits = [
                    _cpu(lambda given=given, gamma=gamma, X=X, y=y: GRLSRegressor(
                        **given, regularization=gamma, solver="cg"
                    ).fit(X, y))
                    for _ in range(repeats)
                ]  # fmt: skip
                exact = _cpu(lambda given=given, by=by, X=X, y=y: GRLSRegressor(
                    **given, regularization=by
                ).fit(X, y))[1]  # fmt: skip
                seconds, one = (min(entry[0] for entry in entries) for entries in (chosen, fits))
                out.append(
                    row(
                        f"choice, {name}, n={len(y)}, CPU seconds",
                        by,
                        seconds,
                        ratio=round(seconds / one, 1),
                        error=round(float(np.log(gamma / exact.regularization_)), 2),
                        steps=fits[0][1].n_iter_,
                    )
                )
    finally:
        solver._MOST_CENTERS = before
    return out
