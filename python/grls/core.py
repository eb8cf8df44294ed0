"""The numerical functions of the papers, on plain arrays: NumPy in, NumPy out.

For those who want to check an equation or build something else on it; the estimators do all this in one call.
Letters are the papers': T (m, l) features at the samples, Phi (m, m) kernel matrix, γ ``regularization``.

=======================  ================================================================================
`phi_prime`              φ' of eq. (12)-(13): features that are 1 at one pivot sample and 0 at the others
`assemble`               H of eq. (11) and E, in the basis of the pivots
`null_space`             an orthonormal basis N of {c : Tᵀc = 0}
`assemble_orthonormal`   NᵀΦN in that basis
`llt`                    the Cholesky factor of a positive definite matrix
`solve_exact`            the minimiser of eq. (2)
`solve_published`        eqs. (26)-(27) as they are printed
=======================  ================================================================================

Equation numbers are those of "Generalized Regularized Least-Squares Learning with Predefined Features".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.utils import check_array

from . import _core
from ._threads import get_num_threads
from ._validation import FloatArray, choice, real, require_symmetric

__all__ = [
    "assemble",
    "assemble_orthonormal",
    "dependence_tolerance",
    "llt",
    "null_space",
    "phi_prime",
    "solve_exact",
    "solve_published",
]


def dependence_tolerance(n_samples: int, dtype: DTypeLike = np.float64) -> float:
    """Return the share of a feature below which what other features leave of it is rounding error."""
    return float(10 * np.sqrt(n_samples) * np.finfo(dtype).eps)


def _features(T: ArrayLike) -> tuple[FloatArray, float]:
    given = np.asarray(T)
    checked = check_array(given, dtype=np.float64, input_name="T", ensure_min_features=0)
    dtype = np.float32 if given.dtype == np.float32 else np.float64
    return checked, dependence_tolerance(len(checked), dtype)


def _square(Phi: ArrayLike, name: str = "Phi") -> FloatArray:
    checked: FloatArray = check_array(Phi, dtype=np.float64, order="C", input_name=name)
    if checked.shape[0] != checked.shape[1]:
        raise ValueError(f"{name} must be square, got shape {checked.shape}")
    require_symmetric(checked, name)
    return checked


def _require_independent(kept: list[int], T: FloatArray) -> None:
    if len(kept) < T.shape[1]:
        dropped = sorted(set(range(T.shape[1])) - set(kept))
        raise ValueError(f"the columns of T are linearly dependent: drop {dropped}")


def phi_prime(T: ArrayLike, pivots: str = "qr") -> tuple[FloatArray, NDArray[np.intp]]:
    """Return φ' = T B⁻¹, where B holds the rows of T at the pivot samples.

    Parameters
    ----------
    T : array-like of shape (m, l)
        Features at the samples, linearly independent.
    pivots : {"qr", "first"}, default="qr"
        Pivots that make B well conditioned, or the first l samples as printed.

    Returns
    -------
    P : ndarray of shape (m, l)
        φ' at the samples; ``P[pivots]`` is the identity.
    pivots : ndarray of shape (l,)
        The pivot samples.
    """
    checked, tolerance = _features(T)
    choice(pivots, "pivots", ("qr", "first"))
    P, chosen, kept = _core.phi_prime(checked, pivots, tolerance)
    _require_independent(kept, checked)
    return np.ascontiguousarray(P), np.asarray(chosen, dtype=np.intp)


def assemble(Phi: ArrayLike, T: ArrayLike, pivots: str = "qr") -> tuple[FloatArray, FloatArray]:
    """Return H and E of the pivot basis.

    Parameters
    ----------
    Phi : array-like of shape (m, m)
        Kernel matrix.
    T : array-like of shape (m, l)
        Features at the samples, linearly independent.
    pivots : {"qr", "first"}, default="qr"
        See `phi_prime`.

    Returns
    -------
    H : ndarray of shape (m - l, m - l)
        Eq. (11) at the samples that are not pivots, in their order.
    E : ndarray of shape (l, m - l)
        φ'_p at these samples.
    """
    gram = _square(Phi)
    checked, tolerance = _features(T)
    P, chosen = phi_prime(T, pivots)
    H = _core.assemble(gram, checked, "pivot", pivots, tolerance, get_num_threads())
    return np.ascontiguousarray(H), np.ascontiguousarray(np.delete(P, chosen, axis=0).T)


def null_space(T: ArrayLike) -> FloatArray:
    """Return an orthonormal basis N (m, m - l) of {c : Tᵀc = 0}.

    Parameters
    ----------
    T : array-like of shape (m, l)
        Features at the samples, linearly independent.

    Returns
    -------
    ndarray of shape (m, m - l)
        NᵀN = I and TᵀN = 0.
    """
    checked, tolerance = _features(T)
    N, kept = _core.null_space(checked, tolerance)
    _require_independent(kept, checked)
    return np.ascontiguousarray(N)


def assemble_orthonormal(Phi: ArrayLike, T: ArrayLike) -> FloatArray:
    """Return NᵀΦN in the basis of `null_space`.

    Parameters
    ----------
    Phi : array-like of shape (m, m)
        Kernel matrix.
    T : array-like of shape (m, l)
        Features at the samples, linearly independent.

    Returns
    -------
    ndarray of shape (m - l, m - l)
        The kernel matrix on what the features leave free.
    """
    gram = _square(Phi)
    checked, tolerance = _features(T)
    H = _core.assemble(gram, checked, "orthonormal", "qr", tolerance, get_num_threads())
    if H.shape[0] > len(checked) - checked.shape[1]:
        null_space(T)  # says which columns are dependent
    return np.ascontiguousarray(H)


def llt(A: ArrayLike) -> FloatArray:
    """Return the lower triangular L with A = L Lᵀ.

    Parameters
    ----------
    A : array-like of shape (m, m)
        Symmetric and positive definite; otherwise `NotPositiveDefiniteError`.

    Returns
    -------
    ndarray of shape (m, m)
        The Cholesky factor.
    """
    return np.ascontiguousarray(_core.llt(_square(A, "A"), get_num_threads()))


def _solve(
    Phi: ArrayLike, T: ArrayLike, y: ArrayLike, regularization: float, formulation: str, pivots: str
) -> tuple[FloatArray, FloatArray]:
    gram = _square(Phi)
    checked, tolerance = _features(T)
    targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    shift = real(regularization, "regularization", minimum=0) * len(gram)
    columns = targets.reshape(len(targets), -1)
    solution = _core.solve(
        None,
        gram,
        checked,
        columns,
        None,
        shift,
        formulation,
        pivots,
        tolerance,
        threads=get_num_threads(),
    )
    _require_independent(solution["kept"], checked)
    shape = targets.shape[1:]
    c, beta = (np.ascontiguousarray(solution[name]).reshape(-1, *shape) for name in ("c", "beta"))
    return c, beta


def solve_exact(
    Phi: ArrayLike, T: ArrayLike, y: ArrayLike, regularization: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return the minimiser of eq. (2).

    It solves, with N an orthonormal basis of {c : Tᵀc = 0},

    .. math:: (N^T Φ N + γ m I) z = N^T y, \quad c = N z, \quad T β = y - Φ c - γ m c .

    Parameters
    ----------
    Phi : array-like of shape (m, m)
        Kernel matrix.
    T : array-like of shape (m, l)
        Features at the samples, linearly independent; l may be 0.
    y : array-like of shape (m,) or (m, k)
        Targets.
    regularization : float
        γ, not negative.

    Returns
    -------
    c : ndarray of shape (m,) or (m, k)
        Kernel coefficients, with Tᵀc = 0.
    beta : ndarray of shape (l,) or (l, k)
        Feature coefficients.
    """
    return _solve(Phi, T, y, regularization, "exact", "qr")


def solve_published(
    Phi: ArrayLike, T: ArrayLike, y: ArrayLike, regularization: float, pivots: str = "qr"
) -> tuple[FloatArray, FloatArray]:
    """Return the solution of eqs. (26)-(27) as printed: λ̃ = y₁, (H + γmI) c̃ = y₂ − Eᵀλ̃.

    It interpolates the targets of the pivot samples, and is not the minimiser of eq. (2) that it is derived
    from; `solve_exact` is. It is here for comparison with the paper.

    Parameters
    ----------
    Phi : array-like of shape (m, m)
        Kernel matrix.
    T : array-like of shape (m, l)
        Features at the samples, linearly independent.
    y : array-like of shape (m,) or (m, k)
        Targets.
    regularization : float
        γ, not negative.
    pivots : {"qr", "first"}, default="qr"
        See `phi_prime`.

    Returns
    -------
    c : ndarray of shape (m,) or (m, k)
        Kernel coefficients of the original kernel Φ, with Tᵀc = 0.
    beta : ndarray of shape (l,) or (l, k)
        Coefficients of the original features φ.
    """
    return _solve(Phi, T, y, regularization, "published", choice(pivots, "pivots", ("qr", "first")))
