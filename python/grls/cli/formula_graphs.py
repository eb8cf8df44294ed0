"""Factors of a formula as operations of ONNX."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .formulas import NUMBERS

_SAME = ("abs", "ceil", "cos", "exp", "floor", "log", "sign", "sin", "sqrt", "tanh")
_FUNCTIONS = {name: name.capitalize() for name in _SAME} | {"maximum": "Max", "minimum": "Min"}
_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "Add",
    ast.Sub: "Sub",
    ast.Mult: "Mul",
    ast.Div: "Div",
    ast.Pow: "Pow",
    ast.Lt: "Less",
    ast.LtE: "LessOrEqual",
    ast.Gt: "Greater",
    ast.GtE: "GreaterOrEqual",
    ast.Eq: "Equal",
}


def factor_node(tree: ast.expr, graph: Any, X: str, places: dict[str, int]) -> Any:
    """Return the tensor (n, 1) or the number that a factor is, which was computed before."""

    def of(inner: ast.expr) -> Any:
        return factor_node(inner, graph, X, places)

    if isinstance(tree, ast.Constant):
        return float(tree.value)  # type: ignore[arg-type]
    if isinstance(tree, ast.Name):
        return graph.columns(X, [places[tree.id]]) if tree.id in places else NUMBERS[tree.id]
    if isinstance(tree, ast.UnaryOp):
        return graph.node("Neg", of(tree.operand)) if isinstance(tree.op, ast.USub) else of(tree.operand)
    if isinstance(tree, ast.Compare):
        sides = of(tree.left), of(tree.comparators[0])
        if isinstance(tree.ops[0], ast.NotEq):
            return graph.node("Where", graph.node("Equal", *sides), 0.0, 1.0)
        return graph.node("Where", graph.node(_SIGNS[type(tree.ops[0])], *sides), 1.0, 0.0)
    if isinstance(tree, ast.BinOp):
        left, right = of(tree.left), of(tree.right)
        if isinstance(tree.op, ast.Mod):
            whole = graph.node("Floor", graph.node("Div", left, right))
            return graph.node("Sub", left, graph.node("Mul", whole, right))
        return graph.node(_SIGNS[type(tree.op)], left, right)
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    return _function(tree.func.id, [of(one) for one in tree.args], graph)


def _function(name: str, arguments: list[Any], graph: Any) -> Any:
    """Return a function of tensors."""
    x = arguments[0]
    if name in _FUNCTIONS:
        return graph.node(_FUNCTIONS[name], *arguments)
    if name == "I":
        return x
    if name == "square":
        return graph.node("Mul", x, x)
    if name == "cbrt":
        return graph.node("Mul", graph.node("Sign", x), graph.node("Pow", graph.node("Abs", x), 1 / 3))
    if name == "tan":
        return graph.node("Div", graph.node("Sin", x), graph.node("Cos", x))
    if name == "expm1":
        return graph.node("Sub", graph.node("Exp", x), 1.0)
    if name == "log1p":
        return graph.node("Log", graph.node("Add", x, 1.0))
    return graph.node("Div", graph.node("Log", x), {"log2": np.log(2), "log10": np.log(10)}[name])
