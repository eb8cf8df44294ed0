"""What all labels have in common, in kernels of labels beside features that express it.

exp(−Σ_c 1/σ_c) of `Categorical` is there between any two rows. Beside a free constant it adds nothing to the
function, but to the variance of the constant, and to the kernel's: so it is left out, as it is beside
features that are linear in what a linear kernel reads whose product with the labels the kernel is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._solvers.origin import spans_constant
from .._solvers.rank import nearest_combination
from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import ConfoundedFeaturesWarning
from .base import Kernel
from .compose import OnColumns, Product, Scaled, Sum
from .dot import Linear
from .labels import Categorical
from .views import After

_TOLERANCE = 1e-9


def leave_out_shared_parts(kernel: Kernel, X: Any, T: FloatArray) -> None:
    """Leave out of a resolved kernel what its labels share, where free features T (m, l) express it.

    `ConfoundedFeaturesWarning` where it was to stay.
    """
    terms = [] if kernel.pairwise else [term for term in _terms(kernel) if term[0].shared is not False]
    if not terms:
        return
    read = {id(part): columns for part, columns, _ in kernel.inner_products(X.shape[1])}
    for part, factors in terms:
        is_expressed = spans_constant(T) if len(factors) < 2 else False
        if factors and is_expressed:
            is_expressed = isinstance(factors[0], Linear) and _spans(T, X, read[id(factors[0])])
        if is_expressed and part.shared == "auto":
            part.shared = False
        elif is_expressed:
            what = "a linear trend" if factors else "a constant, the intercept,"
            warn(
                f"{part!r} keeps what all labels share, and so do the features, unpenalised: {what} is "
                "hardly determined, and the kernel's variance is not that of the labels (predictions are not "
                'concerned). To read them set shared="auto", or take Overlap()',
                ConfoundedFeaturesWarning,
            )


def _terms(
    kernel: Kernel, factors: tuple[Kernel, ...] = ()
) -> Iterator[tuple[Categorical, tuple[Kernel, ...]]]:
    """Yield the kernels of labels that are summands, with what multiplies them."""
    if isinstance(kernel, Product):
        yield from _terms(kernel.k1, (*factors, _plain(kernel.k2)))
        yield from _terms(kernel.k2, (*factors, _plain(kernel.k1)))
    elif isinstance(kernel, Sum):
        yield from _terms(kernel.k1, factors)
        yield from _terms(kernel.k2, factors)
    elif isinstance(kernel, OnColumns | Scaled | After):
        yield from _terms(kernel.kernel, factors)
    elif isinstance(kernel, Categorical):
        yield kernel, factors


def _plain(kernel: Kernel) -> Kernel:
    """Return the kernel without its scale and its choice of columns."""
    return _plain(kernel.kernel) if isinstance(kernel, OnColumns | Scaled) else kernel


def _spans(T: FloatArray, X: Any, columns: Any) -> bool:
    """Whether the features express the columns that a linear kernel reads, about whatever centre."""
    if sparse.issparse(X):
        return False
    read = np.asarray(X, dtype=np.float64)[:, list(columns)]
    read = read - read.mean(axis=0)
    left = read - np.asarray(T, dtype=np.float64) @ nearest_combination(T, read)
    return bool(np.all(np.linalg.norm(left, axis=0) <= _TOLERANCE * np.linalg.norm(read, axis=0)))
