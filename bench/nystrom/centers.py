"""What `n_centers="auto"` costs, and what other draws of centres than uniform ones gain."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .rows import Row, regression, row

_SETS = (("protein", 0.63), ("california", 1.5))


def _fitted(model: Any, X: Any, y: Any) -> tuple[float, Any]:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start, model


def _scenes(quick: bool) -> list[tuple[str, Any, Any, Any, Any, float]]:
    out = []
    for name, width in _SETS:
        found = regression(name, quick)
        if found is not None:
            X, y, X_test, y_test, source = found
            out.append((source, X[:10_000], y[:10_000], X_test, y_test, width))
    return out


def _error(model: Any, X: Any, y: Any) -> float:
    return round(float(np.sqrt(np.mean((model.predict(X) - y) ** 2))), 4)


def scene_doubling(quick: bool, repeats: int) -> list[Row]:
    """Double the centres until that stops gaining; `ratio`: CPU time over the fit with the number kept."""
    from grls import NystromGRLSRegressor
    from grls.kernels import Laplace

    out = []
    for name, X, y, X_test, y_test, width in _scenes(quick):
        options: dict[str, Any] = {"kernel": Laplace(width), "features": "linear"}
        found = [_fitted(NystromGRLSRegressor(**options, n_centers="auto"), X, y) for _ in range(repeats)]
        doubled = found[0][1]
        kept = len(doubled.X_fit_)
        once = [_fitted(NystromGRLSRegressor(**options, n_centers=kept), X, y) for _ in range(repeats)]
        seconds, one = (min(entry[0] for entry in entries) for entries in (found, once))
        scene = f"doubling, {name}, n={len(y)}, CPU seconds"
        tried = ", ".join(str(number) for number in doubled.n_centers_path_)
        out.append(
            row(
                scene,
                f"auto: {tried}; kept {kept}",
                seconds,
                ratio=round(seconds / one, 1),
                error=_error(doubled, X_test, y_test),
            )
        )
        out.append(row(scene, f"M={kept}", one, ratio=1.0, error=_error(once[0][1], X_test, y_test)))
    return out


def scene_draws(quick: bool, repeats: int) -> list[Row]:
    """Draw centres uniformly, by leverage or by clusters: the mean error of some draws, and CPU time."""
    from grls import NystromGRLSRegressor
    from grls.kernels import Laplace

    out = []
    M = 40 if quick else 500
    for name, X, y, X_test, y_test, width in _scenes(quick):
        for draw in ("uniform", "leverage", "kmeans"):
            fits = [
                _fitted(
                    NystromGRLSRegressor(
                        Laplace(width), features="linear", n_centers=M, centers=draw, random_state=seed
                    ),
                    X,
                    y,
                )
                for seed in range(repeats)
            ]
            errors = [_error(model, X_test, y_test) for _, model in fits]
            out.append(
                row(
                    f"draws, {name}, n={len(y)}, M={M}, CPU seconds",
                    draw,
                    min(seconds for seconds, _ in fits),
                    error=round(float(np.mean(errors)), 4),
                )
            )
    return out
