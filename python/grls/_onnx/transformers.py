"""Features, views and steps of pipelines as operations of ONNX."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures

from ..features import Columns, LinearMap, PolynomialTrend
from ..kernels import Kernel
from ..kernels.compose import OnColumns, Sum
from ..kernels.views import After
from .graph import Graph, onnx, opset


def transformed(graph: Graph, transformer: Any, X: str, n_columns: int, what: str) -> tuple[str, int]:
    """Return what a fitted transformer makes of a matrix (n, n_columns), and of how many columns it is."""
    if hasattr(transformer, "_to_onnx"):
        converted: tuple[str, int] = transformer._to_onnx(graph, X)
        return converted
    if isinstance(transformer, PolynomialTrend):
        return _trend(graph, transformer, X)
    if isinstance(transformer, Columns):
        chosen = graph.columns(X, transformer.positions_)
        width = len(transformer.positions_)
        if not transformer.constant:
            return chosen, width
        return graph.node("Concat", graph.ones(X), chosen, axis=1), width + 1
    if isinstance(transformer, LinearMap):
        A = np.asarray(transformer.matrix, dtype=np.float64)
        return graph.node("MatMul", X, A), A.shape[1]
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            if step is not None and step != "passthrough":
                X, n_columns = transformed(graph, step, X, n_columns, what)
        return X, n_columns
    if isinstance(transformer, PolynomialFeatures):  # skl2onnx mixes single precision in
        return _monomials(graph, X, X, transformer.powers_)
    return _by_skl2onnx(graph, transformer, X, n_columns, what)


def _trend(graph: Graph, trend: PolynomialTrend, X: str) -> tuple[str, int]:
    """Return the monomials about the middle of the data, with which estimators compute."""
    if trend.degree == 0:
        return graph.ones(X), 1
    return _monomials(graph, X, graph.node("Sub", X, trend.centre_), trend._monomials.powers_)


def _monomials(graph: Graph, X: str, moved: str, exponents: Any) -> tuple[str, int]:
    """Return products of powers of columns; X serves for the ones."""
    ones = graph.ones(X)
    monomials = []
    for powers in exponents:
        factors = [graph.columns(moved, [j]) for j in range(len(powers)) for _ in range(powers[j])]
        monomials.append(
            reduce(lambda one, other: graph.node("Mul", one, other), factors) if factors else ones
        )
    return graph.node("Concat", *monomials, axis=1), len(monomials)


def _by_skl2onnx(graph: Graph, transformer: Any, X: str, n_columns: int, what: str) -> tuple[str, int]:
    """Return what a transformer of scikit-learn makes of a matrix."""
    name = type(transformer).__name__
    if type(transformer).__module__.split(".")[0] == "grls":
        raise NotImplementedError(f"{what}: {name} does not convert to ONNX")
    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import DoubleTensorType
    except ImportError as error:
        raise ImportError('grls.to_onnx needs onnx and skl2onnx: pip install "grls[onnx]"') from error
    width = np.asarray(_dense(transformer.transform(np.ones((1, n_columns))))).reshape(1, -1).shape[1]
    try:
        part = to_onnx(
            transformer,
            initial_types=[("X", DoubleTensorType([None, n_columns]))],
            target_opset={"": opset(), "ai.onnx.ml": 3},
        )
        onnx().shape_inference.infer_shapes(part, strict_mode=True)  # single and double mixed?
    except Exception as error:  # its errors are of many kinds, and none says what does not convert
        raise NotImplementedError(f"{what}: {transformer!r} does not convert to ONNX: {error}") from error
    return graph.double(graph.inline(part, X)), width


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


def viewed(graph: Graph, kernel: Kernel, X: str, n_columns: int) -> str:
    """Return the matrix that a fitted kernel with views reads of rows (n, n_columns)."""
    own: set[int] = set()
    blocks: list[str] = []

    def look(part: Any, columns: tuple[int, ...]) -> None:
        if isinstance(part, After):
            rows = graph.columns(X, columns)
            what = "the view of a kernel"
            values, width = transformed(graph, part.transformer, rows, len(columns), what)
            blocks.append(viewed(graph, part.kernel, values, width))
        elif isinstance(part, OnColumns):
            chosen = part._positions(len(columns), None)
            look(part.kernel, tuple(columns[p] for p in chosen))
        elif isinstance(part, Sum):
            look(part.k1, columns)
            look(part.k2, columns)
        elif part._views():
            look(part.kernel, columns)
        else:
            own.update(_read(part, columns))

    look(kernel, tuple(range(n_columns)))
    parts = [graph.columns(X, sorted(own))] if own else []
    return graph.node("Concat", *parts, *blocks, axis=1) if len(parts + blocks) > 1 else (parts + blocks)[0]


def _read(kernel: Kernel, columns: tuple[int, ...]) -> set[int]:
    """Return the columns that a kernel without views reads."""
    if isinstance(kernel, OnColumns):
        return _read(kernel.kernel, tuple(columns[p] for p in kernel._positions(len(columns), None)))
    if isinstance(kernel, Sum):
        return _read(kernel.k1, columns) | _read(kernel.k2, columns)
    if type(kernel).__name__ == "Constant":
        return set()
    inner = getattr(kernel, "kernel", None)
    return _read(inner, columns) if isinstance(inner, Kernel) else set(columns)
