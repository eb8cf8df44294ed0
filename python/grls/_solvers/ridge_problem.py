"""Ridge regression with unpenalised features on the columns of a matrix, by whichever route is cheapest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .. import _core
from .._validation import FloatArray
from . import memory
from .arrays import for_core
from .kernel_problem import KernelProblem
from .kernel_values import LinearGram
from .origin import CENTRED, distance_of, moments, spans_constant
from .rank import dependence_tolerance, nearest_combination
from .results import Path, ReducedMatrix, RidgeSolution
from .runtime import get_num_threads

SOLVERS = ("auto", "cholesky", "cg")

# A Cholesky factorisation of this order takes about a second at most, and has no tolerance to choose.
_SMALL = 3000
_USUAL_ITERATIONS = 100


def _require_unit(unit: float) -> None:
    """Raise ValueError where eigenvalues of XᵀX are of a size whose squares leave floating point."""
    if unit != 0 and not 1e-140 <= unit <= 1e140:
        raise ValueError(
            f"the columns of X, times the prior's standard deviations, are of size {unit**0.5:.1g}, and the "
            "regularization is chosen for sizes from 1e-70 to 1e+70: change the unit of X, or give the "
            "regularization as a number"
        )


@dataclass
class RidgeProblem:
    """min 1/Σw Σ_i w_i (y_i − x_iᵀV − t_iᵀβ)² + γ|V|²; γ and the targets come with each call."""

    X: Any  # (n, p), checked
    T: FloatArray  # (n, l)
    weights: FloatArray | None  # (n,), positive
    codes: ClassVar[None] = None  # no groups have effects
    tolerance: float = field(init=False)

    def __post_init__(self) -> None:
        self.tolerance = dependence_tolerance(self.T.dtype)
        self.T = np.asarray(self.T, dtype=np.float64)

    @property
    def total_weight(self) -> float:
        """Σw."""
        return float(len(self.T) if self.weights is None else self.weights.sum())

    @property
    def by_samples(self) -> bool:
        """Whether there are fewer samples than columns: the kernel matrix is then the smaller one."""
        return bool(self.X.shape[0] <= self.X.shape[1])

    def take(self, rows: Any, weights: FloatArray) -> RidgeProblem:
        """Return the problem of some of the samples, with other weights."""
        return RidgeProblem(self.X[rows], self.T[rows], weights)

    def _as_kernel_problem(self) -> KernelProblem:
        return KernelProblem(LinearGram(), self.X, self.T, self.weights)

    def _arguments(self) -> dict[str, Any]:
        return {
            "rows": for_core(self.X),
            "T": self.T,
            "weights": self.weights,
            "dependence": self.tolerance,
            "threads": get_num_threads(),
        }

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
        if order > _SMALL and (iterative < direct or not memory.fits(self._direct_bytes(n_outputs))):
            return "cg"
        return "cholesky"

    def _direct_bytes(self, n_outputs: int) -> float:
        n, p = self.X.shape
        if self.by_samples:
            return memory.solve_bytes(n + n_outputs, "mixed")
        return memory.ridge_columns_bytes(n, p, n_outputs)

    def solve(
        self, targets: FloatArray, regularization: float, solver: str, *, tol: float, max_iter: int
    ) -> RidgeSolution:
        """Return V, beta, kept, and of conjugate gradients iterations and residuals."""
        shift = regularization * self.total_weight
        if solver == "cg":
            arguments = self._arguments()
            if not sparse.issparse(self.X):
                arguments["rows"] = for_core(self.X.astype(np.float64, copy=False))
            return _core.ridge_cg(**arguments, Y=targets, shift=shift, tolerance=tol, max_iterations=max_iter)
        n, p = self.X.shape
        memory.require(
            self._direct_bytes(targets.shape[1]),
            f"a Cholesky factorisation for {n} samples and {p} columns",
            'use solver="cg"',
        )
        center = self._center()
        if center is None:
            return self._solve_directly(targets, regularization)
        # x = μ + u with 1 = Ta: V is the same for u, and f = xᵀV + tᵀ(β − a μᵀV).
        moved = RidgeProblem(self.X - center, self.T, self.weights)
        found = moved._solve_directly(targets, regularization)
        V, beta, kept = np.asarray(found.V), np.array(found.beta), found.kept
        constant = nearest_combination(self.T[:, kept], np.ones(n))
        beta[kept] -= np.outer(constant, center @ V)
        return RidgeSolution(V=V, beta=beta, kept=kept, iterations=0, residuals=found.residuals)

    def _center(self) -> FloatArray | None:
        """Return the middle of X where digits are lost unless X is taken about it, and it may be."""
        if (
            sparse.issparse(self.X)
            or not distance_of(*moments(self.X)) > CENTRED
            or not spans_constant(self.T)
        ):
            return None
        return np.asarray(np.average(self.X, axis=0, weights=self.weights), dtype=np.float64)

    def _solve_directly(self, targets: FloatArray, regularization: float) -> RidgeSolution:
        """Factorise the smaller of both matrices."""
        if not self.by_samples:
            shift = regularization * self.total_weight
            return _core.ridge_columns(**self._arguments(), Y=targets, shift=shift)
        solution = self._as_kernel_problem().solve(targets, regularization, precision="auto")
        return RidgeSolution(
            V=np.asarray(self.X.T @ solution.c, dtype=np.float64),
            beta=solution.beta,
            kept=solution.kept,
            iterations=0,
            residuals=np.zeros(targets.shape[1]),
        )

    def reduced(self, targets: FloatArray, *, leave_one_out: bool) -> ReducedMatrix:
        """Return the matrix reduced once for any number of shifts."""
        if self.by_samples:
            return self._as_kernel_problem().reduced(targets, leave_one_out=leave_one_out)
        made = ReducedMatrix(_core.ridge_reduce(**self._arguments(), Y=targets))
        _require_unit(made.at(np.ones(1), relative=True).unit)
        return made

    def path(self, targets: FloatArray, shifts: FloatArray, *, relative: bool, leave_one_out: bool) -> Path:
        """Return what the core knows of every shift γΣw; `relative`: in units of its size."""
        if self.by_samples:
            problem = self._as_kernel_problem()
            return problem.path(targets, shifts, relative=relative, leave_one_out=leave_one_out)
        path = _core.ridge_path(**self._arguments(), Y=targets, shifts=shifts, relative=relative)
        _require_unit(path.unit)
        return path

    def path_bytes(self, n_outputs: int, n_shifts: int, *, leave_one_out: bool) -> float:
        """Return the memory that `path` takes."""
        n, p = self.X.shape
        if self.by_samples:
            return memory.path_bytes(
                n, n_outputs, n_shifts, leave_one_out=leave_one_out, n_free=self.T.shape[1]
            )
        return memory.ridge_path_bytes(n, p, n_outputs, n_shifts)
