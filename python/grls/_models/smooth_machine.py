"""Kernel machines with a smooth loss: what their fits share, and the variances of their functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._selection import smooth as selection_of_gamma
from .._solvers import memory
from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.newton import Minimum, State
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import NotPositiveDefiniteError
from ..kernels.polynomials import needed_polynomials, polynomial_columns
from .chosen_width import ChosenWidth
from .feature_prior import SplitFeatures, is_as_good_as_free, split
from .fitted import fitted_features
from .samples import FreeFeatures, Samples, Training

# Rows m and functions k: γ is chosen on so many rows that km³ is at most this, and rows are left out of the
# final model where it is at most that.
WORK_OF_CHOICE, WORK_OF_SCORE = 1.5e9, 3e10


class SmoothLoss(selection_of_gamma.SmoothLoss, Protocol):
    """What is minimised, with what is known of the minimum."""

    problem: KernelProblem
    s: FloatArray

    def unit(self) -> float:
        """Return the γ at which kernel and loss are of one size."""

    def take(self, rows: Any) -> Any:
        """Return the problem of some rows."""

    def variance(
        self, f: FloatArray, gamma: float, K: FloatArray, prior: FloatArray, T_new: FloatArray
    ) -> FloatArray:
        """Return the variances (n, k) of the functions at new points; f (m, k) at the samples."""


@dataclass
class SolverFeatures:
    """The features as the solver sees them: free ones beside the kernel, and ones with a prior inside it."""

    T: FloatArray  # (m, l), those that stay free
    parts: SplitFeatures | None  # where others have a prior
    variance: float = np.inf

    def coefficients(self, beta: FloatArray, c: FloatArray) -> FloatArray:
        """Return those of all features."""
        return beta if self.parts is None else self.parts.coefficients(beta, c, self.variance)


@dataclass
class ChosenGamma:
    """γ, where to start from there, and what led to it."""

    gamma: float
    start: State | None = None
    selection: selection_of_gamma.SmoothSelection | None = None
    rows: Any = None  # on which γ was chosen; None: all


def solver_features(training: Training, variance: float) -> SolverFeatures:
    """Return the features for the solver."""
    assert training.kernel is not None
    samples = training.samples
    free = np.isinf(variance) or is_as_good_as_free(training.kernel, samples.X, variance)
    if free or training.T.shape[1] == 0:
        return SolverFeatures(training.T, None)
    # The prior is about columns in the units of the samples, whatever weights a Newton step gives them.
    parts = split(training.T, samples.weights, needed_polynomials(training.kernel, samples.X))
    return SolverFeatures(parts.F, parts, variance)


def solver_problem(training: Training, features: SolverFeatures, *, stored: bool, what: str) -> KernelProblem:
    """Return the problem that every step solves with other weights, its kernel matrix stored if it fits.

    stored: it must be.
    """
    assert training.kernel is not None
    m, X = training.n_samples, training.samples.X
    whole, factor = 8.0 * m * m, memory.solve_bytes(m + 1, "double")
    if features.parts is None and not stored and not memory.fits(whole + factor):
        memory.require(factor, f"a {what} model of {m} samples", "use fewer samples")
        return KernelProblem(training.kernel, X, features.T, None)
    # The factor of several classes is a whole square, and made from another.
    needed = whole + (2 * whole if stored else factor)
    memory.require(needed, f"a {what} model of {m} samples", "use fewer samples")
    gram = training.kernel.matrix(X, X)
    if features.parts is not None:
        gram = gram + features.variance * (features.parts.Z @ features.parts.Z.T)
    return KernelProblem(StoredGram(), gram, features.T, None)


def most_rows_to_choose(n_functions: int, n_free: int) -> int:
    """Return on how many rows γ is chosen at most."""
    return max(int((WORK_OF_CHOICE / n_functions) ** (1 / 3)), 10 * n_free)


class SmoothMachine(ChosenWidth):
    """A kernel machine whose loss Newton's method minimises.

    A subclass has the parameters `regularization`, `regularization_grid`, `tol` and `max_iter`, keeps
    `_T_fit`, `_weights_fit`, `_targets_fit` and `_f_fit`, and says with `_fitted_loss` what was minimised.
    """

    def _fitted_loss(self) -> tuple[SolverFeatures, Any]:
        """Return the features as the solver saw them, and what was minimised."""
        raise TypeError(f"{type(self).__name__} has no loss")

    @contextmanager
    def _definite(self, training: Training) -> Iterator[None]:
        """Say which kernel it is that has no factor."""
        try:
            yield
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(
                f"the matrix of the kernel {training.kernel!r} with regularization={self.regularization} is "
                "not positive definite to working precision; choose a larger regularization"
            ) from error

    def _choose_gamma(
        self, loss: Any, rows: Any, matrices: int, check: Callable[[Any, list[Minimum]], None]
    ) -> ChosenGamma:
        """Leave γ to approximate leave-one-out of some rows; None: all.

        `matrices` of the order of the rows have to fit into memory; `check` looks at the first minimum.
        """
        part = loss if rows is None else loss.take(rows)
        m = len(part.s)
        memory.require(
            8.0 * m * m * matrices,
            f"choosing the regularization of {m} samples by leave-one-out",
            "give regularization a number, or use fewer samples",
        )
        gammas, refine = selection_of_gamma.gammas_to_try(
            self.regularization_grid, part.unit(), part.smallest_gamma
        )
        # What stays the same with more rows is the prior variance of the functions, 1/(2γΣs).
        to_part = float(loss.s.sum() / part.s.sum())
        found = selection_of_gamma.select(
            part,
            gammas if refine else gammas * to_part,
            refine=refine,
            check=lambda minima: check(part, minima),
            stages=self._stages,
        )
        found.path, found.chosen = found.path / to_part, found.chosen / to_part
        self._stages.done("regularization")
        return ChosenGamma(found.chosen, found.state if rows is None else None, found, rows)

    def _newton_limits(self) -> tuple[float, int]:
        """Return where Newton's method stops: the decrease that a step promises, and the steps."""
        return float(self.tol), int(self.max_iter)

    def _left_out(self, loss: Any, state: State, chosen: ChosenGamma) -> FloatArray | None:
        """Return the functions (m, k) at rows left out, of all rows where that is cheap; NaN at others."""
        if chosen.selection is None:
            return None
        m, n_functions = state.f.shape
        if chosen.rows is None:
            return chosen.selection.predictions
        if n_functions * float(m) ** 3 <= WORK_OF_SCORE:
            return np.asarray(loss.leave_one_out(state, chosen.gamma))
        predictions = np.full((m, n_functions), np.nan)
        predictions[chosen.rows] = chosen.selection.predictions
        return predictions

    def _warn_unless_converged(self, fits: list[Minimum]) -> None:
        stuck = [fit for fit in fits if not fit.converged]
        if stuck:
            warn(
                f"Newton's method stopped after {stuck[0].iterations} steps, where the next one promises to "
                f"lower the objective by {stuck[0].decrement:.2g} > tol={self.tol:g}; raise max_iter, tol or "
                "regularization",
                ConvergenceWarning,
            )

    def _fitted_training(self) -> Training:
        """Return the samples of the fit with the features there."""
        return Training(
            Samples(self.X_fit_, None, None, self._targets_fit, self._weights_fit),
            FreeFeatures(self.features_, self.feature_names_free_),
            fitted_features(self),
            self.kernel_,
        )

    def _laplace_variance(self, X: Any) -> FloatArray:
        """Return the variances (n, k) of the functions at X."""
        checked = self._check_new(X)
        T = self._features_at(checked, X)

        def kernel_at(rows: slice) -> FloatArray:
            return np.asarray(self.kernel_.matrix(self.X_fit_, checked[rows]))

        return self._variance_of(kernel_at, self.kernel_.diagonal(checked), T)

    def _coefficient_variance(self) -> FloatArray:
        """Return the variances (l, k) of the features' coefficients; NaN where they are not defined."""
        R = FreeFeatures(self.features_, self.feature_names_free_).user_units()
        n, m = self.n_features_free_, len(self._T_fit)
        # A coefficient is the function at a point where the kernel is 0 and the features a unit vector.
        T = np.eye(n) if R is None else R
        variance = self._variance_of(lambda rows: np.zeros((m, len(T[rows]))), np.zeros(n), T)
        undefined = polynomial_columns(self.kernel_, self.X_fit_, self._T_fit)
        variance[undefined] = np.nan
        variance[~self.feature_support_] = np.nan
        return variance

    def _variance_of(
        self, kernel_at: Callable[[slice], FloatArray], prior: FloatArray, T: FloatArray
    ) -> FloatArray:
        """Return the variances (n, k) where the kernel has values K (m, n) in slices, and the features T."""
        features, loss = self._fitted_loss()
        m = len(self._T_fit)
        step = max(2048, m // 2)
        Z_fit, Z = np.empty((m, 0)), np.empty((len(T), 0))
        tau = 0.0
        if features.parts is not None:
            tau, Z_fit = features.variance, features.parts.Z
            T, Z = features.parts.at(T)
            prior = prior + tau * np.einsum("ij,ij->i", Z, Z)
        blocks = [np.empty((0, self._f_fit.shape[1]))]
        for start in range(0, len(T), step):
            at = slice(start, start + step)
            K = kernel_at(at) + tau * (Z_fit @ Z[at].T)
            blocks.append(loss.variance(self._f_fit, self.regularization_, K, prior[at], T[at]))
        return np.concatenate(blocks)
