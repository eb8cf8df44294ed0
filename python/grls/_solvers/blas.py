"""Hands SciPy's BLAS and LAPACK, and the switch of its thread pool, to the compiled core."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy.linalg import cython_blas, cython_lapack
from threadpoolctl import ThreadpoolController

from .. import _core

# (get, set) of the number of threads, as the libraries spell them.
_THREAD_FUNCTIONS = [
    *(
        (f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
        for prefix in ("", "scipy_")
        for suffix in ("", "64_", "_64")
    ),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
]


def libraries() -> list[Any]:
    """Return the BLAS libraries that are loaded, as threadpoolctl knows them, SciPy's first.

    NumPy may carry one of its own; the core only ever calls SciPy's.
    """
    found = [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]
    return sorted(
        found, key=lambda lib: "scipy.libs" not in lib.filepath and "scipy/.dylibs" not in lib.filepath
    )


@dataclass(frozen=True)
class Switch:
    """The functions of a library that read and set its threads, and their addresses.

    threadpoolctl's own would do nothing in a thread of Python that is not the first to call them.
    """

    get: Callable[[], int]
    set: Callable[[int], object]
    addresses: tuple[int, int]

    @classmethod
    def of(cls, library: Any) -> Switch | None:
        """Return those of a library, if it has them."""
        for names in _THREAD_FUNCTIONS:
            if all(hasattr(library.dynlib, name) for name in names):
                get, set_ = (getattr(library.dynlib, name) for name in names)
                addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in (get, set_)]
                return cls(get, set_, (addresses[0] or 0, addresses[1] or 0)) if all(addresses) else None
        return None


_held: Switch | None = None


def switches() -> list[Switch]:
    """Return those of all libraries whose threads are the whole process's; threads of OpenMP are not."""
    shared = [lib for lib in libraries() if getattr(lib, "threading_layer", None) != "openmp"]
    return [switch for switch in map(Switch.of, shared) if switch is not None]


def is_held_by_core(switch: Switch) -> bool:
    """Whether the core sets the threads of this library, and gives them back after its calls."""
    return _held is not None and switch.addresses == _held.addresses


def bind() -> None:
    """Bind the core to SciPy's BLAS, of 32-bit or 64-bit integers.

    Where its functions are missing or have other arguments, the core keeps its own routines, with a warning.
    """
    global _held
    published = [getattr(module, "__pyx_capi__", {}) for module in (cython_blas, cython_lapack)]
    try:
        _core.bind_blas(capsules={**published[0], **published[1]})
    except ValueError as error:
        warnings.warn(
            f"grls cannot use this SciPy's BLAS and runs on its slower built-in routines: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    _held = next((switch for switch in map(Switch.of, libraries()) if switch is not None), None)
    if _held is not None:
        _core.bind_thread_control(get=_held.addresses[0], set=_held.addresses[1])
