"""What every kernel has: parameters, a formula, values, and the algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_array

from .._input_errors import values_explained
from .._parameters import KernelParameters
from .._solvers import kernel_values
from .._solvers.arrays import for_core
from .._solvers.kernel_values import Formula, Gram, require_room
from .._solvers.rows import taken_columns
from .._validation import (
    FloatArray,
    as_rows,
    is_table_of_numbers,
    refuse_dates,
    require_symmetric,
    shown,
)
from .._versions import Versioned
from .differentiable import by_columns, require_gradient
from .lowering import ColumnChoice, Columns, Link, Lowering
from .spectral import no_density

if TYPE_CHECKING:
    from .views import After, Seen


class Kernel(Versioned, KernelParameters):
    """Base class of all kernels.

    A kernel of one's own is most easily a plain function ``k(X, Z) -> matrix``, or ``k(x, z) -> number`` of
    two rows, which every estimator takes and which can be summed and multiplied with kernels;
    a new built-in kernel is a subclass with `_lower` and a term in the C++ core.
    """

    #: 0: positive definite; q: conditionally so, given the polynomials of degree below q; None: no guarantee.
    order: int | None = 0

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Parameters are those of the kinds of kernels."""

    #: Whether the kernel matrix stands in place of the points.
    pairwise = False

    @property
    def is_definite(self) -> bool:
        """Whether the kernel is known to be positive definite, whatever the points."""
        return self.order == 0 and not self.is_function

    @property
    def is_function(self) -> bool:
        """Whether it has a function of Python in it, so that its values come as whole matrices."""
        return False

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
        kernel = self.reading(X)
        if kernel.reads_given:
            fitted, points = kernel.fit_views(_given(X), feature_names=names, refit=False)
            others = points if Z is None else fitted.view(_given(Z))
            return fitted.settled(points).matrix(points, others)
        refuse_dates(X, "X")
        with values_explained(X):
            X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
            Z = X if Z is None else check_array(Z, accept_sparse="csr", dtype=[np.float64, np.float32])
        return self.resolve(X, names).matrix(X, Z)

    def resolve(self, X: Any, feature_names: Sequence[str] | None = None) -> Kernel:
        """Return a copy in which everything left to the data is fixed.

        That are ``"median"`` widths, names of columns, and views that are not fitted yet.
        """
        kernel = self.reading(X)
        if not kernel.reads_given:
            return self.settled(X, feature_names)
        fitted, points = kernel.fit_views(X, feature_names=feature_names, refit=False)
        return fitted.settled(points)

    def settled(self, points: Any, feature_names: Sequence[str] | None = None) -> Kernel:
        """Return a copy with widths and names of columns fixed, from the points that the kernel reads.

        Of a kernel with fitted views they are what `view` gives.
        """
        copy: Kernel = clone(self)
        names = None if feature_names is None or self._frame is not None else list(feature_names)
        copy._settle(points, copy._frame, names)
        return copy

    # Views: what transformers make of the rows. See `grls.kernels.views`.

    #: Where the columns of X stand in the matrix that a fitted kernel with views reads; None: it reads X.
    _frame: Columns = None

    @property
    def reads_given(self) -> bool:
        """Whether the kernel has views, or columns chosen by a function: it then reads rows as given."""
        return self._frame is not None or self._reads_given()

    @property
    def names_columns(self) -> bool:
        """Whether all parts that read columns are told which, so that text may stand in the others."""
        return False

    @property
    def compares_labels(self) -> bool:
        """Whether all it asks of values is whether they are equal, so that text will do."""
        return False

    def reading(self, X: Any) -> Kernel:
        """Return this kernel, or where it takes its columns out of a table with text, one that reads that."""
        if self.reads_given or not self.names_columns or is_table_of_numbers(X):
            return self
        copy: Kernel = clone(self)
        copy._frame = ()  # no column has its place yet: `fit_views` gives them theirs
        return copy

    @property
    def takes_sparse(self) -> bool:
        """Whether all views of the rows themselves take sparse matrices."""
        nested = {id(inner) for view in self._views() for inner in view.kernel._views()}
        return all(views.takes_sparse(view.transformer) for view in self._views() if id(view) not in nested)

    def fit_views(
        self,
        X: Any,
        y: Any = None,
        weights: FloatArray | None = None,
        feature_names: Sequence[str] | None = None,
        *,
        refit: bool = True,
        points: Any = None,
    ) -> tuple[Kernel, Any]:
        """Fit the views, and return the kernel with them and the matrix that it reads of these rows.

        Parameters
        ----------
        X : array, CSR matrix, data frame or array of documents, of shape (n, d) or (n,)
            Rows as they were given.
        y : array-like of shape (n,) or (n, k), default=None
            Targets or labels, for transformers that want them.
        weights : ndarray of shape (n,), default=None
            Sample weights, for transformers that take them.
        feature_names : sequence of str, default=None
            Names of the columns.
        refit : bool, default=True
            Whether transformers that were fitted before are fitted to these rows. Those of a kernel that
            comes from here, as ``kernel_`` of a fitted model does, never are.
        points : {ndarray, CSR matrix} of shape (n, q), default=None
            Of a kernel that comes from here, and some part of which was put after a further view since: what
            it read of these rows before. Views that are fitted are then not asked again, which is not the
            same where a transformer's ``fit_transform`` leaves each row out of its own values.

        Returns
        -------
        kernel : Kernel
            A copy with fitted views.
        points : {ndarray, CSR matrix} of shape (n, p)
            What `matrix`, `times`, `diagonal` and `gram` of the copy take.
        """
        copy: Kernel = clone(self)
        if not refit:
            views.keep_fitted(self, copy)
        known = None if self._frame is None else points
        look = views.Look(X, True, y, weights, refit, known=known)
        points, frame = views.matrix_of(copy, look, feature_names)
        copy._frame = tuple(frame.tolist())
        return copy, points

    def view(self, X: Any) -> Any:
        """Return the matrix that a kernel with fitted views reads of new rows; X itself where it has none."""
        return X if self._frame is None else views.matrix_of(self, views.Look(X, False), None)[0]

    def _look(self, seen: Seen) -> None:
        """Pass over rows as they were given: fit views, or let them see the rows."""
        seen.read(self)

    def _reads_given(self) -> bool:
        return False

    def _views(self) -> list[After]:
        return []

    def framed(self, n_columns: int) -> Kernel:
        """Let this kernel read the first `n_columns` of a matrix where it has no frame, and return it."""
        if self._frame is None:
            self._frame = tuple(range(n_columns))
        return self

    def _hand_places_to(self, other: Kernel) -> None:
        """Let another kernel read the same matrix."""
        if self._frame is not None:
            other._frame = self._frame

    def __sklearn_clone__(self) -> Any:
        values = self.get_params(deep=False)
        copy = type(self)(**{name: clone(value, safe=False) for name, value in values.items()})
        self._hand_places_to(copy)
        return copy

    def matrix(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel matrix of a resolved kernel and checked data."""
        if self.is_function:
            require_room(X.shape[0], Z.shape[0])
        return self._values(X, Z, self._frame)

    def _values(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        """Return the matrix of this kernel, or part of one, which reads some columns; None: all."""
        if self.is_function:
            return self._from_parts(X, Z, columns)
        return kernel_values.matrix(self._formula(X.shape[1], columns), X, Z)

    def _from_parts(self, X: Any, Z: Any, columns: Columns) -> FloatArray:
        """Return the matrix of a kernel with a function of Python in it, from those of its parts."""
        raise TypeError(f"{type(self).__name__} cannot be made of a function of Python")

    def _diagonal(self, X: Any, columns: Columns) -> FloatArray:
        """Return k(x, x) of this kernel, or part of one; of functions from matrices of a few rows."""
        if not self.is_function:
            return kernel_values.diagonal(self._formula(X.shape[1], columns), X)
        blocks = (X[start : start + 64] for start in range(0, X.shape[0], 64))
        return np.concatenate([np.diagonal(self._values(block, block, columns)) for block in blocks])

    def times(self, X: Any, Z: Any, c: FloatArray) -> FloatArray:
        """Return ``matrix(X, Z) @ c``; without storing the matrix, but for functions of Python."""
        if self.is_function:
            return np.asarray(self.matrix(X, Z) @ c)
        return kernel_values.times(self.lower(X.shape[1]), X, Z, c)

    def input_gradient(self, X: Any, Z: Any, c: FloatArray) -> FloatArray:
        """Return the gradients of Σ_j c_j k(x, z_j) by the columns of X, k a resolved kernel.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Where they are taken; of a kernel with fitted views the rows themselves, not what the views make
            of them.
        Z : ndarray of shape (m, p)
            The points z_j as the kernel reads them, which of a kernel with fitted views is what `view` gives.
        c : ndarray of shape (m, k)
            Coefficients of k functions.

        Returns
        -------
        ndarray of shape (n, d, k)
            The gradients. Where x is one of the points and the kernel has no derivative there (`Laplace`,
            `Spherical`, `Polyharmonic` of degree 1), that point's share is zero.

        Raises
        ------
        ValueError
            For sparse rows, kernels of labels and views that are neither linear maps nor normal scores.
        """
        require_gradient(self, X, Z)
        if self._frame is None:
            return kernel_values.input_gradient(self.lower(X.shape[1]), X, Z, c)
        own = kernel_values.input_gradient(self.lower(Z.shape[1]), self.view(X), Z, c)
        return by_columns(self, X, own)

    def diagonal(self, X: Any) -> FloatArray:
        """Return k(x, x) of a resolved kernel at the rows of checked data."""
        return self._diagonal(X, self._frame)

    def gram(self, X: Any) -> Gram:
        """Return where the kernel matrix of a resolved kernel and checked points comes from."""
        if self.is_function:  # the core reads one triangle
            matrix = self.matrix(X, X)
            require_symmetric(matrix, f"the kernel matrix of {self!r}")
            return Gram(None, matrix)
        return Gram(self.lower(X.shape[1]), for_core(X), definite=self.is_definite)

    def take(self, X: Any, rows: Any) -> Any:
        """Return some of the points; of a matrix in their place, its rows and columns."""
        return X[rows]

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        r"""Return the spectral density of a stationary kernel.

        .. math:: k(x, z) = \int S(ω)\, e^{iω·(x - z)}\, dω, \quad
                  S(ω) = (2π)^{-d} \int k(r, 0)\, e^{-iω·r}\, dr

        By Bochner's theorem S is not negative; it integrates to k(x, x), and the faster it falls the smoother
        are the functions of the kernel's space.

        Parameters
        ----------
        omega : array-like of shape (n, d)
            Angular frequencies, one column for each column of the data.

        Returns
        -------
        ndarray of shape (n,)
            S; infinite at 0 for kernels of very long tails.

        Raises
        ------
        ValueError
            Where the kernel is not stationary, has lines in place of a density (`Constant`, `Periodic`), or
            is a product whose density has no closed form: factors on different columns and Gaussian ones
            have.

        Examples
        --------
        >>> from grls.kernels import Gaussian, Laplace
        >>> Gaussian(sigma=1.0).spectral_density([[0.0], [5.0]]).round(6)
        array([3.98942e-01, 1.00000e-06])
        >>> Laplace(sigma=1.0).spectral_density([[0.0], [5.0]]).round(6)
        array([0.31831 , 0.012243])
        """
        points = check_array(omega, dtype=np.float64, input_name="omega")
        return self._spectral_density(points)

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        """Return it at ω (n, d), d the number of columns this kernel reads."""
        raise no_density(self, "it is not stationary, or none is known")

    def lower(self, n_columns: int) -> Formula:
        """Return the formula the compiled core evaluates on data with `n_columns` columns."""
        return self._formula(n_columns, self._frame)

    def _formula(self, n_columns: int, columns: Columns) -> Formula:
        lowering = Lowering(n_columns)
        self._lower(lowering, columns)
        return lowering.formula()

    def coordinates(self, X: Any) -> Any:
        """Return rows as the distances and products of a resolved kernel see them, (n, p)."""
        lowering = Lowering(X.shape[1])
        self._lower(lowering, self._frame)
        return lowering.coordinates(X)

    def lower_for_tuning(self, n_columns: int) -> tuple[Formula, list[Link]]:
        """Return the formula of a resolved kernel, and where its parameters stand in it."""
        lowering = Lowering(n_columns, tuning=True)
        self._lower(lowering, self._frame)
        return lowering.formula(), lowering.links

    def is_same(self, other: Kernel, n_columns: int) -> bool:
        """Whether another resolved kernel has the same formula on data with `n_columns` columns."""
        return self._written(n_columns) == other._written(n_columns)

    def _written(self, n_columns: int) -> tuple[Any, ...]:
        if self.is_function:
            parts = self.get_params(deep=True)
            return type(self), *((name, _comparable(parts[name])) for name in sorted(parts))
        lowering = Lowering(n_columns)
        self._lower(lowering, self._frame)
        return lowering.written()

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return between what a positive parameter is tuned; X holds the columns this kernel reads."""
        value = np.asarray(getattr(self, parameter), dtype=np.float64)
        return 1e-5 * value, 1e5 * value

    def _settle(self, X: Any, columns: Any, names: list[str] | None) -> None:
        """Fix in place what depends on the data, of this kernel and those it is made of.

        X is the whole matrix, of which this kernel reads some columns; None: all. `names` are theirs.
        """
        if columns is None:
            self._resolve(X, names)
        elif isinstance(columns, range):
            self._resolve(X[:, columns.start : columns.stop], names)
        else:
            self._resolve(taken_columns(X, columns), names)

    def _resolve(self, X: Any, names: list[str] | None) -> None:
        """Fix in place what depends on the data; X holds the columns this kernel reads."""

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        raise TypeError(f"{type(self).__name__} cannot be a part of a larger kernel")

    def demands(self, n_columns: int) -> list[tuple[Kernel, Sequence[int]]]:
        """Return the parts of a resolved kernel that need polynomials as features, with their columns."""
        return self._demands(self._frame or range(n_columns))

    def _demands(self, columns: Sequence[int]) -> list[tuple[Kernel, Sequence[int]]]:
        return [(self, columns)] if self.order else []

    def inner_products(self, n_columns: int) -> list[tuple[Any, Sequence[int], bool]]:
        """Return the parts of a resolved kernel that read inner products, with their columns.

        The third entry: whether the part is a summand, up to a factor, and nothing else is made of it.
        """
        return self._inner_products(self._frame or range(n_columns), adds_up=True)

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return []

    # The algebra. Every result is again a kernel, by the closure properties of positive definite functions.

    # A function of Python stands beside a kernel as one.

    def __add__(self, other: Kernel | float | Callable[[Any, Any], ArrayLike]) -> Kernel:
        return compose.Sum(self, _operand(other))

    def __radd__(self, other: Kernel | float | Callable[[Any, Any], ArrayLike]) -> Kernel:
        return compose.Sum(_operand(other), self)

    def __mul__(self, other: Kernel | float | Callable[[Any, Any], ArrayLike]) -> Kernel:
        if isinstance(other, Kernel) or callable(other):
            return compose.Product(self, _operand(other))
        return compose.Scaled(other, self)

    def __rmul__(self, other: Kernel | float | Callable[[Any, Any], ArrayLike]) -> Kernel:
        return compose.Product(_operand(other), self) if callable(other) else compose.Scaled(other, self)

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

    def on(self, columns: ColumnChoice) -> Kernel:
        """Return this kernel acting on some columns only.

        They are given by position, by DataFrame name, as a slice of either (of names with its end, as in
        pandas), by one boolean for each, or by a function of X that returns one of these, such as
        scikit-learn's ``make_column_selector(dtype_include="number")``.

        Examples
        --------
        >>> from grls.kernels import Gaussian, Laplace
        >>> Gaussian(sigma=2.0).on(["x", "y"]) * Laplace(sigma=1.0).on("time")
        Gaussian(sigma=2.0).on(['x', 'y']) * Laplace(sigma=1.0).on('time')
        """
        return compose.OnColumns(self, columns)

    def after(self, transformer: Any) -> Kernel:
        """Return this kernel on a view of the rows, k(t(x), t(z)).

        Parameters
        ----------
        transformer : transformer, callable or array-like of shape (d, p)
            t: any scikit-learn transformer; a function of X; or a matrix A for the map x ↦ xA. Estimators
            clone it and fit it inside ``fit``, with X, y and the sample weights where it takes them, and
            their ``kernel_`` has the fitted one. Calling the kernel itself fits it to X, unless it is fitted.

        Returns
        -------
        Kernel
            With the parameters ``kernel`` and ``after``: ``kernel__after__…`` in a grid.

        Examples
        --------
        >>> from grls.kernels import Cosine, Gaussian, Linear
        >>> from sklearn.feature_extraction.text import TfidfVectorizer
        >>> from sklearn.preprocessing import StandardScaler
        >>> Gaussian(sigma=1.0).after(StandardScaler()) + Linear()
        Gaussian(sigma=1.0).after(StandardScaler()) + Linear()
        >>> Cosine().after(TfidfVectorizer())(["a cat", "a dog", "the cat"]).round(2)
        array([[1.  , 0.  , 0.61],
               [0.  , 1.  , 0.  ],
               [0.61, 0.  , 1.  ]])
        """
        return views.After(self, views.as_view(transformer))

    # A formula's repr can be read back, unless it has so many widths or columns that it shows some of them.
    # It puts parentheses where a looser operation stands inside a tighter one.
    _binding = 3

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        values = self.get_params(deep=False)
        names = [name for name in signature(type(self).__init__).parameters if name in values]
        return f"{type(self).__name__}({', '.join(f'{name}={shown(values[name])}' for name in names)})"

    def _inside(self, binding: int) -> str:
        return f"({self!r})" if self._binding < binding else repr(self)


def _operand(value: Kernel | float | Callable[[Any, Any], ArrayLike]) -> Kernel:
    if isinstance(value, Kernel):
        return value
    return given.Function(value) if callable(value) else dot.Constant(value)


def _comparable(value: Any) -> Any:
    """Return what tells a parameter of a kernel from another."""
    if isinstance(value, Kernel):
        return type(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if callable(value) else repr(value)


def _given(X: Any) -> Any:
    """Return rows as views see them: what is no table of numbers as it is, and data frames."""
    if not is_table_of_numbers(X):
        return as_rows(X)
    if hasattr(X, "columns"):
        return X
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", ensure_all_finite="allow-nan"
    )


# The algebra's results are kernels themselves: their classes stand on this one.
from . import compose, dot, given, views  # noqa: E402
