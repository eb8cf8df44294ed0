"""Conditionally positive definite kernels of the distance."""

from __future__ import annotations

from typing import Any

from .._validation import integer, real
from .base import Kernel
from .lowering import LARGEST_POWER, Columns, Lowering
from .radial import Radial


class Log(Kernel):
    """The log kernel, k(x, z) = −log(1 + ‖x − z‖^p), conditionally positive definite of order 1.

    Parameters
    ----------
    p : float, default=1.0
        Between 0 and 2.
    """

    order = 1

    def __init__(self, p: float = 1.0) -> None:
        self.p = p

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        p = real(self.p, "Log.p", above=0)
        if p > 2:
            raise ValueError(f"Log.p must be at most 2, got {self.p!r}")
        lowering.term("log", columns, p, owner=self, tunes={"a": "p"})

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return the exponents that make a kernel."""
        return 0.05, 2.0


class Multiquadric(Radial):
    """The multiquadric, k(x, z) = −√(1 + ‖x − z‖² / σ²), conditionally positive definite of order 1.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.

    Notes
    -----
    SciPy's RBFInterpolator writes ``epsilon = 1 / sigma``; the sign is the same.
    """

    _term, order = "multiquadric", 1


class Polyharmonic(Kernel):
    """Polyharmonic splines, with r = ‖x − z‖.

    k(x, z) = (−1)^⌈n/2⌉ r^n for an odd degree n, conditionally positive definite of order ⌈n/2⌉;
    (−1)^(n/2 + 1) r^n log r for an even one, of order n/2 + 1.

    Parameters
    ----------
    degree : int, default=3
        n, at least 1. 1, 3 and 5 are SciPy's "linear", "cubic" and "quintic", 2 is the thin plate.
    """

    def __init__(self, degree: int = 3) -> None:
        self.degree = degree

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """⌈n/2⌉ for odd degrees n, n/2 + 1 for even ones."""
        return self._checked_degree() // 2 + 1

    def _checked_degree(self) -> int:
        return integer(self.degree, "Polyharmonic.degree", minimum=1, maximum=LARGEST_POWER)

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        lowering.term("polyharmonic", columns, degree=self._checked_degree())


class ThinPlate(Polyharmonic):
    """The thin-plate spline, k(x, z) = r² log r, r = ‖x − z‖, conditionally positive definite of order 2.

    With ``features="linear"`` in the plane this is the smoothing spline that bends the least.
    """

    def __init__(self) -> None:
        pass

    degree = 2
