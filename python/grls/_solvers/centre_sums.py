"""Sums over rows of functions that stand on centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._validation import FloatArray
from .kernel_values import Formula
from .runtime import get_num_threads


@dataclass(frozen=True)
class CentreValues:
    """Kernel values of rows with centres: a formula and both, or None and the matrix in place of the rows."""

    formula: Formula | None
    data: Any  # for the core
    centers: Any  # for the core, or None


@dataclass(frozen=True)
class Whitening:
    """b(x) = L⁻¹ (k(z, x) − E k(z', x)), z' the pivots."""

    E: FloatArray  # (r, q)
    L: FloatArray  # (r, r)

    def row_sums(
        self,
        values: CentreValues,
        T: FloatArray,
        Y: FloatArray,
        weights: FloatArray | None,
        precision: str,
    ) -> FloatArray:
        """Return AᵀWA of the rows A = [b(x) T Y]."""
        return _core.row_sums(
            formula=values.formula,
            data=values.data,
            centres=values.centers,
            E=self.E,
            L=self.L,
            T=T,
            Y=Y,
            weights=weights,
            precision=precision,
            threads=get_num_threads(),
        )

    def rows(self, values: CentreValues) -> FloatArray:
        """Return b(x), (n, r)."""
        return _core.whitened_rows(
            formula=values.formula,
            data=values.data,
            centres=values.centers,
            E=self.E,
            L=self.L,
            threads=get_num_threads(),
        )


class KernelStore:
    """Kernel values of rows with centres that are kept from one product to the next, as far as bytes go."""

    def __init__(self, precision: str, n_bytes: float) -> None:
        self._store = _core.KernelStore(precision=precision, bytes=n_bytes)

    def normal_times(
        self,
        block: int,
        values: CentreValues,
        weights: FloatArray | None,
        a: FloatArray | None,
        B: FloatArray | None = None,
        *,
        precision: str = "double",
    ) -> FloatArray:
        """Return ZᵀW(Za + B) of a block of rows, Z (n, M) their kernel values with the centres."""
        if values.formula is None:
            Z = values.data
            product = (0.0 if a is None else Z @ a) + (0.0 if B is None else B)
            return np.asarray(Z.T @ (product if weights is None else weights[:, None] * product))
        return self._store.normal_times(
            formula=values.formula,
            block=block,
            data=values.data,
            centres=values.centers,
            weights=weights,
            a=a,
            B=B,
            precision=precision,
            threads=get_num_threads(),
        )
