"""One bias of SVM-GB where several are as good: the one that keeps the samples away from their margins.

Given c = Ya, every β is optimal with y_i f_i ≥ 1 where a_i = 0, y_i f_i ≤ 1 where a_i = C_i and y_i f_i = 1
between. Where the samples between determine β there is one. Else these β are a face, of which the one is
taken whose smallest distance |1 − y_i f_i| over samples at a bound is largest. With s_i ≥ 0 the distances at
some β, and rows g_i that say how they change along the directions d in which no sample between its bounds
moves,

    maximise t   over   s_i + g_i d ≥ t          dual:   minimise sᵀλ   over   λ ≥ 0,  Σλ = 1,  Gᵀλ = 0.

Samples with λ_i > 0 have the distance t in every solution. If they leave d free, the next smallest distance
decides, in the directions that are left, and so on; each time a direction less is left. Samples that no
direction moves have no say. All this depends on the values f alone, and so not on the basis of span φ, on
weights or copies of rows, nor on which copy is at which bound.

Where t has no bound, for the dual has no solution, all samples that are left can move away for ever. Then it
is the β of least norm, in units of the columns' standard deviations, whose distances are not smaller than
what they were before: the rule for features that separate the classes alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from .._validation import FloatArray

_AT_BOUND = 1e-9  # of C: coefficients nearer to a bound are at it
_CLEARLY = 1e-4  # singular value of free samples, by any scaled columns: these determine the bias
_STILL = 1e-9  # of the root mean square: a sample that moves less does not
_PART = 1e-9  # λ below are zero
_SAME = 1e-9  # the objective may grow by that share, for rounding
_NUMBERS = 1_000_000  # of the linear program at most; larger ones are left alone
_CONSTANT = 1e-3  # of its size: the constant's coefficient in a norm
_ROWS_AT_ONCE = 20  # constraints that a least-norm problem is given in each turn


def lengths(T: FloatArray) -> FloatArray:
    """Return what the columns (l,) are divided by to be no longer than one, all the same in any units."""
    return np.asarray(np.abs(T).max(axis=0) * np.sqrt(len(T)))


def determined(T: FloatArray, size: FloatArray) -> bool:
    """Return whether rows T (n, l) between their bounds determine β clearly, as in ordinary fits; cheap.

    `size` (l,): `lengths` of the columns over all rows.
    """
    if len(T) < T.shape[1]:
        return False
    scaled = T / size
    return bool(np.linalg.eigvalsh(scaled.T @ scaled)[0] > _CLEARLY**2)


def at_bounds(a: FloatArray, C: FloatArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which a_i are at zero and which at C_i."""
    return a <= _AT_BOUND * np.minimum(C, a.max(initial=0.0)), C - a <= _AT_BOUND * C


def units(T: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the units (l,) of the features' coefficients in a norm: of columns with deviation or size one.

    Deviations where the features span the constant, whose own coefficient then hardly counts.
    """
    shares = weights / weights.sum()
    largest = np.abs(T).max(axis=0)
    largest[largest == 0] = 1
    T = T / largest
    size = np.sqrt(shares @ T**2)
    size[size == 0] = 1
    ones = np.ones(len(T))
    scaled = T / size
    with_constant = np.linalg.norm(
        ones - scaled @ np.linalg.lstsq(scaled, ones, rcond=None)[0]
    ) < 1e-8 * np.sqrt(len(T))
    if not with_constant:
        return np.asarray(largest * size)
    deviation = np.sqrt(shares @ (T - shares @ T) ** 2)
    return np.asarray(largest * np.where(deviation > 1e-8 * size, deviation, _CONSTANT * size))


def central(
    image: FloatArray,
    T: FloatArray,
    y: FloatArray,
    a: FloatArray,
    C: FloatArray,
    beta: FloatArray,
    scale: FloatArray,
    slope: FloatArray | None = None,
) -> FloatArray:
    """Return the bias that is taken of all that are as good as `beta` (l,), which is one of them.

    `image` (m,) is Φc, T (m, l) has independent columns, and `scale` (l,) are the units in which their
    coefficients have a norm. Where the bias is unique, or the program too large, `beta` comes back as it is.
    `slope` (l,): what the objective grows by along β beside the losses; None: by nothing.
    """
    low, high = at_bounds(a, C)
    bound = low | high
    m = len(y)
    size = lengths(T)
    Q, R = linalg.qr(T / size, mode="economic")
    V = _null_space(Q[~bound])
    if V.shape[1] == 0 or np.count_nonzero(bound) * (V.shape[1] + 1) > _NUMBERS:
        return beta
    directions = linalg.solve_triangular(R, V) * np.sqrt(m) / size[:, None]  # of β, (l, q)
    margins = y * (image + T @ beta) - 1
    if not (np.all(np.isfinite(margins)) and np.all(np.isfinite(directions))):
        return beta
    sign = np.where(low, 1.0, -1.0)[bound]
    found = _furthest(
        sign * margins[bound],
        (sign * y[bound])[:, None] * (np.sqrt(m) * Q[bound] @ V),
        scale[:, None] * directions,
        scale * beta,
    )
    if found is None:
        return beta
    moved = np.asarray(beta + directions @ found)
    with np.errstate(over="ignore", invalid="ignore"):
        losses = [float(C @ np.maximum(0, 1 - y * (image + T @ each))) for each in (beta, moved)]
        if slope is not None:
            losses[1] += float(slope @ (moved - beta))
    allowed = _SAME * max(losses[0] + 0.5 * abs(float((y * a) @ image)), 1e-6 * float(C.sum()))
    return moved if losses[1] <= losses[0] + allowed else beta


def _null_space(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the directions that none of the rows sees."""
    if len(rows) == 0:
        return np.eye(rows.shape[1])
    if len(rows) > rows.shape[1]:
        rows = linalg.qr(rows, mode="r")[0][: rows.shape[1]]
    _, values, Vt = np.linalg.svd(rows, full_matrices=True)
    return np.asarray(Vt[int(np.count_nonzero(values > _STILL)) :].T)


def _furthest(s: FloatArray, G: FloatArray, metric: FloatArray, origin: FloatArray) -> FloatArray | None:
    """Return d (q,) with the largest smallest s + Gd, then the largest next smallest one, and so on.

    Where there is no largest one, that of least norm |origin + metric d|. None: HiGHS has no answer.
    """
    d, N, least = np.zeros(G.shape[1]), np.eye(G.shape[1]), 0.0
    while N.shape[1]:
        left = G @ N
        moving = np.linalg.norm(left, axis=1) > _STILL
        if not moving.any():
            break
        multipliers = _multipliers(s[moving], left[moving])
        if multipliers is None:
            return None
        if len(multipliers) == 0:
            step = _shortest(left[moving], max(least, 0.0) - s[moving], metric @ N, origin + metric @ d)
            return None if step is None else d + N @ step
        rows = np.flatnonzero(moving)[multipliers > _PART]
        equal = np.column_stack([left[rows], -np.ones(len(rows))])
        step, least = np.split(np.linalg.lstsq(equal, -s[rows], rcond=None)[0], [N.shape[1]])
        least = float(least[0])
        d, s = d + N @ step, s + left @ step
        remaining = _null_space(left[rows])
        if remaining.shape[1] == N.shape[1]:
            return None
        N = N @ remaining
    return d


def _multipliers(s: FloatArray, G: FloatArray) -> FloatArray | None:
    """Return λ of the dual program; none at all, (0,), where the smallest distance has no bound."""
    unit = float(np.abs(s).mean()) or 1.0
    found = optimize.linprog(
        s / unit,
        A_eq=np.vstack([G.T, np.ones(len(s))]),
        b_eq=np.append(np.zeros(G.shape[1]), 1.0),
        bounds=(0, None),
        method="highs-ds",
    )
    if found.status == 2:  # infeasible
        return np.empty(0)
    return np.asarray(found.x) if found.status == 0 else None


def _shortest(A: FloatArray, h: FloatArray, M: FloatArray, b: FloatArray) -> FloatArray | None:
    """Return the e of least |Me + b| with Ae ≥ h, by the non-negative least squares of its dual.

    Few of the rows of A matter: they are added as they turn out to be violated.
    """
    Q, R = linalg.qr(M, mode="economic")
    A = linalg.solve_triangular(R, A.T, trans="T").T  # w = Re + Qᵀb
    h = h + A @ (Q.T @ b)
    length = np.linalg.norm(A, axis=1)
    A, h = A / length[:, None], h / length
    w, used = np.zeros(A.shape[1]), np.zeros(len(A), dtype=bool)
    while True:
        violation = h - A @ w
        violation[used] = 0
        worst = np.argsort(-violation, kind="stable")[:_ROWS_AT_ONCE]
        worst = worst[violation[worst] > 1e-12 * max(1.0, float(np.linalg.norm(w)))]
        if len(worst) == 0:
            break
        used[worst] = True
        unit = float(np.abs(h[used]).max())
        E = np.vstack([A[used].T, h[used] / unit])
        goal = np.append(np.zeros(A.shape[1]), 1.0)
        try:
            residual = goal - E @ optimize.nnls(E, goal)[0]
        except RuntimeError:  # no end within its iterations
            return None
        if residual[-1] < 1e-12:  # nothing fulfils them, as rounding has it
            return None
        w = -unit * residual[:-1] / residual[-1]
    return np.asarray(linalg.solve_triangular(R, w - Q.T @ b))
