"""Conjugate gradients for all right-hand sides at once, with whatever multiplies and preconditions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._validation import FloatArray

Operator = Callable[[FloatArray], FloatArray]  # (n, k) -> (n, k)


def _divide(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a / b, and 0 for 0 / 0: a column that is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


@dataclass
class Solved:
    """What conjugate gradients came to."""

    X: FloatArray
    steps: int
    residual: float  # relative to the right-hand side, of the worst column


def conjugate_gradients(
    multiply: Operator,
    precondition: Operator,
    B: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Callable[[str], None],
    patience: int | None = None,
) -> Solved:
    """Solve A X = B for a positive definite A.

    Stops when every column's residual is below `tol` times its right-hand side, after `max_iter` steps, or
    when the residual has not become smaller in `patience` steps.
    """
    X = np.zeros_like(B)
    R = B.copy()
    sizes = np.linalg.norm(B, axis=0)
    sizes[sizes == 0] = 1.0
    Z = precondition(R)
    P = Z.copy()
    rz = np.einsum("ij,ij->j", R, Z)
    worst = best = float(np.max(np.linalg.norm(R, axis=0) / sizes, initial=0.0))
    steps = since = 0
    while worst > tol and steps < max_iter and (patience is None or since < patience):
        AP = multiply(P)
        alpha = _divide(rz, np.einsum("ij,ij->j", P, AP))
        X += alpha * P
        R -= alpha * AP
        steps += 1
        worst = float(np.max(np.linalg.norm(R, axis=0) / sizes))
        since = 0 if worst < best else since + 1
        best = min(best, worst)
        report(f"conjugate gradients: step {steps}, relative residual {worst:.1e}")
        Z = precondition(R)
        following = np.einsum("ij,ij->j", R, Z)
        P = Z + _divide(following, rz) * P
        rz = following
    return Solved(X, steps, worst)


def warn_unless_converged(solved: Solved, tol: float, max_iter: int) -> None:
    """Warn where the steps ran out."""
    if not solved.residual <= tol:
        warnings.warn(
            f"conjugate gradients stopped after max_iter={max_iter} steps with a relative residual of "
            f"{solved.residual:.1e}, above tol={tol:g}: allow more steps, a larger tol, or regularize more",
            ConvergenceWarning,
            stacklevel=2,
        )
