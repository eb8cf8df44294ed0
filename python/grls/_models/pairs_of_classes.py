"""SVM-GB for all pairs of classes: what is solved, by OSQP where that is wanted, and what it reaches."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._solvers import bias_face, bias_program, osqp
from .._solvers.certificate import PairOfClasses, certify_all, feasible_coefficients
from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.rank import independent_columns
from .._solvers.results import Status, SvmSolution
from .._validation import FloatArray
from .definite import DefiniteProblem
from .feature_prior import SplitFeatures, is_as_good_as_free, penalised_problem, split

_OSQP_ITERATIONS = 100_000
_FEW_SAMPLES, _FEW_OF_A_PAIR = 1000, 300
_FEW_OF_ONE_PAIR = 250  # half a megabyte: more is given back to the system, and costs more than the kernel
_EPS = float(np.finfo(np.float64).eps)
_WORTH_TELLING = 1e-6  # a share of the objective that rounding may hide
_BIAS_SHARE = 1e-2  # of the gap allowed, which is not for the bias alone


def signs_of(labels: NDArray[np.intp], pair: NDArray[np.intp], n_classes: int) -> FloatArray:
    """Return the labels of a pair's samples as ±1: see `SVMGBClassifier.pairs_`."""
    return np.where(labels == pair[1 if n_classes == 2 else 0], 1.0, -1.0)


def votes_of(values: FloatArray, pairs: NDArray[np.intp], n_classes: int) -> FloatArray:
    """Return how many pairs name each class, (n, n_classes); values (n, n_pairs) of their functions."""
    first, second = (np.eye(n_classes)[each] for each in pairs.T)  # (n_pairs, n_classes)
    return np.asarray((values > 0) @ first + (values <= 0) @ second)


def scores_of(values: FloatArray, pairs: NDArray[np.intp], n_classes: int) -> FloatArray:
    """Return the votes plus the summed confidences, squeezed into less than half a vote."""
    first, second = (np.eye(n_classes)[each] for each in pairs.T)
    most = np.finfo(np.float64).max / n_classes  # of which the sums stay finite
    confidence = np.clip(values, -most, most) @ (first - second)
    return np.asarray(votes_of(values, pairs, n_classes) + confidence / (np.abs(confidence) + 1) / 3)


def winners(values: FloatArray, pairs: NDArray[np.intp], n_classes: int, *, break_ties: bool) -> Any:
    """Return the class that the functions (n, n_pairs) name, (n,)."""
    if n_classes == 2:
        return (values[:, 0] > 0).astype(np.intp)
    ballot = scores_of if break_ties else votes_of
    return ballot(values, pairs, n_classes).argmax(axis=1)


@dataclass(frozen=True)
class Posed:
    """SVM-GB as its solvers see it, and the way back from the coefficients that they find."""

    problem: KernelProblem
    parts: SplitFeatures | None  # free and penalised features, where the variance is finite
    definite: DefiniteProblem | None
    variance: float

    @property
    def has_own_kernel(self) -> bool:
        """Whether the kernel is the model's, to which neither features nor a definite part are added."""
        return self.definite is None and (self.parts is None or self.variance == 0)

    def feature_coefficients(self, beta: FloatArray, c: FloatArray) -> FloatArray:
        """Return the coefficients of all features, (l, n_pairs)."""
        if self.definite is not None:
            beta = self.definite.feature_coefficients(beta, c)
        return beta if self.parts is None else self.parts.coefficients(beta, c, self.variance)


def pose(
    problem: KernelProblem, variance: float, polynomials: FloatArray | None, *, conditional: bool
) -> Posed:
    """Give the features a variance, and a conditional kernel a definite matrix.

    `polynomials` (m, q): those that the kernel needs.
    """
    parts = definite = None
    finite = np.isfinite(variance) and not is_as_good_as_free(problem.kernel, problem.X, variance)
    if finite and problem.T.shape[1]:
        parts = split(problem.T, problem.weights, polynomials)
        problem = penalised_problem(problem.kernel, problem.X, parts, problem.weights, variance)
    if conditional:
        assert polynomials is not None
        definite = DefiniteProblem.of(problem, polynomials)
        problem = definite.problem
    return Posed(problem, parts, definite, variance)


def shared_matrix(
    problem: KernelProblem, labels: NDArray[np.intp], known: FloatArray | None = None
) -> KernelProblem:
    """Return the same problem with its kernel matrix, where that is small and all pairs of classes are.

    Then most of it is needed, by several pairs and by the certificate. `known`: the matrix, if it is there.
    """
    counts = np.bincount(labels)
    few = len(labels) <= _FEW_SAMPLES and np.sort(counts)[-2:].sum() <= _FEW_OF_A_PAIR
    if known is None and len(counts) == 2:  # one pair alone, which shares it with none
        few = len(labels) <= _FEW_OF_ONE_PAIR
    if problem.gram.formula is None or not few:
        return problem
    source = StoredGram(problem.gram.definite)
    matrix = problem.kernel_matrix() if known is None else known
    return KernelProblem(source, matrix, problem.T, problem.weights)


@dataclass(frozen=True)
class SamplesOfPairs:
    """The samples of all pairs of classes, one pair after the other."""

    rows: NDArray[np.intp]  # (n,): positions of the samples
    pair: NDArray[np.intp]  # (n,): the pair that each stands for
    y: FloatArray  # (n,): labels ±1
    starts: NDArray[np.intp]  # (n_pairs,): where the samples of a pair begin

    @classmethod
    def of(cls, labels: NDArray[np.intp], pairs: NDArray[np.intp], n_classes: int) -> SamplesOfPairs:
        """Return those of labels (m,); every class has samples."""
        counts = np.bincount(labels, minlength=n_classes)
        order, ends = np.argsort(labels, kind="stable"), counts.cumsum()
        rows = np.concatenate([order[ends[k] - counts[k] : ends[k]] for k in pairs.ravel()])
        lengths = counts[pairs]
        signs = np.broadcast_to([-1.0, 1.0] if n_classes == 2 else [1.0, -1.0], pairs.shape)
        of_pair = lengths.sum(axis=1)
        starts = of_pair.cumsum() - of_pair
        pair = np.repeat(np.arange(len(pairs)), of_pair)
        return cls(rows, pair, np.repeat(signs.ravel(), lengths.ravel()), starts)


@dataclass
class Task:
    """What is solved for all pairs of classes, whatever C."""

    kernel: kernels.Kernel  # as the model has it, without features that have a prior
    problem: KernelProblem
    labels: NDArray[np.intp]  # (m,): positions in the classes
    classes: Any
    pairs: NDArray[np.intp]  # (n_pairs, 2)
    solver: str
    by_osqp: bool
    samples: SamplesOfPairs = field(init=False)

    def __post_init__(self) -> None:
        self.samples = SamplesOfPairs.of(self.labels, self.pairs, len(self.classes))


def parts_of(task: Task, C: float) -> list[PairOfClasses]:
    """Return the samples of every pair."""
    out = []
    for pair in task.pairs:
        rows = np.flatnonzero((task.labels == pair[0]) | (task.labels == pair[1]))
        y = signs_of(task.labels[rows], pair, len(task.classes))
        weights = task.problem.weights_or_ones[rows]
        out.append(PairOfClasses(rows, y, task.problem.T[rows], C * weights))
    return out


def solve_by_osqp(model: Any, task: Task, C: float, tol: float) -> SvmSolution:
    """Solve every pair by OSQP."""
    problem, labels, pairs = task.problem, task.labels, task.pairs
    Phi, T = problem.kernel_matrix(), problem.T
    weights = problem.weights_or_ones
    c, beta = np.zeros((len(labels), len(pairs))), np.zeros((T.shape[1], len(pairs)))
    solved, independent, seconds = [], [], []
    limit = model.max_iter if model.max_iter > 0 else _OSQP_ITERATIONS
    for p, part in enumerate(parts_of(task, C)):
        rows, begin = part.rows, perf_counter()
        kept = independent_columns(np.sqrt(weights[rows])[:, None] * T[rows], problem.tolerance)
        found = osqp.solve(
            Phi[np.ix_(rows, rows)],
            T[rows][:, kept],
            part.y,
            part.bounds,
            formulation=model.formulation,
            tol=tol,
            max_iter=limit,
        )
        c[rows, p], beta[kept, p] = found.c, found.beta
        solved.append(found)
        independent.append(kept)
        seconds.append(perf_counter() - begin)
    return SvmSolution(
        c=c,
        image=Phi @ c,
        beta=beta,
        objective=np.array([found.objective for found in solved]),
        relative_gap=np.array([found.duality_gap for found in solved]),
        seconds=np.array(seconds),
        iterations=[found.n_iter for found in solved],
        status=[Status.converged if found.converged else Status.iteration_limit for found in solved],
        kept=independent,
    )


@dataclass
class Solved:
    """All pairs of classes, and what their coefficients reach."""

    c: FloatArray  # (m, n_pairs)
    beta: FloatArray  # (l, n_pairs)
    kept: list[Any]
    iterations: NDArray[np.intp]
    seconds: FloatArray
    converged: NDArray[np.bool_]  # as the solver says
    objective: FloatArray
    relative_gap: FloatArray
    rounding: FloatArray  # what of it is no gap that is known, but what rounding may hide
    bias_solver: NDArray[np.object_]  # who found β

    def improve(self, other: Solved) -> None:
        """Take over the pairs that another solution has a smaller gap in."""
        better = other.relative_gap < self.relative_gap
        for name in ("c", "beta"):
            getattr(self, name)[:, better] = getattr(other, name)[:, better]
        for name in ("converged", "objective", "relative_gap", "rounding", "bias_solver"):
            getattr(self, name)[better] = getattr(other, name)[better]
        self.iterations = self.iterations + other.iterations
        self.seconds = self.seconds + other.seconds


def certified(model: Any, task: Task, C: float, solution: SvmSolution) -> Solved:
    """Return a solution with the objective and the gap of its coefficients, which are the model's."""
    problem, samples = task.problem, task.samples
    c, beta = np.array(solution.c, order="C"), np.array(solution.beta)
    at = samples.rows, samples.pair
    bounds = C * problem.weights_or_ones[samples.rows]
    own = c[at]
    inside = np.empty_like(own)
    for kept, (begin, end) in zip(solution.kept, pairwise([*samples.starts, len(own)]), strict=True):
        part = slice(begin, end)
        T = problem.T[samples.rows[part]][:, kept]
        inside[part] = feasible_coefficients(samples.y[part], T, own[part], bounds[part])
    image = np.asarray(solution.image)
    values = feasible = image[at]
    if not np.array_equal(inside, own):
        everywhere = np.zeros_like(c)
        everywhere[at] = inside
        feasible = problem.kernel_times(everywhere)[at]
    bias_solver = ["multiplier"] * len(task.pairs)
    if model.bias == "lp":
        bias_solver = _set_bias(model, parts_of(task, C), image, solution.kept, beta)
    else:
        beta = central_bias(task, C, solution, image)
    objective, relative_gap = certify_all(
        samples.starts, samples.y, bounds, own, (problem.T @ beta)[at], values, inside, feasible
    )
    rounding = _rounding(task, bounds, inside, objective)
    return Solved(
        c,
        beta,
        list(solution.kept),
        np.array(solution.iterations, dtype=np.intp),
        np.array(solution.seconds),
        np.array(solution.converged, dtype=bool),
        objective,
        relative_gap + rounding,
        rounding,
        np.array(bias_solver, dtype=object),
    )


def _rounding(task: Task, bounds: FloatArray, c: FloatArray, objective: FloatArray) -> FloatArray:
    """Return what rounding may hide of the relative gaps (n_pairs,), where that is worth telling.

    The terms of Φc are larger than their sum where kernel values are: Σ_j |Φ_ij c_j| is at most √Φ_ii Σ_j
    √Φ_jj |c_j| for a positive definite kernel, and each loss is off by a rounding error of that. c (n,) and
    the bounds are those of the samples of all pairs.
    """
    samples = task.samples
    sizes = np.sqrt(np.abs(task.problem.kernel_diagonal()))[samples.rows]
    sums = np.add.reduceat([bounds * sizes, sizes * np.abs(c), bounds], samples.starts, axis=1)
    share = _EPS * sums[0] * sums[1] / np.maximum(objective, 1e-6 * sums[2])
    return np.where(share > _WORTH_TELLING, share, 0.0)


def central_bias(task: Task, C: float, solution: SvmSolution, image: FloatArray | None = None) -> FloatArray:
    """Return β (l, n_pairs), where several are as good the one that `bias_face` takes; image = Φc.

    Not for a constant alone, for which the core does the same, nor where the features alone separate the
    classes, for which it has the least norm; nor by OSQP, which leaves coefficients near their bounds.
    """
    problem, samples, beta = task.problem, task.samples, np.array(solution.beta)
    constant = problem.T.shape[1] == 1 and np.ptp(problem.T) == 0
    if task.by_osqp or constant or problem.T.shape[1] == 0:
        return beta
    c = np.asarray(solution.c)
    bounds = C * problem.weights_or_ones[samples.rows]
    a = np.clip(samples.y * c[samples.rows, samples.pair], 0, bounds)
    size, scale = bias_face.lengths(problem.T), None
    for p, (begin, end) in enumerate(pairwise([*samples.starts, len(a)])):
        kept, own = np.asarray(solution.kept[p], dtype=np.intp), slice(begin, end)
        if len(kept) == 0 or not a[own].any():
            continue
        rows, free = samples.rows[own], ~np.logical_or(*bias_face.at_bounds(a[own], bounds[own]))
        if bias_face.determined(problem.T[np.ix_(rows[free], kept)], size[kept]):
            continue
        if image is None:
            image = problem.kernel_times(c)
        if scale is None:
            scale = bias_face.units(problem.T, problem.weights_or_ones)
        T, y = problem.T[np.ix_(rows, kept)], samples.y[own]
        beta[kept, p] = bias_face.central(
            image[rows, p], T, y, a[own], bounds[own], beta[kept, p], scale[kept]
        )
    return beta


def _set_bias(
    model: Any,
    parts: list[PairOfClasses],
    image: FloatArray,
    kept: Any,
    beta: FloatArray,
) -> list[str]:
    """Put the solutions of the linear program (25) in place of the multipliers; image (m, n_pairs) = Φc.

    Returns who found them, for each pair.
    """
    solvers = []
    for p, part in enumerate(parts):
        found = bias_program.solve(
            image[part.rows, p],
            part.T[:, kept[p]],
            part.y,
            part.bounds,
            _BIAS_SHARE * model.tol,
            model.max_iter if model.max_iter > 0 else _OSQP_ITERATIONS,
        )
        beta[kept[p], p] = found.beta
        solvers.append(found.solver)
    return solvers
