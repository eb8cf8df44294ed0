"""What loaders return: a Bunch, a pair, or data frames, as scikit-learn's own do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ._store import DataSet

_COMMON = """data_home : path, default=None
        The folder of the data; see `data_folder`.
    download_if_missing : bool, default=True
        Whether to fetch the public original where the file is not there.
    return_X_y : bool, default=False
        Whether to return the pair (data, target) instead.
    verbose : bool, default=False
        Whether to show the progress of a download."""
_FRAMES = """as_frame : bool, default=False
        Whether data and target are pandas objects."""

_Loader = TypeVar("_Loader", bound=Callable[..., Any])


def documented(loader: _Loader) -> _Loader:
    """Fill in the parameters that all loaders share."""
    text = loader.__doc__ or ""
    loader.__doc__ = text.replace("{common}", _COMMON).replace("{frames}", _FRAMES)
    return loader


def table_bunch(
    dataset: DataSet,
    data: NDArray[Any],
    target: NDArray[Any],
    feature_names: list[str],
    target_name: str,
    *,
    return_X_y: bool,
    as_frame: bool,
    **more: Any,
) -> Any:
    """Return a table of numbers and its target in the form that was asked for."""
    frame = None
    given: tuple[Any, Any] = data, target
    if as_frame:
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("as_frame=True needs pandas, which is not installed") from error
        frame = pd.DataFrame(data, columns=feature_names)
        given = frame.copy(), pd.Series(target, name=target_name)
        frame[target_name] = target
    if return_X_y:
        return given
    return Bunch(
        data=given[0],
        target=given[1],
        frame=frame,
        feature_names=feature_names,
        target_names=[target_name],
        DESCR=describe(dataset, f"{data.shape[0]} rows, {data.shape[1]} columns"),
        **more,
    )


def describe(dataset: DataSet, size: str) -> str:
    """Return a line or two on the data and their terms."""
    return f"{dataset.title}: {size}. {dataset.terms} File: {dataset.file}."


def subset_rows(subset: str, n_train: int, n_all: int) -> NDArray[np.intp]:
    """Return the rows of "train", "test" or "all" where the training rows come first."""
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset must be 'train', 'test' or 'all'; got {subset!r}")
    return np.arange(n_train if subset == "test" else 0, n_train if subset == "train" else n_all)
