"""What an experiment is, and the list of them."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .run import Run


@dataclass(frozen=True)
class Finding:
    """One claim of the paper beside what was found; `reproduced` is None where it cannot be said.

    A claim that is `ours` is not the paper's: it says something about what the paper leaves open.
    """

    claim: str
    found: str
    reproduced: bool | None
    ours: bool = False


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper."""

    name: str
    title: str
    source: str  # which paper, which figure
    claim: str  # what the paper says with it
    body: Callable[[Run], Sequence[Finding]]
    parameters: dict[str, Any] = field(default_factory=dict)
    quick: dict[str, Any] = field(default_factory=dict)  # what a run of seconds changes
    data: tuple[str, ...] = ()  # files of the data folder it cannot do without
    extent: tuple[str, ...] = ()  # parameters that say how many cells there are, not what is in one

    def settings(self, *, quick: bool, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a run."""
        unknown = changes.keys() - self.parameters.keys()
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise ValueError(f"{self.name} has no parameter {', '.join(sorted(unknown))}; it has: {known}")
        return self.parameters | (self.quick if quick else {}) | changes

    def missing_data(self) -> list[str]:
        """Return the files that the data folder (``GRLS_DATA``) lacks."""
        folder = os.environ.get("GRLS_DATA")
        return [name for name in self.data if folder is None or not (Path(folder) / name).exists()]


_EXPERIMENTS: dict[str, Experiment] = {}


def experiment(
    *,
    title: str,
    source: str,
    claim: str,
    parameters: dict[str, Any] | None = None,
    quick: dict[str, Any] | None = None,
    data: Sequence[str] = (),
    extent: Sequence[str] = (),
) -> Callable[[Callable[[Run], Sequence[Finding]]], Experiment]:
    """Make a function an experiment, under its own name."""

    def register(body: Callable[[Run], Sequence[Finding]]) -> Experiment:
        name = body.__name__
        if name in _EXPERIMENTS:
            raise ValueError(f"there are two experiments {name}")
        if unknown := (quick or {}).keys() - (parameters or {}).keys():
            raise ValueError(f"{name}: quick changes {sorted(unknown)}, which are no parameters")
        if unknown := set(extent) - (parameters or {}).keys():
            raise ValueError(f"{name}: extent names {sorted(unknown)}, which are no parameters")
        made = Experiment(
            name, title, source, claim, body, parameters or {}, quick or {}, tuple(data), tuple(extent)
        )
        _EXPERIMENTS[name] = made
        return made

    return register


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in the order of their names."""
    from . import experiments as package

    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_EXPERIMENTS.items()))
