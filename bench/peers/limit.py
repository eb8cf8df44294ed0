"""The limit: the arithmetic that a float64 fit and a prediction cannot do without, and nothing else.

Counted for a fit, all on SciPy's BLAS and LAPACK (the library that grls itself calls):

========  ==================================================================================================
syrk      ``dsyrk`` of X (m, d) into the lower triangle of a new m×m buffer: the page faults are counted here
exp       ``numpy.exp`` in place on that triangle, in bands of columns shared out among the same threads
potrf     ``dpotrf`` in place, without clearing the other triangle
========  ==================================================================================================

Not counted, though done, so that the factor is that of the problem and its answers can be compared: turning
inner products into exponents, adding alpha to the diagonal, and all solves. In the spatial scene (d=3) syrk
is not counted either: three products are no matrix product, and there are better ways to the distances.

Counted for a prediction: ``dgemm`` of all new rows against X in blocks of rows, and exp on as many numbers,
both into a buffer that is there before. Neither the exponents nor the product with the coefficients counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter

import numpy as np
from scipy.linalg import blas, lapack

from .problems import Array, Problem

BAND = 128  # columns of a triangle that are worked on at once
ROWS = 256  # new rows that are predicted at once

SETTLE = 0.05  # seconds until the BLAS threads, which spin after a call, leave the cores to those of exp

Predictor = Callable[[Array], Array]


class Stages:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start


class Limit:
    """Does the arithmetic of `problem` with the BLAS as it is set and `n_threads` threads for exp."""

    def __init__(self, problem: Problem, n_threads: int) -> None:
        self.problem = problem
        self.stages = ("exp", "potrf") if problem.scene == "spatial" else ("syrk", "exp", "potrf")
        self._n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads)
        list(self._pool.map(abs, range(n_threads)))  # starts the threads
        self._half_norms = self._norms(problem.X)

    def _norms(self, X: Array) -> Array:
        return np.einsum("ij,ij->i", X, X) / (2 * self.problem.sigma**2)

    def _shares(self, n: int, work: Callable[[int, int], None]) -> None:
        """Split 0 … n into one range per thread."""
        step = -(-n // self._n_threads)
        list(self._pool.map(lambda i: work(i, min(i + step, n)), range(0, n, step)))

    def _bands(self, m: int, work: Callable[[int, int], None]) -> None:
        list(self._pool.map(lambda i: work(i, min(i + BAND, m)), range(0, m, BAND)))

    def factorise(self) -> tuple[Array, dict[str, float]]:
        """Return L in the lower triangle of an array, and the seconds of each stage."""
        problem, stage = self.problem, Stages()
        with stage("syrk"):
            A = np.empty((problem.m, problem.m), order="F")
            A = blas.dsyrk(1 / problem.sigma**2, problem.X.T, trans=1, lower=1, c=A, overwrite_c=1)
        columns = A.T  # row-major: row i holds column i of A

        def to_exponent(i: int, j: int) -> None:
            columns[i:j, i:] -= self._half_norms[i:j, None]
            columns[i:j, i:] -= self._half_norms[i:]
            columns[i:j, i:j][np.tri(j - i, k=-1, dtype=bool)] = 0  # beyond the diagonal nothing was written

        def exponentiate(i: int, j: int) -> None:
            np.exp(columns[i:j, i:], out=columns[i:j, i:])

        self._bands(problem.m, to_exponent)
        time.sleep(SETTLE)
        with stage("exp"):
            self._bands(problem.m, exponentiate)
        A.ravel(order="K")[:: problem.m + 1] += problem.alpha
        with stage("potrf"):
            L, info = lapack.dpotrf(A, lower=1, overwrite_a=1, clean=0)
        if info != 0:
            raise ArithmeticError(f"dpotrf failed on the {problem.scene} problem of {problem.m} rows: {info}")
        return L, stage.seconds

    def fit_seconds(self) -> float:
        """Return the seconds that count."""
        seconds = self.factorise()[1]
        return sum(seconds[name] for name in self.stages)

    def answers(self, L: Array) -> dict[bool, Predictor]:
        """Return the models without features (False) and with them (True) that the factor L gives."""
        problem = self.problem
        T = problem.features(problem.X)
        solved, _ = lapack.dpotrs(L, np.column_stack([problem.y, T]), lower=1)
        beta = np.linalg.solve(T.T @ solved[:, 1:], T.T @ solved[:, 0])
        c = solved[:, 0] - solved[:, 1:] @ beta

        def with_features(X: Array) -> Array:
            return self.predict(X, c) + problem.features(X) @ beta

        return {False: lambda X: self.predict(X, solved[:, 0]), True: with_features}

    def predict(self, X: Array, c: Array) -> Array:
        """Return Kc at the rows of X."""
        out = np.empty(len(X))
        for first in range(0, len(X), ROWS):
            rows = slice(first, first + ROWS)
            K = blas.dgemm(1 / self.problem.sigma**2, self.problem.X.T, X[rows].T, trans_a=1)
            K -= self._half_norms[:, None]
            K -= self._norms(X[rows])
            out[rows] = blas.dgemv(1.0, np.exp(K, out=K), c, trans=1)
        return out

    def predict_seconds(self, X: Array) -> float:
        """Return the seconds that GEMM and exp take for the rows of X."""
        blocks = [X[first : first + ROWS].T for first in range(0, len(X), ROWS)]
        products, exponents = (np.zeros((self.problem.m, blocks[0].shape[1]), order="F") for _ in range(2))
        stage = Stages()
        with stage("gemm"):
            for block in blocks:
                c = products[:, : block.shape[1]]
                blas.dgemm(-1.0, self.problem.X.T, block, trans_a=1, c=c, overwrite_c=1)
        np.multiply(products, -1 / max(1.0, np.abs(products).max()), out=exponents)
        time.sleep(SETTLE)

        def exponentiate(i: int, j: int) -> None:
            np.exp(exponents.T[i:j], out=products.T[i:j])

        with stage("exp"):
            for block in blocks:
                self._shares(block.shape[1], exponentiate)
        return sum(stage.seconds.values())

    def close(self) -> None:
        self._pool.shutdown()
