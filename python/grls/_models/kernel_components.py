"""Components of a kernel matrix as it stands, not centred: eigenvalues, and coordinates of any points.

With W½KW½/Σw = U diag(μ) Uᵀ (w are weights; K/m where there are none) the functions

    z_j(x) = Σ_i A_ij k(x_i, x),   A = W½ U / √(μ Σw),

are orthonormal in the kernel's space, their weighted mean products over the samples are diag(μ), and
K = Σ_j z_j(x_i) z_j(x_l). See docs/math.md, section "A Gaussian prior in a kernel's space".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from .._solvers import memory
from .._solvers.runtime import interruptible
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import IndefiniteKernelWarning
from ..kernels import Kernel

ZERO = 1e-12  # eigenvalues below this share of the largest are zero, as they are to scikit-learn
NEGATIVE = 1e-9  # below minus this share they are negative, and not rounding


def cleaned(values: FloatArray) -> FloatArray:
    """Return the eigenvalues with zeros for those that are rounding, or negative."""
    return np.where(values > ZERO * np.abs(values).max(initial=0), values, 0.0)


def inverse_roots(values: FloatArray) -> FloatArray:
    """Return 1/√λ where λ > 0, else 0."""
    return np.sqrt(np.divide(1.0, values, out=np.zeros_like(values), where=values > 0))


def fixed_signs(vectors: FloatArray) -> FloatArray:
    """Return the signs that make the largest entry of each column positive."""
    if vectors.size == 0:
        return np.ones(vectors.shape[1])
    return np.where(vectors.max(axis=0) < -vectors.min(axis=0), -1.0, 1.0)


def finite_rows(values: Any, what: str) -> FloatArray:
    """Return what a fitted transformer gives; ValueError where that is no number."""
    found: FloatArray = np.asarray(values)
    finite = np.isfinite(found.reshape(len(found), -1)).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the {what} are not finite at row {finite.argmin()}: its values are too large for the kernel, "
            "or the arrays of this model were changed after the fit"
        )
    return found


def require_finite(values: FloatArray, kernel: Kernel) -> None:
    """Raise ValueError where kernel values, or what is made of them, overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(f"the kernel {kernel!r} is not finite at some samples: scale the data down")


@dataclass(frozen=True)
class KernelComponents:
    """Components with a positive eigenvalue, the largest first."""

    eigenvalues: FloatArray  # (q,): μ, the mean square of each component
    coefficients: FloatArray  # (m, q): A
    training: FloatArray  # (m, q): z_j at the samples
    trace: float  # the mean of k(x, x): what all eigenvalues add up to

    def first(self, q: int) -> KernelComponents:
        """Return the q largest components."""
        return KernelComponents(
            self.eigenvalues[:q], self.coefficients[:, :q], self.training[:, :q], self.trace
        )


def find_components(kernel: Kernel, X: Any, weights: FloatArray | None, what: str) -> KernelComponents:
    """Return the components of a resolved kernel at the samples; `what` is told where memory is short."""
    m = X.shape[0]
    if kernel.order:
        raise ValueError(
            f"the kernel {kernel!r} is conditionally positive definite of order {kernel.order}: {what} needs "
            "a positive definite one, for its matrix as it stands has no components"
        )
    memory.require(
        8.0 * m * m * 4, f"{what} for {m} samples, the whole spectrum of their kernel matrix,", "give fewer"
    )
    w = np.ones(m) if weights is None else weights
    roots, total = np.sqrt(w), float(w.sum())
    gram = kernel.gram(X)
    K = np.array(gram.data if gram.formula is None else kernel.matrix(X, X), dtype=np.float64)
    require_finite(K, kernel)
    trace = float(w @ np.diagonal(K)) / total
    K *= roots[:, None]
    K *= roots / total
    values, vectors = interruptible(
        m, linalg.eigh, K, lower=True, overwrite_a=True, check_finite=False, driver="evd"
    )
    values, vectors = values[::-1], vectors[:, ::-1]
    _warn_if_indefinite(kernel, values)
    rounding = 10 * m * np.finfo(np.float64).eps * np.abs(values).max(initial=0)
    kept = cleaned(values) > rounding
    if not kept.any():
        raise ValueError(f"the kernel {kernel!r} is zero at all samples: it has no components")
    mu, U = values[kept], vectors[:, kept]
    training = U * np.sqrt(mu * total) / roots[:, None]
    signs = fixed_signs(training)
    A = U * (signs * inverse_roots(mu * total)) * roots[:, None]
    return KernelComponents(mu, np.ascontiguousarray(A), np.ascontiguousarray(training * signs), trace)


def _warn_if_indefinite(kernel: Kernel, values: FloatArray) -> None:
    largest = np.abs(values).max(initial=0)
    if values[-1] < -NEGATIVE * largest:
        warn(
            f"the kernel {kernel!r} is not positive definite on these samples: its matrix has eigenvalues "
            f"from {values[0]:.3g} down to {values[-1]:.3g} times the number of samples; the negative ones "
            "are left out",
            IndefiniteKernelWarning,
        )
