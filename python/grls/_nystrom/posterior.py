"""The posterior of a model on centres: variances of its function, its parts and its coefficients.

With the prior u ~ N(0, v²I) of the functions on the centres, β free, and noise of variance v²s/w, all rows
speak through their sums. What the centres cannot express of the kernel part stays as uncertain as the prior
has it: so a variance grows away from the centres, and with all rows as centres it is that of the exact model.
See docs/math.md, section "Nyström".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._models.feature_prior import beside
from .._models.group_effects import GroupEffects
from .._validation import FloatArray
from ..exceptions import NotPositiveDefiniteError
from .centers import Centers
from .equations import Eliminated, Equations
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

    def function(
        self, points: Any, T: FloatArray, *, covariance: bool = False, codes: Any = None
    ) -> FloatArray:
        """Return the variance (n,) of f at points, or (n, n); T (n, l) are all features there.

        `codes` (n,) are the groups of the points, if groups have effects: NaN for one that is not known.
        """
        rows = points
        if codes is not None:
            return self._in_groups(points, T, codes)
        if self.penalised is not None:
            T, Z = self.penalised.parts.at(np.asarray(T, dtype=np.float64))
            rows = beside(points, Z, self.penalised.variance)
        return self.at_rows(rows, T, covariance=covariance)

    def knows(self, codes: Any) -> Any:
        """Return whether the groups of rows were there in training, (n,)."""
        assert self.groups is not None
        return codes < len(self.groups.levels)

    def _in_groups(self, points: Any, T: FloatArray, codes: Any) -> FloatArray:
        assert self.groups is not None
        kernel, X = self.centers.kernel, self.centers.X
        known = np.flatnonzero(self.knows(codes))
        out = np.full(len(codes), np.nan)
        for start in range(0, len(known), _ROWS):
            rows = known[start : start + _ROWS]
            values = kernel.matrix(points[rows], X)
            out[rows] = self.covariance(values, kernel.diagonal(points[rows]), T[rows], codes[rows])
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

    def at_rows(self, rows: Any, T: FloatArray, *, covariance: bool = False) -> FloatArray:
        """Return the same from rows as the centres are: with the columns of features that have a prior."""
        kernel, X = self.centers.kernel, self.centers.X
        if covariance:
            return self.covariance(kernel.matrix(rows, X), kernel.matrix(rows, rows), T)
        return self._by_parts(
            rows.shape[0],
            lambda part: self.covariance(kernel.matrix(rows[part], X), kernel.diagonal(rows[part]), T[part]),
        )

    @staticmethod
    def _by_parts(n: int, compute: Any) -> FloatArray:
        return np.concatenate([compute(slice(start, start + _ROWS)) for start in range(0, n, _ROWS)])

    def free_coefficients(self) -> FloatArray:
        """Return the covariance (l, l) of the free features' coefficients; zero where one was left out."""
        n_free = len(self.centers.A)
        none = np.zeros((n_free, self.centers.X.shape[0]))
        found = self.covariance(none, np.zeros((n_free, n_free)), np.eye(n_free))
        used = np.isin(np.arange(n_free), self.features.kept)
        return np.where(np.outer(used, used), found, 0.0)

    def coefficients(self) -> FloatArray:
        """Return the covariance of all features' coefficients, those that have a prior too."""
        if self.penalised is None:
            return self.free_coefficients()
        parts, tau = self.penalised.parts, self.penalised.variance
        n_free, n_penalised = parts.F.shape[1], parts.Z.shape[1]
        at_centers = self.centers.X[:, self.centers.X.shape[1] - n_penalised :]  # √τZ
        at_centers = at_centers.toarray() if hasattr(at_centers, "toarray") else at_centers
        n = n_free + n_penalised
        values, prior, T = np.zeros((n, len(at_centers))), np.zeros((n, n)), np.zeros((n, n_free))
        values[n_free:] = np.sqrt(tau) * at_centers.T
        prior[n_free:, n_free:] = tau * np.eye(n_penalised)
        T[:n_free] = np.eye(n_free)
        return np.asarray(parts.A @ self.covariance(values, prior, T) @ parts.A.T)

    def covariance(
        self, values: FloatArray, prior: FloatArray, T: FloatArray, codes: Any = None
    ) -> FloatArray:
        """Return the variances (n,) of functionals, or their covariance (n, n), as `prior` is given.

        values (n, r + q): their covariances with g at the centres; T (n, l): their free features; codes (n,):
        the groups whose effects are part of them.
        """
        centers, s = self.centers, self.shift
        t = np.asarray(T, dtype=np.float64) @ centers.A
        at_pivots, kept = t[:, centers.kept], t[:, self.features.kept]  # φ′, and all that were summed
        r = centers.rank
        b = centers.functionals(np.ascontiguousarray(values.T))  # (r, n)
        beyond = b - self.B @ at_pivots.T  # what is not the features', of the prior
        sure_of_group: Any = 0.0
        about = b
        if codes is not None:  # an effect is what is left of the group's mean
            assert self.groups is not None
            assert self.groups.means is not None
            means = self.groups.means[codes]
            about, kept = b - means[:, :r].T, kept - means[:, r:][:, self.features.kept]
            sure_of_group = 1 / self.groups.weight[codes]
        half = about - self.features.solved[:, :r].T @ kept.T
        if r:
            half = solve_triangular(self.factor, half, lower=True, check_finite=False)
        known = kept.T
        if len(known):
            known = solve_triangular(self.feature_root, known, lower=True, check_finite=False)
        across, quadratic = values[:, r:], at_pivots @ self.K
        if prior.ndim == 2:
            mixed = at_pivots @ across.T
            own = prior - mixed - mixed.T + quadratic @ at_pivots.T
            return np.asarray(own - beyond.T @ beyond + s * (half.T @ half + known.T @ known))
        own = prior + np.einsum("ij,ij->i", quadratic - 2 * across, at_pivots)
        left = np.maximum(own - np.einsum("ij,ij->j", beyond, beyond), 0)
        sure = np.einsum("ij,ij->j", half, half) + np.einsum("ij,ij->j", known, known)
        return np.asarray(left + s * (sure + sure_of_group))
