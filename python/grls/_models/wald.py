"""Tables of `summary()` that models with a smooth loss share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from .._validation import FloatArray
from ..summary import Table, Value, Values
from .summaries import DROPPED


def wald_table(labels: list[str], value: FloatArray, std: FloatArray, dropped: list[str]) -> Table:
    """Return coefficients with standard errors and Wald's tests, by the normal distribution."""
    value, std = value.ravel(), std.ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        z = value / std
    away = float(stats.norm.ppf(0.975)) * std
    columns: dict[str, Any] = {
        "coefficient": value,
        "SE": std,
        "z": z,
        "p": 2 * stats.norm.sf(np.abs(z)),
        "2.5 %": value - away,
        "97.5 %": value + away,
    }
    return Table("coefficients", "feature", labels, columns, dict.fromkeys(dropped, DROPPED))


def machine_facts(model: Any, rows: float, more: Sequence[Value] = ()) -> Values:
    """Return what was fitted to how many rows."""
    how = f"chosen by {model.regularization!r}" if isinstance(model.regularization, str) else "given"
    kernel = re.sub(r"\d+\.\d{6,}(e-?\d+)?", lambda found: f"{float(found[0]):.6g}", repr(model.kernel_))
    kept, n_features = int(model.feature_support_.sum()), model.n_features_free_
    shown = None if kept == n_features else f"{kept} of {n_features}"
    gamma = float(model.regularization_)
    return Values(
        "",
        [
            Value("n_rows", "rows", rows),
            *more,
            Value("n_features", "features", kept, shown),
            Value("kernel", "kernel", kernel),
            Value("regularization", "regularization γ", gamma, f"{gamma:.4g}, {how}"),
        ],
    )
