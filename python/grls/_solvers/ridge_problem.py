"""Ridge regression with unpenalised features on the columns of a matrix, by whichever route is cheapest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._solvers import memory as _memory
from .._solvers.kernel_problem import Problem
from .._solvers.runtime import get_num_threads
from .._validation import FloatArray, for_core
from ..core import dependence_tolerance
from ..kernels import Linear

SOLVERS = ("auto", "cholesky", "cg")

# A Cholesky factorisation of this order takes about a second at most, and has no tolerance to choose.
_SMALL = 3000
_USUAL_ITERATIONS = 100


@dataclass
class RidgeProblem:
    """min 1/Σw Σ_i w_i (y_i − x_iᵀV − t_iᵀβ)² + γ|V|²; γ and the targets come with each call."""

    X: Any  # (n, p), checked
    T: FloatArray  # (n, l)
    weights: FloatArray | None  # (n,), positive
    tolerance: float = field(init=False)

    def __post_init__(self) -> None:
        self.tolerance = dependence_tolerance(len(self.T), self.T.dtype)
        self.T = np.asarray(self.T, dtype=np.float64)

    @property
    def total_weight(self) -> float:
        """Σw."""
        return float(len(self.T) if self.weights is None else self.weights.sum())

    @property
    def _by_samples(self) -> bool:
        """Whether there are fewer samples than columns: the kernel matrix is then the smaller one."""
        return bool(self.X.shape[0] <= self.X.shape[1])

    def take(self, rows: Any, weights: FloatArray) -> RidgeProblem:
        """Return the problem of some of the samples, with other weights."""
        return RidgeProblem(self.X[rows], self.T[rows], weights)

    def _as_kernel_problem(self) -> Problem:
        return Problem(Linear(), self.X, self.T, self.weights)

    def solver(self, wanted: str, n_outputs: int) -> str:
        """Return "cholesky" or "cg": what was asked for, else what costs less."""
        if wanted != "auto":
            return wanted
        n, p = self.X.shape
        order = min(n, p)
        entries = self.X.nnz if sparse.issparse(self.X) else n * p
        direct = order**3 / 3 + float(entries) * order
        slowness = 4.0 if sparse.issparse(self.X) else 1.0  # of a sparse product, against a dense one
        iterative = 4.0 * entries * n_outputs * _USUAL_ITERATIONS * slowness
        if order > _SMALL and (iterative < direct or not _memory.fits(self._direct_bytes(n_outputs))):
            return "cg"
        return "cholesky"

    def _direct_bytes(self, n_outputs: int) -> float:
        n, p = self.X.shape
        if self._by_samples:
            return _core.solve_bytes(order=n + n_outputs, precision="mixed")
        return _core.ridge_columns_bytes(n=n, d=p, n_outputs=n_outputs)

    def solve(
        self, targets: FloatArray, regularization: float, solver: str, tol: float, max_iter: int
    ) -> _core.RidgeSolution:
        """Return V, beta, kept, and of conjugate gradients iterations and residuals."""
        if solver == "cg":
            return _core.ridge_cg(
                rows=for_core(self.X if sparse.issparse(self.X) else self.X.astype(np.float64, copy=False)),
                T=self.T,
                Y=targets,
                weights=self.weights,
                dependence=self.tolerance,
                shift=regularization * self.total_weight,
                tolerance=tol,
                max_iterations=max_iter,
                threads=get_num_threads(),
            )
        n, p = self.X.shape
        _memory.require(
            self._direct_bytes(targets.shape[1]),
            f"a Cholesky factorisation for {n} samples and {p} columns",
            'use solver="cg"',
        )
        if self._by_samples:
            solution = self._as_kernel_problem().solve(targets, regularization, "exact", "auto", np.inf)
            V = np.asarray(self.X.T @ solution.c, dtype=np.float64)
            return _core.RidgeSolution(V=V, beta=solution.beta, kept=solution.kept)
        return _core.ridge_columns(
            rows=for_core(self.X),
            T=self.T,
            Y=targets,
            weights=self.weights,
            dependence=self.tolerance,
            shift=regularization * self.total_weight,
            threads=get_num_threads(),
        )

    def path(
        self, targets: FloatArray, shifts: FloatArray, *, relative: bool, leave_one_out: bool
    ) -> _core.Path:
        """Return what the core knows of every shift γΣw; `relative`: in units of its size."""
        if self._by_samples:
            problem = self._as_kernel_problem()
            return problem.path(targets, shifts, relative=relative, leave_one_out=leave_one_out)
        return _core.ridge_path(
            rows=for_core(self.X),
            T=self.T,
            Y=targets,
            weights=self.weights,
            dependence=self.tolerance,
            shifts=shifts,
            relative=relative,
            threads=get_num_threads(),
        )

    def path_bytes(self, n_outputs: int, n_shifts: int, *, leave_one_out: bool) -> float:
        """Return the memory that `path` takes."""
        n, p = self.X.shape
        if self._by_samples:
            problem = self._as_kernel_problem()
            return problem.path_bytes(n_outputs, n_shifts, leave_one_out=leave_one_out)
        return _core.ridge_path_bytes(n=n, d=p, n_outputs=n_outputs, n_shifts=n_shifts)
