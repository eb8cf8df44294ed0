"""The core on BLAS libraries of 32-bit and 64-bit integers, on odd ones and without one."""

import ctypes
import warnings
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from grls import GRLSRegressor, _core
from grls._solvers import blas
from grls.kernels import Gaussian
from numpy.testing import assert_allclose
from scipy.linalg import cython_blas, cython_lapack

SCIPY = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}
KERNEL = Gaussian(0.7)
# Arguments: c a letter, I an integer, x numbers.
ROUTINES = {
    **{f"{s}gemm": "ccIIIxxIxIxxI" for s in "ds"},
    **{f"{s}syrk": "ccIIxxIxxI" for s in "ds"},
    **{f"{s}trsm": "ccccIIxxIxI" for s in "ds"},
    **{f"{s}potrf": "cIxII" for s in "ds"},
    "dgeqrf": "IIxIxxII",
    "dsyevd": "ccIxIxxIIII",
}
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_address_of = ctypes.pythonapi.PyCapsule_GetPointer
_address_of.restype, _address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Wide:
    """SciPy's routines behind functions of 64-bit integers, as a build of SciPy on ILP64 publishes them."""

    def __init__(self):
        self.calls = Counter()
        self._kept = []  # capsules hold addresses only
        self.capsules = {name: self._capsule(name, letters) for name, letters in ROUTINES.items()}

    def _capsule(self, name, letters):
        signature = _name_of(SCIPY[name])
        kinds = {"c": ctypes.c_void_p, "x": ctypes.c_void_p}
        narrow = ctypes.CFUNCTYPE(None, *(kinds.get(k, ctypes.POINTER(ctypes.c_int)) for k in letters))
        function = narrow(_address_of(SCIPY[name], signature))
        integers = [i for i, kind in enumerate(letters) if kind == "I"]

        def shim(*arguments):
            self.calls[name] += 1
            passed = list(arguments)
            for i in integers:
                # The only array of integers, dsyevd's, is as long as the argument after it says.
                length = max(1, arguments[i + 1][0]) if name == "dsyevd" and i == 8 else 1
                passed[i] = (ctypes.c_int * length)(arguments[i][0])
            function(*passed)
            for i in integers:
                arguments[i][0] = passed[i][0]

        wide = ctypes.CFUNCTYPE(None, *(kinds.get(k, ctypes.POINTER(ctypes.c_int64)) for k in letters))
        pointer = wide(shim)
        name_of_wide = signature.replace(b"int *", b"int64_t *")
        self._kept += [pointer, name_of_wide]
        return _new(ctypes.cast(pointer, ctypes.c_void_p).value, name_of_wide, None)


@pytest.fixture
def library():
    """Compute with a library, and bind SciPy's own again after the test."""
    _core.select_backend(name="library")
    yield
    _core.bind_blas(capsules=SCIPY)


def answers(precision="double"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(720, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=720)
    out = []
    for m in (150, 720):  # by eigenvectors, by reduction to a band
        chosen = GRLSRegressor(KERNEL, features="linear", regularization="loo").fit(X[:m], y[:m])
        out += [chosen.loo_predictions_, chosen.feature_coef_]
    given = GRLSRegressor(KERNEL, features="linear", regularization=1e-3, precision=precision)
    return [*out, *given.fit(X[:150], y[:150]).predict(X[:20] + 0.1, return_std=True)]


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_library_of_64_bit_integers_gives_the_same_answers(library, precision):
    expected = answers(precision)
    wide = Wide()
    _core.bind_blas(capsules=wide.capsules)
    assert _core.backend() == "library"
    found = answers(precision)
    for a, b in zip(expected, found, strict=True):
        assert_allclose(b, a, rtol=1e-12, atol=1e-12)
    used = {"dgemm", "dsyrk", "dtrsm", "dpotrf", "dgeqrf", "dsyevd"}
    assert used <= wide.calls.keys()
    assert ("spotrf" in wide.calls) == (precision == "mixed")


def test_the_selected_library_is_the_one_bound_last(library):
    wide = Wide()
    _core.bind_blas(capsules=wide.capsules)
    _core.select_backend(name="eigen")
    answers()
    assert not wide.calls
    _core.select_backend(name="library")
    answers()
    assert wide.calls["dgemm"] > 0
    _core.bind_blas(capsules=SCIPY)
    before = wide.calls.copy()
    answers()
    assert wide.calls == before


def renamed(name, change):
    signature = change(_name_of(SCIPY[name]))
    renamed.kept.append(signature)
    return _new(_address_of(SCIPY[name], _name_of(SCIPY[name])), signature, None)


renamed.kept = []

ODD = {
    "missing": ({"dtrsm": None}, "no dtrsm"),
    "no capsule": ({"ssyrk": 3}, "ssyrk is not a capsule"),
    "other integers in one": (
        {"dpotrf": lambda s: s.replace(b"int *", b"int64_t *")},
        "dpotrf has the signature",
    ),
    "16 bits": ({"dgemm": lambda s: s.replace(b"int *", b"short *")}, "dgemm has the signature"),
    "an integer of no told width": (
        {"dgemm": lambda s: s.replace(b"int *", b"__pyx_t_5scipy_6linalg_11cython_blas_blas_int *")},
        "dgemm has the signature",
    ),
    "a result": ({"dgeqrf": lambda s: s.replace(b"void (", b"int (")}, "dgeqrf has the signature"),
    "one argument more": ({"dsyevd": lambda s: s.replace(b")", b", int *)")}, "dsyevd has the signature"),
}


@pytest.mark.parametrize("case", ODD)
def test_an_odd_library_is_one_warning_that_names_the_routine(library, monkeypatch, case):
    changes, told = ODD[case]
    capsules = dict(SCIPY)
    for name, change in changes.items():
        if change is None:
            del capsules[name]
        else:
            capsules[name] = renamed(name, change) if callable(change) else change
    with pytest.raises(ValueError, match=told):
        _core.bind_blas(capsules=capsules)
    monkeypatch.setattr(blas, "cython_blas", SimpleNamespace(__pyx_capi__=capsules))
    monkeypatch.setattr(blas, "cython_lapack", SimpleNamespace())
    with pytest.warns(RuntimeWarning, match="slower built-in routines: .*" + told) as warned:
        blas.bind()
    assert len(warned) == 1


def test_a_scipy_that_publishes_nothing_is_one_warning(monkeypatch):
    monkeypatch.setattr(blas, "cython_blas", SimpleNamespace())
    monkeypatch.setattr(blas, "cython_lapack", SimpleNamespace())
    with pytest.warns(RuntimeWarning, match="no dgemm"):
        blas.bind()


def test_this_scipy_is_bound_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blas.bind()
    assert _core.backend() == "library"


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 130, 300])  # around the blocks of the built-in routines
def test_the_built_in_cholesky_factorisation_equals_numpys(n):
    A = np.random.default_rng(n).normal(size=(n, n + 5))
    A = A @ A.T + np.eye(n)
    _core.select_backend(name="eigen")
    L = _core.llt(matrix=A)
    assert_allclose(L, np.linalg.cholesky(A), rtol=1e-10, atol=1e-10 * np.abs(L).max())
    A[n // 2, n // 2] = -1
    with pytest.raises(np.linalg.LinAlgError):
        _core.llt(matrix=A)
