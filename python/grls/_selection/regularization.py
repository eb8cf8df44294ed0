"""The choice of γ and of the features' variance in closed form: leave-one-out, GCV, restricted likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brent

from .._solvers import memory
from .._solvers.groups import Labels
from .._solvers.results import Path, ReducedMatrix
from .._validation import FloatArray, integer
from .._warnings import warn
from ..exceptions import NotPositiveDefiniteError
from .merged import Merged, Selectable, merge
from .refitted import refitted
from .variances import ESTIMATED, GivenVariances

CRITERIA = ("loo", "gcv", "reml")
LEAVE_OUT = ("loo", "logo")  # those that predict rows left out, one by one or a group at a time

# Loss of predictions of rows left out (m, k): one number, or one per output.
Loss = Callable[[FloatArray], FloatArray]

# A shift of so many times the rounding errors of the matrix, which are of the size of its trace, leaves a
# solution that meets its equations to some 1e-5 of the targets. A grid that was not given has none below it.
ACCURATE = 2.5e4

# Weights count rows that differ at one point: a mean outside these bounds is more likely a scale of another
# meaning.
_USUAL_WEIGHTS = (0.1, 10.0)

_FEW_COPIES = 0.05  # share of rows that may repeat others without a word


@dataclass
class Selection:
    """The whole curve, and the choice."""

    path: FloatArray  # (g,) γ
    criterion: FloatArray  # (g,) or (g, k): smaller is better, at the best feature variance of each γ
    chosen: FloatArray  # () or (k,): γ
    feature_variance: float
    left_out: FloatArray | None  # (m, k): predictions of rows left out at the choice, by "loo" and "logo"
    copies: int  # rows that say what another at their point says
    mean_count: float  # of what a row counts for at points whose rows differ


def shifts_to_try(specification: Any, n_samples: float, total_weight: float) -> tuple[FloatArray, bool]:
    """Return the shifts γΣw to try, and whether they are relative to the size of the spectrum."""
    if np.ndim(specification) == 0:
        count = integer(specification, "regularization_grid", minimum=2)
        return np.geomspace(1e-9, max(float(n_samples), 10.0), count), True
    values = np.sort(np.asarray(specification, dtype=np.float64).ravel())
    if values.size == 0 or not np.all(np.isfinite(values)) or values[0] <= 0:
        raise ValueError("regularization_grid must hold positive, finite numbers")
    return values * total_weight, False


def _feature_variances(penalised: Sequence[int] | None, unit: float) -> list[float]:
    """Return the variances of the penalised features' coefficients to try: from none to unpenalised.

    The columns have variance one, so that a coefficient is of the size of what it says.
    """
    return [np.inf] if not penalised else [np.inf, 0.0, *unit * np.geomspace(1e-4, 1e4, 13)]


def largest_of_the_best(values: FloatArray, errors: FloatArray) -> int:
    """Return where the criterion is smallest: of all γ that may be it, for all that is known, the largest."""
    return int(np.flatnonzero(values <= (values + errors).min())[-1])


class _Point:
    """One γ of the path at one variance of the penalised features: the criteria of all rows.

    `path` holds the numbers of the merged problem in the scale of its weighted points, y√W with W the weight
    of all rows of a point; there s B = I − A, with A the matrix that takes y to the fit.
    """

    def __init__(self, merged: Merged[Any], path: Path, g: int, t: float) -> None:
        self._merged, self._path, self._g = merged, path, g
        self._shift = np.float64(path.shifts[g])
        self._prior = None if np.isinf(t) else merged.prior(path, g, t)

    def _coefficients(self) -> tuple[FloatArray, FloatArray]:
        """Return c (d, k) and B_ii (d,)."""
        c, diagonal = self._path.c[self._g], self._path.diagonal[self._g]
        if self._prior is not None:
            D, inverse, r = self._prior
            DH = D @ inverse
            c = c + DH @ r
            diagonal = diagonal + np.einsum("ij,ij->i", DH, D)
        return c, diagonal

    def residuals(self) -> FloatArray:
        """Leave-one-out residuals (n, k): of an observation that counts for several one is left out."""
        c, diagonal = self._coefficients()
        return self._merged.left_out_residuals(c, diagonal, self._shift, self._merged.deviations)[0]

    def group_residuals(self, reduced: ReducedMatrix) -> FloatArray:
        """Residuals (n, k) of the observations of each group by the model without the group."""
        merged = self._merged
        assert merged.groups is not None
        c, extra = self._path.c[self._g], None
        if self._prior is not None:
            D, inverse, r = self._prior
            c, extra = c + D @ inverse @ r, D @ np.linalg.cholesky(inverse)
        ordered, _ = reduced.leave_out(float(self._shift), merged.groups, c, extra)
        at_points = np.empty_like(c)
        at_points[merged.groups.rows] = ordered
        return np.asarray(
            merged.deviations + (at_points / np.sqrt(merged.point_weights)[:, None])[merged.place]
        )

    def gcv(self) -> FloatArray:
        """Generalised cross-validation, one number per output."""
        n_rows, s = self._merged.n_rows, self._shift
        if self._prior is None:
            norm, trace = self._path.squared_norm[self._g], self._path.trace[self._g]
        else:
            c, diagonal = self._coefficients()
            norm, trace = (c**2).sum(axis=0), diagonal.sum()
        free = trace + self._merged.n_repeats / s
        # Weights may count fewer rows than there are points, and so fewer than the fit has parameters.
        return np.asarray(
            n_rows * (norm + self._merged.within / s**2) / free**2 if free > 0 else np.full(len(norm), np.inf)
        )

    def reml(self, n_features: int, variances: GivenVariances) -> FloatArray:
        """Minus twice the restricted log-likelihood, per output."""
        merged, s = self._merged, self._shift
        log_determinant = self._path.log_determinant[self._g] + merged.n_repeats * np.log(s)
        quadratic = self._path.quadratic[self._g] + merged.within / s
        n = merged.n_rows - n_features
        return np.asarray(log_determinant + variances.log_variance(quadratic, n, float(s)))


def select(
    problem: Selectable,
    targets: FloatArray,
    criterion: str,
    specification: Any,
    loss: Loss,
    *,
    per_output: bool,
    counts: FloatArray | None = None,
    labels: Labels | None = None,
    penalised: Sequence[int] | None = None,
    variances: GivenVariances = ESTIMATED,
) -> Selection:
    """Evaluate the criterion along the path and choose where it is smallest.

    Of the shifts of a grid the best is refined between its neighbours, unless the grid was given as values.
    Rounding errors of the kernel matrix are the larger in the criterion the smaller γ is; of all γ between
    which they leave no choice it is the largest.

    All criteria are those of all observations: rows that agree at a point are one, whatever their weight, and
    rows that differ at a point are as many as their weights say. Leave-one-out leaves out one of them, "logo"
    the rows of a group, which `labels` tell. A row of weight two and a row given twice lead to the same
    choice. Where weights are more than that, as those of classes, `counts` are the rows.
    """
    selection = evaluate(
        problem,
        targets,
        criterion,
        specification,
        loss,
        per_output=per_output,
        counts=counts,
        labels=labels,
        penalised=penalised,
        variances=variances,
    )
    warn_of_unusual_weights(selection.mean_count, criterion)
    return selection


def warn_of_unusual_weights(mean_count: float, criterion: str) -> None:
    """Warn where weights hardly count the rows that differ at one point, as those that add up to one."""
    if not _USUAL_WEIGHTS[0] <= mean_count <= _USUAL_WEIGHTS[1]:
        warn(
            "of rows at the same point whose targets differ, each counts as many as its sample_weight says, "
            f"{mean_count:.3g} on average: the regularization that {criterion!r} chooses depends on that "
            "scale. If the weights are precisions, give GRLSRegressor their inverses, "
            "fit(X, y, noise=1 / sample_weight); or give regularization a number",
            UserWarning,
        )


def warn_of_copies(merged: Merged[Any]) -> None:
    """Warn of rows that repeat others, in y and in where they are, where they are more than a few."""
    n_rows, copies = len(merged.observation), merged.exact_copies
    if copies > _FEW_COPIES * n_rows:
        warn(
            f"{copies} of {n_rows} rows repeat others, in X and in y: rows that agree count as one "
            "observation, of the weight of all, in the choice of the regularization, in variances and in "
            "degrees of freedom. Leave the copies out, unless they are meant as weights",
            UserWarning,
        )


def require_rows(merged: Merged[Any], criterion: str) -> None:
    """ValueError where the features leave a criterion nothing to go by."""
    m, T, n_groups = len(merged.targets), merged.problem.T, merged.n_groups
    n_features = T.shape[1] + n_groups
    if m == 1:
        raise ValueError(
            "all rows of X are the same, so that there is nothing to learn from them: look at the columns "
            f"(they are constant), or give regularization a number instead of {criterion!r}"
        )
    if n_groups and m <= n_features:
        raise ValueError(
            f"regularization={criterion!r} needs more distinct points than features: the samples are at {m} "
            f"distinct points, and there are {n_groups} groups beside {T.shape[1]} features; join groups, or "
            "give regularization a number"
        )
    if m <= T.shape[1] and np.linalg.matrix_rank(T) == m:
        raise ValueError(
            f"regularization={criterion!r} needs more distinct points than features: the samples are at {m} "
            f"distinct points, the features have rank {m}; give regularization a number"
        )
    if criterion not in LEAVE_OUT and merged.n_rows <= n_features:
        raise ValueError(
            f"regularization={criterion!r} needs more rows than features: there are {n_features} features, "
            f"and rows that add up to {merged.n_rows:g}, for sample_weight counts those that differ at one "
            "point; give regularization a number"
        )


@dataclass
class Judge:
    """The criterion at any point of a path."""

    merged: Merged[Any]
    path: Path
    criterion: str
    loss: Loss
    targets: FloatArray  # (m, k) of the rows
    n_outputs: int  # that are judged each by itself; 1: all together
    reduced: ReducedMatrix | None  # None: there is but one shift
    variances: GivenVariances
    least: float = 0.0  # shifts below it are left out: see `ACCURATE`

    def residuals(self, g: int, t: float) -> FloatArray:
        """(m, k): of the observation that each row is by the model without it, or without its group."""
        point = _Point(self.merged, self.path, g, t)
        if self.criterion == "loo":
            return point.residuals()[self.merged.observation]
        assert self.reduced is not None
        return point.group_residuals(self.reduced)[self.merged.observation]

    def predictions(self, g: int, t: float) -> FloatArray:
        """(m, k): of each row by the same model."""
        return np.asarray(self.targets - self.merged.agreeing - self.residuals(g, t))

    def __call__(self, g: int, t: float) -> FloatArray:
        """(n_outputs,)."""
        if self.criterion in LEAVE_OUT:
            values = np.atleast_1d(self.loss(self.targets - self.residuals(g, t)))
        elif self.criterion == "gcv":
            values = _Point(self.merged, self.path, g, t).gcv()
        else:
            n_features = len(self.path.kept) + self.merged.n_groups
            values = _Point(self.merged, self.path, g, t).reml(n_features, self.variances)
        return values if self.n_outputs > 1 else np.atleast_1d(values.mean())

    def plane(self, variances: list[float]) -> FloatArray:
        """(v, g, n_outputs): infinite where there is no value."""
        definite = np.flatnonzero(np.isfinite(self.path.trace) & (np.asarray(self.path.shifts) >= self.least))
        out = np.full((len(variances), len(self.path.shifts), self.n_outputs), np.inf)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for v, t in enumerate(variances):
                for g in definite:
                    try:
                        out[v, g] = self(int(g), t)
                    except np.linalg.LinAlgError:  # rounding has left S + τCCᵀ singular: no value here
                        continue
                if self.path.vanishes and np.isinf(t) and definite.size:
                    # Free features and no kernel beside them: γ is without effect, but for the rounding
                    # errors of the model, of which the largest γ has the fewest.
                    out[v, definite] = out[v, definite[-1]]
        out[np.isnan(out)] = np.inf  # ∞/∞: no γ to choose
        return out

    def errors(self, plane: FloatArray) -> FloatArray:
        """How far rounding errors of the kernel matrix may take the values of a plane."""
        share = 2 * self.path.rounding / np.asarray(self.path.shifts)[:, None]
        return np.asarray(
            share * (np.full_like(plane, len(self.merged.targets)) if self.criterion == "reml" else plane)
        )


@dataclass
class Curve:
    """The criterion at shifts in ascending order, for each of some variances of the features."""

    shifts: FloatArray  # (g,)
    plane: FloatArray  # (v, g, n_outputs)
    errors: FloatArray  # of the same shape
    points: list[tuple[Judge, int]]  # (g,): who judged a shift, and where it is on its path

    @classmethod
    def of(cls, judge: Judge, variances: list[float]) -> Curve:
        plane = judge.plane(variances)
        shifts = np.asarray(judge.path.shifts)
        return cls(shifts, plane, judge.errors(plane), [(judge, g) for g in range(len(shifts))])

    def joined(self, other: Curve) -> Curve:
        """Return both as one curve."""
        shifts = np.concatenate([self.shifts, other.shifts])
        order = np.argsort(shifts, kind="stable")
        points = self.points + other.points
        return Curve(
            shifts[order],
            np.concatenate([self.plane, other.plane], axis=1)[:, order],
            np.concatenate([self.errors, other.errors], axis=1)[:, order],
            [points[g] for g in order],
        )

    def best_variance(self) -> int:
        return int((self.plane + self.errors).min(axis=1).mean(axis=1).argmin())

    def best(self, variance: int) -> list[int]:
        """Return where the criterion of each output is smallest."""
        return [
            largest_of_the_best(self.plane[variance, :, p], self.errors[variance, :, p])
            for p in range(self.plane.shape[2])
        ]


# A refined γ is known to this share of itself, if its criterion is known well enough.
_PRECISION = 2e-5


def refined_shifts(curve: Curve, variance: int, value_at: Callable[[float], FloatArray]) -> list[float]:
    """Return for each output where between the neighbours of the best shift the criterion is smallest."""
    out = []
    seen: dict[float, FloatArray] = {}
    for p, g in enumerate(curve.best(variance)):
        if not 0 < g < len(curve.shifts) - 1:
            continue  # the criterion falls towards an end of the grid
        around = [float(value) for value in curve.plane[variance, g - 1 : g + 2, p]]
        if not around[1] < min(around[0], around[2]):
            continue  # as flat as rounding errors make it
        # Brent's method on 1 + log s/s_g, which starts with the three shifts that are known.
        bracket = tuple(1 + float(np.log(curve.shifts[g + i] / curve.shifts[g])) for i in (-1, 0, 1))
        known = dict(zip(bracket, around, strict=True))

        def value(x: float, g: int = g, p: int = p, known: dict[float, float] = known) -> float:
            if x in known:
                return known[x]
            shift = float(curve.shifts[g] * np.exp(x - 1))
            if shift not in seen:
                seen[shift] = value_at(shift)
            return float(seen[shift][p])

        found = brent(value, brack=bracket, tol=_PRECISION, full_output=True)
        if found[1] < around[1]:
            out.append(float(curve.shifts[g] * np.exp(found[0] - 1)))
    return sorted(set(out))


def evaluate(
    problem: Selectable,
    targets: FloatArray,
    criterion: str,
    specification: Any,
    loss: Loss,
    *,
    per_output: bool,
    counts: FloatArray | None = None,
    labels: Labels | None = None,
    penalised: Sequence[int] | None = None,
    variances: GivenVariances = ESTIMATED,
    refine: bool = True,
) -> Selection:
    """Do what `select` does, without a word on the weights; a given grid is never refined."""
    merged = merge(problem, targets, counts, labels if criterion == "logo" else None)
    merged.penalised = penalised
    m = len(merged.targets)
    require_rows(merged, criterion)
    per_sample = criterion in LEAVE_OUT or (criterion == "gcv" and bool(penalised))
    shifts, relative = shifts_to_try(specification, m, problem.total_weight)
    of_groups = 0.0 if merged.groups is None else memory.leave_out_bytes(m, merged.groups.largest)
    memory.require(
        merged.problem.path_bytes(targets.shape[1], len(shifts), leave_one_out=per_sample) + of_groups,
        f"choosing the regularization of {m} samples by {criterion!r}",
        "give regularization a number"
        + (', or use "gcv" or "reml", which take less' if per_sample else " or use fewer samples"),
    )
    reduced: ReducedMatrix | None = None
    if len(shifts) > 1 or merged.groups is not None:
        reduced = merged.problem.reduced(merged.targets, leave_one_out=per_sample)
    n_outputs = targets.shape[1] if per_output else 1

    def judge_at(shifts: FloatArray, *, relative: bool = False) -> Judge:
        if reduced is None:
            path = merged.problem.path(merged.targets, shifts, relative=relative, leave_one_out=per_sample)
        else:
            path = reduced.at(shifts, relative=relative)
        return Judge(merged, path, criterion, loss, targets, n_outputs, reduced, variances)

    judge = judge_at(shifts, relative=relative)
    least = ACCURATE * judge.path.rounding
    if relative and not judge.path.vanishes and least < judge.path.shifts[-1]:
        judge.least = least
    tried = _feature_variances(penalised, judge.path.unit)
    curve = Curve.of(judge, tried)
    if np.isinf(curve.plane).all(axis=(0, 1)).any():
        if np.isfinite(judge.path.trace).any():
            raise ValueError(f"the criterion {criterion!r} overflows: scale the targets down, or the kernel")
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")

    def refined(curve: Curve, v: int) -> Curve:
        found = refined_shifts(curve, v, lambda s: judge_at(np.array([s])).plane([tried[v]])[0, 0])
        return curve.joined(Curve.of(judge_at(np.array(found)), tried)) if found else curve

    v = curve.best_variance()
    if refine and relative:
        curve = refined(curve, v)
        v = curve.best_variance()
    if penalised and criterion in LEAVE_OUT and not _gains(curve, v, tried, merged):
        v = tried.index(0.0)
        curve = refined(curve, v) if refine and relative else curve
    return _selection(curve, v, tried[v], merged, per_output=per_output)


_STEP = 0.4  # of log γ, about a γ that fewer rows chose


def select_near(
    problem: Any, targets: FloatArray, shift: float, counts: FloatArray | None = None
) -> Selection:
    """Choose γ by the restricted likelihood near a shift γΣw that fewer rows chose, by a fit for each step.

    A parabola through the best three tells where between them the likelihood is largest, and how large.
    """
    merged = merge(problem, targets, counts)
    require_rows(merged, "reml")
    rows = merged.for_core()
    known: dict[int, float] = {}

    def value(step: int) -> float:
        if step not in known:
            at = np.array([shift * np.exp(_STEP * step)])
            known[step] = float(merged.problem.restricted_likelihoods(merged.targets, at, rows)[0])
        return known[step]

    middle = 0
    for _ in range(20):
        around = [value(middle - 1), value(middle), value(middle + 1)]
        if not np.isfinite(around[1]) or around[2] < min(around[:2]):
            middle += 1
        elif around[0] < around[1]:
            middle -= 1
        else:
            break
    steps = sorted(known)
    places, values = np.array(steps, dtype=np.float64), np.array([known[step] for step in steps])
    below, at, above = around
    bend = below - 2 * at + above
    if np.isfinite(bend) and bend > 0:
        place = float(np.clip(middle + (below - above) / (2 * bend), middle - 1, middle + 1))
        g = int(np.searchsorted(places, place))
        places, values = (
            np.insert(places, g, place),
            np.insert(values, g, at - (above - below) ** 2 / (8 * bend)),
        )
    if not np.isfinite(values).any():
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")
    gammas = shift * np.exp(_STEP * places) / merged.total_weight
    chosen = gammas[int(values.argmin())]
    return Selection(gammas, values, np.asarray(chosen), np.inf, None, merged.copies, merged.mean_count)


def _gains(curve: Curve, v: int, variances: list[float], merged: Merged[Any]) -> bool:
    """Whether features of the v-th variance lower the errors of the rows left out beyond chance.

    What they promise is an average over the rows that are there; where it is within half its standard
    error of nothing, the model without them is the safer one, for features extrapolate and a kernel does not.
    """
    squared = []
    for index in (variances.index(0.0), v):
        judge, g = curve.points[curve.best(index)[0]]
        squared.append((judge.residuals(g, variances[index]) ** 2).mean(axis=1))
    gain = squared[0] - squared[1]
    gain = gain / (np.abs(gain).max() or 1.0)  # whose squares then neither overflow nor vanish
    mean = np.average(gain, weights=merged.row_weights)
    variance = np.average((gain - mean) ** 2, weights=merged.row_weights) / merged.n_rows
    return bool(mean > 0.5 * np.sqrt(variance))


def _selection(curve: Curve, v: int, variance: float, merged: Merged[Any], *, per_output: bool) -> Selection:
    """Return what a curve says at the v-th variance of the features."""
    best = curve.best(v)
    gammas = curve.shifts / merged.total_weight
    picked = None
    if curve.points[0][0].criterion in LEAVE_OUT:
        predictions = {g: curve.points[g][0].predictions(curve.points[g][1], variance) for g in set(best)}
        if np.isinf(variance):
            predictions = {g: refitted(merged, float(curve.shifts[g]), p) for g, p in predictions.items()}
        if per_output:
            picked = np.stack([predictions[g][:, p] for p, g in enumerate(best)], axis=1)
        else:
            picked = predictions[best[0]]
    values = curve.plane.min(axis=0)
    return Selection(
        path=gammas,
        criterion=values if per_output else values[:, 0],
        chosen=gammas[best] if per_output else gammas[best[0]],
        feature_variance=float(variance),
        left_out=picked,
        copies=merged.copies,
        mean_count=merged.mean_count,
    )
