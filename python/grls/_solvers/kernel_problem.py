"""Least squares and support vectors on a kernel matrix: one problem on its way into the compiled core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from .._validation import FloatArray
from . import kernel_values, memory
from .dual_program import DualProgram
from .groups import Groups, Labels, encoded
from .kernel_values import Formula, Gram, GramSource, StoredGram
from .posterior import Posterior
from .rank import dependence_tolerance
from .results import Gradient, Path, PiecewiseSolution, ReducedMatrix, Solution, SvmSolution, Tuned
from .rows import fits_single, require_single_size
from .runtime import get_num_threads


@dataclass
class KernelProblem:
    """Kernel, samples, features and weights; γ and the targets come with each call."""

    kernel: Any  # a GramSource, resolved
    X: Any  # (m, d), checked
    T: FloatArray  # (m, l)
    weights: FloatArray | None  # (m,), positive
    codes: Labels | None = None  # (m,): the group of each sample, where groups have effects beside T
    tolerance: float = field(init=False)  # of dependent features
    gram: Gram = field(init=False)

    def __post_init__(self) -> None:
        self.tolerance = dependence_tolerance(self.T.dtype)
        self.T = np.asarray(self.T, dtype=np.float64)
        self.gram = self.kernel.gram(self.X)

    @property
    def n_groups(self) -> int:
        """How many groups have effects."""
        return 0 if self.codes is None else int(self.codes.max()) + 1

    @property
    def total_weight(self) -> float:
        """Σw: with it γ becomes what is added to the diagonal."""
        return float(len(self.T) if self.weights is None else self.weights.sum())

    @property
    def weights_or_ones(self) -> FloatArray:
        """The weights, one for each sample where none were given."""
        return np.ones(len(self.T)) if self.weights is None else self.weights

    def take(self, rows: Any, weights: FloatArray) -> KernelProblem:
        """Return the problem of some of the samples, with other weights."""
        codes = None if self.codes is None else encoded(self.codes[rows], len(rows))[0]
        return KernelProblem(self.kernel, self.kernel.take(self.X, rows), self.T[rows], weights, codes)

    def with_kernel(self, kernel: GramSource) -> KernelProblem:
        """Return the problem of the same samples with another kernel."""
        return KernelProblem(kernel, self.X, self.T, self.weights, self.codes)

    def kernel_matrix(self) -> FloatArray:
        """Return Φ, (m, m)."""
        if self.gram.formula is None:
            return np.asarray(self.gram.data)
        return kernel_values.matrix(self.gram.formula, self.X, self.X)

    def kernel_diagonal(self) -> FloatArray:
        """Return Φ(x, x) of the samples, (m,)."""
        if self.gram.formula is None:
            return np.asarray(np.diagonal(self.gram.data))
        return kernel_values.diagonal(self.gram.formula, self.X)

    def kernel_times(self, c: FloatArray) -> FloatArray:
        """Return Φc, (m, k); samples without a coefficient cost nothing."""
        support = np.flatnonzero(c.any(axis=1))
        if self.gram.formula is None:
            return np.asarray(self.gram.data[:, support] @ c[support])
        if len(support) == 0:
            return np.zeros_like(c)
        part = np.ascontiguousarray(c[support])
        return kernel_values.times(self.gram.formula, self.X, self.X[support], part)

    def times(self, c: FloatArray) -> FloatArray:
        """Return Φc, (m,)."""
        return self.kernel_times(c[:, None])[:, 0]

    def _arguments(self, formula: Formula | None = None) -> dict[str, Any]:
        if self.codes is not None:
            raise ValueError(
                f"this needs a column for each of {self.n_groups} groups, and features=Groups(…) makes none "
                'with solver="cg": use solver="cholesky"'
            )
        return {
            "formula": self.gram.formula if formula is None else formula,
            "data": self.gram.data,
            "T": self.T,
            "weights": self.weights,
            "tolerance": self.tolerance,
            "threads": get_num_threads(),
        }

    def solve(
        self,
        targets: FloatArray,
        regularization: float,
        *,
        formulation: str = "exact",
        pivots: str = "qr",
        precision: str = "double",
    ) -> Solution:
        """Return the solution for all columns of `targets`."""
        if precision == "single" and not isinstance(self.kernel, StoredGram):
            require_single_size(self.X, instead="mixed")
        return _core.solve(
            **self._arguments(),
            Y=targets,
            shift=regularization * self.total_weight,
            formulation=formulation,
            pivots=pivots,
            precision=precision,
        )

    def reduced(self, targets: FloatArray, *, leave_one_out: bool) -> ReducedMatrix:
        """Return the matrix reduced once for any number of shifts."""
        return ReducedMatrix(_core.reduce(**self._arguments(), Y=targets, leave_one_out=leave_one_out))

    def path(self, targets: FloatArray, shifts: FloatArray, *, relative: bool, leave_one_out: bool) -> Path:
        """Return what the core knows of every shift γΣw; `relative`: in units of its size."""
        return _core.path(
            **self._arguments(), Y=targets, shifts=shifts, relative=relative, leave_one_out=leave_one_out
        )

    def path_bytes(self, n_outputs: int, n_shifts: int, *, leave_one_out: bool) -> float:
        """Return the memory that `path` takes."""
        return memory.path_bytes(
            len(self.T), n_outputs, n_shifts, leave_one_out=leave_one_out, n_free=self.T.shape[1]
        )

    def gradient(
        self,
        formula: Formula,
        targets: FloatArray,
        regularization: float,
        criterion: str,
        groups: list[int],
        rows: tuple[Any, FloatArray, FloatArray, FloatArray] | None = None,
        left_out: Groups | None = None,
    ) -> Gradient:
        """Return value and gradient of a criterion; `formula` is the kernel's, lowered for tuning.

        `rows`: those that the samples stand for, with sample, weight, count and deviation from the mean;
        `left_out`: the samples that "logo" leaves out together.
        """
        more: dict[str, Any] = {}
        if left_out is not None:
            more = {"left_out_rows": left_out.rows, "left_out_starts": left_out.starts}
        names = ("row_points", "row_weights", "row_counts", "deviations")
        return _core.gradient(
            **self._arguments(formula),
            Y=targets,
            shift=regularization * self.total_weight,
            criterion=criterion,
            groups=groups,
            **({} if rows is None else dict(zip(names, rows, strict=True))),
            **more,
        )

    def tuned(
        self,
        targets: FloatArray,
        rows: dict[str, Any],
        *,
        units: FloatArray,
        variable: Any,
        start: FloatArray,
        limits: FloatArray,
        curve: FloatArray,
        prior: tuple[FloatArray, float, float],
        gain: float,
        most: int,
    ) -> Tuned:
        """Return where the restricted likelihood leads from a start; see cpp/least_squares/tuning.hpp.

        The kernel tells the formula. `rows` are those that the samples stand for, by the core's names.
        """
        formula, links = self.kernel.lower_for_tuning(self.X.shape[1])
        reach, a, b = prior
        return _core.tune(
            **self._arguments(formula),
            Y=targets,
            groups=sorted({link.index for link in links if link.slot == "widths"}),
            units=units,
            variable=variable,
            start=start,
            lower=limits[:, 0],
            upper=limits[:, 1],
            curve=curve,
            reach=reach,
            a=a,
            b=b,
            gain=gain,
            most=most,
            **rows,
        )

    def restricted_likelihoods(
        self, targets: FloatArray, shifts: FloatArray, rows: dict[str, Any]
    ) -> FloatArray:
        """Return minus twice the restricted log-likelihood at shifts; infinite where there is no model."""
        return _core.restricted_likelihoods(**self._arguments(), Y=targets, shifts=shifts, **rows)

    def posterior(self, regularization: float) -> Posterior:
        """Return the factor at one γ, for variances at any number of points."""
        shift = regularization * self.total_weight
        return Posterior(_core.Posterior(**self._arguments(), shift=shift))

    def svm(
        self,
        labels: Any,
        n_classes: int,
        C: float,
        *,
        solver: str,
        tol: float,
        max_iter: int,
        cache_bytes: float,
        start: FloatArray | None,
        only: Any = (),
    ) -> SvmSolution:
        """Return the coefficients of all pairs of classes, or of `only` these; the bounds are C times w."""
        arguments = self._arguments()
        arguments["dependence"] = arguments.pop("tolerance")
        arguments["weights"] = self.weights_or_ones
        return _core.svm_fit(
            **arguments,
            labels=labels,
            n_classes=n_classes,
            C=C,
            feature_variance=np.inf,
            solver=solver,
            tolerance=tol,
            max_iterations=max_iter,
            cache_bytes=cache_bytes,
            start=start,
            only=list(only),
            definite=self.gram.definite,
        )

    def piecewise(
        self,
        programs: list[DualProgram],
        *,
        solver: str,
        tol: float,
        max_iter: int,
        cache_bytes: float,
        start: FloatArray | None = None,
        chained: bool = False,
    ) -> PiecewiseSolution:
        """Return the coefficients of all programs, which share the kernel's values.

        start: (m, k) to begin with; of `chained` programs (m, 1), for the first, and each further one begins
        where the last one ended.
        """
        arguments = self._arguments()
        arguments["dependence"] = arguments.pop("tolerance")
        arguments["weights"] = self.weights_or_ones
        single = isinstance(self.kernel, StoredGram) or fits_single(self.X)
        for name in ("t", "lower", "upper", "kappa_up", "kappa_down", "epsilon"):
            arguments[name] = np.column_stack([getattr(program, name) for program in programs])
        return _core.piecewise_fit(
            **arguments,
            solver=solver,
            tolerance=tol,
            max_iterations=max_iter,
            cache_bytes=cache_bytes,
            start=start,
            chained=chained,
            single=single,
        )
