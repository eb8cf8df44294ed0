"""Kernel formulas and their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .. import _core
from .._core import Formula
from .._validation import FloatArray
from . import memory
from .arrays import alike, for_core
from .runtime import get_num_threads

__all__ = [
    "Formula",
    "Gram",
    "GramSource",
    "LinearGram",
    "StoredGram",
    "diagonal",
    "input_gradient",
    "matrix",
    "require_room",
    "times",
]

_SMALL = 2**24  # bytes: so few are not worth asking the system


@dataclass(frozen=True)
class Gram:
    """What the core makes a kernel matrix of: a formula and the points, or None and the matrix itself."""

    formula: Formula | None
    data: Any  # for the core
    definite: bool = False  # whether it is known to be positive definite


class GramSource(Protocol):
    """A kernel as the problems see it."""

    def gram(self, X: Any) -> Gram:
        """Return where the kernel matrix of checked points comes from."""

    def take(self, X: Any, rows: Any) -> Any:
        """Return some of the points, as this kernel reads them."""


def linear_formula() -> Formula:
    """Return the formula of the inner product of all columns."""
    return Formula([([], [], [])], [("linear", 0, 0.0, 0.0, 0)])


class LinearGram:
    """The inner products of the rows."""

    def gram(self, X: Any) -> Gram:
        """Return the formula and the rows."""
        return Gram(linear_formula(), for_core(X), definite=True)

    def take(self, X: Any, rows: Any) -> Any:
        """Return some of the rows."""
        return X[rows]


@dataclass(frozen=True)
class StoredGram:
    """A kernel matrix of our own making, which stands in place of the points."""

    definite: bool = False  # whether it is known to be positive definite

    def gram(self, X: Any) -> Gram:
        """Return the matrix."""
        return Gram(None, X, self.definite)

    def take(self, X: Any, rows: Any) -> Any:
        """Return the matrix of some of the samples."""
        return X[rows][:, rows]


def require_room(n: int, p: int) -> None:
    """MemoryError where there is none for a matrix of kernel values."""
    size = 8.0 * n * p
    if size > _SMALL:
        memory.require(size, f"a kernel matrix of {n} times {p} values", "take fewer rows at a time")


def matrix(formula: Formula, X: Any, Z: Any) -> FloatArray:
    """Return the kernel values between the rows of two matrices, (n, p)."""
    require_room(X.shape[0], Z.shape[0])
    a, b = alike(X, Z)
    return _core.kernel_matrix(formula=formula, a=a, b=b, threads=get_num_threads())


def times(formula: Formula, X: Any, Z: Any, c: FloatArray) -> FloatArray:
    """Return ``matrix(formula, X, Z) @ c`` without storing the matrix."""
    a, b = alike(X, Z)
    return _core.kernel_times(formula=formula, a=a, b=b, c=c, threads=get_num_threads())


def input_gradient(formula: Formula, X: Any, Z: Any, c: FloatArray) -> FloatArray:
    """Return the gradients (n, d, k) of ``times(formula, X, Z, c)`` by the columns of X, both dense."""
    a, b = for_core(X), for_core(Z)
    return _core.kernel_input_gradient(formula=formula, a=a, b=b, c=c, threads=get_num_threads())


def diagonal(formula: Formula, X: Any) -> FloatArray:
    """Return k(x, x) at the rows of X."""
    return _core.kernel_diagonal(formula=formula, rows=for_core(X), threads=get_num_threads())
