"""A kernel's formula on its way into the compiled core, and where its parameters stand in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._solvers.kernel_values import Formula
from .._validation import FloatArray

if TYPE_CHECKING:
    from .base import Kernel

Columns = tuple[int, ...] | None  # None: all of them

# What users may say: positions, names, a slice of either, booleans, or a function of X that gives these.
ColumnChoice = int | str | slice | Sequence[int] | Sequence[str] | Sequence[bool] | Callable[[Any], Any]

LARGEST_POWER = 2**31 - 1  # the core counts powers in 32 bits

# Slots that belong to a group of columns, and not to a step.
GROUP_SLOTS = ("widths", "periods", "maps")

_PRODUCTS = ("linear", "polynomial", "sigmoid")

# What reads columns in a way of its own has a group of its own.
_READINGS = {
    "chi_squared": "histograms",
    "laplace_l1": "absolute differences",
    "overlap": "labels",
    "hamming": "labels",
}


@dataclass(frozen=True)
class Link:
    """Where a parameter of a kernel stands in its formula, so that a derivative finds its way back."""

    owner: Kernel
    parameter: str
    slot: str  # "a", "b" and "coefficients" of a step, one of `GROUP_SLOTS` of a group of columns
    index: int  # of the step or the group
    columns: Columns  # that the owner reads
    seen: Callable[[Any], Any] | None = None  # what becomes of these columns before the owner reads them
    chain: Callable[[FloatArray], FloatArray] | None = (
        None  # from the derivatives by a slot to the parameter's
    )
    offset: float = 0.0  # the parameter plus this is positive, and tuned on a logarithmic scale


@dataclass(frozen=True)
class Map:
    """What becomes of columns before kernels read distances: a place on a sphere, or a linear map."""

    name: str  # of the kernel that maps, for errors
    radius: float  # 0: no sphere
    matrix: tuple[float, ...]  # row by row
    dimension: int  # of the points that distances are of
    seen: Callable[[Any], Any]


class Lowering:
    """Collects a formula in postfix order. Terms that read the same columns share their tiles.

    `tunes` of a step maps slots to the owner's parameters. For the sake of their derivatives, widths and
    periods of different kernels are kept apart where `tuning`.
    """

    def __init__(self, n_columns: int, *, tuning: bool = False) -> None:
        self.n_columns = n_columns
        self.links: list[Link] = []
        self._tuning = tuning
        self._map: tuple[Map, Columns, int] | None = None  # with its columns and its owner's id
        self._groups: dict[tuple[Any, ...], int] = {}
        self._steps: list[tuple[str, int, float, float, int]] = []
        self._series: list[list[float]] = []
        self._seen: dict[int, Callable[[Any], Any]] = {}  # of groups with a map

    def width_of(self, columns: Columns) -> int:
        """Return how many columns a term reads."""
        return self.n_columns if columns is None else len(columns)

    def dimension_of(self, columns: Columns) -> int:
        """Return how many coordinates the points have whose distances a term reads."""
        return self.width_of(columns) if self._map is None else self._map[0].dimension

    @contextmanager
    def mapped(self, mapping: Map, columns: Columns, owner: Kernel) -> Iterator[None]:
        """Let terms within read distances of mapped columns."""
        if self._map is not None:
            raise ValueError(f"{mapping.name} within {self._map[0].name}: columns are mapped once")
        self._map = (mapping, columns, id(owner))
        try:
            yield
        finally:
            self._map = None

    def link_map(
        self,
        owner: Kernel,
        columns: Columns,
        parameter: str,
        chain: Callable[[FloatArray], FloatArray],
        offset: float = 0.0,
    ) -> None:
        """Say how the map of an owner depends on a parameter of it."""
        for key, group in self._groups.items():
            if key[-1] == id(owner):
                self.links.append(Link(owner, parameter, "maps", group, columns, None, chain, offset))

    def term(
        self,
        name: str,
        columns: Columns,
        a: float = 0.0,
        b: float = 0.0,
        degree: int = 0,
        widths: tuple[float, ...] = (),
        periods: tuple[float, ...] = (),
        center: tuple[float, ...] = (),
        *,
        owner: Kernel | None = None,
        tunes: dict[str, str] | None = None,
    ) -> None:
        """Push the values of a kernel of inner products or distances."""
        # Histograms are read as they are, points moved to their centre: the two do not share a group.
        reading = _READINGS.get(name, "")
        mapping: tuple[float, tuple[float, ...]] = (0.0, ())
        separate = id(owner) if self._tuning and (widths or periods) else None
        if self._map is not None:
            within, mapped_columns, map_owner = self._map
            if columns != mapped_columns or widths or periods or reading or name in _PRODUCTS:
                raise ValueError(
                    f"{within.name} takes kernels of the Euclidean distance with one width, which read all "
                    f"its columns; found {owner!r}"
                )
            mapping = (within.radius, within.matrix)
            separate = map_owner if self._tuning else None
        key = (columns or (), widths, periods, center, reading, mapping)
        group = self._groups.setdefault((*key, separate), len(self._groups))
        if self._map is not None:
            self._seen[group] = self._map[0].seen
        self._push((name, group, a, b, degree), columns, owner, tunes)

    def combine(
        self,
        name: str,
        a: float = 0.0,
        degree: int = 0,
        *,
        owner: Kernel | None = None,
        tunes: dict[str, str] | None = None,
    ) -> None:
        """Push an operation on what was pushed before."""
        self._push((name, 0, a, 0.0, degree), None, owner, tunes)

    def series(
        self,
        coefficients: list[float],
        *,
        owner: Kernel,
        tunes: dict[str, str],
        chain: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        """Push a power series of what was pushed last; `chain`: see `Link`."""
        self._push(("series", len(self._series), 0.0, 0.0, 0), None, owner, tunes, chain)
        self._series.append(coefficients)

    def _push(
        self,
        step: tuple[str, int, float, float, int],
        columns: Columns,
        owner: Kernel | None,
        tunes: dict[str, str] | None,
        chain: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        for slot, parameter in (tunes or {}).items():
            assert owner is not None
            index = step[1] if slot in GROUP_SLOTS else len(self._steps)
            seen = None if self._map is None else self._map[0].seen
            self.links.append(Link(owner, parameter, slot, index, columns, seen, chain))
        self._steps.append(step)

    def written(self) -> tuple[Any, ...]:
        """Return all that the formula is made of, to compare it with another."""
        return tuple(self._groups), tuple(self._steps), tuple(map(tuple, self._series))

    def coordinates(self, X: Any) -> Any:
        """Return what kernels see of rows, (n, p): columns, each group in units of its smallest width."""
        width: dict[int, float] = {}
        for link in self.links:
            if link.slot == "a" and link.parameter == "sigma":
                _, group, a, *_ = self._steps[link.index]
                width[group] = min(a, width.get(group, a))
        parts = []
        for group, (columns, widths, periods, *_) in enumerate(self._groups):
            part = X[:, list(columns)] if columns else X
            if group in self._seen or periods:
                part = part.toarray() if sparse.issparse(part) else np.asarray(part, dtype=np.float64)
            if group in self._seen:
                part = self._seen[group](part)
            if periods:
                angles = 2 * np.pi * part / np.array(periods)
                part = np.hstack([np.cos(angles), np.sin(angles)])
                widths = widths * 2
            scale = 1 / (np.array(widths or (1.0,)) * width.get(group, 1.0))
            parts.append(part.multiply(scale).tocsr() if sparse.issparse(part) else part * scale)
        if not parts:
            return X
        return sparse.hstack(parts, format="csr") if sparse.issparse(X) else np.hstack(parts)

    def formula(self) -> Formula:
        """Return the formula for the core."""
        groups = [
            (list(columns), list(widths), list(periods)) for columns, widths, periods, *_ in self._groups
        ]
        centres = [list(center) for _, _, _, center, *_ in self._groups]
        maps = [(radius, list(matrix)) for *_, (radius, matrix), _ in self._groups]
        moved = centres if any(centres) else []
        mapped = maps if any(radius or matrix for radius, matrix in maps) else []
        return Formula(groups, self._steps, self._series, moved, mapped)
