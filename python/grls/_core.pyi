from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

_Floats = NDArray[np.float64]

class NotPositiveDefiniteError(np.linalg.LinAlgError): ...

class Formula:
    def __init__(
        self,
        groups: Sequence[tuple[Sequence[int], Sequence[float], Sequence[float]]],
        steps: Sequence[tuple[str, int, float, float, int]],
        series: Sequence[Sequence[float]] = ...,
    ) -> None: ...

class SingleThreaded:
    def __init__(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def bind_blas(capsules: dict[str, Any]) -> None: ...
def bind_thread_control(get: int, set: int) -> None: ...
def select_backend(name: str) -> None: ...
def backend() -> str: ...
def blas_threads() -> int: ...
def kernel_matrix(formula: Formula, a: Any, b: Any, threads: int = 0) -> _Floats: ...
def kernel_diagonal(formula: Formula, rows: Any, threads: int = 0) -> _Floats: ...
def kernel_times(formula: Formula, a: Any, b: Any, c: _Floats, threads: int = 0) -> _Floats: ...
def solve(
    formula: Formula | None,
    data: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    shift: float,
    formulation: str,
    pivots: str,
    tolerance: float,
    precision: str = "double",
    feature_variance: float = ...,
    threads: int = 0,
) -> dict[str, Any]: ...
def variance(
    formula: Formula | None,
    data: Any,
    T: _Floats,
    weights: _Floats | None,
    shift: float,
    K: _Floats,
    T_new: _Floats,
    covariance: bool,
    tolerance: float,
    feature_variance: float = ...,
    threads: int = 0,
) -> _Floats: ...
def path(
    formula: Formula | None,
    data: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    shifts: _Floats,
    relative: bool,
    leave_one_out: bool,
    tolerance: float,
    threads: int = 0,
) -> dict[str, Any]: ...
def gradient(
    formula: Formula,
    data: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    shift: float,
    criterion: str,
    groups: Sequence[int],
    tolerance: float,
    threads: int = 0,
) -> dict[str, Any]: ...
def solve_bytes(order: int, precision: str) -> float: ...
def centred_gram(formula: Formula | None, data: Any, threads: int = 0) -> dict[str, Any]: ...
def top_spectrum(
    formula: Formula | None,
    data: Any,
    k: int,
    tolerance: float,
    max_products: int,
    seed: int,
    threads: int = 0,
) -> dict[str, Any]: ...
def null_space(T: _Floats, tolerance: float) -> tuple[_Floats, list[int]]: ...
def phi_prime(T: _Floats, pivots: str, tolerance: float) -> tuple[_Floats, list[int], list[int]]: ...
def assemble(
    gram: _Floats, T: _Floats, basis: str, pivots: str, tolerance: float, threads: int = 0
) -> _Floats: ...
def svm_fit(
    formula: Formula | None,
    data: Any,
    T: _Floats,
    labels: Sequence[int],
    n_classes: int,
    C: float,
    weights: _Floats,
    feature_variance: float,
    dependence: float,
    solver: str,
    tolerance: float,
    max_iterations: int,
    cache_bytes: float,
    start: _Floats | None = None,
    threads: int = 0,
) -> dict[str, Any]: ...
def interior_point_bytes(m: int) -> float: ...
def llt(matrix: _Floats, threads: int = 0) -> _Floats: ...
def plsa(
    documents: Any,
    words: Any,
    topics: _Floats,
    max_iterations: int,
    tolerance: float,
    report: Any = None,
    threads: int = 0,
) -> dict[str, Any]: ...
def plsa_fold_in(
    documents: Any,
    topics: _Floats,
    start: _Floats,
    max_iterations: int,
    tolerance: float,
    threads: int = 0,
) -> dict[str, Any]: ...
def ridge_columns(
    rows: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    dependence: float,
    shift: float,
    threads: int = 0,
) -> dict[str, Any]: ...
def ridge_cg(
    rows: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    dependence: float,
    shift: float,
    tolerance: float,
    max_iterations: int,
    threads: int = 0,
) -> dict[str, Any]: ...
def ridge_path(
    rows: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    dependence: float,
    shifts: _Floats,
    relative: bool,
    threads: int = 0,
) -> dict[str, Any]: ...
def row_sums(
    formula: Formula | None,
    data: Any,
    centres: Any,
    E: _Floats,
    L: _Floats,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    precision: str,
    threads: int = 0,
) -> _Floats: ...
def whitened_rows(
    formula: Formula | None, data: Any, centres: Any, E: _Floats, L: _Floats, threads: int = 0
) -> _Floats: ...
def pivoted_llt(matrix: _Floats, tolerance: float, threads: int = 0) -> tuple[_Floats, list[int]]: ...
def row_keys(data: Any, seed: int, threads: int = 0) -> NDArray[np.uint64]: ...

class KernelStore:
    def __init__(self, precision: str, bytes: float) -> None: ...
    def normal_times(
        self,
        formula: Formula,
        block: int,
        data: Any,
        centres: Any,
        weights: _Floats | None,
        a: _Floats | None,
        B: _Floats | None,
        precision: str,
        threads: int = 0,
    ) -> _Floats: ...

def symmetric_kernel_times(
    formula: Formula, data: Any, c: _Floats, precision: str = "double", threads: int = 0
) -> _Floats: ...
