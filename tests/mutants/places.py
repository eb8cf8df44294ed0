"""Where a source can be made wrong: a comparison, a sign, a constant, a bound."""

import ast
import io
import re
import tokenize
from dataclasses import dataclass

# What an operator is turned into. Each changes what is computed, none the form of the program.
PYTHON_SWAPS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "//": "/",
    "**": "*",
    "@": "*",
    "and": "or",
    "or": "and",
    "+=": "-=",
    "-=": "+=",
    "*=": "/=",
    "/=": "*=",
}
# clang-format puts spaces around binary operators and none into template brackets or pointers.
CPP_SWAPS = {
    name: PYTHON_SWAPS[name]
    for name in ("<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "+=", "-=", "*=", "/=")
} | {"&&": "||", "||": "&&"}


@dataclass(frozen=True)
class Place:
    """One change: the characters of a file from `start` to `stop` become `new`."""

    file: str
    line: int
    start: int
    stop: int
    old: str
    new: str

    def applied_to(self, source):
        """The source with the fault."""
        assert source[self.start : self.stop] == self.old
        return source[: self.start] + self.new + source[self.stop :]

    def marked_in(self, source):
        """The line of the source, with marks around what is changed."""
        first, last = source.rfind("\n", 0, self.start) + 1, source.find("\n", self.stop)
        last = len(source) if last < 0 else last
        return f"{source[first : self.start]}«{self.old}»{source[self.stop : last]}".strip()


def other_number(text):
    """A number near to that of a literal, or None where the literal is not a plain decimal."""
    if re.fullmatch(r"\d+", text):
        return str(int(text) + 1)
    if re.fullmatch(r"\d*\.?\d+(e[+-]?\d+)?|\d+\.", text, re.IGNORECASE):
        value = float(text)
        return repr(3 * value) if value else "1.0"
    return None


def _told(tree):
    """The lines of messages, annotations and docstrings, where a change is no fault of what is computed."""
    lines = set()

    def leave_out(node):
        lines.update(range(node.lineno, node.end_lineno + 1))

    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.AnnAssign | ast.JoinedStr) or (
            (isinstance(node, ast.Call) and "warn" in ast.unparse(node.func).lower())
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ):
            leave_out(node)
        elif isinstance(node, ast.FunctionDef):
            # A signature: defaults are tested where they matter, `/` and `*` are no operators.
            lines.update(range(node.lineno, node.body[0].lineno))
            if node.name in ("__repr__", "__str__", "_repr_html_", "__sklearn_tags__"):
                leave_out(node)
    return lines


def in_python(file, source):
    """The places of a Python module."""
    told = _told(ast.parse(source))
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places, before = [], None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind, text, (row, column) = token.type, token.string, token.start
        new = None
        if row not in told:
            if kind == tokenize.NUMBER:
                new = other_number(text)
            elif text in ("True", "False"):
                new = {"True": "False", "False": "True"}[text]
            elif text == "not" and (before is None or before.string not in ("is",)):
                new = ""
            elif (kind == tokenize.OP or text in ("and", "or")) and _is_binary(before, text):
                new = PYTHON_SWAPS.get(text)
        if new is not None:
            start = starts[row - 1] + column
            places.append(Place(file, row, start, start + len(text), text, new))
        if kind not in (tokenize.NL, tokenize.COMMENT):
            before = token
    return places


def _is_binary(before, text):
    """Whether an operator stands between two operands: a star of arguments or a sign of a number does not."""
    if text == "-" and before is not None and before.string in ("(", ",", "=", "[", "return", "*", "/"):
        return False
    return before is not None and (
        before.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING) or before.string in (")", "]", "}")
    )


def is_python(source):
    """Whether a source with a fault is a program still."""
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def in_cpp(file, source):
    """The places of a C++ source; whether the result compiles is seen when it is tried."""
    places, offset = [], 0
    commented = False
    for row, line in enumerate(source.splitlines(keepends=True), 1):
        code = line.split("//")[0]
        commented = (commented or "/*" in code) and "*/" not in code
        blank = commented or code.lstrip().startswith("#") or '"' in code
        blank = blank or re.search(r"\b(throw|template|using|static_assert|constexpr|enum)\b", code)
        if not blank:
            for found in re.finditer(r"(?<= )([<>=!+*/&|-]{1,2})(?= )", code):
                if found[1] in CPP_SWAPS:
                    new = CPP_SWAPS[found[1]]
                    places.append(
                        Place(file, row, offset + found.start(1), offset + found.end(1), found[1], new)
                    )
            for found in re.finditer(r"(?<![\w.<])(\d+\.?\d*(?:e[+-]?\d+)?)(?![\w.])", code):
                new = other_number(found[1])
                if new is not None:
                    places.append(
                        Place(file, row, offset + found.start(1), offset + found.end(1), found[1], new)
                    )
        offset += len(line)
    return places
