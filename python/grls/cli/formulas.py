"""Features from a formula such as ``sqrt(dist) + soil``: read by formulaic's grammar, computed here.

Formulas of Wilkinson and Rogers as R and formulaic know them: ``+``, ``:``, ``*``, ``-``, ``^``, a constant
unless ``- 1`` takes it away. What stands between these signs is computed by the functions below and nothing
else, so that a formula in a model file cannot run code.
"""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._validation import FloatArray
from .._versions import Versioned
from .errors import MissingExtra, TableError

FUNCTIONS: dict[str, Any] = {
    "I": lambda x: x,
    "abs": np.abs,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
}
NUMBERS = {"pi": np.pi, "e": np.e}
_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Mod: np.mod,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_LONGEST = 2000


class Formula(TransformerMixin, Versioned, BaseEstimator):
    """Features that a formula says.

    Parameters
    ----------
    formula : str
        The right-hand side, such as ``"sqrt(dist) + elev:soil"``.
    categories : dict of str to list of str, default=None
        Columns of categories, and the columns of their indicators in the tables that come; the first
        category is the one that others are compared with.

    Attributes
    ----------
    terms_ : list of list of str
        The factors of each term.
    feature_names_in_ : ndarray of shape (d,)
        The columns of the table.
    """

    def __init__(self, formula: str, categories: dict[str, list[str]] | None = None) -> None:
        self.formula = formula
        self.categories = categories

    def fit(self, X: Any, y: Any = None) -> Formula:
        """Read the formula, and try it on a table.

        Parameters
        ----------
        X : DataFrame
            The table.
        y : object, default=None
            Not used.

        Returns
        -------
        Formula
            The fitted transformer.
        """
        self.terms_ = _terms(self.formula)
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        self.transform(X)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features.

        Parameters
        ----------
        X : DataFrame
            A table with the columns of the formula.

        Returns
        -------
        ndarray of shape (n, n_features)
            One column for each term; of categories one for each but the first.
        """
        return np.column_stack([column for _, column in self._columns(X)])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return what the features are called."""
        check_is_fitted(self)
        names = [""]
        out: list[str] = []
        for term in self.terms_:
            names = [""]
            for factor in term:
                levels = self._levels(factor)
                parts = [factor] if levels is None else levels
                names = [f"{name}:{part}" if name else part for name in names for part in parts]
            out += names
        return np.array(out, dtype=object)

    def _levels(self, factor: str) -> list[str] | None:
        """Return the indicators that stand for a factor of categories; None: it is one of numbers."""
        name = re.sub(r"^C\((.*)\)$", r"\1", factor).strip("`")
        indicators = (self.categories or {}).get(name)
        if indicators is None:
            return None
        return list(indicators[1:] if ["1"] in self.terms_ else indicators)

    def _to_onnx(self, graph: Any, X: str) -> tuple[str, int]:
        """Add the features of a matrix of the columns in their order to a graph."""
        from .formula_graphs import factor_node

        places = {str(name): j for j, name in enumerate(self.feature_names_in_)}
        found = []
        for term in self.terms_:
            columns = [graph.ones(X)]
            for factor in term:
                names = self._levels(factor) or [factor]
                parts = [factor_node(parsed(name, places), graph, X, places) for name in names]
                columns = [graph.node("Mul", column, part) for column in columns for part in parts]
            found += columns
        return graph.node("Concat", *found, axis=1), len(found)

    def _columns(self, X: Any) -> list[tuple[str, FloatArray]]:
        """Return the features, each with its term."""
        found: list[tuple[str, FloatArray]] = []
        for term in self.terms_:
            columns = [np.ones(len(X))]
            for factor in term:
                levels = self._levels(factor)
                if levels is None:
                    values = [_evaluate(factor, X, self.categories or {})]
                else:
                    values = [X[name].to_numpy(np.float64) for name in levels]
                columns = [column * value for column in columns for value in values]
            found += [(":".join(term), column) for column in columns]
        if not found:
            raise TableError(f"the formula {self.formula!r} has no terms")
        for name, column in found:
            if not np.isfinite(column).all():
                row = int((~np.isfinite(column)).argmax())
                raise TableError(f"the feature {name} is {column[row]} in row {row + 1}: it must be finite")
        return found


def _largest_power(formula: str) -> int:
    """Return the largest exponent that multiplies terms, and not numbers in a function."""
    inside, largest = [], 0
    for found in re.finditer(r"(\w*)\(|\)|(?:\*\*|\^)\s*(\d+)", formula):
        if found[0].endswith("("):
            inside.append(bool(found[1]))
        elif found[0] == ")":
            inside = inside[:-1]
        elif not any(inside):
            largest = max(largest, int(found[2]))
    return largest


def _terms(formula: str) -> list[list[str]]:
    """Return the factors of each term of a formula."""
    try:
        from formulaic import Formula as Grammar
    except ImportError as error:
        raise MissingExtra("a formula", "formulaic") from error
    if len(formula) > _LONGEST:
        raise TableError(f"the formula is longer than {_LONGEST} characters")
    if _largest_power(formula) > 9:
        raise TableError(f"the formula {formula!r} asks for terms of ten columns and more: powers end at 9")
    if "~" in formula:
        raise TableError(
            f"the formula {formula!r} is for the features alone: the target is given by --target"
        )
    try:
        terms = list(Grammar(formula))
        return [[str(factor.expr) for factor in term.factors] for term in terms]
    except Exception as error:  # the parser has many
        said = " ".join(re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split())
        raise TableError(f"the formula {formula!r} cannot be read: {said}") from error


def columns_of(formula: str, columns: list[str]) -> list[str]:
    """Return which of these columns a formula reads."""
    factors = [factor for term in _terms(formula) for factor in term]
    words = {word for factor in factors for word in re.findall(r"`([^`]+)`|([^\W\d]\w*)", factor)}
    named = {quoted or plain for quoted, plain in words}.union(factors)
    return [name for name in columns if name in named]


def parsed(factor: str, columns: Any) -> ast.expr:
    """Return the tree of a factor; names are columns, quoted ones too."""
    quoted: dict[str, str] = {}

    def placeholder(match: re.Match[str]) -> str:
        name = f"quoted_{len(quoted)}_"
        quoted[name] = match.group(1)
        return name

    if factor in columns:
        return ast.Name(factor)
    try:
        tree = ast.parse(re.sub(r"`([^`]+)`", placeholder, factor), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise TableError(f"{factor!r} in the formula is not an expression") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = quoted.get(node.id, node.id)
    return tree


def _evaluate(factor: str, X: Any, categories: dict[str, list[str]]) -> FloatArray:
    """Return a factor of numbers at the rows of a table."""
    with np.errstate(all="ignore"):
        value = _value(parsed(factor, X.columns), X, categories)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (len(X),)).copy()


def _value(node: ast.expr, X: Any, categories: dict[str, list[str]]) -> Any:
    """Return the value of what is known; TableError for all else."""

    def of(inner: ast.expr) -> Any:
        return _value(inner, X, categories)

    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return np.float64(node.value)
    if isinstance(node, ast.Name):
        return _named(node.id, X, categories)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return -of(node.operand) if isinstance(node.op, ast.USub) else of(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](of(node.left), of(node.right))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return np.float64(1) * _OPERATORS[type(node.ops[0])](of(node.left), of(node.comparators[0]))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = FUNCTIONS.get(node.func.id)
        if function is not None and len(node.args) == (2 if function in (np.maximum, np.minimum) else 1):
            return function(*(of(one) for one in node.args))
    what = ast.unparse(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        near = get_close_matches(node.func.id, FUNCTIONS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FUNCTIONS)}"
        raise TableError(f"{what} in the formula is not known; {hint}")
    raise TableError(f"{what} in the formula is not known: use numbers, columns, + - * / ** and functions")


def _named(name: str, X: Any, categories: dict[str, list[str]]) -> Any:
    if name in X.columns:
        return X[name].to_numpy(np.float64)
    if name in NUMBERS:
        return NUMBERS[name]
    if name in categories:
        raise TableError(f"{name} in the formula holds categories, and a function of it needs numbers")
    indicators = {one for several in categories.values() for one in several}
    there = [*(str(column) for column in X.columns if column not in indicators), *categories]
    near = get_close_matches(name, there, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(there)}"
    raise TableError(f"{name} in the formula is not a column{hint}")
