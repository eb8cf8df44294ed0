"""The numerical functions of the papers, on plain arrays: NumPy in, NumPy out.

For those who want to check an equation or build something else on it; the estimators do all this in one call.
Letters are the papers': T (m, l) features at the samples, Phi (m, m) kernel matrix, γ ``regularization``.

=======================  ================================================================================
`phi_prime`              φ' of eq. (12)-(13): features that are 1 at one pivot sample and 0 at the others
`assemble`               H of eq. (11) and E, in the basis of the pivots
`null_space`             an orthonormal basis N of {c : Tᵀc = 0}
`assemble_orthonormal`   NᵀΦN in that basis
`ConstructedKernel`      K of eq. (10), H of eq. (11) and φ' of eq. (12) at any points
`llt`                    the Cholesky factor of a positive definite matrix
`solve_exact`            the minimiser of eq. (2)
`solve_published`        eqs. (26)-(27) as they are printed, in the original kernel and features
`published_coefficients` λ̃ and c̃ of eqs. (26)-(28) themselves
`svm_gb_qp`              the quadratic program of SVM-GB, by OSQP
`bias_lp`                the linear program (25) of its bias, by OSQP; by HiGHS where that falls short
`kernel_root`            X with XXᵀ = K: coordinates of the samples in the kernel's space
`solve_prior`            eq. (7) of the Gaussian prior on the weights there
=======================  ================================================================================

Derivations are in docs/math.md, section "The model, in any basis" and those that follow it.
Equation numbers are those of "Generalized Regularized Least-Squares Learning with Predefined Features", of
`svm_gb_qp` and `bias_lp` those of "Generalizing the Bias Term of Support Vector Machines", of the last two
those of "Regularized Least Squares Classification with a Gaussian Regularization Prior".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_array

from ._solvers import bases, bias_program, covariance, osqp
from ._solvers.bias_program import Bias
from ._solvers.kernel_problem import KernelProblem
from ._solvers.rank import dependence_tolerance, independent_columns
from ._validation import FloatArray, choice, real, require_symmetric
from .exceptions import NotPositiveDefiniteError
from .kernels import Precomputed

__all__ = [
    "Bias",
    "ConstructedKernel",
    "assemble",
    "assemble_orthonormal",
    "bias_lp",
    "dependence_tolerance",
    "independent_columns",
    "kernel_root",
    "llt",
    "null_space",
    "phi_prime",
    "published_coefficients",
    "solve_exact",
    "solve_prior",
    "solve_published",
    "svm_gb_qp",
]
__dir__ = __all__.copy


def _features(T: ArrayLike) -> tuple[FloatArray, float]:
    given = np.asarray(T)
    checked = check_array(given, dtype=np.float64, input_name="T", ensure_min_features=0)
    dtype = np.float32 if given.dtype == np.float32 else np.float64
    return checked, dependence_tolerance(dtype)


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
    P, chosen, kept = bases.phi_prime(checked, pivots, tolerance)
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
    H = bases.assemble(gram, checked, basis="pivot", pivots=pivots, tolerance=tolerance)
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
    N, kept = bases.null_space(checked, tolerance)
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
    H = bases.assemble(gram, checked, basis="orthonormal", pivots="qr", tolerance=tolerance)
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
    return np.ascontiguousarray(bases.llt(_square(A, "A")))


def _solve(
    Phi: ArrayLike, T: ArrayLike, y: ArrayLike, regularization: float, formulation: str, pivots: str
) -> tuple[FloatArray, FloatArray]:
    gram = _square(Phi)
    checked, _ = _features(T)
    targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    gamma = real(regularization, "regularization", minimum=0)
    columns = targets.reshape(len(targets), -1)
    if checked.shape[1] == len(checked):  # the features interpolate, and leave nothing to the kernel
        _, chosen = phi_prime(T, pivots)
        beta = linalg.solve(checked[chosen], columns[chosen])
        return np.zeros_like(targets), np.asarray(beta).reshape(targets.shape)
    problem = KernelProblem(Precomputed(), gram, checked, None)
    solution = problem.solve(columns, gamma, formulation=formulation, pivots=pivots)
    _require_independent(solution.kept, checked)
    shape = targets.shape[1:]
    c, beta = (np.ascontiguousarray(part).reshape(-1, *shape) for part in (solution.c, solution.beta))
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
        Features at the samples, linearly independent; l may be 0 or m.
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


def published_coefficients(
    Phi: ArrayLike, T: ArrayLike, y: ArrayLike, regularization: float, pivots: str = "qr"
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    r"""Return the coefficients of eqs. (26)-(28) themselves, in the basis of the pivot samples.

    .. math:: \tilde λ = y_1, \quad (H + γ m I) \tilde c = y_2 - E^T \tilde λ, \quad
              f(x) = \sum_p \tilde λ_p φ'_p(x) + \sum_i \tilde c_i H(x_i, x)

    Parameters
    ----------
    Phi : array-like of shape (m, m)
        Kernel matrix.
    T : array-like of shape (m, l)
        Features at the samples, linearly independent; l may be 0 or m.
    y : array-like of shape (m,) or (m, k)
        Targets.
    regularization : float
        γ, not negative.
    pivots : {"qr", "first"}, default="qr"
        See `phi_prime`; "first" is as printed.

    Returns
    -------
    lambda_tilde : ndarray of shape (l,) or (l, k)
        λ̃, the targets of the pivot samples.
    c_tilde : ndarray of shape (m - l,) or (m - l, k)
        c̃, of the samples that are not pivots, in their order.
    pivots : ndarray of shape (l,)
        The pivot samples. `ConstructedKernel` has φ' and H for them.

    See Also
    --------
    solve_published : The same function in the original kernel and features.
    """
    gamma = real(regularization, "regularization", minimum=0)
    targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    H, E = assemble(Phi, T, pivots)
    _, chosen = phi_prime(T, pivots)
    if len(targets) != len(H) + len(chosen):
        raise ValueError(f"y must have a row for each of {len(H) + len(chosen)} samples, got {len(targets)}")
    lambda_tilde = targets[chosen]
    right = np.delete(targets, chosen, axis=0) - E.T @ lambda_tilde
    if len(H):
        L = llt(H + gamma * len(targets) * np.eye(len(H)))
        right = linalg.cho_solve((L, True), right)
    return lambda_tilde, np.ascontiguousarray(right), chosen


@dataclass(frozen=True)
class ConstructedKernel:
    r"""The kernel K of eq. (10), whose space contains the features, at any points.

    .. math:: K(x, x') = H(x, x') + \sum_p φ'_p(x) φ'_p(x')

    with H of eq. (11) and φ' of eq. (12). Being a function of two sets of points it serves as the ``kernel``
    of an estimator too.

    Parameters
    ----------
    kernel : Kernel or callable
        Φ: ``kernel(X, Z)`` is the matrix between points. Of `grls.kernels` one with its widths given.
    features : callable
        φ: ``features(X)`` is the matrix (n, l).
    pivots : array-like of shape (l, d)
        The points x_1 … x_l. The features there must be independent.

    Examples
    --------
    Eqs. (14) and (16): K(x_p, ·) = φ'_p and H(x_p, ·) = 0 at the pivots.

    >>> import numpy as np
    >>> from grls.core import ConstructedKernel
    >>> from grls.kernels import Gaussian
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> K = ConstructedKernel(Gaussian(0.5), lambda X: np.column_stack([np.ones(len(X)), X]), X[:2])
    >>> bool(np.allclose(K(X[:2], X), K.phi_prime(X).T)), bool(np.allclose(K.H(X[:2], X), 0))
    (True, True)
    """

    kernel: Callable[[Any, Any], FloatArray]
    features: Callable[[Any], FloatArray]
    pivots: Any

    def phi_prime(self, X: ArrayLike) -> FloatArray:
        """Return φ' of eq. (12).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n, l)
            The identity at the pivots.
        """
        points = np.asarray(self.pivots)
        B = np.asarray(self.features(points), dtype=np.float64)
        if B.ndim != 2 or B.shape[0] != B.shape[1]:
            raise ValueError(
                f"as many pivots as features are needed: the features there have shape {B.shape}"
            )
        if len(B) and len(independent_columns(B, dependence_tolerance(np.float64))) < len(B):
            raise ValueError("the features at the pivots are linearly dependent: take other points as pivots")
        values = np.asarray(self.features(np.asarray(X)), dtype=np.float64)
        return np.ascontiguousarray(linalg.solve(B.T, values.T).T) if len(B) else values

    def H(self, X: ArrayLike, Z: ArrayLike) -> FloatArray:
        """Return H of eq. (11).

        Parameters
        ----------
        X, Z : array-like of shape (n, d) and (r, d)
            Points.

        Returns
        -------
        ndarray of shape (n, r)
            Zero at the pivots.
        """
        X, Z, points = np.asarray(X), np.asarray(Z), np.asarray(self.pivots)
        left, right = self.phi_prime(X), self.phi_prime(Z)
        if not len(points):  # no features: Φ itself
            return np.asarray(self.kernel(X, Z))
        values = self.kernel(X, Z) - left @ self.kernel(points, Z) - self.kernel(X, points) @ right.T
        return np.asarray(values + left @ self.kernel(points, points) @ right.T)

    def __call__(self, X: ArrayLike, Z: ArrayLike) -> FloatArray:
        """Return K of eq. (10).

        Parameters
        ----------
        X, Z : array-like of shape (n, d) and (r, d)
            Points.

        Returns
        -------
        ndarray of shape (n, r)
            The kernel matrix.
        """
        return np.asarray(self.H(X, Z) + self.phi_prime(X) @ self.phi_prime(Z).T)


def _signs(y: ArrayLike, m: int) -> FloatArray:
    signs = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    if signs.shape != (m,) or not np.isin(signs, (-1, 1)).all():
        raise ValueError(f"y must hold {m} labels -1 and 1")
    return np.asarray(signs)


def svm_gb_qp(
    Phi: ArrayLike,
    T: ArrayLike,
    y: ArrayLike,
    regularization: float,
    formulation: str = "pivot",
    *,
    tol: float = 1e-6,
    max_iter: int = 100_000,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    r"""Solve the quadratic program (23)-(24) of SVM-GB by OSQP.

    .. math:: \min_α \tfrac12 α_2^T Y_2 H Y_2 α_2 - 2γ 1^T α, \quad 0 ≤ α ≤ 1/m, \quad
              E_1 Y_1 α_1 + E_2 Y_2 α_2 = 0

    Parameters
    ----------
    Phi : array-like of shape (m, m)
        Kernel matrix.
    T : array-like of shape (m, l)
        Features at the samples, linearly independent.
    y : array-like of shape (m,)
        Labels -1 and 1.
    regularization : float
        γ, greater than zero; C = 1/(2γm).
    formulation : {"pivot", "virtual"}, default="pivot"
        The program as printed, with H, E₁ = I and E₂ of the pivot samples; or with virtual samples (section
        4.2), whose label 0 and φ_p(x_vq) = δ_pq leave Φ and T in the places of H and E. A kernel that is
        positive definite only conditionally needs "pivot": H is positive definite, Φ is not.
    tol : float, default=1e-6
        Duality gap to reach, relative to the objective ½cᵀΦc + CΣξ.
    max_iter : int, default=100000
        OSQP's iterations at most; `ConvergenceWarning` with the gap where they do not suffice.

    Returns
    -------
    alpha : ndarray of shape (m,)
        α, in the order of the samples.
    lambda_tilde : ndarray of shape (l,)
        λ̃: the multipliers of the equalities over 2γ. In the virtual form they are β.
    c : ndarray of shape (m,)
        Coefficients of Φ in f = Σ c_i Φ(x_i, ·) + Σ β_p φ_p; eq. (22) at the samples that are no pivots.
    beta : ndarray of shape (l,)
        Coefficients of the original features φ.
    """
    gram = _square(Phi)
    checked, tolerance = _features(T)
    signs = _signs(y, len(gram))
    gamma = real(regularization, "regularization", above=0)
    choice(formulation, "formulation", ("pivot", "virtual"))
    _require_independent(independent_columns(checked, tolerance), checked)
    m = len(gram)
    solution = osqp.solve(
        gram,
        checked,
        signs,
        np.full(m, 1 / (2 * gamma * m)),
        formulation=formulation,
        tol=real(tol, "tol", above=0),
        max_iter=max_iter,
    )
    return 2 * gamma * signs * solution.c, solution.lambda_tilde, solution.c, solution.beta


@overload
def bias_lp(
    Phi: ArrayLike,
    T: ArrayLike,
    y: ArrayLike,
    c: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    tol: float = ...,
    max_iter: int = ...,
    return_info: Literal[False] = ...,
) -> FloatArray: ...


@overload
def bias_lp(
    Phi: ArrayLike,
    T: ArrayLike,
    y: ArrayLike,
    c: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    tol: float = ...,
    max_iter: int = ...,
    return_info: Literal[True],
) -> Bias: ...


def bias_lp(
    Phi: ArrayLike,
    T: ArrayLike,
    y: ArrayLike,
    c: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 100_000,
    return_info: bool = False,
) -> FloatArray | Bias:
    r"""Solve the linear program (25) for the features' coefficients by OSQP, or by HiGHS.

    .. math:: \min_β \frac1m \sum_i ξ_i, \quad y_i \Big( \sum_p β_p φ_p(x_i) + \sum_j c_j Φ(x_j, x_i) \Big)
              ≥ 1 - ξ_i, \quad ξ_i ≥ 0

    OSQP solves it in orthonormal coordinates of the features: loosely at first, then again and again for the
    samples near the kink ξ_i = 0, until the duality gap is small. If it is not after a dozen times, or after
    `max_iter` iterations, `scipy.optimize.linprog` finishes.

    Parameters
    ----------
    Phi : array-like of shape (m, m)
        Kernel matrix.
    T : array-like of shape (m, l)
        Features at the samples; with φ' in their place the solution is the λ̃ that goes with them. Columns
        that depend on others get the coefficient zero.
    y : array-like of shape (m,)
        Labels -1 and 1.
    c : array-like of shape (m,)
        Kernel coefficients, such as those of `svm_gb_qp`.
    sample_weight : array-like of shape (m,), default=None
        Weights of the ξ_i, not negative; the mean is a weighted one then.
    tol : float, default=1e-6
        How far the objective may be above the minimum, relative to itself.
    max_iter : int, default=100000
        OSQP's iterations at most; then HiGHS takes over.
    return_info : bool, default=False
        Whether to return, beside β, who found it and how good it is.

    Returns
    -------
    ndarray of shape (l,) or Bias
        β. Where it is not unique, one of the solutions. With `return_info` an object with ``beta``,
        ``objective``, ``relative_gap``, ``solver`` ("osqp" or "highs") and ``iterations``.
    """
    gram = _square(Phi)
    checked, _ = _features(T)
    signs = _signs(y, len(gram))
    coefficients = check_array(c, dtype=np.float64, ensure_2d=False, input_name="c")
    weights = _weights(sample_weight, len(gram))
    with np.errstate(over="ignore", invalid="ignore"):  # the program says so itself
        known = gram @ coefficients
    found = bias_program.solve(known, checked, signs, weights, real(tol, "tol", above=0), max_iter)
    return found if return_info else found.beta


def _weights(sample_weight: ArrayLike | None, m: int) -> FloatArray:
    """Return weights that add up to one."""
    if sample_weight is None:
        return np.full(m, 1 / m)
    weights = np.asarray(check_array(sample_weight, dtype=np.float64, ensure_2d=False, input_name="weights"))
    if weights.shape != (m,) or weights.min() < 0 or weights.sum() <= 0:
        raise ValueError(f"sample_weight must hold {m} numbers that are not negative, and not all zero")
    return np.asarray(weights / weights.sum())


def kernel_root(K: ArrayLike, basis: str = "symmetric") -> FloatArray:
    """Return X with XXᵀ = K, the samples' coordinates in the kernel's space.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Kernel matrix, positive semidefinite; otherwise `NotPositiveDefiniteError`.
    basis : {"symmetric", "components"}, default="symmetric"
        The paper's K^½ = U √λ Uᵀ of K = U λ Uᵀ, symmetric; or U √λ, in which a column is a component, the
        largest first, and those of an eigenvalue that is rounding are left out.

    Returns
    -------
    ndarray of shape (n, n) or (n, q)
        X.
    """
    gram = _square(K, "K")
    choice(basis, "basis", ("symmetric", "components"))
    values, U = linalg.eigh(gram)
    rounding = 10 * len(gram) * np.finfo(np.float64).eps * np.abs(values).max(initial=0)
    if values[0] < -rounding:
        raise NotPositiveDefiniteError(
            f"K must be positive semidefinite: it has the eigenvalue {values[0]:.3g}"
        )
    kept = np.flatnonzero(values > rounding)[::-1]
    X = U[:, kept] * np.sqrt(values[kept])
    return np.ascontiguousarray(X if basis == "components" else X @ U[:, kept].T)


def solve_prior(X: ArrayLike, Sigma: Any, y: ArrayLike, regularization: float = 1.0) -> FloatArray:
    r"""Return the solution c of eq. (7), the stationary point of eq. (5).

    .. math:: X X^T X X^T c + ρ n X Σ^{-1} X^T c = X X^T y

    The weights are w = Xᵀc, and where rows repeat or depend on each other c is the one of least norm. For
    Σ = I it solves eq. (2) with λ = ρ/2: it is the c of `solve_exact` for K = XXᵀ without features, γ = 2λ.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Samples, or their coordinates in a kernel's space: `kernel_root`.
    Sigma : float or array-like of shape (d,) or (d, d)
        The covariance of the weights: one variance, one for each, or a positive definite matrix.
    y : array-like of shape (n,) or (n, k)
        Targets.
    regularization : float, default=1.0
        ρ > 0; 1 is the paper's.

    Returns
    -------
    ndarray of shape (n,) or (n, k)
        c.
    """
    rows: FloatArray = check_array(X, dtype=np.float64, input_name="X")
    targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    if len(targets) != len(rows):
        raise ValueError(f"y has {len(targets)} values for {len(rows)} rows of X")
    n, d = rows.shape
    rho = real(regularization, "regularization", above=0)
    prior = covariance.as_covariance(Sigma, d)
    # X = P s Qᵀ; with b = s Pᵀc what is left of (7) is (s² + ρn QᵀΣ⁻¹Q) b = s Pᵀy.
    P, s, Qt = linalg.svd(rows, full_matrices=False)
    kept = s > max(n, d) * np.finfo(np.float64).eps * s.max(initial=0)
    P, s, Q = P[:, kept], s[kept], Qt[kept].T
    inner = Q.T @ prior.solve(np.ascontiguousarray(Q))
    system = np.diag(s**2) + rho * n * (inner + inner.T) / 2
    b = linalg.solve(system, (s * (P.T @ targets).T).T, assume_a="pos")
    return np.asarray(P @ (b.T / s).T)
