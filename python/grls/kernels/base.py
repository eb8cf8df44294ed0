"""What every kernel has: parameters, a formula, values, and the algebra."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array

from .._solvers import kernel_values
from .._solvers.arrays import for_core
from .._solvers.kernel_values import Formula, Gram
from .._validation import FloatArray, shown
from .lowering import Columns, Link, Lowering


class Kernel(BaseEstimator):
    """Base class of all kernels.

    A kernel of one's own is most easily a plain function ``k(X, Z) -> matrix``, which every estimator takes;
    a new built-in kernel is a subclass with `_lower` and a term in the C++ core.
    """

    #: 0: positive definite; q: conditionally so, given the polynomials of degree below q; None: no guarantee.
    order: int | None = 0

    #: Whether the kernel matrix stands in place of the points.
    pairwise = False

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
        return kernel_values.matrix(self.lower(X.shape[1]), X, Z)

    def times(self, X: Any, Z: Any, c: FloatArray) -> FloatArray:
        """Return ``matrix(X, Z) @ c`` without storing the matrix."""
        return kernel_values.times(self.lower(X.shape[1]), X, Z, c)

    def diagonal(self, X: Any) -> FloatArray:
        """Return k(x, x) of a resolved kernel at the rows of checked data."""
        return kernel_values.diagonal(self.lower(X.shape[1]), X)

    def gram(self, X: Any) -> Gram:
        """Return where the kernel matrix of a resolved kernel and checked points comes from."""
        return Gram(self.lower(X.shape[1]), for_core(X))

    def take(self, X: Any, rows: Any) -> Any:
        """Return some of the points; of a matrix in their place, its rows and columns."""
        return X[rows]

    def lower(self, n_columns: int) -> Formula:
        """Return the formula the compiled core evaluates on data with `n_columns` columns."""
        lowering = Lowering(n_columns)
        self._lower(lowering, None)
        return lowering.formula()

    def lower_for_tuning(self, n_columns: int) -> tuple[Formula, list[Link]]:
        """Return the formula of a resolved kernel, and where its parameters stand in it."""
        lowering = Lowering(n_columns, tuning=True)
        self._lower(lowering, None)
        return lowering.formula(), lowering.links

    def is_same(self, other: Kernel, n_columns: int) -> bool:
        """Whether another resolved kernel has the same formula on data with `n_columns` columns."""
        return self._written(n_columns) == other._written(n_columns)

    def _written(self, n_columns: int) -> tuple[Any, ...]:
        lowering = Lowering(n_columns)
        self._lower(lowering, None)
        return lowering.written()

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return between what a positive parameter is tuned; X holds the columns this kernel reads."""
        value = np.asarray(getattr(self, parameter), dtype=np.float64)
        return 1e-5 * value, 1e5 * value

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        """Fix in place what depends on the data; X holds the columns this kernel reads."""

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        raise TypeError(f"{type(self).__name__} cannot be a part of a larger kernel")

    def demands(self, n_columns: int) -> list[tuple[Kernel, tuple[int, ...]]]:
        """Return the parts of a resolved kernel that need polynomials as features, with their columns."""
        return self._demands(tuple(range(n_columns)))

    def _demands(self, columns: tuple[int, ...]) -> list[tuple[Kernel, tuple[int, ...]]]:
        return [(self, columns)] if self.order else []

    def inner_products(self, n_columns: int) -> list[tuple[Any, tuple[int, ...], bool]]:
        """Return the parts of a resolved kernel that read inner products, with their columns.

        The third entry: whether the part is a summand, up to a factor, and nothing else is made of it.
        """
        return self._inner_products(tuple(range(n_columns)), adds_up=True)

    def _inner_products(
        self, columns: tuple[int, ...], *, adds_up: bool
    ) -> list[tuple[Any, tuple[int, ...], bool]]:
        return []

    # The algebra. Every result is again a kernel, by the closure properties of positive definite functions.

    def __add__(self, other: Kernel | float) -> Kernel:
        return compose.Sum(self, _operand(other))

    def __radd__(self, other: float) -> Kernel:
        return compose.Sum(_operand(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return compose.Product(self, other) if isinstance(other, Kernel) else compose.Scaled(other, self)

    def __rmul__(self, other: float) -> Kernel:
        return compose.Scaled(other, self)

    def __pow__(self, exponent: int) -> Kernel:
        return compose.Power(self, exponent)

    def exp(self) -> Kernel:
        """Return the kernel exp(k)."""
        return compose.Exponential(self)

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
        return compose.Normalized(self)

    def on(self, columns: int | str | Sequence[int] | Sequence[str]) -> Kernel:
        """Return this kernel acting on some columns only, given by position or by DataFrame name.

        Examples
        --------
        >>> from grls.kernels import Gaussian, Laplace
        >>> Gaussian(sigma=2.0).on(["x", "y"]) * Laplace(sigma=1.0).on("time")
        Gaussian(sigma=2.0).on(['x', 'y']) * Laplace(sigma=1.0).on('time')
        """
        return compose.OnColumns(self, columns)

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
    return value if isinstance(value, Kernel) else dot.Constant(value)


# The algebra's results are kernels themselves: their classes stand on this one.
from . import compose, dot  # noqa: E402
