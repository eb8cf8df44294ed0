"""What the features leave to the kernel: polynomials, the null space of Tᵀ and the basis of the pivots."""

from itertools import combinations_with_replacement

import numpy as np


def polynomials(X, degree):
    """All monomials up to a degree, (n, l)."""
    columns = [np.ones(len(X))]
    for power in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(X.shape[1]), power):
            columns.append(np.prod(X[:, list(chosen)], axis=1))
    return np.stack(columns, axis=1)


def null_space(T):
    """N (m, m − l) with NᵀN = I and TᵀN = 0, from a singular value decomposition."""
    return np.linalg.svd(T, full_matrices=True)[0][:, T.shape[1] :]


def phi_prime(T_new, T, pivots):
    """Eq. (12): B holds the features at the pivot samples, one row each; φ' = φ B⁻¹ as rows."""
    return np.linalg.solve(T[pivots].T, T_new.T).T


def others(m, pivots):
    """The non-pivot samples, in their order."""
    return np.setdiff1d(np.arange(m), pivots)


def H_between(Phi_xz, Phi_pz, Phi_xp, Phi_pp, P_x, P_z):
    """Eq. (11) between points x and z; p are the pivot samples."""
    return Phi_xz - P_x @ Phi_pz - Phi_xp @ P_z.T + P_x @ Phi_pp @ P_z.T


def H(Phi, T, pivots):
    """Eq. (11) at the non-pivot samples."""
    r = others(len(T), pivots)
    P = phi_prime(T, T, pivots)[r]
    return H_between(
        Phi[np.ix_(r, r)], Phi[np.ix_(pivots, r)], Phi[np.ix_(r, pivots)], Phi[np.ix_(pivots, pivots)], P, P
    )


def E(T, pivots):
    """φ'_p at the non-pivot samples, (l, m - l)."""
    return phi_prime(T, T, pivots)[others(len(T), pivots)].T
