"""Standard deviations from variances that were computed."""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray


def require_finite(variance: FloatArray) -> None:
    """ValueError where a variance is not a number."""
    if not np.isfinite(variance).all():
        raise ValueError(
            "the variances of the model function are not finite: the rows are too large for the kernel or "
            "the features, too few to tell variances, or the arrays of this model were changed after the fit"
        )


def standard_deviations(variance: FloatArray) -> FloatArray:
    """Return the roots of variances, which rounding may have left below zero."""
    require_finite(variance)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))
