"""Whether the kernel part of a model is needed: the restricted likelihood ratio and its null distribution.

Where the kernel variance is zero the ratio is no χ², not even half of one: the parameter is at a bound, and
the rows of one process are not independent. With the eigenvalues μ of the reduced kernel matrix its
finite-sample distribution is that of

    sup_s  n log(Σ w_k² / Σ s w_k²/(μ_k + s)) − Σ log(1 + μ_k/s),    w_k standard normal, n = m − l of them,

(μ_k = 0 beyond the rank), which is simulated (Crainiceanu and Ruppert, 2004). Where the kernel's width was
chosen on the same rows the largest over some widths is drawn, each with eigenvectors of its own. See
docs/math.md, section "What a fit tells".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import minimize_scalar

from .._selection.candidates import is_wide
from .._selection.merged import Merged
from .._solvers import memory
from .._solvers.kernel_problem import KernelProblem
from .._solvers.rank import nearest_combination
from .._solvers.results import ReducedMatrix
from .._solvers.runtime import interruptible
from .._validation import FloatArray
from ..kernels import Kernel, Matern

_GRID = 160  # shifts that are tried; between them a parabola tells the largest value
_SMALLEST, _LARGEST = 1e-9, 1e3  # of them, in units of the mean and of the largest eigenvalue
_CHUNK = 4_000_000  # numbers that are drawn at a time

# Negative eigenvalues beyond this share of the largest are no rounding.
_INDEFINITE = 1e-7


@dataclass(frozen=True)
class KernelTest:
    """The restricted likelihood ratio against the model without its kernel part."""

    statistic: float
    p_value: float
    n_simulations: int


def kernel_test(
    merged: Merged[Any],
    reduced: ReducedMatrix,
    n_simulations: int,
    random: np.random.RandomState,
    others: Sequence[Any] = (),
) -> KernelTest | str:
    """Return the test for a model of one output, or why there is none.

    Parameters
    ----------
    merged : Merged
        The problem and its targets, (d, 1).
    reduced : ReducedMatrix
        The matrix of the problem.
    n_simulations : int
        Draws from the null distribution.
    random : RandomState
        Where they come from.
    others : sequence of Kernel
        Where the data chose the problem's: the ratio is then the largest over these, which they did not.
    """
    start = reduced.at(np.array([1.0]), relative=True)
    if start.vanishes:
        return "no test of the kernel part: the features span all that the kernel can express"
    if _are_met(merged):
        return "no test of the kernel part: the features meet the targets"
    if merged.n_repeats < -1e-9 * merged.n_rows:
        return "no test of the kernel part: the weights count fewer rows than there are points"
    kept = list(start.kept)
    eigenvalues = reduced_eigenvalues(merged, kept)
    largest, smallest = float(eigenvalues.max()), float(eigenvalues.min())
    if smallest < -_INDEFINITE * largest:
        return "no test of the kernel part: its matrix has negative eigenvalues"
    eigenvalues = np.maximum(eigenvalues, 0)
    shifts = _shifts_for(eigenvalues)
    statistic = observed_ratio(merged, reduced, kept, shifts)
    n_free = merged.n_rows - len(kept)
    if others:
        found = [Spectrum.of(merged, kept, kernel) for kernel in others]
        statistic = max(spectrum.ratio(n_free, float(merged.within[0])) for spectrum in found)
        null = simulated_largest_ratios(found, n_free, n_simulations, random)
    else:
        null = simulated_ratios(eigenvalues, n_free, shifts, n_simulations, random)
    beyond = int(np.count_nonzero(null >= statistic))
    return KernelTest(statistic, (beyond + 1) / (n_simulations + 1), n_simulations)


_COMMON = np.geomspace(1 / 16, 4, 8)  # factors of the median distances of all columns
_ALONE = (1 / 8, 1 / 2, 2.0)  # of that of a column by itself


def grid_of_kernels(X: Any) -> list[Kernel]:
    """Return Matérn kernels that stand for what a choice may find, whatever the targets are.

    Eight common widths, and three for each column alone: a p-value that takes the chosen kernel as given is
    far too small, and the largest ratio over these has a null distribution that can be drawn.
    """
    if is_wide(X):
        width = Matern("median").resolve(X).sigma
        return [Matern(factor * width) for factor in _COMMON]
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    points = X[:, varying]
    widths = np.asarray(Matern("medians").resolve(points).sigma)
    alone = widths / np.sqrt(len(varying))
    kernels: list[Kernel] = [Matern(factor * widths).on(varying.tolist()) for factor in _COMMON]
    if len(varying) > 1:
        kernels += [
            Matern(factor * width).on([int(c)])
            for c, width in zip(varying, alone, strict=True)
            for factor in _ALONE
        ]
    return kernels


def _are_met(merged: Merged[Any]) -> bool:
    """Whether nothing but rounding is left of the targets beside the features."""
    weights = merged.problem.weights
    roots = np.ones((len(merged.targets), 1)) if weights is None else np.sqrt(weights)[:, None]
    y, T = roots * merged.targets, roots * merged.problem.T
    left = y - T @ nearest_combination(T, y)
    return not merged.within.any() and bool(np.linalg.norm(left) <= 1e-13 * np.linalg.norm(y))


def _shifts_for(eigenvalues: FloatArray) -> FloatArray:
    return np.geomspace(_SMALLEST * eigenvalues.mean(), _LARGEST * eigenvalues.max(), _GRID)


def restricted_criterion(merged: Merged[Any], reduced: ReducedMatrix, shifts: FloatArray) -> FloatArray:
    """Return minus twice the restricted log-likelihood, without constants, at shifts; of one output."""
    path = reduced.at(np.asarray(shifts, dtype=np.float64))
    n = merged.n_rows - len(path.kept)
    s = np.asarray(path.shifts)
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.asarray(path.quadratic)[:, 0] + merged.within[0] / s
        repeats = merged.n_repeats * np.log(s) if merged.n_repeats else 0.0
        values = path.log_determinant + repeats + n * np.log(np.maximum(q / n, np.finfo(float).tiny))
    return np.where(np.isfinite(path.trace) & np.isfinite(values), values, np.inf)


def observed_ratio(merged: Merged[Any], reduced: ReducedMatrix, kept: list[int], shifts: FloatArray) -> float:
    """Return the restricted likelihood ratio of the data, largest over shifts between the first and last."""
    roots = np.sqrt(merged.point_weights)
    T, y = roots[:, None] * merged.problem.T[:, kept], roots * merged.targets[:, 0]
    left = y - T @ nearest_combination(T, y) if kept else y
    n = merged.n_rows - len(kept)
    # What the criterion tends to for large shifts.
    alone = n * np.log(max(float(left @ left + merged.within[0]) / n, np.finfo(float).tiny))
    values = restricted_criterion(merged, reduced, shifts)
    g = int(values.argmin())
    least = float(values[g])
    if 0 < g < len(shifts) - 1:
        found = minimize_scalar(
            lambda log_s: float(restricted_criterion(merged, reduced, np.exp([log_s]))[0]),
            bounds=(float(np.log(shifts[g - 1])), float(np.log(shifts[g + 1]))),
            method="bounded",
            options={"xatol": 1e-6},
        )
        least = min(least, float(found.fun))
    return max(float(alone - least), 0.0)


def simulated_ratios(
    eigenvalues: FloatArray,
    n_free: float,
    shifts: FloatArray,
    n_simulations: int,
    random: np.random.RandomState,
) -> FloatArray:
    """Return draws of the ratio where there is no kernel part, (n_simulations,).

    Parameters
    ----------
    eigenvalues : ndarray of shape (r,)
        Of the reduced kernel matrix, none of them negative.
    n_free : float
        Rows less features; what they are more than r has no share in the kernel.
    shifts : ndarray of shape (g,)
        Ascending, over which the likelihood is maximised.
    n_simulations : int
        How many draws.
    random : RandomState
        Where they come from.
    """
    mu = eigenvalues[eigenvalues > 1e-6 * shifts[0]]  # others are without effect at any shift
    n_rest = max(n_free - len(mu), 0.0)
    left = shifts / (mu[:, None] + shifts)  # (r, g)
    penalty = np.log1p(mu[:, None] / shifts).sum(axis=0)
    out = np.empty(n_simulations)
    step = max(_CHUNK // (len(mu) + len(shifts)), 1)
    for start in range(0, n_simulations, step):
        part = out[start : start + step]
        squares = random.standard_normal((len(part), len(mu))) ** 2
        rest = random.chisquare(n_rest, len(part)) if n_rest > 0 else np.zeros(len(part))
        total = squares.sum(axis=1) + rest
        values = n_free * np.log(total[:, None] / (squares @ left + rest[:, None])) - penalty
        part[:] = _largest(values)
    return out


@dataclass(frozen=True)
class Spectrum:
    """The reduced matrix of a kernel in its eigenvectors, with what does not change from draw to draw."""

    vectors: FloatArray  # (n, n) in coordinates beside the features
    targets: FloatArray  # (n,) of the data, along them
    left: FloatArray  # (n, g): s/(μ + s)
    penalty: FloatArray  # (g,): Σ log(1 + μ/s)

    @classmethod
    def of(cls, merged: Merged[Any], kept: list[int], kernel: Any) -> Spectrum:
        """Return that of a kernel on the points of a problem."""
        problem, roots = merged.problem.with_kernel(kernel), np.sqrt(merged.point_weights)
        Q = linalg.qr(roots[:, None] * problem.T[:, kept])[0] if kept else np.eye(len(roots))
        N = Q[:, len(kept) :]
        matrix = N.T @ (roots[:, None] * problem.kernel_matrix() * roots) @ N
        values, vectors = linalg.eigh(matrix, driver="evd")
        values = np.maximum(values, 0)
        shifts = _shifts_for(values)
        targets = vectors.T @ (N.T @ (roots * merged.targets[:, 0]))
        left = shifts / (values[:, None] + shifts)
        return cls(vectors, targets, left, np.log1p(values[:, None] / shifts).sum(axis=0))

    def ratios(self, squares: FloatArray, rest: FloatArray, n_free: float) -> FloatArray:
        """Return the largest ratio for squares (b, n) along the eigenvectors and `rest` (b,) beside them."""
        total = (squares.sum(axis=1) + rest)[:, None]
        return _largest(n_free * np.log(total / (squares @ self.left + rest[:, None])) - self.penalty)

    def ratio(self, n_free: float, within: float) -> float:
        """Return that of the data."""
        return float(self.ratios(self.targets[None] ** 2, np.array([within]), n_free)[0])


def simulated_largest_ratios(
    spectra: Sequence[Spectrum], n_free: float, n_simulations: int, random: np.random.RandomState
) -> FloatArray:
    """Return draws of the largest ratio over kernels, where there is no kernel part."""
    order = len(spectra[0].targets)
    n_rest = max(n_free - order, 0.0)
    out = np.empty(n_simulations)
    step = max(_CHUNK // (order + _GRID), 1)
    for start in range(0, n_simulations, step):
        part = out[start : start + step]
        draws = random.standard_normal((len(part), order))
        rest = random.chisquare(n_rest, len(part)) if n_rest > 0 else np.zeros(len(part))
        each = [spectrum.ratios((draws @ spectrum.vectors) ** 2, rest, n_free) for spectrum in spectra]
        part[:] = np.max(each, axis=0)
    return out


def _largest(values: FloatArray) -> FloatArray:
    """Return the largest value of each row and 0, by a parabola through it and its neighbours."""
    g = np.clip(values.argmax(axis=1), 1, values.shape[1] - 2)
    rows = np.arange(len(values))
    below, at, above = (values[rows, g + i] for i in (-1, 0, 1))
    curvature = 2 * at - below - above
    with np.errstate(divide="ignore", invalid="ignore"):
        top = at + (above - below) ** 2 / (8 * curvature)
    inside = (curvature > 0) & (at >= below) & (at >= above)
    return np.asarray(np.maximum(np.where(inside, top, values.max(axis=1)), 0))


def reduced_eigenvalues(merged: Merged[Any], kept: list[int]) -> FloatArray:
    """Return the eigenvalues of NᵀW½ΦW½N, or those that may not be zero; W are the weights of the points."""
    problem, roots = merged.problem, np.sqrt(merged.point_weights)
    m, n_free = len(roots), len(roots) - len(kept)
    Q = linalg.qr(roots[:, None] * problem.T[:, kept], mode="economic")[0] if kept else np.empty((m, 0))
    order = m if isinstance(problem, KernelProblem) else min(problem.X.shape)
    memory.require(32.0 * order**2, f"the spectrum of a matrix of order {order}", "set n_simulations=0")
    if isinstance(problem, KernelProblem):
        matrix = roots[:, None] * problem.kernel_matrix() * roots
        return _projected_spectrum(matrix, Q)[:n_free]
    X = sparse.diags(roots) @ problem.X if sparse.issparse(problem.X) else roots[:, None] * problem.X
    if m <= X.shape[1]:
        return _projected_spectrum(_dense(X @ X.T), Q)[:n_free]
    across = np.asarray(X.T @ Q)
    return np.asarray(linalg.eigvalsh(_dense(X.T @ X) - across @ across.T)[::-1])[:n_free]


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64)


def _projected_spectrum(matrix: FloatArray, Q: FloatArray) -> FloatArray:
    """Return the eigenvalues of (I − QQᵀ) matrix (I − QQᵀ), the largest first."""
    MQ = matrix @ Q
    half = MQ - 0.5 * Q @ (Q.T @ MQ)
    return np.asarray(interruptible(len(Q), linalg.eigvalsh, matrix - half @ Q.T - Q @ half.T)[::-1])
