"""Weights of the columns in a model whose kernel is linear."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from .._validation import FloatArray
from ..kernels import Kernel, Linear
from ..kernels.compose import OnColumns, Scaled


def linear_weights(kernel: Kernel, X: Any, c: FloatArray) -> FloatArray:
    """Return w (d, k) with Σ_i c_i k(x_i, x) = wᵀx + constant; c (m, k). AttributeError where it is none."""
    if isinstance(kernel, Linear):
        center = None if kernel.center is None else np.ravel(kernel.center)
        if center is not None and not sparse.issparse(X):  # far from the origin differences have more digits
            return np.asarray((X - center).T @ c)
        w = np.asarray(safe_sparse_dot(X.T, c, dense_output=True))
        return w if center is None else w - np.outer(center, c.sum(axis=0))
    if isinstance(kernel, Scaled):
        return kernel.scale * linear_weights(kernel.kernel, X, c)
    if isinstance(kernel, OnColumns):
        out = np.zeros((X.shape[1], c.shape[1]))
        columns = kernel._positions(X.shape[1], None)
        out[columns] = linear_weights(kernel.kernel, X[:, columns], c)
        return out
    raise AttributeError(f"coef_ is there for linear kernels only, and {kernel!r} is none")
