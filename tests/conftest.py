import signal

import grls
import pytest
from grls import _core
from hypothesis import settings

settings.register_profile("grls", deadline=None, max_examples=30, derandomize=True, database=None)
settings.load_profile("grls")

# Background jobs of a shell ignore Ctrl-C, and pass that on; some tests interrupt themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["library", "eigen"])
def backend(request):
    """Each test with this fixture runs on SciPy's BLAS and on the built-in routines."""
    before = _core.backend()
    _core.select_backend(name=request.param)
    yield request.param
    _core.select_backend(name=before)


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    """Each test with this fixture runs with as many threads."""
    grls.set_num_threads(request.param)
    yield request.param
    grls.set_num_threads(None)
