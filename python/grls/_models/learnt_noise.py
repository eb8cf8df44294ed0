"""Noise that depends on x: its variance, an exponential of a second kernel machine, learnt in turns.

Rows left out of the model miss their targets by e_i, whose variance is that of the noise, σ²(x_i), plus v_i,
that of the function without the row. So t_i = e_i² σ_i²/(σ_i² + v_i), with the σ_i of the last turn, is the
noise's variance on average, and, if it is normal, σ_i² times a χ² variable: the gamma family with a
logarithmic link (`families.GAMMA`), of which approximate leave-one-out chooses γ. Then the model is fitted
again with the noise of each row. See docs/math.md, section "Noise that is learnt".
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from .. import kernels
from .._selection import smooth
from .._selection.merged import Observations
from .._selection.starts import drawn_rows
from .._solvers import memory
from .._solvers.kernel_problem import KernelProblem
from .._solvers.kernel_values import StoredGram
from .._solvers.newton import State
from .._validation import FloatArray, is_table_of_numbers
from .._warnings import muted, warn
from .cross_validation import leave_out
from .families import GAMMA
from .family_loss import FamilyLoss
from .fitted import FittedProblem
from .progress import Stages
from .samples import FreeFeatures, Samples, given_rows, require_rows_alone, with_noise
from .smooth_machine import most_rows_to_choose
from .uncertainty import Uncertainty

_MOST_TURNS, _STEADY = 12, 0.05  # turns at most; mean change of the noise's logarithm that ends them
_UNSTEADY = 0.5  # … that is worth a warning after the last
_TOLERANCE, _MOST_STEPS = 1e-8, 100
_LEAST = 1e-6  # share of the mean squared residual: less is a row that was met by chance
_MOST_COLUMNS, _ROWS_OF_LABEL = 30, 5  # that have a kernel each; rows, on average, that a label needs
_LARGEST_RATIO = 1e6  # of variances: beyond it rows count for nothing, or for all


@dataclass(frozen=True)
class NoiseKernel:
    """The sum of the model's kernel and one that reads the rows as they were given; either may be missing."""

    of_model: kernels.Kernel | None
    X: Any  # (m, d): its points
    of_rows: kernels.Kernel | None
    Z: Any  # (m, q): likewise

    def matrix(self) -> FloatArray:
        """Return its values at the samples, (m, m)."""
        parts = [(self.of_model, self.X), (self.of_rows, self.Z)]
        return np.asarray(sum(kernel.matrix(at, at) for kernel, at in parts if kernel is not None))

    def times(self, points: Any, given: Any, c: FloatArray) -> FloatArray:
        """Return its values at rows and the samples, times c."""
        out = np.zeros((points.shape[0], c.shape[1]))
        if self.of_model is not None:
            out += self.of_model.times(points, self.X, c)
        if self.of_rows is not None:
            out += self.of_rows.times(self.of_rows.view(given), self.Z, c)
        return out


def noise_kernel(model: Any, given: Any) -> NoiseKernel:
    """Return the kernel of the noise: the one that is named, or the model's and one of each column."""
    X, of_model, of_rows = model.X_fit_, model.kernel_, None
    names = getattr(model, "feature_names_in_", None)
    if isinstance(model.noise, str):
        if not of_model.pairwise and of_model.order != 0:  # known up to polynomials, or not definite
            of_model = kernels.Gaussian().settled(X, None)
        if not of_model.pairwise:
            of_rows = _of_each_column(given)
    else:
        of_model, of_rows = None, kernels.as_kernel(model.noise)
    if of_rows is None:
        return NoiseKernel(of_model, X, None, None)
    fitted, Z = of_rows.fit_views(given, feature_names=names)
    return NoiseKernel(of_model, X, fitted.settled(Z, names), Z)


def _of_each_column(given: Any) -> kernels.Kernel | None:
    """Return a sum of kernels, one for each column of rows as given; None where there is none to read.

    Of numbers a Gaussian kernel, of text that repeats one of labels. Many columns have one kernel together.
    """
    if sparse.issparse(given) or getattr(given, "ndim", 2) != 2:
        return None
    parts: list[kernels.Kernel] = []
    for p in range(given.shape[1]):
        column = _safe_indexing(given, [p], axis=1)
        if is_table_of_numbers(column):
            values = np.asarray(column, dtype=np.float64)
            if np.isfinite(values).all() and np.ptp(values) > 0:
                parts.append(kernels.Gaussian().on([p]))
        elif len(set(map(str, np.ravel(np.asarray(column, dtype=object))))) * _ROWS_OF_LABEL <= len(given):
            parts.append(kernels.Overlap().on([p]))
    if len(parts) > _MOST_COLUMNS and is_table_of_numbers(given):
        return kernels.Gaussian("medians")
    return None if not parts else functools.reduce(operator.add, parts)


@dataclass(frozen=True)
class LearntNoise:
    """σ²(x), up to a factor: exp(Σ_i c_i k(x_i, x) + β)."""

    kernel: NoiseKernel
    c: FloatArray  # (m, 1)
    constant: float
    regularization: float
    limits: tuple[float, float]  # of the logarithm, at the samples

    def at(self, points: Any, given: Any) -> FloatArray:
        """Return it at rows, (n,): as checked points of the model's kernel, and as they were given."""
        log = self.kernel.times(points, given, self.c)[:, 0] + self.constant
        return np.asarray(np.exp(np.clip(log, *self.limits)))


class LearnsNoise(Uncertainty):
    """A regressor with the parameter `noise`, which may be "learn"."""

    _learnt_noise: LearntNoise | None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.noise is None:
            return
        if not isinstance(self.noise, kernels.Kernel) and not (
            isinstance(self.noise, str) and self.noise == "learn"
        ):
            raise ValueError(
                f'noise must be None or "learn", or a kernel to learn it with, got {self.noise!r}; known '
                "variances of the rows go to fit(X, y, noise=…)"
            )
        if self.formulation != "exact" or self.solver != "cholesky":
            raise ValueError('noise="learn" needs formulation="exact" and solver="cholesky"')
        if not isinstance(self.regularization, str) and not self.regularization > 0:
            raise ValueError('noise="learn" needs a positive regularization')
        if self.noise_variance is not None:
            raise ValueError('noise="learn" estimates the noise: leave noise_variance=None')

    def _fit(self, samples: Samples) -> None:
        learnt = None
        if self.noise is not None:
            if samples.counts is not None:
                raise ValueError("the noise is given, or learnt: fit(X, y, noise=…) needs noise=None")
            learnt, samples = learn_noise(self, samples, super()._fit, self._stages)
        super()._fit(samples)
        self._learnt_noise = learnt

    def _noise_at(self, noise: Any, points: Any, X: Any) -> FloatArray:
        if self._learnt_noise is None:
            return super()._noise_at(noise, points, X)
        if noise is not None:
            raise ValueError('the model has learnt the noise (noise="learn"): leave out noise=…')
        return self._noise_shape(points, X)

    def _noise_shape(self, points: Any, X: Any) -> FloatArray:
        assert self._learnt_noise is not None
        return self._learnt_noise.at(points, given_rows(X, self._validate(X, reset=False)))

    def predict_noise(self, X: Any) -> FloatArray:
        """Return the variance of the noise at any points, of a model that has learnt it.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, d)
            Points.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Variances; `noise_variance_` is their geometric mean over the training rows.

        Examples
        --------
        >>> import numpy as np
        >>> from grls import GRLSRegressor
        >>> from grls.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 10, (200, 1))
        >>> y = np.sin(x[:, 0]) + np.where(x[:, 0] < 5, 0.05, 0.5) * rng.normal(size=200)
        >>> model = GRLSRegressor(Gaussian(1.5), noise="learn").fit(x, y)
        >>> bool(np.sqrt(model.predict_noise([[8.0]]) / model.predict_noise([[2.0]]))[0] > 5)
        True
        """
        points = self._check_new(X)
        if self._learnt_noise is None:
            raise ValueError('predict_noise is for models with noise="learn"')
        return np.asarray(self._shaped(self._noise_shape(points, X)[:, None] * self.noise_variance_))


def learn_noise(
    model: Any, samples: Samples, fit: Callable[[Samples], None], stages: Stages
) -> tuple[LearntNoise, Samples]:
    """Return the noise, and the samples that know it, for the last fit.

    `fit` fits the model to samples; it is called in turns with the learning of the noise.
    """
    plain = replace(samples)
    current: LearntNoise | None = None
    noise = np.ones(len(samples.targets))
    for turn in range(1, _MOST_TURNS + 1):
        with muted():  # the last fit will say it
            fit(replace(plain) if current is None else _noisy(plain, noise))
            if turn == 1:
                require_rows_alone(FreeFeatures(model.features_, model.feature_names_free_), "a row")
                units = np.array(model.noise_variance_)
                squares = _squared_noise(model, units)
            # After two turns the mean of all that follow: models may go back and forth between two ways.
            squares = squares + (_squared_noise(model, units) - squares) / max(turn - 1, 1)
            current = _fit_noise(model, squares, plain, stages)
        last, noise = noise, current.at(model.X_fit_, plain.given)
        change = float(np.mean(np.abs(np.log(noise / last))))
        stages.report(f"noise, turn {turn}: its logarithm changed by {change:.3g} on average")
        if change < _STEADY:
            break
    assert current is not None
    if change > _UNSTEADY:
        warn(
            f"the noise was not settled after {_MOST_TURNS} turns: its variance still changed by a factor of "
            f"{np.exp(change):.2g} on average; there may be too few rows to tell it from the function",
            ConvergenceWarning,
        )
    return current, _noisy(plain, noise)


def _noisy(plain: Samples, noise: FloatArray) -> Samples:
    copy = replace(plain, rows=None)
    noisy = with_noise(copy, noise, len(noise))
    noisy.rows = plain.rows
    return noisy


def _squared_noise(model: Any, units: FloatArray) -> FloatArray:
    """Return for each row what is left of its squared residual for the noise, in units (k,), (m,)."""
    found = leave_out(model, "loo", None, None)
    assert found.variances is not None
    noise = FittedProblem.of(model).noise[:, None] * model.noise_variance_  # (m, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(noise > 0, noise / np.maximum(found.variances, noise), 1.0)
        squares = (found.targets - found.values) ** 2 * share / units
    squares = np.mean(squares, axis=1)
    known = np.isfinite(squares)
    if not known.any() or not squares[known].any():
        raise ValueError(
            'noise="learn" needs rows that differ from what the others say of them: there is none'
        )
    mean = float(squares[known].mean())
    return np.asarray(np.maximum(np.where(known, squares, mean), _LEAST * mean))


def _fit_noise(model: Any, squares: FloatArray, plain: Samples, stages: Stages) -> LearntNoise:
    """Return the gamma regression of the squares, with a kernel beside a constant."""
    kernel, X, m = noise_kernel(model, plain.given), model.X_fit_, len(squares)
    memory.require(8.0 * 3 * m * m, f"learning the noise of {m} samples", "use fewer samples, or noise=None")
    problem = KernelProblem(StoredGram(), np.ascontiguousarray(kernel.matrix()), np.ones((m, 1)), None)
    s = np.ones(m) if plain.weights is None else plain.weights
    observations = Observations.of([X], squares[:, None], s)
    loss = FamilyLoss(problem, GAMMA, squares[:, None], np.zeros(m), np.ones(1), s, observations)
    most = most_rows_to_choose(1, 1)
    rows = drawn_rows(X, most) if m > most and not model.kernel_.pairwise else None
    part = loss if rows is None else loss.take(rows)
    gammas, _ = smooth.gammas_to_try(16, part.unit(), part.smallest_gamma)
    found = smooth.select(part, gammas, refine=True, check=lambda minima: None, stages=stages)
    gamma = _smoothest(part, found) * float(part.s.sum() / s.sum())
    state = loss.minima(gamma, loss.start(), _TOLERANCE, _MOST_STEPS)[0].state
    return _normalised(kernel, state, s, gamma)


def _smoothest(loss: FamilyLoss, found: smooth.SmoothSelection) -> float:
    """Return the largest γ that is not told from the best: worse by no more than a standard error.

    Squares of residuals are so noisy that leave-one-out follows them gladly.
    """
    rows = loss.rows(0)
    best = rows.values(found.predictions[:, 0])
    state = None
    for gamma in found.path[::-1]:
        if gamma <= found.chosen:
            break
        state = loss.minima(float(gamma), state or loss.start(), _TOLERANCE, _MOST_STEPS)[0].state
        worse = rows.values(loss.leave_one_out(state, float(gamma))[:, 0]) - best
        mean = float(np.average(worse, weights=loss.s))
        error = np.sqrt(float(np.average((worse - mean) ** 2, weights=loss.s)) / float(loss.s.sum()))
        if mean <= error:
            return float(gamma)
    return found.chosen


def _normalised(kernel: NoiseKernel, state: State, s: FloatArray, gamma: float) -> LearntNoise:
    """Return the noise with a mean logarithm of zero: its scale is estimated with the model."""
    log = state.f[:, 0]
    middle = float(np.average(log, weights=s))
    half = np.log(_LARGEST_RATIO) / 2
    limits = max(float((log - middle).min()), -half), min(float((log - middle).max()), half)
    return LearntNoise(kernel, state.c, float(state.beta[0, 0]) - middle, gamma, limits)
