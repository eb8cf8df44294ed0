"""A kernel's formula on its way into the compiled core, and where its parameters stand in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._solvers.kernel_values import Formula

if TYPE_CHECKING:
    from .base import Kernel

Columns = tuple[int, ...] | None  # None: all of them

# What users may say: positions, names, a slice of either, booleans, or a function of X that gives these.
ColumnChoice = int | str | slice | Sequence[int] | Sequence[str] | Sequence[bool] | Callable[[Any], Any]


@dataclass(frozen=True)
class Link:
    """Where a parameter of a kernel stands in its formula, so that a derivative finds its way back."""

    owner: Kernel
    parameter: str
    slot: str  # "a", "b" and "coefficients" of a step, "widths" and "periods" of a group of columns
    index: int  # of the step or the group
    columns: Columns  # that the owner reads


class Lowering:
    """Collects a formula in postfix order. Terms that read the same columns share their tiles.

    `tunes` of a step maps slots to the owner's parameters. For the sake of their derivatives, widths and
    periods of different kernels are kept apart where `tuning`.
    """

    def __init__(self, n_columns: int, *, tuning: bool = False) -> None:
        self.n_columns = n_columns
        self.links: list[Link] = []
        self._tuning = tuning
        self._groups: dict[tuple[Any, ...], int] = {}
        self._steps: list[tuple[str, int, float, float, int]] = []
        self._series: list[list[float]] = []

    def width_of(self, columns: Columns) -> int:
        """Return how many columns a term reads."""
        return self.n_columns if columns is None else len(columns)

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
        key = (columns or (), widths, periods, center, name == "chi_squared")
        separate = id(owner) if self._tuning and (widths or periods) else None
        group = self._groups.setdefault((*key, separate), len(self._groups))
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

    def series(self, coefficients: list[float], *, owner: Kernel, tunes: dict[str, str]) -> None:
        """Push a power series of what was pushed last."""
        self._push(("series", len(self._series), 0.0, 0.0, 0), None, owner, tunes)
        self._series.append(coefficients)

    def _push(
        self,
        step: tuple[str, int, float, float, int],
        columns: Columns,
        owner: Kernel | None,
        tunes: dict[str, str] | None,
    ) -> None:
        for slot, parameter in (tunes or {}).items():
            assert owner is not None
            index = step[1] if slot in ("widths", "periods") else len(self._steps)
            self.links.append(Link(owner, parameter, slot, index, columns))
        self._steps.append(step)

    def written(self) -> tuple[Any, ...]:
        """Return all that the formula is made of, to compare it with another."""
        return tuple(self._groups), tuple(self._steps), tuple(map(tuple, self._series))

    def formula(self) -> Formula:
        """Return the formula for the core."""
        groups = [
            (list(columns), list(widths), list(periods)) for columns, widths, periods, *_ in self._groups
        ]
        centres = [list(center) for *_, center, _, _ in self._groups]
        moved = {"centres": centres} if any(centres) else {}
        return Formula(groups, self._steps, self._series, **moved)
