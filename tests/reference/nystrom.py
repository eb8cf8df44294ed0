"""Nyström models: functions on M centres, their orthonormal form, the minimiser and its GCV.

Z (n, M) are kernel values of rows and centres, Phi (M, M) those of the centres, T_centers (M, l) the features
at the centres.
"""

import numpy as np

from .basis import null_space


def whitening(Phi, T_centers):
    """a (M, r), functions orthonormal for the penalty and free of the features: aᵀΦa = I, Tᵀa = 0."""
    N = null_space(T_centers)
    L = np.linalg.cholesky(N.T @ Phi @ N)
    return np.linalg.solve(L, N.T).T


def whitened(Z, L, E):
    """b(x) = L⁻¹ (k(z, x) − E k(z', x)) as rows: z are the centres that carry functions, z' the others."""
    rank = len(L)
    return np.linalg.solve(L, (Z[:, :rank] - Z[:, rank:] @ E.T).T).T


def solve_nystrom(Z, Phi, T, T_centers, y, regularization):
    """The minimiser of |y − Zc − Tβ|²/n + γ cᵀΦc over c with T_centersᵀc = 0, as a least-squares problem."""
    a = whitening(Phi, T_centers)
    n, rank, n_free = len(Z), a.shape[1], T.shape[1]
    penalty = np.hstack([np.sqrt(regularization * n) * np.eye(rank), np.zeros((rank, n_free))])
    design = np.vstack([np.hstack([Z @ a, T]), penalty])
    target = np.concatenate([y, np.zeros((rank, *y.shape[1:]))])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    return a @ solution[:rank], solution[rank:]


def nystrom_gcv(B, T, Y, regularization):
    """n |r|² / (n − l − tr S)², mean over outputs: r = (I − S)QY, S = QB(BᵀQB + γnI)⁻¹BᵀQ, Q = I − TT⁺."""
    n, n_free = T.shape
    projection = np.eye(n) - T @ np.linalg.pinv(T)
    QB = projection @ B
    smoother = QB @ np.linalg.solve(QB.T @ QB + regularization * n * np.eye(B.shape[1]), QB.T)
    residual = projection @ Y - smoother @ projection @ Y
    return n * (residual**2).sum(axis=0).mean() / (n - n_free - np.trace(smoother)) ** 2
