"""The oracle: every equation once, in plain NumPy, written for reading and not for speed.

Letters and equation numbers are those of "Generalized Regularized Least-Squares Learning with Predefined
Features": T (m, l) the features at the samples, Phi (m, m) the kernel matrix, P (m, l) the features φ'.
"""

from itertools import combinations_with_replacement

import numpy as np

# Kernels. X is (n, d), Z is (p, d); each returns (n, p).


def squared_distances(X, Z):
    difference = np.asarray(X, dtype=np.float64)[:, None, :] - np.asarray(Z, dtype=np.float64)[None, :, :]
    return (difference**2).sum(axis=2)


def inner_products(X, Z):
    return np.asarray(X, dtype=np.float64) @ np.asarray(Z, dtype=np.float64).T


def constant(X, Z, value):
    return np.full((len(X), len(Z)), float(value))


def linear(X, Z):
    return inner_products(X, Z)


def polynomial(X, Z, degree, c):
    return (inner_products(X, Z) + c) ** degree


def sigmoid(X, Z, a, c):
    return np.tanh(a * inner_products(X, Z) + c)


def gaussian(X, Z, sigma):
    """exp(−‖x − z‖² / (2σ²)); with one σ per column each column is divided by its own."""
    return np.exp(-squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)) / 2)


def laplace(X, Z, sigma):
    return np.exp(-np.sqrt(squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma))))


def matern(X, Z, sigma, nu):
    s = np.sqrt(2 * nu * squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)))
    return {0.5: 1, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}[nu] * np.exp(-s)


def rational_quadratic(X, Z, sigma, alpha):
    scaled = squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma))
    return (1 + scaled / (2 * alpha)) ** -alpha


def periodic(X, Z, sigma, period):
    half_turns = np.pi * (X[:, None, :] - Z[None, :, :]) / np.asarray(period)
    return np.exp(-2 * (np.sin(half_turns) ** 2 / np.asarray(sigma) ** 2).sum(axis=2))


def log_kernel(X, Z, p):
    return -np.log1p(squared_distances(X, Z) ** (p / 2))


def multiquadric(X, Z, sigma):
    return -np.sqrt(1 + squared_distances(X / np.asarray(sigma), Z / np.asarray(sigma)))


def polyharmonic(X, Z, degree):
    r = np.sqrt(squared_distances(X, Z))
    if degree % 2 == 1:
        return (-1) ** ((degree + 1) // 2) * r**degree
    return (-1) ** (degree // 2 + 1) * r**degree * np.log(np.where(r > 0, r, 1))


def chi_squared(X, Z, gamma):
    sums = X[:, None, :] + Z[None, :, :]
    shares = (X[:, None, :] - Z[None, :, :]) ** 2 / np.where(sums > 0, sums, 1)
    return np.exp(-gamma * shares.sum(axis=2))


def normalized(kernel, X, Z):
    """k(x, z) / √(k(x, x) k(z, z)), zero where a diagonal value is."""
    x, z = (np.diag(kernel(A, A)) for A in (X, Z))
    scale = np.sqrt(np.outer(x, z))
    return np.where(scale > 0, kernel(X, Z) / np.where(scale > 0, scale, 1), 0)


# Polynomials, which conditionally positive definite kernels ask for.


def polynomials(X, degree):
    """All monomials up to a degree, (n, l)."""
    columns = [np.ones(len(X))]
    for power in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(X.shape[1]), power):
            columns.append(np.prod(X[:, list(chosen)], axis=1))
    return np.stack(columns, axis=1)


# The pivot basis.


def phi_prime(T_new, T, pivots):
    """Eq. (12): B holds the features at the pivot samples, one row each; φ' = φ B⁻¹ as rows."""
    return np.linalg.solve(T[pivots].T, T_new.T).T


def others(m, pivots):
    """The samples that are no pivots, in their order."""
    return np.setdiff1d(np.arange(m), pivots)


def H_between(Phi_xz, Phi_pz, Phi_xp, Phi_pp, P_x, P_z):
    """Eq. (11) between points x and z; p are the pivot samples."""
    return Phi_xz - P_x @ Phi_pz - Phi_xp @ P_z.T + P_x @ Phi_pp @ P_z.T


def H(Phi, T, pivots):
    """Eq. (11) at the samples that are no pivots."""
    r = others(len(T), pivots)
    P = phi_prime(T, T, pivots)[r]
    return H_between(
        Phi[np.ix_(r, r)], Phi[np.ix_(pivots, r)], Phi[np.ix_(r, pivots)], Phi[np.ix_(pivots, pivots)], P, P
    )


def E(T, pivots):
    """φ'_p at the samples that are no pivots, (l, m - l)."""
    return phi_prime(T, T, pivots)[others(len(T), pivots)].T


# Solutions.


def solve_exact(Phi, T, y, regularization, weights=None):
    """The minimiser of eq. (2) from the optimality conditions themselves, as one saddle-point system.

    (Φ + γ Σw W⁻¹) c + T β = y,  Tᵀc = 0; without weights W = I and Σw = m.
    """
    m, l = T.shape  # noqa: E741
    weights = np.ones(m) if weights is None else weights
    system = np.block([[Phi + np.diag(regularization * weights.sum() / weights), T], [T.T, np.zeros((l, l))]])
    solution = np.linalg.solve(system, np.concatenate([y, np.zeros((l, *y.shape[1:]))]))
    return solution[:m], solution[m:]


def solve_published(Phi, T, y, regularization, pivots):
    """λ̃ and c̃ of eqs. (26) and (27), to the letter."""
    r = others(len(T), pivots)
    lambda_tilde = y[pivots]
    A = H(Phi, T, pivots) + regularization * len(T) * np.eye(len(r))
    return lambda_tilde, np.linalg.solve(A, y[r] - E(T, pivots).T @ lambda_tilde)


def published_function(Phi_new, T_new, Phi, T, pivots, lambda_tilde, c_tilde):
    """Eq. (28) at new points: Phi_new (n, m) their kernel values with the samples, T_new (n, l)."""
    r = others(len(T), pivots)
    P_new = phi_prime(T_new, T, pivots)
    P = phi_prime(T, T, pivots)[r]
    H_new = H_between(
        Phi_new[:, r], Phi[np.ix_(pivots, r)], Phi_new[:, pivots], Phi[np.ix_(pivots, pivots)], P_new, P
    )
    return P_new @ lambda_tilde + H_new @ c_tilde


# Kernel PCA, equations of "Useful Applications in Statistical Learning with RKHS", section 3.1.


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


# Objectives.


def objective(Phi, T, y, regularization, c, beta):
    """Eq. (2): mean squared error + γ ‖f − Pf‖², for one output."""
    residual = y - Phi @ c - T @ beta
    return residual @ residual / len(y) + regularization * c @ Phi @ c


def weighted_objective(Phi, T, y, regularization, c, beta, weights):
    """Eq. (2) with the weighted mean of the squared errors."""
    residual = y - Phi @ c - T @ beta
    return weights @ residual**2 / weights.sum() + regularization * c @ Phi @ c


# Topics: counts (n, d), theta (n, K) = P(topic | document), phi (K, d) = P(word | topic).


def plsa_log_likelihood(counts, theta, phi):
    probabilities = theta @ phi
    return sum(x * np.log(p) for x, p in zip(counts.ravel(), probabilities.ravel(), strict=True) if x > 0)


def plsa_update(counts, theta, phi, power=1.0):
    """One step for the mixtures, then one for the topics; power 1 is expectation maximisation."""
    factors = np.where(counts > 0, counts / (theta @ phi), 0) @ phi.T
    theta = theta * factors**power
    theta /= theta.sum(axis=1, keepdims=True)
    factors = theta.T @ np.where(counts > 0, counts / (theta @ phi), 0)
    phi = phi * factors**power
    return theta, phi / phi.sum(axis=1, keepdims=True)


def plsa(counts, phi, n_updates, power):
    """Over-relaxed updates; one that lowers the likelihood gives way to a plain one, the power shrinks."""
    theta = np.full((len(counts), len(phi)), 1 / len(phi))
    path = [plsa_log_likelihood(counts, theta, phi)]
    for _ in range(n_updates):
        before = theta, phi
        theta, phi = plsa_update(counts, theta, phi, power)
        if plsa_log_likelihood(counts, theta, phi) < path[-1]:
            theta, phi = plsa_update(counts, *before)
            power = (1 + power) / 2
        path.append(plsa_log_likelihood(counts, theta, phi))
    return phi, path


def plsa_gap(counts, theta, phi):
    """How far each document's log-likelihood per count, concave in theta, may be from its maximum."""
    gradient = np.where(counts > 0, counts / (theta @ phi), 0) @ phi.T / counts.sum(axis=1, keepdims=True)
    return gradient.max(axis=1) - 1


# Geodesics.


def neighbour_graph(points, k):
    """Edges to the k nearest others, in both directions; infinite where there is none."""
    distances = np.sqrt(squared_distances(points, points))
    graph = np.full_like(distances, np.inf)
    for i, row in enumerate(distances):
        for j in [j for j in np.argsort(row, kind="stable") if j != i][:k]:
            graph[i, j] = graph[j, i] = row[j]
    return graph


def shortest_paths(graph):
    """Floyd and Warshall."""
    distances = graph.copy()
    np.fill_diagonal(distances, 0)
    for via in range(len(distances)):
        distances = np.minimum(distances, distances[:, via, None] + distances[None, via, :])
    return distances


# Support vector machines with a generalised bias. y is ±1, C (m,) the bounds, c = Ya.


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


# The Gaussian prior on the weights; equation numbers are those of "Regularized Least Squares Classification
# with a Gaussian Regularization Prior". Sigma (d, d) is always the whole matrix here.


def prior_objective(X, T, y, w, beta, mean, Sigma, regularization=1.0, weights=None):
    """1/(2n) |y − Xw − Tβ|² + ρ/2 (w − μ)ᵀΣ⁻¹(w − μ); eq. (5) for w = Xᵀc and μ = 0."""
    residual = y - X @ w - T @ beta
    weights = np.ones(len(y)) if weights is None else weights
    penalty = (w - mean) @ np.linalg.solve(Sigma, w - mean)
    return weights @ residual**2 / (2 * weights.sum()) + regularization / 2 * penalty


def prior_map(X, T, y, mean, Sigma, regularization=1.0, weights=None):
    """The minimiser of `prior_objective` from its normal equations in w and β."""
    d = X.shape[1]
    weights = np.ones(len(y)) if weights is None else weights
    design = np.hstack([X, T])
    system = design.T @ (weights[:, None] * design)
    system[:d, :d] += regularization * weights.sum() * np.linalg.inv(Sigma)
    solution = np.linalg.solve(system, design.T @ (weights * (y - X @ mean)))
    return mean + solution[:d], solution[d:]


def prior_published(X, y, mean, Sigma, regularization=1.0):
    """Eq. (7) to the letter, w = Xᵀc; a mean is subtracted from both sides."""
    K = X @ X.T
    system = K @ K + regularization * len(y) * X @ np.linalg.solve(Sigma, X.T)
    c = np.linalg.lstsq(system, K @ (y - X @ mean), rcond=1e-12)[0]
    return mean + X.T @ c


# Logistic loss.


def logistic_objective(Phi, T, y, regularization, c, beta, weights=None):
    """Weighted mean of log(1 + exp(−yf)) + γ cᵀΦc, y = ±1."""
    weights = np.ones(len(y)) if weights is None else weights
    f = Phi @ c + T @ beta
    return weights @ np.logaddexp(0, -y * f) / weights.sum() + regularization * c @ Phi @ c
