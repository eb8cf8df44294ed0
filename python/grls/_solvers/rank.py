"""Which features are independent: the one place where that is decided outside the core's own solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from .. import _core
from .._validation import FloatArray


def dependence_tolerance(n_samples: int, dtype: DTypeLike = np.float64) -> float:
    """Return the share of a feature below which what other features leave of it is rounding error."""
    return float(10 * np.sqrt(n_samples) * np.finfo(dtype).eps)


def independent_columns(T: FloatArray, tolerance: float) -> list[int]:
    """Return the columns of T that are not made of the others, in ascending order."""
    return sorted(_core.null_space(T=T, tolerance=tolerance)[1]) if T.shape[1] else []
