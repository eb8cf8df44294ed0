r"""What the criteria for γ need of G + sI beside solutions: its determinant, and traces of its inverse.

The preconditioner P, a block of low modes and the diagonal of the others, has all of them in closed form, and
is the whole matrix where there are few modes. Else the difference is estimated from random signs v,

    log det(G + s) = log det P + E vᵀ log(M) v,     M = E⁻¹(G + s)E⁻ᵀ, P = EEᵀ,
    tr (G + s)⁻¹   = tr P⁻¹ + E vᵀ(M⁻¹ − I) E⁻¹E⁻ᵀ v,

both from the same steps of conjugate gradients: their coefficients are the quadrature of the logarithm.
"""

from __future__ import annotations

import numpy as np

from .._solvers.runtime import blas_limited
from .._validation import FloatArray
from .system import System

_MOST_STEPS, _STEPS_BETWEEN_LOOKS = 200, 10
_PRECISION = 1e-3  # of solutions in the coordinates of the preconditioner
_OF_SOLUTIONS = 1e-4  # of those whose products with the vectors are means


class Traces:
    """Of a system, from the same random vectors at every shift."""

    def __init__(self, system: System, count: int) -> None:
        self._system = system
        self._vectors: FloatArray = np.empty((0, 2 * len(system.root)))
        if not system.is_direct:
            signs = np.random.default_rng(0).integers(0, 2, (count, 2 * len(system.root)))
            self._vectors = np.asarray(2.0 * signs - 1.0, dtype=np.float64)
            self._vectors[:, 1] = 0.0

    def powers(self, s: float, *, max_iter: int) -> tuple[float, float]:
        """Return tr (G + s)⁻¹ and tr (G + s)⁻²."""
        system = self._system
        values = system.preconditioner_values + s
        first, second = float((1 / values).sum()), float((values**-2.0).sum())
        if system.is_direct:
            return first, second
        near = system.precondition(self._vectors, s)
        found = system.solve(self._vectors, s, tol=_OF_SOLUTIONS, max_iter=max_iter, start=near).z
        first += float(np.einsum("bj,bj->b", self._vectors, found - near).mean())
        second += float(np.einsum("bj,bj->b", found - near, found + near).mean())
        return first, second

    def determinant(self, s: float) -> tuple[float, float]:
        """Return log det(G + s) and its derivative tr (G + s)⁻¹."""
        system = self._system
        values = system.preconditioner_values + s
        determinant, trace = float(np.log(values).sum()), float((1 / values).sum())
        if system.is_direct:
            return determinant, trace
        logarithm, inverse = self._corrections(s)
        return determinant + logarithm, trace + inverse

    def _corrections(self, s: float) -> tuple[float, float]:
        system, v = self._system, self._vectors
        with blas_limited(0):
            beside = system.whitened(system.whitened(v, s, transposed=True), s, transposed=False)
            x, r, p = np.zeros_like(v), v.copy(), v.copy()
            now = np.einsum("bj,bj->b", r, r)
            norms = now.copy()
            lengths: list[FloatArray] = []
            ratios: list[FloatArray] = []
            last = np.inf
            for step in range(1, _MOST_STEPS + 1):
                inside = system.whitened(p, s, transposed=True)
                q = system.whitened(system.times(inside) + s * inside, s, transposed=False)
                curvature = np.einsum("bj,bj->b", p, q)
                length = np.divide(now, curvature, out=np.zeros_like(now), where=curvature > 0)
                x += length[:, None] * p
                r -= length[:, None] * q
                before, now = now, np.einsum("bj,bj->b", r, r)
                ratio = np.divide(now, before, out=np.zeros_like(now), where=before > 0)
                lengths.append(length)
                ratios.append(ratio)
                p = r + ratio[:, None] * p
                done = bool(np.all(now <= _PRECISION**2 * norms))
                if done or step % _STEPS_BETWEEN_LOOKS == 0:
                    value = _logarithm(np.array(lengths), np.array(ratios), norms)
                    settled = abs(value - last) <= 1e-4 * abs(value) + 1e-2
                    if done or (settled and np.all(now <= 1e-4 * norms)):
                        break
                    last = value
        return value, float(np.einsum("bj,bj->b", x - v, beside).mean())


def _logarithm(lengths: FloatArray, ratios: FloatArray, norms: FloatArray) -> float:
    """Return the mean of vᵀ log(M) v, by the quadrature behind steps (n, B) of conjugate gradients."""
    total = 0.0
    for b in range(len(norms)):
        used = lengths[:, b] > 0
        length, ratio = lengths[used, b], ratios[used, b]
        diagonal = 1 / length
        diagonal[1:] += ratio[:-1] / length[:-1]
        matrix = np.diag(diagonal)
        if len(length) > 1:
            beside = np.sqrt(ratio[:-1]) / length[:-1]
            matrix += np.diag(beside, 1) + np.diag(beside, -1)
        theta, vectors = np.linalg.eigh(matrix)
        theta = np.maximum(theta, np.finfo(float).tiny)
        total += float(norms[b] * (vectors[0] ** 2 @ np.log(theta)))
    return total / len(norms)
