"""Variances of the kernel part and of the noise that are given, and what follows for those that are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray


@dataclass(frozen=True)
class GivenVariances:
    """Variances that are not left to the data; None: those that are."""

    kernel: float | None = None  # κ, that of the kernel part
    noise: float | None = None  # σ², that of the noise of a row of weight one

    @property
    def both_given(self) -> bool:
        """Whether they say what γ is."""
        return self.kernel is not None and self.noise is not None

    @property
    def none_given(self) -> bool:
        """Whether both are left to the data."""
        return self.kernel is None and self.noise is None

    def regularization(self, total_weight: float) -> float | None:
        """Return γ where both are given."""
        if self.kernel is None or self.noise is None:
            return None
        return self.noise / (self.kernel * total_weight)

    def both(self, estimated: FloatArray, shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return κ and σ² = κs of each output, from the estimates of κ and the shifts s = γΣw."""
        kernel = estimated
        if self.kernel is not None:
            kernel = np.full_like(estimated, self.kernel)
        elif self.noise is not None:
            with np.errstate(divide="ignore"):
                kernel = np.full_like(estimated, self.noise) / shifts
        return kernel, kernel * shifts

    def log_variance(self, quadratic: FloatArray, n: float, shift: float) -> FloatArray:
        """Return n log κ + q/κ of the restricted likelihood, κ the estimate q/n where it is not given.

        Of the estimate n, a constant, is left out.
        """
        if self.kernel is not None:
            return np.asarray(n * np.log(self.kernel) + quadratic / self.kernel)
        if self.noise is not None:
            kernel = self.noise / shift
            return np.asarray(n * np.log(kernel) + quadratic / kernel)
        # No residual at all, as of targets that the features express: the determinant decides.
        return np.asarray(n * np.log(np.maximum(quadratic / n, np.finfo(float).tiny)))


ESTIMATED = GivenVariances()
