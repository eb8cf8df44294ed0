"""The exact model without its matrix: conjugate gradients on kernel tiles that are evaluated again and again.

With sample weights W, s = γΣw, y ← W½y, T ← W½T, Φ ← W½ΦW½, T = QR and Π = I − QQᵀ the minimiser is

    (ΠΦΠ + s) c = Πy,   Qᵀc = 0,   R β = Qᵀ(y − Φc).

One product ΦQ beforehand gives what β and its covariance need; each step costs one product with Φ for all
outputs. The preconditioner is ΠBBᵀΠ + s, where b(x)ᵀb(x') is the Nyström approximation of the kernel on some
centres (see `grls.nystrom`), inverted by Woodbury's formula. Memory: 8 m bytes per centre, and nothing of the
size of Φ.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.linalg import blas, cho_factor, cho_solve, solve_triangular

from .. import _core
from .._nystrom import centers as centers_
from .._solvers.conjugate_gradients import (
    Operator,
    conjugate_gradients,
    refined_gradients,
    warn_unless_converged,
)
from .._solvers.runtime import get_num_threads
from .._validation import FloatArray
from . import memory as _memory
from .kernel_problem import KernelProblem as Problem
from .rank import independent_qr
from .results import Solution

_MOST_CENTERS = 2000
_MOST_VALUES = 1 << 27  # of the preconditioner: 1 GiB


def centers_for(n_samples: int) -> int:
    """Return how many centres the preconditioner has."""
    return max(1, min(n_samples, _MOST_CENTERS, _MOST_VALUES // n_samples))


def _preconditioner(problem: Problem, Q: FloatArray, roots: Any, shift: float) -> Operator:
    m = len(problem.T)
    pool = centers_.Pool(centers_for(m), 0)
    pool.add(problem.X, np.arange(m))
    centers = centers_.build(problem.kernel, pool.X, problem.T[pool.y], "double")
    if centers.rank == 0:  # the features express all that the kernel does
        return lambda R: np.asarray(R / shift)
    # Row-major (m, r) is column-major (r, m): products go to SciPy's BLAS, whose threads the core shares.
    Bt = (centers.rows(problem.X) * roots).T
    Bt = np.asfortranarray(Bt - (Bt @ Q) @ Q.T) if Q.shape[1] else Bt
    inner = blas.dsyrk(1.0, Bt, lower=1)
    inner[np.diag_indices(len(inner))] += shift
    factor = cho_factor(inner, lower=True, overwrite_a=True)

    def apply(R: FloatArray) -> FloatArray:
        seen = blas.dgemm(1.0, Bt, R)
        return np.asarray((R - blas.dgemm(1.0, Bt, cho_solve(factor, seen), trans_a=1)) / shift)

    return apply


def solve(
    problem: Problem,
    targets: FloatArray,
    regularization: float,
    *,
    precision: str,
    tol: float,
    max_iter: int,
    report: Any,
) -> Solution:
    """Return the solution for all columns of `targets`, as `Problem.solve` does."""
    if problem.gram.formula is None:
        raise ValueError(
            'solver="cg" evaluates the kernel again in every step: it needs a kernel of grls.kernels, not a '
            'function or a matrix; use solver="cholesky"'
        )
    if regularization == 0:
        raise ValueError('solver="cg" needs a positive regularization; use solver="cholesky" for 0')
    start = time.perf_counter()
    m, k = targets.shape
    _memory.require(
        16.0 * m * centers_for(m), f"the preconditioner of {m} samples", "use NystromGRLSRegressor"
    )
    shift = regularization * problem.total_weight
    roots = np.ones((1, 1)) if problem.weights is None else np.sqrt(problem.weights)[:, None]
    y, T = roots * targets, roots * problem.T
    kept, Q, R = independent_qr(T, problem.tolerance)
    formula, data = problem.gram.formula, problem.gram.data

    def project(V: FloatArray) -> FloatArray:
        return np.asfortranarray(V - Q @ (Q.T @ V))

    def kernel_times(V: FloatArray, digits: str = "double") -> FloatArray:
        product = _core.symmetric_kernel_times(
            formula=formula, data=data, c=roots * V, precision=digits, threads=get_num_threads()
        )
        return np.asarray(roots * product)

    def multiply(V: FloatArray, digits: str = "double") -> FloatArray:
        return project(kernel_times(V, digits)) + shift * V

    precondition = _preconditioner(problem, Q, roots, shift)
    report(f"preconditioner of {m} samples is ready")
    prepared = time.perf_counter()
    PhiQ = kernel_times(Q) if kept else np.empty((m, 0))
    rhs = project(np.hstack([y, PhiQ]))
    solver = refined_gradients if precision in ("mixed", "single") else conjugate_gradients
    solved = solver(multiply, precondition, rhs, tol=tol, max_iter=max_iter, report=report)
    warn_unless_converged(solved, tol, max_iter)
    X = solved.X
    z, across = X[:, :k], X[:, k:]
    beta, covariance = np.zeros((T.shape[1], k)), np.zeros((T.shape[1],) * 2)
    if kept:
        beta[kept] = solve_triangular(R, Q.T @ y - PhiQ.T @ z)
        spread = Q.T @ PhiQ + shift * np.eye(len(kept)) - PhiQ.T @ across
        half = solve_triangular(R, spread)
        covariance[np.ix_(kept, kept)] = solve_triangular(R, half.T)
    end = time.perf_counter()
    return Solution(
        c=roots * z,
        beta=beta,
        kept=kept,
        quadratic=np.einsum("ij,ij->j", y, z),
        feature_covariance=covariance,
        precision="double" if precision == "auto" else precision,
        iterations=solved.steps,
        seconds={"precondition": prepared - start, "solve": end - prepared},
    )
