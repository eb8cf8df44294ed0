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

==============  ==========================================  ====================================
kernel          value                                       reads
==============  ==========================================  ====================================
`Constant`      a                                           nothing
`Linear`        ⟨x, z⟩                                      inner products
`Polynomial`    (⟨x, z⟩ + c)^degree                         inner products
`Sigmoid`       tanh(a ⟨x, z⟩ + c), not positive definite   inner products
`Gaussian`      exp(−‖x − z‖² / (2σ²))                      distances
`Laplace`       exp(−‖x − z‖ / σ)                           distances
`Precomputed`   the matrix given in place of X              a matrix
==============  ==========================================  ====================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array

from . import _core
from ._threads import get_num_threads
from ._validation import FloatArray, column_positions, for_core, integer, real

__all__ = [
    "Constant",
    "Exponential",
    "Function",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Linear",
    "OnColumns",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "as_kernel",
]

Columns = tuple[int, ...] | None  # None: all of them


class _Lowering:
    """Collects a formula in postfix order. Terms that read the same columns share their tiles."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self._groups: dict[tuple[tuple[int, ...], tuple[float, ...]], int] = {}
        self._steps: list[tuple[str, int, float, float, int]] = []

    def term(
        self,
        name: str,
        columns: Columns,
        a: float = 0.0,
        b: float = 0.0,
        degree: int = 0,
        widths: tuple[float, ...] = (),
    ) -> None:
        group = self._groups.setdefault((columns or (), widths), len(self._groups))
        self._steps.append((name, group, a, b, degree))

    def combine(self, name: str, a: float = 0.0, degree: int = 0) -> None:
        self._steps.append((name, 0, a, 0.0, degree))

    def formula(self) -> _core.Formula:
        return _core.Formula([(list(c), list(w)) for c, w in self._groups], self._steps)


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

    #: 0: positive definite; None: not positive definite, no guarantee that a fit succeeds.
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
        blocks = (X[start : start + 64] for start in range(0, X.shape[0], 64))
        return np.concatenate([np.diagonal(self.matrix(block, block)) for block in blocks])

    def lower(self, n_columns: int) -> _core.Formula:
        """Return the formula the compiled core evaluates on data with `n_columns` columns."""
        lowering = _Lowering(n_columns)
        self._lower(lowering, None)
        return lowering.formula()

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        """Fix in place what depends on the data; X holds the columns this kernel reads."""

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        raise TypeError(f"{type(self).__name__} cannot be a part of a larger kernel")

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

    def on(self, columns: int | str | Sequence[int] | Sequence[str]) -> Kernel:
        """Return this kernel acting on some columns only, given by position or by DataFrame name.

        Examples
        --------
        >>> from grls.kernels import Gaussian, Laplace
        >>> Gaussian(sigma=2.0).on(["x", "y"]) * Laplace(sigma=1.0).on("time")
        Gaussian(sigma=2.0).on(['x', 'y']) * Laplace(sigma=1.0).on('time')
        """
        return OnColumns(self, columns)

    # A formula's repr puts parentheses where a looser operation stands inside a tighter one.
    _binding = 3

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({parameters})"

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
        lowering.combine("constant", real(self.value, "Constant.value", minimum=0))


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
        lowering.term("polynomial", columns, real(self.c, "Polynomial.c", minimum=0), degree=degree)


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


def _row_keys(X: Any) -> list[bytes]:
    """Return a key of each row; equal rows have equal keys, dense or sparse."""
    if sparse.issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = ((X.indices[a:b], X.data[a:b]) for a, b in bounds)
    else:
        rows = ((nonzero := np.flatnonzero(row), row[nonzero]) for row in X)
    return [
        blake2b(columns.astype(np.int64).tobytes() + values.astype(np.float64).tobytes()).digest()
        for columns, values in rows
    ]


def distinct_rows(*matrices: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the distinct rows of matrices side by side.

    Returns one position of each, in an order that depends on the rows alone and not on theirs, and for every
    row the place of its like among them.
    """
    keys = [b"".join(parts) for parts in zip(*map(_row_keys, matrices), strict=True)]
    position = {key: i for i, key in enumerate(keys)}
    place = {key: p for p, key in enumerate(sorted(position))}
    return np.array([position[key] for key in place]), np.array([place[key] for key in keys])


def median_distance(X: Any, n_points: int = 1000) -> float:
    """Return the median distance between distinct rows, the usual first guess of a kernel width.

    Repeated rows count once, so that a row given twice and a row of weight two mean the same. Of many rows
    `n_points` are taken, as good as at random, but always the same, whatever the order of the rows.
    """
    chosen = X[distinct_rows(X)[0][:n_points]]
    if sparse.issparse(chosen):
        chosen = chosen[:, np.unique(chosen.indices)].toarray()
    if chosen.shape[0] < 2 or chosen.shape[1] == 0:
        return 1.0
    return float(np.median(pdist(np.asarray(chosen, dtype=np.float64))))


class _Radial(Kernel):
    """A kernel of ‖x − z‖ with a width."""

    _term = ""

    def __init__(self, sigma: Any = "median") -> None:
        self.sigma = sigma

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        if isinstance(self.sigma, str):
            if self.sigma != "median":
                name = type(self).__name__
                raise ValueError(
                    f'{name}.sigma must be a number, one per column, or "median"; got {self.sigma!r}'
                )
            self.sigma = median_distance(X)

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        name = f"{type(self).__name__}.sigma"
        if isinstance(self.sigma, str):
            raise ValueError(f"{name} is still {self.sigma!r}: call kernel.resolve(X) first")
        if np.ndim(self.sigma) == 0:
            lowering.term(self._term, columns, real(self.sigma, name, above=0))
            return
        widths = tuple(real(float(width), name, above=0) for width in np.ravel(self.sigma))
        read = lowering.n_columns if columns is None else len(columns)
        if len(widths) != read:
            raise ValueError(f"{name} has {len(widths)} widths, but the kernel reads {read} columns")
        lowering.term(self._term, columns, 1.0, widths=widths)


class Gaussian(_Radial):
    """The Gaussian kernel, k(x, z) = exp(−‖x − z‖² / (2σ²)).

    Parameters
    ----------
    sigma : float, array-like of shape (d,), or "median", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows.

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
    sigma : float, array-like of shape (d,), or "median", default="median"
        The width, or one width per column; "median" takes the median distance between distinct training rows.
    """

    _term = "laplace"


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


class _Unary(Kernel):
    """A kernel made of one other."""

    kernel: Kernel

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """That of the kernel inside."""
        return self.kernel.order

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        self.kernel._resolve(X, names)


class Scaled(_Unary):
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
        lowering.combine("scale", real(self.scale, "Scaled.scale", above=0))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.scale!r} * {self.kernel._inside(self._binding)}"


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
        return f"{self.kernel._inside(self._binding + 1)} ** {self.exponent!r}"


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


class OnColumns(_Unary):
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

    def _lower(self, lowering: _Lowering, columns: Columns) -> None:
        within = range(lowering.n_columns) if columns is None else columns
        self.kernel._lower(lowering, tuple(within[p] for p in self._positions(len(within), None)))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._inside(3)}.on({self.columns!r})"


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
    "linear": Linear,
    "polynomial": Polynomial,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
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
