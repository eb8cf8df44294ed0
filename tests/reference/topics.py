"""Topics: counts (n, d), theta (n, K) = P(topic | document), phi (K, d) = P(word | topic)."""

import numpy as np


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
