"""The choice of γ and of the features' variance in closed form: leave-one-out, GCV, restricted likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._solvers import memory as _memory
from .._validation import FloatArray, integer
from ..exceptions import NotPositiveDefiniteError
from ..kernels.widths import distinct_rows

CRITERIA = ("loo", "gcv", "reml")

# Loss of leave-one-out predictions (m, k): one number, or one per output.
Loss = Callable[[FloatArray], FloatArray]


P = TypeVar("P", bound="Selectable")


class Selectable(Protocol):
    """A least-squares problem whose whole path is known: `Problem`, or `RidgeProblem`."""

    X: Any
    T: FloatArray
    weights: FloatArray | None

    @property
    def total_weight(self) -> float: ...

    def take(self: P, rows: Any, weights: FloatArray) -> P: ...

    def path(
        self, targets: FloatArray, shifts: FloatArray, *, relative: bool, leave_one_out: bool
    ) -> _core.Path: ...

    def path_bytes(self, n_outputs: int, n_shifts: int, *, leave_one_out: bool) -> float: ...


@dataclass
class Selection:
    """The whole curve, and the choice."""

    path: FloatArray  # (g,) γ
    criterion: FloatArray  # (g,) or (g, k): smaller is better, at the best feature variance of each γ
    chosen: FloatArray  # () or (k,): γ
    feature_variance: float
    loo_predictions: FloatArray | None  # (m, k) at the choice


@dataclass
class Merged(Generic[P]):
    """Samples at the same point as one: they share a prediction, and none can stand in for another."""

    problem: P
    targets: FloatArray
    place: NDArray[np.intp]  # of each original sample


def merge(problem: P, targets: FloatArray) -> Merged[P]:
    """Return the problem in which samples at the same point are one."""
    m = len(targets)
    rows, place = distinct_rows(problem.X, problem.T)
    if len(rows) == m:
        return Merged(problem, targets, np.arange(m))
    weights = np.ones(m) if problem.weights is None else problem.weights
    total = np.bincount(place, weights).astype(np.float64)
    sums = np.stack([np.bincount(place, weights * column) for column in targets.T], axis=1)
    return Merged(problem.take(rows, total), sums / total[:, None], place)


def shifts_to_try(specification: Any, n_samples: float, total_weight: float) -> tuple[FloatArray, bool]:
    """Return the shifts γΣw to try, and whether they are relative to the size of the spectrum."""
    if np.ndim(specification) == 0:
        count = integer(specification, "regularization_grid", minimum=2)
        return np.geomspace(1e-9, max(float(n_samples), 10.0), count), True
    values = np.sort(np.asarray(specification, dtype=np.float64).ravel())
    if values.size == 0 or not np.all(np.isfinite(values)) or values[0] <= 0:
        raise ValueError("regularization_grid must hold positive, finite numbers")
    return values * total_weight, False


def _feature_variances(wanted: float | str, unit: float, n_samples: int) -> list[float]:
    """Return the variances of the features' coordinates to try: from none to unpenalised."""
    if not isinstance(wanted, str):
        return [wanted]
    return [np.inf, 0.0, *unit * np.geomspace(1e-2, 100 * n_samples, 12)]


def largest_of_the_best(values: FloatArray, errors: FloatArray) -> int:
    """Return where the criterion is smallest: of all γ that may be it, for all that is known, the largest."""
    return int(np.flatnonzero(values <= (values + errors).min())[-1])


class _Point:
    """One γ of the path at one variance t of the features' coordinates."""

    def __init__(self, path: _core.Path, g: int, t: float) -> None:
        self._path, self._g = path, g
        # (S + tI)⁻¹, which is nothing for unpenalised features
        S = path.schur[g]
        self._held = None if np.isinf(t) or S.size == 0 else np.linalg.inv(S + t * np.eye(len(S)))

    def residuals(self) -> FloatArray:
        """c_i / B_ii: leave-one-out residuals (m, k), in the scale of the weighted samples."""
        path, g = self._path, self._g
        c, diagonal, D = path.c[g], path.diagonal[g], path.D[g]
        if self._held is not None:
            DH = D @ self._held
            c = c + DH @ self._path.r[self._g]
            diagonal = diagonal + np.einsum("ij,ij->i", DH, D)
        return np.asarray(c / diagonal[:, None])

    def gcv(self, m: int) -> FloatArray:
        """Generalised cross-validation, one number per output."""
        if self._held is None:
            return np.asarray(m * self._path.squared_norm[self._g] / self._path.trace[self._g] ** 2)
        path, g = self._path, self._g
        c, diagonal, D = path.c[g], path.diagonal[g], path.D[g]
        DH = D @ self._held
        norm = ((c + DH @ self._path.r[self._g]) ** 2).sum(axis=0)
        return np.asarray(m * norm / (diagonal.sum() + np.sum(DH * D)) ** 2)

    def reml(self, n: int, l: int) -> FloatArray:  # noqa: E741 - the papers' letter
        """Minus twice the restricted log-likelihood (the likelihood, if features have a prior) per output."""
        log_determinant = self._path.log_determinant[self._g]
        quadratic = self._path.quadratic[self._g]
        if self._held is not None:
            r = self._path.r[self._g]
            log_determinant = log_determinant - np.linalg.slogdet(self._held)[1]
            quadratic = quadratic + np.einsum("ik,ij,jk->k", r, self._held, r)
            n = n + l
        # No residual at all, as of targets that the features express: the determinant decides.
        return np.asarray(log_determinant + n * np.log(np.maximum(quadratic / n, np.finfo(float).tiny)))


def select(
    problem: Selectable,
    targets: FloatArray,
    criterion: str,
    specification: Any,
    feature_variance: float | str,
    loss: Loss,
    *,
    per_output: bool,
) -> Selection:
    """Evaluate the criterion along the path and choose where it is smallest.

    Rounding errors of the kernel matrix are the larger in the criterion the smaller γ is; of all γ between
    which they leave no choice it is the largest.

    Samples at the same point are left out together: a sample given twice must not vouch for itself. So a
    sample of weight two and a sample given twice lead to the same choice.
    """
    if feature_variance == "auto":
        if criterion == "reml":
            raise ValueError(
                'feature_variance="auto" cannot be chosen by "reml", whose likelihoods with and without free '
                'features do not compare; use regularization="loo" or "gcv"'
            )
        if per_output:
            raise ValueError('feature_variance="auto" is chosen for all outputs: it needs per_output=False')
    merged = merge(problem, targets)
    m = len(merged.targets)
    T = merged.problem.T
    if m <= T.shape[1] and np.linalg.matrix_rank(T) == m:
        raise ValueError(
            f"regularization={criterion!r} needs more distinct points than features: the samples are at {m} "
            f"distinct points, the features have rank {m}; give regularization a number"
        )
    per_sample = criterion == "loo" or (criterion == "gcv" and feature_variance != np.inf)
    shifts, relative = shifts_to_try(specification, m, problem.total_weight)
    _memory.require(
        merged.problem.path_bytes(targets.shape[1], len(shifts), leave_one_out=per_sample),
        f"choosing the regularization of {m} samples by {criterion!r}",
        "give regularization a number"
        + (', or use "gcv" or "reml", which take less' if per_sample else " or use fewer samples"),
    )
    path = merged.problem.path(merged.targets, shifts, relative=relative, leave_one_out=per_sample)
    gammas = np.asarray(path.shifts) / problem.total_weight
    n_features = len(path.kept)
    scale = 1.0 if merged.problem.weights is None else np.sqrt(merged.problem.weights)[:, None]

    def predictions(point: _Point) -> FloatArray:
        return np.asarray((merged.targets - point.residuals() / scale)[merged.place])

    def judge(point: _Point) -> FloatArray:
        if criterion == "loo":
            return np.atleast_1d(loss(predictions(point)))
        if criterion == "gcv":
            return point.gcv(m)
        return point.reml(m - n_features, n_features)

    variances = _feature_variances(feature_variance, path.unit, m)
    definite = np.isfinite(path.trace)
    n_outputs = targets.shape[1] if per_output else 1
    plane = np.full((len(variances), len(gammas), n_outputs), np.inf)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for v, t in enumerate(variances):
            for g in np.flatnonzero(definite):
                value = judge(_Point(path, int(g), t))
                plane[v, g] = value if per_output else value.mean()
            if path.vanishes and np.isinf(t) and definite.any():
                # Free features and no kernel beside them: γ is without effect, but for the rounding errors of
                # the model, of which the largest γ has the fewest.
                plane[v, definite] = plane[v, np.flatnonzero(definite)[-1]]
    plane[np.isnan(plane)] = np.inf  # ∞/∞: no γ to choose
    if np.isinf(plane).all(axis=(0, 1)).any():
        if definite.any():
            raise ValueError(f"the criterion {criterion!r} overflows: scale the targets down, or the kernel")
        raise NotPositiveDefiniteError("no regularization of the grid makes the matrix positive definite")
    share = 2 * path.rounding / np.asarray(path.shifts)[:, None]
    errors = share * (np.full_like(plane, m) if criterion == "reml" else plane)
    best_variance = int((plane + errors).min(axis=1).mean(axis=1).argmin())
    best = [  # of each output
        largest_of_the_best(plane[best_variance, :, p], errors[best_variance, :, p]) for p in range(n_outputs)
    ]
    picked = None
    if criterion == "loo":
        points = {int(g): predictions(_Point(path, int(g), variances[best_variance])) for g in set(best)}
        if per_output:
            picked = np.stack([points[int(g)][:, p] for p, g in enumerate(best)], axis=1)
        else:
            picked = points[int(best[0])]
    curve = plane.min(axis=0)
    return Selection(
        path=gammas,
        criterion=curve if per_output else curve[:, 0],
        chosen=gammas[best] if per_output else gammas[best[0]],
        feature_variance=float(variances[best_variance]),
        loo_predictions=picked,
    )
