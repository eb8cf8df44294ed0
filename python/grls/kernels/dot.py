"""Kernels of the inner product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._validation import FloatArray, integer, real, shown
from .base import Kernel
from .lowering import LARGEST_POWER, Columns, Lowering
from .spectral import no_density

if TYPE_CHECKING:
    from .views import Seen


def _about_squares(X: Any) -> tuple[float, float]:
    """Return numbers well below and well above the mean of ⟨x, x⟩."""
    squares = X.multiply(X) if sparse.issparse(X) else np.square(X, dtype=np.float64)
    size = float(squares.sum()) / X.shape[0] or 1.0
    return 1e-4 * size, 1e4 * size


class Constant(Kernel):
    """The constant kernel, k(x, z) = value.

    Parameters
    ----------
    value : float, default=1.0
        Not negative. A small constant penalises the intercept softly; an unpenalised one is a feature.
    """

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        value = real(self.value, "Constant.value", minimum=0)
        lowering.combine("constant", value, owner=self, tunes={"a": "value"})

    @property
    def names_columns(self) -> bool:
        """It reads none."""
        return True

    def _look(self, seen: Seen) -> None:
        """Read no column."""

    def _spectral_density(self, omega: FloatArray) -> FloatArray:
        raise no_density(self, "a constant has all its weight at the frequency zero")


class Linear(Kernel):
    """The linear kernel, k(x, z) = ⟨x − μ, z − μ⟩.

    Parameters
    ----------
    center : array-like of shape (d,) or None, default=None
        μ, for the columns the kernel reads. None: the origin, or where the data are far from it and a free
        constant makes the model the same about any centre, their mean; a fitted ``kernel_`` has it.
    """

    def __init__(self, center: ArrayLike | None = None) -> None:
        self.center = center

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        center: tuple[float, ...] = ()
        if self.center is not None:
            center = tuple(real(value, "Linear.center") for value in np.ravel(self.center).tolist())
            if len(center) != lowering.width_of(columns):
                raise ValueError(
                    f"Linear.center has {len(center)} values for {lowering.width_of(columns)} columns"
                )
        lowering.term("linear", columns, center=center)

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return [(self, columns, adds_up)]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return "Linear()" if self.center is None else f"Linear(center={shown(self.center)})"


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

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return [(self, columns, False)]

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        degree = integer(self.degree, "Polynomial.degree", minimum=1, maximum=LARGEST_POWER)
        c = real(self.c, "Polynomial.c", minimum=0)
        lowering.term("polynomial", columns, c, degree=degree, owner=self, tunes={"a": "c"})

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return bounds in terms of the mean of ⟨x, x⟩, beside which c counts or not."""
        return _about_squares(X)

    @classmethod
    def from_gamma(cls, gamma: float, degree: int = 3, coef0: float = 1.0) -> Kernel:
        """Return the kernel (γ⟨x, z⟩ + coef0)^degree, as scikit-learn's ``polynomial_kernel`` writes it.

        Parameters
        ----------
        gamma : float
            Greater than zero.
        degree : int, default=3
            At least 1.
        coef0 : float, default=1.0
            Not negative.

        Returns
        -------
        Kernel
            ``gamma**degree * Polynomial(degree, coef0 / gamma)``, the same function.

        Examples
        --------
        >>> from grls.kernels import Polynomial
        >>> Polynomial.from_gamma(0.5, degree=2)
        0.25 * Polynomial(degree=2, c=2.0)
        """
        slope = real(gamma, "gamma", above=0)
        kernel: Kernel = cls(degree, real(coef0, "coef0", minimum=0) / slope)
        return kernel * float(slope ** integer(degree, "degree", minimum=1))


class Cosine(Kernel):
    """The cosine of the angle between two rows, k(x, z) = ⟨x, z⟩ / (‖x‖ ‖z‖); zero where a row is.

    It is ``Linear().normalized()`` under the name it has for text.
    """

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return [(self, columns, False)]

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        lowering.term("linear", columns)
        lowering.combine("normalize")


class ArcCosine(Kernel):
    r"""The arc-cosine kernel: a layer of infinitely many random units, steps, ramps or squared ramps.

    .. math:: k(x, z) = \frac{1}{π} (‖x‖ ‖z‖)^n J_n(θ), \qquad \cos θ = \frac{⟨x, z⟩}{‖x‖ ‖z‖}

    with J₀ = π − θ, J₁ = sin θ + (π − θ) cos θ and J₂ = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ). ⟨x, z⟩ + c
    stands in place of ⟨x, z⟩, ‖x‖² + c in place of ‖x‖²; a row of zeros, for c = 0, has the value zero.

    Parameters
    ----------
    degree : {0, 1, 2}, default=1
        n: of the units max(0, w·x)^n. For 0 only the directions of rows matter.
    c : float, default=1.0
        Not negative: the variance of the units' offsets; 0 lets all units pass through the origin.
    layers : int, default=1
        How many layers stand on one another: each takes the inner products of the one before.

    References
    ----------
    Cho and Saul, Kernel methods for deep learning, Advances in Neural Information Processing Systems 22
    (2009).

    Examples
    --------
    >>> from grls.kernels import ArcCosine
    >>> ArcCosine(c=0.0)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]).round(3)
    array([[2.   , 0.318]])
    """

    def __init__(self, degree: int = 1, c: float = 1.0, layers: int = 1) -> None:
        self.degree = degree
        self.c = c
        self.layers = layers

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return [(self, columns, False)]

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        degree = integer(self.degree, "ArcCosine.degree", minimum=0)
        if degree > 2:
            raise ValueError(f"ArcCosine.degree must be 0, 1 or 2, got {self.degree!r}")
        c = real(self.c, "ArcCosine.c", minimum=0)
        lowering.term("polynomial", columns, c, degree=1, owner=self, tunes={"a": "c"})
        for _ in range(integer(self.layers, "ArcCosine.layers", minimum=1, maximum=1000)):
            lowering.combine("arc_cosine", degree=degree)

    def tuning_bounds(self, parameter: str, X: Any) -> tuple[Any, Any]:
        """Return bounds in terms of the mean of ⟨x, x⟩, beside which c counts or not."""
        return _about_squares(X)


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

    def _inner_products(
        self, columns: Sequence[int], *, adds_up: bool
    ) -> list[tuple[Any, Sequence[int], bool]]:
        return [(self, columns, False)]

    def _lower(self, lowering: Lowering, columns: Columns) -> None:
        lowering.term("sigmoid", columns, real(self.a, "Sigmoid.a"), real(self.c, "Sigmoid.c"))
