"""Threads and linear algebra of the core."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any, TypeVar

from .. import _core
from . import blas

T = TypeVar("T")

_limit: int | None = None
_MOST_THREADS = 1024  # which the core never takes more of


def _positive(value: object, name: str) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}")
    return min(number, _MOST_THREADS)


def set_num_threads(n_threads: int | None) -> None:
    """Set how many threads every later call may use.

    Parameters
    ----------
    n_threads : int or None
        None, the initial setting, follows the environment variable ``GRLS_NUM_THREADS`` if there is one, and
        otherwise the thread limit of SciPy's BLAS: so `threadpoolctl.threadpool_limits`, and joblib's limits
        for its workers, hold for grls too.

    Examples
    --------
    >>> import grls
    >>> grls.set_num_threads(1)
    >>> grls.get_num_threads()
    1
    >>> grls.set_num_threads(None)
    """
    global _limit
    _limit = None if n_threads is None else _positive(n_threads, "n_threads")


def get_num_threads() -> int:
    """Return how many threads a call made now would use."""
    if _limit is not None:
        return _limit
    environment = os.environ.get("GRLS_NUM_THREADS")
    if environment:
        return _positive(environment, "GRLS_NUM_THREADS")
    return _core.blas_threads()


def linear_algebra() -> str:
    """Return whose BLAS the core uses: that of a library, or its own fallback."""
    return _core.backend()


def single_threaded() -> AbstractContextManager[None]:
    """Return a block in which SciPy's BLAS stays single-threaded between our calls.

    Its tiny solves would wake its threads each time; ours are not concerned.
    """
    return _core.SingleThreaded()


_AT_ONCE = 1000  # the order of a matrix for which LAPACK takes a second at most


def interruptible(order: int, function: Callable[..., T], *args: Any, **options: Any) -> T:
    """Return ``function(*args, **options)``, a call of LAPACK on matrices of this order; Ctrl-C leaves it.

    LAPACK itself does not listen. It works in a thread of its own, and where Ctrl-C comes first its result is
    dropped: until it is done it goes on in the background, and so its arguments must be nobody else's.
    """
    if order < _AT_ONCE or threading.current_thread() is not threading.main_thread():
        return function(*args, **options)
    outcome: list[T] = []
    error: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(function(*args, **options))
        except BaseException as problem:  # told where it was asked for
            error.append(problem)

    worker = threading.Thread(target=work, name="grls-lapack", daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(0.05)
    if error:
        raise error[0]
    return outcome[0]


class _Limits:
    """The threads of the BLAS libraries, which are those of the whole process, while blocks limit them.

    Blocks of several threads of Python end in any order. So the first of them keeps what it finds and the
    last gives it back; in between, the block that began last counts. `_core.SingleThreaded` counts those who
    hold SciPy's library, and is held as long as there is a block: the core's own calls end in between too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: list[list[int]] = []  # the limit of each
        self._hold = _core.SingleThreaded()
        self._before: list[int] = []  # what there is to give back; the core does that for its own library

    @cached_property
    def _switches(self) -> list[blas.Switch]:
        return blas.switches()

    @contextmanager
    def __call__(self, limit: int) -> Iterator[None]:
        block = [limit]
        try:  # Ctrl-C may come anywhere in here, and what was done by then is undone
            with self._lock:
                is_first = not self._blocks
                if is_first:
                    self._before = [1 if blas.is_held_by_core(one) else one.get() for one in self._switches]
                self._blocks.append(block)
                if is_first:
                    self._hold.__enter__()
                self._set([limit] * len(self._switches))
            yield
        finally:
            with self._lock:
                if any(other is block for other in self._blocks):
                    self._leave(block)

    def _leave(self, block: list[int]) -> None:
        left = [other for other in self._blocks if other is not block]
        if left:
            self._set(left[-1] * len(self._switches))
        else:
            self._hold.__enter__()  # where Ctrl-C came before; what is held already stays so
            self._set(self._before)
            self._hold.__exit__()
        self._blocks = left

    def _set(self, numbers: list[int]) -> None:
        for switch, number in zip(self._switches, numbers, strict=True):
            switch.set(number)


_limited = _Limits()


def blas_limited(order: int) -> AbstractContextManager[None]:
    """Return a block in which NumPy's and SciPy's BLAS use our number of threads, one for small matrices.

    Below this order threads gain little, and beside other work on the same cores they lose a lot.
    """
    return _limited(1 if order < 1000 else get_num_threads())
