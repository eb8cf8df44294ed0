"""Kernels that come as matrices: slower, and the whole matrix is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from .._solvers.rows import taken_columns
from .._validation import FloatArray
from .base import Kernel
from .lowering import Columns


class Function(Kernel):
    """A kernel given as a Python function; estimators and the algebra make one of any function they get.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` returns the matrix of kernel values, of shape (len(X), len(Z)); or
        ``function(x, z)``, of two rows, one number, which is slow. Which of both it is, is tried out.

    Examples
    --------
    >>> from grls.kernels import Function, Linear
    >>> kernel = Function(lambda x, z: float(x[0] == z[0])) * Linear()
    >>> kernel([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]])
    array([[ 5.,  7.,  0.],
           [ 7., 10.,  0.],
           [ 0.,  0., 13.]])
    """

    def __init__(self, function: Callable[[Any, Any], ArrayLike]) -> None:
        self.function = function

    @property
    def is_function(self) -> bool:
        """True."""
        return True

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        """Return the matrix of the function's values, checked."""
        is_same = X is Z
        if columns is not None:
            X = taken_columns(X, columns)
            Z = X if is_same else taken_columns(Z, columns)
        call = self._by_rows if self._takes_rows(X, Z) else self.function
        values: NDArray[Any] = check_array(
            call(X, Z), dtype=np.float64, order="C", input_name="the kernel function's values"
        )
        if values.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape}, expected {(X.shape[0], Z.shape[0])}"
            )
        return values

    def _takes_rows(self, X: Any, Z: Any) -> bool:
        """Whether the function takes two rows and not two matrices.

        It is asked for two matrices with unlike numbers of rows and columns, so that what a function of rows
        makes of them, such as x @ z, does not pass for a matrix of values.
        """
        if not X.shape[0] or not Z.shape[0]:
            return False
        n, p = [k for k in (2, 3, 4) if k != X.shape[1]][:2]
        try:
            values = self.function(X[np.arange(n) % X.shape[0]], Z[np.arange(p) % Z.shape[0]])
            if len(getattr(values, "shape", np.shape(values))) == 2:
                return False
        except Exception:  # whatever the function says of what it does not take
            pass
        try:
            return np.size(self.function(_dense(X[:1])[0], _dense(Z[:1])[0])) == 1
        except Exception:  # its word on matrices is what the caller is told
            return False

    def _by_rows(self, X: Any, Z: Any) -> FloatArray:
        """Return the values of a function of two rows; of rows with themselves half of them are computed."""
        A, B = _dense(X), _dense(Z)
        values = np.empty((len(A), len(B)))
        for i, x in enumerate(A):
            first = i if X is Z else 0
            values[i, first:] = [np.asarray(self.function(x, z)).item() for z in B[first:]]
            if X is Z:
                values[i:, i] = values[i, i:]
        return values


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


class Precomputed(Function):
    """The kernel matrix itself stands in place of X.

    ``fit`` takes the square matrix of the training samples, ``predict`` that of new samples against them.
    """

    pairwise = True

    def __init__(self) -> None:
        pass

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        raise TypeError("Precomputed cannot be a part of a larger kernel: combine the matrices")

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
