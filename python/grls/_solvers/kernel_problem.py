"""One problem on its way into the compiled core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core, kernels
from .._solvers.runtime import get_num_threads
from .._validation import FloatArray, for_core, require_symmetric
from ..core import dependence_tolerance


def gram_source(kernel: kernels.Kernel, X: Any) -> tuple[_core.Formula | None, Any]:
    """Return what the core makes the kernel matrix of: a formula and the points, or None and the matrix."""
    if not isinstance(kernel, kernels.Function):
        return kernel.lower(X.shape[1]), for_core(X)
    matrix = kernel.matrix(X, X)
    require_symmetric(matrix, f"the kernel matrix of {kernel!r}")
    return None, matrix


@dataclass
class Problem:
    """Kernel, samples, features and weights; γ and the targets come with each call."""

    kernel: kernels.Kernel  # resolved
    X: Any  # (m, d), checked
    T: FloatArray  # (m, l)
    weights: FloatArray | None  # (m,), positive
    tolerance: float = field(init=False)
    _formula: _core.Formula | None = field(init=False)
    _data: Any = field(init=False)

    def __post_init__(self) -> None:
        self.tolerance = dependence_tolerance(len(self.T), self.T.dtype)
        self.T = np.asarray(self.T, dtype=np.float64)
        self._formula, self._data = gram_source(self.kernel, self.X)

    @property
    def total_weight(self) -> float:
        """Σw: with it γ becomes what is added to the diagonal."""
        return float(len(self.T) if self.weights is None else self.weights.sum())

    def take(self, rows: Any, weights: FloatArray) -> Problem:
        """Return the problem of some of the samples, with other weights."""
        X = self.X[rows]
        if isinstance(self.kernel, kernels.Precomputed):
            X = np.ascontiguousarray(X[:, rows])
        return Problem(self.kernel, X, self.T[rows], weights)

    def solve(
        self,
        targets: FloatArray,
        regularization: float,
        formulation: str,
        precision: str,
        feature_variance: float,
    ) -> _core.Solution:
        """Return the solution for all columns of `targets`."""
        return _core.solve(
            formula=self._formula,
            data=self._data,
            T=self.T,
            Y=targets,
            weights=self.weights,
            shift=regularization * self.total_weight,
            formulation=formulation,
            pivots="qr",
            tolerance=self.tolerance,
            precision=precision,
            feature_variance=feature_variance,
            threads=get_num_threads(),
        )

    def path(
        self, targets: FloatArray, shifts: FloatArray, *, relative: bool, leave_one_out: bool
    ) -> _core.Path:
        """Return what the core knows of every shift γΣw; `relative`: in units of its size."""
        return _core.path(
            formula=self._formula,
            data=self._data,
            T=self.T,
            Y=targets,
            weights=self.weights,
            shifts=shifts,
            relative=relative,
            leave_one_out=leave_one_out,
            tolerance=self.tolerance,
            threads=get_num_threads(),
        )

    def gradient(
        self,
        formula: _core.Formula,
        targets: FloatArray,
        regularization: float,
        criterion: str,
        groups: list[int],
    ) -> _core.Gradient:
        """Return value and gradient of a criterion; `formula` is the kernel's, lowered for tuning."""
        return _core.gradient(
            formula=formula,
            data=self._data,
            T=self.T,
            Y=targets,
            weights=self.weights,
            shift=regularization * self.total_weight,
            criterion=criterion,
            groups=groups,
            tolerance=self.tolerance,
            threads=get_num_threads(),
        )

    def path_bytes(self, n_outputs: int, n_shifts: int, *, leave_one_out: bool) -> float:
        """Return the memory that `path` takes."""
        m, n_features = self.T.shape
        return _core.path_bytes(
            m=m,
            n_outputs=n_outputs,
            n_shifts=n_shifts,
            leave_one_out=leave_one_out,
            n_features=n_features,
        )

    def variance(
        self,
        regularization: float,
        feature_variance: float,
        K: FloatArray,
        T_new: FloatArray,
        *,
        covariance: bool,
    ) -> FloatArray:
        """Return what data and features add to the prior variance at new points (see the core)."""
        return _core.variance(
            formula=self._formula,
            data=self._data,
            T=self.T,
            weights=self.weights,
            shift=regularization * self.total_weight,
            K=K,
            T_new=T_new,
            covariance=covariance,
            tolerance=self.tolerance,
            feature_variance=feature_variance,
            threads=get_num_threads(),
        )

    def svm(
        self,
        labels: Any,
        n_classes: int,
        C: float,
        *,
        feature_variance: float,
        solver: str,
        tol: float,
        max_iter: int,
        cache_bytes: float,
        start: FloatArray | None,
    ) -> _core.SvmSolution:
        """Return the coefficients of all pairs of classes; the bounds are C times the weights."""
        weights = np.ones(len(self.T)) if self.weights is None else self.weights
        return _core.svm_fit(
            formula=self._formula,
            data=self._data,
            T=self.T,
            labels=labels,
            n_classes=n_classes,
            C=C,
            weights=weights,
            feature_variance=feature_variance,
            dependence=self.tolerance,
            solver=solver,
            tolerance=tol,
            max_iterations=max_iter,
            cache_bytes=cache_bytes,
            start=start,
            threads=get_num_threads(),
        )
