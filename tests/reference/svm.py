"""Support vector machines with a generalised bias: y is ±1, C (m,) the bounds, c = Ya."""

import numpy as np


def svm_objective(Phi, T, y, C, c, beta):
    """½ cᵀΦc + Σ C_i max(0, 1 − y_i f(x_i))"""
    return c @ Phi @ c / 2 + C @ np.maximum(0, 1 - y * (Phi @ c + T @ beta))


def svm_dual(Phi, y, c):
    """1ᵀa − ½ aᵀYΦYa: with 0 ≤ a ≤ C and Tᵀc = 0 never more than the objective."""
    return y @ c - c @ Phi @ c / 2


def svm_violation(Phi, T, y, C, c, beta):
    """How far the optimality conditions are from being met: the box, Tᵀc = 0, and the margins."""
    a, margin = y * c, y * (Phi @ c + T @ beta) - 1
    box = max(0.0, (-a).max(), (a - C).max())
    equalities = np.abs(T.T @ c).max(initial=0.0)
    # Below the bound the margin must be kept, above zero it must not be exceeded.
    low = np.maximum(0, -margin[a < C]).max(initial=0.0)
    high = np.maximum(0, margin[a > 0]).max(initial=0.0)
    return max(box, equalities), max(low, high)


def svm_program(H, y, alpha, rest, regularization):
    """Eq. (23) of "Generalizing the Bias Term of Support Vector Machines"; rest are the non-pivot samples."""
    signed = (y * alpha)[rest]
    return signed @ H @ signed / 2 - 2 * regularization * alpha.sum()
