"""Kernels of the distance after a map of the columns: onto a sphere, or along axes that are turned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._validation import FloatArray, real
from .base import Kernel
from .lowering import Columns, Lowering, Map


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


class _Mapped(Kernel):
    """A kernel of columns that are mapped first."""

    kernel: Kernel

    def _mapping(self) -> Map:
        """Return where the columns go."""
        raise TypeError(f"{type(self).__name__} has no map of its columns")

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        self._require_columns(X.shape[1])
        name = type(self).__name__
        for part in (self.kernel, *self.kernel.get_params(deep=True).values()):
            if isinstance(part, _Mapped):
                raise ValueError(f"{type(part).__name__} within {name}: columns are mapped once")
            if isinstance(part, Kernel) and part._reads_given():
                raise ValueError(f"views stand outside, {name}(kernel).after(transformer); found {part!r}")
            if getattr(part, "sigma", None) is not None and np.array_equal(part.sigma, "medians"):
                raise ValueError(f'{name} takes kernels with one width, such as "median"; found {part!r}')
        self.kernel._resolve(self._mapping().seen(X), None)

    def _require_columns(self, n_columns: int) -> None:
        self._require(n_columns, "two", "[0, 1]")

    def _require(self, n_columns: int, wanted: str, columns: str, remedy: str = "") -> None:
        if n_columns != {"two": 2, "three": 3}[wanted]:
            name = type(self).__name__
            raise ValueError(
                f"{name} reads {wanted} columns, not {n_columns}: name them, {name}(kernel).on({columns})"
                f"{remedy}"
            )

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self._require_columns(lowering.width_of(columns))
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

    def _demands(self, columns: Sequence[int]) -> list[tuple[Kernel, Sequence[int]]]:
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


def _turned(first: int, second: int, degrees: float) -> tuple[FloatArray, FloatArray]:
    """Return coordinates of space along axes, one turned towards another, and their derivative; (3, 3)."""
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn, slope = np.eye(3), np.zeros((3, 3))
    plane = np.ix_([first, second], [first, second])
    turn[plane] = [[cosine, sine], [-sine, cosine]]
    slope[plane] = np.radians(1.0) * np.array([[-sine, cosine], [-cosine, -sine]])
    return turn, slope


class Rotated(_Mapped):
    r"""A kernel of two or three columns whose width depends on the direction, along axes that are turned.

    .. math:: k\left(\sqrt{u^2 + (v / ratio)^2}\right), \qquad
              u = \cos α\,Δx + \sin α\,Δy, \quad v = -\sin α\,Δx + \cos α\,Δy

    The width σ of the kernel is that along the direction α, and σ · ratio that across it: the anisotropy of
    geostatistics. Of three columns with the angles α, δ, ρ and the ratios a, b

    .. math:: k\left(\sqrt{u^2 + (v / a)^2 + (w / b)^2}\right), \qquad
              \begin{pmatrix} u \\ v \\ w \end{pmatrix} =
              \begin{pmatrix} 1 & 0 & 0 \\ 0 & \cos ρ & \sin ρ \\ 0 & -\sin ρ & \cos ρ \end{pmatrix}
              \begin{pmatrix} \cos δ & 0 & \sin δ \\ 0 & 1 & 0 \\ -\sin δ & 0 & \cos δ \end{pmatrix}
              \begin{pmatrix} \cos α & \sin α & 0 \\ -\sin α & \cos α & 0 \\ 0 & 0 & 1 \end{pmatrix}
              \begin{pmatrix} Δx \\ Δy \\ Δz \end{pmatrix}

    The width is σ along the direction (cos α cos δ, sin α cos δ, sin δ).

    Parameters
    ----------
    kernel : Kernel
        Of the Euclidean distance, with one width; sums and products of such kernels too.
    angle : float or array-like of shape (3,), default=0.0
        In degrees, between −360 and 360. One number, of two columns: α from the first column's axis towards
        the second's; half a turn makes no difference. gstat counts from north clockwise: its angle is 90 − α.
        Three numbers, of three columns, in this order: the azimuth α as before, the dip δ from the plane of
        the first two columns towards the third's axis, and the rake ρ about the direction that these two
        give, from the level axis across it towards the one that is upright.
    ratio : float or array-like of shape (2,), default=1.0
        The width across the direction as a multiple of that along it, greater than zero; of three columns
        along the second and the third axis. One number is both, and then the rake makes no difference.

    Notes
    -----
    Where all ratios are 1 no angle makes a difference, and nothing tells an optimization which way to turn:
    start from another one. At a dip of 90 degrees azimuth and rake are turns about the same axis.

    See Also
    --------
    Gaussian : ``Gaussian([2.0, 1.0])`` has widths along the columns themselves, in any number of them.

    Examples
    --------
    >>> from grls.kernels import Gaussian, Rotated
    >>> kernel = Rotated(Gaussian(2.0), angle=45.0, ratio=0.25)
    >>> kernel([[0.0, 0.0]], [[1.0, 1.0], [1.0, -1.0]]).round(3)
    array([[0.779, 0.018]])
    >>> layers = Rotated(Gaussian(2.0), angle=(0.0, 30.0, 0.0), ratio=(1.0, 0.25))
    >>> layers([[0.0, 0.0, 0.0]], [[1.732, 0.0, 1.0], [-0.5, 0.0, 0.866]]).round(3)
    array([[0.607, 0.135]])
    """

    def __init__(
        self, kernel: Kernel, angle: float | ArrayLike = 0.0, ratio: float | ArrayLike = 1.0
    ) -> None:
        self.kernel = kernel
        self.angle = angle
        self.ratio = ratio

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """That of the kernel inside: a linear map leaves polynomials what they are."""
        return self.kernel.order

    def _demands(self, columns: Sequence[int]) -> list[tuple[Kernel, Sequence[int]]]:
        return self.kernel._demands(columns)

    @property
    def _dimension(self) -> int:
        shape = np.shape(self.angle)
        if shape not in ((), (3,)):
            raise ValueError(
                "Rotated.angle must be one number, of two columns, or three, of three columns; got "
                f"{self.angle!r}"
            )
        return 2 if shape == () else 3

    def _require_columns(self, n_columns: int) -> None:
        if self._dimension == 2:
            self._require(n_columns, "two", "[0, 1]", "; three columns have three angles" * (n_columns == 3))
        else:
            self._require(n_columns, "three", "[0, 1, 2]", "; two columns have one angle" * (n_columns == 2))

    def _angles(self) -> list[float]:
        angles = [
            real(angle, "Rotated.angle", minimum=-360)
            for angle in ([self.angle] if self._dimension == 2 else np.asarray(self.angle).tolist())
        ]
        if max(angles) > 360:
            raise ValueError(f"Rotated.angle must be at most 360, got {self.angle!r}")
        return angles

    def _ratios(self) -> list[float]:
        shape = np.shape(self.ratio)
        if shape not in ((), (2,)) or (shape and self._dimension == 2):
            raise ValueError(
                "Rotated.ratio must be one number, or of three columns two; got "
                f"{self.ratio!r} with the angle {self.angle!r}"
            )
        return [
            real(ratio, "Rotated.ratio", above=0)
            for ratio in (np.asarray(self.ratio).tolist() if shape else [self.ratio])
        ]

    def _axes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the map (d, d), and its derivatives by angles and ratios, (…, d, d)."""
        angles, ratios = self._angles(), self._ratios()
        if len(angles) == 3:
            return _axes_in_space(angles, ratios)
        (angle,), (ratio,) = angles, ratios
        cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        along, across = np.array([cosine, sine]), np.array([-sine, cosine])
        return (
            np.stack([along, across / ratio]),
            np.radians(1.0) * np.stack([across, -along / ratio])[None],
            np.stack([np.zeros(2), -across / ratio**2])[None],
        )

    def _mapping(self) -> Map:
        axes = self._axes()[0]
        return Map("Rotated", 0.0, tuple(axes.ravel().tolist()), len(axes), lambda X: _dense(X) @ axes.T)

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        super()._lower(lowering, columns)
        _, by_angles, by_ratios = self._axes()

        def chain(by: FloatArray) -> Callable[[FloatArray], FloatArray]:
            return lambda slope: np.array([slope @ each.ravel() for each in by])

        lowering.link_map(self, columns, "angle", chain(by_angles), 720.0)
        lowering.link_map(self, columns, "ratio", chain(by_ratios))

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return every direction with room beyond on both sides, and ratios of two digits."""
        return (-270.0, 270.0) if parameter == "angle" else (1e-2, 1e2)


def _axes_in_space(angles: list[float], ratios: list[float]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the map of three columns, and its derivatives by azimuth, dip and rake, and by the ratios."""
    planes = ((0, 1), (0, 2), (1, 2))
    turns = [_turned(*plane, angle) for plane, angle in zip(planes, angles, strict=True)]
    (azimuth, by_azimuth), (dip, by_dip), (rake, by_rake) = turns
    axes = rake @ dip @ azimuth
    widths = np.array([1.0, ratios[0], ratios[-1]])[:, None]
    by_angles = np.stack([rake @ dip @ by_azimuth, rake @ by_dip @ azimuth, by_rake @ dip @ azimuth])
    by_widths = -np.eye(3)[1:, :, None] * axes / widths**2
    by_ratios = by_widths if len(ratios) == 2 else by_widths.sum(axis=0, keepdims=True)
    return axes / widths, by_angles / widths, by_ratios
