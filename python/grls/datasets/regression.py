"""Tables: regression, from one dimension to nine, and a few two-class problems of the LIBSVM collection."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from . import _sources, _store
from ._bunch import describe, documented, subset_rows, table_bunch
from ._formats import Table, read_csv
from ._store import DataSet, Home

__all__ = [
    "load_a9a",
    "load_airfoil",
    "load_binary",
    "load_california_housing",
    "load_cod_rna",
    "load_concrete",
    "load_energy",
    "load_mauna_loa",
    "load_mcycle",
    "load_meuse",
    "load_meuse_grid",
    "load_ozone",
    "load_protein",
]


def _only(files: dict[str, Path]) -> str:
    (path,) = files.values()
    return path.read_text(encoding="utf-8")


def _csv(files: dict[str, Path], names: dict[str, str] | None = None) -> Table:
    """Read a CSV file; with `names`, take those columns only and call them so."""
    table = read_csv(_only(files))
    return table if names is None else {ours: table[theirs] for theirs, ours in names.items()}


def _columns(table: Table, names: Sequence[str]) -> NDArray[Any]:
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r} among {list(table)}")
    return np.column_stack([table[name] for name in names])


@documented
def load_mcycle(
    *,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the motorcycle data: acceleration of a helmet (g) over time (ms) after the impact.

    Parameters
    ----------
    {common}
    {frames}

    Returns
    -------
    Bunch
        ``data`` (133, 1) and ``target``; times repeat, and the noise changes with them.
    """
    convert = partial(_csv, names={"times": "Times", "accel": "Accel"})
    table = _store.load_table(_sources.MCYCLE, convert, data_home, download_if_missing, verbose)
    return table_bunch(
        _sources.MCYCLE,
        table["Times"][:, None],
        table["Accel"],
        ["times"],
        "accel",
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


@documented
def load_meuse(
    *,
    columns: Sequence[str] = ("x", "y", "dist"),
    target: str = "zinc",
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the topsoil of a flood plain of the Meuse: concentrations of metals (ppm) at 155 places.

    Parameters
    ----------
    columns : sequence of str, default=("x", "y", "dist")
        Which columns: coordinates (m) and the distance to the river from 0 to 1, and further ``elev``, ``om``
        (with missing values), ``ffreq``, ``soil``, ``lime``, ``landuse`` (text), ``dist.m`` and the metals.
    target : {"zinc", "cadmium", "copper", "lead"}, default="zinc"
        The metal.
    {common}
    {frames}

    Returns
    -------
    Bunch
        ``data`` (155, columns) and ``target``.
    """
    if target not in ("zinc", "cadmium", "copper", "lead"):
        raise ValueError(f"target must be 'zinc', 'cadmium', 'copper' or 'lead'; got {target!r}")
    table = _store.load_table(_sources.MEUSE, _csv, data_home, download_if_missing, verbose)
    return table_bunch(
        _sources.MEUSE,
        _columns(table, columns),
        table[target],
        list(columns),
        target,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


@documented
def load_meuse_grid(
    *,
    columns: Sequence[str] = ("x", "y", "dist"),
    data_home: Home = None,
    download_if_missing: bool = True,
    verbose: bool = False,
) -> Any:
    """Return the places of a map of the flood plain of `load_meuse`.

    Parameters
    ----------
    columns : sequence of str, default=("x", "y", "dist")
        Which columns, among ``x``, ``y``, ``part.a``, ``part.b``, ``dist``, ``soil``, ``ffreq``.
    data_home, download_if_missing, verbose
        As in `load_meuse`.

    Returns
    -------
    Bunch
        ``data`` (3103, columns) and ``feature_names``.
    """
    table = _store.load_table(_sources.MEUSE_GRID, _csv, data_home, download_if_missing, verbose)
    data = _columns(table, columns)
    return Bunch(
        data=data, feature_names=list(columns), DESCR=describe(_sources.MEUSE_GRID, f"{len(data)} places")
    )


@documented
def load_mauna_loa(
    *,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the weekly carbon dioxide (ppm) in the air of Mauna Loa, 1958 to 2001.

    Parameters
    ----------
    {common}
    {frames}

    Returns
    -------
    Bunch
        ``data`` (2225, 1), the date in years with a fraction; ``target``; ``dates`` as datetime64. Weeks
        without a value are left out.
    """
    table = _store.load_table(_sources.MAUNA_LOA, _mauna_loa, data_home, download_if_missing, verbose)
    known = np.isfinite(table["co2"])
    dates = np.array(table["date"][known], dtype="datetime64[D]")
    years = dates.astype("datetime64[Y]")
    start, end = years.astype(dates.dtype), (years + 1).astype(dates.dtype)
    decimal = years.astype(int) + 1970 + (dates - start) / (end - start)
    return table_bunch(
        _sources.MAUNA_LOA,
        decimal[:, None],
        table["co2"][known],
        ["year"],
        "co2",
        return_X_y=return_X_y,
        as_frame=as_frame,
        dates=dates,
    )


def _mauna_loa(files: dict[str, Path]) -> Table:
    table = read_csv(_only(files))
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


@documented
def load_ozone(
    *,
    drop_missing: bool = True,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the daily maximum of ozone in Los Angeles in 1976, with the weather.

    Parameters
    ----------
    drop_missing : bool, default=True
        Whether to leave out the days on which something was not measured; else those entries are NaN.
    {common}
    {frames}

    Returns
    -------
    Bunch
        ``data`` (203, 12), or (366, 12) with missing values; ``target``.
    """
    table = _store.load_table(_sources.OZONE, None, data_home, download_if_missing, verbose)
    data, target = _columns(table, list(_OZONE_NAMES)), table["V4"]
    if drop_missing:
        complete = np.isfinite(data).all(axis=1) & np.isfinite(target)
        data, target = data[complete], target[complete]
    names = list(_OZONE_NAMES.values())
    return table_bunch(_sources.OZONE, data, target, names, "ozone", return_X_y=return_X_y, as_frame=as_frame)


@documented
def load_airfoil(
    *,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the noise (dB) of airfoils in a wind tunnel.

    Parameters
    ----------
    {common}
    {frames}

    Returns
    -------
    Bunch
        ``data`` (1503, 5) and ``target``.
    """
    table = _store.load_table(_sources.AIRFOIL, _airfoil, data_home, download_if_missing, verbose)
    *names, target = table
    return table_bunch(
        _sources.AIRFOIL,
        _columns(table, names),
        table[target],
        names,
        target,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


_AIRFOIL_NAMES = ("frequency_hz", "angle_deg", "chord_m", "velocity_ms", "displacement_m", "sound_db")


def _airfoil(files: dict[str, Path]) -> Table:
    columns = np.loadtxt(io.StringIO(_only(files)), ndmin=2).T
    return dict(zip(_AIRFOIL_NAMES, columns, strict=True))


@documented
def load_california_housing(
    *,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    verbose: bool = False,
) -> Any:
    """Return the prices of houses (100,000 $) in the blocks of California, 1990; scikit-learn's columns.

    Parameters
    ----------
    {common}
    {frames}

    Returns
    -------
    Bunch
        ``data`` (20640, 8) and ``target``, to 15 digits.
    """
    table = _store.load_table(_sources.CALIFORNIA, _california, data_home, download_if_missing, verbose)
    *names, target = table
    return table_bunch(
        _sources.CALIFORNIA,
        _columns(table, names),
        table[target],
        names,
        "MedHouseVal",
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


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


_SPLIT_DOC = """Return {what}, with published splits.

    Parameters
    ----------
    {{common}}

    Returns
    -------
    Bunch
        ``data`` {shape}, ``target`` and ``splits``, {n_splits} pairs of training and test rows.
    """


def _split_loader(name: str, what: str, shape: str, n_splits: int) -> Callable[..., Any]:
    """Make the loader of one data set with published splits."""

    def load(
        *,
        data_home: Home = None,
        download_if_missing: bool = True,
        return_X_y: bool = False,
        verbose: bool = False,
    ) -> Any:
        dataset: DataSet = getattr(_sources, name.upper())
        table = _store.load_table(dataset, _split_files, data_home, download_if_missing, verbose)
        data, target = table["X"], table["y"]
        if return_X_y:
            return data, target
        rows = np.arange(len(target))
        splits = [(np.setdiff1d(rows, test), test.astype(np.intp)) for test in table["test_index"]]
        return Bunch(
            data=data, target=target, splits=splits, DESCR=describe(dataset, f"{data.shape[0]} rows")
        )

    load.__name__ = load.__qualname__ = f"load_{name}"
    load.__doc__ = _SPLIT_DOC.format(what=what, shape=shape, n_splits=n_splits)
    return documented(load)


def _split_files(files: dict[str, Path]) -> Table:
    read = {name.rpartition("-")[2]: np.loadtxt(path, ndmin=1) for name, path in files.items()}
    data = read["data.txt"]
    tests = [read[f"index_test_{i}.txt"] for i in range(len(files) - 3)]
    return {
        "X": np.ascontiguousarray(data[:, read["index_features.txt"].astype(int)]),
        "y": np.ascontiguousarray(data[:, int(read["index_target.txt"][0])]),
        "test_index": np.stack(tests).astype(np.int32),
    }


load_concrete = _split_loader(
    "concrete", "the strength of concrete (MPa) by its mixture and age", "(1030, 8)", 20
)
load_energy = _split_loader("energy", "the heating load of buildings by their shape", "(768, 8)", 20)
load_protein = _split_loader(
    "protein", "the distances of protein structures from the true ones", "(45730, 9)", 5
)


@documented
def load_a9a(
    *,
    subset: str = "all",
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = False,
) -> Any:
    """Return a9a: income above or below 50,000 $ by 123 indicators, of which 14 or so are one in a row.

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        32,561 rows to train with, then 16,281 to test.
    {common}

    Returns
    -------
    Bunch
        ``data``, a CSR matrix with 123 columns, and ``target``, -1 or 1.
    """
    subset_rows(subset, 0, 0)  # refuses an unknown subset before anything is read
    parts = {"train": _sources.A9A_TRAIN, "test": _sources.A9A_TEST}
    wanted = [part for name, part in parts.items() if subset in (name, "all")]
    blocks, targets = [], []
    for part in wanted:
        table = _store.load_table(part, _lines, data_home, download_if_missing, verbose)
        text = "\n".join(table["line"]).encode()
        X, y = load_svmlight_file(io.BytesIO(text), n_features=123)
        blocks.append(X)
        targets.append(y.astype(np.int8))
    data, target = sparse.vstack(blocks, format="csr"), np.concatenate(targets)
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, DESCR=describe(wanted[0], f"{data.shape[0]} rows"))


def _lines(files: dict[str, Path]) -> Table:
    return {"line": np.array(_only(files).splitlines(), dtype=object)}


@documented
def load_cod_rna(
    *,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = False,
) -> Any:
    """Return cod-RNA: non-coding RNA or not, by 8 scaled columns.

    Parameters
    ----------
    {common}

    Returns
    -------
    Bunch
        ``data`` (59535, 8) as float32 and ``target``, -1 or 1.
    """
    table = _store.load_table(_sources.COD_RNA, None, data_home, download_if_missing, verbose)
    if return_X_y:
        return table["X"], table["y"]
    size = f"{len(table['y'])} rows"
    return Bunch(data=table["X"], target=table["y"], DESCR=describe(_sources.COD_RNA, size))


@documented
def load_binary(
    name: str,
    *,
    data_home: Home = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = False,
) -> Any:
    """Return one of nine small two-class problems.

    Parameters
    ----------
    name : str
        ``"australian"``, ``"diabetes_scaled"``, ``"fourclass_scaled"``, ``"german_numer_scaled"``,
        ``"heart_scale"``, ``"liver_disorder_scaled"``, ``"sonar_scale"``, ``"splice_scaled"``,
        ``"svmguide3"``; the first letters are enough.
    {common}

    Returns
    -------
    Bunch
        ``data`` and ``target``, -1 or 1.
    """
    table = _store.load_table(_sources.SMALL_BINARY, None, data_home, download_if_missing, verbose)
    names = [key.removesuffix("_X") for key in table if key.endswith("_X")]
    matching = [known for known in names if known.startswith(name)]
    if len(matching) != 1:
        raise ValueError(f"name must be one of {', '.join(map(repr, names))}; got {name!r}")
    data, target = table[f"{matching[0]}_X"], table[f"{matching[0]}_y"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data, target=target, DESCR=describe(_sources.SMALL_BINARY, f"{matching[0]}, {len(data)} rows")
    )
