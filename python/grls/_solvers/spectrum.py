"""Spectra of double-centred kernel matrices."""

from __future__ import annotations

from .. import _core
from .kernel_values import Gram
from .results import CentredGram, TopSpectrum
from .runtime import get_num_threads


def centred_gram(gram: Gram) -> CentredGram:
    """Return the centred kernel matrix (its lower triangle), the means that were taken off, and its trace."""
    return _core.centred_gram(formula=gram.formula, data=gram.data, threads=get_num_threads())


def top_spectrum(gram: Gram, k: int, *, tolerance: float, max_products: int, seed: int) -> TopSpectrum:
    """Return the k largest eigenvalues of the centred kernel matrix and their vectors, by block Lanczos."""
    return _core.top_spectrum(
        formula=gram.formula,
        data=gram.data,
        k=k,
        tolerance=tolerance,
        max_products=max_products,
        seed=seed,
        threads=get_num_threads(),
    )
