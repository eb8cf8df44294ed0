"""Who may use whom: one importer of the core, C++ folders that use those above them; docstrings in all."""

import ast
import re
from importlib.util import resolve_name
from pathlib import Path

import grls
import pytest
from repository import ROOT, needs

PACKAGE = Path(grls.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

# A folder of cpp/ includes its files and those of the floors above it, never a neighbour's, but for these:
# ridge regression with few rows, and what is solved without a matrix, are kernel least squares.
NEIGHBOURS = {"ridge": {"least_squares"}, "nystrom": {"least_squares"}}
FLOORS = [
    {"base"},
    {"data"},
    {"kernels"},
    {"matrices"},
    {"least_squares", "ridge", "nystrom", "spectrum", "plsa"},
    {"svm", "conformal"},
    {"bindings"},
]


def imported(source, package):
    """The names that a module in a package imports, each with the module it comes from."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            names |= {f"{origin}.{alias.name}" for alias in node.names}
    return names


def uses_the_core(source, package):
    """Whether a module imports grls._core or something of it, or reaches for it through the package."""
    of_core = re.compile(r"grls\._core(\.|$)")
    reached = (
        isinstance(node, ast.Attribute)
        and node.attr == "_core"
        and isinstance(node.value, ast.Name)
        and node.value.id == "grls"
        for node in ast.walk(ast.parse(source))
    )
    return any(map(of_core.match, imported(source, package))) or any(reached)


@pytest.mark.parametrize(
    ("source", "package", "expected"),
    [
        ("from . import _core", "grls", True),
        ("from .. import _core, kernels", "grls.kernels", True),
        ("from ._core import __version__", "grls", True),
        ("from .._core import Formula", "grls.kernels", True),
        ("import grls._core as fast", "grls", True),
        ("from grls import _core", "grls", True),
        ("def f():\n    from . import _core", "grls", True),
        ("import grls\ngrls._core.llt", "grls", True),
        ("from . import core", "grls", False),
        ("from .core import null_space", "grls", False),
        ("from ._solvers import __version__", "grls", False),
        ("from somewhere import _core", "grls", False),
    ],
)
def test_an_import_of_the_core_is_recognised_in_every_form(source, package, expected):
    assert uses_the_core(source, package) == expected


def test_only_the_solvers_import_the_core():
    importers = []
    for module in MODULES:
        package = ".".join(["grls", *Path(module).parts[:-1]])
        if uses_the_core((PACKAGE / module).read_text(encoding="utf-8"), package):
            importers.append(module)
    assert [module for module in importers if not module.startswith("_solvers/")] == []
    assert importers  # the rule is about something


def test_every_module_has_a_docstring():
    sources = {module: (PACKAGE / module).read_text(encoding="utf-8") for module in MODULES}
    assert [module for module, source in sources.items() if not ast.get_docstring(ast.parse(source))] == []


def included(path):
    """The folders of the project's own headers that a C++ file includes; its own where none is named."""
    headers = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    return {header.split("/")[0] if "/" in header else path.parent.name for header in headers}


@needs("cpp")
def test_every_folder_of_the_core_has_its_floor():
    folders = {path.name for path in (ROOT / "cpp").iterdir() if path.is_dir()}
    assert folders == set().union(*FLOORS)


@needs("cpp")
@pytest.mark.parametrize("folder", sorted(set().union(*FLOORS)))
def test_a_folder_of_the_core_includes_only_those_above_it(folder):
    floor = next(i for i, folders in enumerate(FLOORS) if folder in folders)
    allowed = {folder}.union(*FLOORS[:floor], NEIGHBOURS.get(folder, ()))
    files = sorted(path for path in (ROOT / "cpp" / folder).rglob("*") if path.suffix in (".cpp", ".hpp"))
    assert files
    for path in files:
        assert included(path) <= allowed, path.relative_to(ROOT)
