"""Conjugate gradients for all right-hand sides at once, with whatever multiplies and preconditions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._validation import FloatArray

Operator = Callable[[FloatArray], FloatArray]  # (n, k) -> (n, k)

_SINGLE_STEP = 1e-4  # what products in single precision are asked to reduce a residual by
_PATIENCE = 20  # steps in which they must


def _divide(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a / b, and 0 for 0 / 0: a column that is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def units(B: FloatArray) -> FloatArray:
    """Return the order of each column: squares of very large or very small numbers are none.

    They are powers of two, so that dividing by them leaves every digit as it was.
    """
    return np.asarray(np.ldexp(1.0, np.frexp(np.abs(B).max(axis=0, initial=0.0))[1] - 1))


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
    unit = units(B)
    X = np.zeros_like(B)
    R = B / unit
    sizes = np.linalg.norm(R, axis=0)
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
    return Solved(X * unit, steps, worst)


def refined_gradients(
    multiply: Callable[..., FloatArray],
    precondition: Operator,
    B: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Callable[[str], None],
) -> Solved:
    """Solve with products in single precision, corrected by residuals in double precision.

    ``multiply(V)`` and ``multiply(V, "single")`` are the products.
    """
    unit = units(B)
    B = B / unit
    solved, R = Solved(np.zeros_like(B), 0, 1.0), B
    sizes = np.linalg.norm(B, axis=0)
    sizes[sizes == 0] = 1.0
    while solved.residual > tol and solved.steps < max_iter:
        correction = conjugate_gradients(
            lambda V: multiply(V, "single"),
            precondition,
            R,
            tol=max(_SINGLE_STEP, 0.5 * tol / solved.residual),
            max_iter=max_iter - solved.steps,
            report=report,
            patience=_PATIENCE,
        )
        X, steps = solved.X + correction.X, solved.steps + correction.steps + 1
        left = B - multiply(X)
        residual = float(np.max(np.linalg.norm(left, axis=0) / sizes))
        report(f"conjugate gradients: residual in double precision {residual:.1e}")
        if not residual <= 0.5 * solved.residual:  # single precision has no more digits to give
            rest = conjugate_gradients(
                multiply,
                precondition,
                R,
                tol=tol / solved.residual,
                max_iter=max(max_iter - steps, 1),
                report=report,
            )
            return Solved(unit * (solved.X + rest.X), steps + rest.steps, rest.residual * solved.residual)
        solved, R = Solved(X, steps, residual), left
    return Solved(unit * solved.X, solved.steps, solved.residual)


def warn_unless_converged(solved: Solved, tol: float, max_iter: int) -> None:
    """Warn where the steps ran out."""
    if not solved.residual <= tol:
        warnings.warn(
            f"conjugate gradients stopped after max_iter={max_iter} steps with a relative residual of "
            f"{solved.residual:.1e}, above tol={tol:g}: allow more steps, a larger tol, or regularize more",
            ConvergenceWarning,
            stacklevel=2,
        )
