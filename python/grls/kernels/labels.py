"""Kernels of labels: codes of categories, which are equal or not.

Labels are numbers: any, as long as equal ones mean the same; or text in columns that the kernel names, as
``Overlap().on(["colour"])``, of which a fit makes codes. They have an order, of which nothing is made here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Kernel
from .lowering import Columns, Lowering
from .radial import Radial


class Overlap(Kernel):
    """The share of columns in which two rows agree, k(x, z) = 1 − (1/d) Σ_c [x_c ≠ z_c].

    Gower's similarity of categories. For tables of both kinds, add the kernels of the columns:
    ``Overlap().on(["colour", "kind"]) + Gaussian().on(["height", "width"])``.

    Examples
    --------
    >>> from grls.kernels import Overlap
    >>> Overlap()([[0.0, 7.0], [0.0, 2.0], [1.0, 2.0]])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])

    Text is read where the columns are named, and labels that training rows did not have agree with none of
    theirs:

    >>> kernel = Overlap().on([0, 1])
    >>> kernel([["red", "round"], ["blue", "round"]], [["green", "round"], ["red", "flat"]])
    array([[0.5, 0.5],
           [0.5, 0. ]])
    """

    @property
    def compares_labels(self) -> bool:
        """It does nothing else."""
        return True

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        lowering.term("overlap", columns, 1 / lowering.width_of(columns), owner=self)


class Categorical(Radial):
    """The kernel of labels that differ, k(x, z) = exp(−Σ_c [x_c ≠ z_c] / σ_c).

    Unlike `Overlap` it tells rows apart by all their labels at once, and learns which columns matter. Labels
    are numbers, or text in columns that it names, ``Categorical().on(["soil"])``.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median number of columns in which distinct
        training rows differ, "medians" d for each column.
    shared : bool or "auto", default="auto"
        Whether the kernel keeps ρ = exp(−Σ_c 1/σ_c), which any two rows have in common. Without it the kernel
        is (k − ρ)/(1 − ρ): of one column that is `Overlap`, a random effect of each label, and σ then says
        nothing. "auto" keeps it, but `GRLSRegressor` leaves it out beside free features that say the same:
        where labels are a summand beside a constant, or times `Linear` beside a trend in its columns.

    Examples
    --------
    >>> from grls.kernels import Categorical
    >>> Categorical(sigma=1.0)([[0.0, 7.0], [0.0, 2.0], [1.0, 2.0]]).round(3)
    array([[1.   , 0.368, 0.135],
           [0.368, 1.   , 0.368],
           [0.135, 0.368, 1.   ]])
    """

    _term = "hamming"

    def __init__(self, sigma: Any = "median", shared: bool | str = "auto") -> None:
        super().__init__(sigma)
        self.shared = shared

    @property
    def compares_labels(self) -> bool:
        """It does nothing else."""
        return True

    @property
    def _metric(self) -> str:
        return "hamming"

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        if self.shared not in (True, False, "auto"):
            raise ValueError(f'Categorical.shared must be True, False or "auto", got {self.shared!r}')
        if self.shared is not False:
            super()._lower(lowering, columns)
            return
        widths = np.array(self.widths(lowering.width_of(columns)))
        if len(widths) == 1:
            lowering.term("overlap", columns, 1.0, owner=self)
            return
        super()._lower(lowering, columns)
        rest = -np.expm1(-np.sum(1 / widths))  # 1 − ρ
        slopes = (1 - rest) / widths**2 / rest**2  # of 1 / (1 − ρ), by each width
        lowering.series(
            [1 - 1 / rest, 1 / rest],
            owner=self,
            tunes={"coefficients": "sigma"},
            chain=lambda by: (by[1] - by[0]) * slopes,
        )

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return widths from where labels that differ have nothing in common to where they are alike."""
        return 5e-2, 1e4 * X.shape[1]
