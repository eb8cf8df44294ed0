r"""Which Fourier modes stand for a kernel, so that its uniform error stays below a tolerance.

    k(x − z) ≈ Σ_j S_j exp(2πi Σ_c j_c (x_c − z_c) / p_c),   S_j = S(2πj/p) Π_c 2π/p_c,   |j_c| ≤ J_c

With all j the sum is the kernel repeated with the periods p: the repetitions must be too far away to matter.
What is left out by |j_c| ≤ J_c is largest where x = z, for S is not negative, and is the mass of S there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from .._validation import FloatArray, shown
from ..kernels import Kernel
from ..kernels.spectral import StationaryPart, stationary_parts

MOST_COLUMNS = 3
_FREQUENCIES = 4_000_000  # of one column that are looked at
_REPETITIONS = 3  # of the kernel on each side that are counted
_ROUNDS = 8  # of smaller shares of the tolerance, where the measured error is above it
_SHARE_OF_TAIL, _SHARE_OF_REPETITIONS = 0.85, 0.1  # of the tolerance, to be divided among the columns
_PROBES = 400  # differences at which the error is measured, beside the worst ones
_LOOSEST = 0.5


@dataclass(frozen=True)
class Modes:
    """The modes of a kernel on a box of rows.

    Vectors over modes hold the half space that begins with j = 0: those after it in lexicographic order. The
    other half are the conjugates.
    """

    columns: tuple[int, ...]  # those that the kernel reads
    low: FloatArray  # (d,): the box of the training rows
    high: FloatArray  # (d,)
    reach: FloatArray  # (d,): how far from the box the modes stand for the kernel; beyond, it is zero
    period: FloatArray  # (d,)
    limits: tuple[int, ...]  # J
    weights: FloatArray  # (h,): S_j
    value: float  # k(x, x)
    kernel_error: float  # the largest one found, in units of k(x, x)

    @property
    def missed(self) -> float:
        """What the modes leave out of k(x, x)."""
        return max(self.value - 2 * float(self.weights.sum()) + float(self.weights[0]), 0.0)

    @property
    def count(self) -> int:
        """How many modes there are."""
        return _count(self.limits)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are along each column."""
        return tuple(2 * limit + 1 for limit in self.limits)

    def angles(self, points: FloatArray) -> list[FloatArray]:
        """Return the columns of rows that are read, as angles about the middle of the box."""
        middle = (self.low + self.high) / 2
        return [
            np.ascontiguousarray((points[:, column] - middle[c]) * (2 * np.pi / self.period[c]), dtype=float)
            for c, column in enumerate(self.columns)
        ]

    def is_near(self, points: FloatArray) -> Any:
        """Return which rows (n,) are so near to the box that the modes stand for the kernel there.

        The others are beyond the reach of all training rows.
        """
        inside = points[:, list(self.columns)]
        slack = 1e-9 * (self.high - self.low)  # a row at the edge may be rounded
        return np.all(
            (inside >= self.low - self.reach - slack) & (inside <= self.high + self.reach + slack), 1
        )

    def require_inside(self, points: FloatArray) -> None:
        """ValueError where training rows are outside the box."""
        inside = points[:, list(self.columns)]
        slack = 1e-9 * (self.high - self.low)
        for c, column in enumerate(self.columns):
            out = (inside[:, c] < self.low[c] - slack[c]) | (inside[:, c] > self.high[c] + slack[c])
            if out.any():
                row = int(np.flatnonzero(out)[0])
                raise ValueError(
                    f"row {row} is outside the domain: column {column} is {inside[row, c]:.6g}, the domain "
                    f"from {self.low[c]:.6g} to {self.high[c]:.6g} was that of the first rows; give "
                    "domain=(low, high), wide enough for all rows to come"
                )

    def like(self, other: Modes) -> bool:
        """Whether sums over rows of both may be added."""
        return (
            self.columns == other.columns
            and self.limits == other.limits
            and bool(np.array_equal(self.period, other.period))
            and bool(np.array_equal(self.low + self.high, other.low + other.high))
        )


def _count(limits: tuple[int, ...]) -> int:
    return int(np.prod([2 * float(limit) + 1 for limit in limits]))


def half(full: Any) -> Any:
    """Return the half space, (…, h), of arrays over all modes, (…, 2J₁ + 1, …, 2J_d + 1) flattened."""
    return full[..., full.shape[-1] // 2 :]


def half_positions(modes: Modes, places: Any) -> Any:
    """Return j, (n, d), of modes given by their places in the half space."""
    flat = np.asarray(places) + modes.count // 2
    return np.stack(np.unravel_index(flat, modes.shape), axis=1) - np.array(modes.limits)


def columns_read(parts: list[StationaryPart], n_columns: int) -> tuple[int, ...]:
    """Return the columns that a kernel reads; ValueError unless they are one to three."""
    columns = tuple(sorted({column for part in parts for column in part.columns}))
    if 1 <= len(columns) <= MOST_COLUMNS:
        return columns
    if not columns:
        raise ValueError("the kernel is a constant: there is nothing to learn beside the features")
    raise ValueError(
        f"the kernel reads {len(columns)} of the {n_columns} columns, and Fourier modes are for one to "
        f"{MOST_COLUMNS}: let the kernel read some with kernel.on(columns), such as Matern().on([0, 1]) for "
        "the two coordinates of a map, while features read all of them; or use NystromGRLSRegressor or "
        "GRLSRegressor"
    )


def choose_modes(
    kernel: Kernel,
    n_columns: int,
    low: FloatArray,
    high: FloatArray,
    tol: float,
    max_modes: int,
    *,
    beyond: bool = True,
) -> Modes:
    """Return the modes of a resolved kernel for rows in a box, whose corners are `low` and `high` (d,).

    They stand for the kernel between these rows and those within its reach about the box, or, not `beyond`,
    those in the box alone, for which fewer suffice.
    """
    parts = stationary_parts(kernel, n_columns)
    columns = columns_read(parts, n_columns)
    value = sum(part.number for part in parts)
    low, high = low[list(columns)], high[list(columns)]
    grid = _Grid(kernel, parts, columns, value, high - low, n_columns, beyond)
    share = 1.0
    for _ in range(_ROUNDS):
        reach, period, limits = grid.sizes(share * tol, _FREQUENCIES)
        if limits is None or _count(limits) > max_modes:
            raise _too_many(grid, limits, tol, max_modes)
        orthant = grid.weights(period, limits)
        error = grid.error(orthant, reach, period)
        if error <= tol:
            ends = [np.abs(np.arange(-limit, limit + 1)) for limit in limits]
            full = orthant[np.ix_(*ends)]
            weights = np.ascontiguousarray(half(full.reshape(-1)))
            return Modes(columns, low, high, reach, period, limits, weights, value, error)
        share *= 0.6
    raise ValueError(
        f"no Fourier modes stand for the kernel {kernel!r} to tol={tol:g}: the best found are wrong by "
        f"{error:.2g} of k(x, x); raise tol, or use NystromGRLSRegressor"
    )


def _too_many(grid: _Grid, limits: tuple[int, ...] | None, tol: float, max_modes: int) -> ValueError:
    """Return the refusal of too many modes, with the smallest tolerance that needs few enough."""
    wanted = f"more than {_FREQUENCIES}" if limits is None else f"{_count(limits)}"

    def fits(tolerance: float) -> bool:
        found = grid.sizes(tolerance, max_modes)[2]
        return found is not None and _count(found) <= max_modes

    if fits(_LOOSEST):
        bad, good = tol, _LOOSEST
        while good / bad > 1.02:
            middle = float(np.sqrt(bad * good))
            bad, good = (bad, middle) if fits(middle) else (middle, good)
        digits = 10.0 ** (np.floor(np.log10(good)) - 1)
        remedy = f"the smallest tol that fits is {np.ceil(good / digits) * digits:.2g}"
    else:
        remedy = "no tol fits"
    return ValueError(
        f"the kernel {grid.kernel!r} needs {wanted} Fourier modes for tol={tol:g} on rows that span "
        f"{shown(grid.ranges.round(6))}, and max_modes is {max_modes}: {remedy}. A smoother kernel or one of "
        "larger width needs fewer; NystromGRLSRegressor needs none"
    )


@dataclass
class _Grid:
    """A kernel on rows that span some ranges."""

    kernel: Kernel
    parts: list[StationaryPart]
    columns: tuple[int, ...]
    value: float
    ranges: FloatArray  # (d,)
    n_columns: int
    beyond: bool  # the modes are for new rows outside the box, too

    def sizes(self, tol: float, largest: int) -> tuple[FloatArray, FloatArray, tuple[int, ...] | None]:
        """Return reach and period of each column, and its limit; None: a limit is above `largest`.

        The reach is how far beyond the box new rows may be.
        """
        d = len(self.columns)
        reach = np.array([self._reach(c, _SHARE_OF_REPETITIONS * tol / d) for c in range(d)])
        period = self.ranges + (2 if self.beyond else 1) * reach
        reach = reach if self.beyond else np.zeros(d)
        limits = []
        for c in range(d):
            limit = self._limit(c, period[c], _SHARE_OF_TAIL * tol / d, largest)
            if limit is None:
                return reach, period, None
            limits.append(limit)
        return reach, period, tuple(limits)

    def _along(self, c: int, distances: FloatArray) -> FloatArray:
        """Return the parts that read a column at distances along it, added up."""
        differences = np.zeros((len(distances), self.n_columns))
        differences[:, self.columns[c]] = distances
        return np.asarray(np.sum([part.values(differences) for part in self._reading(c)], axis=0))

    def _reading(self, c: int) -> list[StationaryPart]:
        return [part for part in self.parts if self.columns[c] in part.columns]

    def _reach(self, c: int, share: float) -> float:
        """Return from what distance along a column on the kernel is below a share of k(x, x)."""
        scale = self.ranges[c] if self.ranges[c] > 0 else 1.0
        distances = scale * np.geomspace(1e-9, 1e9, 4000)
        beyond = np.flatnonzero(self._along(c, distances) <= share * self.value)
        if len(beyond) == 0:
            raise ValueError(
                f"the kernel {self.kernel!r} falls so slowly along column {self.columns[c]} that no period "
                "keeps its repetitions apart: give it a smaller width, or use NystromGRLSRegressor"
            )
        return float(distances[beyond[0]])

    def _limit(self, c: int, period: float, share: float, largest: int) -> int | None:
        """Return J so that the modes beyond it add up to a share of k(x, x) at most."""
        repeated = self._along(c, period * np.arange(_REPETITIONS + 1.0))
        total = repeated[0] + 2 * repeated[1:].sum()
        step = 2 * np.pi / period
        at_zero = self._line(c, np.zeros(1), step)[0]
        if not np.isfinite(at_zero):  # an integrable pole: the mean over the mode's cell
            nodes, weights = np.polynomial.legendre.leggauss(32)
            at_zero = float(self._line(c, step / 2 * nodes, step) @ weights / 2)
            total = repeated[0]
        left = max(share, 1e-13) * self.value - (total - at_zero)  # what twice the others must reach
        start, width = 1, 4096
        while left < 0 and start <= largest:
            modes = np.arange(start, min(start + width, largest + 1), dtype=np.float64)
            reached = left + 2 * np.cumsum(self._line(c, step * modes, step))
            if reached[-1] >= 0:
                return int(modes[np.argmax(reached >= 0)])
            left, start, width = float(reached[-1]), int(modes[-1]) + 1, 2 * width
        return None if left < 0 else 1

    def _line(self, c: int, omega: FloatArray, step: float) -> FloatArray:
        """Return the weights of modes along one column."""
        reading = self._reading(c)
        return np.asarray(
            step * np.sum([part.density_along(self.columns[c], omega) for part in reading], axis=0)
        )

    def weights(self, period: FloatArray, limits: tuple[int, ...]) -> FloatArray:
        """Return S_j for j ≥ 0, (J₁ + 1, …, J_d + 1): it is even in every column."""
        out = np.zeros([limit + 1 for limit in limits])
        for part in self.parts:
            own = [self.columns.index(column) for column in part.columns]
            if not own:  # a constant
                out[(0,) * out.ndim] += part.number
                continue
            steps = 2 * np.pi / period[own]
            axes = [steps[i] * np.arange(limits[c] + 1) for i, c in enumerate(own)]
            omega = np.stack([axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
            found = np.prod(steps) * part.density(omega)
            if not np.isfinite(found[0]):
                found[0] = np.prod(steps) * _cell_mean(part, steps)
            # Where the part is constant along a column, it has the frequency zero there.
            index = tuple(slice(None) if c in own else 0 for c in range(out.ndim))
            out[index] += found.reshape([limits[c] + 1 for c in own])
        return out

    def error(self, orthant: FloatArray, reach: FloatArray, period: FloatArray) -> float:
        """Return the largest error found at differences of rows, in units of k(x, x)."""
        largest = self.ranges + reach
        d = len(self.columns)
        n_random = max(20, min(_PROBES, 20_000_000 // orthant.size))
        random = np.random.default_rng(0).random((n_random, d))
        random[: n_random // 2] **= 4  # many small ones
        corners = np.array(list(product((0.0, 0.5, 1.0), repeat=d)))
        differences = np.concatenate([corners, random]) * largest
        found = orthant
        for c in range(d):
            modes = np.arange(orthant.shape[c])
            waves = np.cos(np.outer(differences[:, c], 2 * np.pi / period[c] * modes))
            waves[:, 1:] *= 2
            found = (
                np.tensordot(waves, found, (1, 0)) if c == 0 else np.einsum("nj,nj...->n...", waves, found)
            )
        rows = np.zeros((len(differences), self.n_columns))
        rows[:, list(self.columns)] = differences
        exact = np.sum([part.values(rows) for part in self.parts], axis=0)
        return float(np.abs(found - exact).max() / self.value)


def _cell_mean(part: StationaryPart, steps: FloatArray) -> float:
    """Return the mean density over the cell of the mode zero, where it has an integrable pole."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    axes = np.meshgrid(*[step / 2 * nodes for step in steps], indexing="ij")
    omega = np.stack([axis.reshape(-1) for axis in axes], axis=1)
    products = weights / 2
    for _ in steps[1:]:
        products = np.multiply.outer(products, weights / 2)
    return float(part.density(omega) @ products.reshape(-1))
