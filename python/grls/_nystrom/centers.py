"""Centres of a Nyström model: which rows they are, and the orthonormal functions that stand on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.utils import _safe_indexing

from .. import kernels
from .._solvers import bases, memory
from .._solvers.arrays import alike
from .._solvers.centre_sums import CentreValues, KernelStore, Whitening
from .._solvers.rank import dependence_tolerance
from .._solvers.rows import distinct_rows, row_keys, text_keys
from .._solvers.runtime import interruptible
from .._validation import FloatArray, is_table_of_numbers, require_symmetric
from ..exceptions import NotPositiveDefiniteError

STRATEGIES = ("uniform", "leverage", "kmeans")
_LEAST_POOL = 1000  # rows: as many as the median width of a kernel is taken from

_LEVERAGE_ROWS = 1000  # whose leverage is estimated at a time: memory is bounded, and Ctrl-C is heard

# Centres whose functions are the others' up to this share of the largest kernel value are left out: what
# rounding errors of the rows' precision would make of them is larger than what they add.
_RANK_TOLERANCE = {"double": 1e-12, "single": 1e-6}


def stacked(a: Any, b: Any) -> Any:
    """Return rows of some kind above others of the same kind."""
    if hasattr(a, "iloc"):
        from pandas import concat

        return concat([a, b], ignore_index=True)
    if hasattr(a, "vstack"):  # of polars
        return a.vstack(b)
    return sparse.vstack([a, b], format="csr") if sparse.issparse(a) else np.concatenate([a, b])


@dataclass
class Pool:
    """A sample of distinct rows drawn as if at random, the same in whatever order and blocks they come.

    The rows with the smallest keys are kept, and a key depends on the contents of a row and the seed alone.
    """

    size: int
    seed: int
    keys: NDArray[np.uint64] | None = None
    X: Any = None
    y: Any = None

    @staticmethod
    def size_for(n_centers: int, strategy: Any) -> int:
        """Return how many rows a choice of centres wants to see."""
        several = isinstance(strategy, str) and strategy != "uniform"
        candidates = 10 * n_centers if several else n_centers
        return max(candidates, _LEAST_POOL)

    def add(self, X: Any, y: Any) -> None:
        """Let the rows of a block compete for the places."""
        keys = row_keys(X, self.seed) if is_table_of_numbers(X) else text_keys(X, self.seed)
        if self.keys is not None and len(self.keys) == self.size:
            small = np.flatnonzero(keys < self.keys[-1])
            keys, X, y = keys[small], _safe_indexing(X, small), y[small]
        elif len(keys) > self.size:
            # More rows than places: only so many can win, repeated ones aside.
            unique, first = np.unique(keys, return_index=True)
            few = first[: self.size]
            keys, X, y = unique[: self.size], _safe_indexing(X, few), y[few]
        self._compete(keys, X, y)

    def merge(self, other: Pool) -> Pool:
        """Return the pool of both pools' rows."""
        out = Pool(self.size, self.seed, self.keys, self.X, self.y)
        if other.keys is not None:
            out._compete(other.keys, other.X, other.y)
        return out

    def _compete(self, keys: NDArray[np.uint64], X: Any, y: Any) -> None:
        if self.keys is not None:
            keys, X, y = np.concatenate([self.keys, keys]), stacked(self.X, X), stacked(self.y, y)
        unique, first = np.unique(keys, return_index=True)
        winners = first[: self.size]
        self.keys, self.X, self.y = unique[: self.size], _safe_indexing(X, winners), y[winners]


def _k_means(points: Any, n_centers: int) -> NDArray[np.intp]:
    """Return the rows that are nearest to the means of clusters."""
    from sklearn.cluster import KMeans  # only where it is used: it is not light
    from sklearn.metrics import pairwise_distances_argmin

    apart = distinct_rows(points)[0]
    if len(apart) <= n_centers:
        return apart
    start = points[apart[:n_centers]]
    model = KMeans(
        n_centers,
        init=start.toarray() if sparse.issparse(points) else start,
        n_init=1,
        max_iter=20,
        random_state=0,
    )
    return np.unique(pairwise_distances_argmin(model.fit(points).cluster_centers_, points))


def _by_leverage(
    kernel: kernels.Kernel, X: Any, keys: NDArray[np.uint64], n_centers: int
) -> NDArray[np.intp]:
    """Draw rows with probability proportional to their ridge leverage, estimated from a uniform pilot."""
    pilot = X[:n_centers]
    K = kernel.matrix(pilot, pilot)
    diagonal = kernel.diagonal(X)
    floor = 1e-10 * diagonal.max(initial=1e-300)

    def residual(shift: float) -> FloatArray:
        factor = interruptible(
            len(K), cho_factor, K + max(shift, floor) * np.eye(len(K)), lower=True, overwrite_a=True
        )
        explained = np.empty(len(diagonal))
        for start in range(0, len(diagonal), _LEVERAGE_ROWS):
            part = slice(start, start + _LEVERAGE_ROWS)
            across = kernel.matrix(pilot, X[part])
            explained[part] = np.einsum("ij,ij->j", across, cho_solve(factor, across))
        return np.asarray(np.maximum(diagonal - explained, floor))

    # λ: what a model of so many centres must leave unexplained, shared out among them.
    leverage = residual(float(residual(0.0).sum() / n_centers))
    # The smallest of the exponentially distributed numbers are a sample without replacement.
    uniform = (keys.astype(np.float64) + 0.5) / 2.0**64
    spread = row_keys(uniform[:, None])  # the keys are small in a pool: draw them afresh
    order = np.argsort(-np.log((spread.astype(np.float64) + 0.5) / 2.0**64) / leverage, kind="stable")
    return np.sort(order[:n_centers])


def _require_room(M: int) -> None:
    memory.require(
        memory.centres_bytes(M), f"the kernel matrix of {M} centres and its factor", "lower n_centers"
    )


def choose(strategy: str, kernel: kernels.Kernel, pool: Pool, points: Any, n_centers: int) -> Any:
    """Return the centres, as rows like those of the pool; `points` are what the kernel reads of these."""
    if pool.X.shape[0] <= n_centers:
        return pool.X
    _require_room(n_centers)
    if strategy == "uniform":
        return pool.X[:n_centers]
    if strategy == "kmeans":
        if not is_table_of_numbers(points):
            raise ValueError('centers="kmeans" needs rows of numbers: use "uniform" or "leverage"')
        seen = points if isinstance(kernel, kernels.Function) else kernel.coordinates(points)
        if sparse.issparse(seen):
            memory.require(
                3 * 8.0 * n_centers * seen.shape[1],
                f"the means of {n_centers} clusters of sparse rows, which are dense,",
                'use centers="uniform" or "leverage"',
            )
        return _safe_indexing(pool.X, _k_means(seen, n_centers))
    assert pool.keys is not None
    return _safe_indexing(pool.X, _by_leverage(kernel, points, pool.keys, n_centers))


@dataclass(frozen=True)
class Centers:
    """Functions b(x) = L⁻¹ (k(z, x) − E k(z', x)), orthonormal for the penalty.

    See docs/math.md, section "Nyström".
    """

    kernel: kernels.Kernel  # resolved
    X: Any  # (r + q, d): r that carry functions, then the q pivots z'
    whitening: Whitening  # E (r, q) and L (r, r)
    A: FloatArray  # (l, l): T A are the features that are summed, one apiece at the pivots
    T: FloatArray  # (r + q, l): the features at the centres
    kept: list[int]  # the q features that the centres tell apart
    tolerance: float  # of dependent features

    @property
    def rank(self) -> int:
        """How many functions there are."""
        return len(self.whitening.L)

    def values(self, X: Any) -> CentreValues:
        """Return the kernel values of rows with the centres, or what they are made of."""
        if self.kernel.is_function:
            return CentreValues(None, self.kernel.matrix(X, self.X), None)
        return CentreValues(self.kernel.lower(X.shape[1]), *alike(X, self.X))

    def sums(
        self, X: Any, T: FloatArray, Y: FloatArray, weights: FloatArray | None, precision: str
    ) -> FloatArray:
        """Return AᵀWA of the rows [b(x) TA Y], of order r + l + k."""
        features = np.asarray(T, dtype=np.float64) @ self.A
        return self.whitening.row_sums(self.values(X), features, Y, weights, precision)

    def rows(self, X: Any) -> FloatArray:
        """Return b(x) for the rows of X, (n, r)."""
        return self.whitening.rows(self.values(X))

    def normal_times(
        self,
        store: KernelStore,
        number: int,
        X: Any,
        weights: FloatArray | None,
        a: FloatArray | None,
        B: FloatArray | None = None,
        precision: str = "double",
    ) -> FloatArray:
        """Return ZᵀW(Za + B) of block `number`, Z = k(X, centres), of which the store keeps what it can."""
        return store.normal_times(number, self.values(X), weights, a, B, precision=precision)

    def coefficients(self, u: FloatArray) -> FloatArray:
        """Return a (r + q, k) with Σ_j a_j k(z_j, ·) = Σ_i u_i b_i, u (r, k)."""
        carried = (
            solve_triangular(self.whitening.L, u, lower=True, trans=1, check_finite=False) if self.rank else u
        )
        return np.concatenate([carried, -self.whitening.E.T @ carried])

    def functionals(self, v: FloatArray) -> FloatArray:
        """Return L⁻¹ Nᵀ v: what sums over b are, given those over kernel values, v (r + q, k)."""
        reduced = v[: self.rank] - self.whitening.E @ v[self.rank :]
        if self.rank == 0:
            return np.asarray(reduced)
        return np.asarray(solve_triangular(self.whitening.L, reduced, lower=True, check_finite=False))


def build(kernel: kernels.Kernel, centers: Any, T: FloatArray, precision: str) -> Centers:
    """Orthonormalise the functions on the centres; those that add nothing to the others are dropped.

    T (M, l): the features at the centres.
    """
    M = centers.shape[0]
    _require_room(M)
    tolerance = dependence_tolerance(T.dtype)
    T = np.asarray(T, dtype=np.float64)
    K = kernel.matrix(centers, centers)
    if not np.isfinite(K).all():
        raise ValueError(
            f"the kernel {kernel!r} overflows at the centres: scale the columns of X, or the kernel, down"
        )
    if kernel.is_function:
        require_symmetric(K, f"the kernel matrix of {kernel!r}")
    P, pivots, kept = bases.phi_prime(T, "qr", tolerance)
    others = np.setdiff1d(np.arange(M), pivots)
    H = bases.assemble(K, T, basis="pivot", pivots="qr", tolerance=tolerance)
    largest = float(max(K.max(initial=0.0), -K.min(initial=0.0)))
    L, order = bases.pivoted_llt(H, _RANK_TOLERANCE[precision] * largest)
    carrying = np.asarray(order, dtype=np.intp)
    _require_definite(kernel, H, L, carrying, largest)
    rank = L.shape[1]
    used = np.concatenate([others[carrying[:rank]], np.asarray(pivots, dtype=np.intp)])

    A = np.eye(T.shape[1])
    if kept:
        at_pivots = T[np.asarray(pivots, dtype=np.intp)]
        apart, rest = np.asarray(kept, dtype=np.intp), np.setdiff1d(np.arange(T.shape[1]), kept)
        inverse = np.linalg.inv(at_pivots[:, apart])
        A[np.ix_(apart, rest)] = -inverse @ at_pivots[:, rest]
        A[np.ix_(apart, apart)] = inverse
    return Centers(
        kernel,
        centers[used],
        Whitening(np.ascontiguousarray(P[others[carrying[:rank]]]), np.asfortranarray(L[:rank])),
        A,
        T[used],
        kept,
        tolerance,
    )


def _require_definite(
    kernel: kernels.Kernel, H: FloatArray, L: FloatArray, order: NDArray[np.intp], largest: float
) -> None:
    """Raise unless H = L Lᵀ up to rounding: what a positive definite kernel leaves after its rank is zero."""
    probes = np.random.default_rng(0).standard_normal((len(H), 3))
    remainder = (H @ probes)[order] - L @ (L.T @ probes[order])
    if np.abs(remainder).max(initial=0.0) > 1e-5 * max(largest, 1e-300) * len(H):
        raise NotPositiveDefiniteError(
            f"the kernel {kernel!r} is not positive definite at the centres (on what the features leave of "
            "it): choose another kernel, or add the features that it needs"
        )
