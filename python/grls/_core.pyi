import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

_Floats = NDArray[np.float64]

class NotPositiveDefiniteError(np.linalg.LinAlgError): ...

class Status(enum.Enum):
    converged = ...
    iteration_limit = ...
    stagnated = ...

class Solution:
    def __init__(
        self,
        *,
        c: _Floats,
        beta: _Floats,
        kept: Sequence[int],
        quadratic: _Floats,
        feature_covariance: _Floats,
        precision: str,
        iterations: int = ...,
        residual: float = ...,
        seconds: dict[str, float] = ...,
        status: Status = ...,
    ) -> None: ...
    @property
    def c(self) -> _Floats: ...
    @property
    def beta(self) -> _Floats: ...
    @property
    def kept(self) -> list[int]: ...
    @property
    def quadratic(self) -> _Floats: ...
    @property
    def feature_covariance(self) -> _Floats: ...
    @property
    def precision(self) -> str: ...
    @property
    def iterations(self) -> int: ...
    @property
    def residual(self) -> float: ...
    @property
    def seconds(self) -> dict[str, float]: ...
    @property
    def status(self) -> Status: ...
    @property
    def converged(self) -> bool: ...

class LinearSolution:
    def __init__(self, *, X: _Floats, iterations: int, residuals: _Floats, status: Status = ...) -> None: ...
    @property
    def X(self) -> _Floats: ...
    @property
    def iterations(self) -> int: ...
    @property
    def residuals(self) -> _Floats: ...
    @property
    def status(self) -> Status: ...
    @property
    def converged(self) -> bool: ...

class Path:
    def __init__(
        self,
        *,
        shifts: _Floats,
        log_determinant: _Floats,
        trace: _Floats,
        quadratic: _Floats,
        squared_norm: _Floats,
        unit: float,
        vanishes: bool,
        rounding: float,
        schur: Sequence[_Floats],
        r: Sequence[_Floats],
        diagonal: Sequence[_Floats],
        c: Sequence[_Floats],
        D: Sequence[_Floats],
        kept: Sequence[int],
    ) -> None: ...
    @property
    def shifts(self) -> _Floats: ...
    @property
    def log_determinant(self) -> _Floats: ...
    @property
    def trace(self) -> _Floats: ...
    @property
    def quadratic(self) -> _Floats: ...
    @property
    def squared_norm(self) -> _Floats: ...
    @property
    def unit(self) -> float: ...
    @property
    def vanishes(self) -> bool: ...
    @property
    def rounding(self) -> float: ...
    @property
    def schur(self) -> list[_Floats]: ...
    @property
    def r(self) -> list[_Floats]: ...
    @property
    def diagonal(self) -> list[_Floats]: ...
    @property
    def c(self) -> list[_Floats]: ...
    @property
    def D(self) -> list[_Floats]: ...
    @property
    def kept(self) -> list[int]: ...

class Tuned:
    def __init__(
        self, *, end: _Floats, value: float, curve: _Floats, evaluations: int, converged: bool
    ) -> None: ...
    @property
    def end(self) -> _Floats: ...
    @property
    def value(self) -> float: ...
    @property
    def curve(self) -> _Floats: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def converged(self) -> bool: ...

class Gradient:
    def __init__(
        self,
        *,
        value: float,
        shift: float,
        unit: float,
        a: _Floats,
        b: _Floats,
        coefficients: Sequence[Sequence[float]],
        widths: Sequence[Sequence[float]],
        periods: Sequence[Sequence[float]],
        maps: Sequence[Sequence[float]],
    ) -> None: ...
    @property
    def value(self) -> float: ...
    @property
    def shift(self) -> float: ...
    @property
    def unit(self) -> float: ...
    @property
    def a(self) -> _Floats: ...
    @property
    def b(self) -> _Floats: ...
    @property
    def coefficients(self) -> list[list[float]]: ...
    @property
    def widths(self) -> list[list[float]]: ...
    @property
    def periods(self) -> list[list[float]]: ...
    @property
    def maps(self) -> list[list[float]]: ...

class Topics:
    def __init__(
        self,
        *,
        topics: _Floats,
        mixtures: _Floats,
        log_likelihood: _Floats,
        status: Status = ...,
    ) -> None: ...
    @property
    def topics(self) -> _Floats: ...
    @property
    def mixtures(self) -> _Floats: ...
    @property
    def log_likelihood(self) -> _Floats: ...
    @property
    def status(self) -> Status: ...
    @property
    def converged(self) -> bool: ...

class FoldedIn:
    def __init__(
        self,
        *,
        mixtures: _Floats,
        log_likelihood: _Floats,
        known_counts: _Floats,
        gap: float,
        status: Status = ...,
    ) -> None: ...
    @property
    def mixtures(self) -> _Floats: ...
    @property
    def log_likelihood(self) -> _Floats: ...
    @property
    def known_counts(self) -> _Floats: ...
    @property
    def gap(self) -> float: ...
    @property
    def status(self) -> Status: ...
    @property
    def converged(self) -> bool: ...

class CentredGram:
    def __init__(
        self,
        *,
        lower: _Floats,
        means: _Floats,
        trace: float,
    ) -> None: ...
    @property
    def lower(self) -> _Floats: ...
    @property
    def means(self) -> _Floats: ...
    @property
    def trace(self) -> float: ...

class TopSpectrum:
    def __init__(
        self,
        *,
        means: _Floats,
        trace: float,
        values: _Floats,
        vectors: _Floats,
        residuals: _Floats,
        smallest: float,
        products: int,
        status: Status = ...,
    ) -> None: ...
    @property
    def means(self) -> _Floats: ...
    @property
    def trace(self) -> float: ...
    @property
    def values(self) -> _Floats: ...
    @property
    def vectors(self) -> _Floats: ...
    @property
    def residuals(self) -> _Floats: ...
    @property
    def smallest(self) -> float: ...
    @property
    def products(self) -> int: ...
    @property
    def status(self) -> Status: ...
    @property
    def converged(self) -> bool: ...

class Calibration:
    def __init__(
        self,
        *,
        c: _Floats,
        beta: _Floats,
        free: Sequence[int],
        violation: float,
        steps: int,
        status: Status,
    ) -> None: ...
    @property
    def c(self) -> _Floats: ...
    @property
    def beta(self) -> _Floats: ...
    @property
    def free(self) -> list[int]: ...
    @property
    def violation(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def status(self) -> Status: ...

class Thresholds:
    def __init__(self, *, values: _Floats, violation: _Floats, steps: Sequence[int]) -> None: ...
    @property
    def values(self) -> _Floats: ...
    @property
    def violation(self) -> _Floats: ...
    @property
    def steps(self) -> list[int]: ...

def conformal_calibrate(
    *,
    kernel: _Floats | None,
    T: _Floats,
    scores: _Floats,
    lower: float,
    upper: float,
    start: _Floats | None = ...,
    threads: int = ...,
) -> Calibration: ...
def conformal_thresholds(
    *,
    kernel: _Floats | None,
    T: _Floats,
    scores: _Floats,
    lower: float,
    upper: float,
    c: _Floats,
    free: Sequence[int],
    kernel_new: _Floats | None,
    diagonal: _Floats | None,
    T_new: _Floats,
    targets: _Floats,
    threads: int = ...,
) -> Thresholds: ...
def threshold_bytes(*, n: int, free: int, workers: int) -> float: ...

class SvmSolution:
    def __init__(
        self,
        *,
        c: _Floats,
        image: _Floats,
        beta: _Floats,
        objective: _Floats,
        relative_gap: _Floats,
        seconds: _Floats,
        iterations: Sequence[int],
        kept: Sequence[Sequence[int]],
        status: Sequence[Status],
    ) -> None: ...
    @property
    def c(self) -> _Floats: ...
    @property
    def image(self) -> _Floats: ...
    @property
    def beta(self) -> _Floats: ...
    @property
    def objective(self) -> _Floats: ...
    @property
    def relative_gap(self) -> _Floats: ...
    @property
    def seconds(self) -> _Floats: ...
    @property
    def iterations(self) -> list[int]: ...
    @property
    def kept(self) -> list[list[int]]: ...
    @property
    def status(self) -> list[Status]: ...
    @property
    def converged(self) -> list[bool]: ...

class PiecewiseSolution:
    def __init__(
        self,
        *,
        c: _Floats,
        beta: _Floats,
        f: _Floats,
        objective: _Floats,
        relative_gap: _Floats,
        iterations: Sequence[int],
        kept: Sequence[int],
        status: Sequence[Status],
    ) -> None: ...
    @property
    def c(self) -> _Floats: ...
    @property
    def beta(self) -> _Floats: ...
    @property
    def f(self) -> _Floats: ...
    @property
    def objective(self) -> _Floats: ...
    @property
    def relative_gap(self) -> _Floats: ...
    @property
    def iterations(self) -> list[int]: ...
    @property
    def kept(self) -> list[int]: ...
    @property
    def status(self) -> list[Status]: ...

class RidgeSolution:
    def __init__(
        self,
        *,
        V: _Floats,
        beta: _Floats,
        kept: Sequence[int],
        iterations: int = ...,
        residuals: _Floats = ...,
        status: Status = ...,
    ) -> None: ...
    @property
    def V(self) -> _Floats: ...
    @property
    def beta(self) -> _Floats: ...
    @property
    def kept(self) -> list[int]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def residuals(self) -> _Floats: ...
    @property
    def status(self) -> Status: ...
    @property
    def converged(self) -> bool: ...

class Formula:
    def __init__(
        self,
        groups: Sequence[tuple[Sequence[int], Sequence[float], Sequence[float]]],
        steps: Sequence[tuple[str, int, float, float, int]],
        series: Sequence[Sequence[float]] = ...,
        centres: Sequence[Sequence[float]] = ...,
        maps: Sequence[tuple[float, Sequence[float]]] = ...,
    ) -> None: ...

class SingleThreaded:
    def __init__(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def bind_blas(*, capsules: dict[str, Any]) -> None: ...
def bind_thread_control(*, get: int, set: int) -> None: ...
def select_backend(*, name: str) -> None: ...
def backend() -> str: ...
def blas_threads() -> int: ...
def kernel_matrix(*, formula: Formula, a: Any, b: Any, threads: int = 0) -> _Floats: ...
def kernel_diagonal(*, formula: Formula, rows: Any, threads: int = 0) -> _Floats: ...
def kernel_times(*, formula: Formula, a: Any, b: Any, c: _Floats, threads: int = 0) -> _Floats: ...
def kernel_input_gradient(*, formula: Formula, a: Any, b: Any, c: _Floats, threads: int = 0) -> _Floats: ...
def solve(
    *,
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
    threads: int = 0,
) -> Solution: ...

class Posterior:
    def __init__(
        self,
        *,
        formula: Formula | None,
        data: Any,
        T: _Floats,
        weights: _Floats | None,
        shift: float,
        tolerance: float,
        threads: int = 0,
    ) -> None: ...
    def variance(
        self, *, formula: Formula, samples: Any, rows: Any, T_new: _Floats, threads: int = 0
    ) -> tuple[_Floats, float]: ...
    def covariance(
        self, *, formula: Formula, samples: Any, rows: Any, T_new: _Floats, threads: int = 0
    ) -> _Floats: ...
    def variance_of_given(
        self, *, prior: _Floats, K: _Floats, T_new: _Floats, threads: int = 0
    ) -> tuple[_Floats, float]: ...
    def covariance_of_given(
        self, *, prior: _Floats, K: _Floats, T_new: _Floats, threads: int = 0
    ) -> _Floats: ...

def posterior_bytes(*, m: int, n_features: int) -> float: ...
def covariance_bytes(*, m: int, n_points: int) -> float: ...
def path(
    *,
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
) -> Path: ...

class ReducedMatrix:
    def at(self, *, shifts: _Floats, relative: bool, threads: int = 0) -> Path: ...
    def leave_out(
        self,
        *,
        shift: float,
        rows: Sequence[int] | NDArray[np.intp],
        starts: Sequence[int] | NDArray[np.intp],
        c: _Floats,
        extra: _Floats,
        threads: int = 0,
    ) -> tuple[_Floats, _Floats]: ...

def leave_out_bytes(*, order: int, largest: int, workers: int) -> float: ...
def reduce(
    *,
    formula: Formula | None,
    data: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    leave_one_out: bool,
    tolerance: float,
    threads: int = 0,
) -> ReducedMatrix: ...
def ridge_reduce(
    *,
    rows: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    dependence: float,
    threads: int = 0,
) -> ReducedMatrix: ...
def tune(
    *,
    formula: Formula,
    data: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    tolerance: float,
    groups: Sequence[int],
    units: _Floats,
    variable: Sequence[int] | NDArray[np.intp],
    start: _Floats,
    lower: _Floats,
    upper: _Floats,
    curve: _Floats,
    reach: _Floats,
    a: float,
    b: float,
    gain: float,
    most: int,
    threads: int = 0,
    row_points: Sequence[int] | NDArray[np.intp] = ...,
    row_weights: _Floats | None = None,
    row_counts: _Floats | None = None,
    deviations: _Floats | None = None,
) -> Tuned: ...
def restricted_likelihoods(
    *,
    formula: Formula | None,
    data: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    tolerance: float,
    shifts: _Floats,
    threads: int = 0,
    row_points: Sequence[int] | NDArray[np.intp] = ...,
    row_weights: _Floats | None = None,
    row_counts: _Floats | None = None,
    deviations: _Floats | None = None,
) -> _Floats: ...
def gradient(
    *,
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
    row_points: Sequence[int] = ...,
    row_weights: _Floats | None = None,
    row_counts: _Floats | None = None,
    deviations: _Floats | None = None,
    left_out_rows: Sequence[int] | NDArray[np.intp] = ...,
    left_out_starts: Sequence[int] | NDArray[np.intp] = ...,
) -> Gradient: ...

class MatrixFree:
    def __init__(
        self,
        *,
        formula: Formula,
        data: Any,
        T: _Floats,
        weights: _Floats | None,
        groups: Sequence[int] | NDArray[np.intp] | None = None,
        dependence: float,
        n_centres: int = 0,
        pivoted: bool = False,
        threads: int = 0,
    ) -> None: ...
    @property
    def trace(self) -> float: ...
    @property
    def rank(self) -> int: ...
    @property
    def kept(self) -> list[int]: ...
    def fit(
        self,
        *,
        Y: _Floats,
        shift: float,
        precision: str = "double",
        tolerance: float,
        max_iterations: int,
        guess: _Floats | None = None,
        image: _Floats | None = None,
        report: Callable[[int, float, bool], object] | None = None,
        threads: int = 0,
    ) -> Solution: ...
    def solve(
        self,
        *,
        B: _Floats,
        shift: float,
        precision: str = "double",
        tolerance: float,
        max_iterations: int,
        guess: _Floats | None = None,
        image: _Floats | None = None,
        report: Callable[[int, float, bool], object] | None = None,
        threads: int = 0,
    ) -> tuple[_Floats, _Floats, int, _Floats, Status]: ...
    def project(self, *, X: _Floats) -> _Floats: ...
    def multiply(self, *, V: _Floats, threads: int = 0) -> _Floats: ...
    def coordinates(self, *, V: _Floats, threads: int = 0) -> _Floats: ...
    def free_part(self, *, Y: _Floats, c: _Floats, threads: int = 0) -> tuple[_Floats, _Floats]: ...
    @property
    def gram(self) -> _Floats: ...
    def rotate(self, *, U: _Floats, eigenvalues: _Floats, threads: int = 0) -> None: ...
    def covariance(
        self,
        *,
        K: _Floats,
        T_new: _Floats,
        groups_new: Sequence[int] | NDArray[np.intp] | None = None,
        diagonal: bool,
        shift: float,
        precision: str = "double",
        tolerance: float,
        max_iterations: int,
        report: Callable[[int, float, bool], object] | None = None,
        threads: int = 0,
    ) -> tuple[_Floats, Status]: ...

def matrix_free_bytes(*, m: int, n_columns: int, n_centres: int = 0) -> float: ...
def conjugate_gradients(
    *,
    multiply: Callable[[_Floats, str], _Floats],
    precondition: Callable[[_Floats], _Floats],
    B: _Floats,
    tolerance: float,
    max_iterations: int,
    refined: bool = False,
    report: Callable[[int, float, bool], object] | None = None,
    threads: int = 0,
) -> LinearSolution: ...
def solve_bytes(*, order: int, precision: str) -> float: ...
def path_bytes(
    *, m: int, n_outputs: int, n_shifts: int, leave_one_out: bool, n_features: int = ...
) -> float: ...
def gradient_bytes(*, m: int, criterion: str, n_columns: int, n_left_out: int = ...) -> float: ...
def ridge_columns_bytes(*, n: int, d: int, n_outputs: int) -> float: ...
def ridge_path_bytes(*, n: int, d: int, n_outputs: int, n_shifts: int) -> float: ...
def centres_bytes(*, M: int) -> float: ...
def centred_gram(*, formula: Formula | None, data: Any, threads: int = 0) -> CentredGram: ...
def top_spectrum(
    *,
    formula: Formula | None,
    data: Any,
    k: int,
    tolerance: float,
    max_products: int,
    seed: int,
    threads: int = 0,
) -> TopSpectrum: ...
def null_space(*, T: _Floats, tolerance: float) -> tuple[_Floats, list[int]]: ...
def independent_columns(*, T: _Floats, tolerance: float) -> list[int]: ...
def phi_prime(*, T: _Floats, pivots: str, tolerance: float) -> tuple[_Floats, list[int], list[int]]: ...
def assemble(
    *, gram: _Floats, T: _Floats, basis: str, pivots: str, tolerance: float, threads: int = 0
) -> _Floats: ...
def svm_fit(
    *,
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
    only: Sequence[int] = ...,
    definite: bool = False,
    threads: int = 0,
) -> SvmSolution: ...
def piecewise_fit(
    *,
    formula: Formula | None,
    data: Any,
    T: _Floats,
    weights: _Floats,
    t: _Floats,
    lower: _Floats,
    upper: _Floats,
    kappa_up: _Floats,
    kappa_down: _Floats,
    epsilon: _Floats,
    dependence: float,
    solver: str,
    tolerance: float,
    max_iterations: int,
    cache_bytes: float,
    start: _Floats | None = None,
    chained: bool = False,
    single: bool = True,
    threads: int = 0,
) -> PiecewiseSolution: ...
def svm_bytes(
    *, largest_pair: int, n_pairs: int, solver: str, cache_bytes: float, threads: int = 0
) -> float: ...
def llt(*, matrix: _Floats, threads: int = 0) -> _Floats: ...
def plsa(
    *,
    documents: Any,
    words: Any,
    topics: _Floats,
    max_iterations: int,
    tolerance: float,
    report: Any = None,
    threads: int = 0,
) -> Topics: ...
def plsa_fold_in(
    *,
    documents: Any,
    topics: _Floats,
    start: _Floats,
    max_iterations: int,
    tolerance: float,
    threads: int = 0,
) -> FoldedIn: ...
def ridge_columns(
    *,
    rows: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    dependence: float,
    shift: float,
    threads: int = 0,
) -> RidgeSolution: ...
def ridge_cg(
    *,
    rows: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    dependence: float,
    shift: float,
    tolerance: float,
    max_iterations: int,
    threads: int = 0,
) -> RidgeSolution: ...
def ridge_path(
    *,
    rows: Any,
    T: _Floats,
    Y: _Floats,
    weights: _Floats | None,
    dependence: float,
    shifts: _Floats,
    relative: bool,
    threads: int = 0,
) -> Path: ...
def row_sums(
    *,
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
    *, formula: Formula | None, data: Any, centres: Any, E: _Floats, L: _Floats, threads: int = 0
) -> _Floats: ...
def pivoted_llt(*, matrix: _Floats, tolerance: float, threads: int = 0) -> tuple[_Floats, list[int]]: ...
def row_keys(*, data: Any, seed: int, threads: int = 0) -> NDArray[np.uint64]: ...

class KernelStore:
    def __init__(self, *, precision: str, bytes: float) -> None: ...
    def normal_times(
        self,
        *,
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
    *, formula: Formula, data: Any, c: _Floats, precision: str = "double", threads: int = 0
) -> _Floats: ...
