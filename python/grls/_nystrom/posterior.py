"""The posterior of a model on centres: variances of its function, its parts and its coefficients.

With the prior u ~ N(0, v²I) of the functions on the centres, β free, and noise of variance v²s/w, all rows
speak through their sums. What the centres cannot express of the kernel part stays as uncertain as the prior
has it: so a variance grows away from the centres, and with all rows as centres it is that of the exact model.
See docs/math.md, section "Nyström".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._models.feature_prior import beside
from .._models.group_effects import GroupEffects
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .centers import Centers
from .equations import Eliminated, Equations
from .missed import Missed, Probes, missed
from .penalised import Penalised

_ROWS = 4096  # whose kernel values with the centres are held at a time


@dataclass(frozen=True)
class CentrePosterior:
    """Covariances in units of the kernel variance v², at one γ.

    A functional of f = φᵀβ + g is known by its features t, its prior variance and its covariances with g at
    the centres: a point x by φ(x), k(x, x) and k(z, x); a coefficient β_p by the unit vector, 0 and 0.
    """

    centers: Centers
    penalised: Penalised | None
    features: Eliminated
    factor: FloatArray  # (r, r): the Cholesky factor of G + sI
    shift: float  # s = γΣw
    B: FloatArray  # (r, q): b at the pivots
    K: FloatArray  # (q, q): the kernel's values at the pivots
    feature_root: FloatArray  # (l', l'): of the kept features' sums, lower
    groups: GroupEffects | None = None
    missed: Missed | None = None  # None: it is not known
    widening: FloatArray | None = None  # (p, r + l'): by which what is missed changes functionals

    @classmethod
    def of(
        cls,
        centers: Centers,
        penalised: Penalised | None,
        system: Equations,
        gamma: float,
        groups: GroupEffects | None = None,
    ) -> CentrePosterior:
        """Return that of the equations solved at γ > 0."""
        shift = gamma * system.weight
        G = system.G.copy()
        G[np.diag_indices(len(G))] += shift
        try:
            factor = np.asarray(np.linalg.cholesky(G), dtype=np.float64)
            root = np.asarray(np.linalg.cholesky(system.features.sums), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise NotPositiveDefiniteError(str(error)) from error
        pivots = centers.X[centers.rank :]
        if pivots.shape[0]:
            values = centers.kernel.matrix(centers.X, pivots)
            B, K = centers.functionals(values), np.asarray(values[centers.rank :])
        else:
            B, K = np.empty((centers.rank, 0)), np.empty((0, 0))
        return cls(centers, penalised, system.features, factor, shift, B, K, root, groups)

    def with_missed(self, probes: Probes, weight: float) -> CentrePosterior:
        """Return the posterior that knows what the centres miss, of rows whose weights add up to `weight`."""
        kernel = self.centers.kernel
        values, own = kernel.matrix(probes.rows, self.centers.X), kernel.matrix(probes.rows, probes.rows)
        codes = None if self.groups is None else np.searchsorted(self.groups.levels, probes.groups)
        at_centers, _, T = self._coefficients()
        told, of_coefficients = self._told(values, probes.T, codes), self._told(at_centers, T)
        sizes = np.linalg.norm(of_coefficients, axis=0)
        scaled = of_coefficients / np.where(sizes > 0, sizes, 1.0)
        U, independent, V = np.linalg.svd(scaled, full_matrices=False)
        U, independent, V = (a[..., independent > 1e-10] for a in (U, independent, V.T))
        mixing = V / independent / np.where(sizes > 0, sizes, 1.0)[:, None]  # of coefficients to U
        across = mixing.T @ self._with_coefficients(probes.rows)
        R = self._untold(
            np.vstack([values, mixing.T @ at_centers]),
            np.block([[own, across.T], [across, np.zeros((len(across), len(across)))]]),
            np.vstack([probes.T, mixing.T @ T]),
        )
        n = len(own)
        found = missed(probes, R[:n, :n], R[:n, n:], own, told.T @ U, weight)
        return replace(self, missed=found, widening=found.root.T @ U.T)

    def function(
        self,
        points: Any,
        T: FloatArray,
        *,
        covariance: bool = False,
        codes: Any = None,
        with_noise: bool = False,
    ) -> FloatArray:
        """Return the variance (n,) of f at points, or (n, n); T (n, l) are all features there.

        `codes` (n,) are the groups of the points, if groups have effects: NaN for one that is not known.
        `with_noise`: without what the variance of the noise, which is to be added, holds of what is missed.
        """
        rows = points
        if codes is not None:
            return self._in_groups(points, T, codes, with_noise)
        if self.penalised is not None:
            T, Z = self.penalised.parts.at(np.asarray(T, dtype=np.float64))
            rows = beside(points, Z, self.penalised.variance)
        return self.at_rows(rows, T, covariance=covariance, with_noise=with_noise)

    def knows(self, codes: Any) -> Any:
        """Return whether the groups of rows were there in training, (n,)."""
        assert self.groups is not None
        return codes < len(self.groups.levels)

    def _in_groups(self, points: Any, T: FloatArray, codes: Any, with_noise: bool) -> FloatArray:
        assert self.groups is not None
        kernel, X = self.centers.kernel, self.centers.X
        known = np.flatnonzero(self.knows(codes))
        out = np.full(len(codes), np.nan)
        for start in range(0, len(known), _ROWS):
            rows = known[start : start + _ROWS]
            values = kernel.matrix(points[rows], X)
            own = kernel.diagonal(points[rows])
            out[rows] = self.covariance(values, own, T[rows], codes[rows], with_noise=with_noise)
        return out

    def learnt(self, points: Any) -> FloatArray:
        """Return the variance (n,) of what is learnt beside all features."""
        n, n_columns = points.shape
        T = np.zeros((n, len(self.centers.A)))
        if self.penalised is None:
            return self.at_rows(points, T, covariance=False)
        kernel = self.penalised.kernel
        centers = self.centers.X[:, :n_columns]
        return self._by_parts(
            n,
            lambda part: self.covariance(
                kernel.matrix(points[part], centers), kernel.diagonal(points[part]), T[part]
            ),
        )

    def at_rows(
        self, rows: Any, T: FloatArray, *, covariance: bool = False, with_noise: bool = False
    ) -> FloatArray:
        """Return the same from rows as the centres are: with the columns of features that have a prior."""
        kernel, X = self.centers.kernel, self.centers.X
        if covariance:
            values = kernel.matrix(rows, X)
            return self.covariance(values, kernel.matrix(rows, rows), T, with_noise=with_noise)
        return self._by_parts(
            rows.shape[0],
            lambda part: self.covariance(
                kernel.matrix(rows[part], X), kernel.diagonal(rows[part]), T[part], with_noise=with_noise
            ),
        )

    @staticmethod
    def _by_parts(n: int, compute: Any) -> FloatArray:
        return np.concatenate([compute(slice(start, start + _ROWS)) for start in range(0, n, _ROWS)])

    def free_coefficients(self) -> FloatArray:
        """Return the covariance (l, l) of the free features' coefficients given the functions on the centres.

        Zero where one was left out.
        """
        n_free = len(self.centers.A)
        none = np.zeros((n_free, self.centers.X.shape[0]))
        told = self._told(none, np.eye(n_free))
        found = self._untold(none, np.zeros((n_free, n_free)), np.eye(n_free)) + self.shift * told.T @ told
        used = np.isin(np.arange(n_free), self.features.kept)
        return np.where(np.outer(used, used), found, 0.0)

    def coefficients(self) -> FloatArray:
        """Return the covariance of all features' coefficients, those that have a prior too."""
        found = self.covariance(*self._coefficients())
        return found if self.penalised is None else self.penalised.parts.A @ found @ self.penalised.parts.A.T

    def _coefficients(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the coefficients that are solved for as functionals; of one that was left out, zeros."""
        n_free = len(self.centers.A)
        values = self._with_coefficients(self.centers.X)
        n = len(values)
        prior, T = np.zeros((n, n)), np.zeros((n, n_free))
        if self.penalised is not None:
            prior[n_free:, n_free:] = self.penalised.variance * np.eye(n - n_free)
        T[self.features.kept, self.features.kept] = 1.0
        return values, prior, T

    def _with_coefficients(self, rows: Any) -> FloatArray:
        """Return the covariances of the coefficients, (p, n), with g at rows: of free ones they are zero."""
        none = np.zeros((len(self.centers.A), rows.shape[0]))
        if self.penalised is None:
            return none
        columns = rows[:, rows.shape[1] - self.penalised.parts.Z.shape[1] :]  # √τZ
        columns = columns.toarray() if hasattr(columns, "toarray") else columns
        return np.vstack([none, np.sqrt(self.penalised.variance) * columns.T])

    def covariance(
        self,
        values: FloatArray,
        prior: FloatArray,
        T: FloatArray,
        codes: Any = None,
        *,
        with_noise: bool = False,
    ) -> FloatArray:
        """Return the variances (n,) of functionals, or their covariance (n, n), as `prior` is given.

        values (n, r + q): their covariances with g at the centres; T (n, l): their free features; codes (n,):
        the groups whose effects are part of them.
        """
        untold, told = self._untold(values, prior, T), self._told(values, T, codes)
        own = np.einsum("ii->i", untold) if prior.ndim == 2 else untold  # a view
        if with_noise and self.missed is not None:
            own -= np.clip(own, 0.0, self.missed.variance)
        widened = None if self.widening is None else self.widening @ told
        if prior.ndim == 2:
            out = untold + self.shift * (told.T @ told)
            return np.asarray(out if widened is None else out + widened.T @ widened)
        out = np.maximum(untold, 0) + self.shift * np.einsum("ij,ij->j", told, told)
        if widened is not None:
            out += np.einsum("ij,ij->j", widened, widened)
        if codes is not None:  # an effect is what is left of the group's mean
            assert self.groups is not None
            out += self.shift / self.groups.weight[codes]
        return np.asarray(out)

    def _untold(self, values: FloatArray, prior: FloatArray, T: FloatArray) -> FloatArray:
        """Return what the centres leave open of functionals, as variances or covariances."""
        t = (np.asarray(T, dtype=np.float64) @ self.centers.A)[:, self.centers.kept]  # φ′
        beyond = self.centers.functionals(np.ascontiguousarray(values.T)) - self.B @ t.T
        across, quadratic = values[:, self.centers.rank :], t @ self.K
        if prior.ndim == 2:
            mixed = t @ across.T
            return np.asarray(prior - mixed - mixed.T + quadratic @ t.T - beyond.T @ beyond)
        own = prior + np.einsum("ij,ij->i", quadratic - 2 * across, t)
        return np.asarray(own - np.einsum("ij,ij->j", beyond, beyond))

    def _told(self, values: FloatArray, T: FloatArray, codes: Any = None) -> FloatArray:
        """Return functionals as the rows tell of them, (r + l', n): with s, inner products are covariances.

        Those of a functional and a row are the change of the one by a unit change of the other's target.
        """
        centers, r = self.centers, self.centers.rank
        kept = (np.asarray(T, dtype=np.float64) @ centers.A)[:, self.features.kept]
        half = centers.functionals(np.ascontiguousarray(values.T))
        if codes is not None:
            assert self.groups is not None
            assert self.groups.means is not None
            means = self.groups.means[codes]
            half, kept = half - means[:, :r].T, kept - means[:, r:][:, self.features.kept]
        half = half - self.features.solved[:, :r].T @ kept.T
        if r:
            half = solve_triangular(self.factor, half, lower=True, check_finite=False)
        known = kept.T
        if len(known):
            known = solve_triangular(self.feature_root, known, lower=True, check_finite=False)
        return np.vstack([half, known])
