"""The data: a scene is a data set, its splits, and what one knows about it.

Inputs are scaled with the training rows of each split, for everybody alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import Bunch

Array = np.ndarray[Any, Any]

FIRST_UNSEEN_YEAR = 1992  # of the carbon dioxide: ten years are extrapolated


@dataclass(frozen=True)
class Split:
    X: Array
    y: Array
    X_new: Array
    y_new: Array


@dataclass(frozen=True)
class Scene:
    """A data set with its splits.

    `kernel_columns` are those on which distances make sense, `drift` those that enter linearly (None: all),
    for the methods that can tell them apart.
    """

    name: str
    title: str
    splits: Callable[[int], Iterator[Split]]
    drift: tuple[int, ...] | None
    kernel_columns: tuple[int, ...] | None = None


def _random(X: Array, y: Array, scale: Callable[[Array, Array], Array], n_splits: int) -> Iterator[Split]:
    """Yield splits with a fifth of the rows held out, the same for the same data."""
    for train, test in ShuffleSplit(n_splits, test_size=0.2, random_state=0).split(X):
        yield Split(scale(X[train], X[train]), y[train], scale(X[train], X[test]), y[test])


def _standardised(train: Array, X: Array) -> Array:
    spread = train.std(axis=0)
    return (X - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _same_unit_first_two(train: Array, X: Array) -> Array:
    """Centre all, and divide both coordinates by one number: a map keeps its shape."""
    spread = train.std(axis=0)
    spread[:2] = np.sqrt(np.mean(spread[:2] ** 2))
    return (X - train.mean(axis=0)) / spread


def motorcycle(bunch: Bunch) -> Scene:
    splits = partial(_random, bunch.data, bunch.target, _standardised)
    return Scene("motorcycle", "motorcycle: acceleration (g)", splits, drift=())


def meuse(bunch: Bunch) -> Scene:
    X = np.column_stack([bunch.data[:, :2], np.sqrt(bunch.data[:, 2])])
    splits = partial(_random, X, np.log(bunch.target), _same_unit_first_two)
    title = "Meuse: log zinc, drift √distance"
    return Scene("meuse", title, splits, drift=(2,), kernel_columns=(0, 1))


def co2(bunch: Bunch) -> Scene:
    """Monthly means; columns: the year and two harmonics of the season."""
    month = np.floor(bunch.data[:, 0] * 12).astype(int)
    months, place = np.unique(month, return_inverse=True)
    y = np.bincount(place, bunch.target) / np.bincount(place)
    t = (months + 0.5) / 12
    train, test = t < FIRST_UNSEEN_YEAR, t >= FIRST_UNSEEN_YEAR
    centred = t - t[train].mean()
    season = [f(2 * np.pi * k * t) for k in (1, 2) for f in (np.sin, np.cos)]
    X = np.column_stack([centred, *season])

    def splits(_: int) -> Iterator[Split]:
        yield Split(X[train], y[train], X[test], y[test])

    title = f"Mauna Loa CO₂ (ppm): {FIRST_UNSEEN_YEAR} … 2001 from the years before"
    return Scene("co2", title, splits, drift=(0, 1, 2, 3, 4), kernel_columns=(0,))


def _published(name: str, title: str, bunch: Bunch) -> Scene:
    def splits(n: int) -> Iterator[Split]:
        for train, test in bunch.splits[:n]:
            X = bunch.data
            yield Split(
                _standardised(X[train], X[train]),
                bunch.target[train],
                _standardised(X[train], X[test]),
                bunch.target[test],
            )

    return Scene(name, title, splits, drift=None)


def concrete(bunch: Bunch) -> Scene:
    return _published("concrete", "concrete: strength (MPa)", bunch)


def energy(bunch: Bunch) -> Scene:
    return _published("energy", "energy: heating load (kWh/m²)", bunch)


SCENES: dict[str, Callable[[Bunch], Scene]] = {
    "motorcycle": motorcycle,
    "meuse": meuse,
    "co2": co2,
    "concrete": concrete,
    "energy": energy,
}
LOADERS = {
    "motorcycle": "mcycle",
    "meuse": "meuse",
    "co2": "mauna_loa",
    "concrete": "concrete",
    "energy": "energy",
}


def real(name: str) -> Bunch:
    """Return the real data of a scene; FileNotFoundError says where they were looked for."""
    from grls import datasets

    return getattr(datasets, f"load_{LOADERS[name]}")(download_if_missing=False)


def made_up(name: str, seed: int = 0) -> Bunch:
    """Return data of the same form that need no file, for a quick run."""
    rng = np.random.default_rng(seed)
    n = 60
    if name == "motorcycle":
        X = np.sort(rng.uniform(0, 50, (n, 1)), axis=0).round(0)  # times repeat
        return Bunch(data=X, target=40 * np.sin(X[:, 0] / 6) + 10 * rng.standard_normal(n))
    if name == "meuse":
        X = np.column_stack([rng.uniform(0, 3000, (n, 2)), rng.random(n)])
        return Bunch(data=X, target=np.exp(6 - 2 * np.sqrt(X[:, 2]) + 0.3 * rng.standard_normal(n)))
    if name == "co2":
        t = np.arange(1985, 1994, 7 / 365.25)
        y = 340 + 1.5 * (t - 1985) + 3 * np.sin(2 * np.pi * t) + 0.3 * rng.standard_normal(len(t))
        return Bunch(data=t[:, None], target=y)
    X = rng.standard_normal((n, 8))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.standard_normal(n)
    splits = [
        (np.setdiff1d(np.arange(n), test), test)
        for test in rng.permuted(np.tile(np.arange(n), (3, 1)), axis=1)[:, :10]
    ]
    return Bunch(data=X, target=y, splits=splits)
