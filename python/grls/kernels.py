"""Kernels and their algebra.

A kernel is a small object with parameters in scikit-learn's manner (``get_params``, ``kernel__sigma`` in a
grid). Kernels add, multiply, take powers and scale; the formula is lowered once and evaluated in C++, tile by
tile.

>>> from grls.kernels import Gaussian, Linear
>>> 2.0 * Gaussian(sigma=1.5) + Linear() ** 2
2.0 * Gaussian(sigma=1.5) + Linear() ** 2
>>> Gaussian(sigma=1.0)([[0.0], [1.0]]).round(3)
array([[1.   , 0.607],
       [0.607, 1.   ]])

With r = ‖x − z‖, where every width σ is one number or one per column:

===================  ====================  ==========================================  ===========
kernel               name                  value                                       order
===================  ====================  ==========================================  ===========
`Constant`           "constant"            value                                       0
`Linear`             "linear"              ⟨x, z⟩                                      0
`Polynomial`         "polynomial"          (⟨x, z⟩ + c)^degree                         0
`Cosine`             "cosine"              ⟨x, z⟩ / (‖x‖ ‖z‖)                          0
`Sigmoid`            "sigmoid"             tanh(a ⟨x, z⟩ + c)                          None
`Gaussian`           "gaussian"            exp(−r² / (2σ²))                            0
`Laplace`            "laplace"             exp(−r / σ)                                 0
`Matern`             "matern"              (1 + s) exp(−s), s = √3 r / σ, for ν = 3/2  0
`RationalQuadratic`  "rational_quadratic"  (1 + r² / (2ασ²))^−α                        0
`Periodic`           "periodic"            exp(−2 Σ sin²(π (x − z) / period) / σ²)     0
`ChiSquared`         "chi_squared"         exp(−γ Σ (x − z)² / (x + z))                0
`Log`                "log"                 −log(1 + r^p)                               1
`Multiquadric`       "multiquadric"        −√(1 + r² / σ²)                             1
`ThinPlate`          "thin_plate"          r² log r                                    2
`Polyharmonic`       "polyharmonic"        ± r^n, for even n ± r^n log r               ⌊n / 2⌋ + 1
`Precomputed`        "precomputed"         the matrix given in place of X              0
===================  ====================  ==========================================  ===========

The order says what a kernel guarantees. 0: positive definite. q: conditionally positive definite, it needs
all polynomials of degree below q among the features (1: ``features="constant"``, 2: ``"linear"``, 3:
``"quadratic"``), and estimators check that they are there. None: nothing, a fit may fail.

Kernels make kernels: ``k1 + k2``, ``k1 * k2``, ``2.0 * k``, ``k ** 3``, ``k.exp()``,
``PowerSeries(k, coefficients)``, ``k.normalized()`` and ``k.on(columns)``. However long the formula, it is
evaluated in one pass, and all its terms share the inner products and distances they read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array

from . import _core
from ._rows import distance_range, median_distance
from ._threads import get_num_threads
from ._validation import FloatArray, column_positions, for_core, integer, real, shown

__all__ = [
    "ChiSquared",
    "Constant",
    "Cosine",
    "Exponential",
    "Function",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Linear",
    "Log",
    "Matern",
    "Multiquadric",
    "Normalized",
    "OnColumns",
    "Periodic",
    "Polyharmonic",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "ThinPlate",
    "as_kernel",
]

Columns = tuple[int, ...] | None  # None: all of them


@dataclass(frozen=True)
class Link:
    """Where a parameter of a kernel stands in its formula, so that a derivative finds its way back."""

    owner: Kernel
    parameter: str
    slot: str  # "a", "b" and "coefficients" of a step, "widths" and "periods" of a group of columns
    index: int  # of the step or the group
    columns: Columns  # that the owner reads


class _Lowering:
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
        *,
        owner: Kernel | None = None,
        tunes: dict[str, str] | None = None,
    ) -> None:
        # Histograms are read as they are, points moved to their centre: the two do not share a group.
        key = (columns or (), widths, periods, name == "chi_squared")
        apart = id(owner) if self._tuning and (widths or periods) else None
        group = self._groups.setdefault((*key, apart), len(self._groups))
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
        self._push((name, 0, a, 0.0, degree), None, owner, tunes)

    def series(self, coefficients: list[float], *, owner: Kernel, tunes: dict[str, str]) -> None:
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

    def formula(self) -> _core.Formula:
        groups = [
            (list(columns), list(widths), list(periods)) for columns, widths, periods, *_ in self._groups
        ]
        return _core.Formula(groups, self._steps, self._series)


def _alike(X: Any, Z: Any) -> tuple[Any, Any]:
    """Return two data matrices for the core, both dense or both sparse as the second one is."""
    if sparse.issparse(X) != sparse.issparse(Z):
        X = X.toarray() if sparse.issparse(X) else sparse.csr_matrix(X)
    return for_core(X), for_core(Z)


class Kernel(BaseEstimator):
    """Base class of all kernels.

    A kernel of one's own is most easily a plain function ``k(X, Z) -> matrix``, which every estimator takes;
    a new built-in kernel is a subclass with `_lower` and a term in the C++ core.
    """

    #: 0: positive definite; q: conditionally so, given the polynomials of degree below q; None: no guarantee.
    order: int | None = 0

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> FloatArray:
        """Return the kernel matrix.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            One set of points.
        Z : {array-like, CSR matrix} of shape (p, d), default=None
            The other set; None means X itself.

        Returns
        -------
        ndarray of shape (n, p)
            k(x_i, z_j).
        """
        names = getattr(X, "columns", None)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        Z = X if Z is None else check_array(Z, accept_sparse="csr", dtype=[np.float64, np.float32])
        return self.resolve(X, names).matrix(X, Z)

    def resolve(self, X: Any, feature_names: Sequence[str] | None = None) -> Kernel:
        """Return a copy in which everything left to the data is fixed: ``"median"`` widths, column names."""
        copy: Kernel = clone(self)
        copy._resolve(X, None if feature_names is None else list(feature_names))
        return copy

    def matrix(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel matrix of a resolved kernel and checked data."""
        return _core.kernel_matrix(self.lower(X.shape[1]), *_alike(X, Z), get_num_threads())

    def times(self, X: Any, Z: Any, c: FloatArray) -> FloatArray:
        """Return ``matrix(X, Z) @ c`` without storing the matrix."""
        return _core.kernel_times(self.lower(X.shape[1]), *_alike(X, Z), c, get_num_threads())

    def diagonal(self, X: Any) -> FloatArray:
        """Return k(x, x) of a resolved kernel at the rows of checked data."""
        return _core.kernel_diagonal(self.lower(X.shape[1]), for_core(X), get_num_threads())

    def lower(self, n_columns: int) -> _core.Formula:
        """Return the formula the compiled core evaluates on data with `n_columns` columns."""
        lowering = _Lowering(n_columns)
        self._lower(lowering, None)
        return lowering.formula()

    def lower_for_tuning(self, n_columns: int) -> tuple[_core.Formula, list[Link]]:
        """Return the formula of a resolved kernel, and where its parameters stand in it."""
        lowering = _Lowering(n_columns, tuning=True)
        self._lower(lowering, None)
        return lowering.formula(), lowering.links

    def is_same(self, other: Kernel, n_columns: int) -> bool:
        """Whether another resolved kernel has the same formula on data with `n_columns` columns."""
        return not isinstance(other, Function) and self._written(n_columns) == other._written(n_columns)

    def _written(self, n_columns: int) -> tuple[Any, ...]:
        lowering = _Lowering(n_columns)
        self._lower(lowering, None)
        return lowering.written()

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return between what a positive parameter is tuned; X holds the columns this kernel reads."""
        value = np.asarray(getattr(self, parameter), dtype=np.float64)
        return 1e-5 * value, 1e5 * value

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        """Fix in place what depends on the data; X holds the columns this kernel reads."""

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        raise TypeError(f"{type(self).__name__} cannot be a part of a larger kernel")

    def demands(self, n_columns: int) -> list[tuple[Kernel, tuple[int, ...]]]:
        """Return the parts of a resolved kernel that need polynomials as features, with their columns."""
        return self._demands(tuple(range(n_columns)))

    def _demands(self, columns: tuple[int, ...]) -> list[tuple[Kernel, tuple[int, ...]]]:
        return [(self, columns)] if self.order else []

    # The algebra. Every result is again a kernel, by the closure properties of positive definite functions.

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, _operand(other))

    def __radd__(self, other: float) -> Kernel:
        return Sum(_operand(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else Scaled(other, self)

    def __rmul__(self, other: float) -> Kernel:
        return Scaled(other, self)

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)

    def exp(self) -> Kernel:
        """Return the kernel exp(k)."""
        return Exponential(self)

    def normalized(self) -> Kernel:
        """Return the kernel k(x, z) / √(k(x, x) k(z, z)).

        Examples
        --------
        >>> from grls.kernels import Polynomial
        >>> kernel = Polynomial(degree=2).normalized()
        >>> kernel
        Polynomial(degree=2, c=1.0).normalized()
        >>> kernel([[1.0, 0.0]], [[1.0, 0.0], [0.0, 3.0]]).round(3)
        array([[1. , 0.05]])
        """
        return Normalized(self)

    def on(self, columns: int | str | Sequence[int] | Sequence[str]) -> Kernel:
        """Return this kernel acting on some columns only, given by position or by DataFrame name.

        Examples
        --------
        >>> from grls.kernels import Gaussian, Laplace
        >>> Gaussian(sigma=2.0).on(["x", "y"]) * Laplace(sigma=1.0).on("time")
        Gaussian(sigma=2.0).on(['x', 'y']) * Laplace(sigma=1.0).on('time')
        """
        return OnColumns(self, columns)

    # A formula's repr can be read back, unless it has so many widths or columns that it shows some of them.
    # It puts parentheses where a looser operation stands inside a tighter one.
    _binding = 3

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        values = self.get_params(deep=False)
        names = [name for name in signature(type(self).__init__).parameters if name in values]
        return f"{type(self).__name__}({', '.join(f'{name}={shown(values[name])}' for name in names)})"

    def _inside(self, binding: int) -> str:
        return f"({self!r})" if self._binding < binding else repr(self)


def _operand(value: Kernel | float) -> Kernel:
    return value if isinstance(value, Kernel) else Constant(value)


# Kernels of the inner product.


class Constant(Kernel):
    """The constant kernel, k(x, z) = value.

    Parameters
    ----------
    value : float, default=1.0
        Not negative. A small constant penalises the intercept softly; an unpenalised one is a feature.
    """

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        value = real(self.value, "Constant.value", minimum=0)
        lowering.combine("constant", value, owner=self, tunes={"a": "value"})


class Linear(Kernel):
    """The linear kernel, k(x, z) = ⟨x, z⟩."""

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        lowering.term("linear", columns)


class Polynomial(Kernel):
    """The polynomial kernel, k(x, z) = (⟨x, z⟩ + c)^degree.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    c : float, default=1.0
        Not negative; 0 gives the homogeneous kernel.
    """

    def __init__(self, degree: int = 3, c: float = 1.0) -> None:
        self.degree = degree
        self.c = c

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        degree = integer(self.degree, "Polynomial.degree", minimum=1)
        c = real(self.c, "Polynomial.c", minimum=0)
        lowering.term("polynomial", columns, c, degree=degree, owner=self, tunes={"a": "c"})

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return bounds in terms of the mean of ⟨x, x⟩, beside which c counts or not."""
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X, dtype=np.float64)
        size = float(squares.sum()) / X.shape[0] or 1.0
        return 1e-4 * size, 1e4 * size


class Cosine(Kernel):
    """The cosine of the angle between two rows, k(x, z) = ⟨x, z⟩ / (‖x‖ ‖z‖); zero where a row is.

    It is ``Linear().normalized()`` under the name it has for text.
    """

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        lowering.term("linear", columns)
        lowering.combine("normalize")


class Sigmoid(Kernel):
    """The sigmoid "kernel", k(x, z) = tanh(a ⟨x, z⟩ + c).

    It is not positive definite: a fit may fail with `NotPositiveDefiniteError`, and a larger regularization
    then helps.

    Parameters
    ----------
    a : float, default=1.0
        Slope.
    c : float, default=0.0
        Offset.
    """

    order = None

    def __init__(self, a: float = 1.0, c: float = 0.0) -> None:
        self.a = a
        self.c = c

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        lowering.term("sigmoid", columns, real(self.a, "Sigmoid.a"), real(self.c, "Sigmoid.c"))


# Kernels of the distance.


def _widths(value: Any, n_columns: int, name: str) -> tuple[float, ...]:
    """Return one positive number for each column, given one for all or one for each."""
    if np.ndim(value) == 0:
        return (real(value, name, above=0),) * n_columns
    values = tuple(real(float(width), name, above=0) for width in np.ravel(value))
    if len(values) != n_columns:
        what = "periods" if name.endswith("period") else "widths"
        raise ValueError(f"{name} has {len(values)} {what}, but the kernel reads {n_columns} columns")
    return values


class _Radial(Kernel):
    """A kernel of ‖x − z‖ with a width."""

    _term = ""

    def __init__(self, sigma: Any = "median") -> None:
        self.sigma = sigma

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        if isinstance(self.sigma, str):
            if self.sigma not in ("median", "medians"):
                name = type(self).__name__
                raise ValueError(
                    f'{name}.sigma must be a number, one per column, "median" or "medians"; got '
                    f"{self.sigma!r}"
                )
            if self.sigma == "median":
                self.sigma = median_distance(X)
            else:
                medians = [median_distance(X[:, [c]]) for c in range(X.shape[1])]
                self.sigma = np.sqrt(X.shape[1]) * np.array(medians)

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        self._lower_with_width(lowering, columns)

    def _lower_with_width(
        self, lowering: _Lowering, columns: Columns, tunes: dict[str, str] | None = None, **parameters: Any
    ) -> None:
        name = f"{type(self).__name__}.sigma"
        if isinstance(self.sigma, str):
            raise ValueError(f"{name} is still {self.sigma!r}: call kernel.resolve(X) first")
        term = parameters.pop("term", self._term)
        if np.ndim(self.sigma) == 0:  # one width is a parameter of the term, which then shares its distances
            a, slot = real(self.sigma, name, above=0), "a"
        else:
            a, slot = 1.0, "widths"
            parameters["widths"] = _widths(self.sigma, lowering.width_of(columns), name)
        lowering.term(term, columns, a, owner=self, tunes={slot: "sigma", **(tunes or {})}, **parameters)

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return widths from about the smallest distance to well beyond the largest."""
        if parameter != "sigma":
            return super().tuning_bounds(parameter, X)
        if np.ndim(self.sigma) == 0:
            low, high = distance_range(X)
            return max(low / 2, 1e-3 * high), 10 * high
        ranges = np.array([distance_range(X[:, [c]])[1] for c in range(X.shape[1])])
        return 1e-2 * ranges, 1e2 * ranges  # a column of so large a width is left out


class Gaussian(_Radial):
    """The Gaussian kernel, k(x, z) = exp(−‖x − z‖² / (2σ²)).

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.

    Notes
    -----
    The same function under other names: scikit-learn's ``gamma = 1 / (2 sigma**2)``; the G-RLS paper writes
    exp(−‖x − z‖² / s²), so that ``sigma = s / sqrt(2)``; SciPy's RBFInterpolator has
    ``epsilon = 1 / (sqrt(2) sigma)``.
    """

    _term = "gaussian"


class Laplace(_Radial):
    """The Laplace kernel, k(x, z) = exp(−‖x − z‖ / σ), with the Euclidean norm.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.
    """

    _term = "laplace"


class Matern(_Radial):
    r"""The Matérn kernel of smoothness ν, with s = √(2ν) ‖x − z‖ / σ.

    .. math:: k = e^{-s}, \quad (1 + s) e^{-s}, \quad (1 + s + s^2/3) e^{-s} \qquad (ν = 1/2, 3/2, 5/2)

    Functions are as smooth as ν: rough for 1/2 (the Laplace kernel), once differentiable for 3/2, twice for
    5/2; `Gaussian` is the limit.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.
    nu : {0.5, 1.5, 2.5}, default=1.5
        The smoothness.
    """

    def __init__(self, sigma: Any = "median", nu: float = 1.5) -> None:
        super().__init__(sigma)
        self.nu = nu

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        nu = real(self.nu, "Matern.nu")
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"Matern.nu must be 0.5, 1.5 or 2.5, got {self.nu!r}")
        term = "laplace" if nu == 0.5 else "matern"
        self._lower_with_width(lowering, columns, term=term, degree=int(2 * nu))


class RationalQuadratic(_Radial):
    """The rational quadratic kernel, k(x, z) = (1 + ‖x − z‖² / (2ασ²))^−α: Gaussians of many widths at once.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows,
        "medians" that of each column times √d.
    alpha : float, default=1.0
        How alike the widths are; `Gaussian` is the limit of large values.
    """

    def __init__(self, sigma: Any = "median", alpha: float = 1.0) -> None:
        super().__init__(sigma)
        self.alpha = alpha

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        alpha = real(self.alpha, "RationalQuadratic.alpha", above=0)
        tunes = {"b": "alpha"}
        self._lower_with_width(lowering, columns, tunes, term="rational_quadratic", b=alpha)

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return an alpha between very unlike widths and one width, or the bounds of the width."""
        return (1e-2, 1e3) if parameter == "alpha" else super().tuning_bounds(parameter, X)


class Periodic(_Radial):
    """The periodic kernel, k(x, z) = exp(−2 Σ_c sin²(π (x_c − z_c) / p_c) / σ_c²).

    It is the Gaussian kernel of the columns wound onto circles, x ↦ (cos 2πx/p, sin 2πx/p), and so positive
    definite for any number of columns.

    Parameters
    ----------
    sigma : float, array-like of shape (d,), "median" or "medians", default="median"
        The width, or one width per column, in units of the circle's radius; "median" takes the median
        distance between distinct training rows on the circles.
    period : float or array-like of shape (d,), default=1.0
        The period, or one period per column, in the units of the data.
    """

    def __init__(self, sigma: Any = "median", period: Any = 1.0) -> None:
        super().__init__(sigma)
        self.period = period

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        periods = np.array(_widths(self.period, X.shape[1], "Periodic.period"))
        if isinstance(self.sigma, str) and self.sigma == "medians":
            self.sigma = np.sqrt(X.shape[1]) * np.array(
                [median_distance(_wound(X[:, [c]], periods[c])) for c in range(X.shape[1])]
            )
        super()._resolve(_wound(X, periods) if isinstance(self.sigma, str) else X, names)

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        periods = _widths(self.period, lowering.width_of(columns), "Periodic.period")
        tunes = {"periods": "period"}
        self._lower_with_width(lowering, columns, tunes, term="gaussian", periods=periods)

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return widths in units of the circle, periods from two mean gaps to twice the range of the data."""
        if parameter == "sigma":
            return 1e-2 * np.ones(np.shape(self.sigma)), 1e2 * np.ones(np.shape(self.sigma))
        ranges = np.array([distance_range(X[:, [c]])[1] for c in range(X.shape[1])])
        if np.ndim(self.period) == 0:
            ranges = ranges.max()
        return 2 * ranges / X.shape[0], 2 * ranges


def _wound(X: Any, periods: FloatArray) -> Any:
    """Return the columns wound onto circles that touch the origin at zero: sparse rows stay sparse."""
    if not sparse.issparse(X):
        angle = 2 * np.pi * np.asarray(X, dtype=np.float64) / periods
        return np.hstack([np.cos(angle) - 1, np.sin(angle)])
    angle = sparse.csr_matrix(X, dtype=np.float64).multiply(2 * np.pi / periods).tocsr()
    cosine, sine = angle.copy(), angle.copy()
    cosine.data, sine.data = np.cos(angle.data) - 1, np.sin(angle.data)
    return sparse.hstack([cosine, sine]).tocsr()


# Conditionally positive definite kernels of the distance.


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

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        p = real(self.p, "Log.p", above=0)
        if p > 2:
            raise ValueError(f"Log.p must be at most 2, got {self.p!r}")
        lowering.term("log", columns, p, owner=self, tunes={"a": "p"})

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return the exponents that make a kernel."""
        return 0.05, 2.0


class Multiquadric(_Radial):
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
        return integer(self.degree, "Polyharmonic.degree", minimum=1) // 2 + 1

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        lowering.term("polyharmonic", columns, degree=integer(self.degree, "Polyharmonic.degree", minimum=1))


class ThinPlate(Polyharmonic):
    """The thin-plate spline, k(x, z) = r² log r, r = ‖x − z‖, conditionally positive definite of order 2.

    With ``features="linear"`` in the plane this is the smoothing spline that bends the least.
    """

    def __init__(self) -> None:
        pass

    degree = 2


# Kernels of histograms.


class ChiSquared(Kernel):
    """The exponential chi-squared kernel, k(x, z) = exp(−γ Σ_c (x_c − z_c)² / (x_c + z_c)), with 0/0 = 0.

    It compares histograms and counts of words: no value may be negative.

    Parameters
    ----------
    gamma : float, default=1.0
        Greater than zero. Rows that sum to one are at most 2 apart.

    See Also
    --------
    sklearn.metrics.pairwise.chi2_kernel : The same kernel, dense.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        gamma = real(self.gamma, "ChiSquared.gamma", above=0)
        lowering.term("chi_squared", columns, gamma, owner=self, tunes={"a": "gamma"})

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return bounds in terms of the mean sum of a histogram, half the largest distance."""
        size = float(X.sum()) / X.shape[0] or 1.0
        return 1e-3 / size, 1e3 / size


# Composition.


class Sum(Kernel):
    """The sum of two kernels, written ``k1 + k2``.

    Parameters
    ----------
    k1, k2 : Kernel
        The summands.
    """

    _name, _sign, _binding = "sum", "+", 0

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """The weaker of the two guarantees."""
        orders = (self.k1.order, self.k2.order)
        return None if None in orders else max(orders)  # type: ignore[type-var]

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        self.k1._resolve(X, names)
        self.k2._resolve(X, names)

    def _demands(self, columns: tuple[int, ...]) -> list[tuple[Kernel, tuple[int, ...]]]:
        # Each summand needs its own polynomials, and only those.
        return [] if self.order is None else self.k1._demands(columns) + self.k2._demands(columns)

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        self.k1._lower(lowering, columns)
        self.k2._lower(lowering, columns)
        lowering.combine(self._name)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.k1._inside(self._binding)} {self._sign} {self.k2._inside(self._binding)}"


class Product(Sum):
    """The product of two kernels, written ``k1 * k2``.

    Parameters
    ----------
    k1, k2 : Kernel
        The factors.
    """

    _name, _sign, _binding = "product", "*", 1

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 where both are positive definite; nothing is known of other products."""
        return 0 if self.k1.order == 0 and self.k2.order == 0 else None


class _Unary(Kernel):
    """A kernel made of one other."""

    kernel: Kernel

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 where the kernel inside is positive definite; nothing is known of others."""
        return 0 if self.kernel.order == 0 else None

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        self.kernel._resolve(X, names)


class _SameOrder(_Unary):
    """A kernel that guarantees and needs what the one inside does."""

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """That of the kernel inside."""
        return self.kernel.order

    def _demands(self, columns: tuple[int, ...]) -> list[tuple[Kernel, tuple[int, ...]]]:
        return self.kernel._demands(columns)


class Scaled(_SameOrder):
    """A kernel times a positive number, written ``2.0 * k``.

    Parameters
    ----------
    scale : float
        Greater than zero.
    kernel : Kernel
        The kernel that is scaled.
    """

    _binding = 1

    def __init__(self, scale: float, kernel: Kernel) -> None:
        self.scale = scale
        self.kernel = kernel

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        self.kernel._lower(lowering, columns)
        lowering.combine("scale", real(self.scale, "Scaled.scale", above=0), owner=self, tunes={"a": "scale"})

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{shown(self.scale)} * {self.kernel._inside(self._binding)}"


class Power(_Unary):
    """A kernel to a whole power, written ``k ** 2``.

    Parameters
    ----------
    kernel : Kernel
        The base.
    exponent : int
        At least 1.
    """

    _binding = 2

    def __init__(self, kernel: Kernel, exponent: int) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        self.kernel._lower(lowering, columns)
        lowering.combine("power", degree=integer(self.exponent, "Power.exponent", minimum=1))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._inside(self._binding + 1)} ** {shown(self.exponent)}"


class Exponential(_Unary):
    """The exponential of a kernel, written ``k.exp()``.

    Parameters
    ----------
    kernel : Kernel
        The exponent.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        self.kernel._lower(lowering, columns)
        lowering.combine("exponential")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._inside(3)}.exp()"

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 up to order 1 of the exponent: exp(k) is positive definite for these too (Schoenberg)."""
        return 0 if self.kernel.order in (0, 1) else None


class PowerSeries(_Unary):
    """A power series of a kernel, Σ_n a_n k^n with coefficients a_n ≥ 0.

    Parameters
    ----------
    kernel : Kernel
        k.
    coefficients : array-like of shape (n,)
        a₀, a₁, …: not negative, and not all zero.

    Examples
    --------
    >>> from grls.kernels import Linear, PowerSeries
    >>> PowerSeries(Linear(), [1.0, 0.0, 0.5])([[1.0], [2.0]])
    array([[1.5, 3. ],
           [3. , 9. ]])
    """

    def __init__(self, kernel: Kernel, coefficients: ArrayLike) -> None:
        self.kernel = kernel
        self.coefficients = coefficients

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        name = "PowerSeries.coefficients"
        coefficients = [real(float(a), name, minimum=0) for a in np.ravel(self.coefficients)]
        if not any(coefficients):
            raise ValueError(f"{name} must not all be zero")
        self.kernel._lower(lowering, columns)
        lowering.series(coefficients, owner=self, tunes={"coefficients": "coefficients"})

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"PowerSeries({self.kernel!r}, {shown(self.coefficients)})"


class Normalized(_Unary):
    """A kernel scaled to k(x, x) = 1, written ``k.normalized()``; where k(x, x) = 0 it is zero.

    Parameters
    ----------
    kernel : Kernel
        A positive definite kernel.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        if self.kernel.order not in (0, None):
            raise ValueError(
                f"{self.kernel!r} cannot be normalised: it is positive definite only conditionally"
            )
        self.kernel._lower(lowering, columns)
        lowering.combine("normalize")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._inside(3)}.normalized()"


class OnColumns(_SameOrder):
    """A kernel that reads some columns only, written ``k.on(columns)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel of these columns.
    columns : int, str, or sequence of them
        Positions (negative ones count from the end), or names of a DataFrame's columns.
    """

    def __init__(self, kernel: Kernel, columns: int | str | Sequence[int] | Sequence[str]) -> None:
        self.kernel = kernel
        self.columns = columns

    def _positions(self, n_columns: int, names: list[str] | None) -> list[int]:
        return column_positions(self.columns, n_columns, names, "kernel.on(columns)")

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        positions = self._positions(X.shape[1], names)
        self.columns = positions
        self.kernel._resolve(X[:, positions], None if names is None else [names[p] for p in positions])

    def _demands(self, columns: tuple[int, ...]) -> list[tuple[Kernel, tuple[int, ...]]]:
        return self.kernel._demands(tuple(columns[p] for p in self._positions(len(columns), None)))

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        within = range(lowering.n_columns) if columns is None else columns
        self.kernel._lower(lowering, tuple(within[p] for p in self._positions(len(within), None)))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._inside(3)}.on({shown(self.columns)})"


# Kernels that come as matrices: slower, and the whole matrix is stored.


class Function(Kernel):
    """A kernel given as a Python function; estimators make one of any function they get.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` returns the matrix of kernel values, of shape (len(X), len(Z)).
    """

    def __init__(self, function: Callable[[Any, Any], ArrayLike]) -> None:
        self.function = function

    def is_same(self, other: Kernel, n_columns: int) -> bool:
        """Whether another kernel is made of the same function."""
        return type(self) is type(other) and self.get_params() == other.get_params()

    def matrix(self, X: Any, Z: Any) -> FloatArray:
        """Return the matrix of the function's values, checked."""
        values: NDArray[Any] = check_array(
            self.function(X, Z), dtype=np.float64, order="C", input_name="the kernel function's values"
        )
        if values.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape}, expected {(X.shape[0], Z.shape[0])}"
            )
        return values

    def times(self, X: Any, Z: Any, c: FloatArray) -> FloatArray:
        """Return ``matrix(X, Z) @ c``."""
        return np.asarray(self.matrix(X, Z) @ c)

    def diagonal(self, X: Any) -> FloatArray:
        """Return k(x, x), from the matrices of a few rows at a time."""
        blocks = (X[start : start + 64] for start in range(0, X.shape[0], 64))
        return np.concatenate([np.diagonal(self.matrix(block, block)) for block in blocks])


class Precomputed(Function):
    """The kernel matrix itself stands in place of X.

    ``fit`` takes the square matrix of the training samples, ``predict`` that of new samples against them.
    """

    def __init__(self) -> None:
        pass

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return "Precomputed()"

    def matrix(self, X: Any, Z: Any = None) -> FloatArray:
        """Return the matrix that was given."""
        return np.ascontiguousarray(X, dtype=np.float64)

    def diagonal(self, X: Any) -> FloatArray:
        """Refuse: k(x, x) of a new point is not in the matrix that is given for it."""
        raise ValueError("a precomputed kernel does not tell k(x, x) of new points: no variance can be given")


_BY_NAME: dict[str, Callable[[], Kernel]] = {
    "chi_squared": ChiSquared,
    "constant": Constant,
    "cosine": Cosine,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "linear": Linear,
    "log": Log,
    "matern": Matern,
    "multiquadric": Multiquadric,
    "periodic": Periodic,
    "polyharmonic": Polyharmonic,
    "polynomial": Polynomial,
    "precomputed": Precomputed,
    "rational_quadratic": RationalQuadratic,
    "sigmoid": Sigmoid,
    "thin_plate": ThinPlate,
}


def as_kernel(kernel: Kernel | str | Callable[[Any, Any], ArrayLike]) -> Kernel:
    """Return a kernel from anything an estimator's ``kernel`` parameter takes."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _BY_NAME:
            raise ValueError(f"kernel must be one of {', '.join(map(repr, _BY_NAME))}; got {kernel!r}")
        return _BY_NAME[kernel]()
    if callable(kernel):
        return Function(kernel)
    raise TypeError(f"kernel must be a Kernel, a name or a function of two arguments, got {kernel!r}")
