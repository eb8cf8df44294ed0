"""Which version of grls wrote a model, in pickles and in files, and what is said where it is another one."""

from __future__ import annotations

from typing import Any

from ._solvers.results import __version__
from ._warnings import warn
from .exceptions import VersionWarning

_STATE = "_grls_version"


def differ(one: str, other: str, parts: int = 2) -> bool:
    """Whether two versions differ in their first numbers, by default in major or minor."""
    return one.split(".")[:parts] != other.split(".")[:parts]


class Versioned:
    """An object whose pickles carry the version of grls."""

    def __getstate__(self) -> dict[str, Any]:
        parent = getattr(super(), "__getstate__", None)  # plain objects have one since Python 3.11
        state = None if parent is None else parent()
        return {**(vars(self) if state is None else state), _STATE: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        written = state.pop(_STATE, "before 0.1")
        if differ(written, __version__):
            warn(
                f"{type(self).__name__} was pickled by grls {written} and is read by {__version__}: its "
                "predictions may be others, or fail; fit it again, or read it with the version that wrote it",
                VersionWarning,
            )
        parent = getattr(super(), "__setstate__", None)
        if parent is None:
            self.__dict__.update(state)
        else:
            parent(state)
