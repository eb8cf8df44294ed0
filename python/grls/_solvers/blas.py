"""Hands SciPy's BLAS and LAPACK, and the switch of its thread pool, to the compiled core."""

from __future__ import annotations

import ctypes
import warnings

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


def _thread_functions() -> tuple[int, int] | None:
    """Return the addresses of the functions that read and set the threads of SciPy's BLAS, if it has them."""
    libraries = [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]
    # NumPy may carry a BLAS of its own; the core only ever calls SciPy's.
    libraries.sort(key=lambda lib: "scipy.libs" not in lib.filepath and "scipy/.dylibs" not in lib.filepath)
    for library in libraries:
        for names in _THREAD_FUNCTIONS:
            if all(hasattr(library.dynlib, name) for name in names):
                get, set_ = (
                    ctypes.cast(getattr(library.dynlib, name), ctypes.c_void_p).value for name in names
                )
                return (get, set_) if get and set_ else None
    return None


def bind() -> None:
    """Bind the core to SciPy's BLAS, of 32-bit or 64-bit integers.

    Where its functions are missing or have other arguments, the core keeps its own routines, with a warning.
    """
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
    functions = _thread_functions()
    if functions is not None:
        get, set_ = functions
        _core.bind_thread_control(get=get, set=set_)
