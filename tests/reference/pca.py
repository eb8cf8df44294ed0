"""Kernel PCA; equation numbers are those of "Useful Applications in Statistical Learning with RKHS", 3.1."""

import numpy as np


def centred(K):
    """Eq. (3.1): (I − 1_N) K (I − 1_N)."""
    J = np.eye(len(K)) - 1 / len(K)
    return J @ K @ J


def kernel_pca(K, k):
    """Eqs. (3.9) and (3.10): the k largest eigenvalues of the centred matrix, and α with λ (α·α) = 1."""
    values, vectors = np.linalg.eigh(centred(K))
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    return values, vectors / np.sqrt(values)


def project(K_new, K, alpha):
    """Eq. (3.11) for new points, K_new (n, m), moved to the mean of the training points."""
    rows, columns = K_new.mean(axis=1, keepdims=True), K.mean(axis=0, keepdims=True)
    return (K_new - rows - columns + K.mean()) @ alpha


def centred_nystrom(Z, K):
    """Z̄ K̄⁺ Z̄ᵀ, centred: what is left of the matrix with centres alone; Z (n, M), K (M, M) among centres."""
    J = np.eye(len(K)) - 1 / len(K)
    moved = (Z - K.mean(axis=0)) @ J
    return centred(moved @ np.linalg.pinv(centred(K), rcond=1e-12) @ moved.T)
