"""Kernel values as operations of ONNX, from the formulas that the compiled core evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import factorial, sqrt
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.lowering import Lowering
from .graph import Graph

_MOST_DIFFERENCES = 30  # columns up to which distances are sums of squared differences, one by one
_PRODUCTS = ("linear", "polynomial", "sigmoid")
_TWO = {"sum": "Add", "product": "Mul"}
_ONE = ("scale", "power", "exponential", "series", "normalize", "arc_cosine")


@dataclass(frozen=True)
class _Points:
    """Rows of new points and of the model's as a group of terms sees them, each divided by its widths."""

    X: str  # (n, p)
    Z: str  # (m, p)
    p: int


def _points(sides: list[str], p: int) -> _Points:
    X, Z = sides
    return _Points(X, Z, p)


class KernelValues:
    """Builds k(x, z) for new points X (n, p) and the points Z (m, p) of a model.

    Parameters
    ----------
    graph : Graph
        Where nodes are added.
    kernel : Kernel
        Resolved.
    X : str
        The points that the kernel reads, (n, p).
    Z : ndarray of shape (m, p)
        Those of the model.
    """

    def __init__(self, graph: Graph, kernel: Kernel, X: str, Z: Any) -> None:
        self.graph, self.X = graph, X
        self.Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)
        self.kernel = kernel
        lowering = Lowering(self.Z.shape[1])
        kernel._lower(lowering, kernel._frame)
        self.groups, self.steps, self.series = lowering.written()
        self._kept: dict[Any, Any] = {}  # points and quantities that terms share

    def matrix(self) -> str:
        """Return the kernel matrix (n, m)."""
        return self._value(self._tree(), "pairs")

    def _tree(self) -> Any:
        """Return the formula as a tree: a step and its operands."""
        stack: list[Any] = []
        for step in self.steps:
            count = 2 if step[0] in _TWO else 1 if step[0] in _ONE else 0
            operands = stack[len(stack) - count :]
            del stack[len(stack) - count :]
            stack.append((step, operands))
        (tree,) = stack
        return tree

    def _refuse(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{self.kernel!r} does not convert to ONNX: {what}")

    # Steps. `at` is "pairs" for k(x, z), (n, m); "x" for k(x, x), (n, 1); "z" for k(z, z), (1, m).

    def _value(self, tree: Any, at: str) -> str:
        (name, group, a, b, degree), operands = tree
        node = self.graph.node
        if name in _TWO:
            return node(_TWO[name], *(self._value(one, at) for one in operands))
        if name not in _ONE:
            return self._term(name, group, a, b, degree, at)
        if name == "arc_cosine":
            raise self._refuse("there is no arc cosine in double precision")
        inner = self._value(operands[0], at)
        if name == "scale":
            return node("Mul", inner, a)
        if name == "power":
            return node("Pow", inner, float(degree))
        if name == "exponential":
            return node("Exp", inner)
        if name == "series":
            return self._series(inner, self.series[group])
        sizes = [inner, inner] if at != "pairs" else [self._value(operands[0], side) for side in "xz"]
        product = node("Mul", *sizes) if at == "pairs" else node("Mul", inner, inner)
        positive = node("Greater", product, 0.0)
        safe = node("Where", positive, product, 1.0)
        return node("Where", positive, node("Div", inner, node("Sqrt", safe)), 0.0)

    def _series(self, inner: str, coefficients: Any) -> str:
        """Return Σ a_p k^p by Horner's rule."""
        node = self.graph.node
        value = node("Add", node("Mul", inner, 0.0), float(coefficients[-1]))
        for coefficient in reversed(coefficients[:-1]):
            value = node("Add", node("Mul", value, inner), float(coefficient))
        return value

    def _term(self, name: str, group: int, a: float, b: float, degree: int, at: str) -> str:
        node = self.graph.node
        if name == "constant":
            size = self._quantity("products", None, at)
            return node("Add", node("Mul", size, 0.0), a)
        if name in _PRODUCTS:
            products = self._quantity("products", group, at)
            if name == "linear":
                return products
            if name == "polynomial":
                return node("Pow", node("Add", products, a), float(degree))
            return node("Tanh", node("Add", node("Mul", products, a), b))
        if name == "chi_squared":
            return node("Exp", node("Mul", self._quantity("chi_squared", group, at), -a))
        if name in ("laplace_l1", "hamming"):
            kind = "manhattan" if name == "laplace_l1" else "mismatches"
            return node("Exp", node("Mul", self._quantity(kind, group, at), -1 / a))
        if name == "overlap":
            return node("Sub", 1.0, node("Mul", self._quantity("mismatches", group, at), a))
        return self._radial(name, self._quantity("distances", group, at), a, b, degree)

    def _radial(self, name: str, squares: str, a: float, b: float, degree: int) -> str:
        """Return a term of squared distances."""
        node = self.graph.node
        if name == "gaussian":
            return node("Exp", node("Mul", squares, -0.5 / a**2))
        if name == "rational_quadratic":
            return node("Pow", node("Add", node("Mul", squares, 0.5 / (b * a**2)), 1.0), -b)
        if name == "multiquadric":
            return node("Neg", node("Sqrt", node("Add", node("Mul", squares, 1 / a**2), 1.0)))
        if name == "log":
            return node("Neg", node("Log", node("Add", node("Pow", squares, a / 2), 1.0)))
        r = node("Sqrt", squares)
        if name == "laplace":
            return node("Exp", node("Mul", r, -1 / a))
        if name == "matern":
            return self._matern(node("Mul", r, sqrt(degree) / a), degree // 2)
        if name == "matern_nu":
            if b % 1 != 0.5 or b > 20:
                raise self._refuse(f"a Matérn kernel of smoothness {b:g}; half-integer ones do, such as 1.5")
            return self._matern(node("Mul", r, sqrt(2 * b) / a), int(b))
        if name == "polyharmonic":
            return self._polyharmonic(r, degree)
        h = node("Min", node("Mul", r, 1 / a), 1.0)
        if name == "spherical":
            cubic = node("Mul", node("Pow", h, 3.0), 0.5)
            return node("Add", node("Sub", 1.0, node("Mul", h, 1.5)), cubic)
        if name == "wendland":
            polynomial = self._series(h, _wendland(b, degree))
            return node("Mul", node("Pow", node("Sub", 1.0, h), float(int(b) + degree)), polynomial)
        raise self._refuse(f"the term {name}")

    def _matern(self, s: str, p: int) -> str:
        """Return the Matérn function of smoothness p + 1/2, a polynomial times exp(-s)."""
        scale = factorial(p) / factorial(2 * p)
        coefficients = [
            scale * factorial(2 * p - k) / (factorial(k) * factorial(p - k)) * 2.0**k for k in range(p + 1)
        ]
        return self.graph.node(
            "Mul", self._series(s, coefficients), self.graph.node("Exp", self.graph.node("Neg", s))
        )

    def _polyharmonic(self, r: str, degree: int) -> str:
        node = self.graph.node
        flips = (degree + 1) // 2 if degree % 2 else degree // 2 + 1
        power = node("Mul", node("Pow", r, float(degree)), float((-1) ** flips))
        if degree % 2:
            return power
        positive = node("Where", node("Greater", r, 0.0), r, 1.0)
        return node("Mul", power, node("Log", positive))

    # What terms read of two points.

    def _quantity(self, kind: str, group: int | None, at: str) -> str:
        key = (kind, group, at)
        if key not in self._kept:
            self._kept[key] = self._computed(kind, group, at)
        return str(self._kept[key])

    def _computed(self, kind: str, group: int | None, at: str) -> str:
        node, graph = self.graph.node, self.graph
        points = self._points(group)
        if at != "pairs":
            own = points.X if at == "x" else points.Z
            squares = graph.sum_columns(node("Mul", own, own))  # (n, 1)
            value = squares if kind == "products" else node("Mul", squares, 0.0)
            return value if at == "x" else node("Transpose", value)
        if kind == "products":
            return node("MatMul", points.X, node("Transpose", points.Z))
        if kind == "distances" and points.p > _MOST_DIFFERENCES:
            return self._by_products(points)
        if points.p > 1000:
            raise self._refuse(f"{kind} of {points.p} columns, one by one, make too large a graph")
        shares = []
        for j in range(points.p):
            x, z = graph.columns(points.X, [j]), node("Transpose", graph.columns(points.Z, [j]))
            width = self._width(group, j) if kind == "mismatches" else 1.0
            shares.append(self._share(kind, x, z, width))
        return reduce(lambda one, other: node("Add", one, other), shares)

    def _share(self, kind: str, x: str, z: str, width: float) -> str:
        """Return what one column adds, (n, m)."""
        node = self.graph.node
        if kind == "mismatches":
            return node("Mul", node("Where", node("Equal", x, z), 0.0, 1.0), 1 / width)
        difference = node("Sub", x, z)
        if kind == "manhattan":
            return node("Abs", difference)
        squares = node("Mul", difference, difference)
        if kind == "distances":
            return squares
        sums = node("Add", x, z)
        return node("Div", squares, node("Where", node("Greater", sums, 0.0), sums, 1.0))

    def _by_products(self, points: _Points) -> str:
        """Return squared distances of many columns; the points are about their middle."""
        node, graph = self.graph.node, self.graph
        own = [graph.sum_columns(node("Mul", side, side)) for side in (points.X, points.Z)]
        both = node("Add", own[0], node("Transpose", own[1]))
        products = node("Mul", node("MatMul", points.X, node("Transpose", points.Z)), 2.0)
        return node("Max", node("Sub", both, products), 0.0)

    def _width(self, group: int | None, j: int) -> float:
        widths = () if group is None else self.groups[group][1]
        return float(widths[j]) if widths else 1.0

    def _points(self, group: int | None) -> _Points:
        key = ("points", group)
        if key not in self._kept:
            self._kept[key] = self._seen(group)
        found: _Points = self._kept[key]
        return found

    def _seen(self, group: int | None) -> _Points:
        """Return both sets of points as a group of terms sees them."""
        graph = self.graph
        if group is None:
            return _Points(self.X, graph.constant(self.Z), self.Z.shape[1])
        columns, widths, periods, center, reading, (radius, matrix), _ = self.groups[group]
        Z = self.Z[:, list(columns)] if columns else self.Z
        X = graph.columns(self.X, list(columns)) if columns else self.X
        kinds = {self.steps[i][0] for i in range(len(self.steps)) if self._is_of(i, group)}
        origin = np.asarray(center) if center else None
        if not center and not reading and not periods and not radius and not kinds.intersection(_PRODUCTS):
            origin = Z.min(axis=0) / 2 + Z.max(axis=0) / 2  # distances are the same about any
        sides = [X, graph.constant(Z)]
        if origin is not None:
            sides = [graph.node("Sub", side, origin) for side in sides]
        if periods:
            return self._wound(sides, np.asarray(periods), widths, Z.shape[1])
        if radius:
            return _points([self._place(side, radius) for side in sides], 3)
        if matrix:
            A = np.asarray(matrix).reshape(-1, Z.shape[1]).T
            return _points([graph.node("MatMul", side, A) for side in sides], A.shape[1])
        if widths and reading != "labels":
            sides = [graph.node("Div", side, np.asarray(widths)) for side in sides]
        return _points(sides, Z.shape[1])

    def _is_of(self, i: int, group: int) -> bool:
        name, own = self.steps[i][:2]
        return own == group and name not in _TWO and name not in _ONE and name != "constant"

    def _wound(self, sides: list[str], periods: Any, widths: Any, p: int) -> _Points:
        """Return columns wound onto circles, each of the radius 1 / width."""
        node = self.graph.node
        scale = np.asarray(widths) if widths else np.ones(p)
        out = []
        for side in sides:
            angle = node("Mul", side, 2 * np.pi / periods)
            both = [node("Div", node(function, angle), scale) for function in ("Cos", "Sin")]
            out.append(node("Concat", *both, axis=1))
        return _points(out, 2 * p)

    def _place(self, side: str, radius: float) -> str:
        """Return the points of a sphere at latitudes and longitudes."""
        node, graph = self.graph.node, self.graph
        radians = node("Mul", side, np.pi / 180)
        latitude, longitude = (graph.columns(radians, [j]) for j in range(2))
        across = node("Cos", latitude)
        east, north = (node("Mul", across, node(f, longitude)) for f in ("Cos", "Sin"))
        return node("Mul", node("Concat", east, north, node("Sin", latitude), axis=1), radius)


def _wendland(exponent: float, degree: int) -> list[float]:
    """Return the coefficients of Wendland's polynomials, the first of them 1."""
    n = exponent
    return [
        [1.0],
        [1.0, n + 1],
        [1.0, n + 2, (n + 1) * (n + 3) / 3],
        [1.0, n + 3, (2 * n * n + 12 * n + 15) / 5, (n + 1) * (n + 3) * (n + 5) / 15],
    ][degree]
