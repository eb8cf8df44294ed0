"""Kernels that come as matrices: slower, and the whole matrix is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from .._solvers.kernel_values import Gram, require_room
from .._validation import FloatArray, require_symmetric
from .base import Kernel


class Function(Kernel):
    """A kernel given as a Python function; estimators make one of any function they get.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` returns the matrix of kernel values, of shape (len(X), len(Z)).
    """

    def __init__(self, function: Callable[[Any, Any], ArrayLike]) -> None:
        self.function = function

    @property
    def is_definite(self) -> bool:
        """False: nothing is known of a function."""
        return False

    def after(self, transformer: Any) -> Kernel:
        """Refuse: the function reads the rows as they are."""
        raise TypeError(f"{self!r} reads the rows as they are given: call the transformer in the function")

    def _written(self, n_columns: int) -> tuple[Any, ...]:
        return type(self), self.get_params()

    def matrix(self, X: Any, Z: Any) -> FloatArray:
        """Return the matrix of the function's values, checked."""
        require_room(X.shape[0], Z.shape[0])
        values: NDArray[Any] = check_array(
            self.function(X, Z), dtype=np.float64, order="C", input_name="the kernel function's values"
        )
        if values.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape}, expected {(X.shape[0], Z.shape[0])}"
            )
        return values

    def gram(self, X: Any) -> Gram:
        """Return the matrix, which must be symmetric: the core reads one triangle."""
        matrix = self.matrix(X, X)
        require_symmetric(matrix, f"the kernel matrix of {self!r}")
        return Gram(None, matrix)

    def times(self, X: Any, Z: Any, c: FloatArray) -> FloatArray:
        """Return ``matrix(X, Z) @ c``."""
        return np.asarray(self.matrix(X, Z) @ c)

    def diagonal(self, X: Any) -> FloatArray:
        """Return k(x, x), from the matrices of a few rows at a time."""
        blocks = (X[start : start + 64] for start in range(0, X.shape[0], 64))
        return np.concatenate([np.diagonal(self.matrix(block, block)) for block in blocks])


class Precomputed(Function):
    """The kernel matrix itself stands in place of X.

    ``fit`` takes the square matrix of the training samples, ``predict`` that of new samples against them.
    """

    pairwise = True

    def __init__(self) -> None:
        pass

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return "Precomputed()"

    def after(self, transformer: Any) -> Kernel:
        """Refuse: there are no points."""
        raise ValueError("a precomputed kernel has no points that could be viewed by a transformer")

    def matrix(self, X: Any, Z: Any = None) -> FloatArray:
        """Return the matrix that was given."""
        return np.ascontiguousarray(X, dtype=np.float64)

    def take(self, X: Any, rows: Any) -> Any:
        """Return the matrix of some of the samples."""
        return np.ascontiguousarray(X[rows][:, rows])

    def diagonal(self, X: Any) -> FloatArray:
        """Refuse: k(x, x) of a new point is not in the matrix that is given for it."""
        raise ValueError("a precomputed kernel does not tell k(x, x) of new points: no variance can be given")
