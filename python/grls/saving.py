"""Models in files that run no code when they are read: `save` and `load`.

A file holds the model as `skops <https://skops.readthedocs.io>`_ writes it (types by name, arrays as they
are, no pickle), and a header: the versions of grls, scikit-learn and NumPy that wrote it, and a SHA-256 of
all there is. Only types that are known to do no harm are made again when it is read; the checksum finds files
that were cut short or changed by accident, and is no signature: whoever can write the file can write it too.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import io
import json
import os
import platform
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from ._replacing import replacing
from ._solvers.results import __version__
from ._versions import Versioned, differ
from ._warnings import filtered, warn
from .exceptions import VersionWarning

__all__ = ["load", "read_header", "save"]
__dir__ = __all__.copy

FORMAT = 1

# Since SciPy 1.18 a spline keeps one of another class inside.
_SPLINES = (BSpline, getattr(sys.modules[BSpline.__module__], "_BSpline", BSpline))
_HEADER, _MODEL = "grls.json", "model.skops"
_LONGEST_HEADER = 1 << 20

# What fitted models hold beside estimators, kernels, features and arrays. All of it is data.
_RECORDS = (
    "grls._fourier.modes.Modes",
    "grls._fourier.plan.Plan",
    "grls._fourier.plan.Rows",
    "grls._fourier.plan.SplitSums",
    "grls._fourier.sums.Sums",
    "grls._models.learnt_noise.LearntNoise",
    "grls._models.learnt_noise.NoiseKernel",
    "grls._models.feature_prior.SplitFeatures",
    "grls._models.group_effects.GroupEffects",
    "grls._models.leverage.Leverage",
    "grls._models.samples.FreeFeatures",
    "grls._nystrom.centers.Centers",
    "grls._nystrom.equations.Eliminated",
    "grls._nystrom.groups.GroupSums",
    "grls._nystrom.machine.Partial",
    "grls._nystrom.missed.Missed",
    "grls._nystrom.missed.Probes",
    "grls._nystrom.penalised.Penalised",
    "grls._nystrom.plan.Plan",
    "grls._nystrom.posterior.CentrePosterior",
    "grls._nystrom.statistics.SumStatistics",
    "grls._nystrom.sums.Part",
    "grls._nystrom.sums.Sums",
    "grls._selection.candidates.Candidate",
    "grls._selection.candidates.KernelChoice",
    "grls._selection.kernel_parameters.GridSearch",
    "grls._selection.kernel_parameters.Optimization",
    "grls._selection.metric.Metric",
    "grls._selection.metric.Round",
    "grls._selection.variances.GivenVariances",
    "grls._solvers.centre_sums.Whitening",
    "grls._solvers.covariance.LowRankCovariance",
)

# Plain data of Python, SciPy and scikit-learn that skops asks about.
_PLAIN = (
    "builtins.range",
    "numpy.dtype",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",  # kept in splines
    "scipy.interpolate._bsplines.BSpline",  # looked at by `_require_sound`
    "scipy.interpolate._bsplines._BSpline",  # the same, inside the former since SciPy 1.18
    *(f"scipy.sparse._{form}.{form}_{kind}" for form in ("csr", "csc") for kind in ("array", "matrix")),
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._metadata_requests.MetadataRequest",  # in searches that scikit-learn before 1.8 fitted
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.utils._bunch.Bunch",
)


def _skops() -> Any:
    """Return skops.io, which imports all of scikit-learn: only where it is needed."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("grls.save and grls.load need skops: pip install skops") from error
    return skops.io


def _is_trusted(name: str) -> bool:
    """Whether a file may hold this type without being asked about, whatever is imported so far."""
    return name in _RECORDS or name in _PLAIN or _is_ours(name) or name in _measures_and_splits()


def _is_ours(name: str) -> bool:
    """Whether a name is that of an estimator, kernel or feature of grls; its module is imported to see."""
    home, _, kind = name.rpartition(".")
    if not name.startswith("grls.") or "__main__" in home:  # which would run a command
        return False
    try:
        found = getattr(import_module(home), kind, None)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("grls."):
            raise  # a package that the module needs
        return False
    is_kind = isinstance(found, type) and issubclass(found, BaseEstimator | Versioned)
    return is_kind and found.__module__ == home


@functools.cache
def _measures_and_splits() -> set[str]:
    """Return the names of scikit-learn's functions of data, as metrics are, and of its ways to split rows."""
    from sklearn import feature_selection, metrics, model_selection

    splits = (one for one in vars(model_selection).values() if hasattr(one, "get_n_splits"))
    measures = (one for module in (metrics, feature_selection) for one in vars(module).values())
    known = [*splits, *filter(inspect.isfunction, measures)]
    return {f"{one.__module__}.{one.__qualname__}" for one in known if one.__module__.startswith("sklearn.")}


def _names(trusted: Iterable[str | type]) -> set[str]:
    """Return the names of types that the caller trusts."""
    if isinstance(trusted, str | type):
        trusted = [trusted]
    names = set()
    for one in trusted:
        if isinstance(one, str):
            names.add(one)
        elif hasattr(one, "__module__") and hasattr(one, "__name__"):
            names.add(f"{one.__module__}.{one.__name__}")
        else:
            raise TypeError(f"trusted holds names, types and functions, got {one!r}")
    return names


def _digest(header: dict[str, Any], model: bytes) -> str:
    """Return the SHA-256 of a model and of all its header says but this."""
    said = {name: value for name, value in header.items() if name != "sha256"}
    content = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    content.update(model)
    return content.hexdigest()


# Writing.


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that `load` reads without running any code from it.

    Parameters
    ----------
    model : object
        An estimator of grls or scikit-learn, a `Pipeline` or search of them, a kernel, features or a
        `TransferPrior`; fitted or not.
    path : str or path-like
        Where to; by habit it ends in ``.grls``. What is there is replaced in one step once the whole file is
        written, so that a full disk or a killed process leaves the old file as it was.

    Raises
    ------
    ValueError
        For parts that cannot be found again by name: lambdas, and functions or classes made in functions.
    TypeError
        For objects that skops cannot write.

    Notes
    -----
    Functions and transformers of your own are written by their names, so that their module must be
    importable where the file is read, and `load` asks that you name them in `trusted`. The files hold the
    training rows where the model does, as kernel models must.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import grls
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "line.grls"
    >>> model = grls.GRLSRegressor("linear").fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> grls.save(model, path)
    >>> grls.load(path).predict([[3.0]]).round(6)
    array([7.])
    >>> folder.cleanup()
    """
    skops = _skops()
    try:
        content = skops.dumps(model)
        untrusted = skops.get_untrusted_types(data=content)
    except RecursionError:
        raise TypeError(
            f"{type(model).__name__} holds parts within parts, too many of them for a file, as a kernel of "
            "hundreds of terms does: leave some out, or let one kernel read several columns"
        ) from None
    except (TypeError, AttributeError) as error:
        raise TypeError(f"{type(model).__name__} holds what cannot be written to a file: {error}") from error
    _require_names(untrusted)
    header = {
        "format": FORMAT,
        "model": f"{type(model).__module__}.{type(model).__qualname__}",
        "grls": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    header["sha256"] = _digest(header, content)
    with replacing(Path(path)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_HEADER, json.dumps(header, indent=2))
        archive.writestr(_MODEL, content)


def _require_names(types: Iterable[str]) -> None:
    """ValueError for what a reader could not find by its name, or would refuse although it is ours."""
    for name in types:
        if not _is_found(name):
            raise ValueError(
                f"the model holds {name}, which has no name to be found by when the file is read: define it "
                "with def or class at the top of a module"
            )
        if name.startswith("grls.") and not _is_trusted(name):
            raise ValueError(f"the model holds {name}, an inner part of grls that is not made to be saved")


def _is_found(name: str) -> bool:
    """Whether an object is where its name says."""
    module, _, rest = name.rpartition(".")
    while module and module not in sys.modules:  # methods have the names of their classes before their own
        module, _, inner = module.rpartition(".")
        rest = f"{inner}.{rest}"
    try:
        attrgetter(rest)(sys.modules[module])
    except (AttributeError, KeyError):
        return False
    return True


# Reading.


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that `save` wrote; nothing in the file is run.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str, types and functions, default=()
        Names (``"package.module.name"``) of functions and types of your own that the file may refer to,
        beside those of grls, scikit-learn and NumPy. They are imported and called: trust them only if you
        trust whoever wrote the file.

    Returns
    -------
    object
        The model. Its predictions are those of the one that was saved, to the last bit on the same machine.

    Raises
    ------
    ValueError
        For files that are no such model, are cut short or were changed, hold types that are not trusted, or
        were written in a format that this version does not know.

    Warns
    -----
    VersionWarning
        Where another minor version of grls or scikit-learn wrote the file, or another major one of NumPy.
    """
    header, content = _read(Path(path))
    skops = _skops()
    with _as_value_errors(path):
        _require_plain(path, content)
        asked = set(skops.get_untrusted_types(data=content))
    unknown = {name for name in asked - _names(trusted) if not _is_trusted(name)}
    if unknown:
        listed = ", ".join(sorted(unknown))
        raise ValueError(
            f"{path} refers to {listed}, which grls does not know: if you trust whoever wrote the file, load "
            f"it with trusted={sorted(unknown)}"
        )
    _warn_of_versions(path, header)
    with _as_value_errors(path), filtered(InconsistentVersionWarning):  # said already, and once
        model = skops.loads(content, trusted=sorted(asked))
        _require_sound(model)
        return model


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file of `save` says about itself, without making the model.

    Parameters
    ----------
    path : str or path-like
        The file, which is checked as `load` does.

    Returns
    -------
    dict
        ``"format"``, ``"model"`` (its type), the versions ``"grls"``, ``"scikit-learn"``, ``"numpy"`` and
        ``"python"``, and ``"sha256"``.
    """
    return _read(Path(path))[0]


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return header and content of a file, checked against each other."""
    with open(path, "rb") as file:
        start = file.read(4)
        if start[:2] != b"PK":
            what = "a pickle, which can run any code" if start[:1] == b"\x80" else "no model of grls.save"
            raise ValueError(f"{path} is {what}" if start else f"{path} is empty")
        file.seek(0)
        with _as_value_errors(path), zipfile.ZipFile(file) as archive:
            header, content = _members(path, archive)
    if header.get("sha256") != _digest(header, content):
        raise ValueError(f"{path} was changed after it was written: its checksum is that of other content")
    return header, content


def _members(path: Path, archive: zipfile.ZipFile) -> tuple[dict[str, Any], bytes]:
    """Return the header and the model of an opened file."""
    if archive.namelist() != [_HEADER, _MODEL]:
        raise ValueError(f"{path} is no model of grls.save: it holds {', '.join(archive.namelist()[:5])}")
    members = archive.infolist()
    if any(m.compress_type != zipfile.ZIP_STORED for m in members) or members[0].file_size > _LONGEST_HEADER:
        raise ValueError(f"{path} is no model of grls.save: its members are not as written there")
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ValueError(f"{path} is no model of grls.save: it says no format")
    if header["format"] > FORMAT:
        raise ValueError(
            f"{path} has format {header['format']}, written by grls {header.get('grls')}; this is "
            f"{__version__}, which reads formats up to {FORMAT}: install a newer grls"
        )
    return header, archive.read(_MODEL)


def _require_plain(path: str | os.PathLike[str], content: bytes) -> None:
    """ValueError for compressed content: a small file could fill the memory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError(f"{path} is no model of grls.save: its content is compressed")


def _require_sound(model: Any) -> None:
    """ValueError for splines that compiled code would read beyond their ends: SciPy checks new ones only."""
    seen, waiting = set(), [model]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, _SPLINES):
            BSpline(one.t, one.c, one.k, extrapolate=one.extrapolate, axis=one.axis)
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple | set):
            waiting += one
        elif isinstance(one, np.ndarray):
            waiting += one.ravel().tolist() if one.dtype == object else []
        elif not isinstance(one, type):
            waiting += getattr(one, "__dict__", {}).values()


@contextlib.contextmanager
def _as_value_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of whatever goes wrong inside that the file cannot be read."""
    try:
        yield
    except (MemoryError, Warning):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        raise ValueError(f"{path} cannot be read, damaged or cut short: {error}") from error


def _warn_of_versions(path: str | os.PathLike[str], header: dict[str, Any]) -> None:
    """Warn where a model was written by other versions; NumPy's arrays are the same in all minor ones."""
    present = {
        "grls": (__version__, 2),
        "scikit-learn": (sklearn.__version__, 2),
        "numpy": (np.__version__, 1),
    }
    others = [
        f"{name} {header.get(name)} (here {version})"
        for name, (version, parts) in present.items()
        if differ(str(header.get(name)), version, parts)
    ]
    if others:
        warn(
            f"{path} was written with {', '.join(others)}: predictions may be others, or fail; fit the model "
            "again, or read it with the versions that wrote it",
            VersionWarning,
        )
