"""Kernels made of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import OrdinalEncoder

from .._validation import FloatArray, column_positions, integer, is_table_of_numbers, real, shown
from .base import Kernel
from .lowering import LARGEST_POWER, ColumnChoice, Columns, Lowering
from .spectral import composed_density

if TYPE_CHECKING:
    from .views import After, Seen


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
        self._settle(X, None, names)

    def _settle(self, X: Any, columns: Any, names: list[str] | None) -> None:
        self.k1._settle(X, columns, names)
        self.k2._settle(X, columns, names)

    def _reads_given(self) -> bool:
        return self.k1._reads_given() or self.k2._reads_given()

    @property
    def names_columns(self) -> bool:
        """Whether both do."""
        return self.k1.names_columns and self.k2.names_columns

    @property
    def compares_labels(self) -> bool:
        """Whether both do nothing else."""
        return self.k1.compares_labels and self.k2.compares_labels

    def _views(self) -> list[After]:
        return self.k1._views() + self.k2._views()

    def _look(self, seen: Seen) -> None:
        self.k1._look(seen)
        self.k2._look(seen)

    def _demands(self, columns: Sequence[int]) -> list[tuple[Kernel, Sequence[int]]]:
        # Each summand needs its own polynomials, and only those.
        return [] if self.order is None else self.k1._demands(columns) + self.k2._demands(columns)

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return self.k1._inner_products(columns, adds_up=adds_up) + self.k2._inner_products(
            columns, adds_up=adds_up
        )

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self.k1._lower(lowering, columns)
        self.k2._lower(lowering, columns)
        lowering.combine(self._name)

    @property
    def is_function(self) -> bool:
        """Whether one of the two is."""
        return self.k1.is_function or self.k2.is_function

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        return self._joined(self.k1._values(X, Z, columns), self.k2._values(X, Z, columns))

    def _joined(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return first + second

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        return composed_density(self, omega)

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

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return super()._inner_products(columns, adds_up=False)

    def _joined(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return first * second


class _Unary(Kernel):
    """A kernel made of one other."""

    kernel: Kernel

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 where the kernel inside is positive definite; nothing is known of others."""
        return 0 if self.kernel.order == 0 else None

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return self.kernel._inner_products(columns, adds_up=False)

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        self._settle(X, None, names)

    def _settle(self, X: Any, columns: Any, names: list[str] | None) -> None:
        self.kernel._settle(X, columns, names)

    def _reads_given(self) -> bool:
        return self.kernel._reads_given()

    @property
    def names_columns(self) -> bool:
        """Whether the kernel inside does."""
        return self.kernel.names_columns

    @property
    def compares_labels(self) -> bool:
        """Whether the kernel inside does nothing else."""
        return self.kernel.compares_labels

    def _views(self) -> list[After]:
        return self.kernel._views()

    def _look(self, seen: Seen) -> None:
        self.kernel._look(seen)

    @property
    def is_function(self) -> bool:
        """Whether the kernel inside is."""
        return self.kernel.is_function

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        return self._of_values(self.kernel._values(X, Z, columns))

    def _of_values(self, values: FloatArray) -> FloatArray:
        """Return the values of this kernel from those of the one inside."""
        return values


class _SameOrder(_Unary):
    """A kernel that guarantees and needs what the one inside does."""

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """That of the kernel inside."""
        return self.kernel.order

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return self.kernel._inner_products(columns, adds_up=adds_up)

    def _demands(self, columns: Sequence[int]) -> list[tuple[Kernel, Sequence[int]]]:
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

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self.kernel._lower(lowering, columns)
        lowering.combine("scale", self._scale(), owner=self, tunes={"a": "scale"})

    def _scale(self) -> float:
        return real(self.scale, "Scaled.scale", above=0)

    def _of_values(self, values: FloatArray) -> FloatArray:
        return self._scale() * values

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        return composed_density(self, omega)

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

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self.kernel._lower(lowering, columns)
        lowering.combine("power", degree=self._degree())

    def _degree(self) -> int:
        return integer(self.exponent, "Power.exponent", minimum=1, maximum=LARGEST_POWER)

    def _of_values(self, values: FloatArray) -> FloatArray:
        return np.asarray(values ** self._degree())

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        return composed_density(self, omega)

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

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self.kernel._lower(lowering, columns)
        lowering.combine("exponential")

    def _of_values(self, values: FloatArray) -> FloatArray:
        return np.exp(values)

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

    def _checked_coefficients(self) -> list[float]:
        name = "PowerSeries.coefficients"
        coefficients = [real(float(a), name, minimum=0) for a in np.ravel(self.coefficients)]
        if not any(coefficients):
            raise ValueError(f"{name} must not all be zero")
        return coefficients

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        coefficients = self._checked_coefficients()
        self.kernel._lower(lowering, columns)
        lowering.series(coefficients, owner=self, tunes={"coefficients": "coefficients"})

    def _of_values(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.polynomial.polynomial.polyval(values, self._checked_coefficients()))

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

    def _require_definite(self) -> None:
        if self.kernel.order not in (0, None):
            raise ValueError(
                f"{self.kernel!r} cannot be normalised: it is positive definite only conditionally"
            )

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self._require_definite()
        self.kernel._lower(lowering, columns)
        lowering.combine("normalize")

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        self._require_definite()
        sizes = np.outer(self.kernel._diagonal(X, columns), self.kernel._diagonal(Z, columns))
        values = self.kernel._values(X, Z, columns)
        return np.divide(values, np.sqrt(np.maximum(sizes, 0)), out=np.zeros_like(values), where=sizes > 0)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._inside(3)}.normalized()"


class OnColumns(_SameOrder):
    """A kernel that reads some columns only, written ``k.on(columns)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel of these columns.
    columns : int, str, slice, sequence or callable
        Positions (negative ones count from the end), names of a DataFrame's columns, a slice of either, one
        boolean for each, or a function of X that returns one of these. One column of text that is given by
        itself is what a vectorizer in a view reads; a list of one column is a table. Columns that no part of
        a kernel names may hold text or dates.
    """

    _names: list[str] | None = None  # of the columns, where a fit knows them

    def __init__(self, kernel: Kernel, columns: ColumnChoice) -> None:
        self.kernel = kernel
        self.columns = columns

    def _positions(self, n_columns: int, names: list[str] | None, columns: Any = None) -> list[int]:
        wanted = self.columns if columns is None else columns
        return column_positions(wanted, n_columns, names, "kernel.on(columns)")

    def column_names(self, names: Sequence[str] | None) -> list[str] | None:
        """Return the names of the columns it reads among columns of these names; None: they have none."""
        if self._names is not None:
            return self._names
        if names is None or callable(self.columns):
            return None
        return [names[p] for p in self._positions(len(names), list(names))]

    def _reads_given(self) -> bool:
        return callable(self.columns) or self.kernel._reads_given()

    @property
    def names_columns(self) -> bool:
        """It does, whatever the kernel inside reads of these columns."""
        return True

    def _look(self, seen: Seen) -> None:
        columns = self.columns(seen.rows()) if callable(self.columns) else self.columns
        positions = self._positions(seen.n_columns, seen.names, columns)
        is_one = isinstance(columns, str | Integral)
        if seen.look.fits:
            if self.kernel.compares_labels and not is_table_of_numbers(
                seen.within(positions, is_one=False).rows()
            ):
                # Labels that the fit does not know have a code that no row of it has: they equal none of its.
                self.kernel = self.kernel.after(
                    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
                )
                is_one = False
            self.columns = positions[0] if is_one else positions
        self.kernel._look(seen.within(positions, is_one=is_one))

    def _settle(self, X: Any, columns: Any, names: list[str] | None) -> None:
        within = range(X.shape[1]) if columns is None else columns
        positions = self._positions(len(within), names)
        if not self._reads_given():
            self.columns = positions
        of_kernel = None if names is None else [names[p] for p in positions]
        self._names = of_kernel
        self.kernel._settle(X, tuple(within[p] for p in positions), of_kernel)

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        return composed_density(self, omega)

    def _demands(self, columns: Sequence[int]) -> list[tuple[Kernel, Sequence[int]]]:
        return self.kernel._demands(tuple(columns[p] for p in self._positions(len(columns), None)))

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        within = tuple(columns[p] for p in self._positions(len(columns), None))
        return self.kernel._inner_products(within, adds_up=adds_up)

    def _within(self, n_columns: int, columns: Columns) -> tuple[int, ...]:
        """Return which columns of all the kernel inside reads."""
        within = range(n_columns) if columns is None else columns
        return tuple(within[p] for p in self._positions(len(within), None))

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        self.kernel._lower(lowering, self._within(lowering.n_columns, columns))

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        return self.kernel._values(X, Z, self._within(X.shape[1], columns))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        columns = self.columns if self._names is None else self._names
        return f"{self.kernel._inside(3)}.on({shown(columns)})"
