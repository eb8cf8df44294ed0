"""What all loaders share: their options, where the data come from, and the form in which they are returned.

A loader is a function with parameters of its own and ``**options``. The decorator `loader` gives it the
signature and the documentation of these options; in the body, a `Source` reads the data set as they say and
returns a Bunch, a pair or data frames, as scikit-learn's own loaders do.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ._formats import Documents, Table
from ._store import Converter, DataSet, Home, load_content

SUBSETS = ("train", "test", "all")


class FileOptions(TypedDict, total=False):
    """Where a file comes from."""

    data_home: Home
    download_if_missing: bool
    verbose: bool


class Options(FileOptions, total=False):
    """The same for data with a target."""

    return_X_y: bool


class FrameOptions(Options, total=False):
    """The same for data with named columns."""

    as_frame: bool


# In the order of the signature: the default, its type, and what it means.
_OPTIONS: dict[str, tuple[Any, str, str]] = {
    "data_home": (None, "path", "The folder of the data; see `data_folder`."),
    "download_if_missing": (
        True,
        "bool",
        "Whether to fetch the public original where the file is not there.",
    ),
    "return_X_y": (False, "bool", "Whether to return the pair (data, target) instead."),
    "as_frame": (False, "bool", "Whether data and target are pandas objects."),
    "verbose": (False, "bool", "Whether to show the progress of a download."),
}

_Loader = TypeVar("_Loader", bound=Callable[..., Any])


def loader(options: Any) -> Callable[[_Loader], _Loader]:
    """Spell out the options of a loader, a TypedDict, in its signature and its documentation."""
    names = [name for name in _OPTIONS if name in options.__optional_keys__]

    def spelt_out(load: _Loader) -> _Loader:
        signature = _signature(load, names)

        @functools.wraps(load)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            try:
                arguments = signature.bind(*args, **keywords)
            except TypeError as error:
                raise TypeError(f"{load.__name__}() {error}") from None
            arguments.apply_defaults()
            return load(*arguments.args, **arguments.kwargs)

        wrapper.__signature__ = signature  # type: ignore[attr-defined]
        wrapper.__doc__ = _documentation(inspect.cleandoc(load.__doc__ or ""), names)
        return cast(_Loader, wrapper)

    return spelt_out


def _signature(load: Callable[..., Any], names: list[str]) -> inspect.Signature:
    own = inspect.signature(load)
    parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    for name in names:
        default, kind, _ = _OPTIONS[name]
        annotation = "Home" if kind == "path" else kind
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    return own.replace(parameters=parameters)


def _documentation(text: str, names: list[str]) -> str:
    """Append the options to the parameters, which come before what is returned."""
    lines = []
    for name in names:
        default, kind, meaning = _OPTIONS[name]
        lines += [f"{name} : {kind}, default={default}", f"    {meaning}"]
    before, returns, after = text.partition("\n\nReturns\n-------\n")
    heading = "\n" if "\nParameters\n----------\n" in before else "\n\nParameters\n----------\n"
    return before + heading + "\n".join(lines) + returns + after


@dataclass(frozen=True)
class Source:
    """A data set of `_sources`, read and returned as the options of a loader say."""

    dataset: DataSet
    options: Mapping[str, Any]

    def _content(self, convert: Converter | None) -> Any:
        options = self.options
        return load_content(
            self.dataset, convert, options["data_home"], options["download_if_missing"], options["verbose"]
        )

    def table(self, convert: Converter | None = None) -> Table:
        """Return the checked columns, fetched and converted first where the file is missing."""
        content = self._content(convert)
        if not isinstance(content, dict):
            raise TypeError(f"{self.dataset.file} holds documents")
        return content

    def documents(self, convert: Converter | None = None) -> Documents:
        """Return the checked documents, fetched and converted first where the file is missing."""
        content = self._content(convert)
        if not isinstance(content, list):
            raise TypeError(f"{self.dataset.file} holds a table")
        return content

    def description(self, size: str) -> str:
        """Return a line or two on the data and their terms."""
        return f"{self.dataset.title}: {size}. {self.dataset.terms} File: {self.dataset.file}."

    def sample(self, data: Any, target: Any, size: str = "", **attributes: Any) -> Any:
        """Return data and target in the form that the options ask for."""
        if self.options["return_X_y"]:
            return data, target
        text = self.description(size or f"{len(target)} rows")
        return Bunch(data=data, target=target, DESCR=text, **attributes)

    def columns(
        self,
        data: NDArray[Any],
        target: NDArray[Any],
        feature_names: list[str],
        target_name: str,
        **attributes: Any,
    ) -> Any:
        """Return named columns and their target in the form that the options ask for."""
        frame = None
        X: Any = data
        y: Any = target
        if self.options["as_frame"]:
            try:
                import pandas as pd
            except ImportError as error:
                raise ImportError("as_frame=True needs pandas, which is not installed") from error
            X, y = pd.DataFrame(data, columns=feature_names), pd.Series(target, name=target_name)
            frame = X.assign(**{target_name: target})
        return self.sample(
            X,
            y,
            f"{data.shape[0]} rows, {data.shape[1]} columns",
            frame=frame,
            feature_names=feature_names,
            target_names=[target_name],
            **attributes,
        )


def check_subset(subset: str) -> None:
    """Raise ValueError unless the subset is one that there is."""
    if subset not in SUBSETS:
        raise ValueError(f"subset must be 'train', 'test' or 'all'; got {subset!r}")


def subset_rows(subset: str, n_train: int, n_all: int) -> NDArray[np.intp]:
    """Return the rows of a subset where the training rows come first."""
    return np.arange(n_train if subset == "test" else 0, n_train if subset == "train" else n_all)
