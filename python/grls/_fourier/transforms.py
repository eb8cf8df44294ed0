"""Sums of waves over rows, and at rows: non-uniform fast Fourier transforms by finufft."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from .._solvers.runtime import get_num_threads
from .._validation import FloatArray
from .modes import Modes

_PRECISION = 1e-12  # of a transform: its error must stay below γ, which is small where rows are many
_PARTS, _ROWS_A_PART = 4, 1 << 14  # of rows that are summed side by side, where they are more than the waves
_ROWS_AT_A_TIME = {1: 1 << 20, 2: 1 << 20, 3: 1 << 17}  # so that memory is bounded, and Ctrl-C heard


@lru_cache
def _finufft() -> Any:
    try:
        import finufft
    except ImportError as error:
        raise ImportError(
            'FourierGRLSRegressor needs finufft: pip install "grls[fourier]", or pip install finufft'
        ) from error
    return finufft


def require_transforms() -> None:
    """ImportError where finufft is not installed."""
    _finufft()


def slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Return parts of rows that are worked on at a time."""
    step = _ROWS_AT_A_TIME[n_columns]
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


_process: int | None = None  # that has made the first transform


def _threads() -> int:
    """Return how many threads a transform may use: one in a child that was forked after a transform.

    OpenMP's threads are not forked, and a child that asks for those of its parent waits for ever.
    """
    global _process
    _process = _process or os.getpid()
    return get_num_threads() if os.getpid() == _process else 1


def _plan(kind: int, shape: tuple[int, ...]) -> Any:
    # The threads of a transform add to sums in the order in which they come: a sum has one thread.
    sign, threads = (-1, 1) if kind == 1 else (1, _threads())
    return _finufft().Plan(kind, shape, 1, _PRECISION, sign, nthreads=threads)


def wave_sums(modes: Modes, points: FloatArray, columns: FloatArray) -> Any:
    """Return Σ_i c_i exp(−2πi ⟨j, x_i⟩/p) for |j| ≤ 2J, complex (q, 4J₁ + 1, …), of real columns c (q, n).

    Parts of many rows are summed side by side and added in their order: the sums are the same every time.
    """
    shape, n = tuple(4 * limit + 1 for limit in modes.limits), len(points)
    if n < _PARTS * max(_ROWS_A_PART, 8 * int(np.prod(shape))):
        return _part_sums(modes, shape, points, columns)
    edges = np.linspace(0, n, _PARTS + 1).astype(int)
    parts = [slice(*ends) for ends in pairwise(edges)]
    with ThreadPoolExecutor(min(_PARTS, _threads())) as pool:
        found = list(pool.map(lambda part: _part_sums(modes, shape, points[part], columns[:, part]), parts))
    return sum(found[1:], found[0])


def _part_sums(modes: Modes, shape: tuple[int, ...], points: FloatArray, columns: FloatArray) -> Any:
    plan = _plan(1, shape)
    plan.setpts(*modes.angles(points))
    out = np.empty((len(columns), *shape), dtype=np.complex128)
    axes = tuple(range(len(shape)))
    for first in range(0, len(columns), 2):
        # The sums of a real column are conjugate symmetric: two of them make one complex transform.
        pair = columns[first : first + 2]
        strengths = pair[0] + 1j * pair[1] if len(pair) == 2 else pair[0].astype(np.complex128)
        found = plan.execute(strengths)
        if len(pair) == 1:
            out[first] = found
            continue
        mirrored = np.conj(np.flip(found, axes))
        out[first] = (found + mirrored) / 2
        out[first + 1] = (found - mirrored) / 2j
    return out


def wave_values(modes: Modes, points: FloatArray, coefficients: Any) -> FloatArray:
    """Return Σ_j F_j exp(2πi ⟨j, x⟩/p), (n, k), of coefficients F on the half space, complex (k, h).

    Zero at rows beyond the reach of the training rows.
    """
    k = len(coefficients)
    out = np.zeros((len(points), k))
    near = modes.is_near(points)
    full = np.concatenate([np.conj(coefficients[:, :0:-1]), coefficients], axis=1)
    full = full.reshape(k, *modes.shape)
    plan = _plan(2, modes.shape)
    for part in slices(len(points), len(modes.columns)):
        inside = near[part]
        if not inside.any():
            continue
        rows = points[part] if inside.all() else points[part][inside]
        plan.setpts(*modes.angles(rows))
        found = np.empty((len(rows), k))
        for first in range(0, k, 2):
            pair = full[first : first + 2]
            values = plan.execute(np.ascontiguousarray(pair[0] + 1j * pair[1] if len(pair) == 2 else pair[0]))
            found[:, first] = values.real
            if len(pair) == 2:
                found[:, first + 1] = values.imag
        out[part][inside] = found
    return out
