import os
import signal
from collections import defaultdict
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores, with one thread of BLAS each
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import grls
import pytest
from grls import _core
from hypothesis import settings
from repository import TESTS

settings.register_profile("grls", deadline=None, max_examples=30, derandomize=True, database=None)
settings.load_profile("grls")

os.environ.pop("GRLS_NUM_THREADS", None)  # tests say themselves how many

# Background jobs of a shell ignore Ctrl-C, and pass that on; some tests interrupt themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")
    parser.addoption("--eigen", action="store_true", help="run on the built-in linear algebra")


def pytest_configure(config):
    """Choose the linear algebra of the whole run."""
    if config.getoption("--eigen"):
        _core.select_backend(name="eigen")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Share the tests of a folder or of several files out among the cores, where nobody wants to look on."""
    options, first = config.option, Path(config.args[0])
    alone = ("usepdb", "trace", "collectonly", "tx")
    if (
        getattr(options, "numprocesses", 0) is None  # no `-n`; 0 without pytest-xdist
        and "PYTEST_XDIST_WORKER" not in os.environ
        and (first.is_dir() or len(config.args) > 1)
        and not any("::" in argument for argument in config.args)
        and not any(config.getoption(name) for name in alone)
        and options.capture != "no"
    ):
        options.numprocesses = min(8, os.cpu_count() or 1)
        if options.dist == "no":
            options.dist = "worksteal"


def _factors(item):
    """Return what each factor of the test, a `parametrize` or a fixture with parameters, is for this item."""
    params = dict(item.callspec.params)
    lines = [mark.args[0] for mark in item.iter_markers("parametrize")]
    lines = [line.replace(",", " ").split() if isinstance(line, str) else line for line in lines]
    together = [tuple(id(params.pop(name)) for name in line if name in params) for line in lines]
    return [*together, *map(id, params.values())]


def _a_few(combinations):
    """Yield about as many items of a test as its largest factor has values, with every value of each factor.

    The others go round beside the largest, one value further each time that those before have gone round.
    """
    columns = []
    for values in zip(*map(_factors, combinations), strict=True):
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
        columns.append([numbers[value] for value in values])
    columns.sort(key=max, reverse=True)
    for item, (first, *others) in zip(combinations, zip(*columns, strict=True), strict=True):
        expected, step = [], 0
        for column in columns[1:]:
            size = max(column) + 1
            expected.append((first + (first // step if step else 0)) % size)
            step = max(step, 1) * size
        if others == expected:
            yield item


def _mark_slow(items):
    """Mark what looks at the repository, and of tests with several factors all but a few combinations."""
    of_a_test = defaultdict(list)
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in ("bench", "docs", "mutants"):
            item.add_marker(pytest.mark.slow)
        elif hasattr(item, "callspec"):
            of_a_test[item.function].append(item)
    for combinations in of_a_test.values():
        few = set(_a_few(combinations))
        for item in combinations:
            if item not in few:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave the slow tests out unless they are asked for, by `--slow` or by name."""
    _mark_slow(items)
    if config.getoption("--slow") or any("::" in argument for argument in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture(autouse=True)
def chosen_backend(request):
    """Each test begins on the linear algebra of the whole run, whatever one before it has selected."""
    wanted = "eigen" if request.config.getoption("--eigen") else "library"
    assert _core.backend() == wanted
    yield
    _core.select_backend(name=wanted)


@pytest.fixture(params=["library", "eigen"])
def backend(request, chosen_backend):
    """Each test with this fixture runs on SciPy's BLAS and on the built-in routines."""
    _core.select_backend(name=request.param)
    return request.param


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    """Each test with this fixture runs with as many threads."""
    grls.set_num_threads(request.param)
    yield request.param
    grls.set_num_threads(None)
