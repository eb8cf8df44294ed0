"""The choice of γ where no matrix is stored: GCV and restricted likelihood from a few shifted systems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from .._solvers import kernel_values
from .._solvers.kernel_problem import KernelProblem
from .._solvers.matrix_free import Guess, MatrixFree
from .._validation import FloatArray
from .._warnings import warn
from . import regularization
from .merged import Merged, merge
from .shifted_systems import ShiftedSystems, SolvedShifts
from .variances import ESTIMATED, GivenVariances

CRITERIA = ("gcv", "reml")
_PROBES = 16
_PRECISION = 1e-3  # of solutions that are compared: quadratic forms are known to the square of it
_APART = 10.0  # the ratio of shifts that are solved for
_PATIENCE = 30.0  # how far below the best shift the criterion must be known before smaller ones are not tried
_MOST_STEPS = 200  # at one shift: smaller ones take more than a fit is worth
_VANISHES = 1e-10  # share of the kernel's diagonal that the features may leave and it still is rounding
_DISAGREEMENT = 4.0  # the ratio of the choices of the two halves of the probes that is worth a warning


@dataclass
class Found:
    """What was chosen, and what the final solution can start from."""

    selection: regularization.Selection
    between: FloatArray | None = None  # (2,) or (2, k): choices of two halves of random vectors, ascending
    system: MatrixFree | None = None  # of the rows themselves; None where it was made of others
    guess: Guess | None = None


@dataclass(frozen=True)
class Scale:
    """The size of H, as that of a path."""

    unit: float  # its mean eigenvalue, or that of Φ where nothing of it is left
    vanishes: bool  # the features leave nothing of the kernel but rounding
    rounding: float  # about the norm of the rounding errors in H

    @classmethod
    def of(cls, system: MatrixFree) -> Scale:
        problem = system.problem
        assert problem.gram.formula is not None
        diagonal = kernel_values.diagonal(problem.gram.formula, problem.X)
        whole = float(np.abs(diagonal) @ problem.weights_or_ones)
        rounding = float(np.finfo(float).eps) * max(whole, system.trace)
        if system.trace > _VANISHES * whole:
            return cls(system.trace / max(system.order, 1), False, rounding)
        return cls(whole / len(diagonal) if whole > 0 else 1.0, True, rounding)

    def shifts_to_try(
        self, specification: Any, n_samples: int, total_weight: float
    ) -> tuple[FloatArray, bool]:
        """Return the shifts, and whether they are those of a grid: of it, what rounding leaves of H."""
        shifts, relative = regularization.shifts_to_try(specification, n_samples, total_weight)
        if relative:
            shifts = shifts * self.unit
            shifts = shifts[shifts >= self.rounding]
        return shifts, relative


class _EstimatedPath:
    """What `Path` knows of each shift, from the space; without what only leave-one-out reads."""

    def __init__(self, systems: ShiftedSystems, scale: Scale, shifts: FloatArray, probes: slice) -> None:
        self.shifts, self.kept = shifts, systems.system.kept
        self.vanishes, self.rounding = scale.vanishes, scale.rounding
        self.log_determinant = np.array([systems.trace_of(_logarithm(s), probes) for s in shifts])
        traces = [systems.trace_of(_inverse(s), probes) for s in shifts]
        self.trace = np.array([t if t > 0 else np.nan for t in traces])
        self.quadratic = np.array([systems.forms(_inverse(s)) for s in shifts])
        self.squared_norm = np.array([systems.forms(_inverse(s, 2)) for s in shifts])


def _inverse(shift: float, power: int = 1) -> Callable[[FloatArray], FloatArray]:
    return lambda values: (values + shift) ** -float(power)


def _logarithm(shift: float) -> Callable[[FloatArray], FloatArray]:
    return lambda values: np.log(values + shift)


class Search(Protocol):
    """A criterion at the shifts that were solved for, and between them."""

    total_weight: float

    @property
    def systems(self) -> SolvedShifts: ...

    def curve(self, shifts: FloatArray) -> regularization.Curve: ...

    def best(self, curve: regularization.Curve) -> FloatArray: ...


class _Search:
    """The criterion at the shifts that were solved for, and between them."""

    def __init__(
        self,
        merged: Merged[KernelProblem],
        systems: ShiftedSystems,
        scale: Scale,
        criterion: str,
        variances: GivenVariances,
        *,
        per_output: bool,
    ) -> None:
        self._merged, self.systems, self._scale = merged, systems, scale
        self._criterion, self._variances = criterion, variances
        self.n_outputs = systems.n_outputs if per_output else 1
        self.total_weight = merged.total_weight

    def curve(self, shifts: FloatArray, probes: slice = slice(None)) -> regularization.Curve:
        path: Any = _EstimatedPath(self.systems, self._scale, shifts, probes)
        judge = regularization.Judge(
            self._merged,
            path,
            self._criterion,
            _no_loss,
            self._merged.targets,
            self.n_outputs,
            None,
            self._variances,
        )
        return regularization.Curve.of(judge, [np.inf])

    def refined(self, curve: regularization.Curve, probes: slice = slice(None)) -> regularization.Curve:
        """Return the curve with the best shifts between the neighbours of the best ones."""
        found = regularization.refined_shifts(
            curve, 0, lambda s: self.curve(np.array([s]), probes).plane[0, 0]
        )
        return curve.joined(self.curve(np.array(found), probes)) if found else curve

    def best(self, curve: regularization.Curve) -> FloatArray:
        return np.asarray(curve.shifts[curve.best(0)])

    def range_left_open(self, curve: regularization.Curve, *, refine: bool) -> FloatArray:
        """Return the least and the largest of what either half of the random vectors would choose."""
        halves = []
        for half in (slice(0, _PROBES // 2), slice(_PROBES // 2, None)):
            part = self.curve(curve.shifts, half)
            halves.append(self.best(self.refined(part, half) if refine else part))
        return np.sort(np.array(halves), axis=0)


def _warn_of_disagreement(between: FloatArray, criterion: str) -> None:
    """Tell of random vectors whose halves choose values of γ that are far apart."""
    if np.any(between[1] > _DISAGREEMENT * between[0]):
        low, high = between[0].min(), between[1].max()
        warn(
            f"the random vectors that {criterion!r} estimates traces with leave the regularization between "
            f"{low:.2g} and {high:.2g}; give regularization a number, or use the other of 'gcv' and 'reml'",
            UserWarning,
        )


def _no_loss(predictions: FloatArray) -> FloatArray:
    raise AssertionError("no row is left out")


def select(
    problem: KernelProblem,
    targets: FloatArray,
    criterion: str,
    specification: Any,
    *,
    per_output: bool,
    counts: FloatArray | None,
    variances: GivenVariances = ESTIMATED,
    seed: Any = None,
    max_iter: int,
    report: Callable[[str], None],
) -> Found:
    """Choose γ by a criterion whose traces are estimated, from large values to small ones.

    Values that were given are all tried. Of a grid those are tried that come before the criterion has risen
    for a while, or before conjugate gradients fail; the best is refined between its neighbours.
    """
    merged = merge(problem, targets, counts)
    regularization.warn_of_unusual_weights(merged.mean_count, criterion)
    regularization.require_rows(merged, criterion)
    m, k = merged.targets.shape
    system = MatrixFree(merged.problem, 3 * (k + _PROBES))
    rng = check_random_state(0 if seed is None else seed)
    systems = ShiftedSystems(system, merged.targets, _PROBES, rng)
    scale = Scale.of(system)
    shifts, relative = scale.shifts_to_try(specification, m, problem.total_weight)
    search = _Search(merged, systems, scale, criterion, variances, per_output=per_output)
    curve = descend(
        search,
        shifts,
        relative=relative,
        tol=_PRECISION,
        max_iter=max_iter,
        report=report,
        criterion=criterion,
    )
    if relative:
        curve = search.refined(curve)
    chosen = search.best(curve)
    between = search.range_left_open(curve, refine=relative) / merged.total_weight
    _warn_of_disagreement(between, criterion)
    gammas, values = curve.shifts / merged.total_weight, curve.plane[0]
    selection = regularization.Selection(
        path=gammas,
        criterion=values if per_output else values[:, 0],
        chosen=chosen / merged.total_weight if per_output else np.asarray(chosen[0] / merged.total_weight),
        feature_variance=np.inf,
        left_out=None,
        copies=merged.copies,
        mean_count=merged.mean_count,
    )
    if merged.problem is not problem:
        return Found(selection, between if per_output else between[:, 0])
    guess = systems.solutions(float(chosen[0]), slice(0, k)) if len(set(chosen.tolist())) == 1 else None
    return Found(selection, between if per_output else between[:, 0], system, guess)


def descend(
    search: Search,
    shifts: FloatArray,
    *,
    relative: bool,
    tol: float,
    max_iter: int,
    report: Callable[[str], None],
    criterion: str,
) -> regularization.Curve:
    """Return the curve of the shifts that can be told, the poles going down until there is no need to."""
    pole, last = float(shifts[-1]), float(shifts[0])
    max_iter = min(max_iter, _MOST_STEPS) if relative else max_iter
    curve = None
    while True:
        if not search.systems.add(pole, tol=tol, max_iter=max_iter):
            if curve is None or not relative:
                raise ValueError(
                    f"conjugate gradients did not reach a residual of {tol:g} within "
                    f"max_iter={max_iter} steps, which {criterion!r} needs to choose the regularization: "
                    "raise max_iter, try larger values, or give regularization a number"
                )
            warn(
                f"values of the regularization below {curve.shifts[0] / search.total_weight:.2g} were not "
                f"tried: conjugate gradients took more than {max_iter} steps there",
                UserWarning,
            )
            return curve
        known = shifts[shifts >= pole * (1 - 1e-12)]
        curve = search.curve(known)
        best = search.best(curve)
        report(f"regularization {pole / search.total_weight:.3g}: {criterion} best {curve.plane.min():.6g}")
        if pole <= last or (relative and best.min() >= _PATIENCE * pole):
            return curve
        pole = max(pole / _APART, last)
