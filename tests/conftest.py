import os
import signal

import grls
import pytest
from grls import _core
from hypothesis import settings

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
def pytest_collection_modifyitems(config, items):
    """Leave the slow tests out unless they are asked for, by `--slow` or by name."""
    numbers = {}  # of the values of a factor, in the order in which they come
    for item in items:
        for mark in item.iter_markers("crossed"):
            total = 0
            for factor in mark.args:
                values = numbers.setdefault((item.function, factor), {})
                total += values.setdefault(id(item.callspec.params[factor]), len(values))
            if total % mark.kwargs["every"]:
                item.add_marker(pytest.mark.slow)
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
