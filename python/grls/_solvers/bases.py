"""The papers' matrices on plain arrays: φ', H, N, and a Cholesky factor."""

from __future__ import annotations

from .. import _core
from .._validation import FloatArray
from .runtime import get_num_threads


def phi_prime(T: FloatArray, pivots: str, tolerance: float) -> tuple[FloatArray, list[int], list[int]]:
    """Return φ' (m, l) at the samples, the pivot samples, and the features that have one."""
    return _core.phi_prime(T=T, pivots=pivots, tolerance=tolerance)


def null_space(T: FloatArray, tolerance: float) -> tuple[FloatArray, list[int]]:
    """Return an orthonormal basis (m, m - l) of {c : Tᵀc = 0}, and the independent features."""
    return _core.null_space(T=T, tolerance=tolerance)


def assemble(Phi: FloatArray, T: FloatArray, *, basis: str, pivots: str, tolerance: float) -> FloatArray:
    """Return NᵀΦN in the basis "pivot", which is H, or "orthonormal"."""
    return _core.assemble(
        gram=Phi, T=T, basis=basis, pivots=pivots, tolerance=tolerance, threads=get_num_threads()
    )


def llt(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a symmetric matrix."""
    return _core.llt(matrix=matrix, threads=get_num_threads())


def pivoted_llt(matrix: FloatArray, tolerance: float) -> tuple[FloatArray, list[int]]:
    """Return L (n, r) and an order of the rows with L Lᵀ = matrix up to the tolerance, in that order."""
    return _core.pivoted_llt(matrix=matrix, tolerance=tolerance, threads=get_num_threads())
