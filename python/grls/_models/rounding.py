"""What rounding does to predictions, told where it shows."""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray
from .._warnings import warn
from ..exceptions import PrecisionWarning

# Of the targets: with a given regularization, and with one that smooth data chose, which may be tiny.
_SHOWS, _SHOWS_IN_CHOSEN = 1e-6, 1e-5
_ROUNDING = 10 * float(np.finfo(np.float64).eps)  # of a kernel value, with what its factorisation adds
_SPAN = 1e10  # of sample weights: beyond it the light ones keep less than six digits in sums with the others


def warn_of_rounding(diagonal: FloatArray, c: FloatArray, sizes: FloatArray, *, chosen: bool) -> None:
    """Give a `PrecisionWarning` where rounding of the kernel's values shows in the predictions.

    Each value Φ(x, x_j) is known to ε√(Φ(x, x) Φ(x_j, x_j)), and f adds up c_j times as much. With signs at
    random δf ≈ ε √max Φ(x, x) |(√Φ(x_j, x_j) c_j)_j|. Kernels that are zero at zero distance are not judged.
    diagonal (m,): Φ(x_j, x_j); sizes (k,): of the targets.
    """
    diagonal = np.abs(diagonal)
    most = _ROUNDING * float(diagonal.max()) * float(np.abs(c).max()) * len(c) ** 0.5
    shows = _SHOWS_IN_CHOSEN if chosen else _SHOWS
    if most <= shows * float(sizes.min()):  # as of nearly all
        return
    roots = np.sqrt(diagonal)
    terms = roots[:, None] * c
    scale = np.abs(terms).max(axis=0)  # apart, so that squares neither overflow nor vanish
    seen = (scale > 0) & (sizes > 0)
    if not seen.any():
        return
    terms, scale = terms[:, seen] / scale[seen], scale[seen]
    shares = np.sqrt(np.einsum("ij,ij->j", terms, terms)) * (scale / sizes[seen]) * float(roots.max())
    share = _ROUNDING * float(shares.max())
    if share > shows:
        warn(
            f"rounding may move predictions by {share:.0e} of the targets: the regularization is so small "
            "beside the kernel's values that large coefficients cancel each other; choose a larger one",
            PrecisionWarning,
        )


def warn_of_span(weights: FloatArray | None) -> None:
    """Give a `PrecisionWarning` where rows weigh so little that sums with the others lose them."""
    if weights is None or not (weights > 0).any():
        return
    span = float(weights.max()) / float(weights[weights > 0].min())
    if span > _SPAN:
        warn(
            f"the largest sample weight is {span:.0e} times the smallest: what rows of small weight say is "
            "lost when it is added to the others; leave such rows out (weight 0), or use an exact model "
            "(GRLSRegressor, GRLSClassifier)",
            PrecisionWarning,
        )
