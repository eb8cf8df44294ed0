"""The quadratic and the linear program of SVM-GB by OSQP, one pair of classes at a time.

Letters are those of docs/math.md, section "SVM-GB": Phi (m, m) kernel matrix, T (m, l) features, y labels ±1,
and a_i = α_i / (2γ) ∈ [0, C_i], so that every C_i = 1 / (2γm) is the paper's box α_i ∈ [0, 1/m].
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from .._validation import FloatArray
from ..exceptions import SolverError
from . import bases

_WAY_OUT = 'use solver="ipm" or "native", or scale the kernel, the features or C'
_INACCURATE = ("solved inaccurate", "maximum iterations reached", "run time limit reached")


@dataclass
class Program:
    """What OSQP found: the variables, the multipliers of its rows, and how many iterations it took."""

    x: FloatArray
    multipliers: FloatArray
    iterations: int
    converged: bool


def _solve(
    P: Any, q: FloatArray, A: Any, low: FloatArray, high: FloatArray, what: str, tol: float, max_iter: int
) -> Program:
    """Minimise ½xᵀPx + qᵀx over low ≤ Ax ≤ high."""
    import osqp  # only where it is used: it is not light

    solver = osqp.OSQP()
    try:
        solver.setup(
            P=sparse.triu(P, format="csc"),
            q=q,
            A=sparse.csc_matrix(A),
            l=low,
            u=high,
            eps_abs=tol,
            eps_rel=tol,
            max_iter=max_iter,
            polishing=True,
            verbose=False,
        )
        result = solver.solve(raise_error=False)
    except (osqp.OSQPException, ValueError) as error:
        raise SolverError(f"OSQP refuses {what}: {error}; {_WAY_OUT}") from error
    status = result.info.status
    if status == "solved":
        return Program(np.asarray(result.x), np.asarray(result.y), int(result.info.iter), True)
    residuals = (
        f"primal residual {result.info.prim_res:.2g}, dual residual {result.info.dual_res:.2g}, "
        f"{result.info.iter} iterations"
    )
    if status not in _INACCURATE or result.x is None or not np.all(np.isfinite(result.x)):
        raise SolverError(
            f"OSQP calls {what} '{status}' ({residuals}); the program has a solution, so its numbers are too "
            f"badly scaled for OSQP; {_WAY_OUT}"
        )
    warnings.warn(
        f"OSQP did not reach its tolerance {tol:g} for {what}: {status} ({residuals}); raise max_iter, "
        'or use solver="ipm" or "native"',
        ConvergenceWarning,
        stacklevel=2,
    )
    return Program(np.asarray(result.x), np.asarray(result.y), int(result.info.iter), False)


def dual(
    quadratic: FloatArray, E: FloatArray, y: FloatArray, C: FloatArray, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, Program]:
    """Return c = Ya and the multipliers of E c = 0 for min ½ cᵀQc − 1ᵀa, 0 ≤ a ≤ C.

    `quadratic` is Q (m, m) and `E` (l, m). The program is solved for a / max(C), whose entries are of the
    order of one.
    """
    m, size = len(y), float(C.max())
    signed = quadratic * np.outer(y, y)
    program = _solve(
        sparse.csc_matrix(size * signed),
        -np.ones(m),
        sparse.vstack([sparse.eye(m), sparse.csc_matrix(E * y)]) if len(E) else sparse.eye(m),
        np.concatenate([np.zeros(m), np.zeros(len(E))]),
        np.concatenate([C / size, np.zeros(len(E))]),
        "the quadratic program",
        tol,
        max_iter,
    )
    a = np.clip(size * program.x, 0, C)
    a[a < 1e-9 * C] = 0
    return a * y, program.multipliers[m:], program


@dataclass
class Solution:
    """The model function of one pair of classes, f = Σ c_i Φ(x_i, ·) + Σ β_p φ_p."""

    c: FloatArray  # (m,)
    beta: FloatArray  # (l,)
    lambda_tilde: FloatArray  # (l,): of eq. (26) in the pivot form, else β itself
    objective: float  # ½ cᵀΦc + Σ C_i ξ_i
    duality_gap: float  # relative to it
    n_iter: int
    converged: bool


def solve(
    Phi: FloatArray,
    T: FloatArray,
    y: FloatArray,
    C: FloatArray,
    *,
    formulation: str,
    tol: float,
    max_iter: int,
) -> Solution:
    """Solve the dual by OSQP; the columns of T are independent."""
    if formulation == "virtual":
        c, beta, program = dual(Phi, T.T, y, C, tol, max_iter)
        return _certified(Phi, T, y, C, c, beta, beta, program)
    # Eqs. (23)-(24): pivots first, whose block of the quadratic form is zero.
    P, pivots, _ = bases.phi_prime(T, "qr", 0.0)
    rest = np.setdiff1d(np.arange(len(y)), pivots)
    H = bases.assemble(Phi, T, basis="pivot", pivots="qr", tolerance=0.0)
    order = np.concatenate([np.asarray(pivots, dtype=np.intp), rest])
    c = np.empty(len(y))
    c[order], lambda_tilde, program = dual(
        linalg.block_diag(np.zeros((len(pivots), len(pivots))), H),
        P[order].T,
        y[order],
        C[order],
        tol,
        max_iter,
    )
    # H(x_i, ·) written out in Φ: what it takes from φ' at x is Φc at the pivots.
    beta = np.asarray(linalg.solve(T[pivots], lambda_tilde - Phi[pivots] @ c))
    return _certified(Phi, T, y, C, c, beta, lambda_tilde, program)


def _certified(
    Phi: FloatArray,
    T: FloatArray,
    y: FloatArray,
    C: FloatArray,
    c: FloatArray,
    beta: FloatArray,
    lambda_tilde: FloatArray,
    program: Program,
) -> Solution:
    image = Phi @ c
    residual = y - image - T @ beta
    losses = C * np.maximum(0, y * residual)
    objective = 0.5 * c @ image + losses.sum()
    gap = losses.sum() - c @ residual
    return Solution(
        c,
        beta,
        lambda_tilde,
        float(objective),
        float(gap / (objective or 1)),
        program.iterations,
        program.converged,
    )


def bias(
    known: FloatArray, T: FloatArray, y: FloatArray, C: FloatArray, tol: float, max_iter: int
) -> FloatArray:
    """Return the β of eq. (25): it minimises Σ C_i max(0, 1 − y_i (known_i + T_i β)).

    `known` (m,) is the kernel part of the model function at the samples.
    """
    m, n_features = T.shape
    if n_features == 0:
        return np.empty(0)
    A = sparse.bmat([[sparse.csc_matrix(y[:, None] * T), sparse.eye(m)], [None, sparse.eye(m)]])
    program = _solve(
        sparse.csc_matrix((n_features + m, n_features + m)),
        np.concatenate([np.zeros(n_features), C / C.max()]),
        A,
        np.concatenate([1 - y * known, np.zeros(m)]),
        np.full(2 * m, np.inf),
        "the linear program of the bias",
        tol,
        max_iter,
    )
    return program.x[:n_features]
