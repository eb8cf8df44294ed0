"""Regression: tables from one column to nine, some with published splits."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from . import _sources
from ._formats import Table, read_csv, read_only
from ._loader import FileOptions, FrameOptions, Options, Source, loader
from ._store import DataSet

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "load_airfoil",
    "load_california_housing",
    "load_concrete",
    "load_energy",
    "load_mauna_loa",
    "load_mcycle",
    "load_meuse",
    "load_meuse_grid",
    "load_ozone",
    "load_protein",
]
__dir__ = __all__.copy


def _csv(files: dict[str, Path], names: dict[str, str] | None = None) -> Table:
    """Read a CSV file; with `names`, take those columns only and call them so."""
    table = read_csv(read_only(files))
    return table if names is None else {ours: table[theirs] for theirs, ours in names.items()}


def _columns(table: Table, names: Sequence[str]) -> NDArray[Any]:
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r} among {list(table)}")
    return np.column_stack([table[name] for name in names])


@loader(FrameOptions)
def load_mcycle(**options: Unpack[FrameOptions]) -> Any:
    """Return the motorcycle data: acceleration of a helmet (g) over time (ms) after the impact.

    Returns
    -------
    Bunch
        ``data`` (133, 1) and ``target``; times repeat, and the noise changes with them.
    """
    convert = partial(_csv, names={"times": "Times", "accel": "Accel"})
    source = Source(_sources.MCYCLE, options)
    table = source.table(convert)
    return source.columns(table["Times"][:, None], table["Accel"], ["times"], "accel")


@loader(FrameOptions)
def load_meuse(
    *,
    columns: Sequence[str] = ("x", "y", "dist"),
    target: str = "zinc",
    **options: Unpack[FrameOptions],
) -> Any:
    """Return the topsoil of a flood plain of the Meuse: concentrations of metals (ppm) at 155 places.

    Parameters
    ----------
    columns : sequence of str, default=("x", "y", "dist")
        Which columns: coordinates (m) and the distance to the river from 0 to 1, and further ``elev``, ``om``
        (with missing values), ``ffreq``, ``soil``, ``lime``, ``landuse`` (text), ``dist.m`` and the metals.
    target : {"zinc", "cadmium", "copper", "lead"}, default="zinc"
        The metal.

    Returns
    -------
    Bunch
        ``data`` (155, columns) and ``target``.
    """
    if target not in ("zinc", "cadmium", "copper", "lead"):
        raise ValueError(f"target must be 'zinc', 'cadmium', 'copper' or 'lead'; got {target!r}")
    source = Source(_sources.MEUSE, options)
    table = source.table(_csv)
    return source.columns(_columns(table, columns), table[target], list(columns), target)


@loader(FileOptions)
def load_meuse_grid(*, columns: Sequence[str] = ("x", "y", "dist"), **options: Unpack[FileOptions]) -> Any:
    """Return the places of a map of the flood plain of `load_meuse`.

    Parameters
    ----------
    columns : sequence of str, default=("x", "y", "dist")
        Which columns, among ``x``, ``y``, ``part.a``, ``part.b``, ``dist``, ``soil``, ``ffreq``.

    Returns
    -------
    Bunch
        ``data`` (3103, columns) and ``feature_names``.
    """
    source = Source(_sources.MEUSE_GRID, options)
    table = source.table(_csv)
    data = _columns(table, columns)
    return Bunch(data=data, feature_names=list(columns), DESCR=source.description(f"{len(data)} places"))


@loader(FrameOptions)
def load_mauna_loa(**options: Unpack[FrameOptions]) -> Any:
    """Return the weekly carbon dioxide (ppm) in the air of Mauna Loa, 1958 to 2001.

    Returns
    -------
    Bunch
        ``data`` (2225, 1), the date in years with a fraction; ``target``; ``dates`` as datetime64. Weeks
        without a value are left out.
    """
    source = Source(_sources.MAUNA_LOA, options)
    table = source.table(_mauna_loa)
    measured = np.isfinite(table["co2"])
    dates = np.array(table["date"][measured], dtype="datetime64[D]")
    years = dates.astype("datetime64[Y]")
    start, end = years.astype(dates.dtype), (years + np.timedelta64(1, "Y")).astype(dates.dtype)
    decimal = years.astype(int) + 1970 + (dates - start) / (end - start)
    return source.columns(decimal[:, None], table["co2"][measured], ["year"], "co2", dates=dates)


def _mauna_loa(files: dict[str, Path]) -> Table:
    table = read_csv(read_only(files))
    days = [f"{day:.0f}" for day in table["date"]]
    iso = [date(int(day[:4]), int(day[4:6]), int(day[6:])).isoformat() for day in days]
    return {"date": np.array(iso, dtype=object), "co2": table["co2"]}


_OZONE_NAMES = {
    "V1": "month",
    "V2": "day",
    "V3": "weekday",
    "V5": "pressure_height",
    "V6": "wind_speed",
    "V7": "humidity",
    "V8": "temperature_sandburg",
    "V9": "temperature_el_monte",
    "V10": "inversion_base_height",
    "V11": "pressure_gradient",
    "V12": "inversion_base_temperature",
    "V13": "visibility",
}


@loader(FrameOptions)
def load_ozone(*, drop_missing: bool = True, **options: Unpack[FrameOptions]) -> Any:
    """Return the daily maximum of ozone in Los Angeles in 1976, with the weather.

    Parameters
    ----------
    drop_missing : bool, default=True
        Whether to leave out the days on which something was not measured; else those entries are NaN.

    Returns
    -------
    Bunch
        ``data`` (203, 12), or (366, 12) with missing values; ``target``.
    """
    source = Source(_sources.OZONE, options)
    table = source.table()
    data, target = _columns(table, list(_OZONE_NAMES)), table["V4"]
    if drop_missing:
        complete = np.isfinite(data).all(axis=1) & np.isfinite(target)
        data, target = data[complete], target[complete]
    return source.columns(data, target, list(_OZONE_NAMES.values()), "ozone")


@loader(FrameOptions)
def load_airfoil(**options: Unpack[FrameOptions]) -> Any:
    """Return the noise (dB) of airfoils in a wind tunnel.

    Returns
    -------
    Bunch
        ``data`` (1503, 5) and ``target``.
    """
    source = Source(_sources.AIRFOIL, options)
    table = source.table(_airfoil)
    *names, target = table
    return source.columns(_columns(table, names), table[target], names, target)


_AIRFOIL_NAMES = ("frequency_hz", "angle_deg", "chord_m", "velocity_ms", "displacement_m", "sound_db")


def _airfoil(files: dict[str, Path]) -> Table:
    columns = np.loadtxt(io.StringIO(read_only(files)), ndmin=2).T
    return dict(zip(_AIRFOIL_NAMES, columns, strict=True))


@loader(FrameOptions)
def load_california_housing(**options: Unpack[FrameOptions]) -> Any:
    """Return the prices of houses (100,000 $) in the blocks of California, 1990; scikit-learn's columns.

    Returns
    -------
    Bunch
        ``data`` (20640, 8) and ``target``, to 15 digits.
    """
    source = Source(_sources.CALIFORNIA, options)
    table = source.table(_california)
    *names, target = table
    return source.columns(_columns(table, names), table[target], names, "MedHouseVal")


def _california(files: dict[str, Path]) -> Table:
    (path,) = files.values()
    with tarfile.open(path) as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("cal_housing.data"))
        file = archive.extractfile(member)
        if file is None:
            raise ValueError(f"{member.name} is not a file")
        raw = np.loadtxt(io.StringIO(file.read().decode()), delimiter=",", ndmin=2)
    longitude, latitude, age, rooms, bedrooms, population, households, income, value = raw.T
    table = {
        "MedInc": income,
        "HouseAge": age,
        "AveRooms": rooms / households,
        "AveBedrms": bedrooms / households,
        "Population": population,
        "AveOccup": population / households,
        "Latitude": latitude,
        "Longitude": longitude,
        "target": value / 100_000,
    }
    return {name: np.array([float(f"{x:.15g}") for x in column]) for name, column in table.items()}


def _with_splits(dataset: DataSet, options: Mapping[str, Any]) -> Any:
    source = Source(dataset, options)
    table = source.table(_split_files)
    rows = np.arange(len(table["y"]))
    splits = [(np.setdiff1d(rows, test), test.astype(np.intp)) for test in table["test_index"]]
    return source.sample(table["X"], table["y"], splits=splits)


def _split_files(files: dict[str, Path]) -> Table:
    read = {name.rpartition("-")[2]: np.loadtxt(path, ndmin=1) for name, path in files.items()}
    data = read["data.txt"]
    tests = [read[f"index_test_{i}.txt"] for i in range(len(files) - 3)]
    return {
        "X": np.ascontiguousarray(data[:, read["index_features.txt"].astype(int)]),
        "y": np.ascontiguousarray(data[:, int(read["index_target.txt"][0])]),
        "test_index": np.stack(tests).astype(np.int32),
    }


@loader(Options)
def load_concrete(**options: Unpack[Options]) -> Any:
    """Return the strength of concrete (MPa) by its mixture and age, with published splits.

    Returns
    -------
    Bunch
        ``data`` (1030, 8), ``target`` and ``splits``, 20 pairs of training and test rows.
    """
    return _with_splits(_sources.CONCRETE, options)


@loader(Options)
def load_energy(**options: Unpack[Options]) -> Any:
    """Return the heating load of buildings by their shape, with published splits.

    Returns
    -------
    Bunch
        ``data`` (768, 8), ``target`` and ``splits``, 20 pairs of training and test rows.
    """
    return _with_splits(_sources.ENERGY, options)


@loader(Options)
def load_protein(**options: Unpack[Options]) -> Any:
    """Return the distances of protein structures from the true ones, with published splits.

    Returns
    -------
    Bunch
        ``data`` (45730, 9), ``target`` and ``splits``, 5 pairs of training and test rows.
    """
    return _with_splits(_sources.PROTEIN, options)
