"""Covariances of weights as a root S, Σ = SSᵀ: with w = μ + Sv the prior N(μ, Σ) is plain ridge on XS."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_array

from .._validation import FloatArray, require_symmetric
from . import bases, kernel_values, memory
from .results import NotPositiveDefiniteError

LINEAR = kernel_values.linear_formula()


class LowRankCovariance(NamedTuple):
    """A covariance diag(diagonal) + factor factorᵀ: own variances, and a few directions that columns share.

    Parameters
    ----------
    diagonal : array-like of shape (d,)
        Positive.
    factor : array-like of shape (d, r)
        One column per direction.
    """

    diagonal: Any
    factor: Any


class Covariance(Protocol):
    """Σ through its root S (d, p)."""

    def times_root(self, X: Any) -> Any:
        """Return XS, (n, p)."""

    def root_times(self, V: FloatArray) -> FloatArray:
        """Return SV, (d, k)."""

    def solve(self, B: FloatArray) -> FloatArray:
        """Return Σ⁻¹B, (d, k)."""


class Identity:
    """Σ = I: plain ridge regression."""

    def times_root(self, X: Any) -> Any:
        """Return X."""
        return X

    def root_times(self, V: FloatArray) -> FloatArray:
        """Return V."""
        return V

    def solve(self, B: FloatArray) -> FloatArray:
        """Return B."""
        return B


class Diagonal:
    """One variance per column."""

    def __init__(self, variances: FloatArray) -> None:
        self._root = np.sqrt(variances)

    def times_root(self, X: Any) -> Any:
        """Return X with its columns scaled."""
        if not sparse.issparse(X):
            return X * self._root
        scaled = X.astype(np.float64)
        scaled.data = scaled.data * self._root[X.indices]
        return scaled

    def root_times(self, V: FloatArray) -> FloatArray:
        """Return SV."""
        return self._root[:, None] * V

    def solve(self, B: FloatArray) -> FloatArray:
        """Return Σ⁻¹B."""
        return np.asarray(B / self._root[:, None] ** 2)


class LowRank:
    """D + UUᵀ = [D½ U][D½ U]ᵀ."""

    def __init__(self, diagonal: FloatArray, factor: FloatArray) -> None:
        self._own = Diagonal(diagonal)
        self._factor = factor

    def times_root(self, X: Any) -> Any:
        """Return [XD½ XU]; sparse where X is, with r full columns."""
        own, shared = self._own.times_root(X), X @ self._factor
        if sparse.issparse(X):
            return sparse.hstack([own, sparse.csr_matrix(shared)], format="csr")
        return np.hstack([own, shared])

    def root_times(self, V: FloatArray) -> FloatArray:
        """Return SV."""
        d = len(self._factor)
        return self._own.root_times(V[:d]) + self._factor @ V[d:]

    def solve(self, B: FloatArray) -> FloatArray:
        """Return Σ⁻¹B, by Woodbury's identity."""
        U = self._factor
        scaled, DU = self._own.solve(B), self._own.solve(U)
        inner = np.eye(U.shape[1]) + U.T @ DU
        return np.asarray(scaled - DU @ linalg.solve(inner, U.T @ scaled, assume_a="pos"))


class Root:
    """A dense root S (d, p) of a covariance, of full rank or not."""

    def __init__(self, S: FloatArray) -> None:
        self._S = S
        self._transposed = np.ascontiguousarray(S.T)

    def times_root(self, X: Any) -> Any:
        """Return XS as a dense matrix."""
        n, p = X.shape[0], len(self._transposed)
        memory.require(8.0 * n * p, f"{n} samples times a dense covariance", "use a diagonal covariance")
        return (
            np.asarray(X @ self._S)
            if sparse.issparse(X)
            else kernel_values.matrix(LINEAR, X, self._transposed)
        )

    def root_times(self, V: FloatArray) -> FloatArray:
        """Return SV."""
        return self._S @ V

    def solve(self, B: FloatArray) -> FloatArray:
        """Return Σ⁻¹B; S must be a Cholesky factor."""
        return np.asarray(linalg.cho_solve((self._S, True), B))


def _checked(value: Any, shape: tuple[int | None, ...], name: str, kind: str) -> FloatArray:
    array: FloatArray = check_array(
        value, dtype=np.float64, order="C", ensure_2d=False, allow_nd=True, input_name=name
    )
    if array.ndim != len(shape) or any(
        want is not None and got != want for got, want in zip(array.shape, shape, strict=True)
    ):
        expected = (
            "(" + ", ".join("r" if s is None else str(s) for s in shape) + ("," * (len(shape) == 1)) + ")"
        )
        raise ValueError(f"{name} must have shape {expected}, {kind}; got shape {array.shape}")
    return array


def _variances(value: Any, d: int, name: str) -> FloatArray:
    variances = _checked(value, (d,), name, "one variance for each column of X")
    if np.any(variances <= 0):
        worst = int(variances.argmin())
        raise ValueError(
            f"{name} must be positive, but column {worst} has variance {variances[worst]:g}; to fix the "
            "weight of a column, subtract its part from y and drop it"
        )
    return variances


def _full(value: Any, d: int) -> Root:
    matrix = _checked(value, (d, d), "covariance", "a row and a column for each column of X")
    require_symmetric(matrix, "covariance")
    problem = "covariance must be positive definite: "
    if np.any(np.diagonal(matrix) <= 0):
        worst = int(np.diagonal(matrix).argmin())
        raise NotPositiveDefiniteError(f"{problem}column {worst} has variance {matrix[worst, worst]:g}")
    try:
        L = np.ascontiguousarray(bases.llt(matrix))
    except NotPositiveDefiniteError as error:
        raise NotPositiveDefiniteError(problem + _SINGULAR) from error
    # What is left of each variance when the columns before it are known.
    left = np.diagonal(L) ** 2 / np.diagonal(matrix)
    if left.min() <= 10 * d * np.finfo(float).eps:
        raise NotPositiveDefiniteError(
            f"{problem}column {left.argmin()} depends on those before it; {_SINGULAR}"
        )
    return Root(L)


_SINGULAR = (
    "some combination of weights has no variance or a negative one; add to its diagonal, or give "
    "LowRankCovariance(diagonal, factor)"
)


def as_covariance(value: Any, d: int) -> Covariance:
    """Return a covariance from anything the `covariance` parameter takes but a learnt prior."""
    if value is None:
        return Identity()
    if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[1]) == 2:
        diagonal = np.full(d, value[0]) if np.ndim(value[0]) == 0 else value[0]
        factor = _checked(value[1], (d, None), "covariance.factor", "one row for each column of X")
        return LowRank(_variances(diagonal, d, "covariance.diagonal"), factor)
    try:
        dimensions = np.ndim(value) if np.asarray(value).dtype.kind in "biuf" else -1
    except ValueError:  # rows of different lengths
        dimensions = -1
    if dimensions == 0:
        return Diagonal(_variances(np.full(d, value), d, "covariance"))
    if dimensions == 1:
        return Diagonal(_variances(value, d, "covariance"))
    if dimensions == 2:
        return _full(value, d)
    raise ValueError(
        "covariance must be None, a number, one variance per column, a matrix, a LowRankCovariance or a "
        f"fitted TransferPrior; got {value!r}"
    )


def order_of(value: Any) -> int | None:
    """Return of how many weights the `covariance` parameter is one; None where it does not say."""
    if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[1]) == 2:
        return int(np.shape(value[1])[0])
    return len(value) if isinstance(value, list | tuple) or np.ndim(value) in (1, 2) else None


def restricted_to_span(covariance: Covariance, X: Any) -> Covariance:
    """Return the covariance that leads to eq. (7) of the paper: w − μ in the span of the rows of X.

    With V an orthonormal basis of that span and w = μ + Va, the penalty is aᵀ(VᵀΣ⁻¹V)a: that of a covariance
    V(VᵀΣ⁻¹V)⁻¹Vᵀ. Where the rows span everything this is Σ itself.
    """
    n, d = X.shape
    memory.require(
        8.0 * d * min(n, d) + 24.0 * min(n, d) ** 2,
        f'formulation="published" for {n} samples and {d} columns',
        'use formulation="exact"',
    )
    rows = X if n <= d else X.T.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X.T)
    squared, E = linalg.eigh(kernel_values.matrix(LINEAR, rows, rows))
    seen = squared > max(n, d) * np.finfo(float).eps * squared[-1]
    if seen.sum() == d:
        return covariance
    if not seen.any():
        raise ValueError('formulation="published" needs data that are not all zero')
    V = np.asarray(X.T @ (E[:, seen] / np.sqrt(squared[seen]))) if n <= d else E[:, seen]
    inner = V.T @ covariance.solve(V)
    L = linalg.cholesky((inner + inner.T) / 2, lower=True)
    return Root(np.ascontiguousarray(linalg.solve_triangular(L, V.T, lower=True).T))
