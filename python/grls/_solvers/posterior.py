"""The factor of a problem at one γ, kept: variances at new points cost no factorisation."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import PrecisionWarning
from .arrays import alike
from .kernel_values import Formula
from .runtime import get_num_threads

_SHOWS = 2e-6  # of a variance: a millionth of a standard deviation


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
        known: dict[str, Any] = {
            "formula": formula,
            "samples": b,
            "rows": a,
            "T_new": T,
            "threads": get_num_threads(),
        }
        return self._core.covariance(**known) if covariance else _told(*self._core.variance(**known))

    def of_values(self, prior: FloatArray, K: FloatArray, T: FloatArray, *, covariance: bool) -> FloatArray:
        """Return the same from the prior, (n,) or (n, n), and kernel values K (n, m)."""
        known: dict[str, Any] = {"prior": prior, "K": K, "T_new": T}
        known["threads"] = get_num_threads()
        if covariance:
            return self._core.covariance_of_given(**known)
        return _told(*self._core.variance_of_given(**known))


def _told(variance: FloatArray, lost: float) -> FloatArray:
    """Return variances, of which rounding may hide a share `lost`, with a warning where that shows."""
    if lost > _SHOWS:
        warn(
            f"rounding may move a standard deviation by {min(1.0, 0.5 * lost):.0e} of itself: the noise, "
            "in proportion to regularization / sample_weight, is so small beside the kernel's values that a "
            "variance is a difference of nearly equal numbers; choose a larger regularization, or weights "
            "that differ less",
            PrecisionWarning,
        )
    return variance
