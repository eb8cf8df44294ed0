"""The parts that a model function is made of: its features, groups of them, and what was learnt beside."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .._validation import FloatArray, integer, shown


class Term(NamedTuple):
    """What a group of features says."""

    values: FloatArray  #: of shape (n,) or (n, k)
    std: FloatArray | None  #: their standard deviations, where these were asked for


class Decomposition(tuple[FloatArray, FloatArray]):
    """The two parts of a model function: a pair, ``features, learnt = model.decompose(X)``, that knows more.

    Attributes
    ----------
    features : ndarray of shape (n,) or (n, k)
        What the features say.
    learnt : ndarray of shape (n,) or (n, k)
        What was learnt beside them.
    features_std : ndarray of shape (n,) or (n, k), or None
        Standard deviations of the former, where they were asked for.
    learnt_std : ndarray of shape (n,) or (n, k), or None
        And of the latter.
    terms : dict
        A `Term`, ``values`` and ``std``, for each group of features that was named.
    """

    features_std: FloatArray | None
    learnt_std: FloatArray | None
    terms: dict[str, Term]

    def __new__(
        cls,
        features: FloatArray,
        learnt: FloatArray,
        features_std: FloatArray | None = None,
        learnt_std: FloatArray | None = None,
        terms: dict[str, Term] | None = None,
    ) -> Decomposition:
        """Return the pair."""
        self = super().__new__(cls, (features, learnt))
        self.features_std, self.learnt_std = features_std, learnt_std
        self.terms = {} if terms is None else terms
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return what `__new__` makes a copy of."""
        return (*self, self.features_std, self.learnt_std, self.terms)

    @property
    def features(self) -> FloatArray:
        """What the features say."""
        return self[0]

    @property
    def learnt(self) -> FloatArray:
        """What was learnt beside them."""
        return self[1]


def feature_groups(groups: Any, names: list[str]) -> dict[str, list[int]]:
    """Return the positions of the features in each group, which names them or gives their positions."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups must be a dict of names and lists of features, got {groups!r}")
    return {str(name): _positions(members, names, name) for name, members in groups.items()}


def _positions(members: Any, names: list[str], group: Any) -> list[int]:
    wanted = [members] if isinstance(members, str | Integral) else list(members)
    found = []
    for member in wanted:
        if isinstance(member, str):
            if member not in names:
                raise ValueError(f"groups[{group!r}]: there is no feature {member!r} among {shown(names)}")
            found.append(names.index(member))
            continue
        position = integer(member, f"groups[{group!r}]", minimum=-len(names))
        if position >= len(names):
            raise ValueError(f"groups[{group!r}]: there is no feature {position}, there are {len(names)}")
        found.append(position % len(names))
    if not found or len(set(found)) < len(found):
        fault = "names a feature twice" if found else "names no feature"
        raise ValueError(f"groups[{group!r}] {fault}: {shown(wanted)}")
    return found


def group_columns(T: FloatArray, plain: FloatArray, R: FloatArray | None, members: list[int]) -> FloatArray:
    """Return a (n, l) with ab what the group says, b the coefficients of the columns T computed with.

    `plain` (n, l) are the features as users know them and R those that T are made of: T = plain R, or None
    where they are the same.
    """
    if R is not None:
        return np.asarray(plain[:, members] @ R[members])
    out = np.zeros_like(T)
    out[:, members] = T[:, members]
    return out
