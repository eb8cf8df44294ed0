"""The engine of `GRRegressor` for piecewise quadratic losses: γ by folds, the noise's scale, the solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._selection.by_folds import FoldSelection, Walk, gammas_to_try
from .._selection.folds import Fold, splits
from .._selection.starts import drawn_rows
from .._solvers import joint_quantiles, memory, osqp_program
from .._solvers.dual_program import DualProgram
from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.results import PiecewiseSolution, Status
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import IndefiniteKernelWarning, NotPositiveDefiniteError
from ..kernels.polynomials import needed_polynomials
from .definite import DefiniteProblem, warn_if_indefinite
from .feature_prior import SplitFeatures, is_as_good_as_free, penalised_problem, split
from .loss_fit import GammaPath, LossFit
from .losses import PIECEWISE, Settings, Terms
from .reweighted import HuberChoice, Start
from .robust_scale import EFFICIENT, FAR, robust_scale, spread_of
from .samples import Training, require_rows_alone

_NO_LIMIT = 10**6  # rounds; what max_iter=-1 means to the core
_DOUBLE_PRECISION = 5e-6  # a tolerance below that of single precision work
_ROWS_OF_CHOICE = 600  # on which γ is chosen, unless features are many
_GAP_OF_FOLDS = 1e-3  # relative, of the models that leave out rows
_FEW_ROWS, _GAP_OF_FEW = 100, 1e-4  # where more digits cost nothing: then rounding alone moves the choice
_GAP_OF_JOINT = 1e-6  # relative, of levels that are solved for at once: a few steps more
_ROUNDING = 1e-10  # of the range of y: levels that cross by no more do not
_LOST = 0.1  # relative gap of such models that rounding errors have made
_SCALES, _SETTLED = 12, 0.01  # rounds of the noise's scale; where they end
_ROUNDS_OF_CHOICE, _CLOSE = 4, 0.1  # of γ, that scale and the outliers in turns; of log scale, where they end
_LEFT_OUT_AT = 50  # values of γ at least, where leaving out rows has a closed form
_STIFFER = (1.0, 50.0, 2500.0)  # times γ by folds, where reweighted least squares start
_LAST_LOOKS = 4  # at the outliers, with everything else chosen


@dataclass
class PosedProblem:
    """The problem as the solver sees it, and the way back from it to the model's features."""

    problem: KernelProblem
    definite: DefiniteProblem | None
    parts: SplitFeatures | None
    variance: float
    solver: str
    choice: _RowsOfChoice | None = None  # made when it is needed

    def coefficients(self, beta: FloatArray, c: FloatArray) -> FloatArray:
        """Return those of the features, (l, k)."""
        if self.definite is not None:
            beta = self.definite.feature_coefficients(beta, c)
        return beta if self.parts is None else self.parts.coefficients(beta, c, self.variance)


def fit_piecewise(model: Any, training: Training) -> LossFit:
    """Fit all outputs and levels of a `GRRegressor` whose loss is in the table."""
    if joins_levels(model):
        _require_room_for_levels(model, training)
    made = problem_of(model, training, f"a {model.loss} regression")
    outputs = [_Output(model, training, made, y) for y in training.samples.targets.T]
    for output in outputs:
        output.fit()
    _warn_unless_converged(model, outputs)
    join = np.hstack if len(outputs) > 1 else (lambda arrays: arrays[0])
    c = join([output.c for output in outputs])
    beta = join([output.beta for output in outputs])
    more: dict[str, Any] = {}
    if model.loss == "huber":
        more["delta_"] = _one_or_all([output.settings.delta for output in outputs])
        more["scale_"] = _one_or_all([output.scale for output in outputs])
        outliers = np.column_stack([output.is_outlier for output in outputs])
        more["outliers_"] = outliers[:, 0] if len(outputs) == 1 else outliers
    return LossFit(
        c,
        made.coefficients(beta, c),
        made.parts.kept if made.parts is not None else outputs[0].kept,
        np.array([output.gamma for output in outputs]),
        np.concatenate([output.objective for output in outputs]),
        np.concatenate([output.gap for output in outputs]),
        np.concatenate([output.iterations for output in outputs]),
        [output.path for output in outputs if output.path is not None] or None,
        more,
    )


def joins_levels(model: Any) -> bool:
    """Whether levels are to be solved for at once, where they cross."""
    return isinstance(model.non_crossing, str) and np.size(model.quantiles) > 1


def _one_or_all(values: list[float]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def problem_of(model: Any, training: Training, what: str) -> PosedProblem:
    """Return the problem with features that have a prior in the kernel, and a definite kernel matrix.

    MemoryError, in which the model is called `what`, where there is no room for it.
    """
    kernel, samples = training.kernel, training.samples
    assert kernel is not None
    order = kernel.order or 0
    conditional = order > 1 or (order == 1 and model.solver != "native")
    _require_memory(model, training, conditional, what)
    problem, parts = KernelProblem(kernel, samples.X, training.T, samples.weights), None
    if model.solver == "native":  # which does not find out by itself
        warn_if_indefinite(kernel, problem)
    tau = float(model.feature_variance)
    if np.isfinite(tau) and training.T.shape[1] and not is_as_good_as_free(kernel, samples.X, tau):
        parts = split(training.T, samples.weights, needed_polynomials(kernel, samples.X))
        problem = penalised_problem(kernel, samples.X, parts, samples.weights, tau)
    definite = None
    if conditional:
        polynomials = needed_polynomials(kernel, samples.X)
        assert polynomials is not None
        definite = DefiniteProblem.of(problem, polynomials)
        problem = definite.problem
    return PosedProblem(problem, definite, parts, tau, model.solver)


def _require_room_for_levels(model: Any, training: Training) -> None:
    """Refuse more samples and levels than are solved for at once."""
    m, n_levels = training.n_samples, np.size(model.quantiles)
    if m * n_levels > joint_quantiles.LARGEST_ORDER:
        raise ValueError(
            f'non_crossing="joint" solves for {m} samples × {n_levels} levels at once, and is for '
            f"{joint_quantiles.LARGEST_ORDER} in all at most: give fewer of them, or non_crossing=True"
        )
    memory.require(
        joint_quantiles.joint_bytes(m, n_levels), f"{n_levels} levels at once", "use non_crossing=True"
    )


def _require_memory(model: Any, training: Training, conditional: bool, what: str) -> None:
    m = training.n_samples
    assert training.kernel is not None
    stored = (conditional or training.kernel.is_function) + conditional
    if model.solver == "osqp":
        need, way_out = 8.0 * m**2 + 4 * memory.osqp_bytes(m), 'use solver="native"'
    else:
        need = memory.svm_bytes(m, 1, model.solver, float(model.cache_size) * 2**20)
        way_out = 'use solver="native"' if model.solver == "ipm" else "use a smaller cache_size"
    memory.require(8.0 * m**2 * stored + need, f"{what} of {m} samples", way_out)


class _Output:
    """One column of the targets, at all levels."""

    def __init__(self, model: Any, training: Training, made: PosedProblem, y: FloatArray) -> None:
        self.model, self.training, self.made, self.y = model, training, made, y
        self.levels = np.atleast_1d(np.asarray(model.quantiles, dtype=np.float64)).tolist()
        if model.loss not in ("quantile", "expectile"):
            self.levels = [0.5]
        self.weights = made.problem.weights_or_ones
        self.scale = np.nan
        delta = np.inf if isinstance(model.delta, str) else float(model.delta)
        self.settings = Settings(epsilon=float(model.epsilon), delta=delta)
        self.path: GammaPath | None = None
        self.is_outlier = np.zeros(len(y), dtype=bool)

    @property
    def counted(self) -> FloatArray:
        """The weights (m,) in the mean loss: none for outliers."""
        return np.where(self.is_outlier, 0.0, self.weights)

    @property
    def estimates_scale(self) -> bool:
        """Whether δ follows the noise."""
        return bool(self.model.loss == "huber" and isinstance(self.model.delta, str))

    def terms(self) -> list[Terms]:
        """Return the rows of the table, one for each level."""
        row = PIECEWISE[self.model.loss]
        return [row(Settings(level, self.settings.epsilon, self.settings.delta)) for level in self.levels]

    def set_scale(self, scale: float) -> None:
        """Take over a scale of the noise."""
        self.scale = scale
        self.settings = Settings(epsilon=self.settings.epsilon, delta=EFFICIENT * scale)

    def fit(self) -> None:
        """Choose what is left to the data, and solve."""
        if self.estimates_scale:
            self.set_scale(spread_of(self.y, self.training.T, self.weights))
        if isinstance(self.model.regularization, str):
            found = self._choose()
        else:
            self.gamma = float(self.model.regularization)
            found = self._solve(None)
            if self.estimates_scale:
                found = self._settle(found)
        if self.model.loss == "huber" and not self.estimates_scale:
            self.scale = robust_scale(self.y - found.f[:, 0], self.weights)
        self.c, self.beta, self.kept = np.array(found.c), np.array(found.beta), list(found.kept)
        self.iterations = np.array(found.iterations, dtype=np.intp)
        self._certify()
        reached = np.array([status == Status.converged for status in found.status])
        if (reached & (self.gap > self.model.tol)).any() and self.made.solver in ("auto", "native"):
            self._improve()
        if joins_levels(self.model):
            self._keep_apart()

    def _improve(self) -> None:
        """Once more from here: the gap was reached by the numbers a solver went by, and not by the model."""
        before = self.c, self.beta, self.objective, self.gap
        found = self._solve(self.c, min(0.1 * float(self.model.tol), _DOUBLE_PRECISION))
        self.c, self.beta = np.array(found.c), np.array(found.beta)
        self.iterations = self.iterations + np.array(found.iterations, dtype=np.intp)
        self._certify()
        worse = self.gap > before[3]
        for new, old in zip((self.c, self.beta, self.objective, self.gap), before, strict=True):
            new[..., worse] = old[..., worse]

    def _keep_apart(self) -> None:
        """Where levels cross at some sample, solve for all of them at once, so that they do not."""
        problem, order = self.made.problem, np.argsort(self.levels, kind="stable")
        f = problem.kernel_times(self.c) + problem.T @ self.beta
        if np.diff(f[:, order], axis=1).min() >= -_ROUNDING * np.ptp(self.y):
            return  # the optimum without the constraints is that with them
        w = self.counted
        programs = [terms.program(self.y, w / (2 * self.gamma * w.sum())) for terms in self.terms()]
        try:
            found = joint_quantiles.solve(
                problem,
                [programs[k] for k in order],
                min(float(self.model.tol), _GAP_OF_JOINT),
                self.model.max_iter,
            )
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"the matrix of the kernel {self.model.kernel!r} is not positive definite, or overflows: "
                "choose another kernel, or non_crossing=True"
            ) from error
        self.c[:, order], self.beta[:, order], self.kept = found.c, found.beta, found.kept
        self.iterations = self.iterations + found.iterations
        self._certify()
        self.gap[:] = found.relative_gap

    def _settle(self, found: PiecewiseSolution) -> PiecewiseSolution:
        """Refit until scale and outliers of the residuals are those that the fit was made with."""
        for _ in range(_SCALES):
            scale = robust_scale(self.y - found.f[:, 0], self.weights)
            settled = abs(scale - self.scale) <= _SETTLED * self.scale
            if not scale > 0:
                break
            if not settled:
                self.set_scale(scale)
            if not self._tell_outliers(found) and settled:
                break
            found = self._solve(np.array(found.c))
        return found

    def _tell_outliers(self, found: PiecewiseSolution) -> bool:
        """Look which rows are outliers of this fit, and return whether they are others than before."""
        before = self.is_outlier
        self.is_outlier = np.abs(self.y - found.f[:, 0]) > FAR * self.scale
        return not np.array_equal(before, self.is_outlier)

    def _solve(self, start: FloatArray | None, tol: float | None = None) -> PiecewiseSolution:
        w = self.counted
        programs = [terms.program(self.y, w / (2 * self.gamma * w.sum())) for terms in self.terms()]
        return solve(self.model, self.made, self.made.problem, programs, start, tol or float(self.model.tol))

    def _certify(self) -> None:
        """Take objective and gap from the coefficients themselves, and nothing that a solver says."""
        problem, w = self.made.problem, self.counted
        C = w / (2 * self.gamma * w.sum())
        image = problem.kernel_times(self.c)
        self.objective, self.gap = np.empty(len(self.levels)), np.empty(len(self.levels))
        for k, terms in enumerate(self.terms()):
            program = terms.program(self.y, C)
            parts = self.c[:, k], self.beta[:, k], image[:, k], problem.T
            # ½cᵀΦc + C Σ V is the objective γcᵀΦc + the mean of V times Σw·C.
            self.objective[k] = 2 * self.gamma * program.objective(*parts)
            self.gap[k] = program.relative_gap(*parts, problem.times)

    def _choose(self) -> PiecewiseSolution:
        """Choose γ on some of the rows where they are many; where δ follows the noise, in turns with that."""
        model, made = self.model, self.made
        if made.choice is None:
            made.choice = _rows_of_choice(model, self.training, made.problem)
        part = made.choice
        search = _FoldModels(self, part, self.y[part.rows])
        # What stays the same with more rows is γΣw.
        to_part = float(self.weights.sum() / search.weights.sum())
        gammas, least = gammas_to_try(model.regularization_grid)
        unit = to_part if least is None else search.unit()

        def by_folds() -> FoldSelection:
            found = search.choose(gammas * unit, None if least is None else least * unit)
            self.gamma = found.chosen / to_part
            self.path = GammaPath(found.path / to_part, found.criterion, self._of_all(found.predictions))
            model._stages.done("regularization")
            return found

        found = by_folds()
        if not self.estimates_scale:
            return self._solve(None)
        if model.regularization == "auto" and isinstance(model.cv, int | np.integer):
            chosen = self._reweighted(search.starts(found.chosen), part, to_part)
            if chosen is not None:
                return chosen
        return self._in_turns(found, search, by_folds)

    def _of_all(self, predictions: FloatArray) -> FloatArray:
        """Return predictions of the rows of the choice beside all others, which have none."""
        assert self.made.choice is not None
        out = np.full((len(self.y), len(self.levels)), np.nan)
        out[self.made.choice.rows] = predictions
        return out

    def _take_scale(self, predictions: FloatArray, search: _FoldModels) -> bool:
        """Take the scale of rows left out, unless it is close to the last one; return whether it was."""
        errors = search.y - predictions
        known = np.isfinite(errors)
        scale = robust_scale(errors[known], search.weights[known])
        close = not scale > 0 or abs(np.log(scale / self.scale)) < _CLOSE
        if not close:
            self.set_scale(scale)
        return bool(close)

    def _in_turns(
        self, found: FoldSelection, search: _FoldModels, by_folds: Callable[[], FoldSelection]
    ) -> PiecewiseSolution:
        """Let γ by folds, scale and outliers take turns until none changes."""
        solution: PiecewiseSolution | None = None
        for turn in range(_ROUNDS_OF_CHOICE):
            if turn:
                found = by_folds()
            close = self._take_scale(found.predictions[:, 0], search)
            solution = self._solve(None if solution is None else np.array(solution.c))
            if not self._tell_outliers(solution) and close:
                return solution
        assert solution is not None
        return self._solve(np.array(solution.c))

    def _reweighted(
        self, starts: list[Start], part: _RowsOfChoice, to_part: float
    ) -> PiecewiseSolution | None:
        """Choose γ, scale and outliers by least squares with the weights of Huber's loss.

        None where that cannot be; then nothing is changed.
        """
        model, rows = self.model, part.rows
        grid, shifts = model.regularization_grid, np.array([])
        total = float(part.problem.weights_or_ones.sum())
        given = np.ndim(grid) > 0
        if given:
            shifts = gammas_to_try(grid)[0][::-1] * to_part * total
        tried = shifts if given else max(int(grid), _LEFT_OUT_AT)
        found = HuberChoice(part.problem, self.y[rows], tried).follow(starts)
        if found is None:
            return None
        c = np.zeros((len(self.y), 1))
        c[rows, 0] = found.c
        self.set_scale(found.scale)
        f = self.made.problem.kernel_times(c)[:, 0] + self.made.problem.T @ found.beta
        self.is_outlier = np.abs(self.y - f) > FAR * self.scale
        self.gamma = found.shift / total / to_part
        path = gammas_to_try(grid)[0][::-1] if given else found.shifts / total / to_part
        self.path = GammaPath(path, found.criterion, self._of_all(found.left_out[:, None]))
        model._stages.done("regularization")
        solution = self._solve(np.where(self.is_outlier[:, None], 0.0, c))
        for _ in range(_LAST_LOOKS):
            if not self._tell_outliers(solution):
                break
            solution = self._solve(np.array(solution.c))
        return solution


@dataclass
class _RowsOfChoice:
    """The rows that choose γ, with their kernel matrix."""

    rows: Any
    problem: KernelProblem
    folds: list[Fold]
    size: float  # of the kernel, beside the features


def _rows_of_choice(model: Any, training: Training, problem: KernelProblem) -> _RowsOfChoice:
    """Return rows to choose γ by: all, or some that are drawn."""
    require_rows_alone(training.features, "a fold")
    samples = training.samples
    assert training.kernel is not None
    pairwise, rows = training.kernel.pairwise, None
    if not pairwise and isinstance(model.cv, int | np.integer):
        rows = drawn_rows(samples.X, max(_ROWS_OF_CHOICE, 10 * problem.T.shape[1]))
    everything = np.arange(training.n_samples) if rows is None else rows
    memory.require(
        16.0 * len(everything) ** 2,
        f"choosing the regularization by folds of {len(everything)} samples",
        "give regularization a number, or cv a number of folds",
    )
    part = problem.take(everything, problem.weights_or_ones[everything])
    part = KernelProblem(StoredGram(), np.ascontiguousarray(part.kernel_matrix()), part.T, part.weights)
    X = samples.X if rows is None else samples.X[rows]
    y = samples.targets[everything, 0]
    folds = splits(training.kernel, X, y, model.cv, samples.rows)
    return _RowsOfChoice(everything, part, folds, _size(part))


class _FoldModels:
    """The models that leave out a fold each, with warm starts from the last γ."""

    def __init__(self, output: _Output, part: _RowsOfChoice, y: FloatArray) -> None:
        self.output, self.y = output, y
        self.problem, self.folds, self.size = part.problem, part.folds, part.size
        self.weights, self.rows = part.problem.weights_or_ones, part.rows
        self.start: FloatArray | None = None
        self.last = np.nan
        self.fits: dict[float, Start] = {}  # of each γ: what the models of all folds say in the mean

    @property
    def counted(self) -> FloatArray:
        """The weights (m,) in the mean loss: none for outliers."""
        return np.where(self.output.is_outlier[self.rows], 0.0, self.weights)

    def unit(self) -> float:
        """Return the unit of γ: the kernel's size, of losses that grow linearly over that of y."""
        if not self.output.terms()[0].is_linear:
            return self.size
        return self.size / (2 * spread_of(self.y, self.problem.T, self.weights))

    def choose(self, gammas: FloatArray, least: float | None) -> FoldSelection:
        """Return the γ whose models predict the rows left out best."""
        terms = self.output.terms()

        # Where the scale of the noise is known, an outlier has no say in the choice.
        most = FAR * self.output.scale if self.output.estimates_scale else np.inf

        def loss(predictions: FloatArray) -> FloatArray:
            residuals = np.clip(self.y[:, None] - predictions, -most, most)
            each = [row.loss(r) for row, r in zip(terms, residuals.T, strict=True)]
            return np.asarray(np.mean(each, axis=0))

        self.start = None
        return Walk(self.left_out, loss, self.counted, self.output.model._stages).follow(gammas, least)

    def left_out(self, gamma: float) -> FloatArray | None:
        """Return the predictions (m, levels) of each row by the model without it; None: not known."""
        programs = []
        for fold in self.folds:
            weights = np.where(fold.trains, self.counted, 0.0)
            if not weights.any():  # all of them outliers
                weights = np.where(fold.trains, self.weights, 0.0)
            C = weights / (2 * gamma * weights.sum())
            programs += [terms.program(self.y, C) for terms in self.output.terms()]
        start = None if self.start is None else self.start * (self.last / gamma)
        made, gap = self.output.made, _GAP_OF_FEW if len(self.y) <= _FEW_ROWS else _GAP_OF_FOLDS
        found = solve(self.output.model, made, self.problem, programs, start, gap, exact=False)
        if start is not None and np.max(found.relative_gap) > _LOST:
            return None
        self.start, self.last = np.array(found.c), gamma
        n_levels = len(self.output.levels)
        predictions = np.full((len(self.y), n_levels), np.nan)
        for k, fold in enumerate(self.folds):
            out = fold.left_out
            predictions[out] = found.f[out, k * n_levels : (k + 1) * n_levels]
        if self.output.estimates_scale:
            errors = self.y - predictions[:, 0]
            known = np.isfinite(errors)
            scale = robust_scale(errors[known], self.weights[known])
            self.fits[gamma] = Start(np.asarray(found.f.mean(axis=1)), scale)
        return predictions

    def starts(self, gamma: float) -> list[Start]:
        """Return the models of γ and of larger ones: what is stiff does not bend to a few outliers."""
        tried = np.array(sorted(self.fits))
        wanted = gamma * np.array(_STIFFER)
        nearest = [tried[np.argmin(np.abs(np.log(tried / each)))] for each in wanted]
        return [self.fits[each] for each in dict.fromkeys(nearest) if self.fits[each].scale > 0]


def solve(
    model: Any,
    made: PosedProblem,
    problem: KernelProblem,
    programs: list[DualProgram],
    start: FloatArray | None,
    tol: float,
    *,
    exact: bool = True,
) -> PiecewiseSolution:
    """Return the solution of all programs; of "auto" by what works, which is then kept to."""
    limit = model.max_iter if model.max_iter >= 0 else _NO_LIMIT
    if made.solver == "osqp" and exact:
        return osqp_program.solve_all(problem, programs, tol=tol, max_iter=model.max_iter)
    chained = start is None and exact and len(programs) > 1
    try:
        return problem.piecewise(
            programs,
            solver="auto" if made.solver == "osqp" else made.solver,
            tol=tol,
            max_iter=limit,
            cache_bytes=float(model.cache_size) * 2**20,
            start=start,
            chained=chained,
        )
    except NotPositiveDefiniteError as error:
        if made.solver == "auto":
            made.solver = "native"
            found = solve(model, made, problem, programs, start, tol, exact=exact)
            warn(
                f"the matrix of the kernel {model.kernel!r} is not positive definite, so that the problem is "
                'not convex: solver="native" took over, and what it found is stationary but need not be the '
                "best",
                IndefiniteKernelWarning,
            )
            return found
        less = "" if made.solver == "native" else ', or solver="native", which asks less of it'
        raise NotPositiveDefiniteError(
            f"the matrix of the kernel {model.kernel!r} is not positive definite, or overflows: choose "
            f"another kernel{less}"
        ) from error


def _size(problem: KernelProblem) -> float:
    """Return the mean of the kernel's variances at the rows, beside the features."""
    Phi, w = problem.kernel_matrix(), problem.weights_or_ones
    roots = np.sqrt(w)[:, None]
    diagonal = np.diagonal(Phi)
    trace = float(w @ diagonal)
    if problem.T.shape[1]:
        U, sizes, _ = np.linalg.svd(roots * problem.T, full_matrices=False)
        Q = roots * U[:, sizes > 1e-10 * sizes[0]]
        trace -= float(np.sum(Q * (Phi @ Q)))
    size = float(w @ np.abs(diagonal))
    return trace / float(w.sum()) if trace > 1e-10 * size else max(size / float(w.sum()), 1e-300)


def _warn_unless_converged(model: Any, outputs: list[_Output]) -> None:
    gaps = np.concatenate([output.gap for output in outputs])
    if (gaps > model.tol).any():
        worst = float(gaps.max())
        steps = max(int(output.iterations.max()) for output in outputs)
        warn(
            f"the {model.loss} regression did not reach tol={model.tol:g}: it is left with a relative "
            f"duality gap of {worst:.2g} after {steps} iterations; raise max_iter or tol, or use "
            'solver="ipm"',
            ConvergenceWarning,
        )
