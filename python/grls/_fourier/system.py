r"""The equations of a fit in the coefficients of the modes.

    (G + s I) z = g,   G = D AᴴΠA D,   g = D AᴴΠy,   s = γ Σw

A: the waves at the rows, D = √S, Π: what the weights leave of rows once the features are projected out. AᴴWA
is a Toeplitz matrix, whose products are two Fourier transforms; its size does not depend on the rows.

Vectors z are real, (2h,): real and imaginary parts, in turn, of √2 b_j on the half space of the modes, and of
b_0, whose imaginary part stays zero. So zᵀz = Σ_j |b_j|² over all modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy import fft
from scipy.linalg import cho_solve, cholesky, eigvalsh, solve_triangular

from .._nystrom.origin import ROUNDING
from .._solvers.runtime import blas_limited, get_num_threads
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .modes import Modes, half, half_positions
from .sums import Sums

LOW_MODES = 1000  # of the half space whose equations are solved directly: the preconditioner's block
_NOT_DEFINITE = "the equations of the modes are not positive definite"


@dataclass
class Solved:
    """Solutions of equations, how many steps they took, and the relative residual that is left."""

    z: FloatArray  # (B, 2h)
    steps: int
    residual: float


def independent(S: FloatArray) -> list[int]:
    """Return the features, of sums S = TᵀWT, that do not depend on those before them.

    As `grls._solvers.rank` does from the rows, but sums of squares have half the digits.
    """
    remainder, kept = S.copy(), []
    for p in range(len(S)):
        if remainder[p, p] > ROUNDING * S[p, p]:
            kept.append(p)
            remainder = remainder - np.outer(remainder[:, p], remainder[p]) / remainder[p, p]
    return kept


class Toeplitz:
    """Products with AᴴWA on the half space, by Fourier transforms of real arrays."""

    def __init__(self, modes: Modes, generator: Any) -> None:
        self.limits = modes.limits
        self._lengths = [fft.next_fast_len(4 * limit + 1, real=True) for limit in modes.limits]
        d = len(self._lengths)
        self._axes = tuple(range(d, 0, -1))  # the first column last: its half is what a real transform keeps
        self._sizes = [self._lengths[axis - 1] for axis in self._axes]
        wide = tuple(2 * limit for limit in modes.limits)
        self._symbol = self._on_grid(generator[None], wide)[0] * float(np.prod(self._lengths))

    def _blocks(self, limits: tuple[int, ...]) -> list[tuple[Any, Any]]:
        """Return where the frequencies of the later columns stand, in order and as a transform has them."""
        pairs = [
            ((slice(limit, None), slice(0, limit + 1)), (slice(0, limit), slice(length - limit, length)))
            for limit, length in zip(limits[1:], self._lengths[1:], strict=True)
        ]
        every, first = (slice(None), slice(None)), (slice(None), slice(0, limits[0] + 1))
        return [
            (
                (*every, *(a for a, _ in choice)),
                (*first, *(b for _, b in choice)),
            )
            for choice in product(*pairs)
        ]

    def _on_grid(self, coefficients: Any, limits: tuple[int, ...]) -> FloatArray:
        """Return the real function of coefficients on the half space, (B, h), on the points of a grid."""
        B = len(coefficients)
        after = [2 * limit + 1 for limit in limits[1:]]
        middle = int(np.prod(after, dtype=int)) // 2
        ordered = np.empty((B, (limits[0] + 1) * int(np.prod(after, dtype=int))), dtype=np.complex128)
        ordered[:, middle:] = coefficients
        ordered[:, :middle] = np.conj(coefficients[:, middle:0:-1])
        ordered = ordered.reshape(B, limits[0] + 1, *after)
        padded = np.zeros((B, self._lengths[0] // 2 + 1, *self._lengths[1:]), dtype=np.complex128)
        for source, place in self._blocks(limits):
            padded[place] = ordered[source]
        found = fft.irfftn(padded, self._sizes, self._axes, overwrite_x=True, workers=get_num_threads())
        return np.asarray(found)

    def times(self, coefficients: Any) -> Any:
        """Return AᴴWA F on the half space, complex (B, h), of F there."""
        values = self._on_grid(coefficients, self.limits)
        values *= self._symbol
        found = fft.rfftn(values, axes=self._axes, overwrite_x=True, workers=get_num_threads())
        after = [2 * limit + 1 for limit in self.limits[1:]]
        ordered = np.empty((len(found), self.limits[0] + 1, *after), dtype=np.complex128)
        for source, place in self._blocks(self.limits):
            ordered[source] = found[place]
        flat = ordered.reshape(len(found), -1)
        return flat[:, int(np.prod(after, dtype=int)) // 2 :]


class System:
    """The equations of all rows behind some sums; see the module."""

    def __init__(self, modes: Modes, sums: Sums, n_free: int) -> None:
        self.modes, self.sums, self.n_free = modes, sums, n_free
        self.weight, self.n_rows = sums.weight, sums.rows
        h = len(modes.weights)
        self.order = modes.count  # numbers that are solved for
        self._scale = np.full(h, np.sqrt(2.0))
        self._scale[0] = 1.0
        self.root = np.sqrt(modes.weights)
        self._toeplitz = Toeplitz(modes, sums.generator)
        self.kept = independent(sums.matrix[:n_free, :n_free])
        t, y = self.kept, slice(n_free, None)
        self.S = sums.matrix[np.ix_(t, t)]
        waves = (sums.across * (self.root * self._scale)).view(np.float64)  # (q, 2h)
        self.C = waves[t]  # (l', 2h): TᵀWA D
        if t:
            L = cholesky(self.S, lower=True)
            self._factor = (L, True)
            self.Q = solve_triangular(L, self.C, lower=True)
            self.from_targets = cho_solve(self._factor, sums.matrix[t, y])  # β without the kernel part
        else:
            self.Q, self.from_targets = self.C, np.empty((0, sums.matrix.shape[1] - n_free))
        self.g = waves[y] - self.from_targets.T @ self.C
        explained = np.einsum("lk,lk->k", sums.matrix[t, y], self.from_targets)
        self.squares = np.maximum(np.diagonal(sums.matrix)[y] - explained, 0.0)  # yᵀΠy
        self._kept_factor: tuple[float, FloatArray] | None = None
        self._take_low()

    @property
    def degrees(self) -> float:
        """Rows less features."""
        return float(self.n_rows - len(self.kept))

    @property
    def mean_eigenvalue(self) -> float:
        """The trace of G over the degrees of freedom of the rows."""
        trace = float(np.trace(self._low)) + float(self._diagonal[self._rest].sum())
        return trace / max(self.degrees, 1.0)

    def _take_low(self) -> None:
        """Assemble the block of the modes of largest weight, and find the diagonal of the others."""
        h = len(self.root)
        full = np.concatenate([np.conj(self.sums.generator[:0:-1]), self.sums.generator])
        full = full.reshape([4 * limit + 1 for limit in self.modes.limits])
        low = np.arange(h)
        if h > LOW_MODES:
            others = 1 + np.argpartition(-self.modes.weights[1:], LOW_MODES - 1)[: LOW_MODES - 1]
            low = np.concatenate([[0], np.sort(others)])
        self.is_direct = len(low) == h
        self.places = np.delete(np.stack([2 * low, 2 * low + 1], axis=1).reshape(-1), 1)
        self._low = self._block(full, low)
        even = full[tuple(slice(None, None, 2) for _ in self.modes.limits)].reshape(-1)
        even = half(even)
        t0 = float(self.sums.generator[0].real)
        diagonal = np.empty(2 * h)
        diagonal[0::2] = self.modes.weights * (t0 + even.real)
        diagonal[1::2] = self.modes.weights * (t0 - even.real)
        diagonal -= np.einsum("lj,lj->j", self.Q, self.Q)
        self._diagonal = np.maximum(diagonal, 0.0)
        self._rest = np.ones(2 * h, dtype=bool)
        self._rest[self.places] = False
        self._rest[1] = False

    @cached_property
    def preconditioner_values(self) -> FloatArray:
        """The eigenvalues of the preconditioner without a shift, (order,): they serve all shifts."""
        with blas_limited(len(self._low)):
            low = np.maximum(eigvalsh(self._low, check_finite=False), 0.0)
        return np.concatenate([low, self._diagonal[self._rest]])

    def _factored(self, s: float) -> FloatArray:
        """Return the Cholesky factor of the low block with the shift s; the last one is kept."""
        kept = self._kept_factor  # read once: another thread may ask for another shift meanwhile
        if kept is None or kept[0] != s:
            shifted = self._low.copy()
            shifted[np.diag_indices_from(shifted)] += s
            try:
                with blas_limited(len(shifted)):
                    L = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError as error:
                raise NotPositiveDefiniteError(
                    "the equations of the modes are not positive definite"
                ) from error
            kept = self._kept_factor = (s, L)
        return kept[1]

    def _block(self, full: Any, low: Any) -> FloatArray:
        """Return G on some modes in real coordinates."""
        j = half_positions(self.modes, low)
        centre = 2 * np.array(self.modes.limits)
        n = len(j)
        t_less, t_more = (
            full[tuple((j[:, None, c] + sign * j[None, :, c]) + centre[c] for c in range(j.shape[1]))]
            for sign in (-1, 1)
        )
        block = np.empty((n, 2, n, 2))
        block[:, 0, :, 0] = t_less.real + t_more.real
        block[:, 0, :, 1] = t_more.imag - t_less.imag
        block[:, 1, :, 0] = t_more.imag + t_less.imag
        block[:, 1, :, 1] = t_less.real - t_more.real
        del t_less, t_more
        scale = self.root[low] * self._scale[low] / np.sqrt(2)
        block *= scale[:, None, None, None] * scale[None, None, :, None]
        kept = np.delete(np.arange(2 * n), 1)
        flat = block.reshape(2 * n, 2 * n)[np.ix_(kept, kept)]
        del block
        Q = self.Q[:, self.places]
        flat -= Q.T @ Q
        return flat

    def times(self, z: FloatArray) -> FloatArray:
        """Return G z, (B, 2h)."""
        b = np.ascontiguousarray(z).view(np.complex128)
        found = self._toeplitz.times(b * (self.root / self._scale)) * (self.root * self._scale)
        out = found.view(np.float64)
        out[:, 1] = 0.0
        if len(self.Q):
            out -= (z @ self.Q.T) @ self.Q
        return np.asarray(out)

    def precondition(self, z: FloatArray, s: float) -> FloatArray:
        """Return P⁻¹ z, P ≈ G + s I: the low modes as they are, of the others the diagonal."""
        out = z / (self._diagonal + s)
        L = self._factored(s)
        out[:, self.places] = cho_solve((L, True), z[:, self.places].T, check_finite=False).T
        out[:, 1] = 0.0
        return np.asarray(out)

    def whitened(self, z: FloatArray, s: float, *, transposed: bool) -> FloatArray:
        """Return E⁻¹ z or E⁻ᵀ z, with P = E Eᵀ."""
        out = z / np.sqrt(self._diagonal + s)
        L, low = self._factored(s), z[:, self.places].T
        out[:, self.places] = solve_triangular(
            L, low, lower=True, trans="T" if transposed else "N", check_finite=False
        ).T
        out[:, 1] = 0.0
        return np.asarray(out)

    def solve(
        self, right: FloatArray, s: float, *, tol: float, max_iter: int, start: FloatArray | None = None
    ) -> Solved:
        """Return (G + s I)⁻¹ of right-hand sides (B, 2h), by conjugate gradients.

        They stop where the error, in the norm zᵀ(G + s I)z of the functions and as the preconditioner sees
        it, is the share `tol` of the solution.
        """
        with blas_limited(0):
            first = self.precondition(right, s)
            sizes = np.sqrt(np.maximum(np.einsum("bj,bj->b", right, first), np.finfo(float).tiny))
            z = first if start is None else start.copy()
            r = right - self.times(z) - s * z
            p, before = np.zeros_like(r), np.ones(len(r))
            for step in range(max_iter + 1):
                y = self.precondition(r, s)
                now = np.einsum("bj,bj->b", r, y)
                residual = float(np.max(np.sqrt(np.abs(now)) / sizes, initial=0.0))
                if not np.isfinite(residual) or np.any(now < 0):
                    raise NotPositiveDefiniteError(_NOT_DEFINITE)
                if residual <= tol or step == max_iter:
                    return Solved(z, step, residual)
                p *= (now / before)[:, None] if step else 0.0
                p += y
                q = self.times(p)
                q += s * p
                curvature = np.einsum("bj,bj->b", p, q)
                if np.any((curvature <= 0) & (now > 0)):
                    raise NotPositiveDefiniteError(_NOT_DEFINITE)
                length = np.divide(now, curvature, out=np.zeros_like(now), where=curvature > 0)
                z += length[:, None] * p
                r -= length[:, None] * q
                before = np.where(now > 0, now, 1.0)
        raise AssertionError("the loop returns")

    def coefficients(self, z: FloatArray) -> Any:
        """Return F = D b on the half space, complex (B, h): the kernel part is Σ_j F_j exp(…)."""
        return np.ascontiguousarray(z).view(np.complex128) * (self.root / self._scale)

    def along(self, waves: Any) -> FloatArray:
        """Return D times values of waves on the half space, complex (B, h), as vectors (B, 2h)."""
        found = np.ascontiguousarray(waves * (self.root * self._scale)).view(np.float64)
        return np.asarray(found)

    def feature_coefficients(self, z: FloatArray) -> FloatArray:
        """Return β of all features, (l, k), zero for those left out, beside the kernel part z (k, 2h)."""
        out = np.zeros((self.n_free, len(z)))
        if self.kept:
            out[self.kept] = self.from_targets - cho_solve(self._factor, self.C @ z.T)
        return out

    def made_of_kept(self, v: FloatArray) -> FloatArray:
        """Return coefficients (l,) of the kept features alone, for the same combination of them as v."""
        out = np.zeros(self.n_free)
        out[self.kept] = v[self.kept]
        left_out = np.setdiff1d(np.flatnonzero(v), self.kept)
        if len(left_out):
            across = self.sums.matrix[self.kept][:, left_out] @ v[left_out]
            out[self.kept] += self.over_features(across[:, None])[:, 0]
        return out

    def over_features(self, t: FloatArray) -> FloatArray:
        """Return S⁻¹ t of the kept features, t (l', n)."""
        return np.asarray(cho_solve(self._factor, t)) if self.kept else t

    def squared_error(self, F: Any, beta: FloatArray) -> FloatArray:
        """Return the weighted squared error, (k,), of functions F (k, h) and β (l, k) at these rows."""
        sums, n_free = self.sums, self.n_free
        double = self._scale**2

        def inner(a: Any, b: Any) -> FloatArray:
            return np.asarray(np.einsum("kh,kh->k", np.conj(a) * double, b).real)

        y = slice(n_free, None)
        waves = sums.across[y] - beta.T @ sums.across[:n_free]
        within = inner(F, self._toeplitz.times(F)) - 2 * inner(F, waves)
        rest = np.diagonal(sums.matrix)[y] - 2 * np.einsum("lk,lk->k", beta, sums.matrix[:n_free, y])
        return np.asarray(within + rest + np.einsum("lk,lm,mk->k", beta, sums.matrix[:n_free, :n_free], beta))
