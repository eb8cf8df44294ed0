"""Kernels from text: names, or expressions as ``2 * Matern(nu=2.5).on("x") + Linear()``; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from .. import kernels
from ..kernels import Kernel

_CLASSES: dict[str, Any] = {
    name: getattr(kernels, name)
    for name in kernels.__all__
    if name not in ("After", "Function", "Kernel", "OnColumns", "Precomputed", "as_kernel")
}
_CLASSES |= {name: kind for name, kind in kernels._BY_NAME.items() if name != "precomputed"}
_SCALERS = {scaler.__name__: scaler for scaler in (StandardScaler, MinMaxScaler, RobustScaler)}
_LONGEST = 2000


def as_kernel(text: str, columns: Mapping[str, Sequence[str]] | None = None) -> Any:
    """Return the kernel that a text describes.

    Parameters
    ----------
    text : str
        ``"auto"``; a name, for which each column gets a width of its own; or an expression of kernels,
        numbers, ``+``, ``*``, ``**``, ``.on("column", …)``, ``.exp()``, ``.normalized()`` and
        ``.after(StandardScaler())``.
    columns : mapping of str to sequence of str, default=None
        What stands for a column in `.on`: itself, or the indicators of its categories.

    Returns
    -------
    Kernel or "auto"
        The kernel.
    """
    stripped = text.strip()
    if stripped == "auto":
        return "auto"
    if stripped.isidentifier():
        return _by_name(stripped)
    try:
        if len(stripped) > _LONGEST:
            raise ValueError(f"it is longer than {_LONGEST} characters")
        tree = ast.parse(stripped, mode="eval").body
        kernel = _Reader(columns).value(tree)
    except (SyntaxError, RecursionError, MemoryError) as error:
        what = error.msg if isinstance(error, SyntaxError) else "it is too deep"
        raise ValueError(f"the kernel {text!r} cannot be read: {what}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"the kernel {text!r} cannot be read: {error}") from error
    if not isinstance(kernel, Kernel):
        raise ValueError(f"the kernel {text!r} is {kernel!r}, not a kernel")
    return kernel


def _by_name(name: str) -> Kernel:
    """Return a kernel by its name, with a width for each column where it has widths."""
    kind = _find(name)
    kernel: Kernel = kind()
    if getattr(kernel, "sigma", None) == "median":
        kernel.set_params(sigma="medians")
    return kernel


def _find(name: str) -> Any:
    if name in _CLASSES:
        return _CLASSES[name]
    near = get_close_matches(name, _CLASSES, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are auto, {', '.join(sorted(_CLASSES))}"
    raise ValueError(f"there is no kernel {name!r}{hint}")


class _Reader:
    """Makes values of the nodes of an expression that are known, and refuses all others."""

    def __init__(self, columns: Mapping[str, Sequence[str]] | None) -> None:
        self.columns = columns

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.number(node.operand)
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(one) for one in node.elts]
        if isinstance(node, ast.BinOp):
            return self.combined(node)
        if isinstance(node, ast.Name):
            return _find(node.id)()
        if isinstance(node, ast.Call):
            return self.called(node)
        raise ValueError(f"{ast.unparse(node)} is nothing that kernels are made of")

    def number(self, node: ast.expr) -> float:
        value = self.value(node)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{ast.unparse(node)} is not a number")
        return value

    def combined(self, node: ast.BinOp) -> Any:
        left = self.value(node.left)
        if isinstance(node.op, ast.Pow):
            if not isinstance(left, Kernel):
                raise ValueError(f"{ast.unparse(node)}: powers are of kernels")
            exponent: Any = self.number(node.right)
            return left**exponent
        right = self.value(node.right)
        if not isinstance(left, Kernel) and not isinstance(right, Kernel):
            raise ValueError(f"{ast.unparse(node)} has no kernel in it")
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Mult):
            return left * right
        raise ValueError(f"{ast.unparse(node)}: kernels take +, * and **")

    def called(self, node: ast.Call) -> Any:
        if any(keyword.arg is None for keyword in node.keywords):
            raise ValueError("** in a call is not known")
        arguments = [self.value(one) for one in node.args] if not self.is_after(node) else []
        named = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        if isinstance(node.func, ast.Name):
            return _find(node.func.id)(*arguments, **named)
        if not isinstance(node.func, ast.Attribute):
            raise ValueError(f"{ast.unparse(node.func)} cannot be called")
        owner, method = node.func.value, node.func.attr
        if method == "from_gamma" and isinstance(owner, ast.Name):
            kind = _find(owner.id)
            if not hasattr(kind, method):
                raise ValueError(f"{owner.id} has no from_gamma")
            return kind.from_gamma(*arguments, **named)
        kernel = self.value(owner)
        if not isinstance(kernel, Kernel):
            raise ValueError(f"{ast.unparse(owner)} is not a kernel")
        if method == "on" and not named:
            return kernel.on(self.on(arguments))
        if method in ("exp", "normalized") and not arguments and not named:
            return getattr(kernel, method)()
        if method == "after" and len(node.args) == 1 and not named:
            return kernel.after(self.scaler(node.args[0]))
        raise ValueError(f"{ast.unparse(node)}: kernels have .on, .after, .exp() and .normalized()")

    def is_after(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and node.func.attr == "after"

    def scaler(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and not node.args and not node.keywords:
            node = node.func
        if isinstance(node, ast.Name) and node.id in _SCALERS:
            return _SCALERS[node.id]()
        raise ValueError(f".after takes {', '.join(_SCALERS)} here, got {ast.unparse(node)}")

    def on(self, arguments: list[Any]) -> list[str]:
        """Return the names of columns, with the indicators of categories in place of theirs."""
        flat = [name for one in arguments for name in (one if isinstance(one, list) else [one])]
        if not flat or not all(isinstance(name, str) for name in flat):
            raise ValueError('.on takes names of columns, as in .on("x", "y")')
        if self.columns is None:
            return flat
        unknown = [name for name in flat if name not in self.columns]
        if unknown:
            raise ValueError(f"there is no column {unknown[0]!r}; there are {', '.join(self.columns)}")
        return [name for one in flat for name in self.columns[one]]
