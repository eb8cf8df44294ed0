"""Features whose coefficients have a prior, in a model on centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import kernels
from .._models.feature_prior import SplitFeatures
from .._models.leverage import Leverage
from .._validation import FloatArray


@dataclass(frozen=True)
class Penalised:
    """Features with a prior: further columns of the points, and of a linear kernel beside the user's."""

    kernel: kernels.Kernel  # the user's, resolved
    parts: SplitFeatures
    variance: float
    leverage: Leverage | None

    def coefficients(self, free: FloatArray, centers: Any, c: FloatArray) -> FloatArray:
        """Return those of all features, (l, k), from those of the free ones and c of the centres."""
        d = centers.shape[1] - self.parts.Z.shape[1]
        along = np.asarray(centers[:, d:].T @ c)  # √τ Zᵀc
        return np.asarray(self.parts.A @ np.vstack([free, np.sqrt(self.variance) * along]))
