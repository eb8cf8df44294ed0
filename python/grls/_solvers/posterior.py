"""The factor of a problem at one γ, kept: variances at new points cost no factorisation."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._validation import FloatArray
from .arrays import alike
from .kernel_values import Formula
from .runtime import get_num_threads


class Posterior:
    """What the samples of a problem tell of the function and of the features' coefficients.

    Everything is in units of the kernel variance. `T` are the features (n, l) of what is asked for, whose
    kernel values with the samples come from a formula and rows, or are given.
    """

    def __init__(self, core: _core.Posterior) -> None:
        self._core = core

    def of_rows(
        self, formula: Formula, samples: Any, rows: Any, T: FloatArray, *, covariance: bool
    ) -> FloatArray:
        """Return the variance (n,) at new rows, or their covariance (n, n); `formula` is the prior's."""
        a, b = alike(rows, samples)
        call = self._core.covariance if covariance else self._core.variance
        return call(formula=formula, samples=b, rows=a, T_new=T, threads=get_num_threads())

    def of_values(self, prior: FloatArray, K: FloatArray, T: FloatArray, *, covariance: bool) -> FloatArray:
        """Return the same from the prior, (n,) or (n, n), and kernel values K (n, m)."""
        call = self._core.covariance_of_given if covariance else self._core.variance_of_given
        return call(prior=prior, K=K, T_new=T, threads=get_num_threads())
