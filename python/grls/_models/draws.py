"""Normal random numbers of a given covariance, which may be singular."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from .._validation import FloatArray


def correlated(covariance: FloatArray, z: FloatArray) -> FloatArray:
    """Return Rz with RRᵀ the covariance (n, n), which is overwritten; z (n, p) are standard normal.

    R comes from a Cholesky factorisation of the correlations, the largest pivot first. It stops where no row
    keeps more than nε of its own variance: repeated rows need no jitter.
    """
    n = len(covariance)
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    divisor = np.where(scale > 0, scale, 1.0)
    covariance /= divisor
    covariance /= divisor[:, None]
    # The transpose is column-major, and the same matrix.
    tolerance = n * np.finfo(np.float64).eps
    R, pivots, rank, _ = lapack.dpstrf(covariance.T, tol=tolerance, lower=1, overwrite_a=1)
    left = np.array(z, order="F")
    left[rank:] = 0  # what lies beyond is not factorised, and has no variance of its own
    out = np.empty_like(left)
    out[pivots - 1] = blas.dtrmm(1.0, R, left, lower=1)
    return np.asarray(scale[:, None] * out)
