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
`ArcCosine`          "arc_cosine"          ‖x‖ⁿ ‖z‖ⁿ Jₙ(θ) / π, θ between x and z      0
`Sigmoid`            "sigmoid"             tanh(a ⟨x, z⟩ + c)                          None
`Gaussian`           "gaussian"            exp(−r² / (2σ²))                            0
`Laplace`            "laplace"             exp(−r / σ)                                 0
`Matern`             "matern"              (1 + s) exp(−s), s = √3 r / σ, for ν = 3/2  0
`Spherical`          "spherical"           1 − 3/2 h + h³/2, h = r / σ < 1             0
`Wendland`           "wendland"            (1 − h)^l p(h), h = r / σ < 1               0
`RationalQuadratic`  "rational_quadratic"  (1 + r² / (2ασ²))^−α                        0
`Periodic`           "periodic"            exp(−2 Σ sin²(π (x − z) / period) / σ²)     0
`ChiSquared`         "chi_squared"         exp(−γ Σ (x − z)² / (x + z))                0
`Overlap`            "overlap"             1 − Σ [x ≠ z] / d                           0
`Categorical`        "categorical"         exp(−Σ [x ≠ z] / σ)                         0
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
``PowerSeries(k, coefficients)``, ``k.normalized()``, ``k.on(columns)`` and ``k.after(transformer)``; of two
columns ``Sphere(k)``, latitude and longitude, and of two or three ``Rotated(k, angle, ratio)``. However long
the formula, it is evaluated in one pass, and all its terms share the inner products and distances they read.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, cast

from numpy.typing import ArrayLike

from .base import Kernel
from .compact import Spherical, Wendland
from .compose import (
    Exponential,
    Normalized,
    OnColumns,
    Power,
    PowerSeries,
    Product,
    Scaled,
    Sum,
)
from .conditional import Log, Multiquadric, Polyharmonic, ThinPlate
from .dot import ArcCosine, Constant, Cosine, Linear, Polynomial, Sigmoid
from .given import Function, Precomputed
from .labels import Categorical, Overlap
from .mapped import Rotated, Sphere
from .radial import ChiSquared, Gaussian, Laplace, Matern, Periodic, RationalQuadratic
from .views import After

__all__ = [
    "After",
    "ArcCosine",
    "Categorical",
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
    "Overlap",
    "Periodic",
    "Polyharmonic",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Rotated",
    "Scaled",
    "Sigmoid",
    "Sphere",
    "Spherical",
    "Sum",
    "ThinPlate",
    "Wendland",
    "as_kernel",
]
__dir__ = __all__.copy

_BY_NAME: dict[str, Callable[[], Kernel]] = {
    "arc_cosine": ArcCosine,
    "categorical": Categorical,
    "chi_squared": ChiSquared,
    "constant": Constant,
    "cosine": Cosine,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "linear": Linear,
    "log": Log,
    "matern": Matern,
    "multiquadric": Multiquadric,
    "overlap": Overlap,
    "periodic": Periodic,
    "polyharmonic": Polyharmonic,
    "polynomial": Polynomial,
    "precomputed": Precomputed,
    "rational_quadratic": RationalQuadratic,
    "sigmoid": Sigmoid,
    "spherical": Spherical,
    "thin_plate": ThinPlate,
    "wendland": Wendland,
}


_ELSEWHERE = {
    "rbf": '"gaussian", or Gaussian.from_gamma(gamma) with the gamma of scikit-learn',
    "poly": '"polynomial", or Polynomial.from_gamma(gamma, degree, coef0) with those of scikit-learn',
    "laplacian": '"laplace", or Laplace.from_gamma(gamma) with the gamma of scikit-learn',
    "exponential": '"laplace"',
    "squared_exponential": '"gaussian"',
}


def _unknown_name(name: str) -> str:
    """Return what to say of a name that is no kernel's."""
    names = ", ".join(map(repr, _BY_NAME))
    if name == "auto":
        return (
            'kernel="auto" is for GRLSRegressor, GRLSClassifier, GRRegressor, GRLogisticClassifier, '
            "SVMGBClassifier, NystromGRLSRegressor and NystromGRLSClassifier; "
            f"here name one of {names}, or give a kernel that one of them chose, its kernel_"
        )
    near = get_close_matches(name, _BY_NAME, n=1)
    meant = _ELSEWHERE.get(name, f'"{near[0]}"' if near else "")
    hint = f"; did you mean {meant}?" if meant else ""
    return f"kernel must be one of {names}; got {name!r}{hint}"


def as_kernel(kernel: Kernel | str | Callable[[Any, Any], ArrayLike]) -> Kernel:
    """Return a kernel from anything an estimator's ``kernel`` parameter takes.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, the name of one with its default parameters, or a function of two matrices of rows that
        returns the matrix of values.

    Returns
    -------
    Kernel
        The kernel itself, or the one that stands for it.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel.lower() not in _BY_NAME:
            raise ValueError(_unknown_name(kernel))
        return _BY_NAME[kernel.lower()]()
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        name = kernel.__name__
        raise TypeError(f"kernel={name} is a class: give a kernel of it, such as {name}()")
    if callable(kernel):
        return Function(cast(Any, kernel))
    raise TypeError(f"kernel must be a Kernel, a name or a function of two arguments, got {kernel!r}")
