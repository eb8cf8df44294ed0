"""Data matrices on their way into the compiled core."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def require_well_formed(X: Any) -> Any:
    """Return a data matrix; ValueError where it is sparse and its indices lead out of its arrays.

    SciPy checks that when a matrix is made, and not when one comes from a pickle or its arrays were changed.
    One whose last row ends at 0 or before it takes for empty, and looks no further.
    """
    if sparse.issparse(X) and X.format in ("csr", "csc", "bsr"):
        X.check_format(full_check=True)
        if np.any(X.indptr[1:] < X.indptr[:-1]):  # a difference might overflow
            raise ValueError("the index pointer of a sparse matrix must not decrease")
    return X


def for_core(X: Any) -> Any:
    """Return a data matrix as the core takes it: a contiguous array, or the parts of a CSR matrix."""
    if sparse.issparse(X):
        X = require_well_formed(X).tocsr(copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X.data, X.indices, X.indptr, X.shape[1]
    return np.ascontiguousarray(X)


def alike(X: Any, Z: Any) -> tuple[Any, Any]:
    """Return two data matrices for the core, both dense or both sparse as the second one is."""
    if sparse.issparse(X) != sparse.issparse(Z):
        X = X.toarray() if sparse.issparse(X) else sparse.csr_matrix(X)
    return for_core(X), for_core(Z)
