"""Which kernels have a gradient by the columns of the rows, and which rows they have it at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._validation import FloatArray
from ..features import LinearMap, NormalScores

if TYPE_CHECKING:
    from .base import Kernel


def require_gradient(kernel: Kernel, X: Any, Z: Any = None) -> None:
    """ValueError where a resolved kernel has no gradient at rows X, naming the part that is in the way.

    Z are the points whose kernel values are differentiated, where they are known.
    """
    from .given import Function  # these stand on the module of all kernels
    from .labels import Categorical, Overlap

    if sparse.issparse(X):
        raise ValueError("gradients by the columns of X need dense rows: give X.toarray()")
    if sparse.issparse(Z):
        raise ValueError("gradients by the columns of X need dense rows, those of the training data too")
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        raise ValueError("gradients by the columns of X need a table of numbers")
    if kernel.pairwise:
        raise ValueError("a precomputed kernel has no columns that it could be differentiated by")
    for part in (kernel, *kernel.get_params(deep=True).values()):
        if isinstance(part, Function):
            raise ValueError(f"{part!r} is a function of Python: it has no gradient by the columns of X")
        if isinstance(part, Overlap | Categorical):
            raise ValueError(
                f"{part!r} compares labels, which are equal or not: it has no derivative by its columns"
            )
    if _scores_read(kernel) is not None:
        return
    for view in kernel._views():
        if not isinstance(view.transformer, LinearMap):
            raise ValueError(
                f"the kernel reads {view.transformer!r}: its gradient by the columns of X is known for "
                "linear maps only, kernel.after(matrix), and for normal scores of whole kernels"
            )


def _scores_read(kernel: Any) -> tuple[NormalScores, list[int] | None] | None:
    """Return the scores that a whole kernel reads, and of which columns (None: all); None: it does not."""
    from .compose import OnColumns
    from .views import After

    columns = None
    if isinstance(kernel, OnColumns) and isinstance(kernel.columns, list):
        columns, kernel = kernel.columns, kernel.kernel
    if type(kernel) is After and isinstance(kernel.transformer, NormalScores) and not kernel.kernel._views():
        return kernel.transformer, columns
    return None


def by_columns(kernel: Kernel, X: FloatArray, own: FloatArray) -> FloatArray:
    """Return gradients (n, d, k) by the columns of rows X, from those (n, p, k) by what the views make of X.

    Linear maps, and columns that are chosen, have the rows' images linear in the rows.
    """
    read = _scores_read(kernel)
    if read is None:
        J = np.asarray(kernel.view(np.eye(X.shape[1])), dtype=np.float64)  # (d, p)
        return np.ascontiguousarray(np.einsum("dp,npk->ndk", J, own, optimize=True))
    scores, columns = read
    chosen = np.arange(X.shape[1]) if columns is None else np.asarray(columns)
    out = np.zeros((len(X), X.shape[1], own.shape[2]))
    out[:, chosen] = own[:, : len(chosen)]
    of_columns, of_scores = scores.slopes(X[:, chosen])
    both = chosen[scores.columns_]
    out[:, both] = out[:, both] * of_columns[:, :, None] + own[:, len(chosen) :] * of_scores[:, :, None]
    return out
