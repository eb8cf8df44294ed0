"""The gradient of a model function by the columns of X."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._solvers import memory
from .._validation import FloatArray, is_table_of_numbers
from ..features._gradient import feature_gradient
from ..kernels.differentiable import require_gradient
from .samples import given_rows


def require_differentiable(model: Any, X: Any) -> None:
    """ValueError where the model function has no gradient at rows, as they were given."""
    if sparse.issparse(X):
        raise ValueError("return_gradient=True needs dense rows: give X.toarray()")
    if not is_table_of_numbers(X):
        raise ValueError(
            "return_gradient=True needs a table of numbers: there is no gradient by columns of text"
        )
    require_gradient(model.kernel_, np.empty((0, 0)))


def function_gradient(model: Any, X: Any) -> FloatArray:
    """Return the gradient (n, d, k) of a fitted model with a kernel and features, at rows as given."""
    require_differentiable(model, X)
    rows = np.ascontiguousarray(model._validate(X, reset=False))
    c, b = model._kernel_coefficients(), model._computed_features()
    memory.require(
        16.0 * rows.size * c.shape[1], f"the gradients at {len(rows)} rows", "ask for fewer rows at a time"
    )
    learnt: FloatArray = model.kernel_.input_gradient(rows, model.X_fit_, c)
    spreads = getattr(model, "_column_spreads", None)
    gradient = learnt + feature_gradient(model.features_, given_rows(X, rows), rows, b, spreads)
    finite = np.isfinite(gradient).all(axis=(1, 2))
    if not finite.all():
        raise ValueError(
            f"the gradient is not finite at row {finite.argmin()}: its values are too large for the kernel "
            "or the features, or the arrays of this model were changed after the fit"
        )
    return gradient
