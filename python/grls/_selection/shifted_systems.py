r"""One space for all γ: what the matrix-free solver knows of every shift after solving for a few.

H = ΠΦΠ is what the features leave of the kernel matrix, s = γΣw the shift. For each column b, a target or a
random vector, the solutions (H + s_j)⁻¹b at a few shifts s_j, a decade apart, and b itself span a space of
some ten dimensions: a rational Krylov space. With θ the eigenvalues of H projected on it and ω the
coordinates of b,

.. math:: b^T f(H) b ≈ \sum_j ω_j^2 f(θ_j), \quad (H + s)^{-1} b ≈ \sum_j \frac{ω_j}{θ_j + s} v_j

for all shifts above the smallest of the s_j. Traces are means over vectors z of random signs. What is known
anyhow is taken from them: the preconditioner's BBᵀ has known eigenvalues d, and the mean δ of all others
follows from the trace of H, so that f of that matrix is a control variate whose trace is known,

.. math:: \mathrm{tr} f(H) ≈ α \Big( \sum_j f(d_j) + (n - r) f(δ) \Big)
          + \frac{1}{p} \sum_z \big( z^T f(H) z - α z^T f(BB^T + δ(I - P)) z \big)

with α in [0, 1] where the variance is smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._solvers.matrix_free import Guess, MatrixFree
from .._validation import FloatArray

_INDEPENDENT = 1e-10  # share of a space's largest squared length below which a direction is rounding

SpectralFunction = Callable[[FloatArray], FloatArray]


@dataclass
class _RitzSpace:
    """The projection of H on the space of one column b."""

    values: FloatArray  # (q,) θ
    weights: FloatArray  # (q,) ω
    combination: FloatArray  # (j, q): the vectors v in terms of what spans the space

    @classmethod
    def of(cls, W: FloatArray, HW: FloatArray) -> _RitzSpace:
        """From what spans the space, (m, j), b first, and H times it."""
        size = np.linalg.norm(W, axis=0)
        size[size == 0] = 1
        G, P = W.T @ W / np.outer(size, size), W.T @ HW / np.outer(size, size)
        lengths, U = np.linalg.eigh(G)
        used = lengths > _INDEPENDENT * max(lengths[-1], np.finfo(float).tiny)
        C = U[:, used] / np.sqrt(lengths[used])
        projected = C.T @ P @ C
        values, V = np.linalg.eigh((projected + projected.T) / 2)
        C = C @ V
        return cls(np.maximum(values, 0), C.T @ (G[:, 0] * size[0]), C / size[:, None])

    def form(self, f: SpectralFunction) -> float:
        """Return bᵀf(H)b."""
        return float(self.weights**2 @ f(self.values))


class SolvedShifts:
    """Solutions of some columns at some shifts, and from them those at all between."""

    def __init__(self, system: MatrixFree, B: FloatArray) -> None:
        self.system = system
        self._B = B  # (m, k) of the weighted samples, ΠB
        self._spanning = [self._B]
        self._images = [system.multiply(self._B)]
        self.poles: list[float] = []
        self._spaces = self._project()

    def _project(self) -> list[_RitzSpace]:
        return [
            _RitzSpace.of(
                np.stack([X[:, p] for X in self._spanning], axis=1),
                np.stack([X[:, p] for X in self._images], axis=1),
            )
            for p in range(self._B.shape[1])
        ]

    @property
    def spanning(self) -> list[FloatArray]:
        """What spans the spaces, (m, k) each: B, then its solutions."""
        return self._spanning

    def shares(self, shift: float, column: int) -> FloatArray:
        """Return how much of each that spans the space of a column is in its solution."""
        space = self._spaces[column]
        return np.asarray(space.combination @ (space.weights / (space.values + shift)))

    def solutions(self, shift: float, columns: slice = slice(None)) -> Guess:
        """Return (H + s)⁻¹b of the space for each column, and H + s times that."""
        picked = range(self._B.shape[1])[columns]
        X, image = np.empty((len(self._B), len(picked))), np.empty((len(self._B), len(picked)))
        for q, p in enumerate(picked):
            a = self.shares(shift, p)
            X[:, q] = sum(c * V[:, p] for c, V in zip(a, self._spanning, strict=True))
            image[:, q] = sum(c * V[:, p] for c, V in zip(a, self._images, strict=True))
        return X, image + shift * X

    def add(self, shift: float, *, tol: float, max_iter: int) -> bool:
        """Solve at one more shift, from where the space leads; return whether that succeeded."""
        X, image, solved = self.system.solve(
            self._B, shift, tol=tol, max_iter=max_iter, guess=self.solutions(shift)
        )
        if solved:
            self._spanning.append(X)
            self._images.append(image - shift * X)
            self.poles.append(shift)
            self._spaces = self._project()
        return solved


class ShiftedSystems(SolvedShifts):
    """The same of targets and random vectors: quadratic forms and traces at all shifts too."""

    def __init__(self, system: MatrixFree, targets: FloatArray, n_probes: int, rng: Any) -> None:
        roots = np.sqrt(system.problem.weights_or_ones)[:, None]
        signs = rng.randint(0, 2, size=(len(targets), n_probes)) * 2.0 - 1.0
        self.n_outputs = targets.shape[1]
        super().__init__(system, system.project(np.hstack([roots * targets, signs])))
        self._probe_sizes = np.einsum("ij,ij->j", self._probes, self._probes)
        self._eigenvalues = system.eigenvalues()
        seen = system.coordinates(self._probes)
        positive = self._eigenvalues > 1e-14 * max(float(self._eigenvalues.max(initial=0)), 1e-300)
        self._eigenvalues, seen = self._eigenvalues[positive], seen[positive]
        self._seen = seen**2 / self._eigenvalues[:, None]  # (r, p) squared coordinates of the probes
        self._rest = max(system.order - len(self._eigenvalues), 0)
        left = system.trace - float(self._eigenvalues.sum())
        self._tail = max(left, 0.0) / self._rest if self._rest else 0.0

    @property
    def _probes(self) -> FloatArray:
        return self._B[:, self.n_outputs :]

    def forms(self, f: SpectralFunction) -> FloatArray:
        """(k,) yᵀf(H)y of the targets."""
        return np.array([space.form(f) for space in self._spaces[: self.n_outputs]])

    def trace_of(self, f: SpectralFunction, probes: slice = slice(None)) -> float:
        """Return an estimate of the trace of f(H) on what the features leave."""
        return float(self._estimates(f, probes).mean())

    def _estimates(self, f: SpectralFunction, probes: slice) -> FloatArray:
        """(p,) of each probe; they share the control variate's factor."""
        tail = float(f(np.array([self._tail]))[0])
        head = f(self._eigenvalues)
        known = float(head.sum()) + self._rest * tail
        control = (tail * self._probe_sizes + (head - tail) @ self._seen)[probes]
        found = np.array([space.form(f) for space in self._spaces[self.n_outputs :]])[probes]
        spread = control - control.mean()
        variance = float(spread @ spread)
        share = float(np.clip(spread @ found / variance, 0, 1)) if variance > 0 else 1.0
        return np.asarray(share * known + found - share * control)
