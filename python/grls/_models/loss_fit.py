"""What an engine of `GRRegressor` hands back, whatever the loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray


@dataclass
class GammaPath:
    """The γ that were tried for one output, ascending, and the loss of rows left out there."""

    path: FloatArray  # (g,)
    criterion: FloatArray  # (g,)
    predictions: FloatArray  # (m, levels): of each row by a model without it, at the chosen γ; NaN: not drawn


@dataclass
class LossFit:
    """k model functions f = Φc + Tβ: one for each output, or one for each level."""

    c: FloatArray  # (m, k)
    beta: FloatArray  # (l, k)
    kept: list[int]  # the features that have a coefficient
    regularization: FloatArray  # (outputs,)
    objective: FloatArray  # (k,)
    gap: FloatArray  # (k,): relative to the objective
    iterations: NDArray[np.intp]  # (k,)
    paths: list[GammaPath] | None = None  # one for each output, where γ was chosen
    more: dict[str, Any] = field(default_factory=dict)  # further attributes of the estimator
