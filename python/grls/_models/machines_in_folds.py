"""SVM-GB without the rows of a fold, and its functions there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._selection.folds import folds_of
from .._selection.held_out import HeldOut, Setting
from .._solvers import memory
from .._solvers.groups import Labels
from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._validation import FloatArray
from .._warnings import muted
from ..exceptions import IndefiniteKernelWarning
from ..kernels import Kernel
from .hard_margin import spread_of
from .pairs_of_classes import Posed, Task, central_bias, pose, solve_by_osqp, winners
from .progress import Stages
from .solved_pairs import solve

_LOOSER = 10.0  # times the gap allowed to the model: what folds may be left with


@dataclass(frozen=True)
class Fold:
    """The rows of a fold and the others, and what a kernel says of them where its matrix is stored."""

    train: NDArray[np.intp]  # (n,): class by class
    starts: NDArray[np.intp]  # (n_classes + 1,): where those of each class begin
    test: NDArray[np.intp]
    K_train: FloatArray | None  # (n, n)
    K_test: FloatArray | None  # (n_test, n)


@dataclass
class Machines:
    """SVM-GB on the same rows for any C, variance of the features and kernel, with and without folds."""

    model: Any
    kernels: list[Kernel]  # of which a setting names one
    X: Any  # what they read
    T: FloatArray  # (m, l)
    weights: FloatArray | None
    labels: NDArray[np.intp]  # (m,)
    classes: Any
    pairs: NDArray[np.intp]
    polynomials: FloatArray | None  # (m, q): those that the kernels need
    conditional: bool
    solver: str
    by_osqp: bool
    together: Labels  # (m,): rows that no fold parts
    fold: NDArray[np.intp] = field(init=False)  # (m,): −1: never held out
    _matrix: tuple[int, FloatArray | None] | None = None
    _folds: dict[int, Fold] = field(default_factory=dict)  # of the kernel whose matrix that is
    _last: dict[Any, tuple[float, FloatArray]] = field(default_factory=dict)  # where to start from

    def __post_init__(self) -> None:
        self.fold = folds_of(self.together, self.labels)

    def take(self, rows: NDArray[np.intp]) -> Machines:
        """Return those of some of the rows."""
        return replace(
            self,
            X=self.kernels[0].take(self.X, rows),
            T=self.T[rows],
            weights=None if self.weights is None else self.weights[rows],
            labels=self.labels[rows],
            polynomials=None if self.polynomials is None else self.polynomials[rows],
            together=self.together[rows],
            _matrix=None,
            _folds={},
            _last={},
        )

    def spread(self) -> float:
        """Return the size of the first kernel, from one row of those that stay together."""
        rows = np.unique(self.together, return_index=True)[1]
        problem = KernelProblem(self.kernels[0], self.X, self.T, self.weights)
        return spread_of(problem.take(rows, np.ones(len(rows))))

    def values(self, setting: Setting) -> FloatArray:
        """Return the functions (m, n_pairs) at rows held out; NaN at those that never are."""
        out = np.full((len(self.labels), len(self.pairs)), np.nan)
        for rows, found in self.in_folds(setting):
            out[rows] = found
        return out

    def in_folds(self, setting: Setting) -> Iterator[tuple[NDArray[np.intp], FloatArray]]:
        """Yield the rows of each fold, and the functions (n, n_pairs) there of the machines without it."""
        K = self._shared_matrix(setting.kernel)
        for f in range(int(self.fold.max()) + 1):
            fold = self._folds.get(f)
            if fold is None:
                fold = self._folds[f] = self._fold(f, K)
            if len(fold.test):
                posed, c, beta = self._solved(setting, fold, f)
                beta = posed.feature_coefficients(beta, c)
                yield fold.test, self.T[fold.test] @ beta + self._kernel_part(setting, fold, c)

    def _fold(self, f: int, K: FloatArray | None) -> Fold:
        train, test = np.flatnonzero(self.fold != f), np.flatnonzero(self.fold == f)
        train = train[np.argsort(self.labels[train], kind="stable")]
        starts = np.searchsorted(self.labels[train], np.arange(len(self.classes) + 1))
        if K is None:
            return Fold(train, starts, test, None, None)
        return Fold(train, starts, test, K[np.ix_(train, train)], K[np.ix_(test, train)])

    def known_matrix(self, k: int) -> FloatArray | None:
        """Return the matrix of a kernel, if it was the last one to be computed."""
        return None if self._matrix is None or self._matrix[0] != k else self._matrix[1]

    def _shared_matrix(self, k: int) -> FloatArray | None:
        """Return the kernel matrix of all rows, if there is memory for it and for what folds keep of it."""
        if self._matrix is None or self._matrix[0] != k:
            self._matrix, self._folds = None, {}
            K = None
            if memory.fits(4 * 8.0 * len(self.labels) ** 2):
                K = KernelProblem(self.kernels[k], self.X, self.T, self.weights).kernel_matrix()
            self._matrix = k, K
        return self._matrix[1]

    def _solved(self, setting: Setting, fold: Fold, f: int) -> tuple[Posed, FloatArray, FloatArray]:
        train = fold.train
        weights = None if self.weights is None else self.weights[train]
        source: Any = self.kernels[setting.kernel]
        if fold.K_train is None:
            points = source.take(self.X, train)
        else:
            source, points = StoredGram(source.is_definite), fold.K_train
        problem = KernelProblem(source, points, self.T[train], weights)
        polynomials = None if self.polynomials is None else self.polynomials[train]
        posed = pose(problem, setting.variance, polynomials, conditional=self.conditional)
        kernel, labels = self.kernels[setting.kernel], self.labels[train]
        task = Task(kernel, posed.problem, labels, self.classes, self.pairs, self.solver, self.by_osqp)
        tol = _LOOSER * self.model.tol
        key = f, setting.kernel, np.isinf(setting.variance)
        C, start = self._last.get(key, (setting.C, None))
        # What the model itself is left with is told when it is fitted.
        with muted(ConvergenceWarning, IndefiniteKernelWarning):
            if self.by_osqp:
                found = solve_by_osqp(self.model, task, setting.C, tol)
            else:
                scaled = None if start is None else start * (setting.C / C)
                found = solve(self.model, task, setting.C, scaled, tol)
                self._last[key] = setting.C, np.asarray(found.c)
        self.solver = task.solver  # it may have turned out to be the only one that works
        return posed, np.asarray(found.c), central_bias(task, setting.C, found)

    def _kernel_part(self, setting: Setting, fold: Fold, c: FloatArray) -> FloatArray:
        """Return Φc at rows held out: class by class, for a row has a part in the pairs of its own only."""
        kernel = self.kernels[setting.kernel]
        out = np.zeros((len(fold.test), len(self.pairs)))
        for k, (begin, end) in enumerate(pairwise(fold.starts)):
            pairs = np.flatnonzero((self.pairs == k).any(axis=1))
            coefficients = c[begin:end, pairs]
            if fold.K_test is not None:
                out[:, pairs] += fold.K_test[:, begin:end] @ coefficients
                continue
            used = np.flatnonzero(coefficients.any(axis=1))
            if len(used):
                points = self.X[fold.train[begin + used]]
                out[:, pairs] += kernel.times(self.X[fold.test], points, coefficients[used])
        return out

    def losses(self, rows: NDArray[np.intp], values: FloatArray) -> FloatArray:
        """Return for each row whether its class is missed, and its mean hinge loss in its class's pairs."""
        labels, n_classes = self.labels[rows], len(self.classes)
        named = winners(values, self.pairs, n_classes, break_ties=self.model.break_ties)
        first, second = (np.eye(n_classes)[each] for each in self.pairs.T)
        signs = (second - first if n_classes == 2 else first - second).T
        y = signs[labels]  # 0: not a pair of its class
        hinge = np.where(y != 0, np.maximum(0, 1 - y * values), 0.0).sum(axis=1)
        return np.column_stack([named != labels, hinge / (n_classes - 1)])

    def held_out(self, stages: Stages) -> HeldOut:
        """Return what tries settings on these rows."""
        weights = np.ones(len(self.labels)) if self.weights is None else self.weights
        return HeldOut(self.in_folds, self.losses, weights, len(self.pairs), stages)
