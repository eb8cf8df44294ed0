"""Features whose coefficients have a prior: which stay free, and in what units the others are penalised.

A prior of variance τ on the coefficients of columns Z is the kernel Φ + τZZᵀ beside the features F that stay
free. Z are the columns in units of their own: centred and scaled to variance one where F holds the constant,
else divided by their root mean square (centring would change the model). So units do not matter, and a
direction in which two columns differ by rounding is no freer than the columns are. Polynomials that the
kernel needs stay free. See docs/math.md, section "How free the features are".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.rank import dependence_tolerance, independent_columns, units_of
from .._validation import FloatArray
from ..kernels import Kernel, Linear
from ..kernels.views import beside_views

# A column counts as spanned by others when less than this share of it is left over.
_SPANNED = 1e-8


@dataclass(frozen=True)
class SplitFeatures:
    """T, in the columns [F Z] = TA: those that stay free and those that have a prior."""

    F: FloatArray  # (m, f)
    Z: FloatArray  # (m, p)
    A: FloatArray  # (l, f + p)
    kept: list[int]  # the independent columns of T

    @property
    def columns(self) -> FloatArray:
        """[F Z], (m, f + p)."""
        return np.hstack([self.F, self.Z])

    @property
    def penalised(self) -> list[int]:
        """Which of these columns have a prior."""
        return list(range(self.F.shape[1], self.A.shape[1]))

    def at(self, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return F and Z at other rows."""
        columns = T @ self.A
        f = self.F.shape[1]
        return columns[:, :f], columns[:, f:]

    def coefficients(self, free: FloatArray, c: FloatArray, variance: float) -> FloatArray:
        """Return those of T, (l, k), from those of F and the kernel coefficients c: Z has τZᵀc."""
        return self.A @ np.vstack([free, variance * (self.Z.T @ c)])


def split(T: FloatArray, weights: FloatArray | None, polynomials: FloatArray | None) -> SplitFeatures:
    """Split the features T (m, l); `polynomials` (m, q) are those that the kernel needs, or None."""
    tolerance = dependence_tolerance(T.dtype)
    T = np.asarray(T, dtype=np.float64)
    m, n_free = T.shape
    w = np.full(m, 1 / m) if weights is None else weights / weights.sum()
    roots = np.sqrt(w)[:, None]
    kept = independent_columns(roots * T, tolerance)
    units = np.exp2(np.floor(np.log2(units_of(T[:, kept]))))  # so that squares neither overflow nor vanish
    own = T[:, kept] / units
    sizes = np.sqrt(w @ own**2)

    def made_of(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a with columns = own a, and the share of each column that is left over."""
        a = linalg.lstsq(roots * own / sizes, roots * columns)[0]
        leftover = roots * (columns - own / sizes @ a)
        return a / sizes[:, None], np.linalg.norm(leftover, axis=0) / np.linalg.norm(roots * columns, axis=0)

    ones = np.ones((m, 1))
    to_constant, left_over = made_of(ones)
    has_constant = bool(left_over[0] < _SPANNED)
    if (one := np.flatnonzero(np.ptp(own, axis=0) == 0)).size:  # no other column takes part, not by rounding
        to_constant = np.eye(len(kept))[:, one[:1]] / own[0, one[0]]
    F, to_F = np.empty((m, 0)), np.empty((len(kept), 0))
    if has_constant:
        F, to_F = ones, to_constant
    if polynomials is not None:
        more = polynomials if not has_constant else polynomials - w @ polynomials
        F = np.hstack([F, more])
        F = F[:, independent_columns(roots * F, tolerance)]
        to_F = made_of(F)[0]

    mean = w @ own if has_constant else np.zeros(len(kept))
    spread = np.sqrt(w @ (own - mean) ** 2)
    varies = np.flatnonzero(spread > _SPANNED * sizes)
    Z = (own[:, varies] - mean[varies]) / spread[varies]
    to_Z = np.eye(len(kept))[:, varies] / spread[varies]
    if F.shape[1] and Z.shape[1]:
        inside = linalg.lstsq(roots * F, roots * Z)[0]
        outside = Z - F @ inside
        beyond = np.linalg.norm(roots * outside, axis=0) > 1e-6 * np.linalg.norm(roots * Z, axis=0)
        if has_constant:  # the centred columns: what the map subtracts of the constant
            to_Z = to_Z - to_constant * (mean[varies] / spread[varies])
        if polynomials is not None:
            Z, to_Z = outside, to_Z - to_F @ inside
        Z, to_Z = Z[:, beyond], to_Z[:, beyond]
    rank = len(independent_columns(roots * Z, tolerance)) if Z.shape[1] else 0
    if rank < Z.shape[1]:  # as of indicators that add up to one: orthogonal columns with the same ZZᵀ
        V = linalg.svd(roots * Z, full_matrices=False)[2][:rank].T
        Z, to_Z = Z @ V, to_Z @ V
    A = np.zeros((n_free, F.shape[1] + Z.shape[1]))
    A[kept] = np.hstack([to_F, to_Z]) / units[:, None]
    return SplitFeatures(F, Z, A, kept)


def is_as_good_as_free(kernel: Kernel | StoredGram, X: Any, variance: float) -> bool:
    """Whether a variance is so much larger than the kernel's own that the matrix Φ + τZZᵀ would hide Φ."""
    if isinstance(kernel, StoredGram) or kernel.pairwise:
        some = X[:100, :100]
    else:
        some = kernel.matrix(X[:100], X[:100])
    return bool(variance > 1e8 * np.abs(some).max(initial=np.finfo(float).tiny))


def augmented(kernel: Kernel | StoredGram, X: Any, Z: FloatArray, variance: float) -> tuple[Any, Any]:
    """Return a kernel and points, or a matrix, of Φ + τZZᵀ."""
    if isinstance(kernel, StoredGram):
        return kernel, X if variance == 0 else X + variance * (Z @ Z.T)
    if kernel.is_function:
        return StoredGram(), kernel.matrix(X, X) + variance * (Z @ Z.T)
    if variance == 0 or Z.shape[1] == 0:
        return kernel, X
    return kernel_beside(kernel, X.shape[1], Z.shape[1]), beside(X, Z, variance)


def kernel_beside(kernel: Kernel, n_columns: int, n_penalised: int) -> Kernel:
    """Return the kernel of the first columns, and a linear one of those that `beside` adds."""
    last = list(range(n_columns, n_columns + n_penalised))
    if kernel.reads_given:
        return beside_views(kernel, Linear(), range(n_columns, n_columns + n_penalised))
    return kernel.on(list(range(n_columns))) + Linear().on(last)


def beside(X: Any, Z: FloatArray, variance: float) -> Any:
    """Return the points with √τZ as further columns."""
    more = np.sqrt(variance) * Z
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_matrix(more)], format="csr")
    return np.ascontiguousarray(np.hstack([X, more]))


def penalised_problem(
    kernel: Kernel | StoredGram, X: Any, parts: SplitFeatures, weights: FloatArray | None, variance: float
) -> KernelProblem:
    """Return the problem with the kernel Φ + τZZᵀ and the features F."""
    source, points = augmented(kernel, X, parts.Z, variance)
    return KernelProblem(source, points, parts.F, weights)
