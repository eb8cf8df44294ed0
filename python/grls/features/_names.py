"""Names of the columns that a transformer was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names_in


def column_names(transformer: Any, input_features: Any = None) -> NDArray[Any]:
    """Return the names of the columns: those given, those seen in the fit, or x0, x1, ….

    ValueError where the ones given are not as many as in the fit, or others than those of a DataFrame there.
    No names where the fit was to rows that are no table.
    """
    known = hasattr(transformer, "n_features_in_")
    names = _check_feature_names_in(transformer, input_features, generate_names=known)
    return np.empty(0, dtype=object) if names is None else np.asarray(names, dtype=object)
