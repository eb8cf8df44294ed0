"""Kernels of compact support: zero between points further apart than their width."""

from __future__ import annotations

from typing import Any

from .._validation import integer
from .lowering import Columns, Lowering
from .radial import Radial


class Spherical(Radial):
    """The spherical kernel of geostatistics, k(x, z) = 1 − 3/2 h + h³/2, h = ‖x − z‖ / σ; 0 from h = 1 on.

    It is the share of a ball of diameter σ that a second one covers, and positive definite in up to three
    columns; on more it is an error, and `Wendland` serves.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The range, beyond which points have nothing to do with one another; or one per column. "median" takes
        the median distance between distinct training rows, "medians" that of each column times √d.

    Examples
    --------
    >>> from grls.kernels import Spherical
    >>> Spherical(sigma=2.0)([[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 0.3125, 0.    ],
           [0.3125, 1.    , 0.3125],
           [0.    , 0.3125, 1.    ]])
    """

    _term = "spherical"

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        dimension = lowering.dimension_of(columns)
        if dimension > 3:
            raise ValueError(
                f"Spherical is positive definite in at most 3 columns, and reads {dimension}: name the "
                "columns, Spherical().on([0, 1]), or use Wendland(), which suits any number"
            )
        self._lower_with_width(lowering, columns)


class Wendland(Radial):
    r"""Wendland's functions: polynomials in h = ‖x − z‖ / σ up to h = 1, zero beyond, of the least degree.

    .. math:: k = (1 - h)^l, \quad (1 - h)^{l+1} (1 + (l + 1) h), \quad
              (1 - h)^{l+2} \left(1 + (l + 2) h + \tfrac{(l + 1)(l + 3)}{3} h^2\right)

    for smoothness 0, 1 and 2 (and one more for 3), with l = ⌊d/2⌋ + smoothness + 1: positive definite in up
    to d dimensions. Functions have as many derivatives as a Matérn kernel of ν = smoothness + 1/2.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The range, beyond which points have nothing to do with one another; or one per column. "median" takes
        the median distance between distinct training rows, "medians" that of each column times √d.
    smoothness : {0, 1, 2, 3}, default=1
        The kernel has twice as many derivatives at zero.
    dimension : int or None, default=None
        d, at least the number of columns; None: that number. A larger one makes the kernel narrower.

    References
    ----------
    Wendland, Piecewise polynomial, positive definite and compactly supported radial functions of minimal
    degree, Advances in Computational Mathematics 4 (1995).

    Examples
    --------
    >>> from grls.kernels import Wendland
    >>> Wendland(sigma=2.0)([[0.0], [1.0], [2.0]])
    array([[1.    , 0.3125, 0.    ],
           [0.3125, 1.    , 0.3125],
           [0.    , 0.3125, 1.    ]])
    """

    def __init__(self, sigma: Any = "median", smoothness: int = 1, dimension: int | None = None) -> None:
        super().__init__(sigma)
        self.smoothness = smoothness
        self.dimension = dimension

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        smoothness = integer(self.smoothness, "Wendland.smoothness", minimum=0)
        if smoothness > 3:
            raise ValueError(f"Wendland.smoothness must be 0, 1, 2 or 3, got {self.smoothness!r}")
        dimension = needed = lowering.dimension_of(columns)
        if self.dimension is not None:
            dimension = integer(self.dimension, "Wendland.dimension", minimum=1)
            if dimension < needed:
                raise ValueError(
                    f"Wendland.dimension is {dimension}, but the kernel reads points of dimension {needed}, "
                    "for which it is not positive definite: give at least that, or None"
                )
        exponent = float(dimension // 2 + smoothness + 1)
        self._lower_with_width(lowering, columns, term="wendland", b=exponent, degree=smoothness)
