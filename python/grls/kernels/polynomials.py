"""What conditionally positive definite kernels need: polynomials among the features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._solvers.rows import taken_columns
from .._validation import FloatArray
from ..kernels import Kernel

_TRENDS = {1: 'features="constant"', 2: 'features="linear"', 3: 'features="quadratic"'}

# A monomial counts as spanned when less than this share of it is left over. Features of float32 data have
# errors of that order.
_TOLERANCE = 1e-5


def require_polynomials(
    kernel: Kernel, X: Any, T: FloatArray, feature_names: Sequence[str] | None = None
) -> None:
    """Raise ValueError unless the features span the polynomials that the kernel's order asks for.

    A kernel of order q is positive definite on the coefficients c with Σ_i c_i p(x_i) = 0 for all polynomials
    p of degree below q in the columns it reads. Features that span these on the training rows see to it.
    """
    demands = kernel.demands(X.shape[1]) if kernel.order else []
    if not demands:
        return
    basis = _orthonormal(T)
    for part, columns in demands:
        assert part.order is not None
        for names, block in _monomials(X, columns, part.order - 1):
            left_over = np.linalg.norm(block - basis @ (basis.T @ block), axis=0)
            missing = left_over > _TOLERANCE * np.linalg.norm(block, axis=0)
            if missing.any():
                shown = feature_names or [f"x{c}" for c in range(X.shape[1])]
                wanted = " ".join(shown[c] for c in names[int(missing.argmax())]) or "1"
                remedy = _TRENDS.get(part.order, f"PolynomialTrend({part.order - 1}) as features")
                raise ValueError(
                    f"the kernel {part!r} is conditionally positive definite of order {part.order}: the "
                    f"features must span all polynomials of degree < {part.order} in the columns it reads, "
                    f"and {wanted} is missing; use {remedy}, or add them to the features"
                )


def needed_polynomials(kernel: Kernel, X: Any) -> FloatArray | None:
    """Return the polynomials (m, q) that the kernel's order asks for, at the rows of X; None: none."""
    if not kernel.order:
        return None
    blocks = [
        block
        for part, columns in kernel.demands(X.shape[1])
        for _, block in _monomials(X, columns, (part.order or 0) - 1)
    ]
    return np.hstack(blocks) if blocks else None


def polynomial_columns(kernel: Kernel, X: Any, T: FloatArray) -> list[int]:
    """Return the features that the kernel's own polynomials are made of.

    A kernel of order q is known up to polynomials of degree below q, so that the coefficients of these
    features have no variance of their own. Those of the others have.
    """
    demands = kernel.demands(X.shape[1]) if kernel.order else []
    if not demands:
        return []
    involved = np.zeros(T.shape[1], dtype=bool)
    sizes = np.linalg.norm(T, axis=0)
    scaled = np.asarray(T, dtype=np.float64) / np.where(sizes > 0, sizes, 1)
    for part, columns in demands:
        assert part.order is not None
        for _, block in _monomials(X, columns, part.order - 1):
            made_of = np.linalg.lstsq(scaled, block, rcond=None)[0]
            involved |= np.any(np.abs(made_of) > _TOLERANCE * np.linalg.norm(block, axis=0), axis=1)
    return [int(p) for p in np.flatnonzero(involved)]


def _orthonormal(T: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of the features."""
    scale = np.linalg.norm(T, axis=0)
    scaled = np.asarray(T, dtype=np.float64)[:, scale > 0] / scale[scale > 0]
    U, s, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(U[:, s > 1e-12 * s.max(initial=0) * max(T.shape)])


def _monomials(
    X: Any, columns: Sequence[int], degree: int, block: int = 64
) -> Iterator[tuple[list[tuple[int, ...]], NDArray[Any]]]:
    """Yield the monomials up to a degree, some at a time, of columns moved and scaled to [-1, 1]."""
    yield [()], np.ones((X.shape[0], 1))

    def column(c: int) -> FloatArray:
        x = taken_columns(X, [c]).toarray()[:, 0] if sparse.issparse(X) else X[:, c]
        x = np.asarray(x, dtype=np.float64)
        low, high = x.min(), x.max()
        return np.asarray((x - (low + high) / 2) / max((high - low) / 2, np.finfo(float).tiny))

    for power in range(1, degree + 1):
        names: list[tuple[int, ...]] = []
        values: list[FloatArray] = []
        for name in combinations_with_replacement(columns, power):
            names.append(name)
            values.append(np.prod([column(c) for c in name], axis=0))
            if len(names) == block:
                yield names, np.stack(values, axis=1)
                names, values = [], []
        if names:
            yield names, np.stack(values, axis=1)
