"""Conditionally positive definite kernels for solvers that want a positive definite matrix.

A kernel of order q is positive definite on the c that are orthogonal to the polynomials of degree below q.
With Q an orthonormal basis of these at the samples and Π = I − QQᵀ the matrix ΠΦΠ + sQQᵀ, s > 0, is positive
definite on all c, and for Qᵀc = 0 it has the same cᵀΦc. Its model function differs by QQᵀΦc, which the
features express.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.rank import independent_columns
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import IndefiniteKernelWarning

_ROWS, _NEGATIVE = 500, 1e-8  # that are looked at; an eigenvalue, of the largest, that rounding does not make


@dataclass(frozen=True)
class DefiniteProblem:
    """A problem whose kernel matrix is positive definite, and the way back from it."""

    problem: KernelProblem
    to_features: FloatArray  # (l, m): of c, what β of the kernel as it is has less than that of the problem

    @classmethod
    def of(cls, problem: KernelProblem, polynomials: FloatArray) -> DefiniteProblem:
        """Make a problem definite; its features span the `polynomials` (m, q) that its kernel needs."""
        Phi, T = problem.kernel_matrix(), problem.T
        U, sizes, _ = linalg.svd(polynomials / np.linalg.norm(polynomials, axis=0), full_matrices=False)
        Q = U[:, sizes > 1e-10 * sizes[0]]
        G = Phi @ Q  # (m, q)
        W = G - Q @ (Q.T @ G) / 2
        definite = Phi - Q @ W.T
        definite -= W @ Q.T
        scale = float(np.diag(definite).mean())
        definite += (scale if scale > 0 else 1.0) * (Q @ Q.T)
        kept = independent_columns(T, problem.tolerance)
        lengths = np.linalg.norm(T[:, kept], axis=0)
        to_features = np.zeros((T.shape[1], len(T)))
        to_features[kept] = linalg.lstsq(T[:, kept] / lengths, Q)[0] / lengths[:, None] @ G.T
        return cls(KernelProblem(StoredGram(), definite, T, problem.weights), to_features)

    def feature_coefficients(self, beta: FloatArray, c: FloatArray) -> FloatArray:
        """Return β (l, k) that goes with the kernel as it is, from those of the definite problem."""
        return np.asarray(beta - self.to_features @ c)


def warn_if_indefinite(kernel: Any, problem: KernelProblem) -> None:
    """Give an `IndefiniteKernelWarning` where some of the rows show that a kernel is not definite.

    Of a solver that does not find out by itself. Kernels that are so by their formula, or together with
    polynomials, are not looked at.
    """
    if kernel.order or (kernel.is_definite and not kernel.pairwise):
        return
    rows = np.unique(np.linspace(0, len(problem.T) - 1, min(len(problem.T), _ROWS)).astype(np.intp))
    values = np.linalg.eigvalsh(problem.take(rows, np.ones(len(rows))).kernel_matrix())
    if values[0] < -_NEGATIVE * values[-1]:
        warn(
            f"the matrix of the kernel {kernel!r} is not positive definite, so the problem is not convex: "
            "what is found is stationary, but need not be the best; choose another kernel",
            IndefiniteKernelWarning,
        )
