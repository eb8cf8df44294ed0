"""Every kind of kernel: its NumPy form, the order it must have, the parameters that can be tuned."""

import numpy as np
import reference
from grls.kernels import (
    ArcCosine,
    Categorical,
    ChiSquared,
    Constant,
    Cosine,
    Gaussian,
    Laplace,
    Linear,
    Log,
    Matern,
    Multiquadric,
    Overlap,
    Periodic,
    Polyharmonic,
    Polynomial,
    PowerSeries,
    RationalQuadratic,
    Rotated,
    Sigmoid,
    Sphere,
    Spherical,
    ThinPlate,
    Wendland,
)

# A view of four columns.
TURNED = np.array([[1.0, 0.5, 0.0], [-0.5, 1.0, 0.2], [0.0, 0.3, 1.0], [0.4, 0.0, -0.6]])


# Each kernel beside its NumPy form; n_columns is at least 4.
FORMULAS = {
    "constant": (Constant(0.7), lambda X, Z: reference.constant(X, Z, 0.7)),
    "linear": (Linear(), reference.linear),
    "polynomial": (Polynomial(3, c=0.5), lambda X, Z: reference.polynomial(X, Z, 3, 0.5)),
    "homogeneous": (Polynomial(2, c=0.0), lambda X, Z: reference.polynomial(X, Z, 2, 0)),
    "sigmoid": (Sigmoid(0.8, -0.3), lambda X, Z: reference.sigmoid(X, Z, 0.8, -0.3)),
    "gaussian": (Gaussian(1.3), lambda X, Z: reference.gaussian(X, Z, 1.3)),
    "laplace": (Laplace(0.9), lambda X, Z: reference.laplace(X, Z, 0.9)),
    "matern 1/2": (Matern(0.9, 0.5), lambda X, Z: reference.matern(X, Z, 0.9, 0.5)),
    "matern 3/2": (Matern(0.9, 1.5), lambda X, Z: reference.matern(X, Z, 0.9, 1.5)),
    "matern 5/2": (Matern(0.9, 2.5), lambda X, Z: reference.matern(X, Z, 0.9, 2.5)),
    "laplace of absolute differences": (
        Laplace(0.9, norm="l1"),
        lambda X, Z: reference.laplace_l1(X, Z, 0.9),
    ),
    **{
        f"matern {nu}": (Matern(0.9, nu), lambda X, Z, nu=nu: reference.matern(X, Z, 0.9, nu))
        for nu in (0.3, 1.0, 2.2, 3.5, 17.0)
    },
    "spherical": (
        Spherical(1.7).on([3, 0, 1]),
        lambda X, Z: reference.spherical(X[:, [3, 0, 1]], Z[:, [3, 0, 1]], 1.7),
    ),
    **{
        f"wendland {k}": (
            Wendland(3.0, k),
            lambda X, Z, k=k: reference.wendland(X, Z, 3.0, k, X.shape[1]),
        )
        for k in range(4)
    },
    "wendland of more dimensions": (
        Wendland([2.0, 3.0], 2, dimension=5).on([1, 0]),
        lambda X, Z: reference.wendland(X[:, [1, 0]], Z[:, [1, 0]], [2.0, 3.0], 2, 5),
    ),
    "overlap": (Overlap(), reference.overlap),
    "categorical": (Categorical(1.3), lambda X, Z: reference.categorical(X, Z, 1.3)),
    "categorical columns": (
        Categorical([0.5, 2.0, 1.1]).on([2, 0, 3]) + Overlap().on([1, 2]) * Laplace(1.5, "l1").on([2, 1]),
        lambda X, Z: (
            reference.categorical(X[:, [2, 0, 3]], Z[:, [2, 0, 3]], [0.5, 2.0, 1.1])
            + reference.overlap(X[:, [1, 2]], Z[:, [1, 2]])
            * reference.laplace_l1(X[:, [2, 1]], Z[:, [2, 1]], 1.5)
        ),
    ),
    "sphere": (
        Sphere(Gaussian(30.0) + 0.5 * Matern(20.0) ** 2, radius=1000.0).on([3, 1]),
        lambda X, Z: (
            reference.gaussian(*(reference.places(A[:, [3, 1]], 1000.0) for A in (X, Z)), 30.0)
            + 0.5
            * reference.matern(*(reference.places(A[:, [3, 1]], 1000.0) for A in (X, Z)), 20.0, 1.5) ** 2
        ),
    ),
    "rotated": (
        Rotated(Gaussian(1.3), 30.0, 0.4).on([2, 0]) + Rotated(Laplace(0.8) * 2.0, -20.0, 3.0).on([1, 2]),
        lambda X, Z: (
            reference.gaussian(*(reference.turned(A[:, [2, 0]], 30.0, 0.4) for A in (X, Z)), 1.3)
            + 2 * reference.laplace(*(reference.turned(A[:, [1, 2]], -20.0, 3.0) for A in (X, Z)), 0.8)
        ),
    ),
    "rotated in space": (
        Rotated(Gaussian(1.3), (30.0, -50.0, 110.0), (0.4, 2.0)).on([2, 0, 3])
        + Rotated(Matern(0.8) * 2.0, (-20.0, 65.0, 10.0), 3.0).on([1, 2, 0]),
        lambda X, Z: (
            reference.gaussian(
                *(
                    reference.turned_in_space(A[:, [2, 0, 3]], [30.0, -50.0, 110.0], [0.4, 2.0])
                    for A in (X, Z)
                ),
                1.3,
            )
            + 2
            * reference.matern(
                *(
                    reference.turned_in_space(A[:, [1, 2, 0]], [-20.0, 65.0, 10.0], [3.0, 3.0])
                    for A in (X, Z)
                ),
                0.8,
                1.5,
            )
        ),
    ),
    **{
        f"arc-cosine {n}": (ArcCosine(n, c), lambda X, Z, n=n, c=c: reference.arc_cosine(X, Z, n, c))
        for n, c in ((0, 0.5), (1, 0.0), (2, 1.5))
    },
    "layers of arc-cosines": (
        ArcCosine(1, 0.3, layers=3),
        lambda X, Z: reference.arc_cosine(X, Z, 1, 0.3, layers=3),
    ),
    "arc-cosine within": (
        (ArcCosine(2, 0.5).normalized() + Linear()) * Gaussian(2.0),
        lambda X, Z: (
            (
                reference.normalized(lambda A, B: reference.arc_cosine(A, B, 2, 0.5), X, Z)
                + reference.linear(X, Z)
            )
            * reference.gaussian(X, Z, 2.0)
        ),
    ),
    "rational quadratic": (
        RationalQuadratic(0.9, 0.6),
        lambda X, Z: reference.rational_quadratic(X, Z, 0.9, 0.6),
    ),
    "periodic": (Periodic(1.7, 2.3), lambda X, Z: reference.periodic(X, Z, 1.7, 2.3)),
    "log": (Log(), lambda X, Z: reference.log_kernel(X, Z, 1)),
    "log of a rough distance": (Log(0.7), lambda X, Z: reference.log_kernel(X, Z, 0.7)),
    "log of the squared distance": (Log(2.0), lambda X, Z: reference.log_kernel(X, Z, 2)),
    "multiquadric": (Multiquadric(0.8), lambda X, Z: reference.multiquadric(X, Z, 0.8)),
    "thin plate": (ThinPlate(), lambda X, Z: reference.polyharmonic(X, Z, 2)),
    **{
        f"polyharmonic {n}": (Polyharmonic(n), lambda X, Z, n=n: reference.polyharmonic(X, Z, n))
        for n in (1, 3, 4, 5)
    },
    "cosine": (Cosine(), lambda X, Z: reference.normalized(reference.linear, X, Z)),
    "sum": (Gaussian(1.3) + Linear(), lambda X, Z: reference.gaussian(X, Z, 1.3) + reference.linear(X, Z)),
    "sum with a number": (1.5 + Laplace(2.0) + 0.5, lambda X, Z: 2.0 + reference.laplace(X, Z, 2.0)),
    "product": (
        Laplace(1.1) * Polynomial(2),
        lambda X, Z: reference.laplace(X, Z, 1.1) * reference.polynomial(X, Z, 2, 1),
    ),
    "scaled": (2.5 * Gaussian(0.7) * 2, lambda X, Z: 5 * reference.gaussian(X, Z, 0.7)),
    "power": ((Linear() + 0.2) ** 5, lambda X, Z: (reference.linear(X, Z) + 0.2) ** 5),
    "exponential": ((0.5 * Linear()).exp(), lambda X, Z: np.exp(0.5 * reference.linear(X, Z))),
    "power series": (
        PowerSeries(0.5 * Linear(), [0.3, 0.0, 2.0, 0.1]),
        lambda X, Z: sum(a * (0.5 * reference.linear(X, Z)) ** n for n, a in enumerate([0.3, 0.0, 2.0, 0.1])),
    ),
    "normalized": (
        (Linear() + 0.5 * Laplace(1.1)).normalized(),
        lambda X, Z: reference.normalized(
            lambda A, B: reference.linear(A, B) + 0.5 * reference.laplace(A, B, 1.1), X, Z
        ),
    ),
    "normalized twice": (
        ((Polynomial(2).normalized() + Linear().on([0, 2])).normalized() * Gaussian(2.0)) ** 2,
        lambda X, Z: (
            (
                reference.normalized(
                    lambda A, B: (
                        reference.normalized(lambda C, D: reference.polynomial(C, D, 2, 1), A, B)
                        + reference.linear(A[:, [0, 2]], B[:, [0, 2]])
                    ),
                    X,
                    Z,
                )
                * reference.gaussian(X, Z, 2.0)
            )
            ** 2
        ),
    ),
    "five kernels of one distance": (
        Gaussian(1.3) + Matern(0.9, 2.5) * RationalQuadratic(2.0) + Laplace(0.5) + Log().exp(),
        lambda X, Z: (
            reference.gaussian(X, Z, 1.3)
            + reference.matern(X, Z, 0.9, 2.5) * reference.rational_quadratic(X, Z, 2.0, 1)
            + reference.laplace(X, Z, 0.5)
            + np.exp(reference.log_kernel(X, Z, 1))
        ),
    ),
    "periodic columns": (
        Periodic([0.7, 1.9], [1.5, 0.4]).on([2, 0]) + Periodic(1.1, 2.0).on(1) * Gaussian(1.0),
        lambda X, Z: (
            reference.periodic(X[:, [2, 0]], Z[:, [2, 0]], [0.7, 1.9], [1.5, 0.4])
            + reference.periodic(X[:, [1]], Z[:, [1]], 1.1, 2.0) * reference.gaussian(X, Z, 1.0)
        ),
    ),
    "two widths": (
        Gaussian(0.6) + Gaussian(3.0) * Laplace(2.0),
        lambda X, Z: (
            reference.gaussian(X, Z, 0.6) + reference.gaussian(X, Z, 3.0) * reference.laplace(X, Z, 2.0)
        ),
    ),
    "columns": (
        Gaussian(0.8).on([2, 0]) * Laplace(1.5).on(1) + Linear().on(-1),
        lambda X, Z: (
            reference.gaussian(X[:, [2, 0]], Z[:, [2, 0]], 0.8) * reference.laplace(X[:, [1]], Z[:, [1]], 1.5)
            + reference.linear(X[:, [-1]], Z[:, [-1]])
        ),
    ),
    "columns of columns": (
        (Gaussian(0.8).on(1) + Linear()).on([3, 1, 0]),
        lambda X, Z: (
            reference.gaussian(X[:, [1]], Z[:, [1]], 0.8) + reference.linear(X[:, [3, 1, 0]], Z[:, [3, 1, 0]])
        ),
    ),
    "anisotropic columns": (
        Gaussian([0.5, 2.0]).on([3, 1]),
        lambda X, Z: reference.gaussian(X[:, [3, 1]], Z[:, [3, 1]], [0.5, 2.0]),
    ),
    "nested": (
        (2.0 * (Gaussian(1.0) + 0.3 * Linear().on([0, 1])) ** 2 * Laplace(2.0) + Constant(0.1)).exp(),
        lambda X, Z: np.exp(
            2
            * (reference.gaussian(X, Z, 1.0) + 0.3 * reference.linear(X[:, :2], Z[:, :2])) ** 2
            * reference.laplace(X, Z, 2.0)
            + 0.1
        ),
    ),
    "view": (
        Gaussian(1.3).after(TURNED).on(slice(4)) * Linear()
        + Laplace(0.9).on([2, 0]).after(TURNED).on(slice(4)),
        lambda X, Z: (
            reference.gaussian(X[:, :4] @ TURNED, Z[:, :4] @ TURNED, 1.3) * reference.linear(X, Z)
            + reference.laplace(X[:, :4] @ TURNED[:, [2, 0]], Z[:, :4] @ TURNED[:, [2, 0]], 0.9)
        ),
    ),
}

# Each kernel and the order it must have.
ORDERS = [
    (Constant(), 0),
    (Linear(), 0),
    (Polynomial(), 0),
    (Cosine(), 0),
    (Gaussian(0.5), 0),
    (Laplace(0.5), 0),
    (Matern(0.5, 0.5), 0),
    (Matern(0.5, 1.5), 0),
    (Matern(0.5, 2.5), 0),
    (Laplace(0.5, "l1"), 0),
    (Matern(0.5, 0.2), 0),
    (Matern(0.5, 1.0), 0),
    (Matern(0.5, 6.7), 0),
    (Spherical(0.5), 0),
    (Spherical([0.5, 0.2, 0.9]), 0),
    (Wendland(0.6, 0), 0),
    (Wendland(1.2, 1), 0),
    (Wendland(2.0, 2), 0),
    (Wendland(2.0, 3, dimension=8), 0),
    (Overlap(), 0),
    (Categorical(0.7), 0),
    (Sphere(Gaussian(0.3)).on([0, 2]), 0),
    (Sphere(Spherical(0.01) + Wendland(0.01)).on([0, 2]), 0),
    (Sphere(Log()).on([0, 1]), 1),
    (Rotated(Matern(0.5, 2.5), 20.0, 0.3).on([1, 2]), 0),
    (Rotated(ThinPlate(), 20.0, 0.3).on([1, 2]), 2),
    (Rotated(Matern(0.5, 2.5), (20.0, 70.0, -40.0), (0.3, 2.0)), 0),
    (Rotated(Wendland(1.2, 1), (20.0, 70.0, -40.0), (0.3, 2.0)), 0),
    (Rotated(Polyharmonic(3), (200.0, 10.0, 90.0), (0.3, 0.6)), 2),
    (ArcCosine(0), 0),
    (ArcCosine(1, 0.0), 0),
    (ArcCosine(2, 0.5), 0),
    (ArcCosine(1, 0.5, layers=2), 0),
    (RationalQuadratic(0.5, 0.3), 0),
    (Periodic(0.8, 0.7), 0),
    (ChiSquared(), 0),
    (Log(), 1),
    (Log(2.0), 1),
    (Log(0.5), 1),
    (Multiquadric(0.3), 1),
    (Polyharmonic(1), 1),
    (ThinPlate(), 2),
    (Polyharmonic(3), 2),
    (Polyharmonic(4), 3),
    (Polyharmonic(5), 3),
    (2.0 * ThinPlate() + Log(), 2),
    (ThinPlate().on([0, 1]) + 3.0, 2),
    (ThinPlate().after(TURNED[:3]), 2),
    (Gaussian(1.0) + Multiquadric(1.0), 1),
    (Log().exp(), 0),
    ((0.5 * Multiquadric(1.0) + Linear()).exp(), 0),
    (PowerSeries(Gaussian(1.0), [0.1, 0.2, 0.3]), 0),
    (Polynomial(2).normalized(), 0),
    (Laplace(1.0) * Cosine() ** 2, 0),
    ((Linear() + ChiSquared()).exp().normalized(), 0),
]

# Compositions of which nothing is promised.
UNKNOWN = [
    Sigmoid(),
    Gaussian(1.0) + Sigmoid(),
    2.0 * Sigmoid().on([0]) ** 2,
    ThinPlate().exp(),
    Log() * Gaussian(1.0),
    Gaussian(1.0) * Log(),
    Multiquadric(1.0) ** 2,
    PowerSeries(Log(), [1.0, 1.0]),
    Log() + Sigmoid(),
    ThinPlate() + Log() ** 2,
]

WIDTHS = [0.5, 0.7, 0.9]

# Every kind of kernel, with every parameter that can be tuned.
TUNABLE = [
    (Gaussian(0.7), ["sigma"]),
    (Gaussian(WIDTHS), ["sigma"]),
    (Laplace(0.7), ["sigma"]),
    (Laplace(WIDTHS), ["sigma"]),
    (Matern(0.7, 0.5), ["sigma"]),
    (Matern(0.6, 1.5), ["sigma"]),
    (Matern(WIDTHS, 1.5), ["sigma"]),
    (Matern(0.6, 2.5), ["sigma"]),
    (Matern(WIDTHS, 2.5), ["sigma"]),
    (Laplace(0.7, "l1"), ["sigma"]),
    (Laplace(WIDTHS, "l1"), ["sigma"]),
    (Matern(0.6, 0.4), ["sigma", "nu"]),
    (Matern(WIDTHS, 1.0), ["nu", "sigma"]),
    (Matern(0.6, 3.3), ["sigma", "nu"]),
    (Spherical(0.8), ["sigma"]),
    (Spherical(WIDTHS), ["sigma"]),
    *((Wendland(1.3, k), ["sigma"]) for k in range(4)),
    (Wendland([1.1, 1.2, 0.9], 1), ["sigma"]),
    (0.7 * Overlap() + Categorical(0.6) + Gaussian(0.5), ["k1__k1__scale", "k1__k2__sigma", "k2__sigma"]),
    (Categorical(WIDTHS) + Gaussian(0.5), ["k1__sigma"]),
    (Categorical(WIDTHS, shared=False) + Gaussian(0.5), ["k1__sigma"]),
    (Categorical(0.8, shared=False) + Gaussian(0.5), ["k1__sigma"]),
    (
        Sphere(Gaussian(0.01) + 0.5 * Matern(0.02, 1.3)).on([0, 2]),
        ["kernel__kernel__k1__sigma", "kernel__kernel__k2__scale", "kernel__kernel__k2__kernel__nu"],
    ),
    (
        Rotated(Gaussian(0.5) + 0.4 * Laplace(0.3), 25.0, 0.6).on([2, 0]) + Rotated(Gaussian(0.9)).on([0, 1]),
        [
            "k1__kernel__angle",
            "k1__kernel__ratio",
            "k1__kernel__kernel__k2__kernel__sigma",
            "k2__kernel__angle",
            "k2__kernel__ratio",
        ],
    ),
    (
        Rotated(Gaussian(0.5) + 0.4 * Laplace(0.3), (25.0, -40.0, 70.0), (0.6, 1.7)),
        ["angle", "ratio", "kernel__k2__kernel__sigma"],
    ),
    (
        Rotated(Matern(0.7), (0.0, 0.0, 0.0), 0.5).on([2, 0, 1])
        + Rotated(Gaussian(0.9), 15.0, 0.4).on([0, 1]),
        ["k1__kernel__angle", "k1__kernel__ratio", "k2__kernel__angle"],
    ),
    *((ArcCosine(n, 0.6), ["c"]) for n in range(3)),
    (ArcCosine(1, 0.6, layers=3), ["c"]),
    (
        (0.5 * ArcCosine(2, 0.6, layers=2) + Polynomial(2, 0.4)).normalized(),
        ["kernel__k1__scale", "kernel__k1__kernel__c", "kernel__k2__c"],
    ),
    (RationalQuadratic(0.5, 0.8), ["sigma", "alpha"]),
    (RationalQuadratic(WIDTHS, 0.8), ["alpha", "sigma"]),
    (Multiquadric(0.5), ["sigma"]),
    (Multiquadric(WIDTHS), ["sigma"]),
    (Log(1.2), ["p"]),
    (ChiSquared(0.7), ["gamma"]),
    (Polynomial(3, 0.7), ["c"]),
    (Periodic(0.9, 1.3), ["sigma", "period"]),
    (Periodic(WIDTHS, [1.3, 0.8, 0.9]), ["sigma", "period"]),
    (
        1.5 * Gaussian(0.5) + 0.7 * Linear() + Constant(0.3),
        ["k1__k1__scale", "k1__k1__kernel__sigma", "k1__k2__scale", "k2__value"],
    ),
    (
        (Gaussian(0.5) * Polynomial(2, 0.5)).exp(),
        ["kernel__k1__sigma", "kernel__k2__c"],
    ),
    (PowerSeries(Gaussian(0.7), [0.3, 0.5, 0.2]), ["coefficients", "kernel__sigma"]),
    ((Gaussian(0.6) + 0.5 * Laplace(0.3)) ** 3, ["kernel__k1__sigma", "kernel__k2__scale"]),
    (
        (2.0 * Polynomial(2, 0.5) + 0.3 * Gaussian(0.5)).normalized(),
        ["kernel__k1__scale", "kernel__k1__kernel__c", "kernel__k2__kernel__sigma"],
    ),
    (
        ((Polynomial(2, 0.5) + Linear()).normalized() * 3.0 + Laplace(0.4).on([0, 2])).normalized()
        * Gaussian([0.3, 0.5]).on([2, 0])
        + 0.1 * Cosine(),
        [
            "k1__k1__kernel__k1__scale",
            "k1__k1__kernel__k1__kernel__kernel__k1__c",
            "k1__k1__kernel__k2__kernel__sigma",
            "k1__k2__kernel__sigma",
            "k2__scale",
        ],
    ),
    (Gaussian(WIDTHS) + Laplace(WIDTHS), ["k1__sigma", "k2__sigma"]),  # equal widths, and yet two of them
]
