"""Coefficients that a dual value may be taken of: within their bounds, and with Tᵀc = 0.

The dual value at others is no bound of the optimum: where features nearly explain all there is, with large
coefficients β, a little left of Tᵀc is worth |βᵀTᵀc|, and that β is not known. So a certificate is that of
the nearest coefficients that fulfil both; zero does in any case.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .._validation import FloatArray
from .rank import dependence_tolerance, independent_qr

_FEASIBLE = 1e-12  # what may be left of Qᵀc, as a share of c; rounding leaves less
_EPS = float(np.finfo(np.float64).eps)
_STEPS, _HALVINGS = 50, 30  # of Newton's method, of a step
_CURVED = 1e-12  # of the most that a direction of Q may have, to be one that coefficients can move in


def feasible(T: FloatArray, c: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the coefficients (m,) nearest to c with lower ≤ c ≤ upper and Tᵀc = 0, or zero.

    Those strictly between their bounds move alone, where they can. lower ≤ 0 ≤ upper.
    """
    c = np.clip(c, lower, upper)
    if T.shape[1] == 0 or not c.any():
        return c
    Q, allowed = _directions(T)
    if _is_feasible(Q, c, allowed):
        return c
    inside = (c > lower) & (c < upper)
    for moving in (inside, lower < upper):
        found = c.copy()
        found[moving] = _projected(
            Q[moving], c[moving], lower[moving], upper[moving], Q[~moving].T @ c[~moving]
        )
        if _is_feasible(Q, found, allowed):
            return found
    return np.zeros_like(c)


def _directions(T: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis Q of span T, and to what share of c its products with c are known.

    A column of which the share s is left beside those before it has its direction to ε/s.
    """
    if T.shape[1] == 1:  # as of most machines
        length = float(np.linalg.norm(T))
        return (T / length if length > 0 else T), np.array([_FEASIBLE])
    _, Q, R = independent_qr(T, dependence_tolerance())
    shares = np.abs(np.diagonal(R)) / np.linalg.norm(R, axis=0)
    return Q, np.maximum(_FEASIBLE, 10 * _EPS / np.minimum.accumulate(shares))


def _is_feasible(Q: FloatArray, c: FloatArray, allowed: FloatArray) -> bool:
    return bool(np.all(np.abs(Q.T @ c) <= allowed * np.linalg.norm(c)))


def _projected(
    Q: FloatArray, c: FloatArray, lower: FloatArray, upper: FloatArray, rest: FloatArray
) -> FloatArray:
    """Return the nearest coefficients (n,) within the bounds with Qᵀc + rest = 0, if Newton's method does.

    They are those of c − Qν, put on their bounds, with the ν that minimises a convex function.
    """

    def at(nu: FloatArray) -> tuple[FloatArray, FloatArray]:
        moved = np.clip(c - Q @ nu, lower, upper)
        return moved, Q.T @ moved + rest

    nu = np.zeros(Q.shape[1])
    found, left = at(nu)
    for _ in range(_STEPS):
        size = float(np.linalg.norm(left))
        if size <= _EPS * float(np.linalg.norm(found)):
            break
        free = c - Q @ nu
        rows = Q[(free >= lower) & (free <= upper)]
        values, vectors = linalg.eigh(rows.T @ rows)
        along = vectors.T @ left
        known = values > _CURVED
        step = vectors[:, known] @ (along[known] / values[known]) + vectors[:, ~known] @ along[~known]
        for halving in range(_HALVINGS):
            trial, missed = at(nu + step / 2**halving)
            if np.linalg.norm(missed) < size:
                nu, found, left = nu + step / 2**halving, trial, missed
                break
        else:
            break
    return found
