"""Where data sets are kept: the folder, the check of a file, the download of the public original."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .. import __version__
from . import _formats
from ._formats import Content

ENVIRONMENT_VARIABLE = "GRLS_DATA"
ORIGINALS = "originals"  # folder below the data folder for archives that the user fetched by other means
TIMEOUT = 60.0  # seconds without a byte until a server counts as dead
_CHUNK = 1 << 16

Home: TypeAlias = "str | os.PathLike[str] | None"


class ChecksumError(OSError):
    """A file is not the one that its name says: truncated, changed, or something else altogether."""


class DownloadError(OSError):
    """The public original of a data set could not be fetched."""


@dataclass(frozen=True)
class Original:
    """One file of the public original."""

    name: str
    urls: tuple[str, ...]  # mirrors, tried in order
    checksum: str | None = None  # "sha256:…" or "md5:…"; None where we do not know it


@dataclass(frozen=True)
class DataSet:
    """A data set as it lies in the data folder."""

    title: str
    file: str  # below the data folder
    sha256: str  # of the file that grls is tested with
    content: str  # `_formats.checksum` of what is in it, by which a converted download is known
    originals: tuple[Original, ...] = ()
    more: int = 0  # documents of the original that the tested file lacks
    terms: str = ""


# From the files of the original, by name, to the content.
Converter: TypeAlias = Callable[[dict[str, Path]], Content]


def data_folder(data_home: Home = None) -> Path:
    """Return the folder of the data sets.

    Parameters
    ----------
    data_home : path, default=None
        The folder; None takes the environment variable ``GRLS_DATA``, or else the user's cache
        (``$XDG_CACHE_HOME/grls``, by default ``~/.cache/grls``).

    Returns
    -------
    Path
        The folder, which need not exist.
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "grls"


def load_content(
    dataset: DataSet, convert: Converter | None, data_home: Home, download: bool, verbose: bool
) -> Content:
    """Return the checked content of a data set, fetched and converted first where it is missing."""
    folder = data_folder(data_home)
    path = folder / dataset.file
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        pass
    else:
        return _checked(dataset, path, raw)
    local_files = {original.name: folder / ORIGINALS / original.name for original in dataset.originals}
    missing = [name for name, file in local_files.items() if not file.is_file()]
    if not dataset.originals or convert is None or (missing and not download):
        raise FileNotFoundError(_not_found(dataset, path))
    with _fetched(dataset, folder, local_files, verbose) as files:
        content = _converted(dataset, convert, files)
    with _written_at_once(path) as file:
        file.write_bytes(_formats.encode(dataset.file, content))
    return content


def _checked(dataset: DataSet, path: Path, raw: bytes) -> Content:
    found = hashlib.sha256(raw).hexdigest()
    error = (
        f"{path} is not the {dataset.title} data: expected sha256 {dataset.sha256}, found {found} "
        f"({len(raw)} bytes); it was truncated or changed: remove it, and copy or download it again"
    )
    try:
        content = _formats.decode(dataset.file, raw)
    except Exception as reason:  # whatever a reader makes of a broken file
        raise ChecksumError(error) from reason
    if found == dataset.sha256 or _formats.holds(content, dataset.content, dataset.more):
        return content
    raise ChecksumError(error)


def _not_found(dataset: DataSet, path: Path) -> str:
    message = (
        f"the {dataset.title} data are not there: looked for {path}. Set data_home or the environment "
        f"variable {ENVIRONMENT_VARIABLE} to the folder that has {dataset.file}"
    )
    if not dataset.originals:
        return f"{message}; grls knows no public address to download it from"
    sources = ", ".join(original.urls[0] for original in dataset.originals[:3])
    more = f" and {len(dataset.originals) - 3} more" if len(dataset.originals) > 3 else ""
    return f"{message}, or download_if_missing=True to fetch {sources}{more}"


def _converted(dataset: DataSet, convert: Converter, files: dict[str, Path]) -> Content:
    names = ", ".join(files) if len(files) < 5 else f"{len(files)} files"
    try:
        content = convert(files)
    except ImportError:
        raise
    except Exception as reason:
        raise ChecksumError(f"{names}: not the original of the {dataset.title} data ({reason})") from reason
    if not _formats.holds(content, dataset.content, dataset.more):
        raise ChecksumError(
            f"{names}: what was converted is not the {dataset.title} data that grls knows: expected content "
            f"{dataset.content}, found {_formats.checksum(content)}"
        )
    return content


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Make the folder, and say what to do where it cannot be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as reason:
        raise OSError(
            f"cannot write to {folder} ({reason}); set data_home or the environment variable "
            f"{ENVIRONMENT_VARIABLE} to a folder of yours"
        ) from reason


@contextmanager
def _written_at_once(path: Path) -> Iterator[Path]:
    """Yield a temporary file that takes the place of `path` when all went well, and is removed if not."""
    with _writing_to(path.parent):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _fetched(
    dataset: DataSet, folder: Path, local_files: dict[str, Path], verbose: bool
) -> Iterator[dict[str, Path]]:
    """Yield the files of the original: those in the folder of originals, the others downloaded for now."""
    if all(file.is_file() for file in local_files.values()):
        yield local_files
        return
    with _writing_to(folder):
        temporary = tempfile.TemporaryDirectory(prefix=".download-", dir=folder)
    with temporary as scratch:
        files = {}
        for original in dataset.originals:
            given = local_files[original.name]
            files[original.name] = given if given.is_file() else Path(scratch) / original.name
            if not given.is_file():
                _download(dataset, original, files[original.name], given, verbose)
        yield files


def _download(dataset: DataSet, original: Original, target: Path, local_file: Path, verbose: bool) -> None:
    """Fetch one file from the first mirror that has the right one."""
    failures = []
    for url in original.urls:
        try:
            _receive(url, target, f"{dataset.title}: {original.name}" if verbose else "")
            _require_checksum(target, original)
            return
        except (OSError, http.client.HTTPException) as reason:
            failures.append(f"{url}: {reason}")
    raise DownloadError(
        f"could not download {original.name} of the {dataset.title} data ({'; '.join(failures)}). Where you "
        f"can get it by other means, put it at {local_file}"
    )


def _receive(url: str, target: Path, label: str) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": f"grls/{__version__}"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response, target.open("wb") as file:
        length = response.headers.get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        progress = _Progress(label, total)
        received = 0
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            received += len(chunk)
            progress.show(received)
        progress.close()
    if total is not None and received != total:
        raise DownloadError(f"the connection was cut after {received} of {total} bytes")


def _require_checksum(path: Path, original: Original) -> None:
    if original.checksum is None:
        return
    kind, _, expected = original.checksum.partition(":")
    found = hashlib.new(kind, path.read_bytes(), usedforsecurity=False).hexdigest()
    if found != expected:
        raise ChecksumError(f"expected {kind} {expected}, found {found} ({path.stat().st_size} bytes)")


class _Progress:
    """A bar on the standard error output; nothing without a label."""

    _WIDTH = 30

    def __init__(self, label: str, total: int | None) -> None:
        self._label, self._total, self._shown = label, total, -1

    def show(self, received: int) -> None:
        if not self._label:
            return
        percent = 100 * received // self._total if self._total else received >> 20
        if percent == self._shown:
            return
        self._shown = percent
        amount = f"{received / 2**20:.1f} MiB"
        if self._total:
            full = self._WIDTH * received // self._total
            amount = f"[{'#' * full:<{self._WIDTH}}] {percent:3d} % of {self._total / 2**20:.1f} MiB"
        print(f"\r{self._label} {amount}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._label:
            print(file=sys.stderr)
