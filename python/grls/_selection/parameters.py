"""The positive parameters of a kernel as one vector, with the derivatives of a criterion by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._solvers.groups import Groups
from .._solvers.kernel_problem import KernelProblem
from .._solvers.results import Gradient
from .._solvers.rows import taken_columns
from .._validation import FloatArray
from ..kernels import Kernel
from ..kernels.lowering import GROUP_SLOTS, Link
from .starts import scales_without_effect

_WIDTHS = ("sigma", "gamma")


def _value(link: Link) -> FloatArray:
    return np.asarray(getattr(link.owner, link.parameter), dtype=np.float64) + link.offset


class Parameters:
    """Some positive parameters of a kernel as one vector of logarithms."""

    def __init__(self, kernel: Kernel, names: Any, n_columns: int) -> None:
        self.kernel: Kernel = clone(kernel)
        self._n_columns = n_columns
        _, links = self.kernel.lower_for_tuning(n_columns)
        owners = {id(self.kernel): ""}
        for path, value in self.kernel.get_params(deep=True).items():
            if isinstance(value, Kernel):
                owners[id(value)] = f"{path}__"
        known: dict[str, Link] = {}
        for link in links:
            known.setdefault(owners[id(link.owner)] + link.parameter, link)
        self.names = self._wanted(names, known, self.kernel)
        self._links = [known[name] for name in self.names]
        self._shapes = [np.shape(getattr(link.owner, link.parameter)) for link in self._links]
        self._sizes = [int(np.prod(shape)) for shape in self._shapes]
        for name, value in zip(self.names, self._values(), strict=True):
            if np.any(value <= 0):
                raise ValueError(
                    f"{name} starts at {value.tolist()}, but is tuned on a logarithmic scale: give it a "
                    "positive value"
                )

    @staticmethod
    def _wanted(names: Any, known: Mapping[str, Link], kernel: Kernel) -> list[str]:
        if names is True or names == "all":
            without_effect = {id(part) for part in scales_without_effect(kernel)}
            wanted = [
                name
                for name, link in known.items()
                if id(link.owner) not in without_effect and np.all(np.asarray(_value(link)) > 0)
            ]
            if not wanted:
                raise ValueError(
                    f"optimize={names!r}: the kernel has no parameter to tune beside γ; name one of "
                    f"{list(known)}, or set optimize=None"
                )
            return wanted
        wanted = [names] if isinstance(names, str) else list(names)
        if not wanted:
            raise ValueError("optimize names no parameter")
        for name in wanted:
            if name not in known:
                raise ValueError(f"optimize: {name!r} is none of the parameters to tune, {list(known)}")
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"optimize names a parameter twice: {wanted}")
        return wanted

    def _values(self) -> list[FloatArray]:
        return [np.atleast_1d(_value(link)) for link in self._links]

    @property
    def widths(self) -> list[NDArray[np.intp]]:
        """Where each width, one number or one for each column, stands in the vector."""
        ends = np.cumsum(self._sizes)
        return [
            np.arange(end - size, end)
            for link, size, end in zip(self._links, self._sizes, ends, strict=True)
            if link.parameter in _WIDTHS
        ]

    @property
    def labels(self) -> list[str]:
        """A name for every number."""
        out: list[str] = []
        for name, shape, size in zip(self.names, self._shapes, self._sizes, strict=True):
            out += [name] if shape == () else [f"{name}[{i}]" for i in range(size)]
        return out

    @property
    def offsets(self) -> FloatArray:
        """What is added to each parameter, for it to be positive."""
        return np.repeat([link.offset for link in self._links], self._sizes)

    def get(self) -> FloatArray:
        """Return the parameters as they are, and their offsets added."""
        return np.concatenate([value.ravel() for value in self._values()])

    def set(self, values: FloatArray) -> None:
        """Give the kernel these parameters."""
        at = 0
        for link, shape, size in zip(self._links, self._shapes, self._sizes, strict=True):
            part = values[at : at + size] - link.offset
            setattr(link.owner, link.parameter, float(part[0]) if shape == () else part.reshape(shape))
            at += size

    @property
    def n_width_columns(self) -> int:
        """Columns whose widths or periods are tuned: the core makes dense matrices of them."""
        return sum(
            self._n_columns if link.columns is None else len(link.columns)
            for link in self._links
            if link.slot in GROUP_SLOTS
        )

    def bounds(self, X: Any) -> FloatArray:
        """Return the smallest and the largest value of each, from the data; (p, 2)."""
        parts = []
        for link, size, value in zip(self._links, self._sizes, self._values(), strict=True):
            seen = X if link.columns is None else taken_columns(X, link.columns)
            if link.seen is not None:
                seen = link.seen(seen)
            low, high = link.owner.tuning_bounds(link.parameter, seen)
            limits = np.stack([np.broadcast_to(low, size), np.broadcast_to(high, size)], axis=1) + link.offset
            limits[:, 0] = np.minimum(limits[:, 0], value.ravel())  # what the user starts from is allowed
            limits[:, 1] = np.maximum(limits[:, 1], value.ravel())
            parts.append(limits)
        return np.concatenate(parts)

    def gradient(
        self,
        problem: KernelProblem,
        targets: FloatArray,
        gamma: float,
        criterion: str,
        rows: Any = None,
        left_out: Groups | None = None,
    ) -> tuple[Gradient, FloatArray]:
        """Return what the core says at the parameters as they are, and the derivative by each of them."""
        formula, links = self.kernel.lower_for_tuning(self._n_columns)
        mine = [
            [link for link in links if link.owner is own.owner and link.parameter == own.parameter]
            for own in self._links
        ]
        groups = {link.index for part in mine for link in part if link.slot in GROUP_SLOTS}
        answer = problem.gradient(formula, targets, gamma, criterion, sorted(groups), rows, left_out)
        parts = []
        for part, size in zip(mine, self._sizes, strict=True):
            total = np.zeros(size)
            for link in part:
                slope = np.atleast_1d(np.asarray(getattr(answer, link.slot)[link.index]))
                slope = slope if link.chain is None else link.chain(slope)
                total += slope if len(slope) == size else slope.sum()  # one value for all columns
            parts.append(total)
        return answer, np.concatenate(parts)
