"""Which kernels have a gradient by the columns of the rows, and which rows they have it at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..features import LinearMap

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
    for view in kernel._views():
        if not isinstance(view.transformer, LinearMap):
            raise ValueError(
                f"the kernel reads {view.transformer!r}: its gradient by the columns of X is known for "
                "linear maps only, kernel.after(matrix)"
            )
