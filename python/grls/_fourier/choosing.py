"""What a fit leaves to the data: the kernel's parameters and γ, by a criterion of all rows.

A sample says where to begin. Sums for the criterion need waves that stand for the kernel between rows alone,
fewer than those of a model that is to predict beyond them: where the rows can be read again, γ and widths are
chosen with these.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import kernels
from .._nystrom.origin import constant_in, expressed_by, middle
from .._nystrom.plan import named
from .._validation import FloatArray, require_two_samples
from .._warnings import muted, warn
from ..exceptions import NotPositiveDefiniteError
from ..kernels.spectral import stationary_parts
from ..least_squares import GRLSRegressor
from . import system
from .modes import Modes, choose_modes, columns_read
from .plan import Exact, Plan, Rows, SplitSums
from .reading import Data, RowReading
from .selection import Choice, choose, least_shift
from .system import System

_ROWS_TO_BEGIN = 1000  # of the sample, where all rows follow: the exact model costs their third power
_SCALES = 2.0  # by which widths are scaled at first
_FARTHEST = 4  # times in one direction
_TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)  # that are tried
_MOST_BY_ITSELF = 100_000  # modes that a small tolerance may take without being asked for
_ABOVE_LEAST = 30.0  # times the least shift: where a search begins at most near it, for steps are many there


class Choosing(RowReading):
    """A model that has modes of its kernel, and may leave the kernel's parameters and γ to its rows."""

    _tolerance: float | None = None  # of the kernel; None: the rows are to choose it

    def _optimizes(self) -> bool:
        return self.optimize is not None and self.optimize is not False

    def _plan(
        self, data: Data, seed: int, kernel: kernels.Kernel | None = None, *, beyond: bool = True
    ) -> Plan:
        """Return the plan of a fit; not `beyond`: of one whose function is not needed beyond the rows."""
        kernel = data.kernel if kernel is None else kernel
        low, high = data.low, data.high
        if self.domain is not None:
            low, high = self._domain(kernel, data)
        if self._tolerance is None:
            self._tolerance = self._chosen_tolerance(kernel, data, low, high)
        modes = choose_modes(
            kernel, data.n_columns, low, high, self._tolerance, int(self.max_modes), beyond=beyond
        )
        fraction = float(self.validation_fraction) if self.regularization == "holdout" else 0.0
        self._stages.report(
            f"{' × '.join(map(str, modes.shape))} modes, kernel error {modes.kernel_error:.2g}"
        )
        T = np.asarray(data.sample.T, dtype=np.float64)
        constant = constant_in(T, system.independent(T.T @ T))
        origin = None if constant is None else middle(data.sample.Y)
        expressed = expressed_by(T, data.sample.Y)
        return Plan(kernel, data.free, modes, data.sample, fraction, seed, origin, constant, expressed)

    def _chosen_tolerance(
        self, kernel: kernels.Kernel, data: Data, low: FloatArray, high: FloatArray
    ) -> float:
        """Return the largest tolerance with which a sample has about the exact model's intervals.

        Its γΣw is that of the fit, or what a criterion chooses for the exact model of some rows.
        """
        rows, largest = data.sample, _TOLERANCES[0]
        if isinstance(self.regularization, str):
            by = "reml" if self.regularization == "reml" else "gcv"
            s = _shift_of_sample(kernel, rows, by)
        else:
            s = float(self.regularization) * data.n_rows
        if not s or len(rows.T) <= rows.T.shape[1]:
            return largest
        best = largest
        try:
            exact = Exact.of(kernel, rows, rows.Y - rows.Y.mean(axis=0), s)
            for tol in _TOLERANCES:
                modes = choose_modes(
                    kernel, data.n_columns, low, high, tol, int(self.max_modes), beyond=False
                )
                if tol < largest and modes.count > _MOST_BY_ITSELF:
                    break
                best = tol
                if exact.compared(modes, tol=1e-8, max_iter=int(self.max_iter)).is_small:
                    break
        except (NotPositiveDefiniteError, ValueError):
            pass  # too many modes: those before are used, or the fit says what is wrong
        self._stages.done("modes")
        return best

    def _domain(self, kernel: kernels.Kernel, data: Data) -> tuple[FloatArray, FloatArray]:
        columns = list(columns_read(stationary_parts(kernel, data.n_columns), data.n_columns))
        try:
            low, high = (
                np.broadcast_to(np.asarray(end, dtype=np.float64), len(columns)) for end in self.domain
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                "domain must be (low, high), each a number or one for each of the "
                f"{len(columns)} columns that the kernel reads; got {self.domain!r}"
            ) from error
        if not (np.isfinite(low).all() and np.isfinite(high).all() and np.all(low < high)):
            raise ValueError(f"domain must have finite ends, low below high; got {self.domain!r}")
        box = data.low.copy(), data.high.copy()
        box[0][columns], box[1][columns] = low, high
        return box

    def _sums(self, data: Data, plan: Plan) -> SplitSums:
        total: SplitSums | None = None
        with self._stages.steps(None, "blocks") as steps:
            for number, rows in enumerate(data.blocks()):
                with named(f"block {number}"):
                    found = plan.sums(rows)
                total = found if total is None else total + found
                steps.done(f"block {number}: {total.total.rows} rows so far")
        assert total is not None
        require_two_samples(total.total.rows)
        self._stages.done("sums")
        return total

    def _chosen(self, data: Data, seed: int) -> tuple[Plan, SplitSums, Choice | None]:
        """Leave to the data what was left to them: the kernel's parameters and γ."""
        self._forget("optimization_", "_n_tuned")
        if not isinstance(self.regularization, str):
            plan = self._plan(data, seed)
            return plan, self._sums(data, plan), None
        attempts = _Attempts(self, data, seed)
        if not self._optimizes():
            attempts(data.kernel)
        elif data.once and isinstance(self.optimize, dict):
            raise ValueError("optimize reads the blocks again for every kernel, and these come once")
        elif isinstance(self.optimize, dict):
            self._n_tuned = len(self.optimize)
            for values in product(*self.optimize.values()):
                attempts(clone(data.kernel).set_params(**dict(zip(self.optimize, values, strict=True))))
        else:
            begin, s = self._kernel_of_sample(data)
            value = attempts(begin, s)
            if not data.once and data.n_rows > len(data.sample.T):
                _scale_widths(begin, value, attempts)
        if self._optimizes():
            self.optimization_ = attempts.record
        return attempts.fit()

    def _kernel_of_sample(self, data: Data) -> tuple[kernels.Kernel, float]:
        """Return the kernel whose parameters the exact model chooses from the sample, and its γn."""
        rows = data.sample
        if not data.once and data.n_rows > len(rows.T):
            rows = rows.taken(slice(None, None, max(1, len(rows.T) // _ROWS_TO_BEGIN)))
        exact = GRLSRegressor(
            data.kernel, features=_Known(rows.T), regularization="reml", optimize=self.optimize
        )
        with muted():
            exact.fit(rows.points, rows.Y)
        self._n_tuned = len(getattr(exact.optimization_, "parameters", ()))
        self._stages.done("kernel")
        return exact.kernel_, float(np.max(exact.regularization_)) * len(rows.T)

    def _choice(
        self, plan: Plan, sums: SplitSums, start: float | None = None, bend: float = np.nan
    ) -> Choice | None:
        """Return γ that a criterion chooses, beginning near γΣw = `start`; None: it was given."""
        by = self.regularization
        if not isinstance(by, str):
            return None
        n_free = plan.sample.T.shape[1]
        held_out = None
        if sums.held_out is not None and sums.held_out.rows:
            held_out = System(plan.modes, sums.held_out, n_free)
        fitted = System(plan.modes, sums.fitted, n_free)
        if start is None and not fitted.is_direct and np.ndim(self.regularization_grid) == 0:
            start = _shift_of_sample(plan.kernel, plan.sample, "reml" if by == "reml" else "gcv")
            self._stages.done("kernel")
        if start is not None:
            start = max(start * fitted.weight / max(fitted.n_rows, 1), _ABOVE_LEAST * least_shift(fitted))
        choice = choose(
            by,
            fitted,
            held_out,
            self.regularization_grid,
            max_iter=self.max_iter,
            report=self._stages.report,
            start=start,
            bend=bend,
            expressed=plan.expressed,
        )
        self._stages.done("regularization")
        return choice

    def _tell_of_choice(self, plan: Plan, sums: SplitSums, choice: Choice | None) -> None:
        """Warn of weights that a criterion does not mean, and of a γ that it would rather have smaller."""
        if choice is None:
            return
        if choice.least is not None:
            warn(
                f"{self.regularization!r} asks for less regularization than {choice.least:.3g}, the "
                f"least that modes with a kernel error of {plan.modes.kernel_error:.2g} allow: a noise below "
                "what they leave out of the kernel cannot be told; lower tol, or give regularization",
                UserWarning,
            )


class _Known:
    """Features whose values at the rows are known."""

    def __init__(self, T: FloatArray) -> None:
        self._T = T

    def __call__(self, X: Any) -> FloatArray:
        return self._T


def _shift_of_sample(kernel: kernels.Kernel, rows: Rows, by: str) -> float | None:
    """Return γn that the exact model chooses from some rows; None where it cannot."""
    rows = rows.taken(slice(None, None, max(1, len(rows.T) // _ROWS_TO_BEGIN)))
    exact = GRLSRegressor(kernel, features=_Known(rows.T), regularization=by)
    try:
        with muted():
            exact.fit(rows.points, rows.Y)
    except (ValueError, NotPositiveDefiniteError):
        return None
    return float(np.max(exact.regularization_)) * len(rows.T)


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int | np.number | np.ndarray) and not isinstance(value, bool)


def _scaled(kernel: kernels.Kernel, factor: float) -> kernels.Kernel:
    """Return a kernel with all its widths scaled."""
    copy: kernels.Kernel = clone(kernel)
    widths = {name: value for name, value in copy.get_params().items() if name.split("__")[-1] == "sigma"}
    copy.set_params(**{name: np.multiply(value, factor)[()] for name, value in widths.items()})
    return copy


def _scale_widths(begin: kernels.Kernel, at_begin: float, attempts: _Attempts) -> None:
    """Scale all widths together while that is better, then once between the best three."""
    values = {0: at_begin, 1: attempts(_scaled(begin, _SCALES))}
    direction = 1 if values[1] < values[0] else -1
    place = 1 if direction == 1 else 0
    for _ in range(_FARTHEST):
        values[place + direction] = attempts(_scaled(begin, _SCALES ** (place + direction)))
        if values[place + direction] >= values[place]:
            break
        place += direction
    best = min(values, key=lambda place: values[place])
    if best - 1 in values and best + 1 in values and np.isfinite([values[best - 1], values[best + 1]]).all():
        below, middle, above = values[best - 1], values[best], values[best + 1]
        bend = below - 2 * middle + above
        if bend > 0:  # the vertex of the parabola through the three
            attempts(_scaled(begin, _SCALES ** (best + (below - above) / (2 * bend))))


def _same_crossing(modes: Modes, s: float, weight: float, other: Modes) -> float:
    """Return the shift of other modes for which rows determine waves up to the same frequency.

    Of functions on the box, whose waves are those of a period as long as it, rows determine those of weight
    above s/Σw. For rough kernels that frequency hardly depends on the width.
    """
    box = np.where(modes.high > modes.low, modes.high - modes.low, modes.period)
    denser = [float(np.prod(each.period / box)) for each in (modes, other)]
    one = denser[0] * np.sort(modes.weights)[::-1]
    two = denser[1] * np.sort(other.weights)[::-1]
    ratio = denser[1] / denser[0]
    # Half of the modes of both are the waves of a ball of frequencies, whose order is that of their weights.
    most = min(np.count_nonzero(one), np.count_nonzero(two) / ratio) / 2
    count = int(np.clip(np.searchsorted(-one, -s / weight), 1, max(most, 1)))
    place = int(np.clip(round(count * ratio), 1, len(two)))
    return s * float(np.clip(two[place - 1] / one[count - 1], 1e-4, 1e4))


class _Attempts:
    """Kernels that all rows have tried; of the best one the sums are kept."""

    def __init__(self, model: Choosing, data: Data, seed: int) -> None:
        self._model, self._data, self._seed = model, data, seed
        self._best: tuple[Plan, SplitSums, Choice] | None = None
        self._is_final = True  # the best plan is that of the model
        self.record: list[tuple[dict[str, Any], float, float]] = []

    def __call__(self, kernel: kernels.Kernel, start: float | None = None) -> float:
        """Return the criterion of a kernel at the γ that is best for it.

        Infinite where it has too many modes, unless it is the first one.
        """
        model, data, best = self._model, self._data, self._best
        try:
            plan = model._plan(data, self._seed, kernel)
            is_final = data.once or plan.modes.count < 2 * system.LOW_MODES
            if not is_final:
                plan = model._plan(data, self._seed, kernel, beyond=False)
        except ValueError:
            if best is None:
                raise
            return float("inf")
        sums = model._sums(data, plan)
        bend = np.nan
        if best is not None and not isinstance(model.optimize, dict):
            fitted, s = best[1].fitted, best[2].regularization * best[1].fitted.weight
            start = _same_crossing(best[0].modes, s, fitted.weight, plan.modes)
            start, bend = start * fitted.rows / fitted.weight, best[2].bend
        choice = model._choice(plan, sums, start, bend)
        assert choice is not None
        numbers = {name: value for name, value in kernel.get_params().items() if _is_number(value)}
        self.record.append((numbers, choice.regularization, choice.value))
        model._stages.report(f"{kernel!r}: {model.regularization} {choice.value:.6g}")
        if best is None or choice.value < best[2].value:
            self._best, self._is_final = (plan, sums, choice), is_final
        return float(choice.value)

    def fit(self) -> tuple[Plan, SplitSums, Choice]:
        """Return the best kernel's plan for the model, the sums of all rows with it, and γ."""
        assert self._best is not None
        plan, sums, choice = self._best
        if not self._is_final:
            self._best = None
            plan = self._model._plan(self._data, self._seed, plan.kernel)
            sums = self._model._sums(self._data, plan)
        self._model._tell_of_choice(plan, sums, choice)
        return plan, sums, choice
