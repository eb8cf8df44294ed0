"""Kernel and γ of a conformal band, from rows that do not calibrate."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._models.samples import FreeFeatures
from .._validation import FloatArray
from .._warnings import muted
from ..kernels import Kernel
from ..losses import GRRegressor

__all__ = ["chosen_kernel"]


def chosen_kernel(
    kernel: Any,
    regularization: float | str,
    levels: list[float],
    features: FreeFeatures,
    given: Any,
    scores: FloatArray,
) -> tuple[Kernel, float]:
    """Return the kernel with everything fixed, and γ, of a quantile regression of the scores.

    given: the rows that tune, as transformers see them; their scores (n,).
    """
    model = GRRegressor(
        kernel,
        features=features.at,
        loss="quantile",
        quantiles=levels,
        regularization=regularization,
        tol=1e-3,
    )
    with muted():  # features that are dependent in these rows only
        model.fit(given, scores)
    return model.kernel_, float(np.ravel(model.regularization_)[0])
