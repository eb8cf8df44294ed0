"""Kernels of the distance after a map of the columns: onto a sphere, or along axes that are turned."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._validation import FloatArray, real
from .base import Kernel
from .lowering import Columns, Lowering, Map


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


class _Mapped(Kernel):
    """A kernel of two columns that are mapped first."""

    kernel: Kernel

    def _mapping(self) -> Map:
        """Return where the columns go."""
        raise TypeError(f"{type(self).__name__} has no map of its columns")

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        self._require_two(X.shape[1])
        name = type(self).__name__
        for part in (self.kernel, *self.kernel.get_params(deep=True).values()):
            if isinstance(part, _Mapped):
                raise ValueError(f"{type(part).__name__} within {name}: columns are mapped once")
            if isinstance(part, Kernel) and part._reads_given():
                raise ValueError(f"views stand outside, {name}(kernel).after(transformer); found {part!r}")
            if getattr(part, "sigma", None) is not None and np.array_equal(part.sigma, "medians"):
                raise ValueError(f'{name} takes kernels with one width, such as "median"; found {part!r}')
        self.kernel._resolve(self._mapping().seen(X), None)

    def _require_two(self, n_columns: int) -> None:
        if n_columns != 2:
            name = type(self).__name__
            raise ValueError(
                f"{name} reads two columns, not {n_columns}: name them, {name}(kernel).on([0, 1])"
            )

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self._require_two(lowering.width_of(columns))
        with lowering.mapped(self._mapping(), columns, self):
            self.kernel._lower(lowering, columns)


class Sphere(_Mapped):
    r"""A kernel of places on a sphere, given as latitude and longitude in degrees.

    .. math:: k(‖u − v‖), \qquad u = R\,(\cos φ \cos λ,\ \cos φ \sin λ,\ \sin φ)

    with the straight distance through the sphere, 2R sin(δ/2) for the great-circle distance Rδ, and so
    positive definite for every kernel of the distance that is so in three dimensions. Functions of the
    great-circle distance itself are not in general: a Gaussian of it is indefinite.

    Parameters
    ----------
    kernel : Kernel
        Of the Euclidean distance, with one width; sums and products of such kernels too.
    radius : float, default=1.0
        R, the unit of the width: 6371.0 for kilometres on Earth.

    Notes
    -----
    Two columns, latitude (−90 to 90) before longitude (any; 190 and −170 are the same meridian, and a pole is
    one point). Of other tables name them: ``Sphere(Matern()).on(["latitude", "longitude"])``.

    Examples
    --------
    >>> from grls.kernels import Gaussian, Sphere
    >>> across = Sphere(Gaussian(500.0), radius=6371.0)
    >>> across([[10.0, 179.0]], [[10.0, -179.0], [10.0, 0.0]]).round(3)
    array([[0.909, 0.   ]])
    """

    def __init__(self, kernel: Kernel, radius: float = 1.0) -> None:
        self.kernel = kernel
        self.radius = radius

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """That of the kernel inside; of 2 or more the polynomials would be those of three coordinates."""
        return self.kernel.order

    def _demands(self, columns: tuple[int, ...]) -> list[tuple[Kernel, tuple[int, ...]]]:
        return self.kernel._demands(columns)

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        if self.kernel.order not in (0, 1, None):
            raise ValueError(
                f"Sphere takes kernels of order 0 or 1; {self.kernel!r} has order {self.kernel.order}, and "
                "needs polynomials that latitude and longitude do not give"
            )
        super()._lower(lowering, columns)

    def _mapping(self) -> Map:
        radius = real(self.radius, "Sphere.radius", above=0)
        return Map("Sphere", radius, (), 3, lambda X: radius * _places(X))


def _places(X: Any) -> FloatArray:
    """Return the points of the unit sphere at latitudes and longitudes in degrees, (n, 3)."""
    latitude, longitude = np.radians(_dense(X)).T
    across = np.cos(latitude)
    return np.column_stack([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)])


class Rotated(_Mapped):
    r"""A kernel of two columns whose width depends on the direction, along axes that are turned.

    .. math:: k\left(\sqrt{u^2 + (v / ratio)^2}\right), \qquad
              u = \cos α\,Δx + \sin α\,Δy, \quad v = -\sin α\,Δx + \cos α\,Δy

    The width σ of the kernel is that along the direction α, and σ · ratio that across it: the anisotropy of
    geostatistics.

    Parameters
    ----------
    kernel : Kernel
        Of the Euclidean distance, with one width; sums and products of such kernels too.
    angle : float, default=0.0
        α in degrees, from the first column's axis towards the second's, between −360 and 360; half a turn
        makes no difference. gstat counts from north clockwise: its angle is 90 − α.
    ratio : float, default=1.0
        The width across the direction as a multiple of that along it, greater than zero.

    See Also
    --------
    Gaussian : ``Gaussian([2.0, 1.0])`` has widths along the columns themselves, in any number of them.

    Examples
    --------
    >>> from grls.kernels import Gaussian, Rotated
    >>> kernel = Rotated(Gaussian(2.0), angle=45.0, ratio=0.25)
    >>> kernel([[0.0, 0.0]], [[1.0, 1.0], [1.0, -1.0]]).round(3)
    array([[0.779, 0.018]])
    """

    def __init__(self, kernel: Kernel, angle: float = 0.0, ratio: float = 1.0) -> None:
        self.kernel = kernel
        self.angle = angle
        self.ratio = ratio

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """That of the kernel inside: a linear map leaves polynomials what they are."""
        return self.kernel.order

    def _demands(self, columns: tuple[int, ...]) -> list[tuple[Kernel, tuple[int, ...]]]:
        return self.kernel._demands(columns)

    def _axes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the map, and its derivatives by the angle and the ratio; (2, 2) each."""
        angle = real(self.angle, "Rotated.angle", minimum=-360)
        if angle > 360:
            raise ValueError(f"Rotated.angle must be at most 360, got {self.angle!r}")
        ratio = real(self.ratio, "Rotated.ratio", above=0)
        cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        along, across = np.array([cosine, sine]), np.array([-sine, cosine])
        return (
            np.stack([along, across / ratio]),
            np.radians(1.0) * np.stack([across, -along / ratio]),
            np.stack([np.zeros(2), -across / ratio**2]),
        )

    def _mapping(self) -> Map:
        axes = self._axes()[0]
        return Map("Rotated", 0.0, tuple(axes.ravel().tolist()), 2, lambda X: _dense(X) @ axes.T)

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        super()._lower(lowering, columns)
        _, by_angle, by_ratio = self._axes()
        lowering.link_map(
            self, columns, "angle", lambda slope: np.atleast_1d(slope @ by_angle.ravel()), 720.0
        )
        lowering.link_map(self, columns, "ratio", lambda slope: np.atleast_1d(slope @ by_ratio.ravel()))

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return every direction with room beyond on both sides, and ratios of two digits."""
        return (-270.0, 270.0) if parameter == "angle" else (1e-2, 1e2)
